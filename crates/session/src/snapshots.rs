//! Snapshots that transactions hand to each other: `pg_export_snapshot()` and `SET TRANSACTION SNAPSHOT`.
//!
//! ```text
//!   A  BEGIN; SELECT pg_export_snapshot()  ──> 00000003-0000001B-1   commit 90 is held
//!   B  BEGIN ISOLATION LEVEL REPEATABLE READ;
//!      SET TRANSACTION SNAPSHOT '00000003-0000001B-1'                B reads at commit 90
//!   A  COMMIT                              ──> the name is gone, B reads on
//! ```
//!
//! So several sessions read one state of the database, as the workers of `pg_dump -j` do. A snapshot is
//! the number of a commit: what A itself has written and not committed is not in it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use store::Csn;
use txn::{Isolation, Snapshot};
use types::{Error, Oid, Result, SqlState};

use crate::client::Client;

/// The snapshots that running transactions have exported, by their names.
#[derive(Default)]
pub(crate) struct Exported(Mutex<HashMap<String, Arc<Export>>>);

/// A snapshot that others may take.
pub(crate) struct Export {
    /// The newest commit that it sees. The session that imports it holds that commit before the exporting
    /// one lets it go.
    pub csn: Csn,
    pub database: Oid,
    /// True if the transaction that exported it is serializable.
    pub is_serializable: bool,
    _held: Snapshot,
}

/// A name that is gone once this is dropped.
pub(crate) struct ExportName {
    exported: Arc<Exported>,
    name: String,
}

impl Drop for ExportName {
    fn drop(&mut self) {
        self.exported.0.lock().remove(&self.name);
    }
}

impl Exported {
    /// The snapshot of this name.
    ///
    /// # Errors
    /// `22023` if the name is no name of a snapshot, `42704` if no such snapshot exists.
    pub fn find(&self, name: &str) -> Result<Arc<Export>> {
        let is_name = |c: char| {
            c == '-' || c.is_ascii_digit() || c.is_ascii_uppercase() && c.is_ascii_hexdigit()
        };
        if name.is_empty() || !name.chars().all(is_name) {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        self.0.lock().get(name).cloned().ok_or_else(|| {
            let message = format!("snapshot \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }
}

impl Client {
    /// Exports the snapshot of the running statement until the transaction ends; its name.
    ///
    /// # Errors
    /// `25001` within a savepoint, and the errors of the engine.
    pub fn export_snapshot(&self) -> Result<String> {
        if self.in_savepoint.get() {
            let message = "cannot export a snapshot from a subtransaction";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let csn = self.seen.get();
        let held = self.instance.engine.snapshot_at(csn);
        let held = held.map_err(|error| crate::error::Error::from(error).cause)?;
        let isolation = self.settings.borrow().text("transaction_isolation").to_owned();
        let export = Export {
            csn,
            database: self.database_oid,
            is_serializable: isolation == "serializable",
            _held: held,
        };
        let mut names = self.exported.borrow_mut();
        let (process, transaction) = (self.slot.process, self.transaction.get());
        let name = format!("{process:08X}-{transaction:08X}-{}", names.len() + 1);
        let exported = Arc::clone(&self.instance.exported);
        exported.0.lock().insert(name.clone(), Arc::new(export));
        names.push(ExportName { exported, name: name.clone() });
        Ok(name)
    }
}

impl Export {
    /// Fails if a transaction of a level cannot read it.
    ///
    /// # Errors
    /// `0A000`.
    pub fn check(&self, database: Oid, isolation: Isolation, is_read_only: bool) -> Result<()> {
        let refuse = |message| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        if isolation == Isolation::Serializable && !self.is_serializable {
            return refuse(
                "a serializable transaction cannot import a snapshot from a non-serializable \
                 transaction",
            );
        }
        if isolation == Isolation::Serializable && !is_read_only {
            return refuse(
                "a serializable transaction that is not read-only cannot import a snapshot",
            );
        }
        if database != self.database {
            return refuse("cannot import a snapshot from a different database");
        }
        Ok(())
    }
}
