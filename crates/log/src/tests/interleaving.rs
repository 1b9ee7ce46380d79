//! The leader and its followers under a scheduler that tries thousands of interleavings.
//!
//! The very file `group.rs` is compiled a second time here, against the locks of `shuttle`.

// That it is there twice is the point: the second time against other locks.
#[allow(clippy::duplicate_mod)]
#[path = "../group.rs"]
mod group;

/// The locks that `group` finds here.
mod primitives {
    pub use shuttle::sync::atomic::{AtomicU64, Ordering};
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use self::group::{Group, SyncError};

const SCHEDULES: usize = 2_000;

/// A log without files: what was appended, and what of it the disk has.
struct Model {
    group: Group,
    appended: Mutex<u64>,
    synced: AtomicU64,
    leaders: AtomicU64,
    /// The flush with this number fails, and all after it.
    fails_at: u64,
    flushes: AtomicU64,
}

impl Model {
    fn new(fails_at: u64) -> Arc<Model> {
        Arc::new(Model {
            group: Group::new(0),
            appended: Mutex::new(0),
            synced: AtomicU64::new(0),
            leaders: AtomicU64::new(0),
            fails_at,
            flushes: AtomicU64::new(0),
        })
    }

    fn append(&self) -> u64 {
        let mut appended = self.appended.lock().unwrap();
        *appended += 8;
        *appended
    }

    fn flush(&self) -> Result<u64, ()> {
        assert_eq!(self.leaders.fetch_add(1, Ordering::SeqCst), 0, "two leaders at once");
        let end = *self.appended.lock().unwrap();
        thread::yield_now(); // The disk takes its time; others append meanwhile.
        let failed = self.flushes.fetch_add(1, Ordering::SeqCst) >= self.fails_at;
        if !failed {
            self.synced.store(end, Ordering::SeqCst);
        }
        self.leaders.fetch_sub(1, Ordering::SeqCst);
        if failed { Err(()) } else { Ok(end) }
    }

    /// One commit; true if it was acknowledged.
    fn commit(&self) -> bool {
        let upto = self.append();
        match self.group.sync(upto, || self.flush()) {
            Ok(()) => {
                assert!(
                    self.synced.load(Ordering::SeqCst) >= upto,
                    "acknowledged before it was synced"
                );
                assert!(self.group.durable() >= upto);
                true
            }
            Err(SyncError::Beyond(end)) => {
                panic!("the leader's flush ended at {end}, before its own {upto}")
            }
            Err(SyncError::Flush(()) | SyncError::Poisoned) => false,
        }
    }
}

fn writers(model: &Arc<Model>, threads: usize, commits: usize) -> usize {
    let writers: Vec<_> = (0..threads)
        .map(|_| {
            let model = model.clone();
            thread::spawn(move || (0..commits).filter(|_| model.commit()).count())
        })
        .collect();
    writers.into_iter().map(|w| w.join().unwrap()).sum()
}

/// Nobody is acknowledged early, nobody waits for ever, and there is one leader at a time.
#[test]
fn every_writer_returns_and_none_too_early() {
    shuttle::check_random(
        || {
            let model = Model::new(u64::MAX);
            assert_eq!(writers(&model, 4, 3), 12);
            assert_eq!(model.synced.load(Ordering::SeqCst), 96);
            assert!(model.flushes.load(Ordering::SeqCst) <= 12);
        },
        SCHEDULES,
    );
}

/// A flush fails: from then on every caller is refused, and the waiters are told.
#[test]
fn a_failed_flush_refuses_everyone_and_hangs_nobody() {
    shuttle::check_random(
        || {
            let model = Model::new(2);
            let acknowledged = writers(&model, 4, 3);
            assert!(acknowledged < 12);
            assert!(!model.commit(), "acknowledged after a failure");
            assert_eq!(model.flushes.load(Ordering::SeqCst), 3, "a flush after the failed one");
        },
        SCHEDULES,
    );
}

/// The same with a scheduler that favours rare orders.
#[test]
fn rare_orders_too() {
    shuttle::check_pct(|| assert_eq!(writers(&Model::new(u64::MAX), 3, 3), 9), SCHEDULES, 3);
}
