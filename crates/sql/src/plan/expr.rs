//! Expressions of a bound plan.

use std::sync::Arc;

use scalar::cast::{CoercionContext, CoercionPath};
use scalar::standard::{Construct, Search};
use types::{Datum, Modifier, Oid, Type};

use super::{AggregateCall, Plan, WindowCall};
use crate::error::At;

/// An expression and its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// The modifier of its type.
    pub modifier: Modifier,
    /// Where it stands in the text.
    pub at: At,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A value.
    Const(Datum),
    /// A parameter, from 0.
    Param(usize),
    /// A column of a row.
    Column {
        /// How many rows further out.
        levels_up: u32,
        /// Its place in that row.
        index: u32,
    },
    /// A call of a function, written as one or as an operator.
    Call(Call),
    /// A value of another type.
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// How it is cast.
        how: Cast,
    },
    /// A value under a collation that was written. The binder takes it out at the end.
    Collate {
        /// The value.
        expr: Box<Expr>,
        /// The collation.
        collation: Oid,
    },
    /// True if all are; false if one is.
    And(Vec<Expr>),
    /// True if one is; false if all are.
    Or(Vec<Expr>),
    /// The opposite.
    Not(Box<Expr>),
    /// Whether it is NULL; for a row of columns, whether all of them are (not: whether none is).
    IsNull {
        /// The tested expression.
        expr: Box<Expr>,
        /// True for `IS NOT NULL`.
        negated: bool,
    },
    /// Whether it is true, false or (`None`) NULL.
    IsBool {
        /// The tested expression.
        expr: Box<Expr>,
        /// For what.
        value: Option<bool>,
        /// True for the opposite.
        negated: bool,
    },
    /// Whether two values differ, where NULL is a value like others.
    IsDistinct {
        /// The call of `=` for the two.
        equal: Call,
        /// True for the opposite.
        negated: bool,
    },
    /// NULL where the two arguments are equal, else the first.
    NullIf(Call),
    /// The result of the first arm whose condition is true.
    Case {
        /// A value that conditions may see as [`ExprKind::CaseOperand`].
        operand: Option<Box<Expr>>,
        /// Conditions and results.
        arms: Vec<(Expr, Expr)>,
        /// The result where no condition is true.
        otherwise: Box<Expr>,
    },
    /// The operand of the innermost [`ExprKind::Case`] around.
    CaseOperand,
    /// The first that is not NULL.
    Coalesce(Vec<Expr>),
    /// The greatest that is not NULL.
    Greatest(Vec<Expr>),
    /// The least that is not NULL.
    Least(Vec<Expr>),
    /// Whether a call is true for any element of an array, or for all. The last argument is the
    /// array.
    AnyAll {
        /// The call, whose result is a truth value.
        call: Call,
        /// True for `ALL`.
        all: bool,
    },
    /// An array of these elements; where they are arrays themselves, of one dimension more.
    Array {
        /// The elements.
        elements: Vec<Expr>,
        /// True if the elements are arrays of the same type.
        nested: bool,
    },
    /// A row of these fields. The rows of a subquery or a function have a type without a name, and
    /// bring the names of their fields along; `names` is empty for all others.
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// Their names, as many as there are fields or none.
        names: Arc<[String]>,
    },
    /// Whether one row comes before, after or with another: `<`, `<=`, `>=` or `>`. The pairs are
    /// calls of `=` where the operator is about equality, and of the operator itself else.
    RowCompare {
        /// The operator.
        symbol: &'static str,
        /// The call of the operator for each pair of fields.
        pairs: Vec<Call>,
    },
    /// A field of a row, from 0.
    Field {
        /// The row.
        expr: Box<Expr>,
        /// Which.
        index: usize,
    },
    /// An element of an array, a part of `jsonb`, or a slice of an array.
    Subscript {
        /// The value that is taken apart.
        expr: Box<Expr>,
        /// The subscripts.
        steps: Vec<Subscript>,
    },
    /// An array or `jsonb` with one element, or a slice, replaced.
    Assign {
        /// The former value.
        expr: Box<Expr>,
        /// The subscripts.
        steps: Vec<Subscript>,
        /// The new value.
        value: Box<Expr>,
    },
    /// A row with one field replaced.
    AssignField {
        /// The former value.
        expr: Box<Expr>,
        /// Which field, from 0.
        index: usize,
        /// The new value.
        value: Box<Expr>,
    },
    /// The rows of a plan, computed for the row that is one level up for it.
    Subquery(Box<Subquery>),
    /// An aggregate; the binder turns it into a column of a [`Node::Aggregate`].
    Aggregate(Box<AggregateCall>),
    /// A window function; the binder turns it into a column of a [`Node::Window`].
    Window(Box<WindowCall>),
    /// A construct of SQL/JSON: `JSON_OBJECT`, `IS JSON`, `JSON_VALUE` and the like.
    Json(Json),
    /// `GROUPING`; the binder turns it into a column of a [`Node::Aggregate`].
    Grouping {
        /// The expressions of the grouping sets.
        args: Vec<Expr>,
        /// The scope whose groups it is about, by the binder's number.
        scope: u32,
    },
    /// `CURRENT_DATE` and the like, by the word in lower case.
    Keyword(&'static str),
    /// The next value of the sequence behind an identity column.
    NextValue(Oid),
    /// The action of the last `WHEN` clause: `merge_action()`.
    MergeAction,
    /// The row that a cursor stands at.
    CurrentOf(String),
    /// A value that the executor keeps under this number. The binder makes none.
    Slot(u32),
    /// An expression with the same value for all rows. The executor computes it for the first row that needs it
    /// and keeps the value under this number. The binder makes none.
    Once {
        /// The number.
        number: u32,
        /// The expression.
        expr: Box<Expr>,
    },
    /// A subquery that the executor knows by its number, for these arguments. The binder makes
    /// none.
    Subplan {
        /// Which.
        number: u32,
        /// Its arguments, computed from the row.
        args: Vec<Expr>,
    },
}

