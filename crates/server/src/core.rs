//! Cores: a thread each, with a runtime of its own, that serves the sessions it was given from their
//! beginning to their end.
//!
//! ```text
//!   listener ──Arrival──> core 0   session · session · session ──┐
//!        ──Arrival──> core 1   session · session             ├─> threads that may wait: locks, COPY
//!                              └─ commit_waiter: one wait for many commits
//! ```
//!
//! A session stays where it is: its statements run on the thread that read them, and the answer
//! leaves from there. Nothing is handed from thread to thread but what has to wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::commit_waiter::{CommitThread, CommitWaiter};
use crate::connection;
use crate::listener::{Arrival, CoreHandle};
use crate::metrics::Counters;
use crate::server::Shared;

/// Bytes of the stack of a thread that runs statements: they may be nested deeply.
const STACK_BYTES: usize = 16 << 20;

/// The state that the sessions of a core share.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commit_waiter: CommitWaiter,
    pub(crate) counters: Arc<Counters>,
    /// How many connections are served, and who waits for there to be none.
    open: AtomicUsize,
    empty: Notify,
}

/// Starts a core; it ends after its handle is dropped and its sessions are gone.
pub(crate) fn start(
    shared: Arc<Shared>,
    commit_thread: CommitThread,
    number: usize,
) -> io::Result<(CoreHandle, JoinHandle<()>)> {
    let counters = Arc::new(Counters::default());
    let (sender, arrivals) = unbounded_channel();
    let limits = &shared.options.limits;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // A session waits on one thread at most. With fewer threads than sessions, those that wait
        // for a lock could keep its owner from giving it back.
        .max_blocking_threads(limits.connections_max + 1)
        .thread_stack_size(STACK_BYTES)
        .thread_name(format!("waiter-{number}"))
        .build()?;
    let core = Arc::new(Core {
        commit_waiter: CommitWaiter::new(Arc::clone(&counters), commit_thread),
        counters: Arc::clone(&counters),
        open: AtomicUsize::new(0),
        empty: Notify::new(),
        shared,
    });
    let thread = std::thread::Builder::new()
        .name(format!("core-{number}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            serve(&runtime, core, arrivals);
            // A session that has not ended in time is left behind, on its own thread.
            runtime.shutdown_background();
        })?;
    Ok((CoreHandle { sender, counters }, thread))
}

/// Serves the clients that arrive.
fn serve(runtime: &Runtime, core: Arc<Core>, mut arrivals: UnboundedReceiver<Arrival>) {
    runtime.block_on(async {
        while let Some(arrival) = arrivals.recv().await {
            core.open.fetch_add(1, Ordering::Relaxed);
            let presence = Presence(Arc::clone(&core));
            tokio::spawn(async move { connection::serve(&presence.0, arrival).await });
        }
        let patience = core.shared.options.limits.shutdown;
        if tokio::time::timeout(patience, core.emptied()).await.is_err() {
            let open = core.open.load(Ordering::Relaxed);
            tracing::warn!("{open} sessions did not end in time");
        }
    });
}

impl Core {
    async fn emptied(&self) {
        while self.open.load(Ordering::Acquire) > 0 {
            self.empty.notified().await;
        }
    }
}

/// One of the connections of a core, until it is dropped.
struct Presence(Arc<Core>);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.counters.connections.fetch_sub(1, Ordering::Relaxed);
        if self.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.empty.notify_one();
        }
    }
}
