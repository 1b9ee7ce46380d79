//! Commands of a session: transactions, settings, prepared statements, cursors, `COPY`, locks and
//! messages. They define nothing and have no plan.

use super::{Name, Path, Query, SqlExpr, Statement, TypeName};
use crate::error::At;

/// A command of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// `BEGIN`, `START TRANSACTION`
    Begin {
        /// The word it began with: `BEGIN` or `START TRANSACTION`.
        tag: &'static str,
        /// The modes of the transaction.
        modes: Modes,
    },
    /// `COMMIT`, `END`
    Commit {
        /// True for `AND CHAIN`.
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`
    Rollback {
        /// True for `AND CHAIN`.
        chain: bool,
    },
    /// `SAVEPOINT name`
    Savepoint(Name),
    /// `RELEASE [SAVEPOINT] name`
    Release(Name),
    /// `ROLLBACK TO [SAVEPOINT] name`
    RollbackTo(Name),
    /// `PREPARE TRANSACTION`, `COMMIT PREPARED`, `ROLLBACK PREPARED`, by their words.
    TwoPhase(&'static str),
    /// `SET TRANSACTION modes`
    SetTransaction(Modes),
    /// `SET TRANSACTION SNAPSHOT`
    SetSnapshot(String),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION modes`
    SetCharacteristics(Modes),
    /// `SET CONSTRAINTS ... {DEFERRED | IMMEDIATE}`
    SetConstraints {
        /// Which; none for all.
        names: Vec<Path>,
        /// True for `DEFERRED`.
        deferred: bool,
    },
    /// `SET [SESSION | LOCAL] name {= | TO} value, ...`
    Set {
        /// True for `LOCAL`.
        local: bool,
        /// The setting.
        name: String,
        /// The values; none for `DEFAULT`.
        values: Vec<SetValue>,
    },
    /// `RESET name`; `None` for `RESET ALL`.
    Reset(Option<String>),
    /// `ALTER SYSTEM {SET name {= | TO} value | RESET {name | ALL}}`
    AlterSystem {
        /// The setting; `None` for `RESET ALL`.
        name: Option<String>,
        /// The values; none for `DEFAULT` and `RESET`.
        values: Vec<SetValue>,
    },
    /// `SHOW name`; `None` for `SHOW ALL`.
    Show(Option<String>),
    /// `DISCARD`
    Discard(Discard),
    /// `PREPARE name (types) AS statement`
    Prepare {
        /// The name.
        name: Name,
        /// The types of the parameters.
        types: Vec<TypeName>,
        /// The statement.
        statement: Box<Statement>,
        /// Its text.
        text: String,
    },
    /// `EXECUTE name (arguments)`
    Execute {
        /// The name.
        name: Name,
        /// The values of the parameters.
        args: Vec<SqlExpr>,
    },
    /// `CALL name (arguments)`, or `SELECT name (arguments)` of a function that a session runs as a command
    Call {
        /// The name.
        name: Path,
        /// The arguments, each with its name where it is passed by name.
        args: Vec<(Option<Name>, SqlExpr)>,
        /// True for `SELECT`, which gives a row.
        selects: bool,
    },
    /// `DO [LANGUAGE language] text`
    Do {
        /// The language, where it is named.
        language: Option<String>,
        /// The text, and where the string that it stands in begins.
        body: Option<(String, At)>,
    },
    /// `DEALLOCATE name`; `None` for all.
    Deallocate(Option<Name>),
    /// `DECLARE name CURSOR FOR query`
    Declare {
        /// The name.
        name: Name,
        /// True for `BINARY`.
        binary: bool,
        /// True for `SCROLL`, false for `NO SCROLL`.
        scroll: Option<bool>,
        /// True for `WITH HOLD`.
        hold: bool,
        /// The query.
        query: Box<Query>,
        /// Its text.
        text: String,
    },
    /// `FETCH`, and `MOVE`, which gives no rows.
    Fetch {
        /// The cursor.
        cursor: Name,
        /// Which rows.
        direction: Direction,
        /// True for `MOVE`.
        moves: bool,
    },
    /// `CLOSE name`; `None` for all.
    Close(Option<Name>),
    /// `COPY`
    Copy(Box<Copy>),
    /// `LISTEN channel`
    Listen(Name),
    /// `UNLISTEN channel`; `None` for all.
    Unlisten(Option<Name>),
    /// `NOTIFY channel, 'payload'`
    Notify {
        /// The channel.
        channel: Name,
        /// The message.
        payload: Option<String>,
    },
    /// `LOCK TABLE`
    Lock {
        /// The tables.
        tables: Vec<Path>,
        /// The mode in lower case, such as `access exclusive`.
        mode: &'static str,
        /// True for `NOWAIT`.
        nowait: bool,
    },
    /// `VACUUM`, `ANALYZE`, `CLUSTER`, `REINDEX` or `CHECKPOINT`: what keeps a database in shape.
    Maintain {
        /// The word.
        tag: &'static str,
        /// True if statistics are to be made: for `ANALYZE`, and `VACUUM` with that word.
        analyzes: bool,
        /// The tables; none for all.
        tables: Vec<Path>,
    },
    /// A command that is parsed and never run: `DO`, `LOAD` and the like, by their words.
    Other(&'static str),
}

/// The modes of a transaction, as far as they are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// `ISOLATION LEVEL`, in lower case.
    pub isolation: Option<&'static str>,
    /// True for `READ ONLY`, false for `READ WRITE`.
    pub read_only: Option<bool>,
    /// True for `DEFERRABLE`.
    pub deferrable: Option<bool>,
}

/// A value that a setting is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetValue {
    /// A word, folded unless it was quoted.
    Word(String),
    /// A string.
    String(String),
    /// A number, with its sign.
    Number(String),
    /// `INTERVAL '...'`, of `SET TIME ZONE`.
    Interval(String),
}

/// The state that `DISCARD` drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discard {
    /// Everything.
    All,
    /// Plans.
    Plans,
    /// The remembered numbers of sequences.
    Sequences,
    /// Temporary tables.
    Temp,
}

/// Which rows `FETCH` gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// So many on: `NEXT`, `FORWARD n`; `i64::MAX` for all.
    Forward(i64),
    /// So many back.
    Backward(i64),
    /// The one with this number, from the end where it is negative.
    Absolute(i64),
    /// The one so far from where the cursor stands.
    Relative(i64),
}

/// `COPY`
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// From where, or to where.
    pub what: CopyWhat,
    /// True for `FROM`.
    pub from: bool,
    /// Where the other end is.
    pub end: CopyEnd,
    /// The options: each a word in lower case, its value and its place.
    pub options: Vec<(String, CopyValue, At)>,
    /// `WHERE`, the text of the condition.
    pub filter: Option<SqlExpr>,
}

/// The source or target of a copy.
#[derive(Clone, PartialEq, Debug)]
pub enum CopyWhat {
    /// A table, all of its columns or these.
    Table(Path, Vec<Name>),
    /// The rows of a statement, with its text.
    Statement(Box<Statement>, String),
}

/// The other end of `COPY`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyEnd {
    /// The client: `STDIN`, `STDOUT`.
    Client,
    /// A file of the server.
    File(String),
    /// A program on the server.
    Program(String),
}

/// The value of an option of `COPY`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyValue {
    /// None: it is switched on.
    None,
    /// A word, a string or a number.
    Text(String),
    /// Names of columns.
    Names(Vec<Name>),
    /// `*`: all columns.
    All,
}
