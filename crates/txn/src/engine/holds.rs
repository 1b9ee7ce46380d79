//! [`LogHold`]: the part of the log, and the files that it names, which are kept for a follower
//! that is behind.
//!
//! ```text
//!   log      10 ─── 20 ─── 30 ─── 40 ─── 50        the store's files cover what is below 40
//!   holds              A: 25          B: 45
//!   released to        25                           not 40: A has not read 25 to 40 yet
//!   files              those that records above 25 name stay, merged or not
//! ```
//!
//! A hold lives in memory. A leader that is opened again has none: the log is then kept as far as opening
//! needs it, and a follower asks for its hold anew before the next checkpoint, or begins with a backup.

use std::sync::{Arc, Weak};

use log::Lsn;
use parking_lot::Mutex;
use store::KeptFiles;

use super::Engine;
use super::follow::{decode, load_of};
use crate::error::EngineError;

/// The holds of an engine.
#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Vec<Weak<Mutex<Held>>>>);

/// The part of the log that one hold keeps.
#[derive(Debug)]
struct Held {
    from: Lsn,
    /// Of records above `from`: where each ends, and its files.
    files: Vec<(Lsn, KeptFiles)>,
}

impl Holds {
    /// The position below which no hold keeps the log; `upto` where none keeps anything below that.
    pub fn released(&self, upto: Lsn) -> Lsn {
        let holds = self.0.lock();
        let from = holds.iter().filter_map(Weak::upgrade).map(|held| held.lock().from);
        from.min().map_or(upto, |from| from.min(upto))
    }

    /// Makes all holds keep the files of a record that ends at `lsn`; `files` is called where there
    /// are holds.
    pub fn keep(&self, lsn: Lsn, files: impl Fn() -> Option<KeptFiles>) {
        let mut holds = self.0.lock();
        holds.retain(|held| held.strong_count() > 0);
        for held in holds.iter().filter_map(Weak::upgrade) {
            held.lock().files.extend(files().map(|files| (lsn, files)));
        }
    }
}

/// Keeps the log of a leader from a position on, and the files that its records name. Dropping it
/// releases them.
#[derive(Debug)]
pub struct LogHold(Arc<Mutex<Held>>);

impl LogHold {
    /// The position from which on the log is kept.
    pub fn from(&self) -> Lsn {
        self.0.lock().from
    }

    /// Returns true if the hold keeps a file of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.lock().files.iter().any(|(_, files)| files.has(name))
    }

    /// Lets go of what is below a position that came with a record: the follower has it.
    pub fn advance(&self, to: Lsn) {
        let mut held = self.0.lock();
        held.from = held.from.max(to);
        held.files.retain(|(end, _)| *end > to);
    }
}

impl Engine {
    /// Keeps the log from `from` on, and the files that its records name, as long as the hold lives. `from` is
    /// [`Lsn::START`] or a position that came with a record. The log grows meanwhile by what the follower has not taken.
    ///
    /// # Errors
    /// [`LogError::Released`](log::LogError::Released) where the log does not reach back that far, and
    /// [`EngineError::FilesMissing`] where a file that a record names has been merged into others: the follower
    /// has to begin with a backup.
    pub fn hold_log(&self, from: Lsn) -> Result<LogHold, EngineError> {
        let hold = self.hold_only(from);
        // From here on new commits keep their files for it; those of before are looked up.
        for frame in self.records(from)? {
            let (end, bytes) = frame?;
            let record = decode(&bytes, Some(end))?;
            if let Some(loaded) = load_of(&record)? {
                let files = self.store.keep(&loaded);
                let files = files.ok_or(EngineError::FilesMissing { csn: record.csn })?;
                hold.0.lock().files.push((end, files));
            }
        }
        Ok(hold)
    }

    /// Keeps the log from `from` on, and the files of the commits from now on.
    pub(super) fn hold_only(&self, from: Lsn) -> LogHold {
        let hold = LogHold(Arc::new(Mutex::new(Held { from, files: Vec::new() })));
        self.holds.0.lock().push(Arc::downgrade(&hold.0));
        hold
    }
}
