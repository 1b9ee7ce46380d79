//! Engines on a log and on segments that are not files of a folder: their reads at opening, and the
//! fate of an engine whose successor has taken over. The model and the power loss tests run on them
//! too (`model`, `crash`).
//!
//! ```text
//!   first   ──commit 1──────────────commit: 25006, refused──reads of 1 go on
//!   second             └open: log and segments are fenced──commit 2──>
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use log::{CommitLog, Durability, LogError, Lsn, SegmentedLog};
use store::{Csn, DirectoryStore, Epoch, SegmentSink, SegmentStore, StoreOptions, SwapError};
use txn::{Engine, EngineOptions, Isolation, TxnError};
use vfs::{Env, File, SimVfs};

use crate::common::{Append, Elsewhere, Medium, SimRandom, T, contents, get, meta, options};

fn commit(engine: &Arc<Engine>, key: &[u8], value: &[u8]) -> Result<Csn, TxnError> {
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.put(T, key, value.to_vec())?;
    Ok(txn.commit(meta(""))?.csn)
}

/// The engine that opens log and segments last has them. The one before it is refused at its next commit,
/// which did not happen, and at every later one; it reads on. The successor has every commit that was
/// acknowledged.
#[test]
fn a_successor_fences_an_engine() {
    let medium = Elsewhere::<false>::blank(3);
    let first = medium.open_engine(1, options()).unwrap();
    commit(&first, b"k", b"one").unwrap();
    let second = medium.open_engine(2, options()).unwrap();
    for _ in 0..2 {
        let refused = commit(&first, b"k", b"lost").unwrap_err();
        assert!(matches!(refused, TxnError::Refused { .. }), "{refused}");
        assert_eq!(refused.sqlstate(), "25006", "{refused}");
        assert!(refused.to_string().contains("fenced"), "{refused}");
    }
    assert!(first.stats().poisoned.is_some());
    let old = first.begin(Isolation::RepeatableRead);
    assert_eq!(get(&old, b"k").unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(commit(&second, b"k", b"two").unwrap(), Csn(2));
    second.checkpoint().unwrap();
    drop((old, first));
    second.close().unwrap();
    let third = medium.open_engine(3, options()).unwrap();
    assert_eq!(contents(&third.snapshot()), [(b"k".to_vec(), b"two".to_vec())]);
}

/// An engine whose log nobody has fenced, but whose segments another one has taken over, notices it at its
/// next flush: it writes nothing from then on.
#[test]
fn an_engine_whose_segments_are_taken_over_stops() {
    let medium = Elsewhere::<false>::blank(4);
    let first = medium.open_engine(1, options()).unwrap();
    commit(&first, b"k", b"one").unwrap();
    let other = Elsewhere { log: Elsewhere::<false>::blank(5).log, ..medium.clone() };
    let _second = other.open_engine(2, options()).unwrap();
    let failed = first.checkpoint().unwrap_err();
    assert_eq!(failed.sqlstate(), "25006", "{failed}");
    assert_eq!(commit(&first, b"k", b"lost").unwrap_err().sqlstate(), "25006");
}

/// Checks the rules that the engine needs of any log. One sync is for all, and a tail begins at the
/// given position. A tail reports frames that are gone, were never there or are not durable yet.
fn keeps_the_contract(log: &dyn CommitLog) {
    let ends: Vec<Lsn> = (0..4u8).map(|i| log.append(&[i; 10]).unwrap()).collect();
    assert!(ends.windows(2).all(|pair| pair[0] < pair[1]) && Lsn::START < ends[0]);
    assert_eq!((log.durable(), log.oldest()), (Lsn::START, Lsn::START));
    log.sync(ends[2], Durability::Os).unwrap();
    assert_eq!(log.durable(), Lsn::START, "only written");
    log.sync(ends[2], Durability::Sync).unwrap();
    assert_eq!(log.durable(), ends[3], "one sync for all");
    assert!(log.bytes_between(ends[0], ends[2]) >= 20);
    assert_eq!(log.bytes_between(ends[2], ends[0]), 0);
    let tail = |from| -> Result<Vec<(Lsn, Vec<u8>)>, LogError> { log.tail(from)?.collect() };
    let four: Vec<_> = (0..4u8).map(|i| (ends[usize::from(i)], vec![i; 10])).collect();
    assert_eq!(tail(Lsn::START).unwrap(), four);
    assert_eq!(tail(ends[1]).unwrap(), four[2..]);
    let pending = log.append(b"pending").unwrap();
    assert_eq!(tail(ends[3]).unwrap(), [], "it is not durable");
    assert!(matches!(tail(pending), Err(LogError::Beyond { .. })));
    let beyond = Lsn::from_number(u64::MAX - 7);
    assert!(matches!(log.sync(beyond, Durability::Sync), Err(LogError::Beyond { .. })));
    let turned = log.turn().unwrap();
    assert!(turned >= pending && log.durable() >= pending);
    let last = log.append(b"last").unwrap();
    log.sync(last, Durability::Sync).unwrap();
    log.release(turned).unwrap();
    assert!(matches!(tail(ends[1]), Err(LogError::Released { .. })));
    assert!(log.oldest() >= turned);
    assert_eq!(tail(turned).unwrap(), [(last, b"last".to_vec())]);
    assert_eq!(log.tail_of_all().map(|it| it.unwrap().0).last(), Some(last));
    assert_eq!(log.fence().unwrap(), last);
    assert!(matches!(log.append(b""), Err(LogError::Fenced)));
    assert_eq!(tail(turned).unwrap().len(), 1, "it can be read");
    log.close().unwrap();
}

#[test]
fn both_logs_keep_the_contract() {
    keeps_the_contract(&Elsewhere::<false>::blank(6).log.open());
    let env = Env::sim(&SimVfs::new(6), 6);
    let (dir, files) = (std::path::Path::new("/log"), options().log);
    let log = SegmentedLog::open(&env, dir, files, Lsn::START, &mut |_, _| Ok(())).unwrap();
    keeps_the_contract(&log);
}

/// Positions of the log in memory ascend from owner to owner. A new owner finds what was durable.
#[test]
fn a_log_in_memory_goes_from_owner_to_owner() {
    let device = Elsewhere::<false>::blank(6).log;
    let log = device.open();
    let kept = log.append(b"kept").unwrap();
    log.sync(kept, Durability::Sync).unwrap();
    let lost = log.append(b"lost").unwrap();
    let next = device.open();
    assert!(matches!(log.append(b""), Err(LogError::Fenced)));
    assert!(matches!(log.sync(lost, Durability::Sync), Err(LogError::Fenced)));
    let added = next.append(b"next").unwrap();
    assert!(added > lost);
    next.sync(added, Durability::Sync).unwrap();
    let found: Vec<Lsn> = next.tail(Lsn::START).unwrap().map(|it| it.unwrap().0).collect();
    assert_eq!(found, [kept, added]);
}

/// Counts the files that are opened.
struct Counting(DirectoryStore, AtomicUsize);

impl SegmentStore for Counting {
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.0.create(name)
    }
    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.0.create_scratch(name)
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.open(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>> {
        self.0.load_manifest()
    }
    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError> {
        self.0.swap_manifest(expected, new)
    }
    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

/// How many segments an engine opens, of how many, when it is opened after so many keys were written.
fn opened_of(keys: u32) -> (usize, u64) {
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    let device = Elsewhere::<false>::blank(1).log;
    let open = |options: EngineOptions| {
        let home = DirectoryStore::new(&env, std::path::Path::new("/segments")).unwrap();
        let home = Arc::new(Counting(home, AtomicUsize::new(0)));
        let (log, segments) = (Arc::new(device.open()), Arc::clone(&home));
        let resolve = Arc::new(|_| Arc::new(Append) as Arc<dyn store::Table>);
        (Engine::open_on(&env, log, segments, options, resolve).unwrap(), home)
    };
    let mut small = options();
    // A block for each value, and a segment for each block.
    small.large_bytes = 1 << 30;
    small.store = StoreOptions { segment_bytes: 1, history_block_bytes: 1 << 10, ..small.store };
    let (engine, _) = open(small);
    let random = SimRandom::new(1);
    let mut txn = engine.begin(Isolation::ReadCommitted);
    for key in 0..keys {
        let value: Vec<u8> = (0..5_000).map(|_| random.below(256) as u8).collect();
        txn.put(T, &key.to_be_bytes(), value).unwrap();
    }
    txn.commit(meta("")).unwrap();
    engine.checkpoint().unwrap();
    engine.close().unwrap();
    let (engine, home) = open(options());
    let opened = home.1.load(Ordering::Relaxed);
    let row = get(&engine.begin(Isolation::ReadCommitted), &(keys / 2).to_be_bytes()).unwrap();
    assert_eq!(row.map(|row| row.len()), Some(5_000));
    (opened, engine.stats().store.segments)
}

/// An engine that is opened reads as many files with 1,000 segments as with 20: those of the table of commits.
#[test]
fn opening_an_engine_reads_as_many_files_of_any_number() {
    let ((few, of_few), (many, of_many)) = (opened_of(20), opened_of(1_000));
    assert!(of_few < 30 && of_many >= 1_000, "{of_few} and {of_many} segments");
    assert_eq!(few, many);
    assert!(many <= 3, "{many} files were opened");
}
