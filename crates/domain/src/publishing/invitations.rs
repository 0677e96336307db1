//! Becoming a developer, a reviewer or an administrator by invitation: a link that one user can use once.

use super::staking::end_passport;
use crate::access::{Caller, Did, Passport, Role, TokenHash};
use crate::billing::ReleaseReason;
use crate::context::Context;
use crate::shared::{InvitationId, PassportId, StorageError, Timestamp};
use crate::storage::{MANAGEMENT, UnitOfWork};
use async_trait::async_trait;
use std::time::Duration;

/// The most invitations that can be accepted at a time.
pub const INVITATIONS_MAX: u32 = 100;
pub const INVITATION_DAYS_MAX: u32 = 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub role: Role,
    /// The administrator who vouches for it. It is valid as long as they could create it.
    pub created_by: Did,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_by: Option<Did>,
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationStatus {
    Open,
    Used,
    Revoked,
    Expired,
}

impl InvitationStatus {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Used => "used",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

impl Invitation {
    #[must_use]
    pub fn status(&self, now: Timestamp) -> InvitationStatus {
        match () {
            () if self.used_at.is_some() => InvitationStatus::Used,
            () if self.revoked_at.is_some() => InvitationStatus::Revoked,
            () if now >= self.expires_at => InvitationStatus::Expired,
            () => InvitationStatus::Open,
        }
    }
}

#[async_trait]
pub trait Invitations: Send {
    async fn insert(&mut self, invitation: &Invitation, token: &TokenHash) -> Result<(), StorageError>;
    async fn find(&mut self, id: &InvitationId) -> Result<Option<Invitation>, StorageError>;
    async fn find_by_token(&mut self, token: &TokenHash) -> Result<Option<Invitation>, StorageError>;
    /// The newest first, at most `limit`.
    async fn list(&mut self, limit: u32) -> Result<Vec<Invitation>, StorageError>;
    /// How many are open, at most `limit`.
    async fn count_open(&mut self, now: Timestamp, limit: u32) -> Result<u32, StorageError>;
    /// Uses an open invitation. True for exactly one caller.
    async fn accept(&mut self, id: &InvitationId, user: &Did, now: Timestamp) -> Result<bool, StorageError>;
    /// Revokes an invitation that was neither used nor revoked. False: it was.
    async fn revoke(&mut self, id: &InvitationId, now: Timestamp) -> Result<bool, StorageError>;
}

/// Whether somebody with these passports decides who has a role: owners about all but owners, admins about developers and reviewers.
pub(super) fn manages(passports: &[Passport], role: Role) -> bool {
    let highest = passports.iter().map(|passport| passport.role).max();
    match role {
        Role::Developer | Role::Reviewer => highest.is_some_and(Role::is_admin),
        Role::Admin => highest == Some(Role::Owner),
        Role::Owner => false,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    #[error("Permission denied")]
    NotAllowed,
    #[error("An invitation is valid for 1 to {INVITATION_DAYS_MAX} days")]
    Lifetime,
    #[error("{INVITATIONS_MAX} invitations are open. Revoke one first.")]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Creates an invitation. `token` is the hash of the link's secret, which is not stored.
#[tracing::instrument(skip_all)]
pub async fn invite(ctx: &Context, by: &Caller, role: Role, days: u32, token: &TokenHash) -> Result<Invitation, InviteError> {
    if !manages(&by.passports, role) {
        return Err(InviteError::NotAllowed);
    }
    if !(1..=INVITATION_DAYS_MAX).contains(&days) {
        return Err(InviteError::Lifetime);
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    if unit.invitations().count_open(now, INVITATIONS_MAX).await? >= INVITATIONS_MAX {
        return Err(InviteError::TooMany);
    }
    let invitation = Invitation {
        id: InvitationId::new(now, ctx.random.as_ref()),
        role,
        created_by: by.user.did.clone(),
        created_at: now,
        expires_at: now.plus(Duration::from_secs(u64::from(days) * 86_400)),
        used_by: None,
        used_at: None,
        revoked_at: None,
    };
    unit.invitations().insert(&invitation, token).await?;
    unit.commit().await?;
    Ok(invitation)
}

#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("This invitation is not valid")]
    Unknown,
    #[error("This invitation has been used")]
    Used,
    #[error("This invitation has been revoked")]
    Revoked,
    #[error("This invitation has expired")]
    Expired,
    #[error("You already have this role")]
    Held(Role),
    #[error("Your access to this store has been revoked")]
    Blocked,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The open invitation of a link, or why it cannot be accepted. An invitation whose administrator could not create it any more is revoked.
async fn open_invitation(unit: &mut dyn UnitOfWork, token: &TokenHash, now: Timestamp) -> Result<Invitation, AcceptError> {
    let invitation = unit.invitations().find_by_token(token).await?.ok_or(AcceptError::Unknown)?;
    match invitation.status(now) {
        InvitationStatus::Used => return Err(AcceptError::Used),
        InvitationStatus::Revoked => return Err(AcceptError::Revoked),
        InvitationStatus::Expired => return Err(AcceptError::Expired),
        InvitationStatus::Open => {}
    }
    let vouching = unit.users().passports(&invitation.created_by).await?;
    if manages(&vouching, invitation.role) { Ok(invitation) } else { Err(AcceptError::Revoked) }
}

/// What a user would accept. Changes nothing.
#[tracing::instrument(skip_all)]
pub async fn find_invitation(ctx: &Context, token: &TokenHash) -> Result<Invitation, AcceptError> {
    open_invitation(ctx.store.read().await?.as_mut(), token, ctx.now()).await
}

/// Uses an invitation and issues the passport, once.
#[tracing::instrument(skip_all)]
pub async fn accept_invitation(ctx: &Context, user: &Did, token: &TokenHash) -> Result<Passport, AcceptError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let invitation = open_invitation(unit.as_mut(), token, now).await?;
    if unit.users().passports(user).await?.iter().any(|passport| passport.role == invitation.role) {
        return Err(AcceptError::Held(invitation.role));
    }
    if unit.users().blocked_at(user).await?.is_some() {
        return Err(AcceptError::Blocked);
    }
    if !unit.invitations().accept(&invitation.id, user, now).await? {
        return Err(AcceptError::Used);
    }
    let id = PassportId::new(now, ctx.random.as_ref());
    let (holder, role) = (user.clone(), invitation.role);
    let passport = Passport { id, holder, role, issued_at: now, revoked_at: None, stake_id: None };
    unit.users().issue_passport(&passport).await?;
    unit.commit().await?;
    Ok(passport)
}

#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    #[error("Permission denied")]
    NotAllowed,
    #[error("There is no such invitation or passport, or it is not valid any more")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Revokes an open invitation.
#[tracing::instrument(skip_all)]
pub async fn revoke_invitation(ctx: &Context, by: &Caller, id: &InvitationId) -> Result<(), WithdrawError> {
    let mut unit = ctx.store.begin().await?;
    let invitation = unit.invitations().find(id).await?.ok_or(WithdrawError::NotFound)?;
    if !manages(&by.passports, invitation.role) {
        return Err(WithdrawError::NotAllowed);
    }
    if !unit.invitations().revoke(id, ctx.now()).await? {
        return Err(WithdrawError::NotFound);
    }
    unit.commit().await?;
    Ok(())
}

/// Revokes a passport. Its access tokens end with it, and the deposit by which it was obtained is returned after its waiting time;
/// published apps stay. The passport of an owner is not revoked this way, so that the store always has one.
#[tracing::instrument(skip_all)]
pub async fn withdraw_passport(ctx: &Context, by: &Caller, id: &PassportId) -> Result<(), WithdrawError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let passport = unit.users().find_passport(id).await?.filter(|passport| passport.revoked_at.is_none());
    let passport = passport.ok_or(WithdrawError::NotFound)?;
    if !manages(&by.passports, passport.role) {
        return Err(WithdrawError::NotAllowed);
    }
    if !end_passport(ctx, unit.as_mut(), &passport, ReleaseReason::ReturnedByStore).await? {
        return Err(WithdrawError::NotFound);
    }
    unit.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_decide_about_all_but_owners_and_admins_about_developers_and_reviewers() {
        let passport = |role| Passport {
            id: PassportId::parse("pass_1").expect("an id"),
            holder: Did::from_verified("z1a"),
            role,
            issued_at: Timestamp::from_seconds(0),
            revoked_at: None,
            stake_id: None,
        };
        let managed = |role| Role::ALL.into_iter().filter(|other| manages(&[passport(role)], *other)).collect::<Vec<_>>();
        assert_eq!(managed(Role::Owner), [Role::Developer, Role::Reviewer, Role::Admin]);
        assert_eq!(managed(Role::Admin), [Role::Developer, Role::Reviewer]);
        assert_eq!((managed(Role::Reviewer), managed(Role::Developer)), (Vec::new(), Vec::new()));
        assert!(!manages(&[], Role::Developer));
    }
}
