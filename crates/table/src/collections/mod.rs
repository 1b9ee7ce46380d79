//! Collections: the tables `USING document` as programs and clients of HTTP know them, by name.
//!
//! ```text
//!   db.collection("articles")      the table "articles" in the schema public of the database postgres
//!   db.collection("s.articles")    that of the schema s, unless public has a table of that very name
//! ```
//!
//! A collection that a program makes is a table with two columns: `key text PRIMARY KEY` and
//! `doc jsonb NOT NULL`. It belongs to the role that it was made for, or else to [`COLLECTIONS_ROLE`].
//!
//! # Invariants
//! * A collection is found as the newest catalog has it, or the catalog of the commit that was asked for.
//! * The documents that a table has given up (it was dropped or emptied) are read before the commit
//!   that gave them up.

mod earlier;

use std::sync::Arc;

use document::{Collection, CollectionOptions, Documents, Retention};
use store::{Csn, TableId};
use txn::{CommitMeta, Engine, Isolation, RowLock, Transaction};
use types::{Oid, SqlState, Type};

use crate::catalog::ddl::{
    Acting, Behavior, Ddl, NewColumn, NewConstraint, NewConstraintKind, NewTable,
};
use crate::catalog::{
    Address, Catalog, CatalogCache, Change, Class, Entry, Key, POSTGRES_DATABASE, POSTGRES_ROLE,
    PUBLIC, Persistence, Relation, Role, RoleFlags, Schema,
};
use crate::documents::{Document, DocumentData, DocumentRows, RowDocuments, new_method};
use crate::method::{AccessMethod, Methods};
use crate::rows::Handles;
use crate::stored::KeptHistory;
use crate::{Draft, Error, PastStorage, Result, Tables};

/// The role that owns collections which were made without a role: `pg_collections`. It is there
/// once there is such a collection.
pub const COLLECTIONS_ROLE: Oid = Oid(16_382);
/// Its name.
const COLLECTIONS_ROLE_NAME: &str = "pg_collections";

/// The longest name that a new collection can have, in bytes.
pub const NAME_BYTES_MAX: usize = 63;

/// The tables of a database, and those of them that are collections.
pub struct Collections {
    documents: Arc<Documents>,
    engine: Arc<Engine>,
    catalogs: Arc<CatalogCache>,
    handles: Arc<Handles>,
}

/// Documents that a table has given up: [`Collections::given_up`].
pub struct GivenUp {
    /// The collection's name: the one it has now, or had at last.
    pub name: String,
    /// The documents, to be read before the commit that gave them up ([`Collection::dropped`]).
    pub collection: Collection,
    /// True if that commit dropped the table, or made an ordinary one of it; it truncated it, or keyed it
    /// anew, where it did not.
    pub is_dropped: bool,
    relation: Oid,
    past: PastStorage,
}

/// True for tables of documents that all sessions see.
fn is_collection(relation: &Relation) -> bool {
    relation.persistence != Persistence::Temporary && storage_of(relation).is_some()
}

/// The table of the store in which the documents of a relation lie; `None` if it has none.
fn storage_of(relation: &Relation) -> Option<TableId> {
    DocumentData::of(relation).map(|documents| documents.storage)
}

/// The name of a table in a schema as a collection; `None` in another database than the first.
fn name_in(schema: &Schema, relation: &Relation) -> Option<String> {
    (schema.database == POSTGRES_DATABASE).then(|| match &*schema.name {
        "public" => relation.name.to_string(),
        schema => format!("{schema}.{}", relation.name),
    })
}

/// The table that is called so.
fn relation_named<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Arc<Relation>> {
    let find = |schema: &str, name: &str| {
        let schema = catalog.schema_named(POSTGRES_DATABASE, schema)?;
        catalog.relation_named(schema.oid, name).filter(|relation| is_collection(relation))
    };
    let in_schema = || name.split_once('.').and_then(|(schema, name)| find(schema, name));
    find("public", name).or_else(in_schema)
}

