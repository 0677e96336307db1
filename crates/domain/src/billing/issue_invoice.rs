//! Issues a single invoice of a subscription outside the engine's batches, and charges it at once.

use super::billing_batch::{BillingBatch, Charge};
use super::dunning::{DeclinedCharge, decline_invoices};
use super::invoice::{Finalization, finalize_all};
use super::notifications::notify_paid;
use super::recovery::recover_if_settled;
use super::usage_correction::UsageCorrections;
use super::{BillingError, BillingReason, InvoiceItem, InvoiceStatus, Period, Subscription};
use crate::context::Context;
use crate::payment::Decline;
use crate::shared::{Amount, AttemptId, InvoiceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// An invoice to issue, with the corrections of earlier usage.
pub(super) struct Bill {
    pub id: InvoiceId,
    pub reason: BillingReason,
    pub period: Period,
    /// The invoice's lines; charges only.
    pub lines: Vec<InvoiceItem>,
    /// Credit notes over usage that was billed earlier.
    pub corrections: UsageCorrections,
    /// Credit that this unit of work added to the balance after the batch read it.
    pub added: Amount,
}

impl Bill {
    pub fn total(&self) -> Result<Amount, BillingError> {
        Ok(Amount::sum(self.lines.iter().map(|line| line.amount))?)
    }
}

/// Issues the corrections, then finalizes the invoice, applies the customer's balance, and inserts the attempt that charges the rest.
/// Without a mandate to charge, the invoice is overdue at once. Without lines no invoice is written. The caller writes the subscription and
/// publishes the returned attempt.
///
/// # Errors
/// [`BillingError::Contended`] when the period has an invoice already, or the balance has changed.
pub(super) async fn issue(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: &mut BillingBatch,
    subscription: &mut Subscription,
    bill: Bill,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    let total = bill.total()?;
    let added = bill.added.plus(bill.corrections.to_balance()?)?;
    if !bill.corrections.notes.is_empty() {
        bill.corrections.issue(ctx, unit, now).await?;
        recover_if_settled(unit, subscription, now).await?;
    }
    if bill.lines.is_empty() {
        return Ok(None);
    }
    let applied = batch.use_balance(subscription, total, added)?;
    let invoice = batch.invoice(bill.id, subscription, bill.reason, bill.period, total, now).map_err(|_| BillingError::Orphan)?;
    let mut finalization = Finalization::new(invoice, bill.lines, applied, now)?;
    let is_due = !finalization.invoice.remaining().is_zero();
    let charge = if is_due { batch.charge(ctx, subscription, &finalization.invoice, nonce)? } else { None };
    finalization.invoice.intent_id = charge.as_ref().map(|charge| charge.intent.id.clone());
    let mut written = match finalize_all(ctx, unit, vec![finalization]).await {
        Err(BillingError::Storage(StorageError::Duplicate(_))) => return Err(BillingError::Contended),
        written => written?,
    };
    let Some(invoice) = written.pop() else { return Ok(None) };
    subscription.latest_invoice_id = Some(invoice.id.clone());
    if invoice.status == InvoiceStatus::Paid && !applied.is_zero() {
        notify_paid(ctx, unit, &[&invoice]).await?;
    }
    let Some(Charge { intent, attempt }) = charge else {
        if is_due {
            let decline = Decline { code: "no_mandate".to_owned(), message: "No payment method is on file".to_owned() };
            let declined = DeclinedCharge { subscription, invoices: &[invoice], decline: &decline };
            decline_invoices(ctx, unit, vec![declined], now).await?;
        }
        return Ok(None);
    };
    let attempt = batch.sign(ctx, &intent, attempt)?;
    let remaining = HashMap::from([(invoice.id.clone(), invoice.remaining())]);
    unit.intents().upsert(&intent).await?;
    unit.attempts().insert_all_for_new_invoices(std::slice::from_ref(&attempt), &remaining).await?;
    Ok(Some(attempt.attempt.id))
}
