//! Anywhen: a database that keeps every version of everything, in a process.
//!
//! ```
//! # fn main() -> anywhen::Result<()> {
//! use anywhen::{Database, Revision};
//!
//! let db = Database::open_in_memory()?;
//! let articles = db.collection("articles")?;
//! articles.put("a1", r#"{"title": "Anywhen", "counter": 0}"#)?;
//! articles.edit("a1", |doc| doc.set("$.counter", "1"))?;
//!
//! let now = articles.get("a1")?.expect("it was put");
//! assert_eq!(now.to_json()?, r#"{"title":"Anywhen","counter":1}"#);
//! let then = articles.at(Revision(1)).get("a1")?.expect("it was there");
//! assert_eq!(then.to_json()?, r#"{"title":"Anywhen","counter":0}"#);
//!
//! let runs = articles.node_history("a1", "$.counter")?;
//! assert_eq!(runs.iter().map(|run| run.value.as_str()).collect::<Vec<_>>(), ["0", "1"]);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Database`] is a folder: a log that orders commits and makes them durable, and immutable files
//! with the contents of older parts of the log. It belongs to one process at a time and may be used
//! from any number of its threads. Readers never wait. A writer waits for a transaction that has
//! written the same document.
//!
//! ```text
//!   Database ── Collection ── Document        put, get, edit, at(moment), history, diff, node_history ...
//!       │            │
//!       │         document                    trees of nodes with stable keys
//!     table          │                        the catalog of collections: tables of SQL
//!       └───── txn ──┴── log, store           one commit, one log record; every version kept
//! ```

mod backup;
mod changes;
mod collections;
mod error;
mod follower;
mod following;
pub mod objects;
mod page;
#[cfg(feature = "sql")]
pub mod sql;
mod stats;
mod subscription;
#[cfg(test)]
mod tests;
pub mod time;
mod verify;

pub use backup::{
    BackupError, BackupFolder, BackupId, BackupMark, BackupPlan, BackupSource, CopyPace,
    LocalSource, LogBatch, RestoreTo,
};
pub use changes::{Changes, CollectionEnd, DocumentChange};
pub use collections::DroppedCollection;
pub use document::{
    Allowed, BadRetention, BlameLine, Change, ChangeOp, Collection, CollectionAt,
    CollectionOptions, Committed, ContainerPage, ContainerVersion, Damaged, Diff, Document,
    DocumentError, DocumentSavepoint as Savepoint, Edit, History, KEY_BYTES_MAX, Keys, Meta,
    Metadata, Moment, NodeKey, NodeRef, NodeVersion, Nodes, Options as PartOptions, PathClass,
    Place, Position, Retention, Revision, RevisionInfo, Scalar, TimeAxis, Tree, digest, limits,
    subtree_hash, type_name, write_part,
};
pub use error::{Error, Result};
pub use following::{Following, ToldChange};
pub use json;
pub use log::{Durability, Lsn};
pub use page::{HistoryPage, history_page};
#[cfg(feature = "server")]
pub use server;
pub use stats::Stats;
pub use store::{Csn, StoreError, TableId};
pub use subscription::Subscription;
pub use table::Error as TableError;
pub use table::collections::NAME_BYTES_MAX;
pub use txn::LogHold;
pub use txn::{Commit, CommitInfo, EngineError, TxnId, WaitOver, WaitWatch};
pub use types::{Causes, SqlState};
pub use verify::VerifyReport;

use document::{DocumentTransaction, Documents};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subscription::Subscriber;
use txn::{Engine, EngineOptions, Observer};
use vfs::Env;

