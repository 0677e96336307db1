//! The payments of an invoice.

use crate::routes::payments::{MethodModel, PaymentDetailModel, payment_details};
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::InvoicePayment;
use souk_domain::payment::{Intent, Method};
use std::collections::BTreeMap;

/// A payment of an invoice from one source. Amounts are base units.
#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoicePayment", skip_serializing_if_is_none)]
pub struct InvoicePaymentModel {
    pub id: String,
    /// `network`, `balance` (the customer's balance with the store) or `stake` (a forfeited deposit).
    pub source: String,
    pub amount: String,
    /// The amount that credit notes have refunded or are refunding.
    pub refunded: String,
    /// The amount withdrawn by undecided disputes.
    pub disputed: String,
    /// The amount reversed by a lost dispute, a late failure, or the return of balance when the invoice was voided.
    pub reversed: String,
    /// The payment intent, for payments over a network.
    pub payment_intent_id: Option<String>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    pub created_at: String,
}

impl InvoicePaymentModel {
    /// Adds the payment intent and the method if they are among `intents` and `methods`.
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
            payment_details: intent.zip(method).map(|(intent, method)| payment_details(intent, method.kind, site)).unwrap_or_default(),
            created_at: payment.created_at.to_iso(),
        }
    }
}
