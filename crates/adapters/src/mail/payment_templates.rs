//! The emails about failed and overdue payments, and about refunds.

use super::email_layout::Block;
use super::mailbox::one_line;
use super::strings::decline_reason;
use super::template_writer::{Strings, TemplateWriter, number};
use crate::pdf::describe;
use souk_domain::billing::{Invoice, SubscribedPlan, Subscription};
use souk_domain::payment::{Refund, RefundType};
use souk_domain::shared::Timestamp;

impl TemplateWriter<'_> {
    /// Says when the subscription will be canceled unless the invoices are paid.
    fn deadline(&self, at: Timestamp) -> Block {
        let at = self.time(at);
        self.paragraph(
            format!("If we don't receive your payment by {at}, your subscription will be canceled."),
            format!("如果到 {at} 仍未付款，订阅将被取消。"),
        )
    }

    pub fn payment_failed(&self, subscription: &Subscription, invoice: &Invoice, code: &str) -> Strings {
        let (title, amount, number) = (self.title(subscription), self.money(invoice.remaining()), number(invoice));
        let why = decline_reason(code, self.email.method.kind.is_card(), self.language);
        let mut body =
            vec![self.paragraph(
                format!("We couldn't collect {amount} for {title}. {why}"),
                format!("我们未能收取 {title} 的费用 {amount}。{why}"),
            )];
        let is_running = subscription.ended_at.is_none();
        body.push(match invoice.retry_at.filter(|_| is_running) {
            Some(at) => {
                let at = self.time(at);
                self.paragraph(
                    format!("We'll try again on {at}. You can also pay now."),
                    format!("我们将于 {at} 再次扣款。你也可以现在支付。"),
                )
            }
            None => self.paragraph("We won't try again automatically. Please pay now.", "我们不会再自动扣款，请现在支付。"),
        });
        body.extend(subscription.dunning_deadline().filter(|_| is_running).map(|at| self.deadline(at)));
        body.push(self.pay_invoice(invoice, subscription));
        let rows = vec![
            (self.translate("Invoice number", "账单编号"), number.clone()),
            (self.translate("Payment method", "支付方式"), self.method()),
            (self.translate("Amount due", "应付金额"), amount.clone()),
        ];
        body.extend([Block::Rows { rows, sum: true }, self.subscription_link(subscription)]);
        Strings {
            subject: self.translate(format!("Your payment for {title} failed ({number})"), format!("{title} 扣款失败（{number}）")),
            heading: self.translate(format!("We couldn't collect {amount}"), format!("未能收取 {amount}")),
            body,
        }
    }

    pub fn overdue(&self, plan: &SubscribedPlan, overdue: &[Invoice]) -> Strings {
        let subscription = &plan.subscription;
        let (title, sum) = (self.title(subscription), self.overdue_sum(overdue));
        let since = subscription.past_due_since.map(|at| self.day(at)).unwrap_or_default();
        let mut body = vec![self.paragraph(
            format!("{sum} for {title} has been overdue since {since}. You can't make new purchases until it's paid."),
            format!("你的 {title} 订阅自 {since} 起有 {sum} 逾期未付，付清之前无法进行新的购买。"),
        )];
        body.extend(subscription.dunning_deadline().map(|at| self.deadline(at)));
        body.extend([self.pay_overdue(subscription, overdue), self.overdue_rows(overdue)]);
        if overdue.len() == 1 {
            body.push(self.subscription_link(subscription));
        }
        Strings {
            subject: self.translate(format!("Reminder: your payment for {title} is overdue"), format!("提醒：{title} 的付款已逾期")),
            heading: self.translate(format!("{sum} is overdue"), format!("{sum} 已逾期")),
            body,
        }
    }

    pub fn refunded(&self, refund: &Refund, invoice: Option<&Invoice>) -> Strings {
        let (amount, store, method) = (self.money(refund.amount), self.store(), self.method());
        let title = invoice.map(|invoice| one_line(&describe(&invoice.description, self.language))).filter(|title| !title.is_empty());
        let what = match (refund.kind, title) {
            (RefundType::BalancePayout, _) => self.paragraph(
                format!("{store} paid out {amount} of your account balance via {method}."),
                format!("{store} 已通过{method}将你的账户余额 {amount} 提现给你。"),
            ),
            (RefundType::Refund | RefundType::Dashboard, Some(title)) => self.paragraph(
                format!("{store} refunded {amount} of your payment for {title} via {method}."),
                format!("{store} 已通过{method}退还你为 {title} 支付的 {amount}。"),
            ),
            (RefundType::Refund | RefundType::Dashboard, None) => self.paragraph(
                format!("{store} refunded {amount} of your payment via {method}."),
                format!("{store} 已通过{method}退还你支付的 {amount}。"),
            ),
        };
        let arrival = match self.email.method.kind.is_card() {
            true => {
                self.paragraph("Your bank may take a few days to show it in your account.", "款项到账可能需要几天，具体时间取决于银行。")
            }
            false => self.paragraph("It is already in your wallet.", "款项已到你的钱包。"),
        };
        let mut rows = Vec::new();
        if let Some(number) = invoice.and_then(Invoice::number_text) {
            rows.push((self.translate("Invoice number", "账单编号"), number));
        }
        if !refund.reference.is_empty() {
            rows.push((self.translate("Transaction", "交易编号"), one_line(&refund.reference)));
        }
        let label = match refund.kind {
            RefundType::Refund | RefundType::Dashboard => self.translate("Refunded", "退款金额"),
            RefundType::BalancePayout => self.translate("Paid out", "提现金额"),
        };
        rows.push((label, amount.clone()));
        let mut body = vec![what, arrival, Block::Rows { rows, sum: true }];
        if let Some(invoice) = invoice {
            let url = self.service.invoice_url(&invoice.id, self.email.links_from);
            body.push(Block::Link { label: self.translate("View invoice online", "在线查看账单"), url });
        }
        let (subject, heading) = match refund.kind {
            RefundType::Refund | RefundType::Dashboard => (
                self.translate(format!("Your refund from {store}"), format!("{store} 退款通知")),
                self.translate(format!("{amount} refunded"), format!("已退款 {amount}")),
            ),
            RefundType::BalancePayout => (
                self.translate(format!("Your account balance at {store} was paid out"), format!("{store} 已将你的账户余额提现")),
                self.translate(format!("{amount} paid out"), format!("已提现 {amount}")),
            ),
        };
        Strings { subject, heading, body }
    }
}
