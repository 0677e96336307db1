//! Credit notes and refunds that an owner orders, and their previews.

use super::allocation::{Destination, spread};
use super::issue::{ItemOrder, NoteOrder, NotePlan, issue_note, plan, returnable};
use super::{CreditError, CreditNote, CreditNoteItem, CreditNoteReason};
use crate::billing::recovery::recover_if_paid;
use crate::billing::{COMMENT_MAX, Invoice, InvoiceChange, InvoiceItem, InvoiceStatus, PaymentSource, publish_charges, time_of};
use crate::context::Context;
use crate::payment::{IntentStatus, Refund};
use crate::shared::{Amount, AttemptId, CreditNoteId, InvoiceId, InvoiceItemId, Mode, PaymentIntentId, Timestamp, check_text};
use crate::storage::UnitOfWork;

/// Where the paid part of a credit note goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditTo {
    Balance,
    /// The invoice's payments.
    Payments,
}

impl CreditTo {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "balance" => Self::Balance,
            "refund" => Self::Payments,
            _ => return None,
        })
    }
}

/// The part of a credit note order for one invoice line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedItem {
    pub invoice_item_id: InvoiceItemId,
    pub amount: Amount,
    /// Whether access to what the line paid for ends. `None`: it ends if the line is credited in full.
    pub revokes: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteOrder {
    pub invoice_id: InvoiceId,
    /// Empty: `amount` is spread over all lines of the invoice.
    pub items: Vec<OrderedItem>,
    /// Used without items. `None`: the creditable amount of the lines.
    pub amount: Option<Amount>,
    pub reason: CreditNoteReason,
    pub memo: String,
    pub to: CreditTo,
}

/// What a credit note would credit, and where its money would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNotePreview {
    pub items: Vec<OrderedItem>,
    pub total: Amount,
    pub due_reduced: Amount,
    pub to_balance: Amount,
    pub refunded: Amount,
}

/// Computes the effect of a credit note without writing it.
///
/// # Errors
/// Those of [`create_credit_note`].
#[tracing::instrument(skip_all)]
pub async fn preview_credit_note(ctx: &Context, mode: Mode, order: &CreditNoteOrder) -> Result<CreditNotePreview, CreditError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(&order.invoice_id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreditError::NotFound)?;
    let (note, plan) = plan_order(unit.as_mut(), &invoice, order).await?;
    let to_balance = Amount::sum(plan.allocation.returned.iter().filter(|(id, _)| is_balance(&plan, id)).map(|(_, amount)| *amount))?;
    let returned = Amount::sum(plan.allocation.returned.iter().map(|(_, amount)| *amount))?;
    let item = |(ordered, (_, revokes)): (&ItemOrder, &(crate::billing::ItemCredit, bool))| OrderedItem {
        invoice_item_id: ordered.item.id.clone(),
        amount: ordered.amount,
        revokes: Some(*revokes),
    };
    Ok(CreditNotePreview {
        items: note.items.iter().zip(&plan.items).map(item).collect(),
        total: plan.total,
        due_reduced: plan.allocation.due,
        to_balance: plan.allocation.to_balance.plus(to_balance)?,
        refunded: returned.minus(to_balance)?,
    })
}

fn is_balance(plan: &NotePlan, id: &crate::shared::InvoicePaymentId) -> bool {
    plan.payments.iter().any(|payment| payment.id == *id && matches!(payment.source, PaymentSource::Balance(_)))
}

async fn plan_order(unit: &mut dyn UnitOfWork, invoice: &Invoice, order: &CreditNoteOrder) -> Result<(NoteOrder, NotePlan), CreditError> {
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = note_order(invoice, lines, order)?;
    let plan = plan(unit, invoice, &note).await?;
    Ok((note, plan))
}