/// The options of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Blocks of files kept in memory, in bytes.
    pub cache_bytes: usize,
    /// Newest versions of documents kept in memory, in bytes.
    pub document_cache_bytes: usize,
    /// Changes gathered in memory before they are written to files, in bytes.
    pub memtable_bytes: usize,
    /// The durability that a commit waits for.
    pub durability: Durability,
    /// A transaction that changes more rows than fit into so many bytes writes them to files before its
    /// commit, so that others do not wait for it.
    pub large_bytes: usize,
    /// The memory that one statement of SQL may hold, in bytes. It fails with 53200 if it needs more.
    pub statement_bytes: usize,
    /// The memory that all statements of SQL may hold together, in bytes; `None` for no limit.
    pub statements_bytes: Option<usize>,
    /// Settings of SQL for all sessions. They take precedence over those of `ALTER SYSTEM`.
    pub settings: Vec<(String, String)>,
    /// Settings that apply if neither the settings above nor `ALTER SYSTEM` have a value.
    pub setting_defaults: Vec<(String, String)>,
    /// Whether opening makes a database or requires an existing one.
    pub create: Create,
    /// True for a follower of another database: it makes no commits of its own, and takes those of its
    /// leader by [`Database::apply`].
    pub follower: bool,
}

/// Whether opening may make a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// The database must exist.
    Never,
    /// A missing database is made.
    IfMissing,
    /// The database must not exist yet.
    New,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            cache_bytes: 256 << 20,
            document_cache_bytes: 64 << 20,
            memtable_bytes: 32 << 20,
            durability: Durability::Sync,
            large_bytes: EngineOptions::default().large_bytes,
            statement_bytes: 512 << 20,
            statements_bytes: None,
            settings: Vec::new(),
            setting_defaults: Vec::new(),
            create: Create::IfMissing,
            follower: false,
        }
    }
}

/// A database. Cheap to clone; may be used from many threads.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    env: Env,
    path: PathBuf,
    documents: Arc<Documents>,
    collections: Arc<table::Collections>,
    objects: Arc<object::Storages>,
    /// Held by a backup, a compaction or a verification: one runs at a time.
    maintenance: Mutex<()>,
    /// The options of sessions of SQL.
    #[cfg(feature = "sql")]
    sql: SqlOptions,
    /// The state that sessions share, once there was one.
    #[cfg(feature = "sql")]
    instance: Mutex<Option<Arc<session::Instance>>>,
    /// Held for reading while commits of a leader are applied, and for writing while the state that follows the commits
    /// is opened.
    #[cfg(feature = "sql")]
    applying: parking_lot::RwLock<()>,
}

/// The options of sessions of SQL.
#[cfg(feature = "sql")]
struct SqlOptions {
    statement_bytes: usize,
    statements_bytes: Option<usize>,
    settings: Vec<(String, String)>,
    defaults: Vec<(String, String)>,
}

