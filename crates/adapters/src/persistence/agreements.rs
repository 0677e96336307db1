//! The versions of the developer terms that users have agreed to.

use super::Connection;
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::publishing::staking::{Agreement, Agreements};
use souk_domain::shared::StorageError;

pub struct SqlAgreements<'s>(pub &'s mut Connection);

#[async_trait]
impl Agreements for SqlAgreements<'_> {
    async fn record(&mut self, user: &Did, agreement: &Agreement) -> Result<(), StorageError> {
        let insert = "INSERT INTO developer_agreements (user_did, version, agreed_at) VALUES ($1, $2, $3)
                      ON CONFLICT (user_did, version) DO NOTHING";
        self.0.query(insert).bind(user).bind(agreement.version).bind(agreement.agreed_at).execute().await.map(drop)
    }

    async fn find(&mut self, user: &Did, version: u32) -> Result<Option<Agreement>, StorageError> {
        let select = "SELECT version, agreed_at FROM developer_agreements WHERE user_did = $1 AND version = $2";
        let row = self.0.query(select).bind(user).bind(version).optional().await?;
        row.map(|row| Ok(Agreement { version: row.get("version")?, agreed_at: row.get("agreed_at")? })).transpose()
    }
}
