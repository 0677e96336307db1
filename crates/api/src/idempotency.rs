//! `Idempotency-Key` (DESIGN.md 8): a repeated key with the same request returns the first response; with another request, 409.

use crate::auth::{LOGIN_COOKIE, RequestContext, bearer, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Endpoint, IntoResponse, Request, Response};
use sha2::{Digest, Sha256};
use souk_domain::storage::StoredResponse;
use std::sync::Arc;
use std::time::Duration;

const HEADER: &str = "idempotency-key";
/// Response header that marks a replayed response.
const REPLAYED: &str = "idempotent-replayed";
/// Maximum length of a key in bytes, as in Stripe's API.
const KEY_MAX: usize = 255;
/// Maximum body of a request with a key, in bytes.
const BODY_MAX: usize = 1 << 20;
/// A first request without a response after this time is assumed to have died with its process; its key becomes free again.
const STALE: Duration = Duration::from_secs(60);

/// Runs `inner` once per key and caller. Requests without a key pass through.
pub async fn once<E: Endpoint>(app: &Arc<App>, inner: &E, mut request: Request) -> poem::Result<Response> {
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

    let now = app.ctx.now();
    let mut unit = app.ctx.store.begin().await.map_err(Problem::from)?;
    let taken = unit.idempotency().take(&caller, &key, &fingerprint, now, now.minus(STALE)).await.map_err(Problem::from)?;
    unit.commit().await.map_err(Problem::from)?;
    if let Some(stored) = taken {
        return replay(stored, &fingerprint);
    }
    let response = inner.get_response(request).await;
    store_response(app, &caller, &key, response).await
}

fn replay(stored: StoredResponse, fingerprint: &str) -> poem::Result<Response> {
    if stored.fingerprint != fingerprint {
        let message = "This Idempotency-Key was used for another request";
        return Err(Problem::new(StatusCode::CONFLICT, message).code("IDEMPOTENCY_MISMATCH").into());
    }
    let Some((status, body)) = stored.answer else {
        let message = "The first request with this Idempotency-Key is still being processed";
        return Err(Problem::new(StatusCode::CONFLICT, message).code("IDEMPOTENCY_IN_FLIGHT").into());
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let response = body.with_status(status).with_content_type("application/json; charset=utf-8");
    Ok(response.with_header(REPLAYED, HeaderValue::from_static("true")).into_response())
}

/// Stores a final response. After a server error, a conflict, a rate limit or an incomplete body, the key is released, so that
/// the caller may retry with it.
async fn store_response(app: &Arc<App>, caller: &str, key: &str, mut response: Response) -> poem::Result<Response> {
    let status = response.status();
    let body = response.take_body().into_bytes().await;
    let complete = body.as_ref().ok().and_then(|body| std::str::from_utf8(body).ok());
    let text = complete.filter(|_| is_final(status));
    let mut unit = app.ctx.store.begin().await.map_err(Problem::from)?;
    match text {
        Some(text) => unit.idempotency().keep(caller, key, status.as_u16(), text).await,
        None => unit.idempotency().free(caller, key).await,
    }
    .map_err(Problem::from)?;
    unit.commit().await.map_err(Problem::from)?;
    let body = body.map_err(|_| Problem::internal())?;
    response.set_body(Body::from(body));
    Ok(response)
}

fn is_final(status: StatusCode) -> bool {
    !status.is_server_error() && !matches!(status, StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS)
}

/// The hash of the API key or login token of the request; `None` if it has none or an invalid one.
async fn caller(app: &Arc<App>, request: &Request) -> Result<Option<String>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let hash = match (bearer(request), cookie(request, LOGIN_COOKIE)) {
        (Some(secret), _) => {
            let hash = token_hash(secret);
            unit.api_keys().find(&hash).await?.map(|_| hash)
        }
        (None, Some(token)) => {
            let hash = token_hash(token);
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
