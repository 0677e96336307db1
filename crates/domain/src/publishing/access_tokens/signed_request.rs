//! Requests that are signed with an access token, or with the key of a computer. The signature binds the store, the purpose, method and
//! path, the body and the time, so that it is valid for nothing else; a request that changes something can be sent once only.

use super::verify::{check_valid, note_use};
use super::{AccessToken, TokenError, TokenKeys};
use crate::access::Did;
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use std::time::Duration;

/// How far the time of a request may differ from the store's clock.
pub const SIGNED_REQUEST_SKEW: Duration = Duration::from_secs(300);
/// The lengths of nonces, in characters.
const NONCE_LENGTH: std::ops::RangeInclusive<usize> = 16..=64;

/// Whether the request changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPurpose {
    Read,
    /// Needs a nonce that the token has not used before.
    Write,
}

impl RequestPurpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A request with the values of its signature.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The store's DID, so that another store cannot forward the request.
    pub store: &'a Did,
    pub purpose: RequestPurpose,
    /// In capitals.
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    /// SHA3-256 of the body, in hex.
    pub body_digest: &'a str,
    /// The DID of the key that has signed.
    pub token: &'a Did,
    /// Unix seconds.
    pub signed_at: i64,
    /// 16 to 64 letters, digits, `-` and `_`.
    pub nonce: &'a str,
    /// Multibase base58btc.
    pub signature: &'a str,
}

impl SignedRequest<'_> {
    /// The text whose digest is signed. Each part is one line, and no part contains a line break.
    #[must_use]
    pub fn text(&self) -> String {
        let time = self.signed_at.to_string();
        let parts =
            ["souk-request-1", self.store.as_str(), self.purpose.name(), self.method, self.path, self.body_digest, &time, self.nonce];
        parts.join("\n")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SignedRequestError {
    #[error("The signed request is not well-formed")]
    Malformed,
    #[error("The time of the signed request differs from the store's by more than {} seconds", SIGNED_REQUEST_SKEW.as_secs())]
    Skewed,
    #[error("This signed request was received before")]
    Replayed,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Checks the form of a request, and that it was signed about now. Returns when.
pub(in crate::publishing) fn check_form(request: &SignedRequest<'_>, now: Timestamp) -> Result<Timestamp, SignedRequestError> {
    let is_nonce = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let has_lines = [request.method, request.path, request.body_digest].iter().any(|part| part.contains(char::is_control));
    if has_lines || !NONCE_LENGTH.contains(&request.nonce.len()) || !request.nonce.bytes().all(is_nonce) {
        return Err(SignedRequestError::Malformed);
    }
    let signed_at = Timestamp::from_seconds(request.signed_at);
    if now.since(signed_at) > SIGNED_REQUEST_SKEW || signed_at.since(now) > SIGNED_REQUEST_SKEW {
        return Err(SignedRequestError::Skewed);
    }
    Ok(signed_at)
}

/// Verifies a signed request and that its token is valid, and stores that the token was used. What the token may do is decided by
/// [`super::authorize_token`].
#[tracing::instrument(skip_all, fields(token = %request.token))]
pub async fn verify_request(ctx: &Context, keys: &dyn TokenKeys, request: &SignedRequest<'_>) -> Result<AccessToken, SignedRequestError> {
    let now = ctx.now();
    let signed_at = check_form(request, now)?;
    let mut unit = ctx.store.read().await?;
    let token = unit.access_tokens().find(request.token).await?.ok_or(TokenError::Unknown)?;
    if !keys.is_valid(&token.public_key, &keys.digest(request.text().as_bytes()), request.signature) {
        return Err(TokenError::InvalidSignature.into());
    }
    check_valid(unit.as_mut(), now, &token).await?;
    drop(unit);
    match request.purpose {
        RequestPurpose::Read => note_use(ctx, &token, now).await?,
        RequestPurpose::Write => {
            let mut unit = ctx.store.begin().await?;
            // As long as the time of the request is accepted.
            let until = signed_at.plus(SIGNED_REQUEST_SKEW * 2);
            if !unit.access_tokens().use_nonce(&token.id, request.nonce, until).await? {
                return Err(SignedRequestError::Replayed);
            }
            unit.access_tokens().touch(&token.id, now).await?;
            unit.commit().await?;
        }
    }
    Ok(token)
}
