//! What future invoices of a subscription are charged by: another card, or a new permission of a wallet.

use super::change_plan::switch_plan;
use super::charges::publish_charges;
use super::dunning::collect_now;
use super::pay_by_card::{CardPurpose, save_card};
use super::payment_target::{PaymentTarget, send, target, unpaid_in_currency};
use super::plan_mandate::with_plan;
use super::restake::{StakeFor, missing};
use super::stake::{ReleaseReason, ReleaseTime, customer_time, release_if_unused, stake_to_share};
use super::usage_carry_over::{enter_currency, threshold_in};
use super::{BillingError, ManageError, MandateLimits, PlanOrder, Requester, SubscriptionItem, SubscriptionStatus, mandate_limit};
use crate::access::Wallet;
use crate::context::Context;
use crate::payment::{Attempt, Currency, Mandate, MandateDetails, MandateRequest, MandateStatus, MethodKind, PreparedMandate, Purpose};
use crate::shared::{Amount, CurrencyId, MandateId, MethodId, StakeId, SubscriptionId, Text};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// Whether a method is given by a card form, and not by a wallet. Refuses what the subscription cannot be charged by.
pub async fn takes_card(ctx: &Context, id: &SubscriptionId, method: &MethodId, currency: &CurrencyId) -> Result<bool, ManageError> {
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

/// Opens the form that saves a card; once it is saved, the subscription is charged by it. Answers the form's secret.
pub async fn change_to_card(ctx: &Context, id: &SubscriptionId, method: &MethodId, currency: &CurrencyId) -> Result<String, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let target = target(unit.as_mut(), id, Some(method), currency).await?;
    let customer = unit.customers().find(&target.subscription.customer_id).await?.ok_or(ManageError::NotFound)?;
    save_card(ctx, unit, customer, (&target.method, &target.currency), CardPurpose::Subscription(id)).await
}

/// What the customer's subscriptions with the method can cost in a period, by currency, this one in its new currency, and with its new
/// plan, among them; and whether that depends on usage.
async fn limits(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    target: &PaymentTarget,
    plan: Option<&PlanOrder>,
) -> Result<(Vec<(Currency, Amount)>, bool), ManageError> {
    let PaymentTarget { subscription, method, currency } = target;
    let whose = (&subscription.customer_id, &method.id);
    let mut most = MandateLimits::of_customer(&ctx.policy, unit, whose, Some(&subscription.id)).await?;
    match plan {
        Some(order) => most = with_plan(ctx, unit, subscription.clone(), order, most).await?,
        None => {
            let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
            let prices = unit.prices().find_all(&ids).await?;
            let price_of = |item: &SubscriptionItem| prices.iter().find(|price| price.id == item.price_id);
            let items = subscription.items.iter().filter_map(|item| Some((price_of(item)?, item.quantity)));
            let threshold = threshold_in(unit, subscription, &currency.id).await?.map(|threshold| threshold.amount);
            most.add(&currency.id, mandate_limit(&ctx.policy, items, threshold, &currency.id)?)?;
        }
    }
    most.raise(&currency.id, Amount::ZERO);
    Ok((most.limits(unit, subscription.mode, &method.id).await?, most.by_usage))
}

fn permission_ask(target: &PaymentTarget, limits: &[(Currency, Amount)], payer: &Wallet, nonce: u64) -> MandateRequest {
    MandateRequest {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        limits: limits.to_vec(),
        reference: target.subscription.id.to_string(),
        nonce,
    }
}

