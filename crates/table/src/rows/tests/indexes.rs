//! Indexes: uniqueness and its messages, NULLs, ON CONFLICT, filling, GIN, ranges, large rows.

use expect_test::expect;
use txn::Isolation;
use types::{Array, Datum, Jsonb, Repr, Type};

use super::super::{Change, Cursor};
use super::{World, int, primary_key, rows, told, unique};
use crate::catalog::IndexMethod;
use crate::catalog::ddl::NewIndexKey;
use crate::index::{ScanKey, Strategy};

/// PostgreSQL's messages where a key is there already, or a value is missing.
#[test]
fn what_is_refused_is_told_as_postgres_tells_it() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("A b", Type::TEXT), ("c", Type::DATE)];
    world.create("t", &columns, vec![primary_key(&["id"]), unique(&["A b", "c"])]);
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    let day = Datum::from(types::time::Date(0));
    let row = |id: Datum, b: &str, c: Datum| vec![id, b.into(), c];
    session.insert(&t, &row(int(1), "x", day.clone())).unwrap();
    let mut text = String::new();
    for refused in [
        row(int(1), "y", day.clone()),
        row(int(2), "x", day.clone()),
        row(Datum::Null, &"long ".repeat(20), Datum::Null),
    ] {
        text.push_str(&told(session.insert(&t, &refused)));
        text.push('\n');
    }
    expect![[r#"
        23505: duplicate key value violates unique constraint "t_pkey"
          Key (id)=(1) already exists.
          public t - t_pkey
        23505: duplicate key value violates unique constraint "t_A b_c_key"
          Key ("A b", c)=(x, 2000-01-01) already exists.
          public t - t_A b_c_key
        23502: null value in column "id" of relation "t" violates not-null constraint
          Failing row contains (null, long long long long long long long long long long long long long..., null).
          public t id -
    "#]]
    .assert_eq(&text);
    // NULLs are different from one another.
    session.insert(&t, &row(int(3), "x", Datum::Null)).unwrap();
    session.insert(&t, &row(int(4), "x", Datum::Null)).unwrap();
    session.commit().unwrap();
}

/// `NULLS NOT DISTINCT` lets one NULL in.
#[test]
fn nulls_can_be_equal() {
    let world = World::new();
    world.create("t", &[("k", Type::INT4)], vec![]);
    world.create_index("t", vec![NewIndexKey::column(1)], |new| {
        (new.is_unique, new.nulls_distinct) = (true, false);
    });
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    session.insert(&t, &[Datum::Null]).unwrap();
    let refused = told(session.insert(&t, &[Datum::Null]));
    assert!(refused.contains("Key (k)=(null) already exists."), "{refused}");
}

/// ON CONFLICT finds the row in the way, or keeps everybody else from putting one there.
#[test]
fn conflicts_are_found_beforehand() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("k", Type::INT4)];
    world.create("t", &columns, vec![primary_key(&["id"]), unique(&["k"])]);
    let t = world.table("t");
    let mut first = world.session(Isolation::ReadCommitted);
    first.insert(&t, &[int(1), int(10)]).unwrap();
    first.commit().unwrap();
    let mut session = world.session(Isolation::ReadCommitted);
    let mut conflict = |id: i32, k: i32| {
        session.run(|change| t.conflict(change, &[int(id), int(k)], &[0, 1])).unwrap()
    };
    let key = t.key_of([&int(1)]);
    assert_eq!(conflict(1, 20), Some(key.clone()));
    assert_eq!(conflict(2, 10), Some(key));
    assert_eq!(conflict(2, 20), None);
    let mut other = world.session(Isolation::ReadCommitted);
    other.txn().set_lock_timeout(Some(1_000));
    assert_eq!(other.insert(&t, &[int(2), int(30)]).unwrap_err().sqlstate().code(), "55P03");
    assert_eq!(other.insert(&t, &[int(3), int(20)]).unwrap_err().sqlstate().code(), "55P03");
    other.insert(&t, &[int(4), int(40)]).unwrap();
}

