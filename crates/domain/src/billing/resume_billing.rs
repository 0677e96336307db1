//! Resumes the billing of subscriptions on hold, by an owner's decision.

use super::hold::{CatchUp, Hold};
use super::subscription_admin::{lock, save};
use super::subscription_error::convert_subscription_errors;
use super::{HoldReason, OnHold, Subscription, SubscriptionError, Unbillable, time_of};
use crate::context::Context;
use crate::shared::{Mode, SubscriptionId, Timestamp};

/// The number of subscriptions that one commit of [`resume_all_billing`] resumes.
const RESUMED_PER_COMMIT: u32 = 100;

/// Why billing is not resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeBillingError {
    #[error("Choose what happens to the periods that are not billed")]
    ChoiceRequired,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ResumeBillingError::Subscription);

/// Resumes the billing of a subscription on hold. Does nothing if it is not on hold. Without a choice the engine continues where it
/// stopped, and puts it on hold again if too many periods are unbilled. What a limit held is billed at once.
///
/// # Errors
/// [`ResumeBillingError::ChoiceRequired`] without a choice, if it is on hold because of its unbilled periods.
#[tracing::instrument(skip_all, fields(subscription = %id, choice = choice.map(CatchUp::name)))]
pub async fn resume_billing(ctx: &Context, id: &SubscriptionId, choice: Option<CatchUp>) -> Result<(), ResumeBillingError> {
    let mut unit = ctx.store.begin().await?;
    let subscription = lock(unit.as_mut(), id).await?;
    let Some(on_hold) = &subscription.on_hold else { return Ok(()) };
    if choice.is_none() && on_hold.reason == HoldReason::UnbilledPeriods {
        return Err(ResumeBillingError::ChoiceRequired);
    }
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let Resumed { subscription, has_new_items } = resumed(subscription, choice, now)?;
    save(unit.as_mut(), &subscription).await?;
    if has_new_items {
        unit.subscriptions().put_items(&subscription).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// Resumes the billing of all subscriptions of a mode that are on hold because of their unbilled periods. Returns their number. Several
/// commits: after a failure the rest stays on hold, and the call can be repeated.
#[tracing::instrument(skip_all, fields(?mode, choice = choice.name()))]
pub async fn resume_all_billing(ctx: &Context, mode: Mode, choice: CatchUp) -> Result<u64, ResumeBillingError> {
    let (mut count, mut after) = (0, None);
    loop {
        let mut unit = ctx.store.begin().await?;
        let reason = HoldReason::UnbilledPeriods;
        let held = unit.subscriptions().lock_held(mode, reason, after.as_ref(), RESUMED_PER_COMMIT).await?;
        let Some(last) = held.last() else { return Ok(count) };
        after = Some(last.id.clone());
        for held in held {
            let now = time_of(ctx, unit.as_mut(), held.clock_id.as_ref()).await?;
            let Resumed { subscription, has_new_items } = match resumed(held.clone(), Some(choice), now) {
                Ok(resumed) => resumed,
                // One whose periods cannot be computed stays on hold, with its own reason, and does not block the others.
                Err(error) => Resumed { subscription: held.held(Hold::from(OnHold::from(error)), now), has_new_items: false },
            };
            count += u64::from(subscription.on_hold.is_none());
            save(unit.as_mut(), &subscription).await?;
            if has_new_items {
                unit.subscriptions().put_items(&subscription).await?;
            }
        }
        unit.commit().await?;
    }
}

struct Resumed {
    subscription: Subscription,
    has_new_items: bool,
}

fn resumed(held: Subscription, choice: Option<CatchUp>, now: Timestamp) -> Result<Resumed, Unbillable> {
    let is_limited = held.bounds.resumes_at.is_some();
    let mut subscription = held.released(now);
    if is_limited {
        // The owner does not wait for the next day or hour: what has begun by now is not limited.
        subscription.bounds.approved_until = Some(now);
    }
    let has_new_items = match choice {
        Some(choice) => subscription.catch_up(choice, now)?,
        None => false,
    };
    Ok(Resumed { subscription, has_new_items })
}
