//! The upload of a version (reference/store.md 5.3). The caller streams the bundle between [`admit_upload`], which knows who uploads what,
//! and [`complete_upload`].

use super::super::access_tokens::{AccessToken, TokenError, TokenScope, TokenUse, authorize_token};
use super::super::review::{Involved, ReviewActor, ReviewError, ReviewRole, Step, VersionStatus, order_publication, take_in};
use super::archive::ArchiveError;
use super::checks;
use super::limits::UploadLimits;
use super::manifest::{AppDids, MANIFEST_MAX, ManifestErrors, ManifestFile, SignatureError, read_manifest};
use super::picture::{PictureError, PictureLimits, check_logo, check_screenshot};
use super::ports::{BundleReader, ExtractedFile, InspectedBundle, InspectionError, Spooled};
use super::records::{FileClaim, NewVersion, UploadSource, UploadedApp, UploadedVersion, VersionFile};
use super::risks::risks_of;
use super::wanted::{FileRole, WantedFiles};
use crate::access::Did;
use crate::context::Context;
use crate::operation::NoSpace;
use crate::shared::{StorageError, Timestamp, VersionId};
use crate::storage::UnitOfWork;
use crate::store::Files;
use semver::Version;
use std::collections::BTreeSet;

/// What uploads need besides the context.
pub struct UploadPorts<'p> {
    pub dids: &'p dyn AppDids,
    pub reader: &'p dyn BundleReader,
    pub files: &'p dyn Files,
}

/// Why an upload is refused. The texts are those of reference/store.md 1.3, where it has one.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("Invalid blocklet meta file, found empty")]
    EmptyManifest,
    #[error("Invalid blocklet tarball file, found empty")]
    EmptyBundle,
    #[error("Invalid blocklet meta: the file is larger than {MANIFEST_MAX} bytes")]
    ManifestTooLarge,
    #[error("Invalid blocklet meta: {0}")]
    NotJson(String),
    #[error(transparent)]
    Manifest(#[from] ManifestErrors),
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The access token that signed does not allow the upload.
    #[error(transparent)]
    Token(TokenError),
    #[error("Blocklet owner does't have this AccessToken, login to store to check you are the owner of this blocklet")]
    NotOwner,
    #[error("Blocklet {did} has been blocked, please contact store admin")]
    Blocked { did: Did },
    #[error("Blocklet {did} is in review, please wait for review to complete")]
    InReview { did: Did },
    #[error("Can't upload blocklet version less than {latest}")]
    NotHigher { latest: String },
    #[error("blocklet name is exist")]
    NameTaken,
    #[error("The name of a blocklet cannot change: it is {name}")]
    NameChanged { name: String },
    /// Tools download a bundle by its file name alone.
    #[error("The file name {name} belongs to another version of this blocklet")]
    TarballTaken { name: String },
    #[error("Paid blocklets are not allowed in this store")]
    Paid,
    #[error("blocklet bundle size({size}) for {name} exceeded max bundle size({max}) of store")]
    BundleTooLarge { size: u64, name: String, max: u64 },
    #[error("invalid tarball: it has {actual} bytes, and the manifest says {expected}")]
    Size { actual: u64, expected: u64 },
    #[error("invalid tarball")]
    Integrity,
    #[error("invalid tarball: {0}")]
    Archive(#[from] ArchiveError),
    /// One line for each picture.
    #[error("{}", lines(.0))]
    Pictures(Vec<PictureError>),
    /// Another upload of the same app, or the sweeper, was faster. The same upload can be repeated.
    #[error("Another upload of this blocklet is in progress, please try again")]
    Contended,
    #[error(transparent)]
    NoSpace(#[from] NoSpace),
    #[error(transparent)]
    Storage(StorageError),
}

fn lines(errors: &[PictureError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl From<StorageError> for UploadError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::NoSpace(_) => Self::NoSpace(NoSpace),
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<TokenError> for UploadError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Storage(error) => error.into(),
            error => Self::Token(error),
        }
    }
}

impl From<InspectionError> for UploadError {
    fn from(error: InspectionError) -> Self {
        match error {
            InspectionError::Refused(error) => error.into(),
            InspectionError::Storage(error) => error.into(),
        }
    }
}

/// An upload whose first part is signed by a developer who may upload it.
#[derive(Debug, Clone)]
pub struct AdmittedUpload {
    file: ManifestFile,
    document: Vec<u8>,
    owner: Did,
    /// `None`: this is the first version.
    app: Option<UploadedApp>,
    limits: UploadLimits,
    is_stored: bool,
    at: Timestamp,
}

impl AdmittedUpload {
    /// The developer, who can have few uploads at a time.
    #[must_use]
    pub const fn owner(&self) -> &Did {
        &self.owner
    }

    /// The access token that has signed the upload.
    #[must_use]
    pub const fn signer(&self) -> &Did {
        &self.file.signature.signer
    }

    /// The DID of the app.
    #[must_use]
    pub const fn app(&self) -> &Did {
        &self.file.manifest.did
    }

    #[must_use]
    pub const fn version(&self) -> &Version {
        &self.file.manifest.version
    }

    /// The bytes of the bundle, as the signed manifest says.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.file.manifest.dist.size
    }

    /// Whether the same version was uploaded before. Its bundle need not be received again.
    #[must_use]
    pub const fn is_stored(&self) -> bool {
        self.is_stored
    }
}

