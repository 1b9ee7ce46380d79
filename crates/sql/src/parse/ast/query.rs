//! Queries as they were written.

use super::{Expr, Name, OrderItem, Path, Statement, TypeName, Window};
use crate::error::At;

/// A query: a body with what goes around it.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// `WITH`
    pub with: Option<With>,
    /// The body.
    pub body: Body,
    /// `ORDER BY`
    pub order: Vec<OrderItem>,
    /// `LIMIT` or `FETCH FIRST`
    pub limit: Option<Expr>,
    /// True for `WITH TIES`.
    pub with_ties: bool,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// `FOR UPDATE` and the like.
    pub locks: Vec<Lock>,
    /// Where it stands.
    pub at: At,
}

impl Query {
    /// True if a table of its `WITH` changes rows.
    pub fn changes_rows(&self) -> bool {
        let tables = self.with.iter().flat_map(|with| &with.tables);
        tables.into_iter().any(|table| !matches!(*table.statement, Statement::Query(_)))
    }
}

/// The body of a query.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// `SELECT ...`
    Select(Box<Select>),
    /// `VALUES ...`: rows of expressions.
    Values(Vec<Vec<Expr>>),
    /// `UNION`, `INTERSECT`, `EXCEPT`
    Set {
        /// Which.
        op: SetOp,
        /// True for `ALL`.
        all: bool,
        /// The left input.
        left: Box<Query>,
        /// The right input.
        right: Box<Query>,
    },
}

/// How the rows of two queries are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOp {
    /// `UNION`
    Union,
    /// `INTERSECT`
    Intersect,
    /// `EXCEPT`
    Except,
}

/// `SELECT`, without what may follow a set operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// `DISTINCT`
    pub distinct: Distinct,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// `INTO`: the table, and whether it is temporary.
    pub into: Option<(Path, bool)>,
    /// `FROM`
    pub from: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group: Vec<Expr>,
    /// True for `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// `WINDOW`
    pub windows: Vec<(Name, Window)>,
}

impl Select {
    /// A query without any clause, of these outputs.
    pub fn of(outputs: Vec<Output>) -> Select {
        Select {
            distinct: Distinct::No,
            outputs,
            into: None,
            from: Vec::new(),
            filter: None,
            group: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        }
    }
}

/// The rows of a `SELECT` that count as distinct.
#[derive(Clone, PartialEq, Debug)]
pub enum Distinct {
    /// All rows are kept.
    No,
    /// `DISTINCT`
    Yes,
    /// `DISTINCT ON (...)`
    On(Vec<Expr>),
}

/// An output of `SELECT` or `RETURNING`.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The value.
    pub expr: Expr,
    /// The name given by `AS`.
    pub alias: Option<Name>,
}

/// `WITH`
#[derive(Clone, PartialEq, Debug)]
pub struct With {
    /// True for `RECURSIVE`.
    pub recursive: bool,
    /// The tables.
    pub tables: Vec<Cte>,
    /// Where it stands.
    pub at: At,
}

/// A common table expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Cte {
    /// Its name.
    pub name: Name,
    /// The names of its columns.
    pub columns: Vec<Name>,
    /// `MATERIALIZED` is true, `NOT MATERIALIZED` false.
    pub materialized: Option<bool>,
    /// The statement of its rows.
    pub statement: Box<Statement>,
}

/// `FOR UPDATE`, with the tables that it is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Lock {
    /// How strong.
    pub strength: LockStrength,
    /// `OF`; empty for all tables.
    pub of: Vec<Path>,
    /// The action where a row is locked by another transaction.
    pub wait: LockWait,
    /// Where it stands.
    pub at: At,
}

/// How strong a row lock is, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockStrength {
    /// `FOR KEY SHARE`
    KeyShare,
    /// `FOR SHARE`
    Share,
    /// `FOR NO KEY UPDATE`
    NoKeyUpdate,
    /// `FOR UPDATE`
    Update,
}

/// The action where a row is locked by another transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockWait {
    /// Wait.
    Wait,
    /// Leave the row out.
    SkipLocked,
    /// Fail.
    NoWait,
}

/// An item of `FROM`.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// A table, view or common table expression.
    Table(Box<TableRef>),
    /// A subquery.
    Subquery {
        /// The query.
        query: Box<Query>,
        /// True for `LATERAL`.
        lateral: bool,
        /// Its name.
        alias: Option<Alias>,
        /// Where it stands.
        at: At,
    },
    /// Functions as tables.
    Functions {
        /// The calls; more than one for `ROWS FROM`.
        calls: Vec<(Expr, Vec<ColumnDef>)>,
        /// True for `WITH ORDINALITY`.
        ordinality: bool,
        /// True for `LATERAL`.
        lateral: bool,
        /// Its name.
        alias: Option<Alias>,
        /// The columns of `AS (name type, ...)`.
        columns: Vec<ColumnDef>,
        /// Where it stands.
        at: At,
    },
    /// A join.
    Join(Box<Join>),
}

/// A table by name.
#[derive(Clone, PartialEq, Debug)]
pub struct TableRef {
    /// The name.
    pub name: Path,
    /// True for `ONLY`.
    pub only: bool,
    /// The name that it goes by.
    pub alias: Option<Alias>,
    /// Which of its past is meant.
    pub moment: Option<Moment>,
    /// `TABLESAMPLE`
    pub sample: Option<Sample>,
}

/// `TABLESAMPLE method (arguments) [REPEATABLE (seed)]`
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The method.
    pub method: Path,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// The seed.
    pub seed: Option<Expr>,
}

/// Which states of a table are read.
#[derive(Clone, PartialEq, Debug)]
pub enum Moment {
    /// The state at a time: `FOR SYSTEM_TIME AS OF e`, `AS OF SYSTEM TIME e`, `AT (TIMESTAMP => e)`.
    AsOf(Expr),
    /// The state after a commit: `FOR SYSTEM_VERSION AS OF n`, `AT (VERSION => n)`.
    AtVersion(Expr),
    /// Every version of a row that was current at some time in `[from, to)`.
    FromTo(Expr, Expr),
    /// Every version that was current at some time in `[from, to]`.
    Between(Expr, Expr),
    /// Every version that began at or after `from` and ended at or before `to`.
    ContainedIn(Expr, Expr),
    /// Every version.
    All,
}

/// The name of a source and of its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// The names of its first columns.
    pub columns: Vec<Name>,
}

/// A column of a column definition list.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// The name.
    pub name: Name,
    /// The type.
    pub ty: TypeName,
}

/// A join of two sources.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// Which rows are kept that have no partner.
    pub kind: JoinKind,
    /// The left side.
    pub left: Source,
    /// The right side.
    pub right: Source,
    /// Which rows are partners.
    pub condition: JoinCondition,
    /// The name of the whole join.
    pub alias: Option<Alias>,
    /// Where it stands: its first word behind the left side.
    pub at: At,
    /// Where the right side ends, and where its condition does.
    pub ends: (usize, usize),
}

/// Which rows a join keeps that have no partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// None.
    Inner,
    /// Those of the left side.
    Left,
    /// Those of the right side.
    Right,
    /// Those of both sides.
    Full,
}

/// Which rows of a join are partners.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinCondition {
    /// All: `CROSS JOIN`.
    None,
    /// `ON`
    On(Expr),
    /// `ON`, in a text that the catalog keeps, where `USING` or `NATURAL` was written.
    WasUsing(Expr),
    /// `USING (...) [AS alias]`
    Using(Vec<Name>, Option<Name>),
    /// `NATURAL`
    Natural,
}
