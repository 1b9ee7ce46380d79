//! Extensions.

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};

use super::{Address, Class, Ddl, Entry};
use crate::catalog::{Comment, Extension, Key, Privileges};
use crate::{Error, Result};

impl Ddl<'_> {
    /// Gives the session's database an extension, whose objects are in `schema`.
    ///
    /// # Errors
    /// 42710 if the database has it, 42501 if the role may not make it.
    pub fn create_extension(
        &mut self,
        known: &'static ::types::Extension,
        schema: Oid,
    ) -> Result<Arc<Extension>> {
        self.whole(|ddl| {
            let (role, database) = (ddl.acting.role, ddl.acting.database);
            ddl.check_may_create(known)?;
            ddl.rely_on(Key::Database(database))?;
            ddl.rely_on(Key::Role(role))?;
            ddl.rely_on(Key::Schema(schema))?;
            // The name is taken in a namespace that has no objects of other kinds.
            ddl.draft.lock_name(
                ddl.txn,
                Class::Extension.oid(),
                &format!("{database} {}", known.name),
            )?;
            if ddl.catalog().extension_named(database, known.name).is_some() {
                let message = format!("extension \"{}\" already exists", known.name);
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            let types = ::types::builtin::all().iter();
            for facts in types.filter(|facts| known.numbers().contains(&facts.ty.oid().0)) {
                ddl.take_type_name(schema, facts.name)?;
            }
            let extension = Arc::new(Extension {
                oid: ddl.new_oid()?,
                database,
                name: known.name.into(),
                schema,
                owner: role,
                version: known.version.into(),
            });
            ddl.put(Entry::Extension(extension.clone()))?;
            let object = Address::of(Class::Extension, extension.oid);
            ddl.put(Entry::Comment(Arc::new(Comment { object, text: known.comment.into() })))?;
            Ok(extension)
        })
    }

    /// Fails with 42501 if the role may not make an extension.
    fn check_may_create(&self, known: &::types::Extension) -> Result<()> {
        if self.catalog().is_superuser(self.acting.role) {
            return Ok(());
        }
        let database = Address::of(Class::Database, self.acting.database);
        if known.is_trusted && self.check_privilege(database, Privileges::CREATE).is_ok() {
            return Ok(());
        }
        let message = format!("permission denied to create extension \"{}\"", known.name);
        let hint = match known.is_trusted {
            true => "Must have CREATE privilege on current database to create this extension.",
            false => "Must be superuser to create this extension.",
        };
        let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        Err(error.with_hint(hint).into())
    }

    /// Fails with 42501 if an extension is not the role's.
    ///
    /// # Errors
    /// As told.
    pub fn check_extension_owner(&self, extension: &Extension) -> Result<()> {
        self.check_owner(Address::of(Class::Extension, extension.oid))
    }

    /// Keeps an extension of the database from being dropped until the transaction ends.
    pub(super) fn rely_on_extension(&mut self, known: &::types::Extension) -> Result<()> {
        let found = self.catalog().extension_named(self.acting.database, known.name);
        if let Some(oid) = found.map(|extension| extension.oid) {
            self.rely_on(Key::Extension(oid))?;
        }
        // Another transaction may have dropped it until the lock was free.
        match self.catalog().extension_named(self.acting.database, known.name) {
            Some(_) => Ok(()),
            None => {
                let message = format!("extension \"{}\" does not exist", known.name);
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// Fails with 0A000 for an object of an extension, which goes with the extension.
    pub(super) fn check_no_member(&self, object: Address) -> Result<()> {
        match ::types::extension::of(object.oid) {
            Some(known) => Err(super::not_supported(format!(
                "changing {}, which belongs to extension {}",
                self.scope().describe(object),
                known.name
            ))),
            None => Ok(()),
        }
    }
}
