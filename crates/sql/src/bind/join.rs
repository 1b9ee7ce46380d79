//! Joins: two sides become one, with the columns that both have in common merged into one.

use types::SqlState;

use super::from::{Part, and, append, rename};
use super::scope::{Clause, Item, ItemColumn, reference};
use super::{Binder, Merge, Written, walk};
use crate::error::{At, Error, Result};
use crate::parse::ast::{Join, JoinCondition, JoinKind, Name, Source};
use crate::plan::{Column, Expr, ExprKind, Node, Plan};

impl Binder<'_> {
    pub(super) fn join(&mut self, join: &Join) -> Result<Part> {
        let left =
            self.optional_side(matches!(join.kind, JoinKind::Right | JoinKind::Full), &join.left)?;
        // The right side sees the left one, if it is lateral.
        let before = self.scope().items.len();
        self.scope().items.extend(left.items.iter().cloned().map(|item| Item {
            lateral_only: true,
            lateral_ok: matches!(join.kind, JoinKind::Inner | JoinKind::Left),
            ..item
        }));
        let may_miss = matches!(join.kind, JoinKind::Left | JoinKind::Full);
        let right = self.optional_side(may_miss, &join.right);
        self.scope().items.truncate(before);
        let right = right?;
        for item in right.items.iter().filter(|item| item.by_name) {
            if let Some(name) = &item.name
                && left.items.iter().any(|other| {
                    other.by_name && other.name == item.name && other.schema == item.schema
                })
            {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{name}\" specified more than once"),
                ));
            }
        }
        self.join_sides(join, left, right)
    }

    /// A side of a join. Where its rows may be missing, the step of a recursive table cannot read
    /// the table there.
    fn optional_side(&mut self, may_miss: bool, side: &Source) -> Result<Part> {
        const REFUSED: &str =
            "recursive reference to query \"%\" must not appear within an outer join";
        if !may_miss {
            return self.source(side);
        }
        let mut refused = Vec::new();
        for known in self.scopes.iter_mut().flat_map(|scope| &mut scope.tables) {
            if known.working && known.refused.is_none() {
                known.refused = Some(REFUSED);
                refused.push(known.table);
            }
        }
        let part = self.source(side);
        for known in self.scopes.iter_mut().flat_map(|scope| &mut scope.tables) {
            if refused.contains(&known.table) && known.refused == Some(REFUSED) {
                known.refused = None;
            }
        }
        part
    }

    fn join_sides(&mut self, join: &Join, left: Part, right: Part) -> Result<Part> {
        let columns_of = |part: &Part| -> Vec<ItemColumn> {
            let visible = part.items.iter().filter(|item| item.by_column);
            visible.flat_map(|item| item.shown().cloned()).collect()
        };
        let (left_columns, right_columns) = (columns_of(&left), columns_of(&right));
        let natural: Vec<Name>;
        let (using, using_alias): (&[Name], Option<&Name>) = match &join.condition {
            JoinCondition::Using(names, alias) => (names, alias.as_ref()),
            JoinCondition::Natural => {
                let common = left_columns
                    .iter()
                    .filter(|column| right_columns.iter().any(|other| other.name == column.name));
                natural =
                    common.map(|column| Name { text: column.name.clone(), at: At::NONE }).collect();
                (&natural, None)
            }
            _ => (&[], None),
        };
        let sides = (left.outline, right.outline);
        let mut items: Vec<Item> = left.items.into_iter().chain(right.items).collect();
        let mut conditions = Vec::new();
        let mut merged = Vec::new();
        for name in using {
            let (pair, condition) = self.using(name, &left_columns, &right_columns)?;
            merged.push((name.text.clone(), pair));
            conditions.push(condition);
        }
        if let JoinCondition::On(on) | JoinCondition::WasUsing(on) = &join.condition {
            // The condition sees both sides, and nothing else of this FROM.
            let around = std::mem::replace(&mut self.scope().items, items);
            let condition = self.within(Clause::JOIN, |binder| {
                let on = binder.expr(on)?;
                binder.boolean(on, "JOIN/ON")
            });
            items = std::mem::replace(&mut self.scope().items, around);
            conditions.push(condition?);
        }
        let condition = and(conditions);
        let outlined = match join.condition {
            JoinCondition::On(_) | JoinCondition::WasUsing(_) if self.is_outlining() => {
                condition.clone()
            }
            _ => None,
        };
        let mut plan = join_plan(join.kind, left.plan, right.plan, condition);
        let pairs = self.note_merge(join, using_alias, &items, &merged);
        let mut shown = Vec::new();
        let mut added = Vec::new();
        for (at, (name, (left, right))) in merged.iter().enumerate() {
            let value = match join.kind {
                JoinKind::Right => right.clone(),
                JoinKind::Full => Expr {
                    kind: ExprKind::Coalesce(vec![left.clone(), right.clone()]),
                    ..left.clone()
                },
                _ => left.clone(),
            };
            // A side's own column serves where the merged one is just that.
            let own = left_columns.iter().chain(&right_columns).map(|column| &column.column).find(
                |column| matches!(value.kind, ExprKind::Column { index, .. } if index == column.id),
            );
            let column = match own {
                Some(own) => own.clone(),
                None => {
                    let column = self.column_for(name, &value);
                    if let Some(pairs) = &pairs {
                        let either = Box::new(pairs[at].clone());
                        self.merged.push((column.id, Written::Either(either, name.clone())));
                    }
                    added.push((value, column.clone()));
                    column
                }
            };
            let name = name.clone();
            shown.push(ItemColumn { name, column, hidden: false, is_renamed: false });
        }
        let merged_count = shown.len();
        let others = left_columns.into_iter().chain(right_columns);
        shown.extend(others.filter(|column| !using.iter().any(|name| name.text == column.name)));
        plan = append(plan, added);
        for item in &mut items {
            item.by_column = false;
            item.by_name &= join.alias.is_none();
        }
        let mut whole = Item::unnamed(shown);
        if let Some(alias) = &join.alias {
            whole.name = Some(alias.name.text.clone());
            whole.by_name = true;
            rename(&mut whole, alias)?;
        } else if let Some(alias) = using_alias {
            if items.iter().any(|item| item.by_name && item.name.as_ref() == Some(&alias.text)) {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", alias.text),
                )
                .at(alias.at));
            }
            let columns: Vec<Column> =
                whole.columns[..merged_count].iter().map(|column| column.column.clone()).collect();
            items.push(Item { by_column: false, ..Item::named(&alias.text, &columns) });
        }
        let using = using.iter().map(|name| name.text.clone()).collect();
        let outline = self.outline_join(join, sides, outlined, using, &whole);
        items.push(whole);
        Ok(Part { plan, items, outline })
    }

    /// Notes how a join over columns of one name can be written with a condition instead: with the
    /// pairs of columns that are equal.
    fn note_merge(
        &mut self,
        join: &Join,
        alias: Option<&Name>,
        items: &[Item],
        merged: &[(String, (Expr, Expr))],
    ) -> Option<Vec<(Written, Written)>> {
        let is_natural = match &join.condition {
            JoinCondition::Using(..) => false,
            JoinCondition::Natural => true,
            _ => return None,
        };
        if self.by.is_some() || self.text.is_none() {
            return None;
        }
        let side = |name: &str, expr: &Expr| match expr.kind {
            ExprKind::Column { index, .. } => self.written(items, name, index),
            _ => None,
        };
        let pair = |(name, (left, right)): &(String, (Expr, Expr))| {
            Some((side(name, left)?, side(name, right)?))
        };
        let has_alias = join.alias.is_some() || alias.is_some();
        let pairs = (!has_alias).then(|| merged.iter().map(pair).collect()).flatten();
        let names = merged.iter().map(|(name, _)| name.clone()).collect();
        let merge = Merge { at: join.at, is_natural, ends: join.ends, pairs, names };
        let pairs = merge.pairs.clone();
        if let Some(text) = &mut self.text
            && !text.merges.iter().any(|known| known.at == merge.at)
        {
            text.merges.push(merge);
        }
        pairs
    }

    /// The two columns of a name in `USING`, as values of one type, and the condition that they
    /// are equal.
    fn using(
        &mut self,
        name: &Name,
        left: &[ItemColumn],
        right: &[ItemColumn],
    ) -> Result<((Expr, Expr), Expr)> {
        let find = |columns: &[ItemColumn], side: &str| -> Result<Column> {
            let mut found = columns.iter().filter(|column| column.name == name.text);
            match (found.next(), found.next()) {
                (Some(only), None) => Ok(only.column.clone()),
                (Some(_), Some(_)) => Err(Error::new(
                    SqlState::AMBIGUOUS_COLUMN,
                    format!(
                        "common column name \"{}\" appears more than once in {side} table",
                        name.text
                    ),
                )),
                (None, _) => Err(Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!(
                        "column \"{}\" specified in USING clause does not exist in {side} table",
                        name.text
                    ),
                )),
            }
        };
        let left = self.read(reference(&find(left, "left")?, At::NONE));
        let right = self.read(reference(&find(right, "right")?, At::NONE));
        let condition = self.operate("=", Some(left.clone()), right.clone(), At::NONE)?;
        let (mut both, _) = self.unify(vec![left, right], "JOIN/USING")?;
        let (right, left) = (both.pop(), both.pop());
        Ok(((left.expect("two in, two out"), right.expect("two in, two out")), condition))
    }
}

/// The join of two plans.
pub(super) fn join_plan(
    kind: JoinKind,
    left: Plan,
    mut right: Plan,
    condition: Option<Expr>,
) -> Plan {
    let lateral = refers_to(&mut right, &left.columns);
    let columns = left.columns.iter().chain(&right.columns).cloned().collect();
    let (left, right) = (Box::new(left), Box::new(right));
    Plan { node: Node::Join { kind, left, right, condition, lateral }, columns }
}

/// True if a plan computes with columns of another.
fn refers_to(plan: &mut Plan, columns: &[Column]) -> bool {
    let mut found = false;
    walk::all_exprs(plan, &mut |expr| {
        walk::everywhere(expr, &mut |part| {
            if let ExprKind::Column { index, .. } = part.kind {
                found |= columns.iter().any(|column| column.id == index);
            }
            !found
        });
    });
    found
}
