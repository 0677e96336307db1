//! The computers on which users are signed in with the command line.

use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::{DEVICE_USE_INTERVAL, Device, Devices, Did};
use souk_domain::shared::{StorageError, Timestamp};

/// Rows that refer to the user can be written meanwhile.
const LOCK_USER: Sql = sql_per_dialect!("SELECT did FROM users WHERE did = $1" (either "" " FOR NO KEY UPDATE"));

pub struct SqlDevices<'s>(pub &'s mut Connection);

#[async_trait]
impl Devices for SqlDevices<'_> {
    async fn insert(&mut self, device: &Device) -> Result<(), StorageError> {
        self.0.note_did(&device.id);
        let insert = "INSERT INTO devices (id, user_did, name, public_key, created_at, used_at, expires_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let query = self.0.query(insert).bind(&device.id).bind(&device.user).bind(&device.name).bind(&device.public_key);
        query.bind(device.created_at).bind(device.used_at).bind(device.expires_at).execute().await.map(drop)
    }

    async fn find(&mut self, id: &Did, now: Timestamp) -> Result<Option<Device>, StorageError> {
        let row = self.0.query("SELECT * FROM devices WHERE id = $1 AND expires_at > $2").bind(id).bind(now).optional().await?;
        row.as_ref().map(device).transpose()
    }

    async fn lock_user(&mut self, user: &Did) -> Result<(), StorageError> {
        self.0.query_per_dialect(LOCK_USER).bind(user).optional().await.map(drop)
    }

    async fn list(&mut self, user: &Did, now: Timestamp, limit: u32) -> Result<Vec<Device>, StorageError> {
        let select = "SELECT * FROM devices WHERE user_did = $1 AND expires_at > $2 ORDER BY used_at DESC, id LIMIT $3";
        self.0.query(select).bind(user).bind(now).bind(limit).all().await?.iter().map(device).collect()
    }

    async fn touch(&mut self, id: &Did, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE devices SET used_at = $2 WHERE id = $1 AND used_at <= $3";
        self.0.query(update).bind(id).bind(now).bind(now.minus(DEVICE_USE_INTERVAL)).execute().await.map(drop)
    }

    async fn delete(&mut self, user: &Did, id: &Did) -> Result<bool, StorageError> {
        let delete = "DELETE FROM devices WHERE id = $1 AND user_did = $2";
        Ok(self.0.query(delete).bind(id).bind(user).execute().await? == 1)
    }

    async fn delete_all(&mut self, user: &Did) -> Result<u64, StorageError> {
        self.0.query("DELETE FROM devices WHERE user_did = $1").bind(user).execute().await
    }

    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM devices WHERE id IN (SELECT id FROM devices WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        self.0.query(delete).bind(now).bind(limit).execute().await
    }
}

fn device(row: &Row) -> Result<Device, StorageError> {
    Ok(Device {
        id: row.get("id")?,
        user: row.get("user_did")?,
        name: row.get("name")?,
        public_key: row.get("public_key")?,
        created_at: row.get("created_at")?,
        used_at: row.get("used_at")?,
        expires_at: row.get("expires_at")?,
    })
}
