//! Windows: the definitions of `OVER` and `WINDOW`, and the calls over them.

use scalar::function::Eval;
use scalar::resolve::Resolved;
use types::{SqlState, Type};

use super::scope::Clause;
use super::{Binder, collation, walk};
use crate::error::{At, Error, Result};
use crate::outline;
use crate::parse::ast::{self, FrameUnit};
use crate::plan::{Bound, Exclude, Expr, ExprKind, Frame, SortKey, WindowCall};

/// A window with everything that it inherits.
struct Definition {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    frame: Option<ast::Frame>,
    at: At,
}

fn windowing(message: impl Into<String>, at: At) -> Error {
    Error::new(SqlState::WINDOWING_ERROR, message).at(at)
}

impl Binder<'_> {
    /// A window function, or an aggregate over a window.
    pub(super) fn window_call(
        &mut self,
        call: &ast::Call,
        resolved: &Resolved,
        args: Vec<Expr>,
        window: &ast::Window,
        at: At,
    ) -> Result<Expr> {
        let clause = self.scopes.last().map_or(Clause::WHERE, |scope| scope.clause);
        if !clause.windows {
            let message = format!("window functions are not allowed in {}", clause.name);
            return Err(windowing(message, at));
        }
        let unsupported = |what: &str| {
            let message = format!("{what} is not implemented for window functions");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at))
        };
        if call.distinct {
            return unsupported("DISTINCT");
        }
        if !call.order.is_empty() {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "aggregate ORDER BY is not implemented for window functions",
            )
            .at(at));
        }
        if !call.within_group.is_empty() {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("OVER is not supported for ordered-set aggregate {}", call.name),
            )
            .at(at));
        }
        if call.filter.is_some() && matches!(resolved.function.eval, Eval::Window) {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "FILTER is not implemented for non-aggregate window functions",
            )
            .at(at));
        }
        for arg in &args {
            self.no_window(arg, "window function calls cannot be nested")?;
            if let Some(at) = super::late::set_within(&mut arg.clone()) {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "window function calls cannot contain set-returning function calls",
                )
                .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
                .at(at));
            }
        }
        let filter = self.where_clause(call.filter.as_ref(), Clause::FILTER)?;
        let definition = self.within(Clause::WINDOW, |binder| binder.definition(window, 0))?;
        let frame = self.within(Clause::WINDOW, |binder| binder.frame(&definition))?;
        let mut bound = WindowCall {
            function: resolved.function.oid,
            name: resolved.function.name,
            args,
            filter,
            partition: self.equal_keys(definition.partition)?,
            order: self.order_keys(definition.order)?,
            frame,
            ty: resolved.ret,
        };
        let text = collation::extreme(self, bound.name, &mut bound.args, bound.ty)?;
        if text.is_some() {
            bound.ty = Type::BYTEA;
        }
        let found = Expr::of(ExprKind::Window(Box::new(bound.clone())), bound.ty, at);
        Ok(match text {
            Some(ty) => collation::text_of(found, ty),
            None => found,
        })
    }

    /// Checks that no window function is in an expression.
    fn no_window(&self, expr: &Expr, message: &str) -> Result<()> {
        let mut found = None;
        walk::everywhere(&mut expr.clone(), &mut |part| {
            if matches!(part.kind, ExprKind::Window(_)) {
                found = found.or(Some(part.at));
            }
            !matches!(part.kind, ExprKind::Subquery(_))
        });
        match found {
            Some(at) => Err(windowing(message, at)),
            None => Ok(()),
        }
    }

    /// Checks the definitions of a `WINDOW` clause, used or not.
    pub(super) fn check_windows(&mut self) -> Result<()> {
        let windows = self.scope().windows.clone();
        for (at, (name, window)) in windows.iter().enumerate() {
            if windows[..at].iter().any(|(other, _)| other.text == name.text) {
                return Err(windowing(
                    format!("window \"{}\" is already defined", name.text),
                    window.at,
                ));
            }
            self.within(Clause::WINDOW, |binder| {
                let definition = binder.definition(window, 0)?;
                let frame = binder.frame(&definition)?;
                let written = window.clone();
                binder.outline_window(window.at, || {
                    let Definition { partition, order, .. } = definition;
                    outline::Window { written, partition, order, frame }
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The definition of a window, with the parts of the windows that it builds on.
    fn definition(&mut self, window: &ast::Window, depth: usize) -> Result<Definition> {
        let mut base = None;
        if let Some(name) = &window.base {
            let named =
                self.scope().windows.iter().find(|(known, _)| known.text == name.text).cloned();
            let (_, named) = named.filter(|_| depth < 100).ok_or_else(|| {
                let message = format!("window \"{}\" does not exist", name.text);
                Error::new(SqlState::UNDEFINED_OBJECT, message).at(name.at)
            })?;
            let whole = self.definition(&named, depth + 1)?;
            if window.bare {
                return Ok(whole);
            }
            let name = &name.text;
            if !window.partition.is_empty() {
                let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
                return Err(windowing(message, window.at));
            }
            if !window.order.is_empty() && !whole.order.is_empty() {
                let message = format!("cannot override ORDER BY clause of window \"{name}\"");
                return Err(windowing(message, window.at));
            }
            if whole.frame.is_some() {
                let error = windowing(
                    format!("cannot copy window \"{name}\" because it has a frame clause"),
                    window.at,
                );
                let bare = window.order.is_empty() && window.frame.is_none();
                return Err(match bare {
                    true => error.hint("Omit the parentheses in this OVER clause."),
                    false => error,
                });
            }
            base = Some(whole);
        }
        let mut partition = Vec::with_capacity(window.partition.len());
        for expr in &window.partition {
            let bound = self.expr(expr)?;
            let bound = self.settle(bound)?;
            self.needs_order(bound.ty, bound.at)?;
            partition.push(bound);
        }
        let mut order = Vec::with_capacity(window.order.len());
        for item in &window.order {
            order.push(self.sort_key(item)?);
        }
        if let Some(base) = base {
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        Ok(Definition { partition, order, frame: window.frame.clone(), at: window.at })
    }

    fn frame(&mut self, definition: &Definition) -> Result<Frame> {
        let Some(frame) = &definition.frame else {
            return Ok(Frame {
                unit: FrameUnit::Range,
                start: Bound::UnboundedPreceding,
                end: Bound::CurrentRow,
                exclude: Exclude::NoOthers,
            });
        };
        let (start_at, end_at) = frame.bounds_at;
        let problem = match (&frame.start, &frame.end) {
            (ast::Bound::UnboundedFollowing, _) => {
                Some((start_at, "frame start cannot be UNBOUNDED FOLLOWING"))
            }
            (_, ast::Bound::UnboundedPreceding) => {
                Some((end_at, "frame end cannot be UNBOUNDED PRECEDING"))
            }
            (ast::Bound::CurrentRow, ast::Bound::Preceding(_)) => {
                Some((end_at, "frame starting from current row cannot have preceding rows"))
            }
            (ast::Bound::Following(_), ast::Bound::Preceding(_)) => {
                Some((end_at, "frame starting from following row cannot have preceding rows"))
            }
            (ast::Bound::Following(_), ast::Bound::CurrentRow) => {
                Some((end_at, "frame starting from following row cannot end with current row"))
            }
            _ => None,
        };
        if let Some((at, problem)) = problem {
            return Err(windowing(problem, at));
        }
        if frame.unit == FrameUnit::Groups && definition.order.is_empty() {
            return Err(windowing("GROUPS mode requires an ORDER BY clause", definition.at));
        }
        Ok(Frame {
            unit: frame.unit,
            start: self.bound(&frame.start, frame, definition)?,
            end: self.bound(&frame.end, frame, definition)?,
            exclude: frame.exclude,
        })
    }

    fn bound(
        &mut self,
        bound: &ast::Bound,
        frame: &ast::Frame,
        definition: &Definition,
    ) -> Result<Bound> {
        let (offset, preceding) = match bound {
            ast::Bound::UnboundedPreceding => return Ok(Bound::UnboundedPreceding),
            ast::Bound::UnboundedFollowing => return Ok(Bound::UnboundedFollowing),
            ast::Bound::CurrentRow => return Ok(Bound::CurrentRow),
            ast::Bound::Preceding(offset) => (offset, true),
            ast::Bound::Following(offset) => (offset, false),
        };
        let offset = match frame.unit {
            FrameUnit::Rows => self.count(offset, Clause { name: "ROWS", ..Clause::LIMIT })?,
            FrameUnit::Groups => self.count(offset, Clause { name: "GROUPS", ..Clause::LIMIT })?,
            FrameUnit::Range => self.range_offset(offset, definition)?,
        };
        Ok(if preceding { Bound::Preceding(offset) } else { Bound::Following(offset) })
    }

    /// The offset of a `RANGE` frame, which is added to values of the ordering column.
    fn range_offset(&mut self, offset: &ast::Expr, definition: &Definition) -> Result<Expr> {
        let [key] = &definition.order[..] else {
            return Err(windowing(
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                definition.at,
            ));
        };
        let target = match key.expr.ty {
            Type::DATE
            | Type::TIME
            | Type::TIMETZ
            | Type::TIMESTAMP
            | Type::TIMESTAMPTZ
            | Type::INTERVAL => Type::INTERVAL,
            Type::INT2 | Type::INT4 | Type::INT8 => Type::INT8,
            Type::FLOAT4 | Type::FLOAT8 => Type::FLOAT8,
            Type::NUMERIC => Type::NUMERIC,
            other => {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!(
                        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                        self.type_name(other)
                    ),
                )
                .at(offset.at));
            }
        };
        let bound = self.expr(offset)?;
        let source = bound.ty;
        self.coerce(bound, target, scalar::cast::CoercionContext::Implicit)?.ok_or_else(|| {
            Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and \
                     offset type {}",
                    self.type_name(key.expr.ty),
                    self.type_name(source)
                ),
            )
            .hint("Cast the offset value to an appropriate type.")
            .at(offset.at)
        })
    }
}
