//! Columns of Parquet and Arrow in `COPY`: they have names, and types of their own.
//!
//! A column of the table takes the values of the column with its name, or of the only one whose name differs from it
//! in upper and lower case alone. A value becomes one of the column's type as `INSERT` would cast it; text is read
//! as `COPY` reads text, because what Arrow has no type for is written as text.

use std::path::Path;

use interchange::{FileFormat, Natural, Reader, Stream, natural};
use sql::eval::{Frame, Program};
use table::catalog::Relation;
use types::{Coercion, Context, Datum, Error, Modifier, Result, Shape, SqlState, Type, TypeSource};
use vfs::Env;

use super::In;
use crate::files::{Batch, FileColumn};
use crate::names::Names;

/// Rows that come in columns.
pub(super) struct Input {
    source: Source,
    batch: Batch,
    /// For each column of the table that gets values: where they are in a batch, and how they get its type. None
    /// before the columns of the data are known.
    ways: Option<Vec<(usize, Way)>>,
}

enum Source {
    Stream(Box<Stream>),
    File(Box<Reader>),
}

/// How a value gets the type of its column.
enum Way {
    /// It has it; it is fitted to the modifier where there is one.
    Same(Option<Modifier>),
    /// It is text, which is read.
    Text,
    /// It is an array of texts, which is read as an array is written.
    Texts,
    /// By the cast of an assignment.
    Cast(Program),
}

/// Where the rows go.
pub(super) struct Into<'a> {
    pub relation: &'a Relation,
    pub columns: &'a mut Vec<(usize, String, Type, Modifier)>,
    /// True if the statement names the columns.
    pub is_listed: bool,
}

impl Input {
    /// A stream of Arrow, whose bytes come from the client.
    pub fn of_stream() -> Input {
        let source = Source::Stream(Box::new(Stream::new("the Arrow stream")));
        Input { source, batch: Batch::default(), ways: None }
    }

    /// A file, of which the columns are read that the table has a place for.
    pub fn of_file(
        env: &Env,
        path: &Path,
        format: FileFormat,
        into: Into<'_>,
        names: &Names,
        context: Context<'_>,
    ) -> Result<Input> {
        let reader = Reader::open(env, path, format, Some(&[]))?;
        let mut ways = ways(reader.schema(), into, names, context)?;
        let mut wanted: Vec<usize> = ways.iter().map(|(place, _)| *place).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for (place, _) in &mut ways {
            *place = wanted.partition_point(|other| *other < *place);
        }
        let source = Source::File(Box::new(Reader::open(env, path, format, Some(&wanted))?));
        Ok(Input { source, batch: Batch::default(), ways: Some(ways) })
    }

    /// Takes bytes of a stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Source::Stream(stream) = &mut self.source {
            stream.push(bytes);
        }
    }

    /// True if nothing of the data is missing.
    pub fn is_whole(&self) -> bool {
        match &self.source {
            Source::Stream(stream) => stream.is_whole(),
            Source::File(_) => true,
        }
    }

    /// True once it is known which column gets which values.
    pub fn is_ready(&self) -> bool {
        self.ways.is_some()
    }

    /// Finds out which column gets which values, where the columns of the data are known.
    pub fn prepare(&mut self, into: Into<'_>, names: &Names, context: Context<'_>) -> Result<()> {
        let Source::Stream(stream) = &mut self.source else { return Ok(()) };
        // The decoder knows the columns when it has been asked for the first rows.
        let batch = stream.next_batch()?;
        if let Some(schema) = stream.schema() {
            self.ways = Some(ways(&schema, into, names, context)?);
        }
        if let Some(batch) = batch {
            self.batch = Batch::new(&batch)?;
        }
        Ok(())
    }

    /// Makes sure that the batch has a row; false if more data is needed, or there are no more.
    fn has_row(&mut self) -> Result<bool> {
        while self.batch.next == self.batch.rows {
            interrupt::check()?;
            let batch = match &mut self.source {
                Source::Stream(stream) => stream.next_batch()?,
                Source::File(reader) => reader.next_batch()?,
            };
            let Some(batch) = batch else { return Ok(false) };
            self.batch = Batch::new(&batch)?;
        }
        Ok(true)
    }
}

impl In {
    /// Reads the values of the next row; false if more data is needed, or there is no more.
    pub(super) fn next_columns(&mut self, frame: Frame<'_>, context: &Context<'_>) -> Result<bool> {
        let place = self.place();
        let Some(input) = &mut self.input else { return Ok(false) };
        if !input.has_row().map_err(|error| error.with_context(place()))? {
            return Ok(false);
        }
        self.line += 1;
        let place = self.place();
        let Some(Input { batch, ways: Some(ways), .. }) = &mut self.input else { return Ok(false) };
        for ((at, name, ty, modifier), (column, way)) in self.columns.iter().zip(ways) {
            let cells = &batch.cells[*column];
            let row = batch.next;
            let value = match way {
                Way::Text => text_of(cells, row)
                    .and_then(|text| types::text::parse_nullable(text, *ty, *modifier, context)),
                way => cells.get(row).and_then(|value| {
                    let natural = cells.natural();
                    way.apply(value, natural, (*ty, *modifier), frame, context)
                }),
            };
            let value =
                value.map_err(|error| error.with_context(format!("{}, column {name}", place())))?;
            (self.row[*at], self.given[*at]) = (value, true);
        }
        batch.next += 1;
        Ok(true)
    }
}

