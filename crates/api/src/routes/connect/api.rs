//! The endpoints. They are plain routes, not part of the OpenAPI document, because wallets and published clients define their format.

use super::step::{self, challenge};
use super::{claims, confirmation, tools, wallet_actions};
use crate::auth::{BROWSER_COOKIE, LOGIN_COOKIE, LinkHolder, MaybeUser, browser_cookie, cookie, login_cookie, token_hash};
use crate::limits::ANSWER_DEADLINE;
use crate::problem::Problem;
use crate::state::App;
use poem::http::header;
use poem::web::{Data, Json, Path, Query};
use poem::{IntoResponse, Request, Response, Route, get, handler};
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::access::{self, CONNECT_LIFETIME, ConnectAction, ConnectSession, ConnectStatus, ConnectStep, NewLogin, Wallet};
use souk_domain::publishing::tools::ToolAction;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

/// The parameters that a page may attach to a session (payment-kit.md 3); others are dropped.
const PARAMS: [&str; 20] = [
    "appDid",
    "checkoutSessionId",
    "sessionUserDid",
    "locale",
    "subscriptionId",
    "customerId",
    "invoiceId",
    "currencyId",
    "amount",
    "autoRechargeConfigId",
    "action",
    "mode",
    "livemode",
    "visitorId",
    "priceId",
    "quantity",
    "itemId",
    "prorationDate",
    "expectedTotal",
    "expectedCredited",
];
/// Maximum length of a parameter value of a page in bytes; longer ones are dropped.
const PARAM_MAX: usize = 500;
/// Maximum body of a request that begins a session, in bytes.
const PARAMS_MAX: usize = 16 * 1024;
/// Maximum body of a wallet's response, in bytes.
const RESPONSE_MAX: usize = 128 * 1024;

#[must_use]
pub fn routes() -> Route {
    Route::new()
        .at("/:action/token", get(begin).post(begin))
        .at("/:action/status", get(status))
        .at("/:action/timeout", get(timeout))
        .at("/:action/auth", get(wallet_request).post(wallet_response))
        .at("/:action/auth/submit", get(wallet_response_by_redirect))
}

#[derive(Deserialize)]
struct Token {
    #[serde(default, rename = "_t_")]
    token: String,
}

fn action_of(name: &str) -> Result<ConnectAction, Problem> {
    ConnectAction::from_name(name).ok_or_else(Problem::not_found)
}

/// Begins a connect session and binds it to this browser by a cookie.
#[handler]
async fn begin(
    app: Data<&Arc<App>>,
    request: &Request,
    action: Path<String>,
    user: MaybeUser,
    body: poem::Body,
) -> Result<Response, Problem> {
    if let Some(action) = ToolAction::from_name(&action) {
        return tools::begin(&app, request, action, body).await;
    }
    let action = action_of(&action)?;
    app.limits.admit_connect(request)?;
    let mut params = params_of(request, body, &PARAMS).await?;
    params.retain(|_, value| value.len() <= PARAM_MAX);
    let params = match wallet_actions::is_wallet_action(action) {
        true => wallet_actions::open(&app, action, params, &LinkHolder::of(request).await?, user.0.as_ref()).await?,
        false => params,
    };
    let user = user.0.map(|caller| caller.user);
    let (step, wallet) = match (action, &user) {
        // A top-up comes from another wallet than the one that pays, so the user chooses the account even when signed in.
        (ConnectAction::Collect | ConnectAction::CollectBatch, None) | (ConnectAction::Login | ConnectAction::Recharge, _) => {
            (ConnectStep::Principal, None)
        }
        (_, Some(user)) => {
            // What has to be signed is determined when the wallet reads the session.
            (ConnectStep::Transfer, Some(Wallet { did: user.did.clone(), public_key: user.public_key.clone() }))
        }
        (_, None) => return Err(Problem::signed_out()),
    };
    let known = cookie(request, BROWSER_COOKIE).filter(|value| value.len() == 32).map(ToOwned::to_owned);
    let browser = known.unwrap_or_else(|| hex::encode(app.ctx.random.bytes::<16>()));
    let now = app.ctx.now();
    let session = ConnectSession {
        token: hex::encode(app.ctx.random.bytes::<16>()),
        action,
        status: ConnectStatus::Created,
        step,
        challenge: challenge(&app),
        browser: token_hash(&browser),
        params,
        wallet,
        // Microseconds give each session's transaction a distinct nonce (chains.md 3.3) that stays below 2^53.
        nonce: u64::try_from(now.micros()).unwrap_or_default(),
        error: String::new(),
        error_code: String::new(),
        error_params: BTreeMap::new(),
        browser_session: None,
        created_at: now,
        updated_at: now,
        expires_at: now.plus(CONNECT_LIFETIME),
    };
    let mut unit = app.ctx.store.begin().await?;
    unit.connect_sessions().insert(&session, &app.limits.visitor_network(request, &app.tokens)).await?;
    unit.commit().await?;
    let body = json!({
        "token": session.token,
        "status": session.status.name(),
        "url": claims::deep_link(&app, &session),
        "appInfo": claims::app_info(&app, claims::language_of(&session)),
        "memberAppInfo": null,
        "extra": user.map(|user| json!({ "connectedDid": user.did.as_str(), "saveConnect": false })).unwrap_or_else(|| json!({})),
    });
    let set = browser_cookie(&browser, app.site.public_url.scheme() == "https");
    Ok(Json(body).with_header(header::SET_COOKIE, set).into_response())
}

