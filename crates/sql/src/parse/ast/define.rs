//! Definitions: the syntax trees of `CREATE`, `ALTER`, `DROP`, `GRANT` and their kin.
//!
//! Expressions and queries are kept with their text, because the catalog keeps the text.

use super::{
    Alter, DomainChange, EnumChange, Name, Operator, PartitionBound, PartitionBy, Path, Query,
    SetValue, Statement, TypeName,
};
use crate::error::At;

/// A definition.
#[derive(Clone, PartialEq, Debug)]
pub enum Define {
    /// `CREATE TABLE`
    Table(Box<CreateTable>),
    /// `CREATE TABLE ... AS`, `CREATE MATERIALIZED VIEW`
    TableAs(Box<CreateTableAs>),
    /// `REINDEX`
    Reindex {
        /// The index or the table; none for all.
        name: Option<Path>,
    },
    /// `REFRESH MATERIALIZED VIEW`
    Refresh {
        /// The materialized view.
        name: Path,
        /// True for `CONCURRENTLY`: only rows that differ are written.
        concurrently: bool,
        /// False for `WITH NO DATA`.
        data: bool,
    },
    /// `ALTER DEFAULT PRIVILEGES`
    DefaultPrivileges(Box<DefaultPrivileges>),
    /// `CREATE INDEX`
    Index(Box<CreateIndex>),
    /// `CREATE SEQUENCE`
    Sequence {
        /// The name.
        name: Path,
        /// True for `IF NOT EXISTS`.
        if_not_exists: bool,
        /// True for `TEMPORARY`.
        temporary: bool,
        /// The options.
        options: Vec<SequenceOption>,
    },
    /// `CREATE SCHEMA`
    Schema {
        /// The name; that of the owner where there is none.
        name: Option<Name>,
        /// True for `IF NOT EXISTS`.
        if_not_exists: bool,
        /// `AUTHORIZATION`
        owner: Option<Name>,
        /// The definitions of objects in the schema.
        elements: Vec<Statement>,
    },
    /// `CREATE EXTENSION`
    Extension {
        /// The name.
        name: Name,
        /// True for `IF NOT EXISTS`.
        if_not_exists: bool,
        /// `SCHEMA`
        schema: Option<Name>,
        /// `VERSION`
        version: Option<String>,
    },
    /// `CREATE POLICY`
    Policy(Box<PolicyDefinition>),
    /// `ALTER POLICY`
    AlterPolicy(Box<PolicyDefinition>),
    /// `ALTER EXTENSION ... UPDATE`
    UpdateExtension {
        /// The name.
        name: Name,
        /// `TO`
        version: Option<String>,
    },
    /// `CREATE TYPE ... AS ENUM`
    Enum {
        /// The name.
        name: Path,
        /// The labels.
        labels: Vec<String>,
    },
    /// `CREATE TYPE ... AS RANGE`
    Range {
        /// The name.
        name: Path,
        /// The type of the bounds.
        subtype: TypeName,
        /// The collation of the bounds.
        collation: Option<Path>,
        /// The operator class that orders the bounds.
        class: Option<Path>,
        /// The function that gives the distance of two bounds.
        difference: Option<Path>,
        /// The name of the multirange type.
        multirange: Option<Path>,
    },
    /// `CREATE TYPE ... AS (...)`
    Composite {
        /// The name.
        name: Path,
        /// The fields, with their collations.
        fields: Vec<(Name, TypeName, Option<Path>)>,
    },
    /// `CREATE COLLATION`
    Collation {
        /// The name.
        name: Path,
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The collation that it is a copy of.
        from: Option<Path>,
        /// Its options, and their values.
        options: Vec<(Name, String)>,
    },
    /// `ALTER COLLATION ... REFRESH VERSION`
    RefreshCollation {
        /// The name.
        name: Path,
    },
    /// `CREATE DOMAIN`
    Domain {
        /// The name.
        name: Path,
        /// The type below.
        base: TypeName,
        /// The collation.
        collation: Option<Path>,
        /// Default and constraints.
        constraints: Vec<ColumnConstraint>,
    },
    /// `CREATE DATABASE`
    Database {
        /// The name.
        name: Name,
        /// Its options.
        options: Vec<DatabaseOption>,
    },
    /// `ALTER DATABASE name options`
    AlterDatabase {
        /// The name.
        name: Name,
        /// Its options.
        options: Vec<DatabaseOption>,
    },
    /// `DROP DATABASE`
    DropDatabase {
        /// The name.
        name: Name,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// True for `WITH (FORCE)`: connected sessions are terminated.
        force: bool,
    },
    /// `CREATE ROLE`, `CREATE USER`, `CREATE GROUP`
    Role {
        /// The name.
        name: Name,
        /// True for `CREATE USER`, which may log in.
        login: bool,
        /// The options.
        options: Vec<RoleOption>,
    },
    /// `ALTER ROLE name options`
    AlterRole {
        /// The name.
        name: Name,
        /// The options.
        options: Vec<RoleOption>,
    },
    /// `ALTER {ROLE name | DATABASE name} [IN DATABASE name] {SET | RESET} setting`
    AlterSettings {
        /// The role; `None` for all.
        role: Option<Name>,
        /// The database; `None` for all.
        database: Option<Name>,
        /// The setting; `None` for `RESET ALL`.
        name: Option<String>,
        /// Its values; none for `DEFAULT` and `RESET`.
        values: Vec<SetValue>,
    },
    /// `ALTER TABLE`, and `ALTER INDEX`, `ALTER VIEW`, `ALTER SEQUENCE` with what they share.
    Alter {
        /// The kind in its words: `TABLE`, `INDEX`, `VIEW`, `SEQUENCE`.
        kind: ObjectKind,
        /// The relation.
        name: Path,
        /// True for `ONLY`: its partitions stay as they are.
        only: bool,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// The actions.
        actions: Vec<Alter>,
    },
    /// `ALTER SEQUENCE name options`
    AlterSequence {
        /// The sequence.
        name: Path,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// The options.
        options: Vec<SequenceOption>,
    },
    /// `ALTER TYPE ... {ADD | RENAME} VALUE`
    AlterEnum {
        /// The type.
        name: Path,
        /// The change.
        change: EnumChange,
    },
    /// `ALTER DOMAIN`
    AlterDomain {
        /// The domain.
        name: Path,
        /// The change.
        change: DomainChange,
    },
    /// `ALTER {SCHEMA | TYPE | DOMAIN | DATABASE | ROLE} name RENAME TO name`
    Rename {
        /// The kind of object.
        kind: ObjectKind,
        /// The object.
        name: Path,
        /// Its new name.
        to: Name,
    },
    /// `ALTER ... OWNER TO role`, of what is no relation.
    Owner {
        /// The kind of object.
        kind: ObjectKind,
        /// The object.
        name: Path,
        /// The role.
        to: Name,
    },
    /// `ALTER {TYPE | DOMAIN} name SET SCHEMA name`
    SetSchema {
        /// The kind of object.
        kind: ObjectKind,
        /// The object.
        name: Path,
        /// The schema.
        to: Name,
    },
    /// `DROP`
    Drop {
        /// The kind of object that is dropped.
        kind: ObjectKind,
        /// Their names.
        names: Vec<Path>,
        /// True for `CONCURRENTLY`.
        concurrently: bool,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `DROP OWNED BY`
    DropOwned {
        /// The roles.
        roles: Vec<Name>,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `REASSIGN OWNED BY`
    ReassignOwned {
        /// The roles.
        roles: Vec<Name>,
        /// The role that gets all of it.
        to: Name,
    },
    /// `TRUNCATE`
    Truncate {
        /// The tables, and true for `ONLY`.
        tables: Vec<(Path, bool)>,
        /// True for `RESTART IDENTITY`.
        restart: bool,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `GRANT privileges ON objects`, `REVOKE privileges ON objects`
    Privileges(Box<Privileges>),
    /// `GRANT role TO role`, `REVOKE role FROM role`
    Membership {
        /// False for `REVOKE`.
        grant: bool,
        /// The roles that get or lose members.
        roles: Vec<Name>,
        /// The members.
        members: Vec<Name>,
        /// `ADMIN`, `INHERIT` and `SET` options, where they are said.
        options: Vec<(String, bool)>,
    },
    /// `COMMENT ON`
    Comment {
        /// The kind of object that it is about.
        kind: ObjectKind,
        /// The object; for a column the last part is the column, for a constraint its name is last.
        name: Path,
        /// The comment; `None` to take it away.
        text: Option<String>,
    },
    /// A definition that is parsed up to here and not supported: its words.
    Unsupported(String),
}

/// Kinds of objects, as commands name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Table,
    Index,
    View,
    MaterializedView,
    Sequence,
    Schema,
    Type,
    Domain,
    Database,
    Role,
    Column,
    Constraint,
    DomainConstraint,
    Extension,
    Collation,
    Policy,
}

/// The clauses of `CREATE POLICY` or `ALTER POLICY`.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyDefinition {
    /// The name.
    pub name: Name,
    /// The table.
    pub table: Path,
    /// False for `AS RESTRICTIVE`.
    pub is_permissive: bool,
    /// `FOR`: a word in lower case; none for `ALL`.
    pub command: Option<String>,
    /// `TO`; none where `ALTER POLICY` does not say, and an empty list for all roles.
    pub roles: Option<Vec<Name>>,
    /// `USING`
    pub using: Option<SqlExpr>,
    /// `WITH CHECK`
    pub check: Option<SqlExpr>,
}

impl ObjectKind {
    /// The word, in upper case.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Table => "TABLE",
            ObjectKind::Index => "INDEX",
            ObjectKind::View => "VIEW",
            ObjectKind::MaterializedView => "MATERIALIZED VIEW",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Schema => "SCHEMA",
            ObjectKind::Type => "TYPE",
            ObjectKind::Domain => "DOMAIN",
            ObjectKind::Database => "DATABASE",
            ObjectKind::Role => "ROLE",
            ObjectKind::Column => "COLUMN",
            ObjectKind::Constraint | ObjectKind::DomainConstraint => "CONSTRAINT",
            ObjectKind::Extension => "EXTENSION",
            ObjectKind::Policy => "POLICY",
            ObjectKind::Collation => "COLLATION",
        }
    }
}

