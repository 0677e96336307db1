//! Sends many attempts at once: a stage of its own. Many attempts are on their way at the same time; their outcomes are recorded in
//! groups.

use super::settlement::{record_alone, record_group};
use super::{AttemptContext, CALL_DEADLINE_MARGIN, Outcome, SettlementError, Trigger, query_or_send};
use crate::context::Context;
use crate::shared::AttemptId;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::time::Duration;

/// How long this stage owns the attempts it sends. Where slots are few or the network is slow, an attempt whose turn has not come
/// [`CALL_DEADLINE_MARGIN`] before the end is left to the reconciler, which has slots of its own.
const SEND_LEASE: Duration = Duration::from_secs(300);
/// The most outcomes of one commit. Larger groups save commits but delay the last result of a message.
const GROUP: usize = 32;
/// Groups that are written at the same time, so that a database that is a network round trip away keeps up with the networks.
const WRITERS: usize = 2;

/// Sends attempts that no checkout waits for, and records their outcomes. Attempts that somebody else has begun to send are left to the
/// reconciler, which asks before it sends again: of two who send the same, one could be declined while the other one's succeeds, and only
/// the single sender may treat a decline as final. So a message that comes twice does nothing the second time. Attempts that a settlement
/// wrote are sent afterwards; after a failure the reconciler sends them.
#[tracing::instrument(skip_all, fields(attempts = ids.len()))]
pub async fn charge(ctx: &Context, ids: &[AttemptId]) -> Result<(), SettlementError> {
    let mut next = send(ctx, ids, true).await?;
    while !next.is_empty() {
        next = send(ctx, &next, true).await?;
    }
    Ok(())
}

/// As [`charge`], for one attempt that a customer waits for: it does not queue behind those that nobody waits for.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn charge_now(ctx: &Context, id: &AttemptId) -> Result<(), SettlementError> {
    let mut next = vec![id.clone()];
    while !next.is_empty() {
        next = send(ctx, &next, false).await?;
    }
    Ok(())
}

/// Answers the attempts that were written by a settlement and must be sent next.
async fn send(ctx: &Context, ids: &[AttemptId], queues: bool) -> Result<Vec<AttemptId>, SettlementError> {
    let until = ctx.now().plus(SEND_LEASE);
    let mut unit = ctx.store.begin().await?;
    let ours = unit.attempts().claim_unsent(ids, ctx.now(), until).await?;
    unit.commit().await?;
    let contexts = load(ctx, &ours).await?;
    let (sender, answers) = futures_channel();
    let sending = async {
        // All of them wait for slots from the beginning, so that messages are served in the order they came. If each message waited for
        // a few slots at a time, messages would take turns and end together, and the networks would idle until the next one is read.
        let asked = contexts.into_iter().map(|context| async move {
            let _slot = if queues { Some(ctx.networks.acquire(&context.method.id, Trigger::Initial).await) } else { None };
            let in_time = ctx.now().plus(CALL_DEADLINE_MARGIN) < until;
            let outcome = if in_time { Some(query_or_send(ctx, &context, Trigger::Initial).await) } else { None };
            (context, outcome)
        });
        let mut asked = asked.collect::<FuturesUnordered<_>>();
        while let Some((context, outcome)) = asked.next().await {
            let Some(outcome) = outcome else { continue };
            if sender.unbounded_send((context, outcome)).is_err() {
                break;
            }
        }
        drop(sender);
    };
    let writing = async {
        let written = answers.ready_chunks(GROUP).map(|group| async move { write_group(ctx, &group).await });
        written.buffer_unordered(WRITERS).fold(Written::default(), |all, group| async { all.and(group) }).await
    };
    // Both run at the same time: a commit does not keep the networks waiting.
    let ((), written) = futures_util::future::join(sending, writing).await;
    match written.failure {
        Some(error) => Err(error),
        None => Ok(written.to_send),
    }
}

type Answer = (AttemptContext, Outcome);

/// What became of groups of outcomes.
#[derive(Default)]
struct Written {
    /// Attempts that settlements wrote.
    to_send: Vec<AttemptId>,
    /// The last failure.
    failure: Option<SettlementError>,
}

impl Written {
    fn and(mut self, other: Self) -> Self {
        self.to_send.extend(other.to_send);
        self.failure = other.failure.or(self.failure);
        self
    }
}

fn futures_channel() -> (futures_channel::mpsc::UnboundedSender<Answer>, futures_channel::mpsc::UnboundedReceiver<Answer>) {
    futures_channel::mpsc::unbounded()
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

/// One commit for the whole group. Where that fails, one commit for each outcome, so that one that cannot be recorded does not keep the
/// others.
async fn write_group(ctx: &Context, group: &[Answer]) -> Written {
    let outcomes: Vec<_> = group.iter().map(|(context, outcome)| (context, outcome)).collect();
    if let Ok(to_send) = record_group(ctx, &outcomes, Trigger::Initial).await {
        return Written { to_send, failure: None };
    }
    let mut written = Written::default();
    for (context, outcome) in group {
        written = written.and(match record_alone(ctx, context, outcome, Trigger::Initial).await {
            Ok(to_send) => Written { to_send, failure: None },
            Err(error) => Written { to_send: Vec::new(), failure: Some(error) },
        });
    }
    written
}
