//! Definitions of tables and indexes, as written.

use super::{Name, Operator, PartitionBound, PartitionBy, Path, Query, TypeName};
use super::{SequenceOption, SqlExpr};
use crate::error::At;

/// `CREATE TABLE`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    /// The name.
    pub name: Path,
    /// True for `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// True for `TEMPORARY`.
    pub temporary: bool,
    /// True for `UNLOGGED`.
    pub unlogged: bool,
    /// Columns, constraints, and tables to be like.
    pub elements: Vec<TableElement>,
    /// `PARTITION OF`: the partitioned table, and the rows that are for this one.
    pub partition_of: Option<(Path, PartitionBound)>,
    /// `PARTITION BY`
    pub partition_by: Option<PartitionBy>,
    /// `USING`
    pub method: Option<Name>,
    /// `WITH (...)`
    pub options: Vec<StorageOption>,
    /// `ON COMMIT`, by its words: `preserve rows`, `delete rows`, `drop`.
    pub on_commit: Option<&'static str>,
}

/// A storage parameter: its name, maybe with a namespace, and its value.
pub type StorageOption = (String, Option<String>);

/// `CREATE TABLE ... AS`, `CREATE MATERIALIZED VIEW`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTableAs {
    /// True for `MATERIALIZED VIEW`: the query is kept.
    pub materialized: bool,
    /// The name.
    pub name: Path,
    /// True for `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// True for `TEMPORARY`.
    pub temporary: bool,
    /// `ON COMMIT`, by its words.
    pub on_commit: Option<&'static str>,
    /// The names of the columns.
    pub columns: Vec<Name>,
    /// `USING`
    pub method: Option<Name>,
    /// `WITH (...)`
    pub options: Vec<StorageOption>,
    /// The source of its rows.
    pub rows: RowsOf,
    /// The text of the query; empty for `AS EXECUTE`.
    pub text: String,
    /// False for `WITH NO DATA`.
    pub data: bool,
}

/// The source of the rows of a table that is made of them.
#[derive(Clone, PartialEq, Debug)]
pub enum RowsOf {
    /// `AS query`
    Query(Box<Query>),
    /// `AS EXECUTE name (arguments)`
    Execute {
        /// The prepared statement.
        name: Name,
        /// The values of its parameters.
        args: Vec<SqlExpr>,
    },
}

/// An element between the parentheses of `CREATE TABLE`.
#[derive(Clone, PartialEq, Debug)]
pub enum TableElement {
    /// A column.
    Column(ColumnDefinition),
    /// A constraint.
    Constraint(TableConstraint),
    /// Options of a partition for a column that the partitioned table has.
    Options {
        /// The column.
        name: Name,
        /// Its constraints.
        constraints: Vec<ColumnConstraint>,
    },
    /// `LIKE table {INCLUDING | EXCLUDING} what`
    Like {
        /// The table.
        table: Path,
        /// The parts to copy, in order: the word and true for `INCLUDING`.
        options: Vec<(String, bool)>,
    },
}

/// A column of a table that is made.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDefinition {
    /// The name.
    pub name: Name,
    /// The type.
    pub ty: TypeName,
    /// The collation.
    pub collation: Option<Path>,
    /// Default, constraints.
    pub constraints: Vec<ColumnConstraint>,
}

/// A constraint of one column, or its default.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnConstraint {
    /// Its name.
    pub name: Option<Name>,
    /// The kind of constraint.
    pub kind: ColumnConstraintKind,
    /// When it is checked.
    pub timing: Timing,
    /// Where it stands.
    pub at: At,
}

/// The kind of a constraint of one column.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnConstraintKind {
    /// `NOT NULL`
    NotNull,
    /// `NULL`
    Null,
    /// `DEFAULT`
    Default(SqlExpr),
    /// `CHECK`
    Check(SqlExpr),
    /// `GENERATED ALWAYS AS (...) STORED`
    Generated(SqlExpr),
    /// `GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY`
    Identity {
        /// True for `ALWAYS`.
        always: bool,
        /// The options of its sequence.
        options: Vec<SequenceOption>,
    },
    /// `UNIQUE`
    Unique {
        /// False for `NULLS NOT DISTINCT`.
        nulls_distinct: bool,
    },
    /// `PRIMARY KEY`
    PrimaryKey,
    /// `REFERENCES`
    References(References),
}

