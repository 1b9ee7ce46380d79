//! Schemas and databases.

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};

use super::{Address, Behavior, Class, Ddl, Entry, Notice};
use crate::catalog::bootstrap::{TEMPLATE1, public_schema};
use crate::catalog::{Acl, AclItem, Database, Key, Privileges, Schema};
use crate::{Error, Result};

/// A change of a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseChange {
    /// `IS_TEMPLATE`.
    pub is_template: Option<bool>,
    /// `ALLOW_CONNECTIONS`.
    pub allows_connections: Option<bool>,
    /// `CONNECTION LIMIT`.
    pub connection_limit: Option<i32>,
}

impl Ddl<'_> {
    /// Makes a schema in the session's database, which belongs to `owner`.
    ///
    /// # Errors
    /// 42P06 where the name is taken, 42939 where it is the system's.
    pub fn create_schema(&mut self, name: &str, owner: Oid) -> Result<Arc<Schema>> {
        self.whole(|ddl| {
            let database = Address::of(Class::Database, ddl.acting.database);
            ddl.check_privilege(database, Privileges::CREATE)?;
            check_schema_name(name)?;
            ddl.make_schema(name, owner)
        })
    }

    /// Makes the schema that a session's temporary tables are in, such as `pg_temp_3`.
    ///
    /// # Errors
    /// 42P06 where there is one of that name.
    pub fn create_temporary_schema(&mut self, name: &str) -> Result<Arc<Schema>> {
        self.whole(|ddl| {
            let database = Address::of(Class::Database, ddl.acting.database);
            if ddl.check_privilege(database, Privileges::TEMPORARY).is_err() {
                let database = ddl.catalog().database(ddl.acting.database);
                let name = database.map_or("???", |database| &database.name);
                let message =
                    format!("permission denied to create temporary tables in database \"{name}\"");
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            let role = ddl.acting.role;
            let schema = ddl.make_schema(name, role)?;
            // The session may act for another role by and by; nobody else can name it.
            let all = AclItem {
                grantee: Oid::NONE,
                grantor: role,
                privileges: Privileges::ALL_SCHEMA,
                grantable: Privileges::NONE,
            };
            let schema = Arc::new(Schema { acl: Some(Acl(vec![all])), ..(*schema).clone() });
            ddl.put(Entry::Schema(Arc::clone(&schema)))?;
            Ok(schema)
        })
    }

    fn make_schema(&mut self, name: &str, owner: Oid) -> Result<Arc<Schema>> {
        let database = self.acting.database;
        self.rely_on(Key::Database(database))?;
        self.rely_on(Key::Role(owner))?;
        self.take_schema_name(database, name)?;
        let acl = self.initial_acl(Oid::NONE, 'n', Class::Schema, Privileges::ALL_SCHEMA);
        let oid = self.new_oid()?;
        let schema = Arc::new(Schema { oid, database, name: name.into(), owner, acl });
        self.put(Entry::Schema(schema.clone()))?;
        Ok(schema)
    }

    pub(super) fn take_schema_name(&mut self, database: Oid, name: &str) -> Result<()> {
        self.draft.lock_name(self.txn, database, name)?;
        match self.catalog().schema_named(database, name) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                SqlState::DUPLICATE_SCHEMA,
                format!("schema \"{name}\" already exists"),
            )),
        }
    }

    /// Makes a database with an empty schema `public`. `template`, which is `template1` where none
    /// is named, must be as empty: objects of another database are not copied.
    ///
    /// # Errors
    /// 42P04 where the name is taken, 42501 where the role may not make databases, or not for that
    /// owner, or not of that template, 0A000 where there is something in the template.
    pub fn create_database(
        &mut self,
        name: &str,
        owner: Oid,
        template: Option<Oid>,
        change: DatabaseChange,
    ) -> Result<Arc<Database>> {
        self.whole(|ddl| {
            let role = ddl.catalog().role(ddl.acting.role);
            if !role.is_some_and(|role| role.may.superuser || role.may.create_db) {
                let message = "permission denied to create database";
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            ddl.check_may_become(owner)?;
            let template = ddl.database(template.unwrap_or(TEMPLATE1))?;
            if !template.is_template {
                ddl.check_owner(Address::of(Class::Database, template.oid)).map_err(|_| {
                    let message =
                        format!("permission denied to copy database \"{}\"", template.name);
                    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                })?;
            }
            if !ddl.catalog().is_empty(template.oid) {
                let message = "copying the contents of a template database is not supported";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail(format!(
                        "There are objects in the database \"{}\".",
                        template.name
                    ))
                    .with_hint("Use TEMPLATE template0 for an empty database.");
                return Err(error.into());
            }
            ddl.rely_on(Key::Role(owner))?;
            ddl.take_database_name(name)?;
            let oid = ddl.new_oid()?;
            let database = Arc::new(Database {
                oid,
                name: name.into(),
                owner,
                acl: None,
                is_template: change.is_template.unwrap_or(false),
                allows_connections: change.allows_connections.unwrap_or(true),
                connection_limit: change.connection_limit.unwrap_or(-1),
            });
            ddl.put(Entry::Database(database.clone()))?;
            for entry in public_schema(ddl.new_oid()?, oid) {
                ddl.put(entry)?;
            }
            Ok(database)
        })
    }

    pub(super) fn take_database_name(&mut self, name: &str) -> Result<()> {
        self.draft.lock_name(self.txn, Oid::NONE, name)?;
        match self.catalog().database_named(name) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                SqlState::DUPLICATE_DATABASE,
                format!("database \"{name}\" already exists"),
            )),
        }
    }

    /// Changes what a database allows.
    ///
    /// # Errors
    /// 42501 where it is not the role's.
    pub fn change_database(&mut self, database: Oid, change: DatabaseChange) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Database, database))?;
            let mut database = Database::clone(&*ddl.database(database)?);
            if let Some(is_template) = change.is_template {
                database.is_template = is_template;
            }
            if let Some(allows) = change.allows_connections {
                database.allows_connections = allows;
            }
            if let Some(limit) = change.connection_limit {
                database.connection_limit = limit;
            }
            ddl.put(Entry::Database(Arc::new(database)))
        })
    }

    fn database(&self, oid: Oid) -> Result<Arc<Database>> {
        self.catalog().database(oid).cloned().ok_or_else(|| {
            let message = format!("database with OID {oid} does not exist");
            Error::new(SqlState::INVALID_CATALOG_NAME, message)
        })
    }

    /// Whether the role may drop a database.
    ///
    /// # Errors
    /// 42501 where it is not the role's, 55006 for the session's own, 42809 for a template.
    pub fn may_drop_database(&self, database: Oid) -> Result<()> {
        self.check_owner(Address::of(Class::Database, database))?;
        if self.database(database)?.is_template {
            let message = "cannot drop a template database";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if database == self.acting.database {
            let message = "cannot drop the currently open database";
            return Err(Error::new(SqlState::OBJECT_IN_USE, message));
        }
        Ok(())
    }

    /// Drops a database with all that is in it. The caller makes sure that no session is connected.
    ///
    /// # Errors
    /// As [`Ddl::may_drop_database`].
    pub fn drop_database(&mut self, database: Oid) -> Result<()> {
        self.whole(|ddl| {
            let object = Address::of(Class::Database, database);
            ddl.may_drop_database(database)?;
            let schemas: Vec<Address> = ddl
                .catalog()
                .schemas()
                .filter(|schema| schema.database == database)
                .map(|schema| Address::of(Class::Schema, schema.oid))
                .collect();
            ddl.drop_contents(&schemas)?;
            let settings: Vec<Key> = ddl
                .catalog()
                .settings()
                .filter(|settings| settings.database == database)
                .map(|settings| Key::Settings { database, role: settings.role })
                .collect();
            settings.into_iter().try_for_each(|key| ddl.remove(key))?;
            ddl.remove_comment(object)?;
            ddl.remove(Key::Database(database))
        })
    }

    /// Drops objects and all that hangs on them, whatever role owns them.
    fn drop_contents(&mut self, objects: &[Address]) -> Result<Option<Notice>> {
        let role = std::mem::replace(&mut self.acting.role, crate::catalog::POSTGRES_ROLE);
        let dropped = self.drop_objects(objects, Behavior::Cascade);
        self.acting.role = role;
        dropped
    }
}

/// A schema may be called that by a user.
pub(super) fn check_schema_name(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let message = format!("unacceptable schema name \"{name}\"");
    let detail = "The prefix \"pg_\" is reserved for system schemas.";
    Err(SqlError::new(SqlState::RESERVED_NAME, message).with_detail(detail).into())
}

impl crate::Catalog {
    /// True if there is nothing in a database but its empty schema `public`.
    fn is_empty(&self, database: Oid) -> bool {
        let is_in = |schema: Oid| self.schema(schema).is_some_and(|it| it.database == database);
        self.schemas().all(|schema| schema.database != database || *schema.name == *"public")
            && !self.relations().any(|relation| is_in(relation.schema))
            && !self.types().any(|(_, entry)| is_in(entry.schema()))
            && self.extensions_of(database).next().is_none()
    }
}
