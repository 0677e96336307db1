//! What CI tokens say, and whether they are valid for this store now. The signature is verified outside the domain.

use super::issuer::TrustedIssuer;
use crate::shared::Timestamp;
use async_trait::async_trait;
use std::time::Duration;

/// How far the clocks of issuer and store may differ.
pub const CI_TOKEN_LEEWAY: Duration = Duration::from_secs(30);
/// The longest lifetime of a token: used ones are remembered as long.
pub const CI_TOKEN_LIFETIME_MAX: Duration = Duration::from_secs(24 * 3_600);
/// The longest id of a token, in bytes.
const TOKEN_ID_MAX: usize = 255;
/// Events that run the workflow of a repository on the code or the results of somebody who cannot write to it.
const UNTRUSTED_EVENTS: [&str; 2] = ["pull_request_target", "workflow_run"];
/// Events by which anybody starts the workflow of the default branch, with a text of theirs as its input.
const EVENTS_OF_ANYBODY: [&str; 7] = ["discussion", "discussion_comment", "fork", "gollum", "issue_comment", "issues", "watch"];

/// The claims of a token whose signature is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiClaims {
    pub issuer: String,
    pub audience: Vec<String>,
    pub issued_at: Timestamp,
    pub not_before: Option<Timestamp>,
    pub expires_at: Timestamp,
    /// Unique among the tokens of the issuer.
    pub token_id: String,
    pub repository: String,
    /// The provider's id of the repository, which no other one gets.
    pub repository_id: String,
    /// The file of the workflow in this repository; `None`: the workflow is that of another one.
    pub workflow: Option<String>,
    pub environment: Option<String>,
    /// What has started the workflow.
    pub event: String,
    /// Whether the provider protects the branch or tag that the workflow runs for.
    pub is_ref_protected: bool,
}

impl CiClaims {
    /// Whether somebody can have started the workflow who cannot write to the repository.
    pub(super) fn is_started_by_anybody(&self) -> bool {
        EVENTS_OF_ANYBODY.contains(&self.event.as_str())
    }
}

