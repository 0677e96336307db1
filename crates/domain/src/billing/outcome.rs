//! What follows from money that moved, or did not, where no checkout waits for it. In one unit of work, for exactly one caller.

use super::book::Book;
use super::change_payment::switch_over;
use super::debt::{debt_paid, refuse, time_of};
use super::end::{PATIENCE, StakeMove, move_stake, settle_by_stake, stake_invoice};
use super::give_back::not_given_back;
use super::manage::nonce;
use super::notice::announce_paid;
use super::pay_by_card::pay_with_saved;
use super::promise::keep_promise;
use super::recharge::recharged;
use super::renew::publish_charges;
use super::restake::restaked;
use super::{BillingError, Calculation, InvoiceStatus, Notice, STAKE_WAITING, Stake, StakeStatus, Subscription, announce};
use crate::context::Context;
use crate::ledger::{Entry, Movement, Reason};
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, Grant, IntentStatus, Mandate, MandateStatus, Purpose, RefundStatus, Refusal, SavedCard, Settlement,
};
use crate::shared::{EntryId, MandateId, Mode, PaymentIntentId, RefundId, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeSet, HashMap};

/// How often the wait for an earlier stake doubles: from six hours to eight days.
const PATIENCE_DOUBLES: u32 = 5;

/// The network says that it happened.
pub(super) async fn settled(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    if !unit.attempts().finish(&attempt.id, AttemptStatus::Settled, None, ctx.now()).await? {
        return Ok(());
    }
    match &attempt.purpose {
        Purpose::Payment(intent) => paid(ctx, unit, attempt, intent, settlement).await,
        Purpose::Mandate(mandate) => {
            mandate_given(ctx, unit, mandate, settlement).await?;
            switch_over(ctx, unit, attempt, mandate).await?;
            pay_with_saved(ctx, unit, attempt, mandate).await
        }
        Purpose::Stake(subscription) => {
            let found = unit.subscriptions().find(subscription).await?.ok_or(BillingError::Orphan)?;
            let now = time_of(ctx, unit, found.clock_id.as_ref()).await?;
            book(ctx, unit, attempt, found.mode, Reason::Stake, now).await?;
            restaked(ctx, unit, attempt, subscription, &settlement.reference).await
        }
        Purpose::ReturnStake(subscription) => {
            stake_moved(ctx, unit, attempt, subscription, (Reason::ReturnStake, &settlement.reference)).await
        }
        Purpose::Slash(subscription) => stake_moved(ctx, unit, attempt, subscription, (Reason::Slash, &settlement.reference)).await,
        Purpose::Refund(refund) => refunded(ctx, unit, attempt, refund, settlement).await,
        Purpose::Recharge(subscription) => recharged(ctx, unit, attempt, subscription, &settlement.reference).await,
    }
}

/// The network says that it never will.
pub(super) async fn refused(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, refusal: &Refusal) -> Result<(), BillingError> {
    let wall = ctx.now();
    if !unit.attempts().refuse(attempt, refusal, wall).await? {
        return Ok(());
    }
    match &attempt.purpose {
        Purpose::Payment(intent) => not_paid(ctx, unit, intent, refusal).await,
        Purpose::Mandate(mandate) => mandate_refused(ctx, unit, mandate).await,
        // Nothing waited for it but whoever signed it, who is told.
        Purpose::Stake(_) | Purpose::Recharge(_) => Ok(()),
        Purpose::ReturnStake(subscription) | Purpose::Slash(subscription) => stake_lost(ctx, unit, attempt, subscription).await,
        Purpose::Refund(refund) => not_given_back(ctx, unit, refund).await,
    }
}

