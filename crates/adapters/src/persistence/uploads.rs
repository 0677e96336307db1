//! Uploaded apps and versions, and the files that uploads store.

use super::columns::{keys, read_json, to_json};
use super::listing::sql_per_dialect;
use super::value::{Bound, Kind, Stored, Value, stored};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use semver::Version;
use serde::{Deserialize, Serialize};
use souk_domain::access::Did;
use souk_domain::publishing::bundle::checks::{CheckName, CheckResult, CheckState, Finding, KnownName, Rule};
use souk_domain::publishing::bundle::{
    BUNDLE_FILES_MAX, BundleChanges, ChangedFile, FileClaim, FileDigest, FileRole, Group, NewVersion, OfferedVersions, UploadSource,
    UploadedApp, UploadedVersion, Uploads, VersionFile, parse_version,
};
use souk_domain::publishing::review::{RiskProfile, VersionStatus};
use souk_domain::shared::{StorageError, Timestamp, VersionId};
use std::collections::{BTreeMap, BTreeSet};

pub struct SqlUploads<'a>(pub &'a mut Connection);

stored! {
    Version, Text, version => Some(version.to_string()), text => parse_version(&text);
    Group, Text, group => Some(group.name().to_owned()), name => Self::from_name(&name);
    FileRole, Text, role => Some(role.name().to_owned()), name => Self::from_name(&name);
    UploadSource, Text, source => Some(source.name().to_owned()), name => Self::from_name(&name);
    CheckName, Text, check => Some(check.name().to_owned()), name => Self::from_name(&name);
    CheckState, Text, state => Some(state.name().to_owned()), name => Self::from_name(&name);
    VersionStatus, Text, status => Some(status.name().to_owned()), name => Self::from_name(&name);
}

const OFFERED: &str = "SELECT version FROM uploaded_versions WHERE app = $1 AND status = 'PUBLISHED' AND yanked_by IS NULL ORDER BY id";
const INSERT_APP: &str = "INSERT INTO uploaded_apps (did, name, owner, latest_version, block_reason, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
const ADVANCE: &str = "UPDATE uploaded_apps SET latest_version = $3, updated_at = $4
    WHERE did = $1 AND latest_version = $2 AND block_reason IS NULL";
const INSERT_VERSION: &str = "INSERT INTO uploaded_versions (id, app, version, status, document, content, bundle, tarball, integrity, size,
    entries, unpacked, source, signer, uploaded_at, risks, excluded_reviewer, app_group)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING";
const INSERT_FILES: &str = "INSERT INTO version_files (version_id, position, role, path, sha256, size)";
const BY_TARBALL: &str = "SELECT * FROM uploaded_versions WHERE app = $1 AND tarball = $2";
const CLAIM: &str = "INSERT INTO stored_files (sha256, size, claimed_at, is_deleting)";
const RENEW_CLAIM: &str = "ON CONFLICT (sha256) DO UPDATE SET claimed_at = excluded.claimed_at WHERE NOT stored_files.is_deleting";
const CONFIRM: Sql = sql_per_dialect!("UPDATE stored_files SET claimed_at = $2 WHERE sha256 " (among "$1") " AND NOT is_deleting");
/// Files that an app of the catalogue shows are no orphans, although the demo store has written them without a claim. Neither are the
/// pictures of users.
const MARK_ORPHANS: Sql = sql_per_dialect!(
    "UPDATE stored_files SET is_deleting = TRUE WHERE claimed_at < $1 AND NOT is_deleting AND sha256 IN (
         SELECT f.sha256 FROM stored_files f WHERE f.claimed_at < $1 AND NOT f.is_deleting
         AND NOT EXISTS (SELECT 1 FROM uploaded_versions v WHERE v.document = f.sha256)
         AND NOT EXISTS (SELECT 1 FROM uploaded_versions v WHERE v.bundle = f.sha256)
         AND NOT EXISTS (SELECT 1 FROM version_files v WHERE v.sha256 = f.sha256)
         AND NOT EXISTS (SELECT 1 FROM app_versions v WHERE v.sha256 = f.sha256)
         AND NOT EXISTS (SELECT 1 FROM users u WHERE u.picture = f.sha256)
         AND NOT EXISTS (SELECT 1 FROM apps a WHERE a.logo = f.sha256 OR "
    (either "a.screenshots" "a.screenshots::text") " LIKE '%' || f.sha256 || '%')
         ORDER BY f.claimed_at, f.sha256 LIMIT $2)"
);
const MARKED: &str = "SELECT sha256 FROM stored_files WHERE is_deleting ORDER BY sha256 LIMIT $1";
const FORGET: Sql = sql_per_dialect!("DELETE FROM stored_files WHERE is_deleting AND sha256 " (among "$1"));

