//! A request body that must arrive at a minimum rate and within a total time.

use super::Pace;
use super::registry::Seat;
use super::time_budget::TimeBudget;
use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

/// The time limits apply while the server waits for data. From the first wait until the body is complete, the connection counts as waiting
/// for its request, so that it can be closed to make room.
pub struct PacedBody {
    body: Incoming,
    seat: Arc<Seat>,
    rate: TimeBudget,
    total: TimeBudget,
    has_waited: bool,
}

impl PacedBody {
    pub fn new(body: Incoming, seat: Arc<Seat>, pace: Pace) -> Self {
        seat.has_unread_body.store(true, Ordering::Relaxed);
        let (rate, total) = (TimeBudget::earning(pace.body_grace, pace.min_rate), TimeBudget::fixed(pace.body_total));
        Self { body, seat, rate, total, has_waited: false }
    }

    /// Ready when the client has used up its time.
    fn poll_limits(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match (self.rate.poll_wait(cx), self.total.poll_wait(cx)) {
            (Poll::Pending, Poll::Pending) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// The connection is busy from here on. Returns `false` if it is being closed, so that the request must not be handled.
    fn end_wait(&mut self) -> bool {
        !std::mem::take(&mut self.has_waited) || self.seat.end_body_wait()
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            if !this.has_waited {
                this.has_waited = true;
                this.seat.begin_body_wait();
            }
            ready!(this.poll_limits(cx));
            this.seat.is_slow.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(Error::new(ErrorKind::TimedOut, "the body arrives too slowly"))));
        };
        let bytes = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()).map_or(0, Bytes::len);
        this.rate.record(bytes);
        this.total.record(bytes);
        if frame.is_none() || this.body.is_end_stream() {
            this.seat.has_unread_body.store(false, Ordering::Relaxed);
            if !this.end_wait() {
                return Poll::Ready(Some(Err(Error::new(ErrorKind::ConnectionAborted, "the connection made room for others"))));
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        self.end_wait();
    }
}
