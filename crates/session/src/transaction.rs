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

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sql::parse::ast::{Command, Define, Discard, Statement};
use txn::{Isolation, Savepoint, Transaction};
use types::time::TimestampTz;
use types::{SqlState, Style};

use crate::backend_status::WaitEvent;
use crate::client::StatementContext;
use crate::counters::Event;
use crate::error::{Error, Result, Severity, caught};
use crate::evaluate::Evaluator;
use crate::instance::{Deadline, now, us_of};
use crate::notify;
use crate::session::Session;
use crate::settings::special;
use crate::statement::Parsed;

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

/// The command or event that ends the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    /// The event that began it also ends it: the end of the statement, of the message, or a `Sync`.
    Implicit,
    /// `COMMIT` or `ROLLBACK`.
    Explicit,
}

/// The modes that `BEGIN` sets for a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modes {
    pub isolation: Isolation,
    /// Its words: `READ UNCOMMITTED` differs from `READ COMMITTED`.
    pub uncommitted: bool,
    pub read_only: bool,
    pub deferrable: bool,
}

/// The state to restore where a transaction rolls back to a mark.
#[derive(Clone)]
pub(crate) struct Mark {
    pub writes: Savepoint,
    /// In the undo log of the settings.
    pub settings: usize,
    /// How many notifications had been asked for.
    pub notes: usize,
    /// The next advisory lock.
    pub locks: u64,
    /// The catalog as it was, where it had been changed.
    pub draft: Option<table::catalog::DraftSavepoint>,
    pub checks: table::foreign::SavedChecks,
    /// The number of the next portal.
    pub portals: u64,
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
    /// The checks that are left for the commit.
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

impl Session {
    /// True for what must be a transaction of its own and can be: no statement has been run since the
    /// last `Sync`.
    pub(crate) fn may_stand_alone(&self, parsed: &Parsed) -> bool {
        let must = match parsed.statement.as_deref() {
            Some(Statement::Define(define)) => {
                let is_concurrent = match &**define {
                    Define::Index(create) => create.concurrently,
                    Define::Drop { concurrently, .. } => *concurrently,
                    _ => false,
                };
                is_concurrent
                    || matches!(**define, Define::Database { .. } | Define::DropDatabase { .. })
            }
            Some(Statement::Command(command)) => matches!(
                **command,
                Command::Maintain { tag: "VACUUM", .. }
                    | Command::Discard(Discard::All)
                    | Command::AlterSystem { .. }
            ),
            _ => false,
        };
        must && !self.is_pipelined
            && self.transaction.as_ref().is_none_or(|open| {
                let is_unused = open.inner.as_ref().is_some_and(Transaction::is_read_only);
                open.block != Block::Explicit && !open.looked && open.draft.is_none() && is_unused
            })
    }

    /// Joins the queue for the row that a statement which was not to wait ([`Done::Blocked`](crate::Done))
    /// has met locked: `call` is called when it is its turn, on whatever thread. Then, or when it would
    /// wait no longer, [`Session::leave_queue`] is to be called, and the statement run again. False if
    /// only a thread can wait: in no transaction block, for other things than rows, with a
    /// `lock_timeout`, and where it would be a deadlock.
    pub fn queue_up(&mut self, call: Box<dyn Fn() + Send + Sync>) -> bool {
        if self.client.settings.get_mut().integer("lock_timeout") > 0 {
            return false;
        }
        let inner = self.transaction.as_mut().and_then(|open| open.inner.as_mut());
        inner.is_some_and(|inner| inner.queue_up(call))
    }

    /// The error of a statement that was told to stop: what it was doing knows that it was called off,
    /// and not why, nor that the session is to end.
    pub fn why_stopped(&self, error: Error) -> Error {
        match error.state() {
            SqlState::QUERY_CANCELED | SqlState::ADMIN_SHUTDOWN | SqlState::TRANSACTION_TIMEOUT => {
                let Some(mut stopped) = self.client.slot.stopped() else { return error };
                if let Some(context) = error.cause.context() {
                    stopped.cause = stopped.cause.with_context(context);
                }
                stopped
            }
            _ => error,
        }
    }

    /// Why the session was told to end, if it was.
    pub fn terminated(&self) -> Option<Error> {
        let stopped = self.client.slot.stopped();
        stopped.filter(|error| error.severity == Severity::Fatal)
    }

