//! Sign-in: turns a verified wallet into a browser session, and gives a store its first owner.

use super::login::{FromHash, device_text, note_login_use};
use super::{ConnectSession, Did, LOGIN_LIFETIME_DAYS, Login, Passport, Role, TokenHash, User, Wallet};
use crate::context::Context;
use crate::shared::{Language, LoginId, PassportId, StorageError, Timestamp};
use crate::storage::MANAGEMENT;
use std::time::Duration;

/// A wallet's profile of its holder. Empty items leave the user's values unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    pub full_name: String,
    pub email: String,
    pub phone: String,
}

/// The longest stored profile item, in characters.
pub const PROFILE_ITEM_MAX: usize = 254;

fn cleaned(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(PROFILE_ITEM_MAX).collect()
}

/// Records a user who has signed in. Profile items that the user has set here are not overwritten by the wallet's.
#[tracing::instrument(skip_all)]
pub async fn register_login(ctx: &Context, wallet: &Wallet, profile: &Profile, language: Language) -> Result<(), StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let known = unit.users().find(&wallet.did).await?;
    let known_or = |old: Option<&String>, new: &str| old.filter(|old| !old.is_empty()).cloned().unwrap_or_else(|| cleaned(new));
    let user = User {
        did: wallet.did.clone(),
        public_key: wallet.public_key.clone(),
        full_name: known_or(known.as_ref().map(|user| &user.full_name), &profile.full_name),
        email: known_or(known.as_ref().map(|user| &user.email), &profile.email),
        phone: known_or(known.as_ref().map(|user| &user.phone), &profile.phone),
        address: known.as_ref().and_then(|user| user.address.clone()),
        language,
        picture: known.as_ref().and_then(|user| user.picture.clone()),
        created_at: known.map_or(now, |user| user.created_at),
        updated_at: now,
    };
    unit.users().upsert(&user).await?;
    unit.users().update_profile(&user).await?;
    unit.commit().await
}

/// A login that a browser asks for.
#[derive(Debug, Clone, Copy)]
pub struct NewLogin<'a> {
    pub user: &'a Did,
    /// The hash of the value that the cookie will hold or holds already.
    pub token: &'a TokenHash,
    /// The browser's description of itself.
    pub device: &'a str,
}

/// Uses a succeeded connect session for a login of its browser; a login that exists already counts as signed in again.
/// Since a response can be lost, a new login replaces the one that the session was used for before, as long as that one is valid. Once the
/// user has signed out, the session grants nothing more, and the result is false.
#[tracing::instrument(skip_all)]
pub async fn redeem_connect_session(ctx: &Context, session: &ConnectSession, new: &NewLogin<'_>) -> Result<bool, StorageError> {
    let NewLogin { user, token, device } = *new;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if let Some(before) = session.browser_session.as_ref().filter(|before| *before != token) {
        if unit.browser_sessions().find(before, now).await?.is_none() {
            return Ok(false);
        }
        unit.browser_sessions().delete(before).await?;
    }
    if !unit.connect_sessions().redeem_connect_session(&session.token, session.browser_session.as_ref(), token).await? {
        return Ok(false);
    }
    if unit.browser_sessions().find(token, now).await?.is_some() {
        unit.browser_sessions().sign_in_again(token, now).await?;
    } else {
        let login = Login {
            id: LoginId::new(now, &FromHash(*token)),
            user: user.clone(),
            device: device_text(device),
            created_at: now,
            signed_in_at: now,
            used_at: now,
            expires_at: now.plus(days(LOGIN_LIFETIME_DAYS)),
        };
        unit.browser_sessions().insert(token, &login).await?;
    }
    unit.commit().await?;
    Ok(true)
}

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

