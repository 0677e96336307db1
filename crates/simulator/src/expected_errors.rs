//! Distinguishes rejections by a business rule, which are part of a history, from unexpected errors.

use crate::Failure;
use souk_domain::billing::{
    CancelError, CardCheckError, CombineError, CreateNoteError, DisputeError, EndOverdraftError, NoteError, OverdraftError, OverdueError,
    PayByCardError, PaymentChangeError, PaymentTargetError, PayoutError, PlanError, PostingError, PrepareOverduePaymentError,
    ProviderRefundError, QueryStakeError, ReadPlansError, RechargeError, RecoverError, RefundDecisionError, RefundError, ReportUsageError,
    RestakeError, ResumeError, RetryRefundError, ReturnStakeError, SlashStakeError, SubmitOverduePaymentError, SubscriptionError,
    VoidError,
};
use souk_domain::checkout::{CreateSessionError, ExpireError, ItemsError, SubmitError, TransferError};
use souk_domain::payment::SettlementError;
use souk_domain::shared::StorageError;

pub trait ExpectedErrors: Into<Failure> {
    /// Returns whether the error is not a rejection by a rule.
    fn is_unexpected(&self) -> bool;
}

/// Ignores rejections by a rule and returns all other errors.
pub fn tolerate_expected<T>(result: Result<T, impl ExpectedErrors>) -> Result<(), Failure> {
    match result {
        Err(error) if error.is_unexpected() => Err(error.into()),
        _ => Ok(()),
    }
}

impl ExpectedErrors for SubscriptionError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Note(error) => error.is_unexpected(),
            error => matches!(error, Self::Storage(_) | Self::Ledger(_) | Self::Amount(_) | Self::NotFound),
        }
    }
}

/// Errors of a use case are expected, except those that it passes on from another use case: for these, that use case decides.
macro_rules! expect_all_but {
    ($($error:ident: $($variant:ident)|+;)+) => {$(
        impl ExpectedErrors for $error {
            fn is_unexpected(&self) -> bool {
                match self {
                    $(Self::$variant(error) => error.is_unexpected(),)+
                    _ => false,
                }
            }
        }
    )+};
}

expect_all_but! {
    PaymentTargetError: Subscription;
    CancelError: Subscription;
    RecoverError: Subscription;
    ResumeError: Subscription;
    ReadPlansError: Subscription;
    PlanError: Subscription;
    VoidError: Subscription;
    ReportUsageError: Subscription;
    QueryStakeError: Subscription;
    ReturnStakeError: Query;
    SlashStakeError: Query;
    EndOverdraftError: Subscription;
    CombineError: Overdue;
    PrepareOverduePaymentError: Combine;
    RechargeError: Payment;
    RestakeError: Recover | Plan | Payment;
    OverdraftError: Payment;
    NoteError: Posting;
    RetryRefundError: Decision;
}

impl ExpectedErrors for OverdueError {
    fn is_unexpected(&self) -> bool {
        true
    }
}

impl ExpectedErrors for SubmitOverduePaymentError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Combine(error) => error.is_unexpected(),
            error => matches!(error, Self::Storage(_)),
        }
    }
}

impl ExpectedErrors for PayByCardError {
    fn is_unexpected(&self) -> bool {
        matches!(self, Self::NotFound | Self::Storage(_))
    }
}

impl ExpectedErrors for PaymentChangeError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Plan(error) => error.is_unexpected(),
            Self::Payment(error) => error.is_unexpected(),
        }
    }
}

impl ExpectedErrors for PostingError {
    fn is_unexpected(&self) -> bool {
        !matches!(self, Self::Contended)
    }
}

impl ExpectedErrors for CreateNoteError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Note(error) => error.is_unexpected(),
            Self::NotFound | Self::Input(_) => true,
        }
    }
}

impl ExpectedErrors for RefundError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::NothingPaid => false,
            Self::Note(error) => error.is_unexpected(),
            Self::NotFound | Self::Input(_) => true,
        }
    }
}

impl ExpectedErrors for PayoutError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Posting(error) => error.is_unexpected(),
            error => matches!(error, Self::NotFound | Self::Input(_)),
        }
    }
}

impl ExpectedErrors for RefundDecisionError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::NotFailed => false,
            Self::Posting(error) => error.is_unexpected(),
            Self::NotFound => true,
        }
    }
}

/// Network errors are expected, because faults are injected; the check is repeated later.
impl ExpectedErrors for CardCheckError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Rail(_) => false,
            Self::Dispute(DisputeError::Note(error)) | Self::Refund(ProviderRefundError::Note(error)) => error.is_unexpected(),
            Self::Dispute(DisputeError::Settlement(error)) | Self::Refund(ProviderRefundError::Settlement(error)) => error.is_unexpected(),
            Self::Dispute(DisputeError::Undecided) | Self::Refund(ProviderRefundError::Undecided) => false,
            _ => true,
        }
    }
}

impl ExpectedErrors for CreateSessionError {
    fn is_unexpected(&self) -> bool {
        // The prices exist, are active and have both currencies, so that only a conflict is expected.
        !matches!(self, Self::Storage(StorageError::Conflict) | Self::Items(ItemsError::Storage(StorageError::Conflict)))
    }
}

impl ExpectedErrors for SubmitError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Storage(error) => !matches!(error, StorageError::Conflict),
            Self::CustomerLimited | Self::PaymentInFlight | Self::Expired | Self::Rail(_) => false,
            _ => true,
        }
    }
}

impl ExpectedErrors for TransferError {
    fn is_unexpected(&self) -> bool {
        matches!(self, Self::Storage(_) | Self::Amount(_) | Self::NotFound | Self::OtherPayer)
    }
}

impl ExpectedErrors for SettlementError {
    fn is_unexpected(&self) -> bool {
        !matches!(self, Self::Contended | Self::Rail(_))
    }
}

impl ExpectedErrors for ExpireError {
    fn is_unexpected(&self) -> bool {
        match self {
            Self::Storage(error) => !matches!(error, StorageError::Conflict),
            Self::Settle(error) => error.is_unexpected(),
            Self::NotFound => true,
            Self::NotOpen | Self::PaymentInFlight => false,
        }
    }
}
