//! The stake entity: a deposit of a customer that a network holds for this store, and its state machine.

use crate::access::Did;
use crate::payment::Decline;
use crate::shared::{Amount, AmountError, AttemptId, CurrencyId, CustomerId, MethodId, Mode, StakeId, SubscriptionId, Timestamp};
use std::time::Duration;

/// What a stake is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StakePurpose {
    /// Pays the overdue invoices of subscriptions that end.
    Security,
    /// Pays renewals that could not be charged.
    Overdraft,
    /// A membership of the store.
    Membership,
    /// The right to publish an app.
    Publication,
}

impl StakePurpose {
    pub const ALL: [Self; 4] = [Self::Security, Self::Overdraft, Self::Membership, Self::Publication];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Overdraft => "overdraft",
            Self::Membership => "membership",
            Self::Publication => "publication",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// The object that a stake is placed for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StakeSubject {
    /// The first subscription that it secures. The subscription may not exist yet: a checkout allocates subscription ids in advance.
    Subscription(SubscriptionId),
}

impl StakeSubject {
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Subscription(id) => id.as_str(),
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        SubscriptionId::parse(text).ok().map(Self::Subscription)
    }

    #[must_use]
    pub const fn subscription(&self) -> Option<&SubscriptionId> {
        match self {
            Self::Subscription(id) => Some(id),
        }
    }
}

/// The status of a stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StakeStatus {
    /// Nothing is placed at the network yet.
    Pending,
    /// The network holds it.
    Held,
    /// It is leaving the network: the store receives the amount of overdue invoices, the payer the rest.
    Releasing,
    /// The network holds nothing of it any more, by our records.
    Final,
}

impl StakeStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Held, Self::Releasing, Self::Final];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Releasing => "releasing",
            Self::Final => "final",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Why a stake is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReleaseReason {
    /// Everything that it secured has ended.
    Ended,
    /// Another stake replaced it, or its subscription changed to another currency.
    Superseded,
    /// Its payer revoked it at the network.
    Revoked,
    /// Its checkout or change of payment was never completed, or its checkout now requires another stake.
    Abandoned,
    /// Its payer requested its return.
    Requested,
    /// The store returned it.
    ReturnedByStore,
}

impl ReleaseReason {
    pub const ALL: [Self; 6] = [Self::Ended, Self::Superseded, Self::Revoked, Self::Abandoned, Self::Requested, Self::ReturnedByStore];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Superseded => "superseded",
            Self::Revoked => "revoked",
            Self::Abandoned => "abandoned",
            Self::Requested => "requested",
            Self::ReturnedByStore => "returned_by_store",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

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

/// Unique among stakes that are not final: a second payment raises the same row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StakeKey {
    pub subject: StakeSubject,
    pub purpose: StakePurpose,
    pub payer: Did,
    pub currency_id: CurrencyId,
}

/// Why a change of a stake is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StakeError {
    #[error("the deposit is lower than this amount")]
    TooSmall,
    #[error("an attempt that moves the stake is open")]
    InFlight,
    #[error("no attempt reserves that amount of the stake")]
    NotReserved,
    #[error(transparent)]
    Amount(#[from] AmountError),
}

/// A deposit that a network holds. Guard: `forfeited + returned + reserved <= amount`, changed by a compare-and-set under the row's lock
/// (invariant 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stake {
    pub id: StakeId,
    pub mode: Mode,
    pub customer_id: CustomerId,
    /// The account that paid it and to which it returns.
    pub payer: Did,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    pub subject: StakeSubject,
    pub purpose: StakePurpose,
    /// The amount that the payer should have placed. More than [`Stake::remaining`] while a payment is missing.
    pub amount_requested: Amount,
    /// The sum of all payments into it.
    pub amount: Amount,
    pub amount_forfeited: Amount,
    /// Returned by the store, or claimed back by the payer.
    pub amount_returned: Amount,
    pub reservation: Option<StakeReservation>,
    pub status: StakeStatus,
    pub release_reason: Option<ReleaseReason>,
    /// When its release began.
    pub released_at: Option<Timestamp>,
    /// When the store processes it next: forfeits the amount of overdue invoices or returns the rest. For a pending stake: when it is
    /// abandoned.
    pub return_at: Option<Timestamp>,
    /// The number of consecutive declines by its network.
    pub failure_count: u32,
    /// The reason of the last of these declines.
    pub failure: Option<Decline>,
    /// The network's reference of the last payment into it.
    pub reference: Option<String>,
    /// When the network was last queried about it; the Unix epoch means never.
    pub checked_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A stake that a payer is asked to place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedStake<'a> {
    pub mode: Mode,
    pub customer_id: &'a CustomerId,
    pub method_id: &'a MethodId,
    pub key: &'a StakeKey,
    pub amount: Amount,
}

