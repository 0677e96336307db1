//! The realtime relay, whose frames contain only names and ids, and reach only the pages that they concern.

use crate::app::{Browser, Buyer, Connect, TestApp, claim_of, profile_of, wallet};
use crate::review_emails::{draft, take};
use futures_util::{SinkExt, StreamExt};
use poem::Server;
use poem::http::Method;
use poem::listener::{Acceptor, Listener, TcpListener};
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::{ConnectExpired, Role};
use souk_domain::payment;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Checks the events of a purchase, for both transports.
fn assert_events(mut events: Vec<Value>, topic: &str, session: &str) {
    events.sort_by_key(|event| event[3].to_string());
    assert_eq!(events[0], json!([null, null, topic, "checkout.session.completed", { "status": "ok", "response": { "id": session } }]));
    assert_eq!(events[1][3], "invoice.paid");
    let names: Vec<_> = events[1][4]["response"].as_object().expect("ids").keys().cloned().collect();
    assert_eq!(names, ["currency_id", "customer_id", "id"]);
    assert_eq!(events.len(), 2);
}

/// A page with the cookies of a browser, which uses a websocket.
struct Page {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Page {
    async fn open(app: &TestApp, cookies: &str) -> Self {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
        let address = *acceptor.local_addr()[0].as_socket_addr().expect("an address");
        let server = tokio::spawn(Server::new_with_acceptor(acceptor).run(app.service()));
        let mut request = format!("ws://{address}/.well-known/service/relay/websocket?vsn=2.0.0").into_client_request().expect("a request");
        if !cookies.is_empty() {
            request.headers_mut().insert("cookie", cookies.parse().expect("a header"));
        }
        Self { stream: tokio_tungstenite::connect_async(request).await.expect("connects").0, server }
    }

    /// Waits for the next frame.
    async fn next(&mut self) -> Value {
        let heard = tokio::time::timeout(Duration::from_secs(10), self.stream.next()).await;
        let heard = heard.expect("in time").expect("a frame").expect("a frame");
        serde_json::from_str(heard.to_text().expect("text")).expect("JSON")
    }

    /// Sends a frame and waits for the reply.
    async fn send(&mut self, frame: Value) -> Value {
        self.stream.send(Message::text(frame.to_string())).await.expect("sends");
        self.next().await
    }

    async fn join(&mut self, topic: &str) {
        let joined = self.send(json!(["1", "1", topic, "phx_join", {}])).await;
        assert_eq!(joined, json!(["1", "1", topic, "phx_reply", { "status": "ok", "response": {} }]));
    }

