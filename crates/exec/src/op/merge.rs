//! `MERGE`: for each pair of a row of the table and one of the source the first clause that fits.

use sql::eval::Program;
use sql::plan::{LockStrength, MergeWhen};
use types::{Datum, Result};

use super::Row;
use super::modify::{Change, Target, second_time};
use crate::ctx::Env;

/// A `WHEN` clause, ready to be computed.
pub(crate) struct Clause {
    pub(crate) when: MergeWhen,
    pub(crate) filter: Option<Program>,
    pub(crate) action: Action,
}

/// The action of a `WHEN` clause.
pub(crate) enum Action {
    Nothing,
    Delete,
    Update(Vec<(usize, Program)>),
    Insert(Vec<Program>),
}

/// The clauses of a `MERGE`.
pub(crate) struct Merge {
    pub(crate) clauses: Vec<Clause>,
    /// The column that is true in rows of the source.
    pub(crate) matched: usize,
    /// Where `merge_action()` is kept.
    pub(crate) merged: Option<u32>,
}

impl Merge {
    /// The first clause for a row.
    fn clause(&self, env: &Env<'_>, target: &Target, row: &Row) -> Result<Option<&Clause>> {
        let is_there = !row[target.width].is_null();
        let has_source = matches!(row[self.matched], Datum::Bool(true));
        let when = match (is_there, has_source) {
            (true, true) => MergeWhen::Matched,
            (true, false) => MergeWhen::NotMatchedBySource,
            (false, _) => MergeWhen::NotMatchedByTarget,
        };
        for clause in self.clauses.iter().filter(|clause| clause.when == when) {
            match &clause.filter {
                Some(filter) if !env.test(filter, row)? => {}
                _ => return Ok(Some(clause)),
            }
        }
        Ok(None)
    }

    /// Does what the clauses say for a row of the input.
    pub(crate) fn change(
        &self,
        env: &Env<'_>,
        target: &mut Target,
        row: &mut Row,
    ) -> Result<Change> {
        let Some(clause) = self.clause(env, target, row)? else { return Ok(None) };
        let strength = match &clause.action {
            Action::Nothing => return Ok(None),
            Action::Insert(values) => {
                let new = values.iter().map(|value| env.value(value, &*row));
                let new = new.collect::<Result<Row>>()?;
                self.note(env, "INSERT");
                return target.insert(env, new, None);
            }
            Action::Delete => LockStrength::Update,
            Action::Update(_) => LockStrength::NoKeyUpdate,
        };
        let Datum::Bytea(key) = &row[target.width] else { return Ok(None) };
        if env.shared.touched.borrow().contains(&(target.relation, key.to_vec())) {
            return Err(second_time("MERGE").with_hint(
                "Ensure that not more than one source row matches any one target row.",
            ));
        }
        let before = row.clone();
        let Some(key) = target.take(env, row, strength)? else {
            // Another transaction has deleted it, or made it another that does not match: what is left
            // is a row of the source without a partner.
            *row = before;
            row[..=target.width].fill(Datum::Null);
            if !matches!(row[self.matched], Datum::Bool(true)) {
                return Ok(None);
            }
            return self.change(env, target, row);
        };
        // The row may have been changed by another transaction, and another clause may fit now.
        let Some(clause) = self.clause(env, target, row)? else { return Ok(None) };
        match &clause.action {
            Action::Update(set) => {
                self.note(env, "UPDATE");
                target.update(env, &key, row, set).map(Some)
            }
            Action::Delete => {
                self.note(env, "DELETE");
                target.delete(env, &key, row).map(Some)
            }
            Action::Nothing | Action::Insert(_) => Ok(None),
        }
    }

    fn note(&self, env: &Env<'_>, action: &str) {
        if let Some(slot) = self.merged {
            env.shared.set_slot(slot, Datum::text(action));
        }
    }
}
