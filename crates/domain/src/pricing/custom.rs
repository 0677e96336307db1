//! Custom amounts, which the buyer chooses for the whole item.

use crate::shared::{Amount, MAX_DECIMALS};

/// The proposed and allowed amounts of a custom price.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomAmount {
    pub preset: Option<Amount>,
    pub presets: Vec<Amount>,
    pub minimum: Option<Amount>,
    pub maximum: Option<Amount>,
}

/// Amounts in the messages are decimal text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomAmountError {
    #[error("Please enter an amount between {minimum} and {maximum}.")]
    Between { minimum: String, maximum: String },
    #[error("Please enter an amount of at least {0}.")]
    TooSmall(String),
    #[error("amount has more than {0} decimals")]
    TooPrecise(u32),
}

impl CustomAmount {
    /// The default amount (payment-kit.md 5): the preset, else the first of the presets, else the minimum, else zero.
    #[must_use]
    pub fn proposed(&self) -> Amount {
        self.preset.or_else(|| self.presets.first().copied()).or(self.minimum).unwrap_or_default()
    }

    /// Whether the amount lies between minimum and maximum, both inclusive.
    #[must_use]
    pub fn allows(&self, amount: Amount) -> bool {
        self.minimum.is_none_or(|minimum| amount >= minimum) && self.maximum.is_none_or(|maximum| amount <= maximum)
    }

    /// Checks that the amount is allowed, and that it has no more decimals than `precision`. `decimals`: those of the currency.
    pub fn check(&self, amount: Amount, decimals: u32, precision: u32) -> Result<(), CustomAmountError> {
        let excess_decimals = decimals.min(MAX_DECIMALS).saturating_sub(precision);
        if !amount.base_units().is_multiple_of(10u128.pow(excess_decimals)) {
            return Err(CustomAmountError::TooPrecise(precision.min(decimals)));
        }
        if self.allows(amount) {
            return Ok(());
        }
        let minimum = self.minimum.unwrap_or_default().to_decimal(decimals);
        Err(match self.maximum {
            Some(maximum) => CustomAmountError::Between { minimum, maximum: maximum.to_decimal(decimals) },
            None => CustomAmountError::TooSmall(minimum),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn custom(minimum: Option<u128>, maximum: Option<u128>) -> CustomAmount {
        CustomAmount { minimum: minimum.map(Amount::new), maximum: maximum.map(Amount::new), ..CustomAmount::default() }
    }

    #[test]
    fn amounts_outside_the_range_are_rejected_with_its_limits() {
        let checked = |custom: CustomAmount, amount| custom.check(Amount::new(amount), 2, 6).map_err(|error| error.to_string());
        let between = || custom(Some(1), Some(10_000));
        assert_eq!(checked(between(), 1), Ok(()));
        assert_eq!(checked(between(), 10_000), Ok(()));
        assert_eq!(checked(between(), 0), Err("Please enter an amount between 0.01 and 100.".to_owned()));
        assert_eq!(checked(custom(None, Some(50)), 51), Err("Please enter an amount between 0 and 0.5.".to_owned()));
        assert_eq!(checked(custom(Some(50), None), 49), Err("Please enter an amount of at least 0.5.".to_owned()));
        assert_eq!(checked(custom(None, None), u128::MAX), Ok(()));
    }

    #[test]
    fn decimals_beyond_the_precision_are_rejected() {
        let open = custom(None, None);
        assert_eq!(open.check(Amount::new(1_000_000_000_000), 18, 6), Ok(()));
        assert_eq!(open.check(Amount::new(1_000_000_000_001), 18, 6), Err(CustomAmountError::TooPrecise(6)));
        assert_eq!(open.check(Amount::new(3), 2, 6), Ok(()));
        assert_eq!(open.check(Amount::new(3), 2, 0), Err(CustomAmountError::TooPrecise(0)));
    }

    proptest! {
        #[test]
        fn amounts_that_can_be_entered_are_never_too_precise(units: u64, decimals in 0u32..=38, precision in 0u32..=38) {
            let typed = format!("{units}");
            if let Ok(amount) = Amount::parse_decimal(&typed, decimals, precision) {
                prop_assert_eq!(custom(None, None).check(amount, decimals, precision), Ok(()));
            }
        }
    }
}
