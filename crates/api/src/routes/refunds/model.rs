//! Refunds as payment-kit.md 2 spells them.

use crate::exact::Decimal;
use crate::problem::Problem;
use crate::state::App;
use poem_openapi::Object;
use souk_domain::billing::{self, RefundOrder};
use souk_domain::payment::Refund;
use souk_domain::shared::{Amount, InvoiceId, Mode, PaymentIntentId};

#[derive(Debug, Clone, Object)]
#[oai(rename = "Refund")]
pub struct RefundModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// refund, stake_return, or credit: what was paid by credit with the store is credit again.
    #[oai(rename = "type")]
    pub kind: String,
    /// pending, succeeded or failed.
    pub status: String,
    /// Base units.
    pub amount: String,
    pub payment_intent_id: Option<String>,
    pub invoice_id: Option<String>,
    pub subscription_id: Option<String>,
    pub customer_id: String,
    pub currency_id: String,
    pub payment_method_id: String,
    pub reason: String,
    pub description: String,
    /// The network's name of it, once it is there.
    pub reference: String,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Refund> for RefundModel {
    fn from(refund: &Refund) -> Self {
        Self {
            id: refund.id.to_string(),
            object: "refund".to_owned(),
            livemode: refund.mode.is_live(),
            kind: refund.kind.name().to_owned(),
            status: refund.status.name().to_owned(),
            amount: refund.amount.to_string(),
            payment_intent_id: refund.intent_id.as_ref().map(ToString::to_string),
            invoice_id: refund.invoice_id.as_ref().map(ToString::to_string),
            subscription_id: refund.subscription_id.as_ref().map(ToString::to_string),
            customer_id: refund.customer_id.to_string(),
            currency_id: refund.currency_id.to_string(),
            payment_method_id: refund.method_id.to_string(),
            reason: refund.reason.clone(),
            description: refund.description.clone(),
            reference: refund.reference.clone(),
            created_at: refund.created_at.to_iso(),
            updated_at: refund.updated_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "RefundInput")]
pub struct RefundInputModel {
    /// The payment, where the address does not name it. Absent: that of the invoice, which may have none where credit paid all of it.
    pub payment_intent_id: Option<String>,
    /// Which invoice it is for, where the payment paid for several.
    pub invoice_id: Option<String>,
    /// A human decimal; absent: all that is left of the payment.
    pub amount: Option<Decimal>,
    pub reason: Option<String>,
    pub description: Option<String>,
}

/// Gives what was paid in this mode back: by a payment, or for an invoice. Where both a network and credit have paid of it, the network's
/// part goes first, and credit's part is a refund of its own beside the one that is answered.
pub async fn refund(app: &App, mode: Mode, intent: Option<&str>, input: RefundInputModel) -> Result<RefundModel, Problem> {
    let intent = intent.map(PaymentIntentId::parse).transpose()?;
    let invoice = input.invoice_id.map(|id| InvoiceId::parse(&id)).transpose()?;
    let mut unit = app.ctx.store.read().await?;
    let currency = match (&intent, &invoice) {
        (Some(id), _) => unit.intents().find(id).await?.filter(|intent| intent.mode == mode).map(|intent| intent.currency_id),
        (None, Some(id)) => unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).map(|invoice| invoice.currency_id),
        (None, None) => None,
    };
    let currency = unit.methods().find_currency(&currency.ok_or_else(Problem::not_found)?).await?.ok_or_else(Problem::not_found)?;
    drop(unit);
    let amount = input.amount.map(|amount| Amount::parse_decimal(&amount.0, currency.decimals, currency.decimals)).transpose();
    let order = RefundOrder {
        invoice: invoice.clone(),
        amount: amount.map_err(|error| Problem::bad(error.to_string()))?,
        reason: input.reason.unwrap_or_else(|| "requested_by_admin".to_owned()),
        description: input.description.unwrap_or_default(),
    };
    let refunds = match (&intent, &invoice) {
        (Some(intent), _) => billing::refund_payment(&app.ctx, mode, intent, &order).await,
        (None, Some(invoice)) => billing::refund_invoice(&app.ctx, mode, invoice, &order).await,
        (None, None) => return Err(Problem::not_found()),
    };
    let refunds = refunds.map_err(Problem::of_store)?;
    refunds.first().map(RefundModel::from).ok_or_else(Problem::not_found)
}
