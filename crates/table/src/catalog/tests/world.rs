//! The tools that the tests share: a database on a simulated disk, statements in short, and the
//! rules for every catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use log::{LogOptions, Lsn};
use store::StoreOptions;
use txn::{CommitMeta, Engine, EngineOptions, Isolation, Transaction};
use types::{Oid, Type};
use vfs::{Env, SimVfs};

use crate::catalog::ddl::{Acting, Behavior, Ddl, NewColumn, NewConstraint, NewTable};
use crate::catalog::{
    Address, Catalog, Class, Entry, NamePlace, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC,
    Persistence, Relation, SqlText,
};
use crate::method::{Methods, NewMethod};
use crate::{CatalogCache, Draft, Error, Result, Tables};

pub use vfs::{SimRandom, seed};

/// Where names are looked for.
pub const PATH: [Oid; 1] = [PUBLIC];

/// The superuser, in the database `postgres`.
pub fn acting() -> Acting<'static> {
    Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &PATH }
}

/// A database that can be closed and opened again.
pub struct World {
    env: Env,
    pub engine: Arc<Engine>,
    pub cache: Arc<CatalogCache>,
}

impl World {
    pub fn new(seed: u64) -> World {
        World::on(&SimVfs::unrecorded(), seed)
    }

    /// The database on a disk.
    pub fn on(disk: &SimVfs, seed: u64) -> World {
        World::open(Env::sim(disk, seed))
    }

    fn open(env: Env) -> World {
        let (engine, tables) = World::engine(&env, false);
        let cache = CatalogCache::open(&engine, tables, Methods::with([]), "postgres")
            .expect("it has a catalog");
        cache.begin(&engine).expect("it is written");
        World { env, engine, cache }
    }

    /// A database that follows this one.
    pub fn follower(&self, seed: u64) -> Follower {
        let env = Env::sim(&SimVfs::unrecorded(), seed);
        let (engine, tables) = World::engine(&env, true);
        let at = follow(&engine, self, Lsn::START);
        let cache = CatalogCache::open(&engine, tables, Methods::with([]), "postgres")
            .expect("it has a catalog");
        Follower { engine, cache, at }
    }

    fn engine(env: &Env, follower: bool) -> (Arc<Engine>, Tables) {
        let mut options = EngineOptions::default();
        options.follower = follower;
        options.store = StoreOptions { background: false, ..StoreOptions::default() };
        options.log = LogOptions {
            segment_bytes: 64 << 10,
            first_bytes: 16 << 10,
            first_count: 2,
            background: false,
        };
        let tables = Tables::new();
        let resolver = tables.resolver();
        let engine = Engine::open(env, Path::new("/db"), options, resolver).expect("it opens");
        (engine, tables)
    }

    pub fn reopen(self) -> World {
        let World { env, engine, cache } = self;
        drop(cache);
        engine.close().expect("nothing holds it open");
        World::open(env)
    }

    pub fn begin(&self) -> Session {
        Session { txn: self.engine.begin(Isolation::ReadCommitted), draft: Draft::new(&self.cache) }
    }

    /// Commits a transaction of this database.
    pub fn commit(&self, session: Session) {
        let Session { mut txn, draft } = session;
        draft.publish(&mut txn).expect("nobody is in the way");
        txn.commit(CommitMeta::default()).expect("nobody is in the way");
        self.cache.tables().settle(self.engine.store());
    }

