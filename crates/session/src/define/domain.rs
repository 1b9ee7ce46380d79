//! `CREATE DOMAIN` and `ALTER DOMAIN`: the definition of a domain, and the check of stored values
//! against it.
//!
//! ```text
//!   ALTER DOMAIN posint ADD CHECK (value > 0)
//!
//!   order.total  posint            ──┐
//!   order.sizes  posint[]            ├──> each value of the domain, also within arrays and rows,
//!   line.price   (posint, text)      │    is checked before the constraint is kept
//!   line.rate    smallposint       ──┘    a domain over it
//! ```

use std::sync::Arc;

use ::table::catalog::ddl::DomainChange as Change;
use ::table::catalog::{Address, Class, ConstraintKind, ConstraintOn, Relation, SqlText};
use sql::parse::ast::{
    ColumnConstraint, ColumnConstraintKind, DomainChange, Name, ObjectKind, Path, TypeName,
};
use types::{Datum, DatumRef, Modifier, Object, Oid, Shape, SqlState, Type, TypeSource};

use super::drop::{address, behavior};
use super::{DdlContext, one_row, table, text};
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::names::{Names, of_value};

/// `CREATE DOMAIN`
pub fn create(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    base: &TypeName,
    collation: Option<&Path>,
    constraints: &[ColumnConstraint],
) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let (base, modifier) = maker.type_of(base)?;
    let collation = table::collation(maker, collation, base)?;
    let (mut null, mut default, mut checks) = (None, None, Vec::new());
    for constraint in constraints {
        match &constraint.kind {
            ColumnConstraintKind::NotNull | ColumnConstraintKind::Null => {
                let is_null = matches!(constraint.kind, ColumnConstraintKind::Null);
                if null.is_some_and(|known| known != is_null) {
                    return Err(refused("conflicting NULL/NOT NULL constraints"));
                }
                null = Some(is_null);
            }
            ColumnConstraintKind::Default(expr) => {
                if default.is_some() {
                    return Err(refused("multiple default expressions"));
                }
                default = Some(kept_default(maker, expr, name, (base, modifier))?);
            }
            ColumnConstraintKind::Check(expr) => {
                let kept = kept_check(maker, &expr.text, (base, modifier))?;
                checks.push((constraint.name.as_ref(), kept));
            }
            other => return Err(impossible(other)),
        }
    }
    let of = (base, modifier, collation);
    let not_null = null == Some(false);
    let made = maker.ddl.create_domain(schema, name, of, not_null, default.flatten())?;
    for (name, check) in checks {
        let name = name.map(|name| name.text.as_str().into());
        maker.ddl.add_domain_check(made.ty, name, check, true)?;
    }
    Ok(())
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// The error for a constraint that only columns have.
fn impossible(kind: &ColumnConstraintKind) -> Error {
    let what = match kind {
        ColumnConstraintKind::Unique { .. } => "unique constraints",
        ColumnConstraintKind::PrimaryKey => "primary key constraints",
        ColumnConstraintKind::References(_) => "foreign key constraints",
        ColumnConstraintKind::Identity { .. } => "identity columns",
        _ => "generated columns",
    };
    refused(&format!("{what} not possible for domains"))
}

/// The default of a domain as it is kept; none for NULL.
fn kept_default(
    maker: &DdlContext<'_, '_>,
    expr: &sql::parse::ast::SqlExpr,
    name: &str,
    (ty, modifier): (Type, Modifier),
) -> Result<Option<SqlText>> {
    let kept = table::kept_default(maker, expr, None)?;
    if let Some(kept) = &kept {
        let column = sql::bind::RelationColumn::plain(1, name, ty, modifier);
        one_row::check_default(maker, &kept.text, None, &column, false)?;
    }
    Ok(kept)
}

/// A check of a domain as it is kept.
fn kept_check(maker: &DdlContext<'_, '_>, text: &str, of: (Type, Modifier)) -> Result<SqlText> {
    let kept = text::expression(text, None, &maker.names)?;
    one_row::check_condition(&kept.text, &of_value(of), &maker.names, maker.context())?;
    Ok(kept)
}

