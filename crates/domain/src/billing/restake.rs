//! Payments into a security stake that no checkout asks for: to resume a subscription, after a change of payment, for a plan that
//! requires more.

use super::change_plan::switch_plan;
use super::payment_target::{send, target};
use super::plan_preview::planned;
use super::stake::{Placement, growth, held_with, owed_stake, required_stake};
use super::subscription_admin::{load, lock, save};
use super::{ManageError, PlanOrder, Requester, StakeSubject, Subscription};
use crate::access::Wallet;
use crate::context::Context;
use crate::payment::{PreparedStake, Purpose};
use crate::shared::{CurrencyId, SubscriptionId};
use crate::storage::UnitOfWork;

/// Why a security stake is asked for when there is no checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeFor<'a> {
    /// A canceled subscription is to resume, and its stake was revoked.
    Resuming,
    /// The subscription is charged in another currency, and the stake in the former one is released.
    ChangedPayment,
    /// As [`StakeFor::ChangedPayment`], or the plan is to cost more, and the stake is to grow first.
    ChangedPlan(&'a PlanOrder),
}

/// The payment that is missing in a security stake.
///
/// # Errors
/// [`ManageError::NoStake`] when none is missing.
pub(super) async fn missing(ctx: &Context, id: &SubscriptionId, payer: &Wallet, what: StakeFor<'_>) -> Result<Placement, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let mut own = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    match what {
        StakeFor::Resuming => {
            subscription.check_recovery(Requester::Customer)?;
            let stake = owed_stake(unit.as_mut(), &subscription).await?.ok_or(ManageError::NotRecoverable)?;
            drop(unit);
            let StakeSubject::Subscription(subject) = stake.subject;
            let mut placement = Placement::security(own, subject, &payer.did, stake.amount_requested);
            let held = held_with(ctx, &placement.key).await?;
            placement.amount = stake.amount_requested.minus(held).unwrap_or_default();
            return if placement.amount.is_zero() { Err(ManageError::NotRecoverable) } else { Ok(placement) };
        }
        StakeFor::ChangedPayment => {}
        StakeFor::ChangedPlan(order) => {
            // By the plan that is asked for: it changes once the stake is there.
            let (after, _) = planned(ctx, unit.as_mut(), subscription.clone(), order).await?;
            if let Some(growth) = growth(unit.as_mut(), &subscription, &after, &payer.did).await? {
                return Ok(Placement::security(own, growth.subject, &payer.did, growth.amount));
            }
            own.subscription = after;
        }
    }
    let required = required_stake(unit.as_mut(), &own).await?.ok_or(ManageError::NoStake)?;
    drop(unit);
    let mut placement = Placement::security(own, required.subject, &payer.did, required.amount);
    let held = held_with(ctx, &placement.key).await?;
    placement.amount = required.amount.minus(held).unwrap_or_default();
    if placement.amount.is_zero() { Err(ManageError::NoStake) } else { Ok(placement) }
}

/// Whether a stake is to be placed, or to grow, now that a wallet permits charges.
pub async fn lacks_stake(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    what: StakeFor<'_>,
    payer: &Wallet,
) -> Result<bool, ManageError> {
    match missing(ctx, id, payer, what).await {
        // Not while the permission is still on its way.
        Ok(placement) => Ok(placement.target.currency.id == *currency),
        Err(ManageError::NoStake) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Builds the payment that is missing in a stake. The same nonce builds the same one.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn prepare_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor<'_>,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedStake, ManageError> {
    missing(ctx, id, payer, what).await?.prepare(ctx, payer, nonce).await
}

/// Checks and sends the signed payment. Once the network has it, the stake secures the subscription, and a canceled one resumes, or the
/// plan changes. Answers the hash.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn submit_signed_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor<'_>,
    payer: &Wallet,
    (nonce, signed): (u64, &str),
) -> Result<String, ManageError> {
    let placement = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(placement.target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let mut unit = ctx.store.begin().await?;
    let resuming = if what == StakeFor::Resuming { Some(lock(unit.as_mut(), id).await?) } else { None };
    let stake = placement.lock(unit.as_mut()).await?;
    let Placement { target, amount, .. } = &placement;
    let signed = rail.check_stake(&target.method, &target.currency, &placement.request(&stake, payer, nonce), signed)?;
    if let Some(subscription) = resuming {
        resume_by(unit.as_mut(), subscription, &signed.hash).await?;
    }
    let hash = send(ctx, unit, target, Purpose::Stake(stake.id), *amount, payer, signed).await?;
    if let StakeFor::ChangedPlan(order) = what {
        // The stake is held in any case, and is asked for no more. Where the network takes its time, the page finds the plan unchanged
        // and says so.
        let _ = switch_plan(ctx, id, order, Requester::Customer).await;
    }
    Ok(hash)
}

/// Notes which payment resumes the subscription: others may be made until then, for something else.
async fn resume_by(unit: &mut dyn UnitOfWork, mut subscription: Subscription, hash: &str) -> Result<(), ManageError> {
    subscription.check_recovery(Requester::Customer)?;
    let cancellation = subscription.cancellation.as_mut().ok_or(ManageError::NotRecoverable)?;
    cancellation.taken_back_by = Some(hash.to_owned());
    save(unit, &subscription).await
}
