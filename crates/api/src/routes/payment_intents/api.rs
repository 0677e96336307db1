use super::on_hold::{self, PaymentOnHoldListModel};
use crate::auth::{Reader, Reads, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::balances::BalanceTransactionModel;
use crate::routes::customers::named_customer;
use crate::routes::input::{page, read_metadata, words};
use crate::routes::payments::IntentModel;
use crate::routes::refunds::{RefundAnswerModel, RefundInputModel, RefundModel, order_refund, refund_model};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, Invoice, SuspenseError, SuspenseTo};
use souk_domain::payment::{Intent, update_metadata};
use souk_domain::shared::{Listed, Mode, Page, PaymentIntentId, StorageError};
use souk_domain::storage::UnitOfWork;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentIntentList")]
pub struct IntentListModel {
    pub count: u64,
    pub list: Vec<IntentModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentIntentUpdate")]
pub struct IntentUpdateModel {
    /// Replaces the existing metadata. The customer who paid can read it.
    pub metadata: serde_json::Value,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ResolveInput")]
pub struct ResolveInputModel {
    /// Where the settled amount goes: `balance` (of the customer, the default), `invoice` (the invoices of the payment, as far as they
    /// remain; the rest goes to the balance) or `refund` (back to the payer).
    pub to: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentResolution", skip_serializing_if_is_none)]
pub struct ResolutionModel {
    /// What was resolved, in base units: the settled amount, less what was refunded in the provider's dashboard or disputed since.
    pub amount: String,
    /// The increase of the customer's balance.
    pub balance_transaction: Option<BalanceTransactionModel>,
    pub refund: Option<RefundModel>,
    /// The invoices that were paid, or paid in part.
    pub invoice_ids: Vec<String>,
}

pub struct PaymentIntentsApi;

#[OpenApi(prefix_path = "/api/payment-intents")]
impl PaymentIntentsApi {
    /// Payments, newest first: the caller's own; for an API key, all of the store. The store may name a customer by id or DID.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::PaymentIntents>,
        customer_id: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<IntentListModel>, Problem> {
        let page = page::<PaymentIntentId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let mode = reader.mode();
        let mut unit = app.ctx.store.read().await?;
        let named = customer_id.0.as_deref().filter(|named| !named.is_empty());
        let customer = match (&reader, named) {
            (Reader::Key(..), None) => {
                let found = unit.intents().list(mode, &page).await?;
                drop(unit);
                return listed(&app, mode, found).await;
            }
            (Reader::Person(caller, _), None) => unit.customers().find_by_did(mode, &caller.user.did).await?,
            (reader, Some(named)) => {
                let found = named_customer(&app, unit.as_mut(), mode, named).await?;
                found.filter(|customer| customer.mode == mode && reader.may_read(&customer.did, mode))
            }
        };
        let found = match customer {
            Some(customer) => unit.intents().of_customer(&customer.id, &page).await?,
            None => Listed { count: 0, list: Vec::new() },
        };
        drop(unit);
        listed(&app, mode, found).await
    }

    /// All payments of the store, newest first.
    #[oai(path = "/all", method = "get")]
    async fn all(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentIntents>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<IntentListModel>, Problem> {
        let page = page::<PaymentIntentId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let found = app.ctx.store.read().await?.intents().list(reads.mode, &page).await?;
        listed(&app, reads.mode, found).await
    }

    /// Payments on hold, newest first: their network moved an amount that differs from the requested one, and the store has to decide.
    #[oai(path = "/on-hold", method = "get")]
    async fn on_hold(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentIntents>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<PaymentOnHoldListModel>, Problem> {
        let page = page::<PaymentIntentId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        Ok(Json(on_hold::list(&app, reads.mode, &page).await?))
    }

    /// Payments whose description contains a text, or whose id or transaction hash equals it: all of the store, or the customer's own.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::PaymentIntents>,
        query: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<IntentListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let (mode, page) = (reader.mode(), Page::new(number.0, page_size.0));
        let customer_id = match &reader {
            Reader::Person(caller, _) if !reader.is_store() => match unit.customers().find_by_did(mode, &caller.user.did).await? {
                Some(customer) => Some(customer.id),
                None => return Ok(Json(IntentListModel { count: 0, list: Vec::new() })),
            },
            _ => None,
        };
        let found = unit.intents().search(mode, customer_id.as_ref(), &words(query.0), &page).await?;
        drop(unit);
        listed(&app, mode, found).await
    }

    /// Read a payment.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::PaymentIntents>,
        id: Path<String>,
    ) -> Result<Json<IntentModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let intent = unit.intents().find(&PaymentIntentId::parse(&id)?).await?.ok_or_else(Problem::not_found)?;
        let customer = unit.customers().find(&intent.customer_id).await?.ok_or_else(Problem::not_found)?;
        if !reader.may_read(&customer.did, intent.mode) {
            return Err(Problem::not_found());
        }
        shown(&app, unit.as_mut(), &intent).await
    }

