//! The outline of a bound query: its clauses as they were written, each with bound expressions.
//!
//! ```text
//!   select a.id, upper(name) as u from a where id > 1
//!
//!   plan      Project [..]            what is computed, clause after clause
//!               Filter ...
//!                 Scan a
//!   outline   Select                  what was written, with types, casts and operators
//!               targets  #0 id, upper(#1) u
//!               from     a (#0 id, #1 name)
//!               filter   #0 > 1
//! ```
//!
//! A plan no longer has aliases, windows or grouping sets, and `deparse` must print them. So the binder
//! notes an outline while it binds a definition. Expressions refer to columns by the binder's numbers: each
//! item of `FROM` says which of them it has.

use std::collections::HashMap;

use types::{Modifier, Oid, Type};

use crate::error::At;
use crate::parse::ast;
use crate::plan::{Expr, Frame, Moment, Sample, SetOp, SortKey};

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The tables of `WITH`.
    pub with: Vec<Cte>,
    /// True for `WITH RECURSIVE`.
    pub recursive: bool,
    /// The body.
    pub body: Body,
    /// `ORDER BY`
    pub order: Vec<Key>,
    /// `LIMIT`
    pub limit: Option<Expr>,
    /// True for `WITH TIES`.
    pub with_ties: bool,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// `FOR UPDATE` and the like.
    pub locks: Vec<ast::Lock>,
}

impl Query {
    /// True if it is nothing but a set operation, without clauses of its own.
    pub fn is_bare_set(&self) -> bool {
        matches!(self.body, Body::Set { .. }) && !self.has_clauses()
    }

    /// True if something stands around the body.
    pub fn has_clauses(&self) -> bool {
        !self.with.is_empty()
            || !self.order.is_empty()
            || self.limit.is_some()
            || self.offset.is_some()
            || !self.locks.is_empty()
    }
}

/// The body of a query.
#[derive(Clone, Debug)]
pub enum Body {
    /// `SELECT`
    Select(Box<Select>),
    /// `VALUES`
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// The columns that they make.
        columns: Vec<ColumnName>,
    },
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

/// A table of `WITH`.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// The names that were written for its columns.
    pub columns: Vec<String>,
    /// `MATERIALIZED` is true, `NOT MATERIALIZED` false.
    pub materialized: Option<bool>,
    /// Its query.
    pub query: Query,
}

/// A `SELECT`.
#[derive(Clone, Debug)]
pub struct Select {
    /// `DISTINCT`
    pub distinct: Distinct,
    /// The outputs.
    pub targets: Vec<Target>,
    /// `FROM`
    pub from: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group: Vec<Group>,
    /// True for `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// `WINDOW`
    pub windows: Vec<(String, Window)>,
}

/// The rows that count as distinct.
#[derive(Clone, Debug)]
pub enum Distinct {
    /// All are kept.
    No,
    /// `DISTINCT`
    Yes,
    /// `DISTINCT ON`
    On(Vec<Expr>),
}

/// An output and its name.
#[derive(Clone, Debug)]
pub struct Target {
    /// The value.
    pub expr: Expr,
    /// The name.
    pub name: String,
}

/// A key of an order.
#[derive(Clone, Debug)]
pub struct Key {
    /// The value.
    pub key: SortKey,
    /// The number of the output that it is, from 1.
    pub place: usize,
}

/// An item of `GROUP BY`.
#[derive(Clone, Debug)]
pub enum Group {
    /// Keys: one, or several in parentheses.
    Keys(Vec<Expr>),
    /// `()`
    Empty,
    /// `ROLLUP`
    Rollup(Vec<Group>),
    /// `CUBE`
    Cube(Vec<Group>),
    /// `GROUPING SETS`
    Sets(Vec<Group>),
}

/// A window: what was written of it, and what that means.
#[derive(Clone, Debug)]
pub struct Window {
    /// The clause as it was written.
    pub written: ast::Window,
    /// `PARTITION BY`, what it inherits included.
    pub partition: Vec<Expr>,
    /// `ORDER BY`, likewise.
    pub order: Vec<SortKey>,
    /// The frame.
    pub frame: Frame,
}

/// A column by the binder's number, and the name that it goes by.
pub type ColumnName = (u32, String);

/// An item of `FROM`.
#[derive(Clone, Debug)]
pub enum Source {
    /// Anything but a join.
    Item(Box<Item>),
    /// A join.
    Join(Box<Join>),
}

/// A table, query or function in `FROM`.
#[derive(Clone, Debug)]
pub struct Item {
    /// The kind of item.
    pub kind: ItemKind,
    /// True for `LATERAL`.
    pub lateral: bool,
    /// The name that it goes by.
    pub name: String,
    /// True if that was written.
    pub has_alias: bool,
    /// Its columns, under the names that they go by.
    pub columns: Vec<ColumnName>,
    /// The names that its columns have without an alias.
    pub own_names: Vec<String>,
    /// True if names of columns were written.
    pub has_column_aliases: bool,
    /// Further columns, which no list of names has: those of the system.
    pub hidden: Vec<ColumnName>,
}

/// The kind of an item of `FROM`.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// A table or view.
    Relation {
        /// Which.
        relation: Oid,
        /// True for `ONLY`.
        only: bool,
        /// Which of its past is meant.
        moment: Option<Moment>,
        /// `TABLESAMPLE`
        sample: Option<Sample>,
    },
    /// A subquery.
    Query(Query),
    /// Functions.
    Functions {
        /// The calls, and the columns that were defined for each.
        calls: Vec<(Expr, Vec<Defined>)>,
        /// `WITH ORDINALITY`
        ordinality: bool,
    },
    /// A table of `WITH`, by its name.
    Cte(String),
}

/// A column of a column definition list.
pub type Defined = (String, Type, Modifier);

/// A join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Which rows are kept without a partner.
    pub kind: ast::JoinKind,
    /// The left side.
    pub left: Source,
    /// The right side.
    pub right: Source,
    /// The condition.
    pub condition: Option<Expr>,
    /// The names of `USING`.
    pub using: Vec<String>,
    /// The alias of these, and its columns.
    pub using_alias: Option<(String, Vec<ColumnName>)>,
    /// The columns that are made of both sides.
    pub merged: Vec<ColumnName>,
    /// The columns of both sides of a full join that one name of `USING` stands for.
    pub both: Vec<(u32, u32, String)>,
    /// The alias of the whole, whether names of columns were written, and its columns.
    pub alias: Option<(String, bool, Vec<ColumnName>)>,
}

/// The spelling of expressions that does not follow from their meaning, by their places in the text.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Calls of functions.
    pub calls: HashMap<At, ast::Call>,
    /// Subqueries.
    pub queries: HashMap<At, Query>,
    /// Constructs of SQL/JSON.
    pub json: HashMap<At, ast::Json>,
    /// The windows of `WINDOW` clauses.
    pub windows: HashMap<At, Window>,
}

/// A query with its outline.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The query.
    pub query: Query,
    /// The spelling of its expressions.
    pub notes: Notes,
}

/// An expression with its outline.
#[derive(Clone, Debug)]
pub struct OutlinedExpr {
    /// The expression.
    pub expr: Expr,
    /// The columns that it may name.
    pub columns: Vec<ColumnName>,
    /// The name of their relation.
    pub table: String,
    /// The spelling of its parts.
    pub notes: Notes,
    /// True for a check of a domain, whose one column is its value.
    pub is_of_domain: bool,
}
