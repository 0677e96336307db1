//! Creates and advances test clocks.

use super::subscription_error::convert_subscription_errors;
use super::test_clock_runner::AdvanceError;
use super::{SubscriptionError, TestClock, aim_clock};
use crate::context::Context;
use crate::shared::{ClockId, CustomerId, Mode, StorageError, Timestamp, check_name};
use std::time::Duration;

/// How far a clock is advanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    To(Timestamp),
    Day,
    /// 365 days.
    Year,
    /// To the time at which the engine processes a subscription next.
    NextInvoice,
}

/// Why a test clock cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    #[error("This customer already has a test clock")]
    ClockTaken,
    #[error("Test clocks are available in test mode only")]
    LiveClock,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ClockError::Subscription);

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Creates a test clock for a customer, set to the current time. All of the customer's subscriptions follow it from now on.
#[tracing::instrument(skip_all, fields(%customer))]
pub async fn create_clock(ctx: &Context, mode: Mode, customer: &CustomerId, name: &str) -> Result<TestClock, ClockError> {
    let name = check_name("name", name)?;
    if mode.is_live() {
        return Err(ClockError::LiveClock);
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let found = unit.customers().find(customer).await?;
    let customer = found.filter(|customer| customer.mode == mode).ok_or(SubscriptionError::NotFound)?;
    let clock = TestClock {
        id: ClockId::new(now, ctx.random.as_ref()),
        name,
        customer_id: customer.id,
        now,
        target: None,
        timeline: Vec::new(),
        created_at: now,
    };
    match unit.clocks().insert(&clock).await {
        Err(StorageError::Duplicate(_)) => return Err(ClockError::ClockTaken),
        inserted => inserted?,
    }
    unit.clocks().adopt(&clock).await?;
    unit.commit().await?;
    Ok(clock)
}

/// Requests that a clock is advanced, which happens in the background.
#[tracing::instrument(skip_all, fields(clock = %id))]
pub async fn step_clock(ctx: &Context, id: &ClockId, step: Step) -> Result<TestClock, AdvanceError> {
    let mut unit = ctx.store.read().await?;
    let clock = unit.clocks().find(id).await?.ok_or(AdvanceError::NotFound)?;
    let target = match step {
        Step::To(at) => at,
        Step::Day => clock.now.plus(DAY),
        Step::Year => clock.now.plus(DAY * 365),
        Step::NextInvoice => {
            let due = unit.subscriptions().next_due(id).await?.ok_or(AdvanceError::NothingDue)?;
            due.max(clock.now.plus(Duration::from_secs(1)))
        }
    };
    drop(unit);
    aim_clock(ctx, id, target).await?;
    let found = ctx.store.read().await?.clocks().find(id).await?;
    found.ok_or(AdvanceError::NotFound)
}
