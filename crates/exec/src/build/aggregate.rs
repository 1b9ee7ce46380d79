//! Calls of aggregates and window functions, ready to be run.

use super::{Builder, internal};
use crate::op::aggregate::AggregateCall;
use crate::op::frame::{Bound, Frame};
use crate::op::rank::Rank;
use crate::op::sort::SortKey;
use crate::op::window::{self, Ordering, WindowCall};
use scalar::facts::Facts;
use scalar::function::Eval;
use scalar::{registry, resolve};
use sql::At;
use sql::eval::Program;
use sql::plan::{self as bound, Expr, ExprKind, FrameUnit};
use types::{KeyOrder, Modifier, Result, Type};

impl Builder<'_> {
    pub(super) fn aggregate_call(&self, call: &bound::AggregateCall) -> Result<AggregateCall> {
        let kernel = match registry::function(call.function).map(|function| function.eval) {
            Some(Eval::Aggregate(kernel)) => kernel,
            _ => return Err(internal(format!("{} is no aggregate", call.name))),
        };
        let types = |exprs: &[Expr]| exprs.iter().map(|expr| expr.ty).collect::<Vec<_>>();
        let all = [types(&call.direct), types(&call.args)].concat();
        Ok(AggregateCall {
            keeps: (kernel.start)(&all).keeps(),
            kernel,
            args: self.programs(&call.args)?,
            types: types(&call.args),
            direct: self.programs(&call.direct)?,
            direct_types: types(&call.direct),
            distinct: call.distinct,
            order: self.sort_keys(&call.order)?,
            filter: self.maybe(call.filter.as_ref())?,
            ty: call.ty,
        })
    }

    /// The calls of windows, those together that see the rows in the same order.
    pub(super) fn orderings(&self, calls: &[bound::WindowCall]) -> Result<Vec<Ordering>> {
        let mut known: Vec<String> = Vec::new();
        let mut orderings: Vec<Ordering> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            let partition = call.partition.iter().map(Expr::to_string);
            let order = call.order.iter().map(|key| key.to_string());
            let text: Vec<String> = partition.chain(["order".to_owned()]).chain(order).collect();
            let text = text.join(", ");
            let at = match known.iter().position(|known| *known == text) {
                Some(at) => at,
                None => {
                    let partition = call.partition.iter().map(|expr| {
                        Ok(SortKey { program: self.program(expr)?, order: KeyOrder::ASCENDING })
                    });
                    orderings.push(Ordering {
                        partition: partition.collect::<Result<_>>()?,
                        order: self.sort_keys(&call.order)?,
                        calls: Vec::new(),
                    });
                    known.push(text);
                    known.len() - 1
                }
            };
            let call = WindowCall {
                function: self.window_function(call)?,
                frame: self.frame(call)?,
                place,
            };
            orderings[at].calls.push(call);
        }
        Ok(orderings)
    }

    fn window_function(&self, call: &bound::WindowCall) -> Result<window::Function> {
        let function = registry::function(call.function)
            .ok_or_else(|| internal(format!("there is no function {}", call.function)))?;
        if let Eval::Aggregate(kernel) = function.eval {
            let types: Vec<Type> = call.args.iter().map(|arg| arg.ty).collect();
            return Ok(window::Function::Aggregate(AggregateCall {
                keeps: (kernel.start)(&types).keeps(),
                kernel,
                args: self.programs(&call.args)?,
                types,
                direct: Vec::new(),
                direct_types: Vec::new(),
                distinct: false,
                order: Vec::new(),
                filter: self.maybe(call.filter.as_ref())?,
                ty: call.ty,
            }));
        }
        let rank = Rank::named(function.name)
            .ok_or_else(|| internal(format!("{} is no window function", call.name)))?;
        Ok(window::Function::Rank(rank, self.programs(&call.args)?))
    }

    pub(super) fn frame(&self, call: &bound::WindowCall) -> Result<Frame> {
        let frame = &call.frame;
        let bound = |bound: &bound::Bound| -> Result<Bound> {
            Ok(match bound {
                bound::Bound::UnboundedPreceding => Bound::UnboundedPreceding,
                bound::Bound::Preceding(offset) => Bound::Preceding(self.program(offset)?),
                bound::Bound::CurrentRow => Bound::CurrentRow,
                bound::Bound::Following(offset) => Bound::Following(self.program(offset)?),
                bound::Bound::UnboundedFollowing => Bound::UnboundedFollowing,
            })
        };
        let offset = [&frame.start, &frame.end].into_iter().find_map(|bound| match bound {
            bound::Bound::Preceding(offset) | bound::Bound::Following(offset) => Some(offset.ty),
            _ => None,
        });
        let shift = match (frame.unit, &call.order[..], offset) {
            (FrameUnit::Range, [key], Some(offset)) => Some(self.shift(key.expr.ty, offset)?),
            _ => None,
        };
        Ok(Frame {
            unit: frame.unit,
            start: bound(&frame.start)?,
            end: bound(&frame.end)?,
            exclude: frame.exclude,
            shift,
        })
    }

    /// Programs for a value plus and minus an offset.
    pub(super) fn shift(&self, value: Type, offset: Type) -> Result<(Program, Program)> {
        let value = match Facts(self.types).base(value) {
            Type::INT2 | Type::INT4 => Type::INT8,
            Type::FLOAT4 => Type::FLOAT8,
            Type::DATE => Type::TIMESTAMP,
            other => other,
        };
        let shift = |symbol: &str| {
            let found = resolve::operator(self.types, symbol, Some(value), offset)?;
            let column = |index, ty| {
                let kind = ExprKind::Column { levels_up: 0, index };
                Expr { kind, ty, modifier: Modifier::NONE, at: At::NONE }
            };
            let call = bound::Call {
                function: found.operator.function,
                name: symbol.to_owned(),
                operator: true,
                args: vec![column(0, value), column(1, offset)],
                set: false,
                variadic: false,
            };
            self.program(&Expr::of(ExprKind::Call(call), found.ret, At::NONE))
        };
        Ok((shift("+")?, shift("-")?))
    }
}
