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
    #[error("the next invoice of {subscription} cannot be written: {}", on_hold.detail)]
    Unwritable { subscription: SubscriptionId, on_hold: OnHold },
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
pub enum HoldReason {
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
    /// Anything else; [`OnHold::detail`] says what.
    Other,
}

impl HoldReason {
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
pub struct OnHold {
    pub reason: HoldReason,
    /// The error in its own words, for whoever runs the machine.
    pub detail: String,
}

impl From<Unbillable> for OnHold {
    fn from(error: Unbillable) -> Self {
        let reason = match error {
            Unbillable::NoPrice => HoldReason::PriceMissing,
            Unbillable::NoProduct => HoldReason::ProductMissing,
            Unbillable::NoCustomer => HoldReason::CustomerMissing,
            Unbillable::NoCurrency => HoldReason::CurrencyNotConfigured,
            Unbillable::NotRecurring => HoldReason::NotRecurring,
            Unbillable::Amount(_) => HoldReason::AmountOutOfRange,
            Unbillable::Period(_) | Unbillable::Proration(_) | Unbillable::Change(_) => HoldReason::Other,
        };
        Self { reason, detail: error.to_string() }
    }
}

impl From<BillingError> for OnHold {
    fn from(error: BillingError) -> Self {
        let reason = match &error {
            BillingError::Unwritable { on_hold, .. } => on_hold.reason,
            BillingError::Amount(_) => HoldReason::AmountOutOfRange,
            BillingError::Rail(_) => HoldReason::PaymentMethod,
            BillingError::Storage(StorageError::Duplicate(_)) => HoldReason::AlreadyBilled,
            BillingError::Storage(StorageError::Corrupt { .. }) => HoldReason::Unreadable,
            BillingError::Orphan
            | BillingError::Contended
            | BillingError::Credit(_)
            | BillingError::Ledger(_)
            | BillingError::Settlement(_)
            | BillingError::Storage(_) => HoldReason::Other,
        };
        Self { reason, detail: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_by_its_own_name() {
        for reason in HoldReason::ALL {
            assert_eq!(HoldReason::from_name(reason.name()), Some(reason));
        }
    }
}
