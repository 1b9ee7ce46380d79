//! The errors, in PostgreSQL's words and with its codes.

use interrupt::Interrupted;
use thiserror::Error;

/// A conversion or computation that has no result.
///
/// The text of each is the message that a client of PostgreSQL expects; [`NumericError::sqlstate`]
/// is its code, and [`NumericError::detail`] the second line where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NumericError {
    /// The text is no number.
    #[error("invalid input syntax for type numeric: \"{text}\"")]
    Syntax {
        /// The text that was to be read.
        text: String,
    },
    /// More digits than the format has.
    #[error("value overflows numeric format")]
    Overflow,
    /// The divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// There is no real root.
    #[error("cannot take square root of a negative number")]
    RootOfNegative,
    /// `ln(0)`.
    #[error("cannot take logarithm of zero")]
    LogarithmOfZero,
    /// `ln(-1)`.
    #[error("cannot take logarithm of a negative number")]
    LogarithmOfNegative,
    /// `0 ^ -1`.
    #[error("zero raised to a negative power is undefined")]
    ZeroToNegativePower,
    /// `(-1) ^ 0.5`.
    #[error("a negative number raised to a non-integer power yields a complex result")]
    NegativeToFractionalPower,
    /// `factorial(-1)`.
    #[error("factorial of a negative number is undefined")]
    FactorialOfNegative,
    /// The value does not fit `numeric(precision, scale)`.
    #[error("numeric field overflow")]
    FieldOverflow {
        /// Digits that the field holds in all.
        precision: i32,
        /// Digits of them that stand after the point.
        scale: i32,
        /// The value was an infinity.
        infinite: bool,
    },
    /// A declared precision is not between 1 and 1,000.
    #[error("NUMERIC precision {0} must be between 1 and 1000")]
    BadPrecision(i32),
    /// A declared scale is not between -1,000 and 1,000.
    #[error("NUMERIC scale {0} must be between -1000 and 1000")]
    BadScale(i32),
    /// The value does not fit the integer type of that name.
    #[error("{0} out of range")]
    OutOfRange(&'static str),
    /// An integer type, by its name, has no NaN.
    #[error("cannot convert NaN to {0}")]
    NanToInteger(&'static str),
    /// An integer type, by its name, has no infinity.
    #[error("cannot convert infinity to {0}")]
    InfinityToInteger(&'static str),
    /// The value does not fit the floating point type.
    #[error("\"{text}\" is out of range for type {target}")]
    FloatOutOfRange {
        /// The number as it is written.
        text: String,
        /// The type's SQL name.
        target: &'static str,
    },
    /// `width_bucket` has its own preconditions.
    #[error("{0}")]
    WidthBucket(&'static str),
    /// The statement that computes was told to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Bytes from outside are not the wire form of a number.
    #[error("{0}")]
    Wire(&'static str),
    /// Stored bytes are not what was once written.
    #[error("stored numeric is damaged: {0}")]
    Damaged(&'static str),
}

impl NumericError {
    /// The five characters of the SQL standard's code.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "22P02",
            Self::Overflow
            | Self::FactorialOfNegative
            | Self::FieldOverflow { .. }
            | Self::OutOfRange(_)
            | Self::FloatOutOfRange { .. } => "22003",
            Self::DivisionByZero => "22012",
            Self::RootOfNegative | Self::ZeroToNegativePower | Self::NegativeToFractionalPower => {
                "2201F"
            }
            Self::LogarithmOfZero | Self::LogarithmOfNegative => "2201E",
            Self::BadPrecision(_) | Self::BadScale(_) => "22023",
            Self::NanToInteger(_) | Self::InfinityToInteger(_) => "0A000",
            Self::WidthBucket(_) => "2201G",
            Self::Interrupted(_) => Interrupted::SQLSTATE,
            Self::Wire(_) => "22P03",
            Self::Damaged(_) => "XX001",
        }
    }

    /// The second line of the report, where PostgreSQL gives one.
    pub fn detail(&self) -> Option<String> {
        let Self::FieldOverflow { precision, scale, infinite } = self else { return None };
        let field = format!("A field with precision {precision}, scale {scale}");
        Some(match (infinite, precision - scale) {
            (true, _) => format!("{field} cannot hold an infinite value."),
            (false, 0) => format!("{field} must round to an absolute value less than 1."),
            (false, n) => format!("{field} must round to an absolute value less than 10^{n}."),
        })
    }
}
