//! Series: the rows of `generate_series` over numbers; and a series that has none.

use numeric::Numeric;
use types::{Datum, Error, Result, SqlState};

use crate::function::{Function, sets};
use crate::rows::Rows;

fn zero_step() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// The integers from `start` to `stop`, `step` apart; the series ends before the first that does
/// not fit.
fn integers<T>(start: T, stop: T, step: T, next: fn(T, T) -> Option<T>) -> Result<Rows>
where
    T: Copy + PartialOrd + std::default::Default + Into<Datum> + Send + 'static,
{
    let zero = T::default();
    if step == zero {
        return Err(zero_step());
    }
    let within = move |at: &T| if step > zero { *at <= stop } else { *at >= stop };
    let first = Some(start).filter(within);
    let all = std::iter::successors(first, move |at| next(*at, step).filter(within));
    Ok(Box::new(all.map(|value| Ok(value.into()))))
}

fn numerics(start: Numeric, stop: Numeric, step: Numeric) -> Result<Rows> {
    for (bound, name) in [(&start, "start value"), (&stop, "stop value"), (&step, "step size")] {
        if !bound.is_finite() {
            let what = if bound.is_nan() { "NaN" } else { "infinity" };
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{name} cannot be {what}"),
            ));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    let up = step > Numeric::ZERO;
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let at = next.take().filter(|at| if up { *at <= stop } else { *at >= stop })?;
        match at.checked_add(&step) {
            Ok(following) => next = Some(following),
            Err(error) => return Some(Err(error.into())),
        }
        Some(Ok(Datum::from(at)))
    })))
}

pub(crate) const TABLE: &[Function] = sets! {
    1066 generate_series(INT4, INT4, INT4) -> INT4 = (start: i32, stop: i32, step: i32)
        integers(start, stop, step, i32::checked_add);
    1067 generate_series(INT4, INT4) -> INT4 = (start: i32, stop: i32)
        integers(start, stop, 1, i32::checked_add);
    1068 generate_series(INT8, INT8, INT8) -> INT8 = (start: i64, stop: i64, step: i64)
        integers(start, stop, step, i64::checked_add);
    1069 generate_series(INT8, INT8) -> INT8 = (start: i64, stop: i64)
        integers(start, stop, 1, i64::checked_add);
    3259 generate_series(NUMERIC, NUMERIC, NUMERIC) -> NUMERIC =
        (start: Numeric, stop: Numeric, step: Numeric) numerics(start, stop, step);
    3260 generate_series(NUMERIC, NUMERIC) -> NUMERIC = (start: Numeric, stop: Numeric)
        numerics(start, stop, Numeric::ONE);
};
