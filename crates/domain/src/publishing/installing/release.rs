//! Which version a computer gets of an app, and what the store says of it.

use super::super::bundle::{UploadedApp, UploadedVersion, VersionReader, parse_version};
use super::super::review::VersionStatus;
use super::super::selling::is_sold;
use super::SignedStatement;
use super::statement;
use crate::access::{Did, DidAuthTokens};
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;
use semver::Version;
use std::time::Duration;

/// How long the statement about a version is valid, so that nobody shows an old one after the version was withdrawn.
pub const RELEASE_LIFETIME: Duration = Duration::from_secs(3_600);

const FORMAT: &str = "souk-release-1";
const FIELDS: [&str; 13] = fields("published");
/// A format of its own, so that nobody takes a version that is not published for one that is.
const UNPUBLISHED_FORMAT: &str = "souk-unpublished-1";
const UNPUBLISHED_FIELDS: [&str; 13] = fields("status");
const FREE: &str = "free";
const PAID: &str = "paid";

/// The fields of a statement about a version, of which one says how far its review is.
const fn fields(stage: &'static str) -> [&'static str; 13] {
    [
        "store",
        "app",
        "name",
        "version",
        "developer",
        "signer",
        "document-sha256",
        "bundle-sha256",
        "size",
        "price",
        stage,
        "issued",
        "expires",
    ]
}

/// How far the review of a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseStage {
    Published(Timestamp),
    /// Only the developer of the app and reviewers get it, in any other status.
    Unpublished(VersionStatus),
}

/// What the store says of a version. The signed document of the developer stands beside it as it was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub store: Did,
    pub app: Did,
    /// The machine name of the app.
    pub name: String,
    pub version: Version,
    /// The developer of the app.
    pub developer: Did,
    /// The key that has signed the document for the developer.
    pub signer: Did,
    /// SHA-256 of the signed document, in lower-case hex.
    pub document: String,
    /// SHA-256 of the bundle, in lower-case hex.
    pub bundle: String,
    /// The bytes of the bundle.
    pub size: u64,
    /// Whether the app is sold.
    pub is_paid: bool,
    pub stage: ReleaseStage,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Release {
    /// The text that the store signs.
    #[must_use]
    pub fn text(&self) -> String {
        let (format, names, stage) = match self.stage {
            ReleaseStage::Published(at) => (FORMAT, FIELDS, at.to_iso()),
            ReleaseStage::Unpublished(status) => (UNPUBLISHED_FORMAT, UNPUBLISHED_FIELDS, status.name().to_owned()),
        };
        let values = [
            self.store.to_string(),
            self.app.to_string(),
            self.name.clone(),
            self.version.to_string(),
            self.developer.to_string(),
            self.signer.to_string(),
            self.document.clone(),
            self.bundle.clone(),
            self.size.to_string(),
            if self.is_paid { PAID } else { FREE }.to_owned(),
            stage,
            self.issued_at.to_iso(),
            self.expires_at.to_iso(),
        ];
        let fields: Vec<_> = names.into_iter().zip(values).collect();
        statement::write(format, &fields)
    }

    /// Whether a license is needed, which those get who have bought the app. Who judges a version or has made it needs none for it.
    #[must_use]
    pub const fn needs_license(&self) -> bool {
        self.is_paid && self.unpublished().is_none()
    }

    /// The status of a version that is not published; `None`: it is published.
    #[must_use]
    pub const fn unpublished(&self) -> Option<VersionStatus> {
        match self.stage {
            ReleaseStage::Published(_) => None,
            ReleaseStage::Unpublished(status) => Some(status),
        }
    }

    /// Reads such a text, whose signature the caller has verified. `None`: it is no such text.
    #[must_use]
    pub fn parse(text: &str, parse_did: &dyn Fn(&str) -> Option<Did>) -> Option<Self> {
        let published = statement::read(text, FORMAT, FIELDS);
        let is_published = published.is_some();
        let values = published.or_else(|| statement::read(text, UNPUBLISHED_FORMAT, UNPUBLISHED_FIELDS))?;
        let [store, app, name, version, developer, signer, document, bundle, size, price, stage, issued, expires] = values;
        Some(Self {
            store: parse_did(store)?,
            app: parse_did(app)?,
            name: name.to_owned(),
            version: parse_version(version)?,
            developer: parse_did(developer)?,
            signer: parse_did(signer)?,
            document: document.to_owned(),
            bundle: bundle.to_owned(),
            size: size.parse().ok()?,
            is_paid: match price {
                PAID => true,
                FREE => false,
                _ => return None,
            },
            stage: match is_published {
                true => ReleaseStage::Published(Timestamp::parse_iso(stage)?),
                false => {
                    let status = VersionStatus::from_name(stage)?;
                    ReleaseStage::Unpublished(Some(status).filter(|status| *status != VersionStatus::Published)?)
                }
            },
            issued_at: Timestamp::parse_iso(issued)?,
            expires_at: Timestamp::parse_iso(expires)?,
        })
    }
}

/// Why there is no version to install.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The app or its version does not exist, or was not published.
    #[error("There is no such app or version")]
    NotFound,
    #[error("This app was not uploaded by a developer, so nobody has signed it. Download it from its page.")]
    Unsigned,
    #[error("This app has been blocked")]
    Blocked,
    #[error("This version has been withdrawn")]
    Yanked,
    #[error("All versions of this app have been withdrawn")]
    Withdrawn,
    #[error("Only pre-releases of this app are published. Name the version to install it.")]
    OnlyPreReleases,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What the store says of a version: the named one, or the one that a new install gets, which is never a pre-release. A version that is not
