//! The files that opening a store reads, and the fate of an opener when another one takes the store
//! over.
//!
//! ```text
//!   opens of files     manifest of today: 0 of 1,000      of an earlier release: each, once
//!   first  ──flush(1→2)──────────────────flush(expects 2)─ fenced: reads on, writes nothing
//!   second        └─open_on(2→3)──flush(3→4)──>
//! ```

use super::world::*;
use crate::manifest::Manifest;
use crate::segment_store::MANIFEST;
use crate::*;
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;
use vfs::{Env, File, OpenMode, SimVfs};

/// Counts what is read of a directory.
struct Counting(DirectoryStore, Mutex<Counts>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    opened: usize,
    manifests: usize,
    lists: usize,
}

impl SegmentStore for Counting {
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.0.create(name)
    }
    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.0.create_scratch(name)
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.1.lock().opened += 1;
        self.0.open(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.1.lock().lists += 1;
        self.0.list()
    }
    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>> {
        self.1.lock().manifests += 1;
        self.0.load_manifest()
    }
    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError> {
        self.0.swap_manifest(expected, new)
    }
    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

fn directory(env: &Env) -> Arc<DirectoryStore> {
    Arc::new(DirectoryStore::new(env, Path::new(DIR)).unwrap())
}

fn counted(env: &Env) -> (Store, Arc<Counting>) {
    let home = DirectoryStore::new(env, Path::new(DIR)).unwrap();
    let home = Arc::new(Counting(home, Mutex::default()));
    let store = Store::open_on(env, home.clone(), small_options(), resolve()).unwrap();
    (store, home)
}

/// A value that fills a block.
fn value_of(key: u64) -> Vec<u8> {
    let dice = SimRandom::new(key);
    (0..3_000).map(|_| dice.below(256) as u8).collect()
}

/// Makes so many segments of a key each.
fn make_segments(env: &Env, count: u64) {
    let options = StoreOptions { segment_bytes: 1, current_block_bytes: 1, ..small_options() };
    let store = Store::open(env, Path::new(DIR), options, resolve()).unwrap();
    let writes: Vec<Write> =
        (0..count).map(|key| put(PLAIN, &key.to_be_bytes(), &value_of(key))).collect();
    store.apply(Csn(1), &writes).unwrap();
    store.set_durable(Csn(1), Vec::new);
    store.flush().unwrap();
    assert_eq!(store.stats().segments, count);
}

fn check_keys(store: &Store, count: u64) {
    for key in (0..count).step_by(97) {
        let mut value = Vec::new();
        let found = store.get(PLAIN, &key.to_be_bytes(), Csn::MAX, &mut value).unwrap();
        assert_eq!((found, value.as_slice()), (Some(Csn(1)), &value_of(key)[..]));
    }
}

/// Opening reads the manifest and lists the names, and opens none of 1,000 segments. A read opens the one
/// that it needs, once. It took an opening of each file before the manifest told what footers say.
#[test]
fn opening_reads_one_file_of_a_thousand() {
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    make_segments(&env, 1_000);
    let (store, home) = counted(&env);
    assert_eq!(*home.1.lock(), Counts { opened: 0, manifests: 1, lists: 1 });
    let mut value = Vec::new();
    for _ in 0..3 {
        store.get(PLAIN, &500_u64.to_be_bytes(), Csn::MAX, &mut value).unwrap();
    }
    assert_eq!(home.1.lock().opened, 1);
    check_keys(&store, 1_000);
}