/// Checks the first part of an upload: the manifest, its signature, and whether its signer may upload this version. `document` is
/// stored as it is.
///
/// # Errors
/// The first rule that the upload breaks.
pub async fn admit_upload(ctx: &Context, ports: &UploadPorts<'_>, document: Vec<u8>) -> Result<AdmittedUpload, UploadError> {
    if document.is_empty() {
        return Err(UploadError::EmptyManifest);
    }
    if document.len() > MANIFEST_MAX {
        return Err(UploadError::ManifestTooLarge);
    }
    let json = ports.reader.parse_json(&document).map_err(UploadError::NotJson)?;
    let file = read_manifest(&json, ports.dids)?;
    let now = ctx.now();
    if !ports.dids.verifies(&file.signature) {
        return Err(SignatureError::Invalid.into());
    }
    file.signature.check_fresh(now)?;
    let manifest = &file.manifest;
    let mut unit = ctx.store.read().await?;
    let app = unit.uploads().find_app(&manifest.did).await?;
    let named = (&manifest.did, manifest.name.as_str());
    let owner = authorize(unit.as_mut(), now, &file.signature.signer, named, app.is_none()).await?.owner;
    let mut is_stored = false;
    if let Some(app) = &app {
        if app.owner != owner {
            return Err(UploadError::NotOwner);
        }
        if app.block_reason.is_some() {
            return Err(UploadError::Blocked { did: app.did.clone() });
        }
        if app.name != manifest.name {
            return Err(UploadError::NameChanged { name: app.name.clone() });
        }
        is_stored = check_version(ports.reader, unit.as_mut(), app, &file).await?;
        let tarball = &manifest.dist.tarball;
        if !is_stored && unit.uploads().find_by_tarball(&app.did, tarball).await?.is_some() {
            return Err(UploadError::TarballTaken { name: tarball.clone() });
        }
    } else if unit.uploads().find_app_by_name(&manifest.name).await?.is_some() {
        return Err(UploadError::NameTaken);
    }
    let limits = UploadLimits::of(&unit.preferences().find().await?.preferences);
    drop(unit);
    if manifest.is_paid {
        return Err(UploadError::Paid);
    }
    let (size, max) = (manifest.dist.size, limits.archive.compressed_max);
    if size > max {
        return Err(UploadError::BundleTooLarge { size, name: manifest.name.clone(), max });
    }
    check_screenshot_count(manifest.screenshots.len(), &limits.pictures)?;
    check_space(ctx)?;
    Ok(AdmittedUpload { file, document, owner, app, limits, is_stored, at: now })
}

/// The token that has signed a manifest may upload it.
async fn authorize(
    unit: &mut dyn UnitOfWork,
    now: Timestamp,
    signer: &Did,
    (app_did, app_name): (&Did, &str),
    is_new: bool,
) -> Result<AccessToken, TokenError> {
    let scope = if is_new { TokenScope::PublishNew } else { TokenScope::PublishUpdate };
    authorize_token(unit, now, signer, &TokenUse { scope, app_did, app_name }).await
}

/// Whether there is space for more of an upload. Called while a bundle arrives.
///
/// # Errors
/// [`NoSpace`].
pub fn check_space(ctx: &Context) -> Result<(), NoSpace> {
    if ctx.disk.shortage().is_some() { Err(NoSpace) } else { Ok(()) }
}

fn check_screenshot_count(count: usize, limits: &PictureLimits) -> Result<(), UploadError> {
    if limits.image_count.contains(&count) {
        return Ok(());
    }
    let (min, max) = (*limits.image_count.start(), *limits.image_count.end());
    Err(UploadError::Pictures(vec![PictureError::Count { min, max }]))
}

