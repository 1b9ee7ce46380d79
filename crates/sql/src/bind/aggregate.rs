//! Calls of aggregates: their query level, `GROUPING`, `ORDER BY` in a call.

use super::call::{not_aggregate, same};
use super::scope::Clause;
use super::{Binder, collation, walk};
use crate::error::{At, Error, Result};
use crate::parse::ast;
use crate::plan::{AggregateCall, Expr, ExprKind, SortKey};
use scalar::aggregate::Kind;
use scalar::function::Eval;
use scalar::resolve::{self, Resolved};
use std::cell::Cell;
use types::{SqlState, Type};

/// The calls and references inside the arguments of an aggregate.
#[derive(Default)]
struct Inside {
    /// The scopes that columns are of, and where they are named.
    columns: Vec<(u32, At)>,
    /// Aggregates and `GROUPING`: of which scope they are.
    nested: Vec<(u32, At)>,
    window: Option<At>,
    set: Option<At>,
}

impl Inside {
    /// Looks into an argument.
    fn look(&mut self, expr: &mut Expr, owners: &[u32]) {
        walk::everywhere(expr, &mut |part| {
            match &part.kind {
                ExprKind::Column { index, .. } => {
                    self.columns.push((owners[*index as usize], part.at));
                }
                ExprKind::Aggregate(inner) => self.nested.push((inner.scope, part.at)),
                ExprKind::Grouping { scope, .. } => self.nested.push((*scope, part.at)),
                ExprKind::Window(_) => self.window = self.window.or(Some(part.at)),
                _ => {}
            }
            true
        });
        // Sets of a subquery are its own.
        let set = Cell::new(self.set);
        walk::any(expr, &|part| {
            let gives_set = matches!(&part.kind, ExprKind::Call(call) if call.set);
            set.set(set.get().or(gives_set.then_some(part.at)));
            gives_set
        });
        self.set = set.get();
    }
}

