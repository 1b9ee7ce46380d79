//! [`Reader`]: the rows of an input as slices, without those that the input's condition leaves out.

use std::sync::Arc;

use sql::plan::Expr;
use table::columnar::{Block, BlockColumn};
use table::rows::{Batch, Layout};
use types::{Datum, Repr, Result, Type};

use crate::condition::{Condition, Known};
use crate::slice::{Selection, Slice};
use crate::source::{self, Dictionaries, ScanColumn, SourceColumns};
use crate::value::{Compiler, Run};

/// Rows that come together.
pub enum Piece<'p, 's> {
    /// A block of columns, and how the rows of its table lie.
    Block(&'p Block, &'p Layout),
    /// Rows in row form.
    Rows(&'p Batch),
    /// Rows of values.
    Values(&'p [Vec<Datum>]),
    /// Rows that a join has put together.
    Joined(&'p Slice<'s>, &'p Selection),
}

impl Piece<'_, '_> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Piece::Block(block, _) => block.len(),
            Piece::Rows(batch) => batch.len(),
            Piece::Values(rows) => rows.len(),
            Piece::Joined(_, selected) => selected.len(),
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A function that takes slices, and the selected rows of each.
pub(crate) type TakeSlice<'f> = dyn FnMut(&Slice<'_>, Selection) -> Result<()> + 'f;

/// Reads the pieces of an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    wanted: Arc<SourceColumns>,
    condition: Option<Condition>,
    dictionaries: Dictionaries,
}

impl Reader {
    /// Returns a reader of rows with these columns: their positions in the table, and their types. All expressions over
    /// the rows were compiled by `compiler`.
    ///
    /// # Errors
    /// If a type is not known.
    pub fn new(
        columns: &[(usize, Type)],
        condition: Option<Condition>,
        compiler: Compiler<'_>,
    ) -> Result<Reader> {
        let columns = columns.iter().map(|(position, ty)| {
            // A column of a pseudo-type, such as `pg_attribute.attmissingval`, has no value but NULL.
            let is_pseudo = ::types::builtin::facts(*ty).is_some_and(|facts| facts.repr.is_none());
            let repr = if is_pseudo { Repr::Text } else { compiler.types.repr_of(*ty)? };
            Ok(ScanColumn { position: *position, repr })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let wanted = Arc::new(SourceColumns { columns, fields: compiler.fields });
        let dictionaries = Dictionaries::of(&wanted);
        Ok(Reader { wanted, condition, dictionaries })
    }

    /// Returns a reader of rows of values that have the columns of this reader, and no others. It wants all rows.
    pub fn of_values(&self) -> Reader {
        let columns = self.wanted.columns.iter().enumerate();
        let columns = columns.map(|(position, column)| ScanColumn { position, repr: column.repr });
        let wanted = SourceColumns { columns: columns.collect(), fields: Vec::new() };
        let dictionaries = Dictionaries::of(&wanted);
        Reader { wanted: Arc::new(wanted), condition: None, dictionaries }
    }

    /// Returns the columns and fields that are read.
    pub fn wanted(&self) -> &Arc<SourceColumns> {
        &self.wanted
    }

    /// Says what is known of the condition for all rows of a piece: of a block the zones may tell.
    pub fn known(&self, run: Run<'_>, piece: &Piece<'_, '_>) -> Known {
        match (&self.condition, piece) {
            (None, _) => Known::Always,
            (Some(condition), Piece::Block(block, _)) => {
                let column = |at: usize| {
                    let column = block.column(self.wanted.columns[at].position)?;
                    Some((column.zone(), column.repr()))
                };
                let field = |number| {
                    let field: &source::Field = &self.wanted.fields[number];
                    source::field_of(block, &self.wanted, field).map(BlockColumn::zone)
                };
                condition.known(run, &column, &field)
            }
            (Some(_), _) => Known::Open,
        }
    }

    /// Calls `f` with slices of the rows of a piece, and which rows of each are wanted. Returns how many are.
    ///
    /// # Errors
    /// The errors of reading, the programs and `f`.
    pub fn read(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        let known = self.known(run, piece);
        self.read_known(run, piece, known, f)
    }

    /// As [`Reader::read`], with what [`Reader::known`] says of the piece.
    pub fn read_known(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        known: Known,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        if known == Known::Never {
            (run.tick)(1)?;
            return Ok(0);
        }
        let (wanted, mut kept) = (Arc::clone(&self.wanted), 0);
        if let Piece::Block(block, _) = piece {
            self.dictionaries.keep(block, &wanted)?;
        }
        let mut take = |slice: &Slice<'_>, rows| {
            kept += self.narrowed(run, slice, rows, known, f)?;
            Ok(())
        };
        match piece {
            Piece::Block(block, layout) => {
                let dictionaries = &self.dictionaries;
                source::slices_of_block(block, layout, &wanted, dictionaries, &mut take)?;
            }
            Piece::Rows(batch) => {
                source::slices_of_rows(batch, &wanted, &self.dictionaries, &mut |slice| {
                    take(slice, Selection::All(slice.rows()))
                })?;
            }
            Piece::Values(rows) => source::slices_of_values(rows, &wanted, &mut |slice| {
                take(slice, Selection::All(slice.rows()))
            })?,
            Piece::Joined(slice, selected) => take(slice, (*selected).clone())?,
        }
        Ok(kept)
    }

    fn narrowed(
        &self,
        run: Run<'_>,
        slice: &Slice<'_>,
        mut rows: Selection,
        known: Known,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        (run.tick)(rows.len() as u64)?;
        if let Some(condition) = self.condition.as_ref().filter(|_| known == Known::Open) {
            condition.narrow(run, slice, &mut rows)?;
        }
        let kept = rows.len() as u64;
        if kept > 0 {
            f(slice, rows)?;
        }
        Ok(kept)
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        self.condition.iter().for_each(Condition::forget);
    }
}

/// Compiles the condition of an input.
pub(crate) fn condition_of(
    expr: Option<&Expr>,
    compiler: &mut Compiler<'_>,
) -> Result<Option<Condition>> {
    expr.map(|expr| Condition::compile(expr, compiler)).transpose()
}
