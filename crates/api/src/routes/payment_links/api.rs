use super::model::{PaymentLinkInputModel, PaymentLinkListModel};
use crate::auth::{Reads, RequestContext, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::checkout_sessions::PaymentLinkModel;
use crate::routes::input::{metadata_filter, page, words};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::checkout::{self, LinkFields};
use souk_domain::pricing::CatalogueFilter;
use souk_domain::shared::{Language, Mode, PaymentLinkId};
use std::sync::Arc;

pub struct PaymentLinksApi;

#[OpenApi(prefix_path = "/api/payment-links")]
impl PaymentLinksApi {
    /// Create a payment link.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentLinks>,
        context: RequestContext,
        link: LosslessJson<PaymentLinkInputModel>,
    ) -> Result<Json<PaymentLinkModel>, Problem> {
        let id = checkout::create_link(&app.ctx, writes.mode, link.0.read()?).await?;
        show(&app, writes.mode, &id, context.language).await
    }

    /// The store's payment links, newest first. `metadata.{name}={value}` filters the list.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the call")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        reads: Reads<resources::PaymentLinks>,
        context: RequestContext,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
        active: Query<Option<bool>>,
        q: Query<Option<String>>,
    ) -> Result<Json<PaymentLinkListModel>, Problem> {
        let page = page::<PaymentLinkId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let filter = CatalogueFilter { active: active.0, query: words(q.0), product: None, metadata: metadata_filter(request)? };
        let found = app.ctx.store.read().await?.links().list(reads.mode, &filter, &page).await?;
        let list = found.list.iter().map(|link| PaymentLinkModel::new(link, context.language)).collect();
        Ok(Json(PaymentLinkListModel { count: found.count, list }))
    }

    /// Read a payment link.
    #[oai(path = "/:id", method = "get")]
    async fn read(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentLinks>,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<Json<PaymentLinkModel>, Problem> {
        show(&app, reads.mode, &PaymentLinkId::parse(&id)?, context.language).await
    }

    /// Change a payment link. Existing sessions keep its previous values.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentLinks>,
        context: RequestContext,
        id: Path<String>,
        link: LosslessJson<PaymentLinkInputModel>,
    ) -> Result<Json<PaymentLinkModel>, Problem> {
        let id = PaymentLinkId::parse(&id)?;
        checkout::change_link(&app.ctx, writes.mode, &id, link.0.read()?).await?;
        show(&app, writes.mode, &id, context.language).await
    }

    /// Archive a payment link: no new session can be started from it.
    #[oai(path = "/:id/archive", method = "put")]
    async fn archive(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentLinks>,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<Json<PaymentLinkModel>, Problem> {
        let id = PaymentLinkId::parse(&id)?;
        checkout::change_link(&app.ctx, writes.mode, &id, LinkFields { active: Some(false), ..LinkFields::default() }).await?;
        show(&app, writes.mode, &id, context.language).await
    }
}

async fn show(app: &App, mode: Mode, id: &PaymentLinkId, language: Language) -> Result<Json<PaymentLinkModel>, Problem> {
    let link = checkout::find_link(app.ctx.store.read().await?.as_mut(), mode, id).await?;
    Ok(Json(PaymentLinkModel::new(&link, language)))
}
