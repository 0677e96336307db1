//! BrowserSessions: how a verified wallet becomes a session in one browser, and how a store gets its first owner.

use super::{ConnectSession, Did, LOGIN_LIFETIME_DAYS, Passport, Role, TokenHash, User, Wallet};
use crate::context::Context;
use crate::shared::{Language, PassportId, StorageError};
use crate::storage::MANAGEMENT;
use std::time::Duration;

/// What a wallet told about its holder; absent items stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    pub full_name: String,
    pub email: String,
    pub phone: String,
}

/// Longest profile item we keep.
pub const PROFILE_ITEM_MAX: usize = 254;

fn kept(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(PROFILE_ITEM_MAX).collect()
}

/// Writes down who signed in. A profile item that the user has set here already is not overwritten by the wallet's.
pub async fn register_login(ctx: &Context, wallet: &Wallet, profile: &Profile, language: Language) -> Result<(), StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let known = unit.users().find(&wallet.did).await?;
    let or = |old: Option<&String>, new: &str| old.filter(|old| !old.is_empty()).cloned().unwrap_or_else(|| kept(new));
    let user = User {
        did: wallet.did.clone(),
        public_key: wallet.public_key.clone(),
        full_name: or(known.as_ref().map(|user| &user.full_name), &profile.full_name),
        email: or(known.as_ref().map(|user| &user.email), &profile.email),
        phone: or(known.as_ref().map(|user| &user.phone), &profile.phone),
        address: known.as_ref().and_then(|user| user.address.clone()),
        language,
        created_at: known.map_or(now, |user| user.created_at),
        updated_at: now,
    };
    unit.users().upsert(&user).await?;
    unit.users().update_profile(&user).await?;
    unit.commit().await
}

/// Uses a succeeded connect session for a login of its browser. `token` is the hash of what the cookie is to hold, or holds already.
/// An answer may get lost on its way: while the login that the session was used for lasts, another one takes its place. Once the
/// user has left, the session opens nothing more, and this is false.
pub async fn redeem_connect_session(ctx: &Context, session: &ConnectSession, user: &Did, token: &TokenHash) -> Result<bool, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if let Some(before) = session.login.as_ref().filter(|before| *before != token) {
        if unit.logins().find(before, now).await?.is_none() {
            return Ok(false);
        }
        unit.logins().delete(before).await?;
    }
    if !unit.connect_sessions().redeem_connect_session(&session.token, session.login.as_ref(), token).await? {
        return Ok(false);
    }
    if unit.logins().find(token, now).await?.is_none() {
        unit.logins().insert(token, user, now, now.plus(days(LOGIN_LIFETIME_DAYS))).await?;
    }
    unit.commit().await?;
    Ok(true)
}

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

/// Lets a login that is used last its whole time again, at most once a day. True when it did: its cookie lasts longer too.
pub async fn extend_login(ctx: &Context, token: &TokenHash) -> Result<bool, StorageError> {
    let now = ctx.now();
    // Whatever stands for all but a day of its time was extended today.
    if ctx.store.read().await?.logins().find(token, now.plus(days(LOGIN_LIFETIME_DAYS - 1))).await?.is_some() {
        return Ok(false);
    }
    let mut unit = ctx.store.begin().await?;
    let extended = unit.logins().extend(token, now, now.plus(days(LOGIN_LIFETIME_DAYS))).await?;
    unit.commit().await?;
    Ok(extended)
}

/// Somebody signed in, and what their passports allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: User,
    pub passports: Vec<Passport>,
}

impl Caller {
    /// The most powerful role, if any.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.passports.iter().map(|passport| passport.role).max()
    }

    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role().is_some_and(Role::is_admin)
    }
}

/// Whose cookie this is.
pub async fn caller_of(ctx: &Context, token: &TokenHash) -> Result<Option<Caller>, StorageError> {
    ctx.store.read().await?.users().find_by_login(token, ctx.now()).await
}

#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error("This link has been used or is not valid")]
    LinkUsed,
    #[error("This store has an owner already")]
    OwnerExists,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Uses the one-time link of a new store: whoever opens it first becomes the owner.
pub async fn claim_ownership(ctx: &Context, user: &Did, link: &TokenHash) -> Result<(), OwnerError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    // Two links may be out, from two starts: whoever comes second must see the first.
    unit.lock(MANAGEMENT).await?;
    if !unit.logins().use_owner_link(link, now).await? {
        return Err(OwnerError::LinkUsed);
    }
    if unit.users().owner_exists().await? {
        return Err(OwnerError::OwnerExists);
    }
    let passport = Passport {
        id: PassportId::new(now, ctx.random.as_ref()),
        holder: user.clone(),
        role: Role::Owner,
        issued_at: now,
        revoked_at: None,
    };
    unit.users().issue_passport(&passport).await?;
    unit.commit().await?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum PassportError {
    #[error("Nobody with this DID has signed in here yet")]
    Stranger,
    #[error("They have this role already")]
    Held,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Gives somebody who has signed in a role.
pub async fn issue_passport(ctx: &Context, holder: &Did, role: Role) -> Result<Passport, PassportError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    if unit.users().find(holder).await?.is_none() {
        return Err(PassportError::Stranger);
    }
    if unit.users().passports(holder).await?.iter().any(|passport| passport.role == role) {
        return Err(PassportError::Held);
    }
    let id = PassportId::new(now, ctx.random.as_ref());
    let passport = Passport { id, holder: holder.clone(), role, issued_at: now, revoked_at: None };
    unit.users().issue_passport(&passport).await?;
    unit.commit().await?;
    Ok(passport)
}

/// Writes a one-time owner link down, if the store has no owner. False: it has one.
pub async fn offer_ownership(ctx: &Context, link: &TokenHash) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    if unit.users().owner_exists().await? {
        return Ok(false);
    }
    unit.logins().insert_owner_link(link, ctx.now()).await?;
    unit.commit().await?;
    Ok(true)
}
