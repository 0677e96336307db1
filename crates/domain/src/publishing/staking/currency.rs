//! The currency in which developers place deposits, and how much of it.

use crate::context::Context;
use crate::payment::{Currency, Method};
use crate::publishing::{Preferences, StakePreference};
use crate::shared::{Amount, AmountError, Mode, StorageError};
use crate::storage::UnitOfWork;

/// A currency that holds deposits, with its method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StakeCurrency {
    pub method: Method,
    pub currency: Currency,
}

/// What a deposit costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositTerms {
    pub of: StakeCurrency,
    pub amount: Amount,
    pub waiting_days: u32,
}

impl DepositTerms {
    fn new(of: StakeCurrency, preference: StakePreference) -> Result<Self, AmountError> {
        let amount = amount_in(&of.currency, preference)?;
        Ok(Self { of, amount, waiting_days: preference.waiting_days })
    }
}

/// The amount of a preference in base units.
fn amount_in(currency: &Currency, preference: StakePreference) -> Result<Amount, AmountError> {
    Amount::parse_decimal(&preference.amount.normalize().to_string(), currency.decimals, currency.decimals)
}

/// The currency with this symbol in which a wallet can place deposits: a live one, or one of test mode if the store has no live one at all.
/// Test money does not stand in for a live currency that is switched off. Of several, the oldest. `None`: no active method has such a
/// currency, or its network holds no deposits.
pub(super) async fn stake_currency(ctx: &Context, unit: &mut dyn UnitOfWork, symbol: &str) -> Result<Option<StakeCurrency>, StorageError> {
    for mode in [Mode::Live, Mode::Test] {
        let methods = unit.methods().list(mode).await?;
        let mut currencies = unit.methods().currencies(mode).await?;
        currencies.retain(|currency| currency.symbol == symbol);
        let is_known = !currencies.is_empty();
        currencies.retain(|currency| currency.active);
        currencies.sort_by(|a, b| a.id.cmp(&b.id));
        let holds = |method: &&Method| method.active && ctx.networks.wallet(method.kind).is_some();
        let found = currencies.into_iter().find_map(|currency| {
            let method = methods.iter().filter(holds).find(|method| method.id == currency.method_id)?.clone();
            Some(StakeCurrency { method, currency })
        });
        if is_known {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Whether deposits can be placed by these preferences: in their currency, with amounts that it can express.
pub(in crate::publishing) async fn has_stake_currency(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    preferences: &Preferences,
) -> Result<bool, StorageError> {
    let Some(of) = stake_currency(ctx, unit, &preferences.stake_currency).await? else { return Ok(false) };
    Ok([preferences.passport_stake, preferences.publish_stake].into_iter().all(|stake| amount_in(&of.currency, stake).is_ok()))
}

/// What a deposit costs by the preferences. `None`: it cannot be placed at present.
pub(super) async fn deposit_terms(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    symbol: &str,
    preference: StakePreference,
) -> Result<Option<DepositTerms>, StorageError> {
    let of = stake_currency(ctx, unit, symbol).await?;
    // The owner may have changed the decimals of the currency.
    Ok(of.and_then(|of| DepositTerms::new(of, preference).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{CurrencyId, MethodId, Timestamp};
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    fn currency(decimals: u32) -> Currency {
        let at = Timestamp::from_seconds(0);
        Currency {
            id: CurrencyId::parse("pc_1").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: "Token".to_owned(),
            symbol: "TOK".to_owned(),
            logo: String::new(),
            decimals,
            maximum_precision: 2,
            contract: String::new(),
            is_base: true,
            created_at: at,
            updated_at: at,
        }
    }

    fn amount(text: &str, decimals: u32) -> Result<u128, AmountError> {
        let preference = StakePreference { amount: text.parse().expect("a decimal"), waiting_days: 7 };
        amount_in(&currency(decimals), preference).map(Amount::base_units)
    }

    #[test]
    fn an_amount_is_exact_in_base_units_or_refused() {
        assert_eq!(amount("1", 18), Ok(1_000_000_000_000_000_000));
        assert_eq!(amount("0.000001", 6), Ok(1));
        assert_eq!(amount("2.50", 2), Ok(250));
        assert_eq!(amount("1000000.000000", 0), Ok(1_000_000));
        assert_eq!(amount("0.5", 0), Err(AmountError::TooPrecise(0)));
    }

    proptest! {
        #[test]
        fn every_amount_of_a_preference_fits_a_currency_of_six_decimals(millionths in 1i64..=1_000_000_000_000) {
            let preference = StakePreference { amount: Decimal::new(millionths, 6), waiting_days: 7 };
            let expected = u128::try_from(millionths).expect("is positive");
            prop_assert_eq!(amount_in(&currency(6), preference).map(Amount::base_units), Ok(expected));
        }
    }
}
