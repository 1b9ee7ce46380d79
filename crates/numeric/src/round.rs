//! Rounding, and the limits of a declared `numeric(precision, scale)`.

use num_bigint::{BigInt, Sign};

use crate::arithmetic::rounded;
use crate::value::Finite;
use crate::{INTEGER_DIGITS_MAX, Numeric, NumericError, SCALE_MAX, big};

/// Which neighbour a value goes to that stands between two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The nearest; from the middle away from zero.
    Nearest,
    Zero,
    Up,
    Down,
}

impl Numeric {
    /// Rounds to `digits` after the point, halves away from zero; negative `digits` round before
    /// the point. The result has exactly that scale (0 for negative ones).
    ///
    /// # Errors
    /// [`NumericError::Overflow`] where rounding up gives one digit too many.
    pub fn round(&self, digits: i32) -> Result<Self, NumericError> {
        self.to_digits(digits, Direction::Nearest)
    }

    /// Cuts off after `digits` digits after the point, as [`Numeric::round`] otherwise.
    #[must_use]
    pub fn trunc(&self, digits: i32) -> Self {
        // Nothing grows but the scale, and that is limited.
        self.to_digits(digits, Direction::Zero).unwrap_or_else(|_| self.clone())
    }

    /// The least integer that is not below the value.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn ceil(&self) -> Result<Self, NumericError> {
        self.to_digits(0, Direction::Up)
    }

    /// The greatest integer that is not above the value.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn floor(&self) -> Result<Self, NumericError> {
        self.to_digits(0, Direction::Down)
    }

    fn to_digits(&self, digits: i32, direction: Direction) -> Result<Self, NumericError> {
        let Some(finite) = self.finite() else { return Ok(self.clone()) };
        let lowest = -(INTEGER_DIGITS_MAX as i32) - 1;
        let digits = digits.clamp(lowest, SCALE_MAX as i32);
        let (from, to) = (finite.scale() as i32, digits.max(0) as u32);
        if digits >= from {
            return match finite {
                Finite::Small(mantissa, _) => {
                    match big::scale_up_small(mantissa, (digits - from) as u32) {
                        Some(mantissa) => Self::new(mantissa, to),
                        None => rounded(BigInt::from(mantissa), from as u32, to),
                    }
                }
                Finite::Large(mantissa, _) => rounded(mantissa.clone(), from as u32, to),
            };
        }
        // The digits that are cut off, and the zeros that replace them before the point.
        let (cut, zeros) = ((from - digits) as u32, (-digits).max(0) as u32);
        if let Finite::Small(mantissa, _) = finite
            && let Some(power) = big::POWERS.get(cut as usize)
        {
            let kept = match direction {
                Direction::Nearest => big::divide_round_small(mantissa, *power),
                Direction::Zero => mantissa / power,
                Direction::Up => -(-mantissa).div_euclid(*power),
                Direction::Down => mantissa.div_euclid(*power),
            };
            if let Some(kept) = big::scale_up_small(kept, zeros) {
                return Self::new(kept, to);
            }
        }
        let (mantissa, power) = (finite.mantissa(), BigInt::from(big::power(cut)));
        let kept = match direction {
            Direction::Nearest => big::divide_round(&mantissa, &power),
            _ => {
                let kept = mantissa.as_ref() / &power;
                let inexact = &kept * &power != *mantissa;
                match (direction, mantissa.sign()) {
                    (Direction::Up, Sign::Plus) if inexact => kept + 1,
                    (Direction::Down, Sign::Minus) if inexact => kept - 1,
                    _ => kept,
                }
            }
        };
        Self::from_big(big::scale_up(kept, zeros), to)
    }

    /// Rounds to a declared precision and scale and checks that the value fits.
    ///
    /// # Errors
    /// [`NumericError::FieldOverflow`].
    pub fn with_precision(&self, precision: Precision) -> Result<Self, NumericError> {
        let Precision { digits, scale } = precision;
        let overflow =
            |infinite| NumericError::FieldOverflow { precision: digits, scale, infinite };
        if self.is_nan() {
            return Ok(self.clone());
        }
        if self.is_infinite() {
            return Err(overflow(true));
        }
        let value = self.round(scale)?;
        let fits = match value.finite().as_ref().and_then(crate::scale::exponent) {
            Some(exponent) => exponent < digits - scale,
            None => true,
        };
        if fits { Ok(value) } else { Err(overflow(false)) }
    }
}

/// A declared `numeric(digits, scale)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    /// Digits in all, 1 to 1,000.
    digits: i32,
    /// Digits of them after the point, -1,000 to 1,000.
    scale: i32,
}

impl Precision {
    /// Added to every type modifier by PostgreSQL, so that none is below it.
    const BIAS: i32 = 4;

    /// A declaration whose parts are within the limits.
    ///
    /// # Errors
    /// [`NumericError::BadPrecision`], [`NumericError::BadScale`].
    pub fn new(digits: i32, scale: i32) -> Result<Self, NumericError> {
        if !(1..=1_000).contains(&digits) {
            return Err(NumericError::BadPrecision(digits));
        }
        if !(-1_000..=1_000).contains(&scale) {
            return Err(NumericError::BadScale(scale));
        }
        Ok(Self { digits, scale })
    }

    /// Digits in all.
    pub fn digits(self) -> i32 {
        self.digits
    }

    /// Digits after the point; negative where digits before it are zeros.
    pub fn scale(self) -> i32 {
        self.scale
    }

    /// The declaration as PostgreSQL's type modifier.
    pub fn to_typmod(self) -> i32 {
        ((self.digits << 16) | (self.scale & 0x7ff)) + Self::BIAS
    }

    /// The declaration that a type modifier stands for; `None` for a plain `numeric`.
    pub fn from_typmod(typmod: i32) -> Option<Self> {
        let packed = typmod.checked_sub(Self::BIAS).filter(|packed| *packed >= 0)?;
        // The scale is a signed number of eleven bits.
        let scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
        Some(Self { digits: (packed >> 16) & 0xffff, scale })
    }
}
