//! The division of a match among the parts of an expression.
//!
//! ```text
//!   text     a b c b c d         Concat(left, right) over the whole:
//!   left     │→ ends after a, ab, abc                 one pass forward
//!   right    ←│ begins before bcbcd, cbcd, bcd        one pass backward
//!   between  the longest (or shortest) end of left at which right begins
//! ```
//!
//! Without back references every proposal of the automata holds, so each node is looked at once for
//! each part of the text, and the time is polynomial. A back reference may refuse a proposal; then
//! the next one is tried, in PostgreSQL's order, and what was refused is remembered together with
//! what the groups were that it depends on.

use std::collections::HashSet;

use crate::bits::Bits;
use crate::chars::lower;
use crate::dfa::Go;
use crate::search::{Machines, Regex, Result, Spans, Text};
use crate::tree::{NodeId, Shape};

/// How many refusals are remembered.
const REFUSED_MAX: usize = 1 << 20;

/// A refusal: the node, its part of the text, and the groups that back references in it name.
type Refusal = (NodeId, usize, usize, Vec<Option<(usize, usize)>>);

pub(crate) struct Dissection<'d, 't> {
    regex: &'d Regex,
    machines: &'d mut Machines,
    text: &'d Text<'t>,
    /// The groups so far, from number 1.
    groups: Vec<Option<(usize, usize)>>,
    refused: HashSet<Refusal>,
}

impl<'d, 't> Dissection<'d, 't> {
    pub fn new(regex: &'d Regex, machines: &'d mut Machines, text: &'d Text<'t>) -> Self {
        let groups = vec![None; regex.groups()];
        Self { regex, machines, text, groups, refused: HashSet::new() }
    }

    /// The match and its groups.
    pub fn spans(self, begin: usize, end: usize) -> Spans {
        let mut spans = Vec::with_capacity(self.groups.len() + 1);
        spans.push(Some((begin, end)));
        spans.extend(self.groups);
        spans
    }

    /// Forgets the groups at and below a node.
    fn forget(&mut self, id: NodeId) {
        let node = self.regex.node(id);
        if !node.traits.captures {
            return;
        }
        if node.group > 0 {
            self.groups[node.group as usize - 1] = None;
        }
        for child in node.shape.children() {
            self.forget(*child);
        }
    }

    /// Collects the groups that are named by back references at or below a node.
    fn references(&self, id: NodeId, found: &mut Vec<Option<(usize, usize)>>) {
        let node = self.regex.node(id);
        if let Shape::Reference { group, .. } = node.shape {
            found.push(self.groups[group as usize - 1]);
        }
        if node.traits.references {
            node.shape.children().iter().for_each(|child| self.references(*child, found));
        }
    }

    /// Divides a part of the text that a node's automaton accepts. Returns false if a back
    /// reference refuses it; then no group of the node is set.
    pub fn dissect(&mut self, id: NodeId, begin: usize, end: usize) -> Result<bool> {
        let regex = self.regex;
        let node = regex.node(id);
        if !node.traits.captures && !node.traits.references {
            return Ok(true);
        }
        self.text.watch.spend(1)?;
        let remembers = node.traits.references && !matches!(node.shape, Shape::Reference { .. });
        let mut refusal = None;
        if remembers {
            let mut groups = Vec::new();
            self.references(id, &mut groups);
            let key = (id, begin, end, groups);
            if self.refused.contains(&key) {
                return Ok(false);
            }
            refusal = Some(key);
        }
        let holds = match &node.shape {
            Shape::Plain => true,
            Shape::Group(inner) => self.dissect(*inner, begin, end)?,
            Shape::Reference { group, least, most } => {
                self.is_repeated((*group, *least, *most), begin, end)
            }
            Shape::Alternatives(branches) => {
                let mut holds = false;
                for branch in branches {
                    holds =
                        self.accepts(*branch, begin, end)? && self.dissect(*branch, begin, end)?;
                    if holds {
                        break;
                    }
                }
                holds
            }
            Shape::Concat([left, right]) if node.traits.references => {
                self.concat_with_references(*left, *right, begin, end)?
            }
            Shape::Concat([left, right]) => {
                let middle = self.middle(*left, *right, begin, end)?;
                self.dissect(*left, begin, middle)? && self.dissect(*right, middle, end)?
            }
            Shape::Repeat { body, least, most } if node.traits.references => {
                self.repeat_with_references((*body, *least, *most), begin, end)?
            }
            Shape::Repeat { body, most, .. } => {
                if let Some((begin, end)) = self.last_repetition(id, *body, *most, begin, end)? {
                    self.dissect(*body, begin, end)?;
                }
                true
            }
        };
        if holds && node.group > 0 {
            self.groups[node.group as usize - 1] = Some((begin, end));
        }
        if let Some(refusal) = refusal
            && !holds
            && self.refused.len() < REFUSED_MAX
        {
            self.refused.insert(refusal);
        }
        Ok(holds)
    }

