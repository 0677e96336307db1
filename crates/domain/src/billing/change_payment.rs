//! What future invoices of a subscription are charged by: another card, or a new permission of a wallet. And a stake left anew.

use super::cancel::take_back;
use super::carry::{enter_currency, threshold_in};
use super::collect::send_now;
use super::debt::collect_now;
use super::end::restake_invoice;
use super::follow_stakes::at_network;
use super::manage::load;
use super::outcome::leave_behind;
use super::pay_by_card::{CardPromise, save_card};
use super::plan::{planned, switch_plan_permitted};
use super::plan_permission::with_plan;
use super::renew::publish_charges;
use super::{
    BillingError, Calculation, Ceilings, Invoice, ManageError, PlanOrder, Requester, STAKE_WAITING, Stake, StakeStatus, StakeTerms,
    Subscription, SubscriptionItem, SubscriptionStatus, ceiling, time_of,
};
use crate::access::{Did, Wallet};
use crate::checkout::{AskedMandate, AskedStake};
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, Currency, Grant, Mandate, MandateAsk, MandateStatus, Method, MethodKind, Purpose, SignedTransfer, StakeAsk,
};
use crate::shared::{Amount, AttemptId, CurrencyId, MandateId, MethodId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// What a subscription is to be charged by.
struct Target {
    subscription: Subscription,
    method: Method,
    currency: Currency,
}

/// Only a currency that every price of the subscription is offered in.
async fn target(
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    method: Option<&MethodId>,
    currency: &CurrencyId,
) -> Result<Target, ManageError> {
    let subscription = load(unit, id).await?;
    if subscription.status == SubscriptionStatus::Canceled {
        return Err(ManageError::Ended);
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
    let status = subscription.stake.as_ref().map(|stake| stake.status).filter(|_| currency.id != subscription.currency_id);
    if matches!(status, Some(StakeStatus::Slashing | StakeStatus::Returning)) {
        return Err(ManageError::PaymentInFlight);
    }
    if status == Some(StakeStatus::Held) {
        // The stake stays where it is for what it secures.
        let overdue = unit.invoices().overdue(&subscription.customer_id).await?;
        let secured = |invoice: &Invoice| {
            invoice.subscription_id.as_ref() == Some(&subscription.id) && invoice.currency_id == subscription.currency_id
        };
        if overdue.iter().any(secured) {
            return Err(ManageError::OweFirst);
        }
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
    Attempt::begin(
        AttemptId::new(now, ctx.random.as_ref()),
        purpose,
        kind,
        (target.method.id.clone(), target.currency.id.clone()),
        amount,
        now,
    )
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
    let customer = unit.customers().find(&target.subscription.customer_id).await?.ok_or(ManageError::NotFound)?;
    save_card(ctx, unit, customer, (&target.method, &target.currency), CardPromise::Subscription(id)).await
}

/// What the customer's subscriptions with the method can cost in a period, by currency, this one in its new currency, and with its new
/// plan, among them; and whether that depends on usage.
async fn limits(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    target: &Target,
    plan: Option<&PlanOrder>,
) -> Result<(Vec<(Currency, Amount)>, bool), ManageError> {
    let Target { subscription, method, currency } = target;
    let whose = (&subscription.customer_id, &method.id);
    let mut most = Ceilings::of_customer(&ctx.policy, unit, whose, Some(&subscription.id)).await?;
    match plan {
        Some(order) => most = with_plan(ctx, unit, subscription.clone(), order, most).await?,
        None => {
            let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
            let prices = unit.prices().find_all(&ids).await?;
            let price_of = |item: &SubscriptionItem| prices.iter().find(|price| price.id == item.price_id);
            let items = subscription.items.iter().filter_map(|item| Some((price_of(item)?, item.quantity)));
            let threshold = threshold_in(unit, subscription, &currency.id).await?.map(|threshold| threshold.amount);
            most.add(&currency.id, ceiling(&ctx.policy, items, threshold, &currency.id)?)?;
        }
    }
    most.raise(&currency.id, Amount::ZERO);
    Ok((most.limits(unit, subscription.mode, &method.id).await?, most.by_usage))
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

/// Builds the permission by which a wallet is charged from now on; with `plan`, for another plan. The same nonce builds the same one.
pub async fn ask_to_change(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
    payer: &Wallet,
    nonce: u64,
) -> Result<AskedMandate, ManageError> {
    let mut unit = ctx.store.read().await?;
    let target = target(unit.as_mut(), id, None, currency).await?;
    let (limits, by_usage) = limits(ctx, unit.as_mut(), &target, plan).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_mandate(&target.method, &permission_ask(&target, &limits, payer, nonce))?;
    Ok(AskedMandate { prepared, method: target.method, limits, by_usage, description: target.subscription.description })
}

/// Checks and sends the signed permission. Once the network has it, the subscription is charged by it, and its plan changes where
/// that was asked for and agreed to. Answers the hash.
pub async fn take_change(
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
    let mandate = mandate_of(ctx, &target, Some(Grant::Delegation { payer: payer.did.clone(), limits: given }));
    unit.mandates().put(&mandate).await?;
    unit.mandates().promise(&mandate.id, id).await?;
    let hash = send(ctx, unit, &target, Purpose::Mandate(mandate.id), Amount::ZERO, payer, signed).await?;
    if let Some(order) = plan {
        // The permission stands in any case. Where the price has changed meanwhile, or the network takes its time, the page finds the
        // plan unchanged and says so. What the stake lacks then is asked for next.
        let _ = switch_plan_permitted(ctx, id, order).await;
    }
    Ok(hash)
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
    send_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
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
            enter_currency(unit, &mut subscription, &attempt.currency_id).await?;
            unit.subscriptions().put_items(&subscription).await?;
        }
        subscription.method_id = attempt.method_id.clone();
        subscription.currency_id = attempt.currency_id.clone();
        subscription.mandate_id = Some(mandate.clone());
        leave_behind(ctx, unit, &mut subscription).await?;
        subscription.updated_at = ctx.now();
        if !unit.subscriptions().update(&subscription).await? {
            return Err(BillingError::Contended);
        }
        // What could not be collected before is tried now, whatever its schedule says: that is what it was given for.
        let collected = collect_now(ctx, unit, &subscription).await?;
        publish_charges(ctx, unit, &collected).await?;
    }
    Ok(())
}

/// Why a stake is asked for when there is no checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeFor {
    /// A cancelled subscription is to go on, and the stake before was revoked.
    Resuming,
    /// It is charged by another wallet, or in another currency, and what was staked before has gone back.
    ChangedPayment,
    /// The same, or its plan costs more than the one before, and the stake is to grow with it.
    ChangedPlan,
}

/// The stake that is missing, and the subscription that is to hold it.
async fn missing(ctx: &Context, id: &SubscriptionId, payer: &Wallet, what: StakeFor) -> Result<(Target, Amount), ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    if what == StakeFor::Resuming {
        subscription.check_recovery(Requester::Customer)?;
    }
    let target = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    let goes_back = |earlier: &Stake| earlier.payer == payer.did && matches!(earlier.status, StakeStatus::Waiting | StakeStatus::Returning);
    if target.subscription.stake.iter().flat_map(|stake| &stake.earlier).any(goes_back) {
        // What this wallet has left before goes back first: at the network both would be one.
        return Err(ManageError::PaymentInFlight);
    }
    if what != StakeFor::Resuming {
        let asked = stake_by_terms(unit.as_mut(), &target).await?;
        let more = if what == StakeFor::ChangedPlan { more_for_plan(unit.as_mut(), &target.subscription, payer).await? } else { None };
        drop(unit);
        let lacks =
            |stake: &&Stake| stake.status == StakeStatus::Revoked && stake.payer == payer.did && stake.currency_id == target.currency.id;
        let there = match target.subscription.stake.as_ref().filter(lacks) {
            Some(stake) => at_network(ctx, stake, id).await?.held,
            None => Amount::ZERO,
        };
        let amount = asked.minus(there).unwrap_or_default();
        return if amount.is_zero() { more.ok_or(ManageError::NoStake) } else { Ok((target, amount)) };
    }
    drop(unit);
    let stake = target.subscription.owed_stake().ok_or(ManageError::NotRecoverable)?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let staked = rail.staked(&target.method, &target.currency, &payer.did, id.as_str()).await?;
    let amount = stake.amount.minus(staked.held).unwrap_or_default();
    if amount.is_zero() { Err(ManageError::NotRecoverable) } else { Ok((target, amount)) }
}

