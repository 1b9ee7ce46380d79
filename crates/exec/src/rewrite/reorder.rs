//! The order of inner joins.
//!
//! ```text
//!   FROM a, b, c                        leaves   a (10 rows left), b (1,000,000), c (25)
//!   WHERE a.x = b.x AND b.y = c.y       edges    a ─ b ─ c
//!
//!   as written   (a ⋈ b) ⋈ c            chosen   the cheapest tree, by the rows that each join reads and gives
//! ```
//!
//! A chain of inner joins is a set of leaves (whatever is no inner join) and of conditions, which any tree over
//! the leaves can test. Up to [`LEAVES_EXACT`] leaves the cheapest tree is found by dynamic programming over
//! sets of leaves (Selinger et al., 1979; Moerkotte and Neumann, 2006); beyond that the pair whose join gives the
//! fewest rows is joined, again and again. Trees that join sides without a condition between them are looked at
//! where one side has few rows, or nothing else is left.
//!
//! A semi or anti join whose left side is in the chain only leaves rows of that side out, so it can be made
//! before the inner joins or after them all: where fewer rows come to it.
//!
//! The order stays as it is written where another one saves little: then rows come in the order that one
//! expects, and a guess that is wrong does no harm.

use std::collections::HashMap;
use std::sync::Arc;

use sql::plan::{Expr, ExprKind};
use types::TypeSource;

use super::access::can_look_up;
use super::estimate::{self, chance};
use super::expr::{
    all_of, column_of, columns, comparison, conjuncts, has_subplan, is_costly, move_columns,
    sees_nothing, sees_only,
};
use crate::plan::{Join, JoinKind, Kind, Node, is_volatile};
use crate::tables::{KeyPart, Schema, TableFacts};

/// So many leaves have their cheapest tree found.
const LEAVES_EXACT: usize = 12;
/// Chains of more leaves stay as they are written.
const LEAVES_MAX: usize = 64;
/// Another order is taken if it costs less than this part of the one that is written ...
const GAIN: f64 = 0.8;
/// ... and that costs so much at least, in rows that are scanned.
pub(super) const COST_MIN: f64 = 5_000.0;
/// Pairs of sides without a condition between them are looked at if they make so few rows.
const CROSS_ROWS: f64 = 10_000.0;

/// What it costs to put a row into a hash table, as rows that are scanned.
pub(super) const BUILD: f64 = 2.0;
/// To look for partners of a row there.
pub(super) const PROBE: f64 = 1.0;
/// To give a row.
const GIVE: f64 = 0.5;
/// To ask a subquery for a row.
const SUBQUERY_COST: f64 = 20.0;
/// To test a pair of rows.
const PAIR: f64 = 0.3;

/// A set of leaves, by their numbers.
type Set = u64;

/// Orders the joins of a plan.
pub(super) fn reorder(node: &mut Node, types: &dyn TypeSource, schema: &dyn Schema) {
    if !is_chain(node) {
        node.inputs(&mut |input| reorder(input, types, schema));
        return;
    }
    each_leaf(node, &mut |leaf| leaf.inputs(&mut |input| reorder(input, types, schema)));
    let mut chain = Chain::default();
    chain.take_apart(&mut node.clone());
    let is_wide = chain.leaves.len() > LEAVES_MAX;
    if is_wide || chain.conditions.iter().any(|one| is_volatile(&one.expr)) {
        return;
    }
    let gain = if chain.narrow(schema) { 1.0 } else { GAIN };
    let mut graph = Graph::of(&chain, types, schema);
    let gain = if graph.place(&mut chain.filters) { f64::INFINITY } else { gain };
    if let Some(tree) = graph.cheapest(gain) {
        *node = chain.put_together(&tree, node);
    }
}

/// True for an inner join that can be ordered.
fn is_chain(node: &Node) -> bool {
    matches!(&node.kind, Kind::Join(join)
        if join.kind == JoinKind::Inner && join.lateral.is_none() && join.keys.is_empty())
}

/// True for an operator that only chooses columns, or tests rows, above a chain.
fn passes(node: &Node) -> bool {
    match &node.kind {
        Kind::Project { input, exprs } => {
            let is_column =
                |expr: &Expr| matches!(expr.kind, ExprKind::Column { levels_up: 0, .. });
            exprs.iter().all(is_column) && (is_chain(input) || passes(input))
        }
        Kind::Filter { input, condition } => {
            !is_volatile(condition) && !has_subplan(condition) && (is_chain(input) || passes(input))
        }
        _ => false,
    }
}

