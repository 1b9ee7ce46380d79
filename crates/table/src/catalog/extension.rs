//! The extensions of a database: where names of their objects are found, and what depends on these.
//!
//! ```text
//!   entry of the catalog   hstore, schema public, database 5      CREATE EXTENSION hstore
//!   types::extension       hstore has the numbers 15360 .. 15615
//!   public.hstore          ──> 15360      found, because the entry has this schema
//! ```

use std::sync::Arc;

use types::{Oid, Origins, Type, builtin, extension};

use super::depend::Reference;
use super::{Catalog, Extension};

impl Catalog {
    /// The extensions of a database, in the order in which they are listed in [`extension::ALL`].
    pub fn extensions_of(&self, database: Oid) -> impl Iterator<Item = &Arc<Extension>> {
        extension::ALL.iter().filter_map(move |known| self.extension_named(database, known.name))
    }

    /// The extension of a database that an object belongs to.
    pub fn extension_with(&self, database: Oid, object: Oid) -> Option<&Arc<Extension>> {
        self.extension_named(database, extension::of(object)?.name)
    }

    /// The extensions of a database whose schema `is_looked_in`.
    pub fn origins(&self, database: Oid, is_looked_in: impl Fn(Oid) -> bool) -> Origins {
        let found = self.extensions_of(database).filter(|extension| is_looked_in(extension.schema));
        found.filter_map(|extension| extension.known()).fold(Origins::NONE, Origins::with)
    }

    /// The type of an extension with this name in a schema.
    pub fn extension_type_named(&self, schema: Oid, name: &str) -> Option<Type> {
        let database = self.schema(schema)?.database;
        let origins = self.origins(database, |other| other == schema);
        (origins != Origins::NONE)
            .then(|| builtin::by_name_in(name, origins))?
            .map(|facts| facts.ty)
    }

    /// Returns the references to the objects of an extension in its database.
    pub(crate) fn dependents_of_extension<'c>(
        &'c self,
        extension: &Extension,
    ) -> impl Iterator<Item = &'c Reference> + use<'c> {
        let database = extension.database;
        let numbers = extension.known().map_or(0..0, |known| known.numbers());
        let all = numbers.flat_map(|number| self.dependents(Oid(number)));
        all.filter(move |reference| self.database_with(reference.from) == Some(database))
    }
}
