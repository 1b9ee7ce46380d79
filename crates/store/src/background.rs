//! The two threads beside the callers: one flushes, one merges runs.
//!
//! ```text
//!   apply ──memtable full──> frozen ──durable?──> flush thread ──> runs ──too many?──> compact thread
//!     ^                        |
//!     └── waits while more than four are frozen and the first of them could be flushed
//! ```
//!
//! A flush that fails (a full disk) is tried again every second, and the writers are told why once they
//! would have to wait; reads go on. A failed manifest swap, or a panic in a table's merge, poisons the
//! store, and the threads end.

use crate::error::StoreError;
use crate::store::Shared;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Frozen memtables beyond which writers wait.
const FROZEN_MAX: usize = 4;
const RETRY: Duration = Duration::from_secs(1);
const FLUSH: &str = "store-flush";
const COMPACT: &str = "store-compact";

type Work = fn(&Shared) -> Result<(), StoreError>;

/// What the threads and the callers tell each other.
#[derive(Default)]
pub(crate) struct Background {
    signals: Mutex<Signals>,
    changed: Condvar,
    frozen: AtomicUsize,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Signals {
    /// Counts events, so that none is missed between two looks.
    events: u64,
    flush_error: Option<Arc<StoreError>>,
}

impl Background {
    /// Starts the threads.
    pub fn start(shared: &Arc<Shared>) -> Result<Vec<JoinHandle<()>>, StoreError> {
        let spawn = |name: &'static str, work: Work| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name(name.to_string())
                .spawn(move || run(&shared, work))
                .map_err(StoreError::io("cannot start thread", name))
        };
        let flusher = spawn(FLUSH, Shared::flush_whole)?;
        match spawn(COMPACT, Shared::compact_due) {
            Ok(compactor) => Ok(vec![flusher, compactor]),
            Err(e) => {
                shared.background.stop();
                let _ = flusher.join();
                Err(e)
            }
        }
    }

    /// Tells everybody to look again.
    pub fn wake(&self) {
        self.signals.lock().events += 1;
        self.changed.notify_all();
    }

    /// Ends the threads, soon.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake();
    }

    /// True once the threads should end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// A memtable was frozen.
    pub fn set_frozen(&self, count: usize) {
        self.frozen.store(count, Ordering::Release);
        self.wake();
    }

    /// A memtable was flushed.
    pub fn flushed(&self, frozen: usize) {
        self.signals.lock().flush_error = None;
        self.set_frozen(frozen);
    }

    /// More is durable: what is frozen may be flushed now.
    #[inline]
    pub fn durable_rose(&self) {
        if self.frozen.load(Ordering::Acquire) > 0 {
            self.wake();
        }
    }

    /// Waits while too much is frozen that could be flushed; fails where flushing fails.
    #[inline]
    pub fn stall(&self, shared: &Shared) -> Result<(), StoreError> {
        if self.frozen.load(Ordering::Acquire) > FROZEN_MAX && shared.options.background {
            self.stall_slow(shared)
        } else {
            Ok(())
        }
    }

    fn stall_slow(&self, shared: &Shared) -> Result<(), StoreError> {
        loop {
            let events = self.signals.lock().events;
            let state = shared.state();
            let durable = shared.durable.lock().0.0;
            let due = state.frozen.first().is_some_and(|f| f.mem.last() <= durable);
            if state.frozen.len() <= FROZEN_MAX || !due || self.is_stopping() {
                return Ok(());
            }
            drop(state);
            shared.check_poison()?;
            let mut signals = self.signals.lock();
            if let Some(cause) = &signals.flush_error {
                return Err(StoreError::Full { cause: cause.clone() });
            }
            if signals.events == events {
                self.changed.wait(&mut signals);
            }
        }
    }

    /// Gives other threads of the machine room during long work; false once it should end.
    pub fn breathe(&self) -> bool {
        std::thread::yield_now();
        !self.is_stopping()
    }
}

/// The life of a thread: works whenever something has happened, and again a while after a failure.
fn run(shared: &Shared, work: Work) {
    let background = &shared.background;
    let flushes = std::thread::current().name() == Some(FLUSH);
    let mut seen = None;
    loop {
        let mut signals = background.signals.lock();
        while Some(signals.events) == seen && !background.is_stopping() {
            background.changed.wait(&mut signals);
        }
        seen = Some(signals.events);
        drop(signals);
        if background.is_stopping() || shared.check_poison().is_err() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(shared))).unwrap_or_else(|_| {
            // A table's merge may have panicked. Nobody waits for a thread that is gone.
            let gone = std::io::Error::other("the thread panicked");
            Err(shared
                .poison(StoreError::io("cannot go on in", if flushes { FLUSH } else { COMPACT })(
                    gone,
                )))
        });
        if let Err(error) = result {
            let mut signals = background.signals.lock();
            if flushes {
                signals.flush_error = Some(Arc::new(error));
            }
            background.changed.notify_all();
            if !background.is_stopping() {
                background.changed.wait_for(&mut signals, RETRY);
            }
            seen = None;
        }
    }
}
