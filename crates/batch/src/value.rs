//! Expressions over slices.
//!
//! ```text
//!   price * quantity            Arithmetic(Mul, Column 6, ToFloat(Column 7))      arrays
//!   case when kind = 'buy'      Case([(Condition, Column 5)], Constant 0)         arrays, put together
//!        then amount else 0 end
//!   substr(url, 1, 5)           Rows(program)                                     row by row
//! ```

use std::cell::RefCell;
use std::sync::Arc;

use scalar::cast::CoercionPath;
use scalar::registry;
use sql::bind::walk;
use sql::eval::{Frame, OuterValues, Program, Row};
use sql::plan::{Cast, Expr, ExprKind};
use types::{Datum, DatumRef, Repr, Result, Type, TypeSource};

use crate::arithmetic::{Arithmetic, Numbers, compute, either_null, operation};
use crate::by_row::{ByRow, by_code};
use crate::condition::Condition;
use crate::slice::{Selection, Slice};
use crate::source::{Field, FieldForm};
use crate::vector::{Decimals, Floats, Lent, Shown, Values, Vector, is_int};

/// The context in which programs run.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// The statement and its session.
    pub frame: Frame<'r>,
    /// The values of outer queries and the subqueries, which programs ask for.
    pub around: &'r dyn OuterValues,
    /// Counts rows that were looked at, and says whether the statement may go on.
    pub tick: &'r dyn Fn(u64) -> Result<()>,
}

impl Run<'_> {
    /// Returns the value of a program for a row.
    ///
    /// # Errors
    /// The errors of the program.
    pub(crate) fn value<'v>(&self, program: &Program, row: impl Into<Row<'v>>) -> Result<Datum> {
        program.run_in(row, self.frame, self.around)
    }

    /// Returns true if the value of a program for a row is true.
    ///
    /// # Errors
    /// The errors of the program.
    pub(crate) fn test<'v>(&self, program: &Program, row: impl Into<Row<'v>>) -> Result<bool> {
        program.test_in(row, self.frame, self.around)
    }
}

/// Compiles expressions: makes programs, and knows how types are held.
pub(crate) struct Compiler<'c> {
    pub types: &'c dyn TypeSource,
    pub program: &'c mut dyn FnMut(&Expr) -> Result<Program>,
    /// The fields of objects that expressions ask for.
    pub fields: Vec<Field>,
}

impl Compiler<'_> {
    /// Returns how values of a type are held.
    pub fn repr(&self, ty: Type) -> Option<Repr> {
        self.types.repr_of(ty).ok()
    }

    /// Returns the number of a field.
    pub fn field(&mut self, column: usize, name: &str, form: FieldForm) -> usize {
        let field = Field { column, name: name.to_owned(), form };
        match self.fields.iter().position(|known| *known == field) {
            Some(at) => at,
            None => {
                self.fields.push(field);
                self.fields.len() - 1
            }
        }
    }

    pub fn by_row(&mut self, expr: &Expr) -> Result<ByRow> {
        let columns = columns_of(expr);
        let is_volatile = walk::is_volatile(expr);
        let (program, repr) = (Arc::new((self.program)(expr)?), self.repr(expr.ty));
        Ok(ByRow { program, columns, repr, is_volatile, by_int: RefCell::default() })
    }
}

/// Returns what an expression casts, if the cast changes no value: `varchar` as `text`.
pub(crate) fn uncast(expr: &Expr) -> &Expr {
    let is_text = |ty| matches!(ty, Type::TEXT | Type::VARCHAR);
    match &expr.kind {
        ExprKind::Cast { expr: inner, how: Cast::Type { how: CoercionPath::Relabel, .. } }
            if is_text(expr.ty) && is_text(inner.ty) =>
        {
            uncast(inner)
        }
        _ => expr,
    }
}

