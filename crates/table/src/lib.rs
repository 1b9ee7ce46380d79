//! SQL's tables over versioned keys: the catalog, rows, indexes, constraints, sequences.
//!
//! ```text
//!   catalog    which tables, types and roles there are, at any commit; DDL in transactions
//!   rows       rows by key, their indexes and constraints, their past
//!   method     the trait that access methods implement
//!     heap, columnar, rowcompress, documents, objects
//!   collections  the tables of documents by name, for programs and clients of HTTP
//!   stored     the implementation of `store::Table`: how deltas merge, how much of the past is kept
//!      └── txn, store        versions of keys, commits, locks
//!      └── types, scalar     values, and how names are quoted
//! ```
//!
//! No module here parses SQL. Expressions (defaults, checks, views) are kept as texts together with
//! the objects that they name. The caller, which can parse SQL, computes them and passes the values.
//!
//! # Invariants
//! * Reads take rows and the catalog at one snapshot, so the past is read with the definitions of that time.
//! * A row has the layout of the catalog at its commit. A table number has one layout, which only grows at
//!   its end.

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
