//! The errors of the checkout page.

use super::{CLOCK_NOT_TRUSTED, CURRENCY_NOT_CONFIGURED, METHOD_NOT_SUPPORTED, Problem, conflict, rejected};
use poem::http::StatusCode;
use souk_domain::checkout::{
    AddCrossSellError, AdjustQuantityError, CancelCardError, EditItemsError, ExpireError, OpenCardError, ReadSubmittedError,
    SetAmountError, StartError, SubmitError, TransferError, UndecidedPaymentError, UpsellError,
};

// Codes that several use cases share.
const NOT_OFFERED: &str = "NOT_OFFERED";
const SEVERAL_CUSTOM_AMOUNTS: &str = "SEVERAL_CUSTOM_AMOUNTS";

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotFound => Self::not_found(),
            StartError::Inactive => rejected(&error, "LINK_INACTIVE"),
            StartError::AppUnavailable(error) => conflict(&error, "APP_UNAVAILABLE"),
            StartError::Storage(error) => error.into(),
            StartError::Amount(error) => error.into(),
            StartError::SandboxOff(off) => off.into(),
            StartError::NoSpace(error) => error.into(),
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::NotFound => Self::not_found(),
            SubmitError::Forbidden => Self::forbidden(),
            SubmitError::Expired => rejected(&error, "EXPIRED"),
            SubmitError::Fields(errors) => Self::fields(&errors),
            SubmitError::CustomerLimited => Self::new(StatusCode::FORBIDDEN, error.to_string()).code("CUSTOMER_LIMITED"),
            SubmitError::TooManyReservedOrders(orders) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()).code("TOO_MANY_RESERVED_ORDERS").param("orders", orders)
            }
            SubmitError::TooManyWaitingOrders => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()).code("TOO_MANY_WAITING_ORDERS")
            }
            SubmitError::RequireCrossSell => rejected(&error, "REQUIRE_CROSS_SELL"),
            SubmitError::Quantity(error) => error.into(),
            SubmitError::TotalChanged { total, ref text } => conflict(&error, "TOTAL_CHANGED").param("total", total).param("amount", text),
            SubmitError::PaymentInFlight => conflict(&error, "PAYMENT_IN_FLIGHT"),
            SubmitError::Rail(error) => Self::of_payer(error),
            SubmitError::Storage(error) => error.into(),
            SubmitError::ClockNotTrusted => conflict(&error, CLOCK_NOT_TRUSTED),
            SubmitError::Misconfigured => rejected(&error, "NOT_CONFIGURED"),
            SubmitError::AppUnavailable(error) => conflict(&error, "APP_UNAVAILABLE"),
            SubmitError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            SubmitError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            SubmitError::SeveralCustomAmounts => rejected(&error, SEVERAL_CUSTOM_AMOUNTS),
            SubmitError::CustomAmount(error) => error.into(),
            SubmitError::Amount(error) => error.into(),
        }
    }
}

impl From<UndecidedPaymentError> for Problem {
    fn from(error: UndecidedPaymentError) -> Self {
        match error {
            UndecidedPaymentError::PaymentInFlight => conflict(&error, "PAYMENT_IN_FLIGHT"),
            UndecidedPaymentError::Storage(error) => error.into(),
        }
    }
}

impl From<OpenCardError> for Problem {
    fn from(error: OpenCardError) -> Self {
        match error {
            OpenCardError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            OpenCardError::Rail(error) => Self::of_payer(error),
            OpenCardError::Undecided(error) => error.into(),
        }
    }
}

impl From<CancelCardError> for Problem {
    fn from(error: CancelCardError) -> Self {
        match error {
            CancelCardError::Find(error) => error.into(),
            CancelCardError::Forbidden => Self::forbidden(),
            CancelCardError::Undecided(error) => error.into(),
            CancelCardError::Storage(error) => error.into(),
        }
    }
}

impl From<ReadSubmittedError> for Problem {
    fn from(error: ReadSubmittedError) -> Self {
        match error {
            ReadSubmittedError::Find(error) => error.into(),
            ReadSubmittedError::Forbidden => Self::forbidden(),
            ReadSubmittedError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            ReadSubmittedError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            ReadSubmittedError::Card(error) => error.into(),
            ReadSubmittedError::Storage(error) => error.into(),
        }
    }
}

impl From<EditItemsError> for Problem {
    fn from(error: EditItemsError) -> Self {
        match error {
            EditItemsError::NotFound => Self::not_found(),
            EditItemsError::Expired => rejected(&error, "EXPIRED"),
            EditItemsError::Fixed => rejected(&error, "ORDER_FIXED"),
            EditItemsError::Amount(error) => error.into(),
            EditItemsError::Storage(error) => error.into(),
        }
    }
}

impl From<AdjustQuantityError> for Problem {
    fn from(error: AdjustQuantityError) -> Self {
        match error {
            AdjustQuantityError::NotAdjustable => rejected(&error, "QUANTITY_FIXED"),
            AdjustQuantityError::Quantity(error) => error.into(),
            AdjustQuantityError::Edit(error) => error.into(),
        }
    }
}

impl From<UpsellError> for Problem {
    fn from(error: UpsellError) -> Self {
        match error {
            UpsellError::NotOffered => rejected(&error, NOT_OFFERED),
            UpsellError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            UpsellError::Edit(error) => error.into(),
        }
    }
}

impl From<AddCrossSellError> for Problem {
    fn from(error: AddCrossSellError) -> Self {
        match error {
            AddCrossSellError::NotOffered => rejected(&error, NOT_OFFERED),
            AddCrossSellError::Edit(error) => error.into(),
        }
    }
}

impl From<SetAmountError> for Problem {
    fn from(error: SetAmountError) -> Self {
        match error {
            SetAmountError::NotCustom => rejected(&error, "AMOUNT_FIXED"),
            SetAmountError::SeveralCustomAmounts => rejected(&error, SEVERAL_CUSTOM_AMOUNTS),
            SetAmountError::CustomAmount(error) => error.into(),
            SetAmountError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            SetAmountError::Edit(error) => error.into(),
        }
    }
}

impl From<ExpireError> for Problem {
    fn from(error: ExpireError) -> Self {
        match error {
            ExpireError::NotFound => Self::not_found(),
            ExpireError::NotOpen => rejected(&error, "NOT_OPEN"),
            ExpireError::PaymentInFlight => conflict(&error, "PAYMENT_IN_FLIGHT"),
            ExpireError::Settle(error) => error.into(),
            ExpireError::Storage(error) => error.into(),
        }
    }
}

impl From<TransferError> for Problem {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Storage(error) => error.into(),
            TransferError::NotFound => Self::not_found(),
            TransferError::Rail(error) => Self::of_payer(error),
            TransferError::CustomerLimited => Self::new(StatusCode::FORBIDDEN, error.to_string()).code("CUSTOMER_LIMITED"),
            TransferError::Expired => rejected(&error, "EXPIRED"),
            TransferError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            TransferError::OtherPayer => rejected(&error, "OTHER_PAYER"),
            TransferError::Complete => rejected(&error, "ALREADY_PAID"),
            TransferError::Changed => rejected(&error, "ORDER_CHANGED"),
            TransferError::PaymentInFlight => rejected(&error, "PAYMENT_IN_FLIGHT"),
            TransferError::Declined(decline) => decline.into(),
            TransferError::Connect(expired) => expired.into(),
            TransferError::Check(error) => error.into(),
            TransferError::Amount(error) => error.into(),
        }
    }
}
