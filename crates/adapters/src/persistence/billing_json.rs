//! JSON forms of billing values: mandate details, recurring intervals, cancellations and others.

use super::json::{JsonForm, SavedCardForm, stored_forms};
use super::pricing_json::TierForm;
use super::value::{Bound, Kind, Stored, Value, stored};
use serde::{Deserialize, Serialize};
use souk_domain::access::Did;
use souk_domain::billing::{
    BilledUsage, CancelReason, Cancellation, ClockEvent, Feedback, PricingFormula, Prorated, TimelineEvent, TrialTerms,
};
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::{CardHolder, ChargedPeriod, MandateDetails, SavedCard};
use souk_domain::pricing::{Anchoring, RecurringInterval, Tier, TiersMode};
use souk_domain::shared::{Amount, CreditNoteId, CurrencyId, CustomerId, InvoiceId, SubscriptionId, Timestamp};
use std::collections::BTreeMap;

stored_forms! { Vec<InvoiceId>, Vec<SubscriptionId>, Vec<CreditNoteId>, SubscriptionTerms, CardHolder, ChargedPeriod, MandateDetails, RecurringInterval, Cancellation, Vec<ClockEvent>, PricingFormula, BilledUsage }

macro_rules! id_lists {
    ($($id:ident),*) => {$(
        impl JsonForm for Vec<$id> {
            type Form = Vec<String>;
            fn form(self) -> Vec<String> {
                self.iter().map(ToString::to_string).collect()
            }
            fn of(form: Vec<String>) -> Option<Self> {
                form.iter().map(|id| $id::parse(id).ok()).collect()
            }
        }
    )*};
}
id_lists! { InvoiceId, SubscriptionId, CreditNoteId }

