//! The syntax tree of a path.
//!
//! ```text
//!   strict $.a[0 to last] ? (@ > 1).size() + 1
//!
//!   Path { lax: false,
//!     Expr { Arithmetic
//!       Expr { Root, [Key a, Elements 0 to last, Filter (Current > 1), Method size] }
//!       + Expr { 1 } } }
//! ```
//!
//! An expression gives a sequence of items, a predicate gives true, false or unknown; where a
//! predicate stands in the place of an expression it is the head of one. Steps or operators in a row
//! are a list, so only parentheses and brackets make a path deep.

use super::regex::Pattern;
use crate::jsonb::Jsonb;

/// A head, and steps from there.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expr {
    pub head: Head,
    pub steps: Vec<Step>,
}

/// The head of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Head {
    /// `null`, `true`, `1.5`, `"x"`.
    Literal(Jsonb),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `$name`
    Variable(String),
    /// `-x`
    Sign(Sign, Box<Expr>),
    /// `x + y - z`: from left to right, operators of one rank.
    Arithmetic(Box<Expr>, Vec<(Operator, Expr)>),
    /// `(x == y)`
    Predicate(Box<Predicate>),
}

/// From items to other items.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// `.name`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[1, 2 to 4]`
    Elements(Vec<Range>),
    /// `.**{first to last}`; `last` is [`LEVEL_LAST`].
    AnyLevel { first: u32, last: u32 },
    /// `? (…)`
    Filter(Predicate),
    /// `.name()`
    Method(Method),
}

impl Step {
    /// True for steps that a lax path lets the elements of an array take.
    pub fn is_taken_by_elements(&self) -> bool {
        match self {
            Step::Key(_) | Step::AnyKey | Step::Filter(_) => true,
            Step::Method(method) => !matches!(method, Method::Type | Method::Size),
            Step::AnyElement | Step::Elements(_) | Step::AnyLevel { .. } => false,
        }
    }
}

/// The level that is written `last`.
pub(super) const LEVEL_LAST: u32 = u32::MAX;

/// `from`, or `from to to`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Range {
    pub from: Expr,
    pub to: Option<Expr>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Predicate {
    /// At least two.
    And(Vec<Predicate>),
    /// At least two.
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
    IsUnknown(Box<Predicate>),
    Compare(Comparison, Box<(Expr, Expr)>),
    Exists(Expr),
    StartsWith(Box<(Expr, Expr)>),
    LikeRegex(Box<(Expr, Pattern)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    pub fn text(self) -> &'static str {
        match self {
            Sign::Plus => "+",
            Sign::Minus => "-",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub fn text(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn text(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// A method that is called with `()`. Arguments are numbers as they were written, of any size.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
    BigInt,
    Boolean,
    Integer,
    Number,
    String,
    /// Precision, and scale where there is a precision.
    Decimal(Vec<Jsonb>),
    /// A template.
    Datetime(Option<String>),
    Date,
    /// Precision.
    Time(Option<Jsonb>),
    TimeTz(Option<Jsonb>),
    Timestamp(Option<Jsonb>),
    TimestampTz(Option<Jsonb>),
}

impl Method {
    /// The method of that name that takes no arguments, if there is one.
    pub fn plain(name: &str) -> Option<Method> {
        Some(match name {
            "type" => Method::Type,
            "size" => Method::Size,
            "abs" => Method::Abs,
            "floor" => Method::Floor,
            "ceiling" => Method::Ceiling,
            "double" => Method::Double,
            "keyvalue" => Method::KeyValue,
            "bigint" => Method::BigInt,
            "boolean" => Method::Boolean,
            "integer" => Method::Integer,
            "number" => Method::Number,
            "string" => Method::String,
            "date" => Method::Date,
            _ => return None,
        })
    }

    /// The method of that name whose one argument is a precision, if there is one.
    pub fn with_precision(name: &str, precision: Option<Jsonb>) -> Option<Method> {
        Some(match name {
            "time" => Method::Time(precision),
            "time_tz" => Method::TimeTz(precision),
            "timestamp" => Method::Timestamp(precision),
            "timestamp_tz" => Method::TimestampTz(precision),
            _ => return None,
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
            Method::BigInt => "bigint",
            Method::Boolean => "boolean",
            Method::Integer => "integer",
            Method::Number => "number",
            Method::String => "string",
            Method::Decimal(_) => "decimal",
            Method::Datetime(_) => "datetime",
            Method::Date => "date",
            Method::Time(_) => "time",
            Method::TimeTz(_) => "time_tz",
            Method::Timestamp(_) => "timestamp",
            Method::TimestampTz(_) => "timestamp_tz",
        }
    }
}
