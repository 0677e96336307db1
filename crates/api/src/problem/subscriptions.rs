//! The errors of subscriptions, their invoices and stakes.

use super::{CLOCK_NOT_TRUSTED, CURRENCY_NOT_CONFIGURED, METHOD_NOT_SUPPORTED, Problem, conflict, rejected};
use souk_domain::billing::{
    CancelError, ClockError, CombineError, EndOverdraftError, IllegalChange, OverdraftError, OverdueError, PayByCardError,
    PaymentChangeError, PaymentTargetError, PlanError, PrepareOverduePaymentError, QueryStakeError, ReadPlansError, ReadUsageError,
    RechargeError, RecoverError, ReportUsageError, RestakeError, ResumeBillingError, ResumeError, ReturnStakeError, SlashStakeError,
    SubmitOverduePaymentError, SubscriptionError, VoidError,
};

const CONTENDED: &str = "CONTENDED";
const DEPOSIT_TOO_SMALL: &str = "DEPOSIT_TOO_SMALL";
const NOTHING_OVERDUE: &str = "NOTHING_OVERDUE";
const NOT_METERED: &str = "NOT_METERED";
const NO_DEPOSIT: &str = "NO_DEPOSIT";
const OVERDUE_FIRST: &str = "OVERDUE_FIRST";
const PAYMENT_IN_FLIGHT: &str = "PAYMENT_IN_FLIGHT";
const PLAN_UNAVAILABLE: &str = "PLAN_UNAVAILABLE";

impl From<SubscriptionError> for Problem {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::NotFound => Self::not_found(),
            SubscriptionError::PaymentInFlight => conflict(&error, PAYMENT_IN_FLIGHT),
            SubscriptionError::Undecided => conflict(&error, "UNBILLED_PERIODS"),
            SubscriptionError::Contended => conflict(&error, CONTENDED),
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
            ResumeBillingError::ClockNotTrusted => conflict(&error, CLOCK_NOT_TRUSTED),
            ResumeBillingError::Subscription(error) => error.into(),
        }
    }
}

impl From<PaymentTargetError> for Problem {
    fn from(error: PaymentTargetError) -> Self {
        match error {
            PaymentTargetError::Ended => rejected(&error, "SUBSCRIPTION_ENDED"),
            PaymentTargetError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            PaymentTargetError::UnpaidInvoices => rejected(&error, OVERDUE_FIRST),
            PaymentTargetError::Check(error) => error.into(),
            PaymentTargetError::Declined(decline) => decline.into(),
            PaymentTargetError::Connect(expired) => expired.into(),
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
            ResumeError::ClockNotTrusted => conflict(&error, CLOCK_NOT_TRUSTED),
            ResumeError::Subscription(error) => error.into(),
        }
    }
}

