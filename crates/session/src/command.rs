//! Commands of a session: transactions, settings, and commands that drop session state.

use std::collections::VecDeque;
use std::sync::Arc;

use sql::parse::ast::{self, Command, Discard, SetValue};
use txn::Isolation;
use types::time::{Interval, IntervalFields};
use types::{Datum, IntervalStyle, Modifier, Oid, SqlState, Type};

use crate::error::{Error, Result, Severity};
use crate::notify::Note;
use crate::portal::{Column, Portal, Tag, Work};
use crate::session::{Session, done};
use crate::settings::{self, Extent};
use crate::transaction::{Block, Mark, Modes, Named};

/// A column of text that a command gives.
pub(crate) fn text_column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        table: Oid::NONE,
        attnum: 0,
        ty: Type::TEXT,
        modifier: Modifier::NONE,
        length: -1,
    }
}

impl Session {
    /// The columns that a command gives; `None` if it gives no rows.
    pub(crate) fn command_columns(&self, command: &Command) -> Result<Option<Arc<[Column]>>> {
        Ok(match command {
            Command::Show(Some(name)) => {
                let settings = self.client.settings.borrow();
                settings.show(name).ok_or_else(|| settings::unknown(name))?;
                let name = settings::known::find(name)
                    .map_or(name.as_str(), |place| settings::known::all()[place].name);
                Some(Arc::new([text_column(name)]))
            }
            Command::Fetch { cursor, moves: false, .. } => {
                let known = self.cursors.get(&cursor.text).map(|cursor| &cursor.portal);
                let known = known.or_else(|| self.portals.get(&cursor.text));
                // A missing portal is reported when the statement runs.
                known.and_then(|portal| portal.columns.clone())
            }
            Command::Execute { name, .. } => {
                self.statements.get(&name.text).and_then(|prepared| prepared.columns.clone())
            }
            Command::Call { name, selects: true, .. } => {
                Some(Arc::new([Column { ty: Type::VOID, ..text_column(name.last()) }]))
            }
            Command::Show(None) => {
                Some(Arc::new(["name", "setting", "description"].map(text_column)))
            }
            _ => None,
        })
    }

    /// Does a command.
    pub(crate) fn command(&mut self, command: &Command, portal: &Portal) -> Result<Work> {
        let is_of_transaction = matches!(
            command,
            Command::Begin { .. } | Command::Commit { .. } | Command::Rollback { .. }
        );
        if !portal.alone && !is_of_transaction {
            // Its effects belong to the same transaction as the statements before and after it.
            self.open();
        }
        match command {
            Command::Begin { tag, modes } => self.begin_command(tag, modes),
            Command::Commit { chain } => self.end_command(true, *chain),
            Command::Rollback { chain } => self.end_command(false, *chain),
            Command::Savepoint(name) => self.savepoint(&name.text),
            Command::Release(name) => self.release(&name.text),
            Command::RollbackTo(name) => self.rollback_to(&name.text),
            Command::TwoPhase(words) => Err(Error::not_supported(words)),
            Command::SetTransaction(modes) => self.set_transaction(modes, portal.is_one_of_many),
            Command::SetSnapshot(name) => self.set_snapshot(name, portal.is_one_of_many),
            Command::SetCharacteristics(modes) => self.set_characteristics(modes),
            Command::Set { local, name, values } => {
                self.set_command(*local, name, values, portal.is_one_of_many)
            }
            Command::Reset(name) => self.reset_command(name.as_deref()),
            Command::AlterSystem { name, values } => {
                self.alter_system(name.as_deref(), values, portal)
            }
            Command::Show(name) => self.show_command(name.as_deref()),
            Command::Discard(what) => self.discard(*what, portal),
            Command::Deallocate(name) => self.deallocate(name.as_ref()),
            Command::Close(name) => self.close_command(name.as_ref()),
            Command::Other(words) => Err(Error::not_supported(words)),
            Command::Prepare { name, types, text, .. } => {
                let prepared = self.prepare_command(&name.text, types, text, &portal.parsed.source);
                prepared.map_err(|error| error.inside(text, &portal.parsed))
            }
            Command::Declare { name, scroll, hold, query, .. } => {
                self.declare(&name.text, *scroll, *hold, query, portal)
            }
            Command::Fetch { cursor, direction, moves } => {
                self.fetch(&cursor.text, *direction, *moves)
            }
            Command::Listen(name) => self.note(Note::Listen(name.text.clone()), "LISTEN"),
            Command::Unlisten(name) => {
                let name = name.as_ref().map(|name| name.text.clone());
                self.note(Note::Unlisten(name), "UNLISTEN")
            }
            Command::Notify { channel, payload } => {
                let payload = payload.clone().unwrap_or_default();
                let note = Note::Notify(channel.text.clone(), payload);
                self.note(note, "NOTIFY")
            }
            Command::SetConstraints { names, deferred } => {
                self.set_constraints(names, *deferred, portal.is_one_of_many)
            }
            Command::Lock { tables, mode, nowait } => {
                self.lock_tables(tables, mode, *nowait, portal.is_one_of_many)
            }
            Command::Maintain { tag, analyzes, tables } => {
                self.maintain((tag, *analyzes), tables, portal)
            }
            Command::Copy(copy) => self.copy(copy, portal),
            Command::Execute { .. } => Err(Error::not_supported("EXECUTE here")),
            Command::Do { .. } => Err(Error::not_supported("DO here")),
            Command::Call { name, args, selects } => self.call_extension(name, args, *selects),
        }
    }

