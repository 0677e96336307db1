//! Who asks a network about an attempt, and when: whoever has begun it, a page that polls, the janitor, or the end of its session.

use super::settle::{SettleError, apply};
use super::{SESSION_LIFETIME, Session, SessionStatus};
use crate::context::Context;
use crate::payment::{
    Asker, Attempt, AttemptKind, LAST_CALL, Purpose, Pursued, RailError, SetupAsk, ask, card_ask, not_opened, setup_outcome,
};
use crate::shared::{AttemptId, InvoiceId, MandateId, SubscriptionId, Timestamp};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;

/// Attempts that one round asks about at the same time.
const AT_ONCE: usize = 16;
/// A round's attempts are nobody else's for this long: 200 of them, 16 at once, fit into it when each asks its network three
/// times and waits 10 s for every answer. Whoever waited longer for a slot asks, and leaves what a wallet has signed to the next round.
const CLAIM: Duration = Duration::from_secs(420);
/// The same for a first sending, which the janitor is not to send beside.
const FIRST: Duration = Duration::from_secs(30);
/// A polling page may make us ask the network this often.
pub const NUDGE_INTERVAL: Duration = Duration::from_secs(1);
/// The same after an error: the payer may have tried again meanwhile, and an old error would end the page's polling.
pub const NUDGE_INTERVAL_AFTER_ERROR: Duration = Duration::from_millis(200);

/// For how long an attempt is nobody else's, after the janitor or a first sending has taken it.
#[derive(Debug, Clone, Copy)]
struct Turn {
    taken_at: Timestamp,
    until: Timestamp,
}

/// Asks the network what became of an attempt, and writes the answer down. Safe to call at any time, by anybody, twice at once: what a
/// wallet has signed is sent only by whoever has taken it.
pub async fn settle(ctx: &Context, id: &AttemptId) -> Result<(), SettleError> {
    pursue(ctx, id, Asker::Worker, None).await
}

/// The same for an attempt that was written down just now and, unless the janitor was quicker, has never been sent.
pub async fn settle_first(ctx: &Context, id: &AttemptId) -> Result<(), SettleError> {
    pursue(ctx, id, Asker::First, None).await
}

/// What the settlement of an attempt writes down to be charged next is sent at once.
async fn pursue(ctx: &Context, id: &AttemptId, asker: Asker, turn: Option<Turn>) -> Result<(), SettleError> {
    let mut next = Some((id.clone(), asker, turn));
    while let Some((id, asker, turn)) = next.take() {
        let turn = if asker == Asker::First { take_first(ctx, &id).await? } else { turn };
        let Some(mut pursued) = load(ctx, &id).await? else { return Ok(()) };
        let mut slot = None;
        // Whoever waits at a page does not queue behind what is charged while nobody waits.
        if asker == Asker::Worker {
            slot = ctx.networks.slot(&pursued.method.id, asker).await;
            // It may have taken its time.
            let Some(found) = load(ctx, &id).await? else { return Ok(()) };
            pursued = found;
        }
        let asker = match may_send(ctx, &pursued.attempt, asker, turn) {
            false => Asker::Page,
            // Written down by this turn: nobody has taken it before, so nobody has sent it, and a refusal can be believed at once.
            true if turn.is_some_and(|turn| pursued.attempt.sent_at == Some(turn.taken_at)) => Asker::First,
            true => asker,
        };
        let outcome = ask(ctx, &pursued, asker).await;
        drop(slot);
        next = apply(ctx, pursued, outcome, asker).await?.map(|charge| (charge, Asker::First, None));
    }
    Ok(())
}

/// Whether what a wallet has signed is this caller's to send: others may be sending what they have taken since, and of two who send the
/// same, one could be refused and believed while the other is not. A card's provider knows the second by its key.
fn may_send(ctx: &Context, attempt: &Attempt, asker: Asker, turn: Option<Turn>) -> bool {
    let is_ours = turn.is_some_and(|turn| turn.until == attempt.check_at);
    match (&attempt.kind, asker) {
        (AttemptKind::Wallet { .. }, Asker::First) => is_ours,
        // A slot may have come late.
        (AttemptKind::Wallet { .. }, _) => is_ours && ctx.now().plus(LAST_CALL) < attempt.check_at,
        _ => true,
    }
}