impl From<ReadPlansError> for Problem {
    fn from(error: ReadPlansError) -> Self {
        match error {
            ReadPlansError::NoPlans => rejected(&error, PLAN_UNAVAILABLE),
            ReadPlansError::Subscription(error) => error.into(),
        }
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::NoPlans => rejected(&error, PLAN_UNAVAILABLE),
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

impl From<OverdueError> for Problem {
    fn from(error: OverdueError) -> Self {
        SubscriptionError::from(error).into()
    }
}

impl From<CombineError> for Problem {
    fn from(error: CombineError) -> Self {
        match error {
            CombineError::NothingOverdue => rejected(&error, NOTHING_OVERDUE),
            CombineError::CardCurrency => rejected(&error, "CARD_CURRENCY"),
            CombineError::Overdue(error) => error.into(),
        }
    }
}

impl From<PrepareOverduePaymentError> for Problem {
    fn from(error: PrepareOverduePaymentError) -> Self {
        match error {
            PrepareOverduePaymentError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            PrepareOverduePaymentError::Combine(error) => error.into(),
            PrepareOverduePaymentError::Rail(error) => Self::of_payer(error),
        }
    }
}

impl From<SubmitOverduePaymentError> for Problem {
    fn from(error: SubmitOverduePaymentError) -> Self {
        match error {
            SubmitOverduePaymentError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            SubmitOverduePaymentError::PaymentInFlight => conflict(&error, PAYMENT_IN_FLIGHT),
            SubmitOverduePaymentError::Contended => conflict(&error, CONTENDED),
            SubmitOverduePaymentError::Declined(decline) => decline.into(),
            SubmitOverduePaymentError::Connect(expired) => expired.into(),
            SubmitOverduePaymentError::Combine(error) => error.into(),
            SubmitOverduePaymentError::Check(error) => error.into(),
            SubmitOverduePaymentError::Storage(error) => error.into(),
        }
    }
}

impl From<PayByCardError> for Problem {
    fn from(error: PayByCardError) -> Self {
        match error {
            PayByCardError::NotFound => Self::not_found(),
            PayByCardError::NothingOverdue => rejected(&error, NOTHING_OVERDUE),
            PayByCardError::PaymentInFlight => conflict(&error, PAYMENT_IN_FLIGHT),
            PayByCardError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            PayByCardError::Contended => conflict(&error, CONTENDED),
            PayByCardError::Rail(error) => Self::of_payer(error),
            PayByCardError::Storage(error) => error.into(),
        }
    }
}

impl From<VoidError> for Problem {
    fn from(error: VoidError) -> Self {
        match error {
            VoidError::NothingOverdue => rejected(&error, NOTHING_OVERDUE),
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
            RestakeError::NoStake => rejected(&error, NO_DEPOSIT),
            RestakeError::Recover(error) => error.into(),
            RestakeError::Plan(error) => error.into(),
            RestakeError::Payment(error) => error.into(),
        }
    }
}

impl From<OverdraftError> for Problem {
    fn from(error: OverdraftError) -> Self {
        match error {
            OverdraftError::NoStake => rejected(&error, NO_DEPOSIT),
            OverdraftError::StakeTooSmall => rejected(&error, DEPOSIT_TOO_SMALL),
            OverdraftError::Payment(error) => error.into(),
        }
    }
}

impl From<EndOverdraftError> for Problem {
    fn from(error: EndOverdraftError) -> Self {
        match error {
            EndOverdraftError::NoStake => rejected(&error, NO_DEPOSIT),
            EndOverdraftError::UnpaidInvoices => rejected(&error, OVERDUE_FIRST),
            EndOverdraftError::Subscription(error) => error.into(),
        }
    }
}

/// The store's admins see network errors in full.
impl From<QueryStakeError> for Problem {
    fn from(error: QueryStakeError) -> Self {
        match error {
            QueryStakeError::MethodNotSupported => rejected(&error, METHOD_NOT_SUPPORTED),
            QueryStakeError::Subscription(SubscriptionError::Rail(error)) => error.into(),
            QueryStakeError::Subscription(error) => error.into(),
        }
    }
}

impl From<ReturnStakeError> for Problem {
    fn from(error: ReturnStakeError) -> Self {
        match error {
            ReturnStakeError::NoStake => rejected(&error, NO_DEPOSIT),
            ReturnStakeError::Query(error) => error.into(),
        }
    }
}

impl From<SlashStakeError> for Problem {
    fn from(error: SlashStakeError) -> Self {
        match error {
            SlashStakeError::NoStake => rejected(&error, NO_DEPOSIT),
            SlashStakeError::StakeTooSmall => rejected(&error, DEPOSIT_TOO_SMALL),
            SlashStakeError::Query(error) => error.into(),
        }
    }
}

impl From<ReadUsageError> for Problem {
    fn from(error: ReadUsageError) -> Self {
        match error {
            ReadUsageError::NotFound => Self::not_found(),
            ReadUsageError::NotMetered => rejected(&error, NOT_METERED),
            ReadUsageError::Storage(error) => error.into(),
        }
    }
}

impl From<ReportUsageError> for Problem {
    fn from(error: ReportUsageError) -> Self {
        match error {
            ReportUsageError::NotMetered => rejected(&error, NOT_METERED),
            ReportUsageError::UsageOutOfPeriod => rejected(&error, "USAGE_OUT_OF_PERIOD"),
            ReportUsageError::Subscription(error) => error.into(),
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
