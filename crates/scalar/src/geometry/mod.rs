//! Geometric types: points, lines, segments, boxes, paths, polygons and circles.
//!
//! ```text
//!   point '(1,2)' + point '(3,4)'         (4,6)
//!   box '((0,0),(2,2))' @> point '(1,1)'  true
//!   circle '<(0,0),1>' <-> point '(3,0)'  2
//! ```
//!
//! Most operators treat coordinates that differ by at most a millionth as equal ([`fuzzy`]). The operators `<` and
//! `=` compare areas, lengths or numbers of points.

mod area;
mod fuzzy;
mod operators;
mod straight;
mod table;

pub(crate) use operators::OPERATORS;
pub(crate) use table::TABLE;

use std::f64::consts::PI;

use types::float::{add8, div8, mul8, sub8};
use types::geometry::{
    Circle, Geometry, Line, Path, Point, Polygon, Rectangle, Segment, check_points, greater,
    lesser, too_many_points,
};
use types::{Datum, DatumRef, Error, Result, SqlState, Type};

use self::fuzzy::{boxes_overlap, distance, hypotenuse, is_at_most, is_equal, is_zero, middle};
use crate::function::{Argument, Output, unexpected};

macro_rules! values {
    ($($shape:ident)*) => {$(
        impl<'a> Argument<'a> for $shape {
            fn read(value: DatumRef<'a>) -> Result<Self> {
                match value {
                    DatumRef::Bytea(held) => $shape::of_held(held),
                    other => Err(unexpected("a geometric value", other)),
                }
            }
        }

        impl Output for $shape {
            fn put(self) -> Result<Datum> {
                Ok(self.to_held())
            }
        }
    )*};
}

values! { Point Segment Line Rectangle Path Polygon Circle }

/// The result of `&&` for two boxes, polygons or circles, or of `~=` for these and for points.
///
/// # Errors
/// XX001 for bytes that are none, 22003 where a number is out of range.
pub fn holds(symbol: &str, a: DatumRef<'_>, b: DatumRef<'_>, ty: Type) -> Result<bool> {
    fn both<'a, T: Argument<'a>>(a: DatumRef<'a>, b: DatumRef<'a>) -> Result<(T, T)> {
        Ok((T::read(a)?, T::read(b)?))
    }
    let is_overlap = symbol == "&&";
    match ty {
        Type::POINT => both::<Point>(a, b).map(|(a, b)| a.is_same(b)),
        Type::BOX if is_overlap => both(a, b).map(|(a, b)| boxes_overlap(a, b)),
        Type::BOX => both(a, b).map(|(a, b)| same_boxes(a, b)),
        Type::POLYGON if is_overlap => both(a, b).and_then(|(a, b)| area::polygons_overlap(&a, &b)),
        Type::POLYGON => both(a, b).and_then(|(a, b)| area::polygons_same(&a, &b)),
        _ if is_overlap => both(a, b).and_then(|(a, b)| circles_overlap(a, b)),
        _ => both(a, b).map(|(a, b)| same_circles(a, b)),
    }
}

#[cold]
fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A distance from the border, which is 0 inside.
fn outside(distance: f64) -> f64 {
    if distance < 0.0 { 0.0 } else { distance }
}

/// A point that was found, unless no distance is known.
fn found((distance, point): straight::Nearest) -> Option<Point> {
    (!distance.is_nan()).then_some(point)
}

fn slope(of: Segment) -> Result<f64> {
    of.0.slope(of.1)
}

fn length(of: Segment) -> Result<f64> {
    distance(of.0, of.1)
}

fn same_segments(a: Segment, b: Segment) -> bool {
    a.0.is_same(b.0) && a.1.is_same(b.1)
}

fn same_boxes(a: Rectangle, b: Rectangle) -> bool {
    a.high.is_same(b.high) && a.low.is_same(b.low)
}

fn center(of: Rectangle) -> Result<Point> {
    middle(of.high, of.low)
}

fn width(of: Rectangle) -> Result<f64> {
    sub8(of.high.x, of.low.x)
}

fn height(of: Rectangle) -> Result<f64> {
    sub8(of.high.y, of.low.y)
}

fn box_area(of: Rectangle) -> Result<f64> {
    mul8(width(of)?, height(of)?)
}