    /// See [`crate::dfa::Dfa::first_end`].
    pub fn first_end(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        self.machines.forward(self.regex, self.regex.root)?.first_end(self.text, from)
    }

    /// All places where a part that begins at `begin` can end, in order.
    pub fn ends(&mut self, id: NodeId, begin: usize, limit: usize) -> Result<Vec<usize>> {
        if let Some(ends) = self.reference_ends(id, begin, limit) {
            return Ok(ends);
        }
        let mut ends = Vec::new();
        let machine = self.machines.forward(self.regex, id)?;
        machine.forward::<false>(self.text, begin, limit, |at| {
            ends.push(at);
            Go::On
        })?;
        Ok(ends)
    }

    /// All places where a part that ends at `end` can begin.
    fn begins(&mut self, id: NodeId, begin: usize, end: usize) -> Result<Begins> {
        let mut bits = Bits::new(end - begin);
        let machine = self.machines.backward(self.regex, id)?;
        machine.backward::<false>(self.text, end, begin, |at| {
            bits.insert(at - begin);
            Go::On
        })?;
        Ok(Begins { from: begin, bits })
    }

    /// True if a part of the text is one that a node accepts.
    fn accepts(&mut self, id: NodeId, begin: usize, end: usize) -> Result<bool> {
        if let Some(ends) = self.reference_ends(id, begin, end) {
            return Ok(ends.last() == Some(&end));
        }
        let mut accepts = false;
        let machine = self.machines.forward(self.regex, id)?;
        machine.forward::<false>(self.text, begin, end, |at| {
            accepts = at == end;
            Go::On
        })?;
        Ok(accepts)
    }

    /// Where left ends and right begins.
    fn middle(&mut self, left: NodeId, right: NodeId, begin: usize, end: usize) -> Result<usize> {
        let text = &self.text.text[begin..end];
        if let Some(length) = self.regex.node(left).length {
            return Ok(begin + forward(text, length as usize));
        }
        if let Some(length) = self.regex.node(right).length {
            return Ok(begin + backward(text, length as usize));
        }
        let begins = self.begins(right, begin, end)?;
        let shortest = self.regex.node(left).traits.shortest();
        let mut middle = begin;
        let machine = self.machines.forward(self.regex, left)?;
        machine.forward::<false>(self.text, begin, end, |at| {
            if !begins.contains(at) {
                return Go::On;
            }
            middle = at;
            if shortest { Go::Stop } else { Go::On }
        })?;
        Ok(middle)
    }

    fn concat_with_references(
        &mut self,
        left: NodeId,
        right: NodeId,
        begin: usize,
        end: usize,
    ) -> Result<bool> {
        let mut middles = self.ends(left, begin, end)?;
        if !self.regex.node(left).traits.shortest() {
            middles.reverse();
        }
        let mut begins = None;
        for middle in middles {
            self.text.watch.spend(1)?;
            let accepted = match self.reference_ends(right, middle, end) {
                Some(ends) => ends.last() == Some(&end),
                None => {
                    if begins.is_none() {
                        begins = Some(self.begins(right, begin, end)?);
                    }
                    begins.as_ref().is_some_and(|begins| begins.contains(middle))
                }
            };
            if accepted && self.dissect(left, begin, middle)? {
                if self.dissect(right, middle, end)? {
                    return Ok(true);
                }
                self.forget(left);
            }
        }
        Ok(false)
    }

