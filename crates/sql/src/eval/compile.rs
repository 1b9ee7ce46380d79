//! From bound expressions to programs.

use scalar::cast::{self, CoercionContext, CoercionPath};
use scalar::facts::Facts;
use scalar::resolve;
use scalar::{Comparison, Context, Function, registry};
use types::geometry;
use types::{
    Datum, DatumRef, Error, Modifier, Oid, Repr, Result, Shape, SqlState, Type, TypeSource,
};

use super::array::Subscript;
use super::list::{Among, List, Listing};
use super::{Invoke, Op, Program, SearchOp, SetProgram, Step};
use crate::plan::{self, Cast, Expr, ExprKind};

impl Program {
    /// The program of an expression.
    ///
    /// # Errors
    /// `0A000` for what a program does not compute: subqueries, aggregates, functions that give
    /// sets, columns of rows further out.
    pub fn compile(expr: &Expr, types: &dyn TypeSource) -> Result<Self> {
        Ok(Program { root: Compiler { types }.op(expr)?, ty: expr.ty })
    }
}

impl SetProgram {
    /// The program of a call that gives a set; `None` if the expression is no such call.
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub fn compile(expr: &Expr, types: &dyn TypeSource) -> Result<Option<Self>> {
        match &expr.kind {
            ExprKind::Call(call) if call.set => {
                Ok(Some(SetProgram { call: Compiler { types }.call(call, expr.ty)? }))
            }
            _ => Ok(None),
        }
    }
}

struct Compiler<'a> {
    types: &'a dyn TypeSource,
}

/// `= ANY` or `<> ALL` of an array that is known, as a list that is searched; the call where it is none.
fn among(mut invoke: Invoke, all: bool) -> std::result::Result<Among, Invoke> {
    let is_not = match (Comparison::of(invoke.function), all) {
        (Some(Comparison::Equal), false) => false,
        (Some(Comparison::NotEqual), true) => true,
        _ => return Err(invoke),
    };
    let is_same = matches!(invoke.function.args, [left, right] if left == right);
    if !is_same || invoke.args.len() != 2 {
        return Err(invoke);
    }
    let constant = |op: &Op| match op {
        Op::Const(value) => Some(value.clone()),
        _ => None,
    };
    let values: Option<Vec<Datum>> = match &invoke.args[1] {
        Op::Const(Datum::Array(array)) => {
            Some(array.as_ref().iter().map(DatumRef::to_owned).collect())
        }
        Op::Array { elements, nested: false, .. } => elements.iter().map(constant).collect(),
        _ => None,
    };
    let value = |invoke: &mut Invoke| invoke.args.swap_remove(0);
    match (values, invoke.args.pop()) {
        (Some(values), _) => {
            Ok(Among { value: value(&mut invoke), list: Listing::Known(List::new(values)), is_not })
        }
        (None, Some(Op::Once(number, array))) => {
            Ok(Among { value: value(&mut invoke), list: Listing::Once(number, *array), is_not })
        }
        (None, array) => {
            invoke.args.extend(array);
            Err(invoke)
        }
    }
}

fn no_program(what: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} cannot be computed for one row"))
}

