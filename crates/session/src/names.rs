//! Names of tables, types and other objects, as one transaction finds them.
//!
//! ```text
//!   search_path    "$user", public        path    pg_catalog, alice, public      schemas that are there
//!   t              ──> pg_catalog.t? alice.t? public.t?
//! ```
//!
//! It answers the binder ([`sql::bind::Names`]), the forms of values ([`TypeSource`]) and the types
//! that show a name and hold a number ([`Objects`]), all over one catalog and one search path.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use exec::stored::Programs;
use parking_lot::Mutex;
use plan::TableFacts;
use sql::bind::{
    CheckOption, ColumnDefault, FileCall, IndexKey, Policy, PolicyCommand, Relation,
    RelationColumn, RelationKind, UniqueIndex,
};
use sql::eval::Program;
use sql::parse::ast::Path;
use table::catalog::{
    self, Address, Catalog, Class, ConstraintKind, ConstraintOn, IndexPart, Privileges,
    UserTypeKind,
};
use table::rows::Handles;
use types::time::TimestampTz;
use types::{Modifier, Oid, Origins, Shape, SqlState, Type, TypeSource};

use crate::error::{Error, Result};
use crate::files::{self, FileTable, Files};
use crate::rights::Rights;
use crate::system::{self, System};

/// The catalog at one moment, seen along a search path.
pub struct Names {
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// The catalog of the present, which has the rights.
    pub present: Arc<Catalog>,
    /// The time of the catalog; `None` for the present.
    pub moment: Option<TimestampTz>,
    /// The database.
    pub database: Oid,
    /// The schemas that names without one are looked for in, in this order.
    pub path: Vec<Oid>,
    /// The schemas of `path` that the search path names. New objects go to the first one.
    pub explicit: Vec<Oid>,
    /// The schema of the session's temporary objects, where it has one.
    pub temporary: Option<Oid>,
    /// The number of the session, which is part of the name of that schema.
    pub process: i32,
    /// The role whose rights are in force.
    pub role: Oid,
    /// True if it may do everything.
    pub is_superuser: bool,
    /// Where functions and operators without a schema are looked up.
    origins: Origins,
    /// True if the database has `pg_stat_statements`: what statements cost is recorded.
    pub has_statements: bool,
    /// The handles of tables, which know how many rows there are.
    pub handles: Arc<Handles>,
    /// Files that statements read.
    pub files: Files,
    /// Programs of indexes, defaults and checks.
    pub programs: Programs,
    /// Relations as the binder sees them, made when they are asked for.
    made: Mutex<HashMap<Oid, Arc<Relation>>>,
    domains: Mutex<HashMap<Type, Arc<Domain>>>,
    /// The look-ups since [`Names::take_looked`].
    looked_at: Mutex<Vec<Oid>>,
    looked_further: AtomicBool,
    looked_at_role: AtomicBool,
}

/// The look-ups in the catalog while a plan was made.
pub(crate) struct Looked {
    /// The relations, of users and of the system.
    pub relations: Vec<Oid>,
    /// The files that it reads.
    pub files: Vec<Arc<FileTable>>,
    /// True if the binder looked up anything else: a type of users, a schema, an object whose name stands for
    /// its number.
    pub further: bool,
    /// True if the plan is for the role that asked: a table has policies.
    pub at_role: bool,
}

/// How the names of the schemas of temporary objects begin; the number of the session follows.
pub const TEMPORARY: &str = "pg_temp_";

/// The schema of the temporary objects of a session.
fn temporary_schema(catalog: &Catalog, database: Oid, process: i32) -> Option<Oid> {
    catalog.schema_named(database, &format!("{TEMPORARY}{process}")).map(|schema| schema.oid)
}

/// Returns the set of the built-in objects and of the extensions whose schemas a path has.
fn origins_along(catalog: &Catalog, database: Oid, path: &[Oid]) -> Origins {
    Origins::CORE.and(catalog.origins(database, |schema| path.contains(&schema)))
}

/// True if a database has `pg_stat_statements`.
fn has_statements(catalog: &Catalog, database: Oid) -> bool {
    let known = types::extension::of(types::extension::STATEMENTS);
    known.is_some_and(|known| catalog.extension_named(database, known.name).is_some())
}

/// Puts a schema before all others that names are looked for in.
fn first(path: &mut Vec<Oid>, schema: Option<Oid>) {
    if let Some(schema) = schema.filter(|schema| !path.contains(schema)) {
        path.insert(0, schema);
    }
}

