//! Hashes: those that PostgreSQL's hash indexes and partitions are made with, bit for bit.
//!
//! ```text
//!   hashtext('abc')                 32 bits        pg_advisory_lock(hashtext(name))
//!   hashtextextended('abc', seed)   64 bits        the low half is that of the 32 bits for seed 0
//! ```
//!
//! The function is Bob Jenkins' lookup3 over the bytes of a value, in groups of twelve. People keep
//! what it gives, so it must be the same here.

use types::Oid;
use types::time::{Interval, Time, TimeTz, Timestamp};

use crate::function::{Function, functions};

/// The three words that everything is mixed into.
struct Words {
    a: u32,
    b: u32,
    c: u32,
}

impl Words {
    fn new(length: usize, seed: i64) -> Self {
        let start = 0x9e37_79b9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
        let mut words = Words { a: start, b: start, c: start };
        if seed != 0 {
            words.a = words.a.wrapping_add((seed as u64 >> 32) as u32);
            words.b = words.b.wrapping_add(seed as u32);
            words.mix();
        }
        words
    }

    fn add(&mut self, group: [u32; 3]) {
        self.a = self.a.wrapping_add(group[0]);
        self.b = self.b.wrapping_add(group[1]);
        self.c = self.c.wrapping_add(group[2]);
    }

    fn mix(&mut self) {
        let Words { a, b, c } = self;
        for (first, second) in [(4, 6), (16, 19)] {
            *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
            *c = c.wrapping_add(*b);
            *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
            *a = a.wrapping_add(*c);
            *c = c.wrapping_sub(*b) ^ b.rotate_left(if first == 4 { 8 } else { 4 });
            *b = b.wrapping_add(*a);
        }
    }

    fn finish(mut self) -> u64 {
        let Words { a, b, c } = &mut self;
        let step = |into: &mut u32, from: u32, by: u32| {
            *into = (*into ^ from).wrapping_sub(from.rotate_left(by));
        };
        step(c, *b, 14);
        step(a, *c, 11);
        step(b, *a, 25);
        step(c, *b, 16);
        step(a, *c, 4);
        step(b, *a, 14);
        step(c, *b, 24);
        u64::from(*b) << 32 | u64::from(*c)
    }
}

/// The hash of bytes; its low half is the hash of 32 bits where the seed is 0.
pub(crate) fn bytes(bytes: &[u8], seed: i64) -> u64 {
    let mut words = Words::new(bytes.len(), seed);
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    };
    let mut groups = bytes.chunks_exact(12);
    for group in &mut groups {
        words.add([word(&group[..4]), word(&group[4..8]), word(&group[8..])]);
        words.mix();
    }
    let rest = groups.remainder();
    let part = |from: usize| word(&rest[from.min(rest.len())..(from + 4).min(rest.len())]);
    // The lowest byte of the last word belongs to the length.
    words.add([part(0), part(4), part(8) << 8]);
    words.finish()
}

fn word(value: u32, seed: i64) -> u64 {
    let mut words = Words::new(4, seed);
    words.add([value, 0, 0]);
    words.finish()
}

/// An integer of 64 bits hashes as one of 32 where it is one.
fn long(value: i64, seed: i64) -> u64 {
    let high = (value >> 32) as u32;
    word(value as u32 ^ if value >= 0 { high } else { !high }, seed)
}

/// Zero hashes to the seed, with either sign, and there is one NaN.
fn float(value: f64, seed: i64) -> u64 {
    if value == 0.0 {
        return seed as u64;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    bytes(&value.to_le_bytes(), seed)
}

fn character(value: &str, seed: i64) -> u64 {
    let byte = value.chars().next().map_or(0, |c| u32::from(c) as u8);
    word(i32::from(byte as i8) as u32, seed)
}

fn time_of_day(value: TimeTz, seed: i64) -> u64 {
    long(value.time.0, seed) ^ word(value.west_s as u32, seed)
}

fn span(value: Interval, seed: i64) -> u64 {
    long(value.span_us() as i64, seed)
}

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
