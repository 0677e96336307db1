//! Processes due stakes: forfeits what subscriptions owe, and returns the rest of released stakes. A stake stays due until its network
//! holds nothing of it, so that no deposit is forgotten.

use super::overdue::{OverdueInvoices, overdue_of_stake};
use super::posting::post_claim;
use super::transfer::{StakeTransfer, transfer};
use super::{ReleaseReason, STAKE_RETRY_DELAY, STAKE_RETRY_DOUBLINGS, Stake, StakePurpose, StakeStatus, ask_network, retry_delay};
use crate::billing::charges::publish_charges;
use crate::billing::clock::time_of_customer;
use crate::billing::{BatchResult, BillingError, ClockEvent, Scope, TimelineEvent};
use crate::context::Context;
use crate::payment::{Purpose, StakeState, Trigger, paused_methods, per_network};
use crate::shared::{Amount, AttemptId, Timestamp};
use crate::storage::UnitOfWork;
use futures_util::FutureExt;
use std::time::Duration;

/// The number of concurrent queries to one network.
const CONCURRENT_QUESTIONS: usize = 16;

/// The next step for a due stake.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NextStep {
    /// Nothing to do until something changes.
    Rest,
    Wait(Timestamp),
    Return(Amount),
    Forfeit(Amount),
    /// The payer has claimed everything back at the network.
    Claimed(Amount),
    /// It was never paid and no payment is in flight.
    GiveUp,
}

/// The inputs of [`next_step`].
struct StepInput<'a> {
    stake: &'a Stake,
    state: StakeState,
    overdue: &'a OverdueInvoices,
    /// Whether a payment into it is in flight.
    is_being_placed: bool,
}

fn next_step(input: &StepInput<'_>, now: Timestamp) -> Result<NextStep, BillingError> {
    let StepInput { stake, state, overdue, is_being_placed } = input;
    let at_network = state.held.plus(state.revoked)?;
    let available = stake.available().min(at_network);
    let to_forfeit = match stake.purpose {
        // The overdraft protection pays in full or not at all.
        StakePurpose::Overdraft => overdue.full_within(available)?,
        _ if stake.is_forfeited() => available,
        _ => overdue.sum()?.min(available),
    };
    Ok(match stake.status {
        StakeStatus::Final => NextStep::Rest,
        StakeStatus::Pending if *is_being_placed => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        StakeStatus::Pending => NextStep::GiveUp,
        // An overdraft stake pays when its subscription is due for it.
        StakeStatus::Held if stake.purpose == StakePurpose::Overdraft => NextStep::Rest,
        StakeStatus::Held if !to_forfeit.is_zero() => NextStep::Forfeit(to_forfeit),
        StakeStatus::Held if overdue.is_in_flight => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        // It was lowered, because a plan change does not take place.
        StakeStatus::Held if !stake.excess(state.held).is_zero() => NextStep::Return(stake.excess(state.held)),
        StakeStatus::Held => NextStep::Rest,
        StakeStatus::Releasing if !to_forfeit.is_zero() => NextStep::Forfeit(to_forfeit),
        // If the payment in flight is declined, more is overdue.
        StakeStatus::Releasing if overdue.is_in_flight => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        // A payment that replaces a revoked deposit must not be returned before it is recorded.
        StakeStatus::Releasing if *is_being_placed && stake.subject.subscription().is_none() => NextStep::Wait(now.plus(STAKE_RETRY_DELAY)),
        StakeStatus::Releasing if !state.held.is_zero() => NextStep::Return(stake.available().min(state.held)),
        // The payer revoked it; the network will pay it out.
        StakeStatus::Releasing if !state.revoked.is_zero() => NextStep::Wait(now.plus(claim_delay(stake, now))),
        // The network pays out a revoked stake after the waiting time. If it holds nothing before that, it is lagging behind.
        StakeStatus::Releasing if stake.released_at.is_some_and(|at| at.plus(stake.waiting()) <= now) => {
            NextStep::Claimed(stake.available())
        }
        StakeStatus::Releasing => NextStep::Wait(now.plus(retry_delay(stake.failure_count))),
    })
}

