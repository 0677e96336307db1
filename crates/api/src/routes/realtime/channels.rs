//! The channels that a realtime client has joined, independent of the transport.

use super::frame::{Frame, reply};
use crate::auth::{LOGIN_COOKIE, browser_mark, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use serde_json::json;
use souk_domain::access;
use souk_domain::events::{Audience, ConnectUpdate, PublicEvent, RealtimeMessage};
use std::collections::BTreeSet;

/// Maximum number of channels that a client can join.
const TOPICS_MAX: usize = 8;
/// Maximum frame of a client, in bytes.
pub const FRAME_MAX: usize = 4 * 1024;
/// Maximum length of a channel name, in bytes.
const TOPIC_MAX: usize = 200;

/// Length of the tokens of connect sessions, in bytes.
const TOKEN_LENGTH: usize = 32;

pub struct Channels {
    /// The names of this store's channels begin with it.
    prefix: String,
    /// The channel of this store, the only one that carries events.
    store_channel: String,
    joined: BTreeSet<String>,
    /// Whose page the client is.
    listener: Audience,
}

impl Channels {
    pub fn new(app_did: &str, listener: Audience) -> Self {
        let prefix = format!("relay:{app_did}:");
        Self { store_channel: format!("{prefix}events"), prefix, joined: BTreeSet::new(), listener }
    }

    /// The channels of a new client, who is the user of the login cookie and the browser of the visitor cookie of `request`.
    pub async fn of(app: &App, request: &Request) -> Result<Self, Problem> {
        let caller = match cookie(request, LOGIN_COOKIE) {
            Some(token) => access::caller_of(&app.ctx, &token_hash(token)).await?,
            None => None,
        };
        let user = caller.map(|caller| caller.user.did.to_string());
        let listener = Audience { user, browser: browser_mark(request).map(|mark| mark.0) };
        Ok(Self::new(app.did_auth_tokens.app_did().as_str(), listener))
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

    /// The token of the connect session whose channel the client has joined by this frame.
    pub fn session_joined_by(&self, text: &str) -> Option<String> {
        let frame = Frame::parse(text).filter(|frame| frame.event == "phx_join" && self.joined.contains(&frame.topic))?;
        frame.topic.strip_prefix(&self.prefix).filter(|token| token.len() == TOKEN_LENGTH).map(ToOwned::to_owned)
    }

    /// The frame of a message; `None` if the client has not joined its channel.
    pub fn frame(&self, message: &RealtimeMessage) -> Option<String> {
        match message {
            RealtimeMessage::Event(event) => self.event_frame(event),
            RealtimeMessage::Connect(update) => self.update_frame(update),
        }
    }

    /// The frame with the state of a connect session; `None` if the client has not joined the channel of its token.
    fn update_frame(&self, update: &ConnectUpdate) -> Option<String> {
        let channel = format!("{}{}", self.prefix, update.token);
        let mut state = json!({ "status": update.status, "updatedAt": update.updated_at.to_iso(), "mfaCode": 0 });
        if !update.error.is_empty() {
            state["error"] = json!(update.error);
        }
        let frame = || json!([null, null, channel, "updated", { "status": "ok", "response": state }]).to_string();
        self.joined.contains(&channel).then(frame)
    }

    /// The frame with an event's name and ids; `None` if the client has not joined the store's channel, or the event is not for it.
    fn event_frame(&self, event: &PublicEvent) -> Option<String> {
        let frame = || json!([null, null, self.store_channel, event.name, { "status": "ok", "response": event.ids }]).to_string();
        (self.joined.contains(&self.store_channel) && event.audience.includes(&self.listener)).then(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::shared::Timestamp;

    #[test]
    fn only_clients_of_the_stores_channel_receive_events() {
        let audience = Audience { user: Some("z1user".to_owned()), browser: None };
        let ids = [("id".to_owned(), "in_1".to_owned())].into();
        let event = PublicEvent { name: "invoice.paid".to_owned(), ids, audience: audience.clone() };
        let mut channels = Channels::new("z1", audience);
        assert_eq!(channels.event_frame(&event), None);
        channels.answer(r#"["1","1","relay:z2:events","phx_join",{}]"#).expect("an answer");
        assert_eq!(channels.event_frame(&event), None, "another channel");
        channels.answer(r#"["2","2","relay:z1:events","phx_join",{}]"#).expect("an answer");
        let frame = r#"[null,null,"relay:z1:events","invoice.paid",{"response":{"id":"in_1"},"status":"ok"}]"#;
        assert_eq!(channels.event_frame(&event).as_deref(), Some(frame));
        let others = PublicEvent { audience: Audience { user: Some("z1other".to_owned()), browser: None }, ..event.clone() };
        assert_eq!(channels.event_frame(&others), None, "another user's event");
        channels.answer(r#"["2","3","relay:z1:events","phx_leave",{}]"#).expect("an answer");
        assert_eq!(channels.event_frame(&event), None);
    }

    #[test]
    fn only_clients_that_know_its_token_receive_the_state_of_a_connect_session() {
        let token = "0f".repeat(TOKEN_LENGTH / 2);
        let updated_at = Timestamp::from_seconds(1_700_000_000);
        let scanned = ConnectUpdate { token: token.clone(), status: "scanned".to_owned(), error: String::new(), updated_at };
        let failed = ConnectUpdate { status: "error".to_owned(), error: "Declined".to_owned(), ..scanned.clone() };
        let mut channels = Channels::new("z1", Audience::default());
        for topic in ["relay:z1:events".to_owned(), format!("relay:z2:{token}"), format!("relay:z1:{}", "1f".repeat(16))] {
            let join = json!(["1", "1", topic, "phx_join", {}]).to_string();
            channels.answer(&join).expect("an answer");
            assert_ne!(channels.session_joined_by(&join), Some(token.clone()), "{topic}");
            assert_eq!(channels.frame(&RealtimeMessage::Connect(scanned.clone())), None, "{topic}");
        }
        let join = json!(["2", "2", format!("relay:z1:{token}"), "phx_join", {}]).to_string();
        assert_eq!(channels.session_joined_by(&join), None, "not joined yet");
        channels.answer(&join).expect("an answer");
        assert_eq!(channels.session_joined_by(&join), Some(token.clone()));
        for (update, state) in [
            (scanned, json!({ "status": "scanned", "updatedAt": "2023-11-14T22:13:20.000Z", "mfaCode": 0 })),
            (failed, json!({ "status": "error", "updatedAt": "2023-11-14T22:13:20.000Z", "mfaCode": 0, "error": "Declined" })),
        ] {
            let frame = json!([null, null, format!("relay:z1:{token}"), "updated", { "status": "ok", "response": state }]);
            assert_eq!(channels.frame(&RealtimeMessage::Connect(update)), Some(frame.to_string()));
        }
    }

    #[test]
    fn the_number_of_joined_channels_is_limited() {
        let mut channels = Channels::new("z1", Audience::default());
        let mut join = |n: usize| channels.answer(&json!(["1", "1", format!("relay:{n}:events"), "phx_join", {}]).to_string());
        for n in 0..TOPICS_MAX {
            assert!(join(n).expect("an answer").contains(r#""status":"ok""#));
        }
        assert!(join(TOPICS_MAX).expect("an answer").contains(r#""status":"error""#));
    }
}
