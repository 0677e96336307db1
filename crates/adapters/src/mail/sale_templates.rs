//! The emails about sales: to a beneficiary, and to the owner of the store.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{beneficiary_footer, greeting, mark_test, money, owner_footer, test_banner, translate};
use souk_domain::billing::{SaleEmail, SaleNews};
use souk_domain::shared::Language;

/// What an email says.
struct Content {
    /// The subject as well.
    heading: String,
    text: String,
    rows: Vec<(String, String)>,
    action: String,
    /// The page that shows the sale.
    path: String,
    foot: String,
}

impl EmailService<'_> {
    pub fn sale(&self, email: &SaleEmail) -> Outgoing {
        let language = email.recipient.language;
        let name = one_line(&email.recipient.name);
        let Content { heading, text, rows, action, path, foot } = self.sale_content(email, language);
        let subject = mark_test(&heading, email.mode.is_live(), language);
        let mut blocks = Vec::new();
        if !email.mode.is_live() {
            blocks.push(Block::Banner(test_banner(language)));
        }
        blocks.push(Block::Heading(heading));
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        blocks.push(Block::Paragraph(text));
        blocks.push(Block::Rows { rows, sum: true });
        blocks.push(Block::Action { label: action, url: self.address(&path) });
        blocks.push(Block::Foot(foot));
        Outgoing {
            message_id: email.id.clone(),
            date: email.at,
            name,
            address: email.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &subject),
            subject,
            attachments: Vec::new(),
        }
    }

    fn sale_content(&self, email: &SaleEmail, language: Language) -> Content {
        let (store, address) = (one_line(self.store_name), self.address("/"));
        let tr = |english: &str, chinese: &str| translate(language, english, chinese);
        let names: Vec<_> = email.sold.iter().map(|name| one_line(name.in_language(language))).collect();
        let sold = names.join(tr(", ", "、").as_str());
        let amount = |amount| money(amount, &email.currency);
        let of_app = (tr("Sold", "商品"), sold.clone());
        match email.news {
            SaleNews::Share(share) => Content {
                heading: translate(
                    language,
                    format!("You have earned {} with {sold}", amount(share)),
                    format!("“{sold}”已售出，你获得 {}", amount(share)),
                ),
                text: tr(
                    "Your share of a sale is on your earnings page. If the sale is refunded, the share is taken back. You get at most 4 emails about sales in an hour.",
                    "你的份额已计入收入页面。如果发生退款，份额将被扣回。每小时最多发送 4 封销售邮件。",
                ),
                rows: vec![of_app, (tr("Your share", "你的份额"), amount(share))],
                action: tr("Open earnings", "查看收入"),
                path: "/developer/earnings".to_owned(),
                foot: beneficiary_footer(&store, &address, language),
            },
            SaleNews::Sale { total, shared } => Content {
                heading: translate(
                    language,
                    format!("{sold} was sold for {}", amount(total)),
                    format!("“{sold}”已售出，金额 {}", amount(total)),
                ),
                text: tr(
                    "A part of the sale belongs to its beneficiaries. You get at most 4 emails about sales in an hour.",
                    "这笔销售的一部分归受益人所有。每小时最多发送 4 封销售邮件。",
                ),
                rows: vec![
                    of_app,
                    (tr("Paid", "已付"), amount(total)),
                    (tr("Shares of beneficiaries", "受益人份额"), amount(shared)),
                    (tr("The store keeps", "商店所得"), amount(total.minus(shared).unwrap_or_default())),
                ],
                action: tr("Open the invoice", "查看账单"),
                path: format!("/console/invoices/{}", email.invoice),
                foot: owner_footer(&store, &address, language),
            },
        }
    }
}
