//! Where rows went whose key has changed.
//!
//! ```text
//!   commit 10   update t set id = 2 where id = 1        row at 1 ──> row at 2
//!   waiting     update t set n = 5 where id = 1         finds 1 gone, and goes on with 2
//! ```
//!
//! A row is stored by its key, so that a change of the key ends one row and begins another. A
//! transaction that waited for the first must go on with the second, as long as statements run that
//! began before. The newest moves are kept in memory for that: no statement waits across an opening.

use std::collections::VecDeque;

use parking_lot::Mutex;
use store::Csn;

/// How many moves of a table are known.
const MOVES_MAX: usize = 1024;

#[derive(Debug)]
struct Move {
    csn: Csn,
    from: Vec<u8>,
    to: Vec<u8>,
}

/// The moves of the rows of one table.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    known: Mutex<VecDeque<Move>>,
}

impl Moves {
    /// Notes that a commit has moved a row.
    pub fn note(&self, csn: Csn, from: Vec<u8>, to: Vec<u8>) {
        let mut known = self.known.lock();
        if known.len() == MOVES_MAX {
            known.pop_front();
        }
        known.push_back(Move { csn, from, to });
    }

    /// Where the row went that was at a key when the commit `after` was the newest, and the commit that
    /// moved it.
    pub fn after(&self, after: Csn, from: &[u8]) -> Option<(Csn, Vec<u8>)> {
        let known = self.known.lock();
        let found = known.iter().find(|one| one.csn > after && one.from == from)?;
        Some((found.csn, found.to.clone()))
    }
}
