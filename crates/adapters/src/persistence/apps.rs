//! Apps, their versions, categories and download counts.

use super::columns::{escaped, keys, read_json, read_text, searchable, to_json};
use super::listing::{COUNT_MAX, sql_per_dialect};
use super::value::{Bound, Kind, Stored, Value, stored};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use souk_domain::access::Did;
use souk_domain::shared::{CategoryId, Listed, Mode, Page, PaymentLinkId, StorageError, Text, Timestamp, VersionId};
use souk_domain::store::{
    App, AppFilter, AppSort, AppVersion, Apps, Availability, Category, CountedCategory, Developer, KEYWORD_MAX, Screenshot,
    VersionComponent, VersionFacts,
};
use std::collections::BTreeMap;

const OF_DEVELOPERS: Sql = sql_per_dialect!("SELECT developer_did, count(*) AS n FROM apps WHERE availability = 'available' AND is_listed = TRUE AND developer_did " (among "$1") " GROUP BY developer_did");

stored! {
    Availability, Text, availability => Some(availability.name().to_owned()), name => Self::from_name(&name);
}

pub struct SqlApps<'a>(pub &'a mut Connection);

/// The number of days that [`Apps::recent_downloads`] counts.
const RECENT_DAYS: i64 = 30;
const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;

macro_rules! insert_app {
    ($conflict:literal) => {
        concat!(
            "INSERT INTO apps (did, name, title_en, title_zh, description_en, description_zh, category_id, developer_did, developer_name,
                developer_verified, logo, screenshots, license, website, test_link, live_link, downloads, version, size, search_text,
                sort_name, created_at, updated_at, availability, is_listed)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)",
            $conflict
        )
    };
}

const INSERT: &str = insert_app!("");
/// For an app that is in the catalogue, links, downloads and the time of the creation stay.
const INSERT_OR_SHOW: &str = insert_app!(
    " ON CONFLICT (did) DO UPDATE SET name = excluded.name, title_en = excluded.title_en, title_zh = excluded.title_zh,
        description_en = excluded.description_en, description_zh = excluded.description_zh, category_id = excluded.category_id,
        developer_name = excluded.developer_name, logo = excluded.logo, screenshots = excluded.screenshots, license = excluded.license,
        website = excluded.website, version = excluded.version, size = excluded.size, search_text = excluded.search_text,
        sort_name = excluded.sort_name, updated_at = excluded.updated_at, availability = excluded.availability,
        is_listed = excluded.is_listed"
);
const INSERT_VERSION: &str = "INSERT INTO app_versions (id, app, version, readme_en, readme_zh, changelog_en, changelog_zh, sha256, size,
    published_at, is_yanked, facts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const INSERT_CATEGORY: &str = "INSERT INTO categories (id, slug, name_en, name_zh, position) VALUES ($1, $2, $3, $4, $5)";
const CATEGORIES: &str = "SELECT c.id, c.slug, c.name_en, c.name_zh, c.position, count(a.did) AS apps
    FROM categories AS c LEFT JOIN apps AS a ON a.category_id = c.id AND a.availability = 'available' AND a.is_listed = TRUE
    GROUP BY c.id, c.slug, c.name_en, c.name_zh, c.position ORDER BY c.position, c.id";
/// An uploaded app that is in the catalogue counts once.
const CATEGORIES_WITH_ALL: &str = "SELECT c.id, c.slug, c.name_en, c.name_zh, c.position, count(used.did) AS apps
    FROM categories AS c LEFT JOIN (SELECT did, category_id FROM apps UNION SELECT did, category_id FROM uploaded_apps) AS used
    ON used.category_id = c.id GROUP BY c.id, c.slug, c.name_en, c.name_zh, c.position ORDER BY c.position, c.id";
/// The weakest lock that a deletion waits for, which references take as well.
const HOLD_CATEGORY: Sql = sql_per_dialect!("SELECT id FROM categories WHERE id = $1" (either "" " FOR KEY SHARE"));
const LOCK_CATEGORY: Sql = sql_per_dialect!("SELECT id FROM categories WHERE id = $1" (either "" " FOR UPDATE"));
/// $1: all ids in their order.
const ORDER_CATEGORIES: Sql = Sql {
    sqlite: "UPDATE categories SET position = ordered.key FROM json_each($1) AS ordered WHERE categories.id = ordered.value",
    postgres: "UPDATE categories SET position = ordered.place - 1
        FROM jsonb_array_elements_text($1) WITH ORDINALITY AS ordered(id, place) WHERE categories.id = ordered.id",
};

