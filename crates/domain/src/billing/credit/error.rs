//! Why a credit note, a refund or a pay-out is refused.

use crate::billing::BillingError;
use crate::ledger::LedgerError;
use crate::payment::RailError;
use crate::shared::{AmountError, InputError, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum CreditError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// A draft, a void invoice, or a statement.
    #[error("This invoice cannot be credited")]
    NotCreditable,
    #[error("There is no payment that could be refunded")]
    NothingPaid,
    /// The lines, or the payments, cannot give that much.
    #[error("The amount exceeds what can be refunded")]
    OverRefund,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    /// One line was named twice, or a line of another invoice.
    #[error("Each item must be a different line of the invoice")]
    BadItems,
    #[error("The customer has unpaid invoices that the balance pays first")]
    BalanceOwed,
    #[error("The balance is less than that")]
    BalanceTooSmall,
    /// No card payment of the customer has enough left to refund, or no wallet has paid in this currency.
    #[error("No payment of this customer can take that much back")]
    NoPayoutRoute,
    /// Only a refund that failed is retried or moved to the balance.
    #[error("This refund has not failed")]
    NotFailed,
    #[error("A payment is on its way. Please wait for it.")]
    PaymentInFlight,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// Somebody else changed it at the same time.
    #[error("It was changed meanwhile, please try again")]
    Contended,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for CreditError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<BillingError> for CreditError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::NotFound,
            BillingError::Contended | BillingError::Unwritable { .. } | BillingError::Settlement(_) => Self::Contended,
            BillingError::Credit(error) => *error,
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<CreditError> for BillingError {
    fn from(error: CreditError) -> Self {
        match error {
            CreditError::Contended => Self::Contended,
            CreditError::Amount(error) => Self::Amount(error),
            CreditError::Ledger(error) => Self::Ledger(error),
            CreditError::Rail(error) => Self::Rail(error),
            CreditError::Storage(error) => Self::Storage(error),
            other => Self::Credit(Box::new(other)),
        }
    }
}
