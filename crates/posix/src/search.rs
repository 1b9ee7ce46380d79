//! The matches of a compiled expression in a text.
//!
//! ```text
//!   first_end    forward, a start at every place    is there a match, and where does one end first
//!   begin        forward from each place up to there  the first place where a match begins
//!   end          forward from there                 the longest or shortest match, as it prefers
//!   dissect      over the tree                      the groups, if the caller asks for them
//! ```
//!
//! Most places where a match may begin are passed over at once, because the sets of the first pass
//! were empty there. Where an expression makes this slow (`x.*y|z` over many x), one pass backward
//! finds all places where a match begins, and time stays linear.

use std::cell::{Cell, RefCell};

use crate::bits::Bits;
use crate::chars::CharSet;
use crate::classes::Classes;
use crate::dfa::{Dfa, Go};
use crate::dissect::Dissection;
use crate::error::Error;
use crate::fast::Fast;
use crate::nfa::{Direction, State};
use crate::options::Options;
use crate::parse::{Look, parse};
use crate::prefilter::Prefilter;
use crate::tree::{Assertion, Expr, Neighbour, Node, NodeId};

/// Why a search has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// The caller's check has stopped the search.
    Interrupted,
    /// An automaton that only groups need became too large.
    TooComplex,
}

impl From<Error> for Stopped {
    fn from(_: Error) -> Self {
        Self::TooComplex
    }
}

pub(crate) type Result<T> = std::result::Result<T, Stopped>;

/// Where a match and its groups lie, in bytes: first the whole, then each group that took part.
pub type Spans = Vec<Option<(usize, usize)>>;

/// The most bytes of steps that an automaton keeps: that of the whole expression, and that of a part.
const WHOLE_BYTES_MAX: usize = 2 << 20;
const PART_BYTES_MAX: usize = 256 << 10;

/// A compiled expression.
#[derive(Debug)]
pub struct Regex {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    pub(crate) classes: Classes,
    pub(crate) any_case: bool,
    looks: Vec<Look>,
    groups: usize,
    /// Every match begins at the beginning of the text.
    anchored: bool,
    prefilter: Prefilter,
    sets: Vec<CharSet>,
    fast: Fast,
    machines: RefCell<Machines>,
}

/// The automata of an expression, made when they are needed first.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    forward: Vec<Option<Box<Dfa>>>,
    backward: Vec<Option<Box<Dfa>>>,
    looks: Vec<Dfa>,
}

impl Regex {
    /// Compiles an expression. If `groups` is false, matches have no groups and are found faster. Back references
    /// still work.
    ///
    /// # Errors
    /// Fails if the expression is invalid, or too large.
    pub fn new(pattern: &str, options: Options, groups: bool) -> crate::error::Result<Self> {
        let parsed = parse(pattern, options, groups)?;
        let asserts = parsed.asserts;
        let classes = Classes::new(&parsed.sets, asserts).ok_or(Error::TooComplex)?;
        if parsed.looks.len() > u64::BITS as usize {
            return Err(Error::TooComplex);
        }
        let mut machines = Machines::default();
        machines.forward.resize_with(parsed.nodes.len(), || None);
        machines.backward.resize_with(parsed.nodes.len(), || None);
        for look in &parsed.looks {
            let direction = if look.behind { Direction::Forward } else { Direction::Backward };
            machines.looks.push(Dfa::new(&look.expr, direction, &classes, PART_BYTES_MAX)?);
        }
        let root = parsed.root.0 as usize;
        let expr = &parsed.nodes[root].expr;
        let whole = Dfa::new(expr, Direction::Forward, &classes, WHOLE_BYTES_MAX)?;
        let nfa = whole.nfa();
        let mut anchored = true;
        let start = |state| matches!(state, State::Assert(Assertion::TextStart, _));
        nfa.reach(nfa.start, |state| !start(state), |state| anchored &= start(state));
        let prefilter = Prefilter::new(nfa, &classes);
        machines.forward[root] = Some(Box::new(whole));
        Ok(Self {
            nodes: parsed.nodes,
            root: parsed.root,
            any_case: parsed.any_case,
            classes,
            looks: parsed.looks,
            groups: parsed.groups as usize,
            anchored,
            prefilter,
            sets: parsed.sets,
            fast: Fast::default(),
            machines: RefCell::new(machines),
        })
    }

