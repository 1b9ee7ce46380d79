//! Memtables that wait for the flush, and writers that wait for memtables.

use super::world::*;
use crate::*;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use vfs::{Clock, Env, File, SimVfs};

/// Writes that a memtable takes here.
const WRITES: u64 = 20;
/// The time limit for an expected event: after it the test fails.
const SOON_US: u64 = 20_000_000;
/// The time that an event gets which must not happen.
const A_WHILE: Duration = Duration::from_millis(50);

/// A gate before every new segment: while it is closed nothing is flushed.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock() = closed;
        self.opened.notify_all();
    }
}

struct Gated(DirectoryStore, Arc<Gate>);

impl SegmentStore for Gated {
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        let mut closed = self.1.closed.lock();
        while *closed {
            self.1.opened.wait(&mut closed);
        }
        self.0.create(name)
    }
    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.0.create_scratch(name)
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.0.open(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>> {
        self.0.load_manifest()
    }
    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError> {
        self.0.swap_manifest(expected, new)
    }
    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

/// A store with threads, memtables of a few writes, and a gate before its files.
struct Bench {
    store: Store,
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
}

impl Bench {
    fn new() -> Bench {
        let env = Env { clock: Env::os().clock, ..Env::sim(&SimVfs::unrecorded(), 1) };
        let gate = Arc::new(Gate::default());
        let home = DirectoryStore::new(&env, Path::new(DIR)).unwrap();
        let options = StoreOptions {
            background: true,
            memtable_bytes: 1 << 20,
            memtable_writes: WRITES as usize,
            ..small_options()
        };
        let home = Arc::new(Gated(home, Arc::clone(&gate)));
        let store = Store::open_on(&env, home, options, resolve()).unwrap();
        Bench { store, gate, clock: env.clock }
    }

    fn apply(&self, csn: u64) {
        self.store.apply(Csn(csn), &[put(PLAIN, &csn.to_be_bytes(), b"x")]).unwrap();
    }

    fn durable(&self, csn: u64) {
        self.store.set_durable(Csn(csn), || csn.to_le_bytes().to_vec());
    }

    /// Admits, applies and makes durable; returns how long the first took, in microseconds.
    fn commit(&self, csn: u64) -> u64 {
        let start = self.clock.monotonic_us();
        self.store.admit().unwrap();
        let waited = self.clock.monotonic_us() - start;
        self.apply(csn);
        self.durable(csn);
        waited
    }

    fn soon(&self, what: &str, is_so: impl Fn() -> bool) {
        let start = self.clock.monotonic_us();
        while !is_so() {
            assert!(self.clock.monotonic_us() - start < SOON_US, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Tiny writes are flushed by their number, long before they fill a memtable's bytes: so a crash leaves
/// few of them to be applied again.
#[test]
fn many_small_writes_are_flushed_before_they_are_many_bytes() {
    let bench = Bench::new();
    (1..=WRITES * 3 + 1).for_each(|csn| _ = bench.commit(csn));
    bench.soon("all but the last memtable is flushed", || {
        bench.store.checkpoint().csn == Csn(WRITES * 3)
    });
    assert_eq!(bench.store.stats().frozen_memtables, 0);
}

/// A memtable is frozen before the log has made it durable, and is flushed when it has: at the commit
/// that completes it, not before, and without anybody else asking.
#[test]
fn a_frozen_memtable_is_flushed_when_its_last_commit_is_durable() {
    let bench = Bench::new();
    (1..=WRITES).for_each(|csn| bench.apply(csn));
    bench.durable(WRITES - 1);
    std::thread::sleep(A_WHILE);
    assert_eq!((bench.store.stats().frozen_memtables, bench.store.stats().flushes), (1, 0));
    bench.durable(WRITES);
    bench.soon("the memtable is flushed", || bench.store.stats().flushes == 1);
}

/// While nothing can be flushed writers are slowed down, the more the more memtables wait, and stopped
/// at five; a commit that is numbered already is applied all the same; then all goes on.
#[test]
fn writers_are_slowed_down_and_then_stopped_before_they_hold_a_lock() {
    let bench = Bench::new();
    bench.gate.set(true);
    let last = AtomicU64::new(0);
    let waits = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for csn in (1..=WRITES * 5).chain(WRITES * 5 + 2..=WRITES * 8) {
                waits.lock().push(bench.commit(csn));
                last.store(csn, Ordering::Release);
            }
        });
        bench.soon("five memtables fill", || last.load(Ordering::Acquire) == WRITES * 5);
        std::thread::sleep(A_WHILE);
        assert_eq!(last.load(Ordering::Acquire), WRITES * 5, "the writer waits for a flush");
        bench.apply(WRITES * 5 + 1);
        bench.durable(WRITES * 5 + 1);
        bench.gate.set(false);
        writer.join().unwrap();
    });
    let waits = waits.into_inner();
    // A delay is at least what the curve says; a busy machine may add to it.
    let waited = |memtable: u64| {
        waits[(memtable * WRITES) as usize..][..WRITES as usize].iter().sum::<u64>()
    };
    assert!(waited(3) > 20 * 1_000, "the fourth memtable fills slowly: {waits:?}");
    assert!(waited(4) > 20 * 2_000, "the fifth at half that pace: {waits:?}");
    assert!(waits[..=2 * WRITES as usize].iter().sum::<u64>() < waited(4), "{waits:?}");
    bench.soon("everything whole is flushed", || bench.store.checkpoint().csn == Csn(WRITES * 8));
}

/// If the oldest memtable is not durable, a writer has nothing to wait for: the caller itself may
/// be the thread that is to sync the log.
#[test]
fn nobody_waits_for_what_the_log_has_not_made_durable() {
    let bench = Bench::new();
    for csn in 1..=WRITES * 7 {
        bench.store.admit().unwrap();
        bench.apply(csn);
    }
    assert_eq!(bench.store.stats().frozen_memtables, 7);
    bench.durable(WRITES * 7);
    bench.soon("all of it is flushed", || bench.store.stats().frozen_memtables == 0);
}
