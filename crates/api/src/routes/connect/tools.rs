//! The calls of command lines and other tools, which wait until their user has answered in the browser (reference/store.md 5.2 and 9). They
//! carry no cookie: the token of the session is their only credential, and a secret answer is sealed to the key that they have sent.

use super::api::params_of;
use super::{claims, step};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Json;
use poem::{IntoResponse, Request, Response};
use serde_json::{Value, json};
use souk_domain::publishing::tools::{self, NewToolSession, ToolAction, ToolStatus};
use souk_domain::shared::Language;
use std::net::IpAddr;

const ENCRYPTION_KEY: &str = "_ek_";
const SOURCE: &str = "source";
/// The names of the apps that get a key, separated by commas.
const APPS: &str = "monikers";
const LOCALE: &str = "locale";

/// Begins a session. The tool opens the page of the action with the returned `url` in its address.
pub async fn begin(app: &App, request: &Request, action: ToolAction, body: poem::Body) -> Result<Response, Problem> {
    app.limits.admit_connect(request)?;
    let params = params_of(request, body, &[ENCRYPTION_KEY, SOURCE, APPS, LOCALE]).await?;
    let param = |name: &str| params.get(name).map(String::as_str).unwrap_or_default();
    let new = NewToolSession {
        token: hex::encode(app.ctx.random.bytes::<16>()),
        action,
        source: param(SOURCE),
        address: app.limits.caller_address(request).as_ref().map(IpAddr::to_string),
        encryption_key: param(ENCRYPTION_KEY),
        apps: param(APPS),
    };
    let visitor = app.limits.visitor_network(request, &app.tokens);
    let session = tools::begin_tool_session(&app.ctx, app.tool_seals.as_ref(), new, &visitor).await?;
    let body = json!({
        "token": session.token,
        "status": session.status.name(),
        "url": app.site.address(&format!("/{}?_t_={}", action.name(), session.token)),
        "appInfo": claims::app_info(app, Language::from_tag(param(LOCALE))),
        "memberAppInfo": null,
        "extra": {},
    });
    Ok(Json(body).into_response())
}

/// The state of a session, and the answer once there is one.
pub async fn status(app: &App, action: ToolAction, token: &str) -> Result<Response, Problem> {
    let found = app.ctx.store.read().await?.tool_sessions().find(token, app.ctx.now()).await?;
    let session = found.filter(|session| session.action == action).ok_or_else(step::expired)?;
    let mut body = json!({ "token": session.token, "status": session.status.name() });
    match session.status {
        // Tools stop at any error, so a session in progress has none.
        ToolStatus::Created | ToolStatus::Scanned => {}
        ToolStatus::Succeed => body["config"] = config_of(action, &session.config.unwrap_or_default()),
        ToolStatus::Error => {
            body["error"] = Value::String(session.error);
            body["code"] = json!("TOOL_DENIED");
        }
    }
    Ok(Json(body).into_response())
}

/// A sealed answer is a text, public keys are a list.
fn config_of(action: ToolAction, config: &str) -> Value {
    match action {
        ToolAction::GenerateKeys => serde_json::from_str(config).unwrap_or_default(),
        ToolAction::ConnectCli | ToolAction::ConnectStudio | ToolAction::LoginCli => Value::String(config.to_owned()),
    }
}
