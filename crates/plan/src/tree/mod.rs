//! Plans as they are run: relational operators with the way in which each is computed.
//!
//! ```text
//!   Plan ── root      Node ── kind, types of the columns of its rows
//!        ── subplans  the subqueries of expressions, by number
//!        ── slots     how many values are kept for rows further in
//! ```
//!
//! Expressions are those of [`sql::plan`]; a column is one of the operator's input (a join's: the
//! left row, then the right one). There are no columns of rows further out and no subqueries in
//! them: [`lower`](crate::lower) has put [`ExprKind::Slot`](sql::plan::ExprKind::Slot) and
//! [`ExprKind::Subplan`](sql::plan::ExprKind::Subplan) in their place.

mod constants;
mod reads;
mod scan;
mod trace;
mod walk;

pub use constants::{Constant, with_known_once};
pub use reads::{Reads, slots_of};
pub use scan::{
    Append, AppendPart, ConditionalPath, End, Equal, IndexColumns, Level, Path, Scan, ScanKey,
};
pub use walk::{ExprScope, each_part, is_volatile};

use sql::At;
use sql::plan::{
    Action, AggregateCall, CheckedBy, Column, Expr, ExprKind, Rest, RowLock, SetOp, SortKey,
    WindowCall, Written,
};
use std::sync::Arc;

use types::{Oid, Type};

use crate::schema::TableFacts;

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operator that gives the rows.
    pub root: Node,
    /// The subqueries in expressions, by number.
    pub subplans: Vec<Subplan>,
    /// How many slots there are.
    pub slots: u32,
    /// How many tables of `WITH` there are.
    pub tables: u32,
    /// The columns of the rows.
    pub columns: Vec<Column>,
    /// The constants that are computed when the plan starts, whatever the rows.
    pub constants: Vec<Constant<Expr>>,
    /// True if it joins many rows, so that it might be another plan if the values of its parameters were known.
    pub wants_values: bool,
}

/// An operator and the types of the columns of its rows.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator.
    pub kind: Kind,
    /// The types of the columns.
    pub types: Vec<Type>,
}

/// The operators. They mean what those of [`sql::plan::Node`] mean.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Rows of expressions that see no row.
    Values(Vec<Vec<Expr>>),
    /// The rows of a table, or those of a range of a key.
    Scan(Box<Scan>),
    /// The rows of a partitioned table: those of its partitions, one after the other.
    Append(Box<Append>),
    /// Functions as a table.
    Functions {
        /// The functions, and how many columns each has.
        functions: Vec<(Expr, usize)>,
        /// True if the last column numbers the rows.
        ordinality: bool,
        /// The names of the columns.
        columns: Arc<[String]>,
    },
    /// The rows of which the condition is true.
    Filter {
        /// Where the rows come from.
        input: Box<Node>,
        /// The condition.
        condition: Expr,
    },
    /// For each row these expressions.
    Project {
        /// Where the rows come from.
        input: Box<Node>,
        /// One for each column.
        exprs: Vec<Expr>,
    },
    /// For each row as many as the longest of these sets has values.
    ProjectSet {
        /// Where the rows come from.
        input: Box<Node>,
        /// Calls of functions that give sets.
        sets: Vec<Expr>,
    },
    /// Pairs of rows.
    Join(Box<Join>),
    /// One row for each group.
    Aggregate(Box<Aggregate>),
    /// Each row, and after it the values of window functions.
    Window {
        /// Where the rows come from.
        input: Box<Node>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// The rows without repetitions.
    Distinct(Box<Node>),
    /// The rows as they are. Conditions that could reveal rows stay above it. A finished plan has none.
    Barrier(Box<Node>),
    /// The first row of each run of rows with equal keys.
    DistinctOn {
        /// Where the rows come from.
        input: Box<Node>,
        /// The keys.
        keys: Vec<SortKey>,
    },
    /// The rows in order.
    Sort {
        /// Where the rows come from.
        input: Box<Node>,
        /// By what.
        keys: Vec<SortKey>,
        /// True if the limit above asks only for the first rows.
        top: bool,
    },
    /// Some of the rows.
    Limit {
        /// Where the rows come from.
        input: Box<Node>,
        /// How many.
        limit: Option<Expr>,
        /// How many are left out before.
        offset: Option<Expr>,
        /// Rows equal to the last in these are kept.
        ties: Option<Vec<SortKey>>,
    },
    /// The rows of two plans.
    SetOperation {
        /// The set operation.
        op: SetOp,
        /// True if repetitions count.
        all: bool,
        /// The left side.
        left: Box<Node>,
        /// The right side.
        right: Box<Node>,
    },
    /// Tables for the input.
    With {
        /// The tables.
        tables: Vec<Table>,
        /// The node that reads them.
        input: Box<Node>,
    },
    /// The rows of a table of a [`Kind::With`] around.
    CteScan {
        /// Its number.
        table: u32,
        /// Its name.
        name: String,
        /// The names of its columns, where they are known.
        columns: Arc<[String]>,
    },
    /// One row in the place of a scan, to test whether the row still fits.
    Given,
    /// The rows that the step before of a recursive table has found.
    WorkTable {
        /// Its number.
        table: u32,
        /// Its name.
        name: String,
        /// The names of its columns, where they are known.
        columns: Arc<[String]>,
    },
    /// Rows of tables are changed.
    Modify(Box<Modify>),
    /// The rows, after those of the tables they came from have been locked.
    LockRows {
        /// Where the rows come from.
        input: Box<Node>,
        /// The locks to take.
        locks: Vec<RowLock>,
    },
}

