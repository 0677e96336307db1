//! The method and currency that a subscription will be charged by, and sending what its payer's wallet signed.

use super::subscription_admin::load;
use super::subscription_error::convert_subscription_errors;
use super::{Invoice, InvoiceStatus, Subscription, SubscriptionError, SubscriptionStatus};
use crate::access::ConnectExpired;
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, CheckError, Currency, Decline, Method, MethodAmount, Purpose, SignedTransaction, StepRejection,
    WalletSignature, charge_now, lock_step,
};
use crate::shared::{Amount, AttemptId, CurrencyId, MandateId, MethodId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// Why a method and currency cannot pay for a subscription, or why a payment that a wallet signed was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PaymentTargetError {
    #[error("This subscription has ended")]
    Ended,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// Invoices in the former currency, or invoices that a stake secures, are unpaid.
    #[error("Please pay your overdue invoices first")]
    UnpaidInvoices,
    /// The network declined, with its own message.
    #[error("{}", .0.message)]
    Declined(Decline),
    /// The connect session in which the wallet signed has ended.
    #[error(transparent)]
    Connect(ConnectExpired),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(PaymentTargetError::Subscription);

/// Why [`send_now`] has not sent an attempt.
#[derive(Debug)]
pub(super) enum SendError {
    /// The network declined, with its own message.
    Declined(Decline),
    Storage(StorageError),
}

impl From<StorageError> for SendError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<SendError> for PaymentTargetError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Declined(decline) => Self::Declined(decline),
            SendError::Storage(error) => error.into(),
        }
    }
}

impl From<StepRejection> for PaymentTargetError {
    fn from(refusal: StepRejection) -> Self {
        match refusal {
            StepRejection::Declined(decline) => Self::Declined(decline),
            StepRejection::Ended(expired) => Self::Connect(expired),
            StepRejection::Storage(error) => error.into(),
        }
    }
}

/// What a subscription will be charged by.
#[derive(Debug, Clone)]
pub(super) struct PaymentTarget {
    pub subscription: Subscription,
    pub method: Method,
    pub currency: Currency,
}

