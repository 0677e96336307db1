//! The deletion of users who have nothing in the store: strangers who signed in and left.

use super::{ExaminedUsers, provider_customer};
use crate::context::Context;
use crate::shared::{EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// Examines users who were last examined before `before`, at most `limit`, and deletes those who have nothing. Orders their deletion at the
/// card processors. Returns how many were examined.
#[tracing::instrument(skip_all)]
pub async fn delete_unused_users(ctx: &Context, unit: &mut dyn UnitOfWork, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let now = ctx.now();
    let ExaminedUsers { users, at_providers } = unit.personal_data().delete_unused_users(before, now, limit).await?;
    for customer in at_providers {
        let message = provider_customer::message(&customer, now);
        unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    }
    Ok(users)
}
