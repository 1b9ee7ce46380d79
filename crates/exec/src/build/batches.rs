//! The operators that compute over blocks of columns, with the operators that take rows beside them.

use batch::{Partners, Projection};
use plan::{Join, JoinKind, Kind, Node, each_part};
use sql::eval::Program;
use sql::plan::{Expr, ExprKind};
use types::{Result, Type};

use super::Builder;
use crate::op::Input;
use crate::op::basic::Filter;
use crate::op::batch_join::{BatchJoin, ByRow};
use crate::op::batch_project::BatchProject;
use crate::op::batches::Batches;
use crate::op::hash_join::Side;

/// An input that gives pieces, and the condition that the operator above evaluates for their rows.
pub(super) struct Pieces {
    pub(super) input: Input,
    /// The positions and types of the columns.
    pub(super) columns: Vec<(usize, Type)>,
    pub(super) condition: Option<Expr>,
}

impl Builder<'_> {
    /// The operator for an aggregate that is computed in batches. The keys `leading` tell groups apart.
    pub(super) fn batches(
        &mut self,
        aggregate: &plan::Aggregate,
        leading: &[usize],
    ) -> Result<Input> {
        let pieces = self.pieces(&aggregate.input)?;
        let shape = batch::Shape {
            columns: &pieces.columns,
            condition: pieces.condition.as_ref(),
            keys: &aggregate.keys,
            leading,
            calls: &aggregate.calls,
        };
        let aggregation =
            batch::Aggregation::compile(shape, self.types, &mut |expr| self.program(expr))?;
        Ok(Box::new(Batches::new(pieces.input, aggregation)))
    }

    /// The operator for a join that is computed in batches.
    pub(super) fn batch_join(&mut self, join: &Join) -> Result<Input> {
        let keys: (Vec<Expr>, Vec<Expr>) = join.keys.iter().cloned().unzip();
        let programs = (self.programs(&keys.0)?, self.programs(&keys.1)?);
        let condition = self.maybe(join.condition.as_ref())?;
        let (left, right) = (self.pieces(&join.left)?, self.pieces(&join.right)?);
        let sides = [(&left, &keys.0), (&right, &keys.1)];
        let [left_side, right_side] = sides.map(|(pieces, keys)| batch::Side {
            columns: &pieces.columns,
            condition: pieces.condition.as_ref(),
            keys,
        });
        let (probe, build) =
            if join.build_left { (right_side, left_side) } else { (left_side, right_side) };
        let (keeps_left, keeps_right) = (join.kind.keeps_left(), join.kind.keeps_right());
        let shape = batch::JoinShape {
            partners: match (join.kind, join.build_left) {
                (JoinKind::Semi, false) => Partners::Some,
                (JoinKind::Semi, true) => Partners::KeptWithSome,
                (JoinKind::Anti, false) => Partners::None,
                (JoinKind::Anti, true) => Partners::KeptWithNone,
                (_, false) => Partners::Pairs { keeps_probe: keeps_left, keeps_build: keeps_right },
                (_, true) => Partners::Pairs { keeps_probe: keeps_right, keeps_build: keeps_left },
            },
            probe,
            build,
            is_build_first: join.build_left,
            condition: join.condition.as_ref(),
        };
        let compiled = batch::Join::compile(shape, self.types, &mut |expr| self.program(expr))?;
        let left = Side { input: left.input, keys: programs.0, width: join.left.width() };
        let right = Side { input: right.input, keys: programs.1, width: join.right.width() };
        let by_row = ByRow { kind: join.kind, condition, build_left: join.build_left };
        Ok(Box::new(BatchJoin::new(compiled, left, right, by_row)))
    }

    /// True for an operator whose rows come out of batches, where one that takes rows is above it.
    pub(super) fn is_batch(&self, node: &Node) -> bool {
        // A subquery that is asked for each row is not asked for rows that a limit leaves out.
        let is_plain = |expr: &Expr| !plan::is_volatile(expr) && !plan::asks(self.plan, expr);
        match &node.kind {
            Kind::Scan(scan) => scan.in_batches,
            Kind::Join(join) => join.in_batches,
            Kind::Aggregate(aggregate) => aggregate.batches.is_some(),
            Kind::Project { input, exprs } => exprs.iter().all(is_plain) && self.is_batch(input),
            Kind::Filter { input, condition } => is_plain(condition) && self.is_batch(input),
            _ => false,
        }
    }

    /// The positions and types of the columns of a scan, and the condition that its reader tests.
    pub(super) fn columns_of_scan(
        &self,
        scan: &plan::Scan,
        types: &[Type],
    ) -> (Vec<(usize, Type)>, Option<Expr>) {
        let position = |attnum: &i16| usize::try_from(attnum - 1).unwrap_or(usize::MAX);
        let numbers = scan.columns.as_ref().map_or(&scan.attnums, |columns| &columns.numbers);
        let positions = numbers.iter().map(position);
        // A sample and a row that is looked up have their condition evaluated by the scan.
        let is_left = scan.sample.is_none() && !scan.path.is_single;
        let condition = if is_left { scan.condition.clone() } else { None };
        (positions.zip(types.iter().copied()).collect(), condition)
    }

    /// The operator for an input that gives pieces.
    pub(super) fn pieces(&mut self, node: &Node) -> Result<Pieces> {
        let columns = node.types.iter().copied().enumerate().collect();
        match &node.kind {
            Kind::Scan(scan) => {
                let (columns, condition) = self.columns_of_scan(scan, &node.types);
                let mut input = self.scan(scan, &node.types)?;
                if condition.is_some() {
                    input = input.leaving_condition();
                }
                let input = self.looked_at(node, Box::new(input));
                Ok(Pieces { input, columns, condition })
            }
            Kind::Append(append) => {
                let first = append.parts.first().map(|part| &part.node);
                let Some(Kind::Scan(scan)) = first.map(|node| &node.kind) else {
                    return Ok(Pieces { input: self.node(node)?, columns, condition: None });
                };
                let (columns, condition) = self.columns_of_scan(scan, &node.types);
                let input = self.append(append, condition.is_some())?;
                let input = self.looked_at(node, Box::new(input));
                Ok(Pieces { input, columns, condition })
            }
            Kind::Project { input, exprs } => {
                let pieces = self.pieces(input)?;
                let operator = Box::new(self.batch_project(pieces, exprs)?);
                let input = self.looked_at(node, operator);
                Ok(Pieces { input, columns, condition: None })
            }
            Kind::Filter { input, condition } if !plan::asks(self.plan, condition) => {
                let program = self.program(condition)?;
                let Pieces { input, columns, condition: below } = self.pieces(input)?;
                let input = Box::new(Filter::new(input, program, Vec::new(), true));
                let both = below.into_iter().chain([condition.clone()]).collect();
                let condition = plan::all_of(both);
                Ok(Pieces { input: self.looked_at(node, input), columns, condition })
            }
            _ => Ok(Pieces { input: self.node(node)?, columns, condition: None }),
        }
    }

    pub(super) fn batch_project(&mut self, pieces: Pieces, exprs: &[Expr]) -> Result<BatchProject> {
        let Pieces { input, columns, condition } = pieces;
        let projection =
            Projection::compile(&columns, condition.as_ref(), exprs, self.types, &mut |expr| {
                self.program(expr)
            })?;
        Ok(BatchProject::new(input, projection))
    }

    /// The subqueries of a condition that are computed for many values at once, and the programs of their arguments.
    pub(super) fn asks(&self, condition: &Expr) -> Result<Vec<(usize, Vec<Program>)>> {
        let mut found = Vec::new();
        if plan::is_volatile(condition) {
            return Ok(Vec::new());
        }
        each_part(&mut condition.clone(), &mut |part| {
            if let ExprKind::Subplan { number, args } = &part.kind {
                let subplan = self.plan.subplans.get(*number as usize);
                let grouped = subplan.and_then(|subplan| subplan.grouped.as_ref());
                if grouped.is_some_and(|grouped| grouped.some.is_some()) {
                    found.push((*number as usize, args.clone()));
                }
            }
            true
        });
        found.into_iter().map(|(number, args)| Ok((number, self.programs(&args)?))).collect()
    }
}
