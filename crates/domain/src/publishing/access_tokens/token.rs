//! Access tokens and what they allow.

use super::super::named::named;
use crate::access::Did;
use crate::shared::{PassportId, StorageError, Timestamp, TrustedPublisherId};
use async_trait::async_trait;
use std::collections::BTreeSet;

named! {
    /// What a token allows. Each needs its own scope.
    TokenScope {
        /// Uploads the first version of an app.
        PublishNew = "publish-new",
        /// Uploads further versions of an app.
        PublishUpdate = "publish-update",
        /// Withdraws a version.
        Yank = "yank",
    }
}

/// The longest pattern, in characters.
const PATTERN_LENGTH_MAX: usize = 64;
/// The most patterns of a token.
pub const APP_PATTERNS_MAX: usize = 20;

/// Names the apps for which a token is valid: the name or the DID of an app, in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPattern(String);

impl AppPattern {
    /// `None`: it is empty or too long, or has characters that names of apps do not have.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'/' | b'*');
        let is_valid = !text.is_empty() && text.len() <= PATTERN_LENGTH_MAX && text.bytes().all(is_allowed);
        is_valid.then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let Some((start, rest)) = self.0.split_once('*') else { return self.0 == text };
        let Some(mut left) = text.strip_prefix(start) else { return false };
        let mut parts: Vec<_> = rest.split('*').collect();
        let end = parts.pop().unwrap_or_default();
        for part in parts {
            // The earliest place of each part leaves the most for those after it.
            let Some(at) = left.find(part) else { return false };
            left = &left[at + part.len()..];
        }
        left.len() >= end.len() && left.ends_with(end)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// The DID of its key, by which signatures name it.
    pub id: Did,
    pub owner: Did,
    /// The owner's developer passport at its creation. The token is valid as long as this passport is: a passport that was revoked and
    /// issued again is another one.
    pub passport_id: PassportId,
    pub name: String,
    /// Multibase base58btc.
    pub public_key: String,
    pub scopes: BTreeSet<TokenScope>,
    pub apps: Vec<AppPattern>,
    /// The trusted publisher for whose CI it was created; `None`: its owner has created it.
    pub publisher: Option<TrustedPublisherId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// When its owner is to be reminded that it expires; `None`: the email was ordered.
    pub remind_at: Option<Timestamp>,
    /// To a minute.
    pub last_used_at: Option<Timestamp>,
}

#[async_trait]
pub trait AccessTokens: Send {
    async fn insert(&mut self, token: &AccessToken) -> Result<(), StorageError>;
    async fn find(&mut self, id: &Did) -> Result<Option<AccessToken>, StorageError>;
    /// The tokens that a developer has created, newest first, at most `limit`. Those of CI are not among them.
    async fn list(&mut self, owner: &Did, limit: u32) -> Result<Vec<AccessToken>, StorageError>;
    /// Deletes a token of this developer. False: there is no such token.
    async fn delete(&mut self, owner: &Did, id: &Did) -> Result<bool, StorageError>;
    /// Stores the last use, at most once a minute.
    async fn touch(&mut self, id: &Did, now: Timestamp) -> Result<(), StorageError>;
    /// The tokens whose reminder is due and that have not expired, at most `limit`. Each is returned to one caller only.
    async fn claim_reminders(&mut self, now: Timestamp, limit: u32) -> Result<Vec<AccessToken>, StorageError>;
    /// Uses the nonce of a signed request. True for exactly one caller.
    async fn use_nonce(&mut self, id: &Did, nonce: &str, expires_at: Timestamp) -> Result<bool, StorageError>;
    /// Deletes the tokens of CI that expired before a time, at most `limit`.
    async fn prune_of_ci(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes expired nonces, at most `limit`.
    async fn prune_nonces(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

/// Whether one of the patterns matches the name or the DID of an app.
pub(in crate::publishing) fn matches_app(patterns: &[AppPattern], did: &Did, name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name) || pattern.matches(did.as_str()))
}

/// The key pair of a new token.
#[derive(Clone, PartialEq, Eq)]
pub struct NewTokenKey {
    /// The DID of the key (role account).
    pub id: Did,
    /// Multibase base58btc.
    pub public_key: String,
    /// The 64-byte ed25519 key (seed and public key), multibase base58btc. Shown once and stored nowhere.
    pub secret: String,
}

pub trait TokenKeys: Send + Sync {
    /// The key pair of a random seed.
    fn create(&self, seed: &[u8; 32]) -> NewTokenKey;
    /// The digest that tokens sign (reference/store.md 5.1): SHA3-256.
    fn digest(&self, text: &[u8]) -> [u8; 32];
    /// Whether a signature (multibase base58btc) over a digest is that of the key.
    fn is_valid(&self, public_key: &str, digest: &[u8; 32], signature: &str) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> AppPattern {
        AppPattern::parse(text).expect("a pattern")
    }

    #[test]
    fn a_pattern_matches_names_with_any_characters_in_place_of_its_stars() {
        let cases = [
            ("*", "", true),
            ("*", "anything", true),
            ("atlas", "atlas", true),
            ("atlas", "atlas-pro", false),
            ("atlas-*", "atlas-pro", true),
            ("atlas-*", "my-atlas-pro", false),
            ("*-pro", "atlas-pro", true),
            ("*-pro", "atlas-pro-2", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "ac", false),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
            ("Atlas", "atlas", false),
        ];
        for (text, name, expected) in cases {
            assert_eq!(pattern(text).matches(name), expected, "{text} {name}");
        }
    }

    #[test]
    fn a_pattern_has_the_characters_of_names_only() {
        for text in ["", "a b", "a?", "[a]", "ä", &"a".repeat(65)] {
            assert_eq!(AppPattern::parse(text), None, "{text}");
        }
        assert_eq!(pattern("@scope/app_1.x-*").as_str(), "@scope/app_1.x-*");
    }
}
