//! What becomes of an attempt, and the one way a session completes (invariants 1, 3, 4, 10).

use super::submit::card_ask;
use super::{PaymentStatus, Session, SessionStatus};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Account, Entry, LedgerError, Posting, Reason, Side};
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, Currency, IntentStatus, Method, Outcome, RailError, Refusal, Settlement, SignedTransfer,
    next_check,
};
use crate::shared::{AttemptId, EntitlementId, EntryId, EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;
use futures_util::FutureExt;
use std::time::Duration;

/// How often an outcome that lost a race is applied again.
const TRIES: u32 = 8;
/// Attempts that one round asks about at the same time.
const AT_ONCE: usize = 16;
/// A round's attempts are nobody else's for this long: 200 of them, 16 at once and 10 s each, fit into it.
const CLAIM: Duration = Duration::from_secs(180);
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
    Storage(#[from] StorageError),
}

impl From<SettleError> for super::SubmitError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Storage(error) => Self::Storage(error),
            _ => Self::PaymentInFlight,
        }
    }
}

struct Pursued {
    attempt: Attempt,
    method: Method,
    currency: Currency,
}

/// Who asks, and what an answer that is not final means for the janitor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// The payer's own request, just after the attempt was written: nothing can have been sent before.
    First,
    /// A page that polls: the janitor's turn stays where it is.
    Page,
    /// The janitor, or the network's own event.
    Worker,
}

/// A refusal of something that may have been sent before counts as final only when the network has had no record of it for
/// this long: a node that lags, or another node, refuses what has settled elsewhere.
const DOUBT: Duration = Duration::from_secs(24 * 3_600);

/// Asks the network what became of an attempt, and writes the answer down. Safe to call at any time, by anybody, twice at once.
pub async fn settle(ctx: &Context, id: &AttemptId) -> Result<(), SettleError> {
    pursue(ctx, id, Asker::Worker).await
}

/// The same for an attempt that was written down just now and has never been sent.
pub(super) async fn settle_first(ctx: &Context, id: &AttemptId) -> Result<(), SettleError> {
    pursue(ctx, id, Asker::First).await
}

async fn pursue(ctx: &Context, id: &AttemptId, asker: Asker) -> Result<(), SettleError> {
    let Some(pursued) = load(ctx, id).await? else { return Ok(()) };
    let outcome = ask(ctx, &pursued, asker).await;
    apply(ctx, pursued, outcome, asker).await
}

/// Asks the network to give the attempt up. True when no attempt stands open any more.
pub(super) async fn end(ctx: &Context, id: &AttemptId) -> Result<bool, SettleError> {
    let Some(pursued) = load(ctx, id).await? else { return Ok(true) };
    let outcome = match (&pursued.attempt.kind, ctx.networks.card(pursued.method.kind)) {
        (AttemptKind::Card { provider_id, .. }, Some(rail)) if !provider_id.is_empty() => {
            rail.cancel(&pursued.method, &pursued.currency, provider_id).await
        }
        (AttemptKind::Card { .. }, Some(rail)) => match rail.open(&pursued.method, &pursued.currency, &card_ask(&pursued.attempt)).await {
            // Perhaps it was opened and the answer got lost: the same key finds it, and it can be ended by name.
            Ok(intent) => rail.cancel(&pursued.method, &pursued.currency, &intent.provider_id).await,
            Err(error) => not_opened(error),
        },
        _ => ask(ctx, &pursued, Asker::Worker).await,
    };
    let id = pursued.attempt.id.clone();
    apply(ctx, pursued, outcome, Asker::Worker).await?;
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
    if is_ours { pursue(ctx, &open.id, Asker::Page).await } else { Ok(()) }
}

/// The janitor's round: attempts whose time to be asked about has come, several at once, since each waits for a network.
/// One that fails does not stop the others; the first failure is told in the end. Answers how many there were.
pub async fn check_due(ctx: &Context, limit: u32) -> Result<usize, SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let due = unit.attempts().claim_due(now, now.plus(CLAIM), limit).await?;
    unit.commit().await?;
    let mut failure = None;
    for chunk in due.chunks(AT_ONCE) {
        let asked: Vec<_> = chunk.iter().map(|id| settle(ctx, id).boxed()).collect();
        failure = failure.or(futures_util::future::join_all(asked).await.into_iter().find_map(Result::err));
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(due.len()),
    }
}

