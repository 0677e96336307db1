//! Values that are kept as JSON, and what they look like there. The domain knows no JSON names; these are ours.

use super::value::{Bound, Kind, Stored, Value, stored};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use souk_domain::access::{Did, Scope};
use souk_domain::billing::{BillTo, CancelReason, Cancellation, ClockEvent, Feedback, Stake, StakeStatus};
use souk_domain::checkout::{FormOptions, LineItem, QuantityRange};
use souk_domain::customer::{Address, Contact, Field, FieldPattern, PageInfo};
use souk_domain::payment::{CardHolder, Grant, Refusal, SavedCard};
use souk_domain::pricing::{Anchoring, Cycle, Interval, Metadata};
use souk_domain::shared::{Amount, CurrencyId, CustomerId, InvoiceId, PriceId, Text, Timestamp};
use std::collections::BTreeMap;

/// A value that has a form for storage.
pub(super) trait Formed: Sized {
    type Form: Serialize + DeserializeOwned;
    fn form(self) -> Self::Form;
    /// `None` when the form holds something that the domain refuses.
    fn of(form: Self::Form) -> Option<Self>;
}

pub(super) fn to_json<T: Formed>(value: T) -> Option<serde_json::Value> {
    serde_json::to_value(value.form()).ok()
}

pub(super) fn of_json<T: Formed>(json: serde_json::Value) -> Option<T> {
    serde_json::from_value(json).ok().and_then(T::of)
}

macro_rules! stored_forms {
    ($($type:ty),* $(,)?) => { stored! { $($type, Json, value => to_json(value), json => of_json::<$type>(json);)* } };
}
stored_forms! {
    Metadata, Text, Address, Contact, BillTo, Refusal, FormOptions, Vec<LineItem>, Vec<Scope>, Vec<InvoiceId>, SavedCard, CardHolder, Grant,
    Cycle, Cancellation, Stake, Vec<ClockEvent>,
}

impl Formed for Metadata {
    type Form = Self;
    fn form(self) -> Self {
        self
    }
    fn of(form: Self) -> Option<Self> {
        Some(form)
    }
}

