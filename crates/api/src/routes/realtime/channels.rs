//! The channels that a realtime client has joined, independent of the transport.

use super::frame::{Frame, reply};
use serde_json::json;
use souk_domain::events::PublicEvent;
use std::collections::BTreeSet;

/// Maximum number of channels that a client can join.
const TOPICS_MAX: usize = 8;
/// Maximum frame of a client, in bytes.
pub const FRAME_MAX: usize = 4 * 1024;
/// Maximum length of a channel name, in bytes.
const TOPIC_MAX: usize = 200;

pub struct Channels {
    /// The channel of this store, the only one that carries events.
    store_channel: String,
    joined: BTreeSet<String>,
}

impl Channels {
    pub fn of(app_did: &str) -> Self {
        Self { store_channel: format!("relay:{app_did}:events"), joined: BTreeSet::new() }
    }

    /// The reply to a client's frame; `None` if the frame is malformed.
    pub fn answer(&mut self, text: &str) -> Option<String> {
        let frame = Frame::parse(text)?;
        match frame.event.as_str() {
            "phx_join" if self.joined.len() < TOPICS_MAX && frame.topic.len() <= TOPIC_MAX => {
                self.joined.insert(frame.topic.clone());
            }
            "phx_leave" => {
                self.joined.remove(&frame.topic);
            }
            "heartbeat" => {}
            _ => return Some(reply(&frame, "error")),
        }
        Some(reply(&frame, "ok"))
    }

    /// The frame with an event's name and ids; `None` if the client has not joined the store's channel.
    pub fn event_frame(&self, event: &PublicEvent) -> Option<String> {
        let frame = || json!([null, null, self.store_channel, event.name, { "status": "ok", "response": event.ids }]).to_string();
        self.joined.contains(&self.store_channel).then(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_of_the_stores_channel_receive_events() {
        let event = PublicEvent { name: "invoice.paid".to_owned(), ids: [("id".to_owned(), "in_1".to_owned())].into() };
        let mut channels = Channels::of("z1");
        assert_eq!(channels.event_frame(&event), None);
        channels.answer(r#"["1","1","relay:z2:events","phx_join",{}]"#).expect("an answer");
        assert_eq!(channels.event_frame(&event), None, "another channel");
        channels.answer(r#"["2","2","relay:z1:events","phx_join",{}]"#).expect("an answer");
        let frame = r#"[null,null,"relay:z1:events","invoice.paid",{"response":{"id":"in_1"},"status":"ok"}]"#;
        assert_eq!(channels.event_frame(&event).as_deref(), Some(frame));
        channels.answer(r#"["2","3","relay:z1:events","phx_leave",{}]"#).expect("an answer");
        assert_eq!(channels.event_frame(&event), None);
    }

    #[test]
    fn the_number_of_joined_channels_is_limited() {
        let mut channels = Channels::of("z1");
        let mut join = |n: usize| channels.answer(&json!(["1", "1", format!("relay:{n}:events"), "phx_join", {}]).to_string());
        for n in 0..TOPICS_MAX {
            assert!(join(n).expect("an answer").contains(r#""status":"ok""#));
        }
        assert!(join(TOPICS_MAX).expect("an answer").contains(r#""status":"error""#));
    }
}
