//! The deposit for a published app (reference/store.md 4). While the store accepts developers by deposits, an app is published only if the
//! network holds one for it.

use super::currency::{DepositTerms, deposit_terms};
use crate::access::{Caller, Did, Role, User, Wallet};
use crate::billing::{
    DepositError, DepositOrder, ReleaseReason, Stake, StakeKey, StakePurpose, StakeSubject, Unneeded, forfeit_deposit, prepare_deposit,
    release_deposit, submit_signed_deposit,
};
use crate::context::Context;
use crate::payment::{PreparedStake, WalletSignature};
use crate::publishing::PermissionMode;
use crate::publishing::moderation::block_by_store;
use crate::publishing::review::{ReviewError, ReviewedApp, actor_of};
use crate::shared::{StorageError, Text};
use crate::storage::UnitOfWork;

/// Why an app is blocked whose deposit was revoked (reference/store.md 4).
pub const PUBLISH_STAKE_REVOKED: &str = "publish stake revoked by developer";

/// The deposit for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppDeposit {
    /// Whether the store requires one to publish the app.
    pub is_required: bool,
    /// What it costs. `None`: it cannot be placed at present.
    pub terms: Option<DepositTerms>,
    /// The deposit that is not completely returned or forfeited, if there is one.
    pub stake: Option<Stake>,
}

async fn stakes_of(unit: &mut dyn UnitOfWork, app: &Did) -> Result<Vec<Stake>, StorageError> {
    unit.stakes().open_of_subject(&StakeSubject::App(app.clone()), StakePurpose::Publication).await
}

/// Whether a deposit is missing for publishing an app. The caller has locked the app, so that a deposit which is held stays so until this
/// unit of work ends.
pub(in crate::publishing) async fn lacks_app_deposit(unit: &mut dyn UnitOfWork, app: &Did) -> Result<bool, StorageError> {
    if unit.preferences().find().await?.preferences.permission_mode != PermissionMode::Staking {
        return Ok(false);
    }
    Ok(!stakes_of(unit, app).await?.iter().any(Stake::is_complete))
}

/// Orders that the store keeps the deposits of an app. The caller has locked the app.
///
/// # Errors
/// [`ReviewError::NoDeposit`] if nothing was paid, or the store keeps it already; [`ReviewError::DepositReturning`] if a return is in flight
/// that leaves nothing to keep.
pub(in crate::publishing) async fn forfeit_app_deposits(ctx: &Context, unit: &mut dyn UnitOfWork, app: &Did) -> Result<(), ReviewError> {
    let mut stakes = stakes_of(unit, app).await?;
    stakes.retain(|stake| !stake.is_forfeited() && !stake.remaining().is_zero());
    if stakes.is_empty() {
        return Err(ReviewError::NoDeposit);
    }
    stakes.retain(|stake| !stake.available().is_zero());
    if stakes.is_empty() {
        return Err(ReviewError::DepositReturning);
    }
    for stake in &stakes {
        forfeit_deposit(ctx, unit, &stake.id).await?;
    }
    Ok(())
}

/// The deposit for an app, for its developer and for those who moderate it.
///
/// # Errors
/// The app does not exist, or not for the caller.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn find_app_deposit(ctx: &Context, caller: &Caller, app: &Did) -> Result<AppDeposit, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let found = unit.reviews().find_app(app).await?.filter(|found| actor_of(caller, found).is_some());
    found.ok_or(ReviewError::NotFound)?;
    let preferences = unit.preferences().find().await?.preferences;
    let terms = deposit_terms(ctx, unit.as_mut(), &preferences.stake_currency, preferences.publish_stake).await?;
    let mut stakes = stakes_of(unit.as_mut(), app).await?;
    // The one that counts comes last.
    stakes.sort_by_key(|stake| (stake.is_complete(), stake.id.clone()));
    Ok(AppDeposit { is_required: preferences.permission_mode == PermissionMode::Staking, terms, stake: stakes.pop() })
}

