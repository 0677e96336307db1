//! Cancels subscriptions (at the end of the period, at once, or at a given time), and undoes a scheduled cancellation.

use super::charges::publish_charges;
use super::credit::publish_refunds;
use super::end_refund::refund_at_end;
use super::stake::{ask_network, stake_at_end, stake_to_replace};
use super::subscription_admin::{is_time_trusted, load, lock, save};
use super::subscription_error::convert_subscription_errors;
use super::{
    COMMENT_MAX, CancelReason, Cancellation, Change, Feedback, NoteError, Notification, RefundChoice, Requester, ResumedFrom, StakeChoice,
    Subscription, SubscriptionError, SubscriptionStatus, notify, termination, time_of,
};
use crate::context::Context;
use crate::shared::{SubscriptionId, Timestamp, check_text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelAt {
    Now,
    /// A trial ends at once nevertheless.
    PeriodEnd,
    Time(Timestamp),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelTerms {
    pub at: CancelAt,
    pub refund: RefundChoice,
    pub stake: StakeChoice,
    /// Why the stake is forfeited.
    pub slash_reason: String,
    pub feedback: Option<Feedback>,
    pub comment: String,
}

impl CancelTerms {
    /// Whether a customer may request this: cancellation at the period's end, without a refund and without a decision about the stake.
    const fn is_for_customers(&self) -> bool {
        matches!(self.at, CancelAt::PeriodEnd) && matches!(self.refund, RefundChoice::None) && matches!(self.stake, StakeChoice::None)
    }

    const fn moves_money(&self) -> bool {
        !matches!(self.refund, RefundChoice::None) || !matches!(self.stake, StakeChoice::None)
    }
}

/// Whether the cancellation takes effect at once: it was requested so, or the subscription is in a trial or its period is over. `now`: `None`
/// while the clock is not trusted. A period then ends by the schedule, because nobody knows whether it is over.
fn ends_at_once(subscription: &Subscription, at: CancelAt, now: Option<Timestamp>) -> bool {
    match at {
        CancelAt::Now => true,
        CancelAt::PeriodEnd => subscription.status == SubscriptionStatus::Trialing || now.is_some_and(|now| subscription.period.end <= now),
        CancelAt::Time(_) => false,
    }
}

/// Why a subscription is not canceled.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    #[error("The time must be in the future")]
    BadTime,
    #[error("A refund and the use of the deposit can be chosen only for an immediate cancellation")]
    DecidedAtTheEnd,
    #[error("The store has set the end date of this subscription")]
    StoreInitiated,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(CancelError::Subscription);

/// Cancels a subscription. A scheduled cancellation can be replaced by another one until it takes effect.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn cancel(ctx: &Context, by: Requester, id: &SubscriptionId, terms: &CancelTerms) -> Result<Subscription, CancelError> {
    if by == Requester::Customer && !terms.is_for_customers() {
        return Err(CancelError::Forbidden);
    }
    let comment = check_text("comment", &terms.comment, COMMENT_MAX)?;
    let slash_reason = check_text("slashReason", &terms.slash_reason, COMMENT_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    subscription.status.after(Change::End)?;
    if by == Requester::Customer && subscription.is_ended_by_store() {
        return Err(CancelError::StoreInitiated);
    }
    let reason = match by {
        Requester::Customer => CancelReason::CancellationRequested,
        Requester::Store => CancelReason::CancellationByStore,
    };
    subscription.cancellation = Some(Cancellation { reason, feedback: terms.feedback, comment, requested_at: now, clearing_stake: None });
    subscription.canceled_at = Some(now);
    subscription.updated_at = now;
    let trusted_now = is_time_trusted(ctx, unit.as_mut(), &subscription).await?.then_some(now);
    if !ends_at_once(&subscription, terms.at, trusted_now) {
        if terms.moves_money() {
            return Err(CancelError::DecidedAtTheEnd);
        }
        subscription.cancel_at_period_end = terms.at == CancelAt::PeriodEnd;
        subscription.cancel_at = match terms.at {
            CancelAt::Time(at) if at <= now => return Err(CancelError::BadTime),
            CancelAt::Time(at) => Some(at),
            // The engine does not process periods of paused subscriptions, so their end is stored as a time.
            _ => (subscription.status == SubscriptionStatus::Paused).then_some(subscription.period.end),
        };
        save(unit.as_mut(), &subscription).await?;
        let scheduled = Notification::CancellationScheduled { subscription: id.clone(), canceled_at: now };
        notify(ctx, unit.as_mut(), &scheduled, ctx.now()).await?;
        unit.commit().await?;
        return Ok(super::find(ctx, id).await?);
    }
    subscription.cancel_at_period_end = false;
    subscription.cancel_at = None;
    if terms.stake == StakeChoice::Slash && !slash_reason.is_empty() {
        subscription.metadata.insert("slash_reason".to_owned(), slash_reason);
    }
    let refunds = refund_at_end(ctx, unit.as_mut(), &subscription, terms.refund, now).await?;
    let mut attempts = Vec::new();
    attempts.extend(termination::now(ctx, unit.as_mut(), subscription, reason, now).await?);
    attempts.extend(stake_at_end(ctx, unit.as_mut(), id, terms.stake, now).await?);
    publish_charges(ctx, unit.as_mut(), &attempts).await?;
    publish_refunds(ctx, unit.as_mut(), by.into(), &refunds).await.map_err(NoteError::from)?;
    unit.commit().await?;
    Ok(super::find(ctx, id).await?)
}

/// Why a scheduled cancellation cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("This subscription cannot be resumed")]
    NotRecoverable,
    #[error("The store has set the end date of this subscription")]
    StoreInitiated,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(RecoverError::Subscription);

/// A subscription whose scheduled cancellation can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    pub subscription: Subscription,
    /// Its stake was revoked: a new stake is required before the subscription continues.
    pub needs_stake: bool,
}

impl Subscription {
    /// As [`Subscription::may_recover`], with the reason.
    pub(super) fn check_recovery(&self, by: Requester) -> Result<(), RecoverError> {
        match (self.is_recoverable(), self.may_recover(by)) {
            (false, _) => Err(RecoverError::NotRecoverable),
            (true, false) => Err(RecoverError::StoreInitiated),
            (true, true) => Ok(()),
        }
    }
}

/// Checks whether a scheduled cancellation can be undone, and whether that requires a new stake.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn recovery(ctx: &Context, by: Requester, id: &SubscriptionId) -> Result<Recovery, RecoverError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    subscription.check_recovery(by)?;
    let to_replace = stake_to_replace(unit.as_mut(), &subscription).await?;
    drop(unit);
    let needs_stake = match &to_replace {
        Some(stake) => ask_network(ctx, stake).await?.unwrap_or_default().held < stake.amount_requested,
        None => false,
    };
    Ok(Recovery { subscription, needs_stake })
}