impl Collections {
    /// Reads the catalog of the engine below `documents`, which knows its tables by `tables`. The collections
    /// of an earlier release become tables.
    ///
    /// # Errors
    /// Damaged where a record does not decode, or what the engine reports.
    pub fn open(documents: Arc<Documents>, tables: Tables) -> Result<Collections> {
        Collections::open_with(documents, tables, [])
    }

    /// As [`Collections::open`], of a database whose tables can have other access methods, beside `heap` and
    /// `document`.
    ///
    /// # Errors
    /// As [`Collections::open`].
    pub fn open_with(
        documents: Arc<Documents>,
        tables: Tables,
        others: impl IntoIterator<Item = Arc<dyn AccessMethod>>,
    ) -> Result<Collections> {
        let engine = Arc::clone(documents.engine());
        let method: Arc<dyn AccessMethod> =
            Arc::new(Document::new(Arc::clone(&documents), tables.clone()));
        let methods = Methods::with([method].into_iter().chain(others));
        let catalogs = CatalogCache::open(&engine, tables, methods.clone(), "postgres")?;
        let handles = Arc::new(Handles::new(Arc::clone(&engine), methods));
        catalogs.tell(&handles);
        let collections = Collections { documents, engine, catalogs, handles };
        if !collections.engine.is_follower() {
            collections.take_over()?;
        }
        Ok(collections)
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The catalogs of all commits.
    pub fn catalogs(&self) -> &Arc<CatalogCache> {
        &self.catalogs
    }

    /// The tables, as they are read and changed.
    pub fn handles(&self) -> &Arc<Handles> {
        &self.handles
    }

    // --- finding ---------------------------------------------------------------------------------

    /// The collection of that name.
    pub fn find(&self, name: &str) -> Option<Collection> {
        let catalog = self.catalogs.newest();
        let relation = relation_named(&catalog, name)?;
        self.now(&catalog, relation.oid)
    }

    /// The collection that had that name at a commit. Where its documents were given up since, they can be
    /// read before that.
    ///
    /// # Errors
    /// Fails if the catalog of the commit cannot be read.
    pub fn find_at(&self, name: &str, at: Csn) -> Result<Option<Collection>> {
        let snapshot = self.engine.snapshot_at(at)?;
        let newest = self.catalogs.newest();
        // Nearly always it is the one that has the name now; that is a look at two records.
        if let Some(now) = relation_named(&newest, name)
            && let Some((then, schema)) = self.catalogs.relation_at(&snapshot, now.oid)?
            && storage_of(&then) == storage_of(now)
            && then.name == now.name
            && newest.schema(now.schema).is_some_and(|known| known.name == schema.name)
        {
            return Ok(self.now(&newest, now.oid));
        }
        let then = self.catalogs.at(&snapshot)?;
        if let Some(relation) = relation_named(&then, name) {
            return Ok(self.then(relation));
        }
        match earlier::find(&snapshot, name)? {
            Some((storage, options)) => Ok(self.by_storage(storage, options)),
            None => Ok(None),
        }
    }

    /// The names of the collections, in no order.
    pub fn names(&self) -> Vec<String> {
        let catalog = self.catalogs.newest();
        let name = |relation: &Arc<Relation>| {
            let schema = catalog.schema(relation.schema)?;
            name_in(schema, relation)
        };
        let relations = catalog.relations().filter(|relation| is_collection(relation));
        relations.filter_map(name).collect()
    }

    /// The documents of a table, with the rows that follow them.
    fn now(&self, catalog: &Arc<Catalog>, relation: Oid) -> Option<Collection> {
        let table = self.handles.table(catalog, relation)?;
        Some(self.with_rows(relation, RowDocuments::of(&table)?.collection().clone()))
    }

    fn with_rows(&self, relation: Oid, documents: Collection) -> Collection {
        let (catalogs, handles) = (Arc::clone(&self.catalogs), Arc::clone(&self.handles));
        let rows = DocumentRows::new(catalogs, handles, relation, documents.id());
        documents.with_rows(Arc::new(rows))
    }

    /// The documents of a table as it was at some commit.
    fn then(&self, relation: &Relation) -> Option<Collection> {
        let documents = DocumentData::of(relation)?;
        let forever = KeptHistory::all(store::Retention::Forever);
        self.by_storage(documents.storage, documents.options(forever))
    }

    /// The documents in a table of the store, of a relation or of what one has given up.
    fn by_storage(&self, storage: TableId, options: CollectionOptions) -> Option<Collection> {
        let tables = self.catalogs.tables();
        let relation = tables.relation_of(storage)?;
        let found = self.documents.collection(storage, tables.documents(storage, options));
        Some(match found.dropped() {
            Some(_) => found,
            None => self.with_rows(relation, found),
        })
    }

    /// The documents that tables have given up by the commits after `after` up to `to`, in the order of
    /// these: because a table was dropped, truncated or keyed by another type.
    ///
    /// # Errors
    /// Fails if the catalog of a commit cannot be read.
    pub fn given_up(&self, after: Csn, to: Csn) -> Result<Vec<GivenUp>> {
        let mut found = Vec::new();
        for (oid, past) in self.catalogs.tables().past_between(after, to) {
            if Tables::has_documents(past.table)
                && let Some(one) = self.told_of(oid, past)?
            {
                found.push(one);
            }
        }
        Ok(found)
    }

    fn told_of(&self, oid: Oid, past: PastStorage) -> Result<Option<GivenUp>> {
        let visible = self.engine.visible();
        let before = self.engine.snapshot_at(Csn(past.ended.0 - 1).min(visible))?;
        let Some((then, schema)) = self.catalogs.relation_at(&before, oid)? else {
            // A collection that one commit made and gave up had no documents for other readers.
            let Some((name, options)) = earlier::dropped(&self.engine.snapshot(), past.table)?
            else {
                return Ok(None);
            };
            let collection = self.by_storage(past.table, options);
            return Ok(collection.map(|collection| GivenUp {
                name,
                collection,
                is_dropped: true,
                relation: oid,
                past,
            }));
        };
        if storage_of(&then) != Some(past.table) {
            return Ok(None);
        }
        let newest = self.catalogs.newest();
        let now = newest.relation(oid).filter(|relation| is_collection(relation));
        let name = match now {
            Some(now) => newest.schema(now.schema).and_then(|schema| name_in(schema, now)),
            None if is_collection(&then) => name_in(&schema, &then),
            None => None,
        };
        let after = match past.ended <= visible {
            true => self.catalogs.relation_at(&self.engine.snapshot_at(past.ended)?, oid)?,
            // The commit that gives them up is about to be seen.
            false => now.map(|now| (Arc::clone(now), schema)),
        };
        let is_dropped = !after.is_some_and(|(relation, _)| is_collection(&relation));
        let (Some(name), Some(collection)) = (name, self.then(&then)) else { return Ok(None) };
        Ok(Some(GivenUp { name, collection, is_dropped, relation: oid, past }))
    }

    /// The owner of the table whose documents lie in a table of the store, or lay there until it gave them
    /// up; `None` if that is not known.
    ///
    /// # Errors
    /// Fails if the catalog of a commit cannot be read.
    pub fn owner_of(&self, documents: TableId) -> Result<Option<Oid>> {
        let tables = self.catalogs.tables();
        let Some(oid) = tables.relation_of(documents) else { return Ok(None) };
        if let Some(now) = self.catalogs.newest().relation(oid) {
            return Ok(Some(now.owner));
        }
        let past = tables.past_of(oid).into_iter().find(|past| past.table == documents);
        let Some(past) = past else { return Ok(None) };
        let before = self.engine.snapshot_at(Csn(past.ended.0 - 1))?;
        match self.catalogs.relation_at(&before, oid)? {
            Some((then, _)) => Ok(Some(then.owner)),
            None => {
                let known = earlier::dropped(&self.engine.snapshot(), documents)?;
                Ok(known.map(|_| COLLECTIONS_ROLE))
            }
        }
    }

    // --- changing --------------------------------------------------------------------------------

    /// Makes a collection for a role, which must be allowed to make tables in the schema `public`; for nobody
    /// in particular where no role is given. `None` if something in the schema is called so.
    ///
    /// # Errors
    /// 42602 where the name is none for a collection, 42501 where the role may not make tables, 42704 where there
    /// is no such role.
    pub fn create(
        &self,
        name: &str,
        options: CollectionOptions,
        role: Option<&str>,
    ) -> Result<Option<Collection>> {
        if let Some(why) = why_not_called(name) {
            let message = format!("a collection cannot be called {name:?}: {why}");
            return Err(Error::new(SqlState::INVALID_NAME, message));
        }
        let acting = match role {
            None => POSTGRES_ROLE,
            Some(role) => match self.catalogs.newest().role_named(role) {
                Some(found) => found.oid,
                None => {
                    let message = format!("role \"{role}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
            },
        };
        let made = self.change(acting, |draft, txn, acting| {
            let new = NewCollection { name, options, schema: PUBLIC, storage: None };
            make(draft, txn, acting, new, role.is_none())
        });
        match made {
            Ok(relation) => Ok(self.then(&relation)),
            Err(error) if is_taken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if something in the schema `public` is called so that is no collection: an ordinary table, a view,
    /// an index, a type ...
    pub fn is_taken(&self, name: &str) -> bool {
        let catalog = self.catalogs.newest();
        let relation = catalog.relation_named(PUBLIC, name);
        relation.map_or(catalog.type_named(PUBLIC, name).is_some(), |found| !is_collection(found))
    }

    /// Keeps another part of the past of a collection from now on; false if there is none of that name.
    ///
    /// # Errors
    /// Returns the error of the transaction.
    pub fn set_history(&self, name: &str, history: Retention) -> Result<bool> {
        let catalog = self.catalogs.newest();
        let Some(relation) = relation_named(&catalog, name) else { return Ok(false) };
        self.change(POSTGRES_ROLE, |draft, txn, acting| {
            draft.ddl(txn, acting).set_history(relation.oid, stored(history))
        })?;
        Ok(true)
    }

    /// Drops a collection; false if there is none of that name. Waits for the transactions that have
    /// written to it.
    ///
    /// # Errors
    /// 2BP01 where other objects of SQL depend on the table, or what the transaction reports.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        let catalog = self.catalogs.newest();
        let Some(relation) = relation_named(&catalog, name) else { return Ok(false) };
        let dropped = self.change(POSTGRES_ROLE, |draft, txn, acting| {
            drop_table(&mut draft.ddl(txn, acting), relation.oid)
        });
        not_if_gone(dropped)
    }

    /// Drops a collection where it is there, and removes the past of all that had its name and were
    /// dropped; false if there was nothing to drop or to remove.
    ///
    /// # Errors
    /// As [`Collections::drop_collection`].
    pub fn purge(&self, name: &str) -> Result<bool> {
        let catalog = self.catalogs.newest();
        let there = relation_named(&catalog, name);
        let mut dropped = self.given_up(Csn::ZERO, Csn::MAX)?;
        dropped.retain(|of| {
            let is_kept = of.collection.options().history != Retention::None;
            of.is_dropped && of.name == name && is_kept
        });
        if there.is_none() && dropped.is_empty() {
            return Ok(false);
        }
        let purged = self.change(POSTGRES_ROLE, |draft, txn, acting| {
            let none = KeptHistory::all(store::Retention::None);
            for GivenUp { relation, past, .. } in &dropped {
                let rows = self.catalogs.tables().past_of(*relation).into_iter();
                for past in rows.filter(|rows| rows.ended == past.ended) {
                    draft.keep_past(txn, *relation, past, none)?;
                }
            }
            let Some(relation) = there else { return Ok(()) };
            let mut ddl = draft.ddl(txn, acting);
            ddl.set_history(relation.oid, store::Retention::None)?;
            drop_table(&mut ddl, relation.oid)
        });
        not_if_gone(purged)
    }

    /// Changes the catalog in a transaction of its own, on behalf of a role.
    fn change<T>(
        &self,
        role: Oid,
        change: impl FnOnce(&mut Draft, &mut Transaction, Acting<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        let mut draft = Draft::new(&self.catalogs);
        let acting = Acting { role, database: POSTGRES_DATABASE, path: &[PUBLIC] };
        let done = change(&mut draft, &mut txn, acting)?;
        draft.publish(&mut txn)?;
        txn.commit(CommitMeta::default())?;
        self.catalogs.tables().settle(self.engine.store());
        Ok(done)
    }
}

fn drop_table(ddl: &mut Ddl<'_>, relation: Oid) -> Result<()> {
    ddl.drop_objects(&[Address::relation(relation)], Behavior::Restrict).map(drop)
}

/// False if the table was gone already, because another transaction was faster.
fn not_if_gone(done: Result<()>) -> Result<bool> {
    match done {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_TABLE => Ok(false),
        done => done.map(|()| true),
    }
}

/// True if a name was not free.
fn is_taken(error: &Error) -> bool {
    [SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT].contains(&error.sqlstate())
}

/// A collection to be made.
struct NewCollection<'a> {
    name: &'a str,
    options: CollectionOptions,
    schema: Oid,
    /// Where its documents lie, if they are there already.
    storage: Option<TableId>,
}

/// Makes the table of a collection; for [`COLLECTIONS_ROLE`] if it is `nobodys`.
fn make(
    draft: &mut Draft,
    txn: &mut Transaction,
    acting: Acting<'_>,
    new: NewCollection<'_>,
    nobodys: bool,
) -> Result<Arc<Relation>> {
    if nobodys {
        // Always before a name is locked: two transactions that make collections could wait for
        // each other.
        let is_there = draft.catalog().role(COLLECTIONS_ROLE).is_some();
        let strength = if is_there { RowLock::KeyShare } else { RowLock::Update };
        draft.lock(txn, Key::Role(COLLECTIONS_ROLE), strength)?;
    }
    if nobodys && draft.catalog().role(COLLECTIONS_ROLE).is_none() {
        let role = Role {
            oid: COLLECTIONS_ROLE,
            name: COLLECTIONS_ROLE_NAME.into(),
            may: RoleFlags { inherit: true, ..RoleFlags::default() },
            connection_limit: -1,
            password: None,
            valid_until_us: None,
        };
        draft.change(txn, Change::Put(Entry::Role(Arc::new(role))))?;
    }
    let key = NewConstraint {
        name: None,
        kind: NewConstraintKind::Key {
            columns: vec!["key".into()],
            include: Vec::new(),
            is_primary: true,
            nulls_distinct: true,
            overlaps: Vec::new(),
            options: Vec::new(),
        },
        is_deferrable: false,
        is_deferred: false,
        is_validated: true,
        partition_of: None,
    };
    let mut ddl: Ddl<'_> = draft.ddl(txn, acting);
    let relation = ddl.create_table(NewTable {
        schema: new.schema,
        name: new.name.into(),
        persistence: Persistence::Permanent,
        columns: vec![
            NewColumn { not_null: true, ..NewColumn::new("key", Type::TEXT) },
            NewColumn { not_null: true, ..NewColumn::new("doc", Type::JSONB) },
        ],
        constraints: vec![key],
        options: Vec::new(),
        history: stored(new.options.history),
        method: new_method(&new.options, new.storage),
        partitioning: None,
        partition_of: None,
    })?;
    if nobodys {
        ddl.set_owner(Address::of(Class::Relation, relation.oid), COLLECTIONS_ROLE)?;
    }
    Ok(relation)
}

/// How much of a collection's past is kept, as a table says it.
fn stored(history: Retention) -> store::Retention {
    match history {
        Retention::Forever => store::Retention::Forever,
        Retention::For(age) => {
            store::Retention::Since(age.as_micros().try_into().unwrap_or(u64::MAX))
        }
        Retention::None => store::Retention::None,
    }
}

/// Why no new collection can be called so, in words; `None` if it can.
pub fn why_not_called(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("it is empty"),
        _ if name.len() > NAME_BYTES_MAX => Some("it is longer than 63 bytes"),
        _ if name.contains(['/', '\\', '\0']) || name == "." || name == ".." => {
            Some("it contains a slash, a backslash or NUL, or is . or ..")
        }
        _ => None,
    }
}
