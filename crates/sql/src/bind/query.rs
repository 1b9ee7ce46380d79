//! Queries as wholes: `WITH`, `VALUES`, set operations, and the order and limit that apply to them.

use types::{Modifier, SqlState, Type};

use super::Binder;
use super::scope::{Clause, Described, Item, WithTable, reference};
use crate::error::{At, Error, Result};
use crate::outline::Query as Outline;
use crate::parse::ast::{self, Body, Query, SetOp, Statement, With};
use crate::plan::{Column, Cte, CteBody, Expr, ExprKind, Node, Plan, SortKey};

/// The most tables of `WITH RECURSIVE` in one statement that are bound to see whether they refer to themselves. If such
/// tables are nested, each is bound twice for each time that the one around it is bound.
const PROBES_MAX: usize = 1000;

/// A recursive table, and its columns.
type Recursive = (CteBody, Option<Described>);

/// The error of a reference from a table to itself while it is bound only to find such references.
pub(super) const PROBE: &str = "recursive reference to query \"%\"";

impl Binder<'_> {
    /// Binds a query, or a statement that changes rows. At the `top` of a statement, the latter may lack `RETURNING`.
    pub(super) fn data_statement(&mut self, statement: &Statement, top: bool) -> Result<Plan> {
        match statement {
            Statement::Query(query) => self.query(query, true),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete, false),
            Statement::Erase(delete) if top => self.delete(delete, true),
            Statement::Merge(merge) => self.merge(merge),
            _ => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "only queries and changes of rows are bound to plans",
            )),
        }
    }

    /// A query. Outputs that are literals without a type become text if `settle` is true.
    pub(super) fn query(&mut self, query: &Query, settle: bool) -> Result<Plan> {
        self.enter();
        let plan = self.query_in_scope(query, settle);
        self.leave();
        plan
    }

    fn query_in_scope(&mut self, query: &Query, settle: bool) -> Result<Plan> {
        let tables = self.with(query.with.as_ref())?;
        let plan = match &query.body {
            Body::Select(select) => self.select(select, query, settle)?,
            Body::Values(rows) => {
                let plan = self.values(rows, settle)?;
                self.outline_values(&plan);
                self.ordered(plan, query, false)?
            }
            Body::Set { .. } => {
                let plan = self.set_operation(query)?;
                self.ordered(plan, query, true)?
            }
        };
        self.finish_outline(query);
        Ok(with_tables(tables, plan))
    }

    /// `ORDER BY`, `LIMIT` and locks over rows that are not those of a `SELECT`.
    fn ordered(&mut self, plan: Plan, query: &Query, set: bool) -> Result<Plan> {
        if let Some(lock) = query.locks.first() {
            let name = match lock.strength {
                ast::LockStrength::KeyShare => "FOR KEY SHARE",
                ast::LockStrength::Share => "FOR SHARE",
                ast::LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
                ast::LockStrength::Update => "FOR UPDATE",
            };
            let message = match set {
                true => format!("{name} is not allowed with UNION/INTERSECT/EXCEPT"),
                false => format!("{name} cannot be applied to VALUES"),
            };
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let plan = self.sorted(plan, query, set)?;
        self.limit(plan, query)
    }

    /// Sorts by outputs only; expressions are possible over `VALUES`, but not over set operations.
    fn sorted(&mut self, plan: Plan, query: &Query, set: bool) -> Result<Plan> {
        if query.order.is_empty() {
            return Ok(plan);
        }
        let before = std::mem::take(&mut self.scope().items);
        let shown = Item { by_name: false, ..Item::named("*VALUES*", &plan.columns) };
        self.scope().items = vec![shown];
        self.adopt(&plan.columns);
        let mut keys = Vec::with_capacity(query.order.len());
        for item in &query.order {
            keys.push(self.output_key(item, &plan, set)?);
        }
        self.scope().items = before;
        self.outline_order(&keys, &plan);
        let keys = self.order_keys(keys)?;
        let columns = plan.columns.clone();
        Ok(Plan { node: Node::Sort { input: Box::new(plan), keys }, columns })
    }

    fn output_key(&mut self, item: &ast::OrderItem, plan: &Plan, set: bool) -> Result<SortKey> {
        let at = leftmost(&item.expr);
        if let ast::ExprKind::Column(names) = &item.expr.kind
            && let [name] = &names[..]
        {
            let mut found = plan.columns.iter().filter(|column| column.name == name.text);
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => {
                    let message = format!("ORDER BY \"{}\" is ambiguous", name.text);
                    return Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).at(at));
                }
                (Some(column), None) => return self.sort_key_of(reference(column, at), item),
                (None, _) => {}
            }
        }
        if let ast::ExprKind::Number(digits) = &item.expr.kind {
            let place: usize = digits.parse().map_err(|_| {
                Error::new(SqlState::SYNTAX_ERROR, "non-integer constant in ORDER BY").at(at)
            })?;
            let Some(column) = place.checked_sub(1).and_then(|at| plan.columns.get(at)) else {
                let message = format!("ORDER BY position {place} is not in select list");
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(at));
            };
            return self.sort_key_of(reference(column, at), item);
        }
        if set {
            let column = matches!(item.expr.kind, ast::ExprKind::Column(_));
            if column {
                self.expr(&item.expr)?;
            }
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
            )
            .detail("Only result column names can be used, not expressions or functions.")
            .hint(
                "Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
            )
            .at(at));
        }
        self.within(Clause::ORDER_BY, |binder| binder.sort_key(item))
    }

    /// `LIMIT`, `OFFSET` and `FETCH`.
    pub(super) fn limit(&mut self, plan: Plan, query: &Query) -> Result<Plan> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(plan);
        }
        let offset = match &query.offset {
            Some(offset) => Some(self.count(offset, Clause::OFFSET)?),
            None => None,
        };
        let limit = match &query.limit {
            Some(limit) => Some(self.count(limit, Clause::LIMIT)?),
            None => None,
        };
        self.outline_limit(limit.as_ref(), offset.as_ref());
        let ties = if query.with_ties { order_of(&plan) } else { None };
        let columns = plan.columns.clone();
        Ok(Plan { node: Node::Limit { input: Box::new(plan), limit, offset, ties }, columns })
    }

    /// `VALUES`: each column has the type that its values have in common.
    pub(super) fn values(&mut self, rows: &[Vec<ast::Expr>], settle: bool) -> Result<Plan> {
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            let row_at = row[0].at;
            let row = self.within(Clause::VALUES, |binder| binder.expr_list(row))?;
            if let Some(first) = bound.first().map(Vec::<Expr>::len)
                && first != row.len()
            {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                )
                .at(row_at));
            }
            bound.push(row);
        }
        let width = bound[0].len();
        let mut columns = Vec::with_capacity(width);
        let mut types = Vec::with_capacity(width);
        for place in 0..width {
            let column: Vec<&Expr> = bound.iter().map(|row| &row[place]).collect();
            let open = column.iter().all(|expr| expr.ty == Type::UNKNOWN);
            let ty = match open && !settle {
                true => Type::UNKNOWN,
                false => self.common_type(&column, "VALUES")?,
            };
            types.push(ty);
        }
        let mut cast = Vec::with_capacity(bound.len());
        for row in bound {
            let mut out = Vec::with_capacity(width);
            for (expr, ty) in row.into_iter().zip(&types) {
                out.push(self.common_value(expr, *ty, "VALUES")?);
            }
            cast.push(out);
        }
        for (place, ty) in types.iter().enumerate() {
            let all: Vec<Expr> = cast.iter().map(|row| row[place].clone()).collect();
            let modifier = Self::common_modifier(&all, *ty);
            let column = self.column(format!("column{}", place + 1), *ty, modifier, None);
            self.note_collations(&column, &all);
            columns.push(column);
        }
        for expr in cast.iter_mut().flatten() {
            if let Some(at) = super::late::set_within(expr) {
                return Err(super::late::no_set_in_values(at));
            }
        }
        Ok(Plan { node: Node::Values(cast), columns })
    }

    /// `UNION`, `INTERSECT`, `EXCEPT`: each column has the type that both sides have in common.
    fn set_operation(&mut self, query: &Query) -> Result<Plan> {
        let Body::Set { op, all, left, right } = &query.body else {
            return self.query(query, true);
        };
        let left_plan = self.set_side(left)?;
        let left_outline = self.take_outline();
        let right_plan = self.set_side(right)?;
        let right_outline = self.take_outline();
        let plan = self.combine(*op, *all, (left_plan, left), (right_plan, right))?;
        let sides = (left_outline, right_outline);
        let outline = self.outline_set((*op, *all), sides, &plan.columns)?;
        self.scope().clauses.body = outline.map(|outline| outline.body);
        Ok(plan)
    }

    /// A side of a set operation. Chains on the left are followed without going deeper.
    fn set_side(&mut self, query: &Query) -> Result<Plan> {
        self.query(query, false)
    }

    fn combine(
        &mut self,
        op: SetOp,
        all: bool,
        (mut left, left_query): (Plan, &Query),
        (mut right, right_query): (Plan, &Query),
    ) -> Result<Plan> {
        let name = match op {
            SetOp::Union => "UNION",
            SetOp::Intersect => "INTERSECT",
            SetOp::Except => "EXCEPT",
        };
        if left.columns.len() != right.columns.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("each {name} query must have the same number of columns"),
            )
            .at(first_output(right_query)));
        }
        let mut columns = Vec::with_capacity(left.columns.len());
        for place in 0..left.columns.len() {
            let types = [left.columns[place].ty, right.columns[place].ty];
            let ty = self
                .common_of(&types, name)
                .map_err(|(error, _)| error.at(output_at(right_query, place)))?;
            if !(op == SetOp::Union && all) {
                self.needs_equality(ty, output_at(left_query, place))?;
            }
            left = self.retype(left, place, ty, name)?;
            right = self.retype(right, place, ty, name)?;
            let same = left.columns[place].modifier == right.columns[place].modifier;
            let modifier = if same { left.columns[place].modifier } else { Modifier::NONE };
            let name = left.columns[place].name.clone();
            let column = self.column(name, ty, modifier, None);
            let sides = [&left.columns[place], &right.columns[place]];
            let at = output_at(right_query, place);
            self.combine_collations(&column, sides, !(op == SetOp::Union && all), at)?;
            columns.push(column);
        }
        self.set_of_rows((op, all), (left, right), columns)
    }

    /// The plan with one of its columns as another type.
    pub(super) fn retype(
        &mut self,
        plan: Plan,
        place: usize,
        ty: Type,
        name: &str,
    ) -> Result<Plan> {
        let mut plan = plan;
        if plan.columns[place].ty == ty {
            return Ok(plan);
        }
        if plan.columns[place].ty == Type::UNKNOWN {
            self.settle_column(&mut plan, place, ty)?;
            return Ok(plan);
        }
        let mut exprs: Vec<Expr> =
            plan.columns.iter().map(|column| reference(column, At::NONE)).collect();
        let value = exprs.swap_remove(place);
        let value = self.common_value(value, ty, name)?;
        let mut columns = plan.columns.clone();
        columns[place] =
            Column { name: plan.columns[place].name.clone(), ..self.column_for("", &value) };
        let last = exprs.len();
        exprs.push(value);
        exprs.swap(place, last);
        Ok(Plan { node: Node::Project { input: Box::new(plan), exprs }, columns })
    }

    /// Gives a type to a column of literals, where they are.
    pub(super) fn settle_column(&mut self, plan: &mut Plan, place: usize, ty: Type) -> Result<()> {
        let id = plan.columns[place].id;
        match &mut plan.node {
            Node::Project { input, exprs } => {
                let expr = std::mem::replace(&mut exprs[place], Expr::bool(true));
                if let ExprKind::Column { index, .. } = expr.kind
                    && let Some(below) = input.columns.iter().position(|column| column.id == index)
                {
                    self.settle_column(input, below, ty)?;
                    exprs[place] = Expr { ty, ..expr };
                } else {
                    exprs[place] = self.implicit(expr, ty)?;
                }
            }
            Node::Values(rows) => {
                for row in rows {
                    let expr = std::mem::replace(&mut row[place], Expr::bool(true));
                    row[place] = self.implicit(expr, ty)?;
                }
            }
            Node::SetOperation { left, right, .. } => {
                self.settle_column(left, place, ty)?;
                self.settle_column(right, place, ty)?;
            }
            Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct(input)
            | Node::DistinctOn { input, .. }
            | Node::LockRows { input, .. }
            | Node::With { input, .. } => {
                if let Some(below) = input.columns.iter().position(|column| column.id == id) {
                    self.settle_column(input, below, ty)?;
                }
            }
            _ => {}
        }
        plan.columns[place].ty = ty;
        Ok(())
    }

    /// The tables of a `WITH` clause, which come into sight one after the other.
    pub(super) fn with(&mut self, with: Option<&With>) -> Result<Vec<Cte>> {
        let Some(with) = with else { return Ok(Vec::new()) };
        let mut tables = Vec::with_capacity(with.tables.len());
        for (place, cte) in with.tables.iter().enumerate() {
            let later = &with.tables[place..];
            self.scope().pending = later.iter().map(|cte| cte.name.text.clone()).collect();
            if with.tables[..place].iter().any(|other| other.name.text == cte.name.text) {
                let message =
                    format!("WITH query name \"{}\" specified more than once", cte.name.text);
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(cte.name.at));
            }
            if !matches!(*cte.statement, Statement::Query(_)) && self.scopes.len() > 1 {
                let message =
                    "WITH clause containing a data-modifying statement must be at the top level";
                let refusal = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(refusal.at(cte.name.at));
            }
            tables.push(self.with_one(cte, with.recursive)?);
        }
        self.scope().pending.clear();
        Ok(tables)
    }

    fn with_one(&mut self, cte: &ast::Cte, recursive: bool) -> Result<Cte> {
        let table = self.next_table;
        self.next_table += 1;
        let name = cte.name.text.clone();
        let probed = match recursive {
            true => self.without_itself(cte, table)?,
            false => Some(self.data_statement(&cte.statement, false)?),
        };
        let (body, columns) = match probed {
            None => {
                let (made, outline) = self.recursive(cte, table)?;
                self.outline_cte(cte, outline);
                made
            }
            Some(plan) => {
                self.outline_cte(cte, None);
                let columns = match gives_rows(&plan) {
                    true => {
                        self.note_table(table, &plan.columns);
                        Some(self.with_columns(cte, &plan.columns)?)
                    }
                    false => None,
                };
                (CteBody::Plan(plan), columns)
            }
        };
        self.scope().tables.push(WithTable {
            table,
            name: name.clone(),
            columns,
            working: false,
            refused: None,
        });
        Ok(Cte { table, name, materialized: cte.materialized, body })
    }

    /// Returns the plan of a table of `WITH RECURSIVE`; `None` if the table refers to itself. To find that out, it
    /// binds the table with its own name in scope, and any use of that name fails.
    fn without_itself(&mut self, cte: &ast::Cte, table: u32) -> Result<Option<Plan>> {
        self.probes += 1;
        if self.probes > PROBES_MAX {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "WITH RECURSIVE is nested too deep",
            )
            .at(cte.name.at));
        }
        self.scope().tables.push(WithTable {
            table,
            name: cte.name.text.clone(),
            columns: None,
            working: true,
            refused: Some(PROBE),
        });
        let depth = self.scopes.len();
        let bound = self.data_statement(&cte.statement, false);
        self.scopes.truncate(depth);
        self.scope().tables.pop();
        match bound {
            Err(_) if self.probed == Some(table) => {
                self.probed = None;
                Ok(None)
            }
            bound => bound.map(Some),
        }
    }

    /// The names and types of the columns of a table of `WITH`.
    fn with_columns(&self, cte: &ast::Cte, columns: &[Column]) -> Result<Described> {
        if cte.columns.len() > columns.len() {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "WITH query \"{}\" has {} columns available but {} columns specified",
                    cte.name.text,
                    columns.len(),
                    cte.columns.len()
                ),
            )
            .at(cte.name.at));
        }
        let name = |place: usize, column: &Column| match cte.columns.get(place) {
            Some(name) => name.text.clone(),
            None => column.name.clone(),
        };
        let columns = columns.iter().enumerate();
        Ok(columns.map(|(at, column)| (name(at, column), column.ty, column.modifier)).collect())
    }

    /// `name AS (start UNION [ALL] step)`, where `step` reads `name`.
    fn recursive(&mut self, cte: &ast::Cte, table: u32) -> Result<(Recursive, Option<Outline>)> {
        let name = &cte.name;
        let wrong = |message: String| Error::new(SqlState::INVALID_RECURSION, message).at(name.at);
        let Statement::Query(query) = &*cte.statement else {
            return Err(wrong(format!(
                "recursive query \"{}\" must not contain data-modifying statements",
                name.text
            )));
        };
        let Body::Set { op: SetOp::Union, all, left, right } = &query.body else {
            return Err(wrong(format!(
                "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] \
                 recursive-term",
                name.text
            )));
        };
        for (found, what) in [
            (query.order.first().map(|item| item.expr.at), "ORDER BY"),
            (query.offset.as_ref().map(|offset| offset.at), "OFFSET"),
            (query.limit.as_ref().map(|limit| limit.at), "LIMIT"),
            (query.locks.first().map(|_| At::NONE), "FOR UPDATE/SHARE"),
        ] {
            if let Some(at) = found {
                let message = format!("{what} in a recursive query is not implemented");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
            }
        }
        let see = |binder: &mut Self, columns, refused| {
            binder.scope().tables.retain(|known| known.table != table);
            binder.scope().tables.push(WithTable {
                table,
                name: name.text.clone(),
                columns,
                working: true,
                refused,
            });
        };
        see(
            self,
            None,
            Some(
                "recursive reference to query \"%\" must not appear within its non-recursive term",
            ),
        );
        let mut start = self.query(left, true)?;
        let start_outline = self.take_outline();
        self.note_table(table, &start.columns);
        let columns = self.with_columns(cte, &start.columns)?;
        see(self, Some(columns.clone()), None);
        let step = self.query(right, false)?;
        let step_outline = self.take_outline();
        self.scope().tables.retain(|known| known.table != table);
        if start.columns.len() != step.columns.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "each UNION query must have the same number of columns",
            )
            .at(first_output(right)));
        }
        let mut step = step;
        for (place, column) in start.columns.clone().into_iter().enumerate() {
            let (found, modifier) = (step.columns[place].ty, step.columns[place].modifier);
            let common = self
                .common_of(&[column.ty, found], "UNION")
                .map_err(|(error, _)| error.at(output_at(right, place)))?;
            // The column has the type and the modifier that both terms have in common.
            let agrees = found == column.ty && modifier == column.modifier;
            let overall = if agrees { modifier } else { Modifier::NONE };
            if common != column.ty || overall != column.modifier {
                let types: &dyn types::TypeSource = self.names;
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "recursive query \"{}\" column {} has type {} in non-recursive term but \
                         type {} overall",
                        name.text,
                        place + 1,
                        types::format_type(types, column.ty, column.modifier),
                        types::format_type(types, common, Modifier::NONE)
                    ),
                )
                .hint("Cast the output of the non-recursive term to the correct type.")
                .at(output_at(left, place)));
            }
            step = self.retype(step, place, column.ty, "UNION")?;
        }
        for (column, (name, ..)) in start.columns.iter_mut().zip(&columns) {
            column.name.clone_from(name);
        }
        let classes = if *all { Vec::new() } else { self.classes_of(&start.columns)? };
        let sides = (start_outline, step_outline);
        let outline = self.outline_set((SetOp::Union, *all), sides, &start.columns)?;
        let (start, step) = (Box::new(start), Box::new(step));
        Ok(((CteBody::Recursive { start, step, all: *all, classes }, Some(columns)), outline))
    }
}

