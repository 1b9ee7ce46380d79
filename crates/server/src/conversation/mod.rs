//! A conversation with one client: the protocol without sockets.
//!
//! ```text
//!   message ──take──> Step      Next     handled; ready for the next message
//!                               Send     the buffer is full: send it, then go on
//!                               Commit   wait until this is durable, then go on
//!                               Block    go on, on a thread that may wait
//!                               Close    send the answers, and close the connection
//!                       ^                  │
//!                       └──── go_on ───────┘
//!
//!   Q  ──> read ──> start ─ execute ─ end of the transaction ─ CommandComplete ──> ReadyForQuery
//!   P B D E S ──> parse, bind, describe, execute, end ──> an answer each, ReadyForQuery
//! ```
//!
//! Answers are appended to a buffer; [`Conversation::due`] says how much of it PostgreSQL would
//! have sent. A conversation can move to another thread between any two steps.
//!
//! # Invariants
//! * After an error in the extended protocol all messages are skipped until `Sync`, which is answered with
//!   one `ReadyForQuery`. Each `Query` is answered with exactly one `ReadyForQuery`, even after an error.
//! * The tag of the last statement of a `Query` follows its commit: a commit that fails is an error
//!   of that statement.

mod copy;
mod extended;
mod output;
mod simple;

use std::sync::Arc;
use std::time::{Duration, Instant};

use charset::Charset;
use session::{Done, Error, Format, Messages, Session, Severity, Status};
use txn::Ordered;
use types::{Causes, SqlState};

use crate::commit_waiter::Outcome;
use crate::metrics::{Counters, add};
use crate::wire::backend::Forms;
use crate::wire::{Message, backend, encoding, violation};
use copy::CopyIn;
use extended::Execute;
use output::Rows;
use simple::Query;

/// Answers are sent when they have at least so many bytes.
pub(crate) const OUT_BYTES_MAX: usize = 64 << 10;

/// The same for a statement on a thread that may wait: a change of threads costs as much as 10 KB of rows.
const OUT_BYTES_MOVED: usize = 4 * OUT_BYTES_MAX;

/// A statement that ran for longer than this held up the other sessions of its core. The next statements of the
/// session run on another thread, until so many in a row were [`QUICK`].
const HEAVY: Duration = Duration::from_millis(5);
const QUICK: Duration = Duration::from_millis(1);
const QUICK_IN_A_ROW: u32 = 16;

/// The step to take before a conversation goes on.
pub(crate) enum Step {
    /// Nothing: the message is handled.
    Next,
    /// Send the answers so far, then [`Conversation::go_on`].
    Send,
    /// Wait for the commit, then [`Conversation::committed`].
    Commit(Box<Ordered>),
    /// [`Conversation::go_on`] on a thread that may wait.
    Block,
    /// Send the answers so far and close the connection.
    Close,
}

/// The progress of a statement.
enum Flow {
    /// To its end.
    Done,
    /// To where something has to be done first.
    Wait(Step),
    /// To where the client sends data, in this encoding.
    CopyIn(Charset),
}

impl From<Option<Ordered>> for Flow {
    fn from(commit: Option<Ordered>) -> Self {
        commit.map_or(Flow::Done, |ordered| Flow::Wait(Step::Commit(Box::new(ordered))))
    }
}

/// The conversation between one client and its session.
pub(crate) struct Conversation {
    session: Session,
    /// The bytes to send.
    pub(crate) out: Vec<u8>,
    /// How many bytes of `out` must be sent before the next wait: the answers that the client has asked for by
    /// `Sync` or `Flush`, and messages that must be sent at once.
    pub(crate) due: usize,
    /// True if the last message was ReadyForQuery.
    is_ready: bool,
    doing: Doing,
    /// True after an error in the extended protocol, until `Sync`.
    is_skipping: bool,
    /// True if the statement can go on only on a thread that may wait.
    must_block: bool,
    /// The value that [`Session::set_inline`] has got last.
    is_inline: bool,
    /// How many quick statements there must be until one runs on the core again.
    heavy: u32,
    counters: Arc<Counters>,
    /// For values as text, and for the formats of a result: kept, so that they need not be allocated.
    scratch: String,
    formats: Vec<Format>,
    /// The encoding of the data of the current `COPY ... TO STDOUT`.
    copied: Charset,
}

/// The current message.
enum Doing {
    /// Waiting for a message.
    Nothing,
    /// A message of the simple protocol.
    Query(Query),
    /// A portal.
    Execute(Execute),
    /// The end of a series of the extended protocol.
    Sync,
    /// Data of `COPY ... FROM STDIN` is taken.
    Copy(CopyIn),
}

