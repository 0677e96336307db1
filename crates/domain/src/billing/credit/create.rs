//! Credit notes that an owner orders, and their previews.

use super::allocation::{Destination, spread};
use super::daily_cap::{OrderedBy, publish_refunds};
use super::issue::{IssuedNote, ItemOrder, NoteOrder, PlannedItem, issue_note, plan};
use super::{CreditNoteReason, NoteError};
use crate::billing::errors::convert_through;
use crate::billing::recovery::recover_if_paid;
use crate::billing::{COMMENT_MAX, Invoice, InvoiceChange, InvoiceItem, InvoiceStatus, PostingError, time_of};
use crate::context::Context;
use crate::shared::{Amount, AmountError, InputError, InvoiceId, InvoiceItemId, Mode, StorageError, check_text};
use crate::storage::UnitOfWork;

/// Why an owner's credit note is rejected.
#[derive(Debug, thiserror::Error)]
pub enum CreateNoteError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Note(#[from] NoteError),
}

convert_through!(CreateNoteError::Note, AmountError, PostingError, StorageError);

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
pub async fn preview_credit_note(ctx: &Context, mode: Mode, order: &CreditNoteOrder) -> Result<CreditNotePreview, CreateNoteError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(&order.invoice_id).await?.filter(|invoice| invoice.mode == mode).ok_or(CreateNoteError::NotFound)?;
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = note_order(&invoice, lines, order)?;
    let plan = plan(unit.as_mut(), &invoice, &note).await?;
    let to_balance = plan.returned_to_balance()?;
    let item = |one: &PlannedItem| OrderedItem { invoice_item_id: one.credit.id.clone(), amount: one.amount, revokes: Some(one.revokes) };
    Ok(CreditNotePreview {
        items: plan.items.iter().map(item).collect(),
        total: plan.total,
        due_reduced: plan.allocation.due,
        to_balance: plan.allocation.to_balance.plus(to_balance)?,
        refunded: plan.allocation.total_returned()?.minus(to_balance)?,
    })
}

fn note_order(invoice: &Invoice, lines: Vec<InvoiceItem>, order: &CreditNoteOrder) -> Result<NoteOrder, CreateNoteError> {
    if invoice.status.check(InvoiceChange::Credit).is_err() {
        return Err(NoteError::NotCreditable.into());
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
            let item = lines.iter().find(|line| line.id == one.invoice_item_id).cloned().ok_or(NoteError::BadItems)?;
            Ok(ItemOrder { revokes: one.revokes, ..ItemOrder::new(item, one.amount) })
        });
        ordered.collect::<Result<_, NoteError>>()?
    };
    Ok(NoteOrder { memo, ..NoteOrder::new(order.reason, items, destination) })
}

/// Spreads an amount over the lines. `None`: the creditable amount of the lines.
pub(super) fn spread_over(lines: Vec<InvoiceItem>, amount: Option<Amount>) -> Result<Vec<ItemOrder>, NoteError> {
    let creditable: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
    let parts = match amount {
        Some(amount) => spread(amount, &creditable)?,
        None => creditable,
    };
    Ok(lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part)).collect())
}

/// Issues the credit note that an owner orders.
///
/// # Errors
/// [`NoteError::NotCreditable`] for drafts, void invoices and statements; [`NoteError::OverRefund`] when the amount exceeds the
/// creditable amount of the lines or the refundable amount of the payments; [`NoteError::BadItems`] when a line is named twice or
/// belongs to another invoice.
#[tracing::instrument(skip_all, fields(invoice = %order.invoice_id))]
pub async fn create_credit_note(ctx: &Context, mode: Mode, order: &CreditNoteOrder) -> Result<IssuedNote, CreateNoteError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = lock_invoice(unit.as_mut(), mode, &order.invoice_id).await?.ok_or(CreateNoteError::NotFound)?;
    let lines = unit.invoices().items(&invoice.id).await?;
    let note = note_order(&invoice, lines, order)?;
    let now = time_of(ctx, unit.as_mut(), invoice.clock_id.as_ref()).await?;
    let issued = issue_note(ctx, unit.as_mut(), &invoice, &note, now).await?;
    let was_overdue = invoice.status == InvoiceStatus::Uncollectible && !issued.invoice.status.is_payable();
    if let Some(subscription) = invoice.subscription_id.as_ref().filter(|_| was_overdue)
        && !recover_if_paid(unit.as_mut(), subscription, now).await?
    {
        return Err(PostingError::Contended.into());
    }
    publish_refunds(ctx, unit.as_mut(), OrderedBy::Store, &issued.attempts).await.map_err(NoteError::from)?;
    unit.commit().await?;
    Ok(issued)
}

/// Locks an invoice after its subscription, the order in which plan changes and renewals lock them. `None`: it does not exist in this mode.
pub(super) async fn lock_invoice(unit: &mut dyn UnitOfWork, mode: Mode, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
    let Some(invoice) = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode) else { return Ok(None) };
    if let Some(subscription) = &invoice.subscription_id {
        unit.subscriptions().lock(subscription).await?;
    }
    unit.invoices().lock(id).await
}
