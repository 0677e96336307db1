//! Money in suspense: a network moved an amount that differs from the requested one. An owner moves it to the customer's balance.

use crate::billing::BillingError;
use crate::billing::balance::{BalanceChange, BalanceTransaction, BalanceTransactionType, change_balance};
use crate::billing::clock::time_of_customer;
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, LedgerError, Posting, Side};
use crate::payment::{Attempt, Purpose, SettlementError, end_hold};
use crate::shared::{Amount, AmountError, AttemptId, EntryId, Mode, StorageError, Timestamp};
use crate::storage::UnitOfWork;

#[derive(Debug, thiserror::Error)]
pub enum SuspenseError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The settled amount equaled the requested one, or the hold is resolved already.
    #[error("This payment is not on hold")]
    NotOnHold,
    #[error("It was changed in the meantime. Please try again.")]
    Contended,
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The payment could not be declined.
    #[error(transparent)]
    Settlement(SettlementError),
    /// The balance could not be changed.
    #[error(transparent)]
    Billing(Box<BillingError>),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for SuspenseError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<SettlementError> for SuspenseError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Contended => Self::Contended,
            SettlementError::Storage(error) => Self::Storage(error),
            error => Self::Settlement(error),
        }
    }
}

impl From<BillingError> for SuspenseError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Contended => Self::Contended,
            BillingError::Storage(error) => Self::Storage(error),
            error => Self::Billing(Box::new(error)),
        }
    }
}

/// Moves the money of a payment on hold to the customer's balance. The attempt is declined, so that its invoices can be paid again, from
/// the balance first.
///
/// # Errors
/// [`SuspenseError::NotOnHold`] when the attempt is not on hold.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn resolve_suspense(ctx: &Context, mode: Mode, id: &AttemptId) -> Result<BalanceTransaction, SuspenseError> {
    let mut unit = ctx.store.begin().await?;
    let attempt = unit.attempts().find(id).await?.ok_or(SuspenseError::NotFound)?;
    let method = unit.methods().find(&attempt.method_id).await?;
    if method.is_none_or(|method| method.mode != mode) {
        return Err(SuspenseError::NotFound);
    }
    let Purpose::Payment(intent) = &attempt.purpose else { return Err(SuspenseError::NotOnHold) };
    let intent = unit.intents().find(intent).await?.ok_or(SuspenseError::NotFound)?;
    if !end_hold(ctx, unit.as_mut(), &attempt).await? {
        return Err(SuspenseError::NotOnHold);
    }
    let amount = received(unit.as_mut(), &attempt).await?;
    let now = time_of_customer(ctx, unit.as_mut(), &intent.customer_id).await?;
    let change = BalanceChange {
        mode,
        customer_id: &intent.customer_id,
        currency_id: &attempt.currency_id,
        kind: BalanceTransactionType::SuspenseResolved,
        amount,
        source: id.as_str(),
        at: now,
    };
    let transaction = change_balance(ctx, unit.as_mut(), &change).await?;
    post_resolved(ctx, unit.as_mut(), mode, &attempt, amount, now).await?;
    unit.commit().await?;
    Ok(transaction)
}

/// The amount that the journal holds in suspense for an attempt.
async fn received(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Amount, SuspenseError> {
    let entries = unit.journal().of_subject(attempt.id.as_str()).await?;
    let received = entries.iter().filter(|entry| entry.kind == EntryType::SuspenseReceived).flat_map(Entry::postings);
    let credited = received.filter(|posting| posting.account == Account::Suspense && posting.side == Side::Credit);
    let amount = Amount::sum(credited.map(|posting| posting.amount))?;
    if amount.is_zero() { Err(SuspenseError::NotOnHold) } else { Ok(amount) }
}

async fn post_resolved(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    attempt: &Attempt,
    amount: Amount,
    now: Timestamp,
) -> Result<(), SuspenseError> {
    let postings = vec![
        Posting::debit(Account::Suspense, amount, &attempt.currency_id),
        Posting::credit(Account::CustomerBalance, amount, &attempt.currency_id),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, mode, EntryType::SuspenseResolved, attempt.id.as_str(), now, postings)?).await?;
    Ok(())
}
