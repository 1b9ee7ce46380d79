//! Lines, segments and boxes: intersections, and nearest points.
//!
//! ```text
//!        p                 the nearest point of a segment is the foot of the perpendicular,
//!        ¦                 or one of its ends where the foot is not on it
//!   a────+────b
//! ```

use types::Result;
use types::compare::cmp_float;
use types::float::{add8, div8, mul8, sub8};
use types::geometry::{Line, Point, Rectangle, Segment, greater, lesser};

use super::fuzzy::{box_has, boxes_overlap, distance, is_equal, is_zero, middle};

/// A distance, and the point that it leads to.
pub(super) type Nearest = (f64, Point);

/// The nearer of two; the first where neither is.
fn nearer(a: Nearest, b: Nearest) -> Nearest {
    if cmp_float(b.0, a.0).is_lt() { b } else { a }
}

/// The point in which two lines cross; none of lines that are parallel, or the same.
pub(super) fn crossing_of_lines(l: Line, m: Line) -> Result<Option<Point>> {
    // The line `l` computes the y coordinate, so it must not be vertical.
    let (l, m) = match (is_zero(l.b), is_zero(m.b)) {
        (false, _) => (l, m),
        (true, false) => (m, l),
        (true, true) => return Ok(None),
    };
    if is_equal(m.a, mul8(l.a, div8(m.b, l.b)?)?) {
        return Ok(None);
    }
    let above = sub8(mul8(l.b, m.c)?, mul8(m.b, l.c)?)?;
    let below = sub8(mul8(l.a, m.b)?, mul8(m.a, l.b)?)?;
    let x = div8(above, below)?;
    let y = div8(-add8(mul8(l.a, x)?, l.c)?, l.b)?;
    // No negative zeros.
    Ok(Some(Point::new(x + 0.0, y + 0.0)))
}

/// The line that a segment is a part of.
fn line_of(segment: Segment) -> Result<Line> {
    Line::with_slope(segment.0, segment.0.slope(segment.1)?)
}

/// True if a point is on a segment: the way over it is no longer.
pub(super) fn segment_has(segment: Segment, point: Point) -> Result<bool> {
    let over = distance(point, segment.0)? + distance(point, segment.1)?;
    Ok(is_equal(over, distance(segment.0, segment.1)?))
}

/// True if a point is on a line.
pub(super) fn line_has(line: Line, point: Point) -> Result<bool> {
    let sum = add8(mul8(line.a, point.x)?, mul8(line.b, point.y)?)?;
    Ok(is_zero(add8(sum, line.c)?))
}

/// The point in which a segment crosses a line.
pub(super) fn crossing_of_line(segment: Segment, line: Line) -> Result<Option<Point>> {
    let Some(found) = crossing_of_lines(line_of(segment)?, line)? else { return Ok(None) };
    if !segment_has(segment, found)? {
        return Ok(None);
    }
    // An end of the segment is given as it is.
    Ok(Some(if segment.0.is_same(found) {
        segment.0
    } else if segment.1.is_same(found) {
        segment.1
    } else {
        found
    }))
}

/// The point in which two segments cross.
pub(super) fn crossing(a: Segment, b: Segment) -> Result<Option<Point>> {
    let Some(found) = crossing_of_line(a, line_of(b)?)? else { return Ok(None) };
    Ok(segment_has(b, found)?.then_some(found))
}

/// The point of a line that is nearest to a point. The distance is NaN where there is none.
pub(super) fn nearest_on_line(line: Line, to: Point) -> Result<Nearest> {
    let perpendicular = Line::with_slope(to, line.inverse_slope()?)?;
    match crossing_of_lines(perpendicular, line)? {
        Some(foot) => Ok((distance(foot, to)?, foot)),
        None => Ok((f64::NAN, to)),
    }
}

/// The point of a segment that is nearest to a line.
pub(super) fn nearest_to_line(segment: Segment, line: Line) -> Result<Nearest> {
    if let Some(found) = crossing_of_line(segment, line)? {
        return Ok((0.0, found));
    }
    let (first, _) = nearest_on_line(line, segment.0)?;
    let (second, _) = nearest_on_line(line, segment.1)?;
    Ok(if first < second { (first, segment.0) } else { (second, segment.1) })
}

/// The point of a segment that is nearest to a point.
pub(super) fn nearest_on_segment(segment: Segment, to: Point) -> Result<Nearest> {
    let perpendicular = Line::with_slope(to, segment.0.inverse_slope(segment.1)?)?;
    let (_, found) = nearest_to_line(segment, perpendicular)?;
    Ok((distance(found, to)?, found))
}

/// The point of a segment that is nearest to another segment.
pub(super) fn nearest_to_segment(on: Segment, to: Segment) -> Result<Nearest> {
    if let Some(found) = crossing(on, to)? {
        return Ok((0.0, found));
    }
    let mut best = nearest_on_segment(on, to.0)?;
    best = nearer(best, nearest_on_segment(on, to.1)?);
    best = nearer(best, (nearest_on_segment(to, on.0)?.0, on.0));
    Ok(nearer(best, (nearest_on_segment(to, on.1)?.0, on.1)))
}

/// The sides of a box.
fn sides(of: Rectangle) -> [Segment; 4] {
    let upper_left = Point::new(of.low.x, of.high.y);
    let lower_right = Point::new(of.high.x, of.low.y);
    [
        Segment(of.low, upper_left),
        Segment(of.high, upper_left),
        Segment(of.low, lower_right),
        Segment(of.high, lower_right),
    ]
}

fn nearest_side(of: Rectangle, nearest: impl Fn(Segment) -> Result<Nearest>) -> Result<Nearest> {
    let [first, rest @ ..] = sides(of);
    rest.into_iter().try_fold(nearest(first)?, |best, side| Ok(nearer(best, nearest(side)?)))
}

/// The point of a box that is nearest to a point.
pub(super) fn nearest_in_box(of: Rectangle, to: Point) -> Result<Nearest> {
    if box_has(of, to) {
        return Ok((0.0, to));
    }
    nearest_side(of, |side| nearest_on_segment(side, to))
}

/// True if a segment has a point in common with a box.
pub(super) fn box_meets(of: Rectangle, segment: Segment) -> Result<bool> {
    let (a, b) = (segment.0, segment.1);
    let around = Rectangle {
        high: Point::new(greater(a.x, b.x), greater(a.y, b.y)),
        low: Point::new(lesser(a.x, b.x), lesser(a.y, b.y)),
    };
    if !boxes_overlap(around, of) {
        return Ok(false);
    }
    if box_has(of, a) || box_has(of, b) {
        return Ok(true);
    }
    for side in sides(of) {
        if crossing(side, segment)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The point of a box that is nearest to a segment. Where they meet, it is the point of the segment that is
/// nearest to the middle of the box.
pub(super) fn nearest_in_box_to_segment(of: Rectangle, to: Segment) -> Result<Nearest> {
    if box_meets(of, to)? {
        return Ok((0.0, nearest_on_segment(to, middle(of.high, of.low)?)?.1));
    }
    nearest_side(of, |side| nearest_to_segment(side, to))
}

/// True if a line has a point in common with a box.
pub(super) fn box_meets_line(of: Rectangle, line: Line) -> Result<bool> {
    for side in sides(of) {
        if crossing_of_line(side, line)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