/// A text as it is written.
fn text_of(cells: &interchange::Cells, row: usize) -> Result<Option<&str>> {
    match cells.text(row) {
        Some(text) if text.as_bytes().contains(&0) => {
            let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
            Err(Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message))
        }
        text => Ok(text),
    }
}

impl Way {
    fn apply(
        &self,
        value: Datum,
        natural: Natural,
        (ty, modifier): (Type, Modifier),
        frame: Frame<'_>,
        context: &Context<'_>,
    ) -> Result<Datum> {
        if value.is_null() {
            return context.null_of(ty);
        }
        match self {
            Way::Same(None) | Way::Text => Ok(value),
            Way::Same(Some(modifier)) => modifier.apply(value, ty, Coercion::Assignment),
            Way::Texts => {
                let text = types::text::try_to_string(
                    value.as_ref(),
                    natural.ty,
                    natural.modifier,
                    context,
                )?;
                types::text::parse_nullable(text.as_deref(), ty, modifier, context)
            }
            Way::Cast(program) => program.run(&[value][..], frame),
        }
    }
}

/// Which column of the data each column of the table gets, and how. Where the statement names no columns, those stay
/// that the data have.
fn ways(
    schema: &interchange::Schema,
    into: Into<'_>,
    names: &Names,
    context: Context<'_>,
) -> Result<Vec<(usize, Way)>> {
    let Into { relation, columns, is_listed } = into;
    let fields = schema.fields();
    let find = |name: &str| -> Option<usize> {
        let exact = fields.iter().position(|field| field.name() == name);
        exact.or_else(|| {
            let is_like = |field: &str| field.to_lowercase() == name.to_lowercase();
            let mut alike = (0..fields.len()).filter(|at| is_like(fields[*at].name()));
            alike.next().filter(|_| alike.next().is_none())
        })
    };
    let has = || {
        let names: Vec<_> = fields.iter().map(|field| format!("\"{}\"", field.name())).collect();
        format!("The data have the columns {}.", names.join(", "))
    };
    let places: Vec<Option<usize>> = columns.iter().map(|(_, name, ..)| find(name)).collect();
    let missing = columns.iter().zip(&places).find(|(_, place)| place.is_none());
    if is_listed && let Some(((_, name, ..), _)) = missing {
        let message = format!("missing data for column \"{name}\"");
        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_detail(has()));
    }
    let unknown = (0..fields.len()).find(|at| !places.contains(&Some(*at)));
    if !is_listed && let Some(at) = unknown {
        let message = format!(
            "column \"{}\" of the data has no place in relation \"{}\"",
            fields[at].name(),
            relation.name
        );
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
            .with_hint("Name the columns that are wanted behind the name of the table."));
    }
    let mut kept = places.iter();
    columns.retain(|_| kept.next().is_some_and(Option::is_some));
    let places = places.into_iter().flatten();
    let way = |(place, (_, name, ty, modifier)): (usize, &(usize, String, Type, Modifier))| {
        let natural = natural(&fields[place])?;
        let is_text = !fields[place].data_type().is_nested() && natural.ty == Type::JSONB;
        way_of(natural, is_text, (name, *ty, *modifier), names, context).map(|way| (place, way))
    };
    places.zip(columns.iter()).map(way).collect()
}

/// How values of a type become those of a column. `is_json_text` says that they are texts of JSON.
fn way_of(
    natural: Natural,
    is_json_text: bool,
    (name, ty, modifier): (&str, Type, Modifier),
    names: &Names,
    context: Context<'_>,
) -> Result<Way> {
    if natural.ty == ty {
        let fits = modifier == Modifier::NONE || modifier == natural.modifier;
        return Ok(Way::Same((!fits).then_some(modifier)));
    }
    if natural.ty == Type::TEXT || is_json_text {
        return Ok(Way::Text);
    }
    let types: &dyn TypeSource = names;
    if let Shape::Array(Type::TEXT | Type::JSONB) = types.shape_of(natural.ty)?
        && matches!(types.shape_of(types.base_of(ty).0)?, Shape::Array(_))
    {
        return Ok(Way::Texts);
    }
    let column =
        FileColumn { name: "value".to_owned(), ty: natural.ty, modifier: natural.modifier };
    let over = crate::files::relation(types::Oid::NONE, "data", &[column]);
    let target = sql::bind::RelationColumn::plain(1, name, ty, modifier);
    let bound = sql::bind::column_value("value", Some(&over), &target, names, context);
    let bound = bound.map_err(|error| match error.cause.state() {
        SqlState::DATATYPE_MISMATCH => {
            let message = format!(
                "column \"{name}\" is of type {} but the data have type {}",
                types.name_of(ty),
                types.name_of(natural.ty)
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("Use INSERT ... SELECT from the file, with a cast.")
        }
        _ => error.cause,
    })?;
    Program::compile(&bound, names).map(Way::Cast)
}
