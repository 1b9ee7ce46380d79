//! [`Server`]: the listeners, and the threads behind them; [`Handle`]: the way to stop it.
//!
//! ```text
//!   Server::start ──> thread "listener"  accepts, authenticates
//!                 ──> thread "core-0"    serves sessions
//!                 ──> thread "core-1" ...
//!                 ──> thread "commits"   waits for the disk
//!   Handle::shutdown: the listener closes ─> sessions are told ─> threads end
//! ```

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use session::Instance;
use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::auth::hba::Rules;
use crate::commit_waiter::CommitThread;
use crate::core;
use crate::listener::Listener;
use crate::metrics::{Counters, Metrics};
use crate::options::Options;
use crate::tls::Encryption;

/// The state that listeners and cores share.
pub(crate) struct Shared {
    pub(crate) instance: Arc<Instance>,
    pub(crate) options: Options,
    pub(crate) encryption: Option<Encryption>,
    /// The counts of the listeners.
    pub(crate) counters: Arc<Counters>,
    /// The process number of the session that was served last, whichever core has it.
    pub(crate) served_last: AtomicI32,
    /// How long clients are waited for awake: never where there is no processor for them meanwhile.
    pub(crate) busy_poll: Duration,
    is_stopping: AtomicBool,
}

impl Shared {
    /// True once the server has been told to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

/// Serves an instance to clients that speak PostgreSQL's protocol.
#[derive(Debug)]
pub struct Server;

/// A server that runs. Dropping it stops it, as [`Handle::shutdown`] does.
pub struct Handle {
    addresses: Vec<SocketAddr>,
    unix_socket: Option<PathBuf>,
    shared: Arc<Shared>,
    counters: Vec<Arc<Counters>>,
    close: Arc<Notify>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens, and serves from then on, on threads of its own.
    ///
    /// # Errors
    /// Fails if an address cannot be listened on, or if the certificate or its key cannot be read.
    pub fn start(instance: Arc<Instance>, options: Options) -> io::Result<Handle> {
        let encryption = options.tls.as_ref().map(Encryption::load).transpose()?;
        let mut tcp = Vec::new();
        for address in &options.listen {
            tcp.push(listen(*address)?);
        }
        let addresses = tcp.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let port = addresses.first().map_or(5432, SocketAddr::port);
        let unix_socket =
            options.unix_folder.as_ref().map(|folder| folder.join(format!(".s.PGSQL.{port}")));
        let unix = unix_socket.as_ref().map(listen_unix).transpose()?;
        warn(&options, encryption.is_some());

        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = if options.cores == 0 { processors } else { options.cores };
        let busy_poll = if processors > 1 { options.busy_poll } else { Duration::ZERO };
        let shared = Arc::new(Shared {
            instance,
            options,
            encryption,
            counters: Arc::default(),
            served_last: AtomicI32::new(0),
            busy_poll,
            is_stopping: AtomicBool::new(false),
        });
        let mut handle = Handle {
            addresses,
            unix_socket,
            counters: vec![Arc::clone(&shared.counters)],
            close: Arc::default(),
            threads: Vec::new(),
            shared,
        };
        let mut core_handles = Vec::new();
        let commit_thread = CommitThread::start(Arc::clone(&handle.shared.counters))?;
        for number in 0..cores {
            let (core_handle, thread) =
                core::start(Arc::clone(&handle.shared), commit_thread.clone(), number)?;
            handle.counters.push(Arc::clone(&core_handle.counters));
            handle.threads.push(thread);
            core_handles.push(core_handle);
        }
        let listener = Listener::new(Arc::clone(&handle.shared), core_handles);
        let thread = open(listener, tcp, unix, Arc::clone(&handle.close))?;
        handle.threads.push(thread);
        for address in &handle.addresses {
            tracing::info!("listening on {address}, {cores} cores");
        }
        Ok(handle)
    }
}

/// Says loudly what is not safe.
fn warn(options: &Options, is_encrypted: bool) {
    if options.rules.trusts() {
        tracing::warn!(
            "the rules of access let clients in WITHOUT A PASSWORD (by default: those on this \
             machine, as roles that have none); give the roles passwords before others can reach \
             this machine"
        );
    }
    if !is_encrypted && options.listen.iter().any(|address| !address.ip().is_loopback()) {
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

fn listen_unix(path: &PathBuf) -> io::Result<UnixListener> {
    let name =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    // A socket without a listener was left behind by a server that did not end well.
    if path.exists() && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path).map_err(name)?;
    }
    let listener = UnixListener::bind(path).map_err(name)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Starts the listeners; they stop with the server.
fn open(
    listener: Arc<Listener>,
    tcp: Vec<TcpListener>,
    unix: Option<UnixListener>,
    close: Arc<Notify>,
) -> io::Result<JoinHandle<()>> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    {
        let _on = runtime.enter();
        for socket in tcp {
            let socket = tokio::net::TcpListener::from_std(socket)?;
            runtime.spawn(Arc::clone(&listener).listen_tcp(socket));
        }
        if let Some(socket) = unix {
            let socket = tokio::net::UnixListener::from_std(socket)?;
            runtime.spawn(Arc::clone(&listener).listen_unix(socket));
        }
    }
    runtime.spawn(listener.watch());
    std::thread::Builder::new().name("listener".to_owned()).spawn(move || {
        runtime.block_on(close.notified());
        runtime.shutdown_background();
    })
}

impl Handle {
    /// The addresses that are listened on, in the order of [`Options::listen`].
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The socket in the file system.
    pub fn unix_socket(&self) -> Option<&PathBuf> {
        self.unix_socket.as_ref()
    }

    /// The counts of the server so far.
    pub fn metrics(&self) -> Metrics {
        Metrics::sum(&self.counters)
    }

    /// The rules of access that are in force.
    pub fn rules(&self) -> &Rules {
        &self.shared.options.rules
    }

    /// Accepts no more connections, ends all sessions with their statements (`57P01`), and returns
    /// when they have gone, or after [`Limits::shutdown`](crate::Limits::shutdown).
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if self.shared.is_stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        tracing::info!("shutting down");
        self.close.notify_one();
        self.shared.instance.terminate();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the server had failed");
            }
        }
        if let Some(path) = &self.unix_socket {
            // It may be gone already; nothing depends on it.
            let _ = std::fs::remove_file(path);
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
