//! The workflows of CI that developers trust, and the CI tokens that were exchanged.

use super::columns::{read_json, to_json};
use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{AppPattern, TokenScope};
use souk_domain::publishing::trusted::{TrustedPublisher, TrustedPublishers};
use souk_domain::shared::{StorageError, Timestamp, TrustedPublisherId};

const INSERT: &str = "INSERT INTO trusted_publishers (id, owner, passport_id, issuer, repository, repository_key, repository_id, workflow,
        environment, protected_refs_only, scopes, apps, created_at, last_used_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const OF_REPOSITORY: &str = "SELECT t.* FROM trusted_publishers t JOIN passports p ON p.id = t.passport_id
    WHERE t.issuer = $1 AND t.repository_key = $2 AND p.revoked_at IS NULL ORDER BY t.id LIMIT $3";
const NOTE_USE: &str = "UPDATE trusted_publishers SET repository_id = $2, last_used_at = $3
    WHERE id = $1 AND (repository_id IS NULL OR repository_id = $2)";
const USE_CI_TOKEN: &str = "INSERT INTO used_ci_tokens (issuer, token_id, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (issuer, token_id) DO NOTHING";
const PRUNE_USED: &str = "DELETE FROM used_ci_tokens WHERE (issuer, token_id) IN
    (SELECT issuer, token_id FROM used_ci_tokens WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

/// The statements that delete a publisher `$1` of the developer `$2`, in their order.
const DELETE_NONCES: &str = "DELETE FROM request_nonces WHERE token_id IN
    (SELECT id FROM access_tokens WHERE publisher_id = $1 AND user_did = $2)";
const DELETE_TOKENS: &str = "DELETE FROM access_tokens WHERE publisher_id = $1 AND user_did = $2";
const DELETE: &str = "DELETE FROM trusted_publishers WHERE id = $1 AND owner = $2";
/// On both databases a write locks the row: no token is created for the publisher while it is deleted.
const LOCK: &str = "UPDATE trusted_publishers SET last_used_at = last_used_at WHERE id = $1 AND owner = $2";

pub struct SqlTrustedPublishers<'s>(pub &'s mut Connection);

#[async_trait]
impl TrustedPublishers for SqlTrustedPublishers<'_> {
    async fn insert(&mut self, publisher: &TrustedPublisher) -> Result<(), StorageError> {
        self.0.note(&publisher.id);
        let scopes: Vec<_> = publisher.scopes.iter().map(|scope| scope.name()).collect();
        let apps: Vec<_> = publisher.apps.iter().map(AppPattern::as_str).collect();
        let query = self.0.query(INSERT).bind(&publisher.id).bind(&publisher.owner).bind(&publisher.passport_id).bind(&publisher.issuer);
        let query = query.bind(&publisher.repository).bind(key(&publisher.repository)).bind(&publisher.repository_id);
        let query = query.bind(&publisher.workflow).bind(&publisher.environment).bind(publisher.protected_refs_only);
        let query = query.bind(to_json(&scopes)?).bind(to_json(&apps)?);
        query.bind(publisher.created_at).bind(publisher.last_used_at).execute().await.map(drop)
    }

    async fn find(&mut self, id: &TrustedPublisherId) -> Result<Option<TrustedPublisher>, StorageError> {
        let row = self.0.query("SELECT * FROM trusted_publishers WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(publisher).transpose()
    }

    async fn list(&mut self, owner: &Did, limit: u32) -> Result<Vec<TrustedPublisher>, StorageError> {
        let select = "SELECT * FROM trusted_publishers WHERE owner = $1 ORDER BY id DESC LIMIT $2";
        self.0.query(select).bind(owner).bind(limit).all().await?.iter().map(publisher).collect()
    }

    async fn of_repository(&mut self, issuer: &str, repository: &str, limit: u32) -> Result<Vec<TrustedPublisher>, StorageError> {
        let query = self.0.query(OF_REPOSITORY).bind(issuer).bind(key(repository)).bind(limit);
        query.all().await?.iter().map(publisher).collect()
    }

    async fn delete(&mut self, owner: &Did, id: &TrustedPublisherId) -> Result<bool, StorageError> {
        for statement in [LOCK, DELETE_NONCES, DELETE_TOKENS] {
            self.0.query(statement).bind(id).bind(owner).execute().await?;
        }
        Ok(self.0.query(DELETE).bind(id).bind(owner).execute().await? == 1)
    }

    async fn note_use(&mut self, id: &TrustedPublisherId, repository_id: &str, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(NOTE_USE).bind(id).bind(repository_id).bind(now).execute().await? == 1)
    }

    async fn valid_tokens(&mut self, id: &TrustedPublisherId, now: Timestamp) -> Result<u64, StorageError> {
        let select = "SELECT count(*) AS n FROM access_tokens WHERE publisher_id = $1 AND expires_at > $2";
        self.0.query(select).bind(id).bind(now).one().await?.get("n")
    }

    async fn use_ci_token(&mut self, issuer: &str, token_id: &str, expires_at: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(USE_CI_TOKEN).bind(issuer).bind(token_id).bind(expires_at).execute().await? == 1)
    }

    async fn prune_used(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        self.0.query(PRUNE_USED).bind(now).bind(limit).execute().await
    }
}

/// The name by which a repository is found: providers distinguish no cases, and names have ASCII letters only.
fn key(repository: &str) -> String {
    repository.to_ascii_lowercase()
}

fn publisher(row: &Row) -> Result<TrustedPublisher, StorageError> {
    let corrupt = |column| move || StorageError::Corrupt { table: "trusted_publishers", column, value: String::new() };
    let scopes: Vec<String> = read_json(row, "trusted_publishers", "scopes")?;
    let apps: Vec<String> = read_json(row, "trusted_publishers", "apps")?;
    Ok(TrustedPublisher {
        id: row.get("id")?,
        owner: row.get("owner")?,
        passport_id: row.get("passport_id")?,
        issuer: row.get("issuer")?,
        repository: row.get("repository")?,
        repository_id: row.get("repository_id")?,
        workflow: row.get("workflow")?,
        environment: row.get("environment")?,
        protected_refs_only: row.get("protected_refs_only")?,
        scopes: scopes.iter().map(|name| TokenScope::from_name(name)).collect::<Option<_>>().ok_or_else(corrupt("scopes"))?,
        apps: apps.iter().map(|text| AppPattern::parse(text)).collect::<Option<_>>().ok_or_else(corrupt("apps"))?,
        created_at: row.get("created_at")?,
        last_used_at: row.get("last_used_at")?,
    })
}
