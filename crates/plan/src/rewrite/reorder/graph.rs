//! [`Graph`]: the costs of orders of joins, and the cheapest one.

use std::collections::HashMap;
use std::sync::Arc;

use types::TypeSource;

use super::chain::{Chain, Condition, Leaf, SemiJoin, is_bound, sides};
use super::classes::Class;
use super::{Set, Tree};
use crate::rewrite::access::can_look_up;
use crate::rewrite::estimate::{self, chance};
use crate::rewrite::expr::{column_of, comparison, conjuncts, is_costly, sees_nothing};
use crate::schema::{KeyPart, Schema, TableFacts};
use crate::tree::Kind;
use sql::plan::Expr;

/// So many leaves have their cheapest tree found.
const LEAVES_EXACT: usize = 12;
/// Another order is taken if its joins cost less than this part of those in the order that is written ...
pub(super) const GAIN: f64 = 0.8;
/// ... and if the written order as a whole costs at least this much, in rows that are scanned.
pub(in crate::rewrite) const COST_MIN: f64 = 5_000.0;
/// So many ways to know the values of a key are looked at.
const SOURCES_MAX: usize = 32;
/// Pairs of sides without a condition between them are looked at if they make so few rows.
const CROSS_ROWS: f64 = 10_000.0;

/// The cost of putting a row into a hash table, as rows that are scanned.
pub(in crate::rewrite) const BUILD: f64 = 1.5;
/// To look for partners of a row there.
pub(in crate::rewrite) const PROBE: f64 = 0.7;
/// To give a row.
const GIVE: f64 = 0.5;
/// To ask a subquery for a row.
const SUBQUERY_COST: f64 = 20.0;
/// To test a pair of rows.
const PAIR: f64 = 0.3;

/// The data by which the orders of a chain are compared.
pub(super) struct Graph {
    leaves: Vec<Weight>,
    edges: Vec<Edge>,
    classes: Vec<Members>,
    /// Leaves that are joined by equalities which together are a key of one of them: the chance that a pair
    /// of rows belongs together.
    by_key: Vec<(Set, f64)>,
}

/// The estimates of one leaf.
struct Weight {
    /// The rows that it gives.
    rows: f64,
    /// The cost of giving them.
    cost: f64,
    /// Indexes by which its rows can be looked up: the leaves that have the values for their first columns, and
    /// what it costs to find the rows with some values.
    look_ups: Vec<(Set, f64)>,
}

/// The members of a class.
struct Members {
    on: Set,
    /// The leaf of each, and how many different values it has; fewest first.
    each: Vec<(Set, f64)>,
}

impl Members {
    /// The chance that the members in a set of leaves are equal; those of two leaves that `keyed` has are.
    fn chance(&self, set: Set, keyed: &[Set]) -> f64 {
        let (mut chance, mut seen): (f64, Set) = (1.0, 0);
        for (leaf, distinct) in self.each.iter().filter(|(leaf, _)| set & leaf != 0) {
            let is_known = |on: &Set| on & leaf != 0 && on & seen != 0 && on & !(seen | leaf) == 0;
            if seen != 0 && !keyed.iter().any(is_known) {
                chance /= distinct;
            }
            seen |= leaf;
        }
        chance
    }
}

/// A condition between leaves that is not of a class.
struct Edge {
    on: Set,
    chance: f64,
    /// The leaves of both sides of an equality that a hash table can find rows by.
    sides: Option<(Set, Set)>,
}

/// The cheapest way known to join a set of leaves.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    rows: f64,
    /// The leaves of the left side; none for a single leaf.
    left: Set,
}

impl Graph {
    pub(super) fn of(chain: &Chain, types: &dyn TypeSource, schema: &dyn Schema) -> Graph {
        let known = |column: usize| {
            let leaf = &chain.leaves[chain.leaf_of(column)];
            estimate::known(&leaf.node, column - leaf.from, schema)
        };
        let edge = |condition: &Condition| Edge {
            on: condition.on,
            chance: (chance(&condition.expr, &known) / condition.known).min(1.0),
            sides: sides(chain, &condition.expr, types),
        };
        let free = chain.conditions.iter().filter(|condition| !condition.is_of_class);
        let edges: Vec<Edge> = free.map(edge).collect();
        let members = |class: &Class| {
            let of = |(leaf, column): (usize, usize)| (1 << leaf, known(column).distinct.max(1.0));
            let mut each: Vec<(Set, f64)> = class.members().map(of).collect();
            each.sort_by(|one, other| one.1.total_cmp(&other.1));
            Members { on: each.iter().map(|(leaf, _)| leaf).sum(), each }
        };
        let classes = chain.classes.iter().map(members).collect();
        let leaves = chain.leaves.iter().enumerate();
        let leaves = leaves.map(|(at, leaf)| Weight::of(chain, at, leaf, schema));
        let by_key = keys_between(chain, schema);
        Graph { leaves: leaves.collect(), edges, classes, by_key }
    }