/// The status of a session. After a login, only the browser that began it receives the login cookie here.
#[handler]
async fn status(app: Data<&Arc<App>>, request: &Request, action: Path<String>, query: Query<Token>) -> Result<Response, Problem> {
    if let Some(action) = ToolAction::from_name(&action) {
        return tools::status(&app, action, &query.token).await;
    }
    let action = action_of(&action)?;
    if query.token.is_empty() {
        return Err(Problem::bad("Session Id is required to check status").code("CONNECT_EXPIRED"));
    }
    let session = step::find(&app, action, &query.token).await?.ok_or_else(step::expired)?;
    if session.status == ConnectStatus::Forbidden {
        return Err(step::other_wallet());
    }
    let is_same_browser = cookie(request, BROWSER_COOKIE).is_some_and(|browser| token_hash(browser) == session.browser);
    let step = usize::from(!matches!(session.step, ConnectStep::Principal));
    let mut body = json!({ "token": session.token, "status": session.status.public_name(), "currentStep": step, "mfaCode": 0 });
    if !session.error.is_empty() {
        body["error"] = Value::String(session.error.clone());
        body["code"] = Value::String(session.error_code.clone());
        body["params"] = json!(session.error_params);
    }
    if let Some(wallet) = session.wallet.as_ref().filter(|_| is_same_browser) {
        body["did"] = Value::String(wallet.did.to_string());
    }
    let response = Json(body).into_response();
    match (&session.wallet, action, session.status) {
        (Some(wallet), ConnectAction::Login, ConnectStatus::Succeed) if is_same_browser => {
            Ok(sign_in(&app, request, &session, wallet, response).await?)
        }
        _ => Ok(response),
    }
}

/// The `known` parameters of the page or the tool, from the query or the body (JSON or a form); the query takes precedence.
pub async fn params_of(request: &Request, body: poem::Body, known: &[&str]) -> Result<BTreeMap<String, String>, Problem> {
    let body = body.into_bytes_limit(PARAMS_MAX).await.map_err(|_| Problem::body_too_large())?;
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let is_json = request.content_type().is_some_and(|kind| kind.starts_with("application/json"));
    let mut params: BTreeMap<String, String> = match is_json && !body.is_empty() {
        true => serde_json::from_slice::<BTreeMap<String, Value>>(&body)
            .map_err(Problem::malformed)?
            .into_iter()
            .filter_map(|(name, value)| Some((name, text(value)?)))
            .collect(),
        false => url::form_urlencoded::parse(&body).into_owned().collect(),
    };
    params.extend(url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned());
    params.retain(|name, _| known.contains(&name.as_str()));
    Ok(params)
}