fn note_order(invoice: &Invoice, lines: Vec<InvoiceItem>, order: &CreditNoteOrder) -> Result<NoteOrder, CreditError> {
    if invoice.status.check(InvoiceChange::Credit).is_err() {
        return Err(CreditError::NotCreditable);
    }
    let memo = check_text("memo", &order.memo, COMMENT_MAX)?;
    let destination = match order.to {
        CreditTo::Balance => Destination::Balance,
        CreditTo::Payments => Destination::Payments,
    };
    let items = if order.items.is_empty() {
        spread_over(lines, order.amount)?
    } else {
        let ordered = order.items.iter().map(|one| {
            let item = lines.iter().find(|line| line.id == one.invoice_item_id).cloned().ok_or(CreditError::BadItems)?;
            Ok(ItemOrder { revokes: one.revokes, ..ItemOrder::new(item, one.amount) })
        });
        ordered.collect::<Result<_, CreditError>>()?
    };
    Ok(NoteOrder { memo, ..NoteOrder::new(order.reason, items, destination) })
}

/// Spreads an amount over the lines. `None`: the creditable amount of the lines.
fn spread_over(lines: Vec<InvoiceItem>, amount: Option<Amount>) -> Result<Vec<ItemOrder>, CreditError> {
    let creditable: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
    let parts = match amount {
        Some(amount) => spread(amount, &creditable)?,
        None => creditable,
    };
    Ok(lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part)).collect())
}

/// Issues the credit note that an owner orders. Returns it with its items and refunds.
///
/// # Errors
/// [`CreditError::NotCreditable`] for drafts, void invoices and statements; [`CreditError::OverRefund`] when the amount exceeds the
/// creditable amount of the lines or the refundable amount of the payments; [`CreditError::BadItems`] when a line is named twice or
/// belongs to another invoice.
#[tracing::instrument(skip_all, fields(invoice = %order.invoice_id))]
pub async fn create_credit_note(
    ctx: &Context,
    mode: Mode,
    order: &CreditNoteOrder,
) -> Result<(CreditNote, Vec<CreditNoteItem>, Vec<Refund>), CreditError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = locked(unit.as_mut(), mode, &order.invoice_id).await?;
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = note_order(&invoice, lines, order)?;
    let now = time_of(ctx, unit.as_mut(), invoice.clock_id.as_ref()).await?;
    let issued = issue_note(ctx, unit.as_mut(), &invoice, &note, now).await?;
    let was_overdue = invoice.status == InvoiceStatus::Uncollectible && !issued.invoice.status.is_payable();
    if let Some(subscription) = invoice.subscription_id.as_ref().filter(|_| was_overdue)
        && !recover_if_paid(unit.as_mut(), subscription, now).await?
    {
        return Err(CreditError::Contended);
    }
    publish_charges(ctx, unit.as_mut(), &issued.attempts).await?;
    unit.commit().await?;
    Ok((issued.note, issued.items, issued.refunds))
}

/// Locks an invoice after its subscription, the order in which plan changes and renewals lock them.
async fn locked(unit: &mut dyn UnitOfWork, mode: Mode, id: &InvoiceId) -> Result<Invoice, CreditError> {
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreditError::NotFound)?;
    if let Some(subscription) = &invoice.subscription_id {
        unit.subscriptions().lock(subscription).await?;
    }
    unit.invoices().lock(id).await?.ok_or(CreditError::NotFound)
}

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
pub async fn refundable(ctx: &Context, mode: Mode, id: &InvoiceId) -> Result<Refundable, CreditError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreditError::NotFound)?;
    refundable_of(unit.as_mut(), &invoice).await
}

