//! Scans of tables, and the paths by which they find their rows.

use std::sync::Arc;

use sql::plan::{Expr, Moment, Sample};
use table::catalog::Router;
use types::{KeyOrder, Oid, Repr};

use super::Node;
use crate::schema::Strategy;

/// The rows of a table, in the order of a key where one is named.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub relation: Oid,
    /// Its name.
    pub name: String,
    /// The name that the statement gives to it.
    pub alias: String,
    /// True for a table that is computed.
    pub computed: bool,
    /// True if partitions of the table are not read.
    pub only: bool,
    /// The number of each column in the table; those below 0 are system columns.
    pub attnums: Vec<i16>,
    /// The names of all columns of the table, by number.
    pub names: Arc<[(i16, String)]>,
    /// Which states are read.
    pub moment: Moment,
    /// `TABLESAMPLE`
    pub sample: Option<Sample>,
    /// How the rows are found.
    pub path: Path,
    /// How they are found where that turns out to be possible when the scan starts.
    pub conditional: Option<Box<ConditionalPath>>,
    /// Which of them are wanted.
    pub condition: Option<Expr>,
    /// The condition that the path guarantees, for a row that was changed and is tested again.
    pub sure: Option<Expr>,
    /// True if the rows come in blocks of columns whose condition is evaluated on columns, and go to an operator
    /// that takes rows.
    pub in_batches: bool,
    /// The columns of an index that are read in the place of its own, which it gives then.
    pub columns: Option<Box<IndexColumns>>,
}

/// The scan of a partitioned table, as scans of its partitions.
#[derive(Clone, Debug)]
pub struct Append {
    /// The scan of the table as a whole: its columns, its moment and its condition. It is never run, but a row that
    /// was changed is looked at again by it.
    pub scan: Scan,
    /// The partitioned tables that may leave out partitions when the scan starts: the table, and partitions that are
    /// partitioned themselves.
    pub levels: Vec<Level>,
    /// The scans.
    pub parts: Vec<AppendPart>,
    /// True if an operator above relies on the order of the parts and of their rows, in place of a sort.
    pub is_ordered: bool,
}

/// The scan of a partition.
#[derive(Clone, Debug)]
pub struct AppendPart {
    /// The scan, whose columns are those of the whole.
    pub node: Node,
    /// By level, the partitions that it is in, the outermost first. It is left out if one of these is.
    pub within: Vec<(usize, Oid)>,
}

/// A partitioned table, of whose partitions some may have no row that is wanted.
#[derive(Clone, Debug)]
pub struct Level {
    /// Finds the partitions.
    pub router: Arc<Router>,
    /// How many columns its key has.
    pub width: usize,
    /// The conditions on the partition key.
    pub path: Path,
}

/// Columns of a columnar index in the place of a table's.
#[derive(Clone, Debug)]
pub struct IndexColumns {
    /// The index.
    pub index: Oid,
    /// Its name.
    pub name: String,
    /// Which of its columns, by number, in ascending order.
    pub numbers: Vec<i16>,
    /// The definitions of these columns, over the columns of the table: for moments that the index
    /// does not know.
    pub values: Vec<Expr>,
}

/// A path by an index that has only some of the rows.
#[derive(Clone, Debug)]
pub struct ConditionalPath {
    /// Where all of these are true the index has all the rows that are wanted. They see no row.
    pub start_conditions: Vec<Expr>,
    /// The path. It makes sure of nothing.
    pub path: Path,
}

/// How a scan finds its rows.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// The index whose order and ranges are used; none for the table's own key.
    pub index: Option<Oid>,
    /// The name of the index.
    pub name: String,
    /// True from the end to the beginning.
    pub backward: bool,
    /// True if an operator above relies on the order of the index, in place of a sort.
    pub is_ordered: bool,
    /// True if at most one row has the key, which is the table's own.
    pub is_single: bool,
    /// True if all rows may be read instead, in any order, if the index turns out to have many.
    pub may_read_all: bool,
    /// How the columns that are bound below are held, and their order.
    pub columns: Vec<(Repr, KeyOrder)>,
    /// The definitions of these columns, as SQL.
    pub shown: Vec<String>,
    /// Values of the first columns of the key; they see no row.
    pub equal: Vec<Equal>,
    /// Where the column after those begins.
    pub low: Option<End>,
    /// Where it ends.
    pub high: Option<End>,
    /// The searches of an index of items.
    pub scan_keys: Vec<ScanKey>,
}

/// A condition on a key of an index of items: strategy and value.
#[derive(Clone, Debug)]
pub struct ScanKey {
    /// Which part of the key, from 0.
    pub part: usize,
    /// The operator.
    pub strategy: Strategy,
    /// The value; it sees no row.
    pub value: Expr,
    /// The operator that it stands for.
    pub symbol: String,
}

/// The value that a column of a key is equal to.
#[derive(Clone, Debug)]
pub enum Equal<V = Expr> {
    /// A value.
    One(V),
    /// Any element of an array.
    AnyOf(V),
    /// NULL.
    Null,
}

/// An end of a range.
#[derive(Clone, Debug)]
pub struct End {
    /// The value; it sees no row.
    pub value: Expr,
    /// True if the value itself is in the range.
    pub inclusive: bool,
}

impl Path {
    /// True if all rows are read.
    pub fn is_full(&self) -> bool {
        self.equal.is_empty()
            && self.low.is_none()
            && self.high.is_none()
            && self.scan_keys.is_empty()
    }
}
