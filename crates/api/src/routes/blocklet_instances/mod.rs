//! Public instances of apps, as published servers list themselves (reference/store.md 1.7).

use crate::problem::Problem;
use crate::state::App;
use poem::web::{Data, Json, Path};
use poem::{Request, Route, get, handler};
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::publishing::instances::{AppInstance, InstanceClaim, list_instances, register_instance, withdraw_instance};
use std::sync::Arc;

/// Below `/api/blocklet-instances`.
#[must_use]
pub fn routes() -> Route {
    Route::new().at("/:app_id", get(read).put(register).delete(withdraw))
}

/// What an instance sends about itself. A missing member is refused by name.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InstanceBody {
    #[serde(rename = "appPK")]
    app_pk: String,
    app_id: String,
    app_token: String,
    app_url: String,
    blocklet_did: String,
    owner_did: String,
}

impl InstanceBody {
    fn claim<'a>(&'a self, named: &'a str) -> InstanceClaim<'a> {
        InstanceClaim {
            named,
            id: &self.app_id,
            public_key: &self.app_pk,
            proof: &self.app_token,
            url: &self.app_url,
            app: &self.blocklet_did,
            owner: &self.owner_did,
        }
    }
}

fn model(instance: &AppInstance) -> Value {
    json!({
        "appId": instance.id.as_str(),
        "blockletDid": instance.app.as_str(),
        "ownerDid": instance.owner.as_str(),
        "appUrl": instance.url,
        "createdAt": instance.created_at.to_iso(),
        "updatedAt": instance.updated_at.to_iso(),
    })
}

/// An instance, or `null`.
#[handler]
async fn read(app: Data<&Arc<App>>, Path(app_id): Path<String>) -> Result<Json<Value>, Problem> {
    let Some(id) = app.did_auth_tokens.parse_did(&app_id) else { return Ok(Json(Value::Null)) };
    let found = app.ctx.store.read().await?.app_instances().find(&id).await?;
    Ok(Json(found.as_ref().map_or(Value::Null, model)))
}

#[handler]
async fn register(
    app: Data<&Arc<App>>,
    request: &Request,
    Path(app_id): Path<String>,
    body: Json<InstanceBody>,
) -> Result<Json<Value>, Problem> {
    app.limits.admit_instance(request)?;
    let visitor = app.limits.visitor_network(request, &app.tokens);
    let (dids, probe) = (app.did_auth_tokens.as_ref(), app.instances.as_ref());
    Ok(Json(model(&register_instance(&app.ctx, dids, probe, &body.claim(&app_id), &visitor).await?)))
}

/// Answers with the number of instances that were removed.
#[handler]
async fn withdraw(
    app: Data<&Arc<App>>,
    request: &Request,
    Path(app_id): Path<String>,
    body: Json<InstanceBody>,
) -> Result<Json<Value>, Problem> {
    app.limits.admit_instance(request)?;
    let was_listed = withdraw_instance(&app.ctx, app.did_auth_tokens.as_ref(), &body.claim(&app_id)).await?;
    Ok(Json(json!(u8::from(was_listed))))
}

/// `GET /api/blocklets/{did}/instances`: those of an app that are shown.
#[handler]
pub async fn list(app: Data<&Arc<App>>, Path(did): Path<String>) -> Result<Json<Value>, Problem> {
    let Some(did) = app.did_auth_tokens.parse_did(&did) else { return Ok(Json(json!([]))) };
    let instances = list_instances(&app.ctx, &did).await?;
    Ok(Json(instances.iter().map(model).collect()))
}
