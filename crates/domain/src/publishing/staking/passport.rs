//! The end of a passport. The deposit by which it was obtained goes back to its payer after the waiting time.

use crate::access::{Caller, Passport, Role};
use crate::billing::{ReleaseReason, Unneeded, release_deposit};
use crate::context::Context;
use crate::shared::{PassportId, StorageError};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// Revokes a passport, and releases its deposit for this reason. Its access tokens end with it; published apps stay. The caller holds
/// [`MANAGEMENT`]. False: it is revoked already.
pub(in crate::publishing) async fn end_passport(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    passport: &Passport,
    reason: ReleaseReason,
) -> Result<bool, StorageError> {
    if !unit.users().revoke_passport(&passport.id, ctx.now()).await? {
        return Ok(false);
    }
    if let Some(stake) = &passport.stake_id {
        release_deposit(ctx, unit, stake, Unneeded { reason, now: false }).await?;
    }
    Ok(true)
}

/// Revokes a passport by a command on a machine of the store. False: there is no valid one with this id.
#[tracing::instrument(skip_all, fields(passport = %id))]
pub async fn revoke_passport(ctx: &Context, id: &PassportId) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let Some(passport) = unit.users().find_passport(id).await? else { return Ok(false) };
    if !end_passport(ctx, unit.as_mut(), &passport, ReleaseReason::ReturnedByStore).await? {
        return Ok(false);
    }
    unit.commit().await?;
    Ok(true)
}

#[derive(Debug, thiserror::Error)]
pub enum LeaveError {
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Ends the caller's membership as a developer: the passport is withdrawn, its deposit is returned after the waiting time, and published
/// apps stay with their deposits.
///
/// # Errors
/// The caller is no developer.
#[tracing::instrument(skip_all)]
pub async fn leave_developers(ctx: &Context, caller: &Caller) -> Result<(), LeaveError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let held = unit.users().passports(&caller.user.did).await?;
    let passport = held.into_iter().find(|passport| passport.role == Role::Developer).ok_or(LeaveError::NotDeveloper)?;
    if !end_passport(ctx, unit.as_mut(), &passport, ReleaseReason::Requested).await? {
        return Err(LeaveError::NotDeveloper);
    }
    unit.commit().await?;
    Ok(())
}