impl RequestedStake<'_> {
    /// Builds the pending stake. `give_up_at`: when it is abandoned if nothing was paid. `None`: it is abandoned together with its
    /// checkout.
    pub fn pending(&self, id: StakeId, give_up_at: Option<Timestamp>, now: Timestamp) -> Stake {
        Stake {
            id,
            mode: self.mode,
            customer_id: self.customer_id.clone(),
            payer: self.key.payer.clone(),
            method_id: self.method_id.clone(),
            currency_id: self.key.currency_id.clone(),
            subject: self.key.subject.clone(),
            purpose: self.key.purpose,
            amount_requested: self.amount,
            amount: Amount::ZERO,
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Pending,
            release_reason: None,
            released_at: None,
            return_at: give_up_at,
            failure_count: 0,
            failure: None,
            reference: None,
            checked_at: Timestamp::from_seconds(0),
            created_at: now,
            updated_at: now,
        }
    }
}

impl Stake {
    #[must_use]
    pub fn key(&self) -> StakeKey {
        StakeKey { subject: self.subject.clone(), purpose: self.purpose, payer: self.payer.clone(), currency_id: self.currency_id.clone() }
    }

    /// The amount that the network still holds, by our records.
    #[must_use]
    pub fn remaining(&self) -> Amount {
        let paid_out = self.amount_forfeited.plus(self.amount_returned);
        paid_out.and_then(|paid_out| self.amount.minus(paid_out)).unwrap_or_default()
    }

    #[must_use]
    pub fn amount_reserved(&self) -> Amount {
        self.reservation.as_ref().map_or(Amount::ZERO, |reservation| reservation.amount)
    }

    /// The remaining amount that no open attempt has reserved.
    #[must_use]
    pub fn available(&self) -> Amount {
        self.remaining().minus(self.amount_reserved()).unwrap_or_default()
    }

