//! `tsquery`: words, joined by operators.
//!
//! ```text
//!   'a' <2> 'b':*A      00000003  0000002c   00 00   01 ~crc 62 00   01 ~crc 61 00   fffd   18 00
//!                       nodes     bytes that │  <2>  b               a               ~2     weights
//!                                 PostgreSQL │                                              and
//!                                 keeps      an operator                                    prefixes
//! ```
//!
//! Numbers are big-endian. Nodes come before their operands, the right one first; the distance of a
//! phrase comes after both. So the order of the bytes is PostgreSQL's order of the values, up to
//! weights and prefixes: PostgreSQL takes values that differ only in these for equal. Here these decide
//! last.

use std::borrow::Cow;

pub(crate) use super::parse::parse;
use super::{AREA_BYTES_MAX, LEXEME_BYTES_MAX, malformed, words};
use crate::{Error, Result, SqlState, bounded};

/// The deepest nesting of operators: what a chain of them has, too, because each is an operand of the next one.
pub const DEPTH_MAX: usize = 1_000;

/// A word that is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word<'a> {
    /// The lexeme.
    pub text: Cow<'a, str>,
    /// Bits of the weights that it may have, 1 for `D` to 8 for `A`; 0 for any.
    pub weights: u8,
    /// True if lexemes count that start with the text.
    pub is_prefix: bool,
}

