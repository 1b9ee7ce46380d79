//! To and from integers and floating point.
//!
//! Fractions are rounded to the nearest integer, halves away from zero. A float becomes the
//! shortest decimal of its guaranteed digits: 15 for `f64`, 6 for `f32`; a number becomes the
//! nearest float.

use crate::big;
use crate::value::Finite;
use crate::{Numeric, NumericError};

/// The two floating point types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FloatKind {
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
}

impl FloatKind {
    fn name(self) -> &'static str {
        match self {
            Self::Float4 => "real",
            Self::Float8 => "double precision",
        }
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Numeric {
            fn from(value: $integer) -> Self {
                Self::small(i128::from(value), 0)
            }
        }
    )*};
}
from_integer!(i16, i32, i64, u16, u32, u64);

impl From<i128> for Numeric {
    fn from(value: i128) -> Self {
        // 39 digits at most: within every limit.
        Self::new(value, 0).unwrap_or_default()
    }
}

impl From<f64> for Numeric {
    /// The decimal of 15 significant digits that is nearest.
    fn from(value: f64) -> Self {
        from_float(value, 15)
    }
}

impl From<f32> for Numeric {
    /// The decimal of 6 significant digits that is nearest.
    fn from(value: f32) -> Self {
        from_float(f64::from(value), 6)
    }
}

fn from_float(value: f64, digits: usize) -> Numeric {
    if value.is_nan() {
        return Numeric::NAN;
    }
    if value.is_infinite() {
        return if value > 0.0 { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
    }
    // Scientific notation rounds to exactly so many digits. A float's exponent is far within the
    // limits of the format.
    let parsed: Numeric = format!("{value:.*e}", digits - 1).parse().unwrap_or_default();
    parsed.trim_scale()
}

impl Numeric {
    /// The nearest integer.
    ///
    /// # Errors
    /// [`NumericError::OutOfRange`] as `smallint`, and those for NaN and the infinities.
    pub fn to_i16(&self) -> Result<i16, NumericError> {
        let value = self.to_integer("smallint")?;
        value.and_then(|value| value.try_into().ok()).ok_or(NumericError::OutOfRange("smallint"))
    }

    /// The nearest integer.
    ///
    /// # Errors
    /// [`NumericError::OutOfRange`] as `integer`, and those for NaN and the infinities.
    pub fn to_i32(&self) -> Result<i32, NumericError> {
        let value = self.to_integer("integer")?;
        value.and_then(|value| value.try_into().ok()).ok_or(NumericError::OutOfRange("integer"))
    }

    /// The nearest integer.
    ///
    /// # Errors
    /// [`NumericError::OutOfRange`] as `bigint`, and those for NaN and the infinities.
    pub fn to_i64(&self) -> Result<i64, NumericError> {
        let value = self.to_integer("bigint")?;
        value.and_then(|value| value.try_into().ok()).ok_or(NumericError::OutOfRange("bigint"))
    }

    /// The nearest integer, where 128 bits hold it.
    ///
    /// # Errors
    /// [`NumericError::OutOfRange`] as `int16`, and those for NaN and the infinities.
    pub fn to_i128(&self) -> Result<i128, NumericError> {
        self.to_integer("int16")?.ok_or(NumericError::OutOfRange("int16"))
    }

    /// The nearest integer; `None` if it does not fit.
    fn to_integer(&self, target: &'static str) -> Result<Option<i128>, NumericError> {
        if self.is_nan() {
            return Err(NumericError::NanToInteger(target));
        }
        if self.is_infinite() {
            return Err(NumericError::InfinityToInteger(target));
        }
        let Ok(rounded) = self.round(0) else { return Ok(None) };
        Ok(match rounded.finite() {
            Some(Finite::Small(mantissa, _)) => Some(mantissa),
            Some(Finite::Large(mantissa, _)) => i128::try_from(mantissa).ok(),
            None => None,
        })
    }

    /// The nearest `f64`.
    ///
    /// # Errors
    /// [`NumericError::FloatOutOfRange`] where that would be an infinity, or zero for a value that
    /// is not.
    pub fn to_f64(&self) -> Result<f64, NumericError> {
        let value = self.to_f64_saturating();
        self.check_float(value.is_infinite(), value == 0.0, FloatKind::Float8)?;
        Ok(value)
    }

    /// The nearest `f32`.
    ///
    /// # Errors
    /// As [`Numeric::to_f64`].
    pub fn to_f32(&self) -> Result<f32, NumericError> {
        let value: f32 = match self.finite() {
            // Both are exact, and so is the quotient but for its one rounding.
            Some(Finite::Small(mantissa, 0)) => mantissa as f32,
            Some(_) => self.to_string().parse().unwrap_or(f32::NAN),
            None => self.to_f64_saturating() as f32,
        };
        self.check_float(value.is_infinite(), value == 0.0, FloatKind::Float4)?;
        Ok(value)
    }

    /// The nearest `f64`, which is an infinity where the value is too large, and zero where it is
    /// too small.
    pub fn to_f64_saturating(&self) -> f64 {
        /// Powers of ten up to this one are exact as `f64`.
        const EXACT_POWER: u32 = 22;
        match self.finite() {
            Some(Finite::Small(mantissa, 0)) => mantissa as f64,
            Some(Finite::Small(mantissa, scale))
                if scale <= EXACT_POWER && mantissa.unsigned_abs() < 1 << f64::MANTISSA_DIGITS =>
            {
                // Two exact operands, so the quotient is rounded once.
                mantissa as f64 / big::POWERS[scale as usize] as f64
            }
            Some(_) => self.to_string().parse().unwrap_or(f64::NAN),
            None if self.is_nan() => f64::NAN,
            None if self.signum() > 0 => f64::INFINITY,
            None => f64::NEG_INFINITY,
        }
    }

    fn check_float(&self, infinite: bool, zero: bool, kind: FloatKind) -> Result<(), NumericError> {
        if self.is_finite() && (infinite || (zero && !self.is_zero())) {
            return Err(NumericError::FloatOutOfRange {
                text: self.to_string(),
                target: kind.name(),
            });
        }
        Ok(())
    }
}
