//! Content that no version may contain, and the versions that contain some.

use super::columns::{escaped, keys};
use super::listing::{COUNT_MAX, sql_per_dialect};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::publishing::digests::{BlockedDigest, BlockedDigests, ContainingVersion};
use souk_domain::shared::{Listed, Page, StorageError, Timestamp, VersionId};
use std::collections::BTreeMap;

/// Digests that one statement looks up.
const DIGESTS: usize = 5_000;

const BLOCK: &str = "INSERT INTO blocked_digests (sha256, reason, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (sha256) DO UPDATE SET reason = excluded.reason";
const AMONG: Sql = sql_per_dialect!("SELECT sha256, reason FROM blocked_digests WHERE sha256 " (among "$1"));

/// The ids of the versions that contain some content: a bundle is found by its own digest and by those of its files.
macro_rules! versions_with {
    ($sha256:literal) => {
        concat!(
            "(SELECT f.version_id AS id FROM bundle_files f WHERE f.sha256 = ",
            $sha256,
            " UNION SELECT w.id FROM uploaded_versions w WHERE w.bundle = ",
            $sha256,
            ") AS c"
        )
    };
}

/// A statement over blocked digests with the numbers of their versions, each of which is found by its key.
macro_rules! counted {
    ($from:literal) => {
        concat!(
            "SELECT b.sha256, b.reason, b.created_at,
                (SELECT count(*) FROM ",
            versions_with!("b.sha256"),
            ") AS versions,
                (SELECT count(*) FROM ",
            versions_with!("b.sha256"),
            " JOIN uploaded_versions v ON v.id = c.id JOIN uploaded_apps u ON u.did = v.app
                    WHERE v.status = 'PUBLISHED' AND v.yanked_by IS NULL AND u.block_reason IS NULL) AS offered
             FROM ",
            $from
        )
    };
}
const FIND: &str = counted!("blocked_digests b WHERE b.sha256 = $1");
/// The page is cut before versions are counted.
const LIST: &str = counted!(
    "(SELECT * FROM blocked_digests WHERE $1 = '' OR sha256 LIKE $2 ESCAPE '\\' OR lower(reason) LIKE $3 ESCAPE '\\'
      ORDER BY created_at DESC, sha256 LIMIT $4 OFFSET $5) b ORDER BY b.created_at DESC, b.sha256"
);
const COUNT: &str = "SELECT count(*) AS n FROM (SELECT 1 AS found FROM blocked_digests
    WHERE $1 = '' OR sha256 LIKE $2 ESCAPE '\\' OR lower(reason) LIKE $3 ESCAPE '\\' LIMIT $4) AS counted";
const AGAINST: &str = "SELECT b.reason FROM blocked_digests b
    WHERE EXISTS (SELECT 1 FROM bundle_files f WHERE f.sha256 = b.sha256 AND f.version_id = $1)
    ORDER BY b.created_at, b.sha256 LIMIT 1";
const VERSIONS: &str = concat!(
    "SELECT v.id, v.app, v.version, v.status, v.uploaded_at, u.name,
        v.status = 'PUBLISHED' AND v.yanked_by IS NULL AND u.block_reason IS NULL AS is_offered
     FROM ",
    versions_with!("$1"),
    " JOIN uploaded_versions v ON v.id = c.id JOIN uploaded_apps u ON u.did = v.app
     ORDER BY is_offered DESC, v.id DESC LIMIT $2 OFFSET $3"
);
const COUNT_VERSIONS: &str = concat!("SELECT count(*) AS n FROM (SELECT 1 AS found FROM ", versions_with!("$1"), " LIMIT $2) AS counted");
/// An empty text comes before every id.
const IDS: &str = concat!("SELECT c.id AS id FROM ", versions_with!("$1"), " WHERE c.id > $2 ORDER BY c.id LIMIT $3");

pub struct SqlBlockedDigests<'s>(pub &'s mut Connection);

#[async_trait]
impl BlockedDigests for SqlBlockedDigests<'_> {
    async fn block(&mut self, sha256: &str, reason: &str, now: Timestamp) -> Result<(), StorageError> {
        self.0.query(BLOCK).bind(sha256).bind(reason).bind(now).execute().await.map(drop)
    }

    async fn unblock(&mut self, sha256: &str) -> Result<bool, StorageError> {
        Ok(self.0.query("DELETE FROM blocked_digests WHERE sha256 = $1").bind(sha256).execute().await? == 1)
    }

    async fn count(&mut self) -> Result<u64, StorageError> {
        self.0.query("SELECT count(*) AS n FROM blocked_digests").one().await?.get("n")
    }

    async fn find(&mut self, sha256: &str) -> Result<Option<BlockedDigest>, StorageError> {
        self.0.query(FIND).bind(sha256).optional().await?.as_ref().map(blocked).transpose()
    }

    async fn list(&mut self, keyword: &str, page: &Page) -> Result<Listed<BlockedDigest>, StorageError> {
        let words = escaped(keyword.trim());
        let (digest, reason) = (format!("{words}%"), format!("%{words}%"));
        let query = self.0.query(COUNT).bind(&words).bind(&digest).bind(&reason).bind(COUNT_MAX);
        let count = query.one().await?.get("n")?;
        let query = self.0.query(LIST).bind(&words).bind(&digest).bind(&reason).bind(page.size).bind(page.offset());
        let rows = query.all().await?;
        Ok(Listed { count, list: rows.iter().map(blocked).collect::<Result<_, _>>()? })
    }

    async fn among(&mut self, sha256s: &[String]) -> Result<BTreeMap<String, String>, StorageError> {
        let mut blocked = BTreeMap::new();
        for some in sha256s.chunks(DIGESTS) {
            for row in self.0.query_per_dialect(AMONG).bind(keys(some)).all().await? {
                blocked.insert(row.get("sha256")?, row.get("reason")?);
            }
        }
        Ok(blocked)
    }

    async fn reason_against(&mut self, version: &VersionId) -> Result<Option<String>, StorageError> {
        self.0.query(AGAINST).bind(version).optional().await?.map(|row| row.get("reason")).transpose()
    }

    async fn versions_with(&mut self, sha256: &str, page: &Page) -> Result<Listed<ContainingVersion>, StorageError> {
        let count = self.0.query(COUNT_VERSIONS).bind(sha256).bind(COUNT_MAX).one().await?.get("n")?;
        let rows = self.0.query(VERSIONS).bind(sha256).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(containing).collect::<Result<_, _>>()? })
    }

    async fn ids_with(&mut self, sha256: &str, after: Option<&VersionId>, limit: u32) -> Result<Vec<VersionId>, StorageError> {
        let query = self.0.query(IDS).bind(sha256).bind(after.map_or("", VersionId::as_str)).bind(limit);
        query.all().await?.iter().map(|row| row.get("id")).collect()
    }
}

fn blocked(row: &Row) -> Result<BlockedDigest, StorageError> {
    Ok(BlockedDigest {
        sha256: row.get("sha256")?,
        reason: row.get("reason")?,
        created_at: row.get("created_at")?,
        versions: row.get("versions")?,
        offered: row.get("offered")?,
    })
}

fn containing(row: &Row) -> Result<ContainingVersion, StorageError> {
    Ok(ContainingVersion {
        id: row.get("id")?,
        app: row.get("app")?,
        app_name: row.get("name")?,
        version: row.get("version")?,
        status: row.get("status")?,
        is_offered: row.get("is_offered")?,
        uploaded_at: row.get("uploaded_at")?,
    })
}
