//! The events about reviews, for open pages of the app and for the queue of reviewers.

use super::emails::{REVIEWERS_MAX, STAFF};
use super::records::ReviewedVersion;
use crate::access::Did;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// The name of the event (reference/store.md 6.5), whose ids are the `blockletId`, a DID, and the `version`.
pub const REVIEWED_EVENT: &str = "blocklet.reviewed";

/// Orders the event about a new entry in the thread of a version. `version`: after the step.
pub(super) async fn order_event(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    version: &ReviewedVersion,
    now: Timestamp,
) -> Result<(), StorageError> {
    let message = Message::new(Topic::Realtime, now).with("event", REVIEWED_EVENT).with("status", version.review.status.name());
    let message = message.with("blockletId", &version.app).with("version", &version.version);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// The users for whose pages an event about an app is: its developer, and those who review it.
///
/// # Errors
/// The storage fails.
pub async fn followers_of(unit: &mut dyn UnitOfWork, app: &Did) -> Result<Vec<Did>, StorageError> {
    let Some(app) = unit.reviews().find_app(app).await? else { return Ok(Vec::new()) };
    let mut followers = unit.users().holders(&STAFF, REVIEWERS_MAX).await?;
    if !followers.contains(&app.owner) {
        followers.push(app.owner);
    }
    Ok(followers)
}
