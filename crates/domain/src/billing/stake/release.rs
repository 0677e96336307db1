//! Releases stakes: marks them, so that the batch of due stakes moves them.

use super::{ReleaseReason, Stake};
use crate::billing::BillingError;
use crate::billing::clock::time_of_customer;
use crate::context::Context;
use crate::shared::{StakeId, Timestamp};
use crate::storage::UnitOfWork;

/// When a released stake is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseTime {
    Now,
    At(Timestamp),
    /// After the waiting time of the stake: [`Stake::waiting`].
    AfterWaiting,
}

impl ReleaseTime {
    pub(super) fn after(self, stake: &Stake, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::At(at) => at.max(now),
            Self::AfterWaiting => now.plus(stake.waiting()),
        }
    }
}

/// Releases a stake that no running subscription names any more. The caller has locked the stake and written the subscriptions: of two
/// subscriptions that end concurrently, the second waits for the lock and sees that the first has ended. Returns the stake as written.
pub(in crate::billing) async fn release_if_unused(
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    reason: ReleaseReason,
    at: ReleaseTime,
    now: Timestamp,
) -> Result<Stake, BillingError> {
    let named_by = unit.subscriptions().of_stake(&stake.id).await?;
    let no_longer_uses = |one: &crate::billing::Subscription| {
        let is_named = one.stake_id.as_ref() == Some(&stake.id) || one.overdraft_stake_id.as_ref() == Some(&stake.id);
        one.ended_at.is_some() || !is_named
    };
    if !named_by.iter().all(no_longer_uses) {
        // It still secures others. It is due now, to pay the overdue invoices of ended subscriptions.
        let after = Stake { return_at: Some(stake.return_at.map_or(now, |at| at.min(now))), updated_at: now, ..stake.clone() };
        return write(unit, stake, after).await;
    }
    write(unit, stake, stake.released(reason, at.after(stake, now), now)).await
}

async fn write(unit: &mut dyn UnitOfWork, before: &Stake, after: Stake) -> Result<Stake, BillingError> {
    if *before == after {
        return Ok(after);
    }
    match unit.stakes().update(before, &after).await? {
        true => Ok(after),
        false => Err(BillingError::Contended),
    }
}

/// Releases the stake of a checkout that was not completed, or that now requires another stake.
pub(crate) async fn abandon_stake(ctx: &Context, unit: &mut dyn UnitOfWork, id: &StakeId) -> Result<(), BillingError> {
    let Some(stake) = unit.stakes().lock(id).await? else { return Ok(()) };
    let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
    write(unit, &stake, stake.released(ReleaseReason::Abandoned, now, now)).await?;
    Ok(())
}
