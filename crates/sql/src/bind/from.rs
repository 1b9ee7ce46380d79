//! `FROM`: tables, views, subqueries, functions and joins become a plan and the items in scope.

use std::borrow::Cow;

use scalar::cast::CoercionContext;
use types::{SqlState, Type};

use super::join::join_plan;
use super::names::{Relation, RelationKind};
use super::scope::{Clause, Item, WithTable, reference};
use super::{Binder, policy};
use crate::error::{At, Error, Result};
use crate::outline::{self, ItemKind};
use crate::parse::ast::{self, Alias, JoinKind, Name, Source, TableRef};
use crate::plan::{Column, Expr, ExprKind, Moment, Node, Origin, Plan};

/// How deep views may be made of views.
pub(super) const VIEWS_MAX: usize = 32;

/// A part of `FROM`, bound.
pub(super) struct Part {
    pub plan: Plan,
    pub items: Vec<Item>,
    /// The outline of the source; `None` unless the binder makes one.
    pub outline: Option<outline::Source>,
}

impl Binder<'_> {
    /// The items of a `FROM` clause, all together.
    pub(super) fn from(&mut self, sources: &[Source]) -> Result<Plan> {
        let mut whole: Option<Plan> = None;
        for source in sources {
            let part = self.source(source)?;
            self.check_names(&part.items)?;
            let added = part.items.len();
            self.scope().items.extend(part.items);
            self.scope().clauses.from.extend(part.outline);
            // Until all are there, only lateral items see those before them.
            for item in &mut self.scope().items {
                item.lateral_only = true;
            }
            debug_assert!(added > 0, "a source has an item");
            whole = Some(match whole {
                None => part.plan,
                Some(left) => join_plan(JoinKind::Inner, left, part.plan, None),
            });
        }
        for item in &mut self.scope().items {
            item.lateral_only = false;
            item.lateral_ok = true;
        }
        Ok(whole.unwrap_or_else(Plan::one_row))
    }

    /// Items of one `FROM` have different names.
    fn check_names(&mut self, items: &[Item]) -> Result<()> {
        for item in items.iter().filter(|item| item.by_name) {
            let clash = self.scope().items.iter().any(|other| {
                other.by_name
                    && other.name == item.name
                    && !(other.schema != item.schema
                        && other.schema.is_some()
                        && item.schema.is_some())
            });
            if let (true, Some(name)) = (clash, &item.name) {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{name}\" specified more than once"),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn source(&mut self, source: &Source) -> Result<Part> {
        match source {
            Source::Table(table) => self.table(table),
            Source::Subquery { query, lateral, alias, at: _ } => self.lateral(*lateral, |binder| {
                let name = alias.as_ref().map(|alias| alias.name.text.as_str());
                let locks = binder.locks_of(name);
                let plan = binder.query(&locked(query, locks), true)?;
                let kind = binder.take_outline().map(ItemKind::Query);
                binder.adopt(&plan.columns);
                let (name, by_name) = match alias {
                    Some(alias) => (alias.name.text.clone(), true),
                    None => (String::new(), false),
                };
                let mut item =
                    Item { by_name, locks_inside: true, ..Item::named(name, &plan.columns) };
                if let Some(alias) = alias {
                    rename(&mut item, alias)?;
                } else {
                    item.name = None;
                }
                let own_names = plan.columns.iter().map(|column| column.name.clone()).collect();
                let mut outline = binder.outline_item(kind, &item, alias.as_ref(), own_names);
                if let Some(outline::Source::Item(item)) = &mut outline {
                    item.lateral = *lateral;
                }
                Ok(Part { plan, items: vec![item], outline })
            }),
            Source::Functions { calls, ordinality, lateral: _, alias, columns, at } => {
                if let [(expr, _)] = &calls[..]
                    && let Some(call) = super::file::reader_call(expr)
                {
                    return self.file(call, *ordinality, alias.as_ref(), *at);
                }
                // Functions are lateral whether it is written or not.
                self.lateral(true, |binder| {
                    binder.functions(calls, *ordinality, alias.as_ref(), columns, *at)
                })
            }
            Source::Join(join) => self.join(join),
        }
    }

    /// The locks that a query or view of this name in `FROM` takes on its own rows.
    fn locks_of(&mut self, name: Option<&str>) -> Vec<ast::Lock> {
        let about = |lock: &&ast::Lock| {
            lock.of.is_empty() || lock.of.iter().any(|path| Some(path.last()) == name)
        };
        let locks = self.scope().locks.iter().filter(about);
        locks.map(|lock| ast::Lock { of: Vec::new(), ..lock.clone() }).collect()
    }

    fn lateral<T>(
        &mut self,
        lateral: bool,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.scope().lateral, lateral);
        let result = bind(self);
        self.scope().lateral = before;
        result
    }

    /// A table, a view, or a table of `WITH`.
    fn table(&mut self, table: &TableRef) -> Result<Part> {
        let target = self.target.take();
        // A statement changes a table, also where a table of its `WITH` has the name.
        if let ([name], None) = (&table.name.parts[..], target)
            && let Some(part) = self.with_table(name, table)?
        {
            return Ok(part);
        }
        let relation = self.relation(&table.name)?;
        let moment = self.moment(table.moment.as_ref(), &relation, table.name.at())?;
        let said = moment.clone();
        // A sequence is a row of its state.
        let kind = match &relation.kind {
            RelationKind::Sequence => RelationKind::View(format!(
                "select * from pg_catalog.sequence_state({}::pg_catalog.oid::pg_catalog.regclass)",
                relation.oid.0
            )),
            kind => kind.clone(),
        };
        match &kind {
            RelationKind::View(text) => {
                let name = alias_name(table);
                let locks = self.locks_of(Some(&name));
                let used = self.use_of(relation.oid);
                self.uses.relations[used].reads.get_or_insert_default();
                if !locks.is_empty() {
                    self.uses.relations[used].updates.get_or_insert_default();
                }
                let plan = self.view(&relation, &text.clone(), moment, locks)?;
                let attnums = relation.columns.iter().map(|column| column.attnum);
                self.show_used(used, &plan.columns, attnums);
                let mut item = Item {
                    relation: Some(relation.clone()),
                    schema: table.alias.is_none().then(|| relation.schema.clone()),
                    row_type: relation.row_type,
                    locks_inside: true,
                    ..Item::named(name, &plan.columns)
                };
                rename_table(&mut item, table)?;
                let said = table.moment.is_some().then_some(said);
                let outline = self.outline_table(table, &relation, said, None, &item);
                Ok(Part { plan, items: vec![item], outline })
            }
            RelationKind::Index | RelationKind::CompositeType => {
                let message = format!("cannot open relation \"{}\"", relation.name);
                let plural = if relation.kind == RelationKind::Index {
                    "indexes"
                } else {
                    "composite types"
                };
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .detail(format!("This operation is not supported for {plural}."))
                    .at(table.name.at()))
            }
            _ => {
                let used = self.use_of(relation.oid);
                self.uses.relations[used].reads.get_or_insert_default();
                let access = match target {
                    Some(access) => access,
                    None => {
                        let locks = self.locks_of(Some(&alias_name(table)));
                        policy::Access::read(!locks.is_empty())
                    }
                };
                let mut part = self.scan(table, &relation, moment)?;
                self.show_scanned(used, &part.plan);
                part.plan = self.secured(part.plan, &relation, access)?;
                Ok(part)
            }
        }
    }

    /// The query of a view, with the names that the view gives to its columns.
    fn view(
        &mut self,
        view: &Relation,
        text: &str,
        moment: Moment,
        locks: Vec<ast::Lock>,
    ) -> Result<Plan> {
        if self.views == VIEWS_MAX {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "infinite recursion detected in rules for relation \"".to_owned()
                    + &view.name
                    + "\"",
            ));
        }
        let without_place = |error: Error| Error { at: At::NONE, ..error };
        let parsed = crate::parse::statements(text).map_err(without_place)?;
        let [crate::parse::Parsed { statement: ast::Statement::Query(query), .. }] = &parsed[..]
        else {
            let message = format!("view \"{}\" is no query", view.name);
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        };
        let scopes = std::mem::take(&mut self.scopes);
        let now = matches!(moment, Moment::Now);
        let outer = std::mem::replace(&mut self.moment, (!now).then_some(moment));
        let before = self.by;
        self.by = self.reader_of(view);
        self.views += 1;
        let plan = self.query(&locked(query, locks), true).map_err(without_place);
        self.views -= 1;
        self.by = before;
        self.moment = outer;
        self.scopes = scopes;
        let mut plan = plan?;
        if view.is_barrier {
            plan = policy::barrier(plan);
        }
        self.adopt(&plan.columns);
        for (column, known) in plan.columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(&known.name);
            column.origin = Some(Origin { relation: view.oid, attnum: known.attnum });
        }
        Ok(plan)
    }

    /// A table of `WITH`, where one has the name.
    fn with_table(&mut self, name: &Name, table: &TableRef) -> Result<Option<Part>> {
        let found = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.tables.iter().find(|known| known.name == name.text))
            .cloned();
        let Some(WithTable { table: number, name: own, columns, working, refused }) = found else {
            return Ok(None);
        };
        if let Some(refused) = refused {
            if refused == super::query::PROBE {
                self.probed = Some(number);
            }
            return Err(
                Error::new(SqlState::INVALID_RECURSION, refused.replace("%", &own)).at(name.at)
            );
        }
        let Some(known) = columns else {
            let message = format!("WITH query \"{own}\" does not have a RETURNING clause");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.at));
        };
        let mut columns = Vec::with_capacity(known.len());
        for (column, ty, modifier) in known {
            columns.push(self.column(column, ty, modifier, None));
        }
        self.set_table_collations(number, &columns);
        if working {
            self.scope().is_step = true;
            let tables = self.scopes.iter_mut().flat_map(|scope| &mut scope.tables);
            for known in tables.filter(|known| known.table == number) {
                known.refused =
                    Some("recursive reference to query \"%\" must not appear more than once");
            }
        }
        let node = match working {
            true => Node::WorkTable { table: number, name: own.clone() },
            false => Node::CteScan { table: number, name: own.clone() },
        };
        let own_names = columns.iter().map(|column| column.name.clone()).collect();
        let mut item = Item::named(alias_name(table), &columns);
        rename_table(&mut item, table)?;
        let kind = ItemKind::Cte(own);
        let outline = self.outline_item(Some(kind), &item, table.alias.as_ref(), own_names);
        Ok(Some(Part { plan: Plan { node, columns }, items: vec![item], outline }))
    }

    /// The condition of an expression list: what `WHERE`, `ON` and `HAVING` have.
    pub(super) fn where_clause(
        &mut self,
        filter: Option<&ast::Expr>,
        clause: Clause,
    ) -> Result<Option<Expr>> {
        let Some(filter) = filter else { return Ok(None) };
        self.within(clause, |binder| {
            let filter = binder.expr(filter)?;
            binder.boolean(filter, clause.name).map(Some)
        })
    }

    /// An offset or count as `int8`.
    pub(super) fn count(&mut self, expr: &ast::Expr, clause: Clause) -> Result<Expr> {
        let at = expr.at;
        let count = self.within(clause, |binder| {
            // Columns of the query itself are not in sight here.
            let items = std::mem::take(&mut binder.scope().items);
            let count = binder.expr(expr);
            let foreign = count.as_ref().err().is_some_and(|error| {
                error.cause.state() == SqlState::UNDEFINED_COLUMN
                    || error.cause.state() == SqlState::UNDEFINED_TABLE
            });
            binder.scope().items = items;
            if foreign && binder.expr(expr).is_ok() {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("argument of {} must not contain variables", clause.name),
                )
                .at(at));
            }
            count
        })?;
        let (source, at) = (count.ty, count.at);
        self.coerce(count, Type::INT8, CoercionContext::Assignment)?.ok_or_else(|| {
            let message = format!(
                "argument of {} must be type bigint, not type {}",
                clause.name,
                self.type_name(source)
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message).at(at)
        })
    }
}

