//! The relay: frames with names and ids, and nothing else.

use crate::app::TestApp;
use futures_util::{SinkExt, StreamExt};
use poem::Server;
use poem::listener::{Acceptor, Listener, TcpListener};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn a_page_hears_of_its_completed_session_by_id_alone() {
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
    let mut events = [next(None).await, next(None).await];
    events.sort_by_key(|event| event[3].to_string());
    assert_eq!(events[0], json!([null, null, topic, "checkout.session.completed", { "status": "ok", "response": { "id": session } }]));
    assert_eq!(events[1][3], "invoice.paid");
    let names: Vec<_> = events[1][4]["response"].as_object().expect("ids").keys().cloned().collect();
    assert_eq!(names, ["currency_id", "customer_id", "id"]);
    server.abort();
    app.finish().await;
}