/// The attempt, if it is open still.
async fn load(ctx: &Context, id: &AttemptId) -> Result<Option<Pursued>, SettleError> {
    let mut unit = ctx.store.read().await?;
    let Some(attempt) = unit.attempts().find(id).await?.filter(|attempt| attempt.status.is_open()) else { return Ok(None) };
    let method = unit.methods().find(&attempt.method_id).await?.ok_or(SettleError::Orphan)?;
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.ok_or(SettleError::Orphan)?;
    Ok(Some(Pursued { attempt, method, currency }))
}

async fn ask(ctx: &Context, pursued: &Pursued, asker: Asker) -> Outcome {
    let Pursued { attempt, method, currency } = pursued;
    match &attempt.kind {
        AttemptKind::Wallet { bytes, hash, .. } => {
            let Some(rail) = ctx.networks.wallet(method.kind) else { return Outcome::Unknown("no rail".to_owned()) };
            let signed = SignedTransfer { bytes: bytes.clone(), hash: hash.clone() };
            if asker == Asker::First {
                return rail.send(method, currency, &signed).await;
            }
            match rail.find(method, currency, hash).await {
                Outcome::Absent => match rail.send(method, currency, &signed).await {
                    Outcome::Refused(refusal) if ctx.now().since(attempt.created_at) < DOUBT => Outcome::Unknown(refusal.message),
                    outcome => outcome,
                },
                known => known,
            }
        }
        AttemptKind::Card { provider_id, .. } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return Outcome::Unknown("no rail".to_owned()) };
            if !provider_id.is_empty() {
                return rail.find(method, currency, provider_id).await;
            }
            match rail.open(method, currency, &card_ask(attempt)).await {
                Ok(intent) => match remember(ctx, attempt, &intent.provider_id, &intent.client_secret).await {
                    Ok(()) => intent.outcome,
                    Err(error) => Outcome::Unknown(error.to_string()),
                },
                Err(error) => not_opened(error),
            }
        }
    }
}

/// A card intent that the provider refuses to open can never be paid: nobody has its secret. An answer that was not seen may hide one.
pub(super) fn not_opened(error: RailError) -> Outcome {
    match error {
        RailError::Unreachable(_) => Outcome::Unknown(error.to_string()),
        RailError::Rejected(message) | RailError::Misconfigured(message) => {
            Outcome::Refused(Refusal { code: "not_opened".to_owned(), message })
        }
    }
}

/// Writes down that a card intent could not be opened.
pub(super) async fn note_not_opened(ctx: &Context, id: &AttemptId, error: RailError) -> Result<(), SettleError> {
    let Some(pursued) = load(ctx, id).await? else { return Ok(()) };
    apply(ctx, pursued, not_opened(error), Asker::First).await
}

async fn remember(ctx: &Context, attempt: &Attempt, provider_id: &str, client_secret: &str) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().name_card(&attempt.id, provider_id, client_secret, ctx.now()).await?;
    unit.commit().await
}

async fn apply(ctx: &Context, pursued: Pursued, outcome: Outcome, asker: Asker) -> Result<(), SettleError> {
    let attempt = &pursued.attempt;
    match outcome {
        Outcome::Settled(settlement) if settlement.amount == attempt.amount => settled(ctx, attempt, &settlement).await,
        Outcome::Settled(settlement) => {
            let error = Refusal {
                code: "amount_differs".to_owned(),
                message: format!("The network moved {} instead of {}", settlement.amount, attempt.amount),
            };
            wait(ctx, attempt, asker, AttemptStatus::Unknown, Some(&error), IntentStatus::Processing).await
        }
        Outcome::Refused(refusal) => refused(ctx, attempt, &refusal).await,
        Outcome::Pending { requires_payer: true, last_error } => {
            wait(ctx, attempt, asker, AttemptStatus::Open, last_error.as_ref(), IntentStatus::RequiresAction).await
        }
        Outcome::Pending { requires_payer: false, .. } => {
            wait(ctx, attempt, asker, AttemptStatus::Open, None, IntentStatus::Processing).await
        }
        Outcome::Absent => wait(ctx, attempt, asker, AttemptStatus::Open, None, IntentStatus::Processing).await,
        Outcome::Unknown(_) => wait(ctx, attempt, asker, AttemptStatus::Unknown, None, IntentStatus::Processing).await,
    }
}

/// Not final: noted, and asked again later.
async fn wait(
    ctx: &Context,
    attempt: &Attempt,
    asker: Asker,
    status: AttemptStatus,
    error: Option<&Refusal>,
    intent: IntentStatus,
) -> Result<(), SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let check_at = (asker != Asker::Page).then(|| next_check(now, attempt.checks));
    unit.attempts().postpone(&attempt.id, status, error, check_at, now).await?;
    unit.intents().mark(&attempt.intent_id, intent, error, now).await?;
    unit.commit().await?;
    Ok(())
}

