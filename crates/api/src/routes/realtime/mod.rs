//! The relay: a websocket in Phoenix frames (payment-kit.md 4). Public, so it carries event names and ids only.

mod frame;

use crate::limits::SocketPlace;
use crate::problem::Problem;
use crate::state::App;
use frame::{Frame, reply};
use futures_util::{SinkExt, StreamExt};
use poem::web::Data;
use poem::web::websocket::{Message, WebSocket, WebSocketConfig, WebSocketStream};
use poem::{IntoResponse, Request, handler};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A socket that says nothing for this long is closed; clients send a heartbeat every 30 s (SPEC.md 9).
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// The most channels of one socket.
const TOPICS_MAX: usize = 8;
/// Longest frame of a client, in bytes.
const FRAME_MAX: usize = 4 * 1024;

#[handler]
pub fn relay(app: Data<&Arc<App>>, request: &Request, socket: WebSocket) -> Result<impl IntoResponse, Problem> {
    let place = app.limits.admit_socket(request)?;
    let app = Arc::clone(&app);
    // Held to its size while it is read: a longer frame is never put together.
    let config = WebSocketConfig::default().max_message_size(Some(FRAME_MAX)).max_frame_size(Some(FRAME_MAX));
    Ok(socket.config(config).on_upgrade(move |stream| serve(app, stream, place)))
}

async fn serve(app: Arc<App>, mut stream: WebSocketStream, _place: SocketPlace) {
    let channel = format!("relay:{}:events", app.envelopes.app_did());
    let mut events = app.realtime.subscribe();
    // Topic to the reference under which it was joined.
    let mut joined: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        tokio::select! {
            incoming = tokio::time::timeout(SILENCE_MAX, stream.next()) => {
                let Ok(Some(Ok(message))) = incoming else { break };
                let text = match message {
                    Message::Text(text) => text,
                    Message::Ping(_) | Message::Pong(_) => continue,
                    _ => break,
                };
                let Some(answer) = answer(&text, &mut joined) else { break };
                if stream.send(Message::Text(answer)).await.is_err() {
                    break;
                }
            }
            event = events.next() => {
                let Some(event) = event else { break };
                if !joined.contains_key(&channel) {
                    continue;
                }
                let frame = json!([null, null, channel, event.name, { "status": "ok", "response": event.ids }]);
                if stream.send(Message::Text(frame.to_string())).await.is_err() {
                    break;
                }
            }
        }
    }
}

/// The answer to a client's frame; `None` for what is no frame.
fn answer(text: &str, joined: &mut BTreeMap<String, Value>) -> Option<String> {
    let frame = Frame::parse(text)?;
    match frame.event.as_str() {
        "phx_join" if joined.len() < TOPICS_MAX && frame.topic.len() <= 200 => {
            joined.insert(frame.topic.clone(), frame.join_reference.clone());
        }
        "phx_leave" => {
            joined.remove(&frame.topic);
        }
        "heartbeat" => {}
        _ => return Some(reply(&frame, "error")),
    }
    Some(reply(&frame, "ok"))
}
