//! `Idempotency-Key` (DESIGN.md 8): a repeated key with the same request returns the first response; with another request, 409.
//!
//! The first unit of work that the request commits writes a fence into the key's row, with the ids of the objects it creates
//! ([`souk_domain::storage::Store::for_call`]). From then on the request never runs again: if its response was lost, it is rebuilt from
//! these objects.

mod lost_answer;

use crate::auth::{LOGIN_COOKIE, RequestContext, bearer, cookie, is_signed, note_use, token_hash};
use crate::problem::Problem;
use crate::state::App;
use lost_answer::Source;
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Endpoint, IntoResponse, Request, Response};
use sha2::{Digest, Sha256};
use souk_domain::context::Context;
use souk_domain::shared::Timestamp;
use souk_domain::storage::{CallState, KeyedCall, StoredCall};
use std::sync::Arc;
use std::time::Duration;

const HEADER: &str = "idempotency-key";
/// Response header that marks a replayed response.
const REPLAYED: &str = "idempotent-replayed";
/// Maximum length of a key in bytes, as in Stripe's API.
const KEY_MAX: usize = 255;
/// Maximum body of a request with a key, in bytes.
const BODY_MAX: usize = 1 << 20;
/// A first request without a response after this time is assumed to have died with its process. If it committed nothing, its key becomes
/// free again.
const LEASE: Duration = Duration::from_secs(60);

/// The writes whose response contains a secret. They run each time: a caller who lost the response deletes the object and creates another one.
const SECRET_RESPONSES: [&str; 3] = ["/api/developer/access-tokens", "/api/console/invitations", "/api/trusted-publishing/token"];

/// Runs `inner` once per key and caller. Requests without a key pass through.
pub async fn once<E: Endpoint>(app: &Arc<App>, inner: &E, mut request: Request) -> poem::Result<Response> {
    // Responses are stored, but a secret that is shown once is stored nowhere.
    if SECRET_RESPONSES.contains(&request.uri().path().trim_end_matches('/')) {
        return Ok(inner.get_response(request).await);
    }
    let writes = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
    let Some(key) = request.headers().get(HEADER).filter(|_| writes) else {
        return Ok(inner.get_response(request).await);
    };
    let key = match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= KEY_MAX => key.to_owned(),
        _ => return Err(Problem::bad("Idempotency-Key must be 1 to 255 printable characters").code("IDEMPOTENCY_KEY_INVALID").into()),
    };
    // Keys of anonymous callers are ignored: a stranger must neither fill the table nor read another caller's response.
    let Some(caller) = caller(app, &request).await? else { return Ok(inner.get_response(request).await) };
    let body = request.take_body().into_bytes_limit(BODY_MAX).await.map_err(|_| Problem::body_too_large())?;
    let fingerprint = fingerprint(&request, &body);
    request.set_body(body);

    let source = Source::of(request.method(), request.uri().path());
    let now = app.ctx.now();
    let call = KeyedCall { caller, key, claimed_at: now, objects: source.objects };
    let mut unit = app.ctx.store.begin().await.map_err(Problem::from)?;
    let stored = unit.idempotency().claim(&call, &fingerprint, now.plus(LEASE)).await.map_err(Problem::from)?;
    unit.commit().await.map_err(Problem::from)?;
    let Some(StoredCall { fingerprint: first, claimed_at, state }) = stored else {
        let ctx = Context { store: app.ctx.store.for_call(call.clone()), ..app.ctx.clone() };
        request.set_data(Arc::new(App { ctx, ..App::clone(app) }));
        let response = inner.get_response(request).await;
        return store_response(app, &call, response).await;
    };
    if first != fingerprint {
        let message = "This Idempotency-Key was used for another request";
        return Err(Problem::new(StatusCode::CONFLICT, message).code("IDEMPOTENCY_MISMATCH").into());
    }
    match state {
        CallState::Running => {
            let message = "The first request with this Idempotency-Key is still being processed";
            Err(Problem::new(StatusCode::CONFLICT, message).code("IDEMPOTENCY_IN_FLIGHT").into())
        }
        CallState::Answered { status, body } => Ok(replay(status, body)),
        CallState::Fenced { objects } => {
            let rebuilt = source.rebuild(inner, &request, &objects).await?;
            if !rebuilt.status().is_success() {
                return Ok(rebuilt);
            }
            let mut response = store_response(app, &KeyedCall { claimed_at, ..call }, rebuilt).await?;
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            Ok(response)
        }
    }
}

