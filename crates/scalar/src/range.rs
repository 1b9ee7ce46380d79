//! Ranges and multiranges: the functions that make them, take them apart and compare them.
//!
//! ```text
//!   a        [-----)   [--)          a multirange: spans that ascend and do not touch
//!   b     [-----)        [------)
//!   a * b    [--)        )           walks along both at once
//! ```
//!
//! A range is a multirange of at most one span, so most functions have one body for both.

use std::iter;

use numeric::Numeric;
use types::range::Bound;
use types::time::{Date, Timestamp, TimestampTz};
use types::{
    ArrayRef, Datum, DatumRef, Error, Multirange, MultirangeRef, Range, RangeRef, Repr, Result,
    Shape, SqlState, Type,
};

use crate::function::{Call, Function, functions, sets};
use crate::rows::Rows;

/// The values between two bounds.
type Span<'a> = (Bound<'a>, Bound<'a>);

/// Returns the spans of a range or a multirange, ascending.
fn spans(value: DatumRef<'_>) -> impl Iterator<Item = Span<'_>> + Clone {
    let (range, ranges) = match value {
        DatumRef::Range(range) => (range.bounds(), None),
        DatumRef::Multirange(ranges) => (None, Some(ranges.iter())),
        _ => (None, None),
    };
    range.into_iter().chain(ranges.into_iter().flatten().filter_map(RangeRef::bounds))
}

/// Returns the first and the last bound; `None` if there are no values.
fn hull(value: DatumRef<'_>) -> Option<Span<'_>> {
    match value {
        DatumRef::Range(range) => range.bounds(),
        DatumRef::Multirange(ranges) => ranges.bounds(),
        _ => None,
    }
}

/// Returns true if all spans of `b`, which ascend, lie within spans of `a`.
fn contains<'s>(value: DatumRef<'_>, parts: impl Iterator<Item = Span<'s>>) -> bool {
    let mut wholes = spans(value).peekable();
    for (lower, upper) in parts {
        while wholes.next_if(|(_, end)| *end < lower).is_some() {}
        if !wholes.peek().is_some_and(|(from, to)| *from <= lower && upper <= *to) {
            return false;
        }
    }
    true
}

/// Returns true if a range or a multirange has all values of another.
pub fn covers(value: DatumRef<'_>, part: DatumRef<'_>) -> bool {
    contains(value, spans(part))
}

/// Returns true if a range or a multirange has no values.
pub fn is_empty(value: DatumRef<'_>) -> bool {
    spans(value).next().is_none()
}

fn contains_element(value: DatumRef<'_>, element: DatumRef<'_>) -> bool {
    contains(value, iter::once((Bound::lower(element, true), Bound::upper(element, true))))
}

/// Calls `f` with what spans of both have in common, until it returns false.
fn each_common<'s>(
    a: impl Iterator<Item = Span<'s>>,
    b: impl Iterator<Item = Span<'s>>,
    mut f: impl FnMut(Span<'s>) -> bool,
) {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    while let (Some(&(a_lower, a_upper)), Some(&(b_lower, b_upper))) = (a.peek(), b.peek()) {
        let (lower, upper) = (a_lower.max(b_lower), a_upper.min(b_upper));
        if lower <= upper && !f((lower, upper)) {
            return;
        }
        if a_upper <= b_upper {
            a.next()
        } else {
            b.next()
        };
    }
}

/// Returns true if two ranges or multiranges have a value in common.
pub fn overlap(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    let mut is_found = false;
    each_common(spans(a), spans(b), |_| {
        is_found = true;
        false
    });
    is_found
}

/// Compares the hulls of two values; false if one of them is empty.
fn compare(
    a: DatumRef<'_>,
    b: DatumRef<'_>,
    test: impl FnOnce(Span<'_>, Span<'_>) -> bool,
) -> bool {
    hull(a).zip(hull(b)).is_some_and(|(a, b)| test(a, b))
}

fn is_before(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    compare(a, b, |(_, end), (begin, _)| end < begin)
}

fn ends_by(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    compare(a, b, |(_, a), (_, b)| a <= b)
}

fn begins_from(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    compare(a, b, |(a, _), (b, _)| a >= b)
}

/// Returns true if one of two ranges or multiranges begins where the other ends.
pub fn is_adjacent(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    let meets = |end: Bound<'_>, begin: Bound<'_>| end.value.is_some() && end.turned() == begin;
    compare(a, b, |a, b| meets(a.1, b.0) || meets(b.1, a.0))
}

/// Returns the type of the bounds of the call's type, which is a range or a multirange type, and how they are held.
fn bounds_of(call: &Call<'_>) -> Result<(Type, Repr)> {
    let types = call.context.types.types;
    let ty = types.base_of(call.ret).0;
    let element = match types.shape_of(ty)? {
        Shape::Multirange(range) => types.bounds_of(range)?,
        _ => types.bounds_of(ty)?,
    };
    Ok((element, types.repr_of(element)?))
}

/// Returns the range between two bounds as a value of the call's type.
fn between(call: &Call<'_>, lower: Bound<'_>, upper: Bound<'_>) -> Result<Range> {
    let (element, repr) = bounds_of(call)?;
    Range::new(element, repr, lower, upper)
}

/// Returns the range that has all these spans and, where they do not touch, what lies between them.
fn merged<'s>(call: &Call<'_>, spans: impl Iterator<Item = Span<'s>>) -> Result<Range> {
    let hull = spans.reduce(|(from, to), (lower, upper)| (from.min(lower), to.max(upper)));
    match hull {
        Some((lower, upper)) => between(call, lower, upper),
        None => empty(call),
    }
}

