//! Changes the payment method of a subscription's future invoices: another card, or a new delegation of a wallet.

use super::charges::publish_charges;
use super::clock::time_of_customer;
use super::dunning::collect_now;
use super::ordered_plan::{SignedForPlan, make_ordered_plan_change, order_plan};
use super::pay_by_card::{CardForm, CardPurpose, save_card};
use super::payment_target::{PaymentTarget, is_change_pending, send, target, unpaid_in_currency};
use super::plan_mandate::with_plan;
use super::restake::{StakeFor, missing};
use super::stake::{ReleaseReason, ReleaseTime, delegation_declined, release_if_unused, stake_placed_ahead, stake_to_share};
use super::subscription_admin::lock;
use super::subscription_error::convert_payment_errors;
use super::usage_carry_over::{enter_currency, threshold_in};
use super::{
    BillingError, ChargedItem, MandateLimits, PaymentTargetError, PlanError, PlanOrder, RequestedLimits, Requester, RestakeError,
    Subscription, SubscriptionError, SubscriptionItem, SubscriptionStatus, mandate_limit,
};
use crate::access::{Did, Wallet};
use crate::context::Context;
use crate::operation::VisitorNetwork;
use crate::payment::{
    Attempt, CurrencyLimit, Decline, Mandate, MandateDetails, MandateRequest, MandateStatus, MethodKind, PreparedMandate, Purpose,
    RailError, WalletSignature,
};
use crate::shared::{Amount, CurrencyId, MandateId, MethodId, StakeId, SubscriptionId};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// Why the payment method of a subscription is not changed.
#[derive(Debug, thiserror::Error)]
pub enum PaymentChangeError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Payment(#[from] PaymentTargetError),
}

convert_payment_errors!(PaymentChangeError::Payment);

/// Whether the method is set up by a card form rather than by a wallet.
///
/// # Errors
/// [`PaymentChangeError`] when the subscription cannot be charged by this method and currency.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn takes_card(ctx: &Context, id: &SubscriptionId, method: &MethodId, currency: &CurrencyId) -> Result<bool, PaymentChangeError> {
    let mut unit = ctx.store.read().await?;
    let target = target(unit.as_mut(), id, Some(method), currency).await?;
    Ok(target.method.kind == MethodKind::Stripe)
}

fn mandate_of(ctx: &Context, target: &PaymentTarget, details: Option<MandateDetails>) -> Mandate {
    let now = ctx.now();
    Mandate {
        id: MandateId::new(now, ctx.random.as_ref()),
        mode: target.subscription.mode,
        customer_id: target.subscription.customer_id.clone(),
        method_id: target.method.id.clone(),
        status: MandateStatus::Pending,
        details,
        created_at: now,
        updated_at: now,
    }
}

/// Opens a form that saves a card, and returns the form's client secret. Once the card is saved, the subscription is charged by it.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn change_to_card(
    ctx: &Context,
    id: &SubscriptionId,
    method: &MethodId,
    currency: &CurrencyId,
    visitor: &VisitorNetwork,
) -> Result<String, PaymentChangeError> {
    let mut unit = ctx.store.begin().await?;
    let target = target(unit.as_mut(), id, Some(method), currency).await?;
    let customer = unit.customers().find(&target.subscription.customer_id).await?.ok_or(SubscriptionError::NotFound)?;
    let purpose = CardPurpose::Subscription(id);
    let form = CardForm { customer, method: &target.method, currency: &target.currency.id, purpose, visitor };
    let saved = save_card(ctx, unit, form).await;
    Ok(saved.map_err(PaymentTargetError::from)?)
}

/// The mandate limits for all of the customer's subscriptions with the method, by currency. They include this subscription in its new
/// currency, and with its new plan if there is one.
async fn limits(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    target: &PaymentTarget,
    plan: Option<&PlanOrder>,
) -> Result<RequestedLimits, PaymentChangeError> {
    let PaymentTarget { subscription, method, currency } = target;
    let customer = &subscription.customer_id;
    let mut limits_sum = MandateLimits::of_customer(&ctx.policy, unit, customer, &method.id, Some(&subscription.id)).await?;
    match plan {
        Some(order) => limits_sum = with_plan(ctx, unit, subscription.clone(), order, Requester::Customer, limits_sum).await?,
        None => {
            let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
            let prices = unit.prices().find_all(&ids).await?;
            let price_of = |item: &SubscriptionItem| prices.iter().find(|price| price.id == item.price_id);
            let charged = |item: &SubscriptionItem| Some(ChargedItem { price: price_of(item)?, quantity: item.quantity });
            let items = subscription.items.iter().filter_map(charged);
            let threshold = threshold_in(unit, subscription, &currency.id).await?.map(|threshold| threshold.amount);
            limits_sum.add(&currency.id, mandate_limit(&ctx.policy, items, threshold, &currency.id)?)?;
        }
    }
    limits_sum.raise(&currency.id, Amount::ZERO);
    Ok(limits_sum.requested(unit, subscription.mode, &method.id).await?)
}

