//! The errors of a path, in PostgreSQL's words and with its codes.

use std::borrow::Cow;

use interrupt::Interrupted;
use numeric::NumericError;

use super::super::error::JsonbError;

/// A path that is none, or that has no answer for a value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    #[error("invalid input syntax for type jsonpath: \"{0}\"")]
    Empty(String),
    /// The text is not a path; `near` is what stands in the place, or nothing at the end.
    #[error("{what} {}", place(.near))]
    Syntax {
        /// The error, in the words of PostgreSQL's scanner or parser.
        what: &'static str,
        /// The token that does not fit.
        near: String,
    },
    /// The text has the form of a path but means nothing.
    #[error("invalid input syntax for type jsonpath")]
    Meaning {
        /// Why.
        detail: String,
    },
    /// Half a pair of surrogates.
    #[error("invalid input syntax for type jsonpath")]
    Surrogate {
        /// Which half is wrong.
        detail: &'static str,
    },
    /// `\u0000`, which no text can hold.
    #[error("unsupported Unicode escape sequence")]
    Nul,
    /// An escape that stands for no character.
    #[error("invalid Unicode code point")]
    NoCharacter,
    /// `@` outside a filter.
    #[error("@ is not allowed in root expressions")]
    CurrentAtRoot,
    /// `last` outside the brackets of an array.
    #[error("LAST is allowed only in array subscripts")]
    LastOutsideSubscript,
    /// A level of `.**` that is no number of 32 bits.
    #[error("value \"{0}\" is out of range for type integer")]
    LevelOutOfRange(String),
    /// A pattern that is no regular expression.
    #[error("invalid regular expression: {0}")]
    Regex(String),
    /// Something that is known but not done.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Expressions stand deeper in each other, or values do, than anything here goes.
    #[error("stack depth limit exceeded")]
    TooDeep,

    /// The variables of a path are not an object.
    #[error("\"vars\" argument is not an object")]
    VarsNotObject,
    /// A variable is not among those given.
    #[error("could not find jsonpath variable \"{0}\"")]
    UnknownVariable(String),
    /// A strict path names a field that is not there.
    #[error("JSON object does not contain key \"{0}\"")]
    MemberNotFound(String),
    /// A strict path looks for a field in what is no object.
    #[error("jsonpath member accessor can only be applied to an object")]
    MemberOfNonObject,
    /// A strict path looks for all fields of what is no object.
    #[error("jsonpath wildcard member accessor can only be applied to an object")]
    WildcardMemberOfNonObject,
    /// A strict path looks for an element of what is no array.
    #[error("jsonpath array accessor can only be applied to an array")]
    ElementOfNonArray,
    /// A strict path looks for all elements of what is no array.
    #[error("jsonpath wildcard array accessor can only be applied to an array")]
    WildcardElementOfNonArray,
    /// A strict path looks behind the end of an array.
    #[error("jsonpath array subscript is out of bounds")]
    SubscriptOutOfBounds,
    /// A subscript is not one number.
    #[error("jsonpath array subscript is not a single numeric value")]
    SubscriptNotNumber,
    /// A subscript is no number of 32 bits.
    #[error("jsonpath array subscript is out of integer range")]
    SubscriptOutOfRange,
    /// An operand is not one number.
    #[error("{side} operand of jsonpath operator {operator} is not a single numeric value")]
    OperandNotNumber {
        /// `left` or `right`.
        side: &'static str,
        /// The operator's sign.
        operator: &'static str,
    },
    /// The operand of a sign is not a number.
    #[error("operand of unary jsonpath operator {operator} is not a numeric value")]
    SignOfNonNumber {
        /// The sign.
        operator: &'static str,
    },
    /// A method does not go with the kind of value.
    #[error("jsonpath item method .{method}() can only be applied to {wanted}")]
    MethodOfWrongKind {
        /// The method's name.
        method: &'static str,
        /// The kind of value that it applies to.
        wanted: &'static str,
    },
    /// A method cannot read its value.
    #[error(
        "argument \"{argument}\" of jsonpath item method .{method}() is invalid for type {target}"
    )]
    MethodArgument {
        /// The value as text.
        argument: String,
        /// The method's name.
        method: &'static str,
        /// The SQL name of what it makes.
        target: &'static str,
    },
    /// A method met a number that JSON cannot say.
    #[error("NaN or Infinity is not allowed for jsonpath item method .{method}()")]
    NotFinite {
        /// The method's name.
        method: &'static str,
    },
    /// A precision or a scale is no number of 32 bits.
    #[error("{what} of jsonpath item method .{method}() is out of range for type integer")]
    ModifierOutOfRange {
        /// `precision`, `scale` or `time precision`.
        what: &'static str,
        /// The method's name.
        method: &'static str,
    },
    /// `jsonb_path_match` needs one truth value.
    #[error("single boolean result is expected")]
    NotOneBool,
    /// A computation has no result.
    #[error(transparent)]
    Number(#[from] NumericError),
    /// A value cannot be made of the answer.
    #[error(transparent)]
    Value(#[from] JsonbError),
    /// A date or a time cannot be read or compared, in the words of the layer that knows them.
    #[error("{message}")]
    Datetime {
        /// The code.
        sqlstate: &'static str,
        /// The message.
        message: String,
        /// The hint for the user.
        hint: Option<&'static str>,
        /// It is an error even where errors are silent.
        hard: bool,
    },
}

impl From<Interrupted> for PathError {
    fn from(error: Interrupted) -> PathError {
        PathError::Value(error.into())
    }
}

fn place(near: &str) -> String {
    if near.is_empty() {
        "at end of jsonpath input".to_owned()
    } else {
        format!("at or near \"{near}\" of jsonpath input")
    }
}

impl PathError {
    /// The five characters of the SQL standard's code.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Empty(_) | Self::Surrogate { .. } => "22P02",
            Self::Syntax { .. }
            | Self::Meaning { .. }
            | Self::NoCharacter
            | Self::CurrentAtRoot
            | Self::LastOutsideSubscript => "42601",
            Self::Nul => "22P05",
            Self::LevelOutOfRange(_) => "22003",
            Self::Regex(_) => "2201B",
            Self::Unsupported(_) => "0A000",
            Self::TooDeep => "54001",
            Self::VarsNotObject => "22023",
            Self::UnknownVariable(_) => "42704",
            Self::MemberNotFound(_) | Self::MemberOfNonObject => "2203A",
            Self::WildcardMemberOfNonObject => "2203C",
            Self::ElementOfNonArray | Self::WildcardElementOfNonArray => "22039",
            Self::SubscriptOutOfBounds | Self::SubscriptNotNumber | Self::SubscriptOutOfRange => {
                "22033"
            }
            Self::OperandNotNumber { .. } | Self::NotOneBool => "22038",
            Self::SignOfNonNumber { .. } => "2203B",
            Self::MethodOfWrongKind { method, .. } => match *method {
                "size" => "22039",
                "keyvalue" => "2203C",
                method if method.starts_with("date") || method.starts_with("time") => "22031",
                _ => "22036",
            },
            Self::ModifierOutOfRange { what: "time precision", .. } => "22031",
            Self::MethodArgument { .. }
            | Self::NotFinite { .. }
            | Self::ModifierOutOfRange { .. } => "22036",
            Self::Number(error) => error.sqlstate(),
            Self::Value(error) => error.sqlstate(),
            Self::Datetime { sqlstate, .. } => sqlstate,
        }
    }

    /// The second line of the report, where PostgreSQL gives one.
    pub fn detail(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Meaning { detail } => detail.clone().into(),
            Self::Surrogate { detail } => (*detail).into(),
            Self::Nul => "\\u0000 cannot be converted to text.".into(),
            Self::VarsNotObject => {
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."
                    .into()
            }
            Self::Number(error) => error.detail()?.into(),
            Self::Value(error) => return error.detail(),
            _ => return None,
        })
    }

    /// The hint for the user, where PostgreSQL has one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Datetime { hint, .. } => *hint,
            _ => None,
        }
    }

    /// True if the error is one even if errors are silent, and no predicate turns it into
    /// `unknown`.
    pub fn is_hard(&self) -> bool {
        match self {
            Self::TooDeep
            | Self::VarsNotObject
            | Self::UnknownVariable(_)
            | Self::Unsupported(_)
            | Self::Value(_) => true,
            Self::Number(error) => matches!(
                error,
                NumericError::BadPrecision(_)
                    | NumericError::BadScale(_)
                    | NumericError::Interrupted(_)
            ),
            Self::Datetime { hard, .. } => *hard,
            _ => false,
        }
    }
}
