//! The inputs and the formula of an invoice line's amount, stored with the line and shown to the customer.

use super::{Prorated, ProrationLine, share};
use crate::pricing::{Tier, TiersMode, UnitPricing, stake, tiered};
use crate::shared::{Amount, AmountError, Language};

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

    /// Formats the formula for the customer: `3 × 1.5 TBA`, `10 TBA × 12/30 days`. `decimals` and `symbol` are the currency's.
    #[must_use]
    pub fn text(&self, language: Language, decimals: u32, symbol: &str) -> String {
        let money = |amount: Amount| format!("{} {symbol}", amount.to_decimal(decimals));
        let chinese = language == Language::Chinese;
        match self {
            Self::PerUnit { unit, quantity } => format!("{quantity} × {}", money(*unit)),
            Self::Tiered { mode, tiers, quantity } => tiers_text(*mode, tiers, *quantity, &money),
            Self::Custom { amount } if chinese => format!("自选金额：{}", money(*amount)),
            Self::Custom { amount } => format!("The amount you chose: {}", money(*amount)),
            Self::Prorated { whole, seconds, of_seconds, rounded_up, .. } => {
                let share = share_text((*seconds).min(*of_seconds), *of_seconds, &money(*whole), language);
                match (rounded_up, chinese) {
                    (false, _) => share,
                    (true, false) => format!("{share}, rounded up"),
                    (true, true) => format!("{share}，向上取整"),
                }
            }
            Self::Stake { threshold, minimum, recurring } => {
                let required = *threshold.max(minimum);
                match (required.is_zero(), chinese) {
                    (true, false) => format!("Price of one period: {}", money(*recurring)),
                    (true, true) => format!("一个周期的费用：{}", money(*recurring)),
                    (false, false) => format!("Refundable deposit required by the store: {}", money(required)),
                    (false, true) => format!("商店要求的押金（可退）：{}", money(required)),
                }
            }
            Self::Rest { whole, billed } if chinese => {
                format!("{}，减去已计费的 {}", whole.text(language, decimals, symbol), money(*billed))
            }
            Self::Rest { whole, billed } => format!("{}, less {} already billed", whole.text(language, decimals, symbol), money(*billed)),
            Self::Flat { amount } => money(*amount),
        }
    }
}

/// `5 × 10 TBA + 100 TBA + 1 × 8 TBA`.
fn tiers_text(mode: TiersMode, tiers: &[Tier], quantity: u64, money: &dyn Fn(Amount) -> String) -> String {
    let mut parts = Vec::new();
    let mut part = |units: u64, tier: &Tier| {
        parts.push(format!("{units} × {}", money(tier.unit_amount)));
        if !tier.flat_amount.is_zero() {
            parts.push(money(tier.flat_amount));
        }
    };
    match mode {
        TiersMode::Volume => {
            if let Some(tier) = tiers.iter().find(|tier| tier.up_to.is_none_or(|end| quantity <= end)).or(tiers.last())
                && quantity > 0
            {
                part(quantity, tier);
            }
        }
        TiersMode::Graduated => {
            let mut before = 0;
            for (index, tier) in tiers.iter().enumerate().take_while(|_| quantity > 0) {
                if quantity <= before {
                    break;
                }
                let end = if index + 1 == tiers.len() { quantity } else { tier.up_to.unwrap_or(quantity).min(quantity) };
                part(end - before, tier);
                before = end;
            }
        }
    }
    if parts.is_empty() {
        format!("0 × {}", money(tiers.first().map_or(Amount::ZERO, |tier| tier.unit_amount)))
    } else {
        parts.join(" + ")
    }
}

/// Units of time, largest first: seconds, English name, Chinese name.
const UNITS: [(u64, &str, &str); 4] = [(86_400, "day", "天"), (3_600, "hour", "小时"), (60, "minute", "分钟"), (1, "second", "秒")];

fn share_text(seconds: u64, of_seconds: u64, whole: &str, language: Language) -> String {
    // Periods of less than a second are not prorated.
    if of_seconds == 0 {
        return whole.to_owned();
    }
    // The largest unit that divides both.
    let unit =
        UNITS.iter().find(|(length, ..)| of_seconds >= *length && seconds.is_multiple_of(*length) && of_seconds.is_multiple_of(*length));
    match (unit, language) {
        (Some((length, name, _)), Language::English) if *length > 1 => {
            format!("{whole} × {}/{}", seconds / length, counted(of_seconds / length, name))
        }
        (Some((length, _, name)), Language::Chinese) if *length > 1 => {
            format!("{whole} × {}/{} {name}", seconds / length, of_seconds / length)
        }
        (_, Language::English) => format!("{whole} for {} of {}", duration(seconds, language), duration(of_seconds, language)),
        (_, Language::Chinese) => format!("{whole}，按 {}/{}计", duration(seconds, language), duration(of_seconds, language)),
    }
}

