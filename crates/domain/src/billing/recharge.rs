//! Top-ups: transfers from any wallet to the account that a subscription is charged by.
//!
//! The store prepares and sends the transfer and documents it by a statement. The money moves between two accounts at their network and
//! never belongs to the store. So there is no journal entry, no payment intent, and nothing to refund.

use super::charges::publish_charges;
use super::clock::time_of;
use super::dunning::collect_now;
use super::payment_target::{insert, send_now};
use super::statement::{Statement, StatementOwner, record_statement};
use super::subscription_admin::load;
use super::subscription_error::convert_payment_errors;
use super::{
    BillingError, BillingReason, ChargedItem, PaymentTargetError, PricingFormula, Subscription, SubscriptionError, SubscriptionItem,
    SubscriptionStatus, mandate_limit,
};
use crate::access::{Did, Wallet};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::{
    Attempt, AttemptKind, Currency, Description, Mandate, MandateDetails, MandateStatus, Method, MethodAmount, Purpose, RailError,
    TransferRequest, UnsignedTransaction, WalletSignature,
};
use crate::pricing::ProductNames;
use crate::shared::{Amount, AttemptId, EventId, SubscriptionId};
use crate::storage::UnitOfWork;

/// The largest top-up, in charges: of the wallet's mandate limit, or of the price of a period if that is higher.
pub const RECHARGE_CHARGES: u64 = 100;

/// Why funds cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum RechargeError {
    /// The subscription is charged to a card, not to a wallet account.
    #[error("This subscription is paid by card. Only a wallet can be topped up.")]
    PaidByCard,
    #[error("No wallet has authorized payments for this subscription")]
    NoPayer,
    /// The payer's account is the receiving one: networks decline such transfers.
    #[error("This account already pays for the subscription. Please top up from another account.")]
    OwnAccount,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    /// `most`: a formatted amount with its currency.
    #[error("Please enter an amount of at most {most}.")]
    AmountTooLarge { most: String },
    #[error(transparent)]
    Payment(#[from] PaymentTargetError),
}

convert_payment_errors!(RechargeError::Payment);

/// The account that a subscription is charged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayingBalance {
    pub payer: Did,
    pub method: Method,
    pub currency: Currency,
    /// The account's balance. `None`: the network did not answer.
    pub balance: Option<Amount>,
    /// The price of a period. `None`: it depends on usage or is zero.
    pub period: Option<Amount>,
    /// The largest amount of one top-up.
    pub most: Amount,
}

/// An unsigned top-up with the data that its payer is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedRecharge {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    pub currency: Currency,
    pub amount: Amount,
    /// The account that receives the funds.
    pub to: Did,
    pub description: ProductNames,
}

/// A subscription and the account that it is charged by.
struct PaidSubscription {
    subscription: Subscription,
    /// Without its balance, which needs a network call.
    account: PayingBalance,
}

