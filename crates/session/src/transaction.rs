//! The transaction of a session: blocks, savepoints, the failed state.
//!
//! ```text
//!            BEGIN              error              ROLLBACK TO s
//!   Idle ───────────> Block ───────────> Failed ─────────────────> Block
//!     ^  statement     │  COMMIT           │ COMMIT or ROLLBACK
//!     │ ┌─────────┐    │                   │
//!     └─┤ Implicit│<───┴───────────────────┘
//!       └─────────┘ one statement, or all of a Query message, or all up to a Sync
//! ```
//!
//! Each statement begins at a mark of its own, so that one that fails leaves nothing behind even
//! where the transaction goes on.

use txn::{Isolation, Savepoint, Transaction};
use types::time::TimestampTz;

/// Where a session is, as `ReadyForQuery` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// In no transaction block.
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a transaction block that has failed: all is refused until it ends.
    Failed,
}

impl Status {
    /// The byte of the protocol.
    pub fn byte(self) -> u8 {
        match self {
            Status::Idle => b'I',
            Status::InTransaction => b'T',
            Status::Failed => b'E',
        }
    }
}

/// Who ends the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    /// Whoever began it: the end of the statement, of the message, or a `Sync`.
    Implicit,
    /// `COMMIT` or `ROLLBACK`.
    Explicit,
}

/// What `BEGIN` says of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modes {
    pub isolation: Isolation,
    /// The words of it: `READ UNCOMMITTED` is told apart from `READ COMMITTED`.
    pub uncommitted: bool,
    pub read_only: bool,
    pub deferrable: bool,
}

/// What has to be put back where a transaction goes back to a place.
#[derive(Clone)]
pub(crate) struct Mark {
    pub writes: Savepoint,
    /// In the undo log of the settings.
    pub settings: usize,
    /// How many notifications had been asked for.
    pub notes: usize,
    /// The catalog as it was, where it had been changed.
    pub draft: Option<table::catalog::DraftSavepoint>,
    pub checks: table::foreign::SavedChecks,
}

/// A savepoint of a user.
#[derive(Clone)]
pub(crate) struct Named {
    pub name: String,
    pub mark: Mark,
    pub modes: Modes,
}

/// A transaction that is open.
pub(crate) struct Open {
    /// None once it has failed for good: its locks are free.
    pub inner: Option<Transaction>,
    pub block: Block,
    pub failed: bool,
    pub modes: Modes,
    /// When it began.
    pub started: TimestampTz,
    pub savepoints: Vec<Named>,
    /// The catalog, where the transaction has changed it.
    pub draft: Option<table::Draft>,
    /// What is left to be checked when it commits.
    pub checks: table::foreign::Checks,
    /// True once a statement has looked at data: the isolation level is settled.
    pub looked: bool,
}

impl Modes {
    /// The words of `transaction_isolation`.
    pub fn isolation_words(self) -> &'static str {
        match self.isolation {
            Isolation::Serializable => "serializable",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::ReadCommitted if self.uncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
        }
    }

    /// The level that these words mean.
    pub fn set_isolation(&mut self, words: &str) {
        self.uncommitted = words == "read uncommitted";
        self.isolation = match words {
            "serializable" => Isolation::Serializable,
            "repeatable read" => Isolation::RepeatableRead,
            _ => Isolation::ReadCommitted,
        };
    }
}

impl Open {
    /// Takes back what was done since a mark.
    pub fn go_back(&mut self, mark: &Mark) {
        if let Some(inner) = &mut self.inner {
            inner.rollback_to(mark.writes);
        }
        match (&mut self.draft, &mark.draft) {
            (Some(draft), Some(saved)) => draft.rollback_to(saved),
            (draft, None) => *draft = None,
            (None, Some(_)) => {}
        }
        self.checks.restore(&mark.checks);
    }
}
