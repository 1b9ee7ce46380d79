//! A filter that brings a search quickly to places where a match may begin.

use memchr::memmem::Finder;

use crate::classes::Classes;
use crate::nfa::{Nfa, State};

/// The text or set with which every match begins.
#[derive(Debug)]
pub(crate) enum Prefilter {
    /// Anything, or nothing.
    None,
    /// A text, and whether it is all of the match.
    Literal { finder: Box<Finder<'static>>, whole: bool },
    /// One of up to three bytes.
    Bytes(Vec<u8>),
    /// One of some bytes.
    Table(Box<[bool; 256]>),
}

/// How long a literal may be: looking for more does not pay.
const LITERAL_BYTES_MAX: usize = 64;

/// With more first bytes than these nearly every place is a candidate.
const TABLE_MAX: usize = 64;

impl Prefilter {
    pub fn new(nfa: &Nfa, classes: &Classes) -> Self {
        // The characters that can stand first, where every condition holds.
        let mut sets = Vec::new();
        let mut empty = false;
        nfa.reach(
            nfa.start,
            |_| true,
            |state| match state {
                State::Set { set, next } => sets.push((set, next)),
                _ => empty = true,
            },
        );
        if empty {
            return Self::None;
        }
        if let Some(prefilter) = Self::literal(nfa, classes) {
            return prefilter;
        }
        let mut first = Box::new([false; 256]);
        for (set, _) in sets {
            classes.symbols(set).for_each(|symbol| classes.first_bytes(symbol, &mut first));
        }
        let bytes: Vec<u8> = (0..=255).filter(|byte| first[usize::from(*byte)]).collect();
        match bytes.len() {
            1..=3 => Self::Bytes(bytes),
            4..=TABLE_MAX => Self::Table(first),
            _ => Self::None,
        }
    }

    /// Characters that every match begins with, one behind the other.
    fn literal(nfa: &Nfa, classes: &Classes) -> Option<Self> {
        let (mut literal, mut at) = (String::new(), nfa.start);
        let mut whole = false;
        while literal.len() < LITERAL_BYTES_MAX {
            let (mut states, mut plain) = (Vec::new(), true);
            nfa.reach(at, |_| false, |state| states.push(state));
            plain &= states.len() == 1;
            match states[..] {
                [State::Set { set, next }] if plain => {
                    let Some(c) = classes.only(set) else { break };
                    literal.push(c);
                    at = next;
                }
                [State::Match] => {
                    whole = true;
                    break;
                }
                _ => break,
            }
        }
        if literal.len() < 2 && !whole {
            return None;
        }
        let finder = Box::new(Finder::new(literal.as_bytes()).into_owned());
        Some(Self::Literal { finder, whole })
    }

    /// Returns the finder of the text if the expression is only that text.
    pub fn whole(&self) -> Option<&Finder<'static>> {
        match self {
            Self::Literal { finder, whole: true } => Some(finder),
            _ => None,
        }
    }

    /// True if every match begins with a text, which is found faster than all else.
    pub fn is_literal(&self) -> bool {
        matches!(self, Self::Literal { .. })
    }

    /// The first place from `at` on where a match may begin.
    #[inline]
    pub fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match self {
            Self::None => Some(0),
            Self::Literal { finder, .. } => finder.find(rest),
            Self::Bytes(bytes) => match bytes[..] {
                [a] => memchr::memchr(a, rest),
                [a, b] => memchr::memchr2(a, b, rest),
                [a, b, c, ..] => memchr::memchr3(a, b, c, rest),
                [] => None,
            },
            Self::Table(table) => rest.iter().position(|byte| table[usize::from(*byte)]),
        };
        found.map(|found| at + found)
    }
}
