//! Currencies: the units of amounts.

use super::{CurrencyId, MethodId, Mode, Timestamp};

/// A currency of a payment method. The same token or fiat currency at two methods is two currencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency {
    pub id: CurrencyId,
    pub method_id: MethodId,
    pub mode: Mode,
    pub active: bool,
    pub name: String,
    pub symbol: String,
    pub logo: String,
    /// The number of decimals of one unit.
    pub decimals: u32,
    /// The number of decimals that people can enter.
    pub maximum_precision: u32,
    /// The token's address on its chain; for cards the lower-case ISO 4217 code.
    pub contract: String,
    pub is_base: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
