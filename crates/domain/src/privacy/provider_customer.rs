//! The deletion of a customer at a card processor, after their data was erased here.

use super::ErasedProviderCustomer;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::RailError;
use crate::shared::{MethodId, StorageError, Timestamp};

#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// The processor's breaker is open until then.
    #[error("the card processor is not called before {}", .0.to_iso())]
    NotBefore(Timestamp),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The message whose consumer calls [`delete_provider_customer`].
pub(super) fn message(customer: &ErasedProviderCustomer, now: Timestamp) -> Message {
    Message::new(Topic::DeleteProviderCustomer, now).with("method", &customer.method_id).with("customer", &customer.provider_id)
}

/// Deletes a customer at a card processor, with the name, the email and the cards that are saved there. Repeating it has no further effect.
///
/// # Errors
/// [`RailError::Unreachable`] if the processor did not answer: it has to be asked again.
#[tracing::instrument(skip_all, fields(method = %method))]
pub async fn delete_provider_customer(ctx: &Context, method: &MethodId, provider_id: &str) -> Result<(), DeletionError> {
    let Some(method) = ctx.store.read().await?.methods().find(method).await? else { return Ok(()) };
    ctx.networks.check_open(&method).map_err(RailError::from)?;
    let rail = ctx.networks.card(method.kind).ok_or_else(|| RailError::Misconfigured("no rail serves this type of method".to_owned()))?;
    let now = ctx.now();
    ctx.networks.admit(&method.id, now).map_err(DeletionError::NotBefore)?;
    let result = rail.delete_customer(&method, provider_id).await;
    ctx.networks.heard_result(&method, result, ctx.now())?;
    Ok(())
}
