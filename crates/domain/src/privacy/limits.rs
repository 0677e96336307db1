//! How often one user's data is exported and erased, because each reads all of it.

use crate::access::Did;
use crate::context::Context;
use crate::operation::hour_of;
use crate::shared::StorageError;
use crate::storage::UnitOfWork;

/// In an hour, for each user.
pub const EXPORTS_PER_HOUR: u32 = 10;
pub const ERASURES_PER_HOUR: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("The data was downloaded too often. Please try again later.")]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Counted {
    Export,
    Erasure,
}

/// Counts one more in this hour. False: the limit is reached.
pub(super) async fn count(ctx: &Context, unit: &mut dyn UnitOfWork, counted: Counted, did: &Did) -> Result<bool, StorageError> {
    let (name, limit) = match counted {
        Counted::Export => ("export", EXPORTS_PER_HOUR),
        Counted::Erasure => ("erasure", ERASURES_PER_HOUR),
    };
    unit.hourly_counts().count(&format!("{name}:{did}"), hour_of(ctx.now()), limit).await
}

/// Counts an export before it begins.
///
/// # Errors
/// [`ExportError::TooMany`] beyond the limit of this hour.
pub async fn count_export(ctx: &Context, did: &Did) -> Result<(), ExportError> {
    let mut unit = ctx.store.begin().await?;
    if !count(ctx, unit.as_mut(), Counted::Export, did).await? {
        return Err(ExportError::TooMany);
    }
    Ok(unit.commit().await?)
}
