//! The round of due stakes: what is owed is taken from a stake, and what is left of a released one goes back. No deposit is forgotten:
//! a stake stays due until nothing of it is left at its network.

use super::debts::{DebtScope, StakeDebts, debts_of};
use super::settlement::post_claim;
use super::transfer::{StakeTransfer, transfer};
use super::{
    ReleaseReason, STAKE_RETRY_DELAY, STAKE_RETRY_DOUBLINGS, Stake, StakePurpose, StakeStatus, ask_network, customer_time, retry_delay,
};
use crate::billing::charges::publish_charges;
use crate::billing::{BatchResult, BillingError, ClockEvent, STAKE_WAITING, Scope, TimelineEvent};
use crate::context::Context;
use crate::payment::{Purpose, StakeState};
use crate::shared::{Amount, AttemptId, Timestamp};
use crate::storage::UnitOfWork;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;

/// Questions to networks at the same time.
const CONCURRENT_QUESTIONS: usize = 16;

/// What the store does next with a due stake.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NextStep {
    /// Nothing is to be done until something changes.
    Rest,
    Wait(Timestamp),
    Return(Amount),
    Forfeit(Amount),
    /// The payer has taken everything back.
    Claimed(Amount),
    /// Nobody paid into it, and nobody will.
    GiveUp,
}

/// What a due stake is judged by.
struct Judged<'a> {
    stake: &'a Stake,
    state: StakeState,
    debts: &'a StakeDebts,
    /// A payment into it is on its way.
    is_being_placed: bool,
}

fn next_step(judged: &Judged<'_>, now: Timestamp) -> Result<NextStep, BillingError> {
    let Judged { stake, state, debts, is_being_placed } = judged;
    let at_network = state.held.plus(state.revoked)?;
    let taken = debts.sum()?.min(stake.available()).min(at_network);
    Ok(match stake.status {
        StakeStatus::Final => NextStep::Rest,
        StakeStatus::Pending if *is_being_placed => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        StakeStatus::Pending => NextStep::GiveUp,
        // An overdraft is paid when its subscription is due for it.
        StakeStatus::Held if stake.purpose == StakePurpose::Overdraft => NextStep::Rest,
        StakeStatus::Held if !taken.is_zero() => NextStep::Forfeit(taken),
        StakeStatus::Held if debts.is_in_flight => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        StakeStatus::Held => NextStep::Rest,
        StakeStatus::Releasing if !taken.is_zero() => NextStep::Forfeit(taken),
        // More may be owed by what is on its way.
        StakeStatus::Releasing if debts.is_in_flight => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        StakeStatus::Releasing if !state.held.is_zero() => NextStep::Return(stake.available().min(state.held)),
        // The payer revoked it: the network pays it out.
        StakeStatus::Releasing if !state.revoked.is_zero() => NextStep::Wait(now.plus(claim_delay(stake, now))),
        // A network pays out what was revoked after the waiting time. Before that, nothing there means that the network is behind.
        StakeStatus::Releasing if stake.released_at.is_some_and(|at| at.plus(STAKE_WAITING) <= now) => NextStep::Claimed(stake.available()),
        StakeStatus::Releasing => NextStep::Wait(now.plus(retry_delay(stake.failure_count))),
    })
}

/// How long a stake is left alone that its payer revoked: as long as it has waited so far, within the bounds of a retry. A year on a test
/// clock is then some fifty questions to the network, not 1,500.
fn claim_delay(stake: &Stake, now: Timestamp) -> Duration {
    let waited = stake.released_at.map_or(Duration::ZERO, |at| now.since(at));
    waited.clamp(STAKE_RETRY_DELAY, retry_delay(STAKE_RETRY_DOUBLINGS))
}

