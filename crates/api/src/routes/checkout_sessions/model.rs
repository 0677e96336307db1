//! The wire format of checkout sessions (payment-kit.md 1.2 and 2).

use super::terms::{BuyerModel, DueModel, SessionSubscriptionModel, SubscriptionDataModel};
use crate::routes::apps::entitlement_status;
use crate::routes::payments::{AddressModel, CustomerModel, IntentModel, MethodModel};
use crate::routes::prices::PriceModel;
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::STAKE_WAITING;
use souk_domain::checkout::{Expanded, FormOptions, LineItem, PaymentLink, SessionStatus};
use souk_domain::customer::{ContactForm, PageInfo};
use souk_domain::payment::Method;
use souk_domain::pricing::{CatalogueItem, DAY_SECONDS, Metadata, Price};
use souk_domain::shared::{PriceId, Text};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "Text")]
pub struct TextModel {
    #[oai(default)]
    pub en: String,
    #[oai(default)]
    pub zh: String,
}

impl From<&Text> for TextModel {
    fn from(text: &Text) -> Self {
        Self { en: text.en.clone(), zh: text.zh.clone() }
    }
}

impl From<TextModel> for Text {
    fn from(text: TextModel) -> Self {
        Self::new(text.en, text.zh)
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AdjustableQuantity")]
pub struct AdjustableModel {
    pub enabled: bool,
    #[oai(default = "one")]
    pub minimum: u64,
    /// 0: no limit.
    #[oai(default)]
    pub maximum: u64,
}

fn one() -> u64 {
    1
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "LineItem", skip_serializing_if_is_none)]
pub struct LineItemModel {
    pub price_id: String,
    pub quantity: u64,
    pub adjustable_quantity: Option<AdjustableModel>,
    #[oai(read_only)]
    pub price: Option<PriceModel>,
    /// The price with the longer interval that the buyer chose instead.
    #[oai(read_only)]
    pub upsell_price_id: Option<String>,
    #[oai(read_only)]
    pub upsell_price: Option<PriceModel>,
    /// Whether the item was added from a cross-sell offer.
    #[oai(read_only)]
    pub cross_sell: Option<bool>,
    /// The amount that the buyer chose to pay for the whole item, in base units.
    #[oai(read_only)]
    pub custom_amount: Option<String>,
}

impl LineItemModel {
    #[must_use]
    pub fn new(item: &LineItem, found: Option<&CatalogueItem>, upsells: &[Price]) -> Self {
        let adjustable = item.adjustable.map(|range| AdjustableModel { enabled: true, minimum: range.minimum, maximum: range.maximum });
        let product = found.map(|found| &found.product);
        let model_of =
            |id: &PriceId| upsells.iter().find(|price| price.id == *id).map(|price| PriceModel::from(price).with_product(product));
        let price = found.map(|CatalogueItem { price, product }| {
            PriceModel::from(price).with_product(Some(product)).with_upsell(price.upsells_to.as_ref().and_then(model_of))
        });
        Self {
            price_id: item.price_id.to_string(),
            quantity: item.quantity,
            adjustable_quantity: adjustable,
            price,
            upsell_price_id: item.upsell.as_ref().map(ToString::to_string),
            upsell_price: item.upsell.as_ref().and_then(model_of),
            cross_sell: item.cross_sell.then_some(true),
            custom_amount: item.custom_amount.map(|amount| amount.to_string()),
        }
    }
}

#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "PhoneNumberCollection")]
pub struct PhoneCollectionModel {
    pub enabled: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "FieldValidation")]
pub struct FieldValidationModel {
    pub pattern: String,
    #[oai(default)]
    pub pattern_message: TextModel,
}

/// `metadata.page_info`: patterns for fields (customer_name, customer_email, customer_phone,
/// billing_address.{state,line1,city,postal_code}) and the purpose of the form.
#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "PageInfo")]
pub struct PageInfoModel {
    #[oai(default)]
    pub field_validation: BTreeMap<String, FieldValidationModel>,
    #[oai(default)]
    pub form_purpose_description: TextModel,
}

impl From<&PageInfo> for PageInfoModel {
    fn from(info: &PageInfo) -> Self {
        let field = |(field, pattern): (&souk_domain::customer::Field, &souk_domain::customer::FieldPattern)| {
            let model = FieldValidationModel { pattern: pattern.source.clone(), pattern_message: TextModel::from(&pattern.message) };
            (field.name().to_owned(), model)
        };
        Self { field_validation: info.patterns.iter().map(field).collect(), form_purpose_description: TextModel::from(&info.purpose) }
    }
}

