//! The errors of subscriptions, their invoices and stakes.

use super::{CURRENCY_NOT_CONFIGURED, METHOD_NOT_SUPPORTED, Problem, conflict, rejected};
use souk_domain::billing::{
    CancelError, ClockError, IllegalChange, OverdraftError, OverduePaymentError, PaymentChangeError, PaymentTargetError, PlanError,
    RechargeError, RecoverError, RestakeError, ResumeBillingError, ResumeError, StakeAdminError, SubscriptionError, UsageError, VoidError,
};

impl From<SubscriptionError> for Problem {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::NotFound => Self::not_found(),
            SubscriptionError::PaymentInFlight => conflict(&error, "PAYMENT_IN_FLIGHT"),
            SubscriptionError::Undecided => conflict(&error, "UNBILLED_PERIODS"),
            SubscriptionError::Contended => conflict(&error, "CONTENDED"),
            SubscriptionError::Illegal(IllegalChange { status, change }) => {
                rejected(&error, "STATUS_FORBIDS").param("status", status.name()).param("change", format!("{change:?}"))
            }
            SubscriptionError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            SubscriptionError::Unbillable(_) => rejected(&error, "NOT_BILLABLE"),
            SubscriptionError::Rail(error) => Self::of_payer(error),
            SubscriptionError::Note(error) => (*error).into(),
            SubscriptionError::Input(error) => error.into(),
            SubscriptionError::Amount(error) => error.into(),
            SubscriptionError::Storage(error) => error.into(),
            SubscriptionError::Ledger(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a change of a subscription failed");
                Self::internal()
            }
        }
    }
}

impl From<ResumeBillingError> for Problem {
    fn from(error: ResumeBillingError) -> Self {
        match error {
            ResumeBillingError::ChoiceRequired => rejected(&error, "CHOICE_REQUIRED"),
            ResumeBillingError::NotOnHold => conflict(&error, "BILLING_NOT_ON_HOLD"),
            ResumeBillingError::ClockNotTrusted => conflict(&error, "CLOCK_NOT_TRUSTED"),
            ResumeBillingError::Subscription(error) => error.into(),
        }
    }
}

impl From<PaymentTargetError> for Problem {
    fn from(error: PaymentTargetError) -> Self {
        match error {
            PaymentTargetError::Ended => rejected(&error, "SUBSCRIPTION_ENDED"),
            PaymentTargetError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            PaymentTargetError::UnpaidInvoices => rejected(&error, "OVERDUE_FIRST"),
            PaymentTargetError::Check(error) => error.into(),
            PaymentTargetError::Declined(decline) => decline.into(),
            PaymentTargetError::Subscription(error) => error.into(),
        }
    }
}

impl From<CancelError> for Problem {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::Forbidden => Self::forbidden(),
            CancelError::BadTime => rejected(&error, "TIME_NOT_FUTURE"),
            CancelError::DecidedAtTheEnd => rejected(&error, "ONLY_WHEN_ENDED_NOW"),
            CancelError::StoreInitiated => rejected(&error, "ENDED_BY_STORE"),
            CancelError::Subscription(error) => error.into(),
        }
    }
}

impl From<RecoverError> for Problem {
    fn from(error: RecoverError) -> Self {
        match error {
            RecoverError::NotRecoverable => rejected(&error, "NOT_RECOVERABLE"),
            RecoverError::StoreInitiated => rejected(&error, "ENDED_BY_STORE"),
            RecoverError::Subscription(error) => error.into(),
        }
    }
}

impl From<ResumeError> for Problem {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::NotRecoverable => rejected(&error, "NOT_RECOVERABLE"),
            ResumeError::Subscription(error) => error.into(),
        }
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::NoPlans => rejected(&error, "PLAN_UNAVAILABLE"),
            PlanError::NeedsPermission => rejected(&error, "NEEDS_MANDATE"),
            PlanError::PreviewChanged => conflict(&error, "PREVIEW_CHANGED"),
            PlanError::Quantity(error) => error.into(),
            PlanError::Subscription(error) => error.into(),
        }
    }
}

impl From<PaymentChangeError> for Problem {
    fn from(error: PaymentChangeError) -> Self {
        match error {
            PaymentChangeError::Plan(error) => error.into(),
            PaymentChangeError::Payment(error) => error.into(),
        }
    }
}

impl From<OverduePaymentError> for Problem {
    fn from(error: OverduePaymentError) -> Self {
        match error {
            OverduePaymentError::NothingOverdue => rejected(&error, "NOTHING_OVERDUE"),
            OverduePaymentError::CardCurrency => rejected(&error, "CARD_CURRENCY"),
            OverduePaymentError::Payment(error) => error.into(),
        }
    }
}

impl From<VoidError> for Problem {
    fn from(error: VoidError) -> Self {
        match error {
            VoidError::NothingOverdue => rejected(&error, "NOTHING_OVERDUE"),
            VoidError::PartlyPaid => rejected(&error, "PARTLY_PAID"),
            VoidError::Subscription(error) => error.into(),
        }
    }
}

impl From<RechargeError> for Problem {
    fn from(error: RechargeError) -> Self {
        match error {
            RechargeError::PaidByCard => rejected(&error, "PAID_BY_CARD"),
            RechargeError::NoPayer => rejected(&error, "NO_MANDATE"),
            RechargeError::OwnAccount => rejected(&error, "OWN_ACCOUNT"),
            RechargeError::NoAmount => rejected(&error, "NO_AMOUNT"),
            RechargeError::AmountTooLarge { ref most } => rejected(&error, "AMOUNT_TOO_LARGE").param("maximum", most),
            RechargeError::Payment(error) => error.into(),
        }
    }
}

impl From<RestakeError> for Problem {
    fn from(error: RestakeError) -> Self {
        match error {
            RestakeError::NoStake => rejected(&error, "NO_DEPOSIT"),
            RestakeError::Recover(error) => error.into(),
            RestakeError::Plan(error) => error.into(),
            RestakeError::Payment(error) => error.into(),
        }
    }
}

impl From<OverdraftError> for Problem {
    fn from(error: OverdraftError) -> Self {
        match error {
            OverdraftError::NoStake => rejected(&error, "NO_DEPOSIT"),
            OverdraftError::StakeTooSmall => rejected(&error, "DEPOSIT_TOO_SMALL"),
            OverdraftError::Payment(error) => error.into(),
        }
    }
}

/// The store's admins see network errors in full.
impl From<StakeAdminError> for Problem {
    fn from(error: StakeAdminError) -> Self {
        match error {
            StakeAdminError::NoStake => rejected(&error, "NO_DEPOSIT"),
            StakeAdminError::StakeTooSmall => rejected(&error, "DEPOSIT_TOO_SMALL"),
            StakeAdminError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            StakeAdminError::Subscription(SubscriptionError::Rail(error)) => error.into(),
            StakeAdminError::Subscription(error) => error.into(),
        }
    }
}

impl From<UsageError> for Problem {
    fn from(error: UsageError) -> Self {
        match error {
            UsageError::NotMetered => rejected(&error, "NOT_METERED"),
            UsageError::UsageOutOfPeriod => rejected(&error, "USAGE_OUT_OF_PERIOD"),
            UsageError::Subscription(error) => error.into(),
        }
    }
}

impl From<ClockError> for Problem {
    fn from(error: ClockError) -> Self {
        match error {
            ClockError::ClockTaken => conflict(&error, "CLOCK_TAKEN"),
            ClockError::LiveClock => rejected(&error, "TEST_MODE_ONLY"),
            ClockError::Subscription(error) => error.into(),
        }
    }
}
