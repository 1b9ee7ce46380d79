//! `DROP` and `TRUNCATE`.

use std::sync::Arc;

use ::table::catalog::ddl::Behavior;
use ::table::catalog::{Address, Class, ConstraintOn};
use sql::parse::ast::{ObjectKind, Path};
use types::SqlState;

use super::{DdlContext, improper, partition};
use crate::error::{Error, Result};

/// How others that depend on what is dropped are treated.
pub fn behavior(cascade: bool) -> Behavior {
    if cascade { Behavior::Cascade } else { Behavior::Restrict }
}

/// `DROP kind names`
pub fn drop_objects(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    names: &[Path],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut objects = Vec::new();
    for name in names {
        match address(maker, kind, name) {
            Ok(object) => objects.push(object),
            Err(error) if if_exists && is_missing(&error) => {
                let message = match error.state() {
                    SqlState::INVALID_SCHEMA_NAME if kind != ObjectKind::Schema => {
                        error.message().to_owned()
                    }
                    _ if kind == ObjectKind::Policy => error.message().to_owned(),
                    _ => format!("{} \"{name}\" does not exist", kind.word().to_lowercase()),
                };
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
            }
            Err(error) => return Err(error),
        }
    }
    if objects.is_empty() {
        return Ok(());
    }
    match kind {
        ObjectKind::Role => {
            let roles: Vec<_> = objects.iter().map(|object| object.oid).collect();
            maker.ddl.drop_roles(&roles)?;
        }
        _ => {
            let mut gone = Vec::new();
            for object in objects.iter().filter(|object| object.class == Class::Relation) {
                let name = maker.catalog().relation(object.oid).map(|it| Arc::clone(&it.name));
                gone.extend(name.map(|name| (name, partition::referring(maker, object.oid))));
            }
            let notice = maker.ddl.drop_objects(&objects, behavior(cascade))?;
            maker.tell(notice);
            gone.retain(|(_, referring)| !referring.is_empty());
            if !gone.is_empty() {
                maker.see();
            }
            for (name, referring) in gone {
                partition::check_referring(maker, &name, &referring)?;
            }
        }
    }
    Ok(())
}

/// True for errors that say that something is not there.
fn is_missing(error: &Error) -> bool {
    matches!(
        error.state(),
        SqlState::UNDEFINED_TABLE
            | SqlState::UNDEFINED_OBJECT
            | SqlState::INVALID_SCHEMA_NAME
            | SqlState::INVALID_CATALOG_NAME
    )
}

