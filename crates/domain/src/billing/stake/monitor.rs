//! Detects stakes that their payers revoke at the network: each stake is queried every [`STAKE_CHECK_INTERVAL`].

use super::due::is_unchanged;
use super::place::unneeded_because;
use super::posting::post_claim;
use super::release::{ReleaseTime, release_if_unused};
use super::{ReleaseReason, Stake, StakePurpose, StakeStatus, ask_network};
use crate::billing::clock::time_of_customer;
use crate::billing::{BillingError, CancelReason, Cancellation, Notification, Subscription, SubscriptionStatus, notify};
use crate::context::Context;
use crate::payment::{StakeState, Trigger, paused_methods, per_network};
use crate::shared::{Amount, AmountError, Timestamp};
use crate::storage::UnitOfWork;
use futures_util::FutureExt;
use std::time::Duration;

/// The interval between two queries about the same stake.
pub const STAKE_CHECK_INTERVAL: Duration = Duration::from_secs(300);
/// How long after a change of a stake its network may not show the change yet.
const SETTLING_TIME: Duration = Duration::from_secs(3_600);
/// The number of concurrent queries to one network.
const CONCURRENT_QUESTIONS: usize = 16;

/// Queries the networks about at most `limit` stakes. Subscriptions whose stake was revoked end with their periods, unless a new stake is
/// placed before that. A stake that counted as revoked and is held again secures its subscriptions again. A held stake that nothing uses is
/// released. An unresponsive network does not block the others, and paused ones are not queried. Returns the number of queried stakes.
///
/// # Errors
/// The first failure, after all stakes were checked.
#[tracing::instrument(skip_all, fields(limit))]
pub async fn check_stakes(ctx: &Context, limit: u32) -> Result<usize, BillingError> {
    let (now, paused) = (ctx.now(), paused_methods(ctx).await?);
    let mut unit = ctx.store.begin().await?;
    let mut claimed = unit.stakes().claim_unchecked(now.minus(STAKE_CHECK_INTERVAL), now, limit).await?;
    unit.commit().await?;
    claimed.retain(|stake| !paused.contains(&stake.method_id));
    let checks = claimed.iter().map(|stake| (stake.method_id.clone(), check(ctx, stake).boxed()));
    let results = per_network(checks, CONCURRENT_QUESTIONS).await;
    match results.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(claimed.len()),
    }
}

/// What the network's answer says about a stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    AsKnown,
    /// The network holds less than required.
    Revoked,
    /// The network again holds all of a revoked stake.
    Restored,
    /// A part that was revoked earlier was paid out; the required amount is held.
    Claimed(Amount),
    /// More is held than required, and no return of it is due.
    Excess,
}

fn finding(stake: &Stake, state: StakeState, is_settled: bool) -> Result<Finding, AmountError> {
    if stake.reservation.is_some() {
        // The amount in flight is missing either at the network or in our records.
        return Ok(Finding::AsKnown);
    }
    let required = stake.amount_requested.min(stake.remaining());
    let at_network = state.held.plus(state.revoked)?;
    let paid_out = stake.remaining().minus(at_network).unwrap_or_default();
    Ok(match stake.status {
        StakeStatus::Held if state.held < required && (is_settled || !state.revoked.is_zero()) => Finding::Revoked,
        StakeStatus::Held if is_settled && state.held >= required && !paid_out.is_zero() => Finding::Claimed(paid_out),
        StakeStatus::Held
            if stake.purpose == StakePurpose::Security && stake.return_at.is_none() && !stake.excess(state.held).is_zero() =>
        {
            Finding::Excess
        }
        StakeStatus::Releasing if stake.is_revoked() && state.held >= required => Finding::Restored,
        _ => Finding::AsKnown,
    })
}

