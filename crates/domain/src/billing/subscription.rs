//! Subscriptions and their state machine.

use super::{HoldReason, OnHold, Period, Scope, SubscriptionBounds};
use crate::pricing::{Metadata, ProductNames, RecurringInterval};
use crate::shared::{
    Amount, ClockId, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PriceId, SessionId, StakeId, StorageError,
    SubscriptionId, SubscriptionItemId, Text, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// How long a stake is kept after its subscription ends, so that the last usage can be billed.
pub const STAKE_WAITING: Duration = Duration::from_secs(STAKE_WAITING_DAYS as u64 * 24 * 3_600);
/// The same in days, for the customer.
pub const STAKE_WAITING_DAYS: u32 = 14;

/// The subscription statuses of payment-kit.md 2 that Souk uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubscriptionStatus {
    Trialing,
    Active,
    /// An invoice is unpaid after a decline.
    PastDue,
    /// No period is billed until it is resumed. Unpaid invoices are still collected.
    Paused,
    Canceled,
}

impl SubscriptionStatus {
    pub const ALL: [Self; 5] = [Self::Trialing, Self::Active, Self::PastDue, Self::Paused, Self::Canceled];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trialing => "trialing",
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Paused => "paused",
            Self::Canceled => "canceled",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// An event that changes a subscription's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A period begins: the first after a trial, or the next one.
    PeriodBegins,
    PaymentDeclined,
    /// The last overdue invoice was paid or credited.
    OverduePaid,
    Pause,
    Resume,
    End,
}

impl Change {
    pub const ALL: [Self; 6] = [Self::PeriodBegins, Self::PaymentDeclined, Self::OverduePaid, Self::Pause, Self::Resume, Self::End];
}

/// A change that the subscription's status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a subscription that is {} does not allow: {change:?}", status.name())]
pub struct IllegalChange {
    pub status: SubscriptionStatus,
    pub change: Change,
}

impl SubscriptionStatus {
    /// Returns the status after a change.
    pub const fn after(self, change: Change) -> Result<Self, IllegalChange> {
        Ok(match (self, change) {
            (Self::Trialing | Self::Active, Change::PeriodBegins)
            | (Self::PastDue, Change::OverduePaid)
            | (Self::Paused, Change::Resume) => Self::Active,
            (Self::Trialing | Self::Active | Self::PastDue, Change::PaymentDeclined) | (Self::PastDue, Change::PeriodBegins) => {
                Self::PastDue
            }
            (Self::Paused, Change::PaymentDeclined | Change::OverduePaid)
            | (Self::Trialing | Self::Active | Self::PastDue, Change::Pause) => Self::Paused,
            (Self::Trialing | Self::Active | Self::PastDue | Self::Paused, Change::End) => Self::Canceled,
            (Self::Trialing | Self::Active, Change::OverduePaid | Change::Resume)
            | (Self::PastDue, Change::Resume)
            | (Self::Paused, Change::PeriodBegins | Change::Pause)
            | (Self::Canceled, _) => return Err(IllegalChange { status: self, change }),
        })
    }
}

/// The reasons for a cancellation that a customer can give (SPEC.md 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feedback {
    TooExpensive,
    MissingFeatures,
    SwitchedService,
    Unused,
    CustomerService,
    TooComplex,
    LowQuality,
    Other,
}

impl Feedback {
    pub const ALL: [Self; 8] = [
        Self::TooExpensive,
        Self::MissingFeatures,
        Self::SwitchedService,
        Self::Unused,
        Self::CustomerService,
        Self::TooComplex,
        Self::LowQuality,
        Self::Other,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooExpensive => "too_expensive",
            Self::MissingFeatures => "missing_features",
            Self::SwitchedService => "switched_service",
            Self::Unused => "unused",
            Self::CustomerService => "customer_service",
            Self::TooComplex => "too_complex",
            Self::LowQuality => "low_quality",
            Self::Other => "other",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feedback| feedback.name() == name)
    }
}

/// Why a subscription is canceled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// Requested by the customer.
    CancellationRequested,
    /// Requested by the store.
    CancellationByStore,
    /// It was past due for too long.
    PaymentFailed,
    /// The payer revoked its security stake.
    StakeRevoked,
}

