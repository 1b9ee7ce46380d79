//! From bound plans to plans that can be run: columns of outer rows become slots, subqueries become
//! subplans.
//!
//! ```text
//!   select (select name from person where id = o.person_id) from orders o
//!
//!   Project [scalar {... Filter #0 = ^1#1 ...}]      Project [subplan 0(#1)]
//!     Scan orders                              ──>     Scan orders
//!                                                    subplan 0(@0)
//!                                                      Project [#1]
//!                                                        Filter #0 = @0
//!                                                          Scan person
//! ```
//!
//! This step does not decide how an operator is computed.

use std::sync::Arc;

use scalar::facts::Facts;
use sql::bind::Names;
use sql::plan::{self as bound, CheckedBy, CteBody, Expr, ExprKind, Node as Bound};
use types::geometry::is_geometric;
use types::{Context, Error, Repr, Result, SqlState, Type, TypeSource};

use crate::schema::Schema;
use crate::tree::{
    Aggregate, Body, Check, Join, JoinKind, Kind, Link, Modify, Node, Path, Plan, Scan, Subplan,
    Table, Test, each_part,
};

/// Returns the plan with the same meaning as a bound plan.
///
/// # Errors
/// The binder's errors for checks and for expressions of indexes.
pub fn lower(
    plan: bound::Plan,
    names: &dyn Names,
    context: Context<'_>,
    schema: &dyn Schema,
) -> Result<Plan> {
    let mut lowering =
        Lowering { around: Vec::new(), subplans: Vec::new(), slots: 0, tables: 0, types: names };
    let columns = plan.columns.clone();
    let mut root = lowering.node(plan);
    let mut done = Ok(());
    root.each(&mut |node| {
        if let (Kind::Modify(modify), Ok(())) = (&mut node.kind, &done) {
            done = constraints(modify, names, context, schema);
        }
    });
    done?;
    Ok(Plan {
        root,
        subplans: lowering.subplans.into_iter().map(|made| made.expect("each was made")).collect(),
        slots: lowering.slots,
        tables: lowering.tables,
        columns,
        constants: Vec::new(),
        wants_values: false,
    })
}

/// The row of an outer query, and those of its columns that are kept in slots for the queries inside.
#[derive(Default)]
struct Outer {
    kept: Vec<(Expr, u32)>,
}

/// Looks up what is known of a table whose rows are changed, and binds its expressions.
fn constraints(
    modify: &mut Modify,
    names: &dyn Names,
    context: Context<'_>,
    schema: &dyn Schema,
) -> Result<()> {
    let facts = schema.table(modify.relation).ok_or_else(|| {
        let message = format!("relation with OID {} does not exist", modify.relation);
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })?;
    let expr = |text: &str| {
        sql::bind::expression(text, Some(&facts.relation), names, context)
            .map_err(|error| error.cause)
    };
    // Constraints come before what views ask for.
    let of_views = std::mem::take(&mut modify.checks);
    for (name, text) in &facts.checks {
        let (name, expr) = (name.clone(), expr(text)?);
        modify.checks.push(Check { by: CheckedBy::Constraint(name), of: None, expr });
    }
    modify.checks.extend(of_views);
    modify.facts = Some(facts);
    Ok(())
}

/// The names of columns, for people who read the plan.
fn names(columns: &[bound::Column]) -> Arc<[String]> {
    columns.iter().map(|column| column.name.clone()).collect()
}

struct Lowering<'a> {
    /// The rows of the outer queries, the innermost last.
    around: Vec<Outer>,
    subplans: Vec<Option<Subplan>>,
    slots: u32,
    tables: u32,
    types: &'a dyn TypeSource,
}

