use crate::auth::{Call, Reads, SignedIn, Writes, resources};
use crate::exact::ExactJson;
use crate::problem::Problem;
use crate::routes::payments::IntentModel;
use crate::routes::refunds::{RefundInputModel, RefundModel, refund};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::payment::Intent;
use souk_domain::shared::{Listed, Mode, Page};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentIntentList")]
pub struct IntentListModel {
    pub count: u64,
    pub list: Vec<IntentModel>,
}

pub struct PaymentIntentsApi;

#[OpenApi(prefix_path = "/api/payment-intents")]
impl PaymentIntentsApi {
    /// The signed-in customer's own payments, newest first.
    #[oai(path = "/", method = "get")]
    async fn mine(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        call: Call,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<IntentListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let customer = unit.customers().find_by_did(call.mode, &caller.0.user.did).await?;
        let found = match customer {
            Some(customer) => unit.intents().of_customer(&customer.id, &Page::new(page.0, page_size.0)).await?,
            None => Listed { count: 0, list: Vec::new() },
        };
        drop(unit);
        list(&app, call.mode, found).await
    }

    /// All payments of the store, newest first.
    #[oai(path = "/all", method = "get")]
    async fn all(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentIntents>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<IntentListModel>, Problem> {
        let found = app.ctx.store.read().await?.intents().list(reads.mode, &Page::new(page.0, page_size.0)).await?;
        list(&app, reads.mode, found).await
    }

    /// Give a payment back, or a part of it.
    #[oai(path = "/:id/refund", method = "put")]
    async fn refund(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Refunds>,
        id: Path<String>,
        input: ExactJson<RefundInputModel>,
    ) -> Result<Json<RefundModel>, Problem> {
        Ok(Json(refund(&app, writes.mode, &id, input.0).await?))
    }
}

async fn list(app: &App, mode: Mode, found: Listed<Intent>) -> Result<Json<IntentListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let models = found.list.iter().map(|intent| IntentModel::new(intent, &methods, &currencies, &app.site));
    Ok(Json(IntentListModel { count: found.count, list: models.collect() }))
}
