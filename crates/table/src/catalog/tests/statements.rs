//! Statements one by one: their effects, and the answers of PostgreSQL 17 where they cannot be
//! carried out (asked of a real one).

use types::{Modifier, Oid, Type};

use super::drops::{foreign, key, view};
use super::world::{World, acting, check, column, fails, table, text};
use crate::catalog::ddl::{
    Acting, Behavior, ColumnChange, Grant, LabelPlace, NewColumn, NewConstraint, NewConstraintKind,
    NewIdentity, NewIndex, NewIndexKey, RoleChange, SequenceOptions,
};
use crate::catalog::{
    Address, Class, ConstraintKind, DATABASE_OWNER_ROLE, IndexMethod, IndexPart, PG_CATALOG,
    POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC, Persistence, Privileges, SqlText,
};

const INT: Type = Type::INT4;

fn fails_to_make(world: &World, new: crate::catalog::ddl::NewTable, expected: &str) {
    fails(world.run(|ddl| ddl.create_table(new)), expected);
}

/// Tables that cannot be.
#[test]
fn tables_that_cannot_be() {
    let world = World::new(1);
    let make = |new| world.run(|ddl| ddl.create_table(new)).unwrap();
    let p = make(table("p", &[("id", INT), ("t", Type::TEXT)], vec![key(&["id"], true)]));
    let labels = ["a".into()];
    world.run(|ddl| ddl.create_enum(PUBLIC, "mood", &labels)).unwrap();
    let no = |new, expected| fails_to_make(&world, new, expected);
    let one = [("a", INT)];
    no(table("p", &one, vec![]), "42P07: relation \"p\" already exists");
    no(
        table("mood", &one, vec![]),
        "42710: type \"mood\" already exists\nHINT: A relation has an associated type of the same \
         name, so you must use a name that doesn't conflict with any existing type.",
    );
    no(
        table("bad", &[("a", INT), ("a", INT)], vec![]),
        "42701: column \"a\" specified more than once",
    );
    no(
        table("bad", &[("ctid", INT)], vec![]),
        "42701: column name \"ctid\" conflicts with a system column name",
    );
    no(table("bad", &[("a", Type::RECORD)], vec![]), "42P16: column \"a\" has pseudo-type record");
    no(
        table("bad", &one, vec![key(&["z"], true)]),
        "42703: column \"z\" named in key does not exist",
    );
    no(
        table("bad", &one, vec![key(&["a", "a"], true)]),
        "42701: column \"a\" appears twice in primary key constraint",
    );
    no(
        table("bad", &one, vec![key(&["a"], true), key(&["a"], true)]),
        "42P16: multiple primary keys for table \"bad\" are not allowed",
    );
    no(
        table("bad", &[("a", Type::JSON)], vec![key(&["a"], true)]),
        "42704: data type json has no default operator class for access method \"btree\"\n\
         HINT: You must specify an operator class for the index or define a default operator class \
         for the data type.",
    );
    no(
        table("bad", &one, vec![foreign(&["z"], p.oid, &[])]),
        "42703: column \"z\" referenced in foreign key constraint does not exist",
    );
    no(
        table("bad", &[("x", Type::TEXT)], vec![foreign(&["x"], p.oid, &["id"])]),
        "42804: foreign key constraint \"bad_x_fkey\" cannot be implemented\n\
         DETAIL: Key columns \"x\" and \"id\" are of incompatible types: text and integer.",
    );
    no(
        table("bad", &one, vec![foreign(&["a"], p.oid, &["t"])]),
        "42830: there is no unique constraint matching given keys for referenced table \"p\"",
    );
    let mut system = table("xx", &one, vec![]);
    system.schema = PG_CATALOG;
    no(
        system,
        "42501: permission denied to create \"pg_catalog.xx\"\n\
         DETAIL: System catalog modifications are currently disallowed.",
    );
    let temporary = crate::catalog::ddl::NewTable {
        persistence: Persistence::Temporary,
        ..table("tt", &[("id", INT)], vec![key(&["id"], true)])
    };
    let tt = make(temporary);
    no(
        table("bad", &one, vec![foreign(&["a"], tt.oid, &[])]),
        "42P16: constraints on permanent tables may reference only permanent tables",
    );
    let many: Vec<String> = (0..1_601).map(|number| format!("c{number}")).collect();
    let many: Vec<(&str, Type)> = many.iter().map(|name| (&**name, INT)).collect();
    no(table("bad", &many, vec![]), "54011: tables can have at most 1600 columns");
    check(&world.cache.newest());
    assert!(world.cache.newest().relation_named(PUBLIC, "bad").is_none());
}

