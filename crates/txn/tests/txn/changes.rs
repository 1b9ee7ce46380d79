//! The table of changes: which keys of which table each commit has written.
//!
//! ```text
//!   transaction   write a, b │ savepoint, write c, rolled back │ commit 7     changes of T at 7: [a b]
//!   erasure of a                                                commit 9     at 7: [b]; at 9: nothing
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use log::Lsn;
use store::{Csn, MergeError, Op, Retention, Table, TableId};
use txn::{
    CHANGES_TABLE, Engine, EngineOptions, Isolation, Observed, Observer, TableResolver, Touched,
    TxnError,
};
use vfs::{Env, OpenMode, SimRandom, SimVfs, Vfs};

use crate::common::{Append, T, meta, options, seed, try_open};

/// A table whose changes are noted as well.
const U: TableId = TableId(8);
/// A table whose changes nobody notes.
const INDEX: TableId = TableId(9);

/// The keys that each commit has changed in each table, and by how many rows; none for so many keys
/// that the table of changes says *all*.
type Model = BTreeMap<(TableId, Csn), Done>;
type Done = (Option<BTreeSet<Vec<u8>>>, i64);

fn following() -> EngineOptions {
    let mut options = options();
    options.follower = true;
    options
}

/// One transaction of random writes, part of them rolled back.
fn change(engine: &Arc<Engine>, random: &SimRandom, model: &mut Model) {
    let mut txn = engine.begin(Isolation::ReadCommitted);
    let mut done: BTreeMap<TableId, Done> = BTreeMap::new();
    txn.put(INDEX, b"entry", vec![1]).unwrap();
    for _ in 0..random.below(4) {
        let savepoint = txn.savepoint();
        let before = done.clone();
        let table = if random.below(2) == 0 { T } else { U };
        // Now and then so many keys that they are not kept.
        let (count, long) = if random.below(20) == 0 { (300, 300) } else { (random.below(4), 3) };
        txn.note_changes(table);
        for n in 0..count {
            let key = [vec![b'a' + random.below(8) as u8; long], vec![n as u8]].concat();
            match random.below(4) {
                0 => txn.delete(table, &key).unwrap(),
                _ => txn.put(table, &key, vec![7]).unwrap(),
            }
            let (keys, _) = done.entry(table).or_insert_with(|| (Some(BTreeSet::new()), 0));
            keys.as_mut().map(|keys| keys.insert(key));
        }
        if count == 300 {
            done.entry(table).and_modify(|(keys, _)| *keys = None);
        }
        if random.below(2) == 0 {
            let rows = random.below(100) as i64 - 50;
            txn.note_rows(table, rows);
            done.entry(table).or_insert_with(|| (Some(BTreeSet::new()), 0)).1 += rows;
        }
        if random.below(3) == 0 {
            txn.rollback_to(savepoint);
            done = before;
        }
    }
    let commit = txn.commit(meta("change")).unwrap();
    let told = done.into_iter().map(|(table, what)| ((table, commit.csn), what));
    model.extend(told.filter(|(_, (keys, rows))| {
        *rows != 0 || keys.as_ref().is_none_or(|keys| !keys.is_empty())
    }));
}

/// Every question has the answer of the model, for commits up to the newest.
fn check(engine: &Engine, random: &SimRandom, model: &Model, what: &str) {
    let newest = engine.visible();
    let after = Csn(random.below(newest.0 + 1));
    let to = Csn(after.0 + random.below(newest.0 - after.0 + 1));
    for table in [T, U] {
        assert_eq!(engine.changes_kept(table), Csn::ZERO, "{what}");
        let told: Vec<(Csn, Touched)> =
            engine.changes(table, after, to).unwrap().map(Result::unwrap).collect();
        let of_table =
            model.iter().filter(|((of, csn), _)| *of == table && *csn > after && *csn <= to);
        let expected: Vec<(Csn, Touched)> = of_table
            .filter_map(|((_, csn), (keys, _))| match keys {
                Some(keys) if keys.is_empty() => None,
                Some(keys) => Some((*csn, Touched::Keys(keys.iter().cloned().collect()))),
                None => Some((*csn, Touched::All)),
            })
            .collect();
        assert_eq!(told, expected, "{what}: {table:?} after {after:?} up to {to:?}");
    }
    for csn in (after.0 + 1..=to.0).map(Csn) {
        let told: Vec<(TableId, i64)> =
            engine.tables_changed(csn).unwrap().iter().map(|one| (one.table, one.rows)).collect();
        let of_commit = [T, U]
            .into_iter()
            .filter_map(|table| model.get(&(table, csn)).map(|(_, rows)| (table, *rows)));
        assert_eq!(told, of_commit.collect::<Vec<_>>(), "{what}: commit {csn:?}");
    }
    let none = engine.changes(INDEX, Csn::ZERO, newest).unwrap().count();
    assert_eq!(none, 0, "{what}: nobody notes the changes of the index");
}

/// Counts rows by what observers are told.
#[derive(Default)]
struct Rows(parking_lot::Mutex<i64>);

impl Observer for Rows {
    fn follows(&self, table: TableId) -> bool {
        table == T
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let changes = commit.changes();
        *self.0.lock() +=
            changes.iter().filter(|one| one.table == T).map(|one| one.rows).sum::<i64>();
    }
}

