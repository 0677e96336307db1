use super::model::{RefundInputModel, RefundModel, refund};
use crate::auth::{Reader, Writes, resources};
use crate::exact::ExactJson;
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::input::{id_filter, page};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::refundable;
use souk_domain::payment::RefundFilter;
use souk_domain::shared::{InvoiceId, RefundId};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "RefundList")]
pub struct RefundListModel {
    pub count: u64,
    pub list: Vec<RefundModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "RefundPreview")]
pub struct RefundPreviewModel {
    /// The most that can be given back now, in base units.
    pub amount: String,
    /// What is left of what was paid. Where it is more, the rest is the customer's credit, or has paid other bills as credit.
    pub left: String,
}

pub struct RefundsApi;

#[OpenApi(prefix_path = "/api/refunds")]
impl RefundsApi {
    /// Give money of a payment back, the way it came. It is on its way when this answers. What credit with the store had paid is credit
    /// again, by a refund of its own, after what a network has moved.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        input: ExactJson<RefundInputModel>,
    ) -> Result<Json<RefundModel>, Problem> {
        let intent = input.0.payment_intent_id.clone();
        Ok(Json(refund(&app, writes.mode, intent.as_deref(), input.0).await?))
    }

    /// Refunds, newest first: a customer's own, or those of the store; of one invoice.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Refunds>,
        customer_id: Query<Option<String>>,
        invoice_id: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<RefundListModel>, Problem> {
        let page = page::<RefundId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let mut unit = app.ctx.store.read().await?;
        let nothing = || Ok(Json(RefundListModel { count: 0, list: Vec::new() }));
        // What is no id is nothing's: the list does not grow by a slip.
        let Ok(invoice_id) = id_filter::<InvoiceId>(invoice_id.0) else { return nothing() };
        let customer_id = match (&reader, customer_id.0.filter(|named| !named.is_empty())) {
            (reader, None) if reader.is_store() => None,
            (Reader::Person(caller, mode), None) => match unit.customers().find_by_did(*mode, &caller.user.did).await? {
                Some(own) => Some(own.id),
                None => return nothing(),
            },
            (Reader::Key(..), None) => None,
            (reader, Some(named)) => match named_customer(&app, unit.as_mut(), reader.mode(), &named).await? {
                Some(customer) if reader.may_read(&customer.did, customer.mode) => Some(customer.id),
                Some(_) => return Err(Problem::forbidden()),
                None => return nothing(),
            },
        };
        let found = unit.refunds().list(reader.mode(), &RefundFilter { customer_id, invoice_id }, &page).await?;
        Ok(Json(RefundListModel { count: found.count, list: found.list.iter().map(RefundModel::from).collect() }))
    }

    /// The most of what an invoice was paid that can be given back now: not what its customer holds as credit already.
    #[oai(path = "/preview", method = "get")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Refunds>,
        invoice_id: Query<String>,
    ) -> Result<Json<RefundPreviewModel>, Problem> {
        if !reader.is_store() {
            return Err(Problem::forbidden());
        }
        let found = refundable(&app.ctx, reader.mode(), &InvoiceId::parse(&invoice_id)?).await.map_err(Problem::of_store)?;
        Ok(Json(RefundPreviewModel { amount: found.most.to_string(), left: found.left.to_string() }))
    }

    /// One refund.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Refunds>,
        id: Path<String>,
    ) -> Result<Json<RefundModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let refund = unit.refunds().find(&RefundId::parse(&id)?).await?.ok_or_else(Problem::not_found)?;
        let customer = unit.customers().find(&refund.customer_id).await?.ok_or_else(Problem::not_found)?;
        match reader.may_read(&customer.did, refund.mode) {
            true => Ok(Json(RefundModel::from(&refund))),
            false => Err(Problem::not_found()),
        }
    }
}
