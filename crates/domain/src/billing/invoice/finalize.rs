//! Finalization: an invoice gets its number, is posted as a receivable, and takes what the customer's balance can pay.

use super::{DocumentType, Invoice, InvoiceItem, InvoicePayment, InvoiceStatus, PaymentSource};
use crate::billing::BillingError;
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balance};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::shared::{Amount, AmountError, EntryId, InvoicePaymentId, Mode, Timestamp};
use crate::storage::UnitOfWork;

/// An invoice that is about to be written, with its lines and the part of it that the balance pays.
#[derive(Debug, Clone)]
pub(crate) struct Finalization {
    /// Without a number.
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
    pub applied: Amount,
}

impl Finalization {
    /// # Errors
    /// [`AmountError`] when the balance is to pay more than the invoice asks for.
    pub fn new(invoice: Invoice, items: Vec<InvoiceItem>, applied: Amount, now: Timestamp) -> Result<Self, AmountError> {
        let open = Invoice { status: InvoiceStatus::Open, finalized_at: Some(now), ..invoice };
        let at = open.created_at;
        Ok(Self { invoice: open.with_amounts(applied, Amount::ZERO, at)?, items, applied })
    }
}

/// Both modes: their money never meets (invariant 9).
const MODES: [Mode; 2] = [Mode::Test, Mode::Live];

/// Numbers and writes new invoices, in the order in which they are given. Balances are locked before the series of numbers, in the order
/// of their customers, so that two units of work never wait for each other.
///
/// # Errors
/// [`BillingError::Contended`] when a balance holds less than was planned. [`BillingError::Storage`] with a duplicate when a period has
/// an invoice already (invariant 2).
pub(crate) async fn finalize_all(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut all: Vec<Finalization>,
) -> Result<Vec<Invoice>, BillingError> {
    let payments = apply_balances(ctx, unit, &all).await?;
    for mode in MODES {
        for document in DocumentType::ALL {
            let is_one = |one: &Finalization| one.invoice.mode == mode && one.invoice.document() == document;
            let count = all.iter().filter(|one| is_one(one)).count();
            if count == 0 {
                continue;
            }
            let first = unit.invoices().allocate_numbers(mode, document, u32::try_from(count).unwrap_or(u32::MAX)).await?;
            for (number, one) in (first..).zip(all.iter_mut().filter(|one| is_one(one))) {
                one.invoice.number = Some(number);
            }
        }
    }
    let mut entries = Vec::with_capacity(all.len());
    let mut written = Vec::with_capacity(all.len());
    for Finalization { invoice, items, .. } in all {
        entries.extend(finalized_entry(ctx, &invoice)?);
        written.push((invoice, items));
    }
    unit.invoices().insert_final_all(&written).await?;
    if !payments.is_empty() {
        unit.invoice_payments().insert_all(&payments).await?;
    }
    unit.journal().post_all(&entries).await?;
    Ok(written.into_iter().map(|(invoice, _)| invoice).collect())
}

async fn apply_balances(ctx: &Context, unit: &mut dyn UnitOfWork, all: &[Finalization]) -> Result<Vec<InvoicePayment>, BillingError> {
    let mut applied: Vec<_> = all.iter().filter(|one| !one.applied.is_zero()).collect();
    if applied.is_empty() {
        return Ok(Vec::new());
    }
    applied.sort_by(|a, b| (&a.invoice.customer_id, &a.invoice.currency_id).cmp(&(&b.invoice.customer_id, &b.invoice.currency_id)));
    let customers: Vec<_> = applied.iter().map(|one| one.invoice.customer_id.clone()).collect();
    unit.balances().lock(&customers).await?;
    let mut payments = Vec::with_capacity(applied.len());
    for one in applied {
        payments.push(pay_from_balance(ctx, unit, &one.invoice, one.applied, one.invoice.created_at).await?);
    }
    Ok(payments)
}

/// Takes a part of an invoice from the balance. The payment is left for the caller to write.
pub(super) async fn pay_from_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    amount: Amount,
    at: Timestamp,
) -> Result<InvoicePayment, BillingError> {
    let change = BalanceChange {
        mode: invoice.mode,
        customer_id: &invoice.customer_id,
        currency_id: &invoice.currency_id,
        kind: BalanceTransactionType::AppliedToInvoice,
        amount,
        source: invoice.id.as_str(),
        at,
    };
    let transaction = change_balance(ctx, unit, &change).await?;
    let id = InvoicePaymentId::new(ctx.now(), ctx.random.as_ref());
    Ok(InvoicePayment::new(id, invoice.id.clone(), PaymentSource::Balance(transaction.id), amount, at))
}

/// Numbers a draft that a checkout wrote. `finalized` is the draft as it is from now on; its lines are written already.
///
/// # Errors
/// [`BillingError::Contended`] when it is no draft any more.
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

/// Statements document a transaction: they have no receivable and no revenue.
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
