//! The formula of a line's amount, as documents show it.

use souk_domain::billing::PricingFormula;
use souk_domain::pricing::{TierCharge, tier_charges};
use souk_domain::shared::{Amount, Language};

/// Formats a formula for the customer: `3 × 1.5 TBA`, `10 TBA × 12/30 days`.
pub(super) fn formula_text(formula: &PricingFormula, language: Language, money: &dyn Fn(Amount) -> String) -> String {
    let chinese = language == Language::Chinese;
    match formula {
        PricingFormula::PerUnit { unit, quantity } => format!("{quantity} × {}", money(*unit)),
        PricingFormula::Tiered { mode, tiers, quantity } => tiers_text(&tier_charges(*mode, tiers, *quantity), money),
        PricingFormula::Custom { amount } if chinese => format!("自选金额：{}", money(*amount)),
        PricingFormula::Custom { amount } => format!("The amount you chose: {}", money(*amount)),
        PricingFormula::Prorated { whole, seconds, of_seconds, rounded_up, .. } => {
            let share = share_text((*seconds).min(*of_seconds), *of_seconds, &money(*whole), language);
            match (rounded_up, chinese) {
                (false, _) => share,
                (true, false) => format!("{share}, rounded up"),
                (true, true) => format!("{share}，向上取整"),
            }
        }
        PricingFormula::Stake { threshold, minimum, recurring } => {
            let required = *threshold.max(minimum);
            match (required.is_zero(), chinese) {
                (true, false) => format!("Price of one period: {}", money(*recurring)),
                (true, true) => format!("一个周期的费用：{}", money(*recurring)),
                (false, false) => format!("Refundable deposit required by the store: {}", money(required)),
                (false, true) => format!("商店要求的押金（可退）：{}", money(required)),
            }
        }
        PricingFormula::Rest { whole, billed } => {
            let whole = formula_text(whole, language, money);
            match chinese {
                false => format!("{whole}, less {} already billed", money(*billed)),
                true => format!("{whole}，减去已计费的 {}", money(*billed)),
            }
        }
        PricingFormula::Flat { amount } => money(*amount),
    }
}

/// `5 × 10 TBA + 100 TBA + 1 × 8 TBA`.
fn tiers_text(charges: &[TierCharge], money: &dyn Fn(Amount) -> String) -> String {
    let mut parts = Vec::new();
    for charge in charges {
        parts.push(format!("{} × {}", charge.units, money(charge.unit_amount)));
        if !charge.flat_amount.is_zero() {
            parts.push(money(charge.flat_amount));
        }
    }
    if parts.is_empty() { money(Amount::ZERO) } else { parts.join(" + ") }
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
    use proptest::prelude::*;
    use souk_domain::billing::Prorated;
    use souk_domain::pricing::{Tier, TiersMode};

    const DAY: u64 = 86_400;

    fn text(formula: &PricingFormula, language: Language) -> String {
        formula_text(formula, language, &|amount| format!("{} TBA", amount.to_decimal(1)))
    }

    fn both(formula: &PricingFormula) -> [String; 2] {
        [Language::English, Language::Chinese].map(|language| text(formula, language))
    }

    fn prorated(seconds: u64, of_seconds: u64, rounded_up: bool) -> PricingFormula {
        let (what, whole) = (Prorated::Credit, Amount::new(100));
        PricingFormula::Prorated { what, whole, seconds, of_seconds, quantity: 1, rounded_up }
    }

    fn tiered(mode: TiersMode, quantity: u64) -> PricingFormula {
        let tiers = vec![
            Tier { up_to: Some(5), unit_amount: Amount::new(100), flat_amount: Amount::new(1_000) },
            Tier { up_to: None, unit_amount: Amount::new(85), flat_amount: Amount::ZERO },
        ];
        PricingFormula::Tiered { mode, tiers, quantity }
    }

    #[test]
    fn units_and_tiers_are_shown_as_sums() {
        let units = PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 };
        assert_eq!(both(&units), ["3 × 1.5 TBA", "3 × 1.5 TBA"]);
        let tiered = |mode, quantity| text(&tiered(mode, quantity), Language::English);
        assert_eq!(tiered(TiersMode::Graduated, 6), "5 × 10 TBA + 100 TBA + 1 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Graduated, 0), "0 TBA");
        assert_eq!(tiered(TiersMode::Volume, 6), "6 × 8.5 TBA");
        assert_eq!(tiered(TiersMode::Volume, 2), "2 × 10 TBA + 100 TBA");
    }

    #[test]
    fn a_share_is_shown_in_the_largest_unit_that_divides_both_times() {
        assert_eq!(both(&prorated(12 * DAY, 30 * DAY, false)), ["10 TBA × 12/30 days", "10 TBA × 12/30 天"]);
        assert_eq!(both(&prorated(1_800, 3_600, true)), ["10 TBA × 30/60 minutes, rounded up", "10 TBA × 30/60 分钟，向上取整"]);
        assert_eq!(
            both(&prorated(12 * DAY + 3_605, 30 * DAY, false)),
            ["10 TBA for 12 days 1 hour 5 seconds of 30 days", "10 TBA，按 12 天 1 小时 5 秒/30 天计"]
        );
        assert_eq!(both(&prorated(0, 30 * DAY, false))[0], "10 TBA × 0/30 days");
        assert_eq!(both(&prorated(0, 0, false)), ["10 TBA", "10 TBA"]);
    }

    #[test]
    fn stake_texts_name_their_terms() {
        let by_minimum = PricingFormula::Stake { threshold: Amount::new(20), minimum: Amount::new(50), recurring: Amount::new(7) };
        assert_eq!(both(&by_minimum), ["Refundable deposit required by the store: 5 TBA", "商店要求的押金（可退）：5 TBA"]);
        let by_price = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::new(7) };
        assert_eq!(both(&by_price), ["Price of one period: 0.7 TBA", "一个周期的费用：0.7 TBA"]);
    }

    #[test]
    fn the_text_of_a_rest_shows_the_whole_and_what_was_billed() {
        let whole = Box::new(PricingFormula::PerUnit { unit: Amount::new(15), quantity: 3 });
        let rest = PricingFormula::Rest { whole, billed: Amount::new(30) };
        assert_eq!(both(&rest), ["3 × 1.5 TBA, less 3 TBA already billed", "3 × 1.5 TBA，减去已计费的 3 TBA"]);
    }

    proptest! {
        #[test]
        fn every_share_has_a_text(seconds: u64, of_seconds: u64) {
            for text in both(&prorated(seconds, of_seconds, false)) {
                prop_assert!(text.contains("10 TBA"));
            }
        }
    }
}
