//! Reconciles attempts with their networks: after the first sending, when a page polls, on the network's events, and in the reconciler's
//! batches.

use super::cancel::cancel_attempt;
use super::settlement::record_alone;
use super::{
    Attempt, AttemptContext, AttemptKind, CALL_DEADLINE_MARGIN, Outcome, Purpose, SANDBOX_PAUSE, Sandbox, SettlementError, Trigger,
    paused_methods, query_or_send,
};
use crate::context::Context;
use crate::operation::{CLOCK_TOLERANCE, RESTORE_PAUSE};
use crate::shared::{AttemptId, InvoiceId, MandateId, MethodId, StorageError, SubscriptionId, Timestamp};
use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use std::collections::VecDeque;
use std::time::Duration;

/// Attempts that one batch of the reconciler queries concurrently at one network.
const CONCURRENCY: usize = 16;
/// How long a batch owns the attempts that it has claimed. 200 attempts, 16 at a time, fit into it if each makes three network calls of at
/// most 10 s. An attempt that waited longer for a slot is queried, but a signed transaction is left to the next batch.
const BATCH_LEASE: Duration = Duration::from_secs(420);
/// How long a first sending owns its attempt, so that the reconciler does not send it concurrently. It makes at most three network calls of
/// at most 10 s.
pub(super) const FIRST_SEND_LEASE: Duration = Duration::from_secs(40);
/// The interval in which polling pages can trigger a network query.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same after an error: the payer may have tried again meanwhile, and an old error would end the page's polling.
pub const POLL_INTERVAL_AFTER_ERROR: Duration = Duration::from_millis(200);
/// The lifetime of an unused card form outside a session. Forms of a session are canceled when the session expires.
pub const CARD_SETUP_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// The lease of an attempt for sending it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    pub claimed_at: Timestamp,
    pub until: Timestamp,
}

/// Queries the network about an attempt and records the answer. Idempotent, and safe to run concurrently: a signed transaction is sent only
/// by the owner of the attempt's lease.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn settle(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    reconcile(ctx, id, Trigger::Reconciler, None).await
}

/// As [`settle`], for an attempt that was just written and, unless the reconciler was quicker, has never been sent.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn settle_unsent(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    reconcile(ctx, id, Trigger::Initial, None).await
}

/// Reconciles an attempt. Attempts that its settlement writes are sent right after it, one by one.
async fn reconcile(ctx: &Context, id: &AttemptId, trigger: Trigger, lease: Option<Lease>) -> Result<(), SettlementError> {
    let mut queue = VecDeque::from([(id.clone(), trigger, lease)]);
    while let Some((id, trigger, lease)) = queue.pop_front() {
        if is_paused(ctx, &id).await? {
            if let Some(lease) = lease {
                release(ctx, &[id], lease, ctx.now().plus(SANDBOX_PAUSE)).await?;
            }
            continue;
        }
        if ctx.networks.is_held() {
            look_up(ctx, &id, lease).await?;
            continue;
        }
        let lease = if trigger == Trigger::Initial { claim_first_send(ctx, &id).await? } else { lease };
        let Some(mut context) = load_undecided(ctx, &id).await? else { continue };
        let mut slot = None;
        // Payers who wait on a page do not wait for a slot.
        if trigger == Trigger::Reconciler {
            slot = ctx.networks.acquire(&context.method.id, trigger).await;
            // The attempt may have changed during the wait.
            let Some(found) = load_undecided(ctx, &id).await? else { continue };
            context = found;
            // A caller without a lease has a reason to believe that the network answers.
            if let Some(lease) = lease
                && let Err(until) = ctx.networks.admit(&context.method.id, ctx.now())
            {
                release(ctx, &[id], lease, until).await?;
                continue;
            }
        }
        let trigger = match may_send(ctx, &context.attempt, trigger, lease) {
            false => Trigger::Poll,
            // This lease claimed it for its first sending, so a decline is final at once.
            true if lease.is_some_and(|lease| context.attempt.sent_at == Some(lease.claimed_at)) => Trigger::Initial,
            true => trigger,
        };
        let outcome = query_or_send(ctx, &context, trigger).await;
        drop(slot);
        let next = record_alone(ctx, &context, &outcome, trigger).await?;
        queue.extend(next.into_iter().map(|id| (id, Trigger::Initial, None)));
    }
    Ok(())
}

