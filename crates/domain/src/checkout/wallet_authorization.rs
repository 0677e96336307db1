//! Wallet signatures for subscriptions beside payments: the mandate for later charges, and the stake.

use super::connect::{Adopted, adopt, lock_in_flight};
use super::stake::lacks_stake;
use super::submit::load_items;
use super::transfer::{Payable, TransferError, payable};
use super::{QuoteRequest, Session, SessionMode, quote};
use crate::access::{Did, Wallet};
use crate::billing::{ChargedItem, MandateLimits, RequestedLimits, mandate_limit, time_of};
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, CurrencyLimit, Mandate, MandateDetails, MandateRequest, MandateStatus, MethodAmount,
    PreparedMandate, PreparedStake, Purpose, SignedTransaction, SigningStep, StakeRequest, WalletSignature, connect_decline, lock_step,
    settle_unsent,
};
use crate::shared::{Amount, AttemptId, MandateId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// What the wallet signs next for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalletStep {
    /// The payment itself.
    Transfer,
    Mandate,
    Stake,
    /// Nothing more to sign: see [`super::advance`].
    Nothing,
}

/// Returns what the wallet signs next. An earlier mandate that suffices at the network is used instead of a new one.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn next_wallet_step(ctx: &Context, id: &SessionId, payer: &Did) -> Result<WalletStep, TransferError> {
    let mut unit = ctx.store.read().await?;
    let payable = payable(ctx, unit.as_mut(), id, payer).await?;
    if payable.session.kind == SessionMode::Payment {
        return Ok(WalletStep::Transfer);
    }
    let has_mandate = has_mandate(unit.as_mut(), &payable).await? && is_covered(ctx, unit.as_mut(), &payable).await?;
    drop(unit);
    if !has_mandate && !reuse(ctx, &payable).await? {
        return Ok(WalletStep::Mandate);
    }
    if let Some(stake) = payable.stake.as_ref().filter(|stake| lacks_stake(Some(stake))) {
        let mut unit = ctx.store.read().await?;
        if unit.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?.is_none() {
            return Ok(WalletStep::Stake);
        }
    }
    Ok(WalletStep::Nothing)
}

