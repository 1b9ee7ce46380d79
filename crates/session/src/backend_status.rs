//! [`BackendStatus`]: the current state of a session, for `pg_stat_activity` and the like.
//!
//! ```text
//!   the session, for each statement          others, whenever they look
//!   state, times, wait   ── atomic stores ──>  a row of pg_stat_activity
//!   text of the statement ── a mutex, where it is another than the last ──>
//!   waits for locks                       <── asked of the tables of locks, not told
//! ```
//!
//! A statement pays a few relaxed stores. Each is true by itself: a reader may see the state of a
//! statement with the start of the one before, for as long as the session takes between two stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use sql::parse::ast::{Command, Define, Statement};
use store::Csn;
use types::time::TimestampTz;

use crate::counters::Event;
use crate::instance::now;
use crate::peer::Peer;
use crate::progress::Progress;
use crate::query::tag_of;
use crate::session::Session;
use crate::settings::LoggedKinds;
use crate::statement::Parsed;
use crate::transaction::Status;

/// The event that a session waits for, other than locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WaitEvent {
    /// It does not wait.
    None,
    /// For the client to send something.
    ClientRead,
    /// For the client to take something.
    ClientWrite,
    /// For a commit to be durable.
    WalSync,
    /// For a time to pass that the statement has named.
    PgSleep,
}

impl WaitEvent {
    const ALL: [WaitEvent; 5] = [
        WaitEvent::None,
        WaitEvent::ClientRead,
        WaitEvent::ClientWrite,
        WaitEvent::WalSync,
        WaitEvent::PgSleep,
    ];

    /// Its type and its name, as `pg_wait_events` has them; `None` if nothing is waited for.
    pub(crate) fn names(self) -> Option<(&'static str, &'static str)> {
        match self {
            WaitEvent::None => None,
            WaitEvent::ClientRead => Some(("Client", "ClientRead")),
            WaitEvent::ClientWrite => Some(("Client", "ClientWrite")),
            WaitEvent::WalSync => Some(("IO", "WalSync")),
            WaitEvent::PgSleep => Some(("Timeout", "PgSleep")),
        }
    }
}

/// The events that sessions of this server wait for: type, name and description, as in PostgreSQL.
pub(crate) const WAIT_EVENTS: [(&str, &str, &str); 7] = [
    ("Client", "ClientRead", "Waiting to read data from the client"),
    ("Client", "ClientWrite", "Waiting to write data to the client"),
    ("IO", "WalSync", "Waiting for a WAL file to reach durable storage"),
    ("Lock", "advisory", "Waiting to acquire an advisory user lock"),
    ("Lock", "relation", "Waiting to acquire a lock on a relation"),
    ("Lock", "transactionid", "Waiting for a transaction to finish"),
    ("Timeout", "PgSleep", "Waiting due to a call to pg_sleep or a sibling function"),
];

/// Whether a session runs a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum BackendState {
    /// It has not begun.
    Starting,
    Active,
    Idle,
    InTransaction,
    Failed,
}

impl BackendState {
    const ALL: [BackendState; 5] = [
        BackendState::Starting,
        BackendState::Active,
        BackendState::Idle,
        BackendState::InTransaction,
        BackendState::Failed,
    ];

    /// As `pg_stat_activity` names it; `None` for a session that has not begun.
    pub fn name(self) -> Option<&'static str> {
        match self {
            BackendState::Starting => None,
            BackendState::Active => Some("active"),
            BackendState::Idle => Some("idle"),
            BackendState::InTransaction => Some("idle in transaction"),
            BackendState::Failed => Some("idle in transaction (aborted)"),
        }
    }
}

impl From<Status> for BackendState {
    fn from(status: Status) -> BackendState {
        match status {
            Status::Idle => BackendState::Idle,
            Status::InTransaction => BackendState::InTransaction,
            Status::Failed => BackendState::Failed,
        }
    }
}

/// The facts that change seldom.
#[derive(Clone, Default)]
pub(crate) struct About {
    pub application: String,
    pub peer: Peer,
    /// The text of the statement that runs, or ran last.
    pub query: Arc<str>,
}

