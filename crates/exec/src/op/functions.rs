//! Functions as a table: their rows side by side, the shorter ones filled with NULL.

use sql::eval::{Program, Row as EvalRow, SetProgram};
use types::{Datum, Result};

use super::{Operator, Row};
use crate::ctx::{Env, Shared};

/// A function in `FROM`.
pub(crate) enum Function {
    /// A function that gives a set.
    Set(SetProgram),
    /// A function that gives a value, which is one row.
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
            let found = open.as_mut().map_or(Ok(false), |rows| rows.next_columns(*width, out))?;
            any |= found;
            if !found {
                *open = None;
                out.resize(out.len() + width, Datum::Null);
            }
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
