//! Error responses: `{error, code?, params?, fields?}` with the statuses of SPEC.md 8 and payment-kit.md 1.1.
//!
//! Architecture invariant: only this module and the routes know HTTP status codes.

mod subscriptions;

use poem::http::StatusCode;
use poem::{IntoResponse, Response, error::ResponseError};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchemaRef, Registry};
use poem_openapi::{ApiResponse, Object, types::Type};
use souk_domain::billing::{AdvanceError, BillingError, CreditError, PrintError, SubscriptionError, SuspenseError};
use souk_domain::checkout::{ExpireError, LinkError, StartError, SubmitError, TransferError, UpdateItemsError};
use souk_domain::customer::ValidationErrors;
use souk_domain::payment::{MethodError, RailError, SettlementError, UpdateMetadataError};
use souk_domain::pricing::{CatalogueError, CustomAmountError, QuantityError};
use souk_domain::shared::{AmountError, IdError, InputError, Language, StorageError};
use std::collections::BTreeMap;
use std::fmt;

pub const NOT_FOUND: &str = "Sorry, the page you visited does not exist.";
pub const FORBIDDEN: &str = "Sorry, you are not authorized to access this page.";
pub const BAD_REQUEST: &str = "Sorry, request error";
pub const FAILED: &str = "Sorry, something went wrong.";
/// The code of errors that the server caused.
const INTERNAL: &str = "INTERNAL";

// Codes that several use cases share.
const NOT_CONFIGURED: &str = "NOT_CONFIGURED";
const METHOD_NOT_SUPPORTED: &str = "METHOD_NOT_SUPPORTED";
const CURRENCY_NOT_CONFIGURED: &str = "CURRENCY_NOT_CONFIGURED";
const SEVERAL_CUSTOM_AMOUNTS: &str = "SEVERAL_CUSTOM_AMOUNTS";

/// The body of an error response.
#[derive(Debug, Clone, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct ProblemBody {
    /// The message for the user. Several messages are joined by a newline.
    pub error: String,
    /// A machine-readable code, for which pages show their own text.
    pub code: Option<String>,
    /// Parameters of the message, by name.
    pub params: Option<BTreeMap<String, String>>,
    /// Messages for invalid form fields, by field.
    pub fields: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone)]
pub struct Problem {
    pub status: StatusCode,
    pub body: Box<ProblemBody>,
}

impl Problem {
    #[must_use]
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, body: Box::new(ProblemBody { error: error.into(), code: None, params: None, fields: None }) }
    }

    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.body.code = Some(code.into());
        self
    }

    #[must_use]
    pub fn param(mut self, name: &str, value: impl ToString) -> Self {
        self.body.params.get_or_insert_default().insert(name.to_owned(), value.to_string());
        self
    }

    #[must_use]
    pub fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// The value of `field` is not one that the server knows.
    #[must_use]
    pub fn invalid(field: &str) -> Self {
        Self::bad(format!("{field} is invalid")).code("INVALID").param("field", field)
    }

    #[must_use]
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, NOT_FOUND).code("NOT_FOUND")
    }

    /// Nobody is signed in. The body follows payment-kit.md's auth convention.
    #[must_use]
    pub fn signed_out() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not authorized").code("forbidden")
    }

    #[must_use]
    pub fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, FORBIDDEN).code("forbidden")
    }

    #[must_use]
    pub fn forbidden_for(reason: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, reason)
    }

    /// Validation errors of form fields, in the caller's language.
    #[must_use]
    pub fn fields(errors: &ValidationErrors, language: Language) -> Self {
        let fields: BTreeMap<_, _> = errors.iter().map(|(field, error)| (field.name().to_owned(), error.message(language))).collect();
        let lines: Vec<_> = fields.iter().map(|(field, message)| format!("{field}: {message}")).collect();
        let mut problem = Self::bad(format!("Validate failed: {}", lines.join("; "))).code("VALIDATION");
        problem.body.fields = Some(fields);
        problem
    }

    /// A network error as a payer sees it. A rejection concerns the payment and is shown; configuration and connection errors concern
    /// the store owner and are only logged.
    fn of_payer(error: RailError) -> Self {
        let status = match error {
            RailError::Rejected(_) => return error.into(),
            RailError::Unreachable(_) => StatusCode::BAD_GATEWAY,
            RailError::Misconfigured(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        tracing::error!(%error, "cannot start a payment");
        Self::new(status, FAILED).code(INTERNAL)
    }

    /// An error of a checkout submit, with field messages in the caller's language.
    #[must_use]
    pub fn of_submit(error: SubmitError, language: Language) -> Self {
        match error {
            SubmitError::Fields(errors) => Self::fields(&errors, language),
            other => Self::from(other),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.body.error)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status(&self) -> StatusCode {
        self.status
    }

    fn as_response(&self) -> Response {
        self.clone().into_response()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        use poem_openapi::types::ToJSON;
        poem::web::Json(self.body.to_json()).with_status(self.status).into_response()
    }
}

impl ApiResponse for Problem {
    fn meta() -> MetaResponses {
        let content = || MetaMediaType {
            content_type: "application/json; charset=utf-8",
            schema: MetaSchemaRef::Reference(ProblemBody::name().into_owned()),
        };
        let response = |range: &str, description| MetaResponse {
            description,
            status: None,
            status_range: Some(range.to_owned()),
            content: vec![content()],
            headers: vec![],
        };
        MetaResponses { responses: vec![response("4XX", "The request is rejected"), response("5XX", "The request failed")] }
    }

    fn register(registry: &mut Registry) {
        ProblemBody::register(registry);
    }
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "storage failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED).code(INTERNAL)
    }
}

impl From<IdError> for Problem {
    fn from(_: IdError) -> Self {
        Self::not_found()
    }
}

impl From<PrintError> for Problem {
    fn from(error: PrintError) -> Self {
        tracing::error!(%error, "cannot render an invoice");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED)
    }
}

