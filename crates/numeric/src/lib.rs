//! Exact decimal numbers, as PostgreSQL's `numeric`: a value *and* the number of digits after the
//! point.
//!
//! ```text
//!   text      value      mantissa   scale
//!   1.10      11/10      110        2          1.10 = 1.1 (equal, same hash, same key)
//!   1.1       11/10      11         1          but each prints as it was written
//!   1e3       1000       1000       0          a scale is never negative
//!   -0.00     0          0          2          zero has no sign
//! ```
//!
//! A value is `mantissa / 10^scale`. Mantissas that fit 128 bits (38 digits) live inside the value
//! and need no allocation; longer ones are shared big integers. The other values are `NaN`, which
//! equals itself and is greater than all others, and the two infinities.
//!
//! # Limits
//! At most 131,072 digits before the point and 16,383 after it; a larger number is
//! [`NumericError::Overflow`].
//!
//! # Scale of results
//! Sums, differences and remainders have the larger scale of the two, products the sum of the
//! scales. Where a result does not end (quotients, roots, logarithms, powers) it gets at least 16
//! significant digits, at least the scale of the operands, and at most 1,000 digits after the
//! point. The estimates behind that rule look at base-10,000 digits, because the number of digits
//! that users see depends on it; they are in `scale`.
//!
//! # Forms
//! Text ([`std::str::FromStr`], [`std::fmt::Display`]), the wire's binary form ([`Numeric::to_wire`]), a compact
//! form for rows ([`Numeric::to_stored`]) and a form for keys whose order as bytes is the order of
//! the values ([`Numeric::write_key`]).
//!
//! # Absent on purpose
//! No locale, no templates (`to_char`), no floating point inside the arithmetic.

mod arithmetic;
mod big;
mod bucket;
mod convert;
mod elementary;
mod error;
mod fixed;
mod key;
mod power;
mod root;
mod round;
mod scale;
mod stored;
mod sum;
mod text;
mod value;
mod wire;

pub use error::NumericError;
pub use round::Precision;
pub use sum::{Spread, Squares, Sum};
pub use value::Numeric;

/// Most digits before the decimal point.
pub const INTEGER_DIGITS_MAX: u32 = 131_072;

/// Most digits after the decimal point.
pub const SCALE_MAX: u32 = 16_383;