async fn refundable_of(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Refundable, CreditError> {
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
/// [`CreditError::NothingPaid`] when nothing can be refunded, [`CreditError::OverRefund`] when the order exceeds the refundable amount.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn refund_invoice(ctx: &Context, mode: Mode, id: &InvoiceId, order: &RefundOrder) -> Result<RefundedNote, CreditError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = locked(unit.as_mut(), mode, id).await?;
    let most = refundable_of(unit.as_mut(), &invoice).await?.most;
    let amount = checked_amount(order.amount, most)?;
    // A refund returns paid money only. A default credit note would reduce the unpaid part first.
    let refunded = refund_one(ctx, unit.as_mut(), &invoice, amount, Destination::PaidPart, order).await?;
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

fn checked_amount(amount: Option<Amount>, most: Amount) -> Result<Amount, CreditError> {
    match amount {
        _ if most.is_zero() => Err(CreditError::NothingPaid),
        Some(Amount::ZERO) => Err(CreditError::NoAmount),
        Some(amount) if amount > most => Err(CreditError::OverRefund),
        amount => Ok(amount.unwrap_or(most)),
    }
}

async fn refund_one(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    amount: Amount,
    destination: Destination,
    order: &RefundOrder,
) -> Result<RefundedNote, CreditError> {
    let memo = check_text("description", &order.description, COMMENT_MAX)?;
    let lines = unit.invoices().items(&invoice.id).await?;
    let items = spread_over(lines, Some(amount))?;
    let note = NoteOrder { memo, ..NoteOrder::new(order.reason, items, destination) };
    let now = time_of(ctx, unit, invoice.clock_id.as_ref()).await?;
    let issued = issue_note(ctx, unit, invoice, &note, now).await?;
    publish_charges(ctx, unit, &issued.attempts).await?;
    Ok(RefundedNote { notes: vec![issued.note.id], refunds: issued.refunds, to_balance: issued.note.to_balance })
}

/// Refunds a network payment by credit notes over its invoices: over the one named in the order, else over each in turn, oldest first.
///
/// # Errors
/// As [`refund_invoice`].
#[tracing::instrument(skip_all, fields(intent = %id))]
pub async fn refund_payment(ctx: &Context, mode: Mode, id: &PaymentIntentId, order: &RefundOrder) -> Result<RefundedNote, CreditError> {
    let mut unit = ctx.store.begin().await?;
    let intent = unit.intents().find(id).await?.filter(|intent| intent.mode == mode).ok_or(CreditError::NotFound)?;
    if intent.status != IntentStatus::Succeeded {
        return Err(CreditError::NothingPaid);
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
            return Err(CreditError::NotFound);
        }
    }
    let found = unit.invoices().find_all(&ids).await?;
    let mut subscriptions: Vec<_> = found.into_iter().filter_map(|invoice| invoice.subscription_id).collect();
    subscriptions.sort();
    subscriptions.dedup();
    for subscription in &subscriptions {
        unit.subscriptions().lock(subscription).await?;
    }
    let invoices = unit.invoices().lock_all(&ids).await?;
    let payments = unit.invoice_payments().of_intent(id).await?;
    let intent_room = intent.amount_received.minus(intent.amount_refunded).unwrap_or_default();
    let mut parts = Vec::with_capacity(invoices.len());
    for invoice in &invoices {
        let creditable = Amount::sum(unit.invoices().items(&invoice.id).await?.iter().map(InvoiceItem::creditable))?;
        let room = payments.iter().find(|payment| payment.invoice_id == invoice.id).map_or(Amount::ZERO, |payment| payment.room());
        parts.push(creditable.min(room));
    }
    let most = Amount::sum(parts.iter().copied())?.min(intent_room);
    let mut amount = checked_amount(order.amount, most)?;
    let mut refunded = RefundedNote { notes: Vec::new(), refunds: Vec::new(), to_balance: Amount::ZERO };
    for (invoice, part) in invoices.iter().zip(parts) {
        let part = part.min(amount);
        if part.is_zero() {
            continue;
        }
        amount = amount.minus(part)?;
        let one = refund_one(ctx, unit.as_mut(), invoice, part, Destination::Payment(id.clone()), order).await?;
        refunded.notes.extend(one.notes);
        refunded.refunds.extend(one.refunds);
    }
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
) -> Result<Vec<AttemptId>, CreditError> {
    let invoice = unit.invoices().lock(&invoice.id).await?.ok_or(CreditError::NotFound)?;
    let most = refundable_of(unit, &invoice).await?.most;
    if most.is_zero() {
        return Ok(Vec::new());
    }
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = NoteOrder::new(reason, spread_over(lines, Some(most))?, Destination::PaidPart);
    Ok(issue_note(ctx, unit, &invoice, &note, now).await?.attempts)
}
