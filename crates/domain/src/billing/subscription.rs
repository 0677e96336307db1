//! Subscriptions: what a customer is charged for again and again, and the states it moves through.

use super::{OnHold, Period, Scope};
use crate::pricing::{Metadata, RecurringInterval};
use crate::shared::{
    Amount, ClockId, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PriceId, SessionId, StakeId, StorageError,
    SubscriptionId, SubscriptionItemId, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// How long a stake is kept after the end, so that the last usage can be billed.
pub const STAKE_WAITING: Duration = Duration::from_secs(14 * 24 * 3_600);

/// The statuses of payment-kit.md 2 that a subscription moves through here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubscriptionStatus {
    Trialing,
    Active,
    /// An invoice of it stands unpaid after a refusal.
    PastDue,
    /// No period is billed until it is resumed; what it owes is still collected.
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

/// What happens to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A period begins: the first after a trial, or the next one.
    PeriodBegins,
    PaymentRefused,
    /// Nothing of it is overdue any more.
    DebtPaid,
    Pause,
    Resume,
    End,
}

impl Change {
    pub const ALL: [Self; 6] = [Self::PeriodBegins, Self::PaymentRefused, Self::DebtPaid, Self::Pause, Self::Resume, Self::End];
}

/// A change that the status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a subscription that is {} does not allow: {change:?}", status.name())]
pub struct IllegalChange {
    pub status: SubscriptionStatus,
    pub change: Change,
}

impl SubscriptionStatus {
    /// The status after a change.
    pub const fn after(self, change: Change) -> Result<Self, IllegalChange> {
        Ok(match (self, change) {
            (Self::Trialing | Self::Active, Change::PeriodBegins) | (Self::PastDue, Change::DebtPaid) | (Self::Paused, Change::Resume) => {
                Self::Active
            }
            (Self::Trialing | Self::Active | Self::PastDue, Change::PaymentRefused) | (Self::PastDue, Change::PeriodBegins) => {
                Self::PastDue
            }
            (Self::Paused, Change::PaymentRefused | Change::DebtPaid) | (Self::Trialing | Self::Active | Self::PastDue, Change::Pause) => {
                Self::Paused
            }
            (Self::Trialing | Self::Active | Self::PastDue | Self::Paused, Change::End) => Self::Canceled,
            (Self::Trialing | Self::Active, Change::DebtPaid | Change::Resume)
            | (Self::PastDue, Change::Resume)
            | (Self::Paused, Change::PeriodBegins | Change::Pause)
            | (Self::Canceled, _) => return Err(IllegalChange { status: self, change }),
        })
    }
}

/// SPEC.md 3: the reasons a customer may give.
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

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// The customer asked for it.
    CancellationRequested,
    /// The store did.
    CancellationByStore,
    /// It owed for too long.
    PaymentFailed,
    /// The wallet took the stake back that it stands on.
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
    /// The transaction of the stake that was left to take it back, which is not there yet.
    pub taken_back_by: Option<String>,
}

/// What of a metered item's usage is on invoices before its period is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BilledUsage {
    /// Usage before this is billed for good.
    pub from: Timestamp,
    /// How far the invoices go.
    pub until: Timestamp,
    /// What they ask for usage since `from`.
    pub amount: Amount,
    /// The price or the currency was another one: `amount` is what that usage counts for now, and nothing of it is given back.
    pub is_carried: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionItem {
    pub id: SubscriptionItemId,
    pub price_id: PriceId,
    pub quantity: u64,
    /// In the current period.
    pub billed: Option<BilledUsage>,
}

impl SubscriptionItem {
    /// From when on the usage of a period counts at the item's price.
    #[must_use]
    pub fn counts_from(&self, period: &Period) -> Timestamp {
        self.billed.map_or(period.start, |billed| billed.from.max(period.start))
    }
}

