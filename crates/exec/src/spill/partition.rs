//! Rows in partitions by the hash of their keys: rows with equal keys are in the same one, so that each
//! can be looked at by itself (the Grace join of Kitsuregawa, Tanaka and Moto-oka, 1983).
//!
//! ```text
//!   hash   ........ ........ 3333 2222 1111 0000     the bits that partitions of each level go by:
//!                                                    a partition that is still too large is divided
//!                                                    again by others
//! ```

use std::sync::Arc;

use types::{Datum, Result};

use super::{Reader, Tape, TempFolder, Writer, write_row};
use crate::ctx::{Env, Held, Shared};
use crate::op::Row;
use crate::op::hash::KeyTable;

/// How many partitions there are, as a power of two.
const FAN_BITS: u32 = 4;
/// How often rows are divided again. A partition that does not become smaller by then has equal
/// keys, or few.
pub(crate) const LEVEL_MAX: u32 = 6;

/// Partitions that are being written.
pub(crate) struct Partitions {
    writers: Vec<Writer>,
    level: u32,
}

impl Partitions {
    /// Partitions of rows that have been divided so many times before.
    pub(crate) fn new(folder: &Arc<TempFolder>, level: u32) -> Self {
        Self { writers: (0..1 << FAN_BITS).map(|_| Writer::new(folder)).collect(), level }
    }

    /// Adds a row whose key has this hash, and one more value behind it where there is one.
    pub(crate) fn add(&mut self, hash: u64, row: &[Datum], more: Option<Datum>) -> Result<()> {
        // The lowest bits are where the tables begin to look, the highest what they look at first.
        let at = (hash >> (24 + self.level * FAN_BITS)) as usize & ((1 << FAN_BITS) - 1);
        self.writers[at].push(|out| match more {
            None => write_row(row, out),
            Some(more) => write_row(&[row, &[more]].concat(), out),
        })
    }

    /// Ends the writing, and returns the tapes, partition by partition.
    pub(crate) fn finish(mut self) -> Result<Vec<Tape>> {
        self.writers.iter_mut().map(Writer::tape).collect()
    }
}

/// The different ones of rows: those that are known now, and partitions of others for later.
#[derive(Default)]
pub(crate) struct Unique {
    seen: KeyTable,
    held: Held,
    level: u32,
    later: Option<Partitions>,
    pending: Vec<(Tape, u32)>,
    /// The partition that is being looked at.
    reader: Option<Reader>,
}

impl Unique {
    /// True for a row that was not offered before. Where it cannot be told yet, the row comes again
    /// from [`Unique::next`].
    pub(crate) fn offer(&mut self, env: &Env<'_>, row: &Row) -> Result<bool> {
        let hash = self.seen.hash(row);
        if self.seen.find_hashed(hash, row).is_some() {
            return Ok(false);
        }
        if self.level < LEVEL_MAX
            && let Some(folder) = self.held.is_over(env, true)
        {
            let later = self.later.get_or_insert_with(|| Partitions::new(folder, self.level));
            later.add(hash, row, None)?;
            return Ok(false);
        }
        self.held.add_row(env, row)?;
        self.seen.insert_hashed(hash, row);
        Ok(true)
    }

    /// After all rows have been offered: the next of those that could not be told.
    pub(crate) fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            if let Some(reader) = &mut self.reader {
                env.tick()?;
                if !reader.row(out)? {
                    self.reader = None;
                } else if self.offer(env, out)? {
                    return Ok(true);
                }
                continue;
            }
            if let Some(later) = self.later.take() {
                let level = self.level + 1;
                self.pending.extend(later.finish()?.into_iter().map(|tape| (tape, level)));
            }
            let Some((tape, level)) = self.pending.pop() else { return Ok(false) };
            self.seen.clear();
            self.held.clear(env.shared);
            self.level = level;
            self.reader = Some(tape.read());
        }
    }

    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.seen.clear();
        self.held.clear(shared);
        let held = std::mem::take(&mut self.held);
        let seen = std::mem::take(&mut self.seen);
        *self = Self { held, seen, ..Self::default() };
    }
}
