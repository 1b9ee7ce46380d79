//! Records of the catalog: they come back as they went in, and damaged ones do no harm.

use std::sync::Arc;

use store::{Csn, Op};
use txn::{CommitMeta, Isolation};
use types::{Datum, Oid, SqlState, Type};

use super::drops::{foreign, key, view};
use super::world::{SimRandom, World, check, column, seed, table, text};
use crate::catalog::ddl::{
    Grant, NewColumn, NewConstraint, NewConstraintKind, NewIdentity, NewIndex, NewIndexKey,
    NewPolicy, RoleChange,
};
use crate::catalog::record::{CATALOG, Record, decode, key_of, value_of};
use crate::catalog::{
    Address, Class, Entry, IndexMethod, IndexPart, Materialized, POSTGRES_DATABASE, PUBLIC,
    PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, Partitioning, PolicyCommand,
    Privileges, RangeEnd, SqlText,
};
use crate::documents::DocumentData;

/// A catalog in which everything is that there can be.
fn everything() -> World {
    let world = World::new(9);
    let labels = ["a".into(), "b".into()];
    let mood = world.run(|ddl| ddl.create_enum(PUBLIC, "mood", &labels)).unwrap();
    world.run(|ddl| ddl.create_extension(&types::extension::ALL[3], PUBLIC)).unwrap();
    let base = (Type::INT4, types::Modifier(-1), None);
    let default = Some(SqlText::plain("7"));
    let positive = world.run(|ddl| ddl.create_domain(PUBLIC, "positive", base, true, default));
    let positive = positive.unwrap().ty;
    world
        .run(|ddl| ddl.add_domain_check(positive, None, SqlText::plain("VALUE > 0"), true))
        .unwrap();
    let columns = [("id", Type::INT4), ("name", Type::TEXT), ("m", mood.ty), ("n", positive)];
    let own = Address::column(Oid::NONE, 1);
    let checked = NewConstraintKind::Check(text("{0} > 0", &[(own, "id")]));
    let mut new = table(
        "p",
        &columns,
        vec![key(&["id"], true), key(&["name"], false), NewConstraint::new(checked)],
    );
    new.columns[0].identity = Some(NewIdentity { is_always: true, ..NewIdentity::default() });
    new.columns[1].default = Some(SqlText::plain("'x'::text"));
    new.options = vec![("fillfactor".into(), "70".into())];
    let p = world.run(|ddl| ddl.create_table(new)).unwrap();
    let mut added = NewColumn::new("late", Type::NUMERIC);
    added.missing = Some(Datum::text("x"));
    added.ty = Type::TEXT;
    world.run(|ddl| ddl.add_column(p.oid, added, false)).unwrap();
    let keys = vec![foreign(&["x"], p.oid, &["id"])];
    world.run(|ddl| ddl.create_table(table("f", &[("x", Type::INT4)], keys))).unwrap();
    let lower = text("lower({0})", &[(Address::column(Oid::NONE, 2), "name")]);
    let index = NewIndex {
        name: None,
        method: IndexMethod::Btree,
        keys: vec![NewIndexKey {
            part: IndexPart::Expr(lower),
            ty: Type::TEXT,
            name: "lower".into(),
            is_descending: true,
            nulls_first: None,
            collation: None,
            class: None,
        }],
        include: vec!["id".into()],
        predicate: Some(text("{0} IS NOT NULL", &[(Address::column(Oid::NONE, 2), "name")])),
        is_unique: false,
        nulls_distinct: true,
        is_valid: true,
        options: Vec::new(),
        excludes: Vec::new(),
        partition_of: None,
    };
    let of_locale = collate::named("sv-x-icu").map(|known| Oid(known.oid));
    let sorted = NewIndexKey { collation: of_locale, ..NewIndexKey::column(2) };
    let sorted = NewIndex { keys: vec![sorted], predicate: None, ..index.clone() };
    world.run(|ddl| ddl.create_index(p.oid, index)).unwrap();
    world.run(|ddl| ddl.create_index(p.oid, sorted)).unwrap();
    let query = text("SELECT {0} FROM p", &[(column(&p, "id"), "id")]);
    world.run(|ddl| ddl.create_view(view("v", &[("id", Type::INT4)], query.clone()))).unwrap();
    let own_row = text("{0} > 0", &[(column(&p, "id"), "id")]);
    let policy = NewPolicy {
        name: "own".into(),
        is_permissive: false,
        command: PolicyCommand::Update,
        roles: vec![Oid::NONE],
        using: Some(own_row.clone()),
        check: Some(own_row),
    };
    world.run(|ddl| ddl.create_policy(p.oid, policy)).unwrap();
    world.run(|ddl| ddl.set_row_security(p.oid, Some(true), Some(false))).unwrap();
    for (name, is_populated) in [("m", true), ("n", false)] {
        let new = table(name, &[("id", Type::INT4)], Vec::new());
        let materialized = Materialized { query: query.clone(), is_populated };
        world.run(|ddl| ddl.create_materialized_view(new, materialized)).unwrap();
    }
    let change = RoleChange { login: Some(true), ..RoleChange::default() };
    let bob = world.run(|ddl| ddl.create_role("bob", &change)).unwrap().oid;
    let staff = world.run(|ddl| ddl.create_role("staff", &RoleChange::default())).unwrap().oid;
    world.run(|ddl| ddl.grant_role(staff, bob, Default::default())).unwrap();
    let grant = Grant {
        privileges: Privileges::SELECT,
        grantees: vec![bob, Oid::NONE],
        grant_option: false,
    };
    world.run(|ddl| ddl.grant(Address::relation(p.oid), &grant)).unwrap();
    world.run(|ddl| ddl.grant(Address::column(p.oid, 2), &grant)).unwrap();
    world
        .run(|ddl| {
            let behavior = crate::catalog::ddl::Behavior::Restrict;
            let role = crate::catalog::POSTGRES_ROLE;
            ddl.change_default_privileges(role, PUBLIC, 'r', &grant, false, behavior)
        })
        .unwrap();
    divided_tables(&world);
    let setting = Some(("search_path", Some("a, b")));
    world.run(|ddl| ddl.change_setting(POSTGRES_DATABASE, bob, setting)).unwrap();
    world.run(|ddl| ddl.comment(column(&p, "id"), Some("the number"))).unwrap();
    world.run(|ddl| ddl.create_database("shop", bob, None, Default::default())).unwrap();
    let object = Address::of(Class::Type, mood.ty.oid());
    world.run(|ddl| ddl.comment(object, Some("how it feels"))).unwrap();
    check(&world.cache.newest());
    world
}

