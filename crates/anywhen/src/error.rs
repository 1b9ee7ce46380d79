//! The errors of a database, in a form that a caller can act on.

use document::DocumentError;
use std::path::PathBuf;
use types::SqlState;

/// Why an operation failed. Nothing was changed, except where the source says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no database at that place.
    #[error("there is no database in {}; `anywhen init` makes one", .0.display())]
    NoDatabase(PathBuf),
    /// There is a database already at that place.
    #[error("there is a database in {} already", .0.display())]
    Exists(PathBuf),
    /// A folder that holds something else.
    #[error("{} is not empty and holds no database", .0.display())]
    NotADatabase(PathBuf),
    /// A collection's name that cannot be used.
    #[error("a collection cannot be called {name:?}: {why}")]
    BadName {
        /// The name.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// There is no collection of that name.
    #[error("there is no collection {name:?}")]
    NoCollection {
        /// The name.
        name: String,
    },
    /// A collection was made with other options.
    #[error("collection {name:?} exists, with other options")]
    OptionsDiffer {
        /// The collection.
        name: String,
    },
    /// Something else of SQL in the schema `public` has the name: an ordinary table, a view, an index ...
    #[error("{name:?} is an object of the schema public that is not a collection")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A file or folder could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Documents that do not agree with the counts and digests that are stored with them.
    #[error(
        "document {key:?} of collection {collection:?} is damaged at revision {revision}: {what}"
    )]
    Inconsistent {
        /// The collection.
        collection: String,
        /// The document.
        key: String,
        /// The revision.
        revision: u64,
        /// The conflicting option.
        what: &'static str,
    },
    /// An error of a backup, or of the database that it copies.
    #[error(transparent)]
    Backup(#[from] crate::BackupError),
    /// From the tables that collections are.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// From SQL.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Sql(#[from] session::Error),
    /// From documents.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// From the engine, on opening or closing.
    #[error(transparent)]
    Engine(#[from] txn::EngineError),
    /// From a transaction.
    #[error(transparent)]
    Txn(#[from] txn::TxnError),
    /// From the store.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl Error {
    /// Returns the code by which SQL clients know this error: XX001 where data are damaged, 53100 where the disk is
    /// full, 58030 for any other error of the disk.
    pub fn sqlstate(&self) -> SqlState {
        let code = |code| SqlState::from_code(code).unwrap_or(SqlState::INTERNAL_ERROR);
        match self {
            Error::NoDatabase(_) | Error::NotADatabase(_) => SqlState::INVALID_CATALOG_NAME,
            Error::Exists(_) => SqlState::DUPLICATE_DATABASE,
            Error::BadName { .. } => SqlState::INVALID_NAME,
            Error::NoCollection { .. } => SqlState::UNDEFINED_TABLE,
            Error::OptionsDiffer { .. } => SqlState::DUPLICATE_OBJECT,
            Error::NameTaken { .. } => SqlState::DUPLICATE_TABLE,
            Error::Io { source, .. } => types::Error::state_of_io(source),
            Error::Inconsistent { .. } => SqlState::DATA_CORRUPTED,
            Error::Backup(error) => error.sqlstate(),
            Error::Table(error) => error.sqlstate(),
            #[cfg(feature = "sql")]
            Error::Sql(error) => error.state(),
            Error::Document(error) => table::documents::sqlstate_of(error),
            Error::Engine(error) => code(error.sqlstate()),
            Error::Txn(error) => code(error.sqlstate()),
            Error::Store(error) => code(txn::sqlstate_of(error)),
        }
    }

    /// True if stored bytes are not what was once written: restore them from a backup.
    pub fn is_damage(&self) -> bool {
        [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(&self.sqlstate())
    }
}

/// The result of an operation on a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;
