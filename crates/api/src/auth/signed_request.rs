//! The extractor of requests that are signed with an access token.

use crate::problem::Problem;
use crate::state::App;
use poem::http::Method;
use poem::{Body, FromRequest, Request, RequestBody};
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{AccessToken, RequestPurpose, SignedRequest, SignedRequestError, verify_request};
use std::sync::Arc;

/// The DID of the token.
const TOKEN: &str = "x-souk-token";
/// When the request was signed, in Unix seconds.
const TIME: &str = "x-souk-time";
/// A random text that the token has not used before, if the request changes something.
const NONCE: &str = "x-souk-nonce";
const SIGNATURE: &str = "x-souk-signature";
/// The largest signed body, in bytes.
const BODY_MAX: usize = 1 << 20;

/// The access token that has signed the request: method, path and query, body and time. What the token may do is decided by
/// `access_tokens::authorize_token`.
#[derive(Debug, Clone)]
pub struct SignedByToken(pub AccessToken);

impl<'a> FromRequest<'a> for SignedByToken {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(token_of(request, body).await?))
    }
}

async fn token_of(request: &Request, body: &mut RequestBody) -> Result<AccessToken, Problem> {
    let app = request.data::<Arc<App>>().ok_or_else(Problem::internal)?;
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (Some(token), Some(time), Some(nonce), Some(signature)) = (header(TOKEN), header(TIME), header(NONCE), header(SIGNATURE)) else {
        return Err(Problem::signed_out());
    };
    let token = app.did_auth_tokens.parse_did(token).ok_or(SignedRequestError::Malformed)?;
    let signed_at = time.parse().map_err(|_| SignedRequestError::Malformed)?;
    let content = match body.take() {
        Ok(content) => content.into_bytes_limit(BODY_MAX).await.map_err(|_| Problem::body_too_large())?,
        Err(_) => return Err(Problem::internal()),
    };
    let body_digest = hex::encode(app.token_keys.digest(&content));
    *body = RequestBody::new(Body::from(content));
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let signed = SignedRequest {
        store: &Did::from_verified(app.site.did.clone()),
        purpose: if is_read { RequestPurpose::Read } else { RequestPurpose::Write },
        method: request.method().as_str(),
        path: request.uri().path_and_query().map_or("/", |path| path.as_str()),
        body_digest: &body_digest,
        token: &token,
        signed_at,
        nonce,
        signature,
    };
    Ok(verify_request(&app.ctx, app.token_keys.as_ref(), &signed).await?)
}
