//! What becomes of an attempt, and the one way a session completes (invariants 1, 3, 4, 10).

use super::proceed::{Step, step};
use super::{Deposit, PaymentStatus, SESSION_LIFETIME, Session, SessionMode, SessionStatus, subscribe};
use crate::billing::{self, BillingError, Subscription};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Entry, LedgerError, Movement, Reason};
use crate::payment::{
    Asker, Attempt, AttemptKind, AttemptStatus, IntentStatus, LAST_CALL, Outcome, Purpose, Pursued, RailError, Refusal, Settlement,
    SetupAsk, ask, card_ask, next_check, not_opened, setup_outcome,
};
use crate::shared::{
    Amount, AttemptId, EntitlementId, EntryId, EventId, InvoiceId, MandateId, PaymentIntentId, SessionId, StorageError, SubscriptionId,
    Timestamp,
};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;

/// How often an outcome that lost a race is applied again.
const TRIES: u32 = 8;
/// Attempts that one round asks about at the same time.
const AT_ONCE: usize = 16;
/// A round's attempts are nobody else's for this long: 200 of them, 16 at once, fit into it when each asks its network three
/// times and waits 10 s for every answer.
const CLAIM: Duration = Duration::from_secs(420);
/// The same for a first sending, which the janitor is not to send beside.
const FIRST: Duration = Duration::from_secs(30);
/// A polling page may make us ask the network this often.
pub const NUDGE_INTERVAL: Duration = Duration::from_secs(1);
/// The same after an error: the payer may have tried again meanwhile, and an old error would end the page's polling.
pub const NUDGE_INTERVAL_AFTER_ERROR: Duration = Duration::from_millis(200);

#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error("the attempt's method, currency or session is gone")]
    Orphan,
    #[error("the session kept changing while its payment was written down")]
    Contended,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Billing(BillingError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for SettleError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<BillingError> for SettleError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::Orphan,
            BillingError::Contended => Self::Contended,
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
            other => Self::Billing(other),
        }
    }
}

impl From<SettleError> for super::SubmitError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Storage(error) => Self::Storage(error),
            SettleError::Contended => Self::Storage(StorageError::Conflict),
            _ => Self::PaymentInFlight,
        }
    }
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

/// `until`: how long the attempt is nobody else's. What its settlement writes down to be charged next is sent at once.
async fn pursue(ctx: &Context, id: &AttemptId, asker: Asker, until: Option<Timestamp>) -> Result<(), SettleError> {
    let mut next = Some((id.clone(), asker, until));
    while let Some((id, asker, until)) = next.take() {
        let until = if asker == Asker::First { take_first(ctx, &id).await? } else { until };
        let Some(mut pursued) = load(ctx, &id).await? else { return Ok(()) };
        let mut slot = None;
        // Whoever waits at a page does not queue behind what is charged while nobody waits.
        if asker == Asker::Worker {
            slot = ctx.networks.slot(&pursued.method.id).await;
            // It may have taken its time.
            let Some(found) = load(ctx, &id).await? else { return Ok(()) };
            pursued = found;
        }
        let asker = if may_send(ctx, &pursued.attempt, asker, until) { asker } else { Asker::Page };
        let outcome = ask(ctx, &pursued, asker).await;
        drop(slot);
        next = apply(ctx, pursued, outcome, asker).await?.map(|charge| (charge, Asker::First, None));
    }
    Ok(())
}

/// Whether what a wallet has signed is this caller's to send: others may be sending what they have taken since, and of two who send the
/// same, one could be refused and believed while the other is not. A card's provider knows the second by its key.
fn may_send(ctx: &Context, attempt: &Attempt, asker: Asker, until: Option<Timestamp>) -> bool {
    let is_ours = until == Some(attempt.check_at);
    match (&attempt.kind, asker) {
        (AttemptKind::Wallet { .. }, Asker::First) => is_ours,
        // A slot may have come late.
        (AttemptKind::Wallet { .. }, _) => is_ours && ctx.now().plus(LAST_CALL) < attempt.check_at,
        _ => true,
    }
}