    /// Decides where semi joins are made; true if one of them is made after the inner joins.
    pub(super) fn place(&mut self, filters: &mut [SemiJoin]) -> bool {
        let all: Set = Set::MAX >> (Set::BITS as usize - self.leaves.len());
        let at_end = self.rows(all);
        for filter in filters.iter_mut() {
            let leaf = filter.on.is_power_of_two().then(|| filter.on.trailing_zeros() as usize);
            filter.is_last = leaf.is_none_or(|leaf| self.leaves[leaf].rows >= at_end);
        }
        for filter in filters.iter().filter(|filter| !filter.is_last) {
            let leaf = &mut self.leaves[filter.on.trailing_zeros() as usize];
            leaf.rows = (leaf.rows * estimate::SUBQUERY).max(1.0);
            leaf.look_ups.clear();
        }
        filters.iter().any(|filter| filter.is_last)
    }

    /// The cheapest tree, if its joins cost no more than this part of what those cost in the order that is written. That
    /// order is given where equalities follow from classes, which it may need.
    pub(super) fn cheapest(&self, gain: f64) -> Option<Tree> {
        let count = self.leaves.len();
        let all: Set = Set::MAX >> (Set::BITS as usize - count);
        let written = self.written();
        let as_written = || {
            let join = |tree, leaf| Tree::Join(Arc::new(tree), Arc::new(Tree::Leaf(leaf)));
            (!self.classes.is_empty()).then(|| (1..count).fold(Tree::Leaf(0), join))
        };
        if written < COST_MIN {
            return as_written();
        }
        let found = match count <= LEAVES_EXACT {
            true => self.exact(all).or_else(|| self.greedy()),
            false => self.greedy(),
        };
        // Both read all leaves, unless rows are looked up: then they are compared as a whole.
        let scans: f64 = self.leaves.iter().map(|leaf| leaf.cost).sum();
        let is_cheaper = |cost: f64| {
            let alike = if cost.min(written) > scans { scans } else { 0.0 };
            cost - alike <= (written - alike) * gain
        };
        found.filter(|(_, cost)| is_cheaper(*cost)).map(|(tree, _)| tree).or_else(as_written)
    }

    /// The cost of the tree as written: from left to right, which is the meaning of a list of tables.
    fn written(&self) -> f64 {
        let mut best = self.single(0);
        let mut set = 1;
        for leaf in 1..self.leaves.len() {
            let (own, right) = (1 << leaf, self.single(leaf));
            let cost = self.cost(set, best, own, right);
            set |= own;
            best = Best { cost, rows: self.rows(set), left: 0 };
        }
        best.cost
    }

    fn single(&self, leaf: usize) -> Best {
        let Weight { rows, cost, .. } = self.leaves[leaf];
        Best { cost, rows, left: 0 }
    }

    /// About how many rows the join of a set of leaves gives.
    fn rows(&self, set: Set) -> f64 {
        let has = |on: Set| on & !set == 0;
        let leaves = self.leaves.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
        let pairs: f64 = leaves.map(|(_, leaf)| leaf.rows).product();
        let keyed: Vec<Set> =
            self.by_key.iter().filter(|(on, _)| has(*on)).map(|(on, _)| *on).collect();
        let is_free =
            |edge: &&Edge| has(edge.on) && !(edge.sides.is_some() && keyed.contains(&edge.on));
        let chances: f64 = self.edges.iter().filter(is_free).map(|edge| edge.chance).product();
        let by_key: f64 =
            self.by_key.iter().filter(|(on, _)| has(*on)).map(|(_, chance)| chance).product();
        let equal: f64 = self.classes.iter().map(|class| class.chance(set, &keyed)).product();
        (pairs * chances * equal * by_key).max(1.0)
    }

    /// True if a condition joins two sets.
    fn are_joined(&self, left: Set, right: Set) -> bool {
        let joins = |edge: &Edge| {
            edge.on & !(left | right) == 0 && edge.on & left != 0 && edge.on & right != 0
        };
        self.edges.iter().any(joins) || self.has_class(left, right)
    }

    /// True if two sets have members of a class.
    fn has_class(&self, left: Set, right: Set) -> bool {
        self.classes.iter().any(|class| class.on & left != 0 && class.on & right != 0)
    }

