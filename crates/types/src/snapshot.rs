//! `pg_snapshot` and `txid_snapshot`: the transactions that had ended at a moment.
//!
//! ```text
//!   12:20:14,15     all before 12 had ended, none from 20 on had, and 14 and 15 were running
//! ```
//!
//! A snapshot is held as this text.

use std::fmt;

use crate::text::{invalid_syntax, is_space};
use crate::{Error, Result, SqlState};

/// Which transactions had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visibility {
    /// The first that had not ended.
    pub xmin: u64,
    /// The first that had not begun.
    pub xmax: u64,
    /// The transactions from `xmin` to `xmax` that were running, in ascending order.
    pub running: Vec<u64>,
}

/// The highest number of a transaction in binary form.
const NUMBER_MAX: u64 = i64::MAX as u64;

impl Visibility {
    /// Reads the text form.
    ///
    /// # Errors
    /// 22P02 for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| invalid_syntax("pg_snapshot", text))
    }

    fn read(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim_start_matches(is_space).parse::<u64>().ok();
        let mut parts = text.splitn(3, ':');
        let (xmin, xmax) = (number(parts.next()?)?, number(parts.next()?)?);
        let list = parts.next()?;
        let mut snapshot = Self { xmin, xmax, running: Vec::new() };
        if xmin == 0 || xmax < xmin {
            return None;
        }
        for running in list.split_terminator(',') {
            if !snapshot.add(number(running)?) {
                return None;
            }
        }
        Some(snapshot)
    }

    /// Adds a running transaction; returns false if it is out of order. A transaction that is in the
    /// list already is not added again.
    fn add(&mut self, running: u64) -> bool {
        let last = self.running.last().copied().unwrap_or(0);
        if running < self.xmin || running >= self.xmax || running < last {
            return false;
        }
        if running != last {
            self.running.push(running);
        }
        true
    }

    /// True for a transaction that had ended.
    pub fn has(&self, transaction: u64) -> bool {
        transaction < self.xmin
            || transaction < self.xmax && self.running.binary_search(&transaction).is_err()
    }

    /// Appends the binary form.
    pub(crate) fn to_wire(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.running.len() as i32).to_be_bytes());
        for number in [self.xmin, self.xmax].iter().chain(&self.running) {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Reads the binary form off the front of bytes.
    ///
    /// # Errors
    /// 22P03 for anything else, 08P01 where bytes are missing.
    pub(crate) fn from_wire(bytes: &mut &[u8]) -> Result<Self> {
        let missing =
            || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let wrong = || {
            let message = "invalid external pg_snapshot data";
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        };
        let (count, rest) = bytes.split_first_chunk().ok_or_else(missing)?;
        *bytes = rest;
        let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| wrong())?;
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk().ok_or_else(missing)?;
            *bytes = rest;
            Ok::<_, Error>(u64::from_be_bytes(*number))
        };
        let (xmin, xmax) = (number()?, number()?);
        if xmin == 0 || xmax < xmin || xmax > NUMBER_MAX {
            return Err(wrong());
        }
        let mut snapshot = Self { xmin, xmax, running: Vec::new() };
        for _ in 0..count {
            if !snapshot.add(number()?) {
                return Err(wrong());
            }
        }
        Ok(snapshot)
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.xmin, self.xmax)?;
        for (at, running) in self.running.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{running}")?;
        }
        Ok(())
    }
}