    // --- transactions ----------------------------------------------------------------------------

    fn begin_command(&mut self, tag: &'static str, said: &ast::Modes) -> Result<Work> {
        if let Some(open) = &mut self.transaction {
            if open.block == Block::Explicit {
                self.client.notice(
                    Severity::Warning,
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "there is already a transaction in progress",
                );
                return Ok(done(tag));
            }
            // The changes of the message so far become part of the block.
            open.block = Block::Explicit;
            self.apply_modes(said)?;
            return Ok(done(tag));
        }
        let modes = with(self.default_modes(), said);
        self.begin(Block::Explicit, Some(modes));
        self.tell_modes();
        Ok(done(tag))
    }

    fn end_command(&mut self, commit: bool, chain: bool) -> Result<Work> {
        let tag = if commit { "COMMIT" } else { "ROLLBACK" };
        let Some(open) = &self.transaction else {
            return self.no_block(tag, chain);
        };
        if open.block == Block::Implicit {
            if chain {
                return Err(no_transaction(&format!("{tag} AND CHAIN")));
            }
            self.client.notice(
                Severity::Warning,
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "there is no transaction in progress",
            );
        }
        let (failed, modes) = (open.failed, open.modes);
        if commit && !failed {
            let committed = self.commit();
            if committed.is_err() {
                self.rollback();
            }
            committed?;
        } else {
            self.rollback();
        }
        if chain {
            self.begin(Block::Explicit, Some(modes));
            self.tell_modes();
        }
        Ok(done(if failed { "ROLLBACK" } else { tag }))
    }

    fn no_block(&mut self, tag: &'static str, chain: bool) -> Result<Work> {
        if chain {
            return Err(no_transaction(&format!("{tag} AND CHAIN")));
        }
        self.client.notice(
            Severity::Warning,
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            "there is no transaction in progress",
        );
        Ok(done(tag))
    }

    /// Fails for commands that need an explicit transaction block, outside of one.
    fn need_block(&self, what: &str) -> Result<()> {
        if self.is_block() { Ok(()) } else { Err(no_transaction(what)) }
    }

    /// The present place of the transaction.
    pub(crate) fn mark(&mut self) -> Mark {
        let settings = self.client.settings.get_mut().mark();
        let notes = self.client.notes.get_mut().len();
        let locks = self.client.lock_mark();
        let portals = self.portal_mark();
        let open = self.open();
        let writes = open.inner.as_ref().expect("a transaction that goes on is open").savepoint();
        let draft = open.draft.as_ref().map(table::Draft::savepoint);
        Mark { writes, settings, notes, locks, draft, checks: open.checks.save(), portals }
    }

    fn savepoint(&mut self, name: &str) -> Result<Work> {
        self.need_block("SAVEPOINT")?;
        let mark = self.mark();
        let open = self.open();
        let modes = open.modes;
        open.savepoints.push(Named { name: name.to_owned(), mark, modes });
        Ok(done("SAVEPOINT"))
    }

