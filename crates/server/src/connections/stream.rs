//! A client's socket with its time limits. It holds the connection's place until it is closed, also after an upgrade to a websocket.

use super::Pace;
use super::registry::{CurrentPhase, Phase, Place, Seat};
use super::time_budget::TimeBudget;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Maximum number of bytes discarded after an early response.
const DISCARDED_MAX: usize = 16 << 20;

pub struct Stream {
    socket: TcpStream,
    seat: Arc<Seat>,
    _place: Place,
    pace: Pace,
    /// The time limit of the client in the current phase, with the phase's number.
    limit: Option<(u64, Pin<Box<Sleep>>)>,
    /// The time that the client has to read what is written.
    write_budget: TimeBudget,
    closing: Closing,
}

enum Closing {
    No,
    /// The rest of the request is discarded; the number of bytes so far.
    Discarding(usize, Pin<Box<Sleep>>),
    Done,
}

impl Stream {
    pub fn new(socket: TcpStream, place: Place, pace: Pace) -> Self {
        let write_budget = TimeBudget::earning(pace.write_grace, pace.min_rate);
        Self { socket, seat: place.seat(), _place: place, pace, limit: None, write_budget, closing: Closing::No }
    }

    /// Fails when the client has used up its time.
    fn check_time(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let CurrentPhase { phase, number } = self.seat.phase();
        let allowed = match phase {
            Phase::Headers => self.pace.headers,
            Phase::Idle => self.pace.idle,
            Phase::Request | Phase::Upgraded => {
                self.limit = None;
                return Poll::Pending;
            }
        };
        let limit = match &mut self.limit {
            Some((known, limit)) if *known == number => limit,
            other => &mut other.insert((number, Box::pin(sleep(allowed)))).1,
        };
        ready!(limit.as_mut().poll(cx));
        Poll::Ready(timed_out("the client sent no request in time"))
    }

    /// Fails when the client reads too slowly.
    fn check_write(&mut self, cx: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(written) = written {
            self.write_budget.record(written.as_ref().map_or(0, |bytes| *bytes));
            return Poll::Ready(written);
        }
        ready!(self.write_budget.poll_wait(cx));
        Poll::Ready(Err(timed_out("the client reads too slowly")))
    }

    /// Reads and discards until the client closes, has sent too much, or takes too long.
    fn discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Closing::Discarding(count, limit) = &mut self.closing else { return Poll::Ready(()) };
        let mut bytes = [0; 4_096];
        while *count < DISCARDED_MAX {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *count += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return limit.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

fn timed_out(message: &'static str) -> Error {
    Error::new(ErrorKind::TimedOut, message)
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(cx, buffer) {
            Poll::Ready(result) => {
                if buffer.filled().len() > before && self.seat.phase().phase == Phase::Idle {
                    self.seat.enter(Phase::Headers);
                }
                Poll::Ready(result)
            }
            Poll::Pending => self.check_time(cx).map(Err),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.check_write(cx, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.check_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if matches!(self.closing, Closing::No) {
            ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
            let linger: Duration = self.pace.linger;
            let has_rest = self.seat.has_unread_body.load(Ordering::Relaxed);
            self.closing = if has_rest { Closing::Discarding(0, Box::pin(sleep(linger))) } else { Closing::Done };
        }
        ready!(self.discard(cx));
        self.closing = Closing::Done;
        Poll::Ready(Ok(()))
    }
}
