//! Cursors: `DECLARE`, `FETCH`, `MOVE`.
//!
//! ```text
//!   rows      1   2   3   4 ┊ 5 ...        those left of the dots have been read and are kept
//!   place  0  1   2  [3]  4                0 is before the first, one more than all is behind the last
//! ```
//!
//! Rows are read when they are first wanted, and kept, so that a cursor can go back; one that is
//! declared `NO SCROLL` keeps none. A cursor `WITH HOLD` reads all of them when its transaction
//! commits.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use sql::parse::ast::{Direction, Query, Statement};
use types::time::TimestampTz;
use types::{Context, Datum, SqlState};

use crate::command::no_cursor;
use crate::error::{Error, Result};
use crate::instance::now;
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::portals::{cannot_run, no_portal};
use crate::query::INLINE_ROWS_MAX;
use crate::session::{Session, done};

/// A cursor.
pub(crate) struct Cursor {
    pub portal: Portal,
    /// The rows that were read.
    rows: Vec<Vec<Datum>>,
    /// True if there are no more.
    pub at_end: bool,
    /// The number of the row where it stands.
    place: i64,
    /// `SCROLL` or `NO SCROLL`, where the declaration has one of them.
    pub scroll: Option<bool>,
    /// True if it outlives its transaction.
    pub hold: bool,
    /// True once it has outlived its transaction.
    pub is_held: bool,
    /// When it was made.
    pub made: TimestampTz,
}

impl Cursor {
    /// A cursor that stands before the rows that its portal will give.
    fn new(portal: Portal, scroll: Option<bool>, hold: bool, made: TimestampTz) -> Self {
        let (rows, at_end, place, is_held) = (Vec::new(), false, 0, false);
        Cursor { portal, rows, at_end, place, scroll, hold, is_held, made }
    }
}

/// Keeps rows.
pub(crate) struct Taken<'a> {
    pub rows: &'a mut Vec<Vec<Datum>>,
}

impl Output for Taken<'_> {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.rows.push(row.to_vec());
        Ok(ControlFlow::Continue(()))
    }
}

