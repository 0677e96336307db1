//! Blocked users: they hold no passport, and get none by an invitation, a deposit or a command. What they have bought stays theirs.

use super::passport::end_passport;
use crate::access::{Caller, Did, Role};
use crate::billing::ReleaseReason;
use crate::context::Context;
use crate::publishing::invitations::manages;
use crate::shared::StorageError;
use crate::storage::MANAGEMENT;

/// The most blocked users that a list shows: those who were blocked last.
pub const BLOCKED_USERS_MAX: u32 = 200;

#[derive(Debug, thiserror::Error)]
pub enum BlockUserError {
    #[error("Permission denied")]
    NotAllowed,
    #[error("Nobody has signed in with this DID yet")]
    Stranger,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Blocks a user: withdraws all their passports and returns the deposits by which they were obtained, after their waiting time. Published
/// apps stay, and can be blocked each.
///
/// # Errors
/// The caller does not decide about one of the user's roles, or is the user; or nobody has signed in with the DID.
#[tracing::instrument(skip_all)]
pub async fn block_user(ctx: &Context, by: &Caller, did: &Did) -> Result<(), BlockUserError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let held = unit.users().passports(did).await?;
    let decides = manages(&by.passports, Role::Developer) && held.iter().all(|passport| manages(&by.passports, passport.role));
    if !decides || by.user.did == *did {
        return Err(BlockUserError::NotAllowed);
    }
    if unit.users().blocked_at(did).await?.is_some() {
        return Ok(());
    }
    if !unit.users().set_blocked(did, Some(now)).await? {
        return Err(BlockUserError::Stranger);
    }
    for passport in &held {
        end_passport(ctx, unit.as_mut(), passport, ReleaseReason::ReturnedByStore).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// Ends the block of a user. Their passports do not come back; they can be invited or join again.
///
/// # Errors
/// The caller does not decide about one of the roles that the block has ended, or nobody has signed in with the DID.
#[tracing::instrument(skip_all)]
pub async fn unblock_user(ctx: &Context, by: &Caller, did: &Did) -> Result<(), BlockUserError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let blocked_at = unit.users().blocked_at(did).await?;
    let ended = match blocked_at {
        Some(at) => unit.users().revoked_since(did, at).await?,
        None => Vec::new(),
    };
    if !manages(&by.passports, Role::Developer) || !ended.iter().all(|passport| manages(&by.passports, passport.role)) {
        return Err(BlockUserError::NotAllowed);
    }
    if !unit.users().set_blocked(did, None).await? {
        return Err(BlockUserError::Stranger);
    }
    unit.commit().await?;
    Ok(())
}
