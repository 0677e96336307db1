//! Issues credit notes: changes lines, invoice, payments, balance, refunds and journal in one unit of work.

use super::allocation::{Destination, NoteAllocation, Returnable, ReturnedPart, allocate};
use super::refund::{NewRefund, WrittenRefund, write_refund};
use super::{CreditNote, CreditNoteItem, CreditNoteReason, NoteError};
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balance};
use crate::billing::{
    DocumentType, Invoice, InvoiceChange, InvoiceItem, InvoicePayment, ItemCredit, Notification, PaymentSource, PostingError,
    PricingFormula, notify,
};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Intent, IntentStatus, Refund};
use crate::shared::{
    Amount, AmountError, AttemptId, CreditNoteId, EntryId, EventId, InvoicePaymentId, PaymentIntentId, StorageError, Timestamp,
};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// The part of a credit note for one invoice line.
#[derive(Debug, Clone)]
pub(crate) struct ItemOrder {
    /// The line, read under its invoice's lock.
    pub item: InvoiceItem,
    pub amount: Amount,
    /// If unused time is credited: the new end of the line's cover.
    pub covers_until: Option<Timestamp>,
    /// Whether access to what the line paid for ends. `None`: it ends if the line is credited in full, unless the reason keeps access.
    pub revokes: Option<bool>,
    pub pricing_formula: Option<PricingFormula>,
}

