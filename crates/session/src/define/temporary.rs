//! Temporary tables, views and sequences.
//!
//! ```text
//!   session 3   CREATE TEMP TABLE t ──> pg_temp_3.t      found before all others by session 3 alone
//!   its end, or the next opening of the database ──> pg_temp_3 is dropped
//! ```
//!
//! Temporary tables are like all others, in a schema of the session, and keep no past unless they
//! are told to. The session remembers the effect of a transaction's end on them (`ON COMMIT`).

use std::sync::Arc;

use ::table::catalog::ddl::{Acting, Behavior};
use ::table::catalog::{Address, Class, Persistence, Schema};
use ::table::method::ColumnSet;
use ::table::rows::{Batch, Change, Cursor};
use sql::parse::ast::Path;
use store::Retention;
use types::{Datum, Oid, SqlState};

use super::DdlContext;
use crate::client::StatementContext;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::instance::Instance;
use crate::names::TEMPORARY;
use crate::session::Session;
use crate::system::OWNER;

/// How many rows are deleted at once.
const ROWS_AT_ONCE: usize = 500;

/// The effect of a transaction's end on a temporary table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnCommit {
    DeleteRows,
    Drop,
}

/// How much of its past a table keeps where nothing is said of it.
pub(crate) fn usual_history(persistence: Persistence) -> Retention {
    match persistence {
        Persistence::Temporary => Retention::None,
        _ => Retention::default(),
    }
}

