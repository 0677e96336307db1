//! Expires sessions.

use super::submit::open_attempt;
use super::{Session, SessionStatus};
use crate::billing::abandon_stake;
use crate::context::Context;
use crate::payment::{Attempt, IntentStatus, SettlementError, Trigger, cancel_attempt, paused_methods};
use crate::shared::{MethodId, SessionId, StorageError};
use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use std::collections::BTreeMap;

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
/// Attempts that are canceled concurrently at one network.
const CONCURRENCY: usize = 8;

/// The result of [`expire_unpaid`].
#[derive(Debug, Default)]
pub struct Expiry {
    pub expired: usize,
    /// Due sessions with an open attempt, which must be canceled at its network first.
    pub waiting: BTreeMap<MethodId, Vec<SessionId>>,
    /// The first failure. The other sessions were processed.
    pub failure: Option<ExpireError>,
}

/// Expires due sessions and returns their number. Sessions with a payment in flight are left for the next batch.
///
/// # Errors
/// The first failure, after all were processed.
#[tracing::instrument(skip_all)]
pub async fn expire_due(ctx: &Context, limit: u32) -> Result<usize, ExpireError> {
    let Expiry { mut expired, waiting, failure } = expire_unpaid(ctx, limit).await?;
    let batches: Vec<_> = waiting.iter().map(|(method, sessions)| expire_at(ctx, method, sessions).boxed()).collect();
    let results = join_all(batches).await;
    if let Some(error) = failure {
        return Err(error);
    }
    for result in results {
        expired += result?;
    }
    Ok(expired)
}

/// Expires due sessions without an open attempt, and collects the others. Calls no network.
#[tracing::instrument(skip_all)]
pub async fn expire_unpaid(ctx: &Context, limit: u32) -> Result<Expiry, ExpireError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let idle = unit.sessions().expire_idle(now, limit).await?;
    unit.commit().await?;
    let mut expiry = Expiry { expired: usize::try_from(idle).unwrap_or_default(), ..Expiry::default() };
    let mut last = None;
    for _ in 0..MAX_PAGES {
        let mut unit = ctx.store.read().await?;
        let due = unit.sessions().due_for_expiry(now, last.as_ref(), limit).await?;
        drop(unit);
        for (_, id) in &due {
            match expire_if_unpaid(ctx, id).await {
                Ok(None) => expiry.expired += 1,
                Ok(Some(method)) => expiry.waiting.entry(method).or_default().push(id.clone()),
                Err(ExpireError::NotFound | ExpireError::NotOpen | ExpireError::PaymentInFlight) => {}
                // One failure must not keep the stock of the other sessions reserved.
                Err(error) => expiry.failure = expiry.failure.or(Some(error)),
            }
        }
        last = match due.into_iter().last() {
            Some(last) => Some(last),
            None => break,
        };
    }
    Ok(expiry)
}

/// Expires sessions whose attempts are open at one network, several concurrently. While the network's breaker is open or its jobs are
/// paused, they stay open. Returns the number of expired sessions.
///
/// # Errors
/// The first failure, after all were processed.
#[tracing::instrument(skip_all, fields(%method))]
pub async fn expire_at(ctx: &Context, method: &MethodId, sessions: &[SessionId]) -> Result<usize, ExpireError> {
    if paused_methods(ctx).await?.contains(method) {
        return Ok(0);
    }
    let tasks: Vec<_> = sessions.iter().map(|id| expire_slowly(ctx, method, id).boxed()).collect();
    let results: Vec<_> = stream::iter(tasks).buffer_unordered(CONCURRENCY).collect().await;
    let (mut expired, mut failure) = (0, None);
    for result in results {
        match result {
            Ok(is_expired) => expired += usize::from(is_expired),
            Err(ExpireError::NotFound | ExpireError::NotOpen | ExpireError::PaymentInFlight) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(expired),
    }
}

/// As [`expire_session`], with a slot of the network and unless its breaker is open.
async fn expire_slowly(ctx: &Context, method: &MethodId, id: &SessionId) -> Result<bool, ExpireError> {
    let _slot = ctx.networks.acquire(method, Trigger::Reconciler).await;
    match ctx.networks.admit(method, ctx.now()) {
        Ok(()) => expire_session(ctx, id).await.map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Expires a session without an open attempt; otherwise returns the attempt's method.
async fn expire_if_unpaid(ctx: &Context, id: &SessionId) -> Result<Option<MethodId>, ExpireError> {
    match find_open_attempt(ctx, id).await? {
        Some(attempt) => Ok(Some(attempt.method_id)),
        None => close(ctx, id).await.map(|()| None),
    }
}

/// Expires a session: cancels its card attempt at the provider, then updates session, intent, drafts and stock.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn expire_session(ctx: &Context, id: &SessionId) -> Result<(), ExpireError> {
    if let Some(attempt) = find_open_attempt(ctx, id).await?
        && !cancel_attempt(ctx, &attempt.id).await?
    {
        return Err(ExpireError::PaymentInFlight);
    }
    close(ctx, id).await
}

/// The open attempt of an open session.
async fn find_open_attempt(ctx: &Context, id: &SessionId) -> Result<Option<Attempt>, ExpireError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(ExpireError::NotFound)?;
    match session.status {
        SessionStatus::Open => Ok(open_attempt(unit.as_mut(), &session).await?),
        _ => Err(ExpireError::NotOpen),
    }
}

/// Updates session, intent, drafts and stock of a session without an open attempt.
async fn close(ctx: &Context, id: &SessionId) -> Result<(), ExpireError> {
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
