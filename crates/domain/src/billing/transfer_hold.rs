//! Transfers on hold, and the owner's decisions about them: refunds, payouts, and what moves into and out of deposits. A payment on hold is
//! resolved by [`super::resolve_suspense`].

use super::credit::{OrderedBy, RefundAttempt, UnsentPart, post_excess_refund, publish_refunds, record_short_refund};
use super::errors::{convert_send_error, convert_through};
use super::stake::{HeldForfeit, apply_held_forfeit, recorded_amount, return_placement, transfer_rest};
use super::{BillingError, PostingError, SendRefundError, publish_charges};
use crate::context::Context;
use crate::ledger::LedgerError;
use crate::payment::{
    Attempt, HoldClass, Moved, Purpose, RefundType, SettledHold, SettlementError, apply_settled_hold, end_hold, release_held, settle_hold,
};
use crate::shared::{Amount, AmountError, AttemptId, CustomerId, InvoiceId, Listed, Mode, Page, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// Tries before giving up when other units of work change the same rows.
const MAX_TRIES: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum ResolveTransferError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The settled amount equaled the ordered one, or the hold is resolved already.
    #[error("This transfer is not on hold")]
    NotOnHold,
    /// The decision does not fit what the network moved: see [`TransferOnHold::decisions`].
    #[error("This decision is not possible for this transfer")]
    NotPossible,
    /// The object of the transfer could not be changed.
    #[error(transparent)]
    Settlement(SettlementError),
    /// The rest could not be sent again.
    #[error(transparent)]
    Send(SendRefundError),
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(ResolveTransferError::Posting, AmountError, LedgerError, StorageError);
convert_send_error!(ResolveTransferError);

impl From<SettlementError> for ResolveTransferError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Contended => PostingError::Contended.into(),
            SettlementError::Storage(error) => error.into(),
            error => Self::Settlement(error),
        }
    }
}

impl From<BillingError> for ResolveTransferError {
    fn from(error: BillingError) -> Self {
        SettlementError::from(error).into()
    }
}

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
    async fn of(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Option<Self>, StorageError> {
        Ok(match &attempt.purpose {
            Purpose::Refund(id) => unit.refunds().find(id).await?.map(|refund| Self::of_refund(refund.kind)),
            _ => Self::of_other(attempt),
        })
    }

    const fn of_refund(kind: RefundType) -> Self {
        match kind {
            RefundType::BalancePayout => Self::BalancePayout,
            RefundType::Refund | RefundType::Dashboard => Self::Refund,
        }
    }

    const fn of_other(attempt: &Attempt) -> Option<Self> {
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
    /// one of them books the moved amount whatever it is.
    #[must_use]
    pub fn decisions(self, ordered: Amount, moved: Amount) -> &'static [HoldDecision] {
        use HoldDecision::{Balance, Book, Retry, Return, Revenue};
        let is_short = moved < ordered;
        match self {
            Self::Refund | Self::BalancePayout if is_short => &[Retry, Balance],
            Self::StakeReturn | Self::StakeForfeit if is_short => &[Retry, Book],
            Self::StakeForfeit => &[Balance, Revenue],
            Self::Stake if !moved.is_zero() => &[Book, Return],
            _ => &[Book],
        }
    }
}

/// What an owner decides about a transfer on hold. What the network moved is booked with every decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldDecision {
    /// Nothing more happens. A deposit keeps the rest; what was sent beyond a refund or a payout is in suspense.
    Book,
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
    pub const ALL: [Self; 5] = [Self::Book, Self::Retry, Self::Balance, Self::Revenue, Self::Return];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Book => "book",
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
struct Difference {
    /// The moved amount as far as the books can record it.
    booked: Amount,
    /// The booked amount that was not ordered.
    unordered: Amount,
    /// The moved amount beyond what the books can record.
    excess: Amount,
    /// The ordered amount that was not moved.
    rest: Amount,
}

