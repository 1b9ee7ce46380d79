//! The form in rows: short, keeps the scale, knows its end only from outside.
//!
//! ```text
//!   scale   1 byte    0 to 191: the scale
//!           2 bytes   0xC0 | scale >> 8, scale & 0xFF: a scale from 192 on
//!   mantissa          two's complement, little end first, as few bytes as hold the sign; none for 0
//!
//!   0         00                     1.10      02 6E
//!   -1        00 FF                  1000000   00 40 42 0F
//!   128       00 80 00               0.000     03
//!   NaN       C0 00                  Infinity  C0 01        -Infinity  C0 02
//! ```
//!
//! The three specials are spelled as two-byte scales that one byte would have held, so they are
//! never mistaken for a number.

use num_bigint::BigInt;

use crate::value::{Finite, Repr};
use crate::{Numeric, NumericError};

/// Scales from here on take two bytes.
const LONG_SCALE: u32 = 0xC0;

/// Returns the integer of 1 to 8 bytes, the lowest first, by loads of whole words that may overlap.
#[inline]
fn signed(bytes: &[u8], length: usize) -> i64 {
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let half = |at: usize| bytes[at..].first_chunk().map_or(0, |half| u16::from_le_bytes(*half));
    let number = match length {
        4.. => u64::from(word(0)) | u64::from(word(length - 4)) << (8 * (length - 4)),
        2.. => u64::from(half(0)) | u64::from(half(length - 2)) << (8 * (length - 2)),
        _ => u64::from(bytes[0]),
    };
    // The sign fills what is shifted in.
    let unused = 64 - 8 * length;
    ((number << unused) as i64) >> unused
}

impl Numeric {
    /// Appends the stored form.
    pub fn to_stored(&self, out: &mut Vec<u8>) {
        let Some(finite) = self.finite() else {
            let which = match self.0 {
                Repr::Infinity => 1,
                Repr::NegativeInfinity => 2,
                _ => 0,
            };
            return out.extend([LONG_SCALE as u8, which]);
        };
        let scale = finite.scale();
        if scale < LONG_SCALE {
            out.push(scale as u8);
        } else {
            out.extend([(LONG_SCALE | scale >> 8) as u8, scale as u8]);
        }
        match finite {
            Finite::Small(0, _) => {}
            Finite::Small(mantissa, _) => {
                // A bit for the sign.
                let bits = 128 - (mantissa ^ (mantissa >> 127)).leading_zeros() + 1;
                out.extend(&mantissa.to_le_bytes()[..bits.div_ceil(8) as usize]);
            }
            Finite::Large(mantissa, _) => out.extend(mantissa.to_signed_bytes_le()),
        }
    }

    /// Mantissa and scale of a stored form whose mantissa has 8 bytes at most, and its scale one.
    #[inline]
    pub fn short_from_stored(bytes: &[u8]) -> Option<(i64, u32)> {
        let (scale, mantissa) = bytes.split_first()?;
        if u32::from(*scale) >= LONG_SCALE {
            return None;
        }
        let number = match mantissa.len() {
            0 => 0,
            length @ 1..=8 => signed(mantissa, length),
            _ => return None,
        };
        Some((number, u32::from(*scale)))
    }

    /// True if [`Numeric::from_stored`] gives a value.
    #[inline]
    pub fn is_stored(bytes: &[u8]) -> bool {
        let is_short = bytes.first().is_some_and(|scale| u32::from(*scale) < LONG_SCALE);
        (is_short && bytes.len() <= size_of::<i128>()) || Self::from_stored(bytes).is_ok()
    }

    /// The value of a stored form, which is all of `bytes`.
    ///
    /// # Errors
    /// [`NumericError::Damaged`].
    #[inline]
    pub fn from_stored(bytes: &[u8]) -> Result<Self, NumericError> {
        match Self::short_from_stored(bytes) {
            Some((mantissa, scale)) => Ok(Self::small(mantissa.into(), scale)),
            None => Self::long_from_stored(bytes),
        }
    }

    fn long_from_stored(bytes: &[u8]) -> Result<Self, NumericError> {
        let (scale, mantissa) = match bytes {
            [] => return Err(NumericError::Damaged("no bytes")),
            [0xC0, 0] => return Ok(Self::NAN),
            [0xC0, 1] => return Ok(Self::INFINITY),
            [0xC0, 2] => return Ok(Self::NEG_INFINITY),
            [short @ 0..0xC0, mantissa @ ..] => (u32::from(*short), mantissa),
            [high, low, mantissa @ ..] => {
                ((u32::from(*high) & 0x3F) << 8 | u32::from(*low), mantissa)
            }
            _ => return Err(NumericError::Damaged("the scale is cut off")),
        };
        if mantissa.len() > size_of::<i128>() {
            return Self::from_big(BigInt::from_signed_bytes_le(mantissa), scale)
                .map_err(|_| NumericError::Damaged("more digits than the format has"));
        }
        let sign = mantissa.last().map_or(0, |last| ((*last as i8) >> 7) as u8);
        let mut wide = [sign; size_of::<i128>()];
        wide[..mantissa.len()].copy_from_slice(mantissa);
        Self::new(i128::from_le_bytes(wide), scale)
            .map_err(|_| NumericError::Damaged("more digits than the format has"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short forms are read to the same numbers as long ones, at the borders of each length too.
    #[test]
    fn short_forms_are_read_as_long_ones() {
        for bits in 0..64 {
            for near in [-1, 0, 1] {
                for sign in [1, -1] {
                    let mantissa = sign * (i128::from(1_u64 << bits) + near);
                    let number = Numeric::new(mantissa, bits).expect("a small scale");
                    let mut stored = Vec::new();
                    number.to_stored(&mut stored);
                    let long = Numeric::long_from_stored(&stored).expect("it was stored");
                    assert_eq!(long.as_small(), Some((mantissa, bits)));
                    let short = Numeric::short_from_stored(&stored);
                    let fits = i64::try_from(mantissa).ok();
                    assert_eq!(short, fits.map(|mantissa| (mantissa, bits)), "{stored:02x?}");
                    assert!(Numeric::is_stored(&stored));
                }
            }
        }
    }
}