/// What the terms of its checkout ask a wallet to stake, unless it holds a stake: nothing for a card.
async fn stake_by_terms(unit: &mut dyn UnitOfWork, target: &Target) -> Result<Amount, ManageError> {
    let Target { subscription, method, currency } = target;
    let holds = subscription.stake.as_ref().is_some_and(|stake| stake.status == StakeStatus::Held);
    if holds || method.kind.is_card() {
        return Ok(Amount::ZERO);
    }
    match secured(unit, subscription, currency).await? {
        Some(secured) if secured.is_held_by(&subscription.id) => Ok(secured.asked(unit, currency).await?.amount()),
        _ => Ok(Amount::ZERO),
    }
}

/// By how much the stake that a wallet has left is less than what it secures asks for by now. `None`: by nothing, or there is none that
/// could grow.
async fn more_for_plan(unit: &mut dyn UnitOfWork, changed: &Subscription, payer: &Wallet) -> Result<Option<(Target, Amount)>, ManageError> {
    let currency = unit.methods().find_currency(&changed.currency_id).await?.ok_or(ManageError::NotFound)?;
    let Some(secured) = secured(unit, changed, &currency).await? else { return Ok(None) };
    let target = target(unit, &secured.holder, None, &changed.currency_id).await?;
    let Some(held) = held_by(&target.subscription, &payer.did, &target.currency.id) else { return Ok(None) };
    let more = secured.asked(unit, &target.currency).await?.amount().minus(held).unwrap_or_default();
    Ok((!more.is_zero()).then_some((target, more)))
}