/// `ALTER DOMAIN`
pub fn alter(maker: &mut DdlContext<'_, '_>, path: &Path, change: &DomainChange) -> Result<()> {
    let ty = Type(address(maker, ObjectKind::Domain, path)?.oid);
    let Some(Shape::Domain(base, modifier)) = TypeSource::shape(&*maker.names, ty) else {
        return Ok(());
    };
    let find = |maker: &DdlContext<'_, '_>, name: &Name| {
        let all = maker.catalog().constraints_of(ConstraintOn::Domain(ty));
        all.iter().find(|known| *known.name == *name.text).cloned()
    };
    let missing = |name: &Name| {
        let message =
            format!("constraint \"{}\" of domain \"{}\" does not exist", name.text, path.last());
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    };
    match change {
        DomainChange::Default(expr) => {
            let default = match expr {
                Some(expr) => kept_default(maker, expr, path.last(), (base, modifier))?,
                None => None,
            };
            maker.ddl.change_domain(ty, Change::Default(default))?;
        }
        DomainChange::NotNull(not_null) => set_not_null(maker, ty, *not_null)?,
        DomainChange::AddConstraint(added) => match &added.kind {
            ColumnConstraintKind::Check(expr) => {
                let check = kept_check(maker, &expr.text, (base, modifier))?;
                let name = added.name.as_ref().map(|name| name.text.as_str().into());
                let validated = !added.timing.not_valid;
                maker.ddl.add_domain_check(ty, name, check.clone(), validated)?;
                if validated {
                    check_values(maker, ty, Some(&check))?;
                }
            }
            ColumnConstraintKind::NotNull => set_not_null(maker, ty, true)?,
            ColumnConstraintKind::Null | ColumnConstraintKind::Default(_) => {
                return Err(Error::not_supported("this constraint of a domain"));
            }
            other => return Err(impossible(other)),
        },
        DomainChange::DropConstraint { name, if_exists, cascade } => match find(maker, name) {
            Some(constraint) => {
                let object = Address::of(Class::Constraint, constraint.oid);
                let notice = maker.ddl.drop_objects(&[object], behavior(*cascade))?;
                maker.tell(notice);
            }
            None if *if_exists => {
                let message = format!("{}, skipping", missing(name).message());
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
            None => return Err(missing(name)),
        },
        DomainChange::RenameConstraint(old, new) => {
            let Some(constraint) = find(maker, old) else {
                let types: &dyn TypeSource = &*maker.names;
                let message = format!(
                    "constraint \"{}\" for domain {} does not exist",
                    old.text,
                    types.name_of(ty)
                );
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            };
            maker.ddl.rename(Address::of(Class::Constraint, constraint.oid), &new.text)?;
        }
        DomainChange::Validate(name) => {
            let constraint = find(maker, name).ok_or_else(|| missing(name))?;
            if !constraint.is_validated
                && let ConstraintKind::Check { expr, .. } = &constraint.kind
            {
                check_values(maker, ty, Some(expr))?;
                maker.ddl.validate_constraint(constraint.oid)?;
            }
        }
    }
    Ok(())
}

fn set_not_null(maker: &mut DdlContext<'_, '_>, ty: Type, not_null: bool) -> Result<()> {
    maker.ddl.change_domain(ty, Change::NotNull(not_null))?;
    if not_null { check_values(maker, ty, None) } else { Ok(()) }
}

/// The columns of tables whose values have values of a domain: are of it, or hold such.
pub(crate) fn columns_of(names: &Names, domain: Type) -> Vec<(Arc<Relation>, Vec<i16>)> {
    let mut found = Vec::new();
    for relation in names.catalog.relations().filter(|relation| relation.table().is_some()) {
        let columns = relation.live_columns().filter(|column| has(names, column.ty, domain));
        let columns: Vec<i16> = columns.map(|column| column.attnum).collect();
        if !columns.is_empty() {
            found.push((Arc::clone(relation), columns));
        }
    }
    found.sort_by_key(|(relation, _)| relation.oid);
    found
}

/// True if values of a type have values of a domain in them. No type holds values of itself.
fn has(names: &Names, ty: Type, domain: Type) -> bool {
    if ty == domain {
        return true;
    }
    if ty.is_builtin() {
        return false;
    }
    match TypeSource::shape(names, ty) {
        Some(Shape::Domain(base, _)) | Some(Shape::Array(base)) => has(names, base, domain),
        Some(Shape::Composite(fields)) => fields.iter().any(|field| has(names, field.ty, domain)),
        _ => false,
    }
}

/// Checks that each value of a domain that tables have meets a check, or is not NULL.
fn check_values(
    maker: &mut DdlContext<'_, '_>,
    domain: Type,
    check: Option<&SqlText>,
) -> Result<()> {
    maker.see();
    let names = Arc::clone(&maker.names);
    let around = maker.around.seeing(&names);
    let evaluator = Evaluator::new(&around, &names);
    let program = match (check, TypeSource::shape(&*names, domain)) {
        (Some(check), Some(Shape::Domain(base, modifier))) => {
            let over = of_value((base, modifier));
            let context = maker.context();
            let bound = one_row::check_condition(&check.text, &over, &names, context)?;
            Some(evaluator.compile(&bound)?)
        }
        _ => None,
    };
    let is_met = |value: DatumRef<'_>| -> types::Result<bool> {
        Ok(match &program {
            Some(program) => {
                !matches!(program.run(&[value][..], evaluator.frame())?, Datum::Bool(false))
            }
            None => !value.is_null(),
        })
    };
    for (relation, columns) in columns_of(&names, domain) {
        let broken = maker.find_row(relation.oid, &mut |row| {
            for attnum in &columns {
                let Some(column) = relation.column(*attnum) else { continue };
                let value = row[*attnum as usize - 1].as_ref();
                if !all_meet(&names, (column.ty, value), domain, &is_met)? {
                    return Ok(Some(*attnum));
                }
            }
            Ok(None)
        })?;
        if let Some(column) = broken.and_then(|attnum| relation.column(attnum)) {
            return Err(violated(&names, &relation, &column.name, check.is_some()));
        }
    }
    Ok(())
}

