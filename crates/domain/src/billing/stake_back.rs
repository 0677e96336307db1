//! What the store does with a stake by hand: back to who left it, or into its own till.

use super::book::Book;
use super::cancel::split_stake;
use super::end::move_stake;
use super::manage::{load, nonce, save};
use super::renew::publish_charges;
use super::{COMMENT_MAX, ManageError, StakeChoice, StakeStatus, Subscription, SubscriptionStatus, time_of};
use crate::context::Context;
use crate::ledger::Reason;
use crate::shared::{Amount, AttemptId, StorageError, SubscriptionId, Timestamp, check_text};
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
    let taken = match choice {
        StakeChoice::Slash => stake.amount,
        _ => split_stake(stake.amount, owed(unit, &subscription).await?).0,
    };
    let (reason, amount) = if taken.is_zero() { (Reason::ReturnStake, stake.amount) } else { (Reason::Slash, taken) };
    order(ctx, unit, subscription, reason, amount, nonce, now).await
}

/// What a subscription owes.
async fn owed(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Amount, ManageError> {
    let overdue = unit.invoices().overdue(&subscription.customer_id).await?;
    let own = overdue.iter().filter(|invoice| invoice.subscription_id.as_ref() == Some(&subscription.id));
    Ok(Amount::sum(own.map(|invoice| invoice.total))?)
}

/// Writes down that a stake moves, and the attempt that moves it. A rest that is not taken goes back at once, where all has ended.
async fn order(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut subscription: Subscription,
    reason: Reason,
    amount: Amount,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, ManageError> {
    let book = Book::read(unit, std::slice::from_ref(&subscription)).await?;
    if let Some(stake) = &mut subscription.stake {
        stake.status = if reason == Reason::Slash { StakeStatus::Slashing } else { StakeStatus::Returning };
        stake.return_at = subscription.ended_at.map(|_| now);
    }
    subscription.updated_at = now;
    let moved = move_stake(ctx, unit, &book, &subscription, reason, amount, nonce).await;
    let attempt = match moved {
        Err(super::BillingError::Storage(StorageError::Duplicate(_))) => return Err(ManageError::PaymentInFlight),
        moved => moved?.ok_or(ManageError::NoStake)?,
    };
    save(unit, &subscription).await?;
    Ok(Some(attempt))
}

/// Gives the stake of an ended subscription back before its waiting time is over.
pub async fn return_stake(ctx: &Context, id: &SubscriptionId) -> Result<(), ManageError> {
    let mut unit = ctx.store.begin().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let stake = subscription.stake.as_ref().filter(|stake| stake.status == StakeStatus::Waiting);
    let amount = match stake {
        Some(stake) if subscription.status == SubscriptionStatus::Canceled => stake.amount,
        _ => return Err(ManageError::NoStake),
    };
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let attempt = order(ctx, unit.as_mut(), subscription, Reason::ReturnStake, amount, nonce(ctx), now).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(())
}

/// Takes a stake, or a part of it, for a reason that the customer can read. It pays what is owed first.
pub async fn slash_stake(ctx: &Context, id: &SubscriptionId, amount: Option<Amount>, reason: &str) -> Result<(), ManageError> {
    let reason = check_text("reason", reason, COMMENT_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let mut subscription = load(unit.as_mut(), id).await?;
    let stake = subscription.stake.as_ref().filter(|stake| matches!(stake.status, StakeStatus::Held | StakeStatus::Waiting));
    let held = stake.ok_or(ManageError::NoStake)?.amount;
    let amount = amount.unwrap_or(held);
    if amount.is_zero() || amount > held {
        return Err(ManageError::StakeTooSmall);
    }
    subscription.metadata.insert("slash_reason".to_owned(), reason);
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let attempt = order(ctx, unit.as_mut(), subscription, Reason::Slash, amount, nonce(ctx), now).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(())
}
