//! [`Rows`]: the conversion of a session's rows to messages.

use std::ops::ControlFlow;

use charset::Charset;
use session::{Column, Done, Error, Output};
use types::{Context, Datum};

use crate::wire::backend::{self, Forms};

/// Appends rows to the answers, until there is enough to be sent.
pub(super) struct Rows<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) scratch: &'a mut String,
    /// How values are written.
    pub(super) forms: Forms<'a>,
    /// The encoding of the data of a `COPY`.
    pub(super) copied: Charset,
    /// Why data of a `COPY` could not be sent.
    pub(super) failed: Option<types::Error>,
    /// How many rows were taken.
    pub(super) count: u64,
    /// How many bytes of answers are enough to be sent.
    pub(super) enough: usize,
}

impl Rows<'_> {
    /// How many rows were taken, and what the statement has come to.
    pub(super) fn outcome(self, done: Result<Done, Error>) -> (u64, Result<Done, Error>) {
        match self.failed {
            Some(error) => (self.count, Err(error.into())),
            None => (self.count, done),
        }
    }

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
        row.iter().for_each(Datum::make);
        backend::row(self.out, row, columns, self.forms, context, self.scratch)?;
        self.count += 1;
        Ok(self.flow())
    }

    fn notices(&mut self, notices: &mut Vec<Error>) {
        for notice in notices.drain(..) {
            backend::report(self.out, self.forms.charset, &notice);
        }
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        if self.copied.is_same() {
            backend::copy_data(self.out, data);
            return self.flow();
        }
        match types::text::utf8(data).and_then(|text| self.copied.encode(text)) {
            Ok(bytes) => {
                backend::copy_data(self.out, &bytes);
                self.flow()
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
