//! What the store owes a customer after a change of plan, for usage that cost less than was billed, or by a refund, and takes off their
//! next invoices or purchases. Each movement is booked:
//! what is given was income, and becomes income again when it is taken.

use super::line::APPLIED_CREDIT;
use super::plan::flat;
use super::{BillingError, Calculation, InvoiceItem};
use crate::context::Context;
use crate::ledger::{Entry, Movement, Reason};
use crate::shared::{Amount, AmountError, CurrencyId, CustomerId, EntryId, InvoiceId, MethodId, Mode, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credit {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

#[async_trait]
pub trait Credits: Send {
    /// Those of these customers that are not used up.
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Credit>, StorageError>;
    /// Nobody else changes those of these customers until this unit of work ends. Whoever moves several takes them so, at once and
    /// before the series of numbers.
    async fn hold(&mut self, customers: &[CustomerId]) -> Result<(), StorageError>;
    /// Adds to a customer's credit.
    async fn give(&mut self, credit: &Credit) -> Result<(), StorageError>;
    /// Owes credit from when an unpaid invoice is paid, beside what it owes then already.
    async fn promise(&mut self, invoice: &InvoiceId, amount: Amount) -> Result<(), StorageError>;
    /// What is promised for those of these invoices for which something is.
    async fn promised(&mut self, invoices: &[InvoiceId]) -> Result<Vec<(InvoiceId, Amount)>, StorageError>;
    /// The same, which is forgotten: whoever asks gives it, or has no reason to.
    async fn redeem(&mut self, invoices: &[InvoiceId]) -> Result<Vec<(InvoiceId, Amount)>, StorageError>;
    /// Takes from it. False: it is not that much, and nothing changed.
    async fn take(&mut self, credit: &Credit) -> Result<bool, StorageError>;
}

/// The credit that a customer holds in a currency.
pub(crate) async fn held(unit: &mut dyn UnitOfWork, customer: &CustomerId, currency: &CurrencyId) -> Result<Amount, StorageError> {
    let credits = unit.credits().of_all(std::slice::from_ref(customer)).await?;
    Ok(credits.into_iter().find(|credit| credit.currency_id == *currency).map_or(Amount::ZERO, |credit| credit.amount))
}

/// For what credit moves: an invoice, a payment intent or a refund, each once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CreditFor<'a> {
    pub subject: &'a str,
    pub mode: Mode,
    pub method: &'a MethodId,
    pub at: Timestamp,
}

/// Gives and books it: credit that is new, or what [`take_credit`] took before ([`Reason::CreditReturned`]): for the same subject, or
/// for what a refund is of.
pub(crate) async fn give_credit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    credit: &Credit,
    what: CreditFor<'_>,
    reason: Reason,
) -> Result<(), BillingError> {
    unit.credits().give(credit).await?;
    book(ctx, unit, credit, what, reason).await
}

/// Takes and books it. False: it is not that much, and nothing changed.
pub(crate) async fn take_credit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    credit: &Credit,
    what: CreditFor<'_>,
) -> Result<bool, BillingError> {
    if !unit.credits().take(credit).await? {
        return Ok(false);
    }
    book(ctx, unit, credit, what, Reason::CreditUsed).await?;
    Ok(true)
}

async fn book(ctx: &Context, unit: &mut dyn UnitOfWork, credit: &Credit, what: CreditFor<'_>, reason: Reason) -> Result<(), BillingError> {
    let movement = Movement { method_id: what.method, currency_id: &credit.currency_id, amount: credit.amount };
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let entry = Entry::of_movement(id, what.mode, reason, what.subject, what.at, &movement)?;
    unit.journal().book(&entry).await?;
    Ok(())
}

/// The line that takes credit off an invoice.
pub(crate) fn applied_line(ctx: &Context, invoice: &InvoiceId, amount: Amount, at: Timestamp) -> InvoiceItem {
    flat(ctx, invoice, APPLIED_CREDIT, Calculation::Applied { amount }, at)
}

/// How much of what lines ask for was paid by credit.
pub fn applied(lines: &[InvoiceItem]) -> Result<Amount, AmountError> {
    Amount::sum(lines.iter().filter(|line| matches!(line.calculation, Calculation::Applied { .. })).map(|line| line.amount))
}
