//! The session of a tool and its states.

use super::super::named::named;
use crate::access::Did;
use crate::operation::VisitorNetwork;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// How long a tool can wait for the answer: as long as published tools do (reference/store.md 5.2).
pub const TOOL_SESSION_LIFETIME: Duration = Duration::from_secs(75 * 60);
/// How long the answer can be read. Tools read it twice (reference/store.md 9).
pub const TOOL_ANSWER_LIFETIME: Duration = Duration::from_secs(60);
/// The longest name that a tool can give itself, in characters.
pub const TOOL_SOURCE_MAX: usize = 64;
/// The most apps for which a tool can ask for a key at a time.
pub const TOOL_APPS_MAX: usize = 10;
/// The longest name of such an app, in characters.
pub const TOOL_APP_NAME_MAX: usize = 64;

named! {
    /// What a tool asks for. The names are those of the wire protocol (reference/store.md 1.8).
    ToolAction {
        /// An access token.
        ConnectCli = "connect-cli",
        /// An access token, and the key of an app.
        ConnectStudio = "connect-studio",
        /// The keys of apps, whose secrets stay in the browser.
        GenerateKeys = "gen-key-pair",
        /// The key of a computer, which fetches what its user has bought.
        LoginCli = "login-cli",
    }
}

impl ToolAction {
    /// Whether the answer contains an access token, so that only a developer can approve.
    #[must_use]
    pub const fn needs_token(self) -> bool {
        matches!(self, Self::ConnectCli | Self::ConnectStudio)
    }

    /// Whether the answer contains a secret, so that it is sealed to a key of the tool.
    #[must_use]
    pub const fn is_sealed(self) -> bool {
        self.needs_token() || matches!(self, Self::LoginCli)
    }

    /// Whether the request names apps, each of which gets a key.
    #[must_use]
    pub const fn needs_keys(self) -> bool {
        matches!(self, Self::ConnectStudio | Self::GenerateKeys)
    }
}

named! {
    /// The state of a session, by the names that tools read.
    ToolStatus {
        /// Nobody has opened the page.
        Created = "created",
        /// A signed-in user has opened the page and has not answered.
        Scanned = "scanned",
        Succeed = "succeed",
        /// The user has denied the request.
        Error = "error",
    }
}

impl ToolStatus {
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeed | Self::Error)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSession {
    /// 128 random bits in hex: the tool's only credential.
    pub token: String,
    pub action: ToolAction,
    pub status: ToolStatus,
    /// What the tool calls itself; empty if it does not say.
    pub source: String,
    /// The network address of the request, so that the user can recognize it.
    pub address: Option<String>,
    /// The X25519 public key to which the answer is sealed. `None`: the answer is not secret.
    pub encryption_key: Option<[u8; 32]>,
    /// The names of the apps that get a key.
    pub apps: Vec<String>,
    /// The answer as the tool reads it.
    pub config: Option<String>,
    /// Why it failed; empty unless it did.
    pub error: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A short text by which a user compares the request on the page with the one in the terminal: the first 40 bits of the tool's key in
/// Crockford's base 32, as `XXXX-XXXX`. Without the code, an attacker could send a developer the link of the attacker's own request.
#[must_use]
pub fn comparison_code(key: &[u8; 32]) -> String {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let bits = key[..5].iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let letter = |place: u32| char::from(LETTERS[((bits >> (35 - 5 * place)) & 31) as usize]);
    let text: String = (0..8).map(letter).collect();
    format!("{}-{}", &text[..4], &text[4..])
}

impl ToolSession {
    /// See [`comparison_code`]. `None`: the request has no key, and nothing secret is answered.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        self.encryption_key.as_ref().map(comparison_code)
    }
}

/// How a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAnswer<'a> {
    /// The answer as the tool reads it.
    Approved {
        config: &'a str,
    },
    Denied {
        reason: &'a str,
    },
}

/// The key of an app that the browser has created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedKey {
    pub did: Did,
    /// Multibase base58btc.
    pub public_key: String,
}

