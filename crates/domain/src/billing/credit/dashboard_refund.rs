//! A refund that somebody made in the provider's dashboard: a credit note over each invoice of the payment in turn. What the invoice lines
//! cannot give goes to suspense and to the owner.

use super::allocation::{Destination, spread};
use super::issue::{ItemOrder, NoteOrder, issue_note};
use super::undo::PaidByIntent;
use super::{CreditError, CreditNoteReason};
use crate::billing::{DocumentType, Invoice, InvoiceChange, InvoiceItem, Notification, notify};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting, Side};
use crate::payment::{Intent, Method, ProviderRefund};
use crate::shared::{Amount, EntryId, Timestamp};
use crate::storage::UnitOfWork;

/// A refund of the dashboard that is not recorded yet.
pub(super) struct DashboardRefund<'a> {
    pub method: &'a Method,
    pub intent: &'a Intent,
    pub provider: &'a ProviderRefund,
    /// In the customer's time.
    pub at: Timestamp,
}

impl DashboardRefund<'_> {
    /// Records the refund over the invoices of its payment, oldest first.
    pub async fn record(&self, ctx: &Context, unit: &mut dyn UnitOfWork, paid: &PaidByIntent) -> Result<(), CreditError> {
        if is_posted(unit, &self.provider.provider_id, EntryType::DashboardRefund).await? {
            return Ok(());
        }
        // Refunds and pay-outs of this store that are on their way have reserved the rest.
        let mut left = self.intent.amount_received.minus(self.intent.amount_refunded).unwrap_or_default().min(self.provider.amount);
        let mut given = Amount::ZERO;
        for invoice in &paid.invoices {
            let part = self.part_of(unit, paid, invoice).await?.min(left);
            if part.is_zero() {
                continue;
            }
            self.credit(ctx, unit, invoice, part).await?;
            left = left.minus(part)?;
            given = given.plus(part)?;
        }
        let rest = self.provider.amount.minus(given)?;
        if rest.is_zero() { Ok(()) } else { self.post_rest(ctx, unit, rest).await }
    }

    /// How much of an invoice a credit note can send back over the payment.
    async fn part_of(&self, unit: &mut dyn UnitOfWork, paid: &PaidByIntent, invoice: &Invoice) -> Result<Amount, CreditError> {
        if invoice.status.check(InvoiceChange::Credit).is_err() || invoice.document() != DocumentType::Invoice {
            return Ok(Amount::ZERO);
        }
        let lines = unit.invoices().items(&invoice.id).await?;
        let own = paid.payments.iter().filter(|payment| payment.invoice_id == invoice.id);
        let room = Amount::sum(own.map(crate::billing::InvoicePayment::room))?;
        Ok(Amount::sum(lines.iter().map(InvoiceItem::creditable))?.min(room))
    }

    async fn credit(&self, ctx: &Context, unit: &mut dyn UnitOfWork, invoice: &Invoice, amount: Amount) -> Result<(), CreditError> {
        let lines = unit.invoices().items(&invoice.id).await?;
        let creditable: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
        let parts = spread(amount, &creditable)?;
        let items = lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part));
        let reference = self.provider.provider_id.clone();
        let destination = Destination::Sent(self.intent.id.clone());
        let order = NoteOrder { reference, ..NoteOrder::new(reason_of(&self.provider.reason), items.collect(), destination) };
        issue_note(ctx, unit, invoice, &order, self.at).await.map(drop)
    }

    async fn post_rest(&self, ctx: &Context, unit: &mut dyn UnitOfWork, rest: Amount) -> Result<(), CreditError> {
        let currency = &self.intent.currency_id;
        let postings =
            vec![Posting::debit(Account::Suspense, rest, currency), Posting::credit(Account::cash(&self.method.id), rest, currency)];
        let reference = &self.provider.provider_id;
        post(ctx, unit, self.method, EntryType::DashboardRefund, reference, self.at, postings).await?;
        let intent = self.intent.id.clone();
        let notification = Notification::DashboardRefund { intent, reference: reference.clone(), amount: rest };
        notify(ctx, unit, &notification, ctx.now()).await?;
        Ok(())
    }
}

/// A refund of the dashboard has failed: what had gone to suspense is back on the store's account.
pub(super) async fn dashboard_refund_failed(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    method: &Method,
    provider: &ProviderRefund,
) -> Result<(), CreditError> {
    let entries = unit.journal().of_subject(&provider.provider_id).await?;
    let posted = entries.iter().filter(|entry| entry.kind == EntryType::DashboardRefund).flat_map(Entry::postings);
    let Some(suspense) = posted.into_iter().find(|posting| posting.account == Account::Suspense && posting.side == Side::Debit) else {
        return Ok(());
    };
    if is_posted(unit, &provider.provider_id, EntryType::RefundFailed).await? {
        return Ok(());
    }
    let postings = vec![
        Posting::debit(Account::cash(&method.id), suspense.amount, &suspense.currency_id),
        Posting::credit(Account::Suspense, suspense.amount, &suspense.currency_id),
    ];
    post(ctx, unit, method, EntryType::RefundFailed, &provider.provider_id, ctx.now(), postings).await
}

async fn is_posted(unit: &mut dyn UnitOfWork, subject: &str, kind: EntryType) -> Result<bool, CreditError> {
    Ok(unit.journal().of_subject(subject).await?.iter().any(|entry| entry.kind == kind))
}

async fn post(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    method: &Method,
    kind: EntryType,
    subject: &str,
    at: Timestamp,
    postings: Vec<Posting>,
) -> Result<(), CreditError> {
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, method.mode, kind, subject, at, postings)?).await?;
    Ok(())
}

/// The reason of a credit note for what the provider calls the reason.
fn reason_of(reason: &str) -> CreditNoteReason {
    match CreditNoteReason::from_name(reason) {
        Some(reason @ (CreditNoteReason::Duplicate | CreditNoteReason::Fraudulent)) => reason,
        _ => CreditNoteReason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_the_provider_is_a_reason_of_a_credit_note_or_other() {
        for (reason, expected) in [
            ("duplicate", CreditNoteReason::Duplicate),
            ("fraudulent", CreditNoteReason::Fraudulent),
            ("requested_by_customer", CreditNoteReason::Other),
            ("dispute", CreditNoteReason::Other),
            ("", CreditNoteReason::Other),
        ] {
            assert_eq!(reason_of(reason), expected, "{reason}");
        }
    }
}
