//! The wire format of payments on hold.

use crate::problem::Problem;
use crate::routes::customers::{CustomerReference, ListCustomers};
use crate::routes::payments::{CurrencyModel, MethodModel, PaymentDetailModel, payment_details};
use crate::state::App;
use poem_openapi::Object;
use souk_domain::billing::Invoice;
use souk_domain::payment::{PaymentOnHold, payments_on_hold};
use souk_domain::shared::{Amount, Listed, Mode, Page};
use std::collections::BTreeMap;

/// An invoice that a payment on hold was to pay.
#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceOnHold")]
pub struct InvoiceOnHoldModel {
    pub id: String,
    /// Empty until the invoice is finalized.
    pub number: String,
    pub status: String,
    /// What can still be paid of it, in base units; zero for a draft.
    pub amount_payable: String,
}

impl From<&Invoice> for InvoiceOnHoldModel {
    fn from(invoice: &Invoice) -> Self {
        let payable = if invoice.status.is_payable() { invoice.remaining() } else { Amount::ZERO };
        Self {
            id: invoice.id.to_string(),
            number: invoice.number_text().unwrap_or_default(),
            status: invoice.status.name().to_owned(),
            amount_payable: payable.to_string(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentOnHold", skip_serializing_if_is_none)]
pub struct PaymentOnHoldModel {
    /// The payment intent that was to be paid; `POST /api/payment-intents/{id}/resolve` ends the hold.
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// The requested amount, in base units.
    pub amount: String,
    /// The amount that the network moved.
    pub amount_received: String,
    /// The part of it that was refunded in the provider's dashboard since.
    pub amount_refunded: String,
    pub currency_id: String,
    pub customer_id: String,
    pub customer: Option<CustomerReference>,
    pub payment_method_id: String,
    /// The invoices that the payment was for.
    pub invoices: Vec<InvoiceOnHoldModel>,
    /// The network's reference of the payment: one entry under the name of the method's type, or none if the network moved nothing.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    /// When the differing amount was recorded.
    pub held_at: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentOnHoldList")]
pub struct PaymentOnHoldListModel {
    pub count: u64,
    pub list: Vec<PaymentOnHoldModel>,
}

/// One page of the payments on hold with their related objects.
pub async fn list(app: &App, mode: Mode, page: &Page) -> Result<PaymentOnHoldListModel, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let Listed { count, list } = payments_on_hold(unit.as_mut(), mode, page).await?;
    if list.is_empty() {
        return Ok(PaymentOnHoldListModel { count, list: Vec::new() });
    }
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let customers = ListCustomers::read(unit.as_mut(), list.iter().map(|payment| &payment.asked.customer_id)).await?;
    let ids: Vec<_> = list.iter().flat_map(|payment| &payment.planned).map(|planned| planned.invoice_id.clone()).collect();
    let invoices = if ids.is_empty() { Vec::new() } else { unit.invoices().find_all(&ids).await? };
    drop(unit);
    let model = |payment: &PaymentOnHold| {
        let PaymentOnHold { attempt, asked, held, planned } = payment;
        let method = methods.iter().find(|method| method.id == attempt.method_id);
        let currency = currencies.iter().find(|currency| currency.id == attempt.currency_id);
        let of_payment = |invoice: &&Invoice| planned.iter().any(|one| one.invoice_id == invoice.id);
        let details = held.as_ref().zip(method).map(|(held, method)| payment_details(held, method.kind, &app.site));
        PaymentOnHoldModel {
            id: asked.id.to_string(),
            object: "payment_on_hold".to_owned(),
            livemode: asked.mode.is_live(),
            amount: attempt.amount.to_string(),
            amount_received: held.as_ref().map(|held| held.amount_received).unwrap_or_default().to_string(),
            amount_refunded: held.as_ref().map(|held| held.amount_refunded).unwrap_or_default().to_string(),
            currency_id: attempt.currency_id.to_string(),
            customer_id: asked.customer_id.to_string(),
            customer: customers.reference(&asked.customer_id),
            payment_method_id: attempt.method_id.to_string(),
            invoices: invoices.iter().filter(of_payment).map(InvoiceOnHoldModel::from).collect(),
            payment_details: details.unwrap_or_default(),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], &app.site)),
            held_at: held.as_ref().map_or(attempt.updated_at, |held| held.created_at).to_iso(),
        }
    };
    Ok(PaymentOnHoldListModel { count, list: list.iter().map(model).collect() })
}
