use poem_openapi::Object;
use souk_domain::publishing::digests::{BlockedDigest, ContainingVersion};

/// Content that no version may contain.
#[derive(Debug, Clone, Object)]
#[oai(rename = "BlockedDigest")]
pub struct BlockedDigestModel {
    /// The SHA-256 of a file or of a bundle, in lower-case hex.
    pub sha256: String,
    pub reason: String,
    pub created_at: String,
    /// How many uploaded versions contain it.
    pub version_count: u64,
    /// How many of them new users can get: published, neither yanked nor of a blocked app.
    pub offered_count: u64,
}

impl From<BlockedDigest> for BlockedDigestModel {
    fn from(blocked: BlockedDigest) -> Self {
        Self {
            sha256: blocked.sha256,
            reason: blocked.reason,
            created_at: blocked.created_at.to_iso(),
            version_count: blocked.versions,
            offered_count: blocked.offered,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "BlockedDigestList")]
pub struct BlockedDigestListModel {
    pub count: u64,
    /// Newest first.
    pub list: Vec<BlockedDigestModel>,
}

/// An uploaded version that contains some content.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ContainingVersion")]
pub struct ContainingVersionModel {
    /// The DID of the app.
    pub did: String,
    /// The name of the app.
    pub name: String,
    pub version: String,
    /// DRAFT, PENDING_REVIEW, IN_REVIEW, APPROVED, REJECTED, PUBLISHED or CANCELLED.
    pub status: String,
    /// Whether new users can get it.
    pub is_offered: bool,
    pub uploaded_at: String,
}

impl From<ContainingVersion> for ContainingVersionModel {
    fn from(found: ContainingVersion) -> Self {
        Self {
            did: found.app.to_string(),
            name: found.app_name,
            version: found.version.to_string(),
            status: found.status.name().to_owned(),
            is_offered: found.is_offered,
            uploaded_at: found.uploaded_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ContainingVersionList")]
pub struct ContainingVersionListModel {
    pub count: u64,
    /// Those that new users can get first, then the newest.
    pub list: Vec<ContainingVersionModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "BlockedDigestInput")]
pub struct BlockedDigestInputModel {
    /// Its developers read it.
    #[oai(default)]
    pub reason: String,
}
