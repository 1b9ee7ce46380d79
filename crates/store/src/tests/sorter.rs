//! Sorting the entries of a new table into a bulk load.

use crate::tests::corners::segments;
use crate::tests::world::{
    COLUMNS, PLAIN, SimRandom, TextColumns, World, delete, erase, put, seeds, small_options,
};
use crate::{ColumnEncoder, Csn, EncodedStripe, Sorted, Sorter, StoreError};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use vfs::{FaultKind, FaultPlan, OpClasses, SimVfs};

fn world(seed: u64) -> World {
    World::new(seed, SimVfs::unrecorded(), small_options())
}

/// Entries in any order, with buffers that hold all of them, some, or one, become one sorted load, in columns or not,
/// whether the runs have to be merged or not; and nothing else is left on the disk.
#[test]
fn whatever_the_order_it_is_one_load() {
    seeds(600, 60, |seed| {
        let dice = SimRandom::new(seed);
        let world = world(seed);
        let count = dice.below(300);
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
            .map(|i| (format!("{i:05}").into_bytes(), vec![i as u8; dice.below(40) as usize]))
            .collect();
        if dice.below(3) > 0 {
            (1..rows.len()).for_each(|i| rows.swap(i, dice.below(i as u64 + 1) as usize));
        }
        let buffer = [1, 200, 2_000, 1 << 20][dice.below(4) as usize];
        let table = [PLAIN, COLUMNS][dice.below(2) as usize];
        let threads = 1 + dice.below(3) as usize;
        let mut sorter = Sorter::with_buffer(table, buffer).by_threads(threads);
        if table == COLUMNS {
            sorter = sorter.in_columns(Arc::new(TextColumns));
        }
        assert!(world.store.is_fresh(table).unwrap());
        for (key, value) in &rows {
            sorter.put(&world.store, key, |out| out.extend_from_slice(value)).unwrap();
        }
        let Sorted::Loaded(loaded) = sorter.finish(&world.store).unwrap() else {
            panic!("no key comes twice")
        };
        assert_eq!(loaded.keys(), count);
        world.store.ingest(Csn(1), &loaded).unwrap();
        assert_eq!(world.store.is_fresh(table).unwrap(), count == 0);
        let scan = world.store.scan(table, Bound::Unbounded, Bound::Unbounded, Csn(1), false);
        let found: BTreeMap<_, _> = scan
            .map(|item| item.map(|(key, value)| (key, value.base().to_vec())).unwrap())
            .collect();
        assert_eq!(found, rows.into_iter().collect());
        let files = world.store.verify(&mut |_, _| {}).unwrap();
        assert!(files.problems.is_empty());
        let named = loaded.spans().count();
        assert_eq!(segments(&world.disk).len(), named, "{buffer} bytes");
    });
}

/// Items of rows, in memory or in runs that are merged, become the entries that whole keys would, and a walk gives them
/// in order.
#[test]
fn items_of_rows_become_entries() {
    seeds(603, 60, |seed| {
        let dice = SimRandom::new(seed);
        let world = world(seed);
        let buffer = [1, 200, 2_000, 1 << 20][dice.below(4) as usize];
        let threads = 1 + dice.below(3) as usize;
        let mut sorter = Sorter::with_buffer(PLAIN, buffer).by_threads(threads);
        let mut expected = BTreeMap::new();
        for row in 0..dice.below(200) as u16 {
            let items: Vec<Vec<u8>> =
                (0..8_u8).filter(|_| dice.below(3) == 0).map(|item| vec![b'i', item]).collect();
            let (rest, value) = (row.to_be_bytes(), [row as u8]);
            let of_row = items.iter().map(Vec::as_slice);
            sorter.put_items(&world.store, of_row, &rest, &value).unwrap();
            expected.extend(items.iter().map(|item| ([&item[..], &rest].concat(), value.to_vec())));
        }
        if dice.below(2) == 0 {
            let mut walked = Vec::new();
            let each = |key: &[u8], value: &[u8]| {
                walked.push((key.to_vec(), value.to_vec()));
                Ok::<_, StoreError>(())
            };
            sorter.walk(&world.store, each).unwrap();
            assert_eq!(walked, expected.into_iter().collect::<Vec<_>>());
            assert!(segments(&world.disk).is_empty());
            return;
        }
        let Sorted::Loaded(loaded) = sorter.finish(&world.store).unwrap() else {
            panic!("no key comes twice")
        };
        world.store.ingest(Csn(1), &loaded).unwrap();
        let scan = world.store.scan(PLAIN, Bound::Unbounded, Bound::Unbounded, Csn(1), false);
        let found: BTreeMap<_, _> = scan
            .map(|item| item.map(|(key, value)| (key, value.base().to_vec())).unwrap())
            .collect();
        assert_eq!(found, expected);
    });
}

