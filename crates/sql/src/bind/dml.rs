//! `UPDATE` and `DELETE`: the changed rows, and their new values.

use scalar::cast::CoercionContext;
use types::{Modifier, SqlState, Type};

use super::Binder;
use super::from::{Part, append};
use super::join::join_plan;
use super::names::{ColumnDefault, PolicyCommand as Command, Relation, RelationColumn};
use super::policy::Access;
use super::portion::both;
use super::query::with_tables;
use super::scope::{Clause, Item, reference};
use super::select::filtered;
use super::updatable::{Shown, Verb};
use crate::error::{At, Error, Result};
use crate::parse::ast::{
    self, Assignment, Delete, ExprKind as Ast, JoinKind, Portion, Source, Step, Target, Update,
};
use crate::plan::{
    Action, Cast, Column, Expr, ExprKind, Link, Moment, Node, Plan, Rest, Subquery, Written,
};

/// Makes a change insert the parts of rows that it does not cover.
fn leave(plan: &mut Plan, rest: Option<Rest>) {
    if let Node::Modify(modify) = &mut plan.node {
        modify.rest = rest;
    }
}

/// 0A000 where a portion of rows cannot be changed: through a view, or at a cursor.
fn refuse_in_view(
    shown: Option<&Shown>,
    filter: Option<&ast::Expr>,
    portion: &Portion,
) -> Result<()> {
    let message = match filter.map(|filter| &filter.kind) {
        _ if shown.is_some() => "FOR PORTION OF is not supported for views",
        Some(Ast::CurrentOf(_)) => "WHERE CURRENT OF with FOR PORTION OF is not supported",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(portion.column.at))
}

