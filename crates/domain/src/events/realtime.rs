//! Realtime messages for open pages. Anybody can join the channel of events, so it carries only event names and ids, with an event about a
//! review also the status after it, and each event only to the pages of its audience.

use crate::shared::Timestamp;
use async_trait::async_trait;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvent {
    /// `checkout.session.completed`, `invoice.paid`, `blocklet.reviewed`.
    pub name: String,
    pub ids: BTreeMap<String, String>,
    pub audience: Audience,
}

/// Whose pages an event is for. Without a user and a browser, it is for nobody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audience {
    /// The DID of a user.
    pub user: Option<String>,
    /// The hash of a visitor cookie.
    pub browser: Option<String>,
}

impl Audience {
    /// Returns whether an event for this audience may be sent to a page of `listener`.
    #[must_use]
    pub fn includes(&self, listener: &Self) -> bool {
        let same = |ours: &Option<String>, theirs: &Option<String>| ours.is_some() && ours == theirs;
        same(&self.user, &listener.user) || same(&self.browser, &listener.browser)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn audience(user: Option<&str>, browser: Option<&str>) -> Audience {
        Audience { user: user.map(ToOwned::to_owned), browser: browser.map(ToOwned::to_owned) }
    }

    #[test]
    fn an_event_is_for_pages_of_its_user_or_its_browser_only() {
        let event = audience(Some("z1a"), Some("b1"));
        for (listener, included) in [
            (audience(Some("z1a"), Some("b2")), true),
            (audience(None, Some("b1")), true),
            (audience(Some("z1b"), Some("b2")), false),
            (audience(None, None), false),
        ] {
            assert_eq!(event.includes(&listener), included, "{listener:?}");
        }
        assert!(!Audience::default().includes(&Audience::default()), "nobody's event");
    }
}
