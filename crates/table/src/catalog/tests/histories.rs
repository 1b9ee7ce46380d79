//! Random histories: statements in transactions with savepoints and rollbacks, reopenings between them,
//! against a model of plain maps; and every past catalog, against what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use store::Csn;
use types::{Oid, Type};

use super::drops::{foreign, key, view};
use super::world::{Session, SimRandom, World, check, column, dump, seed, table, text};
use crate::Catalog;
use crate::catalog::ddl::{Behavior, ColumnChange, NewColumn, NewIndex, NewIndexKey};
use crate::catalog::{Address, Class, IndexMethod, POSTGRES_ROLE, PUBLIC, RelationKind};

/// The model of a schema: by kind and name of a relation, the names of its columns.
type Model = BTreeMap<String, BTreeSet<String>>;

/// The model, as a catalog has it.
fn model_of(catalog: &Catalog) -> Model {
    let of_schema = catalog.relations().filter(|relation| relation.schema == PUBLIC);
    of_schema
        .filter(|relation| relation.index().is_none())
        .map(|relation| {
            let columns = relation.live_columns().map(|column| column.name.to_string());
            (format!("{} {}", relation.kind_name(), relation.name), columns.collect())
        })
        .collect()
}

struct History<'r> {
    random: &'r SimRandom,
    /// By name: tables and views, with their columns.
    model: Model,
}