const LIST_FILES: &str = "INSERT INTO bundle_files (version_id, path, sha256, size)";
/// $1: the version before, or NULL; $2: the version after; $3: the most files that are compared. A file is looked up by its key, because
/// SQLite would compare each with each.
macro_rules! changes {
    () => {
        "(SELECT t.path AS path, f.size AS before_size, t.size AS after_size
              FROM (SELECT path, sha256, size FROM bundle_files WHERE version_id = $2 ORDER BY path LIMIT $3) AS t
              LEFT JOIN bundle_files f ON f.version_id = $1 AND f.path = t.path
              WHERE f.sha256 IS NULL OR f.sha256 <> t.sha256
          UNION ALL SELECT f.path, f.size, NULL
              FROM (SELECT path, size FROM bundle_files WHERE version_id = $1 ORDER BY path LIMIT $3) AS f
              LEFT JOIN bundle_files t ON t.version_id = $2 AND t.path = f.path
              WHERE t.path IS NULL) AS changes"
    };
}
const COUNT_CHANGES: &str = concat!("SELECT count(*) AS n FROM ", changes!());
const CHANGES: &str = concat!("SELECT path, before_size, after_size FROM ", changes!(), " ORDER BY path LIMIT $4");

const INSERT_CHECKS: &str = "INSERT INTO version_checks (version_id, name, state, findings, checked_at)";
const REPLACE_CHECK: &str = "ON CONFLICT (version_id, name) DO UPDATE
    SET state = excluded.state, findings = excluded.findings, checked_at = excluded.checked_at";
const ORDER_CHECKS: &str = "UPDATE uploaded_versions SET checks_ordered_at = $3
    WHERE id = $1 AND (checks_ordered_at IS NULL OR checks_ordered_at <= $2)";
const OTHERS: &str = "SELECT u.name AS name, coalesce(a.title_en, '') AS title FROM uploaded_apps u LEFT JOIN apps a ON a.did = u.did
    WHERE u.owner <> $1 AND NOT u.is_private
    UNION SELECT a.name, a.title_en FROM apps a WHERE a.developer_did <> $1 AND a.is_listed
    UNION SELECT a.name, a.title_zh FROM apps a WHERE a.developer_did <> $1 AND a.is_listed ORDER BY 1, 2 LIMIT $2";

#[derive(Serialize, Deserialize)]
struct StoredFinding {
    rule: String,
    file: String,
    line: Option<u32>,
    detail: String,
}

#[derive(Serialize, Deserialize)]
struct StoredRisks {
    permissions: BTreeSet<String>,
    scripts: BTreeMap<String, String>,
    hosts: BTreeSet<String>,
}

fn risks_to_json(risks: &RiskProfile) -> Result<serde_json::Value, StorageError> {
    let RiskProfile { permissions, scripts, hosts } = risks.clone();
    to_json(&StoredRisks { permissions, scripts, hosts })
}

fn read_risks(row: &Row) -> Result<RiskProfile, StorageError> {
    let StoredRisks { permissions, scripts, hosts } = read_json(row, "uploaded_versions", "risks")?;
    Ok(RiskProfile { permissions, scripts, hosts })
}

fn findings_to_json(findings: &[Finding]) -> Result<serde_json::Value, StorageError> {
    let stored = |finding: &Finding| StoredFinding {
        rule: finding.rule.name().to_owned(),
        file: finding.file.clone(),
        line: finding.line,
        detail: finding.detail.clone(),
    };
    to_json(&findings.iter().map(stored).collect::<Vec<_>>())
}

