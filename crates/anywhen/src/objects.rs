//! Storages of ZODB's objects, each in a schema of SQL.

use std::sync::Arc;

pub use object::{
    Changed, Conflict, Finished, Found, Loaded, Meta, ObjectRecord, Packed, Revision, Step, Storage,
};
pub use object::{Tid, TransactionInfo, Write, Writing};

use crate::{Database, Result};

impl Database {
    /// Returns the storage of objects in a schema of SQL; `None` if there is none.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn objects(&self, schema: &str) -> Result<Option<Arc<Storage>>> {
        // Indexes may have expressions.
        #[cfg(feature = "sql")]
        self.instance()?;
        Ok(self.shared.objects.named(schema)?)
    }

    /// Makes a storage of objects in a new schema of SQL. Without history, old records are kept for ten minutes only.
    ///
    /// # Errors
    /// `42P06` where there is such a schema.
    #[cfg(feature = "sql")]
    pub fn create_objects(&self, schema: &str, keeps_history: bool) -> crate::sql::Result<()> {
        self.connect()?.batch(&Storage::definition(schema, keeps_history)).map(drop)
    }
}