impl From<RailError> for Problem {
    fn from(error: RailError) -> Self {
        let (status, code) = match error {
            RailError::Unreachable(_) => (StatusCode::BAD_GATEWAY, "NETWORK_UNREACHABLE"),
            RailError::Rejected(_) => (StatusCode::BAD_REQUEST, "NETWORK_REJECTED"),
            RailError::Misconfigured(_) => (StatusCode::BAD_REQUEST, "METHOD_MISCONFIGURED"),
        };
        Self::new(status, error.to_string()).code(code)
    }
}

impl From<CustomAmountError> for Problem {
    fn from(error: CustomAmountError) -> Self {
        let problem = Self::bad(error.to_string());
        match error {
            CustomAmountError::Between { minimum, maximum } => {
                problem.code("AMOUNT_OUT_OF_RANGE").param("minimum", minimum).param("maximum", maximum)
            }
            CustomAmountError::TooSmall(minimum) => problem.code("AMOUNT_TOO_SMALL").param("minimum", minimum),
            CustomAmountError::TooPrecise(decimals) => problem.code("AMOUNT_TOO_PRECISE").param("decimals", decimals),
        }
    }
}

impl From<AmountError> for Problem {
    fn from(_: AmountError) -> Self {
        Self::bad("amount is out of range").code("AMOUNT_INVALID")
    }
}

impl From<QuantityError> for Problem {
    fn from(error: QuantityError) -> Self {
        let code = match error {
            QuantityError::ExceedInventory => "EXCEED_INVENTORY",
            QuantityError::ExceedPurchaseLimit => "EXCEED_PURCHASE_LIMIT",
        };
        Self::bad(error.to_string()).code(code)
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotFound => Self::not_found(),
            StartError::Inactive => Self::bad(error.to_string()).code("LINK_INACTIVE"),
            StartError::Misconfigured => Self::bad(error.to_string()).code(NOT_CONFIGURED),
            StartError::CurrencyNotConfigured => Self::bad(error.to_string()).code(CURRENCY_NOT_CONFIGURED),
            StartError::Storage(error) => error.into(),
            StartError::BadExpiry | StartError::Mode => Self::bad(error.to_string()),
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::NotFound => Self::not_found(),
            SubmitError::Forbidden => Self::forbidden(),
            SubmitError::Expired => Self::bad(error.to_string()).code("EXPIRED"),
            SubmitError::Fields(errors) => Self::fields(&errors, Language::default()),
            SubmitError::CustomerLimited => Self::new(StatusCode::FORBIDDEN, error.to_string()).code("CUSTOMER_LIMITED"),
            SubmitError::RequireCrossSell => Self::bad(error.to_string()).code("REQUIRE_CROSS_SELL"),
            SubmitError::Quantity(error) => error.into(),
            SubmitError::PaymentInFlight => Self::new(StatusCode::CONFLICT, error.to_string()).code("PAYMENT_IN_FLIGHT"),
            SubmitError::Rail(error) => Self::of_payer(error),
            SubmitError::Storage(error) => error.into(),
            SubmitError::Misconfigured => Self::bad(error.to_string()).code(NOT_CONFIGURED),
            SubmitError::MethodNotSupported => Self::bad(error.to_string()).code(METHOD_NOT_SUPPORTED),
            SubmitError::CurrencyNotConfigured => Self::bad(error.to_string()).code(CURRENCY_NOT_CONFIGURED),
            SubmitError::SeveralCustomAmounts => Self::bad(error.to_string()).code(SEVERAL_CUSTOM_AMOUNTS),
            SubmitError::CustomAmount(error) => error.into(),
            SubmitError::Amount(error) => error.into(),
        }
    }
}

