//! A stake that is left where no checkout asks for it: anew, with another payment, or for a dearer plan.

use super::cancel::take_back;
use super::change_payment::{Target, send, target};
use super::follow_stakes::at_network;
use super::line;
use super::manage::{load, lock, save};
use super::plan::{planned, switch_plan};
use super::statement::{Statement, record_statement};
use super::{
    BillingError, BillingReason, Calculation, ManageError, Notification, PlanOrder, Requester, ResumedFrom, STAKE_WAITING, Stake,
    StakeStatus, StakeTerms, Subscription, SubscriptionStatus, notify, time_of,
};
use crate::access::{Did, Wallet};
use crate::context::Context;
use crate::payment::{AskedStake, Attempt, AttemptKind, Currency, MandateDetails, Purpose, StakeRequest};
use crate::shared::{Amount, CurrencyId, SubscriptionId, Text};
use crate::storage::UnitOfWork;

/// Why a stake is asked for when there is no checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeFor<'a> {
    /// A cancelled subscription is to go on, and the stake before was revoked.
    Resuming,
    /// It is charged by another wallet, or in another currency, and what was staked before has gone back.
    ChangedPayment,
    /// The same, or its plan is to cost more than the one before, and the stake is to grow first.
    ChangedPlan(&'a PlanOrder),
}

/// The stake that is missing, and the subscription that is to hold it.
pub(super) async fn missing(
    ctx: &Context,
    id: &SubscriptionId,
    payer: &Wallet,
    what: StakeFor<'_>,
) -> Result<(Target, Amount), ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    if what == StakeFor::Resuming {
        subscription.check_recovery(Requester::Customer)?;
    }
    let mut own = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    let mut more = None;
    if let StakeFor::ChangedPlan(order) = what {
        // By the plan that is asked for: it is not there before the stake is.
        let (after, _) = planned(ctx, unit.as_mut(), subscription.clone(), order).await?;
        more = outgrows(unit.as_mut(), &subscription, &after, &payer.did).await?;
        own.subscription = after;
    } else {
        nothing_goes_back(&own.subscription, &payer.did)?;
    }
    if what == StakeFor::Resuming {
        drop(unit);
        return owed(ctx, own, payer).await;
    }
    if let Some((holder, amount)) = more {
        let holder = target(unit.as_mut(), &holder, None, &subscription.currency_id).await?;
        nothing_goes_back(&holder.subscription, &payer.did)?;
        return Ok((holder, amount));
    }
    let asked = stake_by_terms(unit.as_mut(), &own).await?;
    drop(unit);
    let lacks = |stake: &&Stake| stake.status == StakeStatus::Revoked && stake.payer == payer.did && stake.currency_id == own.currency.id;
    let there = match own.subscription.stake.as_ref().filter(lacks) {
        Some(stake) => at_network(ctx, stake, id).await?.held,
        None => Amount::ZERO,
    };
    let amount = asked.minus(there).unwrap_or_default();
    if amount.is_zero() {
        return Err(ManageError::NoStake);
    }
    nothing_goes_back(&own.subscription, &payer.did)?;
    Ok((own, amount))
}

/// What a wallet has left before goes back first: at the network both would be one.
fn nothing_goes_back(holder: &Subscription, payer: &Did) -> Result<(), ManageError> {
    let goes_back = |earlier: &Stake| earlier.payer == *payer && matches!(earlier.status, StakeStatus::Waiting | StakeStatus::Returning);
    match holder.stake.iter().flat_map(|stake| &stake.earlier).any(goes_back) {
        true => Err(ManageError::PaymentInFlight),
        false => Ok(()),
    }
}

