//! [`Session`]: the functions that the server calls, for the simple and for the extended protocol.
//!
//! ```text
//!   Query     read ──> start, execute ... for each statement ──> end
//!   Parse     parse           Bind   bind           Describe   describe_statement, portal
//!   Execute   execute_named   Close  close_...      Sync       end
//!   any error fail
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sql::parse::ast::{Command, Statement};
use types::{Datum, Oid, SqlState, Style, Type};

use crate::backend_status::About;
use crate::binding::{no_parameter_instead, require_no_parameters};
use crate::client::{Client, StatementContext};
use crate::counters::Event;
use crate::cursor::Cursor;
use crate::error::{Error, Result, caught};
use crate::extension;
use crate::files::Files;
use crate::instance::{Deadline, Instance, Login, Slot, StartUp, now};
use crate::message::Messages;
use crate::names::{Names, VisibleCatalog};
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::portals::in_failed_transaction;
use crate::query;
use crate::settings::{Extent, SessionIdentity};
use crate::statement::{Parsed, Prepared, given};
use crate::transaction::{Block, Open, Status};

/// One client.
pub struct Session {
    pub(crate) client: Client,
    pub(crate) transaction: Option<Open>,
    pub(crate) statements: HashMap<String, Prepared>,
    pub(crate) portals: HashMap<String, Portal>,
    pub(crate) cursors: HashMap<String, Cursor>,
    /// Data that comes in.
    pub(crate) copying: Option<crate::copy::In>,
    /// The catalog as the last statement saw it.
    pub(crate) names: Arc<Names>,
    /// The search path that `names` was made with.
    seen_path: Arc<[String]>,
    seen_identity: Arc<SessionIdentity>,
    style: Arc<Style>,
    /// The text of the current or the last statement, for views of activity.
    shown: Arc<str>,
    /// True if statements may not block.
    pub(crate) inline: bool,
    /// An ordered commit that the server must wait for.
    pub(crate) ordered: Option<txn::Ordered>,
    /// True if a statement of the extended protocol has been run since the last `Sync`.
    pub(crate) is_pipelined: bool,
    /// How many portals and cursors have been made.
    pub(crate) made: u64,
}

impl Session {
    pub(crate) fn new(
        instance: Arc<Instance>,
        slot: Arc<Slot>,
        login: Login,
        start: StartUp,
    ) -> Result<Session> {
        let database = if start.database.is_empty() { &start.user } else { &start.database };
        let client = Client::new(instance, slot, &login, database, &start);
        let files = Files::new(client.instance.env.clone());
        let names = Arc::new(Names::none(Arc::clone(&client.instance.handles), files));
        let mut session = Session {
            client,
            transaction: None,
            statements: HashMap::new(),
            portals: HashMap::new(),
            cursors: HashMap::new(),
            copying: None,
            names,
            seen_path: Arc::new([]),
            seen_identity: Arc::default(),
            style: Arc::default(),
            shown: Arc::from(""),
            inline: false,
            ordered: None,
            is_pipelined: false,
            made: 0,
        };
        session.client.settings.get_mut().tell_internal("session_authorization", &login.user);
        session.client.configure();
        let newest = session.client.instance.catalogs.newest();
        session.client.set_kept(&login);
        for (name, value) in &start.settings {
            session.client.set(name, Some(value), Extent::Start, &newest).map_err(Error::fatal)?;
        }
        session.client.settings.get_mut().commit();
        session.refresh();
        let about = About {
            application: session.client.settings.borrow().text("application_name").to_owned(),
            peer: start.peer,
            query: Arc::clone(&session.shown),
        };
        session.client.slot.status.start(about, now(&session.client.instance.env));
        session.client.count(Event::Session, 1);
        Ok(session)
    }

    /// The number by which it can be cancelled.
    pub fn process_id(&self) -> i32 {
        self.client.slot.process
    }

    /// The newest transaction that it has begun, which may have ended; `None` before the first.
    pub fn newest_transaction(&self) -> Option<txn::TxnId> {
        let number = self.client.slot.transaction.load(Ordering::Acquire);
        (number > 0).then_some(txn::TxnId(number))
    }

    /// The secret that a client needs to cancel its statements.
    pub fn secret(&self) -> &[u8] {
        &self.client.slot.secret
    }

