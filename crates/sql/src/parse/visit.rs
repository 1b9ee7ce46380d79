//! A walk over the syntax tree: every name of a table, column, type or function that is looked up
//! elsewhere, with its place. The catalog uses it for the dependencies of a kept text.

use super::ast::{
    Body, Bound, Call, Delete, Distinct, Expr, ExprKind, Insert, JoinCondition, Link, Moment, Name,
    OrderItem, Path, Query, Select, Source, Statement, Step, TableRef, TypeName, Update, Window,
    With,
};

/// A receiver of names.
pub trait Visitor {
    /// The name of a table that is no table of `WITH`.
    fn table(&mut self, path: &Path);

    /// The name of a column, maybe with that of its table.
    fn column(&mut self, names: &[Name]);

    /// The name of a type.
    fn type_name(&mut self, ty: &TypeName);

    /// A string that is cast to a type, and where the string stands.
    fn literal(&mut self, text: &str, expr: &Expr, to: &TypeName);

    /// A call of a function.
    fn call(&mut self, call: &Call);

    /// The name of a collation.
    fn collation(&mut self, _path: &Path) {}
}

/// Walks over a query.
pub fn query(query: &Query, visitor: &mut dyn Visitor) {
    Walk { visitor, tables: Vec::new() }.query(query);
}

/// Walks over an expression.
pub fn expr(expr: &Expr, visitor: &mut dyn Visitor) {
    Walk { visitor, tables: Vec::new() }.expr(expr);
}

/// The walk, and the tables of `WITH` that are in sight.
struct Walk<'v> {
    visitor: &'v mut dyn Visitor,
    tables: Vec<String>,
}

