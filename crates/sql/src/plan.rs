//! The bound plan: the meaning of a statement, with every name, type and function known.
//!
//! ```text
//!   select upper(name), count(*) from person where age > $1 group by name
//!
//!   Project [upper(#0), #1]              columns  upper text, count int8
//!     Aggregate groups [#1] calls [count(*)]
//!       Filter #2 > $1
//!         Scan person                    columns  id int4, name text, age int4, ...
//! ```
//!
//! An operator's expressions see the row of its input (a join's: the left row, then the right one).
//! `#i` is a column of that row. `^n#i` is a column of an outer row, `n` levels up: a subquery in an
//! expression, or a lateral side of a join, is computed for one row of the operator that contains it, and
//! that row is one level up.
//!
//! Nothing here is optimised. The order of the operators is that of the clauses.

mod expr;
mod modify;
mod row_check;

use std::sync::Arc;

use types::{Modifier, Oid, Type};

pub use crate::parse::ast::{
    Exclude, FrameUnit, JoinKind, LockStrength, LockWait, MergeWhen, SetOp,
};

pub use expr::{Call, Cast, Expr, ExprKind, Json, JsonSearch, Link, Subquery, Subscript, Test};
pub use modify::{
    Action, Arbiter, Conflict, ConflictUpdate, MergeAction, MergeClause, Modify, Rest,
};
pub use row_check::{CheckedBy, RowCheck, Written};

/// A column of the rows of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The column of a table whose values it shows unchanged.
    pub origin: Option<Origin>,
    /// The number of the column in the binder; it has no meaning outside of the binder.
    pub(crate) id: u32,
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The table.
    pub relation: Oid,
    /// The number of the column there.
    pub attnum: i16,
}

/// An operator and the columns of its rows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operator.
    pub node: Node,
    /// The columns of the rows that come out.
    pub columns: Vec<Column>,
}

/// The relational operators.
#[derive(Clone, Debug)]
pub enum Node {
    /// Rows of expressions that see no row. One row of no columns is where a `SELECT` without
    /// `FROM` starts.
    Values(Vec<Vec<Expr>>),
    /// The rows of a table.
    Scan(Box<Scan>),
    /// Functions as a table: their rows side by side, the shorter ones filled with NULL.
    FunctionScan {
        /// The functions, and how many columns each has.
        functions: Vec<(Expr, usize)>,
        /// True if the last column numbers the rows from 1.
        ordinality: bool,
    },
    /// The rows of which the condition is true.
    Filter {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The condition.
        condition: Expr,
    },
    /// The rows of the input, behind a security barrier: a view with `security_barrier`, or policies of row-level
    /// security. A condition may move below it only if it cannot reveal rows that are filtered out there.
    Barrier(Box<Plan>),
    /// For each row one of these expressions.
    Project {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The expressions, one for each column.
        exprs: Vec<Expr>,
    },
    /// For each row so many rows as the longest of these sets has values: the row, then the values.
    ProjectSet {
        /// Where the rows come from.
        input: Box<Plan>,
        /// Calls of functions that give sets.
        sets: Vec<Expr>,
    },
    /// The pairs of rows of which the condition is true.
    Join {
        /// Which rows are kept without a partner.
        kind: JoinKind,
        /// The left side.
        left: Box<Plan>,
        /// The right side.
        right: Box<Plan>,
        /// The condition; none if all are partners.
        condition: Option<Expr>,
        /// True if the right side is computed for each row of the left one.
        lateral: bool,
    },
    /// One row for each group: the group's keys, the aggregates, then `GROUPING` masks.
    Aggregate(Aggregate),
    /// Each row, and after it the values of window functions.
    Window {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// The rows without repetitions.
    Distinct(Box<Plan>),
    /// The first row of each run of rows with equal keys.
    DistinctOn {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The keys.
        keys: Vec<SortKey>,
    },
    /// The rows in order.
    Sort {
        /// Where the rows come from.
        input: Box<Plan>,
        /// By what.
        keys: Vec<SortKey>,
    },
    /// Some of the rows.
    Limit {
        /// Where the rows come from.
        input: Box<Plan>,
        /// How many, an `int8`; NULL and none for all.
        limit: Option<Expr>,
        /// How many are left out before, an `int8`.
        offset: Option<Expr>,
        /// The keys of `WITH TIES`: rows equal to the last in these are kept.
        ties: Option<Vec<SortKey>>,
    },
    /// The rows of two plans with columns of the same types.
    SetOperation {
        /// The set operation.
        op: SetOp,
        /// True if repetitions count.
        all: bool,
        /// The left side.
        left: Box<Plan>,
        /// The right side.
        right: Box<Plan>,
    },
    /// Tables for the input, which may read each of them any number of times.
    With {
        /// The tables, in an order in which each sees those before it.
        tables: Vec<Cte>,
        /// The plan that reads them.
        input: Box<Plan>,
    },
    /// The rows of a table of a [`Node::With`] around.
    CteScan {
        /// The number of the table.
        table: u32,
        /// Its name.
        name: String,
    },
    /// In the recursive part of a table: the rows that the step before has found.
    WorkTable {
        /// The number of the table.
        table: u32,
        /// Its name.
        name: String,
    },
    /// Rows of tables are changed; the rows are those of `RETURNING`.
    Modify(Box<Modify>),
    /// The rows, after those of the tables they came from have been locked.
    LockRows {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The locks to take.
        locks: Vec<RowLock>,
    },
}

/// A table and its versions that are read.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub relation: Oid,
    /// Its name, for explanations.
    pub name: String,
    /// The name that the statement gives to it.
    pub alias: String,
    /// True for a table of `pg_catalog` or `information_schema` that is computed.
    pub computed: bool,
    /// True for `ONLY`: of a partitioned table no rows.
    pub only: bool,
    /// The number of each column in the table. Those below 0 are system columns.
    pub attnums: Vec<i16>,
    /// The versions that are read.
    pub moment: Moment,
    /// `TABLESAMPLE`
    pub sample: Option<Sample>,
}

