//! Columnar tables lie in columns: the model of all methods would not notice if they did not.

use std::ops::ControlFlow;

use txn::{Isolation, KeyRange, TxnError, View};
use types::{Datum, Type};

use super::super::{Cursor, Table};
use super::{World, int, primary_key, rows};
use crate::catalog::ddl::NewIndexKey;

const COUNT: i32 = 40_000;

/// How many blocks of columns a scan takes, and how many rows beside them.
fn taken(table: &Table, view: View<'_>) -> (usize, usize) {
    let mut cursor = txn::Cursor::new(table.storage(), KeyRange::ALL, false);
    let (mut blocks, mut rows) = (0, 0);
    while !cursor.is_at_end() {
        let row = |_: &[u8], _: &txn::Row<'_>| {
            rows += 1;
            Ok::<_, TxnError>(ControlFlow::Continue(()))
        };
        blocks += usize::from(cursor.fill_to_columns(view, row).expect("it is read").is_some());
    }
    (blocks, rows)
}

/// A flush writes 40,000 rows as three blocks. A change of one row makes its block one of rows for readers
/// that see the change, until a merge has written columns anew; readers of before have their block.
#[test]
fn rows_are_flushed_and_merged_into_columns() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("name", Type::TEXT)];
    world.create_using("columnar", "t", &columns, vec![primary_key(&["id"])]);
    // The entries of an index lie behind the rows in the same file.
    world.create_index("t", vec![NewIndexKey::column(2)], |_| {});
    let table = world.table("t");
    // All at once would be a large transaction, which writes columns itself.
    for first in (0..COUNT).step_by(10_000) {
        let mut session = world.session(Isolation::ReadCommitted);
        for id in first..first + 10_000 {
            let name = Datum::from(["ada", "bob"][id as usize % 2]);
            session.insert(&table, &[int(id), name]).unwrap();
        }
        session.commit().unwrap();
    }
    let count = |what: (usize, usize)| {
        let snapshot = world.engine.snapshot();
        assert_eq!(taken(&table, snapshot.view()), what);
        let found = rows(Cursor::over(&table, KeyRange::ALL, false), snapshot.view(), 1000);
        assert_eq!(found.len(), COUNT as usize);
        assert_eq!(found[20_001], "20001 Text(\"bob\")");
    };
    count((0, 40_000));
    world.engine.checkpoint().unwrap();
    count((3, 0));

    let before = world.engine.snapshot();
    let mut session = world.session(Isolation::ReadCommitted);
    let key = table.key_of([&int(20_000)]);
    assert!(session.update(&table, &key, |row| row[1] = "eve".into()).unwrap());
    session.commit().unwrap();
    count((2, 16_384));
    assert_eq!(
        taken(&table, before.view()).0,
        2,
        "a change in memory is in the way of all readers"
    );
    drop(before);
    world.engine.checkpoint().unwrap();
    world.engine.store().compact().unwrap();
    count((3, 0));
}
