//! Checks whether a method works: its settings, and what this store needs at its network.

use super::method_admin::currencies_of;
use super::method_settings::validate_settings;
use super::{GasState, Method, NoRail, RailError, ValidationError, find_method};
use crate::context::Context;
use crate::operation::RestoreHeld;
use crate::shared::{FindError, MethodId, Mode, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum CheckMethodError {
    #[error(transparent)]
    NoRail(#[from] NoRail),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum StakeForGasError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    NoRail(#[from] NoRail),
    /// The original of a restored store may be running with the same account.
    #[error(transparent)]
    Held(#[from] RestoreHeld),
    /// The network declines, for example because the store's account lacks the funds.
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The state of a method at its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodCheck {
    /// Why the method does not work; `None`: its network accepts its settings.
    pub problem: Option<RailError>,
    /// `None`: the network has no gas, or did not say.
    pub gas: Option<GasState>,
}

/// Asks a method's network for its state. A network that does not answer is a result, not an error.
#[tracing::instrument(skip_all, fields(method = %method.id))]
pub async fn check_method(ctx: &Context, method: &Method) -> Result<MethodCheck, CheckMethodError> {
    let mut unit = ctx.store.read().await?;
    let currencies = currencies_of(unit.as_mut(), method).await?;
    drop(unit);
    match validate_settings(ctx, method, &currencies).await {
        Err(ValidationError::Rail(problem)) => Ok(MethodCheck { problem: Some(problem), gas: None }),
        Err(ValidationError::NoRail(error)) => Err(error.into()),
        Ok(()) => match gas(ctx, method).await {
            Ok(gas) => Ok(MethodCheck { problem: None, gas }),
            Err(problem) => Ok(MethodCheck { problem: Some(problem), gas: None }),
        },
    }
}

async fn gas(ctx: &Context, method: &Method) -> Result<Option<GasState>, RailError> {
    match ctx.networks.wallet(method.kind) {
        Some(rail) => rail.gas(method).await.map(Some),
        None => Ok(None),
    }
}

/// All methods of a mode.
pub async fn methods_of(ctx: &Context, mode: Mode) -> Result<Vec<Method>, StorageError> {
    ctx.store.read().await?.methods().list(mode).await
}

/// Stakes for gas at a method's network, so that neither this store nor its payers pay gas there. Does nothing if it has staked already.
#[tracing::instrument(skip_all, fields(method = %id))]
pub async fn stake_for_gas(ctx: &Context, mode: Mode, id: &MethodId) -> Result<GasState, StakeForGasError> {
    if ctx.networks.is_held() {
        return Err(RestoreHeld.into());
    }
    let method = find_method(ctx.store.read().await?.as_mut(), mode, id).await?;
    ctx.networks.check_open(&method).map_err(RailError::from)?;
    let rail = ctx.networks.wallet(method.kind).ok_or(NoRail(method.kind.name()))?;
    let state = rail.stake_for_gas(&method).await?;
    let mut unit = ctx.store.begin().await?;
    unit.audit_log().record_effect().await?;
    unit.commit().await?;
    Ok(state)
}
