//! Plans, run row by row.
//!
//! ```text
//!   sql::plan::Plan ──plan::plan──> plan::Plan ──build──> operators ──next──> rows
//!                                   access paths,         one for each        one at a time
//!                                   joins, top-n          node
//!
//!     Prepared: the plan and its operator trees, shared by all executions of the statement
//!     Run:      one execution; it borrows nothing between calls, so it can be suspended
//!     Ctx:      the context of a call: transaction, parameters, session, the flag that cancels it
//! ```
//!
//! The executor runs every plan, with PostgreSQL's semantics. Small statements run on it, and the
//! engine for large ones (`batch`) is compared with it.
//!
//! # Rows
//! A row between operators is a `Vec<Datum>` that is reused for the next row. A column of an outer row
//! is a *slot*: a number under which its value is kept while the inner rows are computed. A subquery in
//! an expression is a *subplan*, identified by a number, with the values of its slots as arguments. So a
//! rule can move an expression without changing it.
//!
//! # Absent on purpose
//! No SQL text, no sockets, no clock, no random numbers: they come in a [`Ctx`]. Files are used only for
//! rows that an operator cannot hold in memory, in a folder that the caller names.

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
