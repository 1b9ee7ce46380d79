//! State that a session keeps beyond single statements, and that evaluation reads: settings, user,
//! messages, random numbers. Evaluation sees it through a [`StatementContext`], made for a statement.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use scalar::{Clock, Random};
use store::Csn;
use table::catalog::Catalog;
use table::sequence::SessionSequences;
use txn::TxnId;
use types::snapshot::Visibility;
use types::time::TimestampTz;
use types::{Oid, SqlState, Style};

use crate::advisory::Locks;
use crate::backend_status::BackendState;
use crate::counters::DatabaseCounters;
use crate::define::temporary::OnCommit;
use crate::error::{Error, Result, Severity};
use crate::instance::{Instance, Login, Slot, StartUp, now};
use crate::names::Names;
use crate::notify::Note;
use crate::settings::{Extent, SessionIdentity, Settings};
use crate::snapshots::ExportName;
use crate::transaction::Modes;

/// The lasting state of a session. One thread uses it at a time.
pub(crate) struct Client {
    pub instance: Arc<Instance>,
    pub slot: Arc<Slot>,
    /// The counts of its database.
    pub counters: Arc<DatabaseCounters>,
    pub database: Arc<str>,
    /// The role that logged in.
    pub login: Arc<str>,
    /// The role that its commits record: who logged in. Empty where it is the program that has the database open.
    pub role: Arc<str>,
    pub settings: RefCell<Settings>,
    pub notices: RefCell<Vec<Error>>,
    /// Notices about rows that a function makes as the statement asks for them. The client gets them
    /// after the statement.
    pub late_notices: Arc<Mutex<Vec<Error>>>,
    /// The effects of `LISTEN` and `NOTIFY` when the transaction commits.
    pub notes: RefCell<Vec<Note>>,
    /// The numbers that the session got from sequences.
    pub sequences: RefCell<SessionSequences>,
    /// The temporary tables that the end of a transaction does something to.
    pub on_commit: RefCell<Vec<(Oid, OnCommit)>>,
    /// Where its transactions note which relations they read and change.
    pub reader: Arc<txn::Reader>,
    /// The advisory locks that it has.
    pub locks: RefCell<Locks>,
    /// The transaction of ZODB that is open.
    pub writing: RefCell<Option<object::Writing>>,
    /// The snapshots that the transaction has exported.
    pub exported: RefCell<Vec<ExportName>>,
    pub database_oid: Oid,
    /// How many checks of domains are being computed, each for the one before.
    pub checks_depth: Cell<u32>,
    /// How many `DO` blocks are being run, each by the one before.
    pub blocks_depth: Cell<u32>,
    /// How deep the statements of all of them are nested.
    pub blocks_levels: Cell<u32>,
    /// Which values of the server it has taken over.
    pub configured: Cell<u64>,
    /// True if nothing may block.
    pub inline: Cell<bool>,
    /// The newest commit that the statement sees.
    pub seen: Cell<Csn>,
    /// The number of the transaction.
    pub transaction: Cell<u64>,
    /// True if the stamp of the transaction was asked for.
    pub is_stamped: Cell<bool>,
    /// The last result of [`Client::visibility`], with its snapshot and transaction.
    visibility: RefCell<Option<((Csn, u64), String)>>,
    /// True if the statement runs within a savepoint.
    pub in_savepoint: Cell<bool>,
    random: Generator,
}

impl Client {
    pub fn new(
        instance: Arc<Instance>,
        slot: Arc<Slot>,
        login: &Login,
        database: &str,
        start: &StartUp,
    ) -> Self {
        let mut settings = Settings::new(login.superuser);
        if instance.engine.is_follower() {
            settings.tell_internal("in_hot_standby", "on");
        }
        Client {
            random: Generator::new(Arc::clone(&instance)),
            reader: instance.engine.reader(),
            counters: instance.counters.of(login.database),
            instance,
            slot,
            database: database.into(),
            login: login.user.as_str().into(),
            role: if start.embedded { "".into() } else { login.user.as_str().into() },
            settings: RefCell::new(settings),
            notices: RefCell::default(),
            late_notices: Arc::default(),
            notes: RefCell::default(),
            sequences: RefCell::default(),
            on_commit: RefCell::default(),
            locks: RefCell::default(),
            writing: RefCell::default(),
            exported: RefCell::default(),
            database_oid: login.database,
            checks_depth: Cell::new(0),
            blocks_depth: Cell::new(0),
            blocks_levels: Cell::new(0),
            configured: Cell::new(0),
            inline: Cell::new(false),
            seen: Cell::new(Csn::ZERO),
            transaction: Cell::new(0),
            visibility: RefCell::new(None),
            is_stamped: Cell::new(false),
            in_savepoint: Cell::new(false),
        }
    }