fn violated(names: &Names, relation: &Relation, column: &str, is_check: bool) -> Error {
    let table = &*relation.name;
    let (state, what) = match is_check {
        true => (SqlState::CHECK_VIOLATION, "values that violate the new constraint"),
        false => (SqlState::NOT_NULL_VIOLATION, "null values"),
    };
    let message = format!("column \"{column}\" of table \"{table}\" contains {what}");
    types::Error::new(state, message)
        .about(Object::Schema, names.schema_name(relation.schema))
        .about(Object::Table, table)
        .about(Object::Column, column)
        .into()
}

/// True if all values of a domain that a value has in it meet what is asked.
fn all_meet(
    names: &Names,
    (ty, value): (Type, DatumRef<'_>),
    domain: Type,
    is_met: &dyn Fn(DatumRef<'_>) -> types::Result<bool>,
) -> types::Result<bool> {
    if ty == domain && !is_met(value)? {
        return Ok(false);
    }
    if ty.is_builtin() {
        return Ok(true);
    }
    match (TypeSource::shape(names, ty), value) {
        (Some(Shape::Domain(base, _)), value) => all_meet(names, (base, value), domain, is_met),
        (Some(Shape::Array(element)), DatumRef::Array(array)) if has(names, element, domain) => {
            for value in array.iter() {
                if !all_meet(names, (element, value), domain, is_met)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Some(Shape::Composite(fields)), DatumRef::Record(record)) => {
            for (field, (.., value)) in fields.iter().zip(record.iter()) {
                let field = (field.ty, value);
                if has(names, field.0, domain) && !all_meet(names, field, domain, is_met)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}

/// The tables that a change of a domain looks at, which must not change meanwhile.
pub(crate) fn tables_looked_at(names: &Names, path: &Path, change: &DomainChange) -> Vec<Oid> {
    let looks = match change {
        DomainChange::NotNull(not_null) => *not_null,
        DomainChange::AddConstraint(added) => !added.timing.not_valid,
        DomainChange::Validate(_) => true,
        _ => false,
    };
    let found = names
        .split(path)
        .ok()
        .filter(|_| looks)
        .and_then(|(schema, name)| sql::bind::Names::user_type(names, schema, name));
    let found = found.map(|ty| columns_of(names, ty)).unwrap_or_default();
    found.into_iter().map(|(relation, _)| relation.oid).collect()
}
