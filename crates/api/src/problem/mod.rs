//! Error responses: `{error, code?, params?, fields?}` with the statuses of SPEC.md 8 and payment-kit.md 1.1.
//!
//! Architecture invariant: only this module and the routes know HTTP status codes.

mod admin;
mod categories;
mod checkout;
mod credits;
mod digests;
mod installing;
mod instances;
mod profile;
mod publishing;
mod reviews;
mod selling;
mod staking;
mod subscriptions;
mod trusted;
mod uploads;

use poem::http::StatusCode;
use poem::{IntoResponse, Response, error::ResponseError};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchemaRef, Registry};
use poem_openapi::{ApiResponse, Object, types::Type};
use souk_domain::access::{ConnectExpired, EnvelopeError, OwnerError};
use souk_domain::billing::{AdvanceError, BillingError, PrintError, SubscriptionError};
use souk_domain::customer::{FieldError, ValidationErrors};
use souk_domain::mail::ConfirmationError;
use souk_domain::operation::{ConfirmStoppedError, NoSpace, RestoreHeld};
use souk_domain::payment::{CheckError, Decline, RailError, SandboxOff, SettlementError, UpdateMetadataError};
use souk_domain::pricing::{CustomAmountError, QuantityError, UnsupportedInterval};
use souk_domain::shared::{AmountError, FindError, IdError, InputError, StorageError};
use std::collections::BTreeMap;
use std::fmt;

pub const NOT_FOUND: &str = "Sorry, the page you visited does not exist.";
pub const FORBIDDEN: &str = "Sorry, you are not authorized to access this page.";
pub const BAD_REQUEST: &str = "Sorry, request error";
pub const FAILED: &str = "Sorry, something went wrong.";

// Codes that several use cases share.
const CLOCK_NOT_TRUSTED: &str = "CLOCK_NOT_TRUSTED";
const METHOD_NOT_SUPPORTED: &str = "METHOD_NOT_SUPPORTED";
const SIGN_IN_AGAIN: &str = "SIGN_IN_AGAIN";
const CURRENCY_NOT_CONFIGURED: &str = "CURRENCY_NOT_CONFIGURED";

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
    /// The errors of invalid form fields, by field.
    pub fields: Option<BTreeMap<String, FieldProblem>>,
}

/// The error of a form field.
#[derive(Debug, Clone, Object)]
#[oai(rename = "FieldProblem", skip_serializing_if_is_none)]
pub struct FieldProblem {
    /// The message in English.
    pub error: String,
    /// REQUIRED, INVALID, TOO_LONG or PATTERN; of a preference also OUT_OF_RANGE, TOO_PRECISE, SYMBOL, NO_DEPOSITS, LESS_THAN or
    /// ADDRESSES.
    pub code: String,
    /// Parameters of the message: of TOO_LONG the `max` number of characters, of PATTERN the seller's `message` and `message_zh`, of
    /// OUT_OF_RANGE `min` and `max`, of LESS_THAN the other `field`, of ADDRESSES the `max` number.
    pub params: Option<BTreeMap<String, String>>,
}

