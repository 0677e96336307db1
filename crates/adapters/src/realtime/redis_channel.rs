//! Realtime events across processes: Redis sends each event to all processes, and each process forwards it to its subscribers.

use super::LocalRealtime;
use async_trait::async_trait;
use futures_util::StreamExt;
use redis::aio::ConnectionManager;
use serde::{Deserialize, Serialize};
use souk_domain::events::{Audience, ConnectUpdate, PublicEvent, Realtime, RealtimeError, RealtimeMessage, Subscription};
use souk_domain::shared::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Delay before the channel is reopened after it broke.
const REOPEN_DELAY: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Event { name: String, ids: BTreeMap<String, String>, user: Option<String>, browser: Option<String> },
    Connect { token: String, status: String, error: String, updated_at_micros: i64 },
}

impl From<Wire> for RealtimeMessage {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Event { name, ids, user, browser } => Self::Event(PublicEvent { name, ids, audience: Audience { user, browser } }),
            Wire::Connect { token, status, error, updated_at_micros } => {
                Self::Connect(ConnectUpdate { token, status, error, updated_at: Timestamp::from_micros(updated_at_micros) })
            }
        }
    }
}

impl From<RealtimeMessage> for Wire {
    fn from(message: RealtimeMessage) -> Self {
        match message {
            RealtimeMessage::Event(PublicEvent { name, ids, audience: Audience { user, browser } }) => {
                Self::Event { name, ids, user, browser }
            }
            RealtimeMessage::Connect(ConnectUpdate { token, status, error, updated_at }) => {
                Self::Connect { token, status, error, updated_at_micros: updated_at.micros() }
            }
        }
    }
}

#[derive(Clone)]
pub struct RedisRealtime {
    local: LocalRealtime,
    client: redis::Client,
    connection: ConnectionManager,
    channel: String,
}

impl RedisRealtime {
    /// `store` distinguishes stores that share a Redis server.
    pub async fn open(address: &str, store: &str) -> Result<Self, RealtimeError> {
        let broken = |error: redis::RedisError| RealtimeError(error.to_string());
        let client = redis::Client::open(address).map_err(broken)?;
        let connection = client.get_connection_manager().await.map_err(broken)?;
        Ok(Self { local: LocalRealtime::default(), client, connection, channel: format!("souk:{store}:realtime") })
    }

    /// Listens until `shutdown` and reopens the channel whenever it breaks.
    pub async fn run(&self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            tokio::select! {
                () = shutdown.cancelled() => return,
                ended = self.listen() => {
                    if let Err(error) = ended {
                        tracing::warn!(%error, "the realtime channel was lost; it reconnects");
                    }
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(REOPEN_DELAY) => {}
            }
        }
    }

    async fn listen(&self) -> Result<(), redis::RedisError> {
        let mut channel = self.client.get_async_pubsub().await?;
        channel.subscribe(&self.channel).await?;
        let mut messages = channel.on_message();
        while let Some(message) = messages.next().await {
            let text: String = message.get_payload()?;
            if let Ok(wire) = serde_json::from_str::<Wire>(&text) {
                self.local.send_local(wire.into());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Realtime for RedisRealtime {
    async fn publish(&self, message: &RealtimeMessage) -> Result<(), RealtimeError> {
        let broken = |error: &dyn std::fmt::Display| RealtimeError(error.to_string());
        let text = serde_json::to_string(&Wire::from(message.clone())).map_err(|error| broken(&error))?;
        let mut connection = self.connection.clone();
        let sent = redis::cmd("PUBLISH").arg(&self.channel).arg(text).query_async::<i64>(&mut connection).await;
        sent.map(drop).map_err(|error| broken(&error))
    }

    fn subscribe(&self) -> Box<dyn Subscription> {
        self.local.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_sent() {
        let audience = Audience { user: Some("z1user".to_owned()), browser: Some("0f".repeat(32)) };
        let event = PublicEvent { name: "invoice.paid".to_owned(), ids: [("id".to_owned(), "in_1".to_owned())].into(), audience };
        let update = ConnectUpdate {
            token: "0f".repeat(16),
            status: "error".to_owned(),
            error: "Declined".to_owned(),
            updated_at: Timestamp::from_micros(1_700_000_000_123_456),
        };
        for message in [RealtimeMessage::Event(event), RealtimeMessage::Connect(update)] {
            let text = serde_json::to_string(&Wire::from(message.clone())).expect("JSON");
            let read: Wire = serde_json::from_str(&text).expect("is read");
            assert_eq!(RealtimeMessage::from(read), message);
        }
    }
}
