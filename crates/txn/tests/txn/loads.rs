//! Bulk loads within a transaction: it reads them, writes to their keys, and goes back to
//! savepoints.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use store::{Op, TableId};
use txn::{
    Cursor, Engine, Isolation, KeyRange, Observed, Observer, SerializationFailure, Transaction,
    TxnError,
};

use vfs::{Env, FaultKind, FaultPlan, OpClasses, SimVfs, seeds};

use crate::common::{SimRandom, T, contents, engine, get, large, meta, try_open};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Loads some keys that were never there.
fn load(txn: &mut Transaction, rows: &Rows) {
    let engine = txn.engine().clone();
    let mut bulk = engine.store().bulk();
    rows.iter().try_for_each(|(key, value)| bulk.put(T, key, value)).unwrap();
    txn.attach(bulk.finish().unwrap()).unwrap();
}

fn seen(txn: &Transaction, reverse: bool) -> Rows {
    let scan = txn.scan(T, Bound::Unbounded, Bound::Unbounded, reverse);
    scan.map(|item| item.map(|(key, row)| (key, [row.base(), &deltas(&row)].concat())).unwrap())
        .collect()
}

fn deltas(row: &txn::Row<'_>) -> Vec<u8> {
    row.deltas().flat_map(|(_, delta)| delta.to_vec()).collect()
}

fn seen_by_cursor(txn: &Transaction, cursor: &mut Cursor, most: usize) -> Rows {
    let mut rows = Rows::new();
    let take = |key: &[u8], row: &txn::Row<'_>| {
        rows.insert(key.to_vec(), [row.base(), &deltas(row)].concat());
        Ok::<_, TxnError>(match rows.len() >= most {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    };
    cursor.fill(txn.view(), take).unwrap();
    rows
}

/// Random transactions of loads, writes to loaded and other keys, savepoints and ways back, beside a map:
/// reads, scans and cursors agree with it at each step, and the commit is what they saw.
#[test]
fn loads_are_seen_as_writes_are() {
    seeds(60, 60, |seed| {
        let random = SimRandom::new(seed);
        let engine = engine(seed);
        let mut next = 0;
        let mut committed = Rows::new();
        for _ in 0..6 {
            let mut txn = engine.begin(Isolation::ReadCommitted);
            let mut now = committed.clone();
            let mut saved = Vec::new();
            for step in 0..25 {
                match random.below(8) {
                    0 | 1 => {
                        let rows: Rows = (0..1 + random.below(30))
                            .map(|i| {
                                (format!("k{next:03}/{i:02}").into(), vec![random.next() as u8])
                            })
                            .collect();
                        next += 1;
                        load(&mut txn, &rows);
                        now.extend(rows);
                    }
                    2 => saved.push((txn.savepoint(), now.clone())),
                    3 if !saved.is_empty() => {
                        saved.truncate(1 + random.below(saved.len() as u64) as usize);
                        let (savepoint, then) = saved.last().cloned().expect("there is one");
                        txn.rollback_to(savepoint);
                        now = then;
                    }
                    _ if now.is_empty() => {}
                    kind => {
                        let at = random.below(now.len() as u64) as usize;
                        let key = now.keys().nth(at).cloned().expect("there is one");
                        match kind {
                            4 => {
                                txn.delete(T, &key).unwrap();
                                now.remove(&key);
                            }
                            5 => {
                                txn.delta(T, &key, b"+".to_vec()).unwrap();
                                now.entry(key).or_default().push(b'+');
                            }
                            _ => {
                                txn.write(T, key.clone(), Op::Put(b"new".to_vec())).unwrap();
                                now.insert(key, b"new".to_vec());
                            }
                        }
                    }
                }
                let at = format!("seed {seed}, step {step}");
                assert_eq!(seen(&txn, step % 2 == 0), now, "{at}");
                let mut cursor = Cursor::new(T, KeyRange::ALL, step % 3 == 0);
                assert_eq!(seen_by_cursor(&txn, &mut cursor, usize::MAX), now, "{at}");
                if let Some((key, value)) = now.iter().nth(step) {
                    assert_eq!(get(&txn, key).unwrap().as_ref(), Some(value), "{at}");
                }
            }
            if random.below(4) > 0 {
                txn.commit(meta("loads")).unwrap();
                committed = now;
            }
            if random.below(2) == 0 {
                engine.checkpoint().unwrap();
            }
            assert_eq!(contents(&engine.snapshot()).into_iter().collect::<Rows>(), committed);
        }
        assert!(engine.store().verify(&mut |_, _| {}).unwrap().problems.is_empty());
    });
}

/// A cursor that was opened before a load does not meet it, also where the load has become writes.
#[test]
fn a_cursor_does_not_meet_what_is_loaded_later() {
    let engine = engine(1);
    let mut txn = engine.begin(Isolation::ReadCommitted);
    for key in [b"a", b"c", b"e"] {
        txn.put(T, key, b"old".to_vec()).unwrap();
    }
    let mut cursor = Cursor::new(T, KeyRange::ALL, false);
    let first = seen_by_cursor(&txn, &mut cursor, 1);
    load(&mut txn, &Rows::from([(b"b".to_vec(), b"1".to_vec()), (b"d".to_vec(), b"2".to_vec())]));
    let second = seen_by_cursor(&txn, &mut cursor, 1);
    txn.put(T, b"d", b"3".to_vec()).unwrap();
    let rest = seen_by_cursor(&txn, &mut cursor, 9);
    let keys: Vec<u8> =
        [first, second, rest].iter().flatten().flat_map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, b"ace");
    assert_eq!(seen(&txn, false).len(), 5);
}