/// Notes that a login is in use, and renews it to its full lifetime, at most once a day. Returns whether it did; the cookie's lifetime must then be renewed, too.
#[tracing::instrument(skip_all)]
pub async fn extend_login(ctx: &Context, token: &TokenHash) -> Result<bool, StorageError> {
    let now = ctx.now();
    note_login_use(ctx, token).await?;
    // A login with more than its lifetime minus one day left was extended today.
    if ctx.store.read().await?.browser_sessions().find(token, now.plus(days(LOGIN_LIFETIME_DAYS - 1))).await?.is_some() {
        return Ok(false);
    }
    let mut unit = ctx.store.begin().await?;
    let extended = unit.browser_sessions().extend(token, now, now.plus(days(LOGIN_LIFETIME_DAYS))).await?;
    unit.commit().await?;
    Ok(extended)
}

/// A signed-in user with their passports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: User,
    pub passports: Vec<Passport>,
    /// When they last proved their identity in this browser.
    pub signed_in_at: Timestamp,
}

impl Caller {
    /// The most powerful role, if any.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.passports.iter().map(|passport| passport.role).max()
    }

    /// Whether one of the passports has exactly this role. Each role needs its own passport: an administrator is no developer by that.
    #[must_use]
    pub fn holds(&self, role: Role) -> bool {
        self.passports.iter().any(|passport| passport.role == role)
    }

    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role().is_some_and(Role::is_admin)
    }

    #[must_use]
    pub fn is_reviewer(&self) -> bool {
        self.role().is_some_and(Role::is_reviewer)
    }
}

/// Finds the user who is signed in by a cookie.
#[tracing::instrument(skip_all)]
pub async fn caller_of(ctx: &Context, token: &TokenHash) -> Result<Option<Caller>, StorageError> {
    ctx.store.read().await?.users().find_by_login(token, ctx.now()).await
}

#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error("This link has been used or is not valid")]
    LinkUsed,
    #[error("This store already has an owner")]
    OwnerExists,
    #[error("Your access to this store has been revoked")]
    Blocked,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Uses the one-time link of a new store: the first user who opens it, and whom the store has not blocked, becomes the owner.
#[tracing::instrument(skip_all)]
pub async fn claim_ownership(ctx: &Context, user: &Did, link: &TokenHash) -> Result<(), OwnerError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    // Two starts can have issued two links: the second user must see that the first has become owner.
    unit.lock(MANAGEMENT).await?;
    if !unit.browser_sessions().use_owner_link(link, now).await? {
        return Err(OwnerError::LinkUsed);
    }
    if unit.users().owner_exists().await? {
        return Err(OwnerError::OwnerExists);
    }
    if unit.users().blocked_at(user).await?.is_some() {
        return Err(OwnerError::Blocked);
    }
    let passport = Passport {
        id: PassportId::new(now, ctx.random.as_ref()),
        holder: user.clone(),
        role: Role::Owner,
        issued_at: now,
        revoked_at: None,
        stake_id: None,
    };
    unit.users().issue_passport(&passport).await?;
    unit.commit().await?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum PassportError {
    #[error("Nobody has signed in with this DID yet")]
    Stranger,
    #[error("This person already has this role")]
    Held,
    #[error("The store has blocked this person")]
    Blocked,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Gives a role to a user who has signed in before.
#[tracing::instrument(skip_all)]
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
    if unit.users().blocked_at(holder).await?.is_some() {
        return Err(PassportError::Blocked);
    }
    let id = PassportId::new(now, ctx.random.as_ref());
    let passport = Passport { id, holder: holder.clone(), role, issued_at: now, revoked_at: None, stake_id: None };
    unit.users().issue_passport(&passport).await?;
    unit.commit().await?;
    Ok(passport)
}

/// Stores a one-time owner link if the store has no owner. False: it has one.
#[tracing::instrument(skip_all)]
pub async fn offer_ownership(ctx: &Context, link: &TokenHash) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    if unit.users().owner_exists().await? {
        return Ok(false);
    }
    unit.browser_sessions().insert_owner_link(link, ctx.now()).await?;
    unit.commit().await?;
    Ok(true)
}
