//! A collection's table: the state that the store and all handles on the collection share.
//!
//! The store asks it how deltas merge into images and how much of the past to keep; the handles ask it
//! what documents carry and whether the collection is still there. There is one `DocumentTable` for
//! each collection of a database, so that a change of its options reaches everybody at once.
//!
//! # Invariants
//! * No commit after the one that dropped a collection writes into its table: who writes holds a lock on the
//!   row of the document, and with it on the relation ([`Rows::lock`](crate::Rows::lock)).
//! * The store gets a shorter history only once all flushes that began before it have ended.

use crate::chunk_buf::ChunkBuf;
use crate::error::{Damaged, DocumentError};
use crate::key::{Record, record_of};
use crate::pack::DocumentPacker;
use crate::{Result, paths, revisions};
use parking_lot::RwLock;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{Csn, MergeError, Store, Table};

/// How much of a collection's past is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Every revision.
    #[default]
    Forever,
    /// Every revision that was the newest at some time in the last so long; kept in microseconds.
    For(Duration),
    /// The newest revisions, and what is being read: compaction drops the others.
    None,
}

impl Retention {
    fn retention(self) -> store::Retention {
        match self {
            Retention::Forever => store::Retention::Forever,
            Retention::For(age) => {
                store::Retention::Since(age.as_micros().try_into().unwrap_or(u64::MAX))
            }
            Retention::None => store::Retention::None,
        }
    }
}

/// Units in which a history can be given, in microseconds, largest first.
const UNITS: [(char, u64); 6] = [
    ('y', 365 * 86_400_000_000),
    ('w', 7 * 86_400_000_000),
    ('d', 86_400_000_000),
    ('h', 3_600_000_000),
    ('m', 60_000_000),
    ('s', 1_000_000),
];

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = match self {
            Retention::Forever => return f.write_str("forever"),
            Retention::None => return f.write_str("none"),
            Retention::For(age) => age.as_micros(),
        };
        // Years are not told: what was given as 730d comes back as that.
        let exact = |(_, unit): &&(char, u64)| us > 0 && us % *unit as u128 == 0;
        match UNITS[2..].iter().find(exact) {
            Some((name, unit)) => write!(f, "{}{name}", us / *unit as u128),
            None => write!(f, "{}s", us as f64 / 1e6),
        }
    }
}

/// A text that says no [`Retention`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a history is `forever`, `none`, or a time such as 90d: a number and s, m, h, d, w or y")]
pub struct BadRetention;

impl FromStr for Retention {
    type Err = BadRetention;

    /// Reads `forever`, `none`, or a number of seconds, minutes, hours, days, weeks or years (of 365
    /// days): `90s`, `15m`, `12h`, `90d`, `2w`, `7y`.
    fn from_str(text: &str) -> Result<Retention, BadRetention> {
        match text {
            "forever" => return Ok(Retention::Forever),
            "none" => return Ok(Retention::None),
            _ => {}
        }
        let unit = text.chars().next_back().ok_or(BadRetention)?;
        let (_, us) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(BadRetention)?;
        let number: u64 = text[..text.len() - 1].parse().map_err(|_| BadRetention)?;
        let us = number.checked_mul(*us).filter(|us| *us > 0).ok_or(BadRetention)?;
        Ok(Retention::For(Duration::from_micros(us)))
    }
}

/// The options of a collection, beyond keeping documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectionOptions {
    /// How much of the past is kept. Can be changed later.
    pub history: Retention,
    /// Keep a rolling hash of every document (see [`crate::digest`]).
    pub hashes: bool,
    /// Keep the path summary of every document (see [`crate::PathClass`]), so that it is read and not
    /// computed.
    pub path_summary: bool,
}

/// A collection's table.
#[derive(Debug)]
pub struct DocumentTable {
    hashes: bool,
    path_summary: bool,
    history: RwLock<Retention>,
    /// The retention that the store is told.
    retention: RwLock<store::Retention>,
    /// The commit that dropped the collection; none did as long as this is the largest number.
    ended: AtomicU64,
}

impl DocumentTable {
    /// The table of a collection with these options, on which nothing was stored so far or whose past
    /// has been kept since the store was opened.
    pub fn new(options: CollectionOptions) -> DocumentTable {
        DocumentTable {
            hashes: options.hashes,
            path_summary: options.path_summary,
            history: RwLock::new(options.history),
            retention: RwLock::new(options.history.retention()),
            ended: AtomicU64::new(u64::MAX),
        }
    }

    /// A table of which it is not known yet what it is: everything in it stays.
    pub fn unknown() -> DocumentTable {
        let table = DocumentTable::new(CollectionOptions::default());
        *table.retention.write() = store::Retention::Unsettled;
        table
    }

