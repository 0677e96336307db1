//! Errors that prevent an invoice of a subscription from being written.

use super::{HoldReason, IllegalChange, OnHold, PeriodError, ProrationError};
use crate::shared::AmountError;

/// Why no invoice of a subscription can be written, whether the engine or a user requests it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unbillable {
    #[error("one of its prices no longer exists")]
    NoPrice,
    #[error("one of its products no longer exists")]
    NoProduct,
    #[error("its customer no longer exists")]
    NoCustomer,
    #[error("Currency not configured for price")]
    NoCurrency,
    #[error("one of its prices is not recurring")]
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
