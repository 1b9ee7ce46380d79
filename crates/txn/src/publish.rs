//! The queue between "in the log" and "visible": commits become visible in order, once durable.
//!
//! ```text
//!   commit mutex                    log.sync                      publish
//!   number · append · apply  ->  [ 41 | 42 | 43 | 44 ]  ->  hooks of 41, 42 · visible = 42
//!                                  durable ^    ^ not yet
//! ```
//!
//! One sync of the log covers everything appended before it, so the first thread that comes back
//! from it publishes for all. It takes from the front what is ready, runs the hook of each commit
//! (which shows the commit to the engine's observers), and then moves visibility once. The other
//! threads find their commit visible and go home.
//!
//! A commit that asked for `os` durability is ready once written, but not before those below it: a
//! commit never becomes visible before an earlier one, and one that asked to be durable never
//! before it is. Commits that are visible but not durable are kept on a second list, because the
//! store must not flush a commit that the log could still lose.
//!
//! # Invariants
//! * Both numbers and log positions ascend along the queue.
//! * A commit that must be durable leaves the queue only when the log is durable up to it.
//! * The hook of a commit has run before the commit is visible.

use std::collections::VecDeque;

use log::Lsn;

use super::sync::Mutex;

/// A function that runs just before a commit becomes visible.
pub(crate) type Hook = Box<dyn FnOnce(u64, u64) + Send>;

/// A commit that is not visible yet.
pub(crate) struct Pending {
    pub csn: u64,
    pub time_us: u64,
    /// Position in the log just past its record.
    pub lsn: Lsn,
    /// Wait for the sync, not just for the write.
    pub durable: bool,
    /// Called with number and time.
    pub hook: Hook,
}

/// The state that only the publishing thread touches.
#[derive(Default)]
struct Turn {
    /// Visible, not known to be durable: (csn, lsn).
    afloat: VecDeque<(u64, Lsn)>,
    written: Lsn,
}

/// Commits in order, from the log to visibility.
///
/// Two mutexes, so that an appending thread (under the commit mutex) never waits for another
/// commit's hooks: `turn` belongs to the publishing thread, `queue` is held for one step at a time.
#[derive(Default)]
pub(crate) struct PublishQueue {
    turn: Mutex<Turn>,
    queue: Mutex<VecDeque<Pending>>,
}

/// How far things have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The newest commit made visible by this call.
    pub visible: Option<u64>,
    /// The newest commit (and its position) that this call found durable and visible.
    pub durable: Option<(u64, Lsn)>,
    /// Where the log must be durable before the next commit can become visible.
    pub blocked_on: Option<Lsn>,
}

impl PublishQueue {
    /// Adds a commit. Called under the commit mutex, in order.
    pub(crate) fn push(&self, pending: Pending) {
        let mut queue = self.queue.lock();
        if let Some(last) = queue.back() {
            assert!(last.csn < pending.csn && last.lsn < pending.lsn, "commits come in order");
        }
        queue.push_back(pending);
    }

    /// Makes visible what is ready, the log being written and durable as far as given. `show` is
    /// called with the newest such commit after its hooks, `settle` with the newest that is durable
    /// and visible and its position; both in the publisher's turn, so that their calls are in order.
    pub(crate) fn publish(
        &self,
        written: Lsn,
        durable: Lsn,
        show: impl FnOnce(u64),
        settle: impl FnOnce(u64, Lsn),
    ) -> Progress {
        let mut turn = self.turn.lock();
        turn.written = turn.written.max(written).max(durable);
        let mut progress = Progress { visible: None, durable: None, blocked_on: None };
        loop {
            let next = match self.next_ready(turn.written, durable) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(lsn) => {
                    progress.blocked_on = Some(lsn);
                    break;
                }
            };
            (next.hook)(next.csn, next.time_us);
            turn.afloat.push_back((next.csn, next.lsn));
            progress.visible = Some(next.csn);
        }
        if let Some(csn) = progress.visible {
            show(csn);
        }
        while turn.afloat.front().is_some_and(|(_, lsn)| *lsn <= durable) {
            progress.durable = turn.afloat.pop_front();
        }
        if let Some((csn, lsn)) = progress.durable {
            settle(csn, lsn);
        }
        progress
    }

    /// The position just past the newest visible commit that is not known to be durable.
    pub(crate) fn afloat(&self) -> Option<Lsn> {
        self.turn.lock().afloat.back().map(|(_, lsn)| *lsn)
    }

    /// Takes the first commit off the queue if it is ready; else tells what it waits for.
    fn next_ready(&self, written: Lsn, durable: Lsn) -> Result<Option<Pending>, Lsn> {
        let mut queue = self.queue.lock();
        match queue.front() {
            None => Ok(None),
            Some(first) if first.lsn <= if first.durable { durable } else { written } => {
                Ok(queue.pop_front())
            }
            Some(first) => Err(first.lsn),
        }
    }
}
