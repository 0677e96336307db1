//! Changes what the store offers: yanked versions, the version that new installs get, and blocked apps. What users have installed goes on
//! working.

use super::bundle::{OfferedVersions, UploadedVersion, default_version};
use super::publication::{Listing, PublishPorts, read_listing, refuse_blocked, show_app};
use super::review::{
    EntryKind, Involved, Refusal, ReviewActor, ReviewError, ReviewRole, ReviewedApp, ReviewedVersion, Step, actor_of, lock_involved,
    take_in, tell_developer,
};
use super::staking::{forfeit_app_deposits, lacks_app_deposit};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::StorageError;
use crate::storage::UnitOfWork;
use crate::store::Availability;
use semver::Version;

/// Yanks a version or brings it back, or rolls the app back to it: [`Step::Yank`], [`Step::UndoYank`] or [`Step::RollBack`]. The catalogue
/// shows the texts of the version that new installs get then.
///
/// # Errors
/// The caller does not see the version, or may not take the step, or the app would be offered again without its deposit, or the version
/// that is brought back or rolled back to contains blocked content; [`ReviewError::Contended`] if another version was published or yanked
/// meanwhile. Then nothing has changed.
#[tracing::instrument(skip_all, fields(app = %app, version = %version))]
pub async fn change_offer(
    ctx: &Context,
    ports: &PublishPorts<'_>,
    caller: &Caller,
    app: &Did,
    version: &Version,
    step: &Step,
) -> Result<ReviewedVersion, ReviewError> {
    // Before the unit of work: the files of a version do not change.
    let next = next_current(ctx, ports, caller, app, version, step).await?;
    let mut unit = ctx.store.begin().await?;
    let involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    // A user who is no longer a developer can withdraw a version, but not offer one.
    if involved.actor.role == ReviewRole::AppOwner && !matches!(step, Step::Yank { .. }) && !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    if matches!(step, Step::RollBack) && !version.pre.is_empty() {
        return Err(Refusal::PreRelease.into());
    }
    let taken = take_in(ctx, unit.as_mut(), &involved, step).await?;
    if matches!(step, Step::UndoYank | Step::RollBack) {
        let stored = unit.uploads().find_version_by_id(&taken.id).await?.ok_or(ReviewError::NotFound)?;
        refuse_blocked(unit.as_mut(), &stored).await?;
    }
    // The deposit of an app that offers nothing can be taken back without a block.
    let offers_again = matches!(step, Step::UndoYank) && unit.uploads().offered(app).await?.versions.len() == 1;
    if offers_again && lacks_app_deposit(unit.as_mut(), app).await? {
        return Err(ReviewError::DepositRequired);
    }
    match step {
        Step::RollBack => {
            let offered = unit.uploads().offered(app).await?;
            let is_highest = default_version(&offered.versions) == Some(version);
            unit.uploads().roll_back(app, Some(version).filter(|_| !is_highest)).await?;
        }
        step => unit.apps().set_yanked(&taken.id, matches!(step, Step::Yank { .. })).await?,
    }
    let offered = unit.uploads().offered(app).await?;
    if offered.current() != next.as_ref().map(|next| &next.version.version) {
        return Err(ReviewError::Contended);
    }
    match &next {
        Some(NextCurrent { version, listing }) => show_app(unit.as_mut(), &involved.app, version, listing, ctx.now()).await?,
        None if involved.app.block_reason.is_none() => unit.apps().set_availability(app, Availability::Withdrawn).await?,
        None => {}
    }
    unit.commit().await?;
    Ok(taken)
}

/// The version that new installs get after a change, and what it says of itself.
struct NextCurrent {
    version: UploadedVersion,
    listing: Listing,
}

async fn next_current(
    ctx: &Context,
    ports: &PublishPorts<'_>,
    caller: &Caller,
    app: &Did,
    changed: &Version,
    step: &Step,
) -> Result<Option<NextCurrent>, ReviewError> {
    let mut unit = ctx.store.read().await?;
    // Before files are read.
    let seen = unit.reviews().find_app(app).await?.filter(|found| actor_of(caller, found).is_some());
    seen.ok_or(ReviewError::NotFound)?;
    let mut offered = unit.uploads().offered(app).await?;
    change(&mut offered, changed, step);
    let Some(next) = offered.current() else { return Ok(None) };
    let version = unit.uploads().find_version(app, next).await?.ok_or(ReviewError::NotFound)?;
    drop(unit);
    let listing = read_listing(ports, &version).await?;
    Ok(Some(NextCurrent { version, listing }))
}

