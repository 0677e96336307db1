//! The relay over a websocket.

use super::channels::{Channels, FRAME_MAX, Received};
use super::state_after_join;
use crate::limits::SocketPermit;
use crate::problem::Problem;
use crate::state::App;
use futures_util::{SinkExt, StreamExt};
use poem::web::Data;
use poem::web::websocket::{Message, WebSocket, WebSocketConfig, WebSocketStream};
use poem::{IntoResponse, Request, handler};
use std::sync::Arc;
use std::time::Duration;

/// A socket without messages for this long is closed; clients send a heartbeat every 30 s (SPEC.md 9).
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

#[handler]
pub async fn relay(app: Data<&Arc<App>>, request: &Request, socket: WebSocket) -> Result<impl IntoResponse, Problem> {
    let permit = app.limits.admit_socket(request)?;
    let channels = Channels::of(&app, request).await?;
    let app = Arc::clone(&app);
    // The limit applies while reading, so that an oversized frame is never assembled in memory.
    let config = WebSocketConfig::default().max_message_size(Some(FRAME_MAX)).max_frame_size(Some(FRAME_MAX));
    Ok(socket.config(config).on_upgrade(move |stream| serve(app, stream, channels, permit)))
}

async fn serve(app: Arc<App>, mut stream: WebSocketStream, mut channels: Channels, _permit: SocketPermit) {
    let mut events = channels.events(&app);
    // Only the client's own messages count: events that are sent to it do not keep a silent client connected.
    let mut idle = std::pin::pin!(tokio::time::sleep(IDLE_TIMEOUT));
    loop {
        tokio::select! {
            () = &mut idle => break,
            incoming = stream.next() => {
                let Some(Ok(message)) = incoming else { break };
                idle.as_mut().reset(tokio::time::Instant::now() + IDLE_TIMEOUT);
                let text = match message {
                    Message::Text(text) => text,
                    Message::Ping(_) | Message::Pong(_) => continue,
                    _ => break,
                };
                let Some(Received { reply, joined_session }) = channels.receive(&text) else { break };
                if stream.send(Message::Text(reply)).await.is_err() {
                    break;
                }
                let Some(state) = state_after_join(&app, joined_session).await else { continue };
                let Some(frame) = channels.frame(&state) else { continue };
                if stream.send(Message::Text(frame)).await.is_err() {
                    break;
                }
            }
            message = events.next() => {
                let Some(message) = message else { break };
                let Some(frame) = channels.frame(&message) else { continue };
                if stream.send(Message::Text(frame)).await.is_err() {
                    break;
                }
            }
        }
    }
}
