//! Stakes that wallets take back by themselves: the network is asked, one look at each in [`STAKE_LOOK`].

use super::book::Book;
use super::end::{PATIENCE, StakeMove, move_stake, owed_beside, owed_for};
use super::manage::nonce;
use super::renew::publish_charges;
use super::settlement::leave_behind;
use super::{
    BillingError, CancelReason, Cancellation, Notification, STAKE_WAITING, Stake, StakeStatus, Subscription, SubscriptionStatus, notify,
    time_of,
};
use crate::context::Context;
use crate::payment::StakeState;
use crate::shared::{SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;

/// How long a stake is not looked at again.
pub const STAKE_LOOK: Duration = Duration::from_secs(300);
/// A network may know nothing yet of a stake that was left just now.
const SETTLING: Duration = Duration::from_secs(3_600);
/// Questions to networks at the same time.
const AT_ONCE: usize = 16;

/// Looks at most at `limit` stakes. Where one was revoked, its subscription ends with the period, unless a new one is left until
/// then; where one that was taken for lost is there, it secures again. After the end, what is owed is taken from a revoked one. What is
/// there of one that another has replaced goes back. A network that does not answer does not keep the others; the first failure is told
/// in the end. Answers how many there were.
pub async fn follow_stakes(ctx: &Context, limit: u32) -> Result<usize, BillingError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let held = unit.subscriptions().claim_staked(now.minus(STAKE_LOOK), now, limit).await?;
    unit.commit().await?;
    let mut unit = ctx.store.read().await?;
    let book = Book::read(unit.as_mut(), &held).await?;
    drop(unit);
    let looks = async |one: &Subscription| {
        look(ctx, &book, one).await?;
        look_back(ctx, &book, one).await
    };
    let asked: Vec<_> = held.iter().map(|one| looks(one).boxed()).collect();
    let done: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
    match done.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(held.len()),
    }
}

/// What the network says of a stake now; nothing where none is served here.
pub(super) async fn at_network(ctx: &Context, stake: &Stake, subject: &SubscriptionId) -> Result<StakeState, BillingError> {
    let mut unit = ctx.store.read().await?;
    let method = unit.methods().find(&stake.method_id).await?.ok_or(BillingError::Orphan)?;
    let currency = unit.methods().find_currency(&stake.currency_id).await?.ok_or(BillingError::Orphan)?;
    drop(unit);
    match ctx.networks.wallet(method.kind) {
        Some(rail) => Ok(rail.staked(&method, &currency, &stake.payer, subject.as_str()).await?),
        None => Ok(StakeState::default()),
    }
}

/// Asks for the first of the earlier stakes that wait to go back. What the network holds of it does; where that is nothing, no trace of
/// it is left but here.
async fn look_back(ctx: &Context, book: &Book, seen: &Subscription) -> Result<(), BillingError> {
    let waits = |earlier: &&Stake| earlier.status == StakeStatus::Waiting;
    let Some(earlier) = seen.stake.as_ref().and_then(|stake| stake.earlier.first()).filter(waits) else { return Ok(()) };
    let (Some(method), Some(currency)) = (book.methods.get(&earlier.method_id), book.currencies.get(&earlier.currency_id)) else {
        return Ok(());
    };
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(()) };
    let mut unit = ctx.store.read().await?;
    let now = time_of(ctx, unit.as_mut(), seen.clock_id.as_ref()).await?;
    drop(unit);
    if earlier.return_at.is_some_and(|at| at > now) {
        return Ok(());
    }
    let held = rail.staked(method, currency, &earlier.payer, seen.id.as_str()).await?.held;
    let mut unit = ctx.store.begin().await?;
    let Some(mut subscription) = unit.subscriptions().lock(&seen.id).await?.filter(|one| one.version == seen.version) else {
        return Ok(());
    };
    let holder = Subscription { stake: Some(earlier.clone()), ..subscription.clone() };
    let moved = match move_stake(ctx, unit.as_mut(), book, &holder, StakeMove::back(held), nonce(ctx)).await {
        // One stake of a subscription goes back at a time.
        Err(BillingError::Contended) => return Ok(()),
        moved => moved?,
    };
    publish_charges(ctx, unit.as_mut(), moved.as_slice()).await?;
    let status = if moved.is_some() { StakeStatus::Returning } else { StakeStatus::Revoked };
    let whose = (&earlier.payer, &earlier.currency_id);
    if let Some(stake) = &mut subscription.stake {
        stake.change_earlier(whose, &[StakeStatus::Waiting], |one| {
            one.status = status;
            one.amount = if held.is_zero() { one.amount } else { held };
        });
    }
    subscription.updated_at = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    if unit.subscriptions().update(&subscription).await? {
        unit.commit().await?;
    }
    Ok(())
}

