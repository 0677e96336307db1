//! What a rule refuses is part of a history; what goes wrong is not.

use crate::compose::Failure;
use souk_domain::billing::ManageError;
use souk_domain::checkout::{ExpireError, SettleError, StartError, SubmitError, TransferError};
use souk_domain::shared::StorageError;

pub trait Ruled: Into<Failure> {
    /// Whether this is no refusal.
    fn went_wrong(&self) -> bool;
}

/// Lets refusals pass.
pub fn allowed<T>(done: Result<T, impl Ruled>) -> Result<(), Failure> {
    match done {
        Err(error) if error.went_wrong() => Err(error.into()),
        _ => Ok(()),
    }
}

impl Ruled for ManageError {
    fn went_wrong(&self) -> bool {
        matches!(self, Self::Storage(_) | Self::Ledger(_) | Self::Amount(_) | Self::NotFound)
    }
}

impl Ruled for StartError {
    fn went_wrong(&self) -> bool {
        // The prices are there, are on sale, and have both currencies.
        !matches!(self, Self::Storage(StorageError::Conflict))
    }
}

impl Ruled for SubmitError {
    fn went_wrong(&self) -> bool {
        match self {
            Self::Storage(error) => !matches!(error, StorageError::Conflict),
            Self::CustomerLimited | Self::PaymentInFlight | Self::Expired | Self::Rail(_) => false,
            _ => true,
        }
    }
}

impl Ruled for TransferError {
    fn went_wrong(&self) -> bool {
        matches!(self, Self::Storage(_) | Self::Amount(_) | Self::NotFound | Self::OtherPayer)
    }
}

impl Ruled for SettleError {
    fn went_wrong(&self) -> bool {
        matches!(self, Self::Storage(_) | Self::Ledger(_) | Self::Billing(_) | Self::Orphan)
    }
}

impl Ruled for ExpireError {
    fn went_wrong(&self) -> bool {
        match self {
            Self::Storage(error) => !matches!(error, StorageError::Conflict),
            Self::Settle(error) => error.went_wrong(),
            Self::NotFound => true,
            Self::NotOpen | Self::PaymentInFlight => false,
        }
    }
}
