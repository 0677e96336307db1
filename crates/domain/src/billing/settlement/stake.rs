//! Stakes that are placed, returned and slashed outside of a checkout session.

use super::{post_stake, recovered};
use crate::billing::book::Book;
use crate::billing::debt::time_of;
use crate::billing::end::{PATIENCE, StakeMove, StakeTransaction, move_stake, record_stake};
use crate::billing::invoice::{Receipt, settle};
use crate::billing::manage::nonce;
use crate::billing::renew::publish_charges;
use crate::billing::restake::restaked;
use crate::billing::{BillingError, Calculation, STAKE_WAITING, Stake, StakeStatus, Subscription};
use crate::context::Context;
use crate::ledger::EntryType;
use crate::payment::{Attempt, AttemptKind, Decline, Purpose, PurposeHandler, Settlement, SettlementError};
use crate::shared::{AttemptId, SubscriptionId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// How often the wait for an earlier stake doubles: from six hours to eight days.
const PATIENCE_DOUBLES: u32 = 5;

/// A stake that a customer places for a subscription.
#[derive(Debug, Clone, Copy)]
pub struct StakePlacement;

#[async_trait]
impl PurposeHandler for StakePlacement {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Stake(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let found = unit.subscriptions().find(subscription).await?.ok_or(SettlementError::Orphan)?;
        let now = time_of(ctx, unit, found.clock_id.as_ref()).await?;
        post_stake(ctx, unit, attempt, found.mode, EntryType::StakePlaced, now).await?;
        restaked(ctx, unit, attempt, subscription, &settlement.reference).await?;
        Ok(Vec::new())
    }

    /// Nothing waited for it but whoever signed it, and their wallet shows the decline.
    async fn declined(
        &self,
        _ctx: &Context,
        _unit: &mut dyn UnitOfWork,
        _attempt: &Attempt,
        _decline: &Decline,
    ) -> Result<(), SettlementError> {
        Ok(())
    }
}

/// A stake that goes back to its owner.
#[derive(Debug, Clone, Copy)]
pub struct StakeReturn;

#[async_trait]
impl PurposeHandler for StakeReturn {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::ReturnStake(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        stake_moved(ctx, unit, attempt, subscription, (StakeTransaction::Returned, &settlement.reference)).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        _decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::ReturnStake(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(stake_lost(ctx, unit, attempt, subscription).await?)
    }
}

/// A stake that pays what is owed.
#[derive(Debug, Clone, Copy)]
pub struct StakeSlash;

#[async_trait]
impl PurposeHandler for StakeSlash {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Slash(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        stake_moved(ctx, unit, attempt, subscription, (StakeTransaction::Forfeited, &settlement.reference)).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        _decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Slash(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(stake_lost(ctx, unit, attempt, subscription).await?)
    }
}

async fn stake_moved(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    (transaction, reference): (StakeTransaction, &str),
) -> Result<(), BillingError> {
    let Some(mut subscription) = unit.subscriptions().find(id).await? else { return Err(BillingError::Orphan) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let has_ended = subscription.ended_at.is_some();
    let moved_earlier = subscription.stake.as_mut().is_some_and(|stake| earlier_moved(stake, attempt, transaction));
    let moving = |stake: &&mut Stake| !moved_earlier && matches!(stake.status, StakeStatus::Returning | StakeStatus::Slashing);
    if let Some(stake) = subscription.stake.as_mut().filter(moving) {
        let rest = stake.amount.minus(attempt.amount).unwrap_or_default();
        match (transaction, rest.is_zero()) {
            (StakeTransaction::Forfeited, false) if has_ended => {
                // What was not taken goes back in its time.
                (stake.status, stake.amount) = (StakeStatus::Waiting, rest);
                stake.return_at = stake.return_at.or(Some(now.plus(STAKE_WAITING)));
            }
            (StakeTransaction::Forfeited, false) => (stake.status, stake.amount) = (StakeStatus::Held, rest),
            (StakeTransaction::Forfeited, true) => stake.status = StakeStatus::Slashed,
            _ => stake.status = StakeStatus::Returned,
        }
    }
    leave_behind(ctx, unit, &mut subscription).await?;
    subscription.updated_at = ctx.now();
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    let settled = match transaction {
        StakeTransaction::Forfeited => {
            let receipt = Receipt { mode: subscription.mode, customer_id: &subscription.customer_id, attempt, intent: None, at: now };
            settle(ctx, unit, &receipt).await?
        }
        _ => {
            post_stake(ctx, unit, attempt, subscription.mode, EntryType::StakeReturned, now).await?;
            Vec::new()
        }
    };
    // It may be charged by another method since.
    let subscription = Subscription { method_id: attempt.method_id.clone(), currency_id: attempt.currency_id.clone(), ..subscription };
    let calculation = Calculation::Flat { amount: attempt.amount };
    record_stake(ctx, unit, &subscription, (transaction, reference), calculation, now).await?;
    recovered(ctx, unit, &settled, now).await
}

/// A stake in whose place another one was left since has moved. What was not taken of it goes back. False: it was none of those.
fn earlier_moved(stake: &mut Stake, attempt: &Attempt, transaction: StakeTransaction) -> bool {
    let AttemptKind::Wallet { payer, .. } = &attempt.kind else { return false };
    let from = if transaction == StakeTransaction::Forfeited { StakeStatus::Slashing } else { StakeStatus::Returning };
    stake.change_earlier((payer, &attempt.currency_id), &[from], |earlier| {
        let rest = earlier.amount.minus(attempt.amount).unwrap_or_default();
        (earlier.status, earlier.amount) = match (transaction, rest.is_zero()) {
            (StakeTransaction::Forfeited, false) => (StakeStatus::Waiting, rest),
            (StakeTransaction::Forfeited, true) => (StakeStatus::Slashed, earlier.amount),
            _ => (StakeStatus::Returned, earlier.amount),
        };
    })
}

/// What a running subscription holds at a network that it has left goes back, after an earlier one that is on its way: one stake of a
/// subscription goes back at a time. It left when nothing was owed there.
pub(in crate::billing) async fn leave_behind(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
) -> Result<(), BillingError> {
    let left = |stake: &Stake| stake.status == StakeStatus::Held && stake.currency_id != subscription.currency_id;
    let Some(stake) = subscription.stake.clone().filter(left) else { return Ok(()) };
    if unit.attempts().open_of(&Purpose::ReturnStake(subscription.id.clone())).await?.is_some() {
        return Ok(());
    }
    let book = Book::read(unit, std::slice::from_ref(subscription)).await?;
    let moved = move_stake(ctx, unit, &book, subscription, StakeMove::back(stake.amount), nonce(ctx)).await?;
    if moved.is_some() {
        publish_charges(ctx, unit, moved.as_slice()).await?;
        subscription.stake = Some(Stake { status: StakeStatus::Returning, ..stake });
    }
    Ok(())
}

/// It was taken back, or its network does not give it now: whoever follows stakes asks.
async fn stake_lost(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, id: &SubscriptionId) -> Result<(), BillingError> {
    let Some(mut subscription) = unit.subscriptions().find(id).await? else { return Ok(()) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let has_ended = subscription.ended_at.is_some();
    let AttemptKind::Wallet { payer, .. } = &attempt.kind else { return Err(BillingError::Orphan) };
    let statuses = [StakeStatus::Returning, StakeStatus::Slashing];
    let waits = |earlier: &mut Stake| {
        // Not every few minutes for ever.
        let wait = PATIENCE.saturating_mul(1 << earlier.refusals.min(PATIENCE_DOUBLES));
        (earlier.status, earlier.return_at) = (StakeStatus::Waiting, Some(now.plus(wait)));
        earlier.refusals = earlier.refusals.saturating_add(1);
    };
    let was_earlier =
        subscription.stake.as_mut().is_some_and(|stake| stake.change_earlier((payer, &attempt.currency_id), &statuses, waits));
    let moving = |stake: &&mut Stake| !was_earlier && statuses.contains(&stake.status);
    if let Some(stake) = subscription.stake.as_mut().filter(moving) {
        (stake.status, stake.return_at) = (StakeStatus::Revoked, has_ended.then(|| now.plus(PATIENCE)));
    }
    // It may have waited for this one.
    leave_behind(ctx, unit, &mut subscription).await?;
    subscription.updated_at = now;
    match unit.subscriptions().update(&subscription).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}