/// System columns: the facts about a row that are not stored in it. Their numbers are below 0, as
/// PostgreSQL's are, and those that only versioned tables have are below those of PostgreSQL.
pub mod system {
    /// `ctid`, the number of a row without a primary key.
    pub const ROW: i16 = -1;
    /// `xmin`, the stamp of the commit that the version began with.
    pub const STAMP: i16 = -2;
    /// `xmax`, the stamp of the commit that ended it; 0 for none.
    pub const END_STAMP: i16 = -4;
    /// `tableoid`, the table that the row is in.
    pub const TABLE: i16 = -6;
    /// The key by which the table finds the row again, for changes and locks: bytes.
    pub const KEY: i16 = -20;
    /// The key, and before it the OID of the table, big end first: how a partitioned table finds a row again.
    pub const PLACED_KEY: i16 = -24;
    /// `_system_from`, when the version began.
    pub const FROM: i16 = -21;
    /// `_system_to`, when it ended.
    pub const TO: i16 = -22;
    /// `_version`, the commit that it began with.
    pub const VERSION: i16 = -23;
    /// The text of a column of documents: this, less the number of the column. No statement can name it.
    pub const TEXT_OF: i16 = -1_000;
}

/// Which states of a table are read. The expressions see no row; times are `timestamptz`.
#[derive(Clone, Debug)]
pub enum Moment {
    /// The one that the transaction sees.
    Now,
    /// The one at a time.
    AsOf(Expr),
    /// The one after a commit, an `int8`.
    AtVersion(Expr),
    /// Versions that were current at some time in `[from, to)`.
    FromTo(Expr, Expr),
    /// Versions that were current at some time in `[from, to]`.
    Between(Expr, Expr),
    /// Versions that began and ended in `[from, to]`.
    ContainedIn(Expr, Expr),
    /// All versions.
    All,
    /// All versions, and the rows that the transaction itself has written; their keys have the number
    /// of the table that they lie in before them: what `ERASE` looks at.
    Ever,
}

