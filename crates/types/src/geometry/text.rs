//! Geometric values as text.
//!
//! ```text
//!   (1,2)   1,2                                       a point
//!   ((0,0),(1,1))   (0,0),(1,1)   (0,0,1,1)   0,0,1,1    points; open paths in brackets
//! ```
//!
//! Parentheses may be left out, and space stands anywhere beside numbers.

use interrupt::Pace;

use super::{Circle, Line, Path, Point, Polygon, check_points, is_zero};
use crate::text::{invalid_syntax, is_space, parse_float8, write_float8};
use crate::{Error, Result, SqlState};

/// A text that is read from its beginning on.
struct Scan<'a> {
    name: &'static str,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn new(name: &'static str, text: &'a str) -> Self {
        Self { name, text, rest: text }
    }

    fn invalid(&self) -> Error {
        invalid_syntax(self.name, self.text)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    /// Steps over a character that must be there.
    fn expect(&mut self, c: char) -> Result<()> {
        self.rest = self.rest.strip_prefix(c).ok_or_else(|| self.invalid())?;
        Ok(())
    }

    fn accept(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.invalid()) }
    }

    /// A number with space around it.
    fn number(&mut self) -> Result<f64> {
        self.skip_space();
        let length = number_bytes(self.rest);
        if length == 0 {
            return Err(self.invalid());
        }
        let (number, rest) = self.rest.split_at(length);
        let number = parse_float8(number)?;
        self.rest = rest;
        self.skip_space();
        Ok(number)
    }

    /// Two numbers, which may have parentheses around them.
    fn pair(&mut self) -> Result<Point> {
        self.skip_space();
        let is_enclosed = self.accept('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if is_enclosed {
            self.expect(')')?;
            self.skip_space();
        }
        Ok(Point { x, y })
    }

    /// So many points, which may have parentheses around them or, where these are allowed, brackets. Returns
    /// whether they have brackets.
    fn points(&mut self, count: usize, may_open: bool) -> Result<(bool, Vec<Point>)> {
        self.skip_space();
        let mut depth = 0;
        let is_open = self.rest.starts_with('[');
        if is_open {
            if !may_open {
                return Err(self.invalid());
            }
            depth = 1;
            self.rest = &self.rest[1..];
        } else if let Some(after) = self.rest.strip_prefix('(') {
            let after = after.trim_start_matches(is_space);
            // A parenthesis that is not of the first pair.
            if after.starts_with('(') || !after.contains('(') {
                depth = 1;
                self.rest = after;
            }
        }
        let mut points = Vec::with_capacity(count);
        let mut pace = Pace::new();
        for _ in 0..count {
            pace.step(32)?;
            points.push(self.pair()?);
            self.accept(',');
        }
        if depth > 0 {
            let is_closed = self.accept(')') || is_open && self.accept(']');
            if !is_closed {
                return Err(self.invalid());
            }
            self.skip_space();
        }
        Ok((is_open, points))
    }
}

/// How many bytes at the beginning of a text are a number, as C's `strtod` reads it.
fn number_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(text.starts_with(['+', '-']));
    for word in ["infinity", "inf", "nan"] {
        let found = bytes.get(sign..sign + word.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())) {
            return sign + word.len();
        }
    }
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// How many points a text has, by its commas.
fn count_points(scan: &Scan<'_>) -> Result<usize> {
    let commas = scan.text.bytes().filter(|byte| *byte == b',').count();
    if commas % 2 == 0 {
        return Err(scan.invalid());
    }
    let count = commas.div_ceil(2);
    check_points(count)?;
    Ok(count)
}

pub(super) fn point(text: &str) -> Result<Point> {
    let mut scan = Scan::new("point", text);
    let point = scan.pair()?;
    scan.end()?;
    Ok(point)
}

pub(super) fn two_points(text: &str, name: &'static str, may_open: bool) -> Result<(Point, Point)> {
    let mut scan = Scan::new(name, text);
    let (_, points) = scan.points(2, may_open)?;
    scan.end()?;
    Ok((points[0], points[1]))
}

