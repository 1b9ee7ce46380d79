//! Access methods: they keep the rows of a table. Everything else is the same for all tables.
//!
//! ```text
//!   Table ── keys, locks, constraints, indexes, foreign keys, the table of changes     the same for all
//!     └── dyn Rows ── read, scan, versions, insert, update, delete, load, erase         one per method
//!           ├── heap       a version of the row in the store                            crate::heap
//!           ├── columnar   the same, in files laid out in columns                       crate::columnar
//!           ├── rowcompress  the same, in files of compressed batches                  crate::rowcompress
//!           ├── document   the row, and one of its columns as a tree of nodes           crate::documents
//!           ├── object     a version of the row, and the view of a pickle in it         crate::objects
//!           └── ...        [`Methods::with`]
//!
//!   catalog   t ─> MethodData { oid, storages, settings }        only the method reads the settings
//! ```
//!
//! `CREATE TABLE ... USING name` chooses an [`AccessMethod`] by its name. The catalog keeps its number with
//! the table ([`MethodData`]), so that a table of the past is read by the method that it had then. A handle
//! of a table asks the method once for the [`Rows`] of the table, and goes through these from then on.
//!
//! A method keeps the contract of [`Rows`]; `table::rows::tests::battery` checks it for every method.
//!
//! # Invariants
//! * No code outside of the module of a method asks which method a table has.
//! * A transaction holds the lock of a row before it has the method change the row.
//! * The state that a method keeps in memory follows from the log.

pub(crate) mod parameters;
mod rows;

use std::fmt;
use std::sync::Arc;

use store::{ColumnEncoder, TableId};
use types::{Oid, SqlState};

use crate::catalog::{Column, Index, MethodData, Relation, TableData};
use crate::columnar::Columnar;
use crate::heap::Heap;
use crate::objects::Objects;
use crate::rowcompress::RowCompress;
use crate::rows::Layout;
use crate::{Error, Result};

pub use rows::{Access, ChangedKeys, ColumnSet, KeyWalk, RowLoad, RowScan, Rows};

/// Storage parameters of a table: names and values.
pub type Options = Vec<(Arc<str>, Arc<str>)>;

/// The access method of a new table, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMethod {
    /// The number of the method in `pg_am`.
    pub oid: Oid,
    /// The storage parameters that the method takes ([`AccessMethod::takes`]).
    pub options: Options,
    /// The tables of the store that the method has beside that of the rows, where they exist already.
    pub storages: Option<Vec<TableId>>,
}

impl Default for NewMethod {
    /// `heap`.
    fn default() -> NewMethod {
        NewMethod { oid: Heap::OID, options: Vec::new(), storages: None }
    }
}

/// A way to keep the rows of a table.
pub trait AccessMethod: Send + Sync {
    /// The name after `USING`.
    fn name(&self) -> &'static str;

