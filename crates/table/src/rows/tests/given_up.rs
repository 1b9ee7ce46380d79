//! The state that hangs on tables goes when they go.

use std::ops::Bound;
use std::sync::Arc;

use store::{Retention, TableId};
use txn::{CommitMeta, Isolation};
use types::Type;
use vfs::SimVfs;

use super::{World, int, primary_key};
use crate::catalog::ddl::{Behavior, NewTable, SequenceOptions};
use crate::catalog::{Address, CATALOG, Draft, PUBLIC, Persistence};

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

/// A temporary table as a session makes it: it keeps no past.
fn temporary(name: &str) -> NewTable {
    NewTable {
        persistence: Persistence::Temporary,
        history: Retention::None,
        constraints: vec![primary_key(&["a"])],
        ..super::new_table(name, &[("a", INT), ("b", INT)])
    }
}

/// How many tables of the store the catalog has a record of that they were given up.
fn records(world: &World) -> usize {
    let snapshot = world.engine.snapshot();
    let all = snapshot.scan(
        CATALOG,
        Bound::Included(b"x".to_vec()),
        Bound::Excluded(b"y".to_vec()),
        false,
    );
    all.inspect(|item| assert!(item.is_ok(), "records are read")).count()
}

/// True if the store has something of a table, or knows that it had.
fn is_stored(world: &World, storage: TableId) -> bool {
    let store = world.engine.store();
    let mut keys = store.keys(storage, Bound::Unbounded, Bound::Unbounded, false);
    let is_there = keys.advance().expect("keys are read").is_some();
    is_there || store.horizon(storage).0 > 0
}

fn write_out(world: &World) {
    world.engine.checkpoint().expect("it is written");
    world.engine.store().compact().expect("it is merged");
}

/// Sessions made temporary tables and ended. Each table that had rows left a record in the catalog, an entry in memory
/// and a horizon in the store's manifest, for ever; a sequence that had given a number did so too.
#[test]
fn a_temporary_table_leaves_no_record() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    world.create("stays", &[("a", INT), ("b", INT)], Vec::new());
    insert(&world, "stays");
    write_out(&world);
    let (before, recorded) = (sizes(&world), records(&world));
    let mut storages = Vec::new();
    for round in 0..3 {
        world.ddl(|ddl| ddl.create_table(temporary("t"))).expect("it is made");
        insert(&world, "t");
        let t = world.table("t");
        storages.push(t.storage());
        if round == 1 {
            // The files have the rows already.
            write_out(&world);
        }
        if round == 2 {
            world.ddl(|ddl| ddl.truncate(&[t.relation().oid], false)).expect("it is emptied");
            insert(&world, "t");
            storages.push(world.table("t").storage());
        }
        drop_table(&world, "t");
    }
    let permanent = Persistence::Permanent;
    let options = SequenceOptions::default();
    let made = world.ddl(|ddl| ddl.create_sequence(PUBLIC, "s", permanent, &options));
    let s = made.expect("it is made");
    let storage = s.storage().expect("it has one");
    storages.push(storage);
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    txn.put(storage, b"", vec![0; 9]).expect("nobody is in the way");
    txn.commit(CommitMeta::default()).expect("nobody is in the way");
    world.ddl(|ddl| ddl.drop_objects(&[Address::relation(s.oid)], Behavior::Cascade)).unwrap();

    world.cache.tables().settle(world.engine.store());
    assert_eq!(sizes(&world), before, "nothing is left in memory");
    assert_eq!(records(&world), recorded, "nor in the catalog");
    assert!(storages.iter().any(|storage| is_stored(&world, *storage)), "files have them still");
    write_out(&world);
    assert!(storages.iter().all(|storage| !is_stored(&world, *storage)), "nor in the store");
    assert_eq!(world.table("stays").storage(), world.table("stays").storage());
}