/// `most`: the most that the books can record as moved.
fn difference(ordered: Amount, moved: Amount, most: Amount) -> Difference {
    let booked = moved.min(most);
    let beyond = |amount: Amount, limit| amount.minus(limit).unwrap_or_default();
    Difference { booked, unordered: beyond(booked, ordered), excess: beyond(moved, booked), rest: beyond(ordered, moved) }
}

/// A transfer on hold, with what an owner needs to decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferOnHold {
    pub attempt: Attempt,
    pub kind: TransferType,
    pub moved: Moved,
    /// `None`: it is a mandate without a customer of its own.
    pub customer_id: Option<CustomerId>,
    /// The refunded invoice.
    pub invoice_id: Option<InvoiceId>,
    /// The subscription that the deposit was placed for, or whose account was topped up.
    pub subscription_id: Option<SubscriptionId>,
}

impl TransferOnHold {
    #[must_use]
    pub fn decisions(&self) -> &'static [HoldDecision] {
        self.kind.decisions(self.attempt.amount, self.moved.amount)
    }
}

/// One page of the transfers on hold, newest first.
///
/// # Errors
/// If the storage fails.
pub async fn transfers_on_hold(unit: &mut dyn UnitOfWork, mode: Mode, page: &Page) -> Result<Listed<TransferOnHold>, StorageError> {
    let Listed { count, list } = unit.attempts().on_hold(HoldClass::Transfers, mode, page).await?;
    let (mut refunds, mut stakes, mut subscriptions, mut mandates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for attempt in &list {
        match &attempt.purpose {
            Purpose::Refund(id) => refunds.push(id.clone()),
            Purpose::Stake(id) | Purpose::ReturnStake(id) | Purpose::Slash(id) => stakes.push(id.clone()),
            Purpose::Recharge(id) => subscriptions.push(id.clone()),
            Purpose::Mandate(id) => mandates.push(id.clone()),
            Purpose::Payment(_) => {}
        }
    }
    let refunds = if refunds.is_empty() { Vec::new() } else { unit.refunds().find_all(&refunds).await? };
    let stakes = if stakes.is_empty() { Vec::new() } else { unit.stakes().find_all(&stakes).await? };
    let subscriptions = if subscriptions.is_empty() { Vec::new() } else { unit.subscriptions().find_all(&subscriptions).await? };
    let mandates = if mandates.is_empty() { Vec::new() } else { unit.mandates().find_all(&mandates).await? };
    let with_object = |attempt: Attempt| {
        let (moved, other) = (attempt.moved.clone()?, TransferType::of_other(&attempt));
        let (kind, customer_id, invoice_id, subscription_id) = match &attempt.purpose {
            Purpose::Payment(_) => return None,
            Purpose::Refund(id) => {
                let refund = refunds.iter().find(|refund| refund.id == *id)?;
                let (invoice, subscription) = (refund.invoice_id.clone(), refund.subscription_id.clone());
                (TransferType::of_refund(refund.kind), Some(refund.customer_id.clone()), invoice, subscription)
            }
            Purpose::Stake(id) | Purpose::ReturnStake(id) | Purpose::Slash(id) => {
                let stake = stakes.iter().find(|stake| stake.id == *id)?;
                (other?, Some(stake.customer_id.clone()), None, stake.subject.subscription().cloned())
            }
            Purpose::Recharge(id) => {
                let subscription = subscriptions.iter().find(|subscription| subscription.id == *id)?;
                (other?, Some(subscription.customer_id.clone()), None, Some(id.clone()))
            }
            Purpose::Mandate(id) => (other?, mandates.iter().find(|one| one.id == *id).map(|one| one.customer_id.clone()), None, None),
        };
        Some(TransferOnHold { attempt, kind, moved, customer_id, invoice_id, subscription_id })
    };
    Ok(Listed { count, list: list.into_iter().filter_map(with_object).collect() })
}

/// What became of a transfer on hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedTransfer {
    /// What the network had moved.
    pub moved: Amount,
    /// The ordered amount that it had not moved.
    pub rest: Amount,
    /// What it moved beyond the order, or beyond the recorded deposit, and what is therefore in suspense or in no account of the store.
    pub excess: Amount,
}

