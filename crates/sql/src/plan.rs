//! The bound plan: the meaning of a statement, with every name, type and function known.
//!
//! ```text
//!   select upper(name), count(*) from person where age > $1 group by name
//!
//!   Project [upper(#0), #1]              columns  upper text, count int8
//!     Aggregate groups [#1] calls [count(*)]
//!       Filter #2 > $1
//!         Scan person                    columns  id int4, name text, age int4, ...
//! ```
//!
//! An operator's expressions see the row of its input (a join's: the left row, then the right one).
//! `#i` is a column of that row. `^n#i` is a column of a row further out: each subquery in an
//! expression, and each lateral side of a join, is computed for one row of what is around it, and
//! that row is one level up.
//!
//! Nothing here is optimised. The order of the operators is that of the clauses.

mod row_check;

use std::sync::Arc;

use scalar::cast::{CoercionContext, CoercionPath};
use scalar::standard::{Construct, Search};
use types::{Datum, Modifier, Oid, Type};

use crate::error::At;
pub use crate::parse::ast::{
    Exclude, FrameUnit, JoinKind, LockStrength, LockWait, MergeWhen, SetOp,
};

pub use row_check::{CheckedBy, RowCheck, Written};

/// A column of the rows of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The column of a table whose values it shows unchanged.
    pub origin: Option<Origin>,
    /// The number that the binder knows it by; it means nothing outside.
    pub(crate) id: u32,
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The table.
    pub relation: Oid,
    /// The number of the column there.
    pub attnum: i16,
}

/// An operator and the columns of its rows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operator.
    pub node: Node,
    /// The columns of the rows that come out.
    pub columns: Vec<Column>,
}

/// The relational operators.
#[derive(Clone, Debug)]
pub enum Node {
    /// Rows of expressions that see no row. One row of no columns is where a `SELECT` without
    /// `FROM` starts.
    Values(Vec<Vec<Expr>>),
    /// The rows of a table.
    Scan(Box<Scan>),
    /// Functions as a table: their rows side by side, the shorter ones filled with NULL.
    FunctionScan {
        /// The functions, and how many columns each has.
        functions: Vec<(Expr, usize)>,
        /// True where the last column numbers the rows from 1.
        ordinality: bool,
    },
    /// The rows of which the condition is true.
    Filter {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The condition.
        condition: Expr,
    },
    /// The rows as they are. Conditions from above go below it only if they tell nothing of rows that are
    /// left out there: a view with `security_barrier`, or policies of row-level security, leave them out.
    Barrier(Box<Plan>),
    /// For each row one of these expressions.
    Project {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The expressions, one for each column.
        exprs: Vec<Expr>,
    },
    /// For each row as many as the longest of these sets has values: the row, then the values.
    ProjectSet {
        /// Where the rows come from.
        input: Box<Plan>,
        /// Calls of functions that give sets.
        sets: Vec<Expr>,
    },
    /// The pairs of rows of which the condition is true.
    Join {
        /// Which rows are kept without a partner.
        kind: JoinKind,
        /// The left side.
        left: Box<Plan>,
        /// The right side.
        right: Box<Plan>,
        /// The condition; none where all are partners.
        condition: Option<Expr>,
        /// True where the right side is computed for each row of the left one.
        lateral: bool,
    },
    /// One row for each group: the group's keys, the aggregates, then `GROUPING` masks.
    Aggregate(Aggregate),
    /// Each row, and after it the values of window functions.
    Window {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// The rows without repetitions.
    Distinct(Box<Plan>),
    /// The first row of each run of rows with equal keys.
    DistinctOn {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The keys.
        keys: Vec<SortKey>,
    },
    /// The rows in order.
    Sort {
        /// Where the rows come from.
        input: Box<Plan>,
        /// By what.
        keys: Vec<SortKey>,
    },
    /// Some of the rows.
    Limit {
        /// Where the rows come from.
        input: Box<Plan>,
        /// How many, an `int8`; NULL and none for all.
        limit: Option<Expr>,
        /// How many are left out before, an `int8`.
        offset: Option<Expr>,
        /// The keys of `WITH TIES`: rows equal to the last in these are kept.
        ties: Option<Vec<SortKey>>,
    },
    /// The rows of two plans with columns of the same types.
    SetOperation {
        /// How.
        op: SetOp,
        /// True where repetitions count.
        all: bool,
        /// The left side.
        left: Box<Plan>,
        /// The right side.
        right: Box<Plan>,
    },
    /// Tables for the input, which may read each of them any number of times.
    With {
        /// The tables, in an order in which each sees those before it.
        tables: Vec<Cte>,
        /// The plan that reads them.
        input: Box<Plan>,
    },
    /// The rows of a table of a [`Node::With`] around.
    CteScan {
        /// The number of the table.
        table: u32,
        /// Its name.
        name: String,
    },
    /// In the recursive part of a table: the rows that the step before has found.
    WorkTable {
        /// The number of the table.
        table: u32,
        /// Its name.
        name: String,
    },
    /// Rows of tables are changed; the rows are those of `RETURNING`.
    Modify(Box<Modify>),
    /// The rows, after those of the tables they came from have been locked.
    LockRows {
        /// Where the rows come from.
        input: Box<Plan>,
        /// The locks to take.
        locks: Vec<RowLock>,
    },
}

/// A table and which of its states is read.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub relation: Oid,
    /// Its name, for explanations.
    pub name: String,
    /// The name that the statement gives to it.
    pub alias: String,
    /// True for a table of `pg_catalog` or `information_schema` that is computed.
    pub computed: bool,
    /// True for `ONLY`: of a partitioned table no rows.
    pub only: bool,
    /// The number of each column in the table. Those below 0 are system columns.
    pub attnums: Vec<i16>,
    /// Which states are read.
    pub moment: Moment,
    /// `TABLESAMPLE`
    pub sample: Option<Sample>,
}