impl Walk<'_> {
    fn query(&mut self, query: &Query) {
        let before = self.tables.len();
        self.with(query.with.as_ref());
        match &query.body {
            Body::Select(select) => self.select(select),
            Body::Values(rows) => rows.iter().flatten().for_each(|value| self.expr(value)),
            Body::Set { left, right, .. } => {
                self.query(left);
                self.query(right);
            }
        }
        self.order(&query.order);
        self.optional(query.limit.as_ref());
        self.optional(query.offset.as_ref());
        self.tables.truncate(before);
    }

    fn with(&mut self, with: Option<&With>) {
        let Some(with) = with else { return };
        if with.recursive {
            self.tables.extend(with.tables.iter().map(|table| table.name.text.clone()));
        }
        for table in &with.tables {
            self.statement(&table.statement);
            self.tables.push(table.name.text.clone());
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            // Nothing else can be part of a text that is kept.
            _ => {}
        }
    }

    fn insert(&mut self, insert: &Insert) {
        self.with(insert.with.as_ref());
        self.table(&insert.table);
        if let Some(source) = &insert.source {
            self.query(source);
        }
    }

    fn update(&mut self, update: &Update) {
        self.with(update.with.as_ref());
        self.table(&update.table);
    }

    fn delete(&mut self, delete: &Delete) {
        self.with(delete.with.as_ref());
        self.table(&delete.table);
    }

    fn select(&mut self, select: &Select) {
        if let Distinct::On(keys) = &select.distinct {
            self.all(keys);
        }
        select.outputs.iter().for_each(|output| self.expr(&output.expr));
        select.from.iter().for_each(|source| self.source(source));
        self.optional(select.filter.as_ref());
        self.all(&select.group);
        self.optional(select.having.as_ref());
        select.windows.iter().for_each(|(_, window)| self.window(window));
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Table(table) => self.table(table),
            Source::Subquery { query, .. } => self.query(query),
            Source::Functions { calls, columns, .. } => {
                for (call, columns) in calls {
                    self.expr(call);
                    columns.iter().for_each(|column| self.visitor.type_name(&column.ty));
                }
                columns.iter().for_each(|column| self.visitor.type_name(&column.ty));
            }
            Source::Join(join) => {
                self.source(&join.left);
                self.source(&join.right);
                if let JoinCondition::On(condition) | JoinCondition::WasUsing(condition) =
                    &join.condition
                {
                    self.expr(condition);
                }
            }
        }
    }

    fn table(&mut self, table: &TableRef) {
        let is_with = match table.name.parts.as_slice() {
            [name] => self.tables.contains(&name.text),
            _ => false,
        };
        if !is_with {
            self.visitor.table(&table.name);
        }
        match &table.moment {
            None | Some(Moment::All) => {}
            Some(Moment::AsOf(at) | Moment::AtVersion(at)) => self.expr(at),
            Some(
                Moment::FromTo(from, to)
                | Moment::Between(from, to)
                | Moment::ContainedIn(from, to),
            ) => {
                self.expr(from);
                self.expr(to);
            }
        }
        if let Some(sample) = &table.sample {
            self.all(&sample.args);
            self.optional(sample.seed.as_ref());
        }
    }

    fn all(&mut self, exprs: &[Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn optional(&mut self, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn order(&mut self, items: &[OrderItem]) {
        items.iter().for_each(|item| self.expr(&item.expr));
    }

    fn window(&mut self, window: &Window) {
        self.all(&window.partition);
        self.order(&window.order);
        let Some(frame) = &window.frame else { return };
        for bound in [&frame.start, &frame.end] {
            if let Bound::Preceding(offset) | Bound::Following(offset) = bound {
                self.expr(offset);
            }
        }
    }

    fn call(&mut self, call: &Call) {
        self.visitor.call(call);
        call.args.iter().for_each(|arg| self.expr(&arg.value));
        self.order(&call.order);
        self.order(&call.within_group);
        self.optional(call.filter.as_ref());
        if let Some(window) = &call.over {
            self.window(window);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Column(names) | ExprKind::Star(names) => self.visitor.column(names),
            ExprKind::Indirection { base, steps } => {
                self.expr(base);
                for step in steps {
                    match step {
                        Step::Field(_) | Step::Star(_) => {}
                        Step::Index(index) => self.expr(index),
                        Step::Slice(low, high) => {
                            self.optional(low.as_ref());
                            self.optional(high.as_ref());
                        }
                    }
                }
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Op { left, right, .. } => {
                self.optional(left.as_deref());
                self.expr(right);
            }
            ExprKind::AnyAll { left, right, .. }
            | ExprKind::IsDistinct { left, right, .. }
            | ExprKind::NullIf(left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::InList { expr, list, .. } => {
                self.expr(expr);
                self.all(list);
            }
            ExprKind::Between { expr, low, high, .. } => {
                self.expr(expr);
                self.expr(low);
                self.expr(high);
            }
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Coalesce(list)
            | ExprKind::Greatest(list)
            | ExprKind::Least(list)
            | ExprKind::Array(list)
            | ExprKind::Row { fields: list, .. }
            | ExprKind::Grouping(list)
            | ExprKind::Rollup(list)
            | ExprKind::Cube(list)
            | ExprKind::GroupingSets(list) => self.all(list),
            ExprKind::Not(inner)
            | ExprKind::IsNull { expr: inner, .. }
            | ExprKind::IsBool { expr: inner, .. } => self.expr(inner),
            ExprKind::Collate { expr: inner, collation } => {
                self.expr(inner);
                self.visitor.collation(collation);
            }
            ExprKind::Case { operand, arms, otherwise } => {
                self.optional(operand.as_deref());
                for (condition, result) in arms {
                    self.expr(condition);
                    self.expr(result);
                }
                self.optional(otherwise.as_deref());
            }
            ExprKind::Cast { expr, to } => {
                self.visitor.type_name(to);
                match &expr.kind {
                    ExprKind::String(text) => self.visitor.literal(text, expr, to),
                    _ => self.expr(expr),
                }
            }
            ExprKind::Subquery { link, query } => {
                match link {
                    Link::Scalar | Link::Exists | Link::Array => {}
                    Link::In(left) | Link::Any(left, _) | Link::All(left, _) => self.expr(left),
                }
                self.query(query);
            }
            _ => {}
        }
    }
}
