//! Scans and the cache: those that pass it by, and what they keep there.

use crate::tests::world::{PLAIN, SimRandom, World, delete, put, small_options};
use crate::{BlockReads, Csn, ScanItem, ScannedState, StoreOptions};
use std::ops::{Bound, ControlFlow, Range};
use vfs::SimVfs;

/// A scan of more than the cache holds, in order or by blocks, leaves there what was read before. Such a scan once pushed
/// everything out. One of a few keys still brings its block along.
#[test]
fn a_scan_of_more_than_the_cache_leaves_the_cache_alone() {
    for by_blocks in [false, true] {
        let options = StoreOptions {
            cache_bytes: 48 << 10,
            segment_bytes: 32 << 10,
            current_block_bytes: 1 << 10,
            ..small_options()
        };
        let mut world = World::new(2, SimVfs::unrecorded(), options);
        let dice = SimRandom::new(2);
        let rows = 2_000_u32;
        let value = |_| (0..100).map(|_| dice.below(256) as u8).collect::<Vec<u8>>();
        world.commit_durably(
            (0..rows).map(|row| put(PLAIN, &row.to_be_bytes(), &value(row))).collect(),
        );
        world.store.flush().unwrap();
        let read = |row: u32| {
            let before = BlockReads::of_thread();
            assert!(world.store.read(PLAIN, &row.to_be_bytes(), Csn::MAX).unwrap().is_some());
            BlockReads::of_thread().since(before).read
        };
        assert!(read(1_000) > 0, "nothing was in the cache");
        assert_eq!(read(1_000), 0);
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut found = 0;
        if by_blocks {
            let mut scan = world.store.block_scan(PLAIN, all.0, all.1, Csn(1), &[]).unwrap();
            scan.visit(&mut |given| {
                found += match given {
                    ScanItem::Rows(rows) => rows.len(),
                    _ => 1,
                };
                ControlFlow::Continue(())
            })
            .unwrap();
        } else {
            found = world.store.scan(PLAIN, all.0, all.1, Csn(1), false).count();
        }
        assert_eq!(found, rows as usize);
        assert_eq!(read(1_000), 0, "by blocks: {by_blocks}");
        let few = (Bound::Included(vec![0, 0, 0, 7]), Bound::Included(vec![0, 0, 0, 8]));
        assert_eq!(world.store.scan(PLAIN, few.0, few.1, Csn(1), false).count(), 2);
        assert_eq!(read(7), 0);
    }
}

/// A reader leaves what it derived from a block there, once the block is read again. It belongs to all rows of the block,
/// whichever of them a scan sees.
#[test]
fn a_scan_finds_what_an_earlier_one_has_derived_from_a_block() {
    let options = StoreOptions { cache_bytes: 1 << 20, ..small_options() };
    let mut world = World::new(3, SimVfs::unrecorded(), options);
    let row = |number: u32| put(PLAIN, &number.to_be_bytes(), format!("value {number}").as_bytes());
    world.commit_durably((0..100).map(row).collect());
    world.store.flush().unwrap();
    // The values that a scan sees, and for how many rows of its blocks an earlier one has left something.
    let scan = |world: &World, at: u64| {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut scan = world.store.block_scan(PLAIN, all.0, all.1, Csn(at), &[]).unwrap();
        let (mut values, mut left) = (Vec::new(), 0);
        scan.visit(&mut |given| {
            match given {
                ScanItem::Rows(rows) => {
                    let bytes = |at: Range<usize>| rows.bytes()[at].to_vec();
                    let mut seen = Vec::new();
                    rows.each_value(|value| seen.push(bytes(value)));
                    assert_eq!(seen.len(), rows.len());
                    values.extend(seen.clone());
                    // A block with a deletion is not made of values alone.
                    let Some(all) = rows.all_values() else { return ControlFlow::Continue(()) };
                    let all: Vec<Vec<u8>> = all.map(bytes).collect();
                    match rows.numbers() {
                        Some(numbers) => assert!(numbers.map(|at| &all[at as usize]).eq(&seen)),
                        None => assert_eq!(all, seen),
                    }
                    let mut is_new = false;
                    let derived = rows.derived(100, || {
                        is_new = true;
                        all.clone()
                    });
                    assert!(derived.is_none_or(|derived| *derived == all));
                    left += if is_new { 0 } else { derived.map_or(0, Vec::len) };
                    if derived.is_some() {
                        assert!(rows.derived(100, || 7_u64).is_none(), "it has another type");
                        assert!(rows.grow(10) && !rows.grow(2 << 20));
                    }
                }
                ScanItem::Row(_, state) => {
                    let ScannedState::Image { bytes, .. } = state else { unreachable!("whole") };
                    values.push(bytes.to_vec());
                }
                ScanItem::Columns(_) => unreachable!("it is a table of rows"),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        values.sort();
        (values, left)
    };
    let (first, left) = scan(&world, 1);
    assert_eq!((first.len(), left), (100, 0));
    assert_eq!(scan(&world, 1), (first.clone(), 0), "the blocks were new to the cache before");
    assert_eq!(scan(&world, 1), (first, 100));
    // Rows that a scan does not see leave what was derived as it is.
    let new = put(PLAIN, &8_u32.to_be_bytes(), b"new");
    world.commit_durably(vec![delete(PLAIN, &7_u32.to_be_bytes()), new]);
    for is_flushed in [false, true] {
        if is_flushed {
            world.store.flush().unwrap();
        }
        let (now, left) = scan(&world, 2);
        assert_eq!((now.len(), left), (99, 100), "flushed: {is_flushed}");
        assert!(now.contains(&b"new".to_vec()));
        assert!(!now.contains(&b"value 7".to_vec()) && !now.contains(&b"value 8".to_vec()));
    }
}
