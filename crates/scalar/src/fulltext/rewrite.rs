//! `ts_rewrite`: a part of a query is replaced by another one.
//!
//! ```text
//!   a & b & c    with a & c → d      b & d
//! ```
//!
//! Queries are compared with the operands of `&` and `|` in one list, in order, so that a part is found
//! whatever the order of its operands is.

use std::cmp::Ordering;

use types::search::{Node, Word, query};

/// A query whose operators `&` and `|` have any number of operands.
#[derive(Clone, PartialEq)]
enum Tree<'a> {
    Word(Word<'a>),
    Not(Box<Tree<'a>>),
    List(bool, Vec<Tree<'a>>),
    Phrase(Box<[Tree<'a>; 2]>, u16),
    /// A substitute; the search does not look into it again.
    Done(Box<Tree<'a>>),
}

impl<'a> Tree<'a> {
    /// The query as it is.
    fn of(node: Node<'a>) -> Option<Self> {
        let both = |pair: Box<[Node<'a>; 2]>| {
            // PostgreSQL has the right operand first.
            let [left, right] = pair.map(Tree::of);
            Some([right?, left?])
        };
        Some(match node {
            Node::Word(word) => Tree::Word(word),
            Node::Not(operand) => Tree::Not(Box::new(Tree::of(*operand)?)),
            Node::And(pair) => Tree::List(true, both(pair)?.into()),
            Node::Or(pair) => Tree::List(false, both(pair)?.into()),
            Node::Phrase(pair, distance) => Tree::Phrase(Box::new(both(pair)?), distance),
            Node::Stop => return None,
        })
    }

    /// The query with the operands of an operator in one list, in order.
    fn sorted(self) -> Self {
        match self {
            Tree::List(is_and, list) => {
                let mut flat = Vec::with_capacity(list.len());
                for tree in list.into_iter().map(Tree::sorted) {
                    match tree {
                        Tree::List(same, mut inner) if same == is_and => flat.append(&mut inner),
                        other => flat.push(other),
                    }
                }
                flat.sort_by(compare);
                Tree::List(is_and, flat)
            }
            Tree::Not(operand) => Tree::Not(Box::new(operand.sorted())),
            Tree::Phrase(pair, distance) => {
                Tree::Phrase(Box::new(pair.map(Tree::sorted)), distance)
            }
            other => other,
        }
    }

    fn node(self) -> Node<'a> {
        match self {
            Tree::Word(word) => Node::Word(word),
            Tree::Done(tree) => tree.node(),
            Tree::Not(operand) => Node::Not(Box::new(operand.node())),
            Tree::Phrase(pair, distance) => {
                let [right, left] = pair.map(Tree::node);
                Node::Phrase(Box::new([left, right]), distance)
            }
            Tree::List(is_and, list) => {
                let join = |left, right| {
                    let pair = Box::new([left, right]);
                    if is_and { Node::And(pair) } else { Node::Or(pair) }
                };
                let mut nodes: std::collections::VecDeque<Node<'a>> =
                    list.into_iter().map(Tree::node).collect();
                let mut joined = nodes.pop_front().unwrap_or(Node::Stop);
                if let Some(second) = nodes.pop_front() {
                    joined = join(second, joined);
                }
                // The rest is joined from its end, as PostgreSQL does.
                while let Some(last) = nodes.pop_back() {
                    joined = join(last, joined);
                }
                joined
            }
        }
    }

    /// The first part of the order of queries: operators before words, then by the operator.
    fn rank(&self) -> u8 {
        match self {
            Tree::Phrase(..) => 0,
            Tree::List(false, _) => 1,
            Tree::List(true, _) => 2,
            Tree::Not(_) => 3,
            Tree::Word(_) => 4,
            Tree::Done(tree) => tree.rank(),
        }
    }

    fn operands(&self) -> &[Tree<'a>] {
        match self {
            Tree::Word(_) => &[],
            Tree::Not(operand) => std::slice::from_ref(operand),
            Tree::List(_, list) => list,
            Tree::Phrase(pair, _) => &pair[..],
            Tree::Done(tree) => tree.operands(),
        }
    }

    fn seen(&self) -> &Tree<'a> {
        if let Tree::Done(tree) = self { tree.seen() } else { self }
    }
}

fn compare(a: &Tree<'_>, b: &Tree<'_>) -> Ordering {
    let words = match (a.seen(), b.seen()) {
        (Tree::Word(a), Tree::Word(b)) => {
            query::checksum(&b.text).cmp(&query::checksum(&a.text)).then(a.text.cmp(&b.text))
        }
        (Tree::Phrase(_, a), Tree::Phrase(_, b)) => b.cmp(a),
        _ => Ordering::Equal,
    };
    let (ones, others) = (a.operands(), b.operands());
    let operands = ones.iter().zip(others).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
    a.rank()
        .cmp(&b.rank())
        .then(others.len().cmp(&ones.len()))
        .then(operands.unwrap_or(Ordering::Equal))
        .then(words)
}

/// The query in which `wanted` is replaced by `with`, or taken out.
pub(super) fn rewritten<'a>(
    query: Node<'a>,
    wanted: Node<'a>,
    with: Option<Node<'a>>,
) -> Option<Node<'a>> {
    let with = with.and_then(Tree::of);
    let wanted = Tree::of(wanted)?.sorted();
    replaced(Tree::of(query)?.sorted(), &wanted, with.as_ref()).map(Tree::node)
}

fn replaced<'a>(tree: Tree<'a>, wanted: &Tree<'a>, with: Option<&Tree<'a>>) -> Option<Tree<'a>> {
    let done = || with.map(|with| Tree::Done(Box::new(with.clone())));
    if compare(&tree, wanted).is_eq() {
        return done();
    }
    let mut tree = tree;
    if let (Tree::List(is_and, list), Tree::List(same, parts)) = (&mut tree, wanted)
        && *is_and == *same
        && list.len() > parts.len()
    {
        let mut left = parts.iter().peekable();
        let is_part: Vec<bool> = list
            .iter()
            .map(|tree| left.next_if(|part| compare(tree, part).is_eq()).is_some())
            .collect();
        if left.peek().is_none() {
            let mut is_part = is_part.into_iter();
            list.retain(|_| !is_part.next().unwrap_or(false));
            list.extend(done());
            list.sort_by(compare);
        }
    }
    let each = |list: Vec<Tree<'a>>| -> Vec<Tree<'a>> {
        list.into_iter().filter_map(|tree| replaced(tree, wanted, with)).collect()
    };
    match tree {
        Tree::List(is_and, list) => {
            let mut list = each(list);
            if list.len() > 1 { Some(Tree::List(is_and, list)) } else { list.pop() }
        }
        Tree::Not(operand) => {
            replaced(*operand, wanted, with).map(|tree| Tree::Not(Box::new(tree)))
        }
        Tree::Phrase(pair, distance) => {
            let mut list = each((*pair).into());
            match <[Tree<'a>; 2]>::try_from(std::mem::take(&mut list)) {
                Ok(pair) => Some(Tree::Phrase(Box::new(pair), distance)),
                Err(mut rest) => rest.pop(),
            }
        }
        other => Some(other),
    }
}
