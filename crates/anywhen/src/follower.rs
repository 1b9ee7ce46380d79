//! Followers: databases that take the commits of another one.
//!
//! ```
//! # fn main() -> anywhen::Result<()> {
//! use anywhen::{Database, Lsn};
//! let leader = Database::open_in_memory()?;
//! let follower = Database::follow_in_memory()?;
//! leader.collection("articles")?.put("a1", r#"{"title": "Hello"}"#)?;
//!
//! let mut from = Lsn::START;
//! // The leader may write its files and cut its log: not what the follower has yet to take.
//! let hold = leader.hold_log(from)?;
//! for record in leader.records(from)? {
//!     let (end, bytes) = record?;
//!     // What a large transaction wrote is in files that the record names.
//!     follower.adopt(&bytes, |file, offset, part| leader.read_file(file, offset, part))?;
//!     follower.apply(&[bytes])?;
//!     from = end;
//!     hold.advance(from);
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
use txn::LogHold;

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
    /// follower is to be given. `from` is
    /// [`Lsn::START`] or a position that came with a record.
    ///
    /// # Errors
    /// [`Error::Engine`] where a checkpoint has removed the log at `from`, because no hold kept it
    /// ([`Database::hold_log`]): the follower then begins with a backup. The records themselves report damage of the log.
    pub fn records(&self, from: Lsn) -> Result<impl Iterator<Item = Result<(Lsn, Vec<u8>)>> + '_> {
        let log = |error| Error::Engine(txn::EngineError::Log(error));
        Ok(self.engine().records(from)?.map(move |record| record.map_err(log)))
    }

    /// Keeps the log from `from` on, and the files that its records name, as long as the hold lives, so that a
    /// follower that is behind need not begin with a backup. `from` is
    /// [`Lsn::START`] or a position that came with a record;
    /// [`LogHold::advance`] lets go of what the follower has taken. The log grows by what it has not. A hold
    /// does not outlive the process: a follower takes a new one when its leader is opened again.
    ///
    /// # Errors
    /// [`Error::Engine`] where the log does not reach back that far, or a file that a record names has been
    /// merged into others: the follower has to begin with a backup.
    pub fn hold_log(&self, from: Lsn) -> Result<LogHold> {
        Ok(self.engine().hold_log(from)?)
    }

    /// The files that a record names, each with its length in bytes: what a large transaction or a bulk load
    /// wrote. A leader keeps them until it merges them with others, and no follower holds them
    /// ([`Database::hold_log`]).
    ///
    /// # Errors
    /// [`Error::Engine`] where the record does not decode.
    pub fn files(&self, record: &[u8]) -> Result<Vec<(String, u64)>> {
        Ok(self.engine().files(record)?)
    }

    /// Reads bytes of a file that a record of this database names.
    ///
    /// # Errors
    /// [`Error::Engine`] where the file is not there any more, or the disk fails.
    pub fn read_file(&self, name: &str, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.engine().store().read_file(name, offset, bytes);
        Ok(read.map_err(txn::EngineError::from)?)
    }

    /// Takes over the files that a record of the leader names, as far as they are not here: before the
    /// record itself. `read` fills a buffer from an offset of a file of the leader.
    ///
    /// # Errors
    /// The errors of `read` and the disk.
    pub fn adopt(
        &self,
        record: &[u8],
        read: impl FnMut(&str, u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        self.engine().adopt(record, read)
    }

    /// Takes in commits of the leader, given as the records of its log in their order
    /// ([`Database::records`]); those that the follower has are passed over. They are durable here, and
    /// visible, when this returns. Returns the newest commit. Records of a few MB together are enough for
    /// a call.
    ///
    /// # Errors
    /// [`Error::Engine`] where this is no follower (55000), a commit or a file is missing before a record, a
    /// record does not decode, or the disk fails.
    pub fn apply<R: AsRef<[u8]>>(&self, records: &[R]) -> Result<Csn> {
        #[cfg(feature = "sql")]
        let _nothing_opens = self.shared.applying.read();
        let newest = self.engine().apply(records)?;
        let store = self.engine().store();
        self.shared.collections.catalogs().tables().settle(store);
        Ok(newest)
    }
}