/// `12 days 3 hours 5 seconds`.
fn duration(seconds: u64, language: Language) -> String {
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (length, english, chinese) in UNITS {
        let count = rest / length;
        rest %= length;
        if count > 0 || (length == 1 && parts.is_empty()) {
            parts.push(match language {
                Language::English => counted(count, english),
                Language::Chinese => format!("{count} {chinese}"),
            });
        }
    }
    parts.join(" ")
}

fn counted(count: u64, unit: &str) -> String {
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{Period, PlanLine, charges};
    use crate::pricing::CustomAmount;
    use crate::shared::{PriceId, Timestamp};
    use proptest::prelude::*;

    const DAY: u64 = 86_400;

    fn both(pricing_formula: &PricingFormula) -> [String; 2] {
        [Language::English, Language::Chinese].map(|language| pricing_formula.text(language, 1, "TBA"))
    }

    fn prorated(seconds: u64, of_seconds: u64) -> PricingFormula {
        let (what, whole) = (Prorated::Credit, Amount::new(100));
        PricingFormula::Prorated { what, whole, seconds, of_seconds, quantity: 1, rounded_up: false }
    }

    fn tiers() -> Vec<Tier> {
        vec![
            Tier { up_to: Some(5), unit_amount: Amount::new(100), flat_amount: Amount::new(1_000) },
            Tier { up_to: None, unit_amount: Amount::new(85), flat_amount: Amount::ZERO },
        ]
    }

    #[test]
    fn units_and_tiers_are_shown_as_sums() {
        let units = PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 };
        assert_eq!(both(&units), ["3 × 1.5 TBA", "3 × 1.5 TBA"]);
        let tiered = |mode, quantity| PricingFormula::Tiered { mode, tiers: tiers(), quantity }.text(Language::English, 1, "TBA");
        assert_eq!(tiered(TiersMode::Graduated, 6), "5 × 10 TBA + 100 TBA + 1 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Graduated, 0), "0 × 10 TBA");
        assert_eq!(tiered(TiersMode::Volume, 6), "6 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Volume, 2), "2 × 10 TBA + 100 TBA");
    }

    #[test]
    fn a_share_is_shown_in_the_largest_unit_that_divides_both_times() {
        assert_eq!(both(&prorated(12 * DAY, 30 * DAY)), ["10 TBA × 12/30 days", "10 TBA × 12/30 天"]);
        assert_eq!(both(&prorated(1_800, 3_600)), ["10 TBA × 30/60 minutes", "10 TBA × 30/60 分钟"]);
        assert_eq!(
            both(&prorated(12 * DAY + 3_605, 30 * DAY)),
            ["10 TBA for 12 days 1 hour 5 seconds of 30 days", "10 TBA，按 12 天 1 小时 5 秒/30 天计"]
        );
        assert_eq!(prorated(0, 30 * DAY).text(Language::English, 1, "TBA"), "10 TBA × 0/30 days");
        assert_eq!(both(&prorated(0, 0)), ["10 TBA", "10 TBA"]);
    }

    #[test]
    fn stake_texts_name_their_terms() {
        let by_minimum = PricingFormula::Stake { threshold: Amount::new(20), minimum: Amount::new(50), recurring: Amount::new(7) };
        assert_eq!(
            (by_minimum.amount(), &both(&by_minimum)[0][..]),
            (Ok(Amount::new(50)), "Refundable deposit required by the store: 5 TBA")
        );
        let by_recurring_price = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!((by_recurring_price.amount(), &both(&by_recurring_price)[1][..]), (Ok(Amount::new(7)), "一个周期的费用：0.7 TBA"));
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
    fn text_of_a_rest_shows_the_whole_and_what_was_billed() {
        let whole = Box::new(PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 });
        let rest = PricingFormula::Rest { whole: whole.clone(), billed: Amount::new(30) };
        assert_eq!(both(&rest), ["3 × 1.5 TBA, less 3 TBA already billed", "3 × 1.5 TBA，减去已计费的 3 TBA"]);
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
        fn the_shown_sum_equals_the_amount(quantity in 1u64..1_000, mode in prop_oneof![Just(TiersMode::Graduated), Just(TiersMode::Volume)]) {
            let tiered = PricingFormula::Tiered { mode, tiers: tiers(), quantity };
            let parsed = tiered.text(Language::English, 0, "").split(" + ").map(|part| {
                part.split('×').map(|factor| factor.trim().parse::<u128>().expect("a number")).product::<u128>()
            }).sum();
            prop_assert_eq!(tiered.amount(), Ok(Amount::new(parsed)));
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

        #[test]
        fn every_share_has_a_text(seconds: u64, of_seconds: u64) {
            for text in both(&prorated(seconds, of_seconds)) {
                prop_assert!(text.contains("10 TBA"));
            }
        }
    }
}