/// When usage is billed before the end of its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// As soon as it costs at least this.
    pub amount: Amount,
    /// A new period begins with the bill.
    pub resets_anchor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub mode: Mode,
    pub status: SubscriptionStatus,
    pub description: String,
    pub customer_id: CustomerId,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    /// What it is charged by; `None` until one is given, for a subscription that has never cost anything.
    pub mandate_id: Option<MandateId>,
    pub session_id: Option<SessionId>,
    pub items: Vec<SubscriptionItem>,
    pub cycle: RecurringInterval,
    /// Where period 0 begins: at the end of the trial, if there is one.
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
    /// Secures what it owes when it ends. The subscriptions of one checkout share a stake.
    pub stake_id: Option<StakeId>,
    /// Pays renewals that could not be charged.
    pub overdraft_stake_id: Option<StakeId>,
    /// When the stake of its overdraft protection pays what is overdue; `None`: nothing is, or nothing pays it.
    pub overdraft_at: Option<Timestamp>,
    pub latest_invoice_id: Option<InvoiceId>,
    /// The customer's test clock.
    pub clock_id: Option<ClockId>,
    /// When the engine has something to do next ([`next_due`]).
    pub due_at: Option<Timestamp>,
    /// Why the engine has stopped with it, until somebody looks.
    pub on_hold: Option<OnHold>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Counts changes; each write names the one it read.
    pub version: u64,
}

/// What the engine has to do with a subscription that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Nothing,
    End(CancelReason),
    Renew,
    /// The grace period is over: its overdraft protection pays what is overdue.
    PayByOverdraft,
    /// It would be given up, but for a payment that is not decided: it is looked at again.
    Wait,
}

impl Subscription {
    /// Removes a scheduled end.
    pub(super) fn clear_cancellation(&mut self) {
        self.cancel_at_period_end = false;
        self.cancel_at = None;
        self.canceled_at = None;
        self.cancellation = None;
    }

    /// When a debt has stood for too long.
    #[must_use]
    pub fn dunning_deadline(&self) -> Option<Timestamp> {
        self.past_due_since.map(|since| since.plus(Duration::from_secs(u64::from(self.days_until_cancel) * 24 * 3_600)))
    }

