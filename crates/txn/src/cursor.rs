//! [`Cursor`]: a scan that borrows nothing while it rests.
//!
//! ```text
//!   fill(view, f)   a b c d│                    f takes rows until it has enough
//!                          │   ... a portal waits for its client; the transaction goes on ...
//!   fill(view, f)          │e f g h│            the same snapshot as before, own writes as they are now
//! ```
//!
//! Everything is seen as of the view of the first fill, however far the transaction's snapshot has moved
//! on since (under READ COMMITTED it moves with every statement), and whatever the transaction has
//! written: a cursor that is not at its end holds that snapshot and remembers that moment. Rows are
//! handed to a closure, not copied.
//!
//! # Invariants
//! * Keys come in strict order over all fills, each at most once.
//! * `range` is what is still ahead; what the store has given and `f` has not yet seen is within it. Where
//!   the transaction has no writes of its own, it may also have blocks of columns that were taken.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use store::{ColumnRows, Scan, ScannedState, TableId, Versioned};

use crate::error::TxnError;
use crate::readset::{half_open, successor};
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::view::View;
use crate::writeset::{Moment, Own};

/// The keys between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// All keys.
    pub const ALL: KeyRange = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> KeyRange {
        KeyRange { upper: KeyRange::end_of(&prefix), lower: Bound::Included(prefix) }
    }

    /// The upper bound behind all keys that begin with `prefix`.
    pub fn end_of(prefix: &[u8]) -> Bound<Vec<u8>> {
        let Some(last) = prefix.iter().rposition(|byte| *byte != u8::MAX) else {
            return Bound::Unbounded;
        };
        let mut end = prefix[..=last].to_vec();
        end[last] += 1;
        Bound::Excluded(end)
    }

    /// Returns the range of one key alone.
    pub fn only(key: Vec<u8>) -> KeyRange {
        KeyRange { lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
    }
}

/// A scan over a range of a table, that can be suspended.
pub struct Cursor {
    table: TableId,
    range: KeyRange,
    reverse: bool,
    stored: Option<Scan>,
    /// A state that the store has given and no caller has taken: `key` belongs to it.
    ahead: Option<Versioned>,
    key: Vec<u8>,
    /// The snapshot of the first fill, from its end on.
    snapshot: Option<Snapshot>,
    /// The moment of the first fill.
    moment: Option<Moment>,
    ended: bool,
}

impl Cursor {
    /// A cursor over a range, in order or in reverse.
    pub fn new(table: TableId, range: KeyRange, reverse: bool) -> Cursor {
        Cursor {
            table,
            range,
            reverse,
            stored: None,
            ahead: None,
            key: Vec::new(),
            snapshot: None,
            moment: None,
            ended: false,
        }
    }

    /// True if there is nothing more to come.
    pub fn is_at_end(&self) -> bool {
        self.ended
    }

    /// `view` as this cursor sees it.
    pub fn view<'v>(&'v self, view: View<'v>) -> View<'v> {
        let view = match self.moment {
            Some(moment) => view.at_moment(moment),
            None => view.settled(),
        };
        match &self.snapshot {
            Some(snapshot) => view.at(snapshot),
            None => view,
        }
    }

