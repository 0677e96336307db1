//! Payments into a security stake outside a checkout: to resume a subscription, after a change of payment method, or for a plan that
//! requires more.

use super::ordered_plan::{SignedForPlan, make_ordered_plan_change, order_plan};
use super::payment_target::{is_change_pending, send, target};
use super::plan_preview::planned;
use super::stake::{Growth, Placement, growth, has_undecided_deposit, held_with, required_stake, stake_to_replace, waiting_with_deposit};
use super::subscription_admin::{load, lock, save};
use super::subscription_error::convert_payment_errors;
use super::{PaymentTargetError, PlanError, PlanOrder, RecoverError, Requester, Subscription, SubscriptionError};
use crate::access::Wallet;
use crate::context::Context;
use crate::payment::{PreparedStake, Purpose, WalletSignature};
use crate::shared::{CurrencyId, SubscriptionId};
use crate::storage::UnitOfWork;

/// Why a security stake is required outside a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeFor<'a> {
    /// A cancellation is being undone, and the stake was revoked.
    Resuming,
    /// The subscription is charged in this currency, or will be once the delegation has settled; its stake in a former currency is released.
    ChangedPayment(&'a CurrencyId),
    /// As [`StakeFor::ChangedPayment`], or the new plan requires a larger stake.
    ChangedPlan(&'a PlanOrder),
}

/// Why no security stake can be placed outside a checkout.
#[derive(Debug, thiserror::Error)]
pub enum RestakeError {
    #[error("This subscription has no deposit that can be returned or forfeited")]
    NoStake,
    #[error(transparent)]
    Recover(#[from] RecoverError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Payment(#[from] PaymentTargetError),
}

convert_payment_errors!(RestakeError::Payment);

/// The payment that a security stake still lacks.
///
/// # Errors
/// [`RestakeError::NoStake`] when nothing is missing.
pub(super) async fn missing(ctx: &Context, id: &SubscriptionId, payer: &Wallet, what: StakeFor<'_>) -> Result<Placement, RestakeError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let currency = if let StakeFor::ChangedPayment(currency) = what { currency } else { &subscription.currency_id };
    let mut target_of_stake = target(unit.as_mut(), id, None, currency).await?;
    match what {
        StakeFor::Resuming => {
            subscription.check_recovery(Requester::Customer)?;
            let stake = stake_to_replace(unit.as_mut(), &subscription).await?.ok_or(RecoverError::NotRecoverable)?;
            drop(unit);
            let subject = stake.subject.subscription().cloned().ok_or(RecoverError::NotRecoverable)?;
            let mut placement = Placement::security(target_of_stake, subject, &payer.did, stake.amount_requested);
            let held = held_with(ctx, &placement.key).await?;
            placement.amount = stake.amount_requested.minus(held).unwrap_or_default();
            return if placement.amount.is_zero() { Err(RecoverError::NotRecoverable.into()) } else { Ok(placement) };
        }
        // The delegation in the new currency was declined, so no stake is required there.
        StakeFor::ChangedPayment(currency)
            if *currency != subscription.currency_id && !is_change_pending(unit.as_mut(), id, currency).await? =>
        {
            return Err(RestakeError::NoStake);
        }
        StakeFor::ChangedPayment(_) => {}
        StakeFor::ChangedPlan(order) => {
            // Computed for the ordered plan, which takes effect once the stake is placed.
            let after = planned(ctx, unit.as_mut(), subscription.clone(), order).await?.after;
            match growth(unit.as_mut(), &subscription, &after, &payer.did).await? {
                Growth::Required(required) => {
                    return Ok(Placement::security(target_of_stake, required.subject, &payer.did, required.amount));
                }
                Growth::Undecided => return Err(SubscriptionError::PaymentInFlight.into()),
                Growth::Nothing => {}
            }
            target_of_stake.subscription = after;
        }
    }
    let required = required_stake(unit.as_mut(), &target_of_stake).await?.ok_or(RestakeError::NoStake)?;
    drop(unit);
    let mut placement = Placement::security(target_of_stake, required.subject, &payer.did, required.amount);
    let held = held_with(ctx, &placement.key).await?;
    placement.amount = required.amount.minus(held).unwrap_or_default();
    if placement.amount.is_zero() { Err(RestakeError::NoStake) } else { Ok(placement) }
}

/// Whether a stake must be placed or increased now that a wallet has granted its delegation.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn lacks_stake(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    what: StakeFor<'_>,
    payer: &Wallet,
) -> Result<bool, RestakeError> {
    match missing(ctx, id, payer, what).await {
        // A plan change may be for a subscription that is charged in another currency by now.
        Ok(placement) => Ok(placement.target.currency.id == *currency),
        Err(RestakeError::NoStake) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Builds the payment that a stake lacks. The same nonce builds the same transaction.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn prepare_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor<'_>,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedStake, RestakeError> {
    if let StakeFor::ChangedPlan(_) = what {
        let mut unit = ctx.store.read().await?;
        let earlier = unit.plan_changes().find(id).await?;
        // The signed deposit would be refused for this reason.
        if let Some(earlier) = &earlier
            && has_undecided_deposit(unit.as_mut(), earlier).await?
        {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
    }
    Ok(missing(ctx, id, payer, what).await?.prepare(ctx, payer, nonce).await?)
}

/// Checks and sends the signed payment, and returns its transaction hash. Once it settles, the stake secures the subscription, and a
/// scheduled cancellation is undone. A plan changes once everything that it needs has settled; if something is declined, the payment is
/// returned.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn submit_signed_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor<'_>,
    signature: WalletSignature<'_>,
) -> Result<String, RestakeError> {
    let WalletSignature { payer, nonce, signed, .. } = signature;
    let placement = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(placement.target.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let mut unit = ctx.store.begin().await?;
    // Lock order: subscription, stake.
    let subscription = match what {
        StakeFor::ChangedPayment(_) => None,
        StakeFor::Resuming => Some(lock(unit.as_mut(), id).await?),
        StakeFor::ChangedPlan(_) => Some(lock_with_others(unit.as_mut(), id).await?),
    };
    let stake = placement.lock(unit.as_mut()).await?;
    let Placement { target, amount, .. } = &placement;
    let signed = rail.check_stake(&target.method, &target.currency, &placement.request(&stake, payer, nonce), signed)?;
    match (what, subscription) {
        (StakeFor::Resuming, Some(subscription)) => resume_by(unit.as_mut(), subscription, &signed.hash).await?,
        (StakeFor::ChangedPlan(order), _) => {
            let signed = SignedForPlan::Deposit { stake: &stake, hash: &signed.hash, currency: &target.currency.id };
            order_plan(ctx, unit.as_mut(), id, order, signed).await?;
        }
        _ => {}
    }
    let hash = send(ctx, unit, target, Purpose::Stake(stake.id), *amount, &signature, signed).await?;
    if let StakeFor::ChangedPlan(_) = what
        && let Err(error) = make_ordered_plan_change(ctx, id).await
    {
        tracing::info!(subscription = %id, %error, "the plan is changed later");
    }
    Ok(hash)
}

/// Locks a subscription and the others of its checkout, in the order of their ids. One stake secures them all, so one plan with a deposit
/// is ordered at a time.
async fn lock_with_others(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Subscription, RestakeError> {
    let mut ids = vec![id.clone()];
    if let Some(session) = load(unit, id).await?.session_id {
        ids.extend(unit.sessions().find(&session).await?.into_iter().flat_map(|session| session.subscription_ids));
    }
    ids.sort();
    ids.dedup();
    let mut live = unit.subscriptions().lock_all(&ids).await?;
    live.retain(|one| one.ended_at.is_none());
    if !waiting_with_deposit(unit, &live, id).await?.is_empty() {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    Ok(load(unit, id).await?)
}

/// Records which payment resumes the subscription, since other payments into the stake may settle before it.
async fn resume_by(unit: &mut dyn UnitOfWork, mut subscription: Subscription, hash: &str) -> Result<(), RestakeError> {
    subscription.check_recovery(Requester::Customer)?;
    let cancellation = subscription.cancellation.as_mut().ok_or(RecoverError::NotRecoverable)?;
    cancellation.clearing_stake = Some(hash.to_owned());
    Ok(save(unit, &subscription).await?)
}