impl History<'_> {
    fn pick(&self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn name(&self) -> String {
        format!("r{}", self.pick(9))
    }

    fn any(&self, session: &Session, is: impl Fn(&RelationKind) -> bool) -> Option<Oid> {
        let catalog = session.draft.catalog();
        let mut all: Vec<Oid> = catalog
            .relations()
            .filter(|relation| relation.schema == PUBLIC && is(&relation.kind))
            .map(|relation| relation.oid)
            .collect();
        all.sort_unstable();
        (!all.is_empty()).then(|| all[self.pick(all.len() as u64) as usize])
    }

    fn table(&self, session: &Session) -> Option<Oid> {
        self.any(session, |kind| matches!(kind, RelationKind::Table(_)))
    }

    /// True if a relation or a type has the name.
    fn is_taken(&self, name: &str) -> bool {
        self.model.keys().any(|known| known.ends_with(&format!(" {name}")))
    }

    /// Does something, and what it means to the model.
    fn step(&mut self, session: &mut Session, what: &str) {
        match self.pick(10) {
            0..3 => self.create_table(session, what),
            3 => self.drop_something(session),
            4 => self.create_view(session),
            5 => self.add_column(session, what),
            6 => self.rename_column(session),
            7 => self.rename_table(session, what),
            8 => self.create_index(session),
            _ => self.others(session),
        }
    }

    fn create_table(&mut self, session: &mut Session, what: &str) {
        let name = self.name();
        let mut keys = Vec::new();
        if self.pick(2) == 0 {
            keys.push(key(&["id"], true));
        }
        let target = self.any(
            session,
            |kind| matches!(kind, RelationKind::Table(table) if table.keyed_by == [1]),
        );
        let has_key = |oid: &Oid| {
            let table = session.draft.catalog().table(*oid).expect("it is a table");
            table.constraints.iter().any(|known| known.kind_letter() == 'p')
        };
        if let Some(target) = target.filter(has_key).filter(|_| self.pick(2) == 0) {
            keys.push(foreign(&["x"], target, &[]));
        }
        let new = table(&name, &[("id", Type::INT4), ("x", Type::INT4)], keys);
        let done = session.run(|ddl| ddl.create_table(new));
        assert_eq!(done.is_ok(), !self.is_taken(&name), "{what}: create {name}: {done:?}");
        if done.is_ok() {
            let columns = ["id", "x"].map(str::to_owned).into();
            self.model.insert(format!("table {name}"), columns);
        }
    }

    fn create_view(&mut self, session: &mut Session) {
        let Some(table) = self.table(session) else { return };
        let relation = session.draft.catalog().relation(table).expect("it is there").clone();
        let Some(first) = relation.live_columns().next().map(|column| column.name.to_string())
        else {
            return;
        };
        let name = self.name();
        let names = [(column(&relation, &first), &*first), (Address::relation(table), "t")];
        let query = text("SELECT {0} FROM {1}", &names);
        let new = view(&name, &[("c", Type::INT4)], query);
        let done = session.run(|ddl| ddl.create_view(new));
        assert_eq!(done.is_ok(), !self.is_taken(&name));
        if done.is_ok() {
            self.model.insert(format!("view {name}"), ["c".to_owned()].into());
        }
    }

    /// Drops a table or view. The test finds the objects that go with it by asking for all
    /// dependents, again and again.
    fn drop_something(&mut self, session: &mut Session) {
        let any = self
            .any(session, |kind| matches!(kind, RelationKind::Table(_) | RelationKind::View(_)));
        let Some(oid) = any else { return };
        let catalog = session.draft.catalog().clone();
        let views_on = |on: Oid| -> Vec<Oid> {
            let is_on = |relation: &&Arc<crate::catalog::Relation>| {
                let view = relation.view();
                view.is_some_and(|view| view.query.references().any(|object| object.oid == on))
            };
            catalog.relations().filter(is_on).map(|relation| relation.oid).collect()
        };
        let mut gone = vec![oid];
        let mut at = 0;
        while let Some(on) = gone.get(at).copied() {
            at += 1;
            for view in views_on(on) {
                if !gone.contains(&view) {
                    gone.push(view);
                }
            }
        }
        let keys = catalog.table(oid).map_or(0, |table| {
            table.referenced_by.iter().filter(|known| known.table() != Some(oid)).count()
        });
        let is_alone = gone.len() == 1 && keys == 0;
        let behavior = if self.pick(2) == 0 { Behavior::Cascade } else { Behavior::Restrict };
        let done = session.run(|ddl| ddl.drop_objects(&[Address::relation(oid)], behavior));
        assert_eq!(done.is_ok(), is_alone || behavior == Behavior::Cascade, "{done:?}");
        if done.is_ok() {
            for oid in gone {
                let relation = catalog.relation(oid).expect("it was there");
                let known = format!("{} {}", relation.kind_name(), relation.name);
                assert!(self.model.remove(&known).is_some());
            }
        }
    }

    fn add_column(&mut self, session: &mut Session, what: &str) {
        let Some(table) = self.table(session) else { return };
        let name = format!("c{}", self.pick(4));
        let relation = session.draft.catalog().relation(table).expect("it is there").clone();
        let columns = self.model.get_mut(&format!("table {}", relation.name)).expect("known");
        let done =
            session.run(|ddl| ddl.add_column(table, NewColumn::new(&name, Type::TEXT), false));
        assert_eq!(done.is_ok(), columns.insert(name), "{what}");
    }

    fn rename_column(&mut self, session: &mut Session) {
        let Some(table) = self.table(session) else { return };
        let relation = session.draft.catalog().relation(table).expect("it is there").clone();
        let live: Vec<_> = relation.live_columns().collect();
        if live.is_empty() {
            return;
        }
        let old = live[self.pick(live.len() as u64) as usize];
        let name = format!("c{}", self.pick(4));
        let object = Address::column(table, old.attnum);
        let done = session.run(|ddl| ddl.rename(object, &name));
        let columns = self.model.get_mut(&format!("table {}", relation.name)).expect("known");
        assert_eq!(done.is_ok(), !columns.contains(&name));
        if done.is_ok() {
            columns.remove(&*old.name);
            columns.insert(name);
        }
    }

    fn rename_table(&mut self, session: &mut Session, what: &str) {
        let Some(table) = self.table(session) else { return };
        let name = self.name();
        let old = session.draft.catalog().relation(table).expect("it is there").name.clone();
        let done = session.run(|ddl| ddl.rename(Address::relation(table), &name));
        assert_eq!(done.is_ok(), !self.is_taken(&name), "{what}: {old} to {name}: {done:?}");
        if done.is_ok() {
            let columns = self.model.remove(&format!("table {old}")).expect("known");
            self.model.insert(format!("table {name}"), columns);
        }
    }

    fn create_index(&mut self, session: &mut Session) {
        let Some(table) = self.table(session) else { return };
        let relation = session.draft.catalog().relation(table).expect("it is there").clone();
        let Some(first) = relation.live_columns().next_back() else { return };
        let index = NewIndex {
            name: None,
            method: IndexMethod::Btree,
            keys: vec![NewIndexKey::column(first.attnum)],
            include: Vec::new(),
            predicate: None,
            is_unique: self.pick(2) == 0,
            nulls_distinct: true,
            is_valid: true,
            options: Vec::new(),
            excludes: Vec::new(),
            partition_of: None,
        };
        session.run(|ddl| ddl.create_index(table, index)).expect("any column will do");
    }

    /// Makes a change that the model does not know of, or drops a column.
    fn others(&mut self, session: &mut Session) {
        let Some(table) = self.table(session) else { return };
        let relation = session.draft.catalog().relation(table).expect("it is there").clone();
        let Some(last) = relation.live_columns().next_back().cloned() else { return };
        match self.pick(6) {
            0 => {
                let all = session.run(|ddl| Ok(ddl.truncate_cascade(&[table]))).expect("no error");
                session.run(|ddl| ddl.truncate(&all, true)).expect("all are among them");
            }
            1 => {
                let object = Address::column(table, last.attnum);
                session.run(|ddl| ddl.comment(object, Some("about it"))).expect("it is there");
            }
            2 => {
                let not_null = ColumnChange::NotNull(true);
                let done = session.run(|ddl| ddl.change_column(table, &last.name, not_null));
                done.expect("any column may be");
            }
            3 => {
                let history = store::Retention::Since(1_000_000 * self.pick(100));
                session.run(|ddl| ddl.set_history(table, history)).expect("it is a table");
            }
            4 => {
                let role =
                    session.run(|ddl| ddl.set_owner(Address::relation(table), POSTGRES_ROLE));
                role.expect("the owner may stay");
                let name = format!("s{}", self.pick(3));
                let made = session.run(|ddl| ddl.create_schema(&name, POSTGRES_ROLE));
                if let Err(error) = made {
                    assert_eq!(error.sqlstate().code(), "42P06");
                    let schema = session
                        .draft
                        .catalog()
                        .schema_named(crate::catalog::POSTGRES_DATABASE, &name)
                        .expect("it is there")
                        .oid;
                    let object = Address::of(Class::Schema, schema);
                    let done = session.run(|ddl| ddl.drop_objects(&[object], Behavior::Restrict));
                    done.expect("it is empty");
                }
            }
            _ => {
                let object = Address::column(table, last.attnum);
                let catalog = session.draft.catalog().clone();
                let done = session.run(|ddl| ddl.drop_objects(&[object], Behavior::Cascade));
                done.expect("all that depends goes with it");
                let known = format!("table {}", relation.name);
                self.model.get_mut(&known).expect("known").remove(&*last.name);
                // Views over the column are gone, and whatever is over them.
                let now = session.draft.catalog();
                for view in catalog.relations().filter(|relation| relation.view().is_some()) {
                    let reads = view.view().expect("it is one").query.references();
                    let reads_it = reads.into_iter().any(|read| read == object);
                    assert_eq!(now.relation(view.oid).is_none(), reads_it);
                    if reads_it {
                        self.model.remove(&format!("view {}", view.name)).expect("known");
                    }
                }
            }
        }
    }
}

