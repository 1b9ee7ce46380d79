//! [`Server`]: the listeners, and the threads behind them; [`Handle`]: the way to stop it.
//!
//! ```text
//!   listener ─> connection (TLS) ─> HTTP/1.1 or HTTP/2 ─> router
//!                                       by ALPN, or by the first bytes
//!   Handle::shutdown: no new clients ─> connections end after their request ─> running requests are cancelled ─>
//!                     the runtime ends
//! ```

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::thread::JoinHandle;
use std::time::Duration;

use anywhen::Database;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::connections::{ActiveStream, Connection, Connections, Slot};
use crate::metrics::Counted;
use crate::options::Options;
use crate::router::Service;
use crate::tls;

/// Serves a database over HTTP.
#[derive(Debug)]
pub struct Server;

/// A server that runs. Dropping it stops it, as [`Handle::shutdown`] does.
pub struct Handle {
    addresses: Vec<SocketAddr>,
    app: Arc<App>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and serves from then on, on threads of its own.
    ///
    /// # Errors
    /// Fails if an address cannot be listened on, if a certificate, a key or a file of keys cannot be
    /// read, or if other machines could connect without a token.
    pub fn start(database: Database, options: Options) -> io::Result<Handle> {
        let guard = options.guard()?;
        warn(&options);
        let config = options.tls.as_ref().map(tls::config).transpose()?;
        let listeners = options.listen.iter().map(|address| listen(*address));
        let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        let addresses =
            listeners.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let limits = options.limits.clone();
        let mut builder = Builder::new_multi_thread();
        builder.enable_io().enable_time().thread_name("http");
        builder.max_blocking_threads(limits.workers + limits.streams_max);
        if options.cores > 0 {
            builder.worker_threads(options.cores);
        }
        let runtime = builder.build()?;
        let app = Arc::new(App::new(database, guard, options));
        for address in &addresses {
            tracing::info!("listening for HTTP on {address}");
        }
        let shared = Arc::clone(&app);
        let thread = std::thread::Builder::new()
            .name("http-listener".to_owned())
            .spawn(move || serve(&shared, runtime, listeners, config))?;
        Ok(Handle { addresses, app, thread: Some(thread) })
    }
}

