//! Expressions as they were written.

use super::{Json, Name, Path, Query, TypeName};
use crate::error::At;

/// An expression and where its operator, name or first token stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// Where errors about it point.
    pub at: At,
}

/// The kinds of expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Bool(bool),
    /// A literal number, without a sign, in decimal digits.
    Number(String),
    /// A literal string.
    String(String),
    /// `B'101'` or `X'1F'`: the digits with `b` or `x` in front.
    Bits(String),
    /// `$1`
    Param(u32),
    /// `a`, `t.a`, `s.t.a`
    Column(Vec<Name>),
    /// `*`, `t.*`: only in lists of outputs, rows and arguments.
    Star(Vec<Name>),
    /// `(e).field`, `e[1]`, `(e).*`
    Indirection {
        /// The value that is taken apart.
        base: Box<Expr>,
        /// The steps, from left to right; never empty.
        steps: Vec<Step>,
    },
    /// A call of a function, aggregate or window function.
    Call(Box<Call>),
    /// An operator with one or two operands.
    Op {
        /// The operator.
        op: Operator,
        /// The left operand; none for a prefix operator.
        left: Option<Box<Expr>>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `left op ANY (array)`, `left op ALL (array)`
    AnyAll {
        /// The operator.
        op: Operator,
        /// True for `ALL`.
        all: bool,
        /// The left operand.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
    },
    /// `e IN (a, b)`, `e NOT IN (a, b)`
    InList {
        /// The expression that is searched for.
        expr: Box<Expr>,
        /// Where it is looked for; never empty.
        list: Vec<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `e [NOT] BETWEEN [SYMMETRIC] low AND high`
    Between {
        /// The compared expression.
        expr: Box<Expr>,
        /// The first bound.
        low: Box<Expr>,
        /// The second bound.
        high: Box<Expr>,
        /// True for `NOT`.
        negated: bool,
        /// True for `SYMMETRIC`.
        symmetric: bool,
    },
    /// `a AND b AND ...`
    And(Vec<Expr>),
    /// `a OR b OR ...`
    Or(Vec<Expr>),
    /// `NOT e`
    Not(Box<Expr>),
    /// `e IS [NOT] NULL`
    IsNull {
        /// The tested expression.
        expr: Box<Expr>,
        /// True for `NOT`.
        negated: bool,
    },
    /// `e IS [NOT] TRUE | FALSE | UNKNOWN`
    IsBool {
        /// The tested expression.
        expr: Box<Expr>,
        /// The truth value; `None` for `UNKNOWN`.
        value: Option<bool>,
        /// True for `NOT`.
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinct {
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// True for `NOT`.
        negated: bool,
    },
    /// `NULLIF(a, b)`
    NullIf(Box<Expr>, Box<Expr>),
    /// `CASE [operand] WHEN ... THEN ... ELSE ... END`
    Case {
        /// The operand that the `WHEN` values are compared with.
        operand: Option<Box<Expr>>,
        /// The conditions and their results.
        arms: Vec<(Expr, Expr)>,
        /// The `ELSE` result.
        otherwise: Option<Box<Expr>>,
    },
    /// `COALESCE(...)`
    Coalesce(Vec<Expr>),
    /// `GREATEST(...)`
    Greatest(Vec<Expr>),
    /// `LEAST(...)`
    Least(Vec<Expr>),
    /// `ROW(...)` or `(a, b)`
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// True if the word `ROW` was written.
        explicit: bool,
    },
    /// `ARRAY[...]`
    Array(Vec<Expr>),
    /// `CAST(e AS type)`, `e::type`, `type 'literal'`
    Cast {
        /// The expression that is cast.
        expr: Box<Expr>,
        /// To which type.
        to: TypeName,
    },
    /// `e COLLATE name`
    Collate {
        /// The string.
        expr: Box<Expr>,
        /// The collation.
        collation: Path,
    },
    /// A subquery.
    Subquery {
        /// How its rows are used.
        link: Link,
        /// The subquery.
        query: Box<Query>,
    },
    /// `DEFAULT`: only as a value of `INSERT`, `UPDATE` and `MERGE`.
    Default,
    /// `CURRENT_DATE` and the like.
    Keyword {
        /// The word, in lower case.
        word: &'static str,
        /// The precision in parentheses.
        precision: Option<i32>,
    },
    /// A construct of SQL/JSON.
    Json(Box<Json>),
    /// `GROUPING(a, b)`
    Grouping(Vec<Expr>),
    /// `WHERE CURRENT OF cursor`
    CurrentOf(Name),
    /// `ROLLUP(...)`: only in `GROUP BY`, like the next three.
    Rollup(Vec<Expr>),
    /// `CUBE(...)`
    Cube(Vec<Expr>),
    /// `GROUPING SETS (...)`
    GroupingSets(Vec<Expr>),
    /// `()`
    EmptyGroup,
}

/// How the rows of a subquery are used in an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Link {
    /// `(SELECT ...)`: the one value.
    Scalar,
    /// `EXISTS (SELECT ...)`
    Exists,
    /// `ARRAY(SELECT ...)`
    Array,
    /// `left IN (SELECT ...)`; `NOT IN` is the negation of it.
    In(Box<Expr>),
    /// `left op ANY (SELECT ...)`
    Any(Box<Expr>, Operator),
    /// `left op ALL (SELECT ...)`
    All(Box<Expr>, Operator),
}

