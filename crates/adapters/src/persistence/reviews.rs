//! The reviews of versions and their threads.

use super::columns::keys;
use super::listing::{COUNT_MAX, sql_per_dialect};
use super::value::{Bound, Kind, Stored, Value, stored};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use semver::Version;
use souk_domain::access::Did;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::review::{
    Appeal, CancelReason, Claim, EntryKind, QueuedVersion, Review, ReviewNeed, ReviewRole, ReviewedApp, ReviewedVersion, Reviews,
    ThreadEntry, VersionStatus, Yank,
};
use souk_domain::shared::{CategoryId, Listed, Page, ReviewEntryId, StorageError, Timestamp, VersionId};

pub struct SqlReviews<'a>(pub &'a mut Connection);

stored! {
    ReviewType, Text, kind => Some(kind.name().to_owned()), name => Self::from_name(&name);
    ReviewNeed, Text, need => Some(need.name().to_owned()), name => Self::from_name(&name);
    ReviewRole, Text, role => Some(role.name().to_owned()), name => Self::from_name(&name);
    EntryKind, Text, kind => Some(kind.name().to_owned()), name => Self::from_name(&name);
    Appeal, Text, appeal => Some(appeal.name().to_owned()), name => Self::from_name(&name);
    Yank, Text, yank => Some(yank.name().to_owned()), name => Self::from_name(&name);
}

const LOCK_APP: Sql = sql_per_dialect!("SELECT * FROM uploaded_apps WHERE did = $1" (either "" " FOR UPDATE"));
const OPEN: &str = "SELECT * FROM uploaded_versions WHERE app = $1 AND status IN ('PENDING_REVIEW', 'IN_REVIEW', 'APPROVED')";
const UPDATE: &str = "UPDATE uploaded_versions SET status = $2, claimed_by = $3, claimed_until = $4, changes_requested = $5,
    decided_by = $6, appeal = $7, replaced_by = $8, yanked_by = $9, requested_at = $10, published_at = $11, publish_at = $12,
    review_need = $13, excluded_reviewer = $14
    WHERE id = $1";
const DECIDE: &str = "UPDATE uploaded_apps SET category_id = $2, review_type = coalesce($3, review_type) WHERE did = $1";
/// Steps on the versions of an app follow each other, so that no two entries get the same position.
const INSERT_ENTRY: &str = "INSERT INTO review_entries (id, version_id, position, kind, actor, role, comment, created_at)
    SELECT $1, $2, coalesce(max(position), 0) + 1, $3, $4, $5, $6, $7 FROM review_entries WHERE version_id = $2";
const THREAD: &str = "SELECT * FROM review_entries WHERE version_id = $1 ORDER BY position DESC LIMIT $2";

// $1: statuses; $2: whether open appeals count.
const COUNT_QUEUE: Sql = sql_per_dialect!(
    "SELECT count(*) AS n FROM (SELECT 1 AS found FROM uploaded_versions WHERE status " (among "$1")
    " OR ($2 AND appeal = 'open') LIMIT $3) AS counted"
);
const QUEUE: Sql = sql_per_dialect!(
    "SELECT v.*, a.name AS app_name, a.owner AS app_owner FROM uploaded_versions v JOIN uploaded_apps a ON a.did = v.app
     WHERE v.status " (among "$1") " OR ($2 AND v.appeal = 'open') ORDER BY v.requested_at, v.id LIMIT $3 OFFSET $4"
);
const VERSIONS: &str = "SELECT * FROM uploaded_versions WHERE app = $1 ORDER BY id DESC LIMIT $2 OFFSET $3";

pub(super) fn read_app(row: &Row) -> Result<ReviewedApp, StorageError> {
    Ok(ReviewedApp {
        did: row.get("did")?,
        name: row.get("name")?,
        owner: row.get("owner")?,
        latest: row.get("latest_version")?,
        block_reason: row.get("block_reason")?,
        category: row.get("category_id")?,
        review_type: row.get("review_type")?,
        auto_publish_until: row.get("auto_publish_until")?,
        is_private: row.get("is_private")?,
    })
}

fn read_review(row: &Row) -> Result<Review, StorageError> {
    let (reviewer, until): (Option<Did>, _) = (row.get("claimed_by")?, row.get("claimed_until")?);
    let (status, replaced_by): (_, Option<String>) = (row.get("status")?, row.get("replaced_by")?);
    let is_cancelled = status == VersionStatus::Cancelled;
    Ok(Review {
        status,
        claim: reviewer.zip(until).map(|(reviewer, until)| Claim { reviewer, until }),
        changes_requested: row.get("changes_requested")?,
        decided_by: row.get("decided_by")?,
        appeal: row.get("appeal")?,
        excluded_reviewer: row.get("excluded_reviewer")?,
        cancel_reason: is_cancelled.then(|| replaced_by.map_or(CancelReason::Cancelled, CancelReason::ReplacedBy)),
        yank: row.get("yanked_by")?,
        publish_at: row.get("publish_at")?,
    })
}

fn read_version(row: &Row) -> Result<ReviewedVersion, StorageError> {
    Ok(ReviewedVersion {
        id: row.get("id")?,
        app: row.get("app")?,
        version: row.get("version")?,
        review: read_review(row)?,
        uploaded_at: row.get("uploaded_at")?,
        requested_at: row.get("requested_at")?,
        need: row.get("review_need")?,
        published_at: row.get("published_at")?,
        group: row.get("app_group")?,
        size: row.get("size")?,
    })
}