impl Database {
    /// Opens the database in a folder. Fails with [`Error::NoDatabase`] if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(path, Options { create: Create::Never, ..Options::default() })
    }

    /// Makes a database in a folder that is empty or does not exist yet.
    pub fn create(path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(path, Options { create: Create::New, ..Options::default() })
    }

    /// Opens the database in a folder, or makes it.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(path, Options::default())
    }

    /// Makes a database that lives in memory and is gone when it is dropped.
    pub fn open_in_memory() -> Result<Database> {
        Database::in_memory(false)
    }

    fn in_memory(follower: bool) -> Result<Database> {
        let disk = vfs::SimVfs::unrecorded();
        Database::open_env(
            &Env { fs: Arc::new(disk), ..Env::os() },
            Path::new("/anywhen"),
            Options { follower, ..Options::default() },
        )
    }

    /// Opens a database as the options say.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_env(&Env::os(), path.as_ref(), options)
    }

    /// [`open_with`](Database::open_with), on the given files, clock and randomness.
    pub fn open_env(env: &Env, path: &Path, options: Options) -> Result<Database> {
        Database::open_as(env, path, options, true)
    }

    /// [`open_env`](Database::open_env), with or without threads that flush and compact.
    pub(crate) fn open_as(
        env: &Env,
        path: &Path,
        options: Options,
        background: bool,
    ) -> Result<Database> {
        let found = Found::at(env, path)?;
        match (found, options.create) {
            (Found::Nothing, Create::Never) => return Err(Error::NoDatabase(path.to_owned())),
            (Found::SomethingElse, Create::Never) => {
                return Err(Error::NoDatabase(path.to_owned()));
            }
            (Found::SomethingElse, _) => return Err(Error::NotADatabase(path.to_owned())),
            (Found::Database, Create::New) => return Err(Error::Exists(path.to_owned())),
            _ => {}
        }
        let mut engine_options = EngineOptions::default();
        engine_options.durability = options.durability;
        engine_options.follower = options.follower;
        engine_options.large_bytes = options.large_bytes;
        engine_options.store.cache_bytes = options.cache_bytes;
        engine_options.store.memtable_bytes = options.memtable_bytes;
        engine_options.store.background = background;
        let tables = table::Tables::new();
        let engine = Engine::open(env, path, engine_options, tables.resolver())?;
        let has_documents = table::Tables::has_documents;
        let documents = Documents::new(engine, options.document_cache_bytes, has_documents);
        let collections = table::Collections::open(Arc::clone(&documents), tables)?;
        let collections = Arc::new(collections);
        let shared = Shared {
            env: env.clone(),
            path: path.to_owned(),
            documents,
            objects: Arc::new(object::Storages::new(Arc::clone(&collections))),
            collections,
            maintenance: Mutex::new(()),
            #[cfg(feature = "sql")]
            sql: SqlOptions {
                statement_bytes: options.statement_bytes,
                statements_bytes: options.statements_bytes,
                settings: options.settings,
                defaults: options.setting_defaults,
            },
            #[cfg(feature = "sql")]
            instance: Mutex::new(None),
            #[cfg(feature = "sql")]
            applying: parking_lot::RwLock::default(),
        };
        Ok(Database { shared: Arc::new(shared) })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.shared.documents.engine()
    }

    // --- transactions and commits ----------------------------------------------------------------

    /// Begins a transaction over documents of any collections. It sees the database as of now; the
    /// first to change a document wins.
    pub fn begin(&self) -> Result<Txn> {
        Ok(Txn { database: self.clone(), inner: self.shared.documents.begin(false) })
    }

    /// Begins a transaction that commits only if it could have run alone.
    pub fn begin_serializable(&self) -> Result<Txn> {
        Ok(Txn { database: self.clone(), inner: self.shared.documents.begin(true) })
    }

    /// Sets a callback that decides whether a wait for a document or a row of another transaction goes on. A
    /// waiting thread calls it every ten milliseconds: for programs that must interrupt such waits. Returns false
    /// if a callback is set already.
    pub fn watch_waits(&self, watch: WaitWatch) -> bool {
        self.engine().watch_waits(watch)
    }

    /// Calls `told` with the newest commit whenever commits have become visible, until the subscription is
    /// dropped. The committing thread calls it, so it must be quick and must not use the database: a subscriber
    /// with more work wakes a thread or a task of its own.
    pub fn subscribe(&self, told: impl Fn(Csn) + Send + Sync + 'static) -> Subscription {
        let subscriber: Arc<dyn Observer> = Arc::new(Subscriber(told));
        self.engine().observe(Arc::downgrade(&subscriber));
        Subscription { _subscriber: subscriber }
    }

    /// The newest commit.
    pub fn newest(&self) -> Csn {
        self.engine().visible()
    }

    /// The newest commit at or before a time, in microseconds since 1970 UTC; 0 where all came later.
    pub fn csn_at(&self, time_us: u64) -> Result<Csn> {
        Ok(self.engine().csn_at(time_us)?)
    }

    /// The commits numbered `from` to `to`, in order or newest first.
    pub fn commits(
        &self,
        from: Csn,
        to: Csn,
        newest_first: bool,
    ) -> impl Iterator<Item = Result<CommitInfo>> + '_ {
        self.engine().commits(from, to, newest_first).map(|info| Ok(info?))
    }

    /// The reason why the database takes no writes: a failure of the disk has stopped it, or the disk is full. `None`
    /// if it takes writes.
    pub fn refusal(&self) -> Option<String> {
        let failed = self.engine().stats().poisoned.map(|cause| cause.to_string());
        failed.or_else(|| self.full_disk())
    }

    /// Returns an error if the disk was full for the last commit and still is. It writes a file to find out: a program
    /// that waits for this before its next commit could not find out otherwise.
    fn full_disk(&self) -> Option<String> {
        if !self.engine().is_disk_full() {
            return None;
        }
        match self.has_room() {
            Ok(()) => {
                self.engine().found_room();
                None
            }
            Err(error) => Some(format!("the disk is full: {error}")),
        }
    }

    /// Writes a file as large as commits may need, and removes it.
    fn has_room(&self) -> std::io::Result<()> {
        const BYTES: usize = 1 << 20;
        let fs = &self.shared.env.fs;
        let path = self.path().join("room.tmp");
        if fs.exists(&path)? {
            fs.remove(&path)?;
        }
        let made = fs.open(&path, vfs::OpenMode::CreateNew)?;
        let written = made.write_all_at(&vec![0; BYTES], 0).and_then(|()| made.sync_all());
        drop(made);
        fs.remove(&path)?;
        written
    }

    // --- maintenance -----------------------------------------------------------------------------

    /// Writes everything committed to files and frees the log.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.engine().checkpoint()?)
    }

    /// Merges files, drops versions that are no longer kept, and compresses old ones more tightly. Files that a merge
    /// would hardly make smaller stay as they are. Afterwards no file has erased data, unless a snapshot from before
    /// the erasure is open.
    pub fn compact(&self) -> Result<()> {
        self.compact_with(|_, _| ()).map(drop)
    }

    /// As [`compact`](Database::compact); `progress` gets the merged bytes and their total. Returns the figures before
    /// the merges and after them.
    pub fn compact_with(&self, mut progress: impl FnMut(u64, u64)) -> Result<(Stats, Stats)> {
        let _one = self.shared.maintenance.lock();
        self.engine().checkpoint()?;
        let before = self.stats();
        let is_erasing = !self.engine().store().erasures().is_empty();
        self.engine().store().compact_with(&mut |done, total| {
            progress(done, total);
            std::ops::ControlFlow::Continue(())
        })?;
        // The log of a follower has what the log of its leader had.
        if !self.is_follower() {
            if is_erasing {
                // The log has it as well.
                self.engine().scrub()?;
            }
            table::rows::clean(self.engine())?;
        }
        Ok((before, self.stats()))
    }

    /// Clears the cache of newest documents, so that the next reads are cold.
    pub fn clear_document_cache(&self) {
        self.shared.documents.clear_cache();
    }

    /// Closes the database. Fails if another clone of it exists; the database then stays open until the last
    /// clone is dropped.
    pub fn close(self) -> Result<()> {
        let shared = Arc::try_unwrap(self.shared).map_err(|shared| {
            Error::Engine(txn::EngineError::StillOpen { count: Arc::strong_count(&shared) - 1 })
        })?;
        #[cfg(feature = "sql")]
        if let Some(instance) = shared.instance.into_inner() {
            instance.rest();
        }
        drop((shared.objects, shared.collections));
        let documents = Arc::try_unwrap(shared.documents).map_err(|documents| {
            Error::Engine(txn::EngineError::StillOpen { count: Arc::strong_count(&documents) - 1 })
        })?;
        Ok(documents.into_engine().close()?)
    }
}

