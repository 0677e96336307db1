//! Carries out the checks of a version. They run as a job after its upload, and again when somebody asks for it.

use super::super::super::digests::list_files;
use super::super::archive::{ArchiveError, ArchiveLimits};
use super::super::limits::UploadLimits;
use super::super::manifest::{AppDids, Manifest};
use super::super::picture::PictureLimits;
use super::super::ports::{BundleReader, BundleScan, FileDigest, InspectionError, Spool, Spooled};
use super::super::records::{UploadedApp, UploadedVersion, VersionFile};
use super::super::stored::{missing, read_document, read_file};
use super::super::wanted::FileRole;
use super::pictures::MeasuredFile;
use super::{CheckName, CheckResult, Finding, Rule, check_license, check_look_alike, check_manifest, check_pictures};
use crate::access::{Caller, Did};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{EventId, StorageError, VersionId};
use crate::storage::UnitOfWork;
use crate::store::Files;
use futures_util::StreamExt;
use semver::Version;
use std::collections::BTreeSet;
use std::time::Duration;

/// The most other apps whose names are compared. A store has 10 to 10,000 (reference/store.md 8.2).
const OTHERS_MAX: u32 = 50_000;

/// How long somebody who asks again waits for checks that are ordered and have no result.
const ORDER_LIFETIME: Duration = Duration::from_secs(600);

/// What checks need besides the context.
pub struct CheckPorts<'p> {
    pub dids: &'p dyn AppDids,
    pub reader: &'p dyn BundleReader,
    pub spool: &'p dyn Spool,
    pub files: &'p dyn Files,
}

