//! Queries and changes of rows: bound once, prepared once, run any number of times.
//!
//! ```text
//!   text, path, types of parameters, catalog ──cache──> Planned ──start──> Run ──next──> rows
//!                                       └─ bind, prepare ─┘
//! ```
//!
//! The cache is shared by all sessions. What a plan was made from is its key: the text, the schemas
//! that names were looked for in, the types of the parameters, the settings that constants are read
//! with, and the version of the catalog. A plan of another version is never found again.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::RwLock;
use sql::parse::ast::Statement;
use types::{Datum, Oid, Shape, SqlState, Style, Type, TypeSource, builtin};

use crate::client::Surroundings;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::names::Names;
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::session::Session;
use crate::statement::Parsed;
use crate::system::rows::Scene;
use crate::values::Values;

/// How many plans are kept.
const PLANS_MAX: usize = 4096;

/// A statement that is ready to be run.
pub(crate) struct Planned {
    pub prepared: Arc<exec::Prepared>,
    /// The types of its parameters.
    pub params: Vec<Type>,
    pub columns: Option<Arc<[Column]>>,
    /// The command of its tag.
    pub tag: &'static str,
    /// True where it changes rows.
    pub writes: bool,
    /// True where it locks rows that it reads.
    pub locks: bool,
}

/// What a plan was made from.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    text: Arc<str>,
    path: Vec<Oid>,
    params: Vec<Type>,
    catalog: u64,
    style: (u8, u8, String),
}

/// Plans that were made before.
#[derive(Default)]
pub(crate) struct Plans {
    known: RwLock<HashMap<Key, Arc<Planned>>>,
}

impl Plans {
    fn find(&self, key: &Key) -> Option<Arc<Planned>> {
        self.known.read().get(key).cloned()
    }

    fn keep(&self, key: Key, planned: &Arc<Planned>) {
        let mut known = self.known.write();
        if known.len() >= PLANS_MAX {
            // Rare, and what is in use comes back at once.
            known.clear();
        }
        known.insert(key, Arc::clone(planned));
    }
}

/// The settings that constants are read with.
fn style_key(style: &Style) -> (u8, u8, String) {
    let zone = style.time_zone.name().to_owned();
    (style.date_order as u8, style.interval_style as u8, zone)
}

