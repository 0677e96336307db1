//! The receipt that a customer receives after a payment.

use super::email_layout::{Block, as_html, as_text};
use super::mailbox::one_line;
use super::strings::{footer, format_period, greeting, mark_test, test_banner, translate};
use super::{Attached, Outgoing};
use crate::pdf::format_time;
use souk_domain::billing::{BillingReason, Period, STAKE_WAITING_DAYS};
use souk_domain::shared::{Language, Timestamp};

/// The content of a receipt. All amounts are formatted with their currency.
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
    pub customer_email: String,
    pub items: Vec<ReceiptItem>,
    /// Amounts settled by credit notes and by the customer's balance, with a minus sign.
    pub deductions: Vec<ReceiptDeduction>,
    /// The amount paid.
    pub total: String,
    pub deposit: Option<ReceiptDeposit>,
    pub paid_by: PaidBy,
    pub paid_at: Timestamp,
    pub downloads: Vec<Download>,
    /// The subscription that the payment was for, if any.
    pub subscription: Option<ReceiptSubscription>,
    pub live: bool,
}

/// A refundable deposit that was paid together with the invoice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptDeposit {
    pub amount: String,
    /// The invoice's payment and the deposit.
    pub sum: String,
}

/// The source of the payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaidBy {
    /// The name of a payment method.
    Method(String),
    /// The customer's balance paid the whole amount, given here.
    Balance(String),
    /// Nothing was due.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptSubscription {
    pub title: String,
    pub reason: BillingReason,
    /// The period that the payment covers.
    pub period: Option<Period>,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptItem {
    pub title: String,
    pub quantity: u64,
    pub amount: String,
}

/// A deduction from the amount of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptDeduction {
    pub kind: Deduction,
    pub amount: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deduction {
    CreditNotes,
    AccountBalance,
}

/// A purchase that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    pub title: String,
    pub url: String,
}

#[must_use]
pub fn receipt_mail(receipt: &Receipt, language: Language) -> Outgoing {
    let receipt = &on_single_lines(receipt);
    let subject = subject(receipt, language);
    let blocks = blocks(receipt, language);
    Outgoing {
        message_id: format!("receipt-{}", receipt.invoice_id),
        date: receipt.paid_at,
        name: receipt.customer_name.clone(),
        address: receipt.customer_email.clone(),
        text: as_text(&blocks, language),
        html: as_html(&blocks, language, &subject),
        subject,
        attachments: vec![Attached {
            file_name: format!("{}.pdf", receipt.invoice_number.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")),
            media_type: "application/pdf".to_owned(),
            bytes: receipt.invoice_pdf.clone(),
        }],
    }
}

/// Removes line breaks from names: they could add lines to the text part.
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
        Some(ReceiptSubscription { title, reason: BillingReason::SubscriptionCycle, .. }) => translate(
            language,
            format!("{title} renewed: your receipt from {store_name} ({invoice_number})"),
            format!("{title} 已续费：{store_name} 付款收据（{invoice_number}）"),
        ),
        _ => translate(
            language,
            format!("Your receipt from {store_name} ({invoice_number})"),
            format!("{store_name} 付款收据（{invoice_number}）"),
        ),
    };
    mark_test(&subject, *live, language)
}

/// Describes what the payment was for.
fn purpose(subscription: &ReceiptSubscription, language: Language) -> String {
    let title = &subscription.title;
    let (english, chinese) = match subscription.reason {
        BillingReason::SubscriptionCycle => (format!("This payment renews {title}."), format!("本次付款用于续费 {title}。")),
        BillingReason::SubscriptionUpdate => (
            format!("This payment is for changing your {title} plan. We deducted the unused part of your previous plan."),
            format!("本次付款用于更换 {title} 的方案，原方案未使用的部分已抵扣。"),
        ),
        BillingReason::SubscriptionRecover => {
            (format!("This payment resumes your {title} subscription."), format!("本次付款用于恢复 {title} 订阅。"))
        }
        BillingReason::SubscriptionThreshold => {
            (format!("This payment is for your usage of {title} so far."), format!("本次付款为 {title} 截至目前的用量费用。"))
        }
        BillingReason::SubscriptionCancel => {
            (format!("This payment is for your final usage of {title}."), format!("本次付款为 {title} 的最后一笔用量费用。"))
        }
        BillingReason::OverdraftProtection => {
            (format!("This payment is the overdraft protection fee for {title}."), format!("本次付款为 {title} 的透支保护费用。"))
        }
        _ => (format!("This payment is for your {title} subscription."), format!("本次付款为 {title} 的订阅费用。")),
    };
    translate(language, english, chinese)
}

