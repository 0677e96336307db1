//! Users, the roles that their passports grant, and API keys.

use super::{Caller, Did, Login};
use crate::shared::{
    Address, ApiKeyId, Language, Listed, LoginId, Mode, Page, PassportId, PictureFormat, StakeId, StorageError, Timestamp,
};
use async_trait::async_trait;

/// What a passport allows (SPEC.md 6). Ordered by power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Publishes apps.
    Developer,
    /// Judges versions of other developers.
    Reviewer,
    Admin,
    Owner,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Developer, Self::Reviewer, Self::Admin, Self::Owner];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Reviewer => "reviewer",
            Self::Developer => "developer",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether the role can manage the store: owners and admins.
    #[must_use]
    pub const fn is_admin(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// Whether the role can judge versions: reviewers, owners and admins.
    #[must_use]
    pub const fn is_reviewer(self) -> bool {
        matches!(self, Self::Reviewer) || self.is_admin()
    }
}

/// A user who has signed in with a wallet at least once, identified by DID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub did: Did,
    /// The wallet account's public key, base58.
    pub public_key: String,
    pub full_name: String,
    pub email: String,
    pub phone: String,
    pub address: Option<Address>,
    pub language: Language,
    /// `None`: the store draws an avatar.
    pub picture: Option<ProfilePicture>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The picture that a user has uploaded in place of the drawn avatar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilePicture {
    /// The SHA-256 of its content, in lower-case hex.
    pub sha256: String,
    pub format: PictureFormat,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passport {
    pub id: PassportId,
    pub holder: Did,
    pub role: Role,
    pub issued_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// The deposit by which it was obtained; it ends with that. `None`: it was granted.
    pub stake_id: Option<StakeId>,
}

/// A permission of an API key: `resource:read`, `resource:write`, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope(String);

impl Scope {
    /// The resources that scopes can name.
    pub const RESOURCES: [&'static str; 14] = [
        "products",
        "prices",
        "payment_links",
        "checkout_sessions",
        "payment_methods",
        "invoices",
        "payment_intents",
        "customers",
        "subscriptions",
        "refunds",
        "credit_notes",
        "disputes",
        "usage_records",
        "test_clocks",
    ];

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let known = text == "*"
            || text.split_once(':').is_some_and(|(resource, verb)| Self::RESOURCES.contains(&resource) && matches!(verb, "read" | "write"));
        known.then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the scope allows an access. A write scope includes reading.
    #[must_use]
    pub fn allows(&self, resource: &str, write: bool) -> bool {
        self.0 == "*" || self.0.split_once(':').is_some_and(|(named, verb)| named == resource && (verb == "write" || !write))
    }
}

/// An API key for scripts and integrators. Only its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub name: String,
    pub mode: Mode,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// The SHA-256 of a random token. Cookies, API keys and one-time links are stored as such hashes only.
pub type TokenHash = [u8; 32];

/// How many days a login lasts without being used. Opening a page renews it, at most once a day.
pub const LOGIN_LIFETIME_DAYS: u64 = 30;

/// A user who gets no passport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedUser {
    pub user: User,
    pub blocked_at: Timestamp,
}

