//! Liveness and readiness probes.

use crate::problem::Problem;
use crate::state::{App, Probe};
use poem::http::StatusCode;
use poem::web::{Data, Json};
use poem::{EndpointExt, IntoEndpoint, Route, get, handler};
use serde_json::{Value, json};
use souk_domain::operation::DiskSpace;
use souk_domain::storage::Store;
use std::sync::Arc;

/// What readiness depends on.
pub struct Health {
    pub store: Arc<dyn Store>,
    pub queue: Arc<dyn Probe>,
    pub disk: Arc<dyn DiskSpace>,
}

/// The probes alone, for a listener of their own.
pub fn routes(health: Health) -> impl IntoEndpoint {
    Route::new().at("/healthz", get(alive)).at("/readyz", get(ready_alone)).data(Arc::new(health))
}

#[handler]
pub fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Checks that the database and the queue respond. `degraded` lists what an owner should look at while the store serves requests: `clock`,
/// `disk`.
#[handler]
pub async fn ready(app: Data<&Arc<App>>) -> Result<Json<Value>, Problem> {
    check(app.ctx.store.as_ref(), app.probe.as_ref(), app.ctx.disk.as_ref()).await
}

#[handler]
async fn ready_alone(health: Data<&Arc<Health>>) -> Result<Json<Value>, Problem> {
    check(health.store.as_ref(), health.queue.as_ref(), health.disk.as_ref()).await
}

async fn check(store: &dyn Store, queue: &dyn Probe, disk: &dyn DiskSpace) -> Result<Json<Value>, Problem> {
    let unavailable = |part: &str| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, format!("The {part} does not answer")).code("UNAVAILABLE").param("part", part)
    };
    store.ping().await.map_err(|_| unavailable("database"))?;
    queue.ping().await.map_err(|_| unavailable("queue"))?;
    let clock = store.read().await.map_err(|_| unavailable("database"))?.clock_states().read().await;
    let doubts = clock.map_err(|_| unavailable("database"))?.doubts;
    let mut answer = json!({ "status": "ok", "database": "ok", "queue": "ok" });
    let reasons = [("clock", !doubts.is_empty()), ("disk", disk.shortage().is_some())];
    let degraded: Vec<_> = reasons.into_iter().filter(|(_, applies)| *applies).map(|(reason, _)| reason).collect();
    if !degraded.is_empty() {
        answer["degraded"] = json!(degraded);
    }
    Ok(Json(answer))
}