fn replay(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let response = body.with_status(status).with_content_type("application/json; charset=utf-8");
    response.with_header(REPLAYED, HeaderValue::from_static("true")).into_response()
}

/// Stores a final response. A request to sign in again is none. After a server error or an incomplete body, and after a conflict or a rate limit of a request that committed
/// nothing, the key is released, so that the caller may retry with it. A request that committed something does not run again: a later
/// conflict is final, and after a server error the next request with the key gets a response that is rebuilt.
async fn store_response(app: &Arc<App>, call: &KeyedCall, mut response: Response) -> poem::Result<Response> {
    let status = response.status();
    let body = response.take_body().into_bytes().await;
    let complete = body.as_ref().ok().and_then(|body| std::str::from_utf8(body).ok());
    let now = app.ctx.now();
    match complete.filter(|_| !status.is_server_error()) {
        Some(text) if is_final(status) && !Problem::is_sign_in_again(status, text) => keep(app, call, status, text).await?,
        Some(text) if !release(app, call, now).await? => keep(app, call, status, text).await?,
        Some(_) => {}
        None => {
            release(app, call, now).await?;
        }
    }
    let body = body.map_err(|_| Problem::internal())?;
    response.set_body(Body::from(body));
    Ok(response)
}

async fn keep(app: &App, call: &KeyedCall, status: StatusCode, text: &str) -> Result<(), Problem> {
    let mut unit = app.ctx.store.begin().await?;
    unit.idempotency().keep(call, status.as_u16(), text).await?;
    Ok(unit.commit().await?)
}

/// Returns whether the key was released, and not fenced.
async fn release(app: &App, call: &KeyedCall, now: Timestamp) -> Result<bool, Problem> {
    let mut unit = app.ctx.store.begin().await?;
    let released = unit.idempotency().free(call, now).await?;
    unit.commit().await?;
    Ok(released)
}

fn is_final(status: StatusCode) -> bool {
    !status.is_server_error() && !matches!(status, StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS)
}

/// The hash of the API key or login token of the request; `None` if it has none or an invalid one. A request that an access token has
/// signed has neither: a cookie beside the signature is ignored, and its nonce is accepted once.
async fn caller(app: &Arc<App>, request: &Request) -> Result<Option<String>, Problem> {
    if is_signed(request) {
        return Ok(None);
    }
    let hash = match (bearer(request), cookie(request, LOGIN_COOKIE)) {
        (Some(secret), _) => {
            let hash = token_hash(secret);
            let mut unit = app.ctx.store.read().await?;
            let found = unit.api_keys().find(&hash).await?;
            drop(unit);
            // Here, because a write of the request itself would write its fence.
            if let Some(key) = &found {
                note_use(&app.ctx, key).await?;
            }
            found.map(|_| hash)
        }
        (None, Some(token)) => {
            let hash = token_hash(token);
            let mut unit = app.ctx.store.read().await?;
            unit.browser_sessions().find(&hash, app.ctx.now()).await?.map(|_| hash)
        }
        (None, None) => None,
    };
    Ok(hash.map(hex::encode))
}

/// A digest of method, path, mode, query and body. The order of the query parameters and `locale` do not count.
fn fingerprint(request: &Request, body: &[u8]) -> String {
    let mode = if RequestContext::of(request).mode.is_live() { "live" } else { "test" };
    let query = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    let mut query: Vec<_> = query.filter(|(name, _)| name != "locale" && name != "livemode").collect();
    query.sort();
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let mut digest = Sha256::new();
    for part in [request.method().as_str().as_bytes(), request.uri().path().as_bytes(), mode.as_bytes(), query.as_bytes(), body] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transient_response_is_not_final() {
        for transient in [409, 429, 500, 502, 503] {
            assert!(!is_final(StatusCode::from_u16(transient).expect("a status")), "{transient}");
        }
        for permanent in [200, 201, 204, 400, 403, 404, 422] {
            assert!(is_final(StatusCode::from_u16(permanent).expect("a status")), "{permanent}");
        }
    }
}
