//! Liveness and readiness probes.

use crate::problem::Problem;
use crate::state::App;
use poem::handler;
use poem::http::StatusCode;
use poem::web::{Data, Json};
use serde_json::{Value, json};
use std::sync::Arc;

#[handler]
pub fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Checks that the database and the queue respond. `degraded` names what an owner should look at while the store serves requests.
#[handler]
pub async fn ready(app: Data<&Arc<App>>) -> Result<Json<Value>, Problem> {
    let unavailable = |part: &str| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, format!("The {part} does not answer")).code("UNAVAILABLE").param("part", part)
    };
    app.ctx.store.ping().await.map_err(|_| unavailable("database"))?;
    app.probe.ping().await.map_err(|_| unavailable("queue"))?;
    let clock = app.ctx.store.read().await.map_err(|_| unavailable("database"))?.clock_states().read().await;
    let doubt = clock.map_err(|_| unavailable("database"))?.doubt;
    let mut answer = json!({ "status": "ok", "database": "ok", "queue": "ok" });
    if doubt.is_some() {
        answer["degraded"] = json!("clock");
    }
    Ok(Json(answer))
}