const FIND_ALL: Sql = Sql {
    sqlite: "SELECT * FROM apps WHERE did IN (SELECT value FROM json_each($1)) ORDER BY did",
    postgres: "SELECT * FROM apps WHERE did = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) ORDER BY did",
};

// $1: one pattern per word, all of which must match; $2: the slug of a category; $3: whether the app is free.
macro_rules! matching {
    ($what:literal, $tail:expr) => {
        Sql {
            sqlite: concat!(
                "SELECT ",
                $what,
                " FROM apps WHERE NOT EXISTS (SELECT 1 FROM json_each($1) AS word WHERE search_text NOT LIKE word.value ESCAPE '\\')
                  AND ($2 IS NULL OR category_id = (SELECT c.id FROM categories AS c WHERE c.slug = $2))
                  AND ($3 IS NULL OR (test_link IS NULL AND live_link IS NULL) = $3) AND availability = 'available' AND is_listed = TRUE",
                $tail
            ),
            postgres: concat!(
                "SELECT ",
                $what,
                " FROM apps WHERE NOT EXISTS
                    (SELECT 1 FROM jsonb_array_elements_text($1) AS word(value) WHERE search_text NOT LIKE word.value ESCAPE '\\')
                  AND ($2 IS NULL OR category_id = (SELECT c.id FROM categories AS c WHERE c.slug = $2))
                  AND ($3 IS NULL OR (test_link IS NULL AND live_link IS NULL) = $3) AND availability = 'available' AND is_listed = TRUE",
                $tail
            ),
        }
    };
    // Apps whose name begins with the search words come first. Each name begins a line of the search text.
    ($order:literal) => {
        matching!(
            "*",
            concat!(" ORDER BY CASE WHEN search_text LIKE $4 ESCAPE '\\' THEN 0 ELSE 1 END, ", $order, ", did LIMIT $5 OFFSET $6")
        )
    };
}

const COUNT: Sql = matching!("count(*) AS n FROM (SELECT 1 AS found", " LIMIT $4) AS counted");
const BY_DOWNLOADS: Sql = matching!("downloads DESC");
const BY_UPDATE: Sql = matching!("updated_at DESC");
const BY_CREATION: Sql = matching!("created_at DESC");
const BY_NAME: Sql = matching!("sort_name");

const COUNT_DOWNLOAD: &str = "UPDATE apps SET downloads = downloads + 1 WHERE did = $1";
const COUNT_DAY: &str = "INSERT INTO app_downloads_daily (app, day, downloads) VALUES ($1, $2, 1)
    ON CONFLICT (app, day) DO UPDATE SET downloads = app_downloads_daily.downloads + 1";
const RECENT: Sql = Sql {
    sqlite: "SELECT app, sum(downloads) AS n FROM app_downloads_daily
        WHERE app IN (SELECT value FROM json_each($1)) AND day > $2 GROUP BY app ORDER BY app",
    postgres: "SELECT app, sum(downloads) AS n FROM app_downloads_daily
        WHERE app = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) AND day > $2 GROUP BY app ORDER BY app",
};

#[derive(Serialize, Deserialize)]
struct StoredScreenshot {
    file: String,
    width: u32,
    height: u32,
    alt: StoredText,
}

#[derive(Serialize, Deserialize)]
struct StoredText {
    en: String,
    zh: String,
}

impl StoredScreenshot {
    fn of(shot: &Screenshot) -> Self {
        Self {
            file: shot.file.clone(),
            width: shot.width,
            height: shot.height,
            alt: StoredText { en: shot.alt.en.clone(), zh: shot.alt.zh.clone() },
        }
    }

    fn read(self) -> Screenshot {
        Screenshot { file: self.file, width: self.width, height: self.height, alt: Text { en: self.alt.en, zh: self.alt.zh } }
    }
}

fn screenshots_to_json(app: &App) -> Result<serde_json::Value, StorageError> {
    to_json(&app.screenshots.iter().map(StoredScreenshot::of).collect::<Vec<_>>())
}

