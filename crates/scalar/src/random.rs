//! Random numbers, from the source that the context gives.

use numeric::Numeric;
use types::{Array, ArrayRef, Dimension, Error, Result, SqlState};

use crate::function::{Call, Default, Function, functions, internal};

/// A uniform number from 0, inclusive, to 1, exclusive.
fn uniform(call: &Call<'_>) -> f64 {
    (call.context.random.bits() >> 12) as f64 / (1_u64 << 52) as f64
}

/// A uniform integer of a range with both of its ends.
fn between(call: &Call<'_>, low: i128, high: i128) -> Result<i128> {
    if low > high {
        return Err(order());
    }
    let width = (high - low) as u128;
    let bits = width.checked_ilog2().map_or(0, |bits| bits + 1);
    // A number beyond the range is drawn again, so that all values are as likely.
    loop {
        let mut draw = 0;
        for _ in 0..bits.div_ceil(64) {
            draw = draw << 64 | u128::from(call.context.random.bits());
        }
        let draw = if bits == 0 { 0 } else { draw & (u128::MAX >> (128 - bits)) };
        if draw <= width {
            return Ok(low + draw as i128);
        }
    }
}

fn order() -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "lower bound must be less than or equal to upper bound",
    )
}

/// A uniform number of a range, with the larger scale of its ends.
fn between_numeric(call: &Call<'_>, low: &Numeric, high: &Numeric) -> Result<Numeric> {
    for (bound, name) in [(low, "lower"), (high, "upper")] {
        if !bound.is_finite() {
            let what = if bound.is_nan() { "NaN" } else { "infinity" };
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{name} bound cannot be {what}"),
            ));
        }
    }
    if low > high {
        return Err(order());
    }
    let scale = low.scale().max(high.scale()).unwrap_or(0);
    let unit = |value: &Numeric| {
        let (mantissa, _) = value.round(scale as i32).ok()?.as_small()?;
        Some(mantissa)
    };
    match (unit(low), unit(high)) {
        (Some(low), Some(high)) if high.checked_sub(low).is_some() => {
            Ok(Numeric::new(between(call, low, high)?, scale)?)
        }
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "random numbers of more than 38 digits are not supported",
        )),
    }
}

/// A number of the normal distribution, by the method of Box and Muller.
fn normal(call: &Call<'_>, mean: f64, deviation: f64) -> f64 {
    let (radius, angle) = (1.0 - uniform(call), uniform(call));
    let z = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).sin();
    mean + deviation * z
}

fn seed(call: &Call<'_>, seed: f64) -> Result<String> {
    if !(-1.0..=1.0).contains(&seed) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("setseed parameter {seed} is out of allowed range [-1,1]"),
        ));
    }
    call.context.random.seed(seed);
    // The value of type void.
    Ok(String::new())
}

/// A random UUID of version 4.
pub(crate) fn uuid(call: &Call<'_>) -> [u8; 16] {
    let mut uuid = call.context.random.secret();
    uuid[6] = uuid[6] & 0x0F | 0x40;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    uuid
}

fn narrow<T: TryFrom<i128>>(value: i128) -> Result<T> {
    value.try_into().map_err(|_| internal("a random number left its range"))
}

/// An array with so many of the values of its first dimension, each at most once, in random order.
fn drawn(
    call: &Call<'_>,
    array: ArrayRef<'_>,
    count: i32,
    mut dimensions: Vec<Dimension>,
) -> Result<Array> {
    let Some(outer) = dimensions.first_mut() else { return Ok(array.to_owned()) };
    let length = outer.length;
    outer.length = count;
    let items: Vec<_> = array.iter().collect();
    let each = items.len() / length.max(1) as usize;
    let mut places: Vec<usize> = (0..length as usize).collect();
    for at in 0..count as usize {
        let other = between(call, at as i128, i128::from(length) - 1)? as usize;
        places.swap(at, other);
    }
    let kept = places.iter().take(count as usize);
    let elements = kept.flat_map(|place| items[place * each..][..each].iter().copied());
    Array::new(array.element_type(), array.element_repr(), &dimensions, elements)
}

fn shuffle(call: &Call<'_>, array: ArrayRef<'_>) -> Result<Array> {
    let dimensions = array.dimensions();
    let length = dimensions.first().map_or(0, |outer| outer.length);
    drawn(call, array, length, dimensions)
}

fn sample(call: &Call<'_>, array: ArrayRef<'_>, count: i32) -> Result<Array> {
    let mut dimensions = array.dimensions();
    let length = dimensions.first().map_or(0, |outer| outer.length);
    if !(0..=length).contains(&count) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("sample size must be between 0 and {length}"),
        ));
    }
    if let Some(outer) = dimensions.first_mut() {
        outer.lower = 1;
    }
    drawn(call, array, count, dimensions)
}

pub(crate) const TABLE: &[Function] = functions! {
    6215 array_shuffle(ANYARRAY) -> ANYARRAY [volatile] = (call; array: ArrayRef<'_>)
        shuffle(call, array);
    6216 array_sample(ANYARRAY, INT4) -> ANYARRAY [volatile] =
        (call; array: ArrayRef<'_>, count: i32) sample(call, array, count);
    1598 random() -> FLOAT8 [volatile] = (call;) uniform(call);
    6339 random(INT4, INT4) -> INT4 [volatile] = (call; low: i32, high: i32)
        between(call, low.into(), high.into()).and_then(narrow::<i32>);
    6340 random(INT8, INT8) -> INT8 [volatile] = (call; low: i64, high: i64)
        between(call, low.into(), high.into()).and_then(narrow::<i64>);
    6341 random(NUMERIC, NUMERIC) -> NUMERIC [volatile] = (call; low: Numeric, high: Numeric)
        between_numeric(call, &low, &high);
    6212 random_normal(FLOAT8, FLOAT8) -> FLOAT8
        [volatile, defaults = &[Default::Float(0.0), Default::Float(1.0)]] =
        (call; mean: f64, deviation: f64) normal(call, mean, deviation);
    1599 setseed(FLOAT8) -> VOID [volatile] = (call; value: f64) seed(call, value);
    3432 gen_random_uuid() -> UUID [volatile] = (call;) uuid(call);
};
