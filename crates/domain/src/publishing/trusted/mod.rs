//! Trusted publishing: a developer names a repository whose CI may publish, and the CI exchanges its OIDC token for an access token of a
//! few minutes. So no secret is stored in the CI.

mod choose;
mod claims;
mod exchange;
mod issuer;
mod publisher;
mod register;

pub use choose::PublisherError;
pub use claims::{CI_TOKEN_LEEWAY, CI_TOKEN_LIFETIME_MAX, CiClaims, CiTokenError, CiTokens, check_claims};
pub use exchange::{CI_ACCESS_LIFETIME, CI_TOKENS_MAX, ExchangeError, ExchangeRequest, TrustedRun, issue_ci_token, verify_ci_token};
pub use issuer::{CiProvider, GITHUB_ISSUER, GITLAB_ISSUER, TrustedIssuer, is_issuer_address, trusted_issuer, trusted_issuers};
pub use publisher::{TrustedPublisher, TrustedPublishers};
pub use register::{
    NewTrustedPublisher, PUBLISHERS_MAX, RegisterPublisherError, RemovePublisherError, list_trusted_publishers, register_publisher,
    remove_publisher,
};