/// The value at a path.
enum Found {
    Nothing,
    Database,
    SomethingElse,
}

impl Found {
    fn at(env: &Env, path: &Path) -> Result<Found> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        if !env.fs.exists(path).map_err(io)? {
            return Ok(Found::Nothing);
        }
        let files = env.fs.list(path).map_err(io)?;
        if files.is_empty() {
            return Ok(Found::Nothing);
        }
        // The lock file marks a database. A copy of the folder may lack it: then the manifest of the store does.
        let has = |name: &str| files.iter().any(|file| file.file_name().is_some_and(|f| f == name));
        let is_ours = has("LOCK")
            || has("store") && env.fs.exists(&path.join("store").join("MANIFEST")).map_err(io)?;
        Ok(if is_ours { Found::Database } else { Found::SomethingElse })
    }
}

/// A transaction over documents of any collections. Dropping it rolls it back.
pub struct Txn {
    database: Database,
    inner: DocumentTransaction,
}

impl Txn {
    /// Its identity among the transactions that are open: what a [`WaitWatch`] knows it by.
    pub fn id(&self) -> TxnId {
        self.inner.id()
    }

    /// A collection inside the transaction. A missing collection is made at once, and not by the commit.
    pub fn collection(&mut self, name: &str) -> Result<TxnCollection<'_>> {
        let collection = self.database.collection(name)?;
        Ok(TxnCollection { collection, inner: &mut self.inner })
    }

    /// An existing collection, inside the transaction.
    pub fn find_collection(&mut self, name: &str) -> Option<TxnCollection<'_>> {
        let collection = self.database.find_collection(name)?;
        Some(TxnCollection { collection, inner: &mut self.inner })
    }

    /// Counts changes of a document after this commit as conflicts, for the documents that the transaction changes
    /// from now on, as if it had begun at that commit. For callers that have read as of that commit.
    pub fn conflict_since(&mut self, csn: Csn) {
        self.inner.conflict_since(csn);
    }

    /// Marks the present state.
    pub fn savepoint(&self) -> Savepoint {
        self.inner.savepoint()
    }

    /// Rolls back to the savepoint, which can be used again.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        self.inner.rollback_to(savepoint);
    }

    /// Makes all changes durable and visible, as one commit; returns its number.
    pub fn commit(self) -> Result<Csn> {
        self.commit_with(&Meta::default())
    }

    /// [`commit`](Txn::commit), with author, message and other properties of the commit.
    pub fn commit_with(self, meta: &Meta) -> Result<Csn> {
        Ok(self.finish(meta)?.csn)
    }

    /// As [`commit_with`](Txn::commit_with); returns the time as well. For a transaction that changed nothing it
    /// returns the commit of its snapshot.
    pub fn finish(self, meta: &Meta) -> Result<Commit> {
        Ok(self.inner.commit(meta)?)
    }

    /// Rolls the transaction back.
    pub fn rollback(self) {}
}