/// The visible catalog: one of the present, or one of the past with the present's rights.
pub struct VisibleCatalog {
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// That of the present.
    pub present: Arc<Catalog>,
    /// The time that the catalog is of; none for the present.
    pub moment: Option<TimestampTz>,
}

/// The constraints on values of a domain: its own, and those of the domains below it.
pub struct Domain {
    /// True if NULL is refused.
    pub not_null: bool,
    /// The names of the checks, those of the domains below it first, and programs over the one
    /// column `value`.
    pub checks: Vec<(String, Arc<Program>)>,
}

impl Names {
    /// Names in `catalog` along the schemas that are called `path`, as far as the role `user` may use
    /// them.
    pub fn new(
        seen: VisibleCatalog,
        handles: Arc<Handles>,
        files: Files,
        database: Oid,
        user: &str,
        path: &[String],
        process: i32,
    ) -> Self {
        let VisibleCatalog { catalog, present, moment } = seen;
        let role = present.role_named(user);
        let is_superuser = role.is_some_and(|role| role.may.superuser);
        let role = role.map_or(Oid::NONE, |role| role.oid);
        let rights = Rights { catalog: &present, named_in: &catalog, database, role };
        let temporary = temporary_schema(&catalog, database, process);
        let mut explicit = Vec::new();
        for name in path {
            let name = if name == "$user" { user } else { name };
            let found = match name {
                "pg_temp" => temporary,
                name => catalog.schema_named(database, name).map(|schema| schema.oid),
            };
            if let Some(schema) = found
                && !explicit.contains(&schema)
                && (is_superuser
                    || rights.has(Address::of(Class::Schema, schema), Privileges::USAGE))
            {
                explicit.push(schema);
            }
        }
        let mut path = explicit.clone();
        if !path.contains(&system::PG_CATALOG) {
            path.insert(0, system::PG_CATALOG);
        }
        first(&mut path, temporary);
        Names {
            origins: origins_along(&catalog, database, &path),
            has_statements: has_statements(&catalog, database),
            catalog,
            present,
            moment,
            handles,
            files,
            database,
            path,
            explicit,
            temporary,
            process,
            role,
            is_superuser,
            programs: Programs::default(),
            made: Mutex::default(),
            domains: Mutex::default(),
            looked_at: Mutex::default(),
            looked_further: AtomicBool::new(false),
            looked_at_role: AtomicBool::new(false),
        }
    }

    /// No names, until the role and the database are known.
    pub fn none(handles: Arc<Handles>, files: Files) -> Self {
        let catalog: Arc<Catalog> = Arc::default();
        let seen = VisibleCatalog { present: Arc::clone(&catalog), catalog, moment: None };
        Names::new(seen, handles, files, Oid::NONE, "", &[], 0)
    }

    /// The same search path over another catalog.
    pub fn with(&self, catalog: Arc<Catalog>) -> Self {
        let temporary = temporary_schema(&catalog, self.database, self.process);
        let mut path = self.path.clone();
        first(&mut path, temporary);
        Names {
            origins: origins_along(&catalog, self.database, &path),
            has_statements: has_statements(&catalog, self.database),
            present: Arc::clone(&catalog),
            catalog,
            moment: None,
            temporary,
            process: self.process,
            database: self.database,
            handles: Arc::clone(&self.handles),
            files: self.files.next(),
            path,
            explicit: self.explicit.clone(),
            role: self.role,
            is_superuser: self.is_superuser,
            programs: Programs::default(),
            made: Mutex::default(),
            domains: Mutex::default(),
            looked_at: Mutex::default(),
            looked_further: AtomicBool::new(false),
            looked_at_role: AtomicBool::new(false),
        }
    }

    /// Gives the look-ups since the last call, and clears the list.
    pub(crate) fn take_looked(&self) -> Looked {
        Looked {
            relations: std::mem::take(&mut *self.looked_at.lock()),
            files: self.files.take(),
            further: self.looked_further.swap(false, Ordering::Relaxed),
            at_role: self.looked_at_role.swap(false, Ordering::Relaxed),
        }
    }

    /// Notes a look-up of something else than a relation.
    pub(crate) fn look_further(&self) {
        self.looked_further.store(true, Ordering::Relaxed);
    }

