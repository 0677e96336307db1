//! Why a step of the engine did not end.

use super::{CreditError, IllegalChange, PeriodError, ProrationError};
use crate::ledger::LedgerError;
use crate::payment::{RailError, SettlementError};
use crate::shared::{AmountError, StorageError, SubscriptionId};

#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    #[error("the attempt's method, currency or intent is gone")]
    Orphan,
    #[error("it kept changing while it was written down")]
    Contended,
    /// Its next invoice stands already.
    #[error("the next invoice of {subscription} cannot be written: {}", parked.detail)]
    Unwritable { subscription: SubscriptionId, parked: Parked },
    /// A credit note that the engine issues was refused.
    #[error(transparent)]
    Credit(Box<CreditError>),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    /// Charges of a test clock could not be settled.
    #[error(transparent)]
    Settlement(SettlementError),
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

/// Why no bill of a subscription can be written, whoever asks for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unbillable {
    #[error("a price of it is gone")]
    NoPrice,
    #[error("a product of it is gone")]
    NoProduct,
    #[error("its customer is gone")]
    NoCustomer,
    #[error("Currency not configured for price")]
    NoCurrency,
    #[error("a price of it is not recurring")]
    NotRecurring,
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Period(#[from] PeriodError),
    #[error(transparent)]
    Proration(#[from] ProrationError),
    #[error(transparent)]
    Change(#[from] IllegalChange),
}

/// Why the engine has stopped with a subscription, as those who run the store are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParkReason {
    PriceMissing,
    ProductMissing,
    CustomerMissing,
    CurrencyNotConfigured,
    NotRecurring,
    AmountOutOfRange,
    /// The period that it would be billed for has a bill.
    AlreadyBilled,
    /// What is stored of it is of nobody's writing.
    Unreadable,
    /// The settings of its payment method do not fit the network.
    PaymentMethod,
    /// Anything else; [`Parked::detail`] says what.
    Other,
}

impl ParkReason {
    pub const ALL: [Self; 10] = [
        Self::PriceMissing,
        Self::ProductMissing,
        Self::CustomerMissing,
        Self::CurrencyNotConfigured,
        Self::NotRecurring,
        Self::AmountOutOfRange,
        Self::AlreadyBilled,
        Self::Unreadable,
        Self::PaymentMethod,
        Self::Other,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PriceMissing => "price_missing",
            Self::ProductMissing => "product_missing",
            Self::CustomerMissing => "customer_missing",
            Self::CurrencyNotConfigured => "currency_not_configured",
            Self::NotRecurring => "not_recurring",
            Self::AmountOutOfRange => "amount_out_of_range",
            Self::AlreadyBilled => "already_billed",
            Self::Unreadable => "unreadable",
            Self::PaymentMethod => "payment_method",
            Self::Other => "other",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// A subscription that the engine has stopped with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    pub reason: ParkReason,
    /// The error in its own words, for whoever runs the machine.
    pub detail: String,
}

impl From<Unbillable> for Parked {
    fn from(error: Unbillable) -> Self {
        let reason = match error {
            Unbillable::NoPrice => ParkReason::PriceMissing,
            Unbillable::NoProduct => ParkReason::ProductMissing,
            Unbillable::NoCustomer => ParkReason::CustomerMissing,
            Unbillable::NoCurrency => ParkReason::CurrencyNotConfigured,
            Unbillable::NotRecurring => ParkReason::NotRecurring,
            Unbillable::Amount(_) => ParkReason::AmountOutOfRange,
            Unbillable::Period(_) | Unbillable::Proration(_) | Unbillable::Change(_) => ParkReason::Other,
        };
        Self { reason, detail: error.to_string() }
    }
}

impl From<BillingError> for Parked {
    fn from(error: BillingError) -> Self {
        let reason = match &error {
            BillingError::Unwritable { parked, .. } => parked.reason,
            BillingError::Amount(_) => ParkReason::AmountOutOfRange,
            BillingError::Rail(_) => ParkReason::PaymentMethod,
            BillingError::Storage(StorageError::Duplicate(_)) => ParkReason::AlreadyBilled,
            BillingError::Storage(StorageError::Corrupt { .. }) => ParkReason::Unreadable,
            BillingError::Orphan
            | BillingError::Contended
            | BillingError::Credit(_)
            | BillingError::Ledger(_)
            | BillingError::Settlement(_)
            | BillingError::Storage(_) => ParkReason::Other,
        };
        Self { reason, detail: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_by_its_own_name() {
        for reason in ParkReason::ALL {
            assert_eq!(ParkReason::from_name(reason.name()), Some(reason));
        }
    }
}