    fn savepoint_place(&mut self, name: &str) -> Result<usize> {
        let found = self.open().savepoints.iter().rposition(|known| known.name == name);
        found.ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    fn release(&mut self, name: &str) -> Result<Work> {
        self.need_block("RELEASE SAVEPOINT")?;
        let place = self.savepoint_place(name)?;
        let open = self.open();
        let released = open.savepoints.drain(place..).next();
        if let (Some(inner), Some(Named { mark, .. })) = (&mut open.inner, released) {
            // Writes since the savepoint may leave memory.
            inner.release(mark.writes)?;
        }
        Ok(done("RELEASE"))
    }

    fn rollback_to(&mut self, name: &str) -> Result<Work> {
        self.need_block("ROLLBACK TO SAVEPOINT")?;
        let place = self.savepoint_place(name)?;
        let open = self.open();
        open.savepoints.truncate(place + 1);
        let Named { mark, modes, .. } = open.savepoints[place].clone();
        open.failed = false;
        open.modes = modes;
        open.go_back(&mark);
        self.client.settings.get_mut().undo_to(mark.settings);
        self.client.notes.get_mut().truncate(mark.notes);
        self.client.unlock_transaction(mark.locks);
        self.forget_portals(mark.portals);
        Ok(done("ROLLBACK"))
    }

    fn set_transaction(&mut self, said: &ast::Modes, is_one_of_many: bool) -> Result<Work> {
        if !self.is_block() && !is_one_of_many {
            self.client.notice(
                Severity::Warning,
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION can only be used in transaction blocks",
            );
            return Ok(done("SET"));
        }
        self.apply_modes(said)?;
        Ok(done("SET"))
    }

    /// `SET TRANSACTION SNAPSHOT`
    fn set_snapshot(&mut self, name: &str, is_one_of_many: bool) -> Result<Work> {
        if !self.is_block() && !is_one_of_many {
            self.client.notice(
                Severity::Warning,
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION can only be used in transaction blocks",
            );
        }
        let open = self.open();
        let modes = open.modes;
        if open.looked || !open.savepoints.is_empty() {
            let message = "SET TRANSACTION SNAPSHOT must be called before any query";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        if modes.isolation == Isolation::ReadCommitted {
            let message = "a snapshot-importing transaction must have isolation level \
                           SERIALIZABLE or REPEATABLE READ";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let export = self.client.instance.exported.find(name)?;
        export.check(self.client.database_oid, modes.isolation, modes.read_only)?;
        // A transaction that only reads the state of a serializable transaction needs no more than
        // its snapshot.
        let mut inner = self.begin_inner(Isolation::RepeatableRead);
        inner.see_at(export.csn)?;
        let open = self.open();
        (open.inner, open.looked) = (Some(inner), true);
        Ok(done("SET"))
    }

    /// Changes the modes of the open transaction.
    fn apply_modes(&mut self, said: &ast::Modes) -> Result<()> {
        let open = self.open();
        let modes = with(open.modes, said);
        if modes.isolation != open.modes.isolation {
            let what = if open.looked {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            } else if !open.savepoints.is_empty() {
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
            } else {
                ""
            };
            if !what.is_empty() {
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, what));
            }
            let inner = self.begin_inner(modes.isolation);
            self.open().inner = Some(inner);
        }
        if !modes.read_only && self.client.instance.engine.is_follower() {
            let message = "cannot set transaction read-write mode during recovery";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let open = self.open();
        if open.modes.read_only && !modes.read_only && open.looked {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "transaction read-write mode must be set before any query",
            ));
        }
        open.modes = modes;
        self.tell_modes();
        Ok(())
    }

    /// Shows the modes of the transaction in the settings of their names, until it ends.
    fn tell_modes(&mut self) {
        let Some(open) = &self.transaction else { return };
        let modes = open.modes;
        let settings = self.client.settings.get_mut();
        let switch = |on: bool| if on { "on" } else { "off" };
        for (name, value) in [
            ("transaction_isolation", modes.isolation_words()),
            ("transaction_read_only", switch(modes.read_only)),
            ("transaction_deferrable", switch(modes.deferrable)),
        ] {
            settings.set(name, Some(value), Extent::Local).expect("the value is one of them");
        }
    }

    fn set_characteristics(&mut self, said: &ast::Modes) -> Result<Work> {
        // The transaction that is open stays as it is.
        self.tell_modes();
        let settings = self.client.settings.get_mut();
        let switch = |on: bool| if on { "on" } else { "off" };
        if let Some(isolation) = said.isolation {
            settings.set("default_transaction_isolation", Some(isolation), Extent::Session)?;
        }
        if let Some(read_only) = said.read_only {
            let value = Some(switch(read_only));
            settings.set("default_transaction_read_only", value, Extent::Session)?;
        }
        if let Some(deferrable) = said.deferrable {
            let value = Some(switch(deferrable));
            settings.set("default_transaction_deferrable", value, Extent::Session)?;
        }
        self.keep_settings();
        Ok(done("SET"))
    }

    // --- settings --------------------------------------------------------------------------------

