//! Files as tables: `read_parquet('x.parquet')`, `read_csv(...)`, `read_json(...)`, `read_arrow(...)`.
//!
//! ```text
//!   bind   FileCall ──paths──> files ──look at the first──> columns ──> FileTable, a Relation
//!   run    FileTable, the columns that are wanted ──> file by file ──> rows
//! ```
//!
//! Columns and types are those of the first file; the others must have the same. A plan keeps the files that it was
//! made of and is used once: the next statement looks at the files again.

mod csv;
mod glob;
mod infer;
mod lines;
mod ndjson;
mod typed;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use exec::stored::ComputedRows;
use interchange::FileFormat;
use parking_lot::Mutex;
use sql::bind::{CheckOption, FileCall, FileOption, Relation, RelationColumn, RelationKind};
use table::catalog::Catalog;
use types::{Datum, Error, Modifier, Oid, Result, SqlState, Type};
use vfs::Env;

pub(crate) use lines::{LINE_BYTES_MAX, Pieces};
pub(crate) use typed::Batch;

use crate::system;

/// The role whose members may read files of the server, and the one whose members may write them.
const READ_FILES: Oid = Oid(4_569);
const WRITE_FILES: Oid = Oid(4_570);
/// The OID of the first file of a statement; those of the others follow. They mean nothing after the statement.
const FIRST_FILE: u32 = 0xffff_0000;
/// Rows that are looked at to find out the types of columns, where nothing is said.
const SAMPLE_ROWS: u64 = 20_480;

/// Files that a statement reads.
pub(crate) struct FileTable {
    /// Its relation, as the binder sees it.
    pub relation: Arc<Relation>,
    /// About how many rows.
    pub rows: u64,
    env: Env,
    read: Arc<AtomicU64>,
    paths: Vec<PathBuf>,
    columns: Vec<FileColumn>,
    format: Format,
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileColumn {
    /// Its name.
    pub name: String,
    /// The type of SQL that holds all its values.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
}

/// How rows lie in a file.
#[derive(Clone)]
enum Format {
    Typed(FileFormat),
    Csv(csv::Dialect),
    Json,
}

/// A reader that gives the rows of one file.
trait FileRows: Send {
    /// Puts the wanted values of the next row into `out`; false at the end.
    fn next(&mut self, out: &mut Vec<Datum>) -> Result<bool>;
}

/// The files that the statement reads which is being planned.
pub(crate) struct Files {
    env: Env,
    /// How many rows the session has read from files.
    read: Arc<AtomicU64>,
    found: Mutex<Vec<Arc<FileTable>>>,
}

impl Files {
    pub fn new(env: Env) -> Files {
        Files { env, read: Arc::default(), found: Mutex::default() }
    }

    /// The files of the next statement of the same session.
    pub fn next(&self) -> Files {
        let (env, read) = (self.env.clone(), Arc::clone(&self.read));
        Files { env, read, found: Mutex::default() }
    }

    /// How many rows the session has read from files.
    pub fn rows_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// The files since the last call.
    pub fn take(&self) -> Vec<Arc<FileTable>> {
        std::mem::take(&mut *self.found.lock())
    }

    /// The files with an OID.
    pub fn find(&self, oid: Oid) -> Option<Arc<FileTable>> {
        if oid.0 < FIRST_FILE {
            return None;
        }
        self.found.lock().iter().find(|file| file.relation.oid == oid).cloned()
    }

