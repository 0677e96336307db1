use super::formula::{formula, formula_text};
use crate::routes::checkout_sessions::TextModel;
use crate::routes::payments::{AddressModel, CurrencyModel, CustomerModel, IntentModel, MethodModel, PaymentDetailModel, payment_details};
use crate::routes::subscriptions::SubscriptionReference;
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::{BillingReason, ExpandedInvoice, Invoice, InvoiceItem, Period, Subscription};
use souk_domain::payment::{Currency, Intent, Method};
use souk_domain::shared::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceMetadata")]
pub struct InvoiceMetadataModel {
    /// Where the network keeps the payment, under the name of the method's type.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceLine", skip_serializing_if_is_none)]
pub struct LineModel {
    pub id: String,
    pub description: String,
    pub price_id: Option<String>,
    pub quantity: u64,
    /// Base units. What the amount follows from says the formula.
    pub unit_amount: String,
    pub amount: String,
    /// The line lessens what is due.
    pub credit: bool,
    /// The time that it bills for.
    pub period: Option<PeriodModel>,
    /// The inputs of the amount, under the name of the formula (`kind`).
    pub formula: serde_json::Value,
    /// The same in words.
    pub formula_text: TextModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Period")]
pub struct PeriodModel {
    /// Unix seconds.
    pub start: i64,
    pub end: i64,
}

impl From<Period> for PeriodModel {
    fn from(period: Period) -> Self {
        Self { start: period.start.seconds(), end: period.end.seconds() }
    }
}

impl LineModel {
    fn new(item: &InvoiceItem, currency: &Currency) -> Self {
        Self {
            id: item.id.to_string(),
            description: item.description.clone(),
            price_id: item.price_id.as_ref().map(ToString::to_string),
            quantity: item.quantity,
            unit_amount: item.unit_amount.to_string(),
            amount: item.amount.to_string(),
            credit: item.calculation.is_credit(),
            period: item.period.map(PeriodModel::from),
            formula: formula(&item.calculation),
            formula_text: formula_text(&item.calculation, currency),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceSession")]
pub struct SessionReference {
    pub id: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Invoice", skip_serializing_if_is_none)]
pub struct InvoiceModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// Empty until it is final: drafts, and orders that were never paid, take none.
    pub number: String,
    pub status: String,
    pub paid: bool,
    pub billing_reason: String,
    pub description: String,
    pub currency_id: String,
    pub customer_id: String,
    pub payment_intent_id: Option<String>,
    pub checkout_session_id: Option<String>,
    pub subscription_id: Option<String>,
    pub subscription: Option<SubscriptionReference>,
    /// The time that it bills for, in unix seconds.
    pub period_start: Option<i64>,
    pub period_end: Option<i64>,
    /// How often its collection was refused.
    pub attempt_count: u32,
    /// When it is tried again by itself, in unix seconds.
    pub next_payment_attempt: Option<i64>,
    /// What the lines come to before the customer's credit is taken off, and that credit; only with the lines.
    pub subtotal: Option<String>,
    pub applied_credit: Option<String>,
    pub total: String,
    pub amount_due: String,
    pub amount_paid: String,
    pub amount_remaining: String,
    pub customer_name: String,
    pub customer_email: String,
    pub customer_phone: String,
    pub customer_address: Option<AddressModel>,
    pub metadata: InvoiceMetadataModel,
    pub invoice_pdf: String,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub customer: Option<CustomerModel>,
    #[oai(rename = "paymentIntent")]
    pub payment_intent: Option<IntentModel>,
    #[oai(rename = "checkoutSession")]
    pub checkout_session: Option<SessionReference>,
    pub lines: Option<Vec<LineModel>>,
    pub paid_at: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// What the transaction was that such an invoice tells of.
const fn kind_of_transaction(reason: BillingReason) -> &'static str {
    match reason {
        BillingReason::Stake | BillingReason::SubscriptionRecover => "stake",
        BillingReason::ReturnStake => "stake_return",
        BillingReason::SlashStake => "slash",
        _ => "transfer",
    }
}

impl InvoiceModel {
    #[must_use]
    pub fn new(invoice: &Invoice, intent: Option<&Intent>, methods: &[Method], currencies: &[Currency], site: &Site) -> Self {
        let method = methods.iter().find(|method| method.id == invoice.method_id);
        let currency = currencies.iter().find(|currency| currency.id == invoice.currency_id);
        let details = match (method, intent, &invoice.reference) {
            (Some(method), Some(intent), _) => payment_details(intent, method.kind),
            (Some(method), None, Some(moved)) => {
                PaymentDetailModel::of_transaction(method.kind, moved, None, kind_of_transaction(invoice.reason))
            }
            _ => BTreeMap::new(),
        };
        let remaining = invoice.total.minus(invoice.amount_paid).unwrap_or_default();
        let paid = invoice.paid_at.is_some();
        Self {
            id: invoice.id.to_string(),
            object: "invoice".to_owned(),
            livemode: invoice.mode.is_live(),
            number: invoice.number_text().unwrap_or_default(),
            status: invoice.status.name().to_owned(),
            paid,
            billing_reason: invoice.reason.name().to_owned(),
            description: invoice.description.clone(),
            currency_id: invoice.currency_id.to_string(),
            customer_id: invoice.customer_id.to_string(),
            payment_intent_id: invoice.intent_id.as_ref().map(ToString::to_string),
            checkout_session_id: invoice.session_id.as_ref().map(ToString::to_string),
            subscription_id: invoice.subscription_id.as_ref().map(ToString::to_string),
            subscription: None,
            period_start: invoice.period.map(|period| period.start.seconds()),
            period_end: invoice.period.map(|period| period.end.seconds()),
            attempt_count: invoice.refusals,
            next_payment_attempt: invoice.retry_at.map(Timestamp::seconds),
            subtotal: None,
            applied_credit: None,
            total: invoice.total.to_string(),
            amount_due: invoice.total.to_string(),
            amount_paid: invoice.amount_paid.to_string(),
            amount_remaining: remaining.to_string(),
            customer_name: invoice.bill_to.name.clone(),
            customer_email: invoice.bill_to.email.clone(),
            customer_phone: invoice.bill_to.phone.clone(),
            customer_address: invoice.bill_to.address.as_ref().map(AddressModel::from),
            metadata: InvoiceMetadataModel { payment_details: details },
            invoice_pdf: format!("/api/invoices/{}/pdf", invoice.id),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], site)),
            customer: None,
            payment_intent: None,
            checkout_session: invoice.session_id.as_ref().map(|id| SessionReference { id: id.to_string() }),
            lines: None,
            paid_at: invoice.paid_at.map(|at| at.to_iso()),
            created_at: invoice.created_at.to_iso(),
            updated_at: invoice.updated_at.to_iso(),
        }
    }