/// Columns of stripes of ten rows.
#[derive(Debug)]
struct ShortStripes;

impl ColumnEncoder for ShortStripes {
    fn stripe_rows(&self) -> usize {
        10
    }

    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe> {
        TextColumns.encode(values)
    }
}

/// A buffer for columns has room for 13 rows here, and is written after ten: all stripes are full. The rest of each
/// buffer once made a stripe of three rows, which had no dictionary where the full ones had one.
#[test]
fn a_buffer_for_columns_ends_with_a_full_stripe() {
    let world = world(602);
    let mut sorter = Sorter::with_buffer(COLUMNS, 13 * 20).in_columns(Arc::new(ShortStripes));
    for key in 0..75_u32 {
        let value = |out: &mut Vec<u8>| out.extend_from_slice(&[key as u8; 16]);
        sorter.put(&world.store, &key.to_be_bytes(), value).unwrap();
    }
    let Sorted::Loaded(loaded) = sorter.finish(&world.store).unwrap() else {
        panic!("no key comes twice")
    };
    world.store.ingest(Csn(1), &loaded).unwrap();
    let stripes = world.store.stripes(COLUMNS).unwrap();
    let rows: Vec<usize> = stripes.iter().map(|stripe| stripe.rows()).collect();
    assert_eq!(rows, [10, 10, 10, 10, 10, 10, 10, 5]);
}

/// A walk gives the entries in order, from memory or from files that have to be merged, stops where the caller
/// fails, and leaves nothing on the disk.
#[test]
fn a_walk_gives_all_in_order_and_leaves_nothing() {
    seeds(601, 40, |seed| {
        let dice = SimRandom::new(seed);
        let world = world(seed);
        let count = dice.below(300) as usize;
        let mut keys: Vec<u32> = (0..count as u32).collect();
        (1..count).for_each(|i| keys.swap(i, dice.below(i as u64 + 1) as usize));
        let buffer = [1, 200, 2_000, 1 << 20][dice.below(4) as usize];
        let fails_after = [usize::MAX, count / 2][dice.below(2) as usize];
        let mut sorter = Sorter::with_buffer(PLAIN, buffer).for_walk();
        for key in &keys {
            let value = |out: &mut Vec<u8>| out.extend_from_slice(&key.to_le_bytes());
            sorter.put(&world.store, &key.to_be_bytes(), value).unwrap();
        }
        let mut walked = Vec::new();
        let done = sorter.walk(&world.store, |key, value| {
            let key = u32::from_be_bytes(key.try_into().unwrap());
            assert_eq!(value, key.to_le_bytes());
            walked.push(key);
            match walked.len() > fails_after {
                true => Err(StoreError::Bulk { table: PLAIN, what: "enough" }),
                false => Ok(()),
            }
        });
        let expected = fails_after.saturating_add(1).min(count);
        assert_eq!(walked, (0..expected as u32).collect::<Vec<u32>>());
        assert_eq!(done.is_err(), walked.len() > fails_after);
        assert!(segments(&world.disk).is_empty(), "{buffer} bytes");
    });
}

