//! The portals and cursors of a session, by name: their state, and when they end.
//!
//! ```text
//!   BEGIN   Bind p   SAVEPOINT s   Bind q   error               ROLLBACK TO s      COMMIT
//!           p: 1     mark: 2       q: 2     q: 25P02            p: 1, q: 34000     p: 34000
//!                                           p: 55000 if the error was its own
//! ```
//!
//! Portals are numbered in the order in which they are made, so that going back to a savepoint takes
//! those with it that are younger. Of a portal that a failed transaction has left the name stays until
//! the transaction ends: PostgreSQL tells one that has failed from one that was never there.

use sql::parse::ast::{Command, Statement};
use types::SqlState;

use crate::error::{Error, Result, caught};
use crate::portal::{Column, Done, Format, Output, Portal, Work};
use crate::session::{Session, ends_failure};
use crate::statement::Described;
use crate::transaction::Status;

impl Session {
    /// The parameters and the columns of a prepared statement.
    ///
    /// # Errors
    /// `26000` where there is no such statement, `25P02` where it gives rows and the transaction has
    /// failed.
    pub fn describe_statement(&self, name: &str) -> Result<Described<'_>> {
        let prepared = self.prepared(name)?;
        self.may_tell(prepared.columns.as_deref())?;
        Ok(Described { params: &prepared.params, columns: prepared.columns.as_deref() })
    }

    /// The portal of this name, which may be that of a cursor.
    ///
    /// # Errors
    /// `34000` where there is none.
    pub fn portal(&mut self, name: &str) -> Result<&mut Portal> {
        let cursor = self.cursors.get_mut(name).map(|cursor| &mut cursor.portal);
        self.portals.get_mut(name).or(cursor).ok_or_else(|| no_portal(name))
    }

    /// The columns of a portal, and how they are to be written; `None` if it gives no rows.
    ///
    /// # Errors
    /// `34000` where there is none, `25P02` where it gives rows and the transaction has failed.
    pub fn describe_portal(&mut self, name: &str) -> Result<Option<(&[Column], &[Format])>> {
        let status = self.status();
        let portal = self.portal(name)?;
        may_tell(status, portal.columns())?;
        let formats = portal.formats();
        Ok(portal.columns().map(|columns| (columns, formats)))
    }

    /// Fails if columns would have to be looked up in a transaction that has failed.
    fn may_tell(&self, columns: Option<&[Column]>) -> Result<()> {
        may_tell(self.status(), columns)
    }

    /// The number of a portal that is made now.
    pub(crate) fn next_portal(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// The number that the next portal will have.
    pub(crate) fn portal_mark(&self) -> u64 {
        self.made + 1
    }

    /// Forgets a prepared statement, where there is one.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// Ends a portal or a cursor, where there is one.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
        self.cursors.remove(name);
    }

    /// Runs the portal of this name: see [`Session::execute`].
    ///
    /// # Errors
    /// `34000` where there is none, and those of the statement.
    pub fn execute_named(
        &mut self,
        name: &str,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        self.may_run(name)?;
        let Some(mut portal) = self.portals.remove(name) else {
            return match self.inline && self.reads_on(name) {
                true => Ok(Done::Blocked),
                false => caught(|| self.execute_cursor(name, rows_max, out)),
            };
        };
        if portal.is_over || portal.has_failed {
            self.portals.insert(name.to_owned(), portal);
            return Err(cannot_run(name));
        }
        portal.alone |= self.may_stand_alone(&portal.parsed);
        let done = self.execute(&mut portal, rows_max, out);
        portal.is_over = matches!(done, Ok(Done::Complete(_))) && portal.columns.is_none();
        if matches!(done, Ok(Done::Complete(_))) {
            self.is_pipelined = !portal.ends_transaction();
        }
        if done.is_err() {
            portal.has_failed = true;
            portal.work = Work::Empty;
        }
        // The statement may have put another portal there, or ended the transaction and with it all.
        let ends_all = done.is_ok() && portal.ends_transaction();
        if !ends_all && !self.portals.contains_key(name) {
            self.portals.insert(name.to_owned(), portal);
        }
        done
    }

    /// Fails if the portal of a name is one that a failed transaction does not take.
    fn may_run(&self, name: &str) -> Result<()> {
        if self.status() != Status::Failed {
            return Ok(());
        }
        let cursor = self.cursors.get(name).map(|cursor| &cursor.portal);
        match self.portals.get(name).or(cursor) {
            Some(portal) if !portal.parsed.statement.as_deref().is_none_or(ends_failure) => {
                Err(in_failed_transaction())
            }
            _ => Ok(()),
        }
    }

    /// Makes the portal of `EXECUTE`, which only knew its columns so far, that of the statement that it
    /// names.
    pub(crate) fn unfold(&mut self, portal: &mut Portal) -> Result<()> {
        if !matches!(portal.work, Work::Command) {
            return Ok(());
        }
        let Some(statement) = portal.parsed.statement.clone() else { return Ok(()) };
        if let Statement::Command(command) = &*statement
            && let Command::Execute { name, args } = &**command
        {
            let made = self.plan_execute(portal.parsed.clone(), &name.text, args)?;
            if made.columns.as_deref() != portal.columns.as_deref() {
                return Err(Error::plan_changed());
            }
            (portal.work, portal.params) = (made.work, made.params);
        }
        Ok(())
    }

    /// Only the names are left of the portals of a failed transaction: they tell why nothing
    /// can be done with them. Portals that were made before the savepoint to which it can roll back
    /// stay.
    pub(crate) fn fail_portals(&mut self, savepoint: u64) {
        let cursors = self.cursors.values_mut().filter(|cursor| !cursor.is_held);
        let all = self.portals.values_mut().chain(cursors.map(|cursor| &mut cursor.portal));
        for portal in all.filter(|portal| portal.number >= savepoint) {
            portal.has_failed = true;
            portal.work = Work::Empty;
        }
    }

    /// Forgets the portals and cursors that were made after a savepoint that is gone back to.
    pub(crate) fn forget_portals(&mut self, savepoint: u64) {
        self.portals.retain(|_, portal| portal.number < savepoint);
        self.cursors.retain(|_, cursor| cursor.is_held || cursor.portal.number < savepoint);
    }
}

/// The error for what a failed transaction does not take.
pub(crate) fn in_failed_transaction() -> Error {
    Error::new(
        SqlState::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

fn may_tell(status: Status, columns: Option<&[Column]>) -> Result<()> {
    match status == Status::Failed && columns.is_some() {
        true => Err(in_failed_transaction()),
        false => Ok(()),
    }
}

/// The error for a portal that is done, or was being run when its transaction failed.
pub(crate) fn cannot_run(name: &str) -> Error {
    let message = format!("portal \"{name}\" cannot be run");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

pub(crate) fn no_portal(name: &str) -> Error {
    let message = format!("portal \"{name}\" does not exist");
    Error::new(SqlState::INVALID_CURSOR_NAME, message)
}
