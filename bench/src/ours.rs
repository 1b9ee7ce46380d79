//! Anywhen, embedded: the only file of the benchmarks that calls it.
//!
//! Everything goes through the public API, as a program that embeds the database would use it; one
//! collection, default settings, every commit durable before it returns, unless said otherwise.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anywhen::{
    ChangeOp, Collection, Create, Database, Durability, Meta, Moment, Options, Revision,
};

use crate::Result;
use crate::peer::Change;

const COLLECTION: &str = "bench";

/// A database with one collection.
pub struct Ours {
    database: Database,
    collection: Collection,
    folder: PathBuf,
}

/// Bytes that a database uses.
pub struct Footprint {
    /// Every file but those of the log.
    pub files: u64,
    /// Written to the log since the database was opened.
    pub log: u64,
}

impl Ours {
    /// A new database in `folder`, whatever was there before.
    pub fn create(folder: &Path) -> Result<Self> {
        Self::create_with(folder, Durability::Sync)
    }

    /// As [`Ours::create`], with commits only as durable as the operating system: for histories whose
    /// making is not timed.
    pub fn create_relaxed(folder: &Path) -> Result<Self> {
        Self::create_with(folder, Durability::Os)
    }

    fn create_with(folder: &Path, durability: Durability) -> Result<Self> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut options = Options::default();
        options.create = Create::New;
        options.durability = durability;
        Self::over(Database::open_with(folder, options)?, folder)
    }

    /// A database that is there already.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::over(Database::open(folder)?, folder)
    }

    /// A database that is there already, with so many bytes for its cache.
    pub fn open_with_cache(folder: &Path, cache_bytes: usize) -> Result<Self> {
        let mut options = Options::default();
        (options.create, options.cache_bytes) = (Create::Never, cache_bytes);
        Self::over(Database::open_with(folder, options)?, folder)
    }

    fn over(database: Database, folder: &Path) -> Result<Self> {
        let collection = database.collection(COLLECTION)?;
        Ok(Ours { database, collection, folder: folder.to_owned() })
    }

    /// Closes the database.
    pub fn close(self) -> Result<()> {
        drop(self.collection);
        Ok(self.database.close()?)
    }

    /// Stores a whole document.
    pub fn put(&self, key: &str, json: &str) -> Result<()> {
        self.collection.put(key, json)?;
        Ok(())
    }

    /// Stores a whole document that was made at a time, in microseconds since 1970.
    pub fn put_authored(&self, key: &str, json: &str, authored_us: u64) -> Result<()> {
        let meta = Meta { authored_us: Some(authored_us), ..Meta::default() };
        self.collection.put_with(key, json, &meta)?;
        Ok(())
    }

    /// Sets one value: one commit.
    pub fn set(&self, key: &str, path: &str, value: &str) -> Result<()> {
        self.collection.edit(key, |document| document.set(path, value).map(drop))?;
        Ok(())
    }

    /// Sets values of several documents (key, path, value): one commit.
    pub fn together(&self, sets: impl Iterator<Item = (String, String, String)>) -> Result<()> {
        let mut transaction = self.database.begin()?;
        for (key, path, value) in sets {
            let mut collection = transaction.collection(COLLECTION)?;
            collection.edit(&key, |document| document.set(path, value).map(drop))?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Sets one value: one commit that says who and why.
    pub fn set_with(
        &self,
        key: &str,
        path: &str,
        value: &str,
        author: &str,
        message: &str,
    ) -> Result<()> {
        self.collection.edit_with(key, &Meta::new(author, message), |document| {
            document.set(path, value).map(drop)
        })?;
        Ok(())
    }

    /// Writes a revision as JSON text to the end of `out`.
    pub fn read(&self, key: &str, revision: u32, out: &mut Vec<u8>) -> Result<()> {
        self.read_moment(key, Moment::Revision(Revision(u64::from(revision))), out)
    }

    /// Writes the version of a time, in microseconds since 1970, as JSON text to the end of `out`.
    pub fn read_at(&self, key: &str, time_us: u64, out: &mut Vec<u8>) -> Result<()> {
        self.read_moment(key, Moment::Time(time_us), out)
    }

    fn read_moment(&self, key: &str, moment: Moment, out: &mut Vec<u8>) -> Result<()> {
        let document = self.collection.at(moment).get(key)?.ok_or("the document is not there")?;
        Ok(document.write_json(out)?)
    }

    /// One integer of a revision.
    pub fn integer_at(&self, key: &str, revision: u32, path: &str) -> Result<i64> {
        let document = self
            .collection
            .at(Revision(u64::from(revision)))
            .get(key)?
            .ok_or("the document is not there")?;
        Ok(document.value(path)?.ok_or("the value is not there")?.parse()?)
    }

    /// The time of every revision, oldest first, in microseconds since 1970.
    pub fn timestamps(&self, key: &str) -> Result<Vec<u64>> {
        Ok(self.collection.timestamps(key)?)
    }

    /// Lists the newest revisions: how many, and the bytes of their authors and messages.
    pub fn history(&self, key: &str, limit: usize) -> Result<(u32, usize)> {
        let (mut versions, mut words) = (0, 0);
        for revision in &self.collection.history(key, limit)? {
            versions += 1;
            words += revision.author.len() + revision.message.len();
        }
        Ok((versions, words))
    }

    /// An integer over all versions: how many times it was set, and the sum.
    pub fn scan_integers(&self, key: &str, path: &str) -> Result<(i64, i64)> {
        let (mut count, mut sum) = (0, 0);
        self.collection.scan_values(key, path, |_, value| {
            if let Some(value) = value {
                count += 1;
                // Counters are short runs of digits: nothing else is in this field.
                sum += value
                    .text
                    .iter()
                    .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
            }
        })?;
        Ok((count, sum))
    }

    /// How many different values a node had, one after another, over all versions.
    pub fn value_runs(&self, key: &str, path: &str) -> Result<usize> {
        let mut runs = 0;
        self.collection.scan_values(key, path, |_, value| runs += usize::from(value.is_some()))?;
        Ok(runs)
    }

    /// The changes between two revisions, node by node.
    pub fn diff(&self, key: &str, from: u32, to: u32) -> Result<Vec<Change>> {
        let diff = self.collection.diff(key, Revision(u64::from(from)), Revision(u64::from(to)))?;
        Ok(diff
            .changes
            .iter()
            .map(|change| {
                let (old, new) = match &change.op {
                    ChangeOp::Update { old, new, .. } => (Some(old.clone()), Some(new.clone())),
                    _ => (None, None),
                };
                (change.path.to_string(), old, new)
            })
            .collect())
    }

    /// The number of revisions of a document.
    pub fn newest(&self, key: &str) -> Result<u64> {
        Ok(self.collection.newest(key)?.0)
    }

    /// Merges all files into few.
    pub fn compact(&self) -> Result<()> {
        Ok(self.database.compact()?)
    }

    /// Writes what is only in memory and in the log to segments.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.database.checkpoint()?)
    }

    /// Bytes on disk after a checkpoint.
    pub fn footprint(&self) -> Result<Footprint> {
        self.checkpoint()?;
        Ok(Footprint {
            files: bytes_below(&self.folder, "log")?,
            log: self.database.stats().log_appended_bytes,
        })
    }
}