    /// The cost of a join of two sides.
    fn cost(&self, left: Set, of_left: Best, right: Set, of_right: Best) -> f64 {
        let rows = self.rows(left | right);
        let is_between = |edge: &Edge| {
            edge.sides.is_some_and(|(one, other)| {
                let fits = |one: Set, other: Set| one & !left == 0 && other & !right == 0;
                fits(one, other) || fits(other, one)
            })
        };
        let has_key = self.has_class(left, right) || self.edges.iter().any(is_between);
        let both = of_left.cost + of_right.cost;
        let mut cost = match has_key {
            true => {
                let (few, many) = match of_left.rows * 2.0 < of_right.rows {
                    true => (of_left.rows, of_right.rows),
                    false => (of_right.rows, of_left.rows),
                };
                both + few * BUILD + many * PROBE
            }
            false => both + of_left.rows * of_right.rows * PAIR,
        };
        if right.is_power_of_two() {
            let leaf = &self.leaves[right.trailing_zeros() as usize];
            for (needs, each) in &leaf.look_ups {
                if needs & !left == 0 {
                    cost = cost.min(of_left.cost + of_left.rows * each);
                }
            }
        }
        cost + rows * GIVE
    }

    /// The cheapest tree, by dynamic programming over sets of leaves.
    fn exact(&self, all: Set) -> Option<(Tree, f64)> {
        let mut best: Vec<Option<Best>> = vec![None; all as usize + 1];
        for leaf in 0..self.leaves.len() {
            best[1 << leaf] = Some(self.single(leaf));
        }
        for set in 1..=all {
            if set.is_power_of_two() {
                continue;
            }
            let rows = self.rows(set);
            let mut found: Option<Best> = None;
            // Each proper subset once as the left side.
            let mut left = (set - 1) & set;
            while left > 0 {
                let right = set & !left;
                if let (Some(of_left), Some(of_right)) = (best[left as usize], best[right as usize])
                    && (self.are_joined(left, right) || of_left.rows * of_right.rows <= CROSS_ROWS)
                {
                    let cost = self.cost(left, of_left, right, of_right);
                    if found.is_none_or(|known| cost < known.cost) {
                        found = Some(Best { cost, rows, left });
                    }
                }
                left = (left - 1) & set;
            }
            best[set as usize] = found;
        }
        let cost = best[all as usize]?.cost;
        Some((tree_of(&best, all), cost))
    }

    /// A good tree: the pair of trees whose join gives the fewest rows is joined, again and again.
    fn greedy(&self) -> Option<(Tree, f64)> {
        let mut trees: Vec<(Tree, Set, Best)> = (0..self.leaves.len())
            .map(|leaf| (Tree::Leaf(leaf), 1 << leaf, self.single(leaf)))
            .collect();
        let mut known: HashMap<Set, f64> = HashMap::new();
        while trees.len() > 1 {
            let mut next: Option<(bool, f64, usize, usize)> = None;
            for one in 0..trees.len() {
                for other in 0..one {
                    let (left, right) = (trees[one].1, trees[other].1);
                    let rows =
                        *known.entry(left | right).or_insert_with(|| self.rows(left | right));
                    let is_cross = !self.are_joined(left, right);
                    let better = |(cross, fewest, ..): &(bool, f64, usize, usize)| {
                        (is_cross, rows) < (*cross, *fewest)
                    };
                    if next.as_ref().is_none_or(better) {
                        next = Some((is_cross, rows, one, other));
                    }
                }
            }
            let (_, rows, one, other) = next?;
            // The later one is taken out first, so that the other stays where it is.
            let (second, first) = (trees.swap_remove(one), trees.swap_remove(other));
            let forth = self.cost(first.1, first.2, second.1, second.2);
            let back = self.cost(second.1, second.2, first.1, first.2);
            let (left, right, cost) =
                if back < forth { (second, first, back) } else { (first, second, forth) };
            let tree = Tree::Join(Arc::new(left.0), Arc::new(right.0));
            trees.push((tree, left.1 | right.1, Best { cost, rows, left: left.1 }));
        }
        trees.pop().map(|(tree, _, best)| (tree, best.cost))
    }
}

fn tree_of(best: &[Option<Best>], set: Set) -> Tree {
    match best[set as usize] {
        Some(Best { left, .. }) if left != 0 => {
            Tree::Join(Arc::new(tree_of(best, left)), Arc::new(tree_of(best, set & !left)))
        }
        _ => Tree::Leaf(set.trailing_zeros() as usize),
    }
}

