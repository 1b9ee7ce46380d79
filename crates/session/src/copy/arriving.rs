//! [`Arriving`]: the data of `COPY ... FROM STDIN` while the client sends them.
//!
//! ```text
//!   COPY ──> In, checked, without a lock     d d d ... ──> spool     end ──> In anew, under its lock ──> rows
//! ```
//!
//! # Invariants
//! * While the session waits for bytes of its client, the statement holds no lock of a table or a row, so other
//!   sessions go on, whatever becomes of the client.
//! * No more of the data is in memory than [`MEMORY_BYTES_MAX`]; the rest is in a temporary file.

use exec::ByteSpool;
use sql::parse::ast::Copy;
use types::SqlState;

use super::options::CopyOptions;
use super::{In, no_copy};
use crate::error::{Error, Result};
use crate::session::Session;

/// Bytes that are kept in memory.
const MEMORY_BYTES_MAX: usize = 1 << 20;
/// Bytes that are made into rows at a time.
const PIECE_BYTES: usize = 512 << 10;

/// Data on their way, and the statement that they belong to.
pub(crate) struct Arriving {
    statement: Box<Copy>,
    options: CopyOptions,
    spool: ByteSpool,
}

impl Session {
    /// The data of a statement of which the client has sent nothing yet.
    pub(super) fn arriving(&self, statement: &Copy, options: &CopyOptions) -> Arriving {
        let folder = self.client.instance.temporary.as_ref();
        Arriving {
            statement: Box::new(statement.clone()),
            options: options.clone(),
            spool: ByteSpool::new(folder, MEMORY_BYTES_MAX),
        }
    }

    /// Takes more data in, and makes the rows once they are all there.
    pub(super) fn take_arriving(
        &mut self,
        mut copy: In,
        mut arriving: Arriving,
        data: &[u8],
        last: bool,
    ) -> Result<()> {
        arriving.spool.push(data)?;
        self.client.slot.status.progress.tell(0, data.len());
        if last {
            return self.make_rows(&copy, arriving);
        }
        copy.arriving = Some(arriving);
        self.copying = Some(copy);
        Ok(())
    }

    /// Makes the rows of all data. The table is locked from here on, and may have become another meanwhile.
    fn make_rows(&mut self, announced: &In, arriving: Arriving) -> Result<()> {
        let Arriving { statement, options, spool } = arriving;
        self.begin_in(&statement, options, announced.alone)?;
        let copy = self.copying.as_ref().ok_or_else(no_copy)?;
        if copy.columns.len() != announced.columns.len() {
            self.copying = None;
            let message = format!("table \"{}\" got other columns during COPY", announced.name);
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let (mut spooled, mut piece) = (spool.read(), Vec::new());
        loop {
            spooled.next(PIECE_BYTES, &mut piece)?;
            let is_end = piece.is_empty();
            self.take_in(&piece, is_end)?;
            if is_end {
                return Ok(());
            }
        }
    }
}
