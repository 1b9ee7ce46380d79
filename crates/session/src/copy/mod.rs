//! `COPY`: rows in and out of a table, or out of a query.
//!
//! ```text
//!   copy_in(bytes) ──> lines | binary ──> fields ──> values, by column ──> rows of the table
//!   rows of a plan ──> fields ──> lines | binary ──> Output::copy_data, a message for each row
//! ```
//!
//! The formats have modules of their own, which know bytes and texts and nothing of tables. Columns of Parquet and
//! Arrow are in [`columns`], files of the server in [`server_file`].

mod binary;
mod columns;
pub(crate) mod lines;
pub(crate) mod options;
mod server_file;

use std::ops::ControlFlow;
use std::sync::Arc;

use sql::bind::Use;
use sql::eval::Program;
use sql::parse::ast::{Copy, CopyEnd, CopyWhat, Statement};
use table::catalog::{Persistence, Relation, RelationKind};
use table::rows::{Change, LOAD_BYTES_MIN, Load, RowValues, Table, placing};
use types::{Context, Datum, DatumRef, Modifier, Oid, SqlState, Type, TypeSource};

use crate::client::StatementContext;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::names::Names;
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::progress::Task;
use crate::query;
use crate::rights::Rights;
use crate::session::Session;
use crate::statement::Parsed;
use options::{CopyOptions, Style};

/// Data that goes out.
pub(crate) struct Out {
    plan: Portal,
    options: CopyOptions,
    /// True once it was announced.
    begun: bool,
    /// The rows that were not sent yet, where the form has columns.
    writer: Option<interchange::Writer<Vec<u8>>>,
}

/// Data that comes in.
pub(crate) struct In {
    table: Oid,
    name: String,
    /// The place of each column in the table's rows, its name, type and modifier.
    columns: Vec<(usize, String, Type, Modifier)>,
    /// True if the statement names the columns.
    is_listed: bool,
    options: CopyOptions,
    lines: lines::Reader,
    binary: binary::Reader,
    /// Where rows come from in a form that has columns.
    input: Option<columns::Input>,
    /// The file of the server that is read, for errors.
    file: Option<String>,
    rows: u64,
    line: u64,
    header: bool,
    /// Which rows are wanted, over the columns that are there.
    filter: Option<Program>,
    alone: bool,
    way: Way,
    /// The row that is being read, and which of its values were given.
    row: Vec<Datum>,
    given: Vec<bool>,
}

/// How rows get into the table.
enum Way {
    /// There is too little yet to tell: the data so far.
    Open(Vec<u8>),
    /// One by one.
    Rows,
    /// All at once, at the end.
    Load(Box<Load>),
}

