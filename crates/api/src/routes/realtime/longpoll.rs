//! The relay over long polling, for networks that block websockets. A poll without a token opens a session and receives 410 with
//! the session's token; a poll with a token waits for frames. The status is in the body, where Phoenix clients expect it.
//!
//! A session exists only in the process that opened it. A poll that reaches another process opens a new session there, and the client
//! joins its channels again.

use super::channels::{Channels, FRAME_MAX, Received};
use super::state_after_join;
use crate::limits::SocketPermit;
use crate::problem::Problem;
use crate::state::App;
use poem::web::{Data, Json, Query};
use poem::{Body, Request, handler};
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::events::{RealtimeMessage, Subscription};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a poll waits for a frame (SPEC.md 9).
const POLL_TIMEOUT: Duration = Duration::from_secs(5);
/// A session without requests for this long is closed. Until then it counts as an open connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum age of a session; afterwards the client opens a new one and reloads its data.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// Maximum number of pending frames; beyond it the oldest are dropped, as for a websocket that is too slow.
const PENDING_MAX: usize = 64;
/// Maximum body of a push, in bytes.
const PUSH_MAX: usize = 4 * FRAME_MAX;

/// The open sessions by token. Each holds a permit of [`crate::Limits`], which limits sessions per address and in total.
#[derive(Clone)]
pub struct LongPollSessions {
    open: Arc<Mutex<HashMap<String, Arc<LongPollSession>>>>,
    idle_timeout: Duration,
}

impl Default for LongPollSessions {
    fn default() -> Self {
        Self { open: Arc::default(), idle_timeout: IDLE_TIMEOUT }
    }
}

struct LongPollSession {
    state: Mutex<SessionState>,
    /// Notified when a frame is enqueued or another poll arrives.
    changed: Notify,
    /// Notified on every request of the client.
    active: Notify,
}

struct SessionState {
    channels: Channels,
    pending: VecDeque<String>,
    /// Number of polls so far. Only the newest one waits, so that a session holds at most one request open.
    polls: u64,
}

#[derive(Deserialize)]
pub struct PollQuery {
    #[serde(default)]
    token: String,
}

#[handler]
pub async fn poll(
    app: Data<&Arc<App>>,
    sessions: Data<&LongPollSessions>,
    query: Query<PollQuery>,
    request: &Request,
) -> Result<Json<Value>, Problem> {
    let Some(session) = sessions.find(&query.token) else {
        let permit = app.limits.admit_socket(request)?;
        let channels = Channels::of(&app, request).await?;
        let token = hex::encode(app.ctx.random.bytes::<32>());
        let events = channels.events(&app);
        sessions.open(&token, channels, events, permit);
        return Ok(Json(json!({ "status": 410, "token": token, "messages": [] })));
    };
    let messages = timeout(POLL_TIMEOUT, session.fetch()).await.unwrap_or_default();
    session.active.notify_one();
    let status = if messages.is_empty() { 204 } else { 200 };
    Ok(Json(json!({ "status": status, "token": query.token, "messages": messages })))
}

/// Accepts frames, one per line of the body; the next poll returns the replies.
#[handler]
pub async fn push(
    app: Data<&Arc<App>>,
    sessions: Data<&LongPollSessions>,
    query: Query<PollQuery>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let Some(session) = sessions.find(&query.token) else { return Ok(Json(json!({ "status": 410 }))) };
    let body = body.into_bytes_limit(PUSH_MAX).await.map_err(|_| Problem::bad("The frames are too long").code("BODY_TOO_LARGE"))?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::bad("The frames are not UTF-8").code("BAD_FRAMES"))?;
    session.active.notify_one();
    for frame in text.lines().filter(|frame| !frame.trim().is_empty()) {
        let received = if frame.len() > FRAME_MAX { None } else { session.receive(frame) };
        let Some(Received { joined_session, .. }) = received else {
            sessions.close(&query.token);
            return Ok(Json(json!({ "status": 410 })));
        };
        if let Some(state) = state_after_join(&app, joined_session).await {
            session.notify(&state);
        }
    }
    Ok(Json(json!({ "status": 200 })))
}

impl LongPollSessions {
    fn find(&self, token: &str) -> Option<Arc<LongPollSession>> {
        let session = self.lock().get(token).cloned()?;
        session.active.notify_one();
        Some(session)
    }

    fn close(&self, token: &str) {
        self.lock().remove(token);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<LongPollSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session that collects events until it is idle, too old, or the event source ends.
    fn open(&self, token: &str, channels: Channels, mut events: Box<dyn Subscription>, permit: SocketPermit) {
        let session = Arc::new(LongPollSession {
            state: Mutex::new(SessionState { channels, pending: VecDeque::new(), polls: 0 }),
            changed: Notify::new(),
            active: Notify::new(),
        });
        self.lock().insert(token.to_owned(), Arc::clone(&session));
        let (sessions, token) = (self.clone(), token.to_owned());
        tokio::spawn(async move {
            let forward_events = async {
                while let Some(message) = events.next().await {
                    session.notify(&message);
                }
            };
            let until_idle = async { while timeout(sessions.idle_timeout, session.active.notified()).await.is_ok() {} };
            tokio::select! {
                () = forward_events => {}
                () = until_idle => {}
                () = tokio::time::sleep(LIFETIME) => {}
            }
            sessions.close(&token);
            drop(permit);
        });
    }
}

impl LongPollSession {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, message: &RealtimeMessage) {
        let mut state = self.state();
        if let Some(frame) = state.channels.frame(message) {
            state.enqueue(frame);
            self.changed.notify_waiters();
        }
    }