async fn paid(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    intent: &PaymentIntentId,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    let wall = ctx.now();
    unit.intents().succeed(intent, attempt.amount, &settlement.reference, &settlement.payer, wall).await?;
    let intent = unit.intents().find(intent).await?.ok_or(BillingError::Orphan)?;
    let invoices = unit.invoices().find_all(&intent.invoices).await?;
    let subscriptions: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    for subscription in &subscriptions {
        let locked = unit.subscriptions().lock(subscription).await?;
        if let (AttemptKind::OffSession { card, .. }, Some(seen), Some(locked)) = (&attempt.kind, &settlement.card, locked)
            && seen != card
        {
            card_seen(ctx, unit, &locked, seen).await?;
        }
    }
    let now = time_of(ctx, unit, invoices.first().and_then(|invoice| invoice.clock_id.as_ref())).await?;
    let mut promised: HashMap<_, _> = unit.credits().redeem(&intent.invoices).await?.into_iter().collect();
    for invoice in invoices {
        let before = unit.invoices().pay(&invoice.id, invoice.total, Some(&intent.id), now).await?;
        if let (Some(InvoiceStatus::Uncollectible), Some(subscription)) = (before, &invoice.subscription_id)
            && !debt_paid(unit, subscription, now).await?
        {
            return Err(BillingError::Contended);
        }
        if before.is_none() {
            continue;
        }
        keep_promise(ctx, unit, &invoice, promised.remove(&invoice.id).unwrap_or_default(), now).await?;
        announce_paid(ctx, unit, &invoice).await?;
    }
    book(ctx, unit, attempt, intent.mode, Reason::Payment, now).await
}

/// Banks send their customers new cards, and providers write them down under the old name: what is told of a kept card follows.
async fn card_seen(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &Subscription, seen: &SavedCard) -> Result<(), BillingError> {
    let Some(id) = &subscription.mandate_id else { return Ok(()) };
    let Some(mandate) = unit.mandates().find(id).await? else { return Err(BillingError::Orphan) };
    let is_the_same = matches!(&mandate.grant, Some(Grant::Card(card)) if card.card == seen.card);
    if is_the_same {
        unit.mandates().amend(id, &Grant::Card(seen.clone()), ctx.now()).await?;
    }
    Ok(())
}

