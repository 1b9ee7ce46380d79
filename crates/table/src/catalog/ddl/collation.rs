//! Collations.

use std::sync::Arc;

use ::types::{Oid, SqlState};
use txn::RowLock;

use super::{Address, Class, Ddl, Entry};
use crate::catalog::{Collation, Key};
use crate::{Error, Result};

impl Ddl<'_> {
    /// Makes a collation. Its number and its owner are set here.
    ///
    /// # Errors
    /// 42710 where the name is taken.
    pub fn create_collation(&mut self, collation: Collation) -> Result<Arc<Collation>> {
        self.whole(|ddl| {
            let (schema, name) = (collation.schema, collation.name.clone());
            ddl.schema_to_create_in(schema, &name)?;
            ddl.draft.lock_name(ddl.txn, schema, &name)?;
            if ddl.catalog().collation_named(schema, &name).is_some() {
                let message = format!("collation \"{name}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            let (oid, owner) = (ddl.new_oid()?, ddl.acting.role);
            let made = Arc::new(Collation { oid, owner, ..collation });
            ddl.put(Entry::Collation(Arc::clone(&made)))?;
            Ok(made)
        })
    }

    /// Sets the version of the rules that a collation was made with.
    ///
    /// # Errors
    /// 42501 where it is not the role's.
    pub fn set_collation_version(&mut self, oid: Oid, version: &str) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Collation, oid))?;
            let known = ddl.collation_to_change(oid)?;
            let version = Some(version.into());
            ddl.put(Entry::Collation(Arc::new(Collation { version, ..(*known).clone() })))
        })
    }

    pub(super) fn rename_collation(&mut self, oid: Oid, name: &str) -> Result<()> {
        let known = self.collation_to_change(oid)?;
        self.take_collation_name(known.schema, name)?;
        let object = Address::of(Class::Collation, oid);
        self.retext(object, |text| text.renamed(object, name))?;
        self.put(Entry::Collation(Arc::new(Collation { name: name.into(), ..(*known).clone() })))
    }

    pub(super) fn move_collation(&mut self, oid: Oid, schema: Oid) -> Result<()> {
        let known = self.collation_to_change(oid)?;
        if known.schema == schema {
            return Ok(());
        }
        self.schema_to_create_in(schema, &known.name)?;
        self.take_collation_name(schema, &known.name)?;
        let (object, to_name) = (Address::of(Class::Collation, oid), self.schema_name(schema));
        self.retext(object, |text| text.moved(object, known.schema, schema, &to_name))?;
        self.put(Entry::Collation(Arc::new(Collation { schema, ..(*known).clone() })))
    }

    /// Takes a name that a collation which exists is to have.
    fn take_collation_name(&mut self, schema: Oid, name: &str) -> Result<()> {
        self.draft.lock_name(self.txn, schema, name)?;
        if self.catalog().collation_named(schema, name).is_none() {
            return Ok(());
        }
        let schema = self.schema_name(schema);
        let message = format!("collation \"{name}\" already exists in schema \"{schema}\"");
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    }

    fn collation_to_change(&mut self, oid: Oid) -> Result<Arc<Collation>> {
        self.draft.lock(self.txn, Key::Collation(oid), RowLock::NoKeyUpdate)?;
        self.catalog().collation(oid).cloned().ok_or_else(|| {
            let message = format!("collation with OID {oid} does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// Fails with 0A000 where keys that are told apart by their bytes would have a collation to which texts are
    /// equal that are not the same.
    pub(super) fn check_key_collation(&self, oid: Oid, by_bytes: bool) -> Result<()> {
        let found = self.catalog().collation(oid).filter(|_| by_bytes);
        match found.filter(|collation| !collation.is_deterministic) {
            Some(collation) => Err(super::not_supported(format!(
                "such a unique index with the nondeterministic collation \"{}\"",
                collation.name
            ))),
            None => Ok(()),
        }
    }

    /// Keeps a collation from being dropped until the transaction ends.
    pub(super) fn rely_on_collation(&mut self, oid: Oid) -> Result<()> {
        match self.catalog().collation(oid).is_some() {
            true => self.rely_on(Key::Collation(oid)),
            false => Ok(()),
        }
    }
}