/// An expression and its text.
#[derive(Clone, PartialEq, Debug)]
pub struct SqlExpr {
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub at: At,
}

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

impl CreateTableAs {
    /// The query, where it is written here.
    pub fn query(&self) -> Option<&Query> {
        match &self.rows {
            RowsOf::Query(query) => Some(query),
            RowsOf::Execute { .. } => None,
        }
    }
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

/// An option of a sequence.
#[derive(Clone, PartialEq, Debug)]
pub enum SequenceOption {
    /// `AS type`
    Type(TypeName),
    /// `INCREMENT BY`
    Increment(i64),
    /// `MINVALUE`; `None` for `NO MINVALUE`.
    Min(Option<i64>),
    /// `MAXVALUE`; `None` for `NO MAXVALUE`.
    Max(Option<i64>),
    /// `START WITH`
    Start(i64),
    /// `RESTART [WITH]`
    Restart(Option<i64>),
    /// `CACHE`
    Cache(i64),
    /// `[NO] CYCLE`
    Cycle(bool),
    /// `OWNED BY table.column`; `None` for `OWNED BY NONE`.
    OwnedBy(Option<Path>),
    /// `SEQUENCE NAME`, of identity columns.
    Name(Path),
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

/// An option of a role.
#[derive(Clone, PartialEq, Debug)]
pub enum RoleOption {
    /// `SUPERUSER`, `NOLOGIN` ...: the word without `NO`, and whether it is switched on.
    Flag(&'static str, bool),
    /// `PASSWORD`; `None` for `NULL`.
    Password(Option<String>),
    /// `CONNECTION LIMIT`
    ConnectionLimit(i64),
    /// `VALID UNTIL`
    ValidUntil(String),
    /// `IN ROLE`
    InRole(Vec<Name>),
    /// `ROLE`
    Members(Vec<Name>),
    /// `ADMIN`
    Admins(Vec<Name>),
}

/// `GRANT` and `REVOKE` of privileges.
#[derive(Clone, PartialEq, Debug)]
pub struct Privileges {
    /// False for `REVOKE`.
    pub grant: bool,
    /// The privileges, in lower case, each maybe for some columns; none for all.
    pub privileges: Vec<(String, Vec<Name>)>,
    /// The objects.
    pub on: GrantOn,
    /// The objects, or the schemas for all objects in them.
    pub objects: Vec<Path>,
    /// The roles; `None` stands for `PUBLIC`.
    pub roles: Vec<Option<Name>>,
    /// True for `WITH GRANT OPTION` and `GRANT OPTION FOR`.
    pub grant_option: bool,
    /// True for `CASCADE`.
    pub cascade: bool,
}

/// `ALTER DEFAULT PRIVILEGES`
#[derive(Clone, PartialEq, Debug)]
pub struct DefaultPrivileges {
    /// The owners of the objects; none for the current role.
    pub roles: Vec<Name>,
    /// In which schemas; none for all.
    pub schemas: Vec<Name>,
    /// The kind of the objects, as `pg_default_acl` has it: `r`, `S`, `f`, `T`, `n`.
    pub kind: char,
    /// The privileges that are granted or revoked; of no object.
    pub privileges: Privileges,
}

/// The objects of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum GrantOn {
    Table,
    Sequence,
    Schema,
    Database,
    Type,
    AllTables,
    AllSequences,
}

/// An option of a database.
#[derive(Clone, PartialEq, Debug)]
pub struct DatabaseOption {
    /// Its name, such as `owner` or `connection_limit`, and where it is.
    pub name: Name,
    /// Its value; `None` for `DEFAULT`.
    pub value: Option<String>,
}
