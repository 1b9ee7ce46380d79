//! [`Instance`]: the state that the sessions of a database share.
//!
//! ```text
//!   Instance ─┬─ engine      transactions
//!             ├─ roster      the connected sessions: cancelling, deadlines
//!             └─ plans       the plan cache
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use document::Documents;
use object::Storages;
use parking_lot::{Mutex, RwLock};
use store::Csn;
use table::catalog::{Address, Class, POSTGRES_DATABASE, POSTGRES_ROLE, Privileges};
use table::rows::Handles;
use table::sequence::Sequences;
use table::{CatalogCache, Collections, Tables};
use txn::{Engine, EngineOptions, Snapshot, TxnId};
use types::time::TimestampTz;
use types::{Oid, SqlState};
use vfs::Env;

use crate::advisory::Advisory;
use crate::backend_status::BackendStatus;
use crate::client::Client;
use crate::configuration::Configuration;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::expressions::IndexExpressions;
use crate::functions::Backups;
use crate::message::Notification;
use crate::notify::Hub;
use crate::peer::Peer;
use crate::plans::Plans;
use crate::session::Session;
use crate::snapshots::Exported;
use crate::statements::Statements;

/// Microseconds between 1970 and 2000, which PostgreSQL's times count from.
const EPOCH_2000_US: i64 = 946_684_800_000_000;

/// The binary logarithm of how many transactions there may be for each commit. The numbers of transactions begin
/// anew when the database is opened.
const TRANSACTION_BITS: u32 = 20;

/// The cache of newest documents of [`Instance::open_at`], in bytes.
const DOCUMENT_CACHE_BYTES: usize = 64 << 20;

/// The options of an instance.
#[derive(Clone)]
pub struct Options {
    /// Clock and randomness.
    pub env: Env,
    /// Settings for all sessions. They take precedence over those of `ALTER SYSTEM`.
    pub settings: Vec<(String, String)>,
    /// Settings that apply if neither `settings` nor `ALTER SYSTEM` have a value.
    pub defaults: Vec<(String, String)>,
    /// The folder in which `ALTER SYSTEM` keeps its file; `None` if it has none.
    pub folder: Option<PathBuf>,
    /// The most memory that one statement may hold, in bytes; `query_mem_max` can make it less.
    pub memory_bytes_max: usize,
    /// The most memory that all statements may hold together, in bytes; `None` for no limit.
    pub memory_total_bytes: Option<usize>,
    /// The folder for rows that do not fit into `work_mem`. Opening removes its contents. With `None`
    /// statements hold all rows in memory.
    pub temporary: Option<PathBuf>,
}

/// The role that wants to connect, and its settings.
#[derive(Clone, Debug, Default)]
pub struct StartUp {
    /// The role.
    pub user: String,
    /// The database; if it is empty, the one with the name of the role.
    pub database: String,
    /// Settings by name, `application_name` and those of `options` among them.
    pub settings: Vec<(String, String)>,
    /// The address of the client, for views of activity.
    pub peer: Peer,
    /// True for the program that has the database open itself: it does not log in, and its commits record no role.
    pub embedded: bool,
    /// How long the secret of [`Session::secret`] is to be, in bytes: 4 for protocol 3.0.
    pub secret_bytes: usize,
}

/// The facts about a role that a login needs.
#[derive(Clone, Debug)]
pub struct Login {
    /// The name of the role.
    pub user: String,
    /// The verifier for its password: a SCRAM verifier as PostgreSQL writes it. `None` if the
    /// role has no password.
    pub verifier: Option<String>,
    /// True for a role that may do everything.
    pub superuser: bool,
    /// Its OID.
    pub role: Oid,
    /// The OID of the database.
    pub database: Oid,
}

/// The password of a role.
#[derive(Clone, Debug)]
pub struct Password {
    /// A SCRAM verifier as PostgreSQL writes it.
    pub verifier: Arc<str>,
    /// False if it has expired.
    pub is_good: bool,
}

/// The reason why a running statement must stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Stop {
    /// Another session or the client cancelled it.
    Cancelled = 1,
    /// It ran longer than `statement_timeout`.
    Timeout = 2,
    /// The session is to end.
    Terminated = 3,
    /// Its transaction took longer than `transaction_timeout`: the session is to end.
    TransactionTimeout = 4,
}

/// A time limit of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deadline {
    /// The statement that it runs.
    Statement,
    /// Its transaction.
    Transaction,
}