/// System columns: the facts about a row that are not stored in it. Their numbers are below 0, as
/// PostgreSQL's are, and those that only versioned tables have are below those of PostgreSQL.
pub mod system {
    /// `ctid`, the number of a row without a primary key.
    pub const ROW: i16 = -1;
    /// `xmin`, the stamp of the commit that the version began with.
    pub const STAMP: i16 = -2;
    /// `xmax`, the stamp of the commit that ended it; 0 for none.
    pub const END_STAMP: i16 = -4;
    /// `tableoid`, the table that the row is in.
    pub const TABLE: i16 = -6;
    /// The key by which the table finds the row again, for changes and locks: bytes.
    pub const KEY: i16 = -20;
    /// The key, and before it the OID of the table, big end first: how a partitioned table finds a row again.
    pub const PLACED_KEY: i16 = -24;
    /// `_system_from`, when the version began.
    pub const FROM: i16 = -21;
    /// `_system_to`, when it ended.
    pub const TO: i16 = -22;
    /// `_version`, the commit that it began with.
    pub const VERSION: i16 = -23;
    /// The text of a column of documents: this, less the number of the column. No statement can name it.
    pub const TEXT_OF: i16 = -1_000;
}

/// Which states of a table are read. The expressions see no row; times are `timestamptz`.
#[derive(Clone, Debug)]
pub enum Moment {
    /// The one that the transaction sees.
    Now,
    /// The one at a time.
    AsOf(Expr),
    /// The one after a commit, an `int8`.
    AtVersion(Expr),
    /// Versions that were current at some time in `[from, to)`.
    FromTo(Expr, Expr),
    /// Versions that were current at some time in `[from, to]`.
    Between(Expr, Expr),
    /// Versions that began and ended in `[from, to]`.
    ContainedIn(Expr, Expr),
    /// All versions.
    All,
    /// All versions, and the rows that the transaction itself has written; their keys have the number
    /// of the table that they lie in before them: what `ERASE` looks at.
    Ever,
}

/// A sample of the rows of a table.
#[derive(Clone, Debug)]
pub struct Sample {
    /// True for `SYSTEM`, which takes whole pages; false for `BERNOULLI`, which takes rows.
    pub system: bool,
    /// How many percent, a `float4`.
    pub percent: Expr,
    /// Where the random numbers begin, a `float8`.
    pub seed: Option<Expr>,
}