    fn look_at(&self, relation: Oid) {
        let mut relations = self.looked_at.lock();
        if relations.last() != Some(&relation) {
            relations.push(relation);
        }
    }

    /// The OID of the schema with this name.
    pub fn schema_oid(&self, name: &str) -> Option<Oid> {
        if name == "pg_temp" {
            return self.temporary;
        }
        let found = self.catalog.schema_named(self.database, name)?.oid;
        // Only the owning session can name temporary objects.
        (!name.starts_with(TEMPORARY) || self.temporary == Some(found)).then_some(found)
    }

    /// The name of a schema.
    pub fn schema_name(&self, oid: Oid) -> &str {
        self.catalog.schema(oid).map_or("", |schema| &schema.name)
    }

    /// The schemas that a name is looked for in.
    fn schemas(&self, schema: Option<&str>) -> Vec<Oid> {
        match schema {
            None => self.path.clone(),
            Some(name) => self.schema_oid(name).into_iter().collect(),
        }
    }

    /// The relation of users with this name.
    pub fn user_relation(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<&Arc<catalog::Relation>> {
        let find = |schema: Oid| self.catalog.relation_named(schema, name);
        match schema {
            None => self.path.iter().find_map(|schema| find(*schema)),
            Some(schema) => find(self.schema_oid(schema)?),
        }
    }

    /// The schema, where one is named, and the name of an object of this database.
    ///
    /// # Errors
    /// `0A000` for what is in another database, `42601` where there are more than three parts.
    pub fn split<'p>(&self, path: &'p Path) -> Result<(Option<&'p str>, &'p str)> {
        let split = path.split(|database| sql::bind::Names::is_database(self, database));
        let (schema, name) = split.map_err(|error| Error::from(error.cause))?;
        Ok((schema.map(|schema| schema.text.as_str()), &name.text))
    }

    /// Fails if the name has a schema that the role of the statement may not use.
    ///
    /// # Errors
    /// `42501`.
    pub fn require_schema(&self, schema: Option<&str>) -> Result<()> {
        match schema {
            Some(schema) if !sql::bind::Names::may_use_schema(self, schema) => {
                let message = format!("permission denied for schema {schema}");
                Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
            }
            _ => Ok(()),
        }
    }

    /// The OID of the relation with this name, of users or of the system.
    pub fn relation_oid(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        self.find(schema, name, |relation| relation.oid, |system| system.oid)
    }

