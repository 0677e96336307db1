//! The relay over a long poll, for where websockets are blocked. A poll without a token opens a line and is answered 410 with
//! its token; one with a token waits for frames. The status stands in the body, as Phoenix' clients read it.
//!
//! A line lives in the process that opened it. A poll that reaches another one opens a new line there, and its client joins again.

use super::channels::{Channels, FRAME_MAX};
use crate::limits::SocketPlace;
use crate::problem::Problem;
use crate::state::App;
use poem::web::{Data, Json, Query};
use poem::{Body, Request, handler};
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::events::{PublicEvent, Subscription};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a poll waits for a frame (SPEC.md 9).
const WINDOW: Duration = Duration::from_secs(5);
/// A line that nobody polls for this long is closed. Its place counts as a socket's until then.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// No line is older; its client opens another and asks anew for what it shows.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// Frames that wait to be fetched. Of more, the oldest are gone, as for a socket that is too slow.
const WAITING_MAX: usize = 64;
/// Largest body of a push, in bytes.
const PUSH_MAX: usize = 4 * FRAME_MAX;

/// The open lines by their tokens. Each keeps a place of [`crate::Limits`]: so many of one address, so many in all.
#[derive(Clone)]
pub struct LongPollSessions {
    open: Arc<Mutex<HashMap<String, Arc<Line>>>>,
    silence: Duration,
}

impl Default for LongPollSessions {
    fn default() -> Self {
        Self { open: Arc::default(), silence: SILENCE_MAX }
    }
}

struct Line {
    state: Mutex<LineState>,
    /// There are frames, or another poll has come.
    stirred: Notify,
    /// The client has called.
    heard: Notify,
}

struct LineState {
    channels: Channels,
    waiting: VecDeque<String>,
    /// How many polls have come. Only the newest waits, so that a line holds one call open.
    polls: u64,
}

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    token: String,
}

#[handler]
pub async fn poll(
    app: Data<&Arc<App>>,
    lines: Data<&LongPollSessions>,
    asked: Query<Asked>,
    request: &Request,
) -> Result<Json<Value>, Problem> {
    let Some(line) = lines.find(&asked.token) else {
        let place = app.limits.admit_socket(request)?;
        let token = hex::encode(app.ctx.random.bytes::<32>());
        lines.open(&token, Channels::of(app.envelopes.app_did().as_str()), app.realtime.subscribe(), place);
        return Ok(Json(json!({ "status": 410, "token": token, "messages": [] })));
    };
    let messages = timeout(WINDOW, line.fetch()).await.unwrap_or_default();
    line.heard.notify_one();
    let status = if messages.is_empty() { 204 } else { 200 };
    Ok(Json(json!({ "status": status, "token": asked.token, "messages": messages })))
}

/// Takes frames, one in each line of the body; they are answered by the next poll.
#[handler]
pub async fn push(lines: Data<&LongPollSessions>, asked: Query<Asked>, body: Body) -> Result<Json<Value>, Problem> {
    let Some(line) = lines.find(&asked.token) else { return Ok(Json(json!({ "status": 410 }))) };
    let body = body.into_bytes_limit(PUSH_MAX).await.map_err(|_| Problem::bad("The frames are too long"))?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::bad("The frames are not UTF-8"))?;
    line.heard.notify_one();
    for frame in text.lines().filter(|frame| !frame.trim().is_empty()) {
        if frame.len() > FRAME_MAX || !line.take(frame) {
            lines.close(&asked.token);
            return Ok(Json(json!({ "status": 410 })));
        }
    }
    Ok(Json(json!({ "status": 200 })))
}

impl LongPollSessions {
    fn find(&self, token: &str) -> Option<Arc<Line>> {
        let line = self.held().get(token).cloned()?;
        line.heard.notify_one();
        Some(line)
    }

