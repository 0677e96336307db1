//! What a tool does with its access token after an upload: it reads the state of its owner's apps, and takes a few steps.

use super::super::review::Step;
use super::create::developer_passport;
use super::verify::{check_app, check_valid};
use super::{AccessToken, TokenError, TokenScope, TokenUse, authorize_token};
use crate::access::{Caller, Did};
use crate::context::Context;
use crate::shared::{Page, StorageError};

/// What a signed request does with an app.
#[derive(Debug, Clone, Copy)]
pub enum TokenAct<'a> {
    /// Reads versions, reviews and checks. Every token for the app may.
    Read,
    /// Takes a step on a version. A token for the scope of the step may.
    Step(&'a Step),
}

#[derive(Debug, thiserror::Error)]
pub enum TokenActError {
    /// The owner of the token has no such app.
    #[error("version not found")]
    NotFound,
    #[error("An access token cannot be used for this step")]
    StepNotAllowed,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The owner of a token whose signature is valid, as the caller of this act. The caller has the developer passport only, whatever else its
/// owner holds: a token never judges versions and never manages the store.
///
/// It is decided before the act, as for the session of a user: an act that has begun is not undone when its token is deleted meanwhile.
///
/// # Errors
/// The token does not allow the act, or has ended, or the app is not its owner's.
pub async fn act_with_token(ctx: &Context, token: &AccessToken, app: &Did, act: TokenAct<'_>) -> Result<Caller, TokenActError> {
    let (now, mut unit) = (ctx.now(), ctx.store.read().await?);
    let app = unit.uploads().find_app(app).await?.filter(|app| app.owner == token.owner).ok_or(TokenActError::NotFound)?;
    let scope = match act {
        TokenAct::Read => None,
        TokenAct::Step(Step::Request | Step::Publish) => {
            let uploaded = unit.reviews().versions(&app.did, &Page::new(None, Some(1))).await?.count;
            Some(if uploaded > 1 { TokenScope::PublishUpdate } else { TokenScope::PublishNew })
        }
        TokenAct::Step(Step::Yank { .. } | Step::UndoYank) => Some(TokenScope::Yank),
        TokenAct::Step(_) => return Err(TokenActError::StepNotAllowed),
    };
    match scope {
        Some(scope) => {
            let wanted = TokenUse { scope, app_did: &app.did, app_name: &app.name };
            authorize_token(unit.as_mut(), now, &token.id, &wanted).await?;
        }
        None => {
            check_valid(unit.as_mut(), now, token).await?;
            check_app(token, &app.did, &app.name)?;
        }
    }
    let passport = developer_passport(unit.as_mut(), &token.owner).await?.ok_or(TokenError::NotDeveloper)?;
    let user = unit.users().find(&token.owner).await?.ok_or(TokenError::NotDeveloper)?;
    Ok(Caller { user, passports: vec![passport], signed_in_at: token.created_at })
}
