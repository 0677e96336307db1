//! A request body that must arrive at a minimum rate.

use super::Pace;
use super::registry::Seat;
use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The time limit applies while the server waits for data, from its first read.
pub struct PacedBody {
    body: Incoming,
    seat: Arc<Seat>,
    pace: Pace,
    began: Option<Instant>,
    /// Bytes that have arrived.
    received: u64,
    limit: Option<Pin<Box<Sleep>>>,
}

impl PacedBody {
    pub fn new(body: Incoming, seat: Arc<Seat>, pace: Pace) -> Self {
        seat.has_unread_body.store(true, Ordering::Relaxed);
        Self { body, seat, pace, began: None, received: 0, limit: None }
    }

    /// When the next data must be here at the latest.
    fn deadline(&mut self) -> Instant {
        let began = *self.began.get_or_insert_with(Instant::now);
        began + self.pace.body_grace + Duration::from_secs(self.received / self.pace.body_rate.max(1))
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let deadline = this.deadline();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
                this.received += data.map_or(0, |data| data.len() as u64);
            }
            if frame.is_none() || this.body.is_end_stream() {
                this.seat.has_unread_body.store(false, Ordering::Relaxed);
            }
            this.limit = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Error::other)));
        }
        let limit = this.limit.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        match limit.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                this.seat.is_slow.store(true, Ordering::Relaxed);
                Poll::Ready(Some(Err(Error::new(ErrorKind::TimedOut, "the body arrives too slowly"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