impl Binder<'_> {
    /// An aggregate over the groups of a query. `written` are the arguments before they were cast,
    /// which the keys of a `DISTINCT` one are looked up in.
    pub(super) fn aggregate(
        &mut self,
        call: &ast::Call,
        resolved: &Resolved,
        (args, written): (Vec<Expr>, Vec<Expr>),
        direct: usize,
        set_order: Vec<SortKey>,
        at: At,
    ) -> Result<Expr> {
        let Eval::Aggregate(aggregate) = resolved.function.eval else {
            return Err(not_aggregate(call, at));
        };
        let ordered_set = aggregate.kind != Kind::Normal;
        if ordered_set == call.within_group.is_empty() {
            let message = match ordered_set {
                true => format!("WITHIN GROUP is required for ordered-set aggregate {}", call.name),
                false => format!(
                    "{} is not an ordered-set aggregate, so it cannot have WITHIN GROUP",
                    call.name
                ),
            };
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(at));
        }
        let mut order = set_order;
        for item in &call.order {
            let key = self.expr(&item.expr)?;
            let at = key.at;
            let arg = written.iter().zip(&args).find(|(written, arg)| {
                // A literal without a type is what it was made.
                same(if written.ty == Type::UNKNOWN { arg } else { written }, &key)
            });
            let arg = arg.map(|(_, arg)| arg.clone());
            if call.distinct && arg.is_none() {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                )
                .at(at));
            }
            let key = match arg {
                Some(arg) => arg,
                None => self.settle(key)?,
            };
            order.push(self.sort_key_of(key, item)?);
        }
        let mut args = args;
        let mut once = Vec::new();
        if ordered_set {
            let sorted = args.split_off(direct);
            once = std::mem::replace(&mut args, sorted);
            if aggregate.kind == Kind::Hypothetical {
                if once.len() != args.len() {
                    return Err(self.not_as_many(call, &once, &args, at));
                }
                // The row that is thought to be there is compared with those that are.
                for (direct, sorted) in once.iter_mut().zip(&mut args) {
                    let pair = vec![direct.clone(), sorted.clone()];
                    let (pair, _) = self.unify(pair, "WITHIN GROUP")?;
                    [*direct, *sorted] = pair.try_into().expect("two come back");
                }
            }
            for (key, arg) in order.iter_mut().zip(&args) {
                key.expr = arg.clone();
            }
        }
        if call.distinct {
            for arg in &args {
                self.needs_equality(arg.ty, arg.at)?;
            }
        }
        let filter = match &call.filter {
            Some(filter) => self.where_clause(Some(filter), Clause::FILTER)?,
            None => None,
        };
        let mut bound = AggregateCall {
            function: resolved.function.oid,
            name: resolved.function.name,
            args,
            direct: once,
            distinct: call.distinct,
            order,
            filter,
            ty: resolved.ret,
            scope: 0,
        };
        bound.scope = self.level_of(&mut bound, at)?;
        let text = collation::extreme(self, bound.name, &mut bound.args, bound.ty)?;
        if text.is_some() {
            bound.ty = Type::BYTEA;
        }
        bound.order = self.order_keys(bound.order)?;
        match (bound.distinct, bound.name) {
            (false, _) => {}
            // A count does not show its argument.
            (true, "count") => bound.args = self.equal_keys(bound.args)?,
            (true, _) => self.needs_same_texts(&bound.args)?,
        }
        let (ty, kind) = (bound.ty, ExprKind::Aggregate(Box::new(bound)));
        let found = Expr::of(kind, ty, at);
        Ok(match text {
            Some(ty) => collation::text_of(found, ty),
            None => found,
        })
    }

    /// The error about a row that is thought to be there and has not as many values as the order.
    fn not_as_many(&self, call: &ast::Call, direct: &[Expr], sorted: &[Expr], at: At) -> Error {
        let types = direct.iter().chain(sorted).map(|arg| self.type_name(arg.ty));
        let types: Vec<String> = types.collect();
        let message = format!("function {}({}) does not exist", call.name, types.join(", "));
        let name = call.name.last();
        let (direct, sorted) = (direct.len(), sorted.len());
        Error::new(SqlState::UNDEFINED_FUNCTION, message)
            .hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct \
                 arguments (here {direct}) must match the number of ordering columns (here \
                 {sorted})."
            ))
            .at(at)
    }

    /// The query whose groups an aggregate is about: the innermost of those that its arguments
    /// take columns from.
    fn level_of(&mut self, call: &mut AggregateCall, at: At) -> Result<u32> {
        let mut found = Inside::default();
        let owners = &self.owners;
        call.args.iter_mut().for_each(|arg| found.look(arg, owners));
        call.order.iter_mut().for_each(|key| found.look(&mut key.expr, owners));
        call.filter.iter_mut().for_each(|filter| found.look(filter, owners));
        let place = self.level(&found).ok_or_else(|| {
            Error::new(
                SqlState::GROUPING_ERROR,
                "aggregate functions are not allowed in this expression",
            )
            .at(at)
        })?;
        let Inside { nested, window, set, .. } = found;
        let mut direct = Inside::default();
        call.direct.iter_mut().for_each(|arg| direct.look(arg, owners));
        let inner = &self.scopes[place + 1..];
        let is_inner = |serial: u32| inner.iter().any(|scope| scope.serial == serial);
        if let Some((_, at)) = direct.columns.iter().find(|(owner, _)| is_inner(*owner)) {
            let message = "outer-level aggregate cannot contain a lower-level variable in its \
                           direct arguments";
            return Err(Error::new(SqlState::GROUPING_ERROR, message).at(*at));
        }
        let (window, set) = (window.or(direct.window), set.or(direct.set));
        let nested = nested.into_iter().chain(direct.nested);
        let level = &mut self.scopes[place];
        if let Some(at) = set {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "aggregate function calls cannot contain set-returning function calls",
            )
            .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
            .at(at));
        }
        if let Some((_, at)) = nested.into_iter().find(|(scope, _)| *scope == level.serial) {
            return Err(Error::new(
                SqlState::GROUPING_ERROR,
                "aggregate function calls cannot be nested",
            )
            .at(at));
        }
        if let Some(at) = window {
            return Err(Error::new(
                SqlState::GROUPING_ERROR,
                "aggregate function calls cannot contain window function calls",
            )
            .at(at));
        }
        if !level.clause.aggregates {
            return Err(Error::new(
                SqlState::GROUPING_ERROR,
                format!("aggregate functions are not allowed in {}", level.clause.name),
            )
            .at(at));
        }
        if level.is_step {
            return Err(Error::new(
                SqlState::INVALID_RECURSION,
                "aggregate functions are not allowed in a recursive query's recursive term",
            )
            .at(at));
        }
        level.aggregated = true;
        Ok(level.serial)
    }

    /// The place of the innermost query that columns are taken from; that of the innermost of all
    /// where none are.
    fn level(&self, found: &Inside) -> Option<usize> {
        let used = |serial: u32| found.columns.iter().any(|(owner, _)| *owner == serial);
        let innermost = self.scopes.iter().rposition(|scope| used(scope.serial));
        innermost.or(self.scopes.len().checked_sub(1))
    }

    /// `GROUPING(...)`
    pub(super) fn grouping(&mut self, args: &[ast::Expr], at: At) -> Result<Expr> {
        if args.len() > 31 {
            return Err(Error::new(
                SqlState::TOO_MANY_ARGUMENTS,
                "GROUPING must have fewer than 32 arguments",
            )
            .at(at));
        }
        let mut args: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect::<Result<_>>()?;
        let mut found = Inside::default();
        args.iter_mut().for_each(|arg| found.look(arg, &self.owners));
        let place = self.level(&found).ok_or_else(|| {
            let message = "grouping operations are not allowed in this expression";
            Error::new(SqlState::GROUPING_ERROR, message).at(at)
        })?;
        let level = &mut self.scopes[place];
        if !level.clause.aggregates {
            let message = format!("grouping operations are not allowed in {}", level.clause.name);
            return Err(Error::new(SqlState::GROUPING_ERROR, message).at(at));
        }
        level.aggregated = true;
        let scope = level.serial;
        Ok(Expr::of(ExprKind::Grouping { args, scope }, Type::INT4, at))
    }

    /// An item of an `ORDER BY` that sees only expressions, not the names of outputs.
    pub(super) fn sort_key(&mut self, item: &ast::OrderItem) -> Result<SortKey> {
        let expr = self.expr(&item.expr)?;
        let expr = self.settle(expr)?;
        self.sort_key_of(expr, item)
    }

    /// A key of an order, with the direction and the place of NULLs that an item has.
    pub(super) fn sort_key_of(&mut self, expr: Expr, item: &ast::OrderItem) -> Result<SortKey> {
        self.needs_order(expr.ty, expr.at)?;
        let descending = match &item.using {
            None => item.descending,
            Some(op) if op.symbol == "<" => false,
            Some(op) if op.symbol == ">" => true,
            Some(op) => {
                resolve::operator_of(
                    self.names,
                    self.origins(),
                    &op.symbol,
                    Some(expr.ty),
                    expr.ty,
                )
                .map_err(|error| Error::from(error).at(op.at))?;
                return Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("operator {} is not a valid ordering operator", op.symbol),
                )
                .hint(
                    "Ordering operators must be \"<\" or \">\" members of btree operator families.",
                )
                .at(op.at));
            }
        };
        let nulls_first = item.nulls_first.unwrap_or(descending);
        Ok(SortKey { expr, descending, nulls_first })
    }
}