/// Partitioned tables of each kind, with partitions of each kind of bound and a part of a primary key.
fn divided_tables(world: &World) {
    let value = |number: i32| Datum::Int4(number);
    let (low, high) = (vec![RangeEnd::Min], vec![RangeEnd::Value(value(5))]);
    let kinds = [
        (
            PartitionStrategy::Range,
            vec![
                PartitionBound::Range(low, high.clone()),
                PartitionBound::Range(high, vec![RangeEnd::Max]),
            ],
        ),
        (
            PartitionStrategy::List,
            vec![PartitionBound::List(vec![value(1), Datum::Null]), PartitionBound::Default],
        ),
        (PartitionStrategy::Hash, vec![PartitionBound::Hash { modulus: 4, remainder: 3 }]),
    ];
    for (at, (strategy, bounds)) in kinds.into_iter().enumerate() {
        let columns = [("id", Type::INT4)];
        let mut new = table(&format!("whole{at}"), &columns, vec![key(&["id"], true)]);
        let divides = PartitionKey {
            part: IndexPart::Column(1),
            ty: Type::INT4,
            modifier: types::Modifier::NONE,
            repr: types::Repr::Int4,
            collation: Oid::NONE,
            class: None,
        };
        new.partitioning =
            Some(Partitioning { strategy, keys: vec![divides], partitions: Vec::new() });
        let whole = world.run(|ddl| ddl.create_table(new)).unwrap();
        let catalog = world.cache.newest();
        let primary = catalog.table(whole.oid).unwrap().constraints[0].oid;
        for (number, bound) in bounds.into_iter().enumerate() {
            let part = NewConstraint { partition_of: Some(primary), ..key(&["id"], true) };
            let mut new = table(&format!("part{at}_{number}"), &columns, vec![part]);
            new.partition_of = Some(PartitionOf { parent: whole.oid, bound });
            world.run(|ddl| ddl.create_table(new)).unwrap();
        }
    }
}

