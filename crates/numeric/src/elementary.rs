//! Exponential and logarithms.
//!
//! They are computed in binary with guard bits and rounded once, so the last digit shown is right.
//! How many digits are shown follows [`crate::scale`]: for that the decimal weight of a result is
//! estimated first, in `f64`.

use num_bigint::BigInt;

use crate::fixed::{Fixed, GUARD, bits_of, ln_of_ratio};
use crate::value::Finite;
use crate::{Numeric, NumericError, big, scale};

/// `log10(e)`, with the digits that PostgreSQL takes: the weights of results hang on the last one.
#[allow(clippy::approx_constant)]
pub(crate) const LOG10_E: f64 = 0.434_294_481_903_252;

/// Beyond this the result of an exponential is an overflow, or zero.
const EXPONENT_MAX: f64 = 6_000.0;

impl Numeric {
    /// `e` to the power of the value.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn exp(&self) -> Result<Self, NumericError> {
        let Some(finite) = self.finite() else {
            return Ok(if self.signum() < 0 { Self::ZERO } else { self.clone() });
        };
        let weight = (self.to_f64_saturating() * LOG10_E).clamp(-2_000.0, 2_000.0);
        self.exp_to_scale(scale::of_result(weight as i32, &[&finite]))
    }

    /// The exponential of a finite value, rounded to a scale.
    pub(crate) fn exp_to_scale(&self, scale: u32) -> Result<Self, NumericError> {
        let Some(finite) = self.finite() else { return Ok(self.clone()) };
        let exponent = self.to_f64_saturating();
        if exponent.abs() >= EXPONENT_MAX {
            return if exponent > 0.0 { Err(NumericError::Overflow) } else { Self::new(0, scale) };
        }
        // Each digit before the point is one more that has to be right.
        let digits = scale as i32 + (exponent * LOG10_E) as i32 + 1;
        // The exponent's own digits before the point cost as many bits of the fraction.
        let bits = bits_of(digits) + GUARD;
        let x = Fixed::from_decimal(&finite.mantissa(), finite.scale(), bits);
        let (mut result, power) = x.exp();
        if power >= 0 {
            result.mantissa <<= power;
        } else {
            result.bits += power.unsigned_abs();
        }
        Self::from_big(result.to_decimal(scale), scale)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// [`NumericError::LogarithmOfZero`], [`NumericError::LogarithmOfNegative`].
    pub fn ln(&self) -> Result<Self, NumericError> {
        self.check_logarithm()?;
        let Some(finite) = self.finite() else { return Ok(self.clone()) };
        self.ln_to_scale(scale::of_result(ln_weight(&finite), &[&finite]))
    }

    /// The logarithm of a positive value, rounded to a scale.
    pub(crate) fn ln_to_scale(&self, scale: u32) -> Result<Self, NumericError> {
        let Some(finite) = self.finite() else { return Ok(self.clone()) };
        let ln = fixed_ln(&finite, bits_of(scale as i32) + GUARD);
        Self::from_big(ln.to_decimal(scale), scale)
    }

    /// The logarithm to base 10.
    ///
    /// # Errors
    /// As [`Numeric::ln`].
    pub fn log10(&self) -> Result<Self, NumericError> {
        self.log(&Self::small(10, 0))
    }

    /// The logarithm to a base.
    ///
    /// # Errors
    /// As [`Numeric::ln`] for both, and [`NumericError::DivisionByZero`] for a base of one.
    pub fn log(&self, base: &Self) -> Result<Self, NumericError> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NAN);
        }
        // An infinity stands in for no number: its sign alone is looked at, and first.
        if (self.is_infinite() || base.is_infinite()) && self.signum().min(base.signum()) < 0 {
            return Err(NumericError::LogarithmOfNegative);
        }
        base.check_logarithm()?;
        self.check_logarithm()?;
        let (x, base) = match (self.finite(), base.finite()) {
            (Some(x), Some(base)) => (x, base),
            (Some(_), None) => return Ok(Self::ZERO),
            (None, Some(_)) => return Ok(Self::INFINITY),
            (None, None) => return Ok(Self::NAN),
        };
        let (x_weight, base_weight) = (ln_weight(&x), ln_weight(&base));
        let weight = x_weight - base_weight;
        let scale = scale::of_result(weight, &[&x, &base]);
        // As many significant digits of both as the quotient shows.
        let digits = scale as i32 + weight - base_weight.min(x_weight);
        let bits = bits_of(digits.max(scale as i32)) + GUARD;
        let base = fixed_ln(&base, bits);
        if base.mantissa == BigInt::ZERO {
            return Err(NumericError::DivisionByZero);
        }
        Self::from_big(fixed_ln(&x, bits).div(&base).to_decimal(scale), scale)
    }

    fn check_logarithm(&self) -> Result<(), NumericError> {
        if self.is_zero() {
            Err(NumericError::LogarithmOfZero)
        } else if self.signum() < 0 {
            Err(NumericError::LogarithmOfNegative)
        } else {
            Ok(())
        }
    }
}

/// The logarithm of a positive value.
pub(crate) fn fixed_ln(value: &Finite<'_>, bits: u32) -> Fixed {
    let denominator = BigInt::from(big::power(value.scale()));
    ln_of_ratio(&value.mantissa(), &denominator, bits)
}

/// The power of ten of the first digit of the logarithm, estimated; 0 where there is none.
pub(crate) fn ln_weight(value: &Finite<'_>) -> i32 {
    if value.signum() <= 0 {
        return 0;
    }
    let whole = Numeric::from_big(value.mantissa().into_owned(), value.scale());
    let near_one = whole.unwrap_or_default();
    if near_one >= Numeric::small(9, 1) && near_one <= Numeric::small(11, 1) {
        // ln x is about x - 1.
        let Ok(distance) = near_one.checked_sub(&Numeric::ONE) else { return 0 };
        let Some(finite) = distance.finite() else { return 0 };
        // In powers of ten, of the first group as a whole and of the first digit in it.
        return scale::exponent(&finite).unwrap_or(0);
    }
    let scale::Leading { digits, weight, .. } = scale::leading(value, 2);
    let ln = (digits as f64).ln() + f64::from(weight * scale::GROUP) * std::f64::consts::LN_10;
    ln.abs().log10() as i32
}
