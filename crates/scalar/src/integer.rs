//! Integers: arithmetic that reports overflow, bits, and the casts among them.
//!
//! The result of a mixed operation has the wider of the two types. Shifts take the distance modulo
//! the width of the type; a `smallint` is shifted as 32 bits and cut.

use types::{Error, Oid, Result, SqlState};

use crate::function::{Function, functions};

/// A type of integers, and what it says of values that it does not hold.
pub(crate) trait Integer {
    /// `integer out of range` and the like.
    fn out_of_range() -> Error;
}

macro_rules! integers {
    ($($integer:ty, $name:literal;)*) => {$(
        impl Integer for $integer {
            fn out_of_range() -> Error {
                out_of_range($name)
            }
        }
    )*};
}
integers! {
    i16, "smallint";
    i32, "integer";
    i64, "bigint";
}

/// The error for a value that a type, by its SQL name, does not hold.
#[cold]
pub(crate) fn out_of_range(name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

#[cold]
pub(crate) fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The quotient, cut off; the least value by -1 does not fit.
fn divide<T: Integer + std::default::Default + PartialEq + Copy>(
    a: T,
    b: T,
    quotient: fn(T, T) -> Option<T>,
) -> Result<T> {
    if b == T::default() {
        return Err(division_by_zero());
    }
    quotient(a, b).ok_or_else(T::out_of_range)
}

/// The remainder, with the sign of the dividend.
fn remainder<T: std::default::Default + PartialEq + Copy>(
    a: T,
    b: T,
    rest: fn(T, T) -> T,
) -> Result<T> {
    if b == T::default() { Err(division_by_zero()) } else { Ok(rest(a, b)) }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn lcm(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 { 0 } else { (a / gcd(a, b) * b).abs() }
}

/// The byte that a value of type `"char"` is.
pub(crate) fn char_byte(text: &str) -> u8 {
    text.chars().next().map_or(0, |c| c as u32 as u8)
}

/// The value of type `"char"` that a byte is.
pub(crate) fn char_text(byte: u8) -> String {
    if byte == 0 { String::new() } else { char::from(byte).to_string() }
}

pub(crate) const TABLE: &[Function] = functions! {
    178 int24pl(INT2, INT4) -> INT4 = (a: i16, b: i32) i32::from(a).checked_add(b).ok_or_else(i32::out_of_range);
    182 int24mi(INT2, INT4) -> INT4 = (a: i16, b: i32) i32::from(a).checked_sub(b).ok_or_else(i32::out_of_range);
    170 int24mul(INT2, INT4) -> INT4 = (a: i16, b: i32) i32::from(a).checked_mul(b).ok_or_else(i32::out_of_range);
    172 int24div(INT2, INT4) -> INT4 = (a: i16, b: i32) divide(i32::from(a), b, i32::checked_div);
    179 int42pl(INT4, INT2) -> INT4 = (a: i32, b: i16) a.checked_add(i32::from(b)).ok_or_else(i32::out_of_range);
    183 int42mi(INT4, INT2) -> INT4 = (a: i32, b: i16) a.checked_sub(i32::from(b)).ok_or_else(i32::out_of_range);
    171 int42mul(INT4, INT2) -> INT4 = (a: i32, b: i16) a.checked_mul(i32::from(b)).ok_or_else(i32::out_of_range);
    173 int42div(INT4, INT2) -> INT4 = (a: i32, b: i16) divide(a, i32::from(b), i32::checked_div);
    841 int28pl(INT2, INT8) -> INT8 = (a: i16, b: i64) i64::from(a).checked_add(b).ok_or_else(i64::out_of_range);
    942 int28mi(INT2, INT8) -> INT8 = (a: i16, b: i64) i64::from(a).checked_sub(b).ok_or_else(i64::out_of_range);
    943 int28mul(INT2, INT8) -> INT8 = (a: i16, b: i64) i64::from(a).checked_mul(b).ok_or_else(i64::out_of_range);
    948 int28div(INT2, INT8) -> INT8 = (a: i16, b: i64) divide(i64::from(a), b, i64::checked_div);
    837 int82pl(INT8, INT2) -> INT8 = (a: i64, b: i16) a.checked_add(i64::from(b)).ok_or_else(i64::out_of_range);
    838 int82mi(INT8, INT2) -> INT8 = (a: i64, b: i16) a.checked_sub(i64::from(b)).ok_or_else(i64::out_of_range);
    839 int82mul(INT8, INT2) -> INT8 = (a: i64, b: i16) a.checked_mul(i64::from(b)).ok_or_else(i64::out_of_range);
    840 int82div(INT8, INT2) -> INT8 = (a: i64, b: i16) divide(a, i64::from(b), i64::checked_div);
    1278 int48pl(INT4, INT8) -> INT8 = (a: i32, b: i64) i64::from(a).checked_add(b).ok_or_else(i64::out_of_range);
    1279 int48mi(INT4, INT8) -> INT8 = (a: i32, b: i64) i64::from(a).checked_sub(b).ok_or_else(i64::out_of_range);
    1280 int48mul(INT4, INT8) -> INT8 = (a: i32, b: i64) i64::from(a).checked_mul(b).ok_or_else(i64::out_of_range);
    1281 int48div(INT4, INT8) -> INT8 = (a: i32, b: i64) divide(i64::from(a), b, i64::checked_div);
    1274 int84pl(INT8, INT4) -> INT8 = (a: i64, b: i32) a.checked_add(i64::from(b)).ok_or_else(i64::out_of_range);
    1275 int84mi(INT8, INT4) -> INT8 = (a: i64, b: i32) a.checked_sub(i64::from(b)).ok_or_else(i64::out_of_range);
    1276 int84mul(INT8, INT4) -> INT8 = (a: i64, b: i32) a.checked_mul(i64::from(b)).ok_or_else(i64::out_of_range);
    1277 int84div(INT8, INT4) -> INT8 = (a: i64, b: i32) divide(a, i64::from(b), i64::checked_div);
    176 int2pl(INT2, INT2) -> INT2 = (a: i16, b: i16) a.checked_add(b).ok_or_else(i16::out_of_range);
    180 int2mi(INT2, INT2) -> INT2 = (a: i16, b: i16) a.checked_sub(b).ok_or_else(i16::out_of_range);
    152 int2mul(INT2, INT2) -> INT2 = (a: i16, b: i16) a.checked_mul(b).ok_or_else(i16::out_of_range);
    153 int2div(INT2, INT2) -> INT2 = (a: i16, b: i16) divide(a, b, i16::checked_div);
    177 int4pl(INT4, INT4) -> INT4 = (a: i32, b: i32) a.checked_add(b).ok_or_else(i32::out_of_range);
    181 int4mi(INT4, INT4) -> INT4 = (a: i32, b: i32) a.checked_sub(b).ok_or_else(i32::out_of_range);
    141 int4mul(INT4, INT4) -> INT4 = (a: i32, b: i32) a.checked_mul(b).ok_or_else(i32::out_of_range);
    154 int4div(INT4, INT4) -> INT4 = (a: i32, b: i32) divide(a, b, i32::checked_div);
    463 int8pl(INT8, INT8) -> INT8 = (a: i64, b: i64) a.checked_add(b).ok_or_else(i64::out_of_range);
    464 int8mi(INT8, INT8) -> INT8 = (a: i64, b: i64) a.checked_sub(b).ok_or_else(i64::out_of_range);
    465 int8mul(INT8, INT8) -> INT8 = (a: i64, b: i64) a.checked_mul(b).ok_or_else(i64::out_of_range);
    466 int8div(INT8, INT8) -> INT8 = (a: i64, b: i64) divide(a, b, i64::checked_div);

    155 int2mod(INT2, INT2) -> INT2 = (a: i16, b: i16) remainder(a, b, i16::wrapping_rem);
    940 mod(INT2, INT2) -> INT2 = (a: i16, b: i16) remainder(a, b, i16::wrapping_rem);
    213 int2um(INT2) -> INT2 = (a: i16) a.checked_neg().ok_or_else(i16::out_of_range);
    1911 int2up(INT2) -> INT2 = (a: i16) a;
    1253 int2abs(INT2) -> INT2 = (a: i16) a.checked_abs().ok_or_else(i16::out_of_range);
    1398 abs(INT2) -> INT2 = (a: i16) a.checked_abs().ok_or_else(i16::out_of_range);
    1892 int2and(INT2, INT2) -> INT2 = (a: i16, b: i16) a & b;
    1893 int2or(INT2, INT2) -> INT2 = (a: i16, b: i16) a | b;
    1894 int2xor(INT2, INT2) -> INT2 = (a: i16, b: i16) a ^ b;
    1895 int2not(INT2) -> INT2 = (a: i16) !a;
    1896 int2shl(INT2, INT4) -> INT2 = (a: i16, n: i32) i32::from(a).wrapping_shl(n as u32) as i16;
    1897 int2shr(INT2, INT4) -> INT2 = (a: i16, n: i32) i32::from(a).wrapping_shr(n as u32) as i16;
    156 int4mod(INT4, INT4) -> INT4 = (a: i32, b: i32) remainder(a, b, i32::wrapping_rem);
    941 mod(INT4, INT4) -> INT4 = (a: i32, b: i32) remainder(a, b, i32::wrapping_rem);
    212 int4um(INT4) -> INT4 = (a: i32) a.checked_neg().ok_or_else(i32::out_of_range);
    1912 int4up(INT4) -> INT4 = (a: i32) a;
    1251 int4abs(INT4) -> INT4 = (a: i32) a.checked_abs().ok_or_else(i32::out_of_range);
    1397 abs(INT4) -> INT4 = (a: i32) a.checked_abs().ok_or_else(i32::out_of_range);
    1898 int4and(INT4, INT4) -> INT4 = (a: i32, b: i32) a & b;
    1899 int4or(INT4, INT4) -> INT4 = (a: i32, b: i32) a | b;
    1900 int4xor(INT4, INT4) -> INT4 = (a: i32, b: i32) a ^ b;
    1901 int4not(INT4) -> INT4 = (a: i32) !a;
    1902 int4shl(INT4, INT4) -> INT4 = (a: i32, n: i32) a.wrapping_shl(n as u32);
    1903 int4shr(INT4, INT4) -> INT4 = (a: i32, n: i32) a.wrapping_shr(n as u32);
    945 int8mod(INT8, INT8) -> INT8 = (a: i64, b: i64) remainder(a, b, i64::wrapping_rem);
    947 mod(INT8, INT8) -> INT8 = (a: i64, b: i64) remainder(a, b, i64::wrapping_rem);
    462 int8um(INT8) -> INT8 = (a: i64) a.checked_neg().ok_or_else(i64::out_of_range);
    1910 int8up(INT8) -> INT8 = (a: i64) a;
    1230 int8abs(INT8) -> INT8 = (a: i64) a.checked_abs().ok_or_else(i64::out_of_range);
    1396 abs(INT8) -> INT8 = (a: i64) a.checked_abs().ok_or_else(i64::out_of_range);
    1904 int8and(INT8, INT8) -> INT8 = (a: i64, b: i64) a & b;
    1905 int8or(INT8, INT8) -> INT8 = (a: i64, b: i64) a | b;
    1906 int8xor(INT8, INT8) -> INT8 = (a: i64, b: i64) a ^ b;
    1907 int8not(INT8) -> INT8 = (a: i64) !a;
    1908 int8shl(INT8, INT4) -> INT8 = (a: i64, n: i32) a.wrapping_shl(n as u32);
    1909 int8shr(INT8, INT4) -> INT8 = (a: i64, n: i32) a.wrapping_shr(n as u32);

    5044 gcd(INT4, INT4) -> INT4 = (a: i32, b: i32) i32::try_from(gcd(a.into(), b.into())).map_err(|_| i32::out_of_range());
    5046 lcm(INT4, INT4) -> INT4 = (a: i32, b: i32) i32::try_from(lcm(a.into(), b.into())).map_err(|_| i32::out_of_range());
    5045 gcd(INT8, INT8) -> INT8 = (a: i64, b: i64) i64::try_from(gcd(a.into(), b.into())).map_err(|_| i64::out_of_range());
    5047 lcm(INT8, INT8) -> INT8 = (a: i64, b: i64) i64::try_from(lcm(a.into(), b.into())).map_err(|_| i64::out_of_range());

    314 int2(INT4) -> INT2 = (a: i32) i16::try_from(a).map_err(|_| i16::out_of_range());
    714 int2(INT8) -> INT2 = (a: i64) i16::try_from(a).map_err(|_| i16::out_of_range());
    480 int4(INT8) -> INT4 = (a: i64) i32::try_from(a).map_err(|_| i32::out_of_range());
    313 int4(INT2) -> INT4 = (a: i16) i32::from(a);
    754 int8(INT2) -> INT8 = (a: i16) i64::from(a);
    481 int8(INT4) -> INT8 = (a: i32) i64::from(a);
    2558 int4(BOOL) -> INT4 = (a: bool) i32::from(a);
    2557 bool(INT4) -> BOOL = (a: i32) a != 0;
    1288 int8(OID) -> INT8 = (a: Oid) i64::from(a.0);
    1287 oid(INT8) -> OID = (a: i64) u32::try_from(a).map(Oid).map_err(|_| out_of_range("OID"));
    77 int4(CHAR) -> INT4 = (a: &str) char_byte(a) as i8 as i32;
    78 char(INT4) -> CHAR = (a: i32) i8::try_from(a).map(|byte| char_text(byte as u8)).map_err(|_| out_of_range("\"char\""));
    2089 to_hex(INT4) -> TEXT = (a: i32) format!("{a:x}");
    2090 to_hex(INT8) -> TEXT = (a: i64) format!("{a:x}");
    6330 to_bin(INT4) -> TEXT = (a: i32) format!("{a:b}");
    6331 to_bin(INT8) -> TEXT = (a: i64) format!("{a:b}");
    6332 to_oct(INT4) -> TEXT = (a: i32) format!("{a:o}");
    6333 to_oct(INT8) -> TEXT = (a: i64) format!("{a:o}");
};
