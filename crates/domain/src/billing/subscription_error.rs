//! The errors that use cases of a subscription share.

use super::{BillingError, IllegalChange, NoteError, PostingError, Unbillable};
use crate::ledger::LedgerError;
use crate::payment::RailError;
use crate::shared::{AmountError, InputError, StorageError};

/// Why a use case of a subscription failed, apart from its own rules.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Illegal(#[from] IllegalChange),
    #[error("A payment is being processed. Please wait.")]
    PaymentInFlight,
    /// It is on hold because of its unbilled periods.
    #[error("Decide first about the periods that are not billed")]
    Undecided,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    /// A credit note that belongs to the change was rejected.
    #[error(transparent)]
    Note(Box<NoteError>),
    #[error(transparent)]
    Unbillable(#[from] Unbillable),
    /// Another unit of work changed the same rows.
    #[error("It was changed in the meantime. Please try again.")]
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

impl From<StorageError> for SubscriptionError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<BillingError> for SubscriptionError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::NotFound,
            // Only the engine's own batches return `Unwritable` and `Settlement`.
            BillingError::Contended | BillingError::Unwritable { .. } | BillingError::Settlement(_) => Self::Contended,
            BillingError::Note(error) => Self::Note(error),
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<NoteError> for SubscriptionError {
    fn from(error: NoteError) -> Self {
        BillingError::from(error).into()
    }
}

impl From<PostingError> for SubscriptionError {
    fn from(error: PostingError) -> Self {
        BillingError::from(error).into()
    }
}

/// As [`super::errors::convert_through`], for everything that becomes a [`SubscriptionError`].
macro_rules! convert_subscription_errors {
    ($error:ident::$variant:ident) => {
        $crate::billing::errors::convert_through!(
            $error::$variant,
            $crate::billing::BillingError,
            $crate::billing::IllegalChange,
            $crate::billing::NoteError,
            $crate::billing::PostingError,
            $crate::billing::Unbillable,
            $crate::ledger::LedgerError,
            $crate::payment::RailError,
            $crate::shared::AmountError,
            $crate::shared::InputError,
            $crate::shared::StorageError,
        );
    };
}

/// As [`super::errors::convert_through`], for everything that becomes a [`super::PaymentTargetError`].
macro_rules! convert_payment_errors {
    ($error:ident::$variant:ident) => {
        $crate::billing::subscription_error::convert_subscription_errors!($error::$variant);
        $crate::billing::errors::convert_through!($error::$variant, $crate::billing::SubscriptionError, $crate::payment::CheckError,);
    };
}

pub(super) use {convert_payment_errors, convert_subscription_errors};
