//! Strings of bits: `bit(n)` and `bit varying(n)`.
//!
//! ```text
//!   B'1100' & B'1010'                1000
//!   substring(B'110010' from 2 for 3)   100
//!   44::bit(8)                       00101100
//! ```
//!
//! Both types are held alike, so most functions are declared for `bit` alone.

use types::{Bits, Coercion, Datum, DatumRef, Error, Modifier, Result, Type};

use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::function::{Argument, Call, Function, Output, functions, unexpected};

impl<'a> Argument<'a> for Bits {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(held) => Bits::held(held),
            other => Err(unexpected("a string of bits", other)),
        }
    }
}

impl Output for Bits {
    fn put(self) -> Result<Datum> {
        Ok(self.into())
    }
}

fn and(a: &Bits, b: &Bits) -> Result<Bits> {
    a.combined(b, "AND", |a, b| a & b)
}

fn or(a: &Bits, b: &Bits) -> Result<Bits> {
    a.combined(b, "OR", |a, b| a | b)
}

fn xor(a: &Bits, b: &Bits) -> Result<Bits> {
    a.combined(b, "XOR", |a, b| a ^ b)
}

/// The value with the length that a modifier says.
fn fitted(value: DatumRef<'_>, ty: Type, length: i32, is_explicit: bool) -> Result<Datum> {
    let how = if is_explicit { Coercion::Explicit } else { Coercion::Assignment };
    Modifier(length).apply(value.to_owned(), ty, how)
}

/// The comparisons, which need not be called.
pub(crate) const COMPARISONS: &[Function] = functions! {
    1581 biteq(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    1582 bitne(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    1595 bitlt(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    1594 bitle(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    1593 bitgt(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    1592 bitge(BIT, BIT) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
    1666 varbiteq(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    1667 varbitne(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    1671 varbitlt(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    1670 varbitle(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    1669 varbitgt(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    1668 varbitge(VARBIT, VARBIT) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
};

pub(crate) const TABLE: &[Function] = functions! {
    1685 bit(BIT, INT4, BOOL) -> BIT = (a: DatumRef<'_>, length: i32, is_explicit: bool)
        fitted(a, Type::BIT, length, is_explicit);
    1687 varbit(VARBIT, INT4, BOOL) -> VARBIT = (a: DatumRef<'_>, length: i32, is_explicit: bool)
        fitted(a, Type::VARBIT, length, is_explicit);
    1683 bit(INT4, INT4) -> BIT = (a: i32, length: i32) Bits::of_number(a.into(), length);
    2075 bit(INT8, INT4) -> BIT = (a: i64, length: i32) Bits::of_number(a, length);
    1684 int4(BIT) -> INT4 = (a: Bits) a.number(32, "integer").map(|number| number as i32);
    2076 int8(BIT) -> INT8 = (a: Bits) a.number(64, "bigint").map(|number| number as i64);

    1596 bitcmp(BIT, BIT) -> INT4 = (a: &[u8], b: &[u8]) a.cmp(b) as i32;
    1672 varbitcmp(VARBIT, VARBIT) -> INT4 = (a: &[u8], b: &[u8]) a.cmp(b) as i32;

    1673 bitand(BIT, BIT) -> BIT = (a: Bits, b: Bits) and(&a, &b);
    1674 bitor(BIT, BIT) -> BIT = (a: Bits, b: Bits) or(&a, &b);
    1675 bitxor(BIT, BIT) -> BIT = (a: Bits, b: Bits) xor(&a, &b);
    1676 bitnot(BIT) -> BIT = (a: Bits) a.inverted();
    1677 bitshiftleft(BIT, INT4) -> BIT = (a: Bits, by: i32) a.shifted_left(by.into());
    1678 bitshiftright(BIT, INT4) -> BIT = (a: Bits, by: i32) a.shifted_left(-i64::from(by));
    1679 bitcat(VARBIT, VARBIT) -> VARBIT = (a: Bits, b: Bits) a.followed_by(&b);

    6162 bit_count(BIT) -> INT8 = (a: Bits) a.ones();
    1812 bit_length(BIT) -> INT4 = (a: Bits) a.length() as i32;
    1681 length(BIT) -> INT4 = (a: Bits) a.length() as i32;
    1682 octet_length(BIT) -> INT4 = (a: Bits) a.bytes().len() as i32;
    3032 get_bit(BIT, INT4) -> INT4 = (a: Bits, at: i32) a.get(at);
    3033 set_bit(BIT, INT4, INT4) -> BIT = (a: Bits, at: i32, value: i32) a.with(at, value);
    3030 overlay(BIT, BIT, INT4, INT4) -> BIT = (a: Bits, with: Bits, start: i32, count: i32)
        a.overlaid(&with, start, Some(count));
    3031 overlay(BIT, BIT, INT4) -> BIT = (a: Bits, with: Bits, start: i32)
        a.overlaid(&with, start, None);
    1698 position(BIT, BIT) -> INT4 = (a: Bits, wanted: Bits) a.position(&wanted);
    1680 substring(BIT, INT4, INT4) -> BIT = (a: Bits, start: i32, count: i32)
        a.substring(start, Some(count));
    1699 substring(BIT, INT4) -> BIT = (a: Bits, start: i32) a.substring(start, None);
};

/// All strings so far, combined bit by bit.
struct Combined {
    so_far: Option<Bits>,
    combine: fn(&Bits, &Bits) -> Result<Bits>,
}

impl Combined {
    fn new(combine: fn(&Bits, &Bits) -> Result<Bits>) -> Self {
        Self { so_far: None, combine }
    }
}

impl Accumulator for Combined {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let Some(next) = Option::<Bits>::read(args[0])? else { return Ok(()) };
        self.so_far = Some(match &self.so_far {
            Some(so_far) => (self.combine)(so_far, &next)?,
            None => next,
        });
        Ok(())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.so_far.as_ref().map_or(0, |bits| bits.bytes().len())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        Ok::<_, Error>(self.so_far.clone()).put()
    }
}

pub(crate) const AGGREGATES: &[Function] = aggregates! { Kind::Normal =>
    2242 bit_and(BIT) -> BIT = Combined::new(and);
    2243 bit_or(BIT) -> BIT = Combined::new(or);
    6167 bit_xor(BIT) -> BIT = Combined::new(xor);
};
