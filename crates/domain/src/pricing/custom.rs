//! An amount that the buyer names, of the whole item.

use crate::shared::{Amount, MAX_DECIMALS};

/// What a price of this kind proposes and allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomAmount {
    pub preset: Option<Amount>,
    pub presets: Vec<Amount>,
    pub minimum: Option<Amount>,
    pub maximum: Option<Amount>,
}

/// Ends in human decimals.
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
    /// What is asked for until the buyer says otherwise (payment-kit.md 5).
    #[must_use]
    pub fn proposed(&self) -> Amount {
        self.preset.or_else(|| self.presets.first().copied()).or(self.minimum).unwrap_or_default()
    }

    /// Both ends are in.
    #[must_use]
    pub fn allows(&self, amount: Amount) -> bool {
        self.minimum.is_none_or(|minimum| amount >= minimum) && self.maximum.is_none_or(|maximum| amount <= maximum)
    }

    /// Refuses what lies outside, or has more digits after the point than the currency's `precision` of its `decimals`.
    pub fn check(&self, amount: Amount, decimals: u32, precision: u32) -> Result<(), CustomAmountError> {
        let unwritten = decimals.min(MAX_DECIMALS).saturating_sub(precision);
        if !amount.base_units().is_multiple_of(10u128.pow(unwritten)) {
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
    fn what_lies_outside_is_refused_with_the_ends() {
        let told = |custom: CustomAmount, amount| custom.check(Amount::new(amount), 2, 6).map_err(|error| error.to_string());
        let between = || custom(Some(1), Some(10_000));
        assert_eq!(told(between(), 1), Ok(()));
        assert_eq!(told(between(), 10_000), Ok(()));
        assert_eq!(told(between(), 0), Err("Please enter an amount between 0.01 and 100.".to_owned()));
        assert_eq!(told(custom(None, Some(50)), 51), Err("Please enter an amount between 0 and 0.5.".to_owned()));
        assert_eq!(told(custom(Some(50), None), 49), Err("Please enter an amount of at least 0.5.".to_owned()));
        assert_eq!(told(custom(None, None), u128::MAX), Ok(()));
    }

    #[test]
    fn digits_beyond_the_precision_are_refused() {
        let open = custom(None, None);
        assert_eq!(open.check(Amount::new(1_000_000_000_000), 18, 6), Ok(()));
        assert_eq!(open.check(Amount::new(1_000_000_000_001), 18, 6), Err(CustomAmountError::TooPrecise(6)));
        assert_eq!(open.check(Amount::new(3), 2, 6), Ok(()));
        assert_eq!(open.check(Amount::new(3), 2, 0), Err(CustomAmountError::TooPrecise(0)));
    }

    proptest! {
        #[test]
        fn what_can_be_typed_is_never_too_precise(units: u64, decimals in 0u32..=38, precision in 0u32..=38) {
            let typed = format!("{units}");
            if let Ok(amount) = Amount::parse_decimal(&typed, decimals, precision) {
                prop_assert_eq!(custom(None, None).check(amount, decimals, precision), Ok(()));
            }
        }
    }
}