/// Checks that the version is higher than all others of the app. Returns true if it is the same upload once more.
async fn check_version(
    reader: &dyn BundleReader,
    unit: &mut dyn UnitOfWork,
    app: &UploadedApp,
    file: &ManifestFile,
) -> Result<bool, UploadError> {
    let version = &file.manifest.version;
    if *version <= app.latest {
        let content = reader.sha256(file.content.as_bytes());
        let stored = unit.uploads().find_version(&app.did, version).await?;
        let is_same = stored.is_some_and(|stored| stored.content == content);
        return if is_same { Ok(true) } else { Err(UploadError::NotHigher { latest: app.latest.to_string() }) };
    }
    match unit.reviews().find_open(&app.did).await? {
        Some(open) if !open.review.allows_upload() => Err(UploadError::InReview { did: app.did.clone() }),
        _ => Ok(false),
    }
}

/// Checks the bundle of an admitted upload, stores it with its files, and records the version as a draft, in the context `recorded`, whose
/// store can be that of an audited call.
///
/// The files are stored before the version refers to them. If the process dies in between, they are orphans, which a sweep deletes.
///
/// # Errors
/// The first rule that the bundle breaks. Then nothing of the upload is visible.
pub async fn complete_upload(
    ctx: &Context,
    recorded: &Context,
    ports: &UploadPorts<'_>,
    upload: AdmittedUpload,
    bundle: &dyn Spooled,
    source: UploadSource,
) -> Result<UploadedVersion, UploadError> {
    let AdmittedUpload { file: ManifestFile { manifest, signature, content }, document, app, owner, limits, at: admitted_at, .. } = upload;
    if bundle.size() == 0 {
        return Err(UploadError::EmptyBundle);
    }
    if bundle.size() != manifest.dist.size {
        return Err(UploadError::Size { actual: bundle.size(), expected: manifest.dist.size });
    }
    if bundle.integrity() != manifest.dist.integrity {
        return Err(UploadError::Integrity);
    }
    let wanted = WantedFiles::of(&manifest, &limits.pictures);
    let InspectedBundle { entries, unpacked, files } = ports.reader.inspect(bundle, &limits.archive, &wanted).await?;
    check_pictures(ports.reader, &limits.pictures, &wanted, &files)?;
    let extracted = classify(ports.reader, &wanted, files)?;
    let now = ctx.now();
    let version = UploadedVersion {
        is_yanked: false,
        id: VersionId::new(now, ctx.random.as_ref()),
        app: manifest.did.clone(),
        version: manifest.version.clone(),
        status: VersionStatus::Draft,
        document: ports.reader.sha256(&document),
        content: ports.reader.sha256(content.as_bytes()),
        bundle: bundle.sha256().to_owned(),
        tarball: manifest.dist.tarball.clone(),
        integrity: manifest.dist.integrity.clone(),
        size: bundle.size(),
        entries,
        unpacked,
        source,
        signer: signature.signer,
        uploaded_at: now,
        files: extracted.iter().map(|one| one.record.clone()).collect(),
    };
    let new = NewVersion { risks: risks_of(&manifest), group: manifest.group, excluded_reviewer: None };
    store_files(ctx, ports.files, &version, &document, bundle, &extracted).await?;
    let first = UploadedApp {
        did: manifest.did,
        name: manifest.name,
        owner,
        latest: manifest.version,
        block_reason: None,
        created_at: now,
        updated_at: now,
    };
    record(recorded, app, first, &version, new, admitted_at).await?;
    Ok(version)
}

/// A file of the bundle and what is recorded of it.
struct Extracted {
    record: VersionFile,
    content: Vec<u8>,
}

/// Puts the files into the order in which they are recorded: by role, and screenshots as the manifest lists them.
fn classify(reader: &dyn BundleReader, wanted: &WantedFiles, files: Vec<ExtractedFile>) -> Result<Vec<Extracted>, UploadError> {
    let mut extracted: Vec<_> = files
        .into_iter()
        .filter_map(|ExtractedFile { path, content }| {
            let role = wanted.role_of(&path)?;
            let record = VersionFile { role, path, sha256: reader.sha256(&content), size: content.len() as u64 };
            Some(Extracted { record, content })
        })
        .collect();
    if !extracted.iter().any(|one| one.record.role == FileRole::Manifest) {
        return Err(ArchiveError::Missing { path: "package/blocklet.yml".to_owned() }.into());
    }
    let place = |path: &str| wanted.screenshots().iter().position(|screenshot| screenshot == path);
    extracted.sort_by_cached_key(|one| (one.record.role, place(&one.record.path), one.record.path.clone()));
    Ok(extracted)
}

