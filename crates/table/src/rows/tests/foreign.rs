//! Foreign keys: every action, checks at once and later, messages; and uniqueness that is checked late.

use expect_test::{Expect, expect};
use txn::{Isolation, KeyRange};
use types::{Datum, Type};

use super::super::Cursor;
use super::{Session, World, int, primary_key, rows, told, unique};
use crate::catalog::ddl::{NewConstraint, NewConstraintKind, NewIndexKey};
use crate::catalog::{Action, MatchType};

fn refers(world: &World, parent: &str, on_delete: Action, on_update: Action) -> NewConstraint {
    let references = world.table(parent).relation().oid;
    NewConstraint::new(NewConstraintKind::Foreign {
        columns: vec!["p".into()],
        references,
        referenced: Vec::new(),
        match_type: MatchType::Simple,
        on_update,
        on_delete,
        on_delete_columns: Vec::new(),
        is_period: false,
    })
}

/// A parent with keys 1, 2, 3 and children 10 -> 1, 11 -> 1, 12 -> 2, 13 -> nobody.
fn family(on_delete: Action, on_update: Action, with_index: bool) -> World {
    let world = World::new();
    world.create("p", &[("id", Type::INT4), ("v", Type::INT4)], vec![primary_key(&["id"])]);
    let foreign = refers(&world, "p", on_delete, on_update);
    // The child's column is wider than the key that it refers to.
    let columns = [("id", Type::INT4), ("p", Type::INT8)];
    world.create("c", &columns, vec![primary_key(&["id"]), foreign]);
    if with_index {
        world.create_index("c", vec![NewIndexKey::column(2)], |_| {});
    }
    let mut session = world.session(Isolation::ReadCommitted);
    for id in 1..=3 {
        session.insert(&world.table("p"), &[int(id), int(0)]).unwrap();
    }
    for (id, p) in [(10, Some(1)), (11, Some(1)), (12, Some(2)), (13, None)] {
        let p = p.map_or(Datum::Null, Datum::Int8);
        session.insert(&world.table("c"), &[int(id), p]).unwrap();
    }
    session.commit().unwrap();
    world
}

fn children(world: &World, session: &mut Session) -> String {
    let cursor = Cursor::over(&world.table("c"), KeyRange::ALL, false);
    rows(cursor, session.txn().view(), 2).join(", ")
}

fn check(on_delete: Action, on_update: Action, expected: Expect) {
    for with_index in [false, true] {
        let world = family(on_delete, on_update, with_index);
        let p = world.table("p");
        let mut session = world.session(Isolation::ReadCommitted);
        let mut text = String::new();
        let deleted = session.delete(&p, &p.key_of([&int(1)]));
        text.push_str(&format!("delete 1: {}\n", told(deleted)));
        text.push_str(&format!("   {}\n", children(&world, &mut session)));
        let updated = session.update(&p, &p.key_of([&int(2)]), |row| row[0] = int(20));
        text.push_str(&format!("2 becomes 20: {}\n", told(updated)));
        text.push_str(&format!("   {}\n", children(&world, &mut session)));
        let unrelated = session.update(&p, &p.key_of([&int(3)]), |row| row[0] = int(30));
        text.push_str(&format!("3 becomes 30: {}\n", told(unrelated)));
        session.commit().unwrap();
        expected.assert_eq(&text);
    }
}

