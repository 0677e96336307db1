//! Finalization: an invoice gets its number, is posted as a receivable, and is paid from the customer's balance as far as possible.

use super::{DocumentType, Invoice, InvoiceItem, InvoicePayment, InvoiceStatus, NewInvoice, PaymentSource, book_shares, sharing};
use crate::billing::BillingError;
use crate::billing::balance::{BalanceChange, BalanceTransaction, BalanceTransactionType, change_balances};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::shared::{Amount, AmountError, EntryId, InvoicePaymentId, Mode, Timestamp};
use crate::storage::UnitOfWork;

/// An invoice to be finalized, with its lines and the part that the balance pays.
#[derive(Debug, Clone)]
pub(crate) struct Finalization {
    /// The invoice, which has no number yet.
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
    pub applied: Amount,
}

impl Finalization {
    /// # Errors
    /// [`AmountError`] when `applied` exceeds the invoice's total.
    pub fn new(invoice: Invoice, items: Vec<InvoiceItem>, applied: Amount, now: Timestamp) -> Result<Self, AmountError> {
        let open = Invoice { status: InvoiceStatus::Open, finalized_at: Some(now), ..invoice };
        let at = open.created_at;
        Ok(Self { invoice: open.with_amounts(applied, Amount::ZERO, at)?, items, applied })
    }
}

/// Both modes have their own number series (invariants 9 and 11).
const MODES: [Mode; 2] = [Mode::Test, Mode::Live];

/// Numbers and writes new invoices in the given order. Balances are locked before the number series, and in the order of their customers,
/// so that two units of work cannot deadlock.
///
/// # Errors
/// [`BillingError::Contended`] when a balance is below the planned amount. [`BillingError::Storage`] with a duplicate when a period has an
/// invoice already (invariant 2).
pub(crate) async fn finalize_all(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut all: Vec<Finalization>,
) -> Result<Vec<Invoice>, BillingError> {
    let payments = apply_balances(ctx, unit, &all).await?;
    for mode in MODES {
        for document in DocumentType::ALL {
            let is_in_series = |one: &Finalization| one.invoice.mode == mode && one.invoice.document() == document;
            let count = all.iter().filter(|one| is_in_series(one)).count();
            if count == 0 {
                continue;
            }
            let first = unit.invoices().allocate_numbers(mode, document, u32::try_from(count).unwrap_or(u32::MAX)).await?;
            for (number, one) in (first..).zip(all.iter_mut().filter(|one| is_in_series(one))) {
                one.invoice.number = Some(number);
            }
        }
    }
    let mut entries = Vec::with_capacity(all.len());
    let mut written = Vec::with_capacity(all.len());
    for Finalization { invoice, items, .. } in all {
        entries.extend(finalized_entry(ctx, &invoice)?);
        written.push(NewInvoice { invoice, items });
    }
    unit.invoices().insert_final_all(&written).await?;
    if !payments.is_empty() {
        unit.invoice_payments().insert_all(&payments).await?;
    }
    unit.journal().post_all(&entries).await?;
    if let Some(first) = written.first() {
        let paid = written.iter().map(|one| &one.invoice).filter(|invoice| !invoice.amount_paid.is_zero());
        book_shares(ctx, unit, &sharing(paid), first.invoice.created_at).await?;
    }
    Ok(written.into_iter().map(|one| one.invoice).collect())
}

async fn apply_balances(ctx: &Context, unit: &mut dyn UnitOfWork, all: &[Finalization]) -> Result<Vec<InvoicePayment>, BillingError> {
    let mut applied: Vec<_> = all.iter().filter(|one| !one.applied.is_zero()).collect();
    if applied.is_empty() {
        return Ok(Vec::new());
    }
    applied.sort_by(|a, b| (&a.invoice.customer_id, &a.invoice.currency_id).cmp(&(&b.invoice.customer_id, &b.invoice.currency_id)));
    let customers: Vec<_> = applied.iter().map(|one| one.invoice.customer_id.clone()).collect();
    unit.balances().lock(&customers).await?;
    let applied: Vec<_> =
        applied.into_iter().map(|one| AppliedBalance { invoice: &one.invoice, amount: one.applied, at: one.invoice.created_at }).collect();
    pay_from_balances(ctx, unit, &applied).await
}

/// A part of an invoice that its customer's balance pays.
pub(super) struct AppliedBalance<'a> {
    pub invoice: &'a Invoice,
    pub amount: Amount,
    pub at: Timestamp,
}

/// Debits balances by parts of invoices. The caller inserts the returned payments.
pub(super) async fn pay_from_balances(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    applied: &[AppliedBalance<'_>],
) -> Result<Vec<InvoicePayment>, BillingError> {
    let changes = applied.iter().map(|one| BalanceChange {
        mode: one.invoice.mode,
        customer_id: &one.invoice.customer_id,
        currency_id: &one.invoice.currency_id,
        kind: BalanceTransactionType::AppliedToInvoice,
        amount: one.amount,
        source: one.invoice.id.as_str(),
        at: one.at,
    });
    let changes: Vec<_> = changes.collect();
    let transactions = change_balances(ctx, unit, &changes).await?;
    let payment = |(one, transaction): (&AppliedBalance<'_>, BalanceTransaction)| {
        let id = InvoicePaymentId::new(ctx.now(), ctx.random.as_ref());
        InvoicePayment::new(id, one.invoice.id.clone(), PaymentSource::Balance(transaction.id), one.amount, one.at)
    };
    Ok(applied.iter().zip(transactions).map(payment).collect())
}

/// Finalizes a draft of a checkout. `finalized` is its new content; its lines are written already.
///
/// # Errors
/// [`BillingError::Contended`] when the invoice is no longer a draft.
pub(crate) async fn finalize(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    draft: &Invoice,
    finalized: Invoice,
    now: Timestamp,
) -> Result<Invoice, BillingError> {
    let number = unit.invoices().allocate_numbers(draft.mode, finalized.document(), 1).await?;
    let open = Invoice { status: InvoiceStatus::Open, number: Some(number), finalized_at: Some(now), ..finalized };
    let invoice = open.with_amounts(Amount::ZERO, Amount::ZERO, now)?;
    if !unit.invoices().update(draft, &invoice).await? {
        return Err(BillingError::Contended);
    }
    if let Some(entry) = finalized_entry(ctx, &invoice)? {
        unit.journal().post(&entry).await?;
    }
    Ok(invoice)
}

/// The journal entry of a finalized invoice. Statements have none: they only document a transaction.
fn finalized_entry(ctx: &Context, invoice: &Invoice) -> Result<Option<Entry>, BillingError> {
    if invoice.total.is_zero() || invoice.document() == DocumentType::Statement {
        return Ok(None);
    }
    let postings = vec![
        Posting::debit(Account::Receivable, invoice.total, &invoice.currency_id),
        Posting::credit(Account::Revenue, invoice.total, &invoice.currency_id),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let at = invoice.finalized_at.unwrap_or(invoice.created_at);
    Ok(Some(Entry::new(id, invoice.mode, EntryType::InvoiceFinalized, invoice.id.as_str(), at, postings)?))
}
