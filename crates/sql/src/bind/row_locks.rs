//! `FOR UPDATE` and the like: the tables whose rows a query locks.

use super::Binder;
use super::names::RelationKind;
use super::scope::reference;
use super::select::Target;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Distinct, LockWait, Query, Select};
use crate::plan::{Column, ExprKind, RowLock};
use types::SqlState;

fn lock_name(strength: ast::LockStrength) -> &'static str {
    match strength {
        ast::LockStrength::KeyShare => "FOR KEY SHARE",
        ast::LockStrength::Share => "FOR SHARE",
        ast::LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        ast::LockStrength::Update => "FOR UPDATE",
    }
}

impl Binder<'_> {
    /// `FOR UPDATE` and the like: the rows' keys become junk outputs.
    pub(super) fn locks(
        &mut self,
        query: &Query,
        select: &Select,
        calls: Option<&str>,
        targets: &mut Vec<Target>,
    ) -> Result<Vec<RowLock>> {
        let mut locks: Vec<RowLock> = Vec::new();
        for lock in &query.locks {
            let name = lock_name(lock.strength);
            let refused = |with: &str| {
                let message = format!("{name} is not allowed with {with}");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            };
            match () {
                () if select.distinct != Distinct::No => return refused("DISTINCT clause"),
                () if !select.group.is_empty() => return refused("GROUP BY clause"),
                () if select.having.is_some() => return refused("HAVING clause"),
                () => {}
            }
            if let Some(calls) = calls {
                return refused(calls);
            }
            for (relation, key) in self.locked_items(lock, name)? {
                self.lock_used(&key);
                let place = targets.iter().position(|target| {
                    matches!(target.expr.kind, ExprKind::Column { index, .. } if index == key.id)
                });
                let place = place.unwrap_or_else(|| {
                    let expr = reference(&key, At::NONE);
                    targets.push(Target { expr, name: key.name.clone(), junk: true });
                    targets.len() - 1
                });
                match locks.iter_mut().find(|known| known.key == place) {
                    Some(known) => {
                        known.strength = known.strength.max(lock.strength);
                        known.wait = known.wait.max(lock.wait);
                    }
                    None => {
                        let (strength, wait): (_, LockWait) = (lock.strength, lock.wait);
                        locks.push(RowLock { relation, key: place, strength, wait });
                    }
                }
            }
        }
        Ok(locks)
    }

    /// The tables that a lock is about, and the columns of their keys.
    fn locked_items(&mut self, lock: &ast::Lock, name: &str) -> Result<Vec<(types::Oid, Column)>> {
        let items = &self.scope().items;
        // Queries and views in FROM were told when they were bound.
        let of = |item: &super::scope::Item| {
            item.relation.as_ref().zip(item.key.clone()).map(|(relation, key)| (relation.oid, key))
        };
        let require_table = |item: &super::scope::Item| match &item.relation {
            Some(known) if matches!(known.kind, RelationKind::Materialized { .. }) => {
                let message = format!("cannot lock rows in materialized view \"{}\"", known.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            _ => Ok(()),
        };
        if lock.of.is_empty() {
            items.iter().try_for_each(require_table)?;
            return Ok(items.iter().filter_map(of).collect());
        }
        let mut found = Vec::with_capacity(lock.of.len());
        for path in &lock.of {
            if path.parts.len() > 1 {
                let message = format!("{name} must specify unqualified relation names");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(path.at()));
            }
            let item =
                items.iter().find(|item| item.by_name && item.name.as_deref() == Some(path.last()));
            let Some(item) = item else {
                let message =
                    format!("relation \"{path}\" in {name} clause not found in FROM clause");
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(path.at()));
            };
            require_table(item)?;
            match of(item) {
                _ if item.locks_inside => {}
                Some(item) => found.push(item),
                None => {
                    let message = format!("{name} cannot be applied to \"{path}\"");
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(path.at()));
                }
            }
        }
        Ok(found)
    }
}
