//! Noting the outline of a query while it is bound ([`crate::outline`]).
//!
//! ```text
//!   query_in_scope   enters a scope; its clauses leave their outlines there
//!     with, from, select, values, set operations, order, limit
//!   finish_outline   puts them together: the outline of the query that was bound last
//!   take_outline     called by the code that asked for the query, at once
//! ```
//!
//! The texts of views in `FROM` are not outlined: their items stand for them.

use types::{Modifier, Type};

use super::Binder;
use super::names::Relation;
use super::query::order_place;
use super::scope;
use super::select::{Order, Target};
use crate::error::{At, Result};
use crate::outline::{
    Body, ColumnName, Cte, Distinct, Group, Item, ItemKind, Join, Key, Notes, Outlined,
    OutlinedExpr, Query, Select, Source, Window,
};
use crate::parse::ast::{self, ExprKind as Ast};
use crate::plan::{Cast, Column, Expr, ExprKind, Plan, SortKey};

/// The outline in the making.
#[derive(Default)]
pub(super) struct Outlining {
    pub notes: Notes,
    /// The outline of the query that was bound last.
    finished: Option<Query>,
}

/// The outlines of the clauses of a query.
#[derive(Default)]
pub(super) struct Clauses {
    pub with: Vec<Cte>,
    pub from: Vec<Source>,
    pub body: Option<Body>,
    pub order: Vec<Key>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub keys: Vec<Expr>,
}

/// The use of a definition's text, which decides the type of its value.
#[derive(Clone, Copy)]
pub enum DefinitionUse<'a> {
    /// Any.
    Any,
    /// A condition.
    Condition,
    /// A value for a column with this name, type and modifier.
    Column(&'a str, Type, Modifier),
}

/// Binds a query and gives its outline; none if it reads what has none, such as a file.
///
/// # Errors
/// As [`super::statement`].
pub fn outline(
    query: &ast::Query,
    names: &dyn super::Names,
    context: types::Context<'_>,
) -> Result<Option<Outlined>> {
    let mut binder = Binder::new(names, context, &[]);
    binder.outlining = Some(Outlining::default());
    // The text comes from the catalog, and reading it needs no rights.
    (binder.stored, binder.by) = (true, Some(types::Oid::NONE));
    binder.query(query, true)?;
    let outlining = binder.outlining.unwrap_or_default();
    Ok(outlining.finished.map(|query| Outlined { query, notes: outlining.notes }))
}

/// Binds an expression over the columns of a relation, as [`super::expression`] does, and gives its
/// outline.
///
/// # Errors
/// As [`super::expression`].
pub fn outline_expression(
    text: &str,
    over: Option<&Relation>,
    wanted: DefinitionUse<'_>,
    names: &dyn super::Names,
    context: types::Context<'_>,
) -> Result<OutlinedExpr> {
    let ast = crate::parse::expression(text)?;
    let (mut binder, row) = Binder::over(names, context, over);
    binder.outlining = Some(Outlining::default());
    let expr = binder.expr(&ast)?;
    let expr = match wanted {
        DefinitionUse::Any => binder.settle(expr)?,
        DefinitionUse::Condition => binder.boolean(expr, "CHECK")?,
        DefinitionUse::Column(name, ty, modifier) => {
            let given = expr.ty;
            let value = binder.assign(expr, name, ty, modifier)?;
            match value.kind {
                // This cast to a domain is implicit.
                ExprKind::Cast { expr: inner, how: Cast::Domain } if given != ty => *inner,
                _ => value,
            }
        }
    };
    let columns = row.into_iter().map(|column| (column.id, column.name)).collect();
    let notes = binder.outlining.map(|outlining| outlining.notes).unwrap_or_default();
    let table = over.map(|relation| relation.name.clone()).unwrap_or_default();
    Ok(OutlinedExpr { expr, columns, table, notes, is_of_domain: false })
}

/// The columns of an item, under the names that they go by.
fn columns_of(item: &scope::Item, hidden: bool) -> Vec<ColumnName> {
    let columns = item.columns.iter().filter(|column| column.hidden == hidden);
    columns.map(|column| (column.column.id, column.name.clone())).collect()
}