/// Says loudly what is not safe.
fn warn(options: &Options) {
    let is_local = options.listen.iter().all(|address| address.ip().is_loopback());
    if options.auth.is_open() {
        tracing::warn!(
            "EVERYBODY on this machine may read and change everything over HTTP; tokens make it ask \
             who they are"
        );
    }
    if options.cors.iter().any(|origin| origin == "*") {
        tracing::warn!("web pages of EVERY ORIGIN may call the HTTP server from a browser");
    }
    if options.tls.is_none() && !is_local {
        tracing::warn!(
            "other machines can connect, and what they say is NOT ENCRYPTED: set up TLS"
        );
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The state that the connections of a server share.
struct Listener {
    app: Arc<App>,
    service: Service,
    http: auto::Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    connections: Arc<Connections>,
}

fn serve(
    app: &Arc<App>,
    runtime: Runtime,
    listeners: Vec<TcpListener>,
    config: Option<Arc<ServerConfig>>,
) {
    let limits = app.options.limits.clone();
    let mut http = auto::Builder::new(TokioExecutor::new());
    // Without `pipeline_flush`: it would copy every body behind its head, for the sake of clients that send
    // many requests at once, of which there are hardly any.
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(limits.header_bytes_max.max(8 << 10));
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.idle)
        .max_header_list_size(limits.header_bytes_max.try_into().unwrap_or(u32::MAX));
    let listener = Arc::new(Listener {
        app: Arc::clone(app),
        service: Service::new(app),
        http,
        tls: config.map(TlsAcceptor::from),
        connections: Arc::clone(&app.connections),
    });
    runtime.spawn(tell_followers(Arc::clone(app)));
    let shared = Arc::clone(app);
    runtime.spawn(async move { shared.guard.keep().await });
    runtime.block_on(async {
        for socket in listeners {
            match tokio::net::TcpListener::from_std(socket) {
                Ok(socket) => drop(tokio::spawn(accept(Arc::clone(&listener), socket))),
                Err(error) => tracing::error!("cannot listen: {error}"),
            }
        }
        told(&mut app.stopping.subscribe()).await;
        let ends = tokio::time::Instant::now() + limits.shutdown;
        // Connections hold their places until they end.
        let ended = tokio::time::timeout(limits.shutdown * 4 / 5, listener.connections.are_gone());
        if ended.await.is_err() {
            tracing::warn!("requests that go on for too long are cancelled");
            app.cutting.send_replace(true);
        }
        // Threads stop when they see that their clients have gone; their unfinished work is rolled
        // back then.
        let gone = async {
            listener.connections.are_gone().await;
            app.is_idle().await;
        };
        if tokio::time::timeout_at(ends, gone).await.is_err() {
            tracing::warn!("the server ends in the middle of a request");
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// Tells the streams of changes of new commits. The thread that commits wakes this task, and only where
/// there is a stream; this task wakes the streams.
async fn tell_followers(app: Arc<App>) {
    let news = Arc::new(Notify::new());
    let (committed, followed) = (Arc::clone(&news), Arc::downgrade(&app));
    let _subscription = app.database.subscribe(move |_| {
        // A stream subscribes before it looks at the database, the commit is visible before this looks
        // for streams: one of them sees the other.
        fence(Ordering::SeqCst);
        if followed.upgrade().is_some_and(|app| app.newest.receiver_count() > 0) {
            committed.notify_one();
        }
    });
    loop {
        news.notified().await;
        let newest = app.database.newest();
        app.newest.send_if_modified(|known| {
            let is_new = *known != newest;
            *known = newest;
            is_new
        });
    }
}

/// Waits until the server is to stop, or to cut connections off.
async fn told(stopping: &mut watch::Receiver<bool>) {
    // An error would mean that the sender is gone, which is the end too.
    let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
}

async fn accept(listener: Arc<Listener>, socket: tokio::net::TcpListener) {
    let mut stopping = listener.app.stopping.subscribe();
    loop {
        let accepted = tokio::select! {
            biased;
            () = told(&mut stopping) => return,
            accepted = socket.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely: one becomes free when a client leaves.
                tracing::warn!("a connection could not be accepted: {error}");
                listener.connections.evict();
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let slot = tokio::select! {
            biased;
            () = told(&mut stopping) => return,
            slot = listener.connections.take() => slot,
        };
        let Some(slot) = slot else { return };
        let listener = Arc::clone(&listener);
        tokio::spawn(async move {
            listener.app.metrics.connections_total.fetch_add(1, Ordering::Relaxed);
            let _counted = Counted::new(&listener.app.metrics.connections);
            serve_connection(&listener, &slot, stream).await;
        });
    }
}

/// Serves a connection until it ends, or has to.
async fn serve_connection(listener: &Listener, slot: &Slot, stream: TcpStream) {
    // Answers are written as a whole; waiting for more would only make them late.
    let _ = stream.set_nodelay(true);
    let connection = &slot.connection;
    let stream = ActiveStream::new(stream, connection);
    let header = listener.app.options.limits.header;
    let mut cutting = listener.app.cutting.subscribe();
    tokio::select! {
        () = greet(listener, connection, stream) => {}
        () = connection.evicted() => tracing::debug!("an idle connection was evicted"),
        () = connection.silence(header) => tracing::debug!("a connection without a request"),
        () = told(&mut cutting) => {}
    }
}

/// Encrypts a connection where that is to be done.
async fn greet(listener: &Listener, connection: &Arc<Connection>, stream: ActiveStream<TcpStream>) {
    let Some(acceptor) = &listener.tls else { return converse(listener, connection, stream).await };
    match acceptor.accept(stream).await {
        Ok(stream) => converse(listener, connection, stream).await,
        Err(error) => tracing::debug!("a handshake failed: {error}"),
    }
}

async fn converse(
    listener: &Listener,
    connection: &Arc<Connection>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let service = TowerToHyperService::new(listener.service.of(connection));
    let talk = listener.http.serve_connection(TokioIo::new(stream), service);
    let mut talk = std::pin::pin!(talk);
    let mut stopping: watch::Receiver<bool> = listener.app.stopping.subscribe();
    let done = tokio::select! {
        done = talk.as_mut() => done,
        () = told(&mut stopping) => {
            talk.as_mut().graceful_shutdown();
            talk.await
        }
    };
    if let Err(error) = done {
        tracing::debug!("a connection ended: {error}");
    }
}

impl Handle {
    /// The addresses that are listened on, in the order of [`Options::listen`].
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Accepts no more connections, ends streams of changes, waits for the end of requests, and
    /// returns then, or after [`Limits::shutdown`](crate::Limits::shutdown).
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.app.stopping.send_replace(true);
        // Streams of changes wake up to see it.
        self.app.newest.send_modify(|_| ());
        if thread.join().is_err() {
            tracing::error!("a thread of the HTTP server had failed");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}