    /// Checks that no frame is pending: the next one is the reply to a heartbeat.
    async fn assert_silent(&mut self) {
        let beat = self.send(json!([null, "2", "phoenix", "heartbeat", {}])).await;
        assert_eq!(beat, json!([null, "2", "phoenix", "phx_reply", { "status": "ok", "response": {} }]));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tokio::test]
async fn a_socket_receives_only_events_of_its_login_or_of_sessions_that_its_visitor_started() {
    let app = TestApp::open().await;
    let topic = format!("relay:{}:events", app.app_key.did());
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let cookie = |buyer: &Buyer, name: &str| format!("{name}={}", buyer.browser.cookie(name).expect("a cookie"));
    let mut login = Page::open(&app, &cookie(&alice, "login_token")).await;
    let mut visitor = Page::open(&app, &cookie(&alice, "vid")).await;
    let mut other = Page::open(&app, &format!("{}; {}", cookie(&bob, "login_token"), cookie(&bob, "vid"))).await;
    let mut stranger = Page::open(&app, "login_token=guessed").await;
    for page in [&mut login, &mut visitor, &mut other, &mut stranger] {
        page.join(&topic).await;
        page.assert_silent().await;
    }
    let session = alice.buy(&app, &app.shop.atlas).await;
    assert_events(vec![login.next().await, login.next().await], &topic, &session);
    let completed = json!([null, null, topic, "checkout.session.completed", { "status": "ok", "response": { "id": session } }]);
    assert_eq!(visitor.next().await, completed);
    for page in [&mut login, &mut visitor, &mut other, &mut stranger] {
        page.assert_silent().await;
    }
    app.finish().await;
}

#[tokio::test]
async fn each_step_of_a_review_reaches_the_pages_of_the_developer_and_of_reviewers() {
    let app = TestApp::open().await;
    let topic = format!("relay:{}:events", app.app_key.did());
    let (developer, reviewer, other) =
        (app.holder_of(Role::Developer).await, app.holder_of(Role::Reviewer).await, app.sign_in("alice").await);
    let did = app.sign_in("tide").await.wallet.did().clone();
    let path = draft(&app, developer.wallet.did(), &did).await;
    let mut pages = Vec::new();
    for who in [&developer, &reviewer, &other] {
        let cookie = format!("login_token={}", who.browser.cookie("login_token").expect("a cookie"));
        let mut page = Page::open(&app, &cookie).await;
        page.join(&topic).await;
        pages.push(page);
    }
    let at = app.ctx.now().plus(Duration::from_secs(3_600)).to_iso();
    for (who, step, status) in [
        (&developer, json!({ "step": "request" }), "PENDING_REVIEW"),
        (&reviewer, json!({ "step": "start" }), "IN_REVIEW"),
        (&reviewer, json!({ "step": "renew" }), "IN_REVIEW"),
        (&developer, json!({ "step": "schedule", "publish_at": at }), "IN_REVIEW"),
        (&developer, json!({ "step": "cancel" }), "CANCELLED"),
    ] {
        take(who, &path, step).await;
        app.drain().await;
        let ids = json!({ "blockletId": did.as_str(), "status": status, "version": "1.0.0" });
        let event = json!([null, null, topic, "blocklet.reviewed", { "status": "ok", "response": ids }]);
        for page in &mut pages[..2] {
            assert_eq!(page.next().await, event);
        }
    }
    for page in &mut pages {
        page.assert_silent().await;
    }
    app.finish().await;
}

/// Checks a frame with the state of a connect session, and returns the time of the state in a form that can be compared.
fn assert_state(frame: &Value, topic: &str, status: &str, error: Option<&str>) -> String {
    let state = frame[4]["response"].as_object().expect("a state").clone();
    let updated_at = state["updatedAt"].as_str().expect("a time").to_owned();
    let mut expected = json!({ "status": status, "updatedAt": updated_at, "mfaCode": 0 });
    if let Some(error) = error {
        expected["error"] = json!(error);
    }
    assert_eq!(*frame, json!([null, null, topic, "updated", { "status": "ok", "response": expected }]));
    updated_at
}

/// Published dialogs wait for these frames and do not poll. They ignore a frame whose time is not later than that of the last one.
#[tokio::test]
async fn a_dialog_that_does_not_poll_learns_each_state_of_its_connect_session() {
    let app = TestApp::open().await;
    let alice = wallet("alice");
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let topic = format!("relay:{}:{}", app.app_key.did(), connect.token);
    let (mut page, mut stranger) = (Page::open(&app, "").await, Page::open(&app, "").await);
    page.join(&topic).await;
    page.assert_silent().await;
    for other in ["events".to_owned(), "0".repeat(32)] {
        stranger.join(&format!("relay:{}:{other}", app.app_key.did())).await;
    }
    let asked = connect.scan().await;
    app.drain().await;
    let scanned_at = assert_state(&page.next().await, &topic, "scanned", None);
    let asked = connect.answer(&alice, &asked, json!([{ "type": "authPrincipal" }])).await;
    assert_eq!(connect.answer(&alice, &asked, json!([profile_of("alice")])).await["status"], "ok");
    app.drain().await;
    let done_at = assert_state(&page.next().await, &topic, "succeed", None);
    assert!(scanned_at < done_at, "{scanned_at} is not before {done_at}, although the clock stands still");
    // Nothing was sent to pages without the token.
    stranger.assert_silent().await;
    app.finish().await;
}

#[tokio::test]
async fn a_dialog_learns_that_its_wallet_declined() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let topic = format!("relay:{}:{}", app.app_key.did(), connect.token);
    let page = Poller::open(&app.browser()).await;
    page.join(&topic).await;
    let asked = connect.scan().await;
    app.drain().await;
    assert_state(&page.poll().await.1[0], &topic, "scanned", None);
    connect.post(&connect.signed(&wallet("alice"), &asked, "declineAuth", json!([]))).await;
    app.drain().await;
    assert_state(&page.poll().await.1[0], &topic, "error", Some("You have declined the authentication request"));
    app.finish().await;
}

/// The wallet may be quicker than the socket, or the socket may have been lost meanwhile.
#[tokio::test]
async fn a_dialog_that_joins_late_receives_the_current_state() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let topic = format!("relay:{}:{}", app.app_key.did(), connect.token);
    let join = json!(["1", "1", topic, "phx_join", {}]);
    connect.scan().await;
    app.drain().await;
    let mut page = Page::open(&app, "").await;
    page.join(&topic).await;
    assert_state(&page.next().await, &topic, "scanned", None);
    let poller = Poller::open(&app.browser()).await;
    assert_eq!(poller.push(&join.to_string()).await, 200);
    let frames = poller.poll().await.1;
    assert_eq!(frames[0][3], "phx_reply");
    assert_state(&frames[1], &topic, "scanned", None);
    app.finish().await;
}

