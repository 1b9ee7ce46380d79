//! [`Run`]: the evaluation of a program for one row.

use std::cell::OnceCell;

use interrupt::Pace;
use scalar::cast;
use scalar::function::{Call, Eval};
use scalar::standard::Found;
use scalar::{Comparison, Function};
use types::bounded;
use types::{Datum, DatumRef, Error, Repr, Result, SqlState, Type};

use super::array;
use super::{CachedValue, Frame, Invoke, Op, OuterValues, Row, SearchOp, Step};

/// A value that lies in the row or the program, or one that was computed.
pub(super) enum Value<'a> {
    Borrowed(DatumRef<'a>),
    Owned(Datum),
}

impl Value<'_> {
    pub(super) fn get(&self) -> DatumRef<'_> {
        match self {
            Value::Borrowed(value) => *value,
            Value::Owned(value) => value.as_ref(),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.get().is_null()
    }

    pub(super) fn into_datum(self) -> Datum {
        match self {
            Value::Borrowed(value) => value.to_owned(),
            Value::Owned(value) => value,
        }
    }
}

/// One evaluation.
pub(super) struct Run<'r> {
    pub(super) row: Row<'r>,
    pub(super) frame: Frame<'r>,
    pub(super) around: &'r dyn OuterValues,
}

impl<'r> Run<'r> {
    pub(super) fn value<'a>(&'a self, op: &'a Op, operand: DatumRef<'a>) -> Result<Value<'a>> {
        let owned = |datum: Datum| Ok(Value::Owned(datum));
        match op {
            Op::Const(value) => Ok(Value::Borrowed(value.as_ref())),
            Op::Param(index) => match self.frame.params.get(*index) {
                Some(value) => Ok(Value::Borrowed(value.as_ref())),
                None => Err(Error::new(
                    SqlState::UNDEFINED_PARAMETER,
                    format!("there is no parameter ${}", index + 1),
                )),
            },
            Op::Column(index) => Ok(Value::Borrowed(self.row.get(*index))),
            Op::Operand => Ok(Value::Borrowed(operand)),
            Op::Invoke(invoke) => self.invoke(invoke, operand).map(Value::Owned),
            Op::Cast(inner, step) => {
                let value = self.value(inner, operand)?;
                self.cast(value, step)
            }
            Op::Compare(..)
            | Op::Among(_)
            | Op::And(_)
            | Op::Or(_)
            | Op::Not(_)
            | Op::IsNull(..) => owned(self.bool(op, operand)?.map_or(Datum::Null, Datum::Bool)),
            Op::RowIsNull(fields, negated) => {
                let mut all = true;
                for field in fields {
                    all &= self.value(field, operand)?.is_null() != *negated;
                }
                owned(Datum::Bool(all))
            }
            Op::IsBool(inner, wanted, negated) => {
                owned(Datum::Bool((self.bool(inner, operand)? == *wanted) != *negated))
            }
            Op::IsDistinct(invoke, negated) => {
                let (left, right) = self.pair(&invoke.args, operand)?;
                let distinct = match (left.is_null(), right.is_null()) {
                    (false, false) => {
                        let equal = self.apply(invoke, &[left.get(), right.get()])?;
                        !matches!(equal, Datum::Bool(true))
                    }
                    (left, right) => left != right,
                };
                owned(Datum::Bool(distinct != *negated))
            }
            Op::NullIf(invoke) => {
                let (left, right) = self.pair(&invoke.args, operand)?;
                let equal = !left.is_null()
                    && !right.is_null()
                    && matches!(self.apply(invoke, &[left.get(), right.get()])?, Datum::Bool(true));
                if equal { owned(Datum::Null) } else { owned(left.into_datum()) }
            }
            Op::Case(subject, arms, otherwise) => {
                self.case(subject.as_deref(), arms, otherwise, operand)
            }
            Op::Coalesce(list) => {
                for item in list {
                    let value = self.value(item, operand)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                owned(Datum::Null)
            }
            Op::Extreme(list, greatest) => self.extreme(list, *greatest, operand),
            Op::AnyAll(invoke, all) => owned(self.any_all(invoke, *all, operand)?),
            Op::Array { elements, nested, element, repr } => {
                let values = self.values(elements, operand)?;
                owned(array::construct(&values, *nested, *element, *repr)?)
            }
            Op::Row(fields, names) => {
                let values: Vec<(Value<'_>, Type, Repr)> = fields
                    .iter()
                    .map(|(op, ty, repr)| Ok((self.value(op, operand)?, *ty, *repr)))
                    .collect::<Result<_>>()?;
                let fields = values.iter().map(|(value, ty, repr)| (*ty, *repr, value.get()));
                let row = types::Record::new(fields);
                owned(bounded::value(Datum::Record(match names.is_empty() {
                    true => row,
                    false => row.named(names.iter().map(|(name, of)| (name.as_str(), *of))),
                }))?)
            }
            Op::RowCompare(pairs, equals) => owned(self.row_compare(pairs, *equals, operand)?),
            Op::Field(inner, index) => {
                let row = self.value(inner, operand)?;
                owned(match row.get() {
                    DatumRef::Record(record) => {
                        record.get(*index).map_or(Datum::Null, DatumRef::to_owned)
                    }
                    _ => Datum::Null,
                })
            }
            Op::Subscript { base, steps } => {
                let base = self.value(base, operand)?;
                let steps = self.steps(steps, operand)?;
                owned(array::subscript(base.get(), &steps)?)
            }
            Op::Assign { base, steps, value, element: None } => {
                let base = self.value(base, operand)?;
                let steps = self.steps(steps, operand)?;
                let value = self.value(value, operand)?;
                owned(array::assign_json(base.get(), &steps, value.get())?)
            }
            Op::Assign { base, steps, value, element: Some((element, repr)) } => {
                let base = self.value(base, operand)?;
                let steps = self.steps(steps, operand)?;
                let value = self.value(value, operand)?;
                owned(array::assign(base.get(), &steps, value.get(), *element, *repr)?)
            }
            Op::AssignField { base, index, value, fields } => {
                let base = self.value(base, operand)?;
                let value = self.value(value, operand)?;
                let old = |at: usize| match base.get() {
                    DatumRef::Record(record) => record.get(at).unwrap_or(DatumRef::Null),
                    _ => DatumRef::Null,
                };
                let fields = fields.iter().enumerate().map(|(at, (ty, repr))| {
                    (*ty, *repr, if at == *index { value.get() } else { old(at) })
                });
                owned(bounded::value(Datum::Record(types::Record::new(fields)))?)
            }
            Op::Construct(construct, args, ret) => {
                let values = self.typed(args, operand)?;
                let args: Vec<_> = values.iter().map(|(value, ty)| (value.get(), *ty)).collect();
                owned(construct.eval(&args, *ret, self.frame.context)?)
            }
            Op::Search(search) => self.search(search, operand),
            Op::Now(step) => {
                let now = Value::Owned(Datum::TimestampTz(self.frame.context.types.now));
                match step {
                    Some(step) => self.cast(now, step),
                    None => Ok(now),
                }
            }
            Op::Name(name) => owned(Datum::text(name(self.frame.context))),
            Op::NextValue(sequence) => owned(Datum::Int8(self.frame.host.next_value(*sequence)?)),
            Op::Slot(number) => owned(self.around.slot(*number)),
            Op::Once(number, inner) => {
                let place = self.around.kept(*number);
                if let Some(CachedValue::Value(value)) = place.and_then(OnceCell::get) {
                    return Ok(Value::Borrowed(value.as_ref()));
                }
                let value = self.value(inner, operand)?.into_datum();
                match place.map(|place| place.get_or_init(|| CachedValue::Value(value.clone()))) {
                    Some(CachedValue::Value(value)) => Ok(Value::Borrowed(value.as_ref())),
                    _ => owned(value),
                }
            }
            Op::Subplan(number, args) => {
                let mut args = args.iter().map(|arg| Ok(self.value(arg, operand)?.into_datum()));
                owned(self.around.subplan(*number, &mut args)?)
            }
        }
    }

    pub(super) fn typed<'a>(
        &'a self,
        ops: &'a [(Op, Type)],
        operand: DatumRef<'a>,
    ) -> Result<Vec<(Value<'a>, Type)>> {
        ops.iter().map(|(op, ty)| Ok((self.value(op, operand)?, *ty))).collect()
    }

    /// A search, and what its clauses say where it finds nothing or fails.
    fn search<'a>(&'a self, op: &'a SearchOp, operand: DatumRef<'a>) -> Result<Value<'a>> {
        let document = self.value(&op.document, operand)?;
        let path = self.value(&op.path, operand)?;
        let (DatumRef::Jsonb(document), DatumRef::Text(path)) = (document.get(), path.get()) else {
            return Ok(Value::Owned(Datum::Null));
        };
        let passing = self.typed(&op.passing, operand)?;
        let passing: Vec<_> = passing.iter().map(|(value, ty)| (value.get(), *ty)).collect();
        let found = op.search.run(document, path, &passing, op.target, self.frame.context)?;
        match (found, &op.on_empty, &op.on_error) {
            (Found::Value(value), ..) => Ok(Value::Owned(value)),
            (Found::Empty, Some(given), _) | (Found::Error(_), _, Some(given)) => {
                self.value(given, operand)
            }
            (Found::Empty, None, _) => Err(Found::empty_error()),
            (Found::Error(error), ..) => Err(error),
        }
    }

    /// The truth value of a condition; `None` for NULL.
    pub(super) fn bool(&self, op: &Op, operand: DatumRef<'_>) -> Result<Option<bool>> {
        Ok(match op {
            Op::Compare(how, sides) => self.compare(*how, sides, operand)?,
            Op::Among(among) => self.is_among(among, operand)?.map(|found| found != among.is_not),
            Op::And(list) => self.connective(list, operand, false)?,
            Op::Or(list) => self.connective(list, operand, true)?,
            Op::Not(inner) => self.bool(inner, operand)?.map(|value| !value),
            Op::IsNull(inner, negated) => {
                let is_null = match self.leaf(inner) {
                    Some(value) => value.is_null(),
                    None => self.value(inner, operand)?.is_null(),
                };
                Some(is_null != *negated)
            }
            other => match self.value(other, operand)?.get() {
                DatumRef::Bool(value) => Some(value),
                _ => None,
            },
        })
    }

    /// A value that need not be computed.
    #[inline]
    pub(super) fn leaf<'a>(&'a self, op: &'a Op) -> Option<DatumRef<'a>> {
        match op {
            Op::Column(index) => Some(self.row.get(*index)),
            Op::Const(value) => Some(value.as_ref()),
            Op::Param(index) => self.frame.params.get(*index).map(Datum::as_ref),
            Op::Once(number, _) => match self.around.kept(*number)?.get()? {
                CachedValue::Value(value) => Some(value.as_ref()),
                CachedValue::List(_) => None,
            },
            _ => None,
        }
    }

    /// A value, which is not computed where it need not be.
    #[inline]
    fn fetch<'a>(&'a self, op: &'a Op, operand: DatumRef<'a>) -> Result<Value<'a>> {
        match self.leaf(op) {
            Some(value) => Ok(Value::Borrowed(value)),
            None => self.value(op, operand),
        }
    }

    fn compare(
        &self,
        how: Comparison,
        [left, right]: &[Op; 2],
        operand: DatumRef<'_>,
    ) -> Result<Option<bool>> {
        if let (Some(left), Some(right)) = (self.leaf(left), self.leaf(right)) {
            return Ok(how.test(left, right));
        }
        let (left, right) = (self.fetch(left, operand)?, self.fetch(right, operand)?);
        Ok(how.test(left.get(), right.get()))
    }

    pub(super) fn values<'a>(
        &'a self,
        ops: &'a [Op],
        operand: DatumRef<'a>,
    ) -> Result<Vec<Value<'a>>> {
        ops.iter().map(|op| self.value(op, operand)).collect()
    }

    pub(super) fn pair<'a>(
        &'a self,
        ops: &'a [Op],
        operand: DatumRef<'a>,
    ) -> Result<(Value<'a>, Value<'a>)> {
        Ok((self.value(&ops[0], operand)?, self.value(&ops[1], operand)?))
    }

    /// `AND`, or `OR` where `decides` is true: the first operand that decides ends it.
    fn connective(
        &self,
        list: &[Op],
        operand: DatumRef<'_>,
        decides: bool,
    ) -> Result<Option<bool>> {
        let mut unknown = false;
        for item in list {
            match self.bool(item, operand)? {
                Some(value) if value == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok((!unknown).then_some(!decides))
    }

    fn invoke(&self, invoke: &Invoke, operand: DatumRef<'_>) -> Result<Datum> {
        // The usual calls need no memory of their own.
        match &invoke.args[..] {
            [arg] => {
                let value = self.value(arg, operand)?;
                self.apply(invoke, &[value.get()])
            }
            [left, right] => {
                let (left, right) = (self.value(left, operand)?, self.value(right, operand)?);
                self.apply(invoke, &[left.get(), right.get()])
            }
            [first, second, third] => {
                let (first, second) = (self.value(first, operand)?, self.value(second, operand)?);
                let third = self.value(third, operand)?;
                self.apply(invoke, &[first.get(), second.get(), third.get()])
            }
            args => {
                let values = self.values(args, operand)?;
                let args: Vec<DatumRef<'_>> = values.iter().map(Value::get).collect();
                self.apply(invoke, &args)
            }
        }
    }

    fn apply(&self, invoke: &Invoke, args: &[DatumRef<'_>]) -> Result<Datum> {
        let call = Call {
            context: self.frame.context,
            args: &invoke.types,
            ret: invoke.ret,
            spread: invoke.spread,
        };
        self.call(invoke.function, &call, args)
    }

    fn call(&self, function: &Function, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
        match function.eval {
            Eval::Server => match function.strict && args.iter().any(|arg| arg.is_null()) {
                true => Ok(Datum::Null),
                false => self.frame.host.call(function, call, args),
            },
            _ => function.call(call, args),
        }
    }

    fn case<'a>(
        &'a self,
        subject: Option<&'a Op>,
        arms: &'a [(Op, Op)],
        otherwise: &'a Op,
        operand: DatumRef<'a>,
    ) -> Result<Value<'a>> {
        let subject = match subject {
            Some(subject) => Some(self.value(subject, operand)?.into_datum()),
            None => None,
        };
        let seen = subject.as_ref().map_or(operand, Datum::as_ref);
        for (condition, result) in arms {
            if self.bool(condition, seen)? == Some(true) {
                return self.value(result, operand);
            }
        }
        self.value(otherwise, operand)
    }

    fn extreme<'a>(
        &'a self,
        list: &'a [Op],
        greatest: bool,
        operand: DatumRef<'a>,
    ) -> Result<Value<'a>> {
        let mut best: Option<Value<'a>> = None;
        for item in list {
            let value = self.value(item, operand)?;
            if value.is_null() {
                continue;
            }
            let better = best.as_ref().is_none_or(|best| match greatest {
                true => value.get() > best.get(),
                false => value.get() < best.get(),
            });
            if better {
                best = Some(value);
            }
        }
        Ok(best.unwrap_or(Value::Owned(Datum::Null)))
    }

    /// Whether a comparison is true for any element of an array, or for all of them.
    fn any_all(&self, invoke: &Invoke, all: bool, operand: DatumRef<'_>) -> Result<Datum> {
        let (left, right) = self.pair(&invoke.args, operand)?;
        let DatumRef::Array(array) = right.get() else { return Ok(Datum::Null) };
        let mut unknown = false;
        let mut pace = Pace::new();
        for element in array.iter() {
            pace.step(64)?;
            match self.apply(invoke, &[left.get(), element])? {
                Datum::Bool(value) if value != all => return Ok(Datum::Bool(!all)),
                Datum::Bool(_) => {}
                _ => unknown = true,
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Bool(all) })
    }

    /// The first pair that differs decides; a NULL before it makes the result NULL.
    fn row_compare(
        &self,
        pairs: &[(Invoke, &'static Function)],
        equals: bool,
        operand: DatumRef<'_>,
    ) -> Result<Datum> {
        for (equal, compare) in pairs {
            let (left, right) = self.pair(&equal.args, operand)?;
            if left.is_null() || right.is_null() {
                return Ok(Datum::Null);
            }
            let args = [left.get(), right.get()];
            if !matches!(self.apply(equal, &args)?, Datum::Bool(true)) {
                let call = Call {
                    context: self.frame.context,
                    args: &equal.types,
                    ret: Type::BOOL,
                    spread: false,
                };
                return self.call(compare, &call, &args);
            }
        }
        Ok(Datum::Bool(equals))
    }

    fn cast<'a>(&'a self, value: Value<'a>, step: &'a Step) -> Result<Value<'a>> {
        if value.is_null() && !matches!(step, Step::Domain(_)) {
            return Ok(Value::Owned(Datum::Null));
        }
        let cast = match step {
            Step::Type { how, source, target, when } => {
                cast::apply(how, value.get(), *source, *target, *when, self.frame.context)?
            }
            Step::Fit(ty, modifier, explicit) => {
                let coercion = match explicit {
                    true => types::Coercion::Explicit,
                    false => types::Coercion::Assignment,
                };
                modifier.apply(value.into_datum(), *ty, coercion)?
            }
            Step::Domain(domain) => {
                self.frame.context.types.domains.check(*domain, value.get())?;
                return Ok(value);
            }
        };
        Ok(Value::Owned(bounded::value(cast)?))
    }

    fn steps(
        &self,
        steps: &[array::Subscript],
        operand: DatumRef<'_>,
    ) -> Result<Vec<array::Bounds>> {
        let index = |op: &Op| -> Result<array::Bounds> {
            Ok(match self.value(op, operand)?.get() {
                DatumRef::Text(name) => array::Bounds::Name(name.to_owned()),
                DatumRef::Int4(index) => array::Bounds::Index(Some(index)),
                _ => array::Bounds::Index(None),
            })
        };
        let number = |op: &Op| -> Result<Option<i32>> {
            match self.value(op, operand)?.get() {
                DatumRef::Int4(value) => Ok(Some(value)),
                DatumRef::Null => Ok(None),
                other => Err(Error::new(
                    SqlState::INTERNAL_ERROR,
                    format!("a subscript should be an integer and is {other:?}"),
                )),
            }
        };
        steps
            .iter()
            .map(|step| {
                Ok(match step {
                    array::Subscript::Index(at) => index(at)?,
                    array::Subscript::Slice(low, high) => {
                        let end = |end: &Option<Op>| match end {
                            None => Ok(array::End::Open),
                            Some(op) => number(op).map(|value| match value {
                                Some(value) => array::End::At(value),
                                None => array::End::Null,
                            }),
                        };
                        array::Bounds::Slice(end(low)?, end(high)?)
                    }
                })
            })
            .collect()
    }
}