/// A query with locks that the one around it says; a query without tables has nothing to lock.
fn locked(query: &ast::Query, locks: Vec<ast::Lock>) -> Cow<'_, ast::Query> {
    let has_tables = match &query.body {
        ast::Body::Select(select) => !select.from.is_empty(),
        ast::Body::Values(_) => false,
        ast::Body::Set { .. } => true,
    };
    if locks.is_empty() || !has_tables {
        return Cow::Borrowed(query);
    }
    let mut query = query.clone();
    query.locks.extend(locks);
    Cow::Owned(query)
}

/// The conditions as one; none if there are none.
pub(super) fn and(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => {
            let at = conditions[0].at;
            Some(Expr::of(ExprKind::And(conditions), Type::BOOL, at))
        }
    }
}

/// The plan with columns added on the right.
pub(super) fn append(plan: Plan, added: Vec<(Expr, Column)>) -> Plan {
    if added.is_empty() {
        return plan;
    }
    let mut exprs: Vec<Expr> =
        plan.columns.iter().map(|column| reference(column, At::NONE)).collect();
    let mut columns = plan.columns.clone();
    for (expr, column) in added {
        exprs.push(expr);
        columns.push(column);
    }
    Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
}

pub(super) fn alias_name(table: &TableRef) -> String {
    match &table.alias {
        Some(alias) => alias.name.text.clone(),
        None => table.name.last().to_owned(),
    }
}

pub(super) fn rename_table(item: &mut Item, table: &TableRef) -> Result<()> {
    match &table.alias {
        Some(alias) => rename(item, alias),
        None => Ok(()),
    }
}

/// Gives the columns of an item the names that its alias has for them.
pub(super) fn rename(item: &mut Item, alias: &Alias) -> Result<()> {
    let shown = item.columns.iter().filter(|column| !column.hidden).count();
    if alias.columns.len() > shown {
        return Err(Error::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!(
                "table \"{}\" has {shown} columns available but {} columns specified",
                alias.name.text,
                alias.columns.len()
            ),
        ));
    }
    for (column, name) in item.columns.iter_mut().zip(&alias.columns) {
        column.name.clone_from(&name.text);
        column.column.name.clone_from(&name.text);
        column.is_renamed = true;
    }
    Ok(())
}