impl Binder<'_> {
    /// True while the outline of the text is noted. The queries of views are not part of it.
    pub(super) fn is_outlining(&self) -> bool {
        self.outlining.is_some() && self.views == 0 && !self.kept
    }

    /// The notes, while the outline of the text is noted.
    pub(super) fn notes(&mut self) -> Option<&mut Notes> {
        match self.is_outlining() {
            true => self.outlining.as_mut().map(|outlining| &mut outlining.notes),
            false => None,
        }
    }

    /// The outline of the query that was bound just before.
    pub(super) fn take_outline(&mut self) -> Option<Query> {
        match self.is_outlining() {
            true => self.outlining.as_mut().and_then(|outlining| outlining.finished.take()),
            false => None,
        }
    }

    /// Puts the outlines of the clauses of a query together.
    pub(super) fn finish_outline(&mut self, query: &ast::Query) {
        if !self.is_outlining() {
            return;
        }
        let clauses = std::mem::take(&mut self.scope().clauses);
        let finished = clauses.body.map(|body| Query {
            with: clauses.with,
            recursive: query.with.as_ref().is_some_and(|with| with.recursive),
            body,
            order: clauses.order,
            limit: clauses.limit,
            with_ties: query.with_ties,
            offset: clauses.offset,
            locks: query.locks.clone(),
        });
        if let Some(outlining) = &mut self.outlining {
            outlining.finished = finished;
        }
    }

    /// Notes a table of `WITH`, whose query was bound just before. `body` is that of a recursive one.
    pub(super) fn outline_cte(&mut self, cte: &ast::Cte, body: Option<Query>) {
        let Some(query) = body.or_else(|| self.take_outline()) else { return };
        let columns = cte.columns.iter().map(|name| name.text.clone()).collect();
        let (name, materialized) = (cte.name.text.clone(), cte.materialized);
        self.scope().clauses.with.push(Cte { name, columns, materialized, query });
    }

    /// The outline of an item of `FROM`.
    pub(super) fn outline_item(
        &self,
        kind: Option<ItemKind>,
        item: &scope::Item,
        alias: Option<&ast::Alias>,
        own_names: Vec<String>,
    ) -> Option<Source> {
        if !self.is_outlining() {
            return None;
        }
        Some(Source::Item(Box::new(Item {
            kind: kind?,
            lateral: false,
            name: item.name.clone().unwrap_or_else(|| "unnamed_subquery".to_owned()),
            has_alias: alias.is_some(),
            columns: columns_of(item, false),
            own_names,
            has_column_aliases: alias.is_some_and(|alias| !alias.columns.is_empty()),
            hidden: columns_of(item, true),
        })))
    }

    /// True if functions read columns of other items of the same `FROM`.
    pub(super) fn reads_own_columns(&self, calls: &[(Expr, Vec<crate::outline::Defined>)]) -> bool {
        let own = self.scopes.last().map_or(u32::MAX, |scope| scope.serial);
        let mut found = false;
        for (call, _) in calls {
            super::walk::everywhere(&mut call.clone(), &mut |part| {
                if let ExprKind::Column { index, .. } = part.kind {
                    found |= self.owners[index as usize] == own;
                }
                !found
            });
        }
        found
    }

    /// The outline of a join.
    pub(super) fn outline_join(
        &self,
        join: &ast::Join,
        sides: (Option<Source>, Option<Source>),
        mut condition: Option<Expr>,
        mut using: Vec<String>,
        whole: &scope::Item,
    ) -> Option<Source> {
        if !self.is_outlining() {
            return None;
        }
        let (left, right) = (sides.0?, sides.1?);
        let columns = columns_of(whole, false);
        let using_alias = match &join.condition {
            ast::JoinCondition::Using(_, alias) => alias.as_ref(),
            _ => None,
        };
        let merged = columns[..using.len().min(columns.len())].to_vec();
        let mut both = Vec::new();
        if let (ast::JoinCondition::WasUsing(_), Some(said)) = (&join.condition, &condition)
            && let Some(pairs) = equal_pairs(said, &columns)
        {
            condition = None;
            using = pairs.iter().map(|(.., name)| name.clone()).collect();
            both = pairs;
        }
        let alias = join.alias.as_ref();
        Some(Source::Join(Box::new(Join {
            kind: join.kind,
            left,
            right,
            condition,
            using,
            using_alias: using_alias.map(|alias| (alias.text.clone(), merged.clone())),
            merged,
            both,
            alias: alias.map(|alias| (alias.name.text.clone(), !alias.columns.is_empty(), columns)),
        })))
    }

    /// Notes the clauses of a `SELECT`, before they are put together to a plan.
    pub(super) fn outline_select(
        &mut self,
        select: &ast::Select,
        targets: &[Target],
        conditions: (&Option<Expr>, &Option<Expr>),
        order: &[Order],
        distinct_on: Option<&[usize]>,
    ) {
        if !self.is_outlining() {
            return;
        }
        let clauses = &mut self.scope().clauses;
        let key = |order: &Order| Key {
            key: SortKey { expr: targets[order.target].expr.clone(), ..order.key.clone() },
            place: order.target + 1,
        };
        clauses.order = order.iter().map(key).collect();
        let mut keys = std::mem::take(&mut clauses.keys).into_iter();
        let from = std::mem::take(&mut clauses.from);
        if from.len() != select.from.len() {
            return;
        }
        let mut group = Vec::with_capacity(select.group.len());
        for item in &select.group {
            let item = group_of(item, &mut keys);
            let is_known = |known: &Group| match (known, &item) {
                (Group::Keys(one), Group::Keys(other)) => {
                    one.len() == other.len()
                        && one.iter().zip(other).all(|(one, other)| super::call::same(one, other))
                }
                _ => false,
            };
            if !group.iter().any(is_known) {
                group.push(item);
            }
        }
        let distinct = match (&select.distinct, distinct_on) {
            (ast::Distinct::No, _) => Distinct::No,
            (ast::Distinct::Yes, _) => Distinct::Yes,
            (ast::Distinct::On(_), keys) => {
                let keys = keys.unwrap_or_default().iter();
                Distinct::On(keys.map(|key| targets[*key].expr.clone()).collect())
            }
        };
        let shown = targets.iter().filter(|target| !target.junk);
        let targets = shown.map(|target| crate::outline::Target {
            expr: target.expr.clone(),
            name: target.name.clone(),
        });
        let targets = targets.collect();
        let notes = self.outlining.as_ref().map(|outlining| &outlining.notes.windows);
        let windows = select.windows.iter().filter_map(|(name, window)| {
            let known = notes.and_then(|windows| windows.get(&window.at))?;
            Some((name.text.clone(), known.clone()))
        });
        let windows = windows.collect();
        self.scope().clauses.body = Some(Body::Select(Box::new(Select {
            distinct,
            targets,
            from,
            filter: conditions.0.clone(),
            group,
            group_distinct: select.group_distinct,
            having: conditions.1.clone(),
            windows,
        })));
    }

    /// Notes the rows of `VALUES`.
    pub(super) fn outline_values(&mut self, plan: &Plan) {
        if let (true, crate::plan::Node::Values(rows)) = (self.is_outlining(), &plan.node) {
            let columns = plan.columns.iter().map(|column| (column.id, column.name.clone()));
            let columns = columns.collect();
            self.scope().clauses.body = Some(Body::Values { rows: rows.clone(), columns });
        }
    }

    /// Notes a set operation. Literals without a type are of that of their column, where that had none
    /// before.
    pub(super) fn outline_set(
        &mut self,
        (op, all): (ast::SetOp, bool),
        sides: (Option<Query>, Option<Query>),
        columns: &[Column],
    ) -> Result<Option<Query>> {
        let (Some(mut left), Some(mut right)) = sides else { return Ok(None) };
        for (place, column) in columns.iter().enumerate() {
            self.settle_outline(&mut left, place, column.ty)?;
            self.settle_outline(&mut right, place, column.ty)?;
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let body = Body::Set { op, all, left, right };
        let (with, order, locks) = (Vec::new(), Vec::new(), Vec::new());
        let (limit, offset) = (None, None);
        Ok(Some(Query {
            with,
            recursive: false,
            body,
            order,
            limit,
            with_ties: false,
            offset,
            locks,
        }))
    }

    fn settle_outline(&mut self, query: &mut Query, place: usize, ty: Type) -> Result<()> {
        match &mut query.body {
            Body::Select(select) => {
                if let Some(target) = select.targets.get_mut(place) {
                    self.settle_outlined(&mut target.expr, ty)?;
                }
            }
            Body::Values { rows, .. } => {
                for row in rows {
                    self.settle_outlined(&mut row[place], ty)?;
                }
            }
            Body::Set { left, right, .. } => {
                self.settle_outline(left, place, ty)?;
                self.settle_outline(right, place, ty)?;
            }
        }
        Ok(())
    }

    fn settle_outlined(&mut self, expr: &mut Expr, ty: Type) -> Result<()> {
        if expr.ty == Type::UNKNOWN && ty != Type::UNKNOWN {
            let bare = std::mem::replace(expr, Expr::bool(true));
            *expr = self.implicit(bare, ty)?;
        }
        Ok(())
    }

    /// Notes the order over rows that are not those of a `SELECT`.
    pub(super) fn outline_order(&mut self, keys: &[SortKey], plan: &Plan) {
        if self.is_outlining() {
            let key = |key: &SortKey| Key { key: key.clone(), place: order_place(key, plan) };
            self.scope().clauses.order = keys.iter().map(key).collect();
        }
    }

    /// Notes `LIMIT` and `OFFSET`.
    pub(super) fn outline_limit(&mut self, limit: Option<&Expr>, offset: Option<&Expr>) {
        if self.is_outlining() {
            let clauses = &mut self.scope().clauses;
            clauses.limit = limit.cloned();
            clauses.offset = offset.cloned();
        }
    }

    /// Notes a subquery in an expression, which was bound just before.
    pub(super) fn outline_subquery(&mut self, at: At) {
        if let Some(query) = self.take_outline()
            && let Some(notes) = self.notes()
        {
            notes.queries.insert(at, query);
        }
    }

    /// Notes a window of a `WINDOW` clause.
    pub(super) fn outline_window(&mut self, at: At, window: impl FnOnce() -> Window) {
        if let Some(notes) = self.notes() {
            notes.windows.insert(at, window());
        }
    }
}

