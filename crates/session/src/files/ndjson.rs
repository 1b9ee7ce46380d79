//! Files of JSON: one object a line.
//!
//! Columns are the fields of the objects, in the order in which they first appear. Strings are `text`, whole numbers
//! `bigint`, others `numeric`; what is nested, or is of several kinds, is `jsonb`.

use std::path::Path;

use json::{Kind, Node, Tape};
use types::{Context, Datum, Error, Modifier, Result, SqlState, Style, Type};
use vfs::Env;

use super::lines::Lines;
use super::{FileColumn, FileRows, Options};

/// The type of a field's values, as far as they were seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldType {
    Nothing,
    Bool,
    Int,
    Number,
    Text,
    Nested,
}

impl FieldType {
    fn of(node: Node<'_>) -> FieldType {
        match node.kind() {
            Kind::Null => FieldType::Nothing,
            Kind::String => FieldType::Text,
            Kind::Number if node.as_i64().is_some() => FieldType::Int,
            Kind::Number => FieldType::Number,
            _ if node.as_bool().is_some() => FieldType::Bool,
            _ => FieldType::Nested,
        }
    }

    fn and(self, other: FieldType) -> FieldType {
        match (self, other) {
            (same, other) if same == other => same,
            (FieldType::Nothing, other) | (other, FieldType::Nothing) => other,
            (FieldType::Int, FieldType::Number) | (FieldType::Number, FieldType::Int) => {
                FieldType::Number
            }
            _ => FieldType::Nested,
        }
    }

    fn ty(self) -> Type {
        match self {
            FieldType::Bool => Type::BOOL,
            FieldType::Int => Type::INT8,
            FieldType::Number => Type::NUMERIC,
            FieldType::Nothing | FieldType::Text => Type::TEXT,
            FieldType::Nested => Type::JSONB,
        }
    }
}

/// The objects of a file.
struct Objects {
    what: String,
    lines: Lines,
    line: u64,
}

impl Objects {
    fn open(env: &Env, path: &Path) -> Result<Objects> {
        let what = format!("file \"{}\"", path.display());
        Ok(Objects { what, lines: Lines::open(env, path)?, line: 0 })
    }

    /// The object of the next line that is not blank; `None` at the end.
    fn next(&mut self) -> Result<Option<Tape>> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            self.line += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |message: String, detail: String| {
                Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
                    .with_detail(detail)
                    .with_context(format!("{}, line {}", self.what, self.line))
            };
            let tape = Tape::parse(line)
                .map_err(|error| wrong("a line is not valid JSON".to_owned(), error.to_string()))?;
            if tape.root().kind() != Kind::Object {
                let detail = "Each line of the file is one JSON object.".to_owned();
                return Err(wrong("a line is not a JSON object".to_owned(), detail));
            }
            return Ok(Some(tape));
        }
    }
}

/// The columns of a file, and about how many rows it has.
pub(super) fn look(env: &Env, path: &Path, given: &Options) -> Result<(Vec<FileColumn>, u64)> {
    let mut objects = Objects::open(env, path)?;
    let mut columns: Vec<(String, FieldType)> = Vec::new();
    let most = given.sample_rows.unwrap_or(u64::MAX);
    let mut sampled = 0;
    while sampled < most
        && let Some(tape) = objects.next()?
    {
        sampled += 1;
        for (at, node) in tape.root().children().enumerate() {
            let name = node.field().unwrap_or_default();
            // Most objects have the same fields at the same places.
            let place = match columns.get(at) {
                Some((known, _)) if *known == name => Some(at),
                _ => columns.iter().position(|(known, _)| *known == name),
            };
            match place {
                Some(place) => columns[place].1 = columns[place].1.and(FieldType::of(node)),
                None => columns.push((name.into_owned(), FieldType::of(node))),
            }
        }
    }
    if columns.is_empty() {
        let message = format!("file \"{}\" has no fields", path.display());
        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
            .with_hint("Each line of the file is one JSON object."));
    }
    let columns = columns.into_iter().map(|(name, seen)| FileColumn {
        name,
        ty: seen.ty(),
        modifier: Modifier::NONE,
    });
    let pieces = &objects.lines.pieces;
    let rows = sampled as f64 * pieces.bytes() as f64 / pieces.at().max(1) as f64;
    Ok((columns.collect(), rows as u64))
}

/// The rows of a file.
pub(super) fn rows(
    env: &Env,
    path: &Path,
    columns: &[FileColumn],
    wanted: &[usize],
) -> Result<Box<dyn FileRows>> {
    let objects = Objects::open(env, path)?;
    let style = Style::default();
    Ok(Box::new(Ndjson { objects, columns: columns.to_vec(), wanted: wanted.to_vec(), style }))
}

struct Ndjson {
    objects: Objects,
    columns: Vec<FileColumn>,
    wanted: Vec<usize>,
    style: Style,
}

impl FileRows for Ndjson {
    fn next(&mut self, out: &mut Vec<Datum>) -> Result<bool> {
        let Some(tape) = self.objects.next()? else { return Ok(false) };
        let place =
            |name: &str| format!("{}, line {}, field {name}", self.objects.what, self.objects.line);
        out.resize(self.wanted.len(), Datum::Null);
        for (at, node) in tape.root().children().enumerate() {
            let name = node.field().unwrap_or_default();
            let found = match self.columns.get(at) {
                Some(column) if column.name == name => Some(at),
                _ => self.columns.iter().position(|column| column.name == name),
            };
            let Some(found) = found else {
                let message = "an object has a field that the objects before did not have";
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
                    .with_hint("Look at all rows for fields with sample_rows => 0.")
                    .with_context(place(&name)));
            };
            if let Ok(wanted) = self.wanted.binary_search(&found) {
                let context = Context::new(&self.style);
                let value = value(node, self.columns[found].ty, &context);
                out[wanted] = value.map_err(|error| error.with_context(place(&name)))?;
            }
        }
        Ok(true)
    }
}

/// The value of a field as one of a type.
fn value(node: Node<'_>, ty: Type, context: &Context<'_>) -> Result<Datum> {
    let parse = |text: &str| types::text::parse(text, ty, Modifier::NONE, context);
    if node.kind() == Kind::Null {
        return Ok(Datum::Null);
    }
    let fitting = match ty {
        Type::JSONB => return parse(&node.to_json()),
        Type::TEXT => node.as_str(),
        Type::BOOL => return node.as_bool().map(Datum::Bool).ok_or_else(|| other_kind(ty)),
        _ => node.as_number().map(Into::into),
    };
    parse(&fitting.ok_or_else(|| other_kind(ty))?)
}

fn other_kind(ty: Type) -> Error {
    let name = types::builtin::facts(ty).map_or("", |facts| facts.name);
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, format!("a value is of another kind than {name}"))
        .with_hint("The type was found out of the first rows: look at all with sample_rows => 0.")
}
