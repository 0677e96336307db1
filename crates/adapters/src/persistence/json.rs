//! Domain values stored as JSON, and their stored forms. The domain knows no JSON names, so these names belong to persistence.

use super::value::{Bound, Kind, Stored, Value, stored};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use souk_domain::access::Scope;
use souk_domain::billing::BillTo;
use souk_domain::checkout::{FormOptions, LineItem, QuantityRange};
use souk_domain::customer::{Address, Contact, Field, FieldPattern, PageInfo};
use souk_domain::payment::{CardExpiry, Decline, SavedCard};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Amount, PriceId, Text};
use std::collections::BTreeMap;

/// A value with a serializable form for storage.
pub(super) trait JsonForm: Sized {
    type Form: Serialize + DeserializeOwned;
    fn form(self) -> Self::Form;
    /// Returns `None` if the form holds a value that the domain rejects.
    fn of(form: Self::Form) -> Option<Self>;
}

pub(super) fn to_json<T: JsonForm>(value: T) -> Option<serde_json::Value> {
    serde_json::to_value(value.form()).ok()
}

pub(super) fn of_json<T: JsonForm>(json: serde_json::Value) -> Option<T> {
    serde_json::from_value(json).ok().and_then(T::of)
}

macro_rules! stored_forms {
    ($($type:ty),* $(,)?) => { stored! { $($type, Json, value => crate::persistence::json::to_json(value), json => crate::persistence::json::of_json::<$type>(json);)* } };
}
pub(super) use stored_forms;
stored_forms! { Metadata, Text, Address, Contact, BillTo, Decline, FormOptions, Vec<LineItem>, Vec<Scope>, SavedCard }

impl JsonForm for Metadata {
    type Form = Self;
    fn form(self) -> Self {
        self
    }
    fn of(form: Self) -> Option<Self> {
        Some(form)
    }
}

/// Structs whose fields are all texts, stored under the names of their fields.
macro_rules! texts {
    ($($type:ident as $form:ident { $($field:ident),* })*) => {$(
        #[derive(Serialize, Deserialize)]
        pub(super) struct $form { $($field: String),* }

        impl JsonForm for $type {
            type Form = $form;
            fn form(self) -> $form { $form { $($field: self.$field),* } }
            fn of(form: $form) -> Option<Self> { Some(Self { $($field: form.$field),* }) }
        }
    )*};
}
texts! {
    Text as TextForm { en, zh }
    Address as AddressForm { country, state, city, line1, line2, postal_code }
    Decline as DeclineForm { code, message }
}

#[derive(Serialize, Deserialize)]
pub(super) struct SavedCardForm {
    customer: String,
    card: String,
    brand: String,
    last4: String,
    exp_month: Option<u8>,
    exp_year: Option<u16>,
}

impl JsonForm for SavedCard {
    type Form = SavedCardForm;
    fn form(self) -> SavedCardForm {
        let (exp_month, exp_year) = self.expiry.map(|CardExpiry { month, year }| (month, year)).unzip();
        SavedCardForm { customer: self.customer, card: self.card, brand: self.brand, last4: self.last4, exp_month, exp_year }
    }
    fn of(form: SavedCardForm) -> Option<Self> {
        let SavedCardForm { customer, card, brand, last4, exp_month, exp_year } = form;
        let expiry = match exp_month.zip(exp_year) {
            Some((month, year)) => Some(CardExpiry::new(month, year)?),
            None => None,
        };
        Some(Self { customer, card, brand, last4, expiry })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ContactForm {
    name: String,
    email: String,
    phone: String,
    address: AddressForm,
}

impl JsonForm for Contact {
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

impl JsonForm for BillTo {
    type Form = BillToForm;
    fn form(self) -> BillToForm {
        BillToForm { name: self.name, email: self.email, phone: self.phone, address: self.address.map(JsonForm::form) }
    }
    fn of(form: BillToForm) -> Option<Self> {
        Some(Self { name: form.name, email: form.email, phone: form.phone, address: form.address.and_then(Address::of) })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FormOptionsForm {
    collect_phone: bool,
    require_address: bool,
    /// Keyed by field name.
    patterns: BTreeMap<String, PatternForm>,
    purpose: TextForm,
}

#[derive(Serialize, Deserialize)]
struct PatternForm {
    pattern: String,
    message: TextForm,
}

impl JsonForm for FormOptions {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upsell: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cross_sell: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom_amount: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RangeForm {
    minimum: u64,
    maximum: u64,
}

impl JsonForm for Vec<LineItem> {
    type Form = Vec<LineItemForm>;
    fn form(self) -> Vec<LineItemForm> {
        let item = |item: LineItem| LineItemForm {
            price_id: item.price_id.to_string(),
            quantity: item.quantity,
            adjustable: item.adjustable.map(|range| RangeForm { minimum: range.minimum, maximum: range.maximum }),
            upsell: item.upsell.map(|price| price.to_string()),
            cross_sell: item.cross_sell,
            custom_amount: item.custom_amount.map(|amount| amount.to_string()),
        };
        self.into_iter().map(item).collect()
    }
    fn of(form: Vec<LineItemForm>) -> Option<Self> {
        let item = |form: LineItemForm| {
            Some(LineItem {
                price_id: PriceId::parse(&form.price_id).ok()?,
                quantity: form.quantity,
                adjustable: form.adjustable.map(|range| QuantityRange { minimum: range.minimum, maximum: range.maximum }),
                upsell: form.upsell.map(|price| PriceId::parse(&price)).transpose().ok()?,
                cross_sell: form.cross_sell,
                custom_amount: form.custom_amount.map(|amount| Amount::parse_base_units(&amount)).transpose().ok()?,
            })
        };
        form.into_iter().map(item).collect()
    }
}

impl JsonForm for Vec<Scope> {
    type Form = Vec<String>;
    fn form(self) -> Vec<String> {
        self.iter().map(|scope| scope.as_str().to_owned()).collect()
    }
    fn of(form: Vec<String>) -> Option<Self> {
        form.iter().map(|text| Scope::parse(text)).collect()
    }
}