/// A server that ended before files without the rows of temporary tables were written gets rid of them later.
#[test]
fn what_a_temporary_table_left_in_files_goes_after_an_opening() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    world.create("stays", &[("a", INT), ("b", INT)], vec![primary_key(&["a"])]);
    insert(&world, "stays");
    world.ddl(|ddl| ddl.create_table(temporary("t"))).expect("it is made");
    insert(&world, "t");
    let storage = world.table("t").storage();
    write_out(&world);
    drop_table(&world, "t");
    world.close();
    let world = World::open(&disk, 2);
    assert!(is_stored(&world, storage), "the files are those of before");
    write_out(&world);
    assert!(!is_stored(&world, storage));
    let (stays, now) = (world.table("stays"), world.engine.snapshot());
    let cursor = super::super::Cursor::over(&stays, txn::KeyRange::ALL, false);
    assert_eq!(super::rows(cursor, now.view(), 10), ["1 2"], "other tables have their rows");
}

/// A reader whose snapshot is older than the end of a temporary table reads on.
#[test]
fn a_snapshot_keeps_the_rows_of_a_temporary_table() {
    let world = World::new();
    world.ddl(|ddl| ddl.create_table(temporary("t"))).expect("it is made");
    insert(&world, "t");
    let (then, t) = (world.engine.snapshot(), world.table("t"));
    drop_table(&world, "t");
    let tables = world.cache.tables();
    tables.settle(world.engine.store());
    write_out(&world);
    let read = || {
        let cursor = super::super::Cursor::over(&t, txn::KeyRange::ALL, false);
        super::rows(cursor, then.view(), 10)
    };
    assert_eq!(read(), ["1 2"]);
    drop(then);
    tables.settle(world.engine.store());
    write_out(&world);
    assert!(!is_stored(&world, t.storage()));
}

/// A transaction that made a table, rolled back to a savepoint and committed left the handle, the row ids and the use of
/// the table behind. A transaction whose commit failed after the catalog was written left those of all its tables.
#[test]
fn nothing_hangs_on_a_table_that_went_before_the_commit() {
    let world = World::new();
    world.create("stays", &[("a", INT), ("b", INT)], Vec::new());
    let (before, recorded) = (sizes(&world), records(&world));
    let mut storages = Vec::new();
    for outcome in ["rolled back to a savepoint", "dropped", "not committed"] {
        let mut txn = world.engine.begin(Isolation::ReadCommitted);
        let mut draft = Draft::new(&world.cache);
        let (mark, saved) = (txn.savepoint(), draft.savepoint());
        let new = super::new_table("new", &[("a", INT), ("b", INT)]);
        let new = draft.ddl(&mut txn, super::acting()).create_table(new).expect("it is made");
        let table = world.handles.table(draft.catalog(), new.oid).expect("it is a table");
        storages.push(table.storage());
        let mut checks =
            crate::foreign::Checks::new(Arc::clone(&world.handles), draft.catalog().clone());
        let mut change = super::super::Change {
            txn: &mut txn,
            values: &mut super::super::NoValues,
            checks: &mut checks,
        };
        table.insert(&mut change, &[int(1), int(2)]).expect("a row is inserted");
        txn.note_rows(table.storage(), 1);
        drop(table);
        match outcome {
            "rolled back to a savepoint" => {
                txn.rollback_to(mark);
                draft.rollback_to(&saved);
                assert_eq!(sizes(&world), before, "{outcome}: at once");
            }
            "dropped" => {
                let object = [Address::relation(new.oid)];
                let mut ddl = draft.ddl(&mut txn, super::acting());
                ddl.drop_objects(&object, Behavior::Cascade).expect("it is dropped");
            }
            _ => {}
        }
        let other = super::new_table(outcome, &[("a", INT)]);
        draft.ddl(&mut txn, super::acting()).create_table(other).expect("it is made");
        draft.publish(&mut txn).expect("nobody is in the way");
        match outcome {
            "not committed" => drop(txn),
            _ => {
                txn.commit(CommitMeta::default()).expect("nobody is in the way");
                drop_table(&world, outcome);
            }
        }
        assert_eq!(sizes(&world), before, "{outcome}");
        assert_eq!(records(&world), recorded, "{outcome}");
    }
    write_out(&world);
    assert!(storages.iter().all(|storage| !is_stored(&world, *storage)));
}

