//! A session for tests: reads, binds, prepares and runs statements, and writes down what comes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use exec::stored::{Base, Computed, ComputedRows, Programs, Stored, Values};
use exec::{Ctx, Parallelism, Prepared, Spill};
use scalar::context::{Clock, Random};
use scalar::function::Call;
use sql::eval::{Frame, Host};
use sql::parse::ast::Statement;
use table::catalog::Catalog;
use table::foreign::Checks;
use table::sequence::SessionSequences;
use txn::{CommitMeta, Isolation, Transaction};
use types::time::TimestampTz;
use types::{Context, Datum, DatumRef, Error, Oid, Result, SqlState, Style};

use crate::world::{View, World, no_sequence};

/// A session in which the time is always 2000-01-01, and nothing is random.
struct Still<'a> {
    world: &'a World,
    catalog: &'a Catalog,
}

impl Clock for Still<'_> {
    fn now(&self) -> TimestampTz {
        TimestampTz(0)
    }
}

impl Random for Still<'_> {
    fn bits(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn secret(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl scalar::Session for Still<'_> {
    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn database(&self) -> &str {
        "test"
    }

    fn user(&self) -> &str {
        "tester"
    }

    fn session_user(&self) -> &str {
        "tester"
    }
}

impl Host for Still<'_> {
    fn next_value(&self, sequence: Oid) -> Result<i64> {
        let relation = self.catalog.relation(sequence).ok_or_else(|| no_sequence(sequence))?;
        // A session for each number: none of these sequences has a CACHE.
        SessionSequences::default()
            .next(&self.world.sequences, relation)
            .map_err(|error| Error::new(error.sqlstate(), error.to_string()))
    }

    fn call(&self, function: &scalar::Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<Datum> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, function.name))
    }

    fn rows(
        &self,
        function: &scalar::Function,
        _: &Call<'_>,
        _: &[DatumRef<'_>],
    ) -> Result<scalar::Rows> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, function.name))
    }
}

impl Computed for Still<'_> {
    fn rows(&self, _: Oid, _: &[i16]) -> Result<ComputedRows> {
        Ok(Box::new(std::iter::empty()))
    }
}

/// A client.
pub struct Session {
    world: Arc<World>,
    /// The transaction that `begin` has opened.
    txn: Option<Transaction>,
    /// The most bytes that a statement may hold.
    pub memory_bytes_max: usize,
    /// How many bytes an operator may hold before it writes to files; none if it holds everything.
    pub work_bytes: Option<usize>,
    /// True if statements are to be canceled.
    pub cancel: AtomicBool,
}

impl Session {
    pub fn new(world: &Arc<World>) -> Self {
        let (world, cancel) = (Arc::clone(world), AtomicBool::new(false));
        Self { world, txn: None, memory_bytes_max: 64 << 20, work_bytes: None, cancel }
    }

