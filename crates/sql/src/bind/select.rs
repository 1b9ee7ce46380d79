//! `SELECT`: from its clauses, in the order in which they take effect, to a chain of operators.
//!
//! ```text
//!   FROM ─> WHERE ─> GROUP BY ─> HAVING ─> windows ─> sets ─> outputs ─> DISTINCT ─> ORDER BY
//!                                                                 ─> locks ─> LIMIT
//! ```
//!
//! Expressions of `ORDER BY` and `DISTINCT ON` beyond the outputs are *junk* outputs: they are
//! computed with the others and left out at the end. Outputs that are computed after the order are
//! *late* ([`late`](super::late)).

use types::{Modifier, SqlState, Type};

use super::call::same;
use super::group::Key;
use super::scope::{Clause, reference};
use super::{Binder, Star, Written, late, walk};
use crate::error::{At, Error, Result};
use crate::parse::ast::{
    self, Distinct, ExprKind as Ast, Name, OrderItem, Output, Query, Select, Step,
};
use crate::plan::{Column, Expr, ExprKind, Node, Origin, Plan, SortKey};

/// An output: what `SELECT` lists, or junk.
pub(super) struct Target {
    pub(super) expr: Expr,
    pub(super) name: String,
    pub(super) junk: bool,
}

/// An item of an order, before it is known what columns there are.
pub(super) struct Order {
    /// Which output.
    pub(super) target: usize,
    pub(super) key: SortKey,
}

