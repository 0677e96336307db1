//! Changes of a subscription by the store, and reading and writing one.

use super::credit::OrderedBy;
use super::{CancelReason, Subscription, SubscriptionError, SubscriptionStatus, Threshold};
use crate::context::Context;
use crate::operation::is_trusted_by_all;
use crate::pricing::Metadata;
use crate::shared::{DESCRIPTION_MAX, Mode, StorageError, SubscriptionId, check_metadata, check_text};
use crate::storage::UnitOfWork;

/// Who requests a change. Each use case decides what the requester may do; ownership of the subscription was checked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    Customer,
    /// An owner, an admin or an API key.
    Store,
}

impl From<Requester> for OrderedBy {
    fn from(requester: Requester) -> Self {
        match requester {
            Requester::Store => Self::Store,
            Requester::Customer => Self::Engine,
        }
    }
}

/// Finds a subscription of this mode; one of the other mode is not found.
pub async fn find_subscription(unit: &mut dyn UnitOfWork, mode: Mode, id: &SubscriptionId) -> Result<Subscription, SubscriptionError> {
    let found = unit.subscriptions().find(id).await?;
    found.filter(|subscription| subscription.mode == mode).ok_or(SubscriptionError::NotFound)
}

/// Whether conclusions may be drawn from a subscription's present time: it follows a test clock, or no process of the store doubts its clock.
pub(super) async fn is_time_trusted(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, StorageError> {
    Ok(subscription.clock_id.is_some() || is_trusted_by_all(ctx, unit).await?)
}

/// Fields of a subscription that the store can set; absent ones stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionFields {
    pub description: Option<String>,
    /// Replaces all metadata.
    pub metadata: Option<Metadata>,
    /// A zero amount removes the threshold: usage is billed only at the end of its period.
    pub threshold: Option<Threshold>,
}

#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn update_subscription(
    ctx: &Context,
    mode: Mode,
    id: &SubscriptionId,
    fields: SubscriptionFields,
) -> Result<(), SubscriptionError> {
    let SubscriptionFields { description, metadata, threshold } = fields;
    let description = description.as_deref().map(|text| check_text("description", text, DESCRIPTION_MAX)).transpose()?;
    if let Some(metadata) = &metadata {
        check_metadata(metadata)?;
    }
    let mut unit = ctx.store.begin().await?;
    let found = find_subscription(unit.as_mut(), mode, id).await?;
    let (description, metadata) = (description.unwrap_or(found.description), metadata.unwrap_or(found.metadata));
    let billing_threshold = match threshold {
        Some(threshold) => Some(threshold).filter(|threshold| !threshold.amount.is_zero()),
        None => found.billing_threshold,
    };
    save(unit.as_mut(), &Subscription { description, metadata, billing_threshold, updated_at: ctx.now(), ..found }).await?;
    unit.commit().await?;
    Ok(())
}

impl Subscription {
    /// # Errors
    /// [`SubscriptionError::Undecided`] while an owner has to decide about its unbilled periods.
    pub(super) fn check_decided(&self) -> Result<(), SubscriptionError> {
        if self.is_undecided() { Err(SubscriptionError::Undecided) } else { Ok(()) }
    }

    /// Whether the store has scheduled a cancellation that has not taken effect yet.
    #[must_use]
    pub fn is_ended_by_store(&self) -> bool {
        let by_store = self.cancellation.as_ref().is_some_and(|cancellation| cancellation.reason == CancelReason::CancellationByStore);
        by_store && self.ends_at().is_some()
    }

    /// Whether a scheduled cancellation can be undone: it is set for the end of the current period, has not taken effect, and was not made
    /// because of unpaid invoices.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        let for_overdue = self.cancellation.as_ref().is_some_and(|cancellation| cancellation.reason == CancelReason::PaymentFailed);
        let at_period_end = self.cancel_at.is_none_or(|at| at == self.period.end);
        self.status != SubscriptionStatus::Canceled && self.cancel_at_period_end && at_period_end && !for_overdue
    }

    /// Whether `by` may undo the cancellation. Only the store can undo its own cancellation.
    pub(super) fn may_recover(&self, by: Requester) -> bool {
        self.is_recoverable() && (by == Requester::Store || !self.is_ended_by_store())
    }
}

pub(super) async fn load(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Subscription, SubscriptionError> {
    unit.subscriptions().find(id).await?.ok_or(SubscriptionError::NotFound)
}

/// As [`load`], and locks the subscription until this unit of work ends.
pub(super) async fn lock(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Subscription, SubscriptionError> {
    unit.subscriptions().lock(id).await?.ok_or(SubscriptionError::NotFound)
}

/// Writes a changed subscription.
///
/// # Errors
/// [`SubscriptionError::Contended`] when it was changed after it was read.
pub(super) async fn save(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<(), SubscriptionError> {
    match unit.subscriptions().update(subscription).await? {
        true => Ok(()),
        false => Err(SubscriptionError::Contended),
    }
}