/// Moves at most `limit` stakes that are due at `now`, each in a unit of work of its own. A network that does not answer does not keep
/// the others from their turn. The attempts of a clock's customer are for the caller to send.
///
/// # Errors
/// The first failure, after all stakes had their turn.
#[tracing::instrument(skip_all, fields(limit))]
pub async fn move_due_stakes(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let mut unit = ctx.store.read().await?;
    let due = unit.stakes().due(scope, now, limit).await?;
    drop(unit);
    let mut round = BatchResult { due: due.len(), ..BatchResult::default() };
    let moves: Vec<_> = due.iter().map(|stake| move_one(ctx, scope, stake).boxed()).collect();
    let mut failure = None;
    let done: Vec<_> = stream::iter(moves).buffered(CONCURRENT_QUESTIONS).collect().await;
    for moved in done {
        match moved {
            Ok(Some(Moved { attempt, event })) => {
                round.attempts.extend(attempt);
                round.timeline.extend(event);
            }
            // Somebody else moved it since it was read.
            Ok(None) | Err(BillingError::Contended) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(round),
    }
}

/// What became of a due stake.
struct Moved {
    attempt: Option<AttemptId>,
    event: Option<ClockEvent>,
}

async fn move_one(ctx: &Context, scope: &Scope, seen: &Stake) -> Result<Option<Moved>, BillingError> {
    let state = match ask_network(ctx, seen).await {
        Ok(Some(state)) => state,
        // The network does not answer, or nothing here serves it: the stake waits as after a refusal, so that it does not hold up the
        // round.
        unanswered => {
            postpone(ctx, seen).await?;
            return unanswered.map(|_| None);
        }
    };
    let mut unit = ctx.store.begin().await?;
    let Some(stake) = unit.stakes().lock(&seen.id).await?.filter(|stake| is_unchanged(seen, stake)) else { return Ok(None) };
    let now = customer_time(ctx, unit.as_mut(), &stake.customer_id).await?;
    let debts = debts_of(unit.as_mut(), &stake, DebtScope::Ended).await?;
    let is_being_placed = unit.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?.is_some();
    let step = next_step(&Judged { stake: &stake, state, debts: &debts, is_being_placed }, now)?;
    let attempt = take_step(ctx, unit.as_mut(), &stake, &step, &debts, now).await?;
    if *scope == Scope::Wall {
        publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    }
    unit.commit().await?;
    let what = match step {
        NextStep::Wait(_) => Some(TimelineEvent::StakeWaits),
        NextStep::Return(_) | NextStep::Claimed(_) => Some(TimelineEvent::StakeReturned),
        NextStep::Forfeit(_) => Some(TimelineEvent::StakeSlashed),
        NextStep::Rest | NextStep::GiveUp => None,
    };
    Ok(Some(Moved { attempt, event: what.map(|what| ClockEvent { at: now, what, subject: seen.subject.as_str().to_owned() }) }))
}

/// Whether a stake is as it was when its network was asked: what moved meanwhile is missing from the answer.
pub(super) fn is_unchanged(seen: &Stake, now: &Stake) -> bool {
    let seen = Stake { checked_at: now.checked_at, ..seen.clone() };
    seen == *now
}

async fn take_step(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    step: &NextStep,
    debts: &StakeDebts,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    let after = match step {
        NextStep::Return(amount) => return transfer(ctx, unit, stake, StakeTransfer::giving_back(*amount), now).await,
        NextStep::Forfeit(amount) => return transfer(ctx, unit, stake, StakeTransfer::forfeiting(*amount, debts), now).await,
        NextStep::Rest => Stake { return_at: None, updated_at: now, ..stake.clone() },
        NextStep::Wait(until) => Stake { return_at: Some(*until), updated_at: now, ..stake.clone() },
        NextStep::Claimed(amount) => {
            post_claim(ctx, unit, stake, *amount, now).await?;
            stake.claimed(*amount, now)?
        }
        NextStep::GiveUp => stake.released(ReleaseReason::Abandoned, now, now),
    };
    match unit.stakes().update(stake, &after).await? {
        true => Ok(None),
        false => Err(BillingError::Contended),
    }
}

/// A network that does not answer is asked again later, with growing delays.
async fn postpone(ctx: &Context, seen: &Stake) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let Some(stake) = unit.stakes().lock(&seen.id).await?.filter(|stake| is_unchanged(seen, stake)) else { return Ok(()) };
    let now = customer_time(ctx, unit.as_mut(), &stake.customer_id).await?;
    let failure_count = stake.failure_count.saturating_add(1);
    let after = Stake { return_at: Some(now.plus(retry_delay(stake.failure_count))), failure_count, updated_at: now, ..stake.clone() };
    if unit.stakes().update(&stake, &after).await? {
        unit.commit().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::entity::tests::{at, held};
    use super::*;
    use crate::payment::PlannedPayment;
    use crate::shared::InvoiceId;
    use proptest::prelude::*;

    fn state(held: u128, revoked: u128) -> StakeState {
        StakeState { held: Amount::new(held), revoked: Amount::new(revoked) }
    }

    fn owing(amount: u128, is_in_flight: bool) -> StakeDebts {
        let planned = PlannedPayment { invoice_id: InvoiceId::parse("in_1").expect("an id"), amount: Amount::new(amount) };
        let invoices = Some(planned).filter(|one| !one.amount.is_zero()).into_iter().collect();
        StakeDebts { invoices, is_in_flight, ..StakeDebts::default() }
    }

    fn step(stake: &Stake, state: StakeState, debts: &StakeDebts, now: i64) -> NextStep {
        next_step(&Judged { stake, state, debts, is_being_placed: false }, at(now)).expect("in range")
    }

    const LATER: i64 = 6 * 3_600;
    const WAITED: i64 = 14 * 24 * 3_600;

    #[test]
    fn a_released_stake_pays_what_is_owed_first_and_the_rest_goes_back() {
        let stake = held(100).released(ReleaseReason::Ended, at(0), at(0));
        assert_eq!(step(&stake, state(100, 0), &owing(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&stake, state(100, 0), &owing(300, true), 1), NextStep::Forfeit(Amount::new(100)));
        assert_eq!(step(&stake, state(100, 0), &owing(0, true), 1), NextStep::Wait(at(1 + LATER)), "more may be owed");
        assert_eq!(step(&stake, state(100, 0), &owing(0, false), 1), NextStep::Return(Amount::new(100)));
        assert_eq!(step(&stake, state(60, 40), &owing(0, false), 1), NextStep::Return(Amount::new(60)));
    }

    #[test]
    fn a_revoked_stake_pays_what_is_owed_until_the_network_has_paid_it_out() {
        let stake = held(100).revoked(at(0));
        assert_eq!(step(&stake, state(0, 100), &owing(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&stake, state(0, 100), &owing(0, false), 1), NextStep::Wait(at(1 + LATER)));
        for (waited, next) in [(LATER, LATER), (2 * LATER, 2 * LATER), (100 * LATER, 32 * LATER)] {
            assert_eq!(step(&stake, state(0, 100), &owing(0, false), waited), NextStep::Wait(at(waited + next)));
        }
        assert_eq!(step(&stake, state(0, 0), &owing(30, false), 1), NextStep::Wait(at(1 + LATER)), "the network is behind");
        assert_eq!(step(&stake, state(0, 0), &owing(30, false), WAITED), NextStep::Claimed(Amount::new(100)));
    }

    #[test]
    fn a_held_stake_pays_what_ended_subscriptions_owe_and_stays() {
        assert_eq!(step(&held(100), state(100, 0), &owing(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&held(100), state(100, 0), &owing(0, true), 1), NextStep::Wait(at(1 + LATER)));
        assert_eq!(step(&held(100), state(100, 0), &owing(0, false), 1), NextStep::Rest);
        let overdraft = Stake { purpose: StakePurpose::Overdraft, ..held(100) };
        assert_eq!(step(&overdraft, state(100, 0), &owing(30, false), 1), NextStep::Rest);
    }

    #[test]
    fn a_pending_stake_is_given_up_unless_a_payment_into_it_is_on_its_way() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        assert_eq!(step(&pending, state(0, 0), &owing(0, false), 1), NextStep::GiveUp);
        let debts = owing(0, false);
        let judged = Judged { stake: &pending, state: state(0, 0), debts: &debts, is_being_placed: true };
        assert_eq!(next_step(&judged, at(1)).expect("in range"), NextStep::Wait(at(1 + LATER)));
    }

    proptest! {
        #[test]
        fn no_more_is_moved_than_the_network_holds_and_no_released_stake_is_left_alone(
            amount in 1u128..1_000, in_tokens in 0u128..1_500, revoked in 0u128..1_500, owed in 0u128..1_500, in_flight: bool, second in 0i64..2 * WAITED,
        ) {
            let stake = held(amount).released(ReleaseReason::Ended, at(0), at(0));
            match step(&stake, state(in_tokens, revoked), &owing(owed, in_flight), second) {
                NextStep::Return(moved) => prop_assert!(!moved.is_zero() && moved.base_units() <= in_tokens.min(amount)),
                NextStep::Forfeit(moved) => prop_assert!(!moved.is_zero() && moved.base_units() <= (in_tokens + revoked).min(amount).min(owed)),
                NextStep::Wait(until) => prop_assert!(until > at(second)),
                NextStep::Claimed(gone) => prop_assert!(in_tokens + revoked == 0 && gone.base_units() == amount),
                NextStep::Rest | NextStep::GiveUp => prop_assert!(false, "it would be forgotten"),
            }
        }
    }
}
