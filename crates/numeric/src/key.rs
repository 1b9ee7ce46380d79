//! The form in keys: compared as bytes it orders as the values do, and no key is the beginning of
//! another.
//!
//! A positive value is written as `0.p1 p2 p3 ... * 100^e`, where each `p` is a pair of digits, the
//! first and the last not zero:
//!
//! ```text
//!   tag    1 byte     80          zero
//!                     81          e below -15, two bytes follow: e + 8192, big end first
//!                     92 + e      e from -15 (83) to 100 (F6)
//!                     F7          e above 100, two bytes follow: e - 101, big end first
//!                     FE          Infinity
//!                     FF          NaN
//!   pairs  1 byte for each: 2p + 1, the last one 2p
//!
//!   1         93 02                 0.01 * 100^1
//!   1.0       93 02                 equal values, equal keys
//!   1.5       93 03 64              0.0150 * 100^1
//!   99999     95 13 C7 C6           0.099999 * 100^3
//!   -1.5      6C FC 9B              the complement of each byte of 1.5
//! ```
//!
//! A negative value is the complement of its absolute value, so that the further from zero the
//! earlier it sorts; `-Infinity` is `01`. The scale is not kept: a decoded value has the least that
//! shows it.

use num_bigint::BigUint;

use crate::value::{Finite, Repr};
use crate::{Numeric, NumericError, scale};

const ZERO: u8 = 0x80;
const TINY: u8 = 0x81;
const SMALL_BASE: i32 = 0x92;
const HUGE: u8 = 0xF7;
const INFINITY: u8 = 0xFE;
const NAN: u8 = 0xFF;

/// Exponents that the tag holds.
const SMALL: std::ops::RangeInclusive<i32> = -15..=100;
/// Added to exponents below those.
const TINY_BIAS: i32 = 8_192;
/// The first exponent above those.
const HUGE_BASE: i32 = 101;

impl Numeric {
    /// Appends the key form.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match (&self.0, self.finite()) {
            (_, Some(finite)) => write_magnitude(&finite, out),
            (Repr::NaN, _) => out.push(NAN),
            _ => out.push(INFINITY),
        }
        if self.signum() < 0 {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Reads a key form at the front of `bytes`: the value, and how many bytes it took.
    ///
    /// # Errors
    /// [`NumericError::Damaged`].
    pub fn read_key(bytes: &[u8]) -> Result<(Self, usize), NumericError> {
        let cut_off = NumericError::Damaged("the key is cut off");
        let Some(&tag) = bytes.first() else { return Err(cut_off) };
        let negative = tag < ZERO;
        let plain = |at: usize| {
            let byte = bytes.get(at).ok_or(cut_off.clone())?;
            Ok::<u8, NumericError>(if negative { !byte } else { *byte })
        };
        let mut at = 1;
        let mut wide = || {
            let value = i32::from(plain(1)?) << 8 | i32::from(plain(2)?);
            at = 3;
            Ok::<i32, NumericError>(value)
        };
        let exponent = match plain(0)? {
            ZERO => return Ok((Self::ZERO, 1)),
            INFINITY if negative => return Ok((Self::NEG_INFINITY, 1)),
            INFINITY => return Ok((Self::INFINITY, 1)),
            NAN if !negative => return Ok((Self::NAN, 1)),
            TINY => wide()? - TINY_BIAS,
            HUGE => wide()? + HUGE_BASE,
            tag if SMALL.contains(&(i32::from(tag) - SMALL_BASE)) => i32::from(tag) - SMALL_BASE,
            _ => {
                return Err(NumericError::Damaged(
                    "a key begins with a byte that none begins with",
                ));
            }
        };
        let mut digits = String::new();
        loop {
            let byte = plain(at)?;
            if byte >= 200 {
                return Err(NumericError::Damaged("a key has a pair above 99"));
            }
            at += 1;
            digits.push(char::from(b'0' + byte / 20));
            digits.push(char::from(b'0' + byte / 2 % 10));
            if byte % 2 == 0 {
                break;
            }
        }
        // digits * 10^(2 * exponent - digits.len()), and the last pair may end in a zero.
        let sign = if negative { "-" } else { "" };
        let power = 2 * exponent - digits.len() as i32;
        let value: Self = format!("{sign}{digits}e{power}")
            .parse()
            .or_else(|_| format!("{sign}{}e{}", &digits[..digits.len() - 1], power + 1).parse())
            .map_err(|_| NumericError::Damaged("a key is outside the limits"))?;
        Ok((value.trim_scale(), at))
    }
}

/// Writes the form of an absolute value.
fn write_magnitude(value: &Finite<'_>, out: &mut Vec<u8>) {
    let Some(first) = scale::exponent(value) else { return out.push(ZERO) };
    // The first digit is worth 10^first; it is the tens or the units of a pair.
    let exponent = first.div_euclid(2) + 1;
    match exponent {
        e if SMALL.contains(&e) => out.push((SMALL_BASE + e) as u8),
        e if e < 0 => {
            out.push(TINY);
            out.extend(((e + TINY_BIAS) as u16).to_be_bytes());
        }
        e => {
            out.push(HUGE);
            out.extend(((e - HUGE_BASE) as u16).to_be_bytes());
        }
    }
    // With a zero where the number of digits after the point is odd, pairs align with the point.
    let odd = value.scale() % 2;
    let start = out.len();
    match value {
        Finite::Small(mantissa, _) => small_pairs(mantissa.unsigned_abs(), odd, out),
        Finite::Large(mantissa, _) => {
            let magnitude: BigUint = mantissa.magnitude() * 10_u32.pow(odd);
            out.extend(magnitude.to_radix_be(100));
        }
    }
    while out.len() > start && out.last() == Some(&0) {
        out.pop();
    }
    let last = out.len() - 1;
    out[start..last].iter_mut().for_each(|pair| *pair = *pair * 2 + 1);
    out[last] *= 2;
}

/// Appends the pairs of digits of a number, the first one first.
fn small_pairs(mut value: u128, odd: u32, out: &mut Vec<u8>) {
    let start = out.len();
    if odd == 1 {
        out.push((value % 10) as u8 * 10);
        value /= 10;
    }
    while value > u128::from(u64::MAX) {
        out.push((value % 100) as u8);
        value /= 100;
    }
    let mut value = value as u64;
    while value > 0 {
        out.push((value % 100) as u8);
        value /= 100;
    }
    out[start..].reverse();
}