async fn sign_in(app: &App, request: &Request, session: &ConnectSession, wallet: &Wallet, response: Response) -> Result<Response, Problem> {
    let device = request.header(header::USER_AGENT).unwrap_or_default();
    let new = |token| NewLogin { user: &wallet.did, token, device };
    if let Some(hash) = cookie(request, LOGIN_COOKIE).map(token_hash) {
        let known = access::caller_of(&app.ctx, &hash).await?;
        if known.is_some_and(|caller| caller.user.did == wallet.did) {
            // Redeem the session with the existing login; otherwise it could open another one after this login has ended.
            if session.browser_session != Some(hash) {
                access::redeem_connect_session(&app.ctx, session, &new(&hash)).await?;
            }
            return Ok(response);
        }
    }
    let token = hex::encode(app.ctx.random.bytes::<32>());
    if !access::redeem_connect_session(&app.ctx, session, &new(&token_hash(&token))).await? {
        return Ok(response);
    }
    let secure = app.site.public_url.scheme() == "https";
    Ok(response.with_header(header::SET_COOKIE, login_cookie(&token, secure)).into_response())
}

/// The page or the tool abandons the session.
#[handler]
async fn timeout(app: Data<&Arc<App>>, action: Path<String>, query: Query<Token>) -> Result<Json<Value>, Problem> {
    let tool = ToolAction::from_name(&action);
    if tool.is_none() {
        action_of(&action)?;
    }
    let mut unit = app.ctx.store.begin().await?;
    match tool {
        Some(tool) => unit.tool_sessions().delete(tool, &query.token).await?,
        None => unit.connect_sessions().delete(&query.token).await?,
    }
    unit.commit().await?;
    Ok(Json(json!({ "token": query.token })))
}

/// The wallet has scanned the QR code and reads the request.
#[handler]
async fn wallet_request(app: Data<&Arc<App>>, action: Path<String>, query: Query<Token>) -> Result<Json<Value>, Problem> {
    let action = action_of(&action)?;
    let now = app.ctx.now();
    let found = step::find(&app, action, &query.token).await?;
    let Some(session) = found.filter(|session| !session.status.is_final()) else {
        return Ok(Json(claims::rejected(&app, &step::expired(), now)));
    };
    let deadline = Instant::now() + ANSWER_DEADLINE;
    Ok(Json(match session.status {
        ConnectStatus::Created => step::scan(&app, &session, deadline).await?,
        ConnectStatus::Scanned => step::build_step(&app, &session, deadline).await?,
        _ => confirmation::answer(&app, &session).await?,
    }))
}

#[derive(Deserialize)]
struct WalletResponse {
    #[serde(default, rename = "userPk")]
    user_pk: String,
    #[serde(default, rename = "userInfo")]
    user_info: String,
}

#[handler]
async fn wallet_response(
    app: Data<&Arc<App>>,
    action: Path<String>,
    query: Query<Token>,
    body: poem::Body,
) -> Result<Json<Value>, Problem> {
    let action = action_of(&action)?;
    let bytes = body.into_bytes_limit(RESPONSE_MAX).await.map_err(|_| Problem::body_too_large())?;
    let answer: WalletResponse = serde_json::from_slice(&bytes).map_err(Problem::malformed)?;
    Ok(Json(confirmation::submit(&app, action, &query.token, &answer.user_pk, &answer.user_info).await?))
}

#[derive(Deserialize)]
struct Submitted {
    #[serde(default, rename = "_t_")]
    token: String,
    #[serde(flatten)]
    answer: WalletResponse,
}

/// Accepts a wallet's response as query parameters, for web wallets that redirect.
#[handler]
async fn wallet_response_by_redirect(app: Data<&Arc<App>>, action: Path<String>, query: Query<Submitted>) -> Result<Json<Value>, Problem> {
    let action = action_of(&action)?;
    Ok(Json(confirmation::submit(&app, action, &query.token, &query.answer.user_pk, &query.answer.user_info).await?))
}
