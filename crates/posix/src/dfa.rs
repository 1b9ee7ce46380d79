//! An automaton run over a text: one step a character, sets of states made as they are met.
//!
//! ```text
//!   place        0     1     2     3        the set at a place holds the states that wait there;
//!   text           a     b     c            the step over `a` first follows assertions, which now
//!   set         {x,y} {y,m}  {}             know both neighbours, and says if a match ends at 0
//! ```
//!
//! So a match is known one character behind its end, and the end of the text is a symbol too. A new
//! start can be put into the set at every place (a search), or at the first alone.
//!
//! Sets are kept with their steps in rows of a table, up to a number of bytes; then the table begins
//! anew. Time is linear in the text, whatever the expression.

use std::collections::HashMap;
use std::rc::Rc;

use crate::classes::Classes;
use crate::nfa::{Direction, Nfa, State};
use crate::search::{Result, Text};
use crate::tree::{Expr, Neighbour};

/// A step that was not taken yet.
const UNKNOWN: u32 = u32::MAX;
/// Flags of a step: a match ends before the character; no state waits behind it.
const MATCHED: u32 = 1;
const EMPTY: u32 = 2;
/// How many bits of a step are flags.
const FLAGS: u32 = 2;

/// A sorted set of states, and the neighbour before the place if assertions need it.
type Key = (Rc<[u32]>, Neighbour);

#[derive(Debug)]
pub(crate) struct Dfa {
    nfa: Nfa,
    symbols: usize,
    /// The steps of each set: by symbol, without and with a new start.
    rows: Vec<u32>,
    sets: Vec<Key>,
    numbers: HashMap<Key, u32>,
    /// Steps where lookaround constraints have a say: row, symbol and start, constraints.
    looked: HashMap<(u32, u32, u64), u32>,
    /// Bytes of the sets that the automaton keeps.
    kept_bytes: usize,
    kept_bytes_max: usize,
    /// How often the table began anew.
    beginnings: u32,
    /// States seen in the step that is computed: the number of the step.
    seen: Vec<u32>,
    step: u32,
}

/// The next step of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

impl Dfa {
    pub fn new(
        expr: &Expr,
        direction: Direction,
        classes: &Classes,
        kept_bytes_max: usize,
    ) -> crate::error::Result<Self> {
        let nfa = Nfa::new(expr, direction)?;
        Ok(Self {
            seen: vec![0; nfa.states.len()],
            nfa,
            symbols: classes.len() + 1,
            rows: Vec::new(),
            sets: Vec::new(),
            numbers: HashMap::new(),
            looked: HashMap::new(),
            kept_bytes: 0,
            kept_bytes_max,
            beginnings: 0,
            step: 0,
        })
    }

    pub fn nfa(&self) -> &Nfa {
        &self.nfa
    }

    /// The row of a set.
    fn row(&mut self, set: &[u32], before: Neighbour) -> u32 {
        let before = if self.nfa.asserts { before } else { Neighbour::Other };
        let key: Key = (set.into(), before);
        if let Some(row) = self.numbers.get(&key) {
            return *row;
        }
        let row_bytes = self.symbols * 2 * size_of::<u32>();
        let bytes = row_bytes + size_of_val(set) + 64;
        if self.kept_bytes + bytes > self.kept_bytes_max && !self.sets.is_empty() {
            self.rows.clear();
            self.sets.clear();
            self.numbers.clear();
            self.looked.clear();
            self.kept_bytes = 0;
            self.beginnings += 1;
        }
        self.kept_bytes += bytes;
        let row = self.rows.len() as u32;
        self.rows.resize(self.rows.len() + self.symbols * 2, UNKNOWN);
        self.sets.push((Rc::clone(&key.0), before));
        self.numbers.insert(key, row);
        row
    }

    /// The row of the set without states.
    fn blank(&mut self, before: Neighbour) -> u32 {
        self.row(&[], before)
    }

