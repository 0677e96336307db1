//! Sends many attempts concurrently, as a stage separate from renewals, and records their outcomes in groups.

use super::reconcile::{FIRST_SEND_LEASE, Lease, release};
use super::settlement::{Answer, record_alone, record_group};
use super::{AttemptContext, CALL_DEADLINE_MARGIN, Outcome, PurposeKind, SANDBOX_PAUSE, SettlementError, Trigger, query_or_send};
use crate::context::Context;
use crate::operation::RESTORE_PAUSE;
use crate::shared::{AttemptId, Timestamp};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// How long this stage owns the attempts it sends in the background. If slots are few or the network is slow, attempts that have no slot
/// [`CALL_DEADLINE_MARGIN`] before the end of the lease are left to the reconciler, which has its own slots.
const SEND_LEASE: Duration = Duration::from_secs(300);
/// The most outcomes of one commit. Larger groups save commits but delay the last result of a message.
const GROUP_SIZE: usize = 100;
/// Groups that are written concurrently, so that a remote database keeps up with the networks.
const WRITERS: usize = 2;

/// Sends attempts that no customer waits for, and records their outcomes. Attempts that another sender has claimed are left to the
/// reconciler, which queries before it sends again: of two senders of the same transaction, one could be declined while the other succeeds,
/// and only a single sender can treat a decline as final. So a duplicate message does nothing. Attempts that a settlement writes are sent
/// afterwards; after a failure the reconciler sends them.
#[tracing::instrument(skip_all, fields(attempts = ids.len()))]
pub async fn charge(ctx: &Context, ids: &[AttemptId]) -> Result<(), SettlementError> {
    let mut next = send(ctx, ids, true).await?;
    while !next.is_empty() {
        next = send(ctx, &next, true).await?;
    }
    Ok(())
}

/// As [`charge`], for one attempt that a customer waits for: it does not wait for a slot, and its lease is short, so that the reconciler soon
/// continues what a stopped process has left.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn charge_now(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    let mut next = vec![id.clone()];
    while !next.is_empty() {
        next = send(ctx, &next, false).await?;
    }
    Ok(())
}

/// Sends attempts, and returns those that settlements wrote and that must be sent next. `is_background`: they wait for slots, and while
/// their network's breaker is open they are left to the reconciler.
async fn send(ctx: &Context, ids: &[AttemptId], is_background: bool) -> Result<Vec<AttemptId>, SettlementError> {
    let claimed_at = ctx.now();
    let lease = Lease { claimed_at, until: claimed_at.plus(if is_background { SEND_LEASE } else { FIRST_SEND_LEASE }) };
    let mut unit = ctx.store.begin().await?;
    let claimed = unit.attempts().claim_unsent(ids, claimed_at, lease.until).await?;
    unit.commit().await?;
    let contexts = load(ctx, &claimed).await?;
    let (sender, answers) = futures_channel::mpsc::unbounded();
    let sending = async {
        // All attempts queue for slots at once, so that messages are served in order. If each message waited for a few slots at a time,
        // messages would take turns and finish together, and the networks would idle until the next message is read.
        let calls = contexts.into_iter().map(|context| async move {
            let sent = send_one(ctx, &context, lease, is_background).await;
            (context, sent)
        });
        let (mut calls, mut delayed) = (calls.collect::<FuturesUnordered<_>>(), BTreeMap::<_, Vec<_>>::new());
        while let Some((context, sent)) = calls.next().await {
            match sent {
                Sent::Answered(outcome) => {
                    if sender.unbounded_send(Answered { context, outcome }).is_err() {
                        break;
                    }
                }
                Sent::TooLate => {}
                Sent::Delayed(until) => delayed.entry(until).or_default().push(context.attempt.id),
            }
        }
        drop(sender);
        delayed
    };
    let writing = async {
        let written = answers.ready_chunks(GROUP_SIZE).map(|group| async move { write_group(ctx, &group).await });
        written.buffer_unordered(WRITERS).fold(Written::default(), |all, group| async { all.and(group) }).await
    };
    // Both run concurrently: commits do not delay network calls.
    let (delayed, written) = futures_util::future::join(sending, writing).await;
    for (until, ids) in &delayed {
        release(ctx, ids, lease, *until).await?;
    }
    match written.failure {
        Some(error) => Err(error),
        None => Ok(written.to_send),
    }
}