impl From<UpdateItemsError> for Problem {
    fn from(error: UpdateItemsError) -> Self {
        match error {
            UpdateItemsError::NotFound => Self::not_found(),
            UpdateItemsError::Expired => Self::bad(error.to_string()).code("EXPIRED"),
            UpdateItemsError::Fixed => Self::bad(error.to_string()).code("ORDER_FIXED"),
            UpdateItemsError::NotAdjustable => Self::bad(error.to_string()).code("QUANTITY_FIXED"),
            UpdateItemsError::NotOffered => Self::bad(error.to_string()).code("NOT_OFFERED"),
            UpdateItemsError::NotCustom => Self::bad(error.to_string()).code("AMOUNT_FIXED"),
            UpdateItemsError::SeveralCustomAmounts => Self::bad(error.to_string()).code(SEVERAL_CUSTOM_AMOUNTS),
            UpdateItemsError::CustomAmount(error) => error.into(),
            UpdateItemsError::CurrencyNotConfigured => Self::bad(error.to_string()).code(CURRENCY_NOT_CONFIGURED),
            UpdateItemsError::Quantity(error) => error.into(),
            UpdateItemsError::Storage(error) => error.into(),
        }
    }
}

impl From<SettlementError> for Problem {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Storage(error) => error.into(),
            other => {
                tracing::error!(error = &other as &dyn std::error::Error, "cannot store a payment");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED)
            }
        }
    }
}

impl From<ExpireError> for Problem {
    fn from(error: ExpireError) -> Self {
        match error {
            ExpireError::NotFound => Self::not_found(),
            ExpireError::NotOpen => Self::bad(error.to_string()),
            ExpireError::PaymentInFlight => Self::new(StatusCode::CONFLICT, error.to_string()).code("PAYMENT_IN_FLIGHT"),
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
            TransferError::Expired => Self::bad(error.to_string()).code("EXPIRED"),
            TransferError::MethodNotSupported => Self::bad(error.to_string()).code(METHOD_NOT_SUPPORTED),
            TransferError::OtherPayer => Self::bad(error.to_string()).code("OTHER_PAYER"),
            TransferError::Complete => Self::bad(error.to_string()).code("ALREADY_PAID"),
            TransferError::Changed => Self::bad(error.to_string()).code("ORDER_CHANGED"),
            TransferError::PaymentInFlight => Self::bad(error.to_string()).code("PAYMENT_IN_FLIGHT"),
            TransferError::Declined(ref decline) => {
                let reason = decline.code.clone();
                Self::bad(error.to_string()).code("NETWORK_DECLINED").param("reason", reason)
            }
            TransferError::Check(_) => Self::bad(error.to_string()).code("SIGNATURE_MISMATCH"),
            TransferError::Amount(error) => error.into(),
        }
    }
}

impl From<UpdateMetadataError> for Problem {
    fn from(error: UpdateMetadataError) -> Self {
        match error {
            UpdateMetadataError::NotFound => Self::not_found(),
            UpdateMetadataError::Input(error) => error.into(),
            UpdateMetadataError::Storage(error) => error.into(),
        }
    }
}

impl From<BillingError> for Problem {
    fn from(error: BillingError) -> Self {
        SubscriptionError::from(error).into()
    }
}

