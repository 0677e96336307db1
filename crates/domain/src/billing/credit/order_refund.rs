//! Refunds that an owner orders: of an invoice, or of a network payment with its invoices.

use super::allocation::Destination;
use super::create::{lock_invoice, spread_over};
use super::daily_cap::{OrderedBy, publish_refunds};
use super::issue::{NewNote, NoteOrder, issue_note, issue_notes, returnable};
use super::{CreditNoteReason, NoteError, RefundAttempt};
use crate::billing::errors::convert_through;
use crate::billing::invoice::lines_by_invoice;
use crate::billing::{COMMENT_MAX, Invoice, InvoiceChange, InvoiceItem, PaymentSource, PostingError, time_of};
use crate::context::Context;
use crate::payment::{IntentStatus, Refund};
use crate::shared::{Amount, AmountError, CreditNoteId, InputError, InvoiceId, Mode, PaymentIntentId, StorageError, Timestamp, check_text};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// Why an owner's refund is rejected.
#[derive(Debug, thiserror::Error)]
pub enum RefundError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("There is no payment that could be refunded")]
    NothingPaid,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Note(#[from] NoteError),
}

convert_through!(RefundError::Note, AmountError, PostingError, StorageError);

/// A refund of a payment or an invoice (payment-kit.md): an amount, or everything that can still be refunded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    /// `None`: everything that can still be refunded.
    pub amount: Option<Amount>,
    /// Restricts the refund of a payment of several invoices to one of them.
    pub invoice: Option<InvoiceId>,
    pub reason: CreditNoteReason,
    pub description: String,
}

/// How much of an invoice can be refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refundable {
    /// The most that a credit note can return to the invoice's payments now; the unpaid part does not count.
    pub most: Amount,
    /// The part of `most` that goes to the customer's balance.
    pub to_balance: Amount,
}

/// Computes how much of an invoice can be refunded now: at most the creditable amount of its lines and the refundable amount of its
/// payments.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn refundable(ctx: &Context, mode: Mode, id: &InvoiceId) -> Result<Refundable, RefundError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(RefundError::NotFound)?;
    Ok(refundable_of(unit.as_mut(), &invoice).await?)
}

async fn refundable_of(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Refundable, PostingError> {
    let none = Refundable { most: Amount::ZERO, to_balance: Amount::ZERO };
    if invoice.status.check(InvoiceChange::Credit).is_err() || invoice.reason.is_statement() {
        return Ok(none);
    }
    let lines = unit.invoices().items(&invoice.id).await?;
    let creditable = Amount::sum(lines.iter().map(InvoiceItem::creditable))?;
    let payments = unit.invoice_payments().of_invoices(std::slice::from_ref(&invoice.id)).await?;
    let ids: Vec<_> = payments.iter().filter_map(|payment| payment.source.intent().cloned()).collect();
    let found = if ids.is_empty() { Vec::new() } else { unit.intents().find_all(&ids).await? };
    let intents = found.into_iter().map(|intent| (intent.id.clone(), intent)).collect();
    let (mut by_network, mut by_balance) = (Amount::ZERO, Amount::ZERO);
    for payment in &payments {
        let room = returnable(payment, &intents).room;
        match payment.source {
            PaymentSource::Balance(_) => by_balance = by_balance.plus(room)?,
            _ => by_network = by_network.plus(room)?,
        }
    }
    let paid_part = creditable.minus(invoice.remaining()).unwrap_or_default();
    let by_network = paid_part.min(by_network);
    let to_balance = paid_part.minus(by_network)?.min(by_balance);
    Ok(Refundable { most: by_network.plus(to_balance)?, to_balance })
}

/// Refunds an invoice's payments by a credit note. The part that the balance paid returns to the balance.
///
/// # Errors
/// [`RefundError::NothingPaid`] when nothing can be refunded, [`NoteError::OverRefund`] when the order exceeds the refundable amount.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn refund_invoice(ctx: &Context, mode: Mode, id: &InvoiceId, order: &RefundOrder) -> Result<RefundedNote, RefundError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = lock_invoice(unit.as_mut(), mode, id).await?.ok_or(RefundError::NotFound)?;
    let most = refundable_of(unit.as_mut(), &invoice).await?.most;
    let amount = checked_amount(order.amount, most)?;
    // A refund returns paid money only. A default credit note would reduce the unpaid part first.
    let lines = unit.invoices().items(&invoice.id).await?;
    let refunded = refund_all(ctx, unit.as_mut(), vec![InvoiceRefund { invoice, lines, amount }], &Destination::PaidPart, order).await?;
    unit.commit().await?;
    Ok(refunded)
}

/// The credit notes that a refund order wrote, and their refunds.
#[derive(Debug, Clone)]
pub struct RefundedNote {
    pub notes: Vec<CreditNoteId>,
    pub refunds: Vec<Refund>,
    /// The amount that returned to the balance.
    pub to_balance: Amount,
}

fn checked_amount(amount: Option<Amount>, most: Amount) -> Result<Amount, RefundError> {
    match amount {
        _ if most.is_zero() => Err(RefundError::NothingPaid),
        Some(Amount::ZERO) => Err(NoteError::NoAmount.into()),
        Some(amount) if amount > most => Err(NoteError::OverRefund.into()),
        amount => Ok(amount.unwrap_or(most)),
    }
}

