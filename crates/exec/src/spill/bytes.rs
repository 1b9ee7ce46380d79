//! [`ByteSpool`]: bytes that a client sends, kept until all have come and read after that. A request that waits for its
//! client with a spool needs no lock meanwhile.
//!
//! ```text
//!   client ──pieces──> [ memory, up to a bound ] ──> the rest in a temporary file ──> SpooledBytes, from the first
//! ```

use std::io::{self, Read};
use std::sync::Arc;

use types::Result;

use super::TempFolder;
use super::file::TempFile;

/// So many bytes are written to the file at a time.
const WRITE_BYTES: usize = 256 << 10;

/// Bytes in the order in which they came.
pub struct ByteSpool {
    folder: Option<Arc<TempFolder>>,
    bytes_max: usize,
    /// The first bytes, and where they lie once there are more.
    file: Option<(Arc<TempFile>, u64)>,
    /// The bytes after those of the file.
    memory: Vec<u8>,
}

impl ByteSpool {
    /// No bytes. It holds `bytes_max` of them in memory; where there are more they go to a file in the folder. All
    /// stay in memory where there is no folder.
    pub fn new(folder: Option<&Arc<TempFolder>>, bytes_max: usize) -> Self {
        Self { folder: folder.cloned(), bytes_max, file: None, memory: Vec::new() }
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// 53100 where the disk is full, 58030 where the file cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        let most = if self.file.is_some() { WRITE_BYTES } else { self.bytes_max };
        let Some(folder) = self.folder.as_ref().filter(|_| self.memory.len() > most) else {
            return Ok(());
        };
        let (file, at) = match &mut self.file {
            Some(file) => file,
            None => self.file.insert((folder.create()?, 0)),
        };
        file.write(&self.memory, *at)?;
        *at += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// The bytes, from the first.
    pub fn read(self) -> SpooledBytes {
        SpooledBytes { file: self.file, next: 0, memory: io::Cursor::new(self.memory) }
    }
}

/// Reads the bytes of a [`ByteSpool`].
pub struct SpooledBytes {
    file: Option<(Arc<TempFile>, u64)>,
    next: u64,
    memory: io::Cursor<Vec<u8>>,
}

impl SpooledBytes {
    /// Begins at the first byte again.
    pub fn rewind(&mut self) {
        self.next = 0;
        self.memory.set_position(0);
    }
}

impl Read for SpooledBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some((file, end)) = self.file.as_ref().filter(|(_, end)| self.next < *end) else {
            return self.memory.read(out);
        };
        let count = out.len().min((end - self.next) as usize);
        file.read(&mut out[..count], self.next)?;
        self.next += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use vfs::{Env, SimVfs};

    /// All bytes come back in their order, wherever they lay, and the file goes with its reader.
    #[test]
    fn bytes_come_back_and_the_file_goes() {
        let disk = SimVfs::new(1);
        let fs = Env::sim(&disk, 1).fs;
        let folder = TempFolder::open(&fs, Path::new("/temporary")).unwrap();
        for (bytes, is_in_file) in [(0, false), (100, false), (WRITE_BYTES * 3 + 7, true)] {
            let all: Vec<u8> = (0..bytes).map(|at| (at * 7 % 251) as u8).collect();
            let mut spool = ByteSpool::new(Some(&folder), 1_000);
            all.chunks(999).for_each(|piece| spool.push(piece).unwrap());
            assert_eq!(!disk.files().is_empty(), is_in_file);
            let mut reader = spool.read();
            for _ in 0..2 {
                let mut found = Vec::new();
                reader.read_to_end(&mut found).unwrap();
                assert!(found == all, "{bytes} bytes");
                reader.rewind();
            }
            drop(reader);
            assert!(disk.files().is_empty(), "the file is removed");
        }
    }
}
