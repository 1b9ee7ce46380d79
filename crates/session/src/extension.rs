//! The functions of the extensions `storage_engine` and `citus_columnar`, for tables `USING columnar` and
//! `USING rowcompress`.
//!
//! ```text
//!   SELECT engine.alter_colcompress_table_set('events', orderby => 'event_date')   parameters of the table
//!   SELECT engine.alter_colcompress_table_reset('events', orderby => true)
//!   SELECT engine.colcompress_merge('events')      the rows are written anew, in the order of the table
//!   SELECT engine.colcompress_repack('events')     the rows are written anew
//! ```
//!
//! They change definitions. So each is a statement of its own, by `SELECT` or `CALL`, with constant arguments.
//! It is done as `ALTER TABLE` would do it, with the same rights and locks, in the transaction of the session.

use std::collections::VecDeque;
use std::sync::Arc;

use sql::parse::ast::Path;
use table::columnar::Columnar;
use table::rowcompress::RowCompress;
use txn::RelationLock;
use types::{Datum, Oid, SqlState, Type};

use crate::error::{Error, Result, Severity};
use crate::portal::{Tag, Work};
use crate::procedures::CallArgument;
use crate::session::{Session, done};

/// The effect of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Sets parameters; NULL leaves one as it is.
    Set,
    /// Takes away those that are true.
    Reset,
    /// Writes the rows anew, if the table has an order.
    Merge,
    /// Writes the rows anew.
    Repack,
}

/// A function.
struct Function {
    name: &'static str,
    effect: Effect,
    /// The method of its tables, and how that is called.
    method: (Oid, &'static str),
    /// Its arguments after the table, in their order.
    arguments: &'static [&'static str],
}

const COLUMNS: (Oid, &str) = (Columnar::OID, "columnar");
const BATCHES: (Oid, &str) = (RowCompress::OID, "rowcompress");
const OF_COLUMNS: &[&str] = &[
    "chunk_group_row_limit",
    "stripe_row_limit",
    "compression",
    "compression_level",
    "orderby",
    "index_scan",
];
const OF_BATCHES: &[&str] =
    &["batch_size", "compression", "compression_level", "pruning_column", "index_scan"];

/// Arguments of the extension that have no meaning here.
const WITHOUT_EFFECT: [&str; 2] = ["index_scan", "pruning_column"];

const FUNCTIONS: [Function; 9] = [
    Function {
        name: "alter_columnar_table_set",
        effect: Effect::Set,
        method: COLUMNS,
        arguments: OF_COLUMNS,
    },
    Function {
        name: "alter_columnar_table_reset",
        effect: Effect::Reset,
        method: COLUMNS,
        arguments: OF_COLUMNS,
    },
    Function {
        name: "alter_colcompress_table_set",
        effect: Effect::Set,
        method: COLUMNS,
        arguments: OF_COLUMNS,
    },
    Function {
        name: "alter_colcompress_table_reset",
        effect: Effect::Reset,
        method: COLUMNS,
        arguments: OF_COLUMNS,
    },
    Function { name: "colcompress_merge", effect: Effect::Merge, method: COLUMNS, arguments: &[] },
    Function {
        name: "colcompress_repack",
        effect: Effect::Repack,
        method: COLUMNS,
        arguments: &["min_fill_ratio"],
    },
    Function {
        name: "alter_rowcompress_table_set",
        effect: Effect::Set,
        method: BATCHES,
        arguments: OF_BATCHES,
    },
    Function {
        name: "alter_rowcompress_table_reset",
        effect: Effect::Reset,
        method: BATCHES,
        arguments: OF_BATCHES,
    },
    Function {
        name: "rowcompress_repack",
        effect: Effect::Repack,
        method: BATCHES,
        arguments: &[],
    },
];

/// Returns the function with a name, which may stand in the schemas `engine` and `columnar`.
fn function(name: &Path) -> Option<&'static Function> {
    let words: Vec<&str> = name.parts.iter().map(|part| part.text.as_str()).collect();
    let ([name] | ["engine" | "columnar", name]) = words[..] else { return None };
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Returns true for the name of one of the functions.
pub(crate) fn is_function(name: &Path) -> bool {
    function(name).is_some()
}