/// A sample of the rows of a table.
#[derive(Clone, Debug)]
pub struct Sample {
    /// True for `SYSTEM`, which takes whole pages; false for `BERNOULLI`, which takes rows.
    pub system: bool,
    /// How many percent, a `float4`.
    pub percent: Expr,
    /// Where the random numbers begin, a `float8`.
    pub seed: Option<Expr>,
}

/// A lock that is taken on rows of a table.
#[derive(Clone, Debug)]
pub struct RowLock {
    /// The table.
    pub relation: Oid,
    /// The column of the row that holds the key.
    pub key: usize,
    /// How strong.
    pub strength: LockStrength,
    /// The action if another transaction holds the lock.
    pub wait: LockWait,
}

/// Groups and what is computed of them.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where the rows come from.
    pub input: Box<Plan>,
    /// The keys, of all grouping sets.
    pub keys: Vec<Expr>,
    /// Which keys each grouping set has; one set with all of them for a plain `GROUP BY`. In the
    /// rows of a set the other keys are NULL.
    pub sets: Vec<Vec<usize>>,
    /// The calls.
    pub calls: Vec<AggregateCall>,
    /// `GROUPING(...)`: which keys each mask is about, the highest bit first.
    pub masks: Vec<Vec<usize>>,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function.
    pub function: Oid,
    /// Its name.
    pub name: &'static str,
    /// The arguments that are taken from each row.
    pub args: Vec<Expr>,
    /// The arguments of an ordered-set aggregate that are taken once, over the keys of the group.
    pub direct: Vec<Expr>,
    /// True if repetitions are left out.
    pub distinct: bool,
    /// In which order the rows are taken; for an ordered-set aggregate, that of the set.
    pub order: Vec<SortKey>,
    /// Which rows are taken.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub ty: Type,
    /// The scope whose groups it is computed of, by the binder's number.
    pub(crate) scope: u32,
}

/// A call of a window function or of an aggregate over a window.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The function.
    pub function: Oid,
    /// Its name.
    pub name: &'static str,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Which rows an aggregate takes.
    pub filter: Option<Expr>,
    /// The rows that are looked at together have the same values of these.
    pub partition: Vec<Expr>,
    /// In which order.
    pub order: Vec<SortKey>,
    /// Which of them, around each row.
    pub frame: Frame,
    /// The type of the result.
    pub ty: Type,
}

/// The frame of a window.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The unit of the bounds.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// Which rows are left out.
    pub exclude: Exclude,
}

/// A bound of a frame. Offsets see no row; those of rows and groups are `int8`.
#[derive(Clone, Debug)]
pub enum Bound {
    /// The first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Expr),
    /// The current row.
    CurrentRow,
    /// So far after it.
    Following(Expr),
    /// The last row.
    UnboundedFollowing,
}

/// A key of an order.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// True if the greatest comes first.
    pub descending: bool,
    /// True if NULLs come first.
    pub nulls_first: bool,
}

/// A table of a [`Node::With`].
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its number.
    pub table: u32,
    /// Its name.
    pub name: String,
    /// True if it must be computed once, false if it must not be; none if that is open.
    pub materialized: Option<bool>,
    /// The definition of the table.
    pub body: CteBody,
}

/// The definition of a table of a [`Node::With`].
#[derive(Clone, Debug)]
pub enum CteBody {
    /// A plan, also one that changes rows.
    Plan(Plan),
    /// The rows of `start`, and those of `step` as long as it finds any: each time `step` sees, as
    /// its work table, what the time before found.
    Recursive {
        /// The rows to start with.
        start: Box<Plan>,
        /// The rows that follow from those.
        step: Box<Plan>,
        /// True for `UNION ALL`; else rows that were found before are left out.
        all: bool,
        /// The columns whose texts are equal by the classes of these locales, by position.
        classes: Vec<(usize, Arc<str>)>,
    },
}

impl Plan {
    /// The row of no columns.
    pub fn one_row() -> Self {
        Plan { node: Node::Values(vec![Vec::new()]), columns: Vec::new() }
    }
}
