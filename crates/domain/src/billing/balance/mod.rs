//! The customer's balance with the store, in one currency: money from credit notes, overpayments and other sources that no invoice has used
//! yet. The wire format calls it credit.

mod change;

pub(crate) use change::{BalanceChange, apply_after_decline, change_balance, change_balances};

use crate::shared::{Amount, BalanceTransactionId, CurrencyId, CustomerId, Listed, Mode, Page, StorageError, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

/// Why a balance changed. Each type either increases or decreases the balance: see [`BalanceTransactionType::is_increase`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BalanceTransactionType {
    /// Decrease: paid a part of an invoice. Source: the invoice.
    AppliedToInvoice,
    /// Increase: the invoice is void. Source: the invoice.
    UnappliedFromInvoice,
    /// Increase. Source: the credit note.
    CreditNote,
    /// Increase: a payment exceeded what its invoices still needed. Source: the attempt.
    Overpayment,
    /// Decrease: paid out over a network. Source: the refund.
    Payout,
    /// Increase: the network declined the payout. Source: the refund.
    PayoutRestored,
    /// Increase: a failed refund was moved to the balance. Source: the refund.
    RefundMoved,
    /// Increase: an owner resolved a payment whose settled amount differed from the requested one. Source: the attempt.
    SuspenseResolved,
}

impl BalanceTransactionType {
    pub const ALL: [Self; 8] = [
        Self::AppliedToInvoice,
        Self::UnappliedFromInvoice,
        Self::CreditNote,
        Self::Overpayment,
        Self::Payout,
        Self::PayoutRestored,
        Self::RefundMoved,
        Self::SuspenseResolved,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AppliedToInvoice => "applied_to_invoice",
            Self::UnappliedFromInvoice => "unapplied_from_invoice",
            Self::CreditNote => "credit_note",
            Self::Overpayment => "overpayment",
            Self::Payout => "payout",
            Self::PayoutRestored => "payout_restored",
            Self::RefundMoved => "refund_moved",
            Self::SuspenseResolved => "suspense_resolved",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    #[must_use]
    pub const fn is_increase(self) -> bool {
        !matches!(self, Self::AppliedToInvoice | Self::Payout)
    }
}

/// One change of a balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceTransaction {
    pub id: BalanceTransactionId,
    pub mode: Mode,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub kind: BalanceTransactionType,
    /// Always positive; [`BalanceTransactionType::is_increase`] gives the direction.
    pub amount: Amount,
    pub balance_after: Amount,
    /// The id of the object that caused the change.
    pub source: String,
    pub created_at: Timestamp,
}

#[async_trait]
pub trait Balances: Send {
    /// The nonzero balances of these customers.
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError>;
    /// Locks the balances of these customers until this unit of work ends, and returns them as [`Balances::of_all`] does. Lock order: after
    /// invoices, before the number series.
    async fn lock(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError>;
    /// Writes transactions in this order and updates their balances by compare-and-set under the rows' locks. Returns them with their
    /// `balance_after`. `None`: a decrease exceeds its balance, and nothing is written.
    async fn record_all(&mut self, transactions: &[BalanceTransaction]) -> Result<Option<Vec<BalanceTransaction>>, StorageError>;
    /// As [`Balances::record_all`], for one transaction.
    async fn record(&mut self, transaction: &BalanceTransaction) -> Result<Option<BalanceTransaction>, StorageError> {
        Ok(self.record_all(std::slice::from_ref(transaction)).await?.and_then(|mut recorded| recorded.pop()))
    }
    /// A customer's transactions, newest first, ordered by when they were written.
    async fn transactions(
        &mut self,
        mode: Mode,
        customer: &CustomerId,
        currency: Option<&CurrencyId>,
        page: &Page,
    ) -> Result<Listed<BalanceTransaction>, StorageError>;
}

/// The balance of a customer in a currency.
pub(crate) async fn balance_of(
    unit: &mut dyn crate::storage::UnitOfWork,
    customer: &CustomerId,
    currency: &CurrencyId,
) -> Result<Amount, StorageError> {
    let balances = unit.balances().of_all(std::slice::from_ref(customer)).await?;
    Ok(amount_in(&balances, customer, currency))
}

/// Returns the amount in `balances` of a customer and currency, zero if there is none.
#[must_use]
pub(crate) fn amount_in(balances: &[Balance], customer: &CustomerId, currency: &CurrencyId) -> Amount {
    let found = balances.iter().find(|balance| balance.customer_id == *customer && balance.currency_id == *currency);
    found.map_or(Amount::ZERO, |balance| balance.amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips_by_name_and_only_two_decrease_the_balance() {
        for kind in BalanceTransactionType::ALL {
            assert_eq!(BalanceTransactionType::from_name(kind.name()), Some(kind));
        }
        let decreases: Vec<_> = BalanceTransactionType::ALL.into_iter().filter(|kind| !kind.is_increase()).collect();
        assert_eq!(decreases, [BalanceTransactionType::AppliedToInvoice, BalanceTransactionType::Payout]);
    }
}
