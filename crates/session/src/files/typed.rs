//! Files that have the types of their columns: Parquet and Arrow IPC.

use std::path::Path;

use interchange::{Cells, FileFormat, Reader, RecordBatch, natural};
use types::{Datum, Error, Result, SqlState};
use vfs::Env;

use super::{FileColumn, FileRows};

/// The columns of a file, and about how many rows it has.
pub(super) fn look(env: &Env, path: &Path, format: FileFormat) -> Result<(Vec<FileColumn>, u64)> {
    let reader = Reader::open(env, path, format, Some(&[]))?;
    let columns = columns_of(&reader, path)?;
    Ok((columns, reader.rows().unwrap_or(1_000_000)))
}

/// The columns of an open file.
pub(crate) fn columns_of(reader: &Reader, path: &Path) -> Result<Vec<FileColumn>> {
    let fields = reader.schema().fields().iter();
    let columns = fields.map(|field| {
        let natural = natural(field)
            .map_err(|error| error.with_context(format!("file \"{}\"", path.display())))?;
        Ok(FileColumn { name: field.name().clone(), ty: natural.ty, modifier: natural.modifier })
    });
    columns.collect()
}

/// The rows of a file, whose columns are found by their names.
pub(super) fn rows(
    env: &Env,
    path: &Path,
    format: FileFormat,
    columns: &[FileColumn],
    wanted: &[usize],
) -> Result<Box<dyn FileRows>> {
    let known = columns_of(&Reader::open(env, path, format, Some(&[]))?, path)?;
    let mut places = Vec::with_capacity(wanted.len());
    for place in wanted {
        let column = &columns[*place];
        let other = |message: String| {
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_detail("All files of one call have the columns of the first."))
        };
        let Some(at) = known.iter().position(|known| known.name == column.name) else {
            return other(format!("file \"{}\" has no column \"{}\"", path.display(), column.name));
        };
        if known[at] != *column {
            return other(format!(
                "column \"{}\" of file \"{}\" has another type",
                column.name,
                path.display()
            ));
        }
        places.push(at);
    }
    // A reader gives columns in the order of its file.
    let mut in_order = places.clone();
    in_order.sort_unstable();
    let order = places.iter().map(|place| in_order.partition_point(|other| other < place));
    let order = order.collect();
    let reader = Reader::open(env, path, format, Some(&in_order))?;
    let what = format!("file \"{}\"", path.display());
    Ok(Box::new(Typed { what, reader, order, batch: Batch::default(), row: 0 }))
}

/// The values of a batch, column by column.
#[derive(Default)]
pub(crate) struct Batch {
    pub cells: Vec<Cells>,
    pub names: Vec<String>,
    pub rows: usize,
    /// The row that comes next.
    pub next: usize,
}

impl Batch {
    pub fn new(batch: &RecordBatch) -> Result<Batch> {
        let schema = batch.schema();
        let fields = schema.fields().iter().zip(batch.columns());
        let cells = fields.map(|(field, array)| Cells::new(array, field)).collect::<Result<_>>()?;
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok(Batch { cells, names, rows: batch.num_rows(), next: 0 })
    }
}

struct Typed {
    what: String,
    reader: Reader,
    /// Where each wanted column is among those that the reader gives.
    order: Vec<usize>,
    batch: Batch,
    row: u64,
}

impl FileRows for Typed {
    fn next(&mut self, out: &mut Vec<Datum>) -> Result<bool> {
        while self.batch.next == self.batch.rows {
            let Some(batch) = self.reader.next_batch()? else { return Ok(false) };
            self.batch = Batch::new(&batch)?;
        }
        self.row += 1;
        for at in &self.order {
            let value = self.batch.cells[*at].get(self.batch.next).map_err(|error| {
                let (what, row, name) = (&self.what, self.row, &self.batch.names[*at]);
                error.with_context(format!("{what}, row {row}, column {name}"))
            })?;
            out.push(value);
        }
        self.batch.next += 1;
        Ok(true)
    }
}
