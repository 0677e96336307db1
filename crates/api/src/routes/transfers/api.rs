use super::model::{TransferOnHoldListModel, TransferResolutionModel, list};
use crate::auth::{Reads, Writes, resources};
use crate::problem::Problem;
use crate::routes::input::page;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{HoldDecision, resolve_transfer};
use souk_domain::shared::AttemptId;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "ResolveTransferInput")]
pub struct ResolveTransferInputModel {
    /// One of the transfer's `decisions`.
    pub decision: String,
}

pub struct TransfersApi;

#[OpenApi(prefix_path = "/api/transfers")]
impl TransfersApi {
    /// Transfers on hold, newest first: their network moved an amount that differs from the ordered one, and the store has to decide.
    #[oai(path = "/on-hold", method = "get")]
    async fn on_hold(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Refunds>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<TransferOnHoldListModel>, Problem> {
        let page = page::<AttemptId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        Ok(Json(list(&app, reads.mode, &page).await?))
    }

    /// Resolve a transfer on hold. What the network moved is recorded with every decision.
    #[oai(path = "/:id/resolve", method = "post")]
    async fn resolve(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        id: Path<String>,
        input: Json<ResolveTransferInputModel>,
    ) -> Result<Json<TransferResolutionModel>, Problem> {
        let id = AttemptId::parse(&id)?;
        let decision = HoldDecision::from_name(&input.0.decision).ok_or_else(|| Problem::invalid("decision"))?;
        // These send money out of the store.
        if matches!(decision, HoldDecision::Retry | HoldDecision::Return) {
            writes.check_recent(&app)?;
        }
        let resolved = resolve_transfer(&app.ctx, writes.mode, &id, decision).await?;
        Ok(Json(TransferResolutionModel {
            amount_moved: resolved.moved.to_string(),
            amount_rest: resolved.rest.to_string(),
            amount_excess: resolved.excess.to_string(),
        }))
    }
}
