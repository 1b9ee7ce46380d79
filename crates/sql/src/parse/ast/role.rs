//! Definitions of roles, privileges and policies, as written.

use super::SqlExpr;
use super::{Name, Path};

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
    /// `TO`; none if `ALTER POLICY` does not say, and an empty list for all roles.
    pub roles: Option<Vec<Name>>,
    /// `USING`
    pub using: Option<SqlExpr>,
    /// `WITH CHECK`
    pub check: Option<SqlExpr>,
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
