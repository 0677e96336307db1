//! Charging: a stage of its own. Many attempts are on their way at once; what the networks say is written down in groups.

use super::BillingError;
use super::outcome::{refused, settled};
use crate::context::Context;
use crate::payment::{Asker, AttemptStatus, IntentStatus, LAST_CALL, Outcome, Purpose, Pursued, Refusal, ask, next_check};
use crate::shared::AttemptId;
use crate::storage::UnitOfWork;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::time::Duration;

/// What is being sent is nobody else's for this long. Where slots are few, or the network is slow, and its turn has not come
/// [`LAST_CALL`] before that, the janitor, who has slots of its own, sends it.
const SENDING: Duration = Duration::from_secs(300);
/// The most outcomes of one commit. Twice as many would spare commits where answers pile up, and keep the last of a message waiting for
/// as long again.
const GROUP: usize = 32;
/// Groups that are written beside each other, so that a database that is a journey away keeps up with the networks.
const WRITERS: usize = 2;
/// How often an outcome that lost a race is written again.
const TRIES: u32 = 8;

/// Sends attempts that no checkout waits for, and writes down what becomes of them. Those that somebody else has begun to send
/// are left to the janitor, who asks before sending again: of two who send the same, one could be refused while the other is not,
/// and only who is alone may believe a refusal. So a message that comes twice does nothing the second time.
pub async fn charge(ctx: &Context, ids: &[AttemptId]) -> Result<(), BillingError> {
    send(ctx, ids, true).await
}

/// The same for one that a customer waits for: it does not queue behind those that nobody waits for.
pub(super) async fn charge_at_once(ctx: &Context, id: &AttemptId) -> Result<(), BillingError> {
    send(ctx, std::slice::from_ref(id), false).await
}

async fn send(ctx: &Context, ids: &[AttemptId], queues: bool) -> Result<(), BillingError> {
    let until = ctx.now().plus(SENDING);
    let mut unit = ctx.store.begin().await?;
    let ours = unit.attempts().claim_first(ids, ctx.now(), until).await?;
    unit.commit().await?;
    let pursued = load(ctx, &ours).await?;
    let (sender, answers) = futures_channel();
    let sending = async {
        // All of them wait for slots from the beginning: those of messages that came first have their turn first. If each message
        // waited for a few at a time, the messages would take turns and end together, and the networks wait for the next to be read.
        let asked = pursued.into_iter().map(|pursued| async move {
            let _slot = if queues { Some(ctx.networks.slot(&pursued.method.id, Asker::First).await) } else { None };
            let in_time = ctx.now().plus(LAST_CALL) < until;
            let outcome = if in_time { Some(ask(ctx, &pursued, Asker::First).await) } else { None };
            (pursued, outcome)
        });
        let mut asked = asked.collect::<FuturesUnordered<_>>();
        while let Some((pursued, outcome)) = asked.next().await {
            let Some(outcome) = outcome else { continue };
            if sender.unbounded_send((pursued, outcome)).is_err() {
                break;
            }
        }
        drop(sender);
    };
    let writing = async {
        let written = answers.ready_chunks(GROUP).map(|group| async move { write_group(ctx, &group).await.err() });
        written.buffer_unordered(WRITERS).fold(None, |last, failure| async { failure.or(last) }).await
    };
    // Both go on beside each other: the networks are not kept waiting by a commit.
    let ((), failure) = futures_util::future::join(sending, writing).await;
    failure.map_or(Ok(()), Err)
}

type Answer = (Pursued, Outcome);

fn futures_channel() -> (futures_channel::mpsc::UnboundedSender<Answer>, futures_channel::mpsc::UnboundedReceiver<Answer>) {
    futures_channel::mpsc::unbounded()
}

async fn load(ctx: &Context, ids: &[AttemptId]) -> Result<Vec<Pursued>, BillingError> {
    let mut unit = ctx.store.read().await?;
    let attempts = unit.attempts().open_among(ids).await?;
    let (mut methods, mut currencies) = (HashMap::new(), HashMap::new());
    let mut pursued = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        if !methods.contains_key(&attempt.method_id) {
            let method = unit.methods().find(&attempt.method_id).await?.ok_or(BillingError::Orphan)?;
            methods.insert(attempt.method_id.clone(), method);
        }
        if !currencies.contains_key(&attempt.currency_id) {
            let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(BillingError::Orphan)?;
            currencies.insert(attempt.currency_id.clone(), currency);
        }
        let (method, currency) = (methods[&attempt.method_id].clone(), currencies[&attempt.currency_id].clone());
        pursued.push(Pursued { attempt, method, currency });
    }
    Ok(pursued)
}

/// One commit for the whole group; where that fails, one for each, so that one that cannot be written does not keep the others.
async fn write_group(ctx: &Context, group: &[Answer]) -> Result<(), BillingError> {
    if write_all(ctx, group).await.is_ok() {
        return Ok(());
    }
    let mut failure = None;
    for answer in group {
        if let Err(error) = write_alone(ctx, answer).await {
            failure = Some(error);
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn write_all(ctx: &Context, group: &[Answer]) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    for (pursued, outcome) in group {
        note(ctx, unit.as_mut(), pursued, outcome, Asker::First).await?;
    }
    unit.commit().await?;
    Ok(())
}

async fn write_alone(ctx: &Context, answer: &Answer) -> Result<(), BillingError> {
    for _ in 0..TRIES {
        match write_all(ctx, std::slice::from_ref(answer)).await {
            Err(BillingError::Contended) => {}
            done => return done,
        }
    }
    Err(BillingError::Contended)
}

/// Writes down what a network said about an attempt that belongs to no checkout.
pub async fn note(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    pursued: &Pursued,
    outcome: &Outcome,
    asker: Asker,
) -> Result<(), BillingError> {
    let attempt = &pursued.attempt;
    match outcome {
        Outcome::Settled(settlement) if settlement.amount == attempt.amount => settled(ctx, unit, attempt, settlement).await,
        Outcome::Settled(settlement) => {
            let message = format!("The network moved {} instead of {}", settlement.amount, attempt.amount);
            let error = Refusal { code: "amount_differs".to_owned(), message };
            wait(ctx, unit, (pursued, asker), AttemptStatus::Unknown, Some(&error)).await
        }
        Outcome::Refused(refusal) => refused(ctx, unit, attempt, refusal).await,
        Outcome::Pending { last_error, .. } => wait(ctx, unit, (pursued, asker), AttemptStatus::Open, last_error.as_ref()).await,
        Outcome::Absent => wait(ctx, unit, (pursued, asker), AttemptStatus::Open, None).await,
        Outcome::Unknown(_) => wait(ctx, unit, (pursued, asker), AttemptStatus::Unknown, None).await,
    }
}

async fn wait(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    (pursued, asker): (&Pursued, Asker),
    status: AttemptStatus,
    error: Option<&Refusal>,
) -> Result<(), BillingError> {
    let (attempt, now) = (&pursued.attempt, ctx.now());
    // The turn stays where it is while a page asks: whoever sends it first is at it until then, and is believed.
    let check_at = (asker != Asker::Page).then(|| next_check(now, attempt.checks));
    let is_open = unit.attempts().postpone(&attempt.id, status, error, check_at, now).await?;
    // Of one that ended meanwhile the intent may be its successor's by now.
    if let (true, Purpose::Payment(intent)) = (is_open, &attempt.purpose) {
        unit.intents().mark(intent, IntentStatus::Processing, error, now).await?;
    }
    Ok(())
}
