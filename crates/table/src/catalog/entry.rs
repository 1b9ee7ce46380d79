//! The other objects of the catalog: databases, schemas, roles, types, constraints, comments; and
//! [`Entry`], any of them.

use std::sync::Arc;

use types::{EnumLabels, EnumOrder, Modifier, Oid, Repr, Type};

use super::{Acl, Address, Relation, SqlText};

/// A database: schemas that one connection can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that owns it.
    pub owner: Oid,
    /// The privileges of roles.
    pub acl: Option<Acl>,
    /// True if each role that may make databases may make others from it.
    pub is_template: bool,
    /// False if no session may connect.
    pub allows_connections: bool,
    /// Connections at most; -1 for as many as there are.
    pub connection_limit: i32,
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its OID.
    pub oid: Oid,
    /// The database that it is in; none for the schemas of the system, which are in all.
    pub database: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that owns it.
    pub owner: Oid,
    /// The privileges of roles.
    pub acl: Option<Acl>,
}

/// A role: a user, a group, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its rights everywhere.
    pub may: RoleFlags,
    /// Connections at most; -1 for as many as there are.
    pub connection_limit: i32,
    /// The SCRAM verifier of its password.
    pub password: Option<Arc<str>>,
    /// Until when the password is good, in microseconds since 2000 UTC.
    pub valid_until_us: Option<i64>,
}

/// The rights of a role everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RoleFlags {
    /// Everything.
    pub superuser: bool,
    /// Use the privileges of the roles that it is a member of, unless a membership says otherwise.
    pub inherit: bool,
    /// Make roles.
    pub create_role: bool,
    /// Make databases.
    pub create_db: bool,
    /// Log in.
    pub login: bool,
    /// Replicate.
    pub replication: bool,
    /// Pass row-level security.
    pub bypass_rls: bool,
}

/// The membership of a role in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Its OID.
    pub oid: Oid,
    /// The role that has the member.
    pub role: Oid,
    /// The member.
    pub member: Oid,
    /// The role that granted it.
    pub grantor: Oid,
    /// True if the member may grant it to others.
    pub admin: bool,
    /// True if the member has the role's privileges without more ado.
    pub inherit: bool,
    /// True if the member may `SET ROLE` to it.
    pub set: bool,
}

/// Settings that sessions start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The database; `NONE` for all.
    pub database: Oid,
    /// The role; `NONE` for all.
    pub role: Oid,
    /// Names and values, in the order in which they were made.
    pub values: Vec<(Arc<str>, Arc<str>)>,
}

/// Privileges that objects get which a role makes from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAcl {
    /// Its OID.
    pub oid: Oid,
    /// The role that makes the objects.
    pub role: Oid,
    /// In which schema; none for all.
    pub schema: Oid,
    /// Which objects: `r` tables, `S` sequences, `T` types, `n` schemas, `f` functions.
    pub kind: char,
    /// The privileges: in a schema those that are added, else those that replace the usual ones.
    pub acl: Acl,
}

/// A comment on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The object.
    pub object: Address,
    /// The comment; never empty.
    pub text: Arc<str>,
}

/// A type that a user made: an enum, a domain, a range type or its multirange type. (Types of rows belong to their
/// relations.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserType {
    /// The type.
    pub ty: Type,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that owns it.
    pub owner: Oid,
    /// The privileges of roles.
    pub acl: Option<Acl>,
    /// The type of arrays of it.
    pub array: Type,
    /// The name of the array type: `_` and the name, unless that was taken.
    pub array_name: Arc<str>,
    /// Its kind.
    pub kind: UserTypeKind,
}

/// The kind of a type that a user made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserTypeKind {
    /// One of a list of labels.
    Enum(Enum),
    /// A type with constraints.
    Domain(Domain),
    /// The values between two bounds.
    Range(RangeType),
    /// Any number of ranges of this type, of which it is a part.
    Multirange(Type),
}

/// A range type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeType {
    /// The type of the bounds.
    pub element: Type,
    /// The collation of the bounds; none for types that have none.
    pub collation: Oid,
    /// The type of multiranges.
    pub multirange: Type,
    /// The function that gives the distance of two bounds; none if it has none.
    pub difference: Oid,
}

