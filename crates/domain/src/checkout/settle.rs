//! What becomes of an attempt, and the one way a session completes (invariants 1, 3, 4, 10).

use super::proceed::{Step, step};
use super::{Deposit, PaymentStatus, Session, SessionMode, SessionStatus, subscribe};
use crate::billing::{self, BillingError, Subscription};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Entry, LedgerError, Movement, Reason};
use crate::payment::{Asker, Attempt, AttemptStatus, IntentStatus, Outcome, Purpose, Pursued, RailError, Refusal, Settlement, next_check};
use crate::shared::{Amount, AttemptId, CustomerId, EntitlementId, EntryId, EventId, PaymentIntentId, SessionId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;

/// How often an outcome that lost a race is applied again.
const TRIES: u32 = 8;

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

/// Writes down what a network said. Answers the charge that was written down in its wake.
pub(super) async fn apply(ctx: &Context, pursued: Pursued, outcome: Outcome, asker: Asker) -> Result<Option<AttemptId>, SettleError> {
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
    unit.intents().succeed(intent, attempt.amount, &settlement.reference, &settlement.payer, now).await?;
    let intent = unit.intents().find(intent).await?.ok_or(SettleError::Orphan)?;
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
    let customer = session.customer_id.as_ref().map(CustomerId::as_str).unwrap_or_default();
    // Each subscription has an invoice of its own; what is paid once has one without.
    let mut subscriptions = session.subscription_ids.iter().filter(|_| session.kind != SessionMode::Payment);
    for invoice in &invoices {
        messages.extend(billing::paid_news(invoice, (customer, &session.currency_id, subscriptions.next()), now));
    }
    let messages: Vec<_> = messages.into_iter().map(|message| (EventId::new(now, random), message)).collect();
    unit.outbox().publish_all(&messages, now).await?;
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