    /// The relation that a name means: of users or of the system. Without a schema, relations of the system
    /// that PostgreSQL does not have come after all others, like the views of `storage_engine` in its schema.
    fn find<T>(
        &self,
        schema: Option<&str>,
        name: &str,
        user: impl Fn(&Arc<catalog::Relation>) -> T,
        known: impl Fn(&'static System) -> T,
    ) -> Option<T> {
        let bare = schema.is_none();
        let found = self.schemas(schema).into_iter().find_map(|schema| {
            let is_there =
                |system: &&System| system.extension().is_none() && (!bare || !system.is_own());
            let system = || system::find(schema, name).filter(is_there);
            match self.catalog.relation_named(schema, name) {
                Some(relation) => Some(user(relation)),
                None => system().map(&known),
            }
        });
        found.or_else(|| {
            let system = system::find(system::PG_CATALOG, name)?;
            let is_meant = match (system.extension(), schema) {
                (None, None) => true,
                (None, Some(schema)) => schema == system::ENGINE && system.is_of_engine(),
                (Some(_), None) => {
                    self.schema_of(system).is_some_and(|own| self.path.contains(&own))
                }
                (Some(_), Some(schema)) => {
                    self.schema_of(system).is_some_and(|own| self.schema_name(own) == schema)
                }
            };
            is_meant.then(|| known(system))
        })
    }

    /// The schema of a relation of the system; `None` for one of an extension that the database does not
    /// have.
    pub fn schema_of(&self, system: &System) -> Option<Oid> {
        match system.extension() {
            None => Some(system.schema),
            Some(known) => {
                let found = self.catalog.extension_named(self.database, known.name);
                found.map(|extension| extension.schema)
            }
        }
    }

    /// The schema and the name of a relation, of users or of the system.
    pub fn relation_name(&self, oid: Oid) -> Option<(Oid, &str)> {
        match self.catalog.relation(oid) {
            Some(relation) => Some((relation.schema, &relation.name)),
            None => {
                let system = system::by_oid(oid)?;
                Some((self.schema_of(system)?, system.name))
            }
        }
    }

    /// True if a name without a schema finds this relation, whose schema is in the search path.
    pub fn is_relation_visible(&self, oid: Oid) -> bool {
        let schema = self.relation_name(oid).map(|(schema, _)| schema);
        schema.is_some_and(|schema| self.path.contains(&schema)) && self.finds_by_name(oid)
    }

    /// True if a name without a schema finds this relation.
    pub(crate) fn finds_by_name(&self, oid: Oid) -> bool {
        let name = self.relation_name(oid).map(|(_, name)| name);
        name.is_some_and(|name| self.relation_oid(None, name) == Some(oid))
    }

    /// True if a name without a schema finds this type.
    pub fn is_type_visible(&self, ty: Type) -> bool {
        if types::extension::of(ty.oid()).is_some() {
            let element = types::builtin::facts(ty).map(|facts| (facts.is_array(), facts.element));
            let ty = element.filter(|(is_array, _)| *is_array).map_or(ty, |(_, element)| element);
            let name = types::builtin::facts(ty).map(|facts| facts.name);
            return name.is_some_and(|name| self.type_oid(None, name) == Some(ty));
        }
        if ty.is_builtin() {
            return true;
        }
        let Some(entry) = self.catalog.type_entry(ty) else { return false };
        // A built-in type of the same name is found first, as far as its schema stands.
        let own = self.path.iter().position(|schema| *schema == entry.schema());
        let system = self.path.iter().position(|schema| *schema == system::PG_CATALOG);
        let is_hidden = types::builtin::all().iter().any(|facts| facts.name == &**entry.name());
        if is_hidden && system < own {
            return false;
        }
        own.is_some() && self.type_oid(None, entry.name()) == Some(ty)
    }

    /// The type of users or of an extension with this name.
    fn type_oid(&self, schema: Option<&str>, name: &str) -> Option<Type> {
        self.schemas(schema).into_iter().find_map(|schema| {
            let of_extension = || self.catalog.extension_type_named(schema, name);
            self.catalog.type_named(schema, name).or_else(of_extension)
        })
    }

    /// The schema of a built-in object: that of its extension, or `pg_catalog` if it belongs to none; `None` if the
    /// database does not have the extension.
    pub fn member_schema(&self, object: Oid) -> Option<Oid> {
        match types::extension::of(object) {
            None => Some(system::PG_CATALOG),
            Some(_) => Some(self.catalog.extension_with(self.database, object)?.schema),
        }
    }

    /// Where functions, operators and operator classes are looked for: in a schema, or along the search path.
    pub fn origins_of(&self, schema: Option<&str>) -> Origins {
        match schema {
            Some(schema) => sql::bind::Names::origins_in(self, schema),
            None => self.origins,
        }
    }

    /// True for the index of a key `WITHOUT OVERLAPS`.
    pub fn is_of_period(&self, index: &catalog::Index) -> bool {
        let constraint = index.constraint.and_then(|oid| self.catalog.constraint(oid));
        let is_period =
            |kind: &ConstraintKind| matches!(kind, ConstraintKind::Key { is_period: true, .. });
        constraint.is_some_and(|constraint| is_period(&constraint.kind))
    }

    /// True if a name without a schema finds this function, operator, or other object that is neither a type nor a
    /// relation.
    pub fn is_member_visible(&self, object: Oid) -> bool {
        self.member_schema(object).is_some_and(|schema| self.path.contains(&schema))
    }

    /// A name as SQL writes it, with its schema where that must be said.
    pub fn written(&self, schema: Oid, name: &str, visible: bool) -> String {
        let name = scalar::quote::identifier(name);
        match visible {
            true => name,
            false => format!("{}.{name}", scalar::quote::identifier(self.schema_name(schema))),
        }
    }

    /// A relation as the binder sees it.
    fn bound(&self, relation: &Arc<catalog::Relation>) -> Arc<Relation> {
        let mut made = self.made.lock();
        let entry = made.entry(relation.oid);
        Arc::clone(entry.or_insert_with(|| Arc::new(self.make(relation))))
    }

    fn make(&self, relation: &catalog::Relation) -> Relation {
        let kind = match &relation.kind {
            catalog::RelationKind::Table(table) => match &table.materialized {
                Some(shown) => RelationKind::Materialized { is_populated: shown.is_populated },
                None => RelationKind::Table,
            },
            catalog::RelationKind::View(view) => RelationKind::View(view.query.text.to_string()),
            catalog::RelationKind::Index(_) => RelationKind::Index,
            catalog::RelationKind::Sequence(_) => RelationKind::Sequence,
            catalog::RelationKind::Composite => RelationKind::CompositeType,
        };
        let columns = relation.live_columns().map(|column| RelationColumn {
            attnum: column.attnum,
            name: column.name.to_string(),
            ty: column.ty,
            modifier: column.modifier,
            collation: column.collation,
            not_null: column.not_null,
            default: match (&kind, &column.default) {
                // A view has no default for the types of its columns.
                (RelationKind::View(_), None) => ColumnDefault::None,
                _ => self.default_of(column),
            },
        });
        let unique = self.catalog.table(relation.oid).into_iter().flat_map(|table| &table.indexes);
        Relation {
            oid: relation.oid,
            schema: self.schema_name(relation.schema).to_owned(),
            name: relation.name.to_string(),
            row_type: relation.row_type.as_ref().map_or(Type::RECORD, |row| row.ty),
            columns: match kind {
                RelationKind::Sequence => sequence_columns(),
                _ => columns.collect(),
            },
            kind,
            unique: unique.filter_map(|index| self.unique(index)).collect(),
            owner: relation.owner,
            versioned: relation.table().is_some(),
            check: match &relation.kind {
                catalog::RelationKind::View(view) => match view.check {
                    catalog::CheckOption::None => CheckOption::None,
                    catalog::CheckOption::Local => CheckOption::Local,
                    catalog::CheckOption::Cascaded => CheckOption::Cascaded,
                },
                _ => CheckOption::None,
            },
            is_barrier: has_option(relation, "security_barrier"),
            is_of_invoker: has_option(relation, "security_invoker"),
        }
    }

    fn default_of(&self, column: &catalog::Column) -> ColumnDefault {
        if let Some(identity) = &column.identity {
            return ColumnDefault::Identity {
                sequence: identity.sequence,
                always: identity.is_always,
            };
        }
        match &column.default {
            Some(default) if default.is_generated => {
                ColumnDefault::Generated(default.expr.text.to_string())
            }
            Some(default) => ColumnDefault::Expr(default.expr.text.to_string()),
            None => self.domain_default(column.ty),
        }
    }

    fn domain_default(&self, ty: Type) -> ColumnDefault {
        match self.catalog.user_type(ty).map(|user| &user.kind) {
            Some(UserTypeKind::Domain(domain)) => match &domain.default {
                Some(default) => ColumnDefault::Expr(default.text.to_string()),
                None => self.domain_default(domain.base),
            },
            _ => ColumnDefault::None,
        }
    }

    fn unique(&self, relation: &catalog::Relation) -> Option<UniqueIndex> {
        let index = relation.index()?;
        if !index.is_unique && index.excludes.is_empty() || !index.is_valid {
            return None;
        }
        let constraint = index.constraint.and_then(|oid| self.catalog.constraint(oid));
        Some(UniqueIndex {
            oid: relation.oid,
            constraint: constraint.map(|constraint| constraint.name.to_string()),
            primary: index.is_primary,
            keys: index
                .keys
                .iter()
                .map(|key| match &key.part {
                    IndexPart::Column(attnum) => IndexKey::Column(*attnum),
                    IndexPart::Expr(expr) => IndexKey::Expr(expr.text.to_string()),
                })
                .collect(),
            predicate: index.predicate.as_ref().map(|predicate| predicate.text.to_string()),
            deferrable: !index.is_immediate,
            excludes: !index.excludes.is_empty(),
        })
    }
}

impl Names {
    /// The constraints on values of a domain.
    ///
    /// # Errors
    /// Fails if a check cannot be bound.
    pub fn domain(&self, ty: Type, context: types::Context<'_>) -> types::Result<Arc<Domain>> {
        if let Some(known) = self.domains.lock().get(&ty) {
            return Ok(Arc::clone(known));
        }
        let Some(UserTypeKind::Domain(domain)) = self.catalog.user_type(ty).map(|user| &user.kind)
        else {
            let message = format!("type with OID {} is no domain", ty.oid());
            return Err(types::Error::new(types::SqlState::INTERNAL_ERROR, message));
        };
        let over = of_value((domain.base, domain.modifier));
        let (mut not_null, mut checks) = (domain.not_null, Vec::new());
        if matches!(TypeSource::shape(self, domain.base), Some(Shape::Domain(..))) {
            let below = self.domain(domain.base, context)?;
            not_null |= below.not_null;
            checks.extend_from_slice(&below.checks);
        }
        for constraint in self.catalog.constraints_of(ConstraintOn::Domain(ty)) {
            if let ConstraintKind::Check { expr, .. } = &constraint.kind {
                // If the check itself makes values of the domain, these are not checked.
                let context = types::Context { domains: &types::Builtins, ..context };
                let bound = sql::bind::expression(&expr.text, Some(&over), self, context)
                    .map_err(|error| error.cause)?;
                let program = Arc::new(Program::compile(&bound, self)?);
                checks.push((constraint.name.to_string(), program));
            }
        }
        let made = Arc::new(Domain { not_null, checks });
        self.domains.lock().insert(ty, Arc::clone(&made));
        Ok(made)
    }
}

/// The relation that the checks of a domain are bound to: one column, `value`, of the type below.
pub fn of_value((ty, modifier): (Type, Modifier)) -> Relation {
    Relation {
        oid: Oid::NONE,
        schema: String::new(),
        name: String::new(),
        kind: RelationKind::Table,
        row_type: Type::RECORD,
        columns: vec![RelationColumn {
            attnum: 1,
            name: "value".to_owned(),
            ty,
            modifier,
            collation: Oid::NONE,
            not_null: false,
            default: ColumnDefault::None,
        }],
        unique: Vec::new(),
        owner: Oid::NONE,
        versioned: false,
        check: CheckOption::None,
        is_barrier: false,
        is_of_invoker: false,
    }
}

/// True if a view has an option that is on.
fn has_option(relation: &catalog::Relation, name: &str) -> bool {
    let is_on =
        |(known, value): &(Arc<str>, Arc<str>)| **known == *name && switch(value) == Some(true);
    relation.view().is_some() && relation.options.iter().any(is_on)
}

/// The truth value that an option has: `on`, `false`, `1` and so on.
pub(crate) fn switch(value: &str) -> Option<bool> {
    let style = types::Style::default();
    let context = types::Context::new(&style);
    match types::text::parse(value, Type::BOOL, Modifier::NONE, &context) {
        Ok(types::Datum::Bool(value)) => Some(value),
        _ => None,
    }
}

impl plan::Schema for Names {
    fn table(&self, relation: Oid) -> Option<Arc<TableFacts>> {
        if let Some(file) = self.files.find(relation) {
            return Some(Arc::new(TableFacts {
                relation: Arc::clone(&file.relation),
                keys: Vec::new(),
                out_of_line: Vec::new(),
                checks: Vec::new(),
                has_blocks: false,
                columnar: Vec::new(),
                rows: file.rows,
                values: None,
                partitions: None,
                is_partition: false,
            }));
        }
        self.look_at(relation);
        let bound = self.bound(self.catalog.relation(relation)?);
        let facts = plan::facts(&self.catalog, &self.handles, relation, bound, self);
        facts.map(Arc::new)
    }
}

impl TypeSource for Names {
    fn shape(&self, ty: Type) -> Option<Shape> {
        let shape = self.catalog.shape(ty)?;
        self.look_further();
        Some(shape)
    }

