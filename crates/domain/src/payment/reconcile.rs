//! Asks networks about attempts: whoever has begun an attempt, a page that polls, the network's own event, the reconciler.

use super::cancel::cancel_attempt;
use super::settlement::record_alone;
use super::{Attempt, AttemptContext, AttemptKind, CALL_DEADLINE_MARGIN, Purpose, SettlementError, Trigger, query_or_send};
use crate::context::Context;
use crate::shared::{AttemptId, InvoiceId, MandateId, SubscriptionId, Timestamp};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::collections::VecDeque;
use std::time::Duration;

/// Attempts that one round of the reconciler asks about at the same time.
const AT_ONCE: usize = 16;
/// How long a round owns the attempts it has claimed: 200 of them, 16 at once, fit into it when each asks its network three times and
/// waits 10 s for every answer. An attempt that waited longer for a slot is asked about, but what a wallet has signed is left to the
/// next round.
const ROUND_LEASE: Duration = Duration::from_secs(420);
/// How long a first sending owns its attempt, so that the reconciler does not send it at the same time.
const FIRST_SEND_LEASE: Duration = Duration::from_secs(30);
/// A polling page may make us ask the network this often.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same after an error: the payer may have tried again meanwhile, and an old error would end the page's polling.
pub const POLL_INTERVAL_AFTER_ERROR: Duration = Duration::from_millis(200);
/// A card form outside of a session that nobody has filled in is canceled after this, as one of a session is when the session expires.
pub const CARD_SETUP_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// Who owns an attempt for sending: since when, and until when.
#[derive(Debug, Clone, Copy)]
struct Turn {
    taken_at: Timestamp,
    until: Timestamp,
}

/// Asks the network about an attempt and records the answer. Safe to call at any time, by anybody, also twice at once: what a wallet has
/// signed is sent only by the owner of the attempt's turn.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn settle(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    reconcile(ctx, id, Trigger::Reconciler, None).await
}

/// As [`settle`], for an attempt that was written just now and, unless the reconciler was quicker, has never been sent.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn settle_first(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    reconcile(ctx, id, Trigger::Initial, None).await
}

/// Attempts that the settlement wrote are sent at once, one after the other.
async fn reconcile(ctx: &Context, id: &AttemptId, trigger: Trigger, turn: Option<Turn>) -> Result<(), SettlementError> {
    let mut queue = VecDeque::from([(id.clone(), trigger, turn)]);
    while let Some((id, trigger, turn)) = queue.pop_front() {
        let turn = if trigger == Trigger::Initial { take_first(ctx, &id).await? } else { turn };
        let Some(mut context) = load(ctx, &id).await? else { continue };
        let mut slot = None;
        // A payer who waits at a page does not queue behind charges that nobody waits for.
        if trigger == Trigger::Reconciler {
            slot = ctx.networks.acquire(&context.method.id, trigger).await;
            // The attempt may have changed during the wait.
            let Some(found) = load(ctx, &id).await? else { continue };
            context = found;
        }
        let trigger = match may_send(ctx, &context.attempt, trigger, turn) {
            false => Trigger::Poll,
            // This turn claimed it for its first sending: nobody has sent it before, so a decline is final at once.
            true if turn.is_some_and(|turn| context.attempt.sent_at == Some(turn.taken_at)) => Trigger::Initial,
            true => trigger,
        };
        let outcome = query_or_send(ctx, &context, trigger).await;
        drop(slot);
        let next = record_alone(ctx, &context, &outcome, trigger).await?;
        queue.extend(next.into_iter().map(|id| (id, Trigger::Initial, None)));
    }
    Ok(())
}

/// Whether this caller may send what a wallet has signed. The owner of a later turn may be sending it: of two who send the same bytes,
/// one could be declined, and the decline be recorded, while the other one's transaction succeeds. A card's provider recognizes the
/// second request by its key.
fn may_send(ctx: &Context, attempt: &Attempt, trigger: Trigger, turn: Option<Turn>) -> bool {
    let is_ours = turn.is_some_and(|turn| turn.until == attempt.check_at);
    match (&attempt.kind, trigger) {
        (AttemptKind::Wallet { .. }, Trigger::Initial) => is_ours,
        // The wait for a slot may have used up the turn.
        (AttemptKind::Wallet { .. }, _) => is_ours && ctx.now().plus(CALL_DEADLINE_MARGIN) < attempt.check_at,
        _ => true,
    }
}

/// Claims an attempt for its first sending; `None`: it was claimed before.
async fn take_first(ctx: &Context, id: &AttemptId) -> Result<Option<Turn>, SettlementError> {
    let taken_at = ctx.now();
    let turn = Turn { taken_at, until: taken_at.plus(FIRST_SEND_LEASE) };
    let mut unit = ctx.store.begin().await?;
    let ours = unit.attempts().claim_unsent(std::slice::from_ref(id), taken_at, turn.until).await?;
    unit.commit().await?;
    Ok((!ours.is_empty()).then_some(turn))
}

