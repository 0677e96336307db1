//! The workflows of CI that developers trust.

use super::super::access_tokens::{AppPattern, TokenScope};
use crate::access::Did;
use crate::shared::{PassportId, StorageError, Timestamp, TrustedPublisherId};
use async_trait::async_trait;
use std::collections::BTreeSet;

/// A repository, of an issuer of CI tokens, whose workflows may publish for a developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPublisher {
    pub id: TrustedPublisherId,
    /// The developer.
    pub owner: Did,
    /// The owner's developer passport at its creation, as that of an access token.
    pub passport_id: PassportId,
    /// The address of the issuer.
    pub issuer: String,
    /// As its developer wrote it. The providers distinguish no cases.
    pub repository: String,
    /// The provider's id of the repository, as its developer has entered it, or from the first exchange on: a repository that gets the name
    /// later is another one.
    pub repository_id: Option<String>,
    /// The file of the workflow; `None`: any.
    pub workflow: Option<String>,
    /// `None`: any.
    pub environment: Option<String>,
    /// Whether only runs for protected branches and tags publish. At GitLab, everybody who can push a branch can change its pipeline.
    pub protected_refs_only: bool,
    pub scopes: BTreeSet<TokenScope>,
    pub apps: Vec<AppPattern>,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

#[async_trait]
pub trait TrustedPublishers: Send {
    async fn insert(&mut self, publisher: &TrustedPublisher) -> Result<(), StorageError>;
    async fn find(&mut self, id: &TrustedPublisherId) -> Result<Option<TrustedPublisher>, StorageError>;
    /// A developer's publishers, newest first, at most `limit`.
    async fn list(&mut self, owner: &Did, limit: u32) -> Result<Vec<TrustedPublisher>, StorageError>;
    /// The publishers of a repository, in any case of its name, whose passports are valid, oldest first, at most `limit`.
    async fn of_repository(&mut self, issuer: &str, repository: &str, limit: u32) -> Result<Vec<TrustedPublisher>, StorageError>;
    /// Deletes a publisher of this developer with its access tokens. False: there is no such publisher.
    async fn delete(&mut self, owner: &Did, id: &TrustedPublisherId) -> Result<bool, StorageError>;
    /// Stores the use of a publisher and, unless it is known, the provider's id of its repository. False: it has another id, or the
    /// publisher was deleted.
    async fn note_use(&mut self, id: &TrustedPublisherId, repository_id: &str, now: Timestamp) -> Result<bool, StorageError>;
    /// How many access tokens of a publisher are valid.
    async fn valid_tokens(&mut self, id: &TrustedPublisherId, now: Timestamp) -> Result<u64, StorageError>;
    /// Uses a CI token. True for exactly one caller.
    async fn use_ci_token(&mut self, issuer: &str, token_id: &str, expires_at: Timestamp) -> Result<bool, StorageError>;
    /// Forgets used CI tokens that have expired, at most `limit`.
    async fn prune_used(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}
