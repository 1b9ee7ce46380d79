//! UUIDs: their contents.
//!
//! ```text
//!   c232ab00-9414-11ec-b3c8-9f6bdeced846
//!   time low mid  |version and time high   |variant: 8, 9, a or b
//! ```
//!
//! Only the variant of RFC 9562 says a version, and only version 1 says a time here, as in
//! PostgreSQL 17: 100 nanoseconds since 1582-10-15.

use types::time::TimestampTz;

use crate::function::{Function, functions};

/// Days from the first of the Gregorian calendar to 2000-01-01.
const GREGORIAN_DAYS: i64 = 152_384;

/// Microseconds in a day.
const DAY_US: i64 = 86_400_000_000;

/// The version, where the variant has one.
fn version(uuid: [u8; 16]) -> Option<i16> {
    (uuid[8] & 0xc0 == 0x80).then_some(i16::from(uuid[6] >> 4))
}

/// The moment that a UUID was made at, where it says so.
fn timestamp(uuid: [u8; 16]) -> Option<TimestampTz> {
    if version(uuid)? != 1 {
        return None;
    }
    let bytes = [uuid[6] & 0x0f, uuid[7], uuid[4], uuid[5], uuid[0], uuid[1], uuid[2], uuid[3]];
    let tenths_us = u64::from_be_bytes(bytes);
    Some(TimestampTz((tenths_us / 10) as i64 - GREGORIAN_DAYS * DAY_US))
}

pub(crate) const TABLE: &[Function] = functions! {
    6342 uuid_extract_timestamp(UUID) -> TIMESTAMPTZ = (uuid: [u8; 16]) timestamp(uuid);
    6343 uuid_extract_version(UUID) -> INT2 = (uuid: [u8; 16]) version(uuid);
};