/// A part of an order: the amount that is refunded of an invoice.
struct InvoiceRefund {
    invoice: Invoice,
    lines: Vec<InvoiceItem>,
    amount: Amount,
}

/// Issues the credit notes of an order, all of one customer, and publishes the refunds. Call it last before the commit.
async fn refund_all(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    parts: Vec<InvoiceRefund>,
    destination: &Destination,
    order: &RefundOrder,
) -> Result<RefundedNote, RefundError> {
    let memo = check_text("description", &order.description, COMMENT_MAX)?;
    let mut times = HashMap::new();
    let mut notes = Vec::with_capacity(parts.len());
    for InvoiceRefund { invoice, lines, amount } in parts {
        let note = NoteOrder::new(order.reason, spread_over(lines, Some(amount))?, destination.clone());
        let at = match times.get(&invoice.clock_id) {
            Some(at) => *at,
            None => {
                let at = time_of(ctx, unit, invoice.clock_id.as_ref()).await?;
                times.insert(invoice.clock_id.clone(), at);
                at
            }
        };
        notes.push(NewNote { invoice, order: NoteOrder { memo: memo.clone(), ..note }, at });
    }
    let mut refunded = RefundedNote { notes: Vec::new(), refunds: Vec::new(), to_balance: Amount::ZERO };
    let mut attempts = Vec::new();
    for issued in issue_notes(ctx, unit, notes).await? {
        refunded.to_balance = refunded.to_balance.plus(issued.note.to_balance)?;
        refunded.notes.push(issued.note.id);
        refunded.refunds.extend(issued.refunds);
        attempts.extend(issued.attempts);
    }
    publish_refunds(ctx, unit, OrderedBy::Store, &attempts).await.map_err(NoteError::from)?;
    Ok(refunded)
}

/// Refunds a network payment by credit notes over its invoices: over the one named in the order, else over each in turn, oldest first.
///
/// # Errors
/// As [`refund_invoice`].
#[tracing::instrument(skip_all, fields(intent = %id))]
pub async fn refund_payment(ctx: &Context, mode: Mode, id: &PaymentIntentId, order: &RefundOrder) -> Result<RefundedNote, RefundError> {
    let mut unit = ctx.store.begin().await?;
    let intent = unit.intents().find(id).await?.filter(|intent| intent.mode == mode).ok_or(RefundError::NotFound)?;
    if intent.status != IntentStatus::Succeeded {
        return Err(RefundError::NothingPaid);
    }
    let payments = unit.invoice_payments().of_intent(id).await?;
    if let ([], [sole_invoice]) = (payments.as_slice(), intent.invoices.as_slice()) {
        // The balance paid the order in full: the intent only names the invoice, and no network moved money.
        let sole_invoice = sole_invoice.clone();
        drop(unit);
        return refund_invoice(ctx, mode, &sole_invoice, order).await;
    }
    let mut ids: Vec<_> = payments.iter().map(|payment| payment.invoice_id.clone()).collect();
    if let Some(named) = &order.invoice {
        ids.retain(|id| id == named);
        if ids.is_empty() {
            return Err(RefundError::NotFound);
        }
    }
    let found = unit.invoices().find_all(&ids).await?;
    let mut subscriptions: Vec<_> = found.into_iter().filter_map(|invoice| invoice.subscription_id).collect();
    subscriptions.sort();
    subscriptions.dedup();
    unit.subscriptions().lock_all(&subscriptions).await?;
    let invoices = unit.invoices().lock_all(&ids).await?;
    let payments = unit.invoice_payments().of_intent(id).await?;
    let intent_room = intent.amount_received.minus(intent.amount_refunded).unwrap_or_default();
    let mut lines = lines_by_invoice(unit.as_mut(), &ids).await?;
    let mut parts = Vec::with_capacity(invoices.len());
    for invoice in invoices {
        let lines = lines.remove(&invoice.id).unwrap_or_default();
        let creditable = Amount::sum(lines.iter().map(InvoiceItem::creditable))?;
        let room = payments.iter().find(|payment| payment.invoice_id == invoice.id).map_or(Amount::ZERO, |payment| payment.room());
        parts.push(InvoiceRefund { invoice, lines, amount: creditable.min(room) });
    }
    let most = Amount::sum(parts.iter().map(|part| part.amount))?.min(intent_room);
    let mut amount = checked_amount(order.amount, most)?;
    for part in &mut parts {
        part.amount = part.amount.min(amount);
        amount = amount.minus(part.amount)?;
    }
    parts.retain(|part| !part.amount.is_zero());
    let refunded = refund_all(ctx, unit.as_mut(), parts, &Destination::Payment(id.clone()), order).await?;
    unit.commit().await?;
    Ok(refunded)
}

/// Refunds everything refundable of an invoice, in the caller's unit of work. Returns the attempts that send the refunds; none if nothing
/// is refundable.
pub(crate) async fn refund_fully(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    reason: CreditNoteReason,
    now: Timestamp,
) -> Result<Vec<RefundAttempt>, NoteError> {
    let invoice = unit.invoices().lock(&invoice.id).await?.ok_or(PostingError::Orphan)?;
    let most = refundable_of(unit, &invoice).await?.most;
    if most.is_zero() {
        return Ok(Vec::new());
    }
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = NoteOrder::new(reason, spread_over(lines, Some(most))?, Destination::PaidPart);
    Ok(issue_note(ctx, unit, &invoice, &note, now).await?.attempts)
}
