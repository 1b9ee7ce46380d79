//! What was written: statements as trees, close to the grammar, with the place of every node.
//!
//! ```text
//!   Statement ── Query ─┬─ with            Expr ── kind + at
//!             ├─ Insert ├─ body: Select │ Values │ SetOperation
//!             ├─ ...    └─ order, limit, locks
//! ```
//!
//! Nothing is looked up here. Syntax that only spells a function differently is already the call
//! (`EXTRACT(year FROM x)` is `pg_catalog.extract('year', x)`), as it is in PostgreSQL's own trees.

use crate::error::At;

/// An identifier as it counts: folded to lower case unless it was quoted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The identifier.
    pub text: String,
    /// Where it stands.
    pub at: At,
}

/// A name of one or more parts: `schema.table`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The parts, the outermost first; never empty.
    pub parts: Vec<Name>,
}

impl Path {
    /// Where the name begins.
    pub fn at(&self) -> At {
        self.parts[0].at
    }

    /// The last part: the name without what qualifies it.
    pub fn last(&self) -> &str {
        &self.parts[self.parts.len() - 1].text
    }

    /// The name that the grammar itself gives to a function of `pg_catalog`.
    pub fn system(name: &str, at: At) -> Self {
        let part = |text: &str| Name { text: text.to_owned(), at };
        Path { parts: vec![part("pg_catalog"), part(name)] }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, part) in self.parts.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(&part.text)?;
        }
        Ok(())
    }
}

/// An expression and where its operator, name or first token stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
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
        /// What is taken apart.
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
        /// What is compared.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
    },
    /// `e IN (a, b)`, `e NOT IN (a, b)`
    InList {
        /// What is looked for.
        expr: Box<Expr>,
        /// Where it is looked for; never empty.
        list: Vec<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `e [NOT] BETWEEN [SYMMETRIC] low AND high`
    Between {
        /// What is compared.
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
        /// What is tested.
        expr: Box<Expr>,
        /// True for `NOT`.
        negated: bool,
    },
    /// `e IS [NOT] TRUE | FALSE | UNKNOWN`
    IsBool {
        /// What is tested.
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
        /// What the `WHEN` values are compared with.
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
        /// True where the word `ROW` was written.
        explicit: bool,
    },
    /// `ARRAY[...]`
    Array(Vec<Expr>),
    /// `CAST(e AS type)`, `e::type`, `type 'literal'`
    Cast {
        /// What is cast.
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
    /// `CURRENT_DATE` and its kin.
    Keyword {
        /// The word, in lower case.
        word: &'static str,
        /// The precision in parentheses.
        precision: Option<i32>,
    },
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
    /// True where the last argument was marked `VARIADIC`.
    pub variadic: bool,
    /// `ORDER BY` among the arguments.
    pub order: Vec<OrderItem>,
    /// `WITHIN GROUP (ORDER BY ...)`
    pub within_group: Vec<OrderItem>,
    /// `FILTER (WHERE ...)`
    pub filter: Option<Expr>,
    /// `OVER ...`
    pub over: Option<Window>,
    /// True where the grammar has words of its own for the call, as for `EXTRACT`.
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
    /// What the bounds count.
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

/// What the bounds of a frame count.
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

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeName {
    /// The name; the standard's own spellings are already `pg_catalog` names.
    pub name: Path,
    /// The numbers in parentheses.
    pub modifiers: Vec<Expr>,
    /// The fields of `INTERVAL DAY TO SECOND`, as PostgreSQL's bit mask.
    pub fields: Option<i32>,
    /// How many dimensions of an array; 0 for none.
    pub dimensions: u8,
    /// True for `SETOF type`.
    pub set: bool,
    /// Where it stands.
    pub at: At,
}

/// An item of `ORDER BY`.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderItem {
    /// What is ordered by.
    pub expr: Expr,
    /// True for `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` is true, `NULLS LAST` false.
    pub nulls_first: Option<bool>,
    /// The operator of `USING`.
    pub using: Option<Operator>,
}

/// A query: a body with what goes around it.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// `WITH`
    pub with: Option<With>,
    /// The body.
    pub body: Body,
    /// `ORDER BY`
    pub order: Vec<OrderItem>,
    /// `LIMIT` or `FETCH FIRST`
    pub limit: Option<Expr>,
    /// True for `WITH TIES`.
    pub with_ties: bool,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// `FOR UPDATE` and its kin.
    pub locks: Vec<Lock>,
    /// Where it stands.
    pub at: At,
}

/// The body of a query.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// `SELECT ...`
    Select(Box<Select>),
    /// `VALUES ...`: rows of expressions.
    Values(Vec<Vec<Expr>>),
    /// `UNION`, `INTERSECT`, `EXCEPT`
    Set {
        /// Which.
        op: SetOp,
        /// True for `ALL`.
        all: bool,
        /// The left input.
        left: Box<Query>,
        /// The right input.
        right: Box<Query>,
    },
}

/// How the rows of two queries are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOp {
    /// `UNION`
    Union,
    /// `INTERSECT`
    Intersect,
    /// `EXCEPT`
    Except,
}