/// A lock that is taken on rows of a table.
#[derive(Clone, Debug)]
pub struct RowLock {
    /// The table.
    pub relation: Oid,
    /// The column of the row that holds the key.
    pub key: usize,
    /// How strong.
    pub strength: LockStrength,
    /// The action where another transaction holds the lock.
    pub wait: LockWait,
}

/// Groups and what is computed of them.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where the rows come from.
    pub input: Box<Plan>,
    /// The keys, of all grouping sets.
    pub keys: Vec<Expr>,
    /// Which keys each grouping set has; one set with all of them for a plain `GROUP BY`. In the
    /// rows of a set the other keys are NULL.
    pub sets: Vec<Vec<usize>>,
    /// The calls.
    pub calls: Vec<AggregateCall>,
    /// `GROUPING(...)`: which keys each mask is about, the highest bit first.
    pub masks: Vec<Vec<usize>>,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function.
    pub function: Oid,
    /// Its name.
    pub name: &'static str,
    /// The arguments that are taken from each row.
    pub args: Vec<Expr>,
    /// The arguments of an ordered-set aggregate that are taken once, over the keys of the group.
    pub direct: Vec<Expr>,
    /// True where repetitions are left out.
    pub distinct: bool,
    /// In which order the rows are taken; for an ordered-set aggregate, that of the set.
    pub order: Vec<SortKey>,
    /// Which rows are taken.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub ty: Type,
    /// The scope whose groups it is computed of, by the binder's number.
    pub(crate) scope: u32,
}

/// A call of a window function or of an aggregate over a window.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The function.
    pub function: Oid,
    /// Its name.
    pub name: &'static str,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Which rows an aggregate takes.
    pub filter: Option<Expr>,
    /// The rows that are looked at together have the same values of these.
    pub partition: Vec<Expr>,
    /// In which order.
    pub order: Vec<SortKey>,
    /// Which of them, around each row.
    pub frame: Frame,
    /// The type of the result.
    pub ty: Type,
}

/// The frame of a window.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The unit of the bounds.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// Which rows are left out.
    pub exclude: Exclude,
}

/// A bound of a frame. Offsets see no row; those of rows and groups are `int8`.
#[derive(Clone, Debug)]
pub enum Bound {
    /// The first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Expr),
    /// The current row.
    CurrentRow,
    /// So far after it.
    Following(Expr),
    /// The last row.
    UnboundedFollowing,
}

/// A key of an order.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// True where the greatest comes first.
    pub descending: bool,
    /// True where NULLs come first.
    pub nulls_first: bool,
}

/// A table of a [`Node::With`].
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its number.
    pub table: u32,
    /// Its name.
    pub name: String,
    /// True where it must be computed once, false where it must not be; none where that is open.
    pub materialized: Option<bool>,
    /// The definition of the table.
    pub body: CteBody,
}

/// The definition of a table of a [`Node::With`].
#[derive(Clone, Debug)]
pub enum CteBody {
    /// A plan, also one that changes rows.
    Plan(Plan),
    /// The rows of `start`, and those of `step` as long as it finds any: each time `step` sees, as
    /// its work table, what the time before found.
    Recursive {
        /// The rows to start with.
        start: Box<Plan>,
        /// The rows that follow from those.
        step: Box<Plan>,
        /// True for `UNION ALL`; else rows that were found before are left out.
        all: bool,
        /// The columns whose texts are equal by the classes of these locales, by position.
        classes: Vec<(usize, Arc<str>)>,
    },
}

/// A change of rows of one table.
#[derive(Clone, Debug)]
pub struct Modify {
    /// The table.
    pub relation: Oid,
    /// Its name.
    pub name: String,
    /// The rows that say what to change. For `UPDATE`, `DELETE` and `MERGE` each begins with the
    /// columns of the table's row and, after them, its key.
    pub input: Plan,
    /// The action.
    pub action: Action,
    /// `RETURNING`: expressions over the row of the table (as it is after the change, or was
    /// before it was deleted) and, after it, the input's row.
    pub returning: Option<Vec<Expr>>,
    /// The conditions on new rows of views that the change is made through, and of policies of the
    /// table.
    pub row_checks: Vec<RowCheck>,
    /// The columns of the table's row, as `RETURNING` sees them.
    pub(crate) row: Vec<Column>,
    /// Of `UPDATE` and `DELETE` with `FOR PORTION OF`: what is left of each row.
    pub rest: Option<Rest>,
}

