//! The price of a quantity: per unit, by tiers, or a custom amount.

use super::CustomAmount;
use crate::shared::{Amount, AmountError};

/// A range of units that ends with `up_to`, inclusive (`None`: it is open-ended).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    pub up_to: Option<u64>,
    pub unit_amount: Amount,
    /// Charged once when the tier is reached.
    pub flat_amount: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TiersMode {
    /// Each unit is charged by its own tier, and each tier reached adds its flat amount.
    Graduated,
    /// All units are charged by the tier of the total quantity, plus its flat amount.
    Volume,
}

impl TiersMode {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Graduated => "graduated",
            Self::Volume => "volume",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Graduated, Self::Volume].into_iter().find(|mode| mode.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TiersError {
    #[error("tiers are required")]
    None,
    #[error("up_to must increase from tier to tier, and only the last tier has none")]
    Order,
}

/// Checks that the tiers cover every quantity exactly once.
pub fn check_tiers(tiers: &[Tier]) -> Result<(), TiersError> {
    let (last, others) = tiers.split_last().ok_or(TiersError::None)?;
    let ends: Option<Vec<u64>> = others.iter().map(|tier| tier.up_to).collect();
    let ends = ends.ok_or(TiersError::Order)?;
    let rising = ends.first().is_none_or(|first| *first > 0) && ends.windows(2).all(|pair| pair[0] < pair[1]);
    if rising && last.up_to.is_none() { Ok(()) } else { Err(TiersError::Order) }
}

/// The pricing of a price in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitPricing<'a> {
    PerUnit(Amount),
    Tiered { mode: TiersMode, tiers: &'a [Tier] },
    Custom(&'a CustomAmount),
}

impl UnitPricing<'_> {
    /// The price of `quantity` units. For a custom amount, its default. With tiers, zero units are free, since no tier is reached.
    pub fn amount_for(&self, quantity: u64) -> Result<Amount, AmountError> {
        match self {
            Self::PerUnit(unit) => unit.times(quantity),
            Self::Tiered { mode, tiers } => tiered(*mode, tiers, quantity),
            Self::Custom(custom) => Ok(custom.proposed()),
        }
    }
}

/// The units that one tier charges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierCharge {
    pub units: u64,
    pub unit_amount: Amount,
    /// Charged once.
    pub flat_amount: Amount,
}

impl TierCharge {
    const fn new(units: u64, tier: &Tier) -> Self {
        Self { units, unit_amount: tier.unit_amount, flat_amount: tier.flat_amount }
    }

    fn amount(&self) -> Result<Amount, AmountError> {
        self.unit_amount.times(self.units)?.plus(self.flat_amount)
    }
}

/// What each tier charges of `quantity` units. Units beyond the end of the last tier, which checked tiers do not have, are charged by the
/// last tier.
#[must_use]
pub fn tier_charges(mode: TiersMode, tiers: &[Tier], quantity: u64) -> Vec<TierCharge> {
    if quantity == 0 {
        return Vec::new();
    }
    match mode {
        TiersMode::Volume => {
            let tier = tiers.iter().find(|tier| tier.up_to.is_none_or(|end| quantity <= end)).or(tiers.last());
            tier.map(|tier| TierCharge::new(quantity, tier)).into_iter().collect()
        }
        TiersMode::Graduated => {
            let (mut charges, mut before) = (Vec::new(), 0);
            for (index, tier) in tiers.iter().enumerate() {
                if quantity <= before {
                    break;
                }
                let end = if index + 1 == tiers.len() { quantity } else { tier.up_to.unwrap_or(quantity).min(quantity) };
                charges.push(TierCharge::new(end - before, tier));
                before = end;
            }
            charges
        }
    }
}