impl Session {
    /// Begins a `COPY`.
    pub(crate) fn copy(&mut self, copy: &Copy, portal: &Portal) -> Result<Work> {
        self.look()?;
        self.open().looked = true;
        let file = match &copy.end {
            CopyEnd::Client => None,
            CopyEnd::File(path) => Some(self.server_file(path, copy.from)?),
            CopyEnd::Program(_) => return Err(Error::not_supported("COPY with a program")),
        };
        let mut options = CopyOptions::new(&copy.options, copy.from)?;
        let charset = *options.charset.get_or_insert(self.charset());
        if file.is_some() && options.style.is_text() && !charset.is_same() {
            let message =
                format!("COPY with a file of the server in the encoding {}", charset.name());
            return Err(Error::not_supported(&message));
        }
        if copy.from {
            // A temporary table may be filled in a transaction that reads.
            let is_own = match &copy.what {
                CopyWhat::Table(path, _) => {
                    let (schema, name) = self.names.split(path)?;
                    let known = self.names.user_relation(schema, name);
                    self.names.moment.is_none()
                        && known.is_some_and(|known| known.persistence == Persistence::Temporary)
                }
                CopyWhat::Statement(..) => false,
            };
            if !is_own {
                self.must_write("COPY FROM")?;
                self.show_writes();
            }
            return match file {
                Some(path) => self.copy_from_file(copy, options, &path),
                None => self.begin_in(copy, options, portal.alone),
            };
        }
        let parsed = match &copy.what {
            CopyWhat::Statement(_, text) => {
                Parsed::all(text)?.pop().unwrap_or_else(|| Parsed::empty(text))
            }
            CopyWhat::Table(path, columns) => {
                let quoted = |names: &[sql::parse::ast::Name]| {
                    let quoted = names.iter().map(|name| scalar::quote::identifier(&name.text));
                    quoted.collect::<Vec<_>>()
                };
                let columns = match self.columns_to_copy(path, columns)? {
                    Some(all) => all,
                    None if columns.is_empty() => "*".to_owned(),
                    None => quoted(columns).join(", "),
                };
                let table = quoted(&path.parts).join(".");
                let text = format!("select {columns} from {table}");
                Parsed::all(&text)?.pop().unwrap_or_else(|| Parsed::empty(&text))
            }
        };
        let planned = {
            let statement_context = self.statement_context();
            let statement = parsed.statement.clone();
            let statement = statement.as_deref().filter(|statement| {
                !matches!(statement, Statement::Command(_) | Statement::Define(_))
            });
            let Some(statement) = statement else {
                return Err(Error::not_supported("COPY of this statement"));
            };
            let planned = query::plan(statement, &parsed.source, &[], &statement_context);
            // Places count in a text that the user has not written.
            planned.map_err(|mut error| {
                error.position = None;
                error
            })?
        };
        if planned.columns.is_none() {
            let message = "COPY query must have a RETURNING clause";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let plan = self.plan_portal(parsed, Arc::new(planned))?;
        match file {
            Some(path) => self.copy_to_file(plan, &options, &path).map(Work::Done),
            None => Ok(Work::CopyOut(Box::new(Out { plan, options, begun: false, writer: None }))),
        }
    }

    /// The columns of a table that goes out where none are named: those that are not generated. None
    /// where it is no table, or they are named, which generated ones must not be.
    fn columns_to_copy(
        &self,
        path: &sql::parse::ast::Path,
        names: &[sql::parse::ast::Name],
    ) -> Result<Option<String>> {
        let (schema, name) = self.names.split(path)?;
        let relation = self.names.user_relation(schema, name);
        let Some(relation) = relation else { return Ok(None) };
        match relation.kind {
            RelationKind::Table(_) if relation.is_plain_table() => {}
            RelationKind::Table(_) | RelationKind::View(_) => {
                let kind = relation.kind_name();
                let message = format!("cannot copy from {kind} \"{}\"", relation.name);
                let refusal = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
                return Err(refusal.hint("Try the COPY (SELECT ...) TO variant."));
            }
            RelationKind::Sequence(_) => {
                let message = format!("cannot copy from sequence \"{}\"", relation.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            // Neither has rows: planning says so.
            RelationKind::Index(_) | RelationKind::Composite => return Ok(None),
        }
        let is_named = |name: &str| names.iter().any(|known| known.text == name);
        if let Some(column) =
            relation.live_columns().find(|column| is_generated(column) && is_named(&column.name))
        {
            return Err(generated_in_copy(&column.name));
        }
        let copied = relation.live_columns().filter(|column| !is_generated(column));
        let copied: Vec<_> = copied.map(|column| scalar::quote::identifier(&column.name)).collect();
        Ok(names.is_empty().then(|| copied.join(", ")))
    }

    /// Goes on with data that goes out.
    pub(crate) fn run_copy_out(&mut self, copy: &mut Out, out: &mut dyn Output) -> Result<Done> {
        let columns = copy.plan.columns.clone().unwrap_or_else(|| Arc::new([]));
        let style = copy.options.style;
        if !copy.begun {
            copy.begun = true;
            return Ok(Done::CopyOut(copy.options.announced(columns.len())));
        }
        if style.is_columns() {
            return self.run_columns_out(copy, &columns, out);
        }
        // It goes out with the first row, or with the end where there is none: what reads row by row counts on it.
        let mut head = Vec::new();
        if copy.plan.rows == 0 {
            head = head_of(&columns, &copy.options);
            if style != Style::Binary && !head.is_empty() {
                let _ = out.copy_data(&head);
                head.clear();
            }
        }
        let (line, text) = (Vec::new(), String::new());
        let mut writer = Writer { out, options: &copy.options, head, line, text };
        match self.run_plan(&mut copy.plan, 0, &mut writer)? {
            Done::Complete(tag) => {
                if style == Style::Binary {
                    let mut end = writer.head;
                    end.extend_from_slice(BINARY_END);
                    let _ = out.copy_data(&end);
                }
                let rows = tag.rows.unwrap_or(copy.plan.rows);
                Ok(Done::Complete(Tag::rows("COPY", rows)))
            }
            other => Ok(other),
        }
    }

    /// Begins to take data in.
    fn begin_in(&mut self, copy: &Copy, options: CopyOptions, alone: bool) -> Result<Work> {
        let CopyWhat::Table(path, names) = &copy.what else {
            return Err(Error::not_supported("COPY FROM into a query"));
        };
        if options.style == Style::Parquet && matches!(copy.end, CopyEnd::Client) {
            return Err(Error::not_supported("COPY FROM STDIN with FORMAT parquet").hint(
                "A Parquet file is read from its end. Use FORMAT arrow, or a file of the server.",
            ));
        }
        let (schema, name) = self.names.split(path)?;
        self.names.require_schema(schema)?;
        let find = |names: &Names| {
            names.user_relation(schema, name).cloned().ok_or_else(|| {
                let message = format!("relation \"{path}\" does not exist");
                Error::new(SqlState::UNDEFINED_TABLE, message)
            })
        };
        let relation = find(&self.names)?;
        self.lock_changed(relation.oid)?;
        // The table may have been waited for, and be another.
        self.look()?;
        let relation = find(&self.names)?;
        if !relation.is_plain_table() {
            let kind = relation.kind_name();
            let message = format!("cannot copy to {kind} \"{}\"", relation.name);
            let refusal = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(match relation.kind {
                RelationKind::View(_) => refusal
                    .hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."),
                _ => refusal,
            });
        }
        let place = |column: &table::catalog::Column| {
            let at = column.attnum as usize - 1;
            (at, column.name.to_string(), column.ty, column.modifier)
        };
        let columns: Vec<_> = if names.is_empty() {
            relation.live_columns().filter(|column| !is_generated(column)).map(place).collect()
        } else {
            let mut found: Vec<(usize, String, Type, Modifier)> = Vec::new();
            for name in names {
                let column = relation.column_named(&name.text).ok_or_else(|| {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" does not exist",
                        name.text, relation.name
                    );
                    Error::new(SqlState::UNDEFINED_COLUMN, message)
                })?;
                if is_generated(column) {
                    return Err(generated_in_copy(&name.text));
                }
                if found.iter().any(|(_, known, ..)| *known == name.text) {
                    let message = format!("column \"{}\" specified more than once", name.text);
                    return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
                }
                found.push(place(column));
            }
            found
        };
        let inserts = columns.iter().map(|(at, ..)| *at as i16 + 1).collect();
        let used = Use { relation: relation.oid, inserts: Some(inserts), ..Use::default() };
        Rights::of(&self.names).require_use(&used)?;
        if Rights::of(&self.names).sees_in_part(used.relation) {
            let message = "COPY FROM not supported with row-level security";
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(error.hint("Use INSERT statements instead."));
        }
        let filter = match &copy.filter {
            Some(filter) => Some(self.filter_of(&relation, &filter.text)?),
            None => None,
        };
        let announced = options.announced(columns.len());
        let task = match copy.end {
            CopyEnd::Client => Task::CopyFrom,
            _ => Task::CopyFromFile,
        };
        self.client.slot.status.progress.begin(task, relation.oid, Oid::NONE);
        self.copying = Some(In {
            table: relation.oid,
            name: relation.name.to_string(),
            columns,
            is_listed: !names.is_empty(),
            header: options.header,
            input: (options.style == Style::Arrow).then(columns::Input::of_stream),
            file: None,
            options,
            lines: lines::Reader::new(),
            binary: binary::Reader::new(),
            rows: 0,
            line: 0,
            filter,
            alone,
            way: Way::Open(Vec::new()),
            row: Vec::new(),
            given: Vec::new(),
        });
        Ok(Work::CopyIn(announced))
    }

    /// The condition of `WHERE` over the rows of a table.
    fn filter_of(&self, relation: &Relation, text: &str) -> Result<Program> {
        let schema = self.names.schema_name(relation.schema);
        let over = sql::bind::Names::relation(&*self.names, Some(schema), &relation.name);
        let statement_context = self.statement_context();
        let bound =
            sql::bind::expression(text, over.as_deref(), &*self.names, statement_context.types())
                .map_err(|error| Error::from(error.cause))?;
        if bound.ty != Type::BOOL {
            let types: &dyn TypeSource = &*self.names;
            let ty = types.name_of(bound.ty);
            let message = format!("argument of WHERE must be type boolean, not type {ty}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        Ok(Program::compile(&bound, &*self.names)?)
    }

    /// Takes data in, and inserts the rows that are whole.
    pub(crate) fn take_in(&mut self, data: &[u8], last: bool) -> Result<()> {
        let Some(mut copy) = self.copying.take() else { return Err(no_copy()) };
        if let Some(stopped) = self.client.slot.stopped() {
            return Err(stopped);
        }
        if let Way::Open(held) = &mut copy.way {
            held.extend_from_slice(data);
            if last || held.len() >= LOAD_BYTES_MIN {
                let held = std::mem::take(held);
                copy.way = self.way_of(&copy, !last)?;
                self.insert_copied(&mut copy, &held, last)?;
            }
        } else {
            self.insert_copied(&mut copy, data, last)?;
        }
        self.client.slot.status.progress.tell(copy.rows, data.len());
        self.copying = Some(copy);
        Ok(())
    }

    /// How the rows get into the table: it is loaded if the data are large and no other session is
    /// about to change it.
    fn way_of(&mut self, copy: &In, is_large: bool) -> Result<Way> {
        let names = Arc::clone(&self.names);
        let instance = Arc::clone(&self.client.instance);
        let Some(handle) = instance.handles.table(&names.catalog, copy.table) else {
            return Ok(Way::Rows);
        };
        if handle.relation().partitioning().is_some() {
            return Ok(Way::Rows);
        }
        let open = self.transaction.as_mut().ok_or_else(no_copy)?;
        let txn = open.inner.as_mut().ok_or_else(no_copy)?;
        let load = handle.load(txn, is_large)?;
        Ok(load.map_or(Way::Rows, |load| Way::Load(Box::new(load))))
    }

    fn insert_copied(&mut self, copy: &mut In, data: &[u8], last: bool) -> Result<()> {
        let names = Arc::clone(&self.names);
        let instance = Arc::clone(&self.client.instance);
        let handle = instance.handles.table(&names.catalog, copy.table).ok_or_else(|| {
            let message = format!("relation \"{}\" does not exist", copy.name);
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })?;
        let open = self.transaction.as_mut().ok_or_else(no_copy)?;
        let txn = open.inner.as_mut().ok_or_else(no_copy)?;
        let around = StatementContext::of(&self.client, &names, open.started);
        let evaluator = Evaluator::new(&around, &names);
        let mut values = evaluator.values();
        open.checks.set_catalog(Arc::clone(&names.catalog));
        match (&mut copy.input, copy.options.style) {
            (Some(input), _) => input.push(data),
            (None, Style::Binary) => copy.binary.push(data),
            (None, _) => copy.lines.push(data),
        }
        if let Some(input) = copy.input.as_mut().filter(|input| !input.is_ready()) {
            let types = around.types();
            let (columns, is_listed) = (&mut copy.columns, copy.is_listed);
            let into = columns::Into { relation: handle.relation(), columns, is_listed };
            input.prepare(into, &names, types)?;
        }
        let known = (&*instance.handles, &*names.catalog);
        let mut grown: Vec<(Arc<Table>, i64)> = Vec::new();
        while copy.next_row(&handle, &mut values, &around.types(), last)? {
            let In { row, filter, way, rows, name, line, file, input, .. } = copy;
            let context = |error: table::Error| {
                let error = Error::from(error);
                let place = place_of(name, *line, file.as_deref(), input.is_some());
                let cause = error.cause.with_context(place);
                Error { cause, ..error }
            };
            if let Some(filter) = filter {
                let live = handle.relation().live_columns();
                let live: Vec<Datum> =
                    live.map(|column| row[column.attnum as usize - 1].clone()).collect();
                if !filter.test(&live, evaluator.frame())? {
                    continue;
                }
            }
            values.complete(handle.relation(), row).map_err(context)?;
            let mut part = Arc::clone(&handle);
            if handle.relation().partitioning().is_some() {
                (part, *row) = placing::place(known, &mut values, &handle, row).map_err(context)?;
                if placing::has_own_checks(&names.catalog, &part) {
                    values.complete(part.relation(), row).map_err(context)?;
                }
            } else if !placing::is_at_home(known, &mut values, &handle, row).map_err(context)? {
                let message = format!(
                    "new row for relation \"{}\" violates partition constraint",
                    handle.relation().name
                );
                let error = types::Error::new(SqlState::CHECK_VIOLATION, message);
                return Err(context(error.into()));
            }
            let mut change = Change { txn, values: &mut values, checks: &mut open.checks };
            match way {
                Way::Load(load) => load.insert(&mut change, row),
                _ => part.insert(&mut change, row).map(drop),
            }
            .map_err(context)?;
            *rows += 1;
            match grown.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &part)) {
                Some((_, count)) => *count += 1,
                None => grown.push((part, 1)),
            }
        }
        if last {
            let mut change = Change { txn, values: &mut values, checks: &mut open.checks };
            if let Way::Load(load) = std::mem::replace(&mut copy.way, Way::Rows) {
                load.finish(&mut change)?;
            }
            open.checks.end_statement(txn, &mut values)?;
        }
        for (part, count) in grown {
            txn.note_rows(part.storage(), count);
        }
        Ok(())
    }

    /// Ends the data that comes in.
    pub(crate) fn end_in(&mut self) -> Result<Tag> {
        self.take_in(&[], true)?;
        let (tag, alone) = self.finish_in()?;
        self.settle(alone)?;
        Ok(tag)
    }

    /// Checks that the data are whole; the tag, and whether the statement is all of its message.
    fn finish_in(&mut self) -> Result<(Tag, bool)> {
        let Some(copy) = self.copying.take() else { return Err(no_copy()) };
        match &copy.input {
            Some(input) if !input.is_whole() => {
                let message = "unexpected EOF in COPY data";
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
            }
            None if copy.options.style == Style::Binary => copy.binary.end()?,
            _ => {}
        }
        self.client.slot.status.progress.end();
        self.client.count_inserted(copy.table, copy.rows);
        Ok((Tag::rows("COPY", copy.rows), copy.alone))
    }
}

pub(crate) fn no_copy() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "there is no COPY FROM STDIN in progress")
}

