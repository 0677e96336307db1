//! Content that no version may contain: administrators block it by its digest. The check of versions finds it, and no such version is
//! published; one that was published before stays published, and administrators see it.

use super::bundle::checks::order_checks;
use super::bundle::{FileDigest, UploadedVersion};
use super::review::{BLOCK_REASON_MAX, VersionStatus};
use crate::access::Did;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{EventId, InputError, Listed, Page, StorageError, Timestamp, VersionId, check_line};
use crate::storage::{MANAGEMENT, UnitOfWork};
use async_trait::async_trait;
use semver::Version;
use std::collections::BTreeMap;

/// The most digests that are blocked.
pub const BLOCKED_DIGESTS_MAX: u64 = 10_000;
/// The longest search, in characters.
pub const DIGEST_KEYWORD_MAX: usize = 100;
/// The versions whose checks one unit of work orders again after a digest was blocked or unblocked. A job goes on with the others.
const RECHECKED_AT_ONCE: u32 = 500;
/// The files that one unit of work lists.
const LISTED_AT_ONCE: usize = 2_000;

/// Content that no version may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedDigest {
    /// Of a file or of a bundle, in lower-case hex.
    pub sha256: String,
    pub reason: String,
    pub created_at: Timestamp,
    /// How many uploaded versions contain it.
    pub versions: u64,
    /// How many of them new users can get: published, neither yanked nor of a blocked app.
    pub offered: u64,
}

/// An uploaded version that contains some content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainingVersion {
    pub id: VersionId,
    pub app: Did,
    pub app_name: String,
    pub version: Version,
    pub status: VersionStatus,
    /// Whether new users can get it.
    pub is_offered: bool,
    pub uploaded_at: Timestamp,
}

#[async_trait]
pub trait BlockedDigests: Send {
    /// Blocks content, or changes the reason.
    async fn block(&mut self, sha256: &str, reason: &str, now: Timestamp) -> Result<(), StorageError>;
    /// False: it is not blocked.
    async fn unblock(&mut self, sha256: &str) -> Result<bool, StorageError>;
    async fn count(&mut self) -> Result<u64, StorageError>;
    async fn find(&mut self, sha256: &str) -> Result<Option<BlockedDigest>, StorageError>;
    /// Those whose digest begins with the keyword or whose reason contains it, newest first. An empty keyword matches all.
    async fn list(&mut self, keyword: &str, page: &Page) -> Result<Listed<BlockedDigest>, StorageError>;
    /// The blocked ones among these, with their reasons.
    async fn among(&mut self, sha256s: &[String]) -> Result<BTreeMap<String, String>, StorageError>;
    /// Why a file is blocked that is listed of this version's bundle, if one is.
    async fn reason_against(&mut self, version: &VersionId) -> Result<Option<String>, StorageError>;
    /// The versions whose bundle is this content or has a file with it: those that are offered first, then the newest.
    async fn versions_with(&mut self, sha256: &str, page: &Page) -> Result<Listed<ContainingVersion>, StorageError>;
    /// The ids of these versions, in their order, after one of them and at most `limit`; `None`: from the first.
    async fn ids_with(&mut self, sha256: &str, after: Option<&VersionId>, limit: u32) -> Result<Vec<VersionId>, StorageError>;
}

#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    #[error("A digest is the SHA-256 of a file: 64 hexadecimal digits")]
    NoDigest,
    #[error("A reason is required")]
    ReasonRequired,
    #[error("Block reason length should not exceed {BLOCK_REASON_MAX}")]
    ReasonTooLong,
    #[error("{BLOCKED_DIGESTS_MAX} digests are blocked. Unblock one that is no longer needed.")]
    TooMany,
    #[error("This digest is not blocked")]
    NotFound,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Reads a digest as people write it: in either case, and with the prefix `sha256:` or without.
///
/// # Errors
/// It is no SHA-256.
pub fn parse_digest(text: &str) -> Result<String, DigestError> {
    let digits = text.trim().to_ascii_lowercase();
    let digits = digits.strip_prefix("sha256:").unwrap_or(&digits);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { Ok(digits.to_owned()) } else { Err(DigestError::NoDigest) }
}

