//! The checks of a file before a decoder may trust it.
//!
//! The crates `parquet` and `arrow-ipc` check most of what they read, but they allocate memory for some unchecked
//! lengths and panic on some inconsistencies. So this crate checks lengths first, and reports a panic of a decoder as
//! a damaged file.

use std::panic::{AssertUnwindSafe, catch_unwind};

use types::{Error, Result, SqlState};

/// Runs a part of a decoder; a panic in it is the error of a damaged file.
pub(crate) fn sound<T>(what: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    // The decoder is not used again after an error: its state does not matter.
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(damaged(what, "a length or an offset is wrong")))
}

/// The error of a file that is damaged, or of another format.
pub(crate) fn damaged(what: &str, why: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("{what} is damaged or incomplete"))
        .with_detail(why.to_string())
        .with_hint("Write the file again, or restore it from a copy.")
}
