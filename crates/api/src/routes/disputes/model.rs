use crate::problem::Problem;
use crate::routes::customers::{CustomerReference, ListCustomers};
use crate::routes::payments::{CurrencyModel, MethodModel};
use crate::state::{App, Site};
use poem_openapi::Object;
use souk_domain::payment::{Currency, Dispute, Intent, Method};
use souk_domain::shared::{CurrencyId, Mode, Timestamp};
use souk_domain::storage::UnitOfWork;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Dispute", skip_serializing_if_is_none)]
pub struct DisputeModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// inquiry, inquiry_under_review, inquiry_closed, needs_response, under_review, won or lost.
    pub status: String,
    /// The disputed amount in base units: the payment or a part of it.
    pub amount: String,
    pub currency_id: String,
    /// The fee that the network charged for the dispute, in base units of `feeCurrency`.
    pub fee: String,
    /// Absent if the store does not have this currency.
    #[oai(rename = "feeCurrency")]
    pub fee_currency: Option<CurrencyModel>,
    /// Whether the amount is currently withdrawn from the store's account.
    pub funds_withdrawn: bool,
    /// The reason as the network reports it.
    pub reason: String,
    /// The deadline for the store's response, in unix seconds.
    pub respond_by: Option<i64>,
    pub payment_intent_id: String,
    /// The invoices that the disputed payment paid.
    pub invoice_ids: Vec<String>,
    pub customer_id: String,
    pub customer: Option<CustomerReference>,
    pub payment_method_id: String,
    /// The network's id of the dispute.
    pub provider_id: String,
    /// The credit notes that were issued when the dispute was lost.
    pub credit_note_ids: Vec<String>,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub created_at: String,
    pub updated_at: String,
}

impl DisputeModel {
    fn new(dispute: &Dispute, intents: &[Intent], currencies: &[Currency], methods: &[Method], site: &Site) -> Self {
        let currency = |id: &CurrencyId| currencies.iter().find(|currency| currency.id == *id).map(CurrencyModel::from);
        let method = methods.iter().find(|method| method.id == dispute.method_id);
        let intent = intents.iter().find(|intent| intent.id == dispute.intent_id);
        Self {
            id: dispute.id.to_string(),
            object: "dispute".to_owned(),
            livemode: dispute.mode.is_live(),
            status: dispute.status.name().to_owned(),
            amount: dispute.amount.to_string(),
            currency_id: dispute.currency_id.to_string(),
            fee: dispute.fee.to_string(),
            fee_currency: dispute.fee_currency_id.as_ref().and_then(currency),
            funds_withdrawn: dispute.funds_withdrawn,
            reason: dispute.reason.clone(),
            respond_by: dispute.respond_by.map(Timestamp::seconds),
            payment_intent_id: dispute.intent_id.to_string(),
            invoice_ids: intent.map(|intent| intent.invoices.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            customer_id: dispute.customer_id.to_string(),
            customer: None,
            payment_method_id: dispute.method_id.to_string(),
            provider_id: dispute.provider_id.clone(),
            credit_note_ids: dispute.credit_note_ids.iter().map(ToString::to_string).collect(),
            payment_currency: currency(&dispute.currency_id),
            payment_method: method.map(|method| MethodModel::new(method, &[], site)),
            created_at: dispute.created_at.to_iso(),
            updated_at: dispute.updated_at.to_iso(),
        }
    }
}

/// Disputes of a mode with their related objects.
pub async fn disputes(app: &App, unit: &mut dyn UnitOfWork, mode: Mode, found: &[Dispute]) -> Result<Vec<DisputeModel>, Problem> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = found.iter().map(|dispute| dispute.intent_id.clone()).collect();
    let intents = unit.intents().find_all(&ids).await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let customers = ListCustomers::read(unit, found.iter().map(|dispute| &dispute.customer_id)).await?;
    let model = |dispute: &Dispute| DisputeModel {
        customer: customers.reference(&dispute.customer_id),
        ..DisputeModel::new(dispute, &intents, &currencies, &methods, &app.site)
    };
    Ok(found.iter().map(model).collect())
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DisputeList")]
pub struct DisputeListModel {
    pub count: u64,
    pub list: Vec<DisputeModel>,
}