    /// When it ends by request.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        let period_end = self.cancel_at_period_end.then_some(self.period.end);
        [period_end, self.cancel_at].into_iter().flatten().min()
    }

    /// When the engine has something to do with it next.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        match self.status {
            SubscriptionStatus::Canceled => None,
            SubscriptionStatus::Paused => [self.cancel_at, self.overdraft_at].into_iter().flatten().min(),
            _ => [Some(self.period.end), self.ends_at(), self.dunning_deadline(), self.overdraft_at].into_iter().flatten().min(),
        }
    }

    /// Begins a period: nothing of its usage is billed yet. True when the items changed.
    pub fn enter(&mut self, index: u32, period: Period) -> bool {
        (self.index, self.period) = (Some(index), period);
        let mut changed = false;
        for item in &mut self.items {
            changed |= item.billed.take().is_some();
        }
        changed
    }

    /// What is to be done now: what fell due first, however late the round is. Of the same moment, an end that was asked for
    /// comes before the payment of a debt by the overdraft protection, that before the end for a debt, and all before the renewal.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Due {
        let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        match self.status {
            SubscriptionStatus::Canceled => Due::Nothing,
            SubscriptionStatus::Paused if has_come(self.cancel_at) => self.requested_end(),
            SubscriptionStatus::Paused if has_come(self.overdraft_at) => Due::PayByOverdraft,
            SubscriptionStatus::Paused => Due::Nothing,
            _ => {
                let turns = [
                    (self.ends_at(), self.requested_end()),
                    (self.overdraft_at, Due::PayByOverdraft),
                    (self.dunning_deadline(), Due::End(CancelReason::PaymentFailed)),
                    (Some(self.period.end), Due::Renew),
                ];
                let come = turns.into_iter().filter_map(|(at, due)| at.filter(|at| *at <= now).map(|at| (at, due)));
                come.min_by_key(|(at, _)| *at).map_or(Due::Nothing, |(_, due)| due)
            }
        }
    }

    /// Nothing of it is overdue any more.
    pub(super) fn recovered(self, now: Timestamp) -> Self {
        let status = self.status.after(Change::DebtPaid).unwrap_or(self.status);
        Self { status, past_due_since: None, overdraft_at: None, updated_at: now, ..self }
    }

    pub(super) fn requested_end(&self) -> Due {
        Due::End(self.cancellation.as_ref().map_or(CancelReason::CancellationRequested, |cancellation| cancellation.reason))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionFilter {
    /// Empty: any.
    pub statuses: Vec<SubscriptionStatus>,
    pub customer_id: Option<CustomerId>,
    /// A part of the description, in whatever case, or the id; empty: any.
    pub query: String,
    pub metadata: Metadata,
}

#[async_trait]
pub trait Subscriptions: Send {
    async fn insert(&mut self, subscription: &Subscription) -> Result<(), StorageError>;
    async fn find(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError>;
    /// The same, and nobody else changes it until this unit of work ends. Whoever changes a subscription's invoices, its customer's
    /// credit or the series of numbers holds the subscription first, then takes the others in this order.
    async fn lock(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError>;
    async fn find_all(&mut self, ids: &[SubscriptionId]) -> Result<Vec<Subscription>, StorageError>;
    /// Writes a changed subscription if it still has the version that was read, and counts the version up; `due_at` becomes
    /// [`Subscription::next_due`]. False: somebody was faster.
    async fn update(&mut self, subscription: &Subscription) -> Result<bool, StorageError> {
        self.update_all(std::slice::from_ref(subscription)).await
    }
    /// As [`Subscriptions::update`], different ones that were read before. False: somebody was faster with one of them.
    async fn update_all(&mut self, subscriptions: &[Subscription]) -> Result<bool, StorageError>;
    /// Writes the items as they are now: what they cost, how many there are, and what of them is billed.
    async fn put_items(&mut self, subscription: &Subscription) -> Result<(), StorageError>;
    async fn list(&mut self, mode: Mode, filter: &SubscriptionFilter, page: &Page) -> Result<Listed<Subscription>, StorageError>;
    /// Those that are due, earliest first, locked for this unit of work; another one skips them. A row that cannot be read is
    /// on_hold and left out.
    async fn lock_due(&mut self, scope: &Scope, now: Timestamp, limit: u32) -> Result<Vec<Subscription>, StorageError>;
    /// Those that name a stake, as their security or for their overdraft protection, whether or not they have ended; ids ascending.
    async fn of_stake(&mut self, stake: &StakeId) -> Result<Vec<Subscription>, StorageError>;
    /// It comes up at `until`, or earlier where it is changed before. No change: its version stays.
    async fn reschedule(&mut self, id: &SubscriptionId, until: Timestamp) -> Result<(), StorageError>;
    /// When the next one of a clock is due.
    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// The one an item belongs to.
    async fn of_item(&mut self, item: &SubscriptionItemId) -> Result<Option<Subscription>, StorageError>;
    /// As by [`Subscriptions::lock`], but several may hold it so at once.
    async fn hold(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError>;
    /// Those of a customer that have not ended.
    async fn live_of(&mut self, customer: &CustomerId) -> Result<Vec<Subscription>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_illegal_change_is_refused_by_name() {
        use Change as C;
        use SubscriptionStatus as S;
        let legal = [
            (S::Trialing, C::PeriodBegins, S::Active),
            (S::Trialing, C::PaymentRefused, S::PastDue),
            (S::Trialing, C::Pause, S::Paused),
            (S::Trialing, C::End, S::Canceled),
            (S::Active, C::PeriodBegins, S::Active),
            (S::Active, C::PaymentRefused, S::PastDue),
            (S::Active, C::Pause, S::Paused),
            (S::Active, C::End, S::Canceled),
            (S::PastDue, C::PeriodBegins, S::PastDue),
            (S::PastDue, C::PaymentRefused, S::PastDue),
            (S::PastDue, C::DebtPaid, S::Active),
            (S::PastDue, C::Pause, S::Paused),
            (S::PastDue, C::End, S::Canceled),
            (S::Paused, C::PaymentRefused, S::Paused),
            (S::Paused, C::DebtPaid, S::Paused),
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
