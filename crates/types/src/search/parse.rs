//! Reads queries: `'fat' & !rat:*A <-> cat`, or the text of a search field.
//!
//! Operators bind as they do in PostgreSQL: `!`, then `<->`, then `&`, then `|`; all but `!` from the
//! left.

use super::query::{self, Node, Word};
use super::words::{Language, Reader, is_operator};
use crate::text::is_space;
use crate::{Error, Result, SqlState};

/// How a query is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// Words, operators and brackets.
    Operators,
    /// All of it is one text.
    Plain,
    /// Words, texts in quotes, `or`, and `-` for what must not be there.
    Web,
}

/// The greatest distance of a phrase.
const DISTANCE_MAX: u32 = 1 << 14;

/// The most operators that wait for their right operand.
const WAITING_MAX: usize = 32;

/// Makes the node of a word, its weights, and whether it is a prefix.
type ToNode<'f> = &'f mut dyn FnMut(&str, u8, bool) -> Result<Node<'static>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Phrase(u16),
    Not,
}

impl Operator {
    fn priority(self) -> u8 {
        match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::Phrase(_) => 3,
            Operator::Not => 4,
        }
    }
}

enum Token {
    Operator(Operator),
    Word(String, u8, bool),
    Open,
    Close,
    /// An operand that is missing.
    Missing,
    End,
}

struct Parser<'a, 'f> {
    reader: Reader<'a>,
    text: &'a str,
    syntax: Syntax,
    /// True if an operand comes next.
    wants_operand: bool,
    is_first: bool,
    open: u32,
    to_node: ToNode<'f>,
}

/// The held form of the query that has this text form.
///
/// # Errors
/// As [`parse_query`].
pub(crate) fn parse(text: &str) -> Result<Vec<u8>> {
    let mut to_node = |word: &str, weights, is_prefix| {
        Ok(Node::Word(Word { text: word.to_owned().into(), weights, is_prefix }))
    };
    query::build(parse_query(text, Syntax::Operators, &mut to_node)?.as_ref())
}

/// Reads a query. Each word becomes what `to_node` makes of it; stop words are left out.
///
/// # Errors
/// 42601 for a text that is no query, and the errors of `to_node`.
pub fn parse_query(
    text: &str,
    syntax: Syntax,
    to_node: ToNode<'_>,
) -> Result<Option<Node<'static>>> {
    if syntax == Syntax::Plain {
        let node = if text.is_empty() { Node::Stop } else { to_node(text, 0, false)? };
        return Ok(query::without_stops(node));
    }
    let language = if syntax == Syntax::Web { Language::Web } else { Language::Query };
    let reader = Reader::new(text, language);
    let mut parser =
        Parser { reader, text, syntax, wants_operand: true, is_first: true, open: 0, to_node };
    Ok(parser.query()?.and_then(query::without_stops))
}

/// The state while brackets are open.
#[derive(Default)]
struct Level {
    /// Nodes, and how deep each of them is.
    operands: Vec<(Node<'static>, usize)>,
    waiting: Vec<Operator>,
}

impl Level {
    /// Applies the operators that bind at least as tightly as the next one.
    fn settle(&mut self, next: Operator, error: impl Fn() -> Error) -> Result<()> {
        while let Some(last) = self.waiting.last() {
            let waits = match next {
                Operator::Not => next.priority() >= last.priority(),
                _ => next.priority() > last.priority(),
            };
            if waits {
                break;
            }
            let last = self.waiting.pop();
            let (right, mut depth) = self.operands.pop().ok_or_else(&error)?;
            let node = match last {
                Some(Operator::Not) | None => Node::Not(Box::new(right)),
                Some(both) => {
                    let (left, left_depth) = self.operands.pop().ok_or_else(&error)?;
                    depth = depth.max(left_depth);
                    let pair = Box::new([left, right]);
                    match both {
                        Operator::Or => Node::Or(pair),
                        Operator::Phrase(distance) => Node::Phrase(pair, distance),
                        _ => Node::And(pair),
                    }
                }
            };
            // A node that is too deep is refused before it grows, because dropping it needs stack.
            if depth >= query::DEPTH_MAX {
                return Err(query::too_deep());
            }
            self.operands.push((node, depth + 1));
        }
        Ok(())
    }
}

impl Parser<'_, '_> {
    fn query(&mut self) -> Result<Option<Node<'static>>> {
        let mut levels = vec![Level::default()];
        loop {
            let token = self.token()?;
            let reader = self.reader;
            let error = || reader.error();
            let level = levels.last_mut().ok_or_else(error)?;
            match token {
                Token::Word(word, weights, is_prefix) => {
                    let node = (self.to_node)(&word, weights, is_prefix)?;
                    let depth = node.depth();
                    level.operands.push((node, depth));
                }
                Token::Missing => level.operands.push((Node::Stop, 0)),
                Token::Operator(operator) => {
                    level.settle(operator, error)?;
                    if level.waiting.len() >= WAITING_MAX {
                        let message = "tsquery stack too small";
                        return Err(Error::new(SqlState::INTERNAL_ERROR, message));
                    }
                    level.waiting.push(operator);
                }
                Token::Open => levels.push(Level::default()),
                Token::Close | Token::End => {
                    level.settle(Operator::Or, error)?;
                    let node = level.operands.pop();
                    levels.pop();
                    match (levels.last_mut(), node) {
                        (Some(outer), Some(node)) => outer.operands.push(node),
                        (Some(_), None) => return Err(error()),
                        (None, node) => return Ok(node.map(|(node, _)| node)),
                    }
                }
            }
        }
    }

