//! Powers, of any base that has one, with as many digits as the result is worth.
//!
//! An integer exponent multiplies the base with itself, with as many digits kept as the result
//! shows; any other goes through the logarithm.

use num_bigint::BigInt;

use crate::elementary::{LOG10_E, fixed_ln, ln_weight};
use crate::fixed::{GUARD, bits_of};
use crate::value::Finite;
use crate::{INTEGER_DIGITS_MAX, Numeric, NumericError, big, scale};

/// Powers below `10^-1000` are shown as zero with that many digits.
const SCALE_MAX: i32 = scale::RESULT_SCALE_MAX;

impl Numeric {
    /// The value to the power of `exponent`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`], [`NumericError::ZeroToNegativePower`],
    /// [`NumericError::NegativeToFractionalPower`].
    pub fn power(&self, exponent: &Self) -> Result<Self, NumericError> {
        // One to any power and anything to the power of zero are one, NaN included.
        if self.is_nan() || exponent.is_nan() {
            let one = exponent.is_zero() || *self == Self::ONE;
            return Ok(if one { Self::ONE } else { Self::NAN });
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(NumericError::ZeroToNegativePower);
        }
        if self.signum() < 0 && !exponent.is_integral() {
            return Err(NumericError::NegativeToFractionalPower);
        }
        match (self.finite(), exponent.finite()) {
            (Some(base), Some(finite)) => match exponent.as_i32() {
                Some(n) => power_integer(&base, n, finite.scale()),
                None => self.power_fraction(&base, exponent, &finite),
            },
            _ => Ok(self.power_infinite(exponent)),
        }
    }

    /// Where one of the two is infinite.
    fn power_infinite(&self, exponent: &Self) -> Self {
        if *self == Self::ONE || exponent.is_zero() {
            return Self::ONE;
        }
        if self.is_zero() {
            return Self::ZERO;
        }
        if exponent.is_infinite() {
            let size = self.abs();
            return if size == Self::ONE {
                Self::ONE
            } else if (size > Self::ONE) == (exponent.signum() > 0) {
                Self::INFINITY
            } else {
                Self::ZERO
            };
        }
        if exponent.signum() < 0 {
            Self::ZERO
        } else if self.signum() < 0 && exponent.is_odd() {
            Self::NEG_INFINITY
        } else {
            Self::INFINITY
        }
    }

    /// A finite integral value that fits 32 bits.
    fn as_i32(&self) -> Option<i32> {
        if self.is_integral() { self.to_i32().ok() } else { None }
    }

    /// True for an integral value that two does not divide.
    fn is_odd(&self) -> bool {
        match self.trim_scale().finite() {
            Some(Finite::Small(mantissa, 0)) => mantissa % 2 != 0,
            Some(Finite::Large(mantissa, 0)) => mantissa.bit(0),
            _ => false,
        }
    }

    /// `e^(exponent * ln base)`; an exponent that comes here is no small integer.
    fn power_fraction(
        &self,
        base: &Finite<'_>,
        exponent: &Self,
        exponent_parts: &Finite<'_>,
    ) -> Result<Self, NumericError> {
        if base.signum() == 0 {
            return Self::new(0, 16);
        }
        let negative = base.signum() < 0 && exponent.is_odd();
        let size = self.abs();
        let Some(base) = size.finite() else { return Ok(size) };
        // The decimal weight of the result, from a logarithm of about eight digits.
        let weight = ln_weight(&base);
        let rough_scale = (8 - weight).max(0) as u32;
        let rough = size.ln_to_scale(rough_scale)?.checked_mul(exponent)?;
        let rough = rough.round(rough_scale as i32)?.to_f64_saturating();
        if rough.abs() > 6_020.0 {
            return if rough > 0.0 {
                Err(NumericError::Overflow)
            } else {
                Self::new(0, SCALE_MAX as u32)
            };
        }
        let result_weight = (rough * LOG10_E) as i32;
        let scale = scale::of_result(result_weight, &[&base, exponent_parts]);
        // Every digit of the result needs one of the product, and those that the exponent has
        // before the point are lost in the multiplication.
        let whole = scale::exponent(exponent_parts).unwrap_or(0).max(0);
        let digits = (scale as i32 + result_weight).max(0) + whole;
        let ln = fixed_ln(&base, bits_of(digits + 8) + GUARD);
        let product_scale = digits as u32 + 20;
        let product = Self::from_big(
            big::divide_round(
                &(ln.to_decimal(product_scale) * exponent_parts.mantissa().as_ref()),
                &BigInt::from(big::power(exponent_parts.scale())),
            ),
            product_scale,
        )?;
        let result = product.exp_to_scale(scale)?;
        Ok(if negative { result.neg() } else { result })
    }
}

