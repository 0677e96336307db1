//! The pricing formula of a line on the wire: its kind and its inputs, which pages show in the reader's language.

use serde_json::{Value, json};
use souk_domain::billing::{PricingFormula, Prorated};
use souk_domain::pricing::{Tier, TierCharge, tier_charges};

/// The formula as JSON; amounts are strings in base units.
#[must_use]
pub fn formula(pricing_formula: &PricingFormula) -> Value {
    match pricing_formula {
        PricingFormula::PerUnit { unit, quantity } => json!({ "kind": "per_unit", "unit_amount": unit.to_string(), "quantity": quantity }),
        PricingFormula::Tiered { mode, tiers, quantity } => {
            let tier = |tier: &Tier| json!({ "up_to": tier.up_to, "unit_amount": tier.unit_amount.to_string(), "flat_amount": tier.flat_amount.to_string() });
            let charge = |charge: TierCharge| json!({ "quantity": charge.units, "unit_amount": charge.unit_amount.to_string(), "flat_amount": charge.flat_amount.to_string() });
            let charges: Vec<_> = tier_charges(*mode, tiers, *quantity).into_iter().map(charge).collect();
            let tiers: Vec<_> = tiers.iter().map(tier).collect();
            json!({ "kind": "tiered", "tiers_mode": mode.name(), "tiers": tiers, "quantity": quantity, "charges": charges })
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