/// Why the deposit for an app cannot be placed.
#[derive(Debug, thiserror::Error)]
pub enum AppDepositError {
    #[error("app not found")]
    NotFound,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error("This store requires no deposit for apps")]
    NotRequired,
    #[error("No payment method of this store takes deposits at present")]
    NoCurrency,
    #[error(transparent)]
    Deposit(#[from] DepositError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

async fn order(ctx: &Context, did: &Did, app: &Did) -> Result<DepositOrder, AppDepositError> {
    let mut unit = ctx.store.read().await?;
    let user: User = unit.users().find(did).await?.ok_or(AppDepositError::NotFound)?;
    let found: Option<ReviewedApp> = unit.reviews().find_app(app).await?.filter(|found| found.owner == *did);
    let found = found.ok_or(AppDepositError::NotFound)?;
    if !unit.users().passports(did).await?.iter().any(|passport| passport.role == Role::Developer) {
        return Err(AppDepositError::NotDeveloper);
    }
    let preferences = unit.preferences().find().await?.preferences;
    if preferences.permission_mode != PermissionMode::Staking {
        return Err(AppDepositError::NotRequired);
    }
    let open = stakes_of(unit.as_mut(), app).await?;
    if open.iter().any(Stake::is_complete) {
        return Err(DepositError::Placed.into());
    }
    let terms = deposit_terms(ctx, unit.as_mut(), &preferences.stake_currency, preferences.publish_stake).await?;
    let DepositTerms { of, amount, waiting_days } = terms.ok_or(AppDepositError::NoCurrency)?;
    if open.iter().any(|stake| stake.currency_id == of.currency.id && stake.is_going_back()) {
        return Err(DepositError::Returning.into());
    }
    let key = StakeKey {
        subject: StakeSubject::App(app.clone()),
        purpose: StakePurpose::Publication,
        payer: did.clone(),
        currency_id: of.currency.id.clone(),
    };
    let description = Text::new(found.name, "").into();
    Ok(DepositOrder { key, user, method: of.method, currency: of.currency, required: amount, waiting_days, description })
}

/// Checks whether a user may place the deposit for an app now, before their wallet is asked for it.
///
/// # Errors
/// The first reason why not.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn check_app_deposit(ctx: &Context, did: &Did, app: &Did) -> Result<(), AppDepositError> {
    order(ctx, did, app).await.map(drop)
}

/// Builds the payment that the wallet of the developer signs. The same nonce builds the same transaction.
///
/// # Errors
/// As [`check_app_deposit`], or the deposit cannot be placed.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn prepare_app_deposit(ctx: &Context, app: &Did, payer: &Wallet, nonce: u64) -> Result<PreparedStake, AppDepositError> {
    Ok(prepare_deposit(ctx, order(ctx, &payer.did, app).await?, payer, nonce).await?)
}

/// Checks and sends the signed payment, and returns its transaction hash. The app can be published once it settles.
///
/// # Errors
/// As [`prepare_app_deposit`], or the network declines.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn submit_signed_app_deposit(ctx: &Context, app: &Did, signature: WalletSignature<'_>) -> Result<String, AppDepositError> {
    Ok(submit_signed_deposit(ctx, &order(ctx, &signature.payer.did, app).await?, signature).await?)
}

/// Why the deposit for an app is not returned.
#[derive(Debug, thiserror::Error)]
pub enum ReturnAppDepositError {
    #[error("app not found")]
    NotFound,
    #[error("This app has no deposit that can be returned")]
    NoDeposit,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Revokes the deposit for the caller's app: it is returned after its waiting time. While the store requires deposits, an app that is
/// offered is blocked for it, as after a revocation at the network.
///
/// # Errors
/// The app is not the caller's, or nothing is held for it.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn return_app_deposit(ctx: &Context, caller: &Caller, app: &Did) -> Result<(), ReturnAppDepositError> {
    let mut unit = ctx.store.begin().await?;
    let locked = unit.reviews().lock_app(app).await?.filter(|locked| locked.owner == caller.user.did);
    let locked = locked.ok_or(ReturnAppDepositError::NotFound)?;
    let held: Vec<_> = stakes_of(unit.as_mut(), app).await?.into_iter().filter(Stake::is_held).collect();
    if held.is_empty() {
        return Err(ReturnAppDepositError::NoDeposit);
    }
    block_if_required(ctx, unit.as_mut(), locked).await?;
    for stake in &held {
        release_deposit(ctx, unit.as_mut(), &stake.id, Unneeded { reason: ReleaseReason::Requested, now: false }).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// Blocks an app that is offered and whose deposit was revoked, if the store requires one. The caller has locked the app.
pub(super) async fn block_if_required(ctx: &Context, unit: &mut dyn UnitOfWork, app: ReviewedApp) -> Result<(), StorageError> {
    let is_required = unit.preferences().find().await?.preferences.permission_mode == PermissionMode::Staking;
    if !is_required || app.block_reason.is_some() || unit.uploads().offered(&app.did).await?.versions.is_empty() {
        return Ok(());
    }
    block_by_store(ctx, unit, app, PUBLISH_STAKE_REVOKED).await
}