/// What became of an attempt that this stage has claimed.
enum Sent {
    Answered(Outcome),
    /// Too little of the lease was left.
    TooLate,
    /// The breaker of its network is open until then, the sandbox is off, or a restored store is held.
    Delayed(Timestamp),
}

async fn send_one(ctx: &Context, context: &AttemptContext, lease: Lease, is_background: bool) -> Sent {
    // It stays unsent, so that its later decline is final.
    if ctx.networks.is_paused(&context.method) {
        return Sent::Delayed(ctx.now().plus(SANDBOX_PAUSE));
    }
    if ctx.networks.is_held() {
        return Sent::Delayed(ctx.now().plus(RESTORE_PAUSE));
    }
    let _slot = if is_background { ctx.networks.acquire(&context.method.id, Trigger::Initial).await } else { None };
    if is_background && ctx.now().plus(CALL_DEADLINE_MARGIN) >= lease.until {
        return Sent::TooLate;
    }
    if is_background && let Err(until) = ctx.networks.admit(&context.method.id, ctx.now()) {
        return Sent::Delayed(until);
    }
    Sent::Answered(query_or_send(ctx, context, Trigger::Initial).await)
}

/// An attempt that was sent, and its network's answer.
struct Answered {
    context: AttemptContext,
    outcome: Outcome,
}

impl Answered {
    /// Whether it is recorded together with others. Settled payments are: their handler locks the rows of a whole group in the order of
    /// their ids. Declines and other settlements lock subscriptions, stakes and invoices one attempt after the other, so that two groups
    /// of them could wait for each other.
    fn is_grouped(&self) -> bool {
        match &self.outcome {
            Outcome::Settled(_) => self.context.attempt.purpose.kind() == PurposeKind::Payment,
            Outcome::Declined(_) => false,
            Outcome::Pending { .. } | Outcome::NotFound | Outcome::Unknown(_) => true,
        }
    }
}

/// The result of recording groups of outcomes.
#[derive(Default)]
struct Written {
    /// Attempts that settlements wrote and that must be sent.
    to_send: Vec<AttemptId>,
    /// The error of the last failed group or outcome.
    failure: Option<SettlementError>,
}

impl Written {
    fn and(mut self, other: Self) -> Self {
        self.to_send.extend(other.to_send);
        self.failure = other.failure.or(self.failure);
        self
    }
}

async fn load(ctx: &Context, ids: &[AttemptId]) -> Result<Vec<AttemptContext>, SettlementError> {
    let mut unit = ctx.store.read().await?;
    let attempts = unit.attempts().find_open(ids).await?;
    let (mut methods, mut currencies) = (HashMap::new(), HashMap::new());
    let mut contexts = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        if !methods.contains_key(&attempt.method_id) {
            let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettlementError::Orphan)?;
            methods.insert(attempt.method_id.clone(), method);
        }
        if !currencies.contains_key(&attempt.currency_id) {
            let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettlementError::Orphan)?;
            currencies.insert(attempt.currency_id.clone(), currency);
        }
        let (method, currency) = (methods[&attempt.method_id].clone(), currencies[&attempt.currency_id].clone());
        contexts.push(AttemptContext { attempt, method, currency });
    }
    Ok(contexts)
}

/// Records a group in one commit. If that fails, records each outcome in its own commit, so that one failure does not affect the others.
async fn write_group(ctx: &Context, group: &[Answered]) -> Written {
    let (together, mut alone): (Vec<_>, Vec<_>) = group.iter().partition(|answered| answered.is_grouped());
    let answers: Vec<_> = together.iter().map(|Answered { context, outcome }| Answer { context, outcome }).collect();
    let mut written = Written::default();
    if !answers.is_empty() {
        match record_group(ctx, &answers, Trigger::Initial).await {
            Ok(to_send) => written.to_send = to_send,
            Err(_) => alone.extend(together),
        }
    }
    for Answered { context, outcome } in alone {
        written = written.and(match record_alone(ctx, context, outcome, Trigger::Initial).await {
            Ok(to_send) => Written { to_send, failure: None },
            Err(error) => Written { to_send: Vec::new(), failure: Some(error) },
        });
    }
    written
}