    /// Handles a client's frame and enqueues the reply. `None` if the frame is malformed.
    fn receive(&self, frame: &str) -> Option<Received> {
        let mut state = self.state();
        let received = state.channels.receive(frame)?;
        state.enqueue(received.reply.clone());
        self.changed.notify_waiters();
        Some(received)
    }

    /// Waits for pending frames and returns them; returns none if a newer poll arrives.
    async fn fetch(&self) -> Vec<String> {
        let poll_number = {
            let mut state = self.state();
            state.polls += 1;
            state.polls
        };
        self.changed.notify_waiters();
        loop {
            // Register before reading the state, so that a notification in between is not missed.
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if state.polls != poll_number || !state.pending.is_empty() {
                    return if state.polls == poll_number { state.pending.drain(..).collect() } else { Vec::new() };
                }
            }
            changed.await;
        }
    }
}

impl SessionState {
    fn enqueue(&mut self, frame: String) {
        if self.pending.len() >= PENDING_MAX {
            self.pending.pop_front();
        }
        self.pending.push_back(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use poem::Request;
    use poem::web::{LocalAddr, RemoteAddr};
    use souk_domain::events::{Audience, PublicEvent};
    use tokio::sync::mpsc;

    struct TestSubscription(mpsc::UnboundedReceiver<RealtimeMessage>);

    #[async_trait]
    impl Subscription for TestSubscription {
        async fn next(&mut self) -> Option<RealtimeMessage> {
            self.0.recv().await
        }
    }

    fn joined() -> (LongPollSessions, Arc<LongPollSession>, mpsc::UnboundedSender<RealtimeMessage>) {
        let (sessions, (sender, receiver)) = (LongPollSessions::default(), mpsc::unbounded_channel());
        let permit = crate::Limits::default().admit_socket(&Request::default()).expect("a permit");
        sessions.open("t", channels(), Box::new(TestSubscription(receiver)), permit);
        let session = sessions.find("t").expect("the session");
        assert!(session.receive(r#"["1","1","relay:z1:events","phx_join",{}]"#).is_some());
        assert_eq!(session.state().pending.drain(..).count(), 1);
        (sessions, session, sender)
    }

    fn channels() -> Channels {
        Channels::new("z1", listener(), crate::Limits::default().joins_of(&Request::default()))
    }

    fn listener() -> Audience {
        Audience { user: Some("z1user".to_owned()), browser: None }
    }

    fn event(id: usize) -> RealtimeMessage {
        let ids = [("id".to_owned(), format!("in_{id}"))].into();
        RealtimeMessage::Event(PublicEvent { name: "invoice.paid".to_owned(), ids, audience: listener() })
    }

    #[tokio::test]
    async fn a_newer_poll_ends_the_waiting_one() {
        let (_lines, session, sender) = joined();
        let older = tokio::spawn({
            let session = Arc::clone(&session);
            async move { session.fetch().await }
        });
        while session.state().polls == 0 {
            tokio::task::yield_now().await;
        }
        let newer = tokio::spawn(async move { session.fetch().await });
        assert_eq!(older.await.expect("ends"), Vec::<String>::new());
        sender.send(event(1)).expect("listens");
        assert_eq!(newer.await.expect("ends").len(), 1);
    }

    #[tokio::test]
    async fn the_oldest_frames_are_dropped_beyond_the_limit() {
        let (_lines, session, _sender) = joined();
        for id in 0..=PENDING_MAX {
            session.notify(&event(id));
        }
        let frames = session.fetch().await;
        assert_eq!(frames.len(), PENDING_MAX);
        assert!(frames[0].contains("in_1"), "{}", frames[0]);
    }

    #[tokio::test]
    async fn an_idle_session_is_closed_and_releases_its_permit() {
        let limits = crate::Limits::default();
        let from = RemoteAddr(poem::Addr::SocketAddr("192.0.2.1:1".parse().expect("an address")));
        let parts = poem::http::Request::new(()).into_parts().0;
        let request = Request::from_parts((parts, LocalAddr::default(), from, poem::http::uri::Scheme::HTTP).into(), Body::empty());
        let sessions = LongPollSessions { idle_timeout: Duration::from_millis(1), ..LongPollSessions::default() };
        let (_sender, receiver) = mpsc::unbounded_channel();
        sessions.open("t", channels(), Box::new(TestSubscription(receiver)), limits.admit_socket(&request).expect("a permit"));
        while sessions.find("t").is_some() || limits.open_sockets() > 0 {
            // `find` counts as activity, so wait longer than the idle timeout before calling it again.
            timeout(Duration::from_millis(20), std::future::pending::<()>()).await.expect_err("nothing comes");
        }
    }

    #[tokio::test]
    async fn a_session_ends_with_the_event_source() {
        let (sessions, _session, sender) = joined();
        drop(sender);
        while sessions.find("t").is_some() {
            tokio::task::yield_now().await;
        }
    }
}