/// The object that a command names.
///
/// # Errors
/// `42P01`, `42704`, `3F000` or `3D000` where it is not there, `42809` where it is something else.
pub fn address(maker: &DdlContext<'_, '_>, kind: ObjectKind, path: &Path) -> Result<Address> {
    let single = || match path.parts.as_slice() {
        [name] => Ok(name),
        _ => Err(improper(path)),
    };
    let missing = |state, message: String| Err(Error::new(state, message));
    Ok(match kind {
        ObjectKind::Table
        | ObjectKind::Index
        | ObjectKind::View
        | ObjectKind::MaterializedView
        | ObjectKind::Sequence => {
            let what = kind.word().to_lowercase();
            let Some(relation) = maker.find(path)? else {
                let error = maker.no_relation(path);
                if error.state() != SqlState::UNDEFINED_TABLE {
                    return Err(error);
                }
                let state = match kind {
                    ObjectKind::Index => SqlState::UNDEFINED_OBJECT,
                    _ => SqlState::UNDEFINED_TABLE,
                };
                return missing(state, format!("{what} \"{path}\" does not exist"));
            };
            if relation.kind_name() != what {
                let article = if kind == ObjectKind::Index { "an" } else { "a" };
                let message = format!("\"{}\" is not {article} {what}", relation.name);
                let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
                let hint = match relation.kind_name() {
                    "table" => "Use DROP TABLE to remove a table.",
                    "view" => "Use DROP VIEW to remove a view.",
                    "materialized view" => {
                        "Use DROP MATERIALIZED VIEW to remove a materialized view."
                    }
                    "index" => "Use DROP INDEX to remove an index.",
                    "sequence" => "Use DROP SEQUENCE to remove a sequence.",
                    _ => "Use DROP TYPE to remove a type.",
                };
                return Err(error.hint(hint));
            }
            Address::relation(relation.oid)
        }
        ObjectKind::Schema => Address::of(Class::Schema, maker.schema(single()?)?),
        ObjectKind::Type | ObjectKind::Domain => {
            let ty = maker.user_type(path)?;
            let is_domain = matches!(
                types::TypeSource::shape(&*maker.names, ty),
                Some(types::Shape::Domain(..))
            );
            if kind == ObjectKind::Domain && !is_domain {
                let message = format!("\"{path}\" is not a domain");
                return missing(SqlState::WRONG_OBJECT_TYPE, message);
            }
            match maker.catalog().type_entry(ty) {
                Some(::table::catalog::TypeEntry::Row(relation))
                    if maker.catalog().is_composite_type(ty) =>
                {
                    Address::relation(relation.oid)
                }
                _ => Address::of(Class::Type, ty.oid()),
            }
        }
        ObjectKind::Role => Address::of(Class::Role, maker.role(single()?)?),
        ObjectKind::Collation => {
            let oid = super::collation::find(maker, path)?;
            super::collation::require_own(oid, path)?;
            Address::of(Class::Collation, oid)
        }
        ObjectKind::Extension => super::extension::address(maker, single()?)?,
        ObjectKind::Database => {
            let name = single()?;
            match maker.catalog().database_named(&name.text) {
                Some(database) => Address::of(Class::Database, database.oid),
                None => {
                    let message = format!("database \"{}\" does not exist", name.text);
                    return missing(SqlState::INVALID_CATALOG_NAME, message);
                }
            }
        }
        ObjectKind::Column => {
            let (table, column) = split(path)?;
            let relation = maker.relation(&table)?;
            match relation.column_named(&column) {
                Some(column) => Address::column(relation.oid, column.attnum),
                None => {
                    let message = format!(
                        "column \"{column}\" of relation \"{}\" does not exist",
                        relation.name
                    );
                    return missing(SqlState::UNDEFINED_COLUMN, message);
                }
            }
        }
        ObjectKind::Policy => {
            let (table, name) = split(path)?;
            Address::of(Class::Policy, super::policy::find(maker, &table, &name)?)
        }
        ObjectKind::Constraint | ObjectKind::DomainConstraint => {
            let (owner, name) = split(path)?;
            let (on, what) = if kind == ObjectKind::Constraint {
                let relation = maker.relation(&owner)?;
                (ConstraintOn::Table(relation.oid), format!("table \"{owner}\""))
            } else {
                (ConstraintOn::Domain(maker.user_type(&owner)?), format!("domain {owner}"))
            };
            let all = maker.catalog().constraints_of(on);
            match all.iter().find(|known| *known.name == *name) {
                Some(constraint) => Address::of(Class::Constraint, constraint.oid),
                None => {
                    let message = format!("constraint \"{name}\" for {what} does not exist");
                    return missing(SqlState::UNDEFINED_OBJECT, message);
                }
            }
        }
    })
}

/// The name of a table and, after it, that of a part of it.
fn split(path: &Path) -> Result<(Path, String)> {
    let (last, table) = path.parts.split_last().ok_or_else(|| improper(path))?;
    if table.is_empty() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "column name must be qualified"));
    }
    Ok((Path { parts: table.to_vec() }, last.text.clone()))
}

/// `TRUNCATE`
pub fn truncate(
    maker: &mut DdlContext<'_, '_>,
    tables: &[(Path, bool)],
    restart: bool,
    cascade: bool,
) -> Result<()> {
    let mut oids = Vec::new();
    for (path, only) in tables {
        let relation = maker.relation(path)?;
        if *only && relation.partitioning().is_some() {
            let message = "cannot truncate only a partitioned table";
            let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(error.hint(
                "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.",
            ));
        }
        if !relation.is_plain_table() {
            let message = format!("\"{}\" is not a table", relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let tree = maker.catalog().partition_tree(relation.oid);
        oids.extend(tree.into_iter().filter(|oid| !oids.contains(oid)).collect::<Vec<_>>());
    }
    if cascade {
        let all = maker.ddl.truncate_cascade(&oids);
        for oid in all.iter().filter(|oid| !oids.contains(oid)) {
            let name = maker.catalog().relation(*oid).map_or("", |relation| &relation.name);
            maker.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("truncate cascades to table \"{name}\""),
            );
        }
        oids = all;
    }
    Ok(maker.ddl.truncate(&oids, restart)?)
}
