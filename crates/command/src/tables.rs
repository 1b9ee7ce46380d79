//! Files of other programs into tables, and out of them: CSV, NDJSON, Parquet, Arrow IPC.
//!
//! ```text
//!   import FILE... --into TABLE ──> CREATE TABLE ... AS SELECT * FROM read_csv('FILE')     one transaction
//!   export TABLE|QUERY FILE     ──> COPY (SELECT ...) TO 'FILE'
//! ```
//!
//! SQL does the work. This module builds the statements, reports usage errors first, and shows progress.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anywhen::sql::{Connection, file_reader, type_name};

use crate::args::{ExportArgs, ImportArgs};
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::progress;
use crate::screen::{self, count};
use crate::session::Session;

/// How often the bar moves.
const STEP: Duration = Duration::from_millis(100);

/// The function of SQL that reads a file of rows; `None` for others, and for a .json file, which is a document.
fn reader(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let is_document = name.ends_with(".json") || name.ends_with(".json.gz");
    file_reader(&name).filter(|_| !is_document)
}

/// True if the files go into a table: it is named, or they hold nothing that could be a document.
pub(crate) fn is_table(a: &ImportArgs) -> bool {
    let holds_rows = |path: &PathBuf| !matches!(reader(path), None | Some("read_json"));
    a.into.is_some() || a.paths.first().is_some_and(holds_rows)
}

/// Brings files into a table, which is made where it is missing.
pub(crate) fn import(session: &mut Session, a: &ImportArgs) -> Outcome {
    let usage = |message: String| Failure::new(Kind::Usage, message);
    if a.target.is_some() || a.key.is_some() {
        return Err(usage(
            "--as and --key are for documents: a table is named by --into".to_owned(),
        ));
    }
    let first = a.paths.first().ok_or_else(|| usage("no file was named".to_owned()))?;
    let Some(kind) = reader(first) else {
        return Err(usage(format!(
            "{}: the format does not follow from the name",
            first.display()
        ))
        .hint(
            ".csv, .tsv, .ndjson and .jsonl (.gz too), .parquet, .arrow and .feather are known",
        ));
    };
    if let Some(other) = a.paths.iter().find(|path| reader(path) != Some(kind)) {
        return Err(usage(format!("{} is of another kind than the first file", other.display())));
    }
    let mut literals = Vec::new();
    for path in &a.paths {
        let absolute = std::path::absolute(path).map_err(|error| Failure::file(path, &error))?;
        std::fs::metadata(&absolute).map_err(|error| Failure::file(path, &error))?;
        literals.push(literal(&absolute.to_string_lossy()));
    }
    let files = format!("{kind}(ARRAY[{}])", literals.join(", "));
    // A name that was given is SQL: `schema.table`, or `"in quotes"`.
    let (name, shown) = match &a.into {
        Some(name) => (name.clone(), name.clone()),
        None => {
            let stem = crate::import::stem(first);
            (quoted(&stem), stem)
        }
    };
    let database = session.database_or_new()?;
    let mut sql = database.connect().map_err(refused)?;
    let found = sql.query(&format!("SELECT * FROM {files} LIMIT 0"), &[]);
    let found = found.map_err(refused)?;
    let exists = sql.query("SELECT to_regclass($1) IS NOT NULL AS found", &[&name.as_str()]);
    let exists = exists.map_err(refused)?;
    let exists = match exists.get(0) {
        Some(row) => row.get::<bool>("found").map_err(refused)?,
        None => false,
    };
    let columns: Vec<String> = found.columns.iter().map(|column| quoted(&column.name)).collect();
    let width = found.columns.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let state = if exists { "there already" } else { "new" };
    screen::note(&format!("table {shown} ({state}), columns of {}:", first.display()));
    for column in &found.columns {
        screen::note(&format!("  {:width$}  {}", column.name, type_name(column.ty)));
    }
    let statement = match (exists, &a.using) {
        (false, None) => format!("CREATE TABLE {name} AS SELECT * FROM {files}"),
        (false, Some(method)) => {
            let method = quoted(method);
            format!("CREATE TABLE {name} USING {method} AS SELECT * FROM {files}")
        }
        (true, None) => {
            let columns = columns.join(", ");
            format!("INSERT INTO {name} ({columns}) SELECT {columns} FROM {files}")
        }
        (true, Some(_)) => {
            return Err(usage(format!("--using is for a new table, and {shown} exists already")));
        }
    };
    let total = match kind {
        "read_parquet" => rows_of(&mut sql, &files)?,
        _ => None,
    };
    let rows = watched(&mut sql, &statement, total)?;
    if session.json {
        let object = Object::new().text("table", &shown).plain("rows", rows);
        return screen::raw(object.end().as_bytes());
    }
    screen::text(&format!("{shown}: {}", count(rows, "row")))
}

