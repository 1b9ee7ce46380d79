//! The dependencies of kept rows, and whether the rows are still valid.
//!
//! ```text
//!   with c as (select * from item where item.n > t.n) ...       c keeps rows that depend on the slot of t.n
//!     (select count(*) from c)                                   the count depends on the version of c
//! ```
//!
//! Every table of `WITH` and every work table has a version in the shared state, which changes when
//! its rows do.

use types::Datum;

use super::Row;
use crate::ctx::Shared;

/// The dependencies of rows, other than the tables of the database.
#[derive(Clone, Default)]
pub(crate) struct Depends {
    slots: Vec<u32>,
    /// Tables of `WITH` and work tables, by the number of their version.
    sources: Vec<u32>,
}

/// The values of the slots and the versions of the tables that rows were computed with.
pub(crate) struct Known {
    pub(super) values: Row,
    pub(super) versions: Vec<u64>,
}

impl Depends {
    pub(crate) fn new(
        slots: impl IntoIterator<Item = u32>,
        sources: impl IntoIterator<Item = u32>,
    ) -> Self {
        Self { slots: slots.into_iter().collect(), sources: sources.into_iter().collect() }
    }

    /// True if no value of a row around is read.
    pub(crate) fn has_no_slots(&self) -> bool {
        self.slots.is_empty()
    }

    /// The current values of the dependencies.
    pub(crate) fn now(&self, shared: &Shared) -> Known {
        let slots = shared.slots.borrow();
        Known {
            values: self.slots.iter().map(|slot| slots[*slot as usize].clone()).collect(),
            versions: self.sources.iter().map(|source| shared.version(*source)).collect(),
        }
    }

    /// True if rows that were computed with `known` would be the same now.
    pub(crate) fn still(&self, shared: &Shared, known: &Known) -> bool {
        let slots = shared.slots.borrow();
        let mut values = self.slots.iter().zip(&known.values);
        let mut versions = self.sources.iter().zip(&known.versions);
        values.all(|(slot, value)| is_same(&slots[*slot as usize], value))
            && versions.all(|(source, version)| shared.version(*source) == *version)
    }
}

/// True if two values are the same to the last digit, not only equal.
fn is_same(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) => a == b,
        (Datum::Short(a), Datum::Short(b)) => **a == **b,
        (Datum::Bytea(a), Datum::Bytea(b)) => a == b,
        // Values that are equal may look different: they count as the same only where that cannot be.
        _ => {
            let exact = |datum: &Datum| datum.repr().is_none_or(types::key::is_reversible);
            exact(a) && exact(b) && a.repr() == b.repr() && a == b
        }
    }
}