/// The rest that `FOR PORTION OF` leaves of a row: rows like it that are inserted, with the rest of
/// its time.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The place of the column in the table's row.
    pub place: usize,
    /// The time that is left, over the input's row: a multirange. A column of ranges gets each range of it in
    /// a row of its own.
    pub left: Expr,
    /// Columns that follow from the others: their place and their value over the new row.
    pub generated: Vec<(usize, Expr)>,
}

impl Modify {
    /// How many columns the table's row has.
    pub fn width(&self) -> usize {
        self.row.len()
    }
}

/// The action on each row of the input.
#[derive(Clone, Debug)]
pub enum Action {
    /// The row is inserted.
    Insert {
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
        /// The action where a conflicting row exists.
        conflict: Option<Box<Conflict>>,
    },
    /// Columns of the row get these values.
    Update {
        /// The place of each column in the table's row, and its value over the input's row.
        set: Vec<(usize, Expr)>,
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
    },
    /// The row is deleted.
    Delete,
    /// The row is deleted, now and in all of the past.
    Erase,
    /// The first clause that fits decides.
    Merge {
        /// The clauses. Rows without a partner have a NULL key, or NULL in `matched`.
        clauses: Vec<MergeClause>,
        /// The column of the input that is true in rows of the source, NULL in others.
        matched: usize,
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
    },
}

/// `ON CONFLICT`
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The unique indexes that decide; empty for all.
    pub arbiters: Vec<Arbiter>,
    /// `DO UPDATE`; none for `DO NOTHING`.
    pub update: Option<ConflictUpdate>,
}

/// A unique index that decides what a conflict is.
#[derive(Clone, Debug)]
pub struct Arbiter {
    /// The index.
    pub index: Oid,
    /// It decides only where all of these are true, which see no row.
    pub start_conditions: Vec<Expr>,
}

/// `ON CONFLICT DO UPDATE`: the expressions see the row that is there, then the one that was to be
/// inserted.
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// The place of each column in the table's row, and its value.
    pub set: Vec<(usize, Expr)>,
    /// Which rows are changed.
    pub filter: Option<Expr>,
    /// The two rows.
    pub(crate) row: Vec<Column>,
}

/// A `WHEN` clause of `MERGE`. Its expressions see the input's row.
#[derive(Clone, Debug)]
pub struct MergeClause {
    /// Which rows it is about.
    pub when: MergeWhen,
    /// Which of these.
    pub filter: Option<Expr>,
    /// The action.
    pub action: MergeAction,
}

/// The action of a `WHEN` clause.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// Nothing.
    Nothing,
    /// The row is deleted.
    Delete,
    /// Columns of the row get these values.
    Update(Vec<(usize, Expr)>),
    /// A row of these values is inserted.
    Insert(Vec<Expr>),
}

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
    /// True where all are; false where one is.
    And(Vec<Expr>),
    /// True where one is; false where all are.
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
        /// True where the elements are arrays of the same type.
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
    /// A construct of SQL/JSON: `JSON_OBJECT`, `IS JSON`, `JSON_VALUE` and their kin.
    Json(Json),
    /// `GROUPING`; the binder turns it into a column of a [`Node::Aggregate`].
    Grouping {
        /// The expressions of the grouping sets.
        args: Vec<Expr>,
        /// The scope whose groups it is about, by the binder's number.
        scope: u32,
    },
    /// `CURRENT_DATE` and its kin, by the word in lower case.
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
    /// True where it was written as an operator.
    pub operator: bool,
    /// The arguments, of the types that the function takes.
    pub args: Vec<Expr>,
    /// True where the result is a set of rows.
    pub set: bool,
    /// True where the last argument is the array of all variadic ones.
    pub variadic: bool,
}

/// How a value becomes one of another type.
#[derive(Clone, Debug)]
pub enum Cast {
    /// As `scalar` casts it.
    Type {
        /// How.
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

impl Plan {
    /// The row of no columns.
    pub fn one_row() -> Self {
        Plan { node: Node::Values(vec![Vec::new()]), columns: Vec::new() }
    }
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