/// NO ACTION refuses, as RESTRICT does.
#[test]
fn no_action_and_restrict() {
    for action in [Action::NoAction, Action::Restrict] {
        check(
            action,
            action,
            expect![[r#"
                delete 1: 23503: update or delete on table "p" violates foreign key constraint "c_p_fkey" on table "c"
                  Key (id)=(1) is still referenced from table "c".
                  public c - c_p_fkey
                   10 1, 11 1, 12 2, 13 NULL
                2 becomes 20: 23503: update or delete on table "p" violates foreign key constraint "c_p_fkey" on table "c"
                  Key (id)=(2) is still referenced from table "c".
                  public c - c_p_fkey
                   10 1, 11 1, 12 2, 13 NULL
                3 becomes 30: ok true
            "#]],
        );
    }
}

/// CASCADE deletes children and lets them follow.
#[test]
fn cascade() {
    check(
        Action::Cascade,
        Action::Cascade,
        expect![[r#"
            delete 1: ok true
               12 2, 13 NULL
            2 becomes 20: ok true
               12 20, 13 NULL
            3 becomes 30: ok true
        "#]],
    );
}

/// SET NULL and, where there is no default, SET DEFAULT leave children without a parent.
#[test]
fn set_null_and_default() {
    for action in [Action::SetNull, Action::SetDefault] {
        check(
            action,
            action,
            expect![[r#"
                delete 1: ok true
                   10 NULL, 11 NULL, 12 2, 13 NULL
                2 becomes 20: ok true
                   10 NULL, 11 NULL, 12 NULL, 13 NULL
                3 becomes 30: ok true
            "#]],
        );
    }
}

/// A row that refers to no row is refused, at once or, where the constraint is deferred, at the
/// commit; by then its parent may have come.
#[test]
fn children_need_parents() {
    let world = family(Action::NoAction, Action::NoAction, false);
    let (p, c) = (world.table("p"), world.table("c"));
    let mut session = world.session(Isolation::ReadCommitted);
    let orphan = [int(20), Datum::Int8(9)];
    expect![[r#"
        23503: insert or update on table "c" violates foreign key constraint "c_p_fkey"
          Key (p)=(9) is not present in table "p".
          public c - c_p_fkey"#]]
    .assert_eq(&told(session.insert(&c, &orphan)));
    let done = session.update(&c, &c.key_of([&int(10)]), |row| row[1] = Datum::Int8(1 << 40));
    assert!(told(done).starts_with("23503: insert or update on table \"c\""));
    // Both in one statement, the child first.
    session
        .run(|change| {
            c.insert(change, &orphan)?;
            p.insert(change, &[int(9), int(0)])
        })
        .unwrap();
    session.commit().unwrap();

    let mut deferred = refers(&world, "p", Action::NoAction, Action::NoAction);
    (deferred.is_deferrable, deferred.is_deferred) = (true, true);
    world.create("d", &[("p", Type::INT4)], vec![deferred]);
    let (p, d) = (world.table("p"), world.table("d"));
    let mut session = world.session(Isolation::ReadCommitted);
    session.insert(&d, &[int(50)]).unwrap();
    session.insert(&p, &[int(50), int(0)]).unwrap();
    session.commit().unwrap();
    let mut session = world.session(Isolation::ReadCommitted);
    session.delete(&p, &p.key_of([&int(50)])).unwrap();
    session.insert(&p, &[int(50), int(1)]).unwrap();
    session.commit().unwrap();
    let mut session = world.session(Isolation::ReadCommitted);
    session.delete(&p, &p.key_of([&int(50)])).unwrap();
    let refused = told(session.commit());
    assert!(refused.contains("Key (id)=(50) is still referenced from table \"d\"."), "{refused}");
    let mut session = world.session(Isolation::ReadCommitted);
    let key = session.insert(&d, &[int(60)]).unwrap();
    session.delete(&d, &key).unwrap();
    session.commit().unwrap();
}

/// A table that refers to itself: a tree is deleted from its root down.
#[test]
fn a_tree_goes_with_its_root() {
    let world = World::new();
    let own = NewConstraint::new(NewConstraintKind::Foreign {
        columns: vec!["p".into()],
        references: types::Oid::NONE,
        referenced: Vec::new(),
        match_type: MatchType::Full,
        on_update: Action::NoAction,
        on_delete: Action::Cascade,
        on_delete_columns: Vec::new(),
        is_period: false,
    });
    let columns = [("id", Type::INT4), ("p", Type::INT4)];
    world.create("c", &columns, vec![primary_key(&["id"]), own]);
    let c = world.table("c");
    let mut session = world.session(Isolation::ReadCommitted);
    session
        .run(|change| {
            // Leaves first: they are checked at the end of the statement.
            for id in (2..=31).rev() {
                c.insert(change, &[int(id), int(id / 2)])?;
            }
            c.insert(change, &[int(1), Datum::Null])
        })
        .unwrap();
    session.delete(&c, &c.key_of([&int(2)])).unwrap();
    let left = children(&world, &mut session);
    assert_eq!(left.split(", ").count(), 16, "{left}");
    session.delete(&c, &c.key_of([&int(1)])).unwrap();
    assert_eq!(children(&world, &mut session), "");
    session.commit().unwrap();
}

/// A deferrable key may be broken within a statement, a deferred one until the commit.
#[test]
fn uniqueness_is_checked_late() {
    let world = World::new();
    let mut key = unique(&["k"]);
    key.is_deferrable = true;
    world.create("t", &[("k", Type::INT4)], vec![key]);
    let t = world.table("t");
    let mut session = world.session(Isolation::ReadCommitted);
    let keys = [1, 2, 3].map(|k| session.insert(&t, &[int(k)]).unwrap());
    session
        .run(|change| {
            for (at, key) in keys.iter().enumerate() {
                let k = at as i32 + 1;
                t.update(change, key, &[int(k)], &[int(k + 1)])?;
            }
            Ok(())
        })
        .unwrap();
    expect![[r#"
        23505: duplicate key value violates unique constraint "t_k_key"
          Key (k)=(3) already exists.
          public t - t_k_key"#]]
    .assert_eq(&told(session.insert(&t, &[int(3)])));
    session.defer(true).unwrap();
    session.insert(&t, &[int(3)]).unwrap();
    // A check that was made after a savepoint must be made again after the rollback to it.
    let (savepoint, saved) = (session.txn().savepoint(), session.checks.save());
    let twice = session.insert(&t, &[int(4)]).unwrap();
    assert!(told(session.defer(false)).starts_with("23505"));
    session.checks.restore(&saved);
    session.txn().rollback_to(savepoint);
    assert!(session.txn().view().read(t.storage(), &twice).unwrap().is_none());
    assert!(!session.checks.is_empty());
    assert!(told(session.commit()).starts_with("23505"));
}
