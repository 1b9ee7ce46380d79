//! [`Chain`]: the leaves and conditions of inner joins, taken out of a plan, and put back as a tree says.

use sql::plan::{Expr, ExprKind};
use types::TypeSource;

use super::classes::{self, Class};
use super::{Set, Tree};
use crate::rewrite::estimate::{self, chance};
use crate::rewrite::expr::{
    all_of, column_of, columns, comparison, conjuncts, has_subplan, move_columns, sees_nothing,
    sees_only,
};
use crate::rewrite::push;
use crate::schema::Schema;
use crate::tree::{Join, JoinKind, Kind, Node, is_volatile};

/// Chains of more leaves stay as they are written.
pub(super) const LEAVES_MAX: usize = 64;

/// True for an inner join that can be ordered.
pub(super) fn is_chain(node: &Node) -> bool {
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
pub(super) fn each_leaf(node: &mut Node, f: &mut dyn FnMut(&mut Node)) {
    match is_chain(node) || passes(node) {
        true => node.inputs(&mut |input| each_leaf(input, f)),
        false => f(node),
    }
}

/// A chain of inner joins, taken apart. Columns are counted over all leaves, in the order in which these are
/// written.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) leaves: Vec<Leaf>,
    pub(super) conditions: Vec<Condition>,
    pub(super) classes: Vec<Class>,
    pub(super) filters: Vec<SemiJoin>,
    /// Where the columns of the chain are among those of the leaves.
    columns: Vec<usize>,
    width: usize,
}

/// A semi or anti join whose left side is in a chain.
pub(super) struct SemiJoin {
    kind: JoinKind,
    right: Node,
    /// Over the columns of the chain and, from [`RIGHT`] on, those of the right side.
    condition: Expr,
    /// The leaves that it needs.
    pub(super) on: Set,
    /// True if it is made after all inner joins.
    pub(super) is_last: bool,
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

pub(super) struct Leaf {
    pub(super) node: Node,
    /// Its first column.
    pub(super) from: usize,
}

pub(super) struct Condition {
    pub(super) expr: Expr,
    /// The leaves whose columns it names.
    pub(super) on: Set,
    /// The chance that it is true of rows of which that is tested already which follows from it.
    pub(super) known: f64,
    /// True of an equality between members of a class.
    pub(super) is_of_class: bool,
}

impl Chain {
    /// Takes the joins of `node` apart, which is left without what it had.
    pub(super) fn take_apart(&mut self, node: &mut Node) {
        let mut conditions = Vec::new();
        self.columns = self.add(node, &mut conditions);
        for expr in conditions {
            let mut on = 0;
            columns(&expr, &mut |column| on |= 1 << self.leaf_of(column));
            self.conditions.push(Condition { expr, on, known: 1.0, is_of_class: false });
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
    /// True if there is such a thing.
    pub(super) fn narrow(&mut self, schema: &dyn Schema) -> bool {
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
                push::filter_into(leaf, narrower);
                is_narrower = true;
            }
        }
        is_narrower
    }

    /// Finds which columns the equalities between leaves make equal.
    pub(super) fn find_classes(&mut self, types: &dyn TypeSource) {
        let joins = |condition: &&Condition| sides(self, &condition.expr, types).is_some();
        let equalities = self.conditions.iter().filter(joins).filter_map(|condition| {
            let (_, one, other) = comparison(&condition.expr)?;
            Some((&condition.expr, one, other))
        });
        let classes = classes::classes(equalities, &|column| self.leaf_of(column));
        for condition in &mut self.conditions {
            let Some(("=", one, other)) = comparison(&condition.expr) else { continue };
            condition.is_of_class = classes.iter().any(|class| {
                let has = |side| column_of(side).is_some_and(|column| class.has(column));
                has(one) && has(other)
            });
        }
        self.classes = classes;
    }

