//! The syntax tree of a PL/pgSQL block: its variables and statements, with the SQL in them parsed
//! already.

use ::types::SqlState;

use crate::parse::ast::{Path, Statement, Step as Part, TypeName};

/// The code of a block, and what its names mean.
#[derive(Clone, PartialEq, Debug)]
pub struct Code {
    /// The block around all others.
    pub body: Block,
    /// All variables, by their number.
    pub variables: Vec<Variable>,
    /// The names that are in sight somewhere, each with the one before it.
    pub names: Names,
}

/// The number of the variable `FOUND`.
pub const FOUND: usize = 0;

/// A variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The line of its declaration.
    pub line: u32,
    /// Its type.
    pub ty: VariableType,
    /// True if it is assigned to by its declaration alone.
    pub constant: bool,
    /// True if NULL is refused.
    pub not_null: bool,
    /// Its first value.
    pub default: Option<Fragment>,
}

/// The type of a variable as it is written.
#[derive(Clone, PartialEq, Debug)]
pub enum VariableType {
    /// A type by its name.
    Named(TypeName),
    /// `RECORD`
    Record,
    /// `table.column%TYPE`, of which this is an array where the flag is true.
    Column(Path, bool),
    /// `variable%TYPE`
    Variable(usize, bool),
    /// `table%ROWTYPE`
    Row(Path),
    /// The type of the first value that it is given: the operand of a `CASE`.
    Operand,
    /// One of the names of built-in types that variables of the language have.
    Fixed(::types::Type),
}

/// Names in sight, as a tree: each item has the one that was declared before it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Names(pub(super) Vec<NamedItem>);

#[derive(Clone, PartialEq, Debug)]
pub(super) struct NamedItem {
    pub before: Option<usize>,
    pub name: String,
    pub kind: ItemKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ItemKind {
    /// The beginning of a level: a block, or a loop.
    Block,
    Loop,
    Variable(usize),
}

impl Names {
    /// The variable that a name of one to three parts means at a place, and how many of the parts name it: one more
    /// is a field of it. `has_fields` tells which variables have fields.
    pub fn find(
        &self,
        names: &[&str],
        seen: Option<usize>,
        has_fields: &dyn Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let mut level = seen;
        while let Some(top) = level {
            let mut variables = Vec::new();
            let mut at = top;
            let label = loop {
                match self.0[at].kind {
                    ItemKind::Variable(number) => variables.push((number, at)),
                    ItemKind::Block | ItemKind::Loop => break at,
                }
                at = self.0[at].before?;
            };
            let named = |name: &str, more: bool| {
                variables
                    .iter()
                    .find(|(number, at)| self.0[*at].name == name && (!more || has_fields(*number)))
            };
            if let Some((number, _)) = named(names[0], names.len() > 1) {
                return Some((*number, 1));
            }
            if names.len() > 1
                && self.0[label].name == names[0]
                && let Some((number, _)) = named(names[1], names.len() > 2)
            {
                return Some((*number, 2));
            }
            level = self.0[label].before;
        }
        None
    }
}

/// SQL in a block.
#[derive(Clone, PartialEq, Debug)]
pub struct Fragment {
    /// Which one it is.
    pub number: usize,
    /// The kind of fragment.
    pub kind: FragmentKind,
    /// The text that errors show.
    pub text: String,
    /// The statement that the text was parsed as, from a text of its own.
    pub statement: Statement,
    /// That text.
    pub source: String,
    /// The number that turns an offset in that text into one in `text`, by addition.
    pub shift: isize,
    /// The last name that is in sight.
    pub seen: Option<usize>,
    /// True for an expression that reads no tables and computes no aggregates.
    pub is_simple: bool,
}

/// The use of SQL in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FragmentKind {
    /// `a + 1`, which is a `SELECT` without the word.
    Expression,
    /// `x := a + 1`
    Assignment,
    /// A statement.
    Statement,
}

