//! Control: blocks, conditions and loops.

use sql::parse::plpgsql::{Block, FOUND, Fragment, Line, Step, Target};
use types::{Datum, Modifier, SqlState, Type};

use super::values::Slot;
use super::{LEVELS_MAX, Runner, Tried, Typed, place, with_context};
use crate::error::{Error, Result, caught};

/// The control flow after a statement.
pub(super) enum Flow<'r> {
    /// The next one.
    Next,
    /// Goes on after the loop or block with this label, or the innermost loop.
    Exit(Option<&'r str>),
    /// The next turn of the loop.
    Continue(Option<&'r str>),
    /// Nothing.
    Return,
}

/// The control flow of a loop after a turn.
enum Turn<'r> {
    Again,
    Over,
    Leave(Flow<'r>),
}

impl<'r> Flow<'r> {
    /// The effect on a loop with this label.
    fn in_loop(self, label: Option<&str>) -> Turn<'r> {
        match self {
            Flow::Next | Flow::Continue(None) => Turn::Again,
            Flow::Exit(None) => Turn::Over,
            Flow::Continue(Some(to)) if Some(to) == label => Turn::Again,
            Flow::Exit(Some(to)) if Some(to) == label => Turn::Over,
            flow => Turn::Leave(flow),
        }
    }
}

impl<'r> Runner<'r> {
    /// Runs the code.
    pub(super) fn run(&mut self) -> Result<()> {
        let code = self.code;
        self.block(&code.body).map(drop).map_err(|failure| failure.error)
    }

