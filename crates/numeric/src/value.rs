//! The value: its form in memory, its order and its hash.
//!
//! ```text
//!   tag  Small      scale u16   mantissa i128, in two halves so that a value takes 24 bytes
//!   tag  Large      pointer ──> { mantissa BigInt, scale u16 }          shared by clones
//!   tag  NaN | Infinity | NegativeInfinity
//! ```
//!
//! Invariants:
//! * a mantissa that fits an `i128` (`i128::MIN` apart, so that negation is total) is `Small`;
//! * no finite value is outside the limits of the format.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use crate::big;
use crate::{INTEGER_DIGITS_MAX, NumericError, SCALE_MAX};

/// An exact decimal number with a display scale, NaN or an infinity.
///
/// Order and equality are those of the values: `1.0 == 1.00`, NaN equals itself and is greater
/// than everything else. `Clone` is cheap. The default is `0`.
#[derive(Clone)]
pub struct Numeric(pub(crate) Repr);

#[derive(Clone)]
pub(crate) enum Repr {
    Small { scale: u16, mantissa: Halves },
    Large(Arc<Large>),
    NaN,
    Infinity,
    NegativeInfinity,
}

/// An `i128` that is aligned like a `u64`.
#[derive(Clone, Copy)]
pub(crate) struct Halves([u64; 2]);

impl Halves {
    fn of(value: i128) -> Self {
        Self([value as u64, (value >> 64) as u64])
    }

    pub(crate) fn get(self) -> i128 {
        (self.0[0] as i128) | ((self.0[1] as i128) << 64)
    }
}

/// A mantissa of more than 127 bits.
pub(crate) struct Large {
    pub(crate) mantissa: BigInt,
    pub(crate) scale: u16,
}

impl Numeric {
    /// How many bytes of the value lie elsewhere.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Large(large) => size_of::<Large>() + large.mantissa.bits() as usize / 8,
            _ => 0,
        }
    }
}

/// A finite value taken apart: `mantissa / 10^scale`.
#[derive(Clone)]
pub(crate) enum Finite<'a> {
    Small(i128, u32),
    Large(&'a BigInt, u32),
}

impl<'a> Finite<'a> {
    pub(crate) fn scale(&self) -> u32 {
        match self {
            Self::Small(_, scale) | Self::Large(_, scale) => *scale,
        }
    }

    pub(crate) fn mantissa(&self) -> Cow<'a, BigInt> {
        match self {
            Self::Small(mantissa, _) => Cow::Owned(BigInt::from(*mantissa)),
            Self::Large(mantissa, _) => Cow::Borrowed(mantissa),
        }
    }

    /// The mantissa that the value has at a scale that is not smaller than its own.
    pub(crate) fn at_scale(&self, scale: u32) -> BigInt {
        big::scale_up(self.mantissa().into_owned(), scale - self.scale())
    }

    /// -1, 0 or 1.
    pub(crate) fn signum(&self) -> i32 {
        match self {
            Self::Small(mantissa, _) => mantissa.signum() as i32,
            Self::Large(mantissa, _) => match mantissa.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }
}

impl Numeric {
    /// Not a number.
    pub const NAN: Self = Self(Repr::NaN);
    /// Greater than every finite value.
    pub const INFINITY: Self = Self(Repr::Infinity);
    /// Less than every finite value.
    pub const NEG_INFINITY: Self = Self(Repr::NegativeInfinity);
    /// `0`, with scale 0.
    pub const ZERO: Self = Self(Repr::Small { scale: 0, mantissa: Halves([0, 0]) });
    /// `1`, with scale 0.
    pub const ONE: Self = Self(Repr::Small { scale: 0, mantissa: Halves([1, 0]) });

    /// `mantissa / 10^scale`, for example `new(110, 2)` for `1.10`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] where the scale is over 16,383.
    #[inline]
    pub fn new(mantissa: i128, scale: u32) -> Result<Self, NumericError> {
        if scale > SCALE_MAX {
            return Err(NumericError::Overflow);
        }
        if mantissa == i128::MIN {
            return Self::from_big(BigInt::from(mantissa), scale);
        }
        Ok(Self::small(mantissa, scale))
    }

    /// As [`Numeric::new`], for a scale that is known to be within the limit.
    #[inline]
    pub(crate) fn small(mantissa: i128, scale: u32) -> Self {
        debug_assert!(scale <= SCALE_MAX && mantissa != i128::MIN);
        Self(Repr::Small { scale: scale as u16, mantissa: Halves::of(mantissa) })
    }

    /// As [`Numeric::new`], for a mantissa of any length.
    pub(crate) fn from_big(mantissa: BigInt, scale: u32) -> Result<Self, NumericError> {
        if scale > SCALE_MAX {
            return Err(NumericError::Overflow);
        }
        if let Ok(small) = i128::try_from(&mantissa)
            && small != i128::MIN
        {
            return Ok(Self::small(small, scale));
        }
        // Three bits are less than a digit, so most mantissas need not be measured.
        let limit = INTEGER_DIGITS_MAX + scale;
        if mantissa.bits() > u64::from(limit) * 3 && big::digits(mantissa.magnitude()) > limit {
            return Err(NumericError::Overflow);
        }
        Ok(Self(Repr::Large(Arc::new(Large { mantissa, scale: scale as u16 }))))
    }

