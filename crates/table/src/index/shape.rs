//! [`KeyShape`]: how keys are made of columns, and which ranges of keys conditions on columns mean.
//!
//! ```text
//!   (a ASC, b DESC NULLS LAST)      a = 3 and b > 7
//!
//!   keys    01│80 00 00 03│01│~7...        NULLs of b are 02, behind all its values
//!           '-- equal: 3 -''-- below ~7: the greater values of b come first
//! ```

use std::ops::Bound;

use txn::KeyRange;
use types::{DatumRef, KeyOrder, Repr, key};

/// The columns of a key: how their values are held, and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    columns: Vec<(Repr, KeyOrder)>,
}

impl KeyShape {
    pub(crate) fn new(columns: Vec<(Repr, KeyOrder)>) -> KeyShape {
        KeyShape { columns }
    }

    /// The columns.
    pub fn columns(&self) -> &[(Repr, KeyOrder)] {
        &self.columns
    }

    /// The keys whose first columns have these values (NULL is a value here), and whose next column,
    /// where a bound is given for it, has a value within the bounds, and so is not NULL. Bounds are in
    /// the order of values, whatever the order of the column.
    pub fn range(
        &self,
        equal: &[DatumRef<'_>],
        lower: Bound<DatumRef<'_>>,
        upper: Bound<DatumRef<'_>>,
    ) -> KeyRange {
        let mut prefix = Vec::with_capacity(16);
        for (value, (_, order)) in equal.iter().zip(&self.columns) {
            key::write(*value, *order, &mut prefix);
        }
        let is_bounded = !matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded));
        let Some((_, order)) = self.columns.get(equal.len()).filter(|_| is_bounded) else {
            return if prefix.is_empty() { KeyRange::ALL } else { KeyRange::prefix(prefix) };
        };
        let (lower, upper) = if order.is_descending { (upper, lower) } else { (lower, upper) };
        let with = |value: DatumRef<'_>| {
            let mut key = prefix.clone();
            key::write(value, *order, &mut key);
            key
        };
        // The byte in front of each value: what is below or above it is NULL.
        let values = [prefix.as_slice(), &[key::VALUE]].concat();
        let lower = match lower {
            Bound::Included(value) => Bound::Included(with(value)),
            Bound::Excluded(value) => match KeyRange::end_of(&with(value)) {
                Bound::Excluded(end) => Bound::Included(end),
                other => other,
            },
            Bound::Unbounded => Bound::Included(values.clone()),
        };
        let upper = match upper {
            Bound::Included(value) => KeyRange::end_of(&with(value)),
            Bound::Excluded(value) => Bound::Excluded(with(value)),
            Bound::Unbounded => KeyRange::end_of(&values),
        };
        KeyRange { lower, upper }
    }
}
