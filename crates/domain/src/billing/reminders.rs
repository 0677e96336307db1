//! Reminders that are scheduled in advance: of a trial's end and of an overdue subscription.

use super::{Notification, OVERDUE_REMINDER, Period, Subscription, SubscriptionStatus, TRIAL_REMINDER, notify};
use crate::context::Context;
use crate::events::NewMessage;
use crate::payment::Sandbox;
use crate::shared::{EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// Schedules the reminder of a new subscription's trial, if the trial is long enough. For a customer on a test clock, the reminder is sent
/// when the clock passes its time.
pub async fn notify_trial_end(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<(), StorageError> {
    match subscription.trial.as_ref().and_then(trial_reminder_at) {
        Some(at) if subscription.clock_id.is_none() => {
            notify(ctx, unit, &Notification::TrialEnding { subscription: subscription.id.clone(), at: None }, at).await
        }
        _ => Ok(()),
    }
}

/// Schedules the reminders of subscriptions that have just become past due, likewise.
pub(super) async fn notify_overdue(ctx: &Context, unit: &mut dyn UnitOfWork, subscriptions: &[Subscription]) -> Result<(), StorageError> {
    let messages = overdue_messages(ctx, subscriptions);
    if messages.is_empty() { Ok(()) } else { unit.outbox().publish_all(&messages, ctx.now()).await }
}

/// The messages of [`notify_overdue`].
pub(super) fn overdue_messages(ctx: &Context, subscriptions: &[Subscription]) -> Vec<NewMessage> {
    let now = ctx.now();
    let message = |subscription: &Subscription| {
        let since = subscription.past_due_since.filter(|_| subscription.clock_id.is_none())?;
        let notification = Notification::Overdue { subscription: subscription.id.clone(), at: None };
        let message = notification.message(since.plus(OVERDUE_REMINDER));
        Some(NewMessage { id: EventId::new(now, ctx.random.as_ref()), message })
    };
    subscriptions.iter().filter_map(message).collect()
}

/// When the reminder of a trial's end is sent. `None`: the trial is too short for one.
pub(super) fn trial_reminder_at(trial: &Period) -> Option<Timestamp> {
    let at = trial.end.minus(TRIAL_REMINDER);
    (at > trial.start).then_some(at)
}

/// Whether a reminder has to wait: it is about the next payment of a subscription that the sandbox charges, which is off. Later it is sent
/// only if it still applies.
pub async fn is_reminder_paused(ctx: &Context, unit: &mut dyn UnitOfWork, notification: &Notification) -> Result<bool, StorageError> {
    let (Notification::TrialEnding { subscription, .. } | Notification::Overdue { subscription, .. }) = notification else {
        return Ok(false);
    };
    if ctx.networks.sandbox() == Sandbox::On {
        return Ok(false);
    }
    let Some(subscription) = unit.subscriptions().find(subscription).await? else { return Ok(false) };
    Ok(unit.methods().find(&subscription.method_id).await?.is_some_and(|method| ctx.networks.is_paused(&method)))
}

/// The reminders that an advancing test clock passes: later than `from`, not later than `to`.
pub(super) fn passed_by_clock(subscription: &Subscription, from: Timestamp, to: Timestamp) -> Vec<Notification> {
    let is_passed = |at: &Timestamp| *at > from && *at <= to;
    let trial = subscription.trial.as_ref().filter(|_| subscription.status == SubscriptionStatus::Trialing);
    let trial = trial.and_then(trial_reminder_at).filter(is_passed);
    let overdue = subscription.past_due_since.map(|since| since.plus(OVERDUE_REMINDER)).filter(is_passed);
    let id = || subscription.id.clone();
    let trial = trial.map(|at| Notification::TrialEnding { subscription: id(), at: Some(at) });
    let overdue = overdue.map(|at| Notification::Overdue { subscription: id(), at: Some(at) });
    trial.into_iter().chain(overdue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_seconds(days * DAY)
    }

    #[test]
    fn a_trial_reminder_is_three_days_before_the_end_and_short_trials_have_none() {
        let trial = |days: i64| Period { start: at(0), end: at(days) };
        assert_eq!(trial_reminder_at(&trial(14)), Some(at(11)));
        assert_eq!(trial_reminder_at(&trial(4)), Some(at(1)));
        assert_eq!(trial_reminder_at(&trial(3)), None);
        assert_eq!(trial_reminder_at(&trial(1)), None);
    }
}
