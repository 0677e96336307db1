use crate::auth::{Caller, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Role;
use souk_domain::operation::{ClockState, confirm_clock};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Clock")]
pub struct ClockModel {
    /// Automatic billing runs only while the clock is trusted.
    pub trusted: bool,
    /// What the clock differs from: uptime, database, network or mark.
    pub source: Option<String>,
    /// How far the clock is ahead of it, in seconds; negative: behind.
    pub ahead_seconds: Option<i64>,
    /// The machine whose clock is doubted.
    pub host: Option<String>,
}

impl From<ClockState> for ClockModel {
    fn from(ClockState { doubts, .. }: ClockState) -> Self {
        let doubt = doubts.into_iter().next();
        Self {
            trusted: doubt.is_none(),
            source: doubt.as_ref().map(|stored| stored.doubt.source.name().to_owned()),
            ahead_seconds: doubt.as_ref().map(|stored| stored.doubt.ahead_seconds),
            host: doubt.map(|stored| stored.host),
        }
    }
}

pub struct ClockApi;

#[OpenApi(prefix_path = "/api/clock")]
impl ClockApi {
    /// Whether the clock is trusted, for administrators.
    #[oai(path = "/", method = "get")]
    async fn clock(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<ClockModel>, Problem> {
        match caller.0.is_admin() {
            true => shown(&app).await,
            false => Err(Problem::forbidden()),
        }
    }

    /// Confirm that the clocks of all machines are right, as an owner. Automatic billing continues.
    #[oai(path = "/confirm", method = "put")]
    async fn confirm(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<ClockModel>, Problem> {
        if !is_owner(&caller.0) {
            return Err(Problem::forbidden());
        }
        confirm_clock(&app.ctx).await?;
        shown(&app).await
    }
}

fn is_owner(caller: &Caller) -> bool {
    caller.role() == Some(Role::Owner)
}

async fn shown(app: &App) -> Result<Json<ClockModel>, Problem> {
    Ok(Json(app.ctx.store.read().await?.clock_states().read().await?.into()))
}