/// published exists by its name for its developer and for reviewers, and for nobody else. `reader` is `None` for a visitor.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn find_release(
    ctx: &Context,
    keys: &dyn DidAuthTokens,
    app: &Did,
    version: Option<&str>,
    reader: Option<&VersionReader>,
) -> Result<SignedStatement, ReleaseError> {
    let mut unit = ctx.store.read().await?;
    let shown = unit.apps().find(app).await?;
    let Some(uploaded) = unit.uploads().find_app(app).await? else {
        return Err(if shown.is_some() { ReleaseError::Unsigned } else { ReleaseError::NotFound });
    };
    let found = match version {
        Some(version) => named(unit.as_mut(), &uploaded, version, reader).await,
        None => current(unit.as_mut(), app).await,
    };
    // What they may not see does not exist here, whether its app is blocked or not.
    let exists = !matches!(found, Err(ReleaseError::NotFound | ReleaseError::Storage(_)));
    if exists && uploaded.block_reason.is_some() {
        return Err(ReleaseError::Blocked);
    }
    let found = found?;
    let is_paid = is_sold(unit.as_mut(), app, shown.as_ref()).await?;
    let stage = match found.status {
        VersionStatus::Published => {
            let reviewed = unit.reviews().find(app, &found.version).await?;
            ReleaseStage::Published(reviewed.and_then(|reviewed| reviewed.published_at).ok_or(ReleaseError::NotFound)?)
        }
        status => ReleaseStage::Unpublished(status),
    };
    drop(unit);
    let now = ctx.now();
    let release = Release {
        store: keys.app_did().clone(),
        app: app.clone(),
        name: uploaded.name,
        version: found.version,
        developer: uploaded.owner,
        signer: found.signer,
        document: found.document,
        bundle: found.bundle,
        size: found.size,
        is_paid,
        stage,
        issued_at: now,
        expires_at: now.plus(RELEASE_LIFETIME),
    };
    Ok(SignedStatement::sign(release.text(), keys))
}

async fn named(
    unit: &mut dyn UnitOfWork,
    app: &UploadedApp,
    version: &str,
    reader: Option<&VersionReader>,
) -> Result<UploadedVersion, ReleaseError> {
    let version = parse_version(version).ok_or(ReleaseError::NotFound)?;
    let found = unit.uploads().find_version(&app.did, &version).await?;
    let is_involved = reader.is_some_and(|reader| reader.is_involved_in(app));
    let found = found.filter(|found| is_involved || found.status == VersionStatus::Published).ok_or(ReleaseError::NotFound)?;
    if found.is_yanked { Err(ReleaseError::Yanked) } else { Ok(found) }
}

async fn current(unit: &mut dyn UnitOfWork, app: &Did) -> Result<UploadedVersion, ReleaseError> {
    let offered = unit.uploads().offered(app).await?;
    match offered.current() {
        Some(version) => unit.uploads().find_version(app, version).await?.ok_or(ReleaseError::NotFound),
        None if !offered.versions.is_empty() => Err(ReleaseError::OnlyPreReleases),
        None if !unit.uploads().published(app).await?.is_empty() => Err(ReleaseError::Withdrawn),
        None => Err(ReleaseError::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        let did = |text: &str| Did::from_verified(text);
        Release {
            store: did("zNstore"),
            app: did("z8app"),
            name: "night-sky".to_owned(),
            version: Version::new(1, 0, 1),
            developer: did("z1dev"),
            signer: did("z1token"),
            document: "aa".repeat(32),
            bundle: "bb".repeat(32),
            size: 12_345,
            is_paid: true,
            stage: ReleaseStage::Published(Timestamp::from_seconds(1_800_000_000)),
            issued_at: Timestamp::from_seconds(1_800_000_100),
            expires_at: Timestamp::from_seconds(1_800_003_700),
        }
    }

    #[test]
    fn each_fact_has_a_line_and_the_text_is_read_again() {
        let text = release().text();
        let expected = format!(
            "souk-release-1\nstore: zNstore\napp: z8app\nname: night-sky\nversion: 1.0.1\ndeveloper: z1dev\nsigner: z1token\n\
             document-sha256: {}\nbundle-sha256: {}\nsize: 12345\nprice: paid\npublished: 2027-01-15T08:00:00.000Z\n\
             issued: 2027-01-15T08:01:40.000Z\nexpires: 2027-01-15T09:01:40.000Z\n",
            "aa".repeat(32),
            "bb".repeat(32)
        );
        assert_eq!(text, expected);
        let parse = |text: &str| Release::parse(text, &|did| did.starts_with('z').then(|| Did::from_verified(did)));
        assert_eq!(parse(&text), Some(release()));
        let free = Release { is_paid: false, ..release() };
        assert_eq!(parse(&free.text()), Some(free));
        let unpublished = Release { stage: ReleaseStage::Unpublished(VersionStatus::InReview), ..release() };
        let expected = text.replace("souk-release-1", "souk-unpublished-1");
        let expected = expected.replace("published: 2027-01-15T08:00:00.000Z", "status: IN_REVIEW");
        assert_eq!(unpublished.text(), expected);
        assert_eq!(parse(&expected), Some(unpublished));
        for (from, to) in [("IN_REVIEW", "PUBLISHED"), ("IN_REVIEW", "NEW"), ("unpublished-1", "release-1")] {
            assert_eq!(parse(&expected.replace(from, to)), None, "{to}");
        }
        for (from, to) in
            [("price: paid", "price: 0"), ("size: 12345", "size: -1"), ("1.0.1", "1.0"), ("app: z", "app: "), ("issued: 2", "issued: x")]
        {
            assert_eq!(parse(&text.replace(from, to)), None, "{to}");
        }
    }
}
