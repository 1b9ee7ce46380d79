//! The number of digits of a result that does not end, and the estimates behind it.
//!
//! PostgreSQL holds numbers as base-10,000 digits and chooses the scale of quotients, roots and
//! logarithms by the position of the first of them. Users see the outcome (`1/3` has 20 digits,
//! `2/3` too, `10/3` has 16), so the same positions are computed here from decimal mantissas.
//!
//! ```text
//!   value      12345.678  =  1 | 2345 . 6780
//!   groups                   1   2345   6780
//!   weight                   1    0      -1       of the first group, in powers of 10,000
//! ```

use crate::value::Finite;
use crate::{Numeric, big};

/// Significant digits that every result gets at least.
const SIGNIFICANT_DIGITS: i32 = 16;
/// Digits after the point that a result of a function gets at most.
pub(crate) const RESULT_SCALE_MAX: i32 = 1_000;
/// Decimal digits of a group.
pub(crate) const GROUP: i32 = 4;

/// The first groups of a value as one integer.
pub(crate) struct Leading {
    /// The groups, one after the other; 0 for zero.
    pub(crate) digits: u64,
    /// The power of 10,000 of the last of them: the value is about `digits * 10_000^weight`.
    pub(crate) weight: i32,
    /// The power of 10,000 of the first of them; 0 for zero.
    pub(crate) first: i32,
}

/// The first `groups` (at most 4) groups of the absolute value, without trailing zero groups.
pub(crate) fn leading(value: &Finite<'_>, groups: i32) -> Leading {
    let exponent = match exponent(value) {
        None => return Leading { digits: 0, weight: 0, first: 0 },
        Some(exponent) => exponent,
    };
    let first = exponent.div_euclid(GROUP);
    let mut weight = first - groups + 1;
    // The integer part of value / 10_000^weight = mantissa * 10^shift.
    let shift = -(value.scale() as i32) - weight * GROUP;
    let mut digits = match value {
        Finite::Small(mantissa, _) if shift >= 0 => {
            // At most 16 digits come out, so the product fits.
            mantissa.unsigned_abs() * big::POWERS[shift as usize] as u128
        }
        Finite::Small(mantissa, _) => {
            mantissa.unsigned_abs() / big::POWERS[(-shift) as usize] as u128
        }
        Finite::Large(mantissa, _) => {
            let digits = mantissa.magnitude() / big::power((-shift).max(0) as u32);
            u128::try_from(digits).unwrap_or(u128::MAX)
        }
    } as u64;
    while digits != 0 && digits.is_multiple_of(10_000) {
        digits /= 10_000;
        weight += 1;
    }
    Leading { digits, weight, first }
}

/// The power of ten of the first digit; none for zero.
pub(crate) fn exponent(value: &Finite<'_>) -> Option<i32> {
    let digits = match value {
        Finite::Small(mantissa, _) => big::digits_small(mantissa.unsigned_abs()),
        Finite::Large(mantissa, _) => big::digits(mantissa.magnitude()),
    };
    (digits > 0).then(|| digits as i32 - 1 - value.scale() as i32)
}

/// Scale of `left / right`.
pub(crate) fn of_quotient(left: &Numeric, right: &Numeric) -> u32 {
    let (Some(left), Some(right)) = (left.finite(), right.finite()) else { return 0 };
    let (above, below) = (leading(&left, 1), leading(&right, 1));
    // The quotient of the first groups has one group less where it is below one.
    let weight = above.first - below.first - i32::from(above.digits <= below.digits);
    of_result(weight * GROUP, &[&left, &right])
}

/// Scale of a result whose first digit is worth `10^weight`: 16 significant digits, at least the
/// scale of each operand, within 0 and 1,000.
pub(crate) fn of_result(weight: i32, operands: &[&Finite<'_>]) -> u32 {
    let operands = operands.iter().map(|operand| operand.scale() as i32).max().unwrap_or(0);
    (SIGNIFICANT_DIGITS - weight).max(operands).clamp(0, RESULT_SCALE_MAX) as u32
}
