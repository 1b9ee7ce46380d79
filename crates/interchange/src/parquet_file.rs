//! Parquet files, read through `vfs`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use types::Result;

use crate::file::Source;
use crate::guard::{damaged, sound};

/// Rows that are decoded together.
const BATCH_ROWS: usize = 8_192;

/// A Parquet file that is read batch by batch.
pub(crate) struct Parquet {
    what: String,
    batches: ParquetRecordBatchReader,
    rows: u64,
    /// The number of rows that are not read yet.
    left: u64,
}

impl Parquet {
    /// Opens a file. Returns its columns, its number of rows, and a reader of the `wanted` columns (`None`: all).
    pub fn open(
        source: Source,
        what: String,
        wanted: Option<&[usize]>,
    ) -> Result<(Arc<Schema>, u64, Parquet)> {
        let opened = sound(&what, || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source);
            let builder = builder.map_err(|error| damaged(&what, error))?;
            let schema = Arc::clone(builder.schema());
            let rows = builder.metadata().file_metadata().num_rows();
            let rows = u64::try_from(rows)
                .map_err(|_| damaged(&what, "it has a negative number of rows"))?;
            let groups: i64 =
                builder.metadata().row_groups().iter().map(|group| group.num_rows()).sum();
            if u64::try_from(groups) != Ok(rows) {
                return Err(damaged(
                    &what,
                    "its row groups have another number of rows than it says",
                ));
            }
            let mask = match wanted {
                Some(wanted) => {
                    ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied())
                }
                None => ProjectionMask::all(),
            };
            let built = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
            let batches = built.map_err(|error| damaged(&what, error))?;
            Ok((schema, rows, batches))
        });
        let (schema, rows, batches) = opened?;
        Ok((schema, rows, Parquet { what, batches, rows, left: rows }))
    }

    /// The next rows; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Parquet { what, batches, .. } = self;
        let next =
            sound(what, || batches.next().transpose().map_err(|error| damaged(what, error)))?;
        match &next {
            Some(batch) => {
                let left = self.left.checked_sub(batch.num_rows() as u64);
                self.left = left.ok_or_else(|| self.miscounted())?;
            }
            None if self.left > 0 => return Err(self.miscounted()),
            None => {}
        }
        Ok(next)
    }

    fn miscounted(&self) -> types::Error {
        damaged(&self.what, format!("it does not have the {} rows that it says", self.rows))
    }
}
