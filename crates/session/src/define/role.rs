//! Roles, their settings, privileges and memberships.

use std::sync::Arc;

use ::table::catalog::ddl::{Grant, MembershipChange, RoleChange};
use ::table::catalog::{Address, Class, Privileges, RelationKind};
use sql::parse::ast::{self, GrantOn, Name, ObjectKind, Path, RoleOption, SetValue};
use types::{Modifier, Oid, SqlState, Type};

use super::DdlContext;
use super::drop::{address, behavior};
use crate::command::setting_text;
use crate::error::{Error, Result, Severity};
use crate::instance::now;
use crate::settings::{Extent, Settings};

/// The change that the options of a role ask for.
fn change(maker: &DdlContext<'_, '_>, options: &[RoleOption]) -> Result<RoleChange> {
    let mut said = RoleChange::default();
    for option in options {
        match option {
            RoleOption::Flag(flag, on) => {
                let flag = match *flag {
                    "superuser" => &mut said.superuser,
                    "createdb" => &mut said.create_db,
                    "createrole" => &mut said.create_role,
                    "inherit" => &mut said.inherit,
                    "login" => &mut said.login,
                    "replication" => &mut said.replication,
                    _ => &mut said.bypass_rls,
                };
                if flag.is_some() {
                    let message = "conflicting or redundant options";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                *flag = Some(*on);
            }
            RoleOption::Password(None) => said.password = Some(None),
            RoleOption::Password(Some(password)) => {
                said.password = Some(verifier(maker, password)?);
            }
            RoleOption::ConnectionLimit(limit) => {
                said.connection_limit = Some(i32::try_from(*limit).unwrap_or(i32::MAX));
            }
            RoleOption::ValidUntil(text) => {
                let context = maker.context();
                let ty = Type::TIMESTAMPTZ;
                let value = types::text::parse(text, ty, Modifier::NONE, &context)?;
                said.valid_until_us = Some(match value {
                    types::Datum::TimestampTz(at) if at.0 != i64::MAX => Some(at.0),
                    _ => None,
                });
            }
            RoleOption::InRole(_) | RoleOption::Members(_) | RoleOption::Admins(_) => {}
        }
    }
    Ok(said)
}

/// The stored verifier of a password: a SCRAM verifier, never the password.
fn verifier(maker: &DdlContext<'_, '_>, password: &str) -> Result<Option<Arc<str>>> {
    if password.is_empty() {
        maker.around.client.notice(
            Severity::Notice,
            SqlState::SUCCESSFUL_COMPLETION,
            "empty string is not a valid password, clearing password",
        );
        return Ok(None);
    }
    if password.starts_with("SCRAM-SHA-256$") {
        return Ok(Some(password.into()));
    }
    let random = &maker.around.client.instance.env.random;
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&random.next_u64().to_le_bytes());
    salt[8..].copy_from_slice(&random.next_u64().to_le_bytes());
    let iterations = maker.around.client.settings.borrow().integer("scram_iterations");
    let iterations = u32::try_from(iterations).unwrap_or(4096).max(1);
    Ok(Some(crate::scram::verifier(password, &salt, iterations).into()))
}

/// `CREATE ROLE`
pub fn create(
    maker: &mut DdlContext<'_, '_>,
    name: &Name,
    login: bool,
    options: &[RoleOption],
) -> Result<()> {
    let mut said = change(maker, options)?;
    if login {
        said.login.get_or_insert(true);
    }
    let made = maker.ddl.create_role(&name.text, &said)?.oid;
    maker.see();
    let mut grants = Vec::new();
    for option in options {
        match option {
            RoleOption::InRole(roles) => {
                for role in roles {
                    grants.push((maker.role(role)?, made, None));
                }
            }
            RoleOption::Members(members) | RoleOption::Admins(members) => {
                let admin = matches!(option, RoleOption::Admins(_)).then_some(true);
                for member in members {
                    grants.push((made, maker.role(member)?, admin));
                }
            }
            _ => {}
        }
    }
    for (role, member, admin) in grants {
        let change = MembershipChange { admin, ..MembershipChange::default() };
        maker.ddl.grant_role(role, member, change)?;
    }
    Ok(())
}

/// `ALTER ROLE`
pub fn alter(maker: &mut DdlContext<'_, '_>, name: &Name, options: &[RoleOption]) -> Result<()> {
    let role = maker.role(name)?;
    let said = change(maker, options)?;
    Ok(maker.ddl.change_role(role, &said)?)
}

/// `DROP OWNED BY`
pub fn drop_owned(maker: &mut DdlContext<'_, '_>, roles: &[Name], cascade: bool) -> Result<()> {
    let roles = roles.iter().map(|role| maker.role(role)).collect::<Result<Vec<_>>>()?;
    let notice = maker.ddl.drop_owned(&roles, super::drop::behavior(cascade))?;
    maker.tell(notice);
    Ok(())
}

