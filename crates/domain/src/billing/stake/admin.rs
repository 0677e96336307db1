//! Manual returns and forfeits of stakes by the store, and the release of stakes when a subscription ends.

use super::overdue::{overdue_of_stake, overdue_of_subscription};
use super::release::{ReleaseTime, release_if_unused};
use super::transfer::{StakeTransfer, transfer};
use super::{ReleaseReason, Stake, StakeStatus, ask_network};
use crate::billing::charges::publish_charges;
use crate::billing::clock::time_of_customer;
use crate::billing::errors::convert_through;
use crate::billing::subscription_admin::{load, lock, save};
use crate::billing::subscription_error::convert_subscription_errors;
use crate::billing::{BillingError, COMMENT_MAX, Subscription, SubscriptionError};
use crate::context::Context;
use crate::payment::StakeState;
use crate::shared::{Amount, AttemptId, StakeId, SubscriptionId, Timestamp, check_text};
use crate::storage::UnitOfWork;

/// What happens to the stake of a subscription that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeChoice {
    /// It is returned after the usual waiting time.
    None,
    /// It pays unpaid invoices, and the rest is returned at once.
    Proration,
    /// All of it is forfeited to the store.
    Slash,
}

impl StakeChoice {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "proration" => Self::Proration,
            "slash" => Self::Slash,
            _ => return None,
        })
    }
}

/// Applies the store's choice about the stake, in the unit of work that ends the subscription. Returns the attempt to send, if any.
pub(in crate::billing) async fn stake_at_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    choice: StakeChoice,
    now: Timestamp,
) -> Result<Option<AttemptId>, SubscriptionError> {
    let Some(stake) = load(unit, id).await?.stake_id.filter(|_| choice != StakeChoice::None) else { return Ok(None) };
    let stake = unit.stakes().lock(&stake).await?.ok_or(SubscriptionError::NotFound)?;
    // Ending the subscription may already have reserved the stake to collect unpaid invoices.
    if stake.reservation.is_some() || stake.is_revoked() || !matches!(stake.status, StakeStatus::Held | StakeStatus::Releasing) {
        return Ok(None);
    }
    let overdue = overdue_of_stake(unit, &stake).await?;
    let to_forfeit = match choice {
        StakeChoice::Slash => stake.available(),
        _ => overdue.sum()?.min(stake.available()),
    };
    // The rest is returned at once, unless other subscriptions need it.
    let stake = make_due_now(unit, &stake, now).await?;
    if !to_forfeit.is_zero() {
        return Ok(transfer(ctx, unit, &stake, StakeTransfer::forfeiting(to_forfeit, &overdue), now).await?);
    }
    if stake.status == StakeStatus::Held || overdue.is_in_flight {
        return Ok(None);
    }
    Ok(transfer(ctx, unit, &stake, StakeTransfer::returning(stake.available()), now).await?)
}

/// Makes a released stake due now.
async fn make_due_now(unit: &mut dyn UnitOfWork, stake: &Stake, now: Timestamp) -> Result<Stake, SubscriptionError> {
    if stake.status != StakeStatus::Releasing {
        return Ok(stake.clone());
    }
    let after = stake.released(ReleaseReason::ReturnedByStore, now, now);
    match unit.stakes().update(stake, &after).await? {
        true => Ok(after),
        false => Err(SubscriptionError::Contended),
    }
}