impl Weight {
    fn of(chain: &Chain, at: usize, leaf: &Leaf, schema: &dyn Schema) -> Weight {
        let rows = estimate::rows(&leaf.node, schema);
        let Kind::Scan(scan) = &leaf.node.kind else {
            return Weight { rows, cost: rows, look_ups: Vec::new() };
        };
        let Some(facts) = schema.table(scan.relation) else {
            return Weight { rows, cost: rows, look_ups: Vec::new() };
        };
        let all = (facts.rows as f64).max(1.0);
        let mut weight = Weight { rows, cost: all, look_ups: Vec::new() };
        if !can_look_up(scan) || !scan.path.is_full() {
            return weight;
        }
        let conditions = scan.condition.clone().map(conjuncts).unwrap_or_default();
        // A subquery is asked for each row.
        let asks = if conditions.iter().any(is_costly) { SUBQUERY_COST } else { 0.0 };
        weight.cost += all * asks;
        for key in facts.keys.iter().filter(|key| key.classes.is_none() && key.predicate.is_none())
        {
            let each = |parts: usize| {
                let found = all / estimate::values_of_key(key, parts, &facts);
                estimate::cost_of_look_up(key, parts, &facts) + found * asks
            };
            // The sets of leaves that have the values for the parts so far, of which the scan itself has the first
            // ones.
            let (mut needs, mut alone) = (vec![0], 0);
            for (at_part, (part, _)) in key.parts.iter().enumerate() {
                let KeyPart::Column(attnum) = part else { break };
                let Some(column) = scan.attnums.iter().position(|known| known == attnum) else {
                    break;
                };
                let is_own = |expr| is_bound(expr, column, &|side| sees_nothing(side));
                if conditions.iter().any(is_own) {
                    alone += usize::from(alone == at_part);
                } else {
                    let from = chain.sources(at, leaf.from + column);
                    let both = |needs: Set| from.iter().map(move |from| needs | from);
                    needs = needs.into_iter().flat_map(both).take(SOURCES_MAX).collect();
                }
                if needs.is_empty() {
                    break;
                }
                if alone <= at_part {
                    weight.look_ups.extend(needs.iter().map(|needs| (*needs, each(at_part + 1))));
                }
            }
            if alone > 0 {
                weight.cost = weight.cost.min(each(alone));
            }
        }
        // A range of the first column of the table's own key is read alone.
        let own_key = facts.keys.iter().find(|key| key.index.is_none());
        let leads = |column: usize| {
            let first = own_key.and_then(|key| key.parts.first()).map(|(part, _)| part);
            matches!(first, Some(KeyPart::Column(attnum)) if scan.attnums[column] == *attnum)
        };
        let is_range = |expr: &Expr| match comparison(expr) {
            Some(("<" | "<=" | ">" | ">=", one, other)) => {
                column_of(one).or(column_of(other)).is_some_and(leads)
            }
            _ => false,
        };
        let own = |column: usize| estimate::known(&leaf.node, column, schema);
        if conditions.iter().any(is_range) {
            let share = conditions.iter().filter(|expr| is_range(expr));
            let share: f64 = share.map(|expr| chance(expr, &own)).product();
            weight.cost = weight.cost.min(all * share);
        }
        weight
    }
}

/// The pairs of leaves whose equalities are, together, all of a unique key of several columns of one of them:
/// each row of the other has one partner at most.
fn keys_between(chain: &Chain, schema: &dyn Schema) -> Vec<(Set, f64)> {
    let mut found: Vec<(Set, f64)> = Vec::new();
    for (at, leaf) in chain.leaves.iter().enumerate() {
        let Kind::Scan(scan) = &leaf.node.kind else { continue };
        let Some(facts) = schema.table(scan.relation) else { continue };
        for other in (0..chain.leaves.len()).filter(|other| *other != at) {
            let on = 1 << at | 1 << other;
            if !found.iter().any(|(known, _)| *known == on) && has_key(chain, at, other, &facts) {
                found.push((on, 1.0 / (facts.rows as f64).max(1.0)));
            }
        }
    }
    found
}

/// True if the equalities between two leaves bind all columns of a unique key of one of them.
fn has_key(chain: &Chain, at: usize, other: usize, facts: &TableFacts) -> bool {
    let leaf = &chain.leaves[at];
    let Kind::Scan(scan) = &leaf.node.kind else { return false };
    let binds = |column: usize| chain.sources(at, leaf.from + column).contains(&(1 << other));
    facts.keys.iter().any(|key| {
        let part = |(part, _): &(KeyPart, types::KeyOrder)| match part {
            KeyPart::Column(attnum) => {
                scan.attnums.iter().position(|known| known == attnum).is_some_and(binds)
            }
            KeyPart::Expr(_) => false,
        };
        key.is_unique
            && key.parts.len() > 1
            && key.predicate.is_none()
            && key.parts.iter().all(part)
    })
}