/// Resolves a transfer on hold: books what its network moved, and does with the difference what the owner has decided.
///
/// # Errors
/// [`ResolveTransferError::NotOnHold`] when the transfer is not on hold; [`ResolveTransferError::NotPossible`] when the decision is not one
/// of [`TransferOnHold::decisions`]; [`SendRefundError`] when the rest cannot be sent again.
#[tracing::instrument(skip_all, fields(attempt = %id, decision = decision.name()))]
pub async fn resolve_transfer(
    ctx: &Context,
    mode: Mode,
    id: &AttemptId,
    decision: HoldDecision,
) -> Result<ResolvedTransfer, ResolveTransferError> {
    for _ in 0..MAX_TRIES {
        match try_resolve(ctx, mode, id, decision).await {
            Err(ResolveTransferError::Posting(PostingError::Contended)) => {}
            done => return done,
        }
    }
    Err(PostingError::Contended.into())
}

async fn try_resolve(ctx: &Context, mode: Mode, id: &AttemptId, decision: HoldDecision) -> Result<ResolvedTransfer, ResolveTransferError> {
    let mut unit = ctx.store.begin().await?;
    let attempt = unit.attempts().find(id).await?.ok_or(ResolveTransferError::NotFound)?;
    let method = unit.methods().find(&attempt.method_id).await?;
    let kind = TransferType::of(unit.as_mut(), &attempt).await?;
    let kind = kind.filter(|_| method.is_some_and(|method| method.mode == mode)).ok_or(ResolveTransferError::NotFound)?;
    let moved = attempt.moved.clone().filter(|_| attempt.is_on_hold()).ok_or(ResolveTransferError::NotOnHold)?;
    if !kind.decisions(attempt.amount, moved.amount).contains(&decision) {
        return Err(ResolveTransferError::NotPossible);
    }
    let resolution = Resolution { attempt: &attempt, moved: &moved, decision };
    let (excess, sent) = match &attempt.purpose {
        Purpose::Refund(_) => resolution.refund(ctx, unit.as_mut()).await?,
        _ => resolution.other(ctx, unit.as_mut()).await?,
    };
    publish_charges(ctx, unit.as_mut(), &sent.attempts).await?;
    publish_refunds(ctx, unit.as_mut(), OrderedBy::Store, &sent.refunds).await?;
    unit.commit().await?;
    Ok(ResolvedTransfer { moved: moved.amount, rest: attempt.amount.minus(moved.amount).unwrap_or_default(), excess })
}

/// The attempts that must be sent after the commit.
#[derive(Default)]
struct ToSend {
    attempts: Vec<AttemptId>,
    refunds: Vec<RefundAttempt>,
}

/// A hold that is being resolved.
struct Resolution<'a> {
    attempt: &'a Attempt,
    moved: &'a Moved,
    decision: HoldDecision,
}