    /// How many groups the expression has.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// A search in a text. `interrupted` is asked now and then whether to give up.
    pub fn search<'a>(&'a self, text: &'a str, interrupted: fn() -> bool) -> Search<'a> {
        Search {
            regex: self,
            text,
            watch: Watch { interrupted, spent: Cell::new(0) },
            looks: None,
            begins: None,
            wasted: 0,
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

impl Machines {
    fn of<'m>(
        machines: &'m mut [Option<Box<Dfa>>],
        regex: &Regex,
        id: NodeId,
        direction: Direction,
    ) -> Result<&'m mut Dfa> {
        let machine = &mut machines[id.0 as usize];
        if machine.is_none() {
            let expr: &Expr = &regex.node(id).expr;
            let max = if id == regex.root { WHOLE_BYTES_MAX } else { PART_BYTES_MAX };
            *machine = Some(Box::new(Dfa::new(expr, direction, &regex.classes, max)?));
        }
        Ok(machine.as_mut().expect("it was made"))
    }

    pub fn forward(&mut self, regex: &Regex, id: NodeId) -> Result<&mut Dfa> {
        Self::of(&mut self.forward, regex, id, Direction::Forward)
    }

    pub fn backward(&mut self, regex: &Regex, id: NodeId) -> Result<&mut Dfa> {
        Self::of(&mut self.backward, regex, id, Direction::Backward)
    }
}

/// Counts work, and asks the caller now and then whether to go on.
#[derive(Debug)]
pub(crate) struct Watch {
    interrupted: fn() -> bool,
    spent: Cell<usize>,
}

impl Watch {
    /// The number of characters that are read between two calls of `interrupted`.
    pub fn stretch(&self) -> usize {
        1 << 16
    }

    pub fn look(&self) -> Result<()> {
        if (self.interrupted)() { Err(Stopped::Interrupted) } else { Ok(()) }
    }

    /// Counts steps other than reading characters; asks the caller once they reach [`Watch::stretch`].
    pub fn spend(&self, steps: usize) -> Result<()> {
        let spent = self.spent.get() + steps;
        self.spent.set(spent % self.stretch());
        if spent >= self.stretch() { self.look() } else { Ok(()) }
    }
}

/// A text that automata read.
pub(crate) struct Text<'a> {
    pub text: &'a str,
    pub classes: &'a Classes,
    pub watch: &'a Watch,
    /// True if the shortest match is wanted.
    shortest: bool,
    looks: &'a [Bits],
    prefilter: &'a Prefilter,
}

impl Text<'_> {
    /// The symbol of the character at a place, and the place behind it.
    #[inline]
    pub fn symbol_at(&self, at: usize) -> (usize, usize) {
        if let Some(symbol) = self.classes.ascii().get(usize::from(self.text.as_bytes()[at])) {
            return (usize::from(*symbol), at + 1);
        }
        let c = self.text[at..].chars().next().unwrap_or_default();
        (self.classes.of(c), at + c.len_utf8())
    }

    /// The symbol of the character before a place, and the place before it.
    #[inline(never)]
    pub fn symbol_before(&self, at: usize) -> (usize, usize) {
        let c = self.text[..at].chars().next_back().unwrap_or_default();
        (self.classes.of(c), at - c.len_utf8())
    }

    /// The neighbour before a place, as assertions see it.
    pub fn before(&self, at: usize) -> Neighbour {
        match at {
            0 => Neighbour::Edge,
            _ => self.classes.neighbour(self.symbol_before(at).0),
        }
    }

    pub fn after(&self, at: usize) -> Neighbour {
        match at == self.text.len() {
            true => Neighbour::Edge,
            false => self.classes.neighbour(self.symbol_at(at).0),
        }
    }

    /// Which lookaround constraints hold at a place.
    pub fn looks_at(&self, at: usize) -> u64 {
        let holds = |(number, bits): (usize, &Bits)| u64::from(bits.contains(at)) << number;
        self.looks.iter().enumerate().map(holds).sum()
    }

    /// The first place from `at` on where a match may begin.
    #[inline]
    pub fn skip(&self, at: usize) -> Option<usize> {
        self.prefilter.next(self.text.as_bytes(), at)
    }
}

/// A search in one text.
#[derive(Debug)]
pub struct Search<'a> {
    regex: &'a Regex,
    text: &'a str,
    watch: Watch,
    /// Where each lookaround constraint holds.
    looks: Option<Vec<Bits>>,
    /// All places where a match begins, once they were needed.
    begins: Option<Bits>,
    /// How many characters were read from places where no match begins.
    wasted: usize,
}