/// Looks an attempt up in a restored store that must not send anything. If its network does not know it, it stays as it is: unsent, if it
/// was not sent before the backup.
async fn look_up(ctx: &Context, id: &AttemptId, lease: Option<Lease>) -> Result<(), SettlementError> {
    let Some(context) = load_undecided(ctx, id).await? else { return Ok(()) };
    match query_or_send(ctx, &context, Trigger::Poll).await {
        Outcome::NotFound | Outcome::Unknown(_) => {}
        // The next attempts that this writes are looked up when they are due.
        outcome => drop(record_alone(ctx, &context, &outcome, Trigger::Poll).await?),
    }
    match lease {
        Some(lease) => Ok(release(ctx, std::slice::from_ref(id), lease, ctx.now().plus(RESTORE_PAUSE)).await?),
        None => Ok(()),
    }
}

/// Whether the attempt's jobs are paused. It then stays as it is, and is due when the sandbox is switched on again.
async fn is_paused(ctx: &Context, id: &AttemptId) -> Result<bool, SettlementError> {
    if ctx.networks.sandbox() == Sandbox::On {
        return Ok(false);
    }
    Ok(load(ctx, id).await?.is_some_and(|context| ctx.networks.is_paused(&context.method)))
}

/// Whether this caller may send a signed transaction. The owner of a later lease may be sending it: of two senders of the same bytes, one
/// could be declined and record that, while the other one's transaction succeeds. A card provider recognizes the second request by its key.
fn may_send(ctx: &Context, attempt: &Attempt, trigger: Trigger, lease: Option<Lease>) -> bool {
    let is_owner = lease.is_some_and(|lease| lease.until == attempt.check_at);
    match (&attempt.kind, trigger) {
        (AttemptKind::Wallet { .. }, Trigger::Initial) => is_owner,
        // The wait for a slot may have used up the lease.
        (AttemptKind::Wallet { .. }, _) => is_owner && ctx.now().plus(CALL_DEADLINE_MARGIN) < attempt.check_at,
        _ => true,
    }
}

/// Claims an attempt for its first sending; `None`: it was claimed before.
async fn claim_first_send(ctx: &Context, id: &AttemptId) -> Result<Option<Lease>, SettlementError> {
    let claimed_at = ctx.now();
    let lease = Lease { claimed_at, until: claimed_at.plus(FIRST_SEND_LEASE) };
    let mut unit = ctx.store.begin().await?;
    let claimed = unit.attempts().claim_unsent(std::slice::from_ref(id), claimed_at, lease.until).await?;
    unit.commit().await?;
    Ok((!claimed.is_empty()).then_some(lease))
}

/// Queries the network for a polling page, at most once per [`POLL_INTERVAL`] however many pages poll, or per
/// [`POLL_INTERVAL_AFTER_ERROR`]. Returns whether it queried.
#[tracing::instrument(skip_all, fields(attempt = %open.id))]
pub async fn poll_network(ctx: &Context, open: &Attempt) -> Result<bool, SettlementError> {
    let now = ctx.now();
    let since = now.minus(if open.last_error.is_some() { POLL_INTERVAL_AFTER_ERROR } else { POLL_INTERVAL });
    poll_since(ctx, open, since, now).await
}

async fn poll_since(ctx: &Context, open: &Attempt, since: Timestamp, now: Timestamp) -> Result<bool, SettlementError> {
    // A time that is still to come was written by a wrong clock.
    let is_recent = open.updated_at > since && open.updated_at <= now.plus(CLOCK_TOLERANCE);
    if is_recent || open.is_on_hold() {
        return Ok(false);
    }
    let mut unit = ctx.store.begin().await?;
    let is_owner = unit.attempts().claim_poll(&open.id, since, now).await?;
    unit.commit().await?;
    if is_owner {
        reconcile(ctx, &open.id, Trigger::Poll, None).await?;
    }
    Ok(is_owner)
}

/// As [`poll_network`], for a page that waits for a mandate that a subscription will be charged by.
#[tracing::instrument(skip_all, fields(%subscription))]
pub async fn poll_for_subscription(ctx: &Context, subscription: &SubscriptionId) -> Result<bool, SettlementError> {
    let pending = ctx.store.read().await?.mandates().pending_for_subscription(subscription).await?;
    poll_mandates(ctx, pending).await
}

