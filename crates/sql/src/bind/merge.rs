//! `MERGE`: the table's rows and the source's side by side, and a decision for each pair.
//!
//! ```text
//!   WHEN                     which rows are kept      the join of table and source is
//!   matched                  pairs                    inner
//!   not matched by target    source rows alone        right
//!   not matched by source    table rows alone         left; with both of them, full
//! ```

use types::{Modifier, SqlState, Type};

use super::Binder;
use super::dml::assigned_names;
use super::from::append;
use super::join::join_plan;
use super::names::{PolicyCommand as Command, Relation};
use super::policy::Access;
use super::query::with_tables;
use super::scope::{Clause, Item};
use super::updatable::{Shown, Verb};
use crate::error::{Error, Result};
use crate::parse::ast::{self, JoinKind, Merge, MergeWhen};
use crate::plan::{Action, Column, Expr, MergeAction, MergeClause, Plan, Written};

impl Binder<'_> {
    /// `MERGE`
    pub(super) fn merge(&mut self, merge: &Merge) -> Result<Plan> {
        self.enter();
        let plan = self.merge_in_scope(merge);
        self.leave();
        plan
    }

    fn merge_in_scope(&mut self, merge: &Merge) -> Result<Plan> {
        if merge.with.as_ref().is_some_and(|with| with.recursive) {
            let message = "WITH RECURSIVE is not supported for MERGE statement";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let tables = self.with(merge.with.as_ref())?;
        check_order(merge)?;
        let verb = verb_of(merge);
        let shown = self.shown(&merge.table, verb)?;
        for clause in &merge.clauses {
            match &clause.action {
                ast::MergeAction::Update(set) => {
                    self.check_given(shown.as_ref(), verb, assigned_names(set))?;
                }
                ast::MergeAction::Insert { columns, .. } => {
                    let named = columns.iter().map(|target| target.column.text.as_str());
                    self.check_given(shown.as_ref(), verb, named)?;
                }
                _ => {}
            }
        }
        let relation = match &shown {
            Some(shown) => shown.relation.clone(),
            None => self.changed(&merge.table, "merge into")?,
        };
        let (target, used) = self.target_part(
            &merge.table,
            shown.as_ref(),
            Access { command: Command::Select, reads: true },
        )?;
        let row: Vec<Column> = target.plan.columns[..relation.columns.len()].to_vec();
        let source = self.from(std::slice::from_ref(&merge.source))?;
        let name = super::dml::target_name(&target.items).map(str::to_owned);
        if self.scope().items.iter().any(|item| item.by_name && item.name == name) {
            return Err(Error::new(
                SqlState::DUPLICATE_ALIAS,
                format!("name \"{}\" specified more than once", name.unwrap_or_default()),
            )
            .detail("The name is used both as MERGE target table and data source."));
        }
        let there = self.column("matched", Type::BOOL, Modifier::NONE, None);
        let source = append(source, vec![(Expr::bool(true), there.clone())]);
        self.scope().items.splice(0..0, target.items);
        let on = self.within(Clause::JOIN, |binder| {
            let on = binder.expr(&merge.on)?;
            binder.boolean(on, "JOIN/ON")
        })?;
        let has = |when| merge.clauses.iter().any(|clause| clause.when == when);
        let kind = match (has(MergeWhen::NotMatchedBySource), has(MergeWhen::NotMatchedByTarget)) {
            (false, false) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (true, true) => JoinKind::Full,
        };
        let input = join_plan(kind, target.plan, source, Some(on));
        let matched = input
            .columns
            .iter()
            .position(|column| column.id == there.id)
            .expect("the join has the columns of its sides");
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            clauses.push(self.merge_clause(clause, (&relation, shown.as_ref()), &row, used)?);
        }
        let changed = self.relation_columns(&relation);
        let base = shown.as_ref().map_or(&relation, |shown| &shown.base);
        let generated = self.generated(base, &changed)?;
        let mut checks = self.view_checks(shown.as_ref(), &changed)?;
        let gives = !merge.returning.is_empty();
        for (command, written, reads) in
            [(Command::Insert, Written::Inserted, gives), (Command::Update, Written::Updated, true)]
        {
            let access = Access { command, reads };
            let written = (&changed[..], written);
            self.policy_checks(base, shown.as_ref(), written, access, &mut checks)?;
        }
        self.show_changed(&row, &changed);
        self.show_computed(shown.as_ref(), &changed, used)?;
        let action = Action::Merge { clauses, matched, generated };
        self.merge_action = true;
        let plan = self.modify(base, input, action, changed, checks, &merge.returning);
        self.merge_action = false;
        let plan = plan?;
        if let Some(shown) = &shown {
            self.use_through(used, shown);
        }
        Ok(with_tables(tables, plan))
    }

    fn merge_clause(
        &mut self,
        clause: &ast::MergeClause,
        target: (&Relation, Option<&Shown>),
        row: &[Column],
        used: usize,
    ) -> Result<MergeClause> {
        // A side that has no row is not in sight.
        let all: Vec<Item> = self.scope().items.clone();
        let hide = |item: &mut Item| {
            item.by_name = false;
            item.by_column = false;
        };
        for (place, item) in self.scope().items.iter_mut().enumerate() {
            match clause.when {
                MergeWhen::Matched => {}
                MergeWhen::NotMatchedByTarget if place == 0 => hide(item),
                MergeWhen::NotMatchedBySource if place > 0 => hide(item),
                _ => {}
            }
        }
        let bound = self.merge_clause_in_sight(clause, target, row, used);
        self.scope().items = all;
        bound
    }

    fn merge_clause_in_sight(
        &mut self,
        clause: &ast::MergeClause,
        target: (&Relation, Option<&Shown>),
        row: &[Column],
        used: usize,
    ) -> Result<MergeClause> {
        let (relation, shown) = target;
        let mut filter = self.where_clause(clause.filter.as_ref(), Clause::MERGE_WHEN)?;
        let command = match &clause.action {
            ast::MergeAction::Update(_) => Some(Command::Update),
            ast::MergeAction::Delete => Some(Command::Delete),
            ast::MergeAction::Nothing | ast::MergeAction::Insert { .. } => None,
        };
        if let Some(command) = command {
            let access = Access { command, reads: false };
            let base = shown.map_or(relation, |shown| &shown.base);
            filter = self.asked_of_old(("target row", base), shown, row, access, filter)?;
        }
        let action = match &clause.action {
            ast::MergeAction::Nothing => MergeAction::Nothing,
            ast::MergeAction::Delete => {
                self.uses.relations[used].deletes = true;
                MergeAction::Delete
            }
            ast::MergeAction::Update(set) => {
                let set = self.set_list(set, relation, row)?;
                self.update_used(used, relation, &set);
                MergeAction::Update(set)
            }
            ast::MergeAction::Insert { columns, overriding_system, values } => {
                let places = match shown {
                    Some(shown) if columns.is_empty() => shown.places(),
                    _ => self.insert_places(columns, relation)?,
                };
                let values = self.spread_variables(values.as_deref().unwrap_or_default())?;
                if values.len() > places.len() {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "INSERT has more expressions than target columns",
                    )
                    .at(values[places.len()].at));
                }
                if !columns.is_empty() && values.len() < places.len() && !values.is_empty() {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "INSERT has more target columns than expressions",
                    )
                    .at(places[values.len()].at));
                }
                let places = &places[..values.len()];
                self.insert_used(used, relation, places);
                let given = self.within(Clause::VALUES, |binder| {
                    binder.given_row(&values, places, relation, *overriding_system)
                })?;
                MergeAction::Insert(self.full_row(given, places, relation, *overriding_system)?)
            }
        };
        Ok(MergeClause { when: clause.when, filter, action })
    }
}

/// No clause may stand behind one that takes all of its rows.
fn check_order(merge: &Merge) -> Result<()> {
    for when in [MergeWhen::Matched, MergeWhen::NotMatchedBySource, MergeWhen::NotMatchedByTarget] {
        let mut clauses = merge.clauses.iter().filter(|clause| clause.when == when);
        if clauses.any(|clause| clause.filter.is_none()) && clauses.next().is_some() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "unreachable WHEN clause specified after unconditional WHEN clause",
            ));
        }
    }
    Ok(())
}

/// The verb of a `MERGE`, by the first of its actions.
fn verb_of(merge: &Merge) -> Verb {
    let action = merge.clauses.iter().find_map(|clause| match clause.action {
        ast::MergeAction::Insert { .. } => Some(&Verb::Insert),
        ast::MergeAction::Update(_) => Some(&Verb::Update),
        ast::MergeAction::Delete => Some(&Verb::Delete),
        ast::MergeAction::Nothing => None,
    });
    Verb::Merge(action.unwrap_or(&Verb::Update))
}
