//! Subscriptions on hold: nothing is billed until an owner decides. Meanwhile access continues and dunning waits.

use super::{Bounds, Change, HoldReason, OnHold, PeriodError, Subscription, SubscriptionBounds, SubscriptionStatus, Unbillable};
use super::{period, period_index_at};
use crate::operation::CLOCK_TOLERANCE;
use crate::shared::Timestamp;
use std::ops::Range;
use std::time::Duration;

/// An owner's decision about the periods that have begun without an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CatchUp {
    /// Each of them gets its invoice.
    EveryPeriod,
    /// Only the current period gets an invoice. The earlier ones are never billed.
    CurrentPeriod,
    /// None of them is ever billed. The next invoice is that of the period after the current one.
    Skip,
}

impl CatchUp {
    pub const ALL: [Self; 3] = [Self::EveryPeriod, Self::CurrentPeriod, Self::Skip];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EveryPeriod => "every_period",
            Self::CurrentPeriod => "current_period",
            Self::Skip => "skip",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// Why a subscription is put on hold, and when the engine ends the hold itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub on_hold: OnHold,
    /// `None`: an owner ends it.
    pub resumes_at: Option<Timestamp>,
}

impl From<OnHold> for Hold {
    fn from(on_hold: OnHold) -> Self {
        Self { on_hold, resumes_at: None }
    }
}

impl Subscription {
    /// The last moment until `now` at which a period can begin: a period that would begin at a requested end never does.
    fn last_start(&self, now: Timestamp) -> Timestamp {
        let before_end = |end: Timestamp| end.minus(Duration::from_micros(1));
        self.ends_at().map_or(now, |end| now.min(before_end(end)))
    }

    /// The indexes of the periods that have begun by `now` and have no invoice. Paused time has no periods, because a new anchor follows
    /// it.
    pub fn unbilled_periods(&self, now: Timestamp) -> Result<Range<u32>, PeriodError> {
        let next = self.index.map_or(0, |index| index.saturating_add(1));
        let is_billed = matches!(self.status, SubscriptionStatus::Paused | SubscriptionStatus::Canceled);
        let until = self.last_start(now);
        if is_billed || until < self.period.end {
            return Ok(next..next);
        }
        let last = period_index_at(&self.cycle, self.anchor, until)?;
        Ok(next..last.saturating_add(1).max(next))
    }