/// With which a tool acts for a developer.
#[derive(Clone, Copy)]
pub struct ToolCredentials<'a> {
    pub developer: &'a Did,
    /// The secret key of an access token, which is stored nowhere unsealed.
    pub secret: &'a str,
    pub email: &'a str,
    pub name: &'a str,
}

/// With which a command line acts for a customer.
#[derive(Clone, Copy)]
pub struct CustomerCredentials<'a> {
    pub customer: &'a Did,
    /// The secret key of the computer, which is stored nowhere unsealed.
    pub secret: &'a str,
    pub name: &'a str,
}

/// What a tool is answered under its key.
#[derive(Clone, Copy)]
pub enum ToolConfig<'a> {
    CommandLine(ToolCredentials<'a>),
    Customer(CustomerCredentials<'a>),
    Studio { credentials: ToolCredentials<'a>, store: &'a Did, key: &'a OfferedKey },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The answer could not be sealed")]
pub struct SealError;

/// The cryptography of tool sessions, and the wire forms of their answers.
pub trait ToolSeals: Send + Sync {
    /// Reads an X25519 public key in base64url. `None`: it is not one, or everybody could open what is sealed to it (a point of low order).
    fn read_key(&self, text: &str) -> Option<[u8; 32]>;
    /// The answer in JSON, in a sealed box of libsodium that only the holder of the key opens, in base64.
    ///
    /// # Errors
    /// If the library refuses to seal.
    fn seal(&self, key: &[u8; 32], config: &ToolConfig<'_>) -> Result<String, SealError>;
    /// The keys of apps in JSON, which are no secret.
    fn keys(&self, keys: &[OfferedKey]) -> String;
    /// The DID of an ed25519 key (multibase base58btc) in the role of apps. `None`: it is no such key.
    fn app_did(&self, public_key: &str) -> Option<Did>;
}

#[async_trait]
pub trait ToolSessions: Send {
    async fn insert(&mut self, session: &ToolSession, visitor: &VisitorNetwork) -> Result<(), StorageError>;
    /// Finds a session that has not expired.
    async fn find(&mut self, token: &str, now: Timestamp) -> Result<Option<ToolSession>, StorageError>;
    /// Notes that a signed-in user sees the request. Changes nothing after the first time.
    async fn scan(&mut self, token: &str) -> Result<(), StorageError>;
    /// Ends a session that nobody has answered and that has not expired. Its answer can be read until `readable_until`. True for exactly
    /// one caller.
    async fn answer(
        &mut self,
        token: &str,
        answer: &ToolAnswer<'_>,
        now: Timestamp,
        readable_until: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Deletes a session of this action with its answer.
    async fn delete(&mut self, action: ToolAction, token: &str) -> Result<(), StorageError>;
    /// Deletes expired sessions, at most `limit`. Returns their number.
    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_the_first_forty_bits_of_the_key_without_letters_that_look_alike() {
        let mut key = [0; 32];
        assert_eq!(comparison_code(&key), "0000-0000");
        key[..5].copy_from_slice(&[0xff; 5]);
        assert_eq!(comparison_code(&key), "ZZZZ-ZZZZ");
        // 00000 00001 00010 00011 00100 00101 00110 00111
        key[..5].copy_from_slice(&[0x00, 0x44, 0x32, 0x14, 0xc7]);
        assert_eq!(comparison_code(&key), "0123-4567");
        // The key of the vector in reference/store.md 5.1.
        key[..5].copy_from_slice(&[0x13, 0xbe, 0x4f, 0xea, 0xea]);
        assert_eq!(comparison_code(&key), "2EZ4-ZTQA");
    }

    #[test]
    fn only_requests_with_a_token_are_for_developers_those_that_name_apps_need_keys_and_secrets_are_sealed() {
        let needs = |action: ToolAction| (action.needs_token(), action.needs_keys(), action.is_sealed());
        assert_eq!(
            ToolAction::ALL.iter().map(|action| needs(*action)).collect::<Vec<_>>(),
            [(true, false, true), (true, true, true), (false, true, false), (false, false, true)]
        );
        assert_eq!(ToolAction::from_name("gen-key-pair"), Some(ToolAction::GenerateKeys));
        assert_eq!(ToolAction::from_name("login"), None);
    }
}