impl Resolution<'_> {
    /// Resolves a refund or a payout. Returns the excess.
    async fn refund(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(Amount, ToSend), ResolveTransferError> {
        let Purpose::Refund(id) = &self.attempt.purpose else { return Err(ResolveTransferError::NotFound) };
        let Difference { excess, rest, .. } = difference(self.attempt.amount, self.moved.amount, self.attempt.amount);
        if rest.is_zero() {
            let hold = self.settle(ctx, unit, self.attempt.amount).await?;
            let attempts = apply_settled_hold(ctx, unit, &hold).await?;
            post_excess_refund(ctx, unit, id, &self.moved.reference, excess).await?;
            return Ok((excess, ToSend { attempts, ..ToSend::default() }));
        }
        let error = self.attempt.last_error.clone().unwrap_or_default();
        if !end_hold(ctx, unit, self.attempt).await? {
            return Err(ResolveTransferError::NotOnHold);
        }
        let rest = if self.decision == HoldDecision::Retry { UnsentPart::Retry } else { UnsentPart::Balance };
        let again = record_short_refund(ctx, unit, id, self.moved, &error, rest).await?;
        Ok((excess, ToSend { refunds: again.into_iter().collect(), ..ToSend::default() }))
    }

    /// Resolves what moved into or out of a deposit, a mandate or a top-up. Returns the excess.
    async fn other(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(Amount, ToSend), ResolveTransferError> {
        let most = match &self.attempt.purpose {
            Purpose::ReturnStake(stake) | Purpose::Slash(stake) => recorded_amount(unit, stake).await?,
            _ => self.moved.amount,
        };
        let difference = difference(self.attempt.amount, self.moved.amount, most);
        let mut attempts = if self.moved.amount.is_zero() {
            if !end_hold(ctx, unit, self.attempt).await? {
                return Err(ResolveTransferError::NotOnHold);
            }
            release_held(ctx, unit, self.attempt).await?;
            Vec::new()
        } else {
            let hold = self.settle(ctx, unit, difference.booked).await?;
            self.apply(ctx, unit, &hold, difference).await?
        };
        if self.decision == HoldDecision::Retry {
            attempts.extend(transfer_rest(ctx, unit, self.attempt, difference.rest).await?);
        }
        Ok((difference.excess, ToSend { attempts, ..ToSend::default() }))
    }

    async fn settle(&self, ctx: &Context, unit: &mut dyn UnitOfWork, amount: Amount) -> Result<SettledHold, ResolveTransferError> {
        settle_hold(ctx, unit, self.attempt, amount).await?.ok_or(ResolveTransferError::NotOnHold)
    }

    async fn apply(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        hold: &SettledHold,
        Difference { unordered, excess, .. }: Difference,
    ) -> Result<Vec<AttemptId>, ResolveTransferError> {
        match (&self.attempt.purpose, self.decision) {
            (Purpose::Slash(stake), decision) => {
                let to_balance = if decision == HoldDecision::Balance { unordered } else { Amount::ZERO };
                Ok(apply_held_forfeit(ctx, unit, hold, stake, HeldForfeit { to_balance, excess }).await?)
            }
            (Purpose::Stake(stake), HoldDecision::Return) => {
                let error = self.attempt.last_error.clone().unwrap_or_default();
                return_placement(ctx, unit, hold, stake, &error).await?;
                Ok(Vec::new())
            }
            _ => Ok(apply_settled_hold(ctx, unit, hold).await?),
        }
    }
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
        use HoldDecision::{Balance, Book, Retry, Return, Revenue};
        for (kind, nothing, less, more) in [
            (TransferType::Refund, &[Retry, Balance][..], &[Retry, Balance][..], &[Book][..]),
            (TransferType::BalancePayout, &[Retry, Balance], &[Retry, Balance], &[Book]),
            (TransferType::Stake, &[Book], &[Book, Return], &[Book, Return]),
            (TransferType::CheckoutStake, &[Book], &[Book], &[Book]),
            (TransferType::StakeReturn, &[Retry, Book], &[Retry, Book], &[Book]),
            (TransferType::StakeForfeit, &[Retry, Book], &[Retry, Book], &[Balance, Revenue]),
            (TransferType::Recharge, &[Book], &[Book], &[Book]),
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
            let Difference { booked, unordered, excess, rest } = difference(Amount::new(ordered), Amount::new(moved), Amount::new(most));
            let [booked, unordered, excess, rest] = [booked, unordered, excess, rest].map(Amount::base_units);
            prop_assert_eq!(booked + excess, moved);
            prop_assert!(booked <= most && unordered <= booked);
            prop_assert_eq!(booked.min(ordered) + unordered, booked);
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
