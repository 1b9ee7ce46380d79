//! SQL, from text to bound plans.
//!
//! ```text
//!   text ──parse──> Statement ──bind──> Plan ──> the executor
//!                                 │       └─ Expr ──eval──> Program ──> values, row by row
//!                               Names: the catalog
//! ```
//!
//! # Absent on purpose
//! No storage, no sockets, no clock: the catalog comes through [`bind::Names`], and a context has the
//! settings that values depend on. This crate optimises nothing.

pub mod bind;
pub mod deparse;
pub mod error;
pub mod eval;
pub mod explain;
pub mod imply;
pub mod outline;
pub mod parse;
pub mod plan;

pub use error::{At, Error, Result};