/// What a cancelled subscription lacks to go on.
async fn owed(ctx: &Context, target: Target, payer: &Wallet) -> Result<(Target, Amount), ManageError> {
    let stake = target.subscription.owed_stake().ok_or(ManageError::NotRecoverable)?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let staked = rail.staked(&target.method, &target.currency, &payer.did, target.subscription.id.as_str()).await?;
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

/// What a wallet is to stake before another plan is there, where that asks for more than the one before and for more than is staked:
/// the difference, or all where another wallet has left what is there, which goes back then. With whom it is left. `None`: nothing, or
/// there is no stake that could grow.
async fn outgrows(
    unit: &mut dyn UnitOfWork,
    before: &Subscription,
    after: &Subscription,
    payer: &Did,
) -> Result<Option<(SubscriptionId, Amount)>, ManageError> {
    let currency = unit.methods().find_currency(&before.currency_id).await?.ok_or(ManageError::NotFound)?;
    let Some(now) = secured(unit, before, &currency).await? else { return Ok(None) };
    let holder = load(unit, &now.holder).await?;
    let secures = |stake: &&Stake| stake.status == StakeStatus::Held && stake.currency_id == currency.id;
    let Some(stake) = holder.stake.as_ref().filter(secures).filter(|_| holder.ended_at.is_none()) else { return Ok(None) };
    let Some(then) = secured(unit, after, &currency).await? else { return Ok(None) };
    let asked = then.asked(unit, &currency).await?.amount();
    if asked <= now.asked(unit, &currency).await?.amount() || asked <= stake.amount {
        return Ok(None);
    }
    let amount = if stake.payer == *payer { asked.minus(stake.amount)? } else { asked };
    Ok(Some((now.holder, amount)))
}

/// The same for the wallet that is charged: nothing for a card.
pub(super) async fn stake_for_plan(unit: &mut dyn UnitOfWork, before: &Subscription, after: &Subscription) -> Result<Amount, ManageError> {
    let mandate = match &before.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let Some(MandateDetails::Delegation { payer, .. }) = mandate.and_then(|mandate| mandate.grant) else { return Ok(Amount::ZERO) };
    Ok(outgrows(unit, before, after, &payer).await?.map_or(Amount::ZERO, |(_, amount)| amount))
}

/// Waits for other changes of what the same stake secures: what one plan asks for depends on the others.
pub(super) async fn lock_holder(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<(), ManageError> {
    let Some(session) = load(unit, id).await?.session_id else { return Ok(()) };
    let holder = unit.sessions().find(&session).await?.and_then(|session| session.subscription_ids.first().cloned());
    if let Some(holder) = holder.filter(|holder| holder != id) {
        unit.subscriptions().lock(&holder).await?;
    }
    Ok(())
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
    what: StakeFor<'_>,
    payer: &Wallet,
) -> Result<bool, ManageError> {
    match missing(ctx, id, payer, what).await {
        // Not while the permission is still on its way.
        Ok((target, _)) => Ok(target.currency.id == *currency),
        Err(ManageError::NoStake) => Ok(false),
        Err(error) => Err(error),
    }
}

fn stake_ask(target: &Target, amount: Amount, payer: &Wallet, nonce: u64) -> StakeRequest {
    StakeRequest {
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
    what: StakeFor<'_>,
    payer: &Wallet,
    nonce: u64,
) -> Result<AskedStake, ManageError> {
    let (target, amount) = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce))?;
    let Target { subscription, method, currency } = target;
    Ok(AskedStake { prepared, method, currency, amount, description: Text::with_fallback(&subscription.description, None) })
}

/// Checks and sends the signed stake; once it stands, it secures the subscription, and a cancelled one goes on, or the plan changes
/// that it was left for. Answers the hash.
pub async fn take_restake(
    ctx: &Context,
    id: &SubscriptionId,
    what: StakeFor<'_>,
    payer: &Wallet,
    (nonce, signed): (u64, &str),
) -> Result<String, ManageError> {
    let (target, amount) = missing(ctx, id, payer, what).await?;
    let rail = ctx.networks.wallet(target.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check_stake(&target.method, &target.currency, &stake_ask(&target, amount, payer, nonce), signed)?;
    let mut unit = ctx.store.begin().await?;
    if what == StakeFor::Resuming {
        resume_by(unit.as_mut(), id, &signed.hash).await?;
    }
    let purpose = Purpose::Stake(target.subscription.id.clone());
    let hash = send(ctx, unit, &target, purpose, amount, payer, signed).await?;
    if let StakeFor::ChangedPlan(order) = what {
        // The stake stands in any case, and is asked for no more. Where the network takes its time, the page finds the plan unchanged
        // and says so.
        let _ = switch_plan(ctx, id, order, Requester::Customer).await;
    }
    Ok(hash)
}

/// Keeps with the end that was asked for which stake takes it back: others may be left until then, for something else.
async fn resume_by(unit: &mut dyn UnitOfWork, id: &SubscriptionId, hash: &str) -> Result<(), ManageError> {
    let mut subscription = lock(unit, id).await?;
    subscription.check_recovery(Requester::Customer)?;
    let cancellation = subscription.cancellation.as_mut().ok_or(ManageError::NotRecoverable)?;
    cancellation.taken_back_by = Some(hash.to_owned());
    save(unit, &subscription).await
}

/// A stake that no checkout waits for was left: it secures the subscription, and one that was cancelled goes on if it was left for that.
pub(super) async fn restaked(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    reference: &str,
) -> Result<(), BillingError> {
    let mut subscription = unit.subscriptions().find(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let AttemptKind::Wallet { payer, hash, .. } = &attempt.kind else { return Err(BillingError::Orphan) };
    let asked = subscription.cancellation.as_ref().is_some_and(|end| end.taken_back_by.as_ref() == Some(hash));
    // The store may have decided meanwhile that it ends.
    let resumes = asked && subscription.check_recovery(Requester::Customer).is_ok();
    if resumes {
        take_back(&mut subscription);
    }
    let status = if subscription.status == SubscriptionStatus::Canceled { StakeStatus::Waiting } else { StakeStatus::Held };
    let return_at = subscription.ended_at.map(|_| now);
    let own = |before: &Stake| before.payer == *payer && before.currency_id == attempt.currency_id;
    let grows = subscription.stake.as_ref().is_some_and(|before| own(before) && before.status == StakeStatus::Held);
    let (reason, description) = match (resumes, grows) {
        (true, _) => (BillingReason::SubscriptionRecover, line::STAKED_AGAIN),
        (false, true) => (BillingReason::Stake, line::STAKED_MORE),
        (false, false) => (BillingReason::Stake, line::STAKED_ELSEWHERE),
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
            refusals: 0,
            earlier: before.map_or_else(Vec::new, Stake::set_aside),
        },
    });
    subscription.updated_at = now;
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    if resumes {
        let resumed = Notification::Resumed { subscription: id.clone(), from: ResumedFrom::Cancellation, at: now };
        notify(ctx, unit, &resumed, ctx.now()).await?;
    }
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(BillingError::Orphan)?;
    // It was left by the terms of then: where they ask for something else by now, the amount is told alone.
    let terms = match secured(unit, &subscription, &currency).await {
        Ok(Some(secured)) => secured.asked(unit, &currency).await.ok(),
        _ => None,
    };
    let calculation = Calculation::of_stake(terms, attempt.amount);
    let statement = Statement { reason, description, reference, calculation };
    record_statement(ctx, unit, &subscription, statement, now).await
}
