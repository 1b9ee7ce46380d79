//! Statements of SQL in a block, with their variables or by their text, and the targets of their
//! rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use exec::{RowSpool, SpooledRows};
use sql::parse::ast::{Body, Command, CopyEnd, Define, Statement};
use sql::parse::plpgsql::{Execute, Fragment, Into, Target};
use types::{Context, Datum, Modifier, SqlState, Type};

use super::evaluate::in_fragment;
use super::values::{Cell, Kind, Scope};
use super::{Failure, Runner, Tried, Typed, with_context};
use crate::error::{Error, Result};
use crate::portal::{Column, Done, Output, Portal, Work};
use crate::query::{self, StatementResources};
use crate::statement::Parsed;

/// Keeps the first rows, and counts all.
struct First {
    rows: Vec<Vec<Datum>>,
    kept_max: usize,
    count: u64,
}

impl Output for First {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.count += 1;
        if self.rows.len() < self.kept_max {
            self.rows.push(row.to_vec());
        }
        Ok(ControlFlow::Continue(()))
    }

    fn copy_data(&mut self, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The result of a statement of a text: its columns, whether it changes rows, and how many rows there were.
type Ran = (Option<Arc<[Column]>>, bool, u64);

/// Keeps all rows.
struct All(RowSpool);

impl Output for All {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.0.push(row.to_vec())?;
        Ok(ControlFlow::Continue(()))
    }
}

/// The rows of a loop.
pub(super) struct Rows {
    pub columns: Arc<[Column]>,
    rows: SpooledRows,
}

impl Rows {
    pub fn next_row(&mut self) -> Result<Option<Vec<Datum>>> {
        Ok(self.rows.next_row()?)
    }
}