/// The plan with the tables that it reads.
pub(super) fn with_tables(tables: Vec<Cte>, plan: Plan) -> Plan {
    if tables.is_empty() {
        return plan;
    }
    let columns = plan.columns.clone();
    Plan { node: Node::With { tables, input: Box::new(plan) }, columns }
}

/// False for a change without `RETURNING`.
fn gives_rows(plan: &Plan) -> bool {
    match &plan.node {
        Node::Modify(modify) => modify.returning.is_some(),
        Node::With { input, .. } => gives_rows(input),
        _ => true,
    }
}

/// Where the outputs of a query begin.
fn first_output(query: &Query) -> At {
    output_at(query, 0)
}

/// Where an output of a query stands.
fn output_at(query: &Query, place: usize) -> At {
    match &query.body {
        Body::Select(select) => select
            .outputs
            .get(place)
            .or(select.outputs.first())
            .map_or(query.at, |o| leftmost(&o.expr)),
        Body::Values(rows) => rows[0].get(place).map_or(query.at, leftmost),
        Body::Set { left, .. } => output_at(left, place),
    }
}

/// Where an expression begins.
fn leftmost(expr: &ast::Expr) -> At {
    match &expr.kind {
        ast::ExprKind::Op { left: Some(left), .. } => leftmost(left),
        ast::ExprKind::Cast { expr: inner, .. } => leftmost(inner).min(expr.at),
        _ => expr.at,
    }
}

/// The number of the output that a sort key is, counted from 1; 0 if it is no output.
pub(super) fn order_place(key: &SortKey, plan: &Plan) -> usize {
    let ExprKind::Column { index, .. } = key.expr.kind else { return 0 };
    plan.columns.iter().position(|column| column.id == index).map_or(0, |place| place + 1)
}

/// By what the rows of a query are sorted.
fn order_of(plan: &Plan) -> Option<Vec<SortKey>> {
    match &plan.node {
        Node::Sort { keys, .. } => Some(keys.clone()),
        Node::DistinctOn { input, .. }
        | Node::LockRows { input, .. }
        | Node::Project { input, .. }
        | Node::ProjectSet { input, .. } => order_of(input),
        _ => None,
    }
}
