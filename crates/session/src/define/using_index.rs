//! `ADD CONSTRAINT ... {PRIMARY KEY | UNIQUE} USING INDEX`: a unique index becomes a constraint.

use std::sync::Arc;

use ::table::catalog::ddl::{NewConstraint, NewConstraintKind};
use ::table::catalog::{Index, IndexMethod, IndexPart, Relation};
use sql::parse::ast::{Name, TableConstraint};
use types::SqlState;

use super::DdlContext;
use crate::error::{Error, Result};

/// Makes a constraint of a table of one of its indexes, which gets the name of the constraint.
pub(super) fn add(
    maker: &mut DdlContext<'_, '_>,
    table: &Arc<Relation>,
    constraint: &TableConstraint,
    index: &Name,
    is_primary: bool,
) -> Result<()> {
    let at = constraint.at;
    let found = maker.catalog().relation_named(table.schema, &index.text).cloned();
    let Some(found) = found.filter(|found| found.index().is_some()) else {
        let message = format!("index \"{}\" does not exist", index.text);
        return Err(maker.at(Error::new(SqlState::UNDEFINED_OBJECT, message), Some(at)));
    };
    let Some(data) = found.index() else { return Ok(()) };
    check(table, &found, data).map_err(|error| maker.at(error, Some(at)))?;
    let columns = || data.keys.iter().filter_map(|key| key.column());
    if is_primary {
        for column in columns().filter_map(|attnum| table.column(attnum)) {
            if !column.not_null {
                maker.check_no_nulls(table.oid, column.attnum, &column.name)?;
            }
        }
    }
    let name = constraint.name.as_ref().map(|name| name.text.as_str());
    if let Some(name) = name.filter(|name| **name != *found.name) {
        let message = format!(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{name}\"",
            found.name
        );
        maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
    }
    let kind = NewConstraintKind::UsingIndex { index: found.oid, is_primary };
    maker.ddl.add_constraint(
        table.oid,
        NewConstraint {
            name: name.map(Into::into),
            kind,
            is_deferrable: constraint.timing.deferrable,
            is_deferred: constraint.timing.deferred,
            is_validated: true,
            partition_of: None,
        },
    )?;
    maker.see();
    // The entries of what is checked later have another form, in a storage of their own.
    match constraint.timing.deferrable {
        true => maker.fill_index(table.oid, found.oid),
        false => Ok(()),
    }
}

/// Fails if the index cannot stand for a constraint of the table.
fn check(table: &Relation, found: &Relation, index: &Index) -> Result<()> {
    let name = &found.name;
    let not_ready =
        |message: String| Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    let wrong = |message: String| {
        let detail = "Cannot create a primary key or unique constraint using such an index.";
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).detail(detail))
    };
    if index.constraint.is_some() {
        return not_ready(format!("index \"{name}\" is already associated with a constraint"));
    }
    if index.table != table.oid {
        let table = &table.name;
        return not_ready(format!("index \"{name}\" does not belong to table \"{table}\""));
    }
    if !index.is_valid {
        return not_ready(format!("index \"{name}\" is not valid"));
    }
    if !index.is_unique {
        return wrong(format!("\"{name}\" is not a unique index"));
    }
    if index.keys.iter().any(|key| matches!(key.part, IndexPart::Expr(_))) {
        return wrong(format!("index \"{name}\" contains expressions"));
    }
    if index.predicate.is_some() {
        return wrong(format!("\"{name}\" is a partial index"));
    }
    if index.method != IndexMethod::Btree {
        return wrong(format!("index \"{name}\" is not a btree"));
    }
    let is_usual = |key: &::table::catalog::IndexKey| {
        !key.is_descending && !key.nulls_first && key.class.is_none()
    };
    if let Some(at) = index.keys.iter().position(|key| !is_usual(key)) {
        return wrong(format!(
            "index \"{name}\" column number {} does not have default sorting behavior",
            at + 1
        ));
    }
    Ok(())
}