/// Why checks are not run.
#[derive(Debug, thiserror::Error)]
pub enum RunChecksError {
    /// There is no such version that the caller may check.
    #[error("version not found")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The results of a version, in the order of [`CheckName::ALL`]; empty: the checks have not run yet.
///
/// # Errors
/// The version does not exist, or the caller is neither its developer nor a reviewer.
pub async fn find_checks(ctx: &Context, app: &Did, version: &Version, caller: &Caller) -> Result<Vec<CheckResult>, RunChecksError> {
    let mut unit = ctx.store.read().await?;
    let id = find_involved(unit.as_mut(), app, version, caller).await?;
    Ok(unit.uploads().checks(&id).await?)
}

/// Runs the checks of a version again, as a job. Nothing changes if somebody has asked for it already and they have not run yet.
///
/// # Errors
/// As [`find_checks`].
pub async fn request_checks(ctx: &Context, app: &Did, version: &Version, caller: &Caller) -> Result<(), RunChecksError> {
    let mut unit = ctx.store.begin().await?;
    let id = find_involved(unit.as_mut(), app, version, caller).await?;
    let now = ctx.now();
    if unit.uploads().order_checks(&id, now.minus(ORDER_LIFETIME), now).await? {
        order_checks(ctx, unit.as_mut(), &id).await?;
    }
    Ok(unit.commit().await?)
}

async fn find_involved(unit: &mut dyn UnitOfWork, app: &Did, version: &Version, caller: &Caller) -> Result<VersionId, RunChecksError> {
    let found = unit.uploads().find_app(app).await?.ok_or(RunChecksError::NotFound)?;
    if !caller.is_reviewer() && caller.user.did != found.owner {
        return Err(RunChecksError::NotFound);
    }
    let version = unit.uploads().find_version(app, version).await?;
    version.map(|version| version.id).ok_or(RunChecksError::NotFound)
}

/// Orders the checks of a version in a unit of work.
pub(in crate::publishing) async fn order_checks(ctx: &Context, unit: &mut dyn UnitOfWork, version: &VersionId) -> Result<(), StorageError> {
    let now = ctx.now();
    let message = Message::new(Topic::CheckVersion, now).with("version", version);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// Runs all checks of a version and stores their results. Does nothing if the version does not exist.
///
/// # Errors
/// The storage failed. Checks that needed it are recorded as errored, and the caller tries again later.
pub async fn run_checks(ctx: &Context, ports: &CheckPorts<'_>, id: &VersionId) -> Result<(), StorageError> {
    let mut unit = ctx.store.read().await?;
    let Some(version) = unit.uploads().find_version_by_id(id).await? else { return Ok(()) };
    let Some(app) = unit.uploads().find_app(&version.app).await? else { return Ok(()) };
    let limits = UploadLimits::of(&unit.preferences().find().await?.preferences);
    drop(unit);
    let (mut failure, mut results) = (None, Vec::new());
    let mut keep = |name: CheckName, outcome: Result<Vec<Finding>, StorageError>| {
        let now = ctx.now();
        results.push(match outcome {
            Ok(findings) => CheckResult::of(name, findings, now),
            Err(error) => {
                failure = Some(error);
                CheckResult::errored(name, now)
            }
        });
    };
    let manifest = read_document(ports.reader, ports.dids, ports.files, &version).await;
    let scan = scan_bundle(ports, &limits.archive, &version).await;
    keep(CheckName::Manifest, manifest_findings(ports, &version, manifest.as_ref()).await);
    let (archive, secrets, digests) = match scan {
        Ok(BundleScan { secrets, digests }) => (Ok(Vec::new()), Ok(secrets), Ok(digests)),
        Err(InspectionError::Refused(error)) => (Ok(vec![unsafe_archive(&error)]), Ok(Vec::new()), Ok(Vec::new())),
        Err(InspectionError::Storage(error)) => (Err(copy(&error)), Err(copy(&error)), Err(error)),
    };
    keep(CheckName::Archive, archive);
    keep(CheckName::Secrets, secrets);
    keep(CheckName::LookAlike, look_alike_findings(ctx, &app, manifest.as_ref()).await);
    keep(CheckName::License, manifest.as_ref().map_err(copy).map(|manifest| license_findings(manifest, &version)));
    keep(CheckName::Pictures, picture_findings(ports, &limits.pictures, &version).await);
    keep(
        CheckName::BlockedDigests,
        match digests {
            Ok(digests) => blocked_findings(ctx, &version, digests).await,
            Err(error) => Err(error),
        },
    );
    let mut unit = ctx.store.begin().await?;
    unit.uploads().set_checks(id, &results).await?;
    unit.commit().await?;
    failure.map_or(Ok(()), Err)
}

/// One failure concerns several checks.
fn copy(error: &StorageError) -> StorageError {
    StorageError::Driver(error.to_string().into())
}

fn unsafe_archive(error: &ArchiveError) -> Finding {
    Finding::of(Rule::ArchiveUnsafe, error.to_string())
}

async fn scan_bundle(ports: &CheckPorts<'_>, limits: &ArchiveLimits, version: &UploadedVersion) -> Result<BundleScan, InspectionError> {
    let spooled = fetch_bundle(ports, version).await?;
    // The limits may have become stricter since the upload, which is no reason to call the archive unsafe.
    let limits = ArchiveLimits { compressed_max: version.size.max(limits.compressed_max), ..*limits };
    ports.reader.scan(spooled.as_ref(), &limits).await
}

/// Copies the bundle to the disk of this process, wherever it is stored.
async fn fetch_bundle(ports: &CheckPorts<'_>, version: &UploadedVersion) -> Result<Box<dyn Spooled>, StorageError> {
    let mut opened = ports.files.open(&version.bundle).await?.ok_or_else(|| missing(&version.bundle))?;
    let mut writer = ports.spool.create().await?;
    while let Some(part) = opened.content.next().await {
        writer.write(&part.map_err(|error| StorageError::Driver(Box::new(error)))?).await?;
    }
    let spooled = writer.finish().await?;
    if spooled.sha256() == version.bundle { Ok(spooled) } else { Err(StorageError::Driver("the stored bundle has changed".into())) }
}

async fn manifest_findings(
    ports: &CheckPorts<'_>,
    version: &UploadedVersion,
    manifest: Result<&Manifest, &StorageError>,
) -> Result<Vec<Finding>, StorageError> {
    let manifest = manifest.map_err(copy)?;
    let roles: Vec<_> = version.files.iter().map(|file| file.role).collect();
    let Some(inner) = version.files.iter().find(|file| file.role == FileRole::Manifest) else {
        return Err(StorageError::Corrupt { table: "version_files", column: "role", value: version.id.to_string() });
    };
    let content = read_file(ports.files, &inner.sha256).await?;
    let parsed = if inner.path.ends_with(".json") { ports.reader.parse_json(&content) } else { ports.reader.parse_yaml(&content) };
    Ok(check_manifest(manifest, &inner.path, parsed.as_ref().map_err(String::as_str), &roles))
}

async fn look_alike_findings(
    ctx: &Context,
    app: &UploadedApp,
    manifest: Result<&Manifest, &StorageError>,
) -> Result<Vec<Finding>, StorageError> {
    let manifest = manifest.map_err(copy)?;
    let others = ctx.store.read().await?.uploads().names_of_others(&app.owner, OTHERS_MAX).await?;
    Ok(check_look_alike(&manifest.name, &manifest.title, &others))
}

fn license_findings(manifest: &Manifest, version: &UploadedVersion) -> Vec<Finding> {
    check_license(&manifest.license, version.files.iter().any(|file| file.role == FileRole::License))
}

async fn picture_findings(ports: &CheckPorts<'_>, limits: &PictureLimits, version: &UploadedVersion) -> Result<Vec<Finding>, StorageError> {
    let mut measured = Vec::new();
    for VersionFile { role, path, sha256, size } in &version.files {
        if matches!(role, FileRole::Logo | FileRole::Screenshot) {
            let picture = ports.reader.measure(&read_file(ports.files, sha256).await?);
            measured.push(MeasuredFile { role: *role, path: path.clone(), size: *size, picture });
        }
    }
    Ok(check_pictures(&measured, limits))
}

/// Looks for content that the store does not allow: of the bundle itself, and of each file in it. Lists the files, of which an archive that
/// cannot be read has none.
async fn blocked_findings(ctx: &Context, version: &UploadedVersion, digests: Vec<FileDigest>) -> Result<Vec<Finding>, StorageError> {
    if !digests.is_empty() {
        list_files(ctx, &version.id, &digests).await?;
    }
    let contained: BTreeSet<_> = digests.iter().map(|file| &file.sha256).chain([&version.bundle]).cloned().collect();
    let sha256s: Vec<_> = contained.into_iter().collect();
    let blocked = ctx.store.read().await?.digests().among(&sha256s).await?;
    let mut findings: Vec<_> = digests
        .iter()
        .filter_map(|file| blocked.get(&file.sha256).map(|reason| Finding::in_file(Rule::DigestBlocked, &file.path, reason.clone())))
        .collect();
    findings.extend(blocked.get(&version.bundle).map(|reason| Finding::of(Rule::DigestBlocked, reason.clone())));
    Ok(findings)
}