/// Some hundred transactions: the catalog agrees with the model after each statement, and with itself.
/// Reopening changes neither the newest catalog nor one of the past. A commit publishes the catalog that
/// its transaction saw, here and in a database that follows.
#[test]
fn random_histories_agree_with_a_model() {
    let seed = seed(31);
    let random = SimRandom::new(seed);
    let rounds = if std::env::var_os("ANYWHEN_TIMES").is_some() { 5_000 } else { 250 };
    let mut world = World::new(seed);
    let mut follower = world.follower(seed + 1);
    let mut history = History { random: &random, model: Model::new() };
    let mut past: Vec<(Csn, BTreeMap<String, String>)> = Vec::new();
    for round in 0..rounds {
        let what = format!("seed {seed}, round {round}");
        let before = history.model.clone();
        let mut session = world.begin();
        let mut saved = Vec::new();
        for _ in 0..random.below(8) {
            match random.below(8) {
                0 => saved.push((
                    session.txn.savepoint(),
                    session.draft.savepoint(),
                    history.model.clone(),
                )),
                1 if !saved.is_empty() => {
                    saved.truncate(1 + random.below(saved.len() as u64) as usize);
                    let (mark, draft, model) = saved.last().expect("one is left");
                    session.txn.rollback_to(*mark);
                    session.draft.rollback_to(draft);
                    history.model.clone_from(model);
                }
                _ => history.step(&mut session, &what),
            }
            check(session.draft.catalog());
            assert_eq!(model_of(session.draft.catalog()), history.model, "{what}");
        }
        if random.below(5) == 0 {
            drop(session);
            history.model = before;
        } else {
            let drafted = dump(session.draft.catalog());
            world.commit(session);
            assert_eq!(dump(&world.cache.newest()), drafted, "{what}: published");
        }
        let catalog = world.cache.newest();
        follower.follow(&world);
        let followed = follower.cache.newest();
        check(&followed);
        assert_eq!(dump(&followed), dump(&catalog), "{what}: followed");
        assert_eq!(followed.version(), catalog.version(), "{what}: followed");
        assert_eq!(model_of(&catalog), history.model, "{what}");
        if past.last().is_none_or(|(csn, _)| *csn < catalog.version()) {
            past.push((catalog.version(), dump(&catalog)));
        }
        drop(catalog);
        if random.below(12) == 0 {
            world = world.reopen();
        }
        if random.below(20) == 0 {
            world.engine.checkpoint().expect("the disk is sound");
        }
        let (csn, expected) = &past[random.below(past.len() as u64) as usize];
        let snapshot = world.engine.snapshot_at(*csn).expect("it was committed");
        let catalog = world.cache.at(&snapshot).expect("its records decode");
        assert_eq!(&dump(&catalog), expected, "{what}: as of {}", csn.0);
    }
}
