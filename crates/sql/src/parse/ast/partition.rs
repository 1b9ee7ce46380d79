//! Partitions: the partition keys of a table, and the bounds of each partition.

use super::{IndexElement, SqlExpr};
use crate::error::At;

/// `PARTITION BY`
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionBy {
    /// `RANGE`, `LIST` or `HASH`.
    pub strategy: PartitionStrategy,
    /// The keys that divide the rows.
    pub keys: Vec<IndexElement>,
    /// Where the strategy stands.
    pub at: At,
}

/// How the partition of a row is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartitionStrategy {
    /// Each partition has what lies between two bounds.
    Range,
    /// Each partition has values that are listed.
    List,
    /// Each partition has the values whose hash leaves a remainder.
    Hash,
}

/// The rows that a partition has: `FOR VALUES` or `DEFAULT`.
#[derive(Clone, PartialEq, Debug)]
pub enum PartitionBound {
    /// The rows that no other partition has.
    Default,
    /// `IN (...)`
    List(Vec<SqlExpr>),
    /// `FROM (...) TO (...)`: what is at or above the first, and below the second.
    Range(Vec<RangeEnd>, Vec<RangeEnd>),
    /// `WITH (MODULUS ..., REMAINDER ...)`
    Hash {
        /// By what the hash is divided.
        modulus: i64,
        /// The remainder.
        remainder: i64,
    },
}

/// One value of an end of a range.
#[derive(Clone, PartialEq, Debug)]
pub enum RangeEnd {
    /// `MINVALUE`: below all values.
    Min,
    /// A value.
    Value(SqlExpr),
    /// `MAXVALUE`: above all values.
    Max,
}