    /// One statement in a transaction of its own.
    pub fn run<T>(&self, f: impl FnOnce(&mut Ddl<'_>) -> Result<T>) -> Result<T> {
        let mut session = self.begin();
        let done = session.run(f)?;
        self.commit(session);
        Ok(done)
    }

    /// Writes something to the store's table of a relation.
    pub fn store_something(&self, name: &str) {
        let table = self.relation(name).storage().expect("it has a table");
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        txn.put(table, b"key", b"value".to_vec()).expect("nobody is in the way");
        txn.commit(CommitMeta::default()).expect("nobody is in the way");
    }

    /// The relation with this name in `public`.
    pub fn relation(&self, name: &str) -> Arc<Relation> {
        let catalog = self.cache.newest();
        catalog.relation_named(PUBLIC, name).unwrap_or_else(|| panic!("there is {name}")).clone()
    }

    pub fn oid(&self, name: &str) -> Oid {
        self.relation(name).oid
    }

    /// Drops a relation of `public`.
    pub fn drop_relation(&self, name: &str, behavior: Behavior) -> Result<Option<String>> {
        let object = Address::relation(self.oid(name));
        self.run(|ddl| ddl.drop_objects(&[object], behavior)).map(|notice| {
            notice.map(|notice| match notice.detail {
                Some(detail) => format!("{}\n{detail}", notice.message),
                None => notice.message,
            })
        })
    }
}

/// A database that follows another one.
pub struct Follower {
    pub engine: Arc<Engine>,
    pub cache: Arc<CatalogCache>,
    /// How far in the log of the leader.
    at: Lsn,
}

impl Follower {
    /// Takes in what the leader has committed.
    pub fn follow(&mut self, leader: &World) {
        self.at = follow(&self.engine, leader, self.at);
    }

