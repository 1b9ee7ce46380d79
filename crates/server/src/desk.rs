//! [`Desk`]: the wait of a core's sessions for their commits; [`Waiter`]: a thread that waits for them
//! while the core runs other sessions.
//!
//! ```text
//!   nobody is held up                            others of the core are in transaction blocks
//!   session 1   order ─> desk ┐                  session 1   order ─┐
//!   session 2   order ─> desk ┤ all who are      core 1      order ─┤
//!   session 3   order ─> desk ┘ ready have run   session 2   order ─┴─> thread "commits"
//!      └─> wait · wait · wait ─> answers                wait · wait · wait ─> answers
//!          └ one write and sync of the log; the others find it done
//! ```
//!
//! The first at an empty desk leads: it lets every session of the core run that has something to do,
//! and then waits for all who have come. A wait is made right here, because handing it to another
//! thread costs more than a fast disk does. It is handed over where other sessions of the core would be
//! held up: where the disk is slow, or some are in transaction blocks and so about to go on. One thread
//! then waits for the commits of all cores: those that come while it is at the disk are the next it goes
//! for. A session that has the core for itself always waits in place.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use txn::{Commit, Ordered, TxnError};

use crate::metrics::{Counters, add};

/// Waits that take longer than this on average are made on another thread if there are others on the
/// core: these bring commits for the next wait meanwhile.
const INLINE_US: u64 = 200;

/// How much of the average a new wait makes up: one part in so many.
const WEIGHT: u64 = 8;

/// The outcome of a commit.
pub(crate) type Outcome = Result<Commit, TxnError>;

/// A commit that has its place in the order, and who is to be told of it.
type Waiting = (Ordered, oneshot::Sender<Outcome>);

/// Commits that wait for the disk.
pub(crate) struct Desk {
    waiting: Mutex<Vec<Waiting>>,
    waiter: Waiter,
    /// How many sessions the core has.
    sessions: AtomicUsize,
    /// How many of them are in transaction blocks.
    blocks: AtomicUsize,
    counters: Arc<Counters>,
}

impl Desk {
    /// A desk without waiting commits.
    pub(crate) fn new(counters: Arc<Counters>, waiter: Waiter) -> Self {
        Self {
            waiting: Mutex::default(),
            waiter,
            sessions: AtomicUsize::new(0),
            blocks: AtomicUsize::new(0),
            counters,
        }
    }

    /// Returns once the commit is durable and visible, or has failed to be.
    pub(crate) async fn wait(&self, ordered: Ordered) -> Outcome {
        if ordered.is_visible() {
            return ordered.wait();
        }
        add(&self.counters.commits_total, 1);
        let (sender, receiver) = oneshot::channel();
        if self.holds_up_others() {
            self.waiter.hand((ordered, sender));
        } else {
            let is_first = {
                let mut waiting = self.waiting.lock();
                waiting.push((ordered, sender));
                waiting.len() == 1
            };
            if is_first {
                tokio::task::yield_now().await;
                let batch = std::mem::take(&mut *self.waiting.lock());
                self.waiter.pace.finish(batch);
            }
        }
        receiver.await.expect("whoever waits for a commit tells of it")
    }

    /// True where a wait on this thread would keep others from going on.
    fn holds_up_others(&self) -> bool {
        let is_shared = self.sessions.load(Ordering::Relaxed) > 1;
        is_shared && (self.blocks.load(Ordering::Relaxed) > 0 || self.waiter.pace.is_slow())
    }
}

/// A session, and whether it is in a transaction block, for its core's desk.
pub(crate) struct Block<'a> {
    desk: &'a Desk,
    is_open: bool,
}

impl<'a> Block<'a> {
    /// It is in none.
    pub(crate) fn none(desk: &'a Desk) -> Self {
        desk.sessions.fetch_add(1, Ordering::Relaxed);
        Block { desk, is_open: false }
    }

    /// Tells the desk.
    pub(crate) fn set(&mut self, is_open: bool) {
        match (self.is_open, is_open) {
            (false, true) => self.desk.blocks.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.desk.blocks.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        self.is_open = is_open;
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.set(false);
        self.desk.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The way to the thread that waits for commits.
#[derive(Clone)]
pub(crate) struct Waiter {
    sender: Sender<Waiting>,
    pace: Arc<Pace>,
}

impl Waiter {
    /// Starts the thread; it ends when all senders are gone.
    pub(crate) fn start(counters: Arc<Counters>) -> io::Result<Waiter> {
        let (sender, commits) = channel();
        let pace = Arc::new(Pace { mean_us: AtomicU64::new(0), counters });
        let theirs = Arc::clone(&pace);
        std::thread::Builder::new()
            .name("commits".to_owned())
            .spawn(move || wait_for_all(&commits, &theirs))?;
        Ok(Waiter { sender, pace })
    }

    fn hand(&self, waiting: Waiting) {
        if let Err(lost) = self.sender.send(waiting) {
            // The thread has failed: each waits for itself.
            self.pace.finish(vec![lost.0]);
        }
    }
}

fn wait_for_all(commits: &Receiver<Waiting>, pace: &Pace) {
    while let Ok(first) = commits.recv() {
        pace.finish(std::iter::once(first).chain(commits.try_iter()).collect());
    }
}

/// How long waits take.
struct Pace {
    /// In microseconds, on average.
    mean_us: AtomicU64,
    counters: Arc<Counters>,
}

impl Pace {
    fn is_slow(&self) -> bool {
        self.mean_us.load(Ordering::Relaxed) >= INLINE_US
    }

    /// Waits for commits, and tells who is to be told.
    fn finish(&self, batch: Vec<Waiting>) {
        add(&self.counters.commit_waits_total, 1);
        let start = Instant::now();
        for (ordered, sender) in batch {
            // A session that has gone meanwhile needs no answer.
            let _ = sender.send(ordered.wait());
        }
        let took_us = start.elapsed().as_micros() as u64;
        let mean_us = self.mean_us.load(Ordering::Relaxed);
        self.mean_us.store((mean_us * (WEIGHT - 1) + took_us) / WEIGHT, Ordering::Relaxed);
    }
}
