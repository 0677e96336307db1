//! Parses the amounts of a price, which are decimal text in the price's currencies.

use super::{CurrencyOption, CustomAmount, LIST_MAX, Price, Tier, TiersError, check_tiers};
use crate::shared::{Amount, AmountError, Currency, CurrencyId, InputError, check_count};

/// Why the amounts of a price are rejected.
#[derive(Debug, thiserror::Error)]
pub enum PriceAmountsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("currency_id does not name a currency of this mode")]
    NoSuchCurrency,
    #[error("currency_options name a currency twice")]
    CurrencyTwice,
    #[error("unit_amount is not valid: {0}")]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Tiers(#[from] TiersError),
    #[error("tiers are for recurring prices without custom_unit_amount")]
    TiersMisplaced,
    #[error("custom_unit_amount is for prices that are paid once")]
    CustomRecurring,
    #[error("custom_unit_amount must propose amounts between its minimum and its maximum")]
    CustomRange,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TierFields {
    /// Absent: open-ended.
    pub up_to: Option<u64>,
    pub unit_amount: Option<String>,
    pub flat_amount: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomFields {
    pub preset: Option<String>,
    pub presets: Vec<String>,
    pub minimum: Option<String>,
    pub maximum: Option<String>,
}

/// The amounts of a price in one currency: per unit, by tiers, or custom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PricingFields {
    pub unit_amount: Option<String>,
    pub tiers: Option<Vec<TierFields>>,
    pub custom: Option<CustomFields>,
}

impl PricingFields {
    #[must_use]
    pub fn per_unit(unit_amount: impl Into<String>) -> Self {
        Self { unit_amount: Some(unit_amount.into()), ..Self::default() }
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.unit_amount.is_none() && self.tiers.is_none() && self.custom.is_none()
    }

    /// Parses the amounts in a currency. `currencies` are those of the price's own mode (invariant 9).
    pub(super) fn read(self, currencies: &[Currency], id: CurrencyId) -> Result<CurrencyOption, PriceAmountsError> {
        let currency = currencies.iter().find(|currency| currency.id == id).ok_or(PriceAmountsError::NoSuchCurrency)?;
        let amount = |text: &String| Amount::parse_decimal(text, currency.decimals, currency.maximum_precision);
        let optional = |text: Option<&String>| text.map(amount).transpose();
        let tier = |tier: TierFields| -> Result<Tier, PriceAmountsError> {
            Ok(Tier {
                up_to: tier.up_to,
                unit_amount: optional(tier.unit_amount.as_ref())?.unwrap_or_default(),
                flat_amount: optional(tier.flat_amount.as_ref())?.unwrap_or_default(),
            })
        };
        let tiers = self.tiers.unwrap_or_default();
        check_count("tiers", tiers.len() as u64, LIST_MAX as u64)?;
        let custom = match self.custom {
            None => None,
            Some(custom) => {
                check_count("presets", custom.presets.len() as u64, LIST_MAX as u64)?;
                Some(CustomAmount {
                    preset: optional(custom.preset.as_ref())?,
                    presets: custom.presets.iter().map(amount).collect::<Result<_, _>>()?,
                    minimum: optional(custom.minimum.as_ref())?,
                    maximum: optional(custom.maximum.as_ref())?,
                })
            }
        };
        Ok(CurrencyOption {
            unit_amount: optional(self.unit_amount.as_ref())?.unwrap_or_default(),
            tiers: tiers.into_iter().map(tier).collect::<Result<_, _>>()?,
            custom,
            currency_id: id,
        })
    }
}

/// Checks that the price has valid amounts of the same pricing type in every currency.
pub(super) fn check_rates(price: &Price) -> Result<(), PriceAmountsError> {
    let base = (&price.tiers, price.custom.as_ref());
    let options = price.currency_options.iter().map(|option| (&option.tiers, option.custom.as_ref()));
    for (tiers, custom) in std::iter::once(base).chain(options) {
        match price.tiers_mode {
            Some(_) => check_tiers(tiers)?,
            None if !tiers.is_empty() => return Err(InputError::Required("tiers_mode").into()),
            None => {}
        }
        if custom.is_some() != price.custom.is_some() {
            return Err(InputError::Required("custom_unit_amount").into());
        }
        if let Some(custom) = custom {
            check_custom(custom)?;
        }
    }
    if price.tiers_mode.is_some() && (price.custom.is_some() || price.recurring.is_none()) {
        return Err(PriceAmountsError::TiersMisplaced);
    }
    if price.custom.is_some() && price.is_recurring() {
        return Err(PriceAmountsError::CustomRecurring);
    }
    Ok(())
}

/// Checks that all proposed amounts are allowed.
fn check_custom(custom: &CustomAmount) -> Result<(), PriceAmountsError> {
    let amounts = [custom.minimum, custom.maximum, custom.preset];
    let are_allowed = amounts.into_iter().flatten().chain(custom.presets.iter().copied()).all(|amount| custom.allows(amount));
    if are_allowed { Ok(()) } else { Err(PriceAmountsError::CustomRange) }
}