/// The price of `quantity` units by tiers.
pub fn tiered(mode: TiersMode, tiers: &[Tier], quantity: u64) -> Result<Amount, AmountError> {
    tier_charges(mode, tiers, quantity).iter().try_fold(Amount::ZERO, |total, charge| total.plus(charge.amount()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tier(up_to: Option<u64>, unit: u128, flat: u128) -> Tier {
        Tier { up_to, unit_amount: Amount::new(unit), flat_amount: Amount::new(flat) }
    }

    fn three() -> Vec<Tier> {
        vec![tier(Some(5), 10, 100), tier(Some(10), 8, 0), tier(None, 5, 30)]
    }

    #[test]
    fn graduated_units_are_charged_by_their_own_tier() {
        let charge = |quantity| tiered(TiersMode::Graduated, &three(), quantity).map(Amount::base_units);
        assert_eq!(charge(0), Ok(0));
        assert_eq!(charge(1), Ok(110));
        assert_eq!(charge(5), Ok(150));
        assert_eq!(charge(6), Ok(158));
        assert_eq!(charge(10), Ok(190));
        assert_eq!(charge(11), Ok(225));
    }

    #[test]
    fn volume_units_are_all_charged_by_the_last_tier_reached() {
        let charge = |quantity| tiered(TiersMode::Volume, &three(), quantity).map(Amount::base_units);
        assert_eq!(charge(0), Ok(0));
        assert_eq!(charge(5), Ok(150));
        assert_eq!(charge(6), Ok(48));
        assert_eq!(charge(10), Ok(80));
        assert_eq!(charge(11), Ok(85));
    }

    #[test]
    fn a_custom_amount_costs_its_preset_whatever_the_quantity() {
        let custom = CustomAmount { presets: vec![Amount::new(3), Amount::new(9)], ..CustomAmount::default() };
        assert_eq!(UnitPricing::Custom(&custom).amount_for(7), Ok(Amount::new(3)));
        let preset = CustomAmount { preset: Some(Amount::new(5)), ..custom };
        assert_eq!(UnitPricing::Custom(&preset).amount_for(7), Ok(Amount::new(5)));
    }

    #[test]
    fn tiers_that_overlap_or_have_no_open_end_are_rejected() {
        assert_eq!(check_tiers(&three()), Ok(()));
        assert_eq!(check_tiers(&[]), Err(TiersError::None));
        for invalid in [
            vec![tier(Some(5), 1, 0)],
            vec![tier(Some(5), 1, 0), tier(Some(5), 1, 0), tier(None, 1, 0)],
            vec![tier(None, 1, 0), tier(None, 1, 0)],
            vec![tier(Some(0), 1, 0), tier(None, 1, 0)],
        ] {
            assert_eq!(check_tiers(&invalid), Err(TiersError::Order), "{invalid:?}");
        }
    }

    fn tiers() -> impl Strategy<Value = Vec<Tier>> {
        let row = (1u64..50, 0u128..1_000, 0u128..1_000);
        (proptest::collection::vec(row, 0..5), 0u128..1_000, 0u128..1_000).prop_map(|(rows, unit, flat)| {
            let mut end = 0;
            let mut tiers: Vec<_> = rows
                .into_iter()
                .map(|(width, unit, flat)| {
                    end += width;
                    tier(Some(end), unit, flat)
                })
                .collect();
            tiers.push(tier(None, unit, flat));
            tiers
        })
    }

    /// Computes the graduated price unit by unit.
    fn price_by_unit(tiers: &[Tier], quantity: u64) -> u128 {
        let of = |unit: u64| tiers.iter().position(|tier| tier.up_to.is_none_or(|end| unit <= end)).expect("an open end");
        let mut reached = None;
        let mut sum = 0;
        for unit in 1..=quantity {
            let index = of(unit);
            if reached != Some(index) {
                sum += tiers[index].flat_amount.base_units();
                reached = Some(index);
            }
            sum += tiers[index].unit_amount.base_units();
        }
        sum
    }

    proptest! {
        #[test]
        fn graduated_tiers_cost_the_sum_of_their_units(tiers in tiers(), quantity in 0u64..300) {
            prop_assert_eq!(check_tiers(&tiers), Ok(()));
            prop_assert_eq!(tiered(TiersMode::Graduated, &tiers, quantity), Ok(Amount::new(price_by_unit(&tiers, quantity))));
        }

        #[test]
        fn one_tier_is_the_same_in_both_modes(unit in 0u128..1_000, flat in 0u128..1_000, quantity: u32) {
            let one = [tier(None, unit, flat)];
            let charge = |mode| tiered(mode, &one, quantity.into());
            prop_assert_eq!(charge(TiersMode::Graduated), charge(TiersMode::Volume));
        }

        #[test]
        fn graduated_prices_never_fall_with_the_quantity(tiers in tiers(), quantity in 0u64..300) {
            let charge = |quantity| tiered(TiersMode::Graduated, &tiers, quantity).expect("small");
            prop_assert!(charge(quantity + 1) >= charge(quantity));
        }
    }
}