/// A page polls: asks the network about the open attempt, at most once in [`POLL_INTERVAL`] however many pages poll, or in
/// [`POLL_INTERVAL_AFTER_ERROR`]. True when it asked.
#[tracing::instrument(skip_all, fields(attempt = %open.id))]
pub async fn poll_network(ctx: &Context, open: &Attempt) -> Result<bool, SettlementError> {
    let now = ctx.now();
    let since = now.minus(if open.last_error.is_some() { POLL_INTERVAL_AFTER_ERROR } else { POLL_INTERVAL });
    poll_since(ctx, open, since, now).await
}

async fn poll_since(ctx: &Context, open: &Attempt, since: Timestamp, now: Timestamp) -> Result<bool, SettlementError> {
    if open.updated_at > since {
        return Ok(false);
    }
    let mut unit = ctx.store.begin().await?;
    let is_ours = unit.attempts().claim_poll(&open.id, since, now).await?;
    unit.commit().await?;
    if is_ours {
        reconcile(ctx, &open.id, Trigger::Poll, None).await?;
    }
    Ok(is_ours)
}

/// A page waits for a mandate that a subscription will be charged by: asks the network, as [`poll_network`] does. True when it asked.
pub async fn poll_for_subscription(ctx: &Context, subscription: &SubscriptionId) -> Result<bool, SettlementError> {
    let pending = ctx.store.read().await?.mandates().pending_for_subscription(subscription).await?;
    poll_mandates(ctx, pending).await
}

/// As [`poll_for_subscription`], for the card that will pay an invoice.
pub async fn poll_for_invoice(ctx: &Context, invoice: &InvoiceId) -> Result<bool, SettlementError> {
    let pending = ctx.store.read().await?.mandates().pending_for_invoice(invoice).await?;
    poll_mandates(ctx, pending).await
}

async fn poll_mandates(ctx: &Context, pending: Vec<MandateId>) -> Result<bool, SettlementError> {
    let (now, mut open) = (ctx.now(), Vec::new());
    let mut unit = ctx.store.read().await?;
    for mandate in pending {
        open.extend(unit.attempts().open_of(&Purpose::Mandate(mandate)).await?);
    }
    drop(unit);
    let since = now.minus(POLL_INTERVAL);
    let mut asked = false;
    for attempt in &open {
        asked |= poll_since(ctx, attempt, since, now).await?;
    }
    Ok(asked)
}

/// The reconciler's round: attempts that are due for a check, several at once, since each waits for a network. A failure does not stop
/// the others; the first one is returned at the end. Answers how many attempts were due.
#[tracing::instrument(skip_all)]
pub async fn check_due(ctx: &Context, limit: u32) -> Result<usize, SettlementError> {
    let taken_at = ctx.now();
    let turn = Turn { taken_at, until: taken_at.plus(ROUND_LEASE) };
    let mut unit = ctx.store.begin().await?;
    let due = unit.attempts().claim_due(taken_at, turn.until, limit).await?;
    unit.commit().await?;
    // While one waits for long, the next ones take the places of those that are done.
    let checks: Vec<_> = due.iter().map(|id| check(ctx, id, turn).boxed()).collect();
    let done: Vec<_> = stream::iter(checks).buffer_unordered(AT_ONCE).collect().await;
    match done.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

/// Asks about an attempt, or cancels it when nobody will finish it any more.
async fn check(ctx: &Context, id: &AttemptId, turn: Turn) -> Result<(), SettlementError> {
    let context = load(ctx, id).await?;
    match context.is_some_and(|context| is_abandoned(&context.attempt, ctx.now())) {
        true => cancel_attempt(ctx, id).await.map(drop),
        false => reconcile(ctx, id, Trigger::Reconciler, Some(turn)).await,
    }
}

/// A card that was to be saved outside of a session, and whose form nobody has filled in. One of a session ends with the session.
fn is_abandoned(attempt: &Attempt, now: Timestamp) -> bool {
    let is_setup = matches!(attempt.kind, AttemptKind::CardSetup { .. });
    is_setup && attempt.session_id.is_none() && now.since(attempt.created_at) >= CARD_SETUP_LIFETIME
}

/// The attempt, if it is still open.
pub(super) async fn load(ctx: &Context, id: &AttemptId) -> Result<Option<AttemptContext>, SettlementError> {
    let mut unit = ctx.store.read().await?;
    let Some(attempt) = unit.attempts().find(id).await?.filter(|attempt| attempt.status.is_open()) else { return Ok(None) };
    let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettlementError::Orphan)?;
    Ok(Some(AttemptContext { attempt, method, currency }))
}
