//! [`Desk`]: where the sessions of a core wait for their commits, so that one wait serves them all.
//!
//! ```text
//!   session 1   order ─> desk ┐
//!   session 2   order ─> desk ┤ all who are ready have run
//!   session 3   order ─> desk ┘        └─> wait · wait · wait ─> answers 1, 2, 3
//!                                          └ one write and sync of the log; the others find it done
//! ```
//!
//! The first at an empty desk leads: it lets every session of the core run that has something to do,
//! and then waits for all who have come. A wait is made right here, because handing it to another
//! thread costs more than a fast disk does. It is handed over where others would be held up: where the
//! disk is slow, or sessions of the core are in transaction blocks and so about to go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use txn::{Commit, Ordered, TxnError};

use crate::metrics::{Counters, add};

/// Waits that take longer than this on average are made on another thread.
const INLINE_US: u64 = 1_000;

/// How much of the average a new wait makes up: one part in so many.
const WEIGHT: u64 = 8;

/// What became of a commit.
pub(crate) type Outcome = Result<Commit, TxnError>;

/// Commits that have their place in the order and wait for the disk.
pub(crate) struct Desk {
    waiting: Mutex<Vec<(Ordered, oneshot::Sender<Outcome>)>>,
    /// How long a wait takes, on average.
    mean_us: AtomicU64,
    /// How many sessions are in transaction blocks.
    blocks: AtomicUsize,
    counters: Arc<Counters>,
}

impl Desk {
    /// A desk at which nobody waits.
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        Self {
            waiting: Mutex::default(),
            mean_us: AtomicU64::new(0),
            blocks: AtomicUsize::new(0),
            counters,
        }
    }

    /// Returns once the commit is durable and visible, or has failed to be.
    pub(crate) async fn wait(&self, ordered: Ordered) -> Outcome {
        if ordered.is_visible() {
            return ordered.wait();
        }
        let (sender, receiver) = oneshot::channel();
        let is_first = {
            let mut waiting = self.waiting.lock();
            waiting.push((ordered, sender));
            waiting.len() == 1
        };
        if is_first {
            tokio::task::yield_now().await;
            self.lead().await;
        }
        receiver.await.expect("who leads answers all, itself included")
    }

    /// Waits for all who are at the desk.
    async fn lead(&self) {
        let batch = std::mem::take(&mut *self.waiting.lock());
        add(&self.counters.commits_total, batch.len() as u64);
        add(&self.counters.commit_waits_total, 1);
        let start = Instant::now();
        let is_slow = self.mean_us.load(Ordering::Relaxed) >= INLINE_US;
        if !is_slow && self.blocks.load(Ordering::Relaxed) == 0 {
            finish(batch);
        } else {
            let done = tokio::task::spawn_blocking(|| finish(batch)).await;
            done.expect("a wait gives an outcome");
        }
        let took_us = start.elapsed().as_micros() as u64;
        let mean_us = self.mean_us.load(Ordering::Relaxed);
        self.mean_us.store((mean_us * (WEIGHT - 1) + took_us) / WEIGHT, Ordering::Relaxed);
    }
}

/// Whether a session is in a transaction block, as its core's desk is told.
pub(crate) struct Block<'a> {
    desk: &'a Desk,
    is_open: bool,
}

impl<'a> Block<'a> {
    /// It is in none.
    pub(crate) fn none(desk: &'a Desk) -> Self {
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
    }
}

fn finish(batch: Vec<(Ordered, oneshot::Sender<Outcome>)>) {
    for (ordered, sender) in batch {
        // A session that has gone meanwhile needs no answer.
        let _ = sender.send(ordered.wait());
    }
}