/// Takes an attempt for its first sending, and answers until when it is nobody else's; `None`: somebody has taken it before.
async fn take_first(ctx: &Context, id: &AttemptId) -> Result<Option<Timestamp>, SettleError> {
    let now = ctx.now();
    let until = now.plus(FIRST);
    let mut unit = ctx.store.begin().await?;
    let ours = unit.attempts().claim_first(std::slice::from_ref(id), now, until).await?;
    unit.commit().await?;
    Ok((!ours.is_empty()).then_some(until))
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
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let until = now.plus(CLAIM);
    let due = unit.attempts().claim_due(now, until, limit).await?;
    unit.commit().await?;
    // Where one waits for long, the next take the places of those that are done.
    let asked: Vec<_> = due.iter().map(|id| look_after(ctx, id, until).boxed()).collect();
    let done: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
    match done.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

/// Asks about an attempt, or ends what nobody will finish any more.
async fn look_after(ctx: &Context, id: &AttemptId, until: Timestamp) -> Result<(), SettleError> {
    let pursued = load(ctx, id).await?;
    match pursued.is_some_and(|pursued| is_abandoned(&pursued.attempt, ctx.now())) {
        true => end(ctx, id).await.map(drop),
        false => pursue(ctx, id, Asker::Worker, Some(until)).await,
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

/// Answers the charge that was written down in its wake.
async fn apply(ctx: &Context, pursued: Pursued, outcome: Outcome, asker: Asker) -> Result<Option<AttemptId>, SettleError> {
    let attempt = &pursued.attempt;
    let intent = match (&attempt.purpose, &attempt.session_id) {
        (Purpose::Payment(intent), Some(_)) => intent,
        (Purpose::Mandate(_) | Purpose::Stake(_) | Purpose::ReturnStake(_), Some(session)) => {
            return given(ctx, attempt, session, &outcome, asker).await;
        }
        _ => return note(ctx, &pursued, &outcome, asker).await.map(|()| None),
    };
    paid(ctx, attempt, intent, outcome, asker).await.map(|()| None)
}

async fn paid(ctx: &Context, attempt: &Attempt, intent: &PaymentIntentId, outcome: Outcome, asker: Asker) -> Result<(), SettleError> {
    match outcome {
        Outcome::Settled(settlement) if settlement.amount == attempt.amount => settled(ctx, attempt, intent, &settlement).await,
        Outcome::Settled(settlement) => {
            let error = Refusal {
                code: "amount_differs".to_owned(),
                message: format!("The network moved {} instead of {}", settlement.amount, attempt.amount),
            };
            wait(ctx, (attempt, intent), asker, AttemptStatus::Unknown, Some(&error), IntentStatus::Processing).await
        }
        Outcome::Refused(refusal) => refused(ctx, attempt, intent, &refusal).await,
        Outcome::Pending { requires_payer: true, last_error } => {
            wait(ctx, (attempt, intent), asker, AttemptStatus::Open, last_error.as_ref(), IntentStatus::RequiresAction).await
        }
        Outcome::Pending { requires_payer: false, .. } => {
            wait(ctx, (attempt, intent), asker, AttemptStatus::Open, None, IntentStatus::Processing).await
        }
        Outcome::Absent => wait(ctx, (attempt, intent), asker, AttemptStatus::Open, None, IntentStatus::Processing).await,
        Outcome::Unknown(_) => wait(ctx, (attempt, intent), asker, AttemptStatus::Unknown, None, IntentStatus::Processing).await,
    }
}

/// What a session needs beside money: permissions and stakes. The session's next step is taken in the same unit of work, so that
/// a crash in between leaves nothing waiting.
async fn given(
    ctx: &Context,
    attempt: &Attempt,
    session: &SessionId,
    outcome: &Outcome,
    asker: Asker,
) -> Result<Option<AttemptId>, SettleError> {
    for _ in 0..TRIES {
        match try_given(ctx, attempt, session, outcome, asker).await {
            Err(SettleError::Contended) => {}
            done => return done,
        }
    }
    Err(SettleError::Contended)
}

async fn try_given(
    ctx: &Context,
    attempt: &Attempt,
    session: &SessionId,
    outcome: &Outcome,
    asker: Asker,
) -> Result<Option<AttemptId>, SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let session = unit.sessions().find(session).await?.ok_or(SettleError::Orphan)?;
    let settlement = match outcome {
        Outcome::Settled(settlement) if settlement.amount == attempt.amount => settlement,
        Outcome::Refused(refusal) => {
            if unit.attempts().refuse(attempt, refusal, now).await? {
                if let Purpose::Mandate(mandate) = &attempt.purpose {
                    billing::mandate_refused(ctx, unit.as_mut(), mandate).await?;
                }
                if let Some(intent) = &session.intent_id {
                    unit.intents().mark(intent, IntentStatus::RequiresAction, Some(refusal), now).await?;
                }
                unit.commit().await?;
            }
            return Ok(None);
        }
        other => {
            let (status, marked, error) = match other {
                Outcome::Pending { requires_payer: true, last_error } => {
                    (AttemptStatus::Open, IntentStatus::RequiresAction, last_error.as_ref())
                }
                Outcome::Pending { .. } | Outcome::Absent => (AttemptStatus::Open, IntentStatus::Processing, None),
                _ => (AttemptStatus::Unknown, IntentStatus::Processing, None),
            };
            let check_at = (asker != Asker::Page).then(|| next_check(now, attempt.checks));
            let is_open = unit.attempts().postpone(&attempt.id, status, error, check_at, now).await?;
            // Of one that ended meanwhile the intent may be its successor's by now.
            if let (true, Some(intent)) = (is_open, &session.intent_id) {
                unit.intents().mark(intent, marked, error, now).await?;
            }
            unit.commit().await?;
            return Ok(None);
        }
    };
    if !unit.attempts().finish(&attempt.id, AttemptStatus::Settled, None, now).await? {
        return Ok(None);
    }
    let session = receive(ctx, unit.as_mut(), attempt, session, settlement, now).await?.ok_or(SettleError::Contended)?;
    let charge = match step(ctx, unit.as_mut(), session, now).await? {
        Step::Raced => return Err(SettleError::Contended),
        Step::Charge(charge) => Some(charge),
        Step::Nothing | Step::Completed => None,
    };
    unit.commit().await?;
    Ok(charge)
}

/// Writes down what was given. `None`: the session changed meanwhile, and the unit of work must be dropped.
async fn receive(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mut session: Session,
    settlement: &Settlement,
    now: Timestamp,
) -> Result<Option<Session>, SettleError> {
    match &attempt.purpose {
        Purpose::Mandate(mandate) => {
            billing::mandate_given(ctx, unit, mandate, settlement).await?;
            if let Some(intent) = &session.intent_id {
                unit.intents().mark(intent, IntentStatus::Processing, None, now).await?;
            }
        }
        Purpose::ReturnStake(_) => book(ctx, unit, &session, attempt, Reason::ReturnStake, now).await?,
        _ => {
            book(ctx, unit, &session, attempt, Reason::Stake, now).await?;
            if let Some(deposit) = session.deposit.take() {
                let held = deposit.held.plus(attempt.amount).map_err(BillingError::from)?;
                session.deposit = Some(Deposit { held, reference: Some(settlement.reference.clone()), ..deposit });
                session.updated_at = now;
                if !unit.sessions().update(&session).await? {
                    return Ok(None);
                }
                session.version += 1;
            }
        }
    }
    Ok(Some(session))
}

async fn book(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    attempt: &Attempt,
    reason: Reason,
    now: Timestamp,
) -> Result<(), SettleError> {
    let movement = Movement { method_id: &attempt.method_id, currency_id: &attempt.currency_id, amount: attempt.amount };
    let id = EntryId::new(now, ctx.random.as_ref());
    let entry = Entry::of_movement(id, session.mode, reason, attempt.id.as_str(), now, &movement)?;
    unit.journal().book(&entry).await?;
    Ok(())
}

/// What no session's payment is: renewals, refunds, permissions, deposits.
async fn note(ctx: &Context, pursued: &Pursued, outcome: &Outcome, asker: Asker) -> Result<(), SettleError> {
    for _ in 0..TRIES {
        match try_note(ctx, pursued, outcome, asker).await {
            Err(BillingError::Contended) => {}
            done => return Ok(done?),
        }
    }
    Err(SettleError::Contended)
}

async fn try_note(ctx: &Context, pursued: &Pursued, outcome: &Outcome, asker: Asker) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    billing::note(ctx, unit.as_mut(), pursued, outcome, asker).await?;
    Ok(unit.commit().await?)
}

/// Not final: noted, and asked again later.
async fn wait(
    ctx: &Context,
    (attempt, intent): (&Attempt, &PaymentIntentId),
    asker: Asker,
    status: AttemptStatus,
    error: Option<&Refusal>,
    marked: IntentStatus,
) -> Result<(), SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let check_at = (asker != Asker::Page).then(|| next_check(now, attempt.checks));
    if !unit.attempts().postpone(&attempt.id, status, error, check_at, now).await? {
        // It ended meanwhile, and the intent may be its successor's by now.
        return Ok(());
    }
    unit.intents().mark(intent, marked, error, now).await?;
    unit.commit().await?;
    Ok(())
}

