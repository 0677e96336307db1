//! Changes balances, and posts their journal entries.

use super::{BalanceTransaction, BalanceTransactionType, balance_of};
use crate::billing::PostingError;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::ledger::{Account, Entry, EntryType, LedgerError, Posting};
use crate::shared::{Amount, BalanceTransactionId, CurrencyId, CustomerId, EntryId, EventId, Mode, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

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

/// Changes balances, in this order. Posts the journal entries of the two types that move money between a balance and an invoice. Every other
/// type is part of the journal entry of its source, which the caller posts. After an increase it publishes an event: unpaid invoices that
/// have no payment in flight then use the balance.
///
/// # Errors
/// [`PostingError::Contended`] when a decrease exceeds the balance, which changed since the caller read it.
pub(crate) async fn change_balances(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    changes: &[BalanceChange<'_>],
) -> Result<Vec<BalanceTransaction>, PostingError> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let wall = ctx.now();
    let transaction = |change: &BalanceChange<'_>| BalanceTransaction {
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
    let transactions: Vec<_> = changes.iter().map(transaction).collect();
    let transactions = unit.balances().record_all(&transactions).await?.ok_or(PostingError::Contended)?;
    let entries = transactions.iter().filter_map(|transaction| entry_of(ctx, transaction)).collect::<Result<Vec<_>, _>>()?;
    if !entries.is_empty() {
        unit.journal().post_all(&entries).await?;
    }
    let increased = changes.iter().filter(|change| change.kind.is_increase()).map(|change| (change.customer_id, change.currency_id));
    publish_apply(ctx, unit, increased.collect()).await?;
    Ok(transactions)
}

/// As [`change_balances`], for one change.
pub(crate) async fn change_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    change: &BalanceChange<'_>,
) -> Result<BalanceTransaction, PostingError> {
    change_balances(ctx, unit, std::slice::from_ref(change)).await?.pop().ok_or(PostingError::Contended)
}

/// The journal entry of a transaction that moves money between a balance and an invoice.
fn entry_of(ctx: &Context, transaction: &BalanceTransaction) -> Option<Result<Entry, LedgerError>> {
    let (kind, debit, credit) = match transaction.kind {
        BalanceTransactionType::AppliedToInvoice => (EntryType::BalanceApplied, Account::CustomerBalance, Account::Receivable),
        BalanceTransactionType::UnappliedFromInvoice => (EntryType::BalanceUnapplied, Account::Receivable, Account::CustomerBalance),
        _ => return None,
    };
    let BalanceTransaction { amount, ref currency_id, .. } = *transaction;
    let postings = vec![Posting::debit(debit, amount, currency_id), Posting::credit(credit, amount, currency_id)];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    Some(Entry::new(id, transaction.mode, kind, transaction.id.as_str(), transaction.created_at, postings))
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
        false => publish_apply(ctx, unit, BTreeSet::from([(customer, currency)])).await,
    }
}

/// Lets balances pay unpaid invoices.
async fn publish_apply(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    balances: BTreeSet<(&CustomerId, &CurrencyId)>,
) -> Result<(), StorageError> {
    if balances.is_empty() {
        return Ok(());
    }
    let wall = ctx.now();
    let message = |(customer, currency): (&CustomerId, &CurrencyId)| {
        let message = Message::new(Topic::ApplyBalance, wall).with("customer", customer).with("currency", currency);
        NewMessage { id: EventId::new(wall, ctx.random.as_ref()), message }
    };
    let messages: Vec<_> = balances.into_iter().map(message).collect();
    unit.outbox().publish_all(&messages, wall).await
}
