//! SQL inside the program: connections to the same database, without a server.
//!
//! ```text
//!   Database ──connect()──> Connection ── query(text, parameters) ──> Rows ── Row::get::<T>
//!      │                        └─ batch(text)     many statements, one implicit transaction
//!      └─ instance()        what a server serves: the sessions of clients and of the program are alike
//! ```
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = anywhen::Database::open_in_memory()?;
//! let mut sql = db.connect()?;
//! sql.batch("CREATE TABLE person (id int PRIMARY KEY, name text)")?;
//! sql.execute("INSERT INTO person VALUES ($1, $2)", &[&1, &"Ada"])?;
//! let rows = sql.query("SELECT name FROM person WHERE id = $1", &[&1])?;
//! assert_eq!(rows.get(0).unwrap().get::<String>("name")?, "Ada");
//! # Ok(())
//! # }
//! ```
//!
//! The first use of SQL in a database writes the catalog with which it begins; a database that is used
//! for documents alone has none.

mod answer;
#[cfg(feature = "arrow")]
mod arrow;
mod backups;
mod documents;
mod rows;
mod values;

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use session::{Done, Instance, Output, Params, Portal, Session, StartUp};
use types::{Context, SqlState};
use vfs::Env;

pub use answer::Answer;
#[cfg(feature = "arrow")]
pub use arrow::{Batches, Columns};
pub use rows::{Row, Rows};
pub use scalar::Dates;
pub use session::{
    ByteSpool, Column, DocumentRights, Error, KnownRole, SpooledBytes, Tag, file_reader,
};
pub use types::{Datum, Oid, Type};
pub use values::{FromSql, ToSql};

use crate::Database;

/// A function that is called with each row: the columns and the texts of its values, `None` for
/// NULL.
pub type Each<'a> = &'a mut dyn FnMut(&[Column], &[Option<String>]) -> ControlFlow<()>;

/// The result of SQL.
pub type Result<T> = std::result::Result<T, Error>;

/// The settings that `ALTER SYSTEM` has set in the folder of a database, with their values. Lines with an error are
/// left out.
///
/// # Errors
/// Fails if their file cannot be read.
pub fn kept_settings(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let lines = session::configuration::read_file(&Env::os(), folder)?.into_iter();
    let good = lines.filter(|line| line.error.is_none());
    Ok(good.map(|line| (line.name, line.value)).collect())
}

/// Parses a text as the whole-number value of a setting, in the unit of `pg_settings`; `None` if it is none.
pub fn setting_number(name: &str, value: &str) -> Option<u64> {
    session::configuration::number(name, value)
}

/// The name of a type as SQL writes it, such as `integer`; the number of one that is not built in.
pub fn type_name(ty: Type) -> String {
    let facts = types::builtin::facts(ty);
    facts.map_or_else(|| ty.0.0.to_string(), |facts| facts.sql_name())
}

/// The role of a program that has the folder: it may do everything.
const USER: &str = "postgres";
/// Bytes that a file is read in for `COPY`.
const COPY_BYTES: usize = 64 << 10;

impl Database {
    /// The instance that a server serves; made when it is first asked for.
    ///
    /// # Errors
    /// Fails if the catalog of SQL cannot be read, or cannot be written in a new database.
    pub fn instance(&self) -> Result<Arc<Instance>> {
        let mut instance = self.shared.instance.lock();
        if let Some(instance) = &*instance {
            return Ok(Arc::clone(instance));
        }
        let options = session::Options {
            env: self.shared.env.clone(),
            settings: self.shared.sql.settings.clone(),
            defaults: self.shared.sql.defaults.clone(),
            folder: Some(self.path().to_owned()),
            memory_bytes_max: self.shared.sql.statement_bytes,
            memory_total_bytes: self.shared.sql.statements_bytes,
            temporary: Some(self.path().join("temporary")),
        };
        let _nothing_is_applied = self.shared.applying.write();
        let shared = &self.shared;
        let (collections, objects) = (&shared.collections, &shared.objects);
        let opened = Instance::open_beside(Arc::clone(collections), Arc::clone(objects), options)?;
        opened.make_backups_by(Box::new(backups::SqlBackups(Arc::downgrade(&self.shared))));
        *instance = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// A connection for SQL in the database `postgres`, as the role that may do everything.
    ///
    /// # Errors
    /// As [`Database::instance`].
    pub fn connect(&self) -> Result<Connection> {
        self.connect_to(USER)
    }

    /// The same, in a database that `CREATE DATABASE` has made.
    ///
    /// # Errors
    /// As [`Database::instance`]; `3D000` where there is no such database.
    pub fn connect_to(&self, database: &str) -> Result<Connection> {
        let start = StartUp {
            user: USER.to_owned(),
            database: database.to_owned(),
            embedded: true,
            ..StartUp::default()
        };
        self.begin_session(start)
    }

    /// A connection for an authenticated client, with the rights of a role that may log in: for servers of
    /// other protocols.
    ///
    /// # Errors
    /// As [`Database::connect_to`]; `28000` where there is no such role or it may not log in, `42501` where it may
    /// not connect to the database, `53300` where it has too many connections.
    pub fn connect_as(&self, who: &LogIn<'_>) -> Result<Connection> {
        let LogIn { role, database, author } = *who;
        self.begin_session(StartUp {
            user: role.to_owned(),
            database: database.to_owned(),
            settings: vec![("commit.author".to_owned(), author.to_owned())],
            ..StartUp::default()
        })
    }

    fn begin_session(&self, start: StartUp) -> Result<Connection> {
        let instance = self.instance()?;
        Ok(Connection { session: instance.connect(start)?, instance, prepared: 0 })
    }

    /// Runs one statement on a connection of its own.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn sql(&self, text: &str, parameters: &[&dyn ToSql]) -> Result<Rows> {
        self.connect()?.query(text, parameters)
    }
}