/// `SELECT`, without what may follow a set operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// `DISTINCT`
    pub distinct: Distinct,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// `INTO`
    pub into: Option<Path>,
    /// `FROM`
    pub from: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group: Vec<Expr>,
    /// True for `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// `WINDOW`
    pub windows: Vec<(Name, Window)>,
}

/// Which rows of a `SELECT` are told apart.
#[derive(Clone, PartialEq, Debug)]
pub enum Distinct {
    /// All rows are kept.
    No,
    /// `DISTINCT`
    Yes,
    /// `DISTINCT ON (...)`
    On(Vec<Expr>),
}

/// An output of `SELECT` or `RETURNING`.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The value.
    pub expr: Expr,
    /// The name given by `AS`.
    pub alias: Option<Name>,
}

/// `WITH`
#[derive(Clone, PartialEq, Debug)]
pub struct With {
    /// True for `RECURSIVE`.
    pub recursive: bool,
    /// The tables.
    pub tables: Vec<Cte>,
    /// Where it stands.
    pub at: At,
}

/// A common table expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Cte {
    /// Its name.
    pub name: Name,
    /// The names of its columns.
    pub columns: Vec<Name>,
    /// `MATERIALIZED` is true, `NOT MATERIALIZED` false.
    pub materialized: Option<bool>,
    /// What it is made of.
    pub statement: Box<Statement>,
}

/// `FOR UPDATE`, with the tables that it is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Lock {
    /// How strong.
    pub strength: LockStrength,
    /// `OF`; empty for all tables.
    pub of: Vec<Path>,
    /// What to do where a row is locked.
    pub wait: LockWait,
    /// Where it stands.
    pub at: At,
}

/// How strong a row lock is, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockStrength {
    /// `FOR KEY SHARE`
    KeyShare,
    /// `FOR SHARE`
    Share,
    /// `FOR NO KEY UPDATE`
    NoKeyUpdate,
    /// `FOR UPDATE`
    Update,
}

/// What to do where a row is locked by another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockWait {
    /// Wait.
    Wait,
    /// Leave the row out.
    SkipLocked,
    /// Fail.
    NoWait,
}

/// An item of `FROM`.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// A table, view or common table expression.
    Table(TableRef),
    /// A subquery.
    Subquery {
        /// The query.
        query: Box<Query>,
        /// True for `LATERAL`.
        lateral: bool,
        /// Its name.
        alias: Option<Alias>,
        /// Where it stands.
        at: At,
    },
    /// Functions as tables.
    Functions {
        /// The calls; more than one for `ROWS FROM`.
        calls: Vec<(Expr, Vec<ColumnDef>)>,
        /// True for `WITH ORDINALITY`.
        ordinality: bool,
        /// True for `LATERAL`.
        lateral: bool,
        /// Its name.
        alias: Option<Alias>,
        /// The columns of `AS (name type, ...)`.
        columns: Vec<ColumnDef>,
        /// Where it stands.
        at: At,
    },
    /// A join.
    Join(Box<Join>),
}

/// A table by name.
#[derive(Clone, PartialEq, Debug)]
pub struct TableRef {
    /// The name.
    pub name: Path,
    /// True for `ONLY`.
    pub only: bool,
    /// The name that it goes by.
    pub alias: Option<Alias>,
    /// Which of its past is meant.
    pub moment: Option<Moment>,
    /// `TABLESAMPLE`
    pub sample: Option<Sample>,
}

/// `TABLESAMPLE method (arguments) [REPEATABLE (seed)]`
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The method.
    pub method: Path,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// The seed.
    pub seed: Option<Expr>,
}

/// Which states of a table are read.
#[derive(Clone, PartialEq, Debug)]
pub enum Moment {
    /// The state at a time: `FOR SYSTEM_TIME AS OF e`, `AS OF SYSTEM TIME e`, `AT (TIMESTAMP => e)`.
    AsOf(Expr),
    /// The state after a commit: `FOR SYSTEM_VERSION AS OF n`, `AT (VERSION => n)`.
    AtVersion(Expr),
    /// Every version of a row that was current at some time in `[from, to)`.
    FromTo(Expr, Expr),
    /// Every version that was current at some time in `[from, to]`.
    Between(Expr, Expr),
    /// Every version that began at or after `from` and ended at or before `to`.
    ContainedIn(Expr, Expr),
    /// Every version.
    All,
}

/// The name of a source and of its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// The names of its first columns.
    pub columns: Vec<Name>,
}

/// A column of a column definition list.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// The name.
    pub name: Name,
    /// The type.
    pub ty: TypeName,
}

/// A join of two sources.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// Which rows are kept that have no partner.
    pub kind: JoinKind,
    /// The left side.
    pub left: Source,
    /// The right side.
    pub right: Source,
    /// Which rows are partners.
    pub condition: JoinCondition,
    /// The name of the whole join.
    pub alias: Option<Alias>,
    /// Where it stands.
    pub at: At,
}

