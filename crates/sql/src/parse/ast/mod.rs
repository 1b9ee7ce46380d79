//! Syntax trees: statements as written, close to the grammar, with the place of every node.
//!
//! ```text
//!   Statement ── Query ─┬─ with            Expr ── kind + at
//!             ├─ Insert ├─ body: Select │ Values │ SetOperation
//!             ├─ ...    └─ order, limit, locks
//! ```
//!
//! Nothing is looked up here. Syntax that only spells a function differently is already the call
//! (`EXTRACT(year FROM x)` is `pg_catalog.extract('year', x)`), as it is in PostgreSQL's own trees.

mod alter;
mod change;
mod command;
mod define;
mod expr;
mod json;
mod partition;
mod query;
mod role;
mod table;

pub use alter::{Alter, DomainChange, EnumChange};
pub use change::{
    Arbiter, Assignment, Conflict, ConflictUpdate, Delete, Insert, Merge, MergeAction, MergeClause,
    MergeWhen, Part, Portion, Target, Update,
};
pub use command::{
    Command, Copy, CopyEnd, CopyValue, CopyWhat, Direction, Discard, Modes, SetValue,
};
pub use define::{DatabaseOption, Define, ObjectKind, SequenceOption, SqlExpr};
pub use expr::{
    Arg, Bound, Call, Exclude, Expr, ExprKind, Frame, FrameUnit, Link, Operator, OrderItem, Step,
    Window,
};
pub use json::{Json, JsonBehavior, JsonSearch};
pub use partition::{PartitionBound, PartitionBy, PartitionStrategy, RangeEnd};
pub use query::{
    Alias, Body, ColumnDef, Cte, Distinct, Join, JoinCondition, JoinKind, Lock, LockStrength,
    LockWait, Moment, Output, Query, Sample, Select, SetOp, Source, TableRef, With,
};
pub use role::{DefaultPrivileges, GrantOn, PolicyDefinition, Privileges, RoleOption};
pub use table::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, CreateIndex, CreateTable,
    CreateTableAs, Exclusion, ForeignAction, IndexElement, References, RowsOf, StorageOption,
    TableConstraint, TableConstraintKind, TableElement, Timing,
};

use ::types::SqlState;

use crate::error::{At, Error, Result};

/// An identifier as it counts: folded to lower case unless it was quoted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The identifier.
    pub text: String,
    /// Where it stands.
    pub at: At,
}

/// A name of one or more parts: `schema.table`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The parts, the outermost first; never empty.
    pub parts: Vec<Name>,
}

impl Path {
    /// Where the name begins.
    pub fn at(&self) -> At {
        self.parts[0].at
    }

    /// The last part: the name without what qualifies it.
    pub fn last(&self) -> &str {
        &self.parts[self.parts.len() - 1].text
    }

    /// The schema, where one is named, and the name of an object of the database for which
    /// `is_here` is true.
    ///
    /// # Errors
    /// `0A000` for what is in another database, `42601` where there are more than three parts.
    pub fn split(&self, is_here: impl FnOnce(&str) -> bool) -> Result<(Option<&Name>, &Name)> {
        Ok(match in_database(&self.parts, 2, "\"", is_here)? {
            [schema, name] => (Some(schema), name),
            names => (None, &names[0]),
        })
    }

    /// The name that the grammar itself gives to a function of `pg_catalog`.
    pub fn system(name: &str, at: At) -> Self {
        let part = |text: &str| Name { text: text.to_owned(), at };
        Path { parts: vec![part("pg_catalog"), part(name)] }
    }
}

/// A name of up to `most` parts, without that of the database before it, for which `is_here` must be
/// true. In the message of what is elsewhere the name is between `quote`s.
///
/// # Errors
/// `0A000` for what is in another database, `42601` where there are more parts.
pub(crate) fn in_database<'n>(
    names: &'n [Name],
    most: usize,
    quote: &str,
    is_here: impl FnOnce(&str) -> bool,
) -> Result<&'n [Name]> {
    if names.len() <= most {
        return Ok(names);
    }
    if names.len() == most + 1 && is_here(&names[0].text) {
        return Ok(&names[1..]);
    }
    let dotted: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    let dotted = dotted.join(".");
    let (state, message) = match names.len() - most {
        1 => (
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("cross-database references are not implemented: {quote}{dotted}{quote}"),
        ),
        _ => (
            SqlState::SYNTAX_ERROR,
            format!("improper qualified name (too many dotted names): {dotted}"),
        ),
    };
    Err(Error::new(state, message).at(names[0].at))
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, part) in self.parts.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(&part.text)?;
        }
        Ok(())
    }
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeName {
    /// The name; the standard's own spellings are already `pg_catalog` names.
    pub name: Path,
    /// The numbers in parentheses.
    pub modifiers: Vec<Expr>,
    /// The fields of `INTERVAL DAY TO SECOND`, as PostgreSQL's bit mask.
    pub fields: Option<i32>,
    /// How many dimensions of an array; 0 for none.
    pub dimensions: u8,
    /// True for `SETOF type`.
    pub set: bool,
    /// Where it stands.
    pub at: At,
}

/// `CREATE [OR REPLACE] [TEMPORARY] VIEW name [(columns)] AS query`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    /// The name.
    pub name: Path,
    /// The names of its columns.
    pub columns: Vec<Name>,
    /// True for `OR REPLACE`.
    pub replace: bool,
    /// True for `TEMPORARY`.
    pub temporary: bool,
    /// `WITH (...)`, but for the check option.
    pub options: Vec<(String, Option<String>)>,
    /// `WITH LOCAL CHECK OPTION` (false) or `CASCADED` (true).
    pub check: Option<bool>,
    /// The query of the view.
    pub query: Box<Query>,
    /// The text of the query.
    pub text: String,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `SELECT`, `VALUES`, `TABLE`
    Query(Box<Query>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
    /// `MERGE`
    Merge(Box<Merge>),
    /// `DELETE HISTORY FROM t BEFORE SYSTEM_TIME e`: what is older is forgotten.
    DeleteHistory {
        /// The table.
        table: Path,
        /// The time.
        before: SqlExpr,
    },
    /// `ERASE FROM t [WHERE ...]`: rows are removed from the present and from all of the past.
    Erase(Box<Delete>),
    /// `EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (options) statement`
    Explain {
        /// The options: each a word and its value.
        options: Vec<(String, Option<String>)>,
        /// The statement to explain.
        statement: Box<Statement>,
    },
    /// `CREATE VIEW`
    CreateView(Box<CreateView>),
    /// A command of a session.
    Command(Box<Command>),
    /// A definition.
    Define(Box<Define>),
}
