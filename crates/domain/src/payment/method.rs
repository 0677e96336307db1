//! Payment methods and the currencies they settle in.

use crate::shared::{CurrencyId, MethodId, Mode, Timestamp};
use std::fmt;

/// A secret of a method: encrypted at rest, never in an answer, a log or a debug print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself. Call it only where it leaves for its network or for encryption.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The method types of SPEC.md 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    Arcblock,
    Bitcoin,
    Ethereum,
    Base,
    Stripe,
}

impl MethodKind {
    pub const ALL: [Self; 5] = [Self::Arcblock, Self::Bitcoin, Self::Ethereum, Self::Base, Self::Stripe];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arcblock => "arcblock",
            Self::Bitcoin => "bitcoin",
            Self::Ethereum => "ethereum",
            Self::Base => "base",
            Self::Stripe => "stripe",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    #[must_use]
    pub const fn is_card(self) -> bool {
        matches!(self, Self::Stripe)
    }
}

/// How a method reaches its network. A host that begins with `/` is this store's own sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MethodSettings {
    Arcblock { chain_id: String, api_host: String, explorer_host: String },
    Bitcoin { explorer_host: String },
    Evm { chain_id: u64, api_host: String, explorer_host: String, native_symbol: String, confirmation: u32 },
    Stripe { api_host: String, dashboard: String, publishable_key: String, secret_key: Secret, webhook_signing_secret: Secret },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    pub id: MethodId,
    pub mode: Mode,
    pub kind: MethodKind,
    pub active: bool,
    pub name: String,
    pub description: String,
    pub logo: String,
    pub settings: MethodSettings,
    pub default_currency_id: Option<CurrencyId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// SPEC.md 9: default amount precision.
pub const DEFAULT_MAXIMUM_PRECISION: u32 = 6;
/// SPEC.md 9: default token decimals.
pub const DEFAULT_TOKEN_DECIMALS: u32 = 18;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency {
    pub id: CurrencyId,
    pub method_id: MethodId,
    pub mode: Mode,
    pub active: bool,
    pub name: String,
    pub symbol: String,
    pub logo: String,
    /// Digits after the point of one unit.
    pub decimals: u32,
    /// How many of those a person may type.
    pub maximum_precision: u32,
    /// The token's address on its chain; for cards the lower-case ISO 4217 code.
    pub contract: String,
    pub is_base: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