/// The delay before a revoked stake is checked again: as long as it has waited so far, within the bounds of a retry. A year on a test clock
/// then takes about fifty network queries instead of 1,500.
fn claim_delay(stake: &Stake, now: Timestamp) -> Duration {
    let waited = stake.released_at.map_or(Duration::ZERO, |at| now.since(at));
    waited.clamp(STAKE_RETRY_DELAY, retry_delay(STAKE_RETRY_DOUBLINGS))
}

/// Processes at most `limit` stakes that are due at `now`, each in its own unit of work. An unresponsive network does not block the others.
/// For a test clock, the caller sends the attempts.
///
/// # Errors
/// The first failure, after all stakes were processed.
#[tracing::instrument(skip_all, fields(limit))]
pub async fn move_due_stakes(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let paused = paused_methods(ctx).await?;
    let mut unit = ctx.store.read().await?;
    let due = unit.stakes().due(scope, now, limit, &paused).await?;
    drop(unit);
    let mut round = BatchResult { due: due.len(), ..BatchResult::default() };
    let tasks = due.iter().map(|stake| (stake.method_id.clone(), process_stake(ctx, scope, stake).boxed()));
    let mut failure = None;
    for result in per_network(tasks, CONCURRENT_QUESTIONS).await {
        match result {
            Ok(Some(ProcessedStake { attempt, event })) => {
                round.attempts.extend(attempt);
                round.timeline.extend(event);
            }
            // Another unit of work changed it meanwhile.
            Ok(None) | Err(BillingError::Contended) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(round),
    }
}

/// The result of processing a due stake.
struct ProcessedStake {
    attempt: Option<AttemptId>,
    event: Option<ClockEvent>,
}

async fn process_stake(ctx: &Context, scope: &Scope, queried: &Stake) -> Result<Option<ProcessedStake>, BillingError> {
    // The owner decides about a payment on hold; until then, the network is not asked about a stake that has nothing else.
    if queried.status == StakeStatus::Pending && is_placement_on_hold(ctx, queried).await? {
        reschedule(ctx, queried, |now| Stake { return_at: Some(now.plus(STAKE_RETRY_DELAY)), ..queried.clone() }).await?;
        return Ok(None);
    }
    let slot = ctx.networks.acquire(&queried.method_id, Trigger::Reconciler).await;
    // A test clock stands still until its stakes have been processed.
    if *scope == Scope::Wall
        && let Err(until) = ctx.networks.admit(&queried.method_id, ctx.now())
    {
        let delay = until.since(ctx.now());
        reschedule(ctx, queried, |now| Stake { return_at: Some(now.plus(delay)), ..queried.clone() }).await?;
        return Ok(None);
    }
    let state = match ask_network(ctx, queried).await {
        Ok(Some(state)) => state,
        // The network does not respond or is not supported: the stake is retried as after a decline, so that it does not block the batch.
        unanswered => {
            reschedule(ctx, queried, |now| not_answered(queried, now)).await?;
            return unanswered.map(|_| None);
        }
    };
    drop(slot);
    let mut unit = ctx.store.begin().await?;
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(None) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let overdue = overdue_of_stake(unit.as_mut(), &stake).await?;
    let is_being_placed = unit.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?.is_some();
    let step = next_step(&StepInput { stake: &stake, state, overdue: &overdue, is_being_placed }, now)?;
    let attempt = take_step(ctx, unit.as_mut(), &stake, &step, &overdue, now).await?;
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
    Ok(Some(ProcessedStake { attempt, event: what.map(|what| ClockEvent { at: now, what, subject: queried.subject.to_text() }) }))
}

async fn is_placement_on_hold(ctx: &Context, stake: &Stake) -> Result<bool, BillingError> {
    let open = ctx.store.read().await?.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?;
    Ok(open.is_some_and(|attempt| attempt.is_on_hold()))
}

/// Whether a stake is unchanged since its network was queried. The network's answer does not include later changes.
pub(in crate::billing) fn is_unchanged(queried: &Stake, now: &Stake) -> bool {
    let queried = Stake { checked_at: now.checked_at, ..queried.clone() };
    queried == *now
}

async fn take_step(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    step: &NextStep,
    overdue: &OverdueInvoices,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    let after = match step {
        NextStep::Return(amount) => return transfer(ctx, unit, stake, StakeTransfer::returning(*amount), now).await,
        NextStep::Forfeit(amount) => return transfer(ctx, unit, stake, StakeTransfer::forfeiting(*amount, overdue), now).await,
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

/// Schedules another query after the network did not respond, with growing delays.
fn not_answered(queried: &Stake, now: Timestamp) -> Stake {
    let failure_count = queried.failure_count.saturating_add(1);
    Stake { return_at: Some(now.plus(retry_delay(queried.failure_count))), failure_count, ..queried.clone() }
}

/// Writes when a stake is due again, unless it has changed. `later` gets the time of its customer.
async fn reschedule(ctx: &Context, queried: &Stake, later: impl FnOnce(Timestamp) -> Stake + Send) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let Some(stake) = unit.stakes().lock(&queried.id).await?.filter(|stake| is_unchanged(queried, stake)) else { return Ok(()) };
    let now = time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?;
    let after = Stake { checked_at: stake.checked_at, updated_at: now, ..later(now) };
    if unit.stakes().update(&stake, &after).await? {
        unit.commit().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::StakeSubject;
    use super::super::entity::tests::{at, held};
    use super::*;
    use crate::access::Did;
    use crate::payment::PlannedPayment;
    use crate::shared::InvoiceId;
    use proptest::prelude::*;

    fn state(held: u128, revoked: u128) -> StakeState {
        StakeState { held: Amount::new(held), revoked: Amount::new(revoked) }
    }

    fn unpaid(amount: u128, is_in_flight: bool) -> OverdueInvoices {
        let planned = PlannedPayment { invoice_id: InvoiceId::parse("in_1").expect("an id"), amount: Amount::new(amount) };
        let invoices = Some(planned).filter(|one| !one.amount.is_zero()).into_iter().collect();
        OverdueInvoices { invoices, is_in_flight, ..OverdueInvoices::default() }
    }

    fn step(stake: &Stake, state: StakeState, overdue: &OverdueInvoices, now: i64) -> NextStep {
        next_step(&StepInput { stake, state, overdue, is_being_placed: false }, at(now)).expect("in range")
    }

    const LATER: i64 = 6 * 3_600;
    const WAITED: i64 = 14 * 24 * 3_600;

    #[test]
    fn a_released_stake_pays_overdue_invoices_first_and_returns_the_rest() {
        let stake = held(100).released(ReleaseReason::Ended, at(0), at(0));
        assert_eq!(step(&stake, state(100, 0), &unpaid(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&stake, state(100, 0), &unpaid(300, true), 1), NextStep::Forfeit(Amount::new(100)));
        assert_eq!(step(&stake, state(100, 0), &unpaid(0, true), 1), NextStep::Wait(at(1 + LATER)), "the overdue invoices may grow");
        assert_eq!(step(&stake, state(100, 0), &unpaid(0, false), 1), NextStep::Return(Amount::new(100)));
        assert_eq!(step(&stake, state(60, 40), &unpaid(0, false), 1), NextStep::Return(Amount::new(60)));
    }

    #[test]
    fn a_revoked_stake_pays_overdue_invoices_until_the_network_has_paid_it_out() {
        let stake = held(100).revoked(at(0));
        assert_eq!(step(&stake, state(0, 100), &unpaid(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&stake, state(0, 100), &unpaid(0, false), 1), NextStep::Wait(at(1 + LATER)));
        for (waited, next) in [(LATER, LATER), (2 * LATER, 2 * LATER), (100 * LATER, 32 * LATER)] {
            assert_eq!(step(&stake, state(0, 100), &unpaid(0, false), waited), NextStep::Wait(at(waited + next)));
        }
        assert_eq!(step(&stake, state(0, 0), &unpaid(30, false), 1), NextStep::Wait(at(1 + LATER)), "the network lags behind");
        assert_eq!(step(&stake, state(0, 0), &unpaid(30, false), WAITED), NextStep::Claimed(Amount::new(100)));
    }

    #[test]
    fn a_held_stake_pays_the_overdue_invoices_of_ended_subscriptions_and_stays_held() {
        assert_eq!(step(&held(100), state(100, 0), &unpaid(30, false), 1), NextStep::Forfeit(Amount::new(30)));
        assert_eq!(step(&held(100), state(100, 0), &unpaid(0, true), 1), NextStep::Wait(at(1 + LATER)));
        assert_eq!(step(&held(100), state(100, 0), &unpaid(0, false), 1), NextStep::Rest);
        let overdraft = Stake { purpose: StakePurpose::Overdraft, ..held(100) };
        assert_eq!(step(&overdraft, state(100, 0), &unpaid(30, false), 1), NextStep::Rest);
    }

    #[test]
    fn a_forfeited_stake_is_never_returned_and_pays_whatever_its_payer_has_revoked() {
        let stake = Stake { purpose: StakePurpose::Publication, waiting_days: 30, ..held(100) }.forfeited_from(at(0));
        for (held, revoked, next) in [(100, 0, 100), (0, 100, 100), (60, 40, 100), (70, 0, 70)] {
            let expected = NextStep::Forfeit(Amount::new(next));
            assert_eq!(step(&stake, state(held, revoked), &unpaid(0, false), 1), expected, "{held} {revoked}");
        }
        assert_eq!(step(&stake, state(0, 0), &unpaid(0, false), WAITED), NextStep::Wait(at(WAITED + LATER)), "the network lags behind");
        let waited = 30 * 24 * 3_600;
        assert_eq!(step(&stake, state(0, 0), &unpaid(0, false), waited), NextStep::Claimed(Amount::new(100)));
    }

    #[test]
    fn a_pending_stake_is_abandoned_unless_a_payment_into_it_is_in_flight() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        assert_eq!(step(&pending, state(0, 0), &unpaid(0, false), 1), NextStep::GiveUp);
        let overdue = unpaid(0, false);
        let input = StepInput { stake: &pending, state: state(0, 0), overdue: &overdue, is_being_placed: true };
        assert_eq!(next_step(&input, at(1)).expect("in range"), NextStep::Wait(at(1 + LATER)));
    }

    #[test]
    fn a_deposit_is_not_returned_while_its_payer_replaces_a_revoked_part() {
        let subject = StakeSubject::App(Did::from_verified("z1app"));
        let revoked = Stake { purpose: StakePurpose::Publication, subject, ..held(100) }.revoked(at(0));
        let overdue = unpaid(0, false);
        for (is_being_placed, expected) in [(true, NextStep::Wait(at(1 + LATER))), (false, NextStep::Return(Amount::new(100)))] {
            let input = StepInput { stake: &revoked, state: state(160, 40), overdue: &overdue, is_being_placed };
            assert_eq!(next_step(&input, at(1)).expect("in range"), expected);
        }
    }

    proptest! {
        #[test]
        fn no_step_exceeds_what_the_network_holds_and_every_released_stake_has_one(
            amount in 1u128..1_000, in_tokens in 0u128..1_500, revoked in 0u128..1_500, owed in 0u128..1_500, in_flight: bool, second in 0i64..2 * WAITED,
        ) {
            let stake = held(amount).released(ReleaseReason::Ended, at(0), at(0));
            match step(&stake, state(in_tokens, revoked), &unpaid(owed, in_flight), second) {
                NextStep::Return(moved) => prop_assert!(!moved.is_zero() && moved.base_units() <= in_tokens.min(amount)),
                NextStep::Forfeit(moved) => prop_assert!(!moved.is_zero() && moved.base_units() <= (in_tokens + revoked).min(amount).min(owed)),
                NextStep::Wait(until) => prop_assert!(until > at(second)),
                NextStep::Claimed(gone) => prop_assert!(in_tokens + revoked == 0 && gone.base_units() == amount),
                NextStep::Rest | NextStep::GiveUp => prop_assert!(false, "a released stake must have a next step"),
            }
        }
    }
}
