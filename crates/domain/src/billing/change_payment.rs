//! What future invoices of a subscription are charged by: another card, or a new permission of a wallet. And a stake left anew.

use super::book::Book;
use super::cancel::take_back;
use super::end::{move_stake, stake_invoice};
use super::manage::{load, nonce};
use super::plan::plans_of;
use super::renew::publish_charges;
use super::{BillingError, ManageError, STAKE_WAITING, Stake, StakeStatus, Subscription, SubscriptionStatus, charge, time_of};
use crate::access::Wallet;
use crate::checkout::{AskedMandate, AskedStake};
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, CardHolder, Currency, Grant, Mandate, MandateAsk, MandateStatus, Method, MethodKind, Purpose,
    SetupAsk, SignedTransfer, StakeAsk, next_check,
};
use crate::shared::{Amount, AttemptId, CurrencyId, MandateId, MethodId, PriceId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// What a subscription is to be charged by.
struct Target {
    subscription: Subscription,
    method: Method,
    currency: Currency,
}

/// What a wallet is asked to permit, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionChange {
    pub subscription: SubscriptionId,
    pub currency: CurrencyId,
    /// The plan that it is about to change to, which may cost more.
    pub plan: Option<PriceId>,
}

/// Only a currency that every price of the subscription is offered in.
async fn target(
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    method: Option<&MethodId>,
    currency: &CurrencyId,
) -> Result<Target, ManageError> {
    let subscription = load(unit, id).await?;
    target_of(unit, subscription, method, currency).await
}

/// The same with the plan that is to come.
async fn target_for(unit: &mut dyn UnitOfWork, change: &PermissionChange) -> Result<Target, ManageError> {
    let mut subscription = load(unit, &change.subscription).await?;
    if let Some(plan) = &change.plan {
        let plans = plans_of(unit, &subscription).await?;
        let [item] = subscription.items.as_mut_slice() else { return Err(ManageError::NoPlans) };
        let (price, _) = plans.into_iter().find(|(price, _)| price.id == *plan).ok_or(ManageError::NoPlans)?;
        item.price_id = price.id;
    }
    target_of(unit, subscription, None, &change.currency).await
}

async fn target_of(
    unit: &mut dyn UnitOfWork,
    subscription: Subscription,
    method: Option<&MethodId>,
    currency: &CurrencyId,
) -> Result<Target, ManageError> {
    if subscription.status == SubscriptionStatus::Canceled {
        return Err(ManageError::NotRecoverable);
    }
    let found = unit.methods().find_currency(currency).await?;
    let currency = found.filter(|currency| currency.active && currency.mode == subscription.mode);
    let currency = currency.ok_or(ManageError::MethodNotSupported)?;
    let found = unit.methods().find(&currency.method_id).await?.filter(|found| found.active);
    let found = found.filter(|found| method.is_none_or(|method| *method == found.id)).ok_or(ManageError::MethodNotSupported)?;
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    if !prices.iter().all(|price| price.rate_in(&currency.id).is_some()) {
        return Err(ManageError::CurrencyNotConfigured);
    }
    Ok(Target { subscription, method: found, currency })
}

/// Whether a method is given by a card form, and not by a wallet. Refuses what the subscription cannot be charged by.
pub async fn takes_card(ctx: &Context, id: &SubscriptionId, method: &MethodId, currency: &CurrencyId) -> Result<bool, ManageError> {
    let mut unit = ctx.store.read().await?;
    let target = target(unit.as_mut(), id, Some(method), currency).await?;
    Ok(target.method.kind == MethodKind::Stripe)
}

fn attempt_of(ctx: &Context, target: &Target, purpose: Purpose, amount: Amount, kind: AttemptKind) -> Attempt {
    let now = ctx.now();
    Attempt {
        id: AttemptId::new(now, ctx.random.as_ref()),
        purpose,
        session_id: None,
        method_id: target.method.id.clone(),
        currency_id: target.currency.id.clone(),
        amount,
        status: AttemptStatus::Open,
        kind,
        last_error: None,
        checks: 0,
        check_at: next_check(now, 0),
        sent_at: None,
        created_at: now,
        updated_at: now,
    }
}

fn mandate_of(ctx: &Context, target: &Target, grant: Option<Grant>) -> Mandate {
    let now = ctx.now();
    Mandate {
        id: MandateId::new(now, ctx.random.as_ref()),
        mode: target.subscription.mode,
        customer_id: target.subscription.customer_id.clone(),
        method_id: target.method.id.clone(),
        status: MandateStatus::Pending,
        grant,
        created_at: now,
        updated_at: now,
    }
}