    /// Returns the part of the last repetition, whose groups alone are visible; `None` if there is no repetition. The
    /// body has no back references.
    fn last_repetition(
        &mut self,
        id: NodeId,
        body: NodeId,
        most: Option<u32>,
        begin: usize,
        end: usize,
    ) -> Result<Option<(usize, usize)>> {
        let shortest = self.regex.node(body).traits.shortest();
        if begin == end {
            // One empty repetition is preferred to none, unless the expression prefers the shortest match.
            let once = !shortest && self.accepts(body, begin, end)?;
            return Ok(once.then_some((begin, end)));
        }
        let Some(most) = most else {
            // From which places repetitions lead to the end is known beforehand.
            let begins = self.begins(id, begin, end)?;
            let mut at = begin;
            loop {
                let mut next = None;
                let machine = self.machines.forward(self.regex, body)?;
                machine.forward::<false>(self.text, at, end, |to| {
                    if to == at || (to != end && !begins.contains(to)) {
                        return Go::On;
                    }
                    next = Some(to);
                    if shortest { Go::Stop } else { Go::On }
                })?;
                match next {
                    Some(to) if to == end => return Ok(Some((at, to))),
                    Some(to) => at = to,
                    None => return Ok(None),
                }
            }
        };
        // Each level of the stack is a repetition, with the ends that it has not tried yet.
        let mut failed = HashSet::new();
        let mut stack = vec![(begin, self.repetition_ends(body, begin, end)?)];
        while let Some((from, ends)) = stack.last_mut() {
            let from = *from;
            let Some(to) = ends.pop() else {
                failed.insert((stack.len(), from));
                stack.pop();
                continue;
            };
            if to == end {
                return Ok(Some((from, to)));
            }
            if stack.len() < most as usize && !failed.contains(&(stack.len() + 1, to)) {
                let ends = self.repetition_ends(body, to, end)?;
                stack.push((to, ends));
            }
        }
        Ok(None)
    }

    /// Where a repetition that takes something can end; the preferred end is the last one.
    fn repetition_ends(&mut self, body: NodeId, begin: usize, end: usize) -> Result<Vec<usize>> {
        let mut ends = self.ends(body, begin, end)?;
        ends.retain(|to| *to > begin);
        if self.regex.node(body).traits.shortest() {
            ends.reverse();
        }
        Ok(ends)
    }

    /// Divides a part among repetitions in which there are back references: first places are found
    /// with which the automaton agrees, then each repetition is verified; the first that fails
    /// gets another end.
    fn repeat_with_references(
        &mut self,
        (body, least, most): (NodeId, u32, Option<u32>),
        begin: usize,
        end: usize,
    ) -> Result<bool> {
        let shortest = self.regex.node(body).traits.shortest();
        if shortest && least == 0 && begin == end {
            return Ok(true);
        }
        let least_times = (least as usize).max(1);
        let length = self.text.text[begin..end].chars().count();
        let most_times = most.map_or(length, |most| length.min(most as usize)).max(least_times);
        // The ends of the repetitions, the beginning before them.
        let mut ends = vec![begin];
        let mut verified = 0;
        // The bound that the next end must lie beyond (or before) after the one that failed.
        let mut last: Option<usize> = None;
        loop {
            self.text.watch.spend(1)?;
            let from = ends[ends.len() - 1];
            let times = ends.len();
            let found = self.next_end(body, (from, end), last, |to| {
                if to == end {
                    return times >= least_times;
                }
                if times >= most_times {
                    return false;
                }
                // A repetition is empty only if more repetitions are required than characters are left.
                to > from || {
                    let rest = self.text.text[from..end].chars().count();
                    times < least_times && least_times - times >= rest
                }
            })?;
            let Some(to) = found else {
                // The repetition before gets another end.
                if ends.len() == 1 {
                    break;
                }
                last = ends.pop();
                verified = verified.min(ends.len() - 1);
                continue;
            };
            verified = verified.min(ends.len() - 1);
            ends.push(to);
            last = None;
            if to != end {
                continue;
            }
            let mut failed = None;
            for at in verified + 1..ends.len() {
                self.forget(body);
                if !self.dissect(body, ends[at - 1], ends[at])? {
                    failed = Some(at);
                    break;
                }
                verified = at;
            }
            let Some(at) = failed else { return Ok(true) };
            last = Some(ends[at]);
            ends.truncate(at);
        }
        self.forget(body);
        Ok(least == 0 && begin == end && !shortest)
    }