fn mandate_request(target: &PaymentTarget, limits: Vec<CurrencyLimit>, payer: &Wallet, nonce: u64) -> MandateRequest {
    MandateRequest {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        limits,
        reference: target.subscription.id.to_string(),
        nonce,
    }
}

/// Builds the delegation by which a wallet is charged from now on; with `plan`, its limits cover that plan. The same nonce builds the same
/// transaction.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn prepare_payment_change(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedMandate, PaymentChangeError> {
    let mut unit = ctx.store.read().await?;
    let target = target(unit.as_mut(), id, None, currency).await?;
    ctx.networks.check_open(&target.method).map_err(RailError::from)?;
    let RequestedLimits { limits, by_usage } = limits(ctx, unit.as_mut(), &target, plan).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let prepared = rail.prepare_mandate(&target.method, &mandate_request(&target, limits.clone(), payer, nonce))?;
    Ok(PreparedMandate { prepared, method: target.method, limits, by_usage, description: target.subscription.title() })
}

/// Checks and sends the signed delegation, and returns its transaction hash. Once the network accepts it, the subscription is charged by
/// it, and the requested plan change takes place. If the plan requires a stake that the wallet has yet to place, nothing is ordered before
/// the wallet signs that as well.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn submit_signed_payment_change(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
    signature: WalletSignature<'_>,
) -> Result<String, PaymentChangeError> {
    let WalletSignature { payer, nonce, signed, .. } = signature;
    let ordered = match plan {
        Some(order) if needs_no_stake(ctx, id, payer, order).await => Some(order),
        _ => None,
    };
    let mut unit = ctx.store.begin().await?;
    if ordered.is_some() {
        lock(unit.as_mut(), id).await?;
    }
    let target = target(unit.as_mut(), id, None, currency).await?;
    let requested = limits(ctx, unit.as_mut(), &target, plan).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let granted_limits = requested.granted();
    let signed = rail.check_mandate(&target.method, &mandate_request(&target, requested.limits, payer, nonce), signed)?;
    let details = MandateDetails::Delegation { payer: payer.did.clone(), limits: granted_limits, reference: signed.hash.clone() };
    let mandate = mandate_of(ctx, &target, Some(details));
    unit.mandates().upsert(&mandate).await?;
    unit.mandates().link_subscription(&mandate.id, id).await?;
    if let Some(order) = ordered {
        order_plan(ctx, unit.as_mut(), id, order, SignedForPlan::Mandate(mandate.id.clone())).await?;
    }
    let hash = send(ctx, unit, &target, Purpose::Mandate(mandate.id), Amount::ZERO, &signature, signed).await?;
    if ordered.is_some()
        && let Err(error) = make_ordered_plan_change(ctx, id).await
    {
        tracing::info!(subscription = %id, %error, "the plan is changed later");
    }
    Ok(hash)
}

/// Whether a plan needs nothing but the delegation.
async fn needs_no_stake(ctx: &Context, id: &SubscriptionId, payer: &Wallet, order: &PlanOrder) -> bool {
    matches!(missing(ctx, id, payer, StakeFor::ChangedPlan(order)).await, Err(RestakeError::NoStake))
}