/// Opens the form that saves a card; once it is saved, the subscription is charged by it. Answers the form's secret.
pub async fn change_to_card(ctx: &Context, id: &SubscriptionId, method: &MethodId, currency: &CurrencyId) -> Result<String, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let target = target(unit.as_mut(), id, Some(method), currency).await?;
    let rail = ctx.networks.card(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let customer = unit.customers().find(&target.subscription.customer_id).await?.ok_or(ManageError::NotFound)?;
    let mandate = mandate_of(ctx, &target, None);
    let holder = CardHolder { customer: customer.id, name: customer.name, email: customer.email };
    let kind = AttemptKind::CardSetup { provider_id: String::new(), client_secret: String::new(), holder: holder.clone() };
    let attempt = attempt_of(ctx, &target, Purpose::Mandate(mandate.id.clone()), Amount::ZERO, kind);
    unit.mandates().put(&mandate).await?;
    unit.mandates().promise(&mandate.id, id).await?;
    unit.attempts().insert(&attempt, &[]).await?;
    unit.commit().await?;
    let setup = rail.open_setup(&target.method, &SetupAsk { attempt: attempt.id.clone(), holder }).await?;
    let mut unit = ctx.store.begin().await?;
    unit.attempts().name_card(&attempt.id, &setup.provider_id, &setup.client_secret, ctx.now()).await?;
    unit.commit().await?;
    Ok(setup.client_secret)
}

/// What the customer's subscriptions with the method cost in a period, by currency, this one in its new currency among them.
async fn limits(unit: &mut dyn UnitOfWork, target: &Target) -> Result<Vec<(Currency, Amount)>, ManageError> {
    let live = unit.subscriptions().live_of(&target.subscription.customer_id).await?;
    let mut most: BTreeMap<CurrencyId, Amount> = BTreeMap::new();
    for one in &live {
        let is_this = one.id == target.subscription.id;
        let one = if is_this { &target.subscription } else { one };
        if !is_this && one.method_id != target.method.id {
            continue;
        }
        let currency = if is_this { &target.currency.id } else { &one.currency_id };
        let ids: Vec<_> = one.items.iter().map(|item| item.price_id.clone()).collect();
        let prices = unit.prices().find_all(&ids).await?;
        let sum = most.entry(currency.clone()).or_default();
        for item in &one.items {
            let rate = prices.iter().find(|price| price.id == item.price_id).and_then(|price| price.rate_in(currency));
            if let Some(rate) = rate {
                *sum = sum.plus(rate.charge(item.quantity)?)?;
            }
        }
        *sum = (*sum).max(one.billing_threshold.unwrap_or_default()).max(Amount::new(1));
    }
    let currencies = unit.methods().currencies(target.subscription.mode).await?;
    Ok(currencies
        .into_iter()
        .filter_map(|currency| Some((most.get(&currency.id).copied()?, currency)))
        .map(|(most, c)| (c, most))
        .collect())
}

fn permission_ask(target: &Target, limits: &[(Currency, Amount)], payer: &Wallet, nonce: u64) -> MandateAsk {
    MandateAsk {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        limits: limits.to_vec(),
        reference: target.subscription.id.to_string(),
        nonce,
    }
}

/// Builds the permission by which a wallet is charged from now on. The same nonce builds the same one.
pub async fn ask_to_change(ctx: &Context, change: &PermissionChange, payer: &Wallet, nonce: u64) -> Result<AskedMandate, ManageError> {
    let mut unit = ctx.store.read().await?;
    let target = target_for(unit.as_mut(), change).await?;
    let limits = limits(unit.as_mut(), &target).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_mandate(&target.method, &permission_ask(&target, &limits, payer, nonce))?;
    Ok(AskedMandate { prepared, method: target.method, limits, description: target.subscription.description })
}

/// Checks and sends the signed permission. Once the network has it, the subscription is charged by it. Answers the hash.
pub async fn take_change(
    ctx: &Context,
    change: &PermissionChange,
    payer: &Wallet,
    nonce: u64,
    signed: &str,
) -> Result<String, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let target = target_for(unit.as_mut(), change).await?;
    let limits = limits(unit.as_mut(), &target).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check_mandate(&target.method, &permission_ask(&target, &limits, payer, nonce), signed)?;
    let given = limits.iter().map(|(currency, most)| (currency.id.clone(), *most)).collect();
    let mandate = mandate_of(ctx, &target, Some(Grant::Delegation { payer: payer.did.clone(), limits: given }));
    unit.mandates().put(&mandate).await?;
    unit.mandates().promise(&mandate.id, &change.subscription).await?;
    send(ctx, unit, &target, Purpose::Mandate(mandate.id), Amount::ZERO, payer, signed).await
}