    /// Takes a step that is not in the table: the row behind it, and its flags.
    #[cold]
    #[inline(never)]
    fn compute(
        &mut self,
        text: &Text<'_>,
        row: u32,
        (symbol, starts): (usize, bool),
        looks: u64,
    ) -> Result<u32> {
        let (set, before) = self.sets[row as usize / (self.symbols * 2)].clone();
        let after = text.classes.neighbour(symbol);
        let (left, right) = match self.nfa.direction {
            Direction::Forward => (before, after),
            Direction::Backward => (after, before),
        };
        self.step += 1;
        let mut open = set.to_vec();
        open.extend(starts.then_some(self.nfa.start));
        let (mut next, mut matched, mut visited) = (Vec::new(), false, 0);
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut self.seen[at as usize], self.step) == self.step {
                continue;
            }
            visited += 1;
            match self.nfa.states[at as usize] {
                State::Match => matched = true,
                State::Set { set, next: then } => {
                    if symbol < text.classes.len() && text.classes.contains(set, symbol) {
                        next.push(then);
                    }
                }
                State::Either(one, other) => open.extend([one, other]),
                State::Assert(assertion, then) => {
                    if assertion.holds(left, right) {
                        open.push(then);
                    }
                }
                State::Look { number, negative, next: then } => {
                    if (looks >> number & 1 == 1) != negative {
                        open.push(then);
                    }
                }
            }
        }
        // The states behind the character: those that take one, match, or ask its neighbours.
        self.step += 1;
        let mut waiting = Vec::new();
        while let Some(at) = next.pop() {
            if std::mem::replace(&mut self.seen[at as usize], self.step) == self.step {
                continue;
            }
            match self.nfa.states[at as usize] {
                State::Either(one, other) => next.extend([one, other]),
                _ => waiting.push(at),
            }
        }
        if self.step > u32::MAX - 4 {
            self.seen.fill(0);
            self.step = 0;
        }
        waiting.sort_unstable();
        text.watch.spend(visited)?;
        let beginnings = self.beginnings;
        let next_row = self.row(&waiting, after);
        let entry = next_row << FLAGS
            | if matched { MATCHED } else { 0 }
            | if waiting.is_empty() { EMPTY } else { 0 };
        // Where the table began anew, the row is gone.
        if self.beginnings == beginnings {
            let column = symbol * 2 + usize::from(starts);
            if self.nfa.looks {
                if self.kept_bytes > self.kept_bytes_max {
                    self.looked.clear();
                }
                self.looked.insert((row, column as u32, looks), entry);
                self.kept_bytes += 32;
            } else {
                self.rows[row as usize + column] = entry;
            }
        }
        Ok(entry)
    }

    #[inline]
    fn step(&mut self, text: &Text<'_>, row: u32, place: usize, on: (usize, bool)) -> Result<u32> {
        if !self.nfa.looks {
            let entry = self.rows[row as usize + on.0 * 2 + usize::from(on.1)];
            return if entry == UNKNOWN { self.compute(text, row, on, 0) } else { Ok(entry) };
        }
        let looks = text.looks_at(place);
        let column = (on.0 * 2 + usize::from(on.1)) as u32;
        match self.looked.get(&(row, column, looks)) {
            Some(entry) => Ok(*entry),
            None => self.compute(text, row, on, looks),
        }
    }

    /// Takes steps over ASCII characters up to the first step that has a match, leads to an empty set, or is not in the
    /// table.
    #[inline]
    fn skim(
        &self,
        text: &Text<'_>,
        mut row: u32,
        mut at: usize,
        limit: usize,
        starts: usize,
    ) -> (u32, usize) {
        if self.nfa.looks {
            return (row, at);
        }
        let ascii = text.classes.ascii();
        let bytes = text.text.as_bytes();
        for byte in &bytes[at..limit.clamp(at, bytes.len())] {
            let Some(symbol) = ascii.get(usize::from(*byte)) else { break };
            let entry = self.rows[row as usize + usize::from(*symbol) * 2 + starts];
            // A step that is not known has all flags.
            if entry & (MATCHED | EMPTY) != 0 {
                break;
            }
            row = entry >> FLAGS;
            at += 1;
        }
        (row, at)
    }

    /// Reads forward from a place, with a start there or at every place, and calls `found` where a
    /// match ends, up to `limit`. Returns the place that it came to.
    #[inline]
    pub fn forward<const EVERYWHERE: bool>(
        &mut self,
        text: &Text<'_>,
        from: usize,
        limit: usize,
        mut found: impl FnMut(usize) -> Go,
    ) -> Result<usize> {
        let bytes = text.text.as_bytes();
        let mut row = self.blank(text.before(from));
        let (mut at, mut starts) = (from, true);
        let mut look_up = from + text.watch.stretch();
        loop {
            if EVERYWHERE || !starts {
                let limit = limit.min(look_up);
                (row, at) = self.skim(text, row, at, limit, usize::from(EVERYWHERE));
            }
            let (symbol, next) = match bytes.get(at) {
                Some(_) => text.symbol_at(at),
                None => (text.classes.len(), at + 1),
            };
            let entry = self.step(text, row, at, (symbol, starts))?;
            if entry & (MATCHED | EMPTY) != 0 {
                if entry & MATCHED != 0 && found(at) == Go::Stop {
                    return Ok(at);
                }
                if entry & EMPTY != 0 && !EVERYWHERE {
                    return Ok(at);
                }
            }
            if at >= limit {
                return Ok(at);
            }
            row = entry >> FLAGS;
            starts = EVERYWHERE;
            at = next;
            if at >= look_up {
                text.watch.look()?;
                look_up = at + text.watch.stretch();
            }
        }
    }

    /// Reads backward from a place, with a start there or at every place, and calls `found` where a
    /// match begins, down to `limit`.
    pub fn backward<const EVERYWHERE: bool>(
        &mut self,
        text: &Text<'_>,
        from: usize,
        limit: usize,
        mut found: impl FnMut(usize) -> Go,
    ) -> Result<()> {
        let bytes = text.text.as_bytes();
        let mut row = self.blank(text.after(from));
        let (mut at, mut starts) = (from, true);
        let mut steps = 0;
        let ascii = text.classes.ascii();
        loop {
            let (symbol, next) = match at.checked_sub(1) {
                Some(next) if bytes[next].is_ascii() => {
                    (usize::from(ascii[usize::from(bytes[next])]), next)
                }
                Some(_) => text.symbol_before(at),
                None => (text.classes.len(), 0),
            };
            let entry = self.step(text, row, at, (symbol, starts))?;
            if entry & MATCHED != 0 && found(at) == Go::Stop {
                return Ok(());
            }
            if (entry & EMPTY != 0 && !EVERYWHERE) || at <= limit {
                return Ok(());
            }
            row = entry >> FLAGS;
            starts = EVERYWHERE;
            at = next;
            steps += 1;
            if steps % text.watch.stretch() == 0 {
                text.watch.look()?;
            }
        }
    }

    /// Finds the match that ends first, from a place on. Returns a place at or before the begin of every match that
    /// ends there, and the end.
    pub fn first_end(&mut self, text: &Text<'_>, from: usize) -> Result<Option<(usize, usize)>> {
        let bytes = text.text.as_bytes();
        let Some(mut at) = text.skip(from) else { return Ok(None) };
        let mut row = self.blank(text.before(at));
        let mut cold = at;
        let mut look_up = at + text.watch.stretch();
        loop {
            (row, at) = self.skim(text, row, at, look_up, 1);
            let (symbol, next) = match bytes.get(at) {
                Some(_) => text.symbol_at(at),
                None => (text.classes.len(), at + 1),
            };
            let entry = self.step(text, row, at, (symbol, true))?;
            row = entry >> FLAGS;
            if entry & (MATCHED | EMPTY) != 0 {
                if entry & MATCHED != 0 {
                    return Ok(Some((cold, at)));
                }
                if next <= bytes.len() {
                    // No match that began before can go on.
                    let Some(skipped) = text.skip(next) else { return Ok(None) };
                    if skipped != next {
                        row = self.blank(text.before(skipped));
                    }
                    (at, cold) = (skipped, skipped);
                    if at >= look_up {
                        text.watch.look()?;
                        look_up = at + text.watch.stretch();
                    }
                    continue;
                }
            }
            if at >= bytes.len() {
                return Ok(None);
            }
            at = next;
            if at >= look_up {
                text.watch.look()?;
                look_up = at + text.watch.stretch();
            }
        }
    }
}