    /// Passes the next keys, up to so many, and returns how many; fewer only at the end. Views are those of
    /// [`Cursor::fill`].
    pub fn count(&mut self, view: View<'_>, keys_max: u64) -> Result<u64, TxnError> {
        let mut count = 0;
        if keys_max > 0 {
            self.fill::<TxnError>(view, |_, _| {
                count += 1;
                Ok(match count < keys_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
        }
        Ok(count)
    }

    /// Calls `f` with the next keys and their states until it breaks or fails (it has taken that one
    /// then), or the range ends. All fills are given views of the same transaction, or of none.
    pub fn fill<E: From<TxnError>>(
        &mut self,
        view: View<'_>,
        f: impl FnMut(&[u8], &Row<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.fill_with(view, f, None)
    }

    /// As [`Cursor::fill`], and returns before a block of columns where the store has one whose rows are all
    /// seen: it has taken that block then. A serializable transaction, and one with writes of its own in the
    /// table, sees rows alone.
    pub fn fill_to_columns<E: From<TxnError>>(
        &mut self,
        view: View<'_>,
        f: impl FnMut(&[u8], &Row<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<Option<ColumnRows>, E> {
        let mut columns = None;
        self.fill_with(view, f, Some(&mut columns))?;
        Ok(columns)
    }

    fn fill_with<E: From<TxnError>>(
        &mut self,
        view: View<'_>,
        f: impl FnMut(&[u8], &Row<'_>) -> Result<ControlFlow<()>, E>,
        columns: Option<&mut Option<ColumnRows>>,
    ) -> Result<(), E> {
        if self.ended {
            return Ok(());
        }
        let moment = *self.moment.get_or_insert_with(|| view.settled().moment());
        let view = view.at_moment(moment);
        let begin = view
            .transaction()
            .filter(|transaction| transaction.is_serializable())
            .map(|_| self.range.clone());
        let columns = columns.filter(|_| begin.is_none());
        let done = self.run(view, f, columns);
        if let (Some(begin), Some(transaction)) = (begin, view.transaction()) {
            let (lower, upper) = half_open(&begin.lower, &begin.upper);
            let (lower, upper) = match (&self.range.lower, &self.range.upper) {
                _ if self.ended => (lower, upper),
                (_, Bound::Excluded(passed)) if self.reverse => (passed.clone(), upper),
                (Bound::Excluded(passed), _) if !self.reverse => (lower, Some(successor(passed))),
                _ => (lower.clone(), Some(lower)),
            };
            transaction.note_range(self.table, lower, upper);
        }
        match done {
            Err(_) => self.ended = true,
            Ok(()) if self.snapshot.is_none() && !self.ended => {
                self.snapshot = Some(view.snapshot().clone());
            }
            Ok(()) => {}
        }
        done
    }

    fn run<E: From<TxnError>>(
        &mut self,
        view: View<'_>,
        mut f: impl FnMut(&[u8], &Row<'_>) -> Result<ControlFlow<()>, E>,
        columns: Option<&mut Option<ColumnRows>>,
    ) -> Result<(), E> {
        let Cursor { table, range, reverse, stored, ahead, key, ended, .. } = self;
        let stored = stored.get_or_insert_with(|| view.scan(*table, range.clone(), *reverse));
        let writes = view.transaction().map(|transaction| &transaction.writes);
        let writes = writes.filter(|writes| writes.touches(*table));
        let KeyRange { lower, upper } = range.clone();
        let mut own =
            writes.map(|writes| writes.range(*table, slice(&lower), slice(&upper), view.moment()));
        let mut next_own = || {
            let own = own.as_mut()?;
            if *reverse { own.next_back() } else { own.next() }
        };
        let mut own_ahead: Option<(&[u8], Own<'_>)> = next_own();
        let taken = |range: &mut KeyRange, key: &[u8]| {
            let bound = Bound::Excluded(key.to_vec());
            *(if *reverse { &mut range.upper } else { &mut range.lower }) = bound;
        };
        if writes.is_none() && ahead.is_none() {
            let mut failed = None;
            let mut visit = |at: &[u8], seen: ScannedState<'_>| match f(at, &Row::seen(seen)) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                stopped => {
                    taken(range, at);
                    failed = stopped.err();
                    ControlFlow::Break(())
                }
            };
            let flow = match columns {
                None => stored.visit(&mut visit),
                Some(columns) => stored.visit_columns(&mut visit, &mut |rows| {
                    *columns = Some(rows);
                    ControlFlow::Break(())
                }),
            };
            *ended = flow.map_err(TxnError::from)?.is_continue();
            return failed.map_or(Ok(()), Err);
        }
        loop {
            if ahead.is_none() {
                let found = stored.advance().map_err(TxnError::from)?;
                *ahead = found.map(|(at, versioned)| {
                    key.clear();
                    key.extend_from_slice(at);
                    versioned
                });
            }
            let order = match (&ahead, &own_ahead) {
                (None, None) => {
                    *ended = true;
                    return Ok(());
                }
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), Some((own, _))) if *reverse => (*own).cmp(key.as_slice()),
                (Some(_), Some((own, _))) => key.as_slice().cmp(own),
            };
            let (own_key, own) = match order.is_ge() {
                true => std::mem::replace(&mut own_ahead, next_own()).unzip(),
                false => (None, None),
            };
            let below = if order.is_le() { ahead.take() } else { None };
            let Some(row) = Row::new(own, || Ok::<_, TxnError>(below))? else { continue };
            let at = own_key.unwrap_or(key);
            match f(at, &row) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    taken(range, at);
                    return Ok(());
                }
                Err(error) => {
                    taken(range, at);
                    return Err(error);
                }
            }
        }
    }
}

pub(crate) fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
