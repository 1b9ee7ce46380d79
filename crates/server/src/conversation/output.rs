//! [`Rows`]: where a session's rows become messages.

use std::ops::ControlFlow;

use session::{Column, Error, Format, Output};
use types::{Context, Datum};

use crate::wire::backend;

/// Appends rows to the answers, until there is enough to be sent.
pub(super) struct Rows<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) scratch: &'a mut String,
    /// How columns are written: none (all as text), one for all, or one for each.
    pub(super) formats: &'a [Format],
    /// How many rows were taken.
    pub(super) count: u64,
    /// How many bytes of answers are enough to be sent.
    pub(super) enough: usize,
}

impl Rows<'_> {
    fn flow(&self) -> ControlFlow<()> {
        if self.out.len() < self.enough {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

impl Output for Rows<'_> {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        backend::row(self.out, row, columns, self.formats, context, self.scratch)?;
        self.count += 1;
        Ok(self.flow())
    }

    fn notices(&mut self, notices: &mut Vec<Error>) {
        for notice in notices.drain(..) {
            backend::report(self.out, &notice);
        }
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        backend::copy_data(self.out, data);
        self.flow()
    }
}
