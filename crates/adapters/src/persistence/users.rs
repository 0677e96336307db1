//! Users and their passports.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::{BlockedUser, Caller, Did, Passport, ProfilePicture, Role, TokenHash, User, Users};
use souk_domain::shared::{Listed, Page, PassportId, StorageError, Timestamp};

const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM users WHERE did " (among "$1") " ORDER BY did");

const VALID_PASSPORTS: Listing = listing!("passports", "revoked_at IS NULL");

const HOLDERS: Sql = sql_per_dialect!(
    "SELECT DISTINCT holder FROM passports WHERE revoked_at IS NULL AND role " (among "$1") " ORDER BY holder LIMIT $2"
);

pub struct SqlUsers<'s>(pub &'s mut Connection);

#[async_trait]
impl Users for SqlUsers<'_> {
    async fn find(&mut self, did: &Did) -> Result<Option<User>, StorageError> {
        let row = self.0.query("SELECT * FROM users WHERE did = $1").bind(did).optional().await?;
        row.as_ref().map(user).transpose()
    }

    async fn find_all(&mut self, dids: &[Did]) -> Result<Vec<User>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(dids)).all().await?;
        rows.iter().map(user).collect()
    }

    async fn find_by_login(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Caller>, StorageError> {
        // One statement, because every request of a signed-in user runs it. The columns of the tables have different names.
        let select = "SELECT browser_sessions.signed_in_at, users.*, passports.* FROM browser_sessions JOIN users ON users.did = browser_sessions.user_did
                      LEFT JOIN passports ON passports.holder = users.did AND passports.revoked_at IS NULL
                      WHERE browser_sessions.token = $1 AND browser_sessions.expires_at > $2 ORDER BY passports.issued_at, passports.id";
        let rows = self.0.query(select).bind(token).bind(now).all().await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut held = Vec::new();
        for row in &rows {
            if row.get::<Option<PassportId>>("id")?.is_some() {
                held.push(passport(row)?);
            }
        }
        Ok(Some(Caller { user: user(first)?, passports: highest_first(held), signed_in_at: first.get("signed_in_at")? }))
    }

    async fn upsert(&mut self, user: &User) -> Result<(), StorageError> {
        let upsert = "INSERT INTO users (did, public_key, full_name, email, phone, address, language, created_at, updated_at, examined_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8)
                      ON CONFLICT (did) DO UPDATE SET
                          public_key = excluded.public_key,
                          full_name = CASE WHEN users.full_name = '' THEN excluded.full_name ELSE users.full_name END,
                          email = CASE WHEN users.email = '' THEN excluded.email ELSE users.email END,
                          phone = CASE WHEN users.phone = '' THEN excluded.phone ELSE users.phone END,
                          address = COALESCE(users.address, excluded.address),
                          updated_at = excluded.updated_at";
        let query = self.0.query(upsert).bind(&user.did).bind(&user.public_key).bind(&user.full_name).bind(&user.email);
        let query = query.bind(&user.phone).bind(&user.address).bind(user.language).bind(user.created_at).bind(user.updated_at);
        query.execute().await?;
        Ok(())
    }

    async fn update_profile(&mut self, user: &User) -> Result<(), StorageError> {
        let update = "UPDATE users SET full_name = $2, email = $3, phone = $4, address = $5, language = $6, updated_at = $7 WHERE did = $1";
        let query = self.0.query(update).bind(&user.did).bind(&user.full_name).bind(&user.email).bind(&user.phone);
        query.bind(&user.address).bind(user.language).bind(user.updated_at).execute().await?;
        Ok(())
    }

    async fn set_picture(&mut self, did: &Did, picture: Option<&ProfilePicture>, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE users SET picture = $2, picture_format = $3, picture_updated_at = $4, updated_at = $5 WHERE did = $1";
        let query = self.0.query(update).bind(did).bind(picture.map(|picture| &picture.sha256));
        let query = query.bind(picture.map(|picture| picture.format)).bind(picture.map(|picture| picture.updated_at));
        Ok(query.bind(now).execute().await? == 1)
    }

    async fn passports(&mut self, holder: &Did) -> Result<Vec<Passport>, StorageError> {
        let select = "SELECT * FROM passports WHERE holder = $1 AND revoked_at IS NULL ORDER BY issued_at, id";
        let rows = self.0.query(select).bind(holder).all().await?;
        rows.iter().map(passport).collect::<Result<_, _>>().map(highest_first)
    }

    async fn revoked_since(&mut self, holder: &Did, at: Timestamp) -> Result<Vec<Passport>, StorageError> {
        let select = "SELECT * FROM passports WHERE holder = $1 AND revoked_at >= $2 ORDER BY issued_at, id";
        let rows = self.0.query(select).bind(holder).bind(at).all().await?;
        rows.iter().map(passport).collect::<Result<_, _>>().map(highest_first)
    }

    async fn issue_passport(&mut self, passport: &Passport) -> Result<(), StorageError> {
        self.0.note(&passport.id);
        let insert = "INSERT INTO passports (id, holder, role, issued_at, revoked_at, stake_id) VALUES ($1, $2, $3, $4, $5, $6)";
        let query = self.0.query(insert).bind(&passport.id).bind(&passport.holder).bind(passport.role);
        query.bind(passport.issued_at).bind(passport.revoked_at).bind(&passport.stake_id).execute().await?;
        Ok(())
    }

    async fn find_passport(&mut self, id: &PassportId) -> Result<Option<Passport>, StorageError> {
        let row = self.0.query("SELECT * FROM passports WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(passport).transpose()
    }

    async fn list_valid_passports(&mut self, page: &Page) -> Result<Listed<Passport>, StorageError> {
        list(self.0, &VALID_PASSPORTS, page, |query| query, passport).await
    }

    async fn holders(&mut self, roles: &[Role], limit: u32) -> Result<Vec<Did>, StorageError> {
        let names: serde_json::Value = roles.iter().map(|role| role.name()).collect();
        let rows = self.0.query_per_dialect(HOLDERS).bind(names).bind(limit).all().await?;
        rows.iter().map(|row| row.get("holder")).collect()
    }

    async fn list_passports(&mut self) -> Result<Vec<Passport>, StorageError> {
        self.0.query("SELECT * FROM passports ORDER BY issued_at, id").all().await?.iter().map(passport).collect()
    }

    async fn revoke_passport(&mut self, id: &PassportId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE passports SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn blocked_at(&mut self, did: &Did) -> Result<Option<Timestamp>, StorageError> {
        let row = self.0.query("SELECT blocked_at FROM users WHERE did = $1").bind(did).optional().await?;
        row.map_or(Ok(None), |row| row.get("blocked_at"))
    }

    async fn set_blocked(&mut self, did: &Did, at: Option<Timestamp>) -> Result<bool, StorageError> {
        let update = "UPDATE users SET blocked_at = $2 WHERE did = $1";
        Ok(self.0.query(update).bind(did).bind(at).execute().await? == 1)
    }

    async fn blocked(&mut self, limit: u32) -> Result<Vec<BlockedUser>, StorageError> {
        let select = "SELECT * FROM users WHERE blocked_at IS NOT NULL ORDER BY blocked_at DESC, did LIMIT $1";
        let rows = self.0.query(select).bind(limit).all().await?;
        rows.iter().map(|row| Ok(BlockedUser { user: user(row)?, blocked_at: row.get("blocked_at")? })).collect()
    }

    async fn owner_exists(&mut self) -> Result<bool, StorageError> {
        let select = "SELECT id FROM passports WHERE role = $1 AND revoked_at IS NULL LIMIT 1";
        Ok(self.0.query(select).bind(Role::Owner).optional().await?.is_some())
    }
}

fn user(row: &Row) -> Result<User, StorageError> {
    Ok(User {
        did: row.get("did")?,
        public_key: row.get("public_key")?,
        full_name: row.get("full_name")?,
        email: row.get("email")?,
        phone: row.get("phone")?,
        address: row.get("address")?,
        language: row.get("language")?,
        picture: picture(row)?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn picture(row: &Row) -> Result<Option<ProfilePicture>, StorageError> {
    let Some(sha256) = row.get::<Option<String>>("picture")? else { return Ok(None) };
    Ok(Some(ProfilePicture { sha256, format: row.get("picture_format")?, updated_at: row.get("picture_updated_at")? }))
}

fn highest_first(mut passports: Vec<Passport>) -> Vec<Passport> {
    passports.sort_by_key(|passport| std::cmp::Reverse(passport.role));
    passports
}

fn passport(row: &Row) -> Result<Passport, StorageError> {
    Ok(Passport {
        id: row.get("id")?,
        holder: row.get("holder")?,
        role: row.get("role")?,
        issued_at: row.get("issued_at")?,
        revoked_at: row.get("revoked_at")?,
        stake_id: row.get("stake_id")?,
    })
}
