//! Random transactions against a map: own writes, savepoints, scans both ways, snapshots that stay.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use store::Csn;
use txn::{Engine, EngineOptions, Isolation, Snapshot, Transaction};
use vfs::SimVfs;

use crate::common::{
    Append, Elsewhere, Medium, SimRandom, T, contents, get, large, meta, options, seed,
};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(random: &SimRandom) -> Vec<u8> {
    let len = 1 + random.below(2) as usize;
    (0..len).map(|_| b'a' + random.below(6) as u8).collect()
}

/// A scan of a random range in a random direction gives what the map has there.
fn compare(txn: &Transaction, map: &Map, random: &SimRandom, what: &str) {
    let probe = key(random);
    assert_eq!(get(txn, &probe).unwrap().as_ref(), map.get(&probe), "{what}: {probe:?}");
    let (low, high) = (key(random), key(random));
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    let lower = if random.below(2) == 0 {
        Bound::Included(low.clone())
    } else {
        Bound::Excluded(low.clone())
    };
    let upper = if random.below(2) == 0 {
        Bound::Excluded(high.clone())
    } else {
        Bound::Included(high.clone())
    };
    let reverse = random.below(2) == 0;
    let mut scan = txn.scan(T, lower.clone(), upper.clone(), reverse);
    let empty = low == high
        && !(matches!(lower, Bound::Included(_)) && matches!(upper, Bound::Included(_)));
    let mut expected: Vec<(Vec<u8>, Vec<u8>)> = match empty {
        true => Vec::new(),
        false => {
            map.range((lower, upper)).map(|(key, value)| (key.clone(), value.clone())).collect()
        }
    };
    if reverse {
        expected.reverse();
    }
    if random.below(3) == 0 {
        let to = key(random);
        scan.seek(&to);
        expected.retain(|(key, _)| if reverse { *key <= to } else { *key >= to });
    }
    let found: Vec<_> = scan
        .map(|item| {
            let (key, row) = item.unwrap();
            let mut image = Vec::new();
            row.image_into(&Append, &key, &mut image).unwrap();
            (key, image)
        })
        .collect();
    assert_eq!(found, expected, "{what}: reverse {reverse}");
}

fn step(txn: &mut Transaction, map: &mut Map, random: &SimRandom, number: u64) {
    let key = key(random);
    match random.below(3) {
        0 => {
            txn.delete(T, &key).unwrap();
            map.remove(&key);
        }
        1 if map.contains_key(&key) => {
            let delta = format!("+{number}").into_bytes();
            map.get_mut(&key).unwrap().extend_from_slice(&delta);
            txn.delta(T, &key, delta).unwrap();
        }
        _ => {
            let value = format!("{number}").into_bytes();
            map.insert(key.clone(), value.clone());
            txn.put(T, &key, value).unwrap();
        }
    }
}

fn transaction(engine: &Arc<Engine>, map: &mut Map, random: &SimRandom, what: &str) {
    let level = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    let mut txn = engine.begin(level[random.below(3) as usize]);
    let mut mine = map.clone();
    let mut savepoints = Vec::new();
    for number in 0..random.below(12) {
        match random.below(8) {
            0 => savepoints.push((txn.savepoint(), mine.clone())),
            1 if !savepoints.is_empty() => {
                savepoints.truncate(1 + random.below(savepoints.len() as u64) as usize);
                let (savepoint, copy) = savepoints.last().unwrap();
                txn.rollback_to(*savepoint);
                mine.clone_from(copy);
            }
            2 if !savepoints.is_empty() => {
                let (savepoint, _) = savepoints.pop().unwrap();
                txn.release(savepoint).unwrap();
            }
            _ => step(&mut txn, &mut mine, random, number),
        }
        compare(&txn, &mine, random, what);
    }
    if random.below(5) == 0 {
        txn.rollback();
    } else {
        txn.commit(meta("")).unwrap();
        *map = mine;
    }
}

/// 3,000 transactions with savepoints, flushes, compactions and reopenings between them.
#[test]
fn transactions_agree_with_a_map() {
    agree(options(), &SimVfs::unrecorded(), 3_000);
}

/// The same, with a log in memory and segments in an object store.
#[test]
fn transactions_elsewhere_agree_with_a_map() {
    agree(options(), &Elsewhere::<false>::blank(11), 3_000);
}

/// The same, where what is written goes to files.
#[test]
fn large_transactions_agree_with_a_map() {
    agree(large(), &SimVfs::unrecorded(), 3_000);
}

/// The same, with a log in memory and segments that are local objects.
#[test]
fn large_transactions_on_local_objects_agree_with_a_map() {
    agree(large(), &Elsewhere::<true>::blank(11), 300);
}

fn agree(options: EngineOptions, medium: &impl Medium, rounds: usize) {
    let seed = seed(11);
    let random = SimRandom::new(seed);
    let mut engine = medium.open_engine(seed, options.clone()).unwrap();
    let mut map = Map::new();
    let mut kept: Vec<(Snapshot, Map)> = Vec::new();
    let mut past: BTreeMap<Csn, Map> = BTreeMap::new();
    for round in 0..rounds {
        let what = format!("seed {seed}, round {round}");
        transaction(&engine, &mut map, &random, &what);
        past.insert(engine.visible(), map.clone());
        match random.below(100) {
            0 => engine.checkpoint().unwrap(),
            1 if random.below(4) == 0 => engine.store().compact().unwrap(),
            2 => {
                kept.clear();
                engine.close().unwrap();
                engine = medium.open_engine(seed, options.clone()).unwrap();
            }
            3..10 => kept.push((engine.snapshot(), map.clone())),
            10..20 if !kept.is_empty() => {
                let (snapshot, copy) = kept.swap_remove(random.below(kept.len() as u64) as usize);
                assert_eq!(
                    contents(&snapshot).into_iter().collect::<Map>(),
                    copy,
                    "{what}: a kept snapshot"
                );
            }
            20..30 => {
                let at = Csn(random.below(engine.visible().0 + 1));
                let (_, copy) = past
                    .range(..=at)
                    .next_back()
                    .map_or((Csn(0), Map::new()), |(c, m)| (*c, m.clone()));
                let snapshot = engine.snapshot_at(at).unwrap();
                assert_eq!(
                    contents(&snapshot).into_iter().collect::<Map>(),
                    copy,
                    "{what}: as of {at:?}"
                );
            }
            _ => {}
        }
    }
}

/// Hooks run once, in the order of commits, before the commit can be seen; never for what is undone.
#[test]
fn hooks_run_before_visibility() {
    let engine = crate::common::engine(1);
    let ran = Arc::new(std::sync::Mutex::new(Vec::new()));
    for round in 0..3u64 {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.put(T, b"k", Vec::new()).unwrap();
        let savepoint = txn.savepoint();
        txn.on_publish(|_| panic!("this was rolled back"));
        txn.rollback_to(savepoint);
        let (theirs, seen) = (Arc::clone(&ran), Arc::downgrade(&engine));
        txn.on_publish(move |commit| {
            assert!(seen.upgrade().unwrap().visible() < commit.csn, "not yet visible");
            theirs.lock().unwrap().push(commit.csn.0);
        });
        if round == 1 {
            txn.rollback();
        } else {
            txn.commit(meta("")).unwrap();
        }
    }
    assert_eq!(*ran.lock().unwrap(), [1, 2]);
}
