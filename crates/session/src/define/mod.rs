//! Definitions: the effects of `CREATE`, `ALTER` and `DROP` on the catalog, and on existing rows.
//!
//! ```text
//!   ast::Define ──> names and types found, texts made to be kept ──> table's Ddl ──> a draft
//!                                                                 └─> rows: checked, indexed, rewritten
//! ```
//!
//! The draft belongs to the transaction: what it says is seen by the statements that follow, and by
//! others once it is committed.

mod alter;
mod attributes;
mod collation;
mod database;
pub(crate) mod domain;
mod drop;
mod exclusion;
mod extension;
mod index;
mod like;
mod materialized;
mod misc;
mod one_row;
mod partition;
mod policy;
mod role;
mod rows;
mod schema;
mod table;
pub(crate) mod temporary;
mod text;
mod using_index;
mod view;

use std::sync::Arc;

pub(crate) use collation::actual_version as collation_version;

use ::table::catalog::ddl::{Acting, Ddl, Notice};
use ::table::catalog::{Address, Catalog, Class, Privileges, Relation, TypeEntry};
use ::table::foreign::Checks;
use sql::parse::ast::{Define, Name, Path, TypeName};
use types::{Modifier, Oid, SqlState, Type, TypeSource};

use crate::client::StatementContext;
use crate::error::{Error, Result, Severity};
use crate::names::Names;
use crate::portal::{Portal, Work};
use crate::rights::Rights;
use crate::session::{Session, done};

/// The context of a definition.
pub(crate) struct DdlContext<'a, 'd> {
    pub ddl: Ddl<'d>,
    pub around: &'a StatementContext<'a>,
    /// The catalog as the statement has made it so far.
    pub names: Arc<Names>,
    pub source: &'a str,
    /// The checks of foreign keys.
    pub checks: &'a mut Checks,
    /// The catalog by which rows lie that are still to be written anew.
    pub before: Arc<Catalog>,
    /// New values of columns in rows that are written anew: table, column, expression.
    pub using: Vec<(Oid, i16, sql::plan::Expr)>,
}

impl DdlContext<'_, '_> {
    /// Sees what the statement has changed.
    pub fn see(&mut self) {
        let catalog = Arc::clone(self.ddl.catalog());
        self.names = Arc::new(self.names.with(catalog));
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        self.ddl.catalog()
    }

