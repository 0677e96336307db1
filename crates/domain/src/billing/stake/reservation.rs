//! The amount that an open attempt takes out of a stake, and the delay after its network declined.

use super::{Stake, StakeError};
use crate::payment::Decline;
use crate::shared::{Amount, AttemptId, Timestamp};
use std::time::Duration;

/// How money leaves a stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StakeTransferKind {
    /// Back to its payer.
    Return,
    /// To the store.
    Forfeit,
}

impl StakeTransferKind {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Forfeit => "forfeit",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Return, Self::Forfeit].into_iter().find(|kind| kind.name() == name)
    }
}

/// The amount that an open attempt takes out of a stake. A stake has at most one such attempt at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StakeReservation {
    pub attempt_id: AttemptId,
    pub kind: StakeTransferKind,
    pub amount: Amount,
}

impl Stake {
    /// Reserves an amount for an attempt.
    ///
    /// # Errors
    /// [`StakeError::InFlight`] while another attempt is open; [`StakeError::TooSmall`] when the amount is zero or exceeds
    /// [`Stake::available`].
    pub fn reserve(&self, reservation: StakeReservation, now: Timestamp) -> Result<Self, StakeError> {
        if self.reservation.is_some() {
            return Err(StakeError::InFlight);
        }
        if reservation.amount.is_zero() || reservation.amount > self.available() {
            return Err(StakeError::TooSmall);
        }
        Ok(Self { reservation: Some(reservation), updated_at: now, ..self.clone() })
    }

    /// Returns the stake after the attempt that reserved an amount has settled. `amount`: what left the stake, which an owner may have
    /// accepted although another amount was reserved.
    ///
    /// # Errors
    /// [`StakeError::NotReserved`] when this attempt has no reservation; [`StakeError::TooSmall`] when the amount exceeds
    /// [`Stake::remaining`].
    pub fn moved(&self, attempt: &AttemptId, amount: Amount, now: Timestamp) -> Result<Self, StakeError> {
        let reservation = self.reservation.as_ref().filter(|one| one.attempt_id == *attempt).ok_or(StakeError::NotReserved)?;
        if amount > self.remaining() {
            return Err(StakeError::TooSmall);
        }
        let mut after = Self { reservation: None, failure_count: 0, failure: None, updated_at: now, ..self.clone() };
        match reservation.kind {
            StakeTransferKind::Return => after.amount_returned = after.amount_returned.plus(amount)?,
            StakeTransferKind::Forfeit => {
                after.amount_forfeited = after.amount_forfeited.plus(amount)?;
                // The payer does not have to replace a forfeited amount.
                after.amount_requested = after.amount_requested.minus(amount).unwrap_or_default();
            }
        }
        Ok(after.closed_if_empty())
    }

    /// Returns the stake after the network declined the attempt that reserved an amount; it is retried after [`retry_delay`].
    ///
    /// # Errors
    /// [`StakeError::NotReserved`] when this attempt has no reservation.
    pub fn declined(&self, attempt: &AttemptId, decline: &Decline, now: Timestamp) -> Result<Self, StakeError> {
        if self.reservation.as_ref().is_none_or(|one| one.attempt_id != *attempt) {
            return Err(StakeError::NotReserved);
        }
        Ok(Self {
            reservation: None,
            return_at: Some(now.plus(retry_delay(self.failure_count))),
            failure_count: self.failure_count.saturating_add(1),
            failure: Some(decline.clone()),
            updated_at: now,
            ..self.clone()
        })
    }
}

/// The delay after the first decline.
pub const STAKE_RETRY_DELAY: Duration = Duration::from_secs(6 * 3_600);
/// How often the delay doubles, from six hours to eight days.
pub const STAKE_RETRY_DOUBLINGS: u32 = 5;

