//! The email to a developer before an access token expires.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{developer_footer, format_day, greeting, translate};
use souk_domain::publishing::access_tokens::ExpiryReminder;

impl EmailService<'_> {
    pub fn token_expiry(&self, reminder: &ExpiryReminder) -> Outgoing {
        let language = reminder.recipient.language;
        let (name, store_name) = (one_line(&reminder.recipient.name), one_line(self.store_name));
        let (token, day) = (one_line(&reminder.token.name), format_day(reminder.token.expires_at, language));
        let subject =
            translate(language, format!("Your access token \"{token}\" expires on {day}"), format!("你的访问令牌“{token}”将于 {day} 过期"));
        let heading = translate(language, "Your access token expires soon", "你的访问令牌即将过期");
        let text = translate(
            language,
            format!("The access token \"{token}\" for {store_name} expires on {day}. Tools that use it can't publish after that."),
            format!("你在 {store_name} 的访问令牌“{token}”将于 {day} 过期。过期后，使用该令牌的工具将无法发布。"),
        );
        let next = translate(
            language,
            "Create a new token and use it in your tools before then. If you no longer need the token, you don't have to do anything.",
            "请在此之前创建新令牌并更新你的工具。如果不再需要该令牌，则无需处理。",
        );
        let mut blocks = vec![Block::Heading(heading)];
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        blocks.push(Block::Paragraph(text));
        blocks.push(Block::Paragraph(next));
        blocks.push(Block::Action {
            label: translate(language, "Open access tokens", "查看访问令牌"),
            url: self.address("/developer/access-tokens"),
        });
        blocks.push(Block::Foot(developer_footer(&store_name, &self.address("/"), language)));
        Outgoing {
            message_id: format!("token-expiry-{}", reminder.token.id),
            date: reminder.at,
            name,
            address: reminder.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &subject),
            subject,
            attachments: Vec::new(),
        }
    }
}
