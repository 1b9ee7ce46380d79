//! Columnar indexes: the indexed values of each row once more, which the store lays out in columns.
//!
//! ```text
//!   CREATE INDEX c ON t USING columnar (kind, ((doc ->> 'country')), price)
//!
//!   table 9    rows of t      key 01 80..07   value  every column of t                as t has them
//!   table 12   entries of c   key 01 80..07   value  row form ('a', 'DE', 4.50)       a columnar table
//! ```
//!
//! An entry has the key of its row, and lies in the log and the memtable as a row does. Flushes and merges lay it out
//! by the encoder of columnar tables. So the entries are a table `USING columnar` that is changed by the same commits
//! as the table it belongs to: [`Table::columns_of`] gives it, and every scan of such a table reads it.
//!
//! # Invariants
//! * At each commit from the one that made the index on, the index has an entry for each row, and no other.
//! * An entry changes only when a value in it does.
//! * The index has no entries of the time before it was made; readers take the rows for that time.

use std::sync::Arc;

use store::{ColumnEncoder, Retention, TableId};
use types::{DatumRef, row};

use crate::catalog::{
    IndexMethod, MethodData, Relation, RelationKind, RowSecurity, TableData, TableDef,
};
use crate::columnar::Columnar;
use crate::method::AccessMethod;
use crate::rows::Table;

/// The version that entries are written with. An index never gets another column.
const VERSION: u32 = 0;

/// Appends the value of the entry of a row.
pub(super) fn write_value<'a>(
    values: impl ExactSizeIterator<Item = DatumRef<'a>>,
    out: &mut Vec<u8>,
) {
    row::write(VERSION, values, out);
}

/// Returns what lays out the entries of an index; `None` if they stay as they are.
pub(crate) fn encoder(index: &Relation) -> Option<Arc<dyn ColumnEncoder>> {
    Columnar.column_encoder(&as_table(index)?)
}

/// Returns a columnar index as the table that its entries are.
fn as_table(index: &Relation) -> Option<Relation> {
    let data = index.index().filter(|data| data.method == IndexMethod::Columnar)?;
    let method = MethodData { oid: Columnar::OID, storages: Vec::new(), settings: Vec::new() };
    let data = TableData {
        storage: data.storage?,
        row_version: VERSION,
        keyed_by: Vec::new(),
        history: Retention::Forever,
        forgotten: 0,
        method,
        materialized: None,
        row_security: RowSecurity::default(),
        partitioning: None,
        partition_of: None,
    };
    Some(Relation { kind: RelationKind::Table(data), ..index.clone() })
}

impl Table {
    /// Returns the entries of one of its columnar indexes as a table, whose columns are those of the index, and where
    /// they lie; `None` if the index is of another kind, or cannot be read.
    pub fn columns_of(&self, index: types::Oid) -> Option<(Arc<Table>, TableId)> {
        let index = self.indexes().iter().find(|one| one.relation().oid == index)?;
        let storage = index.storage().filter(|_| index.is_valid() && index.is_columnar())?;
        let relation = Arc::new(as_table(index.relation())?);
        let def = TableDef {
            relation,
            indexes: vec![],
            constraints: vec![],
            referenced_by: vec![],
            policies: vec![],
        };
        Table::of_entries(&Arc::new(def), self.schema(), &Columnar).map(|table| (table, storage))
    }
}
