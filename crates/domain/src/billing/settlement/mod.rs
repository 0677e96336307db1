//! Handlers for the outcomes of attempts outside a checkout session, one for each purpose.

mod mandate;
mod payment;
mod recharge;
mod refund;

pub use mandate::MandateChange;
pub(crate) use mandate::{mandate_declined, mandate_settled};
pub use payment::InvoiceCollection;
pub use recharge::Recharge;
pub use refund::RefundPayment;

use super::{BillingError, PostingError};
use crate::payment::SettlementError;

impl From<BillingError> for SettlementError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::Orphan,
            BillingError::Contended => Self::Contended,
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Settlement(error) => error,
            BillingError::Storage(error) => Self::Storage(error),
            other @ (BillingError::Unwritable { .. } | BillingError::Note(_)) => Self::Handler(Box::new(other)),
        }
    }
}

impl From<PostingError> for SettlementError {
    fn from(error: PostingError) -> Self {
        BillingError::from(error).into()
    }
}

impl From<SettlementError> for BillingError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Orphan => Self::Orphan,
            SettlementError::Contended => Self::Contended,
            SettlementError::Amount(error) => Self::Amount(error),
            SettlementError::Ledger(error) => Self::Ledger(error),
            SettlementError::Rail(error) => Self::Rail(error),
            SettlementError::Storage(error) => Self::Storage(error),
            other @ (SettlementError::Unsupported(_) | SettlementError::Handler(_)) => Self::Settlement(other),
        }
    }
}
