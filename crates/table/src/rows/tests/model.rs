//! The contract of access methods, checked for each of them: random changes of rows against a map of each
//! commit's rows, by key, by index, in the past, by several threads, after reopening, after power losses.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use store::Csn;
use txn::{Isolation, KeyRange, Snapshot, View};
use types::{Datum, Jsonb, Type};
use vfs::{CrashPolicy, SimVfs, seeds};

use super::super::{Batch, Cursor, PastCursor, Table};
use super::{Session, World, int, primary_key, random, rows, shown, unique};
use crate::catalog::IndexMethod;
use crate::catalog::ddl::NewIndexKey;
use crate::columnar::RowMask;
use crate::method::ColumnSet;

type Model = BTreeMap<i32, Vec<Datum>>;

/// The access methods. The last one is of the tests.
const METHODS: [&str; 5] = ["heap", "columnar", "rowcompress", "document", "memory"];

fn create(world: &World, method: &str) {
    let columns =
        [("id", Type::INT4), ("k", Type::INT4), ("name", Type::TEXT), ("pad", Type::JSONB)];
    world.create_using(method, "t", &columns, vec![primary_key(&["id"]), unique(&["k"])]);
    let by_name =
        NewIndexKey { is_descending: true, nulls_first: Some(false), ..NewIndexKey::column(3) };
    world.create_index("t", vec![by_name, NewIndexKey::column(2)], |new| {
        new.include = vec!["pad".into()];
    });
    if method != "columnar" {
        let columns = [4, 3, 1].map(NewIndexKey::column).to_vec();
        world.create_index("t", columns, |new| new.method = IndexMethod::Columnar);
    }
}

fn json(text: &str) -> Datum {
    Jsonb::parse(text).expect("it is JSON").into()
}

