//! The databases we are compared with: one module each, the only place where they are named.

pub mod driver;
pub mod pgbench;
pub mod postgres;
pub mod wire;

/// One place that differs between two versions: where, the old value and the new one, JSON.
pub type Change = (String, Option<String>, Option<String>);

/// The name under which DuckDB's figures are published.
pub const DUCKDB: &str = "duckdb";

/// The name under which the figures of ZODB's FileStorage are published.
pub const FILE_STORAGE: &str = "filestorage";
/// The same of RelStorage over PostgreSQL.
pub const RELSTORAGE: &str = "relstorage";
/// The same of zodb-pgjsonb.
pub const PGJSONB: &str = "zodb-pgjsonb";
