//! The extractors of requests that are signed with an access token, or with the key of a computer.

use super::request_context::{MaybeUser, SignedIn};
use crate::middleware::CalledUri;
use crate::problem::Problem;
use crate::state::App;
use poem::http::{Method, Uri};
use poem::{Body, FromRequest, Request, RequestBody};
use souk_domain::access::{Caller, Device, Did};
use souk_domain::publishing::access_tokens::{
    AccessToken, RequestPurpose, SignedRequest, SignedRequestError, TokenAct, act_with_token, verify_request,
};
use souk_domain::publishing::bundle::VersionReader;
use souk_domain::publishing::installing::verify_device_request;
use souk_domain::shared::StorageError;
use std::sync::Arc;

/// The DID of the token.
const TOKEN: &str = "x-souk-token";
/// The DID of the computer's key.
const DEVICE: &str = "x-souk-device";
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
        // The audit log has verified the request already, which uses up its nonce.
        if let Some(verified) = request.data::<Self>() {
            return Ok(verified.clone());
        }
        Ok(Self(token_of(request, body).await?))
    }
}

/// Who acts on an app: a signed-in user, or the owner of the access token that has signed the request.
#[derive(Debug, Clone)]
pub enum Publisher {
    User(Caller),
    Token(AccessToken),
}

impl<'a> FromRequest<'a> for Publisher {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        if is_signed(request) {
            return Ok(Self::Token(SignedByToken::from_request(request, body).await?.0));
        }
        Ok(Self::User(SignedIn::from_request(request, body).await?.0))
    }
}

impl Publisher {
    /// The caller of an act on an app, if a token allows it. What a user may do is decided by the use case.
    ///
    /// # Errors
    /// The token does not allow the act.
    pub async fn act(self, app: &App, did: &Did, act: TokenAct<'_>) -> Result<Caller, Problem> {
        match self {
            Self::User(caller) => Ok(caller),
            Self::Token(token) => Ok(act_with_token(&app.ctx, &token, did, act).await?),
        }
    }
}

/// The computer whose key has signed the request, on which a user is signed in. It fetches what the user has bought.
#[derive(Debug, Clone)]
pub struct SignedByDevice(pub Device);

impl<'a> FromRequest<'a> for SignedByDevice {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let app = app(request)?;
        let received = receive(app, request, body, DEVICE).await?;
        let store = Did::from_verified(app.site.did.clone());
        Ok(Self(verify_device_request(&app.ctx, app.token_keys.as_ref(), &received.of(&store, request)).await.map_err(Problem::from)?))
    }
}

/// Who installs an app: they read what the store says of a version, its manifest and its bundle.
#[derive(Debug, Clone)]
pub enum Downloader {
    Visitor,
    User(Box<Caller>),
    /// A command line, for its user.
    Device(Device),
}

impl<'a> FromRequest<'a> for Downloader {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        if request.headers().contains_key(DEVICE) {
            return Ok(Self::Device(SignedByDevice::from_request(request, body).await?.0));
        }
        Ok(MaybeUser::from_request(request, body).await?.0.map_or(Self::Visitor, |caller| Self::User(Box::new(caller))))
    }
}

impl Downloader {
    /// As whom they read versions; `None`: a visitor.
    ///
    /// # Errors
    /// The storage fails.
    pub async fn reader(&self, app: &App) -> Result<Option<VersionReader>, StorageError> {
        match self {
            Self::Visitor => Ok(None),
            Self::User(caller) => Ok(Some(VersionReader::from(caller.as_ref()))),
            Self::Device(device) => VersionReader::on_device(&app.ctx, device).await.map(Some),
        }
    }
}

/// Whether the request says that a token has signed it.
#[must_use]
pub fn is_signed(request: &Request) -> bool {
    request.headers().contains_key(TOKEN)
}

/// Verifies a signed request. Its body is read and put back.
///
/// # Errors
/// It is not signed by a valid token, or was received before.
pub async fn token_of(request: &Request, body: &mut RequestBody) -> Result<AccessToken, Problem> {
    let app = app(request)?;
    let received = receive(app, request, body, TOKEN).await?;
    let store = Did::from_verified(app.site.did.clone());
    Ok(verify_request(&app.ctx, app.token_keys.as_ref(), &received.of(&store, request)).await?)
}

fn app(request: &Request) -> Result<&Arc<App>, Problem> {
    request.data::<Arc<App>>().ok_or_else(Problem::internal)
}

/// The values of a signature, which is not verified yet.
struct Received {
    key: Did,
    signed_at: i64,
    nonce: String,
    signature: String,
    body_digest: String,
}

impl Received {
    fn of<'a>(&'a self, store: &'a Did, request: &'a Request) -> SignedRequest<'a> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        SignedRequest {
            store,
            purpose: if is_read { RequestPurpose::Read } else { RequestPurpose::Write },
            method: request.method().as_str(),
            path: called_uri(request).path_and_query().map_or("/", |path| path.as_str()),
            body_digest: &self.body_digest,
            token: &self.key,
            signed_at: self.signed_at,
            nonce: &self.nonce,
            signature: &self.signature,
        }
    }
}

/// The whole address, of which nested routes see the end only.
fn called_uri(request: &Request) -> &Uri {
    request.extensions().get::<CalledUri>().map_or_else(|| request.uri(), |CalledUri(uri)| uri)
}

/// Reads the signature of a request, whose key the header `name` names. The body is read and put back.
async fn receive(app: &App, request: &Request, body: &mut RequestBody, name: &str) -> Result<Received, Problem> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (Some(key), Some(time), Some(nonce), Some(signature)) = (header(name), header(TIME), header(NONCE), header(SIGNATURE)) else {
        return Err(Problem::signed_out());
    };
    let key = app.did_auth_tokens.parse_did(key).ok_or(SignedRequestError::Malformed)?;
    let signed_at = time.parse().map_err(|_| SignedRequestError::Malformed)?;
    let content = match body.take() {
        Ok(content) => content.into_bytes_limit(BODY_MAX).await.map_err(|_| Problem::body_too_large())?,
        Err(_) => return Err(Problem::internal()),
    };
    let body_digest = hex::encode(app.token_keys.digest(&content));
    *body = RequestBody::new(Body::from(content));
    Ok(Received { key, signed_at, nonce: nonce.to_owned(), signature: signature.to_owned(), body_digest })
}
