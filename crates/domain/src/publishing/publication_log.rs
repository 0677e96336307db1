//! The public log of publications. It has an entry for each version that was published, yanked, brought back or rolled back to, and for each
//! app that was blocked or unblocked. An entry contains the hash of the one before it, so that nobody changes or removes an entry unnoticed.

use super::bundle::UploadedVersion;
use super::named::named;
use crate::access::Did;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use semver::Version;

/// What the first entry contains instead of the hash of the one before it.
pub const FIRST_PREVIOUS_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

named! {
    /// What an entry says.
    PublicationAction {
        Publish = "publish",
        Yank = "yank",
        UndoYank = "undo_yank",
        /// New installs get this version instead of the highest one, until the next stable version is published.
        RollBack = "rollback",
        Block = "block",
        Unblock = "unblock",
    }
}

impl PublicationAction {
    /// Whether it concerns one version; otherwise it concerns the app.
    #[must_use]
    pub const fn concerns_version(self) -> bool {
        matches!(self, Self::Publish | Self::Yank | Self::UndoYank | Self::RollBack)
    }
}

/// The version that an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedVersion {
    pub version: Version,
    /// SHA-256 of the signed document in hexadecimal digits. The document contains the digest of the bundle.
    pub document: String,
}

/// What happened, without its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationFact {
    pub at: Timestamp,
    pub action: PublicationAction,
    pub app: Did,
    /// `None`: the entry is about the app.
    pub version: Option<LoggedVersion>,
}

impl PublicationFact {
    pub(super) fn new(action: PublicationAction, version: &UploadedVersion, now: Timestamp) -> Self {
        let logged = LoggedVersion { version: version.version.clone(), document: version.document.clone() };
        Self { at: now, action, app: version.app.clone(), version: action.concerns_version().then_some(logged) }
    }

    /// The text whose SHA-256 is the hash of the entry with this sequence number. It has seven lines: the sequence number, the time, the
    /// action, SHA-256 of the app's DID, the version, the digest of its document (both are empty if the entry is about the app) and the
    /// previous hash. It does not name the app, so that the log of a store with private apps can be checked by everybody.
    #[must_use]
    pub fn text(&self, sequence: u64, app_digest: &str, previous: &str) -> String {
        let (version, document) = self.version.as_ref().map_or_else(Default::default, |of| (of.version.to_string(), of.document.as_str()));
        let (at, action) = (self.at.to_iso(), self.action.name());
        format!("{sequence}\n{at}\n{action}\n{app_digest}\n{version}\n{document}\n{previous}\n")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationEntry {
    /// From 1, without gaps.
    pub sequence: u64,
    pub fact: PublicationFact,
    /// The hash of the entry before it, or [`FIRST_PREVIOUS_HASH`].
    pub previous: String,
    /// SHA-256 of [`PublicationFact::text`] in hexadecimal digits.
    pub hash: String,
}

#[async_trait]
pub trait PublicationLog: Send {
    /// Appends an entry. Until the unit of work ends, no other one appends.
    async fn append(&mut self, fact: &PublicationFact) -> Result<PublicationEntry, StorageError>;
    /// At most `limit` entries after a sequence number, oldest first.
    async fn list(&mut self, after: u64, limit: u32) -> Result<Vec<PublicationEntry>, StorageError>;
    /// The newest entry.
    async fn last(&mut self) -> Result<Option<PublicationEntry>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_a_line_of_the_text() {
        let fact = PublicationFact {
            at: Timestamp::from_seconds(1_800_000_000),
            action: PublicationAction::Publish,
            app: Did::from_verified("z1app"),
            version: Some(LoggedVersion { version: Version::new(1, 2, 3), document: "ab".repeat(32) }),
        };
        let lines = |fact: &PublicationFact| fact.text(7, "dd", "ff").lines().map(str::to_owned).collect::<Vec<_>>();
        let at = fact.at.to_iso();
        assert_eq!(lines(&fact), ["7", &at, "publish", "dd", "1.2.3", &"ab".repeat(32), "ff"]);
        let block = PublicationFact { action: PublicationAction::Block, version: None, ..fact };
        assert_eq!(lines(&block), ["7", &at, "block", "dd", "", "", "ff"]);
    }
}