/// Metadata as JSON: the integrator's values, and `page_info` if the form has one.
#[must_use]
pub fn metadata_json(metadata: &Metadata, form: &FormOptions) -> serde_json::Value {
    use poem_openapi::types::ToJSON;
    let mut json: serde_json::Map<_, _> = metadata.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    if form.page_info != PageInfo::default() {
        json.insert("page_info".to_owned(), PageInfoModel::from(&form.page_info).to_json().unwrap_or_default());
    }
    json.into()
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "HostedConfirmation")]
pub struct ConfirmationModel {
    /// In the language of the request.
    pub custom_message: String,
    pub custom_messages: TextModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Redirect")]
pub struct RedirectModel {
    pub url: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AfterCompletion", skip_serializing_if_is_none)]
pub struct AfterCompletionModel {
    #[oai(rename = "type")]
    pub kind: String,
    pub hosted_confirmation: Option<ConfirmationModel>,
    pub redirect: Option<RedirectModel>,
}

impl AfterCompletionModel {
    #[must_use]
    pub fn new(link: &PaymentLink, language: souk_domain::shared::Language) -> Self {
        match &link.redirect_url {
            Some(url) => {
                Self { kind: "redirect".to_owned(), hosted_confirmation: None, redirect: Some(RedirectModel { url: url.clone() }) }
            }
            None => Self {
                kind: "hosted_confirmation".to_owned(),
                hosted_confirmation: Some(ConfirmationModel {
                    custom_message: link.custom_message.in_language(language).to_owned(),
                    custom_messages: TextModel::from(&link.custom_message),
                }),
                redirect: None,
            },
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentLink", skip_serializing_if_is_none)]
pub struct PaymentLinkModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub active: bool,
    pub name: String,
    pub currency_id: String,
    pub line_items: Vec<LineItemModel>,
    pub after_completion: AfterCompletionModel,
    pub phone_number_collection: PhoneCollectionModel,
    pub billing_address_collection: String,
    pub subscription_data: Option<SubscriptionDataModel>,
    /// `auto` or `required`.
    pub cross_sell_behavior: String,
    pub submit_type: String,
    /// The integrator's values, and `page_info`.
    pub metadata: serde_json::Value,
    pub created_at: String,
    pub updated_at: String,
}

/// `auto` or `required`.
#[must_use]
pub fn address_collection(form: &FormOptions) -> String {
    if form.require_address { "required" } else { "auto" }.to_owned()
}

impl PaymentLinkModel {
    #[must_use]
    pub fn new(link: &PaymentLink, language: souk_domain::shared::Language) -> Self {
        Self {
            id: link.id.to_string(),
            object: "payment_link".to_owned(),
            livemode: link.mode.is_live(),
            active: link.active,
            name: link.name.clone(),
            currency_id: link.currency_id.to_string(),
            line_items: link.items.iter().map(|item| LineItemModel::new(item, None, &[])).collect(),
            after_completion: AfterCompletionModel::new(link, language),
            phone_number_collection: PhoneCollectionModel { enabled: link.form.collect_phone },
            billing_address_collection: address_collection(&link.form),
            subscription_data: SubscriptionDataModel::of(&link.terms),
            cross_sell_behavior: cross_sell_behavior(link.requires_cross_sell),
            submit_type: "pay".to_owned(),
            metadata: metadata_json(&link.metadata, &link.form),
            created_at: link.created_at.to_iso(),
            updated_at: link.updated_at.to_iso(),
        }
    }
}

fn cross_sell_behavior(required: bool) -> String {
    if required { "required" } else { "auto" }.to_owned()
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionContact")]
pub struct ContactModel {
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: AddressModel,
}

/// An entitlement that a completed session granted.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionEntitlement")]
pub struct SessionEntitlementModel {
    pub app_did: String,
    pub title: TextModel,
    pub version: String,
    pub logo: String,
    /// `active`, `revoked` (the purchase was refunded) or `suspended` (its payment is disputed).
    pub status: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckoutSession", skip_serializing_if_is_none)]
pub struct SessionModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// payment, subscription or setup.
    pub mode: String,
    pub status: String,
    pub payment_status: String,
    pub url: String,
    pub currency_id: String,
    pub line_items: Vec<LineItemModel>,
    /// In base units of `currency_id`. While the session is open, this is the current price of its items.
    pub amount_subtotal: String,
    pub amount_total: String,
    /// The amount that was refunded or is being refunded; present once the session is complete.
    pub amount_refunded: Option<String>,
    pub submit_type: String,
    pub phone_number_collection: PhoneCollectionModel,
    pub billing_address_collection: String,
    pub subscription_data: Option<SubscriptionDataModel>,
    /// `auto` or `required`.
    pub cross_sell_behavior: String,
    pub due: Option<DueModel>,
    /// The amount that the wallet staked, in base units; present once the session is complete.
    pub stake_amount: Option<String>,
    /// Number of days after the end of the subscriptions until a stake is returned.
    pub stake_return_days: u64,
    /// The first of the subscriptions that the session created.
    pub subscription_id: Option<String>,
    /// All subscriptions that the session created, if there are several.
    pub subscriptions: Option<Vec<SessionSubscriptionModel>>,
    pub payment_link_id: Option<String>,
    pub payment_method_id: Option<String>,
    pub payment_intent_id: Option<String>,
    pub invoice_id: Option<String>,
    pub customer_id: Option<String>,
    pub customer_did: Option<String>,
    /// Only the payer and the store's admins see it.
    pub customer_details: Option<ContactModel>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// Unix seconds.
    pub expires_at: i64,
    pub metadata: serde_json::Value,
    pub entitlements: Vec<SessionEntitlementModel>,
    pub created_at: String,
    pub updated_at: String,
}

impl SessionModel {
    /// `private`: whether the reader may see personal data.
    #[must_use]
    pub fn new(expanded: &Expanded, site: &Site, private: bool) -> Self {
        let session = &expanded.session;
        let find = |item: &LineItem| expanded.items.iter().find(|found| found.price.id == item.price_id);
        let due = DueModel::of(expanded);
        // Quantities and prices may have changed since the last submit, if there was one.
        let open = due.as_ref().filter(|_| session.status == SessionStatus::Open);
        let amount = open.map_or_else(|| session.amount_total.to_string(), |due| due.now.clone());
        let contact = session.contact.as_ref().filter(|_| private).map(|contact| ContactModel {
            name: contact.name.clone(),
            email: contact.email.clone(),
            phone: contact.phone.clone(),
            address: AddressModel::from(&contact.address),
        });
        let if_private = |id: Option<String>| id.filter(|_| private);
        // Before the first submit the session belongs to nobody, so that its metadata and URLs are not personal.
        let is_visible = private || session.payer.is_none();
        let metadata = if is_visible { session.metadata.clone() } else { Metadata::default() };
        let grants = expanded.entitlements.iter().filter(|_| private).map(|(entitlement, app)| SessionEntitlementModel {
            app_did: entitlement.app.to_string(),
            title: TextModel::from(&app.title),
            version: app.version.clone(),
            logo: format!("/api/apps/{}/logo", app.did),
            status: entitlement_status(entitlement).to_owned(),
        });
        let subscriptions: Vec<_> = expanded.subscriptions.iter().map(SessionSubscriptionModel::from).collect();
        Self {
            id: session.id.to_string(),
            object: "checkout_session".to_owned(),
            livemode: session.mode.is_live(),
            mode: session.kind.name().to_owned(),
            status: session.status.name().to_owned(),
            payment_status: session.payment_status.name().to_owned(),
            url: site.address(&format!("/checkout/pay/{}", session.id)),
            currency_id: session.currency_id.to_string(),
            line_items: session.items.iter().map(|item| LineItemModel::new(item, find(item), &expanded.upsells)).collect(),
            amount_subtotal: amount.clone(),
            amount_total: amount,
            amount_refunded: None,
            submit_type: "pay".to_owned(),
            phone_number_collection: PhoneCollectionModel { enabled: session.form.collect_phone },
            billing_address_collection: address_collection(&session.form),
            subscription_data: SubscriptionDataModel::of(&session.terms),
            cross_sell_behavior: cross_sell_behavior(session.requires_cross_sell),
            due,
            stake_amount: expanded.stake.as_ref().filter(|_| private && session.is_complete()).map(|stake| stake.amount.to_string()),
            stake_return_days: STAKE_WAITING.as_secs() / DAY_SECONDS,
            subscription_id: if_private(subscriptions.first().map(|subscription| subscription.id.clone())),
            subscriptions: Some(subscriptions).filter(|list| private && list.len() > 1),
            payment_link_id: session.link_id.as_ref().map(ToString::to_string),
            payment_method_id: session.method_id.as_ref().map(ToString::to_string),
            payment_intent_id: if_private(session.intent_id.as_ref().map(ToString::to_string)),
            invoice_id: if_private(session.invoice_id.as_ref().map(ToString::to_string)),
            customer_id: if_private(session.customer_id.as_ref().map(ToString::to_string)),
            customer_did: if_private(session.payer.as_ref().map(ToString::to_string)),
            customer_details: contact,
            success_url: session.success_url.clone().filter(|_| is_visible),
            cancel_url: session.cancel_url.clone().filter(|_| is_visible),
            expires_at: session.expires_at.seconds(),
            metadata: metadata_json(&metadata, &session.form),
            entitlements: grants.collect(),
            created_at: session.created_at.to_iso(),
            updated_at: session.updated_at.to_iso(),
        }
    }
}

/// The response of `start` and `retrieve`.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Checkout", rename_all = "camelCase", skip_serializing_if_is_none)]
pub struct CheckoutModel {
    pub checkout_session: SessionModel,
    pub payment_methods: Vec<MethodModel>,
    pub payment_link: Option<PaymentLinkModel>,
    pub payment_intent: Option<IntentModel>,
    pub customer: Option<CustomerModel>,
    /// Present while the session is open and the caller is signed in.
    pub buyer: Option<BuyerModel>,
}

impl CheckoutModel {
    #[must_use]
    pub fn new(expanded: &Expanded, site: &Site, private: bool, signed_in: bool, language: souk_domain::shared::Language) -> Self {
        let active: Vec<_> =
            expanded.currencies.iter().filter(|currency| currency.active && payable_in(expanded, currency)).cloned().collect();
        let offered = |method: &&Method| method.active && active.iter().any(|currency| currency.method_id == method.id);
        let methods = expanded.methods.iter().filter(offered).map(|method| MethodModel::new(method, &active, site));
        let intent = expanded.intent.as_ref().filter(|_| private);
        Self {
            checkout_session: SessionModel::new(expanded, site, private),
            payment_methods: methods.collect(),
            payment_link: expanded.link.as_ref().map(|link| PaymentLinkModel::new(link, language)),
            payment_intent: intent.map(|intent| IntentModel::new(intent, &expanded.methods, &expanded.currencies, site)),
            customer: expanded.customer.as_ref().filter(|_| private).map(CustomerModel::from),
            buyer: (signed_in && expanded.session.status == SessionStatus::Open).then(|| BuyerModel::from(&expanded.buyer)),
        }
    }
}

/// Returns whether every item has a price in the currency.
fn payable_in(expanded: &Expanded, currency: &souk_domain::payment::Currency) -> bool {
    !expanded.items.is_empty() && expanded.items.iter().all(|item| item.price.unit_amount_in(&currency.id).is_some())
}

/// The form in the format of the published client.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckoutForm")]
pub struct FormModel {
    #[oai(default)]
    pub customer_name: String,
    #[oai(default)]
    pub customer_email: String,
    #[oai(default)]
    pub customer_phone: String,
    pub payment_method: String,
    pub payment_currency: String,
    #[oai(default)]
    pub billing_address: AddressModel,
    /// The total that the customer was shown, in base units of `payment_currency`, deposit included. If it differs from the total that
    /// would be charged, nothing happens: status 409 with the code `TOTAL_CHANGED` and the new total in `params.total`.
    pub expected_total: Option<String>,
}

impl FormModel {
    #[must_use]
    pub fn contact(&self) -> ContactForm {
        ContactForm {
            name: self.customer_name.clone(),
            email: self.customer_email.clone(),
            phone: self.customer_phone.clone(),
            address: self.billing_address.clone().into(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "StripeContext")]
pub struct StripeContextModel {
    pub client_secret: String,
    pub intent_type: String,
    pub status: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Sufficient")]
pub struct SufficientModel {
    pub sufficient: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Submitted", rename_all = "camelCase", skip_serializing_if_is_none)]
pub struct SubmittedModel {
    pub checkout_session: SessionModel,
    pub payment_intent: Option<IntentModel>,
    pub stripe_context: Option<StripeContextModel>,
    pub customer: Option<CustomerModel>,
    pub balance: SufficientModel,
    pub delegation: SufficientModel,
    pub credit_sufficient: bool,
    /// Present if the order can be paid without the wallet.
    pub fast_pay_info: Option<FastPayModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "FastPayInfo")]
pub struct FastPayModel {
    /// `credit` (the customer's balance with the store) or `delegation`.
    #[oai(rename = "type")]
    pub kind: String,
    /// Base units.
    pub amount: String,
    pub payer: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AdjustQuantity", rename_all = "camelCase")]
pub struct AdjustModel {
    /// A price id, under the name that the published client uses.
    pub item_id: String,
    pub quantity: u64,
}
