//! Plan changes that a customer has ordered and that wait for the network's decisions about the delegation or the deposit that they need.

use crate::payment::Decline;
use crate::shared::{Amount, MandateId, PriceId, StakeId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// How often a plan change is looked at again if no decision of its network is recorded meanwhile.
pub const PLAN_CHANGE_INTERVAL: Duration = Duration::from_secs(60);

/// The plan that an item is changed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChoice {
    pub price: PriceId,
    /// `None`: the current quantity. Ignored for metered prices.
    pub quantity: Option<u64>,
    /// The item to change. `None`: the item of the same product, else of a product in the same group.
    pub item: Option<SubscriptionItemId>,
}

/// A plan change as the customer accepted it from a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOrder {
    pub choice: PlanChoice,
    /// The time for which the preview was computed.
    pub at: Timestamp,
    /// The previewed amount due.
    pub expected: Amount,
    /// The previewed increase of the balance. `None`: not checked.
    pub credited: Option<Amount>,
}

/// How long the reason of a failed plan change is shown.
const FAILURE_SHOWN: Duration = Duration::from_secs(7 * 86_400);

/// Why an ordered plan change does not take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanChangeFailure {
    /// The network declined the delegation that the plan needs.
    DelegationDeclined,
    /// The network declined the deposit that the plan needs.
    DepositDeclined,
    /// The amounts have changed, or the preview expired, before the network had decided.
    PreviewChanged,
    /// The plan or the ordered quantity is not available any more.
    NotAvailable,
    /// The plan has changed by another order. The row waits for the decision about its deposit, and is not shown.
    Superseded,
}

impl PlanChangeFailure {
    pub const ALL: [Self; 5] =
        [Self::DelegationDeclined, Self::DepositDeclined, Self::PreviewChanged, Self::NotAvailable, Self::Superseded];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DelegationDeclined => "delegation_declined",
            Self::DepositDeclined => "deposit_declined",
            Self::PreviewChanged => "preview_changed",
            Self::NotAvailable => "not_available",
            Self::Superseded => "superseded",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.name() == name)
    }
}

/// A payment into a stake that was made for a plan change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDeposit {
    pub stake_id: StakeId,
    /// The hash of the transaction.
    pub hash: String,
    /// [`super::Stake::amount_requested`] before the first payment for a plan change. It is restored if the change does not take place.
    pub requested_before: Amount,
}

/// A plan change that a customer has ordered by signing what it needs. A subscription has at most one; a later order replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPlanChange {
    pub subscription_id: SubscriptionId,
    pub order: PlanOrder,
    /// The delegation that was signed for it.
    pub mandate_id: Option<MandateId>,
    pub deposit: Option<PlanDeposit>,
    /// Why it does not take place. The row stays, so that the customer can read the reason.
    pub failure: Option<PlanChangeFailure>,
    /// The network's decline, if it is the reason.
    pub decline: Option<Decline>,
    /// When it is looked at next; `None` after a failure.
    pub check_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl PendingPlanChange {
    #[must_use]
    pub fn new(subscription_id: SubscriptionId, order: PlanOrder, now: Timestamp) -> Self {
        Self {
            subscription_id,
            order,
            mandate_id: None,
            deposit: None,
            failure: None,
            decline: None,
            check_at: Some(now.plus(PLAN_CHANGE_INTERVAL)),
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether it may still take place.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether it may still take place and a deposit was made for it.
    #[must_use]
    pub const fn has_pending_deposit(&self) -> bool {
        self.is_pending() && self.deposit.is_some()
    }

    /// Whether the customer should see it at `now`: it is pending, or failed recently.
    #[must_use]
    pub fn is_shown(&self, now: Timestamp) -> bool {
        match self.failure {
            None => true,
            Some(PlanChangeFailure::Superseded) => false,
            Some(_) => now.since(self.updated_at) < FAILURE_SHOWN,
        }
    }

    /// Returns the change after it was given up.
    #[must_use]
    pub fn failed(&self, failure: PlanChangeFailure, decline: Option<Decline>, now: Timestamp) -> Self {
        Self { failure: Some(failure), decline, check_at: None, updated_at: now, ..self.clone() }
    }
}

/// The repository of pending plan changes. A row is read for a decision and written only under the lock of its subscription.
#[async_trait]
pub trait PendingPlanChanges: Send {
    /// Inserts the change, or replaces that of the same subscription.
    async fn upsert(&mut self, change: &PendingPlanChange) -> Result<(), StorageError>;
    async fn remove(&mut self, subscription: &SubscriptionId) -> Result<(), StorageError>;
    async fn find(&mut self, subscription: &SubscriptionId) -> Result<Option<PendingPlanChange>, StorageError> {
        Ok(self.find_all(std::slice::from_ref(subscription)).await?.into_iter().next())
    }
    async fn find_all(&mut self, subscriptions: &[SubscriptionId]) -> Result<Vec<PendingPlanChange>, StorageError>;
    /// The changes with a deposit in this stake, failed ones included.
    async fn of_stake(&mut self, stake: &StakeId) -> Result<Vec<PendingPlanChange>, StorageError>;
    /// Makes a change due at `now`, because its network has decided about something that it needs. A failed one stays failed.
    async fn wake(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError>;
    /// Claims due changes: sets their `check_at` to `next`. Returns their subscriptions, earliest first.
    async fn claim_due(&mut self, now: Timestamp, next: Timestamp, limit: u32) -> Result<Vec<SubscriptionId>, StorageError>;
}
