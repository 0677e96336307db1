//! The metadata of a version (reference/store.md 5.4). Members that no rule names are kept and not judged: the document is stored and
//! served as its developer signed it.

mod error;
mod fields;
mod read;
mod signature;

pub use error::{ERRORS_MAX, ManifestError, ManifestErrors, ManifestProblem};
pub use read::{AppDids, ManifestFile, read_manifest, read_unsigned_manifest};
pub use signature::{ManifestSignature, SIGNATURE_LIFETIME, SignatureError};

use super::path::BundlePath;
use crate::access::Did;
use semver::Version;
use std::collections::BTreeMap;

/// The bytes of a manifest (the issue of publishing).
pub const MANIFEST_MAX: usize = 1 << 20;

/// What kind of app it is; `None` in [`Manifest::group`]: a resource without a screen of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Dapp,
    Static,
    Gateway,
    Pack,
}

impl Group {
    pub const ALL: [Self; 4] = [Self::Dapp, Self::Static, Self::Gateway, Self::Pack];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dapp => "dapp",
            Self::Static => "static",
            Self::Gateway => "gateway",
            Self::Pack => "pack",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }
}

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentSource {
    Url(String),
    Store { store: String, name: String, version: String },
}

/// Another app that this one needs or can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    pub source: ComponentSource,
    pub required: bool,
    pub title: String,
}

/// The bundle that a manifest belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dist {
    /// A file name.
    pub tarball: String,
    /// `sha512-` and the base64 digest of the bundle.
    pub integrity: String,
    /// The bytes of the bundle.
    pub size: u64,
}

/// What an app asks of its server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    pub server: String,
    pub nodejs: String,
    pub os: Vec<String>,
    pub cpu: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub did: Did,
    pub name: String,
    pub version: Version,
    pub title: String,
    pub description: String,
    pub group: Option<Group>,
    pub logo: BundlePath,
    /// Names inside `screenshots/`.
    pub screenshots: Vec<BundlePath>,
    pub keywords: Vec<String>,
    pub author: String,
    pub license: String,
    pub homepage: Option<String>,
    pub requirements: Requirements,
    pub components: Vec<Component>,
    pub has_docker: bool,
    /// Whether it has a price above zero.
    pub is_paid: bool,
    /// The capabilities that it asks for, sorted.
    pub capabilities: Vec<String>,
    /// Commands that run when it is installed, started or removed.
    pub scripts: BTreeMap<String, String>,
    pub dist: Dist,
}