    /// Writes all to files, and merges them.
    pub fn write_out(&self) {
        self.engine.checkpoint().expect("it is written");
        self.engine.store().compact().expect("it is merged");
    }
}

/// Applies the records of the leader's log from a position on to `engine`; returns where they end.
fn follow(engine: &Engine, leader: &World, from: Lsn) -> Lsn {
    let frames = leader.engine.records(from).expect("the log is there");
    let frames: Vec<_> = frames.map(|frame| frame.expect("the log is sound")).collect();
    let records: Vec<_> = frames.iter().map(|(_, record)| record).collect();
    engine.apply(&records).expect("it follows");
    frames.last().map_or(from, |(end, _)| *end)
}

/// A transaction with its draft.
pub struct Session {
    pub txn: Transaction,
    pub draft: Draft,
}

impl Session {
    pub fn run<T>(&mut self, f: impl FnOnce(&mut Ddl<'_>) -> Result<T>) -> Result<T> {
        self.txn.statement();
        f(&mut self.draft.ddl(&mut self.txn, acting()))
    }
}

/// A table of `public`.
pub fn table(name: &str, columns: &[(&str, Type)], constraints: Vec<NewConstraint>) -> NewTable {
    NewTable {
        schema: PUBLIC,
        name: name.into(),
        persistence: Persistence::Permanent,
        columns: columns.iter().map(|(name, ty)| NewColumn::new(name, *ty)).collect(),
        constraints,
        options: Vec::new(),
        history: store::Retention::Forever,
        method: NewMethod::default(),
        partitioning: None,
        partition_of: None,
    }
}

/// A text in which `{0}`, `{1}` ... stand for the names of objects.
pub fn text(template: &str, names: &[(Address, &str)]) -> SqlText {
    let mut made = SqlText::default();
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (number, after) = after.split_once('}').expect("a brace that ends");
        let (object, name) = names[number.parse::<usize>().expect("a number")];
        out.push_str(before);
        let (at, len) = (out.len() as u32, name.len() as u32);
        made.names.push(NamePlace { at, len, object });
        out.push_str(name);
        rest = after;
    }
    out.push_str(rest);
    made.text = out.into();
    made
}

/// An error as psql shows it, without its place.
pub fn shown(error: &Error) -> String {
    let Error::Sql(error) = error else { return format!("{error:?}") };
    let mut text = format!("{}: {}", error.state(), error.message());
    if let Some(detail) = error.detail() {
        text.push_str(&format!("\nDETAIL: {detail}"));
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nHINT: {hint}"));
    }
    text
}

/// The statement fails with this error.
#[track_caller]
pub fn fails<T>(done: Result<T>, expected: &str) {
    match done {
        Ok(_) => panic!("it succeeds, where this was expected: {expected}"),
        Err(error) => assert_eq!(shown(&error), expected),
    }
}

/// All entries of a catalog, in their order, in words.
pub fn dump(catalog: &Catalog) -> BTreeMap<String, String> {
    catalog.entries().map(|entry| (format!("{:?}", entry.key()), format!("{entry:?}"))).collect()
}

/// Checks the rules for every catalog: each object that is referred to exists, each object that is
/// found by name or as a part is found by number, and all of it follows from the entries.
#[track_caller]
pub fn check(catalog: &Catalog) {
    let mut anew = Catalog::default();
    let mut entries: Vec<Entry> = catalog.entries().collect();
    entries.sort_by_key(|entry| match entry {
        Entry::Relation(relation) => (relation.index().is_some() as u8, entry.key()),
        _ => (2, entry.key()),
    });
    for entry in &entries {
        anew.put(entry.clone());
        crate::catalog::depend::references(entry, &mut |reference| {
            assert!(
                catalog.exists(reference.to),
                "{:?} refers to {:?}, which is gone",
                reference.from,
                reference.to
            );
            assert!(catalog.exists(reference.from), "{:?} is not there", reference.from);
        });
        if let Entry::Comment(comment) = entry {
            assert!(catalog.exists(comment.object), "a comment on what is gone");
        }
    }
    for relation in catalog.relations() {
        let found = catalog.relation_named(relation.schema, &relation.name);
        assert_eq!(found.map(|found| found.oid), Some(relation.oid), "{}", relation.name);
        assert!(catalog.schema(relation.schema).is_some(), "{} is in no schema", relation.name);
        let (mine, other) = (catalog.table(relation.oid), anew.table(relation.oid));
        assert_eq!(mine.is_some(), relation.table().is_some());
        if let (Some(mine), Some(other)) = (mine, other) {
            assert_eq!(mine.relation, other.relation);
            assert_eq!(mine.indexes, other.indexes);
            assert_eq!(mine.constraints, other.constraints);
            assert_eq!(mine.referenced_by, other.referenced_by);
        }
        for index in catalog.table(relation.oid).into_iter().flat_map(|table| &table.indexes) {
            let index = index.index().expect("indexes are indexes");
            assert_eq!(index.table, relation.oid);
            assert!(index.storage.is_some() || index.is_primary);
            if let Some(constraint) = index.constraint {
                assert!(catalog.constraint(constraint).is_some(), "an index of no constraint");
            }
        }
    }
    for role in catalog.roles() {
        let named = catalog.role_named(&role.name);
        assert_eq!(named, Some(role), "{}", role.name);
        assert_eq!(catalog.memberships_of(role.oid), anew.memberships_of(role.oid));
    }
    for database in catalog.databases() {
        assert_eq!(catalog.database_named(&database.name), Some(database), "{}", database.name);
    }
    for membership in catalog.memberships() {
        assert!(catalog.memberships_of(membership.member).contains(membership));
    }
    for (ty, entry) in catalog.types() {
        assert_eq!(catalog.type_named(entry.schema(), entry.name()), Some(ty));
        let array = entry.array().map(|array| catalog.type_entry(array).is_some());
        assert_ne!(array, Some(false), "{} has no array type", entry.name());
    }
    assert_eq!(catalog.types().count(), anew.types().count());
    let sorted = |catalog: &Catalog| {
        let mut all: Vec<String> = catalog.references().map(|r| format!("{r:?}")).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(catalog), sorted(&anew));
}

/// The column of a relation, by name.
pub fn column(relation: &Relation, name: &str) -> Address {
    let column = relation.column_named(name).expect("the column is there");
    Address::column(relation.oid, column.attnum)
}

/// A type as an object.
pub fn type_address(ty: Type) -> Address {
    Address::of(Class::Type, ty.oid())
}
