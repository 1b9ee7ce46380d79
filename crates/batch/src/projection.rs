//! [`Projection`]: rows of expressions over the rows of an input, computed when something asks for them.

use sql::plan::Expr;
use types::{Result, Type, TypeSource};

use crate::Programs;
use crate::cutoff::Cutoff;
use crate::reader::{Piece, Reader, condition_of};
use crate::slice::{Load, Selection, Slice};
use crate::value::{Compiler, Run, Value};
use crate::vector::{Lent, Vector};

/// Expressions over the rows of an input.
#[derive(Clone)]
pub struct Projection {
    reader: Reader,
    values: Vec<Value>,
    /// Leaves out rows by one of the expressions.
    cutoff: Option<Cutoff>,
}

/// Computes the columns of a slice from those of another.
struct Computed<'p, 's> {
    values: &'p [Value],
    run: Run<'p>,
    slice: &'p Slice<'s>,
    rows: &'p Selection,
}

impl<'p> Load<'p> for Computed<'p, '_> {
    fn column(&self, at: usize) -> Result<Vector<'p>> {
        Ok(match self.values[at].vector(self.run, self.slice, self.rows)? {
            Lent::Borrowed(vector) => vector.clone(),
            Lent::Owned(vector) => vector,
        })
    }
}

impl Projection {
    /// Compiles expressions over rows with these columns: their positions and types. Only rows are taken for which the
    /// condition is true. `program` makes the programs of expressions.
    ///
    /// # Errors
    /// The errors of making a program.
    pub fn compile(
        columns: &[(usize, Type)],
        condition: Option<&Expr>,
        exprs: &[Expr],
        types: &dyn TypeSource,
        program: &mut Programs<'_>,
    ) -> Result<Projection> {
        let mut compiler = Compiler { types, program, fields: Vec::new() };
        let condition = condition_of(condition, &mut compiler)?;
        let values = exprs.iter().map(|expr| Value::compile(expr, &mut compiler));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Projection { reader: Reader::new(columns, condition, compiler)?, values, cutoff: None })
    }

    /// Leaves out rows from now on, by an expression.
    pub fn cut_off(&mut self, cutoff: Cutoff) {
        self.cutoff = Some(cutoff);
    }

    /// Returns true if no row of a piece is wanted, as the zones of a block tell.
    fn is_cut_off(&self, piece: &Piece<'_, '_>) -> bool {
        let (Some(cutoff), Piece::Block(block, _)) = (&self.cutoff, piece) else { return false };
        let Value::Column(column) = self.values[cutoff.column()] else { return false };
        let column = block.column(self.reader.wanted().columns[column].position);
        column.is_some_and(|column| cutoff.leaves_out(column.zone(), column.repr()))
    }

    /// Calls `f` with the rows of expressions of a piece. Returns for how many rows the condition is true, among those
    /// that were looked at.
    ///
    /// # Errors
    /// The errors of reading the rows, the programs and `f`.
    pub fn take(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut dyn FnMut(&Slice<'_>, &Selection) -> Result<()>,
    ) -> Result<u64> {
        if self.is_cut_off(piece) {
            return (run.tick)(1).map(|()| 0);
        }
        let (values, mut cutoff) = (&self.values[..], self.cutoff.as_mut());
        self.reader.read(run, piece, &mut |slice, mut rows| {
            if let Some(cutoff) = &mut cutoff {
                let vector = values[cutoff.column()].vector(run, slice, &rows)?;
                cutoff.narrow(&vector, &mut rows)?;
            }
            let computed = Computed { values, run, slice, rows: &rows };
            f(&Slice::new(slice.rows(), values.len(), 0, &computed), &rows)
        })
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&mut self) {
        self.cutoff = None;
        self.reader.forget();
        self.values.iter().for_each(Value::forget);
    }
}
