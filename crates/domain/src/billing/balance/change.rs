//! Changes balances, and posts their journal entries.

use super::{BalanceTransaction, BalanceTransactionType, balance_of};
use crate::billing::PostingError;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::shared::{Amount, BalanceTransactionId, CurrencyId, CustomerId, EntryId, EventId, Mode, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// A requested change of a balance.
#[derive(Debug, Clone)]
pub(crate) struct BalanceChange<'a> {
    pub mode: Mode,
    pub customer_id: &'a CustomerId,
    pub currency_id: &'a CurrencyId,
    pub kind: BalanceTransactionType,
    pub amount: Amount,
    /// The id of the object that causes the change.
    pub source: &'a str,
    pub at: Timestamp,
}

/// Changes a balance. Posts the journal entry of the two types that move money between a balance and an invoice. Every other type is part
/// of the journal entry of its source, which the caller posts. After an increase it publishes an event: unpaid invoices that have no
/// payment in flight then use the balance.
///
/// # Errors
/// [`PostingError::Contended`] when a decrease exceeds the balance, which changed since the caller read it.
pub(crate) async fn change_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    change: &BalanceChange<'_>,
) -> Result<BalanceTransaction, PostingError> {
    let wall = ctx.now();
    let transaction = BalanceTransaction {
        id: BalanceTransactionId::new(wall, ctx.random.as_ref()),
        mode: change.mode,
        customer_id: change.customer_id.clone(),
        currency_id: change.currency_id.clone(),
        kind: change.kind,
        amount: change.amount,
        balance_after: Amount::ZERO,
        source: change.source.to_owned(),
        created_at: change.at,
    };
    let transaction = unit.balances().record(&transaction).await?.ok_or(PostingError::Contended)?;
    let entry = match change.kind {
        BalanceTransactionType::AppliedToInvoice => Some((EntryType::BalanceApplied, Account::CustomerBalance, Account::Receivable)),
        BalanceTransactionType::UnappliedFromInvoice => Some((EntryType::BalanceUnapplied, Account::Receivable, Account::CustomerBalance)),
        _ => None,
    };
    if let Some((kind, debit, credit)) = entry {
        let postings =
            vec![Posting::debit(debit, change.amount, change.currency_id), Posting::credit(credit, change.amount, change.currency_id)];
        let id = EntryId::new(wall, ctx.random.as_ref());
        let entry = Entry::new(id, change.mode, kind, transaction.id.as_str(), change.at, postings)?;
        unit.journal().post(&entry).await?;
    }
    if change.kind.is_increase() {
        publish_apply(ctx, unit, change.customer_id, change.currency_id).await?;
    }
    Ok(transaction)
}

/// Lets the balance pay unpaid invoices after a payment of theirs was declined: while it was in flight, an increase of the balance could
/// not pay them.
pub(crate) async fn apply_after_decline(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    customer: &CustomerId,
    currency: &CurrencyId,
) -> Result<(), StorageError> {
    match balance_of(unit, customer, currency).await?.is_zero() {
        true => Ok(()),
        false => publish_apply(ctx, unit, customer, currency).await,
    }
}

async fn publish_apply(ctx: &Context, unit: &mut dyn UnitOfWork, customer: &CustomerId, currency: &CurrencyId) -> Result<(), StorageError> {
    let wall = ctx.now();
    let message = Message::new(Topic::ApplyBalance, wall).with("customer", customer).with("currency", currency);
    unit.outbox().publish(&EventId::new(wall, ctx.random.as_ref()), &message, wall).await
}