fn common_box(a: Rectangle, b: Rectangle) -> Option<Rectangle> {
    boxes_overlap(a, b).then(|| Rectangle {
        high: Point::new(lesser(a.high.x, b.high.x), lesser(a.high.y, b.high.y)),
        low: Point::new(greater(a.low.x, b.low.x), greater(a.low.y, b.low.y)),
    })
}

fn bound_box(a: Rectangle, b: Rectangle) -> Rectangle {
    Rectangle {
        high: Point::new(greater(a.high.x, b.high.x), greater(a.high.y, b.high.y)),
        low: Point::new(lesser(a.low.x, b.low.x), lesser(a.low.y, b.low.y)),
    }
}

/// A box, each corner of which is changed.
fn moved_box(
    of: Rectangle,
    by: Point,
    change: fn(Point, Point) -> Result<Point>,
) -> Result<Rectangle> {
    Ok(Rectangle { high: change(of.high, by)?, low: change(of.low, by)? })
}

fn turned_box(
    of: Rectangle,
    by: Point,
    change: fn(Point, Point) -> Result<Point>,
) -> Result<Rectangle> {
    Ok(Rectangle::of_corners(change(of.high, by)?, change(of.low, by)?))
}

fn box_to_circle(of: Rectangle) -> Result<Circle> {
    let center = center(of)?;
    Ok(Circle { center, radius: distance(center, of.high)? })
}

