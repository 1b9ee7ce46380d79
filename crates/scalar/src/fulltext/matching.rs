//! The match of a document and a query.
//!
//! ```text
//!   'fat':2 'rat':3,9   fat <-> rat     the places of fat, 2, and of rat, 3 and 9:  3 is one after 2
//! ```
//!
//! Where a document tells no places, phrases are uncertain ([`Ternary::Maybe`]), which counts as no.

use types::search::{Node, Vector, Word};

/// An answer, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ternary {
    No,
    Maybe,
    Yes,
}

impl Ternary {
    fn inverted(self) -> Self {
        match self {
            Ternary::No => Ternary::Yes,
            Ternary::Maybe => Ternary::Maybe,
            Ternary::Yes => Ternary::No,
        }
    }
}

impl From<bool> for Ternary {
    fn from(value: bool) -> Self {
        if value { Ternary::Yes } else { Ternary::No }
    }
}

/// The places at which a part of a query holds: where it ends, in order.
#[derive(Clone, Default, Debug)]
pub(crate) struct Places {
    pub(crate) at: Vec<u32>,
    /// True if it holds at all places but these.
    pub(crate) is_negated: bool,
    /// How many places before its end it starts.
    pub(crate) width: u32,
}

/// Tells whether a word is there, and where if that is asked.
pub(crate) type Check<'c> = &'c mut dyn FnMut(&Word<'_>, Option<&mut Places>) -> Ternary;

/// True if the query holds. `skips_not` takes each negation for true.
pub(crate) fn holds(node: &Node<'_>, skips_not: bool, check: Check<'_>) -> bool {
    execute(node, skips_not, check) == Ternary::Yes
}

/// True if a document has what a query asks for.
pub(crate) fn matches(document: &Vector<'_>, query: &Node<'_>) -> bool {
    holds(query, false, &mut |word, places| check_word(document, word, places))
}

fn execute(node: &Node<'_>, skips_not: bool, check: Check<'_>) -> Ternary {
    match node {
        Node::Word(word) => check(word, None),
        Node::Stop => Ternary::No,
        Node::Not(_) if skips_not => Ternary::Yes,
        Node::Not(operand) => execute(operand, skips_not, check).inverted(),
        Node::And(pair) => match execute(&pair[0], skips_not, check) {
            Ternary::No => Ternary::No,
            left => match execute(&pair[1], skips_not, check) {
                Ternary::Yes => left,
                right => right,
            },
        },
        Node::Or(pair) => match execute(&pair[0], skips_not, check) {
            Ternary::Yes => Ternary::Yes,
            left => match execute(&pair[1], skips_not, check) {
                Ternary::No => left,
                right => right,
            },
        },
        Node::Phrase(..) => match places(node, skips_not, check) {
            Some(found) => (found.is_negated || !found.at.is_empty()).into(),
            None => Ternary::No,
        },
    }
}

/// Which places of two lists count.
#[derive(Clone, Copy)]
struct MergeSides {
    left_only: bool,
    both: bool,
    right_only: bool,
}

/// Merges two lists of places, each moved by an offset.
fn merged(left: (&Places, u32), right: (&Places, u32), kept: MergeSides) -> Vec<u32> {
    let mut ones = left.0.at.iter().map(|at| at + left.1).peekable();
    let mut others = right.0.at.iter().map(|at| at + right.1).peekable();
    let mut out = Vec::new();
    loop {
        let (one, other) = (ones.peek().copied(), others.peek().copied());
        let Some(least) = one.into_iter().chain(other).min() else { return out };
        let (is_left, is_right) = (one == Some(least), other == Some(least));
        let counts = match (is_left, is_right) {
            (true, true) => kept.both,
            (true, false) => kept.left_only,
            _ => kept.right_only,
        };
        if counts {
            out.push(least);
        }
        ones.next_if(|_| is_left);
        others.next_if(|_| is_right);
    }
}

/// Where a query holds; none if that is uncertain.
pub(super) fn execute_places(node: &Node<'_>, check: Check<'_>) -> Option<Places> {
    places(node, false, check)
}

/// The places of two parts of which either holds.
pub(super) fn union(one: &Places, other: &Places) -> Places {
    let width = one.width.max(other.width);
    let kept = MergeSides { left_only: true, both: true, right_only: true };
    let at = merged((one, width - one.width), (other, width - other.width), kept);
    Places { at, is_negated: false, width }
}

/// Where a part of a phrase holds; none if that is uncertain.
fn places(node: &Node<'_>, skips_not: bool, check: Check<'_>) -> Option<Places> {
    let (pair, distance) = match node {
        Node::Word(word) => {
            let mut found = Places::default();
            return match check(word, Some(&mut found)) {
                Ternary::Maybe => None,
                Ternary::Yes => Some(found),
                Ternary::No => Some(Places::default()),
            };
        }
        Node::Stop => return Some(Places::default()),
        Node::Not(_) if skips_not => {
            return Some(Places { is_negated: true, ..Places::default() });
        }
        Node::Not(operand) => {
            let found = places(operand, skips_not, check)?;
            return Some(Places { is_negated: !found.is_negated, ..found });
        }
        Node::And(pair) | Node::Or(pair) => (pair, None),
        Node::Phrase(pair, distance) => (pair, Some(u32::from(*distance))),
    };
    let is_nowhere = |found: &Places| !found.is_negated && found.at.is_empty();
    let left = places(&pair[0], skips_not, check);
    if !matches!(node, Node::Or(_)) && left.as_ref().is_some_and(is_nowhere) {
        return Some(Places::default());
    }
    let right = places(&pair[1], skips_not, check);
    if !matches!(node, Node::Or(_)) && right.as_ref().is_some_and(is_nowhere) {
        return Some(Places::default());
    }
    let (mut left, mut right) = (left?, right?);
    if matches!(node, Node::Or(_)) {
        for side in [&mut left, &mut right] {
            side.width = if is_nowhere(side) { 0 } else { side.width };
        }
        if is_nowhere(&left) && is_nowhere(&right) {
            return Some(Places::default());
        }
    }
    let widest = left.width.max(right.width);
    let (width, offsets) = match distance {
        Some(distance) => (distance + left.width + right.width, (distance + right.width, 0)),
        None => (widest, (widest - left.width, widest - right.width)),
    };
    // Negated lists are combined by the rules of De Morgan.
    let is_or = matches!(node, Node::Or(_));
    let (left_only, both, right_only, is_negated) = match (left.is_negated, right.is_negated, is_or)
    {
        (true, true, false) => (true, true, true, true),
        (true, false, false) => (false, false, true, false),
        (false, true, false) => (true, false, false, false),
        (false, false, false) => (false, true, false, false),
        (true, true, true) => (false, true, false, true),
        (true, false, true) => (true, false, false, true),
        (false, true, true) => (false, false, true, true),
        (false, false, true) => (true, true, true, false),
    };
    let kept = MergeSides { left_only, both, right_only };
    let at = merged((&left, offsets.0), (&right, offsets.1), kept);
    Some(Places { at, is_negated, width })
}

/// Whether a document has a word, and where.
pub(crate) fn check_word(
    document: &Vector<'_>,
    word: &Word<'_>,
    places: Option<&mut Places>,
) -> Ternary {
    let found = match word.is_prefix {
        true => document.starting_with(&word.text),
        false => document.get(&word.text).map_or(&[][..], std::slice::from_ref),
    };
    let counts = |weight: u8| word.weights == 0 || word.weights >> weight & 1 == 1;
    let mut answer = Ternary::No;
    let mut all = Vec::new();
    for lexeme in found {
        let positions = lexeme.positions();
        if positions.len() == 0 {
            // Without positions there are no weights that a word could lack.
            answer = if places.is_none() { Ternary::Yes } else { Ternary::Maybe };
            break;
        }
        all.extend(positions.filter(|at| counts(at.weight())).map(|at| u32::from(at.at())));
        if !all.is_empty() && places.is_none() {
            return Ternary::Yes;
        }
    }
    if answer == Ternary::No && !all.is_empty() {
        answer = Ternary::Yes;
        if let Some(places) = places {
            all.sort_unstable();
            all.dedup();
            places.at = all;
        }
    }
    answer
}
