//! Addresses of networks: `inet` and `cidr`, `macaddr` and `macaddr8`.
//!
//! ```text
//!   '192.168.1.5' << '192.168.1.0/24'        within the network
//!   broadcast('192.168.1.5/24')              192.168.1.255/24
//!   inet_merge('10.0.0.1', '10.0.3.1')       10.0.0.0/22
//! ```
//!
//! A `cidr` is cast to `inet` without a change, so most functions are declared for `inet` alone.

use std::cmp::Ordering;

use types::{Datum, DatumRef, Inet, Mac, Result};

use crate::aggregate::collect::Extreme;
use crate::aggregate::{Kind, aggregates};
use crate::function::{Argument, Function, Output, functions, unexpected};
use types::hash;

impl<'a> Argument<'a> for Inet {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(held) => Inet::held(held),
            other => Err(unexpected("an address", other)),
        }
    }
}

impl<'a, const BYTES: usize> Argument<'a> for Mac<BYTES> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Int8(held) => Ok(Mac::from_held(held)),
            other => Err(unexpected("an address", other)),
        }
    }
}

impl Output for Inet {
    fn put(self) -> Result<Datum> {
        Ok(self.into())
    }
}

impl<const BYTES: usize> Output for Mac<BYTES> {
    fn put(self) -> Result<Datum> {
        Ok(self.into())
    }
}

/// The text form of an address, of an `inet` without the mask that covers every bit.
fn text(address: Inet, is_cidr: bool) -> String {
    let mut out = String::new();
    address.write(is_cidr, &mut out);
    out
}

/// The least or the greater of two addresses, by their held forms.
fn chosen(a: DatumRef<'_>, b: DatumRef<'_>, wanted: Ordering) -> Datum {
    if a.cmp(&b) == wanted { a.to_owned() } else { b.to_owned() }
}