/// Stores what a wallet signed, sends it, and tells what the network refuses.
async fn send(
    ctx: &Context,
    mut unit: Box<dyn UnitOfWork>,
    target: &Target,
    purpose: Purpose,
    amount: Amount,
    payer: &Wallet,
    signed: SignedTransfer,
) -> Result<String, ManageError> {
    let kind = AttemptKind::Wallet { payer: payer.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() };
    let attempt = attempt_of(ctx, target, purpose, amount, kind);
    match unit.attempts().insert(&attempt, &[]).await {
        Err(StorageError::Duplicate(_)) => return Err(ManageError::PaymentInFlight),
        inserted => inserted?,
    }
    unit.commit().await?;
    // It is on its way, whatever this first look says: the janitor looks again.
    let _ = charge(ctx, std::slice::from_ref(&attempt.id)).await;
    let found = ctx.store.read().await?.attempts().find(&attempt.id).await?;
    match found.filter(|attempt| attempt.status == AttemptStatus::Refused) {
        Some(refused) => Err(ManageError::Refused(refused.last_error.map(|error| error.message).unwrap_or_default())),
        None => Ok(signed.hash),
    }
}

/// What was promised for when a permission is given: the subscriptions that waited for it are charged by it from now on. A stake at
/// a network that they leave goes back.
pub(super) async fn switch_over(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mandate: &MandateId,
) -> Result<(), BillingError> {
    let promised = unit.mandates().promised(mandate).await?;
    let waiting = unit.subscriptions().find_all(&promised).await?;
    for mut subscription in waiting {
        if subscription.status == SubscriptionStatus::Canceled {
            continue;
        }
        let leaves = subscription.currency_id != attempt.currency_id;
        let held = subscription.stake.clone().filter(|stake| leaves && stake.status == StakeStatus::Held);
        if let Some(stake) = held {
            let book = Book::read(unit, std::slice::from_ref(&subscription)).await?;
            let moved = move_stake(ctx, unit, &book, &subscription, Reason::ReturnStake, stake.amount, nonce(ctx)).await?;
            publish_charges(ctx, unit, moved.as_slice()).await?;
            subscription.stake = Some(Stake { status: StakeStatus::Returning, ..stake });
        }
        subscription.method_id = attempt.method_id.clone();
        subscription.currency_id = attempt.currency_id.clone();
        subscription.mandate_id = Some(mandate.clone());
        subscription.updated_at = ctx.now();
        if !unit.subscriptions().update(&subscription).await? {
            return Err(BillingError::Contended);
        }
    }
    Ok(())
}

/// The stake that is missing before a subscription can go on.
async fn missing(ctx: &Context, unit: Box<dyn UnitOfWork>, id: &SubscriptionId, payer: &Wallet) -> Result<(Target, Amount), ManageError> {
    let mut unit = unit;
    let subscription = load(unit.as_mut(), id).await?;
    let target = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    drop(unit);
    let stake = target.subscription.stake.as_ref().filter(|_| target.subscription.is_recoverable()).ok_or(ManageError::NotRecoverable)?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let staked = rail.staked(&target.method, &target.currency, &payer.did, id.as_str()).await?;
    let amount = stake.amount.minus(staked.held).unwrap_or_default();
    if amount.is_zero() { Err(ManageError::NotRecoverable) } else { Ok((target, amount)) }
}

fn stake_ask(target: &Target, amount: Amount, payer: &Wallet, nonce: u64) -> StakeAsk {
    StakeAsk {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        amount,
        subject: target.subscription.id.to_string(),
        waiting: STAKE_WAITING,
        reference: target.subscription.id.to_string(),
        nonce,
    }
}

/// Builds the stake that lets a cancelled subscription go on, where the one before was revoked.
pub async fn ask_to_restake(ctx: &Context, id: &SubscriptionId, payer: &Wallet, nonce: u64) -> Result<AskedStake, ManageError> {
    let (target, amount) = missing(ctx, ctx.store.read().await?, id, payer).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce))?;
    let Target { subscription, method, currency } = target;
    Ok(AskedStake { prepared, method, currency, amount, description: subscription.description })
}

/// Checks and sends the signed stake; once it stands, the subscription goes on. Answers the hash.
pub async fn take_restake(ctx: &Context, id: &SubscriptionId, payer: &Wallet, nonce: u64, signed: &str) -> Result<String, ManageError> {
    let (target, amount) = missing(ctx, ctx.store.read().await?, id, payer).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce), signed)?;
    let unit = ctx.store.begin().await?;
    send(ctx, unit, &target, Purpose::Stake(id.clone()), amount, payer, signed).await
}

/// A stake that no checkout waits for was left: the subscription that it secures goes on.
pub(super) async fn restaked(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    reference: &str,
) -> Result<(), BillingError> {
    let mut subscription = unit.subscriptions().find(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    if subscription.is_recoverable() {
        take_back(&mut subscription);
    }
    if let Some(stake) = &mut subscription.stake {
        stake.status = if subscription.status == SubscriptionStatus::Canceled { StakeStatus::Waiting } else { StakeStatus::Held };
        stake.reference = reference.to_owned();
        stake.return_at = subscription.ended_at.map(|_| now);
    }
    subscription.updated_at = now;
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    stake_invoice(ctx, unit, &subscription, Reason::Stake, attempt.amount, now).await
}