/// The end of the binary form.
const BINARY_END: &[u8] = &(-1_i16).to_be_bytes();

/// The bytes before the first row.
fn head_of(columns: &[Column], options: &CopyOptions) -> Vec<u8> {
    let mut head = Vec::new();
    if options.style == Style::Binary {
        binary::header(&mut head);
    } else if options.header {
        for (at, column) in columns.iter().enumerate() {
            let field = lines::Value {
                text: Some(&column.name),
                is_quoted: false,
                is_first: at == 0,
                is_only: columns.len() == 1,
            };
            lines::write(field, options, &mut head);
        }
        head.push(b'\n');
    }
    head
}

impl In {
    /// The context in errors about the row that was read last.
    fn place(&self) -> impl Fn() -> String + use<> {
        let (name, line, file) = (self.name.clone(), self.line, self.file.clone());
        let is_columns = self.input.is_some();
        move || place_of(&name, line, file.as_deref(), is_columns)
    }

    /// Reads the next row of the table; false if more data is needed, or there is no more.
    fn next_row(
        &mut self,
        handle: &Table,
        values: &mut exec::stored::Values<'_>,
        context: &Context<'_>,
        last: bool,
    ) -> Result<bool> {
        let width = handle.relation().columns.len();
        // Columns that the data do not have get their defaults below. Dropped columns stay NULL.
        self.row.resize(width, Datum::Null);
        self.given.clear();
        self.given.resize(width, false);
        if self.input.is_some() {
            if !self.next_columns(values.frame, context)? {
                return Ok(false);
            }
        } else if self.options.style == Style::Binary {
            let Some(fields) = self.binary.next(self.columns.len())? else { return Ok(false) };
            self.line += 1;
            for ((at, name, ty, modifier), field) in self.columns.iter().zip(fields) {
                let value = types::binary::read_nullable(field.as_deref(), *ty, *modifier, context);
                let place = || format!("COPY {}, line {}, column {name}", self.name, self.line);
                self.row[*at] = value.map_err(|error| error.with_context(place()))?;
                self.given[*at] = true;
            }
        } else if !self.next_line(context, last)? {
            return Ok(false);
        }
        if self.given.iter().all(|given| *given) {
            return Ok(true);
        }
        for (at, given) in self.given.iter().enumerate() {
            if !given && !handle.relation().columns[at].is_dropped {
                self.row[at] = values.default(handle.relation(), at)?;
            }
        }
        Ok(true)
    }

