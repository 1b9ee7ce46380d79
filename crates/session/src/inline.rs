//! Statements on the thread of a core, which serves other sessions as well, so that nothing may
//! block there.
//!
//! ```text
//!   run ── done ──> its answer
//!    └──── would wait, or takes long ──> taken back ──> Done::Blocked: run again on another thread
//! ```
//!
//! A statement that has given rows cannot be taken back: its plan tells beforehand whether it may have
//! to wait.

use sql::parse::ast::{Command, CopyEnd, Direction, Statement};

use crate::error::Result;
use crate::portal::{Done, Output, Portal, Work};
use crate::query::{self, Running};
use crate::session::Session;

/// How many rows of a cursor are read where others are held up.
const FETCHED_INLINE_MAX: i64 = 1_024;

impl Session {
    /// Runs a portal where nothing may block: what would wait for a lock is taken back.
    pub(crate) fn run_inline(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        let may_block = match (&portal.work, portal.parsed.statement.as_deref()) {
            (Work::Plan(running), _) if running.may_not_be_inline() => return Ok(Done::Blocked),
            (Work::Plan(running), _) => running.planned.writes,
            (Work::Command, Some(Statement::Command(command))) => match &**command {
                Command::Fetch { cursor, direction, .. }
                    if !self.may_fetch_inline(&cursor.text, *direction) =>
                {
                    return Ok(Done::Blocked);
                }
                Command::Declare { hold: true, .. } => return Ok(Done::Blocked),
                Command::Commit { .. } if self.has_to_hold() => return Ok(Done::Blocked),
                Command::Call { .. } | Command::Do { .. } => return Ok(Done::Blocked),
                Command::Lock { .. } => true,
                Command::Copy(copy) if !matches!(copy.end, CopyEnd::Client) => {
                    return Ok(Done::Blocked);
                }
                _ => false,
            },
            // A change of the catalog takes a millisecond, and there may be many.
            (Work::Command, Some(Statement::Define(_))) => return Ok(Done::Blocked),
            (Work::Command, _) => true,
            // Sent data cannot be taken back.
            (Work::CopyOut(_), _) => return Ok(Done::Blocked),
            _ => false,
        };
        if let Work::Plan(running) = &mut portal.work {
            running.rows_max = (!running.has_given).then_some(query::INLINE_ROWS_MAX);
        }
        if !may_block {
            let locks = self.client.lock_mark();
            let done = self.run(portal, rows_max, out);
            return match (done, &mut portal.work) {
                (Err(error), Work::Plan(running))
                    if error.cause.retry_reason().is_some() && !running.has_given =>
                {
                    running.restart();
                    portal.rows = 0;
                    self.client.unlock_since(locks);
                    Ok(Done::Blocked)
                }
                // A cursor that had given nothing, and stands where it stood.
                (Err(error), Work::Command) if error.cause.retry_reason().is_some() => {
                    self.client.unlock_since(locks);
                    Ok(Done::Blocked)
                }
                (done, _) => done,
            };
        }
        let is_new = self.transaction.is_none();
        let mark = self.mark();
        self.set_patience(Some(0));
        let done = self.run(portal, rows_max, out);
        let timeout_ms = self.client.settings.get_mut().integer("lock_timeout");
        self.set_patience((timeout_ms > 0).then(|| timeout_ms.unsigned_abs() * 1_000));
        match done {
            Err(error) if error.cause.retry_reason().is_some() => {
                if is_new {
                    self.transaction = None;
                } else {
                    self.open().go_back(&mark);
                }
                self.client.settings.get_mut().undo_to(mark.settings);
                self.client.notes.get_mut().truncate(mark.notes);
                self.client.unlock_since(mark.locks);
                if let Work::Plan(running) = &mut portal.work {
                    running.restart();
                    portal.rows = 0;
                }
                Ok(Done::Blocked)
            }
            done => done,
        }
    }

    /// True if a cursor can be read on where nothing may block: for the first time, since that can
    /// be taken back, or for few rows.
    fn may_fetch_inline(&self, name: &str, direction: Direction) -> bool {
        let Some(cursor) = self.cursors.get(name).filter(|cursor| !cursor.at_end) else {
            return true;
        };
        let Work::Plan(running) = &cursor.portal.work else { return true };
        let is_little = matches!(direction, Direction::Forward(0..=FETCHED_INLINE_MAX));
        !running.may_not_be_inline() && (is_little || !running.has_given)
    }

    /// Sets how long locks are waited for, in microseconds.
    pub(crate) fn set_patience(&mut self, us: Option<u64>) {
        let inner = self.transaction.as_mut().and_then(|open| open.inner.as_mut());
        if let Some(inner) = inner {
            inner.set_lock_timeout(us);
        }
    }
}

impl Running {
    /// True if it is known that it would have to be taken back, and could not.
    fn may_not_be_inline(&self) -> bool {
        let planned = &self.planned;
        // A file is read from the disk, and is not in memory as a table may be.
        let reads_files = !planned.files.is_empty();
        reads_files || planned.locks || (self.has_given && (planned.writes || planned.calls_server))
    }
}