fn box_to_polygon(of: Rectangle) -> Polygon {
    let (low, high) = (of.low, of.high);
    let corners = [low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
    Polygon { points: corners.to_vec() }
}

fn line_through(one: Point, other: Point) -> Result<Line> {
    let line = Line::through(one, other)?;
    line.ok_or_else(|| invalid("invalid line specification: must be two distinct points"))
}

fn perpendicular(l: Line, m: Line) -> Result<bool> {
    Ok(if is_zero(l.a) {
        is_zero(m.b)
    } else if is_zero(m.a) {
        is_zero(l.b)
    } else if is_zero(l.b) {
        is_zero(m.a)
    } else if is_zero(m.b) {
        is_zero(l.a)
    } else {
        is_equal(div8(mul8(l.a, m.a)?, mul8(l.b, m.b)?)?, -1.0)
    })
}

fn same_lines(l: Line, m: Line) -> Result<bool> {
    let (l, m) = ([l.a, l.b, l.c], [m.a, m.b, m.c]);
    let mut pairs = l.iter().zip(&m);
    if l.iter().chain(&m).any(|number| number.is_nan()) {
        return Ok(pairs.all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
    }
    let known = l.iter().zip(&m).find(|(_, b)| !is_zero(**b));
    let ratio = known.map_or(Ok(1.0), |(a, b)| div8(*a, *b))?;
    for (a, b) in pairs {
        if !is_equal(*a, mul8(ratio, *b)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn lines_distance(l: Line, m: Line) -> Result<f64> {
    if straight::crossing_of_lines(l, m)?.is_some() {
        return Ok(0.0);
    }
    let is_plain = |a: f64, b: f64| !is_zero(a) && !a.is_nan() && !is_zero(b) && !b.is_nan();
    let ratio = if is_plain(l.a, m.a) {
        div8(l.a, m.a)?
    } else if is_plain(l.b, m.b) {
        div8(l.b, m.b)?
    } else {
        1.0
    };
    div8(sub8(l.c, mul8(ratio, m.c)?)?.abs(), hypotenuse(l.a, l.b)?)
}

fn joined(a: Path, b: Path) -> Result<Option<Path>> {
    if a.is_closed || b.is_closed {
        return Ok(None);
    }
    check_points(a.points.len() + b.points.len())?;
    let points = a.points.into_iter().chain(b.points).collect();
    Ok(Some(Path { is_closed: false, points }))
}

fn moved_path(of: Path, by: Point, change: fn(Point, Point) -> Result<Point>) -> Result<Path> {
    let points = of.points.iter().map(|point| change(*point, by));
    Ok(Path { is_closed: of.is_closed, points: points.collect::<Result<_>>()? })
}

fn path_to_polygon(of: Path) -> Result<Polygon> {
    if !of.is_closed {
        return Err(invalid("open path cannot be converted to polygon"));
    }
    Ok(Polygon { points: of.points })
}

fn around(of: &Polygon) -> Rectangle {
    Rectangle::around(&of.points)
}

fn circle_area(of: Circle) -> Result<f64> {
    mul8(mul8(of.radius, of.radius)?, PI)
}

fn circles_overlap(a: Circle, b: Circle) -> Result<bool> {
    Ok(is_at_most(distance(a.center, b.center)?, add8(a.radius, b.radius)?))
}

fn circle_contains(a: Circle, b: Circle) -> Result<bool> {
    Ok(is_at_most(distance(a.center, b.center)?, sub8(a.radius, b.radius)?))
}

fn circle_has(of: Circle, point: Point) -> Result<bool> {
    Ok(distance(of.center, point)? <= of.radius)
}

fn same_circles(a: Circle, b: Circle) -> bool {
    let is_same = a.radius.is_nan() && b.radius.is_nan() || is_equal(a.radius, b.radius);
    is_same && a.center.is_same(b.center)
}

fn circles_distance(a: Circle, b: Circle) -> Result<f64> {
    let between = distance(a.center, b.center)?;
    sub8(between, add8(a.radius, b.radius)?).map(outside)
}

fn circle_to_point(of: Circle, point: Point) -> Result<f64> {
    sub8(distance(point, of.center)?, of.radius).map(outside)
}

fn circle_to_polygon(of: Circle, polygon: &Polygon) -> Result<f64> {
    sub8(area::polygon_distance(polygon, of.center)?, of.radius).map(outside)
}

/// The ends of a circle to the left and to the right, or below and above.
fn ends(center: f64, radius: f64) -> Result<(f64, f64)> {
    Ok((sub8(center, radius)?, add8(center, radius)?))
}

fn right(of: Circle) -> Result<f64> {
    add8(of.center.x, of.radius)
}

fn left(of: Circle) -> Result<f64> {
    sub8(of.center.x, of.radius)
}

fn top(of: Circle) -> Result<f64> {
    add8(of.center.y, of.radius)
}

fn bottom(of: Circle) -> Result<f64> {
    sub8(of.center.y, of.radius)
}

fn scaled_circle(
    of: Circle,
    by: Point,
    center: fn(Point, Point) -> Result<Point>,
    radius: fn(f64, f64) -> Result<f64>,
) -> Result<Circle> {
    Ok(Circle {
        center: center(of.center, by)?,
        radius: radius(of.radius, hypotenuse(by.x, by.y)?)?,
    })
}

fn circle_to_box(of: Circle) -> Result<Rectangle> {
    let half = div8(of.radius, 2.0_f64.sqrt())?;
    let ((left, right), (bottom, top)) = (ends(of.center.x, half)?, ends(of.center.y, half)?);
    Ok(Rectangle { high: Point::new(right, top), low: Point::new(left, bottom) })
}

fn polygon_of_circle(count: i32, of: Circle) -> Result<Polygon> {
    if is_zero(of.radius) {
        let message = "cannot convert circle with radius zero to polygon";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    if count < 2 {
        return Err(invalid("must request at least 2 points"));
    }
    check_points(usize::try_from(count).map_err(|_| too_many_points())?)?;
    let step = div8(2.0 * PI, count.into())?;
    let point = |at: i32| {
        let angle = mul8(step, at.into())?;
        let x = sub8(of.center.x, mul8(of.radius, angle.cos())?)?;
        Ok(Point::new(x, add8(of.center.y, mul8(of.radius, angle.sin())?)?))
    };
    let mut pace = interrupt::Pace::new();
    let points = (0..count).map(|at| {
        pace.step(32)?;
        point(at)
    });
    Ok(Polygon { points: points.collect::<Result<_>>()? })
}

/// The point of a segment that is nearest to a line, unless they are parallel.
fn nearest_to_line(line: Line, segment: Segment) -> Result<Option<Point>> {
    if slope(segment)? == line.slope()? {
        return Ok(None);
    }
    straight::nearest_to_line(segment, line).map(found)
}

/// The point of the second segment that is nearest to the first, unless they are parallel.
fn nearest_to_segment(to: Segment, on: Segment) -> Result<Option<Point>> {
    if slope(to)? == slope(on)? {
        return Ok(None);
    }
    straight::nearest_to_segment(on, to).map(found)
}

/// True if both ends of a segment are on a line.
fn lies_on(segment: Segment, line: Line) -> Result<bool> {
    Ok(straight::line_has(line, segment.0)? && straight::line_has(line, segment.1)?)
}
