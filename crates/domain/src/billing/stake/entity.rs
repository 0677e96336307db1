//! The stake entity: a deposit of a customer that a network holds for this store, and its state machine.

use super::{STAKE_RETRY_DOUBLINGS, StakeKey, StakePurpose, StakeReservation, StakeSubject};
use crate::access::Did;
use crate::payment::Decline;
use crate::shared::{Amount, AmountError, CurrencyId, CustomerId, MethodId, Mode, StakeId, Timestamp};
use std::time::Duration;

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
    /// The store keeps it: what its network still holds is forfeited.
    Forfeited,
}

impl ReleaseReason {
    pub const ALL: [Self; 7] =
        [Self::Ended, Self::Superseded, Self::Revoked, Self::Abandoned, Self::Requested, Self::ReturnedByStore, Self::Forfeited];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Superseded => "superseded",
            Self::Revoked => "revoked",
            Self::Abandoned => "abandoned",
            Self::Requested => "requested",
            Self::ReturnedByStore => "returned_by_store",
            Self::Forfeited => "forfeited",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
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
    /// For how many days its payer waits for it after a revocation or a request. Its network fixes it with the first payment.
    pub waiting_days: u32,
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
    /// The network's reference of the last return by the store.
    pub return_reference: Option<String>,
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
    pub waiting_days: u32,
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
            waiting_days: self.waiting_days,
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
            return_reference: None,
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

