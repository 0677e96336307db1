//! Decentralised identifiers, as addresses.

use std::fmt;

/// A bare, normalised address: no `did:abt:` in front, ethereum addresses with their checksum.
/// Only [`crate::access::Did::from_verified`] makes one, and only adapters that have checked the format call it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Did(String);

impl Did {
    /// Takes an address whose format was checked (adapters/identity), or that comes back from storage.
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