    /// The amount that its payer still has to place.
    #[must_use]
    pub fn missing(&self) -> Amount {
        match self.status {
            StakeStatus::Pending | StakeStatus::Held => self.amount_requested.minus(self.remaining()).unwrap_or_default(),
            StakeStatus::Releasing | StakeStatus::Final => Amount::ZERO,
        }
    }

    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self.status, StakeStatus::Final)
    }

    #[must_use]
    pub const fn is_held(&self) -> bool {
        matches!(self.status, StakeStatus::Held)
    }

    #[must_use]
    pub const fn is_revoked(&self) -> bool {
        matches!(self.release_reason, Some(ReleaseReason::Revoked))
    }

    /// Whether the store is releasing it, without a revocation by the payer: another payment into it would be returned as well.
    #[must_use]
    pub const fn is_going_back(&self) -> bool {
        matches!(self.status, StakeStatus::Releasing) && !self.is_revoked()
    }

    /// Whether declines have reached the longest retry delay, so that the owner should check it.
    #[must_use]
    pub const fn needs_attention(&self) -> bool {
        self.failure_count > STAKE_RETRY_DOUBLINGS && !self.is_final()
    }

    /// Returns the stake after a payment into it has settled.
    ///
    /// # Errors
    /// [`StakeError::Amount`] when the sum is out of range.
    pub fn placed(&self, amount: Amount, reference: &str, now: Timestamp) -> Result<Self, StakeError> {
        let held_towards_request = match self.status {
            StakeStatus::Pending | StakeStatus::Held => self.remaining().min(self.amount_requested),
            // Its payer revoked the old amount and pays the full amount again.
            StakeStatus::Releasing | StakeStatus::Final => Amount::ZERO,
        };
        Ok(Self {
            amount_requested: self.amount_requested.max(held_towards_request.plus(amount)?),
            amount: self.amount.plus(amount)?,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: Some(reference.to_owned()),
            updated_at: now,
            ..self.clone()
        })
    }

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

    /// Returns the stake after the attempt that reserved an amount has settled.
    ///
    /// # Errors
    /// [`StakeError::NotReserved`] when this attempt has no reservation.
    pub fn moved(&self, attempt: &AttemptId, now: Timestamp) -> Result<Self, StakeError> {
        let reservation = self.reservation.as_ref().filter(|one| one.attempt_id == *attempt).ok_or(StakeError::NotReserved)?;
        let mut after = Self { reservation: None, failure_count: 0, failure: None, updated_at: now, ..self.clone() };
        match reservation.kind {
            StakeTransferKind::Return => after.amount_returned = after.amount_returned.plus(reservation.amount)?,
            StakeTransferKind::Forfeit => {
                after.amount_forfeited = after.amount_forfeited.plus(reservation.amount)?;
                // The payer does not have to replace a forfeited amount.
                after.amount_requested = after.amount_requested.minus(reservation.amount).unwrap_or_default();
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

    /// Releases the stake: it leaves the network from `at` on. A stake that is being released already keeps its reason, and moves earlier
    /// if `at` is earlier. A stake without money at the network becomes final.
    #[must_use]
    pub fn released(&self, reason: ReleaseReason, at: Timestamp, now: Timestamp) -> Self {
        let return_at = Some(self.return_at.filter(|_| self.status == StakeStatus::Releasing).map_or(at, |before| before.min(at)));
        match self.status {
            StakeStatus::Final => self.clone(),
            StakeStatus::Releasing => Self { return_at, updated_at: now, ..self.clone() },
            StakeStatus::Pending | StakeStatus::Held => Self {
                status: StakeStatus::Releasing,
                release_reason: Some(reason),
                released_at: Some(now),
                return_at,
                updated_at: now,
                ..self.clone()
            }
            .closed_if_empty(),
        }
    }

    /// Marks the stake as revoked by its payer: the network holds less than it should. A stake of the overdraft protection is returned at
    /// once, because the protection ends; a security is returned after the subscriptions that it secures.
    #[must_use]
    pub fn revoked(&self, now: Timestamp) -> Self {
        Self {
            status: StakeStatus::Releasing,
            release_reason: Some(ReleaseReason::Revoked),
            released_at: self.released_at.filter(|_| self.is_revoked()).or(Some(now)),
            return_at: if self.purpose == StakePurpose::Overdraft { Some(now) } else { self.return_at },
            updated_at: now,
            ..self.clone()
        }
    }

    /// Marks the stake as held again: the network holds all of it.
    #[must_use]
    pub fn restored(&self, now: Timestamp) -> Self {
        Self {
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            updated_at: now,
            ..self.clone()
        }
    }

    /// Returns the stake after the payer has claimed an amount back at the network.
    ///
    /// # Errors
    /// [`StakeError::TooSmall`] when the amount exceeds [`Stake::available`].
    pub fn claimed(&self, amount: Amount, now: Timestamp) -> Result<Self, StakeError> {
        if amount > self.available() {
            return Err(StakeError::TooSmall);
        }
        let amount_returned = self.amount_returned.plus(amount)?;
        Ok(Self { amount_returned, updated_at: now, ..self.clone() }.closed_if_empty())
    }

    fn closed_if_empty(self) -> Self {
        if self.remaining().is_zero() && self.reservation.is_none() {
            Self { status: StakeStatus::Final, return_at: None, ..self }
        } else {
            self
        }
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
pub(in crate::billing) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    pub fn held(amount: u128) -> Stake {
        Stake {
            id: StakeId::parse("stk_1").expect("an id"),
            mode: Mode::Test,
            customer_id: CustomerId::parse("cus_1").expect("an id"),
            payer: Did::from_verified("z1"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            subject: StakeSubject::parse("sub_1").expect("a subject"),
            purpose: StakePurpose::Security,
            amount_requested: Amount::new(amount),
            amount: Amount::new(amount),
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: Some("HASH".to_owned()),
            checked_at: Timestamp::from_seconds(0),
            created_at: at(0),
            updated_at: at(0),
        }
    }

    pub fn reservation(kind: StakeTransferKind, amount: u128) -> StakeReservation {
        StakeReservation { attempt_id: attempt(1), kind, amount: Amount::new(amount) }
    }

    fn attempt(number: u32) -> AttemptId {
        AttemptId::parse(&format!("att_{number}")).expect("an id")
    }

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
        let moved = stake.reserve(reservation(StakeTransferKind::Return, 10), at(200)).and_then(|stake| stake.moved(&attempt(1), at(200)));
        let moved = moved.expect("the network accepted it");
        assert_eq!((moved.status, moved.return_at, moved.failure_count), (StakeStatus::Final, None, 0));
    }

    #[test]
    fn one_attempt_at_a_time_reserves_a_stake_and_only_it_ends_the_reservation() {
        let stake = held(10).reserve(reservation(StakeTransferKind::Forfeit, 4), at(1)).expect("it fits");
        assert_eq!(stake.reserve(reservation(StakeTransferKind::Return, 1), at(2)), Err(StakeError::InFlight));
        assert_eq!(stake.moved(&attempt(2), at(2)), Err(StakeError::NotReserved));
        assert_eq!(stake.declined(&attempt(2), &Decline::default(), at(2)), Err(StakeError::NotReserved));
        let after = stake.moved(&attempt(1), at(2)).expect("it was reserved");
        assert_eq!((after.status, after.remaining(), after.missing()), (StakeStatus::Held, Amount::new(6), Amount::ZERO));
        assert_eq!(held(10).reserve(reservation(StakeTransferKind::Forfeit, 11), at(1)), Err(StakeError::TooSmall));
    }

    #[test]
    fn releasing_a_stake_that_was_never_placed_makes_it_final() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(10) };
        assert_eq!(pending.missing(), Amount::new(10));
        let released = pending.released(ReleaseReason::Abandoned, at(5), at(5));
        assert_eq!((released.status, released.release_reason), (StakeStatus::Final, Some(ReleaseReason::Abandoned)));
    }

    #[test]
    fn a_released_stake_keeps_its_reason_and_the_earlier_of_two_times() {
        let ended = held(10).released(ReleaseReason::Ended, at(100), at(1));
        let later = ended.released(ReleaseReason::Requested, at(200), at(2));
        assert_eq!((later.release_reason, later.return_at), (Some(ReleaseReason::Ended), Some(at(100))));
        let sooner = ended.released(ReleaseReason::ReturnedByStore, at(50), at(2));
        assert_eq!((sooner.release_reason, sooner.return_at, sooner.released_at), (Some(ReleaseReason::Ended), Some(at(50)), Some(at(1))));
    }

    #[test]
    fn a_payment_adds_to_a_held_stake_and_replaces_a_revoked_one() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        let part = pending.placed(Amount::new(60), "A", at(1)).expect("in range");
        assert_eq!((part.status, part.missing(), part.amount_requested), (StakeStatus::Held, Amount::new(40), Amount::new(100)));
        let all = part.placed(Amount::new(40), "B", at(2)).expect("in range");
        assert_eq!((all.missing(), all.amount_requested), (Amount::ZERO, Amount::new(100)));
        let grown = all.placed(Amount::new(5), "C", at(3)).expect("in range");
        assert_eq!((grown.amount_requested, grown.remaining()), (Amount::new(105), Amount::new(105)));
        let again = held(10).revoked(at(4)).placed(Amount::new(6), "D", at(5)).expect("in range");
        assert_eq!((again.status, again.amount_requested, again.remaining()), (StakeStatus::Held, Amount::new(10), Amount::new(16)));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Place(u128),
        Return(u128),
        Forfeit(u128),
        Settle,
        Decline,
        Claim(u128),
        Release,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1u128..500).prop_map(Step::Place),
            (0u128..500).prop_map(Step::Return),
            (0u128..500).prop_map(Step::Forfeit),
            Just(Step::Settle),
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
                    Step::Settle => stake.moved(&attempt(1), now).inspect(|_| paid_out_total += stake.amount_reserved().base_units()),
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