    fn name(&self, ty: Type) -> Option<String> {
        if let Some(facts) = types::builtin::facts(ty) {
            if facts.is_array() {
                return Some(format!("{}[]", TypeSource::name(self, facts.element)?));
            }
            let schema = self.member_schema(ty.oid())?;
            return Some(self.written(schema, facts.name, self.is_type_visible(ty)));
        }
        let entry = self.catalog.type_entry(ty)?;
        self.look_further();
        if let Some(element) = entry.element() {
            return Some(format!("{}[]", TypeSource::name(self, element)?));
        }
        Some(self.written(entry.schema(), entry.name(), self.is_type_visible(ty)))
    }

    fn array_of(&self, ty: Type) -> Option<Type> {
        let entry = self.catalog.type_entry(ty)?;
        self.look_further();
        entry.array()
    }

    fn multirange_of(&self, range: Type) -> Option<Type> {
        let found = self.catalog.multirange_of(range)?;
        self.look_further();
        Some(found)
    }

    fn origins(&self) -> Origins {
        self.origins
    }
}

impl sql::bind::Names for Names {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        let known = |system: &'static System| Arc::clone(&system.bound);
        let found = self.find(schema, name, |relation| self.bound(relation), known)?;
        self.look_at(found.oid);
        Some(found)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<Type> {
        let found = self.type_oid(schema, name)?;
        self.look_further();
        Some(found)
    }

    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        self.look_further();
        // Systems write the name of this one in two ways.
        let known = if name == "C.UTF-8" { "C.utf8" } else { name };
        self.schemas(schema).into_iter().find_map(|schema| match schema {
            system::PG_CATALOG => collate::named(known).map(|known| Oid(known.oid)),
            schema => self.catalog.collation_named(schema, name).map(|known| known.oid),
        })
    }