/// Whether the session has an active mandate, or one in flight.
async fn has_mandate(unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<bool, StorageError> {
    let Some(id) = &payable.session.mandate_id else { return Ok(false) };
    let found = unit.mandates().find(id).await?;
    Ok(match found.map(|mandate| mandate.status) {
        Some(MandateStatus::Active) => true,
        Some(MandateStatus::Pending) => unit.attempts().open_of(&Purpose::Mandate(id.clone())).await?.is_some(),
        Some(MandateStatus::Ended) | None => false,
    })
}

/// Whether the limits that the payer has signed cover the order, which may have grown since. If not, the network is queried.
async fn is_covered(ctx: &Context, unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<bool, TransferError> {
    let Some(id) = &payable.session.mandate_id else { return Ok(false) };
    let Some(MandateDetails::Delegation { limits, .. }) = unit.mandates().find(id).await?.and_then(|mandate| mandate.details) else {
        return Ok(true);
    };
    let most = mandate_limits(ctx, unit, payable).await?.of(&payable.currency.id).unwrap_or(payable.intent.amount);
    Ok(limits.iter().any(|(currency, limit)| *currency == payable.currency.id && *limit >= most))
}

/// Uses an earlier mandate of the payer if the network confirms that it suffices.
pub(super) async fn reuse(ctx: &Context, payable: &Payable) -> Result<bool, TransferError> {
    let Some(mandate) = sufficient(ctx, payable).await? else { return Ok(false) };
    let mut unit = ctx.store.begin().await?;
    let session = Session { mandate_id: Some(mandate), updated_at: ctx.now(), ..payable.session.clone() };
    if !unit.sessions().update(&session).await? {
        return Err(TransferError::Changed);
    }
    unit.commit().await?;
    Ok(true)
}

/// Finds an earlier mandate of this payer that covers the order.
pub(super) async fn sufficient(ctx: &Context, payable: &Payable) -> Result<Option<MandateId>, TransferError> {
    let Some(payer) = &payable.session.payer else { return Ok(None) };
    let mut unit = ctx.store.read().await?;
    let active = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
    let is_of_payer = |mandate: &&Mandate| matches!(&mandate.details, Some(MandateDetails::Delegation { payer: who, .. }) if who == payer);
    let Some(mandate) = active.iter().find(is_of_payer).map(|mandate| mandate.id.clone()) else { return Ok(None) };
    let most = match payable.session.kind {
        SessionMode::Payment => payable.intent.amount,
        _ => {
            let most = mandate_limits(ctx, unit.as_mut(), payable).await?;
            most.of(&payable.currency.id).unwrap_or(payable.intent.amount)
        }
    };
    drop(unit);
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let permits = rail.mandate_allows(&payable.method, &payable.currency, payer, most).await?;
    Ok(permits.then_some(mandate))
}

/// The mandate limits for each currency of the method: the price of a period of all of the payer's subscriptions, including the new ones,
/// and at least the amount due now.
async fn mandate_limits(ctx: &Context, unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<MandateLimits, TransferError> {
    let Payable { session, method, currency, intent, .. } = payable;
    let mut most = MandateLimits::of_customer(&ctx.policy, unit, &intent.customer_id, &method.id, None).await?;
    let clock = unit.clocks().of_customer(&intent.customer_id).await?;
    let now = time_of(ctx, unit, clock.map(|clock| clock.id).as_ref()).await?;
    let sold = load_items(unit, session).await.map_err(|_| TransferError::Changed)?;
    let order = quote(&QuoteRequest::of(session, &sold, true), currency, now).map_err(|_| TransferError::Changed)?;
    let recurring = session.items.iter().zip(&sold).filter(|(_, sold)| sold.price.is_recurring());
    let items = recurring.map(|(item, sold)| ChargedItem { price: &sold.price, quantity: item.quantity });
    most.add(&currency.id, mandate_limit(&ctx.policy, items, Some(order.threshold), &currency.id)?)?;
    most.raise(&currency.id, intent.amount);
    Ok(most)
}

/// [`mandate_limits`] for the mandate request.
async fn limits(ctx: &Context, unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<RequestedLimits, TransferError> {
    let most = mandate_limits(ctx, unit, payable).await?;
    Ok(most.requested(unit, payable.session.mode, &payable.method.id).await?)
}

fn mandate_request(payable: &Payable, payer: &Wallet, limits: Vec<CurrencyLimit>, nonce: u64) -> MandateRequest {
    let reference = payable.session.id.to_string();
    MandateRequest { payer: payer.did.clone(), payer_key: payer.public_key.clone(), limits, reference, nonce }
}

/// Uses another nonce than the mandate of the same connect session, since it is a separate transaction.
/// `None`: no deposit is missing.
fn stake_request(payable: &Payable, payer: &Wallet, nonce: u64) -> Option<StakeRequest> {
    let stake = payable.stake.as_ref().filter(|stake| lacks_stake(Some(stake)))?;
    Some(StakeRequest {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        amount: stake.missing(),
        subject: stake.id.to_string(),
        waiting: stake.waiting(),
        reference: payable.session.id.to_string(),
        nonce: nonce.wrapping_add(1),
    })
}

/// Builds the mandate of a submitted session. The same nonce builds the same transaction.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn prepare_mandate(ctx: &Context, id: &SessionId, payer: &Wallet, nonce: u64) -> Result<PreparedMandate, TransferError> {
    let mut unit = ctx.store.read().await?;
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    let RequestedLimits { limits, by_usage } = limits(ctx, unit.as_mut(), &payable).await?;
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let prepared = rail.prepare_mandate(&payable.method, &mandate_request(&payable, payer, limits.clone(), nonce))?;
    let description = payable.item_names(unit.as_mut()).await?;
    Ok(PreparedMandate { prepared, method: payable.method, limits, by_usage, description })
}

/// Checks the signed mandate against the request, stores it, sends it and records the outcome. Returns the transaction hash.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn submit_signed_mandate(ctx: &Context, id: &SessionId, signature: WalletSignature<'_>) -> Result<String, TransferError> {
    let WalletSignature { payer, nonce, signed: signed_tx, .. } = signature;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    let requested = limits(ctx, unit.as_mut(), &payable).await?;
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let granted_limits = requested.granted();
    let signed = rail.check_mandate(&payable.method, &mandate_request(&payable, payer, requested.limits, nonce), signed_tx)?;
    let mandate = Mandate {
        id: MandateId::new(now, ctx.random.as_ref()),
        mode: payable.session.mode,
        customer_id: payable.intent.customer_id.clone(),
        method_id: payable.method.id.clone(),
        status: MandateStatus::Pending,
        details: Some(MandateDetails::Delegation { payer: payer.did.clone(), limits: granted_limits, reference: signed.hash.clone() }),
        created_at: now,
        updated_at: now,
    };
    unit.mandates().upsert(&mandate).await?;
    let purpose = Purpose::Mandate(mandate.id.clone());
    let attempt = signed_attempt(ctx, &payable, &signature, purpose, Amount::ZERO, &signed);
    let session = Session { mandate_id: Some(mandate.id), updated_at: now, ..payable.session };
    write_attempt(ctx, unit.as_mut(), &attempt, &session, signature.step.as_ref()).await?;
    unit.commit().await?;
    settle_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}

/// Builds the stake payment of a submitted session. The same nonce builds the same transaction. `None`: no deposit is missing.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn prepare_stake(ctx: &Context, id: &SessionId, payer: &Wallet, nonce: u64) -> Result<Option<PreparedStake>, TransferError> {
    let mut unit = ctx.store.read().await?;
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    let Some(request) = stake_request(&payable, payer, nonce) else { return Ok(None) };
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let prepared = rail.prepare_stake(&payable.method, &payable.currency, &request)?;
    let description = payable.item_names(unit.as_mut()).await?;
    let Payable { method, currency, .. } = payable;
    Ok(Some(PreparedStake { prepared, method, currency, amount: request.amount, description }))
}

/// As [`submit_signed_mandate`], for the stake. It is not sent without a mandate.
///
/// # Errors
/// [`TransferError::Declined`] also when the network has declined the mandate of the same connect session.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn submit_signed_stake(ctx: &Context, id: &SessionId, signature: WalletSignature<'_>) -> Result<String, TransferError> {
    let WalletSignature { payer, nonce, signed: signed_tx, .. } = signature;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    // Otherwise the absence of the declined mandate would be reported. Checked again when the attempt is written.
    if let Some(decline) = connect_decline(unit.as_mut(), signature.step.as_ref()).await? {
        return Err(TransferError::Declined(decline));
    }
    let payable = payable(ctx, unit.as_mut(), id, &payer.did).await?;
    // The mandate may be in flight since another connect session, and the network may be declining it.
    let in_flight = lock_in_flight(unit.as_mut(), &payable.session).await?;
    if !has_mandate(unit.as_mut(), &payable).await? {
        return Err(TransferError::Changed);
    }
    let request = stake_request(&payable, payer, nonce).ok_or(TransferError::Changed)?;
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    let signed = rail.check_stake(&payable.method, &payable.currency, &request, signed_tx)?;
    let stake = payable.session.stake_id.clone().ok_or(TransferError::Changed)?;
    let attempt = signed_attempt(ctx, &payable, &signature, Purpose::Stake(stake), request.amount, &signed);
    let session = Session { updated_at: now, ..payable.session };
    write_attempt(ctx, unit.as_mut(), &attempt, &session, signature.step.as_ref()).await?;
    if let Some(step) = &signature.step {
        // The wallet waits for the mandate as well, unless its own connect session still does.
        if adopt(unit.as_mut(), &in_flight, step.token).await? == Adopted::AwaitedElsewhere {
            return Err(TransferError::PaymentInFlight);
        }
    }
    unit.commit().await?;
    settle_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}