/// Calls `f` for each leaf of a chain, from left to right.
fn each_leaf(node: &mut Node, f: &mut dyn FnMut(&mut Node)) {
    match is_chain(node) || passes(node) {
        true => node.inputs(&mut |input| each_leaf(input, f)),
        false => f(node),
    }
}

/// A chain of inner joins, taken apart. Columns are counted over all leaves, in the order in which these are
/// written.
#[derive(Default)]
struct Chain {
    leaves: Vec<Leaf>,
    conditions: Vec<Condition>,
    filters: Vec<SemiJoin>,
    /// Where the columns of the chain are among those of the leaves.
    columns: Vec<usize>,
    width: usize,
}

/// A semi or anti join whose left side is in a chain.
struct SemiJoin {
    kind: JoinKind,
    right: Node,
    /// Over the columns of the chain and, from [`RIGHT`] on, those of the right side.
    condition: Expr,
    /// The leaves that it needs.
    on: Set,
    /// True where it is made after all inner joins.
    is_last: bool,
}

/// Where the columns of the right side of a semi join begin.
const RIGHT: usize = 1 << 24;

/// True for a semi or anti join that can be taken out of a chain.
fn is_semi_join(join: &Join) -> bool {
    matches!(join.kind, JoinKind::Semi | JoinKind::Anti)
        && join.lateral.is_none()
        && join.keys.is_empty()
        && join.condition.as_ref().is_some_and(|expr| !is_volatile(expr))
}

struct Leaf {
    node: Node,
    /// Its first column.
    from: usize,
}

struct Condition {
    expr: Expr,
    /// The leaves whose columns it names.
    on: Set,
    /// The chance that it is true of rows of which that is tested already which follows from it.
    known: f64,
}

/// A tree over leaves.
#[derive(Clone)]
enum Tree {
    Leaf(usize),
    Join(Arc<Tree>, Arc<Tree>),
}

impl Tree {
    fn set(&self) -> Set {
        match self {
            Tree::Leaf(leaf) => 1 << leaf,
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }
}

impl Chain {
    /// Takes the joins of `node` apart, which is left without what it had.
    fn take_apart(&mut self, node: &mut Node) {
        let mut conditions = Vec::new();
        self.columns = self.add(node, &mut conditions);
        for expr in conditions {
            let mut on = 0;
            columns(&expr, &mut |column| on |= 1 << self.leaf_of(column));
            self.conditions.push(Condition { expr, on, known: 1.0 });
        }
        for at in 0..self.filters.len() {
            let mut on = 0;
            columns(&self.filters[at].condition, &mut |column| {
                if column < RIGHT {
                    on |= 1 << self.leaf_of(column);
                }
            });
            self.filters[at].on = on;
        }
    }

    /// Adds what is below a node; gives where its columns are.
    fn add(&mut self, node: &mut Node, conditions: &mut Vec<Expr>) -> Vec<usize> {
        let goes_on = is_chain(node) || passes(node);
        match &mut node.kind {
            Kind::Join(join) if goes_on => {
                let mut places = self.add(&mut join.left, conditions);
                places.extend(self.add(&mut join.right, conditions));
                conditions.extend(moved(join.condition.take(), &places));
                places
            }
            Kind::Project { input, exprs } if goes_on => {
                let places = self.add(input, conditions);
                exprs.iter().filter_map(column_of).map(|column| places[column]).collect()
            }
            Kind::Filter { input, condition } if goes_on => {
                let places = self.add(input, conditions);
                conditions.extend(moved(Some(condition.clone()), &places));
                places
            }
            Kind::Join(join) if is_semi_join(join) => {
                let width = join.left.width();
                let places = self.add(&mut join.left, conditions);
                if let Some(mut condition) = join.condition.take() {
                    move_columns(&mut condition, &|column| match column.checked_sub(width) {
                        None => places[column],
                        Some(column) => RIGHT + column,
                    });
                    let nothing = Node { kind: Kind::Given, types: Vec::new() };
                    let right = std::mem::replace(&mut join.right, nothing);
                    let (kind, on, is_last) = (join.kind, 0, false);
                    self.filters.push(SemiJoin { kind, right, condition, on, is_last });
                }
                places
            }
            _ => {
                let from = self.width;
                self.width += node.width();
                let nothing = Node { kind: Kind::Given, types: Vec::new() };
                self.leaves.push(Leaf { node: std::mem::replace(node, nothing), from });
                (from..self.width).collect()
            }
        }
    }

