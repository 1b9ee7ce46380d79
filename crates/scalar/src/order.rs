//! Comparisons that give a number: -1, 0 or 1 where the first value is less, equal or greater. Of two
//! `smallint` or `"char"` it is the difference.
//!
//! B-trees are built on these in PostgreSQL, and people sort with them in functions of their own.
//! The order is that of [`types::compare`].

use std::cmp::Ordering;

use types::DatumRef;
use types::compare::cmp_float;
use types::time::{Date, Timestamp, TimestampTz};

use crate::datetime::{local, zone};
use crate::function::{Function, functions};

fn sign(order: Ordering) -> i32 {
    order as i32
}

/// The byte that a `"char"` is.
fn byte(value: &str) -> i32 {
    value.chars().next().map_or(0, |c| c as i32)
}

pub(crate) const TABLE: &[Function] = functions! {
    1078 bpcharcmp(BPCHAR, BPCHAR) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    382 btarraycmp(ANYARRAY, ANYARRAY) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    1693 btboolcmp(BOOL, BOOL) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    358 btcharcmp(CHAR, CHAR) -> INT4 = (a: &str, b: &str) byte(a) - byte(b);
    2194 btfloat48cmp(FLOAT4, FLOAT8) -> INT4 = (a: f32, b: f64) sign(cmp_float(a.into(), b));
    354 btfloat4cmp(FLOAT4, FLOAT4) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2195 btfloat84cmp(FLOAT8, FLOAT4) -> INT4 = (a: f64, b: f32) sign(cmp_float(a, b.into()));
    355 btfloat8cmp(FLOAT8, FLOAT8) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2190 btint24cmp(INT2, INT4) -> INT4 = (a: i16, b: i32) sign(i64::from(a).cmp(&b.into()));
    2192 btint28cmp(INT2, INT8) -> INT4 = (a: i16, b: i64) sign(i64::from(a).cmp(&b));
    350 btint2cmp(INT2, INT2) -> INT4 = (a: i16, b: i16)
        i32::from(a) - i32::from(b);
    2191 btint42cmp(INT4, INT2) -> INT4 = (a: i32, b: i16) sign(i64::from(a).cmp(&b.into()));
    2188 btint48cmp(INT4, INT8) -> INT4 = (a: i32, b: i64) sign(i64::from(a).cmp(&b));
    351 btint4cmp(INT4, INT4) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2193 btint82cmp(INT8, INT2) -> INT4 = (a: i64, b: i16) sign(a.cmp(&b.into()));
    2189 btint84cmp(INT8, INT4) -> INT4 = (a: i64, b: i32) sign(a.cmp(&b.into()));
    842 btint8cmp(INT8, INT8) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    359 btnamecmp(NAME, NAME) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    246 btnametextcmp(NAME, TEXT) -> INT4 = (a: &str, b: &str) sign(a.cmp(b));
    356 btoidcmp(OID, OID) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    404 btoidvectorcmp(OIDVECTOR, OIDVECTOR) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2987 btrecordcmp(RECORD, RECORD) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    360 bttextcmp(TEXT, TEXT) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    253 bttextnamecmp(TEXT, NAME) -> INT4 = (a: &str, b: &str) sign(a.cmp(b));
    2794 bttidcmp(TID, TID) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    1954 byteacmp(BYTEA, BYTEA) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    1092 date_cmp(DATE, DATE) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2344 date_cmp_timestamp(DATE, TIMESTAMP) -> INT4 = (a: Date, b: Timestamp) sign(a.cmp_timestamp(b));
    2357 date_cmp_timestamptz(DATE, TIMESTAMPTZ) -> INT4 [stable] = (call; a: Date, b: TimestampTz)
        sign(a.cmp_timestamptz(b, zone(call)));
    3514 enum_cmp(ANYENUM, ANYENUM) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    1315 interval_cmp(INTERVAL, INTERVAL) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    4044 jsonb_cmp(JSONB, JSONB) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    1769 numeric_cmp(NUMERIC, NUMERIC) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    3251 pg_lsn_cmp(PG_LSN, PG_LSN) -> INT4 = (a: i64, b: i64) sign((a as u64).cmp(&(b as u64)));
    1107 time_cmp(TIME, TIME) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2045 timestamp_cmp(TIMESTAMP, TIMESTAMP) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2370 timestamp_cmp_date(TIMESTAMP, DATE) -> INT4 = (a: Timestamp, b: Date) sign(b.cmp_timestamp(a).reverse());
    2526 timestamp_cmp_timestamptz(TIMESTAMP, TIMESTAMPTZ) -> INT4 [stable] = (call; a: Timestamp, b: TimestampTz) sign(local(call, a, b));
    1314 timestamptz_cmp(TIMESTAMPTZ, TIMESTAMPTZ) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2383 timestamptz_cmp_date(TIMESTAMPTZ, DATE) -> INT4 [stable] = (call; a: TimestampTz, b: Date)
        sign(b.cmp_timestamptz(a, zone(call)).reverse());
    2533 timestamptz_cmp_timestamp(TIMESTAMPTZ, TIMESTAMP) -> INT4 [stable] = (call; a: TimestampTz, b: Timestamp)
        sign(local(call, b, a).reverse());
    1358 timetz_cmp(TIMETZ, TIMETZ) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    2960 uuid_cmp(UUID, UUID) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) sign(a.cmp(&b));
    5096 xid8cmp(XID8, XID8) -> INT4 = (a: i64, b: i64) sign((a as u64).cmp(&(b as u64)));
};