impl CancelReason {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CancellationRequested => "cancellation_requested",
            Self::CancellationByStore => "cancellation_by_store",
            Self::PaymentFailed => "payment_failed",
            Self::StakeRevoked => "stake_revoked",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::CancellationRequested, Self::CancellationByStore, Self::PaymentFailed, Self::StakeRevoked];
        all.into_iter().find(|reason| reason.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancellation {
    pub reason: CancelReason,
    pub feedback: Option<Feedback>,
    pub comment: String,
    pub requested_at: Timestamp,
    /// The hash of a stake payment, not settled yet, that undoes this cancellation.
    pub clearing_stake: Option<String>,
}

/// Usage of a metered item that was billed before the end of its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BilledUsage {
    /// Usage before this time is finally billed.
    pub from: Timestamp,
    /// The end of the billed usage.
    pub until: Timestamp,
    /// The amount billed for usage since `from`.
    pub amount: Amount,
    /// The part of `amount` that was billed at another price or in another currency, at its value now. It is never credited.
    pub carried_over: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionItem {
    pub id: SubscriptionItemId,
    pub price_id: PriceId,
    pub quantity: u64,
    /// Usage of the current period that is billed already.
    pub billed: Option<BilledUsage>,
}

impl SubscriptionItem {
    /// The start of the usage of a period that counts at the item's current price.
    #[must_use]
    pub fn counts_from(&self, period: &Period) -> Timestamp {
        self.billed.map_or(period.start, |billed| billed.from.max(period.start))
    }
}

/// The billing threshold: usage is billed before the end of its period once the unbilled usage reaches an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// The price of unbilled usage at which it is billed.
    pub amount: Amount,
    /// Whether a new period begins with that invoice.
    pub resets_anchor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub mode: Mode,
    pub status: SubscriptionStatus,
    /// The text that the store wrote. Empty: the subscription is called by its products.
    pub description: String,
    /// The names of the products, as of the start of the last renewal or plan change.
    pub name: ProductNames,
    pub customer_id: CustomerId,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    /// The mandate that it is charged by. `None`: the subscription has never cost anything, and no mandate was granted.
    pub mandate_id: Option<MandateId>,
    pub session_id: Option<SessionId>,
    pub items: Vec<SubscriptionItem>,
    pub cycle: RecurringInterval,
    /// The start of period 0: the end of the trial, if there is one.
    pub anchor: Timestamp,
    /// The index of the current period; `None` during the trial.
    pub index: Option<u32>,
    /// The current period, or the trial.
    pub period: Period,
    pub trial: Option<Period>,
    pub cancel_at_period_end: bool,
    pub cancel_at: Option<Timestamp>,
    pub canceled_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub cancellation: Option<Cancellation>,
    pub past_due_since: Option<Timestamp>,
    pub paused_at: Option<Timestamp>,
    pub days_until_cancel: u32,
    pub billing_threshold: Option<Threshold>,
    /// Pays its overdue invoices when it ends. The subscriptions of one checkout share a stake.
    pub stake_id: Option<StakeId>,
    /// Pays renewals that could not be charged.
    pub overdraft_stake_id: Option<StakeId>,
    /// When its overdraft protection pays overdue invoices. `None`: nothing is overdue, or the protection is off.
    pub overdraft_at: Option<Timestamp>,
    pub latest_invoice_id: Option<InvoiceId>,
    /// The customer's test clock.
    pub clock_id: Option<ClockId>,
    /// When the engine processes it next: [`Subscription::next_due`].
    pub due_at: Option<Timestamp>,
    /// Why the engine does not bill it until the store resumes billing.
    pub on_hold: Option<OnHold>,
    pub bounds: SubscriptionBounds,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Optimistic lock: each write names the version that it read, and increases it.
    pub version: u64,
}

/// The engine's next action for a due subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Nothing,
    End(CancelReason),
    Renew,
    /// The grace period is over: its overdraft protection pays the overdue invoices.
    PayByOverdraft,
    /// It would end because of non-payment, but a payment is undecided or a retry is due: it is checked again later.
    Wait,
}

impl Subscription {
    /// The store's description, else the names of the products.
    #[must_use]
    pub fn title(&self) -> ProductNames {
        if self.description.is_empty() { self.name.clone() } else { Text::with_fallback(&self.description, None).into() }
    }

    /// Removes a scheduled cancellation.
    pub(super) fn clear_cancellation(&mut self) {
        self.cancel_at_period_end = false;
        self.cancel_at = None;
        self.canceled_at = None;
        self.cancellation = None;
    }

    /// When a past-due subscription ends because of non-payment.
    #[must_use]
    pub fn dunning_deadline(&self) -> Option<Timestamp> {
        self.past_due_since.map(|since| since.plus(Duration::from_secs(u64::from(self.days_until_cancel) * 24 * 3_600)))
    }

