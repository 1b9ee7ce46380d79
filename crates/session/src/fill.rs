//! The rows of a query as the rows of a table: `CREATE TABLE AS`, materialized views.

use std::sync::Arc;

use table::rows::{Change, LOAD_BYTES_MIN, Table};
use types::{Datum, Oid, SqlState};

use crate::client::StatementContext;
use crate::cursor::Taken;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::portal::Done;
use crate::query::{Planned, gone};
use crate::session::Session;
use crate::statement::Parsed;

/// How many rows are read together for a table that is made of them.
const FILL_ROWS: u64 = 1_024;

/// A function that takes the next rows of a query, and true with the last of them.
type TakeRows<'f> = dyn FnMut(&mut Session, &mut Vec<Vec<Datum>>, bool) -> Result<()> + 'f;

impl Session {
    /// Runs a plan and gives its rows to `each`, some at a time, and true with the last of them. Rows that
    /// `each` leaves come again with the next.
    pub(crate) fn each_piece(
        &mut self,
        parsed: Parsed,
        planned: Arc<Planned>,
        params: &Arc<[Datum]>,
        each: &mut TakeRows<'_>,
    ) -> Result<()> {
        let mut portal = self.plan_portal(parsed, planned)?;
        portal.params = Arc::clone(params);
        let mut rows = Vec::new();
        loop {
            let done = self.run_plan(&mut portal, FILL_ROWS, &mut Taken { rows: &mut rows })?;
            let is_last = matches!(done, Done::Complete(_));
            each(self, &mut rows, is_last)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Does something to rows of a table, apart from a plan.
    pub(crate) fn change_rows<R>(
        &mut self,
        f: impl FnOnce(&mut Change<'_>) -> table::Result<R>,
    ) -> Result<R> {
        let names = Arc::clone(&self.names);
        let open = self.transaction.as_mut().ok_or_else(gone)?;
        let txn = open.inner.as_mut().ok_or_else(gone)?;
        let around = StatementContext::of(&self.client, &names, open.started);
        let evaluator = Evaluator::new(&around, &names);
        let mut values = evaluator.values();
        open.checks.set_catalog(Arc::clone(&names.catalog));
        let mut change = Change { txn, values: &mut values, checks: &mut open.checks };
        Ok(f(&mut change)?)
    }

    /// The handle of a table.
    pub(crate) fn handle_of(&self, table: Oid) -> Result<Arc<Table>> {
        let handles = &self.client.instance.handles;
        handles.table(&self.names.catalog, table).ok_or_else(|| {
            let message = format!("table with OID {table} does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// Puts the rows of a plan, which have a value for each column, into a table whose storage is new;
    /// how many they are. Many are loaded.
    pub(crate) fn fill(
        &mut self,
        table: Oid,
        parsed: Parsed,
        planned: Arc<Planned>,
        params: &Arc<[Datum]>,
    ) -> Result<u64> {
        let (mut load, mut is_begun, mut count) = (None, false, 0);
        self.each_piece(parsed, planned, params, &mut |session, rows, is_last| {
            let bytes = || rows.iter().map(|row| exec::row_bytes(row)).sum::<usize>();
            let is_large = !is_begun && bytes() >= LOAD_BYTES_MIN;
            if !(is_begun || is_large || is_last) {
                return Ok(());
            }
            let found = session.handle_of(table)?;
            session.change_rows(|change| {
                if !is_begun {
                    load = found.load(change.txn, is_large)?;
                }
                is_begun = true;
                count += rows.len() as u64;
                for row in rows.drain(..) {
                    match &mut load {
                        Some(load) => load.insert(change, &row)?,
                        None => drop(found.insert(change, &row)?),
                    };
                }
                if is_last {
                    if let Some(load) = load.take() {
                        load.finish(change)?;
                    }
                    change.checks.end_statement(change.txn, change.values)?;
                    change.txn.note_rows(found.storage(), count as i64);
                }
                Ok(())
            })
        })?;
        self.client.count_inserted(table, count);
        Ok(count)
    }
}