/// Random transactions with savepoints, checkpoints and reopenings: leader and follower know what every
/// commit has changed.
#[test]
fn changes_are_those_of_the_transactions() {
    let first = seed(51);
    for seed in first..first + 20 {
        let random = SimRandom::new(seed);
        let env = Env::sim(&SimVfs::unrecorded(), seed);
        let mut leader = try_open(&env, options()).unwrap();
        let followed = Env::sim(&SimVfs::unrecorded(), seed + 1);
        let follower = try_open(&followed, following()).unwrap();
        let rows = Arc::new(Rows::default());
        let observer: std::sync::Weak<Rows> = Arc::downgrade(&rows);
        follower.observe(observer);
        let (mut model, mut at) = (Model::new(), Lsn::START);
        for round in 0..40 {
            let what = format!("seed {seed}, round {round}");
            for _ in 0..random.below(30) {
                change(&leader, &random, &mut model);
            }
            for frame in leader.records(at).unwrap() {
                let (end, record) = frame.unwrap();
                follower.apply(&[record]).unwrap();
                at = end;
            }
            match random.below(8) {
                0 => leader.store().flush().unwrap(),
                1 => leader.store().compact().unwrap(),
                2 => follower.store().compact().unwrap(),
                3 => {
                    leader.close().unwrap();
                    leader = try_open(&env, options()).unwrap();
                }
                _ => {}
            }
            check(&leader, &random, &model, &what);
            check(&follower, &random, &model, &format!("{what}, follower"));
        }
        let of_t = model.iter().filter(|((table, _), _)| *table == T);
        assert_eq!(*rows.0.lock(), of_t.map(|(_, (_, rows))| rows).sum::<i64>(), "seed {seed}");
    }
}

/// An erasure takes the key out of the changes that name it; no file has it once all is scrubbed.
#[test]
fn an_erased_key_is_among_no_changes() {
    const KEY: &[u8] = b"\x91the key of somebody\xd3";
    let seed = seed(52);
    let disk = SimVfs::unrecorded();
    let engine = try_open(&Env::sim(&disk, seed), options()).unwrap();
    let put = |keys: &[&[u8]]| {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.note_changes(T);
        keys.iter().for_each(|key| txn.put(T, key, vec![1]).unwrap());
        txn.commit(meta("put")).unwrap().csn
    };
    let csns = vec![put(&[KEY]), put(&[b"other", KEY]), put(&[b"other"])];
    engine.checkpoint().unwrap();
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.note_changes(T);
    txn.delete(T, KEY).unwrap();
    txn.write(T, KEY.to_vec(), Op::Erase { from: Csn::ZERO, to: None }).unwrap();
    txn.erase_changes(T, KEY, csns).unwrap();
    txn.commit(meta("erase")).unwrap();
    let told: Vec<(Csn, Touched)> =
        engine.changes(T, Csn::ZERO, Csn::MAX).unwrap().map(Result::unwrap).collect();
    let other = Touched::Keys(vec![b"other".to_vec()]);
    assert_eq!(told, [(Csn(2), other.clone()), (Csn(3), other)]);
    engine.scrub().unwrap();
    for (path, len) in disk.files() {
        let mut content = vec![0; len as usize];
        disk.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut content, 0).unwrap();
        let name = &KEY[4..];
        assert!(content.windows(name.len()).all(|bytes| bytes != name), "{}", path.display());
    }
}

/// A table that keeps no history.
struct Forgetful;

impl Table for Forgetful {
    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Append.merge(key, base_csn, base, deltas, out)
    }

    fn retention(&self) -> Retention {
        Retention::None
    }
}

/// The changes of a table go with its history, and a reader of those that are gone is told so.
#[test]
fn changes_go_with_the_history() {
    let resolve: TableResolver =
        Arc::new(|table| if table == U { Arc::new(Forgetful) } else { Arc::new(Append) });
    let env = Env::sim(&SimVfs::unrecorded(), seed(53));
    let engine = Engine::open(&env, Path::new("/db"), options(), resolve).unwrap();
    let put = |n: u8| {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for table in [T, U] {
            txn.note_changes(table);
            txn.put(table, &[n % 3], vec![n]).unwrap();
        }
        txn.commit(meta("put")).unwrap().csn
    };
    (0..10).for_each(|n| assert_eq!(put(n), Csn(u64::from(n) + 1)));
    let reader = engine.snapshot();
    let last = (10..20).map(put).max().unwrap();
    let count = |table, after| engine.changes(table, after, Csn::MAX).map(Iterator::count);
    assert_eq!(count(U, Csn(7)).unwrap(), 13);
    // A snapshot that reads at a commit keeps what came after it.
    engine.store().compact().unwrap();
    assert_eq!((count(T, Csn::ZERO).unwrap(), count(U, reader.csn()).unwrap()), (20, 10));
    assert_eq!(engine.changes_kept(U), Csn(10));
    let refused = count(U, Csn(7)).unwrap_err();
    assert!(matches!(refused, TxnError::ChangesForgotten { after: Csn(7), kept: Csn(10) }));
    drop(reader);
    put(20);
    engine.store().compact().unwrap();
    assert_eq!(engine.changes_kept(U), Csn(21));
    assert!(engine.store().read(CHANGES_TABLE, &[0; 12], Csn::MAX).unwrap().is_some());
    assert_eq!((count(T, last).unwrap(), count(U, Csn(21)).unwrap()), (1, 0));
}