/// The part of a session that other threads can access.
pub(crate) struct Slot {
    pub process: i32,
    pub secret: Vec<u8>,
    /// The role that logged in, and its database.
    pub role: Oid,
    pub database: Oid,
    /// The engine, in which its transactions may wait for locks.
    engine: Arc<Engine>,
    /// The advisory locks, for which its statements may wait.
    advisory: Arc<Advisory>,
    /// The flag that running statements check, and those that wait for a lock.
    pub stop: Arc<AtomicBool>,
    why: AtomicU8,
    /// When the running statement has run for too long, by the monotonic clock; 0 for never.
    deadline_us: AtomicU64,
    /// The same of the transaction.
    transaction_deadline_us: AtomicU64,
    pub wake: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// The number of its newest transaction in the engine, which may have ended.
    pub transaction: AtomicU64,
    /// Its current state, for others to see.
    pub status: BackendStatus,
    /// Notifications that wait for the client.
    pub inbox: Mutex<Vec<Notification>>,
}

impl Slot {
    /// Tells the running statement to stop.
    pub fn stop(&self, why: Stop) {
        self.why.fetch_max(why as u8, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
        self.engine.interrupt(TxnId(self.transaction.load(Ordering::Acquire)));
        self.advisory.wake();
        if let Some(wake) = &*self.wake.lock() {
            wake();
        }
    }

    /// Clears the request to stop before a new statement begins, unless the session is to end.
    pub fn begin(&self) {
        let terminated = Stop::Terminated as u8;
        let is_over = |why| (why < terminated).then_some(0);
        if self.why.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_over).is_ok() {
            self.stop.store(false, Ordering::SeqCst);
            // A call that has ended the session in between may have set its reason before that.
            if self.why.load(Ordering::SeqCst) >= terminated {
                self.stop.store(true, Ordering::SeqCst);
            }
        }
    }

    /// The error of a statement that was told to stop.
    pub fn stopped(&self) -> Option<Error> {
        if !self.stop.load(Ordering::Acquire) {
            return None;
        }
        Some(match self.why.load(Ordering::Relaxed) {
            4 => {
                let message = "terminating connection due to transaction timeout";
                Error::new(SqlState::TRANSACTION_TIMEOUT, message).fatal()
            }
            3 => {
                let message = "terminating connection due to administrator command";
                Error::new(SqlState::ADMIN_SHUTDOWN, message).fatal()
            }
            2 => {
                Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
            }
            _ => Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"),
        })
    }
}

/// A database with its sessions.
pub struct Instance {
    pub(crate) engine: Arc<Engine>,
    pub(crate) env: Env,
    pub(crate) configuration: Configuration,
    pub(crate) started: TimestampTz,
    pub(crate) memory_bytes_max: usize,
    pub(crate) temporary: Option<Arc<exec::TempFolder>>,
    pub(crate) plans: Plans,
    /// The catalogs of all commits.
    pub(crate) catalogs: Arc<CatalogCache>,
    /// The handles of tables.
    pub(crate) handles: Arc<Handles>,
    pub(crate) sequences: Sequences,
    /// The tables of documents, by name.
    pub(crate) collections: Arc<Collections>,
    /// The storages of ZODB's objects.
    pub(crate) objects: Arc<Storages>,
    /// The sessions that listen to each channel.
    pub(crate) hub: Hub,
    pub(crate) advisory: Arc<Advisory>,
    /// The counts since the database was opened.
    pub(crate) counters: Counters,
    /// The costs of statements, where a database has `pg_stat_statements`.
    pub(crate) statements: Statements,
    /// The memory that all statements hold together, and its limit.
    pub(crate) memory_total: Option<Arc<exec::MemoryTotal>>,
    /// Snapshots that transactions have exported.
    pub(crate) exported: Arc<Exported>,
    /// The implementation of `backup`, if the program has set one.
    pub(crate) backups: OnceLock<Box<dyn Backups>>,
    /// The newest commit when the database was opened. The numbers of transactions begin with it.
    opened_at: Csn,
    roster: RwLock<HashMap<i32, Arc<Slot>>>,
    next_process: AtomicI32,
    watch: Watch,
}

/// The time of the next check of the sessions' deadlines.
struct Watch {
    /// The monotonic time of the next check, in microseconds; `u64::MAX` if none is planned.
    next_us: AtomicU64,
    /// Wakes the watchers before the planned time; each server has one.
    wake: RwLock<Vec<Weak<Wake>>>,
}

