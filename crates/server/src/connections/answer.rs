//! Passes a connection's requests to the endpoint, and tells the registry when each begins and ends.

use super::Pace;
use super::body::PacedBody;
use super::registry::{Phase, Seat};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};
use poem::endpoint::DynEndpoint;
use poem::http::StatusCode;
use poem::http::uri::Scheme;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Endpoint, IntoResponse, Request, Response};
use souk_api::problem::Problem;
use std::io::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// The connection was closed before its request began, so it gets no response.
#[derive(Debug, thiserror::Error)]
#[error("the connection made room for others")]
pub struct Closing;

/// Answers the requests of one connection.
#[derive(Clone)]
pub struct Answers {
    endpoint: Arc<dyn DynEndpoint<Output = Response>>,
    seat: Arc<Seat>,
    local: SocketAddr,
    remote: SocketAddr,
    pace: Pace,
}

impl Answers {
    pub fn new(
        endpoint: Arc<dyn DynEndpoint<Output = Response>>,
        seat: Arc<Seat>,
        local: SocketAddr,
        remote: SocketAddr,
        pace: Pace,
    ) -> Self {
        Self { endpoint, seat, local, remote, pace }
    }

    pub async fn answer(self, request: hyper::Request<Incoming>) -> Result<hyper::Response<TrackedBody>, Closing> {
        if !self.seat.begin_request() {
            return Err(Closing);
        }
        let turn = Turn(Arc::clone(&self.seat));
        let (parts, body) = request.into_parts();
        self.seat.has_unread_body.store(false, Ordering::Relaxed);
        let body = if body.is_end_stream() {
            poem::Body::empty()
        } else {
            poem::Body::from(PacedBody::new(body, Arc::clone(&self.seat), self.pace.of_path(parts.uri.path())).boxed())
        };
        let (local, remote) = (LocalAddr(self.local.into()), RemoteAddr(self.remote.into()));
        let request = Request::from_parts((parts, local, remote, Scheme::HTTP).into(), body);
        let mut response = self.endpoint.get_response(request).await;
        if self.seat.is_slow.swap(false, Ordering::Relaxed) {
            response = Problem::too_slow().into_response();
        }
        let turn = if response.status() == StatusCode::SWITCHING_PROTOCOLS { turn.upgrade() } else { Some(turn) };
        let response = hyper::Response::<BoxBody<Bytes, Error>>::from(response);
        Ok(response.map(|body| TrackedBody { body, _turn: turn }))
    }
}

/// A request in progress. Dropped with the response's body, when the connection waits for the next request.
struct Turn(Arc<Seat>);

impl Turn {
    /// The connection belongs to another protocol now; its socket counts as busy until it closes.
    fn upgrade(self) -> Option<Self> {
        self.0.enter(Phase::Upgraded);
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.0.phase().phase == Phase::Request {
            self.0.end_request();
        }
    }
}

/// The body of a response.
pub struct TrackedBody {
    body: BoxBody<Bytes, Error>,
    _turn: Option<Turn>,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