    /// Tests what an `OR` over several leaves asks of one of them in each of its parts there already: of
    /// `(a.x = 1 AND b.y = 1) OR (a.x = 2 AND b.y = 2)` it is `a.x = 1 OR a.x = 2`.
    /// True where there is such a thing.
    fn narrow(&mut self, schema: &dyn Schema) -> bool {
        let mut is_narrower = false;
        for at in 0..self.conditions.len() {
            let Condition { expr, on, .. } = &self.conditions[at];
            let (on, ExprKind::Or(list)) = (*on, &expr.kind) else { continue };
            if on.count_ones() < 2 || has_subplan(expr) {
                continue;
            }
            let parts: Vec<Vec<Expr>> = list.iter().cloned().map(conjuncts).collect();
            for leaf in 0..self.leaves.len() {
                let Leaf { node, from } = &self.leaves[leaf];
                let (from, to) = (*from, *from + node.width());
                let own = |part: &Vec<Expr>| {
                    let own = part.iter().filter(|expr| sees_only(expr, from..to));
                    all_of(own.cloned().collect())
                };
                let Some(own) = parts.iter().map(own).collect::<Option<Vec<Expr>>>() else {
                    continue;
                };
                if own.iter().any(sees_nothing) {
                    continue;
                }
                let mut narrower = Expr::of(ExprKind::Or(own), types::Type::BOOL, sql::At::NONE);
                move_columns(&mut narrower, &|column| column - from);
                let leaf = &mut self.leaves[leaf].node;
                let chance = chance(&narrower, &|column| estimate::known(leaf, column, schema));
                self.conditions[at].known *= chance.max(1e-6);
                super::push::filter_into(leaf, narrower);
                is_narrower = true;
            }
        }
        is_narrower
    }

    /// The leaf that has a column.
    fn leaf_of(&self, column: usize) -> usize {
        self.leaves.partition_point(|leaf| leaf.from <= column) - 1
    }

    /// Joins the leaves as a tree says, in the place of `before`, whose columns it gives.
    fn put_together(mut self, tree: &Tree, before: &Node) -> Node {
        let (mut node, places) = self.join(tree);
        for filter in std::mem::take(&mut self.filters) {
            node = filter.over(node, &places);
        }
        let place = |column: &usize| places.iter().position(|known| known == column);
        let at: Vec<usize> = self.columns.iter().filter_map(place).collect();
        if at.iter().copied().eq(0..node.width()) {
            return node;
        }
        let types = before.types.clone();
        let column = |(at, ty): (&usize, &types::Type)| {
            let kind = ExprKind::Column { levels_up: 0, index: *at as u32 };
            Expr::of(kind, *ty, sql::At::NONE)
        };
        let exprs = at.iter().zip(&types).map(column).collect();
        Node { kind: Kind::Project { input: Box::new(node), exprs }, types }
    }

