//! Writing one invoice of a subscription outside of the engine's rounds, charged at once by its mandate.

use super::book::{Book, Charge};
use super::debt::refuse;
use super::{BillingError, BillingReason, InvoiceItem, ManageError, Period, Subscription};
use crate::context::Context;
use crate::payment::Refusal;
use crate::shared::{Amount, AttemptId, InvoiceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// What is billed. The lines need not know their invoice yet.
pub(super) struct Bill {
    pub reason: BillingReason,
    pub period: Period,
    pub lines: Vec<InvoiceItem>,
    pub total: Amount,
}

/// Numbers and writes an invoice, and the attempt that charges it. Where nothing permits a charge the invoice is overdue at once.
/// The subscription is left for the caller to write.
pub(super) async fn issue(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    subscription: &mut Subscription,
    bill: Bill,
    nonce: u64,
    now: Timestamp,
) -> Result<(InvoiceId, Option<AttemptId>), ManageError> {
    let written = book.invoice(InvoiceId::new(ctx.now(), ctx.random.as_ref()), subscription, bill.reason, bill.period, bill.total, now);
    let mut invoice = written.map_err(ManageError::Unbillable)?;
    let charge = if bill.total.is_zero() { None } else { book.charge(ctx, subscription, &invoice, nonce)? };
    invoice.number = Some(unit.invoices().take_numbers(invoice.mode, 1).await?);
    invoice.intent_id = charge.as_ref().map(|charge| charge.intent.id.clone());
    let lines: Vec<_> = bill.lines.into_iter().map(|line| InvoiceItem { invoice_id: invoice.id.clone(), ..line }).collect();
    match unit.invoices().insert_final(&invoice, &lines).await {
        Err(StorageError::Duplicate(_)) => return Err(ManageError::Contended),
        written => written?,
    }
    subscription.latest_invoice_id = Some(invoice.id.clone());
    let Some(Charge { intent, attempt }) = charge else {
        if !bill.total.is_zero() {
            let refusal = Refusal { code: "no_mandate".to_owned(), message: "No payment method is on file".to_owned() };
            refuse(ctx, unit, &invoice, subscription, &refusal, now).await?;
        }
        return Ok((invoice.id, None));
    };
    unit.intents().put(&intent).await?;
    unit.attempts().insert(&attempt, &intent.invoices).await.map_err(BillingError::from)?;
    Ok((invoice.id, Some(attempt.id)))
}
