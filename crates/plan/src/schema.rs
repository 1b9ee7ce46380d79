//! The planner's view of tables: columns, keys, checks, statistics.

use std::sync::Arc;

use sql::bind::Relation;
use sql::plan::Expr;
use table::catalog::Router;
pub use table::index::{ItemClass, Strategy};
use table::rows::Statistics;
use types::{KeyOrder, Oid};

/// Gives the planner its facts about tables.
pub trait Schema {
    /// Returns the facts about a table; `None` if no such table exists.
    fn table(&self, relation: Oid) -> Option<Arc<TableFacts>>;
}

/// The facts about a table.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// Its name, columns and defaults.
    pub relation: Arc<Relation>,
    /// The orders in which its rows can be read, its own key first.
    pub keys: Vec<KeyFacts>,
    /// The columns whose values are kept out of line, by number: the text of such a value is read
    /// without making the value.
    pub out_of_line: Vec<i16>,
    /// The names of its checks, and the texts of their expressions.
    pub checks: Vec<(String, String)>,
    /// True if a scan of all of it gives blocks of columns.
    pub has_blocks: bool,
    /// Its columnar indexes, whose entries can be read in blocks of columns in the place of rows.
    pub columnar: Vec<ColumnarFacts>,
    /// About how many rows it has.
    pub rows: u64,
    /// The statistics of its columns, which are sampled on demand.
    pub values: Option<Values>,
    /// How its rows are divided, where it is a partitioned table.
    pub partitions: Option<PartitionFacts>,
    /// True for a partition of another table.
    pub is_partition: bool,
}

/// How the rows of a partitioned table are divided.
#[derive(Clone, Debug)]
pub struct PartitionFacts {
    /// Finds the partition of a row.
    pub router: Arc<Router>,
    /// The key that divides the rows.
    pub key: KeyFacts,
    /// The partitions, in the order of their rows where they have one.
    pub parts: Vec<PartFacts>,
    /// True if the partitions are in the order of their rows.
    pub is_in_order: bool,
    /// All tables below it that have rows.
    pub leaves: Vec<Oid>,
}

/// A partition, as its table sees it.
#[derive(Clone, Debug)]
pub struct PartFacts {
    /// The table that it is.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The number that each column of the whole table has in it: of the whole, and its own.
    pub columns: Vec<(i16, i16)>,
}

/// Finds out what the values of a table's columns are like.
#[derive(Clone)]
pub struct Values(Arc<dyn Fn() -> Option<Arc<Statistics>> + Send + Sync>);

impl Values {
    /// Calls `find` whenever a plan asks for the statistics.
    pub fn new(find: impl Fn() -> Option<Arc<Statistics>> + Send + Sync + 'static) -> Values {
        Values(Arc::new(find))
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Values")
    }
}

/// Tables with fewer rows have no statistics; the planner uses defaults.
const ROWS_SAMPLED_MIN: u64 = 10;

impl TableFacts {
    /// True if a column is NULL in no row of now.
    pub fn is_never_null(&self, attnum: i16) -> bool {
        let columns = &self.relation.columns;
        columns.iter().any(|column| column.attnum == attnum && column.not_null)
    }

    /// The statistics of its columns; `None` if the table is small, or has none.
    pub fn statistics(&self) -> Option<Arc<Statistics>> {
        let values = self.values.as_ref().filter(|_| self.rows >= ROWS_SAMPLED_MIN)?;
        (values.0)()
    }
}

/// An order in which the rows of a table can be read.
#[derive(Clone, Debug)]
pub struct KeyFacts {
    /// The index; none for the order of the table's own key.
    pub index: Option<Oid>,
    /// Its name.
    pub name: String,
    /// Its parts, and the order of each.
    pub parts: Vec<(KeyPart, KeyOrder)>,
    /// True if at most one row has the same values, none of them NULL.
    pub is_unique: bool,
    /// Which rows it has: those of which this is true, over the columns of [`TableFacts::relation`].
    pub predicate: Option<Expr>,
    /// Where values are taken apart into items, how those of each part are. Such a key has no order.
    pub classes: Option<Vec<ItemClass>>,
    /// True if it has every version that rows ever had.
    pub is_whole: bool,
}

/// A columnar index.
#[derive(Clone, Debug)]
pub struct ColumnarFacts {
    /// The index.
    pub index: Oid,
    /// Its name.
    pub name: String,
    /// The definitions of its columns, from number 1 on.
    pub parts: Vec<KeyPart>,
}

/// A part of a key.
#[derive(Clone, Debug)]
pub enum KeyPart {
    /// A column, by number.
    Column(i16),
    /// An expression over the columns of [`TableFacts::relation`].
    Expr(Expr),
}
