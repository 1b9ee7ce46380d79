//! Grouping: after the clauses of a query are bound, its aggregates become columns of an
//! [`Aggregate`](Node::Aggregate), and columns that are not grouped are refused.
//!
//! ```text
//!   select upper(a), sum(b) + 1 from t group by a having count(*) > 1
//!
//!   keys   [a]            every `a` in the outputs becomes the key
//!   calls  [sum(b), count(*)]
//!   upper(key 0), call 0 + 1, call 1 > 1
//! ```
//!
//! A column that is no key may still be used where the keys have the primary key of its table:
//! there is one row of the table in each group, and the column is made a key too.

use types::{SqlState, Type};

use super::call::same;
use super::place::UNPLACED;
use super::scope::{Item, reference};
use super::select::Target;
use super::{Binder, walk};
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, ExprKind as Ast};
use crate::plan::{Aggregate, AggregateCall, Column, Expr, ExprKind, Node, Plan};

/// The most grouping sets that one `GROUP BY` may come to.
const SETS_MAX: usize = 4096;

/// The grouping sets of `GROUP BY`, their keys bound.
#[derive(Default)]
pub(super) struct Groups {
    /// The keys.
    pub keys: Vec<Key>,
    /// The grouping sets; none for a plain list of keys.
    pub sets: Option<Vec<Vec<usize>>>,
}

/// A key of `GROUP BY`.
pub(super) struct Key {
    /// The value.
    pub expr: Expr,
    /// The output that has it. Two outputs are two keys, even where they have the same value.
    pub output: Option<usize>,
}

/// The state of turning the expressions of a query into those over its groups.
struct Grouping<'b, 'a> {
    binder: &'b mut Binder<'a>,
    serial: u32,
    items: Vec<Item>,
    keys: Vec<(Expr, Column)>,
    plain_keys: usize,
    calls: Vec<(AggregateCall, Column)>,
    masks: Vec<(Vec<usize>, Column)>,
    single_set: bool,
    error: Option<Error>,
}

