//! Registers, lists and removes a developer's trusted publishers.

use super::super::access_tokens::{APP_PATTERNS_MAX, AppPattern, TokenScope, developer_passport};
use super::issuer::{CiProvider, trusted_issuer};
use super::publisher::TrustedPublisher;
use crate::access::Did;
use crate::context::Context;
use crate::shared::{StorageError, TrustedPublisherId};
use crate::storage::MANAGEMENT;
use std::collections::BTreeSet;

/// The most trusted publishers of a developer.
pub const PUBLISHERS_MAX: u32 = 50;
/// The longest repository, workflow and environment, in bytes.
const NAME_MAX: usize = 200;

/// The most digits of a repository's id.
const REPOSITORY_ID_MAX: usize = 20;

/// A new trusted publisher, as its developer enters it. Empty: any workflow, any environment, the id of the first run's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrustedPublisher {
    pub issuer: String,
    pub repository: String,
    pub repository_id: String,
    pub workflow: String,
    pub environment: String,
    pub protected_refs_only: bool,
    pub scopes: BTreeSet<TokenScope>,
    pub apps: Vec<AppPattern>,
}

#[derive(Debug, thiserror::Error)]
pub enum RegisterPublisherError {
    #[error("This store does not accept CI tokens of {0}")]
    IssuerNotAllowed(String),
    #[error("Enter the repository with its owner, such as octo-org/atlas")]
    Repository,
    #[error("The id of a repository is a number")]
    RepositoryId,
    #[error("Enter the file of the workflow, such as release.yml")]
    Workflow,
    #[error("The environment has at most {NAME_MAX} characters, without line breaks")]
    Environment,
    #[error("A trusted publisher needs at least one scope")]
    NoScope,
    #[error("A trusted publisher needs 1 to {APP_PATTERNS_MAX} app patterns")]
    AppPatterns,
    #[error("You have registered the same trusted publisher already")]
    Exists,
    #[error("You have {PUBLISHERS_MAX} trusted publishers. Remove one that you no longer use.")]
    TooMany,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Registers a trusted publisher.
///
/// # Errors
/// The first field that is not valid, or the developer has too many.
#[tracing::instrument(skip_all)]
pub async fn register_publisher(ctx: &Context, owner: &Did, new: NewTrustedPublisher) -> Result<TrustedPublisher, RegisterPublisherError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    // The count is compared with that of concurrent calls.
    unit.lock(MANAGEMENT).await?;
    let preferences = unit.preferences().find().await?.preferences;
    let address = new.issuer.trim();
    let issuer = trusted_issuer(&preferences, address)
        .ok_or_else(|| RegisterPublisherError::IssuerNotAllowed(address.chars().take(NAME_MAX).collect()))?;
    let publisher = TrustedPublisher {
        id: TrustedPublisherId::new(now, ctx.random.as_ref()),
        owner: owner.clone(),
        passport_id: developer_passport(unit.as_mut(), owner).await?.ok_or(RegisterPublisherError::NotDeveloper)?.id,
        repository: repository(issuer.provider, &new.repository).ok_or(RegisterPublisherError::Repository)?,
        repository_id: repository_id(&new.repository_id)?,
        workflow: workflow(issuer.provider, &new.workflow)?,
        environment: environment(&new.environment)?,
        protected_refs_only: new.protected_refs_only,
        issuer: issuer.address,
        scopes: new.scopes,
        apps: new.apps,
        created_at: now,
        last_used_at: None,
    };
    if publisher.scopes.is_empty() {
        return Err(RegisterPublisherError::NoScope);
    }
    if publisher.apps.is_empty() || publisher.apps.len() > APP_PATTERNS_MAX {
        return Err(RegisterPublisherError::AppPatterns);
    }
    let held = unit.trusted_publishers().list(owner, PUBLISHERS_MAX).await?;
    if held.iter().any(|other| is_same(other, &publisher)) {
        return Err(RegisterPublisherError::Exists);
    }
    if held.len() >= PUBLISHERS_MAX as usize {
        return Err(RegisterPublisherError::TooMany);
    }
    unit.trusted_publishers().insert(&publisher).await?;
    unit.commit().await?;
    Ok(publisher)
}

fn is_same(one: &TrustedPublisher, other: &TrustedPublisher) -> bool {
    one.issuer == other.issuer
        && one.passport_id == other.passport_id
        && one.repository.eq_ignore_ascii_case(&other.repository)
        && (&one.workflow, &one.environment, &one.apps) == (&other.workflow, &other.environment, &other.apps)
}

/// The path of a repository: two names at GitHub, and groups with subgroups at GitLab.
fn repository(provider: CiProvider, text: &str) -> Option<String> {
    let path = text.trim().trim_matches('/');
    let segments: Vec<_> = path.split('/').collect();
    let is_name = |name: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !name.is_empty() && !matches!(*name, "." | "..") && name.bytes().all(allowed)
    };
    let has_depth = match provider {
        CiProvider::GitHub => segments.len() == 2,
        CiProvider::GitLab => segments.len() >= 2,
    };
    (has_depth && path.len() <= NAME_MAX && segments.iter().all(is_name)).then(|| path.to_owned())
}

