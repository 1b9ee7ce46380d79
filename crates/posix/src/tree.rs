//! The tree that the parser makes of an expression: the texts that it matches, and the division of a match.
//!
//! ```text
//!   x*(a|ab)(c|bcd)*     Concat ─┬─ Plain x*
//!                                └─ Concat ─┬─ Alternatives, group 1 ─┬─ Plain a
//!                                           │                         └─ Plain ab
//!                                           └─ Repeat ── Alternatives, group 2 ─ ...
//! ```
//!
//! An [`Expr`] says which texts match and is what automata are made of. A tree of [`Node`]s stands
//! above it, only as deep as the division of a match is visible: where there are groups, back
//! references, or parts that prefer the short match beside parts that prefer the long one. All else
//! is one [`Shape::Plain`] node, however much it repeats.
//!
//! # Preference
//! Every node prefers the longest or the shortest match, or does not care (then the longest is
//! taken). A quantifier decides for what it repeats, alternatives prefer the longest, and a
//! sequence has the preference of its first part that has one.

use std::collections::HashMap;
use std::rc::Rc;

/// Which texts match, as far as an automaton can tell: groups are gone, and a back reference is
/// what its group matches.
#[derive(Debug)]
pub(crate) enum Expr {
    Empty,
    /// One character of a set, by its number.
    Set(u32),
    Assert(Assertion),
    /// A lookaround constraint, by its number.
    Look {
        number: u32,
        negative: bool,
    },
    Sequence(Vec<Rc<Expr>>),
    Alternatives(Vec<Rc<Expr>>),
    Repeat {
        body: Rc<Expr>,
        least: u32,
        most: Option<u32>,
    },
}

impl Expr {
    /// Parts one behind the other.
    pub fn sequence(mut parts: Vec<Rc<Expr>>) -> Rc<Expr> {
        parts.retain(|part| !matches!(**part, Expr::Empty));
        match parts.len() {
            0 => Rc::new(Expr::Empty),
            1 => parts.remove(0),
            _ => Rc::new(Expr::Sequence(parts)),
        }
    }

    /// So many repetitions.
    pub fn repeat(body: &Rc<Expr>, least: u32, most: Option<u32>) -> Rc<Expr> {
        match (&**body, least, most) {
            (_, 1, Some(1)) | (Expr::Empty, ..) => Rc::clone(body),
            (_, _, Some(0)) => Rc::new(Expr::Empty),
            _ => Rc::new(Expr::Repeat { body: Rc::clone(body), least, most }),
        }
    }

    /// How many characters every match has, if that is one number and `steps` are enough to see it.
    pub fn length(&self, steps: &mut u32) -> Option<u32> {
        *steps = steps.checked_sub(1)?;
        match self {
            Expr::Empty | Expr::Assert(_) | Expr::Look { .. } => Some(0),
            Expr::Set(_) => Some(1),
            Expr::Sequence(parts) => {
                parts.iter().try_fold(0_u32, |sum, part| sum.checked_add(part.length(steps)?))
            }
            Expr::Alternatives(parts) => {
                let first = parts.first()?.length(steps)?;
                let same = parts[1..].iter().all(|part| part.length(steps) == Some(first));
                same.then_some(first)
            }
            Expr::Repeat { body, least, most } if *most == Some(*least) => {
                body.length(steps)?.checked_mul(*least)
            }
            Expr::Repeat { .. } => None,
        }
    }

    /// The expression without its constraints: what a back reference can match at another place.
    /// Expressions share parts, and `made` keeps them shared.
    pub fn unconstrained(expr: &Rc<Expr>, made: &mut HashMap<*const Expr, Rc<Expr>>) -> Rc<Expr> {
        if let Some(known) = made.get(&Rc::as_ptr(expr)) {
            return Rc::clone(known);
        }
        let mut all = |parts: &[Rc<Expr>]| -> Vec<Rc<Expr>> {
            parts.iter().map(|part| Self::unconstrained(part, made)).collect()
        };
        let free = match &**expr {
            Expr::Assert(_) | Expr::Look { .. } => Rc::new(Expr::Empty),
            Expr::Empty | Expr::Set(_) => Rc::clone(expr),
            Expr::Sequence(parts) => Self::sequence(all(parts)),
            Expr::Alternatives(parts) => Rc::new(Expr::Alternatives(all(parts))),
            Expr::Repeat { body, least, most } => {
                Self::repeat(&Self::unconstrained(body, made), *least, *most)
            }
        };
        made.insert(Rc::as_ptr(expr), Rc::clone(&free));
        free
    }
}