    /// Outside of a transaction block what was set holds at once.
    fn keep_settings(&mut self) {
        if self.transaction.is_none() {
            self.client.settings.get_mut().commit();
        }
    }

    fn set_command(
        &mut self,
        local: bool,
        name: &str,
        values: &[SetValue],
        is_one_of_many: bool,
    ) -> Result<Work> {
        if local && !self.is_block() && !is_one_of_many {
            self.client.notice(
                Severity::Warning,
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET LOCAL can only be used in transaction blocks",
            );
        }
        let text = setting_text(name, values)?;
        if text.is_none() {
            may_reset(name)?;
        }
        let extent = if local { Extent::Local } else { Extent::Session };
        self.set_setting(name, text.as_deref(), extent)?;
        self.keep_settings();
        Ok(done("SET"))
    }

    /// Sets a setting, and does what some of them mean.
    pub(crate) fn set_setting(
        &mut self,
        name: &str,
        text: Option<&str>,
        extent: Extent,
    ) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        if lower.strip_prefix("default_").is_some_and(settings::is_of_transaction) {
            // The transaction that is open stays as it is.
            self.tell_modes();
        }
        if settings::is_of_transaction(&lower) {
            self.open();
            self.tell_modes();
            self.client.settings.get_mut().set(name, text, Extent::Local)?;
            let settings = self.client.settings.get_mut();
            let said = ast::Modes {
                isolation: match settings.text("transaction_isolation") {
                    "serializable" => Some("serializable"),
                    "repeatable read" => Some("repeatable read"),
                    "read uncommitted" => Some("read uncommitted"),
                    _ => Some("read committed"),
                },
                read_only: Some(settings.bool("transaction_read_only")),
                deferrable: Some(settings.bool("transaction_deferrable")),
            };
            return self.apply_modes(&said);
        }
        if lower == "default_table_access_method" {
            self.check_method(text)?;
        }
        let roles = self.roles();
        self.client.set(name, text, extent, &roles)?;
        if lower == "application_name" {
            let settings = self.client.settings.get_mut();
            let application = settings.text("application_name").to_owned();
            self.client.slot.status.set_application(&application);
        }
        Ok(())
    }

    /// `ALTER SYSTEM`
    fn alter_system(
        &mut self,
        name: Option<&str>,
        values: &[SetValue],
        portal: &Portal,
    ) -> Result<Work> {
        self.look()?;
        if !self.names.is_superuser {
            let message = match name {
                Some(name) => format!("permission denied to set parameter \"{name}\""),
                None => "permission denied to perform ALTER SYSTEM RESET ALL".to_owned(),
            };
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.must_be_alone("ALTER SYSTEM", portal)?;
        let value = match name {
            Some(name) => setting_text(name, values)?,
            None => None,
        };
        self.client.instance.configuration.alter(name, value.as_deref())?;
        Ok(done("ALTER SYSTEM"))
    }

    /// Fails with 22023 where a new value of `default_table_access_method` names no access method.
    fn check_method(&self, name: Option<&str>) -> Result<()> {
        let Some(name) = name else { return Ok(()) };
        self.client.instance.handles.methods().named(name).map(drop).map_err(|_| {
            let setting = "default_table_access_method";
            let message = format!("invalid value for parameter \"{setting}\": \"{name}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .detail(format!("Table access method \"{name}\" does not exist."))
        })
    }

    fn reset_command(&mut self, name: Option<&str>) -> Result<Work> {
        match name {
            None => {
                self.tell_modes();
                self.client.settings.get_mut().reset_all();
            }
            Some(name) => {
                if self.client.settings.get_mut().show(name).is_none() {
                    return Err(settings::unknown(name));
                }
                may_reset(name)?;
                self.set_setting(name, None, Extent::Session)?;
            }
        }
        self.keep_settings();
        Ok(done("RESET"))
    }

    fn show_command(&mut self, name: Option<&str>) -> Result<Work> {
        let settings = self.client.settings.get_mut();
        let mut rows = VecDeque::new();
        match name {
            Some(name) => {
                let value = settings.show(name).ok_or_else(|| settings::unknown(name))?;
                rows.push_back(vec![Datum::text(value)]);
            }
            None => {
                for (known, value) in settings.all() {
                    let value = settings::value::show(known, value);
                    rows.push_back(vec![
                        Datum::text(known.name),
                        Datum::text(value),
                        Datum::text(""),
                    ]);
                }
            }
        }
        Ok(Work::Rows { rows, tag: Tag::plain("SHOW") })
    }

    // --- throwing away ---------------------------------------------------------------------------

    fn discard(&mut self, what: Discard, portal: &Portal) -> Result<Work> {
        let tag = match what {
            Discard::Plans => "DISCARD PLANS",
            Discard::Sequences => {
                self.client.sequences.get_mut().clear();
                "DISCARD SEQUENCES"
            }
            Discard::Temp => {
                self.discard_temporary()?;
                "DISCARD TEMP"
            }
            Discard::All => {
                self.must_be_alone("DISCARD ALL", portal)?;
                let roles = self.roles();
                self.client.set("session_authorization", None, Extent::Session, &roles)?;
                self.client.settings.get_mut().reset_all();
                self.portals.clear();
                self.cursors.clear();
                self.statements.clear();
                self.client.instance.hub.forget(self.client.slot.process);
                self.client.unlock_session();
                *self.client.writing.get_mut() = None;
                self.discard_temporary()?;
                self.client.sequences.get_mut().clear();
                self.keep_settings();
                "DISCARD ALL"
            }
        };
        Ok(done(tag))
    }

    fn deallocate(&mut self, name: Option<&ast::Name>) -> Result<Work> {
        match name {
            None => {
                self.statements.clear();
                Ok(done("DEALLOCATE ALL"))
            }
            Some(name) => {
                self.prepared(&name.text)?;
                self.statements.remove(&name.text);
                Ok(done("DEALLOCATE"))
            }
        }
    }

    fn close_command(&mut self, name: Option<&ast::Name>) -> Result<Work> {
        match name {
            None => {
                self.portals.clear();
                self.cursors.clear();
                Ok(done("CLOSE CURSOR ALL"))
            }
            Some(name) if self.cursors.remove(&name.text).is_some() => Ok(done("CLOSE CURSOR")),
            Some(name) if self.portals.remove(&name.text).is_some() => Ok(done("CLOSE CURSOR")),
            Some(name) => Err(no_cursor(&name.text)),
        }
    }
}

