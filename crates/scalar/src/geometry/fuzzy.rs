//! Numbers and points, compared as the operators of geometric types do it.
//!
//! Two numbers that are at most [`EPSILON`] apart count as equal. So `a < b` holds where `b` is farther away
//! than that.

use types::Result;
use types::float::{add8, div8, mul8, overflow, sub8, underflow};
use types::geometry::{EPSILON, Point, Rectangle};

pub(super) use types::geometry::{is_equal, is_zero};

pub(super) fn is_less(a: f64, b: f64) -> bool {
    a + EPSILON < b
}

pub(super) fn is_at_most(a: f64, b: f64) -> bool {
    a <= b + EPSILON
}

pub(super) fn is_greater(a: f64, b: f64) -> bool {
    a > b + EPSILON
}

pub(super) fn is_at_least(a: f64, b: f64) -> bool {
    a + EPSILON >= b
}

/// True for numbers that do not count as equal.
pub(super) fn is_other(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() > EPSILON
}

/// The length of the hypotenuse.
pub(super) fn hypotenuse(x: f64, y: f64) -> Result<f64> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if x.is_nan() || y.is_nan() {
        return Ok(f64::NAN);
    }
    let (x, y) = (x.abs(), y.abs());
    let (long, short) = if x < y { (y, x) } else { (x, y) };
    if short == 0.0 {
        return Ok(long);
    }
    let ratio = short / long;
    let length = long * (1.0 + ratio * ratio).sqrt();
    if length.is_infinite() {
        return Err(overflow());
    }
    if length == 0.0 { Err(underflow()) } else { Ok(length) }
}

/// How far two points are apart.
pub(super) fn distance(a: Point, b: Point) -> Result<f64> {
    hypotenuse(sub8(a.x, b.x)?, sub8(a.y, b.y)?)
}

pub(super) fn middle(a: Point, b: Point) -> Result<Point> {
    Ok(Point::new(div8(add8(a.x, b.x)?, 2.0)?, div8(add8(a.y, b.y)?, 2.0)?))
}

pub(super) fn sum(a: Point, b: Point) -> Result<Point> {
    Ok(Point::new(add8(a.x, b.x)?, add8(a.y, b.y)?))
}

pub(super) fn difference(a: Point, b: Point) -> Result<Point> {
    Ok(Point::new(sub8(a.x, b.x)?, sub8(a.y, b.y)?))
}

/// The product of two points as complex numbers.
pub(super) fn product(a: Point, b: Point) -> Result<Point> {
    let x = sub8(mul8(a.x, b.x)?, mul8(a.y, b.y)?)?;
    let y = add8(mul8(a.x, b.y)?, mul8(a.y, b.x)?)?;
    Ok(Point::new(x, y))
}

/// The quotient of two points as complex numbers.
pub(super) fn quotient(a: Point, b: Point) -> Result<Point> {
    let by = add8(mul8(b.x, b.x)?, mul8(b.y, b.y)?)?;
    let x = div8(add8(mul8(a.x, b.x)?, mul8(a.y, b.y)?)?, by)?;
    let y = div8(sub8(mul8(a.y, b.x)?, mul8(a.x, b.y)?)?, by)?;
    Ok(Point::new(x, y))
}

/// True if two boxes have a point in common.
pub(super) fn boxes_overlap(a: Rectangle, b: Rectangle) -> bool {
    is_at_most(a.low.x, b.high.x)
        && is_at_most(b.low.x, a.high.x)
        && is_at_most(a.low.y, b.high.y)
        && is_at_most(b.low.y, a.high.y)
}

/// True if a box has all of another.
pub(super) fn box_contains(a: Rectangle, b: Rectangle) -> bool {
    is_at_least(a.high.x, b.high.x)
        && is_at_most(a.low.x, b.low.x)
        && is_at_least(a.high.y, b.high.y)
        && is_at_most(a.low.y, b.low.y)
}

/// True if a point is in a box or on its border, exactly.
pub(super) fn box_has(a: Rectangle, point: Point) -> bool {
    a.high.x >= point.x && a.low.x <= point.x && a.high.y >= point.y && a.low.y <= point.y
}