impl ItemOrder {
    pub const fn new(item: InvoiceItem, amount: Amount) -> Self {
        Self { item, amount, covers_until: None, revokes: None, pricing_formula: None }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct NoteOrder {
    pub reason: CreditNoteReason,
    pub memo: String,
    pub items: Vec<ItemOrder>,
    pub destination: Destination,
    /// The provider's id of a refund that it has made already: see [`Destination::Sent`].
    pub reference: String,
}

impl NoteOrder {
    pub const fn new(reason: CreditNoteReason, items: Vec<ItemOrder>, destination: Destination) -> Self {
        Self { reason, memo: String::new(), items, destination, reference: String::new() }
    }

    pub fn total(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.items.iter().map(|item| item.amount))
    }
}

/// An issued credit note, with everything that was written for it.
#[derive(Debug, Clone)]
pub struct IssuedNote {
    pub note: CreditNote,
    pub items: Vec<CreditNoteItem>,
    pub invoice: Invoice,
    pub refunds: Vec<Refund>,
    /// Attempts that send the refunds; the caller publishes them.
    pub attempts: Vec<AttemptId>,
}

/// The effect of a credit note, computed alike for preview and issue.
pub(super) struct NotePlan {
    pub total: Amount,
    pub allocation: NoteAllocation,
    pub items: Vec<PlannedItem>,
    pub payments: Vec<InvoicePayment>,
    pub intents: HashMap<PaymentIntentId, Intent>,
}

/// What a credit note does to one invoice line.
pub(super) struct PlannedItem {
    /// The line's amounts after the note.
    pub credit: ItemCredit,
    pub amount: Amount,
    /// Whether access to what the line paid for ends.
    pub revokes: bool,
}

impl NotePlan {
    /// The amount that balance payments return; it goes back to the balance.
    pub fn returned_to_balance(&self) -> Result<Amount, AmountError> {
        let is_balance = |id: &InvoicePaymentId| {
            self.payments.iter().any(|payment| payment.id == *id && matches!(payment.source, PaymentSource::Balance(_)))
        };
        Amount::sum(self.allocation.returned.iter().filter(|one| is_balance(&one.payment)).map(|one| one.amount))
    }
}

/// Plans a credit note without writing anything.
///
/// # Errors
/// [`NoteError::NotCreditable`] for drafts, void invoices and statements; [`NoteError::OverRefund`] when the amount exceeds the
/// creditable amount of the lines or the refundable amount of the payments; [`NoteError::BadItems`] when a line is named twice or
/// belongs to another invoice; [`NoteError::NoAmount`] when the total is zero.
pub(super) async fn plan(unit: &mut dyn UnitOfWork, invoice: &Invoice, order: &NoteOrder) -> Result<NotePlan, NoteError> {
    if invoice.status.check(InvoiceChange::Credit).is_err() || invoice.document() != DocumentType::Invoice {
        return Err(NoteError::NotCreditable);
    }
    let total = order.total()?;
    if total.is_zero() {
        return Err(NoteError::NoAmount);
    }
    let mut items = Vec::with_capacity(order.items.len());
    for (place, one) in order.items.iter().enumerate() {
        let is_repeated = order.items[..place].iter().any(|other| other.item.id == one.item.id);
        if is_repeated || one.item.invoice_id != invoice.id {
            return Err(NoteError::BadItems);
        }
        let credited = one.item.credited.plus(one.amount)?;
        if credited > one.item.amount {
            return Err(NoteError::OverRefund);
        }
        let fills = credited == one.item.amount && !credited.is_zero() && !one.amount.is_zero();
        let revokes = one.revokes.unwrap_or(fills && !order.reason.keeps_access());
        let covers_until = one.covers_until.or(one.item.covers_until);
        let credit = ItemCredit { id: one.item.id.clone(), credited_before: one.item.credited, credited, covers_until };
        items.push(PlannedItem { credit, amount: one.amount, revokes });
    }
    let payments = unit.invoice_payments().of_invoices(std::slice::from_ref(&invoice.id)).await?;
    let ids: Vec<_> = payments.iter().filter_map(|payment| payment.source.intent().cloned()).collect();
    let found = if ids.is_empty() { Vec::new() } else { unit.intents().find_all(&ids).await? };
    let intents: HashMap<_, _> = found.into_iter().map(|intent| (intent.id.clone(), intent)).collect();
    let returnable: Vec<_> = payments.iter().map(|payment| returnable(payment, &intents)).collect();
    let allocation = allocate(total, invoice.remaining(), &returnable, &order.destination)?;
    Ok(NotePlan { total, allocation, items, payments, intents })
}

/// Caps a network payment's room at what its payment intent can still refund, since payouts of the balance use the same intents.
pub(super) fn returnable(payment: &InvoicePayment, intents: &HashMap<PaymentIntentId, Intent>) -> Returnable {
    let at_network = payment.source.intent().map(|intent| {
        let intent = intents.get(intent).filter(|intent| intent.status == IntentStatus::Succeeded);
        intent.map_or(Amount::ZERO, |intent| intent.amount_received.minus(intent.amount_refunded).unwrap_or_default())
    });
    let room = payment.room();
    Returnable { room: at_network.map_or(room, |intent_room| room.min(intent_room)), payment: payment.clone() }
}

/// Issues a credit note over an invoice that is locked in this unit of work. A note is allowed while a payment is in flight: the excess of
/// that payment goes to the balance.
///
/// # Errors
/// Those of [`plan`], and [`PostingError::Contended`] when a row changed after it was read.
pub(crate) async fn issue_note(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    order: &NoteOrder,
    now: Timestamp,
) -> Result<IssuedNote, NoteError> {
    let plan = plan(unit, invoice, order).await?;
    let wall = ctx.now();
    let id = CreditNoteId::new(wall, ctx.random.as_ref());
    let to_balance_payments = plan.returned_to_balance()?;
    let refunded = plan.allocation.total_returned()?.minus(to_balance_payments)?;
    let credits: Vec<_> = plan.items.iter().map(|item| item.credit.clone()).collect();
    if !unit.invoices().credit_items(&credits).await? {
        return Err(PostingError::Contended.into());
    }
    let after = invoice.with_amounts(invoice.amount_paid, invoice.amount_credited.plus(plan.allocation.due)?, now)?;
    if after != *invoice && !unit.invoices().update(invoice, &after).await? {
        return Err(PostingError::Contended.into());
    }
    let to_balance = plan.allocation.to_balance.plus(to_balance_payments)?;
    let mut note = CreditNote {
        id: id.clone(),
        mode: invoice.mode,
        number: 0,
        invoice_id: invoice.id.clone(),
        subscription_id: invoice.subscription_id.clone(),
        customer_id: invoice.customer_id.clone(),
        currency_id: invoice.currency_id.clone(),
        method_id: invoice.method_id.clone(),
        reason: order.reason,
        memo: order.memo.clone(),
        total: plan.total,
        due_reduced: plan.allocation.due,
        to_balance,
        refunded,
        created_at: now,
    };
    let items: Vec<_> = plan
        .items
        .iter()
        .zip(&order.items)
        .map(|(planned, ordered)| CreditNoteItem {
            note_id: id.clone(),
            invoice_item_id: planned.credit.id.clone(),
            amount: planned.amount,
            revokes: planned.revokes,
            pricing_formula: ordered.pricing_formula.clone(),
        })
        .collect();
    revoke(ctx, unit, invoice, &note, &plan, order, now).await?;
    if !to_balance.is_zero() {
        let change = BalanceChange {
            mode: note.mode,
            customer_id: &note.customer_id,
            currency_id: &note.currency_id,
            kind: BalanceTransactionType::CreditNote,
            amount: to_balance,
            source: id.as_str(),
            at: now,
        };
        change_balance(ctx, unit, &change).await?;
    }
    note.number = unit.invoices().allocate_numbers(note.mode, DocumentType::CreditNote, 1).await?;
    unit.credit_notes().insert(&note, &items).await?;
    let WrittenRefunds { refunds, attempts } = return_payments(ctx, unit, &note, &plan, order, now).await?;
    post_note(ctx, unit, &note, now).await?;
    notify(ctx, unit, &Notification::Credited(note.id.clone()), wall).await?;
    Ok(IssuedNote { note, items, invoice: after, refunds, attempts })
}

/// The refunds of a credit note, and the attempts that send them.
#[derive(Default)]
struct WrittenRefunds {
    refunds: Vec<Refund>,
    attempts: Vec<AttemptId>,
}

/// Reserves on each payment the amount that it returns, and writes the refunds that send it.
async fn return_payments(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    note: &CreditNote,
    plan: &NotePlan,
    order: &NoteOrder,
    now: Timestamp,
) -> Result<WrittenRefunds, NoteError> {
    let mut written = WrittenRefunds::default();
    for ReturnedPart { payment, amount } in &plan.allocation.returned {
        let Some(payment) = plan.payments.iter().find(|one| one.id == *payment) else { continue };
        if !unit.invoice_payments().update(payment, &payment.refund(*amount)?).await? {
            return Err(PostingError::Contended.into());
        }
        let intent = payment.source.intent().and_then(|intent| plan.intents.get(intent));
        if matches!(payment.source, PaymentSource::Balance(_)) {
            continue;
        }
        let reference = matches!(order.destination, Destination::Sent(_)).then_some(order.reference.as_str());
        let new = NewRefund { note, payment, intent, amount: *amount, reference, now };
        let WrittenRefund { refund, attempt } = write_refund(ctx, unit, &new).await?;
        written.refunds.push(refund);
        written.attempts.extend(attempt);
    }
    Ok(written)
}

/// Revokes what the credited lines paid for. One-time purchases are revoked in this unit of work. A subscription ends by an event, and only
/// if the line covers the current time.
async fn revoke(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    note: &CreditNote,
    plan: &NotePlan,
    order: &NoteOrder,
    now: Timestamp,
) -> Result<(), StorageError> {
    let mut ends_subscription = false;
    for (planned, ordered) in plan.items.iter().zip(&order.items).filter(|(planned, _)| planned.revokes) {
        if ordered.item.subscription_item_id.is_some() && invoice.subscription_id.is_some() {
            ends_subscription |= ordered.item.covers(now);
        } else {
            unit.entitlements().revoke(&planned.credit.id, now).await?;
        }
    }
    if ends_subscription {
        let wall = ctx.now();
        let message = Message::new(Topic::EndRefunded, wall).with("note", &note.id);
        unit.outbox().publish(&EventId::new(wall, ctx.random.as_ref()), &message, wall).await?;
    }
    Ok(())
}

async fn post_note(ctx: &Context, unit: &mut dyn UnitOfWork, note: &CreditNote, now: Timestamp) -> Result<(), PostingError> {
    if note.total.is_zero() {
        return Ok(());
    }
    let currency = &note.currency_id;
    let postings = vec![
        Posting::debit(Account::Revenue, note.total, currency),
        Posting::credit(Account::Receivable, note.due_reduced, currency),
        Posting::credit(Account::CustomerBalance, note.to_balance, currency),
        Posting::credit(Account::RefundsPayable, note.refunded, currency),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, note.mode, EntryType::CreditNote, note.id.as_str(), now, postings)?).await?;
    Ok(())
}

/// Orders a credit note over the creditable amount of the lines of an invoice.
pub(crate) fn credit_everything(items: Vec<InvoiceItem>) -> Vec<ItemOrder> {
    let creditable = items.into_iter().map(|item| (item.creditable(), item)).filter(|(amount, _)| !amount.is_zero());
    creditable.map(|(amount, item)| ItemOrder::new(item, amount)).collect()
}
