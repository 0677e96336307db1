//! Invitations to become a developer, a reviewer or an administrator. Only the hashes of their links are stored.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::access::{Did, TokenHash};
use souk_domain::publishing::invitations::{Invitation, Invitations};
use souk_domain::shared::{InvitationId, StorageError, Timestamp};

pub struct SqlInvitations<'s>(pub &'s mut Connection);

#[async_trait]
impl Invitations for SqlInvitations<'_> {
    async fn insert(&mut self, invitation: &Invitation, token: &TokenHash) -> Result<(), StorageError> {
        self.0.note(&invitation.id);
        let insert = "INSERT INTO invitations (id, token, role, created_by, created_at, expires_at, used_by, used_at, revoked_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let query = self.0.query(insert).bind(&invitation.id).bind(token).bind(invitation.role).bind(&invitation.created_by);
        let query = query.bind(invitation.created_at).bind(invitation.expires_at).bind(&invitation.used_by).bind(invitation.used_at);
        query.bind(invitation.revoked_at).execute().await.map(drop)
    }

    async fn find(&mut self, id: &InvitationId) -> Result<Option<Invitation>, StorageError> {
        let row = self.0.query("SELECT * FROM invitations WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(invitation).transpose()
    }

    async fn find_by_token(&mut self, token: &TokenHash) -> Result<Option<Invitation>, StorageError> {
        let row = self.0.query("SELECT * FROM invitations WHERE token = $1").bind(token).optional().await?;
        row.as_ref().map(invitation).transpose()
    }

    async fn list(&mut self, limit: u32) -> Result<Vec<Invitation>, StorageError> {
        let rows = self.0.query("SELECT * FROM invitations ORDER BY id DESC LIMIT $1").bind(limit).all().await?;
        rows.iter().map(invitation).collect()
    }

    async fn count_open(&mut self, now: Timestamp, limit: u32) -> Result<u32, StorageError> {
        let select = "SELECT count(*) AS n FROM (SELECT 1 AS found FROM invitations
                      WHERE used_at IS NULL AND revoked_at IS NULL AND expires_at > $1 LIMIT $2) AS counted";
        self.0.query(select).bind(now).bind(limit).one().await?.get("n")
    }

    async fn accept(&mut self, id: &InvitationId, user: &Did, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invitations SET used_by = $2, used_at = $3
                      WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $3";
        Ok(self.0.query(update).bind(id).bind(user).bind(now).execute().await? == 1)
    }

    async fn revoke(&mut self, id: &InvitationId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invitations SET revoked_at = $2 WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }
}

fn invitation(row: &Row) -> Result<Invitation, StorageError> {
    Ok(Invitation {
        id: row.get("id")?,
        role: row.get("role")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        used_by: row.get("used_by")?,
        used_at: row.get("used_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