fn read_queued(row: &Row) -> Result<QueuedVersion, StorageError> {
    Ok(QueuedVersion { version: read_version(row)?, app_name: row.get("app_name")?, owner: row.get("app_owner")? })
}

fn read_entry(row: &Row) -> Result<ThreadEntry, StorageError> {
    Ok(ThreadEntry {
        id: row.get("id")?,
        version: row.get("version_id")?,
        kind: row.get("kind")?,
        actor: row.get("actor")?,
        role: row.get("role")?,
        comment: row.get("comment")?,
        at: row.get("created_at")?,
    })
}

#[async_trait]
impl Reviews for SqlReviews<'_> {
    async fn lock_app(&mut self, app: &Did) -> Result<Option<ReviewedApp>, StorageError> {
        let row = self.0.query_per_dialect(LOCK_APP).bind(app).optional().await?;
        row.as_ref().map(read_app).transpose()
    }

    async fn find_app(&mut self, app: &Did) -> Result<Option<ReviewedApp>, StorageError> {
        let row = self.0.query("SELECT * FROM uploaded_apps WHERE did = $1").bind(app).optional().await?;
        row.as_ref().map(read_app).transpose()
    }

    async fn set_block(&mut self, app: &Did, reason: Option<&str>, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE uploaded_apps SET block_reason = $2, updated_at = $3 WHERE did = $1";
        self.0.query(update).bind(app).bind(reason).bind(now).execute().await.map(drop)
    }

    async fn set_private(&mut self, app: &Did, is_private: bool, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE uploaded_apps SET is_private = $2, updated_at = $3 WHERE did = $1";
        self.0.query(update).bind(app).bind(is_private).bind(now).execute().await.map(drop)
    }

    async fn set_auto_publish(&mut self, app: &Did, until: Option<Timestamp>, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE uploaded_apps SET auto_publish_until = $2, updated_at = $3 WHERE did = $1";
        self.0.query(update).bind(app).bind(until).bind(now).execute().await.map(drop)
    }

    async fn decide(&mut self, app: &Did, category: &CategoryId, review_type: Option<ReviewType>) -> Result<(), StorageError> {
        self.0.query(DECIDE).bind(app).bind(category).bind(review_type).execute().await.map(drop)
    }

    async fn find(&mut self, app: &Did, version: &Version) -> Result<Option<ReviewedVersion>, StorageError> {
        let query = self.0.query("SELECT * FROM uploaded_versions WHERE app = $1 AND version = $2").bind(app).bind(version);
        query.optional().await?.as_ref().map(read_version).transpose()
    }

    async fn find_open(&mut self, app: &Did) -> Result<Option<ReviewedVersion>, StorageError> {
        self.0.query(OPEN).bind(app).optional().await?.as_ref().map(read_version).transpose()
    }

    async fn update(&mut self, version: &ReviewedVersion) -> Result<(), StorageError> {
        let review = &version.review;
        let replaced_by = match &review.cancel_reason {
            Some(CancelReason::ReplacedBy(version)) => Some(version.clone()),
            Some(CancelReason::Cancelled) | None => None,
        };
        let query = self.0.query(UPDATE).bind(&version.id).bind(review.status);
        let query = query.bind(review.claim.as_ref().map(|claim| &claim.reviewer)).bind(review.claim.as_ref().map(|claim| claim.until));
        let query = query.bind(review.changes_requested).bind(review.decided_by.as_ref()).bind(review.appeal).bind(replaced_by);
        let query = query.bind(review.yank).bind(version.requested_at).bind(version.published_at);
        query.bind(review.publish_at).bind(version.need).bind(review.excluded_reviewer.as_ref()).execute().await.map(drop)
    }

    async fn insert_entry(&mut self, entry: &ThreadEntry) -> Result<(), StorageError> {
        self.0.note(&entry.id);
        let query = self.0.query(INSERT_ENTRY).bind(&entry.id).bind(&entry.version).bind(entry.kind).bind(&entry.actor);
        query.bind(entry.role).bind(&entry.comment).bind(entry.at).execute().await.map(drop)
    }

    async fn find_entry(&mut self, id: &ReviewEntryId) -> Result<Option<ThreadEntry>, StorageError> {
        let row = self.0.query("SELECT * FROM review_entries WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(read_entry).transpose()
    }

    async fn thread(&mut self, version: &VersionId, limit: u32) -> Result<Vec<ThreadEntry>, StorageError> {
        let rows = self.0.query(THREAD).bind(version).bind(limit).all().await?;
        rows.iter().rev().map(read_entry).collect()
    }

    async fn queue(&mut self, statuses: &[VersionStatus], appeals: bool, page: &Page) -> Result<Listed<QueuedVersion>, StorageError> {
        let statuses = keys(&statuses.iter().map(|status| status.name()).collect::<Vec<_>>());
        let query = self.0.query_per_dialect(COUNT_QUEUE).bind(&statuses).bind(appeals).bind(COUNT_MAX);
        let count = query.one().await?.get("n")?;
        let query = self.0.query_per_dialect(QUEUE).bind(&statuses).bind(appeals).bind(page.size).bind(page.offset());
        Ok(Listed { count, list: query.all().await?.iter().map(read_queued).collect::<Result<_, _>>()? })
    }

    async fn versions(&mut self, app: &Did, page: &Page) -> Result<Listed<ReviewedVersion>, StorageError> {
        let count = self.0.query("SELECT count(*) AS n FROM uploaded_versions WHERE app = $1").bind(app).one().await?.get("n")?;
        let rows = self.0.query(VERSIONS).bind(app).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(read_version).collect::<Result<_, _>>()? })
    }
}
