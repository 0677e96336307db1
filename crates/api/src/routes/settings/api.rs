use crate::auth::RequestContext;
use crate::problem::Problem;
use crate::routes::payments::{CurrencyModel, MethodModel};
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Settings", rename_all = "camelCase", skip_serializing_if_is_none)]
pub struct SettingsModel {
    pub payment_methods: Vec<MethodModel>,
    pub base_currency: Option<CurrencyModel>,
}

pub struct SettingsApi;

#[OpenApi(prefix_path = "/api/settings")]
impl SettingsApi {
    /// The active payment methods of a mode, with their currencies. Those of the sandbox are left out while it is off.
    #[oai(path = "/", method = "get")]
    async fn settings(&self, app: Data<&Arc<App>>, context: RequestContext) -> Result<Json<SettingsModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let methods = unit.methods().list(context.mode).await?;
        let currencies: Vec<_> = unit.methods().currencies(context.mode).await?.into_iter().filter(|currency| currency.active).collect();
        let base = currencies.iter().find(|currency| currency.is_base).or(currencies.first());
        let active = methods.iter().filter(|method| method.active && !app.ctx.networks.is_paused(method));
        Ok(Json(SettingsModel {
            payment_methods: active.map(|method| MethodModel::new(method, &currencies, &app.site)).collect(),
            base_currency: base.map(CurrencyModel::from),
        }))
    }
}
