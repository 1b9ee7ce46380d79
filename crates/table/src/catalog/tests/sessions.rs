//! Transactions side by side: what each sees of the catalog, and who waits for whom.

use std::sync::Arc;
use std::thread;

use store::TableId;
use txn::CommitMeta;
use types::Type;

use super::drops::{foreign, key};
use super::world::{World, check, dump, fails, table};
use crate::catalog::ddl::{Behavior, MembershipChange, RoleChange, SequenceOptions};
use crate::catalog::{Address, Class, POSTGRES_ROLE, PUBLIC, Persistence};
use crate::sequence::Sequences;

fn has(catalog: &crate::Catalog, name: &str) -> bool {
    catalog.relation_named(PUBLIC, name).is_some()
}

/// Two transactions that make different tables see nothing of each other until they commit, and then
/// both tables are there.
#[test]
fn drafts_are_put_together() {
    let world = World::new(1);
    let (mut one, mut two) = (world.begin(), world.begin());
    one.run(|ddl| ddl.create_table(table("a", &[("x", Type::INT4)], vec![]))).unwrap();
    two.run(|ddl| ddl.create_table(table("b", &[("x", Type::INT4)], vec![]))).unwrap();
    assert!(has(one.draft.catalog(), "a") && !has(one.draft.catalog(), "b"));
    assert!(has(two.draft.catalog(), "b") && !has(two.draft.catalog(), "a"));
    assert!(!has(&world.cache.newest(), "a"));
    world.commit(one);
    two.draft.refresh();
    assert!(has(two.draft.catalog(), "a") && has(two.draft.catalog(), "b"));
    world.commit(two);
    let catalog = world.cache.newest();
    assert!(has(&catalog, "a") && has(&catalog, "b"));
    check(&catalog);
    let kept = dump(&catalog);
    drop(catalog);
    let world = world.reopen();
    assert_eq!(dump(&world.cache.newest()), kept);
}

/// A transaction that wants a name which another one has taken waits for it, and finds it taken or
/// free.
#[test]
fn a_name_is_taken_once() {
    for commits in [true, false] {
        let world = Arc::new(World::new(2));
        let mut first = world.begin();
        first.run(|ddl| ddl.create_table(table("a", &[("x", Type::INT4)], vec![]))).unwrap();
        let other = world.clone();
        let second = thread::spawn(move || {
            let made = other.run(|ddl| {
                ddl.create_table(table("a", &[("y", Type::TEXT)], vec![])).map(|made| made.oid)
            });
            made.map_err(|error| super::world::shown(&error))
        });
        while world.engine.stats().waiting == 0 {
            thread::yield_now();
        }
        if commits {
            world.commit(first);
        } else {
            drop(first);
        }
        let second = second.join().unwrap();
        if commits {
            assert_eq!(second, Err("42P07: relation \"a\" already exists".to_owned()));
        } else {
            assert_eq!(second, Ok(world.oid("a")));
        }
        check(&world.cache.newest());
    }
}

/// A table that is referred to by a foreign key on its way cannot be dropped before that is decided.
#[test]
fn what_is_relied_on_stays() {
    let world = Arc::new(World::new(3));
    let columns = [("id", Type::INT4)];
    let p = world.run(|ddl| ddl.create_table(table("p", &columns, vec![key(&["id"], true)])));
    let p = p.unwrap().oid;
    let mut first = world.begin();
    let keys = vec![foreign(&["x"], p, &[])];
    first.run(|ddl| ddl.create_table(table("f", &[("x", Type::INT4)], keys))).unwrap();
    let other = world.clone();
    let second = thread::spawn(move || {
        let dropped = other.drop_relation("p", Behavior::Restrict);
        dropped.map_err(|error| super::world::shown(&error))
    });
    while world.engine.stats().waiting == 0 {
        thread::yield_now();
    }
    world.commit(first);
    assert_eq!(
        second.join().unwrap(),
        Err("2BP01: cannot drop table p because other objects depend on it\n\
             DETAIL: constraint f_x_fkey on table f depends on table p\n\
             HINT: Use DROP ... CASCADE to drop the dependent objects too."
            .to_owned())
    );
    check(&world.cache.newest());
}

