//! The pricing formula of a line on the wire: its name, its inputs, and a text in both languages.

use crate::routes::checkout_sessions::TextModel;
use serde_json::{Value, json};
use souk_domain::billing::{PricingFormula, Prorated};
use souk_domain::payment::Currency;
use souk_domain::pricing::Tier;
use souk_domain::shared::Language;

/// The formula as JSON; amounts are strings in base units.
#[must_use]
pub fn formula(pricing_formula: &PricingFormula) -> Value {
    match pricing_formula {
        PricingFormula::PerUnit { unit, quantity } => json!({ "kind": "per_unit", "unit_amount": unit.to_string(), "quantity": quantity }),
        PricingFormula::Tiered { mode, tiers, quantity } => {
            let tier = |tier: &Tier| json!({ "up_to": tier.up_to, "unit_amount": tier.unit_amount.to_string(), "flat_amount": tier.flat_amount.to_string() });
            let tiers: Vec<_> = tiers.iter().map(tier).collect();
            json!({ "kind": "tiered", "tiers_mode": mode.name(), "tiers": tiers, "quantity": quantity })
        }
        PricingFormula::Custom { amount } => json!({ "kind": "custom", "amount": amount.to_string() }),
        PricingFormula::Prorated { what, whole, seconds, of_seconds, quantity, rounded_up } => json!({
            "kind": "prorated",
            "what": match what { Prorated::Credit => "credit", Prorated::Charge => "charge" },
            "whole": whole.to_string(),
            "seconds": seconds,
            "of_seconds": of_seconds,
            "quantity": quantity,
            "rounded_up": rounded_up,
        }),
        PricingFormula::Stake { threshold, minimum, recurring } => json!({
            "kind": "stake",
            "threshold": threshold.to_string(),
            "minimum": minimum.to_string(),
            "recurring": recurring.to_string(),
        }),
        PricingFormula::Rest { whole, billed } => json!({ "kind": "rest", "whole": formula(whole), "billed": billed.to_string() }),
        PricingFormula::Flat { amount } => json!({ "kind": "flat", "amount": amount.to_string() }),
    }
}

#[must_use]
pub fn formula_text(pricing_formula: &PricingFormula, currency: &Currency) -> TextModel {
    let text = |language| pricing_formula.text(language, currency.decimals, &currency.symbol);
    TextModel { en: text(Language::English), zh: text(Language::Chinese) }
}