impl Lowering<'_> {
    fn new_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    fn boxed(&mut self, plan: Box<bound::Plan>) -> Box<Node> {
        Box::new(self.node(*plan))
    }

    fn node(&mut self, plan: bound::Plan) -> Node {
        let types: Vec<Type> = plan.columns.iter().map(|column| column.ty).collect();
        let kind = match plan.node {
            Bound::Values(rows) => Kind::Values(rows),
            Bound::Scan(scan) => Kind::Scan(Box::new(Scan {
                names: scan
                    .attnums
                    .iter()
                    .zip(&plan.columns)
                    .map(|(attnum, column)| (*attnum, column.name.clone()))
                    .collect(),
                relation: scan.relation,
                name: scan.name,
                alias: scan.alias,
                computed: scan.computed,
                only: scan.only,
                attnums: scan.attnums,
                moment: scan.moment,
                sample: scan.sample,
                path: Path::default(),
                conditional: None,
                condition: None,
                sure: None,
                in_batches: false,
                columns: None,
            })),
            Bound::FunctionScan { functions, ordinality } => {
                Kind::Functions { functions, ordinality, columns: names(&plan.columns) }
            }
            Bound::Filter { input, condition } => {
                Kind::Filter { input: self.boxed(input), condition }
            }
            Bound::Project { input, exprs } => Kind::Project { input: self.boxed(input), exprs },
            Bound::ProjectSet { input, sets } => {
                Kind::ProjectSet { input: self.boxed(input), sets }
            }
            Bound::Join { kind, left, right, condition, lateral } => {
                return self.join(kind, *left, *right, condition, lateral, types);
            }
            Bound::Aggregate(aggregate) => Kind::Aggregate(Box::new(Aggregate {
                input: self.node(*aggregate.input),
                keys: aggregate.keys,
                sets: aggregate.sets,
                calls: aggregate.calls,
                masks: aggregate.masks,
                batches: None,
            })),
            Bound::Window { input, calls } => Kind::Window { input: self.boxed(input), calls },
            Bound::Barrier(input) => Kind::Barrier(self.boxed(input)),
            Bound::Distinct(input) => Kind::Distinct(self.boxed(input)),
            Bound::DistinctOn { input, keys } => {
                Kind::DistinctOn { input: self.boxed(input), keys }
            }
            Bound::Sort { input, keys } => {
                Kind::Sort { input: self.boxed(input), keys, top: false }
            }
            Bound::Limit { input, limit, offset, ties } => {
                Kind::Limit { input: self.boxed(input), limit, offset, ties }
            }
            Bound::SetOperation { op, all, left, right } => {
                Kind::SetOperation { op, all, left: self.boxed(left), right: self.boxed(right) }
            }
            Bound::With { tables, input } => {
                let tables = tables.into_iter().map(|table| self.table(table)).collect();
                Kind::With { tables, input: self.boxed(input) }
            }
            Bound::CteScan { table, name } => {
                Kind::CteScan { table, name, columns: names(&plan.columns) }
            }
            Bound::WorkTable { table, name } => {
                Kind::WorkTable { table, name, columns: names(&plan.columns) }
            }
            Bound::Modify(modify) => self.modify(*modify),
            Bound::LockRows { input, locks } => Kind::LockRows { input: self.boxed(input), locks },
        };
        let mut node = Node { kind, types };
        node.exprs(&mut |expr, _| self.expr(expr));
        node
    }

    fn join(
        &mut self,
        kind: bound::JoinKind,
        left: bound::Plan,
        right: bound::Plan,
        mut condition: Option<Expr>,
        lateral: bool,
        types: Vec<Type>,
    ) -> Node {
        let left = self.node(left);
        let (right, lateral) = if lateral {
            self.around.push(Outer::default());
            let right = self.node(right);
            let outer = self.around.pop().expect("pushed before");
            (right, Some(outer.kept))
        } else {
            (self.node(right), None)
        };
        condition.iter_mut().for_each(|condition| self.expr(condition));
        let kind = match kind {
            bound::JoinKind::Inner => JoinKind::Inner,
            bound::JoinKind::Left => JoinKind::Left,
            bound::JoinKind::Right => JoinKind::Right,
            bound::JoinKind::Full => JoinKind::Full,
        };
        let join = Join {
            kind,
            left,
            right,
            keys: Vec::new(),
            build_left: false,
            condition,
            lateral,
            in_batches: false,
        };
        Node { kind: Kind::Join(Box::new(join)), types }
    }

    fn table(&mut self, table: bound::Cte) -> Table {
        self.tables = self.tables.max(table.table + 1);
        Table {
            number: table.table,
            name: table.name,
            materialized: table.materialized,
            at_start: false,
            body: match table.body {
                CteBody::Plan(plan) => Body::Plan(self.node(plan)),
                CteBody::Recursive { start, step, all, classes } => Body::Recursive {
                    start: self.node(*start),
                    step: self.node(*step),
                    all,
                    classes,
                },
            },
        }
    }

    fn modify(&mut self, modify: bound::Modify) -> Kind {
        let width = modify.width();
        let input = self.node(modify.input);
        let mut returning = modify.returning;
        let mut merged = None;
        for expr in returning.iter_mut().flatten() {
            each_part(expr, &mut |part| {
                if matches!(part.kind, ExprKind::MergeAction) {
                    let slot = *merged.get_or_insert_with(|| self.new_slot());
                    part.kind = ExprKind::Slot(slot);
                }
                true
            });
        }
        Kind::Modify(Box::new(Modify {
            relation: modify.relation,
            name: modify.name,
            input,
            action: modify.action,
            returning,
            merged,
            width,
            rest: modify.rest,
            facts: None,
            checks: modify
                .row_checks
                .into_iter()
                .map(|check| Check { by: check.by, of: check.of, expr: check.expr })
                .collect(),
        }))
    }

    /// In an expression, replaces the columns of outer rows by slots, and subqueries by subplans.
    fn expr(&mut self, expr: &mut Expr) {
        each_part(expr, &mut |part| {
            match &part.kind {
                ExprKind::Column { levels_up: 0, .. } => return true,
                ExprKind::Column { levels_up, index } => {
                    let slot = self.slot(*levels_up as usize, *index, part);
                    part.kind = ExprKind::Slot(slot);
                    return true;
                }
                ExprKind::Subquery(_) => {}
                _ => return true,
            }
            let ExprKind::Subquery(subquery) =
                std::mem::replace(&mut part.kind, ExprKind::CaseOperand)
            else {
                unreachable!("looked at above");
            };
            let (number, args) = self.subquery(*subquery, part.ty);
            part.kind = ExprKind::Subplan { number, args };
            false
        });
    }

    /// The slot of a column of the row so many levels up.
    fn slot(&mut self, levels_up: usize, index: u32, expr: &Expr) -> u32 {
        let row = self.around.len() - levels_up;
        let known = self.around[row].kept.iter().find(
            |(kept, _)| matches!(kept.kind, ExprKind::Column { index: of, .. } if of == index),
        );
        if let Some((_, slot)) = known {
            return *slot;
        }
        let slot = self.new_slot();
        let kind = ExprKind::Column { levels_up: 0, index };
        self.around[row].kept.push((Expr { kind, ..expr.clone() }, slot));
        slot
    }

    fn subquery(&mut self, subquery: bound::Subquery, ty: Type) -> (u32, Vec<Expr>) {
        let number = self.subplans.len() as u32;
        self.subplans.push(None);
        self.around.push(Outer::default());
        let node = self.node(subquery.plan);
        let link = match subquery.link {
            bound::Link::Scalar => Link::Scalar,
            bound::Link::Row => Link::Row,
            bound::Link::Exists => Link::Exists,
            bound::Link::Array => Link::Array(ty),
            bound::Link::Any(test) => Link::Any(self.test(*test)),
            bound::Link::All(test) => Link::All(self.test(*test)),
        };
        let outer = self.around.pop().expect("pushed before");
        let (exprs, args) = outer.kept.into_iter().unzip();
        self.subplans[number as usize] =
            Some(Subplan { node, link, args, grouped: None, is_kept: true });
        (number, exprs)
    }

    fn test(&mut self, test: bound::Test) -> Test {
        let mut left = Vec::new();
        let mut calls = test.calls;
        for call in &mut calls {
            let slot = self.new_slot();
            let of = call.args[0].clone();
            let kept = Expr { kind: ExprKind::Slot(slot), ..of.clone() };
            left.push((of, slot));
            call.args[0] = kept;
        }
        let keys = (test.symbol == "=")
            .then(|| {
                let keys = calls.iter().map(|call| {
                    let pair = (&call.args[0], &call.args[1]);
                    is_hashed(pair.0.ty, pair.1.ty, self.types).then(|| pair.1.clone())
                });
                keys.collect::<Option<Vec<Expr>>>()
            })
            .flatten();
        let mut condition = condition_of(&test.symbol, calls);
        left.iter_mut().for_each(|(expr, _)| self.expr(expr));
        self.expr(&mut condition);
        let keys = keys.map(|mut keys| {
            keys.iter_mut().for_each(|key| self.expr(key));
            keys
        });
        Test { left, condition, keys }
    }
}

