//! [`Reader`]: the rows of an input as slices, without those that the input's condition leaves out.

use std::sync::Arc;

use sql::plan::Expr;
use table::columnar::Block;
use table::rows::{Batch, Layout};
use types::{Datum, Result, Type};

use crate::condition::{Condition, Known};
use crate::slice::{Selection, Slice};
use crate::source::{self, Dictionaries, ScanColumn, Wanted};
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

/// What takes slices, and the rows of each that are wanted.
pub(crate) type TakeSlice<'f> = dyn FnMut(&Slice<'_>, Selection) -> Result<()> + 'f;

/// Reads the pieces of an input.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    wanted: Arc<Wanted>,
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
            Ok(ScanColumn { position: *position, repr: compiler.types.repr_of(*ty)? })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let wanted = Arc::new(Wanted { columns, fields: compiler.fields });
        let dictionaries = Dictionaries::of(&wanted);
        Ok(Reader { wanted, condition, dictionaries })
    }

    /// Returns the columns and fields that are read.
    pub fn wanted(&self) -> &Arc<Wanted> {
        &self.wanted
    }

    /// Says what the zones of a block tell of the condition.
    pub fn known(&self, run: Run<'_>, block: &Block) -> Known {
        let zone = |at: usize| {
            let column = block.column(self.wanted.columns[at].position)?;
            Some((column.zone(), column.repr()))
        };
        match &self.condition {
            None => Known::Always,
            Some(condition) => condition.known(run, &zone),
        }
    }

    /// Calls `f` with slices of the rows of a piece, and which rows of each are wanted. Returns how many are.
    ///
    /// # Errors
    /// What reading, the programs and `f` report.
    pub fn read(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        match piece {
            Piece::Block(block, layout) => match self.known(run, block) {
                Known::Never => {
                    (run.tick)(1)?;
                    Ok(0)
                }
                known => self.read_block(run, block, layout, known == Known::Open, f),
            },
            Piece::Rows(batch) => {
                let (wanted, mut kept) = (Arc::clone(&self.wanted), 0);
                source::slices_of_rows(batch, &wanted, &mut |slice| {
                    kept += self.narrowed(run, slice, true, f)?;
                    Ok(())
                })?;
                Ok(kept)
            }
            Piece::Values(rows) => {
                let (wanted, mut kept) = (Arc::clone(&self.wanted), 0);
                source::slices_of_values(rows, &wanted, &mut |slice| {
                    kept += self.narrowed(run, slice, true, f)?;
                    Ok(())
                })?;
                Ok(kept)
            }
            Piece::Joined(slice, selected) => {
                let mut rows = (*selected).clone();
                (run.tick)(rows.len() as u64)?;
                if let Some(condition) = &self.condition {
                    condition.narrow(run, slice, &mut rows)?;
                }
                let kept = rows.len() as u64;
                if kept > 0 {
                    f(slice, rows)?;
                }
                Ok(kept)
            }
        }
    }

    /// As [`Reader::read`] for a block of which the zones have told whether the condition `is_open`.
    pub fn read_block(
        &mut self,
        run: Run<'_>,
        block: &Block,
        layout: &Layout,
        is_open: bool,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        let (wanted, mut kept) = (Arc::clone(&self.wanted), 0);
        self.dictionaries.keep(block, &wanted)?;
        source::slices_of_block(block, layout, &wanted, &self.dictionaries, &mut |slice| {
            kept += self.narrowed(run, slice, is_open, f)?;
            Ok(())
        })?;
        Ok(kept)
    }

    fn narrowed(
        &self,
        run: Run<'_>,
        slice: &Slice<'_>,
        is_open: bool,
        f: &mut TakeSlice<'_>,
    ) -> Result<u64> {
        (run.tick)(slice.rows() as u64)?;
        let mut rows = Selection::All(slice.rows());
        if let Some(condition) = self.condition.as_ref().filter(|_| is_open) {
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