/// A step into a composite or an array.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// `.field`
    Field(Name),
    /// `.*`
    Star(At),
    /// `[i]`
    Index(Expr),
    /// `[low:high]`
    Slice(Option<Expr>, Option<Expr>),
}

/// An operator: a name of symbols, with the schema it was qualified by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The schema in `OPERATOR(schema.+)`.
    pub schema: Option<Name>,
    /// The symbols. `LIKE` is `~~`, as in PostgreSQL's catalog.
    pub symbol: String,
    /// Where it stands.
    pub at: At,
}

/// A call with everything that may be written around it.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The name.
    pub name: Path,
    /// The arguments.
    pub args: Vec<Arg>,
    /// True for `f(*)`.
    pub star: bool,
    /// True for `f(DISTINCT ...)`.
    pub distinct: bool,
    /// True if the last argument was marked `VARIADIC`.
    pub variadic: bool,
    /// `ORDER BY` among the arguments.
    pub order: Vec<OrderItem>,
    /// `WITHIN GROUP (ORDER BY ...)`
    pub within_group: Vec<OrderItem>,
    /// `FILTER (WHERE ...)`
    pub filter: Option<Expr>,
    /// `OVER ...`
    pub over: Option<Window>,
    /// True if the grammar has words of its own for the call, as for `EXTRACT`.
    pub syntax: bool,
}

/// An argument, by place or by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// The name in `name => value`.
    pub name: Option<Name>,
    /// The value.
    pub value: Expr,
}

/// A window: a name, or a definition that may build on a named one.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// The window that is named: the whole of `OVER w`, or what `OVER (w ...)` builds on.
    pub base: Option<Name>,
    /// True for `OVER w` without parentheses.
    pub bare: bool,
    /// `PARTITION BY`
    pub partition: Vec<Expr>,
    /// `ORDER BY`
    pub order: Vec<OrderItem>,
    /// The frame.
    pub frame: Option<Frame>,
    /// Where it stands.
    pub at: At,
}

/// The frame of a window.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// The unit of the bounds.
    pub unit: FrameUnit,
    /// Where the frame begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// Which rows around the current one are left out.
    pub exclude: Exclude,
    /// Where the bounds stand.
    pub bounds_at: (At, At),
}

/// The unit of the bounds of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUnit {
    /// Values of the ordering column.
    Range,
    /// Rows.
    Rows,
    /// Groups of peers.
    Groups,
}

/// A bound of a frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(Box<Expr>),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`
    Following(Box<Expr>),
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
}

/// Which rows a frame leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exclude {
    /// None.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers of the current row.
    Ties,
}

/// An item of `ORDER BY`.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderItem {
    /// The expression to order by.
    pub expr: Expr,
    /// True for `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` is true, `NULLS LAST` false.
    pub nulls_first: Option<bool>,
    /// The operator of `USING`.
    pub using: Option<Operator>,
}
