//! `ON CONFLICT`: the unique indexes that decide, and the action.

use super::Binder;
use super::dml::assigned_names;
use super::names::{IndexKey, PolicyCommand as Command, Relation, UniqueIndex};
use super::policy::Access;
use super::scope::{Clause, Item, reference};
use super::updatable::{Shown, Verb, substitute};
use crate::error::{At, Error, Result};
use crate::imply;
use crate::parse::ast::{self, Arbiter};
use crate::plan::{self, Action, Column, Conflict, ConflictUpdate, Expr};
use std::sync::Arc;
use types::SqlState;

/// The `ON CONFLICT` of an insertion.
pub(super) fn conflict_of(action: &Action) -> Option<&Conflict> {
    match action {
        Action::Insert { conflict, .. } => conflict.as_deref(),
        _ => None,
    }
}

impl Binder<'_> {
    pub(super) fn conflict(
        &mut self,
        conflict: &ast::Conflict,
        (relation, shown): (&Arc<Relation>, Option<&Shown>),
        target: Item,
        used: usize,
    ) -> Result<Conflict> {
        if conflict.update.is_some() && matches!(conflict.arbiter, Arbiter::Any) {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            )
            .hint("For example, ON CONFLICT (column_name).")
            .at(conflict.at));
        }
        let arbiters = self.arbiters(&conflict.arbiter, relation, shown, used)?;
        let excludes = |index: &UniqueIndex| {
            index.excludes && arbiters.iter().any(|arbiter| arbiter.index == index.oid)
        };
        if conflict.update.is_some() && relation.unique.iter().any(excludes) {
            let message = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let Some(update) = &conflict.update else { return Ok(Conflict { arbiters, update: None }) };
        let there = self.relation_columns(relation);
        let excluded = self.relation_columns(relation);
        let attnums = relation.columns.iter().map(|column| column.attnum);
        self.show_used(used, &there, attnums.clone());
        self.show_used(used, &excluded, attnums);
        let mut computed = Vec::new();
        let mut items = Vec::new();
        for (item, row) in [(target, &there), (Item::named("excluded", &[]), &excluded)] {
            let mut item = Item {
                relation: Some(relation.clone()),
                row_type: relation.row_type,
                columns: Item::named("", row).columns,
                ..item
            };
            if let Some(shown) = shown {
                for (known, column) in item.columns.iter_mut().zip(&relation.columns) {
                    known.name.clone_from(&column.name);
                }
                let made = self.computed_over(Some(shown), row)?;
                let columns: Vec<Column> = made.iter().map(|(_, column)| column.clone()).collect();
                self.arrange(shown, &mut item, &columns, used - shown.layers.len());
                computed.extend(made);
            }
            items.push(item);
        }
        self.check_given(shown, Verb::Insert, assigned_names(&update.set))?;
        let before = std::mem::replace(&mut self.scope().items, items);
        let mut set = self.set_list(&update.set, relation, &there)?;
        self.update_used(used, relation, &set);
        let mut filter = self.where_clause(update.filter.as_ref(), Clause::WHERE)?;
        self.scope().items = before;
        set.iter_mut().for_each(|(_, value)| substitute(value, &computed));
        filter.iter_mut().for_each(|filter| substitute(filter, &computed));
        let base = shown.map_or(relation, |shown| &shown.base);
        let access = Access { command: Command::Update, reads: true };
        let message = ("new row", &**base);
        let filter = self.asked_of_old(message, shown, &there, access, filter)?;
        let row = there.into_iter().chain(excluded).collect();
        Ok(Conflict { arbiters, update: Some(ConflictUpdate { set, filter, row }) })
    }

    /// The unique indexes that decide.
    pub(super) fn arbiters(
        &mut self,
        arbiter: &Arbiter,
        relation: &Relation,
        shown: Option<&Shown>,
        used: usize,
    ) -> Result<Vec<plan::Arbiter>> {
        match arbiter {
            Arbiter::Any => Ok(Vec::new()),
            Arbiter::Constraint(name) => {
                let found = relation
                    .unique
                    .iter()
                    .find(|index| index.constraint.as_deref() == Some(&name.text))
                    .filter(|_| shown.is_none());
                let Some(index) = found else {
                    let message = format!(
                        "constraint \"{}\" for table \"{}\" does not exist",
                        name.text, relation.name
                    );
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                };
                if index.deferrable {
                    let message = "ON CONFLICT does not support deferrable unique \
                                   constraints/exclusion constraints as arbiters";
                    return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                self.read_index(used, index);
                Ok(vec![plan::Arbiter { index: index.oid, start_conditions: Vec::new() }])
            }
            Arbiter::Index { keys, filter, at } => {
                let row = self.relation_columns(relation);
                self.show_used(used, &row, relation.columns.iter().map(|column| column.attnum));
                self.enter();
                self.show_relation(relation, &row);
                if let Some(item) = self.scope().items.first_mut().filter(|_| shown.is_some()) {
                    for (known, column) in item.columns.iter_mut().zip(&relation.columns) {
                        known.name.clone_from(&column.name);
                    }
                }
                let base = shown.map_or(relation, |shown| &shown.base);
                let found = self.infer(keys, filter.as_ref(), base, &row);
                self.leave();
                found.map_err(|error| match error.cause.state() {
                    SqlState::UNDEFINED_COLUMN => Error { at: *at, ..error },
                    _ => error,
                })
            }
        }
    }

    fn infer(
        &mut self,
        keys: &[ast::Expr],
        filter: Option<&ast::Expr>,
        relation: &Relation,
        row: &[Column],
    ) -> Result<Vec<plan::Arbiter>> {
        let mut wanted = Vec::with_capacity(keys.len());
        for key in keys {
            let key = self.within(Clause::INDEX, |binder| binder.expr(key))?;
            wanted.push(key.to_string());
        }
        wanted.sort_unstable();
        wanted.dedup();
        let filter = self.where_clause(filter, Clause::WHERE)?;
        let mut found = Vec::new();
        let unique = relation.unique.iter().filter(|index| !index.deferrable && !index.excludes);
        for index in unique {
            if self.index_keys(index, relation, row)? != wanted {
                continue;
            }
            let start_conditions = match &index.predicate {
                None => Some(Vec::new()),
                Some(predicate) => {
                    let predicate = self.stored(predicate, Some((relation, row)))?;
                    let implied =
                        |filter: &Expr| imply::implied(std::slice::from_ref(filter), &predicate);
                    filter.as_ref().and_then(implied)
                }
            };
            let index = index.oid;
            found.extend(
                start_conditions.map(|start_conditions| plan::Arbiter { index, start_conditions }),
            );
        }
        if found.is_empty() {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            ));
        }
        Ok(found)
    }

    fn index_keys(
        &mut self,
        index: &UniqueIndex,
        relation: &Relation,
        row: &[Column],
    ) -> Result<Vec<String>> {
        let mut keys = Vec::with_capacity(index.keys.len());
        for key in &index.keys {
            keys.push(match key {
                IndexKey::Column(attnum) => {
                    let column =
                        relation.columns.iter().position(|column| column.attnum == *attnum);
                    column.map(|at| reference(&row[at], At::NONE).to_string()).unwrap_or_default()
                }
                IndexKey::Expr(text) => self.stored(text, Some((relation, row)))?.to_string(),
            });
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}
