//! [`TxnScan`]: a range of keys as a transaction sees it, its own writes woven in.
//!
//! ```text
//!   snapshot      b      d      f      h
//!   own writes       c put  d del         i put
//!   scan          b  c          f      h  i
//! ```
//!
//! Under SERIALIZABLE the scan remembers how far it came. When it is dropped, the range from where
//! it started to the last key it gave (or to its end, if it came so far) is added to the reads of
//! the transaction: keys, and the absence of keys between them. A scan that stops early has read
//! only so much.
//!
//! # Invariants
//! * Keys come in strict order, each at most once.
//! * Of two sources with the same key both are taken: own writes decide, or stand upon the snapshot's.

use std::cmp::Ordering;
use std::ops::Bound;

use store::{Scan, TableId, Versioned};

use crate::cursor::KeyRange;
use crate::error::TxnError;
use crate::readset::{half_open, successor};
use crate::row::Row;
use crate::transaction::Transaction;
use crate::writeset::{Moment, Own};

type OwnRange<'t> = Box<dyn Iterator<Item = (&'t [u8], Own<'t>)> + Send + 't>;

/// An iterator over the keys of a range, each with its state, as a transaction sees them.
pub struct TxnScan<'t> {
    txn: &'t Transaction,
    table: TableId,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    reverse: bool,
    stored: Scan,
    stored_next: Option<(Vec<u8>, Versioned)>,
    own: Option<OwnRange<'t>>,
    own_next: Option<(&'t [u8], Own<'t>)>,
    passed: Passed,
    failed: bool,
}

/// How far a scan came since it started or last jumped.
enum Passed {
    Nothing,
    UpTo(Vec<u8>),
    All,
}

impl<'t> TxnScan<'t> {
    pub(crate) fn new(
        txn: &'t Transaction,
        table: TableId,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        reverse: bool,
    ) -> Self {
        let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
        let stored = txn.view().scan(table, range, reverse);
        let mut scan = TxnScan {
            txn,
            table,
            lower,
            upper,
            reverse,
            stored,
            stored_next: None,
            own: None,
            own_next: None,
            passed: Passed::Nothing,
            failed: false,
        };
        scan.restart_own();
        scan
    }

    fn restart_own(&mut self) {
        if self.txn.writes.is_empty() {
            return;
        }
        let range =
            self.txn.writes.range(self.table, slice(&self.lower), slice(&self.upper), Moment::END);
        let mut own: OwnRange<'t> =
            if self.reverse { Box::new(range.rev()) } else { Box::new(range) };
        self.own_next = own.next();
        self.own = Some(own);
    }

    /// Jumps to `key`, in the direction of the scan: the next item is the first at or after it (at or
    /// before it in reverse). Never goes back.
    pub fn seek(&mut self, key: &[u8]) {
        let ahead = match (self.reverse, &self.lower, &self.upper) {
            (false, Bound::Included(low) | Bound::Excluded(low), _) => key > low.as_slice(),
            (true, _, Bound::Included(high) | Bound::Excluded(high)) => key < high.as_slice(),
            _ => true,
        };
        let beyond_given = match &self.passed {
            Passed::Nothing => true,
            Passed::UpTo(last) if self.reverse => key < last.as_slice(),
            Passed::UpTo(last) => key > last.as_slice(),
            Passed::All => false,
        };
        if !ahead || !beyond_given {
            return;
        }
        self.remember();
        self.passed = Passed::Nothing;
        *(if self.reverse { &mut self.upper } else { &mut self.lower }) =
            Bound::Included(key.to_vec());
        self.stored.seek(key);
        let keep = |at: &[u8]| if self.reverse { at <= key } else { at >= key };
        self.stored_next.take_if(|(at, _)| !keep(at));
        self.restart_own();
    }

    fn step(&mut self) -> Result<Option<(Vec<u8>, Row<'t>)>, TxnError> {
        loop {
            if self.stored_next.is_none() {
                self.stored_next = self.stored.next().transpose()?;
            }
            let order = match (&self.stored_next, &self.own_next) {
                (None, None) => return Ok(None),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((stored, _)), Some((own, _))) if self.reverse => {
                    (*own).cmp(stored.as_slice())
                }
                (Some((stored, _)), Some((own, _))) => stored.as_slice().cmp(own),
            };
            let stored = if order.is_le() { self.stored_next.take() } else { None };
            let own = if order.is_ge() { self.next_own() } else { None };
            let (key, stored) = match (stored, &own) {
                (Some((key, versioned)), _) => (key, Some(versioned)),
                (None, Some((key, _))) => (key.to_vec(), None),
                (None, None) => return Ok(None),
            };
            let row = Row::new(own.map(|(_, own)| own), || Ok::<_, TxnError>(stored))?;
            if let Some(row) = row {
                return Ok(Some((key, row)));
            }
        }
    }

    fn next_own(&mut self) -> Option<(&'t [u8], Own<'t>)> {
        let next = self.own.as_mut().and_then(Iterator::next);
        std::mem::replace(&mut self.own_next, next)
    }

    /// Adds what was passed over to what the transaction has read.
    fn remember(&mut self) {
        if !self.txn.is_serializable() {
            return;
        }
        let (mut lower, mut upper) = half_open(&self.lower, &self.upper);
        match &self.passed {
            Passed::Nothing => return,
            Passed::All => {}
            Passed::UpTo(last) if self.reverse => lower.clone_from(last),
            Passed::UpTo(last) => upper = Some(successor(last)),
        }
        self.txn.reads.lock().add_range(self.table, lower, upper);
    }
}

impl<'t> Iterator for TxnScan<'t> {
    type Item = Result<(Vec<u8>, Row<'t>), TxnError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.step();
        match &item {
            Ok(Some((key, _))) if self.txn.is_serializable() => {
                self.passed = Passed::UpTo(key.clone())
            }
            Ok(Some(_)) => {}
            Ok(None) => self.passed = Passed::All,
            Err(_) => self.failed = true,
        }
        item.transpose()
    }
}

impl Drop for TxnScan<'_> {
    fn drop(&mut self) {
        self.remember();
    }
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
