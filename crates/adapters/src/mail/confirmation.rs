//! The email with the link that confirms an address.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::mailbox::one_line;
use super::strings::translate;
use souk_domain::mail::ConfirmationEmail;

/// Renders the email. Nothing in it comes from the visitor who requested it, not even the recipient's name.
pub(super) fn confirmation_email(email: &ConfirmationEmail, store_name: &str, store_url: &str, url: &str) -> Outgoing {
    let (language, store_name) = (email.language, one_line(store_name));
    let subject = translate(language, format!("Confirm your email address for {store_name}"), format!("确认你在 {store_name} 的邮箱地址"));
    let heading = translate(language, "Confirm your email address", "确认你的邮箱地址");
    let text = translate(
        language,
        format!("Somebody entered this address in the test mode of {store_name}. Confirm it to get the emails of test orders."),
        format!("有人在 {store_name} 的测试模式中填写了此邮箱地址。确认后，即可收到测试订单的邮件。"),
    );
    let ignore = translate(
        language,
        "The link is valid for 24 hours. If it wasn't you, ignore this email: no other test emails will be sent to you.",
        "链接 24 小时内有效。如果不是你本人操作，请忽略此邮件，你不会收到其他测试邮件。",
    );
    let foot = format!("{store_name} ({store_url})");
    let blocks = [
        Block::Heading(heading),
        Block::Paragraph(text),
        Block::Action { label: translate(language, "Confirm address", "确认地址"), url: url.to_owned() },
        Block::Paragraph(ignore),
        Block::Foot(foot),
    ];
    Outgoing {
        message_id: format!("confirmation-{}", email.request),
        date: email.requested_at,
        name: String::new(),
        address: email.address.as_str().to_owned(),
        text: as_text(&blocks, language),
        html: as_html(&blocks, language, &subject),
        subject,
        attachments: Vec::new(),
    }
}
