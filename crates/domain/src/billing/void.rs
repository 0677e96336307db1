//! Voids invoices.

use super::credit::{CreditNoteReason, Destination, ItemOrder, NoteOrder, credit_everything, issue_note};
use super::invoice::unapply_balance;
use super::pay_overdue::is_unpaid;
use super::recovery::recover_if_paid;
use super::subscription_error::convert_subscription_errors;
use super::{InvoicePayment, PaymentSource, SubscriptionError, time_of};
use crate::context::Context;
use crate::shared::{InvoiceId, StorageError};

/// Why an invoice cannot be voided.
#[derive(Debug, thiserror::Error)]
pub enum VoidError {
    #[error("Nothing is overdue")]
    NothingOverdue,
    /// A network or stake payment stands, and must be refunded instead.
    #[error("Part of this invoice has been paid. Please refund the payment instead.")]
    PartlyPaid,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(VoidError::Subscription);

/// Voids an unpaid invoice: its balance payments return to the balance, then a credit note covers everything. It keeps its number. Locks
/// the subscription first, like every writer of payments.
///
/// # Errors
/// [`VoidError::NothingOverdue`] when nothing remains to be paid; [`SubscriptionError::PaymentInFlight`] while a payment is in flight;
/// [`VoidError::PartlyPaid`] when a network or stake payment stands, which must be refunded instead.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn void_invoice(ctx: &Context, id: &InvoiceId) -> Result<(), VoidError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = unit.invoices().find(id).await?.ok_or(SubscriptionError::NotFound)?;
    if let Some(subscription) = &invoice.subscription_id {
        unit.subscriptions().lock(subscription).await?;
    }
    let invoice = unit.invoices().lock(id).await?.ok_or(SubscriptionError::NotFound)?;
    if !is_unpaid(&invoice) {
        return Err(VoidError::NothingOverdue);
    }
    if !unit.attempts().lock_not_in_flight(id).await? {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    let payments = unit.invoice_payments().of_invoices(std::slice::from_ref(id)).await?;
    let stands = |payment: &InvoicePayment| !matches!(payment.source, PaymentSource::Balance(_)) && !payment.effective().is_zero();
    if payments.iter().any(stands) {
        return Err(VoidError::PartlyPaid);
    }
    let now = time_of(ctx, unit.as_mut(), invoice.clock_id.as_ref()).await?;
    let unpaid = unapply_balance(ctx, unit.as_mut(), &invoice, &payments, now).await?;
    // Voiding waives the payment. The subscription continues until it is canceled.
    let items = credit_everything(unit.invoices().items(id).await?).into_iter().map(|item| ItemOrder { revokes: Some(false), ..item });
    let order = NoteOrder::new(CreditNoteReason::Other, items.collect(), Destination::UnpaidPart);
    issue_note(ctx, unit.as_mut(), &unpaid, &order, now).await?;
    if let Some(subscription) = &invoice.subscription_id
        && !recover_if_paid(unit.as_mut(), subscription, now).await?
    {
        return Err(SubscriptionError::Contended.into());
    }
    unit.commit().await.map_err(StorageError::into)
}