    /// Runs statements one after the other.
    pub(super) fn lines(&mut self, lines: &'r [Line]) -> Tried<Flow<'r>> {
        let levels = self.session.client.blocks_levels.get();
        if levels == LEVELS_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).into());
        }
        self.session.client.blocks_levels.set(levels + 1);
        let mut ran = Ok(Flow::Next);
        for line in lines {
            ran = self.line(line);
            if !matches!(ran, Ok(Flow::Next)) {
                break;
            }
        }
        self.session.client.blocks_levels.set(levels);
        ran
    }

    fn line(&mut self, line: &'r Line) -> Tried<Flow<'r>> {
        self.line = line.number;
        caught(|| self.step(&line.step)).map_err(|mut failure| {
            if !failure.is_placed {
                let line = place(line.number, &format!("at {}", line.step.words()));
                failure.error = with_context(failure.error, &line);
                failure.is_placed = true;
            }
            failure
        })
    }

    fn step(&mut self, step: &'r Step) -> Tried<Flow<'r>> {
        match step {
            Step::Block(block) => return self.block(block),
            Step::Assign { target, part, value } => self.assign_fragment(target, part, value)?,
            Step::Sql(sql, into) => self.sql(sql, into.as_ref())?,
            Step::Perform(query) => self.perform(query)?,
            Step::If(arms, otherwise) => {
                for (condition, body) in arms {
                    if self.is_true(condition)? {
                        return self.lines(body);
                    }
                }
                return self.lines(otherwise);
            }
            Step::Case { operand, arms, otherwise } => {
                if let Some((variable, value)) = operand {
                    let value = self.value(value)?;
                    self.assign(&Target { variable: *variable, field: None }, value)?;
                }
                for (condition, body) in arms {
                    if self.is_true(condition)? {
                        return self.lines(body);
                    }
                }
                let Some(otherwise) = otherwise else {
                    let error = Error::new(SqlState::CASE_NOT_FOUND, "case not found");
                    return Err(error.hint("CASE statement is missing ELSE part.").into());
                };
                return self.lines(otherwise);
            }
            Step::Loop(label, body) => loop {
                match self.turn(label.as_deref(), body)? {
                    Turn::Again => {}
                    Turn::Over => return Ok(Flow::Next),
                    Turn::Leave(flow) => return Ok(flow),
                }
            },
            Step::While(label, condition, body) => {
                while self.is_true(condition)? {
                    match self.turn(label.as_deref(), body)? {
                        Turn::Again => {}
                        Turn::Over => break,
                        Turn::Leave(flow) => return Ok(flow),
                    }
                }
            }
            Step::Count { .. } => return self.count(step),
            Step::Rows(label, targets, query, body) => {
                let rows = self.rows_of(query)?;
                return self.each_row(label.as_deref(), targets, rows, body);
            }
            Step::Dynamic(label, targets, execute, body) => {
                let rows = self.rows_of_text(execute)?;
                return self.each_row(label.as_deref(), targets, rows, body);
            }
            Step::Each { label, target, slice, array, body } => {
                return self.each(label.as_deref(), (target, *slice), array, body);
            }
            Step::Leave(exit, label, condition) => {
                if let Some(condition) = condition
                    && !self.is_true(condition)?
                {
                    return Ok(Flow::Next);
                }
                let label = label.as_deref();
                return Ok(if *exit { Flow::Exit(label) } else { Flow::Continue(label) });
            }
            Step::Return => return Ok(Flow::Return),
            Step::Nothing => {}
            Step::Raise(raise) => self.raise(raise)?,
            Step::Assert(condition, message) => self.assert(condition, message.as_deref())?,
            Step::Execute(execute) => self.execute(execute)?,
            Step::Diagnostics(stacked, items) => self.diagnostics(*stacked, items)?,
            Step::End(commits, chain) => self.end_transaction(*commits, *chain)?,
        }
        Ok(Flow::Next)
    }

    /// One turn of a loop.
    fn turn(&mut self, label: Option<&str>, body: &'r [Line]) -> Tried<Turn<'r>> {
        interrupt::check().map_err(types::Error::from)?;
        Ok(self.lines(body)?.in_loop(label))
    }

    /// A block: its variables begin anew, and its handlers see its errors.
    pub(super) fn block(&mut self, block: &'r Block) -> Tried<Flow<'r>> {
        for number in &block.variables {
            self.begin_variable(*number)?;
        }
        let flow = match &block.handlers {
            None => self.lines(&block.body)?,
            Some(handlers) => self.guarded(&block.body, handlers)?,
        };
        Ok(match flow {
            Flow::Exit(Some(to)) if Some(to) == block.label.as_deref() => Flow::Next,
            flow => flow,
        })
    }

    fn begin_variable(&mut self, number: usize) -> Tried<()> {
        let code = self.code;
        let variable = &code.variables[number];
        self.values.clear(number);
        let target = Target { variable: number, field: None };
        let begun = match &variable.default {
            Some(default) => self.value(default).and_then(|value| self.assign(&target, value)),
            None => self.check_domain(number),
        };
        begun.map_err(|mut failure| {
            let words = "during statement block local variable initialization";
            failure.error = with_context(failure.error, &place(variable.line, words));
            failure.is_placed = true;
            failure
        })
    }

    /// A variable of a domain begins with NULL, which the domain may refuse.
    fn check_domain(&mut self, number: usize) -> Tried<()> {
        if let Slot::Scalar(ty, modifier, value) = &self.values.slots[number]
            && !ty.is_builtin()
        {
            let (ty, modifier, value) = (*ty, *modifier, value.clone());
            self.cast(Typed { value, ty, modifier }, ty, modifier)?;
        }
        Ok(())
    }

    /// Says whether the last statement has found rows.
    pub(super) fn set_found(&mut self, found: bool) {
        self.values.slots[FOUND] = Slot::Scalar(Type::BOOL, Modifier::NONE, Datum::Bool(found));
    }

    /// `FOR i IN a..b`
    fn count(&mut self, step: &'r Step) -> Tried<Flow<'r>> {
        let Step::Count { label, variable, reverse, bounds, by, body } = step else {
            return Ok(Flow::Next);
        };
        let mut at = i64::from(self.bound(&bounds.0, "lower bound")?);
        let end = i64::from(self.bound(&bounds.1, "upper bound")?);
        let by = match by {
            Some(by) => i64::from(self.bound(by, "BY value")?),
            None => 1,
        };
        if by <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).into());
        }
        let mut found = false;
        let mut after = Flow::Next;
        while if *reverse { at >= end } else { at <= end } {
            found = true;
            let Ok(value) = i32::try_from(at) else { break };
            let value = Datum::Int4(value);
            self.values.slots[*variable] = Slot::Scalar(Type::INT4, Modifier::NONE, value);
            match self.turn(label.as_deref(), body)? {
                Turn::Again => {}
                Turn::Over => break,
                Turn::Leave(flow) => {
                    after = flow;
                    break;
                }
            }
            at = if *reverse { at - by } else { at + by };
        }
        self.set_found(found);
        Ok(after)
    }

    fn bound(&mut self, fragment: &Fragment, what: &str) -> Tried<i32> {
        match self.value_as(fragment, Type::INT4)? {
            Datum::Int4(value) => Ok(value),
            _ => {
                let message = format!("{what} of FOR loop cannot be null");
                Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into())
            }
        }
    }

    /// A loop over rows.
    fn each_row(
        &mut self,
        label: Option<&str>,
        targets: &[Target],
        mut rows: super::statements::Rows,
        body: &'r [Line],
    ) -> Tried<Flow<'r>> {
        let mut found = false;
        let mut after = Flow::Next;
        while let Some(row) = rows.next_row()? {
            found = true;
            self.assign_row(targets, &rows.columns, Some(row))?;
            match self.turn(label, body)? {
                Turn::Again => {}
                Turn::Over => break,
                Turn::Leave(flow) => {
                    after = flow;
                    break;
                }
            }
        }
        if !found {
            self.assign_row(targets, &rows.columns, None)?;
        }
        self.set_found(found);
        Ok(after)
    }

    /// `FOREACH x IN ARRAY a`
    fn each(
        &mut self,
        label: Option<&str>,
        (target, slice): (&Target, u32),
        array: &Fragment,
        body: &'r [Line],
    ) -> Tried<Flow<'r>> {
        if slice > 0 {
            return Err(Error::not_supported("SLICE of FOREACH").into());
        }
        let value = self.value(array)?;
        if value.value.is_null() {
            let message = "FOREACH expression must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
        }
        let names = std::sync::Arc::clone(&self.session.names);
        let facts = scalar::facts::Facts(&*names);
        let element = facts.element(facts.base(value.ty));
        let (Some(element), Datum::Array(array)) = (element, &value.value) else {
            let name = types::format_type(&*names, value.ty, Modifier::NONE);
            let message = format!("FOREACH expression must yield an array, not type {name}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).into());
        };
        let mut found = false;
        let mut after = Flow::Next;
        for at in 0..array.as_ref().len() {
            found = true;
            let one = array.as_ref().get(at).map_or(Datum::Null, |value| value.to_owned());
            self.assign(target, Typed { value: one, ty: element, modifier: value.modifier })?;
            match self.turn(label, body)? {
                Turn::Again => {}
                Turn::Over => break,
                Turn::Leave(flow) => {
                    after = flow;
                    break;
                }
            }
        }
        self.set_found(found);
        Ok(after)
    }
}
