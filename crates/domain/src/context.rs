//! The context of use cases: ports, settings and handlers.

use crate::billing::{BillingPolicy, StakeUses};
use crate::operation::{ClockTrust, DiskSpace, InstallationProbe, RestoreHold, VisitorLimits};
use crate::payment::{
    Breakers, CardRail, ConcurrencyLimit, Method, MethodKind, NetworkStatus, Outcome, OutcomeObserver, PurposeHandlers, RailError, Sandbox,
    SandboxOff, SandboxTime, Trigger, WalletRail,
};
use crate::shared::{Clock, MethodId, Random, Timestamp};
use crate::storage::Store;
use std::collections::HashMap;
use std::sync::Arc;

/// The rails, by the type of method that they support.
#[derive(Clone, Default)]
pub struct Networks {
    wallets: HashMap<MethodKind, Arc<dyn WalletRail>>,
    cards: HashMap<MethodKind, Arc<dyn CardRail>>,
    sandbox_time: Option<Arc<dyn SandboxTime>>,
    limit: Option<Arc<dyn ConcurrencyLimit>>,
    breakers: Option<Arc<Breakers>>,
    observer: Option<Arc<dyn OutcomeObserver>>,
    sandbox: Sandbox,
    restore_hold: Option<Arc<RestoreHold>>,
}

impl Networks {
    #[must_use]
    pub fn with_wallet(mut self, kind: MethodKind, rail: Arc<dyn WalletRail>) -> Self {
        self.wallets.insert(kind, rail);
        self
    }

    #[must_use]
    pub fn with_card(mut self, kind: MethodKind, rail: Arc<dyn CardRail>) -> Self {
        self.cards.insert(kind, rail);
        self
    }

    /// Makes the sandbox follow customers' test clocks.
    #[must_use]
    pub fn with_sandbox_time(mut self, time: Arc<dyn SandboxTime>) -> Self {
        self.sandbox_time = Some(time);
        self
    }

    /// Limits the process's concurrent background calls per network. Without it there is no limit.
    #[must_use]
    pub fn with_concurrency_limit(mut self, limit: Arc<dyn ConcurrencyLimit>) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Delays background calls to networks that do not answer. Without it they are always made.
    #[must_use]
    pub fn with_breakers(mut self, breakers: Arc<Breakers>) -> Self {
        self.breakers = Some(breakers);
        self
    }

    /// Switches the sandbox on or off. Without it, it is on.
    #[must_use]
    pub const fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    #[must_use]
    pub const fn sandbox(&self) -> Sandbox {
        self.sandbox
    }

    /// Whether the jobs of a method wait because the sandbox is off.
    #[must_use]
    pub fn is_paused(&self, method: &Method) -> bool {
        self.sandbox.is_paused(method)
    }

    /// Refuses what somebody asks of a method whose jobs are paused.
    pub(crate) fn check_open(&self, method: &Method) -> Result<(), SandboxOff> {
        if self.is_paused(method) { Err(SandboxOff) } else { Ok(()) }
    }

    /// Holds back what a store that was restored from a backup must not do yet. Without it nothing is held.
    #[must_use]
    pub fn with_restore_hold(mut self, hold: Arc<RestoreHold>) -> Self {
        self.restore_hold = Some(hold);
        self
    }

    pub(crate) fn restore_hold(&self) -> Option<&RestoreHold> {
        self.restore_hold.as_deref()
    }

    /// Whether the store was restored from a backup and must not send anything yet.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.restore_hold.as_ref().is_some_and(|hold| hold.is_held())
    }

    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn OutcomeObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    pub(crate) fn observe(&self, network: MethodKind, outcome: &Outcome) {
        if let Some(observer) = &self.observer {
            observer.observe(network, outcome);
        }
    }

    /// The state of each network that this process has called; empty without breakers.
    #[must_use]
    pub fn breaker_statuses(&self) -> Vec<NetworkStatus> {
        self.breakers.as_ref().map_or_else(Vec::new, |breakers| breakers.statuses())
    }

    /// Of `limit` rows that wait for a method's network, the number to start now: see [`Breakers::allowance`].
    pub(crate) fn allowance(&self, method: &MethodId, now: Timestamp, limit: u32) -> u32 {
        self.breakers.as_ref().map_or(limit, |breakers| breakers.allowance(method, now, limit))
    }

    /// Requests a background call. The error is the time at which to request it again.
    pub(crate) fn admit(&self, method: &MethodId, now: Timestamp) -> Result<(), Timestamp> {
        self.breakers.as_ref().map_or(Ok(()), |breakers| breakers.admit(method, now))
    }

    /// Returns an outcome after telling the breaker of its network whether it is an answer.
    pub(crate) fn heard(&self, method: &Method, outcome: Outcome, now: Timestamp) -> Outcome {
        if let Some(breakers) = &self.breakers {
            breakers.record(method, outcome.is_answer(), now);
        }
        outcome
    }

    /// As [`Self::heard`], for calls that move no money.
    pub(crate) fn heard_result<T>(&self, method: &Method, result: Result<T, RailError>, now: Timestamp) -> Result<T, RailError> {
        if let Some(breakers) = &self.breakers {
            breakers.record(method, result.as_ref().map_or_else(RailError::is_answer, |_| true), now);
        }
        result
    }

    /// Waits for a slot of the method's network. Drop it when the network has answered.
    pub async fn acquire(&self, method: &MethodId, trigger: Trigger) -> Option<Box<dyn Send>> {
        match &self.limit {
            Some(limit) => Some(limit.take(method, trigger).await),
            None => None,
        }
    }

    #[must_use]
    pub fn sandbox_time(&self) -> Option<&dyn SandboxTime> {
        self.sandbox_time.as_deref()
    }

    #[must_use]
    pub fn wallet(&self, kind: MethodKind) -> Option<&dyn WalletRail> {
        self.wallets.get(&kind).map(AsRef::as_ref)
    }

    #[must_use]
    pub fn card(&self, kind: MethodKind) -> Option<&dyn CardRail> {
        self.cards.get(&kind).map(AsRef::as_ref)
    }
}

#[derive(Clone)]
pub struct Context {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub networks: Networks,
    /// The handlers for outcomes of attempts: see [`crate::purpose_handlers`].
    pub handlers: Arc<PurposeHandlers>,
    /// What stakes secure besides subscriptions: see [`crate::stake_uses`].
    pub stake_uses: StakeUses,
    pub policy: BillingPolicy,
    /// How much strangers can make the store keep.
    pub limits: VisitorLimits,
    /// Whether conclusions may be drawn from the time that has passed.
    pub trust: Arc<dyn ClockTrust>,
    /// Whether new sessions and uploads have space.
    pub disk: Arc<dyn DiskSpace>,
    pub installation: Arc<dyn InstallationProbe>,
}

impl Context {
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