    /// With the subscription that it belongs to, if it is among these.
    #[must_use]
    pub fn within(self, subscriptions: &[Subscription]) -> Self {
        let own = subscriptions.iter().find(|one| self.subscription_id.as_deref() == Some(one.id.as_str()));
        Self { subscription: own.map(SubscriptionReference::from), ..self }
    }

    /// With lines, customer and payment.
    #[must_use]
    pub fn expanded(invoice: &ExpandedInvoice, site: &Site) -> Self {
        let (methods, currencies) = (std::slice::from_ref(&invoice.method), std::slice::from_ref(&invoice.currency));
        Self {
            customer: Some(CustomerModel::from(&invoice.customer)),
            payment_intent: invoice.intent.as_ref().map(|intent| IntentModel::new(intent, methods, currencies, site)),
            lines: Some(invoice.items.iter().map(|item| LineModel::new(item, &invoice.currency)).collect()),
            subscription: invoice.subscription.as_ref().map(SubscriptionReference::from),
            subtotal: invoice.subtotal().map(|subtotal| subtotal.to_string()),
            applied_credit: invoice.applied_credit().map(|credit| credit.to_string()),
            ..Self::new(&invoice.invoice, invoice.intent.as_ref(), methods, currencies, site)
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceList", skip_serializing_if_is_none)]
pub struct InvoiceListModel {
    /// The one that was asked for by `subscription_id`.
    pub subscription: Option<SubscriptionReference>,
    pub count: u64,
    pub list: Vec<InvoiceModel>,
}
