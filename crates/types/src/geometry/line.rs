//! Slopes, and the lines that have them.

use super::{EPSILON, Line, Point, is_zero};
use crate::Result;
use crate::float::{div8, mul8, sub8};

/// True for numbers that count as equal.
pub fn is_equal(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

impl Point {
    /// True for points that count as equal. NaN is equal to itself.
    pub fn is_same(self, other: Point) -> bool {
        if [self.x, self.y, other.x, other.y].iter().any(|number| number.is_nan()) {
            let is_same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
            return is_same(self.x, other.x) && is_same(self.y, other.y);
        }
        is_equal(self.x, other.x) && is_equal(self.y, other.y)
    }

    /// The slope of the way to another point: infinite where they are one above the other.
    ///
    /// # Errors
    /// 22003 where it is out of range.
    pub fn slope(self, other: Point) -> Result<f64> {
        if is_equal(self.x, other.x) {
            return Ok(f64::INFINITY);
        }
        if is_equal(self.y, other.y) {
            return Ok(0.0);
        }
        div8(sub8(self.y, other.y)?, sub8(self.x, other.x)?)
    }

    /// The slope of what is perpendicular to the way to another point.
    ///
    /// # Errors
    /// 22003 where it is out of range.
    pub fn inverse_slope(self, other: Point) -> Result<f64> {
        if is_equal(self.x, other.x) {
            return Ok(0.0);
        }
        if is_equal(self.y, other.y) {
            return Ok(f64::INFINITY);
        }
        div8(sub8(self.x, other.x)?, sub8(other.y, self.y)?)
    }
}

impl Line {
    /// The line through a point with a slope.
    ///
    /// # Errors
    /// 22003 where its constant is out of range.
    pub fn with_slope(point: Point, slope: f64) -> Result<Self> {
        if slope.is_infinite() {
            return Ok(Self { a: -1.0, b: 0.0, c: point.x });
        }
        if slope == 0.0 {
            return Ok(Self { a: 0.0, b: -1.0, c: point.y });
        }
        let c = sub8(point.y, mul8(slope, point.x)?)?;
        // No negative zero.
        Ok(Self { a: slope, b: -1.0, c: c + 0.0 })
    }

    /// The line through two points; `None` if they count as one.
    ///
    /// # Errors
    /// 22003 where its slope is out of range.
    pub fn through(one: Point, other: Point) -> Result<Option<Self>> {
        if one.is_same(other) {
            return Ok(None);
        }
        Self::with_slope(one, one.slope(other)?).map(Some)
    }

    /// The slope.
    ///
    /// # Errors
    /// 22003 where it is out of range.
    pub fn slope(self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(0.0);
        }
        if is_zero(self.b) {
            return Ok(f64::INFINITY);
        }
        div8(self.a, -self.b)
    }

    /// The slope of a line that is perpendicular to it.
    ///
    /// # Errors
    /// 22003 where it is out of range.
    pub fn inverse_slope(self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(f64::INFINITY);
        }
        if is_zero(self.b) {
            return Ok(0.0);
        }
        div8(self.b, self.a)
    }
}