impl Binder<'_> {
    /// The items of `GROUP BY` as sets of keys. `key` binds one key.
    pub(super) fn groups(
        &mut self,
        items: &[ast::Expr],
        distinct: bool,
        key: &mut dyn FnMut(&mut Self, &ast::Expr) -> Result<Key>,
    ) -> Result<Groups> {
        let mut groups = Groups::default();
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        let mut plain = true;
        for item in items {
            plain &= !is_set(item);
            let factor = self.group_sets(item, &mut groups.keys, key)?;
            if sets.len() * factor.len() > SETS_MAX {
                return Err(Error::new(
                    SqlState::STATEMENT_TOO_COMPLEX,
                    format!("too many grouping sets present (maximum {SETS_MAX})"),
                )
                .at(item.at));
            }
            sets = sets
                .iter()
                .flat_map(|set| factor.iter().map(move |more| union(set, more)))
                .collect();
        }
        if distinct {
            let mut seen: Vec<Vec<usize>> = Vec::new();
            sets.retain(|set| {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                let new = !seen.contains(&sorted);
                seen.push(sorted);
                new
            });
        }
        groups.sets = (!plain).then_some(sets);
        Ok(groups)
    }

    fn group_sets(
        &mut self,
        item: &ast::Expr,
        keys: &mut Vec<Key>,
        key: &mut dyn FnMut(&mut Self, &ast::Expr) -> Result<Key>,
    ) -> Result<Vec<Vec<usize>>> {
        Ok(match &item.kind {
            Ast::EmptyGroup => vec![Vec::new()],
            Ast::Rollup(parts) => {
                let parts = self.group_parts(parts, keys, key)?;
                let prefix =
                    |count: usize| parts[..count].iter().fold(Vec::new(), |a, b| union(&a, b));
                (0..=parts.len()).rev().map(prefix).collect()
            }
            Ast::Cube(parts) => {
                if parts.len() > 12 {
                    return Err(Error::new(
                        SqlState::TOO_MANY_COLUMNS,
                        "CUBE is limited to 12 elements",
                    )
                    .at(item.at));
                }
                let parts = self.group_parts(parts, keys, key)?;
                let subset = |bits: usize| {
                    let chosen = parts
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| bits & (1 << (parts.len() - 1 - at)) != 0);
                    chosen.fold(Vec::new(), |set, (_, part)| union(&set, part))
                };
                (0..1 << parts.len()).rev().map(subset).collect()
            }
            Ast::GroupingSets(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(self.group_sets(item, keys, key)?);
                }
                all
            }
            _ => vec![self.group_part(item, keys, key)?],
        })
    }

    fn group_parts(
        &mut self,
        parts: &[ast::Expr],
        keys: &mut Vec<Key>,
        key: &mut dyn FnMut(&mut Self, &ast::Expr) -> Result<Key>,
    ) -> Result<Vec<Vec<usize>>> {
        parts.iter().map(|part| self.group_part(part, keys, key)).collect()
    }

    /// One key, or the several of `(a, b)`.
    fn group_part(
        &mut self,
        part: &ast::Expr,
        keys: &mut Vec<Key>,
        key: &mut dyn FnMut(&mut Self, &ast::Expr) -> Result<Key>,
    ) -> Result<Vec<usize>> {
        if let Ast::Row { fields, explicit: false } = &part.kind {
            let mut set = Vec::new();
            for field in fields {
                set = union(&set, &self.group_part(field, keys, key)?);
            }
            return Ok(set);
        }
        let bound = key(self, part)?;
        let is_known = |known: &Key| known.output == bound.output && same(&known.expr, &bound.expr);
        let place = keys.iter().position(is_known).unwrap_or_else(|| {
            keys.push(bound);
            keys.len() - 1
        });
        Ok(vec![place])
    }

    /// Puts the groups of a query over its rows; its outputs and its `HAVING` come to be about the
    /// groups.
    pub(super) fn group(
        &mut self,
        input: Plan,
        groups: Groups,
        outputs: &mut [Target],
        having: Option<&mut Expr>,
    ) -> Result<Plan> {
        let serial = self.scope().serial;
        let items = std::mem::take(&mut self.scope().items);
        let mut keys = Vec::with_capacity(groups.keys.len());
        let mut of_outputs = Vec::new();
        for Key { expr, output } in groups.keys {
            let column = self.column_for("key", &expr);
            of_outputs.extend(output.map(|output| (output, column.clone())));
            keys.push((expr, column));
        }
        let mut grouping = Grouping {
            binder: self,
            serial,
            items,
            plain_keys: keys.len(),
            keys,
            calls: Vec::new(),
            masks: Vec::new(),
            single_set: groups.sets.is_none(),
            error: None,
        };
        for (place, output) in outputs.iter_mut().enumerate() {
            match of_outputs.iter().find(|(of, _)| *of == place) {
                Some((_, column)) => output.expr = reference(column, output.expr.at),
                None => grouping.rewrite(&mut output.expr, false),
            }
        }
        having.into_iter().for_each(|having| grouping.rewrite(having, false));
        let Grouping { items, mut keys, mut calls, masks, plain_keys, error, .. } = grouping;
        self.scope().items = items;
        if let Some(error) = error {
            return Err(error);
        }
        let shown = self.class_keys(&mut keys, &mut calls, groups.sets.is_none())?;
        let all: Vec<usize> = (0..keys.len()).collect();
        let mut sets = groups.sets.unwrap_or_else(|| vec![all]);
        // Keys that follow from a primary key are in all sets.
        for set in &mut sets {
            for extra in plain_keys..keys.len() {
                if !set.contains(&extra) {
                    set.push(extra);
                }
            }
        }
        let (mut keys, mut columns): (Vec<Expr>, Vec<Column>) = keys.into_iter().unzip();
        // Each value of a set is a row that is grouped.
        let input = self.sets(input, &mut keys.iter_mut().collect::<Vec<_>>());
        let mut aggregate =
            Aggregate { input: Box::new(input), keys, sets, calls: Vec::new(), masks: Vec::new() };
        for (call, column) in calls {
            aggregate.calls.push(call);
            columns.push(column);
        }
        for (mask, column) in masks {
            aggregate.masks.push(mask);
            columns.push(column);
        }
        Ok(self.shown_keys(Plan { node: Node::Aggregate(aggregate), columns }, &shown))
    }
}