impl Runner<'_> {
    /// A statement, and where its row goes.
    pub(super) fn sql(&mut self, sql: &Fragment, into: Option<&Into>) -> Tried<()> {
        if query::tag_of(&sql.statement).is_none() {
            if into.is_some() {
                return Err(no_data().into());
            }
            return self.utility_fragment(sql);
        }
        let mut portal = self.portal(sql)?;
        let changes = !matches!(sql.statement, Statement::Query(_));
        let columns: Arc<[Column]> = portal.columns.clone().unwrap_or_default();
        let gives = portal.columns.is_some();
        // A statement that changes rows runs to its end; for a query the first rows are enough.
        let (kept, wanted) = match into {
            Some(into) if changes || into.strict => (2, if changes { 0 } else { 2 }),
            Some(_) => (1, 1),
            None => (0, 0),
        };
        let mut first = First { rows: Vec::new(), kept_max: kept, count: 0 };
        if into.is_none() && gives {
            return Err(no_destination(&sql.statement).into());
        }
        let done = self.session.run_plan(&mut portal, wanted, &mut first);
        let done = done.map_err(|error| in_fragment(error, sql))?;
        self.row_count = rows_of(&done, first.count);
        self.set_found(self.row_count > 0);
        match into {
            Some(_) if !gives => Err(no_data().into()),
            Some(into) => self.into(into, changes, &columns, first.rows),
            None => Ok(()),
        }
    }

    /// `PERFORM`
    pub(super) fn perform(&mut self, query: &Fragment) -> Tried<()> {
        let mut portal = self.portal(query)?;
        let mut first = First { rows: Vec::new(), kept_max: 0, count: 0 };
        let done = self.session.run_plan(&mut portal, 0, &mut first);
        done.map_err(|error| in_fragment(error, query))?;
        self.row_count = first.count;
        self.set_found(first.count > 0);
        Ok(())
    }

    /// Gives the row of a statement to the variables of its `INTO`.
    fn into(
        &mut self,
        into: &Into,
        changes: bool,
        columns: &[Column],
        rows: Vec<Vec<Datum>>,
    ) -> Tried<()> {
        if rows.len() > 1 && (into.strict || changes) {
            let message = "query returned more than one row";
            let error = Error::new(SqlState::TOO_MANY_ROWS, message);
            let hint = "Make sure the query returns a single row, or use LIMIT 1.";
            return Err(error.hint(hint).into());
        }
        let row = rows.into_iter().next();
        if row.is_none() && into.strict {
            let message = "query returned no rows";
            return Err(Error::new(SqlState::NO_DATA_FOUND, message).into());
        }
        self.assign_row(&into.targets, columns, row)
    }

    /// Gives a row to variables: to a record or row as a whole, or one column to each. NULL where there is no row.
    pub(super) fn assign_row(
        &mut self,
        targets: &[Target],
        columns: &[Column],
        row: Option<Vec<Datum>>,
    ) -> Tried<()> {
        let mut values = row.unwrap_or_default();
        values.resize(columns.len(), Datum::Null);
        let whole = |kind: &Kind| matches!(kind, Kind::Row(..) | Kind::Record);
        if let [Target { variable, field: None }] = targets
            && whole(&self.values.kinds[*variable])
        {
            let cells = columns.iter().zip(values).map(|(column, value)| Cell {
                name: column.name.as_str().into(),
                ty: column.ty,
                modifier: column.modifier,
                value,
            });
            let cells: Vec<Cell> = cells.collect();
            // One column that is a row is that row.
            return self.assign_cells(*variable, cells);
        }
        let mut given = columns.iter().zip(values);
        for target in targets {
            let value = match given.next() {
                Some((column, value)) => Typed { value, ty: column.ty, modifier: column.modifier },
                None => Typed { value: Datum::Null, ty: Type::TEXT, modifier: Modifier::NONE },
            };
            self.assign(target, value)?;
        }
        Ok(())
    }

    fn spool(&self) -> All {
        let resources = StatementResources::of(&self.session.client);
        let folder = self.session.client.instance.temporary.as_ref();
        All(RowSpool::new(folder, resources.kept_bytes()))
    }

    /// The rows of a query.
    pub(super) fn rows_of(&mut self, query: &Fragment) -> Tried<Rows> {
        if query::tag_of(&query.statement).is_none() {
            let message = "cannot open utility command as cursor";
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message).into());
        }
        let portal = self.portal(query)?;
        self.all_rows(portal).map_err(|error| in_fragment(error, query).into())
    }

    fn all_rows(&mut self, mut portal: Portal) -> Result<Rows> {
        let Some(columns) = portal.columns.clone() else {
            let message = format!("cannot open {} query as cursor", tag_of(&portal));
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
        };
        let mut all = self.spool();
        self.session.run_plan(&mut portal, 0, &mut all)?;
        Ok(Rows { columns, rows: all.0.read()? })
    }

    // --- texts -----------------------------------------------------------------------------------

    /// The text of `EXECUTE`, and its parameters.
    fn text_of(&mut self, execute: &Execute) -> Tried<(String, Vec<Type>, Arc<[Datum]>)> {
        let text = self.value(&execute.text)?;
        let statement_context = self.session.statement_context();
        let value = text.value.as_ref();
        let written =
            types::text::to_string(value, text.ty, text.modifier, &statement_context.types());
        let Some(written) = written else {
            let message = "query string argument of EXECUTE is null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
        };
        drop(statement_context);
        let (mut kinds, mut values) = (Vec::new(), Vec::new());
        for fragment in &execute.using {
            let value = self.value(fragment)?;
            kinds.push(value.ty);
            values.push(value.value);
        }
        Ok((written, kinds, values.into()))
    }

    /// `EXECUTE`
    pub(super) fn execute(&mut self, execute: &Execute) -> Tried<()> {
        let (text, kinds, values) = self.text_of(execute)?;
        let plans = &self.session.client.instance.plans;
        let all = Parsed::shared(&text, plans).map_err(|error| in_text(error, &text))?;
        let mut last = None;
        for parsed in all {
            if let Some(error) = refused(&parsed) {
                return Err(error.into());
            }
            let shown = parsed.text().to_owned();
            let kept_max = if execute.into.is_some() { 2 } else { 0 };
            let mut first = First { rows: Vec::new(), kept_max, count: 0 };
            let ran = self.dynamic(parsed, &kinds, &values, &mut first);
            let (columns, changes, count) = ran.map_err(|error| in_text(error, &shown))?;
            last = Some((columns, changes, first.rows));
            self.row_count = count;
        }
        let Some(into) = &execute.into else { return Ok(()) };
        match last {
            Some((Some(columns), changes, rows)) => self.into(into, changes, &columns, rows),
            _ => Err(no_data().into()),
        }
    }

    /// Runs one statement of a text: its columns, whether it changes rows, and how many rows there were.
    fn dynamic(
        &mut self,
        parsed: Parsed,
        kinds: &[Type],
        values: &Arc<[Datum]>,
        first: &mut First,
    ) -> Result<Ran> {
        let Some(statement) = parsed.statement.clone() else { return Ok((None, false, 0)) };
        if query::tag_of(&statement).is_none() {
            self.utility(parsed, kinds, values, first)?;
            return Ok((None, false, 0));
        }
        self.session.look()?;
        let planned = self.session.planned_for(&parsed, kinds, values)?;
        if planned.params.len() > kinds.len() {
            let message = format!("there is no parameter ${}", kinds.len() + 1);
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
        }
        let mut portal = self.session.plan_portal(parsed, planned)?;
        portal.params = Arc::clone(values);
        let columns = portal.columns.clone();
        let done = self.session.run_plan(&mut portal, 0, first)?;
        let changes = !matches!(*statement, Statement::Query(_));
        Ok((columns, changes, rows_of(&done, first.count)))
    }

    /// The rows of a query that is a text.
    pub(super) fn rows_of_text(&mut self, execute: &Execute) -> Tried<Rows> {
        let (text, kinds, values) = self.text_of(execute)?;
        let plans = &self.session.client.instance.plans;
        let mut all = Parsed::shared(&text, plans).map_err(|error| in_text(error, &text))?;
        let parsed = all.pop().filter(|_| all.is_empty());
        let is_query = |parsed: &Parsed| {
            parsed.statement.as_deref().is_some_and(|it| query::tag_of(it).is_some())
        };
        let Some(parsed) = parsed.filter(is_query) else {
            let message = "cannot open multi-query plan as cursor";
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message).into());
        };
        self.session.look()?;
        let rows = (|| {
            let planned = self.session.planned_for(&parsed, &kinds, &values)?;
            let mut portal = self.session.plan_portal(parsed, planned)?;
            portal.params = values;
            self.all_rows(portal)
        })();
        rows.map_err(|error: Error| in_text(error, &text))
    }

    // --- what has no plan ------------------------------------------------------------------------

    /// A statement without a plan that stands in the code.
    fn utility_fragment(&mut self, sql: &Fragment) -> Tried<()> {
        let message = "unsupported transaction command in PL/pgSQL";
        barred(&sql.statement, message).map_or(Ok(()), Err)?;
        let mut first = First { rows: Vec::new(), kept_max: 0, count: 0 };
        let (parsed, kinds, params) = self.with_parameters(sql)?;
        let ran = self.utility(parsed, &kinds, &params, &mut first);
        ran.map_err(|error| in_fragment(error, sql))?;
        self.row_count = 0;
        if first.count > 0 {
            return Err(no_destination(&sql.statement).into());
        }
        Ok(())
    }

    /// A statement that holds a query, such as `CREATE TABLE AS`: its text with a parameter in the place of each
    /// variable.
    fn with_parameters(&mut self, sql: &Fragment) -> Tried<(Parsed, Vec<Type>, Arc<[Datum]>)> {
        let source: Arc<str> = sql.source.as_str().into();
        let as_it_is = |source| Parsed::of(Arc::new(sql.statement.clone()), source);
        let Some(query) = query::within(&sql.statement) else {
            return Ok((as_it_is(source), Vec::new(), Arc::new([])));
        };
        self.session.look()?;
        let statement_context = self.session.statement_context();
        let scope = Scope { values: &self.values, seen: sql.seen };
        let names = &*self.session.names;
        let found = sql::bind::variable_places(&query, names, statement_context.types(), &scope)
            .map_err(|error| in_fragment(Error::in_text(error, &sql.source), sql))?;
        let mut places: Vec<(usize, u32)> =
            found.iter().filter_map(|(at, number)| Some((at.get()?, *number))).collect();
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return Ok((as_it_is(source), Vec::new(), Arc::new([])));
        }
        let (mut text, mut copied) = (String::new(), 0);
        let (mut kinds, mut values) = (Vec::new(), Vec::new());
        let mut places = places.into_iter().peekable();
        while let Some((at, number)) = places.next() {
            // A row stands for all of its fields at one place.
            if places.peek().is_some_and(|(next, _)| *next == at) {
                let what = "a row variable of PL/pgSQL as a whole in such a statement";
                let error = Error::not_supported(what).hint("Name its fields one by one.");
                return Err(in_fragment(error, sql).into());
            }
            let Some((value, ty, _)) = self.values.value(number) else { continue };
            kinds.push(ty);
            values.push(value.clone());
            text.push_str(&source[copied..at]);
            text.push_str(&format!("${}", kinds.len()));
            copied = at + sql::parse::plpgsql::name_length(&source[at..]);
        }
        text.push_str(&source[copied..]);
        let parsed = Parsed::all(&text)?.pop().unwrap_or_else(|| Parsed::empty(&text));
        Ok((parsed, kinds, values.into()))
    }

    /// Runs a statement without a plan.
    fn utility(
        &mut self,
        parsed: Parsed,
        kinds: &[Type],
        values: &Arc<[Datum]>,
        out: &mut First,
    ) -> Result<()> {
        let before = self.session.client.notices.borrow().len();
        let text = parsed.text().to_owned();
        let line = super::place(self.line, "at SQL statement");
        let mut portal = self.session.plan(parsed, kinds, values)?;
        if portal.params.is_empty() {
            (portal.types, portal.params) = (kinds.to_vec(), Arc::clone(values));
        }
        portal.is_one_of_many = true;
        let ran = loop {
            match self.session.run(&mut portal, 0, out) {
                Ok(Done::CopyIn(_)) => {
                    let message = "cannot COPY to/from client in PL/pgSQL";
                    break Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                Ok(Done::Suspended | Done::More) => {}
                Ok(_) => break Ok(()),
                Err(error) => break Err(error),
            }
            if !matches!(portal.work, Work::Plan(_) | Work::Rows { .. } | Work::CopyOut(_)) {
                break Ok(());
            }
        };
        // Its notices were raised in the block.
        let mut notices = self.session.client.notices.borrow_mut();
        for notice in notices.iter_mut().skip(before) {
            let told = notice.clone();
            *notice = with_context(with_context(told, &format!("SQL statement \"{text}\"")), &line);
        }
        drop(notices);
        ran
    }
}