/// `REASSIGN OWNED BY`
pub fn reassign_owned(maker: &mut DdlContext<'_, '_>, roles: &[Name], to: &Name) -> Result<()> {
    let roles = roles.iter().map(|role| maker.role(role)).collect::<Result<Vec<_>>>()?;
    let to = maker.role(to)?;
    Ok(maker.ddl.reassign_owned(&roles, to)?)
}

/// `ALTER {ROLE | DATABASE} ... {SET | RESET}`
pub fn settings(
    maker: &mut DdlContext<'_, '_>,
    role: Option<&Name>,
    database: Option<&Name>,
    name: Option<&str>,
    values: &[SetValue],
) -> Result<()> {
    let role = match role {
        Some(role) => maker.role(role)?,
        None => Oid::NONE,
    };
    let database = match database {
        Some(name) => {
            let path = Path { parts: vec![name.clone()] };
            address(maker, ObjectKind::Database, &path)?.oid
        }
        None => Oid::NONE,
    };
    let text = match name {
        Some(name) => setting_text(name, values)?,
        None => None,
    };
    if let (Some(name), Some(text)) = (name, &text) {
        // A kept setting must be a value that the acting role may set.
        let client = maker.around.client;
        let mut trial = Settings::new(maker.names.is_superuser);
        trial.set_at(name, Some(text), Extent::Session, now(&client.instance.env))?;
    }
    let setting = name.map(|name| (name, text.as_deref()));
    Ok(maker.ddl.change_setting(database, role, setting)?)
}