/// A savepoint takes the catalog back with the transaction, and what comes after it counts.
#[test]
fn savepoints_take_statements_back() {
    let world = World::new(4);
    let mut session = world.begin();
    session.run(|ddl| ddl.create_table(table("a", &[("x", Type::INT4)], vec![]))).unwrap();
    let before = dump(session.draft.catalog());
    let (mark, saved) = (session.txn.savepoint(), session.draft.savepoint());
    session.run(|ddl| ddl.create_table(table("b", &[("x", Type::INT4)], vec![]))).unwrap();
    let a = session.draft.catalog().relation_named(PUBLIC, "a").unwrap().oid;
    session.run(|ddl| ddl.drop_objects(&[Address::relation(a)], Behavior::Restrict)).unwrap();
    session.txn.rollback_to(mark);
    session.draft.rollback_to(&saved);
    assert_eq!(dump(session.draft.catalog()), before);
    // A statement that fails takes back what it has done so far, and only that.
    let keys = vec![key(&["x"], true), key(&["nope"], false)];
    fails(
        session.run(|ddl| ddl.create_table(table("c", &[("x", Type::INT4)], keys))),
        "42703: column \"nope\" named in key does not exist",
    );
    assert_eq!(dump(session.draft.catalog()), before);
    session.run(|ddl| ddl.create_table(table("d", &[("x", Type::INT4)], vec![]))).unwrap();
    world.commit(session);
    let world = world.reopen();
    let catalog = world.cache.newest();
    check(&catalog);
    assert!(has(&catalog, "a") && has(&catalog, "d") && !has(&catalog, "b") && !has(&catalog, "c"));
}

/// The catalog of any commit is what it was, in memory as after the database was opened again.
#[test]
fn the_past_of_the_catalog() {
    let world = World::new(5);
    let mut dumps = vec![(world.engine.visible(), dump(&world.cache.newest()))];
    for number in 0..20 {
        let name = format!("t{number}");
        world.run(|ddl| ddl.create_table(table(&name, &[("x", Type::INT4)], vec![]))).unwrap();
        if number % 3 == 2 {
            world.drop_relation(&format!("t{}", number - 1), Behavior::Restrict).unwrap();
        }
        dumps.push((world.engine.visible(), dump(&world.cache.newest())));
        // A commit that leaves the catalog alone.
        let mut txn = world.engine.begin(txn::Isolation::ReadCommitted);
        txn.put(store::TableId(7), b"k", vec![number]).unwrap();
        txn.commit(CommitMeta::default()).unwrap();
    }
    let world = world.reopen();
    for (csn, expected) in dumps.iter().chain(dumps.iter().rev()) {
        let at = |csn| {
            let snapshot = world.engine.snapshot_at(csn).unwrap();
            world.cache.at(&snapshot).unwrap()
        };
        let catalog = at(*csn);
        assert_eq!(&dump(&catalog), expected, "at {}", csn.0);
        assert_eq!(catalog.version(), *csn);
        check(&catalog);
        assert!(Arc::ptr_eq(&catalog, &at(*csn)), "it is kept");
    }
    let first = world.engine.snapshot_at(store::Csn(0)).unwrap();
    let before = world.cache.at(&first).unwrap();
    assert!(before.schema(PUBLIC).is_some() && before.relations().next().is_none());
}

/// Roles and databases are found by the names that they have now: after a name was changed, given back, taken by another
/// and exchanged, also in a transaction's own catalog and from a savepoint on.
#[test]
fn roles_and_databases_are_found_by_their_names() {
    let world = World::new(7);
    let oid_of = |catalog: &crate::Catalog, name: &str| catalog.role_named(name).map(|it| it.oid);
    let make = |name: &str| {
        let made = world.run(|ddl| ddl.create_role(name, &RoleChange::default()));
        made.expect("the name is free").oid
    };
    let (ann, bob) = (make("ann"), make("bob"));
    let role = |oid| Address::of(Class::Role, oid);
    let rename = |oid, name: &str| world.run(|ddl| ddl.rename(role(oid), name)).unwrap();
    let newest = || world.cache.newest();
    rename(ann, "anna");
    assert_eq!((oid_of(&newest(), "ann"), oid_of(&newest(), "anna")), (None, Some(ann)));
    let other = make("ann");
    assert_eq!(oid_of(&newest(), "ann"), Some(other));
    check(&newest());

    // In one transaction two roles exchange their names, one is dropped, and its name is taken.
    let mut session = world.begin();
    for (oid, name) in [(ann, "between"), (bob, "anna"), (ann, "bob")] {
        session.run(|ddl| ddl.rename(role(oid), name)).unwrap();
    }
    let (mark, saved) = (session.txn.savepoint(), session.draft.savepoint());
    session.run(|ddl| ddl.drop_roles(&[other])).unwrap();
    assert_eq!(oid_of(session.draft.catalog(), "ann"), None);
    session.txn.rollback_to(mark);
    session.draft.rollback_to(&saved);
    assert_eq!(oid_of(session.draft.catalog(), "ann"), Some(other));
    session.run(|ddl| ddl.drop_roles(&[other])).unwrap();
    let last = session.run(|ddl| ddl.create_role("ann", &RoleChange::default())).unwrap().oid;
    assert_eq!(oid_of(session.draft.catalog(), "anna"), Some(bob));
    assert_eq!(oid_of(&newest(), "anna"), Some(ann), "others see nothing of it");
    let before = newest();
    world.commit(session);
    let found = ["ann", "anna", "bob", "between"].map(|name| oid_of(&newest(), name));
    assert_eq!(found, [Some(last), Some(bob), Some(ann), None]);
    assert_eq!(oid_of(&before, "ann"), Some(other), "a catalog of the past stays as it is");
    check(&newest());

    let make = |name: &str| {
        let made =
            world.run(|ddl| ddl.create_database(name, POSTGRES_ROLE, None, Default::default()));
        made.expect("the name is free").oid
    };
    let database_of = |name: &str| newest().database_named(name).map(|it| it.oid);
    let shop = make("shop");
    world.run(|ddl| ddl.rename(Address::of(Class::Database, shop), "store")).unwrap();
    assert_eq!((database_of("shop"), database_of("store")), (None, Some(shop)));
    let second = make("shop");
    world.run(|ddl| ddl.drop_database(shop)).unwrap();
    assert_eq!((database_of("shop"), database_of("store")), (Some(second), None));
    check(&newest());
    let kept = dump(&newest());
    let world = world.reopen();
    assert_eq!(dump(&world.cache.newest()), kept);
    check(&world.cache.newest());
}

