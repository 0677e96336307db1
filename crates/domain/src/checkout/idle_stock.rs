//! Returns the stock that idle orders reserve.

use super::submit::open_attempt;
use super::{Session, SessionStatus};
use crate::context::Context;
use crate::shared::{SessionId, StorageError, Timestamp};
use std::time::Duration;

/// How long an order reserves its stock after its last change, unless a payment is open or unknown.
pub const RESERVATION_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// Returns the stock of submitted orders that nobody has continued. Each stays open: its payer submits it again, which reserves the stock
/// again if there is enough. Returns the number of orders.
#[tracing::instrument(skip_all)]
pub async fn release_idle_stock(ctx: &Context, limit: u32) -> Result<usize, StorageError> {
    let before = ctx.now().minus(RESERVATION_LIFETIME);
    let idle = ctx.store.read().await?.sessions().with_idle_stock(before, limit).await?;
    let mut released = 0;
    for id in &idle {
        released += usize::from(release(ctx, id, before).await?);
    }
    Ok(released)
}

/// False: the order was continued meanwhile.
async fn release(ctx: &Context, id: &SessionId, before: Timestamp) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    // Read again: the version read here guards against an attempt that begins meanwhile.
    let Some(session) = unit.sessions().find(id).await? else { return Ok(false) };
    if session.status != SessionStatus::Open || session.updated_at > before || open_attempt(unit.as_mut(), &session).await?.is_some() {
        return Ok(false);
    }
    // Without a method, no payment can begin until the order is submitted again.
    let waiting = Session { method_id: None, updated_at: ctx.now(), ..session };
    if !unit.sessions().update(&waiting).await? {
        return Ok(false);
    }
    unit.prices().release(id).await?;
    unit.commit().await?;
    Ok(true)
}
