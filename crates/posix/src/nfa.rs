//! Automata: an [`Expr`] as states that are entered without a choice of order.
//!
//! ```text
//!   a*b    0: match     1: b -> 0     2: either 3 or 1     3: a -> 2
//! ```
//!
//! An automaton reads forward or backward; the one that reads backward is the same expression with
//! every sequence turned round.

use crate::error::{Error, Result};
use crate::tree::{Assertion, Expr};

/// How many states an automaton may have.
const STATES_MAX: usize = 100_000;

/// The action of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    Match,
    /// Takes one character of a set.
    Set {
        set: u32,
        next: u32,
    },
    /// Goes on to both.
    Either(u32, u32),
    /// Goes on where a condition on the neighbours of the place holds.
    Assert(Assertion, u32),
    /// Goes on where a lookaround constraint holds.
    Look {
        number: u32,
        negative: bool,
        next: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

#[derive(Debug)]
pub(crate) struct Nfa {
    pub states: Vec<State>,
    pub start: u32,
    pub direction: Direction,
    pub asserts: bool,
    pub looks: bool,
}

impl Nfa {
    pub fn new(expr: &Expr, direction: Direction) -> Result<Self> {
        let states = vec![State::Match];
        let mut nfa = Self { states, start: 0, direction, asserts: false, looks: false };
        nfa.start = nfa.emit(expr, 0)?;
        Ok(nfa)
    }

    fn push(&mut self, state: State) -> Result<u32> {
        if self.states.len() >= STATES_MAX {
            return Err(Error::TooComplex);
        }
        self.states.push(state);
        Ok(self.states.len() as u32 - 1)
    }

    /// Adds the states of an expression after which `next` follows. Returns where it begins.
    fn emit(&mut self, expr: &Expr, next: u32) -> Result<u32> {
        match expr {
            Expr::Empty => Ok(next),
            Expr::Set(set) => self.push(State::Set { set: *set, next }),
            Expr::Assert(assertion) => {
                self.asserts = true;
                self.push(State::Assert(*assertion, next))
            }
            Expr::Look { number, negative } => {
                self.looks = true;
                self.push(State::Look { number: *number, negative: *negative, next })
            }
            Expr::Sequence(parts) => match self.direction {
                Direction::Forward => {
                    parts.iter().rev().try_fold(next, |next, part| self.emit(part, next))
                }
                Direction::Backward => {
                    parts.iter().try_fold(next, |next, part| self.emit(part, next))
                }
            },
            Expr::Alternatives(parts) => {
                let (last, others) = parts.split_last().ok_or(Error::TooComplex)?;
                let mut begin = self.emit(last, next)?;
                for part in others.iter().rev() {
                    let other = self.emit(part, next)?;
                    begin = self.push(State::Either(other, begin))?;
                }
                Ok(begin)
            }
            Expr::Repeat { body, least, most } => {
                let mut begin = next;
                match most {
                    None => {
                        begin = self.push(State::Either(next, next))?;
                        let inner = self.emit(body, begin)?;
                        self.states[begin as usize] = State::Either(inner, next);
                    }
                    Some(most) => {
                        for _ in *least..*most {
                            let inner = self.emit(body, begin)?;
                            begin = self.push(State::Either(inner, next))?;
                        }
                    }
                }
                for _ in 0..*least {
                    begin = self.emit(body, begin)?;
                }
                Ok(begin)
            }
        }
    }

    /// Calls `found` with every state that is reached from `from` without a character, where all
    /// conditions of `passes` hold.
    pub fn reach(&self, from: u32, passes: impl Fn(State) -> bool, mut found: impl FnMut(State)) {
        let mut seen = vec![false; self.states.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            let state = self.states[at as usize];
            match state {
                State::Either(one, other) => open.extend([one, other]),
                State::Assert(_, next) | State::Look { next, .. } if passes(state) => {
                    open.push(next);
                }
                _ => found(state),
            }
        }
    }
}
