//! Errors of the billing engine and of credit notes, and the reasons for putting a subscription on hold.

use crate::ledger::LedgerError;
use crate::payment::{RailError, SettlementError};
use crate::shared::{AmountError, InputError, StorageError, SubscriptionId};

#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    #[error("the attempt's method, currency or intent no longer exists")]
    Orphan,
    #[error("the row kept changing while it was written")]
    Contended,
    /// The subscription's next invoice cannot be written.
    #[error("the next invoice of {subscription} cannot be written: {}", on_hold.detail)]
    Unwritable { subscription: SubscriptionId, on_hold: OnHold },
    /// A credit note of the engine could not be issued.
    #[error(transparent)]
    Credit(Box<CreditError>),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    /// Charges for a test clock could not be settled.
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

/// Why a credit note, a refund or a payout is rejected.
#[derive(Debug, thiserror::Error)]
pub enum CreditError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The invoice is a draft, void, or a statement.
    #[error("This invoice cannot be credited")]
    NotCreditable,
    #[error("There is no payment that could be refunded")]
    NothingPaid,
    /// The amount exceeds the creditable amount of the lines or the refundable amount of the payments.
    #[error("The amount exceeds what can be refunded")]
    OverRefund,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    /// A line is named twice, or belongs to another invoice.
    #[error("Each item must be a different line of the invoice")]
    BadItems,
    #[error("Part of the balance is reserved for unpaid invoices")]
    BalanceReserved,
    #[error("The balance is lower than this amount")]
    BalanceTooSmall,
    /// The customer's card payments have too little left to refund, or no wallet has paid in this currency.
    #[error("This amount can't be refunded to any payment of the customer")]
    NoPayoutRoute,
    /// Only a failed refund can be retried or moved to the balance.
    #[error("This refund has not failed")]
    NotFailed,
    #[error("A payment is being processed. Please wait.")]
    PaymentInFlight,
    #[error("This payment method is not supported")]
    MethodNotSupported,
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

/// Why the engine has put a subscription on hold, as the admin console shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldReason {
    PriceMissing,
    ProductMissing,
    CustomerMissing,
    CurrencyNotConfigured,
    NotRecurring,
    AmountOutOfRange,
    /// The period to bill has an invoice already.
    AlreadyBilled,
    /// Its stored data cannot be decoded.
    Unreadable,
    /// More periods are unbilled than the engine bills without an owner's decision.
    UnbilledPeriods,
    /// It has reached the limit of automatic invoices of a day.
    InvoiceLimit,
    /// Its customer has reached the limit of automatic charges of an hour.
    ChargeLimit,
    /// The settings of its payment method do not fit the network.
    PaymentMethod,
    /// Anything else; [`OnHold::detail`] says what.
    Other,
}

impl HoldReason {
    pub const ALL: [Self; 13] = [
        Self::PriceMissing,
        Self::ProductMissing,
        Self::CustomerMissing,
        Self::CurrencyNotConfigured,
        Self::NotRecurring,
        Self::AmountOutOfRange,
        Self::AlreadyBilled,
        Self::Unreadable,
        Self::UnbilledPeriods,
        Self::InvoiceLimit,
        Self::ChargeLimit,
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
            Self::UnbilledPeriods => "unbilled_periods",
            Self::InvoiceLimit => "invoice_limit",
            Self::ChargeLimit => "charge_limit",
            Self::PaymentMethod => "payment_method",
            Self::Other => "other",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// Why the engine no longer bills a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnHold {
    pub reason: HoldReason,
    /// The error message, for the operator of the server.
    pub detail: String,
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
    fn every_hold_reason_round_trips_by_name() {
        for reason in HoldReason::ALL {
            assert_eq!(HoldReason::from_name(reason.name()), Some(reason));
        }
    }
}
