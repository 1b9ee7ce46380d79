//! Power losses between statements: a statement that was acknowledged is there, and none is in part.

use types::Type;
use vfs::{CrashPolicy, SimVfs};

use super::drops::{foreign, key};
use super::world::{SimRandom, World, check, dump, seed, table};
use crate::catalog::Address;
use crate::catalog::ddl::{Behavior, NewColumn};

/// After any operation of the disk, in every way in which it can lose what was not synced, the catalog is
/// that of a commit: of the last one acknowledged, or of one that was on its way.
#[test]
fn a_catalog_is_whole_after_a_power_loss() {
    let seed = seed(41);
    let random = SimRandom::new(seed);
    let disk = SimVfs::new(seed);
    let world = World::on(&disk, seed);
    // The catalog after each commit, and how many operations the disk had done then.
    let mut states = vec![(disk.op_count(), dump(&world.cache.newest()))];
    for number in 0..24 {
        let parent = world.cache.newest().relation_named(crate::catalog::PUBLIC, "t0").cloned();
        let (name, columns) = (format!("t{number}"), [("id", Type::INT4), ("x", Type::INT4)]);
        let mut keys = vec![key(&["id"], true)];
        keys.extend(parent.as_ref().map(|parent| foreign(&["x"], parent.oid, &[])));
        match number % 4 {
            3 if parent.is_some() => {
                let last = world.oid(&format!("t{}", number - 1));
                world.run(|ddl| ddl.truncate(&[last], true)).expect("nobody refers to it");
                states.push((disk.op_count(), dump(&world.cache.newest())));
                world.drop_relation(&format!("t{}", number - 2), Behavior::Restrict).expect("same");
            }
            _ => {
                let made = world.run(|ddl| {
                    let made = ddl.create_table(table(&name, &columns, keys))?;
                    ddl.add_column(made.oid, NewColumn::new("late", Type::TEXT), false)?;
                    ddl.comment(Address::relation(made.oid), Some("a table"))
                });
                made.expect("the name is free");
            }
        }
        states.push((disk.op_count(), dump(&world.cache.newest())));
        if number % 9 == 8 {
            world.engine.checkpoint().expect("the disk is sound");
        }
    }
    let mut reopenings = 0;
    for at in 0..=disk.op_count() {
        for policy in CrashPolicy::ALL {
            if random.below(3) != 0 {
                continue;
            }
            let what = format!("seed {seed}, {policy:?} after operation {at}");
            let image = disk.image(at, &policy, seed);
            let world = World::on(&image, seed + 1);
            let found = dump(&world.cache.newest());
            let known = states.partition_point(|(op, _)| *op <= at).saturating_sub(1);
            let may_be = states.iter().skip(known).take(3).any(|(_, state)| *state == found);
            assert!(may_be, "{what}: not a catalog of commit {known} or later");
            check(&world.cache.newest());
            reopenings += 1;
        }
    }
    assert!(reopenings > 150, "{reopenings} reopenings");
}
