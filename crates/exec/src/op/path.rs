//! The keys that a scan reads: ranges that are computed when it starts, and searches of an index of
//! items.

use plan::{Binding, Equal};
use sql::eval::{Program, Row as EvalRow};
use std::collections::VecDeque;
use types::{Datum, KeyOrder, Oid, Repr, Result};

use crate::ctx::Env;
use crate::tables::{Range, ScanKey};
use table::index::Strategy;

/// How the rows are found, ready to be computed.
pub(crate) struct Path {
    pub(crate) index: Option<Oid>,
    pub(crate) is_backward: bool,
    /// The columns of the key that are bound, in order, and how they are held.
    pub(crate) columns: Vec<(Repr, KeyOrder)>,
    pub(crate) equal: Vec<Equal<Program>>,
    /// True if at most one row is in the range, whose key, or entry in the index, is what it begins with.
    pub(crate) is_single: bool,
    pub(crate) may_read_all: bool,
    pub(crate) low: Option<(Program, bool)>,
    pub(crate) high: Option<(Program, bool)>,
    /// The searches of an index of items: of which part, and for which value.
    pub(crate) scan_keys: Vec<(usize, Strategy, Program)>,
}

impl Path {
    /// The items that the rows must have, for a search of an index; none if no row can have
    /// them.
    pub(crate) fn scan_keys(&self, env: &Env<'_>) -> Result<Option<Vec<ScanKey>>> {
        let mut all = Vec::with_capacity(self.scan_keys.len());
        for (part, strategy, program) in &self.scan_keys {
            let value = env.value(program, EvalRow::NONE)?;
            if value.is_null() {
                return Ok(None);
            }
            all.push(ScanKey { part: *part, strategy: *strategy, value });
        }
        Ok(Some(all))
    }

    /// The ranges of keys, in the order in which they are read.
    pub(crate) fn ranges(&self, env: &Env<'_>) -> Result<VecDeque<Range>> {
        let binding = Binding {
            columns: &self.columns,
            equal: &self.equal,
            low: self.low.as_ref().map(|(value, inclusive)| (value, *inclusive)),
            high: self.high.as_ref().map(|(value, inclusive)| (value, *inclusive)),
        };
        let mut ranges = binding.ranges(&mut |program| env.value(program, EvalRow::NONE))?;
        if self.is_backward {
            ranges.reverse();
        }
        Ok(ranges.into())
    }

    /// The values that all of so many columns are equal to; `None` if they are not, or no row can have them.
    pub(crate) fn values(&self, env: &Env<'_>, columns: usize) -> Result<Option<Vec<Datum>>> {
        if self.equal.len() < columns {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(columns);
        for (equal, (repr, _)) in self.equal.iter().zip(&self.columns) {
            let value = equal.value(*repr, &mut |program| env.value(program, EvalRow::NONE))?;
            let Some(value) = value else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(values))
    }
}
