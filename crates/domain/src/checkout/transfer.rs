//! Wallet payments: prepares the transfer that a wallet signs, and submits the signed one.

use super::advance::planned_for;
use super::stake::stake_of;
use super::submit::{load_sold, names_of};
use super::wallet_authorization::settle_now;
use super::{Expanded, Session};
use crate::access::{ConnectExpired, Did, Wallet};
use crate::billing::{BillingError, Stake};
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, CheckError, Currency, Decline, Intent, Method, MethodAmount, Purpose, RailError, StepRejection, TransferRequest,
    UnsignedTransaction, WalletSignature, lock_step,
};
use crate::pricing::ProductNames;
use crate::shared::{AmountError, AttemptId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// An unsigned transfer with the data that the payer is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferToSign {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    pub currency: Currency,
    pub intent: Intent,
    /// A description of the order.
    pub description: ProductNames,
}

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("This link has expired...")]
    Expired,
    /// The session is not submitted, or the method is not supported.
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// The order belongs to another user.
    #[error("Account changed, please pay manually.")]
    OtherPayer,
    #[error("This order has already been paid")]
    Complete,
    #[error("Please pay your overdue invoices first")]
    CustomerLimited,
    /// The order was changed after the wallet was asked to sign.
    #[error("The order has changed. Please try again.")]
    Changed,
    #[error("A payment for this order is being processed. Please wait.")]
    PaymentInFlight,
    /// The network declined the signed transaction.
    #[error("{}", .0.message)]
    Declined(Decline),
    /// The connect session in which the wallet signed has ended.
    #[error(transparent)]
    Connect(ConnectExpired),
    #[error("amount is out of range")]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for TransferError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Changed,
            error => Self::Storage(error),
        }
    }
}

impl From<StepRejection> for TransferError {
    fn from(refusal: StepRejection) -> Self {
        match refusal {
            StepRejection::Declined(decline) => Self::Declined(decline),
            StepRejection::Ended(expired) => Self::Connect(expired),
            StepRejection::Storage(error) => error.into(),
        }
    }
}

impl From<BillingError> for TransferError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
            _ => Self::Changed,
        }
    }
}

/// A submitted session that its payer can pay.
pub(super) struct Payable {
    pub session: Session,
    pub method: Method,
    pub currency: Currency,
    pub intent: Intent,
    pub stake: Option<Stake>,
}

impl Payable {
    /// The description of the order in both languages.
    pub async fn item_names(&self, unit: &mut dyn UnitOfWork) -> Result<ProductNames, TransferError> {
        let sold = load_sold(unit, &self.session).await.map_err(|_| TransferError::Changed)?;
        Ok(names_of(&sold))
    }
}

pub(super) async fn payable(ctx: &Context, unit: &mut dyn UnitOfWork, id: &SessionId, payer: &Did) -> Result<Payable, TransferError> {
    let session = unit.sessions().find(id).await?.ok_or(TransferError::NotFound)?;
    check_session(ctx, &session, payer)?;
    let intent_id = session.intent_id.as_ref().ok_or(TransferError::MethodNotSupported)?;
    let intent = unit.intents().find(intent_id).await?.ok_or(TransferError::NotFound)?;
    // Invoices may have become overdue since the submit.
    if !unit.invoices().overdue(&intent.customer_id).await?.is_empty() {
        return Err(TransferError::CustomerLimited);
    }
    let method = unit.methods().find(&intent.method_id).await?.ok_or(TransferError::MethodNotSupported)?;
    let currency = unit.methods().find_currency(&intent.currency_id).await?.ok_or(TransferError::MethodNotSupported)?;
    let stake = stake_of(unit, &session).await?;
    check_payable(Payable { session, method, currency, intent, stake })
}

