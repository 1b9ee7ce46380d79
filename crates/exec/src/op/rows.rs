//! Rows of one width, one behind the other in one piece of memory: keeping a row allocates nothing, and
//! the buffer that it came in is used again.

use types::Datum;

use super::Row;

/// Rows in the order in which they came.
#[derive(Default)]
pub(crate) struct Rows {
    values: Vec<Datum>,
    width: usize,
    len: usize,
}

impl Rows {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Moves the values of a row in; the row has none then.
    pub(crate) fn push(&mut self, row: &mut Row) {
        debug_assert!(self.len == 0 || row.len() == self.width, "the rows have one width");
        self.width = row.len();
        self.values.append(row);
        self.len += 1;
    }

    /// Copies a row.
    pub(crate) fn push_copy(&mut self, row: &[Datum]) {
        debug_assert!(self.len == 0 || row.len() == self.width, "the rows have one width");
        self.width = row.len();
        self.values.extend_from_slice(row);
        self.len += 1;
    }

    /// The row at a place, which is there.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> &[Datum] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    /// Moves the values of the row at a place out; NULLs stay there.
    pub(crate) fn take(&mut self, at: usize, out: &mut Row) {
        out.clear();
        let row = &mut self.values[at * self.width..(at + 1) * self.width];
        out.extend(row.iter_mut().map(std::mem::take));
    }

    /// The rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Datum]> {
        (0..self.len).map(|at| self.get(at))
    }

    /// Forgets all; the memory is used again.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.len = 0;
    }
}