/// Every entry comes back as it went in; damaged bytes are an error, or an entry that can be written
/// again.
#[test]
fn records_round_trip_and_bear_damage() {
    let seed = seed(21);
    let random = SimRandom::new(seed);
    let entries: Vec<Entry> = everything().cache.newest().entries().collect();
    assert!(entries.len() > 50);
    let times = if std::env::var_os("ANYWHEN_TIMES").is_some() { 20_000 } else { 800 };
    let mut survivors = 0;
    for entry in &entries {
        let (key, value) = (key_of(entry.key()), value_of(entry));
        let read = |value: &[u8]| decode(&key, value, Csn(5));
        assert_eq!(read(&value).unwrap(), Record::Entry(entry.clone()));
        for len in 0..value.len() {
            assert!(read(&value[..len]).is_err(), "cut to {len} of {} bytes", value.len());
        }
        for _ in 0..times {
            let mut damaged = value.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(damaged.len() as u64) as usize;
                match random.below(4) {
                    0 => damaged[at] = random.below(256) as u8,
                    1 => damaged[at] ^= 1 << random.below(8),
                    2 => drop(damaged.remove(at)),
                    _ => damaged.insert(at, random.below(256) as u8),
                }
                if damaged.is_empty() {
                    damaged.push(1);
                }
            }
            if let Ok(Record::Entry(other)) = read(&damaged) {
                survivors += 1;
                let again = read(&value_of(&other)).unwrap();
                assert_eq!(again, Record::Entry(other), "seed {seed}: {damaged:02x?}");
            }
        }
    }
    assert!(survivors > 0, "some damage is not seen, as in a letter of a text");
}

/// A commit with a record that does not decode is named to every reader after it, with the fault as the source. A snapshot
/// before it reads on.
#[test]
fn a_commit_with_a_damaged_record_is_named() {
    let world = World::new(23);
    let made = world.run(|ddl| ddl.create_table(table("t", &[("a", Type::INT4)], Vec::new())));
    let before = world.engine.snapshot();
    let key = key_of(Entry::Relation(made.unwrap()).key());
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    txn.write(CATALOG, key, Op::Put(vec![1, 2])).unwrap();
    let csn = txn.commit(CommitMeta::default()).unwrap().csn;
    for _ in 0..2 {
        let Err(error) = world.cache.at(&world.engine.snapshot()) else {
            panic!("the record is damaged");
        };
        assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
        let told = error.to_string();
        assert!(told.contains(&format!("the catalog: commit {} wrote", csn.0)), "{told}");
        let commit = std::error::Error::source(&error).expect("the commit");
        let fault = commit.source().expect("the fault").to_string();
        assert!(fault.starts_with("a stored record of a table is damaged: "), "{fault}");
    }
    assert!(world.cache.at(&before).is_ok());
}

/// Bytes that are no records at all are refused.
#[test]
fn noise_is_refused() {
    let seed = seed(22);
    let random = SimRandom::new(seed);
    for _ in 0..100_000 {
        let bytes = |len: u64| -> Vec<u8> { (0..len).map(|_| random.below(256) as u8).collect() };
        let mut key = bytes(random.below(12));
        let mut value = bytes(random.below(60));
        if let (Some(letter), Some(version)) = (key.first_mut(), value.first_mut()) {
            *letter = b"bumgsartckxv"[random.below(12) as usize];
            *version = 1;
        }
        let _ = decode(&key, &value, Csn(1));
    }
    assert!(decode(b"r\0\0\x40\x06", &[2, 0], Csn(1)).is_err(), "a later version");
    assert!(decode(b"", &[1], Csn(1)).is_err());
}

/// Before there were access methods, a table of documents said so with a 1 and four fields in the place where
/// tables have their method now. Such records are read, and written in the form of now.
#[test]
fn tables_of_documents_of_earlier_builds_are_read() {
    let world = World::new(3);
    let columns = [("id", Type::INT4), ("doc", Type::JSONB)];
    let made = world.run(|ddl| ddl.create_table(table("t", &columns, vec![key(&["id"], true)])));
    let made = Entry::Relation(made.unwrap());
    let (bytes, mut value) = (key_of(made.key()), value_of(&made));
    assert_eq!(value.pop(), Some(0), "the method of a heap is the last byte");
    // Column 2, zigzag; the table 0x2000_4000 of the store; hashes; no summary of paths.
    value.extend([1, 4, 0x80, 0x80, 0x81, 0x80, 0x02, 1, 0]);
    let read = |value: &[u8]| match decode(&bytes, value, Csn(1)) {
        Ok(Record::Entry(Entry::Relation(relation))) => relation,
        other => panic!("{other:?}"),
    };
    let relation = read(&value);
    let documents = DocumentData {
        column: 2,
        storage: store::TableId(0x2000_4000),
        hashes: true,
        path_summary: false,
    };
    assert_eq!(DocumentData::of(&relation), Some(documents));
    let now = value_of(&Entry::Relation(Arc::clone(&relation)));
    assert_ne!(now, value);
    assert_eq!(read(&now), relation);
    for end in value.len() - 8..value.len() {
        assert!(decode(&bytes, &value[..end], Csn(1)).is_err(), "cut to {end} bytes");
    }
}
