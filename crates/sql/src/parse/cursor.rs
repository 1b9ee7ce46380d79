//! The cursor over the tokens of a text: it looks at tokens, takes them, and reports unexpected
//! ones.
//!
//! All of the grammar is methods of [`Parser`], one file for each part of it. None looks further
//! ahead than a few tokens and none goes back, so a text is read in one pass.

use types::SqlState;

use super::ast::{Name, Path};
use super::keywords;
use super::lexer::{self, Lexeme, Token};
use crate::error::{At, Error, Result};

/// How deep expressions, queries and joins may nest.
pub const DEPTH_MAX: usize = 250;

/// How many operators may follow one another without parentheses, those between queries too: each is an
/// operand of the next.
pub const CHAIN_MAX: usize = 1000;

/// Reads a text token by token.
pub struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Lexeme<'a>>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// A parser that stands before the first token of `text`.
    ///
    /// # Errors
    /// `42601` where the text is not made of tokens, such as a string without an end.
    pub fn new(text: &'a str) -> Result<Self> {
        Ok(Self { text, tokens: lexer::tokens(text)?, next: 0, depth: 0 })
    }

    /// The token that is `ahead` tokens after the next.
    pub(super) fn peek(&self, ahead: usize) -> &Token<'a> {
        &self.tokens[(self.next + ahead).min(self.tokens.len() - 1)].token
    }

    /// Where the next token stands.
    pub(super) fn at(&self) -> At {
        At::offset(self.start())
    }

    /// The offset of the next token.
    pub(super) fn start(&self) -> usize {
        self.tokens[self.next].start
    }

    /// The offset after the last token that was taken.
    pub(super) fn end(&self) -> usize {
        self.next.checked_sub(1).map_or(0, |last| self.tokens[last].end)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.tokens[self.next].token.clone();
        self.skip(1);
        token
    }

    /// Steps over `count` tokens.
    pub(super) fn skip(&mut self, count: usize) {
        self.next = (self.next + count).min(self.tokens.len() - 1);
    }

    /// The word that is `ahead` tokens after the next, unless it is quoted.
    pub(super) fn word(&self, ahead: usize) -> Option<&str> {
        match self.peek(ahead) {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// True if the next tokens are these words.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.word(ahead) == Some(word))
    }

    /// True if the next token is one of these words.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        self.word(0).is_some_and(|word| words.contains(&word))
    }

    /// Takes these words where they come next.
    pub(super) fn eat(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        if found {
            self.skip(words.len());
        }
        found
    }

    /// Takes these words, which must come next.
    pub(super) fn expect(&mut self, words: &[&str]) -> Result<()> {
        for word in words {
            if !self.eat(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// True if the token that is `ahead` after the next is this punctuation.
    pub(super) fn is_punct(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek(ahead), Token::Punct(found) if *found == punct)
    }

    /// Takes this punctuation where it comes next.
    pub(super) fn eat_punct(&mut self, punct: &str) -> bool {
        let found = self.is_punct(0, punct);
        if found {
            self.skip(1);
        }
        found
    }

    /// Takes this punctuation, which must come next.
    pub(super) fn expect_punct(&mut self, punct: &str) -> Result<()> {
        if self.eat_punct(punct) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// True if the token that is `ahead` after the next is this operator.
    pub(super) fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.peek(ahead), Token::Symbol(found) if found == symbol)
    }

    /// Takes this operator where it comes next.
    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(0, symbol);
        if found {
            self.skip(1);
        }
        found
    }

    /// The syntax error about the next token.
    pub(super) fn unexpected(&self) -> Error {
        let Lexeme { token, start, end } = &self.tokens[self.next];
        let message = match token {
            Token::End => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{}\"", &self.text[*start..*end]),
        };
        Error::new(SqlState::SYNTAX_ERROR, message).at(At::offset(*start))
    }

    /// True at the end of the text.
    pub(super) fn is_end(&self) -> bool {
        *self.peek(0) == Token::End
    }

    /// The error about text that nests too deep.
    pub(super) fn too_deep(&self) -> Error {
        Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").at(self.at())
    }

    /// Runs `parse` one level deeper.
    ///
    /// # Errors
    /// `54001` where the text nests deeper than [`DEPTH_MAX`].
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// One or more of what `parse` reads, with commas between.
    pub(super) fn list<T>(
        &mut self,
        mut parse: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = vec![parse(self)?];
        while self.eat_punct(",") {
            items.push(parse(self)?);
        }
        Ok(items)
    }

    /// The same in parentheses.
    pub(super) fn parens<T>(
        &mut self,
        parse: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect_punct("(")?;
        let items = self.list(parse)?;
        self.expect_punct(")")?;
        Ok(items)
    }

    /// Takes an identifier that `allowed` lets be one where it is not quoted.
    fn name_if(&mut self, allowed: impl FnOnce(&str) -> bool) -> Result<Name> {
        let at = self.at();
        let text = match self.peek(0) {
            Token::Quoted(text) => text.clone().into_owned(),
            Token::Word(word) if allowed(word) => word.clone().into_owned(),
            _ => return Err(self.unexpected()),
        };
        self.skip(1);
        Ok(Name { text, at })
    }

    /// Takes the name of a column, table or alias.
    pub(super) fn name(&mut self) -> Result<Name> {
        self.name_if(keywords::names_column)
    }

    /// Takes a name after `AS` or a point, where every word may stand.
    pub(super) fn label(&mut self) -> Result<Name> {
        self.name_if(|_| true)
    }

    /// True if a name may come next.
    pub(super) fn is_name(&self) -> bool {
        match self.peek(0) {
            Token::Quoted(_) => true,
            Token::Word(word) => keywords::names_column(word),
            _ => false,
        }
    }

    /// Takes the name of a relation or another object: `a`, `a.b`, `a.b.c`.
    pub(super) fn path(&mut self) -> Result<Path> {
        let first = self.name()?;
        self.path_from(first)
    }

    /// Takes the name of a type or function.
    pub(super) fn function_path(&mut self) -> Result<Path> {
        let qualified = self.is_punct(1, ".");
        let first = self.name_if(|word| {
            if qualified { keywords::names_column(word) } else { keywords::names_function(word) }
        })?;
        self.path_from(first)
    }

    fn path_from(&mut self, first: Name) -> Result<Path> {
        let mut parts = vec![first];
        while self.eat_punct(".") {
            parts.push(self.label()?);
        }
        Ok(Path { parts })
    }
}