async fn check(ctx: &Context, queried: &Stake) -> Result<(), BillingError> {
    let _slot = ctx.networks.acquire(&queried.method_id, Trigger::Reconciler).await;
    if ctx.networks.admit(&queried.method_id, ctx.now()).is_err() {
        return Ok(());
    }
    let Some(state) = ask_network(ctx, queried).await? else { return Ok(()) };
    let is_settled = ctx.trust.is_trusted() && ctx.now().since(queried.updated_at) > SETTLING_TIME;
    let found = finding(queried, state, is_settled)?;
    if found == Finding::AsKnown {
        return release_if_forgotten(ctx, queried).await;
    }
    if queried.subject.subscription().is_none() {
        return apply_to_deposit(ctx, queried, found).await;
    }
    let mut unit = ctx.store.begin().await?;
    let subscriptions = lock_subscriptions(unit.as_mut(), queried).await?;
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(()) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let after = match found {
        Finding::AsKnown => return Ok(()),
        Finding::Revoked => {
            end_subscriptions(ctx, unit.as_mut(), &stake, subscriptions, now).await?;
            stake.revoked(now)
        }
        // It secures no running subscription: it is returned as scheduled.
        Finding::Restored if subscriptions.is_empty() => return Ok(()),
        Finding::Restored => stake.restored(now),
        Finding::Excess => Stake { return_at: Some(now), updated_at: now, ..stake.clone() },
        Finding::Claimed(amount) => {
            post_claim(ctx, unit.as_mut(), &stake, amount, now).await?;
            stake.claimed(amount, now)?
        }
    };
    if unit.stakes().update(&stake, &after).await? {
        unit.commit().await?;
    }
    Ok(())
}

/// Applies what the network's answer says about a deposit for something other than a subscription.
async fn apply_to_deposit(ctx: &Context, queried: &Stake, found: Finding) -> Result<(), BillingError> {
    let of = ctx.stake_uses.find(queried.purpose).ok_or(BillingError::Orphan)?;
    let mut unit = ctx.store.begin().await?;
    of.lock(unit.as_mut(), queried).await?;
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(()) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let after = match found {
        // What exceeds the requested amount stays until the deposit is released.
        Finding::AsKnown | Finding::Excess => return Ok(()),
        Finding::Revoked => {
            tracing::info!(stake = %stake.id, "a deposit was revoked by its payer");
            of.revoked(ctx, unit.as_mut(), &stake).await?;
            stake.revoked(now)
        }
        Finding::Restored => {
            let restored = stake.restored(now);
            of.held(ctx, unit.as_mut(), &restored).await?.map_or_else(|| restored.clone(), |unneeded| unneeded.release(&restored, now))
        }
        Finding::Claimed(amount) => {
            post_claim(ctx, unit.as_mut(), &stake, amount, now).await?;
            stake.claimed(amount, now)?
        }
    };
    if unit.stakes().update(&stake, &after).await? {
        unit.commit().await?;
    }
    Ok(())
}

/// Releases a held deposit that nothing needs, so that none is held without use.
async fn release_if_unneeded(ctx: &Context, queried: &Stake) -> Result<(), BillingError> {
    let of = ctx.stake_uses.find(queried.purpose).ok_or(BillingError::Orphan)?;
    let mut unit = ctx.store.read().await?;
    let now = time_of_customer(ctx, unit.as_mut(), &queried.customer_id).await?;
    if of.unneeded(unit.as_mut(), queried, now).await?.is_none() {
        return Ok(());
    }
    drop(unit);
    let mut unit = ctx.store.begin().await?;
    of.lock(unit.as_mut(), queried).await?;
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(()) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let Some(unneeded) = of.unneeded(unit.as_mut(), &stake, now).await? else { return Ok(()) };
    tracing::warn!(stake = %stake.id, reason = unneeded.reason.name(), "a deposit that nothing uses is returned");
    if unit.stakes().update(&stake, &unneeded.release(&stake, now)).await? {
        unit.commit().await?;
    }
    Ok(())
}

/// Releases a held stake that no running subscription names and that no pending change waits for, so that no deposit is held without use.
async fn release_if_forgotten(ctx: &Context, queried: &Stake) -> Result<(), BillingError> {
    if !queried.is_held() {
        return Ok(());
    }
    let Some(subject) = queried.subject.subscription() else { return release_if_unneeded(ctx, queried).await };
    let mut unit = ctx.store.read().await?;
    if is_named(unit.as_mut(), queried).await? {
        return Ok(());
    }
    drop(unit);
    let mut unit = ctx.store.begin().await?;
    // The stake of a checkout that is not complete is placed before its subscription exists.
    if unit.subscriptions().lock(subject).await?.is_none() {
        return Ok(());
    }
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(()) };
    let Some(reason) = unneeded_because(unit.as_mut(), &stake).await? else { return Ok(()) };
    let at = if reason == ReleaseReason::Ended { ReleaseTime::AfterWaiting } else { ReleaseTime::Now };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    if !is_named(unit.as_mut(), &stake).await? {
        tracing::warn!(stake = %stake.id, reason = reason.name(), "a deposit that nothing uses is returned");
        release_if_unused(unit.as_mut(), &stake, reason, at, now).await?;
        unit.commit().await?;
    }
    Ok(())
}

