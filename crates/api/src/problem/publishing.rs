//! The errors of publishing.

use super::{FieldProblem, Problem, conflict, rejected};
use poem::http::StatusCode;
use souk_domain::access::DEVICES_MAX;
use souk_domain::publishing::access_tokens::{
    CreateTokenError, DeleteTokenError, SignedRequestError, TOKEN_LIFETIME_DAYS_MAX, TOKEN_NAME_MAX, TOKENS_MAX, TokenActError, TokenError,
};
use souk_domain::publishing::invitations::{AcceptError, INVITATION_DAYS_MAX, INVITATIONS_MAX, InviteError, WithdrawError};
use souk_domain::publishing::tools::{AnswerToolError, BeginToolError};
use souk_domain::publishing::{ChangePreferencesError, PreferenceError, PreferenceProblem};

impl From<ChangePreferencesError> for Problem {
    fn from(error: ChangePreferencesError) -> Self {
        match error {
            ChangePreferencesError::Invalid(ref errors) => {
                let mut problem = rejected(&error, "VALIDATION");
                problem.body.fields = Some(errors.iter().rev().map(|error| (error.field.to_owned(), error.into())).collect());
                problem
            }
            ChangePreferencesError::Changed => conflict(&error, "PREFERENCES_CHANGED"),
            ChangePreferencesError::Storage(error) => error.into(),
        }
    }
}

impl From<&PreferenceError> for FieldProblem {
    fn from(error: &PreferenceError) -> Self {
        let params = |params: &[(&str, &str)]| Some(params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        let (code, params) = match &error.problem {
            PreferenceProblem::Required => ("REQUIRED", None),
            PreferenceProblem::OutOfRange { min, max } => ("OUT_OF_RANGE", params(&[("min", min), ("max", max)])),
            PreferenceProblem::TooPrecise => ("TOO_PRECISE", None),
            PreferenceProblem::Symbol { max } => ("SYMBOL", params(&[("max", &max.to_string())])),
            PreferenceProblem::NoDeposits => ("NO_DEPOSITS", None),
            PreferenceProblem::LessThan(other) => ("LESS_THAN", params(&[("field", other)])),
            PreferenceProblem::Addresses { max } => ("ADDRESSES", params(&[("max", &max.to_string())])),
        };
        Self { error: error.to_string(), code: code.to_owned(), params }
    }
}

impl From<CreateTokenError> for Problem {
    fn from(error: CreateTokenError) -> Self {
        match error {
            CreateTokenError::NameRequired => rejected(&error, "TOKEN_NAME_REQUIRED"),
            CreateTokenError::NameTooLong => rejected(&error, "TOKEN_NAME_TOO_LONG").param("max", TOKEN_NAME_MAX),
            CreateTokenError::NameTaken(ref name) => conflict(&error, "TOKEN_NAME_TAKEN").param("name", name),
            CreateTokenError::NoScope => rejected(&error, "TOKEN_SCOPE_REQUIRED"),
            CreateTokenError::AppPatterns => rejected(&error, "TOKEN_APPS"),
            CreateTokenError::Lifetime => rejected(&error, "TOKEN_LIFETIME").param("max", TOKEN_LIFETIME_DAYS_MAX),
            CreateTokenError::TooMany => conflict(&error, "TOO_MANY_TOKENS").param("max", TOKENS_MAX),
            CreateTokenError::NotDeveloper => Self::forbidden(),
            CreateTokenError::Input(error) => error.into(),
            CreateTokenError::Storage(error) => error.into(),
        }
    }
}

impl From<DeleteTokenError> for Problem {
    fn from(error: DeleteTokenError) -> Self {
        match error {
            DeleteTokenError::NotFound => Self::not_found(),
            DeleteTokenError::NameDiffers => rejected(&error, "TOKEN_NAME_DIFFERS"),
            DeleteTokenError::Storage(error) => error.into(),
        }
    }
}

impl From<TokenActError> for Problem {
    fn from(error: TokenActError) -> Self {
        match error {
            TokenActError::NotFound => Self::not_found(),
            TokenActError::StepNotAllowed => Self::forbidden_for(&error.to_string()).code("TOKEN_STEP"),
            TokenActError::Token(error) => error.into(),
            TokenActError::Storage(error) => error.into(),
        }
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Unknown => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("TOKEN_UNKNOWN"),
            TokenError::InvalidSignature => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("TOKEN_SIGNATURE"),
            TokenError::Expired => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("TOKEN_EXPIRED"),
            TokenError::OutOfScope(scope) => {
                Self::forbidden_for(&error.to_string()).code("TOKEN_OUT_OF_SCOPE").param("scope", scope.name())
            }
            TokenError::OtherApp(ref app) => Self::forbidden_for(&error.to_string()).code("TOKEN_OTHER_APP").param("app", app),
            TokenError::NotDeveloper => Self::forbidden_for(&error.to_string()).code("PASSPORT_NOT_FOUND"),
            TokenError::Storage(error) => error.into(),
        }
    }
}