/// `[DECLARE ...] BEGIN ... [EXCEPTION ...] END`
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Its label.
    pub label: Option<String>,
    /// The variables that it declares, which begin anew each time.
    pub variables: Vec<usize>,
    /// Its statements.
    pub body: Vec<Line>,
    /// Its handlers of errors.
    pub handlers: Option<Handlers>,
}

/// `EXCEPTION WHEN ...`
#[derive(Clone, PartialEq, Debug)]
pub struct Handlers {
    /// The variables `SQLSTATE` and `SQLERRM`.
    pub state: usize,
    /// See `state`.
    pub message: usize,
    /// The conditions, and what is done where one of them is met.
    pub arms: Vec<(Vec<Condition>, Vec<Line>)>,
}

/// A condition of `WHEN`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// `OTHERS`
    Others,
    /// A code, or a class of codes: one that ends in 000.
    State(SqlState),
}

/// A statement and its line.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The line, from 1.
    pub number: u32,
    /// The statement.
    pub step: Step,
}

/// The target of an assignment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The variable.
    pub variable: usize,
    /// A field of it.
    pub field: Option<String>,
}

/// Where the rows of a statement go.
#[derive(Clone, PartialEq, Debug)]
pub struct Into {
    /// `STRICT`
    pub strict: bool,
    /// The variables: a record, or one for each column.
    pub targets: Vec<Target>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A block in a block.
    Block(Box<Block>),
    /// `target := value`
    Assign {
        /// The target of the assignment.
        target: Target,
        /// The subscripts and fields behind it.
        part: Vec<Part>,
        /// The value.
        value: Box<Fragment>,
    },
    /// A statement of SQL.
    Sql(Box<Fragment>, Option<Into>),
    /// `PERFORM`
    Perform(Box<Fragment>),
    /// `IF`: conditions and what is done where one is true, and what is done otherwise.
    If(Vec<(Fragment, Vec<Line>)>, Vec<Line>),
    /// `CASE`: the operand, conditions, and what is done otherwise.
    Case {
        /// The operand, and the variable that keeps it.
        operand: Option<(usize, Box<Fragment>)>,
        /// The conditions.
        arms: Vec<(Fragment, Vec<Line>)>,
        /// `ELSE`
        otherwise: Option<Vec<Line>>,
    },
    /// `LOOP`
    Loop(Option<String>, Vec<Line>),
    /// `WHILE`
    While(Option<String>, Box<Fragment>, Vec<Line>),
    /// `FOR i IN a..b`
    Count {
        /// The label.
        label: Option<String>,
        /// The variable.
        variable: usize,
        /// `REVERSE`
        reverse: bool,
        /// The bounds.
        bounds: Box<(Fragment, Fragment)>,
        /// `BY`
        by: Option<Box<Fragment>>,
        /// The repeated lines.
        body: Vec<Line>,
    },
    /// `FOR r IN query`
    Rows(Option<String>, Vec<Target>, Box<Fragment>, Vec<Line>),
    /// `FOR r IN EXECUTE text USING ...`
    Dynamic(Option<String>, Vec<Target>, Box<Execute>, Vec<Line>),
    /// `FOREACH x SLICE n IN ARRAY a`
    Each {
        /// The label.
        label: Option<String>,
        /// The target of the assignment.
        target: Target,
        /// How many dimensions a slice has; 0 for elements.
        slice: u32,
        /// The array.
        array: Box<Fragment>,
        /// The repeated lines.
        body: Vec<Line>,
    },
    /// `EXIT` (true) or `CONTINUE`, with a label and a condition.
    Leave(bool, Option<String>, Option<Box<Fragment>>),
    /// `RETURN`
    Return,
    /// `NULL`
    Nothing,
    /// `RAISE`
    Raise(Box<Raise>),
    /// `ASSERT`: the condition and the message.
    Assert(Box<Fragment>, Option<Box<Fragment>>),
    /// `EXECUTE`
    Execute(Box<Execute>),
    /// `GET [STACKED] DIAGNOSTICS`
    Diagnostics(bool, Vec<(Target, Diagnostic)>),
    /// `COMMIT` (true) or `ROLLBACK`, and `AND CHAIN`.
    End(bool, bool),
}

