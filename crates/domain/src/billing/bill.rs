//! Writing one invoice of a subscription outside of the engine's rounds, charged at once by its mandate.

use super::book::{Book, Charge};
use super::credit::{CreditFor, applied_line, give_credit, take_credit};
use super::debt::refuse;
use super::notifications::notify_paid;
use super::{BillingError, BillingReason, InvoiceItem, Period, Subscription};
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::Decline;
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
    /// What the store owes instead, and keeps as credit: part of it may pay this bill already.
    pub surplus: Amount,
    /// What it will owe when these are paid.
    pub promised: Vec<(InvoiceId, Amount)>,
}

/// Takes the customer's credit off a bill, numbers and writes the invoice, and the attempt that charges it. Where nothing permits a
/// charge the invoice is overdue at once.
///
/// # Errors
/// [`BillingError::Contended`] when the invoice stands already, or the credit is gone.
/// The subscription is left for the caller to write.
pub(super) async fn issue(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &mut Book,
    subscription: &mut Subscription,
    mut bill: Bill,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    let (subject, method) = (bill.id.to_string(), subscription.method_id.clone());
    let what = CreditFor { subject: &subject, mode: subscription.mode, method: &method, at: now };
    for (unpaid, amount) in &bill.promised {
        unit.credits().promise(unpaid, *amount).await?;
    }
    if !bill.surplus.is_zero() {
        let surplus = book.add_credit(subscription, bill.surplus)?;
        give_credit(ctx, unit, &surplus, what, Reason::CreditGiven).await?;
    }
    let credit = book.use_credit(subscription, bill.total);
    if !credit.amount.is_zero() {
        if !take_credit(ctx, unit, &credit, what).await? {
            return Err(BillingError::Contended);
        }
        bill.lines.push(applied_line(ctx, &bill.id, credit.amount, now));
        bill.total = bill.total.minus(credit.amount)?;
    }
    let written = book.invoice(bill.id, subscription, bill.reason, bill.period, bill.total, now);
    let mut invoice = written.map_err(|_| BillingError::Orphan)?;
    let charge = if bill.total.is_zero() { None } else { book.charge(ctx, subscription, &invoice, nonce)? };
    invoice.number = Some(unit.invoices().take_numbers(invoice.mode, 1).await?);
    invoice.intent_id = charge.as_ref().map(|charge| charge.intent.id.clone());
    match unit.invoices().insert_final(&invoice, &bill.lines).await {
        Err(StorageError::Duplicate(_)) => return Err(BillingError::Contended),
        written => written?,
    }
    subscription.latest_invoice_id = Some(invoice.id.clone());
    if bill.total.is_zero() && !credit.amount.is_zero() {
        notify_paid(ctx, unit, &invoice).await?;
    }
    let Some(Charge { intent, attempt }) = charge else {
        if !bill.total.is_zero() {
            let decline = Decline { code: "no_mandate".to_owned(), message: "No payment method is on file".to_owned() };
            refuse(ctx, unit, &invoice, subscription, &decline, now).await?;
        }
        return Ok(None);
    };
    unit.intents().put(&intent).await?;
    unit.attempts().insert(&attempt, &intent.invoices).await?;
    Ok(Some(attempt.id))
}