impl Binder<'_> {
    /// A `SELECT` with the clauses that follow it. Outputs that are literals without a type become
    /// text, if `settle` is true; else they are left to the caller, which knows their type.
    pub(super) fn select(&mut self, select: &Select, query: &Query, settle: bool) -> Result<Plan> {
        if let Some((into, _)) = &select.into {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "SELECT ... INTO is not allowed here")
                .at(into.at()));
        }
        self.scope().locks.clone_from(&query.locks);
        let input = self.within(Clause::FROM, |binder| binder.from(&select.from))?;
        self.scope().windows.clone_from(&select.windows);
        let is_named = self.scopes.len() > 1
            || !query.order.is_empty()
            || !select.group.is_empty()
            || matches!(select.distinct, Distinct::On(_));
        let mut targets =
            self.within(Clause::SELECT, |binder| binder.outputs(&select.outputs, is_named))?;
        let filter = self.where_clause(select.filter.as_ref(), Clause::WHERE)?;
        let mut having = self.where_clause(select.having.as_ref(), Clause::HAVING)?;
        let order = self.order(&query.order, &mut targets)?;
        let groups = self.within(Clause::GROUP_BY, |binder| {
            binder.groups(&select.group, select.group_distinct, &mut |binder, key| {
                let key = binder.group_key(key, &targets)?;
                if binder.is_outlining() {
                    binder.scope().clauses.keys.push(key.expr.clone());
                }
                Ok(key)
            })
        })?;
        let distinct_on = match &select.distinct {
            Distinct::On(keys) => Some(self.distinct_on(keys, &mut targets, &order)?),
            _ => None,
        };
        self.check_windows()?;
        if settle || select.distinct != Distinct::No {
            for target in &mut targets {
                let expr = std::mem::replace(&mut target.expr, Expr::bool(true));
                target.expr = self.settle(expr)?;
            }
        }
        if select.distinct == Distinct::Yes {
            self.check_distinct(&targets)?;
        }
        let conditions = (&filter, &having);
        self.outline_select(select, &targets, conditions, &order, distinct_on.as_deref());
        let mut plan = match filter {
            Some(condition) => filtered(input, condition),
            None => input,
        };
        let grouped = self.scope().aggregated || !select.group.is_empty() || having.is_some();
        if grouped {
            plan = self.group(plan, groups, &mut targets, having.as_mut())?;
        }
        if let Some(condition) = having {
            plan = filtered(plan, condition);
        }
        plan = self.windows(plan, &mut targets);
        let windowed = matches!(plan.node, Node::Window { .. });
        let late =
            late::targets(&mut targets, &order, &select.distinct, distinct_on.as_deref(), query);
        let gives_sets = targets.iter_mut().any(|target| late::gives_sets(&mut target.expr));
        let calls = match () {
            () if grouped => Some("aggregate functions"),
            () if windowed => Some("window functions"),
            () if gives_sets => Some("set-returning functions in the target list"),
            () => None,
        };
        let locks = self.locks(query, select, calls, &mut targets)?;
        plan = self.project(plan, &mut targets, &late);
        plan = self.distinct_and_order(plan, select, order, distinct_on, &targets)?;
        plan = self.project_late(plan, &mut targets, &late);
        if !locks.is_empty() {
            let columns = plan.columns.clone();
            plan = Plan { node: Node::LockRows { input: Box::new(plan), locks }, columns };
        }
        plan = self.limit(plan, query)?;
        Ok(without_junk(plan, targets.iter().filter(|target| !target.junk).count()))
    }

    /// The outputs of `SELECT` or `RETURNING`.
    fn outputs(&mut self, outputs: &[Output], is_named: bool) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(outputs.len());
        for output in outputs {
            for (name, expr) in self.output(output, is_named)? {
                targets.push(Target { expr, name, junk: false });
            }
        }
        if targets.len() > 1664 {
            return Err(Error::new(
                SqlState::TOO_MANY_COLUMNS,
                "target lists can have at most 1664 entries",
            ));
        }
        Ok(targets)
    }

    /// An output with its name, or all outputs that a star stands for. `is_named` is true if others can use the names.
    pub(super) fn output(
        &mut self,
        output: &Output,
        is_named: bool,
    ) -> Result<Vec<(String, Expr)>> {
        match &output.expr.kind {
            Ast::Star(names) => self.star(names, output.expr.at, is_named),
            Ast::Indirection { base, steps } if matches!(steps.last(), Some(Step::Star(_))) => {
                self.fields(base, &steps[..steps.len() - 1], output.expr.at)
            }
            _ => {
                let expr = self.expr(&output.expr)?;
                if let (None, Ast::Column(names), Some(text)) =
                    (&output.alias, &output.expr.kind, &mut self.text)
                    && let Some(name) = names.last()
                    && let Some(named) = text.named.iter_mut().find(|named| named.at == name.at)
                {
                    named.is_output = is_named;
                }
                if let (None, Ast::Indirection { steps, .. }, Some(text)) =
                    (&output.alias, &output.expr.kind, &mut self.text)
                    && let Some(Step::Field(name)) = steps.last()
                    && let Some(known) = text.attributes.iter_mut().find(|it| it.at == name.at)
                {
                    known.is_output = is_named;
                }
                let name = match &output.alias {
                    Some(alias) => alias.text.clone(),
                    None => output_name(&output.expr),
                };
                Ok(vec![(name, expr)])
            }
        }
    }

    /// `(row).*`
    fn fields(&mut self, base: &ast::Expr, steps: &[Step], at: At) -> Result<Vec<(String, Expr)>> {
        let row = match steps {
            [] => self.expr(base)?,
            _ => {
                let kind = Ast::Indirection { base: Box::new(base.clone()), steps: steps.to_vec() };
                self.expr(&ast::Expr { kind, at })?
            }
        };
        let Some(fields) = self.fields_of(&row) else {
            let message = match row.ty {
                Type::RECORD => "record type has not been registered".to_owned(),
                ty => format!("type {} is not composite", self.type_name(ty)),
            };
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(row.at));
        };
        let field = |(index, (name, ty, modifier)): (usize, (String, Type, Modifier))| {
            let kind = match &row.kind {
                ExprKind::Row { fields, .. } => fields[index].kind.clone(),
                _ => ExprKind::Field { expr: Box::new(row.clone()), index },
            };
            (name, Expr { kind, ty, modifier, at })
        };
        Ok(fields.into_iter().enumerate().map(field).collect())
    }

    /// `*` or `t.*`
    pub(super) fn star(
        &mut self,
        names: &[Name],
        at: At,
        is_named: bool,
    ) -> Result<Vec<(String, Expr)>> {
        let columns = self.star_columns(names, at);
        let columns = self.or_fields(columns, names, at)?;
        if self.by.is_none() && self.text.is_some() {
            let columns = columns.iter().map(|one| self.starred(one)).collect();
            let star = Star { at, is_named, columns };
            if let Some(text) = &mut self.text
                && !text.stars.iter().any(|known| known.at == star.at)
            {
                text.stars.push(star);
            }
        }
        Ok(columns.into_iter().map(|(name, column)| (name, self.read(column))).collect())
    }

    /// A column of a `*` as SQL can write it: by a name that it has in this scope.
    fn starred(&self, column: &(String, Expr)) -> Written {
        let (name, expr) = column;
        let items = self.scopes.last().map_or(&[][..], |scope| &scope.items);
        let written = match expr.kind {
            ExprKind::Column { index: id, .. } => self.written(items, name, id),
            _ => None,
        };
        written.unwrap_or_else(|| Written::Column(None, name.clone(), None))
    }

    fn star_columns(&mut self, names: &[Name], at: At) -> Result<Vec<(String, Expr)>> {
        if names.is_empty() {
            let scope = self.scope();
            let visible: Vec<_> = scope.items.iter().filter(|item| item.by_column).collect();
            if visible.is_empty() {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "SELECT * with no tables specified is not valid",
                )
                .at(at));
            }
            let columns = visible.into_iter().flat_map(|item| item.shown());
            return Ok(columns
                .map(|column| (column.name.clone(), reference(&column.column, at)))
                .collect());
        }
        let (schema, table) = match self.in_database(names, 2)? {
            [schema, table] => (Some(schema.text.as_str()), table),
            names => (None, &names[0]),
        };
        let item = self.item_named(schema, &table.text, at)?;
        Ok(item
            .shown()
            .map(|column| (column.name.clone(), reference(&column.column, at)))
            .collect())
    }

    /// The items of `ORDER BY`: names and numbers of outputs, or expressions, which become junk
    /// outputs where they are none yet.
    fn order(&mut self, items: &[OrderItem], targets: &mut Vec<Target>) -> Result<Vec<Order>> {
        let mut order: Vec<Order> = Vec::with_capacity(items.len());
        for item in items {
            let target = self.find_output(&item.expr, targets, Clause::ORDER_BY)?;
            let expr = std::mem::replace(&mut targets[target].expr, Expr::bool(true));
            let expr = self.settle(expr)?;
            targets[target].expr = expr.clone();
            let at_item = Expr { at: item.expr.at.or(expr.at), ..expr };
            let key = self.sort_key_of(at_item, item)?;
            if !order.iter().any(|known| known.target == target) {
                order.push(Order { target, key });
            }
        }
        Ok(order)
    }

    /// The output that an item of `ORDER BY` or `DISTINCT ON` means.
    fn find_output(
        &mut self,
        expr: &ast::Expr,
        targets: &mut Vec<Target>,
        clause: Clause,
    ) -> Result<usize> {
        if let Ast::Column(names) = &expr.kind
            && let [name] = &names[..]
            && let Some(found) = named_output(&name.text, targets, clause.name, expr.at)?
        {
            return Ok(found);
        }
        if let Some(found) = numbered_output(expr, targets, clause.name)? {
            return Ok(found);
        }
        let bound = self.within(clause, |binder| binder.expr(expr))?;
        Ok(targets.iter().position(|target| same(&target.expr, &bound)).unwrap_or_else(|| {
            targets.push(Target { expr: bound, name: "?column?".to_owned(), junk: true });
            targets.len() - 1
        }))
    }

    /// A key of `GROUP BY`: a column of the input, or the name or number of an output, or an
    /// expression.
    fn group_key(&mut self, key: &ast::Expr, targets: &[Target]) -> Result<Key> {
        let mut output = None;
        if let Ast::Column(names) = &key.kind
            && let [name] = &names[..]
        {
            // A column of the query's own tables comes first here.
            let own = self.scope().items.iter().any(|item| {
                item.by_column && item.columns.iter().any(|column| column.name == name.text)
            });
            if !own {
                output = named_output(&name.text, targets, "GROUP BY", key.at)?;
            }
        } else {
            output = numbered_output(key, targets, "GROUP BY")?;
        }
        let expr = match output {
            Some(target) => {
                let expr = targets[target].expr.clone();
                self.no_calls(&expr)?;
                expr
            }
            None => self.expr(key)?,
        };
        let expr = self.settle(expr)?;
        self.needs_equality(expr.ty, key.at)?;
        self.equivalence(&expr)?;
        let is_it = |target: &Target| same(&target.expr, &expr);
        let output = output.or_else(|| targets.iter().position(is_it));
        Ok(Key { expr, output })
    }

    /// Fails if a key of `GROUP BY` contains an aggregate or a window function.
    fn no_calls(&mut self, expr: &Expr) -> Result<()> {
        let serial = self.scope().serial;
        let mut found = None;
        walk::everywhere(&mut expr.clone(), &mut |part| {
            let what = match &part.kind {
                ExprKind::Aggregate(call) if call.scope == serial => {
                    Some((SqlState::GROUPING_ERROR, "aggregate"))
                }
                ExprKind::Window(_) => Some((SqlState::WINDOWING_ERROR, "window")),
                _ => None,
            };
            found = found.or(what.map(|what| (what, part.at)));
            true
        });
        match found {
            None => Ok(()),
            Some(((state, what), at)) => {
                let message = format!("{what} functions are not allowed in GROUP BY");
                Err(Error::new(state, message).at(at))
            }
        }
    }

    /// The keys of `DISTINCT ON`, which are what `ORDER BY` begins with.
    fn distinct_on(
        &mut self,
        keys: &[ast::Expr],
        targets: &mut Vec<Target>,
        order: &[Order],
    ) -> Result<Vec<usize>> {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let target = self.find_output(key, targets, Clause::DISTINCT_ON)?;
            let expr = std::mem::replace(&mut targets[target].expr, Expr::bool(true));
            targets[target].expr = self.settle(expr)?;
            self.needs_equality(targets[target].expr.ty, key.at)?;
            if !found.contains(&target) {
                found.push(target);
            }
        }
        for (place, key) in order.iter().enumerate() {
            if !found.contains(&key.target) {
                let missing = found[..]
                    .iter()
                    .any(|target| !order[..place].iter().any(|before| before.target == *target));
                if missing {
                    return Err(Error::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                    )
                    .at(keys[0].at));
                }
                break;
            }
        }
        Ok(found)
    }

    fn check_distinct(&mut self, targets: &[Target]) -> Result<()> {
        for target in targets {
            if target.junk {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                )
                .at(target.expr.at));
            }
            self.needs_equality(target.expr.ty, target.expr.at)?;
            self.equivalence(&target.expr)?;
        }
        Ok(())
    }

    /// Computes the window functions among the outputs.
    fn windows(&mut self, plan: Plan, targets: &mut [Target]) -> Plan {
        let mut calls = Vec::new();
        let mut columns = plan.columns.clone();
        for target in targets {
            walk::everywhere(&mut target.expr, &mut |part| {
                if let ExprKind::Window(call) = &part.kind {
                    let column = self.column(call.name, part.ty, Modifier::NONE, None);
                    self.note_call(&column, &call.args);
                    calls.push((**call).clone());
                    *part = reference(&column, part.at);
                    columns.push(column);
                }
                // Windows of a subquery are its own.
                !matches!(part.kind, ExprKind::Subquery(_))
            });
        }
        if calls.is_empty() {
            return plan;
        }
        Plan { node: Node::Window { input: Box::new(plan), calls }, columns }
    }

    fn distinct_and_order(
        &mut self,
        mut plan: Plan,
        select: &Select,
        order: Vec<Order>,
        distinct_on: Option<Vec<usize>>,
        targets: &[Target],
    ) -> Result<Plan> {
        let columns = plan.columns.clone();
        let keep = |node| Plan { node, columns: columns.clone() };
        if select.distinct == Distinct::Yes {
            plan = self.distinct_rows(plan)?;
        }
        let mut keys: Vec<SortKey> = order
            .into_iter()
            .map(|order| SortKey { expr: targets[order.target].expr.clone(), ..order.key })
            .collect();
        let by = |target: &usize| SortKey {
            expr: targets[*target].expr.clone(),
            descending: false,
            nulls_first: false,
        };
        let Some(on) = distinct_on else {
            if keys.is_empty() {
                return Ok(plan);
            }
            let keys = self.order_keys(keys)?;
            return Ok(keep(Node::Sort { input: Box::new(plan), keys }));
        };
        let on: Vec<SortKey> = on.iter().map(by).collect();
        let missing: Vec<SortKey> = on
            .iter()
            .filter(|key| !keys.iter().any(|known| same(&known.expr, &key.expr)))
            .cloned()
            .collect();
        keys.extend(missing);
        let (keys, on) = (self.order_keys(keys)?, self.order_keys(on)?);
        let sorted = keep(Node::Sort { input: Box::new(plan), keys });
        Ok(keep(Node::DistinctOn { input: Box::new(sorted), keys: on }))
    }

    /// The outputs of `RETURNING`.
    pub(super) fn returning(&mut self, outputs: &[Output]) -> Result<(Vec<Expr>, Vec<Column>)> {
        let mut exprs = Vec::new();
        let mut columns = Vec::new();
        for output in outputs {
            for (name, expr) in
                self.within(Clause::RETURNING, |binder| binder.output(output, false))?
            {
                let expr = self.settle(expr)?;
                let mut column = self.column_for(name, &expr);
                column.origin = self.origin_in_scope(&expr);
                columns.push(column);
                exprs.push(expr);
            }
        }
        Ok((exprs, columns))
    }

    fn origin_in_scope(&mut self, expr: &Expr) -> Option<Origin> {
        let ExprKind::Column { index, .. } = expr.kind else { return None };
        let mut columns = self.scope().items.iter().flat_map(|item| &item.columns);
        columns.find(|column| column.column.id == index)?.column.origin
    }
}

