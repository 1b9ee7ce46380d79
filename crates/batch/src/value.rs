//! Expressions over slices.
//!
//! ```text
//!   price * quantity            Arithmetic(Mul, Column 6, ToFloat(Column 7))      arrays
//!   case when kind = 'buy'      When(Condition, Column 5)                         the column, and more NULLs
//!        then amount end
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

use crate::condition::Condition;
use crate::groups::Numbers as IntNumbers;
use crate::slice::{Selection, Slice};
use crate::source::{Field, FieldForm};
use crate::vector::{
    Decimals, Floats, Ints, Lent, SCALE_MAX, Shown, Values, Vector, bound_of, power,
};

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

/// An expression that its program computes row by row.
#[derive(Clone, Debug)]
pub(crate) struct ByRow {
    pub program: Arc<Program>,
    /// The columns that it reads.
    pub columns: Vec<usize>,
    repr: Option<Repr>,
    pub is_volatile: bool,
    by_int: RefCell<ByInt>,
}

/// The values that an expression of one column has for integers of that column.
#[derive(Clone, Debug, Default)]
struct ByInt {
    numbers: IntNumbers,
    values: Vec<Datum>,
}

/// From so many integers on, the values of others are computed row by row.
const BY_INT_MAX: usize = 1 << 16;

impl ByRow {
    /// Returns true if the value is the same for all rows of an execution.
    pub fn is_constant(&self) -> bool {
        self.columns.is_empty() && !self.is_volatile
    }

    /// Returns the column, if the expression reads one and has the same value whenever that has.
    pub fn only_column(&self) -> Option<usize> {
        match self.columns[..] {
            [column] if !self.is_volatile => Some(column),
            _ => None,
        }
    }

    /// Computes the value of a row.
    pub fn value(&self, run: Run<'_>, slice: &Slice<'_>, row: usize) -> Result<Datum> {
        slice.with_row(row, &self.columns, |values| run.value(&self.program, values_of(values)))
    }

    /// Returns true if the value of a row is true.
    pub fn test(&self, run: Run<'_>, slice: &Slice<'_>, row: usize) -> Result<bool> {
        slice.with_row(row, &self.columns, |values| run.test(&self.program, values_of(values)))
    }

    /// Returns true if it is computed once for each integer of the only column that it reads; then calls `f` with each
    /// selected row and its value.
    ///
    /// # Errors
    /// The errors of the program.
    pub fn each_by_int(
        &self,
        run: Run<'_>,
        slice: &Slice<'_>,
        rows: &Selection,
        mut f: impl FnMut(usize, &Datum),
    ) -> Result<bool> {
        let Some(column) = self.only_column() else { return Ok(false) };
        let vector = slice.column(column)?;
        let mut by_int = self.by_int.borrow_mut();
        let Values::Ints(ints) = &vector.values else { return Ok(false) };
        if by_int.values.len() > BY_INT_MAX {
            return Ok(false);
        }
        let ByInt { numbers, values } = &mut *by_int;
        rows.try_each(|row| {
            if vector.is_null(row) {
                f(row, &self.value(run, slice, row)?);
                return Ok(());
            }
            let next = values.len() as u32;
            let number = numbers.get(ints.values[row], || next);
            if number == next {
                values.push(Datum::Null);
                values[number as usize] = self.value(run, slice, row)?;
            }
            f(row, &values[number as usize]);
            Ok::<_, types::Error>(())
        })?;
        Ok(true)
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        *self.by_int.borrow_mut() = ByInt::default();
    }

    /// Computes the values of the selected rows, once for each entry of a dictionary.
    fn by_row<'a>(&self, run: Run<'_>, slice: &Slice<'a>, rows: &Selection) -> Result<Vector<'a>> {
        let Some(column) = self.only_column() else { return self.vector(run, slice, rows) };
        match slice.column(column)? {
            vector if matches!(vector.values, Values::Codes(..)) => {
                by_code(self.repr, vector, rows, slice.rows(), |row| self.value(run, slice, row))
            }
            _ => self.vector(run, slice, rows),
        }
    }

    /// Computes the values of the selected rows.
    fn vector<'a>(&self, run: Run<'_>, slice: &Slice<'a>, rows: &Selection) -> Result<Vector<'a>> {
        let mut values = vec![Datum::Null; slice.rows()];
        if self.each_by_int(run, slice, rows, |row, value| values[row] = value.clone())? {
            return Ok(Vector::of_datums(self.repr.unwrap_or(Repr::Text), values));
        }
        rows.try_each(|row| {
            values[row] = self.value(run, slice, row)?;
            Ok::<_, types::Error>(())
        })?;
        Ok(match self.repr {
            Some(repr) => Vector::of_datums(repr, values),
            None => Vector::of_datums(Repr::Text, values),
        })
    }
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

fn values_of<'v>(values: &'v [DatumRef<'v>]) -> Row<'v> {
    Row::Refs(values)
}

/// The operations that are computed on arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
}

/// The numbers of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Numbers {
    Float8,
    Int4,
    Int8,
    Numeric,
}

