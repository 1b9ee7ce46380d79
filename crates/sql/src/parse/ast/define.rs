//! Definitions: the syntax trees of `CREATE`, `ALTER`, `DROP`, `GRANT` and the like.
//!
//! Expressions and queries are kept with their text, because the catalog keeps the text.

use super::{
    Alter, ColumnConstraint, CreateIndex, CreateTable, CreateTableAs, DefaultPrivileges,
    DomainChange, EnumChange, Name, Path, PolicyDefinition, Privileges, RoleOption, SetValue,
    Statement, TypeName,
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

/// An option of a database.
#[derive(Clone, PartialEq, Debug)]
pub struct DatabaseOption {
    /// Its name, such as `owner` or `connection_limit`, and where it is.
    pub name: Name,
    /// Its value; `None` for `DEFAULT`.
    pub value: Option<String>,
}
