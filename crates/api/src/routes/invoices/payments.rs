//! What paid an invoice.

use crate::routes::payments::{MethodModel, PaymentDetailModel, payment_details};
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::InvoicePayment;
use souk_domain::payment::{Intent, Method};
use std::collections::BTreeMap;

/// What one source paid of an invoice. Amounts are base units.
#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoicePayment", skip_serializing_if_is_none)]
pub struct InvoicePaymentModel {
    pub id: String,
    /// network, balance: the customer's balance with the store, or stake: a forfeited deposit.
    pub source: String,
    pub amount: String,
    /// Given back by credit notes, or about to be.
    pub refunded: String,
    /// Withdrawn by disputes that are not decided.
    pub disputed: String,
    /// Taken back: a lost dispute, a late failure, balance that returned when the invoice became void.
    pub reversed: String,
    /// The payment, where a network brought the money.
    pub payment_intent_id: Option<String>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    pub created_at: String,
}

impl InvoicePaymentModel {
    /// With its payment and method, if they are among these.
    #[must_use]
    pub fn new(payment: &InvoicePayment, intents: &[Intent], methods: &[Method], site: &Site) -> Self {
        let intent = payment.source.intent().and_then(|id| intents.iter().find(|intent| intent.id == *id));
        let method = intent.and_then(|intent| methods.iter().find(|method| method.id == intent.method_id));
        Self {
            id: payment.id.to_string(),
            source: payment.source.name().to_owned(),
            amount: payment.amount.to_string(),
            refunded: payment.refunded.to_string(),
            disputed: payment.disputed.to_string(),
            reversed: payment.reversed.to_string(),
            payment_intent_id: payment.source.intent().map(ToString::to_string),
            payment_method: method.map(|method| MethodModel::new(method, &[], site)),
            payment_details: intent.zip(method).map(|(intent, method)| payment_details(intent, method.kind)).unwrap_or_default(),
            created_at: payment.created_at.to_iso(),
        }
    }
}
