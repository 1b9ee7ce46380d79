//! Sequences, schemas, types, comments, and the names and owners of all objects.

use std::sync::Arc;

use ::table::catalog::ddl::{LabelPlace, NewColumn, SequenceOptions};
use ::table::catalog::{Address, Class, IndexMethod};
use scalar::registry;
use sql::parse::ast::{EnumChange, Name, ObjectKind, Path, SequenceOption, TypeName};
use types::{Oid, SqlState, Type, TypeSource};

use super::DdlContext;
use super::drop::address;
use crate::error::{Error, Result};
use crate::system::{class_of, named_class};

// --- sequences -----------------------------------------------------------------------------------

/// The options of a sequence.
pub fn sequence_options(
    maker: &DdlContext<'_, '_>,
    options: &[SequenceOption],
) -> Result<SequenceOptions> {
    let mut said = SequenceOptions::default();
    for option in options {
        match option {
            SequenceOption::Type(ty) => said.data_type = Some(maker.type_of(ty)?.0),
            SequenceOption::Increment(by) => said.increment = Some(*by),
            SequenceOption::Min(min) => said.min = Some(*min),
            SequenceOption::Max(max) => said.max = Some(*max),
            SequenceOption::Start(start) => said.start = Some(*start),
            SequenceOption::Cache(cache) => said.cache = Some(*cache),
            SequenceOption::Cycle(cycle) => said.cycle = Some(*cycle),
            SequenceOption::Restart(_) | SequenceOption::OwnedBy(_) | SequenceOption::Name(_) => {}
        }
    }
    Ok(said)
}

/// `CREATE SEQUENCE`
pub fn create_sequence(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    if_not_exists: bool,
    temporary: bool,
    options: &[SequenceOption],
) -> Result<()> {
    let (schema, name, persistence) = maker.new_relation(path, temporary)?;
    if if_not_exists && maker.catalog().relation_named(schema, name).is_some() {
        let message = format!("relation \"{name}\" already exists, skipping");
        maker.notice(SqlState::DUPLICATE_TABLE, message);
        return Ok(());
    }
    let said = sequence_options(maker, options)?;
    let made = maker.ddl.create_sequence(schema, name, persistence, &said)?;
    own(maker, made.oid, options)
}

/// `ALTER SEQUENCE`
pub fn alter_sequence(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    if_exists: bool,
    options: &[SequenceOption],
) -> Result<()> {
    let Some(relation) = maker.find(path)? else {
        if if_exists {
            let message = format!("relation \"{path}\" does not exist, skipping");
            maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        return Err(maker.no_relation(path));
    };
    let said = sequence_options(maker, options)?;
    let changed = maker.ddl.alter_sequence(relation.oid, &said)?;
    for option in options {
        if let SequenceOption::Restart(value) = option {
            let last = value.or(changed.sequence().map(|sequence| sequence.start)).unwrap_or(1);
            maker.around.client.instance.sequences.restart(&changed, last)?;
        }
    }
    own(maker, relation.oid, options)
}

/// `OWNED BY`
fn own(maker: &mut DdlContext<'_, '_>, sequence: Oid, options: &[SequenceOption]) -> Result<()> {
    for option in options {
        let SequenceOption::OwnedBy(column) = option else { continue };
        let column = match column {
            None => None,
            Some(path) if path.parts.len() < 2 => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option");
                return Err(error.hint("Specify OWNED BY table.column or OWNED BY NONE."));
            }
            Some(path) => {
                let object = address(maker, ObjectKind::Column, path)?;
                Some((object.oid, object.sub))
            }
        };
        maker.ddl.own_sequence(sequence, column)?;
    }
    Ok(())
}

// --- schemas -------------------------------------------------------------------------------------

/// `CREATE SCHEMA`. Returns the schema; none if it was there.
pub fn create_schema(
    maker: &mut DdlContext<'_, '_>,
    name: Option<&Name>,
    if_not_exists: bool,
    owner: Option<&Name>,
) -> Result<Option<Oid>> {
    let user = match owner {
        Some(owner) => maker.role(owner)?,
        None => {
            maker.catalog().role_named(&maker.around.identity.user).map_or(Oid(10), |role| role.oid)
        }
    };
    let name = match (name, owner) {
        (Some(name), _) => name.text.clone(),
        (None, Some(_)) => {
            maker.catalog().role(user).map_or(String::new(), |role| role.name.to_string())
        }
        (None, None) => maker.around.identity.user.to_string(),
    };
    if if_not_exists && maker.names.schema_oid(&name).is_some() {
        let message = format!("schema \"{name}\" already exists, skipping");
        maker.notice(SqlState::DUPLICATE_SCHEMA, message);
        return Ok(None);
    }
    Ok(Some(maker.ddl.create_schema(&name, user)?.oid))
}

// --- types ---------------------------------------------------------------------------------------

/// `CREATE TYPE ... AS ENUM`
pub fn create_enum(maker: &mut DdlContext<'_, '_>, path: &Path, labels: &[String]) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let labels: Vec<Arc<str>> = labels.iter().map(|label| label.as_str().into()).collect();
    maker.ddl.create_enum(schema, name, &labels)?;
    Ok(())
}

