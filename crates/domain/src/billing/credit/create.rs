//! Credit notes and refunds that an owner orders, and what they would do.

use super::allocation::{Destination, spread};
use super::issue::{ItemOrder, NoteOrder, NotePlan, issue_note, plan, returnable};
use super::{CreditError, CreditNote, CreditNoteItem, CreditNoteReason};
use crate::billing::recovery::debt_paid;
use crate::billing::{COMMENT_MAX, Invoice, InvoiceChange, InvoiceItem, InvoiceStatus, PaymentSource, publish_charges, time_of};
use crate::context::Context;
use crate::payment::{IntentStatus, Refund};
use crate::shared::{Amount, AttemptId, CreditNoteId, InvoiceId, InvoiceItemId, Mode, PaymentIntentId, Timestamp, check_text};
use crate::storage::UnitOfWork;

/// Where the part of a credit note goes that was paid already.
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

/// What is ordered of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedItem {
    pub invoice_item_id: InvoiceItemId,
    pub amount: Amount,
    /// `None`: what the line paid for ends if the line is credited in full.
    pub revokes: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteOrder {
    pub invoice_id: InvoiceId,
    /// Empty: `amount` is spread over the lines.
    pub items: Vec<OrderedItem>,
    /// Without items: `None` is all that the lines can give.
    pub amount: Option<Amount>,
    pub reason: CreditNoteReason,
    pub memo: String,
    pub to: CreditTo,
}

/// What a credit note would give, and where its money would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNotePreview {
    pub items: Vec<OrderedItem>,
    pub total: Amount,
    pub due_reduced: Amount,
    pub to_balance: Amount,
    pub refunded: Amount,
}

/// Computes what a credit note would do now, without writing it.
///
/// # Errors
/// Those of [`create_credit_note`].
pub async fn preview_credit_note(ctx: &Context, mode: Mode, order: &CreditNoteOrder) -> Result<CreditNotePreview, CreditError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(&order.invoice_id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreditError::NotFound)?;
    let (note, plan) = planned(unit.as_mut(), &invoice, order).await?;
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

async fn planned(unit: &mut dyn UnitOfWork, invoice: &Invoice, order: &CreditNoteOrder) -> Result<(NoteOrder, NotePlan), CreditError> {
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

/// `None`: all that the lines can give.
fn spread_over(lines: Vec<InvoiceItem>, amount: Option<Amount>) -> Result<Vec<ItemOrder>, CreditError> {
    let given: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
    let parts = match amount {
        Some(amount) => spread(amount, &given)?,
        None => given,
    };
    Ok(lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part)).collect())
}

/// Issues the credit note that an owner orders. Answers it with its items and refunds.
///
/// # Errors
/// [`CreditError::NotCreditable`] for drafts, void invoices and statements; [`CreditError::OverRefund`] when the lines or the payments
/// cannot give that much; [`CreditError::BadItems`] when a line is named twice or belongs to another invoice.
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
        && !debt_paid(unit.as_mut(), subscription, now).await?
    {
        return Err(CreditError::Contended);
    }
    publish_charges(ctx, unit.as_mut(), &issued.attempts).await?;
    unit.commit().await?;
    Ok((issued.note, issued.items, issued.refunds))
}

/// Locks an invoice behind its subscription: changes of plan and renewals take them in this order.
async fn locked(unit: &mut dyn UnitOfWork, mode: Mode, id: &InvoiceId) -> Result<Invoice, CreditError> {
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreditError::NotFound)?;
    if let Some(subscription) = &invoice.subscription_id {
        unit.subscriptions().lock(subscription).await?;
    }
    unit.invoices().lock(id).await?.ok_or(CreditError::NotFound)
}

/// What is to be refunded of a payment or an invoice (payment-kit.md): an amount, or all that is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    /// `None`: all that is left.
    pub amount: Option<Amount>,
    /// Of a payment that paid several invoices: one of them.
    pub invoice: Option<InvoiceId>,
    pub reason: CreditNoteReason,
    pub description: String,
}

/// What of an invoice can be refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refundable {
    /// What a note to the payments can give now, the unpaid part aside.
    pub most: Amount,
    /// Of that, what returns to the balance.
    pub to_balance: Amount,
}

/// What of an invoice can be refunded now: no more than its lines can give, and no more than its payments have left.
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

/// Refunds what an invoice was paid, by a credit note. What the balance had paid is balance again.
///
/// # Errors
/// [`CreditError::NothingPaid`] when nothing can be refunded, [`CreditError::OverRefund`] when less can be than is asked for.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn refund_invoice(ctx: &Context, mode: Mode, id: &InvoiceId, order: &RefundOrder) -> Result<RefundedNote, CreditError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = locked(unit.as_mut(), mode, id).await?;
    let most = refundable_of(unit.as_mut(), &invoice).await?.most;
    let amount = asked(order.amount, most)?;
    // A refund gives back what was paid. The unpaid part of the invoice is owed as before: the note would take that first.
    let done = refund_one(ctx, unit.as_mut(), &invoice, amount, Destination::PaidPart, order).await?;
    unit.commit().await?;
    Ok(done)
}

/// A credit note that an order for a refund wrote, and the refunds that it makes.
#[derive(Debug, Clone)]
pub struct RefundedNote {
    pub notes: Vec<CreditNoteId>,
    pub refunds: Vec<Refund>,
    /// What returned to the balance.
    pub to_balance: Amount,
}

fn asked(amount: Option<Amount>, most: Amount) -> Result<Amount, CreditError> {
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

/// Refunds a network payment: of one of its invoices, or of each in turn, oldest first.
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
    if let ([], [only]) = (payments.as_slice(), intent.invoices.as_slice()) {
        // The balance paid the order: its intent names the invoice, and no network has moved anything.
        let only = only.clone();
        drop(unit);
        return refund_invoice(ctx, mode, &only, order).await;
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
    let left = intent.amount_received.minus(intent.amount_refunded).unwrap_or_default();
    let mut parts = Vec::with_capacity(invoices.len());
    for invoice in &invoices {
        let creditable = Amount::sum(unit.invoices().items(&invoice.id).await?.iter().map(InvoiceItem::creditable))?;
        let room = payments.iter().find(|payment| payment.invoice_id == invoice.id).map_or(Amount::ZERO, |payment| payment.room());
        parts.push(creditable.min(room));
    }
    let most = Amount::sum(parts.iter().copied())?.min(left);
    let mut amount = asked(order.amount, most)?;
    let mut done = RefundedNote { notes: Vec::new(), refunds: Vec::new(), to_balance: Amount::ZERO };
    for (invoice, part) in invoices.iter().zip(parts) {
        let part = part.min(amount);
        if part.is_zero() {
            continue;
        }
        amount = amount.minus(part)?;
        let one = refund_one(ctx, unit.as_mut(), invoice, part, Destination::Payment(id.clone()), order).await?;
        done.notes.extend(one.notes);
        done.refunds.extend(one.refunds);
    }
    unit.commit().await?;
    Ok(done)
}

/// Refunds all that can be refunded of an invoice, in a unit of work of the caller. Answers the attempts that send it; nothing where
/// nothing can be refunded.
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
