//! What differs between the networks that the ledger can play: the generation of the chain's software, and the gas prices.

use super::TOKEN_DECIMALS;
use serde::Deserialize;
use std::str::FromStr;

/// The published generations of the chain's software that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Generation {
    /// Knows neither CBOR nor the newer fields of the schema.
    #[serde(rename = "1.20.8")]
    V1_20_8,
    #[default]
    #[serde(rename = "1.30.24")]
    Current,
}

impl Generation {
    pub const ALL: [Self; 2] = [Self::V1_20_8, Self::Current];

    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::V1_20_8 => "1.20.8",
            Self::Current => "1.30.24",
        }
    }
}

impl FromStr for Generation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|generation| generation.version() == text).ok_or("the generations are 1.20.8 and 1.30.24")
    }
}

/// One token, in base units.
const UNIT: u128 = 10_u128.pow(TOKEN_DECIMALS);
/// Units of gas for a byte of a transaction, for each state that it creates (itself included), and for each state that it updates.
pub const GAS_OF_BYTE: u64 = 1;
pub const GAS_OF_CREATED_STATE: u64 = 100;
pub const GAS_OF_UPDATED_STATE: u64 = 50;
/// The limits of one stake for gas, in base units.
pub const MIN_GAS_STAKE: u128 = 32 * UNIT;
pub const MAX_GAS_STAKE: u128 = 320 * UNIT;
/// Seconds until a revoked stake for gas can be claimed.
pub const GAS_STAKE_LOCK: u32 = 7 * 86_400;

/// The network that the ledger plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ChainConfig {
    pub generation: Generation,
    /// The price of one unit of gas, in base units of the token; zero: transactions are free.
    pub gas_price: u64,
}

impl ChainConfig {
    /// The gas of a transaction in base units.
    pub(super) fn gas(self, bytes: usize, created: usize, updated: usize) -> u128 {
        let units = |count: usize, gas: u64| u128::try_from(count).unwrap_or(u128::MAX).saturating_mul(u128::from(gas));
        units(bytes, GAS_OF_BYTE)
            .saturating_add(units(created.saturating_add(1), GAS_OF_CREATED_STATE))
            .saturating_add(units(updated, GAS_OF_UPDATED_STATE))
            .saturating_mul(u128::from(self.gas_price))
    }
}
