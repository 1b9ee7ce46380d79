//! The functions that hash values as PostgreSQL's hash indexes and partitions do ([`types::hash`]).
//!
//! ```text
//!   hashtext('abc')                 32 bits        pg_advisory_lock(hashtext(name))
//!   hashtextextended('abc', seed)   64 bits        the low half is that of the 32 bits for seed 0
//! ```

use types::Oid;
use types::hash::{bytes, character, float, long, span, time_of_day, word};
use types::time::{Interval, Time, TimeTz, Timestamp};

use crate::function::{Function, functions};

pub(crate) const TABLE: &[Function] = functions! {
    400 hashtext(TEXT) -> INT4 = (a: &str) bytes(a.as_bytes(), 0) as i32;
    448 hashtextextended(TEXT, INT8) -> INT8 = (a: &str, seed: i64) bytes(a.as_bytes(), seed) as i64;
    1080 hashbpchar(BPCHAR) -> INT4 = (a: &str) bytes(a.as_bytes(), 0) as i32;
    972 hashbpcharextended(BPCHAR, INT8) -> INT8 = (a: &str, seed: i64)
        bytes(a.as_bytes(), seed) as i64;
    455 hashname(NAME) -> INT4 = (a: &str) bytes(a.as_bytes(), 0) as i32;
    447 hashnameextended(NAME, INT8) -> INT8 = (a: &str, seed: i64)
        bytes(a.as_bytes(), seed) as i64;
    454 hashchar(CHAR) -> INT4 = (a: &str) character(a, 0) as i32;
    446 hashcharextended(CHAR, INT8) -> INT8 = (a: &str, seed: i64) character(a, seed) as i64;
    449 hashint2(INT2) -> INT4 = (a: i16) word(i32::from(a) as u32, 0) as i32;
    441 hashint2extended(INT2, INT8) -> INT8 = (a: i16, seed: i64)
        word(i32::from(a) as u32, seed) as i64;
    450 hashint4(INT4) -> INT4 = (a: i32) word(a as u32, 0) as i32;
    425 hashint4extended(INT4, INT8) -> INT8 = (a: i32, seed: i64) word(a as u32, seed) as i64;
    949 hashint8(INT8) -> INT4 = (a: i64) long(a, 0) as i32;
    442 hashint8extended(INT8, INT8) -> INT8 = (a: i64, seed: i64) long(a, seed) as i64;
    453 hashoid(OID) -> INT4 = (a: Oid) word(a.0, 0) as i32;
    445 hashoidextended(OID, INT8) -> INT8 = (a: Oid, seed: i64) word(a.0, seed) as i64;
    451 hashfloat4(FLOAT4) -> INT4 = (a: f32) float(a.into(), 0) as i32;
    443 hashfloat4extended(FLOAT4, INT8) -> INT8 = (a: f32, seed: i64)
        float(a.into(), seed) as i64;
    452 hashfloat8(FLOAT8) -> INT4 = (a: f64) float(a, 0) as i32;
    444 hashfloat8extended(FLOAT8, INT8) -> INT8 = (a: f64, seed: i64) float(a, seed) as i64;
    1688 time_hash(TIME) -> INT4 = (a: Time) long(a.0, 0) as i32;
    3409 time_hash_extended(TIME, INT8) -> INT8 = (a: Time, seed: i64) long(a.0, seed) as i64;
    1696 timetz_hash(TIMETZ) -> INT4 = (a: TimeTz) time_of_day(a, 0) as i32;
    3410 timetz_hash_extended(TIMETZ, INT8) -> INT8 = (a: TimeTz, seed: i64)
        time_of_day(a, seed) as i64;
    2039 timestamp_hash(TIMESTAMP) -> INT4 = (a: Timestamp) long(a.0, 0) as i32;
    3411 timestamp_hash_extended(TIMESTAMP, INT8) -> INT8 = (a: Timestamp, seed: i64)
        long(a.0, seed) as i64;
    1697 interval_hash(INTERVAL) -> INT4 = (a: Interval) span(a, 0) as i32;
    3418 interval_hash_extended(INTERVAL, INT8) -> INT8 = (a: Interval, seed: i64)
        span(a, seed) as i64;
    2963 uuid_hash(UUID) -> INT4 = (a: [u8; 16]) bytes(&a, 0) as i32;
    3412 uuid_hash_extended(UUID, INT8) -> INT8 = (a: [u8; 16], seed: i64) bytes(&a, seed) as i64;
    3252 pg_lsn_hash(PG_LSN) -> INT4 = (a: i64) long(a, 0) as i32;
    3413 pg_lsn_hash_extended(PG_LSN, INT8) -> INT8 = (a: i64, seed: i64) long(a, seed) as i64;
};