fn check_pictures(
    reader: &dyn BundleReader,
    limits: &PictureLimits,
    wanted: &WantedFiles,
    files: &[ExtractedFile],
) -> Result<(), UploadError> {
    let (mut errors, mut seen) = (Vec::new(), BTreeSet::new());
    let content = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.content.as_slice());
    let missing = |path: &str| PictureError::Missing { file: path.to_owned() };
    let logo = wanted.logo();
    match content(logo) {
        None => errors.push(missing(logo)),
        Some(bytes) => errors.extend(check_logo(logo, reader.measure(bytes), limits).err()),
    }
    for path in wanted.screenshots() {
        let Some(bytes) = content(path) else {
            errors.push(missing(path));
            continue;
        };
        errors.extend(check_screenshot(path, reader.measure(bytes), limits).err());
        if !seen.insert(bytes) {
            errors.push(PictureError::SameContent { file: path.clone() });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(UploadError::Pictures(errors)) }
}

async fn store_files(
    ctx: &Context,
    files: &dyn Files,
    version: &UploadedVersion,
    document: &[u8],
    bundle: &dyn Spooled,
    extracted: &[Extracted],
) -> Result<(), UploadError> {
    check_space(ctx)?;
    let own = [(&version.document, document.len() as u64), (&version.bundle, bundle.size())];
    let listed = version.files.iter().map(|file| (&file.sha256, file.size));
    let claims: Vec<_> = own.into_iter().chain(listed).map(|(sha256, size)| FileClaim { sha256: sha256.clone(), size }).collect();
    let mut unit = ctx.store.begin().await?;
    if !unit.uploads().claim_files(&claims, ctx.now()).await? {
        return Err(UploadError::Contended);
    }
    unit.commit().await?;
    files.put(document).await?;
    for one in extracted {
        files.put(&one.content).await?;
    }
    files.put_file(&version.bundle, bundle.path()).await?;
    Ok(())
}

/// Records the version in one unit of work. `app` is what the upload was admitted for; whatever has changed since then refuses it.
async fn record(
    ctx: &Context,
    app: Option<UploadedApp>,
    first: UploadedApp,
    version: &UploadedVersion,
    new: NewVersion,
    admitted_at: Timestamp,
) -> Result<(), UploadError> {
    let mut unit = ctx.store.begin().await?;
    // The token can have been deleted while the bundle arrived. It can also have expired, which ends no upload that has begun: that of a CI
    // is valid for 15 minutes, and a bundle may take twice as long.
    authorize(unit.as_mut(), admitted_at, &version.signer, (&first.did, &first.name), app.is_none()).await?;
    unit.access_tokens().touch(&version.signer, version.uploaded_at).await?;
    let (is_next, Followed { excluded_reviewer, is_published_by_store }) = match app {
        None => (unit.uploads().insert_app(&first).await?, Followed::default()),
        Some(app) => {
            let followed = follow(ctx, unit.as_mut(), &app, version).await?;
            (unit.uploads().advance(&app.did, &app.latest, &version.version, version.uploaded_at).await?, followed)
        }
    };
    let is_recorded = is_next
        && unit.uploads().insert_version(version, &NewVersion { excluded_reviewer, ..new }).await?
        && unit.uploads().confirm_files(&version.stored(), version.uploaded_at).await?;
    if !is_recorded {
        return Err(UploadError::Contended);
    }
    checks::order_checks(ctx, unit.as_mut(), &version.id).await?;
    if is_published_by_store {
        order_publication(ctx, unit.as_mut(), &version.id, version.uploaded_at).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// What a version takes over from the one before it.
#[derive(Default)]
struct Followed {
    /// The reviewer who may not judge it.
    excluded_reviewer: Option<Did>,
    /// Whether automatic publishing is on.
    is_published_by_store: bool,
}

/// Continues the review of the version before: one for which changes were requested is replaced.
async fn follow(ctx: &Context, unit: &mut dyn UnitOfWork, app: &UploadedApp, version: &UploadedVersion) -> Result<Followed, UploadError> {
    let Some(reviewed) = unit.reviews().lock_app(&app.did).await? else { return Ok(Followed::default()) };
    let is_published_by_store = reviewed.has_auto_publish(version.uploaded_at);
    let open = unit.reviews().find_open(&app.did).await?;
    if let Some(open) = open {
        // Its review can have been requested while the bundle arrived.
        if !open.review.allows_upload() {
            return Err(UploadError::InReview { did: app.did.clone() });
        }
        let actor = ReviewActor { did: app.owner.clone(), role: ReviewRole::System };
        let involved = Involved { app: reviewed, version: open, actor };
        let step = Step::ReplacedBy { version: version.version.to_string() };
        take_in(ctx, unit, &involved, &step).await.map_err(|error| match error {
            ReviewError::Storage(error) => error.into(),
            _ => UploadError::InReview { did: app.did.clone() },
        })?;
    }
    let before = unit.reviews().find(&app.did, &app.latest).await?;
    let excluded_reviewer = before.and_then(|before| before.review.excluded_from_next());
    Ok(Followed { excluded_reviewer, is_published_by_store })
}