impl DdlContext<'_, '_> {
    /// The schema and the name that a new relation is to have, and how long it lives.
    pub fn new_relation<'n>(
        &mut self,
        path: &'n Path,
        temporary: bool,
    ) -> Result<(Oid, &'n str, Persistence)> {
        let own = self.names.temporary;
        let is_own = |schema: Option<Oid>| schema.is_some() && schema == own;
        let split = self.names.split(path).map_err(|error| self.at(error, Some(path.at())))?;
        let in_own = match split.0 {
            None => temporary || is_own(self.names.explicit.first().copied()),
            Some(schema) => schema == "pg_temp" || is_own(self.names.schema_oid(schema)),
        };
        if in_own {
            return Ok((self.temporary_schema()?, path.last(), Persistence::Temporary));
        }
        if temporary {
            let message = "cannot create temporary relation in non-temporary schema";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let (schema, name) = self.new_name(path)?;
        Ok((schema, name, Persistence::Permanent))
    }

    /// The schema of the session's temporary objects, which is made where there is none.
    fn temporary_schema(&mut self) -> Result<Oid> {
        if let Some(schema) = self.names.temporary {
            return Ok(schema);
        }
        let name = format!("{TEMPORARY}{}", self.names.process);
        let made = self.ddl.create_temporary_schema(&name)?;
        self.see();
        Ok(made.oid)
    }

    /// Remembers what `ON COMMIT` says of a table that was just made.
    pub fn on_commit(
        &self,
        table: Oid,
        persistence: Persistence,
        said: Option<&'static str>,
    ) -> Result<()> {
        if said.is_some() && persistence != Persistence::Temporary {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let what = match said {
            Some("delete rows") => OnCommit::DeleteRows,
            Some("drop") => OnCommit::Drop,
            _ => return Ok(()),
        };
        self.around.client.on_commit.borrow_mut().push((table, what));
        Ok(())
    }
}

impl Session {
    /// Does to temporary tables what the end of the transaction is to do to them.
    pub(crate) fn end_temporary(&mut self) -> Result<()> {
        if self.client.on_commit.get_mut().is_empty() {
            return Ok(());
        }
        self.look()?;
        let catalog = Arc::clone(&self.names.present);
        let all = self.client.on_commit.get_mut();
        all.retain(|(table, _)| catalog.relation(*table).is_some());
        let all = all.clone();
        for (table, _) in all.iter().filter(|(_, what)| *what == OnCommit::DeleteRows) {
            self.delete_all(*table)?;
        }
        let dropped = all.iter().filter(|(_, what)| *what == OnCommit::Drop);
        let dropped: Vec<Address> = dropped.map(|(table, _)| Address::relation(*table)).collect();
        if !dropped.is_empty() {
            // The session may act for another role than the one that made them.
            self.make_as(OWNER, "", |maker| {
                Ok(maker.ddl.drop_objects(&dropped, Behavior::Cascade)?)
            })?;
        }
        Ok(())
    }

    /// Deletes all rows of a table.
    fn delete_all(&mut self, table: Oid) -> Result<()> {
        let names = Arc::clone(&self.names);
        let handles = Arc::clone(&self.client.instance.handles);
        let Some(found) = handles.table(&names.present, table) else { return Ok(()) };
        let open = self.transaction.as_mut().expect("a transaction was begun");
        let txn = open.inner.as_mut().expect("a transaction that goes on is open");
        let around = StatementContext::of(&self.client, &names, open.started);
        let evaluator = Evaluator::new(&around, &names);
        let mut values = evaluator.values();
        open.checks.set_catalog(Arc::clone(&names.present));
        let mut cursor = Cursor::over(&found, txn::KeyRange::ALL, false);
        let mut batch = Batch::new();
        let mut count = 0;
        while !cursor.is_at_end() {
            batch.clear();
            cursor.fill(txn.view(), ColumnSet::All, &mut batch, ROWS_AT_ONCE)?;
            for row in batch.iter() {
                let old: Vec<Datum> = row.to_datums()?;
                let mut change = Change { txn, values: &mut values, checks: &mut open.checks };
                found.delete(&mut change, row.key(), &old)?;
                count += 1;
            }
        }
        open.checks.end_statement(txn, &mut values)?;
        txn.note_rows(found.storage(), -count);
        Ok(())
    }

    /// Drops what is left of the session's temporary objects, in the transaction that is open.
    pub(crate) fn discard_temporary(&mut self) -> Result<()> {
        self.look()?;
        let Some(schema) = self.names.temporary else { return Ok(()) };
        let schema = Address::of(Class::Schema, schema);
        // The session may act for another role than the one that made them.
        self.make_as(OWNER, "", |maker| {
            Ok(maker.ddl.drop_objects(&[schema], Behavior::Cascade)?)
        })?;
        Ok(())
    }

    /// Drops the session's temporary objects when it ends.
    pub(crate) fn drop_temporary(&mut self) {
        let (instance, slot) = (&self.client.instance, &self.client.slot);
        let name = format!("{TEMPORARY}{}", slot.process);
        if let Some(schema) = instance.catalogs.newest().schema_named(slot.database, &name) {
            // If this fails, the next opening of the database does it.
            let _ = instance.drop_temporary(schema);
        }
    }
}

impl Instance {
    /// Drops the temporary objects of all sessions.
    pub(crate) fn drop_all_temporary(&self) -> Result<()> {
        let catalog = self.catalogs.newest();
        let mut schemas = catalog.schemas().filter(|schema| schema.name.starts_with(TEMPORARY));
        schemas.try_for_each(|schema| self.drop_temporary(schema))
    }

    /// Drops a schema of temporary objects with all that is in it.
    fn drop_temporary(&self, schema: &Schema) -> Result<()> {
        let mut txn = self.engine.begin(txn::Isolation::ReadCommitted);
        let mut draft = ::table::Draft::new(&self.catalogs);
        let acting = Acting { role: OWNER, database: schema.database, path: &[] };
        let object = Address::of(Class::Schema, schema.oid);
        draft.ddl(&mut txn, acting).drop_objects(&[object], Behavior::Cascade)?;
        draft.publish(&mut txn)?;
        txn.commit(txn::CommitMeta::default())?;
        self.catalogs.tables().settle(self.engine.store());
        Ok(())
    }
}