/// Reads the target, and checks that it is active and that every price of the subscription has the currency. A change of currency is
/// refused while invoices in the current one are unpaid or a stake is moving.
pub(super) async fn target(
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    method: Option<&MethodId>,
    currency: &CurrencyId,
) -> Result<PaymentTarget, PaymentTargetError> {
    let subscription = load(unit, id).await?;
    if subscription.status == SubscriptionStatus::Canceled {
        return Err(PaymentTargetError::Ended);
    }
    let found = unit.methods().find_currency(currency).await?;
    let currency = found.filter(|currency| currency.active && currency.mode == subscription.mode);
    let currency = currency.ok_or(PaymentTargetError::MethodNotSupported)?;
    let found = unit.methods().find(&currency.method_id).await?.filter(|found| found.active);
    let found = found.filter(|found| method.is_none_or(|method| *method == found.id)).ok_or(PaymentTargetError::MethodNotSupported)?;
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    if !prices.iter().all(|price| price.pricing_in(&currency.id).is_some()) {
        return Err(SubscriptionError::CurrencyNotConfigured.into());
    }
    if currency.id != subscription.currency_id {
        if is_stake_moving(unit, &subscription).await? {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
        // Retries charge only the subscription's currency, so unpaid invoices in the old one would never be collected.
        let unpaid = unpaid_in_currency(unit, &subscription).await?;
        if unpaid.iter().any(|invoice| invoice.status == InvoiceStatus::Uncollectible) {
            return Err(PaymentTargetError::UnpaidInvoices);
        }
        if !unpaid.is_empty() {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
    }
    Ok(PaymentTarget { subscription, method: found, currency })
}

/// Whether an attempt that moves one of the subscription's stakes is in flight.
async fn is_stake_moving(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, StorageError> {
    let ids: Vec<_> = [&subscription.stake_id, &subscription.overdraft_stake_id].into_iter().flatten().cloned().collect();
    let stakes = if ids.is_empty() { Vec::new() } else { unit.stakes().find_all(&ids).await? };
    Ok(stakes.iter().any(|stake| stake.reservation.is_some()))
}

/// The unpaid invoices of a subscription in its current currency.
pub(super) async fn unpaid_in_currency(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Invoice>, StorageError> {
    let mut unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    unpaid.retain(|invoice| invoice.currency_id == subscription.currency_id);
    Ok(unpaid)
}

/// Whether a delegation in `currency` that the subscription will be charged by is in flight.
pub(super) async fn is_change_pending(unit: &mut dyn UnitOfWork, id: &SubscriptionId, currency: &CurrencyId) -> Result<bool, StorageError> {
    Ok(pending_mandate(unit, id, currency).await?.is_some())
}

/// The newest delegation in `currency` that the subscription will be charged by and that is in flight.
pub(super) async fn pending_mandate(
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    currency: &CurrencyId,
) -> Result<Option<MandateId>, StorageError> {
    let pending = unit.mandates().pending_for_subscription(id).await?;
    for mandate in pending.into_iter().rev() {
        let open = unit.attempts().open_of(&Purpose::Mandate(mandate.clone())).await?;
        if open.is_some_and(|attempt| attempt.currency_id == *currency) {
            return Ok(Some(mandate));
        }
    }
    Ok(None)
}

/// As [`send_signed`], for a payment of a subscription.
///
/// # Errors
/// As [`send_signed`].
pub(super) async fn send(
    ctx: &Context,
    unit: Box<dyn UnitOfWork>,
    target: &PaymentTarget,
    purpose: Purpose,
    amount: Amount,
    signature: &WalletSignature<'_>,
    signed: SignedTransaction,
) -> Result<String, PaymentTargetError> {
    let amount = MethodAmount { method_id: target.method.id.clone(), currency_id: target.currency.id.clone(), amount };
    send_signed(ctx, unit, purpose, amount, signature, signed).await
}

/// Stores a transaction that a wallet signed, sends it, and returns its hash. Nothing is stored after the network has declined another
/// transaction of the same connect session.
///
/// # Errors
/// [`PaymentTargetError::Declined`] when the network declines it, or has declined the other one; [`PaymentTargetError::Connect`] when the
/// connect session has ended; [`SubscriptionError::PaymentInFlight`] when such an attempt exists already.
pub(super) async fn send_signed(
    ctx: &Context,
    mut unit: Box<dyn UnitOfWork>,
    purpose: Purpose,
    amount: MethodAmount,
    signature: &WalletSignature<'_>,
    signed: SignedTransaction,
) -> Result<String, PaymentTargetError> {
    let now = ctx.now();
    let kind = AttemptKind::Wallet { payer: signature.payer.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() };
    let begun = Attempt::begin(AttemptId::new(now, ctx.random.as_ref()), purpose, kind, amount, now);
    let attempt = Attempt { connect_token: signature.connect_token(), ..begun };
    insert(ctx, unit.as_mut(), &attempt, signature).await?;
    unit.commit().await?;
    send_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}

/// Inserts an attempt that a wallet signed.
///
/// # Errors
/// As [`send`].
pub(super) async fn insert(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    signature: &WalletSignature<'_>,
) -> Result<(), PaymentTargetError> {
    // While an outcome of that attempt is being recorded, an insert would wait for it, and the outcome may wait for what this unit of work
    // has locked.
    if unit.attempts().open_of(&attempt.purpose).await?.is_some() {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    lock_step(ctx, unit, signature.step.as_ref()).await?;
    match unit.attempts().insert(attempt, &[]).await {
        Err(StorageError::Duplicate(_)) => Err(SubscriptionError::PaymentInFlight.into()),
        inserted => Ok(inserted?),
    }
}

/// Sends an attempt that was just committed. Without an answer it stays in flight, and the reconciler queries the network later.
///
/// # Errors
/// [`SendError::Declined`] when the network declines it.
pub(super) async fn send_now(ctx: &Context, attempt: &AttemptId) -> Result<(), SendError> {
    if let Err(error) = charge_now(ctx, attempt).await {
        tracing::warn!(%attempt, %error, "the attempt stays with the reconciler");
    }
    let found = ctx.store.read().await?.attempts().find(attempt).await?;
    match found.filter(|attempt| attempt.status == AttemptStatus::Declined) {
        Some(declined) => Err(SendError::Declined(declined.last_error.unwrap_or_default())),
        None => Ok(()),
    }
}
