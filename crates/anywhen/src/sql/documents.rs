//! Tables `USING document` as collections.

use std::sync::Arc;

use session::{DocumentRights, FindCollection, KnownRole};
use store::TableId;
use types::SqlState;

use crate::changes::Ended;
use crate::{Collection, Csn, Database, Result, Retention};

/// True for the number of a collection that is a table `USING document`, or was one: [`Collection::id`].
pub fn is_table(documents: TableId) -> bool {
    table::Tables::has_documents(documents)
}

impl Database {
    /// The role of SQL with a name; `None` where none has it.
    ///
    /// # Errors
    /// Where the catalog of SQL cannot be read.
    pub fn sql_role(&self, name: &str) -> Result<Option<KnownRole>> {
        match self.has_no_sql()? {
            // It comes with the catalog, which is made for those who use SQL alone.
            true => {
                Ok((name == super::USER)
                    .then_some(KnownRole { may_login: true, is_superuser: true }))
            }
            false => Ok(self.instance()?.role(name)),
        }
    }

    /// What a role of SQL may do with the documents of a table `USING document`, which is named by
    /// [`Collection::id`]; what everybody may, where no role is given or none has its name. `None` where the
    /// collection is no table of SQL: then nothing is granted there, and nothing refused.
    ///
    /// # Errors
    /// Where the catalog of SQL cannot be read.
    pub fn document_rights(
        &self,
        documents: TableId,
        role: Option<&str>,
    ) -> Result<Option<DocumentRights>> {
        match is_table(documents) {
            true => Ok(self.instance()?.document_rights(documents, role)),
            false => Ok(None),
        }
    }

    /// What finds collections for SQL; it keeps no database open.
    pub(super) fn finder(&self) -> FindCollection {
        let shared = Arc::downgrade(&self.shared);
        Arc::new(move |name, at| {
            let Some(shared) = shared.upgrade() else { return Ok(None) };
            let found = Database { shared }.find_collection_at(name, at);
            found.map_err(|error| types::Error::new(SqlState::IO_ERROR, error.to_string()))
        })
    }

    /// The table of documents that a collection's name means, where there is SQL in the database.
    pub(crate) fn table_of_documents(&self, name: &str) -> Result<Option<Collection>> {
        if self.has_no_sql()? {
            return Ok(None);
        }
        Ok(self.instance()?.documents(name))
    }

    /// The same as of a commit.
    pub(crate) fn table_of_documents_at(&self, name: &str, at: Csn) -> Result<Option<Collection>> {
        if self.has_no_sql()? {
            return Ok(None);
        }
        Ok(self.instance()?.documents_at(name, at)?)
    }

    /// The names of all of them.
    pub(crate) fn tables_of_documents(&self) -> Result<Vec<String>> {
        if self.has_no_sql()? {
            return Ok(Vec::new());
        }
        Ok(self.instance()?.documents_names())
    }

    /// The documents that tables have given up by the commits after `after` up to `to`.
    pub(crate) fn tables_given_up(&self, after: Csn, to: Csn) -> Result<Vec<Ended>> {
        if self.has_no_sql()? {
            return Ok(Vec::new());
        }
        let found = self.instance()?.documents_given_up(after, to)?.into_iter();
        Ok(found
            .map(|session::GivenUp { name, collection, is_dropped }| Ended {
                name,
                collection,
                is_dropped,
            })
            .collect())
    }

    /// True where nobody has asked for SQL yet: asking would make its catalog.
    fn has_no_sql(&self) -> Result<bool> {
        if self.shared.instance.lock().is_some() {
            return Ok(false);
        }
        let exists = table::CatalogCache::exists(self.engine());
        Ok(!exists.map_err(|_| crate::Error::Catalog("whether there is one of SQL"))?)
    }

    /// Keeps another part of the past of a table of documents; false where there is none of that name.
    pub(crate) fn set_history_of_table(&self, name: &str, history: Retention) -> Result<bool> {
        let Some(table) = self.quoted(name)? else { return Ok(false) };
        let history = match history {
            Retention::Forever => "forever".to_owned(),
            Retention::None => "none".to_owned(),
            Retention::For(age) => format!("{} microseconds", age.as_micros()),
        };
        let alter = format!("ALTER TABLE {table} SET (history = '{history}')");
        self.connect()?.execute(&alter, &[])?;
        Ok(true)
    }

    /// Drops a table of documents, and erases its past where it is purged; false where there is none of
    /// that name.
    pub(crate) fn drop_table(&self, name: &str, purge: bool) -> Result<bool> {
        let Some(table) = self.quoted(name)? else { return Ok(false) };
        let mut session = self.connect()?;
        let drop = format!("DROP TABLE {table}");
        let erase = format!("ERASE FROM {table}");
        let statements = match purge {
            true => vec!["BEGIN", &erase, &drop, "COMMIT"],
            false => vec![&*drop],
        };
        for statement in statements {
            session.execute(statement, &[])?;
        }
        Ok(true)
    }

    /// The name of a table of documents as SQL writes it; `None` where there is no such table.
    fn quoted(&self, name: &str) -> Result<Option<String>> {
        if self.has_no_sql()? {
            return Ok(None);
        }
        let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let table = self.instance()?.document_table(name);
        Ok(table
            .map(|table| format!("{}.{}", quote(table.schema()), quote(&table.relation().name))))
    }
}
