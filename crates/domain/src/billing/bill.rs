//! Writing one invoice of a subscription outside of the engine's rounds, charged at once by its mandate.

use super::book::{Book, Charge};
use super::debt::refuse;
use super::plan::flat;
use super::{BillingError, BillingReason, Calculation, InvoiceItem, ManageError, Period, Subscription};
use crate::context::Context;
use crate::payment::Refusal;
use crate::shared::{Amount, AttemptId, InvoiceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// What is billed.
pub(super) struct Bill {
    pub id: InvoiceId,
    pub reason: BillingReason,
    pub period: Period,
    /// Of this invoice.
    pub lines: Vec<InvoiceItem>,
    pub total: Amount,
}

/// Takes the customer's credit off a bill, numbers and writes the invoice, and the attempt that charges it. Where nothing permits a charge the invoice is overdue at once.
/// The subscription is left for the caller to write.
pub(super) async fn issue(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &mut Book,
    subscription: &mut Subscription,
    mut bill: Bill,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, ManageError> {
    let credit = book.use_credit(subscription, bill.total);
    if !credit.amount.is_zero() {
        if !unit.credits().take(&credit).await? {
            return Err(ManageError::Contended);
        }
        bill.lines.push(flat(ctx, &bill.id, super::line::APPLIED_CREDIT, Calculation::Applied { amount: credit.amount }, now));
        bill.total = bill.total.minus(credit.amount)?;
    }
    let written = book.invoice(bill.id, subscription, bill.reason, bill.period, bill.total, now);
    let mut invoice = written.map_err(ManageError::Unbillable)?;
    let charge = if bill.total.is_zero() { None } else { book.charge(ctx, subscription, &invoice, nonce)? };
    invoice.number = Some(unit.invoices().take_numbers(invoice.mode, 1).await?);
    invoice.intent_id = charge.as_ref().map(|charge| charge.intent.id.clone());
    match unit.invoices().insert_final(&invoice, &bill.lines).await {
        Err(StorageError::Duplicate(_)) => return Err(ManageError::Contended),
        written => written?,
    }
    subscription.latest_invoice_id = Some(invoice.id.clone());
    let Some(Charge { intent, attempt }) = charge else {
        if !bill.total.is_zero() {
            let refusal = Refusal { code: "no_mandate".to_owned(), message: "No payment method is on file".to_owned() };
            refuse(ctx, unit, &invoice, subscription, &refusal, now).await?;
        }
        return Ok(None);
    };
    unit.intents().put(&intent).await?;
    unit.attempts().insert(&attempt, &intent.invoices).await.map_err(BillingError::from)?;
    Ok(Some(attempt.id))
}
