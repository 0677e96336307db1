//! The email about a credit note.

use super::email_layout::Block;
use super::mailbox::one_line;
use super::template_writer::{Strings, TemplateWriter, number};
use crate::pdf::{credit_destinations, credit_reason, describe};
use souk_domain::billing::{CreditedLine, ExpandedCreditNote};

impl TemplateWriter<'_> {
    pub fn credited(&self, expanded: &ExpandedCreditNote) -> Strings {
        let ExpandedCreditNote { note, items, invoice, .. } = expanded;
        let (store, total, invoice_number) = (self.store(), self.money(note.total), number(invoice));
        let mut body = vec![self.paragraph(
            format!("{store} issued a credit note of {total} for invoice {invoice_number}."),
            format!("{store} 已就账单 {invoice_number} 开具金额为 {total} 的贷项通知单。"),
        )];
        let memo = one_line(&note.memo);
        if !memo.is_empty() {
            body.push(Block::Paragraph(memo));
        }
        let line =
            |credited: &CreditedLine| (one_line(&describe(&credited.description(), self.language)), self.money(credited.item.amount));
        let mut lines: Vec<_> = items.iter().map(line).collect();
        lines.push((self.translate("Total credited", "减免合计"), total.clone()));
        body.push(Block::Rows { rows: lines, sum: true });
        let mut facts = vec![
            (self.translate("Credit note number", "通知单编号"), note.number_text()),
            (self.translate("Invoice number", "账单编号"), invoice_number),
            (self.translate("Reason", "原因"), credit_reason(note.reason, self.language).to_owned()),
        ];
        let destinations = credit_destinations(expanded, self.language).into_iter();
        facts.extend(destinations.map(|destination| (one_line(&destination.description), destination.amount)));
        body.push(Block::Rows { rows: facts, sum: false });
        if !note.to_balance.is_zero() {
            body.push(
                self.paragraph("Your account balance pays for your next invoices and purchases.", "账户余额可用于支付后续账单和购买。"),
            );
        }
        body.push(self.paragraph("Your credit note is attached as a PDF.", "贷项通知单 PDF 见附件。"));
        let url = self.service.invoice_url(&invoice.id, self.email.links_from);
        body.push(Block::Link { label: self.translate("View invoice online", "在线查看账单"), url });
        Strings {
            subject: self.translate(
                format!("Your credit note from {store} ({})", note.number_text()),
                format!("{store} 贷项通知单（{}）", note.number_text()),
            ),
            heading: self.translate(format!("{total} credited"), format!("已减免 {total}")),
            body,
        }
    }
}
