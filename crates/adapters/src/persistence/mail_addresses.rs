//! Confirmed addresses of emails.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::mail::{KnownAddress, MailAddress, MailAddresses};
use souk_domain::shared::{StorageError, Timestamp};

pub struct SqlMailAddresses<'s>(pub &'s mut Connection);

fn known(row: &Row) -> Result<KnownAddress, StorageError> {
    Ok(KnownAddress { address: address(row)?, requested_at: row.get("requested_at")?, confirmed_at: row.get("confirmed_at")? })
}

fn address(row: &Row) -> Result<MailAddress, StorageError> {
    let text: String = row.get("address")?;
    MailAddress::of(&text).ok_or(StorageError::Corrupt { table: "mail_addresses", column: "address", value: text })
}

#[async_trait]
impl MailAddresses for SqlMailAddresses<'_> {
    async fn find(&mut self, address: &MailAddress) -> Result<Option<KnownAddress>, StorageError> {
        let row = self.0.query("SELECT * FROM mail_addresses WHERE address = $1").bind(address.as_str()).optional().await?;
        row.as_ref().map(known).transpose()
    }

    async fn find_requested(&mut self, request: &str) -> Result<Option<KnownAddress>, StorageError> {
        let row = self.0.query("SELECT * FROM mail_addresses WHERE request = $1").bind(request).optional().await?;
        row.as_ref().map(known).transpose()
    }

    async fn request(&mut self, address: &MailAddress, request: &str, now: Timestamp, since: Timestamp) -> Result<bool, StorageError> {
        let insert = "INSERT INTO mail_addresses (address, request, requested_at) VALUES ($1, $2, $3)
                      ON CONFLICT (address) DO UPDATE SET request = excluded.request, requested_at = excluded.requested_at
                      WHERE mail_addresses.confirmed_at IS NULL AND mail_addresses.requested_at <= $4";
        Ok(self.0.query(insert).bind(address.as_str()).bind(request).bind(now).bind(since).execute().await? == 1)
    }

    async fn count_unconfirmed(&mut self, since: Timestamp, limit: u32) -> Result<u32, StorageError> {
        let select = "SELECT count(*) AS n FROM
                      (SELECT 1 AS found FROM mail_addresses WHERE confirmed_at IS NULL AND requested_at > $1 LIMIT $2) AS counted";
        self.0.query(select).bind(since).bind(limit).one().await?.get("n")
    }

    async fn confirm(&mut self, request: &str, now: Timestamp, since: Timestamp) -> Result<Option<MailAddress>, StorageError> {
        let update = "UPDATE mail_addresses SET confirmed_at = $2, request = NULL
                      WHERE request = $1 AND requested_at > $3 AND confirmed_at IS NULL RETURNING address";
        let row = self.0.query(update).bind(request).bind(now).bind(since).optional().await?;
        row.as_ref().map(address).transpose()
    }

    async fn prune_unconfirmed(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM mail_addresses WHERE confirmed_at IS NULL AND address IN
                      (SELECT address FROM mail_addresses WHERE confirmed_at IS NULL AND requested_at < $1 ORDER BY requested_at LIMIT $2)";
        self.0.query(delete).bind(before).bind(limit).execute().await
    }
}
