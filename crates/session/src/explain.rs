//! `EXPLAIN`: its options, and the plan of a statement in the format that they ask for.
//!
//! ```text
//!   EXPLAIN (ANALYZE, FORMAT JSON) SELECT ...     ──plan──> run, each operator looked at ──> text
//!   EXPLAIN EXECUTE name (...)                    the plan of a prepared statement, with its values
//! ```
//!
//! With `ANALYZE` the statement is really run, and what it changes is changed.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use plan::explain::render::{self, Format, Options};
use plan::explain::tree::{ExplainContext, Observed};
use sql::parse::ast::{Command, Define, RowsOf, Statement};
use types::{Context, Datum, SqlState};

use crate::error::{Error, Result};
use crate::portal::{Column, Output, Portal, Tag, Work};
use crate::query::{self, Planned};
use crate::session::Session;
use crate::settings::value;
use crate::statement::Parsed;

/// Settings that say how statements are computed.
const SHOWN: [&str; 9] = [
    "hash_mem_multiplier",
    "join_collapse_limit",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "min_parallel_table_scan_size",
    "query_mem_max",
    "search_path",
    "TimeZone",
    "work_mem",
];

/// The options of `EXPLAIN`.
#[derive(Default)]
struct ExplainOptions {
    format: Format,
    analyze: bool,
    verbose: bool,
    costs: Option<bool>,
    timing: Option<bool>,
    summary: Option<bool>,
    settings: bool,
    buffers: bool,
}

fn refuse(state: SqlState, message: impl Into<String>) -> Error {
    Error::new(state, message)
}

/// The options of `EXPLAIN`.
///
/// # Errors
/// `42601` for one that there is not, `22023` for those that do not go together.
fn asked(options: &[(String, Option<String>)]) -> Result<ExplainOptions> {
    let mut asked = ExplainOptions::default();
    for (name, given) in options {
        let switch = || {
            let on = given.as_deref().map_or(Some(true), value::bool_of);
            let message = format!("{name} requires a Boolean value");
            on.ok_or_else(|| refuse(SqlState::SYNTAX_ERROR, message))
        };
        match name.as_str() {
            "analyze" => asked.analyze = switch()?,
            "verbose" => asked.verbose = switch()?,
            "costs" => asked.costs = Some(switch()?),
            "timing" => asked.timing = Some(switch()?),
            "summary" => asked.summary = Some(switch()?),
            "settings" => asked.settings = switch()?,
            "format" => asked.format = format_of(given.as_deref().unwrap_or_default())?,
            "buffers" => asked.buffers = switch()?,
            // The memory of planning is not counted, and plans are made for any values.
            "memory" | "generic_plan" => drop(switch()?),
            "wal" => {
                if switch()? && !is_on(options, "analyze") {
                    return Err(needs_analyze("WAL"));
                }
            }
            "serialize" => {
                let is_none =
                    given.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("none"));
                if !is_none && !is_on(options, "analyze") {
                    return Err(needs_analyze("SERIALIZE"));
                }
            }
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(refuse(SqlState::SYNTAX_ERROR, message));
            }
        }
    }
    if asked.timing == Some(true) && !asked.analyze {
        return Err(needs_analyze("TIMING"));
    }
    Ok(asked)
}

fn is_on(options: &[(String, Option<String>)], name: &str) -> bool {
    options.iter().any(|(known, given)| {
        known == name && given.as_deref().is_none_or(|given| value::bool_of(given) == Some(true))
    })
}