/// False for texts whose constants may mean the moment at which they are read.
fn is_timeless(text: &str) -> bool {
    !["now", "today", "tomorrow", "yesterday"].iter().any(|word| {
        let bytes = text.as_bytes();
        bytes
            .windows(word.len() + 1)
            .any(|window| window[0] == b'\'' && window[1..].eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// The words and the kind of a statement that has a plan; `None` for one that has none.
pub(crate) fn tag_of(statement: &Statement) -> Option<(&'static str, bool)> {
    Some(match statement {
        Statement::Query(_) => ("SELECT", false),
        Statement::Insert(_) => ("INSERT", true),
        Statement::Update(_) => ("UPDATE", true),
        Statement::Delete(_) => ("DELETE", true),
        Statement::Merge(_) => ("MERGE", true),
        Statement::Erase(_) => ("ERASE", true),
        _ => return None,
    })
}

impl Session {
    /// The plan of a statement, with the types of its parameters as far as they are given.
    pub(crate) fn planned(&mut self, parsed: &Parsed, params: &[Type]) -> Result<Arc<Planned>> {
        let statement = parsed.statement.as_ref().expect("there is a statement");
        let surroundings = self.surroundings();
        let key = Key {
            text: parsed.text().into(),
            path: self.names.path.clone(),
            params: params.to_vec(),
            catalog: self.names.catalog.version().0,
            style: style_key(&surroundings.style),
        };
        let shared = !self.has_own_catalog();
        if shared && let Some(planned) = self.client.instance.plans.find(&key) {
            return Ok(planned);
        }
        let planned = Arc::new(plan(statement, &parsed.source, params, &surroundings)?);
        if shared && is_timeless(&key.text) {
            self.client.instance.plans.keep(key, &planned);
        }
        Ok(planned)
    }

    /// A portal that runs a plan.
    pub(crate) fn plan_portal(&mut self, parsed: Parsed, planned: Arc<Planned>) -> Portal {
        let run = planned.prepared.start();
        let columns = planned.columns.clone();
        Portal::new(parsed, columns, Work::Plan(Box::new(Running { planned, run })))
    }

    /// Goes on with a plan.
    pub(crate) fn run_plan(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        let Work::Plan(running) = &mut portal.work else { unreachable!("a plan is run") };
        let Running { planned, run } = &mut **running;
        self.open();
        let open = self.transaction.as_mut().expect("it has been begun");
        if planned.writes && open.modes.read_only {
            return Err(Error::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {} in a read-only transaction", planned.tag),
            ));
        }
        open.looked = true;
        let surroundings = Surroundings::of(&self.client, &self.names, open.started);
        let context = surroundings.context();
        let host = Host { surroundings: &surroundings };
        let frame = sql::eval::Frame { context: &context, params: &portal.params, host: &host };
        let names = &*self.names;
        let mut values =
            exec::stored::Values { names, schema: names, programs: &names.programs, frame };
        let txn = open.inner.as_mut().ok_or_else(gone)?;
        open.checks.set_catalog(Arc::clone(&names.catalog));
        let instance = &self.client.instance;
        let scene = Scene {
            names,
            client: &self.client,
            statements: &self.statements,
            cursors: &self.cursors,
        };
        let base = exec::stored::Base {
            cache: &instance.catalogs,
            handles: &instance.handles,
            catalog: &names.catalog,
            computed: &scene,
        };
        let mut at_end = values;
        let stored = exec::stored::Stored::new(txn, &mut open.checks, &mut values, base);
        let mut ctx = exec::Ctx {
            frame,
            cancel: &self.client.slot.stop,
            tables: &stored,
            memory_bytes_max: instance.memory_bytes_max,
        };
        let columns = portal.columns.as_deref().unwrap_or_default();
        let types = surroundings.types();
        let mut row = Vec::new();
        let mut given = 0;
        let stopped = |error: types::Error| match error.state() {
            SqlState::QUERY_CANCELED => self.client.slot.stopped().unwrap_or(error.into()),
            _ => Error::from(error),
        };
        while run.next(&mut ctx, &mut row).map_err(stopped)? {
            portal.rows += 1;
            given += 1;
            let flow = out.row(&row, columns, &types)?;
            if rows_max != 0 && given == rows_max {
                // The tag counts the rows of the last piece.
                portal.rows = 0;
                return Ok(Done::Suspended);
            }
            if flow.is_break() {
                return Ok(Done::More);
            }
        }
        stored.count_rows();
        drop(stored);
        if planned.writes {
            open.checks.end_statement(txn, &mut at_end)?;
        }
        let rows = if planned.writes { run.rows_changed() } else { portal.rows };
        let tag = Tag::rows(planned.tag, rows);
        let again = if planned.writes { tag.clone() } else { Tag::rows(planned.tag, 0) };
        portal.work = Work::Done(again);
        Ok(Done::Complete(tag))
    }
}

impl Session {
    /// Runs a plan to its end and gives each row to `each`.
    pub(crate) fn collect(
        &mut self,
        planned: Arc<Planned>,
        each: &mut dyn FnMut(&[Datum]),
    ) -> Result<()> {
        struct Each<'a>(&'a mut dyn FnMut(&[Datum]));
        impl Output for Each<'_> {
            fn row(
                &mut self,
                row: &[Datum],
                _: &[Column],
                _: &types::Context<'_>,
            ) -> types::Result<ControlFlow<()>> {
                (self.0)(row);
                Ok(ControlFlow::Continue(()))
            }

            fn copy_data(&mut self, _: &[u8]) -> ControlFlow<()> {
                ControlFlow::Continue(())
            }
        }
        let mut portal = self.plan_portal(Parsed::empty(""), planned);
        self.run_plan(&mut portal, 0, &mut Each(each)).map(drop)
    }

    /// Inserts rows, which have a value for each column that is there, into a table.
    pub(crate) fn insert_rows(&mut self, table: Oid, rows: Vec<Vec<Datum>>) -> Result<()> {
        let names = Arc::clone(&self.names);
        let handles = Arc::clone(&self.client.instance.handles);
        let found = handles.table(&names.catalog, table).ok_or_else(|| {
            let message = format!("table with OID {table} does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })?;
        let open = self.transaction.as_mut().expect("a transaction was begun");
        let txn = open.inner.as_mut().expect("a transaction that goes on is open");
        let around = Surroundings::of(&self.client, &names, open.started);
        let mut values = Values::new(&around, Arc::clone(&names));
        open.checks.set_catalog(Arc::clone(&names.catalog));
        let count = rows.len() as i64;
        for row in rows {
            let mut change =
                table::rows::Change { txn, values: &mut values, checks: &mut open.checks };
            found.insert(&mut change, &row)?;
        }
        open.checks.end_statement(txn, &mut values)?;
        handles.count(txn, found.storage(), count);
        Ok(())
    }
}

/// The error for a portal whose transaction has failed.
fn gone() -> Error {
    Error::new(SqlState::IN_FAILED_SQL_TRANSACTION, "the transaction of the portal has ended")
}

impl Running {
    /// Goes back to the beginning.
    pub fn restart(&mut self) {
        self.run = self.planned.prepared.start();
    }
}

/// A plan that is being run.
pub(crate) struct Running {
    pub planned: Arc<Planned>,
    pub run: exec::Run,
}

/// Binds and prepares a statement, whose places count in `source`.
pub(crate) fn plan(
    statement: &Statement,
    source: &str,
    params: &[Type],
    surroundings: &Surroundings<'_>,
) -> Result<Planned> {
    let in_text = |error| Error::in_text(error, source);
    let (tag, writes) = tag_of(statement).ok_or_else(|| Error::not_supported("this statement"))?;
    let names: &Names = &surroundings.names;
    let bound =
        sql::bind::statement(statement, names, surroundings.types(), params).map_err(in_text)?;
    let columns = (!writes || !bound.plan.columns.is_empty())
        .then(|| bound.plan.columns.iter().map(|column| column_of(column, names)).collect());
    let prepared = exec::Prepared::new(bound.plan, names, surroundings.types(), names)?;
    // Asked once, when the plan is made.
    let locks = prepared.explain().contains("LockRows ");
    Ok(Planned { prepared, params: bound.params, columns, tag, writes, locks })
}

/// A column as clients are told of it.
pub(crate) fn column_of(column: &sql::plan::Column, names: &Names) -> Column {
    let (mut ty, mut modifier) = (column.ty, column.modifier);
    while let Some(Shape::Domain(base, of_base)) = names.shape(ty) {
        (ty, modifier) = (base, of_base);
    }
    if ty == Type::UNKNOWN {
        ty = Type::TEXT;
    }
    Column {
        name: column.name.clone(),
        table: column.origin.map_or(Oid::NONE, |origin| origin.relation),
        attnum: column.origin.map_or(0, |origin| origin.attnum),
        ty,
        modifier,
        length: length_of(ty, names),
    }
}

/// The length of values of a type as `pg_type` has it.
pub(crate) fn length_of(ty: Type, names: &Names) -> i16 {
    match builtin::facts(ty) {
        Some(facts) => facts.length,
        None => match names.shape(ty) {
            Some(Shape::Enum(_)) => 4,
            _ => -1,
        },
    }
}
