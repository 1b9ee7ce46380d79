//! From plans to machines: every operator with its programs and buffers, ready to be run.

mod batches;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::iter;

use scalar::facts::Facts;
use scalar::function::Eval;
use scalar::{registry, resolve};
use sql::At;
use sql::eval::{Program, SetProgram};
use sql::plan::{self as bound, Expr, ExprKind, FrameUnit};
use types::{Error, KeyOrder, Modifier, Result, SqlState, Type, TypeSource};

use self::batches::Pieces;
use crate::ctx::Shared;
use crate::op::Input;
use crate::op::aggregate::{Aggregate, AggregateCall};
use crate::op::append::{Append, Pruning};
use crate::op::basic::{Filter, Project, ProjectSet, Values};
use crate::op::depends::Depends;
use crate::op::distinct::{Distinct, DistinctOn};
use crate::op::frame::{Bound, Frame};
use crate::op::functions::{Function, Functions};
use crate::op::grouped::Grouped;
use crate::op::guard::{self, Guard};
use crate::op::hash_join::{HashJoin, Side};
use crate::op::limit::Limit;
use crate::op::lock::{Lock, LockRows};
use crate::op::loop_join::LoopJoin;
use crate::op::merge;
use crate::op::modify::{self, Conflict, Modify, Target};
use crate::op::path::Path;
use crate::op::probe::Probe;
use crate::op::rank::Rank;
use crate::op::recheck::{Given, Recheck};
use crate::op::scan::{Columns, ConditionalPath, Sample, Scan, When};
use crate::op::set::SetOperation;
use crate::op::sort::{self, Sort, SortKey};
use crate::op::subplan::{self, Subplan};
use crate::op::window::{self, Ordering, Window, WindowCall};
use crate::op::with::{CteScan, Recursive, Run, Source, With, WorkTable};
use plan::explain::seen::Seen;
use plan::explain::tree::Observed;
use plan::{self, Body, Constant, Equal, Join, Kind, Link, Node, Plan, Reads, Table, each_part};

/// A plan with everything that is needed to run it, once at a time.
pub(crate) struct Machine {
    pub(crate) root: Input,
    pub(crate) shared: Shared,
    /// The constants that each execution computes first.
    pub(crate) constants: Vec<Constant<Program>>,
    /// Where the operators of the plan stand among what is seen, by their addresses.
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

    /// The machine for a plan whose operators are looked at.
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
        shared.seen.borrow_mut().resize(probes.len(), Seen::default());
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
    // It runs within another plan, which keeps values of its own.
    Builder { plan: &plan, types, sources: Vec::new(), probes: None, kept: None }.node(node)
}

struct Builder<'a> {
    plan: &'a Plan,
    types: &'a dyn TypeSource,
    sources: Vec<(u32, Source, Depends)>,
    /// The probes so far, where operators are looked at.
    probes: Option<HashMap<usize, usize>>,
    /// How many values are kept that are the same for all rows; none where they are not to be kept.
    kept: Option<Cell<u32>>,
}

/// So many rows of `VALUES` may be worth loading.
const VALUES_MANY: usize = 1_000;

fn internal(message: impl Into<String>) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, message)
}