    fn close(&self, token: &str) {
        self.held().remove(token);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Arc<Line>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new line, which listens from now until its client is gone.
    fn open(&self, token: &str, channels: Channels, mut events: Box<dyn Subscription>, place: SocketPlace) {
        let line = Arc::new(Line {
            state: Mutex::new(LineState { channels, waiting: VecDeque::new(), polls: 0 }),
            stirred: Notify::new(),
            heard: Notify::new(),
        });
        self.held().insert(token.to_owned(), Arc::clone(&line));
        let (lines, token) = (self.clone(), token.to_owned());
        tokio::spawn(async move {
            let listening = async {
                while let Some(event) = events.next().await {
                    line.tell(&event);
                }
            };
            let present = async { while timeout(lines.silence, line.heard.notified()).await.is_ok() {} };
            tokio::select! {
                () = listening => {}
                () = present => {}
                () = tokio::time::sleep(LIFETIME) => {}
            }
            lines.close(&token);
            drop(place);
        });
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &PublicEvent) {
        let mut state = self.state();
        if let Some(frame) = state.channels.told(event) {
            state.keep(frame);
            self.stirred.notify_waiters();
        }
    }

    /// Answers a client's frame. False: it is none.
    fn take(&self, frame: &str) -> bool {
        let mut state = self.state();
        let Some(answer) = state.channels.answer(frame) else { return false };
        state.keep(answer);
        self.stirred.notify_waiters();
        true
    }

    /// The frames that wait, as soon as there is one; nothing, when a newer poll has come.
    async fn fetch(&self) -> Vec<String> {
        let own = {
            let mut state = self.state();
            state.polls += 1;
            state.polls
        };
        self.stirred.notify_waiters();
        loop {
            // Before the look, so that what comes after it is not missed.
            let stirred = self.stirred.notified();
            {
                let mut state = self.state();
                if state.polls != own || !state.waiting.is_empty() {
                    return if state.polls == own { state.waiting.drain(..).collect() } else { Vec::new() };
                }
            }
            stirred.await;
        }
    }
}

impl LineState {
    fn keep(&mut self, frame: String) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use poem::Request;
    use poem::web::{LocalAddr, RemoteAddr};
    use tokio::sync::mpsc;

    struct TestSubscription(mpsc::UnboundedReceiver<PublicEvent>);

    #[async_trait]
    impl Subscription for TestSubscription {
        async fn next(&mut self) -> Option<PublicEvent> {
            self.0.recv().await
        }
    }

    fn joined() -> (LongPollSessions, Arc<Line>, mpsc::UnboundedSender<PublicEvent>) {
        let (lines, (tell, told)) = (LongPollSessions::default(), mpsc::unbounded_channel());
        let place = crate::Limits::default().admit_socket(&Request::default()).expect("a place");
        lines.open("t", Channels::of("z1"), Box::new(TestSubscription(told)), place);
        let line = lines.find("t").expect("the line");
        assert!(line.take(r#"["1","1","relay:z1:events","phx_join",{}]"#));
        assert_eq!(line.state().waiting.drain(..).count(), 1);
        (lines, line, tell)
    }

    fn event(id: usize) -> PublicEvent {
        PublicEvent { name: "invoice.paid".to_owned(), ids: [("id".to_owned(), format!("in_{id}"))].into() }
    }

    #[tokio::test]
    async fn a_newer_poll_takes_the_place_of_the_one_that_waits() {
        let (_lines, line, tell) = joined();
        let older = tokio::spawn({
            let line = Arc::clone(&line);
            async move { line.fetch().await }
        });
        while line.state().polls == 0 {
            tokio::task::yield_now().await;
        }
        let newer = tokio::spawn(async move { line.fetch().await });
        assert_eq!(older.await.expect("ends"), Vec::<String>::new());
        tell.send(event(1)).expect("listens");
        assert_eq!(newer.await.expect("ends").len(), 1);
    }

    #[tokio::test]
    async fn of_too_many_frames_the_oldest_are_gone() {
        let (_lines, line, _tell) = joined();
        for id in 0..=WAITING_MAX {
            line.tell(&event(id));
        }
        let frames = line.fetch().await;
        assert_eq!(frames.len(), WAITING_MAX);
        assert!(frames[0].contains("in_1"), "{}", frames[0]);
    }

    #[tokio::test]
    async fn a_line_that_nobody_polls_is_closed_and_gives_its_place_back() {
        let limits = crate::Limits::default();
        let from = RemoteAddr(poem::Addr::SocketAddr("192.0.2.1:1".parse().expect("an address")));
        let parts = poem::http::Request::new(()).into_parts().0;
        let request = Request::from_parts((parts, LocalAddr::default(), from, poem::http::uri::Scheme::HTTP).into(), Body::empty());
        let lines = LongPollSessions { silence: Duration::from_millis(1), ..LongPollSessions::default() };
        let (_tell, told) = mpsc::unbounded_channel();
        lines.open("t", Channels::of("z1"), Box::new(TestSubscription(told)), limits.admit_socket(&request).expect("a place"));
        while lines.find("t").is_some() || limits.open_sockets() > 0 {
            // Every look is a call: it has to come later than the line's patience.
            timeout(Duration::from_millis(20), std::future::pending::<()>()).await.expect_err("nothing comes");
        }
    }

    #[tokio::test]
    async fn a_line_ends_when_the_store_does() {
        let (lines, _line, tell) = joined();
        drop(tell);
        while lines.find("t").is_some() {
            tokio::task::yield_now().await;
        }
    }
}