/// Switches the subscriptions that are linked to a mandate which has just become active: they are charged by it from now on. Stakes that
/// they no longer use are returned.
pub(super) async fn switch_over(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mandate: &MandateId,
) -> Result<(), BillingError> {
    let linked = lock_linked(unit, mandate).await?;
    let number = linked.len();
    let (mut unused_stakes, mut switched) = (BTreeSet::new(), Vec::new());
    let granted = unit.mandates().find(mandate).await?.ok_or(BillingError::Orphan)?;
    let requested_at = granted.created_at;
    for mut subscription in linked {
        if subscription.status == SubscriptionStatus::Canceled {
            continue;
        }
        // The current mandate is newer: it supersedes this one.
        let current_mandate = match &subscription.mandate_id {
            Some(current_id) => unit.mandates().find(current_id).await?,
            None => None,
        };
        if current_mandate.is_some_and(|current| current.created_at > requested_at) {
            continue;
        }
        if subscription.currency_id != attempt.currency_id {
            // An invoice in the current currency was written after the form was opened, so that a new request would be rejected. The
            // delegation itself stays valid.
            if !unpaid_in_currency(unit, &subscription).await?.is_empty() {
                continue;
            }
            enter_currency(unit, &mut subscription, &attempt.currency_id).await?;
            unit.subscriptions().put_items(&subscription).await?;
            unused_stakes.extend([subscription.stake_id.take(), subscription.overdraft_stake_id.take()].into_iter().flatten());
            subscription.overdraft_at = None;
            let placed_ahead = match payer_of(&granted) {
                Some(payer) => stake_placed_ahead(unit, &subscription.id, payer, &attempt.currency_id).await?.map(|stake| stake.id),
                None => None,
            };
            subscription.stake_id = match stake_to_share(unit, &subscription, &attempt.currency_id).await? {
                Some(shared) => {
                    // The subscriptions of a checkout share one stake, so the one placed ahead is not needed.
                    unused_stakes.extend(placed_ahead.filter(|placed_ahead| *placed_ahead != shared));
                    Some(shared)
                }
                None => placed_ahead,
            };
        }
        subscription.method_id = attempt.method_id.clone();
        subscription.currency_id = attempt.currency_id.clone();
        subscription.mandate_id = Some(mandate.clone());
        subscription.updated_at = ctx.now();
        if !unit.subscriptions().update(&subscription).await? {
            return Err(BillingError::Contended);
        }
        switched.push(subscription);
    }
    release_unused_stakes(ctx, unit, unused_stakes).await?;
    for subscription in &switched {
        unit.plan_changes().wake(&subscription.id, ctx.now()).await?;
    }
    if switched.len() < number {
        release_placed_ahead(ctx, unit, attempt, mandate).await?;
    }
    for subscription in &switched {
        // Collects overdue invoices now, whatever the retry schedule says: that is what the customer expects of a new payment method.
        let collected = collect_now(ctx, unit, subscription).await?;
        publish_charges(ctx, unit, &collected).await?;
    }
    Ok(())
}

/// Locks the subscriptions that are linked to a mandate, and the others of their checkouts, because one stake may secure them all. Returns
/// those that are linked. The order is that of their ids, because a stake or a mandate for another of them may settle concurrently.
async fn lock_linked(unit: &mut dyn UnitOfWork, mandate: &MandateId) -> Result<Vec<Subscription>, BillingError> {
    let linked = unit.mandates().linked_subscriptions(mandate).await?;
    let mut ids: BTreeSet<_> = linked.iter().cloned().collect();
    let subscriptions = unit.subscriptions().find_all(&linked).await?;
    for subscription in subscriptions {
        let Some(session) = &subscription.session_id else { continue };
        ids.extend(unit.sessions().find(session).await?.into_iter().flat_map(|session| session.subscription_ids));
    }
    let mut locked = unit.subscriptions().lock_all(&ids.into_iter().collect::<Vec<_>>()).await?;
    locked.retain(|one| linked.contains(&one.id));
    Ok(locked)
}

const fn payer_of(mandate: &Mandate) -> Option<&Did> {
    match &mandate.details {
        Some(MandateDetails::Delegation { payer, .. }) => Some(payer),
        _ => None,
    }
}

/// Gives up what depends on a declined delegation: ordered plan changes are not made, and deposits are returned.
pub(super) async fn give_up_change(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mandate: &MandateId,
    decline: &Decline,
) -> Result<(), BillingError> {
    let linked: Vec<_> = lock_linked(unit, mandate).await?.into_iter().map(|one| one.id).collect();
    delegation_declined(ctx, unit, mandate, &linked, decline).await?;
    release_placed_ahead(ctx, unit, attempt, mandate).await
}

/// Releases the stakes that were placed for a change of payment which does not take place.
async fn release_placed_ahead(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mandate: &MandateId,
) -> Result<(), BillingError> {
    let linked = lock_linked(unit, mandate).await?;
    let granted = unit.mandates().find(mandate).await?.ok_or(BillingError::Orphan)?;
    let Some(payer) = payer_of(&granted) else { return Ok(()) };
    for subscription in linked.iter().filter(|one| one.currency_id != attempt.currency_id) {
        if is_change_pending(unit, &subscription.id, &attempt.currency_id).await? {
            continue;
        }
        let Some(found) = stake_placed_ahead(unit, &subscription.id, payer, &attempt.currency_id).await? else { continue };
        let stake = unit.stakes().lock(&found.id).await?.ok_or(BillingError::Orphan)?;
        let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
        release_if_unused(unit, &stake, ReleaseReason::Abandoned, ReleaseTime::Now, now).await?;
    }
    Ok(())
}

/// Releases the stakes that subscriptions no longer use, unless another subscription names them.
async fn release_unused_stakes(ctx: &Context, unit: &mut dyn UnitOfWork, unused_stakes: BTreeSet<StakeId>) -> Result<(), BillingError> {
    if unused_stakes.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = unused_stakes.into_iter().collect();
    let stakes = unit.stakes().lock_all(&ids).await?;
    for stake in stakes {
        let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
        release_if_unused(unit, &stake, ReleaseReason::Superseded, ReleaseTime::Now, now).await?;
    }
    Ok(())
}
