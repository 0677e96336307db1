//! `souk publish`: uploads the packed version, follows its checks, and requests its review or publishes it.

use crate::args::PublishArgs;
use crate::ci::{CiAccess, CiError, CiRun};
use crate::error::{Failed, FileError};
use crate::profile::{ProfileError, Profiles};
use crate::project::{Project, ProjectError, RELEASE_MANIFEST, read_bounded};
use crate::report::{self, Check};
use crate::store::{ReviewAnswer, Step, Store, StoreError, UploadError, UploadedVersion};
use crate::{Failure, status};
use anstream::println;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha512};
use souk_adapters::bundles::parse_json;
use souk_adapters::identity::CheckedAppDids;
use souk_domain::publishing::bundle::{Dist, MANIFEST_MAX, Manifest, read_unsigned_manifest};
use souk_domain::shared::Json;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long the command waits for the checks of the store.
const CHECKS_WITHIN: Duration = Duration::from_secs(180);
const CHECKS_EVERY: Duration = Duration::from_secs(1);
/// How often the command looks whether a review is decided.
const REVIEW_EVERY: Duration = Duration::from_secs(15);
/// How often in a row the store may not answer while the command waits.
const MISSES_MAX: u32 = 5;
const CHUNK: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("nothing is packed in {}: run `souk pack` first", .0.display())]
    NotPacked(PathBuf),
    #[error("the packed version is {packed}, and blocklet.yml says {written}: run `souk pack` again")]
    OtherVersion { packed: String, written: String },
    #[error("{} is not what `souk pack` has written: run it again", .0.display())]
    Altered(PathBuf),
    #[error("the store has no category {wanted}: it has {known}")]
    UnknownCategory { wanted: String, known: String },
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Ci(#[from] CiError),
    #[error(transparent)]
    Upload(#[from] UploadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl PublishError {
    /// Whether the same call can have another answer soon.
    const fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => error.may_pass(),
            Self::Ci(error) => error.may_pass(),
            _ => false,
        }
    }
}

/// A packed version that is ready to be uploaded.
struct Packed {
    document: Json,
    manifest: Manifest,
    bundle: PathBuf,
}

pub async fn run(args: &PublishArgs) -> Result<(), Failure> {
    let packed = read_packed(&args.folder.dir)?;
    let Packed { document, manifest, bundle } = &packed;
    let mut session = Session::open(args, manifest).await?;
    let category = match &args.category {
        Some(wanted) => Some(category_id(session.store().await?, wanted).await?),
        None => None,
    };
    session.store().await?.upload(document, manifest, bundle).await.map_err(PublishError::from)?;
    println!("{} {} is uploaded.", manifest.name, manifest.version);
    let checks = follow_checks(session.store().await?, manifest).await?;
    report::print_checks(&checks);
    let review = session.review(manifest).await?;
    if args.draft {
        if checks.is_empty() {
            println!("The checks of the store have not run yet: `souk status` shows them.");
        }
        println!("{}", status::describe(&review.version));
        return Ok(());
    }
    // A version whose review was requested before goes on, whatever its checks say.
    if !args.ignore_checks && review.version.status == "DRAFT" {
        check_results(&checks)?;
    }
    let review = advance(session.store().await?, manifest, review, category.as_deref()).await?;
    let review = match args.wait {
        0 => review,
        minutes => follow_review(&mut session, manifest, review, minutes, category.as_deref()).await?,
    };
    println!("{}", status::describe(&review.version));
    check_outcome(&review.version, args.wait)
}

/// # Errors
/// A check has failed, or none has run yet. A check that could not be carried out says nothing about the app.
fn check_results(checks: &[Check]) -> Result<(), Failed> {
    if checks.is_empty() {
        let next = "Run `souk publish` again later, or go on with --ignore-checks.";
        return Err(Failed(format!("the version stays a draft, because the store has not checked it yet. {next}")));
    }
    match checks.iter().filter(|check| check.has_failed()).count() {
        0 => Ok(()),
        failed => {
            let next = "Correct what they name and publish a higher version, or go on with --ignore-checks.";
            Err(Failed(format!("the version stays a draft, because {failed} of its checks failed. {next}")))
        }
    }
}