impl From<AdvanceError> for Problem {
    fn from(error: AdvanceError) -> Self {
        match error {
            AdvanceError::NotFound => Self::not_found(),
            AdvanceError::UnderWay => Self::new(StatusCode::CONFLICT, error.to_string()).code("UNDER_WAY"),
            AdvanceError::BadTarget | AdvanceError::NothingDue => Self::bad(error.to_string()),
            AdvanceError::Storage(error) => error.into(),
        }
    }
}

impl From<InputError> for Problem {
    fn from(error: InputError) -> Self {
        let problem = Self::bad(error.to_string());
        match error {
            InputError::Required(field) => problem.code("REQUIRED").param("field", field),
            InputError::TooLong { field, max } => problem.code("TOO_LONG").param("field", field).param("max", max),
            InputError::Control(field) => problem.code("CONTROL_CHARACTERS").param("field", field),
            InputError::TooMany { field, max } => problem.code("TOO_MANY").param("field", field).param("max", max),
            InputError::Address(field) => problem.code("BAD_ADDRESS").param("field", field),
            InputError::TooLarge { field, max } => problem.code("TOO_LARGE").param("field", field).param("max", max),
        }
    }
}

impl From<CreditError> for Problem {
    fn from(error: CreditError) -> Self {
        let refused = |error: &CreditError, code: &str| Self::bad(error.to_string()).code(code);
        let conflict = |error: &CreditError, code: &str| Self::new(StatusCode::CONFLICT, error.to_string()).code(code);
        match error {
            CreditError::NotFound => Self::not_found(),
            CreditError::NotCreditable => refused(&error, "NOT_CREDITABLE"),
            CreditError::NothingPaid => refused(&error, "NOTHING_PAID"),
            CreditError::OverRefund => refused(&error, "OVER_REFUND"),
            CreditError::NoAmount => refused(&error, "NO_AMOUNT"),
            CreditError::BadItems => refused(&error, "BAD_ITEMS"),
            CreditError::BalanceReserved => refused(&error, "BALANCE_RESERVED"),
            CreditError::BalanceTooSmall => refused(&error, "BALANCE_TOO_SMALL"),
            CreditError::NoPayoutRoute => refused(&error, "NO_PAYOUT_ROUTE"),
            CreditError::NotFailed => refused(&error, "REFUND_NOT_FAILED"),
            CreditError::MethodNotSupported => refused(&error, METHOD_NOT_SUPPORTED),
            CreditError::PaymentInFlight => conflict(&error, "PAYMENT_IN_FLIGHT"),
            CreditError::Contended => conflict(&error, "CONTENDED"),
            CreditError::Input(error) => error.into(),
            CreditError::Amount(error) => error.into(),
            CreditError::Rail(error) => error.into(),
            CreditError::Storage(error) => error.into(),
            CreditError::Ledger(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a credit note or a refund failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED).code(INTERNAL)
            }
        }
    }
}

impl From<SuspenseError> for Problem {
    fn from(error: SuspenseError) -> Self {
        match error {
            SuspenseError::NotFound => Self::not_found(),
            SuspenseError::NotOnHold => Self::bad(error.to_string()).code("NOT_ON_HOLD"),
            SuspenseError::Contended => Self::new(StatusCode::CONFLICT, error.to_string()).code("CONTENDED"),
            SuspenseError::Amount(error) => error.into(),
            SuspenseError::Settlement(error) => error.into(),
            SuspenseError::Billing(error) => (*error).into(),
            SuspenseError::Storage(error) => error.into(),
            SuspenseError::Ledger(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a payment on hold could not be resolved");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED).code(INTERNAL)
            }
        }
    }
}

impl From<CatalogueError> for Problem {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::NotFound => Self::not_found(),
            CatalogueError::LookupKeyTaken | CatalogueError::InUse => Self::new(StatusCode::CONFLICT, error.to_string()),
            CatalogueError::Storage(error) => error.into(),
            other => Self::bad(other.to_string()),
        }
    }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::NotFound => Self::not_found(),
            LinkError::Storage(error) => error.into(),
            other => Self::bad(other.to_string()),
        }
    }
}

impl From<MethodError> for Problem {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::NotFound => Self::not_found(),
            MethodError::CurrencyTwice | MethodError::Changed | MethodError::PaymentsInFlight => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            MethodError::Rail(error) => error.into(),
            MethodError::Storage(error) => error.into(),
            other => Self::bad(other.to_string()),
        }
    }
}
