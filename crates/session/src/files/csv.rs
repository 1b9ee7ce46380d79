//! CSV files: lines are read as `COPY` reads them, columns and types are found out of the first rows.

use std::path::Path;

use types::{Context, Datum, Error, Modifier, Result, SqlState, Style, Type};
use vfs::Env;

use super::infer::InferredType;
use super::lines::Pieces;
use super::{FileColumn, FileRows, Options};
use crate::copy::lines::Reader;
use crate::copy::options::CopyOptions;

/// How the lines of a file are written.
#[derive(Clone)]
pub(super) struct Dialect {
    options: CopyOptions,
}

/// Delimiters, the one that is taken where none is found first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// How a file is written, what columns it has, and about how many rows.
pub(super) fn look(
    env: &Env,
    path: &Path,
    given: &Options,
) -> Result<(Dialect, Vec<FileColumn>, u64)> {
    let mut options = CopyOptions::csv();
    options.quote = given.quote.unwrap_or(b'"');
    options.escape = given.escape.unwrap_or(options.quote);
    options.null = given.null.clone().unwrap_or_default();
    options.delimiter = match given.delimiter {
        Some(delimiter) => delimiter,
        None => delimiter_of(env, path, options.quote)?,
    };
    let mut lines = CsvLines::open(env, path, options.clone())?;
    let Some(first) = lines.next(|fields| fields.map(|f| f.map(str::to_owned)).collect())? else {
        let message = format!("file \"{}\" is empty", path.display());
        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
            .with_hint("A CSV file has a line at least, with the names of its columns."));
    };
    let first: Vec<Option<String>> = first;
    let of =
        |field: &Option<String>| field.as_deref().map_or(InferredType::Nothing, InferredType::of);
    let mut seen = vec![InferredType::Nothing; first.len()];
    let mut sampled = 0;
    let most = given.sample_rows.unwrap_or(u64::MAX);
    while sampled < most {
        let next = lines.next(|fields| {
            for (seen, field) in seen.iter_mut().zip(fields) {
                if *seen != InferredType::Text {
                    *seen = seen.and(field.map_or(InferredType::Nothing, InferredType::of));
                }
            }
        })?;
        if next.is_none() {
            break;
        }
        sampled += 1;
    }
    let header = given.header.unwrap_or_else(|| {
        let is_name = |field: &Option<String>| {
            field.as_ref().is_some_and(|name| !name.is_empty()) && of(field) == InferredType::Text
        };
        first.iter().all(is_name)
    });
    if !header {
        for (seen, field) in seen.iter_mut().zip(&first) {
            *seen = seen.and(of(field));
        }
    }
    options.header = header;
    let names = names(&first, header);
    let ty = |seen: InferredType| if given.all_text { Type::TEXT } else { seen.ty() };
    let column = |(name, seen): (String, InferredType)| FileColumn {
        name,
        ty: ty(seen),
        modifier: Modifier::NONE,
    };
    let columns = names.into_iter().zip(seen).map(column).collect();
    let rows = lines.rows_of_file(sampled.max(1));
    Ok((Dialect { options }, columns, rows))
}

/// The names of the columns: those of the first line, made different; `column1` and so on where there are none.
fn names(first: &[Option<String>], header: bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(first.len());
    for (at, field) in first.iter().enumerate() {
        let given = field.as_deref().filter(|name| header && !name.is_empty());
        let name = given.map_or_else(|| format!("column{}", at + 1), str::to_owned);
        let mut unique = name.clone();
        let mut number = 1;
        while names.contains(&unique) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        names.push(unique);
    }
    names
}

