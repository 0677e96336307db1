//! The errors of credit notes, refunds, payouts, and payments and transfers on hold.

use super::{METHOD_NOT_SUPPORTED, Problem, conflict, rejected};
use souk_domain::billing::{
    CreateNoteError, NoteError, PayoutError, PostingError, RefundDecisionError, RefundError, ResolveTransferError, RetryRefundError,
    SendRefundError, SuspenseError,
};

impl From<PostingError> for Problem {
    fn from(error: PostingError) -> Self {
        match error {
            PostingError::Orphan => Self::not_found(),
            PostingError::Contended => conflict(&error, "CONTENDED"),
            PostingError::Amount(error) => error.into(),
            PostingError::Storage(error) => error.into(),
            PostingError::Ledger(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a credit note, a refund or a payout failed");
                Self::internal()
            }
        }
    }
}

/// The store's admins see network errors in full.
impl From<SendRefundError> for Problem {
    fn from(error: SendRefundError) -> Self {
        match error {
            SendRefundError::NoPayoutRoute => rejected(&error, "NO_PAYOUT_ROUTE"),
            SendRefundError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            SendRefundError::CapExceeded(exceeded) => {
                conflict(&exceeded, "DAILY_CAP").param("cap", exceeded.text(exceeded.cap)).param("left", exceeded.text(exceeded.left))
            }
            SendRefundError::Rail(error) => error.into(),
            SendRefundError::Posting(error) => error.into(),
        }
    }
}

impl From<NoteError> for Problem {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::NotCreditable => rejected(&error, "NOT_CREDITABLE"),
            NoteError::OverRefund => rejected(&error, "OVER_REFUND"),
            NoteError::NoAmount => rejected(&error, "NO_AMOUNT"),
            NoteError::BadItems => rejected(&error, "BAD_ITEMS"),
            NoteError::Send(error) => error.into(),
            NoteError::Posting(error) => error.into(),
        }
    }
}

impl From<CreateNoteError> for Problem {
    fn from(error: CreateNoteError) -> Self {
        match error {
            CreateNoteError::NotFound => Self::not_found(),
            CreateNoteError::Input(error) => error.into(),
            CreateNoteError::Note(error) => error.into(),
        }
    }
}

impl From<RefundError> for Problem {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::NotFound => Self::not_found(),
            RefundError::NothingPaid => rejected(&error, "NOTHING_PAID"),
            RefundError::Input(error) => error.into(),
            RefundError::Note(error) => error.into(),
        }
    }
}

impl From<PayoutError> for Problem {
    fn from(error: PayoutError) -> Self {
        match error {
            PayoutError::NotFound => Self::not_found(),
            PayoutError::NoAmount => rejected(&error, "NO_AMOUNT"),
            PayoutError::BalanceReserved => rejected(&error, "BALANCE_RESERVED"),
            PayoutError::BalanceTooSmall => rejected(&error, "BALANCE_TOO_SMALL"),
            PayoutError::Input(error) => error.into(),
            PayoutError::Send(error) => error.into(),
            PayoutError::Posting(error) => error.into(),
        }
    }
}

impl From<RefundDecisionError> for Problem {
    fn from(error: RefundDecisionError) -> Self {
        match error {
            RefundDecisionError::NotFound => Self::not_found(),
            RefundDecisionError::NotFailed => rejected(&error, "REFUND_NOT_FAILED"),
            RefundDecisionError::Posting(error) => error.into(),
        }
    }
}

impl From<RetryRefundError> for Problem {
    fn from(error: RetryRefundError) -> Self {
        match error {
            RetryRefundError::Decision(error) => error.into(),
            RetryRefundError::Send(error) => error.into(),
        }
    }
}

impl From<SuspenseError> for Problem {
    fn from(error: SuspenseError) -> Self {
        match error {
            SuspenseError::NotFound => Self::not_found(),
            SuspenseError::NotOnHold => rejected(&error, "NOT_ON_HOLD"),
            SuspenseError::NothingOwed => rejected(&error, "NOTHING_OWED"),
            SuspenseError::Settlement(error) => error.into(),
            SuspenseError::Send(error) => error.into(),
            SuspenseError::Posting(error) => error.into(),
        }
    }
}

impl From<ResolveTransferError> for Problem {
    fn from(error: ResolveTransferError) -> Self {
        match error {
            ResolveTransferError::NotFound => Self::not_found(),
            ResolveTransferError::NotOnHold => rejected(&error, "TRANSFER_NOT_ON_HOLD"),
            ResolveTransferError::NotPossible => rejected(&error, "DECISION_NOT_POSSIBLE"),
            ResolveTransferError::Settlement(error) => error.into(),
            ResolveTransferError::Send(error) => error.into(),
            ResolveTransferError::Posting(error) => error.into(),
        }
    }
}
