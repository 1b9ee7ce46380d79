//! [`Connections`]: places for connections, and who has to leave when there are none left.
//!
//! ```text
//!   accept ──> a place ──────────────────────────────> free
//!                │  server waits for the client: nothing sent yet, half of a head, half of a body,
//!                │  or an answer and then silence                                       may be sent away
//!                └─ client waits for the server: a whole request, and no answer yet     stays
//! ```
//!
//! A connection costs its client nothing, so clients that open many and say nothing must not keep out one
//! that has something to say. When all places are taken and another client comes, the connection leaves
//! on which nothing has happened for the longest time, among those where the server waits.
//!
//! Invariant: a connection with a whole request is never sent away for another.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Marks a connection that has to leave: more than the count of its requests can be.
const LEAVES: i64 = 1 << 40;
/// How soon it is looked again for somebody to send away, where all connections had a whole request.
const AGAIN: Duration = Duration::from_millis(20);

/// All connections of a server.
pub(crate) struct Connections {
    places: Arc<Semaphore>,
    places_max: u32,
    begun: Instant,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Connections that had to leave for others.
    pub(crate) sent_away: AtomicU64,
}

/// A connection.
pub(crate) struct Connection {
    begun: Instant,
    /// Requests for which the client waits, and [`LEAVES`]. Below 0 for a moment where the answer has ended
    /// before the body of its request.
    requests: AtomicI64,
    /// When bytes came or went last, in microseconds since `begun`.
    moved_us: AtomicU64,
    has_asked: AtomicBool,
    leave: Notify,
}

/// A place that is taken; free again when it is dropped.
pub(crate) struct Seat {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) connection: Arc<Connection>,
    _place: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) fn new(places_max: usize) -> Arc<Self> {
        let places_max = u32::try_from(places_max).unwrap_or(u32::MAX).max(1);
        Arc::new(Connections {
            places: Arc::new(Semaphore::new(places_max as usize)),
            places_max,
            begun: Instant::now(),
            next: AtomicU64::new(0),
            open: Mutex::default(),
            sent_away: AtomicU64::new(0),
        })
    }

    /// A place for somebody who has connected. Where there is none somebody else leaves; where nobody can,
    /// this waits.
    pub(crate) async fn take(self: &Arc<Self>) -> Option<Seat> {
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => loop {
                self.send_away();
                let place = Arc::clone(&self.places).acquire_owned();
                if let Ok(place) = tokio::time::timeout(AGAIN, place).await {
                    break place.ok()?;
                }
            },
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            begun: self.begun,
            requests: AtomicI64::new(0),
            moved_us: AtomicU64::new(0),
            has_asked: AtomicBool::new(false),
            leave: Notify::new(),
        });
        connection.moved();
        self.open.lock().insert(number, Arc::clone(&connection));
        Some(Seat { connections: Arc::clone(self), number, connection, _place: place })
    }

    /// Waits until all places are free.
    pub(crate) async fn are_gone(&self) {
        // An error would mean that there are no places any more.
        let _ = self.places.acquire_many(self.places_max).await;
    }

    /// Has the connection leave on which nothing has happened for the longest time, if there is one on
    /// which the server waits.
    pub(crate) fn send_away(&self) {
        let open = self.open.lock();
        loop {
            let idle = open.values().filter_map(|known| {
                let requests = known.requests.load(Ordering::SeqCst);
                (requests <= 0).then_some((known, requests))
            });
            let longest = idle.min_by_key(|(known, _)| known.moved_us.load(Ordering::Relaxed));
            let Some((longest, requests)) = longest else { return };
            // A request may come between the look and this.
            let leaves = requests + LEAVES;
            let order = Ordering::SeqCst;
            if longest.requests.compare_exchange(requests, leaves, order, order).is_ok() {
                self.sent_away.fetch_add(1, Ordering::Relaxed);
                longest.leave.notify_one();
                return;
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
    }
}

impl Connection {
    fn moved(&self) {
        let us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.moved_us.store(us, Ordering::Relaxed);
    }

    /// Waits until the connection has to leave for another.
    pub(crate) async fn leave(&self) {
        self.leave.notified().await;
    }

    /// Waits for a time, and then for ever if there was a request by then.
    pub(crate) async fn silence(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if self.has_asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// A request has come; `None` where the connection leaves, and nothing may be begun.
    pub(crate) fn asked(self: &Arc<Self>) -> Option<Request> {
        self.has_asked.store(true, Ordering::Relaxed);
        let before = self.requests.fetch_add(1, Ordering::SeqCst);
        let request = Request(Arc::clone(self));
        (before < LEAVES / 2).then_some(request)
    }
}

/// A request for which the client waits, until it is dropped.
pub(crate) struct Request(Arc<Connection>);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bytes of a connection, which knows when some came or went.
pub(crate) struct Bytewise<S> {
    stream: S,
    connection: Arc<Connection>,
}

impl<S> Bytewise<S> {
    pub(crate) fn new(stream: S, connection: &Arc<Connection>) -> Self {
        Bytewise { stream, connection: Arc::clone(connection) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bytewise<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.moved();
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> Bytewise<S> {
    fn wrote(&self, done: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(1..)) = done {
            self.connection.moved();
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bytewise<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The body of a request. While the server waits for more of it, the client does not wait for the server.
pub(crate) struct Asked {
    body: Incoming,
    connection: Arc<Connection>,
    is_waited_for: bool,
}

impl Asked {
    pub(crate) fn new(body: Incoming, connection: &Arc<Connection>) -> Self {
        Asked { body, connection: Arc::clone(connection), is_waited_for: false }
    }

    fn wait(&mut self, is_waited_for: bool) {
        if std::mem::replace(&mut self.is_waited_for, is_waited_for) == is_waited_for {
            return;
        }
        let requests = &self.connection.requests;
        match is_waited_for {
            true => requests.fetch_sub(1, Ordering::SeqCst),
            false => requests.fetch_add(1, Ordering::SeqCst),
        };
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.wait(false);
    }
}

impl http_body::Body for Asked {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.wait(frame.is_pending());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: the client waits for it until its end.
pub(crate) struct Answered {
    body: Body,
    _request: Request,
}

impl Answered {
    pub(crate) fn new(body: Body, request: Request) -> Self {
        Answered { body, _request: request }
    }
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