#[async_trait]
pub trait Users: Send {
    async fn find(&mut self, did: &Did) -> Result<Option<User>, StorageError>;
    async fn find_all(&mut self, dids: &[Did]) -> Result<Vec<User>, StorageError>;
    /// The user of an unexpired login, with their passports.
    async fn find_by_login(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Caller>, StorageError>;
    /// Inserts a user who signs in, or updates their public key. Profile fields that are set already stay, and so does the picture.
    async fn upsert(&mut self, user: &User) -> Result<(), StorageError>;
    /// Writes the profile fields: name, email, phone, address, language.
    async fn update_profile(&mut self, user: &User) -> Result<(), StorageError>;
    /// Sets or removes the picture of a user. False: there is no such user.
    async fn set_picture(&mut self, did: &Did, picture: Option<&ProfilePicture>, now: Timestamp) -> Result<bool, StorageError>;
    /// A user's valid passports, the most powerful first.
    async fn passports(&mut self, holder: &Did) -> Result<Vec<Passport>, StorageError>;
    /// A user's passports that were revoked at this time or later, the most powerful first.
    async fn revoked_since(&mut self, holder: &Did, at: Timestamp) -> Result<Vec<Passport>, StorageError>;
    async fn issue_passport(&mut self, passport: &Passport) -> Result<(), StorageError>;
    async fn find_passport(&mut self, id: &PassportId) -> Result<Option<Passport>, StorageError>;
    /// The valid passports, the newest first.
    async fn list_valid_passports(&mut self, page: &Page) -> Result<Listed<Passport>, StorageError>;
    /// The users with a valid passport of one of these roles, at most `limit`.
    async fn holders(&mut self, roles: &[Role], limit: u32) -> Result<Vec<Did>, StorageError>;
    /// All passports, revoked ones included, oldest first.
    async fn list_passports(&mut self) -> Result<Vec<Passport>, StorageError>;
    /// Revokes a passport. False: there is no such passport, or it is revoked already.
    async fn revoke_passport(&mut self, id: &PassportId, now: Timestamp) -> Result<bool, StorageError>;
    async fn owner_exists(&mut self) -> Result<bool, StorageError>;
    /// Since when a user is blocked; `None`: they are not.
    async fn blocked_at(&mut self, did: &Did) -> Result<Option<Timestamp>, StorageError>;
    /// Blocks a user since a time, or ends that. False: there is no such user.
    async fn set_blocked(&mut self, did: &Did, at: Option<Timestamp>) -> Result<bool, StorageError>;
    /// The blocked users, those who were blocked last come first, at most `limit`.
    async fn blocked(&mut self, limit: u32) -> Result<Vec<BlockedUser>, StorageError>;
}

#[async_trait]
pub trait BrowserSessions: Send {
    async fn insert(&mut self, token: &TokenHash, login: &Login) -> Result<(), StorageError>;
    /// The user of an unexpired login.
    async fn find(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Did>, StorageError>;
    /// An unexpired login.
    async fn find_login(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Login>, StorageError>;
    /// A user's unexpired logins, the last used one first, at most `limit`.
    async fn list(&mut self, user: &Did, now: Timestamp, limit: u32) -> Result<Vec<Login>, StorageError>;
    /// Stores that an unexpired login is in use.
    async fn touch(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError>;
    /// Stores that the user has signed in again in an unexpired login.
    async fn sign_in_again(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError>;
    /// Ends a login of this user. False: the user has no such login.
    async fn end(&mut self, user: &Did, id: &LoginId) -> Result<bool, StorageError>;
    /// Ends all logins of a user except the one with the token to keep. Returns how many.
    async fn end_others(&mut self, user: &Did, kept: Option<&TokenHash>) -> Result<u64, StorageError>;
    /// Extends an unexpired login to `expires_at`, if that is later. False otherwise.
    async fn extend(&mut self, token: &TokenHash, now: Timestamp, expires_at: Timestamp) -> Result<bool, StorageError>;
    async fn delete(&mut self, token: &TokenHash) -> Result<(), StorageError>;
    /// Stores a one-time link that makes its opener the owner.
    async fn insert_owner_link(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError>;
    /// Uses up a one-time link. Returns true to exactly one caller.
    async fn use_owner_link(&mut self, token: &TokenHash, now: Timestamp) -> Result<bool, StorageError>;
    /// Deletes expired rows, at most `limit`.
    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[async_trait]
pub trait ApiKeys: Send {
    async fn insert(&mut self, key: &ApiKey, hash: &TokenHash) -> Result<(), StorageError>;
    /// The unrevoked key with this hash.
    async fn find(&mut self, hash: &TokenHash) -> Result<Option<ApiKey>, StorageError>;
    async fn list(&mut self) -> Result<Vec<ApiKey>, StorageError>;
    /// Revokes a key. False: there is no such key, or it is revoked already.
    async fn revoke(&mut self, id: &ApiKeyId, now: Timestamp) -> Result<bool, StorageError>;
    /// Records the use of a key, at most once a minute.
    async fn touch(&mut self, id: &ApiKeyId, now: Timestamp) -> Result<(), StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_scope_includes_reading_and_a_read_scope_excludes_writing() {
        let write = Scope::parse("products:write").expect("known");
        let read = Scope::parse("products:read").expect("known");
        assert!(write.allows("products", false) && write.allows("products", true));
        assert!(read.allows("products", false) && !read.allows("products", true));
        assert!(!write.allows("prices", false));
        assert_eq!(Scope::parse("products"), None);
        assert_eq!(Scope::parse("secrets:read"), None);
    }
}
