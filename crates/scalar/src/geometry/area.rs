//! Paths and polygons: the points inside, and distances.
//!
//! ```text
//!      ┌──────┐
//!      │  p───┼──────>     a ray from a point to the right crosses the border of what is around it
//!      └──────┘            in one direction more often than in the other
//! ```

use interrupt::Pace;
use types::compare::cmp_float;
use types::float::{add8, div8, mul8, sub8};
use types::geometry::{Circle, Path, Point, Polygon, Rectangle, Segment};
use types::{Error, Result, SqlState};

use super::fuzzy::{
    box_contains, boxes_overlap, distance, is_at_least, is_at_most, is_equal, is_greater, is_less,
    is_zero, middle, sum,
};
use super::straight::{crossing, nearest_on_segment, nearest_to_segment, segment_has};

/// The cost of one edge, in bytes as [`Pace`] counts them.
const EDGE_WORK: usize = 64;

/// How many times a segment may be cut by the edges of a polygon that it is tested against.
const CUTS_MAX: u32 = 1_000;

/// The edges of a path: each point and the one before it, the first one after the last where it is closed.
fn edges(points: &[Point], is_closed: bool) -> impl Iterator<Item = Segment> + '_ {
    let before = |at: usize| if at > 0 { points[at - 1] } else { points[points.len() - 1] };
    let first = usize::from(!is_closed);
    (first..points.len()).map(move |at| Segment(before(at), points[at]))
}

/// Where a point is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PointLocation {
    Outside,
    Inside,
    Border,
}

impl PointLocation {
    pub(super) fn is_within(self) -> bool {
        self != PointLocation::Outside
    }
}

/// How the way from a point to the next one crosses the ray from the origin to the right: 2 upwards, -2
/// downwards, half of it where one of the points is on the ray; `None` if the origin is on the way.
fn crosses(next: Point, before: Point) -> Result<Option<i32>> {
    let (x, y) = (next.x, next.y);
    if is_zero(y) {
        if is_zero(x) {
            return Ok(None);
        }
        if is_greater(x, 0.0) {
            if is_zero(before.y) {
                return Ok(is_greater(before.x, 0.0).then_some(0));
            }
            return Ok(Some(if is_less(before.y, 0.0) { 1 } else { -1 }));
        }
        if is_zero(before.y) {
            return Ok(is_less(before.x, 0.0).then_some(0));
        }
        return Ok(Some(0));
    }
    let sign = if is_greater(y, 0.0) { 1 } else { -1 };
    if is_zero(before.y) {
        return Ok(Some(if is_less(before.x, 0.0) { 0 } else { sign }));
    }
    if sign < 0 && is_less(before.y, 0.0) || sign > 0 && is_greater(before.y, 0.0) {
        return Ok(Some(0));
    }
    if is_at_least(x, 0.0) && is_greater(before.x, 0.0) {
        return Ok(Some(2 * sign));
    }
    if is_less(x, 0.0) && is_at_most(before.x, 0.0) {
        return Ok(Some(0));
    }
    let z = sub8(mul8(sub8(x, before.x)?, y)?, mul8(sub8(y, before.y)?, x)?)?;
    if is_zero(z) {
        return Ok(None);
    }
    let is_left = sign < 0 && is_less(z, 0.0) || sign > 0 && is_greater(z, 0.0);
    Ok(Some(if is_left { 0 } else { 2 * sign }))
}

/// Where a point is, of the area within a closed path.
pub(super) fn place(point: Point, path: &[Point]) -> Result<PointLocation> {
    let relative =
        |other: Point| Ok::<_, Error>(Point::new(sub8(other.x, point.x)?, sub8(other.y, point.y)?));
    let mut pace = Pace::new();
    let Some((first, rest)) = path.split_first() else { return Ok(PointLocation::Outside) };
    let first = relative(*first)?;
    let (mut before, mut total) = (first, 0);
    for next in rest {
        pace.step(16)?;
        let next = relative(*next)?;
        let Some(crossed) = crosses(next, before)? else { return Ok(PointLocation::Border) };
        total += crossed;
        before = next;
    }
    let Some(crossed) = crosses(first, before)? else { return Ok(PointLocation::Border) };
    Ok(if total + crossed == 0 { PointLocation::Outside } else { PointLocation::Inside })
}