/// As [`payable`], for a session that is loaded already.
pub(super) fn payable_of(ctx: &Context, loaded: &Expanded, payer: &Did) -> Result<Payable, TransferError> {
    check_session(ctx, &loaded.session, payer)?;
    let intent = loaded.intent.clone().ok_or(TransferError::MethodNotSupported)?;
    let method = loaded.methods.iter().find(|method| method.id == intent.method_id).cloned();
    let currency = loaded.currencies.iter().find(|currency| currency.id == intent.currency_id).cloned();
    let (Some(method), Some(currency)) = (method, currency) else { return Err(TransferError::MethodNotSupported) };
    check_payable(Payable { session: loaded.session.clone(), method, currency, intent, stake: loaded.stake.clone() })
}

fn check_session(ctx: &Context, session: &Session, payer: &Did) -> Result<(), TransferError> {
    if session.payer.as_ref() != Some(payer) {
        return Err(TransferError::OtherPayer);
    }
    if session.is_complete() {
        return Err(TransferError::Complete);
    }
    if session.is_expired(ctx.now()) {
        return Err(TransferError::Expired);
    }
    Ok(())
}

fn check_payable(payable: Payable) -> Result<Payable, TransferError> {
    let Payable { session, method, currency, intent, .. } = &payable;
    if session.method_id.as_ref() != Some(&intent.method_id) || session.amount_total != intent.amount {
        return Err(TransferError::Changed);
    }
    if !method.active || !currency.active {
        return Err(TransferError::MethodNotSupported);
    }
    Ok(payable)
}

fn transfer_request(payable: &Payable, payer: &Wallet, nonce: u64) -> TransferRequest {
    TransferRequest {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        to: None,
        amount: payable.intent.amount,
        reference: payable.session.id.to_string(),
        nonce,
    }
}

/// Builds the transfer for a submitted session. The same nonce builds the same transfer.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn prepare_transfer(ctx: &Context, id: &SessionId, payer: &Wallet, nonce: u64) -> Result<TransferToSign, TransferError> {
    let mut unit = ctx.store.read().await?;
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let prepared = rail.prepare(&payable.method, &payable.currency, &transfer_request(&payable, payer, nonce))?;
    let description = payable.item_names(unit.as_mut()).await?;
    let Payable { method, currency, intent, .. } = payable;
    Ok(TransferToSign { prepared, method, currency, intent, description })
}

/// Checks the signed transfer against the request, stores its bytes, sends it and records the outcome. Returns the transaction hash; the
/// network may not have decided about it yet.
///
/// # Errors
/// [`TransferError::Declined`] when the network declines it.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn submit_signed_transfer(ctx: &Context, id: &SessionId, signature: WalletSignature<'_>) -> Result<String, TransferError> {
    let WalletSignature { payer, nonce, signed: signed_tx, .. } = signature;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let signed = rail.check(&payable.method, &payable.currency, &transfer_request(&payable, payer, nonce), signed_tx)?;
    let attempt = Attempt {
        session_id: Some(payable.session.id.clone()),
        connect_token: signature.connect_token(),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            Purpose::Payment(payable.intent.id.clone()),
            AttemptKind::Wallet { payer: payer.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() },
            MethodAmount { method_id: payable.method.id.clone(), currency_id: payable.currency.id.clone(), amount: payable.intent.amount },
            now,
        )
    };
    // Updates the session first, so that its version guards the attempt against concurrent expiry and changes.
    if unit.attempts().open_of_intent(&payable.intent.id).await?.is_some() {
        return Err(TransferError::PaymentInFlight);
    }
    let touched = Session { updated_at: now, ..payable.session };
    if !unit.sessions().update(&touched).await? {
        return Err(TransferError::Changed);
    }
    let planned = planned_for(unit.as_mut(), &payable.intent).await?;
    lock_step(ctx, unit.as_mut(), signature.step.as_ref()).await?;
    match unit.attempts().insert(&attempt, &planned).await {
        Ok(()) => {}
        Err(StorageError::Duplicate(_)) => return Err(TransferError::PaymentInFlight),
        Err(error) => return Err(error.into()),
    }
    unit.commit().await?;
    settle_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}