/// Makes a watcher check the deadlines again: [`Instance::on_deadline`].
pub type Wake = dyn Fn() + Send + Sync;

impl Default for Watch {
    fn default() -> Watch {
        Watch { next_us: AtomicU64::new(u64::MAX), wake: RwLock::default() }
    }
}

/// A statement that was stopped too early, between two of its steps, is stopped again after so many
/// microseconds.
const STOP_AGAIN_US: u64 = 10_000;

impl Instance {
    /// Opens the database in `dir`, or makes it.
    ///
    /// # Errors
    /// Fails if it cannot be opened, or if another process has it open.
    pub fn open_at(dir: &Path, engine: EngineOptions, options: Options) -> Result<Arc<Self>> {
        let tables = Tables::new();
        let resolve = tables.resolver();
        let opened = Engine::open(&options.env, dir, engine, resolve).map_err(|error| {
            let state = SqlState::from_code(error.sqlstate()).unwrap_or(SqlState::INTERNAL_ERROR);
            Error::from(types::Error::from_source(state, error))
        })?;
        let documents = Documents::new(opened, DOCUMENT_CACHE_BYTES, Tables::has_documents);
        Self::open(Arc::new(Collections::open(documents, tables)?), options)
    }

    /// A buffer for bytes of a client: up to `bytes_max` stay in memory, more go to a temporary file.
    pub fn spool(&self, bytes_max: usize) -> exec::ByteSpool {
        exec::ByteSpool::new(self.temporary.as_ref(), bytes_max)
    }

    /// Sets the implementation of the SQL function `backup`. Later calls have no effect.
    pub fn make_backups_by(&self, backups: Box<dyn Backups>) {
        let _ = self.backups.set(backups);
    }

    /// Writes the counts of rows, which makes the next opening faster. The caller calls it before it closes the
    /// database.
    pub fn rest(&self) {
        // Opening computes the counts that were not written.
        let _ = self.handles.save_counts(&self.engine);
    }

    /// Makes the instance of a database. A new database gets its catalog.
    ///
    /// # Errors
    /// Fails if the catalog cannot be written, or the counts of rows cannot be read.
    pub fn open(collections: Arc<Collections>, options: Options) -> Result<Arc<Self>> {
        let objects = Arc::new(Storages::new(Arc::clone(&collections)));
        Self::open_beside(collections, objects, options)
    }

    /// As [`Instance::open`], with the storages of objects that other users of the database in this process share.
    ///
    /// # Errors
    /// As [`Instance::open`].
    pub fn open_beside(
        collections: Arc<Collections>,
        objects: Arc<Storages>,
        options: Options,
    ) -> Result<Arc<Self>> {
        let engine = Arc::clone(collections.engine());
        let started = now(&options.env);
        let catalogs = Arc::clone(collections.catalogs());
        let handles = Arc::clone(collections.handles());
        if !engine.is_follower() {
            catalogs.begin(&engine)?;
        }
        handles.open_counts(&engine, &catalogs)?;
        let temporary = match &options.temporary {
            Some(folder) => {
                Some(exec::TempFolder::open(&options.env.fs, folder).map_err(|error| {
                    let message = format!("could not open \"{}\": {error}", folder.display());
                    let state = types::Error::state_of_io(&error);
                    Error::from(types::Error::new(state, message).with_source(error))
                })?)
            }
            None => None,
        };
        let instance = Arc::new(Instance {
            configuration: Configuration::open(
                &options.env,
                options.folder.as_deref(),
                (options.settings, options.defaults),
                started,
            )?,
            started,
            memory_bytes_max: options.memory_bytes_max,
            temporary,
            plans: Plans::default(),
            hub: Hub::default(),
            advisory: Arc::default(),
            counters: Counters::default(),
            statements: Statements::default(),
            memory_total: options
                .memory_total_bytes
                .map(|most| Arc::new(exec::MemoryTotal::new(most))),
            exported: Arc::default(),
            backups: OnceLock::new(),
            opened_at: engine.visible(),
            sequences: Sequences::new(Arc::clone(&engine), catalogs.tables().clone()),
            collections,
            objects,
            engine,
            catalogs,
            handles,
            roster: RwLock::default(),
            next_process: AtomicI32::new(1),
            watch: Watch::default(),
            env: options.env,
        });
        instance.objects.compute_by(Arc::new(IndexExpressions::of(&instance)));
        // Removes the temporary objects of sessions that did not end. On a follower, sessions of the leader may be
        // running.
        if !instance.engine.is_follower() {
            instance.drop_all_temporary()?;
        }
        Ok(instance)
    }