/// True if a point is on a path, or within it where it is closed.
pub(super) fn path_has(path: &Path, point: Point) -> Result<bool> {
    if path.is_closed {
        return Ok(place(point, &path.points)?.is_within());
    }
    let mut pace = Pace::new();
    for Segment(from, to) in edges(&path.points, false) {
        pace.step(EDGE_WORK)?;
        let over = add8(distance(point, from)?, distance(point, to)?)?;
        if is_equal(over, distance(from, to)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The area within a closed path; none of an open one.
pub(super) fn path_area(path: &Path) -> Result<Option<f64>> {
    if !path.is_closed {
        return Ok(None);
    }
    let (mut area, mut pace) = (0.0, Pace::new());
    let next = path.points.iter().skip(1).chain(path.points.first());
    for (one, other) in path.points.iter().zip(next) {
        pace.step(16)?;
        area = add8(area, mul8(one.x, other.y)?)?;
        area = sub8(area, mul8(one.y, other.x)?)?;
    }
    div8(area.abs(), 2.0).map(Some)
}

pub(super) fn path_length(path: &Path) -> Result<f64> {
    let mut pace = Pace::new();
    edges(&path.points, path.is_closed).try_fold(0.0, |length, Segment(from, to)| {
        pace.step(16)?;
        add8(length, distance(from, to)?)
    })
}

/// True if two paths cross.
pub(super) fn paths_meet(a: &Path, b: &Path) -> Result<bool> {
    if !boxes_overlap(Rectangle::around(&a.points), Rectangle::around(&b.points)) {
        return Ok(false);
    }
    edges_meet((&a.points, a.is_closed), (&b.points, b.is_closed))
}

fn edges_meet(a: (&[Point], bool), b: (&[Point], bool)) -> Result<bool> {
    let mut pace = Pace::new();
    for one in edges(a.0, a.1) {
        for other in edges(b.0, b.1) {
            pace.step(EDGE_WORK)?;
            if crossing(one, other)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The least distance of any two edges; none if one has no edges.
fn edges_distance(a: (&[Point], bool), b: (&[Point], bool)) -> Result<Option<f64>> {
    let (mut least, mut pace) = (None, Pace::new());
    for one in edges(a.0, a.1) {
        for other in edges(b.0, b.1) {
            pace.step(EDGE_WORK)?;
            least = Some(lesser_of(least, nearest_to_segment(one, other)?.0));
        }
    }
    Ok(least)
}

fn lesser_of(least: Option<f64>, next: f64) -> f64 {
    least.filter(|least| !cmp_float(next, *least).is_lt()).unwrap_or(next)
}

pub(super) fn paths_distance(a: &Path, b: &Path) -> Result<Option<f64>> {
    edges_distance((&a.points, a.is_closed), (&b.points, b.is_closed))
}

/// How far a point is from a path; 0 from one without edges.
pub(super) fn path_distance(path: &Path, point: Point) -> Result<f64> {
    let (mut least, mut pace) = (None, Pace::new());
    for edge in edges(&path.points, path.is_closed) {
        pace.step(EDGE_WORK)?;
        least = Some(lesser_of(least, nearest_on_segment(edge, point)?.0));
    }
    Ok(least.unwrap_or(0.0))
}

/// How far a point is from a polygon.
pub(super) fn polygon_distance(polygon: &Polygon, point: Point) -> Result<f64> {
    let points = &polygon.points;
    if place(point, points)?.is_within() {
        return Ok(0.0);
    }
    let (first, last) = (points[0], points[points.len() - 1]);
    let (mut least, _) = nearest_on_segment(Segment(first, last), point)?;
    let mut pace = Pace::new();
    for edge in edges(points, false) {
        pace.step(EDGE_WORK)?;
        least = lesser_of(Some(least), nearest_on_segment(edge, point)?.0);
    }
    Ok(least)
}

pub(super) fn polygons_overlap(a: &Polygon, b: &Polygon) -> Result<bool> {
    if !boxes_overlap(Rectangle::around(&a.points), Rectangle::around(&b.points)) {
        return Ok(false);
    }
    Ok(edges_meet((&a.points, true), (&b.points, true))?
        || place(a.points[0], &b.points)?.is_within()
        || place(b.points[0], &a.points)?.is_within())
}

pub(super) fn polygons_distance(a: &Polygon, b: &Polygon) -> Result<Option<f64>> {
    if polygons_overlap(a, b)? {
        return Ok(Some(0.0));
    }
    edges_distance((&a.points, true), (&b.points, true))
}

/// A polygon that a segment is tested against.
struct Test<'a> {
    points: &'a [Point],
    pace: Pace,
    cuts: u32,
}

impl Test<'_> {
    /// True if a segment is in the polygon. The edges before `start` do not cross it.
    fn has(&mut self, from: Point, to: Point, start: usize) -> Result<bool> {
        if self.cuts == CUTS_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.cuts += 1;
        let is_in = self.has_inner(from, to, start);
        self.cuts -= 1;
        is_in
    }

    fn has_inner(&mut self, from: Point, to: Point, start: usize) -> Result<bool> {
        let segment = Segment(from, to);
        let mut before = self.points[start.checked_sub(1).unwrap_or(self.points.len() - 1)];
        let mut is_crossed = false;
        for at in start..self.points.len() {
            self.pace.step(EDGE_WORK)?;
            let edge = Segment(before, self.points[at]);
            before = edge.1;
            let is_in = match (segment_has(edge, from)?, segment_has(edge, to)?) {
                (true, true) => return Ok(true),
                (true, false) => self.has_beyond(from, to, edge, at + 1)?,
                (false, true) => self.has_beyond(to, from, edge, at + 1)?,
                (false, false) => match crossing(segment, edge)? {
                    None => true,
                    Some(cut) => {
                        is_crossed = true;
                        self.has(from, cut, at + 1)? && self.has(to, cut, at + 1)?
                    }
                },
            };
            if !is_in {
                return Ok(false);
            }
        }
        if is_crossed {
            return Ok(true);
        }
        Ok(place(middle(from, to)?, self.points)?.is_within())
    }

    /// Of a segment that begins on an edge and ends beside it: false if it goes on along the edge and is not
    /// in the polygon beyond its end.
    fn has_beyond(&mut self, on: Point, to: Point, edge: Segment, start: usize) -> Result<bool> {
        let segment = Segment(on, to);
        let ends = if on.is_same(edge.0) {
            [Some(edge.1), None]
        } else if on.is_same(edge.1) {
            [Some(edge.0), None]
        } else {
            [Some(edge.0), Some(edge.1)]
        };
        for end in ends.into_iter().flatten() {
            if segment_has(segment, end)? {
                return self.has(to, end, start);
            }
        }
        Ok(true)
    }
}

/// True if a polygon has all of another.
pub(super) fn polygon_contains(a: &Polygon, b: &Polygon) -> Result<bool> {
    if !box_contains(Rectangle::around(&a.points), Rectangle::around(&b.points)) {
        return Ok(false);
    }
    let mut test = Test { points: &a.points, pace: Pace::new(), cuts: 0 };
    for Segment(from, to) in edges(&b.points, true) {
        if !test.has(from, to, 0)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if two polygons have the same points in the same order, in either direction.
pub(super) fn polygons_same(a: &Polygon, b: &Polygon) -> Result<bool> {
    let (a, b) = (&a.points, &b.points);
    let count = a.len();
    if count != b.len() {
        return Ok(false);
    }
    let mut pace = Pace::new();
    for start in 0..count {
        pace.step(16)?;
        if !b[start].is_same(a[0]) {
            continue;
        }
        let forwards = (1..count).all(|at| b[(start + at) % count].is_same(a[at]));
        if forwards || (1..count).all(|at| b[(start + count - at) % count].is_same(a[at])) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The circle around the mean of the points of a polygon, whose radius is their mean distance from it.
pub(super) fn circle_of(polygon: &Polygon) -> Result<Circle> {
    let count = polygon.points.len() as f64;
    let (mut total, mut pace) = (Point::default(), Pace::new());
    for point in &polygon.points {
        pace.step(16)?;
        total = sum(total, *point)?;
    }
    let center = Point::new(div8(total.x, count)?, div8(total.y, count)?);
    let mut radius = 0.0;
    for point in &polygon.points {
        pace.step(16)?;
        radius = add8(radius, distance(*point, center)?)?;
    }
    Ok(Circle { center, radius: div8(radius, count)? })
}