    /// When a scheduled cancellation takes effect.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        let period_end = self.cancel_at_period_end.then_some(self.period.end);
        [period_end, self.cancel_at].into_iter().flatten().min()
    }

    /// When the engine processes it next. On hold: when a limit no longer holds it, or at its requested end.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        match self.status {
            SubscriptionStatus::Canceled => None,
            _ if self.on_hold.is_some() => self.bounds.resumes_at.or_else(|| self.end_on_hold()),
            SubscriptionStatus::Paused => [self.cancel_at, self.overdraft_at].into_iter().flatten().min(),
            _ => [Some(self.period.end), self.ends_at(), self.dunning_deadline(), self.overdraft_at].into_iter().flatten().min(),
        }
    }

    /// The requested end of a subscription on hold, which no decision delays. If it could not be ended when it was put on hold, an owner has
    /// to fix the cause first.
    pub(super) fn end_on_hold(&self) -> Option<Timestamp> {
        self.ends_at().filter(|end| self.is_undecided() || self.bounds.held_at.is_none_or(|held_at| *end > held_at))
    }

    /// Whether an owner has to decide about its unbilled periods before anything else changes what is billed.
    pub(super) fn is_undecided(&self) -> bool {
        self.on_hold.as_ref().is_some_and(|on_hold| on_hold.reason == HoldReason::UnbilledPeriods)
    }

    /// Enters a period, of which no usage is billed yet. Returns whether the items changed.
    pub fn enter(&mut self, index: u32, period: Period) -> bool {
        (self.index, self.period) = (Some(index), period);
        let mut changed = false;
        for item in &mut self.items {
            changed |= item.billed.take().is_some();
        }
        changed
    }

    /// Whether nothing but a new period, and its invoice, has changed since `before`. Items are written separately.
    pub(super) fn differs_only_by_period(&self, before: &Self) -> bool {
        let after = self.clone();
        let bounds = SubscriptionBounds { invoices: after.bounds.invoices, ..before.bounds };
        let (latest_invoice_id, due_at, updated_at) = (after.latest_invoice_id, after.due_at, after.updated_at);
        let Self { status, name, index, period, items, .. } = after;
        let expected = Self { status, name, index, period, items, latest_invoice_id, due_at, updated_at, bounds, ..before.clone() };
        expected == *self
    }

    /// The action due at `now`: the one that fell due first, however late the batch runs. If several fall due at the same moment, the order
    /// is: a scheduled cancellation, the overdraft protection, the end because of non-payment, the renewal.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Due {
        let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        match self.status {
            SubscriptionStatus::Canceled => Due::Nothing,
            SubscriptionStatus::Paused if has_come(self.cancel_at) => self.requested_end(),
            SubscriptionStatus::Paused if has_come(self.overdraft_at) => Due::PayByOverdraft,
            SubscriptionStatus::Paused => Due::Nothing,
            _ => {
                let actions = [
                    (self.ends_at(), self.requested_end()),
                    (self.overdraft_at, Due::PayByOverdraft),
                    (self.dunning_deadline(), Due::End(CancelReason::PaymentFailed)),
                    (Some(self.period.end), Due::Renew),
                ];
                let due_actions = actions.into_iter().filter_map(|(at, due)| at.filter(|at| *at <= now).map(|at| (at, due)));
                due_actions.min_by_key(|(at, _)| *at).map_or(Due::Nothing, |(_, due)| due)
            }
        }
    }

    /// Returns the subscription after its last overdue invoice was paid or credited.
    pub(super) fn recovered(self, now: Timestamp) -> Self {
        let status = self.status.after(Change::OverduePaid).unwrap_or(self.status);
        Self { status, past_due_since: None, overdraft_at: None, updated_at: now, ..self }
    }

    pub(super) fn requested_end(&self) -> Due {
        Due::End(self.cancellation.as_ref().map_or(CancelReason::CancellationRequested, |cancellation| cancellation.reason))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionFilter {
    /// Empty matches any status.
    pub statuses: Vec<SubscriptionStatus>,
    pub customer_id: Option<CustomerId>,
    /// A part of the description, in any case, or the id. Empty matches any.
    pub query: String,
    pub metadata: Metadata,
    /// Only subscriptions on hold.
    pub on_hold: bool,
}

#[async_trait]
pub trait Subscriptions: Send {
    async fn insert(&mut self, subscription: &Subscription) -> Result<(), StorageError>;
    async fn find(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError>;
    /// Locks and returns a subscription until this unit of work ends. Any change of a subscription's invoices, of its customer's balance or
    /// of the number series locks the subscription first, then the others in this order.
    async fn lock(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError> {
        Ok(self.lock_all(std::slice::from_ref(id)).await?.pop())
    }
    /// As [`Subscriptions::lock`], for several subscriptions, in the order of their ids.
    async fn lock_all(&mut self, ids: &[SubscriptionId]) -> Result<Vec<Subscription>, StorageError>;
    async fn find_all(&mut self, ids: &[SubscriptionId]) -> Result<Vec<Subscription>, StorageError>;
    /// Writes a subscription if it still has the version that was read, and increases the version. Sets `due_at` to
    /// [`Subscription::next_due`]. False: it was changed meanwhile.
    async fn update(&mut self, subscription: &Subscription) -> Result<bool, StorageError> {
        self.update_all(std::slice::from_ref(subscription)).await
    }
    /// As [`Subscriptions::update`], for several distinct subscriptions. False: one of them was changed meanwhile.
    async fn update_all(&mut self, subscriptions: &[Subscription]) -> Result<bool, StorageError>;
    /// As [`Subscriptions::update_all`], for subscriptions that [`Subscription::differs_only_by_period`]: writes only the columns of a
    /// period. [`StorageError::Conflict`]: one of them was changed meanwhile.
    async fn begin_periods(&mut self, subscriptions: &[Subscription]) -> Result<(), StorageError>;
    /// Writes the items' prices, quantities and billed usage.
    async fn put_items(&mut self, subscription: &Subscription) -> Result<(), StorageError>;
    async fn list(&mut self, mode: Mode, filter: &SubscriptionFilter, page: &Page) -> Result<Listed<Subscription>, StorageError>;
    /// Due subscriptions, earliest first, except those of `paused` methods; locked until this unit of work ends, and concurrent units of
    /// work skip them. A row that cannot be decoded is put on hold and left out.
    async fn lock_due(&mut self, scope: &Scope, now: Timestamp, limit: u32, paused: &[MethodId])
    -> Result<Vec<Subscription>, StorageError>;
    /// Subscriptions on hold for this reason whose ids follow `after`, ids ascending, locked until this unit of work ends. A row that cannot
    /// be decoded gets that as its reason, and is left out.
    async fn lock_held(
        &mut self,
        mode: Mode,
        reason: HoldReason,
        after: Option<&SubscriptionId>,
        limit: u32,
    ) -> Result<Vec<Subscription>, StorageError>;
    /// The subscriptions that name a stake as their security or overdraft stake, ended or not; ids ascending.
    async fn of_stake(&mut self, stake: &StakeId) -> Result<Vec<Subscription>, StorageError>;
    /// Sets `due_at` to `until`. A later write of the subscription recomputes it. Does not change the version.
    async fn reschedule(&mut self, id: &SubscriptionId, until: Timestamp) -> Result<(), StorageError>;
    /// When the next subscription of a test clock is due.
    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// The subscription that an item belongs to.
    async fn of_item(&mut self, item: &SubscriptionItemId) -> Result<Option<Subscription>, StorageError>;
    /// As [`Subscriptions::lock`], but with a shared lock.
    async fn lock_shared(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError>;
    /// A customer's subscriptions with an overdue invoice, ended or not; ids ascending.
    async fn past_due_of(&mut self, customer: &CustomerId) -> Result<Vec<SubscriptionId>, StorageError>;
    /// A customer's subscriptions that have not ended.
    async fn live_of(&mut self, customer: &CustomerId) -> Result<Vec<Subscription>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_illegal_change_is_a_named_error() {
        use Change as C;
        use SubscriptionStatus as S;
        let legal = [
            (S::Trialing, C::PeriodBegins, S::Active),
            (S::Trialing, C::PaymentDeclined, S::PastDue),
            (S::Trialing, C::Pause, S::Paused),
            (S::Trialing, C::End, S::Canceled),
            (S::Active, C::PeriodBegins, S::Active),
            (S::Active, C::PaymentDeclined, S::PastDue),
            (S::Active, C::Pause, S::Paused),
            (S::Active, C::End, S::Canceled),
            (S::PastDue, C::PeriodBegins, S::PastDue),
            (S::PastDue, C::PaymentDeclined, S::PastDue),
            (S::PastDue, C::OverduePaid, S::Active),
            (S::PastDue, C::Pause, S::Paused),
            (S::PastDue, C::End, S::Canceled),
            (S::Paused, C::PaymentDeclined, S::Paused),
            (S::Paused, C::OverduePaid, S::Paused),
            (S::Paused, C::Resume, S::Active),
            (S::Paused, C::End, S::Canceled),
        ];
        for status in S::ALL {
            for change in C::ALL {
                let expected = legal.iter().find(|(from, by, _)| *from == status && *by == change).map(|(_, _, to)| *to);
                assert_eq!(status.after(change), expected.ok_or(IllegalChange { status, change }), "{status:?} {change:?}");
            }
        }
        assert_eq!(
            IllegalChange { status: S::Canceled, change: C::Resume }.to_string(),
            "a subscription that is canceled does not allow: Resume"
        );
    }
}