fn empty(call: &Call<'_>) -> Result<Range> {
    let (element, repr) = bounds_of(call)?;
    Ok(Range::empty(element, repr))
}

/// Returns the multirange of spans that ascend and lie apart.
fn multirange(call: &Call<'_>, spans: &[Span<'_>]) -> Result<Multirange> {
    let (element, repr) = bounds_of(call)?;
    let ranges = spans.iter().map(|(lower, upper)| Range::new(element, repr, *lower, *upper));
    let ranges = ranges.collect::<Result<Vec<_>>>()?;
    Ok(Multirange::of(ranges.iter().map(Range::as_ref)))
}

fn not_contiguous(what: &str) -> Error {
    let message = format!("result of range {what} would not be contiguous");
    Error::new(SqlState::DATA_EXCEPTION, message)
}

fn union(call: &Call<'_>, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Range> {
    let are_empty = hull(a).is_none() || hull(b).is_none();
    if !are_empty && !overlap(a, b) && !is_adjacent(a, b) {
        return Err(not_contiguous("union"));
    }
    merged(call, spans(a).chain(spans(b)))
}

fn common<'s>(a: DatumRef<'s>, b: DatumRef<'s>) -> Vec<Span<'s>> {
    let mut all = Vec::new();
    each_common(spans(a), spans(b), |span| {
        all.push(span);
        true
    });
    all
}

fn intersection(call: &Call<'_>, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Range> {
    merged(call, common(a, b).into_iter())
}

/// Returns what two values of the call's type, a range or a multirange type, have in common.
pub(crate) fn intersection_of(call: &Call<'_>, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Datum> {
    match a {
        DatumRef::Multirange(_) => multirange(call, &common(a, b)).map(Datum::from),
        _ => intersection(call, a, b).map(Datum::from),
    }
}

/// Returns what is left of the spans of `a` without those of `b`.
fn left<'s>(a: DatumRef<'s>, b: DatumRef<'s>) -> Vec<Span<'s>> {
    let mut all = Vec::new();
    let mut holes = spans(b).peekable();
    for (mut lower, upper) in spans(a) {
        while holes.next_if(|(_, end)| *end < lower).is_some() {}
        let mut is_over = false;
        while let Some(&(begin, end)) = holes.peek().filter(|(begin, _)| *begin <= upper) {
            if begin.value.is_some() && lower <= begin.turned() {
                all.push((lower, begin.turned()));
            }
            // The next span may begin in the same hole.
            if end >= upper {
                is_over = true;
                break;
            }
            lower = end.turned();
            holes.next();
        }
        if !is_over && lower <= upper {
            all.push((lower, upper));
        }
    }
    all
}

fn difference(call: &Call<'_>, a: DatumRef<'_>, b: DatumRef<'_>) -> Result<Range> {
    match left(a, b)[..] {
        [] => empty(call),
        [(lower, upper)] => between(call, lower, upper),
        _ => Err(not_contiguous("difference")),
    }
}

