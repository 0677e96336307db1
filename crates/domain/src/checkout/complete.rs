//! Completes sessions; there is no other way (invariant 3).

use super::subscribe::{self, Started};
use super::{PaymentStatus, Session, SessionMode, SessionStatus};
use crate::access::Did;
use crate::billing::{
    self, Invoice, InvoiceItem, InvoicePaid, InvoiceStatus, Receipt, Subscription, apply_balance, balance_of, finalize, lines_by_invoice,
    settle,
};
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::payment::{Attempt, Intent, PaidIntent, Settlement, SettlementError};
use crate::pricing::CatalogueItem;
use crate::shared::{Amount, CustomerId, EntitlementId, EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;

/// How a session is paid.
#[derive(Clone, Copy)]
pub(super) enum PaidBy<'a> {
    /// A payment that its network has settled.
    Network { attempt: &'a Attempt, settlement: &'a Settlement },
    /// The customer's balance pays the full amount due.
    Balance { payer: &'a Did },
    /// Nothing was due.
    Nothing,
}

/// An invoice of the session with its lines, ready to be finalized.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
}

/// Completes a session. Lock order (billing model, section 3): session, intent, invoices, stock, balance, number series. False: the session
/// was changed meanwhile, or the balance no longer covers everything; the caller must then drop the unit of work.
pub(super) async fn complete(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: Session,
    paid_by: PaidBy<'_>,
    now: Timestamp,
) -> Result<bool, SettlementError> {
    let payment_status = if matches!(paid_by, PaidBy::Nothing) { PaymentStatus::NoPaymentRequired } else { PaymentStatus::Paid };
    let session = Session { status: SessionStatus::Complete, payment_status, updated_at: now, ..session };
    if !unit.sessions().update(&session).await? {
        return Ok(false);
    }
    let intent_id = session.intent_id.as_ref().ok_or(SettlementError::Orphan)?;
    let (amount, reference, payer) = match paid_by {
        PaidBy::Network { attempt, settlement } => (attempt.amount, settlement.reference.as_str(), settlement.payer.as_str()),
        PaidBy::Balance { payer } => (Amount::ZERO, "", payer.as_str()),
        PaidBy::Nothing => (Amount::ZERO, "", ""),
    };
    let paid = PaidIntent { id: intent_id.clone(), amount, reference: reference.to_owned(), payer: payer.to_owned() };
    unit.intents().succeed(&paid, now).await?;
    let intent = unit.intents().find(intent_id).await?.ok_or(SettlementError::Orphan)?;
    let started = match session.kind {
        SessionMode::Payment => Started::of_purchase(read_drafts(unit, &intent).await?, now),
        SessionMode::Subscription | SessionMode::Setup => subscribe::start(ctx, unit, &session, &intent).await?,
    };
    unit.prices().commit(&session.id).await?;
    grant(ctx, unit, &session, &started, now).await?;
    if !pay(ctx, unit, &intent, &started, paid_by).await? {
        return Ok(false);
    }
    subscribe::notify_started(ctx, unit, &started).await?;
    notify_complete(ctx, unit, &session, &intent, now).await?;
    Ok(true)
}

/// Locks and returns the drafts of an intent, in the intent's order.
pub(super) async fn read_drafts(unit: &mut dyn UnitOfWork, intent: &Intent) -> Result<Vec<Draft>, SettlementError> {
    let mut ids = intent.invoices.clone();
    ids.sort();
    let mut invoices = unit.invoices().lock_all(&ids).await?;
    invoices.sort_by_key(|invoice| intent.invoices.iter().position(|id| *id == invoice.id));
    let mut items = lines_by_invoice(unit, &ids).await?;
    let with_items = |invoice: Invoice| Draft { items: items.remove(&invoice.id).unwrap_or_default(), invoice };
    Ok(invoices.into_iter().map(with_items).collect())
}

