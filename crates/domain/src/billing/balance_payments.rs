//! Pays unpaid invoices from a balance that has increased.

use super::balance::balance_of;
use super::clock::time_of;
use super::invoice::apply_balance;
use super::recovery::recovered;
use super::{BillingError, Invoice};
use crate::context::Context;
use crate::shared::{CurrencyId, CustomerId, InvoiceId};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// The most invoices that one increase of a balance pays, oldest first.
const MAX_INVOICES: u32 = 100;
/// Attempts before giving up when another unit of work changed the same rows.
const MAX_TRIES: u32 = 8;

/// Pays the unpaid invoices of a customer in a currency from the balance, oldest first, except those with a payment in flight. Idempotent,
/// and safe to run concurrently.
///
/// # Errors
/// [`BillingError::Contended`] when the rows changed in each of `MAX_TRIES` attempts.
#[tracing::instrument(skip_all, fields(customer = %customer, currency = %currency))]
pub async fn pay_from_balance(ctx: &Context, customer: &CustomerId, currency: &CurrencyId) -> Result<(), BillingError> {
    for _ in 0..MAX_TRIES {
        match try_pay(ctx, customer, currency).await {
            Err(BillingError::Contended) => {}
            done => return done,
        }
    }
    Err(BillingError::Contended)
}

async fn try_pay(ctx: &Context, customer: &CustomerId, currency: &CurrencyId) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    if balance_of(unit.as_mut(), customer, currency).await?.is_zero() {
        return Ok(());
    }
    let unpaid = unit.invoices().unpaid_in(customer, currency, MAX_INVOICES).await?;
    let unpaid = without_in_flight(unit.as_mut(), unpaid).await?;
    if unpaid.is_empty() {
        return Ok(());
    }
    let invoices = lock(unit.as_mut(), &unpaid).await?;
    let currency = unit.methods().find_currency(currency).await?.ok_or(BillingError::Orphan)?;
    let now = time_of(ctx, unit.as_mut(), invoices.first().and_then(|invoice| invoice.clock_id.as_ref())).await?;
    let paid = apply_balance(ctx, unit.as_mut(), &currency, invoices, now).await?;
    recovered(ctx, unit.as_mut(), &paid).await?;
    unit.commit().await?;
    Ok(())
}

async fn without_in_flight(unit: &mut dyn UnitOfWork, mut invoices: Vec<Invoice>) -> Result<Vec<Invoice>, BillingError> {
    let ids: Vec<_> = invoices.iter().map(|invoice| invoice.id.clone()).collect();
    let in_flight = if ids.is_empty() { Vec::new() } else { unit.attempts().in_flight(&ids).await? };
    invoices.retain(|invoice| !in_flight.contains(&invoice.id));
    Ok(invoices)
}

/// Locks the subscriptions of unpaid invoices, then the invoices. Returns those that are still unpaid and have no payment in flight, oldest
/// first.
async fn lock(unit: &mut dyn UnitOfWork, unpaid: &[Invoice]) -> Result<Vec<Invoice>, BillingError> {
    let subscriptions: BTreeSet<_> = unpaid.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    unit.subscriptions().lock_all(&subscriptions.into_iter().collect::<Vec<_>>()).await?;
    let mut ids: Vec<InvoiceId> = unpaid.iter().map(|invoice| invoice.id.clone()).collect();
    ids.sort();
    let mut invoices = unit.invoices().lock_all(&ids).await?;
    invoices.retain(|invoice| invoice.status.is_payable());
    invoices.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    without_in_flight(unit, invoices).await
}