    /// The preferred end of a repetition that `fits`, behind the one that was tried last.
    fn next_end(
        &mut self,
        body: NodeId,
        (from, end): (usize, usize),
        last: Option<usize>,
        fits: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>> {
        let mut ends = self.ends(body, from, end)?;
        if !self.regex.node(body).traits.shortest() {
            ends.retain(|to| last.is_none_or(|last| *to < last) && fits(*to));
            return Ok(ends.last().copied());
        }
        ends.retain(|to| last.is_none_or(|last| *to > last) && fits(*to));
        Ok(ends.first().copied())
    }

    /// Where a back reference to a group that matched can end, in order. None for other nodes.
    fn reference_ends(&self, id: NodeId, begin: usize, limit: usize) -> Option<Vec<usize>> {
        let Shape::Reference { group, least, most } = self.regex.node(id).shape else {
            return None;
        };
        let (from, to) = self.groups[group as usize - 1]?;
        if from == to {
            return Some(vec![begin]);
        }
        let mut ends = Vec::new();
        let (mut at, mut times) = (begin, 0);
        loop {
            if times >= least {
                ends.push(at);
            }
            if most == Some(times) {
                break;
            }
            match self.repeats((from, to), at, limit) {
                Some(next) => at = next,
                None => break,
            }
            times += 1;
        }
        Some(ends)
    }

    /// Returns the end of the text at `at` if it repeats the text of a group.
    fn repeats(&self, (from, to): (usize, usize), at: usize, limit: usize) -> Option<usize> {
        let (known, rest) = (&self.text.text[from..to], &self.text.text[at..limit]);
        if !self.regex.any_case {
            return rest.starts_with(known).then_some(at + known.len());
        }
        let mut rest = rest.chars();
        for c in known.chars() {
            let other = rest.next()?;
            if c != other && lower(c as u32) != lower(other as u32) {
                return None;
            }
        }
        Some(limit - rest.as_str().len())
    }

    /// True if a part of the text is the text of a group, repeated so many times.
    fn is_repeated(
        &self,
        (group, least, most): (u32, u32, Option<u32>),
        begin: usize,
        end: usize,
    ) -> bool {
        let Some((from, to)) = self.groups[group as usize - 1] else { return false };
        if from == to {
            return begin == end;
        }
        let (mut at, mut times) = (begin, 0);
        while at < end {
            match self.repeats((from, to), at, end) {
                Some(next) => at = next,
                None => return false,
            }
            times += 1;
        }
        times >= least && most.is_none_or(|most| times <= most)
    }
}

/// Places where a part begins.
struct Begins {
    from: usize,
    bits: Bits,
}

impl Begins {
    fn contains(&self, at: usize) -> bool {
        self.bits.contains(at - self.from)
    }
}

/// The place behind so many characters.
fn forward(text: &str, chars: usize) -> usize {
    match text.as_bytes().get(..chars) {
        Some(start) if start.is_ascii() => chars,
        _ => text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at),
    }
}

/// The place before so many characters from the end.
fn backward(text: &str, chars: usize) -> usize {
    let first = text.len().saturating_sub(chars);
    match text.as_bytes()[first..].is_ascii() {
        true => first,
        false => text.char_indices().rev().take(chars).last().map_or(text.len(), |(at, _)| at),
    }
}
