//! The refusals of trusted publishing.

use super::{Problem, conflict, rejected, unauthorized};
use poem::http::StatusCode;
use souk_domain::publishing::access_tokens::APP_PATTERNS_MAX;
use souk_domain::publishing::trusted::{
    CI_ACCESS_LIFETIME, CI_TOKENS_MAX, CiTokenError, ExchangeError, PUBLISHERS_MAX, PublisherError, RegisterPublisherError,
    RemovePublisherError,
};

impl From<RegisterPublisherError> for Problem {
    fn from(error: RegisterPublisherError) -> Self {
        match error {
            RegisterPublisherError::IssuerNotAllowed(ref issuer) => rejected(&error, "CI_ISSUER").param("issuer", issuer),
            RegisterPublisherError::Repository => rejected(&error, "PUBLISHER_REPOSITORY"),
            RegisterPublisherError::RepositoryId => rejected(&error, "PUBLISHER_REPOSITORY_ID"),
            RegisterPublisherError::Workflow => rejected(&error, "PUBLISHER_WORKFLOW"),
            RegisterPublisherError::Environment => rejected(&error, "PUBLISHER_ENVIRONMENT"),
            RegisterPublisherError::NoScope => rejected(&error, "PUBLISHER_SCOPE_REQUIRED"),
            RegisterPublisherError::AppPatterns => rejected(&error, "PUBLISHER_APPS").param("max", APP_PATTERNS_MAX),
            RegisterPublisherError::Exists => conflict(&error, "PUBLISHER_EXISTS"),
            RegisterPublisherError::TooMany => conflict(&error, "TOO_MANY_PUBLISHERS").param("max", PUBLISHERS_MAX),
            RegisterPublisherError::NotDeveloper => Self::forbidden(),
            RegisterPublisherError::Storage(error) => error.into(),
        }
    }
}

impl From<RemovePublisherError> for Problem {
    fn from(error: RemovePublisherError) -> Self {
        match error {
            RemovePublisherError::NotFound => Self::not_found(),
            RemovePublisherError::Storage(error) => error.into(),
        }
    }
}

impl From<ExchangeError> for Problem {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::CiToken(error) => error.into(),
            ExchangeError::Publisher(error) => error.into(),
            ExchangeError::Token(error) => error.into(),
            ExchangeError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string())
                .code("TOO_MANY_CI_TOKENS")
                .param("max", CI_TOKENS_MAX)
                .param("minutes", CI_ACCESS_LIFETIME.as_secs() / 60),
            ExchangeError::Storage(error) => error.into(),
        }
    }
}

impl From<CiTokenError> for Problem {
    fn from(error: CiTokenError) -> Self {
        tracing::info!(%error, "a CI token is refused");
        match &error {
            CiTokenError::Malformed => unauthorized(&error, "CI_TOKEN_MALFORMED"),
            CiTokenError::IssuerNotAllowed(issuer) => unauthorized(&error, "CI_ISSUER").param("issuer", issuer),
            CiTokenError::IssuerUnavailable(issuer) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).code("CI_ISSUER_UNAVAILABLE").param("issuer", issuer)
            }
            CiTokenError::Algorithm(algorithm) => unauthorized(&error, "CI_TOKEN_ALGORITHM").param("algorithm", algorithm),
            CiTokenError::UnknownKey(issuer) => unauthorized(&error, "CI_TOKEN_KEY").param("issuer", issuer),
            CiTokenError::Signature => unauthorized(&error, "CI_TOKEN_SIGNATURE"),
            CiTokenError::MissingClaim(claim) => unauthorized(&error, "CI_TOKEN_CLAIM").param("claim", claim),
            CiTokenError::Audience(audience) => unauthorized(&error, "CI_TOKEN_AUDIENCE").param("audience", audience),
            CiTokenError::Expired => unauthorized(&error, "CI_TOKEN_EXPIRED"),
            CiTokenError::NotYetValid => unauthorized(&error, "CI_TOKEN_NOT_YET_VALID"),
            CiTokenError::Lifetime => unauthorized(&error, "CI_TOKEN_LIFETIME"),
            CiTokenError::Replayed => unauthorized(&error, "CI_TOKEN_REPLAYED"),
            CiTokenError::Event(event) => Self::forbidden_for(&error.to_string()).code("CI_EVENT").param("event", event),
        }
    }
}

impl From<PublisherError> for Problem {
    fn from(error: PublisherError) -> Self {
        match &error {
            PublisherError::NotRegistered(repository) => {
                Self::forbidden_for(&error.to_string()).code("PUBLISHER_NOT_REGISTERED").param("repository", repository)
            }
            PublisherError::OtherApp(app) => Self::forbidden_for(&error.to_string()).code("PUBLISHER_OTHER_APP").param("app", app),
            PublisherError::OtherWorkflow => Self::forbidden_for(&error.to_string()).code("PUBLISHER_OTHER_WORKFLOW"),
            PublisherError::OtherEnvironment => Self::forbidden_for(&error.to_string()).code("PUBLISHER_OTHER_ENVIRONMENT"),
            PublisherError::NeedsEnvironment(event) => {
                Self::forbidden_for(&error.to_string()).code("PUBLISHER_NEEDS_ENVIRONMENT").param("event", event)
            }
            PublisherError::UnprotectedRef => Self::forbidden_for(&error.to_string()).code("PUBLISHER_UNPROTECTED_REF"),
            PublisherError::OtherRepository(repository) => {
                Self::forbidden_for(&error.to_string()).code("PUBLISHER_OTHER_REPOSITORY").param("repository", repository)
            }
            PublisherError::Ambiguous => Self::forbidden_for(&error.to_string()).code("PUBLISHER_AMBIGUOUS"),
        }
    }
}
