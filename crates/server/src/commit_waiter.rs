//! [`CommitWaiter`]: the wait of a core's sessions for their commits; [`CommitThread`]: a thread that waits for
//! them while the core runs other sessions.
//!
//! ```text
//!   no session is held up                        others of the core are in transaction blocks
//!   session 1   order ─> list ┐                  session 1   order ─┐
//!   session 2   order ─> list ┤ all sessions     core 1      order ─┤
//!   session 3   order ─> list ┘ have run         session 2   order ─┴─> thread "commits"
//!      └─> wait · wait · wait ─> answers                wait · wait · wait ─> answers
//!          └ one write and sync of the log; the others find it done
//! ```
//!
//! The first session in an empty list leads: it lets every runnable session of the core run, and then waits
//! for all commits in the list. It waits on its own thread, because a hand-over to another thread costs more
//! than a sync of a fast disk. It hands the wait over if it would hold up other sessions of the core: if the
//! disk is slow, or if some sessions are in transaction blocks and so likely to go on soon. One thread then
//! waits for the commits of all cores. Its next wait takes the commits that came during the last one. A
//! session that is alone on its core always waits on its own thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use txn::{Commit, Ordered, TxnError};

use crate::metrics::{Counters, add};

/// If waits take longer than this on average and the core has other sessions, another thread waits. The other
/// sessions make commits for the next wait meanwhile.
const INLINE_US: u64 = 200;

/// The weight of a new wait in the average: one part in so many.
const WEIGHT: u64 = 8;

/// The outcome of a commit.
pub(crate) type Outcome = Result<Commit, TxnError>;

/// An ordered commit, and the channel for its outcome.
type Waiting = (Ordered, oneshot::Sender<Outcome>);

/// Commits that wait for the disk.
pub(crate) struct CommitWaiter {
    waiting: Mutex<Vec<Waiting>>,
    commit_thread: CommitThread,
    /// How many sessions the core has.
    sessions: AtomicUsize,
    /// How many of them are in transaction blocks.
    blocks: AtomicUsize,
    counters: Arc<Counters>,
}

impl CommitWaiter {
    /// Returns one without waiting commits.
    pub(crate) fn new(counters: Arc<Counters>, commit_thread: CommitThread) -> Self {
        Self {
            waiting: Mutex::default(),
            commit_thread,
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
            self.commit_thread.hand((ordered, sender));
        } else {
            let is_first = {
                let mut waiting = self.waiting.lock();
                waiting.push((ordered, sender));
                waiting.len() == 1
            };
            if is_first {
                tokio::task::yield_now().await;
                let batch = std::mem::take(&mut *self.waiting.lock());
                self.commit_thread.pace.finish(batch);
            }
        }
        receiver.await.expect("a thread that waits for a commit sends its outcome")
    }

    /// True if a wait on this thread would hold up other sessions.
    fn holds_up_others(&self) -> bool {
        let is_shared = self.sessions.load(Ordering::Relaxed) > 1;
        is_shared && (self.blocks.load(Ordering::Relaxed) > 0 || self.commit_thread.pace.is_slow())
    }
}

/// A session, and whether it is in a transaction block, for the commit waiter of its core.
pub(crate) struct Block<'a> {
    commit_waiter: &'a CommitWaiter,
    is_open: bool,
}

impl<'a> Block<'a> {
    /// A session outside of transaction blocks.
    pub(crate) fn none(commit_waiter: &'a CommitWaiter) -> Self {
        commit_waiter.sessions.fetch_add(1, Ordering::Relaxed);
        Block { commit_waiter, is_open: false }
    }

    /// Sets whether the session is in a transaction block.
    pub(crate) fn set(&mut self, is_open: bool) {
        match (self.is_open, is_open) {
            (false, true) => self.commit_waiter.blocks.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.commit_waiter.blocks.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        self.is_open = is_open;
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.set(false);
        self.commit_waiter.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The thread that waits for commits.
#[derive(Clone)]
pub(crate) struct CommitThread {
    sender: Sender<Waiting>,
    pace: Arc<Pace>,
}

impl CommitThread {
    /// Starts the thread; it ends when all senders are gone.
    pub(crate) fn start(counters: Arc<Counters>) -> io::Result<CommitThread> {
        let (sender, commits) = channel();
        let pace = Arc::new(Pace { mean_us: AtomicU64::new(0), counters });
        let theirs = Arc::clone(&pace);
        std::thread::Builder::new()
            .name("commits".to_owned())
            .spawn(move || wait_for_all(&commits, &theirs))?;
        Ok(CommitThread { sender, pace })
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

    /// Waits for commits, and sends their outcomes.
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