async fn not_paid(ctx: &Context, unit: &mut dyn UnitOfWork, intent: &PaymentIntentId, refusal: &Refusal) -> Result<(), BillingError> {
    let wall = ctx.now();
    let intent = unit.intents().find(intent).await?.ok_or(BillingError::Orphan)?;
    unit.intents().mark(&intent.id, IntentStatus::RequiresAction, Some(refusal), wall).await?;
    // What a customer tried by hand changes nothing: the invoice stays as it is, and so does its schedule.
    let Some(id) = &intent.subscription_id else { return Ok(()) };
    let Some(mut subscription) = unit.subscriptions().lock(id).await? else { return Ok(()) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let invoices = unit.invoices().find_all(&intent.invoices).await?;
    for invoice in invoices {
        refuse(ctx, unit, &invoice, &mut subscription, refusal, now).await?;
    }
    match unit.subscriptions().update(&subscription).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}

/// A permission that was asked for was not given.
pub(crate) async fn mandate_refused(ctx: &Context, unit: &mut dyn UnitOfWork, id: &MandateId) -> Result<(), BillingError> {
    let mandate = unit.mandates().find(id).await?.ok_or(BillingError::Orphan)?;
    let ended = Mandate { status: MandateStatus::Ended, updated_at: ctx.now(), ..mandate };
    unit.mandates().put(&ended).await?;
    Ok(())
}

/// A permission was given: a delegation that was asked for, or a card that was kept.
pub(crate) async fn mandate_given(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &MandateId,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    let mandate = unit.mandates().find(id).await?.ok_or(BillingError::Orphan)?;
    let grant = settlement.card.clone().map(Grant::Card).or(mandate.grant);
    let given = Mandate { status: MandateStatus::Active, grant, updated_at: ctx.now(), ..mandate };
    unit.mandates().put(&given).await?;
    Ok(())
}

async fn stake_moved(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    (reason, reference): (Reason, &str),
) -> Result<(), BillingError> {
    let Some(mut subscription) = unit.subscriptions().find(id).await? else { return Err(BillingError::Orphan) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let has_ended = subscription.ended_at.is_some();
    let moved_earlier = subscription.stake.as_mut().is_some_and(|stake| earlier_moved(stake, attempt, reason));
    let moving = |stake: &&mut Stake| !moved_earlier && matches!(stake.status, StakeStatus::Returning | StakeStatus::Slashing);
    if let Some(stake) = subscription.stake.as_mut().filter(moving) {
        let rest = stake.amount.minus(attempt.amount).unwrap_or_default();
        match (reason, rest.is_zero()) {
            (Reason::Slash, false) if has_ended => {
                // What was not taken goes back in its time.
                (stake.status, stake.amount) = (StakeStatus::Waiting, rest);
                stake.return_at = stake.return_at.or(Some(now.plus(STAKE_WAITING)));
            }
            (Reason::Slash, false) => (stake.status, stake.amount) = (StakeStatus::Held, rest),
            (Reason::Slash, true) => stake.status = StakeStatus::Slashed,
            _ => stake.status = StakeStatus::Returned,
        }
    }
    leave_behind(ctx, unit, &mut subscription).await?;
    subscription.updated_at = ctx.now();
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    book(ctx, unit, attempt, subscription.mode, reason, now).await?;
    if reason == Reason::Slash {
        // Before the series of numbers: what it pays may become credit.
        unit.credits().hold(std::slice::from_ref(&subscription.customer_id)).await?;
    }
    // It may be charged by another method since.
    let subscription = Subscription { method_id: attempt.method_id.clone(), currency_id: attempt.currency_id.clone(), ..subscription };
    stake_invoice(ctx, unit, &subscription, (reason, reference), Calculation::Flat { amount: attempt.amount }, now).await?;
    if reason == Reason::Slash {
        settle_by_stake(ctx, unit, attempt, now).await?;
    }
    if reason == Reason::Slash && !has_ended && !debt_paid(unit, id, now).await? {
        return Err(BillingError::Contended);
    }
    Ok(())
}

/// A stake in whose place another one was left since has moved. What was not taken of it goes back. False: it was none of those.
fn earlier_moved(stake: &mut Stake, attempt: &Attempt, reason: Reason) -> bool {
    let AttemptKind::Wallet { payer, .. } = &attempt.kind else { return false };
    let from = if reason == Reason::Slash { StakeStatus::Slashing } else { StakeStatus::Returning };
    stake.change_earlier((payer, &attempt.currency_id), &[from], |earlier| {
        let rest = earlier.amount.minus(attempt.amount).unwrap_or_default();
        (earlier.status, earlier.amount) = match (reason, rest.is_zero()) {
            (Reason::Slash, false) => (StakeStatus::Waiting, rest),
            (Reason::Slash, true) => (StakeStatus::Slashed, earlier.amount),
            _ => (StakeStatus::Returned, earlier.amount),
        };
    })
}

/// What a running subscription holds at a network that it has left goes back, after an earlier one that is on its way: one stake of a
/// subscription goes back at a time. It left when nothing was owed there.
pub(super) async fn leave_behind(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &mut Subscription) -> Result<(), BillingError> {
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

async fn refunded(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &RefundId,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    let refund = unit.refunds().find(id).await?.ok_or(BillingError::Orphan)?;
    unit.refunds().finish(id, RefundStatus::Succeeded, &settlement.reference, ctx.now()).await?;
    book(ctx, unit, attempt, refund.mode, Reason::Refund, ctx.now()).await?;
    announce(ctx, unit, &Notice::Refunded(id.clone()), ctx.now()).await?;
    Ok(())
}

async fn book(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mode: Mode,
    reason: Reason,
    now: Timestamp,
) -> Result<(), BillingError> {
    let movement = Movement { method_id: &attempt.method_id, currency_id: &attempt.currency_id, amount: attempt.amount };
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let entry = Entry::of_movement(id, mode, reason, attempt.id.as_str(), now, &movement)?;
    unit.journal().book(&entry).await?;
    Ok(())
}
