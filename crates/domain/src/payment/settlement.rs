//! Records the outcome of an attempt: the only way in which an attempt changes its status after a network's answer (invariants 1, 3, 4,
//! 10).

use super::connect_result::{publish_decision, publish_decline};
use super::hold::hold;
use super::{
    Attempt, AttemptContext, AttemptStatus, Decline, IntentStatus, Origin, Outcome, Purpose, PurposeHandler, RailError, SettledAttempt,
    Trigger, next_check,
};
use crate::context::Context;
use crate::ledger::LedgerError;
use crate::shared::{AmountError, AttemptId, PaymentIntentId, StorageError};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// Attempts before giving up when other units of work change the same rows.
const MAX_TRIES: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum SettlementError {
    #[error("an object that the attempt refers to is missing")]
    Orphan,
    #[error("the rows of the settlement kept changing while it was recorded")]
    Contended,
    #[error("no handler supports this outcome of an attempt of purpose {0}")]
    Unsupported(&'static str),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    /// An error of a handler's own module.
    #[error("the settlement could not be applied: {0}")]
    Handler(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Storage(StorageError),
}

impl SettlementError {
    /// The handler does not support this attempt or outcome.
    #[must_use]
    pub const fn unsupported(attempt: &Attempt) -> Self {
        Self::Unsupported(attempt.purpose.name())
    }
}

impl From<StorageError> for SettlementError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

/// Records an outcome in its own unit of work, and retries on contention. Returns the attempts that must be sent now.
#[tracing::instrument(skip_all, fields(attempt = %context.attempt.id, purpose = context.attempt.purpose.name()))]
pub(super) async fn record_alone(
    ctx: &Context,
    context: &AttemptContext,
    outcome: &Outcome,
    trigger: Trigger,
) -> Result<Vec<AttemptId>, SettlementError> {
    for _ in 0..MAX_TRIES {
        match record_group(ctx, &[Answer { context, outcome }], trigger).await {
            Err(SettlementError::Contended) => {}
            done => return done,
        }
    }
    Err(SettlementError::Contended)
}

/// A network's answer about an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub context: &'a AttemptContext,
    pub outcome: &'a Outcome,
}

/// Records several outcomes in one commit: all or none.
pub(super) async fn record_group(ctx: &Context, group: &[Answer<'_>], trigger: Trigger) -> Result<Vec<AttemptId>, SettlementError> {
    let mut unit = ctx.store.begin().await?;
    let to_send = record_all(ctx, unit.as_mut(), group, trigger).await?;
    unit.commit().await?;
    Ok(to_send)
}

/// Records an outcome in this unit of work. Returns the attempts written by a handler that must be sent after the commit.
pub async fn record(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    context: &AttemptContext,
    outcome: &Outcome,
    trigger: Trigger,
) -> Result<Vec<AttemptId>, SettlementError> {
    record_all(ctx, unit, &[Answer { context, outcome }], trigger).await
}

/// As [`record`], for several outcomes. Settlements that one handler applies are written together.
async fn record_all(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    answers: &[Answer<'_>],
    trigger: Trigger,
) -> Result<Vec<AttemptId>, SettlementError> {
    let mut settled = BTreeMap::<_, Vec<_>>::new();
    for answer in answers {
        let Answer { context, outcome } = *answer;
        let attempt = &context.attempt;
        ctx.networks.observe(context.method.kind, outcome);
        match outcome {
            Outcome::Settled(settlement) if settlement.amount == attempt.amount && !attempt.is_on_hold() => {
                let handler = (attempt.purpose.kind(), Origin::of(attempt));
                settled.entry(handler).or_default().push(SettledAttempt { attempt, settlement });
            }
            _ => record_other(ctx, unit, answer, trigger).await?,
        }
    }
    let mut to_send = Vec::new();
    for group in settled.values() {
        to_send.extend(settle_all(ctx, unit, group).await?);
    }
    Ok(to_send)
}

/// Records an outcome other than a settlement of the attempt's amount.
async fn record_other(ctx: &Context, unit: &mut dyn UnitOfWork, answer: &Answer<'_>, trigger: Trigger) -> Result<(), SettlementError> {
    let Answer { context, outcome } = *answer;
    let attempt = &context.attempt;
    if attempt.is_on_hold() {
        // An answer to a call that began before the hold.
        return Ok(());
    }
    let undecided = match outcome {
        Outcome::Declined(decline) => return declined(ctx, unit, attempt, decline).await,
        Outcome::Settled(settlement) => return hold(ctx, unit, context, settlement).await,
        Outcome::Pending { requires_payer: true, last_error } => {
            Undecided { status: AttemptStatus::Open, intent: IntentStatus::RequiresAction, error: last_error.clone() }
        }
        // The network is processing another try; an earlier error would end the page's polling.
        Outcome::Pending { requires_payer: false, .. } | Outcome::NotFound => {
            Undecided { status: AttemptStatus::Open, intent: IntentStatus::Processing, error: None }
        }
        Outcome::Unknown(_) => Undecided { status: AttemptStatus::Unknown, intent: IntentStatus::Processing, error: None },
    };
    undecided.record(ctx, unit, attempt, trigger).await?;
    Ok(())
}

pub(super) fn handler_of<'c>(ctx: &'c Context, attempt: &Attempt) -> Result<&'c dyn PurposeHandler, SettlementError> {
    ctx.handlers.find(&attempt.purpose, Origin::of(attempt)).ok_or(SettlementError::unsupported(attempt))
}

/// Records settlements of attempts that have the same handler.
async fn settle_all(ctx: &Context, unit: &mut dyn UnitOfWork, group: &[SettledAttempt<'_>]) -> Result<Vec<AttemptId>, SettlementError> {
    let Some(handler) = group.first().map(|first| handler_of(ctx, first.attempt)).transpose()? else { return Ok(Vec::new()) };
    let ids: Vec<_> = group.iter().map(|one| one.attempt.id.clone()).collect();
    // Another caller may have recorded an outcome first.
    let settled = unit.attempts().settle_all(&ids, ctx.now()).await?;
    let group: Vec<_> = group.iter().filter(|one| settled.contains(&one.attempt.id)).copied().collect();
    if group.is_empty() {
        return Ok(Vec::new());
    }
    let to_send = handler.settled_all(ctx, unit, &group).await?;
    for SettledAttempt { attempt, .. } in group {
        publish_decision(ctx, unit, attempt).await?;
    }
    Ok(to_send)
}

async fn declined(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, decline: &Decline) -> Result<(), SettlementError> {
    let handler = handler_of(ctx, attempt)?;
    let is_first = unit.attempts().decline(attempt, decline, ctx.now()).await?;
    if !is_first {
        return Ok(());
    }
    handler.declined(ctx, unit, attempt, decline).await?;
    Ok(publish_decline(ctx, unit, attempt).await?)
}

/// An outcome that is not final: the attempt stays open and its intent shows why.
struct Undecided {
    status: AttemptStatus,
    intent: IntentStatus,
    error: Option<Decline>,
}

impl Undecided {
    /// Records the outcome on the attempt and its intent. False: the attempt has ended meanwhile.
    async fn record(self, ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, trigger: Trigger) -> Result<bool, SettlementError> {
        let now = ctx.now();
        // A poll does not change the time of the next check: until then the first sender owns the attempt, and a decline that it receives
        // is final.
        let check_at = (trigger != Trigger::Poll).then(|| next_check(now, attempt.checks));
        let is_open = unit.attempts().reschedule(&attempt.id, self.status, self.error.as_ref(), check_at, now).await?;
        // The intent of an attempt that has ended may already be used by the next attempt.
        if is_open && let Some(intent) = intent_of(unit, attempt).await? {
            unit.intents().set_status(&intent, self.intent, self.error.as_ref(), now).await?;
        }
        Ok(is_open)
    }
}

/// The intent that shows an attempt's state: the one it pays; for a mandate or a stake of a session, the session's.
pub(super) async fn intent_of(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Option<PaymentIntentId>, StorageError> {
    match (&attempt.purpose, &attempt.session_id) {
        (Purpose::Payment(intent), _) => Ok(Some(intent.clone())),
        (_, Some(session)) => Ok(unit.intents().find_by_session(session).await?.map(|intent| intent.id)),
        (_, None) => Ok(None),
    }
}
