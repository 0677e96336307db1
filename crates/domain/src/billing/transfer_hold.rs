//! Resolves transfers on hold by an owner's decision: refunds, payouts, and what moves into and out of deposits. A payment on hold is
//! resolved by [`super::resolve_suspense`].

use super::credit::{OrderedBy, RefundAttempt, UnsentPart, post_excess_refund, publish_refunds, record_short_refund};
use super::errors::{convert_send_error, convert_through};
use super::stake::{HeldForfeit, apply_held_forfeit, recorded_amount, return_placement, transfer_rest};
use super::transfer_decision::{Difference, HoldDecision, TransferType, difference};
use super::{BillingError, PostingError, SendRefundError, publish_charges};
use crate::context::Context;
use crate::ledger::LedgerError;
use crate::payment::{Attempt, Moved, Purpose, SettledHold, SettlementError, apply_settled_hold, end_hold, release_held, settle_hold};
use crate::shared::{Amount, AmountError, AttemptId, Mode, StorageError};
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
    /// The decision does not fit what the network moved: see [`TransferType::decisions`].
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

/// Resolves a transfer on hold: records what its network moved, and does with the difference what the owner has decided.
///
/// # Errors
/// [`ResolveTransferError::NotOnHold`] when the transfer is not on hold; [`ResolveTransferError::NotPossible`] when the decision is not one
/// of [`TransferType::decisions`]; [`SendRefundError`] when the rest cannot be sent again.
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
            let hold = self.settle(ctx, unit, difference.recorded).await?;
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