    fn token(&mut self) -> Result<Token> {
        loop {
            let token = match (self.syntax, self.wants_operand) {
                (Syntax::Web, true) => self.web_operand()?,
                (Syntax::Web, false) => self.web_operator(),
                (_, true) => self.operand()?,
                (_, false) => self.operator()?,
            };
            if let Some(token) = token {
                self.is_first = false;
                return Ok(token);
            }
            self.reader.next();
        }
    }

    fn operator_found(&mut self, operator: Operator) -> Option<Token> {
        self.wants_operand = true;
        Some(Token::Operator(operator))
    }

    /// An operand, or what may stand before one; none for a blank.
    fn operand(&mut self) -> Result<Option<Token>> {
        match self.reader.peek() {
            Some('!') => {
                self.reader.next();
                Ok(self.operator_found(Operator::Not))
            }
            Some('(') => {
                self.reader.next();
                self.open += 1;
                Ok(Some(Token::Open))
            }
            Some(':') => Err(self.reader.error()),
            Some(c) if is_space(c) => Ok(None),
            None if self.is_first => Ok(Some(Token::End)),
            None => {
                let message = format!("no operand in tsquery: \"{}\"", self.text);
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
            Some(_) => {
                let word = self.reader.word()?.ok_or_else(|| self.reader.error())?;
                let (weights, is_prefix) = self.marks();
                self.wants_operand = false;
                Ok(Some(Token::Word(word, weights, is_prefix)))
            }
        }
    }

    /// `:*AB` behind a word.
    fn marks(&mut self) -> (u8, bool) {
        let (mut weights, mut is_prefix) = (0, false);
        if self.reader.peek() == Some(':') {
            self.reader.next();
            while let Some(c) = self.reader.peek() {
                match (c, super::vector::weight(c)) {
                    ('*', _) => is_prefix = true,
                    (_, Some(weight)) => weights |= 1 << weight,
                    _ => break,
                }
                self.reader.next();
            }
        }
        (weights, is_prefix)
    }

    fn operator(&mut self) -> Result<Option<Token>> {
        let Some(c) = self.reader.peek() else {
            return if self.open == 0 { Ok(Some(Token::End)) } else { Err(self.reader.error()) };
        };
        let operator = match c {
            '&' => Operator::And,
            '|' => Operator::Or,
            '<' => {
                let distance = self.distance()?.ok_or_else(|| self.reader.error())?;
                return Ok(self.operator_found(Operator::Phrase(distance)));
            }
            ')' if self.open > 0 => {
                self.reader.next();
                self.open -= 1;
                return Ok(Some(Token::Close));
            }
            c if is_space(c) => return Ok(None),
            _ => return Err(self.reader.error()),
        };
        self.reader.next();
        Ok(self.operator_found(operator))
    }

    /// The distance of `<->` or `<2>`.
    fn distance(&mut self) -> Result<Option<u16>> {
        let Some(inner) = self.reader.rest().strip_prefix('<') else { return Ok(None) };
        let Some((inner, _)) = inner.split_once('>') else { return Ok(None) };
        let distance = match inner {
            "-" => 1,
            digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let distance = digits.parse::<u32>().ok().filter(|number| *number <= DISTANCE_MAX);
                distance.ok_or_else(wrong_distance)?
            }
            _ => return Ok(None),
        };
        self.reader.at += inner.len() + 2;
        Ok(Some(distance as u16))
    }

