//! [`RowSpool`]: the rows of a result, written first and then read once. Rows beyond `work_mem` go to
//! a file.

use std::sync::Arc;

use types::{Datum, Error, Result, SqlState};

use super::{Reader, TempFolder, Writer};
use crate::ctx::row_bytes;

/// Rows in the order in which they came.
pub struct RowSpool {
    folder: Option<Arc<TempFolder>>,
    bytes_max: usize,
    bytes: usize,
    writer: Option<Writer>,
    /// The rows that are in memory, all after those of the file.
    rows: Vec<Vec<Datum>>,
}

impl RowSpool {
    /// No rows. It holds `bytes_max` bytes of them in memory; more than that go to a file in the folder, or are
    /// refused where there is no folder.
    pub fn new(folder: Option<&Arc<TempFolder>>, bytes_max: usize) -> Self {
        let folder = folder.cloned();
        Self { folder, bytes_max, bytes: 0, writer: None, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// `53200` where there is no room and no folder, and those of the file.
    pub fn push(&mut self, row: Vec<Datum>) -> Result<()> {
        self.bytes += row_bytes(&row);
        self.rows.push(row);
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let Some(folder) = &self.folder else {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory")
                .with_detail("The rows of a query do not fit into the memory of a statement."));
        };
        let writer = self.writer.get_or_insert_with(|| Writer::new(folder));
        for row in self.rows.drain(..) {
            writer.push(|out| super::write_row(&row, out))?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// The rows.
    ///
    /// # Errors
    /// Those of the file.
    pub fn read(mut self) -> Result<SpooledRows> {
        let file = match &mut self.writer {
            Some(writer) => Some(writer.tape()?.read()),
            None => None,
        };
        Ok(SpooledRows { file, rows: self.rows.into_iter() })
    }
}

/// The rows of a [`RowSpool`], one after the other.
pub struct SpooledRows {
    file: Option<Reader>,
    rows: std::vec::IntoIter<Vec<Datum>>,
}

impl SpooledRows {
    /// The next row; `None` behind the last.
    ///
    /// # Errors
    /// Those of the file.
    pub fn next_row(&mut self) -> Result<Option<Vec<Datum>>> {
        if let Some(file) = &mut self.file {
            let mut row = Vec::new();
            if file.row(&mut row)? {
                return Ok(Some(row));
            }
            self.file = None;
        }
        Ok(self.rows.next())
    }
}
