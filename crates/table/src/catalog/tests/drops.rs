//! The objects that go with each other, and the messages of PostgreSQL 17 about it (asked of a real
//! one).

use types::{Oid, Type};

use super::world::{World, check, column, fails, table, text, type_address};
use crate::catalog::ddl::{
    Behavior, NewColumn, NewConstraint, NewConstraintKind, NewIdentity, NewView, SequenceOptions,
};
use crate::catalog::{
    Action, Address, CheckOption, Class, ConstraintOn, MatchType, PUBLIC, Persistence, SqlText,
};

pub fn key(columns: &[&str], is_primary: bool) -> NewConstraint {
    NewConstraint::new(NewConstraintKind::Key {
        columns: columns.iter().map(|name| (*name).into()).collect(),
        include: Vec::new(),
        is_primary,
        nulls_distinct: true,
        options: Vec::new(),
        overlaps: Vec::new(),
    })
}

pub fn foreign(columns: &[&str], references: Oid, referenced: &[&str]) -> NewConstraint {
    NewConstraint::new(NewConstraintKind::Foreign {
        columns: columns.iter().map(|name| (*name).into()).collect(),
        references,
        referenced: referenced.iter().map(|name| (*name).into()).collect(),
        match_type: MatchType::Simple,
        on_update: Action::NoAction,
        on_delete: Action::NoAction,
        on_delete_columns: Vec::new(),
        is_period: false,
    })
}

pub fn view(name: &str, columns: &[(&str, Type)], query: SqlText) -> NewView {
    NewView {
        schema: PUBLIC,
        name: name.into(),
        persistence: Persistence::Permanent,
        columns: columns.iter().map(|(name, ty)| NewColumn::new(name, *ty)).collect(),
        query,
        check: CheckOption::None,
        options: Vec::new(),
    }
}

/// A table p, a table f that refers to it twice, a view over it and a view over that.
fn family() -> World {
    let world = World::new(1);
    let columns = [("id", Type::INT4), ("t", Type::TEXT)];
    let keys = vec![key(&["id"], true), key(&["t"], false)];
    let p = world.run(|ddl| ddl.create_table(table("p", &columns, keys))).unwrap();
    let columns = [("x", Type::INT4), ("y", Type::INT4)];
    let keys = vec![foreign(&["x"], p.oid, &["id"]), foreign(&["y"], p.oid, &[])];
    world.run(|ddl| ddl.create_table(table("f", &columns, keys))).unwrap();
    let query = |of: &crate::catalog::Relation, name: &str| {
        let names = [(column(of, "id"), "id"), (Address::relation(of.oid), name)];
        text("SELECT {0} FROM public.{1}", &names)
    };
    let columns = [("id", Type::INT4)];
    let v = world.run(|ddl| ddl.create_view(view("v", &columns, query(&p, "p")))).unwrap();
    world.run(|ddl| ddl.create_view(view("w", &columns, query(&v, "v")))).unwrap();
    check(&world.cache.newest());
    world
}