/// A dropped table that never had a row was not known to have been given up: a read as of before made a handle, row ids
/// and all else that hangs on a table, which stayed.
#[test]
fn the_past_of_an_empty_table_leaves_nothing_behind() {
    let world = World::new();
    world.create("empty", &[("a", INT), ("b", INT)], Vec::new());
    let (then, catalog) = (world.engine.snapshot(), world.cache.newest());
    let oid = world.table("empty").relation().oid;
    drop_table(&world, "empty");
    let before = sizes(&world);
    let past = world.handles.table(&catalog, oid).expect("it was a table");
    let cursor = super::super::Cursor::over(&past, txn::KeyRange::ALL, false);
    assert_eq!(super::rows(cursor, then.view(), 10), [""; 0]);
    assert_eq!(world.handles.row_count(past.storage()), 0);
    assert_eq!(sizes(&world), before);
}

/// The past of a temporary table is refused once the table is dropped, and never read as if it had been empty.
#[test]
fn the_past_of_a_temporary_table_is_refused() {
    let world = World::new();
    world.ddl(|ddl| ddl.create_table(temporary("t"))).expect("it is made");
    insert(&world, "t");
    let (catalog, oid) = (world.cache.newest(), world.table("t").relation().oid);
    drop_table(&world, "t");
    assert!(world.handles.table(&catalog, oid).is_none());
    world.cache.tables().settle(world.engine.store());
    assert!(world.handles.table(&catalog, oid).is_none());
}

/// A commit made a table by a record that is damaged, or of a later release: the rows of the table stay, although no
/// record that was read names it.
#[test]
fn rows_stay_of_a_table_whose_record_is_not_read() {
    let world = World::new();
    let number = world.cache.allocate().expect("there are numbers left");
    let storage = TableId(CATALOG.0 + number.0);
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    let key = [b"r", &number.0.to_be_bytes()[..]].concat();
    txn.put(CATALOG, &key, vec![u8::MAX]).expect("nobody is in the way");
    txn.put(storage, b"key", b"row".to_vec()).expect("nobody is in the way");
    txn.commit(CommitMeta::default()).expect("nobody is in the way");
    write_out(&world);
    assert!(is_stored(&world, storage));
}

/// The log is replayed, and files may be merged, before the catalog is read. No table is known then, and none is taken for
/// one that was given up.
#[test]
fn merges_before_the_catalog_is_read_keep_everything() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    world.create("stays", &[("a", INT), ("b", INT)], vec![primary_key(&["a"])]);
    insert(&world, "stays");
    let storage = world.table("stays").storage();
    world.close();
    let (engine, tables) = World::engine(&disk, 2);
    for number in 0..4_u8 {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.put(storage, &[number], vec![number]).expect("nobody is in the way");
        txn.delete(storage, &[number]).expect("nobody is in the way");
        txn.commit(CommitMeta::default()).expect("nobody is in the way");
        engine.checkpoint().expect("it is written");
        engine.store().maintain().expect("it is merged");
    }
    engine.store().compact().expect("it is merged");
    drop(tables);
    engine.close().expect("nobody uses it any more");
    let world = World::open(&disk, 3);
    let (stays, now) = (world.table("stays"), world.engine.snapshot());
    let cursor = super::super::Cursor::over(&stays, txn::KeyRange::ALL, false);
    assert_eq!(super::rows(cursor, now.view(), 10), ["1 2"]);
}

/// A transaction goes on that has made a table. Earlier releases wrote where a sequence of such a transaction stood by
/// commits of their own: compaction keeps it until the transaction is over.
#[test]
fn a_table_of_an_open_transaction_keeps_its_rows() {
    let world = World::new();
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    let mut draft = Draft::new(&world.cache);
    let new = super::new_table("new", &[("a", INT)]);
    let new = draft.ddl(&mut txn, super::acting()).create_table(new).expect("it is made");
    let storage = new.storage().expect("it has one");
    let mut other = world.engine.begin(Isolation::ReadCommitted);
    other.put(storage, b"key", b"row".to_vec()).expect("nobody is in the way");
    other.commit(CommitMeta::default()).expect("nobody is in the way");
    world.create("other", &[("a", INT)], Vec::new());
    write_out(&world);
    assert!(is_stored(&world, storage), "its number is below the next one, and no record names it");
    drop((txn, draft));
    write_out(&world);
    assert!(!is_stored(&world, storage));
}