impl Compiler<'_> {
    fn ops(&self, exprs: &[Expr]) -> Result<Vec<Op>> {
        exprs.iter().map(|expr| self.op(expr)).collect()
    }

    fn boxed(&self, expr: &Expr) -> Result<Box<Op>> {
        self.op(expr).map(Box::new)
    }

    fn op(&self, expr: &Expr) -> Result<Op> {
        Ok(match &expr.kind {
            ExprKind::Const(value) => Op::Const(value.clone()),
            ExprKind::Param(index) => Op::Param(*index),
            ExprKind::Column { levels_up: 0, index } => Op::Column(*index as usize),
            ExprKind::Column { .. } => return Err(no_program("a column of an outer row")),
            ExprKind::Call(call) => {
                let invoke = self.invoke(call, expr.ty)?;
                match Comparison::of(invoke.function) {
                    Some(how) => match <[Op; 2]>::try_from(invoke.args) {
                        Ok(sides) => Op::Compare(how, Box::new(sides)),
                        Err(_) => return Err(no_program("such a comparison")),
                    },
                    None => Op::Invoke(invoke),
                }
            }
            ExprKind::Collate { expr: inner, .. } => self.op(inner)?,
            ExprKind::Cast { expr: inner, how } => self.cast(inner, how, expr.ty, expr.modifier)?,
            ExprKind::And(list) => Op::And(self.ops(list)?),
            ExprKind::Or(list) => Op::Or(self.ops(list)?),
            ExprKind::Not(inner) => Op::Not(self.boxed(inner)?),
            ExprKind::IsNull { expr: inner, negated } => match &inner.kind {
                ExprKind::Row { fields, .. } => Op::RowIsNull(self.ops(fields)?, *negated),
                _ => Op::IsNull(self.boxed(inner)?, *negated),
            },
            ExprKind::IsBool { expr: inner, value, negated } => {
                Op::IsBool(self.boxed(inner)?, *value, *negated)
            }
            ExprKind::IsDistinct { equal, negated } => {
                Op::IsDistinct(self.invoke(equal, Type::BOOL)?, *negated)
            }
            ExprKind::NullIf(call) => Op::NullIf(self.invoke(call, Type::BOOL)?),
            ExprKind::Case { operand, arms, otherwise } => {
                let operand = match operand {
                    Some(operand) => Some(self.boxed(operand)?),
                    None => None,
                };
                let arms = arms
                    .iter()
                    .map(|(condition, result)| Ok((self.op(condition)?, self.op(result)?)));
                Op::Case(operand, arms.collect::<Result<_>>()?, self.boxed(otherwise)?)
            }
            ExprKind::CaseOperand => Op::Operand,
            ExprKind::Coalesce(list) => Op::Coalesce(self.ops(list)?),
            ExprKind::Greatest(list) => Op::Extreme(self.ops(list)?, true),
            ExprKind::Least(list) => Op::Extreme(self.ops(list)?, false),
            ExprKind::AnyAll { call, all } => {
                let invoke = self.invoke(call, Type::BOOL)?;
                match among(invoke, *all) {
                    Ok(among) => Op::Among(Box::new(among)),
                    Err(invoke) => Op::AnyAll(invoke, *all),
                }
            }
            ExprKind::Array { elements, nested } => {
                let (element, repr) = self.element(expr.ty)?;
                Op::Array { elements: self.ops(elements)?, nested: *nested, element, repr }
            }
            ExprKind::Row { fields, names } => {
                let modifiers = fields.iter().map(|field| field.modifier);
                let names = names.iter().cloned().zip(modifiers).collect();
                let fields = fields
                    .iter()
                    .map(|field| Ok((self.op(field)?, field.ty, self.types.repr_of(field.ty)?)));
                Op::Row(fields.collect::<Result<_>>()?, names)
            }
            ExprKind::RowCompare { symbol, pairs } => {
                let pairs = pairs.iter().map(|pair| self.row_pair(pair));
                Op::RowCompare(pairs.collect::<Result<_>>()?, symbol.ends_with('='))
            }
            ExprKind::Field { expr: inner, index } => Op::Field(self.boxed(inner)?, *index),
            ExprKind::Subscript { expr: inner, steps } => {
                Op::Subscript { base: self.boxed(inner)?, steps: self.steps(steps)? }
            }
            ExprKind::Assign { expr: inner, steps, value } => {
                let element = match Facts(self.types).base(expr.ty) {
                    Type::JSONB => None,
                    fixed if geometry::part_type(fixed).is_some() => {
                        Some((Type::NONE, Repr::Bytea))
                    }
                    array => Some(self.element(array)?),
                };
                Op::Assign {
                    base: self.boxed(inner)?,
                    steps: self.steps(steps)?,
                    value: self.boxed(value)?,
                    element,
                }
            }
            ExprKind::AssignField { expr: inner, index, value } => {
                let Shape::Composite(fields) = self.types.shape_of(expr.ty)? else {
                    return Err(no_program("a field of what is no row"));
                };
                let fields =
                    fields.iter().map(|field| Ok((field.ty, self.types.repr_of(field.ty)?)));
                Op::AssignField {
                    base: self.boxed(inner)?,
                    index: *index,
                    value: self.boxed(value)?,
                    fields: fields.collect::<Result<_>>()?,
                }
            }
            ExprKind::Json(json) => match json {
                plan::Json::Construct { construct, args } => {
                    Op::Construct(construct.clone(), self.typed(args)?, expr.ty)
                }
                plan::Json::Search(boxed) => {
                    let plan::JsonSearch { search, document, path, passing, on_empty, on_error } =
                        &**boxed;
                    let given = |given: &Option<Expr>| {
                        given.as_ref().map(|given| self.op(given)).transpose()
                    };
                    Op::Search(Box::new(SearchOp {
                        search: search.clone(),
                        document: self.op(document)?,
                        path: self.op(path)?,
                        passing: self.typed(passing)?,
                        target: (expr.ty, expr.modifier),
                        on_empty: given(on_empty)?,
                        on_error: given(on_error)?,
                    }))
                }
            },
            ExprKind::Keyword(word) => self.keyword(word, expr.ty)?,
            ExprKind::NextValue(sequence) => Op::NextValue(*sequence),
            ExprKind::Slot(number) => Op::Slot(*number as usize),
            ExprKind::Once { number, expr } => Op::Once(*number as usize, self.boxed(expr)?),
            ExprKind::Subplan { number, args } => Op::Subplan(*number as usize, self.ops(args)?),
            ExprKind::Subquery(_) => return Err(no_program("a subquery")),
            ExprKind::Aggregate(_) | ExprKind::Grouping { .. } => {
                return Err(no_program("an aggregate"));
            }
            ExprKind::Window(_) => return Err(no_program("a window function")),
            ExprKind::MergeAction => return Err(no_program("merge_action()")),
            ExprKind::CurrentOf(_) => return Err(no_program("WHERE CURRENT OF")),
        })
    }

    fn typed(&self, exprs: &[Expr]) -> Result<Vec<(Op, Type)>> {
        exprs.iter().map(|expr| Ok((self.op(expr)?, expr.ty))).collect()
    }

    fn invoke(&self, call: &plan::Call, ret: Type) -> Result<Invoke> {
        if call.set {
            return Err(no_program("a function that gives a set"));
        }
        self.call(call, ret)
    }

    fn call(&self, call: &plan::Call, ret: Type) -> Result<Invoke> {
        let function = self.function(call.function)?;
        let types = call.args.iter().map(|arg| arg.ty).collect();
        Ok(Invoke { function, args: self.ops(&call.args)?, types, ret, spread: call.variadic })
    }

    /// The call of `=` for a pair of fields, and the function of the operator between them.
    fn row_pair(&self, pair: &plan::Call) -> Result<(Invoke, &'static Function)> {
        let compare = self.invoke(pair, Type::BOOL)?;
        let [left, right] = compare.types[..] else { return Err(no_program("such a comparison")) };
        let equal = resolve::operator(self.types, "=", Some(left), right)?;
        let function = self.function(equal.operator.function)?;
        Ok((Invoke { function, ..compare }, self.function(pair.function)?))
    }

    fn function(&self, oid: Oid) -> Result<&'static Function> {
        registry::function(oid).ok_or_else(|| {
            Error::new(SqlState::INTERNAL_ERROR, format!("there is no function {oid}"))
        })
    }

    fn cast(&self, inner: &Expr, how: &Cast, target: Type, modifier: Modifier) -> Result<Op> {
        if let Some(op) = self.plain_cast(inner, how, target)? {
            return Ok(op);
        }
        let step = match how {
            Cast::Type { how, when } => {
                Step::Type { how: how.clone(), source: inner.ty, target, when: *when }
            }
            Cast::Modifier { explicit } => Step::Fit(target, modifier, *explicit),
            Cast::Domain => Step::Domain(target),
        };
        Ok(Op::Cast(self.boxed(inner)?, step))
    }

    /// A cast that changes nothing, or is no more than the call of a function.
    fn plain_cast(&self, inner: &Expr, how: &Cast, target: Type) -> Result<Option<Op>> {
        let Cast::Type { how, when } = how else { return Ok(None) };
        // Values of `char(n)` are held without spaces at their end.
        if target == Type::BPCHAR || self.types.is_domain(target) {
            return Ok(None);
        }
        let held = self.types.repr_of(target)?;
        match how {
            CoercionPath::Relabel if self.types.repr_of(inner.ty)? == held => {
                Ok(Some(self.op(inner)?))
            }
            CoercionPath::Function(oid) => {
                let function = self.function(*oid)?;
                if !function.strict || self.types.repr_of(function.ret)? != held {
                    return Ok(None);
                }
                // Length coercions take a modifier, and some whether they may cut.
                let may_cut = Datum::Bool(*when == CoercionContext::Explicit);
                let more = [Datum::Int4(-1), may_cut].map(Op::Const);
                let args = std::iter::once(self.op(inner)?).chain(more);
                let args = args.take(function.args.len()).collect();
                let (types, ret) = (function.args.to_vec(), function.ret);
                Ok(Some(Op::Invoke(Invoke { function, args, types, ret, spread: false })))
            }
            _ => Ok(None),
        }
    }

    /// The type of the elements of an array type, and how they are held.
    fn element(&self, array: Type) -> Result<(Type, Repr)> {
        let element =
            Facts(self.types).element(array).ok_or_else(|| no_program("such an array"))?;
        Ok((element, self.types.repr_of(element)?))
    }

    fn steps(&self, steps: &[plan::Subscript]) -> Result<Vec<Subscript>> {
        steps
            .iter()
            .map(|step| {
                let end = |end: &Option<Expr>| end.as_ref().map(|end| self.op(end)).transpose();
                Ok(match step {
                    plan::Subscript::Index(index) => Subscript::Index(self.op(index)?),
                    plan::Subscript::Slice(low, high) => Subscript::Slice(end(low)?, end(high)?),
                })
            })
            .collect()
    }

    /// `CURRENT_DATE` and the like: the time of the transaction in another type, or a name.
    fn keyword(&self, word: &str, ty: Type) -> Result<Op> {
        let name: fn(&Context<'_>) -> String = match word {
            "session_user" => |context| context.session.session_user().to_owned(),
            "current_catalog" => |context| context.session.database().to_owned(),
            "user" | "current_user" | "current_role" => |context| context.session.user().to_owned(),
            "system_user" => return Ok(Op::Const(types::Datum::Null)),
            "current_schema" => return self.current_schema(),
            _ => {
                let found =
                    cast::find(Facts(self.types), Type::TIMESTAMPTZ, ty, CoercionContext::Explicit);
                let step = found.filter(|_| ty != Type::TIMESTAMPTZ).map(|how| Step::Type {
                    how,
                    source: Type::TIMESTAMPTZ,
                    target: ty,
                    when: CoercionContext::Explicit,
                });
                return Ok(Op::Now(step));
            }
        };
        Ok(Op::Name(name))
    }

    fn current_schema(&self) -> Result<Op> {
        let function = registry::functions("current_schema")
            .iter()
            .find(|function| function.args.is_empty())
            .ok_or_else(|| no_program("current_schema"))?;
        Ok(Op::Invoke(Invoke {
            function,
            args: Vec::new(),
            types: Vec::new(),
            ret: Type::NAME,
            spread: false,
        }))
    }
}
