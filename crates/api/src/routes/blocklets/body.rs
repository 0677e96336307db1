//! The body of an upload: parts in their order, each within its limits.

use crate::problem::Problem;
use bytes::Bytes;
use futures_util::Stream;
use multer::{Field, Multipart};
use poem::http::{StatusCode, header};
use poem::{Body, Request};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The bytes of boundaries and headers around one part, and of what is read ahead.
const FRAME_MAX: u64 = 256 << 10;
/// The bytes that the parser gets at a time.
const PIECE: usize = 64 << 10;

/// Reads parts one after the other. What may be read is granted part by part, so that neither a part nor its headers grow beyond what is
/// known to be needed.
pub struct Parts {
    multipart: Multipart<'static>,
    progress: Duration,
    granted: Arc<AtomicI64>,
}

impl Parts {
    /// # Errors
    /// The request is no multipart form.
    pub fn of(request: &Request, body: Body, progress: Duration) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let boundary = multer::parse_boundary(kind).map_err(|_| {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The upload must be multipart/form-data").code("NOT_MULTIPART")
        })?;
        let granted = Arc::new(AtomicI64::new(signed(FRAME_MAX)));
        let stream = Metered { inner: Box::pin(body.into_bytes_stream()), held: Bytes::new(), granted: Arc::clone(&granted), rests: false };
        Ok(Self { multipart: Multipart::new(stream, boundary), progress, granted })
    }

    /// The next part; `None`: there is none.
    ///
    /// # Errors
    /// The body is malformed, ends early, or makes no progress.
    pub async fn next_part(&mut self) -> Result<Option<Part>, Problem> {
        let part = in_time(self.progress, self.multipart.next_field()).await?;
        Ok(part.map_err(|error| problem(&error))?.map(|field| Part { field, progress: self.progress }))
    }

    /// Allows the current part to have this many bytes, and another part after it.
    pub fn grant(&self, bytes: u64) {
        self.granted.fetch_add(signed(bytes.saturating_add(FRAME_MAX)), Ordering::Relaxed);
    }
}

/// One part of an upload.
pub struct Part {
    field: Field<'static>,
    progress: Duration,
}

impl Part {
    pub fn is(&self, name: &str) -> bool {
        self.field.name() == Some(name)
    }

    /// The next chunk; `None`: the part is complete.
    ///
    /// # Errors
    /// As [`Parts::next_part`].
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        in_time(self.progress, self.field.chunk()).await?.map_err(|error| problem(&error))
    }

    /// A small part as a whole; `None`: it is larger than `max` bytes.
    ///
    /// # Errors
    /// As [`Parts::next_part`].
    pub async fn read_small(&mut self, max: usize) -> Result<Option<Vec<u8>>, Problem> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next_chunk().await? {
            if bytes.len() + chunk.len() > max {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }
}

async fn in_time<T>(progress: Duration, step: impl Future<Output = T>) -> Result<T, Problem> {
    tokio::time::timeout(progress, step).await.map_err(|_| Problem::too_slow())
}

fn problem(error: &multer::Error) -> Problem {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::TimedOut) => Problem::too_slow(),
            Some(io::ErrorKind::FileTooLarge) => Problem::body_too_large(),
            _ => Problem::malformed("the upload ended early"),
        },
        error => Problem::malformed(error),
    }
}

/// The bytes of a body, up to what is granted. Some bytes are read ahead, so one piece may exceed it.
struct Metered<S> {
    inner: Pin<Box<S>>,
    /// What was received and not passed on.
    held: Bytes,
    granted: Arc<AtomicI64>,
    /// Whether the last call returned a piece. The parser collects pieces as long as there are any, so it gets one at a time.
    rests: bool,
}

impl<S: Stream<Item = io::Result<Bytes>>> Stream for Metered<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.rests) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.granted.load(Ordering::Relaxed) <= 0 {
            return Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::FileTooLarge))));
        }
        while self.held.is_empty() {
            match ready!(self.inner.as_mut().poll_next(cx)) {
                Some(Ok(chunk)) => self.held = chunk,
                end => return Poll::Ready(end),
            }
        }
        let length = self.held.len().min(PIECE);
        self.rests = true;
        self.granted.fetch_sub(signed(length as u64), Ordering::Relaxed);
        Poll::Ready(Some(Ok(self.held.split_to(length))))
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