/// Why a network cannot be queried about a stake.
#[derive(Debug, thiserror::Error)]
pub enum QueryStakeError {
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(QueryStakeError::Subscription);

/// Why the store cannot return a stake.
#[derive(Debug, thiserror::Error)]
pub enum ReturnStakeError {
    #[error("This subscription has no deposit that can be returned or forfeited")]
    NoStake,
    #[error(transparent)]
    Query(#[from] QueryStakeError),
}

convert_subscription_errors!(ReturnStakeError::Query);
convert_through!(ReturnStakeError::Query, SubscriptionError);

/// Why the store cannot forfeit a stake.
#[derive(Debug, thiserror::Error)]
pub enum SlashStakeError {
    #[error("This subscription has no deposit that can be returned or forfeited")]
    NoStake,
    #[error("The deposit is lower than this amount")]
    StakeTooSmall,
    #[error(transparent)]
    Query(#[from] QueryStakeError),
}

convert_subscription_errors!(SlashStakeError::Query);
convert_through!(SlashStakeError::Query, SubscriptionError);

/// The stake that a subscription names.
async fn stake_of(ctx: &Context, id: &SubscriptionId) -> Result<Option<StakeId>, SubscriptionError> {
    let mut unit = ctx.store.read().await?;
    Ok(load(unit.as_mut(), id).await?.stake_id)
}

/// A stake and its state at the network.
struct SeenStake {
    id: StakeId,
    state: StakeState,
}

async fn query_stake(ctx: &Context, id: &StakeId) -> Result<SeenStake, QueryStakeError> {
    let mut unit = ctx.store.read().await?;
    let stake = unit.stakes().find(id).await?.ok_or(SubscriptionError::NotFound)?;
    drop(unit);
    let state = ask_network(ctx, &stake).await?.ok_or(QueryStakeError::MethodNotSupported)?;
    Ok(SeenStake { id: stake.id, state })
}

/// Returns the stake of an ended subscription before its waiting time is over, or again after a declined return.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn return_stake(ctx: &Context, id: &SubscriptionId) -> Result<(), ReturnStakeError> {
    let stake = stake_of(ctx, id).await?.ok_or(ReturnStakeError::NoStake)?;
    return_released(ctx, &stake).await
}

/// As [`return_stake`], for any released stake.
#[tracing::instrument(skip_all, fields(stake = %id))]
pub async fn return_released(ctx: &Context, id: &StakeId) -> Result<(), ReturnStakeError> {
    let seen = query_stake(ctx, id).await?;
    let mut unit = ctx.store.begin().await?;
    let stake = unit.stakes().lock(&seen.id).await?.ok_or(SubscriptionError::NotFound)?;
    // What the store keeps is not returned.
    if stake.status != StakeStatus::Releasing || stake.is_forfeited() {
        return Err(ReturnStakeError::NoStake);
    }
    if stake.reservation.is_some() {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    // By the store's decision, unpaid invoices are not deducted.
    let amount = stake.available().min(seen.state.held);
    let stake = make_due_now(unit.as_mut(), &stake, now).await?;
    let attempt = transfer(ctx, unit.as_mut(), &stake, StakeTransfer::returning(amount), now).await;
    let attempt = in_flight_if_contended(attempt)?.ok_or(ReturnStakeError::NoStake)?;
    Ok(commit_transfer(ctx, unit, attempt).await?)
}

/// A transfer is contended when another one of the stake is in flight.
fn in_flight_if_contended(attempt: Result<Option<AttemptId>, BillingError>) -> Result<Option<AttemptId>, SubscriptionError> {
    match attempt {
        Err(BillingError::Contended) => Err(SubscriptionError::PaymentInFlight),
        attempt => Ok(attempt?),
    }
}

async fn commit_transfer(ctx: &Context, mut unit: Box<dyn UnitOfWork>, attempt: AttemptId) -> Result<(), SubscriptionError> {
    publish_charges(ctx, unit.as_mut(), std::slice::from_ref(&attempt)).await?;
    unit.commit().await?;
    Ok(())
}

/// Forfeits a stake or a part of it, for a reason that the customer can read. Unpaid invoices are paid first. `amount`: `None` for all of
/// it.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn slash_stake(ctx: &Context, id: &SubscriptionId, amount: Option<Amount>, reason: &str) -> Result<(), SlashStakeError> {
    let reason = check_text("reason", reason, COMMENT_MAX)?;
    let stake = stake_of(ctx, id).await?.ok_or(SlashStakeError::NoStake)?;
    let SeenStake { id: stake, state } = query_stake(ctx, &stake).await?;
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    let stake = unit.stakes().lock(&stake).await?.filter(|found| subscription.stake_id.as_ref() == Some(&found.id));
    let stake = stake.filter(|stake| matches!(stake.status, StakeStatus::Held | StakeStatus::Releasing)).ok_or(SlashStakeError::NoStake)?;
    if stake.reservation.is_some() {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    // A revoked stake can be forfeited until the network has paid it out to its payer.
    let held = stake.available().min(state.held.plus(state.revoked)?);
    if held.is_zero() {
        return Err(SlashStakeError::NoStake);
    }
    let amount = amount.unwrap_or(held);
    if amount.is_zero() || amount > held {
        return Err(SlashStakeError::StakeTooSmall);
    }
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    subscription.metadata.insert("slash_reason".to_owned(), reason);
    subscription.updated_at = now;
    save(unit.as_mut(), &subscription).await?;
    let overdue = overdue_for_slash(unit.as_mut(), &stake, &subscription).await?;
    // If that payment is declined, its invoice is to be paid before anything else.
    if overdue.is_in_flight {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    let attempt = transfer(ctx, unit.as_mut(), &stake, StakeTransfer::forfeiting(amount, &overdue), now).await;
    let attempt = in_flight_if_contended(attempt)?.ok_or(SlashStakeError::NoStake)?;
    Ok(commit_transfer(ctx, unit, attempt).await?)
}

/// The overdue invoices of the subscription and of ended subscriptions that the stake secures.
async fn overdue_for_slash(
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    subscription: &Subscription,
) -> Result<super::OverdueInvoices, BillingError> {
    let mut overdue = overdue_of_stake(unit, stake).await?;
    if subscription.ended_at.is_none() {
        let of_subscription = overdue_of_subscription(unit, stake, subscription).await?;
        overdue.invoices.extend(of_subscription.invoices);
        overdue.is_in_flight |= of_subscription.is_in_flight;
        overdue.invoices.sort_by(|a, b| a.invoice_id.cmp(&b.invoice_id));
    }
    Ok(overdue)
}

/// Releases the stakes of a subscription that has just ended and was written. The stake pays overdue invoices if the subscription ended
/// because of them or the stake was revoked. The rest is returned after a waiting time, in which the last usage is billed. The caller has
/// locked the stakes. Returns the attempts to send.
pub(in crate::billing) async fn release_at_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    is_for_overdue: bool,
    now: Timestamp,
) -> Result<Vec<AttemptId>, BillingError> {
    let mut attempts = Vec::new();
    if let Some(id) = &subscription.overdraft_stake_id {
        let stake = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
        // Overdue invoices can be paid in another way until the grace period is over.
        let grace_over = subscription.past_due_since.map(|since| since.plus(ctx.policy.overdraft_grace));
        let at = grace_over.map_or(ReleaseTime::Now, ReleaseTime::At);
        release_if_unused(unit, &stake, ReleaseReason::Ended, at, now).await?;
    }
    let Some(id) = &subscription.stake_id else { return Ok(attempts) };
    let stake = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    // The network pays a revoked stake out to its payer, so unpaid invoices must be collected before that.
    let at = if stake.is_revoked() { ReleaseTime::Now } else { ReleaseTime::AfterWaiting };
    let collects = is_for_overdue || stake.is_revoked();
    let stake = release_if_unused(unit, &stake, ReleaseReason::Ended, at, now).await?;
    if collects && stake.reservation.is_none() {
        let overdue = overdue_of_stake(unit, &stake).await?;
        let amount = overdue.sum()?.min(stake.available());
        attempts.extend(transfer(ctx, unit, &stake, StakeTransfer::forfeiting(amount, &overdue), now).await?);
    }
    Ok(attempts)
}
