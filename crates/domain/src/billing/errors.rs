//! Why a step of the engine did not end.

use crate::ledger::LedgerError;
use crate::payment::RailError;
use crate::shared::{AmountError, StorageError, SubscriptionId};

#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    #[error("the attempt's method, currency or intent is gone")]
    Orphan,
    #[error("it kept changing while it was written down")]
    Contended,
    /// Its next invoice stands already.
    #[error("the next invoice of {subscription} cannot be written: {reason}")]
    Unwritable { subscription: SubscriptionId, reason: String },
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for BillingError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}