/// Names are chosen as PostgreSQL chooses them, and array types step aside.
#[test]
fn chosen_names() {
    let world = World::new(2);
    let own = |attnum| Address::column(Oid::NONE, attnum);
    let both = NewConstraintKind::Check(text("{0} < {1}", &[(own(1), "a"), (own(2), "b")]));
    let only = NewConstraintKind::Check(text("{0} > 0", &[(own(1), "a")]));
    let again = only.clone();
    let keys = vec![
        key(&["a"], true),
        key(&["a", "b"], false),
        NewConstraint::new(both),
        NewConstraint::new(only),
        NewConstraint::new(again),
        foreign(&["b"], Oid::NONE, &[]),
    ];
    let t = world.run(|ddl| ddl.create_table(table("m", &[("a", INT), ("b", INT)], keys)));
    let t = t.unwrap().oid;
    let def = world.cache.newest().table(t).unwrap().clone();
    let names: Vec<&str> = def.constraints.iter().map(|known| &*known.name).collect();
    assert_eq!(names, ["m_pkey", "m_a_b_key", "m_check", "m_a_check", "m_a_check1", "m_b_fkey"]);
    assert_eq!(def.referenced_by.len(), 1);
    assert!(def.indexes[0].storage().is_none() && def.indexes[1].storage().is_some());
    assert_eq!(def.relation.table().unwrap().keyed_by, [1]);
    assert!(def.relation.columns[0].not_null && !def.relation.columns[1].not_null);
    let plain = |keys: Vec<NewIndexKey>| NewIndex {
        name: None,
        method: IndexMethod::Btree,
        keys,
        include: Vec::new(),
        predicate: None,
        is_unique: true,
        nulls_distinct: true,
        is_valid: true,
        options: Vec::new(),
        excludes: Vec::new(),
        partition_of: None,
    };
    let expr = || NewIndexKey {
        part: IndexPart::Expr(text("{0} + 1", &[(own(1), "a")])),
        ty: INT,
        ..NewIndexKey::column(1)
    };
    for expected in ["m_a_expr_expr1_idx", "m_a_expr_expr1_idx1"] {
        let keys = vec![NewIndexKey::column(1), expr(), expr()];
        let made = world.run(|ddl| ddl.create_index(t, plain(keys))).unwrap();
        assert_eq!(&*made.name, expected);
    }
    let type_of = |name: &str| world.cache.newest().type_named(PUBLIC, name);
    let array = type_of("_m").unwrap();
    world.run(|ddl| ddl.create_table(table("_m", &[("a", INT)], vec![]))).unwrap();
    assert_eq!(type_of("__m"), Some(array));
    assert_eq!(type_of("_m"), Some(world.relation("_m").row_type.as_ref().unwrap().ty));
    check(&world.cache.newest());
}

