//! Files of Parquet and Arrow IPC, batch by batch.

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use types::Result;
use vfs::{Env, OpenMode};

use crate::file::{Source, could_not};
use crate::guard::damaged;
use crate::ipc::Stream;
use crate::parquet_file::Parquet;

/// The first and last bytes of Arrow files.
const ARROW_MAGIC: &[u8; 6] = b"ARROW1";
/// An Arrow file has so many bytes at most before its stream.
const HEAD_BYTES_MAX: u64 = 128;
/// Bytes of an Arrow file that are read together.
const PIECE_BYTES: usize = 1 << 20;

/// The format of a file that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC: a file or a stream, which its first bytes tell apart.
    Arrow,
}

/// A file that is read batch by batch.
pub struct Reader {
    schema: Arc<Schema>,
    rows: Option<u64>,
    body: Body,
}

enum Body {
    Parquet(Box<Parquet>),
    Arrow(Box<ArrowFile>),
}

/// The stream in an Arrow file, or a file that is a stream.
struct ArrowFile {
    what: String,
    source: Source,
    at: u64,
    /// Where the stream ends, and how many batches the footer counts; `None` for a file that is a stream.
    footer: Option<(u64, u64)>,
    stream: Stream,
    /// The first batch, which came with the schema.
    first: Option<RecordBatch>,
    wanted: Vec<usize>,
}

impl Reader {
    /// Opens a file. Its batches have the columns of `wanted`, which counts from 0 and is in rising order; `None`
    /// for all. Of a Parquet file only these are read.
    ///
    /// # Errors
    /// 58P01 where there is no such file, 58030 where it cannot be read, XX001 where it is damaged or of another
    /// format.
    pub fn open(
        env: &Env,
        path: &Path,
        format: FileFormat,
        wanted: Option<&[usize]>,
    ) -> Result<Reader> {
        let opened = env.fs.open(path, OpenMode::Read).and_then(Source::new);
        let source = opened.map_err(|error| could_not("open", path, &error))?;
        let what = format!("file \"{}\"", path.display());
        match format {
            FileFormat::Parquet => {
                let (schema, rows, parquet) = Parquet::open(source, what, wanted)?;
                let body = Body::Parquet(Box::new(parquet));
                Ok(Reader { schema, rows: Some(rows), body })
            }
            FileFormat::Arrow => {
                let (schema, file) = ArrowFile::open(source, what, wanted)?;
                Ok(Reader { schema, rows: None, body: Body::Arrow(Box::new(file)) })
            }
        }
    }

    /// Names and types of all columns of the file.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// How many rows the file says that it has; `None` if it does not say.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The next rows, in the columns that are wanted; `None` at the end.
    ///
    /// # Errors
    /// XX001 where the file is damaged, 58030 where it cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        match &mut self.body {
            Body::Parquet(parquet) => parquet.next_batch(),
            Body::Arrow(file) => file.next_batch(),
        }
    }
}

impl ArrowFile {
    fn open(
        source: Source,
        what: String,
        wanted: Option<&[usize]>,
    ) -> Result<(Arc<Schema>, ArrowFile)> {
        let head = source.bytes_at(0, source.bytes.min(HEAD_BYTES_MAX) as usize);
        let head = head.map_err(|error| damaged(&what, error))?;
        let is_file = head.starts_with(ARROW_MAGIC);
        let footer = if is_file { Some(footer(&source, &what)?) } else { None };
        let stream = Stream::new(what.clone());
        // Zeroes fill the space between the magic bytes of a file and its stream, up to the alignment of the writer.
        let zeroes = || head[8..].chunks(8).take_while(|chunk| **chunk == [0; 8]).count();
        let at = if is_file { 8 + 8 * zeroes() as u64 } else { 0 };
        let mut file =
            ArrowFile { what, source, at, footer, stream, first: None, wanted: Vec::new() };
        file.first = file.next_of_all()?;
        let Some(schema) = file.stream.schema() else {
            return Err(damaged(&file.what, "it has no schema"));
        };
        file.wanted = match wanted {
            Some(wanted) => wanted.to_vec(),
            None => (0..schema.fields().len()).collect(),
        };
        Ok((schema, file))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match self.first.take() {
            Some(first) => Some(first),
            None => self.next_of_all()?,
        };
        let Some(batch) = batch else { return Ok(None) };
        batch.project(&self.wanted).map(Some).map_err(|error| damaged(&self.what, error))
    }

    /// The next batch, with all columns.
    fn next_of_all(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.stream.next_batch()? {
                return Ok(Some(batch));
            }
            let end = self.footer.map_or(self.source.bytes, |(end, _)| end);
            let length = end.saturating_sub(self.at).min(PIECE_BYTES as u64) as usize;
            if self.stream.has_ended() || length == 0 {
                return self.ended();
            }
            let piece = self.source.bytes_at(self.at, length);
            self.stream.push(&piece.map_err(|error| self.unread(&error))?);
            self.at += length as u64;
        }
    }

    /// Returns `None` if the file or stream is complete, and the error of a damaged one if not.
    fn ended(&self) -> Result<Option<RecordBatch>> {
        if !self.stream.is_whole() {
            return Err(damaged(&self.what, "it ends within a message"));
        }
        match self.footer {
            Some((_, batches)) if batches != self.stream.batches() => {
                let found = self.stream.batches();
                let why = format!("it has {found} batches, and its footer counts {batches}");
                Err(damaged(&self.what, why))
            }
            // A stream without the mark that ends it may have been cut between two messages.
            None if !self.stream.has_ended() => {
                Err(damaged(&self.what, "the mark that ends the stream is missing"))
            }
            _ => Ok(None),
        }
    }

    fn unread(&self, error: &io::Error) -> types::Error {
        let message = format!("could not read {}: {error}", self.what);
        types::Error::new(types::SqlState::IO_ERROR, message)
    }
}

/// Where the footer of an Arrow file begins, and how many batches it counts.
fn footer(source: &Source, what: &str) -> Result<(u64, u64)> {
    const TAIL: u64 = 10;
    let incomplete = || damaged(what, "its end is missing");
    let tail_at = source.bytes.checked_sub(TAIL).filter(|at| *at >= 8).ok_or_else(incomplete)?;
    let tail = source.bytes_at(tail_at, TAIL as usize).map_err(|error| damaged(what, error))?;
    if &tail[4..] != ARROW_MAGIC {
        return Err(incomplete());
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let at = tail_at.checked_sub(length).filter(|at| *at >= 8).ok_or_else(incomplete)?;
    let bytes = source.bytes_at(at, length as usize).map_err(|error| damaged(what, error))?;
    let footer = arrow_ipc::root_as_footer(&bytes).map_err(|error| damaged(what, error))?;
    let batches = footer.recordBatches().map_or(0, |blocks| blocks.len() as u64);
    Ok((at, batches))
}