    /// Looks at the files of a call.
    ///
    /// # Errors
    /// 58P01 where there is none, 22023 for options that the reader does not have, and what its reader reports.
    pub fn open(&self, call: &FileCall<'_>) -> Result<Arc<FileTable>> {
        let mut paths = Vec::new();
        for path in &call.paths {
            paths.extend(glob::expand(&self.env, path)?);
        }
        let first = paths[0].clone();
        let options = Options::of(call)?;
        let (format, columns, rows) = match call.reader {
            "read_csv" => {
                let (dialect, columns, rows) = csv::look(&self.env, &first, &options)?;
                (Format::Csv(dialect), columns, rows)
            }
            "read_json" => {
                let (columns, rows) = ndjson::look(&self.env, &first, &options)?;
                (Format::Json, columns, rows)
            }
            reader => {
                let format = match reader {
                    "read_parquet" => FileFormat::Parquet,
                    _ => FileFormat::Arrow,
                };
                let (columns, rows) = typed::look(&self.env, &first, format)?;
                (Format::Typed(format), columns, rows)
            }
        };
        let mut found = self.found.lock();
        let oid = Oid(FIRST_FILE + found.len() as u32);
        let relation = Arc::new(relation(oid, call.paths[0], &columns));
        let rows = rows.saturating_mul(paths.len() as u64);
        let (env, read) = (self.env.clone(), Arc::clone(&self.read));
        let file = Arc::new(FileTable { relation, rows, env, read, paths, columns, format });
        found.push(Arc::clone(&file));
        Ok(file)
    }
}

/// The columns of files as the binder sees them.
pub(crate) fn relation(oid: Oid, path: &str, columns: &[FileColumn]) -> Relation {
    let columns = columns.iter().zip(1..).map(|(column, attnum)| {
        RelationColumn::plain(attnum, column.name.clone(), column.ty, column.modifier)
    });
    Relation {
        oid,
        schema: String::new(),
        name: path.to_owned(),
        owner: system::OWNER,
        kind: RelationKind::System,
        row_type: Type::RECORD,
        columns: columns.collect(),
        unique: Vec::new(),
        versioned: false,
        check: CheckOption::None,
        is_barrier: false,
        is_of_invoker: false,
    }
}

impl FileTable {
    /// The rows of all files, with the columns of these numbers.
    pub fn rows(&self, attnums: &[i16]) -> ComputedRows {
        Box::new(Rows {
            env: self.env.clone(),
            read: Arc::clone(&self.read),
            paths: self.paths.iter().cloned().collect(),
            columns: self.columns.clone(),
            format: self.format.clone(),
            wanted: attnums.iter().map(|attnum| usize::try_from(*attnum - 1).ok()).collect(),
            open: None,
        })
    }
}

/// The rows of files, one file after the other.
struct Rows {
    env: Env,
    read: Arc<AtomicU64>,
    paths: VecDeque<PathBuf>,
    columns: Vec<FileColumn>,
    format: Format,
    /// The place of each wanted column; `None` for what files do not have, such as `tableoid`.
    wanted: Vec<Option<usize>>,
    open: Option<Box<dyn FileRows>>,
}

impl Rows {
    fn open(&self, path: &Path) -> Result<Box<dyn FileRows>> {
        let (env, columns) = (&self.env, &self.columns);
        // Each place once and in order: a reader gives the values of a row from left to right.
        let mut places: Vec<usize> = self.wanted.iter().copied().flatten().collect();
        places.sort_unstable();
        places.dedup();
        Ok(match &self.format {
            Format::Typed(format) => typed::rows(env, path, *format, columns, &places)?,
            Format::Csv(dialect) => csv::rows(env, path, dialect, columns, &places)?,
            Format::Json => ndjson::rows(env, path, columns, &places)?,
        })
    }

    fn next_row(&mut self) -> Result<Option<Vec<Datum>>> {
        loop {
            if self.open.is_none() {
                let Some(path) = self.paths.pop_front() else { return Ok(None) };
                self.open = Some(self.open(&path)?);
            }
            let Some(rows) = &mut self.open else { return Ok(None) };
            let mut row = Vec::new();
            if rows.next(&mut row)? {
                self.read.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(self.arranged(row)));
            }
            self.open = None;
        }
    }