impl<'a> Search<'a> {
    /// True if there is a match that begins at `from` or behind.
    ///
    /// # Errors
    /// The search was stopped.
    pub fn is_match(&mut self, from: usize) -> Result<bool> {
        if self.regex.node(self.regex.root).traits.references {
            return Ok(self.find(from, false)?.is_some());
        }
        if let Some(literal) = self.regex.prefilter.whole() {
            return Ok(literal.find(&self.text.as_bytes()[from..]).is_some());
        }
        if let Some(fast) = self.fast() {
            return Ok(fast.is_match_at(self.text, from));
        }
        let machines = &mut *self.regex.machines.borrow_mut();
        self.look_around(machines)?;
        let text = self.text_ready();
        let machine = machines.forward(self.regex, self.regex.root)?;
        if self.regex.anchored {
            let mut found = false;
            if from == 0 {
                machine.forward::<false>(&text, 0, self.text.len(), |_| {
                    found = true;
                    Go::Stop
                })?;
            }
            return Ok(found);
        }
        Ok(machine.first_end(&text, from)?.is_some())
    }

    /// The first match that begins at `from` or behind, with its groups if they are asked for.
    ///
    /// # Errors
    /// The search was stopped.
    pub fn find(&mut self, from: usize, groups: bool) -> Result<Option<Spans>> {
        let regex = self.regex;
        if let Some(literal) = regex.prefilter.whole()
            && (!groups || regex.groups == 0)
        {
            let found = literal.find(&self.text.as_bytes()[from..]);
            let span = |at| (from + at, from + at + literal.needle().len());
            return Ok(found.map(|at| vec![Some(span(at))]));
        }
        let machines = &mut *regex.machines.borrow_mut();
        self.look_around(machines)?;
        if regex.node(regex.root).traits.references {
            return self.find_with_references(from, machines);
        }
        let Some((begin, end)) = self.span(from, machines)? else { return Ok(None) };
        let mut spans = vec![Some((begin, end))];
        if groups && regex.groups > 0 {
            let text = self.text_ready();
            let mut dissection = Dissection::new(regex, machines, &text);
            if regex.node(regex.root).traits.captures {
                dissection.dissect(regex.root, begin, end)?;
            }
            spans = dissection.spans(begin, end);
        }
        Ok(Some(spans))
    }

