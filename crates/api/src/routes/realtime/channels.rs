//! The channels that a realtime client has joined, independent of the transport.

use super::frame::{Frame, reply};
use crate::auth::{LOGIN_COOKIE, browser_mark, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use serde_json::json;
use souk_domain::access;
use souk_domain::events::{Audience, PublicEvent};
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
    /// Whose page the client is.
    listener: Audience,
}

impl Channels {
    pub fn new(app_did: &str, listener: Audience) -> Self {
        Self { store_channel: format!("relay:{app_did}:events"), joined: BTreeSet::new(), listener }
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

    /// The frame with an event's name and ids; `None` if the client has not joined the store's channel, or the event is not for it.
    pub fn event_frame(&self, event: &PublicEvent) -> Option<String> {
        let frame = || json!([null, null, self.store_channel, event.name, { "status": "ok", "response": event.ids }]).to_string();
        (self.joined.contains(&self.store_channel) && event.audience.includes(&self.listener)).then(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_number_of_joined_channels_is_limited() {
        let mut channels = Channels::new("z1", Audience::default());
        let mut join = |n: usize| channels.answer(&json!(["1", "1", format!("relay:{n}:events"), "phx_join", {}]).to_string());
        for n in 0..TOPICS_MAX {
            assert!(join(n).expect("an answer").contains(r#""status":"ok""#));
        }
        assert!(join(TOPICS_MAX).expect("an answer").contains(r#""status":"error""#));
    }
}
