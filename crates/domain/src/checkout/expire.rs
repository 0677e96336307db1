//! Expires sessions.

use super::submit::open_attempt;
use super::{Session, SessionStatus};
use crate::billing::abandon_stake;
use crate::context::Context;
use crate::payment::{IntentStatus, SettlementError, cancel_attempt};
use crate::shared::{SessionId, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum ExpireError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("Only an open session can expire")]
    NotOpen,
    /// A payment was sent and is undecided; the session stays open until it is decided.
    #[error("A payment for this order is being processed. Please wait.")]
    PaymentInFlight,
    #[error(transparent)]
    Settle(#[from] SettlementError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The most pages that one batch processes; the rest follows in the next batch.
const MAX_PAGES: u32 = 50;

/// Expires due sessions and returns their number. Sessions with a payment in flight are left for the next batch.
#[tracing::instrument(skip_all)]
pub async fn expire_due(ctx: &Context, limit: u32) -> Result<usize, ExpireError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let mut expired = usize::try_from(unit.sessions().expire_idle(now, limit).await?).unwrap_or_default();
    unit.commit().await?;
    let (mut last, mut failure) = (None, None);
    for _ in 0..MAX_PAGES {
        let mut unit = ctx.store.read().await?;
        let due = unit.sessions().due_for_expiry(now, last.as_ref(), limit).await?;
        drop(unit);
        for (_, id) in &due {
            match expire_session(ctx, id).await {
                Ok(()) => expired += 1,
                Err(ExpireError::NotFound | ExpireError::NotOpen | ExpireError::PaymentInFlight) => {}
                // One failure must not keep the stock of the other sessions reserved.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        last = match due.into_iter().last() {
            Some(last) => Some(last),
            None => break,
        };
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(expired),
    }
}

/// Expires a session: cancels its card attempt at the provider, then updates session, intent, drafts and stock.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn expire_session(ctx: &Context, id: &SessionId) -> Result<(), ExpireError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(ExpireError::NotFound)?;
    let open = open_attempt(unit.as_mut(), &session).await?;
    drop(unit);
    if session.status != SessionStatus::Open {
        return Err(ExpireError::NotOpen);
    }
    if let Some(attempt) = open
        && !cancel_attempt(ctx, &attempt.id).await?
    {
        return Err(ExpireError::PaymentInFlight);
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    // Read again: the attempt may have ended with a payment. The version read here guards against an attempt that begins meanwhile.
    let session = unit.sessions().find(id).await?.ok_or(ExpireError::NotFound)?;
    if session.status != SessionStatus::Open {
        return Err(ExpireError::NotOpen);
    }
    if open_attempt(unit.as_mut(), &session).await?.is_some() {
        return Err(ExpireError::PaymentInFlight);
    }
    let expired = Session { status: SessionStatus::Expired, updated_at: now, ..session };
    if !unit.sessions().update(&expired).await? {
        return Err(ExpireError::PaymentInFlight);
    }
    // Lock order: intent, stake, invoices.
    if let Some(id) = &expired.intent_id {
        unit.intents().set_status(id, IntentStatus::Canceled, None, now).await?;
    }
    if let Some(stake) = &expired.stake_id {
        abandon_stake(ctx, unit.as_mut(), stake).await.map_err(SettlementError::from)?;
    }
    if let Some(id) = &expired.intent_id {
        let mut drafts = unit.intents().find(id).await?.map(|intent| intent.invoices).unwrap_or_default();
        drafts.sort();
        for invoice in &drafts {
            unit.invoices().drop_draft(invoice, now).await?;
        }
    }
    unit.prices().release(id).await?;
    unit.commit().await?;
    Ok(())
}