pub(super) fn path(text: &str) -> Result<Path> {
    let mut scan = Scan::new("path", text);
    let count = count_points(&scan)?;
    scan.skip_space();
    // A single parenthesis is around all numbers.
    let is_enclosed = scan.rest.starts_with('(') && !scan.rest[1..].contains('(');
    if is_enclosed {
        scan.rest = &scan.rest[1..];
    }
    let (is_open, points) = scan.points(count, true)?;
    if is_enclosed {
        scan.expect(')')?;
        scan.skip_space();
    }
    scan.end()?;
    Ok(Path { is_closed: !is_open, points })
}

pub(super) fn polygon(text: &str) -> Result<Polygon> {
    let mut scan = Scan::new("polygon", text);
    let count = count_points(&scan)?;
    let (_, points) = scan.points(count, false)?;
    scan.end()?;
    Ok(Polygon { points })
}

pub(super) fn circle(text: &str) -> Result<Circle> {
    let mut scan = Scan::new("circle", text);
    scan.skip_space();
    let mut is_enclosed = scan.accept('<');
    if !is_enclosed && let Some(after) = scan.rest.strip_prefix('(') {
        let after = after.trim_start_matches(is_space);
        if after.starts_with('(') {
            (is_enclosed, scan.rest) = (true, after);
        }
    }
    let center = scan.pair()?;
    scan.accept(',');
    let radius = scan.number()?;
    if radius < 0.0 {
        return Err(scan.invalid());
    }
    if is_enclosed {
        if !scan.accept(')') && !scan.accept('>') {
            return Err(scan.invalid());
        }
        scan.skip_space();
    }
    scan.end()?;
    Ok(Circle { center, radius })
}

#[cold]
fn no_line(what: &str) -> Error {
    let message = format!("invalid line specification: {what}");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

pub(super) fn line(text: &str) -> Result<Line> {
    let mut scan = Scan::new("line", text);
    scan.skip_space();
    if scan.accept('{') {
        let a = scan.number()?;
        scan.expect(',')?;
        let b = scan.number()?;
        scan.expect(',')?;
        let c = scan.number()?;
        scan.expect('}')?;
        scan.skip_space();
        scan.end()?;
        if is_zero(a) && is_zero(b) {
            return Err(no_line("A and B cannot both be zero"));
        }
        return Ok(Line { a, b, c });
    }
    let (_, points) = scan.points(2, true)?;
    scan.end()?;
    Line::through(points[0], points[1])?.ok_or_else(|| no_line("must be two distinct points"))
}

pub(super) fn write_point(point: Point, digits: i32, out: &mut String) {
    out.push('(');
    write_float8(point.x, digits, out);
    out.push(',');
    write_float8(point.y, digits, out);
    out.push(')');
}

pub(super) fn write_points(
    points: &[Point],
    around: Option<(char, char)>,
    digits: i32,
    out: &mut String,
) -> Result<()> {
    out.extend(around.map(|(open, _)| open));
    let mut pace = Pace::new();
    for (at, point) in points.iter().enumerate() {
        pace.step(64)?;
        if at > 0 {
            out.push(',');
        }
        write_point(*point, digits, out);
    }
    out.extend(around.map(|(_, close)| close));
    crate::bounded::check(out.len())
}

pub(super) fn write_line(line: Line, digits: i32, out: &mut String) {
    out.push('{');
    write_float8(line.a, digits, out);
    out.push(',');
    write_float8(line.b, digits, out);
    out.push(',');
    write_float8(line.c, digits, out);
    out.push('}');
}

pub(super) fn write_circle(circle: Circle, digits: i32, out: &mut String) {
    out.push('<');
    write_point(circle.center, digits, out);
    out.push(',');
    write_float8(circle.radius, digits, out);
    out.push('>');
}
