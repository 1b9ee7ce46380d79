//! Whether the disk had room for the last commit.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{CommitPosition, Engine};
use crate::error::TxnError;

/// The SQLSTATE of a full disk.
const DISK_FULL: &str = "53100";

/// Whether the disk had no room for the last commit.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicBool);

impl Room {
    /// Notes what became of a commit.
    pub fn note(&self, placed: &Result<CommitPosition, TxnError>) {
        let is_full = match placed {
            Ok(_) => false,
            Err(error) if error.sqlstate() == DISK_FULL => true,
            Err(_) => return,
        };
        // Nearly always it is as it was, and nothing is written.
        if self.0.load(Ordering::Relaxed) != is_full {
            self.0.store(is_full, Ordering::Relaxed);
        }
    }
}

impl Engine {
    /// True if the disk had no room for the last commit. The next commit that has room clears
    /// this, as does [`Engine::found_room`].
    pub fn is_disk_full(&self) -> bool {
        self.room.0.load(Ordering::Relaxed)
    }

    /// To be called where it was found that the disk has room again.
    pub fn found_room(&self) {
        self.room.0.store(false, Ordering::Relaxed);
    }
}