/// The labels of an enum, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// The rows of `pg_enum`: OID, place, label; in the order of the places.
    pub labels: Vec<(Oid, EnumOrder, Arc<str>)>,
    /// The same as values are read and written by.
    pub known: Arc<EnumLabels>,
}

impl Enum {
    /// The enum with these labels, which are in their order.
    pub fn new(labels: Vec<(Oid, EnumOrder, Arc<str>)>) -> Self {
        let known = labels.iter().map(|(_, order, label)| (*order, label.clone())).collect();
        Enum { known: Arc::new(EnumLabels::new(known)), labels }
    }
}

/// A type with constraints. Its checks are [`Constraint`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The type that values have.
    pub base: Type,
    /// Its modifier.
    pub modifier: Modifier,
    /// How values are held.
    pub repr: Repr,
    /// The collation; none for types that have none.
    pub collation: Oid,
    /// True if NULL is refused.
    pub not_null: bool,
    /// The value of columns that have no default of their own.
    pub default: Option<SqlText>,
}

/// An extension that a database has. Its functions, operators and types are those that
/// [`types::extension`] lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its OID.
    pub oid: Oid,
    /// The database that has it.
    pub database: Oid,
    /// Its name: one that [`types::extension::named`] finds.
    pub name: Arc<str>,
    /// The schema that its objects are in.
    pub schema: Oid,
    /// The role that owns it.
    pub owner: Oid,
    /// Its version.
    pub version: Arc<str>,
}

impl Extension {
    /// The extension of the server with its name.
    pub fn known(&self) -> Option<&'static types::Extension> {
        types::extension::named(&self.name)
    }
}

/// A collation that a user made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collation {
    /// Its OID.
    pub oid: Oid,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that owns it.
    pub owner: Oid,
    /// The provider that orders its texts.
    pub provider: CollationProvider,
    /// False if texts can be equal that are not the same.
    pub is_deterministic: bool,
    /// True if it is only for databases in UTF-8.
    pub is_utf8: bool,
    /// The locale by which texts are ordered.
    pub locale: Arc<str>,
    /// The locale by which letters are told apart from others: of the C library alone.
    pub ctype: Arc<str>,
    /// The version of the rules that it was made with, where they have one.
    pub version: Option<Arc<str>>,
}

/// The provider that orders the texts of a collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CollationProvider {
    /// The server: the order of bytes.
    Builtin = b'b',
    /// The C library of PostgreSQL, of which only the order of bytes is here.
    Libc = b'c',
    /// The rules of a language.
    Icu = b'i',
}

/// A constraint of a table or a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Its OID.
    pub oid: Oid,
    /// Its name, unique among those of its table or domain.
    pub name: Arc<str>,
    /// The table or domain that it constrains.
    pub on: ConstraintOn,
    /// True if it can be checked later than at once.
    pub is_deferrable: bool,
    /// True if it is checked at the end of the transaction, unless it is set otherwise.
    pub is_deferred: bool,
    /// False for `NOT VALID`: rows that were there before may break it.
    pub is_validated: bool,
    /// The rule that it enforces.
    pub kind: ConstraintKind,
    /// The constraint of the partitioned table that it is a part of.
    pub partition_of: Option<Oid>,
}

/// The object of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstraintOn {
    /// The rows of a table.
    Table(Oid),
    /// The values of a domain.
    Domain(Type),
}

/// The rule that a constraint enforces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// An expression is not false.
    Check {
        /// The expression, over the row, or over `VALUE`.
        expr: SqlText,
        /// The columns that it reads.
        columns: Vec<i16>,
    },
    /// No two rows have equal keys.
    Key {
        /// The index that sees to it.
        index: Oid,
        /// The columns.
        columns: Vec<i16>,
        /// True for the primary key.
        is_primary: bool,
        /// True for `WITHOUT OVERLAPS`: the last column is a range, and rows whose other columns are equal
        /// have ranges that do not overlap.
        is_period: bool,
    },
    /// No two rows have keys of which all operators of the index are true.
    Exclude {
        /// The index that sees to it.
        index: Oid,
        /// The columns; 0 stands for an expression.
        columns: Vec<i16>,
    },
    /// The referenced table has a row with these values.
    Foreign(ForeignKey),
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The columns that refer.
    pub columns: Vec<i16>,
    /// The table that they refer to.
    pub references: Oid,
    /// The columns of that table, as many.
    pub referenced: Vec<i16>,
    /// The unique index over those columns.
    pub index: Oid,
    /// When NULLs are let through.
    pub match_type: MatchType,
    /// The action when the key that is referred to changes.
    pub on_update: Action,
    /// The action when the row that is referred to is deleted.
    pub on_delete: Action,
    /// The columns that `ON DELETE SET NULL` and `SET DEFAULT` set; empty for all.
    pub on_delete_columns: Vec<i16>,
    /// True for `PERIOD`: the last column is a range, which ranges of the referenced rows must cover
    /// together.
    pub is_period: bool,
}

