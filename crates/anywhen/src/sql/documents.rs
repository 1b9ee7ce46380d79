//! The rights of roles of SQL on collections.

use session::{DocumentRights, KnownRole};
use store::TableId;

use crate::{Database, Result};

impl Database {
    /// The role of SQL with a name; `None` if none has it.
    ///
    /// # Errors
    /// Fails if the catalog of SQL cannot be read.
    pub fn sql_role(&self, name: &str) -> Result<Option<KnownRole>> {
        Ok(self.instance()?.role(name))
    }

    /// The rights of a role of SQL on the documents of a collection, which is named by [`Collection::id`];
    /// those of the role `pg_collections`, where no role is given or none has its name.
    ///
    /// # Errors
    /// Fails if the catalog of SQL cannot be read.
    ///
    /// [`Collection::id`]: crate::Collection::id
    pub fn document_rights(
        &self,
        documents: TableId,
        role: Option<&str>,
    ) -> Result<DocumentRights> {
        Ok(self.instance()?.document_rights(documents, role)?)
    }
}