impl From<&FieldError> for FieldProblem {
    fn from(error: &FieldError) -> Self {
        let params = |params: &[(&str, String)]| Some(params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
        let (code, params) = match error {
            FieldError::Required => ("REQUIRED", None),
            FieldError::Invalid => ("INVALID", None),
            FieldError::TooLong(max) => ("TOO_LONG", params(&[("max", max.to_string())])),
            FieldError::Pattern(text) => ("PATTERN", params(&[("message", text.en.clone()), ("message_zh", text.zh.clone())])),
        };
        Self { error: error.to_string(), code: code.to_owned(), params }
    }
}

/// An error response. Its constructor sets the message; every caller adds the code, and a parameter per value in the message.
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
        Self::invalid_value(field, format!("{field} is invalid"))
    }

    /// The value of `field` is not valid; `message` names the valid values.
    #[must_use]
    pub fn invalid_value(field: &str, message: impl Into<String>) -> Self {
        Self::bad(message).code("INVALID").param("field", field)
    }

    /// A mandatory field or parameter is missing.
    #[must_use]
    pub fn required(field: &str) -> Self {
        Self::bad(format!("{field} is required")).code("REQUIRED").param("field", field)
    }

    /// The request cannot be parsed.
    #[must_use]
    pub fn malformed(detail: impl fmt::Display) -> Self {
        Self::bad(format!("{BAD_REQUEST}: {detail}")).code("BAD_REQUEST").param("detail", detail)
    }

    #[must_use]
    pub fn body_too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large").code("BODY_TOO_LARGE")
    }

    /// The body arrived below the minimum rate.
    #[must_use]
    pub fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "The request arrived too slowly").code("REQUEST_TOO_SLOW")
    }

    /// The disk is full, or its remaining space is reserved for payments in progress.
    #[must_use]
    pub fn no_space() -> Self {
        NoSpace.into()
    }

    /// An error that the server caused. The caller logs its cause.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED).code("INTERNAL")
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

    /// The call moves money or decides who may publish, and the user's last sign-in is too long ago.
    #[must_use]
    pub fn sign_in_again() -> Self {
        Self::new(StatusCode::FORBIDDEN, "Please sign in again to continue").code(SIGN_IN_AGAIN)
    }

    /// Whether a response asks the user to sign in again. The same call then has another answer.
    #[must_use]
    pub fn is_sign_in_again(status: StatusCode, body: &str) -> bool {
        let has_code = |body: &str| serde_json::from_str::<serde_json::Value>(body).is_ok_and(|body| body["code"] == SIGN_IN_AGAIN);
        status == StatusCode::FORBIDDEN && has_code(body)
    }

    #[must_use]
    pub fn forbidden_for(reason: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, reason)
    }

    /// Validation errors of form fields.
    #[must_use]
    pub fn fields(errors: &ValidationErrors) -> Self {
        let lines: Vec<_> = errors.iter().map(|(field, error)| format!("{}: {error}", field.name())).collect();
        let mut problem = Self::bad(format!("Validate failed: {}", lines.join("; "))).code("VALIDATION");
        problem.body.fields = Some(errors.iter().map(|(field, error)| (field.name().to_owned(), error.into())).collect());
        problem
    }

    /// A network error as a payer sees it. A rejection concerns the payment and is shown; configuration and connection errors concern
    /// the store owner and are only logged.
    fn of_payer(error: RailError) -> Self {
        let status = match error {
            RailError::Rejected(_) | RailError::SandboxOff(_) | RailError::TooManyCardForms => return error.into(),
            RailError::Unreachable(_) => StatusCode::BAD_GATEWAY,
            RailError::Misconfigured(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        tracing::error!(%error, "cannot start a payment");
        Self { status, ..Self::internal() }
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
        match error {
            StorageError::NoSpace(_) => Self::no_space(),
            _ => Self::internal(),
        }
    }
}

impl From<FindError> for Problem {
    fn from(error: FindError) -> Self {
        match error {
            FindError::NotFound => Self::not_found(),
            FindError::Storage(error) => error.into(),
        }
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
        Self::internal()
    }
}

impl From<RailError> for Problem {
    fn from(error: RailError) -> Self {
        let message = error.to_string();
        match error {
            RailError::Unreachable(reason) => {
                Self::new(StatusCode::BAD_GATEWAY, message).code("NETWORK_UNREACHABLE").param("reason", reason)
            }
            RailError::Rejected(reason) => Self::bad(message).code("NETWORK_REJECTED").param("reason", reason),
            RailError::Misconfigured(reason) => Self::bad(message).code("METHOD_MISCONFIGURED").param("reason", reason),
            RailError::SandboxOff(off) => off.into(),
            RailError::TooManyCardForms => Self::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_CARD_FORMS"),
        }
    }
}

/// The store can be read.
impl From<RestoreHeld> for Problem {
    fn from(held: RestoreHeld) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, held.to_string()).code("RESTORE_HELD")
    }
}

impl From<ConfirmStoppedError> for Problem {
    fn from(error: ConfirmStoppedError) -> Self {
        match error {
            ConfirmStoppedError::NotWaiting => Self::new(StatusCode::CONFLICT, error.to_string()).code("RESTORE_NOT_WAITING"),
            ConfirmStoppedError::Storage(error) => error.into(),
        }
    }
}

impl From<NoSpace> for Problem {
    fn from(error: NoSpace) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).code("NO_SPACE")
    }
}

/// The store works; its sandbox is unavailable.
impl From<SandboxOff> for Problem {
    fn from(off: SandboxOff) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, off.to_string()).code("SANDBOX_OFF")
    }
}

impl From<CustomAmountError> for Problem {
    fn from(error: CustomAmountError) -> Self {
        let message = error.to_string();
        match error {
            CustomAmountError::Between { minimum, maximum } => {
                Self::bad(message).code("AMOUNT_OUT_OF_RANGE").param("minimum", minimum).param("maximum", maximum)
            }
            CustomAmountError::TooSmall(minimum) => Self::bad(message).code("AMOUNT_TOO_SMALL").param("minimum", minimum),
            CustomAmountError::TooPrecise(decimals) => Self::bad(message).code("AMOUNT_TOO_PRECISE").param("decimals", decimals),
        }
    }
}

impl From<AmountError> for Problem {
    fn from(error: AmountError) -> Self {
        match error {
            AmountError::NotANumber => rejected(&error, "AMOUNT_INVALID"),
            AmountError::TooPrecise(decimals) => rejected(&error, "AMOUNT_TOO_PRECISE").param("decimals", decimals),
            AmountError::Overflow => rejected(&error, "AMOUNT_OVERFLOW"),
        }
    }
}