/// A collection inside a transaction.
pub struct TxnCollection<'a> {
    collection: Collection,
    inner: &'a mut DocumentTransaction,
}

impl TxnCollection<'_> {
    /// The document as the transaction sees it, `None` if there is none.
    pub fn get(&mut self, key: &str) -> Result<Option<Document>> {
        Ok(self.inner.get(&self.collection, key)?)
    }

    /// Writes the whole value of the document; returns the revision that it will have.
    pub fn put(&mut self, key: &str, json: impl AsRef<[u8]>) -> Result<Revision> {
        Ok(self.inner.put(&self.collection, key, json)?)
    }

    /// Edits the document; if `f` fails, it stays unchanged.
    pub fn edit<R>(
        &mut self,
        key: &str,
        f: impl FnOnce(&mut Edit<'_>) -> document::Result<R>,
    ) -> Result<R> {
        Ok(self.inner.edit(&self.collection, key, f)?)
    }

    /// Removes the document; its history stays.
    pub fn remove(&mut self, key: &str) -> Result<()> {
        Ok(self.inner.remove(&self.collection, key)?)
    }

    /// The revision that a document written here has or will have, and whether it is that of the commit.
    pub fn outcome(&self, key: &str) -> (Revision, bool) {
        self.inner.outcome(&self.collection, key)
    }
}