/// The comparisons, which need not be called.
pub(crate) const COMPARISONS: &[Function] = functions! {
    920 network_eq(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    925 network_ne(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    921 network_lt(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    922 network_le(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    923 network_gt(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    924 network_ge(INET, INET) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
    830 macaddr_eq(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a == b;
    835 macaddr_ne(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a != b;
    831 macaddr_lt(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a < b;
    832 macaddr_le(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a <= b;
    833 macaddr_gt(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a > b;
    834 macaddr_ge(MACADDR, MACADDR) -> BOOL = (a: i64, b: i64) a >= b;
    4113 macaddr8_eq(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a == b;
    4118 macaddr8_ne(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a != b;
    4114 macaddr8_lt(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a < b;
    4115 macaddr8_le(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a <= b;
    4116 macaddr8_gt(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a > b;
    4117 macaddr8_ge(MACADDR8, MACADDR8) -> BOOL = (a: i64, b: i64) a >= b;
};

pub(crate) const TABLE: &[Function] = functions! {
    598 abbrev(INET) -> TEXT = (a: Inet) text(a, false);
    599 abbrev(CIDR) -> TEXT = (a: Inet) a.abbreviated_network();
    698 broadcast(INET) -> INET = (a: Inet) a.broadcast();
    711 family(INET) -> INT4 = (a: Inet) a.family();
    699 host(INET) -> TEXT = (a: Inet) a.host();
    1362 hostmask(INET) -> INET = (a: Inet) a.hostmask();
    4063 inet_merge(INET, INET) -> CIDR = (a: Inet, b: Inet) a.merge(b);
    4071 inet_same_family(INET, INET) -> BOOL = (a: Inet, b: Inet) a.family() == b.family();
    697 masklen(INET) -> INT4 = (a: Inet) i32::from(a.bits());
    696 netmask(INET) -> INET = (a: Inet) a.netmask();
    683 network(INET) -> CIDR = (a: Inet) a.network();
    605 set_masklen(INET, INT4) -> INET = (a: Inet, bits: i32) a.with_bits(bits);
    635 set_masklen(CIDR, INT4) -> CIDR = (a: Inet, bits: i32) a.with_bits(bits).map(Inet::network);
    730 text(INET) -> TEXT = (a: Inet) text(a, true);
    1715 cidr(INET) -> CIDR = (a: Inet) a.network();

    926 network_cmp(INET, INET) -> INT4 = (a: &[u8], b: &[u8]) a.cmp(b) as i32;
    3562 network_larger(INET, INET) -> INET = (a: DatumRef<'_>, b: DatumRef<'_>)
        chosen(a, b, Ordering::Greater);
    3563 network_smaller(INET, INET) -> INET = (a: DatumRef<'_>, b: DatumRef<'_>)
        chosen(a, b, Ordering::Less);
    927 network_sub(INET, INET) -> BOOL = (a: Inet, b: Inet) a.is_within(b);
    928 network_subeq(INET, INET) -> BOOL = (a: Inet, b: Inet) a.is_within_or_equal(b);
    929 network_sup(INET, INET) -> BOOL = (a: Inet, b: Inet) b.is_within(a);
    930 network_supeq(INET, INET) -> BOOL = (a: Inet, b: Inet) b.is_within_or_equal(a);
    3551 network_overlap(INET, INET) -> BOOL = (a: Inet, b: Inet) a.overlaps(b);
    2627 inetnot(INET) -> INET = (a: Inet) a.inverted();
    2628 inetand(INET, INET) -> INET = (a: Inet, b: Inet) a.and(b);
    2629 inetor(INET, INET) -> INET = (a: Inet, b: Inet) a.or(b);
    2630 inetpl(INET, INT8) -> INET = (a: Inet, count: i64) a.plus(count);
    2631 int8pl_inet(INT8, INET) -> INET = (count: i64, a: Inet) a.plus(count);
    2632 inetmi_int8(INET, INT8) -> INET = (a: Inet, count: i64) a.plus(count.wrapping_neg());
    2633 inetmi(INET, INET) -> INT8 = (a: Inet, b: Inet) a.minus(b);
    422 hashinet(INET) -> INT4 = (a: Inet) hash::bytes(&a.hash_bytes(), 0) as i32;
    779 hashinetextended(INET, INT8) -> INT8 = (a: Inet, seed: i64)
        hash::bytes(&a.hash_bytes(), seed) as i64;

    836 macaddr_cmp(MACADDR, MACADDR) -> INT4 = (a: i64, b: i64) a.cmp(&b) as i32;
    3144 macaddr_not(MACADDR) -> MACADDR = (a: Mac<6>) a.inverted();
    3145 macaddr_and(MACADDR, MACADDR) -> MACADDR = (a: Mac<6>, b: Mac<6>) a.and(b);
    3146 macaddr_or(MACADDR, MACADDR) -> MACADDR = (a: Mac<6>, b: Mac<6>) a.or(b);
    753 trunc(MACADDR) -> MACADDR = (a: Mac<6>) a.trunc();
    4123 macaddr8(MACADDR) -> MACADDR8 = (a: Mac<6>) a.widened();
    399 hashmacaddr(MACADDR) -> INT4 = (a: Mac<6>) hash::bytes(&a.bytes(), 0) as i32;
    778 hashmacaddrextended(MACADDR, INT8) -> INT8 = (a: Mac<6>, seed: i64)
        hash::bytes(&a.bytes(), seed) as i64;

    4119 macaddr8_cmp(MACADDR8, MACADDR8) -> INT4 = (a: i64, b: i64) a.cmp(&b) as i32;
    4120 macaddr8_not(MACADDR8) -> MACADDR8 = (a: Mac<8>) a.inverted();
    4121 macaddr8_and(MACADDR8, MACADDR8) -> MACADDR8 = (a: Mac<8>, b: Mac<8>) a.and(b);
    4122 macaddr8_or(MACADDR8, MACADDR8) -> MACADDR8 = (a: Mac<8>, b: Mac<8>) a.or(b);
    4112 trunc(MACADDR8) -> MACADDR8 = (a: Mac<8>) a.trunc();
    4124 macaddr(MACADDR8) -> MACADDR = (a: Mac<8>) a.narrowed();
    4125 macaddr8_set7bit(MACADDR8) -> MACADDR8 = (a: Mac<8>) a.with_bit_7();
    328 hashmacaddr8(MACADDR8) -> INT4 = (a: Mac<8>) hash::bytes(&a.bytes(), 0) as i32;
    781 hashmacaddr8extended(MACADDR8, INT8) -> INT8 = (a: Mac<8>, seed: i64)
        hash::bytes(&a.bytes(), seed) as i64;
};

pub(crate) const AGGREGATES: &[Function] = aggregates! { Kind::Normal =>
    3564 max(INET) -> INET = @args Extreme::new(args, Ordering::Greater);
    3565 min(INET) -> INET = @args Extreme::new(args, Ordering::Less);
};