/// Undoes a scheduled cancellation. If the stake was revoked, nothing changes until a new one is placed.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn recover(ctx: &Context, by: Requester, id: &SubscriptionId) -> Result<Recovery, RecoverError> {
    let found = recovery(ctx, by, id).await?;
    if found.needs_stake {
        return Ok(found);
    }
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    // During the network call it may have ended, or the store may have scheduled its own cancellation.
    subscription.check_recovery(by)?;
    subscription.updated_at = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    subscription.clear_cancellation();
    save(unit.as_mut(), &subscription).await?;
    if let Some(id) = &subscription.stake_id {
        let revoked = unit.stakes().lock(id).await?.filter(|stake| stake.is_revoked() && !stake.is_final());
        // The network has just confirmed that it still holds the full stake.
        let restored = revoked.as_ref().map(|stake| stake.restored(subscription.updated_at));
        if let (Some(before), Some(after)) = (&revoked, &restored)
            && !unit.stakes().update(before, after).await?
        {
            return Err(SubscriptionError::Contended.into());
        }
    }
    let resumed = Notification::Resumed { subscription: id.clone(), from: ResumedFrom::Cancellation, at: subscription.updated_at };
    notify(ctx, unit.as_mut(), &resumed, ctx.now()).await?;
    unit.commit().await?;
    Ok(Recovery { subscription: super::find(ctx, id).await?, needs_stake: false })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::billing::Period;
    use crate::pricing::{Anchoring, Interval, Metadata, ProductNames, RecurringInterval};
    use crate::shared::{CurrencyId, CustomerId, MethodId, Mode};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    pub fn subscription(status: SubscriptionStatus) -> Subscription {
        Subscription {
            id: SubscriptionId::parse("sub_1").expect("an id"),
            mode: Mode::Test,
            status,
            description: String::new(),
            name: ProductNames::default(),
            customer_id: CustomerId::parse("cus_1").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            mandate_id: None,
            session_id: None,
            items: Vec::new(),
            cycle: RecurringInterval::new(Interval::Day, 1, Anchoring::Fixed).expect("a cycle"),
            anchor: at(0),
            index: Some(0),
            period: Period { start: at(0), end: at(100) },
            trial: None,
            cancel_at_period_end: true,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            cancellation: None,
            past_due_since: None,
            paused_at: None,
            days_until_cancel: 15,
            billing_threshold: None,
            stake_id: None,
            overdraft_stake_id: None,
            overdraft_at: None,
            latest_invoice_id: None,
            clock_id: None,
            due_at: None,
            on_hold: None,
            bounds: Default::default(),
            metadata: Metadata::new(),
            created_at: at(0),
            updated_at: at(0),
            version: 0,
        }
    }

    #[test]
    fn only_a_requested_cancellation_at_period_end_can_be_undone() {
        let requested_for =
            |reason| Cancellation { reason, feedback: None, comment: String::new(), requested_at: at(1), clearing_stake: None };
        let pending = Subscription {
            cancellation: Some(requested_for(CancelReason::CancellationRequested)),
            ..subscription(SubscriptionStatus::Active)
        };
        assert!(pending.is_recoverable());
        let paused = Subscription { status: SubscriptionStatus::Paused, cancel_at: Some(at(100)), ..pending.clone() };
        assert!(paused.is_recoverable(), "a paused subscription stores the end of its period as a time");
        let not_recoverable = [
            Subscription { status: SubscriptionStatus::Canceled, ..pending.clone() },
            Subscription { cancel_at_period_end: false, ..pending.clone() },
            Subscription { cancel_at: Some(at(50)), ..pending.clone() },
            Subscription { cancellation: Some(requested_for(CancelReason::PaymentFailed)), ..pending },
        ];
        assert!(not_recoverable.iter().all(|other| !other.is_recoverable()));
    }

    #[test]
    fn only_the_store_can_undo_its_own_cancellation() {
        let ends = |reason| {
            let cancellation = Cancellation { reason, feedback: None, comment: String::new(), requested_at: at(1), clearing_stake: None };
            Subscription { cancellation: Some(cancellation), ..subscription(SubscriptionStatus::Active) }
        };
        let (by_customer_request, by_store_request) = (ends(CancelReason::CancellationRequested), ends(CancelReason::CancellationByStore));
        for by in [Requester::Customer, Requester::Store] {
            assert!(by_customer_request.check_recovery(by).is_ok());
        }
        assert!(matches!(by_store_request.check_recovery(Requester::Customer), Err(RecoverError::StoreInitiated)));
        assert!(by_store_request.check_recovery(Requester::Store).is_ok());
    }

    #[test]
    fn trials_and_finished_periods_end_at_once() {
        assert!(ends_at_once(&subscription(SubscriptionStatus::Trialing), CancelAt::PeriodEnd, Some(at(5))));
        assert!(ends_at_once(&subscription(SubscriptionStatus::Paused), CancelAt::PeriodEnd, Some(at(100))));
        assert!(!ends_at_once(&subscription(SubscriptionStatus::Active), CancelAt::PeriodEnd, Some(at(99))));
        assert!(!ends_at_once(&subscription(SubscriptionStatus::Active), CancelAt::PeriodEnd, None), "nobody knows whether it is over");
        assert!(!ends_at_once(&subscription(SubscriptionStatus::Trialing), CancelAt::Time(at(5)), Some(at(1))));
        assert!(ends_at_once(&subscription(SubscriptionStatus::Active), CancelAt::Now, Some(at(1))));
    }
}
