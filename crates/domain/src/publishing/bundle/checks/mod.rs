//! The checks of a version, which developers and reviewers see. They find what a person would have to look for: none of them decides
//! about the version.

mod bundle;
mod license;
mod look_alike;
mod manifest;
mod pictures;
mod run;
mod secrets;

pub use bundle::check_bundle;
pub use license::check_license;
pub use look_alike::{KnownName, check_look_alike};
pub use manifest::check_manifest;
pub use pictures::check_pictures;
pub(in crate::publishing) use run::order_checks;
pub use run::{CheckPorts, RunChecksError, find_checks, request_checks, run_checks};
pub use secrets::{SecretScanner, secret_file};

use super::super::named::named;
use crate::shared::Timestamp;

/// The most findings of one check that are kept. More of the same kind help nobody.
pub const FINDINGS_MAX: usize = 50;

named! {
    /// The checks, in the order in which they are shown.
    CheckName {
        Manifest = "manifest",
        Archive = "archive",
        Secrets = "secrets",
        LookAlike = "look_alike",
        License = "license",
        Pictures = "pictures",
        BlockedDigests = "blocked_digests",
    }
}

named! {
    /// The outcome of a check.
    CheckState {
        Passed = "passed",
        Failed = "failed",
        /// The check could not be carried out. It says nothing about the version, and can be run again.
        Errored = "errored",
    }
}

named! {
    /// The rules, each with a text on the page.
    Rule {
        /// The manifest of the bundle says something else than the signed one.
        ManifestDiffers = "manifest.differs",
        ManifestUnreadable = "manifest.unreadable",
        ReadmeMissing = "manifest.readme_missing",
        ArchiveUnsafe = "archive.unsafe",
        PrivateKey = "secrets.private_key",
        CloudKey = "secrets.cloud_key",
        AccessToken = "secrets.access_token",
        PasswordInAddress = "secrets.password_in_address",
        SecretFile = "secrets.file",
        NameLooksAlike = "look_alike.name",
        TitleLooksAlike = "look_alike.title",
        TitleMixesScripts = "look_alike.scripts",
        LicenseMissing = "license.missing",
        LicenseUnknown = "license.unknown",
        LicenseTextMissing = "license.text_missing",
        PictureInvalid = "pictures.invalid",
        DigestBlocked = "blocked_digests.found",
    }
}

impl Rule {
    /// How to fix it, for the developer.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::ManifestDiffers => "Pack the bundle again, so that both manifests say the same.",
            Self::ManifestUnreadable => "Fix the syntax of the manifest in the bundle.",
            Self::ReadmeMissing => "Add blocklet.md or README.md, which the page of the app shows.",
            Self::ArchiveUnsafe => "Pack the bundle with a common packer, without links and special files.",
            Self::PrivateKey => "Remove the private key, and replace it wherever it is used.",
            Self::CloudKey => "Remove the key of the cloud service, and revoke it there.",
            Self::AccessToken => "Remove the access token, and revoke it at the service that issued it.",
            Self::PasswordInAddress => "Remove the password from the address, and change it.",
            Self::SecretFile => "Remove the file. Files of this name usually contain secrets.",
            Self::NameLooksAlike => "Choose a name that cannot be mistaken for the other app's.",
            Self::TitleLooksAlike => "Choose a title that cannot be mistaken for the other app's.",
            Self::TitleMixesScripts => "Write the title in the letters of one script.",
            Self::LicenseMissing => "Name the license in the manifest, as an SPDX expression such as MIT.",
            Self::LicenseUnknown => "Use an SPDX expression such as MIT or Apache-2.0, or SEE LICENSE IN a file.",
            Self::LicenseTextMissing => "Add the text of the license as LICENSE.",
            Self::PictureInvalid => "Replace the picture.",
            Self::DigestBlocked => "Remove the file. The store does not allow its content.",
        }
    }
}

/// One thing that a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Rule,
    /// The file of the bundle, below `package/`; empty: it concerns the whole version.
    pub file: String,
    /// Counts from 1; `None`: it concerns the whole file.
    pub line: Option<u32>,
    /// What the rule is about: a field, a name, or what is wrong. Never a secret.
    pub detail: String,
}

impl Finding {
    #[must_use]
    pub fn of(rule: Rule, detail: impl Into<String>) -> Self {
        Self { rule, file: String::new(), line: None, detail: detail.into() }
    }

    #[must_use]
    pub fn in_file(rule: Rule, file: &str, detail: impl Into<String>) -> Self {
        Self { file: file.to_owned(), ..Self::of(rule, detail) }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub name: CheckName,
    pub state: CheckState,
    /// At most [`FINDINGS_MAX`]; empty unless it failed.
    pub findings: Vec<Finding>,
    pub checked_at: Timestamp,
}

impl CheckResult {
    #[must_use]
    pub fn of(name: CheckName, mut findings: Vec<Finding>, checked_at: Timestamp) -> Self {
        findings.truncate(FINDINGS_MAX);
        let state = if findings.is_empty() { CheckState::Passed } else { CheckState::Failed };
        Self { name, state, findings, checked_at }
    }

    #[must_use]
    pub const fn errored(name: CheckName, checked_at: Timestamp) -> Self {
        Self { name, state: CheckState::Errored, findings: Vec::new(), checked_at }
    }
}
