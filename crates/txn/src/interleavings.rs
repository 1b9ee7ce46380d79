//! Publishing and tracking under a scheduler that tries interleavings.
//!
//! The very files `publish.rs` and `tracker.rs` are compiled a second time, beside mutexes that belong
//! to the `shuttle` model checker, and driven by writers that number, "sync" in groups and publish,
//! and by readers that take snapshots. 2,000 random schedules each.

use std::collections::BTreeSet;

use log::Lsn;

use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use publish::{Pending, PublishQueue};
use tracker::Tracker;

mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};

    /// The model checker's mutex with the manners of the real one.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no thread panics while it holds this")
        }
    }
}

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "publish.rs"]
mod publish;
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "tracker.rs"]
mod tracker;

const SCHEDULES: usize = 2_000;
const COMMITS_EACH: u64 = 2;

/// A log that makes durable whatever was appended when a sync began.
#[derive(Default)]
struct Log {
    appended: Mutex<u64>,
    durable: AtomicU64,
    syncing: Mutex<()>,
}

impl Log {
    fn sync(&self) {
        let _leader = self.syncing.lock().unwrap();
        let upto = *self.appended.lock().unwrap();
        thread::yield_now();
        self.durable.fetch_max(upto, Ordering::SeqCst);
    }
}

struct World {
    log: Log,
    last: Mutex<u64>,
    queue: PublishQueue,
    tracker: Tracker<u64>,
    /// Commits whose hooks have run.
    hooked: Arc<Mutex<Vec<u64>>>,
    settled: Mutex<u64>,
}

impl World {
    fn commit(&self, durable: bool) {
        let (csn, lsn) = {
            let mut last = self.last.lock().unwrap();
            *last += 1;
            let (csn, lsn) = (*last, *last * 10);
            *self.log.appended.lock().unwrap() = lsn;
            let hooked = Arc::clone(&self.hooked);
            let hook = Box::new(move |csn, _| hooked.lock().unwrap().push(csn));
            let lsn = Lsn::from_number(lsn);
            self.queue.push(Pending { csn, time_us: 0, lsn, durable, hook });
            (csn, lsn)
        };
        if durable {
            self.log.sync();
        }
        while self.tracker.visible() < csn {
            let synced = Lsn::from_number(self.log.durable.load(Ordering::SeqCst));
            let show = |visible| {
                let hooked = self.hooked.lock().unwrap();
                assert_eq!(hooked.len() as u64, visible, "hooks run before visibility, each once");
                drop(hooked);
                self.tracker.publish(visible);
            };
            let settle = |csn, lsn: Lsn| {
                assert!(
                    lsn.number() <= self.log.durable.load(Ordering::SeqCst),
                    "what may be flushed is durable"
                );
                let mut settled = self.settled.lock().unwrap();
                assert!(*settled < csn, "settling goes forward");
                *settled = csn;
            };
            let progress = self.queue.publish(lsn, synced, show, settle);
            if self.tracker.visible() < csn {
                assert!(progress.blocked_on.is_some(), "a commit is never lost");
                self.log.sync();
            }
        }
    }

    fn read(&self, holds: &Mutex<BTreeSet<(u64, u64)>>, id: u64) {
        let csn = self.tracker.join(false, |csn| csn);
        holds.lock().unwrap().insert((csn, id));
        assert!(self.hooked.lock().unwrap().len() as u64 >= csn, "what is visible has been hooked");
        let oldest = self.tracker.oldest().expect("this reader at least");
        assert!(oldest <= csn, "the oldest reader is not newer than this one");
        assert!(self.tracker.visible() >= csn, "visibility never goes back");
        holds.lock().unwrap().remove(&(csn, id));
        self.tracker.leave(csn, false);
    }
}

fn explore(durable: fn(u64) -> bool) {
    let schedule = move || {
        let world = Arc::new(World {
            log: Log::default(),
            last: Mutex::new(0),
            queue: PublishQueue::default(),
            tracker: Tracker::new(0),
            hooked: Arc::default(),
            settled: Mutex::new(0),
        });
        let holds = Arc::new(Mutex::new(BTreeSet::new()));
        let writers = (0..3).map(|id| {
            let world = Arc::clone(&world);
            thread::spawn(move || (0..COMMITS_EACH).for_each(|_| world.commit(durable(id))))
        });
        let writers: Vec<_> = writers.collect();
        let readers = (0..2).map(|id| {
            let (world, holds) = (Arc::clone(&world), Arc::clone(&holds));
            thread::spawn(move || (0..2).for_each(|_| world.read(&holds, id)))
        });
        let readers: Vec<_> = readers.collect();
        writers.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
        assert_eq!(world.tracker.visible(), 3 * COMMITS_EACH);
        assert_eq!(*world.hooked.lock().unwrap(), (1..=3 * COMMITS_EACH).collect::<Vec<_>>());
        assert_eq!(world.tracker.oldest(), None);
    };
    shuttle::check_random(schedule, SCHEDULES);
}

/// However threads interleave, commits become visible in order, after their hooks, once durable.
#[test]
fn durable_commits_in_any_interleaving() {
    explore(|_| true);
}

/// The same with commits between them that do not ask for a sync: these wait for those that do.
#[test]
fn mixed_commits_in_any_interleaving() {
    explore(|writer| writer != 1);
}
