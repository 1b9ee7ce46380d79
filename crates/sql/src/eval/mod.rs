//! Bound expressions to values, one row at a time.
//!
//! ```text
//!   plan::Expr ──compile──> Program ──run(row, Frame)──> Datum
//!   (#1 + 2) * $1           Call * [Call + [Column 1, Const 2], Param 0]
//! ```
//!
//! Defaults, checks, keys of indexes and programs for single statements are computed with it, and all
//! expressions for which `batch` has no kernel. A program holds what an evaluation would otherwise
//! look up again for each row: functions, types, paths of casts. It computes no aggregates and no
//! columns of outer rows: the operators put their values into the row. Subqueries and values from
//! outside of the row come from the executor, through [`OuterValues`].
//!
//! Values are borrowed from the row as long as they can be.

mod array;
mod compile;
mod fixed;
mod inputs;
mod list;
mod run;

use scalar::cast::{CoercionContext, CoercionPath};
use scalar::function::{Call, Eval};
use scalar::standard::{Construct, Search};
use scalar::{Comparison, Context, Function};
use types::{Datum, DatumRef, Modifier, Oid, Repr, Result, Type};

pub use inputs::{CachedValue, Frame, Host, OuterValues, Row};
pub use list::List;

use inputs::Alone;
use list::Among;
use run::{Run, Value};

/// A call of a function that gives a set, ready to be computed.
#[derive(Debug)]
pub struct SetProgram {
    call: Invoke,
}

impl SetProgram {
    /// The rows for a row.
    ///
    /// # Errors
    /// The errors of the function and its arguments.
    pub fn rows<'r>(
        &self,
        row: impl Into<Row<'r>>,
        frame: Frame<'_>,
        around: &dyn OuterValues,
    ) -> Result<scalar::Rows> {
        let run = Run { row: row.into(), frame, around };
        let values = run.values(&self.call.args, DatumRef::Null)?;
        let args: Vec<DatumRef<'_>> = values.iter().map(Value::get).collect();
        let Invoke { function, types, ret, spread, .. } = &self.call;
        let call = Call { context: frame.context, args: types, ret: *ret, spread: *spread };
        match function.eval {
            Eval::Server if function.strict && args.iter().any(|arg| arg.is_null()) => {
                Ok(Box::new(std::iter::empty()))
            }
            Eval::Server => frame.host.rows(function, &call, &args),
            _ => function.rows(&call, &args),
        }
    }
}

/// An expression, ready to be computed.
#[derive(Debug)]
pub struct Program {
    root: Op,
    /// The type of the result.
    pub ty: Type,
}

/// A call of a function.
#[derive(Debug)]
struct Invoke {
    function: &'static Function,
    args: Vec<Op>,
    types: Vec<Type>,
    ret: Type,
    /// True if the last argument is the array of all variadic ones.
    spread: bool,
}

/// A step of a cast.
#[derive(Debug)]
enum Step {
    Type { how: CoercionPath, source: Type, target: Type, when: CoercionContext },
    Fit(Type, Modifier, bool),
    Domain(Type),
}

/// A search in JSON.
#[derive(Debug)]
struct SearchOp {
    search: Search,
    document: Op,
    path: Op,
    passing: Vec<(Op, Type)>,
    target: (Type, Modifier),
    on_empty: Option<Op>,
    on_error: Option<Op>,
}

/// The nodes of a program.
#[derive(Debug)]
enum Op {
    Const(Datum),
    Param(usize),
    Column(usize),
    Invoke(Invoke),
    Compare(Comparison, Box<[Op; 2]>),
    Among(Box<Among>),
    Cast(Box<Op>, Step),
    And(Vec<Op>),
    Or(Vec<Op>),
    Not(Box<Op>),
    IsNull(Box<Op>, bool),
    RowIsNull(Vec<Op>, bool),
    IsBool(Box<Op>, Option<bool>, bool),
    IsDistinct(Invoke, bool),
    NullIf(Invoke),
    Case(Option<Box<Op>>, Vec<(Op, Op)>, Box<Op>),
    Operand,
    Coalesce(Vec<Op>),
    Extreme(Vec<Op>, bool),
    AnyAll(Invoke, bool),
    Array {
        elements: Vec<Op>,
        nested: bool,
        element: Type,
        repr: Repr,
    },
    /// The fields, and the names that the row brings along with their modifiers.
    Row(Vec<(Op, Type, Repr)>, Vec<(String, Modifier)>),
    /// For each pair the call of `=` and of the operator, and whether the operator takes equals.
    RowCompare(Vec<(Invoke, &'static Function)>, bool),
    Field(Box<Op>, usize),
    Subscript {
        base: Box<Op>,
        steps: Vec<array::Subscript>,
    },
    Assign {
        base: Box<Op>,
        steps: Vec<array::Subscript>,
        value: Box<Op>,
        /// The type of the elements, and how they are held; none for `jsonb`, and no type for a value of a fixed
        /// number of parts.
        element: Option<(Type, Repr)>,
    },
    AssignField {
        base: Box<Op>,
        index: usize,
        value: Box<Op>,
        fields: Vec<(Type, Repr)>,
    },
    Construct(Construct, Vec<(Op, Type)>, Type),
    Search(Box<SearchOp>),
    Now(Option<Step>),
    Name(fn(&Context<'_>) -> String),
    NextValue(Oid),
    Slot(usize),
    /// The evaluator computes this once and keeps the value under this number.
    Once(usize, Box<Op>),
    Subplan(usize, Vec<Op>),
}

impl Program {
    /// The value for a row.
    ///
    /// # Errors
    /// The errors of the functions and casts in it.
    pub fn run<'r>(&self, row: impl Into<Row<'r>>, frame: Frame<'_>) -> Result<Datum> {
        self.run_in(row, frame, &Alone)
    }

    /// The value for a row, with what is around it.
    ///
    /// # Errors
    /// As [`Program::run`], and what subqueries report.
    pub fn run_in<'r>(
        &self,
        row: impl Into<Row<'r>>,
        frame: Frame<'_>,
        around: &dyn OuterValues,
    ) -> Result<Datum> {
        let run = Run { row: row.into(), frame, around };
        Ok(run.value(&self.root, DatumRef::Null)?.into_datum())
    }

    /// True if the value for a row is true: not where it is NULL.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn test<'r>(&self, row: impl Into<Row<'r>>, frame: Frame<'_>) -> Result<bool> {
        self.test_in(row, frame, &Alone)
    }

    /// As [`Program::test`], with what is around the row.
    ///
    /// # Errors
    /// As [`Program::run_in`].
    pub fn test_in<'r>(
        &self,
        row: impl Into<Row<'r>>,
        frame: Frame<'_>,
        around: &dyn OuterValues,
    ) -> Result<bool> {
        let run = Run { row: row.into(), frame, around };
        Ok(run.bool(&self.root, DatumRef::Null)? == Some(true))
    }

    /// The column of the row that the value is, where it is no more than that.
    pub fn column(&self) -> Option<usize> {
        match self.root {
            Op::Column(index) => Some(index),
            _ => None,
        }
    }
}