/// A join and how it is computed.
#[derive(Clone, Debug)]
pub struct Join {
    /// Which rows come out.
    pub kind: JoinKind,
    /// The left side.
    pub left: Node,
    /// The right side.
    pub right: Node,
    /// The equalities that rows are found by in a hash table: a value of the left row, one of the
    /// right row (whose columns are counted from 0). Empty for nested loops.
    pub keys: Vec<(Expr, Expr)>,
    /// True if the left side is put into the hash table.
    pub build_left: bool,
    /// The further condition.
    pub condition: Option<Expr>,
    /// The slots that the right side needs, over the left row: it is computed for each left row.
    /// None if the right side is the same for all.
    pub lateral: Option<Vec<(Expr, u32)>>,
    /// True if it is computed on columns.
    pub in_batches: bool,
}

/// Which rows of a join come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a partner.
    Left,
    /// Pairs, and right rows without a partner.
    Right,
    /// Pairs, and rows of both sides without a partner.
    Full,
    /// Left rows that have a partner.
    Semi,
    /// Left rows that have none.
    Anti,
}

impl JoinKind {
    /// True if the columns of the right side come out.
    pub fn shows_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti)
    }

    /// True if left rows without a partner come out, with NULLs on the right.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full)
    }

    /// True if right rows without a partner come out, with NULLs on the left.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }
}

/// Groups and what is computed of them.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where the rows come from.
    pub input: Node,
    /// The keys.
    pub keys: Vec<Expr>,
    /// Which keys each grouping set has.
    pub sets: Vec<Vec<usize>>,
    /// The calls.
    pub calls: Vec<AggregateCall>,
    /// Which keys each mask is about.
    pub masks: Vec<Vec<usize>>,
    /// Present if the input comes in blocks of columns and all of this is computed over these ([`batch::Aggregation`]):
    /// the keys that identify groups. The other keys depend on them.
    pub batches: Option<Vec<usize>>,
}

/// A table of a [`Kind::With`].
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// True if it must be computed once, false if it must not be.
    pub materialized: Option<bool>,
    /// The definition of the table.
    pub body: Body,
    /// True if it is read to its end before anything else is done.
    pub at_start: bool,
}

/// The definition of a table of a [`Kind::With`].
#[expect(
    clippy::large_enum_variant,
    reason = "there are few of them, and they stay where they are"
)]
#[derive(Clone, Debug)]
pub enum Body {
    /// A plan.
    Plan(Node),
    /// Rows to start with, and those that follow from them.
    Recursive {
        /// The rows to start with.
        start: Node,
        /// The rows that follow.
        step: Node,
        /// True if repetitions count.
        all: bool,
        /// The columns whose texts are equal by the classes of these locales, by position.
        classes: Vec<(usize, Arc<str>)>,
    },
}

/// A change of rows of one table.
#[derive(Clone, Debug)]
pub struct Modify {
    /// The table.
    pub relation: Oid,
    /// Its name.
    pub name: String,
    /// The rows that say what to change.
    pub input: Node,
    /// The action.
    pub action: Action,
    /// `RETURNING`, over the table's row and the input's.
    pub returning: Option<Vec<Expr>>,
    /// Where `merge_action()` is kept.
    pub merged: Option<u32>,
    /// How many columns the table's row has.
    pub width: usize,
    /// The facts about the table; every lowered plan has them.
    pub facts: Option<Arc<TableFacts>>,
    /// The conditions that each row must meet.
    pub checks: Vec<Check>,
    /// The rest that `FOR PORTION OF` leaves of each row.
    pub rest: Option<Rest>,
}

