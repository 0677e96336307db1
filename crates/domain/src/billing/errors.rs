//! Errors of the billing engine and of the steps that its use cases share, and the reasons for putting a subscription on hold.

use crate::ledger::LedgerError;
use crate::payment::{RailError, SettlementError};
use crate::shared::{Amount, AmountError, StorageError, SubscriptionId};

/// Lets `?` convert these errors into another error, through the variant that holds them.
macro_rules! convert_through {
    ($error:ident::$variant:ident, $($source:ty),+ $(,)?) => {$(
        impl From<$source> for $error {
            fn from(error: $source) -> Self {
                Self::$variant(error.into())
            }
        }
    )+};
}

/// Lets `?` convert a [`SendRefundError`]: a failed posting through the variant `Posting`, every other error through `Send`.
macro_rules! convert_send_error {
    ($error:ident) => {
        impl From<$crate::billing::SendRefundError> for $error {
            fn from(error: $crate::billing::SendRefundError) -> Self {
                match error {
                    $crate::billing::SendRefundError::Posting(error) => Self::Posting(error),
                    error => Self::Send(error),
                }
            }
        }
    };
}

pub(super) use {convert_send_error, convert_through};

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
    Note(Box<NoteError>),
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

/// Why money could not be posted: to invoices, balances, refunds and the journal. The lower-level functions of billing return it.
#[derive(Debug, thiserror::Error)]
pub enum PostingError {
    /// An object that the posting refers to no longer exists.
    #[error("Sorry, the page you visited does not exist.")]
    Orphan,
    /// Another unit of work changed the same rows.
    #[error("It was changed in the meantime. Please try again.")]
    Contended,
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for PostingError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

/// Why a credit note is rejected, for every kind of order.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The invoice is a draft, void, or a statement.
    #[error("This invoice cannot be credited")]
    NotCreditable,
    /// The amount exceeds the creditable amount of the lines or the refundable amount of the payments.
    #[error("The amount exceeds what can be refunded")]
    OverRefund,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    /// A line is named twice, or belongs to another invoice.
    #[error("Each item must be a different line of the invoice")]
    BadItems,
    /// A refund that belongs to the note could not be prepared.
    #[error(transparent)]
    Send(SendRefundError),
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(NoteError::Posting, AmountError, LedgerError, StorageError);

convert_send_error!(NoteError);

/// An order would exceed a daily cap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Refunds and payouts are limited to {} in 24 hours, of which {} are left", self.text(self.cap), self.text(self.left))]
pub struct CapExceeded {
    pub cap: Amount,
    /// What can still be refunded or paid out now.
    pub left: Amount,
    pub symbol: String,
    pub decimals: u32,
}

impl CapExceeded {
    /// An amount with its currency.
    #[must_use]
    pub fn text(&self, amount: Amount) -> String {
        format!("{} {}", amount.to_decimal(self.decimals), self.symbol)
    }
}

/// Why the attempt that sends a refund or a payout could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SendRefundError {
    /// The customer's card payments have too little left to refund, or no wallet has paid in this currency.
    #[error("This amount can't be refunded to any payment of the customer")]
    NoPayoutRoute,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// Refunds and payouts of the last 24 hours would exceed the cap of their currency.
    #[error(transparent)]
    CapExceeded(Box<CapExceeded>),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(SendRefundError::Posting, StorageError);

impl From<PostingError> for BillingError {
    fn from(error: PostingError) -> Self {
        match error {
            PostingError::Orphan => Self::Orphan,
            PostingError::Contended => Self::Contended,
            PostingError::Amount(error) => Self::Amount(error),
            PostingError::Ledger(error) => Self::Ledger(error),
            PostingError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<NoteError> for BillingError {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Posting(error) => error.into(),
            NoteError::Send(SendRefundError::Rail(error)) => Self::Rail(error),
            other => Self::Note(Box::new(other)),
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
            | BillingError::Note(_)
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