    /// The values of a row, which come from left to right, in the order in which they are wanted.
    fn arranged(&self, row: Vec<Datum>) -> Vec<Datum> {
        let is_in_order = self.wanted.is_sorted_by(|a, b| a < b);
        if is_in_order && self.wanted.len() == row.len() {
            return row;
        }
        let mut places: Vec<usize> = self.wanted.iter().copied().flatten().collect();
        places.sort_unstable();
        places.dedup();
        let value = |place: &Option<usize>| {
            let at = place.and_then(|place| places.binary_search(&place).ok());
            at.and_then(|at| row.get(at).cloned()).unwrap_or_default()
        };
        self.wanted.iter().map(value).collect()
    }
}

impl Iterator for Rows {
    type Item = Result<Vec<Datum>>;

    fn next(&mut self) -> Option<Result<Vec<Datum>>> {
        self.next_row().transpose()
    }
}

/// The options of a call.
#[derive(Default)]
struct Options {
    header: Option<bool>,
    delimiter: Option<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
    null: Option<String>,
    all_text: bool,
    /// Rows that are looked at; none for all.
    sample_rows: Option<u64>,
}

impl Options {
    fn of(call: &FileCall<'_>) -> Result<Options> {
        let mut options = Options { sample_rows: Some(SAMPLE_ROWS), ..Options::default() };
        let (is_csv, is_json) = (call.reader == "read_csv", call.reader == "read_json");
        for (name, value) in &call.options {
            let wrong = |wants: &str| {
                let message = format!("option \"{name}\" of {} must be {wants}", call.reader);
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            };
            let byte = || match value {
                FileOption::Text(text) if text.len() == 1 => Ok(Some(text.as_bytes()[0])),
                _ => Err(wrong("one character of one byte")),
            };
            match (*name, value) {
                ("header", FileOption::Bool(value)) if is_csv => options.header = Some(*value),
                ("header", _) if is_csv => return Err(wrong("true or false")),
                ("all_text", FileOption::Bool(value)) if is_csv => options.all_text = *value,
                ("all_text", _) if is_csv => return Err(wrong("true or false")),
                ("null", FileOption::Text(text)) if is_csv => {
                    options.null = Some((*text).to_owned());
                }
                ("null", _) if is_csv => return Err(wrong("a text")),
                ("delimiter", _) if is_csv => options.delimiter = byte()?,
                ("quote", _) if is_csv => options.quote = byte()?,
                ("escape", _) if is_csv => options.escape = byte()?,
                ("sample_rows", FileOption::Number(rows)) if is_csv || is_json => {
                    options.sample_rows = Some(rows.unsigned_abs()).filter(|rows| *rows > 0);
                }
                ("sample_rows", _) if is_csv || is_json => {
                    return Err(wrong("a number of rows, or 0 for all"));
                }
                _ => {
                    let message = format!("{} has no option \"{name}\"", call.reader);
                    let known = match () {
                        () if is_csv => {
                            "It has header, delimiter, quote, escape, null, all_text and sample_rows."
                        }
                        () if is_json => "It has sample_rows.",
                        () => "The file itself says what its columns are.",
                    };
                    return Err(
                        Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(known)
                    );
                }
            }
        }
        Ok(options)
    }
}

/// Fails if a role may not read files of the server; `what` is what it wants.
///
/// # Errors
/// 42501.
pub(crate) fn require_read(what: &str, catalog: &Catalog, role: Oid, database: Oid) -> Result<()> {
    match catalog.has_privileges_of(role, READ_FILES, database) {
        true => Ok(()),
        false => Err(refused(what, "pg_read_server_files")),
    }
}

/// Fails if a role may not write files of the server; `what` is what it wants.
///
/// # Errors
/// 42501.
pub(crate) fn require_write(what: &str, catalog: &Catalog, role: Oid, database: Oid) -> Result<()> {
    match catalog.has_privileges_of(role, WRITE_FILES, database) {
        true => Ok(()),
        false => Err(refused(what, "pg_write_server_files")),
    }
}

fn refused(what: &str, role: &str) -> Error {
    let message = format!("permission denied to {what}");
    let detail = format!("Only roles with privileges of the \"{role}\" role may {what}.");
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_detail(detail).with_hint(
        "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.",
    )
}
