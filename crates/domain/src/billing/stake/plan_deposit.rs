//! Deposits for plan changes: while a change is pending they are held for it, and they are returned if it does not take place.

use super::place::required_now;
use super::release::{ReleaseTime, release_if_unused};
use super::{ReleaseReason, Stake};
use crate::billing::clock::time_of_customer;
use crate::billing::{BillingError, PendingPlanChange, PlanChangeFailure, PlanDeposit, Subscription};
use crate::context::Context;
use crate::payment::{Attempt, AttemptKind, Decline, MandateStatus, Purpose};
use crate::shared::{MandateId, StakeId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// Records why an ordered plan change does not take place, and returns its deposit. The caller has locked the subscription.
pub(in crate::billing) async fn fail_plan_change(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    ordered: &PendingPlanChange,
    failure: PlanChangeFailure,
    decline: Option<Decline>,
) -> Result<(), BillingError> {
    return_deposit(ctx, unit, ordered).await?;
    Ok(unit.plan_changes().upsert(&ordered.failed(failure, decline, ctx.now())).await?)
}

/// Ends an ordered plan change because the plan has changed, to the ordered one or to another. What its deposit exceeds the current plan by is
/// returned. The caller has locked the subscription and the stake of the deposit, and written the subscription's items.
pub(in crate::billing) async fn supersede_plan_change(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    ordered: &PendingPlanChange,
) -> Result<(), BillingError> {
    if has_undecided_deposit(unit, ordered).await? {
        // The row returns the deposit when it settles.
        return fail_plan_change(ctx, unit, ordered, PlanChangeFailure::Superseded, None).await;
    }
    // A failed change has returned its deposit already.
    if ordered.is_pending() {
        return_deposit(ctx, unit, ordered).await?;
    }
    Ok(unit.plan_changes().remove(&ordered.subscription_id).await?)
}

/// Removes the row of a superseded plan change after the network has decided about its deposit.
pub(super) async fn forget_if_superseded(unit: &mut dyn UnitOfWork, change: &PendingPlanChange) -> Result<(), StorageError> {
    match change.failure {
        Some(PlanChangeFailure::Superseded) => unit.plan_changes().remove(&change.subscription_id).await,
        _ => Ok(()),
    }
}

/// Whether the network has not decided yet about the deposit of an ordered plan change.
pub(in crate::billing) async fn has_undecided_deposit(
    unit: &mut dyn UnitOfWork,
    ordered: &PendingPlanChange,
) -> Result<bool, StorageError> {
    let Some(deposit) = &ordered.deposit else { return Ok(false) };
    Ok(unit.attempts().find_by_hash(&deposit.hash).await?.is_some_and(|attempt| attempt.status.is_open()))
}

/// Returns what was deposited for a plan change and is not needed without it. A deposit in flight is returned when it settles.
pub(in crate::billing) async fn return_deposit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    ordered: &PendingPlanChange,
) -> Result<(), BillingError> {
    let Some(deposit) = &ordered.deposit else { return Ok(()) };
    let stake = unit.stakes().lock(&deposit.stake_id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
    if !stake.is_held() {
        return Ok(());
    }
    let named_by = unit.subscriptions().of_stake(&stake.id).await?;
    let Some(secured) = named_by.iter().find(|one| one.ended_at.is_none()) else {
        release_if_unused(unit, &stake, ReleaseReason::Abandoned, ReleaseTime::Now, now).await?;
        return Ok(());
    };
    let after = without_deposit(unit, &stake, secured, deposit, now).await?;
    if after != stake && !unit.stakes().update(&stake, &after).await? {
        return Err(BillingError::Contended);
    }
    Ok(())
}

/// The stake that returns what was deposited for a plan change, except what the current plans of its subscriptions require.
pub(super) async fn without_deposit(
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    secured: &Subscription,
    deposit: &PlanDeposit,
    now: Timestamp,
) -> Result<Stake, BillingError> {
    let required = required_now(unit, secured, stake).await?;
    Ok(stake.lowered_to(deposit.requested_before.max(required), now))
}

/// The plan change that a payment into a stake was made for.
pub(super) struct PlacedFor {
    pub change: PendingPlanChange,
    /// Whether the network has not decided yet about the delegation that the plan needs.
    pub awaits_delegation: bool,
}

impl PlacedFor {
    /// Whether a new stake does not secure anything yet, or never will.
    pub const fn is_premature(&self) -> bool {
        self.awaits_delegation || !self.change.is_pending()
    }
}

/// The plan change that a payment into a stake was made for, if any.
pub(super) async fn placed_for(unit: &mut dyn UnitOfWork, stake: &StakeId, hash: &str) -> Result<Option<PlacedFor>, StorageError> {
    let changes = unit.plan_changes().of_stake(stake).await?;
    let is_for = |change: &PendingPlanChange| change.deposit.as_ref().is_some_and(|deposit| deposit.hash == hash);
    let Some(change) = changes.into_iter().find(is_for) else { return Ok(None) };
    let mandate = match &change.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let awaits_delegation = change.is_pending() && mandate.is_some_and(|mandate| mandate.status == MandateStatus::Pending);
    Ok(Some(PlacedFor { awaits_delegation, change }))
}

/// Gives up the plan changes of subscriptions whose delegation was declined. The caller has locked the subscriptions.
pub(in crate::billing) async fn delegation_declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mandate: &MandateId,
    subscriptions: &[SubscriptionId],
    decline: &Decline,
) -> Result<(), BillingError> {
    let ordered = unit.plan_changes().find_all(subscriptions).await?;
    for change in ordered.iter().filter(|change| change.is_pending() && change.mandate_id.as_ref() == Some(mandate)) {
        fail_plan_change(ctx, unit, change, PlanChangeFailure::DelegationDeclined, Some(decline.clone())).await?;
    }
    Ok(())
}

/// Gives up the plan change whose deposit was declined.
pub(super) async fn deposit_declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    decline: &Decline,
) -> Result<(), BillingError> {
    let (Purpose::Stake(stake), AttemptKind::Wallet { hash, .. }) = (&attempt.purpose, &attempt.kind) else { return Ok(()) };
    let Some(PlacedFor { change, .. }) = placed_for(unit, stake, hash).await? else { return Ok(()) };
    unit.subscriptions().lock(&change.subscription_id).await?;
    let Some(PlacedFor { change, .. }) = placed_for(unit, stake, hash).await? else { return Ok(()) };
    if !change.is_pending() {
        return Ok(forget_if_superseded(unit, &change).await?);
    }
    fail_plan_change(ctx, unit, &change, PlanChangeFailure::DepositDeclined, Some(decline.clone())).await
}
