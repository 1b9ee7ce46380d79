//! Which snapshots are being read, and the newest commit that a new one sees.
//!
//! ```text
//!   csn        90     95     97           120
//!   readers    [2]    [0]    [1]          [7]
//!               ^ oldest                   ^ visible: the next snapshot joins here
//! ```
//!
//! New snapshots are taken at the newest visible commit, which never goes back; so a queue of
//! (commit, number of readers) is sorted by itself, the oldest is its front, and joining and leaving
//! cost a step or a short binary search whatever the number of snapshots.
//!
//! Visibility moves on under the same mutex. That is the point: a snapshot's hold is in place
//! before anything above it becomes visible. So a thread that drops old versions (and does so only
//! below the newest visible commit) cannot slip in between the choice of a commit to read and its
//! hold.
//!
//! # Invariants
//! * Entries ascend; the first and the last have readers, or the queue is empty.
//! * At most half of more than 64 entries have no readers: old snapshots do not make the queue grow
//!   with every commit that is read after them.
//! * `visible` never goes back.

use std::collections::VecDeque;

use super::sync::{AtomicU64, Mutex, Ordering};

/// A sorted multiset of commit numbers, to which numbers are added at the end.
pub(crate) struct Readers<H> {
    queue: VecDeque<Entry<H>>,
    idle: usize,
}

struct Entry<H> {
    csn: u64,
    count: u32,
    /// Kept as long as there are readers.
    hold: Option<H>,
}

impl<H> Readers<H> {
    pub(crate) fn new() -> Self {
        Readers { queue: VecDeque::new(), idle: 0 }
    }

    /// The oldest number that has readers.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.queue.front().map(|entry| entry.csn)
    }

    /// Entries held, with readers or without.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn join(&mut self, csn: u64, hold: impl FnOnce() -> H) {
        match self.queue.back_mut() {
            Some(last) if last.csn == csn => last.count += 1,
            last => {
                assert!(last.is_none_or(|last| last.csn < csn), "new snapshots are the newest");
                self.queue.push_back(Entry { csn, count: 1, hold: Some(hold()) });
                self.tidy();
            }
        }
    }

    /// Adds a reader at a number that has one.
    pub(crate) fn rejoin(&mut self, csn: u64) {
        let at = self.queue.binary_search_by_key(&csn, |entry| entry.csn);
        let entry = &mut self.queue[at.expect("a snapshot that is held is read")];
        assert!(entry.count > 0, "whoever joins again has not left");
        entry.count += 1;
    }

    /// Takes one reader off; returns the hold where it was the last at its commit.
    pub(crate) fn leave(&mut self, csn: u64) -> Option<H> {
        let at = self
            .queue
            .binary_search_by_key(&csn, |entry| entry.csn)
            .expect("whoever leaves has joined");
        let entry = &mut self.queue[at];
        entry.count -= 1;
        if entry.count > 0 {
            return None;
        }
        let hold = entry.hold.take();
        self.idle += 1;
        self.tidy();
        hold
    }

    fn tidy(&mut self) {
        while self.queue.front().is_some_and(|entry| entry.count == 0) {
            self.queue.pop_front();
            self.idle -= 1;
        }
        while self.queue.back().is_some_and(|entry| entry.count == 0) {
            self.queue.pop_back();
            self.idle -= 1;
        }
        if self.queue.len() > 64 && self.idle * 2 > self.queue.len() {
            self.queue.retain(|entry| entry.count > 0);
            self.idle = 0;
        }
    }
}

/// The visible commit and all readers.
pub(crate) struct Tracker<H> {
    visible: AtomicU64,
    inner: Mutex<Inner<H>>,
}

struct Inner<H> {
    readers: Readers<H>,
    serializable: Readers<()>,
}

impl<H> Tracker<H> {
    pub(crate) fn new(visible: u64) -> Self {
        let inner = Inner { readers: Readers::new(), serializable: Readers::new() };
        Tracker { visible: AtomicU64::new(visible), inner: Mutex::new(inner) }
    }

    /// The newest visible commit.
    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    /// Joins as a reader of the newest visible commit and returns it. `hold` is called with it where
    /// no reader is there yet.
    pub(crate) fn join(&self, serializable: bool, hold: impl FnOnce(u64) -> H) -> u64 {
        let mut inner = self.inner.lock();
        let csn = self.visible.load(Ordering::Acquire);
        inner.readers.join(csn, || hold(csn));
        if serializable {
            inner.serializable.join(csn, || ());
        }
        csn
    }

    /// Joins as another reader of `csn`, which is being read.
    pub(crate) fn rejoin(&self, csn: u64) {
        self.inner.lock().readers.rejoin(csn);
    }

    /// Leaves `csn`. The hold, if it was the last reader's, is dropped outside the mutex.
    pub(crate) fn leave(&self, csn: u64, serializable: bool) {
        let hold = {
            let mut inner = self.inner.lock();
            if serializable {
                inner.serializable.leave(csn);
            }
            inner.readers.leave(csn)
        };
        drop(hold);
    }

    /// Makes everything up to `csn` visible. Returns the commit up to which no running or future
    /// serializable transaction needs to know what was written.
    pub(crate) fn publish(&self, csn: u64) -> u64 {
        let inner = self.inner.lock();
        let before = self.visible.load(Ordering::Acquire);
        assert!(before <= csn, "visibility never goes back");
        self.visible.store(csn, Ordering::Release);
        inner.serializable.oldest().unwrap_or(csn)
    }

    /// The oldest commit that a snapshot of the present reads, or `None` if there is none.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.inner.lock().readers.oldest()
    }
}