/// Blocks content, or changes the reason. The checks of the versions that contain it run again. Returns what is blocked.
///
/// # Errors
/// The digest or the reason is not valid, or too many digests are blocked. Then nothing has changed.
#[tracing::instrument(skip_all)]
pub async fn block_digest(ctx: &Context, digest: &str, reason: &str) -> Result<BlockedDigest, DigestError> {
    let sha256 = parse_digest(digest)?;
    let reason = match check_line("reason", reason, BLOCK_REASON_MAX) {
        Ok(reason) if reason.is_empty() => return Err(DigestError::ReasonRequired),
        Err(InputError::TooLong { .. }) => return Err(DigestError::ReasonTooLong),
        reason => reason?,
    };
    let mut unit = ctx.store.begin().await?;
    // The number is compared with that of concurrent calls.
    unit.lock(MANAGEMENT).await?;
    let known = unit.digests().find(&sha256).await?;
    if known.is_none() && unit.digests().count().await? >= BLOCKED_DIGESTS_MAX {
        return Err(DigestError::TooMany);
    }
    unit.digests().block(&sha256, &reason, ctx.now()).await?;
    check_again(ctx, unit.as_mut(), &sha256, None).await?;
    let blocked = unit.digests().find(&sha256).await?.ok_or(DigestError::NotFound)?;
    unit.commit().await?;
    Ok(blocked)
}

/// Ends the block of content. The checks of the versions that contain it run again.
///
/// # Errors
/// The digest is not blocked.
#[tracing::instrument(skip_all)]
pub async fn unblock_digest(ctx: &Context, digest: &str) -> Result<(), DigestError> {
    let sha256 = parse_digest(digest)?;
    let mut unit = ctx.store.begin().await?;
    if !unit.digests().unblock(&sha256).await? {
        return Err(DigestError::NotFound);
    }
    check_again(ctx, unit.as_mut(), &sha256, None).await?;
    Ok(unit.commit().await?)
}

/// Orders the checks of further versions that contain some content: the job that [`block_digest`] and [`unblock_digest`] leave. `after`:
/// the last version whose checks were ordered.
#[tracing::instrument(skip_all, fields(after = %after))]
pub async fn continue_checks(ctx: &Context, sha256: &str, after: &VersionId) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    check_again(ctx, unit.as_mut(), sha256, Some(after)).await?;
    unit.commit().await
}

async fn check_again(ctx: &Context, unit: &mut dyn UnitOfWork, sha256: &str, after: Option<&VersionId>) -> Result<(), StorageError> {
    let versions = unit.digests().ids_with(sha256, after, RECHECKED_AT_ONCE).await?;
    for version in &versions {
        order_checks(ctx, unit, version).await?;
    }
    let Some(last) = versions.last().filter(|_| versions.len() == RECHECKED_AT_ONCE as usize) else { return Ok(()) };
    let now = ctx.now();
    let message = Message::new(Topic::CheckContaining, now).with("sha256", sha256).with("after", last);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// Lists the files of a bundle before its check looks for blocked content: whoever blocks a digest later finds the version, and whoever has
/// blocked it before is found by the check. Each unit of work is short, because a bundle can have 100,000 files.
pub(super) async fn list_files(ctx: &Context, version: &VersionId, files: &[FileDigest]) -> Result<(), StorageError> {
    for some in files.chunks(LISTED_AT_ONCE) {
        let mut unit = ctx.store.begin().await?;
        unit.uploads().list_files(version, some).await?;
        unit.commit().await?;
    }
    let mut unit = ctx.store.begin().await?;
    unit.uploads().set_files_total(version, files.len() as u64).await?;
    unit.commit().await
}

/// Why content of a version is blocked; `None`: it can be offered. Before its checks have run, only the bundle and the files are known that
/// the store keeps beside it.
pub(super) async fn reason_against(unit: &mut dyn UnitOfWork, version: &UploadedVersion) -> Result<Option<String>, StorageError> {
    let stored = unit.digests().among(&version.stored()).await?;
    match stored.into_values().next() {
        Some(reason) => Ok(Some(reason)),
        None => unit.digests().reason_against(&version.id).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_people_write_it() {
        let digest = "ab".repeat(32);
        for text in [digest.clone(), digest.to_uppercase(), format!(" sha256:{digest}\n"), format!("SHA256:{}", digest.to_uppercase())] {
            assert_eq!(parse_digest(&text).expect("a digest"), digest, "{text}");
        }
        for text in ["", "ab", &"g".repeat(64), &"ab".repeat(33), &format!("sha512:{digest}"), &format!("{}\u{e9}", &digest[..62])] {
            assert!(matches!(parse_digest(text), Err(DigestError::NoDigest)), "{text}");
        }
    }
}
