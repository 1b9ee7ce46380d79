//! Geometric types: points, and figures of points in the plane.
//!
//! ```text
//!   point     (1,2)                      polygon   ((0,0),(4,0),(4,4))
//!   lseg      [(0,0),(1,1)]              path      ((0,0),(1,1))   [(0,0),(1,1)]   closed, open
//!   box       (3,3),(1,1)                circle    <(0,0),5>
//!   line      {1,-1,0}                   Ax + By + C = 0
//! ```
//!
//! A value is held as the bytes of its binary form, in which coordinates are doubles with the highest
//! byte first. Corners of a box are in order there, the upper right one in front:
//!
//! ```text
//!   point  16  x y          lseg  32  x y x y      path     5 + 16n  closed, n, x y ...
//!   line   24  A B C        box   32  x y x y      polygon  4 + 16n  n, x y ...
//!   circle 24  x y radius
//! ```
//!
//! So the number of bytes tells points, boxes, circles and polygons from each other
//! ([`Extent::of_held`]).

mod extent;
mod line;
mod text;

pub use extent::Extent;
pub use line::is_equal;

use std::cmp::Ordering;

use interrupt::Pace;

use crate::bounded::VALUE_BYTES_MAX;
use crate::compare::cmp_float;
use crate::packed::damaged;
use crate::{Datum, Error, Result, SqlState, Type};

/// How far apart two coordinates may be that count as equal.
pub const EPSILON: f64 = 1.0E-06;

/// The bytes of a point.
const POINT_BYTES: usize = 16;

/// A point in the plane.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// How far to the right it is.
    pub x: f64,
    /// How far up it is.
    pub y: f64,
}

/// The straight way from a point to another: `lseg`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segment(pub Point, pub Point);

/// The points at which `a * x + b * y + c` is 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// The factor of x.
    pub a: f64,
    /// The factor of y, which is not zero where that of x is.
    pub b: f64,
    /// The constant.
    pub c: f64,
}

/// A rectangle along the axes: `box`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rectangle {
    /// The upper right corner.
    pub high: Point,
    /// The lower left corner.
    pub low: Point,
}

/// Points one after the other, each joined to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// True if the last one is joined to the first.
    pub is_closed: bool,
    /// The points, of which there is one at least.
    pub points: Vec<Point>,
}

/// The area within a closed path.
#[derive(Clone, PartialEq, Debug)]
pub struct Polygon {
    /// The points, of which there is one at least.
    pub points: Vec<Point>,
}

/// The area within a distance of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Circle {
    /// The point.
    pub center: Point,
    /// The distance.
    pub radius: f64,
}

/// A value of a geometric type.
pub trait Geometry: Sized {
    /// Reads the text form.
    ///
    /// # Errors
    /// 22P02 for any other text, 22003 for a number that is no double, 54000 for too many points.
    fn parse(text: &str) -> Result<Self>;

    /// Writes the text form, with as many digits as the setting `extra_float_digits` says.
    ///
    /// # Errors
    /// 57014 where the statement is to stop; `out` has a part of the text then.
    fn write(&self, digits: i32, out: &mut String) -> Result<()>;

    /// Takes the binary form off the front of bytes.
    ///
    /// # Errors
    /// 08P01 where bytes are missing, 22P03 for any other value.
    fn take(bytes: &mut &[u8]) -> Result<Self>;

    /// Appends the binary form.
    fn put(&self, out: &mut Vec<u8>);

    /// The held form.
    fn to_held(&self) -> Datum {
        let mut held = Vec::with_capacity(2 * POINT_BYTES);
        self.put(&mut held);
        Datum::bytea(held)
    }

    /// Reads the held form.
    ///
    /// # Errors
    /// XX001 for any other bytes.
    fn of_held(mut held: &[u8]) -> Result<Self> {
        match Self::take(&mut held) {
            Ok(value) if held.is_empty() => Ok(value),
            _ => Err(damaged("a geometric value is none")),
        }
    }
}

/// True for the geometric types.
pub fn is_geometric(ty: Type) -> bool {
    matches!(
        ty,
        Type::POINT
            | Type::LSEG
            | Type::PATH
            | Type::BOX
            | Type::POLYGON
            | Type::LINE
            | Type::CIRCLE
    )
}

/// The type of the parts of a geometric value that a subscript reaches, which are numbered from 0.
pub fn part_type(ty: Type) -> Option<Type> {
    match ty {
        Type::POINT | Type::LINE => Some(Type::FLOAT8),
        Type::LSEG | Type::BOX => Some(Type::POINT),
        _ => None,
    }
}

