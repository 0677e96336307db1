//! Issues credit notes: changes lines, invoice, payments, balance, refunds and journal in one unit of work.

use super::allocation::{Destination, NoteAllocation, Returnable, ReturnedPart, allocate};
use super::refund::{NewRefund, WrittenRefund, write_refunds};
use super::{CreditNote, CreditNoteItem, CreditNoteReason, NoteError, RefundAttempt};
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balances};
use crate::billing::invoice::{book_shares, sharing};
use crate::billing::notifications::notify_all;
use crate::billing::{
    ChangedInvoice, ChangedPayment, DocumentType, Invoice, InvoiceChange, InvoiceItem, InvoicePayment, ItemCredit, Notification,
    PaymentSource, PostingError, PricingFormula,
};
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Intent, IntentStatus, Refund};
use crate::shared::{
    Amount, AmountError, CreditNoteId, EntryId, EventId, InvoicePaymentId, Mode, PaymentIntentId, StorageError, Timestamp,
};
use crate::storage::UnitOfWork;
use crate::store::RevokedPurchase;
use std::collections::{BTreeSet, HashMap, HashSet};

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

/// A credit note to be issued.
#[derive(Debug, Clone)]
pub(crate) struct NewNote {
    /// Locked in this unit of work.
    pub invoice: Invoice,
    pub order: NoteOrder,
    /// In the customer's time.
    pub at: Timestamp,
}

