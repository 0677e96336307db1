//! Building blocks shared by the email templates: amounts, times, items, links.

use super::email_layout::Block;
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{format_day, frequency, money, translate};
use crate::pdf::{format_time, method_name, names_text};
use souk_domain::billing::{BillingEmail, BillingReason, Invoice, SubscribedPlan, Subscription, SubscriptionStatus};
use souk_domain::shared::{Amount, Language, Timestamp};

/// Writes the strings of one email.
pub(super) struct TemplateWriter<'a> {
    pub service: &'a EmailService<'a>,
    pub email: &'a BillingEmail,
    pub language: Language,
}

/// The strings of one email.
pub(super) struct Strings {
    pub subject: String,
    pub heading: String,
    pub body: Vec<Block>,
}

pub(super) fn number(invoice: &Invoice) -> String {
    invoice.number_text().unwrap_or_else(|| invoice.id.to_string())
}

impl TemplateWriter<'_> {
    pub fn translate(&self, english: impl Into<String>, chinese: impl Into<String>) -> String {
        translate(self.language, english, chinese)
    }

    pub fn paragraph(&self, english: impl Into<String>, chinese: impl Into<String>) -> Block {
        Block::Paragraph(self.translate(english, chinese))
    }

    pub fn money(&self, amount: Amount) -> String {
        money(amount, &self.email.currency)
    }

    pub fn time(&self, at: Timestamp) -> String {
        format_time(at, self.language)
    }

    pub fn day(&self, at: Timestamp) -> String {
        format_day(at, self.language)
    }

    /// What the subscription is called, without line breaks: they could add lines to the text part.
    pub fn title(&self, subscription: &Subscription) -> String {
        one_line(&names_text(&subscription.title(), self.language))
    }

    pub fn store(&self) -> String {
        one_line(self.service.store_name)
    }

    pub fn method(&self) -> String {
        method_name(self.email.method.kind, self.language).to_owned()
    }

    pub fn subscription_link(&self, subscription: &Subscription) -> Block {
        let url = self.service.subscription_url(&subscription.id, self.email.links_from);
        Block::Link { label: self.translate("View subscription", "查看订阅"), url }
    }

    fn pay_now(&self, url: String) -> Block {
        Block::Action { label: self.translate("Pay now", "立即支付"), url }
    }

    /// Returns the button that pays an invoice. Its link renews the subscription only for a period's invoice and only if the subscription
    /// has not ended.
    pub fn pay_invoice(&self, invoice: &Invoice, subscription: &Subscription) -> Block {
        let renews = invoice.reason == BillingReason::SubscriptionCycle && subscription.ended_at.is_none();
        self.pay_now(self.service.payment_url(invoice, if renews { "renew" } else { "pay" }, self.email.links_from))
    }

    /// Returns the button that pays all overdue invoices. It opens the invoice's page for a single one, else the subscription's page.
    pub fn pay_overdue(&self, subscription: &Subscription, overdue: &[Invoice]) -> Block {
        match overdue {
            [invoice] => self.pay_invoice(invoice, subscription),
            _ => self.pay_now(self.service.subscription_url(&subscription.id, self.email.links_from)),
        }
    }

    /// `10 TBA monthly`, `10 TBA monthly plus usage`, `usage-based, billed monthly`.
    pub fn price(&self, plan: &SubscribedPlan) -> String {
        let cycle = frequency(&plan.subscription.cycle, self.language);
        let fixed = self.money(plan.fixed_total());
        match (plan.has_usage(), plan.fixed_total().is_zero()) {
            (false, _) => self.translate(format!("{fixed} {cycle}"), format!("{cycle} {fixed}")),
            (true, true) => self.translate(format!("usage-based, billed {cycle}"), format!("{cycle}按用量计费")),
            (true, false) => self.translate(format!("{fixed} {cycle} plus usage"), format!("{cycle} {fixed}，另加用量费用")),
        }
    }

    /// The subscription's items, its price and its payment method.
    pub fn items(&self, plan: &SubscribedPlan) -> Block {
        let mut rows: Vec<_> = plan
            .lines
            .iter()
            .map(|line| {
                let title = one_line(line.title.in_language(self.language));
                let label = if line.quantity > 1 && line.amount.is_some() { format!("{title} × {}", line.quantity) } else { title };
                (label, line.amount.map_or_else(|| self.translate("Usage-based", "按用量计费"), |amount| self.money(amount)))
            })
            .collect();
        rows.push((self.translate("Price", "价格"), self.price(plan)));
        rows.push((self.translate("Payment method", "支付方式"), self.method()));
        Block::Rows { rows, sum: false }
    }

    /// Lists the overdue invoices and their sum.
    pub fn overdue_rows(&self, overdue: &[Invoice]) -> Block {
        let row = |invoice: &Invoice| {
            let (number, day) = (number(invoice), self.day(invoice.created_at));
            (self.translate(format!("{number}, {day}"), format!("{number}，{day}")), self.money(invoice.remaining()))
        };
        let mut rows: Vec<_> = overdue.iter().map(row).collect();
        rows.push((self.translate("Amount due", "应付金额"), self.overdue_sum(overdue)));
        Block::Rows { rows, sum: true }
    }

    pub fn overdue_sum(&self, overdue: &[Invoice]) -> String {
        self.money(Amount::sum(overdue.iter().map(Invoice::remaining)).unwrap_or_default())
    }

    /// Says what happens next to a subscription that has not ended.
    pub fn renewal(&self, plan: &SubscribedPlan) -> Block {
        let subscription = &plan.subscription;
        match (subscription.ends_at(), subscription.status) {
            (Some(end), _) => {
                let end = self.time(end);
                self.paragraph(format!("It will end on {end} and won't renew."), format!("订阅将于 {end} 结束，不会再续费。"))
            }
            (None, SubscriptionStatus::Paused) => {
                self.paragraph("It is paused. You won't be charged until it resumes.", "订阅处于暂停状态，恢复前不会扣款。")
            }
            (None, SubscriptionStatus::Trialing) => {
                let price = self.price(plan);
                self.paragraph(
                    format!(
                        "Your subscription renews automatically when the trial ends unless you cancel. Price after the trial: {price}."
                    ),
                    format!("试用结束后会自动续费，价格：{price}。如不想继续，请在试用结束前取消。"),
                )
            }
            (None, _) => {
                let next = self.time(subscription.period.end);
                self.paragraph(format!("It renews automatically. Next payment: {next}."), format!("订阅会自动续费，下次扣款时间：{next}。"))
            }
        }
    }
}