/// Takes an attempt for its first sending; `None`: somebody has taken it before.
async fn take_first(ctx: &Context, id: &AttemptId) -> Result<Option<Turn>, SettleError> {
    let taken_at = ctx.now();
    let turn = Turn { taken_at, until: taken_at.plus(FIRST) };
    let mut unit = ctx.store.begin().await?;
    let ours = unit.attempts().claim_first(std::slice::from_ref(id), taken_at, turn.until).await?;
    unit.commit().await?;
    Ok((!ours.is_empty()).then_some(turn))
}

/// Asks the network to give the attempt up. True when no attempt stands open any more.
pub(super) async fn end(ctx: &Context, id: &AttemptId) -> Result<bool, SettleError> {
    let Some(pursued) = load(ctx, id).await? else { return Ok(true) };
    let outcome = match (&pursued.attempt.kind, ctx.networks.card(pursued.method.kind)) {
        (AttemptKind::Card { provider_id, .. }, Some(rail)) if !provider_id.is_empty() => {
            rail.cancel(&pursued.method, &pursued.currency, provider_id).await
        }
        (AttemptKind::CardSetup { provider_id, .. }, Some(rail)) if !provider_id.is_empty() => {
            setup_outcome(provider_id, rail.cancel_setup(&pursued.method, provider_id).await)
        }
        (AttemptKind::CardSetup { holder, .. }, Some(rail)) => {
            let ask = SetupAsk { attempt: pursued.attempt.id.clone(), holder: holder.clone() };
            match rail.open_setup(&pursued.method, &ask).await {
                Ok(setup) => setup_outcome(&setup.provider_id, rail.cancel_setup(&pursued.method, &setup.provider_id).await),
                Err(error) => not_opened(error),
            }
        }
        (AttemptKind::Card { .. }, Some(rail)) => match rail.open(&pursued.method, &pursued.currency, &card_ask(&pursued.attempt)).await {
            // Perhaps it was opened and the answer got lost: the same key finds it, and it can be ended by name.
            Ok(intent) => rail.cancel(&pursued.method, &pursued.currency, &intent.provider_id).await,
            Err(error) => not_opened(error),
        },
        // What a wallet has signed is the janitor's to send.
        _ => ask(ctx, &pursued, Asker::Page).await,
    };
    let id = pursued.attempt.id.clone();
    let asker = if matches!(pursued.attempt.kind, AttemptKind::Wallet { .. }) { Asker::Page } else { Asker::Worker };
    if let Some(charge) = apply(ctx, pursued, outcome, asker).await? {
        pursue(ctx, &charge, Asker::First, None).await?;
    }
    Ok(load(ctx, &id).await?.is_none())
}

/// A page polls: asks the network about its open attempt, at most once in [`NUDGE_INTERVAL`] however many pages there are,
/// or in [`NUDGE_INTERVAL_AFTER_ERROR`].
pub async fn nudge(ctx: &Context, session: &Session, open: &Attempt) -> Result<(), SettleError> {
    let now = ctx.now();
    let since = now.minus(if open.last_error.is_some() { NUDGE_INTERVAL_AFTER_ERROR } else { NUDGE_INTERVAL });
    if session.status != SessionStatus::Open || open.updated_at > since {
        return Ok(());
    }
    let mut unit = ctx.store.begin().await?;
    let is_ours = unit.attempts().claim_nudge(&open.id, since, now).await?;
    unit.commit().await?;
    if is_ours { pursue(ctx, &open.id, Asker::Page, None).await } else { Ok(()) }
}

/// A page waits for a permission that a subscription was promised: asks the network, as [`nudge`] does. True when it asked.
pub async fn nudge_mandates(ctx: &Context, subscription: &SubscriptionId) -> Result<bool, SettleError> {
    let awaited = ctx.store.read().await?.mandates().awaited(subscription).await?;
    nudge_all(ctx, awaited).await
}