async fn look(ctx: &Context, book: &Book, seen: &Subscription) -> Result<(), BillingError> {
    let looked_at = |stake: &&Stake| matches!(stake.status, StakeStatus::Held | StakeStatus::Revoked);
    let Some(stake) = seen.stake.as_ref().filter(looked_at) else { return Ok(()) };
    let (Some(method), Some(currency)) = (book.methods.get(&stake.method_id), book.currencies.get(&stake.currency_id)) else {
        return Ok(());
    };
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(()) };
    // By whoever left it: the subscription may be charged by another wallet since.
    let state = rail.staked(method, currency, &stake.payer, seen.id.as_str()).await?;
    let found = found(seen, stake, state, ctx.now().since(seen.updated_at) > SETTLING);
    let found = match found {
        Found::Nothing if stake.status == StakeStatus::Held => {
            let mut unit = ctx.store.read().await?;
            if owed_beside(unit.as_mut(), seen).await?.invoices.is_empty() { Found::Nothing } else { Found::Owed }
        }
        found => found,
    };
    if found == Found::Nothing && seen.ended_at.is_none() { Ok(()) } else { note(ctx, seen, state, found).await }
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// As it is known.
    Nothing,
    /// What is missing was revoked, and perhaps claimed since.
    Revoked,
    /// All of one that was taken for lost.
    Held,
    /// It is as it is known, and others that it secures have ended with a debt.
    Owed,
}

fn found(seen: &Subscription, stake: &Stake, state: StakeState, is_settled: bool) -> Found {
    let is_missing = state.held < stake.amount && (is_settled || !state.revoked.is_zero());
    match stake.status {
        StakeStatus::Revoked if state.held >= stake.amount => Found::Held,
        // It is known already, and acted upon; or it is of a network that was left.
        StakeStatus::Revoked if seen.ends_at().is_some() || stake.currency_id != seen.currency_id => Found::Nothing,
        _ if is_missing => Found::Revoked,
        _ => Found::Nothing,
    }
}

/// Written only where nothing has changed since the look: what the store took or gave back meanwhile is missing as well.
async fn note(ctx: &Context, seen: &Subscription, state: StakeState, found: Found) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let Some(mut subscription) = unit.subscriptions().lock(&seen.id).await?.filter(|one| one.version == seen.version) else {
        return Ok(());
    };
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    match (subscription.ended_at, found) {
        (Some(ended), _) => after_the_end(ctx, unit.as_mut(), &mut subscription, (state, found), ended, now).await?,
        (None, Found::Owed) => take_beside(ctx, unit.as_mut(), &mut subscription).await?,
        (None, Found::Held) => {
            set_status(&mut subscription, StakeStatus::Held);
            leave_behind(ctx, unit.as_mut(), &mut subscription).await?;
        }
        (None, _) => {
            set_status(&mut subscription, StakeStatus::Revoked);
            end_with_period(ctx, unit.as_mut(), &mut subscription, now).await?;
        }
    }
    subscription.updated_at = now;
    if unit.subscriptions().update(&subscription).await? {
        unit.commit().await?;
    }
    Ok(())
}

fn set_status(subscription: &mut Subscription, status: StakeStatus) {
    if let Some(stake) = &mut subscription.stake {
        stake.status = status;
    }
}