/// Which rows a join keeps that have no partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// None.
    Inner,
    /// Those of the left side.
    Left,
    /// Those of the right side.
    Right,
    /// Those of both sides.
    Full,
}

/// Which rows of a join are partners.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinCondition {
    /// All: `CROSS JOIN`.
    None,
    /// `ON`
    On(Expr),
    /// `USING (...) [AS alias]`
    Using(Vec<Name>, Option<Name>),
    /// `NATURAL`
    Natural,
}

/// `INSERT`
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// The columns that are given values.
    pub columns: Vec<Target>,
    /// `OVERRIDING SYSTEM VALUE` is true, `OVERRIDING USER VALUE` false.
    pub overriding_system: Option<bool>,
    /// The rows; none for `DEFAULT VALUES`.
    pub source: Option<Query>,
    /// `ON CONFLICT`
    pub conflict: Option<Conflict>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// A column, or a part of one, that is given a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// The column.
    pub column: Name,
    /// The steps into it.
    pub steps: Vec<Step>,
}

/// `ON CONFLICT`
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// Which unique index decides.
    pub arbiter: Arbiter,
    /// `DO UPDATE`; none for `DO NOTHING`.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub at: At,
}

/// `DO UPDATE SET ... WHERE ...`
#[derive(Clone, PartialEq, Debug)]
pub struct ConflictUpdate {
    /// The assignments.
    pub set: Vec<Assignment>,
    /// `WHERE`
    pub filter: Option<Expr>,
}

/// Which unique index decides whether rows are in conflict.
#[derive(Clone, PartialEq, Debug)]
pub enum Arbiter {
    /// Any.
    Any,
    /// `ON CONSTRAINT name`
    Constraint(Name),
    /// The one over these expressions, with this predicate.
    Index {
        /// The expressions.
        keys: Vec<Expr>,
        /// `WHERE`
        filter: Option<Expr>,
        /// Where it stands.
        at: At,
    },
}

/// An item of `SET`.
#[derive(Clone, PartialEq, Debug)]
pub enum Assignment {
    /// `column = value`
    One(Target, Expr),
    /// `(columns) = row`
    Many(Vec<Target>, Expr),
}

/// `UPDATE`
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `SET`
    pub set: Vec<Assignment>,
    /// `FROM`
    pub from: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// `DELETE`
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// `WITH`
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `USING`
    pub using: Vec<Source>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// `MERGE`
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// `WITH`
    pub with: Option<With>,
    /// The table that is changed.
    pub table: TableRef,
    /// The rows that it is compared with.
    pub source: Source,
    /// `ON`
    pub on: Expr,
    /// The `WHEN` clauses.
    pub clauses: Vec<MergeClause>,
    /// `RETURNING`
    pub returning: Vec<Output>,
    /// Where it stands.
    pub at: At,
}

/// A `WHEN` clause of `MERGE`.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeClause {
    /// Which rows it is about.
    pub when: MergeWhen,
    /// `AND`
    pub filter: Option<Expr>,
    /// What is done.
    pub action: MergeAction,
    /// Where it stands.
    pub at: At,
}

/// Which rows a `WHEN` clause is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeWhen {
    /// Rows of both sides.
    Matched,
    /// Rows of the table without a partner.
    NotMatchedBySource,
    /// Rows of the source without a partner.
    NotMatchedByTarget,
}

/// What a `WHEN` clause does.
#[derive(Clone, PartialEq, Debug)]
pub enum MergeAction {
    /// `DO NOTHING`
    Nothing,
    /// `DELETE`
    Delete,
    /// `UPDATE SET ...`
    Update(Vec<Assignment>),
    /// `INSERT (...) VALUES (...)`
    Insert {
        /// The columns.
        columns: Vec<Target>,
        /// `OVERRIDING SYSTEM VALUE` is true, `OVERRIDING USER VALUE` false.
        overriding_system: Option<bool>,
        /// The values; none for `DEFAULT VALUES`.
        values: Option<Vec<Expr>>,
    },
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `SELECT`, `VALUES`, `TABLE`
    Query(Box<Query>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
    /// `MERGE`
    Merge(Box<Merge>),
    /// `DELETE HISTORY FROM t BEFORE SYSTEM_TIME e`: what is older is forgotten.
    DeleteHistory {
        /// The table.
        table: Path,
        /// The time.
        before: Expr,
    },
    /// `ERASE FROM t [WHERE ...]`: rows are removed from the present and from all of the past.
    Erase(Box<Delete>),
    /// `EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (options) statement`
    Explain {
        /// The options: each a word and its value.
        options: Vec<(String, Option<String>)>,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// `CREATE [OR REPLACE] VIEW name [(columns)] AS query`
    CreateView {
        /// The name.
        name: Path,
        /// The names of its columns.
        columns: Vec<Name>,
        /// True for `OR REPLACE`.
        replace: bool,
        /// What it shows.
        query: Box<Query>,
        /// The text of the query.
        text: String,
    },
    /// Everything else, as `sqlparser` reads it.
    Utility(Box<sqlparser::ast::Statement>),
}