impl From<QuantityError> for Problem {
    fn from(error: QuantityError) -> Self {
        match error {
            QuantityError::ExceedInventory => rejected(&error, "EXCEED_INVENTORY"),
            QuantityError::ExceedPurchaseLimit => rejected(&error, "EXCEED_PURCHASE_LIMIT"),
        }
    }
}

impl From<SettlementError> for Problem {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Storage(error) => error.into(),
            other => {
                tracing::error!(error = &other as &dyn std::error::Error, "cannot store a payment");
                Self::internal()
            }
        }
    }
}

impl From<ConnectExpired> for Problem {
    fn from(expired: ConnectExpired) -> Self {
        rejected(&expired, "CONNECT_EXPIRED")
    }
}

/// A network declined a payment, a stake or a limit. The parameter is the network's code.
impl From<Decline> for Problem {
    fn from(decline: Decline) -> Self {
        Self::bad(decline.message).code("NETWORK_DECLINED").param("reason", decline.code)
    }
}

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Malformed => rejected(&error, "TRANSACTION_UNREADABLE"),
            CheckError::Differs(difference) => rejected(&error, "SIGNATURE_MISMATCH").param("difference", difference),
            CheckError::BadSignature => rejected(&error, "SIGNATURE_INVALID"),
        }
    }
}

impl From<UpdateMetadataError> for Problem {
    fn from(error: UpdateMetadataError) -> Self {
        match error {
            UpdateMetadataError::Find(error) => error.into(),
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
            AdvanceError::UnderWay => conflict(&error, "UNDER_WAY"),
            AdvanceError::BadTarget => rejected(&error, "BAD_CLOCK_TARGET"),
            AdvanceError::SandboxOff(off) => off.into(),
            AdvanceError::NothingDue => rejected(&error, "NO_NEXT_INVOICE"),
            AdvanceError::Storage(error) => error.into(),
        }
    }
}

impl From<InputError> for Problem {
    fn from(error: InputError) -> Self {
        let message = error.to_string();
        match error {
            InputError::Required(field) => Self::required(field),
            InputError::TooLong { field, max } => Self::bad(message).code("TOO_LONG").param("field", field).param("max", max),
            InputError::Control(field) => Self::bad(message).code("CONTROL_CHARACTERS").param("field", field),
            InputError::TooMany { field, max } => Self::bad(message).code("TOO_MANY").param("field", field).param("max", max),
            InputError::Address(field) => Self::bad(message).code("BAD_ADDRESS").param("field", field),
            InputError::TooLarge { field, max } => Self::bad(message).code("TOO_LARGE").param("field", field).param("max", max),
        }
    }
}

impl From<UnsupportedInterval> for Problem {
    fn from(error: UnsupportedInterval) -> Self {
        rejected(&error, "INTERVAL_UNSUPPORTED")
    }
}

impl From<EnvelopeError> for Problem {
    fn from(error: EnvelopeError) -> Self {
        match error {
            EnvelopeError::Invalid => rejected(&error, "CONNECT_SIGNATURE"),
            EnvelopeError::Expired => rejected(&error, "CONNECT_CLOCK"),
        }
    }
}

impl From<OwnerError> for Problem {
    fn from(error: OwnerError) -> Self {
        match error {
            OwnerError::LinkUsed => Self::forbidden_for(&error.to_string()).code("OWNER_LINK_USED"),
            OwnerError::OwnerExists => Self::forbidden_for(&error.to_string()).code("OWNER_EXISTS"),
            OwnerError::Blocked => Self::forbidden_for(&error.to_string()).code("USER_BLOCKED"),
            OwnerError::Storage(error) => error.into(),
        }
    }
}

impl From<ConfirmationError> for Problem {
    fn from(error: ConfirmationError) -> Self {
        match error {
            ConfirmationError::NoAddress => rejected(&error, "NO_EMAIL_ADDRESS"),
            ConfirmationError::Confirmed => conflict(&error, "EMAIL_CONFIRMED"),
            ConfirmationError::SentAlready => Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()).code("CONFIRMATION_SENT_ALREADY"),
            ConfirmationError::TooManyOfSite => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()).code("CONFIRMATIONS_OF_NETWORK_EXHAUSTED")
            }
            ConfirmationError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()).code("CONFIRMATIONS_EXHAUSTED"),
            ConfirmationError::LinkInvalid => Self::forbidden_for(&error.to_string()).code("CONFIRMATION_LINK_INVALID"),
            ConfirmationError::Storage(error) => error.into(),
        }
    }
}

fn rejected(error: &impl fmt::Display, code: &str) -> Problem {
    Problem::bad(error.to_string()).code(code)
}

fn conflict(error: &impl fmt::Display, code: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, error.to_string()).code(code)
}

fn unauthorized(error: &impl fmt::Display, code: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, error.to_string()).code(code)
}
