//! Late failures and chain reorganizations: a network reports later that a payment which it had settled has failed.

use super::per_network;
use super::settlement::handler_of;
use super::{Attempt, AttemptContext, AttemptKind, AttemptStatus, Outcome, Purpose, Reversal, SettlementError, SignedTransaction, Trigger};
use crate::context::Context;
use crate::shared::{AttemptId, MethodId, Timestamp};
use futures_util::FutureExt;
use std::time::Duration;

/// When a settled payment of a wallet is looked up again: by then its network is final. A payment that is missing then is looked up once
/// more after the same time, since a lagging node can miss it as well.
pub const RECHECK_AFTER: Duration = Duration::from_secs(15 * 60);
/// A network that does not answer is asked again until a payment is as old as this.
const RECHECK_WINDOW: Duration = Duration::from_secs(24 * 3_600);
/// Payments of one network that one run looks up concurrently.
const CONCURRENCY: usize = 16;
/// Attempts before giving up when other units of work change the same rows.
const MAX_TRIES: u32 = 8;

/// A settled payment of a wallet that is due for another look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    pub id: AttemptId,
    pub method_id: MethodId,
    /// When it settled.
    pub settled_at: Timestamp,
    /// Whether the previous look did not find it.
    pub is_doubted: bool,
}

/// Asks a card network about a settled payment, and reverses it if it has failed or was canceled since. Returns whether it was reversed now.
/// An intent that waits for another card is canceled first, so that it can never be paid again.
///
/// # Errors
/// Those of [`crate::payment::PurposeHandler::reversed`].
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn reverse_if_failed(ctx: &Context, id: &AttemptId, reference: &str) -> Result<bool, SettlementError> {
    let Some(AttemptContext { attempt, method, currency }) = settled(ctx, id).await? else { return Ok(false) };
    let Some(rail) = ctx.networks.card(method.kind) else { return Ok(false) };
    ctx.networks.check_open(&method).map_err(super::RailError::from)?;
    match ctx.networks.heard(&method, rail.find_charge(&method, &currency, reference).await, ctx.now()) {
        Outcome::Declined(decline) => {
            tracing::warn!(code = decline.code, "a settled payment has failed");
            reverse(ctx, &attempt, reference).await
        }
        Outcome::Unknown(reason) => Err(super::RailError::Unreachable(reason).into()),
        Outcome::Settled(_) | Outcome::Pending { .. } | Outcome::NotFound => Ok(false),
    }
}

/// Looks up settled payments of wallets again, at most `limit`, and reverses those that are missing or declined at two looks. Returns the
/// number of payments that were looked up.
///
/// # Errors
/// The first failure, after all were looked up.
#[tracing::instrument(skip_all)]
pub async fn recheck_settled(ctx: &Context, limit: u32) -> Result<usize, SettlementError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let due = unit.attempts().claim_rechecks(now, now.plus(RECHECK_AFTER), limit).await?;
    unit.commit().await?;
    let looks = due.iter().map(|recheck| (recheck.method_id.clone(), look_again(ctx, recheck).boxed()));
    let results = per_network(looks, CONCURRENCY).await;
    match results.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

async fn look_again(ctx: &Context, recheck: &Recheck) -> Result<(), SettlementError> {
    let context = settled(ctx, &recheck.id).await?;
    let Some(AttemptContext { attempt, method, currency }) = context else { return end_rechecks(ctx, &recheck.id).await };
    let (AttemptKind::Wallet { bytes, hash, .. }, Some(rail)) = (&attempt.kind, ctx.networks.wallet(method.kind)) else {
        return end_rechecks(ctx, &recheck.id).await;
    };
    let signed = SignedTransaction { bytes: bytes.clone(), hash: hash.clone() };
    let _slot = ctx.networks.acquire(&method.id, Trigger::Reconciler).await;
    // The look is due again after the same time as one without an answer.
    if ctx.networks.is_paused(&method) || ctx.networks.admit(&method.id, ctx.now()).is_err() {
        return Ok(());
    }
    match ctx.networks.heard(&method, rail.find(&method, &currency, &signed.hash).await, ctx.now()) {
        Outcome::NotFound | Outcome::Declined(_) if recheck.is_doubted => {
            tracing::warn!(attempt = %attempt.id, "a settled payment is gone from its network");
            reverse(ctx, &attempt, &signed.hash).await.map(drop)
        }
        Outcome::NotFound | Outcome::Declined(_) => doubt(ctx, &recheck.id).await,
        Outcome::Pending { .. } | Outcome::Unknown(_) if ctx.now().since(recheck.settled_at) < RECHECK_WINDOW => Ok(()),
        Outcome::Settled(_) | Outcome::Pending { .. } | Outcome::Unknown(_) => end_rechecks(ctx, &recheck.id).await,
    }
}

async fn doubt(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().doubt(id, ctx.now().plus(RECHECK_AFTER)).await?;
    Ok(unit.commit().await?)
}

async fn end_rechecks(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().end_rechecks(id).await?;
    Ok(unit.commit().await?)
}

/// The attempt, if it is a settled payment.
async fn settled(ctx: &Context, id: &AttemptId) -> Result<Option<AttemptContext>, SettlementError> {
    let mut unit = ctx.store.read().await?;
    let is_settled_payment = |one: &Attempt| one.status == AttemptStatus::Settled && matches!(one.purpose, Purpose::Payment(_));
    let Some(attempt) = unit.attempts().find(id).await?.filter(is_settled_payment) else { return Ok(None) };
    let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettlementError::Orphan)?;
    Ok(Some(AttemptContext { attempt, method, currency }))
}

/// Reverses a settled attempt, once, and retries on contention. False: it was reversed before.
async fn reverse(ctx: &Context, attempt: &Attempt, reference: &str) -> Result<bool, SettlementError> {
    for _ in 0..MAX_TRIES {
        match try_reverse(ctx, attempt, reference).await {
            Err(SettlementError::Contended) => {}
            done => return done,
        }
    }
    Err(SettlementError::Contended)
}

async fn try_reverse(ctx: &Context, attempt: &Attempt, reference: &str) -> Result<bool, SettlementError> {
    let handler = handler_of(ctx, attempt)?;
    let mut unit = ctx.store.begin().await?;
    if !unit.attempts().claim_reversal(&attempt.id, ctx.now()).await? {
        return Ok(false);
    }
    let reversal = Reversal { reference: reference.to_owned(), amount: attempt.amount };
    handler.reversed(ctx, unit.as_mut(), attempt, &reversal).await?;
    unit.commit().await?;
    Ok(true)
}
