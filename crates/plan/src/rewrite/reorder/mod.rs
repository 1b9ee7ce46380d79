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
//! the leaves can test. Equal columns are [`classes`]: of `a.x = b.x` and `b.x = c.x` it follows that a and c can
//! be joined. Up to 12 leaves the cheapest tree is found by dynamic programming over
//! sets of leaves (Selinger et al., 1979; Moerkotte and Neumann, 2006); beyond that the pair whose join gives the
//! fewest rows is joined, again and again. Trees that join sides without a condition between them are looked at
//! where one side has few rows, or nothing else is left.
//!
//! A semi or anti join whose left side is in the chain only leaves rows of that side out, so it can be made
//! before the inner joins or after them all: where fewer rows come to it.
//!
//! The order stays as it is written where another one saves little: then rows come in the order that one
//! expects, and a guess that is wrong does no harm.

mod chain;
mod classes;
mod graph;

use std::sync::Arc;

use types::TypeSource;

use self::chain::{Chain, LEAVES_MAX, each_leaf, is_chain};
pub(super) use self::graph::{BUILD, COST_MIN, PROBE};
use self::graph::{GAIN, Graph};
use crate::schema::Schema;
use crate::tree::{Node, is_volatile};

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
    chain.find_classes(types);
    let mut graph = Graph::of(&chain, types, schema);
    let gain = if graph.place(&mut chain.filters) { f64::INFINITY } else { gain };
    if let Some(tree) = graph.cheapest(gain) {
        *node = chain.put_together(&tree, node);
    }
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
