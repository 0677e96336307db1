//! The erasure of a user's personal data.

use super::limits::{self, Counted};
use super::{Obstacle, provider_customer};
use crate::access::Did;
use crate::context::Context;
use crate::shared::{EventId, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The first of the obstacles.
    #[error("The data can't be erased while there is something open: {}", .0.name())]
    Obstacle(Obstacle),
    #[error("The erasure was requested too often. Please try again later.")]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What stands in the way of the erasure of a user's data now.
#[tracing::instrument(skip_all)]
pub async fn obstacles(ctx: &Context, did: &Did) -> Result<Vec<Obstacle>, StorageError> {
    ctx.store.read().await?.personal_data().obstacles(did).await
}

/// Erases the personal data of a user and signs them out everywhere. What the law requires the store to keep stays: invoices, credit notes,
/// payments and the journal, with the names on the documents. Card processors are asked to delete the customer after the commit.
///
/// # Errors
/// [`ErasureError::Obstacle`] while something is open between the user and the store. [`ErasureError::TooMany`] beyond the limit of an
/// hour.
#[tracing::instrument(skip_all)]
pub async fn erase(ctx: &Context, did: &Did) -> Result<(), ErasureError> {
    let mut unit = ctx.store.begin().await?;
    if !unit.personal_data().lock(did).await? {
        return Err(ErasureError::NotFound);
    }
    if let Some(obstacle) = unit.personal_data().obstacles(did).await?.first() {
        return Err(ErasureError::Obstacle(*obstacle));
    }
    // In the same unit of work: the commit records the call in the audit log, so a refused one must commit nothing.
    if !limits::count(ctx, unit.as_mut(), Counted::Erasure, did).await? {
        return Err(ErasureError::TooMany);
    }
    let now = ctx.now();
    let at_providers = unit.personal_data().erase(did, now).await?;
    for customer in at_providers {
        let message = provider_customer::message(&customer, now);
        unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    }
    unit.commit().await?;
    Ok(())
}