impl Conversation {
    /// A conversation for a session that has just begun; it opens with the first messages to the
    /// client.
    pub(crate) fn begin(mut session: Session, mut out: Vec<u8>, counters: Arc<Counters>) -> Self {
        session.set_inline(true);
        let charset = session.charset();
        for (name, value) in session.settings_reported() {
            backend::parameter(&mut out, charset, name, &value);
        }
        backend::key_data(&mut out, session.process_id(), session.secret());
        let mut conversation = Self {
            session,
            out,
            due: 0,
            is_ready: false,
            doing: Doing::Nothing,
            is_skipping: false,
            must_block: false,
            is_inline: true,
            heavy: 0,
            counters,
            scratch: String::new(),
            formats: Vec::new(),
            copied: Charset::UTF8,
        };
        conversation.listen();
        conversation.ready();
        conversation
    }

    /// The session.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// True if all messages are answered, and no series of messages waits for its `Sync`.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.doing, Doing::Nothing) && self.is_ready
    }

    /// Handles a message.
    pub(crate) fn take(&mut self, kind: u8, body: &[u8]) -> Step {
        self.is_ready = false;
        if let Doing::Copy(_) = self.doing {
            return self.take_copy(kind, body);
        }
        if self.is_skipping && !matches!(kind, b'S' | b'X') {
            return Step::Next;
        }
        let body = match encoding::decoded(kind, body, self.session.charset()) {
            Ok(body) => body,
            Err(error) => return self.refuse(kind, error),
        };
        let message = match Message::read(kind, &body) {
            Ok(message) => message,
            Err(error) => return self.refuse(kind, error),
        };
        match message {
            Message::Query(text) => self.query(text),
            Message::Parse { name, text, types } => {
                let outcome = self.session.parse(name, text, &types);
                self.answer(outcome, |out| backend::bare(out, b'1'))
            }
            Message::Bind(bind) => self.bind(bind),
            Message::Describe(target) => self.describe(target),
            Message::Execute { portal, rows_max } => self.execute(portal, rows_max),
            Message::Close(target) => self.close(target),
            Message::Flush => {
                self.due = self.out.len();
                Step::Next
            }
            Message::Sync => {
                self.is_skipping = false;
                self.sync()
            }
            Message::FunctionCall => {
                let error = Error::not_supported("a call of a function by message");
                self.refuse(kind, error.hint("Use SELECT function(...)."))
            }
            // Left over of a COPY that failed meanwhile.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Step::Next,
            Message::Password => {
                self.hang_up(violation(format!("invalid frontend message type {kind}")))
            }
            Message::Terminate => Step::Close,
        }
    }

    /// True if the next step is for a thread that may wait.
    pub(crate) fn must_block(&self) -> bool {
        self.must_block
    }

    /// True while the client sends the data of a COPY.
    pub(crate) fn takes_data(&self) -> bool {
        matches!(self.doing, Doing::Copy(_))
    }

    /// Continues the current message. `may_block` says whether this thread may wait.
    pub(crate) fn go_on(&mut self, may_block: bool) -> Step {
        if self.must_block && !may_block {
            return Step::Block;
        }
        if self.is_inline == may_block {
            self.is_inline = !may_block;
            self.session.set_inline(self.is_inline);
        }
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing => Step::Next,
            Doing::Query(query) => self.go_on_query(query),
            Doing::Execute(execute) => self.go_on_execute(execute),
            Doing::Sync => self.go_on_sync(),
            Doing::Copy(copy) => self.go_on_copy(copy),
        }
    }

    /// Tries the statement that has met a lock again, on this thread.
    pub(crate) fn go_on_here(&mut self) -> Step {
        self.must_block = false;
        self.go_on(false)
    }

    /// Goes on after the commit that [`Step::Commit`] asked to wait for.
    pub(crate) fn committed(&mut self, outcome: Outcome) -> Step {
        match outcome.map_err(Error::from) {
            Ok(_) => self.go_on(false),
            Err(error) => match std::mem::replace(&mut self.doing, Doing::Nothing) {
                Doing::Execute(_) => self.fail(error, true),
                _ => {
                    self.fail(error, false);
                    self.ready();
                    Step::Next
                }
            },
        }
    }

    /// Runs a step; a failure inside the session ends it, and nothing else.
    pub(crate) fn guarded(&mut self, step: impl FnOnce(&mut Self) -> Step) -> Step {
        let step = std::panic::AssertUnwindSafe(|| step(self));
        std::panic::catch_unwind(step).unwrap_or_else(|_| {
            add(&self.counters.panics_total, 1);
            let message = "the server failed while it ran this statement";
            self.hang_up(
                Error::new(SqlState::INTERNAL_ERROR, message)
                    .detail("The transaction was rolled back. Other sessions go on."),
            )
        })
    }

    /// Ends the conversation with an error.
    pub(crate) fn hang_up(&mut self, error: Error) -> Step {
        self.report(&error.fatal());
        Step::Close
    }

    /// Writes notifications of other sessions, between two messages.
    pub(crate) fn tell(&mut self) {
        self.tell_messages();
        self.due = self.out.len();
    }

    /// Takes the notices of the session, which are sent at once.
    fn listen(&mut self) {
        let notices = self.session.take_notices();
        let charset = self.session.charset();
        for notice in &notices {
            backend::report(&mut self.out, charset, notice);
        }
        if !notices.is_empty() {
            self.due = self.out.len();
        }
    }

    /// Writes the messages that are sent between statements. A setting that was changed and changed back is not
    /// reported.
    fn tell_messages(&mut self) {
        let Messages { notices, settings, notifications } = self.session.take_messages();
        let charset = self.session.charset();
        for notice in &notices {
            backend::report(&mut self.out, charset, notice);
        }
        for notification in &notifications {
            backend::notification(&mut self.out, charset, notification);
        }
        for (name, value) in &settings {
            backend::parameter(&mut self.out, charset, name, value);
        }
    }

    /// Writes ReadyForQuery.
    fn ready(&mut self) {
        self.tell_messages();
        backend::ready(&mut self.out, self.session.rest());
        self.due = self.out.len();
        self.is_ready = true;
    }

    /// Answers a message of the extended protocol.
    fn answer(&mut self, outcome: Result<(), Error>, say: impl FnOnce(&mut Vec<u8>)) -> Step {
        self.listen();
        match outcome {
            Ok(()) => {
                say(&mut self.out);
                Step::Next
            }
            Err(error) => self.fail(error, true),
        }
    }

    /// Answers a message that is malformed, or not accepted.
    fn refuse(&mut self, kind: u8, error: Error) -> Step {
        let is_simple = matches!(kind, b'Q' | b'F' | b'S' | b'd' | b'c' | b'f');
        let step = self.fail(error, !is_simple);
        if is_simple {
            self.ready();
        }
        step
    }

    /// Reports an error, which undoes what the transaction has done.
    fn fail(&mut self, error: Error, skip: bool) -> Step {
        let error = self.session.why_stopped(error);
        self.session.fail();
        self.listen();
        self.is_skipping = skip;
        self.must_block = false;
        self.report(&error);
        match error.severity {
            Severity::Fatal => Step::Close,
            _ => Step::Next,
        }
    }

    fn report(&mut self, error: &Error) {
        add(&self.counters.errors_total, 1);
        let (process, state) = (self.session.process_id(), error.state());
        let state = state.code();
        // A failure of the server is logged with all its causes.
        match state.starts_with("XX") || state.starts_with("58") || state == "53100" {
            true => tracing::error!(process, state, "{}", Causes(error)),
            false => tracing::info!(process, state, "{error}"),
        }
        backend::report(&mut self.out, self.session.charset(), error);
        self.due = self.out.len();
    }

    /// Notes that a statement begins.
    fn begin_statement(&mut self) -> Instant {
        add(&self.counters.statements_total, 1);
        self.must_block = self.heavy > 0;
        Instant::now()
    }

    /// Logs a statement that begins.
    fn log_statement(&self, statement: &str) {
        tracing::info!(process = self.session.process_id(), statement, "statement");
    }

    /// Notes that a statement has ended, or was suspended.
    fn end_statement(&mut self, start: Instant, text: impl FnOnce(&mut Session) -> String) {
        self.must_block = false;
        let took = start.elapsed();
        if took > HEAVY {
            self.heavy = QUICK_IN_A_ROW;
        } else if took < QUICK {
            self.heavy = self.heavy.saturating_sub(1);
        }
        let slow = self.session.logged_from_ms().map(Duration::from_millis);
        if slow.is_some_and(|slow| took >= slow) {
            add(&self.counters.slow_statements_total, 1);
            let process = self.session.process_id();
            let (took_ms, statement) = (took.as_secs_f64() * 1e3, text(&mut self.session));
            tracing::warn!(process, took_ms, statement, "slow statement");
        }
    }

    /// The session, and the output for its rows.
    fn rows(&mut self) -> (&mut Session, Rows<'_>) {
        let rows = Rows {
            out: &mut self.out,
            scratch: &mut self.scratch,
            forms: Forms { formats: &self.formats, charset: self.session.charset() },
            copied: self.copied,
            failed: None,
            count: 0,
            enough: if self.is_inline { OUT_BYTES_MAX } else { OUT_BYTES_MOVED },
        };
        (&mut self.session, rows)
    }

    /// Counts rows that were written from `start` on. The rows of a statement that will run again on a thread that
    /// may wait are removed.
    fn count_rows(&mut self, done: &Result<Done, Error>, rows: u64, start: usize) {
        match done {
            Ok(Done::Blocked) => {
                self.out.truncate(start);
                self.due = self.due.min(start);
            }
            _ => add(&self.counters.rows_total, rows),
        }
    }

    /// True in a transaction block, failed or not.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.session.status() != Status::Idle
    }
}