/// A new name is written into all that uses the old one.
#[test]
fn renaming_is_seen_everywhere() {
    let world = World::new(3);
    let own = Address::column(Oid::NONE, 1);
    let checked = NewConstraintKind::Check(text("{0} > 0 AND {0} < 9", &[(own, "a")]));
    let keys = vec![key(&["a"], true), NewConstraint::new(checked)];
    let t = world.run(|ddl| ddl.create_table(table("t", &[("a", INT)], keys))).unwrap();
    let schema = Address::of(Class::Schema, PUBLIC);
    let names = [(column(&t, "a"), "a"), (schema, "public"), (Address::relation(t.oid), "t")];
    let query = text("SELECT {0} FROM {1}.{2} WHERE {0} > 1", &names);
    let v = world.run(|ddl| ddl.create_view(view("v", &[("a", INT)], query))).unwrap().oid;
    let query = |world: &World| {
        let catalog = world.cache.newest();
        check(&catalog);
        catalog.relation(v).unwrap().view().unwrap().query.text.to_string()
    };
    world.run(|ddl| ddl.rename(column(&t, "a"), "Big A")).unwrap();
    assert_eq!(query(&world), "SELECT \"Big A\" FROM public.t WHERE \"Big A\" > 1");
    let def = world.cache.newest().table(t.oid).unwrap().clone();
    let ConstraintKind::Check { expr, .. } = &def.constraints[1].kind else { panic!("a check") };
    assert_eq!(&*expr.text, "\"Big A\" > 0 AND \"Big A\" < 9");
    world.run(|ddl| ddl.rename(Address::relation(t.oid), "select")).unwrap();
    assert_eq!(query(&world), "SELECT \"Big A\" FROM public.\"select\" WHERE \"Big A\" > 1");
    let other = world.run(|ddl| ddl.create_schema("other", POSTGRES_ROLE)).unwrap().oid;
    world.run(|ddl| ddl.set_schema(Address::relation(t.oid), other)).unwrap();
    assert_eq!(query(&world), "SELECT \"Big A\" FROM other.\"select\" WHERE \"Big A\" > 1");
    assert_eq!(world.cache.newest().table(t.oid).unwrap().indexes[0].schema, other);
    world.run(|ddl| ddl.rename(Address::of(Class::Schema, other), "s2")).unwrap();
    assert_eq!(query(&world), "SELECT \"Big A\" FROM s2.\"select\" WHERE \"Big A\" > 1");
    let pkey = Address::of(Class::Constraint, def.constraints[0].oid);
    world.run(|ddl| ddl.rename(pkey, "k")).unwrap();
    let def = world.cache.newest().table(t.oid).unwrap().clone();
    assert_eq!((&*def.constraints[0].name, &*def.indexes[0].name), ("k", "k"));
    world.run(|ddl| ddl.rename(Address::relation(def.indexes[0].oid), "k2")).unwrap();
    let def = world.cache.newest().table(t.oid).unwrap().clone();
    assert_eq!((&*def.constraints[0].name, &*def.indexes[0].name), ("k2", "k2"));
    fails(
        world.run(|ddl| ddl.rename(column(&def.relation, "Big A"), "ctid")),
        "42701: column name \"ctid\" conflicts with a system column name",
    );
}

/// Columns: what can be changed of them, and what cannot.
#[test]
fn columns() {
    let world = World::new(4);
    let mut new = table("t", &[("a", INT), ("i", INT)], vec![key(&["a"], true)]);
    new.columns[1].identity = Some(NewIdentity::default());
    let t = world.run(|ddl| ddl.create_table(new)).unwrap().oid;
    let change = |column: &str, change| world.run(|ddl| ddl.change_column(t, column, change));
    fails(change("a", ColumnChange::NotNull(false)), "42P16: column \"a\" is in a primary key");
    fails(
        change("i", ColumnChange::NotNull(false)),
        "42601: column \"i\" of relation \"t\" is an identity column",
    );
    fails(
        change("i", ColumnChange::Default(None)),
        "42601: column \"i\" of relation \"t\" is an identity column\n\
         HINT: Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.",
    );
    fails(
        change("z", ColumnChange::NotNull(true)),
        "42703: column \"z\" of relation \"t\" does not exist",
    );
    let add = |column| world.run(|ddl| ddl.add_column(t, column, false));
    fails(add(NewColumn::new("a", INT)), "42701: column \"a\" of relation \"t\" already exists");
    assert_eq!(add(NewColumn::new("b", Type::TEXT)).unwrap(), 3);
    assert_eq!(world.relation("t").table().unwrap().row_version, 2);
    let sequence = world.oid("t_i_seq");
    change("i", ColumnChange::DropIdentity).unwrap();
    assert!(world.cache.newest().relation(sequence).is_none());
    // Another representation means that rows are written anew, with all indexes.
    let before = world.relation("t").storage();
    let to_text = ColumnChange::Type {
        ty: Type::TEXT,
        modifier: Modifier::NONE,
        collation: None,
        default: None,
        rewrite: false,
    };
    let rewrites = world
        .run(|ddl| {
            ddl.change_column(t, "a", to_text)?;
            Ok(ddl.take_rewrites())
        })
        .unwrap();
    assert_eq!(rewrites[0].before.relation.storage(), before);
    let def = world.cache.newest().table(t).unwrap().clone();
    assert_ne!(def.relation.storage(), before);
    assert_eq!(def.indexes[0].index().unwrap().keys[0].ty, Type::TEXT);
    assert_eq!(def.relation.table().unwrap().keyed_by, [1]);
    check(&world.cache.newest());
    let query = text("SELECT {0} FROM t", &[(column(&def.relation, "b"), "b")]);
    world.run(|ddl| ddl.create_view(view("v", &[("b", Type::TEXT)], query))).unwrap();
    let to_int = ColumnChange::Type {
        ty: INT,
        modifier: Modifier::NONE,
        collation: None,
        default: None,
        rewrite: true,
    };
    fails(
        change("b", to_int),
        "0A000: cannot alter type of a column used by a view or rule\n\
         DETAIL: rule _RETURN on view v depends on column \"b\"",
    );
    let other = view("v", &[("b", INT)], SqlText::plain("SELECT 1"));
    let v = world.oid("v");
    fails(
        world.run(|ddl| ddl.add_column(v, NewColumn::new("z", INT), false)),
        "42809: ALTER action ADD COLUMN cannot be performed on relation \"v\"\n\
         DETAIL: This operation is not supported for views.",
    );
    fails(
        world.run(|ddl| ddl.drop_objects(&[Address::column(v, 1)], Behavior::Restrict)),
        "42809: ALTER action DROP COLUMN cannot be performed on relation \"v\"\n\
         DETAIL: This operation is not supported for views.",
    );
    fails(
        world.run(|ddl| ddl.replace_view(v, other)),
        "42P16: cannot change data type of view column \"b\" from text to integer",
    );
}