/// The role and database of a connection: [`Database::connect_as`].
#[derive(Clone, Copy, Debug)]
pub struct LogIn<'a> {
    /// The role.
    pub role: &'a str,
    /// The database.
    pub database: &'a str,
    /// The author of what it commits, unless `commit.author` says otherwise; empty for the role.
    pub author: &'a str,
}

/// A connection: a session with its transaction and settings. A transaction that is open when it is
/// dropped is rolled back.
pub struct Connection {
    session: Session,
    instance: Arc<Instance>,
    /// Statements prepared so far.
    prepared: u64,
}

/// A statement that was prepared on a connection.
#[derive(Clone, Debug)]
pub struct Statement {
    name: String,
    /// The types of its parameters, found from where they stand.
    pub params: Vec<Type>,
    /// The columns of its rows; none if it gives no rows.
    pub columns: Vec<Column>,
}

impl Connection {
    /// Runs one statement and gives its rows. Parameters stand in the text as `$1`, `$2` and so on.
    ///
    /// # Errors
    /// PostgreSQL's error for the statement, with its code; the transaction has failed then.
    pub fn query(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Rows> {
        let done = self.run(text, parameters);
        self.settle(done)
    }

    /// Runs one statement and gives the number of rows that it changed, or found.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn execute(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<u64> {
        Ok(self.query(text, parameters)?.tag.rows.unwrap_or(0))
    }

    /// Reads and plans a statement once, to be run many times with [`Connection::query_prepared`].
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn prepare(&mut self, text: &str) -> Result<Statement> {
        self.prepared += 1;
        let name = format!("anywhen {}", self.prepared);
        let described = self.session.parse(&name, text, &[]).and_then(|()| {
            let described = self.session.describe_statement(&name)?;
            let columns = described.columns.unwrap_or_default().to_vec();
            Ok(Statement { params: described.params.to_vec(), columns, name })
        });
        self.settle(described)
    }

    /// Runs a prepared statement and gives its rows.
    ///
    /// # Errors
    /// As [`Connection::query`], and `26000` for a statement of another connection.
    pub fn query_prepared(
        &mut self,
        statement: &Statement,
        parameters: &[&dyn ToSql],
    ) -> Result<Rows> {
        let done = self.run_bound(&statement.name, parameters);
        self.settle(done)
    }

    /// Forgets a prepared statement.
    pub fn close(&mut self, statement: Statement) {
        self.session.close_statement(&statement.name);
    }

    /// Runs any number of statements; outside of a transaction block they are one transaction together.
    ///
    /// # Errors
    /// As [`Connection::query`], of the first that fails; nothing of the transaction remains.
    pub fn batch(&mut self, text: &str) -> Result<Vec<Rows>> {
        let done = self.run_all(text);
        self.settle(done)
    }

