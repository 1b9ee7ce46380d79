//! `CREATE EXTENSION`, `ALTER EXTENSION`, and the names of extensions.

use ::table::catalog::{Address, Class, Extension};
use sql::parse::ast::Name;
use types::{SqlState, extension};

use super::DdlContext;
use crate::error::{Error, Result};

/// Extensions that need not be made, because tables `USING columnar` and `USING rowcompress` are built in.
const BUILT_IN: [&str; 3] = ["storage_engine", "columnar", "citus_columnar"];

/// `CREATE EXTENSION`
///
/// # Errors
/// 0A000 if there is no such extension, 22023 if there is no such version, 42710 if the database has it.
pub fn create(
    maker: &mut DdlContext<'_, '_>,
    name: &Name,
    if_not_exists: bool,
    schema: Option<&Name>,
    version: Option<&str>,
) -> Result<()> {
    let name = &*name.text;
    if BUILT_IN.contains(&name) {
        let message = format!("extension \"{name}\" is built in, skipping");
        maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        return Ok(());
    }
    if name == extension::PLPGSQL.name || find(maker, name).is_some() {
        let message = format!("extension \"{name}\" already exists");
        if if_not_exists {
            maker.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    let Some(known) = extension::named(name) else {
        let message = format!("extension \"{name}\" is not available");
        let hint =
            "The extension must first be installed on the system where PostgreSQL is running.";
        let names: Vec<&str> = extension::ALL.iter().map(|known| known.name).collect();
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail(format!("Available are {}.", names.join(", ")))
            .hint(hint));
    };
    if let Some(version) = version.filter(|version| *version != known.version) {
        let message = format!(
            "extension \"{name}\" has no installation script nor update path for version \
             \"{version}\""
        );
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let schema = match schema {
        Some(schema) => maker.schema(schema)?,
        None => *maker.names.explicit.first().ok_or_else(|| {
            let message = "no schema has been selected to create in";
            Error::new(SqlState::INVALID_SCHEMA_NAME, message)
        })?,
    };
    maker.ddl.create_extension(known, schema)?;
    Ok(())
}

/// `ALTER EXTENSION ... UPDATE`: each extension has one version, so there is nothing to do.
///
/// # Errors
/// 22023 for another version.
pub fn update(maker: &mut DdlContext<'_, '_>, name: &Name, version: Option<&str>) -> Result<()> {
    let has = if name.text == extension::PLPGSQL.name {
        extension::PLPGSQL.version.into()
    } else {
        let extension = find(maker, &name.text).ok_or_else(|| missing(&name.text))?.clone();
        maker.ddl.check_extension_owner(&extension)?;
        extension.version.clone()
    };
    if let Some(version) = version.filter(|version| **version != *has) {
        let message = format!(
            "extension \"{}\" has no update path from version \"{has}\" to version \"{version}\"",
            name.text
        );
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let message = format!("version \"{has}\" of extension \"{}\" is already installed", name.text);
    maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
    Ok(())
}

/// The extension that a command names.
///
/// # Errors
/// 42704 if the database does not have it.
pub fn address(maker: &DdlContext<'_, '_>, name: &Name) -> Result<Address> {
    if name.text == extension::PLPGSQL.name {
        return Ok(Address::of(Class::Extension, extension::PLPGSQL_OID));
    }
    let extension = find(maker, &name.text).ok_or_else(|| missing(&name.text))?;
    Ok(Address::of(Class::Extension, extension.oid))
}

fn find<'m>(maker: &'m DdlContext<'_, '_>, name: &str) -> Option<&'m std::sync::Arc<Extension>> {
    maker.catalog().extension_named(maker.names.database, name)
}

fn missing(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{name}\" does not exist"))
}