/// As [`poll_for_subscription`], for the card that will pay an invoice.
#[tracing::instrument(skip_all, fields(%invoice))]
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
    let mut has_queried = false;
    for attempt in &open {
        has_queried |= poll_since(ctx, attempt, since, now).await?;
    }
    Ok(has_queried)
}

/// Gives back attempts that were not sent under a lease, because the breaker of their network is open until `until` or the sandbox is off.
pub(super) async fn release(ctx: &Context, ids: &[AttemptId], lease: Lease, until: Timestamp) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().release(ids, lease.claimed_at, lease.until, until).await?;
    unit.commit().await
}

/// The methods with attempts that are due for a check, except paused ones.
pub async fn networks_due(ctx: &Context) -> Result<Vec<MethodId>, StorageError> {
    let paused = paused_methods(ctx).await?;
    let due = ctx.store.read().await?.attempts().networks_due(ctx.now()).await?;
    Ok(due.into_iter().filter(|method| !paused.contains(method)).collect())
}

/// Runs [`check_due_at`] for every network with due attempts, concurrently. Returns the number of attempts.
///
/// # Errors
/// The first failure, after all were checked.
pub async fn check_due(ctx: &Context, limit: u32) -> Result<usize, SettlementError> {
    let networks = networks_due(ctx).await?;
    let batches: Vec<_> = networks.iter().map(|method| check_due_at(ctx, method, limit).boxed()).collect();
    Ok(join_all(batches).await.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().sum())
}

/// Reconciles attempts of one method that are due for a check, several concurrently. A failure does not stop the others; the first one is
/// returned at the end. Returns the number of due attempts. While the breaker of the network is open, they stay due.
#[tracing::instrument(skip_all, fields(%method))]
pub async fn check_due_at(ctx: &Context, method: &MethodId, limit: u32) -> Result<usize, SettlementError> {
    let claimed_at = ctx.now();
    let limit = ctx.networks.allowance(method, claimed_at, limit);
    if limit == 0 {
        return Ok(0);
    }
    let lease = Lease { claimed_at, until: claimed_at.plus(BATCH_LEASE) };
    let mut unit = ctx.store.begin().await?;
    let due = unit.attempts().claim_due(method, claimed_at, lease.until, limit).await?;
    unit.commit().await?;
    // A slow attempt occupies one place while the others proceed.
    let checks: Vec<_> = due.iter().map(|id| check(ctx, id, lease).boxed()).collect();
    let results: Vec<_> = stream::iter(checks).buffer_unordered(CONCURRENCY).collect().await;
    match results.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

/// Reconciles an attempt, or cancels it if it is abandoned.
async fn check(ctx: &Context, id: &AttemptId, lease: Lease) -> Result<(), SettlementError> {
    let Some(context) = load_undecided(ctx, id).await? else { return Ok(()) };
    if !ctx.trust.is_trusted() || !is_abandoned(&context.attempt, ctx.now()) {
        return reconcile(ctx, id, Trigger::Reconciler, Some(lease)).await;
    }
    match ctx.networks.admit(&context.method.id, ctx.now()) {
        Ok(()) => cancel_attempt(ctx, id).await.map(drop),
        Err(until) => Ok(release(ctx, std::slice::from_ref(id), lease, until).await?),
    }
}

/// Whether it is a card form outside a session that nobody has completed in time. Forms of a session end with the session.
fn is_abandoned(attempt: &Attempt, now: Timestamp) -> bool {
    let is_setup = matches!(attempt.kind, AttemptKind::CardSetup { .. });
    is_setup && attempt.session_id.is_none() && now.since(attempt.created_at) >= CARD_SETUP_LIFETIME
}

/// The attempt, if its network can still decide it: it is open and not on hold.
async fn load_undecided(ctx: &Context, id: &AttemptId) -> Result<Option<AttemptContext>, SettlementError> {
    Ok(load(ctx, id).await?.filter(|context| !context.attempt.is_on_hold()))
}

/// The attempt, if it is still open.
pub(super) async fn load(ctx: &Context, id: &AttemptId) -> Result<Option<AttemptContext>, SettlementError> {
    let mut unit = ctx.store.read().await?;
    let Some(attempt) = unit.attempts().find(id).await?.filter(|attempt| attempt.status.is_open()) else { return Ok(None) };
    let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettlementError::Orphan)?;
    Ok(Some(AttemptContext { attempt, method, currency }))
}
