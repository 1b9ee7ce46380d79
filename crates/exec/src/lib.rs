//! Plans, run row by row.
//!
//! ```text
//!   sql::plan::Plan ──plan::plan──> plan::Plan ──build──> operators ──next──> rows
//!                                   access paths,         one for each        one at a time
//!                                   joins, top-n          node
//!
//!     Prepared: the plan and machines that run it, shared by all who run the statement
//!     Run:      one execution; it borrows nothing between calls, so that it can be put aside
//!     Ctx:      what a call needs: transaction, parameters, session, the flag that cancels it
//! ```
//!
//! Every plan can be run, with PostgreSQL's semantics; this is what small statements run on, and
//! what an engine for large ones is compared with.
//!
//! # Rows
//! A row between operators is a `Vec<Datum>` that is used again for the next one. A column of a row
//! further out is a *slot*: a number under which its value is kept while the rows further in are
//! computed. A subquery in an expression is a *subplan*, known by number, with the values that its
//! slots take as arguments; so expressions can be moved without a look at what is around them.
//!
//! # Absent on purpose
//! No SQL text, no sockets, no clock, no random numbers: they come in a [`Ctx`]. Files are used for
//! one thing, rows that an operator cannot hold, in a folder that the caller names.

mod build;
mod crew;
mod ctx;
mod op;
mod prepared;
mod spill;
pub mod stored;
pub mod tables;

pub use ctx::{Ctx, Help, MemoryTotal, Spill, row_bytes};
pub use prepared::{Prepared, Run};
pub use spill::{RowSpool, SpooledRows, TempBytes, TempFolder};