/// A condition that each written row must meet.
#[derive(Clone, Debug)]
pub struct Check {
    /// The view or policy that has the condition.
    pub by: CheckedBy,
    /// The rows that are asked; `None` for all that are written.
    pub of: Option<Written>,
    /// The condition over the row.
    pub expr: Expr,
}

/// A subquery of an expression.
#[derive(Clone, Debug)]
pub struct Subplan {
    /// The operator that gives its rows.
    pub node: Node,
    /// How they are used.
    pub link: Link,
    /// The slots that its arguments go to.
    pub args: Vec<u32>,
    /// The same subquery, computed for all values of its arguments at once, if there is a way to do so.
    pub grouped: Option<Box<Grouped>>,
    /// True if results may be kept beyond the row that they were made for.
    pub is_kept: bool,
}

/// A scalar subquery for all values that it may be asked for.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Rows of the keys and, behind them, the value. It sees none of the subquery's arguments.
    pub node: Node,
    /// The row of the subquery over no rows; `None` if its value is NULL.
    pub empty: Option<Node>,
    /// As `node`, but only for the keys in this work table. Present if the subquery reads whole tables even for one
    /// value.
    pub some: Option<(Node, u32)>,
    /// For each key, the expression that it must equal. These expressions see only slots.
    pub asked: Vec<Expr>,
    /// About how many rows are read for it.
    pub cost_rows: u64,
}

/// How the rows of a subquery are used.
#[derive(Clone, Debug)]
pub enum Link {
    /// The one value of at most one row.
    Scalar,
    /// The one row of several columns, as a record.
    Row,
    /// Whether there is one.
    Exists,
    /// All values, as an array of this type.
    Array(Type),
    /// Whether the test is true for any row.
    Any(Test),
    /// Whether it is true for all rows.
    All(Test),
}

/// A test against the rows of a subquery.
#[derive(Clone, Debug)]
pub struct Test {
    /// The values on the left, which see slots only, and the slots that they are put into.
    pub left: Vec<(Expr, u32)>,
    /// The condition over a row of the subquery.
    pub condition: Expr,
    /// The values of the row, if the condition is equality of values that can be hashed.
    pub keys: Option<Vec<Expr>>,
}

impl Node {
    /// How many columns the rows have.
    pub fn width(&self) -> usize {
        self.types.len()
    }

    /// The columns of the rows, as expressions over them.
    pub fn columns(&self) -> Vec<Expr> {
        let column = |(at, ty): (usize, &Type)| {
            Expr::of(ExprKind::Column { levels_up: 0, index: at as u32 }, *ty, At::NONE)
        };
        self.types.iter().enumerate().map(column).collect()
    }

    /// The operator whose columns the client sees: the one below `WITH`, if there is a `WITH`.
    pub fn main(&self) -> &Node {
        match &self.kind {
            Kind::With { input, .. } => input.main(),
            _ => self,
        }
    }

    /// Calls `f` for each input, from left to right.
    pub fn inputs(&mut self, f: &mut dyn FnMut(&mut Node)) {
        match &mut self.kind {
            Kind::Values(_)
            | Kind::Scan(_)
            | Kind::Functions { .. }
            | Kind::CteScan { .. }
            | Kind::Given
            | Kind::WorkTable { .. } => {}
            Kind::Filter { input, .. }
            | Kind::Project { input, .. }
            | Kind::ProjectSet { input, .. }
            | Kind::Window { input, .. }
            | Kind::Distinct(input)
            | Kind::Barrier(input)
            | Kind::DistinctOn { input, .. }
            | Kind::Sort { input, .. }
            | Kind::Limit { input, .. }
            | Kind::LockRows { input, .. } => f(input),
            Kind::Join(join) => {
                f(&mut join.left);
                f(&mut join.right);
            }
            Kind::SetOperation { left, right, .. } => {
                f(left);
                f(right);
            }
            Kind::Append(append) => append.parts.iter_mut().for_each(|part| f(&mut part.node)),
            Kind::Aggregate(aggregate) => f(&mut aggregate.input),
            Kind::With { tables, input } => {
                for table in tables {
                    match &mut table.body {
                        Body::Plan(node) => f(node),
                        Body::Recursive { start, step, .. } => {
                            f(start);
                            f(step);
                        }
                    }
                }
                f(input);
            }
            Kind::Modify(modify) => f(&mut modify.input),
        }
    }
}
