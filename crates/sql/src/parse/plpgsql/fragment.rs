//! SQL in a block: its end, and its text without the words of PL/pgSQL in it.
//!
//! ```text
//!   SELECT a, b INTO x, y FROM t;        the statement
//!   SELECT a, b           FROM t         its SQL: places stay
//! ```

use ::types::SqlState;

use super::Reader;
use super::ast::{Fragment, FragmentKind, Into, Target};
use crate::error::{At, Error, Result};
use crate::parse::ast::{Body, Query, Statement};
use crate::parse::lexer::{self, Token};

impl Reader<'_> {
    /// SQL from the next token up to one of these words or this punctuation outside of parentheses, which is not
    /// taken.
    pub(super) fn fragment(
        &mut self,
        kind: FragmentKind,
        words: &[&str],
        punct: &str,
    ) -> Result<Fragment> {
        let start = self.parser.start();
        let end = self.skip_to(kind, words, punct)?;
        if end == start {
            let what = if kind == FragmentKind::Statement { "SQL statement" } else { "expression" };
            let message = format!("missing {what}");
            return Err(self.near(&message));
        }
        let text = self.text[start..end].to_owned();
        match kind {
            FragmentKind::Statement => {
                let source = text.clone();
                self.read(kind, text, source, 0, start)
            }
            _ => {
                let source = format!("SELECT {text}");
                self.read(kind, text, source, -7, start)
            }
        }
    }

    /// Steps over tokens up to what ends a fragment, and gives the end of the last of them.
    pub(super) fn skip_to(
        &mut self,
        kind: FragmentKind,
        words: &[&str],
        punct: &str,
    ) -> Result<usize> {
        let start = self.parser.start();
        let mut depth = 0_usize;
        let mut end = start;
        loop {
            if depth == 0 && (self.parser.is_any(words) || self.parser.is_punct(0, punct)) {
                return Ok(end);
            }
            match self.parser.peek(0) {
                Token::Punct("(" | "[") => depth += 1,
                Token::Punct(")" | "]") => {
                    depth =
                        depth.checked_sub(1).ok_or_else(|| self.near("mismatched parentheses"))?;
                }
                Token::End | Token::Punct(";") if depth > 0 => {
                    return Err(self.near("mismatched parentheses"));
                }
                Token::End | Token::Punct(";") => {
                    let wanted = words.first().copied().unwrap_or(punct).to_uppercase();
                    let what =
                        if kind == FragmentKind::Statement { "statement" } else { "expression" };
                    return match &*wanted {
                        ";" => Err(self.parser.unexpected()),
                        _ => Err(self.near(&format!("missing \"{wanted}\" at end of SQL {what}"))),
                    };
                }
                _ => {}
            }
            self.parser.skip(1);
            end = self.parser.end();
        }
    }

    /// Reads a fragment's SQL. `start` is where its text begins in the block.
    pub(super) fn read(
        &mut self,
        kind: FragmentKind,
        text: String,
        source: String,
        shift: isize,
        start: usize,
    ) -> Result<Fragment> {
        let in_block = |error: Error| {
            let at = error.at.get().and_then(|at| at.checked_add_signed(shift));
            Error { at: at.map_or(At::NONE, |at| At::offset(start + at)), ..error }
        };
        let mut parsed = crate::parse::statements(&source).map_err(in_block)?;
        let Some(parsed) = parsed.pop().filter(|_| parsed.is_empty()) else {
            return Err(self.parser.unexpected());
        };
        let statement = parsed.statement;
        let has_queries = || {
            let tokens = lexer::tokens(&source).unwrap_or_default();
            let is_select = |lexeme: &&lexer::Lexeme<'_>| matches!(&lexeme.token, Token::Word(word) if *word == "select");
            tokens.iter().filter(is_select).count() > 1
        };
        let is_simple =
            matches!(&statement, Statement::Query(query) if is_simple(query)) && !has_queries();
        let number = self.fragments;
        self.fragments += 1;
        Ok(Fragment { number, kind, text, statement, source, shift, seen: self.seen, is_simple })
    }

    /// A statement of SQL up to its semicolon, and where its row goes.
    pub(super) fn sql(&mut self) -> Result<(Fragment, Option<Into>)> {
        let start = self.parser.start();
        let mut into = None;
        let mut source = String::new();
        let mut copied = start;
        let mut before: Option<String> = None;
        let first = self.parser.word(0).map(str::to_owned);
        // INTO of a statement that makes something is its own.
        let has_into = !matches!(first.as_deref(), Some("create" | "import" | "grant"));
        loop {
            match self.parser.peek(0) {
                Token::Punct(";") => break,
                Token::End => return Err(self.parser.unexpected()),
                Token::Word(word)
                    if word == "into"
                        && has_into
                        && !matches!(before.as_deref(), Some("insert" | "merge")) =>
                {
                    if into.is_some() {
                        let message = "INTO specified more than once";
                        let at = self.parser.at();
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
                    }
                    let from = self.parser.start();
                    self.parser.skip(1);
                    into = Some(self.targets_of_into()?);
                    source.push_str(&self.text[copied..from]);
                    copied = self.parser.end();
                    // Each character is one blank, so that places stay.
                    source.extend(self.text[from..copied].chars().map(|_| ' '));
                    // A character of several bytes keeps its width in bytes with more of them.
                    let missing = (copied - start) - source.len();
                    source.extend(std::iter::repeat_n(' ', missing));
                    before = None;
                    continue;
                }
                Token::Word(word) => before = Some(word.clone().into_owned()),
                _ => before = None,
            }
            self.parser.skip(1);
        }
        source.push_str(&self.text[copied..self.parser.end().max(copied)]);
        let source = source.trim_end().to_owned();
        let fragment = self.read(FragmentKind::Statement, source.clone(), source, 0, start)?;
        Ok((fragment, into))
    }

    /// Parses the targets after `INTO`.
    pub(super) fn targets_of_into(&mut self) -> Result<Into> {
        let strict = self.parser.eat(&["strict"]);
        Ok(Into { strict, targets: self.targets()? })
    }

    /// Variables with commas between.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets = vec![self.target()?];
        while self.parser.eat_punct(",") {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    /// A variable, or a field of one, that is assigned to.
    pub(super) fn target(&mut self) -> Result<Target> {
        let at = self.parser.at();
        let (target, used) = self.target_ahead().ok_or_else(|| self.unknown_target())?;
        if self.variables[target.variable].constant {
            let name = &self.variables[target.variable].name;
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(Error::new(SqlState::ERROR_IN_ASSIGNMENT, message).at(at));
        }
        self.parser.skip(used);
        Ok(target)
    }

    /// The error of a name that is no variable's.
    pub(super) fn unknown_target(&self) -> Error {
        match self.parser.peek(0) {
            Token::Word(name) | Token::Quoted(name) => {
                let message = format!("\"{name}\" is not a known variable");
                Error::new(SqlState::SYNTAX_ERROR, message).at(self.parser.at())
            }
            _ => self.parser.unexpected(),
        }
    }

    /// The variable that the next tokens name, and how many they are.
    pub(super) fn target_ahead(&self) -> Option<(Target, usize)> {
        let mut names: Vec<String> = Vec::new();
        let mut length = 0;
        while let Token::Word(word) | Token::Quoted(word) = self.parser.peek(length) {
            names.push(word.to_string());
            length += 1;
            if names.len() == 3 || !self.parser.is_punct(length, ".") {
                break;
            }
            length += 1;
        }
        for count in (1..=names.len()).rev() {
            let words: Vec<&str> = names[..count].iter().map(String::as_str).collect();
            let found = self.names.find(&words, self.seen, &|number| self.has_fields(number));
            if let Some((variable, used)) = found {
                let field = names[..count].get(used).cloned();
                let parts = used + usize::from(field.is_some());
                return Some((Target { variable, field }, 2 * parts - 1));
            }
        }
        None
    }
}

/// True for `SELECT a + b`: what is computed without reading a table.
fn is_simple(query: &Query) -> bool {
    let Body::Select(select) = &query.body else { return false };
    query.with.is_none()
        && query.order.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && select.from.is_empty()
        && select.filter.is_none()
        && select.having.is_none()
}
