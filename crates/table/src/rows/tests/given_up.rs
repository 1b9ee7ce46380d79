//! The state that hangs on tables goes when they go.

use txn::Isolation;
use types::Type;

use super::{World, int, primary_key};
use crate::catalog::ddl::Behavior;
use crate::catalog::{Address, Draft, PUBLIC};

const INT: Type = Type::INT4;

/// Returns the sizes of a world's maps, with the rows that each table is said to have written down.
fn sizes(world: &World) -> ([usize; 6], [usize; 2]) {
    world.handles.save_counts(&world.engine).expect("counts are written");
    (world.handles.sizes(), world.cache.tables().sizes())
}

fn drop_table(world: &World, name: &str) {
    let object = Address::relation(world.table(name).relation().oid);
    world.ddl(|ddl| ddl.drop_objects(&[object], Behavior::Cascade)).expect("it is dropped");
}

fn insert(world: &World, name: &str) {
    let mut session = world.session(Isolation::ReadCommitted);
    session.insert(&world.table(name), &[int(1), int(2)]).expect("a row is inserted");
    session.commit().expect("nobody is in the way");
}

/// A server that made and dropped tables all day kept the handle of each, its row ids, its moves, its statistics, its
/// use and its number of rows: ten kilobytes for a table.
#[test]
fn nothing_hangs_on_a_table_that_is_dropped() {
    let world = World::new();
    world.create("stays", &[("a", INT), ("b", INT)], Vec::new());
    insert(&world, "stays");
    let before = sizes(&world);
    for name in ["keyed", "empty", "keyless"] {
        let keys = if name == "keyless" { Vec::new() } else { vec![primary_key(&["a"])] };
        world.create(name, &[("a", INT), ("b", INT)], keys);
        world.table(name);
        if name != "empty" {
            insert(&world, name);
        }
    }
    let full = sizes(&world);
    assert_eq!(full.0[0], before.0[0] + 3, "a handle each");
    assert_eq!(full.0[5], before.0[5] + 2, "those with rows are counted");
    ["keyed", "empty", "keyless"].iter().for_each(|name| drop_table(&world, name));
    let after = sizes(&world);
    assert_eq!(after.0, before.0);
    assert_eq!(
        after.1[0],
        before.1[0] + 2,
        "the store knows of those that had rows, whose past is kept"
    );
}

/// The rows of a table that was dropped are read as of before. Reading them left a handle behind for each table.
#[test]
fn the_past_of_a_table_is_read_and_leaves_nothing_behind() {
    let world = World::new();
    world.create("gone", &[("a", INT), ("b", INT)], Vec::new());
    insert(&world, "gone");
    let then = world.engine.snapshot();
    let catalog = world.cache.newest();
    let oid = world.table("gone").relation().oid;
    drop_table(&world, "gone");
    let before = sizes(&world);
    let past = world.handles.table(&catalog, oid).expect("it was a table");
    let cursor = super::super::Cursor::over(&past, txn::KeyRange::ALL, false);
    assert_eq!(super::rows(cursor, then.view(), 10).len(), 1);
    assert_eq!(sizes(&world), before);
    let again = world.handles.table(&catalog, oid).expect("it was a table");
    assert!(std::sync::Arc::ptr_eq(&past, &again), "a statement asks many times");
}

/// A table that was emptied begins anew, and what hung on its rows goes; its use goes on being counted.
#[test]
fn truncating_leaves_what_hangs_on_the_table_once() {
    let world = World::new();
    world.create("t", &[("a", INT), ("b", INT)], Vec::new());
    insert(&world, "t");
    let before = world.handles.sizes();
    let oid = world.table("t").relation().oid;
    for _ in 0..5 {
        world.ddl(|ddl| ddl.truncate(&[oid], false)).expect("it is emptied");
        insert(&world, "t");
    }
    assert_eq!(world.handles.sizes(), before);
}

/// A transaction makes a table, asks for its handle, and is rolled back: by itself, or from a savepoint on.
#[test]
fn nothing_hangs_on_a_table_that_was_rolled_back() {
    let world = World::new();
    world.create("stays", &[("a", INT), ("b", INT)], Vec::new());
    insert(&world, "stays");
    let before = sizes(&world);
    let stays = world.table("stays").relation().oid;
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    let mut draft = Draft::new(&world.cache);
    draft.ddl(&mut txn, super::acting()).truncate(&[stays], false).expect("it is emptied");
    world.handles.table(draft.catalog(), stays).expect("it is a table");
    let new = super::new_table("new", &[("a", INT)]);
    let new = draft.ddl(&mut txn, super::acting()).create_table(new).expect("it is made");
    world.handles.table(draft.catalog(), new.oid).expect("it is a table");
    assert_eq!(world.handles.sizes()[2], before.0[2] + 2, "row ids of both");
    drop((draft, txn));
    assert_eq!(sizes(&world), before);
    assert!(world.cache.newest().relation_named(PUBLIC, "new").is_none());
}
