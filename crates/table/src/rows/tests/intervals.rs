//! Indexes of intervals, and rows that exclude each other.

use std::collections::BTreeSet;

use txn::Isolation;
use types::{Datum, DatumRef, Range, Repr, Type, range};

use super::{World, int, primary_key, random};
use crate::catalog::IndexMethod;
use crate::catalog::ddl::{NewConstraint, NewConstraintKind, NewIndex, NewIndexKey};
use crate::index::{ScanKey, Strategy};
use types::Oid;

const EQUAL: Oid = Oid(96);
const OVERLAPS: Oid = Oid(3888);

/// From one number to another, without it; open where one is missing.
fn span(from: Option<i32>, to: Option<i32>) -> Datum {
    let value = |bound: Option<i32>| bound.map_or(DatumRef::Null, DatumRef::Int4);
    let (lower, upper) =
        (range::Bound::lower(value(from), true), range::Bound::upper(value(to), false));
    Range::new(Type::INT4, Repr::Int4, lower, upper).unwrap().into()
}

fn ends(value: &Datum) -> Option<(i64, i64)> {
    let DatumRef::Range(range) = value.as_ref() else { return None };
    let number = |bound: range::Bound<'_>, none: i64| match bound.value {
        Some(DatumRef::Int4(value)) => value.into(),
        _ => none,
    };
    let (lower, upper) = range.bounds()?;
    Some((number(lower, i64::MIN), number(upper, i64::MAX)))
}