/// The pairs of columns of one name that a condition compares, where it does nothing else.
fn equal_pairs(condition: &Expr, columns: &[ColumnName]) -> Option<Vec<(u32, u32, String)>> {
    let side = |expr: &Expr| {
        let mut expr = expr;
        loop {
            match &expr.kind {
                ExprKind::Cast { expr: inner, .. } => expr = inner,
                ExprKind::Coalesce(list) => expr = list.first()?,
                ExprKind::Column { index, .. } => {
                    let named = columns.iter().find(|(id, _)| id == index)?;
                    return Some((*index, named.1.as_str()));
                }
                _ => return None,
            }
        }
    };
    let pair = |expr: &Expr| match &expr.kind {
        ExprKind::Call(call) if call.operator && call.name == "=" => {
            let (left, right) = (side(&call.args[0])?, side(call.args.get(1)?)?);
            (left.1 == right.1).then(|| (left.0, right.0, left.1.to_owned()))
        }
        _ => None,
    };
    match &condition.kind {
        ExprKind::And(list) => list.iter().map(pair).collect(),
        // No column has the same name on both sides.
        ExprKind::Const(types::Datum::Bool(true)) => Some(Vec::new()),
        _ => Some(vec![pair(condition)?]),
    }
}

/// An item of `GROUP BY`, with the bound keys in the order in which they were bound.
fn group_of(item: &ast::Expr, keys: &mut dyn Iterator<Item = Expr>) -> Group {
    let list = |items: &[ast::Expr], keys: &mut dyn Iterator<Item = Expr>| {
        items.iter().map(|item| group_of(item, keys)).collect()
    };
    match &item.kind {
        Ast::EmptyGroup => Group::Empty,
        Ast::Rollup(items) => Group::Rollup(list(items, keys)),
        Ast::Cube(items) => Group::Cube(list(items, keys)),
        Ast::GroupingSets(items) => Group::Sets(list(items, keys)),
        _ => {
            let mut members = Vec::new();
            key_of(item, keys, &mut members);
            Group::Keys(members)
        }
    }
}

fn key_of(item: &ast::Expr, keys: &mut dyn Iterator<Item = Expr>, members: &mut Vec<Expr>) {
    match &item.kind {
        Ast::Row { fields, explicit: false } => {
            fields.iter().for_each(|field| key_of(field, keys, members));
        }
        _ => members.extend(keys.next()),
    }
}