/// A page that has joined the channel of a connect session, in which `buyer` has signed a payment without an answer of the network.
async fn page_of_unconfirmed_payment(app: &TestApp, buyer: &Buyer) -> (Page, Connect, String) {
    let session = buyer.start(&app.shop.atlas).await;
    buyer.submit_for_wallet(app, &session).await;
    let (connect, asked) = buyer.request_payment(app, &session).await;
    let topic = format!("relay:{}:{}", app.app_key.did(), connect.token);
    let mut page = Page::open(app, "").await;
    page.join(&topic).await;
    assert_state(&page.next().await, &topic, "scanned", None);
    let answer = connect.answer(&buyer.wallet, &asked, claim_of(&buyer.wallet, &asked)).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    app.drain().await;
    (page, connect, topic)
}

impl Page {
    /// Waits for the next state of a connect session other than `scanned`, which the page may receive twice: on joining and from the queue.
    async fn next_result(&mut self) -> Value {
        loop {
            let frame = self.next().await;
            if frame[4]["response"]["status"] != "scanned" {
                return frame;
            }
        }
    }
}

on_both! {
    async fn a_dialog_that_does_not_poll_learns_the_result_of_a_payment_that_is_confirmed_late(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (mut page, _, topic) = page_of_unconfirmed_payment(&app, &alice).await;
        app.advance(Duration::from_secs(60));
        payment::check_due(&app.ctx, 10).await.expect("checks");
        app.drain().await;
        assert_state(&page.next_result().await, &topic, "succeed", None);
        app.finish().await;
    }
}