/// Labels of an enum find their places, and sequences their limits.
#[test]
fn enums_and_sequences() {
    let world = World::new(5);
    let labels = ["a".into(), "c".into()];
    let ty = world.run(|ddl| ddl.create_enum(PUBLIC, "e", &labels)).unwrap().ty;
    let add = |label: &str, place| world.run(|ddl| ddl.add_label(ty, &label.into(), &place));
    add("b", LabelPlace::Before("c".into())).unwrap();
    add("z", LabelPlace::Last).unwrap();
    add("0", LabelPlace::Before("a".into())).unwrap();
    add("bb", LabelPlace::After("b".into())).unwrap();
    let label = |ty| {
        let user = world.cache.newest().user_type(ty).unwrap().clone();
        let crate::catalog::UserTypeKind::Enum(of) = &user.kind else { panic!("an enum") };
        of.labels.iter().map(|(_, _, label)| label.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(label(ty), "0 a b bb c z");
    fails(add("a", LabelPlace::Last), "42710: enum label \"a\" already exists");
    fails(
        add("y", LabelPlace::After("nope".into())),
        "22023: \"nope\" is not an existing enum label",
    );
    world.run(|ddl| ddl.rename_label(ty, "bb", &"B".into())).unwrap();
    assert_eq!(label(ty), "0 a b B c z");
    let make = |name: &str, options: SequenceOptions| {
        world.run(|ddl| ddl.create_sequence(PUBLIC, name, Persistence::Permanent, &options))
    };
    let options = SequenceOptions::default;
    let s = make("down", SequenceOptions { increment: Some(-2), ..options() }).unwrap();
    let s = s.sequence().unwrap().clone();
    assert_eq!((s.min, s.max, s.start), (i64::MIN, -1, -1));
    let small =
        SequenceOptions { data_type: Some(Type::INT2), max: Some(Some(40_000)), ..options() };
    fails(
        make("bad", small),
        "22023: MAXVALUE (40000) is out of range for sequence data type smallint",
    );
    fails(
        make("bad", SequenceOptions { increment: Some(0), ..options() }),
        "22023: INCREMENT must not be zero",
    );
    let crossed = SequenceOptions { min: Some(Some(5)), max: Some(Some(5)), ..options() };
    fails(make("bad", crossed), "22023: MINVALUE (5) must be less than MAXVALUE (5)");
    let early = SequenceOptions { start: Some(0), ..options() };
    fails(make("bad", early), "22023: START value (0) cannot be less than MINVALUE (1)");
    let grown = make("up", SequenceOptions { data_type: Some(Type::INT2), ..options() }).unwrap();
    let change = SequenceOptions { data_type: Some(Type::INT4), ..options() };
    let grown = world.run(|ddl| ddl.alter_sequence(grown.oid, &change)).unwrap();
    assert_eq!(grown.sequence().unwrap().max, i64::from(i32::MAX));
    check(&world.cache.newest());
}

/// Tables are emptied together with those that refer to them.
#[test]
fn truncating() {
    let world = World::new(6);
    let columns = [("id", INT)];
    let p = world.run(|ddl| ddl.create_table(table("p", &columns, vec![key(&["id"], true)])));
    let p = p.unwrap();
    let keys = vec![foreign(&["x"], p.oid, &[]), key(&["x"], false)];
    let f = world.run(|ddl| ddl.create_table(table("f", &[("x", INT)], keys))).unwrap();
    fails(
        world.run(|ddl| ddl.truncate(&[p.oid], false)),
        "0A000: cannot truncate a table referenced in a foreign key constraint\n\
         DETAIL: Table \"f\" references \"p\".\n\
         HINT: Truncate table \"f\" at the same time, or use TRUNCATE ... CASCADE.",
    );
    let all = world.run(|ddl| Ok(ddl.truncate_cascade(&[p.oid]))).unwrap();
    assert_eq!(all, [p.oid, f.oid]);
    let index = world.relation("f_x_key").storage();
    world.store_something("p");
    world.run(|ddl| ddl.truncate(&all, true)).unwrap();
    assert_ne!(world.relation("p").storage(), p.storage());
    assert_ne!(world.relation("f").storage(), f.storage());
    assert_ne!(world.relation("f_x_key").storage(), index);
    let past = world.cache.tables().past_of(p.oid);
    assert_eq!(past.iter().map(|past| Some(past.table)).collect::<Vec<_>>(), [p.storage()]);
    check(&world.cache.newest());
    let world = world.reopen();
    assert_eq!(world.cache.tables().past_of(p.oid), past, "it is known after a restart");
    assert_eq!(world.cache.tables().past_of(f.oid), [], "nothing was ever stored there");
}

/// Roles that are not superusers: what they may do, and what is said where they may not.
#[test]
fn permissions() {
    let world = World::new(7);
    let role =
        |name: &str| world.run(|ddl| ddl.create_role(name, &RoleChange::default())).unwrap().oid;
    let (bob, carol) = (role("bob"), role("carol"));
    let t = world.run(|ddl| ddl.create_table(table("t", &[("a", INT)], vec![]))).unwrap().oid;
    let as_role = |role, f: &dyn Fn(&mut crate::catalog::ddl::Ddl<'_>) -> crate::Result<()>| {
        let mut session = world.begin();
        let acting = Acting { role, ..acting() };
        f(&mut session.draft.ddl(&mut session.txn, acting))?;
        world.commit(session);
        Ok(())
    };
    let make = |name: &'static str| {
        move |ddl: &mut crate::catalog::ddl::Ddl<'_>| {
            ddl.create_table(table(name, &[("a", INT)], vec![])).map(drop)
        }
    };
    fails(as_role(bob, &make("x")), "42501: permission denied for schema public");
    let object = Address::relation(t);
    let drop_it = |ddl: &mut crate::catalog::ddl::Ddl<'_>| {
        ddl.drop_objects(&[object], Behavior::Restrict).map(drop)
    };
    fails(as_role(bob, &drop_it), "42501: must be owner of table t");
    let schema = Address::of(Class::Schema, PUBLIC);
    let grant = |privileges, grantees: &[Oid], grant_option| Grant {
        privileges,
        grantees: grantees.to_vec(),
        grant_option,
    };
    world.run(|ddl| ddl.grant(schema, &grant(Privileges::CREATE, &[bob], false))).unwrap();
    as_role(bob, &make("mine")).unwrap();
    let select = |role| {
        let catalog = world.cache.newest();
        !catalog.privileges_on(role, object, Privileges::SELECT, POSTGRES_DATABASE).is_empty()
    };
    assert!(!select(bob) && !select(carol));
    world.run(|ddl| ddl.grant(object, &grant(Privileges::SELECT, &[bob], true))).unwrap();
    as_role(bob, &|ddl| ddl.grant(object, &grant(Privileges::SELECT, &[carol], false)).map(drop))
        .unwrap();
    assert!(select(bob) && select(carol));
    let taken = grant(Privileges::SELECT, &[bob], false);
    fails(
        world.run(|ddl| ddl.revoke(object, &taken, Behavior::Restrict)),
        "2BP01: dependent privileges exist\nHINT: Use CASCADE to revoke them too.",
    );
    fails(
        world.run(|ddl| ddl.drop_roles(&[bob])),
        "2BP01: role \"bob\" cannot be dropped because some objects depend on it\n\
         DETAIL: privileges for schema public\n\
         privileges for table t\n\
         owner of table mine",
    );
    world.run(|ddl| ddl.revoke(object, &taken, Behavior::Cascade)).unwrap();
    assert!(!select(bob) && !select(carol));
    // The members of a group have its privileges.
    let group = role("staff");
    world.run(|ddl| ddl.grant(object, &grant(Privileges::SELECT, &[group], false))).unwrap();
    world.run(|ddl| ddl.grant_role(group, carol, Default::default())).unwrap();
    assert!(select(carol) && !select(bob));
    fails(
        world.run(|ddl| ddl.grant_role(carol, group, Default::default())),
        "0LP01: role \"carol\" is a member of role \"staff\"",
    );
    world.run(|ddl| ddl.revoke_role(group, carol, None, Behavior::Restrict)).unwrap();
    assert!(!select(carol));
    fails(
        world.run(|ddl| ddl.create_role("pg_x", &RoleChange::default())),
        "42939: role name \"pg_x\" is reserved\n\
         DETAIL: Role names starting with \"pg_\" are reserved.",
    );
    fails(
        world.run(|ddl| ddl.drop_roles(&[POSTGRES_ROLE])),
        "55006: current user cannot be dropped",
    );
    fails(
        world.run(|ddl| ddl.grant(object, &grant(Privileges::USAGE, &[bob], false))),
        "0LP01: invalid privilege type USAGE for table",
    );
    fails(
        world.run(|ddl| ddl.create_schema("pg_x", POSTGRES_ROLE)),
        "42939: unacceptable schema name \"pg_x\"\n\
         DETAIL: The prefix \"pg_\" is reserved for system schemas.",
    );
    let catalog = world.cache.newest();
    assert!(catalog.has_privileges_of(POSTGRES_ROLE, DATABASE_OWNER_ROLE, POSTGRES_DATABASE));
    assert!(!catalog.has_privileges_of(bob, DATABASE_OWNER_ROLE, POSTGRES_DATABASE));
    check(&catalog);
}

