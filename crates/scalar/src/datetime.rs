//! Dates and times: the operations of [`types::time`] under their SQL names.
//!
//! A function that depends on the session's time zone is stable, not immutable: the same moment is
//! another day elsewhere. A zone can also be named in the call.

use std::cmp::Ordering;

use numeric::Numeric;
use types::time::{
    Date, Interval, IntervalParts, Time, TimeTz, TimeZone, Timestamp, TimestampTz, ZoneName,
};
use types::{Coercion, Datum, Error, Modifier, Result, SqlState, Type};

use crate::function::{Call, Default, Function, functions, sets};
use crate::rows::Rows;

/// The time zone of the session.
pub(crate) fn zone<'a>(call: &Call<'a>) -> &'a TimeZone {
    &call.context.types.style.time_zone
}

/// The zone that an interval east of Greenwich makes.
fn zone_of(call: &Call<'_>, east: Interval) -> Result<ZoneName> {
    ZoneName::from_interval(east, call.context.types.style)
}

/// A zone by its full name, as functions that calculate in it need it.
fn zone_named(name: &str) -> Result<TimeZone> {
    TimeZone::find(name).ok_or_else(|| {
        Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("time zone \"{name}\" not recognized"),
        )
    })
}

fn out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// The order of a local time and a moment; a local time that is no moment is beyond all of them.
pub(crate) fn local(call: &Call<'_>, local: Timestamp, moment: TimestampTz) -> Ordering {
    match local.in_zone(zone(call)) {
        Some(at) => at.cmp(&moment),
        None if local.0 < 0 => Ordering::Less,
        None => Ordering::Greater,
    }
}

fn to_moment(call: &Call<'_>, local: Timestamp) -> Result<TimestampTz> {
    local.in_zone(zone(call)).ok_or_else(out_of_range)
}

fn to_local(call: &Call<'_>, moment: TimestampTz) -> Result<Timestamp> {
    moment.to_local(zone(call)).ok_or_else(out_of_range)
}

/// A part of a date as a float, as `date_part` gives it.
fn part(value: Option<Numeric>) -> Result<Option<f64>> {
    Ok(value.map(|value| value.to_f64()).transpose()?)
}

/// Midnight of the day of the transaction.
fn today(call: &Call<'_>) -> Result<Timestamp> {
    call.context.types.now.date(zone(call))?.to_timestamp()
}

/// The moments from `start` to `stop`, `step` apart.
fn series<T>(
    start: T,
    stop: T,
    step: Interval,
    next: impl Fn(T, Interval) -> Result<T> + Send + 'static,
) -> Result<Rows>
where
    T: Copy + Ord + Into<Datum> + Send + 'static,
{
    let zero = Interval { months: 0, days: 0, us: 0 };
    let refuse = |message: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    if step == zero {
        return refuse("step size cannot equal zero");
    }
    if !step.is_finite() {
        return refuse("step size cannot be infinite");
    }
    let up = step > zero;
    let mut at = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = at.take().filter(|at| if up { *at <= stop } else { *at >= stop })?;
        match next(value, step) {
            Ok(following) => at = Some(following),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(value.into()))
    })))
}

/// Seconds of a float default, for `make_interval`.
const NOTHING: &[Default] = &[
    Default::Int(0),
    Default::Int(0),
    Default::Int(0),
    Default::Int(0),
    Default::Int(0),
    Default::Int(0),
    Default::Float(0.0),
];

