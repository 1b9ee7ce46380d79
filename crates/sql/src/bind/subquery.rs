//! Subqueries in expressions: one value, `EXISTS`, an array, comparisons with all rows.

use types::{SqlState, Type};

use super::Binder;
use super::place::UNPLACED;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, ExprKind as Ast, Operator};
use crate::plan::{Expr, ExprKind, Link, Plan, Subquery, Test};

impl Binder<'_> {
    /// A subquery in an expression.
    pub(super) fn subquery(
        &mut self,
        link: &ast::Link,
        query: &ast::Query,
        at: At,
    ) -> Result<Expr> {
        match link {
            ast::Link::Exists => {
                let plan = self.query(query, true)?;
                self.outline_subquery(at);
                let subquery = Subquery { link: Link::Exists, plan };
                Ok(Expr::of(ExprKind::Subquery(Box::new(subquery)), Type::BOOL, at))
            }
            ast::Link::Scalar | ast::Link::Array => {
                let plan = self.query(query, true)?;
                self.outline_subquery(at);
                let [column] = &plan.columns[..] else {
                    return Err(one_column(at));
                };
                let (mut ty, modifier) = (column.ty, column.modifier);
                let mut kind = Link::Scalar;
                if *link == ast::Link::Array {
                    kind = Link::Array;
                    if !self.facts().is_true_array(ty) {
                        ty = self.facts().array_of(ty).ok_or_else(|| {
                            Error::new(
                                SqlState::UNDEFINED_OBJECT,
                                format!(
                                    "could not find array type for data type {}",
                                    self.type_name(ty)
                                ),
                            )
                            .at(at)
                        })?;
                    }
                }
                let subquery = Subquery { link: kind, plan };
                Ok(Expr { kind: ExprKind::Subquery(Box::new(subquery)), ty, modifier, at })
            }
            ast::Link::In(left) => self.quantified(left, "=", false, query, at),
            ast::Link::Any(left, op) => self.quantified(left, &op.symbol, false, query, op.at),
            ast::Link::All(left, op) => self.quantified(left, &op.symbol, true, query, op.at),
        }
    }

    /// `left op ANY (SELECT ...)`, `left op ALL (SELECT ...)`
    fn quantified(
        &mut self,
        left: &ast::Expr,
        symbol: &str,
        all: bool,
        query: &ast::Query,
        at: At,
    ) -> Result<Expr> {
        let plan = self.query(query, true)?;
        self.outline_subquery(at);
        let left = match &left.kind {
            Ast::Row { fields, .. } => self.expr_list(fields)?,
            _ => vec![self.expr(left)?],
        };
        let test = Box::new(self.test(symbol, left, &plan, at)?);
        let link = if all { Link::All(test) } else { Link::Any(test) };
        let subquery = Subquery { link, plan };
        Ok(Expr::of(ExprKind::Subquery(Box::new(subquery)), Type::BOOL, at))
    }

    fn test(&mut self, symbol: &str, left: Vec<Expr>, plan: &Plan, at: At) -> Result<Test> {
        if left.len() != plan.columns.len() {
            let few = left.len() > plan.columns.len();
            let message = format!("subquery has too {} columns", if few { "few" } else { "many" });
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        let right = plan
            .columns
            .iter()
            .map(|column| Expr {
                kind: ExprKind::Column { levels_up: UNPLACED, index: column.id },
                ty: column.ty,
                modifier: column.modifier,
                at: At::NONE,
            })
            .collect();
        let calls = self.pairs(symbol, left, right, at)?;
        Ok(Test { symbol: symbol.to_owned(), calls })
    }

    /// `(a, b) op (SELECT ...)`: the subquery has at most one row.
    pub(super) fn row_subquery(
        &mut self,
        op: &Operator,
        fields: &[ast::Expr],
        query: &ast::Query,
    ) -> Result<Expr> {
        let plan = self.query(query, true)?;
        self.outline_subquery(op.at);
        let left = self.expr_list(fields)?;
        if left.len() != plan.columns.len() {
            let few = left.len() > plan.columns.len();
            let message = format!("subquery has too {} columns", if few { "few" } else { "many" });
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(op.at));
        }
        let columns = plan.columns.clone();
        let row = Expr::of(
            ExprKind::Subquery(Box::new(Subquery { link: Link::Row, plan })),
            Type::RECORD,
            op.at,
        );
        let right = columns
            .iter()
            .enumerate()
            .map(|(index, column)| Expr {
                kind: ExprKind::Field { expr: Box::new(row.clone()), index },
                ty: column.ty,
                modifier: column.modifier,
                at: op.at,
            })
            .collect();
        self.compare_rows(&op.symbol, left, right, op.at)
    }
}

fn one_column(at: At) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(at)
}