/// When a foreign key with NULLs is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum MatchType {
    /// Where any of the columns is NULL.
    #[default]
    Simple = b's',
    /// Where all of them are; some are an error.
    Full = b'f',
}

/// The action on the rows that refer to another row which goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Action {
    /// It is an error, unless they are gone as well when the constraint is checked.
    #[default]
    NoAction = b'a',
    /// It is an error at once.
    Restrict = b'r',
    /// They follow.
    Cascade = b'c',
    /// They refer to nothing.
    SetNull = b'n',
    /// They refer to what their columns' defaults say.
    SetDefault = b'd',
}

/// A policy of row-level security: which rows of a table roles see, and which they may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its OID.
    pub oid: Oid,
    /// Its name, unique among those of its table.
    pub name: Arc<str>,
    /// The table.
    pub table: Oid,
    /// True if rows are let through that it accepts; false for `RESTRICTIVE`, where rows are kept back
    /// that it does not accept.
    pub is_permissive: bool,
    /// The statements that it is about.
    pub command: PolicyCommand,
    /// The roles that it is about; [`Oid::NONE`] for all.
    pub roles: Vec<Oid>,
    /// The condition for rows that are seen.
    pub using: Option<SqlText>,
    /// The condition for rows that are written; where there is none, `using` is the condition.
    pub check: Option<SqlText>,
}

/// The statements that a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PolicyCommand {
    /// All.
    All = b'*',
    /// `SELECT`.
    Select = b'r',
    /// `INSERT`.
    Insert = b'a',
    /// `UPDATE`.
    Update = b'w',
    /// `DELETE`.
    Delete = b'd',
}

/// Any object of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A database.
    Database(Arc<Database>),
    /// A schema.
    Schema(Arc<Schema>),
    /// A role.
    Role(Arc<Role>),
    /// A membership in a role.
    Membership(Arc<Membership>),
    /// Settings that sessions start with.
    Settings(Arc<Settings>),
    /// Privileges of future objects.
    DefaultAcl(Arc<DefaultAcl>),
    /// A table, view, index, sequence or composite type.
    Relation(Arc<Relation>),
    /// An enum or a domain.
    Type(Arc<UserType>),
    /// A constraint.
    Constraint(Arc<Constraint>),
    /// A comment.
    Comment(Arc<Comment>),
    /// An extension.
    Extension(Arc<Extension>),
    /// A policy of row-level security.
    Policy(Arc<Policy>),
    /// A collation.
    Collation(Arc<Collation>),
}

impl Constraint {
    /// The table that it constrains; none for that of a domain.
    pub fn table(&self) -> Option<Oid> {
        if let ConstraintOn::Table(oid) = self.on { Some(oid) } else { None }
    }

    /// The foreign key, where it is one.
    pub fn foreign_key(&self) -> Option<&ForeignKey> {
        if let ConstraintKind::Foreign(key) = &self.kind { Some(key) } else { None }
    }

    /// The letter of the kind: `contype` of `pg_constraint`.
    pub fn kind_letter(&self) -> char {
        match self.kind {
            ConstraintKind::Check { .. } => 'c',
            ConstraintKind::Key { is_primary: true, .. } => 'p',
            ConstraintKind::Key { .. } => 'u',
            ConstraintKind::Exclude { .. } => 'x',
            ConstraintKind::Foreign(_) => 'f',
        }
    }

    /// The columns of its table that it is about: `conkey`.
    pub fn columns(&self) -> &[i16] {
        match &self.kind {
            ConstraintKind::Check { columns, .. }
            | ConstraintKind::Key { columns, .. }
            | ConstraintKind::Exclude { columns, .. } => columns,
            ConstraintKind::Foreign(key) => &key.columns,
        }
    }
}
