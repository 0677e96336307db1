//! Why a line of an invoice is what it is: the inputs and the formula of its amount, kept with it and told to whoever pays.

use super::{Prorated, ProrationLine, share};
use crate::pricing::{Tier, TiersMode, UnitPricing, stake, tiered};
use crate::shared::{Amount, AmountError, Language};

/// What a stake is reckoned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StakeTerms {
    pub threshold: Amount,
    pub minimum: Amount,
    /// What all that recurs costs in a period.
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
    /// Named by the buyer.
    Custom {
        amount: Amount,
    },
    /// `whole * seconds / of_seconds`, one base unit more where `rounded_up`; `whole` is of all of the `quantity`.
    Prorated {
        what: Prorated,
        whole: Amount,
        seconds: u64,
        of_seconds: u64,
        quantity: u64,
        rounded_up: bool,
    },
    /// The larger of threshold and minimum, else what all recurring prices cost in a period.
    Stake {
        threshold: Amount,
        minimum: Amount,
        recurring: Amount,
    },
    Flat {
        amount: Amount,
    },
    /// Usage, less what earlier invoices of its period ask for; nothing where they ask for more.
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
    /// Of a price that asks in this manner; a custom amount: its preset.
    #[must_use]
    pub fn of(rate: &UnitPricing<'_>, quantity: u64) -> Self {
        match rate {
            UnitPricing::PerUnit(unit) => Self::PerUnit { unit: *unit, quantity },
            UnitPricing::Tiered { mode, tiers } => Self::Tiered { mode: *mode, tiers: tiers.to_vec(), quantity },
            UnitPricing::Custom(custom) => Self::Custom { amount: custom.proposed() },
        }
    }

    /// Why a stake is what it is: what is asked for and what a period costs. Where something else was left, that alone.
    #[must_use]
    pub fn of_stake(terms: Option<StakeTerms>, left: Amount) -> Self {
        let asked = terms.map(|StakeTerms { threshold, minimum, recurring }| Self::Stake { threshold, minimum, recurring });
        asked.filter(|asked| asked.amount() == Ok(left)).unwrap_or(Self::Flat { amount: left })
    }

    /// The amount again, from its inputs. Whether it is given back says [`Self::is_credit`].
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

    /// What the usage of the whole period costs, without what was billed before.
    pub fn whole(&self) -> Result<Amount, AmountError> {
        match self {
            Self::Rest { whole, .. } => whole.amount(),
            calculation => calculation.amount(),
        }
    }

    /// By how much earlier invoices of the period ask for more than its usage costs.
    pub fn overbilled(&self) -> Result<Amount, AmountError> {
        match self {
            Self::Rest { whole, billed } => Ok(billed.minus(whole.amount()?).unwrap_or_default()),
            _ => Ok(Amount::ZERO),
        }
    }

    /// Whether it credits unused time, on a credit note.
    #[must_use]
    pub const fn is_credit(&self) -> bool {
        matches!(self, Self::Prorated { what: Prorated::Credit, .. })
    }

    /// `3 × 1.5 TBA`, `12 of 30 days of 10 TBA`: for whoever pays. `decimals` and `symbol` are the currency's.
    #[must_use]
    pub fn text(&self, language: Language, decimals: u32, symbol: &str) -> String {
        let money = |amount: Amount| format!("{} {symbol}", amount.to_decimal(decimals));
        let chinese = language == Language::Chinese;
        match self {
            Self::PerUnit { unit, quantity } => format!("{quantity} × {}", money(*unit)),
            Self::Tiered { mode, tiers, quantity } => tiers_text(*mode, tiers, *quantity, &money),
            Self::Custom { amount } if chinese => format!("你选择的金额：{}", money(*amount)),
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
                let least = *threshold.max(minimum);
                match (least.is_zero(), chinese) {
                    (true, false) => format!("Price of one period: {}", money(*recurring)),
                    (true, true) => format!("一个周期的费用：{}", money(*recurring)),
                    (false, false) => format!("Refundable deposit required by the store: {}", money(least)),
                    (false, true) => format!("商店要求的押金（可退）：{}", money(least)),
                }
            }
            Self::Rest { whole, billed } if chinese => {
                format!("{}，减去已出账单 {}", whole.text(language, decimals, symbol), money(*billed))
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

/// Names of a length of time, and its seconds: from days, in which periods are told, to seconds.
const UNITS: [(u64, &str, &str); 4] = [(86_400, "day", "天"), (3_600, "hour", "小时"), (60, "minute", "分钟"), (1, "second", "秒")];

fn share_text(seconds: u64, of_seconds: u64, whole: &str, language: Language) -> String {
    // Of less than a second, nothing is divided.
    if of_seconds == 0 {
        return whole.to_owned();
    }
    // In the largest unit that both are whole numbers of.
    let unit =
        UNITS.iter().find(|(length, ..)| of_seconds >= *length && seconds.is_multiple_of(*length) && of_seconds.is_multiple_of(*length));
    match (unit, language) {
        (Some((length, name, _)), Language::English) if *length > 1 => {
            format!("{} of {} of {whole}", seconds / length, counted(of_seconds / length, name))
        }
        (Some((length, _, name)), Language::Chinese) if *length > 1 => {
            format!("{whole} 的 {} {name}中的 {} {name}", of_seconds / length, seconds / length)
        }
        (_, Language::English) => format!("{} of {} of {whole}", duration(seconds, language), duration(of_seconds, language)),
        (_, Language::Chinese) => format!("{whole} 的 {}中的 {}", duration(of_seconds, language), duration(seconds, language)),
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

    fn both(calculation: &PricingFormula) -> [String; 2] {
        [Language::English, Language::Chinese].map(|language| calculation.text(language, 1, "TBA"))
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
    fn units_and_tiers_are_told_as_sums() {
        let units = PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 };
        assert_eq!(both(&units), ["3 × 1.5 TBA", "3 × 1.5 TBA"]);
        let tiered = |mode, quantity| PricingFormula::Tiered { mode, tiers: tiers(), quantity }.text(Language::English, 1, "TBA");
        assert_eq!(tiered(TiersMode::Graduated, 6), "5 × 10 TBA + 100 TBA + 1 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Graduated, 0), "0 × 10 TBA");
        assert_eq!(tiered(TiersMode::Volume, 6), "6 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Volume, 2), "2 × 10 TBA + 100 TBA");
    }

    #[test]
    fn a_share_is_told_in_the_largest_unit_that_fits() {
        assert_eq!(both(&prorated(12 * DAY, 30 * DAY)), ["12 of 30 days of 10 TBA", "10 TBA 的 30 天中的 12 天"]);
        assert_eq!(both(&prorated(1_800, 3_600)), ["30 of 60 minutes of 10 TBA", "10 TBA 的 60 分钟中的 30 分钟"]);
        assert_eq!(
            both(&prorated(12 * DAY + 3_605, 30 * DAY)),
            ["12 days 1 hour 5 seconds of 30 days of 10 TBA", "10 TBA 的 30 天中的 12 天 1 小时 5 秒"]
        );
        assert_eq!(prorated(0, 30 * DAY).text(Language::English, 1, "TBA"), "0 of 30 days of 10 TBA");
        assert_eq!(both(&prorated(0, 0)), ["10 TBA", "10 TBA"]);
    }

    #[test]
    fn stakes_say_where_they_come_from() {
        let asked = PricingFormula::Stake { threshold: Amount::new(20), minimum: Amount::new(50), recurring: Amount::new(7) };
        assert_eq!((asked.amount(), &both(&asked)[0][..]), (Ok(Amount::new(50)), "Refundable deposit required by the store: 5 TBA"));
        let own = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!((own.amount(), &both(&own)[1][..]), (Ok(Amount::new(7)), "一个周期的费用：0.7 TBA"));
        let terms = StakeTerms { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!(PricingFormula::of_stake(Some(terms), Amount::new(7)), own);
        assert_eq!(PricingFormula::of_stake(Some(terms), Amount::new(3)), PricingFormula::Flat { amount: Amount::new(3) });
    }

    #[test]
    fn each_manner_of_asking_has_its_formula() {
        let custom = CustomAmount { preset: Some(Amount::new(5)), ..CustomAmount::default() };
        let tiers = tiers();
        for rate in [
            UnitPricing::PerUnit(Amount::new(7)),
            UnitPricing::Tiered { mode: TiersMode::Graduated, tiers: &tiers },
            UnitPricing::Custom(&custom),
        ] {
            assert_eq!(PricingFormula::of(&rate, 9).amount(), rate.charge(9));
        }
    }

    #[test]
    fn what_was_billed_before_is_told_beside_the_whole() {
        let whole = Box::new(PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 });
        let rest = PricingFormula::Rest { whole: whole.clone(), billed: Amount::new(30) };
        assert_eq!(both(&rest), ["3 × 1.5 TBA, less 3 TBA already billed", "3 × 1.5 TBA，减去已出账单 3 TBA"]);
        assert_eq!((rest.amount(), rest.is_credit()), (Ok(Amount::new(15)), false));
        assert_eq!(PricingFormula::Rest { whole, billed: Amount::new(50) }.amount(), Ok(Amount::ZERO));
    }

    #[test]
    fn credits_are_told_from_charges() {
        assert!(prorated(1, 2).is_credit());
        assert!(!PricingFormula::Flat { amount: Amount::new(1) }.is_credit());
    }

    proptest! {
        #[test]
        fn what_a_prorated_line_keeps_says_its_amount_again(wholes in proptest::collection::vec(any::<u64>(), 1..6), at in 0u64..=30 * DAY) {
            let plan = |(n, whole): (usize, &u64)| PlanLine {
                price_id: PriceId::parse(&format!("price_{n}")).expect("an id"),
                quantity: 1,
                whole: Amount::new(u128::from(*whole)),
            };
            let plans: Vec<_> = wholes.iter().enumerate().map(plan).collect();
            let month = Period { start: Timestamp::from_seconds(0), end: Timestamp::from_seconds(30 * DAY as i64) };
            for line in charges(&plans, &month, Timestamp::from_seconds(at as i64)).expect("charges") {
                prop_assert_eq!(PricingFormula::from(&line).amount(), Ok(line.amount));
            }
        }

        #[test]
        fn a_sum_that_is_told_is_the_sum_that_is_due(quantity in 1u64..1_000, mode in prop_oneof![Just(TiersMode::Graduated), Just(TiersMode::Volume)]) {
            let tiered = PricingFormula::Tiered { mode, tiers: tiers(), quantity };
            let told = tiered.text(Language::English, 0, "").split(" + ").map(|part| {
                part.split('×').map(|factor| factor.trim().parse::<u128>().expect("a number")).product::<u128>()
            }).sum();
            prop_assert_eq!(tiered.amount(), Ok(Amount::new(told)));
        }

        #[test]
        fn however_often_usage_is_billed_before_the_end_all_bills_come_to_what_it_costs(
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
            prop_assert!(mode == TiersMode::Volume || surplus.is_zero(), "what grows with usage is never billed too early");
        }

        #[test]
        fn every_share_can_be_told(seconds: u64, of_seconds: u64) {
            for text in both(&prorated(seconds, of_seconds)) {
                prop_assert!(text.contains("10 TBA"));
            }
        }
    }
}