async fn refused(ctx: &Context, attempt: &Attempt, refusal: &Refusal) -> Result<(), SettleError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if unit.attempts().finish(&attempt.id, AttemptStatus::Refused, Some(refusal), now).await? {
        unit.intents().mark(&attempt.intent_id, IntentStatus::RequiresAction, Some(refusal), now).await?;
        unit.commit().await?;
    }
    Ok(())
}

/// The money moved: attempt, intent, journal, invoice, stock, session and rights change in one unit of work, for exactly one caller.
async fn settled(ctx: &Context, attempt: &Attempt, settlement: &Settlement) -> Result<(), SettleError> {
    for _ in 0..TRIES {
        let now = ctx.now();
        let mut unit = ctx.store.begin().await?;
        if !unit.attempts().finish(&attempt.id, AttemptStatus::Settled, None, now).await? {
            return Ok(());
        }
        let intent = unit.intents().find(&attempt.intent_id).await?.ok_or(SettleError::Orphan)?;
        unit.intents().succeed(&intent.id, attempt.amount, &settlement.reference, &settlement.payer, now).await?;
        let session = unit.sessions().find(&intent.session_id).await?.ok_or(SettleError::Orphan)?;
        if complete(ctx, unit.as_mut(), session, Some(attempt), now).await? {
            unit.commit().await?;
            return Ok(());
        }
    }
    Err(SettleError::Contended)
}

/// The one way a session completes. False: the session changed since it was read, and the unit of work must be dropped.
pub(super) async fn complete(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut session: Session,
    paid_by: Option<&Attempt>,
    now: Timestamp,
) -> Result<bool, SettleError> {
    let random = ctx.random.as_ref();
    if let Some(attempt) = paid_by {
        unit.journal().book(&payment_entry(EntryId::new(now, random), &session, attempt, now)?).await?;
    }
    if let Some(invoice) = &session.invoice_id {
        unit.invoices().pay(invoice, session.amount_total, now).await?;
    }
    unit.prices().sell(&session.id).await?;
    grant(ctx, unit, &session, now).await?;

    session.status = SessionStatus::Complete;
    session.payment_status = if paid_by.is_some() { PaymentStatus::Paid } else { PaymentStatus::NoPaymentRequired };
    session.updated_at = now;
    if !unit.sessions().update(&session).await? {
        return Ok(false);
    }
    let mut messages = vec![Message::new(Topic::Realtime, now).with("event", "checkout.session.completed").with("id", &session.id)];
    if let Some(invoice) = &session.invoice_id {
        let customer = session.customer_id.as_ref().map(ToString::to_string).unwrap_or_default();
        let paid = Message::new(Topic::Realtime, now).with("event", "invoice.paid").with("id", invoice);
        messages.push(paid.with("customer_id", customer).with("currency_id", &session.currency_id));
        messages.push(Message::new(Topic::ReceiptMail, now).with("invoice", invoice));
    }
    for message in &messages {
        unit.outbox().publish(&EventId::new(now, random), message, now).await?;
    }
    Ok(true)
}

/// The store's holding at the network grows by what was earned.
fn payment_entry(id: EntryId, session: &Session, attempt: &Attempt, now: Timestamp) -> Result<Entry, LedgerError> {
    let posting = |account, side| Posting { account, side, amount: attempt.amount, currency_id: attempt.currency_id.clone() };
    let network = Account::Network(attempt.method_id.to_string());
    let postings = vec![posting(network, Side::Debit), posting(Account::Sales, Side::Credit)];
    Entry::new(id, session.mode, Reason::Payment, attempt.id.as_str(), now, postings)
}

/// One entitlement for each app that was bought.
async fn grant(ctx: &Context, unit: &mut dyn UnitOfWork, session: &Session, now: Timestamp) -> Result<(), StorageError> {
    let Some(holder) = &session.payer else { return Ok(()) };
    let ids: Vec<_> = session.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let ids: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&ids).await?;
    for product in products {
        let Some(app) = product.app else { continue };
        let entitlement = Entitlement {
            id: EntitlementId::new(now, ctx.random.as_ref()),
            mode: session.mode,
            holder: holder.clone(),
            app,
            session_id: session.id.clone(),
            invoice_id: session.invoice_id.clone(),
            acquired_at: now,
        };
        unit.entitlements().grant(&entitlement).await?;
    }
    Ok(())
}