impl JsonForm for ChargedPeriod {
    type Form = BTreeMap<String, String>;
    fn form(self) -> Self::Form {
        self.fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
    fn of(form: Self::Form) -> Option<Self> {
        Self::of(|name| form.get(name).map(String::as_str))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct SubscriptionTermsForm {
    trial_days: u32,
    trial_end: Option<i64>,
    trial_currencies: Vec<String>,
    no_stake: bool,
    min_stake: Option<String>,
    billing_threshold: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    resets_anchor: bool,
    description: String,
    days_until_cancel: Option<u32>,
    metadata: BTreeMap<String, String>,
}

impl JsonForm for SubscriptionTerms {
    type Form = SubscriptionTermsForm;
    fn form(self) -> SubscriptionTermsForm {
        SubscriptionTermsForm {
            trial_days: self.trial.days,
            trial_end: self.trial.end.map(Timestamp::micros),
            trial_currencies: self.trial.currencies.iter().map(ToString::to_string).collect(),
            no_stake: self.no_stake,
            min_stake: self.min_stake_amount,
            billing_threshold: self.billing_threshold_amount,
            resets_anchor: self.resets_anchor,
            description: self.description,
            days_until_cancel: self.days_until_cancel,
            metadata: self.metadata,
        }
    }
    fn of(form: SubscriptionTermsForm) -> Option<Self> {
        Some(Self {
            trial: TrialTerms {
                days: form.trial_days,
                end: form.trial_end.map(Timestamp::from_micros),
                currencies: form.trial_currencies.iter().map(|id| CurrencyId::parse(id).ok()).collect::<Option<_>>()?,
            },
            no_stake: form.no_stake,
            min_stake_amount: form.min_stake,
            billing_threshold_amount: form.billing_threshold,
            resets_anchor: form.resets_anchor,
            description: form.description,
            days_until_cancel: form.days_until_cancel,
            metadata: form.metadata,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CardHolderForm {
    customer_id: String,
    name: String,
    email: String,
}

impl JsonForm for CardHolder {
    type Form = CardHolderForm;
    fn form(self) -> CardHolderForm {
        CardHolderForm { customer_id: self.customer.to_string(), name: self.name, email: self.email }
    }
    fn of(form: CardHolderForm) -> Option<Self> {
        Some(Self::new(CustomerId::parse(&form.customer_id).ok()?, form.name, form.email))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum MandateDetailsForm {
    Delegation { payer: String, limits: Vec<(String, String)>, reference: String },
    Card(SavedCardForm),
}

impl JsonForm for MandateDetails {
    type Form = MandateDetailsForm;
    fn form(self) -> MandateDetailsForm {
        match self {
            Self::Delegation { payer, limits, reference } => MandateDetailsForm::Delegation {
                reference,
                payer: payer.to_string(),
                limits: limits.into_iter().map(|(currency, most)| (currency.to_string(), most.to_string())).collect(),
            },
            Self::Card(card) => MandateDetailsForm::Card(card.form()),
        }
    }
    fn of(form: MandateDetailsForm) -> Option<Self> {
        Some(match form {
            MandateDetailsForm::Delegation { payer, limits, reference } => Self::Delegation {
                reference,
                payer: Did::from_verified(payer),
                limits: limits
                    .into_iter()
                    .map(|(currency, most)| Some((CurrencyId::parse(&currency).ok()?, Amount::parse_base_units(&most).ok()?)))
                    .collect::<Option<_>>()?,
            },
            MandateDetailsForm::Card(card) => Self::Card(SavedCard::of(card)?),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct IntervalForm {
    interval: String,
    count: u32,
    calendar: bool,
}

impl JsonForm for RecurringInterval {
    type Form = IntervalForm;
    fn form(self) -> IntervalForm {
        IntervalForm { interval: self.interval.name().to_owned(), count: self.count, calendar: self.anchoring == Anchoring::Calendar }
    }
    fn of(form: IntervalForm) -> Option<Self> {
        let anchoring = if form.calendar { Anchoring::Calendar } else { Anchoring::Fixed };
        Self::named(&form.interval, form.count, anchoring).ok()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CancellationForm {
    reason: String,
    feedback: Option<String>,
    comment: String,
    requested_at: i64,
    clearing_stake: Option<String>,
}

impl JsonForm for Cancellation {
    type Form = CancellationForm;
    fn form(self) -> CancellationForm {
        CancellationForm {
            reason: self.reason.name().to_owned(),
            feedback: self.feedback.map(|feedback| feedback.name().to_owned()),
            comment: self.comment,
            requested_at: self.requested_at.micros(),
            clearing_stake: self.clearing_stake,
        }
    }
    fn of(form: CancellationForm) -> Option<Self> {
        let feedback = match form.feedback {
            Some(name) => Some(Feedback::from_name(&name)?),
            None => None,
        };
        let reason = CancelReason::from_name(&form.reason)?;
        let requested_at = Timestamp::from_micros(form.requested_at);
        Some(Self { reason, feedback, comment: form.comment, requested_at, clearing_stake: form.clearing_stake })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct BilledUsageForm {
    from: i64,
    until: i64,
    amount: String,
    carried_over: String,
}

impl JsonForm for BilledUsage {
    type Form = BilledUsageForm;
    fn form(self) -> BilledUsageForm {
        let (from, until) = (self.from.micros(), self.until.micros());
        BilledUsageForm { from, until, amount: self.amount.to_string(), carried_over: self.carried_over.to_string() }
    }
    fn of(form: BilledUsageForm) -> Option<Self> {
        let amount = Amount::parse_base_units(&form.amount).ok()?;
        let (from, until) = (Timestamp::from_micros(form.from), Timestamp::from_micros(form.until));
        let carried_over = Amount::parse_base_units(&form.carried_over).ok()?;
        Some(Self { from, until, amount, carried_over })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ClockEventForm {
    at: i64,
    what: String,
    subject: String,
}

impl JsonForm for Vec<ClockEvent> {
    type Form = Vec<ClockEventForm>;
    fn form(self) -> Vec<ClockEventForm> {
        self.into_iter()
            .map(|event| ClockEventForm { at: event.at.micros(), what: event.what.name().to_owned(), subject: event.subject })
            .collect()
    }
    fn of(form: Vec<ClockEventForm>) -> Option<Self> {
        let event = |form: ClockEventForm| {
            Some(ClockEvent { at: Timestamp::from_micros(form.at), what: TimelineEvent::from_name(&form.what)?, subject: form.subject })
        };
        form.into_iter().map(event).collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "formula", rename_all = "snake_case")]
pub(super) enum PricingFormulaForm {
    PerUnit { unit: String, quantity: u64 },
    Tiered { mode: String, tiers: Vec<TierForm>, quantity: u64 },
    Custom { amount: String },
    Prorated { what: String, whole: String, seconds: u64, of_seconds: u64, quantity: u64, rounded_up: bool },
    Stake { threshold: String, minimum: String, recurring: String },
    Rest { whole: Box<Self>, billed: String },
    Flat { amount: String },
}

impl JsonForm for PricingFormula {
    type Form = PricingFormulaForm;
    fn form(self) -> PricingFormulaForm {
        match self {
            Self::PerUnit { unit, quantity } => PricingFormulaForm::PerUnit { unit: unit.to_string(), quantity },
            Self::Tiered { mode, tiers, quantity } => {
                PricingFormulaForm::Tiered { mode: mode.name().to_owned(), tiers: tiers.form(), quantity }
            }
            Self::Custom { amount } => PricingFormulaForm::Custom { amount: amount.to_string() },
            Self::Prorated { what, whole, seconds, of_seconds, quantity, rounded_up } => PricingFormulaForm::Prorated {
                what: what.name().to_owned(),
                whole: whole.to_string(),
                seconds,
                of_seconds,
                quantity,
                rounded_up,
            },
            Self::Stake { threshold, minimum, recurring } => PricingFormulaForm::Stake {
                threshold: threshold.to_string(),
                minimum: minimum.to_string(),
                recurring: recurring.to_string(),
            },
            Self::Rest { whole, billed } => PricingFormulaForm::Rest { whole: Box::new(whole.form()), billed: billed.to_string() },
            Self::Flat { amount } => PricingFormulaForm::Flat { amount: amount.to_string() },
        }
    }
    fn of(form: PricingFormulaForm) -> Option<Self> {
        let amount = |text: &str| Amount::parse_base_units(text).ok();
        Some(match form {
            PricingFormulaForm::PerUnit { unit, quantity } => Self::PerUnit { unit: amount(&unit)?, quantity },
            PricingFormulaForm::Tiered { mode, tiers, quantity } => {
                Self::Tiered { mode: TiersMode::from_name(&mode)?, tiers: Vec::<Tier>::of(tiers)?, quantity }
            }
            PricingFormulaForm::Custom { amount: named } => Self::Custom { amount: amount(&named)? },
            PricingFormulaForm::Prorated { what, whole, seconds, of_seconds, quantity, rounded_up } => {
                Self::Prorated { what: Prorated::from_name(&what)?, whole: amount(&whole)?, seconds, of_seconds, quantity, rounded_up }
            }
            PricingFormulaForm::Stake { threshold, minimum, recurring } => {
                Self::Stake { threshold: amount(&threshold)?, minimum: amount(&minimum)?, recurring: amount(&recurring)? }
            }
            PricingFormulaForm::Rest { whole, billed } => {
                Self::Rest { whole: Box::new(<Self as JsonForm>::of(*whole)?), billed: amount(&billed)? }
            }
            PricingFormulaForm::Flat { amount: flat } => Self::Flat { amount: amount(&flat)? },
        })
    }
}