/// An index that is made of a table with rows has them all, or says which are equal.
#[test]
fn an_index_is_filled() {
    for count in [500, 12_000] {
        let world = World::new();
        world.create("t", &[("a", Type::INT4), ("b", Type::INT4)], vec![primary_key(&["a"])]);
        let t = world.table("t");
        let mut session = world.session(Isolation::ReadCommitted);
        session
            .run(|change| {
                (0..count).try_for_each(|a| t.insert(change, &[int(a), int(a / 2)]).map(drop))
            })
            .unwrap();
        session.commit().unwrap();
        for is_unique in [false, true] {
            world.create_index("t", vec![NewIndexKey::column(2)], |new| new.is_unique = is_unique);
            let t = world.table("t");
            let mut session = world.session(Isolation::ReadCommitted);
            let at = t.indexes().len() - 1;
            let filled = session.run(|change: &mut Change<'_>| t.build_index(change, at));
            if is_unique {
                let refused = told(filled);
                assert!(refused.contains("Key (b)=(0) is duplicated."), "{refused}");
                continue;
            }
            filled.unwrap();
            session.commit().unwrap();
            let snapshot = world.engine.snapshot();
            let index = &t.indexes()[at];
            let seven = int(count / 4);
            let range = index.shape().range(
                &[seven.as_ref()],
                std::ops::Bound::Unbounded,
                std::ops::Bound::Unbounded,
            );
            let found = rows(Cursor::by_index(&t, index, range, false), snapshot.view(), 10);
            let b = count / 4;
            assert_eq!(found, [format!("{} {b}", 2 * b), format!("{} {b}", 2 * b + 1)]);
        }
    }
}

/// An item finds the values that contain it: elements of arrays; names, texts and values of jsonb.
#[test]
fn gin_finds_by_items() {
    let world = World::new();
    world.create("t", &[("a", Type::INT4_ARRAY), ("j", Type::JSONB)], vec![]);
    world.create_index("t", vec![NewIndexKey::column(1)], |new| new.method = IndexMethod::Gin);
    world.create_index("t", vec![NewIndexKey::column(2)], |new| new.method = IndexMethod::Gin);
    let path = NewIndexKey { class: Some("jsonb_path_ops".into()), ..NewIndexKey::column(2) };
    world.create_index("t", vec![path], |new| new.method = IndexMethod::Gin);
    let t = world.table("t");
    let array = |values: &[i32]| -> Datum {
        let values: Vec<Datum> = values.iter().map(|value| int(*value)).collect();
        let elements = values.iter().map(Datum::as_ref);
        Array::from_elements(Type::INT4, Repr::Int4, elements).unwrap().into()
    };
    let json = |text: &str| -> Datum { Jsonb::parse(text).unwrap().into() };
    let mut session = world.session(Isolation::ReadCommitted);
    let stored = [
        session.insert(&t, &[array(&[1, 2]), json(r#"{"a": [1, "x"], "b": {}}"#)]).unwrap(),
        session.insert(&t, &[array(&[2, 3, 2]), json(r#"{"a": 1.0, "x": null}"#)]).unwrap(),
        session.insert(&t, &[array(&[]), json(r#"["x", {"a": 2}]"#)]).unwrap(),
    ];
    let find = |session: &mut super::Session, at: usize, value: Datum, all: bool| -> Vec<usize> {
        let index = &t.indexes()[at];
        let strategy = if all { Strategy::Contains } else { Strategy::Overlaps };
        let query = index.query(&[ScanKey { part: 0, strategy, value }]).unwrap();
        let found = index.rows_with(&t, session.txn().view(), &query).unwrap();
        found.iter().map(|key| stored.iter().position(|one| one == key).unwrap()).collect()
    };
    assert_eq!(find(&mut session, 0, array(&[2]), true), [0, 1]);
    assert_eq!(find(&mut session, 0, array(&[1, 3]), true), []);
    assert_eq!(find(&mut session, 0, array(&[1, 3]), false), [0, 1]);
    assert_eq!(find(&mut session, 1, json(r#"{"a": 1}"#), true), [0, 1], "to be looked at again");
    assert_eq!(find(&mut session, 2, json(r#"{"a": 1}"#), true), [0, 1]);
    assert_eq!(find(&mut session, 2, json(r#"[{"a": 2}]"#), true), [2]);
    let index = &t.indexes()[1];
    let asked = ScanKey { part: 0, strategy: Strategy::Name, value: Datum::from("x") };
    let x = index.query(&[asked]).unwrap();
    let found = index.rows_with(&t, session.txn().view(), &x).unwrap();
    assert_eq!(found, stored, "a name, a text in an array");
    session.delete(&t, &stored[1]).unwrap();
    assert_eq!(find(&mut session, 0, array(&[2]), true), [0]);
}

/// Of a large row only what changes is written, and every version reads as it was.
#[test]
fn large_rows_are_patched() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("n", Type::INT4), ("pad", Type::TEXT), ("s", Type::TEXT)];
    world.create("t", &columns, vec![primary_key(&["id"])]);
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    let key = session
        .insert(&t, &[int(1), int(0), "x".repeat(2_000).as_str().into(), Datum::Null])
        .unwrap();
    let mut commits = vec![session.commit().unwrap().csn];
    for n in 1..=40 {
        let mut session = world.session(Isolation::ReadCommitted);
        let text: Datum = "y".repeat(n as usize).as_str().into();
        let change = |row: &mut [Datum]| {
            row[1] = int(n);
            row[3] = if n % 7 == 0 { Datum::Null } else { text.clone() };
        };
        session.update(&t, &key, |row| row[1] = int(-1)).unwrap();
        session.update(&t, &key, change).unwrap();
        commits.push(session.commit().unwrap().csn);
        if n % 15 == 0 {
            world.engine.checkpoint().unwrap();
        }
    }
    let mut written = 0;
    let now = world.engine.snapshot();
    now.versions(t.storage(), &key, store::Csn(0), |version| {
        written += version.bytes.len();
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert!(written < 2_100 + 80 * 60, "{written} bytes for 81 versions");
    let versions = t.versions(&now, &key, store::Csn(0), now.csn()).unwrap();
    assert_eq!(versions.len(), commits.len());
    for (n, (version, csn)) in versions.iter().zip(&commits).enumerate() {
        let past = world.engine.snapshot_at(*csn).unwrap();
        let row = t.get(past.view(), &key).unwrap().unwrap().to_datums().unwrap();
        assert_eq!(row[1], int(n as i32));
        assert_eq!(version.row.to_datums().unwrap(), row);
        assert_eq!((version.from, version.to), (*csn, commits.get(n + 1).copied()));
    }
}

/// A large row that is written again and again as it is, as one is whose document changes, gets a fresh
/// image now and then: its patches once weighed nothing, and a read went through all that ever were.
#[test]
fn a_row_that_stays_as_it_is_costs_no_more_to_read() {
    let world = World::new();
    let columns = [("id", Type::INT4), ("pad", Type::TEXT)];
    world.create("t", &columns, vec![primary_key(&["id"])]);
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    let key = session.insert(&t, &[int(1), "x".repeat(400).as_str().into()]).unwrap();
    session.commit().unwrap();
    for n in 0..1_000 {
        let mut session = world.session(Isolation::ReadCommitted);
        session.update(&t, &key, |_| {}).unwrap();
        session.commit().unwrap();
        if n % 300 == 0 {
            world.engine.checkpoint().unwrap();
        }
    }
    let now = world.engine.snapshot();
    let patches = now.read(t.storage(), &key).unwrap().unwrap().delta_count();
    assert!(patches < 100, "{patches} patches to go through");
    let versions = t.versions(&now, &key, store::Csn(0), now.csn()).unwrap();
    assert_eq!(versions.len(), 1_001);
    assert!(versions.iter().all(|one| one.row.as_ref().column(0).unwrap().to_owned() == int(1)));
}

/// An index under the collation of a language has its order. Where the tables of the language are of another version
/// than those that the index was made with, no row is written, until the index is made anew.
#[test]
fn an_index_has_the_order_of_a_language_of_one_version() {
    let world = World::new();
    world.create("t", &[("name", Type::TEXT)], vec![]);
    let swedish = collate::named("sv-x-icu").map(|known| types::Oid(known.oid));
    let by_name = NewIndexKey { collation: swedish, ..NewIndexKey::column(1) };
    world.create_index("t", vec![by_name], |new| new.is_unique = true);
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    for name in ["ö", "Z", "ä", "z", "å"] {
        session.insert(&t, &[name.into()]).unwrap();
    }
    session.commit().unwrap();
    let in_order = |t: &std::sync::Arc<super::super::Table>| {
        let snapshot = world.engine.snapshot();
        let cursor = Cursor::by_index(t, &t.indexes()[0], txn::KeyRange::ALL, false);
        rows(cursor, snapshot.view(), 10).join(" ").replace("Text(\"", "").replace("\")", "")
    };
    assert_eq!(in_order(&t), "z Z å ä ö");

    let index = t.indexes()[0].relation().oid;
    world.ddl(|ddl| ddl.age_sort_keys(index)).unwrap();
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    let refused = told(session.insert(&t, &["y".into()]));
    assert!(refused.starts_with("55000: ") && refused.contains("version 0"), "{refused}");
    drop(session);
    let stale = world.ddl(|ddl| Ok(ddl.catalog().stale_indexes(None).collect::<Vec<_>>())).unwrap();
    assert_eq!(stale, [(t.relation().oid, index)]);

    world.ddl(|ddl| ddl.renew_index(index)).unwrap();
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    session.run(|change: &mut Change<'_>| t.build_index(change, 0)).unwrap();
    session.insert(&t, &["y".into()]).unwrap();
    assert!(told(session.insert(&t, &["ö".into()])).contains("Key (name)=(ö) already exists."));
    session.commit().unwrap();
    assert_eq!(in_order(&t), "y z Z å ä ö");
}