/// What a wallet has staked in a currency, as far as that secures.
fn held_by(holder: &Subscription, payer: &Did, currency: &CurrencyId) -> Option<Amount> {
    let is_own = |stake: &&Stake| stake.status == StakeStatus::Held && stake.payer == *payer && stake.currency_id == *currency;
    holder.stake.as_ref().filter(is_own).map(|stake| stake.amount)
}

/// Whether another plan asks for more than the one before, and for more than the wallet that is charged has staked.
pub(super) async fn outgrows_stake(ctx: &Context, id: &SubscriptionId, order: &PlanOrder) -> Result<bool, ManageError> {
    let mut unit = ctx.store.read().await?;
    let before = load(unit.as_mut(), id).await?;
    let mandate = match &before.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let Some(Grant::Delegation { payer, .. }) = mandate.and_then(|mandate| mandate.grant) else { return Ok(false) };
    let currency = unit.methods().find_currency(&before.currency_id).await?.ok_or(ManageError::NotFound)?;
    let Some(now) = secured(unit.as_mut(), &before, &currency).await? else { return Ok(false) };
    let holder = load(unit.as_mut(), &now.holder).await?;
    let Some(held) = held_by(&holder, &payer, &currency.id) else { return Ok(false) };
    let asked_now = now.asked(unit.as_mut(), &currency).await?.amount();
    let (after, _) = planned(ctx, unit.as_mut(), before, order).await?;
    let Some(then) = secured(unit.as_mut(), &after, &currency).await? else { return Ok(false) };
    let asked_then = then.asked(unit.as_mut(), &currency).await?.amount();
    Ok(holder.ended_at.is_none() && asked_then > asked_now && asked_then > held)
}

/// What one stake secures.
struct Secured {
    /// The first subscription of the checkout.
    holder: SubscriptionId,
    threshold: Amount,
    minimum: Amount,
    /// All subscriptions of the checkout that have not ended and are charged in one currency.
    live: Vec<Subscription>,
}

impl Secured {
    fn is_held_by(&self, id: &SubscriptionId) -> bool {
        self.holder == *id
    }

    /// What its amount is reckoned from.
    async fn asked(&self, unit: &mut dyn UnitOfWork, currency: &Currency) -> Result<StakeTerms, ManageError> {
        let items: Vec<_> = self.live.iter().flat_map(|one| &one.items).collect();
        let ids: Vec<_> = items.iter().map(|item| item.price_id.clone()).collect();
        let prices = unit.prices().find_all(&ids).await?;
        let mut recurring = Amount::ZERO;
        for item in items {
            let rate = prices.iter().find(|price| price.id == item.price_id).and_then(|price| price.rate_in(&currency.id));
            recurring = recurring.plus(rate.ok_or(ManageError::CurrencyNotConfigured)?.charge(item.quantity)?)?;
        }
        Ok(StakeTerms { threshold: self.threshold, minimum: self.minimum, recurring })
    }
}

