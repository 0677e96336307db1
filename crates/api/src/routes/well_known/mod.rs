//! `/.well-known/service/...` and `/__blocklet__.js`, which published clients expect beside the API.

mod avatar;
mod drawing;

use crate::auth::language_cookie;
use crate::problem::Problem;
use crate::state::App;
use poem::http::{StatusCode, header};
use poem::web::{Data, Query, Redirect};
use poem::{Body, IntoResponse, Request, Response, Route, get, handler, post};
use serde::Deserialize;
use serde_json::json;
use souk_domain::shared::Language;
use std::sync::Arc;

/// The DID under which published clients look for the payment kit (payment-kit.md 6.1).
const KIT_DID: &str = "z2qaCNvKMv5GjouKdcDWexv6WqtHbpNPQDnAk";
/// The DID under which published publisher tools look for the store (reference/store.md 5.2).
const STORE_DID: &str = "z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ";
/// Maximum size of a page-view report, in bytes.
const PAGE_VIEW_MAX: usize = 4 * 1024;

#[must_use]
pub fn routes() -> Route {
    Route::new()
        .at("/service/user", get(user))
        .at("/service/user/avatar/:did", get(avatar::avatar))
        .at("/service/analytics/pageview", post(page_view))
}

#[derive(Deserialize)]
struct UserQuery {
    #[serde(default)]
    did: String,
    #[serde(default)]
    locale: String,
}

/// Leads to the profile page of a DID, in the language that `locale` names. The pages have no other languages than these two, so every
/// other value is ignored, and the page opens in the language of the visitor.
#[handler]
fn user(app: Data<&Arc<App>>, query: Query<UserQuery>) -> Result<Response, Problem> {
    let did = app.did_auth_tokens.parse_did(&query.did).ok_or_else(Problem::not_found)?;
    let page = Redirect::see_other(format!("/profile?did={did}"));
    let Some(language) = [Language::English, Language::Chinese].into_iter().find(|language| language.tag() == query.locale) else {
        return Ok(page.into_response());
    };
    let cookie = language_cookie(language, app.site.public_url.scheme() == "https");
    Ok(page.with_header(header::SET_COOKIE, cookie).into_response())
}

#[derive(Deserialize)]
struct PageView {
    path: String,
    #[serde(default)]
    referrer: String,
    #[serde(default)]
    locale: String,
}

/// Records a page view in the log, without identifying the visitor.
#[handler]
async fn page_view(app: Data<&Arc<App>>, request: &Request, body: Body) -> Result<StatusCode, Problem> {
    app.limits.admit_page_view(request)?;
    let bytes = body.into_bytes_limit(PAGE_VIEW_MAX).await.map_err(|_| Problem::body_too_large())?;
    let view: PageView = serde_json::from_slice(&bytes).map_err(Problem::malformed)?;
    // The query may contain a credential; the path does not.
    let path = |text: &str| text.split(['?', '#']).next().unwrap_or_default().chars().take(500).collect::<String>();
    tracing::info!(target: "souk::page_view", path = path(&view.path), referrer = path(&view.referrer), locale = view.locale.get(..2));
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub struct BlockletQuery {
    #[serde(default, rename = "type")]
    kind: String,
}

/// `window.blocklet`, as a script or as JSON.
#[handler]
pub fn blocklet(app: Data<&Arc<App>>, query: Query<BlockletQuery>) -> Response {
    let site = &app.site;
    let did = app.did_auth_tokens.app_did().as_str();
    let object = json!({
        "appPid": did,
        "appId": did,
        "appName": site.name,
        "appUrl": site.address("/"),
        "appLogo": site.address("/logo.svg"),
        "prefix": "/",
        "componentId": format!("{did}/{KIT_DID}"),
        "languages": [{ "code": "en", "name": "English" }, { "code": "zh", "name": "简体中文" }],
        "componentMountPoints": [
            { "did": KIT_DID, "name": "payment-kit", "title": site.name, "mountPoint": "/payment", "status": "running" },
            // Tools append it to the origin, so it names the folder in which a proxy serves the store.
            { "did": STORE_DID, "name": "blocklet-store", "title": site.name, "mountPoint": site.public_url.path(), "status": "running" },
        ],
        "navigation": [],
        "theme": {},
        "preferences": {},
        "settings": { "session": { "ttl": 2_592_000, "cacheTtl": 3_600 } },
    });
    match query.kind.as_str() {
        "json" => object.to_string().with_content_type("application/json; charset=utf-8").into_response(),
        // `<` is escaped so that the script stays valid when embedded in HTML.
        _ => format!("window.blocklet={};", object.to_string().replace('<', "\\u003c"))
            .with_content_type("text/javascript; charset=utf-8")
            .into_response(),
    }
}
