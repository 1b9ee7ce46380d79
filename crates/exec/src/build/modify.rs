//! Changes of rows, ready to be run.

use super::{Builder, VALUES_MANY, internal};
use crate::op::guard::{self, Guard};
use crate::op::merge;
use crate::op::modify::{self, Conflict, Modify, Target};
use crate::op::recheck::Recheck;
use plan::{self, Kind, TableFacts, each_part};
use sql::eval::Program;
use sql::plan::{self as bound, Expr, ExprKind};
use types::Result;

impl Builder<'_> {
    pub(super) fn modify(&mut self, modify: &plan::Modify, is_main: bool) -> Result<Modify> {
        let target = self.target(modify)?;
        let action = self.action(modify)?;
        let returning = modify.returning.as_ref().map(|exprs| self.programs(exprs)).transpose()?;
        let inserts = matches!(modify.action, bound::Action::Insert { .. });
        let (mut streams, mut may_be_many) = (inserts, false);
        modify.input.clone().each(&mut |node| {
            may_be_many |= match &node.kind {
                Kind::Values(rows) => rows.len() >= VALUES_MANY,
                Kind::Given | Kind::Project { .. } | Kind::Filter { .. } => false,
                _ => true,
            };
            let reads = matches!(node.kind, Kind::Scan(_) | Kind::Append(_) | Kind::CteScan { .. });
            streams &= !reads;
            node.exprs(&mut |expr, _| {
                each_part(expr, &mut |part| {
                    streams &= !matches!(part.kind, ExprKind::Subplan { .. });
                    streams
                });
            });
        });
        let input = self.node(&modify.input)?;
        let is_plain = is_main && matches!(action, modify::Action::Insert(None));
        let may_load = is_plain && may_be_many && self.plan.clone().changes() == 1;
        Ok(Modify::new(input, target, action, returning, streams, is_main, may_load))
    }

    /// The table that is changed, with the programs of its generated columns and checks.
    fn target(&self, modify: &plan::Modify) -> Result<Target> {
        let facts = modify.facts.as_ref().ok_or_else(|| internal("a table is not known"))?;
        let relation = &facts.relation;
        let generated = match &modify.action {
            bound::Action::Insert { generated, .. }
            | bound::Action::Update { generated, .. }
            | bound::Action::Merge { generated, .. } => self.assignments(generated)?,
            bound::Action::Delete | bound::Action::Erase => match &modify.rest {
                Some(rest) => self.assignments(&rest.generated)?,
                None => Vec::new(),
            },
        };
        let inserts = matches!(modify.action, bound::Action::Insert { .. });
        let scan = if inserts { None } else { modify.input.clone().scanned(modify.width) };
        let recheck = if inserts { None } else { modify.input.with_given(modify.width) };
        let rest = match &modify.rest {
            Some(rest) => Some(modify::Rest { place: rest.place, left: self.program(&rest.left)? }),
            None => None,
        };
        Ok(Target {
            relation: modify.relation,
            width: modify.width,
            own_attnums: relation.columns.iter().map(|column| column.attnum).collect(),
            attnums: scan.map(|scan| scan.attnums).unwrap_or_default(),
            generated,
            guard: self.guard(modify, facts)?,
            recheck: recheck.map(Recheck::new),
            is_each_once: modify.input.gives_each_once() && self.plan.clone().changes() == 1,
            rest,
        })
    }

    /// The checks of new rows.
    fn guard(&self, modify: &plan::Modify, facts: &TableFacts) -> Result<Guard> {
        let relation = &facts.relation;
        let columns = relation.columns.iter().map(|column| guard::Column {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
            not_null: column.not_null,
        });
        let checks = modify
            .checks
            .iter()
            .map(|check| {
                let (by, of) = (check.by.clone(), check.of);
                Ok(guard::Check { by, of, program: self.program(&check.expr)? })
            })
            .collect::<Result<_>>()?;
        Ok(Guard {
            schema: relation.schema.clone(),
            table: relation.name.clone(),
            columns: columns.collect(),
            checks,
            is_partition: facts.is_partition,
        })
    }

    fn action(&self, modify: &plan::Modify) -> Result<modify::Action> {
        Ok(match &modify.action {
            bound::Action::Insert { conflict, .. } => modify::Action::Insert(
                conflict.as_deref().map(|conflict| self.conflict(conflict)).transpose()?,
            ),
            bound::Action::Update { set, .. } => modify::Action::Update(self.assignments(set)?),
            bound::Action::Delete => modify::Action::Delete,
            bound::Action::Erase => modify::Action::Erase,
            bound::Action::Merge { clauses, matched, .. } => {
                let clauses = clauses.iter().map(|clause| self.merge_clause(clause));
                modify::Action::Merge(merge::Merge {
                    clauses: clauses.collect::<Result<_>>()?,
                    matched: *matched,
                    merged: modify.merged,
                })
            }
        })
    }

    /// `ON CONFLICT`
    fn conflict(&self, conflict: &bound::Conflict) -> Result<Conflict> {
        let arbiters = conflict.arbiters.iter();
        let is_plain = |arbiter: &&bound::Arbiter| arbiter.start_conditions.is_empty();
        Ok(Conflict {
            arbiters: arbiters.clone().filter(is_plain).map(|known| known.index).collect(),
            conditional_arbiters: arbiters
                .filter(|known| !known.start_conditions.is_empty())
                .map(|known| Ok((known.index, self.programs(&known.start_conditions)?)))
                .collect::<Result<_>>()?,
            update: match &conflict.update {
                None => None,
                Some(update) => {
                    let set = self.assignments(&update.set)?;
                    Some((set, self.maybe(update.filter.as_ref())?))
                }
            },
        })
    }

    fn merge_clause(&self, clause: &bound::MergeClause) -> Result<merge::Clause> {
        Ok(merge::Clause {
            when: clause.when,
            filter: self.maybe(clause.filter.as_ref())?,
            action: match &clause.action {
                bound::MergeAction::Nothing => merge::Action::Nothing,
                bound::MergeAction::Delete => merge::Action::Delete,
                bound::MergeAction::Update(list) => merge::Action::Update(self.assignments(list)?),
                bound::MergeAction::Insert(row) => merge::Action::Insert(self.programs(row)?),
            },
        })
    }

    fn assignments(&self, set: &[(usize, Expr)]) -> Result<Vec<(usize, Program)>> {
        set.iter().map(|(place, expr)| Ok((*place, self.program(expr)?))).collect()
    }
}