/// The privileges that are named, on objects that have `all`.
fn named(names: &[(String, Vec<Name>)], all: Privileges, what: &str) -> Result<Privileges> {
    if names.is_empty() {
        return Ok(all);
    }
    let mut set = Privileges::NONE;
    for (name, _) in names {
        let one = if name == "all" { Some(all) } else { Privileges::named(name) };
        let Some(one) = one else {
            let message = format!("unrecognized privilege type \"{name}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        if !all.contains(one) {
            let message = format!("invalid privilege type {} for {what}", name.to_uppercase());
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        set = set | one;
    }
    Ok(set)
}

/// `GRANT` and `REVOKE` of privileges
pub fn privileges(maker: &mut DdlContext<'_, '_>, said: &ast::Privileges) -> Result<()> {
    let mut grantees = Vec::new();
    for role in &said.roles {
        grantees.push(match role {
            None => Oid::NONE,
            Some(role) => maker.role(role)?,
        });
    }
    for (object, all, what) in objects(maker, said)? {
        // Privileges for columns are given column by column, the others on the whole.
        let (whole, parts): (Vec<_>, Vec<_>) =
            said.privileges.iter().cloned().partition(|(_, columns)| columns.is_empty());
        if parts.is_empty() || !whole.is_empty() {
            let set = named(&whole, all, what)?;
            give(maker, object, set, &grantees, said)?;
        }
        for (name, columns) in parts {
            let set = named(&[(name, Vec::new())], Privileges::ALL_COLUMN, "column")?;
            for column in columns {
                let relation = maker.catalog().relation(object.oid).cloned();
                let found =
                    relation.as_ref().and_then(|relation| relation.column_named(&column.text));
                let Some(found) = found else {
                    let table = relation.map_or_else(String::new, |table| table.name.to_string());
                    let message = format!(
                        "column \"{}\" of relation \"{table}\" does not exist",
                        column.text
                    );
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                give(maker, Address::column(object.oid, found.attnum), set, &grantees, said)?;
            }
        }
    }
    Ok(())
}

/// `ALTER DEFAULT PRIVILEGES`
pub fn default_privileges(
    maker: &mut DdlContext<'_, '_>,
    said: &ast::DefaultPrivileges,
) -> Result<()> {
    let (all, what) = match said.kind {
        'r' => (Privileges::ALL_TABLE, "relation"),
        'S' => (Privileges::ALL_SEQUENCE, "sequence"),
        'T' => (Privileges::USAGE, "type"),
        'n' => (Privileges::ALL_SCHEMA, "schema"),
        _ => (Privileges::EXECUTE, "function"),
    };
    let given = &said.privileges;
    let privileges = named(&given.privileges, all, what)?;
    if said.kind == 'n' && !said.schemas.is_empty() {
        let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let mut grantees = Vec::new();
    for role in &given.roles {
        grantees.push(role.as_ref().map_or(Ok(Oid::NONE), |role| maker.role(role))?);
    }
    let mut roles = Vec::new();
    for role in &said.roles {
        roles.push(maker.role(role)?);
    }
    if roles.is_empty() {
        roles.push(maker.names.role);
    }
    let mut schemas = Vec::new();
    for schema in &said.schemas {
        schemas.push(maker.schema(schema)?);
    }
    if schemas.is_empty() {
        schemas.push(Oid::NONE);
    }
    let grant = Grant { privileges, grantees, grant_option: given.grant_option };
    for role in roles {
        for schema in &schemas {
            let behavior = behavior(given.cascade);
            let is_revoke = !given.grant;
            maker
                .ddl
                .change_default_privileges(role, *schema, said.kind, &grant, is_revoke, behavior)?;
        }
    }
    Ok(())
}

fn give(
    maker: &mut DdlContext<'_, '_>,
    object: Address,
    privileges: Privileges,
    grantees: &[Oid],
    said: &ast::Privileges,
) -> Result<()> {
    let grantees = grantees.to_vec();
    let grant = Grant { privileges, grantees, grant_option: said.grant_option };
    let notice = match said.grant {
        true => maker.ddl.grant(object, &grant)?,
        false => maker.ddl.revoke(object, &grant, behavior(said.cascade))?,
    };
    if let Some(notice) = notice {
        maker.around.client.notice(
            Severity::Warning,
            SqlState::PRIVILEGE_NOT_GRANTED,
            notice.message,
        );
    }
    Ok(())
}

/// The objects that are meant, what privileges there are on them, and what they are called.
fn objects(
    maker: &DdlContext<'_, '_>,
    said: &ast::Privileges,
) -> Result<Vec<(Address, Privileges, &'static str)>> {
    let mut found = Vec::new();
    for path in &said.objects {
        match said.on {
            GrantOn::Table => {
                let relation = maker.relation(path)?;
                let (all, what) = match relation.kind {
                    RelationKind::Sequence(_) => (Privileges::ALL_SEQUENCE, "sequence"),
                    _ => (Privileges::ALL_TABLE, "relation"),
                };
                found.push((Address::relation(relation.oid), all, what));
            }
            GrantOn::Sequence => {
                let object = address(maker, ObjectKind::Sequence, path)?;
                found.push((object, Privileges::ALL_SEQUENCE, "sequence"));
            }
            GrantOn::Schema => {
                let object = address(maker, ObjectKind::Schema, path)?;
                found.push((object, Privileges::ALL_SCHEMA, "schema"));
            }
            GrantOn::Database => {
                let object = address(maker, ObjectKind::Database, path)?;
                found.push((object, Privileges::ALL_DATABASE, "database"));
            }
            GrantOn::Type => {
                let ty = maker.user_type(path)?;
                found.push((Address::of(Class::Type, ty.oid()), Privileges::USAGE, "type"));
            }
            GrantOn::AllTables | GrantOn::AllSequences => {
                let schema = address(maker, ObjectKind::Schema, path)?.oid;
                let sequences = said.on == GrantOn::AllSequences;
                let mut all: Vec<Oid> = maker
                    .catalog()
                    .relations()
                    .filter(|relation| relation.schema == schema)
                    .filter(|relation| match relation.kind {
                        RelationKind::Table(_) | RelationKind::View(_) => !sequences,
                        RelationKind::Sequence(_) => sequences,
                        _ => false,
                    })
                    .map(|relation| relation.oid)
                    .collect();
                all.sort_unstable();
                let (set, what) = match sequences {
                    true => (Privileges::ALL_SEQUENCE, "sequence"),
                    false => (Privileges::ALL_TABLE, "relation"),
                };
                found.extend(all.into_iter().map(|oid| (Address::relation(oid), set, what)));
            }
        }
    }
    Ok(found)
}

/// `GRANT` and `REVOKE` of roles
pub fn membership(
    maker: &mut DdlContext<'_, '_>,
    grant: bool,
    roles: &[Name],
    members: &[Name],
    options: &[(String, bool)],
) -> Result<()> {
    let said =
        |name: &str| options.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let change =
        MembershipChange { admin: said("admin"), inherit: said("inherit"), set: said("set") };
    for role in roles {
        let role = maker.role(role)?;
        for member in members {
            let name = &member.text;
            let member = maker.role(member)?;
            if grant {
                maker.ddl.grant_role(role, member, change)?;
                continue;
            }
            let only = (!options.is_empty()).then_some(change);
            let known = maker.ddl.revoke_role(role, member, only, behavior(false))?;
            if !known {
                let of = maker.catalog().role(role).map_or("???", |role| &role.name);
                let user = &maker.around.identity.user;
                maker.around.client.notice(
                    Severity::Warning,
                    SqlState::WARNING,
                    format!(
                        "role \"{name}\" has not been granted membership in role \"{of}\" \
                         by role \"{user}\""
                    ),
                );
            }
        }
    }
    Ok(())
}