    /// The parts of a finite value.
    #[inline]
    pub(crate) fn finite(&self) -> Option<Finite<'_>> {
        match &self.0 {
            Repr::Small { scale, mantissa } => {
                Some(Finite::Small(mantissa.get(), u32::from(*scale)))
            }
            Repr::Large(large) => Some(Finite::Large(&large.mantissa, u32::from(large.scale))),
            _ => None,
        }
    }

    /// Mantissa and scale of a finite value whose mantissa fits 127 bits: the value is
    /// `mantissa / 10^scale`.
    #[inline]
    pub fn as_small(&self) -> Option<(i128, u32)> {
        match &self.0 {
            Repr::Small { scale, mantissa } => Some((mantissa.get(), u32::from(*scale))),
            _ => None,
        }
    }

    /// True for NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    /// True for both infinities.
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinity | Repr::NegativeInfinity)
    }

    /// True for everything but NaN and the infinities.
    pub fn is_finite(&self) -> bool {
        matches!(self.0, Repr::Small { .. } | Repr::Large(_))
    }

    /// True for zero of any scale.
    pub fn is_zero(&self) -> bool {
        matches!(self.as_small(), Some((0, _)))
    }

    /// True for finite values without a fraction other than zeros, and for infinities.
    pub fn is_integral(&self) -> bool {
        match self.finite() {
            Some(_) => self.min_scale() == Some(0),
            None => !self.is_nan(),
        }
    }

    /// -1, 0 or 1; NaN has none, and counts as 0 here.
    pub(crate) fn signum(&self) -> i32 {
        match &self.0 {
            Repr::NaN => 0,
            Repr::Infinity => 1,
            Repr::NegativeInfinity => -1,
            _ => self.finite().map_or(0, |finite| finite.signum()),
        }
    }

    /// Digits after the point that are shown; none for NaN and the infinities.
    pub fn scale(&self) -> Option<u32> {
        self.finite().map(|finite| finite.scale())
    }

    /// Digits after the point that are needed to show the value exactly.
    pub fn min_scale(&self) -> Option<u32> {
        self.finite().map(|finite| {
            let (_, zeros) = normalize(&finite);
            finite.scale().saturating_sub(zeros)
        })
    }

    /// The same value with as few digits after the point as it needs.
    pub fn trim_scale(&self) -> Self {
        match self.min_scale() {
            Some(scale) => self.trunc(scale as i32),
            None => self.clone(),
        }
    }
}

/// The mantissa without trailing zeros, and how many there were. Zero is `(0, its scale)`.
fn normalize<'a>(finite: &Finite<'a>) -> (Finite<'a>, u32) {
    match finite {
        Finite::Small(0, scale) => (Finite::Small(0, 0), *scale),
        Finite::Small(mantissa, scale) => {
            let (mut mantissa, mut zeros) = (*mantissa, 0);
            // Most mantissas are short, and short divisions are cheap.
            if let Ok(mut short) = i64::try_from(mantissa) {
                while short % 10 == 0 {
                    short /= 10;
                    zeros += 1;
                }
                return (Finite::Small(i128::from(short), *scale), zeros);
            }
            while mantissa % 10 == 0 {
                mantissa /= 10;
                zeros += 1;
            }
            (Finite::Small(mantissa, *scale), zeros)
        }
        Finite::Large(mantissa, _) => (finite.clone(), big::trailing_zeros(mantissa.magnitude())),
    }
}

impl Default for Numeric {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        /// Where a value stands among the classes of values.
        fn class(value: &Numeric) -> u8 {
            match value.0 {
                Repr::NegativeInfinity => 0,
                Repr::Small { .. } | Repr::Large(_) => 1,
                Repr::Infinity => 2,
                Repr::NaN => 3,
            }
        }
        match (self.finite(), other.finite()) {
            (Some(left), Some(right)) => cmp_finite(&left, &right),
            _ => class(self).cmp(&class(other)),
        }
    }
}

fn cmp_finite(left: &Finite<'_>, right: &Finite<'_>) -> Ordering {
    if let (Finite::Small(a, a_scale), Finite::Small(b, b_scale)) = (left, right) {
        // A mantissa that grows out of 127 bits is further from zero than any that did not.
        return match a_scale.cmp(b_scale) {
            Ordering::Equal => a.cmp(b),
            Ordering::Less => match big::scale_up_small(*a, b_scale - a_scale) {
                Some(a) => a.cmp(b),
                None => a.cmp(&0),
            },
            Ordering::Greater => match big::scale_up_small(*b, a_scale - b_scale) {
                Some(b) => a.cmp(&b),
                None => 0.cmp(b),
            },
        };
    }
    let scale = left.scale().max(right.scale());
    left.signum()
        .cmp(&right.signum())
        .then_with(|| left.at_scale(scale).cmp(&right.at_scale(scale)))
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Some(finite) = self.finite() else {
            return (self.is_nan(), self.signum()).hash(state);
        };
        let (short, zeros) = normalize(&finite);
        // The rest of the scale may be negative: 100 is 1 with scale -2.
        let scale = if self.is_zero() { 0 } else { finite.scale() as i32 - zeros as i32 };
        match short {
            Finite::Small(mantissa, _) => (mantissa, scale).hash(state),
            Finite::Large(mantissa, _) => {
                let mantissa = big::scale_down(mantissa.clone(), zeros);
                match i128::try_from(&mantissa) {
                    Ok(mantissa) => (mantissa, scale).hash(state),
                    Err(_) => (mantissa, scale).hash(state),
                }
            }
        }
    }
}

impl std::fmt::Debug for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