/// A condition on the two characters around a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NotWordBoundary,
}

/// The facts about a neighbouring character that an assertion needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Neighbour {
    /// There is none: the text begins or ends.
    Edge,
    Break,
    Word,
    Other,
}

impl Assertion {
    pub fn holds(self, before: Neighbour, after: Neighbour) -> bool {
        let edge_or_break = |n| matches!(n, Neighbour::Edge | Neighbour::Break);
        let (word_before, word_after) = (before == Neighbour::Word, after == Neighbour::Word);
        match self {
            Self::TextStart => before == Neighbour::Edge,
            Self::TextEnd => after == Neighbour::Edge,
            Self::LineStart => edge_or_break(before),
            Self::LineEnd => edge_or_break(after),
            Self::WordStart => !word_before && word_after,
            Self::WordEnd => word_before && !word_after,
            Self::WordBoundary => word_before != word_after,
            Self::NotWordBoundary => word_before == word_after,
        }
    }
}

/// The traits of a node: its own preference, and those of the nodes in it or below it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Traits {
    pub preference: Option<Preference>,
    /// Parts that prefer the shortest match stand beside parts that prefer the longest.
    pub mixed: bool,
    pub captures: bool,
    pub references: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Preference {
    Longest,
    Shortest,
}

impl Traits {
    pub fn preferring(preference: Option<Preference>) -> Self {
        Self { preference, ..Self::default() }
    }

    /// The traits of a node that holds both, except its preference.
    pub fn above(self, other: Traits) -> Self {
        let clash = self.preference.is_some()
            && other.preference.is_some()
            && self.preference != other.preference;
        Self {
            preference: None,
            mixed: self.mixed || other.mixed || clash,
            captures: self.captures || other.captures,
            references: self.references || other.references,
        }
    }

    /// Both together, with the preference of the first that has one.
    pub fn with(self, other: Traits) -> Self {
        Self { preference: self.preference.or(other.preference), ..self.above(other) }
    }

    /// True if it matters how a match is divided.
    pub fn divides(self) -> bool {
        self.mixed || self.captures || self.references
    }

    pub fn shortest(self) -> bool {
        self.preference == Some(Preference::Shortest)
    }
}

/// The number of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct NodeId(pub u32);

#[derive(Debug)]
pub(crate) struct Node {
    pub shape: Shape,
    pub traits: Traits,
    /// The group that this node is; 0 for none.
    pub group: u32,
    /// True for a group that a back reference names.
    pub referenced: bool,
    /// How many nodes lie one below the other here.
    pub depth: usize,
    /// How many characters it always takes.
    pub length: Option<u32>,
    pub expr: Rc<Expr>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A node that an automaton decides alone.
    Plain,
    /// The text that a group matched, so many times.
    Reference {
        group: u32,
        least: u32,
        most: Option<u32>,
    },
    Concat([NodeId; 2]),
    Alternatives(Vec<NodeId>),
    Repeat {
        body: NodeId,
        least: u32,
        most: Option<u32>,
    },
    /// A group around a group.
    Group(NodeId),
}

impl Shape {
    pub fn children(&self) -> &[NodeId] {
        match self {
            Self::Plain | Self::Reference { .. } => &[],
            Self::Alternatives(nodes) => nodes,
            Self::Repeat { body, .. } | Self::Group(body) => std::slice::from_ref(body),
            Self::Concat(parts) => parts,
        }
    }
}