    /// The context that expressions are bound in.
    pub fn context(&self) -> types::Context<'_> {
        let mut context = self.around.types();
        context.types = &*self.names;
        context.objects = &*self.names;
        context
    }

    /// Tells the user something.
    pub fn notice(&self, state: SqlState, message: impl Into<String>) {
        self.around.client.notice(Severity::Notice, state, message);
    }

    /// Warns the user of something.
    pub fn warn(&self, message: impl Into<String>, detail: Option<&str>, hint: &str) {
        let mut told = Error::notice(Severity::Warning, SqlState::WARNING, message);
        if let Some(detail) = detail {
            told = told.detail(detail);
        }
        self.around.client.say(told.hint(hint));
    }

    /// Tells what the catalog has to say.
    pub fn tell(&self, notice: Option<Notice>) {
        if let Some(notice) = notice {
            let mut told =
                Error::notice(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, notice.message);
            if let Some(detail) = notice.detail {
                told = told.detail(detail);
            }
            self.around.client.say(told);
        }
    }

    /// The error of reading or binding, with its place.
    pub fn in_text(&self, error: sql::Error) -> Error {
        Error::in_text(error, self.source)
    }

    /// The schema and the name that a new object is to have.
    pub fn new_name<'n>(&self, path: &'n Path) -> Result<(Oid, &'n str)> {
        let split = self.names.split(path);
        let (schema, name) = split.map_err(|error| self.at(error, Some(path.at())))?;
        if schema.is_some() {
            return Ok((self.schema(&path.parts[path.parts.len() - 2])?, name));
        }
        let schema = self.names.explicit.first().ok_or_else(|| {
            let message = "no schema has been selected to create in";
            Error::new(SqlState::INVALID_SCHEMA_NAME, message)
        })?;
        Ok((*schema, name))
    }

    /// The schema of this name.
    pub fn schema(&self, name: &Name) -> Result<Oid> {
        self.names.schema_oid(&name.text).ok_or_else(|| {
            let message = format!("schema \"{}\" does not exist", name.text);
            self.at(Error::new(SqlState::INVALID_SCHEMA_NAME, message), None)
        })
    }

    /// Fails if nothing may be made in a schema, at the place of the name that has it.
    pub fn require_creation(&self, schema: Oid, path: &Path) -> Result<()> {
        let object = Address::of(Class::Schema, schema);
        if Rights::of(&self.names).has(object, Privileges::CREATE) {
            return Ok(());
        }
        let message = format!("permission denied for schema {}", self.names.schema_name(schema));
        let error = Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        Err(self.at(error, Some(path.at())))
    }

    /// An error with its place in the text.
    pub fn at(&self, mut error: Error, at: Option<sql::At>) -> Error {
        error.position = at.and_then(|at| at.position(self.source));
        error
    }

    /// The relation of this name, if there is one.
    pub fn find(&self, path: &Path) -> Result<Option<Arc<Relation>>> {
        let (schema, name) = self.names.split(path)?;
        self.names.require_schema(schema)?;
        Ok(self.names.user_relation(schema, name).cloned())
    }

    /// The relation of this name.
    pub fn relation(&self, path: &Path) -> Result<Arc<Relation>> {
        self.find(path)?.ok_or_else(|| self.no_relation(path))
    }

    /// The error for a relation that is not there, or is the system's.
    pub fn no_relation(&self, path: &Path) -> Error {
        let (schema, name) = match self.names.split(path) {
            Ok(split) => split,
            Err(error) => return error,
        };
        if self.names.relation_oid(schema, name).is_some() {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            return Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        }
        if let Some(schema) = schema
            && self.names.schema_oid(schema).is_none()
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Error::new(SqlState::INVALID_SCHEMA_NAME, message);
        }
        let message = format!("relation \"{path}\" does not exist");
        Error::new(SqlState::UNDEFINED_TABLE, message)
    }

    /// The type of users of this name.
    pub fn user_type(&self, path: &Path) -> Result<Type> {
        let (schema, name) = self.names.split(path)?;
        sql::bind::Names::user_type(&*self.names, schema, name).ok_or_else(|| {
            let message = format!("type \"{path}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// The type that a name means, which what is made is to have.
    pub fn type_of(&self, name: &TypeName) -> Result<(Type, Modifier)> {
        let (ty, modifier) = sql::bind::type_name(name, &*self.names, self.context())
            .map_err(|error| self.in_text(error))?;
        let entry = self.names.catalog.type_entry(ty);
        let element = entry.and_then(TypeEntry::element).unwrap_or(ty);
        let object = Address::of(Class::Type, element.oid());
        if !element.is_builtin() && !Rights::of(&self.names).has(object, Privileges::USAGE) {
            let name = TypeSource::name(&*self.names, element).unwrap_or_default();
            let message = format!("permission denied for type {name}");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        Ok((ty, modifier))
    }

    /// The role of this name.
    pub fn role(&self, name: &Name) -> Result<Oid> {
        let text = match name.text.as_str() {
            "current_user" | "current_role" => &*self.around.identity.user,
            "session_user" => &*self.around.identity.session_user,
            other => other,
        };
        self.catalog().role_named(text).map(|role| role.oid).ok_or_else(|| {
            let message = format!("role \"{text}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }
}

/// The error for a name of too many parts.
pub(crate) fn improper(path: &Path) -> Error {
    let message = format!("improper qualified name (too many dotted names): {path}");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// The words of a definition, for its tag and for messages.
fn tag(define: &Define) -> &'static str {
    use sql::parse::ast::ObjectKind as Kind;
    let by_kind = |kind: &Kind, words: [&'static str; 13]| match kind {
        Kind::Table | Kind::Column | Kind::Constraint | Kind::DomainConstraint => words[0],
        Kind::Index => words[1],
        Kind::View => words[2],
        Kind::Sequence => words[3],
        Kind::Schema => words[4],
        Kind::Type => words[5],
        Kind::Domain => words[6],
        Kind::Database => words[7],
        Kind::Role => words[8],
        Kind::MaterializedView => words[9],
        Kind::Extension => words[10],
        Kind::Policy => words[11],
        Kind::Collation => words[12],
    };
    const DROP: [&str; 13] = [
        "DROP TABLE",
        "DROP INDEX",
        "DROP VIEW",
        "DROP SEQUENCE",
        "DROP SCHEMA",
        "DROP TYPE",
        "DROP DOMAIN",
        "DROP DATABASE",
        "DROP ROLE",
        "DROP MATERIALIZED VIEW",
        "DROP EXTENSION",
        "DROP POLICY",
        "DROP COLLATION",
    ];
    const ALTER: [&str; 13] = [
        "ALTER TABLE",
        "ALTER INDEX",
        "ALTER VIEW",
        "ALTER SEQUENCE",
        "ALTER SCHEMA",
        "ALTER TYPE",
        "ALTER DOMAIN",
        "ALTER DATABASE",
        "ALTER ROLE",
        "ALTER MATERIALIZED VIEW",
        "ALTER EXTENSION",
        "ALTER POLICY",
        "ALTER COLLATION",
    ];
    match define {
        Define::Table(_) => "CREATE TABLE",
        Define::TableAs(create) if create.materialized => "CREATE MATERIALIZED VIEW",
        Define::TableAs(_) => "CREATE TABLE AS",
        Define::Refresh { .. } => "REFRESH MATERIALIZED VIEW",
        Define::Index(_) => "CREATE INDEX",
        Define::Reindex { .. } => "REINDEX",
        Define::Sequence { .. } => "CREATE SEQUENCE",
        Define::Schema { .. } => "CREATE SCHEMA",
        Define::Enum { .. } | Define::Composite { .. } | Define::Range { .. } => "CREATE TYPE",
        Define::Domain { .. } => "CREATE DOMAIN",
        Define::Collation { .. } => "CREATE COLLATION",
        Define::RefreshCollation { .. } => "ALTER COLLATION",
        Define::Extension { .. } => "CREATE EXTENSION",
        Define::UpdateExtension { .. } => "ALTER EXTENSION",
        Define::Policy(_) => "CREATE POLICY",
        Define::AlterPolicy(_) => "ALTER POLICY",
        Define::Database { .. } => "CREATE DATABASE",
        Define::AlterDatabase { .. } => "ALTER DATABASE",
        Define::DropDatabase { .. } => "DROP DATABASE",
        Define::Role { .. } => "CREATE ROLE",
        Define::AlterRole { .. } => "ALTER ROLE",
        Define::AlterSettings { database: Some(_), role: None, .. } => "ALTER DATABASE",
        Define::AlterSettings { .. } => "ALTER ROLE",
        Define::AlterSequence { .. } => "ALTER SEQUENCE",
        Define::AlterEnum { .. } => "ALTER TYPE",
        Define::AlterDomain { .. } => "ALTER DOMAIN",
        Define::Alter { kind, .. }
        | Define::Rename { kind, .. }
        | Define::Owner { kind, .. }
        | Define::SetSchema { kind, .. } => by_kind(kind, ALTER),
        Define::Drop { kind, .. } => by_kind(kind, DROP),
        Define::DropOwned { .. } => "DROP OWNED",
        Define::ReassignOwned { .. } => "REASSIGN OWNED",
        Define::Truncate { .. } => "TRUNCATE TABLE",
        Define::DefaultPrivileges(_) => "ALTER DEFAULT PRIVILEGES",
        Define::Privileges(privileges) => {
            if privileges.grant {
                "GRANT"
            } else {
                "REVOKE"
            }
        }
        Define::Membership { grant, .. } => {
            if *grant {
                "GRANT ROLE"
            } else {
                "REVOKE ROLE"
            }
        }
        Define::Comment { .. } => "COMMENT",
        Define::Unsupported(_) => "",
    }
}

impl Session {
    /// Does a definition.
    pub(crate) fn define(&mut self, define: &Define, portal: &Portal) -> Result<Work> {
        let tag = tag(define);
        if let Define::Unsupported(words) = define {
            return Err(Error::not_supported(words));
        }
        match define {
            Define::Database { .. } | Define::DropDatabase { .. } => {
                self.must_be_alone(tag, portal)?;
            }
            Define::Index(create) if create.concurrently => {
                self.must_be_alone("CREATE INDEX CONCURRENTLY", portal)?;
            }
            Define::Drop { concurrently: true, names, cascade, .. } => {
                if names.len() > 1 || *cascade {
                    let what = if *cascade { "CASCADE" } else { "multiple objects" };
                    let message = match *cascade {
                        false => {
                            format!("DROP INDEX CONCURRENTLY does not support dropping {what}")
                        }
                        true => format!("DROP INDEX CONCURRENTLY does not support {what}"),
                    };
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                self.must_be_alone("DROP INDEX CONCURRENTLY", portal)?;
            }
            _ => {}
        }
        self.look()?;
        self.must_write(tag)?;
        self.lock_defined(define)?;
        let source = Arc::clone(&portal.parsed.source);
        if let Define::Schema { name, if_not_exists: false, owner, elements } = define
            && !elements.is_empty()
        {
            self.create_whole_schema(name.as_ref(), owner.as_ref(), elements, portal)?;
            return Ok(done(tag));
        }
        if let Define::TableAs(create) = define {
            return match create.materialized {
                true => self.create_materialized_view(create, portal),
                false => self.create_table_as(create, portal),
            };
        }
        if let Define::Refresh { name, concurrently, data } = define {
            self.refresh_materialized_view(&source, name, *concurrently, *data)?;
            return Ok(done(tag));
        }
        self.make(&source, |maker| match define {
            Define::Table(create) => table::create(maker, create),
            Define::TableAs(_) | Define::Refresh { .. } | Define::Unsupported(_) => Ok(()),
            Define::Index(create) => index::create_index(maker, create),
            Define::Reindex { name } => index::reindex(maker, name.as_ref()),
            Define::Sequence { name, if_not_exists, temporary, options } => {
                misc::create_sequence(maker, name, *if_not_exists, *temporary, options)
            }
            Define::Schema { name, if_not_exists, owner, .. } => {
                let made =
                    misc::create_schema(maker, name.as_ref(), *if_not_exists, owner.as_ref());
                made.map(drop)
            }
            Define::Enum { name, labels } => misc::create_enum(maker, name, labels),
            Define::Composite { name, fields } => misc::create_composite(maker, name, fields),
            Define::Range { name, subtype, collation, class, difference, multirange } => {
                let functions = (class.as_ref(), difference.as_ref());
                let bounds = (subtype, collation.as_ref());
                misc::create_range(maker, name, bounds, functions, multirange.as_ref())
            }
            Define::Domain { name, base, collation, constraints } => {
                domain::create(maker, name, base, collation.as_ref(), constraints)
            }
            Define::Collation { name, if_not_exists, from: Some(from), .. } => {
                collation::copy(maker, name, *if_not_exists, from)
            }
            Define::Collation { name, if_not_exists, options, .. } => {
                collation::create(maker, name, *if_not_exists, options)
            }
            Define::RefreshCollation { name } => collation::refresh(maker, name),
            Define::Extension { name, if_not_exists, schema, version } => {
                extension::create(maker, name, *if_not_exists, schema.as_ref(), version.as_deref())
            }
            Define::Policy(policy) => policy::create(maker, policy),
            Define::AlterPolicy(policy) => policy::alter(maker, policy),
            Define::UpdateExtension { name, version } => {
                extension::update(maker, name, version.as_deref())
            }
            Define::Database { name, options } => database::create(maker, name, options),
            Define::AlterDatabase { name, options } => database::alter(maker, name, options),
            Define::DropDatabase { name, if_exists, force } => {
                database::drop(maker, name, *if_exists, *force)
            }
            Define::Role { name, login, options } => role::create(maker, name, *login, options),
            Define::AlterRole { name, options } => role::alter(maker, name, options),
            Define::AlterSettings { role, database, name, values } => {
                role::settings(maker, role.as_ref(), database.as_ref(), name.as_deref(), values)
            }
            Define::Alter { kind, name, only, if_exists, actions } => {
                alter::alter(maker, *kind, (name, *only), *if_exists, actions)
            }
            Define::AlterSequence { name, if_exists, options } => {
                misc::alter_sequence(maker, name, *if_exists, options)
            }
            Define::AlterEnum { name, change } => misc::alter_enum(maker, name, change),
            Define::AlterDomain { name, change } => domain::alter(maker, name, change),
            Define::Rename { kind, name, to } => misc::rename(maker, *kind, name, to),
            Define::Owner { kind, name, to } => misc::set_owner(maker, *kind, name, to),
            Define::SetSchema { kind, name, to } => misc::set_schema(maker, *kind, name, to),
            Define::Drop { kind, names, if_exists, cascade, .. } => {
                drop::drop_objects(maker, *kind, names, *if_exists, *cascade)
            }
            Define::DropOwned { roles, cascade } => role::drop_owned(maker, roles, *cascade),
            Define::ReassignOwned { roles, to } => role::reassign_owned(maker, roles, to),
            Define::Truncate { tables, restart, cascade } => {
                drop::truncate(maker, tables, *restart, *cascade)
            }
            Define::Privileges(privileges) => role::privileges(maker, privileges),
            Define::DefaultPrivileges(said) => role::default_privileges(maker, said),
            Define::Membership { grant, roles, members, options } => {
                role::membership(maker, *grant, roles, members, options)
            }
            Define::Comment { kind, name, text } => {
                misc::comment(maker, *kind, name, text.as_deref())
            }
        })?;
        Ok(done(tag))
    }

    /// Runs what changes the catalog, and sees the change.
    pub(crate) fn make<T>(
        &mut self,
        source: &str,
        make: impl FnOnce(&mut DdlContext<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let role = self.names.role;
        self.make_as(role, source, make)
    }

    /// The same with the rights of a role.
    pub(crate) fn make_as<T>(
        &mut self,
        role: Oid,
        source: &str,
        make: impl FnOnce(&mut DdlContext<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        self.show_writes();
        let names = Arc::clone(&self.names);
        let open = self.transaction.as_mut().expect("a transaction was begun");
        let inner = open.inner.as_mut().expect("a transaction that goes on is open");
        let around = StatementContext::of(&self.client, &names, open.started);
        let cache = &self.client.instance.catalogs;
        let draft = open.draft.get_or_insert_with(|| ::table::Draft::new(cache));
        let acting = Acting { role, database: names.database, path: &names.path };
        let ddl = draft.ddl(inner, acting);
        let mut maker = DdlContext {
            before: Arc::clone(ddl.catalog()),
            ddl,
            around: &around,
            names: Arc::clone(&names),
            source,
            checks: &mut open.checks,
            using: Vec::new(),
        };
        let made = make(&mut maker)?;
        self.see_catalog()?;
        Ok(made)
    }
}

impl Session {
    /// Fails if a statement that must be a transaction of its own is not.
    ///
    /// # Errors
    /// `25001`.
    pub(crate) fn must_be_alone(&self, what: &str, portal: &Portal) -> Result<()> {
        let how = if self.client.blocks_depth.get() > 0 {
            "be executed from a function"
        } else if self.is_block() || portal.is_one_of_many {
            "run inside a transaction block"
        } else if !portal.alone {
            "be executed within a pipeline"
        } else {
            return Ok(());
        };
        let message = format!("{what} cannot {how}");
        Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
    }
}
