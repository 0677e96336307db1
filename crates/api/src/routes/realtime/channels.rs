//! What one listener has joined, whatever carries its frames.

use super::frame::{Frame, reply};
use serde_json::json;
use souk_domain::events::PublicEvent;
use std::collections::BTreeSet;

/// The most channels of one listener.
const TOPICS_MAX: usize = 8;
/// Longest frame of a client, in bytes.
pub const FRAME_MAX: usize = 4 * 1024;
/// Longest name of a channel, in bytes.
const TOPIC_MAX: usize = 200;

pub struct Channels {
    /// The store's own channel: the only one that carries anything.
    own: String,
    joined: BTreeSet<String>,
}

impl Channels {
    pub fn of(app_did: &str) -> Self {
        Self { own: format!("relay:{app_did}:events"), joined: BTreeSet::new() }
    }

    /// The answer to a client's frame; `None` for what is no frame.
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

    /// The frame that tells of an event, to who has joined: its name and its ids.
    pub fn told(&self, event: &PublicEvent) -> Option<String> {
        let frame = || json!([null, null, self.own, event.name, { "status": "ok", "response": event.ids }]).to_string();
        self.joined.contains(&self.own).then(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_joined_the_stores_channel_is_told() {
        let event = PublicEvent { name: "invoice.paid".to_owned(), ids: [("id".to_owned(), "in_1".to_owned())].into() };
        let mut channels = Channels::of("z1");
        assert_eq!(channels.told(&event), None);
        channels.answer(r#"["1","1","relay:z2:events","phx_join",{}]"#).expect("an answer");
        assert_eq!(channels.told(&event), None, "another channel");
        channels.answer(r#"["2","2","relay:z1:events","phx_join",{}]"#).expect("an answer");
        let told = r#"[null,null,"relay:z1:events","invoice.paid",{"response":{"id":"in_1"},"status":"ok"}]"#;
        assert_eq!(channels.told(&event).as_deref(), Some(told));
        channels.answer(r#"["2","3","relay:z1:events","phx_leave",{}]"#).expect("an answer");
        assert_eq!(channels.told(&event), None);
    }

    #[test]
    fn a_listener_joins_only_so_many_channels() {
        let mut channels = Channels::of("z1");
        let mut join = |n: usize| channels.answer(&json!(["1", "1", format!("relay:{n}:events"), "phx_join", {}]).to_string());
        for n in 0..TOPICS_MAX {
            assert!(join(n).expect("an answer").contains(r#""status":"ok""#));
        }
        assert!(join(TOPICS_MAX).expect("an answer").contains(r#""status":"error""#));
    }
}
