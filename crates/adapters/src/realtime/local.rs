//! Realtime messages within one process, over a broadcast channel.

use async_trait::async_trait;
use souk_domain::events::{Realtime, RealtimeError, RealtimeMessage, Subscription};
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};

/// The number of events a slow subscriber may lag behind before it misses some.
const BACKLOG: usize = 256;

#[derive(Debug, Clone)]
pub struct LocalRealtime {
    sender: Sender<RealtimeMessage>,
}

impl Default for LocalRealtime {
    fn default() -> Self {
        Self { sender: broadcast::channel(BACKLOG).0 }
    }
}

impl LocalRealtime {
    /// Sends a message to the subscribers of this process.
    pub(super) fn send_local(&self, message: RealtimeMessage) {
        if self.sender.send(message).is_err() {
            // A page that opens later reads the current state.
            tracing::trace!("nobody has subscribed to realtime messages");
        }
    }
}

#[async_trait]
impl Realtime for LocalRealtime {
    async fn publish(&self, message: &RealtimeMessage) -> Result<(), RealtimeError> {
        self.send_local(message.clone());
        Ok(())
    }

    fn subscribe(&self) -> Box<dyn Subscription> {
        Box::new(Listener(self.sender.subscribe()))
    }
}

struct Listener(Receiver<RealtimeMessage>);

#[async_trait]
impl Subscription for Listener {
    async fn next(&mut self) -> Option<RealtimeMessage> {
        loop {
            match self.0.recv().await {
                Ok(message) => return Some(message),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::events::{Audience, PublicEvent};

    #[tokio::test]
    async fn every_subscriber_receives_events_and_a_slow_one_skips_the_oldest() {
        let realtime = LocalRealtime::default();
        let ids = || [("id".to_owned(), "cs_1".to_owned())].into();
        let event = |name: usize| RealtimeMessage::Event(PublicEvent { name: name.to_string(), ids: ids(), audience: Audience::default() });
        realtime.publish(&event(0)).await.expect("nobody listens, and that is well");
        let (mut quick, mut slow) = (realtime.subscribe(), realtime.subscribe());
        realtime.publish(&event(1)).await.expect("published");
        assert_eq!(quick.next().await, Some(event(1)));
        for name in 2..BACKLOG + 10 {
            realtime.publish(&event(name)).await.expect("published");
        }
        assert_eq!(slow.next().await, Some(event(10)), "the oldest that is still there");
    }
}
