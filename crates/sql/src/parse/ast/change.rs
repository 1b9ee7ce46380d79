//! Changes of rows as they were written.

use super::{Expr, Name, Output, Query, Source, Step, TableRef, With};
use crate::error::At;

/// `INSERT`
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// The columns that are given values.
    pub columns: Vec<Target>,
    /// `OVERRIDING SYSTEM VALUE` is true, `OVERRIDING USER VALUE` false.
    pub overriding_system: Option<bool>,
    /// The rows; none for `DEFAULT VALUES`.
    pub source: Option<Query>,
    /// `ON CONFLICT`
    pub conflict: Option<Conflict>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// A column, or a part of one, that is given a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// The column.
    pub column: Name,
    /// The steps into it.
    pub steps: Vec<Step>,
}

/// `ON CONFLICT`
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// Which unique index decides.
    pub arbiter: Arbiter,
    /// `DO UPDATE`; none for `DO NOTHING`.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub at: At,
}

/// `DO UPDATE SET ... WHERE ...`
#[derive(Clone, PartialEq, Debug)]
pub struct ConflictUpdate {
    /// The assignments.
    pub set: Vec<Assignment>,
    /// `WHERE`
    pub filter: Option<Expr>,
}

/// Which unique index decides whether rows are in conflict.
#[derive(Clone, PartialEq, Debug)]
pub enum Arbiter {
    /// Any.
    Any,
    /// `ON CONSTRAINT name`
    Constraint(Name),
    /// The one over these expressions, with this predicate.
    Index {
        /// The expressions.
        keys: Vec<Expr>,
        /// `WHERE`
        filter: Option<Expr>,
        /// Where it stands.
        at: At,
    },
}

/// An item of `SET`.
#[derive(Clone, PartialEq, Debug)]
pub enum Assignment {
    /// `column = value`
    One(Target, Expr),
    /// `(columns) = row`
    Many(Vec<Target>, Expr),
}

/// `UPDATE`
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `FOR PORTION OF`
    pub portion: Option<Portion>,
    /// `SET`
    pub set: Vec<Assignment>,
    /// `FROM`
    pub from: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// `FOR PORTION OF column ...`: only this part of the time of each row is changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Portion {
    /// The column, whose values are ranges or lists of them.
    pub column: Name,
    /// The part.
    pub part: Part,
}

/// The part of `FOR PORTION OF`.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// `FROM a TO b`; `None` for `UNBOUNDED`.
    Between(Option<Expr>, Option<Expr>),
    /// `(range)`
    Range(Expr),
}

/// `DELETE`
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `FOR PORTION OF`
    pub portion: Option<Portion>,
    /// `USING`
    pub using: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// `MERGE`
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// `WITH`
    pub with: Option<With>,
    /// The table that is changed.
    pub table: TableRef,
    /// The rows that it is compared with.
    pub source: Source,
    /// `ON`
    pub on: Expr,
    /// The `WHEN` clauses.
    pub clauses: Vec<MergeClause>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// A `WHEN` clause of `MERGE`.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeClause {
    /// Which rows it is about.
    pub when: MergeWhen,
    /// `AND`
    pub filter: Option<Expr>,
    /// The action.
    pub action: MergeAction,
    /// Where it stands.
    pub at: At,
}

/// Which rows a `WHEN` clause is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeWhen {
    /// Rows of both sides.
    Matched,
    /// Rows of the table without a partner.
    NotMatchedBySource,
    /// Rows of the source without a partner.
    NotMatchedByTarget,
}

/// The action of a `WHEN` clause.
#[derive(Clone, PartialEq, Debug)]
pub enum MergeAction {
    /// `DO NOTHING`
    Nothing,
    /// `DELETE`
    Delete,
    /// `UPDATE SET ...`
    Update(Vec<Assignment>),
    /// `INSERT (...) VALUES (...)`
    Insert {
        /// The columns.
        columns: Vec<Target>,
        /// `OVERRIDING SYSTEM VALUE` is true, `OVERRIDING USER VALUE` false.
        overriding_system: Option<bool>,
        /// The values; none for `DEFAULT VALUES`.
        values: Option<Vec<Expr>>,
    },
}