impl Binder<'_> {
    /// `UPDATE`
    pub(super) fn update(&mut self, update: &Update) -> Result<Plan> {
        self.enter();
        let plan = self.update_in_scope(update);
        self.leave();
        plan
    }

    fn update_in_scope(&mut self, update: &Update) -> Result<Plan> {
        let tables = self.with(update.with.as_ref())?;
        let shown = self.shown(&update.table, Verb::Update)?;
        self.check_given(shown.as_ref(), Verb::Update, assigned_names(&update.set))?;
        let relation = match &shown {
            Some(shown) => shown.relation.clone(),
            None => self.changed(&update.table, "update")?,
        };
        let portion = match &update.portion {
            Some(portion) => {
                let assigned: Vec<&str> = assigned_names(&update.set).collect();
                refuse_in_view(shown.as_ref(), update.filter.as_ref(), portion)?;
                Some(self.portion(portion, &update.table, &relation, &assigned)?)
            }
            None => None,
        };
        let access = Access { command: Command::Update, reads: reads_rows(update) };
        let (plan, target, used) =
            self.target_and_sources(&update.table, shown.as_ref(), &update.from, access)?;
        let filter = match &portion {
            Some(portion) => Some(both(portion.filter.clone(), update.filter.clone())),
            None => update.filter.clone(),
        };
        let filter = self.where_clause(filter.as_ref(), Clause::WHERE)?;
        let mut plan = match filter {
            Some(condition) => filtered(plan, condition),
            None => plan,
        };
        let mut added = Vec::new();
        let own = portion.iter().map(|portion| portion.set.clone());
        let list: Vec<Assignment> = update.set.iter().cloned().chain(own).collect();
        let mut set = self.assignments(&list, &relation, &target, &mut added)?;
        self.update_used(used, &relation, &set);
        let left = portion.as_ref().map(|portion| self.expr(&portion.left)).transpose()?;
        plan = append(plan, added);
        // Subqueries are computed with the rows, before any of these is changed.
        let mut computed = Vec::new();
        for (_, value) in &mut set {
            if super::walk::any(value, &|part| matches!(part.kind, ExprKind::Subquery(_))) {
                let column = self.column_for("value", value);
                let held = reference(&column, value.at);
                computed.push((std::mem::replace(value, held), column));
            }
        }
        plan = append(plan, computed);
        let row = self.relation_columns(&relation);
        let base = shown.as_ref().map_or(&relation, |shown| &shown.base);
        let generated = self.generated(base, &row)?;
        let mut checks = self.view_checks(shown.as_ref(), &row)?;
        self.policy_checks(base, shown.as_ref(), (&row, Written::Updated), access, &mut checks)?;
        self.show_changed(&target, &row);
        self.show_computed(shown.as_ref(), &row, used)?;
        let rest = portion.zip(left).map(|(portion, left)| Rest {
            place: portion.place,
            left,
            generated: generated.clone(),
        });
        let action = Action::Update { set, generated };
        let mut plan = self.modify(base, plan, action, row, checks, &update.returning)?;
        leave(&mut plan, rest);
        if let Some(shown) = &shown {
            self.use_through(used, shown);
        }
        Ok(with_tables(tables, plan))
    }

    /// `DELETE`, and `ERASE`, which deletes from the past too.
    pub(super) fn delete(&mut self, delete: &Delete, erase: bool) -> Result<Plan> {
        self.enter();
        let plan = self.delete_in_scope(delete, erase);
        self.leave();
        plan
    }

    fn delete_in_scope(&mut self, delete: &Delete, erase: bool) -> Result<Plan> {
        let tables = self.with(delete.with.as_ref())?;
        let shown = self.shown(&delete.table, Verb::Delete)?;
        if let (true, Some(shown)) = (erase, &shown) {
            let message = format!("\"{}\" is not a table", shown.relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let relation = match &shown {
            Some(shown) => shown.relation.clone(),
            None => {
                self.changed(&delete.table, if erase { "erase from" } else { "delete from" })?
            }
        };
        let portion = match &delete.portion {
            Some(portion) if erase => {
                let message = "ERASE cannot be limited by FOR PORTION OF";
                return Err(
                    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(portion.column.at)
                );
            }
            Some(portion) => {
                refuse_in_view(shown.as_ref(), delete.filter.as_ref(), portion)?;
                Some(self.portion(portion, &delete.table, &relation, &[])?)
            }
            None => None,
        };
        let reads = delete.filter.is_some() || !delete.returning.is_empty();
        let access = Access { command: Command::Delete, reads };
        let (mut plan, target, used) =
            self.target_and_sources(&delete.table, shown.as_ref(), &delete.using, access)?;
        self.uses.relations[used].deletes = true;
        if erase {
            look_at_all_versions(&mut plan);
        }
        let filter = match &portion {
            Some(portion) => Some(both(portion.filter.clone(), delete.filter.clone())),
            None => delete.filter.clone(),
        };
        let filter = self.where_clause(filter.as_ref(), Clause::WHERE)?;
        let plan = match filter {
            Some(condition) => filtered(plan, condition),
            None => plan,
        };
        let left = portion.as_ref().map(|portion| self.expr(&portion.left)).transpose()?;
        let row = self.relation_columns(&relation);
        let rest = match portion.zip(left) {
            Some((portion, left)) => {
                let generated = self.generated(&relation, &row)?;
                Some(Rest { place: portion.place, left, generated })
            }
            None => None,
        };
        self.show_changed(&target, &row);
        self.show_computed(shown.as_ref(), &row, used)?;
        let action = if erase { Action::Erase } else { Action::Delete };
        let base = shown.as_ref().map_or(&relation, |shown| &shown.base);
        let mut plan = self.modify(base, plan, action, row, Vec::new(), &delete.returning)?;
        leave(&mut plan, rest);
        if let Some(shown) = &shown {
            self.use_through(used, shown);
        }
        Ok(with_tables(tables, plan))
    }

    /// The table that is changed, as the first item in scope, and its place among what is used.
    pub(super) fn target_part(
        &mut self,
        table: &ast::TableRef,
        shown: Option<&Shown>,
        access: Access,
    ) -> Result<(Part, usize)> {
        let Some(shown) = shown else {
            let used = self.uses.relations.len();
            self.target = Some(access);
            let part = self.source(&Source::Table(Box::new(table.clone())))?;
            // It is read only where a column of it is.
            if let Some(table) = self.uses.relations.get_mut(used) {
                table.reads = None;
            }
            return Ok((part, used));
        };
        let used = self.use_of_target(&shown.base, Some(shown));
        let mut part = self.scan(table, &shown.relation, Moment::Now)?;
        if let Node::Scan(scan) = &mut part.plan.node {
            scan.name.clone_from(&shown.base.name);
        }
        let columns = part.plan.columns.clone();
        part.plan =
            self.in_name_of(shown, |binder| binder.secured(part.plan, &shown.base, access))?;
        let (plan, computed) = self.rows_shown(shown, part.plan)?;
        part.plan = plan;
        let outermost = used - shown.layers.len();
        self.arrange(shown, &mut part.items[0], &computed, outermost);
        let attnums = shown.base.columns.iter().map(|column| column.attnum);
        self.show_used(used, &columns, attnums);
        Ok((part, used))
    }

    /// The rows of the table, each with what the other sources have for it.
    fn target_and_sources(
        &mut self,
        table: &ast::TableRef,
        shown: Option<&Shown>,
        sources: &[Source],
        access: Access,
    ) -> Result<(Plan, Vec<Column>, usize)> {
        let (target, used) = self.target_part(table, shown, access)?;
        let count = target.items[0].relation.as_ref().map_or(0, |table| table.columns.len());
        let row = target.plan.columns[..count].to_vec();
        // The sources do not see the table, not even lateral ones; their names must differ though.
        let others = match sources {
            [] => None,
            _ => Some(self.from(sources)?),
        };
        let name = &target.items[0].name;
        let clash = self.scope().items.iter().any(|item| item.by_name && item.name == *name);
        if let (true, Some(name)) = (clash, name) {
            return Err(Error::new(
                SqlState::DUPLICATE_ALIAS,
                format!("table name \"{name}\" specified more than once"),
            ));
        }
        self.scope().items.splice(0..0, target.items);
        let plan = match others {
            None => target.plan,
            Some(others) => join_plan(JoinKind::Inner, target.plan, others, None),
        };
        Ok((plan, row, used))
    }

    /// From here on what views compute follows from the changed row: it is put in its place once `RETURNING`
    /// is bound.
    pub(super) fn show_computed(
        &mut self,
        shown: Option<&Shown>,
        row: &[Column],
        used: usize,
    ) -> Result<()> {
        let computed = self.computed_over(shown, row)?;
        if let Some(shown) = shown {
            let columns: Vec<Column> = computed.iter().map(|(_, column)| column.clone()).collect();
            let mut item = self.scope().items[0].clone();
            let by_place = Item::named("", row).columns;
            item.columns = by_place;
            for (known, column) in item.columns.iter_mut().zip(&shown.relation.columns) {
                known.name.clone_from(&column.name);
            }
            self.arrange(shown, &mut item, &columns, used - shown.layers.len());
            self.scope().items[0] = item;
        }
        self.computed = computed;
        Ok(())
    }

    /// From here on the table's row is the changed one.
    pub(super) fn show_changed(&mut self, before: &[Column], row: &[Column]) {
        for (before, after) in before.iter().zip(row) {
            self.sources[after.id as usize] = self.sources[before.id as usize];
        }
        let target = &mut self.scope().items[0];
        for shown in &mut target.columns {
            if let Some(place) = before.iter().position(|column| column.id == shown.column.id) {
                shown.column = row[place].clone();
            }
        }
    }

    /// The items of `SET` where nothing can be computed beside the row.
    pub(super) fn set_list(
        &mut self,
        set: &[Assignment],
        relation: &Relation,
        row: &[Column],
    ) -> Result<Vec<(usize, Expr)>> {
        let mut added = Vec::new();
        let mut bound = self.assignments(set, relation, row, &mut added)?;
        // A subquery that gives several columns is put in the place of each reference to it.
        for (_, value) in &mut bound {
            super::walk::everywhere(value, &mut |part| {
                if let ExprKind::Column { index, .. } = part.kind
                    && let Some((expr, _)) = added.iter().find(|(_, column)| column.id == index)
                {
                    *part = expr.clone();
                    return false;
                }
                true
            });
        }
        Ok(bound)
    }

    /// The items of `SET`. Subqueries that give several columns are `added` to the row first.
    pub(super) fn assignments(
        &mut self,
        set: &[Assignment],
        relation: &Relation,
        row: &[Column],
        added: &mut Vec<(Expr, Column)>,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut bound: Vec<(usize, Expr, bool)> = Vec::new();
        for assignment in set {
            match assignment {
                Assignment::One(target, value) => {
                    let value = self.assigned(value, target, relation)?;
                    self.put(target, value, relation, row, &mut bound)?;
                }
                Assignment::Many(targets, value) => {
                    self.assign_many(targets, value, relation, row, &mut bound, added)?;
                }
            }
        }
        Ok(bound.into_iter().map(|(place, value, _)| (place, value)).collect())
    }

    fn assign_many(
        &mut self,
        targets: &[Target],
        value: &ast::Expr,
        relation: &Relation,
        row: &[Column],
        bound: &mut Vec<(usize, Expr, bool)>,
        added: &mut Vec<(Expr, Column)>,
    ) -> Result<()> {
        let mismatch = || {
            Error::new(SqlState::SYNTAX_ERROR, "number of columns does not match number of values")
                .at(value.at)
        };
        match &value.kind {
            Ast::Row { fields, .. } => {
                if fields.len() != targets.len() {
                    return Err(mismatch());
                }
                for (target, field) in targets.iter().zip(fields) {
                    let value = self.assigned(field, target, relation)?;
                    self.put(target, value, relation, row, bound)?;
                }
                Ok(())
            }
            Ast::Subquery { link: ast::Link::Scalar, query } => {
                let plan = self.within(Clause::UPDATE, |binder| binder.query(query, true))?;
                if plan.columns.len() != targets.len() {
                    return Err(mismatch());
                }
                let columns = plan.columns.clone();
                let subquery = Subquery { link: Link::Row, plan };
                let kind = ExprKind::Subquery(Box::new(subquery));
                let record = Expr::of(kind, Type::RECORD, value.at);
                let holder = self.column_for("row", &record);
                for (index, (target, column)) in targets.iter().zip(columns).enumerate() {
                    let kind =
                        ExprKind::Field { expr: Box::new(reference(&holder, value.at)), index };
                    let (ty, modifier) = (column.ty, column.modifier);
                    let field = Expr { kind, ty, modifier, at: value.at };
                    self.put(target, Given::Value(field), relation, row, bound)?;
                }
                added.push((record, holder));
                Ok(())
            }
            _ if targets.len() == 1 => {
                let value = self.assigned(value, &targets[0], relation)?;
                self.put(&targets[0], value, relation, row, bound)
            }
            _ => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
            )
            .at(value.at)),
        }
    }

    /// A value of `SET`, which may be `DEFAULT`.
    fn assigned(
        &mut self,
        value: &ast::Expr,
        target: &Target,
        relation: &Relation,
    ) -> Result<Given> {
        if matches!(value.kind, Ast::Default) {
            let column = &relation.columns[self.target_place(target, relation)?];
            if !target.steps.is_empty() {
                return Err(super::insert::no_default_of_part(&target.steps, value.at));
            }
            return Ok(Given::Default(self.default_of(column)?));
        }
        Ok(Given::Value(self.within(Clause::UPDATE, |binder| binder.expr(value))?))
    }

    /// Puts a value into a column, or a part of one.
    fn put(
        &mut self,
        target: &Target,
        value: Given,
        relation: &Relation,
        row: &[Column],
        bound: &mut Vec<(usize, Expr, bool)>,
    ) -> Result<()> {
        let place = self.target_place(target, relation)?;
        let column = &relation.columns[place];
        let value = match value {
            Given::Default(value) => value,
            Given::Value(value) => {
                may_be_set(column)?;
                value
            }
        };
        let before = bound.iter().position(|(known, ..)| *known == place);
        if let Some(before) = before
            && (target.steps.is_empty() || !bound[before].2)
        {
            let message = format!("multiple assignments to same column \"{}\"", column.name);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if target.steps.is_empty() {
            let value = self.assign(value, &column.name, column.ty, column.modifier)?;
            bound.push((place, value, false));
            return Ok(());
        }
        let old = match before {
            Some(before) => bound[before].1.clone(),
            None => reference(&row[place], target.column.at),
        };
        let steps: Vec<&Step> = target.steps.iter().collect();
        let value = self.assign_part(old, &steps, value, &column.name)?;
        match before {
            Some(before) => bound[before].1 = value,
            None => bound.push((place, value, true)),
        }
        Ok(())
    }

    /// `old` with the part replaced that the steps lead to.
    pub(super) fn assign_part(
        &mut self,
        old: Expr,
        steps: &[&Step],
        value: Expr,
        name: &str,
    ) -> Result<Expr> {
        let (ty, modifier, at) = (old.ty, old.modifier, old.at);
        // Where several parts are assigned, the constraints of a domain see the last value alone.
        let old = match old.kind {
            ExprKind::Cast { expr, how: Cast::Domain } => *expr,
            _ => old,
        };
        if let Some(Step::Field(field)) = steps.first() {
            let Some(fields) = self.fields_of(&old) else {
                let message = format!(
                    "cannot assign to field \"{}\" of column \"{name}\" because its type {} is not \
                     a composite type",
                    field.text,
                    self.type_name(ty)
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(at));
            };
            let Some(index) = fields.iter().position(|(known, ..)| *known == field.text) else {
                let message = format!(
                    "cannot assign to field \"{}\" of column \"{name}\" because there is no such \
                     column in data type {}",
                    field.text,
                    self.type_name(ty)
                );
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(at));
            };
            let (_, field_type, field_modifier) = fields[index].clone();
            let value = match &steps[1..] {
                [] => self.assign(value, &field.text, field_type, field_modifier)?,
                rest => {
                    let kind = ExprKind::Field { expr: Box::new(old.clone()), index };
                    let part = Expr { kind, ty: field_type, modifier: field_modifier, at };
                    self.assign_part(part, rest, value, &field.text)?
                }
            };
            let kind = ExprKind::AssignField { expr: Box::new(old), index, value: Box::new(value) };
            return Ok(self.whole(kind, ty, modifier, at));
        }
        let run = steps.iter().take_while(|step| !matches!(step, Step::Field(_))).count();
        if self.facts().base(old.ty) == Type::HSTORE {
            let changed = self.with_key(old, steps, value)?;
            return Ok(self.domain_value(changed, ty, CoercionContext::Assignment));
        }
        let (bound, part) = self.subscript_steps(&old, &steps[..run])?;
        let value = match &steps[run..] {
            [] => self.assign_subscript(value, part, name)?,
            rest => {
                let kind =
                    ExprKind::Subscript { expr: Box::new(old.clone()), steps: bound.clone() };
                let inner = Expr::of(kind, part, at);
                self.assign_part(inner, rest, value, name)?
            }
        };
        let kind = ExprKind::Assign { expr: Box::new(old), steps: bound, value: Box::new(value) };
        Ok(self.whole(kind, ty, modifier, at))
    }

    /// A value that is made of another by the change of a part. Of a domain it must still meet the
    /// constraints.
    fn whole(&mut self, kind: ExprKind, ty: Type, modifier: Modifier, at: At) -> Expr {
        let base = self.facts().base(ty);
        self.domain_value(Expr { kind, ty: base, modifier, at }, ty, CoercionContext::Assignment)
    }

    fn assign_subscript(&mut self, value: Expr, part: Type, name: &str) -> Result<Expr> {
        let (source, at) = (value.ty, value.at);
        self.coerce(value, part, CoercionContext::Assignment)?.ok_or_else(|| {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "subscripted assignment to \"{name}\" requires type {} but expression is of type {}",
                    self.type_name(part),
                    self.type_name(source)
                ),
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(at)
        })
    }
}

