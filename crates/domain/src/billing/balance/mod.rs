//! The customer's balance with the store, in one currency: what a credit note or an overpayment added and no invoice has used. On the
//! wire it is called credit.

mod change;

pub(crate) use change::{BalanceChange, change_balance};

use crate::shared::{Amount, BalanceTransactionId, CurrencyId, CustomerId, Listed, Mode, Page, StorageError, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

/// Why a balance changed. What increases it, and what decreases it, is fixed for each type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BalanceTransactionType {
    /// Decrease: paid a part of an invoice. Source: the invoice.
    AppliedToInvoice,
    /// Increase: the invoice is void. Source: the invoice.
    UnappliedFromInvoice,
    /// Increase. Source: the credit note.
    CreditNote,
    /// Increase: a payment brought more than its invoices asked for. Source: the attempt.
    Overpayment,
    /// Decrease: paid out over a network. Source: the refund.
    Payout,
    /// Increase: the network refused the pay-out. Source: the refund.
    PayoutRestored,
    /// Increase: a refused refund was moved here. Source: the refund.
    RefundMoved,
    /// Increase: an owner resolved a differing amount. Source: the attempt.
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
    /// [`BalanceTransactionType::is_increase`] says its direction.
    pub amount: Amount,
    pub balance_after: Amount,
    /// The id of the object that changed it.
    pub source: String,
    pub created_at: Timestamp,
}

#[async_trait]
pub trait Balances: Send {
    /// The balances of these customers that are above zero.
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError>;
    /// Keeps everybody else from changing the balances of these customers until this unit of work ends, and answers them as
    /// [`Balances::of_all`]. Before the series of numbers, after invoices.
    async fn lock(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError>;
    /// Writes a transaction and the balance after it, which replaces the balance before it: a compare-and-set under the row's lock.
    /// Answers the transaction with its `balance_after`. `None`: the balance is less than a decrease asks for, and nothing is written.
    async fn record(&mut self, transaction: &BalanceTransaction) -> Result<Option<BalanceTransaction>, StorageError>;
    /// Newest first, in the order in which they were written.
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

/// What these balances hold for a customer in a currency.
#[must_use]
pub(crate) fn amount_in(balances: &[Balance], customer: &CustomerId, currency: &CurrencyId) -> Amount {
    let found = balances.iter().find(|balance| balance.customer_id == *customer && balance.currency_id == *currency);
    found.map_or(Amount::ZERO, |balance| balance.amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_back_and_only_two_decrease_the_balance() {
        for kind in BalanceTransactionType::ALL {
            assert_eq!(BalanceTransactionType::from_name(kind.name()), Some(kind));
        }
        let decreases: Vec<_> = BalanceTransactionType::ALL.into_iter().filter(|kind| !kind.is_increase()).collect();
        assert_eq!(decreases, [BalanceTransactionType::AppliedToInvoice, BalanceTransactionType::Payout]);
    }
}