/// Returns a range of the call's type.
fn range(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Range> {
    let (has_lower, has_upper) = match args.get(2) {
        None => (true, false),
        Some(DatumRef::Text("[]")) => (true, true),
        Some(DatumRef::Text("[)")) => (true, false),
        Some(DatumRef::Text("(]")) => (false, true),
        Some(DatumRef::Text("()")) => (false, false),
        Some(DatumRef::Null) => {
            return Err(Error::new(
                SqlState::DATA_EXCEPTION,
                "range constructor flags argument must not be null",
            ));
        }
        Some(_) => {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid range bound flags")
                .with_hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
        }
    };
    let (lower, upper) = (Bound::lower(args[0], has_lower), Bound::upper(args[1], has_upper));
    between(call, lower, upper)?.canonical(call.ret)
}

fn multirange_of_array(array: ArrayRef<'_>) -> Result<Multirange> {
    if array.dimensions().len() > 1 {
        return Err(Error::new(
            SqlState::CARDINALITY_VIOLATION,
            "multiranges cannot be constructed from multidimensional arrays",
        ));
    }
    let range = |value| match value {
        DatumRef::Range(range) => Ok(range),
        _ => Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "multirange values cannot contain null members",
        )),
    };
    Ok(Multirange::of(array.iter().map(range).collect::<Result<Vec<_>>>()?))
}

fn lower(value: DatumRef<'_>) -> Datum {
    hull(value).and_then(|(lower, _)| lower.value).map_or(Datum::Null, DatumRef::to_owned)
}

fn upper(value: DatumRef<'_>) -> Datum {
    hull(value).and_then(|(_, upper)| upper.value).map_or(Datum::Null, DatumRef::to_owned)
}

fn has_lower(value: DatumRef<'_>, test: impl FnOnce(Bound<'_>) -> bool) -> bool {
    hull(value).is_some_and(|(lower, _)| test(lower))
}

fn has_upper(value: DatumRef<'_>, test: impl FnOnce(Bound<'_>) -> bool) -> bool {
    hull(value).is_some_and(|(_, upper)| test(upper))
}

fn unnest(ranges: MultirangeRef<'_>) -> Rows {
    let ranges: Vec<_> = ranges.iter().map(|range| Ok(Datum::Range(range.to_owned()))).collect();
    Box::new(ranges.into_iter())
}

/// Returns the seconds between two moments in microseconds.
fn seconds(from: i64, to: i64) -> f64 {
    (to as f64 - from as f64) / 1_000_000.0
}