    /// For how long its payer waits for it after a revocation or a request.
    #[must_use]
    pub fn waiting(&self) -> Duration {
        Duration::from_secs(u64::from(self.waiting_days) * 86_400)
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

    /// Whether its network declined the last try to release it.
    #[must_use]
    pub const fn has_failed_release(&self) -> bool {
        matches!(self.status, StakeStatus::Releasing) && self.failure.is_some()
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

    /// Whether the store keeps what its network still holds.
    #[must_use]
    pub const fn is_forfeited(&self) -> bool {
        matches!(self.release_reason, Some(ReleaseReason::Forfeited))
    }

    /// Whether its payer has placed all that was requested, and the network holds it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_held() && self.missing().is_zero()
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

    /// Returns the stake after a payment into it has settled. What is due for a held stake, such as the return of an earlier deposit, stays
    /// due.
    ///
    /// # Errors
    /// [`StakeError::Amount`] when the sum is out of range.
    pub fn placed(&self, amount: Amount, reference: &str, now: Timestamp) -> Result<Self, StakeError> {
        let held_towards_request = match self.status {
            StakeStatus::Pending | StakeStatus::Held => self.remaining().min(self.amount_requested),
            // Its payer revoked the old amount and pays the full amount again.
            StakeStatus::Releasing | StakeStatus::Final => Amount::ZERO,
        };
        let after = Self {
            amount_requested: self.amount_requested.max(held_towards_request.plus(amount)?),
            amount: self.amount.plus(amount)?,
            reference: Some(reference.to_owned()),
            updated_at: now,
            ..self.clone()
        };
        // What the store keeps stays so, with a payment that was in flight when it ordered that.
        let stays = self.is_held() || (self.is_forfeited() && !self.is_final());
        Ok(if stays { after } else { after.held_without_due_step() })
    }

    /// [`Stake::amount_requested`], without what was requested and not paid yet.
    #[must_use]
    pub fn settled_request(&self) -> Amount {
        self.amount_requested.min(self.remaining())
    }

    /// Lowers the requested amount of a held stake. What exceeds it is returned now.
    #[must_use]
    pub fn lowered_to(&self, amount: Amount, now: Timestamp) -> Self {
        match self.is_held() && amount < self.amount_requested {
            true => Self { amount_requested: amount, return_at: Some(now), updated_at: now, ..self.clone() },
            false => self.clone(),
        }
    }

    /// The part of `at_network` that exceeds the requested amount, as far as no attempt has reserved it.
    #[must_use]
    pub fn excess(&self, at_network: Amount) -> Amount {
        self.available().min(at_network).minus(self.amount_requested).unwrap_or_default()
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

    /// Releases the stake to the store: the batch of due stakes forfeits what its network still holds, whoever revoked or requested it
    /// before. Nothing changes for a stake into which nothing was paid, and for a final one.
    #[must_use]
    pub fn forfeited_from(&self, now: Timestamp) -> Self {
        match self.status {
            StakeStatus::Pending | StakeStatus::Final => self.clone(),
            StakeStatus::Held | StakeStatus::Releasing => Self {
                status: StakeStatus::Releasing,
                release_reason: Some(ReleaseReason::Forfeited),
                released_at: self.released_at.or(Some(now)),
                return_at: Some(now),
                failure_count: 0,
                failure: None,
                updated_at: now,
                ..self.clone()
            },
        }
    }

    /// Marks the stake as revoked by its payer: the network holds less than it should. A security is returned after the subscriptions that
    /// it secures. What another stake secures ends at once, so that the rest of it is returned. The rest of a deposit of a developer is
    /// returned after its waiting time: until then the store can keep it, and the monitor restores it if the network has answered wrongly.
    #[must_use]
    pub fn revoked(&self, now: Timestamp) -> Self {
        Self {
            status: StakeStatus::Releasing,
            release_reason: Some(ReleaseReason::Revoked),
            released_at: self.released_at.filter(|_| self.is_revoked()).or(Some(now)),
            return_at: match self.purpose {
                StakePurpose::Security => self.return_at,
                StakePurpose::Overdraft => Some(now),
                StakePurpose::Membership | StakePurpose::Publication => Some(now.plus(self.waiting())),
            },
            updated_at: now,
            ..self.clone()
        }
    }

    /// Marks the stake as held again: the network holds all of it.
    #[must_use]
    pub fn restored(&self, now: Timestamp) -> Self {
        Self { updated_at: now, ..self.clone().held_without_due_step() }
    }

    fn held_without_due_step(self) -> Self {
        Self {
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            ..self
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

    pub(super) fn closed_if_empty(self) -> Self {
        if self.remaining().is_zero() && self.reservation.is_none() {
            Self { status: StakeStatus::Final, return_at: None, ..self }
        } else {
            self
        }
    }
}

#[cfg(test)]
pub(in crate::billing) mod tests {
    use super::super::StakeTransferKind;
    use super::*;
    use crate::shared::AttemptId;

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
            waiting_days: 14,
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
            return_reference: None,
            checked_at: Timestamp::from_seconds(0),
            created_at: at(0),
            updated_at: at(0),
        }
    }

    pub fn reservation(kind: StakeTransferKind, amount: u128) -> StakeReservation {
        StakeReservation { attempt_id: attempt(1), kind, amount: Amount::new(amount) }
    }

    pub fn attempt(number: u32) -> AttemptId {
        AttemptId::parse(&format!("att_{number}")).expect("an id")
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
        let excess = held(100).lowered_to(Amount::new(80), at(3)).placed(Amount::new(20), "C", at(4)).expect("in range");
        assert_eq!((excess.amount_requested, excess.excess(Amount::new(120))), (Amount::new(100), Amount::new(20)));
        assert_eq!(excess.return_at, Some(at(3)), "the return of the excess stays due");
        let again = held(10).revoked(at(4)).placed(Amount::new(6), "D", at(5)).expect("in range");
        assert_eq!((again.status, again.amount_requested, again.remaining()), (StakeStatus::Held, Amount::new(10), Amount::new(16)));
    }

    #[test]
    fn a_forfeited_stake_goes_to_the_store_whatever_its_payer_did_before() {
        let publication = |amount| Stake { purpose: StakePurpose::Publication, ..held(amount) };
        for (stake, since) in [
            (publication(10), 9),
            (publication(10).revoked(at(3)), 3),
            (publication(10).released(ReleaseReason::Requested, at(900), at(4)), 4),
        ] {
            let after = stake.forfeited_from(at(9));
            assert_eq!((after.status, after.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::Forfeited)));
            assert_eq!((after.released_at, after.return_at), (Some(at(since)), Some(at(9))));
            assert!(after.is_forfeited() && after.is_going_back() && !after.is_revoked());
        }
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..publication(10) };
        assert_eq!(pending.forfeited_from(at(9)), pending, "a payment into it may still be in flight");
        let part = Stake { amount_requested: Amount::new(30), ..publication(10) }.forfeited_from(at(9));
        let late = part.placed(Amount::new(20), "B", at(10)).expect("in range");
        assert!(late.is_forfeited() && !late.is_held());
        assert_eq!((late.remaining(), late.return_at), (Amount::new(30), Some(at(9))), "the store keeps a late payment as well");
    }

    #[test]
    fn a_part_of_a_developers_deposit_that_was_not_revoked_is_returned_after_its_waiting_time() {
        for (purpose, return_at) in [
            (StakePurpose::Security, None),
            (StakePurpose::Overdraft, Some(at(5))),
            (StakePurpose::Membership, Some(at(5 + 14 * 86_400))),
            (StakePurpose::Publication, Some(at(5 + 14 * 86_400))),
        ] {
            assert_eq!(Stake { purpose, ..held(10) }.revoked(at(5)).return_at, return_at, "{purpose:?}");
        }
    }
}
