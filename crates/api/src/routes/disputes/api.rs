use super::model::{DisputeListModel, DisputeModel, disputes};
use crate::auth::{Reads, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::input::{id_filter, page};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::payment::DisputeFilter;
use souk_domain::shared::{DisputeId, PaymentIntentId};
use std::sync::Arc;

pub struct DisputesApi;

#[OpenApi(prefix_path = "/api/disputes")]
impl DisputesApi {
    /// Disputes, newest first; optionally of one customer, of one payment, or only undecided ones (`open=true`).
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Disputes>,
        customer_id: Query<Option<String>>,
        payment_intent_id: Query<Option<String>>,
        open: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<DisputeListModel>, Problem> {
        let page = page::<DisputeId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let nothing = || Ok(Json(DisputeListModel { count: 0, list: Vec::new() }));
        let mut unit = app.ctx.store.read().await?;
        let customer_id = match customer_id.0.filter(|named| !named.is_empty()) {
            Some(named) => match named_customer(&app, unit.as_mut(), reads.mode, &named).await? {
                Some(customer) => Some(customer.id),
                None => return nothing(),
            },
            None => None,
        };
        // An invalid id matches nothing, so that a typing error does not widen the list.
        let Ok(intent_id) = id_filter::<PaymentIntentId>(payment_intent_id.0) else { return nothing() };
        let filter = DisputeFilter { customer_id, intent_id, open: open.0.as_deref() == Some("true") };
        let found = unit.disputes().list(reads.mode, &filter, &page).await?;
        let list = disputes(&app, unit.as_mut(), reads.mode, &found.list).await?;
        Ok(Json(DisputeListModel { count: found.count, list }))
    }

    /// Read a dispute.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Disputes>,
        id: Path<String>,
    ) -> Result<Json<DisputeModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let found = unit.disputes().find(&DisputeId::parse(&id)?).await?.filter(|dispute| dispute.mode == reads.mode);
        let found = found.ok_or_else(Problem::not_found)?;
        let model = disputes(&app, unit.as_mut(), found.mode, std::slice::from_ref(&found)).await?.pop();
        Ok(Json(model.ok_or_else(Problem::not_found)?))
    }
}