    /// How many rows its statements have read from files: grows while one runs.
    pub fn file_rows(&self) -> Arc<AtomicU64> {
        self.names.files.rows_read()
    }

    /// The settings that are reported to a client when it begins, and from now on when they change.
    pub fn settings_reported(&mut self) -> Vec<(&'static str, String)> {
        self.client.settings.get_mut().reported()
    }

    /// The encoding of the client: `client_encoding`.
    pub fn charset(&self) -> charset::Charset {
        self.client.settings.borrow().charset()
    }

    /// The transaction status of `ReadyForQuery`.
    pub fn status(&self) -> Status {
        match &self.transaction {
            Some(open) if open.block == Block::Explicit && open.failed => Status::Failed,
            Some(open) if open.block == Block::Explicit => Status::InTransaction,
            _ => Status::Idle,
        }
    }

    /// The context that the text form of values depends on.
    pub fn style(&self) -> types::Context<'_> {
        types::Context {
            style: &self.style,
            now: now(&self.client.instance.env),
            types: &*self.names,
            domains: &types::Builtins,
            objects: &*self.names,
        }
    }

    /// The value of a setting, such as `idle_in_transaction_session_timeout` in milliseconds.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.client.settings.borrow().show(name)
    }

    /// A known setting that is a whole number, in its unit; 0 for any other.
    pub fn setting_integer(&self, name: &str) -> i64 {
        self.client.settings.borrow().integer(name)
    }

    // --- the simple protocol ---------------------------------------------------------------------

    /// The statements of a Query message; none if there is none.
    ///
    /// # Errors
    /// `42601` and other errors of syntax.
    pub fn read(&mut self, text: &str) -> Result<Vec<Parsed>> {
        Parsed::query(text, &self.client.instance.plans)
    }

    /// Begins a statement. With `alone` it is the only statement of its message, and has its own implicit
    /// transaction. Otherwise all statements of the message share one.
    ///
    /// # Errors
    /// `25P02` in a failed transaction, and those of binding.
    pub fn start(&mut self, parsed: Parsed, alone: bool) -> Result<Portal> {
        self.begin_statement(&parsed)?;
        let text = parsed.clone();
        let planned = self.interruptible(|session| session.plan(parsed, &[], &[]));
        let mut portal = planned.map_err(|error| no_parameter_instead(error, &text))?;
        require_no_parameters(&portal)?;
        portal.alone = alone;
        portal.is_one_of_many = !alone;
        Ok(portal)
    }

    /// Runs a part of the statement that a cancel stops, also inside of a long computation. An error that is thrown there
    /// is the error of the statement.
    pub(crate) fn interruptible<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let slot = Arc::clone(&self.client.slot);
        let done = interrupt::during(&slot.stop, || caught(|| run(self)));
        done.map_err(|error| self.why_stopped(error))
    }

    // --- the extended protocol -------------------------------------------------------------------

    /// Prepares a statement under a name; the empty name can be used again.
    ///
    /// # Errors
    /// `42P05` if a statement of that name exists, and the errors of parsing and binding.
    pub fn parse(&mut self, name: &str, text: &str, types: &[Oid]) -> Result<()> {
        let mut parsed = Parsed::shared(text, &self.client.instance.plans)?;
        if parsed.len() > 1 {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let parsed = parsed.pop().unwrap_or_else(|| Parsed::empty(text));
        let prepared = self.interruptible(|session| session.prepare(parsed, given(types)))?;
        // Errors of the text come before errors of the name.
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(Error::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        self.statements.insert(name.to_owned(), prepared);
        Ok(())
    }

    /// The prepared statement of this name.
    pub(crate) fn prepared(&self, name: &str) -> Result<&Prepared> {
        self.statements.get(name).ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    // --- both ------------------------------------------------------------------------------------

    /// Runs a portal until it is done, or has given `rows_max` rows (0: all), or the output is full.
    ///
    /// # Errors
    /// The errors of the statement; the caller then calls [`Session::fail`].
    pub fn execute(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        let done = self.recorded(portal, |session, portal| {
            session.counted(|session| session.execute_here(portal, rows_max, out))
        });
        done.map_err(|error| self.why_stopped(error))
    }

    fn execute_here(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        self.unfold(portal)?;
        let has_plan = matches!(portal.work, Work::Plan(_));
        let notices = self.client.notices.get_mut().len();
        let done = self.interruptible(|session| match session.inline {
            true => session.run_inline(portal, rows_max, out),
            false => {
                if let Work::Plan(running) = &mut portal.work {
                    running.rows_max = None;
                }
                session.run(portal, rows_max, out)
            }
        })?;
        if done == Done::Blocked {
            // The statement will run again, and give these notices again.
            self.client.notices.get_mut().truncate(notices);
        }
        if matches!(done, Done::Complete(_)) {
            // The statement may have cancelled itself, or have been cancelled too late to notice: its changes are
            // undone.
            if has_plan && let Some(stopped) = self.client.slot.stopped() {
                return Err(stopped);
            }
            self.settle(portal.alone)?;
        }
        Ok(done)
    }

    /// Finishes a statement that is done.
    pub(crate) fn settle(&mut self, alone: bool) -> Result<()> {
        self.tell_writes();
        self.client.instance.set_deadline(&self.client.slot, Deadline::Statement, 0);
        if alone {
            self.end()?;
        }
        self.refresh();
        Ok(())
    }

    /// Takes data that the client sent after [`Done::CopyIn`]; it may be cut anywhere.
    ///
    /// # Errors
    /// Fails if the data do not have the announced format, or cannot be stored. The client may go on sending; the
    /// server then discards the data up to their end.
    pub fn copy_in(&mut self, data: &[u8]) -> Result<()> {
        self.interruptible(|session| session.take_in(data, false))
    }

    /// Ends the data that the client sent: the statement is done.
    ///
    /// # Errors
    /// As [`Session::copy_in`].
    pub fn copy_end(&mut self) -> Result<Tag> {
        self.interruptible(Self::end_in)
    }

    /// The client gives up sending data.
    ///
    /// # Errors
    /// `57014`, always: the statement has failed for this reason.
    pub fn copy_fail(&mut self, reason: &str) -> Result<()> {
        self.copying = None;
        let message = format!("COPY from stdin failed: {reason}");
        Err(Error::new(SqlState::QUERY_CANCELED, message))
    }

    /// Ends the implicit transaction: at a `Sync`, or at the end of a Query message.
    ///
    /// # Errors
    /// Fails if it cannot be committed: then it is rolled back.
    pub fn end(&mut self) -> Result<()> {
        self.is_pipelined = false;
        match &self.transaction {
            Some(open) if open.block == Block::Implicit => {
                let done = self.commit();
                if done.is_err() {
                    self.rollback();
                }
                done
            }
            None => {
                self.portals.clear();
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Ends a statement after its error was reported: an implicit transaction is rolled back, a transaction block
    /// has failed.
    pub fn fail(&mut self) {
        self.client.instance.set_deadline(&self.client.slot, Deadline::Statement, 0);
        self.is_pipelined = false;
        self.abort();
        self.refresh();
    }

    /// Notices that wait to be sent.
    pub fn take_notices(&mut self) -> Vec<Error> {
        self.client.keep_late_notices();
        std::mem::take(self.client.notices.get_mut())
    }

    /// Messages that wait to be sent.
    pub fn take_messages(&mut self) -> Messages {
        self.client.keep_late_notices();
        Messages {
            notices: std::mem::take(self.client.notices.get_mut()),
            settings: self.client.settings.get_mut().changes(),
            notifications: match self.status() {
                Status::Idle => self.client.slot.inbox.lock().drain(..).collect(),
                _ => Vec::new(),
            },
        }
    }

    /// Sets a callback for the time in which no statement runs: it is called when a notification arrives, or when the
    /// session is to end.
    pub fn set_wake(&mut self, wake: Arc<dyn Fn() + Send + Sync>) {
        *self.client.slot.wake.lock() = Some(wake);
    }

    /// Says whether statements may block (a lock, the disk) or give [`Done::Blocked`] instead.
    pub fn set_inline(&mut self, inline: bool) {
        self.inline = inline;
        self.client.inline.set(inline);
    }

    /// The commit that the server must wait for before it sends the answer of the statement. There is one only
    /// if statements may not block.
    pub fn take_commit(&mut self) -> Option<txn::Ordered> {
        self.ordered.take()
    }

    // --- inside ----------------------------------------------------------------------------------

    /// Takes over the style of values, which statements may have changed by settings.
    fn refresh(&mut self) {
        self.style = Arc::clone(self.client.settings.get_mut().style());
    }

    /// The context in which a statement is evaluated.
    pub(crate) fn statement_context(&self) -> StatementContext<'_> {
        let env = &self.client.instance.env;
        let started = self.transaction.as_ref().map_or_else(|| now(env), |open| open.started);
        StatementContext::of(&self.client, &self.names, started)
    }

    /// Checks whether a statement may begin, and begins the transaction that it needs.
    pub(crate) fn begin_statement(&mut self, parsed: &Parsed) -> Result<()> {
        self.client.slot.begin();
        if let Some(stopped) = self.client.slot.stopped() {
            return Err(stopped);
        }
        let Some(statement) = &parsed.statement else { return Ok(()) };
        if self.client.configured.get() != self.client.instance.configuration.generation() {
            self.client.configure();
            self.refresh();
        }
        if self.status() == Status::Failed && !ends_failure(statement) {
            return Err(in_failed_transaction());
        }
        let patience_ms = self.client.settings.get_mut().integer("lock_timeout");
        self.set_patience((patience_ms > 0).then(|| patience_ms.unsigned_abs() * 1_000));
        let timeout_ms = self.client.settings.get_mut().integer("statement_timeout");
        if timeout_ms > 0 {
            let now_us = self.client.instance.env.clock.monotonic_us();
            let deadline_us = now_us + timeout_ms.unsigned_abs() * 1_000;
            let statement = Deadline::Statement;
            self.client.instance.set_deadline(&self.client.slot, statement, deadline_us);
        }
        let now = now(&self.client.instance.env);
        let idle_us = self.client.slot.status.begin_statement(parsed, &mut self.shown, now);
        if idle_us > 0 {
            self.client.count(Event::IdleInTransactionUs, idle_us);
        }
        Ok(())
    }

    /// Prepares the transaction for reads: takes the snapshot of the statement, and the catalog as of it.
    pub(crate) fn look(&mut self) -> Result<()> {
        let open = self.open();
        if let Some(inner) = &mut open.inner {
            // BEGIN, SET and LOCK run before the snapshot: a transaction that gets a lock sees the
            // commit of its last holder.
            match open.looked || open.draft.is_some() || !inner.is_read_only() {
                true => inner.statement(),
                false => inner.settle(),
            }
            let seen = inner.snapshot().csn();
            let number = inner.id();
            let in_savepoint = !open.savepoints.is_empty();
            self.client.in_savepoint.set(in_savepoint);
            self.client.seen.set(seen);
            self.client.slot.status.set_sees(seen);
            let number = self.client.instance.transaction_number(number);
            self.client.transaction.set(number);
            if let Some(inner) = &mut self.open().inner {
                inner.set_number(number);
            }
        }
        self.see_catalog()
    }

    /// Takes the catalog that the transaction sees now, with the search path.
    pub(crate) fn see_catalog(&mut self) -> Result<()> {
        let instance = &self.client.instance;
        let catalogs = &instance.catalogs;
        let moment = self.client.settings.get_mut().system_time();
        let present = match &mut self.transaction {
            Some(Open { draft: Some(draft), .. }) => {
                draft.refresh();
                Arc::clone(draft.catalog())
            }
            Some(Open { inner: Some(inner), .. }) => catalogs.at(inner.snapshot())?,
            _ => catalogs.newest(),
        };
        // The past has its own catalog; rights are those of the present.
        let catalog = match moment {
            None => Arc::clone(&present),
            Some(time) => catalogs.at(&instance.snapshot_at(time)?)?,
        };
        let path = Arc::clone(self.client.settings.get_mut().search_path());
        let identity = Arc::clone(self.client.settings.get_mut().identity());
        let same = Arc::ptr_eq(&self.names.catalog, &catalog)
            && Arc::ptr_eq(&self.names.present, &present)
            && self.names.moment == moment
            && Arc::ptr_eq(&self.seen_path, &path)
            && Arc::ptr_eq(&self.seen_identity, &identity);
        if !same {
            if present.database(self.client.database_oid).is_none() {
                let message = format!("database \"{}\" does not exist", self.client.database);
                let error = Error::new(SqlState::INVALID_CATALOG_NAME, message);
                return Err(error.detail("It has just been dropped.").fatal());
            }
            self.names = Arc::new(Names::new(
                VisibleCatalog { catalog, present, moment },
                Arc::clone(&self.client.instance.handles),
                self.names.files.next(),
                self.client.database_oid,
                &identity.user,
                &path,
                self.client.slot.process,
            ));
            (self.seen_path, self.seen_identity) = (path, identity);
        }
        Ok(())
    }

    /// True if the transaction has changed the catalog.
    pub(crate) fn has_own_catalog(&self) -> bool {
        let draft = self.transaction.as_ref().and_then(|open| open.draft.as_ref());
        draft.is_some_and(|draft| !draft.is_empty())
    }

    /// The catalog that roles are looked up in: the newest one, or what the transaction has made of it.
    pub(crate) fn roles(&self) -> Arc<::table::catalog::Catalog> {
        match self.has_own_catalog() {
            true => Arc::clone(&self.names.present),
            false => self.client.instance.catalogs.newest(),
        }
    }

    /// True in a transaction block.
    pub(crate) fn is_block(&self) -> bool {
        self.transaction.as_ref().is_some_and(|open| open.block == Block::Explicit)
    }

    /// Fails if the transaction only reads.
    ///
    /// # Errors
    /// `25006`.
    pub(crate) fn must_write(&mut self, what: &str) -> Result<()> {
        let modes = self.open().modes;
        self.client.must_write(modes, what)
    }

    /// Binds a statement under its own parameters' types.
    fn prepare(&mut self, parsed: Parsed, params: Vec<Type>) -> Result<Prepared> {
        self.begin_statement(&parsed)?;
        if let Some(Statement::Command(command)) = parsed.statement.as_deref()
            && let Command::Call { name, args, .. } = &**command
            && !extension::is_function(name)
        {
            let made = self.called(name, args)?;
            return self.prepare(made, params);
        }
        let (params, columns) = match &parsed.statement {
            Some(statement) if query::tag_of(statement).is_some() => {
                self.look()?;
                let planned = self.planned(&parsed, &params)?;
                (planned.params.clone(), planned.columns.clone())
            }
            Some(statement) => {
                let params = match query::within(statement) {
                    Some(query) => {
                        self.look()?;
                        query::plan(&query, &parsed.source, &params, &self.statement_context())?
                            .params
                    }
                    None => params,
                };
                (params, self.columns_of(statement)?)
            }
            None => (params, None),
        };
        let made = now(&self.client.instance.env);
        let text = parsed.text().into();
        Ok(Prepared { made, text, is_command: false, parsed, params, columns })
    }

    /// The columns of what has no plan.
    fn columns_of(&self, statement: &Statement) -> Result<Option<Arc<[Column]>>> {
        match statement {
            Statement::Command(command) => self.command_columns(command),
            Statement::Explain { options, .. } => {
                Ok(Some(Arc::new([crate::explain::column(options)])))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn plan_prepared(
        &mut self,
        prepared: &Prepared,
        params: Arc<[Datum]>,
    ) -> Result<Portal> {
        let is_execute = matches!(
            prepared.parsed.statement.as_deref(),
            Some(Statement::Command(command)) if matches!(**command, Command::Execute { .. })
        );
        let mut portal = match is_execute {
            // The statement that it names is looked up when it runs.
            true => self.plan_command(prepared.parsed.clone())?,
            false => self.plan(prepared.parsed.clone(), &prepared.params, &params)?,
        };
        if matches!(portal.work, Work::Plan(_)) {
            prepared.same_result(portal.columns())?;
        }
        portal.types.clone_from(&prepared.params);
        portal.params = params;
        Ok(portal)
    }

    /// A portal for a statement, whose parameters have these types, and these values where they are known.
    pub(crate) fn plan(
        &mut self,
        parsed: Parsed,
        params: &[Type],
        values: &[Datum],
    ) -> Result<Portal> {
        let Some(statement) = parsed.statement.clone() else {
            return Ok(Portal::new(parsed, None, Work::Empty));
        };
        if !parsed.constants.is_empty() {
            if let Some(portal) = self.plan_template(&parsed)? {
                return Ok(portal);
            }
            let plans = &self.client.instance.plans;
            let mut own = Parsed::shared(&parsed.source, plans)?;
            let own = own.pop().unwrap_or_else(|| Parsed::empty(""));
            let portal = self.plan(own, params, values)?;
            // The statement can be planned, but its template cannot.
            parsed.known.inspect(|known| known.set_unfit());
            return Ok(portal);
        }
        if query::tag_of(&statement).is_some() {
            self.look()?;
            let planned = self.planned_for(&parsed, params, values)?;
            return self.plan_portal(parsed, planned);
        }
        match &*statement {
            Statement::Command(command) => match &**command {
                Command::Execute { name, args } => {
                    self.plan_execute(parsed.clone(), &name.text, args)
                }
                Command::Call { name, args, .. } if !extension::is_function(name) => {
                    let made = self.called(name, args)?;
                    self.plan(made, params, values)
                }
                _ => self.plan_command(parsed),
            },
            Statement::Explain { .. }
            | Statement::Define(_)
            | Statement::CreateView(_)
            | Statement::DeleteHistory { .. } => self.plan_command(parsed),
            _ => Err(Error::not_supported("this statement")),
        }
    }

    /// A portal for a command without a plan.
    fn plan_command(&mut self, parsed: Parsed) -> Result<Portal> {
        let statement = parsed.statement.clone();
        let columns = statement.map_or(Ok(None), |statement| self.columns_of(&statement))?;
        Ok(Portal::new(parsed, columns, Work::Command))
    }

    pub(crate) fn run(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        if matches!(portal.work, Work::Command) {
            let statement = portal.parsed.statement.clone();
            match statement.as_deref() {
                Some(Statement::Command(command)) => {
                    portal.work = match &**command {
                        Command::Do { language, body } => {
                            self.do_block(language.as_deref(), body.as_ref(), portal, out)?
                        }
                        _ => self.command(command, portal)?,
                    };
                }
                Some(Statement::Define(define)) => portal.work = self.define(define, portal)?,
                Some(Statement::DeleteHistory { table, before }) => {
                    portal.work = self.delete_history(table, before)?;
                }
                Some(Statement::CreateView(view)) => {
                    portal.work = self.create_view(view, portal)?
                }
                Some(Statement::Explain { options, statement }) => {
                    portal.work = self.explain(options, statement, portal)?;
                }
                _ => {}
            }
        }
        match &mut portal.work {
            Work::Empty => Ok(Done::Empty),
            Work::Plan(_) => self.run_plan(portal, rows_max, out),
            Work::Done(tag) => Ok(Done::Complete(tag.clone())),
            Work::CopyOut(_) => {
                let work = std::mem::replace(&mut portal.work, Work::Command);
                let Work::CopyOut(mut copy) = work else { unreachable!("it is") };
                let done = self.run_copy_out(&mut copy, out)?;
                portal.work = match &done {
                    Done::Complete(tag) => Work::Done(tag.clone()),
                    _ => Work::CopyOut(copy),
                };
                Ok(done)
            }
            Work::CopyIn(format) => Ok(Done::CopyIn(*format)),
            Work::Command => Err(Error::not_supported("this statement")),
            Work::Rows { rows, tag } => {
                let statement_context = self.statement_context();
                let columns = portal.columns.as_deref().unwrap_or_default();
                let mut given = 0;
                while let Some(row) = rows.pop_front() {
                    let flow = out.row(&row, columns, &statement_context.types())?;
                    given += 1;
                    // As with a plan, it does not look whether there are more rows.
                    if rows_max != 0 && given == rows_max {
                        return Ok(Done::Suspended);
                    }
                    if flow.is_break() && !rows.is_empty() {
                        return Ok(Done::More);
                    }
                }
                let tag = tag.clone();
                portal.work = Work::Done(tag.clone());
                Ok(Done::Complete(tag))
            }
        }
    }
}

/// Sessions move between threads.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Session>();
};

impl Drop for Session {
    fn drop(&mut self) {
        self.transaction = None;
        self.drop_temporary();
        self.client.unlock_since(0);
        self.client.count_end();
        self.client.instance.leave(&self.client.slot);
    }
}

/// True for statements that a failed transaction accepts: those that end it, or roll back to a savepoint.
pub(crate) fn ends_failure(statement: &Statement) -> bool {
    let Statement::Command(command) = statement else { return false };
    matches!(**command, Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_))
}

/// The tag of a command.
pub(crate) fn done(tag: &'static str) -> Work {
    Work::Done(Tag::plain(tag))
}
