//! Funds for the account that a subscription is charged by: a transfer to it from any other wallet.
//!
//! The store asks for the transfer, sends it and tells of it. The money passes by: it goes from the one account to the other at their
//! network, none of it was ever the store's, and no account of its journal changes. So no entry is written, there is no payment
//! intent, and nothing that the store could give back.

use super::charges::publish_charges;
use super::clock::time_of;
use super::dunning::collect_now;
use super::statement::{Statement, StatementOwner, record_statement};
use super::subscription_admin::load;
use super::{BillingError, BillingReason, ManageError, PricingFormula, Subscription, SubscriptionStatus, line_descriptions, mandate_limit};
use crate::access::{Did, Wallet};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::{
    Attempt, AttemptKind, Currency, Mandate, MandateDetails, MandateStatus, Method, Purpose, TransferRequest, UnsignedTransaction,
};
use crate::shared::{Amount, AttemptId, EventId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// At most so many charges are added at once: of those that the wallet permits, or of what a period costs where that is more.
pub const RECHARGE_CHARGES: u64 = 100;

/// The account that a subscription is charged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funds {
    pub payer: Did,
    pub method: Method,
    pub currency: Currency,
    /// What it holds. `None`: its network does not say.
    pub balance: Option<Amount>,
    /// What a period costs. `None`: it depends on usage, or nothing.
    pub period: Option<Amount>,
    /// The most that can be added at once.
    pub most: Amount,
}

/// What is put before whoever adds funds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedRecharge {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    pub currency: Currency,
    pub amount: Amount,
    /// The account that gets it.
    pub to: Did,
    pub description: String,
}