fn needs_analyze(option: &str) -> Error {
    let message = format!("EXPLAIN option {option} requires ANALYZE");
    refuse(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn format_of(word: &str) -> Result<Format> {
    Ok(match word.to_ascii_lowercase().as_str() {
        "text" => Format::Text,
        "json" => Format::Json,
        "xml" => Format::Xml,
        "yaml" => Format::Yaml,
        _ => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{word}\"");
            return Err(refuse(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    })
}

/// The column that `EXPLAIN` gives.
pub(crate) fn column(options: &[(String, Option<String>)]) -> Column {
    let format = options.iter().find(|(name, _)| name == "format");
    let word = format.and_then(|(_, word)| word.as_deref()).unwrap_or_default();
    let ty = match word.to_ascii_lowercase().as_str() {
        "json" => types::Type::JSON,
        _ => types::Type::TEXT,
    };
    Column { ty, ..crate::command::text_column("QUERY PLAN") }
}

/// An output that discards its rows.
struct Nobody;

impl Output for Nobody {
    fn row(
        &mut self,
        _: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

impl Session {
    /// `EXPLAIN`
    ///
    /// # Errors
    /// Those of the options and of the statement.
    pub(crate) fn explain(
        &mut self,
        options: &[(String, Option<String>)],
        statement: &Statement,
        portal: &Portal,
    ) -> Result<Work> {
        let asked = asked(options)?;
        let clock = Arc::clone(&self.client.instance.env.clock);
        let started_us = clock.monotonic_us();
        let (planned, params) = self.plan_explained(statement, portal)?;
        planned.require_rights(&self.names)?;
        let planning_ms = (clock.monotonic_us() - started_us) as f64 / 1_000.0;
        let mut observed = None;
        let mut execution_ms = None;
        if asked.analyze {
            let started_us = clock.monotonic_us();
            observed = Some(self.observe(Arc::clone(&planned), params)?);
            execution_ms = Some((clock.monotonic_us() - started_us) as f64 / 1_000.0);
        }
        let summary = asked.summary.unwrap_or(asked.analyze);
        let told = Options {
            format: asked.format,
            costs: asked.costs.unwrap_or(true),
            analyze: asked.analyze,
            timing: asked.timing.unwrap_or(true),
            buffers: asked.buffers,
            settings: if asked.settings { self.changed_settings() } else { Vec::new() },
            planning_ms: summary.then_some(planning_ms),
            execution_ms: execution_ms.filter(|_| summary),
        };
        let context = ExplainContext {
            types: &*self.names,
            schema: &*self.names,
            verbose: asked.verbose,
            observed: observed.as_ref(),
        };
        let text = render::render(&planned.prepared.tree(&context), &told);
        // Text is a row for each line, all else is one value.
        let rows: VecDeque<Vec<Datum>> = match asked.format {
            Format::Text => text.lines().map(|line| vec![Datum::text(line)]).collect(),
            _ => [vec![Datum::text(&*text)]].into(),
        };
        Ok(Work::Rows { rows, tag: Tag::plain("EXPLAIN") })
    }

    /// The plan of what is explained, and the values of its parameters.
    fn plan_explained(
        &mut self,
        statement: &Statement,
        portal: &Portal,
    ) -> Result<(Arc<Planned>, Arc<[Datum]>)> {
        let query = match statement {
            Statement::Command(command) => match &**command {
                Command::Execute { name, args } => {
                    let executed = self.plan_execute(Parsed::empty(""), &name.text, args)?;
                    let Work::Plan(running) = &executed.work else {
                        return Err(Error::not_supported("EXPLAIN of this statement"));
                    };
                    return Ok((Arc::clone(&running.planned), executed.params));
                }
                Command::Declare { query, .. } => Statement::Query(query.clone()),
                _ => return Err(Error::not_supported("EXPLAIN of this statement")),
            },
            Statement::Define(define) => match &**define {
                Define::TableAs(create) => match &create.rows {
                    RowsOf::Query(query) => Statement::Query(query.clone()),
                    RowsOf::Execute { name, args } => {
                        let (name, args) = (name.clone(), args.clone());
                        let execute = Statement::Command(Box::new(Command::Execute { name, args }));
                        return self.plan_explained(&execute, portal);
                    }
                },
                _ => return Err(Error::not_supported("EXPLAIN of this statement")),
            },
            other => other.clone(),
        };
        self.look()?;
        let statement_context = self.statement_context();
        let planned =
            query::plan(&query, &portal.parsed.source, &portal.types, &statement_context)?;
        Ok((Arc::new(planned), Arc::clone(&portal.params)))
    }

    /// Runs a plan to its end, and tells what was seen of its operators.
    fn observe(&mut self, planned: Arc<Planned>, params: Arc<[Datum]>) -> Result<Observed> {
        let run = planned.prepared.start_probed();
        let mut portal = self.plan_portal(Parsed::empty(""), planned)?;
        portal.params = params;
        if let Work::Plan(running) = &mut portal.work {
            (running.run, running.is_probed) = (run, true);
        }
        self.run_plan(&mut portal, 0, &mut Nobody)?;
        Ok(portal.observed.take().unwrap_or_default())
    }

    /// The settings that say how statements are computed and are not as they come.
    fn changed_settings(&self) -> Vec<(String, String)> {
        let settings = self.client.settings.borrow();
        let changed = settings.all().filter(|(known, now)| {
            let usual = value::read(known, known.name, known.default);
            SHOWN.contains(&known.name) && usual.is_ok_and(|usual| usual != **now)
        });
        changed
            .map(|(known, _)| {
                (known.name.to_owned(), settings.show(known.name).unwrap_or_default())
            })
            .collect()
    }
}