/// A manifest of an earlier release says nothing of footers and has no epoch: opening reads each footer once,
/// and the next manifest tells of them.
#[test]
fn manifests_of_earlier_releases_are_read() {
    for format in [1, 2] {
        let disk = SimVfs::unrecorded();
        let env = Env::sim(&disk, 1);
        make_segments(&env, 100);
        let path = Path::new(DIR).join(MANIFEST);
        let now = Manifest::decode(&disk.content(&path).unwrap(), MANIFEST).unwrap();
        env.fs.remove(&path).unwrap();
        let file = env.fs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&now.encode_as(format), 0).unwrap();
        let store = Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap();
        check_keys(&store, 100);
        let report = store.verify(&mut |_, _| {}).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        drop(store);
        let (store, home) = counted(&env);
        assert_eq!(home.1.lock().opened, 100, "format {format}: nothing is told of footers");
        store.apply(Csn(2), &[put(PLAIN, b"k", b"v")]).unwrap();
        store.set_durable(Csn(2), Vec::new);
        store.flush().unwrap();
        drop(store);
        let (store, home) = counted(&env);
        assert_eq!(home.1.lock().opened, 0, "the manifest was written anew");
        check_keys(&store, 100);
    }
}

/// A footer that is not the one of which the manifest tells is found when the file is first read.
#[test]
fn a_footer_is_checked_when_its_file_is_opened() {
    let disk = SimVfs::unrecorded();
    let env = Env::sim(&disk, 1);
    make_segments(&env, 3);
    let is_segment = |path: &Path| path.to_string_lossy().ends_with(".seg");
    let (path, bytes) = disk.files().into_iter().find(|file| is_segment(&file.0)).unwrap();
    assert!(disk.flip_bit(&path, (bytes - 40) * 8));
    let store = Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap();
    let read = |key: u64| store.get(PLAIN, &key.to_be_bytes(), Csn::MAX, &mut Vec::new());
    let failed = (0..3).filter_map(|key| read(key).err()).collect::<Vec<_>>();
    assert_eq!(failed.len(), 1);
    assert!(matches!(&failed[0], StoreError::Corrupt { file, .. } if path == Path::new(file)));
}

fn write(store: &Store, csn: u64, value: &[u8]) -> Result<(), StoreError> {
    store.apply(Csn(csn), &[put(PLAIN, b"k", value)])?;
    store.set_durable(Csn(csn), || csn.to_le_bytes().to_vec());
    store.flush()
}

fn is_fenced(outcome: Result<(), StoreError>) -> bool {
    let Err(StoreError::Poisoned { cause }) = outcome else { return false };
    matches!(&*cause, StoreError::Fenced { .. })
}

/// An opener that shares the store with an earlier one takes it over: the earlier one can replace no manifest
/// any more, says why, writes nothing, and reads on. Nothing of the later one is lost.
#[test]
fn a_second_opener_fences_the_first() {
    let disk = SimVfs::new(1);
    let env = Env::sim(&disk, 1);
    let open = || Store::open_on(&env, directory(&env), small_options(), resolve()).unwrap();
    let first = open();
    write(&first, 1, b"one").unwrap();
    let second = open();
    assert!(is_fenced(write(&first, 2, b"lost")));
    assert!(is_fenced(first.flush()) && is_fenced(first.admit()), "it is told each time");
    let refused = first.apply(Csn(3), &[]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("replaced by another opener") && text.contains("epoch 3"), "{text}");
    let mut value = Vec::new();
    first.get(PLAIN, b"k", Csn(1), &mut value).unwrap();
    assert_eq!(value, b"one", "reads go on");
    write(&second, 2, b"two").unwrap();
    drop((first, second));
    let mut value = Vec::new();
    assert_eq!(open().get(PLAIN, b"k", Csn::MAX, &mut value).unwrap(), Some(Csn(2)));
    assert_eq!(value, b"two");
    let report = open().verify(&mut |_, _| {}).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// Two openers of a directory whose lock does not work: the one that replaces the manifest first goes on, the
/// other one is fenced. A manifest that has vanished is another's doing too.
#[test]
fn a_swap_in_between_is_noticed() {
    let disk = SimVfs::new(1);
    let env = Env::sim(&disk, 1);
    let open = || Store::open(&env, Path::new(DIR), small_options(), resolve()).unwrap();
    let (first, second) = (open(), open());
    write(&second, 1, b"two").unwrap();
    assert!(is_fenced(write(&first, 1, b"one")));
    write(&second, 2, b"two").unwrap();
    env.fs.remove(&Path::new(DIR).join(MANIFEST)).unwrap();
    assert!(is_fenced(write(&second, 3, b"two")));
}