/// A query, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node<'a> {
    /// The document has a lexeme.
    Word(Word<'a>),
    /// It does not have that.
    Not(Box<Node<'a>>),
    /// It has both.
    And(Box<[Node<'a>; 2]>),
    /// It has either.
    Or(Box<[Node<'a>; 2]>),
    /// It has both, the second so many places after the first.
    Phrase(Box<[Node<'a>; 2]>, u16),
    /// A stop word. Reading a query removes it at the end.
    Stop,
}

/// The number of an operator where queries are ordered and sent.
const NOT: u8 = 1;
const AND: u8 = 2;
const OR: u8 = 3;
const PHRASE: u8 = 4;

/// The first byte of nodes in the held form.
const OF_OPERATOR: u8 = 0;
const OF_WORD: u8 = 1;

/// Bytes that PostgreSQL keeps for a value, and for each of its nodes.
const HEAD_BYTES: usize = 8;
const NODE_BYTES: usize = 12;

/// The error of a query that is deeper than [`DEPTH_MAX`].
#[cold]
pub fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

impl<'a> Node<'a> {
    fn number(&self) -> u8 {
        match self {
            Node::Word(_) | Node::Stop => 0,
            Node::Not(_) => NOT,
            Node::And(_) => AND,
            Node::Or(_) => OR,
            Node::Phrase(..) => PHRASE,
        }
    }

    /// How tightly an operator binds.
    pub(super) fn priority(&self) -> u8 {
        match self {
            Node::Word(_) | Node::Stop => 5,
            Node::Not(_) => 4,
            Node::Phrase(..) => 3,
            Node::And(_) => 2,
            Node::Or(_) => 1,
        }
    }

    /// The operands, the left one first.
    pub fn operands(&self) -> &[Node<'a>] {
        match self {
            Node::Word(_) | Node::Stop => &[],
            Node::Not(operand) => std::slice::from_ref(operand),
            Node::And(pair) | Node::Or(pair) | Node::Phrase(pair, _) => &pair[..],
        }
    }

    /// How deep operators are nested.
    pub(super) fn depth(&self) -> usize {
        self.operands().iter().map(|operand| operand.depth() + 1).max().unwrap_or(0)
    }

    /// How many words and operators there are.
    pub fn count(&self) -> usize {
        1 + self.operands().iter().map(Node::count).sum::<usize>()
    }

    /// The words, from left to right.
    pub fn words<'n>(&'n self, out: &mut Vec<&'n Word<'a>>) {
        match self {
            Node::Word(word) => out.push(word),
            node => node.operands().iter().for_each(|operand| operand.words(out)),
        }
    }

    /// The same query, with texts of its own.
    pub fn into_owned(self) -> Node<'static> {
        let both = |pair: Box<[Node<'a>; 2]>| Box::new(pair.map(Node::into_owned));
        match self {
            Node::Word(Word { text, weights, is_prefix }) => {
                Node::Word(Word { text: text.into_owned().into(), weights, is_prefix })
            }
            Node::Not(operand) => Node::Not(Box::new(operand.into_owned())),
            Node::And(pair) => Node::And(both(pair)),
            Node::Or(pair) => Node::Or(both(pair)),
            Node::Phrase(pair, distance) => Node::Phrase(both(pair), distance),
            Node::Stop => Node::Stop,
        }
    }

    /// Writes the text form.
    ///
    /// # Errors
    /// 57014 if the statement is to stop.
    pub fn write(&self, out: &mut String) -> Result<()> {
        self.write_within(0, false, out)
    }

    fn write_within(&self, parent: u8, is_right_of_phrase: bool, out: &mut String) -> Result<()> {
        let priority = self.priority();
        let is_phrase = matches!(self, Node::Phrase(..));
        let in_brackets = priority < parent || is_phrase && is_right_of_phrase;
        if in_brackets {
            out.push_str("( ");
        }
        match self {
            Node::Word(word) => {
                words::quote(&word.text, out)?;
                if word.weights != 0 || word.is_prefix {
                    out.push(':');
                    out.push_str(if word.is_prefix { "*" } else { "" });
                    for weight in (0..4).rev().filter(|weight| word.weights >> weight & 1 == 1) {
                        out.push(super::vector::letter(weight));
                    }
                }
            }
            Node::Not(operand) => {
                out.push('!');
                operand.write_within(priority, false, out)?;
            }
            Node::And(pair) | Node::Or(pair) | Node::Phrase(pair, _) => {
                pair[0].write_within(priority, false, out)?;
                match self {
                    Node::And(_) => out.push_str(" & "),
                    Node::Phrase(_, 1) => out.push_str(" <-> "),
                    Node::Phrase(_, distance) => {
                        bounded::append(out, &format!(" <{distance}> "))?;
                    }
                    _ => out.push_str(" | "),
                }
                pair[1].write_within(priority, is_phrase, out)?;
            }
            Node::Stop => {}
        }
        if in_brackets {
            out.push_str(" )");
        }
        Ok(())
    }
}

/// Reads a query from its held form; none for the query without words.
pub fn read(held: &[u8]) -> Option<Node<'_>> {
    let count = u32::from_be_bytes(held.get(..4)?.try_into().ok()?);
    if count == 0 {
        return None;
    }
    let mut reader = Reader { rest: held.get(HEAD_BYTES..)? };
    let mut node = reader.node(0)?;
    let mut flags = reader.rest.iter();
    set_flags(&mut node, &mut flags)?;
    Some(node)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn node(&mut self, depth: usize) -> Option<Node<'a>> {
        if depth > DEPTH_MAX {
            return None;
        }
        let (head, rest) = self.rest.split_first_chunk::<2>()?;
        if head[0] == OF_WORD {
            let rest = self.rest.get(5..)?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            let text = std::str::from_utf8(&rest[..end]).ok()?;
            self.rest = &rest[end + 1..];
            return Some(Node::Word(Word { text: text.into(), weights: 0, is_prefix: false }));
        }
        self.rest = rest;
        let right = self.node(depth + 1)?;
        let operator = PHRASE.checked_sub(head[1])?;
        if operator == NOT {
            return Some(Node::Not(Box::new(right)));
        }
        let pair = Box::new([self.node(depth + 1)?, right]);
        Some(match operator {
            AND => Node::And(pair),
            OR => Node::Or(pair),
            PHRASE => {
                let (distance, rest) = self.rest.split_first_chunk::<2>()?;
                self.rest = rest;
                Node::Phrase(pair, !u16::from_be_bytes(*distance))
            }
            _ => return None,
        })
    }
}

fn set_flags(node: &mut Node<'_>, flags: &mut std::slice::Iter<'_, u8>) -> Option<()> {
    match node {
        Node::Word(word) => {
            let flags = *flags.next()?;
            (word.weights, word.is_prefix) = (flags & 0xf, flags & 0x10 != 0);
        }
        Node::Not(operand) => set_flags(operand, flags)?,
        Node::And(pair) | Node::Or(pair) | Node::Phrase(pair, _) => {
            for operand in pair.iter_mut().rev() {
                set_flags(operand, flags)?;
            }
        }
        Node::Stop => {}
    }
    Some(())
}

/// The checksum by which PostgreSQL orders words: CRC-32 with the usual table, but from the high end.
pub fn checksum(text: &str) -> i32 {
    let table = |index: u8| {
        (0..8).fold(u32::from(index), |value, _| {
            if value & 1 == 1 { value >> 1 ^ 0xEDB8_8320 } else { value >> 1 }
        })
    };
    let crc = text.bytes().fold(u32::MAX, |crc, byte| table((crc >> 24) as u8 ^ byte) ^ crc << 8);
    !crc as i32
}

/// The held form of a query; of the one without words where there is none.
///
/// # Errors
/// 54000 and 54001 for queries that are too large or too deep.
pub fn build(query: Option<&Node<'_>>) -> Result<Vec<u8>> {
    let mut held = vec![0; HEAD_BYTES];
    let (mut flags, mut texts) = (Vec::new(), 0);
    if let Some(query) = query {
        put(query, 0, &mut held, &mut flags, &mut texts)?;
    }
    if texts > AREA_BYTES_MAX {
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "tsquery is too large"));
    }
    let count = query.map_or(0, Node::count);
    let size = HEAD_BYTES + NODE_BYTES * count + texts;
    held[..4].copy_from_slice(&(count as u32).to_be_bytes());
    held[4..HEAD_BYTES].copy_from_slice(&(size as u32).to_be_bytes());
    held.append(&mut flags);
    Ok(held)
}

fn put(
    node: &Node<'_>,
    depth: usize,
    held: &mut Vec<u8>,
    flags: &mut Vec<u8>,
    texts: &mut usize,
) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    match node {
        Node::Word(word) => {
            if word.text.len() > LEXEME_BYTES_MAX {
                let message = format!("word is too long in tsquery: \"{}\"", word.text);
                return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            held.push(OF_WORD);
            let crc = checksum(&word.text) as u32 ^ 0x8000_0000;
            held.extend_from_slice(&(!crc).to_be_bytes());
            interrupt::append(held, word.text.as_bytes())?;
            held.push(0);
            flags.push(word.weights & 0xf | u8::from(word.is_prefix) << 4);
            *texts += word.text.len() + 1;
        }
        Node::Stop => {}
        node => {
            held.extend_from_slice(&[OF_OPERATOR, PHRASE - node.number()]);
            for operand in node.operands().iter().rev() {
                put(operand, depth + 1, held, flags, texts)?;
            }
            if let Node::Phrase(_, distance) = node {
                held.extend_from_slice(&(!distance).to_be_bytes());
            }
        }
    }
    Ok(())
}

/// Appends the binary form of a query.
///
/// # Errors
/// 57014 if the statement is to stop.
pub fn to_wire(query: Option<&Node<'_>>, out: &mut Vec<u8>) -> Result<()> {
    let count = query.map_or(0, Node::count);
    out.extend_from_slice(&(count as u32).to_be_bytes());
    query.map_or(Ok(()), |query| send(query, out))
}

fn send(node: &Node<'_>, out: &mut Vec<u8>) -> Result<()> {
    if let Node::Word(word) = node {
        out.extend_from_slice(&[1, word.weights, u8::from(word.is_prefix)]);
        interrupt::append(out, word.text.as_bytes())?;
        out.push(0);
        return Ok(());
    }
    out.extend_from_slice(&[2, node.number()]);
    if let Node::Phrase(_, distance) = node {
        out.extend_from_slice(&distance.to_be_bytes());
    }
    // The right operand comes first.
    node.operands().iter().rev().try_for_each(|operand| send(operand, out))
}

/// The held form of the query that has this binary form, which is taken off the front.
///
/// # Errors
/// 08P01 for bytes that are none.
pub(crate) fn from_wire(bytes: &mut &[u8]) -> Result<Vec<u8>> {
    let short = || malformed("insufficient data left in message");
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    *bytes = rest;
    let mut left = u32::from_be_bytes(*count) as usize;
    if left > rest.len() {
        return Err(malformed("invalid size of tsquery"));
    }
    if left == 0 {
        return build(None);
    }
    let query = receive(bytes, &mut left, 0)?;
    if left > 0 {
        return Err(malformed("invalid tsquery: extra nodes"));
    }
    build(Some(&query))
}

fn receive<'a>(bytes: &mut &'a [u8], left: &mut usize, depth: usize) -> Result<Node<'a>> {
    let short = || malformed("insufficient data left in message");
    let is_over =
        left.checked_sub(1).ok_or_else(|| malformed("malformed tsquery: operand not found"));
    *left = is_over?;
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    let (head, rest) = bytes.split_first_chunk::<2>().ok_or_else(short)?;
    *bytes = rest;
    match *head {
        [1, weights] => {
            let ([is_prefix], rest) = bytes.split_first_chunk::<1>().ok_or_else(short)?;
            *bytes = rest;
            let text = words::wire_text(bytes)?;
            if weights > 0xf {
                return Err(malformed("invalid tsquery: invalid weight bitmap"));
            }
            if text.len() > LEXEME_BYTES_MAX {
                return Err(malformed("invalid tsquery: operand too long"));
            }
            Ok(Node::Word(Word { text: text.into(), weights, is_prefix: *is_prefix != 0 }))
        }
        [2, NOT] => Ok(Node::Not(Box::new(receive(bytes, left, depth + 1)?))),
        [2, operator @ (AND | OR | PHRASE)] => {
            let mut distance = 0;
            if operator == PHRASE {
                let (found, rest) = bytes.split_first_chunk::<2>().ok_or_else(short)?;
                (distance, *bytes) = (u16::from_be_bytes(*found), rest);
            }
            let right = receive(bytes, left, depth + 1)?;
            let pair = Box::new([receive(bytes, left, depth + 1)?, right]);
            Ok(match operator {
                AND => Node::And(pair),
                OR => Node::Or(pair),
                _ => Node::Phrase(pair, distance),
            })
        }
        [2, operator] => {
            Err(malformed(&format!("invalid tsquery: unrecognized operator number {operator}")))
        }
        [kind, _] => Err(malformed(&format!("unrecognized tsquery node type: {kind}"))),
    }
}

