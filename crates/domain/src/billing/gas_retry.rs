//! Sends refunds and stake transfers again that a network declined for gas, as soon as this store can pay it.

use super::clock::time_of_customer;
use super::credit::{RefundDecisionError, RetryRefundError, retry_refund};
use super::errors::PostingError;
use super::stake::{Stake, is_unchanged};
use crate::context::Context;
use crate::payment::{GasState, INSUFFICIENT_GAS};
use crate::shared::{Amount, CurrencyId, MethodId, StorageError};
use std::collections::HashMap;

/// Why what was declined for gas could not be retried.
#[derive(Debug, thiserror::Error)]
pub enum GasRetryError {
    #[error(transparent)]
    Refund(#[from] RetryRefundError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Retries what was declined for gas. Queries each network at most once, and none if nothing waits for gas. Returns the number of retries.
///
/// # Errors
/// The first failure, after everything was processed.
#[tracing::instrument(skip_all)]
pub async fn retry_without_gas(ctx: &Context, limit: u32) -> Result<usize, GasRetryError> {
    let mut unit = ctx.store.read().await?;
    let refunds = unit.refunds().failed_with(INSUFFICIENT_GAS, limit).await?;
    let stakes = unit.stakes().declined_for(INSUFFICIENT_GAS, limit).await?;
    drop(unit);
    let (mut networks, mut retried, mut failure) = (Networks::default(), 0, None);
    for refund in refunds {
        if !networks.can_send(ctx, &refund.method_id, &refund.currency_id, refund.amount).await? {
            continue;
        }
        match retry_refund(ctx, refund.mode, &refund.id).await {
            Ok(_) => retried += 1,
            // Another process or the owner retried it.
            Err(RetryRefundError::Decision(RefundDecisionError::NotFailed | RefundDecisionError::Posting(PostingError::Contended))) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    for stake in stakes {
        // The network takes the amount out of the stake, not out of the store's account.
        if networks.can_send(ctx, &stake.method_id, &stake.currency_id, Amount::ZERO).await? {
            retried += usize::from(make_due(ctx, &stake).await?);
        }
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(retried),
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

/// The answers of the networks, each queried once.
#[derive(Default)]
struct Networks {
    gas: HashMap<MethodId, Option<GasState>>,
}

impl Networks {
    /// Whether the store can pay the gas of a transaction that takes `amount` of a currency from its account. A network that does not
    /// answer is tried again in the next run.
    async fn can_send(&mut self, ctx: &Context, method: &MethodId, currency: &CurrencyId, amount: Amount) -> Result<bool, StorageError> {
        let mut unit = ctx.store.read().await?;
        let currency = unit.methods().find_currency(currency).await?;
        let found = unit.methods().find(method).await?;
        drop(unit);
        if !self.gas.contains_key(method) {
            let rail = found.as_ref().and_then(|found| Some((found, ctx.networks.wallet(found.kind)?)));
            let state = match rail {
                Some((found, rail)) => rail.gas(found).await.ok(),
                None => None,
            };
            self.gas.insert(method.clone(), state);
        }
        let Some(Some(state)) = self.gas.get(method) else { return Ok(false) };
        let is_own_token = currency.is_some_and(|currency| currency.contract == state.token);
        Ok(state.covers(if is_own_token { amount } else { Amount::ZERO }))
    }
}
