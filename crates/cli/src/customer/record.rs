//! What is recorded beside an installed version.

use super::verify::Statement;
use serde::{Deserialize, Serialize};
use souk_domain::publishing::bundle::{Manifest, risks_of};
use souk_domain::publishing::installing::Release;
use souk_domain::publishing::review::{RiskProfile, VersionStatus};
use souk_domain::shared::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// The version of this form.
pub const FORMAT: u32 = 1;

/// An installed version, and what its user has agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub format: u32,
    /// The address of the store.
    pub store: String,
    pub store_did: String,
    pub app: String,
    pub name: String,
    pub title: String,
    pub version: String,
    /// The developer, as the store has said.
    pub developer: String,
    /// The key with which the developer has signed the version.
    pub signer: String,
    /// SHA-256 of the bundle.
    pub bundle_sha256: String,
    /// Whether it needs a license.
    pub is_paid: bool,
    /// The status of its review when it was installed, if it was not published.
    #[serde(default)]
    pub unpublished: Option<String>,
    pub permissions: BTreeSet<String>,
    pub scripts: BTreeMap<String, String>,
    pub hosts: BTreeSet<String>,
    pub installed_at: String,
}

impl Record {
    pub fn new(store: &Url, release: &Release, manifest: &Manifest, now: Timestamp) -> Self {
        let RiskProfile { permissions, scripts, hosts } = risks_of(manifest);
        Self {
            format: FORMAT,
            store: store.to_string(),
            store_did: release.store.to_string(),
            app: release.app.to_string(),
            name: release.name.clone(),
            title: manifest.title.clone(),
            version: release.version.to_string(),
            developer: release.developer.to_string(),
            signer: release.signer.to_string(),
            bundle_sha256: release.bundle.clone(),
            is_paid: release.needs_license(),
            unpublished: release.unpublished().map(|status| status.name().to_owned()),
            permissions,
            scripts,
            hosts,
            installed_at: now.to_iso(),
        }
    }

    /// In words, what was decided about a version that was not published.
    pub fn review_state(&self) -> Option<&str> {
        let status = self.unpublished.as_deref()?;
        Some(match VersionStatus::from_name(status) {
            Some(VersionStatus::Draft) => "a draft",
            Some(VersionStatus::PendingReview) => "waiting for review",
            Some(VersionStatus::InReview) => "in review",
            Some(VersionStatus::Approved) => "approved",
            Some(VersionStatus::Rejected) => "rejected",
            Some(VersionStatus::Cancelled) => "canceled",
            Some(VersionStatus::Published) | None => status,
        })
    }

    pub fn risks(&self) -> RiskProfile {
        RiskProfile { permissions: self.permissions.clone(), scripts: self.scripts.clone(), hosts: self.hosts.clone() }
    }
}

/// A new version with the proof of where it comes from.
pub struct NewVersion<'v> {
    pub record: &'v Record,
    /// The document as its developer has signed it.
    pub document: &'v [u8],
    /// What the store has signed of it.
    pub release: &'v Statement,
}