/// Returns the operation that a function is, if it is one.
fn operation(name: &str) -> Option<(Arithmetic, Numbers)> {
    use Arithmetic::{Add, Multiply, Subtract};
    Some(match name {
        "float8pl" => (Add, Numbers::Float8),
        "float8mi" => (Subtract, Numbers::Float8),
        "float8mul" => (Multiply, Numbers::Float8),
        "int4pl" => (Add, Numbers::Int4),
        "int4mi" => (Subtract, Numbers::Int4),
        "int4mul" => (Multiply, Numbers::Int4),
        "int8pl" => (Add, Numbers::Int8),
        "int8mi" => (Subtract, Numbers::Int8),
        "int8mul" => (Multiply, Numbers::Int8),
        "numeric_add" => (Add, Numbers::Numeric),
        "numeric_sub" => (Subtract, Numbers::Numeric),
        "numeric_mul" => (Multiply, Numbers::Numeric),
        _ => return None,
    })
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Column(usize),
    /// The same for all rows of an execution.
    Constant(ByRow),
    /// An integer as a `float8`.
    ToFloat(Box<Value>),
    /// Computed on arrays; by the program where that would not be exact.
    Arithmetic(Arithmetic, Numbers, Box<[Value; 2]>, ByRow),
    /// The value where the condition is true, else NULL.
    When(Box<Condition>, Box<Value>),
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
            ExprKind::Case { operand: None, arms, otherwise } if otherwise.is_null_const() => {
                match &arms[..] {
                    [(condition, result)] => {
                        let condition = Condition::compile(condition, compiler)?;
                        let result = Value::compile(result, compiler)?;
                        Value::When(Box::new(condition), Box::new(result))
                    }
                    _ => Value::Rows(whole),
                }
            }
            _ => Value::Rows(whole),
        })
    }

    /// Returns what the value costs for a row, in the classes of conditions.
    pub fn cost(&self) -> u8 {
        match self {
            Value::Column(_) | Value::Constant(_) | Value::Field(..) => 0,
            Value::ToFloat(inner) => inner.cost(),
            Value::Arithmetic(_, _, sides, _) => sides.iter().map(Value::cost).max().unwrap_or(0),
            Value::When(..) => 1,
            Value::OfField(..) | Value::Rows(_) => 2,
        }
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        match self {
            Value::ToFloat(inner) => inner.forget(),
            Value::Arithmetic(_, _, sides, whole) => {
                sides.iter().for_each(Value::forget);
                whole.forget();
            }
            Value::When(condition, inner) => {
                condition.forget();
                inner.forget();
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
            Value::Arithmetic(how, numbers, sides, whole) => {
                let left = sides[0].vector(run, slice, rows)?;
                let right = sides[1].vector(run, slice, rows)?;
                let nulls = either_null(&left.nulls, &right.nulls);
                let values = compute(*how, *numbers, &left, &right, rows, &nulls);
                match values {
                    Some(values) => Vector { values, nulls },
                    None => whole.vector(run, slice, rows)?,
                }
            }
            Value::When(condition, inner) => {
                let mut wanted = rows.clone();
                condition.narrow(run, slice, &mut wanted)?;
                let vector = inner.vector(run, slice, &wanted)?;
                let mut nulls = vec![true; slice.rows()];
                wanted.each(|row| nulls[row] = vector.is_null(row));
                Vector { values: vector.values.clone(), nulls }
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

/// Computes an expression of one column once for each of its codes that is there; row by row if it has no codes.
fn by_code<'a>(
    repr: Option<Repr>,
    column: &Vector<'_>,
    rows: &Selection,
    count: usize,
    mut compute: impl FnMut(usize) -> Result<Datum>,
) -> Result<Vector<'a>> {
    let mut values = vec![Datum::Null; count];
    let repr = repr.unwrap_or(Repr::Text);
    let Values::Codes(words, codes) = &column.values else {
        rows.try_each(|row| {
            values[row] = compute(row)?;
            Ok::<_, types::Error>(())
        })?;
        return Ok(Vector::of_datums(repr, values));
    };
    let mut known: Vec<Option<Datum>> = vec![None; words.len() + 1];
    rows.try_each(|row| {
        let at = if column.is_null(row) { words.len() } else { codes[row] as usize };
        let value = match &known[at] {
            Some(value) => value.clone(),
            None => known[at].insert(compute(row)?).clone(),
        };
        values[row] = value;
        Ok::<_, types::Error>(())
    })?;
    Ok(Vector::of_datums(repr, values))
}

fn either_null(left: &[bool], right: &[bool]) -> Vec<bool> {
    match (left.is_empty(), right.is_empty()) {
        (_, true) => left.to_vec(),
        (true, false) => right.to_vec(),
        (false, false) => left.iter().zip(right).map(|(left, right)| *left | *right).collect(),
    }
}

/// Computes an operation on arrays; `None` if the result is not exact for every selected row.
fn compute<'a>(
    how: Arithmetic,
    numbers: Numbers,
    left: &Vector<'_>,
    right: &Vector<'_>,
    rows: &Selection,
    nulls: &[bool],
) -> Option<Values<'a>> {
    let is_present = |row: usize| !nulls.get(row).is_some_and(|is_null| *is_null);
    match (numbers, &left.values, &right.values) {
        (Numbers::Float8, Values::Floats(left), Values::Floats(right)) => {
            let (left, right) = (&left.values, &right.values);
            let values = floats(how, left, right);
            // A result that is infinite, no number or 0 can be an error.
            let mut is_plain = true;
            rows.each(|row| {
                let value = values[row];
                let may_be_zero =
                    how != Arithmetic::Multiply || left[row] == 0.0 || right[row] == 0.0;
                let is_fine = value.is_finite() && (value != 0.0 || may_be_zero);
                is_plain &= is_fine | !is_present(row);
            });
            is_plain.then(|| Values::Floats(Floats::of(values)))
        }
        (Numbers::Int4 | Numbers::Int8, Values::Ints(left), Values::Ints(right)) => {
            let repr = if numbers == Numbers::Int4 { Repr::Int4 } else { Repr::Int8 };
            let (values, bound) = ints(how, &left.values, &right.values, left.bound, right.bound)?;
            let fits = numbers == Numbers::Int8 || bound <= i32::MAX as u64;
            fits.then_some(Values::Ints(Ints { repr, values, bound }))
        }
        (Numbers::Numeric, Values::Decimals(left), Values::Decimals(right)) => {
            decimals(how, left, right).map(Values::Decimals)
        }
        _ => None,
    }
}

