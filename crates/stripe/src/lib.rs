//! Columns of values as compressed bytes: the format of `columnar` tables, without tables.
//!
//! ```text
//!   stripe, up to 131,072 rows
//!     chunk group 0        chunk group 1        ...       up to 16,384 rows each
//!     ┌────────┬────────┐  ┌────────┬────────┐
//!     │ id     │ price  │  │ id     │ price  │            one chunk for each column and chunk group
//!     │ block  │ block  │  │        │        │            blocks of 1,024 values
//!     │ block  │ block  │  │        │        │
//!     └────────┴────────┘  └────────┴────────┘
//! ```
//!
//! A caller gives the values of one column of a chunk group ([`Column`]) and gets bytes; [`Chunk::read`]
//! checks such bytes and gives the values back, one block or one value at a time. An encoder tries the
//! encodings that fit the values and keeps the smallest. The bytes are described in
//! `docs/format-columnar.md`.
//!
//! | module | contains |
//! |---|---|
//! | `ints` | streams of 64-bit integers: constant, stride, runs, packed bits |
//! | `packed` | blocks of 1,024 integers in `W` bits each, as FastLanes lays them out |
//! | `floats` | floating point numbers: as decimals (ALP) or as they are |
//! | `bytes` | byte strings: plain, compressed, hexadecimal, codes of a dictionary |
//! | `nulls` | which values of a chunk are NULL |
//! | `chunk` | [`Chunk`]: one column of one chunk group |
//! | `zone` | [`Zone`]: the minimum, maximum, number of NULLs and sum of a chunk |
//!
//! # Invariants
//! * The decoder gives back the encoder's input bit for bit: `-0.0`, NaN payloads, `47.10`.
//! * Damaged bytes give an [`Error`] or other values. They never cause a panic, an endless loop, or an
//!   allocation beyond [`CHUNK_ROWS_MAX`] values or [`CHUNK_BYTES_MAX`] bytes.
//!
//! # Absent on purpose
//! No SQL types, no files, no checksums: the store keeps chunks as values and checks its blocks.

mod bytes;
mod chunk;
mod cursor;
mod floats;
mod ints;
mod nulls;
mod packed;
mod zone;

#[cfg(test)]
mod tests;

pub use bytes::{ByteStrings, Compression, Dictionary, Strings};
pub use chunk::{Chunk, Column, Values};
pub use floats::{Float, Floats};
pub use ints::Ints;
pub use nulls::Nulls;
pub use zone::{Bounds, Zone};

/// The number of values in a block, apart from the last one of a chunk.
pub const BLOCK_ROWS: usize = 1024;

/// The largest number of values in a chunk.
pub const CHUNK_ROWS_MAX: usize = 1 << 20;

/// The largest number of bytes that the byte strings of a chunk have together.
pub const CHUNK_BYTES_MAX: usize = 1 << 30;

/// The bytes of a chunk do not decode: they were damaged, or written by a later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chunk of a column does not decode: {0}")]
pub struct Error(pub(crate) &'static str);

/// The result of reading a chunk.
pub type Result<T> = std::result::Result<T, Error>;