/// How many rows a statement has given or changed.
fn rows_of(done: &Done, given: u64) -> u64 {
    match done {
        Done::Complete(tag) => tag.rows.unwrap_or(given).max(given),
        _ => given,
    }
}

fn tag_of(portal: &Portal) -> &'static str {
    portal.parsed.statement.as_deref().and_then(query::tag_of).map_or("INSERT", |(tag, _)| tag)
}

/// The error of a statement of a text.
fn in_text(mut error: Error, text: &str) -> Failure {
    if error.inner.is_some() {
        return error.into();
    }
    match error.position.take() {
        Some(position) => {
            error.inner = Some(Box::new((text.to_owned(), position)));
            error.into()
        }
        None => with_context(error, &format!("SQL statement \"{text}\"")).into(),
    }
}

fn no_data() -> Error {
    let message = "INTO used with a command that cannot return data";
    Error::new(SqlState::SYNTAX_ERROR, message)
}

fn no_destination(statement: &Statement) -> Error {
    let message = "query has no destination for result data";
    let error = Error::new(SqlState::SYNTAX_ERROR, message);
    match statement {
        Statement::Query(_) => {
            error.hint("If you want to discard the results of a SELECT, use PERFORM instead.")
        }
        _ => error,
    }
}

/// The error of a statement that `EXECUTE` does not run.
fn refused(parsed: &Parsed) -> Option<Error> {
    let statement = parsed.statement.as_deref()?;
    let is_select_into = match statement {
        Statement::Query(query) => {
            matches!(&query.body, Body::Select(select) if select.into.is_some())
        }
        // SELECT ... INTO makes a table, as CREATE TABLE AS does.
        Statement::Define(define) => {
            matches!(**define, Define::TableAs(_))
                && !parsed.text().trim_start().to_ascii_lowercase().starts_with("create")
        }
        _ => return barred(statement, "EXECUTE of transaction commands is not implemented"),
    };
    is_select_into.then(select_into)
}

/// The error of a command that a block cannot have: one of a transaction, with the message `of_transactions`, or
/// a `COPY` from or to the client.
fn barred(statement: &Statement, of_transactions: &str) -> Option<Error> {
    let Statement::Command(command) = statement else { return None };
    let message = match &**command {
        Command::Begin { .. }
        | Command::Commit { .. }
        | Command::Rollback { .. }
        | Command::Savepoint(_)
        | Command::Release(_)
        | Command::RollbackTo(_)
        | Command::TwoPhase(_) => of_transactions,
        Command::Copy(copy) if copy.end == CopyEnd::Client => {
            "cannot COPY to/from client in PL/pgSQL"
        }
        _ => return None,
    };
    Some(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

fn select_into() -> Error {
    let message = "EXECUTE of SELECT ... INTO is not implemented";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .hint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.")
}