/// `CREATE TYPE ... AS RANGE`
pub fn create_range(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    (subtype, collation): (&TypeName, Option<&Path>),
    (class, difference): (Option<&Path>, Option<&Path>),
    multirange: Option<&Path>,
) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let (element, _) = maker.type_of(subtype)?;
    let collation = super::table::collation(maker, collation, element)?;
    let refuse = |state, message: String| Err(types::Error::new(state, message).into());
    let known = collation.and_then(|oid| sql::bind::Names::collation(&*maker.names, oid));
    if known.is_some_and(|known| known.locale.is_some()) {
        let message = "a range type with the collation of a locale is not supported".to_owned();
        return refuse(SqlState::FEATURE_NOT_SUPPORTED, message);
    }
    if let Some(class) = class {
        let (schema, name) = maker.names.split(class)?;
        let origins = maker.names.origins_of(schema);
        named_class(&*maker.names, element, IndexMethod::Btree, name, origins)?;
    } else if class_of(&*maker.names, element, IndexMethod::Btree, None).is_none() {
        let name = (&*maker.names as &dyn TypeSource).name_of(element);
        let message =
            format!("data type {name} has no default operator class for access method \"btree\"");
        return refuse(SqlState::UNDEFINED_OBJECT, message);
    }
    let difference = match difference {
        None => Oid::NONE,
        Some(path) => {
            let mut known = registry::functions(path.last()).iter();
            match known.find(|function| function.args == [element, element]) {
                Some(function) if function.ret == Type::FLOAT8 => function.oid,
                Some(_) => {
                    let message = format!(
                        "range subtype diff function {path} must return type double precision"
                    );
                    return refuse(SqlState::INVALID_OBJECT_DEFINITION, message);
                }
                None => {
                    let ty = (&*maker.names as &dyn TypeSource).name_of(element);
                    let message = format!("function {path}({ty}, {ty}) does not exist");
                    return refuse(SqlState::UNDEFINED_FUNCTION, message);
                }
            }
        }
    };
    let multirange = multirange.map(|path| maker.new_name(path)).transpose()?;
    maker.ddl.create_range(schema, name, (element, collation, difference), multirange)?;
    Ok(())
}

/// `CREATE TYPE ... AS (...)`
pub fn create_composite(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    fields: &[(Name, TypeName, Option<Path>)],
) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let mut columns = Vec::new();
    for (field, ty, collation) in fields {
        let (ty, modifier) = maker.type_of(ty)?;
        let mut column = NewColumn::new(&field.text, ty);
        column.collation = super::table::collation(maker, collation.as_ref(), ty)?;
        column.modifier = modifier;
        columns.push(column);
    }
    maker.ddl.create_composite_type(schema, name, columns)?;
    Ok(())
}

/// `ALTER TYPE ... VALUE`
pub fn alter_enum(maker: &mut DdlContext<'_, '_>, path: &Path, change: &EnumChange) -> Result<()> {
    let ty = maker.user_type(path)?;
    match change {
        EnumChange::Add { label, if_not_exists, next_to } => {
            let known = match types::TypeSource::shape(&*maker.names, ty) {
                Some(types::Shape::Enum(labels)) => labels.order(label).is_some(),
                _ => false,
            };
            if known && *if_not_exists {
                let message = format!("enum label \"{label}\" already exists, skipping");
                maker.notice(SqlState::DUPLICATE_OBJECT, message);
                return Ok(());
            }
            let place = match next_to {
                None => LabelPlace::Last,
                Some((other, true)) => LabelPlace::Before(other.as_str().into()),
                Some((other, false)) => LabelPlace::After(other.as_str().into()),
            };
            maker.ddl.add_label(ty, &label.as_str().into(), &place)?;
        }
        EnumChange::Rename(old, new) => {
            maker.ddl.rename_label(ty, old, &new.as_str().into())?;
        }
    }
    Ok(())
}

// --- names, owners, comments ---------------------------------------------------------------------

/// `ALTER ... RENAME TO`
pub fn rename(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    path: &Path,
    to: &Name,
) -> Result<()> {
    if kind == ObjectKind::Database {
        return super::database::rename(maker, path, to);
    }
    let object = type_address(maker, kind, path)?;
    Ok(maker.ddl.rename(object, &to.text)?)
}

/// `ALTER ... OWNER TO`
pub fn set_owner(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    path: &Path,
    to: &Name,
) -> Result<()> {
    let object = type_address(maker, kind, path)?;
    let owner = maker.role(to)?;
    Ok(maker.ddl.set_owner(object, owner)?)
}

/// `ALTER ... SET SCHEMA`
pub fn set_schema(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    path: &Path,
    to: &Name,
) -> Result<()> {
    let object = type_address(maker, kind, path)?;
    let schema = maker.schema(to)?;
    Ok(maker.ddl.set_schema(object, schema)?)
}

/// A type is named as a type, also where it is a composite one.
fn type_address(maker: &DdlContext<'_, '_>, kind: ObjectKind, path: &Path) -> Result<Address> {
    match kind {
        ObjectKind::Type => Ok(Address::of(Class::Type, maker.user_type(path)?.oid())),
        _ => address(maker, kind, path),
    }
}

/// `COMMENT ON`
pub fn comment(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    path: &Path,
    text: Option<&str>,
) -> Result<()> {
    let object = address(maker, kind, path)?;
    Ok(maker.ddl.comment(object, text)?)
}
