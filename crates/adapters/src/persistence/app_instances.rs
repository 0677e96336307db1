//! Public instances of apps.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::access::{AppProof, Did};
use souk_domain::operation::VisitorNetwork;
use souk_domain::publishing::instances::{AppInstance, AppInstances, InstanceCounts};
use souk_domain::shared::{StorageError, Timestamp};

const UPSERT: &str = "INSERT INTO app_instances (app_id, app, owner, url, visitor, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (app_id) DO UPDATE SET app = excluded.app, owner = excluded.owner, url = excluded.url, visitor = excluded.visitor,
        updated_at = excluded.updated_at";
const COUNT: &str = "SELECT (SELECT count(*) FROM app_instances WHERE app = $2 AND app_id <> $1) AS of_app,
        (SELECT count(*) FROM app_instances WHERE visitor = $3 AND app_id <> $1) AS of_visitor,
        (SELECT count(*) FROM app_instances WHERE app_id <> $1) AS total";
const LIST: &str = "SELECT * FROM app_instances WHERE app = $1 AND updated_at > $2 ORDER BY updated_at DESC, app_id LIMIT $3";
const PRUNE: &str = "DELETE FROM app_instances WHERE app_id IN
    (SELECT app_id FROM app_instances WHERE updated_at <= $1 ORDER BY updated_at LIMIT $2)";
const USE_PROOF: &str = "INSERT INTO used_app_proofs (digest, expires_at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING";
const PRUNE_PROOFS: &str = "DELETE FROM used_app_proofs WHERE digest IN
    (SELECT digest FROM used_app_proofs WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

pub struct SqlAppInstances<'s>(pub &'s mut Connection);

#[async_trait]
impl AppInstances for SqlAppInstances<'_> {
    async fn find(&mut self, id: &Did) -> Result<Option<AppInstance>, StorageError> {
        let row = self.0.query("SELECT * FROM app_instances WHERE app_id = $1").bind(id).optional().await?;
        row.as_ref().map(instance).transpose()
    }

    async fn list(&mut self, app: &Did, since: Timestamp, limit: u32) -> Result<Vec<AppInstance>, StorageError> {
        self.0.query(LIST).bind(app).bind(since).bind(limit).all().await?.iter().map(instance).collect()
    }

    async fn count_others(&mut self, id: &Did, app: &Did, visitor: &VisitorNetwork) -> Result<InstanceCounts, StorageError> {
        let row = self.0.query(COUNT).bind(id).bind(app).bind(&visitor.site).one().await?;
        Ok(InstanceCounts { of_app: row.get("of_app")?, of_visitor: row.get("of_visitor")?, total: row.get("total")? })
    }

    async fn upsert(&mut self, instance: &AppInstance, visitor: &VisitorNetwork) -> Result<(), StorageError> {
        let query = self.0.query(UPSERT).bind(&instance.id).bind(&instance.app).bind(&instance.owner).bind(&instance.url);
        query.bind(&visitor.site).bind(instance.created_at).bind(instance.updated_at).execute().await.map(drop)
    }

    async fn delete(&mut self, id: &Did) -> Result<bool, StorageError> {
        Ok(self.0.query("DELETE FROM app_instances WHERE app_id = $1").bind(id).execute().await? == 1)
    }

    async fn use_proof(&mut self, proof: &AppProof) -> Result<bool, StorageError> {
        Ok(self.0.query(USE_PROOF).bind(&proof.digest).bind(proof.expires_at).execute().await? == 1)
    }

    async fn prune_proofs(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        self.0.query(PRUNE_PROOFS).bind(now).bind(limit).execute().await
    }

    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        self.0.query(PRUNE).bind(before).bind(limit).execute().await
    }
}

fn instance(row: &Row) -> Result<AppInstance, StorageError> {
    Ok(AppInstance {
        id: row.get("app_id")?,
        app: row.get("app")?,
        owner: row.get("owner")?,
        url: row.get("url")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
