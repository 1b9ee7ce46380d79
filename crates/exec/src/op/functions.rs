//! Functions as a table: their rows side by side, the shorter ones filled with NULL.

use sql::eval::{Program, Row as EvalRow, SetProgram};
use types::{Datum, Result};

use super::{Operator, Row};
use crate::ctx::{Env, Shared};

/// A function in `FROM`.
pub(crate) enum Function {
    /// One that gives a set.
    Set(SetProgram),
    /// One that gives a value, which is one row.
    Value(Program),
}

/// The rows of functions.
pub(crate) struct Functions {
    functions: Vec<(Function, usize)>,
    ordinality: bool,
    open: Option<Vec<Option<scalar::Rows>>>,
    number: i64,
}

impl Functions {
    pub(crate) fn new(functions: Vec<(Function, usize)>, ordinality: bool) -> Self {
        Self { functions, ordinality, open: None, number: 0 }
    }

    fn start(&self, env: &Env<'_>) -> Result<Vec<Option<scalar::Rows>>> {
        let open = self.functions.iter().map(|(function, _)| {
            Ok(Some(match function {
                Function::Set(set) => set.rows(EvalRow::NONE, env.ctx.frame, env)?,
                Function::Value(program) => {
                    Box::new(std::iter::once(Ok(env.value(program, EvalRow::NONE)?)))
                }
            }))
        });
        open.collect()
    }
}

impl Operator for Functions {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        env.tick()?;
        if self.open.is_none() {
            self.open = Some(self.start(env)?);
        }
        out.clear();
        let mut any = false;
        for (open, (_, width)) in self.open.iter_mut().flatten().zip(&self.functions) {
            let value = open.as_mut().and_then(Iterator::next).transpose()?;
            any |= value.is_some();
            if value.is_none() {
                *open = None;
            }
            spread(value.unwrap_or_default(), *width, out);
        }
        self.number += 1;
        if self.ordinality {
            out.push(Datum::Int8(self.number));
        }
        Ok(any)
    }

    fn rewind(&mut self, _: &Shared) {
        self.open = None;
        self.number = 0;
    }
}

/// The columns of a value: the fields of a record where there is more than one.
fn spread(value: Datum, width: usize, out: &mut Row) {
    match value {
        Datum::Record(record) if width != 1 || record.as_ref().len() == 1 => {
            let before = out.len();
            out.extend(record.as_ref().iter().take(width).map(|(_, _, field)| field.to_owned()));
            out.resize(before + width, Datum::Null);
        }
        value if width == 1 => out.push(value),
        _ => out.resize(out.len() + width, Datum::Null),
    }
}
