//! Row ids: the keys of rows whose table has no primary key.
//!
//! They are eight bytes, big end first, and ascend in the order in which they are given out, so rows
//! lie in the order of their insertion. Nothing is written to give one out: the next one after an open
//! is the one after the largest that the store has ever heard of, deleted rows included, so that the
//! past of a row is its own for ever.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use txn::{Engine, KeyRange};

use crate::method::Rows;
use crate::{Error, Result};

/// The row ids of one table.
#[derive(Debug, Default)]
pub(crate) struct RowIds {
    /// The next one; 0 before the first was asked for.
    next: AtomicU64,
    finding: Mutex<()>,
}

impl RowIds {
    /// An id that no row of the table has or had.
    pub(crate) fn next(&self, engine: &Engine, rows: &dyn Rows) -> Result<[u8; 8]> {
        if self.next.load(Ordering::Acquire) == 0 {
            self.find(engine, rows)?;
        }
        Ok(self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes())
    }

    #[cold]
    fn find(&self, engine: &Engine, rows: &dyn Rows) -> Result<()> {
        let _one = self.finding.lock();
        if self.next.load(Ordering::Acquire) != 0 {
            return Ok(());
        }
        let mut keys = rows.keys_ever(engine, KeyRange::ALL, true);
        let last = match keys.advance()? {
            None => 0,
            Some(key) => {
                let key = key.try_into().map_err(|_| Error::Damaged { what: "a row id" })?;
                u64::from_be_bytes(key)
            }
        };
        self.next.store(last + 1, Ordering::Release);
        Ok(())
    }
}
