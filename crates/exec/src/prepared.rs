//! A prepared plan and its executions.
//!
//! ```text
//!   Prepared ── plan
//!            ── machines that rest      Prepared::start ──> Run takes one, or has one built
//!                                       the end of a Run  ──> it goes back
//! ```
//!
//! A machine belongs to one execution at a time, so nothing in it is locked or shared; sessions that
//! run the same statement at the same time have one each.

use std::sync::{Arc, Mutex, PoisonError};

use plan::{Plan, Schema, Wishes, explain};
use sql::bind::Names;
use sql::plan::{self as bound, Column};
use types::{Context, Datum, Oid, Result};

use crate::build::Machine;
use crate::ctx::{Ctx, Env};
use crate::op::constant::compute;

/// How many machines rest.
const RESTING_MAX: usize = 16;

/// A plan that can be run any number of times, by any number of sessions at once.
pub struct Prepared {
    plan: Plan,
    locks_rows: bool,
    holds_rows: bool,
    calls_server: bool,
    changed: Vec<Oid>,
    locked: Vec<Oid>,
    resting: Mutex<Vec<Machine>>,
}

impl Prepared {
    /// Prepares a bound plan, which holds as long as the catalog that it was bound with.
    ///
    /// # Errors
    /// `0A000` for what cannot be run.
    pub fn new(
        plan: bound::Plan,
        names: &dyn Names,
        context: Context<'_>,
        schema: &dyn Schema,
        wishes: Wishes<'_>,
    ) -> Result<Arc<Self>> {
        let mut plan = plan::plan(plan, names, context, schema, wishes)?;
        let machine = Machine::new(&plan, names)?;
        let (locks_rows, holds_rows) = (plan.locks_rows(), plan.holds_rows());
        let calls_server = plan.calls_server();
        let (changed, locked) = plan.tables_held();
        let (changed, locked) = (changed.into_iter().collect(), locked.into_iter().collect());
        let resting = Mutex::new(vec![machine]);
        Ok(Arc::new(Self { plan, locks_rows, holds_rows, calls_server, changed, locked, resting }))
    }

    /// The columns of the rows.
    pub fn columns(&self) -> &[Column] {
        &self.plan.columns
    }

    /// The plan as it is run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// True if rows that are read are locked.
    pub fn locks_rows(&self) -> bool {
        self.locks_rows
    }

    /// True if an operator holds rows, or several threads may compute it: how much memory and which threads it may use
    /// matters then.
    pub fn holds_rows(&self) -> bool {
        self.holds_rows
    }

    /// True if a function is called that [`scalar::Eval::Server`] stands for: its computation may
    /// have to wait for something.
    pub fn calls_server(&self) -> bool {
        self.calls_server
    }

    /// True if another plan might be better for some values of its parameters.
    pub fn wants_values(&self) -> bool {
        self.plan.wants_values
    }

    /// The tables whose rows are changed.
    pub fn changed(&self) -> &[Oid] {
        &self.changed
    }

    /// Where rows are locked, the tables that are read.
    pub fn locked(&self) -> &[Oid] {
        &self.locked
    }

    /// The plan as indented text.
    pub fn explain(&self) -> String {
        explain::explain(&self.plan)
    }

    /// The plan as PostgreSQL shows it.
    pub fn tree(&self, context: &explain::tree::ExplainContext<'_>) -> explain::tree::Entry {
        explain::tree::tree(&self.plan, context)
    }

    /// Begins an execution.
    pub fn start(self: &Arc<Self>) -> Run {
        let machine = self.resting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        self.run(machine, false)
    }

    /// Begins an execution whose operators are looked at: see [`Run::observed`].
    pub fn start_probed(self: &Arc<Self>) -> Run {
        self.run(None, true)
    }

    fn run(self: &Arc<Self>, machine: Option<Machine>, is_probed: bool) -> Run {
        Run {
            prepared: Arc::clone(self),
            machine,
            is_sound: true,
            is_probed,
            is_started: false,
            is_under_way: false,
            rows_changed: 0,
        }
    }
}

/// One execution of a plan.
pub struct Run {
    prepared: Arc<Prepared>,
    /// None before the first row, where none was resting, and after an error.
    machine: Option<Machine>,
    is_sound: bool,
    is_probed: bool,
    /// True if constants have been computed.
    is_started: bool,
    /// True if that went well.
    is_under_way: bool,
    rows_changed: u64,
}

impl Run {
    /// Puts the next row into `out`; false if there is none, after which it is not called again.
    ///
    /// # Errors
    /// The errors of the expressions; `57014` where the statement is canceled, `53200` where it needs
    /// too much memory. The execution is over then.
    pub fn next(&mut self, ctx: &mut Ctx<'_>, out: &mut Vec<Datum>) -> Result<bool> {
        if self.machine.is_none() {
            let make = if self.is_probed { Machine::probed } else { Machine::new };
            self.machine = Some(make(&self.prepared.plan, ctx.frame.context.types.types)?);
        }
        let Some(machine) = &mut self.machine else { return Ok(false) };
        let env = Env { ctx: *ctx, shared: &machine.shared };
        if !self.is_started {
            self.is_started = true;
            let mut constants = machine.constants.iter();
            let computed = constants.try_for_each(|constant| compute(constant, &env).map(drop));
            self.is_sound &= computed.is_ok();
            computed?;
            self.is_under_way = true;
        }
        let more = machine.root.next(&env, out);
        self.is_sound &= more.is_ok();
        self.rows_changed = machine.shared.rows_changed.get();
        more
    }

    /// True once rows are asked for: constants have been computed before.
    pub fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// The observed counts of the operators so far; nothing where they are not probed.
    pub fn observed(&self) -> explain::tree::Observed {
        self.machine.as_ref().map(Machine::observed).unwrap_or_default()
    }

    /// How many rows of tables have been changed by the outermost change so far.
    pub fn rows_changed(&self) -> u64 {
        self.rows_changed
    }

    /// The plan that is run.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A machine that failed may be left in any state: it is not used again.
        let Some(mut machine) = self.machine.take().filter(|_| self.is_sound && !self.is_probed)
        else {
            return;
        };
        machine.root.rewind(&machine.shared);
        machine.shared.clear();
        let mut resting = self.prepared.resting.lock().unwrap_or_else(PoisonError::into_inner);
        if resting.len() < RESTING_MAX {
            resting.push(machine);
        }
    }
}
