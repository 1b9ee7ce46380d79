//! [`Row`]: a key's state as a transaction sees it, unmerged.
//!
//! ```text
//!   snapshot    [ image 31 ][+44][+52]            as the store has it
//!   own writes                        [+][+]      this transaction's, numbered Csn::MAX for now
//!
//!   or, after a put of its own:  [ own image ][+]   and the snapshot does not matter
//! ```

use store::{Csn, MergeError, ScannedState, Table, Versioned};

use crate::writeset::{Own, OwnBase};

/// The state of a key within a transaction: a base and the deltas upon it, unmerged.
///
/// A write of the transaction itself has no number yet and carries [`Csn::MAX`].
pub struct Row<'t> {
    stored: Option<ScannedState<'t>>,
    own: Option<Own<'t>>,
}

impl<'t> Row<'t> {
    /// The row of what the store and the transaction say, or `None` if there is none. The store's
    /// answer is asked for only where it matters.
    pub(crate) fn new<E>(
        own: Option<Own<'t>>,
        stored: impl FnOnce() -> Result<Option<Versioned>, E>,
    ) -> Result<Option<Row<'t>>, E> {
        match own.as_ref().map(|own| own.base) {
            Some(OwnBase::Deleted) => Ok(None),
            Some(OwnBase::Put(_)) => Ok(Some(Row { stored: None, own })),
            Some(OwnBase::Snapshot) | None => {
                Ok(stored()?.map(|stored| Row { stored: Some(ScannedState::State(stored)), own }))
            }
        }
    }

    /// A row of which the transaction has written nothing.
    pub(crate) fn of_store(stored: Versioned) -> Row<'t> {
        Row::seen(ScannedState::State(stored))
    }

    /// The same, of what a scan stands on.
    pub(crate) fn seen(stored: ScannedState<'t>) -> Row<'t> {
        Row { stored: Some(stored), own: None }
    }

    /// The commit of the newest change, [`Csn::MAX`] where it is the transaction's own.
    pub fn csn(&self) -> Csn {
        match (&self.own, &self.stored) {
            // A load of the transaction's own has no commit yet.
            (None, Some(stored)) if stored.csn() > Csn::ZERO => stored.csn(),
            _ => Csn::MAX,
        }
    }

    /// True if the transaction itself has written the key.
    pub fn is_own(&self) -> bool {
        self.csn() == Csn::MAX
    }

    /// The commit at which the base was current.
    pub fn base_csn(&self) -> Csn {
        self.stored.as_ref().map_or(Csn::MAX, ScannedState::base_csn)
    }

    /// The whole value below the deltas.
    pub fn base(&self) -> &[u8] {
        match (&self.stored, &self.own) {
            (Some(stored), _) => stored.base(),
            (None, Some(Own { base: OwnBase::Put(image), .. })) => image,
            (None, _) => unreachable!("a row stands on the store or on a put of its own"),
        }
    }

    /// How many deltas stand on the base.
    pub fn delta_count(&self) -> usize {
        self.state().map_or(0, Versioned::delta_count) + self.own_deltas().len()
    }

    /// The deltas, oldest first.
    pub fn deltas(&self) -> impl DoubleEndedIterator<Item = (Csn, &[u8])> {
        let own = self.own_deltas().iter().map(|delta| (Csn::MAX, *delta));
        self.state().into_iter().flat_map(Versioned::deltas).chain(own)
    }

    /// Returns the state in the store, where it is no whole value.
    fn state(&self) -> Option<&Versioned> {
        match &self.stored {
            Some(ScannedState::State(state)) => Some(state),
            Some(ScannedState::Image { .. }) | None => None,
        }
    }

    fn own_deltas(&self) -> &[&'t [u8]] {
        self.own.as_ref().map_or(&[], |own| &own.deltas)
    }

    /// True if the base is the state: there is nothing to merge.
    pub fn is_image(&self) -> bool {
        self.own_deltas().is_empty() && self.state().is_none_or(Versioned::is_image)
    }

    /// Appends the merged value to `out`. `table` and `key` are those it was read with.
    pub fn image_into(
        &self,
        table: &dyn Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        store::merge_into(table, key, self.base_csn(), self.base(), self.deltas(), out)
    }
}
