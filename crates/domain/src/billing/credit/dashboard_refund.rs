//! Refunds made in the provider's dashboard. Each becomes a credit note over each invoice of the payment in turn. The part that the invoice
//! lines cannot cover goes to suspense, and the owner is notified.

use super::allocation::{Destination, spread};
use super::issue::{ItemOrder, NewNote, NoteOrder, issue_notes};
use super::undo::PaidByIntent;
use super::{CreditNoteReason, NoteError};
use crate::billing::invoice::lines_by_invoice;
use crate::billing::{DocumentType, Invoice, InvoiceChange, InvoiceItem, InvoicePayment, Notification, PostingError, notify};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting, Side};
use crate::payment::{Intent, Method, ProviderRefund, Refund, RefundStatus, RefundType};
use crate::shared::{Amount, EntryId, RefundId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// A dashboard refund that is not recorded yet.
pub(super) struct DashboardRefund<'a> {
    pub method: &'a Method,
    pub intent: &'a Intent,
    pub provider: &'a ProviderRefund,
    /// In the customer's time.
    pub at: Timestamp,
}

impl DashboardRefund<'_> {
    /// Credits the refund to the invoices of its payment, oldest first, and posts the rest to suspense.
    pub async fn record(&self, ctx: &Context, unit: &mut dyn UnitOfWork, paid: &PaidByIntent) -> Result<(), NoteError> {
        if is_posted(unit, &self.provider.provider_id, EntryType::DashboardRefund).await? {
            return Ok(());
        }
        // Refunds and payouts of this store that are in flight have reserved the rest.
        let mut unallocated = self.intent.amount_received.minus(self.intent.amount_refunded).unwrap_or_default().min(self.provider.amount);
        let mut credited = Amount::ZERO;
        let ids: Vec<_> = paid.invoices.iter().map(|invoice| invoice.id.clone()).collect();
        let mut lines = lines_by_invoice(unit, &ids).await?;
        let mut notes = Vec::with_capacity(paid.invoices.len());
        for invoice in &paid.invoices {
            let lines = lines.remove(&invoice.id).unwrap_or_default();
            let part = part_of(paid, invoice, &lines)?.min(unallocated);
            if part.is_zero() {
                continue;
            }
            notes.push(self.note(invoice, lines, part)?);
            unallocated = unallocated.minus(part)?;
            credited = credited.plus(part)?;
        }
        issue_notes(ctx, unit, notes).await?;
        let uncovered = self.provider.amount.minus(credited)?;
        if uncovered.is_zero() {
            return Ok(());
        }
        self.reserve(ctx, unit, uncovered.min(unallocated)).await?;
        Ok(self.post_to_suspense(ctx, unit, uncovered).await?)
    }

    /// Reserves on the payment the part of the refund that no invoice line gives, so that neither a payout nor another refund asks the
    /// provider for it again. Released by [`super::refund::refund_failed_later`].
    async fn reserve(&self, ctx: &Context, unit: &mut dyn UnitOfWork, amount: Amount) -> Result<(), PostingError> {
        if amount.is_zero() {
            return Ok(());
        }
        if !unit.intents().reserve_refund(&self.intent.id, amount, ctx.now()).await? {
            return Err(PostingError::Contended);
        }
        let refund = Refund {
            id: RefundId::new(ctx.now(), ctx.random.as_ref()),
            mode: self.method.mode,
            kind: RefundType::Dashboard,
            status: RefundStatus::Succeeded,
            amount,
            currency_id: self.intent.currency_id.clone(),
            method_id: self.method.id.clone(),
            customer_id: self.intent.customer_id.clone(),
            intent_id: Some(self.intent.id.clone()),
            payment_id: None,
            credit_note_id: None,
            invoice_id: None,
            subscription_id: None,
            reason: reason_of(&self.provider.reason).name().to_owned(),
            description: String::new(),
            reference: self.provider.provider_id.clone(),
            failure: None,
            failure_count: 0,
            ordered_at: None,
            created_at: self.at,
            updated_at: self.at,
        };
        Ok(unit.refunds().insert(&refund).await?)
    }

    fn note(&self, invoice: &Invoice, lines: Vec<InvoiceItem>, amount: Amount) -> Result<NewNote, NoteError> {
        let creditable: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
        let parts = spread(amount, &creditable)?;
        let items = lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part));
        let reference = self.provider.provider_id.clone();
        let destination = Destination::Sent(self.intent.id.clone());
        let order = NoteOrder { reference, ..NoteOrder::new(reason_of(&self.provider.reason), items.collect(), destination) };
        Ok(NewNote { invoice: invoice.clone(), order, at: self.at })
    }

    async fn post_to_suspense(&self, ctx: &Context, unit: &mut dyn UnitOfWork, uncovered: Amount) -> Result<(), PostingError> {
        let currency = &self.intent.currency_id;
        let postings = vec![
            Posting::debit(Account::Suspense, uncovered, currency),
            Posting::credit(Account::cash(&self.method.id), uncovered, currency),
        ];
        let reference = &self.provider.provider_id;
        post(ctx, unit, self.method, EntryType::DashboardRefund, reference, self.at, postings).await?;
        let intent = self.intent.id.clone();
        let notification = Notification::DashboardRefund { intent, reference: reference.clone(), amount: uncovered };
        notify(ctx, unit, &notification, ctx.now()).await?;
        Ok(())
    }
}

/// How much of an invoice a credit note can return over the payment.
fn part_of(paid: &PaidByIntent, invoice: &Invoice, lines: &[InvoiceItem]) -> Result<Amount, PostingError> {
    if invoice.status.check(InvoiceChange::Credit).is_err() || invoice.document() != DocumentType::Invoice {
        return Ok(Amount::ZERO);
    }
    let of_invoice = paid.payments.iter().filter(|payment| payment.invoice_id == invoice.id);
    let room = Amount::sum(of_invoice.map(InvoicePayment::room))?;
    Ok(Amount::sum(lines.iter().map(InvoiceItem::creditable))?.min(room))
}

/// Records that a dashboard refund has failed: its part in suspense returns to the store's cash account. The caller records the failure of
/// its rows.
pub(super) async fn dashboard_refund_failed(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    method: &Method,
    provider: &ProviderRefund,
) -> Result<(), PostingError> {
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

async fn is_posted(unit: &mut dyn UnitOfWork, subject: &str, kind: EntryType) -> Result<bool, StorageError> {
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
) -> Result<(), PostingError> {
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, method.mode, kind, subject, at, postings)?).await?;
    Ok(())
}

/// Maps the provider's refund reason to a credit note reason.
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
    fn an_unknown_provider_reason_becomes_other() {
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