/// # Errors
/// The version was rejected, or the command was to wait until it is published, and it is not.
fn check_outcome(version: &UploadedVersion, waited: u32) -> Result<(), Failure> {
    match version.status.as_str() {
        "REJECTED" => Err(Failed("the version was rejected: `souk status` shows why.".to_owned()).into()),
        "PUBLISHED" => Ok(()),
        _ if waited > 0 => Err(Failed("the version is not published: `souk status` shows what is decided.".to_owned()).into()),
        _ => Ok(()),
    }
}

/// A store, and how the command gets access to it.
struct Session {
    store: Store,
    /// `None`: with an access token of the user.
    ci: Option<CiAccess>,
}

impl Session {
    async fn open(args: &PublishArgs, manifest: &Manifest) -> Result<Self, PublishError> {
        let (ci, connection) = match Profiles::of_user().and_then(|profiles| profiles.connection(&args.store)) {
            Err(error) if error.is_without_token() => {
                let run = CiRun::find(&args.store, |name| std::env::var(name).ok())?.ok_or(error)?;
                let (ci, connection) = run.connect(manifest.did.clone(), manifest.name.clone()).await?;
                println!("{} trusts this run of CI, which publishes for {}.", connection.store, ci.publishes_for);
                (Some(ci), connection)
            }
            connection => (None, connection?),
        };
        Ok(Self { store: Store::open(connection).await?, ci })
    }

    /// The store, with an access token that is valid for the next calls.
    async fn store(&mut self) -> Result<&Store, CiError> {
        if let Some(ci) = &mut self.ci
            && let Some(key) = ci.renew().await?
        {
            self.store.key = key;
        }
        Ok(&self.store)
    }

    async fn review(&mut self, manifest: &Manifest) -> Result<ReviewAnswer, PublishError> {
        Ok(self.store().await?.review(&manifest.did, &manifest.version).await?)
    }
}

/// Takes the next step that the version can take: a draft is published, or its review is requested; an approved version is published.
async fn advance(store: &Store, manifest: &Manifest, review: ReviewAnswer, category: Option<&str>) -> Result<ReviewAnswer, StoreError> {
    let name = match (review.version.status.as_str(), &review.need) {
        ("DRAFT", Some(_)) => "request",
        ("DRAFT", None) | ("APPROVED", _) => "publish",
        _ => return Ok(review),
    };
    store.take(&manifest.did, &manifest.version, &Step { name, category, ..Step::default() }).await
}

/// Waits until the checks have run. Empty: they have not run within the time.
async fn follow_checks(store: &Store, manifest: &Manifest) -> Result<Vec<Check>, StoreError> {
    let deadline = Instant::now() + CHECKS_WITHIN;
    let mut misses = 0;
    loop {
        match store.checks(&manifest.did, &manifest.version).await {
            Ok(checks) if !checks.is_empty() => return Ok(checks),
            Err(error) if !error.may_pass() || misses == MISSES_MAX => return Err(error),
            Err(_) => misses += 1,
            Ok(_) => misses = 0,
        }
        if Instant::now() >= deadline {
            return Ok(Vec::new());
        }
        sleep(CHECKS_EVERY).await;
    }
}

/// Waits until a review is decided, and publishes an approved version.
async fn follow_review(
    session: &mut Session,
    manifest: &Manifest,
    mut review: ReviewAnswer,
    minutes: u32,
    category: Option<&str>,
) -> Result<ReviewAnswer, PublishError> {
    let deadline = Instant::now() + Duration::from_secs(u64::from(minutes) * 60);
    let (mut shown, mut misses) = (String::new(), 0);
    while matches!(review.version.status.as_str(), "PENDING_REVIEW" | "IN_REVIEW") && !review.version.changes_requested {
        let state = status::describe(&review.version);
        if state != shown {
            println!("{state}");
            shown = state;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(review);
        }
        sleep(REVIEW_EVERY.min(left)).await;
        match session.review(manifest).await {
            Ok(found) => (review, misses) = (found, 0),
            Err(error) if !error.may_pass() || misses == MISSES_MAX => return Err(error),
            Err(_) => misses += 1,
        }
    }
    Ok(advance(session.store().await?, manifest, review, category).await?)
}