    /// The options of the collection, as of now.
    pub fn options(&self) -> CollectionOptions {
        CollectionOptions {
            history: *self.history.read(),
            hashes: self.hashes,
            path_summary: self.path_summary,
        }
    }

    /// Keeps another part of the past from now on; what was dropped before stays dropped. Less is kept only
    /// once [`DocumentTable::settle`] was called.
    pub fn keep(&self, history: Retention) {
        *self.history.write() = history;
        *self.retention.write() = store::Retention::Unsettled;
    }

    /// Tells the store of a history that [`DocumentTable::keep`] has made shorter. Waits for a flush that is
    /// under way.
    pub fn settle(&self, store: &Store) {
        let history = *self.history.read();
        if history != Retention::Forever {
            store.after_flush();
            let now = self.history.read();
            // A history that has changed meanwhile has a flush of its own to wait for.
            if *now == history {
                *self.retention.write() = history.retention();
            }
        }
    }

    /// True if the past of a document may be dropped while it is read.
    pub(crate) fn may_forget(&self) -> bool {
        *self.history.read() != Retention::Forever
    }

    /// The collection was dropped by this commit.
    pub fn end(&self, csn: Csn) {
        self.ended.store(csn.0, Ordering::Release);
    }

    /// Fails if the collection is not there any more as of a commit.
    #[inline]
    pub(crate) fn check(&self, at: Csn) -> Result<()> {
        match self.ended() {
            Some(csn) if csn <= at => Err(DocumentError::Dropped { csn }),
            _ => Ok(()),
        }
    }
}

/// How records of documents merge, whichever table they lie in: what [`Table::merge`] is to do.
pub fn merge(
    key: &[u8],
    base_csn: Csn,
    base: &[u8],
    deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
    out: &mut Vec<u8>,
) -> Result<(), MergeError> {
    match record_of(key) {
        Some(Record::Chunk(_)) => Ok(ChunkBuf::merge(base_csn, base, deltas, out)?),
        Some(Record::Revisions(_)) => Ok(revisions::merge(base_csn, base, deltas, out)?),
        Some(Record::Paths) => Ok(paths::merge(base, deltas, out)?),
        None => Err(Damaged::new("a key that is no record of a document").into()),
    }
}

/// Returns the packer of documents' records for the files of a compaction ([`Table::packer`]).
pub fn packer() -> Box<dyn store::Packer> {
    Box::new(DocumentPacker::default())
}

/// When a fresh image is written ([`Table::rebase`]). Twice as eager as the default: deltas of a counter are
/// a few bytes each, so that hundreds would stand between two images, and reading an old version goes
/// through half of them. Images that are nearly alike cost little once they are compressed.
pub fn rebase(image_bytes: usize, delta_bytes: usize) -> bool {
    delta_bytes > 256 && delta_bytes * 8 > image_bytes
}

/// Which records keep their past ([`Table::keeps_history`]): the lists of revisions are a past themselves.
pub fn keeps_history(key: &[u8]) -> bool {
    !matches!(record_of(key), Some(Record::Revisions(_)))
}

/// How the table of changes names what was written ([`Table::subject`]).
pub fn subject(key: &[u8]) -> Option<&[u8]> {
    crate::key::subject(key)
}

impl Table for DocumentTable {
    fn subject<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        subject(key)
    }

    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        merge(key, base_csn, base, deltas, out)
    }

    fn rebase(&self, image_bytes: usize, delta_bytes: usize) -> bool {
        rebase(image_bytes, delta_bytes)
    }

    fn keeps_history(&self, key: &[u8]) -> bool {
        keeps_history(key)
    }

    fn packer(&self) -> Option<Box<dyn store::Packer>> {
        Some(packer())
    }

    fn retention(&self) -> store::Retention {
        *self.retention.read()
    }

    /// The commit that dropped the collection.
    fn ended(&self) -> Option<Csn> {
        let csn = self.ended.load(Ordering::Acquire);
        (csn != u64::MAX).then_some(Csn(csn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history is written as it was given, in the largest unit that fits it.
    #[test]
    fn histories_as_text() {
        for text in ["forever", "none", "90d", "12h", "15m", "1s", "730d"] {
            assert_eq!(text.parse::<Retention>().expect(text).to_string(), text);
        }
        for (text, shown) in [("1y", "365d"), ("2w", "14d"), ("3600s", "1h"), ("90m", "90m")] {
            assert_eq!(text.parse::<Retention>().expect(text).to_string(), shown);
        }
        for text in ["", "d", "0d", "-1d", "1.5d", "90", "90 d", "always", "9999999999999y", "1é"]
        {
            assert_eq!(text.parse::<Retention>(), Err(BadRetention), "{text}");
        }
        let short = Retention::For(Duration::from_micros(1_500_000));
        assert_eq!(short.to_string(), "1.5s");
    }
}