/// `EXECUTE text INTO ... USING ...`
#[derive(Clone, PartialEq, Debug)]
pub struct Execute {
    /// The text.
    pub text: Fragment,
    /// The parameters.
    pub using: Vec<Fragment>,
    /// Where the row goes.
    pub into: Option<Into>,
}

/// How grave a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// `DEBUG`
    Debug,
    /// `LOG`
    Log,
    /// `INFO`
    Info,
    /// `NOTICE`
    Notice,
    /// `WARNING`
    Warning,
    /// `EXCEPTION`
    Exception,
}

/// `RAISE`
#[derive(Clone, PartialEq, Debug)]
pub struct Raise {
    /// How grave it is.
    pub level: Level,
    /// True for the bare word, which raises the error again that is being handled.
    pub again: bool,
    /// The condition, as it is written.
    pub condition: Option<(SqlState, String)>,
    /// The format.
    pub format: Option<String>,
    /// The values for each `%`.
    pub values: Vec<Fragment>,
    /// `USING`
    pub options: Vec<(RaiseOption, Fragment)>,
}

/// An option of `RAISE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaiseOption {
    /// `ERRCODE`
    State,
    /// `MESSAGE`
    Message,
    /// `DETAIL`
    Detail,
    /// `HINT`
    Hint,
    /// `COLUMN`
    Column,
    /// `CONSTRAINT`
    Constraint,
    /// `DATATYPE`
    Type,
    /// `TABLE`
    Table,
    /// `SCHEMA`
    Schema,
}

/// An item of `GET DIAGNOSTICS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Diagnostic {
    /// `ROW_COUNT`
    RowCount,
    /// `PG_CONTEXT`
    Context,
    /// `PG_ROUTINE_OID`
    Routine,
    /// `RETURNED_SQLSTATE`
    State,
    /// `MESSAGE_TEXT`
    Message,
    /// `PG_EXCEPTION_DETAIL`
    Detail,
    /// `PG_EXCEPTION_HINT`
    Hint,
    /// `PG_EXCEPTION_CONTEXT`
    ErrorContext,
    /// `COLUMN_NAME`
    Column,
    /// `CONSTRAINT_NAME`
    Constraint,
    /// `PG_DATATYPE_NAME`
    Type,
    /// `TABLE_NAME`
    Table,
    /// `SCHEMA_NAME`
    Schema,
}

impl Step {
    /// The name in the context of an error.
    pub fn words(&self) -> &'static str {
        match self {
            Step::Block(_) => "statement block",
            Step::Assign { .. } => "assignment",
            Step::Sql(..) => "SQL statement",
            Step::Perform(_) => "PERFORM",
            Step::If(..) => "IF",
            Step::Case { .. } => "CASE",
            Step::Loop(..) => "LOOP",
            Step::While(..) => "WHILE",
            Step::Count { .. } => "FOR with integer loop variable",
            Step::Rows(..) => "FOR over SELECT rows",
            Step::Dynamic(..) => "FOR over EXECUTE statement",
            Step::Each { .. } => "FOREACH over array",
            Step::Leave(true, ..) => "EXIT",
            Step::Leave(false, ..) => "CONTINUE",
            Step::Return => "RETURN",
            Step::Nothing => "NULL",
            Step::Raise(_) => "RAISE",
            Step::Assert(..) => "ASSERT",
            Step::Execute(_) => "EXECUTE",
            Step::Diagnostics(true, _) => "GET STACKED DIAGNOSTICS",
            Step::Diagnostics(false, _) => "GET DIAGNOSTICS",
            Step::End(true, _) => "COMMIT",
            Step::End(false, _) => "ROLLBACK",
        }
    }
}
