//! Plans, run row by row.
//!
//! ```text
//!   sql::plan::Plan ──plan::plan──> plan::Plan ──build──> operators ──next──> rows
//!                                   access paths,         one for each        one at a time
//!                                   joins, top-n          node
//!
//!     Prepared: the plan and machines that run it, shared by all executions of the statement
//!     Run:      one execution; it borrows nothing between calls, so that it can be put aside
//!     Ctx:      the context of a call: transaction, parameters, session, the flag that cancels it
//! ```
//!
//! The executor runs every plan, with PostgreSQL's semantics. Small statements run on it, and the
//! engine for large ones (`batch`) is compared with it.
//!
//! # Rows
//! A row between operators is a `Vec<Datum>` that is used again for the next one. A column of an
//! outer row is a *slot*: a number under which its value is kept while the inner rows are computed. A
//! subquery in an expression is a *subplan*, known by number, with the values of its slots as
//! arguments. So a rule can move an expression without looking at its surroundings.
//!
//! # Absent on purpose
//! No SQL text, no sockets, no clock, no random numbers: they come in a [`Ctx`]. Files are used for
//! one thing, rows that an operator cannot hold, in a folder that the caller names.

mod build;
mod ctx;
mod op;
mod parallel;
mod prepared;
mod spill;
pub mod stored;
pub mod tables;

pub use ctx::{Ctx, MemoryTotal, Parallelism, Spill, row_bytes};
pub use prepared::{Prepared, Run};
pub use spill::{ByteSpool, RowSpool, SpooledBytes, SpooledRows, TempBytes, TempFolder};
