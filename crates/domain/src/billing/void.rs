//! Taking back what an invoice asks for.

use super::credit::{CreditFor, applied, give_credit};
use super::debt::debt_paid;
use super::pay_by_card::is_owed;
use super::{Credit, Invoice, InvoiceChange, ManageError, time_of};
use crate::context::Context;
use crate::ledger::Reason;
use crate::shared::{InvoiceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// Takes back what an invoice asks for; its number stays, and the credit that it had used is the customer's again. Not while
/// somebody is paying it. The subscription is locked first, as by whoever writes down payments.
pub async fn void_invoice(ctx: &Context, id: &InvoiceId) -> Result<(), ManageError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = unit.invoices().find(id).await?.ok_or(ManageError::NotFound)?;
    if let Some(subscription) = &invoice.subscription_id {
        unit.subscriptions().lock(subscription).await?;
    }
    unit.credits().hold(std::slice::from_ref(&invoice.customer_id)).await?;
    let invoice = unit.invoices().find(id).await?.ok_or(ManageError::NotFound)?;
    if invoice.status.after(InvoiceChange::Void).is_err() || !is_owed(&invoice) {
        return Err(ManageError::NothingOwed);
    }
    let is_covered = !unit.attempts().in_flight(std::slice::from_ref(id)).await?.is_empty();
    if is_covered || !unit.attempts().lock_not_in_flight(id).await? {
        return Err(ManageError::PaymentInFlight);
    }
    let now = time_of(ctx, unit.as_mut(), invoice.clock_id.as_ref()).await?;
    if !unit.invoices().void(id, now).await? {
        return Err(ManageError::Contended);
    }
    give_applied_back(ctx, unit.as_mut(), &invoice, now).await?;
    // What was to become credit with its payment is asked for no more.
    unit.credits().redeem(std::slice::from_ref(id)).await?;
    if let Some(subscription) = &invoice.subscription_id
        && !debt_paid(unit.as_mut(), subscription, now).await?
    {
        return Err(ManageError::Contended);
    }
    unit.commit().await.map_err(StorageError::into)
}

async fn give_applied_back(ctx: &Context, unit: &mut dyn UnitOfWork, invoice: &Invoice, now: Timestamp) -> Result<(), ManageError> {
    let lines = unit.invoices().items(&invoice.id).await?;
    let credit = Credit { customer_id: invoice.customer_id.clone(), currency_id: invoice.currency_id.clone(), amount: applied(&lines)? };
    if credit.amount.is_zero() {
        return Ok(());
    }
    let what = CreditFor { subject: invoice.id.as_str(), mode: invoice.mode, method: &invoice.method_id, at: now };
    Ok(give_credit(ctx, unit, &credit, what, Reason::CreditReturned).await?)
}