/// The current state of a session.
pub(crate) struct BackendStatus {
    about: Mutex<About>,
    /// When the session began, as SQL counts time; 0 before.
    started: AtomicI64,
    query_started: AtomicI64,
    state_changed: AtomicI64,
    /// 0 outside of transactions.
    transaction_started: AtomicI64,
    state: AtomicU8,
    wait: AtomicU8,
    /// The transaction that writes, by the number of the engine; 0 where none has written.
    writes: AtomicU64,
    /// The newest commit that the open transaction sees, and 1; 0 where there is none.
    sees: AtomicU64,
    /// How far a long command has come.
    pub progress: Progress,
}

impl Default for BackendStatus {
    fn default() -> BackendStatus {
        BackendStatus {
            about: Mutex::default(),
            started: AtomicI64::new(0),
            query_started: AtomicI64::new(0),
            state_changed: AtomicI64::new(0),
            transaction_started: AtomicI64::new(0),
            state: AtomicU8::new(BackendState::Starting as u8),
            wait: AtomicU8::new(WaitEvent::None as u8),
            writes: AtomicU64::new(0),
            sees: AtomicU64::new(0),
            progress: Progress::default(),
        }
    }
}

/// From which word of `log_statement` on a statement is logged.
fn kind_of(parsed: &Parsed) -> LoggedKinds {
    match parsed.statement.as_deref() {
        Some(Statement::Define(define)) => match **define {
            Define::Truncate { .. } => LoggedKinds::Changes,
            _ => LoggedKinds::Definitions,
        },
        Some(Statement::CreateView(_)) => LoggedKinds::Definitions,
        Some(Statement::Command(command)) => match &**command {
            Command::AlterSystem { .. } => LoggedKinds::Definitions,
            Command::Copy(copy) if copy.from => LoggedKinds::Changes,
            Command::Prepare { .. } | Command::Execute { .. } | Command::Do { .. } => {
                LoggedKinds::Changes
            }
            _ => LoggedKinds::All,
        },
        Some(Statement::DeleteHistory { .. }) => LoggedKinds::Changes,
        Some(statement) => match tag_of(statement) {
            Some((_, true)) => LoggedKinds::Changes,
            _ => LoggedKinds::All,
        },
        None => LoggedKinds::All,
    }
}

/// A time that may not have come.
fn time(us: &AtomicI64) -> Option<TimestampTz> {
    let us = us.load(Relaxed);
    (us != 0).then_some(TimestampTz(us))
}

impl BackendStatus {
    // --- what the session tells ------------------------------------------------------------------

    /// The session has begun, and waits for its client.
    pub fn start(&self, about: About, now: TimestampTz) {
        *self.about.lock() = about;
        self.started.store(now.0, Relaxed);
        self.rest(BackendState::Idle, now);
    }

    /// A statement begins. `shown` is the text that others see: nothing is locked where it is that of
    /// the statement already. Returns for how many microseconds the session was idle in a transaction.
    pub fn begin_statement(&self, parsed: &Parsed, shown: &mut Arc<str>, now: TimestampTz) -> u64 {
        if !Arc::ptr_eq(&parsed.source, shown) {
            *shown = Arc::clone(&parsed.source);
            self.about.lock().query = Arc::clone(shown);
        }
        self.query_started.store(now.0, Relaxed);
        self.progress.end();
        // Only the session itself stores them.
        let (before, since) = (self.state(), self.state_changed.load(Relaxed));
        if before == BackendState::Active {
            return 0;
        }
        self.state.store(BackendState::Active as u8, Relaxed);
        self.state_changed.store(now.0, Relaxed);
        match before {
            BackendState::InTransaction | BackendState::Failed => now.0.abs_diff(since),
            _ => 0,
        }
    }

    /// The session waits for its client. Returns for how many microseconds it was active.
    pub fn rest(&self, state: BackendState, now: TimestampTz) -> u64 {
        self.progress.end();
        let (before, since) = (self.state(), self.state_changed.load(Relaxed));
        self.state.store(state as u8, Relaxed);
        self.state_changed.store(now.0, Relaxed);
        if before == BackendState::Active { now.0.abs_diff(since) } else { 0 }
    }

