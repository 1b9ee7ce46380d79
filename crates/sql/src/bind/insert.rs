//! `INSERT`: rows for the columns that are named, defaults for the others, and the action for a
//! conflicting row.

use std::sync::Arc;

use types::{Shape, SqlState, Type};

use super::conflict::conflict_of;
use super::names::{
    ColumnDefault, PolicyCommand as Command, Relation, RelationColumn, RelationKind,
};
use super::policy::Access;
use super::scope::{Clause, Item, reference};
use super::updatable::{Shown, Shows, Verb, substitute};
use super::{Binder, query};
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Arbiter, Body, Insert, Step, Target};
use crate::plan::{
    Action, Column, Conflict, Expr, ExprKind, Modify, Node, Plan, RowCheck, Written,
};

/// Where a value of a row that is inserted goes.
#[derive(Clone)]
pub(super) struct ValueTarget<'t> {
    /// The place of the column in the table.
    pub index: usize,
    /// Where the column was named.
    pub at: At,
    /// The part of it that is given; empty for all of it.
    pub steps: &'t [Step],
}

impl ValueTarget<'_> {
    /// All of a column that was not named.
    fn whole(index: usize) -> Self {
        ValueTarget { index, at: At::NONE, steps: &[] }
    }
}

impl Shown {
    /// The places of the columns that the view shows, up to the first that it computes.
    pub(super) fn places<'t>(&self) -> Vec<ValueTarget<'t>> {
        let place = |shows: &Shows| match shows {
            Shows::Column(place) => Some(ValueTarget::whole(*place)),
            Shows::Computed(_) => None,
        };
        self.order.iter().map_while(place).collect()
    }
}

