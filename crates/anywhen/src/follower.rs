//! Followers: databases that take the commits of another one.
//!
//! ```
//! # fn main() -> anywhen::Result<()> {
//! use anywhen::{Database, Lsn};
//! let leader = Database::open_in_memory()?;
//! let follower = Database::follow_in_memory()?;
//! leader.collection("articles")?.put("a1", r#"{"title": "Hello"}"#)?;
//!
//! let mut from = Lsn(0);
//! for record in leader.records(from)? {
//!     let (end, bytes) = record?;
//!     follower.apply(&[bytes])?;
//!     from = end;
//! }
//! let article = follower.collection("articles")?.get("a1")?.unwrap();
//! assert_eq!(article.to_json()?, r#"{"title":"Hello"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! A follower answers everything as its leader did at the same commit: documents, SQL, the past, changes.
//! It refuses writes (SQLSTATE 25006). It is durable like any other database: a follower that was killed
//! goes on with the first record that it does not have.

use crate::{Database, Error, Result};
use log::Lsn;
use store::Csn;

impl Database {
    /// Makes a follower that lives in memory and is gone when it is dropped.
    pub fn follow_in_memory() -> Result<Database> {
        Database::in_memory(true)
    }

    /// True for a follower.
    pub fn is_follower(&self) -> bool {
        self.engine().is_follower()
    }

    /// The durable records of the log from `from` on, each with the position just past it: what a
    /// follower is to be given. `from` is 0 or a position that came with a record.
    ///
    /// # Errors
    /// [`Error::Engine`] where a checkpoint has removed the log at `from`: the follower then begins with
    /// a backup. The records themselves report damage of the log.
    pub fn records(&self, from: Lsn) -> Result<impl Iterator<Item = Result<(Lsn, Vec<u8>)>> + '_> {
        let log = |error| Error::Engine(txn::EngineError::Log(error));
        Ok(self.engine().records(from)?.map(move |record| record.map_err(log)))
    }

    /// Takes in commits of the leader, given as the records of its log in their order
    /// ([`Database::records`]); those that the follower has are passed over. They are durable here, and
    /// visible, when this returns. Returns the newest commit. Records of a few MB together are enough for
    /// a call.
    ///
    /// # Errors
    /// [`Error::Engine`] where this is no follower (55000), a commit is missing before a record, a record
    /// does not decode, or the disk fails.
    pub fn apply<R: AsRef<[u8]>>(&self, records: &[R]) -> Result<Csn> {
        #[cfg(feature = "sql")]
        let _nothing_opens = self.shared.applying.read();
        let newest = self.engine().apply(records)?;
        let store = self.engine().store();
        self.shared.catalog.settle(store);
        #[cfg(feature = "sql")]
        self.shared.sql_tables.settle(store);
        Ok(newest)
    }
}