fn signed_attempt(
    ctx: &Context,
    payable: &Payable,
    signature: &WalletSignature<'_>,
    purpose: Purpose,
    amount: Amount,
    signed: &SignedTransaction,
) -> Attempt {
    let now = ctx.now();
    Attempt {
        session_id: Some(payable.session.id.clone()),
        connect_token: signature.connect_token(),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            purpose,
            AttemptKind::Wallet { payer: signature.payer.did.clone(), bytes: signed.bytes.clone(), hash: signed.hash.clone() },
            MethodAmount { method_id: payable.method.id.clone(), currency_id: payable.currency.id.clone(), amount },
            now,
        )
    }
}

/// Writes the session, then the attempt: the session's version guards the attempt against concurrent expiry and changes.
async fn write_attempt(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    session: &Session,
    signing_step: Option<&SigningStep<'_>>,
) -> Result<(), TransferError> {
    if unit.attempts().open_of(&attempt.purpose).await?.is_some() {
        return Err(TransferError::PaymentInFlight);
    }
    if !unit.sessions().update(session).await? {
        return Err(TransferError::Changed);
    }
    lock_step(ctx, unit, signing_step).await?;
    match unit.attempts().insert(attempt, &[]).await {
        Ok(()) => Ok(()),
        Err(StorageError::Duplicate(_)) => Err(TransferError::PaymentInFlight),
        Err(error) => Err(error.into()),
    }
}

/// Sends an attempt, and returns the network's decline as an error. If the outcome is still unknown, the reconciler queries the network
/// later.
pub(super) async fn settle_now(ctx: &Context, id: &AttemptId) -> Result<(), TransferError> {
    if let Err(error) = settle_unsent(ctx, id).await {
        tracing::warn!(attempt = %id, %error, "the attempt stays with the reconciler");
    }
    let mut unit = ctx.store.read().await?;
    match unit.attempts().find(id).await? {
        Some(Attempt { status: AttemptStatus::Declined, last_error: Some(decline), .. }) => Err(TransferError::Declined(decline)),
        _ => Ok(()),
    }
}
