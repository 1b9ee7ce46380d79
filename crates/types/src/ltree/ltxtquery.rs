//! `ltxtquery`: words that labels of a path have, wherever they are.
//!
//! ```text
//!   Europe & Russia*@ & !( a | b )      ! binds before &, and & before |
//! ```

use super::{Ltree, Word, is_label, texts};
use crate::{Error, Result, SqlState};

/// How deep operators lie in one another at most.
const DEPTH_MAX: usize = 1_000;

/// The longest word, in bytes.
const WORD_BYTES_MAX: usize = 0xff;

/// Words that are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ltxtquery(Node);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Word(Word),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
}

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn step(&mut self, c: char) {
        self.rest = &self.rest[c.len_utf8()..];
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The operator that comes next.
    fn operator(&mut self) -> Result<Option<char>> {
        self.rest = self.rest.trim_start_matches(' ');
        match self.peek() {
            None => Ok(None),
            Some(c @ ('&' | '|' | ')')) => Ok(Some(c)),
            Some(_) => Err(wrong("syntax error")),
        }
    }

    fn alternatives(&mut self) -> Result<Node> {
        let (mut left, mut count) = (self.all()?, 0);
        while self.operator()? == Some('|') {
            self.step('|');
            count += 1;
            self.check(count)?;
            left = Node::Or(Box::new(left), Box::new(self.all()?));
        }
        Ok(left)
    }

    fn all(&mut self) -> Result<Node> {
        let (mut left, mut count) = (self.operand()?, 0);
        while self.operator()? == Some('&') {
            self.step('&');
            count += 1;
            self.check(count)?;
            left = Node::And(Box::new(left), Box::new(self.operand()?));
        }
        Ok(left)
    }

    /// Operators of a row lie in one another to the left.
    fn check(&self, count: usize) -> Result<()> {
        if self.depth + count > DEPTH_MAX {
            let message = "ltxtquery is too large";
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Node> {
        self.rest = self.rest.trim_start_matches(crate::text::is_space);
        match self.peek() {
            Some('!') => {
                self.step('!');
                let operand = self.deeper(Self::operand)?;
                Ok(Node::Not(Box::new(operand)))
            }
            Some('(') => {
                self.step('(');
                let inner = self.deeper(Self::alternatives)?;
                match self.operator()? {
                    Some(')') => self.step(')'),
                    _ => return Err(wrong("syntax error")),
                }
                Ok(inner)
            }
            Some(c) if is_label(c) => self.word(),
            _ => Err(wrong("operand syntax error")),
        }
    }

    fn word(&mut self) -> Result<Node> {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            if is_label(c) {
                if word.has_flags() {
                    return Err(wrong("modifiers syntax error"));
                }
                word.text.push(c);
            } else if !word.take_flag(c) {
                break;
            }
            self.step(c);
        }
        if word.text.len() > WORD_BYTES_MAX {
            let message = "operand is too long";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        Ok(Node::Word(word))
    }
}

impl Node {
    fn matches(&self, labels: &[&str]) -> bool {
        match self {
            Node::Word(word) => labels.iter().any(|label| word.matches(label)),
            Node::Not(node) => !node.matches(labels),
            Node::And(one, other) => one.matches(labels) && other.matches(labels),
            Node::Or(one, other) => one.matches(labels) || other.matches(labels),
        }
    }

    fn write(&self, is_first: bool, out: &mut String) {
        match self {
            Node::Word(word) => word.write(out),
            Node::Not(node) => {
                out.push('!');
                let is_operator = !matches!(**node, Node::Word(_));
                if is_operator {
                    out.push_str("( ");
                }
                node.write(is_operator, out);
                if is_operator {
                    out.push_str(" )");
                }
            }
            Node::And(one, other) => {
                one.write(false, out);
                out.push_str(" & ");
                other.write(false, out);
            }
            Node::Or(one, other) => {
                if !is_first {
                    out.push_str("( ");
                }
                one.write(false, out);
                out.push_str(" | ");
                other.write(false, out);
                if !is_first {
                    out.push_str(" )");
                }
            }
        }
    }
}

impl Ltxtquery {
    /// The words and operators that a text is.
    ///
    /// # Errors
    /// 42601 for a text that is none, 22023 for a word that is too long.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        let node = parser.alternatives()?;
        if parser.operator()?.is_some() {
            return Err(wrong("syntax error"));
        }
        Ok(Self(node))
    }

    /// True if the labels of a path have the words.
    ///
    /// # Errors
    /// 22021 where the path is none.
    pub fn matches(&self, path: Ltree<'_>) -> Result<bool> {
        Ok(self.0.matches(&texts(path)?))
    }
}

impl std::fmt::Display for Ltxtquery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.0.write(true, &mut out);
        f.write_str(&out)
    }
}
