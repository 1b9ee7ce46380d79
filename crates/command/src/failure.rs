//! Errors, with the next step for the reader.
//!
//! ```text
//!   error: no document "a2" in the collection "articles"
//!   hint:  see what is there with `anywhen ls articles`
//! ```

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anywhen::{BackupError, Causes, DocumentError, Error};
use store::StoreError;
use txn::{EngineError, TxnError};

use crate::json_out::Object;
use crate::paint::on_stderr;
use crate::screen::said;

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command failed, and with which exit code the process ends.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

/// The exit code, by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not found, or asked for what cannot be: 1.
    Refused,
    /// The command line is wrong: 2.
    Usage,
    /// The disk failed, or the data are damaged: 3.
    Broken,
    /// A server that was asked is gone, or never was there: 1, and nothing more can be asked.
    Lost,
    /// The reader of the output has closed it: exit code 0, without a message.
    Unread,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Returns the failure of a request for something that does not exist or is not possible.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// Words that could not be understood, as they are shown, in one text.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        Self::new(Kind::Usage, text.trim().trim_start_matches("error: "))
    }

    /// Reading or writing `path` failed.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        // A file that was named and is not there is the caller's to put right.
        let kind = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory => Kind::Refused,
            _ => Kind::Broken,
        };
        Self::new(kind, format!("{}: {error}", path.display()))
    }

    /// The same, with what to do about it; a hint that is there already stays.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same, with where it happened in front.
    pub(crate) fn at(mut self, place: impl Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// True if the command cannot go on: a failed disk, or a closed output.
    pub(crate) fn ends_everything(&self) -> bool {
        matches!(self.kind, Kind::Broken | Kind::Lost | Kind::Unread)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Unread => 0,
            Kind::Refused | Kind::Lost => 1,
            Kind::Usage => 2,
            Kind::Broken => 3,
        })
    }

    /// Says what went wrong on standard error.
    pub(crate) fn report(&self, json: bool) {
        if self.kind == Kind::Unread {
            return;
        }
        if json {
            let mut object = Object::new().text("error", &self.message);
            if let Some(hint) = &self.hint {
                object = object.text("hint", hint);
            }
            eprintln!("{}", said(&object.end()));
            return;
        }
        eprintln!("{} {}", on_stderr("1;31", "error:"), said(&self.message));
        if let Some(hint) = &self.hint {
            eprintln!("{}  {}", on_stderr("36", "hint:"), said(hint));
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::new(kind_of(&error), Causes(&error).to_string());
        match error {
            Error::Engine(EngineError::InUse { .. }) => {
                failure.hint(
                    "another process has this folder open: end it; if it is `anywhen serve`, ask it with psql or \
                     `anywhen sql --url postgres://postgres@HOST:PORT`",
                )
            }
            _ => failure,
        }
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        Error::from(error).into()
    }
}

/// An error that the caller can put right is `Refused`; every other error is of the disk or the
/// data.
fn kind_of(error: &Error) -> Kind {
    let refused = match error {
        Error::NoDatabase(_)
        | Error::Exists(_)
        | Error::NotADatabase(_)
        | Error::BadName { .. }
        | Error::NoCollection { .. }
        | Error::OptionsDiffer { .. }
        | Error::NameTaken { .. } => true,
        Error::Sql(_) => !is_broken(error),
        Error::Backup(BackupError::Lost(_)) => return Kind::Lost,
        Error::Backup(BackupError::Mark { .. }) => false,
        Error::Backup(_) => true,
        Error::Io { path, source } => return Failure::file(path, source).kind,
        Error::Document(error) => document_refused(error),
        Error::Engine(error) => engine_refused(error),
        Error::Txn(error) => txn_refused(error),
        Error::Table(anywhen::TableError::Txn(error)) => txn_refused(error),
        Error::Table(_) => !is_broken(error),
        Error::Store(error) => store_refused(error),
        _ => false,
    };
    if refused { Kind::Refused } else { Kind::Broken }
}

/// True for damaged data and failures of the disk.
fn is_broken(error: &Error) -> bool {
    ["XX", "58", "53"].iter().any(|class| error.sqlstate().code().starts_with(class))
}

fn document_refused(error: &DocumentError) -> bool {
    match error {
        DocumentError::Store(error) => store_refused(error),
        DocumentError::Txn(error) => txn_refused(error),
        DocumentError::Engine(error) => engine_refused(error),
        // An error from below the documents concerns the data. The caller can put all others right.
        error => error.sqlstate_below().is_none(),
    }
}

fn engine_refused(error: &EngineError) -> bool {
    match error {
        EngineError::InUse { .. } => true,
        EngineError::Txn(error) => txn_refused(error),
        EngineError::Store(error) => store_refused(error),
        _ => false,
    }
}

fn txn_refused(error: &TxnError) -> bool {
    match error {
        TxnError::Serialization { .. }
        | TxnError::Deadlock
        | TxnError::LockTimeout
        | TxnError::Blocked
        | TxnError::TooLarge { .. }
        | TxnError::NoSuchCommit { .. }
        | TxnError::ChangesForgotten { .. } => true,
        TxnError::Store(error) => store_refused(error),
        _ => false,
    }
}

fn store_refused(error: &StoreError) -> bool {
    matches!(error, StoreError::TooLarge { .. } | StoreError::Forgotten { .. })
}

/// Writing the answer failed: a closed pipe is no error of ours.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::Unread, ""),
            _ => Self::new(Kind::Broken, format!("the answer cannot be written: {error}")),
        }
    }
}