/// The delimiter that the first line has most of, outside of quotes.
fn delimiter_of(env: &Env, path: &Path, quote: u8) -> Result<u8> {
    let piece = Pieces::open(env, path)?.next()?;
    let mut counts = [0_u32; DELIMITERS.len()];
    let mut quoted = false;
    for byte in piece {
        match byte {
            b'\n' if !quoted => break,
            byte if byte == quote => quoted = !quoted,
            byte if !quoted => {
                if let Some(at) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
                    counts[at] += 1;
                }
            }
            _ => {}
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let at = counts.iter().position(|count| *count == most).unwrap_or(0);
    Ok(DELIMITERS[at])
}

/// The lines of a file, as fields.
struct CsvLines {
    what: String,
    pieces: Pieces,
    reader: Reader,
    options: CopyOptions,
    /// The number of the line that was read last.
    line: u64,
    ended: bool,
}

impl CsvLines {
    fn open(env: &Env, path: &Path, options: CopyOptions) -> Result<CsvLines> {
        let mut pieces = Pieces::open(env, path)?;
        let first = pieces.next()?;
        let mut reader = Reader::new();
        // Some programs put a byte order mark before a text in UTF-8.
        reader.push(first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first));
        let ended = first.is_empty();
        let what = format!("file \"{}\"", path.display());
        Ok(CsvLines { what, pieces, reader, options, line: 0, ended })
    }

    /// Calls `f` with the fields of the next line; `None` at the end.
    fn next<T>(
        &mut self,
        f: impl FnOnce(&mut dyn Iterator<Item = Option<&str>>) -> T,
    ) -> Result<Option<T>> {
        loop {
            let CsvLines { what, reader, options, line, ended, .. } = self;
            let number = *line + 1;
            let next = reader.next(options, *ended);
            let next = next.map_err(|e| e.with_context(format!("{what}, line {number}")))?;
            if let Some(fields) = next {
                *line = number;
                return Ok(Some(f(&mut fields.iter())));
            }
            if *ended {
                return Ok(None);
            }
            let piece = self.pieces.next()?;
            self.ended = piece.is_empty();
            self.reader.push(&piece);
        }
    }

    /// About how many rows the file has, where so many were in what was read.
    fn rows_of_file(&self, rows: u64) -> u64 {
        let (at, bytes) = (self.pieces.at().max(1), self.pieces.bytes());
        (rows as f64 * bytes as f64 / at as f64) as u64
    }
}

/// The rows of a file.
pub(super) fn rows(
    env: &Env,
    path: &Path,
    dialect: &Dialect,
    columns: &[FileColumn],
    wanted: &[usize],
) -> Result<Box<dyn FileRows>> {
    let mut lines = CsvLines::open(env, path, dialect.options.clone())?;
    if dialect.options.header {
        let names = lines.next(|fields| {
            let fields: Vec<_> = fields.map(|field| field.map(str::to_owned)).collect();
            names(&fields, true)
        })?;
        let is_same = names.as_ref().is_some_and(|names| {
            names.len() == columns.len() && names.iter().zip(columns).all(|(a, b)| *a == b.name)
        });
        if !is_same {
            let message = format!("file \"{}\" has other columns than the first", path.display());
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_detail("All files of one call have the columns of the first."));
        }
    }
    Ok(Box::new(Csv {
        lines,
        columns: columns.to_vec(),
        wanted: wanted.to_vec(),
        style: Style::default(),
    }))
}

struct Csv {
    lines: CsvLines,
    columns: Vec<FileColumn>,
    wanted: Vec<usize>,
    style: Style,
}

impl FileRows for Csv {
    fn next(&mut self, out: &mut Vec<Datum>) -> Result<bool> {
        let Csv { lines, columns, wanted, style } = self;
        let context = Context::new(style);
        let what = format_args!("{}, line {}", lines.what, lines.line + 1).to_string();
        let row = lines.next(|fields| row(fields, columns, wanted, &context, &what, out))?;
        row.transpose().map(|row| row.is_some())
    }
}

/// Reads the wanted values of a line.
fn row(
    fields: &mut dyn Iterator<Item = Option<&str>>,
    columns: &[FileColumn],
    wanted: &[usize],
    context: &Context<'_>,
    what: &str,
    out: &mut Vec<Datum>,
) -> Result<()> {
    let mut wanted = wanted.iter().peekable();
    let mut count = 0;
    for field in fields {
        let Some(column) = columns.get(count) else {
            let message = "extra data after last expected column";
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(what));
        };
        if wanted.next_if(|place| **place == count).is_some() {
            let value = types::text::parse_nullable(field, column.ty, column.modifier, context);
            out.push(value.map_err(|error| {
                let shown = field.unwrap_or_default();
                error
                    .with_hint(
                        "The type was found out of the first rows: read more with sample_rows => 0, or all columns \
                         as text with all_text => true.",
                    )
                    .with_context(format!("{what}, column {}: \"{shown}\"", column.name))
            })?);
        }
        count += 1;
    }
    if count < columns.len() {
        let message = format!("missing data for column \"{}\"", columns[count].name);
        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(what));
    }
    Ok(())
}
