//! A session for tests: reads, binds, prepares and runs statements, and writes down what comes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use exec::{Ctx, Prepared};
use scalar::context::{Clock, Random};
use scalar::function::Call;
use sql::bind::{Names, Relation};
use sql::eval::{Frame, Host};
use types::time::TimestampTz;
use types::{Context, Datum, DatumRef, Error, Oid, Result, Shape, SqlState, Style, Type, TypeSource};

/// A session in which the time is always 2000-01-01, and nothing is random.
struct Still;

impl Clock for Still {
    fn now(&self) -> TimestampTz {
        TimestampTz(0)
    }
}

impl Random for Still {
    fn bits(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn secret(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl scalar::Session for Still {
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

impl Host for Still {
    fn next_value(&self, _: Oid) -> Result<i64> {
        Ok(1)
    }

    fn check_domain(&self, _: Type, _: DatumRef<'_>) -> Result<()> {
        Ok(())
    }

    fn call(&self, function: &scalar::Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<Datum> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, function.name))
    }
}

/// The names of a database.
pub struct Catalog;

impl TypeSource for Catalog {
    fn shape(&self, _: Type) -> Option<Shape> {
        None
    }

    fn name(&self, _: Type) -> Option<String> {
        None
    }

    fn array_of(&self, _: Type) -> Option<Type> {
        None
    }
}

impl Names for Catalog {
    fn relation(&self, _: Option<&str>, _: &str) -> Option<Arc<Relation>> {
        None
    }

    fn user_type(&self, _: Option<&str>, _: &str) -> Option<Type> {
        None
    }

    fn has_schema(&self, name: &str) -> bool {
        name == "public"
    }
}

/// A client.
pub struct Session {
    catalog: Catalog,
    /// The most bytes that a statement may hold.
    pub memory_bytes_max: usize,
}

impl Session {
    pub fn new() -> Self {
        Self { catalog: Catalog, memory_bytes_max: 64 << 20 }
    }

    /// The plan of a statement.
    pub fn prepare(&self, statement: &str) -> Result<Arc<Prepared>> {
        let style = style();
        let context = Context { types: &self.catalog, ..Context::new(&style) };
        let parsed = sql::parse::statements(statement).map_err(|error| error.cause)?;
        let [parsed] = &parsed[..] else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "one statement is wanted"));
        };
        let bound = sql::bind::statement(&parsed.statement, &self.catalog, context, &[])
            .map_err(|error| error.cause)?;
        Prepared::new(bound.plan, &self.catalog)
    }

    /// What a statement comes to, as text.
    pub fn answer(&mut self, statement: &str) -> String {
        match self.run(statement) {
            Ok(rows) if rows.is_empty() => "= nothing".to_owned(),
            Ok(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| format!("> {row}")).collect();
                rows.join("\n")
            }
            Err(error) => format!("! {} {}", error.state(), error.message()),
        }
    }

    fn run(&mut self, statement: &str) -> Result<Vec<String>> {
        let prepared = self.prepare(statement)?;
        // Twice: the second run finds the machine that the first has used.
        self.rows(&prepared, &[])?;
        self.rows(&prepared, &[])
    }

    /// The rows of a statement, each as text.
    pub fn rows(&self, prepared: &Arc<Prepared>, params: &[Datum]) -> Result<Vec<String>> {
        let style = style();
        let types = Context { types: &self.catalog, ..Context::new(&style) };
        let context = scalar::Context {
            types,
            statement: TimestampTz(0),
            clock: &Still,
            random: &Still,
            session: &Still,
        };
        let cancel = AtomicBool::new(false);
        let mut ctx = Ctx {
            frame: Frame { context: &context, params, host: &Still },
            cancel: &cancel,
            memory_bytes_max: self.memory_bytes_max,
        };
        let mut run = prepared.start();
        let (mut rows, mut row) = (Vec::new(), Vec::new());
        while run.next(&mut ctx, &mut row)? {
            let values = row.iter().zip(prepared.columns()).map(|(value, column)| {
                let text =
                    types::text::to_string(value.as_ref(), column.ty, column.modifier, &types);
                text.map_or_else(|| "null".to_owned(), |text| text.to_string())
            });
            rows.push(values.collect::<Vec<_>>().join(" | "));
        }
        Ok(rows)
    }
}

fn style() -> Style {
    Style::default()
}