pub(crate) const TABLE: &[Function] = functions! {
    1141 date_pli(DATE, INT4) -> DATE = (a: Date, n: i32) a.add_days(n.into());
    1142 date_mii(DATE, INT4) -> DATE = (a: Date, n: i32) a.add_days(-i64::from(n));
    2550 integer_pl_date(INT4, DATE) -> DATE = (n: i32, a: Date) a.add_days(n.into());
    1140 date_mi(DATE, DATE) -> INT4 = (a: Date, b: Date) a.days_since(b);
    2071 date_pl_interval(DATE, INTERVAL) -> TIMESTAMP = (a: Date, i: Interval)
        a.to_timestamp()?.add(i);
    2072 date_mi_interval(DATE, INTERVAL) -> TIMESTAMP = (a: Date, i: Interval)
        a.to_timestamp()?.add(i.negate()?);
    2546 interval_pl_date(INTERVAL, DATE) -> TIMESTAMP = (i: Interval, a: Date)
        a.to_timestamp()?.add(i);
    1272 datetime_pl(DATE, TIME) -> TIMESTAMP = (a: Date, t: Time) a.at(t);
    1296 timedate_pl(TIME, DATE) -> TIMESTAMP = (t: Time, a: Date) a.at(t);
    1297 datetimetz_pl(DATE, TIMETZ) -> TIMESTAMPTZ = (a: Date, t: TimeTz) a.at_tz(t);
    1298 timetzdate_pl(TIMETZ, DATE) -> TIMESTAMPTZ = (t: TimeTz, a: Date) a.at_tz(t);
    2032 timestamp_pl_interval(TIMESTAMP, INTERVAL) -> TIMESTAMP = (a: Timestamp, i: Interval)
        a.add(i);
    2033 timestamp_mi_interval(TIMESTAMP, INTERVAL) -> TIMESTAMP = (a: Timestamp, i: Interval)
        a.add(i.negate()?);
    2548 interval_pl_timestamp(INTERVAL, TIMESTAMP) -> TIMESTAMP = (i: Interval, a: Timestamp)
        a.add(i);
    2031 timestamp_mi(TIMESTAMP, TIMESTAMP) -> INTERVAL = (a: Timestamp, b: Timestamp) a.since(b);
    1189 timestamptz_pl_interval(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ [stable] =
        (call; a: TimestampTz, i: Interval) a.add(i, zone(call));
    1190 timestamptz_mi_interval(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ [stable] =
        (call; a: TimestampTz, i: Interval) a.add(i.negate()?, zone(call));
    2549 interval_pl_timestamptz(INTERVAL, TIMESTAMPTZ) -> TIMESTAMPTZ [stable] =
        (call; i: Interval, a: TimestampTz) a.add(i, zone(call));
    6221 date_add(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ [stable] =
        (call; a: TimestampTz, i: Interval) a.add(i, zone(call));
    6222 date_add(TIMESTAMPTZ, INTERVAL, TEXT) -> TIMESTAMPTZ =
        (a: TimestampTz, i: Interval, name: &str) a.add(i, &zone_named(name)?);
    6223 date_subtract(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ [stable] =
        (call; a: TimestampTz, i: Interval) a.add(i.negate()?, zone(call));
    6273 date_subtract(TIMESTAMPTZ, INTERVAL, TEXT) -> TIMESTAMPTZ =
        (a: TimestampTz, i: Interval, name: &str) a.add(i.negate()?, &zone_named(name)?);
    1188 timestamptz_mi(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL = (a: TimestampTz, b: TimestampTz)
        a.since(b);
    1747 time_pl_interval(TIME, INTERVAL) -> TIME = (a: Time, i: Interval) a.add(i);
    1848 interval_pl_time(INTERVAL, TIME) -> TIME = (i: Interval, a: Time) a.add(i);
    1748 time_mi_interval(TIME, INTERVAL) -> TIME = (a: Time, i: Interval) a.subtract(i);
    1690 time_mi_time(TIME, TIME) -> INTERVAL = (a: Time, b: Time) a.since(b);
    1749 timetz_pl_interval(TIMETZ, INTERVAL) -> TIMETZ = (a: TimeTz, i: Interval) a.add(i);
    2547 interval_pl_timetz(INTERVAL, TIMETZ) -> TIMETZ = (i: Interval, a: TimeTz) a.add(i);
    1750 timetz_mi_interval(TIMETZ, INTERVAL) -> TIMETZ = (a: TimeTz, i: Interval) a.subtract(i);
    1169 interval_pl(INTERVAL, INTERVAL) -> INTERVAL = (a: Interval, b: Interval) a.add(b);
    1170 interval_mi(INTERVAL, INTERVAL) -> INTERVAL = (a: Interval, b: Interval) a.subtract(b);
    1168 interval_um(INTERVAL) -> INTERVAL = (a: Interval) a.negate();
    1618 interval_mul(INTERVAL, FLOAT8) -> INTERVAL = (a: Interval, n: f64) a.multiply(n);
    1624 mul_d_interval(FLOAT8, INTERVAL) -> INTERVAL = (n: f64, a: Interval) a.multiply(n);
    1326 interval_div(INTERVAL, FLOAT8) -> INTERVAL = (a: Interval, n: f64) a.divide(n);

    2058 age(TIMESTAMP, TIMESTAMP) -> INTERVAL = (a: Timestamp, b: Timestamp) a.age(b);
    2059 age(TIMESTAMP) -> INTERVAL [stable] = (call; a: Timestamp) today(call)?.age(a);
    1199 age(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL = (call; a: TimestampTz, b: TimestampTz)
        a.age(b, zone(call));
    1386 age(TIMESTAMPTZ) -> INTERVAL [stable] = (call; a: TimestampTz)
        to_moment(call, today(call)?)?.age(a, zone(call));
    1175 justify_hours(INTERVAL) -> INTERVAL = (a: Interval) a.justify_hours();
    1295 justify_days(INTERVAL) -> INTERVAL = (a: Interval) a.justify_days();
    2711 justify_interval(INTERVAL) -> INTERVAL = (a: Interval) a.justify();
    1373 isfinite(DATE) -> BOOL = (a: Date) a.is_finite();
    1389 isfinite(TIMESTAMPTZ) -> BOOL = (a: TimestampTz) a.is_finite();
    1390 isfinite(INTERVAL) -> BOOL = (a: Interval) a.is_finite();
    2048 isfinite(TIMESTAMP) -> BOOL = (a: Timestamp) a.is_finite();

    1384 date_part(TEXT, DATE) -> FLOAT8 = (field: &str, a: Date)
        part(a.to_timestamp()?.extract(field)?);
    1385 date_part(TEXT, TIME) -> FLOAT8 = (field: &str, a: Time) part(Some(a.extract(field)?));
    1273 date_part(TEXT, TIMETZ) -> FLOAT8 = (field: &str, a: TimeTz) part(Some(a.extract(field)?));
    2021 date_part(TEXT, TIMESTAMP) -> FLOAT8 = (field: &str, a: Timestamp) part(a.extract(field)?);
    1172 date_part(TEXT, INTERVAL) -> FLOAT8 = (field: &str, a: Interval) part(a.extract(field)?);
    1171 date_part(TEXT, TIMESTAMPTZ) -> FLOAT8 [stable] = (call; field: &str, a: TimestampTz)
        part(a.extract(field, zone(call))?);
    6199 extract(TEXT, DATE) -> NUMERIC = (field: &str, a: Date) a.extract(field);
    6200 extract(TEXT, TIME) -> NUMERIC = (field: &str, a: Time) a.extract(field);
    6201 extract(TEXT, TIMETZ) -> NUMERIC = (field: &str, a: TimeTz) a.extract(field);
    6202 extract(TEXT, TIMESTAMP) -> NUMERIC = (field: &str, a: Timestamp) a.extract(field);
    6204 extract(TEXT, INTERVAL) -> NUMERIC = (field: &str, a: Interval) a.extract(field);
    6203 extract(TEXT, TIMESTAMPTZ) -> NUMERIC [stable] = (call; field: &str, a: TimestampTz)
        a.extract(field, zone(call));

    2020 date_trunc(TEXT, TIMESTAMP) -> TIMESTAMP = (field: &str, a: Timestamp) a.trunc(field);
    1217 date_trunc(TEXT, TIMESTAMPTZ) -> TIMESTAMPTZ [stable] =
        (call; field: &str, a: TimestampTz) a.trunc(field, zone(call));
    1284 date_trunc(TEXT, TIMESTAMPTZ, TEXT) -> TIMESTAMPTZ =
        (call; field: &str, a: TimestampTz, name: &str) if a.is_finite() {
            a.trunc(field, &zone_named(name)?)
        } else {
            a.trunc(field, zone(call))
        };
    1218 date_trunc(TEXT, INTERVAL) -> INTERVAL = (field: &str, a: Interval) a.trunc(field);
    6177 date_bin(INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP =
        (stride: Interval, a: Timestamp, origin: Timestamp) a.bin(stride, origin);
    6178 date_bin(INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> TIMESTAMPTZ =
        (stride: Interval, a: TimestampTz, origin: TimestampTz) a.bin(stride, origin);

    3846 make_date(INT4, INT4, INT4) -> DATE = (year: i32, month: i32, day: i32)
        Date::make(year, month, day);
    3847 make_time(INT4, INT4, FLOAT8) -> TIME = (hour: i32, minute: i32, second: f64)
        Time::make(hour, minute, second);
    3461 make_timestamp(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMP =
        (year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64)
        Timestamp::make((year, month, day), (hour, minute, second));
    3462 make_timestamptz(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMPTZ [stable] =
        (call; year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64)
        to_moment(call, Timestamp::make((year, month, day), (hour, minute, second))?);
    3463 make_timestamptz(INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT) -> TIMESTAMPTZ [stable] =
        (year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64, name: &str)
        Timestamp::make((year, month, day), (hour, minute, second))?
            .at_zone(&ZoneName::parse_iso(name)?);
    3464 make_interval(INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8) -> INTERVAL
        [defaults = NOTHING] =
        (years: i32, months: i32, weeks: i32, days: i32, hours: i32, minutes: i32, seconds: f64)
        Interval::make(IntervalParts { years, months, weeks, days, hours, minutes, seconds });
    1158 to_timestamp(FLOAT8) -> TIMESTAMPTZ = (seconds: f64) TimestampTz::from_unix(seconds);

    1159 timezone(TEXT, TIMESTAMPTZ) -> TIMESTAMP = (name: &str, a: TimestampTz)
        if a.is_finite() { a.at_zone(&ZoneName::parse(name)?) } else { Ok(Timestamp(a.0)) };
    1026 timezone(INTERVAL, TIMESTAMPTZ) -> TIMESTAMP = (call; east: Interval, a: TimestampTz)
        a.at_zone(&zone_of(call, east)?);
    2069 timezone(TEXT, TIMESTAMP) -> TIMESTAMPTZ = (name: &str, a: Timestamp)
        if a.is_finite() { a.at_zone(&ZoneName::parse(name)?) } else { Ok(TimestampTz(a.0)) };
    2070 timezone(INTERVAL, TIMESTAMP) -> TIMESTAMPTZ = (call; east: Interval, a: Timestamp)
        a.at_zone(&zone_of(call, east)?);
    2037 timezone(TEXT, TIMETZ) -> TIMETZ [stable] = (call; name: &str, a: TimeTz)
        a.at_zone(&ZoneName::parse(name)?, call.context.types.now);
    2038 timezone(INTERVAL, TIMETZ) -> TIMETZ = (call; east: Interval, a: TimeTz)
        a.at_zone(&zone_of(call, east)?, call.context.types.now);
    6336 timezone(TIMETZ) -> TIMETZ [stable] = (call; a: TimeTz)
        a.at_zone(&ZoneName::Zone(zone(call).clone()), call.context.types.now);
    6334 timezone(TIMESTAMPTZ) -> TIMESTAMP [stable] = (call; a: TimestampTz) to_local(call, a);
    6335 timezone(TIMESTAMP) -> TIMESTAMPTZ [stable] = (call; a: Timestamp) to_moment(call, a);

    2024 timestamp(DATE) -> TIMESTAMP = (a: Date) a.to_timestamp();
    2025 timestamp(DATE, TIME) -> TIMESTAMP = (a: Date, t: Time) a.at(t);
    2027 timestamp(TIMESTAMPTZ) -> TIMESTAMP [stable] = (call; a: TimestampTz) to_local(call, a);
    1174 timestamptz(DATE) -> TIMESTAMPTZ [stable] = (call; a: Date) a.to_timestamptz(zone(call));
    1176 timestamptz(DATE, TIME) -> TIMESTAMPTZ [stable] = (call; a: Date, t: Time)
        to_moment(call, a.at(t)?);
    1359 timestamptz(DATE, TIMETZ) -> TIMESTAMPTZ = (a: Date, t: TimeTz) a.at_tz(t);
    2028 timestamptz(TIMESTAMP) -> TIMESTAMPTZ [stable] = (call; a: Timestamp) to_moment(call, a);
    2029 date(TIMESTAMP) -> DATE = (a: Timestamp) a.date();
    1178 date(TIMESTAMPTZ) -> DATE [stable] = (call; a: TimestampTz) a.date(zone(call));
    1316 time(TIMESTAMP) -> TIME = (a: Timestamp) a.time();
    2019 time(TIMESTAMPTZ) -> TIME [stable] = (call; a: TimestampTz) a.time(zone(call));
    1419 time(INTERVAL) -> TIME = (a: Interval) a.to_time();
    2046 time(TIMETZ) -> TIME = (a: TimeTz) a.time;
    1388 timetz(TIMESTAMPTZ) -> TIMETZ [stable] = (call; a: TimestampTz) a.timetz(zone(call));
    2047 timetz(TIME) -> TIMETZ [stable] = (call; a: Time)
        a.in_zone(zone(call), call.context.types.now);
    1200 interval(INTERVAL, INT4) -> INTERVAL = (a: Interval, to: i32)
        Modifier(to).apply(a.into(), Type::INTERVAL, Coercion::Explicit);
    1961 timestamp(TIMESTAMP, INT4) -> TIMESTAMP = (a: Timestamp, to: i32)
        Modifier(to).apply(a.into(), Type::TIMESTAMP, Coercion::Explicit);
    1967 timestamptz(TIMESTAMPTZ, INT4) -> TIMESTAMPTZ = (a: TimestampTz, to: i32)
        Modifier(to).apply(a.into(), Type::TIMESTAMPTZ, Coercion::Explicit);
    1968 time(TIME, INT4) -> TIME = (a: Time, to: i32)
        Modifier(to).apply(a.into(), Type::TIME, Coercion::Explicit);
    1969 timetz(TIMETZ, INT4) -> TIMETZ = (a: TimeTz, to: i32)
        Modifier(to).apply(a.into(), Type::TIMETZ, Coercion::Explicit);
    1370 interval(TIME) -> INTERVAL = (a: Time) a.to_interval();

    2340 date_eq_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_eq();
    2343 date_ne_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_ne();
    2338 date_lt_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_lt();
    2339 date_le_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_le();
    2341 date_gt_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_gt();
    2342 date_ge_timestamp(DATE, TIMESTAMP) -> BOOL = (a: Date, b: Timestamp) a.cmp_timestamp(b).is_ge();
    2366 timestamp_eq_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_eq();
    2369 timestamp_ne_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_ne();
    2364 timestamp_lt_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_lt();
    2365 timestamp_le_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_le();
    2367 timestamp_gt_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_gt();
    2368 timestamp_ge_date(TIMESTAMP, DATE) -> BOOL = (a: Timestamp, b: Date) b.cmp_timestamp(a).reverse().is_ge();
    2353 date_eq_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_eq();
    2356 date_ne_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_ne();
    2351 date_lt_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_lt();
    2352 date_le_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_le();
    2354 date_gt_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_gt();
    2355 date_ge_timestamptz(DATE, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Date, b: TimestampTz) a.cmp_timestamptz(b, zone(call)).is_ge();
    2379 timestamptz_eq_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_eq();
    2382 timestamptz_ne_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_ne();
    2377 timestamptz_lt_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_lt();
    2378 timestamptz_le_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_le();
    2380 timestamptz_gt_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_gt();
    2381 timestamptz_ge_date(TIMESTAMPTZ, DATE) -> BOOL [stable] = (call; a: TimestampTz, b: Date) b.cmp_timestamptz(a, zone(call)).reverse().is_ge();
    2522 timestamp_eq_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_eq();
    2525 timestamp_ne_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_ne();
    2520 timestamp_lt_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_lt();
    2521 timestamp_le_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_le();
    2523 timestamp_gt_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_gt();
    2524 timestamp_ge_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> BOOL [stable] = (call; a: Timestamp, b: TimestampTz) local(call, a, b).is_ge();
    2529 timestamptz_eq_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_eq();
    2532 timestamptz_ne_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_ne();
    2527 timestamptz_lt_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_lt();
    2528 timestamptz_le_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_le();
    2530 timestamptz_gt_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_gt();
    2531 timestamptz_ge_timestamp(TIMESTAMPTZ, TIMESTAMP) -> BOOL [stable] = (call; a: TimestampTz, b: Timestamp) local(call, b, a).reverse().is_ge();
};

pub(crate) const SETS: &[Function] = sets! {
    938 generate_series(TIMESTAMP, TIMESTAMP, INTERVAL) -> TIMESTAMP =
        (start: Timestamp, stop: Timestamp, step: Interval)
        series(start, stop, step, Timestamp::add);
    939 generate_series(TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ [stable] =
        (call; start: TimestampTz, stop: TimestampTz, step: Interval) {
            let zone = zone(call).clone();
            series(start, stop, step, move |at, step| at.add(step, &zone))
        };
    6274 generate_series(TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL, TEXT) -> TIMESTAMPTZ =
        (start: TimestampTz, stop: TimestampTz, step: Interval, name: &str) {
            let zone = zone_named(name)?;
            series(start, stop, step, move |at, step| at.add(step, &zone))
        };
};
