//! The inputs and the formula of an invoice line's amount, stored with the line. Pages show it in the reader's language.

use super::{Prorated, ProrationLine, share};
use crate::pricing::{Tier, TiersMode, UnitPricing, stake, tiered};
use crate::shared::{Amount, AmountError};

/// The inputs of a required stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StakeTerms {
    pub threshold: Amount,
    pub minimum: Amount,
    /// The price of all recurring items for one period.
    pub recurring: Amount,
}

impl StakeTerms {
    #[must_use]
    pub fn amount(self) -> Amount {
        stake(self.threshold, self.minimum, self.recurring)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PricingFormula {
    PerUnit {
        unit: Amount,
        quantity: u64,
    },
    Tiered {
        mode: TiersMode,
        tiers: Vec<Tier>,
        quantity: u64,
    },
    /// An amount that the buyer chose.
    Custom {
        amount: Amount,
    },
    /// `whole * seconds / of_seconds`, plus one base unit if `rounded_up`. `whole` is the price of the full `quantity`.
    Prorated {
        what: Prorated,
        whole: Amount,
        seconds: u64,
        of_seconds: u64,
        quantity: u64,
        rounded_up: bool,
    },
    /// The larger of threshold and minimum; if both are zero, the price of all recurring items for one period.
    Stake {
        threshold: Amount,
        minimum: Amount,
        recurring: Amount,
    },
    Flat {
        amount: Amount,
    },
    /// The price of usage less what earlier invoices of its period billed; zero if they billed more.
    Rest {
        whole: Box<Self>,
        billed: Amount,
    },
}

impl From<&ProrationLine> for PricingFormula {
    fn from(line: &ProrationLine) -> Self {
        Self::Prorated {
            what: line.what,
            whole: line.whole,
            seconds: line.seconds,
            of_seconds: line.of_seconds,
            quantity: line.quantity,
            rounded_up: line.rounded_up,
        }
    }
}

impl PricingFormula {
    /// The formula of a price for a quantity. For custom amounts, the preset.
    #[must_use]
    pub fn of(pricing: &UnitPricing<'_>, quantity: u64) -> Self {
        match pricing {
            UnitPricing::PerUnit(unit) => Self::PerUnit { unit: *unit, quantity },
            UnitPricing::Tiered { mode, tiers } => Self::Tiered { mode: *mode, tiers: tiers.to_vec(), quantity },
            UnitPricing::Custom(custom) => Self::Custom { amount: custom.proposed() },
        }
    }

    /// The formula of a stake: its terms if they yield the amount, else the flat amount.
    #[must_use]
    pub fn of_stake(terms: Option<StakeTerms>, amount: Amount) -> Self {
        let required = terms.map(|StakeTerms { threshold, minimum, recurring }| Self::Stake { threshold, minimum, recurring });
        required.filter(|required| required.amount() == Ok(amount)).unwrap_or(Self::Flat { amount })
    }

    /// Recomputes the amount from its inputs.
    pub fn amount(&self) -> Result<Amount, AmountError> {
        match self {
            Self::PerUnit { unit, quantity } => unit.times(*quantity),
            Self::Tiered { mode, tiers, quantity } => tiered(*mode, tiers, *quantity),
            Self::Custom { amount } | Self::Flat { amount } => Ok(*amount),
            Self::Prorated { whole, seconds, of_seconds, rounded_up, .. } => {
                share(*whole, *seconds, *of_seconds).plus(Amount::new(u128::from(*rounded_up)))
            }
            Self::Stake { threshold, minimum, recurring } => Ok(stake(*threshold, *minimum, *recurring)),
            Self::Rest { whole, billed } => Ok(whole.amount()?.minus(*billed).unwrap_or_default()),
        }
    }

    /// The price of the period's whole usage, including what was billed before.
    pub fn whole(&self) -> Result<Amount, AmountError> {
        match self {
            Self::Rest { whole, .. } => whole.amount(),
            pricing_formula => pricing_formula.amount(),
        }
    }

    /// The excess of earlier invoices of the period over the price of its usage.
    pub fn overbilled(&self) -> Result<Amount, AmountError> {
        match self {
            Self::Rest { whole, billed } => Ok(billed.minus(whole.amount()?).unwrap_or_default()),
            _ => Ok(Amount::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{Period, PlanLine, charges};
    use crate::pricing::CustomAmount;
    use crate::shared::{PriceId, Timestamp};
    use proptest::prelude::*;

    const DAY: u64 = 86_400;

    fn tiers() -> Vec<Tier> {
        vec![
            Tier { up_to: Some(5), unit_amount: Amount::new(100), flat_amount: Amount::new(1_000) },
            Tier { up_to: None, unit_amount: Amount::new(85), flat_amount: Amount::ZERO },
        ]
    }

    #[test]
    fn a_stake_is_the_larger_of_its_terms_or_else_the_price_of_one_period() {
        let by_minimum = PricingFormula::Stake { threshold: Amount::new(20), minimum: Amount::new(50), recurring: Amount::new(7) };
        assert_eq!(by_minimum.amount(), Ok(Amount::new(50)));
        let by_recurring_price = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!(by_recurring_price.amount(), Ok(Amount::new(7)));
        let terms = StakeTerms { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!(PricingFormula::of_stake(Some(terms), Amount::new(7)), by_recurring_price);
        assert_eq!(PricingFormula::of_stake(Some(terms), Amount::new(3)), PricingFormula::Flat { amount: Amount::new(3) });
    }

    #[test]
    fn each_unit_pricing_has_a_formula_with_the_same_amount() {
        let custom = CustomAmount { preset: Some(Amount::new(5)), ..CustomAmount::default() };
        let tiers = tiers();
        for pricing in [
            UnitPricing::PerUnit(Amount::new(7)),
            UnitPricing::Tiered { mode: TiersMode::Graduated, tiers: &tiers },
            UnitPricing::Custom(&custom),
        ] {
            assert_eq!(PricingFormula::of(&pricing, 9).amount(), pricing.amount_for(9));
        }
    }

    #[test]
    fn a_rest_is_the_whole_less_what_was_billed() {
        let whole = Box::new(PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 });
        let rest = PricingFormula::Rest { whole: whole.clone(), billed: Amount::new(30) };
        assert_eq!(rest.amount(), Ok(Amount::new(15)));
        assert_eq!(PricingFormula::Rest { whole, billed: Amount::new(50) }.amount(), Ok(Amount::ZERO));
    }

    proptest! {
        #[test]
        fn the_formula_of_a_prorated_line_recomputes_its_amount(whole_prices in proptest::collection::vec(any::<u64>(), 1..6), at in 0u64..=30 * DAY) {
            let plan = |(n, whole): (usize, &u64)| PlanLine {
                price_id: PriceId::parse(&format!("price_{n}")).expect("an id"),
                quantity: 1,
                whole: Amount::new(u128::from(*whole)),
            };
            let plans: Vec<_> = whole_prices.iter().enumerate().map(plan).collect();
            let month = Period { start: Timestamp::from_seconds(0), end: Timestamp::from_seconds(30 * DAY as i64) };
            for line in charges(&plans, &month, Timestamp::from_seconds(at as i64)).expect("charges") {
                prop_assert_eq!(PricingFormula::from(&line).amount(), Ok(line.amount));
            }
        }

        #[test]
        fn invoices_within_a_period_add_up_to_the_price_of_its_usage(
            reports in proptest::collection::vec(0u64..20, 1..8),
            mode in prop_oneof![Just(TiersMode::Graduated), Just(TiersMode::Volume)],
        ) {
            let (mut used, mut billed, mut surplus) = (0, Amount::ZERO, Amount::ZERO);
            for (place, more) in reports.iter().enumerate() {
                used += more;
                let whole = PricingFormula::Tiered { mode, tiers: tiers(), quantity: used };
                let costs = whole.amount().expect("an amount");
                let rest = PricingFormula::Rest { whole: Box::new(whole), billed };
                billed = billed.plus(rest.amount().expect("an amount")).expect("adds up");
                if place + 1 == reports.len() {
                    surplus = billed.minus(costs).expect("never less was billed");
                }
            }
            let costs = tiered(mode, &tiers(), used).expect("an amount");
            prop_assert_eq!(billed.minus(surplus), Ok(costs));
            prop_assert!(mode == TiersMode::Volume || surplus.is_zero(), "graduated prices only grow with usage, so nothing is overbilled");
        }
    }
}