/// A database has a schema of its own, and goes with it; comments go with what they are about.
#[test]
fn databases_and_comments() {
    let world = World::new(8);
    let made = |name: &str| {
        world.run(|ddl| ddl.create_database(name, POSTGRES_ROLE, None, Default::default()))
    };
    let shop = made("shop").unwrap().oid;
    fails(made("shop"), "42P04: database \"shop\" already exists");
    fails(
        world.run(|ddl| ddl.drop_database(POSTGRES_DATABASE)),
        "55006: cannot drop the currently open database",
    );
    let public = world.cache.newest().schema_named(shop, "public").unwrap().oid;
    assert_ne!(public, PUBLIC);
    let mut session = world.begin();
    let path = [public];
    let there = Acting { database: shop, path: &path, ..acting() };
    let mut new = table("t", &[("a", INT)], vec![]);
    new.schema = public;
    let t = session.draft.ddl(&mut session.txn, there).create_table(new).unwrap();
    let object = Address::column(t.oid, 1);
    session.draft.ddl(&mut session.txn, there).comment(object, Some("hello")).unwrap();
    world.commit(session);
    assert!(world.cache.newest().comment(object).is_some());
    world.run(|ddl| ddl.drop_database(shop)).unwrap();
    let catalog = world.cache.newest();
    check(&catalog);
    assert!(catalog.comment(object).is_none() && catalog.relation(t.oid).is_none());
    assert_eq!(catalog.databases().count(), 3);
}

