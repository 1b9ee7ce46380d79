//! From plans to machines: every operator with its programs and buffers, ready to be run.

mod aggregate;
mod batches;
mod modify;
mod scan;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::iter;

use scalar::facts::Facts;
use sql::eval::{Program, SetProgram};
use sql::plan::{self as bound, Expr};
use types::{Error, KeyOrder, Result, SqlState, TypeSource};

use self::batches::Pieces;
use crate::ctx::Shared;
use crate::op::Input;
use crate::op::aggregate::Aggregate;
use crate::op::basic::{Filter, Project, ProjectSet, Values};
use crate::op::depends::Depends;
use crate::op::distinct::{Distinct, DistinctOn};
use crate::op::functions::{Function, Functions};
use crate::op::grouped::Grouped;
use crate::op::hash_join::{HashJoin, Side};
use crate::op::limit::Limit;
use crate::op::lock::{Lock, LockRows};
use crate::op::loop_join::LoopJoin;

use crate::op::probe::Probe;
use crate::op::recheck::{Given, Recheck};
use crate::op::set::SetOperation;
use crate::op::sort::{self, Sort, SortKey};
use crate::op::subplan::{self, Subplan};
use crate::op::window::Window;
use crate::op::with::{CteScan, Recursive, Run, Source, With, WorkTable};
use plan::explain::operator_stats::OperatorStats;
use plan::explain::tree::Observed;
use plan::{self, Body, Constant, Join, Kind, Link, Node, Plan, Reads, Table};

/// A plan with everything that is needed to run it, once at a time.
pub(crate) struct Machine {
    pub(crate) root: Input,
    pub(crate) shared: Shared,
    /// The constants that each execution computes first.
    pub(crate) constants: Vec<Constant<Program>>,
    /// The positions of the operators among the observed counts, by the operators' addresses.
    probes: HashMap<usize, usize>,
}

impl Machine {
    /// The machine for a plan.
    ///
    /// # Errors
    /// `0A000` for expressions that cannot be computed.
    pub(crate) fn new(plan: &Plan, types: &dyn TypeSource) -> Result<Self> {
        Self::build(plan, types, None)
    }

    /// The machine for a plan whose operators are measured, as `EXPLAIN ANALYZE` does.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub(crate) fn probed(plan: &Plan, types: &dyn TypeSource) -> Result<Self> {
        Self::build(plan, types, Some(HashMap::new()))
    }

    /// The observed counts of the operators, by their addresses.
    pub(crate) fn observed(&self) -> Observed {
        let seen = self.shared.seen.borrow();
        self.probes.iter().map(|(address, at)| (*address, seen[*at])).collect()
    }

    fn build(
        plan: &Plan,
        types: &dyn TypeSource,
        probes: Option<HashMap<usize, usize>>,
    ) -> Result<Self> {
        let mut builder =
            Builder { plan, types, sources: Vec::new(), probes, kept: Some(Cell::new(0)) };
        let root = builder.node(&plan.root)?;
        let subplans = (0..plan.subplans.len())
            .map(|number| builder.subplan(number))
            .collect::<Result<_>>()?;
        let constants = plan
            .constants
            .iter()
            .map(|constant| constant.map(&mut |expr| Program::compile(expr, types)));
        let constants = constants.collect::<Result<_>>()?;
        let shared = Shared::new(
            plan.slots,
            builder.kept.as_ref().map_or(0, Cell::get),
            subplans,
            plan.tables,
        );
        for (table, source, depends) in builder.sources {
            shared.ctes[table as usize].borrow_mut().set(source, depends);
        }
        let probes = builder.probes.unwrap_or_default();
        shared.seen.borrow_mut().resize(probes.len(), OperatorStats::default());
        Ok(Self { root, shared, constants, probes })
    }
}

/// The machine of a part of a plan that has no subplans and tables of its own.
///
/// # Errors
/// As [`Machine::new`].
pub(crate) fn node(node: &Node, types: &dyn TypeSource) -> Result<Input> {
    let plan = Plan {
        root: Node { kind: Kind::Given, types: Vec::new() },
        subplans: Vec::new(),
        slots: 0,
        tables: 0,
        columns: Vec::new(),
        constants: Vec::new(),
        wants_values: false,
    };
    // The part runs within another plan, which keeps its own values.
    Builder { plan: &plan, types, sources: Vec::new(), probes: None, kept: None }.node(node)
}

