//! All apps, for administrators: those that were uploaded, and those that are in the catalogue only. The apps of a developer.

use super::columns::{escaped, keys, read_text, searchable};
use super::listing::{COUNT_MAX, sql_per_dialect};
use super::reviews::read_app;
use super::value::{Bound, Kind, Stored, Value, stored};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::publishing::managed_apps::{AppState, DeveloperApp, LatestVersion, ManagedApp, ManagedAppFilter, ManagedApps};
use souk_domain::shared::{Listed, Page, StorageError};
use souk_domain::store::KEYWORD_MAX;

pub struct SqlManagedApps<'a>(pub &'a mut Connection);

stored! {
    AppState, Text, state => Some(state.name().to_owned()), name => Self::from_name(&name);
}

/// Builds a statement over all apps. An uploaded app has its highest version, from the unit of work that inserted it on. No index serves
/// it: each page reads and sorts all apps, which a store with tens of thousands of them still affords.
macro_rules! managed {
    ($columns:literal, $($tail:tt)+) => {
        sql_per_dialect!(
            "SELECT " $columns " FROM (
                SELECT u.did, u.name, u.owner AS developer, a.developer_name, a.title_en, a.title_zh,
                    coalesce(u.category_id, a.category_id) AS category_id, u.review_type, v.version AS latest_version,
                    v.status AS latest_status, v.changes_requested, v.yanked_by, v.app_group AS latest_group, v.source AS latest_source,
                    u.is_private, a.version AS shown, u.block_reason,
                    CASE WHEN u.block_reason IS NOT NULL THEN 'blocked' WHEN a.did IS NULL THEN 'unpublished' ELSE a.availability END AS state,
                    coalesce(a.downloads, 0) AS downloads, u.created_at, u.updated_at,
                    lower(u.name || ' ' || u.did || ' ' || u.owner) || ' ' || coalesce(a.search_text, '') AS searched
                FROM uploaded_apps u JOIN uploaded_versions v ON v.app = u.did AND v.version = u.latest_version
                LEFT JOIN apps a ON a.did = u.did
                UNION ALL
                SELECT a.did, a.name, a.developer_did, a.developer_name, a.title_en, a.title_zh, a.category_id,
                    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NOT a.is_listed, a.version, NULL,
                    a.availability, a.downloads, a.created_at, a.updated_at,
                    lower(a.did || ' ' || a.developer_did) || ' ' || a.search_text
                FROM apps a WHERE NOT EXISTS (SELECT 1 FROM uploaded_apps u WHERE u.did = a.did)
            ) AS managed WHERE " $($tail)+
        )
    };
}

/// As [`managed`]. $1: one pattern per word, all of which must match; $2: the status of the latest version; $3: the state of the app;
/// $4: its category.
macro_rules! matching {
    ($columns:literal, $tail:literal) => {
        managed!(
            $columns,
            "NOT EXISTS (SELECT 1 FROM " (either "json_each($1) AS word" "jsonb_array_elements_text($1) AS word(value)")
            " WHERE searched NOT LIKE word.value ESCAPE '\\')
            AND ($2 IS NULL OR latest_status = $2) AND ($3 IS NULL OR state = $3) AND ($4 IS NULL OR category_id = $4)" $tail
        )
    };
}

const COUNT: Sql = matching!("count(*) AS n FROM (SELECT 1 AS found", " LIMIT $5) AS counted");
const LIST: Sql = matching!("*", " ORDER BY updated_at DESC, did LIMIT $5 OFFSET $6");
const FIND: Sql = managed!("*", "did = $1");
const OF_DEVELOPER: &str = "SELECT u.*, v.status AS latest_status, v.changes_requested, v.yanked_by, v.app_group AS latest_group,
        v.source AS latest_source, a.version AS shown, p.published_at AS shown_since, coalesce(a.downloads, 0) AS downloads
    FROM uploaded_apps u JOIN uploaded_versions v ON v.app = u.did AND v.version = u.latest_version
    LEFT JOIN apps a ON a.did = u.did
    LEFT JOIN uploaded_versions p ON p.app = u.did AND p.version = a.version
    WHERE u.owner = $1 ORDER BY u.updated_at DESC, u.did LIMIT $2 OFFSET $3";

fn read_latest(row: &Row) -> Result<Option<LatestVersion>, StorageError> {
    let Some(version) = row.get("latest_version")? else { return Ok(None) };
    let (status, changes_requested) = (row.get("latest_status")?, row.get("changes_requested")?);
    let (yank, group, source) = (row.get("yanked_by")?, row.get("latest_group")?, row.get("latest_source")?);
    Ok(Some(LatestVersion { version, status, changes_requested, yank, group, source }))
}

fn read_developer_app(row: &Row) -> Result<DeveloperApp, StorageError> {
    let corrupt = || StorageError::Corrupt { table: "uploaded_apps", column: "latest_version", value: String::new() };
    Ok(DeveloperApp {
        app: read_app(row)?,
        latest: read_latest(row)?.ok_or_else(corrupt)?,
        shown: row.get("shown")?,
        published_at: row.get("shown_since")?,
        downloads: row.get("downloads")?,
        created_at: row.get("created_at")?,
    })
}

fn read(row: &Row) -> Result<ManagedApp, StorageError> {
    let shown: Option<String> = row.get("shown")?;
    Ok(ManagedApp {
        did: row.get("did")?,
        name: row.get("name")?,
        title: shown.is_some().then(|| read_text(row, "title_en", "title_zh")).transpose()?,
        developer: row.get("developer")?,
        developer_name: row.get("developer_name")?,
        category: row.get("category_id")?,
        review_type: row.get("review_type")?,
        latest: read_latest(row)?,
        shown,
        state: row.get("state")?,
        is_private: row.get("is_private")?,
        block_reason: row.get("block_reason")?,
        downloads: row.get("downloads")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

#[async_trait]
impl ManagedApps for SqlManagedApps<'_> {
    async fn list(&mut self, filter: &ManagedAppFilter, page: &Page) -> Result<Listed<ManagedApp>, StorageError> {
        let keyword = searchable(&[&filter.keyword.chars().take(KEYWORD_MAX).collect::<String>()]);
        let words = keys(&keyword.split_whitespace().map(|word| format!("%{}%", escaped(word))).collect::<Vec<_>>());
        let query = self.0.query_per_dialect(COUNT).bind(&words).bind(filter.status).bind(filter.state);
        let count = query.bind(filter.category.as_ref()).bind(COUNT_MAX).one().await?.get("n")?;
        let query = self.0.query_per_dialect(LIST).bind(&words).bind(filter.status).bind(filter.state);
        let rows = query.bind(filter.category.as_ref()).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn find(&mut self, did: &Did) -> Result<Option<ManagedApp>, StorageError> {
        self.0.query_per_dialect(FIND).bind(did).optional().await?.as_ref().map(read).transpose()
    }

    async fn of_developer(&mut self, developer: &Did, page: &Page) -> Result<Listed<DeveloperApp>, StorageError> {
        let count = self.0.query("SELECT count(*) AS n FROM uploaded_apps WHERE owner = $1").bind(developer).one().await?.get("n")?;
        let rows = self.0.query(OF_DEVELOPER).bind(developer).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(read_developer_app).collect::<Result<_, _>>()? })
    }
}
