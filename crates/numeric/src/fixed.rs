//! Exponential and logarithm of fixed-point binaries: the series behind [`crate::elementary`].
//!
//! ```text
//!   exp   x = k ln 2 + t,  t / 2^h by the power series,  squared h times,  shifted by k
//!   ln    x = 2^k y,  0.7 < y < 1.5,  h square roots,  2 atanh((y - 1) / (y + 1)),  doubled h times
//! ```
//!
//! A [`Fixed`] is `mantissa / 2^bits`. Each step cuts off less than a unit of the last place; the
//! callers ask for [`GUARD`] bits more than they show, which is more than all steps together lose.

use num_bigint::BigInt;

use crate::big;

/// Bits beyond those of the result.
pub(crate) const GUARD: u32 = 64;

/// `mantissa / 2^bits`.
#[derive(Clone)]
pub(crate) struct Fixed {
    pub(crate) mantissa: BigInt,
    pub(crate) bits: u32,
}

/// Bits that hold so many decimal digits.
pub(crate) fn bits_of(digits: i32) -> u32 {
    (f64::from(digits.max(0)) * std::f64::consts::LOG2_10) as u32 + 1
}

impl Fixed {
    /// `mantissa / 10^scale`, cut off.
    pub(crate) fn from_decimal(mantissa: &BigInt, scale: u32, bits: u32) -> Self {
        Self { mantissa: (mantissa << bits) / BigInt::from(big::power(scale)), bits }
    }

    /// `mantissa` of the nearest `mantissa / 10^scale`.
    pub(crate) fn to_decimal(&self, scale: u32) -> BigInt {
        let scaled = &self.mantissa * BigInt::from(big::power(scale));
        (scaled + (BigInt::from(1) << (self.bits - 1))) >> self.bits
    }

    pub(crate) fn div(&self, other: &Self) -> Self {
        Self { mantissa: (&self.mantissa << other.bits) / &other.mantissa, bits: self.bits }
    }

    /// `e^self` as a binary of `bits` significant bits, and the power of two that it is to be
    /// multiplied with.
    pub(crate) fn exp(&self) -> (Self, i32) {
        let bits = self.bits;
        let ln_2 = ln_2(bits);
        let whole = &self.mantissa / &ln_2;
        let rest = &self.mantissa - &whole * &ln_2;
        // So many squarings make the series about as long as they are.
        let halvings = f64::from(bits).sqrt() as u32;
        let wide = bits + 2 * halvings;
        let small = rest << (wide - bits - halvings);
        let one = BigInt::from(1) << wide;
        let (mut sum, mut term, mut n) = (one.clone(), one, 0_u32);
        loop {
            n += 1;
            term = ((term * &small) >> wide) / n;
            if term.bits() <= 1 {
                break;
            }
            sum += &term;
        }
        for _ in 0..halvings {
            sum = (&sum * &sum) >> wide;
        }
        let power = i32::try_from(&whole).unwrap_or(i32::MAX);
        (Self { mantissa: sum >> (wide - bits), bits }, power)
    }
}

/// `ln(numerator / denominator)` of two positive numbers, with `bits` bits after the point.
pub(crate) fn ln_of_ratio(numerator: &BigInt, denominator: &BigInt, bits: u32) -> Fixed {
    let halvings = f64::from(bits).sqrt() as u32;
    let wide = bits + 2 * halvings;
    // The power of two next to the ratio; what remains is between 1/2 and 2.
    let mut power = numerator.bits() as i64 - denominator.bits() as i64;
    let shift = i64::from(wide) - power;
    let mut y = if shift >= 0 {
        (numerator << shift as u64) / denominator
    } else {
        numerator / (denominator << (-shift) as u64)
    };
    let one = BigInt::from(1) << wide;
    if &y + (&y >> 1_u32) < one {
        y <<= 1_u32;
        power -= 1;
    } else if y > &one + (&one >> 1_u32) {
        y >>= 1_u32;
        power += 1;
    }
    for _ in 0..halvings {
        y = (y << wide).sqrt();
    }
    let quotient: BigInt = ((&y - &one) << wide) / (&y + &one);
    let square = (&quotient * &quotient) >> wide;
    let (mut sum, mut term, mut n) = (quotient.clone(), quotient, 1_u32);
    loop {
        n += 2;
        term = (term * &square) >> wide;
        let part = &term / n;
        if part.bits() <= 1 {
            break;
        }
        sum += part;
    }
    let ln_y = (sum << (halvings + 1)) >> (wide - bits);
    Fixed { mantissa: ln_y + ln_2(bits) * power, bits }
}

/// `ln 2 * 2^bits`, by Machin's kind of formula:
/// `ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)`.
fn ln_2(bits: u32) -> BigInt {
    /// The first 128 bits after the point.
    const SHORT: u128 = 0xB17217F7_D1CF79AB_C9E3B398_03F2F6AF;
    if bits <= 120 {
        return BigInt::from(SHORT >> (128 - bits));
    }
    let wide = bits + 16;
    let atanh = |inverse: u32| {
        let square = inverse * inverse;
        let mut term = (BigInt::from(1) << wide) / inverse;
        let (mut sum, mut n) = (term.clone(), 1_u32);
        while term.bits() > 0 {
            term /= square;
            n += 2;
            sum += &term / n;
        }
        sum
    };
    (atanh(26) * 18 - atanh(4_801) * 2 + atanh(8_749) * 8) >> (wide - bits)
}