async fn refused(ctx: &Context, attempt: &Attempt, intent: &PaymentIntentId, refusal: &Refusal) -> Result<(), SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if unit.attempts().refuse(attempt, refusal, now).await? {
        unit.intents().mark(intent, IntentStatus::RequiresAction, Some(refusal), now).await?;
        if let Some(id) = attempt.session_id.as_ref().filter(|_| refusal.is_for_mandate()) {
            // The permission does not suffice any more: the wallet is asked for another one. Where the session has changed
            // meanwhile, the next try finds out again.
            let session = unit.sessions().find(id).await?.ok_or(SettleError::Orphan)?;
            unit.sessions().update(&Session { mandate_id: None, updated_at: now, ..session }).await?;
        }
        unit.commit().await?;
    }
    Ok(())
}

/// The money moved: attempt, intent, journal, invoice, stock, session and rights change in one unit of work, for exactly one caller.
async fn settled(ctx: &Context, attempt: &Attempt, intent: &PaymentIntentId, settlement: &Settlement) -> Result<(), SettleError> {
    for _ in 0..TRIES {
        match try_settled(ctx, attempt, intent, settlement).await {
            Err(SettleError::Contended) => {}
            done => return done,
        }
    }
    Err(SettleError::Contended)
}

async fn try_settled(ctx: &Context, attempt: &Attempt, intent: &PaymentIntentId, settlement: &Settlement) -> Result<(), SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if !unit.attempts().finish(&attempt.id, AttemptStatus::Settled, None, now).await? {
        return Ok(());
    }
    let intent = unit.intents().find(intent).await?.ok_or(SettleError::Orphan)?;
    unit.intents().succeed(&intent.id, attempt.amount, &settlement.reference, &settlement.payer, now).await?;
    let session = intent.session_id.as_ref().ok_or(SettleError::Orphan)?;
    let session = unit.sessions().find(session).await?.ok_or(SettleError::Orphan)?;
    if let Some(mandate) = session.mandate_id.as_ref().filter(|_| settlement.card.is_some()) {
        billing::mandate_given(ctx, unit.as_mut(), mandate, settlement).await?;
    }
    match complete(ctx, unit.as_mut(), session, PaidBy::Attempt(attempt), now).await? {
        true => Ok(unit.commit().await?),
        false => Err(SettleError::Contended),
    }
}

