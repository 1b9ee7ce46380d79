//! Statements by their first words, `EXPLAIN` and `CREATE VIEW`.

use super::ast::{CreateView, Statement};
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::Result;

impl Parser<'_> {
    /// A statement.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.is(&["delete", "history", "from"]) && !self.is_punct(3, ".") {
            return self.delete_history();
        }
        match self.word(0) {
            Some("explain") => self.explain(),
            Some("erase") => self.erase(),
            Some("create") if self.is_view() => self.create_view(),
            Some("select") if self.selects_command() => Ok(self.call_command(true)?.into()),
            Some(
                "insert" | "update" | "delete" | "merge" | "select" | "values" | "table" | "with",
            ) => self.data_statement(),
            _ if self.is_punct(0, "(") => self.data_statement(),
            _ => {
                if let Some(command) = self.session_command()? {
                    return Ok(command.into());
                }
                match self.definition()? {
                    Some(define) => Ok(define.into()),
                    None => Err(self.unexpected()),
                }
            }
        }
    }

    fn explain(&mut self) -> Result<Statement> {
        self.skip(1);
        let mut options = Vec::new();
        if self.is_punct(0, "(") && !self.is_query_start_at(1) && !self.is_punct(1, "(") {
            options = self.parens(|parser| {
                let name = parser.label()?.text;
                let value = match parser.peek(0) {
                    Token::Word(value)
                    | Token::Quoted(value)
                    | Token::String(value)
                    | Token::Number(value) => Some(value.clone().into_owned()),
                    _ => None,
                };
                if value.is_some() {
                    parser.skip(1);
                }
                Ok((name, value))
            })?;
        } else {
            for word in ["analyze", "verbose"] {
                if self.eat(&[word]) {
                    options.push((word.to_owned(), None));
                }
            }
        }
        let statement = Box::new(self.statement()?);
        Ok(Statement::Explain { options, statement })
    }

    fn is_view(&self) -> bool {
        let mut at = if self.is(&["create", "or", "replace"]) { 3 } else { 1 };
        if matches!(self.word(at), Some("temp" | "temporary")) {
            at += 1;
        }
        self.word(0) == Some("create") && self.word(at) == Some("view")
    }

    fn create_view(&mut self) -> Result<Statement> {
        let replace = self.is(&["create", "or"]);
        self.skip(if replace { 3 } else { 1 });
        let temporary = self.eat(&["temp"]) || self.eat(&["temporary"]);
        self.expect(&["view"])?;
        let name = self.path()?;
        let columns = if self.is_punct(0, "(") { self.parens(Self::name)? } else { Vec::new() };
        let (mut check, mut options) = (None, Vec::new());
        if self.eat(&["with"]) {
            for (name, value) in self.storage_options()? {
                match (name.as_str(), value.as_deref()) {
                    ("check_option", Some("local")) => check = Some(false),
                    ("check_option", Some("cascaded")) => check = Some(true),
                    _ => options.push((name, value)),
                }
            }
        }
        self.expect(&["as"])?;
        let start = self.start();
        let query = Box::new(self.query()?);
        let text = self.text[start..self.end()].to_owned();
        if self.eat(&["with"]) {
            check = Some(!self.eat(&["local"]));
            self.eat(&["cascaded"]);
            self.expect(&["check", "option"])?;
        }
        let view = CreateView { name, columns, replace, temporary, options, check, query, text };
        Ok(Statement::CreateView(Box::new(view)))
    }
}
