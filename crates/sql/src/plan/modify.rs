//! Changes of rows in a bound plan: `INSERT`, `UPDATE`, `DELETE` and `MERGE`.

use types::Oid;

use super::{Column, Expr, MergeWhen, Plan, RowCheck};

/// A change of rows of one table.
#[derive(Clone, Debug)]
pub struct Modify {
    /// The table.
    pub relation: Oid,
    /// Its name.
    pub name: String,
    /// The rows that say what to change. For `UPDATE`, `DELETE` and `MERGE` each begins with the
    /// columns of the table's row and, after them, its key.
    pub input: Plan,
    /// The action.
    pub action: Action,
    /// `RETURNING`: expressions over the row of the table (as it is after the change, or was
    /// before it was deleted) and, after it, the input's row.
    pub returning: Option<Vec<Expr>>,
    /// The conditions on new rows of views that the change is made through, and of policies of the
    /// table.
    pub row_checks: Vec<RowCheck>,
    /// The columns of the table's row, as `RETURNING` sees them.
    pub(crate) row: Vec<Column>,
    /// Of `UPDATE` and `DELETE` with `FOR PORTION OF`: what is left of each row.
    pub rest: Option<Rest>,
}

/// The rest that `FOR PORTION OF` leaves of a row: rows like it that are inserted, with the rest of
/// its time.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The place of the column in the table's row.
    pub place: usize,
    /// The time that is left, over the input's row: a multirange. A column of ranges gets each range of it in
    /// a row of its own.
    pub left: Expr,
    /// Columns that follow from the others: their place and their value over the new row.
    pub generated: Vec<(usize, Expr)>,
}

/// The action on each row of the input.
#[derive(Clone, Debug)]
pub enum Action {
    /// The row is inserted.
    Insert {
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
        /// The action where a conflicting row exists.
        conflict: Option<Box<Conflict>>,
    },
    /// Columns of the row get these values.
    Update {
        /// The place of each column in the table's row, and its value over the input's row.
        set: Vec<(usize, Expr)>,
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
    },
    /// The row is deleted.
    Delete,
    /// The row is deleted, now and in all of the past.
    Erase,
    /// The first clause that fits decides.
    Merge {
        /// The clauses. Rows without a partner have a NULL key, or NULL in `matched`.
        clauses: Vec<MergeClause>,
        /// The column of the input that is true in rows of the source, NULL in others.
        matched: usize,
        /// Columns that follow from the others: their place and their value over the new row.
        generated: Vec<(usize, Expr)>,
    },
}

/// `ON CONFLICT`
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The unique indexes that decide; empty for all.
    pub arbiters: Vec<Arbiter>,
    /// `DO UPDATE`; none for `DO NOTHING`.
    pub update: Option<ConflictUpdate>,
}

/// A unique index that decides what a conflict is.
#[derive(Clone, Debug)]
pub struct Arbiter {
    /// The index.
    pub index: Oid,
    /// It decides only where all of these are true, which see no row.
    pub start_conditions: Vec<Expr>,
}

/// `ON CONFLICT DO UPDATE`: the expressions see the row that is there, then the one that was to be
/// inserted.
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// The place of each column in the table's row, and its value.
    pub set: Vec<(usize, Expr)>,
    /// Which rows are changed.
    pub filter: Option<Expr>,
    /// The two rows.
    pub(crate) row: Vec<Column>,
}

/// A `WHEN` clause of `MERGE`. Its expressions see the input's row.
#[derive(Clone, Debug)]
pub struct MergeClause {
    /// Which rows it is about.
    pub when: MergeWhen,
    /// Which of these.
    pub filter: Option<Expr>,
    /// The action.
    pub action: MergeAction,
}

/// The action of a `WHEN` clause.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// Nothing.
    Nothing,
    /// The row is deleted.
    Delete,
    /// Columns of the row get these values.
    Update(Vec<(usize, Expr)>),
    /// A row of these values is inserted.
    Insert(Vec<Expr>),
}

impl Modify {
    /// How many columns the table's row has.
    pub fn width(&self) -> usize {
        self.row.len()
    }
}
