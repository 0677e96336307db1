//! What open pages are told. The channel is public: event names and ids, nothing else.

use async_trait::async_trait;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvent {
    /// `checkout.session.completed`, `invoice.paid`.
    pub name: String,
    pub ids: BTreeMap<String, String>,
}

/// Carries events to the pages of every process of this store.
#[async_trait]
pub trait Realtime: Send + Sync {
    /// Tells everybody who listens now. Whoever does not listen reads the state instead.
    async fn publish(&self, event: &PublicEvent) -> Result<(), RealtimeError>;
    fn subscribe(&self) -> Box<dyn Subscription>;
}

#[async_trait]
pub trait Subscription: Send {
    /// The next event; `None` when the process ends. A listener that is too slow misses events.
    async fn next(&mut self) -> Option<PublicEvent>;
}

#[derive(Debug, thiserror::Error)]
#[error("the realtime channel failed: {0}")]
pub struct RealtimeError(pub String);
