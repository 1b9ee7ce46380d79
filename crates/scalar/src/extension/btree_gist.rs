//! `btree_gist`: the distance of two values, which is never negative.
//!
//! Its operator classes belong to GiST.

use types::time::{Date, Interval, Time, Timestamp, TimestampTz};
use types::{Oid, Result};

use crate::function::{Function, functions};
use crate::integer::out_of_range;
use crate::operators::{Operator, operators};
use types::float::overflow;

/// The interval or the one with the other sign, whichever is longer than nothing.
fn length(interval: Interval) -> Result<Interval> {
    let nothing = Interval { months: 0, days: 0, us: 0 };
    if interval < nothing { interval.negate() } else { Ok(interval) }
}

/// The distance of two floating point numbers, of which neither is lost in the other.
fn between_floats(a: f64, b: f64, most: f64) -> Result<f64> {
    let distance = (a - b).abs();
    if distance > most && a.is_finite() && b.is_finite() { Err(overflow()) } else { Ok(distance) }
}

pub(crate) const TABLE: &[Function] = functions! {
    8448 int2_dist(INT2, INT2) -> INT2 = (a: i16, b: i16)
        a.checked_sub(b).and_then(i16::checked_abs).ok_or_else(|| out_of_range("smallint"));
    8449 int4_dist(INT4, INT4) -> INT4 = (a: i32, b: i32)
        a.checked_sub(b).and_then(i32::checked_abs).ok_or_else(|| out_of_range("integer"));
    8450 int8_dist(INT8, INT8) -> INT8 = (a: i64, b: i64)
        a.checked_sub(b).and_then(i64::checked_abs).ok_or_else(|| out_of_range("bigint"));
    8451 float4_dist(FLOAT4, FLOAT4) -> FLOAT4 = (a: f32, b: f32)
        between_floats(a.into(), b.into(), f32::MAX.into()).map(|distance| distance as f32);
    8452 float8_dist(FLOAT8, FLOAT8) -> FLOAT8 = (a: f64, b: f64) between_floats(a, b, f64::MAX);
    8453 oid_dist(OID, OID) -> OID = (a: Oid, b: Oid) Oid(a.0.abs_diff(b.0));
    8454 date_dist(DATE, DATE) -> INT4 = (a: Date, b: Date) a.days_since(b).map(i32::abs);
    8455 time_dist(TIME, TIME) -> INTERVAL = (a: Time, b: Time) length(a.since(b));
    8456 ts_dist(TIMESTAMP, TIMESTAMP) -> INTERVAL = (a: Timestamp, b: Timestamp)
        length(a.since(b)?);
    8457 tstz_dist(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL = (a: TimestampTz, b: TimestampTz)
        length(a.since(b)?);
    8458 interval_dist(INTERVAL, INTERVAL) -> INTERVAL = (a: Interval, b: Interval)
        length(a.subtract(b)?);
};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "<->" {
        8480 INT2 INT2 -> INT2 = 8448;
        8481 INT4 INT4 -> INT4 = 8449;
        8482 INT8 INT8 -> INT8 = 8450;
        8483 FLOAT4 FLOAT4 -> FLOAT4 = 8451;
        8484 FLOAT8 FLOAT8 -> FLOAT8 = 8452;
        8485 OID OID -> OID = 8453;
        8486 DATE DATE -> INT4 = 8454;
        8487 TIME TIME -> INTERVAL = 8455;
        8488 TIMESTAMP TIMESTAMP -> INTERVAL = 8456;
        8489 TIMESTAMPTZ TIMESTAMPTZ -> INTERVAL = 8457;
        8490 INTERVAL INTERVAL -> INTERVAL = 8458;
    }
};