/// The catalog tells changes of relations from changes that may matter to a session that has looked
/// up other relations only.
#[test]
fn what_matters_beyond_relations() {
    let world = World::new(11);
    let mut wide = world.cache.newest().changed_widely();
    let mut moves = || {
        let before = std::mem::replace(&mut wide, world.cache.newest().changed_widely());
        before != wide
    };
    let one = [("a", INT)];
    let make = |new| world.run(|ddl| ddl.create_table(new)).unwrap();
    let t = make(table("t", &one, vec![key(&["a"], true)]));
    assert!(!moves(), "a table is a relation, as are its index and its key");
    world
        .run(|ddl| ddl.drop_objects(&[Address::of(Class::Relation, t.oid)], Behavior::Restrict))
        .unwrap();
    assert!(!moves(), "and so it is when it goes");
    make(table("int4", &one, vec![]));
    assert!(moves(), "its rows have the name of a type");
    world.run(|ddl| ddl.create_enum(PUBLIC, "mood", &["a".into()])).unwrap();
    assert!(moves(), "a type");
    let s = world.run(|ddl| ddl.create_schema("s", POSTGRES_ROLE)).unwrap();
    assert!(moves(), "a schema");
    let mut hidden = table("mood", &one, vec![]);
    hidden.schema = s.oid;
    make(hidden);
    assert!(moves(), "a type of another schema has the name");
}
