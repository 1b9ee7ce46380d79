//! [`Connections`]: the open connections. When there are too many, the server closes one of them.
//!
//! ```text
//!   accept ──> a slot ───────────────────────────────> free
//!                │  server waits for the client: nothing sent yet, half of a head, half of a body,
//!                │  an answer and then silence, or an answer that it does not take      can be evicted
//!                └─ client waits for the server: a whole request, and no answer yet     stays
//! ```
//!
//! An idle connection costs its client nothing, so idle connections must not keep out a client with a request.
//! When all slots are taken and another client connects, the server closes one connection: among those where
//! it waits for the client, the one without any traffic for the longest time.
//!
//! Invariant: a connection with a whole request is never evicted while its client takes the answer.

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

/// Added to the count of requests of an evicted connection: more than that count can be.
const EVICTED: i64 = 1 << 40;
/// How soon eviction is tried again where every connection had a whole request.
const AGAIN: Duration = Duration::from_millis(20);

/// All connections of a server.
pub(crate) struct Connections {
    places: Arc<Semaphore>,
    places_max: u32,
    begun: Instant,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    /// How many connections were evicted.
    pub(crate) evicted: AtomicU64,
}

/// A connection.
pub(crate) struct Connection {
    begun: Instant,
    /// Requests for which the client waits, plus [`EVICTED`]. Below 0 for a moment where the answer ends before
    /// the body of its request.
    requests: AtomicI64,
    /// When bytes were last read or written, in microseconds since `begun`.
    moved_us: AtomicU64,
    /// True while the client does not read the answer that the server sends.
    is_blocked: AtomicBool,
    has_asked: AtomicBool,
    eviction: Notify,
}

/// A slot that is taken; dropping it frees it.
pub(crate) struct Slot {
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
            evicted: AtomicU64::new(0),
        })
    }

    /// Takes a slot for a new connection. Where none is free it evicts an idle connection; where none is idle
    /// it waits.
    pub(crate) async fn take(self: &Arc<Self>) -> Option<Slot> {
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => loop {
                self.evict();
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
            is_blocked: AtomicBool::new(false),
            has_asked: AtomicBool::new(false),
            eviction: Notify::new(),
        });
        connection.moved();
        self.open.lock().insert(number, Arc::clone(&connection));
        Some(Slot { connections: Arc::clone(self), number, connection, _place: place })
    }

    /// Waits until all slots are free.
    pub(crate) async fn are_gone(&self) {
        // An error would mean that there are no places any more.
        let _ = self.places.acquire_many(self.places_max).await;
    }

    /// Evicts the connection without traffic for the longest time, among those where the server waits for the
    /// client; none if there is no such connection.
    pub(crate) fn evict(&self) {
        let open = self.open.lock();
        loop {
            let idle = open.values().filter_map(|known| {
                let requests = known.requests.load(Ordering::SeqCst);
                let is_idle = requests <= 0 || known.is_blocked.load(Ordering::Relaxed);
                (is_idle && requests < EVICTED / 2).then_some((known, requests))
            });
            let longest = idle.min_by_key(|(known, _)| known.moved_us.load(Ordering::Relaxed));
            let Some((longest, requests)) = longest else { return };
            // A request may come between the look and this.
            let leaves = requests + EVICTED;
            let order = Ordering::SeqCst;
            if longest.requests.compare_exchange(requests, leaves, order, order).is_ok() {
                self.evicted.fetch_add(1, Ordering::Relaxed);
                longest.eviction.notify_one();
                return;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
    }
}

impl Connection {
    fn moved(&self) {
        let us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.moved_us.store(us, Ordering::Relaxed);
    }

    /// Waits until the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// Waits until the time for the first request is over; for ever if a request came in time.
    pub(crate) async fn silence(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if self.has_asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Counts a request; `None` if the connection is evicted, and the request must not begin.
    pub(crate) fn asked(self: &Arc<Self>) -> Option<InFlight> {
        self.has_asked.store(true, Ordering::Relaxed);
        let before = self.requests.fetch_add(1, Ordering::SeqCst);
        let request = InFlight(Arc::clone(self));
        (before < EVICTED / 2).then_some(request)
    }
}

/// A request for which the client waits, until this is dropped.
pub(crate) struct InFlight(Arc<Connection>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A stream that notes when bytes were read or written.
pub(crate) struct ActiveStream<S> {
    stream: S,
    connection: Arc<Connection>,
}

impl<S> ActiveStream<S> {
    pub(crate) fn new(stream: S, connection: &Arc<Connection>) -> Self {
        ActiveStream { stream, connection: Arc::clone(connection) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActiveStream<S> {
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

impl<S: AsyncWrite + Unpin> ActiveStream<S> {
    fn wrote(&self, done: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.connection.is_blocked.store(done.is_pending(), Ordering::Relaxed);
        if let Poll::Ready(Ok(1..)) = done {
            self.connection.moved();
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActiveStream<S> {
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

/// The body of a request. While the server waits for more of it, the request does not count.
pub(crate) struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
    is_waited_for: bool,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, connection: &Arc<Connection>) -> Self {
        RequestBody { body, connection: Arc::clone(connection), is_waited_for: false }
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

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.wait(false);
    }
}

impl http_body::Body for RequestBody {
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

/// The body of an answer: the request counts until its end.
pub(crate) struct ResponseBody {
    body: Body,
    _request: InFlight,
}

impl ResponseBody {
    pub(crate) fn new(body: Body, request: InFlight) -> Self {
        ResponseBody { body, _request: request }
    }
}

impl http_body::Body for ResponseBody {
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