/// The same with its subscription, before the network is asked.
async fn account_of(ctx: &Context, unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<(Subscription, Funds), ManageError> {
    let subscription = load(unit, id).await?;
    if subscription.status == SubscriptionStatus::Canceled {
        return Err(ManageError::Ended);
    }
    let currency = unit.methods().find_currency(&subscription.currency_id).await?.ok_or(ManageError::NotFound)?;
    let method = unit.methods().find(&subscription.method_id).await?.ok_or(ManageError::NotFound)?;
    if method.kind.is_card() {
        return Err(ManageError::CardFunds);
    }
    let mandate = match &subscription.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let Some(Mandate { details: Some(MandateDetails::Delegation { payer, limits, .. }), status: MandateStatus::Active, .. }) = mandate
    else {
        return Err(ManageError::NoPayer);
    };
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let items = subscription.items.iter().filter_map(|item| Some((prices.iter().find(|price| price.id == item.price_id)?, item.quantity)));
    let threshold = subscription.billing_threshold.map(|threshold| threshold.amount);
    let cost = mandate_limit(&ctx.policy, items, threshold, &currency.id)?;
    let permitted = limits.iter().find(|(limited, _)| *limited == currency.id).map_or(Amount::ZERO, |(_, most)| *most);
    let period = (!cost.by_usage && !cost.amount.is_zero()).then_some(cost.amount);
    // Too large to be told is no bound at all.
    let most = permitted.max(cost.amount).times(RECHARGE_CHARGES).unwrap_or(Amount::new(u128::MAX));
    Ok((subscription, Funds { payer, method, currency, balance: None, period, most }))
}

/// The account that a subscription is charged by, with what its network says that it holds.
pub async fn funds_of(ctx: &Context, id: &SubscriptionId) -> Result<Funds, ManageError> {
    let mut unit = ctx.store.read().await?;
    let (_, funds) = account_of(ctx, unit.as_mut(), id).await?;
    drop(unit);
    let rail = ctx.networks.wallet(funds.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let balance = rail.balance(&funds.method, &funds.currency, &funds.payer).await.ok();
    Ok(Funds { balance, ..funds })
}

impl Funds {
    fn check(&self, amount: Amount) -> Result<(), ManageError> {
        if amount.is_zero() {
            return Err(ManageError::NoFunds);
        }
        if amount > self.most {
            let most = format!("{} {}", self.most.to_decimal(self.currency.decimals), self.currency.symbol);
            return Err(ManageError::TooManyFunds { most });
        }
        Ok(())
    }

    fn request(&self, id: &SubscriptionId, amount: Amount, from: &Wallet, nonce: u64) -> Result<TransferRequest, ManageError> {
        self.check(amount)?;
        if from.did == self.payer {
            return Err(ManageError::OwnFunds);
        }
        Ok(TransferRequest {
            payer: from.did.clone(),
            payer_key: from.public_key.clone(),
            to: Some(self.payer.clone()),
            amount,
            reference: id.to_string(),
            nonce,
        })
    }
}

/// Whether so much could be added now, whoever adds it.
pub async fn check_recharge(ctx: &Context, id: &SubscriptionId, amount: Amount) -> Result<(), ManageError> {
    let mut unit = ctx.store.read().await?;
    account_of(ctx, unit.as_mut(), id).await?.1.check(amount)
}

/// Builds the transfer that adds funds. The same nonce builds the same one, as long as the same account is charged.
pub async fn prepare_recharge(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Amount,
    from: &Wallet,
    nonce: u64,
) -> Result<PreparedRecharge, ManageError> {
    let mut unit = ctx.store.read().await?;
    let (subscription, funds) = account_of(ctx, unit.as_mut(), id).await?;
    let rail = ctx.networks.wallet(funds.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let prepared = rail.prepare(&funds.method, &funds.currency, &funds.request(id, amount, from, nonce)?)?;
    let Funds { payer: to, method, currency, .. } = funds;
    Ok(PreparedRecharge { prepared, method, currency, amount, to, description: subscription.description })
}

/// Checks the signed transfer against what is asked for now, stores its bytes and sends them. Answers the hash.
///
/// # Errors
/// [`ManageError::PaymentInFlight`] while other funds for the subscription are on their way, or when this transfer was sent before.
pub async fn submit_signed_recharge(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Amount,
    from: &Wallet,
    (nonce, signed): (u64, &str),
) -> Result<String, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let (_, funds) = account_of(ctx, unit.as_mut(), id).await?;
    let rail = ctx.networks.wallet(funds.method.kind).ok_or(ManageError::MethodNotSupported)?;
    let signed = rail.check(&funds.method, &funds.currency, &funds.request(id, amount, from, nonce)?, signed)?;
    let now = ctx.now();
    let attempt = Attempt::begin(
        AttemptId::new(now, ctx.random.as_ref()),
        Purpose::Recharge(id.clone()),
        AttemptKind::Wallet { payer: from.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() },
        (funds.method.id, funds.currency.id),
        amount,
        now,
    );
    match unit.attempts().insert(&attempt, &[]).await {
        Err(StorageError::Duplicate(_)) => return Err(ManageError::PaymentInFlight),
        inserted => inserted?,
    }
    unit.commit().await?;
    super::payment_target::send_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}

/// Funds have arrived: they are told by an invoice of their own, and what is overdue is tried at once, for that is what they are for.
pub(super) async fn recharged(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    reference: &str,
) -> Result<(), BillingError> {
    let subscription = unit.subscriptions().find(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    // It may be charged in another way since.
    let then = StatementOwner { method_id: &attempt.method_id, currency_id: &attempt.currency_id, ..StatementOwner::from(&subscription) };
    // Before the number of the invoice is taken, as a round does: two that wait for each other's rows would end in a conflict.
    if subscription.ended_at.is_none() {
        let collected = collect_now(ctx, unit, &subscription).await?;
        publish_charges(ctx, unit, &collected).await?;
    }
    let calculation = PricingFormula::Flat { amount: attempt.amount };
    let statement = Statement { reason: BillingReason::Recharge, description: line_descriptions::ADDED_FUNDS, reference, calculation };
    record_statement(ctx, unit, then, statement, now).await?;
    let wall = ctx.now();
    // Nobody is thanked for a payment: the store got none.
    let message = Message::new(Topic::Realtime, wall).with("event", "subscription.recharged").with("id", id);
    let message = message.with("customer_id", &subscription.customer_id).with("currency_id", &attempt.currency_id);
    unit.outbox().publish(&EventId::new(wall, ctx.random.as_ref()), &message, wall).await?;
    Ok(())
}
