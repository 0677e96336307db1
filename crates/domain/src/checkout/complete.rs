//! The one way a session completes (invariant 3).

use super::{PaymentStatus, Session, SessionMode, SessionStatus, subscribe};
use crate::billing::{self, Subscription};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Entry, Movement, Reason};
use crate::payment::{Attempt, SettlementError};
use crate::shared::{Amount, CustomerId, EntitlementId, EntryId, EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;

impl From<SettlementError> for super::SubmitError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Storage(error) => Self::Storage(error),
            SettlementError::Contended => Self::Storage(StorageError::Conflict),
            _ => Self::PaymentInFlight,
        }
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
) -> Result<bool, SettlementError> {
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
        messages.extend(billing::paid_messages(invoice, (customer, &session.currency_id, subscriptions.next()), now));
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

/// The journal entry of money that an attempt of a session moved.
pub(super) async fn book(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    attempt: &Attempt,
    reason: Reason,
    now: Timestamp,
) -> Result<(), SettlementError> {
    let movement = Movement { method_id: &attempt.method_id, currency_id: &attempt.currency_id, amount: attempt.amount };
    let id = EntryId::new(now, ctx.random.as_ref());
    let entry = Entry::of_movement(id, session.mode, reason, attempt.id.as_str(), now, &movement)?;
    unit.journal().book(&entry).await?;
    Ok(())
}
