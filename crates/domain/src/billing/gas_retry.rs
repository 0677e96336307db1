//! Sends refunds and stake transfers again that a network declined for gas, as soon as this store can pay it.

use super::clock::time_of_customer;
use super::credit::{OrderedBy, RefundDecisionError, RetryRefundError, retry_refund_as};
use super::errors::PostingError;
use super::stake::{Stake, is_unchanged};
use crate::context::Context;
use crate::payment::{GasState, INSUFFICIENT_GAS, Method, Trigger, WalletRail};
use crate::shared::{Amount, CurrencyId, Mode, StorageError};

/// Why what was declined for gas could not be retried.
#[derive(Debug, thiserror::Error)]
pub enum GasRetryError {
    #[error(transparent)]
    Refund(#[from] RetryRefundError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Retries what was declined for gas, at most `limit` refunds and stakes of each network. Queries a network at most once, and not at all if
/// nothing waits for its gas. Returns the number of retries.
///
/// # Errors
/// The first failure, after everything was processed.
#[tracing::instrument(skip_all)]
pub async fn retry_without_gas(ctx: &Context, limit: u32) -> Result<usize, GasRetryError> {
    let mut unit = ctx.store.read().await?;
    let mut methods = unit.methods().list(Mode::Test).await?;
    methods.extend(unit.methods().list(Mode::Live).await?);
    drop(unit);
    let (mut retried, mut failure) = (0, None);
    for method in methods.iter().filter(|method| !ctx.networks.is_paused(method)) {
        let Some(rail) = ctx.networks.wallet(method.kind) else { continue };
        match retry_at(ctx, method, rail, limit, &mut retried).await {
            Ok(()) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(retried), Err)
}

/// Retries what one network declined for gas, as far as the funds of the store's account suffice for all of it.
async fn retry_at(ctx: &Context, method: &Method, rail: &dyn WalletRail, limit: u32, retried: &mut usize) -> Result<(), GasRetryError> {
    let mut unit = ctx.store.read().await?;
    let refunds = unit.refunds().failed_with(&method.id, INSUFFICIENT_GAS, limit).await?;
    let stakes = unit.stakes().declined_for(&method.id, INSUFFICIENT_GAS, limit).await?;
    let currencies = unit.methods().currencies(method.mode).await?;
    drop(unit);
    if refunds.is_empty() && stakes.is_empty() {
        return Ok(());
    }
    // A network that does not answer, or whose breaker is open, is queried again in the next run.
    let Some(mut state) = ask_gas(ctx, method, rail).await else { return Ok(()) };
    let is_own_token = |id: &CurrencyId| currencies.iter().any(|currency| currency.id == *id && currency.contract == state.token);
    let amounts: Vec<_> =
        refunds.iter().map(|refund| if is_own_token(&refund.currency_id) { refund.amount } else { Amount::ZERO }).collect();
    let mut failure = None;
    for (refund, amount) in refunds.iter().zip(amounts) {
        let Some(rest) = state.after(amount) else { continue };
        match retry_refund_as(ctx, OrderedBy::Engine, refund.mode, &refund.id).await {
            Ok(_) => (*retried, state) = (*retried + 1, rest),
            // Another process or the owner retried it.
            Err(RetryRefundError::Decision(RefundDecisionError::NotFailed | RefundDecisionError::Posting(PostingError::Contended))) => {}
            Err(error) => failure = failure.or(Some(error.into())),
        }
    }
    for stake in &stakes {
        // The network takes the amount out of the stake, not out of the store's account.
        let Some(rest) = state.after(Amount::ZERO) else { break };
        match make_due(ctx, stake).await {
            Ok(is_due) => (*retried, state) = (*retried + usize::from(is_due), rest),
            Err(error) => failure = failure.or(Some(error.into())),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The gas prices and funds of this store, as a background call that the breaker of the network has to admit. `None`: no answer.
async fn ask_gas(ctx: &Context, method: &Method, rail: &dyn WalletRail) -> Option<GasState> {
    let _slot = ctx.networks.acquire(&method.id, Trigger::Reconciler).await;
    if ctx.networks.admit(&method.id, ctx.now()).is_err() {
        return None;
    }
    match ctx.networks.heard_result(method, rail.gas(method).await, ctx.now()) {
        Ok(state) => Some(state),
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, method = %method.id, "the gas of a network could not be read");
            None
        }
    }
}

/// Makes a stake due now, unless it has changed. The batch of due stakes then repeats its transfer.
async fn make_due(ctx: &Context, declined: &Stake) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let Some(stake) = unit.stakes().lock(&declined.id).await?.filter(|stake| is_unchanged(declined, stake)) else { return Ok(false) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let due = Stake { return_at: Some(now), failure: None, updated_at: now, ..stake.clone() };
    let is_written = unit.stakes().update(&stake, &due).await?;
    unit.commit().await?;
    Ok(is_written)
}