/// `base^n`, with a scale that the exponent's own display scale takes part in.
fn power_integer(base: &Finite<'_>, n: i32, exponent_scale: u32) -> Result<Numeric, NumericError> {
    // log10 of the result.
    let weight = if base.signum() == 0 {
        0.0
    } else {
        let scale::Leading { digits, weight, .. } = scale::leading(base, 4);
        f64::from(n) * ((digits as f64).log10() + f64::from(weight * scale::GROUP))
    };
    if weight > f64::from(INTEGER_DIGITS_MAX) {
        return Err(NumericError::Overflow);
    }
    if weight + 1.0 < f64::from(-SCALE_MAX) {
        return Numeric::new(0, SCALE_MAX as u32);
    }
    let scale = scale::of_result(weight as i32, &[base, &Finite::Small(0, exponent_scale)]);
    if base.signum() == 0 && n != 0 {
        return Numeric::new(0, scale);
    }
    // Digits that the product keeps on its way: those shown, and more for what each of the
    // multiplications may lose.
    let keep = (1 + scale as i32 + weight as i32).max(0) + f64::from(n).abs().ln() as i32 + 20;
    let mut result = Float { mantissa: BigInt::from(1), exponent: 0 };
    let mut square =
        Float { mantissa: base.mantissa().into_owned(), exponent: -i64::from(base.scale()) };
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        interrupt::check()?;
        if rest % 2 == 1 {
            result = result.mul(&square, keep as u32);
        }
        rest /= 2;
        if rest > 0 {
            square = square.mul(&square, keep as u32);
        }
        if result.weight().max(square.weight()) > i64::from(INTEGER_DIGITS_MAX) {
            return if n > 0 { Err(NumericError::Overflow) } else { Numeric::new(0, scale) };
        }
    }
    result.to_numeric(n < 0, scale)
}

/// `mantissa * 10^exponent`.
struct Float {
    mantissa: BigInt,
    exponent: i64,
}

impl Float {
    /// The product, rounded to at most `keep` digits.
    fn mul(&self, other: &Self, keep: u32) -> Self {
        let mantissa = &self.mantissa * &other.mantissa;
        let exponent = self.exponent + other.exponent;
        let excess = big::digits(mantissa.magnitude()).saturating_sub(keep);
        if excess == 0 {
            return Self { mantissa, exponent };
        }
        let mantissa = big::divide_round(&mantissa, &BigInt::from(big::power(excess)));
        Self { mantissa, exponent: exponent + i64::from(excess) }
    }

    /// The power of ten of the first digit.
    fn weight(&self) -> i64 {
        // Estimated low, which is enough to stop before anything grows out of hand.
        (self.mantissa.bits() as f64 * 0.301) as i64 + self.exponent - 1
    }

    /// The value, or one over it, rounded to a scale.
    fn to_numeric(&self, inverse: bool, scale: u32) -> Result<Numeric, NumericError> {
        let shift = self.exponent.abs() + i64::from(scale);
        if shift > 4 * i64::from(INTEGER_DIGITS_MAX) {
            return if (self.exponent > 0) == inverse {
                Numeric::new(0, scale)
            } else {
                Err(NumericError::Overflow)
            };
        }
        let power = |n: i64| BigInt::from(big::power(n as u32));
        let (up, down) = (self.exponent.max(0), (-self.exponent).max(0));
        let (above, below) = if inverse {
            (power(down + i64::from(scale)), &self.mantissa * power(up))
        } else {
            (&self.mantissa * power(up + i64::from(scale)), power(down))
        };
        Numeric::from_big(big::divide_round(&above, &below), scale)
    }
}