async fn is_named(unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<bool, BillingError> {
    Ok(unit.subscriptions().of_stake(&stake.id).await?.iter().any(|one| one.ended_at.is_none()))
}

/// The running subscriptions that a stake secures, locked in id order.
async fn lock_subscriptions(unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Vec<Subscription>, BillingError> {
    let ids: Vec<_> = unit.subscriptions().of_stake(&stake.id).await?.into_iter().map(|one| one.id).collect();
    let mut subscriptions = unit.subscriptions().lock_all(&ids).await?;
    subscriptions.retain(|one| one.ended_at.is_none());
    Ok(subscriptions)
}

/// Schedules the subscriptions to end with their periods. For an overdraft stake, switches the overdraft protection off.
async fn end_subscriptions(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    subscriptions: Vec<Subscription>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let mut changed = Vec::with_capacity(subscriptions.len());
    for mut subscription in subscriptions {
        if stake.purpose == StakePurpose::Overdraft {
            (subscription.overdraft_stake_id, subscription.overdraft_at) = (None, None);
        } else {
            end_with_period(ctx, unit, &mut subscription, now).await?;
        }
        subscription.updated_at = now;
        changed.push(subscription);
    }
    if !changed.is_empty() && !unit.subscriptions().update_all(&changed).await? {
        return Err(BillingError::Contended);
    }
    Ok(())
}

async fn end_with_period(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<(), BillingError> {
    if subscription.ends_at().is_some() {
        return Ok(());
    }
    let reason = CancelReason::StakeRevoked;
    subscription.cancellation =
        Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: now, clearing_stake: None });
    subscription.canceled_at = Some(now);
    subscription.cancel_at_period_end = true;
    if subscription.status == SubscriptionStatus::Paused {
        // The engine does not process periods of paused subscriptions, so their end is stored as a time.
        subscription.cancel_at = Some(subscription.period.end);
    }
    let scheduled = Notification::CancellationScheduled { subscription: subscription.id.clone(), canceled_at: now };
    notify(ctx, unit, &scheduled, ctx.now()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::StakeTransferKind;
    use super::super::entity::tests::{at, held, reservation};
    use super::*;

    #[test]
    fn a_stake_is_revoked_below_the_required_amount_and_restored_when_all_is_held_again() {
        let state = |held, revoked| StakeState { held: Amount::new(held), revoked: Amount::new(revoked) };
        let revoked = held(10).revoked(at(1));
        for (stake, state, is_settled, expected) in [
            (held(10), state(10, 0), true, Finding::AsKnown),
            (held(10), state(12, 0), true, Finding::AsKnown),
            (Stake { amount_requested: Amount::new(8), ..held(10) }, state(10, 0), false, Finding::Excess),
            (held(10).lowered_to(Amount::new(8), at(1)), state(10, 0), true, Finding::AsKnown),
            (held(10), state(0, 10), false, Finding::Revoked),
            (held(10), state(4, 6), false, Finding::Revoked),
            (held(10), state(0, 0), true, Finding::Revoked),
            (held(10), state(0, 0), false, Finding::AsKnown),
            (revoked.clone(), state(10, 0), true, Finding::Restored),
            (revoked.clone(), state(4, 6), true, Finding::AsKnown),
            (held(10).released(ReleaseReason::Ended, at(1), at(1)), state(0, 10), true, Finding::AsKnown),
        ] {
            assert_eq!(finding(&stake, state, is_settled), Ok(expected), "{:?} {state:?}", stake.status);
        }
        let replaced = revoked.placed(Amount::new(10), "B", at(2)).expect("in range");
        assert_eq!(finding(&replaced, state(10, 10), true), Ok(Finding::AsKnown), "the network has not paid out the revoked part yet");
        assert_eq!(finding(&replaced, state(10, 0), true), Ok(Finding::Claimed(Amount::new(10))));
        assert!(finding(&replaced, state(u128::MAX, 1), true).is_err(), "an answer out of range is not taken for less");
        let moving = held(10).reserve(reservation(StakeTransferKind::Return, 10), at(1)).expect("it fits");
        assert_eq!(finding(&moving, state(0, 0), true), Ok(Finding::AsKnown), "the return may have reached the network");
    }
}
