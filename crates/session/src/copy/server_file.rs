//! `COPY` with a file of the server: the rights for it, and how it is read and written.
//!
//! A file that is written takes its name when it is whole and durable. Where the statement fails or is cancelled, the
//! file with that name is what it was before.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use interchange::{Replacement, could_not};
use sql::parse::ast::Copy;
use table::rows::LOAD_BYTES_MIN;
use types::{Context, Datum, SqlState};

use super::columns::{Input, Into};
use super::options::{CopyOptions, Style};
use super::{BINARY_END, Out, Writer, head_of, no_copy};
use crate::error::{Error, Result};
use crate::files::{self, Pieces};
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::session::Session;

/// Bytes of columns that are sent to a client together.
const PIECE_BYTES: usize = 256 << 10;

impl Session {
    /// The path of a file of the server, which the role may read or write.
    pub(super) fn server_file(&self, path: &str, from: bool) -> Result<PathBuf> {
        let names = &self.names;
        let (catalog, role, database) = (&names.present, names.role, names.database);
        if from {
            files::require_read("COPY from a file", catalog, role, database)?;
        } else {
            files::require_write("COPY to a file", catalog, role, database)?;
        }
        let path = PathBuf::from(path);
        // A program that has the database open itself knows its working folder.
        if !from && !path.is_absolute() && !self.client.role.is_empty() {
            let message = "relative path not allowed for COPY to file";
            return Err(Error::new(SqlState::INVALID_NAME, message));
        }
        Ok(path)
    }

    /// Puts the rows of a file into a table.
    pub(super) fn copy_from_file(
        &mut self,
        copy: &Copy,
        options: CopyOptions,
        path: &Path,
    ) -> Result<Work> {
        let style = options.style;
        self.begin_in(copy, options, false)?;
        let shown = path.display().to_string();
        let begun = self.copying.as_mut().ok_or_else(no_copy)?;
        begun.file = Some(shown);
        let done = match style {
            Style::Parquet => self.take_columns(path, interchange::FileFormat::Parquet),
            Style::Arrow => self.take_columns(path, interchange::FileFormat::Arrow),
            _ => self.take_pieces(path),
        };
        if done.is_err() {
            self.copying = None;
        }
        done?;
        let (tag, _) = self.finish_in()?;
        Ok(Work::Done(tag))
    }

    fn take_pieces(&mut self, path: &Path) -> Result<()> {
        let mut pieces = Pieces::open(&self.client.instance.env, path)?;
        loop {
            let piece = pieces.next()?;
            if piece.is_empty() {
                return self.take_in(&[], true);
            }
            self.take_in(&piece, false)?;
        }
    }

    fn take_columns(&mut self, path: &Path, format: interchange::FileFormat) -> Result<()> {
        let mut copy = self.copying.take().ok_or_else(no_copy)?;
        let env = self.client.instance.env.clone();
        let bytes = Pieces::open(&env, path)?.bytes();
        let names = std::sync::Arc::clone(&self.names);
        let relation = names.catalog.relation(copy.table).cloned().ok_or_else(no_copy)?;
        let statement_context = self.statement_context();
        let (columns, is_listed) = (&mut copy.columns, copy.is_listed);
        let into = Into { relation: &relation, columns, is_listed };
        let input = Input::of_file(&env, path, format, into, &names, statement_context.types());
        copy.input = Some(input.map_err(|error| {
            error.with_context(format!("COPY {}, file \"{}\"", copy.name, path.display()))
        })?);
        copy.way = self.way_of(&copy, bytes >= LOAD_BYTES_MIN as u64)?;
        self.insert_copied(&mut copy, &[], true)?;
        self.copying = Some(copy);
        Ok(())
    }

