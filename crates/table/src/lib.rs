//! SQL's tables over versioned keys: the catalog, rows, indexes, constraints, sequences.
//!
//! ```text
//!   catalog    which tables, types and roles there are, at any commit; DDL in transactions
//!   rows       rows by key, their indexes and constraints, their past
//!   method     how rows are kept: the trait that access methods implement
//!     heap, columnar, rowcompress, documents, objects
//!   collections  the tables of documents by name, for programs and clients of HTTP
//!   stored     what the store asks of a table: how deltas merge, how much of the past is kept
//!      └── txn, store        versions of keys, commits, locks
//!      └── types, scalar     values, and how names are quoted
//! ```
//!
//! No module here reads SQL. Expressions (defaults, checks, views) are kept as texts together with
//! the objects that they name. The caller, which can read SQL, computes them and hands in the
//! values.
//!
//! # Invariants
//! * Reads take rows and the catalog at one snapshot, so that the past is read with the tables of then.
//! * A row is laid out as the catalog of its commit says; a table number has one layout, which only
//!   grows at its end.

#[cfg(test)]
extern crate self as table;

pub mod catalog;
pub mod collections;
pub mod columnar;
pub mod documents;
mod error;
pub mod foreign;
mod heap;
pub mod index;
pub mod method;
pub mod objects;
pub mod rowcompress;
pub mod rows;
pub mod sequence;
mod shrink;
mod stored;

pub use catalog::{Catalog, CatalogCache, Draft};
pub use collections::Collections;
pub use error::{Error, Result};
pub use heap::HeapRows;
pub use stored::{PastStorage, StoredTable, Tables};
