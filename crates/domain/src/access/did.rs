//! Decentralized identifiers (DIDs) as addresses.

use std::fmt;

/// A bare, normalized address: without `did:abt:`; Ethereum addresses with their checksum. Only [`crate::access::Did::from_verified`]
/// creates one, and only callers that have verified the format may call it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Did(String);

impl Did {
    /// Wraps an address whose format was verified (adapters/identity) or that was read from storage.
    #[must_use]
    pub fn from_verified(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