    /// Sets a setting, and looks in the catalog whether the client may become the role that some of
    /// them name.
    ///
    /// # Errors
    /// As [`Settings::set`], `22023` for a role that is not there, `42501` for one that it may not
    /// become.
    pub fn set(
        &self,
        name: &str,
        text: Option<&str>,
        extent: Extent,
        catalog: &Catalog,
    ) -> Result<()> {
        // A property of the transaction stays until the transaction ends.
        let extent = match crate::settings::is_of_transaction(name) {
            true => Extent::Local,
            false => extent,
        };
        let is_role = name.eq_ignore_ascii_case("role");
        if !is_role && !name.eq_ignore_ascii_case("session_authorization") {
            let now = now(&self.instance.env);
            return self.settings.borrow_mut().set_at(name, text, extent, now);
        }
        let mut settings = self.settings.borrow_mut();
        let session = Box::clone(&settings.identity().session_user);
        let user: &str = match text {
            None if !is_role => &self.login,
            None | Some("none") if is_role => &session,
            text => text.unwrap_or_default(),
        };
        let oid = |name: &str| catalog.role_named(name).map(|role| role.oid);
        let wanted = oid(user).ok_or_else(|| {
            let message = format!("role \"{user}\" does not exist");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })?;
        let own = oid(if is_role { &session } else { &self.login }).unwrap_or(Oid::NONE);
        let (what, allowed) = match is_role {
            true => ("role", own == wanted || catalog.may_set_role(own, wanted)),
            false => ("session authorization", own == wanted || catalog.is_superuser(own)),
        };
        if !allowed {
            let message = format!("permission denied to set {what} \"{user}\"");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        // The client gets it after the setting that it follows from.
        settings.set_superuser(catalog.is_superuser(wanted), extent);
        settings.set(name, text, extent)?;
        if !is_role {
            settings.set("role", None, extent)?;
        }
        Ok(())
    }

    /// Takes over the values that the server has for settings.
    pub fn configure(&self) {
        let configuration = &self.instance.configuration;
        self.configured.set(configuration.generation());
        let now = now(&self.instance.env);
        self.settings.borrow_mut().configure(&configuration.in_force(), now);
    }

    /// Sets the values that `ALTER DATABASE` and `ALTER ROLE` keep for a login: values of the role
    /// override those of the database.
    pub fn set_kept(&self, login: &Login) {
        let catalog = self.instance.catalogs.newest();
        let (database, role) = (login.database, login.role);
        let kept =
            [(Oid::NONE, Oid::NONE), (database, Oid::NONE), (Oid::NONE, role), (database, role)];
        for about in kept {
            let found = catalog.settings().find(|known| (known.database, known.role) == about);
            for (name, value) in found.iter().flat_map(|known| &known.values) {
                // The role that kept it had the right to; a value that is no longer valid is left
                // out.
                let now = now(&self.instance.env);
                let mut settings = self.settings.borrow_mut();
                let set = settings.set_at(name, Some(value), Extent::Kept, now);
                drop(settings);
                if let Err(error) = set {
                    self.notice(Severity::Warning, error.state(), error.message());
                }
            }
        }
    }

    /// Which transactions had ended when the transaction was first asked for it under its snapshot.
    pub fn visibility(&self) -> String {
        let seen = (self.seen.get(), self.transaction.get());
        if let Some((of, text)) = &*self.visibility.borrow()
            && *of == seen
        {
            return text.clone();
        }
        let instance = &self.instance;
        // Read before the sessions are: a transaction that begins meanwhile has this number or a higher one.
        let next = instance.engine.next_transaction();
        let mut running: Vec<u64> = instance
            .sessions()
            .iter()
            .filter(|slot| slot.status.state() != BackendState::Idle)
            .map(|slot| slot.transaction.load(Ordering::Acquire))
            .filter(|number| *number > 0)
            .collect();
        running.retain(|number| *number < next.0);
        running.sort_unstable();
        running.dedup();
        let numbers = running.iter().map(|number| instance.transaction_number(TxnId(*number)));
        let (running, xmax): (Vec<u64>, _) = (numbers.collect(), instance.transaction_number(next));
        let xmin = running.first().copied().unwrap_or(xmax);
        let text = Visibility { xmin, xmax, running }.to_string();
        *self.visibility.borrow_mut() = Some((seen, text.clone()));
        text
    }

    /// Fails if the transaction only reads, or the past is looked at.
    ///
    /// # Errors
    /// `25006`.
    pub fn must_write(&self, modes: Modes, what: &str) -> Result<()> {
        self.refuse_to_write(modes.read_only, what)
    }

    /// The same for a function that changes something, in the transaction that runs it.
    ///
    /// # Errors
    /// `25006`.
    pub fn must_write_now(&self, what: &str) -> Result<()> {
        let is_read_only = self.settings.borrow().bool("transaction_read_only");
        self.refuse_to_write(is_read_only, what)
    }

    fn refuse_to_write(&self, is_read_only: bool, what: &str) -> Result<()> {
        let why = if is_read_only {
            "in a read-only transaction"
        } else if self.settings.borrow().system_time().is_some() {
            "while system_time_as_of is set"
        } else {
            return Ok(());
        };
        let message = format!("cannot execute {what} {why}");
        Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// Keeps a notice for the client, unless it does not want to know.
    pub fn notice(&self, severity: Severity, state: SqlState, message: impl Into<String>) {
        self.say(Error::notice(severity, state, message));
    }

    /// Keeps the notices about rows.
    pub fn keep_late_notices(&self) {
        let late = std::mem::take(&mut *self.late_notices.lock());
        late.into_iter().for_each(|notice| self.say(notice));
    }

    /// The same, with whatever else it has.
    pub fn say(&self, notice: Error) {
        let wanted = match self.settings.borrow().text("client_min_messages") {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            "notice" => Severity::Notice,
            "info" => Severity::Info,
            "log" => Severity::Log,
            _ => Severity::Debug,
        };
        if notice.severity >= wanted || notice.severity == Severity::Info {
            self.notices.borrow_mut().push(notice);
        }
    }
}

/// The context in which one statement is evaluated.
pub(crate) struct StatementContext<'a> {
    pub client: &'a Client,
    pub style: Arc<Style>,
    pub identity: Arc<SessionIdentity>,
    pub names: Arc<Names>,
    /// When the transaction began.
    pub started: TimestampTz,
    /// When the statement began.
    pub statement: TimestampTz,
}

impl<'a> StatementContext<'a> {
    /// The context of a statement that begins now.
    pub fn of(client: &'a Client, names: &Arc<Names>, started: TimestampTz) -> Self {
        StatementContext {
            client,
            style: Arc::clone(client.settings.borrow().style()),
            identity: Arc::clone(client.settings.borrow().identity()),
            names: Arc::clone(names),
            started,
            statement: now(&client.instance.env),
        }
    }

