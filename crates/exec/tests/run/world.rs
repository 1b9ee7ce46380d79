//! A database in memory for tests, and statements that define its tables.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use document::Documents;
use plan::{Schema, TableFacts};
use sql::bind::{
    ColumnDefault, IndexKey, Names, Relation, RelationColumn, RelationKind, UniqueIndex,
};
use table::Collections;
use table::catalog::ddl::Acting;
use table::catalog::{
    self, Catalog, CatalogCache, Draft, IndexPart, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC,
};
use table::rows::Handles;
use table::sequence::Sequences;
use txn::{CommitMeta, Durability, Engine, EngineOptions, Isolation};
use types::{Context, Error, Oid, Result, Shape, SqlState, Style, Type, TypeSource};
use vfs::{Env, SimVfs};

use crate::define;

/// A database.
pub struct World {
    pub engine: Arc<Engine>,
    pub cache: Arc<CatalogCache>,
    pub handles: Arc<Handles>,
    pub sequences: Sequences,
    /// Where rows go that do not fit into memory, and the disk that it is on.
    pub temporary: Arc<exec::TempFolder>,
    pub disk: Arc<dyn vfs::Vfs>,
}

/// The folder of temporary files.
pub const TEMPORARY: &str = "/db/temporary";

impl World {
    pub fn new() -> Arc<Self> {
        let mut options = EngineOptions::default();
        options.durability = Durability::Os;
        let tables = table::Tables::new();
        let resolver = tables.resolver();
        let env = Env::sim(&SimVfs::unrecorded(), 1);
        let engine =
            Engine::open(&env, Path::new("/db"), options, resolver).expect("a database opens");
        let sequences = Sequences::new(Arc::clone(&engine), tables.clone());
        let disk = Arc::clone(&env.fs);
        let temporary =
            exec::TempFolder::open(&disk, Path::new(TEMPORARY)).expect("it can be made");
        let has_documents = table::Tables::has_documents;
        let documents = Documents::new(Arc::clone(&engine), 8 << 20, has_documents);
        let collections = Collections::open(documents, tables).expect("it has a catalog");
        let (cache, handles) =
            (Arc::clone(collections.catalogs()), Arc::clone(collections.handles()));
        Arc::new(World { engine, cache, handles, sequences, temporary, disk })
    }

    /// Runs a statement that defines something.
    pub fn define(&self, statement: &str) -> Result<()> {
        let names = View::new(self);
        let mut txn = self.engine.begin(Isolation::ReadCommitted);
        let mut draft = Draft::new(&self.cache);
        let acting = Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &[PUBLIC] };
        let plain = |error: table::Error| match error {
            table::Error::Sql(error) => error,
            other => Error::new(other.sqlstate(), other.to_string()),
        };
        {
            let mut ddl = draft.ddl(&mut txn, acting);
            if statement.starts_with("create table") {
                ddl.create_table(define::table(statement, &names)?).map_err(plain)?;
            } else {
                let (table, index) = define::index(statement, &names)?;
                ddl.create_index(table, index).map_err(plain)?;
            }
        }
        draft.publish(&mut txn).map_err(plain)?;
        txn.commit(CommitMeta::default()).map_err(|error| plain(error.into()))?;
        Ok(())
    }
}

/// The names of the newest catalog.
pub struct View {
    pub catalog: Arc<Catalog>,
    handles: Arc<Handles>,
    facts: Mutex<HashMap<Oid, Arc<TableFacts>>>,
}

impl View {
    pub fn new(world: &World) -> Self {
        let handles = Arc::clone(&world.handles);
        View { catalog: world.cache.newest(), handles, facts: Mutex::default() }
    }

    pub fn find(&self, name: &str) -> Option<&Arc<catalog::Relation>> {
        self.catalog.relation_named(PUBLIC, name)
    }

