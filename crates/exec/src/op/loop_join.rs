//! Nested loops: for each left row all right ones.
//!
//! The right side is computed once and kept, or, where it is lateral, computed for each left row,
//! whose values it finds in slots. A right side that is found by an index is lateral too: the range
//! of its scan is made of slots.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result};

use super::{Input, Operator, Row};
use crate::ctx::{Env, Shared};
use crate::spill::{RowStore, StorePosition};
use plan::JoinKind;

/// A join by nested loops.
pub(crate) struct LoopJoin {
    kind: JoinKind,
    left: Input,
    right: Input,
    condition: Option<Program>,
    lateral: Option<Vec<(Program, u32)>>,
    /// How many columns each side has.
    widths: (usize, usize),
    left_row: Row,
    right_row: Row,
    /// True while the rows of the right side are gone through for a left row.
    inside: bool,
    matched: bool,
    /// The rows of a right side that is the same for all.
    kept: Option<RowStore>,
    place: StorePosition,
    /// Which of them had a partner, where that matters.
    partners: Vec<bool>,
    at: usize,
    /// True when the left side has no more rows.
    left_done: bool,
}

impl LoopJoin {
    pub(crate) fn new(
        kind: JoinKind,
        left: Input,
        right: Input,
        condition: Option<Program>,
        lateral: Option<Vec<(Program, u32)>>,
        widths: (usize, usize),
    ) -> Self {
        Self {
            kind,
            left,
            right,
            condition,
            lateral,
            widths,
            left_row: Row::new(),
            right_row: Row::new(),
            inside: false,
            matched: false,
            kept: None,
            place: StorePosition::default(),
            partners: Vec::new(),
            at: 0,
            left_done: false,
        }
    }

    /// Moves to the next left row, with the right side at its beginning.
    fn next_left(&mut self, env: &Env<'_>) -> Result<bool> {
        if !self.left.next(env, &mut self.left_row)? {
            return Ok(false);
        }
        match &self.lateral {
            Some(args) => {
                for (program, slot) in args {
                    let value = env.value(program, &self.left_row)?;
                    env.shared.set_slot(*slot, value);
                }
                self.right.rewind(env.shared);
            }
            None => {
                if self.kept.is_none() {
                    self.keep_right(env)?;
                }
                self.at = 0;
            }
        }
        self.inside = true;
        self.matched = false;
        Ok(true)
    }

    fn keep_right(&mut self, env: &Env<'_>) -> Result<()> {
        let mut rows = RowStore::default();
        let mut row = Row::new();
        while self.right.next(env, &mut row)? {
            rows.push(env, std::mem::take(&mut row))?;
        }
        if self.kind.keeps_right() {
            self.partners = vec![false; rows.len()];
        }
        self.kept = Some(rows);
        Ok(())
    }

    /// The next partner of the left row: false if there is none.
    fn next_pair(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            env.tick()?;
            let right: &Row = match &self.kept {
                None => {
                    if !self.right.next(env, &mut self.right_row)? {
                        return Ok(false);
                    }
                    &self.right_row
                }
                Some(rows) => {
                    let Some(row) = rows.get(self.at, &mut self.place)? else { return Ok(false) };
                    self.at += 1;
                    row
                }
            };
            if let Some(condition) = &self.condition
                && !env.test(condition, EvalRow::Pair(&self.left_row, right))?
            {
                continue;
            }
            if let Some(partner) = self.at.checked_sub(1).and_then(|at| self.partners.get_mut(at)) {
                *partner = true;
            }
            self.matched = true;
            if self.kind.shows_right() {
                out.clear();
                out.extend_from_slice(&self.left_row);
                out.extend_from_slice(right);
            }
            return Ok(true);
        }
    }

    /// The right rows without a partner, after all others.
    fn next_alone(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.kind.keeps_right() {
            return Ok(false);
        }
        if self.kept.is_none() {
            // There were no left rows.
            self.keep_right(env)?;
            self.at = 0;
        }
        let Some(rows) = &self.kept else { return Ok(false) };
        while let Some(row) = rows.get(self.at, &mut self.place)? {
            self.at += 1;
            if !self.partners[self.at - 1] {
                out.clear();
                out.resize(self.widths.0, Datum::Null);
                out.extend_from_slice(row);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for LoopJoin {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        loop {
            if self.left_done {
                return self.next_alone(env, out);
            }
            if !self.inside && !self.next_left(env)? {
                self.left_done = true;
                self.at = 0;
                continue;
            }
            let found = self.next_pair(env, out)?;
            match self.kind {
                JoinKind::Semi | JoinKind::Anti => {
                    self.inside = false;
                    if found == (self.kind == JoinKind::Semi) {
                        std::mem::swap(out, &mut self.left_row);
                        return Ok(true);
                    }
                }
                _ if found => return Ok(true),
                kind => {
                    self.inside = false;
                    if !self.matched && kind.keeps_left() {
                        out.clear();
                        out.extend_from_slice(&self.left_row);
                        out.resize(self.widths.0 + self.widths.1, Datum::Null);
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.inside = false;
        self.left_done = false;
        if let Some(mut kept) = self.kept.take() {
            kept.clear(shared);
        }
        self.place = StorePosition::default();
        self.partners.clear();
        self.at = 0;
        self.left.rewind(shared);
        self.right.rewind(shared);
    }
}
