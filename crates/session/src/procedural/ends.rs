//! Handlers of errors, and the end of the transaction.
//!
//! ```text
//!   BEGIN             mark of the transaction
//!     INSERT ...      ── error ──> back to the mark ──> WHEN ... its statements
//!   EXCEPTION ...     ── no error ──> the mark is forgotten
//! ```

use sql::parse::plpgsql::{Condition, Handlers, Line};
use types::{Datum, Modifier, SqlState, Type};

use super::steps::Flow;
use super::values::Slot;
use super::{Failure, Runner, Tried};
use crate::error::{Error, Severity};
use crate::transaction::Named;

impl<'r> Runner<'r> {
    /// The statements of a block that handles errors.
    pub(super) fn guarded(&mut self, body: &'r [Line], handlers: &'r Handlers) -> Tried<Flow<'r>> {
        self.session.look()?;
        let mark = self.session.mark();
        let open = self.session.open();
        let depth = open.savepoints.len();
        let modes = open.modes;
        // A name that no statement can say.
        open.savepoints.push(Named { name: String::new(), mark: mark.clone(), modes });
        self.savepoints += 1;
        let ran = self.lines(body);
        self.savepoints -= 1;
        let open = self.session.open();
        open.savepoints.truncate(depth);
        let failure = match ran {
            Ok(flow) => {
                if let Some(inner) = &mut open.inner {
                    inner.release(mark.writes).map_err(Error::from)?;
                }
                return Ok(flow);
            }
            Err(failure) => failure,
        };
        let arm = handlers.arms.iter().find(|(conditions, _)| {
            conditions.iter().any(|condition| is_met(condition, &failure.error))
        });
        let Some((_, lines)) = arm else { return Err(failure) };
        open.failed = false;
        open.modes = modes;
        open.go_back(&mark);
        let client = &mut self.session.client;
        client.settings.get_mut().undo_to(mark.settings);
        client.notes.get_mut().truncate(mark.notes);
        client.unlock_transaction(mark.locks);
        self.session.forget_portals(mark.portals);
        if failure.error.state() == SqlState::QUERY_CANCELED {
            // It was told to stop, and goes on.
            self.session.client.slot.begin();
        }
        let Failure { error, .. } = failure;
        let text = |text: &str| Slot::Scalar(Type::TEXT, Modifier::NONE, Datum::text(text));
        self.values.slots[handlers.state] = text(error.state().code());
        self.values.slots[handlers.message] = text(error.message());
        self.handled.push(error);
        let ran = self.lines(lines);
        self.handled.pop();
        ran
    }

    /// `COMMIT` or `ROLLBACK`
    pub(super) fn end_transaction(&mut self, commits: bool, chain: bool) -> Tried<()> {
        let refuse = |message: &str| {
            Err(Error::new(SqlState::INVALID_TRANSACTION_TERMINATION, message).into())
        };
        if !self.may_commit {
            return refuse("invalid transaction termination");
        }
        if self.savepoints > 0 {
            let what = if commits { "commit" } else { "roll back" };
            return refuse(&format!("cannot {what} while a subtransaction is active"));
        }
        let modes = self.session.open().modes;
        if commits {
            let committed = self.session.commit();
            if committed.is_err() {
                self.session.rollback();
            }
            committed?;
        } else {
            self.session.rollback();
        }
        self.session.begin_again(chain.then_some(modes));
        self.session.look()?;
        Ok(())
    }
}

/// True if an error meets a condition. A cancellation is met by its own name alone.
fn is_met(condition: &Condition, error: &Error) -> bool {
    if error.severity > Severity::Error {
        return false;
    }
    let state = error.state();
    match condition {
        Condition::Others => !matches!(state, SqlState::QUERY_CANCELED | SqlState::ASSERT_FAILURE),
        Condition::State(wanted) => {
            *wanted == state || wanted.code().ends_with("000") && wanted.class() == state.class()
        }
    }
}