/// Fails for the settings that have no value to go back to.
fn may_reset(name: &str) -> Result<()> {
    if settings::is_of_transaction(name) || name.eq_ignore_ascii_case("seed") {
        let message = format!("parameter \"{name}\" cannot be reset");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(())
}

/// The error for a cursor that there is not.
pub(crate) fn no_cursor(name: &str) -> Error {
    let message = format!("cursor \"{name}\" does not exist");
    Error::new(SqlState::INVALID_CURSOR_NAME, message)
}

fn no_transaction(what: &str) -> Error {
    let message = format!("{what} can only be used in transaction blocks");
    Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message)
}

/// The modes with what was said of them.
fn with(mut modes: Modes, said: &ast::Modes) -> Modes {
    if let Some(isolation) = said.isolation {
        modes.set_isolation(isolation);
    }
    modes.read_only = said.read_only.unwrap_or(modes.read_only);
    modes.deferrable = said.deferrable.unwrap_or(modes.deferrable);
    modes
}

/// The value of `SET`, as one text; `None` for the default.
pub(crate) fn setting_text(name: &str, values: &[SetValue]) -> Result<Option<String>> {
    let is_list = ["search_path", "datestyle", "temp_tablespaces", "local_preload_libraries"]
        .contains(&name.to_ascii_lowercase().as_str());
    if values.len() > 1 && !is_list {
        let message = format!("SET {name} takes only one argument");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let texts: Vec<String> = values
        .iter()
        .map(|value| match value {
            SetValue::Word(text) | SetValue::String(text)
                if name.eq_ignore_ascii_case("search_path") =>
            {
                Ok(scalar::quote::identifier(text))
            }
            SetValue::Word(text) | SetValue::String(text) | SetValue::Number(text) => {
                Ok(text.clone())
            }
            SetValue::Interval(text) => hours(text),
        })
        .collect::<Result<_>>()?;
    Ok((!texts.is_empty()).then(|| texts.join(", ")))
}

/// The zone of `SET TIME ZONE INTERVAL '...'`, in hours east of Greenwich.
fn hours(text: &str) -> Result<String> {
    let fields = IntervalFields::HOUR_TO_MINUTE;
    let interval = Interval::parse(text, IntervalStyle::Postgres, fields)?;
    let refused = match (interval.months, interval.days) {
        (0, 0) => return Ok((interval.us as f64 / 3_600e6).to_string()),
        (0, _) => "days",
        _ => "months",
    };
    let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        .detail(format!("Cannot specify {refused} in time zone interval.")))
}
