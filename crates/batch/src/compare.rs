//! [`Compare`]: comparisons on arrays with a value, or with another column.

use std::ops::RangeInclusive;

use scalar::{Comparison, registry};
use sql::eval::Row;
use sql::plan::{Expr, ExprKind};
use stripe::{Bounds, Zone};
use types::time::{DAY_US, Date, Timestamp};
use types::{Datum, DatumRef, Repr, Result};

use crate::by_row::ByRow;
use crate::condition::Known;
use crate::slice::{Marks, Number, Selection, Slice};
use crate::value::{Compiler, Run, Value};
use crate::vector::{SCALE_MAX, Values, Vector, int_of, is_int, power};

#[derive(Clone, Debug)]
pub(crate) struct Compare {
    pub value: Value,
    pub how: Comparison,
    pub with: ByRow,
    pub whole: ByRow,
}

/// Turns a comparison around: `a < b` says of `b` and `a` what `b > a` says.
fn flipped(how: Comparison) -> Comparison {
    match how {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Returns true if the values that a comparison is about are kept as numbers.
pub(crate) fn compare_is_native(expr: &Expr, compiler: &Compiler<'_>) -> bool {
    let is_number = |part: &Expr| {
        let repr = compiler.repr(part.ty);
        repr.is_some_and(|repr| {
            is_int(repr) || matches!(repr, Repr::Numeric | Repr::Float4 | Repr::Float8)
        })
    };
    match &expr.kind {
        ExprKind::Call(call) => call.args.iter().all(is_number),
        _ => is_number(expr),
    }
}

/// Takes a comparison of a value with one that is the same for all rows apart; a truth value is compared with true.
pub(crate) fn compare(
    expr: &Expr,
    compiler: &mut Compiler<'_>,
) -> Result<Option<(Value, Comparison, ByRow)>> {
    let truth = |value: bool| Expr::bool(value);
    match &expr.kind {
        ExprKind::Column { .. } => {
            let value = Value::compile(expr, compiler)?;
            return Ok(Some((value, Comparison::Equal, compiler.by_row(&truth(true))?)));
        }
        ExprKind::Not(inner) if matches!(inner.kind, ExprKind::Column { .. }) => {
            let value = Value::compile(inner, compiler)?;
            return Ok(Some((value, Comparison::Equal, compiler.by_row(&truth(false))?)));
        }
        _ => {}
    }
    let ExprKind::Call(call) = &expr.kind else { return Ok(None) };
    let how = registry::function(call.function).and_then(Comparison::of);
    let (Some(how), [left, right]) = (how, &call.args[..]) else { return Ok(None) };
    for (value, with, how) in [(left, right, how), (right, left, flipped(how))] {
        let with = compiler.by_row(with)?;
        if with.is_constant() {
            return Ok(Some((Value::compile(value, compiler)?, how, with)));
        }
    }
    Ok(None)
}

/// A constant as the numbers that it is compared with.
enum Target {
    Int(i64),
    Float(f64),
}

/// Returns a comparison of dates with a moment as one with a date: a day begins before a moment within it.
fn with_date(how: Comparison, with: Datum, repr: Repr) -> (Comparison, Datum) {
    let Datum::Timestamp(moment @ Timestamp(us)) = with else { return (how, with) };
    let is_finite = moment != Timestamp::INFINITY && moment != Timestamp::NEG_INFINITY;
    let day = i32::try_from(us.div_euclid(DAY_US)).ok().filter(|_| is_finite && repr == Repr::Date);
    let of_day = match how {
        how if us.rem_euclid(DAY_US) == 0 => Some(how),
        Comparison::Less | Comparison::LessOrEqual => Some(Comparison::LessOrEqual),
        Comparison::Greater | Comparison::GreaterOrEqual => Some(Comparison::Greater),
        Comparison::Equal | Comparison::NotEqual => None,
    };
    match (of_day, day) {
        (Some(how), Some(day)) => (how, Datum::Date(Date(day))),
        _ => (how, with),
    }
}

impl Compare {
    /// Sets the marks of rows to 0 for which the comparison is not true. Returns false, and sets none, if the numbers of a
    /// column are not compared as they are packed.
    pub fn unmark(&self, run: Run<'_>, slice: &Slice<'_>, marks: &mut Marks) -> Result<bool> {
        let Value::Column(at) = self.value else { return Ok(false) };
        slice.unmark(at, marks, |number| {
            // An error is one only if a row needs the value.
            let with = run.value(&self.with.program, Row::NONE).ok()?;
            let (how, with) = match number {
                Number::Int(repr) => with_date(self.how, with, repr),
                Number::Decimal(_) => (self.how, with),
            };
            let (how, with) = number.target(how, with.as_ref())?;
            range(how, with)
        })
    }

    pub fn narrow(&self, run: Run<'_>, slice: &Slice<'_>, rows: &mut Selection) -> Result<()> {
        let with = run.value(&self.with.program, Row::NONE)?;
        if with.is_null() {
            *rows = Selection::Some(Vec::new());
            return Ok(());
        }
        let vector = self.value.vector(run, slice, rows)?;
        let (how, with) = match &vector.values {
            Values::Ints(all) => with_date(self.how, with, all.repr),
            _ => (self.how, with),
        };
        if !keep_numbers(&vector, how, with.as_ref(), rows) {
            return rows.try_retain(|row| self.whole.test(run, slice, row));
        }
        if !vector.nulls.is_empty() {
            rows.retain_by(&vector.nulls, |is_null| !is_null);
        }
        Ok(())
    }

    pub fn known<'z>(
        &self,
        run: Run<'_>,
        zone: &dyn Fn(usize) -> Option<(&'z Zone, Repr)>,
    ) -> Known {
        let Value::Column(column) = self.value else { return Known::Open };
        let Some((zone, repr)) = zone(column) else { return Known::Open };
        // An error is one only if a row needs the value.
        let Ok(with) = run.value(&self.with.program, Row::NONE) else { return Known::Open };
        if with.is_null() || zone.nulls == zone.count {
            return Known::Never;
        }
        let Bounds::Ints(min, max) = zone.bounds else { return Known::Open };
        let (how, with) = with_date(self.how, with, repr);
        // The mantissas of decimals have a scale that the zone does not tell.
        if !is_int(repr) || with.repr() != Some(repr) {
            return Known::Open;
        }
        let Some(with) = int_of(with.as_ref()) else { return Known::Open };
        let (all, none) = match how {
            Comparison::Equal => (min == with && max == with, with < min || with > max),
            Comparison::NotEqual => (with < min || with > max, min == with && max == with),
            Comparison::Less => (max < with, min >= with),
            Comparison::LessOrEqual => (max <= with, min > with),
            Comparison::Greater => (min > with, max <= with),
            Comparison::GreaterOrEqual => (min >= with, max < with),
        };
        match (all && zone.nulls == 0, none) {
            (true, _) => Known::Always,
            (_, true) => Known::Never,
            _ => Known::Open,
        }
    }
}

/// Returns the integers that stand so to one; `None` if they are in no range, or if there are none.
fn range(how: Comparison, with: i64) -> Option<RangeInclusive<i64>> {
    Some(match how {
        Comparison::Equal => with..=with,
        Comparison::NotEqual => return None,
        Comparison::Less => i64::MIN..=with.checked_sub(1)?,
        Comparison::LessOrEqual => i64::MIN..=with,
        Comparison::Greater => with.checked_add(1)?..=i64::MAX,
        Comparison::GreaterOrEqual => with..=i64::MAX,
    })
}

impl Number {
    /// Turns a comparison of such numbers with a value into one of their integers with an integer, which is true for the
    /// same numbers. `None` if there is none.
    fn target(self, how: Comparison, with: DatumRef<'_>) -> Option<(Comparison, i64)> {
        match self {
            Number::Int(of) => {
                let is_number = |repr| matches!(repr, Repr::Int2 | Repr::Int4 | Repr::Int8);
                let repr = with.repr()?;
                let is_alike = repr == of || (is_number(repr) && is_number(of));
                Some((how, is_alike.then(|| int_of(with))??))
            }
            Number::Decimal(scale) => {
                let DatumRef::Numeric(number) = with else { return None };
                let (mantissa, digits) = number.get().as_small()?;
                let factor = |digits: u32| (digits <= SCALE_MAX).then(|| i128::from(power(digits)));
                if let Some(missing) = scale.checked_sub(digits) {
                    let whole = mantissa.checked_mul(factor(missing)?)?;
                    return Some((how, i64::try_from(whole).ok()?));
                }
                // The value has more digits than the numbers: it lies between two of them, or is equal to the lower one.
                let factor = factor(digits - scale)?;
                let lower = i64::try_from(mantissa.div_euclid(factor)).ok()?;
                let how = match how {
                    how if mantissa.rem_euclid(factor) == 0 => how,
                    Comparison::Less | Comparison::LessOrEqual => Comparison::LessOrEqual,
                    Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
                    Comparison::Equal | Comparison::NotEqual => return None,
                };
                Some((how, lower))
            }
        }
    }
}

/// Turns a comparison of the values of a vector with a value into one with a number, which is true for the same values.
/// `None` if there is none.
fn target(
    vector: &Vector<'_>,
    how: Comparison,
    with: DatumRef<'_>,
) -> Option<(Comparison, Target)> {
    let of_ints =
        |number: Number| number.target(how, with).map(|(how, with)| (how, Target::Int(with)));
    match &vector.values {
        Values::Ints(all) => of_ints(Number::Int(all.repr)),
        Values::Decimals(all) => of_ints(Number::Decimal(all.scale)),
        Values::Floats(..) => match with {
            DatumRef::Float4(with) => Some(f64::from(with)),
            DatumRef::Float8(with) => Some(with),
            _ => None,
        }
        .filter(|with| !with.is_nan())
        .map(|with| (how, Target::Float(with))),
        _ => None,
    }
}

/// Keeps the rows whose numbers stand so to a value, NULLs looked at like any; false, and all rows are left, if they
/// cannot be compared as numbers.
pub(crate) fn keep_numbers(
    vector: &Vector<'_>,
    how: Comparison,
    with: DatumRef<'_>,
    rows: &mut Selection,
) -> bool {
    match (&vector.values, target(vector, how, with)) {
        (Values::Ints(all), Some((how, Target::Int(with)))) => {
            keep_ints(how, &all.values, with, rows);
        }
        (Values::Decimals(all), Some((how, Target::Int(with)))) => {
            keep_ints(how, &all.mantissas, with, rows);
        }
        (Values::Floats(all), Some((how, Target::Float(with)))) => {
            keep_floats(how, &all.values, with, rows);
        }
        _ => return false,
    }
    true
}

fn keep_ints(how: Comparison, values: &[i64], with: i64, rows: &mut Selection) {
    match how {
        Comparison::Equal => rows.retain_by(values, |value| value == with),
        Comparison::NotEqual => rows.retain_by(values, |value| value != with),
        Comparison::Less => rows.retain_by(values, |value| value < with),
        Comparison::LessOrEqual => rows.retain_by(values, |value| value <= with),
        Comparison::Greater => rows.retain_by(values, |value| value > with),
        Comparison::GreaterOrEqual => rows.retain_by(values, |value| value >= with),
    }
}

pub(crate) fn keep_pairs(how: Comparison, left: &[i64], right: &[i64], rows: &mut Selection) {
    match how {
        Comparison::Equal => rows.retain(|row| left[row] == right[row]),
        Comparison::NotEqual => rows.retain(|row| left[row] != right[row]),
        Comparison::Less => rows.retain(|row| left[row] < right[row]),
        Comparison::LessOrEqual => rows.retain(|row| left[row] <= right[row]),
        Comparison::Greater => rows.retain(|row| left[row] > right[row]),
        Comparison::GreaterOrEqual => rows.retain(|row| left[row] >= right[row]),
    }
}

/// Compares as PostgreSQL does: NaN, which `with` is not, is above all other numbers.
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is greater than every number")]
fn keep_floats(how: Comparison, values: &[f64], with: f64, rows: &mut Selection) {
    match how {
        Comparison::Equal => rows.retain_by(values, |value| value == with),
        Comparison::NotEqual => rows.retain_by(values, |value| value != with),
        Comparison::Less => rows.retain_by(values, |value| value < with),
        Comparison::LessOrEqual => rows.retain_by(values, |value| value <= with),
        Comparison::Greater => rows.retain_by(values, |value| !(value <= with)),
        Comparison::GreaterOrEqual => rows.retain_by(values, |value| !(value < with)),
    }
}

#[cfg(test)]
mod tests {
    use numeric::Numeric;

    use super::*;
    use crate::vector::{Decimals, Shown};

    /// A comparison of decimals with a value of more digits keeps the same rows as the comparison of their numbers.
    #[test]
    fn decimals_are_compared_with_values_of_more_digits() {
        let mantissas: Vec<i64> = (-130..=130).collect();
        let decimals =
            Decimals { scale: 2, mantissas: mantissas.clone(), shown: Shown::Same(2), bound: 130 };
        let vector = Vector { values: Values::Decimals(decimals), nulls: Vec::new() };
        let mut compared = 0;
        for with in
            ["1.25", "1.2", "1", "-1.250", "1.255", "-1.2550001", "0.0000001", "7.77", "-3.001"]
        {
            let with: Numeric = with.parse().expect("a number");
            let value = Datum::from(with.clone());
            for how in [
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ] {
                let mut rows = Selection::All(mantissas.len());
                if !keep_numbers(&vector, how, value.as_ref(), &mut rows) {
                    continue;
                }
                compared += 1;
                for (row, mantissa) in mantissas.iter().enumerate() {
                    let number = Numeric::new(i128::from(*mantissa), 2).expect("a decimal");
                    let expected = match how {
                        Comparison::Equal => number == with,
                        Comparison::NotEqual => number != with,
                        Comparison::Less => number < with,
                        Comparison::LessOrEqual => number <= with,
                        Comparison::Greater => number > with,
                        Comparison::GreaterOrEqual => number >= with,
                    };
                    let mut is_kept = false;
                    rows.each(|kept| is_kept |= kept == row);
                    assert_eq!(is_kept, expected, "{number} {how:?} {with}");
                }
            }
        }
        // Equality with a value of more digits is left to the program.
        assert_eq!(compared, 9 * 6 - 4 * 2);
    }
}
