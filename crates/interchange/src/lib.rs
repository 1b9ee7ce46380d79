//! Rows in the formats that other programs read: Arrow record batches, and the files of Apache Parquet and Arrow IPC.
//!
//! ```text
//!   rows of Datum ──Encoder──> RecordBatch ──Writer──> Parquet, Arrow file, Arrow stream ──Replacement──> path
//!   rows of Datum <──Cells──── RecordBatch <──Reader── Parquet, Arrow file  <── vfs::File
//!                                          <──Stream── Arrow stream         <── bytes
//! ```
//!
//! One table maps types of SQL to Arrow types ([`encode`]), and one maps them back ([`decode`]). All readers and
//! writers use these two.
//!
//! # Invariants
//! * The conversion changes no value: a decimal stays a decimal, and a value without an exact counterpart is written as
//!   text.
//! * A damaged file gives an error and never ends the process. A reader compares each length in a file with the length
//!   of the file before it allocates memory ([`guard`]).
//! * A written file appears under its name when it is whole and durable, or not at all ([`Replacement`]).
//!
//! # Absent on purpose
//! SQL, plans, transactions, and rights on files. Files come from [`vfs`].

pub mod decode;
pub mod encode;
mod file;
mod guard;
mod ipc;
mod nested;
mod parquet_file;
mod read;
mod write;

pub use arrow_array::RecordBatch;
pub use arrow_schema::Schema;
pub use decode::{Cells, Natural, natural};
pub use encode::{BATCH_ROWS_MAX, Column, Encoder, Target};
pub use file::{Replacement, could_not};
pub use ipc::Stream;
pub use read::{FileFormat, Reader};
pub use write::{Compression, Format, Writer};

#[cfg(test)]
mod tests;
