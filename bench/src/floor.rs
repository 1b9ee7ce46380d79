//! The durability floor of a disk: what one commit costs when there is no database.
//!
//! A commit of a small change cannot be cheaper than writing its record and waiting for the disk:
//! one `pwrite` and one `fdatasync` into a file whose blocks are already there, so that nothing but
//! the data moves. Databases are compared with this number, measured beside them in the same rounds.
//!
//! ```text
//! file   [record][record][record]0000000000000000000000000   zeroes written and synced beforehand
//!                         ^ pwrite 160 bytes, fdatasync, next
//! ```

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use crate::Result;

/// Bytes of one record: about what a small change costs in a log.
pub const RECORD_BYTES: usize = 160;
/// Length of the file, as a log segment; the writes go round in it.
const FILE_BYTES: u64 = 16 << 20;

/// A pre-zeroed file on the disk that is being measured.
pub struct Floor {
    file: File,
    position: u64,
}

impl Floor {
    /// Makes the file in `dir`, writes it full of zeroes and syncs it.
    pub fn create(dir: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(dir.join("floor"))?;
        let zeroes = vec![0u8; 1 << 20];
        for offset in (0..FILE_BYTES).step_by(zeroes.len()) {
            file.write_all_at(&zeroes, offset)?;
        }
        file.sync_all()?;
        Ok(Floor { file, position: 0 })
    }

    /// Where the next record goes.
    fn advance(&mut self) -> u64 {
        if self.position + RECORD_BYTES as u64 > FILE_BYTES {
            self.position = 0;
        }
        let here = self.position;
        self.position += RECORD_BYTES as u64;
        here
    }

    /// Writes and syncs `count` records one after another; returns records a second.
    pub fn records_per_second(&mut self, count: u32) -> Result<f64> {
        let mut record = [0u8; RECORD_BYTES];
        let start = Instant::now();
        for i in 0..count {
            record[..4].copy_from_slice(&i.to_le_bytes());
            let position = self.advance();
            self.file.write_all_at(&record, position)?;
            self.file.sync_data()?;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    }
}

/// The floor of many writers: records that came meanwhile share the next sync.
pub struct SharedFloor {
    writing: Mutex<(Floor, u64)>,
    /// How many records are known to be on the disk.
    synced: Mutex<u64>,
    file: File,
}

impl SharedFloor {
    /// As [`Floor::create`].
    pub fn create(dir: &Path) -> Result<Self> {
        let floor = Floor::create(dir)?;
        let file = floor.file.try_clone()?;
        Ok(SharedFloor { writing: Mutex::new((floor, 0)), synced: Mutex::new(0), file })
    }

    /// Writes a record and waits until it is on the disk.
    pub fn commit(&self) -> Result<()> {
        let mine = {
            let mut writing = self.writing.lock().map_err(|_| "a writer panicked")?;
            let (floor, written) = &mut *writing;
            let position = floor.advance();
            floor.file.write_all_at(&[1; RECORD_BYTES], position)?;
            *written += 1;
            *written
        };
        // The first writer syncs for all that have written by then.
        let mut synced = self.synced.lock().map_err(|_| "a writer panicked")?;
        if *synced < mine {
            let written = self.writing.lock().map_err(|_| "a writer panicked")?.1;
            self.file.sync_data()?;
            *synced = written;
        }
        Ok(())
    }
}