/// Calls a function of [`Geometry`] for the type that a value has.
macro_rules! of_type {
    ($ty:expr, $shape:ident => $call:expr) => {
        match $ty {
            Type::POINT => {
                type $shape = Point;
                $call
            }
            Type::LSEG => {
                type $shape = Segment;
                $call
            }
            Type::PATH => {
                type $shape = Path;
                $call
            }
            Type::BOX => {
                type $shape = Rectangle;
                $call
            }
            Type::POLYGON => {
                type $shape = Polygon;
                $call
            }
            Type::LINE => {
                type $shape = Line;
                $call
            }
            _ => {
                type $shape = Circle;
                $call
            }
        }
    };
}

/// Reads the text form of a value of a geometric type.
///
/// # Errors
/// As [`Geometry::parse`].
pub(crate) fn parse(text: &str, ty: Type) -> Result<Datum> {
    of_type!(ty, Shape => Shape::parse(text).map(|value| value.to_held()))
}

/// Writes the text form of a value of a geometric type.
///
/// # Errors
/// XX001 where the bytes are none, 57014 where the statement is to stop.
pub(crate) fn write(held: &[u8], ty: Type, digits: i32, out: &mut String) -> Result<()> {
    of_type!(ty, Shape => Shape::of_held(held)?.write(digits, out))
}

/// Takes the binary form of a value of a geometric type off the front of bytes.
///
/// # Errors
/// As [`Geometry::take`].
pub(crate) fn take(bytes: &mut &[u8], ty: Type) -> Result<Datum> {
    of_type!(ty, Shape => Shape::take(bytes).map(|value| value.to_held()))
}

#[cold]
fn malformed(message: &str) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

/// The error for more points than a value has room for.
#[cold]
pub fn too_many_points() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many points requested")
}

/// Checks that a value has room for so many points.
///
/// # Errors
/// 54000 where it has not.
pub fn check_points(count: usize) -> Result<()> {
    if count > VALUE_BYTES_MAX / POINT_BYTES - 1 { Err(too_many_points()) } else { Ok(()) }
}

fn take_bytes<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk().ok_or_else(|| {
        Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
    })?;
    *bytes = rest;
    Ok(*taken)
}

fn take_number(bytes: &mut &[u8]) -> Result<f64> {
    take_bytes(bytes).map(f64::from_be_bytes)
}

/// A number of points, and the points.
fn take_points(bytes: &mut &[u8], name: &str) -> Result<Vec<Point>> {
    let count = i32::from_be_bytes(take_bytes(bytes)?);
    let count = usize::try_from(count).ok().filter(|count| (1..1 << 27).contains(count));
    let count = count.ok_or_else(|| {
        malformed(&format!("invalid number of points in external \"{name}\" value"))
    })?;
    let mut points = Vec::with_capacity(count.min(bytes.len() / POINT_BYTES));
    let mut pace = Pace::new();
    for _ in 0..count {
        pace.step(POINT_BYTES)?;
        points.push(Point::take(bytes)?);
    }
    Ok(points)
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    out.extend_from_slice(&(points.len() as i32).to_be_bytes());
    points.iter().for_each(|point| point.put(out));
}

impl Point {
    /// The point with these coordinates.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

impl Rectangle {
    /// The rectangle with two points in opposite corners.
    pub fn of_corners(one: Point, other: Point) -> Self {
        let ordered = |a: f64, b: f64| if cmp_float(a, b).is_gt() { (b, a) } else { (a, b) };
        let ((left, right), (bottom, top)) = (ordered(one.x, other.x), ordered(one.y, other.y));
        Self { high: Point::new(right, top), low: Point::new(left, bottom) }
    }

    /// The same with its corners in order. Coordinates that are equal stay where they are, whatever the sign of a
    /// zero.
    fn in_order(mut self) -> Self {
        if cmp_float(self.high.x, self.low.x).is_lt() {
            std::mem::swap(&mut self.high.x, &mut self.low.x);
        }
        if cmp_float(self.high.y, self.low.y).is_lt() {
            std::mem::swap(&mut self.high.y, &mut self.low.y);
        }
        self
    }