/// A value of `SET`, bound.
enum Given {
    /// An expression, to be cast to the column's type.
    Value(Expr),
    /// The column's default, which is of its type.
    Default(Expr),
}

/// Checks that a column takes values other than `DEFAULT`.
fn may_be_set(column: &RelationColumn) -> Result<()> {
    let detail = match column.default {
        ColumnDefault::Generated(_) => "a generated column.",
        ColumnDefault::Identity { always: true, .. } => {
            "an identity column defined as GENERATED ALWAYS."
        }
        _ => return Ok(()),
    };
    Err(Error::new(
        SqlState::GENERATED_ALWAYS,
        format!("column \"{}\" can only be updated to DEFAULT", column.name),
    )
    .detail(format!("Column \"{}\" is {detail}", column.name))
    .at(At::NONE))
}

/// Makes the scan of the table of an `ERASE`, which is the first of a join, read all versions.
fn look_at_all_versions(plan: &mut Plan) {
    match &mut plan.node {
        Node::Scan(scan) => scan.moment = Moment::Ever,
        Node::Join { left, .. } => look_at_all_versions(left),
        Node::Filter { input, .. } | Node::Barrier(input) => look_at_all_versions(input),
        _ => {}
    }
}

/// The item of the table that is changed, by the name it goes by.
pub(super) fn target_name(items: &[Item]) -> Option<&str> {
    items.first()?.name.as_deref()
}

/// True if an `UPDATE` reads rows of its table: all of it but values that are written as they are.
fn reads_rows(update: &Update) -> bool {
    let is_plain = |value: &ast::Expr| match &value.kind {
        Ast::Default | Ast::Null | Ast::Param(_) => true,
        Ast::Row { fields, .. } => fields.is_empty(),
        kind => matches!(kind, Ast::String(_) | Ast::Number(_) | Ast::Bool(_)),
    };
    let mut values = update.set.iter().map(|assignment| match assignment {
        Assignment::One(_, value) | Assignment::Many(_, value) => value,
    });
    update.filter.is_some() || !update.returning.is_empty() || !values.all(is_plain)
}

/// The names of the columns that `SET` gives values.
pub(super) fn assigned_names(set: &[Assignment]) -> impl Iterator<Item = &str> {
    set.iter()
        .flat_map(|assignment| match assignment {
            Assignment::One(target, _) => std::slice::from_ref(target),
            Assignment::Many(targets, _) => &targets[..],
        })
        .map(|target| target.column.text.as_str())
}