/// The id of a repository, which is a number at both providers.
fn repository_id(text: &str) -> Result<Option<String>, RegisterPublisherError> {
    let id = text.trim();
    let is_number = id.len() <= REPOSITORY_ID_MAX && !id.starts_with('0') && id.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Ok((!id.is_empty()).then(|| id.to_owned())) } else { Err(RegisterPublisherError::RepositoryId) }
}

/// The file of a workflow: below `.github/workflows` at GitHub, and from the root of the repository at GitLab.
fn workflow(provider: CiProvider, text: &str) -> Result<Option<String>, RegisterPublisherError> {
    let path = text.trim();
    if path.is_empty() {
        return Ok(None);
    }
    let file = match provider {
        CiProvider::GitHub => path.strip_prefix(".github/workflows/").unwrap_or(path),
        CiProvider::GitLab => path,
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    let is_file = file.len() <= NAME_MAX && file.bytes().all(allowed) && !file.starts_with('/') && !file.contains("//");
    let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
    let is_flat = provider == CiProvider::GitLab || !file.contains('/');
    if is_file && is_yaml && is_flat { Ok(Some(file.to_owned())) } else { Err(RegisterPublisherError::Workflow) }
}

fn environment(text: &str) -> Result<Option<String>, RegisterPublisherError> {
    let name = text.trim();
    match () {
        () if name.is_empty() => Ok(None),
        () if name.len() > NAME_MAX || name.contains(char::is_control) => Err(RegisterPublisherError::Environment),
        () => Ok(Some(name.to_owned())),
    }
}

#[tracing::instrument(skip_all)]
pub async fn list_trusted_publishers(ctx: &Context, owner: &Did) -> Result<Vec<TrustedPublisher>, StorageError> {
    ctx.store.read().await?.trusted_publishers().list(owner, PUBLISHERS_MAX).await
}

#[derive(Debug, thiserror::Error)]
pub enum RemovePublisherError {
    #[error("There is no such trusted publisher")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Removes a trusted publisher of its owner. Its access tokens are no longer valid.
#[tracing::instrument(skip_all)]
pub async fn remove_publisher(ctx: &Context, owner: &Did, id: &TrustedPublisherId) -> Result<(), RemovePublisherError> {
    let mut unit = ctx.store.begin().await?;
    if !unit.trusted_publishers().delete(owner, id).await? {
        return Err(RemovePublisherError::NotFound);
    }
    Ok(unit.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_the_depth_of_its_provider() {
        let cases = [
            (CiProvider::GitHub, "octo-org/atlas", Some("octo-org/atlas")),
            (CiProvider::GitHub, " Octo/Atlas_1.x/ ", Some("Octo/Atlas_1.x")),
            (CiProvider::GitHub, "atlas", None),
            (CiProvider::GitHub, "octo/atlas/more", None),
            (CiProvider::GitHub, "octo/..", None),
            (CiProvider::GitHub, "https://github.com/octo/atlas", None),
            (CiProvider::GitHub, "octo /atlas", None),
            (CiProvider::GitHub, "", None),
            (CiProvider::GitLab, "group/sub/atlas", Some("group/sub/atlas")),
            (CiProvider::GitLab, "group//atlas", None),
            (CiProvider::GitLab, "atlas", None),
        ];
        for (provider, text, expected) in cases {
            assert_eq!(repository(provider, text).as_deref(), expected, "{provider:?} {text}");
        }
        assert_eq!(repository(CiProvider::GitHub, &format!("octo/{}", "a".repeat(200))), None);
    }

    #[test]
    fn a_workflow_is_a_file_of_its_provider() {
        let cases = [
            (CiProvider::GitHub, "release.yml", Some("release.yml")),
            (CiProvider::GitHub, ".github/workflows/release.yaml", Some("release.yaml")),
            (CiProvider::GitLab, ".gitlab-ci.yml", Some(".gitlab-ci.yml")),
            (CiProvider::GitLab, "ci/release.yml", Some("ci/release.yml")),
        ];
        for (provider, text, expected) in cases {
            assert_eq!(workflow(provider, text).expect(text).as_deref(), expected, "{provider:?}");
        }
        assert_eq!(workflow(CiProvider::GitHub, " ").expect("any"), None);
        for text in ["release", "ci/release.yml", "a@b.yml", "/release.yml", "re lease.yml"] {
            assert!(workflow(CiProvider::GitHub, text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_of_a_repository_is_a_number() {
        assert_eq!(repository_id(" 42 ").expect("an id").as_deref(), Some("42"));
        assert_eq!(repository_id("").expect("none"), None);
        for text in ["0", "-1", "R_kgDO", "4 2", &"9".repeat(21)] {
            assert!(repository_id(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_environment_is_one_line() {
        assert_eq!(environment(" production ").expect("a name").as_deref(), Some("production"));
        assert_eq!(environment("").expect("any"), None);
        for text in ["a\nb".to_owned(), "a".repeat(201)] {
            assert!(environment(&text).is_err(), "{text}");
        }
    }
}
