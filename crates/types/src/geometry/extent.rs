//! The extent of a value from left to right.

use super::{Circle, EPSILON, Geometry, POINT_BYTES, Point, Polygon, Rectangle};
use crate::DatumRef;

/// The share of a coordinate by which sums and roots of such may be off.
const ROUNDING: f64 = 1.0E-14;

/// The x coordinates between which a value lies.
///
/// Operators take coordinates for equal that are near each other, so an extent reaches a little farther: the
/// extents of two values overlap wherever one of `&&`, `@>`, `<@` and `~=` is true of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extent {
    /// The least one.
    pub left: f64,
    /// The greatest one.
    pub right: f64,
}

impl Extent {
    /// The extent of a held point, box, circle or polygon; `None` if it is not known.
    pub fn of_held(value: DatumRef<'_>) -> Option<Self> {
        let DatumRef::Bytea(held) = value else { return None };
        match held.len() {
            POINT_BYTES => Point::of_held(held).ok().and_then(|at| Self::between(at.x, at.x)),
            32 => Rectangle::of_held(held).ok().and_then(Self::of),
            24 => {
                let Circle { center, radius } = Circle::of_held(held).ok()?;
                Self::between(center.x - radius.abs(), center.x + radius.abs())
            }
            _ => {
                let polygon = Polygon::of_held(held).ok()?;
                Self::of(Rectangle::around(&polygon.points))
            }
        }
    }

    fn of(rectangle: Rectangle) -> Option<Self> {
        Self::between(rectangle.low.x, rectangle.high.x)
    }

    fn between(left: f64, right: f64) -> Option<Self> {
        let wider = |at: f64| 2.0 * EPSILON + at.abs() * ROUNDING;
        let slack = if left.is_finite() && right.is_finite() {
            wider(left).max(wider(right)).max(wider(right - left))
        } else {
            // An infinite coordinate is as far as it can be.
            2.0 * EPSILON
        };
        let extent = Self { left: left - slack, right: right + slack };
        let is_known = !extent.left.is_nan() && !extent.right.is_nan();
        is_known.then_some(extent)
    }
}