/// Why a CI token is refused.
#[derive(Debug, thiserror::Error)]
pub enum CiTokenError {
    #[error("The CI token is not well-formed")]
    Malformed,
    #[error("This store does not accept CI tokens of {0}")]
    IssuerNotAllowed(String),
    #[error("The keys of {0} cannot be fetched at the moment, please try again")]
    IssuerUnavailable(String),
    #[error("CI tokens that are signed with {0} are not accepted")]
    Algorithm(String),
    #[error("{0} has no key that this CI token names")]
    UnknownKey(String),
    #[error("The signature of the CI token is not valid")]
    Signature,
    #[error("The CI token lacks {0}")]
    MissingClaim(&'static str),
    #[error("The CI token is for another audience. Request one for {0}")]
    Audience(String),
    #[error("The CI token has expired")]
    Expired,
    #[error("The CI token is not valid yet")]
    NotYetValid,
    #[error("The CI token is valid for more than {} hours", CI_TOKEN_LIFETIME_MAX.as_secs() / 3_600)]
    Lifetime,
    #[error("This CI token was exchanged before")]
    Replayed,
    #[error("Workflows that {0} starts may not publish")]
    Event(String),
}

/// Reads and verifies CI tokens.
#[async_trait]
pub trait CiTokens: Send + Sync {
    /// The issuer that a token names. Nobody has verified it.
    fn issuer_of(&self, token: &str) -> Result<String, CiTokenError>;
    /// Verifies the signature of a token with the keys that the issuer publishes. Whether the claims are valid is decided by
    /// [`check_claims`]. Keys are fetched at most once a minute, and used for an hour at most.
    async fn verify(&self, token: &str, issuer: &TrustedIssuer, now: Timestamp) -> Result<CiClaims, CiTokenError>;
}

/// Checks the claims of a token. `audience` is the address of the store, with or without a slash at its end.
///
/// # Errors
/// The first rule that they break.
pub fn check_claims(claims: &CiClaims, issuer: &TrustedIssuer, audience: &str, now: Timestamp) -> Result<(), CiTokenError> {
    let bare = |address: &str| address.trim_end_matches('/').to_owned();
    if claims.issuer != issuer.address {
        return Err(CiTokenError::IssuerNotAllowed(claims.issuer.clone()));
    }
    if !claims.audience.iter().any(|named| bare(named) == bare(audience)) {
        return Err(CiTokenError::Audience(bare(audience)));
    }
    if claims.expires_at.plus(CI_TOKEN_LEEWAY) <= now {
        return Err(CiTokenError::Expired);
    }
    let begins = claims.not_before.map_or(claims.issued_at, |at| at.max(claims.issued_at));
    if begins > now.plus(CI_TOKEN_LEEWAY) {
        return Err(CiTokenError::NotYetValid);
    }
    if claims.expires_at.since(claims.issued_at) > CI_TOKEN_LIFETIME_MAX {
        return Err(CiTokenError::Lifetime);
    }
    if claims.token_id.is_empty() || claims.token_id.len() > TOKEN_ID_MAX {
        return Err(CiTokenError::MissingClaim("jti"));
    }
    if claims.repository_id.is_empty() {
        return Err(CiTokenError::MissingClaim("the id of the repository"));
    }
    if UNTRUSTED_EVENTS.contains(&claims.event.as_str()) {
        return Err(CiTokenError::Event(claims.event.clone()));
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::issuer::{CiProvider, GITHUB_ISSUER};
    use super::*;

    const STORE: &str = "https://store.example/";
    const NOW: i64 = 1_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(NOW + seconds)
    }

    /// The claims of a token that was just issued.
    pub fn claims() -> CiClaims {
        CiClaims {
            issuer: GITHUB_ISSUER.to_owned(),
            audience: vec!["https://store.example".to_owned()],
            issued_at: at(-5),
            not_before: Some(at(-5)),
            expires_at: at(295),
            token_id: "jti-1".to_owned(),
            repository: "Octo/Atlas".to_owned(),
            repository_id: "42".to_owned(),
            workflow: Some("release.yml".to_owned()),
            environment: Some("production".to_owned()),
            event: "push".to_owned(),
            is_ref_protected: true,
        }
    }

    #[test]
    fn each_claim_that_is_not_valid_is_refused_by_name() {
        type Change = fn(&mut CiClaims);
        let github = TrustedIssuer { address: GITHUB_ISSUER.to_owned(), provider: CiProvider::GitHub };
        let cases: [(&str, Change); 18] = [
            ("accepted", |_| {}),
            ("accepted", |all| all.audience = vec!["other".to_owned(), STORE.to_owned()]),
            ("accepted", |all| all.expires_at = at(-29)),
            ("accepted", |all| (all.issued_at, all.not_before) = (at(30), Some(at(30)))),
            ("accepted", |all| all.not_before = None),
            ("This store does not accept CI tokens of https://gitlab.com", |all| all.issuer = "https://gitlab.com".to_owned()),
            ("The CI token is for another audience. Request one for https://store.example", |all| all.audience.clear()),
            ("The CI token is for another audience. Request one for https://store.example", |all| {
                all.audience = vec!["https://store.example.evil.example".to_owned()];
            }),
            ("The CI token has expired", |all| all.expires_at = at(-30)),
            ("The CI token is not valid yet", |all| all.issued_at = at(31)),
            ("The CI token is not valid yet", |all| all.not_before = Some(at(31))),
            ("The CI token is valid for more than 24 hours", |all| all.expires_at = at(86_400)),
            ("The CI token lacks jti", |all| all.token_id.clear()),
            ("The CI token lacks jti", |all| all.token_id = "x".repeat(256)),
            ("The CI token lacks the id of the repository", |all| all.repository_id.clear()),
            ("Workflows that pull_request_target starts may not publish", |all| all.event = "pull_request_target".to_owned()),
            ("Workflows that workflow_run starts may not publish", |all| all.event = "workflow_run".to_owned()),
            ("accepted", |all| all.event = "release".to_owned()),
        ];
        for (expected, change) in cases {
            let mut changed = claims();
            change(&mut changed);
            let checked = check_claims(&changed, &github, STORE, at(0));
            assert_eq!(checked.err().map_or("accepted".to_owned(), |error| error.to_string()), expected, "{changed:?}");
        }
    }
}