    fn web_operand(&mut self) -> Result<Option<Token>> {
        match self.reader.peek() {
            Some('-') => {
                self.reader.next();
                Ok(self.operator_found(Operator::Not))
            }
            Some('"') => {
                self.reader.next();
                let rest = self.reader.rest();
                let end = rest.find('"').unwrap_or(rest.len());
                self.reader.at += (end + 1).min(rest.len());
                self.wants_operand = false;
                Ok(Some(Token::Word(rest[..end].to_owned(), 0, false)))
            }
            Some(c) if is_operator(c) || is_space(c) => {
                self.is_first &= is_space(c);
                Ok(None)
            }
            None if self.is_first => Ok(Some(Token::End)),
            None => {
                self.wants_operand = false;
                Ok(Some(Token::Missing))
            }
            Some(_) => {
                let word = self.reader.word()?.ok_or_else(|| self.reader.error())?;
                self.wants_operand = false;
                Ok(Some(Token::Word(word, 0, false)))
            }
        }
    }

    fn web_operator(&mut self) -> Option<Token> {
        match self.reader.peek() {
            None => Some(Token::End),
            Some(c) if is_space(c) => None,
            Some(_) if self.takes_or() => {
                self.reader.at += "or".len();
                self.operator_found(Operator::Or)
            }
            Some(_) => self.operator_found(Operator::And),
        }
    }

    /// True if the word `or` comes, and something behind it.
    fn takes_or(&self) -> bool {
        let rest = self.reader.rest();
        let Some((or, behind)) = rest.split_at_checked(2) else { return false };
        let mut behind = behind.chars();
        let is_word = |c: char| matches!(c, '-' | '_') || c.is_alphanumeric();
        or.eq_ignore_ascii_case("or")
            && behind.next().is_some_and(|c| !is_word(c))
            && behind.any(|c| !is_space(c))
    }
}

/// The error of a phrase whose words are too far apart.
#[cold]
pub fn wrong_distance() -> Error {
    let message = format!(
        "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} \
         inclusive"
    );
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        match parse(text).map(|held| query::read(&held).map(|node| node.write(&mut out))) {
            Ok(_) => out,
            Err(error) => error.message().to_owned(),
        }
    }

    /// Long chains of operators are read and written; longer ones are refused, and cost no stack.
    #[test]
    fn long_queries_are_read_or_refused() {
        let chain = |count: usize| vec!["a"; count].join("&");
        assert!(shown(&chain(900)).ends_with("'a' & 'a'"));
        assert_eq!(shown(&chain(200_000)), "stack depth limit exceeded");
        assert_eq!(shown(&"!".repeat(40)), "tsquery stack too small");
        let brackets = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(shown(&brackets), "'a'");
        let nots = format!("{}a", "!(".repeat(100_000));
        assert!(shown(&nots).starts_with("syntax error in tsquery"));
    }

    /// Bytes of a client, and damaged ones of the disk, cause no panic.
    #[test]
    fn wrong_bytes_are_refused() {
        let held = parse("(a <2> b:*A) & !c | d").expect("a query");
        let mut wire = Vec::new();
        query::to_wire(query::read(&held).as_ref(), &mut wire).expect("nothing stops it");
        assert_eq!(query::from_wire(&mut &wire[..]).expect("a query"), held);
        for at in 0..wire.len() {
            assert!(query::from_wire(&mut &wire[..at]).is_err());
            let mut other = wire.clone();
            other[at] ^= 0xff;
            let _ = query::from_wire(&mut &other[..]);
        }
        for at in 0..held.len() {
            let _ = query::read(&held[..at]);
            let mut other = held.clone();
            other[at] ^= 0xff;
            let _ = query::read(&other);
        }
    }
}