    /// Runs one statement and shows each of its rows as it comes, as the texts that PostgreSQL shows,
    /// `None` for NULL; it ends early where `each` says so. Parameters are texts as well. Returns the
    /// columns and what was done.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn each(
        &mut self,
        text: &str,
        parameters: &[Option<String>],
        each: Each<'_>,
    ) -> Result<(Vec<Column>, Tag)> {
        let done = self.show(text, parameters, each);
        self.settle(done)
    }

    /// Runs `COPY ... FROM STDIN` with the data that `from` gives; returns the number of rows.
    ///
    /// # Errors
    /// As [`Connection::query`], and `58030` where `from` cannot be read.
    pub fn copy_in(&mut self, text: &str, from: &mut dyn Read) -> Result<u64> {
        let done = self.take_copy(text, from);
        Ok(self.settle(done)?.rows.unwrap_or(0))
    }

    /// Runs `COPY ... TO STDOUT` and writes the data to `to`; returns the number of rows.
    ///
    /// # Errors
    /// As [`Connection::query`], and `58030` where `to` cannot be written.
    pub fn copy_out(&mut self, text: &str, to: &mut dyn Write) -> Result<u64> {
        let done = self.give_copy(text, to);
        Ok(self.settle(done)?.rows.unwrap_or(0))
    }

    /// The notices that statements have left since the last call.
    pub fn notices(&mut self) -> Vec<Error> {
        self.session.take_messages().notices
    }

    /// True if the next statement is part of a transaction block that was begun before.
    pub fn is_in_transaction(&self) -> bool {
        self.session.status() != session::Status::Idle
    }

    /// True inside a transaction block that has failed: all is refused until it ends.
    pub fn is_in_failed_transaction(&self) -> bool {
        self.session.status() == session::Status::Failed
    }

    /// The newest transaction that was begun here, which may have ended; `None` before the first.
    pub fn newest_transaction(&self) -> Option<txn::TxnId> {
        self.session.newest_transaction()
    }

    /// The text of a value as PostgreSQL shows it under the settings of this connection; `None` for NULL.
    pub fn text(&self, value: &Datum, column: &Column) -> Option<String> {
        let context = self.session.style();
        types::text::to_string(value.as_ref(), column.ty, column.modifier, &context)
    }

    /// A function that tells the statement that runs on this connection to stop (57014), from another
    /// thread. It does not keep the database open.
    pub fn canceller(&self) -> impl Fn() + Send + Sync + use<> {
        let instance = Arc::downgrade(&self.instance);
        let (process, secret) = (self.session.process_id(), self.session.secret().to_vec());
        move || {
            if let Some(instance) = instance.upgrade() {
                instance.cancel(process, &secret);
            }
        }
    }

    /// The session below.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Ends what a request began: its implicit transaction, or the transaction that failed.
    fn settle<T>(&mut self, done: Result<T>) -> Result<T> {
        let done = self.end(done);
        self.session.rest();
        done
    }

    fn end<T>(&mut self, done: Result<T>) -> Result<T> {
        let value = match done {
            Ok(value) => value,
            Err(error) => {
                self.session.fail();
                // The rest has failed for the reported reason.
                let _ = self.session.end();
                return Err(error);
            }
        };
        if let Err(error) = self.session.end() {
            self.session.fail();
            return Err(error);
        }
        Ok(value)
    }

    fn run(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Rows> {
        if parameters.is_empty() {
            let mut all = self.run_all(text)?;
            return match all.len() {
                0 | 1 => Ok(all.pop().unwrap_or_default()),
                _ => {
                    let message = "cannot insert multiple commands into a prepared statement";
                    Err(Error::new(SqlState::SYNTAX_ERROR, message))
                }
            };
        }
        self.session.parse("", text, &[])?;
        self.run_bound("", parameters)
    }

    /// Gives a prepared statement its parameters.
    fn bind_texts(&mut self, statement: &str, parameters: &[&dyn ToSql]) -> Result<()> {
        let texts: Vec<Option<String>> = parameters.iter().map(|value| value.to_sql()).collect();
        let values: Vec<Option<&[u8]>> =
            texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
        self.session.bind("", statement, &Params { formats: &[], values: &values }, &[])
    }

    fn run_bound(&mut self, statement: &str, parameters: &[&dyn ToSql]) -> Result<Rows> {
        self.bind_texts(statement, parameters)?;
        let columns = self.session.portal("")?.columns().unwrap_or_default().to_vec();
        let mut rows = Rows { columns, ..Rows::default() };
        rows.tag = self.give_rows(&mut rows)?;
        Ok(rows)
    }

    /// Runs what was bound to its end.
    fn give_rows(&mut self, out: &mut dyn Output) -> Result<Tag> {
        loop {
            match self.session.execute_named("", 0, out)? {
                Done::Complete(tag) => return Ok(tag),
                Done::More | Done::Blocked => {}
                Done::Suspended | Done::Empty => return Ok(Tag::plain("")),
                Done::CopyIn(_) | Done::CopyOut(_) => return Err(no_copy()),
            }
        }
    }

    fn show(
        &mut self,
        text: &str,
        parameters: &[Option<String>],
        each: Each<'_>,
    ) -> Result<(Vec<Column>, Tag)> {
        self.session.parse("", text, &[])?;
        let values: Vec<Option<&[u8]>> =
            parameters.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
        self.session.bind("", "", &Params { formats: &[], values: &values }, &[])?;
        let columns = self.session.portal("")?.columns().unwrap_or_default().to_vec();
        let mut shown = Shown { each, texts: Vec::new(), is_over: false };
        loop {
            match self.session.execute_named("", 0, &mut shown)? {
                Done::Complete(tag) => return Ok((columns, tag)),
                _ if shown.is_over => return Ok((columns, Tag::plain(""))),
                Done::More | Done::Blocked => {}
                Done::Suspended | Done::Empty => return Ok((columns, Tag::plain(""))),
                Done::CopyIn(_) | Done::CopyOut(_) => return Err(no_copy()),
            }
        }
    }

    fn run_all(&mut self, text: &str) -> Result<Vec<Rows>> {
        let statements = self.session.read(text)?;
        let alone = statements.len() == 1;
        let mut all = Vec::new();
        for statement in statements {
            let mut portal = self.session.start(statement, alone)?;
            let columns = portal.columns().unwrap_or_default().to_vec();
            let mut rows = Rows { columns, ..Rows::default() };
            rows.tag = match self.drive(&mut portal, &mut rows)? {
                Done::Complete(tag) => tag,
                Done::CopyIn(_) | Done::CopyOut(_) => return Err(no_copy()),
                _ => continue,
            };
            all.push(rows);
        }
        Ok(all)
    }

    /// Runs a portal until it is done, or wants data.
    fn drive(&mut self, portal: &mut Portal, out: &mut dyn Output) -> Result<Done> {
        loop {
            match self.session.execute(portal, 0, out)? {
                Done::More | Done::Blocked => {}
                done => return Ok(done),
            }
        }
    }

    fn only(&mut self, text: &str) -> Result<Portal> {
        let mut statements = self.session.read(text)?;
        match (statements.pop(), statements.is_empty()) {
            // Not by itself the end of its transaction: it is looked at what came of it first.
            (Some(statement), true) => self.session.start(statement, false),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, "one COPY statement is expected")),
        }
    }

    fn take_copy(&mut self, text: &str, from: &mut dyn Read) -> Result<Tag> {
        let mut portal = self.only(text)?;
        match self.drive(&mut portal, &mut Rows::default())? {
            Done::CopyIn(_) => {}
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "this statement takes no data")),
        }
        let mut bytes = vec![0; COPY_BYTES];
        loop {
            match from.read(&mut bytes) {
                Ok(0) => return self.session.copy_end(),
                Ok(read) => self.session.copy_in(&bytes[..read])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::new(SqlState::IO_ERROR, format!("could not read: {error}")));
                }
            }
        }
    }

    fn give_copy(&mut self, text: &str, to: &mut dyn Write) -> Result<Tag> {
        let mut portal = self.only(text)?;
        let mut sink = Sink { to, failed: None };
        let mut is_copy = false;
        loop {
            let done = self.session.execute(&mut portal, 0, &mut sink)?;
            if let Some(error) = sink.failed.take() {
                return Err(Error::new(SqlState::IO_ERROR, format!("could not write: {error}")));
            }
            match done {
                Done::Complete(tag) if is_copy => return Ok(tag),
                Done::More | Done::Blocked => {}
                Done::CopyOut(_) => is_copy = true,
                _ => {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "this statement gives no data"));
                }
            }
        }
    }
}

fn no_copy() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY wants a stream")
        .hint("Connection::copy_in and copy_out take one.")
}

/// Shows rows as texts.
struct Shown<'a> {
    each: Each<'a>,
    /// The texts of one row, used again for the next.
    texts: Vec<Option<String>>,
    is_over: bool,
}

impl Output for Shown<'_> {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.texts.clear();
        for (value, column) in row.iter().zip(columns) {
            let (ty, modifier) = (column.ty, column.modifier);
            let text = types::text::try_to_string(value.as_ref(), ty, modifier, context)?;
            self.texts.push(text);
        }
        let goes_on = (self.each)(columns, &self.texts);
        self.is_over = goes_on.is_break();
        Ok(goes_on)
    }
}

/// Where the data of `COPY` go.
struct Sink<'a> {
    to: &'a mut dyn Write,
    failed: Option<std::io::Error>,
}

impl Output for Sink<'_> {
    fn row(
        &mut self,
        _row: &[Datum],
        _columns: &[Column],
        _context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        match self.to.write_all(data) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