    /// Until when an owner has approved periods. A decision that seems to come from the future was made while the clock was wrong.
    pub(super) fn approved_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.bounds.approved_until.filter(|until| *until <= now.plus(CLOCK_TOLERANCE))
    }

    /// Why an owner has to decide before anything more is billed: more periods are unbilled than the bounds allow. Periods that an owner
    /// has approved do not count.
    pub(super) fn exceeds(&self, bounds: &Bounds, now: Timestamp) -> Result<Option<OnHold>, Unbillable> {
        let unbilled = self.unbilled_periods(now)?;
        let (approved, since) = match self.approved_until(now) {
            Some(until) if until >= self.period.end => (period_index_at(&self.cycle, self.anchor, until)?.saturating_add(1), until),
            _ => (unbilled.start, self.period.end),
        };
        let count = unbilled.end.saturating_sub(approved.max(unbilled.start));
        if count <= bounds.periods || self.last_start(now).since(since) <= bounds.span {
            return Ok(None);
        }
        let detail = format!("{count} periods since {} are not billed", since.to_iso());
        Ok(Some(OnHold { reason: HoldReason::UnbilledPeriods, detail }))
    }

    pub(super) fn held(self, hold: Hold, now: Timestamp) -> Self {
        let bounds = SubscriptionBounds { held_at: Some(now), resumes_at: hold.resumes_at, ..self.bounds };
        Self { on_hold: Some(hold.on_hold), bounds, updated_at: now, ..self }
    }

    /// Ends the hold. The time on hold does not count towards the dunning deadline or the grace period of the overdraft protection.
    pub(super) fn released(self, now: Timestamp) -> Self {
        let held_at = self.bounds.held_at.unwrap_or(now);
        let bounds = SubscriptionBounds { held_at: None, resumes_at: None, ..self.bounds };
        let past_due_since = self.past_due_since.map(|since| since.plus(now.since(held_at.max(since))));
        let overdraft_at = self.overdraft_at.map(|at| if at > held_at { at.plus(now.since(held_at)) } else { at });
        Self { on_hold: None, bounds, past_due_since, overdraft_at, updated_at: now, ..self }
    }

    /// Applies an owner's decision about the unbilled periods. The index only grows, so a skipped period is never billed later. Returns
    /// whether the items changed.
    pub(super) fn catch_up(&mut self, choice: CatchUp, now: Timestamp) -> Result<bool, Unbillable> {
        let unbilled = self.unbilled_periods(now)?;
        let Some(current) = unbilled.clone().next_back() else { return Ok(false) };
        let skipped = match choice {
            CatchUp::EveryPeriod => {
                self.bounds.approved_until = Some(now);
                None
            }
            CatchUp::CurrentPeriod => current.checked_sub(1).filter(|before| unbilled.contains(before)),
            CatchUp::Skip => Some(current),
        };
        let Some(index) = skipped else { return Ok(false) };
        self.status = self.status.after(Change::PeriodBegins)?;
        Ok(self.enter(index, period(&self.cycle, self.anchor, index)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cancel::tests::subscription;
    use super::*;
    use crate::pricing::{Anchoring, Interval, RecurringInterval};
    use proptest::prelude::*;

    const DAY: u64 = 86_400;

    fn at(days: u64) -> Timestamp {
        Timestamp::from_seconds(i64::try_from(days * DAY).expect("a time"))
    }

    /// A subscription that entered its first period at time 0, or its trial before it.
    fn of(interval: Interval, index: Option<u32>) -> Subscription {
        let cycle = RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        let first = period(&cycle, at(0), 0).expect("a period");
        let current =
            if index.is_some() { first } else { crate::billing::Period { start: at(0).minus(Duration::from_secs(DAY)), end: at(0) } };
        let status = if index.is_some() { SubscriptionStatus::Active } else { SubscriptionStatus::Trialing };
        Subscription { cycle, index, period: current, cancel_at_period_end: false, ..subscription(status) }
    }

    fn is_held(one: &Subscription, now: Timestamp) -> bool {
        one.exceeds(&Bounds::default(), now).expect("periods").is_some()
    }

    #[test]
    fn more_than_two_periods_and_more_than_a_day_need_a_decision() {
        let hour = Duration::from_secs(3_600);
        let (hourly, daily, monthly) = (of(Interval::Hour, Some(0)), of(Interval::Day, Some(0)), of(Interval::Month, Some(0)));
        assert!(!is_held(&hourly, hourly.period.end.plus(hour * 24)), "a day of hours is caught up");
        assert!(is_held(&hourly, hourly.period.end.plus(hour * 24).plus(Duration::from_micros(1))));
        assert!(!is_held(&daily, at(3).minus(Duration::from_micros(1))), "two days began");
        assert!(is_held(&daily, at(3)));
        assert!(!is_held(&monthly, at(90).minus(Duration::from_micros(1))), "two months began");
        assert!(is_held(&monthly, at(90)));
        assert!(is_held(&monthly, at(3_650)), "ten years");
        let trial = of(Interval::Month, None);
        assert!(!is_held(&trial, at(59)) && is_held(&trial, at(60)));
    }

    #[test]
    fn paused_time_and_periods_after_a_requested_end_do_not_count() {
        let paused = Subscription { status: SubscriptionStatus::Paused, ..of(Interval::Month, Some(0)) };
        assert_eq!(paused.unbilled_periods(at(3_650)), Ok(1..1));
        let ending = Subscription { cancel_at: Some(at(90)), ..of(Interval::Month, Some(0)) };
        assert_eq!(ending.unbilled_periods(at(3_650)), Ok(1..3), "the period that would begin at the end does not");
        assert!(!is_held(&ending, at(3_650)));
        let at_end = Subscription { cancel_at_period_end: true, ..of(Interval::Month, Some(0)) };
        assert_eq!(at_end.unbilled_periods(at(3_650)), Ok(1..1));
    }

    #[test]
    fn approved_periods_are_billed_and_later_ones_need_another_decision() {
        let mut one = of(Interval::Month, Some(0));
        one.catch_up(CatchUp::EveryPeriod, at(200)).expect("periods");
        assert_eq!((one.index, one.unbilled_periods(at(200))), (Some(0), Ok(1..7)));
        assert!(!is_held(&one, at(200)) && !is_held(&one, at(269)));
        assert!(is_held(&one, at(270)), "three more months began");
    }

    #[test]
    fn a_decision_that_a_wrong_clock_has_dated_approves_nothing() {
        let mut one = of(Interval::Month, Some(0));
        one.bounds.approved_until = Some(at(3_650));
        assert!(is_held(&one, at(90)));
        assert_eq!((one.approved_until(at(90)), one.approved_until(at(3_650))), (None, Some(at(3_650))));
    }

    #[test]
    fn the_time_on_hold_delays_dunning() {
        let on_hold = OnHold { reason: HoldReason::UnbilledPeriods, detail: String::new() };
        let behind = Subscription { past_due_since: Some(at(1)), overdraft_at: Some(at(12)), ..of(Interval::Day, Some(0)) };
        let held = behind.clone().held(Hold::from(on_hold.clone()), at(10));
        let released = held.released(at(40));
        assert_eq!((released.past_due_since, released.overdraft_at, released.on_hold), (Some(at(31)), Some(at(42)), None));
        assert_eq!(released.bounds, SubscriptionBounds::default());
        // The clock was wrong, and is set back before the decision.
        let held = behind.held(Hold::from(on_hold), at(3_650));
        assert_eq!(held.released(at(2)).past_due_since, Some(at(1)));
    }

    #[test]
    fn every_choice_round_trips_by_name() {
        for choice in CatchUp::ALL {
            assert_eq!(CatchUp::from_name(choice.name()), Some(choice));
        }
        assert_eq!(CatchUp::from_name("later"), None);
    }

    proptest! {
        #[test]
        fn after_a_choice_the_chosen_periods_are_due_and_no_other(
            interval in prop::sample::select(vec![Interval::Hour, Interval::Day, Interval::Week, Interval::Month]),
            is_trial in any::<bool>(),
            passed in 0u64..400 * DAY,
            choice in prop::sample::select(CatchUp::ALL.to_vec()),
        ) {
            let before = of(interval, (!is_trial).then_some(0));
            let now = before.period.end.plus(Duration::from_secs(passed));
            let unbilled = before.unbilled_periods(now).expect("periods");
            let current = period_index_at(&before.cycle, before.anchor, now).expect("a period");
            prop_assert_eq!(unbilled.clone().next_back(), Some(current));
            let mut after = before.clone();
            after.catch_up(choice, now).expect("periods");
            let due = after.unbilled_periods(now).expect("periods");
            let expected = match choice {
                CatchUp::EveryPeriod => unbilled,
                CatchUp::CurrentPeriod => current..current + 1,
                CatchUp::Skip => current + 1..current + 1,
            };
            prop_assert_eq!(due, expected);
            prop_assert!(!is_held(&after, now));
            // Periods stay the closed form of the anchor and the index, and the anchor does not move.
            prop_assert_eq!(after.anchor, before.anchor);
            if let Some(index) = after.index {
                prop_assert_eq!(Ok(after.period), period(&after.cycle, after.anchor, index));
            }
        }
    }
}
