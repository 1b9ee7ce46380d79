//! Portals: running statements with their parameters, and their output.
//!
//! ```text
//!   start(Parsed) or bind(statement, params)  ──>  Portal ──execute──> rows ... Suspended
//!                                                         ──execute──> rows ... Complete(tag)
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use charset::Charset;
use sql::parse::ast::{Command, Statement};
use types::{Context, Datum, Modifier, Oid, Type};

use crate::error::Error;
use crate::query::Running;
use crate::statement::Parsed;

/// How a value is written on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// As text, in the style of the session.
    #[default]
    Text,
    /// In the binary form of its type.
    Binary,
}

/// A column of a result.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The table that its values come from unchanged, and the number of the column there; 0 and 0
    /// where there is none.
    pub table: Oid,
    /// See `table`.
    pub attnum: i16,
    /// The type of its values; of a domain the type below.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The length of values in bytes as `pg_type` has it; below 0 where it varies.
    pub length: i16,
}

/// A statement with its parameters, while it runs.
pub struct Portal {
    pub(crate) parsed: Parsed,
    pub(crate) columns: Option<Arc<[Column]>>,
    /// One for each column.
    pub(crate) formats: Vec<Format>,
    pub(crate) params: Arc<[Datum]>,
    /// The types of `params`, for a command that holds a query.
    pub(crate) types: Vec<Type>,
    pub(crate) work: Work,
    /// True if it is all of a message: its end is the end of its transaction.
    pub(crate) alone: bool,
    /// True if it is one of several statements of a message of the simple protocol: they are a
    /// transaction block without a name.
    pub(crate) is_one_of_many: bool,
    /// Which of the portals and cursors of the session it is, in the order in which they were made.
    pub(crate) number: u64,
    /// True if the transaction that it belongs to has failed, or a part of it in which it was run.
    pub(crate) has_failed: bool,
    /// True if it gives no rows and is done: it does not run again.
    pub(crate) is_over: bool,
    /// How many rows it has given.
    pub(crate) rows: u64,
    /// Its cost so far, where that is recorded.
    pub(crate) cost: Option<Box<crate::statements::Run>>,
    /// The observed counts of the operators of its plan, where they were recorded.
    pub(crate) observed: Option<plan::explain::tree::Observed>,
}

/// The work that is left for a portal.
pub(crate) enum Work {
    /// Nothing was asked.
    Empty,
    /// A plan is run.
    Plan(Box<Running>),
    /// A command is to be done.
    Command,
    /// Data goes out.
    CopyOut(Box<crate::copy::Out>),
    /// Data comes in: to be announced.
    CopyIn(CopyFormat),
    /// Rows that are there already.
    Rows { rows: VecDeque<Vec<Datum>>, tag: Tag },
    /// Nothing: it is done.
    Done(Tag),
}

impl Portal {
    pub(crate) fn new(parsed: Parsed, columns: Option<Arc<[Column]>>, work: Work) -> Self {
        let count = columns.as_ref().map_or(0, |columns| columns.len());
        Portal {
            parsed,
            columns,
            formats: vec![Format::Text; count],
            params: Arc::new([]),
            types: Vec::new(),
            work,
            alone: false,
            is_one_of_many: false,
            number: 0,
            has_failed: false,
            is_over: false,
            rows: 0,
            cost: None,
            observed: None,
        }
    }

    /// The columns of its rows; `None` if it gives none.
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    /// True if an error is one of a statement that has told no columns, as in PostgreSQL: of a
    /// command, or of a constant that the planner computes there.
    pub fn is_untold(&self) -> bool {
        match &self.work {
            Work::Command => true,
            Work::Plan(running) => !running.run.is_under_way() || running.planned.is_constant(),
            _ => false,
        }
    }

    /// True for what leaves no portal behind once it is done.
    pub(crate) fn ends_transaction(&self) -> bool {
        let Some(Statement::Command(command)) = self.parsed.statement.as_deref() else {
            return self.alone;
        };
        self.alone || matches!(**command, Command::Commit { .. } | Command::Rollback { .. })
    }

    /// How the values are to be written: one for each column.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// The text of the statement.
    pub fn text(&self) -> &str {
        self.parsed.text()
    }
}

/// The tag of a finished statement: the text of `CommandComplete`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The command, such as `SELECT` or `CREATE TABLE`.
    pub command: &'static str,
    /// How many rows, where the command counts them.
    pub rows: Option<u64>,
}

impl Tag {
    /// The tag of a command that counts no rows.
    pub fn plain(command: &'static str) -> Self {
        Tag { command, rows: None }
    }

    /// The tag of a command that counts rows.
    pub fn rows(command: &'static str, rows: u64) -> Self {
        Tag { command, rows: Some(rows) }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command)?;
        match self.rows {
            // The 0 was once the OID of the row.
            Some(rows) if self.command == "INSERT" => write!(f, " 0 {rows}"),
            Some(rows) => write!(f, " {rows}"),
            None => Ok(()),
        }
    }
}

/// The form of the data of `COPY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    /// Binary, or text and CSV.
    pub format: Format,
    /// How many columns.
    pub columns: usize,
    /// The encoding of text and CSV.
    pub charset: Charset,
}

/// How far [`Session::execute`](crate::Session::execute) came.
#[derive(Clone, PartialEq, Debug)]
pub enum Done {
    /// To the end.
    Complete(Tag),
    /// As many rows as were asked for; there may be more.
    Suspended,
    /// The output said that it has enough for now: call again with what is left of `rows_max`.
    More,
    /// There was no statement.
    Empty,
    /// The client is to send data: see [`Session::copy_in`](crate::Session::copy_in).
    CopyIn(CopyFormat),
    /// Data will come: announce it and call again.
    CopyOut(CopyFormat),
    /// The statement would have to wait; nothing has changed. Call again where it may, after
    /// [`Session::set_inline`](crate::Session::set_inline) with false.
    Blocked,
}

/// A receiver of rows.
pub trait Output {
    /// Takes a row. [`ControlFlow::Break`] means: this one was taken, no more for now.
    ///
    /// Values may be lazy. An output that keeps them beyond the statement, or that must not be left in the middle of a
    /// row, first calls [`Datum::make`] for each.
    ///
    /// # Errors
    /// Fails if a value cannot be written; the statement fails with it.
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>>;

    /// Takes notices that were given before the next row. Notices that it leaves there are sent after
    /// the statement.
    fn notices(&mut self, notices: &mut Vec<Error>) {
        let _ = notices;
    }

    /// Takes a piece of the data of `COPY ... TO STDOUT`, which is one message of the protocol. An output
    /// that wants rows alone needs no method: nothing is copied to it.
    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        let _ = data;
        ControlFlow::Break(())
    }
}