/// An operation of the disk that fails while another thread writes a buffer fails the sorter, at the latest when it is
/// finished, and no file is left. Whatever did not fail is whole.
#[test]
fn a_failing_disk_fails_the_sorter() {
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite];
    for table in [PLAIN, COLUMNS] {
        let mut failed = 0;
        for nth in 0.. {
            let world = world(nth as u64);
            let (kind, once) = (kinds[nth % 3], nth % 2 == 0);
            let on = OpClasses::OPEN
                | OpClasses::CREATE
                | OpClasses::READ
                | OpClasses::WRITE
                | OpClasses::SYNC
                | OpClasses::SYNC_DIR;
            world.disk.fail(FaultPlan { nth, kind, once, on });
            let mut sorter = Sorter::with_buffer(table, 600).by_threads(1 + nth % 2);
            if table == COLUMNS {
                sorter = sorter.in_columns(Arc::new(TextColumns));
            }
            let put = |key: u32| {
                let value = |out: &mut Vec<u8>| out.extend_from_slice(&[key as u8; 20]);
                sorter.put(&world.store, &(key * 7 % 97).to_be_bytes(), value)
            };
            let put = (0..97).try_for_each(put);
            let sorted = put.and_then(|()| sorter.finish(&world.store));
            let hit = world.disk.faults_hit();
            world.disk.heal();
            match sorted {
                Ok(Sorted::Loaded(loaded)) => {
                    assert_eq!((loaded.keys(), hit), (97, 0));
                    break;
                }
                Ok(Sorted::Duplicate(duplicate)) => panic!("{duplicate:?} came once"),
                Err(StoreError::Io { .. }) => failed += 1,
                Err(other) => panic!("{other}"),
            }
            assert!(segments(&world.disk).is_empty(), "{table:?}: operation {nth}");
        }
        assert!(failed > 20, "{table:?}: {failed}");
    }
}

/// A key that comes twice is found in one buffer as in two, and no file is left then; nor is one left of
/// a sorter that is dropped.
#[test]
fn a_key_that_comes_twice_is_found() {
    for buffer in [1, 60, 1 << 20] {
        let world = world(1);
        let mut sorter = Sorter::with_buffer(PLAIN, buffer).by_threads(2);
        for (at, key) in ["d", "a", "c", "b", "e", "c", "f"].iter().enumerate() {
            let value = |out: &mut Vec<u8>| out.extend_from_slice(format!("value {at}").as_bytes());
            sorter.put(&world.store, key.as_bytes(), value).unwrap();
        }
        let Sorted::Duplicate(duplicate) = sorter.finish(&world.store).unwrap() else {
            panic!("c comes twice")
        };
        assert_eq!(
            (duplicate.key, duplicate.value),
            (b"c".to_vec(), b"value 5".to_vec()),
            "{buffer}"
        );
        let mut dropped = Sorter::with_buffer(PLAIN, buffer);
        for key in 0..50u8 {
            dropped.put(&world.store, &[key], |out| out.push(key)).unwrap();
        }
        drop(dropped);
        assert!(segments(&world.disk).is_empty());
    }
}

/// A table whose every key was erased is not one that never had any: the erased versions still lie in memory
/// and in files, above which a load, whose entries count as older, would not be seen.
#[test]
fn an_erased_table_is_not_fresh() {
    let mut world = world(2);
    assert!(world.store.is_fresh(PLAIN).unwrap());
    world.commit_durably(vec![put(PLAIN, b"a", b"secret")]);
    world.commit_durably(vec![erase(PLAIN, b"a", 0, None), delete(PLAIN, b"a")]);
    assert!(
        world
            .store
            .keys(PLAIN, Bound::Unbounded, Bound::Unbounded, false)
            .advance()
            .unwrap()
            .is_none()
    );
    assert!(!world.store.is_fresh(PLAIN).unwrap());
    world.store.flush().unwrap();
    world.store.scrub().unwrap();
    assert!(world.store.is_fresh(PLAIN).unwrap(), "not a byte is left");
}
