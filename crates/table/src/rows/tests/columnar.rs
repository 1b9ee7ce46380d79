//! Columnar tables lie in columns: the model of all methods would not notice if they did not.

use std::ops::{Bound, ControlFlow};

use numeric::Numeric;
use txn::{Isolation, KeyRange, TxnError, View};
use types::{Datum, Jsonb, Type};

use super::super::{Cursor, Table};
use super::{World, int, primary_key, rows, shown};
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

/// A reader that wants a few rows of a block has these decoded, and the others when it asks for more. Every row is as it
/// was inserted, whatever number of rows a reader asks for, and after it has passed rows by counting them.
#[test]
fn a_scan_decodes_a_few_rows_first() {
    const ROWS: i32 = 3_000;
    let world = World::new();
    let columns = [
        ("id", Type::INT4),
        ("name", Type::TEXT),
        ("price", Type::NUMERIC),
        ("share", Type::FLOAT8),
        ("doc", Type::JSONB),
    ];
    world.create_using("columnar", "t", &columns, vec![primary_key(&["id"])]);
    let table = world.table("t");
    let inserted: Vec<Vec<Datum>> = (0..ROWS).map(a_row_of_each_encoding).collect();
    let mut session = world.session(Isolation::ReadCommitted);
    for row in &inserted {
        session.insert(&table, row).unwrap();
    }
    session.commit().unwrap();
    world.engine.checkpoint().unwrap();
    let snapshot = world.engine.snapshot();
    assert_eq!(taken(&table, snapshot.view()), (1, 0));
    let inserted: Vec<String> = inserted.iter().map(|row| shown(row)).collect();
    let cursor = || Cursor::over(&table, KeyRange::ALL, false);
    for at_once in [1, 30, 374, 375, 1_000, 4_000] {
        assert_eq!(rows(cursor(), snapshot.view(), at_once), inserted, "{at_once} at once");
        let mut behind = cursor();
        assert_eq!(behind.count(snapshot.view(), 1_500).unwrap(), 1_500);
        assert_eq!(rows(behind, snapshot.view(), at_once), inserted[1_500..], "{at_once} at once");
    }
}

fn a_row_of_each_encoding(id: i32) -> Vec<Datum> {
    let name = match id % 7 {
        0 => Datum::Null,
        few => Datum::text(format!("name {few}")),
    };
    let price = Numeric::new((id * 37 % 1_001).into(), id as u32 % 3).expect("it is short");
    let doc = Jsonb::parse(&format!(r#"{{"id": {id}, "tags": ["a{id}"]}}"#)).expect("it is JSON");
    vec![int(id), name, price.into(), Datum::Float8(f64::from(id) / 8.0), doc.into()]
}

/// A reader that begins with the first key of a block reads neither the block before nor the columns of its own until it
/// takes it. It once decoded all rows of both: the first plan over a large table took seconds.
#[test]
fn a_scan_from_the_first_key_of_a_block_reads_no_other() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("name", Type::TEXT)];
    world.create_using("columnar", "t", &columns, vec![primary_key(&["id"])]);
    let table = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    for id in 0..COUNT {
        session.insert(&table, &[int(id), Datum::text(format!("name {id}"))]).unwrap();
    }
    session.commit().unwrap();
    world.engine.checkpoint().unwrap();
    let snapshot = world.engine.snapshot();
    let spots = table.rows().spread(&world.engine, 100).unwrap();
    assert_eq!(spots.len(), 3);
    for spot in spots {
        let range = KeyRange { lower: Bound::Included(spot.clone()), ..KeyRange::ALL };
        let mut cursor = txn::Cursor::new(table.storage(), range, false);
        let row = |_: &[u8], _: &txn::Row<'_>| -> Result<_, TxnError> {
            panic!("a row beside the blocks")
        };
        let misses = || world.engine.store().stats().cache_misses;
        let before = misses();
        let block = cursor.fill_to_columns(snapshot.view(), row).expect("it is read");
        assert!(misses() - before <= 2, "the guide and the header of the block");
        let mut first = None;
        let keys = block.expect("there is a block").keys(&mut |key| {
            first.get_or_insert_with(|| key.to_vec());
        });
        keys.expect("they are read");
        assert_eq!(first, Some(spot));
    }
}
