//! `CREATE`, `ALTER` and `DROP DATABASE`.
//!
//! ```text
//!   one folder   one log, one order of commits, one history, roles for all
//!     postgres     schemas, tables ...      sessions see the schemas of one database,
//!     shop         schemas, tables ...      and those of the system
//! ```
//!
//! A database is dropped or renamed when no other session is connected to it. A session that has just ended
//! may still be registered, and is waited for. A session that begins in the same moment finds out by
//! itself: its database is not in the catalog that it sees next (`Session::see_catalog`).

use ::table::catalog::POSTGRES_DATABASE;
use ::table::catalog::ddl::DatabaseChange;
use sql::parse::ast::{DatabaseOption, Name, ObjectKind, Path};
use types::{Oid, SqlState};

use super::DdlContext;
use super::drop::address;
use crate::error::{Error, Result};
use crate::functions::{pause, require_signal};
use crate::instance::Stop;
use crate::settings::value::bool_of;

/// How often it is looked whether others have left, and how far between, in microseconds.
const LOOKS: u32 = 500;
const PAUSE_US: u64 = 10_000;

/// `CREATE DATABASE`
pub fn create(
    maker: &mut DdlContext<'_, '_>,
    name: &Name,
    options: &[DatabaseOption],
) -> Result<()> {
    let mut owner = maker.names.role;
    let mut template = None;
    let mut rest = Vec::new();
    for option in options {
        let value = option.value.as_deref();
        match (option.name.text.as_str(), value) {
            ("owner", Some(value)) => {
                owner = maker.role(&Name { text: value.to_owned(), at: option.name.at })?;
            }
            ("template", Some(value)) => {
                let found = maker.catalog().database_named(value).map(|database| database.oid);
                template = Some(found.ok_or_else(|| {
                    let message = format!("template database \"{value}\" does not exist");
                    Error::new(SqlState::INVALID_CATALOG_NAME, message)
                })?);
            }
            ("owner" | "template", None) => {}
            ("encoding", Some(value)) => {
                let plain = value.to_lowercase().replace(['-', '_'], "");
                if !matches!(plain.as_str(), "utf8" | "unicode" | "6") {
                    let message = format!("the encoding \"{value}\" is not supported");
                    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                    return Err(error.hint("All databases are in UTF8."));
                }
            }
            ("tablespace", Some(value)) if value != "pg_default" => {
                let message = format!("tablespace \"{value}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
            // Text is compared by its bytes, whatever a locale is called.
            (
                "encoding" | "tablespace" | "strategy" | "locale" | "lc_collate" | "lc_ctype"
                | "locale_provider" | "builtin_locale" | "icu_locale" | "icu_rules"
                | "collation_version" | "oid",
                _,
            ) => {}
            _ => rest.push(option),
        }
    }
    let change = change(maker, &rest)?;
    maker.ddl.create_database(&name.text, owner, template, change)?;
    Ok(())
}

/// `ALTER DATABASE name options`
pub fn alter(
    maker: &mut DdlContext<'_, '_>,
    name: &Name,
    options: &[DatabaseOption],
) -> Result<()> {
    let database = named(maker, name)?;
    let change = change(maker, &options.iter().collect::<Vec<_>>())?;
    Ok(maker.ddl.change_database(database, change)?)
}

/// The changes that the options ask for, where they may be given for every database.
fn change(maker: &DdlContext<'_, '_>, options: &[&DatabaseOption]) -> Result<DatabaseChange> {
    let mut change = DatabaseChange::default();
    for option in options {
        let (name, value) = (option.name.text.as_str(), option.value.as_deref());
        let yes_or_no = |otherwise: bool| match value {
            None => Ok(Some(otherwise)),
            Some(value) => bool_of(value).map(Some).ok_or_else(|| {
                Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a Boolean value"))
            }),
        };
        match name {
            "connection_limit" => {
                let limit = value.map_or(Ok(-1), str::parse).ok().filter(|limit| *limit >= -1);
                change.connection_limit = Some(limit.ok_or_else(|| {
                    let value = value.unwrap_or_default();
                    let message = format!("invalid connection limit: {value}");
                    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                })?);
            }
            "is_template" => change.is_template = yes_or_no(false)?,
            "allow_connections" => change.allows_connections = yes_or_no(true)?,
            _ => {
                let message = format!("option \"{name}\" not recognized");
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Err(maker.at(error, Some(option.name.at)));
            }
        }
    }
    Ok(change)
}

/// `ALTER DATABASE name RENAME TO name`
pub fn rename(maker: &mut DdlContext<'_, '_>, path: &Path, to: &Name) -> Result<()> {
    let object = address(maker, ObjectKind::Database, path)?;
    keep_first(object.oid, "renamed")?;
    maker.ddl.rename(object, &to.text)?;
    await_others(maker, object.oid, path.last(), false)
}

/// `DROP DATABASE`
pub fn drop(
    maker: &mut DdlContext<'_, '_>,
    name: &Name,
    if_exists: bool,
    force: bool,
) -> Result<()> {
    let database = match named(maker, name) {
        Ok(database) => database,
        Err(error) if if_exists => {
            maker.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    maker.ddl.may_drop_database(database)?;
    keep_first(database, "dropped")?;
    // A session that ends drops its temporary tables before the database is dropped.
    await_others(maker, database, &name.text, force)?;
    Ok(maker.ddl.drop_database(database)?)
}

fn named(maker: &DdlContext<'_, '_>, name: &Name) -> Result<Oid> {
    let path = Path { parts: vec![name.clone()] };
    Ok(address(maker, ObjectKind::Database, &path)?.oid)
}

/// The first database is where the HTTP server and sessions in the same process are.
fn keep_first(database: Oid, what: &str) -> Result<()> {
    if database != POSTGRES_DATABASE {
        return Ok(());
    }
    let message = format!("the database \"postgres\" cannot be {what}");
    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    Err(error.detail("The HTTP server and sessions in the server's own process use it."))
}

/// Waits until no other session is connected to a database. With `force` their sessions are ended, also those
/// that begin meanwhile.
///
/// # Errors
/// `55006` where a session stays, `42501` where the role may not terminate the connected
/// sessions.
fn await_others(maker: &DdlContext<'_, '_>, database: Oid, name: &str, force: bool) -> Result<()> {
    let client = maker.around.client;
    let others = || {
        let mut sessions = client.instance.sessions();
        sessions.retain(|slot| slot.database == database && slot.process != client.slot.process);
        sessions
    };
    for _ in 0..LOOKS {
        let left = others();
        if left.is_empty() {
            return Ok(());
        }
        if force {
            let stop = Stop::Terminated;
            left.iter().try_for_each(|slot| require_signal(&maker.names, slot, stop))?;
            left.iter().for_each(|slot| slot.stop(stop));
        }
        pause(client, PAUSE_US)?;
    }
    let count = others().len();
    let message = format!("database \"{name}\" is being accessed by other users");
    let detail = match count {
        1 => "There is 1 other session using the database.".to_owned(),
        count => format!("There are {count} other sessions using the database."),
    };
    Err(Error::new(SqlState::OBJECT_IN_USE, message).detail(detail))
}
