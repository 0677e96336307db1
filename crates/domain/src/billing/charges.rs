//! Charges of a batch: what it wrote, the nonces of its transactions, and the message that sends them.

use super::{BillingError, ClockEvent};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::RailError;
use crate::shared::{AttemptId, EventId};
use crate::storage::UnitOfWork;

/// Attempts in one message.
const CHARGE_CHUNK: usize = 100;

/// What a batch of due subscriptions or stakes wrote.
#[derive(Debug, Default)]
pub struct BatchResult {
    /// How many subscriptions were due.
    pub due: usize,
    /// What is to be sent now.
    pub attempts: Vec<AttemptId>,
    pub timeline: Vec<ClockEvent>,
    /// Why a charge could not be written: the store's own settings of a method. What the round did stands.
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

/// Nonces of one round begin here and count up: milliseconds, and twelve random bits below, so that rounds of the same
/// millisecond differ. Networks take any nonce but the account's last one; all of them stay below 2^53.
pub(super) fn nonces(ctx: &Context) -> u64 {
    let millis = u64::try_from(ctx.now().micros() / 1_000).unwrap_or_default();
    millis << 12 | u64::from(u16::from_le_bytes(ctx.random.bytes()) & 0xfff)
}

/// Asks for attempts to be sent, in chunks.
pub(crate) async fn publish_charges(ctx: &Context, unit: &mut dyn UnitOfWork, attempts: &[AttemptId]) -> Result<(), BillingError> {
    let now = ctx.now();
    let message = |chunk: &[AttemptId]| {
        let ids: Vec<_> = chunk.iter().map(AttemptId::as_str).collect();
        (EventId::new(now, ctx.random.as_ref()), Message::new(Topic::Charge, now).with("attempts", ids.join(",")))
    };
    let messages: Vec<_> = attempts.chunks(CHARGE_CHUNK).map(message).collect();
    Ok(unit.outbox().publish_all(&messages, now).await?)
}

/// A nonce that no other transaction of this store's own account has: those of rounds are counted up from the time.
pub(crate) fn nonce(ctx: &Context) -> u64 {
    nonces(ctx).saturating_add(u64::from(u32::from_le_bytes(ctx.random.bytes()) >> 8))
}
