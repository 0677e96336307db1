//! A limit per network on what this process sends while nobody waits: a network that gets too much at once answers late or never,
//! and what is not answered in time is asked about again, which makes it worse.

use async_trait::async_trait;
use souk_domain::payment::{ConcurrencyLimit, Trigger};
use souk_domain::shared::MethodId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

type SlotsByMethod = HashMap<MethodId, Arc<Semaphore>>;

/// So many slots for each method, and as many again for what the reconciler asks about and sends.
#[derive(Debug)]
pub struct NetworkConcurrencyLimit {
    each: usize,
    charges: Mutex<SlotsByMethod>,
    questions: Mutex<SlotsByMethod>,
}

impl NetworkConcurrencyLimit {
    /// At least one slot each, or nothing would ever leave.
    #[must_use]
    pub fn of(each: usize) -> Self {
        Self { each: each.max(1), charges: Mutex::default(), questions: Mutex::default() }
    }

    fn slots_of(&self, method: &MethodId, trigger: Trigger) -> Arc<Semaphore> {
        let slots = if trigger == Trigger::Initial { &self.charges } else { &self.questions };
        let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.entry(method.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        Arc::clone(slots)
    }
}

#[async_trait]
impl ConcurrencyLimit for NetworkConcurrencyLimit {
    async fn take(&self, method: &MethodId, trigger: Trigger) -> Box<dyn Send> {
        // It is never closed: there is always a permit to come.
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
    async fn a_full_network_keeps_the_next_waiting_and_no_other_network() {
        let slots = NetworkConcurrencyLimit::of(2);
        let (full, free) = (method("pm_full"), method("pm_free"));
        let first = slots.take(&full, Trigger::Initial).await;
        let _second = slots.take(&full, Trigger::Initial).await;
        let mut third = slots.take(&full, Trigger::Initial);
        assert!((&mut third).now_or_never().is_none());
        assert!(slots.take(&free, Trigger::Initial).now_or_never().is_some());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_question_does_not_wait_behind_charges() {
        let (slots, full) = (NetworkConcurrencyLimit::of(1), method("pm_full"));
        let _charge = slots.take(&full, Trigger::Initial).await;
        let asked = slots.take(&full, Trigger::Reconciler).now_or_never();
        assert!(asked.is_some());
        assert!(slots.take(&full, Trigger::Reconciler).now_or_never().is_none(), "questions have a limit too");
    }

    #[tokio::test]
    async fn a_limit_of_nothing_is_a_limit_of_one() {
        let slots = NetworkConcurrencyLimit::of(0);
        let _first = slots.take(&method("pm_1"), Trigger::Initial).await;
        assert!(slots.take(&method("pm_1"), Trigger::Initial).now_or_never().is_none());
    }
}