async fn take_beside(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &mut Subscription) -> Result<(), BillingError> {
    let Some(stake) = &subscription.stake else { return Ok(()) };
    let owed = owed_beside(unit, subscription).await?;
    let what = StakeMove::slash(owed.sum()?.min(stake.amount), &owed);
    let book = Book::read(unit, std::slice::from_ref(subscription)).await?;
    let moved = move_stake(ctx, unit, &book, subscription, what, nonce(ctx)).await?;
    if moved.is_some() {
        publish_charges(ctx, unit, moved.as_slice()).await?;
        set_status(subscription, StakeStatus::Slashing);
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
        Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: now, taken_back_by: None });
    subscription.canceled_at = Some(now);
    subscription.cancel_at_period_end = true;
    if subscription.status == SubscriptionStatus::Paused {
        // The engine looks at the periods of those that run only.
        subscription.cancel_at = Some(subscription.period.end);
    }
    let scheduled = Notification::CancellationScheduled { subscription: subscription.id.clone(), canceled_at: now };
    notify(ctx, unit, &scheduled, ctx.now()).await?;
    Ok(())
}

/// A stake that its wallet took back, or that could not be moved, of a subscription that has ended: what is owed is taken from it until
/// the network has paid it out, and what is still held when its time is over goes back.
async fn after_the_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    (state, found): (StakeState, Found),
    ended: Timestamp,
    now: Timestamp,
) -> Result<(), BillingError> {
    let Some(mut stake) = subscription.stake.clone().filter(|stake| stake.return_at.is_some_and(|at| at <= now)) else { return Ok(()) };
    let (owed, over) = (owed_for(unit, subscription).await?, ended.plus(STAKE_WAITING));
    let there = state.held.plus(state.revoked)?;
    let taken = owed.sum()?.min(stake.amount).min(there);
    let book = Book::read(unit, std::slice::from_ref(subscription)).await?;
    let moved = move_stake(ctx, unit, &book, subscription, StakeMove::slash(taken, &owed), nonce(ctx)).await?;
    publish_charges(ctx, unit, moved.as_slice()).await?;
    if moved.is_some() {
        stake.status = StakeStatus::Slashing;
    } else if there.is_zero() || now > over.plus(STAKE_WAITING) {
        // Paid out, or no network gives it: whoever looks may try by hand.
        stake.return_at = None;
    } else if found == Found::Held || (now >= over && !state.held.is_zero()) {
        stake.amount = stake.amount.min(state.held);
        (stake.status, stake.return_at) = (StakeStatus::Waiting, Some(now.max(over)));
    } else {
        stake.return_at = Some(now.plus(PATIENCE));
    }
    subscription.stake = Some(stake);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Did;
    use crate::shared::{Amount, CurrencyId, MethodId};

    fn seen(status: StakeStatus, ends: bool) -> (Subscription, Stake) {
        let at = Timestamp::from_seconds;
        let stake = Stake {
            amount: Amount::new(10),
            payer: Did::from_verified("z1"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            status,
            reference: String::new(),
            return_at: None,
            refusals: 0,
            earlier: Vec::new(),
        };
        let one = super::super::cancel::tests::subscription(SubscriptionStatus::Active);
        (Subscription { stake: Some(stake.clone()), cancel_at_period_end: ends, updated_at: at(0), ..one }, stake)
    }

    #[test]
    fn a_stake_is_revoked_when_less_is_there_than_was_left_and_held_when_all_is_there_again() {
        use StakeStatus as S;
        let state = |held, revoked| StakeState { held: Amount::new(held), revoked: Amount::new(revoked) };
        for (status, state, is_settled, is) in [
            (S::Held, state(10, 0), true, Found::Nothing),
            (S::Held, state(12, 0), true, Found::Nothing),
            (S::Held, state(0, 10), false, Found::Revoked),
            (S::Held, state(4, 6), false, Found::Revoked),
            (S::Held, state(0, 0), true, Found::Revoked),
            (S::Held, state(0, 0), false, Found::Nothing),
            (S::Revoked, state(10, 0), true, Found::Held),
            (S::Revoked, state(4, 6), true, Found::Revoked),
        ] {
            let (one, stake) = seen(status, false);
            assert_eq!(found(&one, &stake, state, is_settled), is, "{status:?} {state:?}");
        }
        let (one, stake) = seen(S::Revoked, true);
        assert_eq!(found(&one, &stake, state(4, 6), true), Found::Nothing, "it ends already");
    }
}
