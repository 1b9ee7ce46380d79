//! The binary form of the wire.
//!
//! ```text
//!   ndigits  u16     how many base-10,000 digits follow
//!   weight   i16     the power of 10,000 of the first
//!   sign     u16     0000 plus   4000 minus   C000 NaN   D000 Infinity   F000 -Infinity
//!   dscale   u16     digits shown after the point
//!   digits   u16     each 0 to 9,999; neither the first nor the last is 0
//!
//!   -1.50    00 02   00 00   40 00   00 02   00 01   13 88        all with the big end first
//! ```

use crate::value::{Finite, Repr};
use crate::{Numeric, NumericError, SCALE_MAX, big};

const PLUS: u16 = 0x0000;
const MINUS: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEG_INFINITY: u16 = 0xF000;
/// The scale that PostgreSQL sends for an infinity. Readers ignore it.
const INFINITE_SCALE: u16 = 0x20;

/// Decimal digits of one digit of the form.
const GROUP: usize = 4;

impl Numeric {
    /// Appends the binary form.
    pub fn to_wire(&self, out: &mut Vec<u8>) {
        let mut put = |number: u16| out.extend(number.to_be_bytes());
        let Some(finite) = self.finite() else {
            let (sign, scale) = match self.0 {
                Repr::Infinity => (INFINITY, INFINITE_SCALE),
                Repr::NegativeInfinity => (NEG_INFINITY, INFINITE_SCALE),
                _ => (NAN, 0),
            };
            return [0, 0, sign, scale].into_iter().for_each(put);
        };
        let scale = finite.scale() as usize;
        // Zeros behind, until the digits after the point are whole groups; the groups then come
        // out from the back.
        let mut text = match finite {
            Finite::Small(mantissa, _) => mantissa.unsigned_abs().to_string(),
            Finite::Large(mantissa, _) => mantissa.magnitude().to_string(),
        };
        let padded = scale.next_multiple_of(GROUP);
        text.extend(std::iter::repeat_n('0', padded - scale));
        let mut groups: Vec<u16> = text
            .as_bytes()
            .rchunks(GROUP)
            .map(|group| group.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0')))
            .collect();
        while groups.last() == Some(&0) {
            groups.pop();
        }
        let weight = groups.len() as i32 - 1 - (padded / GROUP) as i32;
        let zeros = groups.iter().take_while(|group| **group == 0).count();
        let groups = &groups[zeros..];
        put(groups.len() as u16);
        put(if groups.is_empty() { 0 } else { weight as u16 });
        put(if finite.signum() < 0 { MINUS } else { PLUS });
        put(scale as u16);
        groups.iter().rev().for_each(|group| put(*group));
    }

    /// The value of a binary form, which is all of `bytes`. Digits behind `dscale` are cut off.
    ///
    /// # Errors
    /// [`NumericError::Wire`], [`NumericError::Overflow`].
    pub fn from_wire(bytes: &[u8]) -> Result<Self, NumericError> {
        let numbers: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        let [count, weight, sign, scale, groups @ ..] = numbers.as_slice() else {
            return Err(NumericError::Wire("insufficient data left in message"));
        };
        match groups.len().cmp(&usize::from(*count)) {
            std::cmp::Ordering::Less => {
                return Err(NumericError::Wire("insufficient data left in message"));
            }
            std::cmp::Ordering::Equal if bytes.len().is_multiple_of(2) => {}
            _ => return Err(NumericError::Wire("incorrect binary data format")),
        }
        let negative = match *sign {
            PLUS => false,
            MINUS => true,
            NAN => return Ok(Self::NAN),
            INFINITY => return Ok(Self::INFINITY),
            NEG_INFINITY => return Ok(Self::NEG_INFINITY),
            _ => return Err(NumericError::Wire("invalid sign in external \"numeric\" value")),
        };
        if u32::from(*scale) > SCALE_MAX {
            return Err(NumericError::Wire("invalid scale in external \"numeric\" value"));
        }
        if groups.iter().any(|group| *group >= 10_000) {
            return Err(NumericError::Wire("invalid digit in external \"numeric\" value"));
        }
        // The power of ten of the last group.
        let scale = i32::from(*scale);
        let power = (i32::from(*weight as i16) + 1 - groups.len() as i32) * GROUP as i32;
        if let Some(value) = short(negative, groups, power, scale) {
            return Ok(value);
        }
        // The digits as they would be written.
        let mut text = String::with_capacity(groups.len() * GROUP + 1);
        text.push_str(if negative { "-0" } else { "0" });
        for group in groups {
            text.push_str(&format!("{group:04}"));
        }
        // Digits beyond the scale are dropped before anything else looks at them.
        let beyond = (-power - scale).max(0);
        let kept = text.len() as i32 - beyond;
        if kept <= 1 + i32::from(negative) {
            return Self::new(0, scale as u32);
        }
        text.truncate(kept as usize);
        text.push_str(&format!("e{}", power + beyond));
        text.parse::<Self>()?.round(scale)
    }
}

/// The number of groups that fit 128 bits, as those of nearly every number do.
fn short(negative: bool, groups: &[u16], power: i32, scale: i32) -> Option<Numeric> {
    if groups.len() > 9 {
        return None;
    }
    let digits = groups.iter().fold(0, |n, group| n * 10_000 + i128::from(*group));
    let shift = power + scale;
    let mantissa = if shift >= 0 {
        big::scale_up_small(digits, shift as u32)?
    } else {
        digits / big::POWERS.get(shift.unsigned_abs() as usize)?
    };
    Some(Numeric::small(if negative { -mantissa } else { mantissa }, scale as u32))
}
