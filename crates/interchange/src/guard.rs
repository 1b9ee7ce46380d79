//! The checks of a file before a decoder may trust it.
//!
//! The crates `parquet` and `arrow-ipc` check what they read, but not everywhere: some lengths are allocated before
//! they are compared with anything, and some inconsistencies end in a panic. So lengths are compared here first, and
//! a panic of a decoder is an error of the file.

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