/// What a session is complete by.
#[derive(Clone, Copy)]
pub(super) enum PaidBy<'a> {
    Attempt(&'a Attempt),
    /// What the customer had with the store; its invoices are lessened by it, and its intent has succeeded.
    Credit,
    /// Nothing was due.
    Nothing,
}

/// The one way a session completes. False: the session changed since it was read, and the unit of work must be dropped.
pub(super) async fn complete(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut session: Session,
    paid_by: PaidBy<'_>,
    now: Timestamp,
) -> Result<bool, SettleError> {
    let random = ctx.random.as_ref();
    if let PaidBy::Attempt(attempt) = paid_by {
        book(ctx, unit, &session, attempt, Reason::Payment, now).await?;
    } else if let Some(intent) = session.intent_id.as_ref().filter(|_| session.amount_total.is_zero()) {
        // Nothing was to be paid: the intent ends with that, and does not look unpaid for ever.
        unit.intents().succeed(intent, Amount::ZERO, "", "", now).await?;
    }
    match session.kind {
        SessionMode::Payment => {
            if let Some(invoice) = &session.invoice_id {
                let amount = if matches!(paid_by, PaidBy::Credit) { Amount::ZERO } else { session.amount_total };
                unit.invoices().pay(invoice, amount, session.intent_id.as_ref(), now).await?;
            }
        }
        SessionMode::Subscription | SessionMode::Setup => subscribe::begin(ctx, unit, &session).await?,
    }
    unit.prices().sell(&session.id).await?;
    grant(ctx, unit, &session, now).await?;

    let invoices = match &session.intent_id {
        Some(intent) => unit.intents().find(intent).await?.map(|intent| intent.invoices).unwrap_or_default(),
        None => Vec::new(),
    };
    session.status = SessionStatus::Complete;
    session.payment_status = if matches!(paid_by, PaidBy::Nothing) { PaymentStatus::NoPaymentRequired } else { PaymentStatus::Paid };
    session.updated_at = now;
    if !unit.sessions().update(&session).await? {
        return Ok(false);
    }
    let mut messages = vec![Message::new(Topic::Realtime, now).with("event", "checkout.session.completed").with("id", &session.id)];
    let customer = session.customer_id.as_ref().map(ToString::to_string).unwrap_or_default();
    // Each subscription has an invoice of its own; what is paid once has one without.
    let mut subscriptions = session.subscription_ids.iter().filter(|_| session.kind != SessionMode::Payment);
    for invoice in &invoices {
        let paid = Message::new(Topic::Realtime, now).with("event", "invoice.paid").with("id", invoice);
        let paid = paid.with("customer_id", &customer).with("currency_id", &session.currency_id);
        messages.push(match subscriptions.next() {
            Some(subscription) => paid.with("subscription_id", subscription),
            None => paid,
        });
        messages.push(Message::new(Topic::ReceiptMail, now).with("invoice", invoice));
    }
    for message in &messages {
        unit.outbox().publish(&EventId::new(now, random), message, now).await?;
    }
    Ok(true)
}

/// One entitlement for each app that was bought. What a subscription gives is its own.
async fn grant(ctx: &Context, unit: &mut dyn UnitOfWork, session: &Session, now: Timestamp) -> Result<(), StorageError> {
    let Some(holder) = &session.payer else { return Ok(()) };
    let ids: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
    let sold = unit.prices().find_with_products(&ids).await?;
    let subscriptions = match session.kind {
        SessionMode::Payment => Vec::new(),
        SessionMode::Subscription | SessionMode::Setup => unit.subscriptions().find_all(&session.subscription_ids).await?,
    };
    for (price, product) in sold {
        let Some(app) = product.app else { continue };
        let of_price = |one: &&Subscription| one.items.iter().any(|item| item.price_id == price.id);
        let entitlement = Entitlement {
            id: EntitlementId::new(now, ctx.random.as_ref()),
            mode: session.mode,
            holder: holder.clone(),
            app,
            session_id: session.id.clone(),
            subscription_id: subscriptions.iter().find(of_price).map(|one| one.id.clone()),
            invoice_id: session.invoice_id.clone(),
            acquired_at: now,
        };
        unit.entitlements().grant(&entitlement).await?;
    }
    Ok(())
}