/// Structs of texts only: kept under the names of their fields.
macro_rules! texts {
    ($($type:ident as $form:ident { $($field:ident),* })*) => {$(
        #[derive(Serialize, Deserialize)]
        pub(super) struct $form { $($field: String),* }

        impl Formed for $type {
            type Form = $form;
            fn form(self) -> $form { $form { $($field: self.$field),* } }
            fn of(form: $form) -> Option<Self> { Some(Self { $($field: form.$field),* }) }
        }
    )*};
}
texts! {
    Text as TextForm { en, zh }
    Address as AddressForm { country, state, city, line1, line2, postal_code }
    Refusal as RefusalForm { code, message }
    SavedCard as SavedCardForm { customer, card, brand, last4 }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ContactForm {
    name: String,
    email: String,
    phone: String,
    address: AddressForm,
}

impl Formed for Contact {
    type Form = ContactForm;
    fn form(self) -> ContactForm {
        ContactForm { name: self.name, email: self.email, phone: self.phone, address: self.address.form() }
    }
    fn of(form: ContactForm) -> Option<Self> {
        Some(Self { name: form.name, email: form.email, phone: form.phone, address: Address::of(form.address)? })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct BillToForm {
    name: String,
    email: String,
    phone: String,
    address: Option<AddressForm>,
}

impl Formed for BillTo {
    type Form = BillToForm;
    fn form(self) -> BillToForm {
        BillToForm { name: self.name, email: self.email, phone: self.phone, address: self.address.map(Formed::form) }
    }
    fn of(form: BillToForm) -> Option<Self> {
        Some(Self { name: form.name, email: form.email, phone: form.phone, address: form.address.and_then(Address::of) })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FormOptionsForm {
    collect_phone: bool,
    require_address: bool,
    /// By the name of the field.
    patterns: BTreeMap<String, PatternForm>,
    purpose: TextForm,
}

#[derive(Serialize, Deserialize)]
struct PatternForm {
    pattern: String,
    message: TextForm,
}

impl Formed for FormOptions {
    type Form = FormOptionsForm;
    fn form(self) -> FormOptionsForm {
        let pattern = |(field, pattern): (Field, FieldPattern)| {
            (field.name().to_owned(), PatternForm { pattern: pattern.source, message: pattern.message.form() })
        };
        FormOptionsForm {
            collect_phone: self.collect_phone,
            require_address: self.require_address,
            patterns: self.page_info.patterns.into_iter().map(pattern).collect(),
            purpose: self.page_info.purpose.form(),
        }
    }
    fn of(form: FormOptionsForm) -> Option<Self> {
        let pattern = |(field, form): (String, PatternForm)| {
            Some((Field::from_name(&field)?, FieldPattern::new(&form.pattern, Text::of(form.message)?)?))
        };
        Some(Self {
            collect_phone: form.collect_phone,
            require_address: form.require_address,
            page_info: PageInfo {
                patterns: form.patterns.into_iter().map(pattern).collect::<Option<_>>()?,
                purpose: Text::of(form.purpose)?,
            },
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct LineItemForm {
    price_id: String,
    quantity: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adjustable: Option<RangeForm>,
}

#[derive(Serialize, Deserialize)]
struct RangeForm {
    minimum: u64,
    maximum: u64,
}

impl Formed for Vec<LineItem> {
    type Form = Vec<LineItemForm>;
    fn form(self) -> Vec<LineItemForm> {
        let item = |item: LineItem| LineItemForm {
            price_id: item.price_id.to_string(),
            quantity: item.quantity,
            adjustable: item.adjustable.map(|range| RangeForm { minimum: range.minimum, maximum: range.maximum }),
        };
        self.into_iter().map(item).collect()
    }
    fn of(form: Vec<LineItemForm>) -> Option<Self> {
        let item = |form: LineItemForm| {
            Some(LineItem {
                price_id: PriceId::parse(&form.price_id).ok()?,
                quantity: form.quantity,
                adjustable: form.adjustable.map(|range| QuantityRange { minimum: range.minimum, maximum: range.maximum }),
            })
        };
        form.into_iter().map(item).collect()
    }
}

impl Formed for Vec<Scope> {
    type Form = Vec<String>;
    fn form(self) -> Vec<String> {
        self.iter().map(|scope| scope.as_str().to_owned()).collect()
    }
    fn of(form: Vec<String>) -> Option<Self> {
        form.iter().map(|text| Scope::parse(text)).collect()
    }
}

impl Formed for Vec<InvoiceId> {
    type Form = Vec<String>;
    fn form(self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
    fn of(form: Vec<String>) -> Option<Self> {
        form.iter().map(|id| InvoiceId::parse(id).ok()).collect()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CardHolderForm {
    customer_id: String,
    name: String,
    email: String,
}

impl Formed for CardHolder {
    type Form = CardHolderForm;
    fn form(self) -> CardHolderForm {
        CardHolderForm { customer_id: self.customer.to_string(), name: self.name, email: self.email }
    }
    fn of(form: CardHolderForm) -> Option<Self> {
        Some(Self { customer: CustomerId::parse(&form.customer_id).ok()?, name: form.name, email: form.email })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum GrantForm {
    Delegation { payer: String, limits: Vec<(String, String)> },
    Card(SavedCardForm),
}

impl Formed for Grant {
    type Form = GrantForm;
    fn form(self) -> GrantForm {
        match self {
            Self::Delegation { payer, limits } => GrantForm::Delegation {
                payer: payer.to_string(),
                limits: limits.into_iter().map(|(currency, most)| (currency.to_string(), most.to_string())).collect(),
            },
            Self::Card(card) => GrantForm::Card(card.form()),
        }
    }
    fn of(form: GrantForm) -> Option<Self> {
        Some(match form {
            GrantForm::Delegation { payer, limits } => Self::Delegation {
                payer: Did::from_verified(payer),
                limits: limits
                    .into_iter()
                    .map(|(currency, most)| Some((CurrencyId::parse(&currency).ok()?, Amount::parse_base_units(&most).ok()?)))
                    .collect::<Option<_>>()?,
            },
            GrantForm::Card(card) => Self::Card(SavedCard::of(card)?),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CycleForm {
    interval: String,
    count: u32,
    calendar: bool,
}

impl Formed for Cycle {
    type Form = CycleForm;
    fn form(self) -> CycleForm {
        CycleForm { interval: self.interval.name().to_owned(), count: self.count, calendar: self.anchoring == Anchoring::Calendar }
    }
    fn of(form: CycleForm) -> Option<Self> {
        let anchoring = if form.calendar { Anchoring::Calendar } else { Anchoring::Fixed };
        Some(Self { interval: Interval::from_name(&form.interval)?, count: form.count, anchoring })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CancellationForm {
    reason: String,
    feedback: Option<String>,
    comment: String,
    requested_at: i64,
}

impl Formed for Cancellation {
    type Form = CancellationForm;
    fn form(self) -> CancellationForm {
        CancellationForm {
            reason: self.reason.name().to_owned(),
            feedback: self.feedback.map(|feedback| feedback.name().to_owned()),
            comment: self.comment,
            requested_at: self.requested_at.micros(),
        }
    }
    fn of(form: CancellationForm) -> Option<Self> {
        let feedback = match form.feedback {
            Some(name) => Some(Feedback::from_name(&name)?),
            None => None,
        };
        let reason = CancelReason::from_name(&form.reason)?;
        Some(Self { reason, feedback, comment: form.comment, requested_at: Timestamp::from_micros(form.requested_at) })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StakeForm {
    amount: String,
    status: String,
    reference: String,
    return_at: Option<i64>,
}

impl Formed for Stake {
    type Form = StakeForm;
    fn form(self) -> StakeForm {
        StakeForm {
            amount: self.amount.to_string(),
            status: self.status.name().to_owned(),
            reference: self.reference,
            return_at: self.return_at.map(Timestamp::micros),
        }
    }
    fn of(form: StakeForm) -> Option<Self> {
        Some(Self {
            amount: Amount::parse_base_units(&form.amount).ok()?,
            status: StakeStatus::from_name(&form.status)?,
            reference: form.reference,
            return_at: form.return_at.map(Timestamp::from_micros),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ClockEventForm {
    at: i64,
    what: String,
    subject: String,
}

impl Formed for Vec<ClockEvent> {
    type Form = Vec<ClockEventForm>;
    fn form(self) -> Vec<ClockEventForm> {
        self.into_iter().map(|event| ClockEventForm { at: event.at.micros(), what: event.what, subject: event.subject }).collect()
    }
    fn of(form: Vec<ClockEventForm>) -> Option<Self> {
        Some(
            form.into_iter()
                .map(|form| ClockEvent { at: Timestamp::from_micros(form.at), what: form.what, subject: form.subject })
                .collect(),
        )
    }
}
