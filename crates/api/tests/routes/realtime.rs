//! The realtime relay, whose frames contain only names and ids.

use crate::app::{Browser, TestApp};
use futures_util::{SinkExt, StreamExt};
use poem::Server;
use poem::http::Method;
use poem::listener::{Acceptor, Listener, TcpListener};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

/// Checks the events of a purchase, for both transports.
fn assert_events(mut events: Vec<Value>, topic: &str, session: &str) {
    events.sort_by_key(|event| event[3].to_string());
    assert_eq!(events[0], json!([null, null, topic, "checkout.session.completed", { "status": "ok", "response": { "id": session } }]));
    assert_eq!(events[1][3], "invoice.paid");
    let names: Vec<_> = events[1][4]["response"].as_object().expect("ids").keys().cloned().collect();
    assert_eq!(names, ["currency_id", "customer_id", "id"]);
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn a_page_receives_the_id_of_its_completed_session() {
    let app = TestApp::open().await;
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
    let address = *acceptor.local_addr()[0].as_socket_addr().expect("an address");
    let server = tokio::spawn(Server::new_with_acceptor(acceptor).run(app.service()));
    let (mut page, _) =
        tokio_tungstenite::connect_async(format!("ws://{address}/.well-known/service/relay/websocket?vsn=2.0.0")).await.expect("connects");
    let topic = format!("relay:{}:events", app.app_key.did());
    let mut next = async |sent: Option<Value>| -> Value {
        if let Some(sent) = sent {
            page.send(Message::text(sent.to_string())).await.expect("sends");
        }
        let heard = tokio::time::timeout(Duration::from_secs(10), page.next()).await.expect("in time").expect("a frame").expect("a frame");
        serde_json::from_str(heard.to_text().expect("text")).expect("JSON")
    };
    let joined = next(Some(json!(["1", "1", topic, "phx_join", {}]))).await;
    assert_eq!(joined, json!(["1", "1", topic, "phx_reply", { "status": "ok", "response": {} }]));
    let beat = next(Some(json!([null, "2", "phoenix", "heartbeat", {}]))).await;
    assert_eq!(beat, json!([null, "2", "phoenix", "phx_reply", { "status": "ok", "response": {} }]));

    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    assert_events(vec![next(None).await, next(None).await], &topic, &session);
    server.abort();
    app.finish().await;
}

const LONGPOLL: &str = "/.well-known/service/relay/longpoll?vsn=2.0.0";

/// A page that uses long polling.
struct Poller {
    browser: Browser,
    token: String,
}

impl Poller {
    async fn open(app: &TestApp) -> Self {
        let browser = app.browser();
        let opened = browser.get(LONGPOLL).await.json();
        assert_eq!((opened["status"].as_u64(), &opened["messages"]), (Some(410), &json!([])));
        Self { browser, token: opened["token"].as_str().expect("a token").to_owned() }
    }

    async fn poll(&self) -> (u64, Vec<Value>) {
        let answer = self.browser.get(&format!("{LONGPOLL}&token={}", self.token)).await.json();
        let frames = answer["messages"].as_array().expect("messages").iter();
        let frames = frames.map(|frame| serde_json::from_str(frame.as_str().expect("text")).expect("JSON")).collect();
        (answer["status"].as_u64().expect("a status"), frames)
    }

    async fn push(&self, frames: &str) -> u64 {
        let call = self.browser.call(Method::POST, &format!("{LONGPOLL}&token={}", self.token));
        call.body("application/x-ndjson", frames.as_bytes().to_vec()).send().await.json()["status"].as_u64().expect("a status")
    }

    async fn join(&self, topic: &str) {
        let frames = format!("{}\n{}", json!(["1", "1", topic, "phx_join", {}]), json!([null, "2", "phoenix", "heartbeat", {}]));
        assert_eq!(self.push(&frames).await, 200);
        let (status, replies) = self.poll().await;
        let ok = json!({ "status": "ok", "response": {} });
        assert_eq!(status, 200);
        assert_eq!(replies, [json!(["1", "1", topic, "phx_reply", ok]), json!([null, "2", "phoenix", "phx_reply", ok])]);
    }
}

#[tokio::test]
async fn a_waiting_poll_receives_the_same_frames_as_a_websocket() {
    let app = TestApp::open().await;
    let topic = format!("relay:{}:events", app.app_key.did());
    let page = Poller::open(&app).await;
    page.join(&topic).await;

    let alice = app.sign_in("alice").await;
    let waits = async {
        let mut heard = Vec::new();
        while heard.len() < 2 {
            heard.extend(page.poll().await.1);
        }
        heard
    };
    let (events, session) = tokio::join!(waits, alice.buy(&app, &app.shop.atlas));
    assert_events(events, &topic, &session);
    app.finish().await;
}

#[tokio::test]
async fn events_between_polls_are_returned_by_the_next_and_only_to_joined_clients() {
    let app = TestApp::open().await;
    let topic = format!("relay:{}:events", app.app_key.did());
    let (page, stranger) = (Poller::open(&app).await, Poller::open(&app).await);
    page.join(&topic).await;
    stranger.join("relay:another:events").await;

    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    assert_events(page.poll().await.1, &topic, &session);
    assert_eq!(stranger.poll().await, (204, Vec::new()), "its window passes");
    app.finish().await;
}

#[tokio::test]
async fn a_closed_session_is_reported_and_malformed_frames_close_a_session() {
    let app = TestApp::open().await;
    let page = Poller::open(&app).await;
    assert_eq!(page.push("nonsense").await, 410);
    assert_eq!(page.push("[]").await, 410);
    let again = page.browser.get(&format!("{LONGPOLL}&token={}", page.token)).await.json();
    assert_eq!(again["status"], 410);
    assert_ne!(again["token"], json!(page.token), "a line of its own");
    let long = page.browser.call(Method::POST, &format!("{LONGPOLL}&token={}", again["token"].as_str().expect("a token")));
    assert_eq!(long.body("application/x-ndjson", vec![b' '; 20_000]).send().await.status, 400);
    app.finish().await;
}