    /// Leaves the queue that [`Session::queue_up`] joined.
    pub fn leave_queue(&mut self) {
        let inner = self.transaction.as_mut().and_then(|open| open.inner.as_mut());
        if let Some(inner) = inner {
            inner.leave_queue();
        }
    }

    /// The transaction, which is begun where there is none.
    pub(crate) fn open(&mut self) -> &mut Open {
        if self.transaction.is_none() {
            self.begin(Block::Implicit, None);
        }
        self.transaction.as_mut().expect("it has been begun")
    }

    /// Begins a transaction.
    pub(crate) fn begin(&mut self, block: Block, modes: Option<Modes>) {
        let modes = modes.unwrap_or_else(|| self.default_modes());
        let inner = self.begin_inner(modes.isolation);
        let instance = &self.client.instance;
        let checks = table::foreign::Checks::new(
            Arc::clone(&instance.handles),
            Arc::clone(&self.names.catalog),
        );
        let timeout_ms = self.client.settings.get_mut().integer("transaction_timeout");
        if timeout_ms > 0 {
            let now_us = self.client.instance.env.clock.monotonic_us();
            let deadline_us = now_us + timeout_ms.unsigned_abs() * 1_000;
            self.client.instance.set_deadline(
                &self.client.slot,
                Deadline::Transaction,
                deadline_us,
            );
        }
        let started = now(&self.client.instance.env);
        self.client.slot.status.begin_transaction(started);
        self.transaction = Some(Open {
            inner: Some(inner),
            block,
            failed: false,
            modes,
            started,
            savepoints: Vec::new(),
            draft: None,
            checks,
            looked: false,
        });
    }

    /// A transaction of the engine, which others find by the session's slot.
    pub(crate) fn begin_inner(&mut self, isolation: Isolation) -> Transaction {
        let mut inner = self.client.instance.engine.begin(isolation);
        self.client.slot.transaction.store(inner.id().0, Ordering::Release);
        inner.set_interrupt(Some(Arc::clone(&self.client.slot.stop)));
        inner.set_reader(Arc::clone(&self.client.reader));
        let timeout_ms = self.client.settings.get_mut().integer("lock_timeout");
        if timeout_ms > 0 {
            inner.set_lock_timeout(Some(timeout_ms.unsigned_abs() * 1_000));
        }
        inner
    }

    /// Shows other sessions that the transaction writes, before the statement does.
    pub(crate) fn show_writes(&self) {
        let inner = self.transaction.as_ref().and_then(|open| open.inner.as_ref());
        self.client.slot.status.set_writes(inner.map_or(0, |inner| inner.id().0));
    }

    /// Shows other sessions whether the transaction has written, after a statement.
    pub(crate) fn tell_writes(&self) {
        let has_own_catalog = self.has_own_catalog();
        let inner = self.transaction.as_ref().and_then(|open| open.inner.as_ref());
        let writer = inner
            .filter(|inner| !inner.is_read_only() || inner.has_locked_rows() || has_own_catalog);
        self.client.slot.status.set_writes(writer.map_or(0, |inner| inner.id().0));
    }

    /// The modes of transactions without others.
    pub(crate) fn default_modes(&self) -> Modes {
        let settings = self.client.settings.borrow();
        let mut modes = Modes {
            isolation: txn::Isolation::ReadCommitted,
            uncommitted: false,
            read_only: settings.bool("default_transaction_read_only")
                || self.client.instance.engine.is_follower(),
            deferrable: settings.bool("default_transaction_deferrable"),
        };
        modes.set_isolation(settings.text("default_transaction_isolation"));
        modes
    }

    /// Commits the open transaction.
    pub(crate) fn commit(&mut self) -> Result<()> {
        let was_open = self.transaction.is_some();
        let done = caught(|| self.commit_all());
        if was_open {
            self.client.count(if done.is_ok() { Event::Commit } else { Event::Rollback }, 1);
        }
        self.end_shown();
        if done.is_ok() {
            self.client.unlock_transaction(0);
        }
        self.client.exported.get_mut().clear();
        done
    }