    /// Other names by which `USING` finds it.
    fn synonyms(&self) -> &'static [&'static str] {
        &[]
    }

    /// The number in `pg_am`.
    fn oid(&self) -> Oid;

    /// Returns true for the name of a storage parameter of this method.
    fn takes(&self, _parameter: &str) -> bool {
        false
    }

    /// Returns true for a parameter of this method that a table with rows can change.
    fn changes(&self, _parameter: &str) -> bool {
        false
    }

    /// Returns the settings that the catalog keeps for a table with these columns and parameters. The method
    /// [takes](AccessMethod::takes) all of the parameters. If a parameter comes twice, the last one counts.
    ///
    /// # Errors
    /// 22023 if a parameter cannot have its value, 42703 if the value names a column that does not exist.
    fn define(&self, _options: &Options, _columns: &[Column]) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Returns the parameters that the catalog keeps of a table, as [`AccessMethod::define`] takes them.
    fn parameters(&self, _relation: &Relation, _data: &MethodData) -> Options {
        Vec::new()
    }

    /// Returns true if a new table with these parameters has its rows under the primary key; if not, they
    /// have hidden ids, and the primary key is an index.
    fn is_keyed(&self, _options: &Options) -> bool {
        true
    }

    /// New, empty tables of the store for a table whose rows lie in `rows`, beside that.
    fn storages(&self, _rows: TableId) -> Vec<TableId> {
        Vec::new()
    }

    /// True if the table keeps its [`AccessMethod::storages`] when its rows are written anew; `same_keys` says
    /// whether each row keeps its key.
    fn outlives_rewrite(&self, _same_keys: bool) -> bool {
        false
    }

    /// True if rows are keyed by a primary key that the table gets when it has rows: they are written anew.
    /// Otherwise they keep their hidden ids, and the primary key is an index beside them.
    fn takes_late_key(&self) -> bool {
        false
    }

    /// Why a relation cannot have this method, in a sentence; `None` if it can.
    fn refusal(&self, _relation: &Relation, _data: &TableData) -> Option<String> {
        None
    }

    /// Why a relation with this method cannot have an index, in a sentence; `None` if it can.
    fn index_refusal(&self, _relation: &Relation, _index: &Index) -> Option<String> {
        None
    }

    /// Returns the encoder that keeps the newest rows of a table in columns in the files of the
    /// store; `None` if they are kept as rows.
    fn column_encoder(&self, _relation: &Relation) -> Option<Arc<dyn ColumnEncoder>> {
        None
    }

    /// The rows of a table.
    fn open(&self, relation: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows>;
}

/// The access methods of a database. Cheap to clone.
#[derive(Clone)]
pub struct Methods(Arc<[Arc<dyn AccessMethod>]>);

impl fmt::Debug for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(AccessMethod::name)).finish()
    }
}

impl Methods {
    /// `heap`, `columnar`, `rowcompress`, `object`, and these.
    pub fn with(methods: impl IntoIterator<Item = Arc<dyn AccessMethod>>) -> Methods {
        let own: [Arc<dyn AccessMethod>; 4] =
            [Arc::new(Heap), Arc::new(Columnar), Arc::new(RowCompress), Arc::new(Objects)];
        Methods(own.into_iter().chain(methods).collect())
    }

    /// All of them, `heap` first.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AccessMethod> {
        self.0.iter().map(|method| &**method)
    }

    /// The method with this number.
    ///
    /// # Errors
    /// Damaged where there is none: the catalog is of a release that has more methods.
    pub fn get(&self, oid: Oid) -> Result<&dyn AccessMethod> {
        let found = self.iter().find(|method| method.oid() == oid);
        found.ok_or(Error::Damaged { what: "the access method of a table" })
    }

    /// The method with this name, its own or a synonym.
    ///
    /// # Errors
    /// 42704 where there is none.
    pub fn named(&self, name: &str) -> Result<&dyn AccessMethod> {
        let is_name =
            |method: &&dyn AccessMethod| method.name() == name || method.synonyms().contains(&name);
        self.iter().find(is_name).ok_or_else(|| {
            let message = format!("access method \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// Returns the catalog's data for a new table with these columns, whose rows lie in `rows`.
    pub(crate) fn define(
        &self,
        new: NewMethod,
        columns: &[Column],
        rows: TableId,
    ) -> Result<MethodData> {
        let method = self.get(new.oid)?;
        let settings = method.define(&new.options, columns)?;
        let storages = new.storages.unwrap_or_else(|| method.storages(rows));
        Ok(MethodData { oid: method.oid(), storages, settings })
    }

    /// Why a relation cannot have an index, in a sentence; `None` if it can.
    pub(crate) fn index_refusal(
        &self,
        relation: &Relation,
        index: &Index,
    ) -> Result<Option<String>> {
        let Some(data) = relation.table() else { return Ok(None) };
        Ok(self.get(data.method.oid)?.index_refusal(relation, index))
    }

    /// Why a relation cannot be as it is, in a sentence; `None` if it can.
    pub(crate) fn refusal(&self, relation: &Relation) -> Result<Option<String>> {
        let Some(data) = relation.table() else { return Ok(None) };
        Ok(self.get(data.method.oid)?.refusal(relation, data))
    }
}
