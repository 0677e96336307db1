//! The claims of GitHub Actions and of GitLab, as the domain knows them.

use serde_json::Value;
use souk_domain::publishing::trusted::{CiClaims, CiProvider, CiTokenError, TrustedIssuer};
use souk_domain::shared::Timestamp;

/// Where the workflows of a repository are at GitHub.
const GITHUB_WORKFLOWS: &str = ".github/workflows";

/// Reads the claims of a token whose signature is valid.
///
/// # Errors
/// The first claim that is missing or has another type.
pub fn read(claims: &Value, issuer: &TrustedIssuer) -> Result<CiClaims, CiTokenError> {
    let text = |name: &'static str| text(claims, name).ok_or(CiTokenError::MissingClaim(name));
    let time = |name: &'static str| time(claims, name).ok_or(CiTokenError::MissingClaim(name));
    let (repository, repository_id, event) = match issuer.provider {
        CiProvider::GitHub => (text("repository")?, text("repository_id")?, text("event_name")?),
        CiProvider::GitLab => (text("project_path")?, text("project_id")?, text("pipeline_source")?),
    };
    Ok(CiClaims {
        issuer: text("iss")?,
        audience: audience(claims),
        issued_at: time("iat")?,
        not_before: claims.get("nbf").map(|_| time("nbf")).transpose()?,
        expires_at: time("exp")?,
        token_id: text("jti")?,
        workflow: workflow(claims, issuer, &repository),
        environment: text("environment").ok().filter(|name| !name.is_empty()),
        repository,
        repository_id,
        event,
        is_ref_protected: is_true(claims, "ref_protected"),
    })
}

/// A text, or a number as issuers write ids.
fn text(claims: &Value, name: &str) -> Option<String> {
    match claims.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Both providers write it as a text.
fn is_true(claims: &Value, name: &str) -> bool {
    matches!(claims.get(name), Some(Value::Bool(true))) || text(claims, name).is_some_and(|text| text == "true")
}

/// Unix seconds, which may have decimals.
fn time(claims: &Value, name: &str) -> Option<Timestamp> {
    let value = claims.get(name)?;
    // A cast of a number beyond the integers gives the nearest integer.
    let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64))?;
    Some(Timestamp::from_seconds(seconds))
}

/// One audience, or several.
fn audience(claims: &Value) -> Vec<String> {
    match claims.get("aud") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The file of the workflow in this repository. A reference has the form `octo/atlas/.github/workflows/release.yml@refs/heads/main` at
/// GitHub, and `gitlab.com/group/atlas//.gitlab-ci.yml@refs/heads/main` at GitLab.
fn workflow(claims: &Value, issuer: &TrustedIssuer, repository: &str) -> Option<String> {
    let (claim, folder) = match issuer.provider {
        CiProvider::GitHub => ("workflow_ref", format!("{repository}/{GITHUB_WORKFLOWS}/")),
        CiProvider::GitLab => {
            let (_, host) = issuer.address.split_once("://")?;
            ("ci_config_ref_uri", format!("{host}/{repository}//"))
        }
    };
    let reference = text(claims, claim)?;
    // The name of a file can contain an `@`.
    let (file, _) = reference.strip_prefix(&folder)?.split_once("@refs/")?;
    Some(file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn github() -> Value {
        json!({
            "iss": "https://token.actions.githubusercontent.com", "aud": "https://store.example", "jti": "j1", "iat": 100, "nbf": 95.9,
            "exp": 400, "repository": "octo/atlas", "repository_id": "42", "event_name": "push", "environment": "production",
            "workflow_ref": "octo/atlas/.github/workflows/release.yml@refs/heads/main@2", "ref_protected": "true",
        })
    }

    fn gitlab() -> Value {
        json!({
            "iss": "https://gitlab.com", "aud": ["https://store.example"], "jti": "j2", "iat": 100, "exp": 3_700,
            "project_path": "group/sub/atlas", "project_id": 7, "pipeline_source": "push", "environment": "",
            "ci_config_ref_uri": "gitlab.com/group/sub/atlas//ci/release.yml@refs/heads/main",
        })
    }

    fn issuer(provider: CiProvider) -> TrustedIssuer {
        let address = if provider == CiProvider::GitHub { "https://token.actions.githubusercontent.com" } else { "https://gitlab.com" };
        TrustedIssuer { address: address.to_owned(), provider }
    }

    #[test]
    fn the_claims_of_both_providers_are_read() {
        let read_as = |claims: &Value, provider| read(claims, &issuer(provider)).expect("reads");
        let claims = read_as(&github(), CiProvider::GitHub);
        assert_eq!((claims.repository.as_str(), claims.repository_id.as_str(), claims.event.as_str()), ("octo/atlas", "42", "push"));
        assert_eq!((claims.workflow.as_deref(), claims.environment.as_deref()), (Some("release.yml"), Some("production")));
        assert_eq!((claims.not_before, claims.is_ref_protected), (Some(Timestamp::from_seconds(95)), true));
        let claims = read_as(&gitlab(), CiProvider::GitLab);
        assert_eq!((claims.repository.as_str(), claims.repository_id.as_str()), ("group/sub/atlas", "7"));
        assert_eq!((claims.workflow.as_deref(), claims.environment, claims.not_before), (Some("ci/release.yml"), None, None));
        assert!(!claims.is_ref_protected);
        assert_eq!((claims.audience, claims.expires_at), (vec!["https://store.example".to_owned()], Timestamp::from_seconds(3_700)));
    }

    #[test]
    fn a_claim_that_is_missing_or_has_another_type_is_named() {
        for (claim, value) in [
            ("jti", Value::Null),
            ("exp", json!("400")),
            ("iat", json!([])),
            ("nbf", json!("now")),
            ("repository", json!({})),
            ("repository_id", Value::Null),
            ("event_name", Value::Null),
            ("iss", Value::Null),
        ] {
            let mut claims = github();
            claims[claim] = value;
            let error = read(&claims, &issuer(CiProvider::GitHub)).expect_err(claim);
            assert_eq!(error.to_string(), format!("The CI token lacks {claim}"));
        }
        let mut claims = github();
        claims["aud"] = json!(5);
        assert_eq!(read(&claims, &issuer(CiProvider::GitHub)).expect("reads").audience, [""; 0]);
    }

    #[test]
    fn a_workflow_of_another_repository_is_none_of_this_one() {
        let mut claims = github();
        for (reference, file) in [
            ("octo/atlas/.github/workflows/release.yml@x.yml@refs/heads/main", Some("release.yml@x.yml")),
            ("octo/shared/.github/workflows/release.yml@refs/heads/main", None),
            ("octo/atlas/release.yml@refs/heads/main", None),
            ("octo/atlas/.github/workflows/release.yml", None),
        ] {
            claims["workflow_ref"] = json!(reference);
            assert_eq!(read(&claims, &issuer(CiProvider::GitHub)).expect("reads").workflow.as_deref(), file, "{reference}");
        }
    }
}
