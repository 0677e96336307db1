//! The accept loop. It bounds what a client can hold without sending a request: connections in total and per address, the time for
//! headers and bodies, the rate of bodies and responses, idle time. poem's own server has none of these limits.
//!
//! Only HTTP/1.1 is supported: browsers speak HTTP/2 to the proxy in front, and with one request at a time per connection, the limit of
//! connections is also the limit of concurrent requests.

mod answer;
mod body;
mod capacity;
mod registry;
mod stream;
#[cfg(test)]
mod tests;
mod time_budget;

pub use capacity::Capacity;

use answer::Answers;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use poem::endpoint::{DynEndpoint, ToDynEndpoint};
use poem::{Endpoint, Response};
use registry::{Place, Registry};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stream::Stream;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause after the process has run out of descriptors or memory, so that the loop does not spin until some are free.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);
/// During shutdown, the time for headers that are under way; afterwards connections without a request are closed.
const SHUTDOWN_HEADERS: Duration = Duration::from_secs(1);
/// Maximum bytes of a request's headers, and of a read ahead of its body.
const BUFFER_MAX: usize = 64 * 1024;
/// The response to a connection that is refused.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\nconnection: close\r\n\
    retry-after: 5\r\ncontent-length: 80\r\n\r\n\
    {\"error\":\"Too many connections from your address\",\"code\":\"TOO_MANY_CONNECTIONS\"}";

/// How long a client may take. Tests shorten these times.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From the first byte of a request, or from the begin of a connection, until its headers are complete.
    pub headers: Duration,
    /// Between two requests. Longer than the 60 s for which common proxies keep idle connections, and the 90 s of the clients that call
    /// the sandbox, so that the client closes first and never sends a request into a connection that is being closed.
    pub idle: Duration,
    /// How far a client that reads a response may fall behind the minimum rate. Nothing counts while there is nothing to write.
    pub write_grace: Duration,
    /// How far a body may fall behind the minimum rate.
    pub body_grace: Duration,
    /// How long the server waits for a body altogether. No route except that of uploads accepts bodies above 1 MiB.
    pub body_total: Duration,
    /// How far the body of an upload may fall behind the minimum rate, and how long the server waits for it altogether. The route has
    /// stricter limits until it knows who uploads.
    pub upload_grace: Duration,
    pub upload_total: Duration,
    /// The minimum rate of bodies and of responses, in bytes per second.
    pub min_rate: u64,
    /// After a response to an incomplete request: how long the rest of the body is discarded, so that the client can read the
    /// response. A connection closed with unread data would be reset.
    pub linger: Duration,
}

impl Pace {
    /// The times of a request with this path.
    fn of_path(self, path: &str) -> Self {
        match souk_api::is_upload(path) {
            true => Self { body_grace: self.upload_grace, body_total: self.upload_total, ..self },
            false => self,
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            write_grace: Duration::from_secs(30),
            body_grace: Duration::from_secs(10),
            body_total: Duration::from_secs(60),
            upload_grace: Duration::from_secs(30),
            upload_total: Duration::from_secs(30 * 60),
            min_rate: 1_024,
            linger: Duration::from_secs(2),
        }
    }
}

/// A listening socket and its limits.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    registry: Arc<Registry>,
    pace: Pace,
}

impl Server {
    pub fn new(listener: TcpListener, capacity: Capacity, pace: Pace) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self { listener, address, registry: Arc::new(Registry::new(capacity)), pace })
    }

    /// Serves until `stop`. Then requests in progress may take `grace`.
    pub async fn run(self, endpoint: impl Endpoint<Output = Response> + 'static, stop: CancellationToken, grace: Duration) {
        let endpoint: Arc<dyn DynEndpoint<Output = Response>> = Arc::new(ToDynEndpoint(endpoint));
        let (connections, abort) = (TaskTracker::new(), CancellationToken::new());
        let Self { listener, address, registry, pace } = self;
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            let (socket, remote) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_the_peers(error.kind()) => continue,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                    continue;
                }
            };
            let slot = tokio::select! {
                () = stop.cancelled() => break,
                slot = registry.slot() => slot,
            };
            let Some(place) = registry.enter(slot, remote.ip()) else {
                refuse(socket);
                continue;
            };
            let answers = Answers::new(Arc::clone(&endpoint), place.seat(), address, remote, pace);
            connections.spawn(serve(socket, place, answers, pace, stop.clone(), abort.clone()));
        }
        drop(listener);
        connections.close();
        if tokio::time::timeout(SHUTDOWN_HEADERS.min(grace), connections.wait()).await.is_err() {
            registry.close_waiting();
            if tokio::time::timeout(grace.saturating_sub(SHUTDOWN_HEADERS), connections.wait()).await.is_err() {
                abort.cancel();
                connections.wait().await;
            }
        }
    }
}

/// The client went away before it was accepted.
fn is_the_peers(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused | ErrorKind::Interrupted)
}

/// Says why, as far as the socket's buffer takes it, and closes the connection.
fn refuse(socket: TcpStream) {
    let sent = socket.into_std().and_then(|mut socket| socket.write_all(BUSY));
    tracing::debug!(?sent, "a connection was refused because its address has too many");
}

async fn serve(socket: TcpStream, place: Place, answers: Answers, pace: Pace, stop: CancellationToken, abort: CancellationToken) {
    let seat = place.seat();
    let service = service_fn(move |request| {
        let answers = answers.clone();
        async move { answers.answer(request).await }
    });
    let io = TokioIo::new(Stream::new(socket, place, pace));
    let connection = http1::Builder::new().max_buf_size(BUFFER_MAX).serve_connection(io, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = seat.closed() => Ok(()),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = seat.closed() => Ok(()),
                () = abort.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
