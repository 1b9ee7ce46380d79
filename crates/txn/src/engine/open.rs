//! Opening an engine: on the files of a folder, or on any log and any home of segments.
//!
//! ```text
//!   open(folder)      lock ──> store: manifest ──> log from the position in it ─┐
//!                                                                              ├─> recover ──> engine
//!   open_on(log, segments)     store: manifest ────────────────────────────────┘
//! ```
//!
//! # Invariants
//! * The log has decided where it ends, durably, before the store may flush a commit of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use log::{AtomicLsn, CommitLog, Lsn, SegmentedLog};
use parking_lot::Mutex;
use store::{Csn, SegmentStore, Store, Table};
use vfs::{DirLock, Env};

use super::{Backups, Engine, EngineOptions, Holds, Room, Sequencer, TableResolver};
use crate::changes::{self, CHANGES_TABLE, Changes};
use crate::commits::{CommitIndex, Milestones};
use crate::error::EngineError;
use crate::locks::{LockManager, RowHasher};
use crate::pages::{COMMITS_TABLE, Commits};
use crate::publish::PublishQueue;
use crate::readset::Window;
use crate::tracker::Tracker;

/// The parts of an engine that is being opened.
struct Parts {
    store: Store,
    log: Arc<dyn CommitLog>,
    resolve: TableResolver,
    dir: Option<(PathBuf, Box<dyn DirLock>)>,
}

impl Engine {
    /// Opens the database in `dir`, making it where there is none, and applies what the log has
    /// beyond the store's files. Fails with [`EngineError::InUse`] where it is open elsewhere.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: EngineOptions,
        resolve: TableResolver,
    ) -> Result<Arc<Engine>, EngineError> {
        let io = |source| EngineError::Io { dir: dir.to_owned(), source };
        env.fs.create_dir_all(dir).map_err(io)?;
        let lock = env.fs.lock(&dir.join("LOCK")).map_err(|source| match source.kind() {
            std::io::ErrorKind::WouldBlock => EngineError::InUse { dir: dir.to_owned(), source },
            _ => io(source),
        })?;
        let resolve = with_own_tables(resolve);
        let segments = options.store.clone();
        let store = Store::open(env, &dir.join("store"), segments, Arc::clone(&resolve))?;
        // Opening decides where the log ends and makes that durable. Only then may the store flush the
        // commits of the log, so they are read in a second pass.
        let (from, files) = (replay_from(&store)?, options.log.clone());
        let log = SegmentedLog::open(env, &dir.join("log"), files, from, &mut |_, _| Ok(()))?;
        let dir = Some((dir.to_owned(), lock));
        Engine::start(env, Parts { store, log: Arc::new(log), resolve, dir }, options)
    }

    /// As [`Engine::open`], on a log and on a home of segments that the caller gives. The log is
    /// open, and has shut out its former writer; the engine does the same with the segments. Files,
    /// except those of `segments`, are not touched: `env` gives clock and randomness, and
    /// `options.log` has no effect.
    pub fn open_on(
        env: &Env,
        log: Arc<dyn CommitLog>,
        segments: Arc<dyn SegmentStore>,
        options: EngineOptions,
        resolve: TableResolver,
    ) -> Result<Arc<Engine>, EngineError> {
        let resolve = with_own_tables(resolve);
        let store = Store::open_on(env, segments, options.store.clone(), Arc::clone(&resolve))?;
        Engine::start(env, Parts { store, log, resolve, dir: None }, options)
    }

    fn start(
        env: &Env,
        Parts { store, log, resolve, dir }: Parts,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, EngineError> {
        let from = replay_from(&store)?;
        let last = store.checkpoint().csn;
        let (commits, time_us) = CommitIndex::load(&store, last)?;
        if commits.end() != Csn(last.0 + 1) {
            return Err(EngineError::Checkpoint {
                what: "the table of commits does not end at the last commit",
            });
        }
        let changes_from = changes::read_begin(&store)?;
        let milestones = Arc::new(Milestones::default());
        let floor = Arc::clone(&milestones);
        store.set_time_floor(Arc::new(move |time_us| floor.floor(time_us)));
        let engine = Engine {
            tracker: Tracker::new(last.0),
            locks: LockManager::new(Arc::clone(&env.clock)),
            hasher: RowHasher::new(env.random.next_u64()),
            lock_timeout_us: options.lock_timeout_us,
            clock: Arc::clone(&env.clock),
            random: Arc::clone(&env.random),
            resolve,
            durability: options.durability,
            sequencer: Mutex::new(Sequencer { csn: last, time_us }),
            window: Window::starting_at(last),
            queue: PublishQueue::default(),
            commits,
            changes_from: AtomicU64::new(changes_from.map_or(u64::MAX, |csn| csn.0)),
            observers: Arc::default(),
            large_bytes: options.large_bytes,
            milestones,
            stopped: OnceLock::new(),
            room: Room::default(),
            follower: options.follower,
            following: Mutex::default(),
            next_txn: AtomicU64::new(1),
            looked_at: AtomicLsn::new(log.durable()),
            holds: Holds::default(),
            backups: Backups::default(),
            settled_us: AtomicU64::new(env.clock.monotonic_us()),
            dir,
            store,
            log,
        };
        engine.recover(from)?;
        Ok(Arc::new(engine))
    }
}

/// Where in the log the commits begin that the files of a store which is being opened do not cover.
fn replay_from(store: &Store) -> Result<Lsn, EngineError> {
    let note = store.checkpoint().note;
    match read_note(&note) {
        Some(from) => Ok(from),
        None if note.is_empty() => Ok(Lsn::START),
        None => Err(EngineError::Checkpoint { what: "its log position is not 8 bytes" }),
    }
}

/// The resolver, with the tables of the engine itself answered here.
fn with_own_tables(resolve: TableResolver) -> TableResolver {
    let commits: Arc<dyn Table> = Arc::new(Commits);
    let changes: Arc<dyn Table> = Arc::new(Changes);
    Arc::new(move |table| match table {
        COMMITS_TABLE => Arc::clone(&commits),
        CHANGES_TABLE => Arc::clone(&changes),
        _ => resolve(table),
    })
}

/// The log position in a checkpoint's note: none if the store has never flushed.
pub(super) fn read_note(note: &[u8]) -> Option<Lsn> {
    note.try_into().ok().map(Lsn::from_bytes)
}
