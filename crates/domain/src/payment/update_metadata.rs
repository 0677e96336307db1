//! Updates the metadata of a payment.

use crate::context::Context;
use crate::pricing::Metadata;
use crate::shared::{FindError, InputError, Mode, PaymentIntentId, StorageError, check_metadata};

/// Why the metadata of an object is not updated.
#[derive(Debug, thiserror::Error)]
pub enum UpdateMetadataError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Replaces the metadata of a payment of this mode, the only part that can be changed from outside.
#[tracing::instrument(skip_all, fields(intent = %id))]
pub async fn update_metadata(ctx: &Context, mode: Mode, id: &PaymentIntentId, metadata: &Metadata) -> Result<(), UpdateMetadataError> {
    check_metadata(metadata)?;
    let mut unit = ctx.store.begin().await?;
    if !unit.intents().update_metadata(mode, id, metadata, ctx.now()).await? {
        return Err(FindError::NotFound.into());
    }
    unit.commit().await?;
    Ok(())
}