impl From<SignedRequestError> for Problem {
    fn from(error: SignedRequestError) -> Self {
        match error {
            SignedRequestError::Malformed => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("SIGNED_REQUEST_MALFORMED"),
            SignedRequestError::Skewed => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("SIGNED_REQUEST_TIME"),
            SignedRequestError::Replayed => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("SIGNED_REQUEST_REPLAYED"),
            SignedRequestError::Token(error) => error.into(),
            SignedRequestError::Storage(error) => error.into(),
        }
    }
}

impl From<BeginToolError> for Problem {
    fn from(error: BeginToolError) -> Self {
        match error {
            BeginToolError::EncryptionKey => Self::invalid_value("_ek_", error.to_string()),
            BeginToolError::NoApp => rejected(&error, "APP_NAME_REQUIRED"),
            BeginToolError::TooManyApps { max } => rejected(&error, "TOO_MANY_APPS").param("max", max),
            BeginToolError::Input(error) => error.into(),
            BeginToolError::Storage(error) => error.into(),
        }
    }
}

impl From<AnswerToolError> for Problem {
    fn from(error: AnswerToolError) -> Self {
        match error {
            AnswerToolError::Expired(error) => error.into(),
            AnswerToolError::Answered => conflict(&error, "TOOL_ANSWERED"),
            AnswerToolError::DeveloperRequired => Self::forbidden_for(&error.to_string()).code("DEVELOPER_REQUIRED"),
            AnswerToolError::KeyCount(count) => rejected(&error, "TOOL_KEY_COUNT").param("count", count),
            AnswerToolError::TooManyDevices => conflict(&error, "TOO_MANY_DEVICES").param("max", DEVICES_MAX),
            AnswerToolError::ForeignKey(ref did) => rejected(&error, "TOOL_FOREIGN_KEY").param("did", did),
            AnswerToolError::Token(error) => error.into(),
            AnswerToolError::Seal(error) => {
                tracing::error!(%error, "a tool cannot be answered");
                Self::internal()
            }
            AnswerToolError::Storage(error) => error.into(),
        }
    }
}

impl From<InviteError> for Problem {
    fn from(error: InviteError) -> Self {
        match error {
            InviteError::NotAllowed => Self::forbidden(),
            InviteError::Lifetime => rejected(&error, "INVITATION_LIFETIME").param("max", INVITATION_DAYS_MAX),
            InviteError::TooMany => conflict(&error, "TOO_MANY_INVITATIONS").param("max", INVITATIONS_MAX),
            InviteError::Storage(error) => error.into(),
        }
    }
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Unknown => Self::forbidden_for(&error.to_string()).code("INVITATION_INVALID"),
            AcceptError::Used => Self::forbidden_for(&error.to_string()).code("INVITATION_USED"),
            AcceptError::Revoked => Self::forbidden_for(&error.to_string()).code("INVITATION_REVOKED"),
            AcceptError::Expired => Self::forbidden_for(&error.to_string()).code("INVITATION_EXPIRED"),
            AcceptError::Held(_) => conflict(&error, "PASSPORT_EXIST"),
            AcceptError::Blocked => Self::forbidden_for(&error.to_string()).code("USER_BLOCKED"),
            AcceptError::Storage(error) => error.into(),
        }
    }
}

impl From<WithdrawError> for Problem {
    fn from(error: WithdrawError) -> Self {
        match error {
            WithdrawError::NotAllowed => Self::forbidden(),
            WithdrawError::NotFound => Self::not_found(),
            WithdrawError::Storage(error) => error.into(),
        }
    }
}