    /// Replace the metadata of a payment. Its other fields cannot be changed.
    #[oai(path = "/:id", method = "put")]
    async fn update_metadata(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentIntents>,
        id: Path<String>,
        label: Json<IntentUpdateModel>,
    ) -> Result<Json<IntentModel>, Problem> {
        let id = PaymentIntentId::parse(&id)?;
        let metadata = read_metadata(label.0.metadata)?.metadata;
        update_metadata(&app.ctx, writes.mode, &id, &metadata).await?;
        let mut unit = app.ctx.store.read().await?;
        let intent = unit.intents().find(&id).await?.ok_or_else(Problem::not_found)?;
        shown(&app, unit.as_mut(), &intent).await
    }

    /// Refund a payment, or a part of it.
    #[oai(path = "/:id/refund", method = "put")]
    async fn refund(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        id: Path<String>,
        input: LosslessJson<RefundInputModel>,
    ) -> Result<Json<RefundAnswerModel>, Problem> {
        writes.check_recent(&app)?;
        Ok(Json(order_refund(&app, writes.mode, Some(id.as_str()), input.0).await?))
    }

    /// Resolve a payment on hold, whose settled amount differs from the requested one. What is still unpaid of its invoices can be paid
    /// again.
    #[oai(path = "/:id/resolve", method = "post")]
    async fn resolve(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentIntents>,
        id: Path<String>,
        input: Json<ResolveInputModel>,
    ) -> Result<Json<ResolutionModel>, Problem> {
        let id = PaymentIntentId::parse(&id)?;
        let to = match input.0.to.as_deref() {
            Some(name) => SuspenseTo::from_name(name).ok_or_else(|| Problem::invalid("to"))?,
            None => SuspenseTo::default(),
        };
        if to == SuspenseTo::Refund {
            writes.check_recent(&app)?;
        }
        let mut unit = app.ctx.store.read().await?;
        let intent = unit.intents().find(&id).await?.filter(|intent| intent.mode == writes.mode).ok_or_else(Problem::not_found)?;
        let attempt = unit.attempts().open_of_intent(&intent.id).await?.ok_or(SuspenseError::NotOnHold)?;
        let currencies = unit.methods().currencies(writes.mode).await?;
        drop(unit);
        let resolved = billing::resolve_suspense(&app.ctx, writes.mode, &attempt.id, to).await?;
        let refund = match &resolved.refund {
            Some(refund) => Some(refund_model(&app, refund).await?),
            None => None,
        };
        Ok(Json(ResolutionModel {
            amount: resolved.amount.to_string(),
            balance_transaction: resolved.transaction.as_ref().map(|one| BalanceTransactionModel::new(one, &currencies)),
            refund,
            invoice_ids: resolved.invoices.iter().map(ToString::to_string).collect(),
        }))
    }
}

async fn shown(app: &App, unit: &mut dyn UnitOfWork, intent: &Intent) -> Result<Json<IntentModel>, Problem> {
    let methods = unit.methods().list(intent.mode).await?;
    let currencies = unit.methods().currencies(intent.mode).await?;
    let invoices = first_invoices(unit, std::slice::from_ref(intent)).await?;
    Ok(Json(IntentModel::new(intent, &methods, &currencies, &app.site).with_metadata(intent).with_invoice_status(&invoices)))
}

async fn listed(app: &App, mode: Mode, found: Listed<Intent>) -> Result<Json<IntentListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let invoices = first_invoices(unit.as_mut(), &found.list).await?;
    let model = |intent| IntentModel::new(intent, &methods, &currencies, &app.site).with_metadata(intent).with_invoice_status(&invoices);
    let models = found.list.iter().map(model);
    Ok(Json(IntentListModel { count: found.count, list: models.collect() }))
}

/// The first invoice of each payment, in one query.
async fn first_invoices(unit: &mut dyn UnitOfWork, intents: &[Intent]) -> Result<Vec<Invoice>, StorageError> {
    let ids: Vec<_> = intents.iter().filter_map(|intent| intent.invoices.first().cloned()).collect();
    if ids.is_empty() { Ok(Vec::new()) } else { unit.invoices().find_all(&ids).await }
}
