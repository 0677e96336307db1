//! Makes ordered plan changes once the network has decided about everything that they need, or gives them up and returns their deposits.

use super::change_plan::{PlanSwitch, switch_plan};
use super::payment_target::pending_mandate;
use super::stake::{Stake, adopt_stake, fail_plan_change, has_undecided_deposit, return_deposit};
use super::subscription_admin::lock;
use super::{
    PLAN_CHANGE_INTERVAL, PREVIEW_LIFETIME, PendingPlanChange, PlanChangeFailure, PlanDeposit, PlanError, PlanOrder, Requester,
    SubscriptionError, time_of,
};
use crate::context::Context;
use crate::payment::{Attempt, AttemptStatus, Decline, MandateDetails, MandateStatus, paused_methods, per_network};
use crate::shared::{CurrencyId, MandateId, MethodId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;
use futures_util::FutureExt;

/// What a customer has signed for a plan change.
pub(super) enum SignedForPlan<'a> {
    /// The delegation, if nothing else is missing.
    Mandate(MandateId),
    /// The deposit, after the delegation.
    Deposit { stake: &'a Stake, hash: &'a str, currency: &'a CurrencyId },
}

/// Stores an ordered plan change, in the unit of work that stores the attempt which the plan needs. The caller has locked the subscription
/// and the stake. A settled deposit for an earlier order counts for this one.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while the network has not decided about the deposit of an earlier order, also of a failed one:
/// nothing else would return that deposit.
pub(super) async fn order_plan(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    order: &PlanOrder,
    signed: SignedForPlan<'_>,
) -> Result<(), PlanError> {
    let now = ctx.now();
    let earlier = unit.plan_changes().find(id).await?;
    if let Some(earlier) = &earlier
        && has_undecided_deposit(unit, earlier).await?
    {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    let earlier = earlier.filter(PendingPlanChange::is_pending);
    let earlier_deposit = earlier.as_ref().and_then(|earlier| earlier.deposit.clone());
    let ordered = PendingPlanChange::new(id.clone(), order.clone(), now);
    let ordered = match signed {
        SignedForPlan::Mandate(mandate) => PendingPlanChange { mandate_id: Some(mandate), deposit: earlier_deposit, ..ordered },
        SignedForPlan::Deposit { stake, hash, currency } => {
            let same_stake = earlier_deposit.as_ref().filter(|deposit| deposit.stake_id == stake.id);
            let requested_before = same_stake.map_or(stake.settled_request(), |deposit| deposit.requested_before);
            if let (Some(earlier), None) = (&earlier, same_stake) {
                return_deposit(ctx, unit, earlier).await?;
            }
            let deposit = Some(PlanDeposit { stake_id: stake.id.clone(), hash: hash.to_owned(), requested_before });
            PendingPlanChange { mandate_id: pending_mandate(unit, id, currency).await?, deposit, ..ordered }
        }
    };
    Ok(unit.plan_changes().upsert(&ordered).await?)
}

/// What became of an ordered plan change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanChangeProgress {
    /// Nothing is ordered, or it was given up before.
    NotOrdered,
    /// The network has not decided yet, or the wallet's delegation is not visible yet.
    Waiting,
    Switched,
    Failed,
}

/// The number of plan changes of one network that are made concurrently.
const CONCURRENT_CHANGES: usize = 16;

/// Makes ordered plan changes that are due, at most `limit`. An unresponsive network does not block the others. Returns how many ended.
///
/// # Errors
/// The first failure, after all were looked at. A change that failed to be looked at is due again after
/// [`PLAN_CHANGE_INTERVAL`].
#[tracing::instrument(skip_all, fields(limit))]
pub async fn make_ordered_plan_changes(ctx: &Context, limit: u32) -> Result<usize, PlanError> {
    let (now, paused) = (ctx.now(), paused_methods(ctx).await?);
    let mut unit = ctx.store.begin().await?;
    let due = unit.plan_changes().claim_due(now, now.plus(PLAN_CHANGE_INTERVAL), limit).await?;
    unit.commit().await?;
    if due.is_empty() {
        return Ok(0);
    }
    let mut unit = ctx.store.read().await?;
    let subscriptions = unit.subscriptions().find_all(&due).await?;
    drop(unit);
    // While a network does not answer or is paused, its changes wait for the next run.
    let may_answer = |method: &MethodId| !paused.contains(method) && ctx.networks.admit(method, now).is_ok();
    let answering = subscriptions.iter().filter(|one| may_answer(&one.method_id));
    let changes = answering.map(|one| (one.method_id.clone(), make_ordered_plan_change(ctx, &one.id).boxed()));
    let (mut ended, mut failure) = (0, None);
    for result in per_network(changes, CONCURRENT_CHANGES).await {
        match result {
            Ok(PlanChangeProgress::Switched | PlanChangeProgress::Failed) => ended += 1,
            Ok(PlanChangeProgress::NotOrdered | PlanChangeProgress::Waiting) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(ended), Err)
}

/// Makes the ordered plan change of a subscription if everything that it needs is there, or gives it up.
///
/// # Errors
/// [`PlanError`] for a reason that may pass: it is tried again.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn make_ordered_plan_change(ctx: &Context, id: &SubscriptionId) -> Result<PlanChangeProgress, PlanError> {
    let mut unit = ctx.store.read().await?;
    let Some(ordered) = unit.plan_changes().find(id).await?.filter(PendingPlanChange::is_pending) else {
        return Ok(PlanChangeProgress::NotOrdered);
    };
    let decision = decision(unit.as_mut(), &ordered).await?;
    drop(unit);
    match decision {
        Decision::Undecided => return Ok(PlanChangeProgress::Waiting),
        Decision::Declined(failure, decline) => return give_up(ctx, &ordered, failure, decline).await,
        Decision::Granted => {}
    }
    if let Some(deposit) = &ordered.deposit {
        adopt_stake(ctx, &deposit.stake_id).await?;
    }
    match switch_plan(ctx, id, &ordered.order, Requester::Customer).await {
        Ok(PlanSwitch::Switched) => Ok(PlanChangeProgress::Switched),
        // The network may show the delegation a little later. Once the preview has expired, the change is given up.
        Ok(PlanSwitch::NeedsPermission) => Ok(PlanChangeProgress::Waiting),
        Err(PlanError::PreviewChanged) => give_up(ctx, &ordered, PlanChangeFailure::PreviewChanged, None).await,
        Err(PlanError::NoPlans | PlanError::Quantity(_)) => give_up(ctx, &ordered, PlanChangeFailure::NotAvailable, None).await,
        Err(PlanError::Subscription(error)) if is_lasting(&error) && has_expired(ctx, &ordered).await? => {
            give_up(ctx, &ordered, PlanChangeFailure::PreviewChanged, None).await
        }
        Err(error) => Err(error),
    }
}

/// Whether an error can last longer than a preview, unlike that of a database or a network.
const fn is_lasting(error: &SubscriptionError) -> bool {
    !matches!(error, SubscriptionError::Storage(_) | SubscriptionError::Rail(_) | SubscriptionError::Contended)
}

async fn has_expired(ctx: &Context, ordered: &PendingPlanChange) -> Result<bool, PlanError> {
    let mut unit = ctx.store.read().await?;
    let subscription = unit.subscriptions().find(&ordered.subscription_id).await?.ok_or(SubscriptionError::NotFound)?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    Ok(now.since(ordered.order.at) > PREVIEW_LIFETIME)
}

/// What the network has decided about everything that a plan change needs.
enum Decision {
    Undecided,
    Granted,
    Declined(PlanChangeFailure, Option<Decline>),
}

async fn decision(unit: &mut dyn UnitOfWork, ordered: &PendingPlanChange) -> Result<Decision, StorageError> {
    let mut is_decided = true;
    if let Some(mandate) = &ordered.mandate_id {
        let found = unit.mandates().find(mandate).await?;
        match found.as_ref().map(|mandate| mandate.status) {
            Some(MandateStatus::Active) => {}
            Some(MandateStatus::Pending) => is_decided = false,
            Some(MandateStatus::Ended) | None => {
                let hash = found.and_then(|mandate| match mandate.details {
                    Some(MandateDetails::Delegation { reference, .. }) => Some(reference),
                    _ => None,
                });
                let attempt = match hash {
                    Some(hash) => unit.attempts().find_by_hash(&hash).await?,
                    None => None,
                };
                return Ok(Decision::Declined(PlanChangeFailure::DelegationDeclined, attempt.and_then(|attempt| attempt.last_error)));
            }
        }
    }
    if let Some(deposit) = &ordered.deposit {
        match unit.attempts().find_by_hash(&deposit.hash).await? {
            Some(Attempt { status: AttemptStatus::Settled, .. }) => {}
            Some(Attempt { status: AttemptStatus::Declined, last_error, .. }) => {
                return Ok(Decision::Declined(PlanChangeFailure::DepositDeclined, last_error));
            }
            _ => is_decided = false,
        }
    }
    Ok(if is_decided { Decision::Granted } else { Decision::Undecided })
}

/// Gives an ordered plan change up, unless it has changed since it was read.
async fn give_up(
    ctx: &Context,
    ordered: &PendingPlanChange,
    failure: PlanChangeFailure,
    decline: Option<Decline>,
) -> Result<PlanChangeProgress, PlanError> {
    let mut unit = ctx.store.begin().await?;
    lock(unit.as_mut(), &ordered.subscription_id).await?;
    let found = unit.plan_changes().find(&ordered.subscription_id).await?;
    let Some(found) = found.filter(|found| found.is_pending() && found.created_at == ordered.created_at && found.order == ordered.order)
    else {
        return Ok(PlanChangeProgress::NotOrdered);
    };
    fail_plan_change(ctx, unit.as_mut(), &found, failure, decline).await?;
    unit.commit().await?;
    Ok(PlanChangeProgress::Failed)
}
