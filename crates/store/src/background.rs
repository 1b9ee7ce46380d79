//! The two threads beside the callers: one flushes, one merges runs.
//!
//! ```text
//!   apply ──memtable full──> frozen ──durable?──> flush thread ──> runs ──too many?──> compact thread
//!     ^                        |
//!   admit <── back-pressure ───┘
//! ```
//!
//! # Back-pressure
//! Writers that are faster than the flush wait before their commit is numbered and logged, where they
//! hold up no other commit. `apply` itself never waits, because all other commits wait while it runs.
//! The backlog is counted in memtables: the frozen ones and the filled part of the active one.
//!
//! ```text
//!   memtables waiting   0        1        2      2.5     3       3.5     4       4.5      5
//!   a commit waits      not at all ...... |      0.2     0.5     1       2       5 ms     until one is flushed
//! ```
//!
//! The delay grows until the writers are as slow as the flush. So each commit is a little slower, and no
//! writer stops suddenly. No writer waits while the oldest memtable is not durable in the log: the
//! thread that would sync the log may be among the callers.
//!
//! A flush that fails (a full disk) is tried again every second. Writers that would have to wait get its
//! error; reads go on. A failed manifest swap, or a panic in a table's merge, poisons the
//! store, and the threads end.

use crate::error::StoreError;
use crate::store::Shared;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Memtables waiting from which on writers are slowed down.
const SLOW_FROM: usize = 2;
/// Memtables waiting at which they stop.
const STOP_AT: usize = 5;
/// The wait of a commit halfway between the two.
const DELAY: Duration = Duration::from_millis(1);
const RETRY: Duration = Duration::from_secs(1);
const FLUSH: &str = "store-flush";
const COMPACT: &str = "store-compact";

type Work = fn(&Shared) -> Result<(), StoreError>;

/// The signals between the threads and the callers.
#[derive(Default)]
pub(crate) struct Background {
    signals: Mutex<Signals>,
    changed: Condvar,
    frozen: AtomicUsize,
    /// The last commit of the oldest frozen memtable, 0 where there is none: once it is durable there
    /// is something to flush.
    due: AtomicU64,
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
        match spawn(COMPACT, Shared::tidy) {
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

    /// A memtable was frozen, or flushed.
    pub fn memtables_changed(&self, shared: &Shared, flushed: bool) {
        let mut signals = self.signals.lock();
        // Read under the lock: of two threads that come at once the later one stores the true
        // value.
        let state = shared.state();
        self.due.store(state.frozen.first().map_or(0, |f| f.mem.last()), Ordering::Release);
        self.frozen.store(state.frozen.len(), Ordering::Release);
        signals.events += 1;
        if flushed {
            signals.flush_error = None;
        }
        drop(signals);
        self.changed.notify_all();
    }

    /// The durable position rose from one commit to another. If the oldest frozen memtable ends
    /// between the two, it may be flushed now.
    #[inline]
    pub fn durable_rose(&self, from: u64, to: u64) {
        let due = self.due.load(Ordering::Acquire);
        if from < due && due <= to {
            self.wake();
        }
    }

    /// Holds a writer back by how much waits to be flushed; fails if flushing fails.
    #[inline]
    pub fn admit(&self, shared: &Shared) -> Result<(), StoreError> {
        if self.frozen.load(Ordering::Acquire) >= SLOW_FROM && shared.options.background {
            self.hold_back(shared)
        } else {
            Ok(())
        }
    }

    fn hold_back(&self, shared: &Shared) -> Result<(), StoreError> {
        loop {
            let events = self.signals.lock().events;
            let state = shared.state();
            let durable = shared.durable.lock().0.0;
            let due = state.frozen.first().is_some_and(|f| f.mem.last() <= durable);
            let waiting = state.frozen.len() as f64 + state.active.fill(&shared.options);
            drop(state);
            if !due || self.is_stopping() {
                return Ok(());
            }
            shared.check_poison()?;
            let mut signals = self.signals.lock();
            match delay(waiting) {
                Some(Duration::ZERO) => return Ok(()),
                // An event meanwhile may be a flush: then the wait is computed anew.
                Some(delay) if signals.events == events => {
                    if self.changed.wait_for(&mut signals, delay).timed_out() {
                        return Ok(());
                    }
                }
                None => {
                    if let Some(cause) = &signals.flush_error {
                        return Err(StoreError::Full { cause: cause.clone() });
                    }
                    if signals.events == events {
                        self.changed.wait(&mut signals);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Yields to other threads during long work; false once the work should end.
    pub fn yield_and_continue(&self) -> bool {
        std::thread::yield_now();
        !self.is_stopping()
    }
}

/// How long a commit is held back while so many memtables wait to be flushed; `None`: until one is.
fn delay(waiting: f64) -> Option<Duration> {
    let part = (waiting - SLOW_FROM as f64) / (STOP_AT - SLOW_FROM) as f64;
    (part < 1.0).then(|| DELAY.mul_f64(part.max(0.0) / (1.0 - part)))
}

/// The life of a thread: works whenever something has happened, and again a while after a failure.
fn run(shared: &Shared, work: Work) {
    let background = &shared.background;
    let flushes = std::thread::current().name() == Some(FLUSH);
    let mut seen = None;
    loop {
        let mut signals = background.signals.lock();
        while Some(signals.events) == seen && !background.is_stopping() {
            if flushes || !shared.is_erasing() {
                background.changed.wait(&mut signals);
            } else if background.changed.wait_for(&mut signals, RETRY).timed_out() {
                // Erasures wait for snapshots, and the end of a snapshot raises no event.
                break;
            }
        }
        seen = Some(signals.events);
        drop(signals);
        if background.is_stopping() || shared.check_poison().is_err() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(shared))).unwrap_or_else(|_| {
            // A table's merge may have panicked. Callers must not wait for a thread that is gone.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No commit waits before two memtables do; from there on the delay grows without a step and without
    /// end, and at five nothing but a flush lets a writer go on.
    #[test]
    fn the_delay_grows_steadily_from_nothing_to_a_stop() {
        let micros = |waiting: f64| delay(waiting).map(|delay| delay.as_micros());
        assert_eq!([0.0, 1.9, 2.0].map(micros), [Some(0); 3]);
        assert_eq!([2.5, 3.5, 4.5].map(micros), [Some(200), Some(1_000), Some(5_000)]);
        assert_eq!([5.0, 7.3].map(micros), [None; 2]);
        let curve: Vec<_> =
            (0..500).map(|hundredths| micros(f64::from(hundredths) / 100.0)).collect();
        assert!(curve.is_sorted() && curve.iter().all(Option::is_some), "{curve:?}");
    }
}
