//! Stamps: 32-bit numbers that tell the versions of a row apart, as PostgreSQL's `xmin` does.
//!
//! ```text
//!   3 .. 0x7fff_ffff             of a commit, from its number        every commit, unless it has the other
//!   0x8000_0000 .. 0xffff_ffff   of a transaction, from its number   commits of transactions that were asked
//! ```
//!
//! A program writes a row, asks for its stamp (`RETURNING xmin`), and later changes the row where the stamp is
//! still the same. It asks before the commit has a number. So a transaction that was asked has a stamp of its
//! own, and its commit keeps it: the extension of the commit is `X` and the stamp. Stamps below 3 mean
//! something else in PostgreSQL, and no commit has one.

use std::sync::atomic::{AtomicBool, Ordering};

use store::Csn;

use crate::engine::Engine;
use crate::error::TxnError;
use crate::transaction::Transaction;

/// The first byte of the extension of a commit that has a stamp of its own.
const MAGIC: u8 = b'X';
/// The bit of stamps of transactions.
const OF_TRANSACTION: u32 = 1 << 31;
/// The smallest stamp.
const FIRST: u64 = 3;

/// The stamp of a commit that keeps none.
pub fn stamp_of_commit(csn: Csn) -> u32 {
    (csn.0 % (u64::from(OF_TRANSACTION) - FIRST) + FIRST) as u32
}

/// The stamp of the transaction with this number, which is unique among those that ever ran. Transactions with
/// numbers close to each other have different stamps.
pub fn stamp_of_transaction(number: u64) -> u32 {
    // Numbers of a later run begin far away, and their stamps somewhere else.
    let mixed = number.wrapping_add((number >> 20).wrapping_mul(0x9e37_79b1));
    OF_TRANSACTION | (mixed as u32 & (OF_TRANSACTION - 1))
}

/// The number of a transaction, and whether its stamp was asked for.
#[derive(Debug)]
pub(crate) struct Stamp {
    pub number: u64,
    is_asked: AtomicBool,
}

impl Stamp {
    pub fn new(number: u64) -> Stamp {
        Stamp { number, is_asked: AtomicBool::new(false) }
    }

    /// Returns the bytes that the commit keeps, where the application keeps nothing else.
    pub fn extension(&self) -> Vec<u8> {
        match self.is_asked.load(Ordering::Relaxed) {
            true => {
                let stamp = stamp_of_transaction(self.number);
                [&[MAGIC][..], &stamp.to_le_bytes()].concat()
            }
            false => Vec::new(),
        }
    }
}

impl Transaction {
    /// Gives the transaction a number that none has had before, which its stamp is made of.
    pub fn set_number(&mut self, number: u64) {
        self.stamp.number = number;
    }

    /// The stamp that the rows have which the transaction writes, now and after its commit.
    pub fn own_stamp(&self) -> u32 {
        self.stamp.is_asked.store(true, Ordering::Relaxed);
        stamp_of_transaction(self.stamp.number)
    }
}

impl Engine {
    /// The stamp of the rows that a visible commit has written.
    ///
    /// # Errors
    /// [`TxnError::NoSuchCommit`] where there is no such commit.
    pub fn stamp(&self, csn: Csn) -> Result<u32, TxnError> {
        if csn == Csn::ZERO {
            return Ok(stamp_of_commit(csn));
        }
        let extension = self.extension(csn)?;
        Ok(match extension.split_first() {
            Some((&MAGIC, rest)) if rest.len() == 4 => {
                u32::from_le_bytes(rest.try_into().expect("four bytes"))
            }
            _ => stamp_of_commit(csn),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps of commits and of transactions are never below 3, nor each other's.
    #[test]
    fn stamps_keep_apart() {
        for number in [0, 1, 2, (1 << 31) - 4, (1 << 31) - 3, 1 << 31, u64::MAX] {
            let commit = stamp_of_commit(Csn(number));
            assert!((3..1 << 31).contains(&commit), "{number}: {commit}");
            assert!(stamp_of_transaction(number) >= 1 << 31, "{number}");
        }
        let near: std::collections::HashSet<u32> =
            (0..100_000).map(|number| stamp_of_transaction((7 << 20) + number)).collect();
        assert_eq!(near.len(), 100_000);
    }
}
