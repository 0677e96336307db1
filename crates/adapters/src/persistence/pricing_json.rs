//! JSON forms of pricing values. Amounts are strings of base units, because JSON numbers are exact only up to 2^53.

use super::json::{JsonForm, stored_forms};
use super::value::{Bound, Kind, Stored, Value, stored};
use serde::{Deserialize, Serialize};
use souk_domain::pricing::{Aggregate, Anchoring, CurrencyOption, CustomAmount, Recurring, RecurringInterval, Tier, Usage};
use souk_domain::shared::{Amount, CurrencyId};

stored_forms! { Recurring, Vec<Tier>, CustomAmount, Vec<CurrencyOption> }

#[derive(Serialize, Deserialize)]
pub(super) struct RecurringForm {
    interval: String,
    count: u32,
    anchoring: String,
    /// How usage is aggregated; absent for a licensed price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metered: Option<String>,
}

impl JsonForm for Recurring {
    type Form = RecurringForm;
    fn form(self) -> RecurringForm {
        RecurringForm {
            interval: self.cycle.interval.name().to_owned(),
            count: self.cycle.count,
            anchoring: self.cycle.anchoring.name().to_owned(),
            metered: match self.usage {
                Usage::Licensed => None,
                Usage::Metered(aggregate) => Some(aggregate.name().to_owned()),
            },
        }
    }
    fn of(form: RecurringForm) -> Option<Self> {
        let cycle = RecurringInterval::named(&form.interval, form.count, Anchoring::from_name(&form.anchoring)?).ok()?;
        let usage = form.metered.map_or(Some(Usage::Licensed), |name| Aggregate::from_name(&name).map(Usage::Metered))?;
        Some(Self { cycle, usage })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct TierForm {
    /// Absent for the last tier, which has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up_to: Option<u64>,
    unit_amount: String,
    flat_amount: String,
}

impl JsonForm for Vec<Tier> {
    type Form = Vec<TierForm>;
    fn form(self) -> Vec<TierForm> {
        let tier = |tier: Tier| TierForm {
            up_to: tier.up_to,
            unit_amount: tier.unit_amount.to_string(),
            flat_amount: tier.flat_amount.to_string(),
        };
        self.into_iter().map(tier).collect()
    }
    fn of(form: Vec<TierForm>) -> Option<Self> {
        let tier = |form: TierForm| {
            Some(Tier { up_to: form.up_to, unit_amount: amount(&form.unit_amount)?, flat_amount: amount(&form.flat_amount)? })
        };
        form.into_iter().map(tier).collect()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CustomForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    presets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimum: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maximum: Option<String>,
}

impl JsonForm for CustomAmount {
    type Form = CustomForm;
    fn form(self) -> CustomForm {
        CustomForm {
            preset: self.preset.map(|amount| amount.to_string()),
            presets: self.presets.iter().map(ToString::to_string).collect(),
            minimum: self.minimum.map(|amount| amount.to_string()),
            maximum: self.maximum.map(|amount| amount.to_string()),
        }
    }
    fn of(form: CustomForm) -> Option<Self> {
        let optional = |text: Option<String>| text.map_or(Some(None), |text| amount(&text).map(Some));
        Some(Self {
            preset: optional(form.preset)?,
            presets: form.presets.iter().map(|text| amount(text)).collect::<Option<_>>()?,
            minimum: optional(form.minimum)?,
            maximum: optional(form.maximum)?,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct OptionForm {
    currency_id: String,
    unit_amount: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<TierForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom: Option<CustomForm>,
}

impl JsonForm for Vec<CurrencyOption> {
    type Form = Vec<OptionForm>;
    fn form(self) -> Vec<OptionForm> {
        let option = |option: CurrencyOption| OptionForm {
            currency_id: option.currency_id.to_string(),
            unit_amount: option.unit_amount.to_string(),
            tiers: option.tiers.form(),
            custom: option.custom.map(JsonForm::form),
        };
        self.into_iter().map(option).collect()
    }
    fn of(form: Vec<OptionForm>) -> Option<Self> {
        let option = |form: OptionForm| {
            Some(CurrencyOption {
                currency_id: CurrencyId::parse(&form.currency_id).ok()?,
                unit_amount: amount(&form.unit_amount)?,
                tiers: Vec::of(form.tiers)?,
                custom: form.custom.map_or(Some(None), |custom| CustomAmount::of(custom).map(Some))?,
            })
        };
        form.into_iter().map(option).collect()
    }
}

fn amount(text: &str) -> Option<Amount> {
    Amount::parse_base_units(text).ok()
}
