//! Decides whether a token may do something: it exists, is valid for this app and act, and its owner is still a developer.

use super::create::developer_passport;
use super::{AccessToken, TokenScope, matches_app};
use crate::access::Did;
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// What a token is used for.
#[derive(Debug, Clone, Copy)]
pub struct TokenUse<'a> {
    pub scope: TokenScope,
    /// The app that it concerns.
    pub app_did: &'a Did,
    pub app_name: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("AccessToken does not exist, make sure you have set a right AccessToken")]
    Unknown,
    #[error("invalid signature")]
    InvalidSignature,
    #[error("This access token has expired")]
    Expired,
    #[error("This access token does not allow {}", .0.name())]
    OutOfScope(TokenScope),
    #[error("This access token is not valid for the app {0}")]
    OtherApp(String),
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The owner of a token whose signature is valid may do this with it now. An upload, which can take half an hour, asks again in its last
/// unit of work, because the token or the passport can have been revoked meanwhile.
pub async fn authorize_token(
    unit: &mut dyn UnitOfWork,
    now: Timestamp,
    id: &Did,
    wanted: &TokenUse<'_>,
) -> Result<AccessToken, TokenError> {
    let token = unit.access_tokens().find(id).await?.ok_or(TokenError::Unknown)?;
    check_valid(unit, now, &token).await?;
    if !token.scopes.contains(&wanted.scope) {
        return Err(TokenError::OutOfScope(wanted.scope));
    }
    check_app(&token, wanted.app_did, wanted.app_name)?;
    check_publisher(unit, &token, wanted.app_did, wanted.app_name).await?;
    Ok(token)
}

/// The token is valid for the app.
pub(super) fn check_app(token: &AccessToken, did: &Did, name: &str) -> Result<(), TokenError> {
    if matches_app(&token.apps, did, name) { Ok(()) } else { Err(TokenError::OtherApp(name.to_owned())) }
}

/// The trusted publisher of a token of CI allows an app of this name. The run has sent the name of a new app before anybody could verify
/// it, and its token names the app by the DID alone.
async fn check_publisher(unit: &mut dyn UnitOfWork, token: &AccessToken, did: &Did, name: &str) -> Result<(), TokenError> {
    let Some(id) = &token.publisher else { return Ok(()) };
    // Its tokens are deleted with a publisher.
    let publisher = unit.trusted_publishers().find(id).await?.ok_or(TokenError::Unknown)?;
    if matches_app(&publisher.apps, did, name) { Ok(()) } else { Err(TokenError::OtherApp(name.to_owned())) }
}

/// The token has not expired, and the passport under which it was created is valid.
pub(super) async fn check_valid(unit: &mut dyn UnitOfWork, now: Timestamp, token: &AccessToken) -> Result<(), TokenError> {
    if now >= token.expires_at {
        return Err(TokenError::Expired);
    }
    let passport = developer_passport(unit, &token.owner).await?;
    if passport.is_none_or(|passport| passport.id != token.passport_id) {
        return Err(TokenError::NotDeveloper);
    }
    Ok(())
}

pub(super) async fn note_use(ctx: &Context, token: &AccessToken, now: Timestamp) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.access_tokens().touch(&token.id, now).await?;
    unit.commit().await
}
