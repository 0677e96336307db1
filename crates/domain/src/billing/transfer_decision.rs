//! The decisions that an owner can take about a transfer on hold, and how the moved amount compares with the ordered one.

use crate::payment::{Attempt, Purpose, RefundType};
use crate::shared::{Amount, StorageError};
use crate::storage::UnitOfWork;

/// The types of transfers that can be on hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferType {
    Refund,
    BalancePayout,
    /// A payment into a deposit.
    Stake,
    /// As [`TransferType::Stake`], in a checkout: if the checkout is not completed, the deposit is returned anyway.
    CheckoutStake,
    StakeReturn,
    StakeForfeit,
    Mandate,
    /// A top-up of the customer's own account.
    Recharge,
}

impl TransferType {
    /// The type of an attempt other than a payment.
    pub(super) async fn of(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Option<Self>, StorageError> {
        Ok(match &attempt.purpose {
            Purpose::Refund(id) => unit.refunds().find(id).await?.map(|refund| Self::of_refund(refund.kind)),
            _ => Self::of_other(attempt),
        })
    }

    pub(super) const fn of_refund(kind: RefundType) -> Self {
        match kind {
            RefundType::BalancePayout => Self::BalancePayout,
            RefundType::Refund | RefundType::Dashboard => Self::Refund,
        }
    }

    /// The type of an attempt other than a payment or a refund.
    pub(super) const fn of_other(attempt: &Attempt) -> Option<Self> {
        match &attempt.purpose {
            Purpose::Payment(_) | Purpose::Refund(_) => None,
            Purpose::Stake(_) if attempt.session_id.is_some() => Some(Self::CheckoutStake),
            Purpose::Stake(_) => Some(Self::Stake),
            Purpose::ReturnStake(_) => Some(Self::StakeReturn),
            Purpose::Slash(_) => Some(Self::StakeForfeit),
            Purpose::Mandate(_) => Some(Self::Mandate),
            Purpose::Recharge(_) => Some(Self::Recharge),
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::BalancePayout => "balance_payout",
            Self::Stake | Self::CheckoutStake => "stake",
            Self::StakeReturn => "stake_return",
            Self::StakeForfeit => "stake_forfeit",
            Self::Mandate => "mandate",
            Self::Recharge => "recharge",
        }
    }

    /// The decisions that an owner can take about a transfer of this type that was to move `ordered` and moved `moved`. At least one, and
    /// one of them records the moved amount whatever it is.
    #[must_use]
    pub fn decisions(self, ordered: Amount, moved: Amount) -> &'static [HoldDecision] {
        use HoldDecision::{Balance, Record, Retry, Return, Revenue};
        let is_short = moved < ordered;
        match self {
            Self::Refund | Self::BalancePayout if is_short => &[Retry, Balance],
            Self::StakeReturn | Self::StakeForfeit if is_short => &[Retry, Record],
            Self::StakeForfeit => &[Balance, Revenue],
            Self::Stake if !moved.is_zero() => &[Record, Return],
            _ => &[Record],
        }
    }
}

/// What an owner decides about a transfer on hold. What the network moved is recorded with every decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldDecision {
    /// Nothing more happens. A deposit keeps the rest; what was sent beyond a refund or a payout is in suspense.
    Record,
    /// The part that was not moved is ordered once more.
    Retry,
    /// The part that was not sent, or that was forfeited without being ordered, goes to the customer's balance.
    Balance,
    /// The part that was forfeited without being ordered is kept as revenue.
    Revenue,
    /// The received deposit is returned to its payer.
    Return,
}

impl HoldDecision {
    pub const ALL: [Self; 5] = [Self::Record, Self::Retry, Self::Balance, Self::Revenue, Self::Return];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Retry => "retry",
            Self::Balance => "balance",
            Self::Revenue => "revenue",
            Self::Return => "return",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// How the amount that a network moved compares with the ordered one and with the most that the books can record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Difference {
    /// The moved amount as far as the books can record it.
    pub recorded: Amount,
    /// The recorded amount that was not ordered.
    pub unordered: Amount,
    /// The moved amount beyond what the books can record.
    pub excess: Amount,
    /// The ordered amount that was not moved.
    pub rest: Amount,
}

/// `most`: the most that the books can record as moved.
pub(super) fn difference(ordered: Amount, moved: Amount, most: Amount) -> Difference {
    let recorded = moved.min(most);
    let beyond = |amount: Amount, limit| amount.minus(limit).unwrap_or_default();
    Difference { recorded, unordered: beyond(recorded, ordered), excess: beyond(moved, recorded), rest: beyond(ordered, moved) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPES: [TransferType; 8] = [
        TransferType::Refund,
        TransferType::BalancePayout,
        TransferType::Stake,
        TransferType::CheckoutStake,
        TransferType::StakeReturn,
        TransferType::StakeForfeit,
        TransferType::Mandate,
        TransferType::Recharge,
    ];

    #[test]
    fn the_decisions_depend_on_whether_less_or_more_was_moved() {
        use HoldDecision::{Balance, Record, Retry, Return, Revenue};
        for (kind, nothing, less, more) in [
            (TransferType::Refund, &[Retry, Balance][..], &[Retry, Balance][..], &[Record][..]),
            (TransferType::BalancePayout, &[Retry, Balance], &[Retry, Balance], &[Record]),
            (TransferType::Stake, &[Record], &[Record, Return], &[Record, Return]),
            (TransferType::CheckoutStake, &[Record], &[Record], &[Record]),
            (TransferType::StakeReturn, &[Retry, Record], &[Retry, Record], &[Record]),
            (TransferType::StakeForfeit, &[Retry, Record], &[Retry, Record], &[Balance, Revenue]),
            (TransferType::Recharge, &[Record], &[Record], &[Record]),
        ] {
            for (moved, expected) in [(0, nothing), (4, less), (15, more)] {
                assert_eq!(kind.decisions(Amount::new(10), Amount::new(moved)), expected, "{} {moved}", kind.name());
            }
        }
    }

    #[test]
    fn every_decision_round_trips_by_name() {
        for decision in HoldDecision::ALL {
            assert_eq!(HoldDecision::from_name(decision.name()), Some(decision));
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_moved_amount_add_up(ordered in 0u128..1_000, moved in 0u128..1_000, most in 0u128..1_000) {
            let Difference { recorded, unordered, excess, rest } = difference(Amount::new(ordered), Amount::new(moved), Amount::new(most));
            let [recorded, unordered, excess, rest] = [recorded, unordered, excess, rest].map(Amount::base_units);
            prop_assert_eq!(recorded + excess, moved);
            prop_assert!(recorded <= most && unordered <= recorded);
            prop_assert_eq!(recorded.min(ordered) + unordered, recorded);
            prop_assert!(rest == 0 || moved + rest == ordered);
        }

        #[test]
        fn there_is_always_a_decision_and_revenue_is_never_the_only_one(ordered in 0u128..20, moved in 0u128..20) {
            for kind in TYPES {
                let decisions = kind.decisions(Amount::new(ordered), Amount::new(moved));
                prop_assert!(decisions.iter().any(|decision| *decision != HoldDecision::Revenue), "{}", kind.name());
                prop_assert!(moved < ordered || !decisions.contains(&HoldDecision::Retry), "{}", kind.name());
            }
        }
    }
}