/// What the stake secures that a subscription, as it is given, has a part in: the first of its checkout holds it for all of those that
/// are charged in its currency. `None`: no stake is asked for.
async fn secured(unit: &mut dyn UnitOfWork, subscription: &Subscription, currency: &Currency) -> Result<Option<Secured>, ManageError> {
    let Some(session) = &subscription.session_id else { return Ok(None) };
    let session = unit.sessions().find(session).await?.filter(|session| !session.terms.no_stake);
    let Some(session) = session else { return Ok(None) };
    let Some(holder) = session.subscription_ids.first().cloned() else { return Ok(None) };
    let mut live = unit.subscriptions().find_all(&session.subscription_ids).await?;
    live.retain(|one| one.id != subscription.id && one.ended_at.is_none() && one.currency_id == currency.id);
    live.push(subscription.clone());
    let (minimum, threshold) = session.terms.amounts(currency.decimals)?;
    Ok(Some(Secured { holder, threshold, minimum, live }))
}

/// Whether a stake is to be left, or to grow, now that a wallet permits charges.
pub async fn lacks_stake(
    ctx: &Context,
    id: &SubscriptionId,
    currency: &CurrencyId,
    what: StakeFor,
    payer: &Wallet,
) -> Result<bool, ManageError> {
    match missing(ctx, id, payer, what).await {
        // Not while the permission is still on its way.
        Ok((target, _)) => Ok(target.currency.id == *currency),
        Err(ManageError::NoStake) => Ok(false),
        Err(error) => Err(error),
    }
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

/// Builds the stake that is missing. The same nonce builds the same one.
pub async fn ask_to_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor,
    payer: &Wallet,
    nonce: u64,
) -> Result<AskedStake, ManageError> {
    let (target, amount) = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce))?;
    let Target { subscription, method, currency } = target;
    Ok(AskedStake { prepared, method, currency, amount, description: subscription.description })
}

/// Checks and sends the signed stake; once it stands, it secures the subscription, and a cancelled one goes on. Answers the hash.
pub async fn take_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor,
    payer: &Wallet,
    (nonce, signed): (u64, &str),
) -> Result<String, ManageError> {
    let (target, amount) = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce), signed)?;
    let unit = ctx.store.begin().await?;
    let purpose = Purpose::Stake(target.subscription.id.clone());
    send(ctx, unit, &target, purpose, amount, payer, signed).await
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
    // The store may have decided meanwhile that it ends.
    let resumes = subscription.check_recovery(Requester::Customer).is_ok();
    if resumes {
        take_back(&mut subscription);
    }
    let status = if subscription.status == SubscriptionStatus::Canceled { StakeStatus::Waiting } else { StakeStatus::Held };
    let return_at = subscription.ended_at.map(|_| now);
    let AttemptKind::Wallet { payer, .. } = &attempt.kind else { return Err(BillingError::Orphan) };
    let own = |before: &Stake| before.payer == *payer && before.currency_id == attempt.currency_id;
    let grows = subscription.stake.as_ref().is_some_and(|before| own(before) && before.status == StakeStatus::Held);
    let what = match (resumes, grows) {
        (true, _) => StakeFor::Resuming,
        (false, true) => StakeFor::ChangedPlan,
        (false, false) => StakeFor::ChangedPayment,
    };
    subscription.stake = Some(match subscription.stake.take() {
        // It is in question, and so is what was added.
        Some(before) if own(&before) && before.status == StakeStatus::Slashing => {
            Stake { amount: before.amount.plus(attempt.amount)?, ..before }
        }
        Some(before) if own(&before) && !before.status.is_gone() => {
            // What was asked for was what a revoked one lacked.
            let lacked = before.status == StakeStatus::Revoked;
            let amount = if lacked { before.amount.max(attempt.amount) } else { before.amount.plus(attempt.amount)? };
            Stake { amount, status, reference: reference.to_owned(), return_at, ..before }
        }
        // What another wallet has left there, or this one elsewhere, is not forgotten.
        before => Stake {
            amount: attempt.amount,
            payer: payer.clone(),
            method_id: attempt.method_id.clone(),
            currency_id: attempt.currency_id.clone(),
            status,
            reference: reference.to_owned(),
            return_at,
            earlier: before.map_or_else(Vec::new, Stake::set_aside),
        },
    });
    subscription.updated_at = now;
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(BillingError::Orphan)?;
    // It was left by the terms of then: where they ask for something else by now, the amount is told alone.
    let terms = match secured(unit, &subscription, &currency).await {
        Ok(Some(secured)) => secured.asked(unit, &currency).await.ok(),
        _ => None,
    };
    restake_invoice(ctx, unit, &subscription, what, Calculation::of_stake(terms, attempt.amount), now).await
}
