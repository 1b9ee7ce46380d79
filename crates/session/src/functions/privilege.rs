//! `has_table_privilege` and the like: the rights of a role on an object.
//!
//! ```text
//!   has_table_privilege([role,] table, 'SELECT, INSERT WITH GRANT OPTION')     true for any of them
//! ```

use std::sync::Arc;

use table::catalog::{Address, Class, Database, Privileges};
use types::{Datum, DatumRef, Error, Objects, Oid, Result, SqlState, Type};

use super::{oid, text};
use crate::client::StatementContext;
use crate::names::Names;
use crate::rights::Rights;

/// The objects that a function is about: the class, and the type that finds them by name.
fn subject(name: &str) -> Option<(Class, Type)> {
    Some(match name {
        "has_table_privilege"
        | "has_any_column_privilege"
        | "has_sequence_privilege"
        | "has_column_privilege" => (Class::Relation, Type::REGCLASS),
        "has_schema_privilege" => (Class::Schema, Type::REGNAMESPACE),
        "has_type_privilege" => (Class::Type, Type::REGTYPE),
        "has_database_privilege" => (Class::Database, Type::NONE),
        _ => return None,
    })
}

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    if name == "pg_has_role" {
        return has_role(around, args).map(Some);
    }
    if [
        "has_function_privilege",
        "has_language_privilege",
        "has_tablespace_privilege",
        "has_foreign_data_wrapper_privilege",
        "has_server_privilege",
        "has_parameter_privilege",
    ]
    .contains(&name)
    {
        return Ok(Some(Datum::Bool(true)));
    }
    let Some((class, by_name)) = subject(name) else { return Ok(None) };
    let of_column = name == "has_column_privilege";
    let own = if of_column { 3 } else { 2 };
    let (role, rest) = match args.len() == own {
        true => (role_named(around, &around.identity.user)?, args),
        false => (role_of(around, args[0])?, &args[1..]),
    };
    let object = match (rest[0], by_name) {
        (DatumRef::Oid(oid), _) => oid,
        (DatumRef::Text(name), Type::NONE) => database(&around.names, name)?.oid,
        (DatumRef::Text(name), by_name) => Objects::oid(&*around.names, by_name, name)?,
        _ => Oid::NONE,
    };
    let mut address = Address::of(class, object);
    if of_column {
        let relation = around.names.catalog.relation(object);
        address.sub = match (rest[1], relation) {
            // The answer for a missing column is NULL.
            (DatumRef::Int2(attnum @ 1..), Some(relation)) if relation.column(attnum).is_none() => {
                return Ok(Some(Datum::Null));
            }
            (DatumRef::Int2(attnum), _) => attnum,
            (_, None) => 0,
            (DatumRef::Text("ctid" | "xmin" | "cmin" | "xmax" | "cmax" | "tableoid"), _) => 0,
            (_, Some(relation)) => {
                let name = text(rest, 1);
                let found = relation.column_named(name).ok_or_else(|| {
                    let relation = &relation.name;
                    let message =
                        format!("column \"{name}\" of relation \"{relation}\" does not exist");
                    Error::new(SqlState::UNDEFINED_COLUMN, message)
                })?;
                found.attnum
            }
        };
    }
    let wanted = text(rest, rest.len() - 1);
    let rights = Rights::of(&around.names).of_role(role);
    for part in wanted.split(',') {
        let part = part.trim();
        let upper = part.to_ascii_uppercase();
        let bare = upper.strip_suffix(" WITH GRANT OPTION").unwrap_or(&upper).trim();
        let Some(privilege) = Privileges::named(bare) else {
            let message = format!("unrecognized privilege type: \"{part}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        let grant_option = bare != upper;
        let has = |address| match grant_option {
            false => rights.has(address, privilege),
            true => rights.may_grant(address, privilege),
        };
        let on_column = || match rights.catalog.relation(object) {
            Some(relation) if name == "has_any_column_privilege" => {
                relation.live_columns().any(|column| has(Address::column(object, column.attnum)))
            }
            _ => address.sub != 0 && has(address),
        };
        if has(address.whole()) || on_column() {
            return Ok(Some(Datum::Bool(true)));
        }
    }
    Ok(Some(Datum::Bool(false)))
}

fn role_named(around: &StatementContext<'_>, name: &str) -> Result<Oid> {
    around.names.catalog.role_named(name).map(|role| role.oid).ok_or_else(|| {
        let message = format!("role \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// The database with this name.
///
/// # Errors
/// `3D000` where there is none.
pub(super) fn database<'n>(names: &'n Names, name: &str) -> Result<&'n Arc<Database>> {
    names.present.database_named(name).ok_or_else(|| {
        let message = format!("database \"{name}\" does not exist");
        Error::new(SqlState::INVALID_CATALOG_NAME, message)
    })
}

fn role_of(around: &StatementContext<'_>, role: DatumRef<'_>) -> Result<Oid> {
    match role {
        DatumRef::Oid(oid) => Ok(oid),
        DatumRef::Text("public") => Ok(Oid::NONE),
        DatumRef::Text(name) => role_named(around, name),
        _ => Ok(Oid::NONE),
    }
}

fn has_role(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
    let (member, rest) = match args.len() {
        3 => (role_of(around, args[0])?, &args[1..]),
        _ => (role_named(around, &around.identity.user)?, args),
    };
    let role = match rest[0] {
        DatumRef::Oid(_) => oid(rest, 0),
        other => role_of(around, other)?,
    };
    let catalog = &around.names.catalog;
    Ok(Datum::Bool(match text(rest, 1).to_ascii_uppercase().as_str() {
        "USAGE" => catalog.has_privileges_of(member, role, around.names.database),
        "SET" => catalog.may_set_role(member, role),
        _ => catalog.is_superuser(member) || catalog.is_member_of(member, role),
    }))
}
