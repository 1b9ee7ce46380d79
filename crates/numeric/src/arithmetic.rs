//! Sums, products, quotients and remainders.
//!
//! Two operands of at most 38 digits are combined in 128 bits; only where that overflows do big
//! integers come in. NaN makes everything NaN; infinities follow the usual rules, with NaN where
//! there is no answer (`inf - inf`, `0 * inf`, `inf / inf`).

use std::sync::Arc;

use num_bigint::BigInt;
use num_integer::Integer;

use crate::value::{Finite, Large, Repr};
use crate::{Numeric, NumericError, SCALE_MAX, big, scale};

impl Numeric {
    /// The sum, with the larger scale of the two.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn checked_add(&self, other: &Self) -> Result<Self, NumericError> {
        if let (Some((a, scale)), Some((b, same))) = (self.as_small(), other.as_small())
            && scale == same
            && let Some(sum) = a.checked_add(b)
        {
            return Self::new(sum, scale);
        }
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(match (self.is_finite(), other.is_finite()) {
                (true, _) => other.clone(),
                (_, true) => self.clone(),
                _ if self == other => self.clone(),
                _ => Self::NAN,
            });
        };
        let scale = left.scale().max(right.scale());
        if let (Finite::Small(a, a_scale), Finite::Small(b, b_scale)) = (&left, &right)
            && let Some(a) = big::scale_up_small(*a, scale - a_scale)
            && let Some(b) = big::scale_up_small(*b, scale - b_scale)
            && let Some(sum) = a.checked_add(b)
        {
            return Self::new(sum, scale);
        }
        Self::from_big(left.at_scale(scale) + right.at_scale(scale), scale)
    }

    /// The difference, with the larger scale of the two.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn checked_sub(&self, other: &Self) -> Result<Self, NumericError> {
        self.checked_add(&other.neg())
    }

    /// The product, exact, with the sum of the scales; rounded to a scale of 16,383 beyond that.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn checked_mul(&self, other: &Self) -> Result<Self, NumericError> {
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(if self.is_nan() || other.is_nan() {
                Self::NAN
            } else {
                Self::infinity_of(self.signum() * other.signum())
            });
        };
        let scale = left.scale() + right.scale();
        if scale <= SCALE_MAX
            && let (Finite::Small(a, _), Finite::Small(b, _)) = (&left, &right)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self::new(product, scale);
        }
        rounded(left.mantissa().as_ref() * right.mantissa().as_ref(), scale, SCALE_MAX.min(scale))
    }

    /// The quotient, rounded to at least 16 significant digits and at least the scale of both.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`], [`NumericError::Overflow`].
    pub fn checked_div(&self, other: &Self) -> Result<Self, NumericError> {
        match self.special_quotient(other)? {
            Some(special) => Ok(special),
            None => self.div_to_scale(other, scale::of_quotient(self, other)),
        }
    }

    /// The quotient rounded to a scale; both are finite and the divisor is not zero.
    pub(crate) fn div_to_scale(&self, other: &Self, scale: u32) -> Result<Self, NumericError> {
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(Self::NAN);
        };
        // (a / 10^s) / (b / 10^t) = a * 10^(t - s) / b, and `scale` digits more.
        let shift = scale as i32 + right.scale() as i32 - left.scale() as i32;
        let (up, down) = (shift.max(0) as u32, (-shift).max(0) as u32);
        if let (Finite::Small(a, _), Finite::Small(b, _)) = (&left, &right)
            && let Some(a) = big::scale_up_small(*a, up)
            && let Some(b) = big::scale_up_small(*b, down)
        {
            return Self::new(big::divide_round_small(a, b), scale);
        }
        let numerator = big::scale_up(left.mantissa().into_owned(), up);
        let denominator = big::scale_up(right.mantissa().into_owned(), down);
        Self::from_big(big::divide_round(&numerator, &denominator), scale)
    }

    /// The quotient without its fraction, with scale 0: SQL's `div`.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`], [`NumericError::Overflow`].
    pub fn div_trunc(&self, other: &Self) -> Result<Self, NumericError> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(Self::NAN);
        };
        let scale = left.scale().max(right.scale());
        if let (Finite::Small(a, a_scale), Finite::Small(b, b_scale)) = (&left, &right)
            && let Some(a) = big::scale_up_small(*a, scale - a_scale)
            && let Some(b) = big::scale_up_small(*b, scale - b_scale)
        {
            return Self::new(a / b, 0);
        }
        Self::from_big(left.at_scale(scale) / right.at_scale(scale), 0)
    }

    /// The remainder of [`Numeric::div_trunc`], with the sign of `self` and the larger scale.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`], [`NumericError::Overflow`].
    pub fn checked_rem(&self, other: &Self) -> Result<Self, NumericError> {
        if self.is_nan() || other.is_nan() {
            return Ok(Self::NAN);
        }
        if other.is_zero() {
            return Err(NumericError::DivisionByZero);
        }
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(if self.is_infinite() { Self::NAN } else { self.clone() });
        };
        let scale = left.scale().max(right.scale());
        if let (Finite::Small(a, a_scale), Finite::Small(b, b_scale)) = (&left, &right)
            && let Some(a) = big::scale_up_small(*a, scale - a_scale)
            && let Some(b) = big::scale_up_small(*b, scale - b_scale)
        {
            return Self::new(a % b, scale);
        }
        Self::from_big(left.at_scale(scale) % right.at_scale(scale), scale)
    }

    /// The quotient where one side is NaN or infinite; otherwise `None`, or the error.
    fn special_quotient(&self, other: &Self) -> Result<Option<Self>, NumericError> {
        if self.is_nan() || other.is_nan() {
            return Ok(Some(Self::NAN));
        }
        if other.is_zero() {
            return Err(NumericError::DivisionByZero);
        }
        Ok(match (self.is_infinite(), other.is_infinite()) {
            (false, false) => None,
            (true, true) => Some(Self::NAN),
            (true, false) => Some(Self::infinity_of(self.signum() * other.signum())),
            (false, true) => Some(Self::ZERO),
        })
    }

    /// An infinity of that sign; NaN where there is none.
    fn infinity_of(sign: i32) -> Self {
        match sign {
            0 => Self::NAN,
            1.. => Self::INFINITY,
            _ => Self::NEG_INFINITY,
        }
    }

    /// The value with the other sign.
    #[must_use]
    pub fn neg(&self) -> Self {
        match &self.0 {
            Repr::Small { scale, mantissa } => Self::small(-mantissa.get(), u32::from(*scale)),
            Repr::Large(large) => Self(Repr::Large(Arc::new(Large {
                mantissa: -&large.mantissa,
                scale: large.scale,
            }))),
            Repr::NaN => Self::NAN,
            Repr::Infinity => Self::NEG_INFINITY,
            Repr::NegativeInfinity => Self::INFINITY,
        }
    }

    /// The distance from zero.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// -1, 0, 1, or NaN.
    #[must_use]
    pub fn sign(&self) -> Self {
        if self.is_nan() { Self::NAN } else { Self::from(self.signum()) }
    }

    /// The greatest common divisor, never negative, with the larger scale.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn gcd(&self, other: &Self) -> Result<Self, NumericError> {
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(Self::NAN);
        };
        let scale = left.scale().max(right.scale());
        Self::from_big(left.at_scale(scale).gcd(&right.at_scale(scale)), scale)
    }

    /// The least common multiple, never negative, with the larger scale.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn lcm(&self, other: &Self) -> Result<Self, NumericError> {
        let (Some(left), Some(right)) = (self.finite(), other.finite()) else {
            return Ok(Self::NAN);
        };
        let scale = left.scale().max(right.scale());
        Self::from_big(left.at_scale(scale).lcm(&right.at_scale(scale)), scale)
    }

    /// `n!`.
    ///
    /// # Errors
    /// [`NumericError::FactorialOfNegative`]; [`NumericError::Overflow`] from 32,178 on.
    pub fn factorial(n: i64) -> Result<Self, NumericError> {
        /// The product of a range, halved until it is short: the factors stay of like length.
        fn product(from: i64, to: i64) -> BigInt {
            if to - from < 8 {
                return (from..=to).map(BigInt::from).product();
            }
            let middle = from + (to - from) / 2;
            product(from, middle) * product(middle + 1, to)
        }
        match n {
            ..0 => Err(NumericError::FactorialOfNegative),
            32_178.. => Err(NumericError::Overflow),
            _ => Self::from_big(product(1, n), 0),
        }
    }
}

/// `mantissa / 10^from`, rounded to scale `to`.
pub(crate) fn rounded(mantissa: BigInt, from: u32, to: u32) -> Result<Numeric, NumericError> {
    if from <= to {
        return Numeric::from_big(big::scale_up(mantissa, to - from), to);
    }
    Numeric::from_big(big::divide_round(&mantissa, &BigInt::from(big::power(from - to))), to)
}
