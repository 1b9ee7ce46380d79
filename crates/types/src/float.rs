//! Arithmetic of floating point numbers that reports the errors that IEEE 754 would hide.
//!
//! A result that is infinite though no operand is, or zero though it should not be, is an error; so is a
//! division by zero. NaN and infinities of the operands go through.

use crate::{Error, Result, SqlState};

/// The error for a result that is too large.
#[cold]
pub fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// The error for a result that is too near to zero.
#[cold]
pub fn underflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

#[cold]
fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

macro_rules! arithmetic {
    ($($float:ty: $add:ident $sub:ident $mul:ident $div:ident;)*) => {$(
        /// The sum.
        ///
        /// # Errors
        /// 22003 where it is too large.
        pub fn $add(a: $float, b: $float) -> Result<$float> {
            let sum = a + b;
            if sum.is_infinite() && a.is_finite() && b.is_finite() { Err(overflow()) } else { Ok(sum) }
        }

        /// The difference.
        ///
        /// # Errors
        /// 22003 where it is too large.
        pub fn $sub(a: $float, b: $float) -> Result<$float> {
            $add(a, -b)
        }

        /// The product.
        ///
        /// # Errors
        /// 22003 where it is too large or too near to zero.
        pub fn $mul(a: $float, b: $float) -> Result<$float> {
            let product = a * b;
            if product.is_infinite() && a.is_finite() && b.is_finite() {
                Err(overflow())
            } else if product == 0.0 && a != 0.0 && b != 0.0 {
                Err(underflow())
            } else {
                Ok(product)
            }
        }

        /// The quotient.
        ///
        /// # Errors
        /// 22012 where the divisor is zero, 22003 where the quotient is too large or too near to zero.
        pub fn $div(a: $float, b: $float) -> Result<$float> {
            if b == 0.0 && !a.is_nan() {
                return Err(division_by_zero());
            }
            let quotient = a / b;
            if quotient.is_infinite() && a.is_finite() {
                Err(overflow())
            } else if quotient == 0.0 && a != 0.0 && b.is_finite() {
                Err(underflow())
            } else {
                Ok(quotient)
            }
        }
    )*};
}
arithmetic! {
    f32: add4 sub4 mul4 div4;
    f64: add8 sub8 mul8 div8;
}
