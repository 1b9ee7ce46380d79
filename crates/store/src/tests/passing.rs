//! Scans that pass the cache by.

use crate::tests::world::{PLAIN, SimRandom, World, put, small_options};
use crate::{BlockReads, Csn, ScanItem, StoreOptions};
use std::ops::{Bound, ControlFlow};
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
