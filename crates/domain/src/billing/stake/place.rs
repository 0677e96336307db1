//! Requests for payments into stakes outside a checkout, and the stake that a subscription's terms require.

use super::{ReleaseReason, RequestedStake, Stake, StakeKey, StakePurpose, StakeSubject};
use crate::access::{Did, Wallet};
use crate::billing::payment_target::{PaymentTarget, is_change_pending};
use crate::billing::{
    BillingError, PaymentTargetError, PendingPlanChange, STAKE_WAITING_DAYS, StakeTerms, Subscription, SubscriptionError, time_of,
};
use crate::context::Context;
use crate::payment::{Currency, MandateDetails, PreparedStake, Purpose, RailError, StakeRequest, StakeState};
use crate::shared::{Amount, CurrencyId, StakeId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a pending stake waits for its first payment before it is abandoned.
pub(crate) const PENDING_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// A payment into a stake that a wallet is asked to sign.
#[derive(Debug, Clone)]
pub(in crate::billing) struct Placement {
    pub target: PaymentTarget,
    pub key: StakeKey,
    pub amount: Amount,
}

impl Placement {
    pub fn security(target: PaymentTarget, subject: SubscriptionId, payer: &Did, amount: Amount) -> Self {
        let key = StakeKey {
            subject: StakeSubject::Subscription(subject),
            purpose: StakePurpose::Security,
            payer: payer.clone(),
            currency_id: target.currency.id.clone(),
        };
        Self { target, key, amount }
    }

    /// The stake that the payment goes into: the existing one that is not final, or a new pending one.
    ///
    /// # Errors
    /// [`SubscriptionError::PaymentInFlight`] while the stake is being released or moved, because an added payment would be returned as well;
    /// or as [`check_former`].
    pub async fn open(&self, ctx: &Context) -> Result<Stake, SubscriptionError> {
        let mut unit = ctx.store.begin().await?;
        if let Some(found) = unit.stakes().find_open(&self.key).await? {
            return self.check(found);
        }
        check_former(unit.as_mut(), &self.key).await?;
        let subscription = &self.target.subscription;
        let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
        let requested = RequestedStake {
            mode: subscription.mode,
            customer_id: &subscription.customer_id,
            method_id: &self.target.method.id,
            key: &self.key,
            waiting_days: STAKE_WAITING_DAYS,
            amount: self.amount,
        };
        let stake = requested.pending(StakeId::new(ctx.now(), ctx.random.as_ref()), Some(now.plus(PENDING_LIFETIME)), now);
        match unit.stakes().insert(&stake).await {
            Err(StorageError::Duplicate(_)) => return Err(SubscriptionError::Contended),
            inserted => inserted?,
        }
        unit.commit().await?;
        Ok(stake)
    }

    /// Locks the stake that the signed payment goes into, until this unit of work ends.
    pub async fn lock(&self, unit: &mut dyn UnitOfWork) -> Result<Stake, SubscriptionError> {
        let found = unit.stakes().find_open(&self.key).await?.ok_or(SubscriptionError::Contended)?;
        let locked = unit.stakes().lock(&found.id).await?.filter(|stake| !stake.is_final()).ok_or(SubscriptionError::Contended)?;
        self.check(locked)
    }

    fn check(&self, stake: Stake) -> Result<Stake, SubscriptionError> {
        if stake.is_going_back() || stake.reservation.is_some() { Err(SubscriptionError::PaymentInFlight) } else { Ok(stake) }
    }

    pub fn request(&self, stake: &Stake, payer: &Wallet, nonce: u64) -> StakeRequest {
        StakeRequest {
            payer: payer.did.clone(),
            payer_key: payer.public_key.clone(),
            amount: self.amount,
            subject: stake.id.to_string(),
            waiting: stake.waiting(),
            reference: self.target.subscription.id.to_string(),
            nonce,
        }
    }

    /// Builds the transaction that the wallet signs.
    pub async fn prepare(self, ctx: &Context, payer: &Wallet, nonce: u64) -> Result<PreparedStake, PaymentTargetError> {
        ctx.networks.check_open(&self.target.method).map_err(RailError::from)?;
        let rail = ctx.networks.wallet(self.target.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
        let stake = self.open(ctx).await?;
        let prepared = rail.prepare_stake(&self.target.method, &self.target.currency, &self.request(&stake, payer, nonce))?;
        let Self { target: PaymentTarget { subscription, method, currency }, amount, .. } = self;
        Ok(PreparedStake { prepared, method, currency, amount, description: subscription.title() })
    }
}

/// Checks that a new stake can be opened with a key.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while a payment into the former stake with this key is in flight: that stake is open again once the
/// payment settles, and two stakes with one key cannot be open.
pub(super) async fn check_former(unit: &mut dyn UnitOfWork, key: &StakeKey) -> Result<(), SubscriptionError> {
    let Some(former) = unit.stakes().find_newest(key).await? else { return Ok(()) };
    match unit.attempts().open_of(&Purpose::Stake(former.id)).await? {
        Some(_) => Err(SubscriptionError::PaymentInFlight),
        None => Ok(()),
    }
}

/// Queries the network about a stake. `None`: its network is not supported.
pub(in crate::billing) async fn ask_network(ctx: &Context, stake: &Stake) -> Result<Option<StakeState>, BillingError> {
    let mut unit = ctx.store.read().await?;
    let method = unit.methods().find(&stake.method_id).await?.ok_or(BillingError::Orphan)?;
    let currency = unit.methods().find_currency(&stake.currency_id).await?.ok_or(BillingError::Orphan)?;
    drop(unit);
    match ctx.networks.wallet(method.kind) {
        Some(rail) => {
            let state = rail.stake_balance(&method, &currency, &stake.payer, stake.id.as_str(), stake.waiting()).await;
            Ok(Some(ctx.networks.heard_result(&method, state, ctx.now())?))
        }
        None => Ok(None),
    }
}

/// The amount that the network holds of the stake with this key, without what its payer has revoked. At most what our records say: a
/// payment that is undecided, or that nobody has asked for, secures nothing yet.
pub(in crate::billing) async fn held_with(ctx: &Context, key: &StakeKey) -> Result<Amount, SubscriptionError> {
    let mut unit = ctx.store.read().await?;
    let found = unit.stakes().find_open(key).await?;
    drop(unit);
    match found {
        Some(stake) => Ok(ask_network(ctx, &stake).await?.unwrap_or_default().held.min(stake.remaining())),
        None => Ok(Amount::ZERO),
    }
}

/// The stake that is required to undo a scheduled cancellation. A stake in another currency than the subscription's does not count.
pub(in crate::billing) async fn stake_to_replace(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
) -> Result<Option<Stake>, StorageError> {
    let Some(id) = &subscription.stake_id else { return Ok(None) };
    let is_required = |stake: &Stake| {
        stake.currency_id == subscription.currency_id && !stake.amount_requested.is_zero() && (stake.is_held() || stake.is_revoked())
    };
    Ok(unit.stakes().find(id).await?.filter(is_required))
}

/// The required amount of a security stake, and the subscription that it is placed for.
pub(in crate::billing) struct RequiredStake {
    pub subject: SubscriptionId,
    pub amount: Amount,
}

/// The stake that the terms of the checkout require from a wallet, unless one is held already. `None`: nothing is required, as for cards.
pub(in crate::billing) async fn required_stake(
    unit: &mut dyn UnitOfWork,
    target: &PaymentTarget,
) -> Result<Option<RequiredStake>, SubscriptionError> {
    if target.method.kind.is_card() {
        return Ok(None);
    }
    let Some(security) = security_of(unit, &target.subscription, &target.currency).await? else { return Ok(None) };
    if security.stake.as_ref().is_some_and(Stake::is_held) {
        return Ok(None);
    }
    let amount = security.terms(unit, &target.currency).await?.amount();
    Ok(Some(RequiredStake { subject: security.subject, amount }))
}

/// The stake that a plan change requires beside what is held.
pub(in crate::billing) enum Growth {
    /// No more, or no stake is held.
    Nothing,
    Required(RequiredStake),
    /// Another subscription that shares the stake waits for a plan with a deposit: how much is required is known only after that.
    Undecided,
}

/// The stake that a wallet must add before a plan change, if the new plan requires more than the old one and more than is staked: the
/// difference, or the full amount if another wallet placed the current stake, which is then released. A deposit for the waiting plan of
/// another subscription does not count.
pub(in crate::billing) async fn growth(
    unit: &mut dyn UnitOfWork,
    before: &Subscription,
    after: &Subscription,
    payer: &Did,
) -> Result<Growth, SubscriptionError> {
    let currency = unit.methods().find_currency(&before.currency_id).await?.ok_or(SubscriptionError::NotFound)?;
    let Some(old_security) = security_of(unit, before, &currency).await? else { return Ok(Growth::Nothing) };
    let Some(stake) = old_security.stake.as_ref().filter(|stake| stake.is_held()) else { return Ok(Growth::Nothing) };
    let Some(new_security) = security_of(unit, after, &currency).await? else { return Ok(Growth::Nothing) };
    let required = new_security.terms(unit, &currency).await?.amount();
    if required <= old_security.terms(unit, &currency).await?.amount() {
        return Ok(Growth::Nothing);
    }
    let waiting = waiting_with_deposit(unit, &old_security.live, &before.id).await?;
    let of_stake = waiting.iter().filter_map(|change| change.deposit.as_ref()).filter(|deposit| deposit.stake_id == stake.id);
    let held = of_stake.map(|deposit| deposit.requested_before).fold(stake.amount_requested, Amount::min);
    if required <= held {
        return Ok(Growth::Nothing);
    }
    if !waiting.is_empty() {
        return Ok(Growth::Undecided);
    }
    let amount = if stake.payer == *payer { required.minus(held)? } else { required };
    Ok(Growth::Required(RequiredStake { subject: old_security.subject, amount }))
}

/// The plan changes of these subscriptions, except one, that wait and have a deposit.
pub(in crate::billing) async fn waiting_with_deposit(
    unit: &mut dyn UnitOfWork,
    live: &[Subscription],
    except: &SubscriptionId,
) -> Result<Vec<PendingPlanChange>, StorageError> {
    let others: Vec<_> = live.iter().map(|one| one.id.clone()).filter(|id| id != except).collect();
    let mut changes = if others.is_empty() { Vec::new() } else { unit.plan_changes().find_all(&others).await? };
    changes.retain(PendingPlanChange::has_pending_deposit);
    Ok(changes)
}

/// The stake that the charged wallet must add before a plan change; nothing for cards.
pub(in crate::billing) async fn stake_for_plan(
    unit: &mut dyn UnitOfWork,
    before: &Subscription,
    after: &Subscription,
) -> Result<Growth, SubscriptionError> {
    let mandate = match &before.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let Some(MandateDetails::Delegation { payer, .. }) = mandate.and_then(|mandate| mandate.details) else { return Ok(Growth::Nothing) };
    growth(unit, before, after, &payer).await
}

/// Locks the subscription's security stake, because the amount that one plan requires depends on the other subscriptions that share it, and the
/// stake of an ordered plan change. The caller has locked the subscription.
pub(in crate::billing) async fn lock_security(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    ordered: Option<&PendingPlanChange>,
) -> Result<(), StorageError> {
    let deposit = ordered.and_then(|ordered| ordered.deposit.as_ref());
    let ids: Vec<_> = subscription.stake_id.iter().chain(deposit.map(|deposit| &deposit.stake_id)).cloned().collect();
    if !ids.is_empty() {
        unit.stakes().lock_all(&ids).await?;
    }
    Ok(())
}

/// The amount that the plans of the subscriptions which share a stake require now.
pub(super) async fn required_now(unit: &mut dyn UnitOfWork, subscription: &Subscription, stake: &Stake) -> Result<Amount, BillingError> {
    Ok(terms_of(unit, subscription, stake).await?.map_or(Amount::ZERO, |terms| terms.amount()))
}

/// Whether a stake may replace those that running subscriptions name: not a held one that holds more, unless it holds what is required.
pub(super) async fn may_replace(
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    named: &[Stake],
    secured: &[Subscription],
) -> Result<bool, BillingError> {
    let held = named.iter().filter(|named| named.is_held() && named.id != stake.id).map(Stake::remaining).max();
    let (Some(held), Some(first)) = (held, secured.first()) else { return Ok(true) };
    Ok(stake.remaining() >= held || stake.remaining() >= required_now(unit, first, stake).await?)
}

/// What a security stake secures, and by which terms.
struct Security {
    /// The subscription that the stake was or will be placed for.
    subject: SubscriptionId,
    stake: Option<Stake>,
    threshold: Amount,
    minimum: Amount,
    /// All subscriptions of the checkout that have not ended and share a currency.
    live: Vec<Subscription>,
}

impl Security {
    /// The inputs of the required amount.
    async fn terms(&self, unit: &mut dyn UnitOfWork, currency: &Currency) -> Result<StakeTerms, SubscriptionError> {
        let items: Vec<_> = self.live.iter().flat_map(|one| &one.items).collect();
        let ids: Vec<_> = items.iter().map(|item| item.price_id.clone()).collect();
        let prices = unit.prices().find_all(&ids).await?;
        let mut recurring = Amount::ZERO;
        for item in items {
            let pricing = prices.iter().find(|price| price.id == item.price_id).and_then(|price| price.pricing_in(&currency.id));
            recurring = recurring.plus(pricing.ok_or(SubscriptionError::CurrencyNotConfigured)?.amount_for(item.quantity)?)?;
        }
        Ok(StakeTerms { threshold: self.threshold, minimum: self.minimum, recurring })
    }
}

/// The security of a subscription in a currency, using the passed state of the subscription. All subscriptions of its checkout in that
/// currency share one stake. `None`: no stake is required.
async fn security_of(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    currency: &Currency,
) -> Result<Option<Security>, SubscriptionError> {
    let Some(session) = &subscription.session_id else { return Ok(None) };
    let session = unit.sessions().find(session).await?.filter(|session| !session.terms.no_stake);
    let Some(session) = session else { return Ok(None) };
    let mut live = unit.subscriptions().find_all(&session.subscription_ids).await?;
    live.retain(|one| one.id != subscription.id && one.ended_at.is_none() && one.currency_id == currency.id);
    live.push(subscription.clone());
    let stake = shared_stake(unit, &live, &currency.id, Some(subscription)).await?;
    let placed_for = stake.as_ref().and_then(|stake| stake.subject.subscription().cloned());
    let first = session.subscription_ids.iter().find(|id| live.iter().any(|one| one.id == **id)).cloned();
    let subject = placed_for.or(first).unwrap_or_else(|| subscription.id.clone());
    let amounts = session.terms.amounts(currency.decimals)?;
    Ok(Some(Security { subject, stake, threshold: amounts.threshold, minimum: amounts.minimum_stake, live }))
}

/// The stake in a currency that subscriptions name. Prefers the stake of `preferred`, then held stakes.
async fn shared_stake(
    unit: &mut dyn UnitOfWork,
    live: &[Subscription],
    currency: &CurrencyId,
    preferred: Option<&Subscription>,
) -> Result<Option<Stake>, StorageError> {
    let ids: Vec<_> = live.iter().filter_map(|one| one.stake_id.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut stakes = unit.stakes().find_all(&ids).await?;
    stakes.retain(|stake| stake.currency_id == *currency && !stake.is_final());
    let is_preferred = |stake: &Stake| preferred.is_some_and(|preferred| preferred.stake_id.as_ref() == Some(&stake.id));
    stakes.sort_by_key(|stake| (!is_preferred(stake), !stake.is_held(), stake.id.clone()));
    Ok(stakes.into_iter().next())
}

/// The stake that a subscription will share once it is charged in `currency`: the held stake of its checkout.
pub(in crate::billing) async fn stake_to_share(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    currency: &CurrencyId,
) -> Result<Option<StakeId>, StorageError> {
    let Some(session) = &subscription.session_id else { return Ok(None) };
    let Some(session) = unit.sessions().find(session).await? else { return Ok(None) };
    let mut live = unit.subscriptions().find_all(&session.subscription_ids).await?;
    live.retain(|one| one.id != subscription.id && one.ended_at.is_none() && one.currency_id == *currency);
    Ok(shared_stake(unit, &live, currency, None).await?.filter(Stake::is_held).map(|stake| stake.id))
}

/// Why a stake that no subscription can share is not needed. `None`: its subscription waits for a delegation in the stake's currency, or a
/// plan change waits for a decision. The caller has locked the subscription, so that the delegation is decided before or after this unit of work.
pub(super) async fn unneeded_because(unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Option<ReleaseReason>, BillingError> {
    let subject = match stake.subject.subscription() {
        Some(subject) => unit.subscriptions().find(subject).await?,
        None => None,
    };
    let Some(running) = subject.filter(|one| one.ended_at.is_none()) else { return Ok(Some(ReleaseReason::Ended)) };
    let is_for_pending_plan = unit.plan_changes().of_stake(&stake.id).await?.iter().any(PendingPlanChange::is_pending);
    let is_awaited = stake.purpose == StakePurpose::Security
        && (is_for_pending_plan || is_change_pending(unit, &running.id, &stake.currency_id).await?);
    Ok((!is_awaited).then_some(ReleaseReason::Abandoned))
}

/// The held stake that was placed for a subscription by `payer` in `currency`, before the subscription is charged in it.
pub(in crate::billing) async fn stake_placed_ahead(
    unit: &mut dyn UnitOfWork,
    subscription: &SubscriptionId,
    payer: &Did,
    currency: &CurrencyId,
) -> Result<Option<Stake>, StorageError> {
    let key = StakeKey {
        subject: StakeSubject::Subscription(subscription.clone()),
        purpose: StakePurpose::Security,
        payer: payer.clone(),
        currency_id: currency.clone(),
    };
    Ok(unit.stakes().find_open(&key).await?.filter(Stake::is_held))
}

/// The current terms of the stake. `None`: they cannot be computed any more, and only the amount is shown.
pub(super) async fn terms_of(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    stake: &Stake,
) -> Result<Option<StakeTerms>, BillingError> {
    let currency = unit.methods().find_currency(&stake.currency_id).await?.ok_or(BillingError::Orphan)?;
    let terms = match security_of(unit, subscription, &currency).await {
        Ok(Some(security)) => security.terms(unit, &currency).await,
        Ok(None) => return Ok(None),
        Err(error) => Err(error),
    };
    match terms {
        Ok(terms) => Ok(Some(terms)),
        Err(SubscriptionError::Contended) => Err(BillingError::Contended),
        Err(SubscriptionError::Storage(error)) => Err(BillingError::Storage(error)),
        // For instance, a price no longer has an amount in the currency.
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, subscription = %subscription.id, stake = %stake.id, "the terms of a deposit cannot be computed");
            Ok(None)
        }
    }
}