/// The same for the card that is to pay an invoice.
pub async fn nudge_payment(ctx: &Context, invoice: &InvoiceId) -> Result<bool, SettleError> {
    let awaited = ctx.store.read().await?.mandates().awaited_by(invoice).await?;
    nudge_all(ctx, awaited).await
}

async fn nudge_all(ctx: &Context, awaited: Vec<MandateId>) -> Result<bool, SettleError> {
    let (now, mut open) = (ctx.now(), Vec::new());
    let mut unit = ctx.store.read().await?;
    for mandate in awaited {
        open.extend(unit.attempts().open_of(&Purpose::Mandate(mandate)).await?);
    }
    drop(unit);
    let since = now.minus(NUDGE_INTERVAL);
    let mut asked = false;
    for attempt in open.iter().filter(|attempt| attempt.updated_at <= since) {
        let mut unit = ctx.store.begin().await?;
        let is_ours = unit.attempts().claim_nudge(&attempt.id, since, now).await?;
        unit.commit().await?;
        if is_ours {
            pursue(ctx, &attempt.id, Asker::Page, None).await?;
            asked = true;
        }
    }
    Ok(asked)
}

/// The janitor's round: attempts whose time to be asked about has come, several at once, since each waits for a network.
/// One that fails does not stop the others; the first failure is told in the end. Answers how many there were.
pub async fn check_due(ctx: &Context, limit: u32) -> Result<usize, SettleError> {
    let taken_at = ctx.now();
    let turn = Turn { taken_at, until: taken_at.plus(CLAIM) };
    let mut unit = ctx.store.begin().await?;
    let due = unit.attempts().claim_due(taken_at, turn.until, limit).await?;
    unit.commit().await?;
    // Where one waits for long, the next take the places of those that are done.
    let asked: Vec<_> = due.iter().map(|id| look_after(ctx, id, turn).boxed()).collect();
    let done: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
    match done.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

/// Asks about an attempt, or ends what nobody will finish any more.
async fn look_after(ctx: &Context, id: &AttemptId, turn: Turn) -> Result<(), SettleError> {
    let pursued = load(ctx, id).await?;
    match pursued.is_some_and(|pursued| is_abandoned(&pursued.attempt, ctx.now())) {
        true => end(ctx, id).await.map(drop),
        false => pursue(ctx, id, Asker::Worker, Some(turn)).await,
    }
}

/// A card that was to be kept, and whose form nobody has filled in: with a session it ends when the session does, without one after the
/// same time.
fn is_abandoned(attempt: &Attempt, now: Timestamp) -> bool {
    let is_setup = matches!(attempt.kind, AttemptKind::CardSetup { .. });
    is_setup && attempt.session_id.is_none() && now.since(attempt.created_at) >= SESSION_LIFETIME
}

/// The attempt, if it is open still.
async fn load(ctx: &Context, id: &AttemptId) -> Result<Option<Pursued>, SettleError> {
    let mut unit = ctx.store.read().await?;
    let Some(attempt) = unit.attempts().find(id).await?.filter(|attempt| attempt.status.is_open()) else { return Ok(None) };
    let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettleError::Orphan)?;
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettleError::Orphan)?;
    Ok(Some(Pursued { attempt, method, currency }))
}

/// Writes down that a card intent could not be opened.
pub(super) async fn note_not_opened(ctx: &Context, id: &AttemptId, error: RailError) -> Result<(), SettleError> {
    let Some(pursued) = load(ctx, id).await? else { return Ok(()) };
    match &pursued.attempt.kind {
        // Another page has opened and named it meanwhile.
        AttemptKind::Card { provider_id, .. } | AttemptKind::CardSetup { provider_id, .. } if !provider_id.is_empty() => Ok(()),
        _ => apply(ctx, pursued, not_opened(error), Asker::First).await.map(drop),
    }
}