async fn account_of(ctx: &Context, unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<PaidSubscription, RechargeError> {
    let subscription = load(unit, id).await?;
    if subscription.status == SubscriptionStatus::Canceled {
        return Err(PaymentTargetError::Ended.into());
    }
    let currency = unit.methods().find_currency(&subscription.currency_id).await?.ok_or(SubscriptionError::NotFound)?;
    let method = unit.methods().find(&subscription.method_id).await?.ok_or(SubscriptionError::NotFound)?;
    if method.kind.is_card() {
        return Err(RechargeError::PaidByCard);
    }
    let mandate = match &subscription.mandate_id {
        Some(mandate) => unit.mandates().find(mandate).await?,
        None => None,
    };
    let Some(Mandate { details: Some(MandateDetails::Delegation { payer, limits, .. }), status: MandateStatus::Active, .. }) = mandate
    else {
        return Err(RechargeError::NoPayer);
    };
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let price_of = |item: &SubscriptionItem| prices.iter().find(|price| price.id == item.price_id);
    let charged = |item: &SubscriptionItem| Some(ChargedItem { price: price_of(item)?, quantity: item.quantity });
    let items = subscription.items.iter().filter_map(charged);
    let threshold = subscription.billing_threshold.map(|threshold| threshold.amount);
    let cost = mandate_limit(&ctx.policy, items, threshold, &currency.id)?;
    let permitted = limits.iter().find(|(limited, _)| *limited == currency.id).map_or(Amount::ZERO, |(_, most)| *most);
    let period = (!cost.by_usage && !cost.amount.is_zero()).then_some(cost.amount);
    // An overflow means no limit.
    let most = permitted.max(cost.amount).times(RECHARGE_CHARGES).unwrap_or(Amount::new(u128::MAX));
    Ok(PaidSubscription { subscription, account: PayingBalance { payer, method, currency, balance: None, period, most } })
}

/// The account that a subscription is charged by, with its balance at the network.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn paying_balance_of(ctx: &Context, id: &SubscriptionId) -> Result<PayingBalance, RechargeError> {
    let mut unit = ctx.store.read().await?;
    let account = account_of(ctx, unit.as_mut(), id).await?.account;
    drop(unit);
    let rail = ctx.networks.wallet(account.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let balance = rail.balance(&account.method, &account.currency, &account.payer).await.ok();
    Ok(PayingBalance { balance, ..account })
}

impl PayingBalance {
    fn check(&self, amount: Amount) -> Result<(), RechargeError> {
        if amount.is_zero() {
            return Err(RechargeError::NoAmount);
        }
        if amount > self.most {
            let most = format!("{} {}", self.most.to_decimal(self.currency.decimals), self.currency.symbol);
            return Err(RechargeError::AmountTooLarge { most });
        }
        Ok(())
    }

    fn request(&self, id: &SubscriptionId, amount: Amount, from: &Wallet, nonce: u64) -> Result<TransferRequest, RechargeError> {
        self.check(amount)?;
        if from.did == self.payer {
            return Err(RechargeError::OwnAccount);
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

/// Checks whether this amount can be added now, by any wallet.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn check_recharge(ctx: &Context, id: &SubscriptionId, amount: Amount) -> Result<(), RechargeError> {
    let mut unit = ctx.store.read().await?;
    account_of(ctx, unit.as_mut(), id).await?.account.check(amount)
}

/// Builds the transfer that adds funds. The same nonce builds the same transfer while the charged account stays the same.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn prepare_recharge(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Amount,
    from: &Wallet,
    nonce: u64,
) -> Result<PreparedRecharge, RechargeError> {
    let mut unit = ctx.store.read().await?;
    let PaidSubscription { subscription, account } = account_of(ctx, unit.as_mut(), id).await?;
    ctx.networks.check_open(&account.method).map_err(RailError::from)?;
    let rail = ctx.networks.wallet(account.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let prepared = rail.prepare(&account.method, &account.currency, &account.request(id, amount, from, nonce)?)?;
    let PayingBalance { payer: to, method, currency, .. } = account;
    Ok(PreparedRecharge { prepared, method, currency, amount, to, description: subscription.title() })
}

/// Checks the signed transfer against the current request, stores its bytes and sends it. Returns the transaction hash.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while another top-up of the subscription is in flight, or when this transfer was sent before;
/// [`PaymentTargetError::Connect`] when the connect session has ended.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn submit_signed_recharge(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Amount,
    signature: WalletSignature<'_>,
) -> Result<String, RechargeError> {
    let WalletSignature { payer: from, nonce, signed, .. } = signature;
    let mut unit = ctx.store.begin().await?;
    let account = account_of(ctx, unit.as_mut(), id).await?.account;
    let rail = ctx.networks.wallet(account.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let signed = rail.check(&account.method, &account.currency, &account.request(id, amount, from, nonce)?, signed)?;
    let now = ctx.now();
    let attempt = Attempt {
        connect_token: signature.connect_token(),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            Purpose::Recharge(id.clone()),
            AttemptKind::Wallet { payer: from.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() },
            MethodAmount { method_id: account.method.id, currency_id: account.currency.id, amount },
            now,
        )
    };
    insert(ctx, unit.as_mut(), &attempt, &signature).await?;
    unit.commit().await?;
    send_now(ctx, &attempt.id).await.map_err(PaymentTargetError::from)?;
    Ok(signed.hash)
}

/// Records a settled top-up: writes its statement and retries overdue invoices at once, which is what the funds are for.
pub(super) async fn recharged(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &SubscriptionId,
    reference: &str,
) -> Result<(), BillingError> {
    let subscription = unit.subscriptions().find(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    // The subscription's method may have changed meanwhile.
    let owner = StatementOwner { method_id: &attempt.method_id, currency_id: &attempt.currency_id, ..StatementOwner::from(&subscription) };
    // Before the number is allocated, in the same lock order as renewal batches, to avoid a deadlock.
    if subscription.ended_at.is_none() {
        let collected = collect_now(ctx, unit, &subscription).await?;
        publish_charges(ctx, unit, &collected).await?;
    }
    let pricing_formula = PricingFormula::Flat { amount: attempt.amount };
    let statement = Statement { reason: BillingReason::Recharge, description: Description::TopUp, reference, pricing_formula };
    record_statement(ctx, unit, owner, statement, now).await?;
    let wall = ctx.now();
    // The store received no payment, so no paid message is sent.
    let message = Message::new(Topic::Realtime, wall).with("event", "subscription.recharged").with("id", id);
    let message = message.with("customer_id", &subscription.customer_id).with("currency_id", &attempt.currency_id);
    unit.outbox().publish(&EventId::new(wall, ctx.random.as_ref()), &message, wall).await?;
    Ok(())
}