    /// Joins the leaves of a tree; gives the columns that the join has, by their places among all.
    fn join(&mut self, tree: &Tree) -> (Node, Vec<usize>) {
        let (left, right) = match tree {
            Tree::Leaf(leaf) => {
                let nothing = Node { kind: Kind::Given, types: Vec::new() };
                let Leaf { node, from } = &mut self.leaves[*leaf];
                let places: Vec<usize> = (*from..*from + node.width()).collect();
                let mut node = std::mem::replace(node, nothing);
                let (here, later) = std::mem::take(&mut self.filters)
                    .into_iter()
                    .partition(|filter| !filter.is_last && filter.on & !tree.set() == 0);
                self.filters = later;
                let here: Vec<SemiJoin> = here;
                for filter in here {
                    node = filter.over(node, &places);
                }
                return (node, places);
            }
            Tree::Join(left, right) => (left, right),
        };
        let set = tree.set();
        let (left, mut places) = self.join(left);
        let (right, more) = self.join(right);
        places.extend(more);
        // Those of one leaf, or of none, were left where the chain had them: at the join.
        let (here, later) =
            std::mem::take(&mut self.conditions).into_iter().partition(|one| one.on & !set == 0);
        self.conditions = later;
        let mut moved = Vec::new();
        for Condition { mut expr, .. } in here {
            let place = |column| places.iter().position(|known| *known == column);
            move_columns(&mut expr, &|column| place(column).unwrap_or(column));
            moved.push(expr);
        }
        let types = left.types.iter().chain(&right.types).copied().collect();
        let join = Join {
            kind: JoinKind::Inner,
            left,
            right,
            keys: Vec::new(),
            build_left: false,
            condition: all_of(moved),
            lateral: None,
        };
        (Node { kind: Kind::Join(Box::new(join)), types }, places)
    }
}

impl SemiJoin {
    /// The join over rows whose columns are at `places`.
    fn over(self, left: Node, places: &[usize]) -> Node {
        let SemiJoin { kind, right, mut condition, .. } = self;
        let width = left.width();
        move_columns(&mut condition, &|column| match column.checked_sub(RIGHT) {
            None => places.iter().position(|known| *known == column).unwrap_or(column),
            Some(column) => width + column,
        });
        let types = left.types.clone();
        let (keys, build_left, condition) = (Vec::new(), false, Some(condition));
        let join = Join { kind, left, right, keys, build_left, condition, lateral: None };
        Node { kind: Kind::Join(Box::new(join)), types }
    }
}

/// The conjuncts of a condition over a row whose columns are at `places`.
fn moved(condition: Option<Expr>, places: &[usize]) -> Vec<Expr> {
    let mut list = condition.map(conjuncts).unwrap_or_default();
    list.iter_mut().for_each(|expr| move_columns(expr, &|column| places[column]));
    list
}

/// What the orders of a chain are weighed by.
struct Graph {
    leaves: Vec<Weight>,
    /// How the tree that is written joins the leaves: from left to right.
    edges: Vec<Edge>,
    /// Leaves that are joined by equalities which together are a key of one of them: the chance that a pair
    /// of rows belongs together.
    by_key: Vec<(Set, f64)>,
}

/// What is known of a leaf.
struct Weight {
    /// The rows that it gives.
    rows: f64,
    /// What it costs to give them.
    cost: f64,
    /// Indexes by which its rows can be looked up: the leaves that have the values for their first columns, and
    /// what it costs to find the rows with some values.
    look_ups: Vec<(Set, f64)>,
}

/// A condition between leaves.
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
    fn of(chain: &Chain, types: &dyn TypeSource, schema: &dyn Schema) -> Graph {
        let known = |column: usize| {
            let leaf = &chain.leaves[chain.leaf_of(column)];
            estimate::known(&leaf.node, column - leaf.from, schema)
        };
        let edge = |condition: &Condition| Edge {
            on: condition.on,
            chance: (chance(&condition.expr, &known) / condition.known).min(1.0),
            sides: sides(chain, &condition.expr, types),
        };
        let edges: Vec<Edge> = chain.conditions.iter().map(edge).collect();
        let leaves = chain.leaves.iter().enumerate();
        let leaves = leaves.map(|(at, leaf)| Weight::of(chain, at, leaf, schema));
        let by_key = keys_between(chain, &edges, schema);
        Graph { leaves: leaves.collect(), edges, by_key }
    }