impl Grouping<'_, '_> {
    fn rewrite(&mut self, expr: &mut Expr, inside: bool) {
        if self.error.is_some() {
            return;
        }
        // In a subquery only columns count as what is grouped by.
        let may_be = |key: &Expr| !inside || matches!(key.kind, ExprKind::Column { .. });
        let found = self.keys.iter().find(|(key, _)| may_be(key) && same(key, expr));
        if let Some((_, column)) = found {
            *expr = Expr { at: expr.at, ..reference(column, expr.at) };
            return;
        }
        match &mut expr.kind {
            ExprKind::Aggregate(call) if call.scope == self.serial => {
                let mut call = (**call).clone();
                for direct in &mut call.direct {
                    self.rewrite(direct, inside);
                }
                if let Some(error) = self.error.take() {
                    let detail = "Direct arguments of an ordered-set aggregate must use only grouped columns.";
                    self.error = Some(error.detail(detail));
                    return;
                }
                let found = self
                    .calls
                    .iter()
                    .find(|(known, _)| known.to_string() == call.to_string() && known.ty == call.ty)
                    .map(|(_, column)| column.clone());
                let column = found.unwrap_or_else(|| {
                    let column =
                        self.binder.column(call.name, call.ty, types::Modifier::NONE, None);
                    self.binder.note_call(&column, &call.args);
                    self.calls.push((call, column.clone()));
                    column
                });
                *expr = reference(&column, expr.at);
            }
            ExprKind::Grouping { args, scope } if *scope == self.serial => {
                let args = std::mem::take(args);
                self.mask(expr, &args);
            }
            ExprKind::Column { levels_up: UNPLACED, index } => {
                let index = *index;
                if self.binder.owners[index as usize] == self.serial {
                    self.ungrouped(expr, index, inside);
                }
            }
            ExprKind::Subquery(_) => {
                walk::parts(expr, &mut |part| self.rewrite(part, inside));
                if let ExprKind::Subquery(subquery) = &mut expr.kind {
                    walk::all_exprs(&mut subquery.plan, &mut |inner| self.rewrite(inner, true));
                }
            }
            _ => walk::parts(expr, &mut |part| self.rewrite(part, inside)),
        }
    }

    fn mask(&mut self, expr: &mut Expr, args: &[Expr]) {
        let mut mask = Vec::with_capacity(args.len());
        for arg in args {
            match self.keys.iter().position(|(key, _)| same(key, arg)) {
                Some(place) => mask.push(place),
                None => {
                    self.error = Some(
                        Error::new(
                            SqlState::GROUPING_ERROR,
                            "arguments to GROUPING must be grouping expressions of the associated \
                             query level",
                        )
                        .at(arg.at),
                    );
                    return;
                }
            }
        }
        let found = self.masks.iter().find(|(known, _)| *known == mask).map(|(_, c)| c.clone());
        let column = found.unwrap_or_else(|| {
            let column = self.binder.column("grouping", Type::INT4, types::Modifier::NONE, None);
            self.masks.push((mask, column.clone()));
            column
        });
        *expr = reference(&column, expr.at);
    }

    /// A column that is no key: an error, unless it follows from a primary key that is grouped by.
    fn ungrouped(&mut self, expr: &mut Expr, id: u32, inside: bool) {
        let owner = self.items.iter().find_map(|item| {
            let relation = item.relation.as_ref()?;
            let column = item.columns.iter().find(|column| column.column.id == id)?;
            Some((item, relation.clone(), column.clone()))
        });
        if self.single_set
            && let Some((item, relation, column)) = &owner
        {
            let primary = relation.primary_key();
            let grouped = |attnum: &i16| {
                item.columns.iter().any(|known| {
                    known.column.origin.is_some_and(|origin| origin.attnum == *attnum)
                        && self.keys[..self.plain_keys].iter().any(|(key, _)| {
                            matches!(key.kind, ExprKind::Column { index, .. } if index == known.column.id)
                        })
                })
            };
            if !primary.is_empty() && primary.iter().all(grouped) {
                let key = Expr { at: At::NONE, ..expr.clone() };
                let column = Column {
                    name: column.name.clone(),
                    ..self.binder.column_for(column.name.as_str(), &key)
                };
                self.keys.push((key, column.clone()));
                *expr = reference(&column, expr.at);
                return;
            }
        }
        let name = self.name_of(id);
        let message = match inside {
            true => format!("subquery uses ungrouped column \"{name}\" from outer query"),
            false => format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate \
                 function"
            ),
        };
        self.error = Some(Error::new(SqlState::GROUPING_ERROR, message).at(expr.at));
    }

    fn name_of(&self, id: u32) -> String {
        let found = self.items.iter().find_map(|item| {
            let column = item.columns.iter().find(|column| column.column.id == id)?;
            item.name.as_ref().map(|name| format!("{name}.{}", column.name))
        });
        found.unwrap_or_else(|| {
            let unnamed = self.items.iter().flat_map(|item| &item.columns);
            unnamed
                .filter(|column| column.column.id == id)
                .map(|c| c.name.clone())
                .next()
                .unwrap_or_default()
        })
    }
}

fn is_set(item: &ast::Expr) -> bool {
    matches!(item.kind, Ast::EmptyGroup | Ast::Rollup(_) | Ast::Cube(_) | Ast::GroupingSets(_))
}

/// The members of both sets, each once.
fn union(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = one.to_vec();
    all.extend(other.iter().filter(|member| !one.contains(member)));
    all
}
