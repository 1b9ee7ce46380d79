//! The limits on the size of documents and of their keys.

use crate::Result;
use json::{Limits, Tape};

/// The longest document key, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// Levels that a document may have, the root's included.
pub const DEPTH_MAX: usize = 512;

/// Reads a value within the limits of documents.
pub(crate) fn parse(json: &[u8]) -> Result<Tape> {
    Ok(Tape::parse_with(json, &limits())?)
}

/// The limits of documents: [`DEPTH_MAX`] levels, names of 65,000 bytes.
pub fn limits() -> Limits {
    Limits { depth: DEPTH_MAX, ..Limits::default() }
}
