//! The errors of developers' deposits, and of users whom the store blocks.

use super::{Problem, conflict, rejected};
use souk_domain::billing::DepositError;
use souk_domain::publishing::staking::{AgreeError, AppDepositError, BlockUserError, JoinError, LeaveError, ReturnAppDepositError};

const JOIN_NOT_OFFERED: &str = "JOIN_NOT_OFFERED";
const NO_DEPOSIT_CURRENCY: &str = "NO_DEPOSIT_CURRENCY";
const PASSPORT_NOT_FOUND: &str = "PASSPORT_NOT_FOUND";

impl From<DepositError> for Problem {
    fn from(error: DepositError) -> Self {
        match error {
            DepositError::Placed => conflict(&error, "DEPOSIT_PLACED"),
            DepositError::Returning => conflict(&error, "DEPOSIT_RETURNING"),
            DepositError::Payment(error) => error.into(),
        }
    }
}

impl From<AgreeError> for Problem {
    fn from(error: AgreeError) -> Self {
        match error {
            AgreeError::NotOffered => conflict(&error, JOIN_NOT_OFFERED),
            AgreeError::Outdated => conflict(&error, "TERMS_OUTDATED"),
            AgreeError::Storage(error) => error.into(),
        }
    }
}

impl From<JoinError> for Problem {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::NotOffered => conflict(&error, JOIN_NOT_OFFERED),
            JoinError::Blocked => Self::forbidden_for(&error.to_string()).code("USER_BLOCKED"),
            JoinError::Held => conflict(&error, "PASSPORT_EXIST"),
            JoinError::TermsRequired => rejected(&error, "TERMS_REQUIRED"),
            JoinError::NoCurrency => conflict(&error, NO_DEPOSIT_CURRENCY),
            JoinError::Deposit(error) => error.into(),
            JoinError::Storage(error) => error.into(),
        }
    }
}

impl From<AppDepositError> for Problem {
    fn from(error: AppDepositError) -> Self {
        match error {
            AppDepositError::NotFound => Self::not_found(),
            AppDepositError::NotDeveloper => Self::forbidden_for(&error.to_string()).code(PASSPORT_NOT_FOUND),
            AppDepositError::NotRequired => conflict(&error, "DEPOSIT_NOT_REQUIRED"),
            AppDepositError::NoCurrency => conflict(&error, NO_DEPOSIT_CURRENCY),
            AppDepositError::Deposit(error) => error.into(),
            AppDepositError::Storage(error) => error.into(),
        }
    }
}

impl From<ReturnAppDepositError> for Problem {
    fn from(error: ReturnAppDepositError) -> Self {
        match error {
            ReturnAppDepositError::NotFound => Self::not_found(),
            ReturnAppDepositError::NoDeposit => conflict(&error, "APP_HAS_NO_DEPOSIT"),
            ReturnAppDepositError::Storage(error) => error.into(),
        }
    }
}

impl From<LeaveError> for Problem {
    fn from(error: LeaveError) -> Self {
        match error {
            LeaveError::NotDeveloper => Self::forbidden_for(&error.to_string()).code(PASSPORT_NOT_FOUND),
            LeaveError::Storage(error) => error.into(),
        }
    }
}

impl From<BlockUserError> for Problem {
    fn from(error: BlockUserError) -> Self {
        match error {
            BlockUserError::NotAllowed => Self::forbidden(),
            BlockUserError::Stranger => Self::not_found(),
            BlockUserError::Storage(error) => error.into(),
        }
    }
}
