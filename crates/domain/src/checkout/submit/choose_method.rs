//! Chooses the payment method of an order, and compares an open payment with it.

use super::SubmitError;
use super::check_order::Loaded;
use crate::checkout::{ChosenMethod, Quote, Session, SessionMode};
use crate::context::Context;
use crate::payment::{Attempt, AttemptKind, Purpose, RailError};
use crate::shared::{AttemptId, MethodId, StorageError};
use crate::storage::UnitOfWork;

/// Checks that the session can be paid by the chosen method, in the chosen currency.
pub(super) async fn check_method(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    chosen: Option<ChosenMethod>,
    id: &MethodId,
) -> Result<ChosenMethod, SubmitError> {
    let Some(ChosenMethod { method, currency }) = chosen else {
        return Err(match unit.methods().find(id).await? {
            Some(_) => SubmitError::CurrencyNotConfigured,
            None => SubmitError::MethodNotSupported,
        });
    };
    let is_supported = ctx.networks.card(method.kind).is_some() || ctx.networks.wallet(method.kind).is_some();
    if !is_supported || !method.active || method.mode != session.mode {
        return Err(SubmitError::MethodNotSupported);
    }
    if !currency.active || currency.mode != session.mode {
        return Err(SubmitError::CurrencyNotConfigured);
    }
    ctx.networks.check_open(&method).map_err(RailError::from)?;
    Ok(ChosenMethod { method, currency })
}

/// The open attempt of a session: a payment, a mandate, or a stake.
pub(in crate::checkout) async fn open_attempt(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Option<Attempt>, StorageError> {
    if let Some(intent) = &session.intent_id
        && let Some(open) = unit.attempts().open_of_intent(intent).await?
    {
        return Ok(Some(open));
    }
    if session.kind == SessionMode::Payment {
        return Ok(None);
    }
    if let Some(mandate) = &session.mandate_id
        && let Some(open) = unit.attempts().open_of(&Purpose::Mandate(mandate.clone())).await?
    {
        return Ok(Some(open));
    }
    match &session.stake_id {
        Some(stake) => unit.attempts().open_of(&Purpose::Stake(stake.clone())).await,
        None => Ok(None),
    }
}

/// What a submit does with the attempt of an earlier one.
pub(super) enum OpenAttempt {
    /// There is none, or it pays the same order.
    Kept,
    /// It pays a different order by card, and must be canceled first.
    Replaced(AttemptId),
}

/// Compares the open attempt with the order.
///
/// # Errors
/// [`SubmitError::PaymentInFlight`] for an attempt that only its network can end.
pub(super) fn compare_open_attempt(loaded: &Loaded, quote: &Quote) -> Result<OpenAttempt, SubmitError> {
    let Loaded { session, method, currency, attempt, .. } = loaded;
    let Some(attempt) = attempt else { return Ok(OpenAttempt::Kept) };
    let is_setup = matches!(attempt.kind, AttemptKind::CardSetup { .. });
    let is_same = attempt.method_id == method.id
        && attempt.currency_id == currency.id
        && attempt.amount == quote.due.now
        && is_setup == (method.kind.is_card() && needs_setup(session.kind, quote));
    match attempt.kind {
        // The customer may have corrected the form; the open payment is kept.
        AttemptKind::Card { .. } | AttemptKind::CardSetup { .. } if is_same => Ok(OpenAttempt::Kept),
        AttemptKind::Card { .. } | AttemptKind::CardSetup { .. } => Ok(OpenAttempt::Replaced(attempt.id.clone())),
        _ => Err(SubmitError::PaymentInFlight),
    }
}

/// Whether a card must be saved although nothing is due.
fn needs_setup(kind: SessionMode, quote: &Quote) -> bool {
    kind != SessionMode::Payment && quote.due.now.is_zero()
}