    fn collation(&self, oid: Oid) -> Option<sql::bind::Collation> {
        if let Some(known) = collate::numbered(oid.0) {
            return Some(sql::bind::Collation::of_system(known));
        }
        let known = self.catalog.collation(oid)?;
        self.look_further();
        Some(sql::bind::Collation {
            name: Arc::clone(&known.name),
            locale: self.catalog.locale_of(oid).map(|(locale, _)| locale),
            is_deterministic: known.is_deterministic,
        })
    }

    fn collation_shown(&self, oid: Oid) -> Option<String> {
        types::Objects::name(self, Type::REGCOLLATION, oid)
    }

    fn is_database(&self, name: &str) -> bool {
        self.look_further();
        self.present.database(self.database).is_some_and(|database| *database.name == *name)
    }

    fn origins_in(&self, schema: &str) -> Origins {
        self.look_further();
        match self.schema_oid(schema) {
            Some(system::PG_CATALOG | system::INFORMATION_SCHEMA) => Origins::CORE,
            Some(schema) => self.catalog.origins(self.database, |other| other == schema),
            None => Origins::NONE,
        }
    }

    fn all_origins(&self) -> Origins {
        Origins::CORE.and(self.catalog.origins(self.database, |_| true))
    }

    fn has_schema(&self, name: &str) -> bool {
        self.look_further();
        self.schema_oid(name).is_some()
    }