fn read_screenshots(row: &Row) -> Result<Vec<Screenshot>, StorageError> {
    let stored: Vec<StoredScreenshot> = read_json(row, "apps", "screenshots")?;
    Ok(stored.into_iter().map(StoredScreenshot::read).collect())
}

#[derive(Serialize, Deserialize)]
struct StoredFacts {
    screenshots: Vec<StoredScreenshot>,
    license: String,
    website: Option<String>,
    docker: bool,
    requirements: StoredRequirements,
    components: Vec<StoredComponent>,
}

#[derive(Serialize, Deserialize)]
struct StoredRequirements {
    server: String,
    nodejs: String,
    os: Vec<String>,
    cpu: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredComponent {
    title: String,
    version: String,
    required: bool,
}

fn facts_to_json(facts: &VersionFacts) -> Result<serde_json::Value, StorageError> {
    let component = |component: &VersionComponent| StoredComponent {
        title: component.title.clone(),
        version: component.version.clone(),
        required: component.is_required,
    };
    to_json(&StoredFacts {
        screenshots: facts.screenshots.iter().map(StoredScreenshot::of).collect(),
        license: facts.license.clone(),
        website: facts.website.clone(),
        docker: facts.has_docker,
        requirements: StoredRequirements {
            server: facts.server.clone(),
            nodejs: facts.nodejs.clone(),
            os: facts.os.clone(),
            cpu: facts.cpu.clone(),
        },
        components: facts.components.iter().map(component).collect(),
    })
}

fn read_facts(row: &Row) -> Result<Option<VersionFacts>, StorageError> {
    if row.get::<Option<serde_json::Value>>("facts")?.is_none() {
        return Ok(None);
    }
    let StoredFacts { screenshots, license, website, docker, requirements, components } = read_json(row, "app_versions", "facts")?;
    let StoredRequirements { server, nodejs, os, cpu } = requirements;
    let component =
        |stored: StoredComponent| VersionComponent { title: stored.title, version: stored.version, is_required: stored.required };
    Ok(Some(VersionFacts {
        screenshots: screenshots.into_iter().map(StoredScreenshot::read).collect(),
        license,
        website,
        has_docker: docker,
        server,
        nodejs,
        os,
        cpu,
        components: components.into_iter().map(component).collect(),
    }))
}

/// Builds the search text: each name on its own line, then the remaining texts on one line.
fn search_text(app: &App) -> String {
    let names = [&app.name, &app.title.en, &app.title.zh].map(|name| format!("\n{}", searchable(&[name])));
    names.concat() + "\n\n" + &searchable(&[&app.description.en, &app.description.zh, &app.developer.name])
}

fn read(row: &Row) -> Result<App, StorageError> {
    Ok(App {
        did: row.get("did")?,
        availability: row.get("availability")?,
        is_listed: row.get("is_listed")?,
        name: row.get("name")?,
        title: read_text(row, "title_en", "title_zh")?,
        description: read_text(row, "description_en", "description_zh")?,
        category_id: row.get("category_id")?,
        developer: Developer { did: row.get("developer_did")?, name: row.get("developer_name")?, verified: row.get("developer_verified")? },
        logo: row.get("logo")?,
        screenshots: read_screenshots(row)?,
        license: row.get("license")?,
        website: row.get("website")?,
        test_link: row.get("test_link")?,
        live_link: row.get("live_link")?,
        downloads: row.get("downloads")?,
        version: row.get("version")?,
        size: row.get("size")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn read_version(row: &Row) -> Result<AppVersion, StorageError> {
    Ok(AppVersion {
        id: row.get("id")?,
        app: row.get("app")?,
        version: row.get("version")?,
        readme: read_text(row, "readme_en", "readme_zh")?,
        changelog: read_text(row, "changelog_en", "changelog_zh")?,
        sha256: row.get("sha256")?,
        size: row.get("size")?,
        published_at: row.get("published_at")?,
        is_yanked: row.get("is_yanked")?,
        facts: read_facts(row)?,
    })
}

fn read_category(row: &Row) -> Result<CountedCategory, StorageError> {
    let name = read_text(row, "name_en", "name_zh")?;
    let category = Category { id: row.get("id")?, slug: row.get("slug")?, name, position: row.get("position")? };
    Ok(CountedCategory { category, apps: row.get("apps")? })
}

const fn day_of(at: Timestamp) -> i64 {
    at.micros().div_euclid(DAY_MICROS)
}

impl SqlApps<'_> {
    async fn write(&mut self, statement: &'static str, app: &App) -> Result<(), StorageError> {
        let query = self.0.query(statement).bind(&app.did).bind(&app.name).bind(&app.title.en).bind(&app.title.zh);
        let query = query.bind(&app.description.en).bind(&app.description.zh).bind(&app.category_id).bind(&app.developer.did);
        let query = query.bind(&app.developer.name).bind(app.developer.verified).bind(&app.logo).bind(screenshots_to_json(app)?);
        let query = query.bind(&app.license).bind(app.website.as_ref()).bind(app.test_link.as_ref()).bind(app.live_link.as_ref());
        let query = query.bind(app.downloads).bind(&app.version).bind(app.size).bind(search_text(app));
        query
            .bind(searchable(&[&app.title.en]))
            .bind(app.created_at)
            .bind(app.updated_at)
            .bind(app.availability)
            .bind(app.is_listed)
            .execute()
            .await
            .map(drop)
    }
}

#[async_trait]
impl Apps for SqlApps<'_> {
    async fn insert_category(&mut self, category: &Category) -> Result<(), StorageError> {
        self.0.note(&category.id);
        let query = self.0.query(INSERT_CATEGORY).bind(&category.id).bind(&category.slug).bind(&category.name.en).bind(&category.name.zh);
        query.bind(category.position).execute().await.map(drop)
    }

    async fn categories(&mut self) -> Result<Vec<CountedCategory>, StorageError> {
        self.0.query(CATEGORIES).all().await?.iter().map(read_category).collect()
    }

    async fn categories_with_all_apps(&mut self) -> Result<Vec<CountedCategory>, StorageError> {
        self.0.query(CATEGORIES_WITH_ALL).all().await?.iter().map(read_category).collect()
    }

    async fn hold_category(&mut self, id: &CategoryId) -> Result<bool, StorageError> {
        Ok(self.0.query_per_dialect(HOLD_CATEGORY).bind(id).optional().await?.is_some())
    }

    async fn lock_category(&mut self, id: &CategoryId) -> Result<bool, StorageError> {
        Ok(self.0.query_per_dialect(LOCK_CATEGORY).bind(id).optional().await?.is_some())
    }

    async fn rename_category(&mut self, id: &CategoryId, name: &Text) -> Result<(), StorageError> {
        let update = "UPDATE categories SET name_en = $2, name_zh = $3 WHERE id = $1";
        self.0.query(update).bind(id).bind(&name.en).bind(&name.zh).execute().await.map(drop)
    }

    async fn order_categories(&mut self, order: &[CategoryId]) -> Result<(), StorageError> {
        self.0.query_per_dialect(ORDER_CATEGORIES).bind(keys(order)).execute().await.map(drop)
    }

    async fn delete_category(&mut self, id: &CategoryId) -> Result<(), StorageError> {
        self.0.query("DELETE FROM categories WHERE id = $1").bind(id).execute().await.map(drop)
    }

    async fn set_category(&mut self, did: &Did, category: &CategoryId) -> Result<bool, StorageError> {
        let update = "UPDATE apps SET category_id = $2 WHERE did = $1";
        Ok(self.0.query(update).bind(did).bind(category).execute().await? > 0)
    }

    async fn insert(&mut self, app: &App) -> Result<(), StorageError> {
        self.write(INSERT, app).await
    }

    async fn show(&mut self, app: &App) -> Result<(), StorageError> {
        self.write(INSERT_OR_SHOW, app).await
    }

    async fn insert_version(&mut self, version: &AppVersion) -> Result<(), StorageError> {
        let query = self.0.query(INSERT_VERSION).bind(&version.id).bind(&version.app).bind(&version.version);
        let query = query.bind(&version.readme.en).bind(&version.readme.zh).bind(&version.changelog.en).bind(&version.changelog.zh);
        let query = query.bind(&version.sha256).bind(version.size).bind(version.published_at).bind(version.is_yanked);
        query.bind(version.facts.as_ref().map(facts_to_json).transpose()?).execute().await.map(drop)
    }

    async fn set_availability(&mut self, did: &Did, availability: Availability) -> Result<(), StorageError> {
        self.0.query("UPDATE apps SET availability = $2 WHERE did = $1").bind(did).bind(availability).execute().await.map(drop)
    }

    async fn set_link(&mut self, did: &Did, mode: Mode, link: Option<&PaymentLinkId>) -> Result<(), StorageError> {
        let update = match mode {
            Mode::Test => "UPDATE apps SET test_link = $2 WHERE did = $1",
            Mode::Live => "UPDATE apps SET live_link = $2 WHERE did = $1",
        };
        self.0.query(update).bind(did).bind(link).execute().await.map(drop)
    }

    async fn set_listed(&mut self, did: &Did, is_listed: bool) -> Result<(), StorageError> {
        self.0.query("UPDATE apps SET is_listed = $2 WHERE did = $1").bind(did).bind(is_listed).execute().await.map(drop)
    }

    async fn set_yanked(&mut self, version: &VersionId, is_yanked: bool) -> Result<(), StorageError> {
        self.0.query("UPDATE app_versions SET is_yanked = $2 WHERE id = $1").bind(version).bind(is_yanked).execute().await.map(drop)
    }

    async fn find(&mut self, did: &Did) -> Result<Option<App>, StorageError> {
        let row = self.0.query("SELECT * FROM apps WHERE did = $1").bind(did).optional().await?;
        row.as_ref().map(read).transpose()
    }

    async fn find_all(&mut self, dids: &[Did]) -> Result<Vec<App>, StorageError> {
        self.0.query_per_dialect(FIND_ALL).bind(keys(dids)).all().await?.iter().map(read).collect()
    }

    async fn count_of_developers(&mut self, dids: &[Did]) -> Result<BTreeMap<Did, u64>, StorageError> {
        let rows = self.0.query_per_dialect(OF_DEVELOPERS).bind(keys(dids)).all().await?;
        rows.iter().map(|row| Ok((row.get("developer_did")?, row.get("n")?))).collect()
    }

    async fn list(&mut self, filter: &AppFilter, page: &Page) -> Result<Listed<App>, StorageError> {
        let keyword = escaped(&searchable(&[&filter.keyword.chars().take(KEYWORD_MAX).collect::<String>()]));
        let words: serde_json::Value = keyword.split_whitespace().map(|word| format!("%{word}%")).collect();
        let query = self.0.query_per_dialect(COUNT).bind(&words).bind(filter.category.as_ref()).bind(filter.free);
        let count = query.bind(COUNT_MAX).one().await?.get("n")?;
        let list = match filter.sort {
            AppSort::Downloads => BY_DOWNLOADS,
            AppSort::Updated => BY_UPDATE,
            AppSort::Created => BY_CREATION,
            AppSort::Name => BY_NAME,
        };
        let query = self.0.query_per_dialect(list).bind(&words).bind(filter.category.as_ref()).bind(filter.free);
        let rows = query.bind(format!("%\n{keyword}%")).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn versions(&mut self, app: &Did) -> Result<Vec<AppVersion>, StorageError> {
        let query = self.0.query("SELECT * FROM app_versions WHERE app = $1 ORDER BY published_at DESC, id DESC").bind(app);
        query.all().await?.iter().map(read_version).collect()
    }

    async fn version(&mut self, app: &Did, version: &str) -> Result<Option<AppVersion>, StorageError> {
        let query = self.0.query("SELECT * FROM app_versions WHERE app = $1 AND version = $2").bind(app).bind(version);
        query.optional().await?.as_ref().map(read_version).transpose()
    }

    async fn count_download(&mut self, app: &Did, now: Timestamp) -> Result<(), StorageError> {
        if self.0.query(COUNT_DOWNLOAD).bind(app).execute().await? > 0 {
            self.0.query(COUNT_DAY).bind(app).bind(day_of(now)).execute().await?;
        }
        Ok(())
    }

    async fn recent_downloads(&mut self, apps: &[Did], now: Timestamp) -> Result<BTreeMap<Did, u64>, StorageError> {
        let rows = self.0.query_per_dialect(RECENT).bind(keys(apps)).bind(day_of(now) - RECENT_DAYS).all().await?;
        rows.iter().map(|row| Ok((row.get("app")?, row.get("n")?))).collect()
    }
}