/// What is offered after a step.
fn change(offered: &mut OfferedVersions, version: &Version, step: &Step) {
    if matches!(step, Step::RollBack) {
        offered.rolled_back_to = Some(version.clone());
        return;
    }
    offered.versions.retain(|other| other != version);
    if matches!(step, Step::UndoYank) {
        offered.versions.push(version.clone());
    }
}

/// Blocks an app: it leaves the catalogue, nobody downloads or buys it, and its developer neither uploads nor publishes, but reads the
/// reason in the thread of `version`. `forfeits`: the store also keeps the deposit for the app, once its network has moved it. The deposit of
/// an app that is blocked already can be kept later, for the reason that is then the one of the block.
///
/// # Errors
/// The caller is no administrator, or the app is blocked already and `forfeits` is false, or the reason is missing or too long, or there is
/// no deposit to keep. Then nothing has changed.
#[tracing::instrument(skip_all, fields(app = %app, forfeits))]
pub async fn block_app(
    ctx: &Context,
    caller: &Caller,
    app: &Did,
    version: &Version,
    reason: &str,
    forfeits: bool,
) -> Result<ReviewedApp, ReviewError> {
    let mut unit = ctx.store.begin().await?;
    let involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    let reason = reason.trim();
    match block(ctx, unit.as_mut(), &involved, reason).await {
        Err(ReviewError::Refused(Refusal::AlreadyBlocked)) if forfeits => {
            unit.reviews().set_block(app, Some(reason), ctx.now()).await?;
            tell_developer(ctx, unit.as_mut(), &involved, EntryKind::DepositKept, reason).await?;
        }
        blocked => blocked?,
    }
    if forfeits {
        forfeit_app_deposits(ctx, unit.as_mut(), app).await?;
    }
    unit.commit().await?;
    Ok(ReviewedApp { block_reason: Some(reason.to_owned()), ..involved.app })
}

async fn block(ctx: &Context, unit: &mut dyn UnitOfWork, involved: &Involved, reason: &str) -> Result<(), ReviewError> {
    take_in(ctx, unit, involved, &Step::Block { reason: reason.to_owned() }).await?;
    unit.reviews().set_block(&involved.app.did, Some(reason), ctx.now()).await?;
    Ok(unit.apps().set_availability(&involved.app.did, Availability::Blocked).await?)
}

/// Blocks an app by the store itself, in the thread of its highest published version. Nothing changes if it has none, or is blocked
/// already. The caller has locked the app.
pub(super) async fn block_by_store(ctx: &Context, unit: &mut dyn UnitOfWork, app: ReviewedApp, reason: &str) -> Result<(), StorageError> {
    let Some(version) = unit.uploads().published(&app.did).await?.into_iter().max() else { return Ok(()) };
    let Some(version) = unit.reviews().find(&app.did, &version).await? else { return Ok(()) };
    let actor = ReviewActor { did: app.owner.clone(), role: ReviewRole::System };
    match block(ctx, unit, &Involved { app, version, actor }, reason).await {
        Ok(()) | Err(ReviewError::Refused(Refusal::AlreadyBlocked)) => Ok(()),
        Err(ReviewError::Storage(error)) => Err(error),
        Err(error) => Err(StorageError::Driver(Box::new(error))),
    }
}

/// Ends the block of an app. It returns to the catalogue if a version is offered.
///
/// # Errors
/// The caller is no administrator, or the app is not blocked, or it would be offered without the deposit that the store requires.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn unblock_app(ctx: &Context, caller: &Caller, app: &Did, version: &Version) -> Result<ReviewedApp, ReviewError> {
    let mut unit = ctx.store.begin().await?;
    let involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    take_in(ctx, unit.as_mut(), &involved, &Step::Unblock).await?;
    unit.reviews().set_block(app, None, ctx.now()).await?;
    let is_offered = unit.uploads().offered(app).await?.current().is_some();
    if is_offered && lacks_app_deposit(unit.as_mut(), app).await? {
        return Err(ReviewError::DepositRequired);
    }
    let availability = if is_offered { Availability::Available } else { Availability::Withdrawn };
    unit.apps().set_availability(app, availability).await?;
    unit.commit().await?;
    Ok(ReviewedApp { block_reason: None, ..involved.app })
}
