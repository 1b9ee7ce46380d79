//! Functions in `FROM`: one or several side by side (`ROWS FROM`), their columns, `WITH ORDINALITY`.

use types::{Modifier, Shape, SqlState, Type};

use super::from::{Part, rename};
use super::scope::{Clause, Item};
use super::{Binder, walk};
use crate::error::{At, Error, Result};
use crate::outline::{self, ItemKind};
use crate::parse::ast::{self, Alias, ColumnDef};
use crate::plan::{Column, Expr, ExprKind, Node, Plan};

impl Binder<'_> {
    /// Functions as a table.
    pub(super) fn functions(
        &mut self,
        calls: &[(ast::Expr, Vec<ColumnDef>)],
        ordinality: bool,
        alias: Option<&Alias>,
        defined: &[ColumnDef],
        at: At,
    ) -> Result<Part> {
        let mut columns = Vec::new();
        let mut functions = Vec::new();
        let mut outlined = Vec::new();
        let mut row_type = Type::RECORD;
        // `unnest(a, b)` is `ROWS FROM (unnest(a), unnest(b))`.
        let spread: Vec<(ast::Expr, Vec<ColumnDef>)> =
            calls.iter().flat_map(spread_unnest).collect();
        for (ast, own) in &spread {
            let defined = if own.is_empty() { defined } else { own };
            let expr = self.within(Clause::FUNCTION, |binder| binder.expr(ast))?;
            let mut expr = self.settle(expr)?;
            self.check_one_set(&expr)?;
            let name =
                alias.map_or_else(|| super::select::output_name(ast), |a| a.name.text.clone());
            let before = columns.len();
            if calls.len() == 1 && self.facts().is_composite(expr.ty) {
                row_type = expr.ty;
            }
            self.function_columns(&expr, &name, defined, at, &mut columns)?;
            if self.is_outlining() {
                let define = |column: &Column| (column.name.clone(), column.ty, column.modifier);
                let defined = match defined.is_empty() {
                    true => Vec::new(),
                    false => columns[before..].iter().map(define).collect(),
                };
                outlined.push((expr.clone(), defined));
            }
            if !defined.is_empty()
                && let ExprKind::Call(call) = &mut expr.kind
            {
                call.args.push(described(&columns[before..], expr.at));
            }
            functions.push((expr, columns.len() - before));
        }
        if ordinality {
            columns.push(self.column("ordinality", Type::INT8, Modifier::NONE, None));
        }
        let name = match alias {
            Some(alias) => alias.name.text.clone(),
            None => super::select::output_name(&spread[0].0),
        };
        let single = functions.len() == 1 && columns.len() == 1;
        let mut item = Item { row_type, ..Item::named(name, &columns) };
        if let Some(alias) = alias {
            rename(&mut item, alias)?;
        }
        if single {
            item.row_type = columns[0].ty;
        }
        let own_names = columns.iter().map(|column| column.name.clone()).collect();
        let is_lateral = self.reads_own_columns(&outlined);
        let kind = ItemKind::Functions { calls: outlined, ordinality };
        let mut outline = self.outline_item(Some(kind), &item, alias, own_names);
        if let Some(outline::Source::Item(item)) = &mut outline {
            item.lateral = is_lateral;
        }
        let node = Node::FunctionScan { functions, ordinality };
        Ok(Part { plan: Plan { node, columns }, items: vec![item], outline })
    }

    /// In `FROM` only the function itself gives a set, and none of its arguments.
    fn check_one_set(&self, expr: &Expr) -> Result<()> {
        let mut expr = expr.clone();
        let mut nested = None;
        walk::parts(&mut expr, &mut |part| {
            walk::everywhere(part, &mut |inner| {
                if matches!(&inner.kind, ExprKind::Call(call) if call.set) {
                    nested = nested.or(Some(inner.at));
                }
                !matches!(inner.kind, ExprKind::Subquery(_))
            });
        });
        match nested {
            None => Ok(()),
            Some(at) => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "set-returning functions must appear at top level of FROM",
            )
            .at(at)),
        }
    }

    /// The columns that a function has as a table.
    fn function_columns(
        &mut self,
        expr: &Expr,
        name: &str,
        defined: &[ColumnDef],
        at: At,
        columns: &mut Vec<Column>,
    ) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        let outputs: Vec<(String, Type)> = match &expr.kind {
            ExprKind::Call(call) => self.outputs_of(call),
            _ => Vec::new(),
        };
        if let Some(first) = defined.first() {
            let wrong =
                |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(first.name.at));
            if !outputs.is_empty() {
                return wrong(
                    "a column definition list is redundant for a function with OUT parameters",
                );
            }
            if expr.ty != Type::RECORD {
                return wrong(
                    "a column definition list is only allowed for functions returning \"record\"",
                );
            }
            for column in defined {
                let (ty, modifier) = self.type_of_name(&column.ty)?;
                columns.push(self.column(&column.name.text, ty, modifier, None));
            }
            return Ok(());
        }
        if !outputs.is_empty() {
            for (name, ty) in outputs {
                columns.push(self.column(name, ty, Modifier::NONE, None));
            }
            return Ok(());
        }
        if expr.ty == Type::RECORD && !matches!(expr.kind, ExprKind::Row { .. }) {
            return wrong(
                "a column definition list is required for functions returning \"record\"",
            );
        }
        match self.names.shape(self.facts().base(expr.ty)).filter(|_| !expr.ty.is_builtin()) {
            Some(Shape::Composite(fields)) => {
                for field in fields.iter() {
                    columns.push(self.column(&*field.name, field.ty, field.modifier, None));
                }
            }
            _ => columns.push(self.column_for(name, expr)),
        }
        Ok(())
    }
}

/// A row of NULLs, which tells a function that gives records what columns are wanted.
fn described(columns: &[Column], at: At) -> Expr {
    let field = |column: &Column| Expr { modifier: column.modifier, ..Expr::null(column.ty, at) };
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let kind = ExprKind::Row { fields: columns.iter().map(field).collect(), names };
    Expr::of(kind, Type::RECORD, at)
}

/// One call of `unnest` for each of several arguments.
fn spread_unnest(
    (call, columns): &(ast::Expr, Vec<ColumnDef>),
) -> Vec<(ast::Expr, Vec<ColumnDef>)> {
    if let ast::ExprKind::Call(inner) = &call.kind
        && inner.name.last() == "unnest"
        && inner.args.len() > 1
        && columns.is_empty()
    {
        let one = |arg: &ast::Arg| {
            let mut single = inner.clone();
            single.args = vec![arg.clone()];
            (ast::Expr { kind: ast::ExprKind::Call(single), at: call.at }, Vec::new())
        };
        return inner.args.iter().map(one).collect();
    }
    vec![(call.clone(), columns.clone())]
}
