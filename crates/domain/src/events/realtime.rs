//! Realtime events for open pages. The channel is public, so it carries only event names and ids.

use async_trait::async_trait;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvent {
    /// `checkout.session.completed`, `invoice.paid`.
    pub name: String,
    pub ids: BTreeMap<String, String>,
}

/// Delivers events to the pages that are connected to any process of this store.
#[async_trait]
pub trait Realtime: Send + Sync {
    /// Sends an event to all current subscribers. Pages that miss it read the state instead.
    async fn publish(&self, event: &PublicEvent) -> Result<(), RealtimeError>;
    fn subscribe(&self) -> Box<dyn Subscription>;
}

#[async_trait]
pub trait Subscription: Send {
    /// The next event; `None` when the process ends. A subscriber that is too slow misses events.
    async fn next(&mut self) -> Option<PublicEvent>;
}

#[derive(Debug, thiserror::Error)]
#[error("the realtime channel failed: {0}")]
pub struct RealtimeError(pub String);