    /// Writes the rows of a plan to a file.
    pub(super) fn copy_to_file(
        &mut self,
        mut plan: Portal,
        options: &CopyOptions,
        path: &Path,
    ) -> Result<Tag> {
        let env = self.client.instance.env.clone();
        let columns = plan.columns.clone().unwrap_or_else(|| [].into());
        let file = Replacement::begin(&env, path);
        let mut file = file.map_err(|error| could_not("open", path, &error))?;
        let failed = |error: std::io::Error| could_not("write", path, &error);
        if options.style.is_columns() {
            let format = match options.style {
                Style::Parquet => interchange::Format::Parquet,
                _ => interchange::Format::ArrowFile,
            };
            let statement_context = self.statement_context();
            let (columns, types) = (written(&columns), statement_context.types());
            let writer =
                interchange::Writer::new(file, format, options.compression, columns, &types)?;
            drop(statement_context);
            let mut out = ToColumns { writer };
            while !matches!(self.run_plan(&mut plan, 0, &mut out)?, Done::Complete(_)) {}
            file = out.writer.finish()?;
        } else {
            let head = head_of(&columns, options);
            if options.style != Style::Binary {
                file.write_all(&head).map_err(failed)?;
            }
            let head = if options.style == Style::Binary { head } else { Vec::new() };
            let mut out = ToFile { file, failed: None };
            let (line, text) = (Vec::new(), String::new());
            let mut writer = Writer { out: &mut out, options, head, line, text };
            loop {
                let done = self.run_plan(&mut plan, 0, &mut writer)?;
                // The file has enough only where it refused a line.
                if matches!(done, Done::Complete(_) | Done::More) {
                    break;
                }
            }
            let mut rest = writer.head;
            if options.style == Style::Binary {
                rest.extend_from_slice(BINARY_END);
            }
            let ToFile { file: written, failed: refused } = out;
            if let Some(error) = refused {
                return Err(failed(error).into());
            }
            file = written;
            file.write_all(&rest).map_err(failed)?;
        }
        // A plan that is done has the tag of its statement, which counts its rows.
        let rows = plan.rows;
        if let Some(stopped) = self.client.slot.stopped() {
            return Err(stopped);
        }
        file.finish().map_err(failed)?;
        Ok(Tag::rows("COPY", rows))
    }

    /// Goes on with columns that go out to the client.
    pub(super) fn run_columns_out(
        &mut self,
        copy: &mut Out,
        columns: &[Column],
        out: &mut dyn Output,
    ) -> Result<Done> {
        let writer = match copy.writer.take() {
            Some(writer) => writer,
            None => {
                let format = match copy.options.style {
                    Style::Parquet => interchange::Format::Parquet,
                    _ => interchange::Format::ArrowStream,
                };
                let statement_context = self.statement_context();
                let (compression, types) = (copy.options.compression, statement_context.types());
                let columns = written(columns);
                interchange::Writer::new(Vec::new(), format, compression, columns, &types)?
            }
        };
        let mut rows = ToClient { writer, out };
        let done = self.run_plan(&mut copy.plan, 0, &mut rows)?;
        let ToClient { writer, out } = rows;
        match done {
            Done::Complete(tag) => {
                for piece in writer.finish()?.chunks(PIECE_BYTES) {
                    let _ = out.copy_data(piece);
                }
                let rows = tag.rows.unwrap_or(copy.plan.rows);
                Ok(Done::Complete(Tag::rows("COPY", rows)))
            }
            other => {
                copy.writer = Some(writer);
                Ok(other)
            }
        }
    }
}

/// The columns of a result as those of a file.
fn written(columns: &[Column]) -> impl Iterator<Item = interchange::Column> + '_ {
    columns.iter().map(|column| interchange::Column {
        name: column.name.clone(),
        ty: column.ty,
        modifier: column.modifier,
    })
}

/// Lines into a file.
struct ToFile {
    file: Replacement,
    failed: Option<std::io::Error>,
}

impl Output for ToFile {
    fn row(
        &mut self,
        _: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        match self.file.write_all(data) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Rows into columns of a file.
struct ToColumns {
    writer: interchange::Writer<Replacement>,
}

impl Output for ToColumns {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.writer.push(row, context)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Rows into columns that a client takes.
struct ToClient<'a> {
    writer: interchange::Writer<Vec<u8>>,
    out: &'a mut dyn Output,
}

impl Output for ToClient<'_> {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.writer.push(row, context)?;
        let mut flow = ControlFlow::Continue(());
        let ready = self.writer.out();
        if ready.len() >= PIECE_BYTES {
            for piece in std::mem::take(ready).chunks(PIECE_BYTES) {
                if self.out.copy_data(piece).is_break() {
                    flow = ControlFlow::Break(());
                }
            }
        }
        Ok(flow)
    }
}