fn a_row(next: &mut impl FnMut(u64) -> u64) -> Vec<Datum> {
    let k = if next(4) == 0 { Datum::Null } else { int(next(30) as i32) };
    let name = match next(5) {
        0 => Datum::Null,
        n => Datum::from(["", "ada", "bob", "b\u{1}b"][n as usize - 1]),
    };
    let pad = match next(4) {
        0 => Datum::Null,
        1 => json(r#"{"a": [1, 2.50], "b": null}"#),
        n => {
            let text = format!(r#"{{"pad": "{}", "n": {}}}"#, "x".repeat(300), n + next(9));
            json(&text)
        }
    };
    vec![int(next(40) as i32), k, name, pad]
}

/// True if a row of the model other than the one at `id` has the key.
fn has_key(model: &Model, id: i32, k: &Datum) -> bool {
    !k.is_null() && model.iter().any(|(other, row)| *other != id && row[1] == *k)
}

/// One change of the table and of the model; both must agree whether it can be made.
fn step(
    session: &mut Session,
    table: &Table,
    model: &mut Model,
    next: &mut impl FnMut(u64) -> u64,
) {
    let row = a_row(next);
    let Datum::Int4(id) = row[0] else { unreachable!() };
    let key = table.key_of([&row[0]]);
    match next(4) {
        0 | 1 => {
            let done = session.insert(table, &row);
            let is_free = !model.contains_key(&id) && !has_key(model, id, &row[1]);
            assert_eq!(done.is_ok(), is_free, "insert {}: {done:?}", shown(&row));
            if is_free {
                model.insert(id, row);
            }
        }
        2 => {
            let kind = next(3);
            let done = session.update(table, &key, |new| match kind {
                0 => new[1..].clone_from_slice(&row[1..]),
                1 => new[1] = row[1].clone(),
                _ => new[0] = int(id + 1),
            });
            let Some(mut old) = model.get(&id).cloned() else {
                assert!(!done.expect("no row, no conflict"));
                return;
            };
            let (new_id, k) = if kind == 2 { (id + 1, &old[1]) } else { (id, &row[1]) };
            let clashes = kind == 2 && model.contains_key(&new_id);
            let is_free = !clashes && !has_key(model, id, k);
            assert_eq!(done.is_ok(), is_free, "update of {id}, kind {kind}: {done:?}");
            if is_free {
                match kind {
                    0 => old[1..].clone_from_slice(&row[1..]),
                    1 => old[1] = row[1].clone(),
                    _ => old[0] = int(new_id),
                }
                model.remove(&id);
                model.insert(new_id, old);
            }
        }
        _ => {
            let done = session.delete(table, &key).expect("nobody refers to it");
            assert_eq!(done, model.remove(&id).is_some());
        }
    }
}

/// Everything that can be read of a view agrees with the model.
fn compare(table: &Arc<Table>, view: View<'_>, model: &Model, at_once: usize, what: &str) {
    let expected: Vec<String> = model.values().map(|row| shown(row)).collect();
    assert_eq!(rows(Cursor::over(table, KeyRange::ALL, false), view, at_once), expected, "{what}");
    let mut backwards = rows(Cursor::over(table, KeyRange::ALL, true), view, at_once);
    backwards.reverse();
    assert_eq!(backwards, expected, "{what}, backwards");
    for id in 0..41 {
        let key = table.key_of([&int(id)]);
        let found = table.get(view, &key).unwrap().map(|row| shown(&row.to_datums().unwrap()));
        assert_eq!(found, model.get(&id).map(|row| shown(row)), "{what}, row {id}");
    }
    let by =
        |column: usize| table.indexes().iter().find(|one| one.columns().next() == Some(column));
    let by_k = by(1).expect("k has an index");
    let range = by_k.shape().range(
        &[],
        Bound::Included(int(5).as_ref()),
        Bound::Excluded(int(20).as_ref()),
    );
    let mut expected: Vec<&Vec<Datum>> =
        model.values().filter(|row| row[1] >= int(5) && row[1] < int(20)).collect();
    expected.sort_by(|one, other| one[1].cmp(&other[1]));
    let expected: Vec<String> = expected.into_iter().map(|row| shown(row)).collect();
    assert_eq!(
        rows(Cursor::by_index(table, by_k, range, false), view, at_once),
        expected,
        "{what}, by k"
    );
    let by_name = by(2).expect("name has an index");
    let mut expected: Vec<&Vec<Datum>> = model.values().collect();
    expected.sort_by(|one, other| {
        let nulls = one[2].is_null().cmp(&other[2].is_null());
        let names = other[2].cmp(&one[2]);
        let k = one[1].is_null().cmp(&other[1].is_null()).then(one[1].cmp(&other[1]));
        nulls.then(names).then(k).then(one[0].cmp(&other[0]))
    });
    let expected: Vec<String> = expected.into_iter().map(|row| shown(row)).collect();
    let cursor = Cursor::by_index(table, by_name, KeyRange::ALL, false);
    assert_eq!(rows(cursor, view, at_once), expected, "{what}, by name");
    if let Some(index) = table.indexes().iter().find(|index| index.is_columnar()) {
        let (columns, _) = table.columns_of(index.relation().oid).expect("it can be read");
        let entry = |row: &Vec<Datum>| shown(&[3, 2, 0].map(|at: usize| row[at].clone()));
        let expected: Vec<String> = model.values().map(entry).collect();
        let entries = Cursor::over(&columns, KeyRange::ALL, false);
        assert_eq!(rows(entries, view, at_once), expected, "{what}, columns of the index");
        assert_eq!(count_in_blocks(&columns, view), model.len(), "{what}, blocks of the index");
    }
}

/// Counts the rows of a table in columns by its blocks, and by what lies between them.
fn count_in_blocks(table: &Arc<Table>, view: View<'_>) -> usize {
    let mut cursor = Cursor::over(table, KeyRange::ALL, false);
    let (mut batch, mut count) = (Batch::new(), 0);
    while !cursor.is_at_end() {
        batch.clear();
        let block = cursor.fill_to_block(view, ColumnSet::All, &mut batch, 100, true).unwrap();
        count += batch.len();
        count += block.map_or(0, |block| block.seen().map_or(block.len(), RowMask::len));
    }
    count
}

/// Threads that share a snapshot and a handle find the same rows, each in its range.
fn compare_in_parallel(table: &Arc<Table>, now: &Snapshot, model: &Model) {
    let parts = [(0, 13), (13, 27), (27, 41)];
    let found: Vec<String> = std::thread::scope(|threads| {
        let scan = |(from, to): (i32, i32)| {
            let lower = Bound::Included(table.key_of([&int(from)]));
            let upper = Bound::Excluded(table.key_of([&int(to)]));
            let cursor = Cursor::over(table, KeyRange { lower, upper }, false);
            move || rows(cursor, now.clone().view(), 4)
        };
        let running: Vec<_> = parts.map(|part| threads.spawn(scan(part))).into_iter().collect();
        running.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    let expected: Vec<String> =
        model.iter().filter(|(id, _)| **id < 41).map(|(_, row)| shown(row)).collect();
    assert_eq!(found, expected, "by three threads");
}

/// The past of all rows is told as the models of all commits tell it.
fn compare_past(
    world: &World,
    table: &Arc<Table>,
    models: &[(Csn, Model)],
    from: usize,
    to: usize,
) {
    let now = world.engine.snapshot();
    let (after, to_csn) = (models[from].0, models[to].0);
    let walk = |mut cursor: PastCursor| {
        let mut changes = Vec::new();
        while !cursor.is_at_end() {
            let more = changes.len() + 3;
            cursor.changes(&now, after, to_csn, &mut changes, more).unwrap();
        }
        changes
    };
    let changes = walk(PastCursor::over(table, KeyRange::ALL));
    let by_table_of_changes =
        walk(PastCursor::over_changes(table, &world.engine, after, to_csn).unwrap());
    assert_eq!(format!("{by_table_of_changes:?}"), format!("{changes:?}"));
    let text = |row: Option<Vec<Datum>>| row.map_or("-".to_owned(), |row| shown(&row));
    let mut told: Vec<String> = changes
        .iter()
        .map(|change| {
            let before = change.before.as_ref().map(|row| row.to_datums().unwrap());
            let after = change.after.as_ref().map(|row| row.to_datums().unwrap());
            format!("{:04} {} -> {}", change.csn.0, text(before), text(after))
        })
        .collect();
    told.sort_unstable();
    let mut expected = Vec::new();
    for pair in models[from..=to].windows(2) {
        for id in 0..42 {
            let (before, after) = (pair[0].1.get(&id), pair[1].1.get(&id));
            if before != after {
                let line = format!(
                    "{:04} {} -> {}",
                    pair[1].0.0,
                    text(before.cloned()),
                    text(after.cloned())
                );
                expected.push(line);
            }
        }
    }
    expected.sort_unstable();
    // A row may be written as it was: that is a change of the store, and none of the model.
    told.retain(|line| {
        let (before, after) = line[5..].split_once(" -> ").expect("both sides");
        before != after
    });
    assert_eq!(told, expected, "changes after {} up to {}", after.0, to_csn.0);
}

/// Random transactions with savepoints and rollbacks; every commit is remembered.
fn work(
    world: &World,
    models: &mut Vec<(Csn, Model)>,
    commits: usize,
    next: &mut impl FnMut(u64) -> u64,
) {
    let table = world.table("t");
    for _ in 0..commits {
        let mut session = world.session(Isolation::ReadCommitted);
        let mut model = models.last().expect("the empty one").1.clone();
        let mut saved = None;
        for _ in 0..=next(8) {
            match next(8) {
                0 => saved = Some((session.txn().savepoint(), model.clone())),
                1 => {
                    if let Some((savepoint, then)) = &saved {
                        session.txn().rollback_to(*savepoint);
                        model.clone_from(then);
                    }
                }
                _ => step(&mut session, &table, &mut model, next),
            }
        }
        compare(&table, session.txn().view(), &model, 3, "within the transaction");
        if next(5) == 0 {
            continue; // rolled back
        }
        let before = world.engine.visible();
        let commit = session.commit().unwrap();
        if commit.csn > before {
            models.push((commit.csn, model));
        }
        match next(12) {
            0 => world.engine.checkpoint().unwrap(),
            1 => world.engine.store().maintain().unwrap(),
            _ => {}
        }
    }
}

/// Rows, indexes and their past are as a simple model has them, whatever was committed, rolled back,
/// flushed and compacted, and after the database was opened again.
#[test]
fn rows_are_as_the_model_has_them() {
    METHODS.iter().for_each(|method| seeds(1, 12, |seed| rows_are_as_modelled(method, seed)));
}

fn rows_are_as_modelled(method: &str, seed: u64) {
    let mut next = random(seed);
    let disk = SimVfs::unrecorded();
    let mut world = World::open_with(&disk, seed, method);
    create(&world, method);
    let mut models = vec![(world.engine.visible(), Model::new())];
    for _ in 0..3 {
        work(&world, &mut models, 25, &mut next);
        let table = world.table("t");
        for _ in 0..6 {
            let at = next(models.len() as u64) as usize;
            let past = world.engine.snapshot_at(models[at].0).unwrap();
            let what = format!("{method}, seed {seed}, AS OF {at}");
            compare(&table, past.view(), &models[at].1, 7, &what);
            compare_in_parallel(&table, &past, &models[at].1);
            let to = at + next((models.len() - at) as u64) as usize;
            compare_past(&world, &table, &models, at, to);
        }
        drop(table);
        world.close();
        world = World::open_with(&disk, seed, method);
    }
}

/// After a power loss at any moment all that was acknowledged is there, rows and indexes alike.
#[test]
fn what_was_acknowledged_survives_power_losses() {
    METHODS.iter().for_each(|method| seeds(100, 4, |seed| survives_power_losses(method, seed)));
}

fn survives_power_losses(method: &str, seed: u64) {
    let mut next = random(seed);
    let disk = SimVfs::new(seed);
    let world = World::open_with(&disk, seed, method);
    create(&world, method);
    let mut models = vec![(world.engine.visible(), Model::new())];
    let mut acknowledged = vec![disk.op_count()];
    for _ in 0..20 {
        work(&world, &mut models, 1, &mut next);
        acknowledged.resize(models.len(), disk.op_count());
    }
    for _ in 0..12 {
        let at = next((disk.op_count() - acknowledged[0]) as u64 + 1) as usize + acknowledged[0];
        let image =
            disk.image(at, &CrashPolicy::ALL[at % CrashPolicy::ALL.len()], seed + at as u64);
        let world = World::open_with(&image, seed, method);
        let table = world.table("t");
        let sure = acknowledged.iter().rposition(|ops| *ops <= at).expect("the first was before");
        let newest = world.engine.visible();
        let found = models.iter().rposition(|(csn, _)| *csn <= newest).expect("at least that");
        assert!(found >= sure, "seed {seed}: commit {sure} was lost at operation {at}");
        let snapshot = world.engine.snapshot();
        let what = format!("{method}, seed {seed}, operation {at}");
        compare(&table, snapshot.view(), &models[found].1, 5, &what);
    }
}
