use super::check::{CheckModel, GasModel};
use super::model::MethodInputModel;
use crate::auth::{Reads, Writes, resources};
use crate::problem::Problem;
use crate::routes::payments::MethodModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::payment;
use souk_domain::shared::{MethodId, Mode};
use std::sync::Arc;

pub struct PaymentMethodsApi;

#[OpenApi(prefix_path = "/api/payment-methods")]
impl PaymentMethodsApi {
    /// Create a payment method, after checking its settings with its network. The answer says whether the store has staked for gas there.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentMethods>,
        method: Json<MethodInputModel>,
    ) -> Result<Json<MethodModel>, Problem> {
        let kind = method.kind()?;
        let id = payment::create_method(&app.ctx, writes.mode, kind, method.0.read(kind)?).await?;
        let mut unit = app.ctx.store.read().await?;
        let method = payment::find_method(unit.as_mut(), writes.mode, &id).await?;
        drop(unit);
        let gas = payment::check_method(&app.ctx, &method).await?.gas.as_ref().map(GasModel::from);
        Ok(Json(MethodModel { gas, ..MethodModel::new(&method, &[], &app.site) }))
    }

    /// Ask the network of a payment method whether the method works, and whether the store has staked for gas.
    #[oai(path = "/:id/check", method = "get")]
    async fn check(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentMethods>,
        id: Path<String>,
    ) -> Result<Json<CheckModel>, Problem> {
        let method = payment::find_method(app.ctx.store.read().await?.as_mut(), reads.mode, &MethodId::parse(&id)?).await?;
        Ok(Json(payment::check_method(&app.ctx, &method).await?.into()))
    }

    /// Stake for gas at the network of a payment method, from the store's account.
    #[oai(path = "/:id/stake-for-gas", method = "post")]
    async fn stake_for_gas(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentMethods>,
        id: Path<String>,
    ) -> Result<Json<GasModel>, Problem> {
        let gas = payment::stake_for_gas(&app.ctx, writes.mode, &MethodId::parse(&id)?).await?;
        Ok(Json(GasModel::from(&gas)))
    }

    /// All payment methods of the mode, with their currencies.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, reads: Reads<resources::PaymentMethods>) -> Result<Json<Vec<MethodModel>>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let methods = unit.methods().list(reads.mode).await?;
        let currencies = unit.methods().currencies(reads.mode).await?;
        Ok(Json(methods.iter().map(|method| MethodModel::new(method, &currencies, &app.site)).collect()))
    }

    /// Read a payment method, without its secrets.
    #[oai(path = "/:id", method = "get")]
    async fn read(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentMethods>,
        id: Path<String>,
    ) -> Result<Json<MethodModel>, Problem> {
        show(&app, reads.mode, &MethodId::parse(&id)?).await
    }

    /// Change a payment method. An absent secret keeps its value.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentMethods>,
        id: Path<String>,
        method: Json<MethodInputModel>,
    ) -> Result<Json<MethodModel>, Problem> {
        let id = MethodId::parse(&id)?;
        let kind = payment::find_method(app.ctx.store.read().await?.as_mut(), writes.mode, &id).await?.kind;
        payment::change_method(&app.ctx, writes.mode, &id, method.0.read(kind)?).await?;
        show(&app, writes.mode, &id).await
    }
}

async fn show(app: &App, mode: Mode, id: &MethodId) -> Result<Json<MethodModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let method = payment::find_method(unit.as_mut(), mode, id).await?;
    let currencies = unit.methods().currencies(mode).await?;
    Ok(Json(MethodModel::new(&method, &currencies, &app.site)))
}