on_both! {
    async fn a_dialog_that_does_not_poll_learns_that_the_network_declined_late(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let (mut page, _, topic) = page_of_unconfirmed_payment(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        // The decline of a transaction that was sent before is final after a day.
        app.advance(Duration::from_secs(24 * 3_600 - 60));
        payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
        app.advance(Duration::from_secs(60));
        payment::check_due(&app.ctx, 10).await.expect("checks");
        app.drain().await;
        let frame = page.next_result().await;
        assert_state(&frame, &topic, "error", frame[4]["response"]["error"].as_str());
        assert_ne!(frame[4]["response"]["error"], json!(ConnectExpired.to_string()));
        app.finish().await;
    }
}

#[tokio::test]
async fn a_dialog_learns_that_its_session_expired_after_it_was_scanned() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let topic = format!("relay:{}:{}", app.app_key.did(), connect.token);
    let mut page = Page::open(&app, "").await;
    page.join(&topic).await;
    page.assert_silent().await;
    connect.scan().await;
    app.drain().await;
    assert_state(&page.next().await, &topic, "scanned", None);
    app.advance(Duration::from_secs(300));
    souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
    assert_eq!(payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires"), 1);
    souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
    app.drain().await;
    assert_state(&page.next().await, &topic, "error", Some("Session not found or expired"));
    let seen = connect.status().await.ok();
    assert_eq!((&seen["status"], &seen["code"]), (&json!("error"), &json!("CONNECT_EXPIRED")));
    app.advance(Duration::from_secs(60));
    souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
    assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions").await, 0);
    app.finish().await;
}

const LONGPOLL: &str = "/.well-known/service/relay/longpoll?vsn=2.0.0";

/// A page that uses long polling.
struct Poller {
    browser: Browser,
    token: String,
}

impl Poller {
    async fn open(browser: &Browser) -> Self {
        let browser = browser.clone();
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
    let alice = app.sign_in("alice").await;
    let page = Poller::open(&alice.browser).await;
    page.join(&topic).await;
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
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let (page, elsewhere, other) =
        (Poller::open(&alice.browser).await, Poller::open(&alice.browser).await, Poller::open(&bob.browser).await);
    page.join(&topic).await;
    elsewhere.join("relay:another:events").await;
    other.join(&topic).await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    assert_events(page.poll().await.1, &topic, &session);
    let (elsewhere, other) = tokio::join!(elsewhere.poll(), other.poll());
    assert_eq!(elsewhere, (204, Vec::new()), "its window passes");
    assert_eq!(other, (204, Vec::new()), "another customer");
    app.finish().await;
}

#[tokio::test]
async fn pages_of_a_login_that_its_user_has_ended_receive_nothing_and_are_closed() {
    let app = TestApp::open().await;
    let topic = format!("relay:{}:events", app.app_key.did());
    let alice = app.sign_in("alice").await;
    let phone = Browser::new(app.service(), "phone");
    Connect::begin(&app, &phone, "login", "").await.sign_in(&alice.wallet, "alice").await;
    let login = |browser: &Browser| format!("login_token={}", browser.cookie("login_token").expect("a cookie"));
    let (mut own, mut stolen) = (Page::open(&app, &login(&alice.browser)).await, Page::open(&app, &login(&phone)).await);
    let polls = Poller::open(&phone).await;
    own.join(&topic).await;
    stolen.join(&topic).await;
    polls.join(&topic).await;
    alice.browser.call(Method::DELETE, "/api/session/logins").send().await.ok();
    let session = alice.buy(&app, &app.shop.atlas).await;
    assert_events(vec![own.next().await, own.next().await], &topic, &session);
    let end = tokio::time::timeout(Duration::from_secs(10), stolen.stream.next()).await.expect("in time");
    assert!(!matches!(end, Some(Ok(Message::Text(_)))), "{end:?}");
    loop {
        let (status, frames) = polls.poll().await;
        assert_eq!(frames, [Value::Null; 0]);
        if status == 410 {
            break;
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn a_closed_session_is_reported_and_malformed_frames_close_a_session() {
    let app = TestApp::open().await;
    let page = Poller::open(&app.browser()).await;
    assert_eq!(page.push("nonsense").await, 410);
    assert_eq!(page.push("[]").await, 410);
    let again = page.browser.get(&format!("{LONGPOLL}&token={}", page.token)).await.json();
    assert_eq!(again["status"], 410);
    assert_ne!(again["token"], json!(page.token), "a line of its own");
    let long = page.browser.call(Method::POST, &format!("{LONGPOLL}&token={}", again["token"].as_str().expect("a token")));
    assert_eq!(long.body("application/x-ndjson", vec![b' '; 20_000]).send().await.status, 400);
    app.finish().await;
}