/// Returns the heading, and the sentence that states the amount and the date of the payment.
fn heading_and_summary(receipt: &Receipt, paid_on: &str, language: Language) -> [String; 2] {
    let store_name = &receipt.store_name;
    // The page, the button and the receipt name one amount: the deposit is included.
    let total = receipt.deposit.as_ref().map_or(&receipt.total, |deposit| &deposit.sum);
    match &receipt.paid_by {
        PaidBy::Method(_) => [
            translate(language, format!("Payment successful: {total}"), format!("付款成功：{total}")),
            translate(
                language,
                format!("{store_name} received your payment of {total} on {paid_on}."),
                format!("{store_name} 已于 {paid_on} 收到你支付的 {total}。"),
            ),
        ],
        PaidBy::Balance(amount) => [
            translate(language, "Paid with your account balance", "已用账户余额支付"),
            translate(
                language,
                format!("{store_name} applied {amount} of your account balance on {paid_on}. You weren't charged anything else."),
                format!("{store_name} 已于 {paid_on} 从你的账户余额中扣除 {amount}，没有另外扣款。"),
            ),
        ],
        PaidBy::Nothing => [
            translate(language, "Order complete", "订单已完成"),
            translate(
                language,
                format!("Your order at {store_name} was completed on {paid_on}. There was nothing to pay."),
                format!("你在 {store_name} 的订单已于 {paid_on} 完成，无需付款。"),
            ),
        ],
    }
}

fn blocks(receipt: &Receipt, language: Language) -> Vec<Block> {
    let Receipt { store_name, store_url, customer_name, total, paid_by, invoice_number, .. } = receipt;
    let paid_on = format_time(receipt.paid_at, language);
    let translate = |english: &str, chinese: &str| translate(language, english, chinese);
    let mut blocks = Vec::new();
    if !receipt.live {
        blocks.push(Block::Banner(test_banner(language)));
    }
    let [heading, paid] = heading_and_summary(receipt, &paid_on, language);
    blocks.push(Block::Heading(heading));
    if !customer_name.is_empty() {
        blocks.push(Block::Paragraph(greeting(customer_name, language)));
    }
    blocks.push(Block::Paragraph(paid));
    if let Some(subscription) = &receipt.subscription {
        blocks.push(Block::Paragraph(purpose(subscription, language)));
    }

    let item = |item: &ReceiptItem| {
        let label = if item.quantity > 1 { format!("{} × {}", item.title, item.quantity) } else { item.title.clone() };
        (label, item.amount.clone())
    };
    let mut items: Vec<_> = receipt.items.iter().map(item).collect();
    items.extend(receipt.deductions.iter().map(|deduction| {
        let label = match deduction.kind {
            Deduction::CreditNotes => translate("Credit notes", "减免"),
            Deduction::AccountBalance => translate("Account balance", "账户余额"),
        };
        (label, deduction.amount.clone())
    }));
    items.push((translate("Total", "合计"), total.clone()));
    blocks.push(Block::Rows { rows: items, sum: true });
    if let Some(deposit) = &receipt.deposit {
        let rows = vec![
            (translate("Refundable deposit", "押金（可退）"), deposit.amount.clone()),
            (translate("Paid in total", "共支付"), deposit.sum.clone()),
        ];
        blocks.push(Block::Rows { rows, sum: true });
        blocks.push(Block::Paragraph(translate(
            &format!("The deposit isn't part of the price. It is returned {STAKE_WAITING_DAYS} days after the subscription ends."),
            &format!("押金不属于价款，订阅结束 {STAKE_WAITING_DAYS} 天后退还。"),
        )));
    }

    for download in receipt.downloads.iter().filter(|one| is_web_address(&one.url)) {
        let label = translate(&format!("Download {}", download.title), &format!("下载 {}", download.title));
        blocks.push(Block::Action { label, url: download.url.clone() });
    }
    let mut facts = vec![(translate("Invoice number", "账单编号"), invoice_number.clone())];
    match paid_by {
        PaidBy::Method(name) => facts.push((translate("Payment method", "支付方式"), name.clone())),
        PaidBy::Balance(_) => facts.push((translate("Payment method", "支付方式"), translate("Account balance", "账户余额"))),
        PaidBy::Nothing => {}
    }
    if *paid_by != PaidBy::Nothing {
        facts.push((translate("Paid on", "付款时间"), paid_on));
    }
    if let Some(period) = receipt.subscription.as_ref().and_then(|one| one.period) {
        facts.push((translate("Billing period", "计费周期"), format_period(&period, language)));
    }
    blocks.push(Block::Rows { rows: facts, sum: false });
    blocks.push(Block::Paragraph(translate("Your invoice is attached as a PDF.", "账单 PDF 见附件。")));
    if is_web_address(&receipt.invoice_url) {
        blocks.push(Block::Link { label: translate("View invoice online", "在线查看账单"), url: receipt.invoice_url.clone() });
    }
    if let Some(subscription) = receipt.subscription.as_ref().filter(|one| is_web_address(&one.url)) {
        blocks.push(Block::Link { label: translate("View subscription", "查看订阅"), url: subscription.url.clone() });
    }
    blocks.push(Block::Foot(footer(store_name, store_url, language)));
    blocks
}

fn is_web_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
