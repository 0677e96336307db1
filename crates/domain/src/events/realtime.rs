//! Realtime messages for open pages. The channel of events is public, so it carries only event names and ids.

use crate::shared::Timestamp;
use async_trait::async_trait;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvent {
    /// `checkout.session.completed`, `invoice.paid`.
    pub name: String,
    pub ids: BTreeMap<String, String>,
}

/// The state of a connect session. Only pages that know the session's token receive it, on the channel of that token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectUpdate {
    pub token: String,
    /// A name of `access::ConnectStatus`.
    pub status: String,
    /// Empty unless it failed.
    pub error: String,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RealtimeMessage {
    Event(PublicEvent),
    Connect(ConnectUpdate),
}

/// Delivers messages to the pages that are connected to any process of this store.
#[async_trait]
pub trait Realtime: Send + Sync {
    /// Sends a message to all current subscribers. Pages that miss it read the state instead.
    async fn publish(&self, message: &RealtimeMessage) -> Result<(), RealtimeError>;
    fn subscribe(&self) -> Box<dyn Subscription>;
}

#[async_trait]
pub trait Subscription: Send {
    /// The next message; `None` when the process ends. A subscriber that is too slow misses messages.
    async fn next(&mut self) -> Option<RealtimeMessage>;
}

#[derive(Debug, thiserror::Error)]
#[error("the realtime channel failed: {0}")]
pub struct RealtimeError(pub String);