/// A role is a member as long as its membership lasts, whichever of several goes first.
#[test]
fn memberships_are_found_by_the_member() {
    let world = World::new(8);
    let make = |name: &str| {
        let made = world.run(|ddl| ddl.create_role(name, &RoleChange::default()));
        made.expect("the name is free").oid
    };
    let [ann, staff, all] = ["ann", "staff", "all_staff"].map(make);
    let grant = |role, member| {
        world.run(|ddl| ddl.grant_role(role, member, MembershipChange::default())).unwrap();
    };
    grant(staff, ann);
    grant(all, staff);
    grant(all, ann);
    let is_member = |role| world.cache.newest().is_member_of(ann, role);
    assert!(is_member(staff) && is_member(all));
    check(&world.cache.newest());
    world.run(|ddl| ddl.revoke_role(all, ann, None, Behavior::Restrict)).unwrap();
    assert!(is_member(all), "by way of staff");
    world.run(|ddl| ddl.revoke_role(staff, ann, None, Behavior::Restrict)).unwrap();
    assert!(!is_member(staff) && !is_member(all));
    assert_eq!(world.cache.newest().memberships_of(ann), []);
    grant(staff, ann);
    world.run(|ddl| ddl.drop_roles(&[staff])).unwrap();
    assert!(!is_member(staff));
    check(&world.cache.newest());
}

/// A transaction of the leader made a sequence and took a number of it. Another one made a table and committed first. So the
/// number of the sequence was below the next one, no record named it, and the follower had where the sequence stood: its
/// compaction dropped that. The first transaction committed, and on the follower the sequence began at its start.
#[test]
fn a_follower_keeps_where_a_sequence_stands() {
    let world = World::new(1);
    let mut follower = world.follower(2);
    let sequences = Sequences::new(Arc::clone(&world.engine), world.cache.tables().clone());
    let (mut one, mut two) = (world.begin(), world.begin());
    let options = SequenceOptions::default();
    let s = one.run(|ddl| ddl.create_sequence(PUBLIC, "s", Persistence::Permanent, &options));
    let s = s.expect("the sequence is made");
    assert_eq!(sequences.take(&s).unwrap().first, 1);
    two.run(|ddl| ddl.create_table(table("a", &[("x", Type::INT4)], vec![]))).unwrap();
    world.commit(two);
    follower.follow(&world);
    follower.write_out();
    world.commit(one);
    follower.follow(&world);
    follower.write_out();
    let stands = |engine: &Arc<txn::Engine>| {
        let found = engine.snapshot().read(s.storage().expect("it has one"), b"s").unwrap();
        found.map(|found| found.base().to_vec())
    };
    assert!(stands(&world.engine).is_some());
    assert_eq!(stands(&follower.engine), stands(&world.engine));
}

/// The rows of a table come to a follower with the commit that makes the table. Its transaction began before others that
/// committed, so its number is below the next one; the rows stay.
#[test]
fn a_follower_keeps_the_rows_of_a_table_that_others_overtook() {
    let world = World::new(1);
    let mut follower = world.follower(2);
    let mut storages: Vec<TableId> = Vec::new();
    let mut sessions: Vec<_> = (0..3).map(|_| world.begin()).collect();
    for (at, session) in sessions.iter_mut().enumerate() {
        let new = table(&format!("t{at}"), &[("x", Type::INT4)], vec![]);
        let made = session.run(|ddl| ddl.create_table(new)).unwrap();
        storages.push(made.storage().expect("it has one"));
        session.txn.put(storages[at], b"key", b"row".to_vec()).unwrap();
    }
    for session in sessions.into_iter().rev() {
        world.commit(session);
        follower.follow(&world);
        follower.write_out();
    }
    let now = follower.engine.snapshot();
    for storage in storages {
        assert!(now.read(storage, b"key").unwrap().is_some());
    }
}
