//! The answer of a handler, and its conversion to bytes.
//!
//! ```text
//!   Whole     one buffer, sent as it is
//!   Pieces    written by a thread that may wait, sent as they come: memory does not grow with them
//!   Events    an endless stream of what happens
//! ```

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LAST_MODIFIED, LOCATION};
use axum::http::{HeaderMap, Response, StatusCode};
use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc;

use crate::app::App;
use crate::cancel::CancelGuard;
use crate::failures::log_early_end;
use crate::problem::Problem;

/// The type of JSON.
pub(crate) const JSON: &str = "application/json";
/// The type of JSON values on lines of their own.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// Writes the pieces of an answer.
pub(crate) type Producer = Box<dyn FnOnce(&mut Pieces) -> io::Result<()> + Send>;

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Content,
    /// Tells threads that write the body when the client has gone.
    pub(crate) guard: Option<CancelGuard>,
}

/// The body of an answer.
pub(crate) enum Content {
    Whole(Bytes),
    Pieces(Producer),
    Events(mpsc::Receiver<io::Result<Bytes>>),
}

impl Answer {
    /// No body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        let (headers, content) = (HeaderMap::new(), Content::Whole(Bytes::new()));
        Answer { status, headers, content, guard: None }
    }

    /// A body of some type.
    pub(crate) fn bytes(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Self {
        let mut answer = Answer { content: Content::Whole(body.into()), ..Self::empty(status) };
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        answer
    }

    /// JSON that is written already.
    pub(crate) fn json(body: impl Into<Bytes>) -> Self {
        Self::bytes(StatusCode::OK, JSON, body)
    }

    /// A JSON value.
    pub(crate) fn value(value: &serde_json::Value) -> Self {
        Self::json(value.to_string())
    }

    /// A body that is written piece by piece.
    pub(crate) fn pieces(
        media: &'static str,
        write: impl FnOnce(&mut Pieces) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let content = Content::Pieces(Box::new(write));
        let mut answer = Answer { content, ..Self::empty(StatusCode::OK) };
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        answer
    }

    /// The same with another status.
    #[must_use]
    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with a header; a text that cannot be one is left out.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The same with the tag of the version that it shows.
    #[must_use]
    pub(crate) fn tag(self, tag: &str) -> Self {
        self.header(ETAG, tag)
    }

    /// The same with the time of the version that it shows, in microseconds since 1970.
    #[must_use]
    pub(crate) fn modified(self, time_us: u64) -> Self {
        self.header(LAST_MODIFIED, &anywhen::time::http_date(time_us))
    }

    /// The same with where what was made is found.
    #[must_use]
    pub(crate) fn location(self, path: &str) -> Self {
        self.header(LOCATION, path)
    }

    /// The response. A body in pieces has begun by then: if its first piece cannot be made, the answer is
    /// that problem. For a `HEAD` request no further piece is written, so the response names no length.
    pub(crate) async fn response(self, app: &Arc<App>, is_head: bool) -> Response<Body> {
        let guard = self.guard;
        let body = match self.content {
            Content::Whole(bytes) => {
                if let Some(guard) = guard {
                    guard.done();
                }
                Body::from(bytes)
            }
            Content::Pieces(_) | Content::Events(_) if is_head => {
                Body::new(Channel { first: None, rest: mpsc::channel(1).1, guard })
            }
            Content::Events(events) => Body::new(Channel { first: None, rest: events, guard }),
            Content::Pieces(write) => match stream(app, write).await {
                Ok(body) => body,
                // A problem is one piece.
                Err(problem) => return Box::pin(problem.answer().response(app, is_head)).await,
            },
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Starts a thread that writes the pieces, and waits for the first.
///
/// # Errors
/// 503 where too many are written, and what hinders the first piece.
async fn stream(app: &Arc<App>, write: Producer) -> Result<Body, Problem> {
    let place = app.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("the server is streaming too many answers"))?;
    let (out, mut rest) = mpsc::channel(2);
    let idle = app.options.limits.idle;
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut to = Pieces::new(out, idle);
        if let Err(error) = write(&mut to) {
            log_early_end(&error);
            to.fail(error);
        }
    });
    let first = rest.recv().await.transpose().map_err(Problem::of_stream)?;
    Ok(Body::new(Channel { first, rest, guard: None }))
}

/// Where the pieces of an answer go. Waits for the client to take them.
pub(crate) struct Pieces {
    out: mpsc::Sender<io::Result<Bytes>>,
    idle: std::time::Duration,
    runtime: tokio::runtime::Handle,
}

impl Pieces {
    /// The way into a channel, for a thread that may wait.
    pub(crate) fn new(out: mpsc::Sender<io::Result<Bytes>>, idle: std::time::Duration) -> Self {
        Pieces { out, idle, runtime: tokio::runtime::Handle::current() }
    }

    /// Ends the answer so that the reader knows that it is incomplete; false if the reader has
    /// gone.
    pub(crate) fn fail(&mut self, why: io::Error) -> bool {
        self.give(Err(why)).is_ok()
    }

    /// Sends a piece.
    ///
    /// # Errors
    /// Fails if the client has gone, or reads nothing for too long.
    pub(crate) fn send(&mut self, piece: Vec<u8>) -> io::Result<()> {
        if piece.is_empty() { Ok(()) } else { self.give(Ok(Bytes::from(piece))) }
    }

    /// Sends what a buffer holds once that is worth it, and empties it.
    ///
    /// # Errors
    /// As [`Pieces::send`], also where there is nothing to be sent yet.
    pub(crate) fn send_full(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        const WORTH_BYTES: usize = 32 << 10;
        match buffer.len() < WORTH_BYTES {
            true if self.out.is_closed() => Err(io::ErrorKind::BrokenPipe.into()),
            true => Ok(()),
            false => self.send(std::mem::take(buffer)),
        }
    }

    fn give(&mut self, piece: io::Result<Bytes>) -> io::Result<()> {
        let piece = match self.out.try_send(piece) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Err(mpsc::error::TrySendError::Full(piece)) => piece,
        };
        let sent = self.runtime.block_on(self.out.send_timeout(piece, self.idle));
        sent.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => io::ErrorKind::TimedOut.into(),
            mpsc::error::SendTimeoutError::Closed(_) => io::ErrorKind::BrokenPipe.into(),
        })
    }
}

/// A body that comes through a channel.
struct Channel {
    first: Option<Bytes>,
    rest: mpsc::Receiver<io::Result<Bytes>>,
    guard: Option<CancelGuard>,
}

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let piece = self.rest.poll_recv(context);
        if let Poll::Ready(None) = piece
            && let Some(guard) = self.guard.take()
        {
            guard.done();
        }
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
