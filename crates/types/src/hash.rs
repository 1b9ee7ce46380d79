//! Hashes: those that PostgreSQL's hash indexes and partitions are made with, bit for bit.
//!
//! The function is Bob Jenkins' lookup3 over the bytes of a value, in groups of twelve. Users store
//! its results, so they must be the same here.

use crate::time::{Interval, TimeTz};
use crate::{Datum, DatumRef, KeyOrder, key};

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
pub fn bytes(bytes: &[u8], seed: i64) -> u64 {
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

/// The hash of an integer of 32 bits.
pub fn word(value: u32, seed: i64) -> u64 {
    let mut words = Words::new(4, seed);
    words.add([value, 0, 0]);
    words.finish()
}

/// Returns the hash of an integer of 64 bits: that of the same integer of 32 bits, if it fits.
pub fn long(value: i64, seed: i64) -> u64 {
    let high = (value >> 32) as u32;
    word(value as u32 ^ if value >= 0 { high } else { !high }, seed)
}

/// Zero hashes to the seed, with either sign, and there is one NaN.
pub fn float(value: f64, seed: i64) -> u64 {
    if value == 0.0 {
        return seed as u64;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    bytes(&value.to_le_bytes(), seed)
}

/// The hash by which PostgreSQL finds the partition of a row with these keys; NULL counts nothing. Keys of types that
/// PostgreSQL hashes by their bytes in memory have a hash of their own here.
pub fn partition(keys: &[Datum]) -> u64 {
    const SEED: i64 = 0x7a5b_2236_7996_dcfd;
    keys.iter().filter(|key| !key.is_null()).fold(0_u64, |all, key| {
        let hash = match key.as_ref() {
            DatumRef::Bool(value) => word(u32::from(value), SEED),
            DatumRef::Int2(value) => word(i32::from(value) as u32, SEED),
            DatumRef::Int4(value) => word(value as u32, SEED),
            DatumRef::Int8(value) => long(value, SEED),
            DatumRef::Oid(value) => word(value.0, SEED),
            DatumRef::Float4(value) => float(value.into(), SEED),
            DatumRef::Float8(value) => float(value, SEED),
            DatumRef::Text(value) => bytes(value.as_bytes(), SEED),
            DatumRef::Bytea(value) => bytes(value, SEED),
            DatumRef::Uuid(value) => bytes(&value, SEED),
            DatumRef::Date(value) => word(value.0 as u32, SEED),
            DatumRef::Time(value) => long(value.0, SEED),
            DatumRef::TimeTz(value) => time_of_day(value, SEED),
            DatumRef::Timestamp(value) => long(value.0, SEED),
            DatumRef::TimestampTz(value) => long(value.0, SEED),
            DatumRef::Interval(value) => span(value, SEED),
            other => {
                let mut form = Vec::new();
                key::write(other, KeyOrder::ASCENDING, &mut form);
                bytes(&form, SEED)
            }
        };
        let mixed = hash.wrapping_add(0x49a0_f4dd_15e5_a8e3);
        all ^ mixed.wrapping_add(all << 54).wrapping_add(all >> 7)
    })
}

/// The hash of the first byte of a `"char"`.
pub fn character(value: &str, seed: i64) -> u64 {
    let byte = value.chars().next().map_or(0, |c| u32::from(c) as u8);
    word(i32::from(byte as i8) as u32, seed)
}

/// The hash of a time with its zone.
pub fn time_of_day(value: TimeTz, seed: i64) -> u64 {
    long(value.time.0, seed) ^ word(value.west_s as u32, seed)
}

/// The hash of an interval, by its length.
pub fn span(value: Interval, seed: i64) -> u64 {
    long(value.span_us() as i64, seed)
}