/// The delay before the next try after a decline. `failures`: the number of consecutive declines before it.
#[must_use]
pub fn retry_delay(failures: u32) -> Duration {
    STAKE_RETRY_DELAY.saturating_mul(1 << failures.min(STAKE_RETRY_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::super::ReleaseReason;
    use super::super::StakeStatus;
    use super::super::entity::tests::{at, attempt, held, reservation};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_retry_delay_doubles_from_six_hours_to_eight_days() {
        let hours: Vec<_> = (0..8).map(|failures| retry_delay(failures).as_secs() / 3_600).collect();
        assert_eq!(hours, [6, 12, 24, 48, 96, 192, 192, 192]);
    }

    #[test]
    fn a_declined_return_is_retried_and_needs_attention_at_the_longest_delay() {
        let mut stake = held(10).released(ReleaseReason::Ended, at(100), at(0));
        for failures in 1..=7u32 {
            let reserved = stake.reserve(reservation(StakeTransferKind::Return, 10), at(100)).expect("it fits");
            stake = reserved.declined(&attempt(1), &Decline::default(), at(100)).expect("it was reserved");
            assert_eq!(stake.return_at, Some(at(100).plus(retry_delay(failures - 1))));
            assert_eq!((stake.status, stake.failure_count, stake.available()), (StakeStatus::Releasing, failures, Amount::new(10)));
            assert_eq!(stake.needs_attention(), failures > 5, "{failures}");
        }
        let moved = stake
            .reserve(reservation(StakeTransferKind::Return, 10), at(200))
            .and_then(|stake| stake.moved(&attempt(1), Amount::new(10), at(200)));
        let moved = moved.expect("the network accepted it");
        assert_eq!((moved.status, moved.return_at, moved.failure_count), (StakeStatus::Final, None, 0));
    }

    #[test]
    fn one_attempt_at_a_time_reserves_a_stake_and_only_it_ends_the_reservation() {
        let stake = held(10).reserve(reservation(StakeTransferKind::Forfeit, 4), at(1)).expect("it fits");
        assert_eq!(stake.reserve(reservation(StakeTransferKind::Return, 1), at(2)), Err(StakeError::InFlight));
        assert_eq!(stake.moved(&attempt(2), Amount::new(4), at(2)), Err(StakeError::NotReserved));
        assert_eq!(stake.moved(&attempt(1), Amount::new(11), at(2)), Err(StakeError::TooSmall));
        assert_eq!(stake.declined(&attempt(2), &Decline::default(), at(2)), Err(StakeError::NotReserved));
        let after = stake.moved(&attempt(1), Amount::new(4), at(2)).expect("it was reserved");
        assert_eq!((after.status, after.remaining(), after.missing()), (StakeStatus::Held, Amount::new(6), Amount::ZERO));
        assert_eq!(held(10).reserve(reservation(StakeTransferKind::Forfeit, 11), at(1)), Err(StakeError::TooSmall));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Place(u128),
        Return(u128),
        Forfeit(u128),
        /// The amount that the network moved, which can differ from the reserved one.
        Settle(u128),
        Decline,
        Claim(u128),
        Release,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1u128..500).prop_map(Step::Place),
            (0u128..500).prop_map(Step::Return),
            (0u128..500).prop_map(Step::Forfeit),
            (0u128..500).prop_map(Step::Settle),
            Just(Step::Decline),
            (0u128..500).prop_map(Step::Claim),
            Just(Step::Release),
        ];
        prop::collection::vec(step, 0..40)
    }

    proptest! {
        #[test]
        fn paid_out_and_remaining_amounts_add_up_to_what_was_paid_in(steps in steps()) {
            let mut stake = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
            let (mut paid_in, mut paid_out_total) = (0u128, 0u128);
            for (second, step) in (1i64..).zip(steps) {
                let now = at(second);
                let after = match step {
                    Step::Place(_) if stake.is_final() => continue,
                    Step::Place(amount) => stake.placed(Amount::new(amount), "R", now).inspect(|_| paid_in += amount),
                    Step::Return(amount) => stake.reserve(reservation(StakeTransferKind::Return, amount), now),
                    Step::Forfeit(amount) => stake.reserve(reservation(StakeTransferKind::Forfeit, amount), now),
                    Step::Settle(amount) => stake.moved(&attempt(1), Amount::new(amount), now).inspect(|_| paid_out_total += amount),
                    Step::Decline => stake.declined(&attempt(1), &Decline::default(), now),
                    Step::Claim(amount) => stake.claimed(Amount::new(amount), now).inspect(|_| paid_out_total += amount),
                    Step::Release => Ok(stake.released(ReleaseReason::Ended, now, now)),
                };
                stake = after.unwrap_or(stake);
                prop_assert_eq!(stake.amount.base_units(), paid_in);
                prop_assert_eq!(stake.remaining().base_units(), paid_in - paid_out_total);
                prop_assert!(stake.amount_reserved() <= stake.remaining());
                prop_assert!(!stake.is_final() || stake.remaining().is_zero());
            }
        }
    }
}