impl Session {
    /// Runs one of the functions; `selects` if a row is to come of it.
    ///
    /// # Errors
    /// 42883 if there is no such function or it has no such argument, 42809 if the table has another method,
    /// and what `ALTER TABLE` reports.
    pub(crate) fn call_extension(
        &mut self,
        name: &Path,
        args: &[CallArgument],
        selects: bool,
    ) -> Result<Work> {
        let unknown = || {
            let message = format!("function {name} does not exist");
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        };
        let function = function(name).ok_or_else(unknown)?;
        self.look()?;
        self.must_write(function.name)?;
        let (table, values) = self.extension_arguments(function, args)?;
        let lock = match function.effect {
            Effect::Set | Effect::Reset => RelationLock::ShareUpdateExclusive,
            Effect::Merge | Effect::Repack => RelationLock::Define,
        };
        self.lock(table, lock)?;
        self.look()?;
        let has_order = self.require_method(table, function)?;
        match function.effect {
            Effect::Set | Effect::Reset => self.set_parameters(table, function, values)?,
            Effect::Merge if !has_order => {
                let message = "the table has no orderby: nothing to merge";
                self.client.notice(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
            }
            Effect::Merge | Effect::Repack => self.make("", |maker| {
                maker.ddl.rewrite_rows(table, has_order)?;
                maker.see();
                maker.rewrite_rows()
            })?,
        }
        Ok(match selects {
            true => {
                let rows = VecDeque::from([vec![Datum::text("")]]);
                Work::Rows { rows, tag: Tag::rows("SELECT", 1) }
            }
            false => done("CALL"),
        })
    }

    /// Returns the table that a call names, and the other arguments that are not NULL, as texts.
    fn extension_arguments(
        &self,
        function: &Function,
        args: &[CallArgument],
    ) -> Result<(Oid, Vec<(&'static str, String)>)> {
        let (mut table, mut values) = (None, Vec::new());
        for (at, (name, value)) in args.iter().enumerate() {
            let place = match name {
                Some(name) if name.text == "table_name" => Some(0),
                Some(name) => {
                    let known = function.arguments.iter().position(|known| *known == name.text);
                    known.map(|known| known + 1)
                }
                None => Some(at),
            };
            let place = place.filter(|place| *place <= function.arguments.len());
            let place =
                place.ok_or_else(|| no_argument(function, name.as_ref().map(|n| &*n.text)))?;
            if place == 0 {
                table = match self.constant(value, "table_name", Type::REGCLASS)? {
                    Datum::Oid(oid) => Some(oid),
                    _ => None,
                };
                continue;
            }
            let name = function.arguments[place - 1];
            if let Some(value) = self.constant(value, name, Type::TEXT)?.as_text() {
                values.push((name, value.to_owned()));
            }
        }
        let table = table.ok_or_else(|| {
            let message = format!("function {} needs a table", function.name);
            Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
        })?;
        Ok((table, values))
    }

    /// Fails if a table does not have the method of a function; returns true if it has an order.
    fn require_method(&self, table: Oid, function: &Function) -> Result<bool> {
        let (method, called) = function.method;
        let relation = self.names.catalog.relation(table);
        let Some(relation) = relation else {
            let message = format!("relation with OID {table} does not exist");
            return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
        };
        let Some(data) = relation.table().filter(|data| data.method.oid == method) else {
            let message = format!("\"{}\" is not a table using {called}", relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let settings = Columnar::settings(data);
        Ok(settings.is_some_and(|settings| settings.order_text(relation).is_some()))
    }

    fn set_parameters(
        &mut self,
        table: Oid,
        function: &Function,
        values: Vec<(&'static str, String)>,
    ) -> Result<()> {
        let mut changes: Vec<(Arc<str>, Option<Arc<str>>)> = Vec::new();
        for (name, value) in values {
            if WITHOUT_EFFECT.contains(&name) {
                let message =
                    format!("\"{name}\" has no effect: indexes are used wherever they help");
                self.client.notice(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
                continue;
            }
            match function.effect {
                Effect::Set => changes.push((name.into(), Some(value.into()))),
                _ if matches!(&*value, "true" | "t" | "on") => changes.push((name.into(), None)),
                _ => {}
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.make("", |maker| Ok(maker.ddl.set_parameters(table, &changes)?))
    }
}

/// The error for an argument that a function does not have.
fn no_argument(function: &Function, named: Option<&str>) -> Error {
    let message = match named {
        Some(named) => format!("function {} has no argument named \"{named}\"", function.name),
        None => format!("function {} has too many arguments", function.name),
    };
    let known: Vec<&str> = ["table_name"].iter().chain(function.arguments).copied().collect();
    let hint = format!("Its arguments are {}.", known.join(", "));
    Error::new(SqlState::UNDEFINED_FUNCTION, message).hint(hint)
}