fn read_check(row: &Row) -> Result<CheckResult, StorageError> {
    let stored: Vec<StoredFinding> = read_json(row, "version_checks", "findings")?;
    let finding = |stored: StoredFinding| match Rule::from_name(&stored.rule) {
        Some(rule) => Ok(Finding { rule, file: stored.file, line: stored.line, detail: stored.detail }),
        None => Err(StorageError::Corrupt { table: "version_checks", column: "findings", value: stored.rule }),
    };
    let findings = stored.into_iter().map(finding).collect::<Result<_, _>>()?;
    Ok(CheckResult { name: row.get("name")?, state: row.get("state")?, findings, checked_at: row.get("checked_at")? })
}

fn read_app(row: &Row) -> Result<UploadedApp, StorageError> {
    Ok(UploadedApp {
        did: row.get("did")?,
        name: row.get("name")?,
        owner: row.get("owner")?,
        latest: row.get("latest_version")?,
        block_reason: row.get("block_reason")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn read_version(row: &Row, files: Vec<VersionFile>) -> Result<UploadedVersion, StorageError> {
    Ok(UploadedVersion {
        id: row.get("id")?,
        app: row.get("app")?,
        version: row.get("version")?,
        status: row.get("status")?,
        is_yanked: row.get::<Option<String>>("yanked_by")?.is_some(),
        document: row.get("document")?,
        content: row.get("content")?,
        bundle: row.get("bundle")?,
        tarball: row.get("tarball")?,
        integrity: row.get("integrity")?,
        size: row.get("size")?,
        entries: row.get("entries")?,
        unpacked: row.get("unpacked")?,
        source: row.get("source")?,
        signer: row.get("signer")?,
        uploaded_at: row.get("uploaded_at")?,
        files,
    })
}

fn read_file(row: &Row) -> Result<VersionFile, StorageError> {
    Ok(VersionFile { role: row.get("role")?, path: row.get("path")?, sha256: row.get("sha256")?, size: row.get("size")? })
}

impl SqlUploads<'_> {
    async fn with_files(&mut self, row: Option<Row>) -> Result<Option<UploadedVersion>, StorageError> {
        let Some(row) = row else { return Ok(None) };
        let id: String = row.get("id")?;
        let files = self.0.query("SELECT * FROM version_files WHERE version_id = $1 ORDER BY position").bind(&id).all().await?;
        read_version(&row, files.iter().map(read_file).collect::<Result<_, _>>()?).map(Some)
    }
}

#[async_trait]
impl Uploads for SqlUploads<'_> {
    async fn find_app(&mut self, did: &Did) -> Result<Option<UploadedApp>, StorageError> {
        let row = self.0.query("SELECT * FROM uploaded_apps WHERE did = $1").bind(did).optional().await?;
        row.as_ref().map(read_app).transpose()
    }

    async fn find_app_by_name(&mut self, name: &str) -> Result<Option<UploadedApp>, StorageError> {
        let row = self.0.query("SELECT * FROM uploaded_apps WHERE name = $1").bind(name).optional().await?;
        row.as_ref().map(read_app).transpose()
    }

    async fn insert_app(&mut self, app: &UploadedApp) -> Result<bool, StorageError> {
        let query = self.0.query(INSERT_APP).bind(&app.did).bind(&app.name).bind(&app.owner).bind(&app.latest);
        let query = query.bind(app.block_reason.as_ref()).bind(app.created_at).bind(app.updated_at);
        Ok(query.execute().await? == 1)
    }

    async fn advance(&mut self, app: &Did, from: &Version, to: &Version, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(ADVANCE).bind(app).bind(from).bind(to).bind(now).execute().await? == 1)
    }

    async fn insert_version(&mut self, version: &UploadedVersion, new: &NewVersion) -> Result<bool, StorageError> {
        self.0.note(&version.id);
        let query = self.0.query(INSERT_VERSION).bind(&version.id).bind(&version.app).bind(&version.version).bind(version.status);
        let query = query.bind(&version.document).bind(&version.content).bind(&version.bundle).bind(&version.tarball);
        let query = query.bind(&version.integrity).bind(version.size).bind(version.entries).bind(version.unpacked);
        let query = query.bind(version.source).bind(&version.signer).bind(version.uploaded_at).bind(risks_to_json(&new.risks)?);
        let query = query.bind(new.excluded_reviewer.as_ref()).bind(new.group);
        if query.execute().await? == 0 {
            return Ok(false);
        }
        let row = |(position, file): (i64, &VersionFile)| {
            let values = Values::default().bind(&version.id).bind(position).bind(file.role).bind(&file.path);
            values.bind(&file.sha256).bind(file.size)
        };
        self.0.insert(INSERT_FILES, (0..).zip(&version.files).map(row).collect(), "").await?;
        Ok(true)
    }

    async fn find_version(&mut self, app: &Did, version: &Version) -> Result<Option<UploadedVersion>, StorageError> {
        let query = self.0.query("SELECT * FROM uploaded_versions WHERE app = $1 AND version = $2").bind(app).bind(version);
        let row = query.optional().await?;
        self.with_files(row).await
    }

    async fn find_by_tarball(&mut self, app: &Did, tarball: &str) -> Result<Option<UploadedVersion>, StorageError> {
        let row = self.0.query(BY_TARBALL).bind(app).bind(tarball).optional().await?;
        self.with_files(row).await
    }

    async fn find_version_by_id(&mut self, id: &VersionId) -> Result<Option<UploadedVersion>, StorageError> {
        let row = self.0.query("SELECT * FROM uploaded_versions WHERE id = $1").bind(id).optional().await?;
        self.with_files(row).await
    }

    async fn risks(&mut self, app: &Did, version: &Version) -> Result<Option<RiskProfile>, StorageError> {
        let query = self.0.query("SELECT risks FROM uploaded_versions WHERE app = $1 AND version = $2").bind(app).bind(version);
        query.optional().await?.as_ref().map(read_risks).transpose()
    }

    async fn checks(&mut self, version: &VersionId) -> Result<Vec<CheckResult>, StorageError> {
        let query = self.0.query("SELECT * FROM version_checks WHERE version_id = $1 ORDER BY name").bind(version);
        let mut checks: Vec<_> = query.all().await?.iter().map(read_check).collect::<Result<_, _>>()?;
        checks.sort_by_key(|check| check.name);
        Ok(checks)
    }

    async fn set_checks(&mut self, version: &VersionId, results: &[CheckResult]) -> Result<(), StorageError> {
        let row = |result: &CheckResult| {
            let values = Values::default().bind(version).bind(result.name).bind(result.state);
            Ok(values.bind(findings_to_json(&result.findings)?).bind(result.checked_at))
        };
        let rows = results.iter().map(row).collect::<Result<_, StorageError>>()?;
        self.0.insert(INSERT_CHECKS, rows, REPLACE_CHECK).await?;
        let done = "UPDATE uploaded_versions SET checks_ordered_at = NULL WHERE id = $1 AND checks_ordered_at IS NOT NULL";
        self.0.query(done).bind(version).execute().await.map(drop)
    }

    async fn order_checks(&mut self, version: &VersionId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(ORDER_CHECKS).bind(version).bind(since).bind(now).execute().await? == 1)
    }

    async fn list_files(&mut self, version: &VersionId, files: &[FileDigest]) -> Result<(), StorageError> {
        let row = |file: &FileDigest| Values::default().bind(version).bind(&file.path).bind(&file.sha256).bind(file.size);
        self.0.insert(LIST_FILES, files.iter().map(row).collect(), "ON CONFLICT DO NOTHING").await.map(drop)
    }

    async fn set_files_total(&mut self, version: &VersionId, total: u64) -> Result<(), StorageError> {
        let set = "UPDATE uploaded_versions SET files_total = $2 WHERE id = $1 AND files_total IS NULL";
        self.0.query(set).bind(version).bind(total).execute().await.map(drop)
    }

    async fn bundle_changes(
        &mut self,
        from: Option<&VersionId>,
        to: &VersionId,
        limit: u32,
    ) -> Result<Option<BundleChanges>, StorageError> {
        let mut is_cut = false;
        for version in from.into_iter().chain([to]) {
            let row = self.0.query("SELECT files_total FROM uploaded_versions WHERE id = $1").bind(version).optional().await?;
            let total = row.map(|row| row.get::<Option<u64>>("files_total")).transpose()?.flatten();
            let Some(total) = total else { return Ok(None) };
            is_cut |= total > u64::from(BUNDLE_FILES_MAX);
        }
        let count = self.0.query(COUNT_CHANGES).bind(from).bind(to).bind(BUNDLE_FILES_MAX).one().await?.get("n")?;
        let rows = self.0.query(CHANGES).bind(from).bind(to).bind(BUNDLE_FILES_MAX).bind(limit).all().await?;
        let change = |row: &Row| Ok(ChangedFile { path: row.get("path")?, before: row.get("before_size")?, after: row.get("after_size")? });
        Ok(Some(BundleChanges { count, changes: rows.iter().map(change).collect::<Result<_, StorageError>>()?, is_cut }))
    }

    async fn names_of_others(&mut self, owner: &Did, limit: u32) -> Result<Vec<KnownName>, StorageError> {
        let rows = self.0.query(OTHERS).bind(owner).bind(limit).all().await?;
        rows.iter().map(|row| Ok(KnownName { name: row.get("name")?, title: row.get("title")? })).collect()
    }

    async fn published(&mut self, app: &Did) -> Result<Vec<Version>, StorageError> {
        let query = self.0.query("SELECT version FROM uploaded_versions WHERE app = $1 AND status = 'PUBLISHED' ORDER BY id").bind(app);
        query.all().await?.iter().map(|row| row.get("version")).collect()
    }

    async fn offered(&mut self, app: &Did) -> Result<OfferedVersions, StorageError> {
        let rows = self.0.query(OFFERED).bind(app).all().await?;
        let row = self.0.query("SELECT rolled_back_to FROM uploaded_apps WHERE did = $1").bind(app).optional().await?;
        let rolled_back_to = row.map(|row| row.get("rolled_back_to")).transpose()?.flatten();
        Ok(OfferedVersions { versions: rows.iter().map(|row| row.get("version")).collect::<Result<_, _>>()?, rolled_back_to })
    }

    async fn roll_back(&mut self, app: &Did, to: Option<&Version>) -> Result<(), StorageError> {
        self.0.query("UPDATE uploaded_apps SET rolled_back_to = $2 WHERE did = $1").bind(app).bind(to).execute().await.map(drop)
    }

    async fn claim_files(&mut self, files: &[FileClaim], now: Timestamp) -> Result<bool, StorageError> {
        // In the order of their keys, so that uploads with equal files do not wait for each other in a circle.
        let distinct: BTreeMap<_, _> = files.iter().map(|file| (&file.sha256, file.size)).collect();
        let row = |(sha256, size): (&String, u64)| Values::default().bind(sha256).bind(size).bind(now).bind(false);
        let count = distinct.len() as u64;
        Ok(self.0.insert(CLAIM, distinct.into_iter().map(row).collect(), RENEW_CLAIM).await? == count)
    }

    async fn confirm_files(&mut self, sha256s: &[String], now: Timestamp) -> Result<bool, StorageError> {
        let changed = self.0.query_per_dialect(CONFIRM).bind(keys(sha256s)).bind(now).execute().await?;
        Ok(changed == sha256s.len() as u64)
    }

    async fn take_orphans(&mut self, before: Timestamp, limit: u32) -> Result<Vec<String>, StorageError> {
        self.0.query_per_dialect(MARK_ORPHANS).bind(before).bind(limit).execute().await?;
        self.0.query(MARKED).bind(limit).all().await?.iter().map(|row| row.get("sha256")).collect()
    }

    async fn forget_files(&mut self, sha256s: &[String]) -> Result<(), StorageError> {
        self.0.query_per_dialect(FORGET).bind(keys(sha256s)).execute().await.map(drop)
    }
}