/// The condition on two rows that consists of the calls for the pairs of their values.
fn condition_of(symbol: &str, mut calls: Vec<bound::Call>) -> Expr {
    let of_kind = |kind| Expr::of(kind, Type::BOOL, sql::At::NONE);
    if calls.len() == 1 {
        return of_kind(ExprKind::Call(calls.remove(0)));
    }
    let symbol = match symbol {
        "<" => "<",
        "<=" => "<=",
        ">" => ">",
        ">=" => ">=",
        other => {
            let calls = calls.into_iter().map(|call| of_kind(ExprKind::Call(call))).collect();
            return of_kind(match other {
                "=" => ExprKind::And(calls),
                _ => ExprKind::Or(calls),
            });
        }
    };
    of_kind(ExprKind::RowCompare { symbol, pairs: calls })
}

/// True if `=` between the types is equality of values, so that a hash table can find them:
/// where they are held alike, or are both integers or both floats.
pub fn is_hashed(left: Type, right: Type, types: &dyn TypeSource) -> bool {
    let repr = |ty| types.repr_of(ty).ok();
    let class = |repr| match repr {
        Repr::Int2 | Repr::Int4 => Repr::Int8,
        Repr::Float4 => Repr::Float8,
        other => other,
    };
    match (repr(left), repr(right)) {
        (Some(Repr::Record), _) | (_, Some(Repr::Record)) => false,
        // For values in the plane, `=` compares an area, a length or a number of points.
        _ if is_geometric(Facts(types).base(left)) => false,
        (Some(left), Some(right)) => class(left) == class(right),
        _ => false,
    }
}