    /// The facts for a login of `user` to `database`; if `database` is empty, to the one with the name of
    /// the user.
    ///
    /// # Errors
    /// `28000` if the role may not log in, `3D000` if there is no such database.
    pub fn login(&self, user: &str, database: &str) -> Result<Login> {
        if user.is_empty() {
            let message = "no PostgreSQL user name specified in startup packet";
            return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal());
        }
        let catalog = self.catalogs.newest();
        let refuse = |message: String| {
            Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal())
        };
        let Some(role) = catalog.role_named(user) else {
            return refuse(format!("role \"{user}\" does not exist"));
        };
        if !role.may.login {
            return refuse(format!("role \"{user}\" is not permitted to log in"));
        }
        let database = if database.is_empty() { user } else { database };
        let Some(found) = catalog.database_named(database) else {
            let message = format!("database \"{database}\" does not exist");
            return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message).fatal());
        };
        if !found.allows_connections {
            let message = format!("database \"{database}\" is not currently accepting connections");
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(Error::new(state, message).fatal());
        }
        let connects = Privileges::CONNECT;
        let object = Address::of(Class::Database, found.oid);
        if catalog.privileges_on(role.oid, object, connects, found.oid) != connects {
            let message = format!("permission denied for database \"{database}\"");
            let error = Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            return Err(error.detail("User does not have CONNECT privilege.").fatal());
        }
        Ok(Login {
            user: user.to_owned(),
            verifier: role.password.as_deref().map(str::to_owned),
            superuser: role.may.superuser,
            role: role.oid,
            database: found.oid,
        })
    }

    /// The verifier for the password of a role; `None` if it has none, or if there is no such role.
    /// [`Instance::connect`] checks whether the role may log in, after the client has proved the password.
    pub fn password(&self, user: &str) -> Option<Password> {
        let catalog = self.catalogs.newest();
        let role = catalog.role_named(user)?;
        let now = now(&self.env).0;
        Some(Password {
            verifier: Arc::clone(role.password.as_ref()?),
            is_good: role.valid_until_us.is_none_or(|until| now < until),
        })
    }

    /// Begins a session for an authenticated user.
    ///
    /// # Errors
    /// As [`Instance::login`], and those of settings that cannot be set.
    pub fn connect(self: &Arc<Self>, start: StartUp) -> Result<Session> {
        let login = self.login(&start.user, &start.database)?;
        let slot = self.enrol(&start, &login);
        self.admit(&slot, &login).inspect_err(|_| self.leave(&slot))?;
        Session::new(Arc::clone(self), slot, login, start)
    }

    fn enrol(&self, start: &StartUp, login: &Login) -> Arc<Slot> {
        let mut secret = Vec::with_capacity(start.secret_bytes.max(4));
        while secret.len() < start.secret_bytes.max(4) {
            secret.extend(self.env.random.next_u64().to_le_bytes());
        }
        secret.truncate(start.secret_bytes.max(4));
        let mut roster = self.roster.write();
        let process = loop {
            let process = self.next_process.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if process != 0 && !roster.contains_key(&process) {
                break process;
            }
        };
        let slot = Arc::new(self.slot(process, secret, login));
        roster.insert(process, Arc::clone(&slot));
        slot
    }

    fn slot(&self, process: i32, secret: Vec<u8>, login: &Login) -> Slot {
        Slot {
            process,
            secret,
            role: login.role,
            database: login.database,
            engine: Arc::clone(&self.engine),
            advisory: Arc::clone(&self.advisory),
            stop: Arc::default(),
            why: AtomicU8::new(0),
            deadline_us: AtomicU64::new(0),
            transaction_deadline_us: AtomicU64::new(0),
            wake: Mutex::new(None),
            transaction: AtomicU64::new(0),
            status: BackendStatus::default(),
            inbox: Mutex::default(),
        }
    }

    /// A client without a session, for expressions that are computed with the rights of a superuser.
    pub(crate) fn nobody(self: &Arc<Self>) -> Client {
        let start = StartUp {
            user: "postgres".to_owned(),
            database: "postgres".to_owned(),
            embedded: true,
            ..StartUp::default()
        };
        let login = Login {
            user: start.user.clone(),
            verifier: None,
            superuser: true,
            role: POSTGRES_ROLE,
            database: POSTGRES_DATABASE,
        };
        let slot = Arc::new(self.slot(0, Vec::new(), &login));
        Client::new(Arc::clone(self), slot, &login, &start.database, &start)
    }

    /// Fails if the role or the database has reached its limit of sessions.
    fn admit(&self, slot: &Slot, login: &Login) -> Result<()> {
        if login.superuser {
            return Ok(());
        }
        let catalog = self.catalogs.newest();
        let full = |limit: i32, is_such: &dyn Fn(&Slot) -> bool| {
            let sessions = self.sessions();
            let count = sessions.iter().filter(|other| is_such(other)).count();
            usize::try_from(limit).is_ok_and(|limit| count > limit)
        };
        let limited = catalog
            .role(login.role)
            .is_some_and(|role| full(role.connection_limit, &|other| other.role == slot.role));
        let crowded = catalog.database(login.database).is_some_and(|database| {
            full(database.connection_limit, &|other| other.database == slot.database)
        });
        let message = match (limited, crowded) {
            (true, _) => format!("too many connections for role \"{}\"", login.user),
            (false, true) => {
                let database = catalog.database(login.database);
                let name = database.map_or("", |database| &database.name);
                format!("too many connections for database \"{name}\"")
            }
            (false, false) => return Ok(()),
        };
        Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message).fatal())
    }

    /// Forgets a session that has ended.
    pub(crate) fn leave(&self, slot: &Slot) {
        self.set_deadline(slot, Deadline::Statement, 0);
        self.set_deadline(slot, Deadline::Transaction, 0);
        self.hub.forget(slot.process);
        self.roster.write().remove(&slot.process);
    }

    /// The sessions that are connected.
    pub(crate) fn sessions(&self) -> Vec<Arc<Slot>> {
        let mut slots: Vec<_> = self.roster.read().values().cloned().collect();
        slots.sort_by_key(|slot| slot.process);
        slots
    }

    /// The process numbers of the sessions whose locks of rows or relations one session waits for. A transaction
    /// without a session has the number 0.
    pub(crate) fn blockers(&self, process: i32) -> Vec<i32> {
        let Some(slot) = self.session(process) else { return Vec::new() };
        let waiting = TxnId(slot.transaction.load(Ordering::Acquire));
        let mut blockers = self.engine.waits_for(waiting);
        if blockers.is_empty() {
            return Vec::new();
        }
        blockers.sort_unstable();
        blockers.dedup();
        let roster = self.roster.read();
        let is_one =
            |slot: &&Arc<Slot>| blockers.contains(&TxnId(slot.transaction.load(Ordering::Acquire)));
        let mut found: Vec<i32> = roster.values().filter(is_one).map(|slot| slot.process).collect();
        found.sort_unstable();
        // PostgreSQL has 0 for prepared transactions, which have no session either.
        found.splice(0..0, (found.len() < blockers.len()).then_some(0));
        found
    }

    /// The sessions that one session waits for, for locks of all kinds.
    pub(crate) fn all_blockers(&self, process: i32) -> Vec<i32> {
        let mut found = self.blockers(process);
        for blocker in self.advisory.blockers(process) {
            if !found.contains(&blocker) {
                found.push(blocker);
            }
        }
        found
    }

    /// The session with this process number.
    pub(crate) fn session(&self, process: i32) -> Option<Arc<Slot>> {
        self.roster.read().get(&process).cloned()
    }

    /// Cancels the statement of the session with this process number (`57014`), if `secret` is its secret.
    pub fn cancel(&self, process: i32, secret: &[u8]) {
        if let Some(slot) = self.session(process)
            && same(&slot.secret, secret)
        {
            slot.stop(Stop::Cancelled);
        }
    }

    /// Ends all sessions: their statements fail with `57P01`.
    pub fn terminate(&self) {
        for slot in self.sessions() {
            slot.stop(Stop::Terminated);
        }
    }

    /// Stops the statements that have run for longer than their `statement_timeout`, and ends the
    /// sessions whose transactions have lasted for longer than their `transaction_timeout`. Returns the
    /// time until the next check, unless a session sets an earlier deadline ([`Instance::on_deadline`]);
    /// `None` if there is no deadline.
    pub fn watch(&self) -> Option<Duration> {
        // A deadline that is set from now on, and is not seen below, wakes the watcher again.
        self.watch.next_us.store(u64::MAX, Ordering::SeqCst);
        let now = self.env.clock.monotonic_us();
        let (mut late, mut next_us) = (Vec::new(), u64::MAX);
        for slot in self.roster.read().values() {
            for (deadline, why) in [
                (&slot.deadline_us, Stop::Timeout),
                (&slot.transaction_deadline_us, Stop::TransactionTimeout),
            ] {
                match deadline.load(Ordering::SeqCst) {
                    0 => {}
                    deadline if deadline <= now => {
                        late.push((Arc::clone(slot), why));
                        next_us = next_us.min(now + STOP_AGAIN_US);
                    }
                    deadline => next_us = next_us.min(deadline),
                }
            }
        }
        self.watch.next_us.fetch_min(next_us, Ordering::SeqCst);
        // Not while the roster is locked: a waiting session reads it while it holds its own locks.
        late.iter().for_each(|(slot, why)| slot.stop(*why));
        (next_us != u64::MAX).then(|| Duration::from_micros(next_us - now))
    }

    /// Sets a callback for each deadline before the time that [`Instance::watch`] has returned. It is called as
    /// long as its watcher keeps it.
    pub fn on_deadline(&self, wake: Weak<Wake>) {
        let mut all = self.watch.wake.write();
        all.retain(|known| known.strong_count() > 0);
        all.push(wake);
    }

    /// Sets a deadline of a session; 0 for none.
    pub(crate) fn set_deadline(&self, slot: &Slot, of: Deadline, deadline_us: u64) {
        let deadline = match of {
            Deadline::Statement => &slot.deadline_us,
            Deadline::Transaction => &slot.transaction_deadline_us,
        };
        // Only the session itself sets it.
        if deadline.load(Ordering::Relaxed) == deadline_us {
            return;
        }
        deadline.store(deadline_us, Ordering::SeqCst);
        let next_us = &self.watch.next_us;
        if deadline_us != 0
            && next_us.load(Ordering::SeqCst) > deadline_us
            && next_us.fetch_min(deadline_us, Ordering::SeqCst) > deadline_us
        {
            self.watch.wake.read().iter().filter_map(Weak::upgrade).for_each(|wake| wake());
        }
    }

    /// The database as it was at a time; as it is for times to come.
    pub(crate) fn snapshot_at(&self, time: TimestampTz) -> Result<Snapshot> {
        Ok(self.engine.snapshot_at(self.csn_at(time)?)?)
    }

    /// The number of a transaction. No earlier transaction whose number can be stored anywhere has had it.
    pub(crate) fn transaction_number(&self, id: txn::TxnId) -> u64 {
        (self.opened_at.0 << TRANSACTION_BITS) + id.0
    }

    /// The newest commit at or before a time.
    pub(crate) fn csn_at(&self, time: TimestampTz) -> Result<Csn> {
        let us = i128::from(time.0) + i128::from(EPOCH_2000_US);
        let us = u64::try_from(us.clamp(0, i128::from(u64::MAX))).unwrap_or_default();
        Ok(self.engine.csn_at(us)?)
    }

    /// Reads what `ALTER SYSTEM` has written. Sessions take it over before their next statement.
    ///
    /// # Errors
    /// `58030` if it cannot be read: then nothing changes.
    pub fn reload(&self) -> Result<()> {
        self.configuration.reload(now(&self.env))
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

/// A time of the engine as SQL counts it.
pub(crate) fn time_of(us: u64) -> TimestampTz {
    TimestampTz(us as i64 - EPOCH_2000_US)
}

/// A time of SQL as the engine counts it; `None` before 1970, and for the infinities.
pub(crate) fn us_of(time: TimestampTz) -> Option<u64> {
    let is_finite = time != TimestampTz(i64::MIN) && time != TimestampTz(i64::MAX);
    let us = is_finite.then(|| time.0.checked_add(EPOCH_2000_US)).flatten()?;
    us.try_into().ok()
}

/// The present, as SQL counts it.
pub(crate) fn now(env: &Env) -> TimestampTz {
    time_of(env.clock.now_us())
}

/// Compares two secrets in constant time.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |differ, (left, right)| differ | (left ^ right)) == 0
}