    fn may_use_schema(&self, name: &str) -> bool {
        let usage =
            |schema| Rights::of(self).has(Address::of(Class::Schema, schema), Privileges::USAGE);
        self.is_superuser
            || self
                .schema_oid(name)
                .is_none_or(|schema| self.temporary == Some(schema) || usage(schema))
    }

    fn moment(&self) -> Option<TimestampTz> {
        self.moment
    }

    fn policies(&self, table: Oid, by: Option<Oid>) -> Option<Vec<Policy>> {
        let known = self.present.table(table)?;
        let is_secured = |data: &catalog::TableData| data.row_security.is_enabled;
        if !known.relation.table().is_some_and(is_secured) {
            return None;
        }
        self.looked_at_role.store(true, Ordering::Relaxed);
        let found = self.present.policies_for(table, by.unwrap_or(self.role), self.database)?;
        let text = |text: &Option<catalog::SqlText>| text.as_ref().map(|it| it.text.to_string());
        let bound = found.into_iter().map(|policy| Policy {
            name: policy.name.to_string(),
            is_permissive: policy.is_permissive,
            command: match policy.command {
                catalog::PolicyCommand::All => None,
                catalog::PolicyCommand::Select => Some(PolicyCommand::Select),
                catalog::PolicyCommand::Insert => Some(PolicyCommand::Insert),
                catalog::PolicyCommand::Update => Some(PolicyCommand::Update),
                catalog::PolicyCommand::Delete => Some(PolicyCommand::Delete),
            },
            using: text(&policy.using),
            check: text(&policy.check),
        });
        Some(bound.collect())
    }

    fn file(&self, call: &FileCall<'_>) -> types::Result<Arc<Relation>> {
        files::require_read("read a file", &self.present, self.role, self.database)?;
        Ok(Arc::clone(&self.files.open(call)?.relation))
    }
}

/// The columns of a sequence to who selects from it.
fn sequence_columns() -> Vec<RelationColumn> {
    let columns = [("last_value", Type::INT8), ("log_cnt", Type::INT8), ("is_called", Type::BOOL)];
    let column = |(attnum, (name, ty)): (i16, (&str, Type))| RelationColumn {
        attnum,
        name: name.to_owned(),
        ty,
        modifier: Modifier::NONE,
        collation: Oid::NONE,
        not_null: true,
        default: ColumnDefault::None,
    };
    (1..).zip(columns).map(column).collect()
}
