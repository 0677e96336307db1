//! The emails about developers by a deposit: to the owners of the store, and to a developer who has revoked the deposit.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{developer_footer, greeting, owner_footer, translate};
use souk_domain::publishing::staking::{DeveloperEmail, DeveloperNews};
use souk_domain::shared::Language;

/// What an email says.
struct Content {
    /// The subject as well.
    heading: String,
    text: String,
    action: String,
    /// The page where the recipient acts.
    path: &'static str,
    foot: String,
}

impl EmailService<'_> {
    pub fn developer_news(&self, email: &DeveloperEmail) -> Outgoing {
        let language = email.recipient.language;
        let name = one_line(&email.recipient.name);
        let Content { heading, text, action, path, foot } = self.developer_content(email, language);
        let mut blocks = vec![Block::Heading(heading.clone())];
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        blocks.push(Block::Paragraph(text));
        blocks.push(Block::Action { label: action, url: self.address(path) });
        blocks.push(Block::Foot(foot));
        Outgoing {
            message_id: format!("developer-{}-{}", email.passport, email.to),
            date: email.at,
            name,
            address: email.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &heading),
            subject: heading,
            attachments: Vec::new(),
        }
    }

    fn developer_content(&self, email: &DeveloperEmail, language: Language) -> Content {
        let (store, address) = (one_line(self.store_name), self.address("/"));
        let tr = |english: String, chinese: String| translate(language, english, chinese);
        match email.news {
            DeveloperNews::Joined => {
                let name = one_line(&email.developer_name);
                let developer = if name.is_empty() { email.developer.to_string() } else { name };
                Content {
                    heading: tr(format!("{developer} has become a developer of {store}"), format!("{developer} 已成为 {store} 的开发者")),
                    text: translate(
                        language,
                        "The deposit is paid. The new developer can upload apps from now on.",
                        "押金已支付，新开发者现在可以上传应用。",
                    ),
                    action: translate(language, "Open developers", "查看开发者"),
                    path: "/console/developers",
                    foot: owner_footer(&store, &address, language),
                }
            }
            DeveloperNews::Revoked => Content {
                heading: tr(format!("You're no longer a developer of {store}"), format!("你已不再是 {store} 的开发者")),
                text: translate(
                    language,
                    "You have revoked your deposit in your wallet. Your access tokens have stopped working; your apps stay in the store. \
                     You can pay a new deposit at any time.",
                    "你已在钱包中撤回押金。你的访问令牌已失效，已发布的应用保持不变。你可以随时支付新的押金。",
                ),
                action: translate(language, "Become a developer again", "重新成为开发者"),
                path: "/join",
                foot: developer_footer(&store, &address, language),
            },
        }
    }
}