    /// Reads the values of the next line that has any; false if none is whole.
    fn next_line(&mut self, context: &Context<'_>, last: bool) -> types::Result<bool> {
        let In { lines, options, columns, name, line, header, row, given, .. } = self;
        loop {
            let number = *line + 1;
            let place = || format!("COPY {name}, line {number}");
            let next = lines.next(options, last);
            let Some(fields) = next.map_err(|error| error.with_context(place()))? else {
                return Ok(false);
            };
            *line = number;
            if std::mem::take(header) {
                check_header(fields, columns, options).map_err(|e| e.with_context(place()))?;
                continue;
            }
            let wrong = if fields.len() > columns.len() {
                Some("extra data after last expected column".to_owned())
            } else {
                let missing = columns.get(fields.len());
                missing.map(|(_, column, ..)| format!("missing data for column \"{column}\""))
            };
            if let Some(message) = wrong {
                let error = types::Error::new(SqlState::BAD_COPY_FILE_FORMAT, message);
                return Err(error.with_context(format!("{}: \"{}\"", place(), lines.line())));
            }
            let has_words = options.default.is_some()
                || !options.force_not_null.is_none()
                || !options.force_null.is_none();
            for ((at, column, ty, modifier), field) in columns.iter().zip(fields.iter()) {
                let field = match field {
                    field if !has_words => field,
                    None if options.force_not_null.has(column) => Some(&*options.null),
                    Some(text) if text == options.null && options.force_null.has(column) => None,
                    field => field,
                };
                if has_words && field.is_some() && field == options.default.as_deref() {
                    continue;
                }
                given[*at] = true;
                match types::text::parse_nullable(field, *ty, *modifier, context) {
                    Ok(value) => row[*at] = value,
                    Err(error) => {
                        let value = match field {
                            Some(text) => format!("\"{text}\""),
                            None => "null input".to_owned(),
                        };
                        let place = format!("{}, column {column}: {value}", place());
                        return Err(error.with_context(place));
                    }
                }
            }
            return Ok(true);
        }
    }
}