/// Whatever rows there are, also changed and deleted ones, an index finds those that reading all rows
/// finds, and of those that overlap no others.
#[test]
fn ranges_are_found() {
    for seed in 1..=20 {
        let mut next = random(seed);
        let world = World::new();
        let columns = [("id", Type::INT4), ("k", Type::INT4), ("r", Type::INT4RANGE)];
        world.create("t", &columns, vec![primary_key(&["id"])]);
        world.create_index("t", vec![NewIndexKey::column(3)], |new| new.method = IndexMethod::Gist);
        let both = vec![NewIndexKey::column(2), NewIndexKey::column(3)];
        world.create_index("t", both, |new| new.method = IndexMethod::Gist);
        let t = world.table("t");
        let mut session = world.session(Isolation::ReadCommitted);
        let reach = [10, 1_000, 2_000_000_000][next(3) as usize];
        let mut any = |most: u64| {
            let low = next(reach) as i32 - (reach / 2) as i32;
            let high = low.saturating_add(next(most.min(reach)) as i32);
            match next(12) {
                0 => span(None, Some(high)),
                1 => span(Some(low), None),
                2 => span(None, None),
                _ => span(Some(low), Some(high)),
            }
        };
        let mut rows: Vec<(Vec<u8>, i32, Datum)> = Vec::new();
        for id in 0..200 {
            let (k, r) = (id % 3, if id % 17 == 0 { Datum::Null } else { any(1 << (id % 31)) });
            let key = session.insert(&t, &[int(id), int(k), r.clone()]).unwrap();
            rows.push((key, k, r));
        }
        for at in (0..200).step_by(7) {
            let r = any(100);
            session.update(&t, &rows[at].0, |row| row[2] = r.clone()).unwrap();
            rows[at].2 = r;
        }
        for _ in 0..30 {
            let (key, ..) = rows.swap_remove(rows.len() / 2);
            session.delete(&t, &key).unwrap();
        }
        for _ in 0..60 {
            let sought = any(1_000);
            let within = ends(&sought);
            for (at, k) in [(1, None), (2, Some(1))] {
                let index = &t.indexes()[at];
                for strategy in
                    [Strategy::Overlaps, Strategy::Contains, Strategy::Within, Strategy::Equal]
                {
                    let part = usize::from(k.is_some());
                    let mut asked = vec![ScanKey { part, strategy, value: sought.clone() }];
                    asked.extend(k.map(|k| ScanKey {
                        part: 0,
                        strategy: Strategy::Equal,
                        value: int(k),
                    }));
                    let query = index.query(&asked).unwrap();
                    if query.is_all() {
                        assert_eq!(
                            (strategy, within),
                            (Strategy::Contains, None),
                            "all contain the empty one"
                        );
                        continue;
                    }
                    let found = index.rows_with(&t, session.txn().view(), &query).unwrap();
                    let found: BTreeSet<Vec<u8>> = found.into_iter().collect();
                    for (key, own, r) in &rows {
                        let fits = |is: bool| is && k.is_none_or(|k| k == *own) && !r.is_null();
                        let is_met = match (ends(r), within) {
                            (Some((a, b)), Some((c, d))) => match strategy {
                                Strategy::Overlaps => a < d && c < b,
                                Strategy::Contains => a <= c && d <= b,
                                Strategy::Within => c <= a && b <= d,
                                _ => (a, b) == (c, d),
                            },
                            (None, None) => strategy != Strategy::Overlaps,
                            (None, Some(_)) => strategy == Strategy::Within,
                            (Some(_), None) => strategy == Strategy::Contains,
                        };
                        let is_found = found.contains(key);
                        assert!(
                            is_found || !fits(is_met),
                            "seed {seed}: {strategy:?} {sought:?} {r:?}"
                        );
                        // Bounds that are no values have places of their own.
                        if strategy == Strategy::Overlaps && is_found {
                            let (a, b) = ends(r).unwrap();
                            let (c, d) = within.unwrap();
                            assert!(
                                a <= d && c <= b,
                                "seed {seed}: {sought:?} does not meet {r:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

fn no_overlaps() -> NewConstraint {
    NewConstraint::new(NewConstraintKind::Exclude(Box::new(NewIndex {
        name: None,
        method: IndexMethod::Gist,
        keys: vec![NewIndexKey::column(2), NewIndexKey::column(3)],
        include: Vec::new(),
        predicate: None,
        is_unique: false,
        nulls_distinct: true,
        is_valid: true,
        options: Vec::new(),
        excludes: vec![EQUAL, OVERLAPS],
        partition_of: None,
    })))
}

/// Whatever threads insert, change and delete at once, at any level of isolation: rows that exclude each
/// other are never there together.
#[test]
fn rows_exclude_each_other_under_threads() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable]
    {
        for is_late in [false, true] {
            let world = World::new();
            let columns = [("id", Type::INT4), ("k", Type::INT4), ("r", Type::INT4RANGE)];
            let mut constraint = no_overlaps();
            (constraint.is_deferrable, constraint.is_deferred) = (is_late, is_late);
            world.create("t", &columns, vec![primary_key(&["id"]), constraint]);
            let t = world.table("t");
            let run = |thread: u64| {
                let mut next = random(thread + 1);
                let mut refused = 0;
                for round in 0..60 {
                    let mut session = world.session(isolation);
                    let mut alive = true;
                    for step in 0..=next(3) {
                        let id = (thread * 1_000 + round * 10 + step) as i32;
                        let low = next(40) as i32;
                        let r = span(Some(low), Some(low + 1 + next(6) as i32));
                        let known = t.key_of([&int(id - 10)]);
                        let done = match next(4) {
                            0 => session.update(&t, &known, |row| row[2] = r.clone()).map(drop),
                            1 => session.delete(&t, &known).map(drop),
                            _ => session.insert(&t, &[int(id), int(next(2) as i32), r]).map(drop),
                        };
                        match done.map_err(|error| error.sqlstate().code().to_owned()) {
                            Ok(()) => {}
                            Err(code) if code == "23P01" => refused += 1,
                            Err(code) => {
                                assert!(["40001", "40P01"].contains(&code.as_str()), "{code}");
                                alive = false;
                                break;
                            }
                        }
                    }
                    if alive && let Err(error) = session.commit() {
                        let code = error.sqlstate().code().to_owned();
                        assert!(["40001", "40P01", "23P01"].contains(&code.as_str()), "{code}");
                        refused += usize::from(code == "23P01");
                    }
                }
                refused
            };
            let refused: usize = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..6).map(|thread| scope.spawn(move || run(thread))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert!(refused > 0, "they met");
            let rows = super::threads::all(&world, &t);
            assert!(!rows.is_empty());
            for (at, one) in rows.iter().enumerate() {
                for other in &rows[..at] {
                    let (Some((a, b)), Some((c, d))) = (ends(&one[2]), ends(&other[2])) else {
                        continue;
                    };
                    assert!(one[1] != other[1] || b <= c || d <= a, "{one:?} and {other:?}");
                }
            }
        }
    }
}
