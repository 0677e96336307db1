//! The wire format of methods, currencies, intents and customers (payment-kit.md 2).

use super::{description_params, description_text};
use crate::routes::payment_methods::GasModel;
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::Invoice;
use souk_domain::customer::{Address, Customer};
use souk_domain::payment::{Currency, Decline, Intent, Method, MethodKind, MethodSettings};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentCurrency", skip_serializing_if_is_none)]
pub struct CurrencyModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub payment_method_id: String,
    pub active: bool,
    pub is_base_currency: bool,
    pub name: String,
    pub symbol: String,
    pub logo: String,
    /// Decimal places.
    pub decimal: u32,
    /// Maximum number of decimal places in an entered amount.
    pub maximum_precision: u32,
    pub contract: String,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Currency> for CurrencyModel {
    fn from(currency: &Currency) -> Self {
        Self {
            id: currency.id.to_string(),
            object: "payment_currency".to_owned(),
            livemode: currency.mode.is_live(),
            payment_method_id: currency.method_id.to_string(),
            active: currency.active,
            is_base_currency: currency.is_base,
            name: currency.name.clone(),
            symbol: currency.symbol.clone(),
            logo: currency.logo.clone(),
            decimal: currency.decimals,
            maximum_precision: currency.maximum_precision,
            contract: currency.contract.clone(),
            created_at: currency.created_at.to_iso(),
            updated_at: currency.updated_at.to_iso(),
        }
    }
}

/// The public settings of a method. The type has no fields for secrets.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentMethodPublicSettings", skip_serializing_if_is_none)]
pub struct NetworkModel {
    pub chain_id: Option<String>,
    pub api_host: Option<String>,
    pub explorer_host: Option<String>,
    pub native_symbol: Option<String>,
    pub confirmation: Option<u32>,
    pub dashboard: Option<String>,
    pub publishable_key: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentMethod", skip_serializing_if_is_none)]
pub struct MethodModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub active: bool,
    #[oai(rename = "type")]
    pub kind: String,
    pub name: String,
    pub description: String,
    pub logo: String,
    pub default_currency_id: Option<String>,
    /// One entry, under the name of the type.
    pub settings: BTreeMap<String, NetworkModel>,
    pub payment_currencies: Vec<CurrencyModel>,
    /// Only in the answer to its creation.
    pub gas: Option<GasModel>,
    pub created_at: String,
    pub updated_at: String,
}

impl MethodModel {
    /// The model with those currencies of `all` that belong to the method.
    #[must_use]
    pub fn new(method: &Method, all: &[Currency], site: &Site) -> Self {
        let currencies = all.iter().filter(|currency| currency.method_id == method.id);
        Self {
            id: method.id.to_string(),
            object: "payment_method".to_owned(),
            livemode: method.mode.is_live(),
            active: method.active,
            kind: method.kind.name().to_owned(),
            name: method.name.clone(),
            description: method.description.clone(),
            logo: method.logo.clone(),
            default_currency_id: method.default_currency_id.as_ref().map(ToString::to_string),
            settings: [(method.kind.name().to_owned(), network(&method.settings, site))].into(),
            payment_currencies: currencies.map(CurrencyModel::from).collect(),
            gas: None,
            created_at: method.created_at.to_iso(),
            updated_at: method.updated_at.to_iso(),
        }
    }
}

fn network(settings: &MethodSettings, site: &Site) -> NetworkModel {
    let nothing = NetworkModel {
        chain_id: None,
        api_host: None,
        explorer_host: None,
        native_symbol: None,
        confirmation: None,
        dashboard: None,
        publishable_key: None,
    };
    match settings {
        MethodSettings::Arcblock { chain_id, api_host, explorer_host } => NetworkModel {
            chain_id: Some(chain_id.clone()),
            api_host: Some(site.host(api_host)),
            explorer_host: Some(site.host(explorer_host)),
            ..nothing
        },
        MethodSettings::Bitcoin { explorer_host } => NetworkModel { explorer_host: Some(site.host(explorer_host)), ..nothing },
        MethodSettings::Evm { chain_id, api_host: _, explorer_host, native_symbol, confirmation } => NetworkModel {
            chain_id: Some(chain_id.to_string()),
            explorer_host: Some(site.host(explorer_host)),
            native_symbol: Some(native_symbol.clone()),
            confirmation: Some(*confirmation),
            ..nothing
        },
        MethodSettings::Stripe { api_host, dashboard, publishable_key, .. } => NetworkModel {
            api_host: Some(site.host(api_host)),
            dashboard: Some(site.host(dashboard)),
            publishable_key: Some(publishable_key.clone()),
            ..nothing
        },
    }
}

