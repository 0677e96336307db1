use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use sha2::{Digest, Sha256};
use souk_domain::access::Did;
use souk_domain::publishing::publication_log::{LoggedVersion, PublicationEntry};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of entries in an answer, if the caller does not say one.
const LIMIT: u32 = 100;
/// The most entries in an answer.
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, Clone, Object)]
#[oai(rename = "PublicationEntry", skip_serializing_if_is_none)]
pub struct PublicationEntryModel {
    /// From 1, without gaps.
    pub sequence: u64,
    pub created_at: String,
    /// publish, yank, undo_yank, rollback, block or unblock.
    pub action: String,
    /// The DID of the app; absent if the store does not list the app now.
    pub app: Option<String>,
    /// SHA-256 of the DID, in hexadecimal digits.
    pub app_digest: String,
    /// Absent if the entry is about the app.
    pub version: Option<String>,
    /// SHA-256 of the version's signed document, in hexadecimal digits. The document contains the digest of the bundle.
    pub document: Option<String>,
    /// The hash of the entry before it; 64 zeros in the first one.
    pub previous: String,
    /// SHA-256 of seven lines, each with a line feed at its end: sequence, created_at, action, app_digest, version, document (both are
    /// empty if absent) and previous.
    pub hash: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PublicationLog")]
pub struct PublicationLogModel {
    /// The number of entries of the whole log.
    pub count: u64,
    /// The hash of its newest entry; empty if there is none.
    pub head: String,
    /// Oldest first.
    pub list: Vec<PublicationEntryModel>,
}

impl PublicationEntryModel {
    fn of(entry: PublicationEntry, listed: &BTreeSet<Did>) -> Self {
        let PublicationEntry { sequence, fact, previous, hash } = entry;
        let (version, document) = fact.version.map(|LoggedVersion { version, document }| (version.to_string(), document)).unzip();
        Self {
            sequence,
            created_at: fact.at.to_iso(),
            action: fact.action.name().to_owned(),
            app: listed.contains(&fact.app).then(|| fact.app.to_string()),
            app_digest: hex::encode(Sha256::digest(fact.app.as_str())),
            version,
            document,
            previous,
            hash,
        }
    }
}

pub struct PublicationLogApi;

#[OpenApi(prefix_path = "/api/publication-log")]
impl PublicationLogApi {
    /// The public log of the versions that were published, yanked or brought back, and of the apps that were blocked or unblocked. Each
    /// entry contains the hash of the one before it. Returns the entries after `after`, 100 of them unless `limit` says otherwise.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        after: Query<Option<u64>>,
        limit: Query<Option<u32>>,
    ) -> Result<Json<PublicationLogModel>, Problem> {
        let limit = limit.0.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        // A larger number than the database knows is after all entries.
        let after = after.0.unwrap_or_default().min(i64::MAX.unsigned_abs());
        let mut unit = app.ctx.store.read().await?;
        let entries = unit.publication_log().list(after, limit).await?;
        let newest = unit.publication_log().last().await?;
        let dids: BTreeSet<_> = entries.iter().map(|entry| entry.fact.app.clone()).collect();
        let apps = unit.apps().find_all(&dids.into_iter().collect::<Vec<_>>()).await?;
        let listed = apps.into_iter().filter(|app| app.is_listed).map(|app| app.did).collect();
        let list = entries.into_iter().map(|entry| PublicationEntryModel::of(entry, &listed)).collect();
        let (count, head) = newest.map_or_else(Default::default, |newest| (newest.sequence, newest.hash));
        Ok(Json(PublicationLogModel { count, head, list }))
    }
}
