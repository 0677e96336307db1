use super::model::CurrencyInputModel;
use crate::auth::{Reads, Writes, resources};
use crate::problem::Problem;
use crate::routes::payments::CurrencyModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::payment;
use souk_domain::shared::{CurrencyId, Mode};
use std::sync::Arc;

pub struct PaymentCurrenciesApi;

#[OpenApi(prefix_path = "/api/payment-currencies")]
impl PaymentCurrenciesApi {
    /// Add a currency to a payment method, after checking with its network that the currency exists.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentMethods>,
        currency: Json<CurrencyInputModel>,
    ) -> Result<Json<CurrencyModel>, Problem> {
        let new = currency.identity()?;
        let id = payment::create_currency(&app.ctx, writes.mode, new, currency.0.into()).await?;
        show(&app, writes.mode, &id).await
    }

    /// All currencies of the mode.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, reads: Reads<resources::PaymentMethods>) -> Result<Json<Vec<CurrencyModel>>, Problem> {
        let currencies = app.ctx.store.read().await?.methods().currencies(reads.mode).await?;
        Ok(Json(currencies.iter().map(CurrencyModel::from).collect()))
    }

    /// One currency.
    #[oai(path = "/:id", method = "get")]
    async fn read(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::PaymentMethods>,
        id: Path<String>,
    ) -> Result<Json<CurrencyModel>, Problem> {
        show(&app, reads.mode, &CurrencyId::parse(&id)?).await
    }

    /// Change a currency. Its symbol is fixed once something was ordered at a price in it.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::PaymentMethods>,
        id: Path<String>,
        currency: Json<CurrencyInputModel>,
    ) -> Result<Json<CurrencyModel>, Problem> {
        let id = CurrencyId::parse(&id)?;
        payment::change_currency(&app.ctx, writes.mode, &id, currency.0.into()).await?;
        show(&app, writes.mode, &id).await
    }
}

async fn show(app: &App, mode: Mode, id: &CurrencyId) -> Result<Json<CurrencyModel>, Problem> {
    let currency = payment::find_currency(app.ctx.store.read().await?.as_mut(), mode, id).await?;
    Ok(Json(CurrencyModel::from(&currency)))
}
