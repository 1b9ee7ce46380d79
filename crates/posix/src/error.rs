//! The errors of an expression.

/// Why an expression cannot be compiled. The words are PostgreSQL's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// `***?`: an expression that asks for the version of the engine.
    Version,
    /// `[.name.]` where there is no character of this name.
    Collating,
    /// `[:name:]` where there is no class of this name.
    Class,
    /// A backslash before a letter that means nothing, or before too few digits.
    Escape,
    /// A back reference to a group that is not there, or not closed yet.
    Backreference,
    /// A bracket expression that is not closed.
    Brackets,
    /// A group that is not closed, or closed without having been opened.
    Parentheses,
    /// A bound that is not closed.
    Braces,
    /// A bound that is no number up to 255, or whose first number is the larger one.
    Count,
    /// A range whose end comes before its beginning, or is a class.
    Range,
    /// A quantifier with nothing to repeat.
    Quantifier,
    /// `(?letters)` with a letter that is no option.
    Option,
    /// Options that exclude each other.
    Argument,
    /// More states, nested groups or lookaround constraints than are allowed.
    TooComplex,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Version => "invalid regexp (reg version 0.8)",
            Self::Collating => "invalid collating element",
            Self::Class => "invalid character class",
            Self::Escape => "invalid escape \\ sequence",
            Self::Backreference => "invalid backreference number",
            Self::Brackets => "brackets [] not balanced",
            Self::Parentheses => "parentheses () not balanced",
            Self::Braces => "braces {} not balanced",
            Self::Count => "invalid repetition count(s)",
            Self::Range => "invalid character range",
            Self::Quantifier => "quantifier operand invalid",
            Self::Option => "invalid embedded option",
            Self::Argument => "invalid argument to regex function",
            Self::TooComplex => "regular expression is too complex",
        })
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
