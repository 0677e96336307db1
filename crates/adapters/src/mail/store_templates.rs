//! The emails to the owner of the store about matters that need a decision.

use super::email_layout::Block;
use super::mailbox::one_line;
use super::strings::dispute_reason;
use super::template_writer::{Strings, TemplateWriter};
use souk_domain::payment::{Dispute, DisputeStatus, Intent, Refund, RefundType};
use souk_domain::shared::Amount;

/// The status of a dispute.
struct DisputeText {
    heading: String,
    /// Its consequence.
    text: String,
}

impl TemplateWriter<'_> {
    fn customer(&self) -> String {
        let (name, email) = (one_line(&self.email.customer.name), one_line(&self.email.customer.email));
        match (name.is_empty(), email.is_empty()) {
            (true, _) => email,
            (false, true) => name,
            (false, false) => self.translate(format!("{name} ({email})"), format!("{name}（{email}）")),
        }
    }

    fn console(&self, path: &str, english: &str, chinese: &str) -> Block {
        Block::Action { label: self.translate(english, chinese), url: self.service.address(&format!("/console/{path}")) }
    }

    fn customer_label(&self) -> String {
        self.translate("Customer", "客户")
    }

    pub fn refund_failed(&self, refund: &Refund) -> Strings {
        let (amount, customer, method) = (self.money(refund.amount), self.customer(), self.method());
        let is_payout = refund.kind == RefundType::BalancePayout;
        let next = match is_payout {
            true => self
                .paragraph(format!("The amount is back in the account balance of {customer}."), "该金额已退回客户的账户余额。".to_owned()),
            false => self.paragraph(
                "You can retry the refund, or move the amount to the customer's account balance.",
                "你可以重新退款，或将该金额转入客户的账户余额。",
            ),
        };
        let mut rows = vec![(self.customer_label(), self.customer()), (self.translate("Payment method", "支付方式"), method.clone())];
        if let Some(failure) = &refund.failure {
            rows.push((self.translate("Reason", "原因"), one_line(&failure.message)));
        }
        rows.push((self.translate("Amount", "金额"), amount.clone()));
        let path = match &refund.invoice_id {
            Some(invoice) => format!("invoices/{invoice}"),
            None => format!("customers/{}", refund.customer_id),
        };
        Strings {
            subject: self.translate(format!("Refund of {amount} failed"), format!("退款 {amount} 失败")),
            heading: self.translate("A refund failed", "退款失败"),
            body: vec![
                self.paragraph(
                    format!("The refund of {amount} to {customer} via {method} failed."),
                    format!("通过{method}退款 {amount} 失败，客户：{customer}。"),
                ),
                next,
                Block::Rows { rows, sum: true },
                self.console(&path, "Open in console", "在控制台查看"),
            ],
        }
    }

    pub fn disputed(&self, dispute: &Dispute) -> Strings {
        let (amount, customer) = (self.money(dispute.amount), self.customer());
        let DisputeText { heading, text } = self.dispute_status(dispute);
        let mut body = vec![self.paragraph(
            format!("This is about a payment of {amount} by {customer}."),
            format!("一笔 {amount} 的付款有新进展，客户：{customer}。"),
        )];
        body.push(Block::Paragraph(text));
        let mut rows = vec![
            (self.customer_label(), self.customer()),
            (self.translate("Reason given by the bank", "银行给出的原因"), one_line(&dispute_reason(&dispute.reason, self.language))),
            (self.translate("Dispute", "争议编号"), one_line(&dispute.provider_id)),
        ];
        rows.push((self.translate("Amount", "金额"), amount.clone()));
        body.push(Block::Rows { rows, sum: true });
        body.push(self.console("disputes", "View disputes", "查看拒付争议"));
        Strings { subject: self.translate(format!("{heading}: {amount}"), format!("{heading}：{amount}")), heading, body }
    }

    /// Words the status of a dispute and its consequence, one sentence each.
    fn dispute_status(&self, dispute: &Dispute) -> DisputeText {
        let answer = match dispute.respond_by.map(|at| self.time(at)) {
            Some(at) => self.translate(
                format!("Respond in your card processor's dashboard by {at}."),
                format!("请在 {at} 之前到支付服务商的后台回应。"),
            ),
            None => self.translate("Respond in your card processor's dashboard.", "请到支付服务商的后台回应。"),
        };
        let (heading, text) = match dispute.status {
            DisputeStatus::Inquiry => (
                self.translate("Inquiry about a payment", "付款查询"),
                self.translate(
                    format!("The cardholder's bank is asking about this payment. No funds have been withdrawn. {answer}"),
                    format!("持卡人的银行正在查询这笔付款，尚未收回资金。{answer}"),
                ),
            ),
            DisputeStatus::InquiryUnderReview => (
                self.translate("Inquiry under review", "查询审核中"),
                self.translate("The cardholder's bank is reviewing your response.", "持卡人的银行正在审核你的回应。"),
            ),
            DisputeStatus::InquiryClosed => (
                self.translate("Inquiry closed", "查询已结束"),
                self.translate("The inquiry ended without a chargeback. The payment stands.", "查询已结束，没有拒付，付款有效。"),
            ),
            DisputeStatus::NeedsResponse => (
                self.translate("Payment disputed", "付款遭拒付"),
                self.translate(
                    format!(
                        "The card processor withdrew the funds, and the customer's access is suspended until the dispute is decided. {answer}"
                    ),
                    format!("支付服务商已收回资金，在争议裁决之前，客户的使用权限已暂停。{answer}"),
                ),
            ),
            DisputeStatus::UnderReview => (
                self.translate("Dispute under review", "争议审核中"),
                self.translate("The cardholder's bank is reviewing your response.", "持卡人的银行正在审核你的回应。"),
            ),
            DisputeStatus::Won => (
                self.translate("Dispute won", "争议胜诉"),
                self.translate("The funds have been returned to you, and the customer has access again.", "资金已退回给你，客户的使用权限已恢复。"),
            ),
            DisputeStatus::Lost => (
                self.translate("Dispute lost", "争议败诉"),
                self.translate(
                    "The funds won't be returned. A credit note was issued for the part of the invoice that could still be credited; the customer owes the rest.",
                    "资金无法收回。已就账单中仍可减免的部分开具贷项通知单，其余金额仍需客户支付。",
                ),
            ),
        };
        DisputeText { heading, text }
    }

    pub fn dashboard_refund(&self, intent: &Intent, reference: &str, amount: Amount) -> Strings {
        let (amount, customer) = (self.money(amount), self.customer());
        let rows = vec![
            (self.customer_label(), self.customer()),
            (self.translate("Payment", "付款"), one_line(&intent.reference)),
            (self.translate("Refund", "退款"), one_line(reference)),
            (self.translate("Amount without an invoice item", "没有对应账单项目的金额"), amount.clone()),
        ];
        Strings {
            subject: self.translate(format!("Refund of {amount} matches no invoice item"), format!("{amount} 的退款没有对应的账单项目")),
            heading: self.translate("A refund needs your attention", "有一笔退款需要处理"),
            body: vec![
                self.paragraph(
                    format!("A payment of {customer} was refunded in the card processor's dashboard."),
                    format!("有一笔付款在支付服务商的后台被退款，客户：{customer}。"),
                ),
                self.paragraph(
                    format!("The invoice items that this payment paid for had already been credited, so {amount} of the refund matches no invoice item. The amount is held in the suspense account until you resolve it."),
                    format!("这笔付款对应的账单项目此前已减免，因此退款中有 {amount} 没有对应的账单项目。在你处理之前，该金额计入暂记账户。"),
                ),
                Block::Rows { rows, sum: true },
                self.console(&format!("customers/{}", intent.customer_id), "Open in console", "在控制台查看"),
            ],
        }
    }
}
