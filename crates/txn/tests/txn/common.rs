//! The tools that the tests share: a table whose deltas append, engines on simulated disks, and
//! seeds.

use std::io::ErrorKind;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use log::LogOptions;
use store::{Csn, MergeError, StoreOptions, Table, TableId};
use txn::{CommitMeta, Engine, EngineOptions, Snapshot, Transaction};
use vfs::{CrashPolicy, Env, FaultKind, FaultPlan, OpClasses, SimVfs};

use crate::memory_log::LogDevice;
use crate::objects::{Bucket, Kind, ObjectSegments, Steps};
pub use vfs::{SimRandom, seed};

/// The table that the tests write to.
pub const T: TableId = TableId(7);

/// Values are bytes, a delta is appended.
pub struct Append;

impl Table for Append {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        out.extend_from_slice(base);
        deltas.for_each(|(_, delta)| out.extend_from_slice(delta));
        Ok(())
    }
}

/// Small files and no threads, so that a workload makes the same operations every time.
pub fn options() -> EngineOptions {
    let mut options = EngineOptions::default();
    options.store = StoreOptions { background: false, ..StoreOptions::default() };
    options.log = LogOptions {
        segment_bytes: 16 << 10,
        first_bytes: 4 << 10,
        first_count: 2,
        background: false,
    };
    options
}

/// The same; nearly every commit is a large one, whose writes go to files where they can.
pub fn large() -> EngineOptions {
    let mut options = options();
    options.large_bytes = 8;
    options
}

pub fn try_open(env: &Env, options: EngineOptions) -> Result<Arc<Engine>, txn::EngineError> {
    Engine::open(env, Path::new("/db"), options, Arc::new(|_| Arc::new(Append)))
}

/// Where an engine of the tests keeps its log and its segments, with a record of what was done. A clone is the
/// same one.
pub trait Medium: Clone {
    /// An operation can fail that nobody needs: the one that deletes an old manifest.
    const FORGIVES: bool;
    /// An empty one.
    fn blank(seed: u64) -> Self;
    /// How many operations have changed something.
    fn op_count(&self) -> usize;
    /// Returns the content that a power loss just after operation `at` leaves.
    fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> Self;
    /// The operation after `nth` others that change something fails.
    fn fail(&self, nth: usize, kind: FaultKind);
    /// No more operations fail.
    fn heal(&self);
    /// How many operations have failed.
    fn faults_hit(&self) -> usize;
    fn open_engine(
        &self,
        seed: u64,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, txn::EngineError>;
}

impl Medium for SimVfs {
    const FORGIVES: bool = false;

    fn blank(seed: u64) -> SimVfs {
        SimVfs::new(seed)
    }

    fn op_count(&self) -> usize {
        self.op_count()
    }

    fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> SimVfs {
        self.image(at, policy, seed)
    }

    fn fail(&self, nth: usize, kind: FaultKind) {
        self.fail(FaultPlan { nth, kind, once: true, on: OpClasses::CHANGES });
    }

    fn heal(&self) {
        self.heal();
    }

    fn faults_hit(&self) -> usize {
        self.faults_hit()
    }

    fn open_engine(
        &self,
        seed: u64,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, txn::EngineError> {
        try_open(&Env::sim(self, seed), options)
    }
}

/// A log in memory, and segments in an object store: in memory, or files of this machine.
#[derive(Clone)]
pub struct Elsewhere<const IS_LOCAL: bool> {
    pub log: LogDevice,
    pub bucket: Bucket,
    pub steps: Steps,
}

impl<const IS_LOCAL: bool> Medium for Elsewhere<IS_LOCAL> {
    const FORGIVES: bool = true;

    fn blank(_: u64) -> Self {
        let steps = Steps::default();
        let kind = if IS_LOCAL { Kind::Local } else { Kind::Memory };
        Elsewhere { log: LogDevice::new(&steps), bucket: Bucket::new(kind, &steps), steps }
    }

    fn op_count(&self) -> usize {
        self.steps.count()
    }

    fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> Self {
        let steps = Steps::default();
        let log = self.log.image(at, policy, seed, &steps);
        Elsewhere { log, bucket: self.bucket.image(at, &steps), steps }
    }

    fn fail(&self, nth: usize, kind: FaultKind) {
        let is_full = matches!(kind, FaultKind::Enospc);
        self.steps.fail(nth, if is_full { ErrorKind::StorageFull } else { ErrorKind::Other });
    }

    fn heal(&self) {
        self.steps.heal();
    }

    fn faults_hit(&self) -> usize {
        self.steps.faults_hit()
    }

    fn open_engine(
        &self,
        seed: u64,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, txn::EngineError> {
        let env = Env::sim(&SimVfs::unrecorded(), seed);
        let (log, segments) = (self.log.open(), ObjectSegments(self.bucket.clone()));
        let resolve = Arc::new(|_| Arc::new(Append) as Arc<dyn Table>);
        Engine::open_on(&env, Arc::new(log), Arc::new(segments), options, resolve)
    }
}

/// An engine on a disk that keeps no record of its operations.
pub fn engine(seed: u64) -> Arc<Engine> {
    let disk = SimVfs::unrecorded();
    try_open(&Env::sim(&disk, seed), options()).expect("a new database opens")
}

pub fn meta(message: &str) -> CommitMeta {
    CommitMeta { author: "tester".into(), message: message.into(), ..CommitMeta::default() }
}

pub fn get(txn: &Transaction, key: &[u8]) -> Result<Option<Vec<u8>>, txn::TxnError> {
    let mut out = Vec::new();
    Ok(txn.get(T, key, &mut out)?.map(|_| out))
}

/// Everything in the table at a snapshot.
pub fn contents(snapshot: &Snapshot) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scan = snapshot.scan(T, Bound::Unbounded, Bound::Unbounded, false);
    let row = scan.map(|item| {
        let (key, versioned) = item.expect("the store reads what it wrote");
        let image = versioned.image(&Append, &key).expect("appending cannot fail").into_owned();
        (key, image)
    });
    row.collect()
}