/// An issued credit note, with everything that was written for it.
#[derive(Debug, Clone)]
pub struct IssuedNote {
    pub note: CreditNote,
    pub items: Vec<CreditNoteItem>,
    pub invoice: Invoice,
    pub refunds: Vec<Refund>,
    /// Attempts that send the refunds; the caller publishes them.
    pub attempts: Vec<RefundAttempt>,
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
/// Those of [`plan_all`].
pub(super) async fn plan(unit: &mut dyn UnitOfWork, invoice: &Invoice, order: &NoteOrder) -> Result<NotePlan, NoteError> {
    let new = NewNote { invoice: invoice.clone(), order: order.clone(), at: invoice.updated_at };
    plan_all(unit, std::slice::from_ref(&new)).await?.pop().ok_or(NoteError::NotCreditable)
}

/// Plans credit notes over distinct invoices without writing anything. Each leaves less for the following ones that return money over the
/// same payment intent.
///
/// # Errors
/// [`NoteError::NotCreditable`] for drafts, void invoices and statements; [`NoteError::OverRefund`] when the amount exceeds the
/// creditable amount of the lines or the refundable amount of the payments; [`NoteError::BadItems`] when a line is named twice or
/// belongs to another invoice; [`NoteError::NoAmount`] when the total is zero.
async fn plan_all(unit: &mut dyn UnitOfWork, notes: &[NewNote]) -> Result<Vec<NotePlan>, NoteError> {
    notes.iter().try_for_each(|new| check_order(&new.invoice, &new.order))?;
    let ids: Vec<_> = notes.iter().map(|new| new.invoice.id.clone()).collect();
    let payments = unit.invoice_payments().of_invoices(&ids).await?;
    let ids: BTreeSet<_> = payments.iter().filter_map(|payment| payment.source.intent().cloned()).collect();
    let ids: Vec<_> = ids.into_iter().collect();
    let found = if ids.is_empty() { Vec::new() } else { unit.intents().find_all(&ids).await? };
    let mut intents: HashMap<_, _> = found.into_iter().map(|intent| (intent.id.clone(), intent)).collect();
    let mut plans = Vec::with_capacity(notes.len());
    for NewNote { invoice, order, .. } in notes {
        let of_invoice = payments.iter().filter(|payment| payment.invoice_id == invoice.id).cloned().collect();
        plans.push(plan_one(invoice, order, of_invoice, &mut intents)?);
    }
    Ok(plans)
}

fn check_order(invoice: &Invoice, order: &NoteOrder) -> Result<(), NoteError> {
    if invoice.status.check(InvoiceChange::Credit).is_err() || invoice.document() != DocumentType::Invoice {
        return Err(NoteError::NotCreditable);
    }
    match order.total()?.is_zero() {
        true => Err(NoteError::NoAmount),
        false => Ok(()),
    }
}

/// Plans one credit note. `payments`: those of its invoice. Counts what it returns over each of the intents as refunded.
fn plan_one(
    invoice: &Invoice,
    order: &NoteOrder,
    payments: Vec<InvoicePayment>,
    intents: &mut HashMap<PaymentIntentId, Intent>,
) -> Result<NotePlan, NoteError> {
    let total = order.total()?;
    let mut items = Vec::with_capacity(order.items.len());
    let mut named = HashSet::new();
    for one in &order.items {
        if !named.insert(&one.item.id) || one.item.invoice_id != invoice.id {
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
    let returnable: Vec<_> = payments.iter().map(|payment| returnable(payment, intents)).collect();
    let allocation = allocate(total, invoice.remaining(), &returnable, &order.destination)?;
    let of_payments = payments.iter().filter_map(|payment| payment.source.intent());
    let before = of_payments.filter_map(|id| Some((id.clone(), intents.get(id)?.clone()))).collect();
    for ReturnedPart { payment, amount } in &allocation.returned {
        let intent = payments.iter().find(|one| one.id == *payment).and_then(|one| intents.get_mut(one.source.intent()?));
        if let Some(intent) = intent {
            intent.amount_refunded = intent.amount_refunded.plus(*amount)?;
        }
    }
    Ok(NotePlan { total, allocation, items, payments, intents: before })
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

/// Issues a credit note over an invoice that is locked in this unit of work.
///
/// # Errors
/// Those of [`issue_notes`].
pub(crate) async fn issue_note(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    order: &NoteOrder,
    now: Timestamp,
) -> Result<IssuedNote, NoteError> {
    let new = NewNote { invoice: invoice.clone(), order: order.clone(), at: now };
    issue_notes(ctx, unit, vec![new]).await?.pop().ok_or(NoteError::NotCreditable)
}

/// Issues credit notes over distinct invoices. A note is allowed while a payment is in flight: the excess of that payment goes to the
/// balance.
///
/// # Errors
/// Those of [`plan_all`], and [`PostingError::Contended`] when a row changed after it was read.
pub(crate) async fn issue_notes(ctx: &Context, unit: &mut dyn UnitOfWork, notes: Vec<NewNote>) -> Result<Vec<IssuedNote>, NoteError> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let plans = plan_all(unit, &notes).await?;
    let mut planned = Vec::with_capacity(notes.len());
    for (new, plan) in notes.into_iter().zip(plans) {
        planned.push(PlannedNote::new(ctx, new, plan)?);
    }
    change_invoices(unit, &planned).await?;
    revoke(ctx, unit, &planned).await?;
    let to_balances: Vec<_> = planned.iter().filter_map(PlannedNote::to_balance).collect();
    change_balances(ctx, unit, &to_balances).await?;
    number(unit, &mut planned).await?;
    let (all, items): (Vec<_>, Vec<_>) = planned.iter().map(|one| (one.note.clone(), one.items.clone())).unzip();
    unit.credit_notes().insert_all(&all, &items.concat()).await?;
    let refunds = return_payments(ctx, unit, &planned).await?;
    let entries = planned.iter().map(|one| entry_of(ctx, one)).collect::<Result<Vec<_>, _>>()?;
    unit.journal().post_all(&entries).await?;
    if let Some(first) = planned.first() {
        book_shares(ctx, unit, &sharing(planned.iter().map(|one| &one.after)), first.new.at).await?;
    }
    let credited: Vec<_> = all.into_iter().map(|note| Notification::Credited(note.id)).collect();
    notify_all(ctx, unit, &credited).await?;
    let mut issued: Vec<_> = planned
        .into_iter()
        .map(|PlannedNote { note, items, after, .. }| IssuedNote { note, items, invoice: after, refunds: Vec::new(), attempts: Vec::new() })
        .collect();
    for WrittenRefund { refund, attempt } in refunds {
        let Some(issued) = issued.iter_mut().find(|issued| Some(&issued.note.id) == refund.credit_note_id.as_ref()) else { continue };
        issued.refunds.push(refund);
        issued.attempts.extend(attempt);
    }
    Ok(issued)
}

/// A credit note with everything that is written for it.
struct PlannedNote {
    new: NewNote,
    plan: NotePlan,
    /// Without its number until [`number`].
    note: CreditNote,
    items: Vec<CreditNoteItem>,
    /// The invoice with the note.
    after: Invoice,
}

impl PlannedNote {
    fn new(ctx: &Context, new: NewNote, plan: NotePlan) -> Result<Self, NoteError> {
        let NewNote { invoice, order, at } = &new;
        let id = CreditNoteId::new(ctx.now(), ctx.random.as_ref());
        let to_balance_payments = plan.returned_to_balance()?;
        let after = invoice.with_amounts(invoice.amount_paid, invoice.amount_credited.plus(plan.allocation.due)?, *at)?;
        let item = |(planned, ordered): (&PlannedItem, &ItemOrder)| CreditNoteItem {
            note_id: id.clone(),
            invoice_item_id: planned.credit.id.clone(),
            amount: planned.amount,
            revokes: planned.revokes,
            pricing_formula: ordered.pricing_formula.clone(),
        };
        let items = plan.items.iter().zip(&order.items).map(item).collect();
        let note = CreditNote {
            id,
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
            to_balance: plan.allocation.to_balance.plus(to_balance_payments)?,
            refunded: plan.allocation.total_returned()?.minus(to_balance_payments)?,
            created_at: *at,
        };
        Ok(Self { new, plan, note, items, after })
    }

    fn to_balance(&self) -> Option<BalanceChange<'_>> {
        let note = &self.note;
        let change = BalanceChange {
            mode: note.mode,
            customer_id: &note.customer_id,
            currency_id: &note.currency_id,
            kind: BalanceTransactionType::CreditNote,
            amount: note.to_balance,
            source: note.id.as_str(),
            at: note.created_at,
        };
        Some(change).filter(|change| !change.amount.is_zero())
    }
}

/// Writes what the notes credit to the lines, and reduces the unpaid parts of the invoices.
async fn change_invoices(unit: &mut dyn UnitOfWork, planned: &[PlannedNote]) -> Result<(), NoteError> {
    let credits: Vec<_> = planned.iter().flat_map(|one| &one.plan.items).map(|item| item.credit.clone()).collect();
    if !unit.invoices().credit_items(&credits).await? {
        return Err(PostingError::Contended.into());
    }
    let changed = planned.iter().filter(|one| one.after != one.new.invoice);
    let changes: Vec<_> = changed.map(|one| ChangedInvoice { before: one.new.invoice.clone(), after: one.after.clone() }).collect();
    match changes.is_empty() || unit.invoices().update_all(&changes).await? {
        true => Ok(()),
        false => Err(PostingError::Contended.into()),
    }
}

/// Both modes have their own number series.
async fn number(unit: &mut dyn UnitOfWork, planned: &mut [PlannedNote]) -> Result<(), StorageError> {
    for mode in [Mode::Test, Mode::Live] {
        let of_mode: Vec<_> = planned.iter_mut().filter(|one| one.note.mode == mode).collect();
        if of_mode.is_empty() {
            continue;
        }
        let count = u32::try_from(of_mode.len()).unwrap_or(u32::MAX);
        let first = unit.invoices().allocate_numbers(mode, DocumentType::CreditNote, count).await?;
        for (number, one) in (first..).zip(of_mode) {
            one.note.number = number;
        }
    }
    Ok(())
}

/// Reserves on each payment the amount that it returns, and writes the refunds that send it.
async fn return_payments(ctx: &Context, unit: &mut dyn UnitOfWork, planned: &[PlannedNote]) -> Result<Vec<WrittenRefund>, NoteError> {
    let (mut changes, mut refunds) = (Vec::new(), Vec::new());
    for PlannedNote { new, plan, note, .. } in planned {
        for ReturnedPart { payment, amount } in &plan.allocation.returned {
            let Some(payment) = plan.payments.iter().find(|one| one.id == *payment) else { continue };
            changes.push(ChangedPayment { before: payment.clone(), after: payment.refund(*amount)? });
            if matches!(payment.source, PaymentSource::Balance(_)) {
                continue;
            }
            let intent = payment.source.intent().and_then(|intent| plan.intents.get(intent));
            let reference = matches!(new.order.destination, Destination::Sent(_)).then_some(new.order.reference.as_str());
            refunds.push(NewRefund { note, payment, intent, amount: *amount, reference });
        }
    }
    if !unit.invoice_payments().update_all(&changes).await? {
        return Err(PostingError::Contended.into());
    }
    write_refunds(ctx, unit, &refunds).await
}

/// Revokes what the credited lines paid for. One-time purchases are revoked in this unit of work. A subscription ends by an event, and only
/// if the line covers the current time.
async fn revoke(ctx: &Context, unit: &mut dyn UnitOfWork, planned: &[PlannedNote]) -> Result<(), StorageError> {
    let wall = ctx.now();
    let (mut purchases, mut messages) = (Vec::new(), Vec::new());
    for PlannedNote { new, plan, note, .. } in planned {
        let mut ends_subscription = false;
        for (planned, ordered) in plan.items.iter().zip(&new.order.items).filter(|(planned, _)| planned.revokes) {
            if ordered.item.subscription_item_id.is_some() && new.invoice.subscription_id.is_some() {
                ends_subscription |= ordered.item.covers(new.at);
            } else {
                purchases.push(RevokedPurchase { item: planned.credit.id.clone(), at: new.at });
            }
        }
        if ends_subscription {
            let message = Message::new(Topic::EndRefunded, wall).with("note", &note.id);
            messages.push(NewMessage { id: EventId::new(wall, ctx.random.as_ref()), message });
        }
    }
    if !purchases.is_empty() {
        unit.entitlements().revoke_all(&purchases).await?;
    }
    if messages.is_empty() { Ok(()) } else { unit.outbox().publish_all(&messages, wall).await }
}

/// The journal entry of a credit note.
fn entry_of(ctx: &Context, planned: &PlannedNote) -> Result<Entry, PostingError> {
    let PlannedNote { new, note, .. } = planned;
    let currency = &note.currency_id;
    let postings = vec![
        Posting::debit(Account::Revenue, note.total, currency),
        Posting::credit(Account::Receivable, note.due_reduced, currency),
        Posting::credit(Account::CustomerBalance, note.to_balance, currency),
        Posting::credit(Account::RefundsPayable, note.refunded, currency),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    Ok(Entry::new(id, note.mode, EntryType::CreditNote, note.id.as_str(), new.at, postings)?)
}

/// Orders a credit note over the creditable amount of the lines of an invoice.
pub(crate) fn credit_everything(items: Vec<InvoiceItem>) -> Vec<ItemOrder> {
    let creditable = items.into_iter().map(|item| (item.creditable(), item)).filter(|(amount, _)| !amount.is_zero());
    creditable.map(|(amount, item)| ItemOrder::new(item, amount)).collect()
}
