//! The mail after a payment.

use super::letter::{Block, as_html, as_text};
use super::mailbox::one_line;
use super::wording::{marked, say, test_notice, written_period};
use super::{Attached, Outgoing};
use crate::pdf::written_time;
use souk_domain::billing::{BillingReason, Period};
use souk_domain::shared::{Language, Timestamp};

/// What was bought and paid, every amount as it shall be read, with its currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The invoice's id (`in_...`): one receipt per invoice.
    pub invoice_id: String,
    pub invoice_number: String,
    pub invoice_url: String,
    /// The invoice as PDF, attached.
    pub invoice_pdf: Vec<u8>,
    pub store_name: String,
    pub store_url: String,
    /// May be empty.
    pub customer_name: String,
    pub customer_mail: String,
    pub items: Vec<ReceiptItem>,
    pub total: String,
    pub paid_by: PaidBy,
    pub paid_at: Timestamp,
    pub downloads: Vec<Download>,
    /// The subscription that it was paid for.
    pub subscription: Option<ReceiptSubscription>,
    pub live: bool,
}

/// Where the money came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaidBy {
    /// The name of a payment method.
    Method(String),
    /// The customer's credit with the store has paid this much, and with it everything.
    Credit(String),
    /// Nothing was due.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptSubscription {
    pub title: String,
    pub reason: BillingReason,
    /// The time that was paid for.
    pub period: Option<Period>,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptItem {
    pub title: String,
    pub quantity: u64,
    pub amount: String,
}

/// Where something bought can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    pub title: String,
    pub url: String,
}