/// How many rows files say that they have.
fn rows_of(sql: &mut Connection, files: &str) -> Outcome<Option<u64>> {
    let counted = sql.query(&format!("SELECT count(*) AS rows FROM {files}"), &[]);
    let counted = counted.map_err(refused)?;
    let Some(row) = counted.get(0) else { return Ok(None) };
    Ok(u64::try_from(row.get::<i64>("rows").map_err(refused)?).ok())
}

/// Runs a statement that reads files, and shows how many rows it has read.
fn watched(sql: &mut Connection, statement: &str, total: Option<u64>) -> Outcome<u64> {
    let read = sql.session().file_rows();
    let before = read.load(Ordering::Relaxed);
    let bar = progress::bar("importing", total);
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let rows = std::thread::scope(|scope| {
        let moved = &bar;
        scope.spawn(move || {
            // It ends when the other end is gone.
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = is_done.recv_timeout(STEP) {
                moved.set_position(read.load(Ordering::Relaxed) - before);
            }
        });
        let rows = sql.execute(statement, &[]);
        drop(done);
        rows
    });
    bar.finish_and_clear();
    rows.map_err(refused)
}

/// Writes the rows of a table or a query to a file.
pub(crate) fn export(session: &mut Session, a: &ExportArgs, file: &Path) -> Outcome {
    let usage = |message: &str| Failure::new(Kind::Usage, message);
    if a.at.is_some() || a.history || a.to.is_some() {
        return Err(usage("--at, --history and --to are for documents")
            .hint("the past of a table: export 'SELECT * FROM t FOR SYSTEM_TIME AS OF ...' FILE"));
    }
    let extension = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let mut options = match extension.as_str() {
        "parquet" => "FORMAT parquet".to_owned(),
        "arrow" | "feather" | "ipc" => "FORMAT arrow".to_owned(),
        "csv" => "FORMAT csv, HEADER".to_owned(),
        "tsv" => "FORMAT csv, HEADER, DELIMITER E'\\t'".to_owned(),
        _ => {
            return Err(usage("the format does not follow from the name of the file")
                .hint(".parquet, .arrow, .feather, .csv and .tsv are known"));
        }
    };
    if let Some(compression) = &a.compression {
        options.push_str(&format!(", COMPRESSION {}", quoted(compression)));
    }
    let words = a.target.trim_start().to_ascii_lowercase();
    let is_query = ["select", "with", "values", "table"]
        .iter()
        .any(|word| words.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_in_name)))
        || words.starts_with('(');
    let query = match is_query {
        true => a.target.trim().trim_end_matches(';').to_owned(),
        false => format!("SELECT * FROM {}", a.target),
    };
    let absolute = std::path::absolute(file).map_err(|error| Failure::file(file, &error))?;
    let database = session.database()?;
    let mut sql = database.connect().map_err(refused)?;
    if !is_query {
        let found = sql.query("SELECT to_regclass($1)::text AS name", &[&a.target.as_str()]);
        let found = found.map_err(refused)?;
        let name = found.get(0).map(|row| row.get::<Option<String>>("name")).transpose();
        if name.map_err(refused)?.flatten().is_none() {
            return Err(Failure::refused(format!("there is no table {:?}", a.target))
                .hint("a query begins with SELECT, WITH, VALUES or TABLE"));
        }
    }
    let path = literal(&absolute.to_string_lossy());
    let rows = sql.execute(&format!("COPY ({query}) TO {path} ({options})"), &[]);
    let rows = rows.map_err(refused)?;
    if session.json {
        let object = Object::new().text("file", &file.to_string_lossy()).plain("rows", rows);
        return screen::raw(object.end().as_bytes());
    }
    screen::text(&format!("{}: {}", file.display(), count(rows, "row")))
}

/// True for what can stand in a name.
fn is_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '.'
}

/// A text as a literal of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name of SQL that is taken as it is.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The failure for an error of SQL, with its position and its hint.
fn refused(error: anywhen::sql::Error) -> Failure {
    let mut message = error.message().to_owned();
    for more in [error.cause.detail(), error.cause.context()].into_iter().flatten() {
        message.push_str(&format!("\n  {more}"));
    }
    let kind = match error.state().code() {
        // The file, and not the data folder, is what is damaged: the caller can put that right.
        "58030" | "53100" => Kind::Broken,
        _ => Kind::Refused,
    };
    let failure = Failure::new(kind, message);
    match error.cause.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
