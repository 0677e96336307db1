//! The refusals of prices of apps, and of payouts to beneficiaries.

use super::{Problem, conflict, rejected};
use souk_domain::billing::{RecordPayoutError, ReversePayoutError};
use souk_domain::pricing::SHARES_MAX;
use souk_domain::publishing::selling::{SetPriceError, TermsError, WithdrawPriceError};

impl From<SetPriceError> for Problem {
    fn from(error: SetPriceError) -> Self {
        match error {
            SetPriceError::NotFound => Self::not_found(),
            SetPriceError::NotDeveloper => Self::forbidden_for(&error.to_string()).code("PASSPORT_NOT_FOUND"),
            SetPriceError::Blocked => conflict(&error, "REVIEW_APP_BLOCKED"),
            SetPriceError::UnderReview => conflict(&error, "PRICE_UNDER_REVIEW"),
            SetPriceError::Terms(error) => error.into(),
            SetPriceError::Storage(error) => error.into(),
        }
    }
}

impl From<WithdrawPriceError> for Problem {
    fn from(error: WithdrawPriceError) -> Self {
        match error {
            WithdrawPriceError::NotFound => Self::not_found(),
            WithdrawPriceError::Storage(error) => error.into(),
        }
    }
}

impl From<TermsError> for Problem {
    fn from(error: TermsError) -> Self {
        match error {
            TermsError::PaidNotAllowed => Self::forbidden_for(&error.to_string()).code("PRICE_PAID_NOT_ALLOWED"),
            TermsError::Archived => conflict(&error, "APP_PRODUCT_ARCHIVED"),
            TermsError::NoSuchCurrency => rejected(&error, "PRICE_CURRENCY"),
            TermsError::NotANumber => rejected(&error, "PRICE_NOT_A_NUMBER"),
            TermsError::TooPrecise(decimals) => rejected(&error, "PRICE_TOO_PRECISE").param("max", decimals),
            TermsError::OutOfRange { ref min, ref max } => rejected(&error, "PRICE_OUT_OF_RANGE").param("min", min).param("max", max),
            TermsError::TooManyShares => rejected(&error, "TOO_MANY_SHARES").param("max", SHARES_MAX),
            TermsError::BeneficiaryTwice(ref did) => rejected(&error, "SHARE_TWICE").param("did", did),
            TermsError::Percent => rejected(&error, "SHARE_PERCENT"),
            TermsError::SharesExceed { ref most } => rejected(&error, "SHARES_EXCEED").param("most", most),
        }
    }
}

impl From<RecordPayoutError> for Problem {
    fn from(error: RecordPayoutError) -> Self {
        match error {
            RecordPayoutError::NotOwner => Self::forbidden(),
            RecordPayoutError::NotFound => Self::not_found(),
            RecordPayoutError::NoAmount => rejected(&error, "NO_AMOUNT"),
            RecordPayoutError::ReasonRequired => rejected(&error, "REVIEW_REASON_REQUIRED"),
            RecordPayoutError::ExceedsPayable => conflict(&error, "PAYOUT_EXCEEDS_PAYABLE"),
            RecordPayoutError::Changed => conflict(&error, "PAYOUT_CHANGED"),
            RecordPayoutError::Held(error) => error.into(),
            RecordPayoutError::Input(error) => error.into(),
            RecordPayoutError::Amount(error) => error.into(),
            RecordPayoutError::Ledger(error) => {
                tracing::error!(%error, "a payout cannot be posted");
                Self::internal()
            }
            RecordPayoutError::Storage(error) => error.into(),
        }
    }
}

impl From<ReversePayoutError> for Problem {
    fn from(error: ReversePayoutError) -> Self {
        match error {
            ReversePayoutError::NotOwner => Self::forbidden(),
            ReversePayoutError::NotFound => Self::not_found(),
            ReversePayoutError::ReasonRequired => rejected(&error, "REVIEW_REASON_REQUIRED"),
            ReversePayoutError::IsReversal => conflict(&error, "PAYOUT_IS_REVERSAL"),
            ReversePayoutError::Reversed => conflict(&error, "PAYOUT_REVERSED"),
            ReversePayoutError::Held(error) => error.into(),
            ReversePayoutError::Input(error) => error.into(),
            ReversePayoutError::Ledger(error) => {
                tracing::error!(%error, "the reversal of a payout cannot be posted");
                Self::internal()
            }
            ReversePayoutError::Storage(error) => error.into(),
        }
    }
}