    /// The smallest rectangle that has all of some points, of which there is one at least.
    pub fn around(points: &[Point]) -> Self {
        let first = points.first().copied().unwrap_or_default();
        points.iter().fold(Self { high: first, low: first }, |all, point| Self {
            high: Point::new(greater(all.high.x, point.x), greater(all.high.y, point.y)),
            low: Point::new(lesser(all.low.x, point.x), lesser(all.low.y, point.y)),
        })
    }
}

/// The greater of two numbers; NaN is above all others.
pub fn greater(a: f64, b: f64) -> f64 {
    if cmp_float(a, b) == Ordering::Less { b } else { a }
}

/// The lesser of two numbers.
pub fn lesser(a: f64, b: f64) -> f64 {
    if cmp_float(a, b) == Ordering::Greater { b } else { a }
}

/// True for a number that counts as zero.
pub fn is_zero(a: f64) -> bool {
    a.abs() <= EPSILON
}

impl Geometry for Point {
    fn parse(text: &str) -> Result<Self> {
        text::point(text)
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_point(*self, digits, out);
        Ok(())
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { x: take_number(bytes)?, y: take_number(bytes)? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.x.to_be_bytes());
        out.extend_from_slice(&self.y.to_be_bytes());
    }
}

impl Geometry for Segment {
    fn parse(text: &str) -> Result<Self> {
        text::two_points(text, "lseg", true).map(|(one, other)| Self(one, other))
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_points(&[self.0, self.1], Some(('[', ']')), digits, out)
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self(Point::take(bytes)?, Point::take(bytes)?))
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
}

impl Geometry for Rectangle {
    fn parse(text: &str) -> Result<Self> {
        text::two_points(text, "box", false)
            .map(|(one, other)| Self { high: one, low: other }.in_order())
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_points(&[self.high, self.low], None, digits, out)
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { high: Point::take(bytes)?, low: Point::take(bytes)? }.in_order())
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.high.put(out);
        self.low.put(out);
    }
}

impl Geometry for Line {
    fn parse(text: &str) -> Result<Self> {
        text::line(text)
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_line(*self, digits, out);
        Ok(())
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let line = Self { a: take_number(bytes)?, b: take_number(bytes)?, c: take_number(bytes)? };
        if is_zero(line.a) && is_zero(line.b) {
            return Err(malformed("invalid line specification: A and B cannot both be zero"));
        }
        Ok(line)
    }

    fn put(&self, out: &mut Vec<u8>) {
        for number in [self.a, self.b, self.c] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn of_held(mut held: &[u8]) -> Result<Self> {
        // The line through two points whose slope is tiny may have an A that counts as zero.
        let numbers = [take_number(&mut held), take_number(&mut held), take_number(&mut held)];
        match numbers {
            [Ok(a), Ok(b), Ok(c)] if held.is_empty() => Ok(Self { a, b, c }),
            _ => Err(damaged("a line is none")),
        }
    }
}

impl Geometry for Path {
    fn parse(text: &str) -> Result<Self> {
        text::path(text)
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        let around = if self.is_closed { ('(', ')') } else { ('[', ']') };
        text::write_points(&self.points, Some(around), digits, out)
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let is_closed = take_bytes::<1>(bytes)? != [0];
        Ok(Self { is_closed, points: take_points(bytes, "path")? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_closed));
        put_points(&self.points, out);
    }
}

impl Geometry for Polygon {
    fn parse(text: &str) -> Result<Self> {
        text::polygon(text)
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_points(&self.points, Some(('(', ')')), digits, out)
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { points: take_points(bytes, "polygon")? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_points(&self.points, out);
    }
}

impl Geometry for Circle {
    fn parse(text: &str) -> Result<Self> {
        text::circle(text)
    }

    fn write(&self, digits: i32, out: &mut String) -> Result<()> {
        text::write_circle(*self, digits, out);
        Ok(())
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let circle = Self { center: Point::take(bytes)?, radius: take_number(bytes)? };
        if circle.radius < 0.0 {
            return Err(malformed("invalid radius in external \"circle\" value"));
        }
        Ok(circle)
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.center.put(out);
        out.extend_from_slice(&self.radius.to_be_bytes());
    }

    fn of_held(mut held: &[u8]) -> Result<Self> {
        // `circle(point, radius)` makes one of a radius below zero.
        let parts = (Point::take(&mut held), take_number(&mut held));
        match parts {
            (Ok(center), Ok(radius)) if held.is_empty() => Ok(Self { center, radius }),
            _ => Err(damaged("a circle is none")),
        }
    }
}