fn floats(how: Arithmetic, left: &[f64], right: &[f64]) -> Vec<f64> {
    let pairs = left.iter().zip(right);
    match how {
        Arithmetic::Add => pairs.map(|(left, right)| left + right).collect(),
        Arithmetic::Subtract => pairs.map(|(left, right)| left - right).collect(),
        Arithmetic::Multiply => pairs.map(|(left, right)| left * right).collect(),
    }
}

/// Computes with integers whose bounds say that no result has more than 63 bits. Returns the results and their bound.
fn ints(
    how: Arithmetic,
    left: &[i64],
    right: &[i64],
    left_bound: u64,
    right_bound: u64,
) -> Option<(Vec<i64>, u64)> {
    /// A bound up to this is good enough, without a look at the results: many of them can still be added.
    const BOUND_SMALL: u64 = i32::MAX as u64;
    let most = match how {
        Arithmetic::Add | Arithmetic::Subtract => left_bound.checked_add(right_bound)?,
        Arithmetic::Multiply => left_bound.checked_mul(right_bound)?,
    };
    i64::try_from(most).ok()?;
    let pairs = left.iter().zip(right);
    let values: Vec<i64> = match how {
        Arithmetic::Add => pairs.map(|(left, right)| left.wrapping_add(*right)).collect(),
        Arithmetic::Subtract => pairs.map(|(left, right)| left.wrapping_sub(*right)).collect(),
        Arithmetic::Multiply => pairs.map(|(left, right)| left.wrapping_mul(*right)).collect(),
    };
    let bound = if most <= BOUND_SMALL { most } else { bound_of(&values) };
    Some((values, bound))
}

fn decimals(how: Arithmetic, left: &Decimals, right: &Decimals) -> Option<Decimals> {
    let (scale, shown, values, bound);
    if how == Arithmetic::Multiply {
        scale = left.scale + right.scale;
        shown = each_shown(left, right, |left, right| left + right);
        (values, bound) = ints(how, &left.mantissas, &right.mantissas, left.bound, right.bound)?;
    } else {
        scale = left.scale.max(right.scale);
        shown = each_shown(left, right, u8::max);
        let (left, left_bound) = rescaled(left, scale)?;
        let (right, right_bound) = rescaled(right, scale)?;
        (values, bound) = ints(how, &left, &right, left_bound, right_bound)?;
    }
    if scale > SCALE_MAX {
        return None;
    }
    Some(Decimals { scale, mantissas: values, shown, bound })
}

/// Returns the mantissas of numbers at a larger scale, and their bound.
pub(crate) fn rescaled(
    numbers: &Decimals,
    scale: u32,
) -> Option<(std::borrow::Cow<'_, [i64]>, u64)> {
    if numbers.scale == scale {
        return Some((numbers.mantissas.as_slice().into(), numbers.bound));
    }
    let factor = power(scale - numbers.scale);
    let bound = numbers.bound.checked_mul(factor as u64).filter(|b| i64::try_from(*b).is_ok())?;
    let all: Vec<i64> = numbers.mantissas.iter().map(|one| one.wrapping_mul(factor)).collect();
    Some((all.into(), bound))
}

fn each_shown(left: &Decimals, right: &Decimals, combine: fn(u8, u8) -> u8) -> Shown {
    match (&left.shown, &right.shown) {
        (Shown::Same(left), Shown::Same(right)) => Shown::Same(combine(*left, *right)),
        (left_shown, right_shown) => {
            let each = |row| combine(left_shown.get(row), right_shown.get(row));
            Shown::Each((0..left.mantissas.len()).map(each).collect())
        }
    }
}