impl Session {
    pub(crate) fn declare(
        &mut self,
        name: &str,
        scroll: Option<bool>,
        hold: bool,
        query: &Query,
        portal: &Portal,
    ) -> Result<Work> {
        if !hold && !self.is_block() && !portal.is_one_of_many {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        if self.cursors.contains_key(name) || self.portals.contains_key(name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        if query.changes_rows() {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.look()?;
        self.open().looked = true;
        let mut parsed = portal.parsed.clone();
        parsed.statement = Some(Arc::new(Statement::Query(Box::new(query.clone()))));
        let planned = {
            let statement_context = self.statement_context();
            let statement = parsed.statement.as_ref().expect("it was just put there");
            crate::query::plan(statement, &parsed.source, &portal.types, &statement_context)?
        };
        let params = Arc::clone(&portal.params);
        let mut portal = self.plan_portal(parsed, Arc::new(planned))?;
        portal.params = params;
        portal.number = self.next_portal();
        self.lock_planned(&mut portal)?;
        let cursor = Cursor::new(portal, scroll, hold, now(&self.client.instance.env));
        self.cursors.insert(name.to_owned(), cursor);
        Ok(done("DECLARE CURSOR"))
    }

    /// True if a cursor has not read all of its rows yet: its plan may have to wait.
    pub(crate) fn reads_on(&self, name: &str) -> bool {
        self.cursors.get(name).is_some_and(|cursor| !cursor.at_end)
    }

    /// True if cursors have rows to read before the transaction can commit.
    pub(crate) fn has_to_hold(&self) -> bool {
        self.cursors.values().any(|cursor| cursor.hold && !cursor.is_held && !cursor.at_end)
    }

    /// Reads rows until there are `wanted`, or no more.
    fn read_to(&mut self, cursor: &mut Cursor, wanted: i64) -> Result<()> {
        while !cursor.at_end && (cursor.rows.len() as i64) < wanted {
            let missing = (wanted - cursor.rows.len() as i64).unsigned_abs();
            if let Work::Plan(running) = &mut cursor.portal.work {
                let may_be_taken_back = self.inline && !running.has_given;
                running.rows_max = may_be_taken_back.then_some(INLINE_ROWS_MAX);
            }
            let mut out = Taken { rows: &mut cursor.rows };
            // 0 would mean all, which is what the largest number wants too.
            let count = if wanted == i64::MAX { 0 } else { missing };
            let done = self.run_plan(&mut cursor.portal, count, &mut out);
            if let (Err(_), Work::Plan(running)) = (&done, &mut cursor.portal.work)
                && !running.has_given
            {
                running.restart();
                cursor.portal.rows = 0;
                cursor.rows.clear();
            }
            if done.as_ref().is_err_and(|error| error.cause.retry_reason().is_none()) {
                cursor.portal.has_failed = true;
            }
            cursor.at_end = matches!(done?, Done::Complete(_));
        }
        Ok(())
    }

    pub(crate) fn fetch(&mut self, name: &str, direction: Direction, moves: bool) -> Result<Work> {
        let mut cursor = match self.portals.remove(name) {
            // A portal that the protocol has bound is a cursor like any other.
            Some(portal) if matches!(portal.work, Work::Plan(_)) && !portal.has_failed => {
                Cursor::new(portal, Some(false), false, now(&self.client.instance.env))
            }
            Some(portal) => {
                self.portals.insert(name.to_owned(), portal);
                return Err(no_cursor(name));
            }
            None => self.cursors.remove(name).ok_or_else(|| no_cursor(name))?,
        };
        if cursor.portal.has_failed {
            self.cursors.insert(name.to_owned(), cursor);
            return Err(cannot_run(name));
        }
        let found = self.fetch_from(&mut cursor, direction, moves);
        self.cursors.insert(name.to_owned(), cursor);
        let rows = found?;
        let count = rows.len() as u64;
        if moves {
            return Ok(Work::Done(Tag::rows("MOVE", count)));
        }
        Ok(Work::Rows { rows, tag: Tag::rows("FETCH", count) })
    }

    /// Runs a cursor as a portal: what is left of it, `rows_max` rows at a time.
    pub(crate) fn execute_cursor(
        &mut self,
        name: &str,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        let mut cursor = self.cursors.remove(name).ok_or_else(|| no_portal(name))?;
        if cursor.portal.has_failed {
            self.cursors.insert(name.to_owned(), cursor);
            return Err(cannot_run(name));
        }
        let count = if rows_max == 0 { u64::MAX } else { rows_max };
        let found = self.fetch_from(
            &mut cursor,
            Direction::Forward(count.min(i64::MAX as u64) as i64),
            false,
        );
        let columns = cursor.portal.columns.clone().unwrap_or_default();
        self.cursors.insert(name.to_owned(), cursor);
        let rows = found?;
        let statement_context = self.statement_context();
        for row in &rows {
            // Rows before the cursor cannot be given again: the output takes all of them.
            let _ = out.row(row, &columns, &statement_context.types())?;
        }
        Ok(match rows.len() as u64 == count {
            true => Done::Suspended,
            false => Done::Complete(Tag::rows("SELECT", rows.len() as u64)),
        })
    }

    fn fetch_from(
        &mut self,
        cursor: &mut Cursor,
        direction: Direction,
        moves: bool,
    ) -> Result<VecDeque<Vec<Datum>>> {
        let here = cursor.place;
        if cursor.scroll == Some(false) && needs_scroll(cursor, direction, moves) {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cursor can only scan forward",
            )
            .hint("Declare it with SCROLL option to enable backward scan."));
        }
        // The first and the last row wanted, in the order of the rows; and whether it goes back.
        let (first, last, back, stop) = match direction {
            Direction::Forward(0) | Direction::Backward(0) | Direction::Relative(0) => {
                (here, here, false, here)
            }
            Direction::Forward(count) if count > 0 => {
                (here + 1, here.saturating_add(count), false, here.saturating_add(count))
            }
            Direction::Backward(count) if count < 0 => {
                let count = count.saturating_neg();
                (here + 1, here.saturating_add(count), false, here.saturating_add(count))
            }
            Direction::Forward(count) | Direction::Backward(count) => {
                let count = count.checked_abs().unwrap_or(i64::MAX);
                let low = here.saturating_sub(count);
                (low.max(1), here - 1, true, low.max(0))
            }
            Direction::Relative(step) => {
                let at = here.saturating_add(step);
                (at, at, step < 0, at.max(0))
            }
            Direction::Absolute(at) if at >= 0 => (at, at, at < here, at),
            Direction::Absolute(from_end) => {
                self.read_to(cursor, i64::MAX)?;
                let at = cursor.rows.len() as i64 + 1 + from_end;
                (at, at, at < here, at.max(0))
            }
        };
        self.read_to(cursor, last.max(stop))?;
        let all = cursor.rows.len() as i64;
        let mut rows = VecDeque::new();
        for number in first.max(1)..=last.min(all) {
            let row = cursor.rows[(number - 1) as usize].clone();
            if back && first != last { rows.push_front(row) } else { rows.push_back(row) }
        }
        cursor.place = stop.min(all + 1);
        if cursor.scroll == Some(false) {
            // Rows before the cursor will not be asked for: only their number counts.
            let behind = cursor.place.clamp(0, all) as usize;
            cursor.rows[..behind].iter_mut().for_each(Vec::clear);
        }
        Ok(rows)
    }

    /// Reads what cursors hold beyond the transaction, which is about to commit; the others end.
    pub(crate) fn hold_cursors(&mut self) -> Result<()> {
        // A commit that no statement asked for cannot be taken back to be run elsewhere.
        let inline = self.inline;
        self.set_inline(false);
        let held = self.hold_all();
        self.set_inline(inline);
        held
    }

    fn hold_all(&mut self) -> Result<()> {
        for (name, mut cursor) in std::mem::take(&mut self.cursors) {
            if cursor.hold {
                if !cursor.is_held {
                    self.read_to(&mut cursor, i64::MAX)?;
                    cursor.is_held = true;
                }
                self.cursors.insert(name, cursor);
            }
        }
        Ok(())
    }
}

/// True if a step goes back to a row, or gives the row again at which the cursor stands.
fn needs_scroll(cursor: &Cursor, direction: Direction, moves: bool) -> bool {
    let here = cursor.place;
    match direction {
        Direction::Forward(0) | Direction::Backward(0) | Direction::Relative(0) => {
            !moves && (1..=cursor.rows.len() as i64).contains(&here)
        }
        Direction::Forward(count) | Direction::Relative(count) => count < 0,
        Direction::Backward(count) => count > 0,
        Direction::Absolute(at) => at < 0 || (here > 0 && at <= here),
    }
}
