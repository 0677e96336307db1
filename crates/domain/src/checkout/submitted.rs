//! Reads what a submit, or a payment without the wallet, has answered: for callers whose answer was lost.

use super::card::{OpenCardError, open_card};
use super::{Session, SessionStatus, Submitted, TransferError, expand};
use crate::access::{Did, User};
use crate::context::Context;
use crate::payment::{Attempt, AttemptKind};
use crate::shared::{FindError, SessionId, StorageError};
use crate::storage::UnitOfWork;

#[derive(Debug, thiserror::Error)]
pub enum ReadSubmittedError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// The session belongs to another user.
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    /// The method of the open payment no longer exists.
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// The currency of the open payment no longer exists.
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error(transparent)]
    Card(#[from] OpenCardError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The state of a session after its submit. Opens the card form if the submit died before it did; its key at the provider is the attempt's
/// id, so there is one form. Otherwise nothing is written.
///
/// # Errors
/// [`ReadSubmittedError::Forbidden`] for anybody but the session's payer.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn submitted(ctx: &Context, id: &SessionId, payer: &User) -> Result<Submitted, ReadSubmittedError> {
    let mut unit = ctx.store.read().await?;
    let session = expand(ctx, unit.as_mut(), id, Some(&payer.did)).await?.ok_or(FindError::NotFound)?;
    drop(unit);
    if session.session.payer.as_ref() != Some(&payer.did) {
        return Err(ReadSubmittedError::Forbidden);
    }
    let is_open = session.session.status == SessionStatus::Open;
    let is_card = |attempt: &&Attempt| matches!(attempt.kind, AttemptKind::Card { .. } | AttemptKind::CardSetup { .. });
    let card = match session.attempt.as_ref().filter(|_| is_open).filter(is_card) {
        Some(attempt) => {
            let method = session.methods.iter().find(|method| method.id == attempt.method_id);
            let currency = session.currencies.iter().find(|currency| currency.id == attempt.currency_id);
            let method = method.ok_or(ReadSubmittedError::MethodNotSupported)?;
            Some(open_card(ctx, method, currency.ok_or(ReadSubmittedError::CurrencyNotConfigured)?, attempt).await?)
        }
        None => None,
    };
    Ok(Submitted { may_pay_fast: is_open && card.is_none(), session, card })
}

/// Whether the session is paid, or a payment of it is in flight.
///
/// # Errors
/// [`TransferError::OtherPayer`] for anybody but the session's payer.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn is_fast_paid(ctx: &Context, id: &SessionId, payer: &Did) -> Result<bool, TransferError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(TransferError::NotFound)?;
    if session.payer.as_ref() != Some(payer) {
        return Err(TransferError::OtherPayer);
    }
    Ok(session.is_complete() || has_open_payment(unit.as_mut(), &session).await?)
}

async fn has_open_payment(unit: &mut dyn UnitOfWork, session: &Session) -> Result<bool, TransferError> {
    match &session.intent_id {
        Some(intent) => Ok(unit.attempts().open_of_intent(intent).await?.is_some()),
        None => Ok(false),
    }
}
