//! Charges of a batch: its result, the nonces of its transactions, and the messages that send them.

use super::ClockEvent;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::payment::{NewAttempt, RailError};
use crate::shared::{AttemptId, EventId, MethodId, StorageError};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// The number of attempts in one message.
const CHARGE_CHUNK: usize = 100;

/// The result of one batch of due subscriptions, invoices or stakes.
#[derive(Debug, Default)]
pub struct BatchResult {
    /// How many objects were due.
    pub due: usize,
    /// Attempts to send now.
    pub attempts: Vec<AttemptId>,
    pub timeline: Vec<ClockEvent>,
    /// Why a charge could not be signed: a method's settings are wrong. The rest of the batch is valid.
    pub trouble: Option<RailError>,
}

impl BatchResult {
    pub(super) fn add(&mut self, other: Self) {
        self.due += other.due;
        self.attempts.extend(other.attempts);
        self.timeline.extend(other.timeline);
        self.trouble = self.trouble.take().or(other.trouble);
    }
}

/// The first nonce of a batch; further nonces count up from it. The upper bits are milliseconds and the lower twelve bits are random, so
/// that batches of the same millisecond differ. Networks accept any nonce except the account's last one. All nonces stay below 2^53.
pub(super) fn nonces(ctx: &Context) -> u64 {
    let millis = u64::try_from(ctx.now().micros() / 1_000).unwrap_or_default();
    millis << 12 | u64::from(u16::from_le_bytes(ctx.random.bytes()) & 0xfff)
}

/// Publishes the messages that send attempts, in chunks of one network each.
pub(crate) async fn publish_charges(ctx: &Context, unit: &mut dyn UnitOfWork, attempts: &[AttemptId]) -> Result<(), StorageError> {
    if attempts.is_empty() {
        return Ok(());
    }
    let mut by_method = BTreeMap::<_, Vec<_>>::new();
    for (id, method) in unit.attempts().methods_of(attempts).await? {
        by_method.entry(method).or_default().push(id);
    }
    publish_by_method(ctx, unit, &by_method).await
}

/// As [`publish_charges`], for attempts whose methods need not be read.
pub(super) async fn publish_new_charges(ctx: &Context, unit: &mut dyn UnitOfWork, attempts: &[NewAttempt]) -> Result<(), StorageError> {
    let mut by_method = BTreeMap::<_, Vec<_>>::new();
    for NewAttempt { attempt, .. } in attempts {
        by_method.entry(attempt.method_id.clone()).or_default().push(attempt.id.clone());
    }
    publish_by_method(ctx, unit, &by_method).await
}

async fn publish_by_method(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    by_method: &BTreeMap<MethodId, Vec<AttemptId>>,
) -> Result<(), StorageError> {
    let now = ctx.now();
    let message = |method: &MethodId, chunk: &[AttemptId]| {
        let ids: Vec<_> = chunk.iter().map(AttemptId::as_str).collect();
        let message = Message::new(Topic::Charge, now).with("attempts", ids.join(",")).with("method", method);
        NewMessage { id: EventId::new(now, ctx.random.as_ref()), message }
    };
    let chunks = by_method.iter().flat_map(|(method, ids)| ids.chunks(CHARGE_CHUNK).map(move |chunk| (method, chunk)));
    let messages: Vec<_> = chunks.map(|(method, chunk)| message(method, chunk)).collect();
    unit.outbox().publish_all(&messages, now).await
}

/// A nonce for a single transaction of the store's account, with random bits added so that it differs from those of batches.
pub(crate) fn nonce(ctx: &Context) -> u64 {
    nonces(ctx).saturating_add(u64::from(u32::from_le_bytes(ctx.random.bytes()) >> 8))
}
