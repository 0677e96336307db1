//! Payment methods and the currencies they settle in.

use crate::shared::{Amount, Currency, CurrencyId, MAX_DECIMALS, MethodId, Mode, Timestamp};
use std::fmt;

/// A secret of a method: encrypted at rest, and never part of a response, a log or debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The plain value. Call it only to send it to its network or to encrypt it.
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

/// The minimum charge of a card network, in hundredths of a unit: Stripe's minimum in US dollars and euros.
const CARD_MINIMUM_HUNDREDTHS: u128 = 50;

/// The default amount precision (SPEC.md 9).
pub const DEFAULT_MAXIMUM_PRECISION: u32 = 6;
/// The default number of token decimals (SPEC.md 9).
pub const DEFAULT_TOKEN_DECIMALS: u32 = 18;

impl MethodKind {
    /// The minimum charge in a currency, in base units; networks decline smaller payments.
    #[must_use]
    pub fn minimum_charge(self, currency: &Currency) -> Amount {
        if !self.is_card() {
            return Amount::new(1);
        }
        match currency.decimals {
            0 => Amount::new(CARD_MINIMUM_HUNDREDTHS),
            1 => Amount::new(CARD_MINIMUM_HUNDREDTHS / 10),
            decimals => Amount::new(CARD_MINIMUM_HUNDREDTHS * 10u128.pow(decimals.min(MAX_DECIMALS) - 2)),
        }
    }

    /// The part of an invoice that a balance pays: as much as possible, unless the remainder would fall below the network's minimum charge.
    #[must_use]
    pub fn applied_balance(self, currency: &Currency, total: Amount, balance: Amount) -> Amount {
        let rest = total.minus(balance).unwrap_or_default();
        let minimum = self.minimum_charge(currency);
        if rest.is_zero() {
            total
        } else if rest >= minimum {
            balance
        } else {
            total.minus(minimum).unwrap_or_default().min(balance)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dollars() -> Currency {
        let at = Timestamp::from_seconds(0);
        Currency {
            id: CurrencyId::parse("pc_1").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: "Dollar".into(),
            symbol: "USD".into(),
            logo: String::new(),
            decimals: 2,
            maximum_precision: 2,
            contract: "usd".into(),
            is_base: false,
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn a_balance_leaves_the_minimum_charge_or_nothing() {
        let applied =
            |total, balance| MethodKind::Stripe.applied_balance(&dollars(), Amount::new(total), Amount::new(balance)).base_units();
        assert_eq!(applied(1_000, 300), 300);
        assert_eq!(applied(1_000, 1_000), 1_000);
        assert_eq!(applied(1_000, 2_000), 1_000);
        assert_eq!(applied(1_000, 980), 950, "the card is charged the minimum");
        assert_eq!(applied(30, 10), 0, "the invoice itself is below the minimum");
        assert_eq!(MethodKind::Arcblock.applied_balance(&dollars(), Amount::new(1_000), Amount::new(999)), Amount::new(999));
    }

    proptest! {
        #[test]
        fn the_applied_balance_never_exceeds_the_balance_or_the_total(total in 0u128..2_000, balance in 0u128..2_000) {
            let applied = MethodKind::Stripe.applied_balance(&dollars(), Amount::new(total), Amount::new(balance)).base_units();
            prop_assert!(applied <= total.min(balance));
            let rest = total - applied;
            prop_assert!(rest == 0 || rest >= 50 || total < 50);
        }
    }
}
