//! The simple protocol: a text of any number of statements, run one after the other.
//!
//! ```text
//!   Query "INSERT ...; SELECT ..."
//!     start ─ execute ─ CommandComplete
//!     start ─ RowDescription ─ execute ─ DataRow ... ─ end ─ wait for the disk ─ CommandComplete
//!     ReadyForQuery
//! ```
//!
//! Several statements in one message are one transaction, unless they say otherwise themselves.

use std::time::Instant;
use std::vec;

use session::{Done, Error, Parsed, Portal, Tag};

use super::copy::{CopyIn, Source};
use super::{Conversation, Doing, Flow, HEAVY, Step};
use crate::wire::backend;

/// The state of a running `Query` message.
pub(super) struct Query {
    rest: vec::IntoIter<Parsed>,
    /// True if it has one statement only.
    is_alone: bool,
    running: Option<Running>,
    /// The tag to send once the commit is durable.
    held: Option<Tag>,
    /// True once the transaction of the message has been ended.
    is_ended: bool,
}

/// A statement of it.
struct Running {
    portal: Portal,
    start: Instant,
    /// True if the data of `COPY ... TO STDOUT` has been announced.
    is_copying: bool,
    /// True if the columns have been told, or there are none.
    is_described: bool,
}

impl Conversation {
    pub(super) fn query(&mut self, text: &str) -> Step {
        // A Query closes the unnamed statement and portal, as in PostgreSQL.
        self.session.close_statement("");
        self.session.close_portal("");
        match self.session.read(text) {
            Ok(statements) => {
                if statements.is_empty() {
                    // It ends the transaction of extended queries before it, as any Query does.
                    backend::bare(&mut self.out, b'I');
                }
                self.doing = Doing::Query(Query {
                    is_alone: statements.len() == 1,
                    rest: statements.into_iter(),
                    running: None,
                    held: None,
                    is_ended: false,
                });
                self.go_on(false)
            }
            Err(error) => self.fail_query(error),
        }
    }

    pub(super) fn fail_query(&mut self, error: Error) -> Step {
        let step = self.fail(error, false);
        if let Step::Next = step {
            self.ready();
        }
        step
    }

    pub(super) fn go_on_query(&mut self, mut query: Query) -> Step {
        loop {
            if let Some(tag) = query.held.take() {
                backend::complete(&mut self.out, &tag);
            }
            if query.is_ended {
                self.ready();
                return Step::Next;
            }
            match self.run_query(&mut query) {
                Ok(Flow::Done) => {}
                Ok(Flow::Wait(step)) => {
                    self.doing = Doing::Query(query);
                    return step;
                }
                Ok(Flow::CopyIn(charset)) => {
                    let source = Source::Query(Box::new(query));
                    self.doing = Doing::Copy(CopyIn::new(source, charset));
                    return Step::Next;
                }
                Err(error) => return self.fail_query(error),
            }
        }
    }

    /// Continues the running statement, or begins the next.
    fn run_query(&mut self, query: &mut Query) -> Result<Flow, Error> {
        let mut running = match query.running.take() {
            Some(running) => running,
            None => {
                let Some(parsed) = query.rest.next() else {
                    return self.end_query(query);
                };
                let start = self.begin_statement();
                if self.session.is_logged(&parsed) {
                    self.log_statement(parsed.text());
                }
                let portal = self.session.start(parsed, query.is_alone)?;
                self.listen();
                let is_described = portal.columns().is_none();
                Running { portal, start, is_copying: false, is_described }
            }
        };
        if self.must_block && self.is_inline {
            query.running = Some(running);
            return Ok(Flow::Wait(Step::Block));
        }
        self.formats.clear();
        self.formats.extend_from_slice(running.portal.formats());
        let start = self.out.len();
        let was_described = running.is_described;
        if !was_described && let Some(columns) = running.portal.columns() {
            let charset = self.session.charset();
            backend::columns(&mut self.out, charset, columns, running.portal.formats());
        }
        let (session, mut rows) = self.rows();
        let done = session.execute(&mut running.portal, 0, &mut rows);
        let (count, done) = rows.outcome(done);
        self.count_rows(&done, count, start);
        running.is_described = !matches!(done, Ok(Done::Blocked)) || was_described;
        if done.is_err() && !was_described && count == 0 && running.portal.is_untold() {
            self.out.truncate(start);
        }
        self.listen();
        match done? {
            Done::Complete(tag) => {
                if running.is_copying {
                    backend::bare(&mut self.out, b'c');
                }
                query.running = Some(running);
                self.finish_statement(query, tag)
            }
            Done::Empty => {
                backend::bare(&mut self.out, b'I');
                self.end_statement(running.start, |_| running.portal.text().to_owned());
                match query.rest.len() {
                    0 => self.end_query(query),
                    _ => Ok(Flow::Done),
                }
            }
            Done::More | Done::Suspended => {
                // A statement that runs for long blocks no other session from here on.
                self.must_block = running.start.elapsed() > HEAVY;
                query.running = Some(running);
                Ok(Flow::Wait(Step::Send))
            }
            Done::CopyOut(format) => {
                backend::copy(&mut self.out, b'H', format);
                running.is_copying = true;
                self.copied = format.charset;
                self.must_block = true;
                query.running = Some(running);
                Ok(Flow::Wait(Step::Block))
            }
            Done::CopyIn(format) => {
                backend::copy(&mut self.out, b'G', format);
                self.due = self.out.len();
                query.running = Some(running);
                Ok(Flow::CopyIn(format.charset))
            }
            Done::Blocked => {
                self.must_block = true;
                query.running = Some(running);
                Ok(Flow::Wait(Step::Block))
            }
        }
    }

    /// The running statement is done: the last one ends the transaction of the message first.
    pub(super) fn finish_statement(&mut self, query: &mut Query, tag: Tag) -> Result<Flow, Error> {
        // The portal goes first: what it holds on to would keep the transaction from ending.
        if let Some(Running { portal, start, .. }) = query.running.take() {
            self.end_statement(start, |_| portal.text().to_owned());
        }
        query.held = Some(tag);
        match query.rest.len() {
            0 => self.end_query(query),
            _ => Ok(self.session.take_commit().into()),
        }
    }

    fn end_query(&mut self, query: &mut Query) -> Result<Flow, Error> {
        query.is_ended = true;
        self.session.end()?;
        self.listen();
        Ok(self.session.take_commit().into())
    }
}