/// Writes went to a piece, which then could not be opened: a transaction that did not end there committed
/// without them.
#[test]
fn a_piece_that_cannot_be_opened_takes_nothing_along() {
    let mut failures = 0;
    for nth in 0..12 {
        for on in [OpClasses::OPEN, OpClasses::READ, OpClasses::CREATE, OpClasses::WRITE] {
            let disk = SimVfs::unrecorded();
            let engine = try_open(&Env::sim(&disk, 1), large()).expect("a new database opens");
            let mut txn = engine.begin(Isolation::ReadCommitted);
            disk.fail(FaultPlan { nth, kind: FaultKind::Eio, once: true, on });
            let mut expected = Vec::new();
            for key in b"abcdefghij" {
                while txn.put(T, &[*key], vec![*key; 9]).is_err() {
                    failures += 1;
                }
                expected.push((vec![*key], vec![*key; 9]));
            }
            disk.heal();
            txn.commit(meta("all of them")).unwrap();
            assert_eq!(contents(&engine.snapshot()), expected, "{on:?} {nth}");
        }
    }
    assert!(failures > 10, "{failures}");
}

/// A SERIALIZABLE transaction that has read, where a load puts keys, that there was nothing has
/// missed the load. The same holds for a read of a single key there, and not for a read of another
/// table.
#[test]
fn a_load_is_a_write_to_serializable_readers() {
    type Read = fn(&Transaction);
    let reads: [(&str, Read, bool); 3] = [
        ("a range", |txn| drop(seen(txn, false)), true),
        ("a key", |txn| drop(get(txn, b"b").unwrap()), true),
        ("another table", |txn| drop(txn.read(TableId(T.0 + 1), b"b").unwrap()), false),
    ];
    for (what, read, is_refused) in reads {
        let engine = engine(2);
        let mut reader = engine.begin(Isolation::Serializable);
        read(&reader);
        let mut loader = engine.begin(Isolation::ReadCommitted);
        load(&mut loader, &Rows::from([(b"a".to_vec(), vec![1]), (b"c".to_vec(), vec![2])]));
        loader.commit(meta("load")).unwrap();
        reader.put(TableId(T.0 + 2), b"x", vec![]).unwrap();
        let refused = match reader.commit(meta("after")) {
            Ok(_) => false,
            Err(TxnError::Serialization { why: SerializationFailure::Read(_) }) => true,
            Err(error) => panic!("{what}: {error}"),
        };
        assert_eq!(refused, is_refused, "{what}");
    }
}

/// An observer that reads from the records the keys that begin with an `r`.
#[derive(Default)]
struct Listed(Mutex<Vec<Vec<u8>>>);

impl Observer for Listed {
    fn follows(&self, table: TableId) -> bool {
        table == T
    }

    fn reads(&self, _table: TableId, key: &[u8]) -> bool {
        key.starts_with(b"r")
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        let keys = commit.writes().filter(|write| write.table == T);
        self.0.lock().extend(keys.map(|write| write.key.to_vec()));
    }
}

/// The record of a large commit has the keys that observers read. All others went to files, while the transaction went
/// on and at its end, and the table has them all.
#[test]
fn a_large_commit_keeps_in_its_record_the_keys_that_observers_read() {
    let env = Env::sim(&SimVfs::unrecorded(), 1);
    let leader = try_open(&env, large()).unwrap();
    let listed = Arc::new(Listed::default());
    leader.observe({
        let observer: Weak<Listed> = Arc::downgrade(&listed);
        observer
    });
    let mut expected = Rows::new();
    let mut txn = leader.begin(Isolation::ReadCommitted);
    for number in 0..100u8 {
        for first in [b'f', b'r'] {
            let (key, value) = (vec![first, number], vec![number; 10]);
            txn.put(T, &key, value.clone()).unwrap();
            expected.insert(key, value);
        }
    }
    txn.write(T, b"f\0".to_vec(), Op::Delete).unwrap();
    expected.remove(&b"f\0"[..]);
    assert_eq!(seen(&txn, false), expected);
    txn.commit(meta("")).unwrap();
    let read: Vec<Vec<u8>> = (0..100u8).map(|number| vec![b'r', number]).collect();
    assert_eq!(*listed.0.lock(), read);
    let of_all = |engine: &Arc<Engine>| Rows::from_iter(contents(&engine.snapshot()));
    assert_eq!(of_all(&leader), expected);
    leader.close().unwrap();
    let again = try_open(&env, large()).unwrap();
    assert_eq!(of_all(&again), expected);
}