/// The rows of which a condition is true.
pub(super) fn filtered(plan: Plan, condition: Expr) -> Plan {
    let columns = plan.columns.clone();
    Plan { node: Node::Filter { input: Box::new(plan), condition }, columns }
}

/// The first columns of a plan, without the junk after them.
fn without_junk(plan: Plan, count: usize) -> Plan {
    if plan.columns.len() == count {
        return plan;
    }
    let columns = plan.columns[..count].to_vec();
    let exprs = columns.iter().map(|column| reference(column, At::NONE)).collect();
    Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
}

fn named_output(name: &str, targets: &[Target], clause: &str, at: At) -> Result<Option<usize>> {
    let mut found: Option<usize> = None;
    for (place, target) in targets.iter().enumerate() {
        if target.junk || target.name != name {
            continue;
        }
        match found {
            Some(before) if !same(&targets[before].expr, &target.expr) => {
                let message = format!("{clause} \"{name}\" is ambiguous");
                return Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).at(at));
            }
            Some(_) => {}
            None => found = Some(place),
        }
    }
    Ok(found)
}

/// The output that a number means; `None` if the expression is not such a constant. A string or NULL is an error.
fn numbered_output(expr: &ast::Expr, targets: &[Target], clause: &str) -> Result<Option<usize>> {
    match &expr.kind {
        Ast::Number(digits) => {
            let place = digits.parse::<i32>().map_err(|_| {
                let message = format!("non-integer constant in {clause}");
                Error::new(SqlState::SYNTAX_ERROR, message).at(expr.at)
            })?;
            let shown = targets.iter().filter(|target| !target.junk).count();
            match usize::try_from(place) {
                Ok(place @ 1..) if place <= shown => Ok(Some(place - 1)),
                _ => {
                    let message = format!("{clause} position {place} is not in select list");
                    Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(expr.at))
                }
            }
        }
        Ast::String(_) | Ast::Null | Ast::Bits(_) => {
            let message = format!("non-integer constant in {clause}");
            Err(Error::new(SqlState::SYNTAX_ERROR, message).at(expr.at))
        }
        _ => Ok(None),
    }
}

