//! PL/pgSQL: the text of a `DO` block to its statements.
//!
//! ```text
//!   DECLARE n int := 1;          declare    variables, each with its number
//!   BEGIN                        block      blocks, handlers, labels
//!     SELECT a INTO n FROM t;    statement  statements; SQL in them goes to the parser of SQL
//!     RAISE NOTICE '% rows', n;  raise      messages and diagnostics
//!   END                          fragment   where SQL in a statement ends, and where INTO stands in it
//! ```
//!
//! As in PostgreSQL the whole text is parsed before anything runs, with the SQL in it: a syntax error is
//! reported at once. Names in SQL are resolved when a statement first runs.

mod ast;
mod block;
mod declare;
mod fragment;
mod raise;
mod statement;

pub use ast::{
    Block, Code, Condition, Diagnostic, Execute, FOUND, Fragment, FragmentKind, Handlers, Into,
    Level, Line, Names, Raise, RaiseOption, Step, Target, Variable, VariableType,
};

use ::types::{SqlState, Type};

use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{At, Error, Result};
use ast::{ItemKind, NamedItem};

/// How deep blocks, loops and conditions may nest.
const DEPTH_MAX: usize = 100;

/// The name of a `DO` block's code in errors.
pub const NAME: &str = "inline_code_block";

/// Reads the text of a `DO`. Places in errors count in it.
///
/// # Errors
/// `42601` and others that PostgreSQL reports of a text that it cannot take; `0A000` for cursors.
pub fn code(text: &str) -> Result<Code> {
    let mut reader = Reader {
        parser: super::open(text)?,
        text,
        variables: Vec::new(),
        names: Names::default(),
        seen: None,
        loops: Vec::new(),
        fragments: 0,
        depth: 0,
    };
    reader.open_level(Some(NAME.to_owned()), ItemKind::Block);
    reader.declare("found", VariableType::Fixed(Type::BOOL), 0);
    if reader.parser.is_symbol(0, "#") {
        return Err(
            reader.not_supported("an option of the compiler in PL/pgSQL", reader.parser.at())
        );
    }
    let body = reader.block()?;
    reader.parser.eat_punct(";");
    if !reader.parser.is_end() {
        return Err(reader.parser.unexpected());
    }
    Ok(Code { body, variables: reader.variables, names: reader.names })
}

/// How many bytes the name has that a text begins with: `a`, `a.b`, `"A b".c`.
pub fn name_length(text: &str) -> usize {
    let tokens = super::lexer::tokens(text).unwrap_or_default();
    let mut length = 0;
    for pair in tokens.chunks(2) {
        let [name, rest @ ..] = pair else { break };
        if !matches!(name.token, Token::Word(_) | Token::Quoted(_)) {
            break;
        }
        length = name.end;
        if !matches!(rest, [point] if point.token == Token::Punct(".")) {
            break;
        }
    }
    length
}

/// Reads a text, and knows the names in sight.
struct Reader<'a> {
    parser: Parser<'a>,
    text: &'a str,
    variables: Vec<Variable>,
    names: Names,
    /// The last name in sight.
    seen: Option<usize>,
    /// The labels of the blocks (false) and loops (true) around.
    loops: Vec<(Option<String>, bool)>,
    fragments: usize,
    depth: usize,
}

impl Reader<'_> {
    /// The line of a place in the text, from 1.
    fn line_of(&self, offset: usize) -> u32 {
        self.text[..offset].bytes().filter(|byte| *byte == b'\n').count() as u32 + 1
    }

    /// The line of the next token.
    fn line(&self) -> u32 {
        self.line_of(self.parser.start())
    }

    /// Begins a level of names.
    fn open_level(&mut self, label: Option<String>, kind: ItemKind) {
        self.put(NamedItem { before: self.seen, name: label.unwrap_or_default(), kind });
    }

    fn put(&mut self, item: NamedItem) {
        self.names.0.push(item);
        self.seen = Some(self.names.0.len() - 1);
    }

    /// A new variable, which is in sight from now on.
    fn declare(&mut self, name: &str, ty: VariableType, line: u32) -> usize {
        let number = self.hidden(name, ty, line);
        let kind = ItemKind::Variable(number);
        self.put(NamedItem { before: self.seen, name: name.to_owned(), kind });
        number
    }

    /// A new variable that no name means.
    fn hidden(&mut self, name: &str, ty: VariableType, line: u32) -> usize {
        let name = name.to_owned();
        let (constant, not_null, default) = (false, false, None);
        self.variables.push(Variable { name, line, ty, constant, not_null, default });
        self.variables.len() - 1
    }

    /// True if a variable may have fields, as far as its declaration says.
    fn has_fields(&self, number: usize) -> bool {
        match &self.variables[number].ty {
            VariableType::Record | VariableType::Row(_) => true,
            VariableType::Named(name) => name.dimensions == 0,
            VariableType::Column(_, array) => !array,
            VariableType::Variable(of, array) => !array && self.has_fields(*of),
            VariableType::Operand | VariableType::Fixed(_) => false,
        }
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(self.parser.too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The words that an error points at: the text of the next token.
    fn near(&self, message: &str) -> Error {
        let error = self.parser.unexpected();
        let text = error.cause.message().replacen("syntax error", message, 1);
        Error::new(SqlState::SYNTAX_ERROR, text).at(error.at)
    }

    fn not_supported(&self, what: &str, at: At) -> Error {
        let message = format!("{what} is not supported");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at)
    }

    /// An error about a line, which PostgreSQL tells without a place.
    fn about_line(&self, error: Error, line: u32) -> Error {
        let context = format!("compilation of PL/pgSQL function \"{NAME}\" near line {line}");
        Error { cause: error.cause.with_context(context), at: At::NONE }
    }

    /// Takes a name: any word that is no statement's, or a quoted one.
    fn any_name(&mut self) -> Result<(String, At)> {
        let at = self.parser.at();
        match self.parser.peek(0).clone() {
            Token::Word(word) | Token::Quoted(word) => {
                self.parser.skip(1);
                Ok((word.into_owned(), at))
            }
            _ => Err(self.parser.unexpected()),
        }
    }

    fn expect_end(&mut self) -> Result<()> {
        self.parser.expect_punct(";")
    }
}