    /// The sets of leaves that each have a value to which a column of a leaf must be equal.
    pub(super) fn sources(&self, leaf: usize, column: usize) -> Vec<Set> {
        let mut found: Vec<Set> = Vec::new();
        for condition in self.conditions.iter().filter(|condition| !condition.is_of_class) {
            let others = condition.on & !(1 << leaf);
            let is_other = |side: &Expr| {
                let mut own = false;
                columns(side, &mut |column| own |= self.leaf_of(column) == leaf);
                !own
            };
            if others != 0 && is_bound(&condition.expr, column, &is_other) {
                found.push(others);
            }
        }
        for class in self.classes.iter().filter(|class| class.has(column)) {
            found.extend(class.members().filter(|(at, _)| *at != leaf).map(|(at, _)| 1 << at));
        }
        found
    }

    /// The leaf that has a column.
    pub(super) fn leaf_of(&self, column: usize) -> usize {
        self.leaves.partition_point(|leaf| leaf.from <= column) - 1
    }

    /// Joins the leaves as a tree says, in the place of `before`, whose columns it gives.
    pub(super) fn put_together(mut self, tree: &Tree, before: &Node) -> Node {
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
        let (set, sides) = (tree.set(), [left.set(), right.set()]);
        let (left, mut places) = self.join(left);
        let (right, more) = self.join(right);
        places.extend(more);
        // Those of one leaf, or of none, were left where the chain had them: at the join.
        let (here, later) =
            std::mem::take(&mut self.conditions).into_iter().partition(|one| one.on & !set == 0);
        self.conditions = later;
        let mut moved = Vec::new();
        for mut expr in self.tested(here, sides) {
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
            in_batches: false,
        };
        (Node { kind: Kind::Join(Box::new(join)), types }, places)
    }
}

impl Chain {
    /// The conditions that a join of two sides tests: of those that it could test, and of each class that it
    /// brings together one equality.
    fn tested(&self, conditions: Vec<Condition>, [left, right]: [Set; 2]) -> Vec<Expr> {
        let is_joined = |class: &&Class| class.equality(left, right).is_some();
        let mut joined: Vec<&Class> = self.classes.iter().filter(is_joined).collect();
        let mut tested = Vec::new();
        for condition in conditions {
            if condition.is_of_class {
                let is_between = condition.on & left != 0 && condition.on & right != 0;
                let names = |class: &&Class| {
                    let mut all = true;
                    columns(&condition.expr, &mut |column| all &= class.has(column));
                    all
                };
                let Some(at) = joined.iter().position(names).filter(|_| is_between) else {
                    continue;
                };
                joined.remove(at);
            }
            tested.push(condition.expr);
        }
        tested.extend(joined.into_iter().filter_map(|class| class.equality(left, right)));
        tested
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
        let join = Join {
            kind,
            left,
            right,
            keys,
            build_left,
            condition,
            lateral: None,
            in_batches: false,
        };
        Node { kind: Kind::Join(Box::new(join)), types }
    }
}

/// The conjuncts of a condition over a row whose columns are at `places`.
fn moved(condition: Option<Expr>, places: &[usize]) -> Vec<Expr> {
    let mut list = condition.map(conjuncts).unwrap_or_default();
    list.iter_mut().for_each(|expr| move_columns(expr, &|column| places[column]));
    list
}

/// The leaves of both sides of an equality between leaves that a hash table can find rows by.
pub(super) fn sides(chain: &Chain, expr: &Expr, types: &dyn TypeSource) -> Option<(Set, Set)> {
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

/// True if a condition says that a column is equal to what `is_value` is true of.
pub(super) fn is_bound(expr: &Expr, column: usize, is_value: &dyn Fn(&Expr) -> bool) -> bool {
    match comparison(expr) {
        Some(("=", one, other)) => {
            (column_of(one) == Some(column) && is_value(other))
                || (column_of(other) == Some(column) && is_value(one))
        }
        _ => false,
    }
}