    fn spill(&self) -> Option<Spill<'_>> {
        let folder = &self.world.temporary;
        self.work_bytes.map(|bytes| Spill { folder, work_bytes: bytes, hash_bytes: bytes })
    }

    /// The answer to a statement, as text.
    pub fn answer(&mut self, statement: &str) -> String {
        match self.run(statement, &[]) {
            Ok(rows) if rows.is_empty() => "= nothing".to_owned(),
            Ok(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| format!("> {row}")).collect();
                rows.join("\n")
            }
            Err(error) => format!("! {} {}", error.state(), error.message()),
        }
    }

    /// The plan of a statement.
    pub fn prepare(&self, statement: &str) -> Result<Arc<Prepared>> {
        let view = View::new(&self.world);
        let parsed = sql::parse::statements(statement).map_err(|error| error.cause)?;
        prepare(&parsed[0].statement, &view)
    }

    /// Runs a statement: its rows as text.
    pub fn run(&mut self, statement: &str, params: &[Datum]) -> Result<Vec<String>> {
        match statement {
            "begin" => {
                self.txn = Some(self.world.engine.begin(Isolation::ReadCommitted));
                return Ok(Vec::new());
            }
            "commit" | "rollback" => {
                if let Some(txn) = self.txn.take().filter(|_| statement == "commit") {
                    txn.commit(CommitMeta::default())
                        .map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
                }
                return Ok(Vec::new());
            }
            _ => {}
        }
        if statement.starts_with("create") {
            return self.world.define(statement).map(|()| Vec::new());
        }
        let parsed = sql::parse::statements(statement).map_err(|error| error.cause)?;
        let parsed = &parsed[0].statement;
        let view = View::new(&self.world);
        let prepared = prepare(parsed, &view)?;
        let explicit = self.txn.is_some();
        let mut txn = match self.txn.take() {
            Some(mut txn) => {
                txn.statement();
                txn
            }
            None => self.world.engine.begin(Isolation::ReadCommitted),
        };
        let savepoint = txn.savepoint();
        let rows = self.execute(&prepared, params, &view, &mut txn);
        if rows.is_err() {
            txn.rollback_to(savepoint);
        }
        if explicit {
            self.txn = Some(txn);
        } else if rows.is_ok() {
            txn.commit(CommitMeta::default())
                .map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
        }
        rows
    }

    fn execute(
        &self,
        prepared: &Arc<Prepared>,
        params: &[Datum],
        view: &View,
        txn: &mut Transaction,
    ) -> Result<Vec<String>> {
        let style = Style::default();
        let still = Still { world: &self.world, catalog: &view.catalog };
        let types = Context { types: view, ..Context::new(&style) };
        let context = scalar::Context {
            types,
            statement: TimestampTz(0),
            clock: &still,
            random: &still,
            session: &still,
        };
        let frame = Frame { context: &context, params, host: &still };
        let programs = Programs::new();
        let mut values = Values { names: view, schema: view, programs: &programs, frame };
        let mut checks = Checks::new(Arc::clone(&self.world.handles), Arc::clone(&view.catalog));
        let mut rows = Vec::new();
        {
            let base = Base {
                cache: &self.world.cache,
                handles: &self.world.handles,
                catalog: &view.catalog,
                computed: &still,
                counting: table::rows::Counting::default(),
            };
            let mut own = values;
            let tables = Stored::new(txn, &mut checks, &mut own, base);
            let mut ctx = self.ctx(frame, &tables);
            let mut run = prepared.start();
            let mut row = Vec::new();
            while run.next(&mut ctx, &mut row)? {
                let values = row.iter().zip(prepared.columns()).map(|(value, column)| {
                    let (ty, modifier) = (column.ty, column.modifier);
                    let text = types::text::to_string(value.as_ref(), ty, modifier, &types);
                    text.unwrap_or_else(|| "null".to_owned())
                });
                rows.push(values.collect::<Vec<_>>().join(" | "));
            }
            tables.count_rows();
        }
        checks
            .end_statement(txn, &mut values)
            .map_err(|error| Error::new(error.sqlstate(), error.to_string()))?;
        Ok(rows)
    }
}

impl Session {
    /// The context of a run: a thread may help, and takes one block at a time.
    fn ctx<'a>(&'a self, frame: Frame<'a>, tables: &'a Stored<'a>) -> Ctx<'a> {
        Ctx {
            frame,
            cancel: &self.cancel,
            tables,
            memory_bytes_max: self.memory_bytes_max,
            memory_total: None,
            spill: self.spill(),
            rows_max: None,
            parallelism: Parallelism { threads_max: 1, rows_each: 1 },
            clock: None,
        }
    }

    /// Runs a statement with one parameter many times, in one transaction that is rolled back.
    #[allow(dead_code)]
    pub fn repeat(&self, statement: &str, count: usize, param: impl Fn(usize) -> Datum) {
        let view = View::new(&self.world);
        let prepared = self.prepare(statement).expect("the statement is right");
        let style = Style::default();
        let still = Still { world: &self.world, catalog: &view.catalog };
        let types = Context { types: &view, ..Context::new(&style) };
        let context = scalar::Context {
            types,
            statement: TimestampTz(0),
            clock: &still,
            random: &still,
            session: &still,
        };
        let programs = Programs::new();
        let mut txn = self.world.engine.begin(Isolation::ReadCommitted);
        let mut checks = Checks::new(Arc::clone(&self.world.handles), Arc::clone(&view.catalog));
        let mut row = Vec::new();
        for at in 0..count {
            let params = [param(at)];
            let frame = Frame { context: &context, params: &params, host: &still };
            let mut values = Values { names: &view, schema: &view, programs: &programs, frame };
            let base = Base {
                cache: &self.world.cache,
                handles: &self.world.handles,
                catalog: &view.catalog,
                computed: &still,
                counting: table::rows::Counting::default(),
            };
            let tables = Stored::new(&mut txn, &mut checks, &mut values, base);
            let mut ctx = self.ctx(frame, &tables);
            let mut run = prepared.start();
            while run.next(&mut ctx, &mut row).expect("the statement runs") {}
        }
    }
}

fn prepare(statement: &Statement, view: &View) -> Result<Arc<Prepared>> {
    let style = Style::default();
    let context = Context { types: view, ..Context::new(&style) };
    let bound = sql::bind::statement(statement, view, context, &[]).map_err(|error| error.cause)?;
    Prepared::new(bound.plan, view, context, view, plan::Wishes::default())
}