/// Finalizes the drafts and pays them. False: the balance does not cover everything.
async fn pay(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &Intent,
    started: &Started,
    paid_by: PaidBy<'_>,
) -> Result<bool, SettlementError> {
    if let PaidBy::Balance { .. } = paid_by {
        // Lock order: balance before the number series.
        unit.balances().lock(std::slice::from_ref(&intent.customer_id)).await?;
        if balance_of(unit, &intent.customer_id, &intent.currency_id).await? < intent.amount {
            return Ok(false);
        }
    }
    let mut open = Vec::with_capacity(started.drafts.len());
    for Draft { invoice, .. } in &started.drafts {
        open.push(finalize(ctx, unit, invoice, invoice.clone(), started.at).await?);
    }
    match paid_by {
        PaidBy::Network { attempt, .. } => {
            let receipt = Receipt {
                mode: intent.mode,
                customer_id: &intent.customer_id,
                attempt,
                intent: Some(&intent.id),
                to_balance: Amount::ZERO,
                at: started.at,
            };
            settle(ctx, unit, &[receipt]).await?;
            Ok(true)
        }
        PaidBy::Balance { .. } => {
            let currency = unit.methods().find_currency(&intent.currency_id).await?.ok_or(SettlementError::Orphan)?;
            let due: Vec<_> = open.into_iter().filter(|invoice| !invoice.remaining().is_zero()).collect();
            let count = due.len();
            let paid = apply_balance(ctx, unit, &currency, due, started.at).await?;
            Ok(paid.len() == count && paid.iter().all(|one| one.after.status == InvoiceStatus::Paid))
        }
        PaidBy::Nothing => Ok(true),
    }
}

async fn notify_complete(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    intent: &Intent,
    now: Timestamp,
) -> Result<(), StorageError> {
    let mut messages = vec![Message::new(Topic::Realtime, now).with("event", "checkout.session.completed").with("id", &session.id)];
    let customer = session.customer_id.as_ref().map(CustomerId::as_str).unwrap_or_default();
    // Each subscription has its own invoice, in the order of the intent. A purchase without a subscription has one invoice.
    let mut subscriptions = session.subscription_ids.iter().filter(|_| session.kind != SessionMode::Payment);
    for invoice in &intent.invoices {
        let paid = InvoicePaid { invoice, customer, currency: &session.currency_id, subscription: subscriptions.next() };
        messages.extend(billing::paid_messages(&paid, now));
    }
    let messages: Vec<_> = messages.into_iter().map(|message| NewMessage { id: EventId::new(now, ctx.random.as_ref()), message }).collect();
    unit.outbox().publish_all(&messages, now).await
}

/// Grants one entitlement for each app that was bought, with the invoice line that paid for it. Entitlements of a subscription name the
/// subscription.
async fn grant(ctx: &Context, unit: &mut dyn UnitOfWork, session: &Session, started: &Started, now: Timestamp) -> Result<(), StorageError> {
    let Some(holder) = &session.payer else { return Ok(()) };
    let ids: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
    let sold = unit.prices().find_with_products(&ids).await?;
    let mut granted = Vec::with_capacity(sold.len());
    for CatalogueItem { price, product } in sold {
        let Some(app) = product.app else { continue };
        let of_price = |one: &&Subscription| one.items.iter().any(|item| item.price_id == price.id);
        let line = started.drafts.iter().flat_map(|draft| &draft.items).find(|item| item.price_id.as_ref() == Some(&price.id));
        granted.push(Entitlement {
            id: EntitlementId::new(now, ctx.random.as_ref()),
            mode: session.mode,
            holder: holder.clone(),
            app,
            session_id: session.id.clone(),
            subscription_id: started.subscriptions.iter().find(of_price).map(|one| one.id.clone()),
            invoice_id: line.map(|line| line.invoice_id.clone()).or_else(|| session.invoice_id.clone()),
            invoice_item_id: line.map(|line| line.id.clone()),
            acquired_at: now,
            revoked_at: None,
            suspended_at: None,
        });
    }
    unit.entitlements().grant_all(&granted).await
}
