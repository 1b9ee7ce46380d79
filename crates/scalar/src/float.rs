//! Floating point: arithmetic that reports the errors that IEEE 754 would hide, roots, powers and
//! logarithms.
//!
//! A result that is infinite though no operand is, or zero though it should not be, is an error; so
//! is a division by zero. NaN and infinities of the operands go through.

use types::Result;
use types::float::{add4, add8, div4, div8, mul4, mul8, overflow, sub4, sub8, underflow};

use crate::function::{Function, functions};
use crate::integer::Integer;

/// A result that may be infinite only where an operand was.
fn checked(result: f64, infinite: bool) -> Result<f64> {
    if result.is_infinite() && !infinite { Err(overflow()) } else { Ok(result) }
}

/// A double as a single.
fn narrow(a: f64) -> Result<f32> {
    let single = a as f32;
    if single.is_infinite() && a.is_finite() {
        Err(overflow())
    } else if single == 0.0 && a != 0.0 {
        Err(underflow())
    } else {
        Ok(single)
    }
}

/// The nearest integer, halves to the even one; `None` for what is far from every integer type.
fn to_integer(a: f64) -> Option<i128> {
    let rounded = a.round_ties_even();
    (rounded.abs() < 1e30).then_some(rounded as i128)
}

fn sqrt(a: f64) -> Result<f64> {
    if a < 0.0 { Err(numeric::NumericError::RootOfNegative.into()) } else { Ok(a.sqrt()) }
}

fn exp(a: f64) -> Result<f64> {
    let result = a.exp();
    if result == 0.0 && a.is_finite() { Err(underflow()) } else { checked(result, a.is_infinite()) }
}

fn logarithm(a: f64, logarithm: fn(f64) -> f64) -> Result<f64> {
    if a == 0.0 {
        Err(numeric::NumericError::LogarithmOfZero.into())
    } else if a < 0.0 {
        Err(numeric::NumericError::LogarithmOfNegative.into())
    } else {
        Ok(logarithm(a))
    }
}

fn power(a: f64, b: f64) -> Result<f64> {
    if a == 0.0 && b < 0.0 {
        return Err(numeric::NumericError::ZeroToNegativePower.into());
    }
    if a < 0.0 && b.is_finite() && b.fract() != 0.0 {
        return Err(numeric::NumericError::NegativeToFractionalPower.into());
    }
    let result = a.powf(b);
    if result == 0.0 && a != 0.0 && a.is_finite() && b.is_finite() {
        return Err(underflow());
    }
    checked(result, a.is_infinite() || b.is_infinite())
}

fn width_bucket(x: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    use numeric::NumericError::WidthBucket;
    if count <= 0 {
        return Err(WidthBucket("count must be greater than zero").into());
    }
    if x.is_nan() || low.is_nan() || high.is_nan() {
        let message = "operand, lower bound, and upper bound cannot be NaN";
        return Err(WidthBucket(message).into());
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(WidthBucket("lower and upper bounds must be finite").into());
    }
    if low == high {
        return Err(WidthBucket("lower bound cannot equal upper bound").into());
    }
    // A range that runs downwards is mirrored.
    let (x, low, high) = if low < high { (x, low, high) } else { (-x, -low, -high) };
    if x < low {
        return Ok(0);
    }
    if x >= high {
        return count.checked_add(1).ok_or_else(i32::out_of_range);
    }
    // Halved, the width of the range cannot overflow.
    let width = high / 2.0 - low / 2.0;
    let bucket = (f64::from(count) * ((x / 2.0 - low / 2.0) / width)) as i32;
    Ok(bucket.min(count - 1) + 1)
}

