use super::model::{
    RefundAnswerModel, RefundInputModel, RefundModel, STAKE_RETURN, order_refund, refund_model, refund_models, stake_return,
};
use crate::auth::{Reader, Reads, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::customers::list_owner;
use crate::routes::input::{id_filter, page};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, StakeFilter, StakeReturns, refundable};
use souk_domain::payment::{RefundFilter, RefundStatus, RefundType};
use souk_domain::shared::{InvoiceId, RefundId, StakeId};
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
    /// The maximum refund now, in base units.
    pub amount: String,
    /// The part of it that returns to the customer's balance, because it was paid from the balance.
    pub to_balance: String,
}

pub struct RefundsApi;

#[OpenApi(prefix_path = "/api/refunds")]
impl RefundsApi {
    /// Refund a payment, or the payments of an invoice, by a credit note. Refunds over a network are sent after the response; the part
    /// that was paid from the balance returns to it immediately.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        input: LosslessJson<RefundInputModel>,
    ) -> Result<Json<RefundAnswerModel>, Problem> {
        writes.check_recent(&app)?;
        let intent = input.0.payment_intent_id.clone().filter(|id| !id.is_empty());
        Ok(Json(order_refund(&app, writes.mode, intent.as_deref(), input.0).await?))
    }

    /// Refunds and payouts, newest first: the caller's own, or all of the store; optionally of one invoice, with one status or of one
    /// type. Returned deposits are a list of their own: `type=stake_return`.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Refunds>,
        customer_id: Query<Option<String>>,
        invoice_id: Query<Option<String>>,
        status: Query<Option<String>>,
        #[oai(name = "type")] kind: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<RefundListModel>, Problem> {
        let size = page_size.0.or(limit.0);
        let nothing = || Ok(Json(RefundListModel { count: 0, list: Vec::new() }));
        let mut unit = app.ctx.store.read().await?;
        let Some(customer_id) = list_owner(&app, unit.as_mut(), &reader, customer_id.0).await?.filter() else { return nothing() };
        // An invalid id or status matches nothing, so that a typing error does not widen the list.
        let Ok(invoice_id) = id_filter::<InvoiceId>(invoice_id.0) else { return nothing() };
        let status = match status.0.as_deref().filter(|named| !named.is_empty()) {
            Some(named) => match RefundStatus::from_name(named) {
                Some(status) => Some(status),
                None => return nothing(),
            },
            None => None,
        };
        let kind = match kind.0.as_deref().filter(|named| !named.is_empty()) {
            Some(STAKE_RETURN) => {
                let returns = match status {
                    _ if invoice_id.is_some() => return nothing(),
                    None => StakeReturns::All,
                    Some(RefundStatus::Succeeded) => StakeReturns::Succeeded,
                    Some(RefundStatus::Failed) => StakeReturns::Failed,
                    Some(RefundStatus::Pending | RefundStatus::Canceled) => return nothing(),
                };
                let page = page::<StakeId>(number.0, size, starting_after.0)?;
                let filter = StakeFilter { customer_id, returns: Some(returns), ..StakeFilter::default() };
                let found = unit.stakes().list(reader.mode(), &filter, &page).await?;
                let methods = unit.methods().list(reader.mode()).await?;
                let list = found.list.iter().map(|stake| stake_return(stake, &methods, &app.site)).collect();
                return Ok(Json(RefundListModel { count: found.count, list }));
            }
            Some(named) => match RefundType::from_name(named) {
                Some(kind) => Some(kind),
                None => return nothing(),
            },
            None => None,
        };
        let page = page::<RefundId>(number.0, size, starting_after.0)?;
        let found = unit.refunds().list(reader.mode(), &RefundFilter { customer_id, invoice_id, status, kind }, &page).await?;
        let list = refund_models(&app, unit.as_mut(), &found.list).await?;
        Ok(Json(RefundListModel { count: found.count, list }))
    }

    /// The maximum refund of an invoice's payments now.
    #[oai(path = "/preview", method = "get")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Refunds>,
        invoice_id: Query<String>,
    ) -> Result<Json<RefundPreviewModel>, Problem> {
        let found = refundable(&app.ctx, reads.mode, &InvoiceId::parse(&invoice_id)?).await?;
        Ok(Json(RefundPreviewModel { amount: found.most.to_string(), to_balance: found.to_balance.to_string() }))
    }

    /// Read a refund.
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
        drop(unit);
        match reader.may_read(&customer.did, refund.mode) {
            true => Ok(Json(refund_model(&app, &refund).await?)),
            false => Err(Problem::not_found()),
        }
    }

    /// Send a failed refund again, over the same network.
    #[oai(path = "/:id/retry", method = "post")]
    async fn retry(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        id: Path<String>,
    ) -> Result<Json<RefundModel>, Problem> {
        writes.check_recent(&app)?;
        let refund = billing::retry_refund(&app.ctx, writes.mode, &RefundId::parse(&id)?).await?;
        Ok(Json(refund_model(&app, &refund).await?))
    }

    /// Move the amount of a failed refund to the customer's balance.
    #[oai(path = "/:id/move-to-balance", method = "post")]
    async fn move_to_balance(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        id: Path<String>,
    ) -> Result<Json<RefundModel>, Problem> {
        let refund = billing::move_refund_to_balance(&app.ctx, writes.mode, &RefundId::parse(&id)?).await?;
        Ok(Json(refund_model(&app, &refund).await?))
    }
}
