//! [`Lsn`]: a position in a log. Only the log that gave it knows what its number means.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A position in a log, between two frames.
///
/// Positions of one log ascend in the order of its frames, and [`Lsn::START`] is before the first.
/// Nothing else about a position is known outside of its log: [`CommitLog::bytes_between`] measures, and
/// [`Lsn::to_bytes`] stores one.
///
/// [`CommitLog::bytes_between`]: crate::CommitLog::bytes_between
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub(crate) u64);

impl Lsn {
    /// The position before the first frame of any log.
    pub const START: Lsn = Lsn(0);

    /// Makes a position of a number. Only a log does this: the order of its numbers is the order of its
    /// frames, and none of a frame is 0.
    pub const fn from_number(number: u64) -> Lsn {
        Lsn(number)
    }

    /// Returns the number of which the log made the position.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Returns the position as bytes, to be stored.
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// Returns the position that was stored as `bytes`.
    pub const fn from_bytes(bytes: [u8; 8]) -> Lsn {
        Lsn(u64::from_le_bytes(bytes))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position that threads share.
#[derive(Debug, Default)]
pub struct AtomicLsn(AtomicU64);

impl AtomicLsn {
    /// Begins with a position.
    pub fn new(lsn: Lsn) -> AtomicLsn {
        AtomicLsn(AtomicU64::new(lsn.0))
    }

    /// Returns the position. It orders nothing else between threads.
    pub fn load(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Relaxed))
    }

    /// Puts `new` in the place of `known`; false if another thread has changed the position meanwhile.
    pub fn replace(&self, known: Lsn, new: Lsn) -> bool {
        self.0.compare_exchange(known.0, new.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