pub(crate) const TABLE: &[Function] = functions! {
    204 float4pl(FLOAT4, FLOAT4) -> FLOAT4 = (a: f32, b: f32) add4(a, b);
    205 float4mi(FLOAT4, FLOAT4) -> FLOAT4 = (a: f32, b: f32) sub4(a, b);
    202 float4mul(FLOAT4, FLOAT4) -> FLOAT4 = (a: f32, b: f32) mul4(a, b);
    203 float4div(FLOAT4, FLOAT4) -> FLOAT4 = (a: f32, b: f32) div4(a, b);
    218 float8pl(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) add8(a, b);
    219 float8mi(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) sub8(a, b);
    216 float8mul(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) mul8(a, b);
    217 float8div(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) div8(a, b);
    281 float48pl(FLOAT4, FLOAT8) -> FLOAT8 = (a: f32, b: f64) add8(a.into(), b);
    282 float48mi(FLOAT4, FLOAT8) -> FLOAT8 = (a: f32, b: f64) sub8(a.into(), b);
    279 float48mul(FLOAT4, FLOAT8) -> FLOAT8 = (a: f32, b: f64) mul8(a.into(), b);
    280 float48div(FLOAT4, FLOAT8) -> FLOAT8 = (a: f32, b: f64) div8(a.into(), b);
    285 float84pl(FLOAT8, FLOAT4) -> FLOAT8 = (a: f64, b: f32) add8(a, b.into());
    286 float84mi(FLOAT8, FLOAT4) -> FLOAT8 = (a: f64, b: f32) sub8(a, b.into());
    283 float84mul(FLOAT8, FLOAT4) -> FLOAT8 = (a: f64, b: f32) mul8(a, b.into());
    284 float84div(FLOAT8, FLOAT4) -> FLOAT8 = (a: f64, b: f32) div8(a, b.into());
    206 float4um(FLOAT4) -> FLOAT4 = (a: f32) -a;
    1913 float4up(FLOAT4) -> FLOAT4 = (a: f32) a;
    207 float4abs(FLOAT4) -> FLOAT4 = (a: f32) a.abs();
    1394 abs(FLOAT4) -> FLOAT4 = (a: f32) a.abs();
    220 float8um(FLOAT8) -> FLOAT8 = (a: f64) -a;
    1914 float8up(FLOAT8) -> FLOAT8 = (a: f64) a;
    221 float8abs(FLOAT8) -> FLOAT8 = (a: f64) a.abs();
    1395 abs(FLOAT8) -> FLOAT8 = (a: f64) a.abs();

    236 float4(INT2) -> FLOAT4 = (a: i16) a as f32;
    318 float4(INT4) -> FLOAT4 = (a: i32) a as f32;
    652 float4(INT8) -> FLOAT4 = (a: i64) a as f32;
    235 float8(INT2) -> FLOAT8 = (a: i16) a as f64;
    316 float8(INT4) -> FLOAT8 = (a: i32) a as f64;
    482 float8(INT8) -> FLOAT8 = (a: i64) a as f64;
    311 float8(FLOAT4) -> FLOAT8 = (a: f32) f64::from(a);
    312 float4(FLOAT8) -> FLOAT4 = (a: f64) narrow(a);
    238 int2(FLOAT4) -> INT2 = (a: f32) to_integer(a.into()).and_then(|a| i16::try_from(a).ok()).ok_or_else(i16::out_of_range);
    319 int4(FLOAT4) -> INT4 = (a: f32) to_integer(a.into()).and_then(|a| i32::try_from(a).ok()).ok_or_else(i32::out_of_range);
    653 int8(FLOAT4) -> INT8 = (a: f32) to_integer(a.into()).and_then(|a| i64::try_from(a).ok()).ok_or_else(i64::out_of_range);
    237 int2(FLOAT8) -> INT2 = (a: f64) to_integer(a).and_then(|a| i16::try_from(a).ok()).ok_or_else(i16::out_of_range);
    317 int4(FLOAT8) -> INT4 = (a: f64) to_integer(a).and_then(|a| i32::try_from(a).ok()).ok_or_else(i32::out_of_range);
    483 int8(FLOAT8) -> INT8 = (a: f64) to_integer(a).and_then(|a| i64::try_from(a).ok()).ok_or_else(i64::out_of_range);

    1342 round(FLOAT8) -> FLOAT8 = (a: f64) a.round_ties_even();
    1343 trunc(FLOAT8) -> FLOAT8 = (a: f64) a.trunc();
    2308 ceil(FLOAT8) -> FLOAT8 = (a: f64) a.ceil();
    2320 ceiling(FLOAT8) -> FLOAT8 = (a: f64) a.ceil();
    2309 floor(FLOAT8) -> FLOAT8 = (a: f64) a.floor();
    2310 sign(FLOAT8) -> FLOAT8 = (a: f64) if a == 0.0 || a.is_nan() { 0.0 } else { a.signum() };
    1344 sqrt(FLOAT8) -> FLOAT8 = (a: f64) sqrt(a);
    230 dsqrt(FLOAT8) -> FLOAT8 = (a: f64) sqrt(a);
    1345 cbrt(FLOAT8) -> FLOAT8 = (a: f64) a.cbrt();
    231 dcbrt(FLOAT8) -> FLOAT8 = (a: f64) a.cbrt();
    1347 exp(FLOAT8) -> FLOAT8 = (a: f64) exp(a);
    1341 ln(FLOAT8) -> FLOAT8 = (a: f64) logarithm(a, f64::ln);
    1340 log(FLOAT8) -> FLOAT8 = (a: f64) logarithm(a, f64::log10);
    1194 log10(FLOAT8) -> FLOAT8 = (a: f64) logarithm(a, f64::log10);
    1608 degrees(FLOAT8) -> FLOAT8 = (a: f64) checked(a.to_degrees(), a.is_infinite());
    1609 radians(FLOAT8) -> FLOAT8 = (a: f64) a.to_radians();
    6219 erf(FLOAT8) -> FLOAT8 = (a: f64) libm::erf(a);
    6220 erfc(FLOAT8) -> FLOAT8 = (a: f64) libm::erfc(a);
    1610 pi() -> FLOAT8 = () std::f64::consts::PI;
    1346 pow(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) power(a, b);
    1368 power(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) power(a, b);
    232 dpow(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) power(a, b);
    320 width_bucket(FLOAT8, FLOAT8, FLOAT8, INT4) -> INT4 = (x: f64, low: f64, high: f64, count: i32) width_bucket(x, low, high, count);
};
