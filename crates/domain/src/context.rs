//! The context of use cases: ports, settings and handlers.

use crate::billing::BillingPolicy;
use crate::operation::ClockTrust;
use crate::payment::{CardRail, ConcurrencyLimit, MethodKind, Outcome, OutcomeObserver, PurposeHandlers, SandboxTime, Trigger, WalletRail};
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
    observer: Option<Arc<dyn OutcomeObserver>>,
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
    pub policy: BillingPolicy,
    /// Whether conclusions may be drawn from the time that has passed.
    pub trust: Arc<dyn ClockTrust>,
}

impl Context {
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