    /// A type by its name in SQL, and its modifier.
    pub fn type_of(&self, ty: &str) -> Result<(Type, types::Modifier)> {
        let style = Style::default();
        let expr = sql::bind::expression(&format!("null::{ty}"), None, self, Context::new(&style))
            .map_err(|error| error.cause)?;
        Ok((expr.ty, expr.modifier))
    }

    /// A relation as the binder sees it.
    pub fn make(&self, relation: &catalog::Relation) -> Relation {
        let default = |column: &catalog::Column| match (&column.identity, &column.default) {
            (Some(identity), _) => {
                ColumnDefault::Identity { sequence: identity.sequence, always: identity.is_always }
            }
            (None, Some(default)) if default.is_generated => {
                ColumnDefault::Generated(default.expr.text.to_string())
            }
            (None, Some(default)) => ColumnDefault::Expr(default.expr.text.to_string()),
            (None, None) => ColumnDefault::None,
        };
        let columns = relation.live_columns().map(|column| RelationColumn {
            attnum: column.attnum,
            name: column.name.to_string(),
            ty: column.ty,
            modifier: column.modifier,
            collation: types::Oid::NONE,
            not_null: column.not_null,
            default: default(column),
        });
        let def = self.catalog.table(relation.oid);
        let unique = def.iter().flat_map(|def| &def.indexes).filter_map(|relation| {
            let index = relation.index().filter(|index| index.is_unique)?;
            let key = |key: &catalog::IndexKey| match &key.part {
                IndexPart::Column(attnum) => IndexKey::Column(*attnum),
                IndexPart::Expr(text) => IndexKey::Expr(text.text.to_string()),
            };
            Some(UniqueIndex {
                oid: relation.oid,
                constraint: index.constraint.map(|_| relation.name.to_string()),
                primary: index.is_primary,
                keys: index.keys.iter().map(key).collect(),
                predicate: index.predicate.as_ref().map(|text| text.text.to_string()),
                deferrable: !index.is_immediate,
                excludes: !index.excludes.is_empty(),
            })
        });
        Relation {
            oid: relation.oid,
            schema: "public".to_owned(),
            name: relation.name.to_string(),
            kind: RelationKind::Table,
            row_type: relation.row_type.as_ref().map_or(Type::RECORD, |row| row.ty),
            columns: columns.collect(),
            unique: unique.collect(),
            owner: Oid::NONE,
            versioned: true,
            check: sql::bind::CheckOption::None,
            is_barrier: false,
            is_of_invoker: false,
        }
    }
}

impl TypeSource for View {
    fn shape(&self, ty: Type) -> Option<Shape> {
        self.catalog.shape(ty)
    }

    fn name(&self, ty: Type) -> Option<String> {
        self.catalog.type_entry(ty).map(|entry| entry.name().to_string())
    }

    fn array_of(&self, ty: Type) -> Option<Type> {
        self.catalog.type_entry(ty).and_then(|entry| entry.array())
    }

    fn multirange_of(&self, _: Type) -> Option<Type> {
        None
    }
}

impl Names for View {
    fn relation(&self, _: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        let oid = self.find(name)?.oid;
        self.table(oid).map(|facts| Arc::clone(&facts.relation))
    }

    fn user_type(&self, _: Option<&str>, _: &str) -> Option<Type> {
        None
    }

    fn has_schema(&self, name: &str) -> bool {
        name == "public"
    }
}

impl Schema for View {
    fn table(&self, oid: Oid) -> Option<Arc<TableFacts>> {
        if let Some(known) = self.facts.lock().expect("not poisoned").get(&oid) {
            return Some(Arc::clone(known));
        }
        let relation = Arc::new(self.make(self.catalog.relation(oid)?));
        let facts = plan::facts(&self.catalog, &self.handles, oid, relation, self)?;
        let facts = Arc::new(facts);
        self.facts.lock().expect("not poisoned").insert(oid, Arc::clone(&facts));
        Some(facts)
    }
}

/// The error of a sequence that is not there.
pub fn no_sequence(oid: Oid) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("there is no sequence {oid}"))
}