/// When a constraint is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// True for `DEFERRABLE`.
    pub deferrable: bool,
    /// True for `INITIALLY DEFERRED`.
    pub deferred: bool,
    /// True for `NOT VALID`.
    pub not_valid: bool,
}

/// The target of a foreign key.
#[derive(Clone, PartialEq, Debug)]
pub struct References {
    /// The table.
    pub table: Path,
    /// Its columns; those of its primary key where there are none.
    pub columns: Vec<Name>,
    /// True for `PERIOD` in front of the last column.
    pub is_period: bool,
    /// True for `MATCH FULL`.
    pub full: bool,
    /// `ON DELETE`
    pub on_delete: ForeignAction,
    /// `ON UPDATE`
    pub on_update: ForeignAction,
}

/// The action of a foreign key when the row it refers to is deleted or changed.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum ForeignAction {
    /// Refuses it at the end of the statement.
    #[default]
    NoAction,
    /// Refuses it at once.
    Restrict,
    /// Goes with it.
    Cascade,
    /// Becomes NULL, all columns or these.
    SetNull(Vec<Name>),
    /// Becomes the default, all columns or these.
    SetDefault(Vec<Name>),
}

/// A constraint of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableConstraint {
    /// Its name.
    pub name: Option<Name>,
    /// The kind of constraint.
    pub kind: TableConstraintKind,
    /// When it is checked.
    pub timing: Timing,
    /// Where it stands.
    pub at: At,
}

/// The kind of a constraint of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum TableConstraintKind {
    /// `CHECK`
    Check(SqlExpr),
    /// `UNIQUE` or `PRIMARY KEY`
    Unique {
        /// True for `PRIMARY KEY`.
        primary: bool,
        /// The columns.
        columns: Vec<Name>,
        /// `INCLUDE`
        include: Vec<Name>,
        /// False for `NULLS NOT DISTINCT`.
        nulls_distinct: bool,
        /// `USING INDEX`: the index that is there already.
        using_index: Option<Name>,
        /// True for `WITHOUT OVERLAPS` behind the last column.
        without_overlaps: bool,
    },
    /// `FOREIGN KEY`
    ForeignKey {
        /// The columns.
        columns: Vec<Name>,
        /// True for `PERIOD` in front of the last column.
        is_period: bool,
        /// The referenced table and columns.
        references: References,
    },
    /// `EXCLUDE`
    Exclude(Box<Exclusion>),
}

/// `EXCLUDE`: the index that it is seen to by, and its operators.
#[derive(Clone, PartialEq, Debug)]
pub struct Exclusion {
    /// `USING`
    pub method: Option<Name>,
    /// The keys, each with the operator behind `WITH`.
    pub keys: Vec<(IndexElement, Operator)>,
    /// `INCLUDE`
    pub include: Vec<Name>,
    /// `WITH (...)` behind the keys.
    pub options: Vec<StorageOption>,
    /// `WHERE`
    pub filter: Option<SqlExpr>,
}

/// `CREATE INDEX`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateIndex {
    /// The name; made from those of table and columns where there is none.
    pub name: Option<Name>,
    /// True for `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// True for `UNIQUE`.
    pub unique: bool,
    /// True for `CONCURRENTLY`.
    pub concurrently: bool,
    /// The table.
    pub table: Path,
    /// True for `ONLY`: its partitions get none.
    pub only: bool,
    /// `USING`
    pub method: Option<Name>,
    /// The keys.
    pub keys: Vec<IndexElement>,
    /// `INCLUDE`
    pub include: Vec<Name>,
    /// False for `NULLS NOT DISTINCT`.
    pub nulls_distinct: bool,
    /// `WITH (...)`
    pub options: Vec<StorageOption>,
    /// `WHERE`
    pub filter: Option<SqlExpr>,
}

/// A key of an index.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexElement {
    /// The column, where it is one.
    pub column: Option<Name>,
    /// The expression, where it is none.
    pub expr: Option<SqlExpr>,
    /// The collation.
    pub collation: Option<Path>,
    /// The operator class.
    pub class: Option<Path>,
    /// True for `DESC`.
    pub descending: bool,
    /// True for `NULLS FIRST`.
    pub nulls_first: Option<bool>,
}

impl CreateTableAs {
    /// The query, where it is written here.
    pub fn query(&self) -> Option<&Query> {
        match &self.rows {
            RowsOf::Query(query) => Some(query),
            RowsOf::Execute { .. } => None,
        }
    }
}
