//! Expressions: literals, columns, operators, conditionals, rows, arrays and subqueries.
//!
//! Functions are bound in [`super::call`]; how types are made to fit is in [`super::coerce`].

use types::{Datum, Modifier, SqlState, Type};

use super::names::Collation;
use super::scope::{Clause, whole_row};
use super::{Binder, collation};
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, ExprKind as Ast};
use crate::plan::{Expr, ExprKind};

/// How many parameters a statement can have. A client can prepare more than it can send values for in
/// one message of the protocol.
const PARAMS_MAX: usize = 1 << 20;

impl Binder<'_> {
    /// An expression.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let at = expr.at;
        match &expr.kind {
            Ast::Null => Ok(Expr::null(Type::UNKNOWN, at)),
            Ast::Bool(value) => Ok(Expr::of(ExprKind::Const(Datum::Bool(*value)), Type::BOOL, at)),
            Ast::Number(digits) => self.number(digits, at),
            Ast::String(text) => {
                Ok(Expr::of(ExprKind::Const(Datum::text(text.as_str())), Type::UNKNOWN, at))
            }
            Ast::Bits(digits) => {
                let bits = types::Bits::parse(digits).map_err(|error| Error::from(error).at(at))?;
                Ok(Expr::of(ExprKind::Const(bits.into()), Type::BIT, at))
            }
            Ast::Param(number) => self.param(*number, at),
            Ast::Column(names) => self.column_ref(names, at),
            Ast::Star(names) => self.star_row(names, at),
            Ast::Indirection { base, steps } => self.indirection(base, steps),
            Ast::Call(call) => self.call(call, at),
            Ast::Op { op, left, right } => self.operator(op, left.as_deref(), right),
            Ast::AnyAll { op, all, left, right } => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                self.any_all(&op.symbol, *all, left, right, op.at)
            }
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated, at),
            Ast::Between { expr, low, high, negated, symmetric } => {
                self.between(expr, low, high, *negated, *symmetric, at)
            }
            Ast::And(list) => Ok(Expr::of(ExprKind::And(self.bools(list, "AND")?), Type::BOOL, at)),
            Ast::Or(list) => Ok(Expr::of(ExprKind::Or(self.bools(list, "OR")?), Type::BOOL, at)),
            Ast::Not(inner) => {
                let inner = self.expr(inner)?;
                let inner = self.boolean(inner, "NOT")?;
                Ok(Expr::of(ExprKind::Not(Box::new(inner)), Type::BOOL, at))
            }
            Ast::IsNull { expr, negated } => {
                let inner = Box::new(self.expr(expr)?);
                Ok(Expr::of(ExprKind::IsNull { expr: inner, negated: *negated }, Type::BOOL, at))
            }
            Ast::IsBool { expr, value, negated } => {
                let name = match (value, negated) {
                    (Some(true), false) => "IS TRUE",
                    (Some(true), true) => "IS NOT TRUE",
                    (Some(false), false) => "IS FALSE",
                    (Some(false), true) => "IS NOT FALSE",
                    (None, false) => "IS UNKNOWN",
                    (None, true) => "IS NOT UNKNOWN",
                };
                let inner = self.expr(expr)?;
                let inner = Box::new(self.boolean(inner, name)?);
                let kind = ExprKind::IsBool { expr: inner, value: *value, negated: *negated };
                Ok(Expr::of(kind, Type::BOOL, at))
            }
            Ast::IsDistinct { left, right, negated } => self.is_distinct(left, right, *negated, at),
            Ast::NullIf(left, right) => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                let equal = self.operate("=", Some(left), right, at)?;
                self.null_if(equal, at)
            }
            Ast::Case { operand, arms, otherwise } => {
                self.case(operand.as_deref(), arms, otherwise.as_deref(), at)
            }
            Ast::Coalesce(list) => self.common("COALESCE", list, at, ExprKind::Coalesce),
            Ast::Greatest(list) => self.common("GREATEST", list, at, ExprKind::Greatest),
            Ast::Least(list) => self.common("LEAST", list, at, ExprKind::Least),
            Ast::Row { fields, .. } => {
                let fields = self.expr_list(fields)?;
                Ok(Expr::row(fields, Type::RECORD, at))
            }
            Ast::Array(elements) => self.array(elements, None, at),
            Ast::Cast { expr, to } => {
                let (ty, modifier) = self.type_of_name(to)?;
                let inner = match (&expr.kind, self.facts().element(ty)) {
                    (Ast::Array(elements), Some(_)) if self.facts().is_true_array(ty) => {
                        self.array(elements, Some((ty, modifier)), expr.at)?
                    }
                    _ => self.expr(expr)?,
                };
                self.cast(inner, ty, modifier, at)
            }
            Ast::Collate { expr, collation } => self.collate(expr, collation, at),
            Ast::Subquery { link, query } => self.subquery(link, query, at),
            Ast::Default => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "DEFAULT is not allowed in this context")
                    .at(at))
            }
            Ast::Keyword { word, precision } => Ok(self.keyword(word, *precision, at)),
            Ast::Json(json) => self.json(json, at),
            Ast::Grouping(args) => self.grouping(args, at),
            Ast::CurrentOf(cursor) => {
                Ok(Expr::of(ExprKind::CurrentOf(cursor.text.clone()), Type::BOOL, at))
            }
            Ast::Rollup(_) | Ast::Cube(_) | Ast::GroupingSets(_) | Ast::EmptyGroup => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "grouping sets are not allowed here").at(at))
            }
        }
    }

    /// A list of expressions, in which `t.*` stands for its columns.
    pub(super) fn expr_list(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(list.len());
        for item in list {
            match &item.kind {
                Ast::Star(names) if !names.is_empty() => {
                    bound.extend(
                        self.star(names, item.at, false)?.into_iter().map(|(_, expr)| expr),
                    );
                }
                _ => bound.push(self.expr(item)?),
            }
        }
        Ok(bound)
    }

    fn bools(&mut self, list: &[ast::Expr], name: &str) -> Result<Vec<Expr>> {
        list.iter()
            .map(|item| {
                let bound = self.expr(item)?;
                self.boolean(bound, name)
            })
            .collect()
    }

    /// `t.*` where one value is wanted: the row of the table.
    fn star_row(&mut self, names: &[ast::Name], at: At) -> Result<Expr> {
        let (schema, table) = match names {
            [table] => (None, table),
            [schema, table] => (Some(schema.text.as_str()), table),
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "row expansion via \"*\" is not supported here",
                )
                .at(at));
            }
        };
        let row = self.item_named(schema, &table.text, at).map(|item| whole_row(item, at));
        let row = self.or_variable(row, names, at)?;
        Ok(self.read(row))
    }

    fn number(&self, digits: &str, at: At) -> Result<Expr> {
        let (value, ty) = if let Ok(small) = digits.parse::<i32>() {
            (Datum::Int4(small), Type::INT4)
        } else if let Ok(large) = digits.parse::<i64>() {
            (Datum::Int8(large), Type::INT8)
        } else {
            let value = types::text::parse(digits, Type::NUMERIC, Modifier::NONE, &self.context)
                .map_err(|error| Error::from(error).at(at))?;
            (value, Type::NUMERIC)
        };
        Ok(Expr::of(ExprKind::Const(value), ty, at))
    }

    fn param(&mut self, number: u32, at: At) -> Result<Expr> {
        let missing = || {
            Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))
                .at(at)
        };
        let index = (number as usize).checked_sub(1).ok_or_else(missing)?;
        if index >= PARAMS_MAX || !self.open_params {
            return Err(missing());
        }
        if index >= self.params.len() {
            self.params.resize(index + 1, Type::UNKNOWN);
        }
        Ok(Expr::of(ExprKind::Param(index), self.params[index], at))
    }

    fn keyword(&mut self, word: &'static str, precision: Option<i32>, at: At) -> Expr {
        let ty = match word {
            "current_date" => Type::DATE,
            "current_time" => Type::TIMETZ,
            "current_timestamp" => Type::TIMESTAMPTZ,
            "localtime" => Type::TIME,
            "localtimestamp" => Type::TIMESTAMP,
            "system_user" => Type::TEXT,
            _ => Type::NAME,
        };
        let value = Expr::of(ExprKind::Keyword(word), ty, at);
        match precision {
            Some(precision) => self.fit(value, Modifier(precision.min(6)), true),
            None => value,
        }
    }

    /// `COALESCE` and the like: arguments of one type, which is that of the result.
    fn common(
        &mut self,
        name: &str,
        list: &[ast::Expr],
        at: At,
        kind: fn(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let list = self.without_sets(name, |binder| binder.expr_list(list))?;
        let (list, ty) = self.unify(list, name)?;
        if name != "COALESCE" {
            self.needs_order(ty, at).map_err(|_| {
                let message = format!(
                    "could not identify a comparison function for type {}",
                    self.type_name(ty)
                );
                Error::new(SqlState::UNDEFINED_FUNCTION, message).at(at)
            })?;
        }
        let modifier = Self::common_modifier(&list, ty);
        self.one_collation(&list)?;
        if name != "COALESCE"
            && let Some(collation) = self.orders_by_locale(&list)?
        {
            // The collation that they have together orders those too that have none of their own.
            let collation = Collation { is_deterministic: true, ..collation };
            let keys: Result<_> =
                list.into_iter().map(|item| self.key_of(item, &collation)).collect();
            let found = Expr::of(kind(keys?), Type::BYTEA, at);
            return Ok(Expr { modifier, ..collation::text_of(found, ty) });
        }
        Ok(Expr { kind: kind(list), ty, modifier, at })
    }

    /// Binds where functions that give sets are refused.
    fn without_sets<T>(
        &mut self,
        name: &str,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(scope) = self.scopes.last_mut() else { return bind(self) };
        let before = scope.clause;
        let refused = Clause { sets: false, ..before };
        scope.clause = refused;
        let result = bind(self);
        self.scope().clause = before;
        result.map_err(|error| match before.sets {
            true if error.cause.state() == SqlState::FEATURE_NOT_SUPPORTED
                && error.cause.message().starts_with("set-returning functions are not allowed") =>
            {
                Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("set-returning functions are not allowed in {name}"),
                )
                .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
                .at(error.at)
            }
            _ => error,
        })
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        arms: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        at: At,
    ) -> Result<Expr> {
        self.without_sets("CASE", |binder| {
            let operand = match operand {
                Some(operand) => {
                    let operand = binder.expr(operand)?;
                    Some(Box::new(binder.settle(operand)?))
                }
                None => None,
            };
            let of_operand = operand.as_ref().map(|operand| binder.derived(operand));
            binder.operands.extend(of_operand);
            let mut conditions = Vec::with_capacity(arms.len());
            let mut results = Vec::with_capacity(arms.len() + 1);
            for (condition, result) in arms {
                let bound = binder.expr(condition)?;
                let bound = match &operand {
                    Some(operand) => {
                        let seen =
                            Expr { kind: ExprKind::CaseOperand, at: condition.at, ..**operand };
                        binder.operate("=", Some(seen), bound, condition.at)?
                    }
                    None => bound,
                };
                conditions.push(binder.boolean(bound, "CASE/WHEN")?);
                results.push(binder.expr(result)?);
            }
            if operand.is_some() {
                binder.operands.pop();
            }
            let otherwise = match otherwise {
                Some(otherwise) => binder.expr(otherwise)?,
                None => Expr::null(Type::UNKNOWN, At::NONE),
            };
            // The result of ELSE has the first word about the type.
            results.insert(0, otherwise);
            let (mut results, ty) = binder.unify(results, "CASE")?;
            let modifier = Self::common_modifier(&results, ty);
            let otherwise = Box::new(results.remove(0));
            let arms = conditions.into_iter().zip(results).collect();
            Ok(Expr { kind: ExprKind::Case { operand, arms, otherwise }, ty, modifier, at })
        })
    }
}

/// The error about something that PostgreSQL has and this server does not.
pub(super) fn unsupported(what: &str, at: At) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported")).at(at)
}
