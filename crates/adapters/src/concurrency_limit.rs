//! Limits the background requests that this process has in flight per payment method. A network that receives too many at once answers
//! late or never, and every request that times out causes another query, which adds to the load.

use async_trait::async_trait;
use souk_domain::payment::{ConcurrencyLimit, Trigger};
use souk_domain::shared::MethodId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

type SlotsByMethod = HashMap<MethodId, Arc<Semaphore>>;

/// A number of slots per payment method for initial charges, and as many again for the reconciler.
#[derive(Debug)]
pub struct NetworkConcurrencyLimit {
    limit_per_method: usize,
    charges: Mutex<SlotsByMethod>,
    reconciliations: Mutex<SlotsByMethod>,
}

impl NetworkConcurrencyLimit {
    /// `limit_per_method` counts as at least one; with none, no request would ever be sent.
    #[must_use]
    pub fn of(limit_per_method: usize) -> Self {
        Self { limit_per_method: limit_per_method.max(1), charges: Mutex::default(), reconciliations: Mutex::default() }
    }

    fn slots_of(&self, method: &MethodId, trigger: Trigger) -> Arc<Semaphore> {
        let slots = if trigger == Trigger::Initial { &self.charges } else { &self.reconciliations };
        let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.entry(method.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.limit_per_method)));
        Arc::clone(slots)
    }
}

#[async_trait]
impl ConcurrencyLimit for NetworkConcurrencyLimit {
    async fn take(&self, method: &MethodId, trigger: Trigger) -> Box<dyn Send> {
        // The semaphore is never closed, so acquiring cannot fail.
        Box::new(self.slots_of(method, trigger).acquire_owned().await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn method(name: &str) -> MethodId {
        MethodId::parse(name).expect("an id")
    }

    #[tokio::test]
    async fn a_full_network_delays_its_own_requests_only() {
        let limit = NetworkConcurrencyLimit::of(2);
        let (full, free) = (method("pm_full"), method("pm_free"));
        let first = limit.take(&full, Trigger::Initial).await;
        let _second = limit.take(&full, Trigger::Initial).await;
        let mut third = limit.take(&full, Trigger::Initial);
        assert!((&mut third).now_or_never().is_none());
        assert!(limit.take(&free, Trigger::Initial).now_or_never().is_some());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_reconciler_does_not_wait_for_initial_charges() {
        let (limit, full) = (NetworkConcurrencyLimit::of(1), method("pm_full"));
        let _charge = limit.take(&full, Trigger::Initial).await;
        let requested_slot = limit.take(&full, Trigger::Reconciler).now_or_never();
        assert!(requested_slot.is_some());
        assert!(limit.take(&full, Trigger::Reconciler).now_or_never().is_none(), "questions have a limit too");
    }

    #[tokio::test]
    async fn a_limit_of_zero_counts_as_one() {
        let limit = NetworkConcurrencyLimit::of(0);
        let _first = limit.take(&method("pm_1"), Trigger::Initial).await;
        assert!(limit.take(&method("pm_1"), Trigger::Initial).now_or_never().is_none());
    }
}