/// The rest of a query without its stop words, and how many places each side of it grows by.
///
/// ```text
///   'a' <-> stop <-> 'b'     'a' <2> 'b'
///   'a' & stop               'a'
/// ```
pub fn without_stops(node: Node<'_>) -> Option<Node<'_>> {
    Cleaned::of(node).node
}

struct Cleaned<'a> {
    node: Option<Node<'a>>,
    /// Places that a phrase to the left, and one to the right, has to bridge in addition.
    before: u32,
    after: u32,
}

impl<'a> Cleaned<'a> {
    fn of(node: Node<'a>) -> Self {
        let (pair, distance, rebuild): (_, Option<u16>, fn(_, u16) -> Node<'a>) = match node {
            Node::Stop => return Cleaned { node: None, before: 0, after: 0 },
            Node::Word(_) => return Cleaned { node: Some(node), before: 0, after: 0 },
            Node::Not(operand) => {
                let inner = Cleaned::of(*operand);
                return Cleaned { node: inner.node.map(|node| Node::Not(Box::new(node))), ..inner };
            }
            Node::And(pair) => (pair, None, |pair, _| Node::And(pair)),
            Node::Or(pair) => (pair, None, |pair, _| Node::Or(pair)),
            Node::Phrase(pair, distance) => (pair, Some(distance), Node::Phrase),
        };
        let [left, right] = pair.map(Cleaned::of);
        let own = distance.map_or(0, u32::from);
        let is_phrase = distance.is_some();
        match (left.node, right.node) {
            (None, None) => {
                let gap = match is_phrase {
                    true => left.before + own + right.before,
                    false => left.before.max(right.before),
                };
                Cleaned { node: None, before: gap, after: gap }
            }
            (None, Some(node)) => {
                let gap = if is_phrase { left.before + own } else { 0 };
                Cleaned { node: Some(node), before: gap + right.before, after: right.after }
            }
            (Some(node), None) => {
                let gap = if is_phrase { own + right.after } else { 0 };
                Cleaned { node: Some(node), before: left.before, after: left.after + gap }
            }
            (Some(a), Some(b)) if is_phrase => {
                let distance = own + left.after + right.before;
                let distance = u16::try_from(distance).unwrap_or(u16::MAX);
                let node = Some(rebuild(Box::new([a, b]), distance));
                Cleaned { node, before: left.before, after: right.after }
            }
            (Some(a), Some(b)) => {
                Cleaned { node: Some(rebuild(Box::new([a, b]), 0)), before: 0, after: 0 }
            }
        }
    }
}
