//! The extended protocol: statements that are prepared, bound to values and run, in messages of
//! their own, as many at a time as the client likes.
//!
//! ```text
//!   Parse  Bind  Describe  Execute   Parse  Bind  Execute   Sync
//!     1     2     T D D s C            1     2     D C        Z
//!                          └ an error here: E, and nothing more until Sync ─────┘
//! ```

use std::time::Instant;

use session::{Done, Error, Params, Tag};

use super::copy::{CopyIn, Source};
use super::{Conversation, Doing, Flow, HEAVY, Step};
use crate::wire::{Bind, Target, backend};

/// The state of a running `Execute` message.
pub(super) struct Execute {
    /// The name of the portal.
    portal: String,
    /// Most rows that may still be given; 0 where there is no limit.
    rows_max: u64,
    start: Instant,
    /// True if the data of `COPY ... TO STDOUT` has been announced.
    is_copying: bool,
    /// The tag to send once the commit is durable.
    held: Option<Tag>,
}

impl Conversation {
    pub(super) fn bind(&mut self, bind: Bind<'_>) -> Step {
        let params = Params { formats: &bind.formats, values: &bind.values };
        let outcome = self.session.bind(bind.portal, bind.statement, &params, &bind.result_formats);
        self.answer(outcome, |out| backend::bare(out, b'2'))
    }

    pub(super) fn describe(&mut self, target: Target<'_>) -> Step {
        let charset = self.session.charset();
        let outcome = match target {
            Target::Statement(name) => self.session.describe_statement(name).map(|described| {
                backend::parameters(&mut self.out, described.params);
                match described.columns {
                    Some(columns) => backend::columns(&mut self.out, charset, columns, &[]),
                    None => backend::bare(&mut self.out, b'n'),
                }
            }),
            Target::Portal(name) => {
                self.session.describe_portal(name).map(|described| match described {
                    Some((columns, formats)) => {
                        backend::columns(&mut self.out, charset, columns, formats);
                    }
                    None => backend::bare(&mut self.out, b'n'),
                })
            }
        };
        self.answer(outcome, |_| {})
    }

    pub(super) fn close(&mut self, target: Target<'_>) -> Step {
        match target {
            Target::Statement(name) => self.session.close_statement(name),
            Target::Portal(name) => self.session.close_portal(name),
        }
        self.answer(Ok(()), |out| backend::bare(out, b'3'))
    }

    pub(super) fn execute(&mut self, portal: &str, rows_max: u64) -> Step {
        let start = self.begin_statement();
        if let Some(statement) = self.session.logged_portal(portal) {
            self.log_statement(&statement);
        }
        self.doing = Doing::Execute(Execute {
            portal: portal.to_owned(),
            rows_max,
            start,
            is_copying: false,
            held: None,
        });
        self.go_on(false)
    }

    pub(super) fn go_on_execute(&mut self, mut execute: Execute) -> Step {
        if let Some(tag) = execute.held.take() {
            backend::complete(&mut self.out, &tag);
            return Step::Next;
        }
        match self.run_execute(&mut execute) {
            Ok(Flow::Done) => Step::Next,
            Ok(Flow::Wait(step)) => {
                self.doing = Doing::Execute(execute);
                step
            }
            Ok(Flow::CopyIn(charset)) => {
                self.doing = Doing::Copy(CopyIn::new(Source::Execute(execute), charset));
                Step::Next
            }
            Err(error) => self.fail(error, true),
        }
    }

    fn run_execute(&mut self, execute: &mut Execute) -> Result<Flow, Error> {
        if self.must_block && self.is_inline {
            return Ok(Flow::Wait(Step::Block));
        }
        self.formats.clear();
        self.formats.extend_from_slice(self.session.portal(&execute.portal)?.formats());
        let start = self.out.len();
        let (session, mut rows) = self.rows();
        let done = session.execute_named(&execute.portal, execute.rows_max, &mut rows);
        let (count, done) = rows.outcome(done);
        self.count_rows(&done, count, start);
        self.listen();
        match done? {
            Done::Complete(tag) => {
                if execute.is_copying {
                    backend::bare(&mut self.out, b'c');
                }
                Ok(self.finish_execute(execute, tag))
            }
            Done::Empty => {
                backend::bare(&mut self.out, b'I');
                self.end_statement(execute.start, |_| String::new());
                Ok(Flow::Done)
            }
            Done::Suspended => {
                backend::bare(&mut self.out, b's');
                self.end_execute(execute);
                Ok(Flow::Done)
            }
            Done::More => {
                if execute.rows_max > 0 && execute.rows_max == count {
                    // The last row that was asked for filled the buffer.
                    backend::bare(&mut self.out, b's');
                    self.end_execute(execute);
                    return Ok(Flow::Done);
                }
                execute.rows_max = execute.rows_max.saturating_sub(count);
                // A statement that runs for long blocks no other session from here on.
                self.must_block = execute.start.elapsed() > HEAVY;
                Ok(Flow::Wait(Step::Send))
            }
            Done::CopyOut(format) => {
                backend::copy(&mut self.out, b'H', format);
                execute.is_copying = true;
                self.copied = format.charset;
                self.must_block = true;
                Ok(Flow::Wait(Step::Block))
            }
            Done::CopyIn(format) => {
                backend::copy(&mut self.out, b'G', format);
                self.due = self.out.len();
                Ok(Flow::CopyIn(format.charset))
            }
            Done::Blocked => {
                self.must_block = true;
                Ok(Flow::Wait(Step::Block))
            }
        }
    }

    /// A portal has run to its end; where that was a commit, it is waited for.
    pub(super) fn finish_execute(&mut self, execute: &mut Execute, tag: Tag) -> Flow {
        self.end_execute(execute);
        match self.session.take_commit() {
            Some(ordered) => {
                execute.held = Some(tag);
                Flow::Wait(Step::Commit(Box::new(ordered)))
            }
            None => {
                backend::complete(&mut self.out, &tag);
                Flow::Done
            }
        }
    }

    fn end_execute(&mut self, execute: &Execute) {
        self.end_statement(execute.start, |session| {
            session
                .portal(&execute.portal)
                .map_or_else(|_| String::new(), |portal| portal.text().to_owned())
        });
    }

    pub(super) fn sync(&mut self) -> Step {
        if let Err(error) = self.session.end() {
            self.fail(error, false);
        }
        self.listen();
        match self.session.take_commit() {
            Some(ordered) => {
                self.doing = Doing::Sync;
                Step::Commit(Box::new(ordered))
            }
            None => self.go_on_sync(),
        }
    }

    pub(super) fn go_on_sync(&mut self) -> Step {
        self.ready();
        Step::Next
    }
}