    /// The same for a part of the statement that knows what an earlier one has defined.
    pub fn seeing(&self, names: &Arc<Names>) -> Self {
        StatementContext {
            client: self.client,
            style: Arc::clone(&self.style),
            identity: Arc::clone(&self.identity),
            names: Arc::clone(names),
            started: self.started,
            statement: self.statement,
        }
    }

    /// The context that the forms of values depend on.
    pub fn types(&self) -> types::Context<'_> {
        types::Context {
            style: &self.style,
            now: self.started,
            types: &*self.names,
            domains: self,
            objects: &*self.names,
        }
    }

    /// The context in which expressions are evaluated.
    pub fn context(&self) -> scalar::Context<'_> {
        scalar::Context {
            types: self.types(),
            statement: self.statement,
            clock: self,
            random: &self.client.random,
            session: self,
        }
    }
}

impl Clock for StatementContext<'_> {
    fn now(&self) -> TimestampTz {
        now(&self.client.instance.env)
    }
}

impl scalar::Session for StatementContext<'_> {
    fn setting(&self, name: &str) -> Option<String> {
        self.client.settings.borrow().show(name)
    }

    fn database(&self) -> &str {
        &self.client.database
    }

    fn user(&self) -> &str {
        &self.identity.user
    }

    fn session_user(&self) -> &str {
        &self.identity.session_user
    }
}

/// Random numbers: xoroshiro128**, which `setseed` starts anew, as PostgreSQL has them.
struct Generator {
    state: Cell<(u64, u64)>,
    instance: Arc<Instance>,
}

impl Generator {
    fn new(instance: Arc<Instance>) -> Self {
        let random = &instance.env.random;
        Generator { state: Cell::new((random.next_u64() | 1, random.next_u64())), instance }
    }
}

impl Random for Generator {
    fn bits(&self) -> u64 {
        let (s0, s1) = self.state.get();
        let sx = s1 ^ s0;
        self.state.set((s0.rotate_left(24) ^ sx ^ (sx << 16), sx.rotate_left(37)));
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    fn seed(&self, seed: f64) {
        let mut seed = (((1_u64 << 52) - 1) as f64 * seed) as i64 as u64;
        let mut split = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        let state = (split(), split());
        self.state.set(if state == (0, 0) {
            (0x5851_F42D_4C95_7F2D, 0x1405_7B7E_F767_814F)
        } else {
            state
        });
    }

    fn secret(&self) -> [u8; 16] {
        let random = &self.instance.env.random;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next_u64().to_le_bytes());
        bytes[8..].copy_from_slice(&random.next_u64().to_le_bytes());
        bytes
    }
}
