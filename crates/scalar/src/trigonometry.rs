//! Trigonometry, in radians and in degrees.
//!
//! The functions in degrees give exact results where there are any: `sind(30)` is 0.5. They are
//! computed within 0 to 90 degrees and scaled so that the values at 30, 45 and 60 degrees come out
//! right.

use types::{Error, Result, SqlState};

use crate::function::{Function, functions};

/// The value of a function, where its argument is not outside of what it takes; NaN never is.
fn within(a: f64, outside: bool, function: fn(f64) -> f64) -> Result<f64> {
    if !outside {
        return Ok(function(a));
    }
    Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range"))
}

/// Sine of 0 to 90 degrees.
fn sine(a: f64) -> f64 {
    if a <= 30.0 {
        a.to_radians().sin() / 30f64.to_radians().sin() / 2.0
    } else {
        cosine_below_60(90.0 - a)
    }
}

/// Cosine of 0 to 90 degrees.
fn cosine(a: f64) -> f64 {
    if a <= 60.0 { cosine_below_60(a) } else { sine(90.0 - a) }
}

fn cosine_below_60(a: f64) -> f64 {
    let distance = |a: f64| 1.0 - a.to_radians().cos();
    1.0 - distance(a) / distance(60.0) / 2.0
}

/// The angle within 0 to 90 degrees, and the signs of sine and cosine there.
fn quadrant(a: f64) -> (f64, f64, f64) {
    let (mut a, mut sine, mut cosine) = (a % 360.0, 1.0, 1.0);
    if a < 0.0 {
        (a, sine) = (-a, -sine);
    }
    if a > 180.0 {
        (a, sine) = (360.0 - a, -sine);
    }
    if a > 90.0 {
        (a, cosine) = (180.0 - a, -cosine);
    }
    (a, sine, cosine)
}

fn sind(a: f64) -> f64 {
    let (a, sign, _) = quadrant(a);
    sign * sine(a)
}

fn cosd(a: f64) -> f64 {
    let (a, _, sign) = quadrant(a);
    sign * cosine(a)
}

fn tand(a: f64) -> f64 {
    let (a, s, c) = quadrant(a);
    let tangent = s * c * (sine(a) / cosine(a)) / (sine(45.0) / cosine(45.0));
    // Zero has no sign here.
    if tangent == 0.0 { 0.0 } else { tangent }
}

fn cotd(a: f64) -> f64 {
    let (a, s, c) = quadrant(a);
    let cotangent = s * c * (cosine(a) / sine(a)) / (cosine(45.0) / sine(45.0));
    if cotangent == 0.0 { 0.0 } else { cotangent }
}

/// Arc sine of 0 to 1.
fn arc_sine(a: f64) -> f64 {
    if a <= 0.5 { a.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - a.acos() / 0.5f64.acos() * 60.0 }
}

/// Arc cosine of 0 to 1.
fn arc_cosine(a: f64) -> f64 {
    if a <= 0.5 { 90.0 - a.asin() / 0.5f64.asin() * 30.0 } else { a.acos() / 0.5f64.acos() * 60.0 }
}

fn asind(a: f64) -> f64 {
    if a >= 0.0 { arc_sine(a) } else { -arc_sine(-a) }
}

fn acosd(a: f64) -> f64 {
    if a >= 0.0 { arc_cosine(a) } else { 90.0 + arc_sine(-a) }
}

fn atand(a: f64) -> f64 {
    a.atan() / 1f64.atan() * 45.0
}

pub(crate) const TABLE: &[Function] = functions! {
    1604 sin(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), f64::sin);
    1605 cos(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), f64::cos);
    1606 tan(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), f64::tan);
    1607 cot(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), |a| 1.0 / a.tan());
    1600 asin(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.abs() > 1.0, f64::asin);
    1601 acos(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.abs() > 1.0, f64::acos);
    1602 atan(FLOAT8) -> FLOAT8 = (a: f64) a.atan();
    2462 sinh(FLOAT8) -> FLOAT8 = (a: f64) a.sinh();
    2463 cosh(FLOAT8) -> FLOAT8 = (a: f64) a.cosh();
    2464 tanh(FLOAT8) -> FLOAT8 = (a: f64) a.tanh();
    2465 asinh(FLOAT8) -> FLOAT8 = (a: f64) a.asinh();
    2466 acosh(FLOAT8) -> FLOAT8 = (a: f64) within(a, a < 1.0, f64::acosh);
    2467 atanh(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.abs() > 1.0, f64::atanh);
    2735 sind(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), sind);
    2736 cosd(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), cosd);
    2737 tand(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), tand);
    2738 cotd(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.is_infinite(), cotd);
    2731 asind(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.abs() > 1.0, asind);
    2732 acosd(FLOAT8) -> FLOAT8 = (a: f64) within(a, a.abs() > 1.0, acosd);
    2733 atand(FLOAT8) -> FLOAT8 = (a: f64) atand(a);
    1603 atan2(FLOAT8, FLOAT8) -> FLOAT8 = (y: f64, x: f64) y.atan2(x);
    2734 atan2d(FLOAT8, FLOAT8) -> FLOAT8 = (y: f64, x: f64) y.atan2(x) / 1f64.atan() * 45.0;
};