/// The context in errors about a row that is copied into a table.
fn place_of(name: &str, line: u64, file: Option<&str>, is_columns: bool) -> String {
    let unit = if is_columns { "row" } else { "line" };
    let file = file.map(|file| format!(", file \"{file}\""));
    format!("COPY {name}{}, {unit} {line}", file.as_deref().unwrap_or_default())
}

fn is_generated(column: &table::catalog::Column) -> bool {
    column.default.as_ref().is_some_and(|default| default.is_generated)
}

/// The error for a generated column among those that are named.
fn generated_in_copy(name: &str) -> Error {
    let message = format!("column \"{name}\" is a generated column");
    Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
        .detail("Generated columns cannot be used in COPY.")
}

/// Checks that the first line has the names of the columns, where that was asked for.
fn check_header(
    fields: lines::Fields<'_>,
    columns: &[(usize, String, Type, Modifier)],
    options: &CopyOptions,
) -> types::Result<()> {
    if !options.header_match {
        return Ok(());
    }
    let bad = |message: String| Err(types::Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
    if fields.len() != columns.len() {
        return bad(format!(
            "wrong number of fields in header line: got {}, expected {}",
            fields.len(),
            columns.len()
        ));
    }
    for (number, (field, (_, name, ..))) in (1..).zip(fields.iter().zip(columns)) {
        let field = field.unwrap_or_default();
        if field != name {
            return bad(format!(
                "column name mismatch in header line field {number}: \
                 got \"{field}\", expected \"{name}\""
            ));
        }
    }
    Ok(())
}

/// Writes rows as they come.
struct Writer<'a> {
    out: &'a mut dyn Output,
    options: &'a CopyOptions,
    /// The bytes that go out before the next row, and with it.
    head: Vec<u8>,
    line: Vec<u8>,
    text: String,
}