/// A table that others refer to stays, unless they are dropped or give up the reference.
#[test]
fn a_table_and_who_refers_to_it() {
    let world = family();
    fails(
        world.drop_relation("p", Behavior::Restrict),
        "2BP01: cannot drop table p because other objects depend on it\n\
         DETAIL: constraint f_x_fkey on table f depends on table p\n\
         constraint f_y_fkey on table f depends on table p\n\
         view v depends on table p\n\
         view w depends on view v\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    assert!(world.cache.newest().relation_named(PUBLIC, "w").is_some(), "nothing was changed");
    let told = world.drop_relation("p", Behavior::Cascade).unwrap();
    assert_eq!(
        told.as_deref(),
        Some(
            "drop cascades to 4 other objects\n\
             drop cascades to constraint f_x_fkey on table f\n\
             drop cascades to constraint f_y_fkey on table f\n\
             drop cascades to view v\n\
             drop cascades to view w"
        )
    );
    let catalog = world.cache.newest();
    check(&catalog);
    assert!(catalog.relation_named(PUBLIC, "p_pkey").is_none());
    assert!(catalog.table(world.oid("f")).unwrap().constraints.is_empty());
}

/// The index of a key goes with its constraint, and a column with what is made of it.
#[test]
fn parts_do_not_go_alone() {
    let world = family();
    fails(
        world.drop_relation("p_pkey", Behavior::Cascade),
        "2BP01: cannot drop index p_pkey because constraint p_pkey on table p requires it\n\
         HINT: You can drop constraint p_pkey on table p instead.",
    );
    for view in ["w", "v"] {
        world.drop_relation(view, Behavior::Restrict).unwrap();
    }
    let f_y = world.cache.newest().table(world.oid("f")).unwrap().constraints[1].oid;
    let object = Address::of(Class::Constraint, f_y);
    world.run(|ddl| ddl.drop_objects(&[object], Behavior::Restrict)).unwrap();
    let id = column(&world.relation("p"), "id");
    fails(
        world.run(|ddl| ddl.drop_objects(&[id], Behavior::Restrict)),
        "2BP01: cannot drop column id of table p because other objects depend on it\n\
         DETAIL: constraint f_x_fkey on table f depends on column id of table p\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    let before = world.relation("p");
    world.store_something("p");
    let (told, rewrites) = world
        .run(|ddl| {
            let told = ddl.drop_objects(&[id], Behavior::Cascade)?;
            Ok((told, ddl.take_rewrites()))
        })
        .unwrap();
    assert_eq!(told.unwrap().message, "drop cascades to constraint f_x_fkey on table f");
    // The rows were keyed by the column, and are to lie elsewhere now.
    assert_eq!(rewrites.len(), 1);
    assert_eq!(rewrites[0].before.relation.storage(), before.storage());
    let p = world.relation("p");
    assert_ne!(p.storage(), before.storage());
    assert_eq!(p.table().unwrap().keyed_by, []);
    assert_eq!(p.columns[0].name.as_ref(), "........pg.dropped.1........");
    assert_eq!(p.column_named("t").unwrap().attnum, 2);
    check(&world.cache.newest());
    let past = world.cache.tables().past_of(p.oid);
    assert_eq!(past.len(), 1, "the rows of before can still be found");
    assert_eq!(Some(past[0].table), before.storage());
}

/// Types hold on to nothing, and are held by all that has values of them.
#[test]
fn types_and_what_has_them() {
    let world = World::new(2);
    let labels = ["a".into(), "b".into()];
    let mood = world.run(|ddl| ddl.create_enum(PUBLIC, "mood", &labels)).unwrap();
    let mut new = table("m", &[("m", mood.ty), ("ms", mood.array), ("i", Type::INT4)], vec![]);
    new.columns[2].identity =
        Some(NewIdentity { is_always: true, name: None, options: SequenceOptions::default() });
    world.run(|ddl| ddl.create_table(new)).unwrap();
    let base = (mood.ty, types::Modifier::NONE, None);
    let dm = world.run(|ddl| ddl.create_domain(PUBLIC, "dm", base, false, None)).unwrap();
    let check_a = text("VALUE <> 'a'::public.{0}", &[(type_address(mood.ty), "mood")]);
    world.run(|ddl| ddl.add_domain_check(dm.ty, None, check_a, true)).unwrap();
    world.run(|ddl| ddl.create_table(table("m2", &[("x", dm.ty)], vec![]))).unwrap();
    check(&world.cache.newest());
    let drop = |behavior| world.run(|ddl| ddl.drop_objects(&[type_address(mood.ty)], behavior));
    fails(
        drop(Behavior::Restrict),
        "2BP01: cannot drop type mood because other objects depend on it\n\
         DETAIL: column ms of table m depends on type mood[]\n\
         column m of table m depends on type mood\n\
         type dm depends on type mood\n\
         column x of table m2 depends on type dm\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    fails(
        world.drop_relation("m_i_seq", Behavior::Restrict),
        "2BP01: cannot drop sequence m_i_seq because column i of table m requires it\n\
         HINT: You can drop column i of table m instead.",
    );
    drop(Behavior::Cascade).unwrap();
    let catalog = world.cache.newest();
    check(&catalog);
    assert!(catalog.constraints_of(ConstraintOn::Domain(dm.ty)).is_empty());
    assert_eq!(world.relation("m").live_columns().count(), 1);
    assert_eq!(world.relation("m2").live_columns().count(), 0);
    world.drop_relation("m", Behavior::Restrict).unwrap();
    assert!(world.cache.newest().relation_named(PUBLIC, "m_i_seq").is_none());
}

/// A statement drops a composite type as a type; the row type of a table is a part of the table.
#[test]
fn rows_as_types() {
    let world = World::new(3);
    let columns = || vec![NewColumn::new("a", Type::INT4), NewColumn::new("b", Type::TEXT)];
    let ct = world.run(|ddl| ddl.create_composite_type(PUBLIC, "ct", columns())).unwrap();
    let row = ct.row_type.clone().unwrap();
    world.run(|ddl| ddl.create_table(table("r1", &[("a", Type::INT4)], vec![]))).unwrap();
    let r1 = world.relation("r1").row_type.clone().unwrap();
    let using = table("user_of", &[("c", row.ty), ("r", r1.ty)], vec![]);
    world.run(|ddl| ddl.create_table(using)).unwrap();
    fails(
        world.run(|ddl| ddl.drop_objects(&[type_address(row.ty)], Behavior::Restrict)),
        "2BP01: cannot drop type ct because other objects depend on it\n\
         DETAIL: column c of table user_of depends on type ct\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    fails(
        world.drop_relation("r1", Behavior::Restrict),
        "2BP01: cannot drop table r1 because other objects depend on it\n\
         DETAIL: column r of table user_of depends on type r1\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    fails(
        world.run(|ddl| ddl.drop_objects(&[type_address(r1.ty)], Behavior::Restrict)),
        "2BP01: cannot drop type r1 because table r1 requires it\n\
         HINT: You can drop table r1 instead.",
    );
    world.run(|ddl| ddl.drop_objects(&[type_address(row.ty)], Behavior::Cascade)).unwrap();
    check(&world.cache.newest());
    assert_eq!(world.relation("user_of").live_columns().count(), 1);
}

/// A schema goes with all that is in it, or not at all.
#[test]
fn a_schema_and_what_is_in_it() {
    let world = World::new(4);
    let schema = world.run(|ddl| ddl.create_schema("s1", crate::catalog::POSTGRES_ROLE)).unwrap();
    let mut new = table("t", &[("a", Type::INT4)], vec![key(&["a"], true)]);
    new.schema = schema.oid;
    world.run(|ddl| ddl.create_table(new)).unwrap();
    let labels = ["x".into()];
    world.run(|ddl| ddl.create_enum(schema.oid, "ty", &labels)).unwrap();
    let permanent = Persistence::Permanent;
    world
        .run(|ddl| ddl.create_sequence(schema.oid, "sq", permanent, &SequenceOptions::default()))
        .unwrap();
    let object = Address::of(Class::Schema, schema.oid);
    fails(
        world.run(|ddl| ddl.drop_objects(&[object], Behavior::Restrict)),
        "2BP01: cannot drop schema s1 because other objects depend on it\n\
         DETAIL: table s1.t depends on schema s1\n\
         type s1.ty depends on schema s1\n\
         sequence s1.sq depends on schema s1\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    world.run(|ddl| ddl.drop_objects(&[object], Behavior::Cascade)).unwrap();
    let catalog = world.cache.newest();
    check(&catalog);
    assert!(catalog.schema(schema.oid).is_none());
    assert!(catalog.relations().all(|relation| relation.schema != schema.oid));
}

/// A generated column keeps those that it is made of.
#[test]
fn generated_columns() {
    let world = World::new(5);
    let mut new = table("g", &[("a", Type::INT4), ("b", Type::INT4), ("c", Type::INT4)], vec![]);
    let own = Address::column(Oid::NONE, 2);
    new.columns[2].default = Some(text("{0} * 2", &[(own, "b")]));
    new.columns[2].is_generated = true;
    let g = world.run(|ddl| ddl.create_table(new)).unwrap();
    let b = Address::column(g.oid, 2);
    fails(
        world.run(|ddl| ddl.drop_objects(&[b], Behavior::Restrict)),
        "2BP01: cannot drop column b of table g because other objects depend on it\n\
         DETAIL: column c of table g depends on column b of table g\n\
         HINT: Use DROP ... CASCADE to drop the dependent objects too.",
    );
    let told = world.run(|ddl| ddl.drop_objects(&[b], Behavior::Cascade)).unwrap();
    assert_eq!(told.unwrap().message, "drop cascades to column c of table g");
    check(&world.cache.newest());
    world.drop_relation("g", Behavior::Restrict).unwrap();
}
