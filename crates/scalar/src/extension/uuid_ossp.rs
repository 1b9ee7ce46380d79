//! `uuid-ossp`: UUIDs of versions 1, 3, 4 and 5.
//!
//! ```text
//!   v1     the time, a clock sequence, a node          v3     MD5 of a namespace and a name
//!   v1mc   the same with a random multicast node       v5     SHA-1 of these
//!   v4     random bits
//! ```
//!
//! The node of version 1 is random too: the address of a network card says where a UUID was made. It is one for the
//! process, and has the multicast bit, so it is no address of a card. A counter keeps two UUIDs of one process apart
//! that are made at the same time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use md5::{Digest, Md5};
use sha1::Sha1;

use crate::function::{Call, Function, functions};

/// A namespace of RFC 9562, which differ in their last byte of the time.
const fn namespace(last: u8) -> [u8; 16] {
    [0x6b, 0xa7, 0xb8, last, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
}

/// A UUID of these bits, with a version and the variant of RFC 9562.
fn marked(mut bits: [u8; 16], version: u8) -> [u8; 16] {
    bits[6] = bits[6] & 0x0f | version << 4;
    bits[8] = bits[8] & 0x3f | 0x80;
    bits
}

/// The UUID of a name: the first bytes of a hash.
fn named<D: Digest>(namespace: [u8; 16], name: &str, version: u8) -> [u8; 16] {
    let hash = D::new().chain_update(namespace).chain_update(name).finalize();
    let mut bits = [0; 16];
    bits.copy_from_slice(&hash[..16]);
    marked(bits, version)
}

/// Tenths of microseconds from 1582-10-15 to 2000-01-01.
const SINCE_GREGORIAN: u64 = 152_384 * 86_400 * 10_000_000;

/// A time in tenths of microseconds that no other call in this process gets.
fn next_time(call: &Call<'_>) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = (call.context.clock.now().0 as u64).wrapping_mul(10).wrapping_add(SINCE_GREGORIAN);
    let later = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    now.max(last.unwrap_or_default() + 1)
}

fn of_time(call: &Call<'_>, secret: [u8; 16]) -> [u8; 16] {
    let time = next_time(call).to_be_bytes();
    let mut bits = secret;
    bits[..4].copy_from_slice(&time[4..]);
    bits[4..6].copy_from_slice(&time[2..4]);
    bits[6..8].copy_from_slice(&time[..2]);
    // A multicast address, which no card has.
    bits[10] |= 1;
    marked(bits, 1)
}

/// A UUID of version 1 with the node of this process.
fn generate_v1(call: &Call<'_>) -> [u8; 16] {
    static NODE: OnceLock<[u8; 16]> = OnceLock::new();
    of_time(call, *NODE.get_or_init(|| call.context.random.secret()))
}

pub(crate) const TABLE: &[Function] = functions! {
    14336 uuid_nil() -> UUID = () [0_u8; 16];
    14337 uuid_ns_dns() -> UUID = () namespace(0x10);
    14338 uuid_ns_url() -> UUID = () namespace(0x11);
    14339 uuid_ns_oid() -> UUID = () namespace(0x12);
    14340 uuid_ns_x500() -> UUID = () namespace(0x14);
    14341 uuid_generate_v1() -> UUID [volatile] = (call;) generate_v1(call);
    14342 uuid_generate_v1mc() -> UUID [volatile] = (call;) of_time(call, call.context.random.secret());
    14343 uuid_generate_v3(UUID, TEXT) -> UUID = (namespace: [u8; 16], name: &str)
        named::<Md5>(namespace, name, 3);
    14344 uuid_generate_v4() -> UUID [volatile] = (call;) marked(call.context.random.secret(), 4);
    14345 uuid_generate_v5(UUID, TEXT) -> UUID = (namespace: [u8; 16], name: &str)
        named::<Sha1>(namespace, name, 5);
};