/// Length of all files in a folder and the folders in it, but for the folder `without`.
fn bytes_below(folder: &Path, without: &str) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if entry.file_name() != without {
                bytes += bytes_below(&entry.path(), without)?;
            }
        } else {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// A server in a process of its own, as PostgreSQL is: Anywhen's, or a floor under one.
pub struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts Anywhen's SQL server on a new data folder and a free port.
    pub fn start(folder: &Path) -> Result<Self> {
        Self::start_as("serve", folder, &[])
    }

    /// The same with more arguments.
    pub fn start_with(folder: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start_as("serve", folder, arguments)
    }

    /// Starts Anywhen's HTTP server, likewise.
    pub fn start_http(folder: &Path) -> Result<Self> {
        Self::start_as("serve-http", folder, &[])
    }

    /// Starts what a hidden command of this program serves: it says where on its first line, and ends
    /// with its standard input.
    pub fn start_as(command: &str, path: &Path, arguments: &[&str]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(command)
            .arg(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| "the server did not start")?;
        Ok(Server { process, address })
    }

    /// Starts Anywhen's SQL server on a data folder that is there.
    pub fn restart(folder: &Path) -> Result<Self> {
        Self::start_as("serve", folder, &[])
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it at once, as a power failure would.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The process of [`Server::start`]: serves a folder, prints the address, and ends when its standard
/// input does.
pub fn serve(folder: &Path, cache_bytes: usize) -> Result<()> {
    let mut options = Options::default();
    options.cache_bytes = cache_bytes;
    let database = Database::open_with(folder, options)?;
    let options = server::Options {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        ..server::Options::default()
    };
    let handle = server::Server::start(database.instance()?, options)?;
    println!("{}", handle.addresses()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    handle.shutdown();
    Ok(())
}

/// The process of [`Server::start_http`].
pub fn serve_http(folder: &Path) -> Result<()> {
    let database = Database::create(folder)?;
    let options =
        http::Options { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], ..Default::default() };
    let handle = http::Server::start(database, options)?;
    println!("{}", handle.addresses()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    handle.shutdown();
    Ok(())
}