/// The name that an output has where none is given.
pub(super) fn output_name(expr: &ast::Expr) -> String {
    name_of(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// The name that follows from an expression, and whether it is strong. The name of a cast's type is not: it gives way
/// to the name of the value.
pub(super) fn name_of(expr: &ast::Expr) -> Option<(String, bool)> {
    let strong = |name: &str| Some((name.to_owned(), true));
    match &expr.kind {
        Ast::Column(names) => strong(&names.last()?.text),
        Ast::Indirection { base, steps } => {
            let field = steps.iter().rev().find_map(|step| match step {
                Step::Field(name) => Some(&name.text),
                _ => None,
            });
            match field {
                Some(name) => strong(name),
                None => name_of(base),
            }
        }
        Ast::Call(call) => strong(call.name.last()),
        Ast::NullIf(..) => strong("nullif"),
        Ast::Coalesce(_) => strong("coalesce"),
        Ast::Greatest(_) => strong("greatest"),
        Ast::Least(_) => strong("least"),
        Ast::Json(json) => strong(json.column_name()?),
        Ast::Grouping(_) => strong("grouping"),
        Ast::Keyword { word, .. } => strong(word),
        Ast::Array(_) => strong("array"),
        Ast::Row { .. } => strong("row"),
        Ast::Cast { expr, to } => match name_of(expr) {
            Some((name, true)) => Some((name, true)),
            _ => Some((to.name.last().to_owned(), false)),
        },
        Ast::Collate { expr, .. } => name_of(expr),
        Ast::Case { otherwise, .. } => {
            match otherwise.as_ref().and_then(|otherwise| name_of(otherwise)) {
                Some((name, true)) => Some((name, true)),
                _ => Some(("case".to_owned(), false)),
            }
        }
        Ast::Subquery { link, query } => match link {
            ast::Link::Exists => strong("exists"),
            ast::Link::Array => strong("array"),
            ast::Link::Scalar => {
                let mut body = &query.body;
                while let ast::Body::Set { left, .. } = body {
                    body = &left.body;
                }
                match body {
                    ast::Body::Select(select) => {
                        let first = select.outputs.first()?;
                        match &first.alias {
                            Some(alias) => strong(&alias.text),
                            None => name_of(&first.expr).map(|(name, _)| (name, true)),
                        }
                    }
                    _ => strong("column1"),
                }
            }
            _ => None,
        },
        _ => None,
    }
}
