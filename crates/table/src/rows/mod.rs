//! Rows: how they are kept, read, changed; their past.
//!
//! ```text
//!   TableDef ──Tables──> Table ── get, lock, insert, update, delete, conflict
//!   (catalog)  handles     │
//!                          ├── Cursor ── fill ──> Batch ── row(i) ──> RowRef ── column(i)
//!                          │             by key, by an index; forwards, backwards; suspended
//!                          └── history:  versions of a row, of all rows, changes between commits
//!
//!   store    table 9    key  01 80 00 00 07          value  row form (2, 3 columns, no NULLs) 7 ...
//!            table 10   key  'smith' 00 │ 01 80..07  value  5: the last five bytes are the row's key
//! ```
//!
//! A table's rows lie under the key form of the columns of its primary key, so rows with near keys lie
//! near each other and finding one by its key is one look-up. Without a primary key they lie under
//! hidden ids. The value of a row is its row form, of all columns, keys too: what a key gives back is
//! not always what was put in (`1.0` is `1.00` there).
//!
//! | module | is |
//! |---|---|
//! | `handles` | the handles of all tables, made once |
//! | `table` | [`Table`]: one row read, one row changed |
//! | `change` | [`Change`], [`RowValues`]: what a change needs |
//! | `layout` | [`Row`], [`RowRef`], [`Batch`] |
//! | `cursor` | [`Cursor`]: many rows |
//! | `load` | [`Load`]: many rows at once, for a table that has none |
//! | `replacement` | [`Replacement`]: other rows for a table, of which only those that differ are written |
//! | `history` | [`RowVersion`], [`RowChange`], [`PastCursor`]: the past |
//! | `storage_epochs` | [`StorageEpoch`]: where the rows of a relation are, and were |
//! | `erase` | [`erase`](erase()): rows that never were |
//! | `ids` | row ids |
//! | `moves` | where rows went whose key has changed |
//! | `parts` | of which attributes composite values consist |
//! | `count` | how many rows there are, about |
//! | `usage` | [`Usage`]: how often a table or an index was used |
//! | `statistics` | [`Statistics`]: what the values of columns are like |

mod change;
mod count;
mod cursor;
mod erase;
mod handles;
mod history;
mod ids;
mod layout;
mod load;
mod moves;
mod parts;
pub mod placing;
mod replacement;
mod statistics;
mod storage_epochs;
mod table;
#[cfg(test)]
mod tests;
mod usage;

pub use change::{Change, NoValues, RowValues};
pub(crate) use count::COUNTS;
pub use cursor::Cursor;
pub(crate) use erase::{ERASURES, note_erased};
pub use erase::{Erasure, RowAt, clean, erase, erasures};
pub(crate) use handles::GivenUp;
pub use handles::Handles;
pub use history::{PastCursor, RowChange, RowVersion};
pub use layout::{Batch, Layout, OutOfLineValue, Row, RowRef};
pub use load::{LOAD_BYTES_MIN, Load};
pub use replacement::Replacement;
pub use statistics::{ColumnStatistics, Statistics};
pub use storage_epochs::StorageEpoch;
pub use store::RowBlock;
pub use table::Table;
pub(crate) use table::{position, same};
pub use usage::{AnalyzedBy, Counter, Counting, Counts, Reads, Shards, Usage};