/// Builds the permission by which a wallet is charged from now on; with `plan`, for another plan. The same nonce builds the same one.
pub async fn prepare_payment_change(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedMandate, ManageError> {
    let mut unit = ctx.store.read().await?;
    let target = target(unit.as_mut(), id, None, currency).await?;
    let (limits, by_usage) = limits(ctx, unit.as_mut(), &target, plan).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_mandate(&target.method, &permission_ask(&target, &limits, payer, nonce))?;
    Ok(PreparedMandate {
        prepared,
        method: target.method,
        limits,
        by_usage,
        description: Text::with_fallback(&target.subscription.description, None),
    })
}

/// Checks and sends the signed permission. Once the network has it, the subscription is charged by it, and its plan changes where
/// that was asked for and agreed to; a plan for which the wallet is to leave a stake waits for that. Answers the hash.
pub async fn submit_signed_payment_change(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
    payer: &Wallet,
    (nonce, signed): (u64, &str),
) -> Result<String, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let target = target(unit.as_mut(), id, None, currency).await?;
    let (limits, _) = limits(ctx, unit.as_mut(), &target, plan).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check_mandate(&target.method, &permission_ask(&target, &limits, payer, nonce), signed)?;
    let given = limits.iter().map(|(currency, most)| (currency.id.clone(), *most)).collect();
    let details = MandateDetails::Delegation { payer: payer.did.clone(), limits: given, reference: signed.hash.clone() };
    let mandate = mandate_of(ctx, &target, Some(details));
    unit.mandates().put(&mandate).await?;
    unit.mandates().link_subscription(&mandate.id, id).await?;
    let hash = send(ctx, unit, &target, Purpose::Mandate(mandate.id), Amount::ZERO, payer, signed).await?;
    if let Some(order) = plan
        && matches!(missing(ctx, id, payer, StakeFor::ChangedPlan(order)).await, Err(ManageError::NoStake))
    {
        // The permission stands in any case. Where the price has changed meanwhile, or the network takes its time, the page finds the
        // plan unchanged and says so.
        let _ = switch_plan(ctx, id, order, Requester::Customer).await;
    }
    Ok(hash)
}

/// What was promised for when a permission is given: the subscriptions that waited for it are charged by it from now on. A stake at
/// a network that they leave goes back.
pub(super) async fn switch_over(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mandate: &MandateId,
) -> Result<(), BillingError> {
    let promised = unit.mandates().linked_subscriptions(mandate).await?;
    let mut waiting = unit.subscriptions().find_all(&promised).await?;
    waiting.sort_by(|a, b| a.id.cmp(&b.id));
    let (mut left, mut switched) = (BTreeSet::new(), Vec::new());
    let asked_at = unit.mandates().find(mandate).await?.ok_or(BillingError::Orphan)?.created_at;
    for mut subscription in waiting {
        if subscription.status == SubscriptionStatus::Canceled {
            continue;
        }
        // What was asked for before the permission that holds now was given up for that one.
        let holds = match &subscription.mandate_id {
            Some(holds) => unit.mandates().find(holds).await?,
            None => None,
        };
        if holds.is_some_and(|holds| holds.created_at > asked_at) {
            continue;
        }
        if subscription.currency_id != attempt.currency_id {
            // It has been billed since the form was opened, and would be refused one now. The permission stands.
            if !unpaid_in_currency(unit, &subscription).await?.is_empty() {
                continue;
            }
            enter_currency(unit, &mut subscription, &attempt.currency_id).await?;
            unit.subscriptions().put_items(&subscription).await?;
            left.extend([subscription.stake_id.take(), subscription.overdraft_stake_id.take()].into_iter().flatten());
            subscription.overdraft_at = None;
            subscription.stake_id = stake_to_share(unit, &subscription, &attempt.currency_id).await?;
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
    release_left(ctx, unit, left).await?;
    for subscription in &switched {
        // What could not be collected before is tried now, whatever its schedule says: that is what the permission was given for.
        let collected = collect_now(ctx, unit, subscription).await?;
        publish_charges(ctx, unit, &collected).await?;
    }
    Ok(())
}

/// Releases the stakes that subscriptions have left behind, where no other subscription names them.
async fn release_left(ctx: &Context, unit: &mut dyn UnitOfWork, left: BTreeSet<StakeId>) -> Result<(), BillingError> {
    if left.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = left.into_iter().collect();
    let stakes = unit.stakes().lock_all(&ids).await?;
    for stake in stakes {
        let now = customer_time(ctx, unit, &stake.customer_id).await?;
        release_if_unused(unit, &stake, ReleaseReason::Superseded, ReleaseTime::Now, now).await?;
    }
    Ok(())
}
