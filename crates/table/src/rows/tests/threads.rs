//! Keys that are unique and rows that refer to others, under eight threads.

use std::collections::{BTreeMap, BTreeSet};

use txn::{Isolation, KeyRange};
use types::{Datum, Type};

use super::super::{Batch, Cursor, Table};
use super::{World, int, primary_key, random, unique};
use crate::catalog::ddl::{NewConstraint, NewConstraintKind};
use crate::catalog::{Action, MatchType};
use crate::method::ColumnSet;

const THREADS: u64 = 8;

pub fn all(world: &World, table: &std::sync::Arc<Table>) -> Vec<Vec<Datum>> {
    let snapshot = world.engine.snapshot();
    let mut cursor = Cursor::over(table, KeyRange::ALL, false);
    let mut batch = Batch::new();
    cursor.fill(snapshot.view(), ColumnSet::All, &mut batch, usize::MAX - 1).unwrap();
    batch.iter().map(|row| row.to_datums().unwrap()).collect()
}

/// Whatever threads insert, update and delete at once, at any level: keys stay unique, and every entry
/// of an index has its row and every row its entry.
#[test]
fn keys_stay_unique() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        let world = World::new();
        let columns = [("id", Type::INT4), ("k", Type::INT4)];
        world.create("t", &columns, vec![primary_key(&["id"]), unique(&["k"])]);
        let t = world.table("t");
        let run = |thread: u64| {
            let mut next = random(thread + 1);
            let mut committed = 0;
            for _ in 0..150 {
                let mut session = world.session(isolation);
                let mut alive = true;
                for _ in 0..=next(3) {
                    let (id, k) = (next(12) as i32, next(12) as i32);
                    let key = t.key_of([&int(id)]);
                    let done = match next(3) {
                        0 => session.insert(&t, &[int(id), int(k)]).map(drop),
                        1 => session.update(&t, &key, |row| row[1] = int(k)).map(drop),
                        _ => session.delete(&t, &key).map(drop),
                    };
                    match done.map_err(|error| error.sqlstate().code().to_owned()) {
                        Ok(()) => {}
                        Err(code) if code == "23505" => {}
                        Err(code) => {
                            assert!(["40001", "40P01"].contains(&code.as_str()), "{code}");
                            alive = false;
                            break;
                        }
                    }
                }
                committed += usize::from(alive && session.commit().is_ok());
            }
            committed
        };
        let committed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|id| scope.spawn(move || run(id))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(committed > 200, "{committed} at {isolation:?}");
        let found = all(&world, &t);
        let keys: BTreeSet<&Datum> = found.iter().map(|row| &row[1]).collect();
        assert_eq!(keys.len(), found.len(), "{isolation:?}");
        let snapshot = world.engine.snapshot();
        let index = t.indexes().iter().find(|index| index.storage().is_some()).unwrap();
        let by_k =
            super::rows(Cursor::by_index(&t, index, KeyRange::ALL, false), snapshot.view(), 5);
        assert_eq!(by_k.len(), found.len());
        assert_eq!(world.engine.stats().locked_rows, 0);
    }
}

/// Children are added while parents are deleted, at any level: in the end each child has its parent.
#[test]
fn no_child_is_left_alone() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        for on_delete in [Action::NoAction, Action::Cascade] {
            let world = World::new();
            let columns = [("id", Type::INT4), ("v", Type::INT4)];
            world.create("p", &columns, vec![primary_key(&["id"])]);
            let foreign = NewConstraint::new(NewConstraintKind::Foreign {
                columns: vec!["p".into()],
                references: world.table("p").relation().oid,
                referenced: Vec::new(),
                match_type: MatchType::Simple,
                on_update: Action::Cascade,
                on_delete,
                on_delete_columns: Vec::new(),
                is_period: false,
            });
            world.create("c", &[("p", Type::INT4)], vec![foreign]);
            let (p, c) = (world.table("p"), world.table("c"));
            let run = |thread: u64| {
                let mut next = random(thread + 100);
                let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
                for _ in 0..120 {
                    let mut session = world.session(isolation);
                    let id = int(next(6) as i32);
                    let key = p.key_of([&id]);
                    let done = match next(5) {
                        0 => session.insert(&p, &[id, int(0)]).map(drop),
                        1 => session.delete(&p, &key).map(drop),
                        2 => session.run(|change| {
                            let weak = p.update_lock(|at| at == 1);
                            p.lock(change.txn, &key, weak, txn::Wait::Allowed)?;
                            let Some(old) = p.latest(change.txn, &key)? else { return Ok(()) };
                            let old = old.to_datums()?;
                            p.update(change, &key, &old, &[old[0].clone(), int(1)]).map(drop)
                        }),
                        _ => session.insert(&c, &[id]).map(drop),
                    };
                    let done = done.and_then(|()| session.commit().map(drop));
                    let code = match done {
                        Ok(()) => "ok".to_owned(),
                        Err(error) => error.sqlstate().code().to_owned(),
                    };
                    *outcomes.entry(code).or_default() += 1;
                }
                outcomes
            };
            let outcomes: Vec<BTreeMap<String, usize>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|id| scope.spawn(move || run(id))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for code in outcomes.iter().flat_map(BTreeMap::keys) {
                let known = ["ok", "23503", "23505", "40001", "40P01"];
                assert!(known.contains(&code.as_str()), "{code}");
            }
            let parents: BTreeSet<Datum> =
                all(&world, &p).into_iter().map(|mut row| row.swap_remove(0)).collect();
            for child in all(&world, &c) {
                assert!(parents.contains(&child[0]), "{child:?} at {isolation:?}");
            }
            assert_eq!(world.engine.stats().locked_rows, 0);
        }
    }
}
