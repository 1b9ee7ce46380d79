//! Rows into files of Parquet and Arrow IPC.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use types::{Context, Datum, Error, Result, SqlState};

use crate::encode::{Column, Encoder, Target};

/// The most rows of a row group of Parquet. Readers skip whole row groups.
const GROUP_ROWS_MAX: usize = 131_072;
/// A row group of Parquet ends with the batch after which it has so many bytes in memory.
const GROUP_BYTES_MAX: usize = 128 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// Snappy: fast. The default for Parquet.
    Snappy,
    /// Zstandard, the level 3.
    Zstd,
    /// LZ4.
    Lz4,
    /// gzip.
    Gzip,
}

impl Compression {
    /// Returns the compression with this name, whatever its case; `None` if there is none.
    pub fn named(name: &str) -> Option<Compression> {
        Some(match name.to_ascii_lowercase().as_str() {
            "none" | "uncompressed" => Compression::None,
            "snappy" => Compression::Snappy,
            "zstd" => Compression::Zstd,
            "lz4" => Compression::Lz4,
            "gzip" => Compression::Gzip,
            _ => return None,
        })
    }
}

/// The format that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
}

/// Collects rows for a file.
pub struct Writer<W: Write + Send> {
    encoder: Encoder,
    body: Body<W>,
}

enum Body<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    File(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file of these columns.
    ///
    /// # Errors
    /// 22023 where the format has no such compression, and what `out` reports.
    pub fn new(
        out: W,
        format: Format,
        compression: Option<Compression>,
        columns: impl IntoIterator<Item = Column>,
        context: &Context<'_>,
    ) -> Result<Writer<W>> {
        let target = if format == Format::Parquet { Target::Parquet } else { Target::Arrow };
        let encoder = Encoder::new(columns, target, context)?;
        let schema = encoder.schema();
        let body = match format {
            Format::Parquet => {
                let properties = properties(compression.unwrap_or(Compression::Snappy));
                let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties));
                Body::Parquet(Box::new(writer.map_err(|error| failed(&error))?))
            }
            Format::ArrowFile => {
                let options = options(compression.unwrap_or(Compression::None))?;
                let writer = FileWriter::try_new_with_options(out, schema, options);
                Body::File(Box::new(writer.map_err(|error| failed(&error))?))
            }
            Format::ArrowStream => {
                let options = options(compression.unwrap_or(Compression::None))?;
                let writer = StreamWriter::try_new_with_options(out, schema, options);
                Body::Stream(Box::new(writer.map_err(|error| failed(&error))?))
            }
        };
        Ok(Writer { encoder, body })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 22003 for a value that its column has no place for ([`Encoder::push`]), and what `out` reports.
    pub fn push(&mut self, row: &[Datum], context: &Context<'_>) -> Result<()> {
        match self.encoder.push(row, context)? {
            Some(batch) => self.write(&batch),
            None => Ok(()),
        }
    }

    /// The writer of the bytes so far.
    pub fn out(&mut self) -> &mut W {
        match &mut self.body {
            Body::Parquet(writer) => writer.inner_mut(),
            Body::File(writer) => writer.get_mut(),
            Body::Stream(writer) => writer.get_mut(),
        }
    }

    /// Writes what is left and the end of the file, and gives back what it was written to.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn finish(mut self) -> Result<W> {
        if let Some(batch) = self.encoder.finish()? {
            self.write(&batch)?;
        }
        match self.body {
            Body::Parquet(writer) => writer.into_inner().map_err(|error| failed(&error)),
            Body::File(writer) => writer.into_inner().map_err(|error| failed(&error)),
            Body::Stream(writer) => writer.into_inner().map_err(|error| failed(&error)),
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.body {
            Body::Parquet(writer) => {
                writer.write(batch).map_err(|error| failed(&error))?;
                if writer.in_progress_size() >= GROUP_BYTES_MAX {
                    writer.flush().map_err(|error| failed(&error))?;
                }
                Ok(())
            }
            Body::File(writer) => writer.write(batch).map_err(|error| failed(&error)),
            Body::Stream(writer) => writer.write(batch).map_err(|error| failed(&error)),
        }
    }
}

fn properties(compression: Compression) -> WriterProperties {
    use parquet::basic::Compression as Codec;
    let codec = match compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Snappy => Codec::SNAPPY,
        Compression::Zstd => Codec::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()),
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::Gzip => Codec::GZIP(GzipLevel::default()),
    };
    WriterProperties::builder()
        .set_compression(codec)
        .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
        .set_created_by("Anywhen".to_owned())
        .build()
}

fn options(compression: Compression) -> Result<IpcWriteOptions> {
    use arrow_ipc::CompressionType;
    let codec = match compression {
        Compression::None => None,
        Compression::Zstd => Some(CompressionType::ZSTD),
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Snappy | Compression::Gzip => {
            let message = "Arrow IPC has no such compression";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("Use COMPRESSION lz4, zstd or none."));
        }
    };
    IpcWriteOptions::default().try_with_compression(codec).map_err(|error| failed(&error))
}

/// The error of a writer. The error of `out` lies within it.
fn failed(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut cause = Some(error);
    while let Some(found) = cause {
        if let Some(io) = found.downcast_ref::<std::io::Error>() {
            let state = match io.kind() {
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                    SqlState::DISK_FULL
                }
                _ => SqlState::IO_ERROR,
            };
            return Error::new(state, format!("could not write file: {io}"));
        }
        cause = found.source();
    }
    Error::new(SqlState::IO_ERROR, format!("could not write file: {error}"))
}
