//! Rows beside documents: a collection that is a table of SQL.
//!
//! ```text
//!   put "a1"    Rows::lock ──> the row of a1      edits of nodes      Rows::follow ──> it is there      commit
//! ```
//!
//! Who changes documents by this crate knows nothing of rows. Where a collection has them, they decide who
//! may change a document, in place of the document's own lock, and follow what becomes of it in the same
//! commit. What no row can hold is no document there either: SQL could not read it, nor its neighbours.

use crate::Result;
use crate::collection::Collection;
use crate::key::{Prefix, Record};
use json::jsonb::Jsonb;
use json::{Kind, Tape};
use std::sync::Arc;
use txn::Transaction;

/// The rows that stand beside the documents of a collection, one for each.
pub trait Rows: Send + Sync {
    /// Keeps everybody else from the row of a document until the transaction ends.
    ///
    /// # Errors
    /// [`DocumentError::Dropped`](crate::DocumentError::Dropped) where the table is not there any more,
    /// [`DocumentError::BadKey`](crate::DocumentError::BadKey) where no row can have that key,
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where rows need more than a document.
    fn lock(&self, txn: &mut Transaction, key: &str) -> Result<()>;

    /// Has the row, which is locked, be changed with its document, which is there after that, or not.
    ///
    /// # Errors
    /// [`DocumentError::Refused`](crate::DocumentError::Refused) where a new row needs more than a document.
    fn follow(&self, txn: &mut Transaction, key: &str, is_there: bool) -> Result<()>;
}

impl Collection {
    /// The same collection, whose documents have rows beside them.
    pub fn with_rows(mut self, rows: Arc<dyn Rows>) -> Collection {
        self.rows = Some(rows);
        self
    }

    /// Takes the lock that decides about a document.
    pub(crate) fn lock(&self, txn: &mut Transaction, key: &str, prefix: &Prefix) -> Result<()> {
        match &self.rows {
            Some(rows) => rows.lock(txn, key),
            None => Ok(txn.lock(self.id(), &prefix.record(Record::Revisions(0))).map(drop)?),
        }
    }

    /// Tells the row of a document, if there are rows, that it changes.
    pub(crate) fn follow(&self, txn: &mut Transaction, key: &str, is_there: bool) -> Result<()> {
        self.rows.as_ref().map_or(Ok(()), |rows| rows.follow(txn, key, is_there))
    }
}

/// An error where a value is none of type `jsonb`: a string or a name with a NUL, a number beyond `numeric`.
pub(crate) fn check_values(tape: &Tape) -> Result<()> {
    let mut at = 0;
    for index in 0..tape.len() {
        let text = &tape.heap[at..at + tape.text_lens[index] as usize];
        at += text.len();
        let (name, value) = text.split_at(tape.name_len(index).unwrap_or(0));
        check_text(name)?;
        check_scalar(tape.kinds[index], value)?;
    }
    Ok(())
}

/// The same of one value; containers have no text.
pub(crate) fn check_scalar(kind: Kind, text: &[u8]) -> Result<()> {
    let is_exact = text.len() <= 100 && !text.iter().any(|byte| matches!(byte, b'e' | b'E'));
    // What is short and exact is in range, whatever it is.
    if kind == Kind::Number && !is_exact {
        Jsonb::parse(&String::from_utf8_lossy(text))?;
    }
    check_text(text)
}

/// An error where an escaped text has a NUL.
pub(crate) fn check_text(text: &[u8]) -> Result<()> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at + 1..].starts_with(b"u0000") {
            Jsonb::parse(&format!("\"{}\"", String::from_utf8_lossy(text)))?;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    Ok(())
}
