//! Creates, lists and deletes a developer's access tokens.

use super::{APP_PATTERNS_MAX, AccessToken, AppPattern, TokenKeys, TokenScope};
use crate::access::{Did, Passport, Role};
use crate::context::Context;
use crate::shared::{InputError, StorageError, check_line};
use crate::storage::{MANAGEMENT, UnitOfWork};
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest name, in characters (reference/store.md 1.4).
pub const TOKEN_NAME_MAX: usize = 64;
/// The most tokens of a developer, expired ones included.
pub const TOKENS_MAX: u32 = 50;
pub const TOKEN_LIFETIME_DAYS_MAX: u32 = 365;
/// The longest time before its expiry at which the owner of a token is reminded.
const REMINDER_LEAD: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccessToken {
    pub name: String,
    pub scopes: BTreeSet<TokenScope>,
    /// The apps for which it is valid; `*`: all of the developer's.
    pub apps: Vec<AppPattern>,
    pub lifetime_days: u32,
}

/// A new token with its secret, which is not stored.
pub struct CreatedToken {
    pub token: AccessToken,
    pub secret: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CreateTokenError {
    #[error("Access Token Name is required")]
    NameRequired,
    #[error("Access Token Name should no longer than {TOKEN_NAME_MAX} chars")]
    NameTooLong,
    #[error("{0} is existed")]
    NameTaken(String),
    #[error("A token needs at least one scope")]
    NoScope,
    #[error("A token needs 1 to {APP_PATTERNS_MAX} app patterns")]
    AppPatterns,
    #[error("A token is valid for 1 to {TOKEN_LIFETIME_DAYS_MAX} days")]
    Lifetime,
    #[error("You have {TOKENS_MAX} access tokens. Delete one that you no longer use.")]
    TooMany,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The valid developer passport of a user.
pub(in crate::publishing) async fn developer_passport(unit: &mut dyn UnitOfWork, holder: &Did) -> Result<Option<Passport>, StorageError> {
    Ok(unit.users().passports(holder).await?.into_iter().find(|passport| passport.role == Role::Developer))
}

/// Creates a token. Its secret cannot be shown again.
#[tracing::instrument(skip_all)]
pub async fn create_access_token(
    ctx: &Context,
    keys: &dyn TokenKeys,
    owner: &Did,
    new: NewAccessToken,
) -> Result<CreatedToken, CreateTokenError> {
    let mut unit = ctx.store.begin().await?;
    let created = create_token_in(ctx, unit.as_mut(), keys, owner, new).await?;
    unit.commit().await?;
    Ok(created)
}

/// As [`create_access_token`], in this unit of work.
pub(in crate::publishing) async fn create_token_in(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    keys: &dyn TokenKeys,
    owner: &Did,
    new: NewAccessToken,
) -> Result<CreatedToken, CreateTokenError> {
    let name = check_token_name(&new.name)?;
    if new.scopes.is_empty() {
        return Err(CreateTokenError::NoScope);
    }
    if new.apps.is_empty() || new.apps.len() > APP_PATTERNS_MAX {
        return Err(CreateTokenError::AppPatterns);
    }
    if !(1..=TOKEN_LIFETIME_DAYS_MAX).contains(&new.lifetime_days) {
        return Err(CreateTokenError::Lifetime);
    }
    let (now, lifetime) = (ctx.now(), Duration::from_secs(u64::from(new.lifetime_days) * 86_400));
    let key = keys.create(&ctx.random.bytes());
    // The count and the names are compared with those of concurrent calls.
    unit.lock(MANAGEMENT).await?;
    let passport = developer_passport(unit, owner).await?.ok_or(CreateTokenError::NotDeveloper)?;
    let held = unit.access_tokens().list(owner, TOKENS_MAX).await?;
    if held.iter().any(|token| token.name == name) {
        return Err(CreateTokenError::NameTaken(name));
    }
    if held.len() >= TOKENS_MAX as usize {
        return Err(CreateTokenError::TooMany);
    }
    let expires_at = now.plus(lifetime);
    let token = AccessToken {
        id: key.id,
        owner: owner.clone(),
        passport_id: passport.id,
        name,
        public_key: key.public_key,
        scopes: new.scopes,
        apps: new.apps,
        publisher: None,
        created_at: now,
        expires_at,
        remind_at: Some(expires_at.minus(REMINDER_LEAD.min(lifetime / 4))),
        last_used_at: None,
    };
    unit.access_tokens().insert(&token).await?;
    Ok(CreatedToken { token, secret: key.secret })
}

fn check_token_name(text: &str) -> Result<String, CreateTokenError> {
    // A name of several lines, or with a character that nobody sees, could not be typed when the token is deleted.
    match check_line("name", text, TOKEN_NAME_MAX) {
        Ok(name) if name.is_empty() => Err(CreateTokenError::NameRequired),
        Ok(name) => Ok(name),
        Err(InputError::TooLong { .. }) => Err(CreateTokenError::NameTooLong),
        Err(error) => Err(error.into()),
    }
}

#[tracing::instrument(skip_all)]
pub async fn list_access_tokens(ctx: &Context, owner: &Did) -> Result<Vec<AccessToken>, StorageError> {
    ctx.store.read().await?.access_tokens().list(owner, TOKENS_MAX).await
}

#[derive(Debug, thiserror::Error)]
pub enum DeleteTokenError {
    #[error("There is no such access token")]
    NotFound,
    #[error("Type the name of the access token to delete it")]
    NameDiffers,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Deletes a token of its owner, who has typed its name (SPEC.md 5). What it has signed stays.
#[tracing::instrument(skip_all)]
pub async fn delete_access_token(ctx: &Context, owner: &Did, id: &Did, typed: &str) -> Result<(), DeleteTokenError> {
    let mut unit = ctx.store.begin().await?;
    let found = unit.access_tokens().find(id).await?.filter(|token| token.owner == *owner);
    let token = found.ok_or(DeleteTokenError::NotFound)?;
    if token.name != typed.trim() {
        return Err(DeleteTokenError::NameDiffers);
    }
    if !unit.access_tokens().delete(owner, id).await? {
        return Err(DeleteTokenError::NotFound);
    }
    unit.commit().await?;
    Ok(())
}
