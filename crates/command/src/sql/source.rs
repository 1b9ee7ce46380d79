//! The sources of answers: the database in this process, or a server.

use std::io::{Read, Write};

use anywhen::sql::{Connection, Error, Oid, Rows, ToSql};

use super::wire::Client;
use crate::visible::visible;

/// Something that runs statements.
pub(super) enum Source {
    Embedded(Box<Connection>),
    Server(Box<Client>),
}

/// Tells a statement to stop.
pub(super) type Canceller = Box<dyn Fn() + Send + Sync>;

/// The transaction block that statements are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Block {
    None,
    Open,
    /// All is refused until it ends.
    Failed,
}

/// A column of an answer.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) ty: Oid,
}

/// The displayed answer of a statement; `None` for NULL.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Vec<Option<String>>>,
    /// `INSERT 0 1`; empty where nothing was run.
    pub(super) tag: String,
}

impl Answer {
    /// The same answer, with nothing in it that a terminal would obey.
    pub(super) fn visible(&self) -> Answer {
        let show = |text: &String| visible(text).into_owned();
        let head = |head: &Head| Head { name: show(&head.name), ty: head.ty };
        let row = |row: &Vec<Option<String>>| row.iter().map(|t| t.as_ref().map(show)).collect();
        Answer {
            heads: self.heads.iter().map(head).collect(),
            rows: self.rows.iter().map(row).collect(),
            tag: show(&self.tag),
        }
    }
}

/// Why a statement was refused; a notice has the same parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    pub(super) severity: String,
    /// The SQLSTATE; empty if the refusal does not come from a server.
    pub(super) state: String,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    pub(super) hint: Option<String>,
    /// Where in the text, in characters from 1.
    pub(super) position: Option<u32>,
    /// The connection is lost.
    pub(super) is_end: bool,
}

impl Refusal {
    pub(super) fn of(state: &str, message: String) -> Refusal {
        Refusal { state: state.to_owned(), message, ..Refusal::default() }
    }

    /// Returns the refusal for a server that is gone or was never there.
    pub(super) fn lost(message: String) -> Refusal {
        Refusal { message, is_end: true, ..Refusal::default() }
    }

    pub(super) fn hint(self, hint: &str) -> Refusal {
        Refusal { hint: Some(hint.to_owned()), ..self }
    }

    pub(super) fn ending(self) -> Refusal {
        Refusal { is_end: true, ..self }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal {
            severity: error.severity.name().to_owned(),
            state: error.state().code().to_owned(),
            message: error.message().to_owned(),
            detail: error.cause.detail().map(str::to_owned),
            hint: error.cause.hint().map(str::to_owned),
            position: error.position,
            is_end: false,
        }
    }
}

fn answer(connection: &Connection, rows: &Rows) -> Answer {
    let head =
        |column: &anywhen::sql::Column| Head { name: column.name.clone(), ty: column.ty.oid() };
    let texts = |row: &Vec<anywhen::sql::Datum>| {
        let pairs = row.iter().zip(&rows.columns);
        pairs.map(|(value, column)| connection.text(value, column)).collect()
    };
    Answer {
        heads: rows.columns.iter().map(head).collect(),
        rows: rows.rows.iter().map(texts).collect(),
        tag: rows.tag.to_string(),
    }
}

impl Source {
    /// Runs one statement; parameters are texts.
    pub(super) fn query(&mut self, text: &str, parameters: &[&str]) -> Result<Answer, Refusal> {
        match self {
            Source::Embedded(connection) => {
                let values: Vec<&dyn ToSql> =
                    parameters.iter().map(|value| value as &dyn ToSql).collect();
                let rows = connection.query(text, &values)?;
                Ok(answer(connection, &rows))
            }
            Source::Server(client) => client.query(text, parameters),
        }
    }

    /// Runs `COPY ... FROM STDIN`; returns the number of rows.
    pub(super) fn copy_in(&mut self, text: &str, from: &mut dyn Read) -> Result<u64, Refusal> {
        match self {
            Source::Embedded(connection) => Ok(connection.copy_in(text, from)?),
            Source::Server(client) => client.copy_in(text, from),
        }
    }

    /// Runs `COPY ... TO STDOUT`; returns the number of rows.
    pub(super) fn copy_out(&mut self, text: &str, to: &mut dyn Write) -> Result<u64, Refusal> {
        match self {
            Source::Embedded(connection) => Ok(connection.copy_out(text, to)?),
            Source::Server(client) => client.copy_out(text, to),
        }
    }

    /// Describes the source in a sentence.
    pub(super) fn described(&self) -> String {
        match self {
            Source::Embedded(_) => "The database is open in this process.".to_owned(),
            Source::Server(client) => client.described(),
        }
    }

    /// The notices since the last call.
    pub(super) fn notices(&mut self) -> Vec<Refusal> {
        match self {
            Source::Embedded(connection) => {
                connection.notices().into_iter().map(Refusal::from).collect()
            }
            Source::Server(client) => client.notices(),
        }
    }

    /// Tells whether a transaction block is open, and whether it has failed.
    pub(super) fn block(&self) -> Block {
        match self {
            Source::Embedded(connection) => {
                match (connection.is_in_transaction(), connection.is_in_failed_transaction()) {
                    (false, _) => Block::None,
                    (true, false) => Block::Open,
                    (true, true) => Block::Failed,
                }
            }
            Source::Server(client) => client.block(),
        }
    }

    /// A handle with which another thread stops the running statement.
    pub(super) fn canceller(&self) -> Canceller {
        match self {
            Source::Embedded(connection) => Box::new(connection.canceller()),
            Source::Server(client) => client.canceller(),
        }
    }
}
