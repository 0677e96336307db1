//! Realtime events across processes: Redis sends each event to all processes, and each process forwards it to its subscribers.

use super::LocalRealtime;
use async_trait::async_trait;
use futures_util::StreamExt;
use redis::aio::ConnectionManager;
use serde::{Deserialize, Serialize};
use souk_domain::events::{Audience, PublicEvent, Realtime, RealtimeError, Subscription};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Delay before the channel is reopened after it broke.
const REOPEN_DELAY: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Wire {
    name: String,
    ids: BTreeMap<String, String>,
    user: Option<String>,
    browser: Option<String>,
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
            if let Ok(Wire { name, ids, user, browser }) = serde_json::from_str(&text) {
                self.local.send_local(PublicEvent { name, ids, audience: Audience { user, browser } });
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Realtime for RedisRealtime {
    async fn publish(&self, event: &PublicEvent) -> Result<(), RealtimeError> {
        let broken = |error: &dyn std::fmt::Display| RealtimeError(error.to_string());
        let PublicEvent { name, ids, audience: Audience { user, browser } } = event.clone();
        let text = serde_json::to_string(&Wire { name, ids, user, browser }).map_err(|error| broken(&error))?;
        let mut connection = self.connection.clone();
        let sent = redis::cmd("PUBLISH").arg(&self.channel).arg(text).query_async::<i64>(&mut connection).await;
        sent.map(drop).map_err(|error| broken(&error))
    }

    fn subscribe(&self) -> Box<dyn Subscription> {
        self.local.subscribe()
    }
}