/// A construct of SQL/JSON.
#[derive(Clone, Debug)]
pub enum Json {
    /// JSON of values, or a test of one.
    Construct {
        /// The construct.
        construct: Construct,
        /// Of what.
        args: Vec<Expr>,
    },
    /// A search by path.
    Search(Box<JsonSearch>),
}

/// A search in JSON by path.
#[derive(Clone, Debug)]
pub struct JsonSearch {
    /// The search.
    pub search: Search,
    /// Where, a `jsonb`.
    pub document: Expr,
    /// The path, a `jsonpath`.
    pub path: Expr,
    /// The values of the variables.
    pub passing: Vec<Expr>,
    /// The result where the search finds nothing; none for an error.
    pub on_empty: Option<Expr>,
    /// The result instead of an error; none for the error.
    pub on_error: Option<Expr>,
}

/// A call of a function.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub function: Oid,
    /// Its name, or the operator it was written as.
    pub name: String,
    /// True if it was written as an operator.
    pub operator: bool,
    /// The arguments, of the types that the function takes.
    pub args: Vec<Expr>,
    /// True if the result is a set of rows.
    pub set: bool,
    /// True if the last argument is the array of all variadic ones.
    pub variadic: bool,
}

/// How a value becomes one of another type.
#[derive(Clone, Debug)]
pub enum Cast {
    /// As `scalar` casts it.
    Type {
        /// The conversion.
        how: CoercionPath,
        /// In which context: some casts cut where they are explicit.
        when: CoercionContext,
    },
    /// It is fitted to the modifier of the expression.
    Modifier {
        /// True for `CAST`, which cuts what is too long.
        explicit: bool,
    },
    /// The constraints of a domain are checked.
    Domain,
}

/// A step into an array or `jsonb`.
#[derive(Clone, Debug)]
pub enum Subscript {
    /// `[i]`
    Index(Expr),
    /// `[low:high]`
    Slice(Option<Expr>, Option<Expr>),
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// How its rows are used.
    pub link: Link,
    /// Its plan.
    pub plan: Plan,
}

/// How the rows of a subquery are used.
#[derive(Clone, Debug)]
pub enum Link {
    /// The one value of at most one row.
    Scalar,
    /// The one row of several columns, as a record.
    Row,
    /// Whether there is one.
    Exists,
    /// All values, as an array.
    Array,
    /// Whether the test is true for any row.
    Any(Box<Test>),
    /// Whether it is true for all rows.
    All(Box<Test>),
}

/// A test of a value or row against the rows of a subquery.
#[derive(Clone, Debug)]
pub struct Test {
    /// The operator.
    pub symbol: String,
    /// A call for each column, with the value on the left and [`ExprKind::Column`] of the row that
    /// the subquery gave on the right, one level up from which is the row around.
    pub calls: Vec<Call>,
}

impl Expr {
    /// NULL of a type.
    pub fn null(ty: Type, at: At) -> Self {
        Expr { kind: ExprKind::Const(Datum::Null), ty, modifier: Modifier::NONE, at }
    }

    /// A truth value.
    pub fn bool(value: bool) -> Self {
        Expr::of(ExprKind::Const(Datum::Bool(value)), Type::BOOL, At::NONE)
    }

    /// A row of fields that have no names of their own.
    pub fn row(fields: Vec<Expr>, ty: Type, at: At) -> Self {
        Expr::of(ExprKind::Row { fields, names: [].into() }, ty, at)
    }

    /// An expression of a type without a modifier.
    pub fn of(kind: ExprKind, ty: Type, at: At) -> Self {
        Expr { kind, ty, modifier: Modifier::NONE, at }
    }

    /// True for the constant NULL.
    pub fn is_null_const(&self) -> bool {
        matches!(self.kind, ExprKind::Const(Datum::Null))
    }
}
