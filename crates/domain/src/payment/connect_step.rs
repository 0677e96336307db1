//! Guards what is written for a connect session: nothing after the session has ended, and nothing after the network has declined one of its
//! transactions. Both hold in the unit of work that writes the attempt.

use super::connect_result::decline_among;
use super::reconcile::FIRST_SEND_LEASE;
use super::{CALL_DEADLINE_MARGIN, Decline, SigningStep};
use crate::access::{ConnectExpired, ConnectSession, ConnectStatus, advance_in};
use crate::context::Context;
use crate::shared::StorageError;
use crate::storage::UnitOfWork;
use std::time::Duration;

/// How long a step lives at least once it is being processed. The network may be queried before the transaction is stored, and the
/// transaction is being sent for as long as its lease.
pub const STEP_LIFETIME: Duration = FIRST_SEND_LEASE.saturating_add(CALL_DEADLINE_MARGIN.saturating_mul(2));

/// Why no attempt is written for a step of a connect session.
#[derive(Debug)]
pub(crate) enum StepRejection {
    /// The network has declined another transaction of the session.
    Declined(Decline),
    /// The session has ended, or it no longer waits for this step.
    Ended(ConnectExpired),
    Storage(StorageError),
}

impl From<StorageError> for StepRejection {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Checks that a connect session still waits for the attempt of this step, and keeps it from ending until this unit of work ends. The caller
/// inserts the attempt next: all other objects are locked before.
pub(crate) async fn lock_step(ctx: &Context, unit: &mut dyn UnitOfWork, step: Option<&SigningStep<'_>>) -> Result<(), StepRejection> {
    let Some(SigningStep { token, challenge }) = step else { return Ok(()) };
    let session = unit.connect_sessions().lock(token).await?;
    if let Some(decline) = decline_among(&unit.attempts().of_connect_session(token).await?) {
        return Err(StepRejection::Declined(decline));
    }
    let waits = |session: ConnectSession| {
        session.status == ConnectStatus::Working && session.challenge == *challenge && session.expires_at > ctx.now()
    };
    if session.is_some_and(waits) { Ok(()) } else { Err(StepRejection::Ended(ConnectExpired)) }
}

/// Why the network declined a transaction of the connect session of this step.
pub(crate) async fn connect_decline(unit: &mut dyn UnitOfWork, step: Option<&SigningStep<'_>>) -> Result<Option<Decline>, StorageError> {
    match step {
        Some(step) => Ok(decline_among(&unit.attempts().of_connect_session(step.token).await?)),
        None => Ok(None),
    }
}

/// Whether a connect session has not ended. It does not end until this unit of work ends.
pub(crate) async fn lock_unended(unit: &mut dyn UnitOfWork, token: &str) -> Result<bool, StorageError> {
    Ok(unit.connect_sessions().lock(token).await?.is_some_and(|session| !session.status.is_final()))
}

/// Lets the wallet repeat a step that has stored no transaction: [`lock_step`] then refuses to store one for the former challenge. `known`: the
/// number of the session's transactions before the step. False: a transaction was stored, or the session has changed.
pub async fn reopen_connect_step(ctx: &Context, session: &ConnectSession, known: usize, challenge: String) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let Some(stored) = unit.connect_sessions().lock(&session.token).await? else { return Ok(false) };
    if stored.status != session.status || stored.challenge != session.challenge {
        return Ok(false);
    }
    if unit.attempts().of_connect_session(&session.token).await?.len() > known {
        return Ok(false);
    }
    let reopened = ConnectSession { status: ConnectStatus::Scanned, challenge, ..stored.clone() };
    let is_reopened = advance_in(ctx, unit.as_mut(), &stored, &reopened).await?;
    unit.commit().await?;
    Ok(is_reopened)
}