    fn commit_all(&mut self) -> Result<()> {
        if self.transaction.is_some() {
            self.hold_cursors()?;
            let writes = |open: &Open| open.inner.as_ref().is_some_and(|txn| !txn.is_read_only());
            if self.transaction.as_ref().is_some_and(writes) {
                self.end_temporary()?;
            }
        }
        let Some(mut open) = self.transaction.take() else { return Ok(()) };
        self.portals.clear();
        let notes = std::mem::take(self.client.notes.get_mut());
        if let Some(mut inner) = open.inner.take() {
            if !open.checks.is_empty() {
                let around = StatementContext::of(&self.client, &self.names, open.started);
                let evaluator = Evaluator::new(&around, &self.names);
                open.checks.end_transaction(&mut inner, &mut evaluator.values())?;
            }
            // A commit is published whole, also where the statement is cancelled meanwhile.
            return interrupt::shielded(|| self.publish(inner, open.draft, notes));
        }
        self.client.settings.get_mut().commit();
        Ok(())
    }

    /// Makes what a transaction has changed part of the database.
    fn publish(
        &mut self,
        mut inner: txn::Transaction,
        draft: Option<table::Draft>,
        notes: Vec<notify::Note>,
    ) -> Result<()> {
        let changed = draft.as_ref().is_some_and(|draft| !draft.is_empty());
        if let Some(draft) = draft {
            draft.publish(&mut inner)?;
        }
        if inner.is_read_only() {
            self.client.settings.get_mut().commit();
            notify::deliver(&self.client, notes);
            return Ok(());
        }
        notify::at_commit(&self.client, notes, &mut inner);
        if self.client.is_stamped.take() {
            inner.own_stamp();
        }
        let meta = self.commit_meta();
        // Retention that a change of the catalog shortens can be settled only when the commit is
        // visible.
        if self.inline && !changed {
            self.ordered = Some(inner.order(meta)?);
        } else {
            let status = &self.client.slot.status;
            status.set_wait(WaitEvent::WalSync);
            let committed = inner.commit(meta);
            status.set_wait(WaitEvent::None);
            committed?;
        }
        if changed {
            let instance = &self.client.instance;
            instance.catalogs.tables().settle(instance.engine.store());
        }
        self.client.settings.get_mut().commit();
        Ok(())
    }

    /// The metadata of a commit.
    fn commit_meta(&self) -> txn::CommitMeta {
        let settings = self.client.settings.borrow();
        let author = match settings.text("commit.author") {
            "" => settings.identity().user.to_string(),
            author => author.to_owned(),
        };
        let message = settings.text("commit.message").to_owned();
        let role = Arc::clone(&self.client.role);
        let authored_us = match settings.text("commit.authored_at") {
            "" => None,
            // A kept value was checked when it was set.
            text => special::time(text, &Style::default(), TimestampTz(0)).ok().and_then(us_of),
        };
        txn::CommitMeta { author, message, role, authored_us, ..txn::CommitMeta::default() }
    }

    /// The time of the transaction is up no more, and others see it no more.
    fn end_shown(&self) {
        self.client.slot.status.end_transaction();
        self.client.instance.set_deadline(&self.client.slot, Deadline::Transaction, 0);
    }

    /// Takes back all that the open transaction has done.
    pub(crate) fn rollback(&mut self) {
        if self.transaction.is_some() {
            self.client.count(Event::Rollback, 1);
        }
        self.transaction = None;
        self.end_shown();
        self.client.unlock_transaction(0);
        self.client.exported.get_mut().clear();
        self.portals.clear();
        self.cursors.retain(|_, cursor| cursor.is_held);
        self.client.notes.get_mut().clear();
        self.client.is_stamped.set(false);
        self.client.settings.get_mut().undo_to(0);
    }

    /// Takes back what a statement that has failed was part of.
    pub(crate) fn abort(&mut self) {
        match &mut self.transaction {
            Some(open) if open.block == Block::Explicit => {
                open.failed = true;
                let mut settings_mark = 0;
                let mut first = 0;
                match open.savepoints.last() {
                    Some(savepoint) => {
                        let mark = savepoint.mark.clone();
                        settings_mark = mark.settings;
                        first = mark.portals;
                        self.client.unlock_transaction(mark.locks);
                        open.go_back(&mark);
                    }
                    // Nothing can be gone back to: others need not wait.
                    None => {
                        open.inner = None;
                        open.draft = None;
                        self.client.slot.status.set_writes(0);
                        self.client.unlock_transaction(0);
                    }
                }
                self.fail_portals(first);
                self.client.settings.get_mut().undo_to(settings_mark);
            }
            _ => self.rollback(),
        }
    }
}