async fn category_id(store: &Store, wanted: &str) -> Result<String, PublishError> {
    let categories = store.categories().await?;
    match categories.iter().find(|category| category.slug == wanted) {
        Some(category) => Ok(category.id.clone()),
        None => {
            let known: Vec<_> = categories.iter().map(|category| report::printable(&category.slug)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(PublishError::UnknownCategory { wanted: wanted.to_owned(), known })
        }
    }
}

/// Reads what `souk pack` has written, and checks that it belongs together.
fn read_packed(folder: &Path) -> Result<Packed, PublishError> {
    let project = Project::open(folder)?;
    let release = project.release_folder();
    let file = release.join(RELEASE_MANIFEST);
    if !file.exists() {
        return Err(PublishError::NotPacked(project.folder));
    }
    let altered = || PublishError::Altered(file.clone());
    let text = read_bounded(&file, MANIFEST_MAX)?.ok_or_else(altered)?;
    let document = parse_json(&text).map_err(|_| altered())?.without(&["signatures"]);
    let manifest = read_unsigned_manifest(&document, &CheckedAppDids).map_err(|_| altered())?;
    let (packed, written) = (manifest.version.to_string(), project.text("version"));
    if packed != written {
        return Err(PublishError::OtherVersion { packed, written: written.to_owned() });
    }
    // The manifest holds no path out of the folder: the name of the bundle has one segment.
    let bundle = release.join(&manifest.dist.tarball);
    if !describes(&manifest.dist, &bundle).map_err(FileError::at(&bundle))? {
        return Err(PublishError::Altered(bundle));
    }
    Ok(Packed { document, manifest, bundle })
}

/// Whether a manifest describes this bundle.
fn describes(dist: &Dist, bundle: &Path) -> io::Result<bool> {
    let mut file = File::open(bundle)?;
    if file.metadata()?.len() != dist.size {
        return Ok(false);
    }
    let (mut hash, mut buffer) = (Sha512::new(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(dist.integrity == format!("sha512-{}", STANDARD.encode(hash.finalize())));
        }
        hash.update(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::pack;
    use std::fs;

    #[test]
    fn a_draft_goes_on_only_if_its_checks_have_run_and_none_has_failed() {
        let check = |state: &str| Check { name: "secrets".to_owned(), state: state.to_owned(), findings: Vec::new() };
        for (states, message) in [
            (&["passed", "errored"][..], None),
            (&["passed", "failed", "failed"], Some("2 of its checks failed")),
            (&[], Some("has not checked it yet")),
        ] {
            let results: Vec<_> = states.iter().map(|state| check(state)).collect();
            let refused = check_results(&results).err().map(|error| error.to_string());
            assert_eq!(refused.is_some(), message.is_some(), "{states:?}");
            assert!(refused.is_none_or(|text| text.contains("--ignore-checks") && message.is_some_and(|part| text.contains(part))));
        }
    }

    #[test]
    fn a_command_that_waits_fails_unless_the_version_is_published() {
        for (status, without, with) in [
            ("PUBLISHED", true, true),
            ("REJECTED", false, false),
            ("PENDING_REVIEW", true, false),
            ("IN_REVIEW", true, false),
            ("CANCELLED", true, false),
        ] {
            let version = status::tests::version(status);
            let is_fine = |waited| check_outcome(&version, waited).is_ok();
            assert_eq!((is_fine(0), is_fine(60)), (without, with), "{status}");
        }
    }

    const MANIFEST: &str = "name: hello\nversion: 1.0.0\ndescription: Says hello\nlogo: logo.png\n";

    fn refused(folder: &Path) -> String {
        read_packed(folder).err().expect("refused").to_string()
    }

    #[tokio::test]
    async fn only_the_packed_version_of_the_manifest_is_published() {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = folder.path().join("blocklet.yml");
        fs::write(&manifest, MANIFEST).expect("writes");
        assert!(refused(folder.path()).contains("run `souk pack` first"));
        let packed = pack(folder.path()).await.expect("packs");
        let bundle = souk_domain::publishing::bundle::Spooled::path(&packed.bundle).to_owned();
        assert_eq!(read_packed(folder.path()).expect("reads").bundle, bundle);
        fs::write(&manifest, MANIFEST.replace("1.0.0", "1.1.0")).expect("writes");
        assert!(refused(folder.path()).contains("the packed version is 1.0.0, and blocklet.yml says 1.1.0"));
        fs::write(&manifest, MANIFEST).expect("writes");
        let mut bytes = fs::read(&bundle).expect("reads");
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        fs::write(&bundle, bytes).expect("writes");
        assert!(refused(folder.path()).contains("is not what `souk pack` has written"));
    }
}
