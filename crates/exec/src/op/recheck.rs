//! A row that another transaction has changed is tested again before it is changed or locked.

use types::{Datum, Result};

use super::{Input, Operator, Row};
use crate::build;
use crate::ctx::{Env, Shared};
use plan::Node;

/// A plan that says what becomes of one row of a table.
pub(crate) struct Recheck {
    node: Node,
    /// Built when it is needed for the first time.
    machine: Option<Input>,
}

impl Recheck {
    pub(crate) fn new(node: Node) -> Self {
        Self { node, machine: None }
    }

    /// Puts the row of the plan for a row of the table into `out`; false if it no longer fits.
    pub(crate) fn row(&mut self, env: &Env<'_>, given: Vec<Datum>, out: &mut Row) -> Result<bool> {
        if self.machine.is_none() {
            self.machine = Some(build::node(&self.node, env.types())?);
        }
        let Some(machine) = &mut self.machine else { return Ok(false) };
        *env.shared.given.borrow_mut() = given;
        let fits = machine.next(env, out)?;
        machine.rewind(env.shared);
        Ok(fits)
    }
}

/// The row that is looked at again, in the place of a scan.
#[derive(Default)]
pub(crate) struct Given {
    is_given: bool,
}

impl Operator for Given {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        let before = std::mem::replace(&mut self.is_given, true);
        if !before {
            out.clone_from(&env.shared.given.borrow());
        }
        Ok(!before)
    }

    fn rewind(&mut self, _: &Shared) {
        self.is_given = false;
    }
}
