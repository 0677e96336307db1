//! The last step of a connect session in which nothing is left to sign: the wallet waits for the charge of its order.

use super::Session;
use super::advance::{MAX_TRIES, Step, step};
use super::transfer::TransferError;
use crate::context::Context;
use crate::payment::{Attempt, Purpose, SettlementError, SigningStep, lock_step, lock_unended, settle_unsent};
use crate::shared::{AttemptId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// As [`super::advance`], after the payer's wallet has confirmed its account. The connect session of `signing_step` then waits for the charge,
/// or for the transactions of the order that are in flight since an earlier connect session. Without any, the order is complete.
///
/// # Errors
/// [`TransferError::PaymentInFlight`] when another connect session waits for them; [`TransferError::Connect`] when this one has ended.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn advance_in_connect(ctx: &Context, id: &SessionId, signing_step: SigningStep<'_>) -> Result<(), TransferError> {
    for _ in 0..MAX_TRIES {
        match try_advance(ctx, id, &signing_step).await {
            Ok(Some(charge)) => {
                if let Err(error) = settle_unsent(ctx, &charge).await {
                    tracing::warn!(attempt = %charge, %error, "the attempt stays with the reconciler");
                }
                return Ok(());
            }
            Ok(None) => return Ok(()),
            Err(TransferError::Changed) => {}
            Err(error) => return Err(error),
        }
    }
    Err(TransferError::Changed)
}

/// Returns the charge to send, if any.
async fn try_advance(ctx: &Context, id: &SessionId, signing_step: &SigningStep<'_>) -> Result<Option<AttemptId>, TransferError> {
    let mut unit = ctx.store.begin().await?;
    let session = unit.sessions().find(id).await?.ok_or(TransferError::NotFound)?;
    if session.is_complete() {
        return Ok(None);
    }
    let in_flight = lock_in_flight(unit.as_mut(), &session).await?;
    let taken = step(ctx, unit.as_mut(), session.clone(), Some(signing_step.token), ctx.now()).await.map_err(refused)?;
    lock_step(ctx, unit.as_mut(), Some(signing_step)).await?;
    let charge = match taken {
        Step::Charge(attempt) => Some(attempt),
        Step::Completed => None,
        Step::Raced => return Err(TransferError::Changed),
        Step::Nothing => match adopt(unit.as_mut(), &in_flight, signing_step.token).await? {
            Adopted::All => None,
            Adopted::AwaitedElsewhere => return Err(TransferError::PaymentInFlight),
            Adopted::Nothing => return Err(TransferError::Changed),
        },
    };
    unit.commit().await?;
    Ok(charge)
}

fn refused(error: SettlementError) -> TransferError {
    match error {
        SettlementError::Storage(error) => error.into(),
        SettlementError::Amount(error) => error.into(),
        SettlementError::Rail(error) => error.into(),
        _ => TransferError::Changed,
    }
}

/// Which transactions of an order a connect session waits for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adopted {
    /// None is in flight.
    Nothing,
    All,
    /// A connect session that has not ended waits for one of them.
    AwaitedElsewhere,
}

/// The transactions of an order that are in flight. No outcome of them is recorded until this unit of work ends. The caller locks the order
/// and connect sessions afterwards, as recording an outcome does.
pub(super) async fn lock_in_flight(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Vec<Attempt>, StorageError> {
    let mandate = session.mandate_id.clone().map(Purpose::Mandate);
    let stake = session.stake_id.clone().map(Purpose::Stake);
    let payment = session.intent_id.clone().map(Purpose::Payment);
    let mut ids = Vec::new();
    for purpose in [mandate, stake, payment].into_iter().flatten() {
        ids.extend(unit.attempts().open_of(&purpose).await?.map(|attempt| attempt.id));
    }
    unit.attempts().lock_open(&ids).await
}

/// Makes a connect session wait for the transactions of its order that are in flight.
pub(super) async fn adopt(unit: &mut dyn UnitOfWork, in_flight: &[Attempt], token: &str) -> Result<Adopted, StorageError> {
    for attempt in in_flight {
        match attempt.connect_token.as_deref() {
            Some(own) if own == token => {}
            Some(other) if lock_unended(unit, other).await? => return Ok(Adopted::AwaitedElsewhere),
            _ => {
                unit.attempts().set_connect_token(&attempt.id, token).await?;
            }
        }
    }
    Ok(if in_flight.is_empty() { Adopted::Nothing } else { Adopted::All })
}