impl Output for Writer<'_> {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.line.clear();
        self.line.append(&mut self.head);
        let pairs = row.iter().zip(columns);
        if self.options.style == Style::Binary {
            self.line.extend_from_slice(&(row.len() as i16).to_be_bytes());
            for (value, column) in pairs {
                if value.is_null() {
                    self.line.extend_from_slice(&(-1_i32).to_be_bytes());
                    continue;
                }
                let head = self.line.len();
                self.line.extend_from_slice(&[0; 4]);
                let value = value.as_ref();
                types::binary::write(value, column.ty, column.modifier, context, &mut self.line)?;
                let length = (self.line.len() - head - 4) as u32;
                self.line[head..head + 4].copy_from_slice(&length.to_be_bytes());
            }
        } else {
            for (at, (value, column)) in pairs.enumerate() {
                let text = match value.as_ref() {
                    DatumRef::Null => None,
                    DatumRef::Text(text) if matches!(column.ty, Type::TEXT | Type::VARCHAR) => {
                        Some(text)
                    }
                    value => {
                        self.text.clear();
                        let (ty, modifier) = (column.ty, column.modifier);
                        types::text::write(value, ty, modifier, context, &mut self.text)?;
                        Some(self.text.as_str())
                    }
                };
                let field = lines::Value {
                    text,
                    is_quoted: self.options.force_quote.has(&column.name),
                    is_first: at == 0,
                    is_only: row.len() == 1,
                };
                lines::write(field, self.options, &mut self.line);
            }
            self.line.push(b'\n');
        }
        Ok(self.out.copy_data(&self.line))
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        self.out.copy_data(data)
    }
}