impl Binder<'_> {
    /// `INSERT`
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<Plan> {
        self.enter();
        let plan = self.insert_in_scope(insert);
        self.leave();
        plan
    }

    fn insert_in_scope(&mut self, insert: &Insert) -> Result<Plan> {
        let tables = self.with(insert.with.as_ref())?;
        let shown = self.shown(&insert.table, Verb::Insert)?;
        let named = insert.columns.iter().map(|target| target.column.text.as_str());
        self.check_given(shown.as_ref(), Verb::Insert, named)?;
        let relation = match &shown {
            Some(shown) => shown.relation.clone(),
            None => self.changed(&insert.table, "insert into")?,
        };
        let mut places = self.insert_places(&insert.columns, &relation)?;
        if let (Some(shown), []) = (&shown, &insert.columns[..]) {
            places = self.view_places(shown, insert)?;
        }
        let name = match &insert.table.alias {
            Some(alias) => alias.name.text.clone(),
            None => relation.name.clone(),
        };
        let schema = insert.table.alias.is_none().then(|| relation.schema.clone());
        let row = self.relation_columns(&relation);
        // The rows do not see the table, but messages know of it.
        let unseen = Item { by_name: false, by_column: false, ..Item::named(&name, &row) };
        self.scope().items = vec![unseen];
        let base = shown.as_ref().map_or(&relation, |shown| &shown.base);
        let used = self.use_of_target(base, shown.as_ref());
        let input = self.insert_rows(insert, &relation, &places, used)?;
        self.scope().items.clear();
        let conflict = match &insert.conflict {
            Some(conflict) => {
                let item = Item { schema: schema.clone(), ..Item::named(&name, &[]) };
                let target = (&relation, shown.as_ref());
                Some(Box::new(self.conflict(conflict, target, item, used)?))
            }
            None => None,
        };
        let generated = self.generated(base, &row)?;
        let mut checks = self.view_checks(shown.as_ref(), &row)?;
        let access = Access {
            command: Command::Insert,
            reads: !insert.returning.is_empty()
                || insert.conflict.as_ref().is_some_and(|it| it.arbiter != Arbiter::Any),
        };
        self.policy_checks(base, shown.as_ref(), (&row, Written::Inserted), access, &mut checks)?;
        if insert.conflict.as_ref().is_some_and(|conflict| conflict.update.is_some()) {
            let access = Access { command: Command::Update, reads: true };
            let written = (&row[..], Written::Updated);
            self.policy_checks(base, shown.as_ref(), written, access, &mut checks)?;
        }
        self.show_used(used, &row, base.columns.iter().map(|column| column.attnum));
        let action = Action::Insert { generated, conflict };
        let target = Item {
            relation: Some(relation.clone()),
            schema,
            row_type: relation.row_type,
            ..Item::named(name, &row)
        };
        self.scope().items = vec![target];
        self.show_computed(shown.as_ref(), &row, used)?;
        if let Some(Conflict { update: Some(update), .. }) = conflict_of(&action) {
            let excluded = Item::named("excluded", &update.row[row.len()..]);
            self.scope().items.push(Item { by_name: false, by_column: false, ..excluded });
        }
        let plan = self.modify(base, input, action, row, checks, &insert.returning)?;
        if let Some(shown) = &shown {
            self.use_through(used, shown);
        }
        Ok(query::with_tables(tables, plan))
    }

    /// The table that a statement changes.
    pub(super) fn changed(&mut self, table: &ast::TableRef, verb: &str) -> Result<Arc<Relation>> {
        let relation = self.relation(&table.name)?;
        match relation.kind {
            RelationKind::Table => Ok(relation),
            // The past of a materialized view is erased as that of a table.
            RelationKind::Materialized { .. } if verb == "erase from" => Ok(relation),
            RelationKind::Materialized { .. } if verb == "merge into" => {
                let message = format!("cannot execute MERGE on relation \"{}\"", relation.name);
                let detail = "This operation is not supported for materialized views.";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail))
            }
            RelationKind::View(_) => Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("cannot {verb} view \"{}\"", relation.name),
            )),
            RelationKind::System => Err(Error::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied: \"{}\" is a system catalog", relation.name),
            )),
            _ => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot change {} \"{}\"", relation.kind_name(), relation.name),
            )),
        }
    }

    /// The plan of a change, with its `RETURNING` over what is in scope.
    pub(super) fn modify(
        &mut self,
        relation: &Relation,
        input: Plan,
        action: Action,
        row: Vec<Column>,
        row_checks: Vec<RowCheck>,
        returning: &[ast::Output],
    ) -> Result<Plan> {
        let (returning, columns) = match returning {
            [] => (None, Vec::new()),
            outputs => {
                self.scope().is_written = !matches!(action, Action::Delete | Action::Erase);
                let (mut exprs, columns) = self.returning(outputs)?;
                exprs.iter_mut().for_each(|expr| substitute(expr, &self.computed));
                (Some(exprs), columns)
            }
        };
        let modify = Modify {
            relation: relation.oid,
            name: relation.name.clone(),
            input,
            action,
            returning,
            row_checks,
            row,
            rest: None,
        };
        Ok(Plan { node: Node::Modify(Box::new(modify)), columns })
    }

    /// The place of a column that is given a value.
    pub(super) fn target_place(&self, target: &Target, relation: &Relation) -> Result<usize> {
        let name = &target.column.text;
        relation.columns.iter().position(|column| column.name == *name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
            Error::new(SqlState::UNDEFINED_COLUMN, message).at(target.column.at)
        })
    }

    /// The places of the columns of a view that an insertion gives values for without naming them.
    fn view_places<'t>(&self, shown: &Shown, insert: &Insert) -> Result<Vec<ValueTarget<'t>>> {
        let places = shown.places();
        let given = match insert.source.as_ref().map(|source| &source.body) {
            Some(Body::Values(rows)) => rows.first().map_or(0, Vec::len),
            _ => 0,
        };
        if let (true, Some(layer)) = (given > places.len(), shown.layers.last()) {
            let column = layer.view.columns.get(places.len()).map(|column| column.name.as_str());
            self.check_given(Some(shown), Verb::Insert, column.into_iter())?;
        }
        Ok(places)
    }

    /// The places of the columns that rows are given for: all where none are named.
    pub(super) fn insert_places<'t>(
        &self,
        targets: &'t [Target],
        relation: &Relation,
    ) -> Result<Vec<ValueTarget<'t>>> {
        if targets.is_empty() {
            return Ok((0..relation.columns.len()).map(ValueTarget::whole).collect());
        }
        let mut places: Vec<ValueTarget<'t>> = Vec::with_capacity(targets.len());
        for target in targets {
            let index = self.target_place(target, relation)?;
            // Several parts of one column may be given.
            let is_whole =
                |place: &ValueTarget<'_>| place.steps.is_empty() || target.steps.is_empty();
            if places.iter().any(|known| known.index == index && is_whole(known)) {
                let message = format!("column \"{}\" specified more than once", target.column.text);
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(target.column.at));
            }
            places.push(ValueTarget { index, at: target.column.at, steps: &target.steps });
        }
        Ok(places)
    }

    /// The rows, each with a value for every column of the table.
    fn insert_rows(
        &mut self,
        insert: &Insert,
        relation: &Relation,
        places: &[ValueTarget<'_>],
        used: usize,
    ) -> Result<Plan> {
        let system = insert.overriding_system;
        let Some(source) = &insert.source else {
            self.insert_used(used, relation, &[]);
            let row = self.full_row(Vec::new(), &[], relation, system)?;
            return Ok(self.rows_plan(relation, vec![row]));
        };
        let plain = source.with.is_none()
            && source.order.is_empty()
            && source.limit.is_none()
            && source.offset.is_none()
            && source.locks.is_empty();
        if let (Body::Values(rows), true) = (&source.body, plain) {
            let mut bound = Vec::with_capacity(rows.len());
            let rows: Vec<_> =
                rows.iter().map(|row| self.spread_variables(row)).collect::<Result<_>>()?;
            for row in &rows {
                let row = &**row;
                if row.len() != rows[0].len() {
                    let at = row.first().map_or(At::NONE, |expr| expr.at);
                    let message = "VALUES lists must all be the same length";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
                }
                let places =
                    fitting_places(places, row.len(), !insert.columns.is_empty(), |place| {
                        row.get(place).map_or(At::NONE, |expr| expr.at)
                    })?;
                self.insert_used(used, relation, places);
                let mut given = self.within(Clause::VALUES, |binder| {
                    binder.given_row(row, places, relation, system)
                })?;
                if let Some(at) = given.iter_mut().find_map(super::late::set_within) {
                    if rows.len() > 1 {
                        return Err(super::late::no_set_in_values(at));
                    }
                    // One row of such functions is a query without FROM.
                    let is_given = |expr: &ast::Expr| !matches!(expr.kind, ast::ExprKind::Default);
                    let values = row.iter().filter(|expr| is_given(expr)).cloned().collect();
                    let places = places.iter().zip(row).filter(|(_, expr)| is_given(expr));
                    let places: Vec<ValueTarget<'_>> =
                        places.map(|(place, _)| place.clone()).collect();
                    let query = query_of(source, values);
                    return self.insert_query(&query, false, relation, &places, (used, system));
                }
                bound.push(self.full_row(given, places, relation, system)?);
            }
            return Ok(self.rows_plan(relation, bound));
        }
        let named = !insert.columns.is_empty();
        self.insert_query(source, named, relation, places, (used, system))
    }

    /// The rows of a query, each with a value for every column of the table. The columns were `named` or not.
    fn insert_query(
        &mut self,
        source: &ast::Query,
        named: bool,
        relation: &Relation,
        places: &[ValueTarget<'_>],
        (used, system): (usize, Option<bool>),
    ) -> Result<Plan> {
        let mut input = self.query(source, false)?;
        let count = input.columns.len();
        let at = source_at(source, places.len());
        let places = fitting_places(places, count, named, |_| at)?;
        self.insert_used(used, relation, places);
        let mut row = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let column = &relation.columns[place.index];
            self.may_be_given(column, system)?;
            if input.columns[at].ty == Type::UNKNOWN {
                let part = self.part_type(column.ty, place.steps);
                let base = self.facts().base(part);
                self.settle_column(&mut input, at, base)?;
            }
            if !place.steps.is_empty() {
                row.push(reference(&input.columns[at], source_at(source, at)));
                continue;
            }
            let value = reference(&input.columns[at], source_at(source, at));
            row.push(self.assign(value, &column.name, column.ty, column.modifier)?);
        }
        let exprs = self.full_row(row, places, relation, system)?;
        let columns = self.relation_columns(relation);
        Ok(Plan { node: Node::Project { input: Box::new(input), exprs }, columns })
    }

    /// The type of a part of a column; where there is no such part, that of what it would be in.
    fn part_type(&self, ty: Type, steps: &[Step]) -> Type {
        let base = self.facts().base(ty);
        let (part, rest) = match steps {
            [] => return ty,
            [Step::Field(name), rest @ ..] => {
                let field = match self.names.shape(base).filter(|_| !base.is_builtin()) {
                    Some(Shape::Composite(fields)) => {
                        fields.iter().find(|field| *field.name == *name.text).map(|field| field.ty)
                    }
                    _ => None,
                };
                (field, rest)
            }
            steps => {
                let run = steps.iter().take_while(|step| !matches!(step, Step::Field(_))).count();
                let is_slice = |step: &Step| matches!(step, Step::Slice(..));
                if base == Type::HSTORE {
                    return Type::TEXT;
                }
                let part = match base == Type::JSONB || steps[..run].iter().any(is_slice) {
                    true => Some(base),
                    false => self.facts().element(base),
                };
                (part, &steps[run.max(1)..])
            }
        };
        part.map_or(ty, |part| self.part_type(part, rest))
    }

    fn rows_plan(&mut self, relation: &Relation, rows: Vec<Vec<Expr>>) -> Plan {
        Plan { node: Node::Values(rows), columns: self.relation_columns(relation) }
    }

    /// Values for columns, as they are stored there.
    pub(super) fn given_row(
        &mut self,
        row: &[ast::Expr],
        places: &[ValueTarget<'_>],
        relation: &Relation,
        system: Option<bool>,
    ) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(row.len());
        for (expr, place) in row.iter().zip(places) {
            let column = &relation.columns[place.index];
            bound.push(match expr.kind {
                ast::ExprKind::Default if place.steps.is_empty() => self.default_of(column)?,
                ast::ExprKind::Default => return Err(no_default_of_part(place.steps, place.at)),
                _ if !place.steps.is_empty() => {
                    self.may_be_given(column, system)?;
                    self.expr(expr)?
                }
                _ => {
                    self.may_be_given(column, system)?;
                    let value = self.expr(expr)?;
                    self.assign(value, &column.name, column.ty, column.modifier)?
                }
            });
        }
        Ok(bound)
    }

    /// A row with a value for every column of the table.
    pub(super) fn full_row(
        &mut self,
        given: Vec<Expr>,
        places: &[ValueTarget<'_>],
        relation: &Relation,
        system: Option<bool>,
    ) -> Result<Vec<Expr>> {
        let mut row: Vec<Option<Expr>> = relation.columns.iter().map(|_| None).collect();
        for (value, place) in given.into_iter().zip(places) {
            if place.steps.is_empty() {
                row[place.index] = Some(value);
                continue;
            }
            // A part is put into what the parts before have made, or into nothing.
            let column = &relation.columns[place.index];
            let old = row[place.index].take().unwrap_or_else(|| Expr::null(column.ty, place.at));
            let steps: Vec<&Step> = place.steps.iter().collect();
            row[place.index] = Some(self.assign_part(old, &steps, value, &column.name)?);
        }
        let mut full = Vec::with_capacity(row.len());
        for (value, column) in row.into_iter().zip(&relation.columns) {
            // `OVERRIDING USER VALUE`: what was given for an identity column is not looked at.
            let identity = matches!(column.default, ColumnDefault::Identity { .. });
            full.push(match value {
                Some(value) if !(identity && system == Some(false)) => value,
                _ => self.default_of(column)?,
            });
        }
        Ok(full)
    }

    /// Checks that a column takes values other than `DEFAULT`.
    fn may_be_given(&self, column: &RelationColumn, system: Option<bool>) -> Result<()> {
        let error = |detail: &str| {
            Error::new(
                SqlState::GENERATED_ALWAYS,
                format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
            )
            .detail(format!("Column \"{}\" is {detail}", column.name))
        };
        match column.default {
            ColumnDefault::Generated(_) => Err(error("a generated column.")),
            ColumnDefault::Identity { always: true, .. } if system.is_none() => {
                Err(error("an identity column defined as GENERATED ALWAYS.")
                    .hint("Use OVERRIDING SYSTEM VALUE to override."))
            }
            _ => Ok(()),
        }
    }

    /// The value of a column where none is given.
    pub(super) fn default_of(&mut self, column: &RelationColumn) -> Result<Expr> {
        let value = match &column.default {
            ColumnDefault::None | ColumnDefault::Generated(_) => {
                Expr::null(Type::UNKNOWN, At::NONE)
            }
            ColumnDefault::Identity { sequence, .. } => {
                Expr::of(ExprKind::NextValue(*sequence), Type::INT8, At::NONE)
            }
            ColumnDefault::Expr(text) => {
                let scopes = std::mem::take(&mut self.scopes);
                let value = self.stored(text, None);
                self.scopes = scopes;
                value?
            }
        };
        self.assign(value, &column.name, column.ty, column.modifier)
    }

    /// A stored expression, over the row that is in scope or over none. Its places mean nothing in
    /// the statement.
    pub(super) fn stored(
        &mut self,
        text: &str,
        over: Option<(&Relation, &[Column])>,
    ) -> Result<Expr> {
        let mut value = self.keeping(|binder| {
            let ast = crate::parse::expression(text)?;
            binder.enter();
            if let Some((relation, row)) = over {
                binder.show_relation(relation, row);
            }
            let value = binder.expr(&ast);
            binder.leave();
            value
        })?;
        super::walk::everywhere(&mut value, &mut |part| {
            part.at = At::NONE;
            true
        });
        Ok(value)
    }

    /// The columns that follow from others, over the table's row.
    pub(super) fn generated(
        &mut self,
        relation: &Relation,
        row: &[Column],
    ) -> Result<Vec<(usize, Expr)>> {
        let mut generated = Vec::new();
        for (place, column) in relation.columns.iter().enumerate() {
            if let ColumnDefault::Generated(text) = &column.default {
                let value = self.stored(text, Some((relation, row)))?;
                let value = self.assign(value, &column.name, column.ty, column.modifier)?;
                generated.push((place, value));
            }
        }
        Ok(generated)
    }
}

/// `SELECT values`, in the place of a query.
fn query_of(source: &ast::Query, values: Vec<ast::Expr>) -> ast::Query {
    let outputs = values.into_iter().map(|expr| ast::Output { expr, alias: None }).collect();
    let body = Body::Select(Box::new(ast::Select::of(outputs)));
    ast::Query { body, ..source.clone() }
}

/// The places that a row of so many values is for.
fn fitting_places<'p, 't>(
    places: &'p [ValueTarget<'t>],
    count: usize,
    named: bool,
    value_at: impl FnOnce(usize) -> At,
) -> Result<&'p [ValueTarget<'t>]> {
    if count > places.len() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "INSERT has more expressions than target columns",
        )
        .at(value_at(places.len())));
    }
    if named && count < places.len() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "INSERT has more target columns than expressions",
        )
        .at(places[count].at));
    }
    Ok(&places[..count])
}

/// The error about `DEFAULT` for a part of a column.
pub(super) fn no_default_of_part(steps: &[Step], at: At) -> Error {
    let message = match steps.first() {
        Some(Step::Index(_) | Step::Slice(..)) => "cannot set an array element to DEFAULT",
        _ => "cannot set a subfield to DEFAULT",
    };
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at)
}

/// Where a value of a query's rows stands.
fn source_at(query: &ast::Query, place: usize) -> At {
    match &query.body {
        Body::Select(select) => select.outputs.get(place).map_or(query.at, |output| output.expr.at),
        Body::Values(rows) => rows[0].get(place).map_or(query.at, |expr| expr.at),
        Body::Set { left, .. } => source_at(left, place),
    }
}