    /// A transaction begins.
    pub fn begin_transaction(&self, now: TimestampTz) {
        self.transaction_started.store(now.0, Relaxed);
    }

    /// The transaction has ended.
    pub fn end_transaction(&self) {
        self.transaction_started.store(0, Relaxed);
        self.set_writes(0);
        self.sees.store(0, Relaxed);
    }

    /// The transaction with this number writes; 0 for none.
    pub fn set_writes(&self, transaction: u64) {
        self.writes.store(transaction, Relaxed);
    }

    /// The newest commit that the transaction sees.
    pub fn set_sees(&self, csn: Csn) {
        self.sees.store(csn.0 + 1, Relaxed);
    }

    /// Sets the event that it waits for.
    pub fn set_wait(&self, wait: WaitEvent) {
        self.wait.store(wait as u8, Relaxed);
    }

    /// Changes its `application_name`.
    pub fn set_application(&self, name: &str) {
        name.clone_into(&mut self.about.lock().application);
    }

    // --- what others see -------------------------------------------------------------------------

    /// Returns what changes seldom.
    pub fn about(&self) -> About {
        self.about.lock().clone()
    }

    /// Whether it runs a statement.
    pub fn state(&self) -> BackendState {
        BackendState::ALL[usize::from(self.state.load(Relaxed))]
    }

    /// The event that it waits for; locks are known elsewhere.
    pub fn wait(&self) -> WaitEvent {
        WaitEvent::ALL[usize::from(self.wait.load(Relaxed))]
    }

    /// When the session began.
    pub fn started(&self) -> Option<TimestampTz> {
        time(&self.started)
    }

    /// When the statement began.
    pub fn query_started(&self) -> Option<TimestampTz> {
        time(&self.query_started)
    }

    /// When [`BackendStatus::state`] changed.
    pub fn state_changed(&self) -> Option<TimestampTz> {
        time(&self.state_changed)
    }

    /// When the open transaction began.
    pub fn transaction_started(&self) -> Option<TimestampTz> {
        time(&self.transaction_started)
    }

    /// The transaction that has written, or is about to.
    pub fn writes(&self) -> Option<txn::TxnId> {
        let number = self.writes.load(Relaxed);
        (number > 0).then_some(txn::TxnId(number))
    }

    /// The newest commit that the open transaction sees.
    pub fn sees(&self) -> Option<Csn> {
        self.sees.load(Relaxed).checked_sub(1).map(Csn)
    }
}

impl Session {
    /// How many milliseconds a statement takes at least that is to be logged; `None` if none is.
    pub fn logged_from_ms(&self) -> Option<u64> {
        u64::try_from(self.client.settings.borrow().logged().min_duration_ms).ok()
    }

    /// The value of a setting that is on or off.
    pub fn is_set(&self, setting: &str) -> bool {
        self.client.settings.borrow().bool(setting)
    }

    /// The text of a portal that is to be logged when it is run.
    pub fn logged_portal(&self, name: &str) -> Option<String> {
        let portal = self.portals.get(name)?;
        self.is_logged(&portal.parsed).then(|| portal.parsed.text().to_owned())
    }

    /// True if a statement is to be logged when it begins.
    pub fn is_logged(&self, parsed: &Parsed) -> bool {
        let kinds = self.client.settings.borrow().logged().kinds;
        kinds != LoggedKinds::None && kind_of(parsed) <= kinds
    }

    /// Where it is, now that it waits for its client; other sessions see it too.
    pub fn rest(&mut self) -> Status {
        let status = self.status();
        let active_us = self.client.slot.status.rest(status.into(), now(&self.client.instance.env));
        self.client.count(Event::ActiveUs, active_us);
        status
    }

    /// Shows other sessions what this one waits for, except for locks.
    pub fn set_wait(&self, wait: WaitEvent) {
        self.client.slot.status.set_wait(wait);
    }
}