    /// Decides where semi joins are made; true where one of them is made after the inner joins.
    fn place(&mut self, filters: &mut [SemiJoin]) -> bool {
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

    /// The cheapest tree, if it costs no more than this part of what the order costs that is written.
    fn cheapest(&self, gain: f64) -> Option<Tree> {
        let count = self.leaves.len();
        let all: Set = Set::MAX >> (Set::BITS as usize - count);
        let written = self.written()?;
        if written < COST_MIN {
            return None;
        }
        let found = match count <= LEAVES_EXACT {
            true => self.exact(all).or_else(|| self.greedy()),
            false => self.greedy(),
        };
        found.filter(|(_, cost)| *cost <= written * gain).map(|(tree, _)| tree)
    }

    /// What the tree costs that is written: from left to right, which is what a list of tables means.
    fn written(&self) -> Option<f64> {
        let mut best = self.single(0);
        let mut set = 1;
        for leaf in 1..self.leaves.len() {
            let (own, right) = (1 << leaf, self.single(leaf));
            let cost = self.cost(set, best, own, right);
            set |= own;
            best = Best { cost, rows: self.rows(set), left: 0 };
        }
        Some(best.cost)
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
        (pairs * chances * by_key).max(1.0)
    }

    /// True where a condition joins two sets.
    fn are_joined(&self, left: Set, right: Set) -> bool {
        let joins = |edge: &Edge| {
            edge.on & !(left | right) == 0 && edge.on & left != 0 && edge.on & right != 0
        };
        self.edges.iter().any(joins)
    }

    /// What it costs to join two sides.
    fn cost(&self, left: Set, of_left: Best, right: Set, of_right: Best) -> f64 {
        let rows = self.rows(left | right);
        let has_key = self.edges.iter().any(|edge| {
            edge.sides.is_some_and(|(one, other)| {
                let fits = |one: Set, other: Set| one & !left == 0 && other & !right == 0;
                fits(one, other) || fits(other, one)
            })
        });
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

/// The leaves of both sides of an equality between leaves that a hash table can find rows by.
fn sides(chain: &Chain, expr: &Expr, types: &dyn TypeSource) -> Option<(Set, Set)> {
    let (symbol, one, other) = comparison(expr)?;
    if symbol != "=" || has_subplan(expr) || !crate::lower::is_hashed(one.ty, other.ty, types) {
        return None;
    }
    let on = |side: &Expr| {
        let mut on: Set = 0;
        columns(side, &mut |column| on |= 1 << chain.leaf_of(column));
        on
    };
    let (one, other) = (on(one), on(other));
    (one != 0 && other != 0 && one & other == 0).then_some((one, other))
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
            // How many of the first parts are bound, and how many of those by values alone.
            let (mut needs, mut bound, mut alone) = (0, 0, 0);
            for (part, _) in &key.parts {
                let KeyPart::Column(attnum) = part else { break };
                let Some(column) = scan.attnums.iter().position(|known| known == attnum) else {
                    break;
                };
                let own = conditions
                    .iter()
                    .any(|expr| is_bound(expr, column, &|side| sees_nothing(side)));
                let from = chain.conditions.iter().find_map(|condition| {
                    let others = condition.on & !(1 << at);
                    let is_it = others != 0
                        && is_bound(&condition.expr, leaf.from + column, &|side| {
                            let mut own = false;
                            columns(side, &mut |column| own |= chain.leaf_of(column) == at);
                            !own
                        });
                    is_it.then_some(others)
                });
                match (own, from) {
                    (true, _) => alone += usize::from(alone == bound),
                    (false, Some(from)) => needs |= from,
                    (false, None) => break,
                }
                bound += 1;
            }
            let each = |parts: usize| {
                let found = all / estimate::values_of_key(key, parts, &facts);
                estimate::cost_of_look_up(key, parts, &facts) + found * asks
            };
            if alone > 0 {
                weight.cost = weight.cost.min(each(alone));
            }
            if bound > alone {
                weight.look_ups.push((needs, each(bound)));
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

/// True where a condition says that a column is equal to what `is_value` is true of.
fn is_bound(expr: &Expr, column: usize, is_value: &dyn Fn(&Expr) -> bool) -> bool {
    match comparison(expr) {
        Some(("=", one, other)) => {
            (column_of(one) == Some(column) && is_value(other))
                || (column_of(other) == Some(column) && is_value(one))
        }
        _ => false,
    }
}

/// The pairs of leaves whose equalities are, together, all of a unique key of several columns of one of them:
/// each row of the other has one partner at most.
fn keys_between(chain: &Chain, edges: &[Edge], schema: &dyn Schema) -> Vec<(Set, f64)> {
    let mut found: Vec<(Set, f64)> = Vec::new();
    for (at, leaf) in chain.leaves.iter().enumerate() {
        let Kind::Scan(scan) = &leaf.node.kind else { continue };
        let Some(facts) = schema.table(scan.relation) else { continue };
        let pairs = edges.iter().filter(|edge| edge.sides.is_some() && edge.on >> at & 1 == 1);
        for on in pairs.map(|edge| edge.on).filter(|on| on.count_ones() == 2) {
            if !found.iter().any(|(known, _)| *known == on) && has_key(chain, at, on, &facts) {
                found.push((on, 1.0 / (facts.rows as f64).max(1.0)));
            }
        }
    }
    found
}

/// True where the equalities between two leaves bind all columns of a unique key of one of them.
fn has_key(chain: &Chain, at: usize, on: Set, facts: &TableFacts) -> bool {
    let leaf = &chain.leaves[at];
    let Kind::Scan(scan) = &leaf.node.kind else { return false };
    let is_other = |side: &Expr| {
        let mut own = false;
        columns(side, &mut |column| own |= chain.leaf_of(column) == at);
        !own
    };
    let binds = |column: usize| {
        let mut conditions = chain.conditions.iter().filter(|condition| condition.on == on);
        conditions.any(|condition| is_bound(&condition.expr, leaf.from + column, &is_other))
    };
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
