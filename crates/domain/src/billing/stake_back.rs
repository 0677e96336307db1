//! What the store does with a stake by hand: back to who left it, or into its own till.

use super::book::Book;
use super::cancel::split_stake;
use super::end::{StakeMove, StakeTransaction, move_stake, owed_for};
use super::follow_stakes::at_network;
use super::manage::{load, nonce, save};
use super::renew::publish_charges;
use super::{BillingError, COMMENT_MAX, ManageError, Stake, StakeChoice, StakeStatus, Subscription, SubscriptionStatus, time_of};
use crate::context::Context;
use crate::payment::StakeState;
use crate::shared::{Amount, AttemptId, SubscriptionId, Timestamp, check_text};
use crate::storage::UnitOfWork;

/// Decides, in the unit of work that ended a subscription, what becomes of its stake.
pub(super) async fn at_the_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    choice: StakeChoice,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, ManageError> {
    if choice == StakeChoice::None {
        return Ok(None);
    }
    let subscription = load(unit, id).await?;
    let Some(stake) = subscription.stake.clone().filter(|stake| stake.status == StakeStatus::Waiting) else { return Ok(None) };
    let owed = owed_for(unit, &subscription).await?;
    let taken = match choice {
        StakeChoice::Slash => stake.amount,
        _ => split_stake(stake.amount, owed.sum()?).0,
    };
    if taken.is_zero() && (owed.is_moving || owed.may_grow) {
        // Whether something is owed will be seen: the engine's rounds look from now on.
        return wait(unit, subscription, now).await;
    }
    let back = (StakeTransaction::Returned, stake.amount);
    let (transaction, amount) = if taken.is_zero() { back } else { (StakeTransaction::Forfeited, taken) };
    order(ctx, unit, subscription, transaction, amount, nonce, now).await
}

async fn wait(unit: &mut dyn UnitOfWork, mut subscription: Subscription, now: Timestamp) -> Result<Option<AttemptId>, ManageError> {
    if let Some(stake) = &mut subscription.stake {
        stake.return_at = Some(now);
    }
    subscription.updated_at = now;
    save(unit, &subscription).await?;
    Ok(None)
}

/// Writes down that a stake moves, and the attempt that moves it. A rest that is not taken goes back at once, where all has ended.
async fn order(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut subscription: Subscription,
    transaction: StakeTransaction,
    amount: Amount,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, ManageError> {
    let book = Book::read(unit, std::slice::from_ref(&subscription)).await?;
    let what = match transaction {
        StakeTransaction::Forfeited => StakeMove::slash(amount, &owed_for(unit, &subscription).await?),
        _ => StakeMove::back(amount),
    };
    let moved = move_stake(ctx, unit, &book, &subscription, what, nonce).await;
    if let Some(stake) = &mut subscription.stake {
        stake.status = if transaction == StakeTransaction::Forfeited { StakeStatus::Slashing } else { StakeStatus::Returning };
        stake.return_at = subscription.ended_at.map(|_| now);
    }
    subscription.updated_at = now;
    let attempt = match moved {
        Err(BillingError::Contended) => return Err(ManageError::PaymentInFlight),
        moved => moved?.ok_or(ManageError::NoStake)?,
    };
    save(unit, &subscription).await?;
    Ok(Some(attempt))
}

/// What the network says of a stake that was taken for lost, because its wallet revoked it or it was refused once:
/// what is still there can be moved.
async fn there_yet(ctx: &Context, id: &SubscriptionId) -> Result<StakeState, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    drop(unit);
    match subscription.stake.filter(|stake| stake.status == StakeStatus::Revoked) {
        Some(stake) => Ok(at_network(ctx, &stake, id).await?),
        None => Ok(StakeState::default()),
    }
}

/// The stake that can be moved: one that stands as one of `statuses`, or as much of a lost one as is `there_yet`.
fn movable<'a>(subscription: &'a mut Subscription, statuses: &[StakeStatus], there_yet: Amount) -> Option<&'a mut Stake> {
    let stake = subscription.stake.as_mut()?;
    if stake.status == StakeStatus::Revoked && !there_yet.is_zero() {
        stake.amount = stake.amount.min(there_yet);
        return Some(stake);
    }
    statuses.contains(&stake.status).then_some(stake)
}

/// Gives the stake of an ended subscription back before its waiting time is over, or again where that was refused.
pub async fn return_stake(ctx: &Context, id: &SubscriptionId) -> Result<(), ManageError> {
    let held_yet = there_yet(ctx, id).await?.held;
    let mut unit = ctx.store.begin().await?;
    let mut subscription = load(unit.as_mut(), id).await?;
    let has_ended = subscription.status == SubscriptionStatus::Canceled;
    let stake = movable(&mut subscription, &[StakeStatus::Waiting], held_yet).filter(|_| has_ended);
    let amount = stake.ok_or(ManageError::NoStake)?.amount;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let attempt = order(ctx, unit.as_mut(), subscription, StakeTransaction::Returned, amount, nonce(ctx), now).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(())
}

/// Takes a stake, or a part of it, for a reason that the customer can read. It pays what is owed first.
pub async fn slash_stake(ctx: &Context, id: &SubscriptionId, amount: Option<Amount>, reason: &str) -> Result<(), ManageError> {
    let reason = check_text("reason", reason, COMMENT_MAX)?;
    // What was revoked is given back no more, but may be taken until it is paid out.
    let StakeState { held, revoked } = there_yet(ctx, id).await?;
    let mut unit = ctx.store.begin().await?;
    let mut subscription = load(unit.as_mut(), id).await?;
    let stake = movable(&mut subscription, &[StakeStatus::Held, StakeStatus::Waiting], held.plus(revoked)?);
    let held = stake.ok_or(ManageError::NoStake)?.amount;
    let amount = amount.unwrap_or(held);
    if amount.is_zero() || amount > held {
        return Err(ManageError::StakeTooSmall);
    }
    subscription.metadata.insert("slash_reason".to_owned(), reason);
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let attempt = order(ctx, unit.as_mut(), subscription, StakeTransaction::Forfeited, amount, nonce(ctx), now).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(())
}