impl Builder<'_> {
    /// The program of an expression, of which what needs no row is computed once.
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
                let keys = self.programs(&aggregate.keys)?;
                let calls = aggregate.calls.iter().map(|call| self.aggregate_call(call));
                let calls = calls.collect::<Result<_>>()?;
                let (sets, masks) = (&aggregate.sets, aggregate.masks.clone());
                if let Some(leading) = &aggregate.batches {
                    let nothing = Box::new(Given::default());
                    let rest = Aggregate::new(nothing, keys, sets, calls, masks);
                    return self.batches(aggregate, leading, rest);
                }
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

    fn scan(&mut self, scan: &plan::Scan, types: &[Type]) -> Result<Scan> {
        let when = match &scan.moment {
            bound::Moment::Now => When::Now,
            bound::Moment::All => When::All,
            bound::Moment::Ever => When::Ever,
            bound::Moment::AsOf(at) => When::AsOf(self.program(at)?),
            bound::Moment::AtVersion(version) => When::AtVersion(self.program(version)?),
            bound::Moment::FromTo(from, to) => When::FromTo(self.program(from)?, self.program(to)?),
            bound::Moment::Between(from, to) => {
                When::Between(self.program(from)?, self.program(to)?)
            }
            bound::Moment::ContainedIn(from, to) => {
                When::ContainedIn(self.program(from)?, self.program(to)?)
            }
        };
        let path = self.path(&scan.path)?;
        let conditional = match &scan.conditional {
            Some(conditional) => Some(ConditionalPath {
                start_conditions: self.programs(&conditional.start_conditions)?,
                path: self.path(&conditional.path)?,
            }),
            None => None,
        };
        let sample = match &scan.sample {
            None => None,
            Some(sample) => Some(Sample {
                percent: self.program(&sample.percent)?,
                seed: self.maybe(sample.seed.as_ref())?,
            }),
        };
        let columns = match &scan.columns {
            None => None,
            Some(columns) => Some(Columns {
                index: columns.index,
                numbers: columns.numbers.clone(),
                values: self.programs(&columns.values)?,
            }),
        };
        let width = columns.as_ref().map_or(scan.attnums.len(), |columns| columns.numbers.len());
        debug_assert_eq!(width, types.len());
        let condition = self.maybe(scan.condition.as_ref())?;
        let attnums = scan.attnums.clone();
        let paths = (path, conditional);
        let scan = Scan::new(scan.relation, scan.computed, attnums, when, paths, sample, condition);
        Ok(scan.with_columns(columns))
    }

    /// The scans of partitions, which leave their condition to the operator above where it evaluates that.
    fn append(&mut self, append: &plan::Append, leaves_condition: bool) -> Result<Append> {
        let pruning = |level: &plan::Level| {
            Ok(match level.path.is_full() {
                true => None,
                false => Some(Pruning { level: level.clone(), path: self.path(&level.path)? }),
            })
        };
        let prunings = append.levels.iter().map(pruning).collect::<Result<_>>()?;
        let mut parts = Vec::with_capacity(append.parts.len());
        for part in &append.parts {
            let input = match &part.node.kind {
                Kind::Scan(scan) if leaves_condition => {
                    let scan = self.scan(scan, &part.node.types)?.leaving_condition();
                    self.looked_at(&part.node, Box::new(scan))
                }
                _ => self.node(&part.node)?,
            };
            parts.push((input, part.within.clone()));
        }
        Ok(Append::new(prunings, parts))
    }

    fn path(&self, path: &plan::Path) -> Result<Path> {
        let end = |end: &Option<plan::End>| match end {
            Some(end) => Ok::<_, Error>(Some((self.program(&end.value)?, end.inclusive))),
            None => Ok(None),
        };
        let equal = path.equal.iter().map(|equal| {
            Ok(match equal {
                Equal::One(expr) => Equal::One(self.program(expr)?),
                Equal::AnyOf(expr) => Equal::AnyOf(self.program(expr)?),
                Equal::Null => Equal::Null,
            })
        });
        let scan_keys = path.scan_keys.iter();
        let scan_keys =
            scan_keys.map(|one| Ok((one.part, one.strategy, self.program(&one.value)?)));
        Ok(Path {
            index: path.index,
            is_backward: path.backward,
            is_single: path.is_single,
            may_read_all: path.may_read_all,
            columns: path.columns.clone(),
            equal: equal.collect::<Result<_>>()?,
            low: end(&path.low)?,
            high: end(&path.high)?,
            scan_keys: scan_keys.collect::<Result<_>>()?,
        })
    }

    fn modify(&mut self, modify: &plan::Modify, is_main: bool) -> Result<Modify> {
        let facts = modify.facts.as_ref().ok_or_else(|| internal("a table is not known"))?;
        let relation = &facts.relation;
        let set = |set: &[(usize, Expr)]| -> Result<Vec<(usize, Program)>> {
            set.iter().map(|(place, expr)| Ok((*place, self.program(expr)?))).collect()
        };
        let generated = match &modify.action {
            bound::Action::Insert { generated, .. }
            | bound::Action::Update { generated, .. }
            | bound::Action::Merge { generated, .. } => set(generated)?,
            bound::Action::Delete | bound::Action::Erase => match &modify.rest {
                Some(rest) => set(&rest.generated)?,
                None => Vec::new(),
            },
        };
        let columns = relation.columns.iter().map(|column| guard::Column {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
            not_null: column.not_null,
        });
        let checks = modify
            .checks
            .iter()
            .map(|check| {
                let (by, of) = (check.by.clone(), check.of);
                Ok(guard::Check { by, of, program: self.program(&check.expr)? })
            })
            .collect::<Result<_>>()?;
        let guard = Guard {
            schema: relation.schema.clone(),
            table: relation.name.clone(),
            columns: columns.collect(),
            checks,
            is_partition: facts.is_partition,
        };
        let inserts = matches!(modify.action, bound::Action::Insert { .. });
        let scan = if inserts { None } else { modify.input.clone().scanned(modify.width) };
        let recheck = if inserts { None } else { modify.input.with_given(modify.width) };
        let rest = match &modify.rest {
            Some(rest) => Some(modify::Rest { place: rest.place, left: self.program(&rest.left)? }),
            None => None,
        };
        let target = Target {
            relation: modify.relation,
            width: modify.width,
            own_attnums: relation.columns.iter().map(|column| column.attnum).collect(),
            attnums: scan.map(|scan| scan.attnums).unwrap_or_default(),
            generated,
            guard,
            recheck: recheck.map(Recheck::new),
            is_each_once: modify.input.gives_each_once() && self.plan.clone().changes() == 1,
            rest,
        };
        let action = match &modify.action {
            bound::Action::Insert { conflict, .. } => {
                modify::Action::Insert(match conflict.as_deref() {
                    None => None,
                    Some(conflict) => Some(Conflict {
                        arbiters: conflict
                            .arbiters
                            .iter()
                            .filter(|known| known.start_conditions.is_empty())
                            .map(|known| known.index)
                            .collect(),
                        conditional_arbiters: conflict
                            .arbiters
                            .iter()
                            .filter(|known| !known.start_conditions.is_empty())
                            .map(|known| Ok((known.index, self.programs(&known.start_conditions)?)))
                            .collect::<Result<_>>()?,
                        update: match &conflict.update {
                            None => None,
                            Some(update) => {
                                Some((set(&update.set)?, self.maybe(update.filter.as_ref())?))
                            }
                        },
                    }),
                })
            }
            bound::Action::Update { set: list, .. } => modify::Action::Update(set(list)?),
            bound::Action::Delete => modify::Action::Delete,
            bound::Action::Erase => modify::Action::Erase,
            bound::Action::Merge { clauses, matched, .. } => {
                let clauses = clauses.iter().map(|clause| {
                    Ok(merge::Clause {
                        when: clause.when,
                        filter: self.maybe(clause.filter.as_ref())?,
                        action: match &clause.action {
                            bound::MergeAction::Nothing => merge::Action::Nothing,
                            bound::MergeAction::Delete => merge::Action::Delete,
                            bound::MergeAction::Update(list) => merge::Action::Update(set(list)?),
                            bound::MergeAction::Insert(row) => {
                                merge::Action::Insert(self.programs(row)?)
                            }
                        },
                    })
                });
                modify::Action::Merge(merge::Merge {
                    clauses: clauses.collect::<Result<_>>()?,
                    matched: *matched,
                    merged: modify.merged,
                })
            }
        };
        let returning = modify.returning.as_ref().map(|exprs| self.programs(exprs)).transpose()?;
        let (mut streams, mut may_be_many) = (inserts, false);
        modify.input.clone().each(&mut |node| {
            may_be_many |= match &node.kind {
                Kind::Values(rows) => rows.len() >= VALUES_MANY,
                Kind::Given | Kind::Project { .. } | Kind::Filter { .. } => false,
                _ => true,
            };
            let reads = matches!(node.kind, Kind::Scan(_) | Kind::Append(_) | Kind::CteScan { .. });
            streams &= !reads;
            node.exprs(&mut |expr, _| {
                each_part(expr, &mut |part| {
                    streams &= !matches!(part.kind, ExprKind::Subplan { .. });
                    streams
                });
            });
        });
        let input = self.node(&modify.input)?;
        let is_plain = is_main && matches!(action, modify::Action::Insert(None));
        let may_load = is_plain && may_be_many && self.plan.clone().changes() == 1;
        Ok(Modify::new(input, target, action, returning, streams, is_main, may_load))
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

    fn aggregate_call(&self, call: &bound::AggregateCall) -> Result<AggregateCall> {
        let kernel = match registry::function(call.function).map(|function| function.eval) {
            Some(Eval::Aggregate(kernel)) => kernel,
            _ => return Err(internal(format!("{} is no aggregate", call.name))),
        };
        let types = |exprs: &[Expr]| exprs.iter().map(|expr| expr.ty).collect::<Vec<_>>();
        let all = [types(&call.direct), types(&call.args)].concat();
        Ok(AggregateCall {
            keeps: (kernel.start)(&all).keeps(),
            kernel,
            args: self.programs(&call.args)?,
            types: types(&call.args),
            direct: self.programs(&call.direct)?,
            direct_types: types(&call.direct),
            distinct: call.distinct,
            order: self.sort_keys(&call.order)?,
            filter: self.maybe(call.filter.as_ref())?,
            ty: call.ty,
        })
    }

    /// The calls of windows, those together that see the rows in the same order.
    fn orderings(&self, calls: &[bound::WindowCall]) -> Result<Vec<Ordering>> {
        let mut known: Vec<String> = Vec::new();
        let mut orderings: Vec<Ordering> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            let partition = call.partition.iter().map(Expr::to_string);
            let order = call.order.iter().map(|key| key.to_string());
            let text: Vec<String> = partition.chain(["order".to_owned()]).chain(order).collect();
            let text = text.join(", ");
            let at = match known.iter().position(|known| *known == text) {
                Some(at) => at,
                None => {
                    let partition = call.partition.iter().map(|expr| {
                        Ok(SortKey { program: self.program(expr)?, order: KeyOrder::ASCENDING })
                    });
                    orderings.push(Ordering {
                        partition: partition.collect::<Result<_>>()?,
                        order: self.sort_keys(&call.order)?,
                        calls: Vec::new(),
                    });
                    known.push(text);
                    known.len() - 1
                }
            };
            let call = WindowCall {
                function: self.window_function(call)?,
                frame: self.frame(call)?,
                place,
            };
            orderings[at].calls.push(call);
        }
        Ok(orderings)
    }

    fn window_function(&self, call: &bound::WindowCall) -> Result<window::Function> {
        let function = registry::function(call.function)
            .ok_or_else(|| internal(format!("there is no function {}", call.function)))?;
        if let Eval::Aggregate(kernel) = function.eval {
            let types: Vec<Type> = call.args.iter().map(|arg| arg.ty).collect();
            return Ok(window::Function::Aggregate(AggregateCall {
                keeps: (kernel.start)(&types).keeps(),
                kernel,
                args: self.programs(&call.args)?,
                types,
                direct: Vec::new(),
                direct_types: Vec::new(),
                distinct: false,
                order: Vec::new(),
                filter: self.maybe(call.filter.as_ref())?,
                ty: call.ty,
            }));
        }
        let rank = Rank::named(function.name)
            .ok_or_else(|| internal(format!("{} is no window function", call.name)))?;
        Ok(window::Function::Rank(rank, self.programs(&call.args)?))
    }

    fn frame(&self, call: &bound::WindowCall) -> Result<Frame> {
        let frame = &call.frame;
        let bound = |bound: &bound::Bound| -> Result<Bound> {
            Ok(match bound {
                bound::Bound::UnboundedPreceding => Bound::UnboundedPreceding,
                bound::Bound::Preceding(offset) => Bound::Preceding(self.program(offset)?),
                bound::Bound::CurrentRow => Bound::CurrentRow,
                bound::Bound::Following(offset) => Bound::Following(self.program(offset)?),
                bound::Bound::UnboundedFollowing => Bound::UnboundedFollowing,
            })
        };
        let offset = [&frame.start, &frame.end].into_iter().find_map(|bound| match bound {
            bound::Bound::Preceding(offset) | bound::Bound::Following(offset) => Some(offset.ty),
            _ => None,
        });
        let shift = match (frame.unit, &call.order[..], offset) {
            (FrameUnit::Range, [key], Some(offset)) => Some(self.shift(key.expr.ty, offset)?),
            _ => None,
        };
        Ok(Frame {
            unit: frame.unit,
            start: bound(&frame.start)?,
            end: bound(&frame.end)?,
            exclude: frame.exclude,
            shift,
        })
    }

    /// Programs for a value plus and minus an offset.
    fn shift(&self, value: Type, offset: Type) -> Result<(Program, Program)> {
        let value = match Facts(self.types).base(value) {
            Type::INT2 | Type::INT4 => Type::INT8,
            Type::FLOAT4 => Type::FLOAT8,
            Type::DATE => Type::TIMESTAMP,
            other => other,
        };
        let shift = |symbol: &str| {
            let found = resolve::operator(self.types, symbol, Some(value), offset)?;
            let column = |index, ty| {
                let kind = ExprKind::Column { levels_up: 0, index };
                Expr { kind, ty, modifier: Modifier::NONE, at: At::NONE }
            };
            let call = bound::Call {
                function: found.operator.function,
                name: symbol.to_owned(),
                operator: true,
                args: vec![column(0, value), column(1, offset)],
                set: false,
                variadic: false,
            };
            self.program(&Expr::of(ExprKind::Call(call), found.ret, At::NONE))
        };
        Ok((shift("+")?, shift("-")?))
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