#[must_use]
pub fn receipt_mail(receipt: &Receipt, language: Language) -> Outgoing {
    let receipt = &on_single_lines(receipt);
    let subject = subject(receipt, language);
    let blocks = letter(receipt, language);
    Outgoing {
        message_id: format!("receipt-{}", receipt.invoice_id),
        date: receipt.paid_at,
        name: receipt.customer_name.clone(),
        address: receipt.customer_mail.clone(),
        text: as_text(&blocks),
        html: as_html(&blocks, language, &subject),
        subject,
        attachments: vec![Attached {
            file_name: format!("{}.pdf", receipt.invoice_number.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")),
            media_type: "application/pdf".to_owned(),
            bytes: receipt.invoice_pdf.clone(),
        }],
    }
}

/// A name with line breaks could otherwise write lines of its own into the text part.
fn on_single_lines(receipt: &Receipt) -> Receipt {
    Receipt {
        invoice_number: one_line(&receipt.invoice_number),
        store_name: one_line(&receipt.store_name),
        customer_name: one_line(&receipt.customer_name),
        items: receipt.items.iter().map(|item| ReceiptItem { title: one_line(&item.title), ..item.clone() }).collect(),
        paid_by: match &receipt.paid_by {
            PaidBy::Method(name) => PaidBy::Method(one_line(name)),
            other => other.clone(),
        },
        downloads: receipt.downloads.iter().map(|one| Download { title: one_line(&one.title), url: one_line(&one.url) }).collect(),
        subscription: receipt.subscription.as_ref().map(|one| ReceiptSubscription { title: one_line(&one.title), ..one.clone() }),
        ..receipt.clone()
    }
}

fn subject(receipt: &Receipt, language: Language) -> String {
    let Receipt { store_name, invoice_number, live, .. } = receipt;
    let subject = match &receipt.subscription {
        Some(ReceiptSubscription { title, reason: BillingReason::SubscriptionCycle, .. }) => say(
            language,
            format!("{title} was renewed: your receipt from {store_name} ({invoice_number})"),
            format!("{title} 已续订：{store_name} 付款收据（{invoice_number}）"),
        ),
        _ => say(
            language,
            format!("Your receipt from {store_name} ({invoice_number})"),
            format!("{store_name} 付款收据（{invoice_number}）"),
        ),
    };
    marked(&subject, *live, language)
}

/// What the payment means for the subscription.
fn story(subscription: &ReceiptSubscription, language: Language) -> String {
    let title = &subscription.title;
    let (english, chinese) = match subscription.reason {
        BillingReason::SubscriptionCycle => (format!("With it, {title} was renewed."), format!("{title} 已续订。")),
        BillingReason::SubscriptionUpdate => (
            format!("It is for the change of your plan of {title}: what is left of the old one was taken off."),
            format!("这是 {title} 更换方案的费用，原方案未使用的部分已抵扣。"),
        ),
        BillingReason::SubscriptionRecover => (format!("With it, {title} goes on."), format!("{title} 已恢复。")),
        BillingReason::SubscriptionThreshold => {
            (format!("It is for what you used of {title} until now."), format!("这是 {title} 截至目前的用量费用。"))
        }
        BillingReason::SubscriptionCancel => (format!("It is for your last use of {title}."), format!("这是 {title} 最后的用量费用。")),
        _ => (format!("It is for your subscription of {title}."), format!("这是 {title} 的订阅费用。")),
    };
    say(language, english, chinese)
}

fn letter(receipt: &Receipt, language: Language) -> Vec<Block> {
    let Receipt { store_name, store_url, customer_name, total, paid_by, invoice_number, .. } = receipt;
    let paid_on = written_time(receipt.paid_at, language);
    let english = language == Language::English;
    let say = |en: &str, zh: &str| say(language, en, zh);
    let mut blocks = Vec::new();
    if !receipt.live {
        blocks.push(Block::Notice(test_notice(language)));
    }
    let (heading, thanks) = match paid_by {
        PaidBy::Method(_) if english => {
            (format!("Thank you: {total} paid"), format!("{store_name} received your payment of {total} on {paid_on}."))
        }
        PaidBy::Method(_) => (format!("感谢惠顾：已支付 {total}"), format!("{store_name} 已于 {paid_on} 收到您支付的 {total}。")),
        PaidBy::Credit(amount) => (
            say("Thank you: paid with your credit", "感谢惠顾：已用余额支付"),
            if english {
                format!("{store_name} took {amount} of your credit with it on {paid_on}. Nothing else was charged.")
            } else {
                format!("{store_name} 已于 {paid_on} 从您的店内余额中扣除 {amount}，没有另行扣款。")
            },
        ),
        PaidBy::Nothing => (
            say("Thank you for your order", "感谢您的订购"),
            if english {
                format!("Your order at {store_name} was completed on {paid_on}. It cost nothing.")
            } else {
                format!("您在 {store_name} 的订单已于 {paid_on} 完成，无需付款。")
            },
        ),
    };
    blocks.push(Block::Heading(heading));
    if !customer_name.is_empty() {
        blocks.push(Block::Paragraph(if english { format!("Hello {customer_name},") } else { format!("{customer_name}，您好：") }));
    }
    blocks.push(Block::Paragraph(thanks));
    if let Some(subscription) = &receipt.subscription {
        blocks.push(Block::Paragraph(story(subscription, language)));
    }

    let item = |item: &ReceiptItem| {
        let label = if item.quantity > 1 { format!("{} × {}", item.title, item.quantity) } else { item.title.clone() };
        (label, item.amount.clone())
    };
    let mut bought: Vec<_> = receipt.items.iter().map(item).collect();
    bought.push((say("Total", "合计"), total.clone()));
    blocks.push(Block::Rows { rows: bought, sum: true });

    for download in receipt.downloads.iter().filter(|one| is_web_address(&one.url)) {
        let label = if english { format!("Download {}", download.title) } else { format!("下载 {}", download.title) };
        blocks.push(Block::Action { label, url: download.url.clone() });
    }
    let mut facts = vec![(say("Invoice number", "账单编号"), invoice_number.clone())];
    match paid_by {
        PaidBy::Method(name) => facts.push((say("Payment method", "付款方式"), name.clone())),
        PaidBy::Credit(_) => facts.push((say("Payment method", "付款方式"), say("Your credit with the store", "店内余额"))),
        PaidBy::Nothing => {}
    }
    if *paid_by != PaidBy::Nothing {
        facts.push((say("Paid on", "支付时间"), paid_on));
    }
    if let Some(period) = receipt.subscription.as_ref().and_then(|one| one.period) {
        facts.push((say("Period", "账期"), written_period(&period, language)));
    }
    blocks.push(Block::Rows { rows: facts, sum: false });
    blocks.push(Block::Paragraph(say("The invoice is attached to this mail as PDF.", "账单已作为 PDF 附在本邮件中。")));
    if is_web_address(&receipt.invoice_url) {
        blocks.push(Block::Link { label: say("View the invoice online", "在线查看账单"), url: receipt.invoice_url.clone() });
    }
    if let Some(subscription) = receipt.subscription.as_ref().filter(|one| is_web_address(&one.url)) {
        blocks.push(Block::Link { label: say("View your subscription", "查看订阅"), url: subscription.url.clone() });
    }
    blocks.push(Block::Foot(if english {
        format!("You receive this mail because of your purchase at {store_name}, {store_url}")
    } else {
        format!("您收到这封邮件，是因为您在 {store_name}（{store_url}）购买了商品。")
    }));
    blocks
}

fn is_web_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