pub(crate) const TABLE: &[Function] = functions! {
    3922 int4range_subdiff(INT4, INT4) -> FLOAT8 = (a: i32, b: i32) f64::from(a) - f64::from(b);
    3923 int8range_subdiff(INT8, INT8) -> FLOAT8 = (a: i64, b: i64) a as f64 - b as f64;
    3924 numrange_subdiff(NUMERIC, NUMERIC) -> FLOAT8 = (a: Numeric, b: Numeric)
        a.checked_sub(&b).map(|difference| difference.to_f64_saturating());
    3925 daterange_subdiff(DATE, DATE) -> FLOAT8 = (a: Date, b: Date) f64::from(a.0) - f64::from(b.0);
    3929 tsrange_subdiff(TIMESTAMP, TIMESTAMP) -> FLOAT8 = (a: Timestamp, b: Timestamp)
        seconds(b.0, a.0);
    3930 tstzrange_subdiff(TIMESTAMPTZ, TIMESTAMPTZ) -> FLOAT8 = (a: TimestampTz, b: TimestampTz)
        seconds(b.0, a.0);
    3840 int4range(INT4, INT4) -> INT4RANGE [nullable] = [call, args]
        range(call, args);
    3841 int4range(INT4, INT4, TEXT) -> INT4RANGE [nullable] = [call, args]
        range(call, args);
    3844 numrange(NUMERIC, NUMERIC) -> NUMRANGE [nullable] = [call, args]
        range(call, args);
    3845 numrange(NUMERIC, NUMERIC, TEXT) -> NUMRANGE [nullable] = [call, args]
        range(call, args);
    3933 tsrange(TIMESTAMP, TIMESTAMP) -> TSRANGE [nullable] = [call, args]
        range(call, args);
    3934 tsrange(TIMESTAMP, TIMESTAMP, TEXT) -> TSRANGE [nullable] = [call, args]
        range(call, args);
    3937 tstzrange(TIMESTAMPTZ, TIMESTAMPTZ) -> TSTZRANGE [nullable] = [call, args]
        range(call, args);
    3938 tstzrange(TIMESTAMPTZ, TIMESTAMPTZ, TEXT) -> TSTZRANGE [nullable] = [call, args]
        range(call, args);
    3941 daterange(DATE, DATE) -> DATERANGE [nullable] = [call, args]
        range(call, args);
    3942 daterange(DATE, DATE, TEXT) -> DATERANGE [nullable] = [call, args]
        range(call, args);
    3945 int8range(INT8, INT8) -> INT8RANGE [nullable] = [call, args]
        range(call, args);
    3946 int8range(INT8, INT8, TEXT) -> INT8RANGE [nullable] = [call, args]
        range(call, args);
    4280 int4multirange() -> INT4MULTIRANGE = ()
        Multirange::of([]);
    4281 int4multirange(INT4RANGE) -> INT4MULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4282 int4multirange(INT4RANGE_ARRAY) -> INT4MULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4283 nummultirange() -> NUMMULTIRANGE = ()
        Multirange::of([]);
    4284 nummultirange(NUMRANGE) -> NUMMULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4285 nummultirange(NUMRANGE_ARRAY) -> NUMMULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4286 tsmultirange() -> TSMULTIRANGE = ()
        Multirange::of([]);
    4287 tsmultirange(TSRANGE) -> TSMULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4288 tsmultirange(TSRANGE_ARRAY) -> TSMULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4289 tstzmultirange() -> TSTZMULTIRANGE = ()
        Multirange::of([]);
    4290 tstzmultirange(TSTZRANGE) -> TSTZMULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4291 tstzmultirange(TSTZRANGE_ARRAY) -> TSTZMULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4292 datemultirange() -> DATEMULTIRANGE = ()
        Multirange::of([]);
    4293 datemultirange(DATERANGE) -> DATEMULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4294 datemultirange(DATERANGE_ARRAY) -> DATEMULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4295 int8multirange() -> INT8MULTIRANGE = ()
        Multirange::of([]);
    4296 int8multirange(INT8RANGE) -> INT8MULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    4297 int8multirange(INT8RANGE_ARRAY) -> INT8MULTIRANGE [variadic] = (a: ArrayRef<'_>)
        multirange_of_array(a);
    4298 multirange(ANYRANGE) -> ANYMULTIRANGE = (a: RangeRef<'_>)
        Multirange::of([a]);
    3848 lower(ANYRANGE) -> ANYELEMENT = (a: DatumRef<'_>)
        lower(a);
    4235 lower(ANYMULTIRANGE) -> ANYELEMENT = (a: DatumRef<'_>)
        lower(a);
    3849 upper(ANYRANGE) -> ANYELEMENT = (a: DatumRef<'_>)
        upper(a);
    4236 upper(ANYMULTIRANGE) -> ANYELEMENT = (a: DatumRef<'_>)
        upper(a);
    3850 isempty(ANYRANGE) -> BOOL = (a: DatumRef<'_>)
        hull(a).is_none();
    4237 isempty(ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>)
        hull(a).is_none();
    3851 lower_inc(ANYRANGE) -> BOOL = (a: DatumRef<'_>)
        has_lower(a, |bound| bound.is_inclusive);
    4238 lower_inc(ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>)
        has_lower(a, |bound| bound.is_inclusive);
    3852 upper_inc(ANYRANGE) -> BOOL = (a: DatumRef<'_>)
        has_upper(a, |bound| bound.is_inclusive);
    4239 upper_inc(ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>)
        has_upper(a, |bound| bound.is_inclusive);
    3853 lower_inf(ANYRANGE) -> BOOL = (a: DatumRef<'_>)
        has_lower(a, |bound| bound.value.is_none());
    4240 lower_inf(ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>)
        has_lower(a, |bound| bound.value.is_none());
    3854 upper_inf(ANYRANGE) -> BOOL = (a: DatumRef<'_>)
        has_upper(a, |bound| bound.value.is_none());
    4241 upper_inf(ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>)
        has_upper(a, |bound| bound.value.is_none());
    3855 range_eq(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a == b;
    4244 multirange_eq(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a == b;
    3856 range_ne(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a != b;
    4245 multirange_ne(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a != b;
    3871 range_lt(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a < b;
    4274 multirange_lt(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a < b;
    3872 range_le(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a <= b;
    4275 multirange_le(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a <= b;
    3874 range_gt(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a > b;
    4277 multirange_gt(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a > b;
    3873 range_ge(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a >= b;
    4276 multirange_ge(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        a >= b;
    3870 range_cmp(ANYRANGE, ANYRANGE) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>)
        a.cmp(&b) as i32;
    4273 multirange_cmp(ANYMULTIRANGE, ANYMULTIRANGE) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>)
        a.cmp(&b) as i32;
    3858 range_contains_elem(ANYRANGE, ANYELEMENT) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains_element(a, b);
    4249 multirange_contains_elem(ANYMULTIRANGE, ANYELEMENT) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains_element(a, b);
    3860 elem_contained_by_range(ANYELEMENT, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains_element(b, a);
    4252 elem_contained_by_multirange(ANYELEMENT, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains_element(b, a);
    3859 range_contains(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(a, spans(b));
    4250 multirange_contains_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(a, spans(b));
    4251 multirange_contains_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(a, spans(b));
    4541 range_contains_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(a, spans(b));
    3861 range_contained_by(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(b, spans(a));
    4253 range_contained_by_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(b, spans(a));
    4254 multirange_contained_by_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(b, spans(a));
    4542 multirange_contained_by_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        contains(b, spans(a));
    3857 range_overlaps(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        overlap(a, b);
    4246 range_overlaps_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        overlap(a, b);
    4247 multirange_overlaps_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        overlap(a, b);
    4248 multirange_overlaps_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        overlap(a, b);
    3863 range_before(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(a, b);
    4258 range_before_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(a, b);
    4259 multirange_before_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(a, b);
    4260 multirange_before_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(a, b);
    3864 range_after(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(b, a);
    4261 range_after_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(b, a);
    4262 multirange_after_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(b, a);
    4263 multirange_after_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_before(b, a);
    3865 range_overleft(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        ends_by(a, b);
    4264 range_overleft_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        ends_by(a, b);
    4265 multirange_overleft_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        ends_by(a, b);
    4266 multirange_overleft_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        ends_by(a, b);
    3866 range_overright(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        begins_from(a, b);
    4267 range_overright_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        begins_from(a, b);
    4268 multirange_overright_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        begins_from(a, b);
    4269 multirange_overright_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        begins_from(a, b);
    3862 range_adjacent(ANYRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_adjacent(a, b);
    4255 range_adjacent_multirange(ANYRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_adjacent(a, b);
    4257 multirange_adjacent_range(ANYMULTIRANGE, ANYRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_adjacent(a, b);
    4256 multirange_adjacent_multirange(ANYMULTIRANGE, ANYMULTIRANGE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>)
        is_adjacent(a, b);
    3867 range_union(ANYRANGE, ANYRANGE) -> ANYRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        union(call, a, b);
    3868 range_intersect(ANYRANGE, ANYRANGE) -> ANYRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        intersection(call, a, b);
    3869 range_minus(ANYRANGE, ANYRANGE) -> ANYRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        difference(call, a, b);
    4057 range_merge(ANYRANGE, ANYRANGE) -> ANYRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        merged(call, spans(a).chain(spans(b)));
    4228 range_merge(ANYMULTIRANGE) -> ANYRANGE = (call; a: DatumRef<'_>)
        merged(call, spans(a));
    4270 multirange_union(ANYMULTIRANGE, ANYMULTIRANGE) -> ANYMULTIRANGE = (a: MultirangeRef<'_>, b: MultirangeRef<'_>)
        Multirange::of(a.iter().chain(b.iter()));
    4272 multirange_intersect(ANYMULTIRANGE, ANYMULTIRANGE) -> ANYMULTIRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        multirange(call, &common(a, b));
    4271 multirange_minus(ANYMULTIRANGE, ANYMULTIRANGE) -> ANYMULTIRANGE = (call; a: DatumRef<'_>, b: DatumRef<'_>)
        multirange(call, &left(a, b));
    3914 int4range_canonical(INT4RANGE) -> INT4RANGE = (call; a: RangeRef<'_>)
        a.to_owned().canonical(call.ret);
    3928 int8range_canonical(INT8RANGE) -> INT8RANGE = (call; a: RangeRef<'_>)
        a.to_owned().canonical(call.ret);
    3915 daterange_canonical(DATERANGE) -> DATERANGE = (call; a: RangeRef<'_>)
        a.to_owned().canonical(call.ret);
};

pub(crate) const SETS: &[Function] = sets! {
    1293 unnest(ANYMULTIRANGE) -> ANYRANGE = (a: MultirangeRef<'_>) Ok(unnest(a));
};
