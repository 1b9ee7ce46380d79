//! The errors of JSON values, in PostgreSQL's words and with its codes.
//!
//! ```text
//!   ERROR:  invalid input syntax for type json          Display
//!   DETAIL:  Expected ":", but found "1".               detail()
//!   HINT:  …                                            hint()
//!   CONTEXT:  JSON data, line 1: {"a" 1...              context()
//!   22P02                                               sqlstate()
//! ```

use std::borrow::Cow;

use interrupt::Interrupted;

use super::form::BYTES_MAX;
use crate::written::SyntaxError;

/// An operation on JSON that has no result.
///
/// The text of each is the message that a client of PostgreSQL expects; the methods give what
/// stands beside it in a report.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonbError {
    /// The text is no JSON, or has escapes that no text can hold.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Containers stand deeper in each other than anything here goes.
    #[error("stack depth limit exceeded")]
    TooDeep,
    /// A number with more digits than `numeric` has.
    #[error("value overflows numeric format")]
    NumberOverflow,
    /// A string, or the name of a field, is too long.
    #[error("string too long to represent as jsonb string")]
    StringTooLong,
    /// The elements of an array take too many bytes.
    #[error("total size of jsonb array elements exceeds the maximum of {BYTES_MAX} bytes")]
    ArrayTooLarge,
    /// The fields of an object take too many bytes.
    #[error("total size of jsonb object elements exceeds the maximum of {BYTES_MAX} bytes")]
    ObjectTooLarge,
    /// Stored bytes are not what was once written.
    #[error("stored jsonb is damaged: {0}")]
    Damaged(&'static str),
    /// The statement that needs the value was told to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),

    /// `-` on a scalar.
    #[error("cannot delete from scalar")]
    DeleteFromScalar,
    /// `-` with an integer on an object.
    #[error("cannot delete from object using integer index")]
    DeleteFromObjectByIndex,
    /// `#-` on a scalar.
    #[error("cannot delete path in scalar")]
    DeletePathInScalar,
    /// `jsonb_set` or `jsonb_insert` on a scalar.
    #[error("cannot set path in scalar")]
    SetPathInScalar,
    /// A path has a null; positions count from 1.
    #[error("path element at position {position} is null")]
    PathElementNull {
        /// Where in the path.
        position: usize,
    },
    /// A path leads through an array with something that is no integer.
    #[error("path element at position {position} is not an integer: \"{text}\"")]
    PathElementNotInteger {
        /// Where in the path, from 1.
        position: usize,
        /// The text there.
        text: String,
    },
    /// A subscript lies before the first element of an array.
    #[error("path element at position {position} is out of range: {index}")]
    PathElementOutOfRange {
        /// Where in the path, from 1.
        position: usize,
        /// The index there.
        index: i32,
    },
    /// `jsonb_insert` where there is a field already.
    #[error("cannot replace existing key")]
    KeyExists,
    /// An assignment to a subscript of a scalar.
    #[error("cannot replace existing key")]
    SubscriptOfScalar,
    /// A subscript that is assigned to is null.
    #[error("jsonb subscript in assignment must not be null")]
    SubscriptNull,
    /// `jsonb_set_lax` was asked to refuse nulls.
    #[error("JSON value must not be null")]
    NullRefused,
    /// `jsonb_set_lax` does not know this treatment of nulls.
    #[error(
        "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
         \"raise_exception\""
    )]
    UnknownNullTreatment,

    /// The length of a scalar was asked for.
    #[error("cannot get array length of a scalar")]
    LengthOfScalar,
    /// The length of an object was asked for.
    #[error("cannot get array length of a non-array")]
    LengthOfNonArray,
    /// A function for objects was called on something else.
    #[error("cannot call {function} on {what}")]
    WrongKind {
        /// The function's SQL name.
        function: &'static str,
        /// `a scalar`, `an array`, `a non-object`, `a non-array`.
        what: &'static str,
    },
    /// The elements of an object were asked for.
    #[error("cannot extract elements from an object")]
    ElementsOfObject,
    /// The elements of a scalar were asked for.
    #[error("cannot extract elements from a scalar")]
    ElementsOfScalar,
    /// The fields of an array were asked for.
    #[error("cannot deconstruct an array as an object")]
    FieldsOfArray,
    /// The fields of a scalar were asked for.
    #[error("cannot deconstruct a scalar")]
    FieldsOfScalar,

    /// Names and values in turn, but a value is missing.
    #[error("array must have even number of elements")]
    OddArray,
    /// Rows of names and values that are not pairs.
    #[error("array must have two columns")]
    NotTwoColumns,
    /// An array of more dimensions than are understood.
    #[error("wrong number of array subscripts")]
    WrongDimensions,
    /// As many names as values are needed.
    #[error("mismatched array dimensions")]
    DimensionsDiffer,
    /// The name of a field is null.
    #[error("null value not allowed for object key")]
    NullKey,
    /// The name of a field is null; arguments count from 1.
    #[error("argument {position}: key must not be null")]
    NullKeyArgument {
        /// Which argument.
        position: usize,
    },
    /// A list of names and values in turn that ends with a name.
    #[error("argument list must have even number of elements")]
    OddArguments {
        /// The function's SQL name.
        function: &'static str,
    },

    /// A value is not of a kind that the type can be made of.
    #[error("cannot cast jsonb {kind} to type {target}")]
    CannotCast {
        /// `null`, `string`, `numeric`, `boolean`, `array`, `object` or `array or object`.
        kind: &'static str,
        /// The type's SQL name.
        target: &'static str,
    },
}

impl JsonbError {
    /// The five characters of the SQL standard's code.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Syntax(error) => error.sqlstate(),
            Self::TooDeep => "54001",
            Self::NumberOverflow => "22003",
            Self::StringTooLong | Self::ArrayTooLarge | Self::ObjectTooLarge => "54000",
            Self::Damaged(_) => "XX001",
            Self::Interrupted(_) => Interrupted::SQLSTATE,
            Self::PathElementNotInteger { .. } => "22P02",
            Self::PathElementNull { .. }
            | Self::SubscriptNull
            | Self::NullRefused
            | Self::NullKey => "22004",
            Self::OddArray
            | Self::NotTwoColumns
            | Self::WrongDimensions
            | Self::DimensionsDiffer => "2202E",
            _ => "22023",
        }
    }

    /// The second line of the report, where PostgreSQL gives one.
    pub fn detail(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Syntax(error) => error.detail().into(),
            Self::StringTooLong => format!(
                "Due to an implementation restriction, jsonb strings cannot exceed {BYTES_MAX} \
                 bytes."
            )
            .into(),
            Self::SubscriptOfScalar => {
                "The path assumes key is a composite object, but it is a scalar value.".into()
            }
            Self::NullRefused => {
                "Exception was raised because null_value_treatment is \"raise_exception\".".into()
            }
            _ => return None,
        })
    }

    /// The hint for the user, where PostgreSQL has one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::KeyExists => "Try using the function jsonb_set to replace key value.".into(),
            Self::NullRefused => "To avoid, either change the null_value_treatment argument or \
                                  ensure that an SQL NULL is not passed."
                .into(),
            Self::OddArguments { function } => format!(
                "The arguments of {function}() must consist of alternating keys and values."
            )
            .into(),
            _ => return None,
        })
    }

    /// Where in the input the error is, where it is in an input.
    pub fn context(&self) -> Option<&str> {
        match self {
            Self::Syntax(error) => Some(error.context()),
            _ => None,
        }
    }
}