struct Builder<'a> {
    plan: &'a Plan,
    types: &'a dyn TypeSource,
    sources: Vec<(u32, Source, Depends)>,
    /// The probes so far; `None` if operators are not measured.
    probes: Option<HashMap<usize, usize>>,
    /// How many kept values there are, each the same for all rows; `None` if no values are to be kept.
    kept: Option<Cell<u32>>,
}

/// So many rows of `VALUES` may be worth loading.
const VALUES_MANY: usize = 1_000;

fn internal(message: impl Into<String>) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, message)
}

impl Builder<'_> {
    /// The program of an expression. Its parts that need no row are computed once.
    fn program(&self, expr: &Expr) -> Result<Program> {
        let expr = match &self.kept {
            Some(kept) => {
                let mut number = kept.get();
                let expr = plan::with_known_once(expr, &mut number);
                kept.set(number);
                expr
            }
            None => Cow::Borrowed(expr),
        };
        Program::compile(&expr, self.types)
    }

    fn maybe(&self, expr: Option<&Expr>) -> Result<Option<Program>> {
        expr.map(|expr| self.program(expr)).transpose()
    }

    fn programs(&self, exprs: &[Expr]) -> Result<Vec<Program>> {
        exprs.iter().map(|expr| self.program(expr)).collect()
    }

    fn sort_keys(&self, keys: &[bound::SortKey]) -> Result<Vec<SortKey>> {
        let key = |key: &bound::SortKey| {
            let order =
                KeyOrder { is_descending: key.descending, has_nulls_first: key.nulls_first };
            Ok(SortKey { program: self.program(&key.expr)?, order })
        };
        keys.iter().map(key).collect()
    }

    fn node(&mut self, node: &Node) -> Result<Input> {
        let input = self.operator(node)?;
        Ok(self.looked_at(node, input))
    }

    fn looked_at(&mut self, node: &Node, input: Input) -> Input {
        let Some(probes) = &mut self.probes else { return input };
        let at = probes.len();
        probes.insert(std::ptr::from_ref(node).addr(), at);
        Box::new(Probe::new(input, at))
    }

    fn operator(&mut self, node: &Node) -> Result<Input> {
        Ok(match &node.kind {
            Kind::Values(rows) => {
                let rows = rows.iter().map(|row| self.programs(row));
                Box::new(Values::new(rows.collect::<Result<_>>()?))
            }
            Kind::Scan(scan) if scan.in_batches => {
                let (columns, condition) = self.columns_of_scan(scan, &node.types);
                let input = Box::new(self.scan(scan, &node.types)?.leaving_condition());
                let pieces = Pieces { input, columns, condition };
                Box::new(self.batch_project(pieces, &node.columns())?)
            }
            Kind::Scan(scan) => Box::new(self.scan(scan, &node.types)?),
            Kind::Append(append) => Box::new(self.append(append, false)?),
            Kind::Given => Box::new(Given::default()),
            Kind::Functions { functions, ordinality, .. } => {
                let functions = functions.iter().map(|(expr, width)| {
                    Ok(match SetProgram::compile(expr, self.types)? {
                        Some(set) => (Function::Set(set), *width),
                        None => (Function::Value(self.program(expr)?), *width),
                    })
                });
                Box::new(Functions::new(functions.collect::<Result<_>>()?, *ordinality))
            }
            Kind::Filter { .. } if self.is_batch(node) => {
                let pieces = self.pieces(node)?;
                Box::new(self.batch_project(pieces, &node.columns())?)
            }
            Kind::Filter { input, condition } => {
                let asks = self.asks(condition)?;
                Box::new(Filter::new(self.node(input)?, self.program(condition)?, asks, false))
            }
            Kind::Project { input, exprs } if self.is_batch(node) => {
                let pieces = self.pieces(input)?;
                Box::new(self.batch_project(pieces, exprs)?)
            }
            Kind::Project { input, exprs } => {
                let programs = self.programs(exprs)?;
                Box::new(Project::new(self.node(input)?, programs, input.width()))
            }
            Kind::ProjectSet { input, sets } => {
                let sets = sets.iter().map(|set| {
                    SetProgram::compile(set, self.types)?
                        .ok_or_else(|| internal(format!("{set} gives no set")))
                });
                let sets = sets.collect::<Result<_>>()?;
                Box::new(ProjectSet::new(self.node(input)?, sets))
            }
            Kind::Join(join) => self.join(join)?,
            Kind::Aggregate(aggregate) => {
                if let Some(leading) = &aggregate.batches {
                    return self.batches(aggregate, leading);
                }
                let keys = self.programs(&aggregate.keys)?;
                let calls = aggregate.calls.iter().map(|call| self.aggregate_call(call));
                let calls = calls.collect::<Result<_>>()?;
                let (sets, masks) = (&aggregate.sets, aggregate.masks.clone());
                let input = self.node(&aggregate.input)?;
                Box::new(Aggregate::new(input, keys, sets, calls, masks))
            }
            Kind::Window { input, calls } => {
                let orderings = self.orderings(calls)?;
                let width = input.width();
                Box::new(Window::new(self.node(input)?, orderings, width, calls.len()))
            }
            Kind::Barrier(input) => self.node(input)?,
            Kind::Distinct(input) => Box::new(Distinct::new(self.node(input)?)),
            Kind::DistinctOn { input, keys } => {
                Box::new(DistinctOn::new(self.node(input)?, self.sort_keys(keys)?))
            }
            Kind::Sort { input, keys, .. } => {
                Box::new(Sort::new(self.node(input)?, self.sort_keys(keys)?, None))
            }
            Kind::Limit { input, limit, offset, ties } => {
                let ties = ties.as_ref().map(|keys| self.sort_keys(keys)).transpose()?;
                let below = self.limited(input, limit.as_ref(), offset.as_ref())?;
                let limit = self.maybe(limit.as_ref())?;
                let offset = self.maybe(offset.as_ref())?;
                Box::new(Limit::new(below, limit, offset, ties))
            }
            Kind::SetOperation { op, all, left, right } => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                Box::new(SetOperation::new(*op, *all, left, right))
            }
            Kind::With { tables, input } => {
                let mut runs = Vec::with_capacity(tables.len());
                for table in tables {
                    runs.push((table.number, self.table(table)?));
                }
                Box::new(With::new(runs, self.node(input)?))
            }
            Kind::CteScan { table, .. } => Box::new(CteScan::new(*table)),
            Kind::WorkTable { table, .. } => Box::new(WorkTable::new(*table)),
            Kind::Modify(modify) => {
                let is_main = std::ptr::eq(self.plan.root.main(), node);
                Box::new(self.modify(modify, is_main)?)
            }
            Kind::LockRows { input, locks } => {
                let locks = locks.iter().map(|lock| {
                    let scan = input.clone().scanned(lock.key);
                    Lock {
                        lock: lock.clone(),
                        attnums: scan.map(|scan| scan.attnums).unwrap_or_default(),
                        recheck: input.with_given(lock.key).map(Recheck::new),
                    }
                });
                let locks = locks.collect();
                Box::new(LockRows::new(self.node(input)?, locks))
            }
        })
    }

    /// The input of a limit: a sort below it, or below a projection, needs to keep only the rows
    /// that it lets through.
    fn limited(
        &mut self,
        node: &Node,
        limit: Option<&Expr>,
        offset: Option<&Expr>,
    ) -> Result<Input> {
        let Some(limit) = limit else { return self.node(node) };
        let input: Input = match &node.kind {
            Kind::Sort { input, keys, top: true } => {
                let bound =
                    sort::Bound { limit: self.program(limit)?, offset: self.maybe(offset)? };
                Box::new(Sort::new(self.node(input)?, self.sort_keys(keys)?, Some(bound)))
            }
            Kind::Project { input, exprs } => {
                let programs = self.programs(exprs)?;
                let width = input.width();
                let below = self.limited(input, Some(limit), offset)?;
                Box::new(Project::new(below, programs, width))
            }
            _ => return self.node(node),
        };
        Ok(self.looked_at(node, input))
    }

    fn join(&mut self, join: &Join) -> Result<Input> {
        if join.in_batches {
            return self.batch_join(join);
        }
        let condition = self.maybe(join.condition.as_ref())?;
        let widths = (join.left.width(), join.right.width());
        if join.keys.is_empty() {
            let lateral = match &join.lateral {
                None => None,
                Some(args) => {
                    let args = args.iter().map(|(expr, slot)| Ok((self.program(expr)?, *slot)));
                    Some(args.collect::<Result<_>>()?)
                }
            };
            let (left, right) = (self.node(&join.left)?, self.node(&join.right)?);
            return Ok(Box::new(LoopJoin::new(join.kind, left, right, condition, lateral, widths)));
        }
        let keys = |side: fn(&(Expr, Expr)) -> &Expr| {
            join.keys.iter().map(|pair| self.program(side(pair))).collect::<Result<Vec<_>>>()
        };
        let (left_keys, right_keys) = (keys(|pair| &pair.0)?, keys(|pair| &pair.1)?);
        let left = Side { input: self.node(&join.left)?, keys: left_keys, width: widths.0 };
        let right = Side { input: self.node(&join.right)?, keys: right_keys, width: widths.1 };
        Ok(Box::new(HashJoin::new(join.kind, left, right, condition, join.build_left)))
    }

    fn table(&mut self, table: &Table) -> Result<Run> {
        let (source, run) = match &table.body {
            Body::Plan(node) => {
                let mut changes = false;
                node.clone().each(&mut |node| changes |= matches!(node.kind, Kind::Modify(_)));
                let run = if changes || table.at_start { Run::Whole } else { Run::AsRead };
                (Source::Plan(self.node(node)?), run)
            }
            Body::Recursive { start, step, all, classes } => {
                let (start, step) = (self.node(start)?, self.node(step)?);
                let same = if *all { None } else { Some(classes.clone()) };
                let recursive = Recursive::new(table.number, start, step, same);
                (Source::Recursive(Box::new(recursive)), Run::AsRead)
            }
        };
        let mut reads = Reads::default();
        match &table.body {
            Body::Plan(node) => reads.add_node(self.plan, node),
            Body::Recursive { start, step, .. } => {
                reads.add_node(self.plan, start);
                reads.add_node(self.plan, step);
                reads.fill_table(self.plan, table.number);
            }
        }
        self.sources.push((table.number, source, depends(&reads)));
        Ok(run)
    }

    fn subplan(&mut self, number: usize) -> Result<Subplan> {
        let plan = self.plan;
        let subplan = &plan.subplans[number];
        let mut of_rows = Reads::default();
        of_rows.add_node(plan, &subplan.node);
        let of_rows = depends(&of_rows);
        let mut reads = Reads::default();
        reads.add_subplan(plan, number as u32);
        reads.slots.extend(&subplan.args);
        let reads = depends(&reads);
        let stays = !plan.is_node_volatile(&subplan.node);
        let root = self.node(&subplan.node)?;
        let row_types = &subplan.node.types;
        let link = match &subplan.link {
            Link::Scalar => subplan::Link::Scalar,
            Link::Exists => subplan::Link::Exists,
            Link::Row => {
                let types = row_types.iter().map(|ty| Ok((*ty, self.types.repr_of(*ty)?)));
                subplan::Link::Row(types.collect::<Result<_>>()?)
            }
            Link::Array(array) => {
                let element = Facts(self.types)
                    .element(*array)
                    .ok_or_else(|| internal(format!("{} is no array", array.oid())))?;
                // The elements of an `int2vector[]` are arrays, and no slices.
                let nested = row_types.first() != Some(&element);
                let repr = self.types.repr_of(element)?;
                subplan::Link::Array { element, repr, nested }
            }
            Link::Any(test) | Link::All(test) => {
                let left = test.left.iter().map(|(expr, slot)| Ok((self.program(expr)?, *slot)));
                let all = matches!(subplan.link, Link::All(_));
                let keys = test.keys.as_ref().filter(|_| !all);
                subplan::Link::Test(subplan::Test {
                    all,
                    left: left.collect::<Result<_>>()?,
                    condition: self.program(&test.condition)?,
                    keys: keys.map(|keys| self.programs(keys)).transpose()?,
                })
            }
        };
        // A subquery that reads nothing from outside is computed once, whatever it calls.
        let kept = |depends: Depends| (stays || depends.has_no_slots()).then_some(depends);
        let (reads, of_rows) = (kept(reads), kept(of_rows));
        let grouped = subplan.grouped.as_ref().map(|grouped| self.grouped(grouped)).transpose()?;
        let args = subplan.args.clone();
        Ok(Subplan::new(root, link, args, reads, of_rows, subplan.is_kept, grouped))
    }

    fn grouped(&mut self, grouped: &plan::Grouped) -> Result<Grouped> {
        let mut reads = Reads::default();
        for node in iter::once(&grouped.node).chain(&grouped.empty) {
            reads.add_node(self.plan, node);
        }
        let empty = grouped.empty.as_ref().map(|empty| self.node(empty)).transpose()?;
        let asked = self.programs(&grouped.asked)?;
        let root = self.node(&grouped.node)?;
        let some = match &grouped.some {
            Some((some, table)) => Some((self.node(some)?, *table)),
            None => None,
        };
        Ok(Grouped::new(root, empty, some, asked, depends(&reads), grouped.cost_rows))
    }
}

/// The dependencies of rows that are computed from these reads.
fn depends(reads: &Reads) -> Depends {
    Depends::new(reads.slots.iter().copied(), reads.sources.iter().copied())
}
