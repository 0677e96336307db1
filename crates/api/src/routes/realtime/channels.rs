//! The channels that a realtime client has joined, independent of the transport.

use super::frame::{Frame, reply};
use super::login_events::{LoginEvents, PageLogin};
use crate::auth::{LOGIN_COOKIE, browser_mark, cookie, token_hash};
use crate::limits::JoinLimit;
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use serde_json::json;
use souk_domain::access;
use souk_domain::events::{Audience, ConnectUpdate, PublicEvent, RealtimeMessage, Subscription};
use std::collections::BTreeSet;
use std::sync::Arc;

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
    /// `None`: the client is not signed in.
    login: Option<PageLogin>,
    joins: JoinLimit,
}

/// The answer to a client's frame.
pub struct Received {
    pub reply: String,
    /// The token of the connect session whose channel the client has joined by this frame.
    pub joined_session: Option<String>,
}

impl Channels {
    pub fn new(app_did: &str, listener: Audience, joins: JoinLimit) -> Self {
        let prefix = format!("relay:{app_did}:");
        Self { store_channel: format!("{prefix}events"), prefix, joined: BTreeSet::new(), listener, login: None, joins }
    }

    /// The channels of a new client, who is the user of the login cookie and the browser of the visitor cookie of `request`.
    pub async fn of(app: &App, request: &Request) -> Result<Self, Problem> {
        let token = cookie(request, LOGIN_COOKIE).map(token_hash);
        let caller = match &token {
            Some(token) => access::caller_of(&app.ctx, token).await?,
            None => None,
        };
        let user = caller.map(|caller| caller.user.did.to_string());
        let listener = Audience { user, browser: browser_mark(request).map(|mark| mark.0) };
        let login = token.filter(|_| listener.user.is_some()).map(|token| PageLogin { token, listener: listener.clone() });
        Ok(Self { login, ..Self::new(app.did_auth_tokens.app_did().as_str(), listener, app.limits.joins_of(request)) })
    }

    /// The messages from now on, until the client's login ends.
    pub fn events(&self, app: &Arc<App>) -> Box<dyn Subscription> {
        let events = app.realtime.subscribe();
        match self.login.clone() {
            Some(login) => Box::new(LoginEvents { app: Arc::clone(app), login, events, unchecked: None }),
            None => events,
        }
    }

    /// Handles a client's frame; `None` if the frame is malformed.
    pub fn receive(&mut self, text: &str) -> Option<Received> {
        let frame = Frame::parse(text)?;
        let answer = |status| Received { reply: reply(&frame, status), joined_session: None };
        Some(match frame.event.as_str() {
            "phx_join" if self.may_join(&frame.topic) => {
                self.joined.insert(frame.topic.clone());
                let token = frame.topic.strip_prefix(&self.prefix).filter(|token| token.len() == TOKEN_LENGTH);
                Received { joined_session: token.map(ToOwned::to_owned), ..answer("ok") }
            }
            "phx_leave" => {
                self.joined.remove(&frame.topic);
                answer("ok")
            }
            "heartbeat" => answer("ok"),
            _ => answer("error"),
        })
    }

    fn may_join(&self, topic: &str) -> bool {
        self.joined.len() < TOPICS_MAX && topic.len() <= TOPIC_MAX && self.joins.admit()
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
    use crate::Limits;
    use souk_domain::shared::Timestamp;

    fn channels(listener: Audience) -> Channels {
        Channels::new("z1", listener, Limits::default().joins_of(&Request::default()))
    }

    fn join(channels: &mut Channels, topic: &str) -> Received {
        channels.receive(&json!(["1", "1", topic, "phx_join", {}]).to_string()).expect("an answer")
    }

    #[test]
    fn only_clients_of_the_stores_channel_receive_events() {
        let audience = Audience { user: Some("z1user".to_owned()), browser: None };
        let ids = [("id".to_owned(), "in_1".to_owned())].into();
        let event = PublicEvent { name: "invoice.paid".to_owned(), ids, audience: audience.clone() };
        let mut channels = channels(audience);
        assert_eq!(channels.event_frame(&event), None);
        join(&mut channels, "relay:z2:events");
        assert_eq!(channels.event_frame(&event), None, "another channel");
        join(&mut channels, "relay:z1:events");
        let frame = r#"[null,null,"relay:z1:events","invoice.paid",{"response":{"id":"in_1"},"status":"ok"}]"#;
        assert_eq!(channels.event_frame(&event).as_deref(), Some(frame));
        let others = PublicEvent { audience: Audience { user: Some("z1other".to_owned()), browser: None }, ..event.clone() };
        assert_eq!(channels.event_frame(&others), None, "another user's event");
        channels.receive(r#"["2","3","relay:z1:events","phx_leave",{}]"#).expect("an answer");
        assert_eq!(channels.event_frame(&event), None);
    }

    #[test]
    fn only_clients_that_know_its_token_receive_the_state_of_a_connect_session() {
        let token = "0f".repeat(TOKEN_LENGTH / 2);
        let updated_at = Timestamp::from_seconds(1_700_000_000);
        let scanned = ConnectUpdate { token: token.clone(), status: "scanned".to_owned(), error: String::new(), updated_at };
        let failed = ConnectUpdate { status: "error".to_owned(), error: "Declined".to_owned(), ..scanned.clone() };
        let mut channels = channels(Audience::default());
        for topic in ["relay:z1:events".to_owned(), format!("relay:z2:{token}"), format!("relay:z1:{}", "1f".repeat(16))] {
            assert_ne!(join(&mut channels, &topic).joined_session, Some(token.clone()), "{topic}");
            assert_eq!(channels.frame(&RealtimeMessage::Connect(scanned.clone())), None, "{topic}");
        }
        assert_eq!(join(&mut channels, &format!("relay:z1:{token}")).joined_session, Some(token.clone()));
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
        let mut channels = channels(Audience::default());
        for n in 0..TOPICS_MAX {
            assert!(join(&mut channels, &format!("relay:{n}:events")).reply.contains(r#""status":"ok""#));
        }
        assert!(join(&mut channels, "relay:z1:events").reply.contains(r#""status":"error""#));
    }

    #[test]
    fn a_client_that_joins_again_and_again_is_refused_and_costs_no_reads() {
        let (mut channels, topic) = (channels(Audience::default()), format!("relay:z1:{}", "0f".repeat(16)));
        let joined: Vec<_> = (0..100).map(|_| join(&mut channels, &topic)).collect();
        let is_refused = |received: &&Received| received.reply.contains(r#""status":"error""#);
        assert!(joined.iter().filter(is_refused).count() > 70);
        assert!(joined.iter().filter(is_refused).all(|received| received.joined_session.is_none()));
    }
}