    /// The expression of the `regex` crate, if it can search this text.
    fn fast(&self) -> Option<&'a regex::Regex> {
        let regex = self.regex;
        regex.fast.get(&regex.node(regex.root).expr, &regex.sets, self.text)
    }

    /// The matches from a place on, one behind the other.
    pub fn matches(mut self, from: usize, groups: bool) -> Matches<'a> {
        self.wasted = 0;
        Matches { search: self, next: Some(from), groups }
    }

    /// Finds out where lookaround constraints hold, those inside others first.
    fn look_around(&mut self, machines: &mut Machines) -> Result<()> {
        if self.looks.is_some() {
            return Ok(());
        }
        let regex = self.regex;
        let mut looks: Vec<Bits> = Vec::with_capacity(regex.looks.len());
        for (look, machine) in regex.looks.iter().zip(&mut machines.looks) {
            let mut bits = Bits::new(self.text.len());
            let text = Text {
                text: self.text,
                classes: &regex.classes,
                watch: &self.watch,
                shortest: false,
                looks: &looks,
                prefilter: &regex.prefilter,
            };
            let found = |at| {
                bits.insert(at);
                Go::On
            };
            match look.behind {
                true => machine.forward::<true>(&text, 0, self.text.len(), found).map(|_| ())?,
                false => machine.backward::<true>(&text, self.text.len(), 0, found)?,
            }
            looks.push(bits);
        }
        self.looks = Some(looks);
        Ok(())
    }

    /// The text for automata, once it is known where lookaround constraints hold.
    fn text_ready(&self) -> Text<'_> {
        Text {
            text: self.text,
            classes: &self.regex.classes,
            watch: &self.watch,
            shortest: self.regex.node(self.regex.root).traits.shortest(),
            looks: self.looks.as_deref().unwrap_or_default(),
            prefilter: &self.regex.prefilter,
        }
    }

    /// Where the first match from a place on begins and ends.
    fn span(&mut self, from: usize, machines: &mut Machines) -> Result<Option<(usize, usize)>> {
        let regex = self.regex;
        if !regex.prefilter.is_literal()
            && let Some(fast) = self.fast()
        {
            let Some(found) = fast.find_at(self.text, from) else { return Ok(None) };
            let machine = machines.forward(regex, regex.root)?;
            let (end, _) = end_from(machine, &self.text_ready(), found.start())?;
            return Ok(end.map(|end| (found.start(), end)));
        }
        let machine = machines.forward(regex, regex.root)?;
        if regex.anchored {
            let end = if from == 0 { end_from(machine, &self.text_ready(), 0)?.0 } else { None };
            return Ok(end.map(|end| (0, end)));
        }
        if self.begins.is_none() {
            let first = machine.first_end(&self.text_ready(), from)?;
            let Some((cold, close)) = first else { return Ok(None) };
            let mut begin = cold;
            while begin <= close {
                let (end, came_to) = end_from(machine, &self.text_ready(), begin)?;
                if let Some(end) = end {
                    return Ok(Some((begin, end)));
                }
                self.wasted += came_to - begin;
                if self.wasted > 64 + self.text.len() / 2 {
                    break;
                }
                begin = after(self.text, begin);
            }
            let mut begins = Bits::new(self.text.len());
            machines.backward(regex, regex.root)?.backward::<true>(
                &self.text_ready(),
                self.text.len(),
                0,
                |at| {
                    begins.insert(at);
                    Go::On
                },
            )?;
            self.begins = Some(begins);
        }
        let begin = self.begins.as_ref().and_then(|begins| begins.next(from));
        let Some(begin) = begin else { return Ok(None) };
        let machine = machines.forward(regex, regex.root)?;
        let (end, _) = end_from(machine, &self.text_ready(), begin)?;
        Ok(end.map(|end| (begin, end)))
    }

    /// The first match of an expression with back references: the automaton proposes, and the tree
    /// says whether a proposal holds.
    fn find_with_references(&self, from: usize, machines: &mut Machines) -> Result<Option<Spans>> {
        let (regex, text) = (self.regex, self.text_ready());
        let shortest = regex.node(regex.root).traits.shortest();
        let mut dissection = Dissection::new(regex, machines, &text);
        let mut close = from;
        loop {
            let Some((cold, first)) = dissection.first_end(close)? else { return Ok(None) };
            close = first;
            let mut begin = cold;
            while begin <= close {
                let mut ends = dissection.ends(regex.root, begin, self.text.len())?;
                if !shortest {
                    ends.reverse();
                }
                for end in ends {
                    if dissection.dissect(regex.root, begin, end)? {
                        return Ok(Some(dissection.spans(begin, end)));
                    }
                }
                begin = after(self.text, begin);
            }
            close = after(self.text, close);
            // PostgreSQL does not look at the end of the text again.
            if close >= self.text.len() {
                return Ok(None);
            }
        }
    }
}

/// The place behind the character at a place.
pub(crate) fn after(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Where the preferred match that begins at a place ends, and how far the automaton read.
fn end_from(machine: &mut Dfa, text: &Text<'_>, begin: usize) -> Result<(Option<usize>, usize)> {
    let mut end = None;
    let shortest = text.shortest;
    let came_to = machine.forward::<false>(text, begin, text.text.len(), |at| {
        end = Some(at);
        if shortest { Go::Stop } else { Go::On }
    })?;
    Ok((end, came_to))
}

/// The matches of an expression in a text, one behind the other.
#[derive(Debug)]
pub struct Matches<'a> {
    search: Search<'a>,
    next: Option<usize>,
    groups: bool,
}

/// The number of steps that one match counts as.
const MATCH_STEPS: usize = 64;

impl Iterator for Matches<'_> {
    type Item = Result<Spans>;

    fn next(&mut self) -> Option<Result<Spans>> {
        let from = self.next.take().filter(|from| *from <= self.search.text.len())?;
        // Matches may be so short that no search reads far enough to ask.
        if let Err(stopped) = self.search.watch.spend(MATCH_STEPS) {
            return Some(Err(stopped));
        }
        let spans = match self.search.find(from, self.groups).transpose()? {
            Ok(spans) => spans,
            Err(stopped) => return Some(Err(stopped)),
        };
        let (begin, end) = spans[0]?;
        // Behind an empty match the search goes on behind the next character.
        self.next = Some(if end > begin { end } else { after(self.search.text, end) });
        Some(Ok(spans))
    }
}
