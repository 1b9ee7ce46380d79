//! The actions on rows that refer to one that is gone, or has another key now.
//!
//! | action | where it was deleted | where its key changed |
//! |---|---|---|
//! | NO ACTION | 23503, unless another row has the key by now | the same |
//! | RESTRICT | 23503 | the same |
//! | CASCADE | they are deleted | they refer to the new key |
//! | SET NULL | they refer to nothing (all columns, or those listed) | the same, all columns |
//! | SET DEFAULT | they refer to what the columns' defaults say | the same, all columns |
//!
//! Rows that are changed so are locked, looked at again, and changed like any others: indexes, checks
//! and foreign keys of their own follow.

use txn::{RowLock, Wait};
use types::{Coercion, Datum, Modifier, Object, Oid, SqlState, text};

use super::lookup::{ReferenceLookup, describe};
use super::{gone_table, pick};
use crate::catalog::{Action, Column, Constraint, ForeignKey};
use crate::rows::{Change, Table, placing, position};
use crate::{Error, Result};

/// Does what the foreign key asks for now that the row with key `old` is gone, or has key `new`.
pub(super) fn follow(
    change: &mut Change<'_>,
    constraint: &Constraint,
    key: &ForeignKey,
    old: &[Datum],
    new: Option<&[Datum]>,
) -> Result<()> {
    if key.is_period {
        return refuse(change, constraint, key, old);
    }
    let action = if new.is_some() { key.on_update } else { key.on_delete };
    if matches!(action, Action::NoAction | Action::Restrict) {
        if action == Action::NoAction && change.checks.is_back(change.txn, key, old)? {
            return Ok(());
        }
        return refuse(change, constraint, key, old);
    }
    let checks = &change.checks;
    let table = constraint.table().and_then(|oid| checks.handles.table(&checks.catalog, oid));
    let table = table.ok_or_else(gone_table)?;
    let meaning = checks.meaning(&table, key)?;
    for (row_key, _) in
        checks.referring(change.txn, constraint, key, ReferenceLookup::Key(old), usize::MAX)?
    {
        let strength = match action {
            Action::Cascade if new.is_none() => RowLock::Update,
            _ => table.update_lock(|at| key.columns.iter().any(|attnum| position(*attnum) == at)),
        };
        table.lock(change.txn, &row_key, strength, Wait::Allowed)?;
        let Some(row) = table.latest(change.txn, &row_key)? else { continue };
        let row = row.to_datums()?;
        if !meaning.is_key(&pick(&row, &key.columns), old)? {
            continue;
        }
        if action == Action::Cascade && new.is_none() {
            table.delete(change, &row_key, &row)?;
            continue;
        }
        let mut after = row.clone();
        for (at, attnum) in key.columns.iter().enumerate() {
            let column = position(*attnum);
            let is_listed = new.is_some()
                || key.on_delete_columns.is_empty()
                || key.on_delete_columns.contains(attnum);
            match (action, new) {
                (Action::Cascade, Some(new)) => {
                    let from = (key.references, key.referenced[at]);
                    after[column] = assigned(change, from, &new[at], (&table, column))?;
                }
                (Action::SetNull, _) if is_listed => {
                    let ty = table.relation().columns[column].ty;
                    after[column] = change.values.context().null_of(ty)?;
                }
                (Action::SetDefault, _) if is_listed => {
                    after[column] = change.values.default(table.relation(), column)?;
                }
                _ => {}
            }
        }
        change.values.complete(table.relation(), &mut after)?;
        let known = (&*change.checks.handles, &*change.checks.catalog);
        if !placing::is_at_home(known, change.values, &table, &after)? {
            let name = &table.relation().name;
            let message = format!("new row for relation \"{name}\" violates partition constraint");
            return Err(Error::new(SqlState::CHECK_VIOLATION, message));
        }
        table.update(change, &row_key, &row, &after)?;
        if action == Action::SetDefault && pick(&after, &key.columns) == pick(&row, &key.columns) {
            // It refers to what it did, and that is gone: nothing has changed that would be checked.
            change.checks.inserted(&table, change.txn, &after)?;
        }
    }
    Ok(())
}

/// 23503 where rows refer to one with key `old`.
pub(super) fn refuse(
    change: &mut Change<'_>,
    constraint: &Constraint,
    key: &ForeignKey,
    old: &[Datum],
) -> Result<()> {
    let is_left = match key.is_period {
        true => change.checks.is_missed(change.txn, constraint, key, old)?,
        false => {
            let lookup = ReferenceLookup::Key(old);
            !change.checks.referring(change.txn, constraint, key, lookup, 1)?.is_empty()
        }
    };
    match is_left {
        true => Err(still_referenced(change, constraint, key, old)),
        false => Ok(()),
    }
}

/// A new key as a referring column of another type holds it.
fn assigned(
    change: &Change<'_>,
    (references, referenced): (Oid, i16),
    key: &Datum,
    (table, column): (&Table, usize),
) -> Result<Datum> {
    let catalog = &change.checks.catalog;
    let base = |column: &Column| catalog.base_type(column.ty, column.modifier);
    let parent = catalog.relation(references).and_then(|parent| parent.column(referenced));
    let (from, to) =
        (base(parent.ok_or_else(gone_table)?), base(&table.relation().columns[column]));
    let context = change.values.context();
    let value = match text::to_string(key.as_ref(), from.0, Modifier::NONE, &context) {
        Some(text) if from != to => text::parse(&text, to.0, to.1, &context)?,
        _ => key.clone(),
    };
    let ty = table.relation().columns[column].ty;
    match context.types.is_domain(ty) {
        true => Ok(context.as_domain(ty, value, Coercion::Assignment)?),
        false => Ok(value),
    }
}

/// 23503: rows still refer to one that is gone.
fn still_referenced(
    change: &Change<'_>,
    constraint: &Constraint,
    key: &ForeignKey,
    old: &[Datum],
) -> Error {
    let checks = &change.checks;
    // For a partition, the definition of its table counts.
    let whole = |it: &Constraint| checks.catalog.constraint(it.partition_of?).cloned();
    let whole = std::iter::successors(whole(constraint), |it| whole(it)).last();
    let constraint = whole.as_deref().unwrap_or(constraint);
    let child = constraint.table().and_then(|oid| checks.handles.table(&checks.catalog, oid));
    let parent = checks.catalog.relation(key.references);
    let (Some(child), Some(parent)) = (child, parent) else { return gone_table() };
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name,
        constraint.name,
        child.relation().name
    );
    let shown = describe(parent, &key.referenced, old, &*change.values);
    let detail =
        format!("Key {shown} is still referenced from table \"{}\".", child.relation().name);
    let error = types::Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail);
    child.about(error).about(Object::Constraint, &*constraint.name).into()
}