/// Returns the column and the text of arguments that are a column and a text which is known.
pub(crate) fn column_and_name(args: &[Expr]) -> Option<(usize, &str)> {
    let [column, name] = args else { return None };
    match (&uncast(column).kind, &name.kind) {
        (ExprKind::Column { levels_up: 0, index }, ExprKind::Const(name)) => match name.as_ref() {
            DatumRef::Text(name) => Some((*index as usize, name)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the columns that an expression reads, ascending.
pub(crate) fn columns_of(expr: &Expr) -> Vec<usize> {
    fn visit(expr: &mut Expr, columns: &mut Vec<usize>) {
        if let ExprKind::Column { index, .. } = expr.kind {
            columns.push(index as usize);
        }
        walk::parts(expr, &mut |part| visit(part, columns));
    }
    let mut columns = Vec::new();
    visit(&mut expr.clone(), &mut columns);
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The result of a program for the values of a field of objects.
#[derive(Clone, Debug)]
pub(crate) struct OfField {
    /// It sees a row of one value: that of the field.
    program: Arc<Program>,
    /// The whole expression, over the columns.
    whole: ByRow,
}

impl OfField {
    /// Computes the values of the selected rows of those of the field.
    fn vector<'a>(
        &self,
        field: &Vector<'_>,
        run: Run<'_>,
        slice: &Slice<'_>,
        rows: &Selection,
    ) -> Result<Vector<'a>> {
        by_code(self.whole.repr, field, rows, slice.rows(), |row| {
            field.with(row, |value| run.value(&self.program, Row::Refs(&[value])))
        })
    }
}

/// Returns the column, the name and the form, if an expression is a field of the objects of a column.
fn field_read(expr: &Expr) -> Option<(usize, &str, FieldForm)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let form = match registry::function(call.function)?.name {
        "jsonb_object_field" => FieldForm::Value,
        "jsonb_object_field_text" => FieldForm::Text,
        _ => return None,
    };
    let (column, name) = column_and_name(&call.args)?;
    Some((column, name, form))
}

/// Returns the number of the field, and the program over its value, if an expression reads nothing but one field of
/// one column.
fn of_field(
    expr: &Expr,
    whole: &ByRow,
    compiler: &mut Compiler<'_>,
) -> Result<Option<(usize, Arc<Program>)>> {
    if whole.only_column().is_none() {
        return Ok(None);
    }
    let (mut inner, mut found) = (expr.clone(), None);
    if !put_field(&mut inner, &mut found) {
        return Ok(None);
    }
    let Some((column, name, form)) = found else { return Ok(None) };
    Ok(Some((compiler.field(column, &name, form), Arc::new((compiler.program)(&inner)?))))
}

/// Puts the first column of a row in the place of a field, wherever that is read; false if anything else is read.
fn put_field(expr: &mut Expr, found: &mut Option<(usize, String, FieldForm)>) -> bool {
    if let Some((column, name, form)) = field_read(expr) {
        let field = (column, name.to_owned(), form);
        let is_it = found.as_ref().is_none_or(|known| *known == field);
        *found = Some(field);
        expr.kind = ExprKind::Column { levels_up: 0, index: 0 };
        return is_it;
    }
    let mut reads_no_column = !matches!(expr.kind, ExprKind::Column { .. });
    walk::parts(expr, &mut |part| reads_no_column &= put_field(part, found));
    reads_no_column
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Column(usize),
    /// The same for all rows of an execution.
    Constant(ByRow),
    /// An integer as a `float8`.
    ToFloat(Box<Value>),
    /// An integer as a `numeric`; by the program where it is not kept as an integer.
    ToNumeric(Box<Value>, ByRow),
    /// Computed on arrays; by the program where that would not be exact.
    Arithmetic(Arithmetic, Numbers, Box<[Value; 2]>, ByRow),
    /// The value of the first condition that is true, else the last value, or NULL without it; by the program where the
    /// values cannot be put together.
    Case(Vec<(Condition, Value)>, Option<Box<Value>>, ByRow),
    /// A field of objects; by the program where it is not a column.
    Field(usize, ByRow),
    /// The result of a program for a field of objects; by the program of the whole where it is not a
    /// column.
    OfField(usize, OfField),
    Rows(ByRow),
}

impl Value {
    /// Returns the fastest form of an expression over the columns of a slice.
    ///
    /// # Errors
    /// The errors of compiling a program.
    pub fn compile(expr: &Expr, compiler: &mut Compiler<'_>) -> Result<Value> {
        Ok(match Value::compile_by_row(expr, compiler)? {
            Value::Rows(whole) => match of_field(expr, &whole, compiler)? {
                Some((field, program)) => Value::OfField(field, OfField { program, whole }),
                None => Value::Rows(whole),
            },
            value => value,
        })
    }

    fn compile_by_row(expr: &Expr, compiler: &mut Compiler<'_>) -> Result<Value> {
        let expr = uncast(expr);
        if let ExprKind::Column { levels_up: 0, index } = expr.kind {
            return Ok(Value::Column(index as usize));
        }
        let whole = compiler.by_row(expr)?;
        if whole.is_constant() {
            return Ok(Value::Constant(whole));
        }
        Ok(match &expr.kind {
            ExprKind::Cast { expr: inner, how: Cast::Type { .. } }
                if expr.ty == Type::FLOAT8
                    && matches!(inner.ty, Type::INT2 | Type::INT4 | Type::INT8) =>
            {
                Value::ToFloat(Box::new(Value::compile(inner, compiler)?))
            }
            ExprKind::Cast { expr: inner, how: Cast::Type { .. } }
                if expr.ty == Type::NUMERIC
                    && matches!(inner.ty, Type::INT2 | Type::INT4 | Type::INT8) =>
            {
                Value::ToNumeric(Box::new(Value::compile(inner, compiler)?), whole)
            }
            ExprKind::Call(call) => {
                if let Some((column, name, form)) = field_read(expr) {
                    return Ok(Value::Field(compiler.field(column, name, form), whole));
                }
                let function = registry::function(call.function);
                let found = function.and_then(|function| operation(function.name));
                match (found, &call.args[..]) {
                    (Some((how, numbers)), [left, right]) => {
                        let left = Value::compile(left, compiler)?;
                        let right = Value::compile(right, compiler)?;
                        Value::Arithmetic(how, numbers, Box::new([left, right]), whole)
                    }
                    _ => Value::Rows(whole),
                }
            }
            ExprKind::Case { operand: None, arms, otherwise } => {
                let is_else_null = otherwise.is_null_const();
                let is_number = whole.repr.is_some_and(|repr| {
                    is_int(repr) || matches!(repr, Repr::Numeric | Repr::Float4 | Repr::Float8)
                });
                // An expression of one column is computed once for each of its values.
                let is_joined = is_number && whole.only_column().is_none();
                if !is_joined && (arms.len() > 1 || !is_else_null) {
                    return Ok(Value::Rows(whole));
                }
                let arms = arms.iter().map(|(condition, value)| {
                    let condition = Condition::compile(condition, compiler)?;
                    Ok((condition, Value::compile(value, compiler)?))
                });
                let arms = arms.collect::<Result<Vec<_>>>()?;
                let otherwise = match is_else_null {
                    true => None,
                    false => Some(Box::new(Value::compile(otherwise, compiler)?)),
                };
                Value::Case(arms, otherwise, whole)
            }
            _ => Value::Rows(whole),
        })
    }

    /// Returns what the value costs for a row, in the classes of conditions.
    pub fn cost(&self) -> u8 {
        match self {
            Value::Column(_) | Value::Constant(_) | Value::Field(..) => 0,
            Value::ToFloat(inner) | Value::ToNumeric(inner, _) => inner.cost(),
            Value::Arithmetic(_, _, sides, _) => sides.iter().map(Value::cost).max().unwrap_or(0),
            Value::Case(..) => 1,
            Value::OfField(..) | Value::Rows(_) => 2,
        }
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        match self {
            Value::ToFloat(inner) => inner.forget(),
            Value::ToNumeric(inner, whole) => {
                inner.forget();
                whole.forget();
            }
            Value::Arithmetic(_, _, sides, whole) => {
                sides.iter().for_each(Value::forget);
                whole.forget();
            }
            Value::Case(arms, otherwise, whole) => {
                for (condition, value) in arms {
                    condition.forget();
                    value.forget();
                }
                otherwise.iter().for_each(|value| value.forget());
                whole.forget();
            }
            Value::Rows(whole) => whole.forget(),
            Value::Field(_, whole) => whole.forget(),
            Value::OfField(_, of) => of.whole.forget(),
            Value::Column(_) | Value::Constant(_) => {}
        }
    }

    /// Computes the values of the selected rows.
    ///
    /// # Errors
    /// The errors of reading the columns and the programs.
    pub fn vector<'s, 'a>(
        &self,
        run: Run<'_>,
        slice: &'s Slice<'a>,
        rows: &Selection,
    ) -> Result<Lent<'s, 'a>> {
        Ok(Lent::Owned(match self {
            Value::Column(column) => return slice.column_of(*column, rows),
            Value::Constant(whole) => {
                let value = match rows.is_empty() {
                    true => Datum::Null,
                    false => run.value(&whole.program, Row::NONE)?,
                };
                Vector::constant(whole.repr, &value, slice.rows())
            }
            Value::ToFloat(inner) => {
                let vector = inner.vector(run, slice, rows)?;
                let Values::Ints(ints) = &vector.values else {
                    return self.by_value(&vector, rows).map(Lent::Owned);
                };
                let values = ints.values.iter().map(|value| *value as f64).collect();
                Vector { values: Values::Floats(Floats::of(values)), nulls: vector.nulls.clone() }
            }
            Value::ToNumeric(inner, whole) => {
                let vector = inner.vector(run, slice, rows)?;
                match &vector.values {
                    Values::Ints(ints) => Vector {
                        values: Values::Decimals(Decimals {
                            scale: 0,
                            mantissas: ints.values.clone(),
                            shown: Shown::Same(0),
                            bound: ints.bound,
                        }),
                        nulls: vector.nulls.clone(),
                    },
                    _ => whole.vector(run, slice, rows)?,
                }
            }
            Value::Arithmetic(how, numbers, sides, whole) => {
                let left = sides[0].operand(run, slice, rows)?;
                let right = sides[1].operand(run, slice, rows)?;
                let nulls = either_null(&left.nulls, &right.nulls);
                let values = compute(*how, *numbers, &left, &right, rows, &nulls);
                match values {
                    Some(values) => Vector { values, nulls },
                    None => whole.vector(run, slice, rows)?,
                }
            }
            Value::Case(arms, otherwise, whole) => {
                let (mut rest, mut chosen) = (rows.clone(), Vec::with_capacity(arms.len() + 1));
                for (condition, value) in arms {
                    let mut wanted = rest.clone();
                    condition.narrow(run, slice, &mut wanted)?;
                    if wanted.is_empty() {
                        continue;
                    }
                    let vector = value.vector(run, slice, &wanted)?;
                    let mut is_chosen = vec![false; slice.rows()];
                    wanted.each(|row| is_chosen[row] = true);
                    rest.retain(|row| !is_chosen[row]);
                    chosen.push((wanted, vector));
                }
                if let Some(value) = otherwise.as_ref().filter(|_| !rest.is_empty()) {
                    let vector = value.vector(run, slice, &rest)?;
                    chosen.push((std::mem::replace(&mut rest, Selection::All(0)), vector));
                }
                let parts: Vec<(&Selection, &Vector<'_>)> =
                    chosen.iter().map(|(rows, vector)| (rows, &**vector)).collect();
                match Vector::put_together(&parts, slice.rows(), !rest.is_empty()) {
                    Some(vector) => vector,
                    None if parts.is_empty() => {
                        Vector::constant(whole.repr, &Datum::Null, slice.rows())
                    }
                    None => whole.by_row(run, slice, rows)?,
                }
            }
            Value::Field(number, whole) => match slice.field(*number)? {
                Some(vector) => return Ok(Lent::Borrowed(vector)),
                None => whole.vector(run, slice, rows)?,
            },
            Value::OfField(number, of) => match slice.field(*number)? {
                Some(vector) => of.vector(vector, run, slice, rows)?,
                None => of.whole.by_row(run, slice, rows)?,
            },
            Value::Rows(whole) => whole.by_row(run, slice, rows)?,
        }))
    }

    /// Returns the values as one side of arithmetic. A number that is the same in all rows becomes a vector of one row.
    fn operand<'s, 'a>(
        &self,
        run: Run<'_>,
        slice: &'s Slice<'a>,
        rows: &Selection,
    ) -> Result<Lent<'s, 'a>> {
        let Value::Constant(whole) = self else { return self.vector(run, slice, rows) };
        if !rows.is_empty() {
            let value = run.value(&whole.program, Row::NONE)?;
            let vector = Vector::constant(whole.repr, &value, 1);
            let is_number = match &vector.values {
                Values::Ints(_) | Values::Floats(_) => true,
                Values::Decimals(decimals) => matches!(decimals.shown, Shown::Same(_)),
                Values::Codes(..) | Values::Refs(_) | Values::Datums(_) => false,
            };
            if is_number && vector.nulls.is_empty() {
                return Ok(Lent::Owned(vector));
            }
        }
        self.vector(run, slice, rows)
    }

    /// Integers that are not kept as such, as floats.
    fn by_value<'a>(&self, vector: &Vector<'_>, rows: &Selection) -> Result<Vector<'a>> {
        let mut floats = vec![Datum::Null; vector_len(vector)];
        rows.each(|row| {
            let value = vector.with(row, |value| match value {
                DatumRef::Int2(value) => Datum::Float8(value.into()),
                DatumRef::Int4(value) => Datum::Float8(value.into()),
                DatumRef::Int8(value) => Datum::Float8(value as f64),
                _ => Datum::Null,
            });
            floats[row] = value;
        });
        Ok(Vector::of_datums(Repr::Float8, floats))
    }
}

fn vector_len(vector: &Vector<'_>) -> usize {
    match &vector.values {
        Values::Ints(all) => all.values.len(),
        Values::Decimals(all) => all.mantissas.len(),
        Values::Floats(all) => all.values.len(),
        Values::Codes(_, all) => all.len(),
        Values::Refs(all) => all.len(),
        Values::Datums(all) => all.len(),
    }
}
