//! Sets the price of an app, or proposes it for the next version.

use super::read::{AppPricing, read_pricing, sellable_currencies, terms_in_force};
use super::records::AppSale;
use super::release::{put_in_force, revives_archived};
use super::terms::{NewTerms, SellingTerms, TermsError, read_terms};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::{Mode, StorageError};

/// Why a price is not set.
#[derive(Debug, thiserror::Error)]
pub enum SetPriceError {
    /// There is no such app of the caller.
    #[error("No found Blocklet data by blockletId")]
    NotFound,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error("This app has been blocked")]
    Blocked,
    #[error("A version of this app is in review. Its price can change when the version is published, or its review ends.")]
    UnderReview,
    #[error(transparent)]
    Terms(#[from] TermsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What setting a price has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceChange {
    pub pricing: AppPricing,
    /// The store published updates of the app by itself until now. Its developer can switch that on again.
    pub ended_auto_publish: bool,
}

/// Sets the terms on which the caller's app is sold. They come into force at once where no review is required and the app is in the
/// catalogue, and otherwise when its next stable version is published. A change ends automatic publication. Setting the same terms again changes
/// nothing, unless they were proposed and can come into force at once by now.
///
/// # Errors
/// The app is not the caller's, or is blocked, or a version of it is under review; or the store does not sell on these terms.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn set_price(ctx: &Context, caller: &Caller, app: &Did, mode: Mode, new: &NewTerms) -> Result<PriceChange, SetPriceError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let locked = unit.reviews().lock_app(app).await?.filter(|locked| locked.owner == caller.user.did);
    let locked = locked.ok_or(SetPriceError::NotFound)?;
    if !caller.holds(Role::Developer) {
        return Err(SetPriceError::NotDeveloper);
    }
    if locked.block_reason.is_some() {
        return Err(SetPriceError::Blocked);
    }
    let preferences = unit.preferences().find().await?.preferences;
    let currencies = sellable_currencies(unit.as_mut(), mode).await?;
    let terms = read_terms(&preferences, &currencies, new)?;
    let sale = unit.app_sales().find(app, mode).await?.unwrap_or_else(|| AppSale::none(app.clone(), mode, now));
    if revives_archived(unit.as_mut(), &sale, &terms).await? {
        return Err(TermsError::Archived.into());
    }
    let in_force = terms_in_force(unit.as_mut(), app, mode).await?;
    let shown = unit.apps().find(app).await?.filter(|_| !preferences.review_required);
    let is_unchanged = match &sale.proposed {
        // They have waited for a review that is not required any more.
        Some(_) if shown.is_some() => false,
        Some(proposed) => terms.is_same(proposed),
        None => in_force.as_ref().is_some_and(|in_force| terms.is_same(in_force)),
    };
    if is_unchanged {
        let pricing = read_pricing(unit.as_mut(), app, mode).await?;
        return Ok(PriceChange { pricing, ended_auto_publish: false });
    }
    if unit.reviews().find_open(app).await?.is_some() {
        return Err(SetPriceError::UnderReview);
    }
    let sale = AppSale { proposed: proposal(terms.clone(), in_force.as_ref()), updated_at: now, ..sale };
    let released = match (&shown, &sale.proposed) {
        (Some(shown), Some(terms)) => Some(put_in_force(ctx, unit.as_mut(), shown, &sale, terms).await?),
        _ => None,
    };
    unit.app_sales().put(&released.unwrap_or(sale)).await?;
    let ended_auto_publish = locked.auto_publish_until.is_some_and(|until| until > now);
    if ended_auto_publish {
        unit.reviews().set_auto_publish(app, None, now).await?;
    }
    let pricing = read_pricing(unit.as_mut(), app, mode).await?;
    unit.commit().await?;
    Ok(PriceChange { pricing, ended_auto_publish })
}

/// Terms that are in force already are no proposal: they withdraw one.
fn proposal(terms: SellingTerms, in_force: Option<&SellingTerms>) -> Option<SellingTerms> {
    Some(terms).filter(|terms| !in_force.is_some_and(|in_force| terms.is_same(in_force)))
}

/// Why a proposal is not withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawPriceError {
    /// There is no such app of the caller.
    #[error("No found Blocklet data by blockletId")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Withdraws the terms that the caller has proposed for their app; without any, nothing changes. A review does not prevent it: what is in
/// force stays so, and nothing is sold on terms that nobody has judged. Otherwise an approved version could not be published once the rules
/// of the store have changed.
///
/// # Errors
/// The app is not the caller's.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn withdraw_price(ctx: &Context, caller: &Caller, app: &Did, mode: Mode) -> Result<AppPricing, WithdrawPriceError> {
    let mut unit = ctx.store.begin().await?;
    let locked = unit.reviews().lock_app(app).await?.filter(|locked| locked.owner == caller.user.did);
    locked.ok_or(WithdrawPriceError::NotFound)?;
    let sale = unit.app_sales().find(app, mode).await?;
    let Some(sale) = sale.filter(|sale| sale.proposed.is_some()) else {
        return Ok(read_pricing(unit.as_mut(), app, mode).await?);
    };
    unit.app_sales().put(&AppSale { proposed: None, updated_at: ctx.now(), ..sale }).await?;
    let pricing = read_pricing(unit.as_mut(), app, mode).await?;
    unit.commit().await?;
    Ok(pricing)
}