/// A postal address. `country` is a lower-case ISO 3166-1 alpha-2 code.
#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "Address")]
pub struct AddressModel {
    #[oai(default)]
    pub country: String,
    #[oai(default)]
    pub state: String,
    #[oai(default)]
    pub city: String,
    #[oai(default)]
    pub line1: String,
    #[oai(default)]
    pub line2: String,
    #[oai(default)]
    pub postal_code: String,
}

impl From<&Address> for AddressModel {
    fn from(address: &Address) -> Self {
        let Address { country, state, city, line1, line2, postal_code } = address.clone();
        Self { country, state, city, line1, line2, postal_code }
    }
}

impl From<AddressModel> for Address {
    fn from(address: AddressModel) -> Self {
        let AddressModel { country, state, city, line1, line2, postal_code } = address;
        Self { country, state, city, line1, line2, postal_code }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Customer", skip_serializing_if_is_none)]
pub struct CustomerModel {
    /// Absent for a user who has never bought anything.
    pub id: Option<String>,
    pub livemode: bool,
    pub did: String,
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: Option<AddressModel>,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Customer> for CustomerModel {
    fn from(customer: &Customer) -> Self {
        Self {
            id: Some(customer.id.to_string()),
            livemode: customer.mode.is_live(),
            did: customer.did.to_string(),
            name: customer.name.clone(),
            email: customer.email.clone(),
            phone: customer.phone.clone(),
            address: customer.address.as_ref().map(AddressModel::from),
            created_at: customer.created_at.to_iso(),
            updated_at: customer.updated_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentError")]
pub struct PaymentErrorModel {
    #[oai(rename = "type")]
    pub kind: String,
    pub code: String,
    pub message: String,
}

impl From<&Decline> for PaymentErrorModel {
    fn from(decline: &Decline) -> Self {
        Self { kind: "payment_error".to_owned(), code: decline.code.clone(), message: decline.message.clone() }
    }
}

/// References to a payment on its network. Fields of other networks are absent.
#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "PaymentDetail", skip_serializing_if_is_none)]
pub struct PaymentDetailModel {
    pub tx_hash: Option<String>,
    /// The account from which the money moved, or which signed the delegation.
    pub payer: Option<String>,
    /// The account to which the money moved, or to which a delegation was granted.
    pub receiver: Option<String>,
    /// transfer, delegate, stake, stake_return or slash.
    #[oai(rename = "type")]
    pub kind: Option<String>,
    /// The address of the delegation.
    pub delegation_address: Option<String>,
    /// The stake that accompanies a delegation.
    pub staking: Option<StakingDetailModel>,
    pub payment_intent_id: Option<String>,
    pub refund_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "StakingDetail", skip_serializing_if_is_none)]
pub struct StakingDetailModel {
    pub tx_hash: String,
    /// The address of the stake at its network.
    pub address: Option<String>,
}

impl PaymentDetailModel {
    /// The details of a wallet transaction without its accounts.
    #[must_use]
    pub fn of_transaction(tx_hash: &str, kind: &str) -> Self {
        Self { tx_hash: Some(tx_hash.to_owned()), kind: Some(kind.to_owned()), ..Self::default() }
    }

    /// Adds the accounts between which the money moved.
    #[must_use]
    pub fn between(self, payer: Option<&str>, receiver: Option<&str>) -> Self {
        Self { payer: payer.map(ToOwned::to_owned), receiver: receiver.map(ToOwned::to_owned), ..self }
    }

    /// `payment_details`: one entry under the name of the method's type.
    #[must_use]
    pub fn under(self, method: MethodKind) -> BTreeMap<String, Self> {
        [(method.name().to_owned(), self)].into()
    }
}

/// The `payment_details` of an intent: one entry under the name of the method's type; empty until paid.
#[must_use]
pub fn payment_details(intent: &Intent, kind: MethodKind, site: &Site) -> BTreeMap<String, PaymentDetailModel> {
    if intent.reference.is_empty() {
        return BTreeMap::new();
    }
    let detail = match kind {
        MethodKind::Stripe => PaymentDetailModel { payment_intent_id: Some(intent.reference.clone()), ..PaymentDetailModel::default() },
        kind => PaymentDetailModel::of_transaction(&intent.reference, "transfer").between(Some(&intent.payer), site.account(kind)),
    };
    detail.under(kind)
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentIntent", skip_serializing_if_is_none)]
pub struct IntentModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub status: String,
    /// The description in English.
    pub description: String,
    /// The description as a code with parameters; see `InvoiceLine`.
    pub description_code: String,
    pub description_params: BTreeMap<String, String>,
    /// Base units.
    pub amount: String,
    pub amount_received: String,
    pub currency_id: String,
    pub customer_id: String,
    pub payment_method_id: String,
    /// The first invoice that the payment covers.
    pub invoice_id: Option<String>,
    /// The current status of that invoice, which another payment may have paid. Only in responses of `/api/payment-intents`.
    pub invoice_status: Option<String>,
    pub checkout_session_id: Option<String>,
    pub subscription_id: Option<String>,
    pub amount_refunded: String,
    pub last_payment_error: Option<PaymentErrorModel>,
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    /// The metadata that the store attached. Only in responses of `/api/payment-intents`.
    pub metadata: Option<BTreeMap<String, String>>,
    pub created_at: String,
    pub updated_at: String,
}

impl IntentModel {
    #[must_use]
    pub fn with_metadata(self, intent: &Intent) -> Self {
        Self { metadata: Some(intent.metadata.clone()), ..self }
    }

    /// Adds the status of the first invoice if it is among `invoices`.
    #[must_use]
    pub fn with_invoice_status(self, invoices: &[Invoice]) -> Self {
        let invoice = invoices.iter().find(|invoice| self.invoice_id.as_deref() == Some(invoice.id.as_str()));
        Self { invoice_status: invoice.map(|invoice| invoice.status.name().to_owned()), ..self }
    }

    #[must_use]
    pub fn new(intent: &Intent, methods: &[Method], currencies: &[Currency], site: &Site) -> Self {
        let method = methods.iter().find(|method| method.id == intent.method_id);
        let currency = currencies.iter().find(|currency| currency.id == intent.currency_id);
        Self {
            id: intent.id.to_string(),
            object: "payment_intent".to_owned(),
            livemode: intent.mode.is_live(),
            status: intent.status.name().to_owned(),
            description: description_text(&intent.description),
            description_code: intent.description.code().to_owned(),
            description_params: description_params(&intent.description),
            amount: intent.amount.to_string(),
            amount_received: intent.amount_received.to_string(),
            currency_id: intent.currency_id.to_string(),
            customer_id: intent.customer_id.to_string(),
            payment_method_id: intent.method_id.to_string(),
            invoice_id: intent.invoices.first().map(ToString::to_string),
            invoice_status: None,
            checkout_session_id: intent.session_id.as_ref().map(ToString::to_string),
            subscription_id: intent.subscription_id.as_ref().map(ToString::to_string),
            amount_refunded: intent.amount_refunded.to_string(),
            last_payment_error: intent.last_error.as_ref().map(PaymentErrorModel::from),
            payment_details: method.map(|method| payment_details(intent, method.kind, site)).unwrap_or_default(),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], site)),
            metadata: None,
            created_at: intent.created_at.to_iso(),
            updated_at: intent.updated_at.to_iso(),
        }
    }
}
